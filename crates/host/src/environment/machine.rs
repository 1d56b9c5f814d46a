//! Kernel, memory, clock and virtualisation.

use assay_results::environment::{Clock, HugePages, Machine, Memory, Virtualisation, Writeback};

use super::cpu::{self, field_values};
use crate::root::{HostRoot, chosen, keyed_number};

/// Words of the kernel command line that change what I/O or the processor costs. Others are not recorded:
/// they may name things that are nobody's business.
const TELLING_ARGUMENTS: &[&str] = &[
    "mitigations",
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "nosmt",
    "maxcpus",
    "nr_cpus",
    "mem",
    "idle",
    "intel_idle",
    "processor",
    "intel_pstate",
    "amd_pstate",
    "cpufreq",
    "cpuidle",
    "transparent_hugepage",
    "hugepages",
    "hugepagesz",
    "default_hugepagesz",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "clocksource",
    "tsc",
    "nvme",
    "nvme_core",
    "scsi_mod",
    "dm_mod",
    "blk_mq",
    "elevator",
    "preempt",
    "threadirqs",
    "nopti",
    "pti",
    "spectre_v2",
    "pcie_aspm",
    "numa_balancing",
    "zswap",
    "psi",
    "swiotlb",
    "systemd",
    "cgroup_no_v1",
];

pub(super) fn read(root: &HostRoot) -> Machine {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    Machine {
        hostname: root.nonempty_text("/proc/sys/kernel/hostname"),
        boot_id: root.nonempty_text("/proc/sys/kernel/random/boot_id"),
        os: os_name(root),
        suite: os_release(root).as_deref().and_then(|release| value_of(release, "ASSAY_SUITE")),
        kernel_release: root.nonempty_text("/proc/sys/kernel/osrelease"),
        kernel_version: root.nonempty_text("/proc/sys/kernel/version"),
        arch: root
            .nonempty_text("/proc/sys/kernel/arch")
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        kernel_arguments: telling_arguments(&root.text("/proc/cmdline").unwrap_or_default()),
        cpu: cpu::read(root, &cpuinfo),
        memory: memory(root),
        writeback: writeback(root),
        virtualisation: virtualisation(root, &cpuinfo),
        clock: clock(root, &cpuinfo),
        uptime_s: root.text("/proc/uptime").and_then(|text| text.split('.').next()?.parse().ok()),
    }
}

fn os_release(root: &HostRoot) -> Option<String> {
    root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))
}

fn value_of(release: &str, key: &str) -> Option<String> {
    let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim_matches(['"', '\'']).to_owned())
}

fn os_name(root: &HostRoot) -> Option<String> {
    let release = os_release(root)?;
    value_of(&release, "PRETTY_NAME").or_else(|| value_of(&release, "NAME"))
}

fn telling_arguments(command_line: &str) -> Vec<String> {
    command_line
        .split_whitespace()
        .filter(|word| {
            let name = word.split(['=', '.']).next().unwrap_or(word);
            TELLING_ARGUMENTS.contains(&name)
        })
        .map(str::to_owned)
        .collect()
}

pub(super) fn memory(root: &HostRoot) -> Memory {
    let meminfo = root.text("/proc/meminfo").unwrap_or_default();
    let bytes = |key| keyed_number(&meminfo, key).map(|kib| kib * 1024);
    Memory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        cached_bytes: bytes("Cached"),
        swap_total_bytes: bytes("SwapTotal"),
        huge_pages: HugePages {
            page_bytes: bytes("Hugepagesize"),
            total: keyed_number(&meminfo, "HugePages_Total"),
            free: keyed_number(&meminfo, "HugePages_Free"),
            transparent: root
                .text("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|list| chosen(&list)),
        },
    }
}

fn writeback(root: &HostRoot) -> Writeback {
    let number = |file: &str| root.number::<u64>(format!("/proc/sys/vm/{file}"));
    Writeback {
        dirty_percent: number("dirty_ratio"),
        dirty_bytes: number("dirty_bytes"),
        background_percent: number("dirty_background_ratio"),
        background_bytes: number("dirty_background_bytes"),
        expire_ms: number("dirty_expire_centisecs").map(|centiseconds| centiseconds * 10),
        swappiness: number("swappiness"),
    }
}

fn clock(root: &HostRoot, cpuinfo: &str) -> Clock {
    const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
    let flags = field_values(cpuinfo, "flags").next();
    let has = |flag: &str| flags.map(|flags| flags.split_whitespace().any(|word| word == flag));
    Clock {
        source: root.nonempty_text(format!("{SOURCES}/current_clocksource")),
        available: root
            .text(format!("{SOURCES}/available_clocksource"))
            .map(|list| list.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default(),
        invariant_tsc: has("constant_tsc")
            .zip(has("nonstop_tsc"))
            .map(|(constant, nonstop)| constant && nonstop),
    }
}

fn virtualisation(root: &HostRoot, cpuinfo: &str) -> Virtualisation {
    let vendor = root.nonempty_text("/sys/class/dmi/id/sys_vendor");
    let product = root.nonempty_text("/sys/class/dmi/id/product_name");
    let hypervisor = root
        .nonempty_text("/sys/hypervisor/type")
        .or_else(|| hypervisor_by_firmware(vendor.as_deref(), product.as_deref()).map(str::to_owned))
        .or_else(|| kvm_clock(root).then(|| "kvm".to_owned()));
    // x86 processors carry a flag for it; elsewhere only a hint can be positive.
    let flag = field_values(cpuinfo, "flags")
        .next()
        .map(|flags| flags.split_whitespace().any(|word| word == "hypervisor"));
    let platform: Vec<String> = vendor.into_iter().chain(product).collect();
    Virtualisation {
        virtual_machine: if hypervisor.is_some() { Some(true) } else { flag },
        hypervisor,
        platform: (!platform.is_empty()).then(|| platform.join(" ")),
        container: container(root),
    }
}

fn kvm_clock(root: &HostRoot) -> bool {
    root.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .is_some_and(|list| list.contains("kvm-clock"))
}

/// Firmware strings that hypervisors are known to set.
fn hypervisor_by_firmware(vendor: Option<&str>, product: Option<&str>) -> Option<&'static str> {
    let (vendor, product) = (vendor.unwrap_or(""), product.unwrap_or(""));
    match vendor {
        "QEMU" => Some("kvm"),
        "Amazon EC2" if product.ends_with(".metal") => None,
        "Amazon EC2" => Some("nitro"),
        "Google" | "OpenStack Foundation" | "Nutanix" | "oVirt" => Some("kvm"),
        "Microsoft Corporation" if product == "Virtual Machine" => Some("hyper-v"),
        "innotek GmbH" => Some("virtualbox"),
        "Xen" => Some("xen"),
        "Parallels Software International Inc." => Some("parallels"),
        _ if vendor.starts_with("VMware") => Some("vmware"),
        _ if product.contains("KVM") => Some("kvm"),
        _ => None,
    }
}

fn container(root: &HostRoot) -> Option<String> {
    if root.exists("/var/run/secrets/kubernetes.io/serviceaccount") {
        return Some("kubernetes".to_owned());
    }
    // The first process's environment is readable in most containers, as it is our own user's.
    let environ = root.text("/proc/1/environ").unwrap_or_default();
    if let Some(value) = environ.split('\0').find_map(|word| word.strip_prefix("container=")) {
        return Some(value.to_owned());
    }
    if root.exists("/run/.containerenv") {
        return Some("podman".to_owned());
    }
    if root.exists("/.dockerenv") {
        return Some("docker".to_owned());
    }
    let groups = root.text("/proc/self/cgroup").unwrap_or_default();
    ["kubepods", "docker", "lxc"]
        .iter()
        .find(|word| groups.contains(*word))
        .map(|&word| if word == "kubepods" { "kubernetes".to_owned() } else { word.to_owned() })
}
