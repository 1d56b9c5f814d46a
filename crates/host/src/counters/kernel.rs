//! CPU time of the kernel's own threads, `/proc/PID/schedstat`.
//!
//! Completions, loop devices and encryption work in them for every process that does I/O, so that their time is no other program's.

use std::collections::{BTreeMap, BTreeSet};

use super::process::Stat;
use crate::root::HostRoot;

/// Bit of the flags in `/proc/PID/stat` that tells a thread of the kernel (PF_KTHREAD).
const PF_KTHREAD: u64 = 0x0020_0000;
/// Number of that field.
const FLAGS: usize = 9;
/// Threads that serve soft interrupts, whose time the kernel counts as that of interrupts.
const SOFT_INTERRUPTS: &str = "ksoftirqd/";

/// A process that was looked at once.
#[derive(Debug)]
enum Known {
    /// None of the kernel's, or not to be counted.
    Other,
    /// A thread of the kernel, with its time when it was read last. Its file is not kept open: a large machine has
    /// thousands of them.
    Kernel { last_ns: u64 },
}

/// Adds up what the kernel's threads use from its first look on.
#[derive(Debug)]
pub(super) struct KernelThreads {
    root: HostRoot,
    known: BTreeMap<u32, Known>,
    begun: bool,
    total_ns: u64,
}

impl KernelThreads {
    pub(super) fn new(root: &HostRoot) -> Self {
        Self { root: root.clone(), known: BTreeMap::new(), begun: false, total_ns: 0 }
    }

    /// Their time since the first look; `None` where none can be seen, as in a container.
    pub(super) fn total_ns(&mut self) -> Option<u64> {
        let names = self.root.names("/proc");
        let pids: BTreeSet<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        self.known.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            let known = self.known.entry(pid).or_insert_with(|| look_at(&self.root, pid));
            let Known::Kernel { last_ns } = known else { continue };
            let text = self.root.text(format!("/proc/{pid}/schedstat")).unwrap_or_default();
            let Some(run_ns) = text.split_whitespace().next().and_then(|word| word.parse().ok()) else {
                continue;
            };
            // What it used before the first look was before the run.
            if self.begun {
                self.total_ns += u64::saturating_sub(run_ns, *last_ns);
            }
            *last_ns = run_ns;
        }
        self.begun = true;
        let any = self.known.values().any(|known| matches!(known, Known::Kernel { .. }));
        any.then_some(self.total_ns)
    }
}

fn look_at(root: &HostRoot, pid: u32) -> Known {
    let text = root.text(format!("/proc/{pid}/stat")).unwrap_or_default();
    let of_kernel = Stat::parse(&text).is_some_and(|stat| {
        stat.field(FLAGS).is_some_and(|flags| flags & PF_KTHREAD != 0)
            && !stat.command.starts_with(SOFT_INTERRUPTS)
    });
    if of_kernel { Known::Kernel { last_ns: 0 } } else { Known::Other }
}
