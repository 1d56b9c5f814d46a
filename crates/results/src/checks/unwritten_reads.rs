//! `unwritten-reads`: reads of blocks that hold nothing, which no device has to serve.
//!
//! Known in three ways: a file's extents before the run (holes, and space that is allocated but was never written),
//! bytes of direct reads that were fetched from no device, and sampled read buffers that were all zero.

use assay_workload::content::Payload;
use assay_workload::pattern::OpKind;

use super::cache_served_reads::truly_direct;
use super::draft::{iops_high, percent};
use super::subject::{Subject, on_storage};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "unwritten-reads";

const SHARE_MIN: f64 = 0.02;
const SHARE_INVALID: f64 = 0.05;
/// Fewer sampled buffers say nothing.
const BUFFERS_MIN: u64 = 20;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let reading = on_storage(run).filter(|subject| subject.job.read.is_some());
    // The strongest evidence only: all three are about the same blocks.
    reading
        .filter_map(|subject| not_fetched(&subject).or_else(|| zeros(&subject)).or_else(|| extents(&subject)))
        .collect()
}

fn finding(subject: &Subject<'_>, share: f64, message: String, name: &str) -> Finding {
    let severity = if share >= SHARE_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let bias = if share > 0.99 {
        "the figure is that of no storage at all".to_owned()
    } else {
        iops_high(share / (1.0 - share))
    };
    subject
        .draft(ID, severity, message)
        .bias(bias)
        .evidence(name, share)
        .advise("write the whole range with incompressible data first (a precondition phase), then read it")
}

fn not_fetched(subject: &Subject<'_>) -> Option<Finding> {
    let share = subject.job.cached_read_share.filter(|share| *share >= SHARE_MIN)?;
    if !truly_direct(subject) || subject.memory_file_system().is_some() {
        return None;
    }
    let message = format!(
        "{} of the bytes read directly were fetched from no device: the file has holes",
        percent(share)
    );
    Some(finding(subject, share, message, "cached_read_share"))
}

fn zeros(subject: &Subject<'_>) -> Option<Finding> {
    let evidence = &subject.job.evidence;
    let share = evidence.read_buffers_zero as f64 / evidence.read_buffers_sampled.max(1) as f64;
    if evidence.read_buffers_sampled < BUFFERS_MIN || share < SHARE_MIN || writes_zeros(subject.run) {
        return None;
    }
    let sampled = evidence.read_buffers_sampled;
    let message = format!(
        "{} of {sampled} sampled read buffers were all zero: never written, or trimmed",
        percent(share)
    );
    Some(finding(subject, share, message, "read_buffers_zero_share"))
}

/// Whether some job of the run writes zeros on purpose.
fn writes_zeros(run: &Run) -> bool {
    let mut jobs = run.plan.phases.iter().flat_map(|phase| &phase.jobs);
    jobs.any(|planned| {
        planned.job.content.payload == Payload::Zero && planned.job.pattern.mix.share(OpKind::Write) > 0.0
    })
}

fn extents(subject: &Subject<'_>) -> Option<Finding> {
    let files = subject.targets().into_iter().filter_map(|target| {
        let extents = subject.run.environment.target(&target.path)?.extents?;
        // A file that was extended or written by the run itself is not as it was.
        let unchanged = target.existing_bytes >= target.size_bytes && !written_before(subject, &target.name);
        unchanged.then_some(extents)
    });
    let (examined, empty) = files.fold((0_u64, 0_u64), |(examined, empty), extents| {
        // lseek counts unwritten extents among the holes, unless they are dirty in the page cache.
        let holes = extents.hole_bytes.max(extents.unwritten_bytes.unwrap_or(0));
        (
            examined.saturating_add(extents.examined_bytes),
            empty.saturating_add(holes.min(extents.examined_bytes)),
        )
    });
    let share = empty as f64 / examined.max(1) as f64;
    if share < SHARE_MIN {
        return None;
    }
    let message = format!("{} of the target was never written before it was read", percent(share));
    Some(finding(subject, share, message, "unwritten_share"))
}

/// Whether this phase or one before it writes to the target.
fn written_before(subject: &Subject<'_>, target: &str) -> bool {
    let phases = subject.run.plan.phases.iter().take(subject.phase.plan_phase as usize + 1);
    phases.flat_map(|phase| &phase.jobs).any(|planned| {
        planned.job.pattern.mix.share(OpKind::Write) > 0.0
            && planned.job.targets.iter().any(|name| name == target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent};
    use crate::environment::{ExtentSummary, TargetEnvironment};
    use crate::fixture::run;

    #[test]
    fn direct_reads_that_no_device_served() {
        let mut run = run();
        run.phases[0].jobs[0].cached_read_share = Some(0.9);
        let finding = only(ID, &run);
        assert_eq!(
            (finding.severity, finding.bias.as_str()),
            (FindingSeverity::Invalid, "IOPS 0-900 % high")
        );
        // The same share of buffered reads is the page cache's.
        silent(ID, &buffered(run));
    }

    #[test]
    fn zero_buffers() {
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        (evidence.read_buffers_sampled, evidence.read_buffers_zero) = (1000, 30);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 1000;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 3;
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 1000;
        let mut fill = run.plan.phases[0].clone();
        fill.jobs[0].job.content.payload = Payload::Zero;
        fill.jobs[0].job.pattern.mix = assay_workload::pattern::Mix::WRITE;
        run.plan.phases.push(fill);
        silent(ID, &run);
    }

    #[test]
    fn a_sparse_file() {
        let mut run = run();
        let extents =
            ExtentSummary { examined_bytes: 100, data_bytes: 40, hole_bytes: 60, ..ExtentSummary::default() };
        let sparse = TargetEnvironment {
            path: "/data/t".to_owned(),
            extents: Some(extents),
            file_system: run.environment.targets[0].file_system.clone(),
            ..TargetEnvironment::default()
        };
        run.environment.targets.push(sparse);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.starts_with("60 %"));
        // Written by the run first: the extents are those of before.
        run.plan.targets[0].existing_bytes = 0;
        silent(ID, &run);
    }
}
