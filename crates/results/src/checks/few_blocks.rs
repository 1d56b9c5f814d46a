//! `few-blocks`: an active range of so few blocks that the same ones are done over and over.
//!
//! A device answers blocks that it has just done from its own memory, and I/Os in flight meet on the same block: the
//! figure is that of the device's cache and of a few addresses, not of its medium.

use assay_workload::units::Bytes;

use super::draft::count;
use super::subject::{Subject, on_storage};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "few-blocks";

/// A range as small as this is what every cache of a device holds, however many blocks it has.
const RANGE_MIN: u64 = 1 << 20;
/// With fewer blocks than this multiple of the outstanding I/Os, these meet on the same block.
const BLOCKS_EACH: u64 = 16;
/// From so many blocks on, I/Os in flight hardly meet, however many there are.
const BLOCKS_MAX: u64 = 256;
/// A range that was done fewer times says what it says: one pass over a small file is a measurement of that.
const PASSES_MIN: u64 = 16;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    on_storage(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let (job, active) = (subject.job, subject.job.evidence.active_bytes);
    // The range of a tree or of an application is not known in blocks.
    if active == 0 || subject.planned.iter().any(|planned| !planned.is_blocks()) {
        return None;
    }
    // Of a command that was only observed, block sizes are not known.
    let largest = subject.planned.iter().map(|planned| planned.pattern.max_block_bytes()).max()?;
    if largest == 0 {
        return None;
    }
    let blocks = (active / largest).max(1);
    let few = blocks < BLOCKS_EACH.saturating_mul(job.outstanding_io.max(1)) && blocks < BLOCKS_MAX;
    if !(few || active < RANGE_MIN) || job.total.ios / blocks < PASSES_MIN {
        return None;
    }
    let times = job.total.ios / blocks;
    let message = format!(
        "the active range of {} holds {} of {}, each done {times} times on average",
        Bytes(active),
        count(blocks, "block"),
        Bytes(largest),
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("IOPS may be high, effect unknown: the device's own cache holds the whole range")
        .evidence("active_bytes", active)
        .evidence("blocks", blocks)
        .evidence("ios", job.total.ios)
        .advise("use a larger range: more than the device's cache holds");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    fn of_range(active: u64, ios: u64) -> Run {
        let mut run = run();
        let job = &mut run.phases[0].jobs[0];
        (job.evidence.active_bytes, job.total.ios) = (active, ios);
        run
    }

    #[test]
    fn one_block_over_and_over() {
        let finding = only(ID, &of_range(4096, 127_000));
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert!(
            finding.message.contains("holds 1 block of 4 KiB, each done 127000 times"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn small_ranges_and_few_blocks_are_told_when_they_are_done_many_times() {
        assert!(only(ID, &of_range((1 << 20) - 4096, 127_000)).message.contains("255 blocks"));
        // 8 outstanding want 128 blocks.
        let large = |blocks: u64| {
            let mut run = of_range(blocks << 20, 127_000);
            run.plan.phases[0].jobs[0].pattern.read_sizes =
                assay_workload::pattern::BlockSizes::Fixed(1 << 20);
            run
        };
        only(ID, &large(127));
        silent(ID, &large(128));
        silent(ID, &of_range(1 << 20, 127_000));
        silent(ID, &of_range(4096 * 100, 1500));
        // As recorded with `judge --target DIR`: neither the range nor the blocks are known.
        let mut observed = of_range(4096, 127_000);
        let pattern = &mut observed.plan.phases[0].jobs[0].pattern;
        pattern.read_sizes = assay_workload::pattern::BlockSizes::Unknown;
        pattern.write_sizes = assay_workload::pattern::BlockSizes::Unknown;
        pattern.trim_sizes = assay_workload::pattern::BlockSizes::Unknown;
        silent(ID, &observed);
    }
}
