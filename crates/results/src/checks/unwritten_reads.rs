//! `unwritten-reads`: reads of blocks that hold nothing, which no device has to serve.
//!
//! Known in three ways: bytes of direct reads that were fetched from no device, sampled read buffers that were all zero, and
//! a file's extents before the run (holes, and space that is allocated but was never written) within the range that was
//! read. Zeros that a device delivered may have been written, and extents are a guess at what was read: each speaks only
//! where nothing stronger contradicts it.

use assay_workload::content::Payload;
use assay_workload::pattern::OpKind;
use assay_workload::plan::PlannedSite;

use super::cache_served_reads::truly_direct;
use super::draft::{iops_served, percent, served};
use super::subject::{Subject, on_storage};
use crate::environment::ExtentSummary;
use crate::run::{Effect, Finding, FindingSeverity, Run};

pub(super) const ID: &str = "unwritten-reads";

const SHARE_MIN: f64 = 0.02;
const SHARE_INVALID: f64 = 0.05;
/// Fewer sampled buffers say nothing.
const BUFFERS_MIN: u64 = 20;
/// Share of the bytes asked that the devices must have read to have delivered them.
const DELIVERED_MIN: f64 = 0.95;

const ADVICE: &str =
    "write the whole range with incompressible data first (a precondition phase), then read it";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let reading = on_storage(run).filter(|subject| subject.job.read.is_some());
    // The strongest evidence only: all three are about the same blocks.
    reading
        .filter_map(|subject| not_fetched(&subject).or_else(|| zeros(&subject)).or_else(|| extents(&subject)))
        .collect()
}

/// Whether no read of a job came from the storage, so that what else the storage did had no effect on it.
pub(super) fn nothing_read(subject: &Subject<'_>) -> bool {
    let only_reads =
        !subject.does(OpKind::Write) && !subject.does(OpKind::Trim) && subject.job.read.is_some();
    let found = not_fetched(subject).or_else(|| zeros(subject));
    let unbounded = |finding: Finding| finding.effect.is_some_and(|effect| effect.high >= Effect::UNBOUNDED);
    only_reads && found.is_some_and(unbounded)
}

fn finding(subject: &Subject<'_>, share: f64, message: String, name: &str) -> Finding {
    let severity = if share >= SHARE_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let bias = iops_served(share, "no storage was measured");
    subject.draft(ID, severity, message).bias(bias).effect(served(share)).evidence(name, share).advise(ADVICE)
}

fn not_fetched(subject: &Subject<'_>) -> Option<Finding> {
    let share = subject.job.cached_read_share.filter(|share| *share >= SHARE_MIN)?;
    if !truly_direct(subject) || subject.memory_file_system().is_some() {
        return None;
    }
    let message = format!(
        "{} of the bytes read directly were fetched from no device: {}",
        percent(share),
        why_not_fetched(subject)
    );
    Some(finding(subject, share, message, "cached_read_share"))
}

/// What the file system said of the blocks that no device had to deliver.
fn why_not_fetched(subject: &Subject<'_>) -> &'static str {
    let targets = subject.targets();
    let known = |path: &str| subject.run.environment.target(path)?.extents;
    let extents: Vec<ExtentSummary> = targets.iter().filter_map(|target| known(&target.path)).collect();
    // lseek counts unwritten extents among the holes.
    let holes = |one: &ExtentSummary| one.hole_bytes > one.unwritten_bytes.unwrap_or(0);
    let unwritten = |one: &ExtentSummary| one.unwritten_bytes.is_some_and(|bytes| bytes > 0);
    let told = extents.iter().all(|one| one.hole_bytes == 0 || one.unwritten_bytes.is_some());
    match (extents.iter().any(holes), extents.iter().any(unwritten)) {
        (true, _) if !told => "the file has holes, or blocks that are allocated and were never written",
        (true, true) => "the file has holes, and blocks that are allocated and were never written",
        (false, true) => "the file's blocks are allocated and were never written",
        (true, false) => "the file has holes",
        (false, false) => "they were never written, or trimmed",
    }
}

fn zeros(subject: &Subject<'_>) -> Option<Finding> {
    let sampled = subject.job.evidence.read_buffers_sampled;
    let share = zero_share(subject).filter(|share| *share >= SHARE_MIN)?;
    if writes_zeros(subject.run) {
        return None;
    }
    let message = |what: &str| {
        format!("{} of {sampled} sampled read buffers contained only zeros: {what}", percent(share))
    };
    if subject.reducer().is_some() || !(delivered(subject) || stored(subject)) {
        return Some(finding(
            subject,
            share,
            message("never written, or trimmed"),
            "read_buffers_zero_share",
        ));
    }
    let (severity, what, bias) = if stored(subject) {
        (
            FindingSeverity::Info,
            "the file holds zeros that were written",
            "effect unknown: a layer below that reduces data may store and read nothing for them",
        )
    } else {
        (
            FindingSeverity::Warning,
            "zeros that were written, or blocks that were never written or were trimmed",
            "IOPS may be high, effect unknown: thin and flash devices answer unwritten blocks without reading",
        )
    };
    let finding = subject
        .draft(ID, severity, message(what))
        .bias(bias)
        .evidence("read_buffers_zero_share", share)
        .evidence("device_read_bytes", subject.truth().and_then(|truth| truth.device_read_bytes))
        .advise(ADVICE);
    Some(finding)
}

/// Share of the sampled read buffers that were all zero; `None` where too few were looked into.
fn zero_share(subject: &Subject<'_>) -> Option<f64> {
    let evidence = &subject.job.evidence;
    (evidence.read_buffers_sampled >= BUFFERS_MIN)
        .then(|| evidence.read_buffers_zero as f64 / evidence.read_buffers_sampled as f64)
}

/// Whether the devices at the bottom read what was asked.
fn delivered(subject: &Subject<'_>) -> bool {
    subject.truth().is_some_and(|truth| {
        truth
            .device_read_bytes
            .is_some_and(|read| read as f64 >= DELIVERED_MIN * truth.asked_read_bytes as f64)
    })
}

/// Whether the file system holds data for all of the range that was read.
fn stored(subject: &Subject<'_>) -> bool {
    let examined: Vec<(u64, u64)> = examined(subject).collect();
    !examined.is_empty()
        && examined.len() == subject.targets().len()
        && examined.iter().all(|(examined, empty)| *examined > 0 && *empty == 0)
}

/// Whether some job of the run writes zeros on purpose.
fn writes_zeros(run: &Run) -> bool {
    let mut jobs = run.plan.phases.iter().flat_map(|phase| &phase.jobs);
    jobs.any(|planned| {
        planned.content.payload == Payload::Zero && planned.pattern.mix.share(OpKind::Write) > 0.0
    })
}

/// Bytes examined and bytes empty of each file that was there before the run and is as it was.
fn examined<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (u64, u64)> + 's {
    subject.targets().into_iter().filter_map(|target| {
        let extents = subject.run.environment.target(&target.path)?.extents?;
        // A file that was extended or written by the run itself is not as it was.
        let unchanged = target.existing_bytes >= target.size_bytes && !written_before(subject, &target.name);
        // lseek counts unwritten extents among the holes, unless they are dirty in the page cache.
        let holes = extents.hole_bytes.max(extents.unwritten_bytes.unwrap_or(0));
        unchanged.then_some((extents.examined_bytes, holes.min(extents.examined_bytes)))
    })
}

fn extents(subject: &Subject<'_>) -> Option<Finding> {
    let (examined, empty) = examined(subject).fold((0_u64, 0_u64), |(examined, empty), file| {
        (examined.saturating_add(file.0), empty.saturating_add(file.1))
    });
    let share = empty as f64 / examined.max(1) as f64;
    // A run may read a part of its range only: what it read is known better by its buffers and by what was fetched.
    let fetched = subject.job.direct && subject.job.cached_read_share.is_some_and(|share| share < SHARE_MIN);
    let share = zero_share(subject).map_or(share, |zeros| share.min(zeros));
    if share < SHARE_MIN || fetched {
        return None;
    }
    let message = format!("{} of the range that was read was never written before", percent(share));
    Some(finding(subject, share, message, "unwritten_share"))
}

/// Whether this phase or one before it writes to the target.
fn written_before(subject: &Subject<'_>, target: &str) -> bool {
    let phases = subject.run.plan.phases.iter().take(subject.phase.plan_phase as usize + 1);
    let targets = &subject.run.plan.targets;
    let at = |site: &PlannedSite| targets.get(site.target as usize).is_some_and(|at| at.name == target);
    phases.flat_map(|phase| &phase.jobs).any(|planned| {
        planned.pattern.mix.share(OpKind::Write) > 0.0
            && planned.slices.iter().flat_map(|slice| &slice.sites).any(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent};
    use crate::environment::TargetEnvironment;
    use crate::fixture::run;

    #[test]
    fn direct_reads_that_no_device_served() {
        let mut run = run();
        run.phases[0].jobs[0].cached_read_share = Some(0.9);
        let finding = only(ID, &run);
        assert_eq!((finding.severity, finding.bias_words()), (FindingSeverity::Invalid, "IOPS 0-900 % high"));
        // The same share of buffered reads is the page cache's.
        silent(ID, &buffered(run));
    }

    #[test]
    fn blocks_that_are_allocated_and_unwritten_are_no_holes() {
        let said = |hole_bytes: u64, unwritten_bytes: Option<u64>| {
            let mut run = run();
            run.phases[0].jobs[0].cached_read_share = Some(1.0);
            let data_bytes = 100 - hole_bytes;
            with_extents(
                &mut run,
                ExtentSummary {
                    examined_bytes: 100,
                    data_bytes,
                    hole_bytes,
                    unwritten_bytes,
                    ..Default::default()
                },
            );
            let finding = only(ID, &run);
            assert_eq!(finding.severity, FindingSeverity::Invalid);
            finding.message.split_once(": ").expect("a reason").1.to_owned()
        };
        // lseek calls what fallocate(1) made a hole.
        assert_eq!(said(100, Some(100)), "the file's blocks are allocated and were never written");
        assert_eq!(said(0, Some(100)), "the file's blocks are allocated and were never written");
        assert_eq!(said(100, Some(0)), "the file has holes");
        assert_eq!(
            said(100, Some(40)),
            "the file has holes, and blocks that are allocated and were never written"
        );
        // Where FIEMAP does not tell, neither is said for certain.
        assert_eq!(
            said(100, None),
            "the file has holes, or blocks that are allocated and were never written"
        );
    }

    /// The run with a device that read nothing.
    fn undelivered() -> Run {
        let mut run = run();
        run.phases[0].device.as_mut().unwrap().device_read_bytes = Some(0);
        run
    }

    #[test]
    fn zero_buffers() {
        let mut run = undelivered();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        (evidence.read_buffers_sampled, evidence.read_buffers_zero) = (1000, 30);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 1000;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 3;
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.read_buffers_zero = 1000;
        let mut fill = run.plan.phases[0].clone();
        fill.jobs[0].content.payload = Payload::Zero;
        fill.jobs[0].pattern.mix = assay_workload::pattern::Mix::WRITE;
        run.plan.phases.push(fill);
        silent(ID, &run);
    }

    #[test]
    fn zeros_that_a_device_delivered_do_not_condemn() {
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        (evidence.read_buffers_sampled, evidence.read_buffers_zero) = (1000, 1000);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        // A file whose extents hold data: zeros were written (measured: 5 % faster than random data).
        let extents = ExtentSummary { examined_bytes: 100, data_bytes: 100, ..ExtentSummary::default() };
        with_extents(&mut run, extents);
        let found = only(ID, &run);
        assert_eq!(
            (found.severity, found.bias_words().starts_with("effect unknown")),
            (FindingSeverity::Info, true)
        );
        // Where something is known to reduce them, nothing of them is stored.
        run.environment.targets[1].devices = vec![crate::environment::BlockDevice {
            kind: crate::environment::DeviceKind::Zram,
            ..Default::default()
        }];
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
    }

    fn with_extents(run: &mut Run, extents: ExtentSummary) {
        run.environment.targets.push(TargetEnvironment {
            path: "/data/t".to_owned(),
            extents: Some(extents),
            file_system: run.environment.targets[0].file_system.clone(),
            ..TargetEnvironment::default()
        });
    }

    #[test]
    fn holes_that_were_not_read_are_no_matter() {
        let half =
            ExtentSummary { examined_bytes: 100, data_bytes: 50, hole_bytes: 50, ..Default::default() };
        let mut run = run();
        with_extents(&mut run, half);
        // Of a direct job everything was fetched.
        silent(ID, &run);
        // The buffers of a buffered one show what it read.
        let mut run = buffered(run);
        run.phases[0].jobs[0].cached_read_share = None;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
        run.phases[0].jobs[0].evidence.read_buffers_sampled = 500;
        silent(ID, &run);
    }

    #[test]
    fn a_sparse_file() {
        let mut run = run();
        let extents =
            ExtentSummary { examined_bytes: 100, data_bytes: 40, hole_bytes: 60, ..ExtentSummary::default() };
        with_extents(&mut run, extents);
        run.phases[0].jobs[0].cached_read_share = None;
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.starts_with("60 %"));
        // Written by the run first: the extents are those of before.
        run.plan.targets[0].existing_bytes = 0;
        silent(ID, &run);
    }
}
