//! fio's report as its JSON holds it: read from that, whichever program wrote it, and printed otherwise.

use assay_results::foreign::TEXT_BYTES_MAX;
use serde_json::Value;

use super::number::Base;
use crate::import::options::FioOptions;

/// A latency, a bandwidth or a rate of I/Os.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stat {
    pub(super) n: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// Per cent and nanoseconds, ascending.
    pub(super) percentiles: Vec<(f64, u64)>,
    /// Middle and count of the buckets, ascending; only in JSON+.
    pub(super) bins: Vec<(u64, u64)>,
}

/// What a job did in one direction, or in all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Direction {
    /// `read`, `write`, `trim` or `mixed`.
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) runtime_ms: u64,
    pub(super) ios: u64,
    pub(super) short: u64,
    pub(super) dropped: u64,
    pub(super) slat: Stat,
    pub(super) clat: Stat,
    pub(super) lat: Stat,
    /// KiB a second.
    pub(super) bandwidth: Stat,
    /// Of the bandwidth of its group.
    pub(super) percent_of_group: f64,
    pub(super) iops: Stat,
}

impl Direction {
    pub(super) fn bytes_per_s(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    pub(super) fn ios_per_s(&self) -> u64 {
        per_second(self.ios, self.runtime_ms)
    }
}

/// A count in `ms` milliseconds, per second; 0 in no time.
pub(super) fn per_second(count: u64, ms: u64) -> u64 {
    (u128::from(count) * 1000).checked_div(u128::from(ms)).map_or(0, |rate| rate as u64)
}

/// The search for the depth that meets a latency target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Search {
    pub(super) depth: u64,
    pub(super) target: u64,
    pub(super) window: u64,
    pub(super) percentile: f64,
}

/// fio's `steadystate`, in its words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steady {
    /// Such as `iops_slope:0.100000%`.
    pub(super) rule: String,
    pub(super) attained: bool,
    pub(super) criterion: String,
    pub(super) bytes_per_s: u64,
    pub(super) iops: u64,
    pub(super) lat_ns: Option<u64>,
}

/// An entry of `jobs`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) group: u64,
    /// Clones in this entry; 0: not known yet.
    pub(super) clones: u64,
    pub(super) errno: u64,
    /// Reads, writes and trims, or all of them as one.
    pub(super) directions: Vec<Direction>,
    /// The percentiles that are listed, also where nothing was done.
    pub(super) percentiles: Vec<f64>,
    /// Digits behind their points.
    pub(super) percentile_decimals: usize,
    /// Their total beside them (`unified_rw_reporting=both`).
    pub(super) both: Option<Direction>,
    pub(super) syncs: u64,
    pub(super) sync: Stat,
    pub(super) runtime_ms: u64,
    pub(super) user_percent: f64,
    pub(super) system_percent: f64,
    pub(super) switches: u64,
    pub(super) major_faults: u64,
    pub(super) minor_faults: u64,
    pub(super) depths: [f64; 7],
    pub(super) submitted: [f64; 7],
    pub(super) completed: [f64; 7],
    pub(super) latency_ns: [f64; 10],
    pub(super) latency_us: [f64; 10],
    pub(super) latency_ms: [f64; 12],
    /// Errors in all and the first one's number, where some are tolerated.
    pub(super) errors: Option<(u64, u64)>,
    pub(super) search: Option<Search>,
    pub(super) steady: Option<Steady>,
    /// What was to be done, for the head of a report.
    pub(super) head: String,
    /// Clones that were asked for: here, and in entries behind this one.
    pub(super) clones_asked: u64,
}

impl Job {
    pub(super) fn ios(&self) -> u64 {
        self.directions.iter().map(|one| one.ios).fold(0, u64::saturating_add)
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.directions.iter().any(|one| one.name == "mixed")
    }
}

/// An entry of `disk_util`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Disk {
    pub(super) name: String,
    /// Reads and writes.
    pub(super) ios: [u64; 2],
    pub(super) merges: [u64; 2],
    pub(super) ticks: [u64; 2],
    pub(super) in_queue: u64,
    pub(super) busy_percent: f64,
    /// The same of the devices below it, on average; their sectors only where fio says them.
    pub(super) below: Option<Box<Disk>>,
    pub(super) sectors: Option<[u64; 2]>,
}

/// A report of fio.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioReport {
    /// Such as `fio-3.33`.
    pub(super) version: String,
    /// When it was written, as `ctime` says it.
    pub(super) time: String,
    pub(super) jobs: Vec<Job>,
    pub(super) disks: Vec<Disk>,
}

impl FioReport {
    /// Reads fio's JSON or JSON+, that of version 3.33 or of [`fio_json`](crate::fio_json()); `None`: it is neither.
    pub fn read(text: &str) -> Option<FioReport> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let root: Value = serde_json::from_str(text).ok()?;
        let version = root.get("fio version")?.as_str()?.to_owned();
        let jobs = root.get("jobs")?.as_array()?;
        let says_sectors = minor_version(&version) >= SECTORS_SINCE;
        let disks = root.get("disk_util").and_then(Value::as_array);
        let mut jobs: Vec<Job> = jobs.iter().map(|entry| job(entry, root.get("global options"))).collect();
        count_clones(&mut jobs);
        Some(FioReport {
            time: text_of(&root, "time"),
            jobs,
            disks: disks.into_iter().flatten().map(|entry| disk(entry, says_sectors)).collect(),
            version,
        })
    }

    /// Whether fio of this version says which data went by `syncfs`, too.
    pub(super) fn has_syncfs(&self) -> bool {
        minor_version(&self.version) >= SYNCFS_SINCE
    }

    /// Whether fio of this version prints latency targets with their units.
    pub(super) fn scales_targets(&self) -> bool {
        minor_version(&self.version) >= SCALED_TARGETS_SINCE
    }
}

/// Finds out which entries stand for several clones: those that ask for more than have entries. fio's JSON lists no option without
/// a value, `group_reporting` among them.
fn count_clones(jobs: &mut [Job]) {
    let mut at = 0;
    while let Some(first) = jobs.get(at) {
        let asked = usize::try_from(first.clones_asked).unwrap_or(1).max(1);
        let alike = |job: &&Job| {
            (&job.name, job.group, job.clones_asked) == (&first.name, first.group, first.clones_asked)
        };
        let apart = first.clones == 0 && jobs[at..].iter().take(asked).take_while(alike).count() == asked;
        let entries = if apart { asked } else { 1 };
        for job in jobs[at..].iter_mut().take(entries) {
            job.clones = match job.clones {
                0 if apart => 1,
                0 => job.clones_asked.max(1),
                known => known,
            };
        }
        at += entries;
    }
}

/// fio 3.N prints the sectors of disks from here on.
const SECTORS_SINCE: u32 = 36;
/// Its flushes can be `syncfs` from here on.
const SYNCFS_SINCE: u32 = 42;
/// Its latency target has a unit from here on.
const SCALED_TARGETS_SINCE: u32 = 42;

/// The N of `fio-3.N`.
fn minor_version(version: &str) -> u32 {
    let number = version.strip_prefix("fio-3.").unwrap_or_default();
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn unsigned(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn float(value: &Value, name: &str) -> f64 {
    value.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The numbers of an object, in the order of its columns.
fn table<const N: usize>(entry: &Value, name: &str, columns: [&str; N]) -> [f64; N] {
    let table = entry.get(name);
    columns.map(|column| table.map_or(0.0, |table| float(table, column)))
}

fn job(entry: &Value, global: Option<&Value>) -> Job {
    let own = entry.get("job options");
    let options = FioOptions::of(global, own);
    let summed = entry.get("assay").map(|own| unsigned(own, "clones"));
    let named = |name: &'static str| entry.get(name).map(|value| direction(value, name));
    let mixed = named("mixed");
    let apart: Vec<Direction> = ["read", "write", "trim"].into_iter().filter_map(named).collect();
    let (directions, both) =
        if apart.is_empty() { (mixed.into_iter().collect(), None) } else { (apart, mixed) };
    let sync = entry.get("sync");
    let levels = ["1", "2", "4", "8", "16", "32", ">=64"];
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let times = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
    let long = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
    Job {
        name: text_of(entry, "jobname"),
        description: text_of(entry, "desc"),
        group: unsigned(entry, "groupid"),
        clones: summed.unwrap_or(0),
        errno: unsigned(entry, "error"),
        percentiles: listed(&directions).unwrap_or_else(|| options.percentiles()),
        directions,
        both,
        syncs: sync.map_or(0, |sync| unsigned(sync, "total_ios")),
        sync: sync.map_or_else(Stat::default, |sync| latency(sync, "lat_ns")),
        runtime_ms: unsigned(entry, "job_runtime"),
        user_percent: float(entry, "usr_cpu"),
        system_percent: float(entry, "sys_cpu"),
        switches: unsigned(entry, "ctx"),
        major_faults: unsigned(entry, "majf"),
        minor_faults: unsigned(entry, "minf"),
        depths: table(entry, "iodepth_level", levels),
        submitted: table(entry, "iodepth_submit", batches),
        completed: table(entry, "iodepth_complete", batches),
        latency_ns: table(entry, "latency_ns", times),
        latency_us: table(entry, "latency_us", times),
        latency_ms: table(entry, "latency_ms", long),
        errors: entry
            .get("total_err")
            .map(|_| (unsigned(entry, "total_err"), unsigned(entry, "first_error"))),
        search: entry.get("latency_depth").map(|_| Search {
            depth: unsigned(entry, "latency_depth"),
            target: unsigned(entry, "latency_target"),
            window: unsigned(entry, "latency_window"),
            percentile: float(entry, "latency_percentile"),
        }),
        steady: entry.get("steadystate").map(steady),
        head: options.head(),
        clones_asked: options.clones(),
        percentile_decimals: options.percentile_decimals(),
    }
}

/// The percentiles that some direction lists.
fn listed(directions: &[Direction]) -> Option<Vec<f64>> {
    let mut all = directions.iter().flat_map(|one| [&one.lat, &one.clat]);
    let found = all.find(|stat| !stat.percentiles.is_empty())?;
    Some(found.percentiles.iter().map(|entry| entry.0).collect())
}

fn direction(value: &Value, name: &'static str) -> Direction {
    Direction {
        name,
        bytes: unsigned(value, "io_bytes"),
        runtime_ms: unsigned(value, "runtime"),
        ios: unsigned(value, "total_ios"),
        short: unsigned(value, "short_ios"),
        dropped: unsigned(value, "drop_ios"),
        slat: latency(value, "slat_ns"),
        clat: latency(value, "clat_ns"),
        lat: latency(value, "lat_ns"),
        bandwidth: spread(value, ["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"]),
        percent_of_group: float(value, "bw_agg"),
        iops: spread(value, ["iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"]),
    }
}

fn spread(value: &Value, [min, max, mean, deviation, n]: [&str; 5]) -> Stat {
    Stat {
        n: unsigned(value, n),
        min: unsigned(value, min),
        max: unsigned(value, max),
        mean: float(value, mean),
        deviation: float(value, deviation),
        ..Stat::default()
    }
}

fn latency(value: &Value, name: &str) -> Stat {
    let Some(value) = value.get(name) else { return Stat::default() };
    Stat {
        percentiles: pairs(value, "percentile"),
        bins: pairs(value, "bins"),
        ..spread(value, ["min", "max", "mean", "stddev", "N"])
    }
}

/// Members of an object whose names are numbers, ascending.
fn pairs<T: std::str::FromStr + PartialOrd>(value: &Value, name: &str) -> Vec<(T, u64)> {
    let members = value.get(name).and_then(Value::as_object).into_iter().flatten();
    let mut pairs: Vec<(T, u64)> =
        members.filter_map(|(name, value)| Some((name.parse().ok()?, value.as_u64()?))).collect();
    pairs.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
    pairs
}

fn steady(value: &Value) -> Steady {
    let data = value.get("data").unwrap_or(&Value::Null);
    Steady {
        rule: text_of(value, "ss"),
        attained: unsigned(value, "attained") > 0,
        criterion: text_of(value, "criterion"),
        bytes_per_s: unsigned(data, "bw_mean"),
        iops: unsigned(data, "iops_mean"),
        lat_ns: data.get("lat_mean").and_then(Value::as_u64),
    }
}

fn disk(value: &Value, says_sectors: bool) -> Disk {
    let of = |prefix: &str, write_merges: &str| {
        let both =
            |name: &str| ["read", "write"].map(|side| unsigned(value, &format!("{prefix}{side}_{name}")));
        Disk {
            ios: both("ios"),
            merges: [unsigned(value, &format!("{prefix}read_merges")), unsigned(value, write_merges)],
            ticks: both("ticks"),
            in_queue: unsigned(value, &format!("{prefix}in_queue")),
            busy_percent: float(value, &format!("{prefix}util")),
            sectors: says_sectors.then(|| both("sectors")),
            ..Disk::default()
        }
    };
    // fio spells it so.
    let below = value.get("aggr_read_ios").map(|_| Box::new(of("aggr_", "aggr_write_merge")));
    Disk { name: text_of(value, "name"), below, ..of("", "write_merges") }
}

/// The base of sizes: fio's `kb_base` is not in its JSON, and is 1024 unless asked for otherwise.
pub(super) const BYTES: Base = Base::Binary;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_a_number() {
        for (text, number) in
            [("fio-3.33", 33), ("fio-3.42-135-gf534", 42), ("fio-3.33-assay-0.1", 33), ("x", 0)]
        {
            assert_eq!(minor_version(text), number, "{text}");
        }
    }

    #[test]
    fn what_is_not_of_fio_is_not_read() {
        for text in ["", "{}", "[1]", "{\"fio version\": \"fio-3.33\"}", "{\"fio version\": 3, \"jobs\": []}"]
        {
            assert_eq!(FioReport::read(text), None, "{text}");
        }
        let empty = FioReport::read("{\"fio version\": \"fio-3.33\", \"jobs\": [1, {\"read\": 2}]}");
        assert_eq!(empty.map(|report| report.jobs.len()), Some(2));
    }
}
