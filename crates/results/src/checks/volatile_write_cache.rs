//! `volatile-write-cache`: writes that were flushed are not on the medium.
//!
//! Known from mount options that switch flushes off, from a device that received far fewer flushes than the jobs asked
//! for although the kernel knows of a cache to be flushed, and from more flushes a second than a turning disk has turns.

use super::draft::{Draft, iops_served, percent, served, unbounded};
use super::subject::{Subject, on_storage};
use crate::environment::{BlockDevice, Transport};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "volatile-write-cache";

/// Fewer flushes say nothing.
const FLUSHES_MIN: u64 = 100;
/// Share of the flushes asked for that must reach the device, where each of those could be one for all that were
/// outstanding: concurrent flushes are done together. A journal that commits now and then sends a few of its own.
const REACHED_MIN: f64 = 0.1;
/// Twice the turns a second of the fastest disk (15000 rpm): one flush of one write waits for a turn, or a good part.
const DISK_FLUSHES_PER_S: f64 = 500.0;

/// Whose figure it is: what durability costs is not in it, and nothing here says what it costs.
const NOT_DURABLE: &str = "these writes are not durable";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let writing = || on_storage(run).filter(|subject| subject.job.write.is_some() && flushes(subject));
    let mut findings: Vec<Finding> = writing()
        .filter_map(|s| switched_off(&s).or_else(|| swallowed(&s)).or_else(|| too_fast(&s)))
        .collect();
    let unseen = writing().find_map(|subject| {
        let truth = subject.truth().filter(|truth| truth.device_flushes.is_none())?;
        (subject.memory_file_system().is_none() && switched_off(&subject).is_none())
            .then_some((subject, truth))
    });
    // A kind of job knows what its server makes durable.
    findings.extend(run.remarks.iter().filter(|remark| remark.id == ID).map(|remark| {
        Draft::new(ID, FindingSeverity::Warning, remark.text.as_str())
            .bias(unbounded(NOT_DURABLE))
            .advise("switch it on, or do not call these commits durable")
    }));
    findings.extend(unseen.map(|(subject, truth)| {
        let why = truth.unknown_because.as_deref();
        let why = why.unwrap_or("the kernel does not count flushes of the device");
        let message = format!("whether flushes reach a device is unknown: {why}");
        let draft =
            Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
        draft.advise("make sure that what is below honours fsync, or measure on a device that can be named")
    }));
    findings
}

/// Whether durable writes were asked for.
fn flushes(subject: &Subject<'_>) -> bool {
    subject.every_write_durable() || subject.planned.iter().any(|planned| planned.flush.periodic.is_some())
}

fn switched_off(subject: &Subject<'_>) -> Option<Finding> {
    let fs = subject.file_systems().into_iter().find(|fs| fs.flushes_disabled())?;
    let message = format!(
        "{} is mounted so that flushes do not reach the device (nobarrier, barrier=0 or volatile)",
        fs.mount_point
    );
    let finding = subject
        .draft(ID, FindingSeverity::Invalid, message)
        .bias(unbounded(NOT_DURABLE))
        .effect(served(1.0))
        .evidence("mount_point", fs.mount_point.as_str())
        .advise("mount with barriers, or do not call these writes durable");
    Some(finding)
}

fn swallowed(subject: &Subject<'_>) -> Option<Finding> {
    let truth = subject.truth().filter(|_| subject.alone())?;
    let calls = subject.job.flush.as_ref().map_or(0, |flush| flush.ios);
    let reached = truth.device_flushes?;
    let together = subject.job.outstanding_io.max(1);
    let cache = subject.bottom_devices().iter().any(|device| device.queue.write_back_cache == Some(true));
    // At most: each that arrived was for all that were outstanding, and took all of the time.
    let swallowed = 1.0 - reached.saturating_mul(together) as f64 / calls.max(1) as f64;
    if calls < FLUSHES_MIN || !cache || swallowed <= 1.0 - REACHED_MIN {
        return None;
    }
    let message =
        format!("{calls} flushes were requested and {reached} reached {}", truth.devices.join(", "));
    let finding = subject
        .draft(ID, FindingSeverity::Invalid, message)
        .bias(iops_served(swallowed, NOT_DURABLE))
        .effect(served(swallowed))
        .evidence("flush_calls", calls)
        .evidence("device_flushes", reached)
        .evidence("outstanding_io", together)
        .advise("find the layer between file system and device that drops them: an overlay mounted volatile, a FUSE file system, eatmydata");
    Some(finding)
}

fn too_fast(subject: &Subject<'_>) -> Option<Finding> {
    let devices = subject.bottom_devices();
    let in_machine = subject.run.environment.machine.virtualisation.virtual_machine != Some(true);
    let turning = |device: &&BlockDevice| {
        device.rotational == Some(true)
            && matches!(device.transport, Some(Transport::Sata | Transport::Sas | Transport::Usb))
    };
    // A virtual disk calls itself rotating whatever it is; one write at a time cannot be flushed together with others.
    let one_at_a_time = subject.job.outstanding_io == 1 && subject.every_write_durable();
    if !in_machine || devices.len() != 1 || !devices.iter().all(turning) || !one_at_a_time {
        return None;
    }
    let writes_per_s = subject.job.write.as_ref()?.iops;
    if writes_per_s <= DISK_FLUSHES_PER_S {
        return None;
    }
    let name = &devices.first()?.name;
    let message = format!(
        "{writes_per_s:.0} writes a second, flushed one by one, are more than {name} has revolutions: it answers from its cache"
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(format!(
            "durable writes a second high: {} of what the medium can do",
            percent(writes_per_s / DISK_FLUSHES_PER_S)
        ))
        .evidence("writes_per_s", writes_per_s)
        .evidence("possible_per_s", DISK_FLUSHES_PER_S)
        .advise("make sure that the cache survives a power failure (battery, flash), or switch it off");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent, writing};
    use crate::fixture::run;
    use crate::run::{Effect, OpResult};
    use assay_workload::job::OpenSync;

    fn durable() -> Run {
        let mut run = writing(run());
        run.plan.phases[0].jobs[0].flush.open = OpenSync::Dsync;
        run.phases[0].device.as_mut().unwrap().device_flushes = Some(10_000);
        run
    }

    #[test]
    fn a_kind_of_job_tells_of_a_server_that_does_not_flush() {
        let mut run = crate::fixture::run();
        let text = "fsync is off on the server".to_owned();
        run.remarks = vec![crate::evidence::Remark { phase: Some(0), id: ID.to_owned(), text: text.clone() }];
        let finding = only(ID, &run);
        assert_eq!((finding.message, finding.severity), (text, FindingSeverity::Warning));
    }

    #[test]
    fn without_barriers() {
        let mut run = durable();
        silent(ID, &run);
        let fs = run.environment.targets[0].file_system.as_mut().unwrap();
        fs.options.insert("nobarrier".to_owned(), None);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert_eq!(finding.bias_words(), "IOPS high without bound: these writes are not durable");
        assert_eq!(finding.effect, Effect::high(Effect::UNBOUNDED));
        // Nobody claims that these are durable.
        run.plan.phases[0].jobs[0].flush.open = OpenSync::None;
        silent(ID, &run);
    }

    #[test]
    fn flushes_that_vanish() {
        let mut run = durable();
        run.phases[0].jobs[0].flush = Some(OpResult { ios: 5000, ..OpResult::default() });
        run.phases[0].device.as_mut().unwrap().device_flushes = Some(0);
        // The kernel itself drops them where the device needs none.
        run.environment.targets[0].devices[0].queue.write_back_cache = Some(false);
        silent(ID, &run);
        run.environment.targets[0].devices[0].queue.write_back_cache = Some(true);
        assert!(only(ID, &run).message.starts_with("5000 flushes"));
    }

    #[test]
    fn flushes_of_the_journal_do_not_stand_for_those_that_were_swallowed() {
        let mut run = durable();
        // As recorded on an overlay mounted volatile: fdatasync after each write, one outstanding.
        run.phases[0].jobs[0].flush = Some(OpResult { ios: 12_823, ..OpResult::default() });
        run.phases[0].jobs[0].outstanding_io = 1;
        run.environment.targets[0].devices[0].queue.write_back_cache = Some(true);
        run.phases[0].device.as_mut().unwrap().device_flushes = Some(4);
        assert!(only(ID, &run).message.starts_with("12823 flushes were requested and 4 reached sda"));
        // Some arrived: the rest cannot have been had for less than they took.
        run.phases[0].device.as_mut().unwrap().device_flushes = Some(400);
        assert_eq!(only(ID, &run).bias_words(), "IOPS up to 32 times too high");
        // Sixteen at a time are done together, and then some.
        run.phases[0].jobs[0].outstanding_io = 16;
        run.phases[0].device.as_mut().unwrap().device_flushes = Some(12_823 / 20);
        silent(ID, &run);
    }

    #[test]
    fn where_no_device_can_be_seen_it_is_unchecked_once() {
        let mut run = durable();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_flushes = None;
        truth.unknown_because = Some("fuse has no block device here".to_owned());
        let again = run.phases[0].clone();
        run.phases.push(again);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.ends_with("fuse has no block device here"), "{}", finding.message);
    }

    #[test]
    fn faster_than_the_disk_turns() {
        let mut run = durable();
        let disk = &mut run.environment.targets[0].devices[0];
        (disk.rotational, disk.transport) = (Some(true), Some(Transport::Sata));
        silent(ID, &run);
        run.phases[0].jobs[0].outstanding_io = 1;
        assert!(only(ID, &run).message.starts_with("2002 writes a second"));
        run.environment.machine.virtualisation.virtual_machine = Some(true);
        silent(ID, &run);
    }
}
