//! Limits of the process and of its control group, with what they do to a measurement.

use assay_host::inventory::{Inventory, Limit};
use assay_report::format;
use assay_report::terminal::{Mark, Row, Section, control_group, row};

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
    rows.extend(control_group(&inventory.cgroup));
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
}
