//! What tells whose machine a run is of, out of the run.
//!
//! Facts that identify one machine and change no figure are dropped. Names of hosts, servers and volumes get numbers, and so do
//! directories: what was one before is one afterwards, and what differed differs.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::environment::{Environment, FileSystem, TargetEnvironment, TargetKind};
use crate::run::Run;
use text::{Directories, Known};

/// What a run says of itself once its names are gone.
const NOTE: &str =
    "names of hosts, servers, directories and volumes were replaced when this run was exported";
/// What stands for a fact that is not given away where something has to stand.
const REMOVED: &str = "removed";
/// Fields whose value, where it is the name of a host, is meant as such.
const NAME_FIELDS: [&str; 8] = ["hostname", "host", "hosts", "name", "system", "target", "worker", "workers"];
/// Mount options whose value is a word of the kernel's.
const WORD_OPTIONS: [&str; 31] = [
    "acl",
    "barrier",
    "cache",
    "commit",
    "compress",
    "compress-force",
    "compress_algorithm",
    "data",
    "discard",
    "errors",
    "fastboot",
    "fsync",
    "fsync_mode",
    "huge",
    "index",
    "jqfmt",
    "local_lock",
    "logbsize",
    "lookupcache",
    "metacopy",
    "mode",
    "mountproto",
    "nfsvers",
    "proto",
    "redirect_dir",
    "sec",
    "size",
    "space_cache",
    "stripe",
    "vers",
    "xino",
];
/// Mount options whose number is a user's or a group's.
const OWNER_OPTIONS: [&str; 8] = ["uid", "gid", "user_id", "group_id", "fsuid", "cruid", "resuid", "resgid"];

/// The run as a document without what identifies its machine and who used it.
pub(super) fn document(run: &Run) -> serde_json::Result<Value> {
    let (mut run, hosts) = (run.clone(), hosts_of(run));
    let mut directories = Directories::default();
    let mut known = Known::new(hosts);
    for environment in std::iter::once(&run.environment).chain(run.environments()) {
        environment.targets.iter().for_each(|target| note_target(target, &mut directories, &mut known));
    }
    for target in &run.plan.targets {
        if target.kind == assay_workload::target::TargetKind::Directory {
            directories.is_one(&target.path);
        }
    }
    for path in run.plan.targets.iter().map(|target| target.path.as_str()) {
        known.path(path, &mut directories);
    }
    clean(&mut run.environment);
    run.hosts.iter_mut().for_each(|host| clean(&mut host.environment));
    if !std::mem::replace(&mut run.names_removed, true) {
        run.notes.push(NOTE.to_owned());
    }
    let document = serde_json::to_value(&run)?;
    let mut value = document.clone();
    Names { document, known, directories }.replace("", &mut value);
    Ok(value)
}

/// What such a file still tells of the machine and its user, as the end of a sentence.
pub(super) fn what_remains(run: &Run) -> String {
    let mut facts = BTreeSet::new();
    for environment in std::iter::once(&run.environment).chain(run.environments()) {
        let machine = &environment.machine;
        facts.extend(machine.kernel_release.as_ref().map(|release| format!("kernel {release}")));
        facts.extend(machine.os.clone());
        facts.extend(machine.cpu.model.clone());
        let devices = environment.targets.iter().flat_map(|target| &target.devices);
        facts.extend(devices.filter_map(|device| device.model.clone()));
    }
    let shown: Vec<String> = facts.into_iter().collect();
    let facts = if shown.is_empty() { String::new() } else { format!("{}, ", shown.join(", ")) };
    format!("{facts}when it was measured, and the names of plan, phases, jobs and files")
}

/// The names of all hosts of a run, each with what stands for it.
fn hosts_of(run: &Run) -> BTreeMap<String, String> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let environments = std::iter::once(&run.environment).chain(run.environments());
    names.extend(environments.filter_map(|environment| environment.machine.hostname.as_deref()));
    names.extend(run.hosts.iter().map(|host| host.name.as_str()));
    names.extend(run.plan.hosts.iter().map(|host| host.name.as_str()));
    for phase in &run.phases {
        names.extend(phase.hosts.iter().map(|host| host.name.as_str()));
        let workers = phase.jobs.iter().flat_map(|job| &job.evidence.workers);
        names.extend(workers.map(|worker| worker.name.as_str()));
    }
    names.remove("");
    let number = |(index, name): (usize, &str)| (name.to_owned(), format!("host-{}", index + 1));
    let mut named: BTreeMap<String, String> = names.into_iter().enumerate().map(number).collect();
    // A host is also known by the first word of its name.
    let short: Vec<(String, String)> = named
        .iter()
        .filter_map(|(name, instead)| Some((name.split_once('.')?.0.to_owned(), instead.clone())))
        .filter(|(name, _)| !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    for (name, instead) in short {
        named.entry(name).or_insert(instead);
    }
    named
}

/// Notes the paths and the names of one target.
fn note_target(target: &TargetEnvironment, directories: &mut Directories, known: &mut Known) {
    let paths = [Some(target.path.as_str()), target.canonical_path.as_deref()];
    if target.kind == TargetKind::Directory {
        paths.iter().flatten().for_each(|path| directories.is_one(path));
    }
    if let Some(file_system) = &target.file_system {
        let own = [&file_system.mount_point, &file_system.mount_root];
        own.iter().for_each(|path| directories.is_one(path));
        own.iter().for_each(|path| known.path(path, directories));
        if let Some(upper) = &file_system.overlay_upper_dir {
            directories.is_one(upper);
            known.path(upper, directories);
        }
        note_source(file_system, known, directories);
    }
    paths.into_iter().flatten().for_each(|path| known.path(path, directories));
    for device in &target.devices {
        known.numbered("volume", device.mapper_name.as_deref());
        if let Some(backing) = &device.loop_backing {
            known.path(&backing.file, directories);
        }
    }
    if let Some(network) = &target.network {
        known.numbered(
            "server",
            Some(&network.server).filter(|server| !server.contains(' ')).map(String::as_str),
        );
        known.numbered("interface", network.interface.as_deref());
    }
}

/// Notes what a file system is mounted from: a device, a server's directory, a name.
fn note_source(file_system: &FileSystem, known: &mut Known, directories: &mut Directories) {
    let source = file_system.source.as_str();
    if source == file_system.fs_type || ["none", "overlay", "/dev/root"].contains(&source) {
        return;
    }
    if source.starts_with('/') && !source.starts_with("//") {
        return known.path(source, directories);
    }
    let server = source.split_once(":/").map(|(server, _)| server.trim_matches(['[', ']']));
    let share = source.strip_prefix("//").and_then(|rest| rest.split('/').next());
    known.numbered("server", server.or(share));
    known.numbered("source", Some(source));
}

/// Drops the facts that identify a machine.
fn clean(environment: &mut Environment) {
    let machine = &mut environment.machine;
    (machine.boot_id, machine.kernel_version, machine.uptime_s) = (None, None, None);
    machine.kernel_arguments.clear();
    environment.cgroup.path = None;
    for file_system in environment.targets.iter_mut().filter_map(|target| target.file_system.as_mut()) {
        for (name, value) in &mut file_system.options {
            if value.as_ref().is_some_and(|value| !may_be_told(name, value)) {
                *value = Some(REMOVED.to_owned());
            }
        }
    }
}

/// Whether the value of a mount option tells of the file system alone.
fn may_be_told(name: &str, value: &str) -> bool {
    let number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    (number && !OWNER_OPTIONS.contains(&name)) || WORD_OPTIONS.contains(&name)
}

/// What is replaced in the texts of a document.
struct Names {
    document: Value,
    known: Known,
    directories: Directories,
}

impl Names {
    /// Replaces names and directories in every text of a part of the document; `field` is what it is the value of.
    fn replace(&mut self, field: &str, value: &mut Value) {
        match value {
            // Evidence points into the run (RFC 6901), in the form of a path.
            Value::String(text) if text.starts_with('/') && self.document.pointer(text).is_some() => {}
            Value::String(text) => {
                *text = self.known.replaced(text, NAME_FIELDS.contains(&field), &mut self.directories);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace(field, value)),
            Value::Object(map) => {
                for (name, mut value) in std::mem::take(map) {
                    self.replace(&name, &mut value);
                    // What is keyed by a place or a name of somebody's is no field of the format.
                    let field = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                    let name = match field {
                        true => name,
                        false => self.known.replaced(&name, true, &mut self.directories),
                    };
                    map.insert(name, value);
                }
            }
            _ => {}
        }
    }
}
