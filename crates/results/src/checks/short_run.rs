//! `short-run`: a job measured less time than planned, or so little that its start and end are a part of the figure.

use assay_workload::plan::{End, PlannedJob, ThreadSlice};
use assay_workload::units::Nanos;

use super::draft::{Draft, percent, time};
use super::subject::{Subject, measured};
use crate::event::RunEnd;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "short-run";

/// Id of the remark that says how a command that was only observed ended, where that was not by itself and well.
pub(crate) const COMMAND_ENDED: &str = "command-ended";

/// Share of the planned time that must have been measured.
const PLANNED_SHARE_MIN: f64 = 0.9;
/// Below this a job that not time alone ends is over before its threads are all at work.
const SECONDS_MIN: f64 = 0.2;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let measured = measured(run).filter_map(|subject| of_job(&subject));
    let told = run.remarks.iter().filter(|remark| remark.id == ID).map(|remark| {
        Draft::new(ID, FindingSeverity::Warning, remark.text.as_str()).advise("measure for longer")
    });
    let ended = run.remarks.iter().filter(|remark| remark.id == COMMAND_ENDED).map(|remark| {
        Draft::new(ID, FindingSeverity::Warning, remark.text.as_str())
            .bias("effect unknown: what the command did not come to is missing")
            .advise("find out why the command ended so, and run it again")
    });
    measured.chain(told).chain(ended).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    if !subject.job.evidence.finished {
        match subject.run.end {
            Some(RunEnd::Completed) => {}
            // A run that was stopped is incomplete: that says it.
            Some(RunEnd::Interrupted | RunEnd::Failed) => return None,
            None => return Some(cut_off(subject)),
        }
    }
    let done_s = subject.job.measured_s;
    let planned_s = subject.planned.iter().filter_map(|planned| time_alone(planned)).map(|time| time.0).max();
    let (severity, message, planned_s) = match planned_s.map(|ns| ns as f64 / 1e9) {
        Some(planned_s) if done_s < PLANNED_SHARE_MIN * planned_s => {
            let share = percent(done_s / planned_s);
            let message = format!("{} were measured, {share} of the planned time", time(done_s * 1e9));
            (FindingSeverity::Warning, message, Some(planned_s))
        }
        // Without any operation there is another finding.
        None if done_s < SECONDS_MIN && subject.job.total.bytes > 0 => {
            let message =
                format!("the job ended after {}: its start and end affect the figure", time(done_s * 1e9));
            (FindingSeverity::Warning, message, None)
        }
        _ => return None,
    };
    let finding = subject
        .draft(ID, severity, message)
        .bias("effect unknown: the shorter the time, the larger the effect of chance")
        .evidence("measured_s", done_s)
        .evidence("planned_s", planned_s)
        .advise("give the job a time, more bytes, or find out why it ended early");
    Some(finding)
}

/// A job of a run that has no end: killed, or still going. The evidence of most checks comes with the end of a job, and without it nothing
/// would speak against the figure.
fn cut_off(subject: &Subject<'_>) -> Finding {
    let kept = time(subject.job.measured_s * 1e9);
    let message = format!(
        "the run has no end: {kept} of this job are kept, and not what else used the devices and the CPUs"
    );
    subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("effect unknown: what would speak against the figure was not recorded")
        .evidence("measured_s", subject.job.measured_s)
        .advise("run it again")
}

/// The planned time, where nothing else was to end the job: one with a number of bytes, or that ends with others or once
/// it is steady, has its time as an upper bound.
fn time_alone(planned: &PlannedJob) -> Option<Nanos> {
    let End { time, passes, ends_with, steady } = planned.end;
    let unbounded = |slice: &ThreadSlice| slice.bytes.is_none() && slice.ios.is_none();
    let alone = (passes, ends_with, steady.is_some()) == (None, None, false);
    time.filter(|_| alone && planned.slices.iter().all(unbounded))
}

#[cfg(test)]
mod tests {
    use assay_workload::job::EndsWith;

    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    #[test]
    fn half_of_the_planned_time() {
        let mut run = run();
        run.phases[0].jobs[0].measured_s = 2.5;
        assert!(only(ID, &run).message.contains("50 % of the planned time"));
        run.phases[0].jobs[0].evidence.finished = false;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.end = Some(RunEnd::Interrupted);
        silent(ID, &run);
        run.end = None;
        assert!(only(ID, &run).message.contains("the run has no end"));
        run.end = Some(RunEnd::Completed);
        run.phases[0].jobs[0].measured_s = 4.9;
        silent(ID, &run);
    }

    #[test]
    fn a_job_that_something_else_was_to_end_may_end_before_its_time() {
        let mut run = run();
        run.phases[0].jobs[0].measured_s = 2.5;
        only(ID, &run);
        let end_by = |change: fn(&mut PlannedJob)| {
            let mut run = run.clone();
            change(&mut run.plan.phases[0].jobs[0]);
            silent(ID, &run);
        };
        end_by(|job| job.end.ends_with = Some(EndsWith::First));
        end_by(|job| job.slices[0].bytes = Some(1 << 20));
        end_by(|job| job.end.passes = Some(1));
    }

    #[test]
    fn over_before_it_began() {
        let mut run = run();
        run.plan.phases[0].jobs[0].end.time = None;
        silent(ID, &run);
        run.phases[0].jobs[0].measured_s = 0.03;
        assert!(only(ID, &run).message.contains("after 30 ms"));
    }
}
