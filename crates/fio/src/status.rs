//! What a running fio reports (`--output-format=json+`): totals since the job began, of which the differences are
//! intervals.

use std::collections::BTreeMap;

use crate::bins::from_fio_bin;
use assay_results::histogram::{BUCKETS, bucket_low_ns};
use assay_results::{JobCounts, LatencyHistogram, OpCounts};
use serde::Deserialize;

/// One report: an entry for each job, in the order of the job file.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// The jobs.
    pub jobs: Vec<Entry>,
}

/// The totals of one job; with `group_reporting`, of all its clones together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// An errno; 0: none.
    pub error: i32,
    /// Errors that were tolerated.
    total_err: u64,
    read: Direction,
    write: Direction,
    trim: Direction,
    sync: Sync,
    /// Milliseconds of all clones together.
    job_runtime: u64,
    /// Per cent of `job_runtime`.
    usr_cpu: f64,
    /// Per cent of `job_runtime`.
    sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    total_ios: u64,
    /// Milliseconds, behind the ramp.
    runtime: u64,
    slat_ns: Latency,
    clat_ns: Latency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sync {
    lat_ns: Latency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Latency {
    #[serde(rename = "N")]
    n: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// Middle of the bin in nanoseconds, and count.
    bins: BTreeMap<u64, u64>,
}

impl Entry {
    /// Whether the job is in its ramp: I/Os are counted and no latency is kept.
    pub fn in_ramp(&self) -> bool {
        let ios = self.directions().iter().map(|direction| direction.total_ios).sum::<u64>();
        ios > 0 && self.directions().iter().all(|direction| direction.clat_ns.n == 0)
    }

    /// Length of the measured part so far, nanoseconds.
    pub fn measured_ns(&self) -> u64 {
        self.directions().iter().map(|direction| direction.runtime).max().unwrap_or(0) * 1_000_000
    }

    /// User and system CPU of the job's threads, nanoseconds, as fio counts them.
    pub fn cpu_ns(&self) -> (u64, u64) {
        let of = |percent: f64| (self.job_runtime as f64 * 1e6 * percent.max(0.0) / 100.0).round() as u64;
        (of(self.usr_cpu), of(self.sys_cpu))
    }

    /// Operations that failed.
    pub fn errors(&self) -> u64 {
        self.total_err.max(u64::from(self.error != 0))
    }

    fn directions(&self) -> [&Direction; 3] {
        [&self.read, &self.write, &self.trim]
    }
}

/// What has been passed on of a job: each value at its highest.
#[derive(Debug, Default)]
pub struct Reported {
    ops: [ReportedOp; 4],
    errors: u64,
}

#[derive(Debug, Default)]
struct ReportedOp {
    ios: u64,
    bytes: u64,
    completion: ReportedLatency,
    submit: ReportedLatency,
}

#[derive(Debug, Default)]
struct ReportedLatency {
    sum_ns: f64,
    bins: BTreeMap<u64, u64>,
}

impl Reported {
    /// What is new in `entry`, and takes note of it.
    pub fn advance(&mut self, entry: &Entry) -> JobCounts {
        let mut counts = JobCounts::default();
        let mut busy_ns = 0.0;
        for (index, direction) in entry.directions().into_iter().enumerate() {
            let op = &mut self.ops[index];
            let before_ns = op.completion.sum_ns;
            counts.ops[index] = OpCounts {
                ios: rise(&mut op.ios, direction.total_ios),
                bytes: rise(&mut op.bytes, direction.io_bytes),
                completion: op.completion.advance(&direction.clat_ns),
                submit: op.submit.advance(&direction.slat_ns),
                ..OpCounts::default()
            };
            busy_ns += op.completion.sum_ns - before_ns;
        }
        let flush = &mut self.ops[3];
        // fio's own count of them stays 0 with some engines; that of their latencies does not.
        counts.ops[3] = OpCounts {
            ios: rise(&mut flush.ios, entry.sync.lat_ns.n),
            completion: flush.completion.advance(&entry.sync.lat_ns),
            ..OpCounts::default()
        };
        counts.errors = rise(&mut self.errors, entry.errors());
        counts.busy_slot_ns = busy_ns.max(0.0) as u64;
        counts
    }
}

/// By how much a total has risen.
fn rise(seen: &mut u64, now: u64) -> u64 {
    let new = now.saturating_sub(*seen);
    *seen = (*seen).max(now);
    new
}

impl ReportedLatency {
    /// The values that are new. Their sum is exact, and so is the extreme one where it is among them.
    fn advance(&mut self, latency: &Latency) -> LatencyHistogram {
        let mut counts = vec![0_u32; BUCKETS];
        let mut new = 0;
        for (middle_ns, total) in &latency.bins {
            let count = rise(self.bins.entry(*middle_ns).or_default(), *total);
            for (bucket, part) in from_fio_bin(*middle_ns, count) {
                counts[bucket] = counts[bucket].saturating_add(u32::try_from(part).unwrap_or(u32::MAX));
            }
            new += count;
        }
        let mut histogram = LatencyHistogram::new();
        if new == 0 {
            return histogram;
        }
        let occupied = |bucket: &usize| counts[*bucket] > 0;
        let lowest = (0..BUCKETS).find(occupied).map_or(0, bucket_low_ns);
        let highest = (0..BUCKETS).rev().find(occupied).map_or(0, |bucket| bucket_low_ns(bucket + 1) - 1);
        let total_ns = latency.mean * latency.n as f64;
        let sum_ns = (total_ns - self.sum_ns).max(lowest as f64 * new as f64) as u64;
        self.sum_ns = total_ns.max(self.sum_ns);
        let max_ns = highest.min(latency.max.max(lowest));
        histogram.absorb(&mut counts, sum_ns, lowest.max(latency.min).min(max_ns), max_ns);
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::pattern::OpKind;

    fn report(ios: u64, bins: &str, mean: f64, n: u64) -> Entry {
        let text = format!(
            r#"{{ "fio version": "fio-3.33", "jobs": [ {{ "jobname": "j", "error": 0,
            "read": {{ "io_bytes": {}, "total_ios": {ios}, "runtime": 1000,
                "clat_ns": {{ "min": 1217, "max": 23500, "mean": {mean}, "N": {n}, "bins": {{ {bins} }} }} }},
            "sync": {{ "total_ios": 0, "lat_ns": {{ "N": 2, "mean": 296960, "min": 1, "max": 300000,
                "bins": {{ "296960": 2 }} }} }},
            "job_runtime": 600, "usr_cpu": 10.0, "sys_cpu": 5.0, "ctx": 7 }} ] }}"#,
            ios * 4096
        );
        let report: Report = serde_json::from_str(&text).expect("a report");
        report.jobs.into_iter().next().expect("an entry")
    }

    #[test]
    fn differences_add_up_to_the_last_report() {
        let mut seen = Reported::default();
        let first = seen.advance(&report(3, r#""1224": 1, "23424": 2"#, 16_000.0, 3));
        let second = seen.advance(&report(8, r#""1224": 4, "2032": 2, "23424": 2"#, 7000.0, 8));
        let third = seen.advance(&report(8, r#""1224": 4, "2032": 2, "23424": 2"#, 7000.0, 8));
        let op = |counts: &JobCounts| counts.op(OpKind::Read).clone();
        assert_eq!((op(&first).ios, op(&second).ios, op(&third).ios), (3, 5, 0));
        assert_eq!((op(&second).bytes, op(&second).completion.n()), (5 * 4096, 5));
        assert_eq!((first.ops[3].ios, second.ops[3].ios), (2, 0));
        let mut all = op(&first).completion;
        all.merge(&op(&second).completion);
        assert_eq!((all.n(), all.min_ns(), all.max_ns()), (8, 1217, 23_500));
        assert!((all.mean_ns() - 7000.0).abs() < 1.0, "{}", all.mean_ns());
        assert!((23_000..23_501).contains(&op(&first).completion.max_ns()));
        assert!(op(&second).completion.max_ns() < 2100, "the slow ones came before");
        assert!((first.busy_slot_ns + second.busy_slot_ns).abs_diff(56_000) < 3);
    }

    #[test]
    fn a_total_that_falls_back_counts_nothing_twice() {
        let mut seen = Reported::default();
        seen.advance(&report(8, r#""1224": 8"#, 1220.0, 8));
        assert_eq!(seen.advance(&report(7, r#""1224": 7"#, 1220.0, 7)).data_ios(), 0);
        assert_eq!(seen.advance(&report(9, r#""1224": 9"#, 1220.0, 9)).data_ios(), 1);
    }

    #[test]
    fn a_ramp_is_known_by_its_lack_of_latencies() {
        assert!(report(5, "", 0.0, 0).in_ramp());
        assert!(!report(0, "", 0.0, 0).in_ramp());
        assert!(!report(5, r#""1224": 5"#, 1220.0, 5).in_ramp());
        assert_eq!(report(5, "", 0.0, 0).cpu_ns(), (60_000_000, 30_000_000));
        assert_eq!(report(5, "", 0.0, 0).measured_ns(), 1_000_000_000);
    }
}
