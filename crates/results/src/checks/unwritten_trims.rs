//! `unwritten-trims`: trims of blocks that hold nothing, which have nothing to do.
//!
//! The counts of a run bound how many trims can have met data: what the range held, and what was written to it. A file
//! that was there before the run held what its extents say.

use assay_workload::units::Bytes;

use super::draft::{iops_served, percent, served};
use super::subject::{Subject, all, on_storage};
use crate::run::{Finding, FindingSeverity, JobResult, Run};

pub(super) const ID: &str = "unwritten-trims";

const SHARE_MIN: f64 = 0.02;
const SHARE_INVALID: f64 = 0.05;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    on_storage(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let trimmed = trimmed(subject);
    let active = subject.job.evidence.active_bytes;
    if trimmed == 0 || active == 0 {
        return None;
    }
    let paths: Vec<&str> = subject.targets().iter().map(|target| target.path.as_str()).collect();
    let beside = on_the_same(subject.run, &paths).filter(|other| std::ptr::eq(other.phase, subject.phase));
    let written_meanwhile: u64 = beside.map(|other| written(other.job)).sum();
    let held = held_at_start(subject, &paths, active).saturating_add(written_meanwhile);
    let empty_share = trimmed.saturating_sub(held) as f64 / trimmed as f64;
    let trims_share =
        subject.job.trim.as_ref().map_or(0, |op| op.ios) as f64 / subject.job.total.ios.max(1) as f64;
    // Of all operations of the figure that is quoted.
    let share = empty_share * trims_share.min(1.0);
    if share < SHARE_MIN {
        return None;
    }
    let severity = if share >= SHARE_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let message = format!(
        "{} of the {} trimmed held nothing: the range of {} held no more than {} that could be trimmed",
        percent(empty_share),
        Bytes(trimmed),
        Bytes(active),
        Bytes(held),
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias(iops_served(share, "no trim had anything to do"))
        .effect(served(share))
        .evidence("trimmed_bytes", trimmed)
        .evidence("held_bytes_max", held)
        .evidence("active_bytes", active)
        .advise("write the range again before each pass of trims, and end the job after one pass (size, not time)");
    Some(finding)
}

/// The jobs of a run that use one of these targets.
fn on_the_same<'r>(run: &'r Run, paths: &[&str]) -> impl Iterator<Item = Subject<'r>> {
    all(run).filter(|other| other.targets().iter().any(|target| paths.contains(&target.path.as_str())))
}

/// The most bytes of the active range that can have held data when the phase began.
fn held_at_start(subject: &Subject<'_>, paths: &[&str], active: u64) -> u64 {
    let before =
        on_the_same(subject.run, paths).take_while(|other| !std::ptr::eq(other.phase, subject.phase));
    before.fold(active.saturating_sub(empty_before_run(subject, active)), |held, other| {
        // Another job may have a larger range, of which an unknown part is this one's.
        let alike = other.job.evidence.active_bytes <= active && other.targets().len() == paths.len();
        let trimmed = if alike { trimmed(&other) } else { 0 };
        held.saturating_add(written(other.job)).saturating_sub(trimmed).min(active)
    })
}

/// Bytes of the active range that are holes in files that were there before the run and that it does not extend, at least.
fn empty_before_run(subject: &Subject<'_>, active: u64) -> u64 {
    let files = subject.targets().into_iter().filter(|target| target.existing_bytes >= target.size_bytes);
    let extents = files.filter_map(|target| subject.run.environment.target(&target.path)?.extents);
    let (examined, empty) = extents.fold((0_u64, 0_u64), |(examined, empty), file| {
        let holes = file.hole_bytes.max(file.unwritten_bytes.unwrap_or(0)).min(file.examined_bytes);
        (examined.saturating_add(file.examined_bytes), empty.saturating_add(holes))
    });
    empty.saturating_sub(examined.saturating_sub(active))
}

/// Trims move no bytes: their number times their size, or the smallest of several.
fn trimmed(subject: &Subject<'_>) -> u64 {
    let sizes = subject.planned.iter().map(|planned| planned.pattern.trim_sizes.min_bytes());
    subject.job.trim.as_ref().map_or(0, |op| op.ios.saturating_mul(sizes.min().unwrap_or(0)))
}

fn written(job: &JobResult) -> u64 {
    job.write.as_ref().map_or(0, |op| op.bytes)
}

#[cfg(test)]
mod tests {
    use assay_workload::pattern::Mix;

    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::environment::{ExtentSummary, TargetEnvironment};
    use crate::fixture::{GIB, run};
    use crate::run::Effect;

    /// A run that trimmed so many bytes of a range of 1 GiB.
    fn trimming(trimmed: u64) -> Run {
        let mut run = run();
        run.plan.phases[0].jobs[0].pattern.mix = Mix::TRIM;
        let job = &mut run.phases[0].jobs[0];
        job.evidence.active_bytes = GIB;
        let mut trim = job.read.take().expect("the fixture reads");
        (trim.ios, trim.bytes) = (trimmed / 4096, 0);
        job.total.ios = trim.ios;
        job.trim = Some(trim);
        run
    }

    #[test]
    fn only_the_first_pass_has_something_to_do() {
        silent(ID, &trimming(GIB));
        let mut again = trimming(4 * GIB);
        let finding = only(ID, &again);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert_eq!((finding.effect, finding.bias_words()), (Effect::high(3.0), "IOPS 0-300 % high"));
        // Writes of the job itself restore what was trimmed.
        let job = &mut again.phases[0].jobs[0];
        job.write = job.trim.clone();
        job.write.as_mut().expect("writes").bytes = 4 * GIB;
        job.total.ios *= 2;
        silent(ID, &again);
    }

    #[test]
    fn holes_have_nothing_to_trim() {
        let mut run = trimming(GIB / 2);
        run.environment.targets.push(TargetEnvironment {
            path: "/data/t".to_owned(),
            extents: Some(ExtentSummary { examined_bytes: GIB, hole_bytes: GIB, ..ExtentSummary::default() }),
            ..TargetEnvironment::default()
        });
        let finding = only(ID, &run);
        assert_eq!(finding.bias_words(), "IOPS high without bound: no trim had anything to do");
        assert_eq!(finding.effect.map(|effect| effect.high), Some(Effect::UNBOUNDED));
        // The run lays it out first.
        run.plan.targets[0].existing_bytes = 0;
        silent(ID, &run);
    }

    #[test]
    fn what_an_earlier_phase_trimmed_is_gone() {
        let mut run = trimming(GIB);
        let (phase, planned) = (run.phases[0].clone(), run.plan.phases[0].clone());
        run.phases.push(crate::run::PhaseResult { plan_phase: 1, name: "again".to_owned(), ..phase });
        run.plan.phases.push(planned);
        assert_eq!(only(ID, &run).phase.as_deref(), Some("again"));
    }
}
