//! `unequal-hosts`: the hosts of a run are not alike: another kernel, scheduler, mount option, firmware. What they did then differs for
//! a reason that is not the storage.

use std::collections::BTreeMap;

use super::draft::Draft;
use crate::environment::{BlockDevice, FileSystem, TargetEnvironment};
use crate::hosts::RunHost;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "unequal-hosts";

/// Differences named in the message at most.
const NAMED_MAX: usize = 4;
/// Hosts named for a difference at most.
const HOSTS_MAX: usize = 3;

/// What a host is in one respect; `None`: not known, or it has no such thing.
type Fact = fn(&RunHost) -> Option<String>;

/// In which respects hosts are compared. Of targets, the first stands for all.
const FACTS: [(&str, Fact); 13] = [
    ("kernel", |host| host.environment.machine.kernel_release.clone()),
    ("distribution", |host| host.environment.machine.os.clone()),
    ("architecture", |host| Some(host.environment.machine.arch.clone())),
    ("CPU", |host| host.environment.machine.cpu.model.clone()),
    ("CPUs", |host| host.environment.machine.cpu.allowed.map(|cpus| cpus.to_string())),
    ("frequency governor", |host| listed(&host.environment.machine.cpu.governors)),
    ("clock source", |host| host.environment.machine.clock.source.clone()),
    ("file system", |host| file_system(host).map(|mounted| mounted.fs_type.clone())),
    ("mount options", |host| file_system(host).map(options)),
    ("device model", |host| device(host)?.model.clone()),
    ("firmware", |host| device(host)?.firmware.clone()),
    ("I/O scheduler", |host| device(host)?.queue.scheduler.clone()),
    ("queue length", |host| device(host)?.queue.nr_requests.map(|requests| requests.to_string())),
];

fn target(host: &RunHost) -> Option<&TargetEnvironment> {
    host.environment.targets.first()
}

fn file_system(host: &RunHost) -> Option<&FileSystem> {
    target(host)?.file_system.as_ref()
}

fn device(host: &RunHost) -> Option<&BlockDevice> {
    target(host)?.bottom_devices().next()
}

fn listed(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(", "))
}

fn options(mounted: &FileSystem) -> String {
    let option = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    };
    mounted.options.iter().map(option).collect::<Vec<_>>().join(",")
}

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let differences: Vec<(&str, String)> =
        FACTS.iter().filter_map(|(name, fact)| Some((*name, difference(&run.hosts, *fact)?))).collect();
    if differences.is_empty() {
        return Vec::new();
    }
    let named: Vec<String> =
        differences.iter().take(NAMED_MAX).map(|(name, words)| format!("{name} {words}")).collect();
    let more = differences.len().saturating_sub(NAMED_MAX);
    let more = if more == 0 { String::new() } else { format!("; and {more} more differences") };
    let mut draft = Draft::new(
        ID,
        FindingSeverity::Info,
        format!("the {} hosts are not alike: {}{more}", run.hosts.len(), named.join("; ")),
    );
    for (name, words) in differences {
        draft = draft.evidence(&name.to_lowercase().replace([' ', '/'], "_"), words);
    }
    vec![draft.advise("measure on hosts that are alike, or compare their rows one by one")]
}

/// The values that hosts have in one respect, the most frequent first, each of the others with its hosts; `None`: all are alike.
fn difference(hosts: &[RunHost], fact: Fact) -> Option<String> {
    let mut groups: BTreeMap<Option<String>, Vec<&str>> = BTreeMap::new();
    for host in hosts {
        groups.entry(fact(host)).or_default().push(&host.name);
    }
    if groups.len() < 2 {
        return None;
    }
    let mut groups: Vec<(Option<String>, Vec<&str>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let words = groups.iter().map(|(value, names)| {
        let shown = names.iter().take(HOSTS_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(HOSTS_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{} on {shown}{more}", value.as_deref().unwrap_or("unknown"))
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::event::HostId;
    use crate::fixture::run;

    fn hosts(run: &Run, number: u16) -> Vec<RunHost> {
        let host = |id: u16| RunHost {
            id: HostId(id),
            name: format!("h{id}"),
            environment: run.environment.clone(),
            clock: None,
            lost: None,
        };
        (0..number).map(host).collect()
    }

    #[test]
    fn hosts_that_are_alike_and_one_host() {
        let mut run = run();
        silent(ID, &run);
        run.hosts = hosts(&run, 3);
        silent(ID, &run);
    }

    #[test]
    fn another_kernel_and_another_scheduler() {
        let mut run = run();
        run.hosts = hosts(&run, 3);
        for host in &mut run.hosts {
            host.environment.machine.kernel_release = Some("6.12.4".to_owned());
        }
        run.hosts[1].environment.machine.kernel_release = Some("6.1.0".to_owned());
        let finding = only(ID, &run);
        assert_eq!(finding.message, "the 3 hosts are not alike: kernel 6.12.4 on h0, h2, 6.1.0 on h1");
        assert_eq!(finding.evidence["kernel"], "6.12.4 on h0, h2, 6.1.0 on h1");
        let scheduler = |host: &mut RunHost, name: &str| {
            let device = host.environment.targets.first_mut().and_then(|target| target.devices.first_mut());
            device.expect("a device").queue.scheduler = Some(name.to_owned());
        };
        run.hosts.iter_mut().for_each(|host| scheduler(host, "none"));
        scheduler(&mut run.hosts[2], "bfq");
        assert!(only(ID, &run).message.contains("I/O scheduler none on h0, h1, bfq on h2"));
    }
}
