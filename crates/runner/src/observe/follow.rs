//! Starting the command, and following it with all its children until it ends.

use std::collections::BTreeMap;
use std::io::{Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_host::HostRoot;
use assay_host::counters::{Sampler, Selection, process_tree};
use assay_results::counters::{Counters, ProcessCounters, ProcessRole};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::files::OpenFiles;
use super::members::Members;
use crate::error::RunError;
use crate::idle_windows;

/// Time between two readings at first; later readings are made once a second.
const PERIOD_SHORT: Duration = Duration::from_millis(200);
const PERIOD_LONG: Duration = Duration::from_secs(1);
/// How long readings are short.
const SHORT_FOR: Duration = Duration::from_secs(60);
/// The time between two looks at open files, as a part of the time since the start.
const LOOK_SHARE: u32 = 20;
/// How often it is looked whether the command has ended.
const STEP: Duration = Duration::from_millis(5);
/// How long the command has to end by itself after Assay was told to stop, before it is told too.
const PASS_ON_AFTER: Duration = Duration::from_secs(2);
/// More of the command's output than this is not kept for reading figures from.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// What was seen of a command.
#[derive(Debug)]
pub struct ObservedCommand {
    /// Before it was started, at two moments.
    pub before: [Counters; 2],
    /// While it ran: from its start to its end.
    pub during: Vec<Counters>,
    /// After its end, at two moments.
    pub after: [Counters; 2],
    /// How it ended.
    pub status: ExitStatus,
    /// What it said on stdout, where that was asked for.
    pub output: String,
    /// What it had open.
    pub files: OpenFiles,
    /// What each of its processes did.
    pub members: Members,
    /// The most threads it was seen with.
    pub threads_max: u64,
    /// The names of processes that it started and that still ran when it ended.
    pub left_running: Vec<String>,
}

/// Where the command's stdout goes.
pub enum CommandOutput {
    /// Where ours goes.
    Inherited,
    /// To this writer.
    To {
        /// Gets each piece as it comes; that it cannot take one is not the command's fault.
        writer: Box<dyn Write + Send>,
        /// Whether what was said is kept as well, for reading figures from.
        keep: bool,
    },
}

/// How to follow.
pub struct Following<'a> {
    /// The machine.
    pub host: &'a HostRoot,
    /// Further processes that work for the command: servers that were there before.
    pub pids: &'a [u32],
    /// Where the command's stdout goes.
    pub output: CommandOutput,
    /// Set to end it early.
    pub stop: Arc<AtomicBool>,
}

/// Counters of all whole devices, and of each process tree as one.
struct Watcher {
    host: HostRoot,
    sampler: Sampler,
    /// The command, while it runs.
    child: Option<u32>,
    /// Others that work for it.
    pids: Vec<u32>,
    /// What each tree did, by its root.
    did: BTreeMap<u32, Did>,
    /// What each process of them did.
    members: Members,
}

impl Watcher {
    /// All trees, each with its root first. What the command's dead parents left behind is ours now, and belongs to it.
    fn trees(&self) -> Vec<Vec<u32>> {
        let own = self.child.map(|child| {
            let ours = process_tree(&self.host, std::process::id());
            let others = ours.into_iter().skip(1).filter(|pid| *pid != child && !self.pids.contains(pid));
            std::iter::once(child).chain(others).collect()
        });
        own.into_iter().chain(self.pids.iter().map(|pid| process_tree(&self.host, *pid))).collect()
    }

    /// What is open now.
    fn look(&mut self, files: &mut OpenFiles) {
        let trees = self.trees();
        trees.concat().iter().for_each(|pid| files.look_at(&self.host, *pid));
        self.members.look(&self.host, &trees, self.child.is_none());
    }

    fn snapshot(&mut self, files: &mut OpenFiles) -> Counters {
        let trees = self.trees();
        let all: Vec<u32> = trees.concat();
        self.members.look(&self.host, &trees, self.child.is_none());
        self.sampler.select_processes(&all);
        let mut record = self.sampler.snapshot();
        let found: BTreeMap<u32, ProcessCounters> =
            record.processes.drain(..).map(|process| (process.pid, process)).collect();
        record.processes = trees.iter().filter_map(|tree| as_one(tree, &found)).collect();
        for tree in &mut record.processes {
            self.did.entry(tree.pid).or_default().add_to(tree);
        }
        self.members.read_at(record.at_ns);
        all.iter().for_each(|pid| files.look_at(&self.host, *pid));
        record
    }

    /// What the command started and what still runs although it ended: the names. Its children are ours by then.
    fn left_running(&self, command: u32) -> Vec<String> {
        let others =
            self.trees().into_iter().next().unwrap_or_default().into_iter().filter(|pid| *pid != command);
        let name = |pid: u32| {
            let stat = self.host.text(format!("/proc/{pid}/stat"))?;
            let (head, rest) = stat.rsplit_once(')')?;
            let has_ended = rest.trim_start().starts_with(['Z', 'X']);
            (!has_ended).then(|| head.split_once('(').map(|(_, name)| name.to_owned()))?
        };
        others.filter_map(name).collect()
    }

    /// Takes the started command among the followed. `before` was read before its start and becomes the first reading
    /// of it: a process begins with all its counters at zero, and what it does until a later reading is its own.
    fn follow_from_start(&mut self, child: u32, before: &mut Counters, files: &mut OpenFiles) {
        self.child = Some(child);
        before.processes.insert(0, newborn(child));
        files.look_at(&self.host, child);
    }
}

/// What a process tree did, the part of those included that are gone without a parent that waited for them.
#[derive(Debug, Default)]
struct Did {
    last: ProcessCounters,
    lost: ProcessCounters,
}

/// The counts of a process that only grow.
const COUNTS: [fn(&mut ProcessCounters) -> &mut Option<u64>; 7] = [
    |process| &mut process.asked_read_bytes,
    |process| &mut process.asked_write_bytes,
    |process| &mut process.asked_reads,
    |process| &mut process.asked_writes,
    |process| &mut process.storage_read_bytes,
    |process| &mut process.storage_write_bytes,
    |process| &mut process.cancelled_write_bytes,
];

impl Did {
    /// Adds what is not counted any more to the counters of the tree.
    fn add_to(&mut self, tree: &mut ProcessCounters) {
        let Did { last, lost } = self;
        for count in COUNTS {
            let (Some(now), Some(before)) = (count(tree).as_mut(), *count(last)) else { continue };
            let gone = count(lost).get_or_insert(0);
            *gone += before.saturating_sub(*now + *gone);
            *now += *gone;
        }
        for (now, before, gone) in [
            (&mut tree.user_ns, last.user_ns, &mut lost.user_ns),
            (&mut tree.system_ns, last.system_ns, &mut lost.system_ns),
        ] {
            *gone += before.saturating_sub(*now + *gone);
            *now += *gone;
        }
        last.clone_from(tree);
    }
}

/// The counters of a process at its start.
fn newborn(pid: u32) -> ProcessCounters {
    let zero = Some(0);
    ProcessCounters {
        pid,
        role: Some(ProcessRole::Command),
        asked_read_bytes: zero,
        asked_write_bytes: zero,
        asked_reads: zero,
        asked_writes: zero,
        storage_read_bytes: zero,
        storage_write_bytes: zero,
        cancelled_write_bytes: zero,
        block_wait_ns: zero,
        threads: 1,
        ..ProcessCounters::default()
    }
}

/// A process tree as one process. The kernel adds what an ended child did to the parent that waits for it, so the sum
/// over those that are alive holds what all of them did.
fn as_one(tree: &[u32], found: &BTreeMap<u32, ProcessCounters>) -> Option<ProcessCounters> {
    let mut members = tree.iter().filter_map(|pid| found.get(pid));
    let mut sum = members.next()?.clone();
    for member in members {
        let mut member = member.clone();
        for count in COUNTS {
            let more = *count(&mut member);
            let to = count(&mut sum);
            *to = to.zip(more).map(|(a, b)| a + b);
        }
        sum.user_ns += member.user_ns;
        sum.system_ns += member.system_ns;
        sum.threads += member.threads;
        sum.io_workers += member.io_workers;
    }
    Some(sum)
}

/// Runs `command` to its end and watches it, the time before and the time after.
///
/// # Errors
/// [`RunError::Command`] where it cannot be started.
pub fn follow(command: &[String], following: Following<'_>) -> Result<ObservedCommand, RunError> {
    let Following { host, pids, output, stop } = following;
    let stopped = || stop.load(Ordering::Relaxed);
    let devices = assay_host::list_block_devices(host);
    let selection = Selection { devices, ..Selection::default() };
    let sampler = Sampler::new(host, &selection);
    let (pids, did) = (pids.to_vec(), BTreeMap::new());
    let members = Members::default();
    let mut watcher = Watcher { host: host.clone(), sampler, child: None, pids, did, members };
    let mut files = OpenFiles::default();
    // Children whose parent ends become ours, so that they stay in the tree.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let before = window(&mut watcher, &stopped);
    let mut at_start = watcher.snapshot(&mut files);
    let (mut child, reader) = start(command, output, &mut files)?;
    watcher.follow_from_start(child.id(), &mut at_start, &mut files);
    let started = Instant::now();
    let mut during = vec![at_start];
    let mut threads_max = 1;
    let mut stopped_at: Option<Instant> = None;
    let mut told = false;
    let mut next = PERIOD_SHORT;
    let mut next_look = Duration::ZERO;
    while !has_ended(&child) {
        std::thread::sleep(STEP);
        // Files of short commands are open for a moment; a look takes about a millisecond.
        if started.elapsed() >= next_look && next_look < PERIOD_SHORT {
            watcher.look(&mut files);
            next_look = started.elapsed() + (started.elapsed() / LOOK_SHARE).max(STEP);
        }
        if stopped() {
            stopped_at.get_or_insert_with(Instant::now);
        }
        if !told && stopped_at.is_some_and(|since| since.elapsed() > PASS_ON_AFTER) {
            // A terminal tells the command itself; a signal to Assay alone is passed on.
            let _ = Pid::from_raw(child.id() as i32)
                .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
            told = true;
        }
        if started.elapsed() >= next {
            during.push(watcher.snapshot(&mut files));
            next = started.elapsed() + if next < SHORT_FOR { PERIOD_SHORT } else { PERIOD_LONG };
        }
        let threads = during.last().and_then(|record| record.processes.first()).map(|tree| tree.threads);
        threads_max = threads_max.max(threads.unwrap_or(1));
    }
    // Before it is waited for, its counters can still be read, with those of all its children.
    during.push(watcher.snapshot(&mut files));
    let status = child.wait().map_err(RunError::Wait)?;
    let left_running = watcher.left_running(child.id());
    watcher.child = None;
    let output = reader.map(|reader| reader.join().unwrap_or_default()).unwrap_or_default();
    let after = window(&mut watcher, &stopped);
    if started.elapsed() > SHORT_FOR {
        during = once_a_second(during);
    }
    Ok(ObservedCommand {
        before,
        during,
        after,
        status,
        output,
        files,
        members: watcher.members,
        threads_max,
        left_running,
    })
}

/// Two looks at the devices with nothing done between them.
fn window(watcher: &mut Watcher, stopped: &dyn Fn() -> bool) -> [Counters; 2] {
    let mut nobody = OpenFiles::default();
    let begun = watcher.snapshot(&mut nobody);
    let until = Instant::now() + idle_windows::WINDOW;
    while Instant::now() < until && !stopped() {
        std::thread::sleep(STEP);
    }
    [begun, watcher.snapshot(&mut nobody)]
}

fn start(
    command: &[String],
    output: CommandOutput,
    files: &mut OpenFiles,
) -> Result<(Child, Option<JoinHandle<String>>), RunError> {
    let (program, arguments) =
        command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut made = Command::new(program);
    made.args(arguments);
    let writer = match output {
        CommandOutput::Inherited => None,
        CommandOutput::To { writer, keep } => {
            made.stdout(Stdio::piped());
            Some((writer, keep))
        }
    };
    let mut child =
        made.spawn().map_err(|source| RunError::Command { program: program.to_owned(), source })?;
    let pipe = child.stdout.as_ref().map(|pipe| format!("/proc/self/fd/{}", pipe.as_raw_fd()));
    files.given = pipe.and_then(|link| std::fs::read_link(link).ok());
    let reader = child
        .stdout
        .take()
        .zip(writer)
        .map(|(stdout, (writer, keep))| std::thread::spawn(move || pass_on(stdout, writer, keep)));
    Ok((child, reader))
}

/// Passes on what the command says, and keeps it.
fn pass_on(mut from: std::process::ChildStdout, mut to: Box<dyn Write + Send>, keep: bool) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let piece = &buffer[..length];
        // A reader that went away is not the command's fault.
        let _ = to.write_all(piece).and_then(|()| to.flush());
        if keep && ((kept.len() + length) as u64) < OUTPUT_BYTES_MAX {
            kept.extend_from_slice(piece);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Whether the child has ended, leaving it to be waited for.
fn has_ended(child: &Child) -> bool {
    let Some(pid) = Pid::from_raw(child.id() as i32) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// The first and the last reading, and of those between one a second.
fn once_a_second(readings: Vec<Counters>) -> Vec<Counters> {
    let last = readings.len().saturating_sub(1);
    let mut kept: Vec<Counters> = Vec::new();
    for (at, reading) in readings.into_iter().enumerate() {
        let far = kept.last().is_none_or(|before| reading.at_ns >= before.at_ns + 950_000_000);
        if far || at == last {
            kept.push(reading);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_did_before_it_was_first_looked_at_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("written");
        let script = format!("head -c 100000 /dev/zero > {}; exec sleep 60", file.display());
        let host = HostRoot::real();
        let sampler = Sampler::new(&host, &Selection::default());
        let mut watcher = Watcher {
            host,
            sampler,
            child: None,
            pids: Vec::new(),
            did: BTreeMap::new(),
            members: Members::default(),
        };
        let mut files = OpenFiles::default();
        let mut before = watcher.snapshot(&mut files);
        let (mut child, _) =
            start(&["sh".into(), "-c".into(), script], CommandOutput::Inherited, &mut files).expect("sh");
        // Only once `head` was waited for has its parent what it wrote.
        let replaced = || process_tree(&HostRoot::real(), child.id()).len() == 1;
        let begun = Instant::now();
        while std::fs::metadata(&file).map_or(0, |meta| meta.len()) < 100_000 || !replaced() {
            assert!(begun.elapsed() < Duration::from_secs(40), "waited 40 s for what the command writes");
            std::thread::sleep(STEP);
        }
        watcher.follow_from_start(child.id(), &mut before, &mut files);
        let later = watcher.snapshot(&mut files);
        child.kill().and_then(|()| child.wait()).expect("ended");
        let did = Counters::delta(&before, &later);
        assert!(did.processes[0].asked_write_bytes >= Some(100_000), "{:?}", did.processes);
    }

    #[test]
    fn a_tree_is_the_sum_of_its_members() {
        let process = |pid, read| ProcessCounters {
            pid,
            command: format!("c{pid}"),
            storage_read_bytes: Some(read),
            user_ns: 5,
            threads: 1,
            ..ProcessCounters::default()
        };
        let found: BTreeMap<u32, ProcessCounters> =
            [process(7, 100), process(9, 20)].into_iter().map(|process| (process.pid, process)).collect();
        let sum = as_one(&[7, 8, 9], &found).unwrap();
        assert_eq!((sum.pid, sum.command.as_str()), (7, "c7"));
        assert_eq!((sum.storage_read_bytes, sum.user_ns, sum.threads), (Some(120), 10, 2));
        assert_eq!(as_one(&[1], &found), None);
    }

    #[test]
    fn long_runs_keep_a_reading_a_second_and_the_last() {
        let at = |ms: u64| Counters { at_ns: ms * 1_000_000, ..Counters::default() };
        let kept = once_a_second((0..=16).map(|i| at(i * 200)).collect());
        let times: Vec<u64> = kept.iter().map(|reading| reading.at_ns / 1_000_000).collect();
        assert_eq!(times, [0, 1000, 2000, 3000, 3200]);
    }
}
