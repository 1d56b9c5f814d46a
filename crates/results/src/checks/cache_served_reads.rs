//! `cache-served-reads`: reads that a cache answered, so that their figure is the cache's.
//!
//! The kernel counts what it fetched from storage for a process; what the jobs read beyond that came from the page
//! cache. Where a layer below has a cache of its own (a loop device over a file), the devices at the bottom read less
//! than was fetched from the top.

use super::draft::{count, iops_served, percent, served, unbounded};
use super::subject::{Subject, on_storage};
use assay_workload::target::TargetKind;

use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "cache-served-reads";

/// Below this share nothing is said: readers of metadata and the ends of windows do not balance exactly.
const SHARE_MIN: f64 = 0.02;
/// From here on it is a warning.
const SHARE_WARNING: f64 = 0.05;
/// From here on the figure is more the cache's than the storage's.
const SHARE_INVALID: f64 = 0.5;
/// Whose figure it is where the storage served next to nothing.
const CACHE: &str = "the figure is the cache's";

/// File systems on which O_DIRECT never reads through a cache, so that bytes that no device served were not stored:
/// `unwritten-reads` speaks of those.
pub(super) const TRULY_DIRECT: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "f2fs", "gfs2"];

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unknown: Vec<Subject<'_>> = Vec::new();
    for subject in on_storage(run).filter(|subject| subject.job.read.is_some()) {
        if let Some(fs) = subject.memory_file_system() {
            findings.push(in_memory(&subject, fs));
            continue;
        }
        let found = match subject.job.cached_read_share {
            Some(share) if share >= SHARE_MIN && !truly_direct(&subject) => Some(page_cache(&subject, share)),
            Some(_) => lower_cache(&subject),
            None => None,
        };
        // What doubts the figure more plainly is enough.
        let grave = found.as_ref().is_some_and(|found| found.severity >= FindingSeverity::Warning);
        let memory = subject.memory_below().filter(|_| !grave).map(|memory| in_memory(&subject, &memory));
        let known = memory.is_some() || subject.job.cached_read_share.is_some() || subject.job.direct;
        findings.extend(found.into_iter().chain(memory));
        if !known {
            unknown.push(subject);
        }
    }
    findings.extend(unchecked(&unknown));
    findings
}

/// Whether bytes that no device served cannot have come from a cache of this kernel.
pub(super) fn truly_direct(subject: &Subject<'_>) -> bool {
    let holes_only = |fs: &str| TRULY_DIRECT.contains(&fs);
    subject.job.direct
        && subject.targets().iter().all(|target| target.kind == TargetKind::File)
        && !subject.file_systems().is_empty()
        && subject.file_systems().iter().all(|fs| holes_only(&fs.fs_type))
}

fn severity(subject: &Subject<'_>, share: f64) -> FindingSeverity {
    match share {
        share if share >= SHARE_INVALID && !subject.in_series() => FindingSeverity::Invalid,
        share if share >= SHARE_WARNING => FindingSeverity::Warning,
        _ => FindingSeverity::Info,
    }
}

fn page_cache(subject: &Subject<'_>, share: f64) -> Finding {
    let truth = subject.truth();
    let message = if subject.job.direct {
        format!("{} of the read bytes came from no device although O_DIRECT was in effect", percent(share))
    } else {
        format!("{} of the read bytes came from the page cache", percent(share))
    };
    subject
        .draft(ID, severity(subject, share), message)
        .bias(iops_served(share, CACHE))
        .effect(served(share))
        .evidence("cached_read_share", share)
        .evidence("asked_read_bytes", truth.map(|truth| truth.asked_read_bytes))
        .evidence("process_read_bytes", truth.and_then(|truth| truth.process_read_bytes))
        .evidence("device_read_bytes", truth.and_then(|truth| truth.device_read_bytes))
        .advise("use direct I/O, or a working set well above memory, or drop the page cache before each test")
}

fn in_memory(subject: &Subject<'_>, memory: &str) -> Finding {
    subject
        .draft(
            ID,
            FindingSeverity::Warning,
            format!("{memory} keeps its data in memory: no storage was measured"),
        )
        .bias(unbounded("the figure is that of memory"))
        .effect(served(1.0))
        .evidence("memory", memory)
        .advise("name a directory on the storage to be measured")
}

/// A cache between what the kernel fetched for the process and what the bottom devices read.
fn lower_cache(subject: &Subject<'_>) -> Option<Finding> {
    let truth = subject.truth()?;
    // What is fetched beyond what was asked is metadata and read ahead, or was counted at two levels.
    let (fetched, delivered) =
        (truth.process_read_bytes?.min(truth.asked_read_bytes), truth.device_read_bytes?);
    let share = 1.0 - delivered as f64 / fetched as f64;
    if fetched == 0 || share < SHARE_WARNING {
        return None;
    }
    let devices = truth.devices.join(", ");
    let message = format!("{} of the bytes fetched were served by a layer above {devices}", percent(share));
    let finding = subject
        .draft(ID, severity(subject, share), message)
        .bias(iops_served(share, CACHE))
        .effect(served(share))
        .evidence("process_read_bytes", fetched)
        .evidence("device_read_bytes", delivered)
        .advise("look for a cache between file system and device: a loop device without direct I/O, bcache, dm-cache");
    Some(finding)
}

fn unchecked(unknown: &[Subject<'_>]) -> Option<Finding> {
    let first = unknown.first()?;
    let why = first.truth().map_or("no counters were read", |truth| truth.why_unknown());
    let jobs = count(unknown.len() as u64, "buffered job");
    let message = format!("how much of the reads of {jobs} came from the page cache is unknown: {why}");
    let draft = super::draft::Draft::new(ID, FindingSeverity::Unchecked, message);
    Some(
        draft
            .evidence("at", first.pointer.as_str())
            .advise("use direct I/O, or a working set well above memory"),
    )
}

#[cfg(test)]
mod tests {
    use assay_workload::plan::PlannedEngine;

    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::environment::{BlockDevice, DeviceKind, LoopBacking};
    use crate::fixture::run;

    #[test]
    fn memory_below_a_loop_device() {
        let mut run = run();
        run.environment.targets[0].file_system = None;
        let disk = &mut run.environment.targets[0].devices[0];
        *disk = BlockDevice { name: "loop0".to_owned(), kind: DeviceKind::Loop, ..BlockDevice::default() };
        let on = |fs_type: &str| LoopBacking { fs_type: Some(fs_type.to_owned()), ..LoopBacking::default() };
        disk.loop_backing = Some(on("ext4"));
        silent(ID, &run);
        run.environment.targets[0].devices[0].loop_backing = Some(on("tmpfs"));
        let finding = only(ID, &run);
        assert_eq!(finding.message, "tmpfs below loop0 keeps its data in memory: no storage was measured");
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert_eq!(only("cache-absorbed-writes", &writing(run.clone())).message, finding.message);
        // A file system on a disk in memory holds the file.
        run.environment.targets[0].devices[0].loop_backing = Some(on("ext4"));
        for name in ["ram0", "zram1"] {
            let kind = if name == "ram0" { DeviceKind::Other } else { DeviceKind::Zram };
            let mut run = run.clone();
            let below = BlockDevice { name: name.to_owned(), kind, ..BlockDevice::default() };
            run.environment.targets[0].devices.push(below);
            assert!(only(ID, &run).message.starts_with(&format!("{name} below loop0 keeps")));
            // By its own name it is what was asked for.
            run.environment.targets[0].devices.remove(0);
            silent(ID, &run);
        }
    }

    #[test]
    fn half_from_the_page_cache() {
        let mut run = buffered(run());
        run.phases[0].jobs[0].cached_read_share = Some(0.5);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert_eq!(finding.bias_words(), "IOPS 0-100 % high");
        run.plan.series = Some("stb-2.1".to_owned());
        assert_eq!(
            only(ID, &run).severity,
            FindingSeverity::Warning,
            "the tests of a series are known to be so"
        );
    }

    #[test]
    fn a_little_is_information_and_less_is_nothing() {
        let mut run = buffered(run());
        run.phases[0].jobs[0].cached_read_share = Some(0.03);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Info);
        run.phases[0].jobs[0].cached_read_share = Some(0.01);
        silent(ID, &run);
    }

    #[test]
    fn direct_reads_of_a_hole_are_not_cached() {
        let mut run = run();
        run.phases[0].jobs[0].cached_read_share = Some(1.0);
        silent(ID, &run);
        // A file system that takes O_DIRECT and still caches.
        run.environment.targets[0].file_system.as_mut().unwrap().fs_type = "zfs".to_owned();
        assert!(only(ID, &run).message.contains("although O_DIRECT"));
    }

    #[test]
    fn a_loop_device_over_cached_data() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_read_bytes = Some(truth.process_read_bytes.unwrap() / 4);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.starts_with("75 %"), "{}", finding.message);
    }

    #[test]
    fn what_was_counted_at_two_levels_is_no_cache() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.process_read_bytes = Some(truth.asked_read_bytes * 19 / 10);
        silent(ID, &run);
    }

    #[test]
    fn memory_is_not_storage() {
        let mut run = run();
        run.environment.targets[0].file_system.as_mut().unwrap().fs_type = "tmpfs".to_owned();
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn what_the_kernel_does_not_count_is_unchecked_once() {
        let mut run = buffered(run());
        run.phases[0].jobs[0].cached_read_share = None;
        let job = run.phases[0].jobs[0].clone();
        run.phases[0].jobs.push(job);
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.contains("2 buffered jobs"));
    }

    #[test]
    fn nothing_is_said_of_the_null_engine() {
        let mut run = buffered(run());
        run.phases[0].jobs[0].cached_read_share = Some(1.0);
        run.plan.phases[0].jobs[0].engine = PlannedEngine::Null;
        silent(ID, &run);
    }
}
