//! Whether this process itself stood still for a while: stopped by a signal, frozen, or without a CPU.
//!
//! A thread that waits for I/O cannot tell a stop from storage that does not answer: completions were there, and it did not run to see
//! them. The thread that reads the machine's counters can: storage does not hold it up, a stop does, and afterwards it catches up.

use super::subject::{Subject, upper_quartile};

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
