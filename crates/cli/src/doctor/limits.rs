//! Limits of the process and of its control group, with what they do to a measurement.

use assay_host::inventory::{Inventory, Limit};
use assay_report::format;
use assay_report::terminal::{Mark, Section};
use assay_results::environment::CgroupLimits;

use super::{Row, row};

/// What registered buffers of a large plan take: 256 outstanding I/Os of 256 KiB.
const REGISTERED_BYTES: u64 = 64 << 20;
/// Open files that a plan of a few hundred jobs with a file each takes.
const OPEN_FILES: u64 = 4096;
/// File size that the quick series makes.
const FILE_BYTES: u64 = 4 << 30;

pub(super) fn limits(inventory: &Inventory) -> Section {
    let limits = &inventory.limits;
    let mut rows = Vec::new();
    rows.extend(
        limits
            .locked_memory_bytes
            .map(|limit| locked_memory(limit, inventory.privileges.ipc_lock == Some(true))),
    );
    rows.extend(limits.open_files.map(open_files));
    rows.extend(limits.file_size_bytes.and_then(file_size));
    rows.extend(privileges(inventory));
    rows.extend(cgroup(&inventory.cgroup));
    Section { title: "Limits".to_owned(), rows }
}

fn locked_memory(limit: Limit, ipc_lock: bool) -> Row {
    let name = "locked memory";
    match limit.soft {
        None => row(name, "unlimited", Mark::Good),
        Some(bytes) if ipc_lock => {
            row(name, format!("{}, but CAP_IPC_LOCK lifts it", format::bytes(bytes)), Mark::Good)
        }
        Some(bytes) if bytes >= REGISTERED_BYTES => row(name, format::bytes(bytes), Mark::Good),
        Some(bytes) => {
            let text = format!(
                "{}: io_uring registers buffers up to this; with more outstanding it works without, at somewhat \
                 more CPU per I/O (ulimit -l unlimited)",
                format::bytes(bytes)
            );
            row(name, text, Mark::Warn)
        }
    }
}

fn open_files(limit: Limit) -> Row {
    let name = "open files";
    match (limit.soft, limit.hard) {
        (None, _) => row(name, "unlimited", Mark::Good),
        (Some(soft), _) if soft >= OPEN_FILES => row(name, format::count(soft), Mark::Good),
        (Some(soft), hard) => {
            let can = hard.map_or("unlimited".to_owned(), |hard| hard.to_string());
            let text = format!(
                "{}: plans with many files or jobs fail beyond it (ulimit -n {can})",
                format::count(soft)
            );
            row(name, text, Mark::Warn)
        }
    }
}

/// Only worth a line where it is in the way.
fn file_size(limit: Limit) -> Option<Row> {
    let bytes = limit.soft?;
    let mark = if bytes < FILE_BYTES { Mark::Bad } else { Mark::Plain };
    let text = format!("{}: no larger file can be written (ulimit -f)", format::bytes(bytes));
    Some(row("file size", text, mark))
}

fn privileges(inventory: &Inventory) -> Vec<Row> {
    let privileges = &inventory.privileges;
    let mut rows = Vec::new();
    match privileges.drop_caches {
        Some(true) => rows.push(row("drop caches", "allowed", Mark::Good)),
        Some(false) => {
            let text = "not allowed: buffered reads start from whatever is cached; only the plan's own files can be \
                        dropped (root may do it)";
            rows.push(row("drop caches", text, Mark::Warn));
        }
        None => {}
    }
    if privileges.seccomp_filter == Some(true) {
        let text = "a seccomp filter is active; if it refuses io_uring, the trial under Engines says so";
        rows.push(row("system calls", text, Mark::Plain));
    }
    rows
}

fn cgroup(limits: &CgroupLimits) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(cpus) = limits.cpu_quota_cpus {
        let text = format!(
            "{cpus:.2} processors for the control group: beyond it the generator is stopped, and latencies grow by \
             whole periods"
        );
        rows.push(row("CPU quota", text, Mark::Warn));
    }
    if let Some(bytes) = limits.memory_bytes {
        let text = format!("{} for the control group, page cache included", format::bytes(bytes));
        rows.push(row("memory", text, Mark::Plain));
    }
    for device in &limits.devices {
        let caps = [
            (device.read_bytes_per_s, "read", true),
            (device.write_bytes_per_s, "write", true),
            (device.read_iops, "read", false),
            (device.write_iops, "write", false),
        ];
        let caps: Vec<String> = caps
            .into_iter()
            .filter_map(|(cap, what, bytes)| {
                let cap = cap?;
                let rate = if bytes {
                    format::bandwidth(cap as f64)
                } else {
                    format!("{} IOPS", format::count(cap))
                };
                Some(format!("{what} {rate}"))
            })
            .collect();
        let text = format!("{}: the control group's limit is measured, not the device", caps.join(", "));
        rows.push(row(&format!("device {}", device.device), text, Mark::Warn));
    }
    if rows.is_empty() && limits.version.is_some() {
        rows.push(row("control group", "no limits", Mark::Good));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soft(bytes: u64) -> Limit {
        Limit { soft: Some(bytes), hard: None }
    }

    #[test]
    fn little_lockable_memory_names_its_effect() {
        let (_, text, mark) = locked_memory(soft(64 << 10), false);
        assert_eq!(mark, Mark::Warn);
        assert!(text.starts_with("64 KiB: io_uring registers buffers"), "{text}");
        assert_eq!(locked_memory(soft(64 << 10), true).2, Mark::Good);
        assert_eq!(locked_memory(Limit::default(), false).1, "unlimited");
    }

    #[test]
    fn few_files_say_how_far_they_can_be_raised() {
        let (_, text, mark) = open_files(Limit { soft: Some(1024), hard: Some(524_288) });
        assert_eq!(mark, Mark::Warn);
        assert!(text.contains("ulimit -n 524288"), "{text}");
    }

    #[test]
    fn a_throttled_group_is_a_warning_and_a_free_one_is_said() {
        use assay_results::environment::{CgroupDeviceLimit, CgroupVersion};
        let throttled = CgroupLimits {
            version: Some(CgroupVersion::V2),
            cpu_quota_cpus: Some(0.5),
            devices: vec![CgroupDeviceLimit {
                device: "8:0".to_owned(),
                read_iops: Some(1000),
                ..CgroupDeviceLimit::default()
            }],
            ..CgroupLimits::default()
        };
        let rows = cgroup(&throttled);
        assert_eq!(rows.len(), 2);
        assert!(rows[1].1.starts_with("read 1,000 IOPS"), "{}", rows[1].1);
        let free = CgroupLimits { version: Some(CgroupVersion::V2), ..CgroupLimits::default() };
        assert_eq!(cgroup(&free)[0].1, "no limits");
        assert!(cgroup(&CgroupLimits::default()).is_empty(), "not known is not 'no limits'");
    }
}
