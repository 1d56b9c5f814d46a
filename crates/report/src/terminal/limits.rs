//! Limits of the process and of its control group, with what they do to a measurement.

use super::{Mark, Row, row};
use crate::format;

/// A limit of the process: the soft one, and how far it can be raised; `None`: without bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    /// What holds.
    pub soft: Option<u64>,
    /// The most that it can be set to.
    pub hard: Option<u64>,
}

/// The limits of a process, and what it may do; `None`: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Bytes of memory that can be locked.
    pub locked_memory: Option<Limit>,
    /// Whether it may lock all the same.
    pub ipc_lock: bool,
    /// Open files.
    pub open_files: Option<Limit>,
    /// Bytes of a file.
    pub file_size: Option<Limit>,
    /// Whether it may drop caches.
    pub drop_caches: Option<bool>,
    /// Whether a filter decides over its system calls.
    pub seccomp_filter: bool,
}

/// What registered buffers of a large plan take: 256 outstanding I/Os of 256 KiB.
const REGISTERED_BYTES: u64 = 64 << 20;
/// Open files that a plan of a few hundred jobs with a file each takes.
const OPEN_FILES: u64 = 4096;
/// File size that the quick series makes.
const FILE_BYTES: u64 = 4 << 30;

/// A line for each of them.
pub fn process_limits(limits: &ProcessLimits) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(limits.locked_memory.map(|limit| locked_memory(limit, limits.ipc_lock)));
    rows.extend(limits.open_files.map(open_files));
    rows.extend(limits.file_size.and_then(file_size));
    rows.extend(privileges(limits));
    rows
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

fn privileges(limits: &ProcessLimits) -> Vec<Row> {
    let mut rows = Vec::new();
    match limits.drop_caches {
        Some(true) => rows.push(row("drop caches", "allowed", Mark::Good)),
        Some(false) => {
            let text = "not allowed: buffered reads start from whatever is cached; only the plan's own files can be \
                        dropped (root may do it)";
            rows.push(row("drop caches", text, Mark::Warn));
        }
        None => {}
    }
    if limits.seccomp_filter {
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
