//! Processors, from `/proc/cpuinfo` and `/sys/devices/system/cpu`.

use std::collections::BTreeSet;

use assay_results::environment::{Cpu, Turbo};

use crate::root::{HostRoot, count_listed};

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn read(root: &HostRoot, cpuinfo: &str) -> Cpu {
    let topology = topology(root);
    let processors = field_values(cpuinfo, "processor").count() as u32;
    let online = root
        .text(format!("{CPUS}/online"))
        .and_then(|list| count_listed(&list))
        .or_else(|| (processors > 0).then_some(processors));
    Cpu {
        model: model(cpuinfo),
        sockets: topology.as_ref().map(|t| t.sockets),
        cores: topology.as_ref().map(|t| t.cores),
        online,
        allowed: root.text("/proc/self/status").and_then(|status| {
            count_listed(status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?)
        }),
        numa_nodes: root.text("/sys/devices/system/node/online").and_then(|list| count_listed(&list)),
        smt: root.flag(format!("{CPUS}/smt/active")),
        governors: governors(root),
        turbo: turbo(root),
    }
}

/// Values of all `key : value` lines of `/proc/cpuinfo`.
pub(super) fn field_values<'a>(cpuinfo: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    cpuinfo.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<String> {
    let first = |key| field_values(cpuinfo, key).find(|value| !value.is_empty());
    if let Some(name) = first("model name").or_else(|| first("cpu model")).or_else(|| first("cpu")) {
        return Some(name.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    // 64-bit Arm has numbers instead of a name.
    let (implementer, part) = (first("CPU implementer")?, first("CPU part")?);
    Some(format!("Arm implementer {implementer} part {part}"))
}

struct Topology {
    sockets: u32,
    cores: u32,
}

fn topology(root: &HostRoot) -> Option<Topology> {
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    for name in root.names(CPUS).iter().filter(|name| is_numbered(name, "cpu")) {
        let part = |file: &str| root.text(format!("{CPUS}/{name}/topology/{file}"));
        let Some((package, core)) = part("physical_package_id").zip(part("core_id")) else { continue };
        cores.insert((package.clone(), part("die_id"), core));
        sockets.insert(package);
    }
    (!cores.is_empty()).then_some(Topology { sockets: sockets.len() as u32, cores: cores.len() as u32 })
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn governors(root: &HostRoot) -> Vec<String> {
    let policies = root.names(format!("{CPUS}/cpufreq"));
    let unique: BTreeSet<String> = policies
        .iter()
        .filter(|name| is_numbered(name, "policy"))
        .filter_map(|name| root.nonempty_text(format!("{CPUS}/cpufreq/{name}/scaling_governor")))
        .collect();
    unique.into_iter().collect()
}

fn turbo(root: &HostRoot) -> Option<Turbo> {
    let state = |on: bool| if on { Turbo::On } else { Turbo::Off };
    // intel_pstate says "no turbo", acpi-cpufreq and amd_pstate say "boost".
    root.flag(format!("{CPUS}/intel_pstate/no_turbo"))
        .map(|off| state(!off))
        .or_else(|| root.flag(format!("{CPUS}/cpufreq/boost")).map(state))
}
