//! Changes of a job's level that were asked for: another job of its phase began or ended while it was measured.

use super::{not_steady, outlier_interval, phase_of, throttled};
use crate::run::{Finding, FindingSeverity, JobResult, PhaseResult, Run};

/// Nearer to either end of the window than this share of it, a change leaves the level as it is.
const EDGE_SHARE: f64 = 0.05;
/// A step this near to the change, as a share of the window, is that of the change.
const NEAR_SHARE: f64 = 0.1;

/// Findings that a job was not steady are notes where that follows from when the jobs beside it were planned to run.
pub(super) fn planned_changes(run: &Run, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.severity >= FindingSeverity::Warning) {
        let of_level = match finding.id.as_str() {
            not_steady::ID | outlier_interval::ID => true,
            throttled::ID => finding.evidence.contains_key("step_share"),
            _ => false,
        };
        let phase = phase_of(run, finding).filter(|_| of_level).and_then(|at| run.phases.get(at));
        let Some((phase, job)) = phase.and_then(|phase| {
            Some((phase, phase.jobs.iter().find(|job| Some(&job.name) == finding.job.as_ref())?))
        }) else {
            continue;
        };
        if let Some(change) = changes(phase, job).into_iter().find(|change| change.explains(finding, job)) {
            finding.severity = FindingSeverity::Info;
            finding.message = format!("{}; {} then, as planned", finding.message, change.words);
            finding.bias = Some("the figure is the mean of both levels".to_owned());
            finding.effect = None;
            finding.advice =
                "let the jobs of a phase start and end together, or put them into phases of their own"
                    .to_owned();
        }
    }
}

/// What another job did.
struct Change {
    /// When, as a share of the window.
    at_share: f64,
    words: String,
}

impl Change {
    /// Whether it is when the level changed, where the finding says when that was.
    fn explains(&self, finding: &Finding, job: &JobResult) -> bool {
        let step_at = finding.evidence.get("step_at").and_then(serde_json::Value::as_f64);
        step_at.is_none_or(|at| {
            let share = at / (job.series.len().max(1) as f64);
            (share - self.at_share).abs() <= NEAR_SHARE
        })
    }
}

/// Starts and ends of the other jobs of the phase well within the measured window of this one.
fn changes(phase: &PhaseResult, job: &JobResult) -> Vec<Change> {
    let window = &job.evidence;
    let share =
        |at_ns: u64| (at_ns as f64 - window.measured_start_ns as f64) / window.measured_ns.max(1) as f64;
    let others = phase.jobs.iter().filter(|other| !std::ptr::eq(*other, job));
    let of_other = |other: &JobResult| {
        let (start_ns, length_ns) = (other.evidence.measured_start_ns, other.evidence.measured_ns);
        [(start_ns, "began"), (start_ns.saturating_add(length_ns), "ended")].map(|(at_ns, what)| Change {
            at_share: share(at_ns),
            words: format!("job '{}' {what}", other.name),
        })
    };
    let within = |change: &Change| (EDGE_SHARE..=1.0 - EDGE_SHARE).contains(&change.at_share);
    others.flat_map(of_other).filter(within).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::judge;
    use crate::fixture::{self, SECOND};

    /// Ten intervals of which the last four are 40 % lower, beside a job that began so long after the start.
    fn beside(start_ns: u64) -> Run {
        let mut run = fixture::run();
        let job = &mut run.phases[0].jobs[0];
        let point = job.series[0];
        let iops = |at: usize| if at < 12 { 2000.0 + (at % 3) as f64 } else { 1200.0 + (at % 3) as f64 };
        job.series = (0..20)
            .map(|at| crate::run::SeriesPoint {
                start_s: at as f64 / 4.0,
                length_s: 0.25,
                iops: iops(at),
                ..point
            })
            .collect();
        let mut other = job.clone();
        other.name = "b".to_owned();
        other.evidence.measured_start_ns += start_ns;
        other.series.truncate(8);
        run.phases[0].jobs.push(other);
        judge(&mut run);
        run
    }

    #[test]
    fn a_level_that_changes_when_another_job_begins_is_as_planned() {
        let of_first = |run: &Run| -> Vec<(String, FindingSeverity, String)> {
            let first = run.phases[0].jobs[0].name.clone();
            let found = run.findings.iter().filter(|f| f.id == "throttled" && f.job.as_ref() == Some(&first));
            found.map(|f| (f.id.clone(), f.severity, f.message.clone())).collect()
        };
        let alike = of_first(&beside(3 * SECOND));
        assert!(
            matches!(alike.as_slice(), [(_, FindingSeverity::Info, message)] if message.ends_with("job 'b' began then, as planned")),
            "{alike:?}"
        );
        // One that began at another time explains nothing.
        let other = of_first(&beside(SECOND));
        assert!(matches!(other.as_slice(), [(_, FindingSeverity::Warning, _)]), "{other:?}");
    }
}
