//! `[[host]]`: the machines that do the work.

use std::collections::{BTreeMap, BTreeSet};

use assay_workload::Workload;
use assay_workload::host::{HOSTS_MAX, Host, LOGIN_HELP, login_fault};
use toml::de::DeValue;

use super::forms::{NAME, count_u32, quote};
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::node::{Entry, Fields};
use super::sink::{Sink, clip};

/// Worker processes a host may have.
const INSTANCES_MAX: u32 = 4096;

const PATHS: Form<BTreeMap<String, String>> = Form {
    shape: Shape::Names,
    read: |sink, entry, _| {
        let DeValue::Table(table) = entry.value.get_ref() else {
            return sink.wrong_type(entry, "a table such as { data = \"/dev/sdb\" }");
        };
        let pair = |(key, value): (&toml::Spanned<_>, _)| {
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            Some((key.to_string(), NAME.take(sink, Entry { key, value })?))
        };
        Some(table.iter().filter_map(pair).collect())
    },
    write: |paths| {
        let pairs = paths.iter().map(|(target, path)| format!("{} = {}", quote(target), quote(path)));
        format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
    },
};

/// A word of a login.
const LOGIN: Form<String> = Form {
    shape: Shape::Name,
    read: |sink, entry, _| {
        let text = sink.string(entry)?;
        match login_fault(text) {
            None => Some(text.to_owned()),
            Some(why) => sink.bad_value(entry, &format!("'{}': {why}", clip(text)), LOGIN_HELP),
        }
    },
    write: |text| quote(text),
};

/// Names of hosts, of a job.
pub(super) const HOSTS: Form<Vec<String>> = Form {
    shape: Shape::List(&Shape::Name),
    read: |sink, entry, _| {
        Some(entry.elements().into_iter().filter_map(|element| NAME.take(sink, element)).collect())
    },
    write: |names| format!("[{}]", names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")),
};

pub(super) const HOST: Table<Host> = Table {
    who: "a host",
    example: "name = \"h1\", system = \"10.0.0.1\"",
    sections: &[&[
        key!(must "name", NAME, name, "required", "how jobs call it, and its name in results"),
        key!(some "system", LOGIN, system, "the name", "its address or host name; `localhost` is the machine that makes the plan"),
        key!(some "user", LOGIN, user, "the calling user", "the user to log in as"),
        key!(set "instances", count_u32(1, INSTANCES_MAX), instances, "1", "worker processes, which share the threads of its jobs"),
        key!(set "paths", PATHS, paths, "those of the targets", "`{ data = \"/dev/sdb\" }`: paths of targets on this host, where they are others than `path` of the target"),
    ]],
};

/// The hosts of a plan whose targets are known, as far as they are right. What is wrong is reported at its place.
pub(super) fn read(sink: &mut Sink, top: &Fields<'_>, is_target: impl Fn(&str) -> bool) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut names = BTreeSet::new();
    for entry in top.get("host").map(|entry| entry.elements()).unwrap_or_default() {
        let Some(host) = HOST.read(sink, entry, Host::new("")) else { continue };
        if hosts.len() >= HOSTS_MAX {
            sink.error("too-large", entry.span(), format!("more than {HOSTS_MAX} hosts"), "");
            break;
        }
        if !names.insert(host.name.clone()) {
            let message = format!("there are two hosts with the name '{}'", clip(&host.name));
            sink.error("conflict", entry.span(), message, "");
        }
        if let Some(unknown) = host.paths.keys().find(|name| !is_target(name)) {
            let message = format!("host '{}': target '{}' is not defined", clip(&host.name), clip(unknown));
            sink.error("unknown-target", entry.span(), message, "");
        }
        if let Some(why) = login_fault(host.system()) {
            let message = format!("host '{}': {why}, and the name is its address", clip(&host.name));
            sink.error("bad-value", entry.span(), message, "give it a `system`, or another name");
        }
        if !host.is_local() {
            let message = format!("host '{}': {} is another machine", clip(&host.name), clip(host.system()));
            let help = "its part can be planned, not run yet; leave the hosts out to do all of it here";
            sink.note("other-host", entry.span(), message, help);
        }
        hosts.push(host);
    }
    hosts
}

/// Reports the hosts of a job that are not defined.
pub(super) fn check(sink: &mut Sink, job: &Fields<'_>, hosts: &[Host]) {
    for entry in job.get("hosts").map(|entry| entry.elements()).unwrap_or_default() {
        let unknown = |name: &&str| !hosts.iter().any(|host| host.name == *name);
        if let Some(name) = entry.as_str().filter(unknown) {
            let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).take(1000).collect();
            sink.undefined("unknown-host", entry.span(), name, &known);
        }
    }
}

/// The tables of a workload's hosts.
pub(super) fn tables(workload: &Workload) -> impl Iterator<Item = Vec<(&'static str, String)>> {
    workload.hosts.iter().map(|host| HOST.pairs(host, &Host::new("")))
}
