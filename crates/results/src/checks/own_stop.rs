//! Whether this process itself stood still for a while: stopped by a signal, frozen, or without a CPU.
//!
//! A thread that waits for I/O cannot tell a stop from storage that does not answer: completions were there, and it did not run to see
//! them. The thread that reads the machine's counters can: storage does not hold it up, a stop does, and afterwards it catches up.

use super::subject::{Subject, upper_quartile};
use crate::histogram::{bucket_low_ns, bucket_width_ns};
use crate::stats::median;

/// Readings fewer than this do not show how often they come.
const READINGS_MIN: usize = 4;
/// A reading that took this much longer than usual was late,
const LATE_MIN: f64 = 1.5;
/// by at least this much, seconds.
const LATE_S_MIN: f64 = 0.15;
/// The reading behind a late one comes early, as the clock is kept.
const CAUGHT_UP_MAX: f64 = 0.5;

/// A time in which the process did not run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OwnStop {
    /// Last reading before it, seconds from the start of the measured part.
    pub(super) start_s: f64,
    /// How late the next one was, seconds.
    pub(super) length_s: f64,
}

/// The longest one in the measured part of a job, where its readings show any.
pub(super) fn own_stop(subject: &Subject<'_>) -> Option<OwnStop> {
    let readings = &subject.phase.evidence.seconds;
    let lengths: Vec<f64> = readings.iter().map(|reading| reading.length_s).collect();
    let usual = upper_quartile(&lengths).filter(|usual| *usual > 0.0 && lengths.len() >= READINGS_MIN)?;
    let origin_s = subject.job.evidence.measured_start_ns as f64 / 1e9;
    let end_s = subject.job.evidence.measured_ns as f64 / 1e9;
    let stops = readings.windows(2).filter_map(|pair| {
        let stop = OwnStop { start_s: pair[0].start_s - origin_s, length_s: pair[0].length_s - usual };
        let late = pair[0].length_s >= LATE_MIN * usual && stop.length_s >= LATE_S_MIN;
        let within = stop.start_s + pair[0].length_s > 0.0 && stop.start_s < end_s;
        (late && within && pair[1].length_s <= CAUGHT_UP_MAX * usual).then_some(stop)
    });
    stops.max_by(|a, b| a.length_s.total_cmp(&b.length_s))
}

/// A reading was late from so many seconds on: undisturbed ones are within a millisecond, and the one behind a late one comes earlier.
const LATE_READING_S_MIN: f64 = 0.015;
/// An I/O is long if it takes this long and `LONG_FACTOR` times the median: the thread that reaps it may not have run.
const LONG_NS_MIN: f64 = 1e7;
const LONG_FACTOR: f64 = 20.0;
/// Less of the time in long I/Os is not told.
const STOPPED_MIN: f64 = 0.05;
/// Fewer stops are single ones, of which `outlier-interval` speaks.
const STOPS_MIN: f64 = 2.5;

/// Stops of the process that came again and again, each shorter than an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RepeatedStops {
    /// Share of the time that they took, 0 to 1.
    pub(super) share: f64,
    /// Readings of the counters that were late, and all of them.
    pub(super) late: usize,
    pub(super) readings: usize,
    /// The latest of them, seconds.
    pub(super) late_s_max: f64,
}

/// Share of the slots' time in I/Os that took this long or longer, by the distribution of their completion latency.
pub(super) fn share_in_long_ios(subject: &Subject<'_>, from_ns: f64) -> f64 {
    let (job, evidence) = (subject.job, &subject.job.evidence);
    let histogram = job.completion_histogram();
    let middle = |bucket| bucket_low_ns(bucket) as f64 + bucket_width_ns(bucket) as f64 / 2.0;
    let times = histogram.buckets().map(|(bucket, n)| (middle(bucket), n as f64));
    let long_ns: f64 = times.filter(|(ns, _)| *ns >= from_ns).map(|(ns, n)| ns * n).sum();
    let slots = job.outstanding_io.max(u64::from(evidence.threads)).max(1);
    (long_ns / (evidence.measured_ns.max(1) as f64 * slots as f64)).min(1.0)
}

/// Stops in a closed loop: I/Os that took far longer than usual while the thread that reads the counters was late as well. One late
/// reading is enough where the device had nothing to do in the time of these I/Os, nor the threads a CPU or the run queue.
pub(super) fn repeated_stops(subject: &Subject<'_>) -> Option<RepeatedStops> {
    let (job, evidence) = (subject.job, &subject.job.evidence);
    let histogram = job.completion_histogram();
    let p50 = histogram.quantile_ns(0.5)? as f64;
    let share = share_in_long_ios(subject, LONG_NS_MIN.max(LONG_FACTOR * p50));
    let longest = histogram.max_ns() as f64 / evidence.measured_ns.max(1) as f64;
    if !subject.closed_loop() || subject.is_of_a_command() || share < STOPPED_MIN.max(STOPS_MIN * longest) {
        return None;
    }
    let lengths: Vec<f64> = subject.phase.evidence.seconds.iter().map(|reading| reading.length_s).collect();
    let usual = median(&lengths).filter(|_| lengths.len() >= READINGS_MIN)?;
    let lates: Vec<f64> = lengths
        .windows(2)
        .map(|pair| (pair[0] - usual, usual - pair[1]))
        .filter(|(late, early)| *late >= LATE_READING_S_MIN && *early >= CAUGHT_UP_MAX * late)
        .map(|(late, _)| late)
        .collect();
    let threads = f64::from(evidence.threads.max(1));
    let time_ns = evidence.measured_ns.max(1) as f64 * threads;
    let on_cpu = (evidence.cpus_used() / threads).min(1.0);
    let queued = evidence.run_queue_ns.unwrap_or(0) as f64 / time_ns;
    let depth = subject.truth().and_then(|truth| truth.device_depth_mean);
    let slots = job.outstanding_io.max(1) as f64;
    let unaccounted = depth.map_or(0.0, |depth| 1.0 - depth / slots - on_cpu - queued);
    let needed = if unaccounted >= share { 1 } else { 2 };
    // A stop also comes while the thread works and nothing of its own is outstanding.
    let share = if slots > threads { share } else { share / (1.0 - on_cpu).max(0.5) };
    let late_s_max = lates.iter().copied().fold(0.0, f64::max);
    (lates.len() >= needed).then_some(RepeatedStops {
        share: share.min(1.0),
        late: lates.len(),
        readings: lengths.len(),
        late_s_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::subject::measured;
    use crate::evidence::MachineSecond;
    use crate::fixture::run;

    fn stop_of(lengths: &[f64]) -> Option<OwnStop> {
        let mut run = run();
        let mut start_s = 0.0;
        run.phases[0].evidence.seconds.clear();
        for length_s in lengths {
            let reading = MachineSecond { start_s, length_s: *length_s, ..MachineSecond::default() };
            run.phases[0].evidence.seconds.push(reading);
            start_s += length_s;
        }
        run.phases[0].jobs[0].evidence.measured_start_ns = 0;
        measured(&run).next().and_then(|subject| own_stop(&subject))
    }

    /// One outstanding read of 47 us, 4 s; ten of them took 100 ms. The readings came after these seconds.
    fn stopped_often(lengths: &[f64]) -> crate::run::Run {
        let mut run = run();
        let phase = &mut run.phases[0];
        let reading = |length_s: &f64| MachineSecond { length_s: *length_s, ..MachineSecond::default() };
        phase.evidence.seconds = lengths.iter().map(reading).collect();
        let truth = phase.device.as_mut().expect("counters");
        truth.device_depth_mean = Some(0.6);
        let job = &mut phase.jobs[0];
        (job.outstanding_io, job.evidence.threads) = (1, 1);
        job.evidence.measured_ns = 4_000_000_000;
        job.evidence.busy_slot_ns = 4_000_000_000;
        let mut completion = crate::histogram::LatencyHistogram::new();
        completion.record_n(47_000, 42_000);
        completion.record_n(100_000_000, 10);
        let read = job.read.as_mut().expect("reads");
        read.completion_histogram = Some(completion.to_sparse());
        run
    }

    #[test]
    fn stops_that_come_again_and_again() {
        let stops = |run: &crate::run::Run| measured(run).next().and_then(|one| repeated_stops(&one));
        // As recorded with SIGSTOP of 0.1 s in every 0.4 s.
        let late = [0.507, 0.5, 0.5, 0.525, 0.474, 0.5, 0.5, 0.555, 0.445, 0.5, 0.5, 0.5];
        let run = stopped_often(&late);
        let found = stops(&run).expect("stops");
        assert!((0.24..0.28).contains(&found.share) && found.late == 2, "{found:?}");
        let told = crate::checks::tests::only("generator-bound", &run);
        assert!(told.message.starts_with("Assay did not run for 2"), "{}", told.message);
        // The twin had 14,000 where this had 10,552.
        assert!(told.effect.unwrap().low <= -(14_000.0 / 10_552.0 - 1.0), "{told:?}");
        // Storage that stalls holds no reading up.
        assert_eq!(stops(&stopped_often(&[0.5; 12])), None);
        // One late reading of a machine that is busy, beside a device that is.
        let mut run = stopped_often(&[0.5, 0.5, 0.525, 0.474, 0.5, 0.5, 0.5, 0.5]);
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(0.9);
        assert_eq!(stops(&run), None);
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(0.5);
        assert!(stops(&run).is_some());
    }

    #[test]
    fn a_depth_that_stops_explain_is_not_blamed() {
        let late = [0.569, 0.438, 0.5, 0.5, 0.588, 0.412, 0.5, 0.5, 0.5, 0.526, 0.474, 0.5];
        let mut run = stopped_often(&late);
        let job = &mut run.phases[0].jobs[0];
        job.outstanding_io = 32;
        let mut completion = crate::histogram::LatencyHistogram::new();
        completion.record_n(382_000, 170_000);
        completion.record_n(100_000_000, 320);
        job.read.as_mut().unwrap().completion_histogram = Some(completion.to_sparse());
        // As recorded: 15.3 of 32.
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_depth_mean = Some(15.3);
        crate::checks::tests::silent("effective-depth", &run);
        assert!(crate::checks::tests::only("generator-bound", &run).message.contains("did not run"));
        run.phases[0].evidence.seconds.iter_mut().for_each(|reading| reading.length_s = 0.5);
        crate::checks::tests::only("effective-depth", &run);
        // Nor one of threads that waited for a CPU.
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(1_500_000_000);
        crate::checks::tests::silent("effective-depth", &run);
    }

    #[test]
    fn readings_that_stopped_and_caught_up() {
        // As recorded with SIGSTOP of 1 s, five readings a second.
        let seen = [0.21, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.01, 0.0, 0.01, 0.01, 0.0, 0.17, 0.2];
        let stop = stop_of(&seen).expect("a stop");
        assert!((stop.start_s - 1.61).abs() < 0.01 && (stop.length_s - 0.81).abs() < 0.01, "{stop:?}");
        // As recorded of a device that stalled for 1 s.
        assert_eq!(stop_of(&[0.21, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.04]), None);
        // One reading that was slow.
        assert_eq!(stop_of(&[0.2, 0.2, 0.32, 0.2, 0.2, 0.2, 0.2]), None);
    }
}
