//! A run as fio's JSON and JSON+, for scripts and programs that read those.
//!
//! Members, their order and their units are those of fio 3.33. What fio calls `clat` begins behind the submitting call;
//! ours begins where the operation is handed over, so that `clat_ns` and `lat_ns` hold the same: fio's `lat` is the one
//! to hold it against. That, the response time, and what fio counts and Assay does not, is said in the extra
//! members `assay` of the document and of each job.
//!
//! Each reported job has one entry, all threads together, as fio writes with `group_reporting`; a file that is lowered with
//! [`apart`](crate::JobFile::apart) has a job for each clone. Its minima and maxima of
//! bandwidth and IOPS are those of the sum over the threads, where fio adds up each thread's own.

pub(crate) mod document;
mod job;
mod loops;
mod operation;
pub(crate) mod options;
mod read_back;
mod samples;
mod shares;
mod steady;

use assay_results::run::{JobResult, PhaseResult};
use assay_results::{Interval, Run};

use self::document::{Json, Object};
use crate::reporting::{JobReporting, Reporting};
use assay_results::foreign::{Moment, reported_phases};

/// The run as fio's JSON, or with `plus` as JSON+, which adds the counts of all latency buckets.
///
/// Bandwidth and IOPS from period to period are known for jobs of one operation: see [`fio_json_with`].
pub fn fio_json(run: &Run, plus: bool) -> String {
    fio_json_with(run, &[], plus)
}

/// As [`fio_json`], with the stored reporting periods, from which each operation has its own `bw_min` to
/// `iops_samples`. `intervals` may be in any order.
pub fn fio_json_with(run: &Run, intervals: &[Interval], plus: bool) -> String {
    fio_json_reported(run, intervals, plus, &Reporting::default())
}

/// As [`fio_json_with`], with names, groups, percentiles and totals as a job file wants them.
pub fn fio_json_reported(run: &Run, intervals: &[Interval], plus: bool, reporting: &Reporting) -> String {
    let joined = loops::joined(run, reporting);
    let phases = reported_phases(&joined);
    let mut jobs = Vec::new();
    let mut all_options = Vec::new();
    let mut start = Moment::parse(&run.started);
    for (group, phase) in phases.iter().enumerate() {
        let how = |job: &JobResult| match reporting.job(run, phase, job) {
            Some(how) => how.clone(),
            None => JobReporting::plain(&job.name, group as u64),
        };
        let mut reported: Vec<(JobReporting, &JobResult)> =
            phase.jobs.iter().map(|job| (how(job), job)).filter(|(how, _)| how.counted).collect();
        reported.sort_by_key(|(how, _)| how.thread);
        for (how, job) in &reported {
            let mut options = options::options(run, phase, job);
            how.name(&mut options);
            let place =
                job::ReportedPhase { run: &joined, phase, how, start_ms: start.unix_ms(), intervals, plus };
            jobs.push(Json::from(job::job(&place, job, &options)));
            all_options.push(options);
        }
        start = start.plus_seconds(phase.measured_s);
    }
    let end = Moment::parse(&run.started).plus_seconds(run.elapsed_s);
    let mut root = Object::new()
        .with("fio version", version(&run.assay.version))
        .with("timestamp", end.unix_ms() / 1000)
        .with("timestamp_ms", end.unix_ms())
        .with("time", end.ctime())
        .with("global options", common(&all_options))
        .with("jobs", jobs);
    let phases = reported_phases(run);
    let disks = disk_util(&phases);
    if !disks.is_empty() {
        root.put("disk_util", disks);
    }
    root.put("assay", about(run, &phases));
    Json::from(root).print()
}

/// What stands for fio's version, in the form of fio's own builds between two releases.
pub fn version(assay: &str) -> String {
    format!("fio-3.33-assay-{assay}")
}

/// What all jobs have in common.
fn common(all: &[options::Options]) -> Object {
    let mut object = Object::new();
    if let Some((first, rest)) = all.split_first() {
        for (name, value) in first.iter().filter(|(name, _)| name != "name") {
            if rest.iter().all(|options| options.iter().any(|entry| entry.0 == *name && entry.1 == *value)) {
                object.put(name.as_str(), value.as_str());
            }
        }
    }
    object
}

/// What the devices did in all reported phases, one entry for each set of devices.
fn disk_util(phases: &[&PhaseResult]) -> Vec<Json> {
    let mut sums: Vec<(String, [u64; 5], f64, f64)> = Vec::new();
    for truth in phases.iter().filter_map(|phase| phase.device.as_ref()) {
        if truth.devices.is_empty() {
            continue;
        }
        let name = truth.devices.join("+");
        let index = sums.iter().position(|entry| entry.0 == name).unwrap_or_else(|| {
            sums.push((name, [0; 5], 0.0, 0.0));
            sums.len() - 1
        });
        let (_, counts, busy_s, window_s) = &mut sums[index];
        let queue_ms = truth.device_depth_mean.unwrap_or(0.0) * truth.depth_window_s * 1e3;
        let values = [
            truth.device_reads.unwrap_or(0),
            truth.device_writes.unwrap_or(0),
            truth.device_read_bytes.unwrap_or(0) / 512,
            truth.device_written_bytes.unwrap_or(0) / 512,
            queue_ms as u64,
        ];
        counts.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.saturating_add(value));
        *busy_s += truth.device_busy_share.unwrap_or(0.0) * truth.depth_window_s;
        *window_s += truth.depth_window_s;
    }
    let entry = |(name, counts, busy_s, window_s): (String, [u64; 5], f64, f64)| {
        let busy = if window_s > 0.0 { 100.0 * busy_s / window_s } else { 0.0 };
        Json::from(
            Object::new()
                .with("name", name)
                .with("read_ios", counts[0])
                .with("write_ios", counts[1])
                .with("read_sectors", counts[2])
                .with("write_sectors", counts[3])
                .with("read_merges", 0_u64)
                .with("write_merges", 0_u64)
                .with("read_ticks", 0_u64)
                .with("write_ticks", 0_u64)
                .with("in_queue", counts[4])
                .with("util", busy.min(100.0)),
        )
    };
    sums.into_iter().map(entry).collect()
}

/// What of fio's members Assay does not count: they are 0.
const NOT_COUNTED: [&str; 6] =
    ["drop_ios", "majf", "minf", "iodepth_complete", "disk_util merges", "disk_util ticks"];

/// What a reader of the numbers should know, and fio has no place for.
fn about(run: &Run, phases: &[&PhaseResult]) -> Object {
    let own = "completion latency, from handing the operation over to its completion: clat_ns and lat_ns alike; \
               slat_ns is a sample of the submitting calls, and a part of it";
    let latency = run.assay.latency_definition.as_deref().unwrap_or(own);
    let findings = run.findings.iter().map(|finding| {
        let mut object = Object::new().with("id", finding.id.as_str());
        object.put("phase", finding.phase.as_deref().map_or(Json::Null, Json::from));
        object.put("job", finding.job.as_deref().map_or(Json::Null, Json::from));
        let bias = finding.bias.as_deref().unwrap_or_default();
        Json::from(object.with("message", finding.message.as_str()).with("bias", bias))
    });
    let left_out = run.phases.iter().filter(|phase| !phases.iter().any(|kept| std::ptr::eq(*kept, *phase)));
    let summed = phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.evidence.threads > 1);
    let texts = |list: &[&str]| Json::List(list.iter().map(|text| Json::from(*text)).collect());
    Object::new()
        .with("version", run.assay.version.as_str())
        .with("run", run.id.as_str())
        .with("name", run.name.as_str())
        .with("verdict", run.verdict.word())
        .with("latency", latency)
        .with("not_counted", texts(&NOT_COUNTED))
        .with("from_means", texts(&["iodepth_level", "iodepth_submit"]))
        .with("clones_summed", texts(&summed.map(|job| job.name.as_str()).collect::<Vec<_>>()))
        .with("phases_left_out", texts(&left_out.map(|phase| phase.name.as_str()).collect::<Vec<_>>()))
        .with("notes", texts(&run.notes.iter().map(String::as_str).collect::<Vec<_>>()))
        .with("findings", findings.collect::<Vec<_>>())
}
