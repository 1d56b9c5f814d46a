//! `working-set-fits-cache`: the page cache can hold what was read, or took what was written.
//!
//! Where the kernel counts what it fetched, `cache-served-reads` says how much it was; this speaks of reads where that
//! is not known, and of writes that the device had not received when the clock stopped.

use assay_workload::pattern::OpKind;
use assay_workload::resolve::misses::{TouchedBy, touched_by};
use assay_workload::units::Bytes;

use super::draft::{iops_high, iops_served, percent, served, time};
use super::subject::{Subject, measured, memory_bytes, on_storage};
use crate::probe::Probe;
use crate::run::{Effect, Finding, FindingSeverity, Run};

pub(super) const ID: &str = "working-set-fits-cache";

/// Share of written bytes that may be missing at the device.
const UNWRITTEN_MIN: f64 = 0.1;
const UNWRITTEN_INVALID: f64 = 0.5;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let buffered =
        on_storage(run).filter(|subject| !subject.job.direct && subject.memory_file_system().is_none());
    let above = buffered.flat_map(|subject| reads(&subject).into_iter().chain(writes(&subject)));
    let below = on_storage(run).filter_map(|subject| probed(&subject).or_else(|| touched(&subject)));
    above.chain(below).chain(databases(run)).collect()
}

/// Figure of a kind of job: bytes of its database.
const DATABASE_SIZE: &str = "database size";
/// Figure of a kind of job: per cent of the blocks that the server's buffers held.
const HIT_RATIO: &str = "buffer hit ratio";
/// From here on next to nothing was read.
const HIT_RATIO_MAX: f64 = 99.0;
/// An operation that only jobs on databases have.
const ORDERS: &str = "new-order";

/// Databases that memory holds: reads of them are not reads of the storage.
fn databases(run: &Run) -> impl Iterator<Item = Finding> {
    let memory = memory_bytes(run);
    let remote =
        run.plan.targets.is_empty() && !run.remarks.iter().any(|remark| remark.id == "server-on-this-host");
    measured(run).filter(is_of_a_database).filter_map(move |subject| {
        let (bytes, hits) =
            (figure(&subject, DATABASE_SIZE, f64::min)?, figure(&subject, HIT_RATIO, f64::max));
        let fits = memory.filter(|memory| !remote && bytes <= *memory as f64);
        let buffered = hits.filter(|ratio| *ratio > HIT_RATIO_MAX);
        let size = Bytes(bytes as u64);
        let message = match (fits, buffered) {
            (Some(memory), _) => format!("the database of {size} fits in the memory of {} of this host", Bytes(memory)),
            (None, Some(ratio)) => format!("{ratio:.1} % of the blocks that the database of {size} was asked for were in the server's buffers"),
            (None, None) => return None,
        };
        let finding = subject
            .draft(ID, FindingSeverity::Warning, message)
            .bias("the storage was tested with the log and checkpoints only, not with reads")
            .evidence("database_bytes", bytes)
            .evidence("memory_bytes", fits)
            .evidence("buffer_hit_percent", hits)
            .advise("build more warehouses, several times as large as memory, or read the figure as one of commits");
        Some(finding)
    })
}

/// Whether figures of a database in this phase are of this job: beside others it is the one whose transactions order something.
fn is_of_a_database(subject: &Subject<'_>) -> bool {
    subject.alone() || subject.job.ops.contains_key(ORDERS)
}

/// A figure of a job; of several hosts the one that `worse` keeps. Where several jobs or hosts have it, their names stand before it.
fn figure(subject: &Subject<'_>, name: &str, worse: fn(f64, f64) -> f64) -> Option<f64> {
    let others: Vec<&str> = subject.phase.jobs.iter().map(|job| job.name.as_str()).collect();
    let is_ours = |full: &str| {
        let before = full.strip_suffix(name).unwrap_or("-");
        let mut words = before.split(": ").filter(|word| others.contains(word));
        (before.is_empty() || before.ends_with(": ")) && words.all(|word| word == subject.job.name)
    };
    let ours = subject.phase.metrics.iter().filter(|(full, _)| is_ours(full));
    ours.map(|(_, metric)| metric.value).reduce(worse)
}

/// Blocks that a job was to read for the first time, and that this run had written or read before.
fn touched(subject: &Subject<'_>) -> Option<Finding> {
    let (plan, phase) = (&subject.run.plan, subject.phase.plan_phase as usize);
    let by = subject.planned.iter().find_map(|planned| touched_by(plan, phase, planned))?;
    let by = match by {
        TouchedBy::Job(job) => format!("job '{job}' had touched them"),
        TouchedBy::Prefill => "this run had written them when it laid the file out".to_owned(),
    };
    let message = format!(
        "whether blocks that were to be read for the first time missed the caches below is unknown: {by}"
    );
    let finding = subject
        .draft(ID, FindingSeverity::Unchecked, message)
        .bias("IOPS high by an unknown amount where a cache below still held them")
        .evidence("active_bytes", subject.job.evidence.active_bytes)
        .advise("run on a file that is there already, with a range that no other job uses, or probe for caches ('assay probe')");
    Some(finding)
}

/// Whether a probe found a cache below that holds all that the job reads.
fn probed(subject: &Subject<'_>) -> Option<Finding> {
    let active = subject.job.evidence.active_bytes;
    if !subject.does(OpKind::Read) || active == 0 {
        return None;
    }
    let below: Vec<&str> = subject.bottom_devices().iter().map(|device| device.name.as_str()).collect();
    let same = |probe: &&Probe| {
        probe.direct == subject.job.direct
            && probe.target.bottom_devices().any(|device| below.contains(&device.name.as_str()))
    };
    let fitting = subject.run.probes.iter().filter(same).find_map(|probe| {
        let level = probe.levels.iter().find(|level| level.holds_bytes >= active)?;
        Some((probe, level))
    });
    let (probe, level) = fitting?;
    let factor = probe.cold.p50 as f64 / level.read_ns.max(1) as f64;
    let message = format!(
        "{} fit a cache of at least {} that a probe found below: {} a read instead of {}",
        Bytes(active),
        Bytes(level.holds_bytes),
        time(level.read_ns as f64),
        time(probe.cold.p50 as f64)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(format!("reads up to {factor:.1} times as fast as first touches: {}", iops_high(factor - 1.0)))
        .effect(Effect::high(factor - 1.0))
        .evidence("active_bytes", active)
        .evidence("cache_holds_bytes", level.holds_bytes)
        .evidence("cache_read_ns", level.read_ns)
        .evidence("first_touch_ns", probe.cold.p50)
        .evidence("probe", probe.id.as_str())
        .advise("read a range well above this cache, or report the figure as that of the cache");
    Some(finding)
}

fn reads(subject: &Subject<'_>) -> Option<Finding> {
    let memory = memory_bytes(subject.run)?;
    let active = subject.job.evidence.active_bytes;
    let known = subject.job.cached_read_share.is_some();
    if !subject.does(OpKind::Read) || known || active == 0 || active > memory {
        return None;
    }
    let message = format!(
        "{} are read through a page cache that may hold {}, and how many reads it served is unknown",
        Bytes(active),
        Bytes(memory)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("IOPS high by an unknown amount")
        .evidence("active_bytes", active)
        .evidence("memory_bytes", memory)
        .advise("use direct I/O, or a working set well above memory");
    Some(finding)
}

fn writes(subject: &Subject<'_>) -> Option<Finding> {
    let flushed = |at_end: bool, durable: bool| at_end || durable;
    let all_flushed = subject
        .planned
        .iter()
        .all(|planned| flushed(planned.flush.at_end, planned.flush.every_write_durable()));
    let truth = subject.truth().filter(|_| subject.alone())?;
    let (asked, written) = (truth.asked_written_bytes, truth.device_written_bytes?);
    let missing = 1.0 - written as f64 / asked.max(1) as f64;
    if !subject.does(OpKind::Write) || all_flushed || missing < UNWRITTEN_MIN {
        return None;
    }
    let grave = missing >= UNWRITTEN_INVALID && !subject.in_series();
    let severity = if grave { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let message = format!(
        "{} of the written bytes were still in memory at the end of the measurement",
        percent(missing)
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias(iops_served(missing, "the figure is that of memory"))
        .effect(served(missing))
        .evidence("asked_written_bytes", asked)
        .evidence("device_written_bytes", written)
        .evidence("dirty_bytes_max", subject.phase.evidence.dirty_bytes_max)
        .advise("use direct I/O, or flush: after each write, or at the end of the job");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::fixture::{GIB, run};

    #[test]
    fn reads_that_memory_may_hold() {
        let mut run = buffered(run());
        run.phases[0].jobs[0].cached_read_share = None;
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.active_bytes = 4 * GIB;
        assert!(
            only(ID, &run).message.starts_with("4 GiB are read through a page cache that may hold 16 GiB")
        );
        // The control group may have less.
        run.environment.cgroup.memory_bytes = Some(GIB);
        silent(ID, &run);
        run.environment.cgroup.memory_bytes = None;
        run.phases[0].jobs[0].cached_read_share = Some(0.9);
        silent(ID, &run);
    }

    #[test]
    fn a_database_that_memory_or_its_buffers_hold() {
        let mut run = run();
        let figure = |value: f64, unit: &str| crate::run::Metric {
            value,
            unit: unit.to_owned(),
            n: 1,
            interval: None,
            basis: None,
        };
        run.phases[0].metrics.insert(DATABASE_SIZE.to_owned(), figure(4.0 * GIB as f64, "bytes"));
        let finding = only(ID, &run);
        assert_eq!(finding.message, "the database of 4 GiB fits in the memory of 16 GiB of this host");
        run.phases[0].metrics.insert(DATABASE_SIZE.to_owned(), figure(40.0 * GIB as f64, "bytes"));
        silent(ID, &run);
        run.phases[0].metrics.insert(HIT_RATIO.to_owned(), figure(99.6, "%"));
        assert!(only(ID, &run).message.starts_with("99.6 % of the blocks"), "{}", only(ID, &run).message);
    }

    #[test]
    fn a_database_beside_other_jobs_and_on_several_hosts() {
        let mut run = run();
        let figure = |value: f64| crate::run::Metric {
            value,
            unit: "bytes".to_owned(),
            n: 1,
            interval: None,
            basis: None,
        };
        let mut neighbour = run.phases[0].jobs[0].clone();
        neighbour.name = "backup".to_owned();
        run.phases[0].jobs.push(neighbour);
        run.phases[0].jobs[0].ops.insert(ORDERS.to_owned(), crate::run::OpResult::default());
        for (host, size) in [("w1", 40.0), ("w2", 4.0)] {
            run.phases[0].metrics.insert(format!("{host}: {DATABASE_SIZE}"), figure(size * GIB as f64));
        }
        assert!(only(ID, &run).message.starts_with("the database of 4 GiB fits"));
        // The other job's own.
        run.phases[0].metrics.clear();
        run.phases[0].metrics.insert(format!("backup: {DATABASE_SIZE}"), figure(4.0 * GIB as f64));
        silent(ID, &run);
    }

    #[test]
    fn a_cache_that_a_probe_found() {
        let mut run = run();
        run.phases[0].jobs[0].evidence.active_bytes = GIB;
        let level = crate::probe::CacheLevel { holds_bytes: 4 * GIB, exceeded_bytes: None, read_ns: 100_000 };
        let mut probe = Probe {
            id: "cafe".to_owned(),
            direct: true,
            target: run.environment.targets[0].clone(),
            levels: vec![level],
            ..Probe::default()
        };
        probe.cold.p50 = 500_000;
        run.probes = vec![probe];
        let finding = only(ID, &run);
        assert!(finding.message.contains("100 µs a read instead of 500 µs"), "{}", finding.message);
        assert!(finding.bias_words().ends_with("IOPS 0-400 % high"), "{}", finding.bias_words());
        run.phases[0].jobs[0].evidence.active_bytes = 8 * GIB;
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.active_bytes = GIB;
        run.probes[0].target.devices[0].name = "sdb".to_owned();
        silent(ID, &run);
    }

    #[test]
    fn writes_that_stayed_in_memory() {
        let mut run = writing(buffered(run()));
        silent(ID, &run);
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_written_bytes = Some(truth.asked_written_bytes / 4);
        let finding = only(ID, &run);
        assert_eq!((finding.severity, finding.bias_words()), (FindingSeverity::Invalid, "IOPS 0-300 % high"));
        run.plan.series = Some("stb-2.1".to_owned());
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.plan.phases[0].jobs[0].flush.at_end = true;
        silent(ID, &run);
    }

    #[test]
    fn blocks_to_be_read_first_that_the_run_had_written() {
        use assay_workload::pattern::{Distribution, Placement, Random};
        let mut run = crate::fixture::run();
        let distribution = Distribution::ReadMiss { miss_percent: 25.0, hit_bytes: u64::MAX };
        run.plan.phases[0].jobs[0].pattern.placement =
            Placement::Random(Random { distribution, once_per_pass: false });
        let target = &mut run.plan.targets[0];
        (target.kind, target.existing_bytes) = (assay_workload::target::TargetKind::File, target.size_bytes);
        silent(ID, &run);
        run.plan.targets[0].existing_bytes = 0;
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.contains("laid the file out"), "{}", finding.message);
    }
}
