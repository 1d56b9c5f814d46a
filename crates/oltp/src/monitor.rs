//! What is watched beside the users: the orders that the database counts, its transactions, checkpoints and log, from the end of the
//! ramp to the end of the measured time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_results::run::Metric;

use crate::error::Error;

/// Between two looks at the counters.
const EVERY_NS: u64 = 1_000_000_000;
/// The longest sleep between two looks at the stop flag.
const NAP: Duration = Duration::from_millis(5);
/// The highest and the lowest rate are those of windows of so many seconds: backends publish what they count once a second.
const WINDOW: usize = 10;

/// What changes quickly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Committed and rolled back.
    pub(crate) transactions: i64,
    pub(crate) checkpoints: i64,
}

/// What the devices below a server did, for whomever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeviceTotals {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) flushes: u64,
    /// Time that flushes took together.
    pub(crate) flush_ms: u64,
}

/// Everything that is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) counts: Counts,
    /// The sum of `d_next_o_id`.
    pub(crate) orders: i64,
    /// Blocks found in the buffers of the server, and not; `None`: it does not count them.
    pub(crate) blocks_hit: Option<i64>,
    pub(crate) blocks_read: Option<i64>,
    pub(crate) database_bytes: i64,
    /// Bytes of log ever written.
    pub(crate) log_bytes: Option<i64>,
    pub(crate) deadlocks: Option<i64>,
    /// How often the log was made durable, and microseconds that took together; 0: its time is not taken (track_wal_io_timing).
    pub(crate) log_syncs: Option<i64>,
    pub(crate) log_syncs_us: Option<i64>,
    /// Of the devices below a server; `None`: they are not known, or those below the targets are watched anyway.
    pub(crate) devices: Option<DeviceTotals>,
}

/// Where they are read.
pub(crate) trait Watch: Send {
    fn counts(&mut self) -> Result<Counts, Error>;
    fn totals(&mut self) -> Result<Totals, Error>;
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watched {
    /// First and last reading, with their times.
    ends: Option<[(u64, Totals); 2]>,
    /// One a second.
    counts: Vec<(u64, Counts)>,
    /// Why there is less.
    error: Option<String>,
}

/// When to watch, told by others.
#[derive(Debug, Default)]
struct Signals {
    /// The start of the phase; 0: not known yet.
    start_ns: AtomicU64,
    stop: AtomicBool,
}

/// A thread that watches.
#[derive(Debug)]
pub(crate) struct Monitor {
    signals: Arc<Signals>,
    thread: Mutex<Option<JoinHandle<Watched>>>,
    /// Start of the measured part, from that of the phase.
    measured_start_ns: u64,
}

impl Monitor {
    /// Begins to watch `length_ns` from `measured_start_ns` after the start of the phase on; `None`: until [`Monitor::end`].
    pub(crate) fn spawn(
        watch: Box<dyn Watch>,
        measured_start_ns: u64,
        length_ns: Option<u64>,
    ) -> std::io::Result<Self> {
        let signals = Arc::new(Signals::default());
        let told = Arc::clone(&signals);
        let thread = std::thread::Builder::new()
            .name("assay-oltp".to_owned())
            .spawn(move || watched(watch, &told, measured_start_ns, length_ns))?;
        Ok(Monitor { signals, thread: Mutex::new(Some(thread)), measured_start_ns })
    }

    /// The phase starts now.
    pub(crate) fn arm(&self, start_ns: u64) {
        self.signals.start_ns.store(start_ns, Ordering::Relaxed);
    }

    /// Ends it; nothing more comes a second time.
    pub(crate) fn end(&self) -> Watched {
        self.signals.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.map_or_else(Watched::default, |thread| thread.join().unwrap_or_default())
    }

    /// Seconds from the start of the measured part in which a checkpoint was completed.
    pub(crate) fn checkpoints_s(&self, watched: &Watched) -> Vec<u64> {
        let origin = self.signals.start_ns.load(Ordering::Relaxed) + self.measured_start_ns;
        let pairs = watched.counts.windows(2).filter(|pair| pair[1].1.checkpoints > pair[0].1.checkpoints);
        pairs.map(|pair| pair[1].0.saturating_sub(origin) / EVERY_NS).collect()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sleeps until a time; whether it came.
fn until(clock: &RealClock, at_ns: u64, signals: &Signals) -> bool {
    loop {
        let left = at_ns.saturating_sub(clock.now_ns());
        if left == 0 || signals.stop.load(Ordering::Relaxed) {
            return left == 0;
        }
        std::thread::sleep(NAP.min(Duration::from_nanos(left)));
    }
}

fn watched(mut watch: Box<dyn Watch>, signals: &Signals, from_ns: u64, length_ns: Option<u64>) -> Watched {
    let clock = RealClock::new();
    let mut seen = Watched::default();
    let start_ns = loop {
        match signals.start_ns.load(Ordering::Relaxed) {
            0 if signals.stop.load(Ordering::Relaxed) => return seen,
            0 => std::thread::sleep(NAP),
            start_ns => break start_ns + from_ns,
        }
    };
    if !until(&clock, start_ns, signals) {
        return seen;
    }
    let end_ns = length_ns.map_or(u64::MAX, |length| start_ns.saturating_add(length));
    if let Err(error) = watch_until(&mut *watch, &clock, signals, (start_ns, end_ns), &mut seen) {
        seen.error = Some(error.to_string());
    }
    seen
}

fn watch_until(
    watch: &mut dyn Watch,
    clock: &RealClock,
    signals: &Signals,
    (start_ns, end_ns): (u64, u64),
    seen: &mut Watched,
) -> Result<(), Error> {
    // A reading counts for the middle of the time that it took.
    let mut read = || -> Result<(u64, Totals), Error> {
        let before = clock.now_ns();
        let totals = watch.totals()?;
        Ok((before + clock.now_ns().saturating_sub(before) / 2, totals))
    };
    let first = read()?;
    seen.counts.push((first.0, first.1.counts));
    let mut next_ns = start_ns;
    loop {
        next_ns += EVERY_NS;
        if next_ns >= end_ns || !until(clock, next_ns, signals) {
            break;
        }
        seen.counts.push((clock.now_ns(), watch.counts()?));
    }
    until(clock, end_ns, signals);
    let before = clock.now_ns();
    let last = watch.totals()?;
    let last = (before + clock.now_ns().saturating_sub(before) / 2, last);
    seen.counts.push((last.0, last.1.counts));
    seen.ends = Some([first, last]);
    Ok(())
}

fn metric(value: f64, unit: &str) -> Metric {
    Metric { value, unit: unit.to_owned(), n: 1, interval: None, basis: None }
}

/// The figures' names, as results and checks know them.
pub(crate) const NOPM: &str = "NOPM";
const TPM: &str = "TPM";

impl Watched {
    /// Why something is missing.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Everything that was seen, as named figures.
    pub(crate) fn figures(&self) -> BTreeMap<String, Metric> {
        let mut figures = BTreeMap::new();
        let Some([(from_ns, first), (to_ns, last)]) = self.ends.filter(|[first, last]| last.0 > first.0)
        else {
            return figures;
        };
        let seconds = (to_ns - from_ns) as f64 / 1e9;
        let mut put =
            |name: &str, value: f64, unit: &str| drop(figures.insert(name.to_owned(), metric(value, unit)));
        let per_minute = |n: i64| n as f64 * 60.0 / seconds;
        let nopm = per_minute(last.orders - first.orders);
        let tpm = per_minute(last.counts.transactions - first.counts.transactions);
        put(NOPM, nopm, "new orders/min");
        put(TPM, tpm, "transactions/min");
        if nopm > 0.0 {
            put("TPM/NOPM", tpm / nopm, "");
        }
        if let Some((low, high)) = self.extremes() {
            put("TPM, lowest", low, "transactions/min");
            put("TPM, peak", high, "transactions/min");
        }
        put("database size", last.database_bytes as f64, "bytes");
        put("checkpoints", (last.counts.checkpoints - first.counts.checkpoints) as f64, "");
        let since = |of: fn(&Totals) -> Option<i64>| Some((of(&last)? - of(&first)?) as f64);
        if let (Some(hit), Some(read)) = (since(|t| t.blocks_hit), since(|t| t.blocks_read)) {
            if hit + read > 0.0 {
                put("buffer hit ratio", 100.0 * hit / (hit + read), "%");
            }
            put("buffer reads", read / seconds, "blocks/s");
        }
        if let Some(bytes) = since(|t| t.log_bytes) {
            put("WAL written", bytes / seconds, "bytes/s");
        }
        if let Some(syncs) = since(|t| t.log_syncs) {
            put("WAL syncs", syncs / seconds, "/s");
            if let Some(us) = since(|t| t.log_syncs_us).filter(|us| *us > 0.0 && syncs > 0.0) {
                put("WAL sync, mean", us / syncs, "us");
            }
        }
        if let Some(deadlocks) = since(|t| t.deadlocks) {
            put("deadlocks", deadlocks, "");
        }
        if let (Some(first), Some(last)) = (first.devices, last.devices) {
            devices_between(&first, &last, seconds, &mut put);
        }
        figures
    }

    /// Lowest and highest transactions per minute of windows; `None`: there are not two.
    fn extremes(&self) -> Option<(f64, f64)> {
        let window = if self.counts.len() > 3 * WINDOW { WINDOW } else { 1 };
        let last = self.counts.len().checked_sub(1)?;
        let rate = |at: usize| {
            let ((from, a), (to, b)) = (self.counts[at], self.counts[at + window]);
            // The last one is a remainder.
            (to > from + EVERY_NS * window as u64 / 2)
                .then(|| (b.transactions - a.transactions) as f64 * 60e9 / (to - from) as f64)
        };
        let rates: Vec<f64> = (0..=last.checked_sub(window)?).filter_map(rate).collect();
        let low = rates.iter().copied().reduce(f64::min)?;
        let high = rates.iter().copied().reduce(f64::max)?;
        (rates.len() > 1).then_some((low, high))
    }
}

/// What the server's devices did, a second.
fn devices_between(
    first: &DeviceTotals,
    last: &DeviceTotals,
    seconds: f64,
    put: &mut dyn FnMut(&str, f64, &str),
) {
    let since = |of: fn(&DeviceTotals) -> u64| of(last).saturating_sub(of(first)) as f64;
    put("server's devices, reads", since(|t| t.reads) / seconds, "/s");
    put("server's devices, read", since(|t| t.read_bytes) / seconds, "bytes/s");
    put("server's devices, writes", since(|t| t.writes) / seconds, "/s");
    put("server's devices, written", since(|t| t.written_bytes) / seconds, "bytes/s");
    let flushes = since(|t| t.flushes);
    put("server's devices, flushes", flushes / seconds, "/s");
    if flushes > 0.0 {
        put("server's devices, flush, mean", since(|t| t.flush_ms) * 1000.0 / flushes, "us");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(orders: i64, transactions: i64) -> Totals {
        Totals {
            counts: Counts { transactions, checkpoints: 1 },
            orders,
            blocks_hit: Some(transactions * 9),
            blocks_read: Some(transactions),
            database_bytes: 5000,
            log_bytes: Some(transactions * 100),
            deadlocks: None,
            log_syncs: Some(transactions),
            log_syncs_us: Some(transactions * 150),
            devices: Some(DeviceTotals {
                writes: transactions as u64 * 3,
                flushes: transactions as u64,
                flush_ms: transactions as u64 / 2,
                ..DeviceTotals::default()
            }),
        }
    }

    #[test]
    fn figures_are_per_minute_between_first_and_last_reading() {
        let second = EVERY_NS;
        let counts = |at: u64, transactions| (at * second, Counts { transactions, checkpoints: 0 });
        let watched = Watched {
            ends: Some([(second, totals(100, 0)), (31 * second, totals(600, 1150))]),
            counts: vec![counts(1, 0), counts(2, 50), counts(3, 60), counts(4, 160)],
            error: None,
        };
        let figures = watched.figures();
        let value = |name: &str| figures[name].value;
        assert_eq!((value("NOPM"), value("TPM"), value("TPM/NOPM")), (1000.0, 2300.0, 2.3));
        assert_eq!((value("TPM, lowest"), value("TPM, peak")), (600.0, 6000.0));
        assert_eq!((value("buffer hit ratio"), value("database size")), (90.0, 5000.0));
        assert_eq!((value("WAL syncs").round(), value("WAL sync, mean")), (38.0, 150.0));
        assert!(!figures.contains_key("deadlocks"));
        assert_eq!(
            (value("server's devices, writes"), value("server's devices, flush, mean")),
            (115.0, 500.0)
        );
        assert!(Watched::default().figures().is_empty());
    }

    #[derive(Debug)]
    struct Growing(i64);

    impl Watch for Growing {
        fn counts(&mut self) -> Result<Counts, Error> {
            self.0 += 10;
            Ok(Counts { transactions: self.0, checkpoints: self.0 / 20 })
        }

        fn totals(&mut self) -> Result<Totals, Error> {
            Ok(Totals { counts: self.counts()?, orders: self.0, ..Totals::default() })
        }
    }

    #[test]
    fn one_that_never_started_ends_without_figures() {
        let monitor = Monitor::spawn(Box::new(Growing(0)), 0, Some(EVERY_NS)).unwrap();
        assert!(monitor.end().figures().is_empty());
        let monitor = Monitor::spawn(Box::new(Growing(0)), 0, Some(20_000_000)).unwrap();
        monitor.arm(RealClock::new().now_ns());
        let begun_ns = RealClock::new().now_ns();
        while !monitor.thread.lock().unwrap().as_ref().is_some_and(JoinHandle::is_finished) {
            assert!(
                RealClock::new().now_ns() < begun_ns + 60_000_000_000,
                "waited 60 s for the monitor's end"
            );
            std::thread::sleep(NAP);
        }
        let figures = monitor.end().figures();
        assert!(figures["NOPM"].value > 0.0, "{figures:?}");
    }
}
