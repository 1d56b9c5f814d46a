//! `/proc/PID/{io,stat,task}`.

use std::collections::BTreeMap;

use assay_results::counters::{ProcessCounters, ProcessRole, ThreadCounters};

use super::source::Source;
use super::{own_pid, tick_ns};
use crate::root::{HostRoot, keyed_number};

#[derive(Debug)]
pub(super) struct ProcessSampler {
    root: HostRoot,
    pid: u32,
    io: Source,
    stat: Source,
    /// Whether the kernel measures waiting for block I/O; the file is there since 5.14.
    accounts_delays: bool,
}

impl ProcessSampler {
    pub(super) fn new(root: &HostRoot, pid: u32) -> Self {
        Self {
            root: root.clone(),
            pid,
            io: Source::new(root, format!("/proc/{pid}/io")),
            stat: Source::new(root, format!("/proc/{pid}/stat")),
            accounts_delays: root.flag("/proc/sys/kernel/task_delayacct").unwrap_or(true),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn snapshot(&mut self, list_threads: bool) -> Option<ProcessCounters> {
        let stat = Stat::parse(self.stat.read()?)?;
        let mut counters = ProcessCounters {
            pid: self.pid,
            command: stat.command.to_owned(),
            role: Some(if self.pid == own_pid() { ProcessRole::Assay } else { ProcessRole::Command }),
            user_ns: stat.field(14)? * tick_ns(),
            system_ns: stat.field(15)? * tick_ns(),
            minor_faults: stat.field(10)?,
            major_faults: stat.field(12)?,
            block_wait_ns: stat.field(42).filter(|_| self.accounts_delays).map(|ticks| ticks * tick_ns()),
            threads: stat.field(20)?,
            ..ProcessCounters::default()
        };
        if let Some(io) = self.io.read() {
            counters.asked_read_bytes = keyed_number(io, "rchar");
            counters.asked_write_bytes = keyed_number(io, "wchar");
            counters.asked_reads = keyed_number(io, "syscr");
            counters.asked_writes = keyed_number(io, "syscw");
            counters.storage_read_bytes = keyed_number(io, "read_bytes");
            counters.storage_write_bytes = keyed_number(io, "write_bytes");
            counters.cancelled_write_bytes = keyed_number(io, "cancelled_write_bytes");
        }
        self.threads(list_threads, &mut counters);
        Some(counters)
    }

    /// Counts the kernel's workers among the threads, and lists all of them when asked.
    fn threads(&self, list: bool, counters: &mut ProcessCounters) {
        let tasks = format!("/proc/{}/task", self.pid);
        for tid in self.root.names(&tasks) {
            let Some(name) = self.root.text(format!("{tasks}/{tid}/comm")) else { continue };
            counters.io_workers += u64::from(name.starts_with("iou-wrk"));
            counters.submission_pollers += u64::from(name.starts_with("iou-sqp"));
            if !list {
                continue;
            }
            let Some(schedstat) = self.root.text(format!("{tasks}/{tid}/schedstat")) else { continue };
            let mut words = schedstat.split_whitespace().map(str::parse);
            if let (Ok(tid), Some(Ok(run_ns)), Some(Ok(wait_ns)), Some(Ok(timeslices))) =
                (tid.parse(), words.next(), words.next(), words.next())
            {
                counters.thread_list.push(ThreadCounters { tid, name, run_ns, wait_ns, timeslices });
            }
        }
    }
}

/// A line of `/proc/PID/stat`: the command may itself contain blanks and parentheses.
pub(super) struct Stat<'a> {
    pub(super) command: &'a str,
    /// From field 3 on.
    rest: &'a str,
}

impl<'a> Stat<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        Some(Self { command: head.split_once('(')?.1, rest })
    }

    /// A field by its number in proc(5), from 3.
    pub(super) fn field(&self, number: usize) -> Option<u64> {
        self.rest.split_whitespace().nth(number - 3)?.parse().ok()
    }
}

/// A process and all its descendants that are alive, the process first.
///
/// Children whose parent has ended have another parent by then and are not found.
pub fn process_tree(root: &HostRoot, pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for name in root.names("/proc") {
        let Ok(child) = name.parse::<u32>() else { continue };
        let text = root.text(format!("/proc/{child}/stat")).unwrap_or_default();
        if let Some(parent) = Stat::parse(&text).and_then(|stat| stat.field(4)) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut tree = vec![pid];
    let mut at = 0;
    while at < tree.len() {
        // Removed when visited, so that a tree read while it changed cannot go round in circles.
        tree.extend(children.remove(&u64::from(tree[at])).unwrap_or_default());
        at += 1;
    }
    tree
}
