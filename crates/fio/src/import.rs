//! fio's JSON and JSON+.

mod contradictions;
mod job;
pub(crate) mod options;

use assay_results::foreign::{ENTRIES_MAX, Found, TEXT_BYTES_MAX, assemble, cut};
use assay_results::run::{DeviceTruth, PhaseResult, Run};
use assay_workload::pattern::OpKind;
use assay_workload::plan::{PlannedJob, PlannedTarget};
use assay_workload::{PhaseKind, SweepPoint};
use serde_json::Value;

use self::job::{Entry, job_of};

/// What fio calls `clat`.
const CLAT: &str =
    "fio's clat: from the end of the submitting call (synchronous engines: from its start) to completion";
/// What fio calls `lat`.
const LAT: &str = "fio's lat: from taking up the operation to its completion, submitting included";

/// After so many beginnings of a document that go wrong, no more are tried.
const FAILURES_MAX: u32 = 32;

/// Why a text is not a result of fio that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is longer than [`TEXT_BYTES_MAX`].
    #[error("the text is longer than {} MiB", TEXT_BYTES_MAX >> 20)]
    TooLong,
    /// fio's terse output, which does not say under which conditions its numbers hold.
    #[error(
        "fio's terse output does not say the block size, the engine or how much was outstanding; \
         --output-format=json+ does (terse,json+ writes both)"
    )]
    Terse,
    /// It began as JSON, and is not.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but not of fio.
    #[error("this JSON is not fio's: {0}")]
    NotFio(String),
    /// fio before 3.0 counted in microseconds and KiB under other names.
    #[error("{0} is not readable: fio 3.0 or later is")]
    OldFio(String),
    /// There is no result in it.
    #[error("there is no result in it: {0}")]
    Empty(String),
    /// More than [`ENTRIES_MAX`] jobs.
    #[error("it holds more than {ENTRIES_MAX} results")]
    TooMany,
}

/// Reads a result of fio; `None`: the text is none.
pub fn import(text: &str) -> Option<Result<Run, ImportError>> {
    if text.contains("\"fio version\"") {
        return Some(if text.len() > TEXT_BYTES_MAX { Err(ImportError::TooLong) } else { fio_json(text) });
    }
    is_terse(text).then_some(Err(ImportError::Terse))
}

/// Whether there is a line of fio's terse output, version 3 to 5.
fn is_terse(text: &str) -> bool {
    let starts = ["3;fio-", "4;fio-", "5;fio-"];
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Reads what fio 3.x wrote with `--output-format=json` or `json+`, messages before it and behind it left aside. Of
/// several documents (`--status-interval`) the last complete one counts: it holds all before it.
///
/// Jobs of one group ran side by side: they are a phase. The clones of a job, where each was reported on its own, become
/// one job; its percentiles are those of the merged bins of JSON+, and are missing without.
///
/// # Errors
/// Where there is no such document, or no job in it.
fn fio_json(text: &str) -> Result<Run, ImportError> {
    let root = document(text)?;
    let version = root.get("fio version").and_then(Value::as_str).map(cut).unwrap_or_default();
    let number = version.strip_prefix("fio-").unwrap_or(&version);
    if ["1.", "2."].iter().any(|old| number.starts_with(old)) {
        return Err(ImportError::OldFio(version));
    }
    let entries = entries(&root)?;
    let mut found = Found {
        tool: format!("fio {number}"),
        name: entries.first().map(|entry| entry.name.clone()).unwrap_or_default(),
        elapsed_s: entries.iter().map(|entry| entry.elapsed_s).fold(0.0, f64::max),
        definition: if entries.iter().all(|entry| entry.is_lat) { LAT } else { CLAT }.to_owned(),
        ..Found::default()
    };
    if let Some(own) = root.get("assay").and_then(|own| own.get("latency")).and_then(Value::as_str) {
        // Assay's own, written as fio's.
        found.definition = cut(own);
        found.tool = number.split_once('-').map_or(number, |(_, rest)| rest).replacen('-', " ", 1);
    }
    note(&entries, &mut found);
    let ended_ms = root
        .get("timestamp_ms")
        .and_then(Value::as_i64)
        .or_else(|| root.get("timestamp").and_then(Value::as_i64).and_then(|s| s.checked_mul(1000)));
    found.started_ms = ended_ms.map(|ms| ms.saturating_sub((found.elapsed_s * 1e3) as i64));
    found.phases = phases(entries, &mut found.targets, &mut found.contradictions);
    if let [(phase, planned)] = found.phases.as_mut_slice() {
        phase.device = device(&root, phase, planned);
        spread_cached_share(phase);
    }
    Ok(assemble(found, text))
}

/// The last complete document of fio in a text.
fn document(text: &str) -> Result<Value, ImportError> {
    let mut last = None;
    let mut error = String::from("there is no document in it");
    let mut at = 0;
    let mut failures = 0;
    // A document starts a line; what fails to be one is stepped over to the next line that could be.
    while let Some(start) = next_brace(text, at).filter(|_| failures < FAILURES_MAX) {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                at = start + stream.byte_offset().max(1);
                if value.get("fio version").is_some() {
                    last = Some(value);
                }
            }
            Some(Err(problem)) => {
                error = problem.to_string();
                failures += 1;
                // The rest of a document that was cut off holds no other: its braces are indented.
                at = start + 1;
            }
            None => break,
        }
    }
    match last {
        Some(value) => Ok(value),
        None if error.contains("line") => Err(ImportError::NotJson(error)),
        None => Err(ImportError::NotFio("it has no member \"fio version\"".to_owned())),
    }
}

/// The first brace at or behind `at` that begins a line.
fn next_brace(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if at == 0 && rest.starts_with('{') {
        return Some(0);
    }
    rest.find("\n{").map(|found| at + found + 1)
}

fn entries(root: &Value) -> Result<Vec<Entry>, ImportError> {
    // A client of several servers lists theirs, and the sum of all.
    let list = root.get("jobs").or_else(|| root.get("client_stats")).and_then(Value::as_array);
    let list = list.ok_or_else(|| ImportError::NotFio("it has no member \"jobs\"".to_owned()))?;
    if list.len() > ENTRIES_MAX {
        return Err(ImportError::TooMany);
    }
    let global = root.get("global options");
    let of_all = |value: &&Value| value.get("jobname").and_then(Value::as_str) != Some("All clients");
    let entries: Vec<Entry> =
        list.iter().filter(of_all).filter_map(|value| Entry::of(value, global)).collect();
    if entries.is_empty() {
        return Err(ImportError::Empty("its list of jobs has none with a result".to_owned()));
    }
    Ok(entries)
}

/// What of the file a reader of the run should know.
fn note(entries: &[Entry], found: &mut Found) {
    let is_lat = entries.iter().filter(|entry| entry.is_lat).count();
    if is_lat > 0 && is_lat < entries.len() {
        let text = "of some jobs only fio's lat is there, which begins before the submitting call".to_owned();
        found.notes.push(("mixed-latencies", text));
    }
    if entries.iter().any(Entry::is_mixed) {
        let text = "fio was asked to report reads and writes as one: they are not told apart".to_owned();
        found.notes.push(("unified-operations", text));
    }
    let mut clones = std::collections::HashMap::new();
    for entry in entries {
        *clones.entry((entry.group, &entry.name)).or_insert(0_u32) += 1;
    }
    let lost = |entry: &Entry| entry.lacks_distribution() && clones[&(entry.group, &entry.name)] > 1;
    if entries.iter().any(lost) {
        let text = "percentiles of jobs whose clones were reported one by one are missing: they cannot be added up; \
                    --output-format=json+ or group_reporting would have them";
        found.notes.push(("percentiles-not-merged", text.to_owned()));
    }
}

/// A phase for each group, in the order of their first entries; clones of a job in one.
fn phases(
    entries: Vec<Entry>,
    targets: &mut Vec<PlannedTarget>,
    contradictions: &mut Vec<(usize, String)>,
) -> Vec<(PhaseResult, Vec<assay_workload::plan::PlannedJob>)> {
    let mut groups: Vec<(u64, Vec<Vec<Entry>>)> = Vec::new();
    let mut group_at = std::collections::HashMap::new();
    let mut job_at = std::collections::HashMap::new();
    for entry in entries {
        let group = *group_at.entry(entry.group).or_insert_with(|| {
            groups.push((entry.group, Vec::new()));
            groups.len() - 1
        });
        let jobs = &mut groups[group].1;
        let job = *job_at.entry((entry.group, entry.name.clone())).or_insert_with(|| {
            jobs.push(Vec::new());
            jobs.len() - 1
        });
        jobs[job].push(entry);
    }
    let mut phases = Vec::new();
    for (group, jobs) in groups {
        let name = match jobs.as_slice() {
            [only] => only[0].name.clone(),
            _ => format!("group {group}"),
        };
        let point = match jobs.as_slice() {
            [only] => only[0].description.clone(),
            _ => String::new(),
        };
        let mut planned = Vec::new();
        let mut results = Vec::new();
        for entry in jobs.iter().flatten() {
            let of_entry = entry.contradictions.iter().map(|text| format!("{}: {text}", entry.name));
            contradictions.extend(of_entry.map(|text| (phases.len(), text)));
        }
        for entries in &jobs {
            if let Some((mut result, plan)) = job_of(entries, targets) {
                result.evidence.plan_jobs = vec![results.len() as u32];
                results.push(result);
                planned.push(plan);
            }
        }
        let phase = PhaseResult {
            name,
            kind: PhaseKind::Measure,
            measured_s: results.iter().map(|job| job.measured_s).fold(0.0, f64::max),
            point: SweepPoint::new(point),
            jobs: results,
            ..PhaseResult::default()
        };
        phases.push((phase, planned));
    }
    phases
}

/// Requests are cut here unless a device was set to more (the kernel's BLK_DEF_MAX_SECTORS_CAP).
const REQUEST_BYTES_MAX: u64 = 1280 << 10;

/// What the buffered reads of a phase had from the page cache at least: what the device cannot have delivered.
fn spread_cached_share(phase: &mut PhaseResult) {
    let Some((asked, read)) =
        phase.device.as_ref().and_then(|d| Some((d.asked_read_bytes, d.device_read_bytes?)))
    else {
        return;
    };
    let share = (1.0 - read as f64 / asked.max(1) as f64).max(0.0);
    for job in phase.jobs.iter_mut().filter(|job| job.read.is_some() && !job.direct && share > 0.0) {
        job.cached_read_share = Some(share);
    }
}

/// What fio says of the devices, which it counts over the whole run: of use where that is one phase.
fn device(root: &Value, phase: &PhaseResult, planned: &[PlannedJob]) -> Option<DeviceTruth> {
    let disks = root.get("disk_util")?.as_array().filter(|disks| !disks.is_empty())?;
    // Below an array or a mapping fio lists what it stands on as well, with `aggr_` values above.
    let names: Vec<String> =
        disks.iter().take(1000).filter_map(|disk| disk.get("name")?.as_str()).map(cut).collect();
    let [disk] = disks.as_slice() else {
        let why = "fio lists several devices, and not which stand on which".to_owned();
        return Some(DeviceTruth { devices: names, unknown_because: Some(why), ..DeviceTruth::default() });
    };
    let count = |name: &str| disk.get(name).and_then(Value::as_u64);
    let asked = |of: fn(&assay_results::run::JobResult) -> Option<u64>| {
        phase.jobs.iter().filter_map(of).fold(0, u64::saturating_add)
    };
    let bytes = |name: &str| count(name).and_then(|sectors| sectors.checked_mul(512));
    // fio 3.33 counts requests only; what they moved at most tells a cache that answered nearly all.
    let at_most = |kind: OpKind, requests: &str, merges: &str| {
        let requests = count(requests)?;
        let random =
            |job: &PlannedJob| job.pattern.mix.share(kind) == 0.0 || job.pattern.placement.is_random();
        // Read ahead is off for random reads; writes back may go out in one request with their neighbours.
        let each = planned.iter().map(|job| job.pattern.sizes(kind).max_bytes()).max().unwrap_or(0);
        let one_each = kind == OpKind::Read && planned.iter().all(random);
        let by_blocks = requests.saturating_add(count(merges)?).saturating_mul(each);
        let by_requests = requests.saturating_mul(REQUEST_BYTES_MAX);
        Some(if one_each && each > 0 { by_requests.min(by_blocks) } else { by_requests })
    };
    let bytes_at_most = count("read_sectors").is_none() && count("write_sectors").is_none();
    Some(DeviceTruth {
        bytes_at_most,
        devices: names,
        asked_read_bytes: asked(|job| job.read.as_ref().map(|op| op.bytes)),
        asked_written_bytes: asked(|job| job.write.as_ref().map(|op| op.bytes)),
        device_reads: count("read_ios"),
        device_writes: count("write_ios"),
        device_read_bytes: bytes("read_sectors").or_else(|| at_most(OpKind::Read, "read_ios", "read_merges")),
        device_written_bytes: bytes("write_sectors")
            .or_else(|| at_most(OpKind::Write, "write_ios", "write_merges")),
        device_busy_share: disk
            .get("util")
            .and_then(Value::as_f64)
            .map(|util| (util / 100.0).clamp(0.0, 1.0)),
        // The queue is over the whole run, set-up and ramps included: no mean for the measured part follows from it.
        unknown_because: Some(
            "fio says neither what the kernel fetched for it nor the depth in the measured part".to_owned(),
        ),
        ..DeviceTruth::default()
    })
}
