//! Whether this process itself stood still for a while: stopped by a signal, frozen, or without a CPU.
//!
//! A thread that waits for I/O cannot tell a stop from storage that does not answer: completions were there, and it did not run to see
//! them. The thread that reads the machine's counters can: storage does not hold it up, a stop does, and afterwards it catches up.

use super::subject::{Subject, upper_quartile};
use super::throttled::quota_share;
use crate::counters::PULSE_NS;
use crate::histogram::{bucket_low_ns, bucket_width_ns};

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

/// Less of the time is not told.
const STOPPED_MIN: f64 = 0.03;
/// Fewer stops are single ones, of which `outlier-interval` speaks.
const STOPS_MIN: u64 = 3;

/// Stops of the process that came again and again, each shorter than an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RepeatedStops {
    /// Share of the time that they took, 0 to 1: what is likely, and at most.
    pub(super) share: f64,
    pub(super) share_max: f64,
    pub(super) stops: u64,
    /// Mean length, seconds.
    pub(super) mean_s: f64,
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

/// Stops in a closed loop, as the thread saw them that only sleeps. What the hypervisor or a quota took is not the process's.
pub(super) fn repeated_stops(subject: &Subject<'_>) -> Option<RepeatedStops> {
    let evidence = &subject.phase.evidence;
    let (stopped_ns, stops) = (evidence.stopped_ns? as f64, evidence.stops?);
    if !subject.closed_loop() || subject.is_of_a_command() || stops < STOPS_MIN || evidence.span_ns == 0 {
        return None;
    }
    let online = f64::from(subject.run.environment.machine.cpu.online.unwrap_or(1));
    let quota = quota_share(subject.run, subject.phase).unwrap_or(0.0);
    let others = evidence.steal_share.unwrap_or(0.0) * online + quota;
    // A stop begins somewhere in the sleep of that thread: what is left of the sleep passes unseen.
    let unseen_ns = stops as f64 * PULSE_NS as f64;
    let share = |ns: f64| (ns / evidence.span_ns as f64 - others).clamp(0.0, 1.0);
    let found = RepeatedStops {
        share: share(stopped_ns + unseen_ns / 2.0),
        share_max: share(stopped_ns + unseen_ns),
        stops,
        mean_s: (stopped_ns / stops as f64 + PULSE_NS as f64 / 2.0) / 1e9,
    };
    (found.share >= STOPPED_MIN).then_some(found)
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

    /// One outstanding read at a time for 4 s, in which the process was stopped so often for so long.
    fn stopped_often(stops: u64, each_ms: u64) -> crate::run::Run {
        let mut run = run();
        let phase = &mut run.phases[0];
        phase.evidence.span_ns = 4_000_000_000;
        phase.evidence.stops = Some(stops);
        phase.evidence.stopped_ns = Some(stops * (each_ms * 1_000_000 - PULSE_NS / 2));
        let job = &mut phase.jobs[0];
        (job.outstanding_io, job.evidence.threads) = (1, 1);
        job.evidence.measured_ns = 4_000_000_000;
        job.evidence.busy_slot_ns = 4_000_000_000;
        run
    }

    #[test]
    fn stops_that_come_again_and_again() {
        let stops = |run: &crate::run::Run| measured(run).next().and_then(|one| repeated_stops(&one));
        // SIGSTOP of 0.1 s in every 0.4 s.
        let found = stops(&stopped_often(10, 100)).expect("stops");
        assert!((found.share - 0.25).abs() < 0.001 && (found.mean_s - 0.1).abs() < 0.001, "{found:?}");
        // And of 10 ms in every 20 ms.
        let run = stopped_often(200, 10);
        let found = stops(&run).expect("stops");
        assert!((found.share - 0.5).abs() < 0.001 && (found.share_max - 0.625).abs() < 0.001, "{found:?}");
        let told = crate::checks::tests::only("generator-bound", &run);
        assert_eq!(
            told.message,
            "Assay did not run for 50 % of the time: it was stopped 200 times, by 10 ms on average"
        );
        assert!(told.effect.unwrap().low <= -1.0, "{told:?}");
        // One long stop is outlier-interval's, and a timer that is late now and then is none.
        assert_eq!(stops(&stopped_often(1, 1000)), None);
        assert_eq!(stops(&stopped_often(8, 5)), None);
    }

    #[test]
    fn what_the_hypervisor_or_a_quota_took_is_no_stop() {
        let stops = |run: &crate::run::Run| measured(run).next().and_then(|one| repeated_stops(&one));
        let mut run = stopped_often(40, 10);
        assert!(stops(&run).is_some());
        run.environment.machine.cpu.online = Some(2);
        run.phases[0].evidence.steal_share = Some(0.05);
        assert_eq!(stops(&run), None);
    }

    #[test]
    fn a_depth_that_stops_explain_is_not_blamed() {
        let mut run = stopped_often(8, 250);
        run.phases[0].jobs[0].outstanding_io = 32;
        // As recorded: 15.3 of 32.
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(15.3);
        crate::checks::tests::silent("effective-depth", &run);
        assert!(crate::checks::tests::only("generator-bound", &run).message.contains("did not run"));
        run.phases[0].evidence.stops = Some(0);
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
