//! `unrepresentative-block-size`: operations smaller than the unit that anything below stores.

use assay_workload::units::Bytes;

use super::subject::{Subject, on_storage};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "unrepresentative-block-size";

/// What file systems, page caches and databases work in at least.
const UNIT_BYTES: u64 = 4096;
/// A device that names a larger physical block than this names something else.
const PHYSICAL_BYTES_MAX: u64 = 65_536;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    on_storage(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let smallest = subject.planned.iter().map(|planned| planned.pattern.min_block_bytes()).min()?;
    let physical = subject
        .bottom_devices()
        .iter()
        .filter_map(|device| device.queue.physical_block_bytes)
        .filter(|bytes| *bytes <= PHYSICAL_BYTES_MAX)
        .max();
    let unit = physical.unwrap_or(0).max(UNIT_BYTES);
    if smallest == 0 || smallest >= unit {
        return None;
    }
    let message = format!(
        "blocks of {} are smaller than the {} that are stored at a time",
        Bytes(smallest),
        Bytes(unit)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(format!(
            "IOPS up to {} times those of whole units with the same bytes; writes may be read-modify-write",
            unit.div_ceil(smallest)
        ))
        .evidence("block_bytes_min", smallest)
        .evidence("physical_block_bytes", physical)
        .advise(format!(
            "use blocks of {} or more, and never quote these figures without their block size",
            Bytes(unit)
        ));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;
    use assay_workload::pattern::BlockSizes;

    #[test]
    fn half_a_kibibyte() {
        let mut run = run();
        run.plan.phases[0].jobs[0].pattern.read_sizes = BlockSizes::Fixed(512);
        assert!(only(ID, &run).bias_words().starts_with("IOPS up to 8 times"));
    }

    #[test]
    fn the_unit_of_the_device_counts_where_it_is_one() {
        let mut run = run();
        let queue = |run: &mut Run, bytes| {
            run.environment.targets[0].devices[0].queue.physical_block_bytes = Some(bytes)
        };
        queue(&mut run, 16_384);
        assert!(only(ID, &run).message.contains("16 KiB"));
        queue(&mut run, 1 << 20);
        silent(ID, &run);
        queue(&mut run, 512);
        silent(ID, &run);
    }
}
