//! What each process of a tree asked for by calls, and whether that was about files.
//!
//! The kernel counts calls of read and write per process, on files as on pipes and `/dev/null`. An ended process is added
//! to the parent that waits for it, so what a parent shows then is told apart from its own work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use assay_host::HostRoot;
use assay_results::build::observed::CpuWait;
use assay_results::counters::Counters;

use super::files::{OpenFile, OpenFiles};

/// The first lines of `/proc/PID/io`: bytes read and written by calls, calls of read and write, bytes that were fetched
/// and sent. Reads are at even places.
type Counts = [u64; 6];

/// What moved that is within this share of what was asked for is the same.
const SAME_SHARE_MIN: f64 = 0.8;
/// Less of a direction that cannot be told is none.
const UNCLEAR_SHARE_MAX: f64 = 0.05;
/// Less of a direction that went to streams is what a program says.
const STREAMS_SHARE_MIN: f64 = 0.01;
/// A thread that ran or waited for a CPU for less of the time than this was not at work: a shell that waits.
const AT_WORK_MIN: f64 = 0.005;

/// What was done between two readings, by the tree and by whom it may have been.
type Growths = BTreeMap<(u32, By), Counts>;

/// Who may have done something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct By {
    /// At least one.
    pids: Vec<u32>,
    /// It was counted when a parent of several had waited for them: others may have ended that were not seen.
    perhaps_others: bool,
}

/// The processes that are followed.
#[derive(Debug, Default)]
pub struct Members {
    /// As they were when they were last looked at.
    last: BTreeMap<u32, Member>,
    /// Those that had children.
    parents: BTreeSet<u32>,
    /// Those that had several at once, as in a pipeline.
    parents_of_several: BTreeSet<u32>,
    /// What was done since the last reading.
    growths: Growths,
    /// What each thread had of the CPUs since the last reading.
    scheduled: BTreeMap<u32, Scheduled>,
    /// What was done up to each reading since the one before.
    readings: Vec<Reading>,
}

#[derive(Debug)]
struct Reading {
    at_ns: u64,
    growths: Growths,
    /// Time in which threads waited for a CPU, all together.
    run_queue_ns: u64,
    /// The threads that were at work or wanted to be.
    busy: BTreeMap<u32, Scheduled>,
}

#[derive(Debug)]
struct Member {
    parent: u32,
    counts: Counts,
    threads: BTreeMap<u32, Scheduled>,
}

/// `/proc/PID/task/TID/schedstat`.
#[derive(Debug, Default, Clone, Copy)]
struct Scheduled {
    run_ns: u64,
    wait_ns: u64,
}

impl Scheduled {
    fn busy_ns(self) -> u64 {
        self.run_ns + self.wait_ns
    }
}

/// Where the calls of a direction went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Files,
    Streams,
    /// Files and streams of one process.
    Both,
    /// Nothing of it was seen open.
    Unseen,
}

impl Members {
    /// Reads what each process of the trees did. What is first seen at `from_now` did nothing before that counts.
    pub fn look(&mut self, host: &HostRoot, trees: &[Vec<u32>], from_now: bool) {
        let read = |pid: u32| {
            let (parent, counts) = (parent(host, pid)?, counts(host, pid)?);
            Some((pid, Member { parent, counts, threads: threads(host, pid) }))
        };
        let mut now: BTreeMap<u32, Member> = trees.concat().into_iter().filter_map(read).collect();
        let mut children: BTreeMap<u32, u32> = BTreeMap::new();
        now.values().for_each(|member| *children.entry(member.parent).or_default() += 1);
        self.parents_of_several
            .extend(children.into_iter().filter(|(_, count)| *count > 1).map(|(pid, _)| pid));
        for tree in trees {
            let Some(root) = tree.first() else { continue };
            for pid in tree {
                let Some(member) = now.get(pid) else { continue };
                self.parents.insert(member.parent);
                let before = self.last.get(pid).or(from_now.then_some(member));
                let counts = before.map_or(Counts::default(), |before| before.counts);
                ran(&mut self.scheduled, member, before);
                self.grew(*root, *pid, difference(member.counts, counts), &now);
            }
        }
        // One that ended and that no parent has waited for yet is kept: that comes later.
        let alive = |pid: u32| now.contains_key(&pid);
        let pending: Vec<u32> = self
            .last
            .iter()
            .filter(|(pid, member)| !alive(**pid) && alive(member.parent) && !self.is_added(member, &now))
            .map(|(pid, _)| *pid)
            .collect();
        now.extend(pending.into_iter().filter_map(|pid| self.last.remove_entry(&pid)));
        self.last = now;
    }

    /// Whether a process that ended was added to its parent.
    fn is_added(&self, member: &Member, now: &BTreeMap<u32, Member>) -> bool {
        let grown = now.get(&member.parent).zip(self.last.get(&member.parent));
        grown.is_some_and(|(now, before)| {
            now.counts
                .iter()
                .zip(before.counts)
                .zip(member.counts)
                .all(|((now, before), own)| now - before.min(*now) >= own)
        })
    }

    /// Takes note of what a process did, and its children that ended.
    fn grew(&mut self, root: u32, pid: u32, growth: Counts, now: &BTreeMap<u32, Member>) {
        let mut rest = growth;
        let mut ended: Vec<u32> = Vec::new();
        for (child, member) in
            self.last.iter().filter(|(child, member)| member.parent == pid && !now.contains_key(child))
        {
            if rest.iter().zip(member.counts).all(|(rest, own)| *rest >= own) {
                rest = difference(rest, member.counts);
                ended.push(*child);
            }
        }
        if rest.iter().any(|count| *count > 0) {
            let perhaps_others = !ended.is_empty() && self.parents_of_several.contains(&pid);
            let pids = if ended.is_empty() { vec![pid] } else { ended };
            let by = By { pids, perhaps_others };
            let sum = self.growths.entry((root, by)).or_default();
            sum.iter_mut().zip(rest).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Closes what was done up to a reading of the counters.
    pub fn read_at(&mut self, at_ns: u64) {
        let since_ns = at_ns.saturating_sub(self.readings.last().map_or(0, |last| last.at_ns));
        let mut busy = std::mem::take(&mut self.scheduled);
        let run_queue_ns = busy.values().map(|thread| thread.wait_ns).sum();
        busy.retain(|_, thread| thread.busy_ns() as f64 > AT_WORK_MIN * since_ns as f64);
        self.readings.push(Reading { at_ns, growths: std::mem::take(&mut self.growths), run_queue_ns, busy });
    }

    /// What the threads had of the CPUs between two readings; `None` where the kernel does not say.
    pub fn cpu_between(&self, begun_ns: u64, ended_ns: u64) -> Option<CpuWait> {
        let within = |reading: &&Reading| reading.at_ns > begun_ns && reading.at_ns <= ended_ns;
        let mut wait = CpuWait::default();
        let mut threads: BTreeMap<u32, u64> = BTreeMap::new();
        for reading in self.readings.iter().filter(within) {
            wait.run_queue_ns += reading.run_queue_ns;
            wait.threads_at_work = wait.threads_at_work.max(reading.busy.len() as u32);
            for (tid, thread) in &reading.busy {
                *threads.entry(*tid).or_default() += thread.busy_ns();
            }
        }
        let busiest_ns = threads.into_values().max()?;
        wait.busiest_thread_share = (busiest_ns as f64 / ended_ns.saturating_sub(begun_ns) as f64).min(1.0);
        Some(wait)
    }

    /// Takes out of the readings of the trees the calls that were about no files. For reading and for writing: whether
    /// the rest is about files.
    pub fn leave_out_streams(
        &self,
        during: &mut [Counters],
        files: &OpenFiles,
        targets: &[OpenFile],
    ) -> (bool, bool) {
        let about = self.about(files);
        let streams_seen = |direction| files.have_streams(direction);
        let known = [0, 1].map(|direction| {
            let opened = |file: &OpenFile| if direction == 0 { file.opened_for.0 } else { file.opened_for.1 };
            targets.iter().any(opened) && self.is_known(direction, &about, streams_seen(direction))
        });
        for direction in [0, 1].into_iter().filter(|direction| known[*direction]) {
            let mut streams: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
            let mut readings = self.readings.iter().peekable();
            for record in during.iter_mut() {
                while let Some(reading) = readings.next_if(|reading| reading.at_ns <= record.at_ns) {
                    for ((root, by), counts) in &reading.growths {
                        if Self::of(by, direction, &about, streams_seen(direction)) == About::Streams {
                            let sum = streams.entry(*root).or_default();
                            *sum = (sum.0 + counts[direction], sum.1 + counts[2 + direction]);
                        }
                    }
                }
                for tree in &mut record.processes {
                    let (bytes, calls) = streams.get(&tree.pid).copied().unwrap_or_default();
                    let counted = match direction {
                        0 => [(&mut tree.asked_read_bytes, bytes), (&mut tree.asked_reads, calls)],
                        _ => [(&mut tree.asked_write_bytes, bytes), (&mut tree.asked_writes, calls)],
                    };
                    for (count, less) in counted {
                        *count = count.map(|count| count.saturating_sub(less));
                    }
                }
            }
        }
        (known[0], known[1])
    }

    /// What each process was about, in either direction.
    fn about(&self, files: &OpenFiles) -> BTreeMap<u32, [About; 2]> {
        let mut sums: BTreeMap<u32, Counts> = BTreeMap::new();
        for ((_, by), counts) in self.readings.iter().flat_map(|reading| &reading.growths) {
            let sum = sums.entry(by.pids[0]).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, more)| *sum += more);
            // What the others did of it is not known, but what they had open may be.
            for pid in &by.pids[1..] {
                sums.entry(*pid).or_default();
            }
        }
        let data: BTreeSet<PathBuf> = files.data().into_iter().map(|file| file.path).collect();
        let of = |pid: u32, sum: Counts, direction: usize| {
            let (asked, moved) = (sum[direction] as f64, sum[4 + direction] as f64);
            let (data, streams) = files.opened_by(pid, direction, &data);
            match (data, streams) {
                (true, false) => About::Files,
                (true, true) if (SAME_SHARE_MIN..=1.0 / SAME_SHARE_MIN).contains(&(moved / asked)) => {
                    About::Files
                }
                (true, true) => About::Both,
                (false, _) if asked > 0.0 && moved >= SAME_SHARE_MIN * asked => About::Files,
                // What a shell did may be its children's, which were not seen.
                (false, false) if asked == 0.0 => About::Unseen,
                (false, _) if self.parents.contains(&pid) || !files.knows(pid) => About::Unseen,
                (false, _) => About::Streams,
            }
        };
        sums.into_iter().map(|(pid, sum)| (pid, [0, 1].map(|direction| of(pid, sum, direction)))).collect()
    }

    /// What one of some processes did; those that are of several kinds cannot be told apart.
    fn of(by: &By, direction: usize, about: &BTreeMap<u32, [About; 2]>, streams_seen: bool) -> About {
        let mut kinds = by.pids.iter().filter_map(|pid| Some(about.get(pid)?[direction]));
        let first = kinds.next().unwrap_or(About::Unseen);
        let alike = kinds.all(|kind| kind == first);
        if alike && !(by.perhaps_others && streams_seen) { first } else { About::Both }
    }

    /// Whether what is left of a direction without streams is about files.
    fn is_known(&self, direction: usize, about: &BTreeMap<u32, [About; 2]>, streams_seen: bool) -> bool {
        let sum = |kind: About| {
            let growths = self.readings.iter().flat_map(|reading| &reading.growths);
            let of_kind = growths.filter(|((_, by), _)| Self::of(by, direction, about, streams_seen) == kind);
            of_kind.map(|(_, counts)| counts[direction]).sum::<u64>() as f64
        };
        let [of_files, streams, both, unseen] =
            [About::Files, About::Streams, About::Both, About::Unseen].map(sum);
        let rest = of_files + both + unseen;
        // Where there are streams, what no process was seen to do may have gone through them.
        let has_streams = streams_seen || streams >= STREAMS_SHARE_MIN * (rest + streams) && streams > 0.0;
        both <= UNCLEAR_SHARE_MAX * rest && (!has_streams || unseen <= UNCLEAR_SHARE_MAX * rest)
    }
}

/// Takes note of what the threads of a process had of the CPUs.
fn ran(scheduled: &mut BTreeMap<u32, Scheduled>, member: &Member, before: Option<&Member>) {
    for (tid, thread) in &member.threads {
        let before = before.and_then(|before| before.threads.get(tid)).copied().unwrap_or_default();
        let sum = scheduled.entry(*tid).or_default();
        sum.run_ns += thread.run_ns.saturating_sub(before.run_ns);
        sum.wait_ns += thread.wait_ns.saturating_sub(before.wait_ns);
    }
}

fn difference(later: Counts, earlier: Counts) -> Counts {
    std::array::from_fn(|at| later[at].saturating_sub(earlier[at]))
}

fn counts(host: &HostRoot, pid: u32) -> Option<Counts> {
    let text = host.text(format!("/proc/{pid}/io"))?;
    let mut values = text.lines().filter_map(|line| line.split_once(": ")?.1.trim().parse().ok());
    let mut counts = Counts::default();
    counts.iter_mut().try_for_each(|count| values.next().map(|value| *count = value))?;
    Some(counts)
}

fn threads(host: &HostRoot, pid: u32) -> BTreeMap<u32, Scheduled> {
    let tasks = format!("/proc/{pid}/task");
    let of = |name: String| {
        let text = host.text(format!("{tasks}/{name}/schedstat"))?;
        let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
        Some((name.parse().ok()?, Scheduled { run_ns: words.next()??, wait_ns: words.next()?? }))
    };
    host.names(&tasks).into_iter().filter_map(of).collect()
}

fn parent(host: &HostRoot, pid: u32) -> Option<u32> {
    let text = host.text(format!("/proc/{pid}/stat"))?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const MIB: u64 = 1 << 20;

    struct Machine(tempfile::TempDir, HostRoot);

    impl Machine {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let host = HostRoot::at(directory.path());
            Machine(directory, host)
        }

        fn process(&self, pid: u32, parent: u32, counts: Counts) {
            let directory = self.0.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&directory).unwrap();
            let names = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"];
            let lines: String =
                names.iter().zip(counts).map(|(name, count)| format!("{name}: {count}\n")).collect();
            std::fs::write(directory.join("io"), lines).unwrap();
            std::fs::write(directory.join("stat"), format!("{pid} (a b) S {parent} 1 1\n")).unwrap();
        }

        fn opens(&self, pid: u32, name: u32, path: &Path, flags: &str) {
            let directory = self.0.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(directory.join("fd")).unwrap();
            std::fs::create_dir_all(directory.join("fdinfo")).unwrap();
            std::os::unix::fs::symlink(path, directory.join(format!("fd/{name}"))).unwrap();
            std::fs::write(directory.join(format!("fdinfo/{name}")), format!("flags:\t{flags}\n")).unwrap();
        }

        fn ended(&self, pid: u32) {
            std::fs::remove_dir_all(self.0.path().join(format!("proc/{pid}"))).unwrap();
        }
    }

    /// As seen: `sh -c "dd if=A of=/dev/null; dd if=/dev/zero of=B"`, where `/dev/null` is Assay's own stdin as well.
    #[test]
    fn what_one_process_wrote_to_a_stream_is_not_of_the_file_of_another() {
        let machine = Machine::new();
        let host = &machine.1;
        let data = machine.0.path().join("B");
        std::fs::write(&data, vec![1; 2 << 20]).unwrap();
        let (mut members, mut files) = (Members::default(), OpenFiles::default());
        let mut look = |members: &mut Members, trees: &[Vec<u32>]| {
            trees.concat().iter().for_each(|pid| files.look_at(host, *pid));
            members.look(host, trees, false);
        };
        machine.process(10, 1, [0; 6]);
        machine.opens(10, 0, Path::new("/dev/null"), "0");
        machine.process(11, 10, [60 * MIB, 60 * MIB, 60, 60, 60 * MIB, 0]);
        machine.opens(11, 1, Path::new("/dev/null"), "01");
        look(&mut members, &[vec![10, 11]]);
        members.read_at(100);
        // What it did since the last look is its own as well, although its parent shows it.
        machine.ended(11);
        machine.process(10, 1, [64 * MIB, 64 * MIB, 64, 64, 64 * MIB, 0]);
        machine.process(12, 10, [10 * MIB, 10 * MIB, 10, 10, 0, 0]);
        machine.opens(12, 1, &data, "01");
        look(&mut members, &[vec![10, 12]]);
        members.read_at(200);
        machine.ended(12);
        machine.process(10, 1, [128 * MIB, 128 * MIB, 128, 128, 64 * MIB, 0]);
        look(&mut members, &[vec![10]]);
        members.read_at(300);

        let record = |at_ns, bytes: u64| {
            let tree = assay_results::counters::ProcessCounters {
                pid: 10,
                asked_write_bytes: Some(bytes),
                asked_writes: Some(bytes / MIB),
                asked_read_bytes: Some(bytes),
                ..Default::default()
            };
            Counters { at_ns, processes: vec![tree], ..Counters::default() }
        };
        let mut during =
            vec![record(50, 0), record(100, 60 * MIB), record(200, 74 * MIB), record(300, 128 * MIB)];
        let targets = files.targets();
        let known = members.leave_out_streams(&mut during, &files, &targets);
        assert_eq!(known, (false, true), "nothing but the program was seen open for reading");
        let written: Vec<u64> =
            during.iter().map(|record| record.processes[0].asked_write_bytes.unwrap() / MIB).collect();
        assert_eq!(written, [0, 0, 10, 64]);
        assert_eq!(during[3].processes[0].asked_writes, Some(64));
    }

    #[test]
    fn time_without_a_cpu_is_summed_and_threads_that_ended_are_kept() {
        let machine = Machine::new();
        let mut members = Members::default();
        let thread = |tid: u32, run: u64, wait: u64| {
            machine.process(10, 1, [0; 6]);
            let directory = machine.0.path().join(format!("proc/10/task/{tid}"));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("schedstat"), format!("{run} {wait} 3\n")).unwrap();
        };
        let look = |at_ns, members: &mut Members| {
            members.look(&machine.1, &[vec![10]], at_ns == 1000);
            members.read_at(at_ns);
        };
        // A server was there before.
        thread(10, 500, 700);
        look(1000, &mut members);
        thread(10, 501, 701);
        thread(11, 300, 600);
        look(2000, &mut members);
        std::fs::remove_dir_all(machine.0.path().join("proc/10/task/11")).unwrap();
        look(3000, &mut members);
        let wait = members.cpu_between(1000, 3000).unwrap();
        assert_eq!(wait, CpuWait { run_queue_ns: 601, busiest_thread_share: 0.45, threads_at_work: 1 });
        assert_eq!(members.cpu_between(2000, 3000), None);
    }
}
