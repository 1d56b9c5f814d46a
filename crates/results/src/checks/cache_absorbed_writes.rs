//! `cache-absorbed-writes`: direct writes that did not reach the device, because a layer below took them into its memory.
//!
//! O_DIRECT passes the page cache of the target and nothing else: a loop device over a file, a file system that journals
//! data, a caching layer may still keep the data in memory. The bytes that the devices at the bottom wrote are compared
//! with those the jobs wrote directly, durable writes included. Buffered writes are judged by `working-set-fits-cache`.

use assay_workload::pattern::OpKind;
use assay_workload::units::Bytes;

use super::draft::{Draft, iops_served, percent, served, unbounded};
use super::subject::{Subject, on_storage};
use crate::run::{DeviceTruth, Finding, FindingSeverity, Run};

pub(super) const ID: &str = "cache-absorbed-writes";

/// Below this share nothing is said: a device that keeps up lags behind by less.
const MISSING_MIN: f64 = 0.05;
/// From here on the figure is more the cache's than the storage's.
const MISSING_INVALID: f64 = 0.5;
/// Fewer bytes say nothing.
const BYTES_MIN: u64 = 1 << 20;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unseen: Option<(Subject<'_>, &str)> = None;
    for subject in on_storage(run).filter(first_of_direct_writers) {
        if let Some(fs) = subject.memory_file_system() {
            findings.extend(in_memory(&subject, fs));
            continue;
        }
        let truth = subject.truth().filter(|truth| truth.asked_written_bytes >= BYTES_MIN);
        let found = truth.and_then(|truth| absorbed(&subject, truth, truth.device_written_bytes?));
        let memory = subject.memory_below().filter(|_| found.is_none());
        if let Some(memory) = &memory {
            findings.extend(in_memory(&subject, memory));
        }
        findings.extend(found);
        if let Some(truth) = truth.filter(|truth| memory.is_none() && truth.device_written_bytes.is_none()) {
            unseen = unseen.or(Some((subject, truth.why_unknown())));
        }
    }
    findings.extend(unseen.map(|(subject, why)| {
        let message = format!("whether direct writes reached a device is unknown: {why}");
        let draft =
            Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
        draft.advise("measure on a device or file system whose block devices this kernel can name")
    }));
    findings
}

/// Whether a job is the first of a phase in which every job that writes does so directly: the counters are of all of them.
fn first_of_direct_writers(subject: &Subject<'_>) -> bool {
    let mut writers = subject.phase.jobs.iter().filter(|job| job.write.is_some());
    let direct = writers.clone().all(|job| job.direct);
    direct && writers.next().is_some_and(|first| std::ptr::eq(first, subject.job))
}

fn in_memory(subject: &Subject<'_>, memory: &str) -> Option<Finding> {
    // Where the job also reads, `cache-served-reads` says it.
    let finding = subject
        .draft(
            ID,
            FindingSeverity::Warning,
            format!("{memory} keeps its data in memory: no storage was measured"),
        )
        .bias(unbounded("the figure is that of memory"))
        .effect(served(1.0))
        .evidence("memory", memory)
        .advise("name a directory on the storage to be measured");
    subject.job.read.is_none().then_some(finding)
}

fn absorbed(subject: &Subject<'_>, truth: &DeviceTruth, written: u64) -> Option<Finding> {
    let asked = truth.asked_written_bytes;
    let missing = 1.0 - written as f64 / asked as f64;
    // What is compressed on the way has not been kept back.
    if missing < MISSING_MIN || asked - written < BYTES_MIN || subject.reducer().is_some() {
        return None;
    }
    let severity =
        if missing >= MISSING_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let durable = if subject.every_write_durable() { ", although every write was to be durable" } else { "" };
    let message = format!(
        "{} of the {} written with O_DIRECT did not reach {}{durable}: a layer above keeps writes in memory{}",
        percent(missing),
        Bytes(asked),
        truth.devices.join(", "),
        layer(subject),
    );
    let instead =
        if written == 0 { "none of these writes reached the device" } else { "the figure is the cache's" };
    let bias = iops_served(missing, instead);
    let bias = if subject.does(OpKind::Read) { format!("write {bias}") } else { bias };
    let finding = subject
        .draft(ID, severity, message)
        .bias(bias)
        .effect(served(missing))
        .evidence("asked_written_bytes", asked)
        .evidence("device_written_bytes", written)
        .evidence("process_written_bytes", truth.process_written_bytes)
        .evidence("dirty_bytes_max", subject.phase.evidence.dirty_bytes_max)
        .advise(
            "attach loop devices with --direct-io=on, mount ext4 without data=journal, or write far more than memory holds",
        );
    Some(finding)
}

/// The layer that is known to cache, in brackets; empty: none is known to.
fn layer(subject: &Subject<'_>) -> String {
    let mut devices = subject.devices().into_iter();
    let cached = devices.find_map(|device| {
        let backing = device.loop_backing.as_ref().filter(|backing| backing.direct_io == Some(false))?;
        Some(format!(" ({} is a loop device over {} without direct I/O)", device.name, backing.file))
    });
    let journal = || {
        let journals = |fs: &&crate::environment::FileSystem| fs.option("data") == Some("journal");
        let fs = subject.file_systems().into_iter().find(journals)?;
        Some(format!(" ({} is mounted with data=journal)", fs.mount_point))
    };
    cached.or_else(journal).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::environment::{BlockDevice, DeviceKind, LoopBacking};
    use crate::fixture::run;
    use crate::run::Effect;

    /// A loop device over a file on sda, as recorded: what was written went to the page cache of the file.
    fn on_a_loop(direct_io: bool) -> Run {
        let mut run = writing(run());
        let backing = LoopBacking {
            file: "/images/disk".to_owned(),
            direct_io: Some(direct_io),
            ..LoopBacking::default()
        };
        let upper = BlockDevice {
            name: "loop0".to_owned(),
            kind: DeviceKind::Loop,
            below: vec!["sda".to_owned()],
            loop_backing: Some(backing),
            ..BlockDevice::default()
        };
        run.environment.targets[0].devices.insert(0, upper);
        run
    }

    fn written(run: &mut Run, share: f64) {
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_written_bytes = Some((truth.asked_written_bytes as f64 * share) as u64);
    }

    #[test]
    fn writes_that_a_loop_device_kept() {
        let mut run = on_a_loop(false);
        silent(ID, &run);
        written(&mut run, 0.0);
        let finding = only(ID, &run);
        assert_eq!(
            (finding.severity, finding.bias_words()),
            (FindingSeverity::Invalid, "IOPS high without bound: none of these writes reached the device")
        );
        assert!(finding.message.ends_with("loop0 is a loop device over /images/disk without direct I/O)"));
        assert_eq!(finding.effect, Effect::high(Effect::UNBOUNDED));
        written(&mut run, 0.0005);
        assert_eq!(only(ID, &run).bias_words(), "IOPS high without bound: the figure is the cache's");
        written(&mut run, 0.005);
        assert_eq!(only(ID, &run).bias_words(), "IOPS up to 200 times too high");
        written(&mut run, 0.25);
        assert_eq!(only(ID, &run).bias_words(), "IOPS 0-300 % high");
        written(&mut run, 0.9);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        written(&mut run, 0.97);
        silent(ID, &run);
        // Journal, metadata and others add to what was asked.
        written(&mut run, 1.6);
        silent(ID, &run);
    }

    #[test]
    fn durable_writes_are_no_exception() {
        let mut run = on_a_loop(true);
        run.plan.phases[0].jobs[0].flush.open = assay_workload::job::OpenSync::Dsync;
        written(&mut run, 0.01);
        assert!(only(ID, &run).message.contains("although every write was to be durable"));
    }

    #[test]
    fn what_reduces_data_and_what_is_the_bottom_itself_is_left_alone() {
        let mut run = writing(run());
        written(&mut run, 0.1);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
        run.environment.targets[0].file_system.as_mut().unwrap().compresses = Some(true);
        silent(ID, &run);
        // A memory disk counts what it is given, and is a device that works as it should.
        let mut run = writing(crate::fixture::run());
        run.environment.targets[0].devices[0].kind = DeviceKind::Zram;
        run.environment.targets[0].devices[0].queue.write_back_cache = Some(true);
        silent(ID, &run);
    }

    #[test]
    fn buffered_writers_beside_it_leave_the_share_open() {
        let mut run = on_a_loop(false);
        written(&mut run, 0.0);
        let mut other = run.phases[0].jobs[0].clone();
        run.phases[0].jobs.push(other.clone());
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid, "said once a phase");
        other.direct = false;
        run.phases[0].jobs[1] = other;
        silent(ID, &run);
        silent(ID, &buffered(run));
    }

    #[test]
    fn a_device_that_cannot_be_seen_and_memory() {
        let mut run = writing(run());
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_written_bytes = None;
        truth.unknown_because = Some("fuse has no block device here".to_owned());
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
        run.environment.targets[0].file_system.as_mut().unwrap().fs_type = "tmpfs".to_owned();
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }
}
