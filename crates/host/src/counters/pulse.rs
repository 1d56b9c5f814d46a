//! Whether this process runs: a thread that sleeps for a moment, again and again, and sees how late it wakes.
//!
//! A thread that waits for I/O cannot tell a stop (a signal, a freezer, a paused machine) from storage that does not answer. One
//! that only sleeps can: how late it woke, without the time in which it was ready to run and had no CPU, is time in which
//! it was stopped. It wakes two hundred times a second, for about a thousandth of a CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_results::counters::{Counters, PULSE_NS};

use super::source::Source;
use crate::root::HostRoot;

/// Less is the slack of a timer, and the time an idle processor takes to wake up.
const LATE_NS_MIN: u64 = 2_000_000;

#[derive(Debug, Default)]
struct Seen {
    ended: AtomicBool,
    stopped_ns: AtomicU64,
    stops: AtomicU64,
}

/// Counts the stops of this process from its creation until it is dropped.
#[derive(Debug)]
pub struct Pulse {
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Starts counting. A thread that cannot be started counts nothing: then [`Pulse::note`] leaves counters as they are.
    pub fn start(host: &HostRoot) -> Self {
        let seen = Arc::new(Seen::default());
        let (shared, host) = (Arc::clone(&seen), host.clone());
        let thread = std::thread::Builder::new().name("assay-pulse".to_owned());
        let thread = thread.stack_size(64 * 1024).spawn(move || beat(&host, &shared));
        Self { seen, thread: thread.ok() }
    }

    /// Writes what was counted so far into the counters of this process.
    pub fn note(&self, counters: &mut Counters) {
        let own = counters.processes.iter_mut().find(|process| process.pid == super::own_pid());
        if let (Some(own), true) = (own, self.thread.is_some()) {
            own.stopped_ns = Some(self.seen.stopped_ns.load(Ordering::Relaxed));
            own.stops = Some(self.seen.stops.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.seen.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It only counts.
            let _ = thread.join();
        }
    }
}

fn beat(host: &HostRoot, seen: &Seen) {
    // Of the thread that opens it, for as long as it is open.
    let mut scheduled = Source::new(host, "/proc/thread-self/schedstat");
    let mut before = (Instant::now(), waited_ns(&mut scheduled));
    while !seen.ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_nanos(PULSE_NS));
        let now = (Instant::now(), waited_ns(&mut scheduled));
        let late_ns = (now.0 - before.0).as_nanos() as u64;
        let stopped_ns = late_ns.saturating_sub(PULSE_NS + now.1.saturating_sub(before.1));
        if stopped_ns >= LATE_NS_MIN {
            seen.stopped_ns.fetch_add(stopped_ns, Ordering::Relaxed);
            seen.stops.fetch_add(1, Ordering::Relaxed);
        }
        before = now;
    }
}

/// Time in which the thread was ready to run and had no CPU; 0 where the kernel does not count it.
fn waited_ns(scheduled: &mut Source) -> u64 {
    let words = scheduled.read().and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
    words.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use assay_results::counters::ProcessCounters;

    use super::*;

    #[test]
    fn counts_are_written_to_this_process_only() {
        let pulse = Pulse::start(&HostRoot::real());
        let of = |pid| ProcessCounters { pid, ..ProcessCounters::default() };
        let mut counters = Counters { processes: vec![of(1), of(std::process::id())], ..Counters::default() };
        pulse.note(&mut counters);
        assert_eq!((counters.processes[0].stops, counters.processes[0].stopped_ns), (None, None));
        assert!(counters.processes[1].stops.is_some() && counters.processes[1].stopped_ns.is_some());
    }
}
