//! What fio reports (`--output-format=json+`), as counts of our own.

use std::collections::BTreeMap;

use assay_results::{JobCounts, JobOutcome, LatencyHistogram, OpCounts};
use assay_workload::pattern::OpKind;
use assay_workload::plan::PlannedJob;
use serde::Deserialize;

use super::options;

#[derive(Debug, Deserialize)]
struct Document {
    jobs: Vec<Report>,
}

/// The one job of a test; with `group_reporting`, all its clones together.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Report {
    /// An errno; 0: none.
    error: i32,
    read: Direction,
    write: Direction,
    sync: Sync,
    /// Milliseconds of all clones together.
    job_runtime: u64,
    /// Percent of `job_runtime`.
    usr_cpu: f64,
    /// Percent of `job_runtime`.
    sys_cpu: f64,
    /// Context switches.
    ctx: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    total_ios: u64,
    /// Milliseconds.
    runtime: u64,
    clat_ns: Distribution,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sync {
    lat_ns: Distribution,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Distribution {
    #[serde(rename = "N")]
    n: u64,
    /// Nanoseconds of a bin (its middle), as text, with the number of values in it.
    bins: BTreeMap<String, u64>,
}

impl Distribution {
    fn histogram(&self) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        let bins = self.bins.iter().filter_map(|(ns, count)| Some((ns.parse().ok()?, *count)));
        bins.for_each(|(ns, count): (u64, u64)| histogram.record_n(ns, count));
        histogram
    }
}

impl Direction {
    fn counts(&self) -> OpCounts {
        OpCounts {
            ios: self.total_ios,
            bytes: self.io_bytes,
            completion: self.clat_ns.histogram(),
            ..OpCounts::default()
        }
    }
}

impl Report {
    /// Reads fio's output, which may begin with lines that are not JSON.
    pub(super) fn parse(output: &[u8]) -> Result<Self, String> {
        let start = output.iter().position(|&byte| byte == b'{').ok_or("no report")?;
        let mut documents = serde_json::Deserializer::from_slice(&output[start..]).into_iter::<Document>();
        let document = documents.next().ok_or("no report")?.map_err(|error| error.to_string())?;
        document.jobs.into_iter().next().ok_or_else(|| "a report without a job".to_owned())
    }

    /// What it counted.
    pub(super) fn counts(&self) -> JobCounts {
        let mut counts = JobCounts::default();
        *counts.op_mut(OpKind::Read) = self.read.counts();
        *counts.op_mut(OpKind::Write) = self.write.counts();
        let flushes = self.sync.lat_ns.histogram();
        // fio's own count of them stays 0 with some engines.
        let ios = self.sync.lat_ns.n;
        counts.ops[3] = OpCounts { ios, completion: flushes, ..OpCounts::default() };
        counts.errors = u64::from(self.error != 0);
        counts
    }

    /// How it ended.
    pub(super) fn outcome(&self, version: &str, job: &PlannedJob) -> JobOutcome {
        let cpu_ns = |percent: f64| (self.job_runtime as f64 * 1e6 * percent / 100.0).round() as u64;
        JobOutcome {
            engine: format!("fio {version}"),
            engine_notes: vec![format!("ioengine {}", options::engine(job.engine, ""))],
            measured_ns: self.read.runtime.max(self.write.runtime) * 1_000_000,
            cpu_user_ns: cpu_ns(self.usr_cpu),
            cpu_system_ns: cpu_ns(self.sys_cpu),
            waits: self.ctx,
            errors_by_kind: self.error().map(|name| (name, 1)).into_iter().collect(),
            ..JobOutcome::default()
        }
    }

    /// Why it failed.
    pub(super) fn error(&self) -> Option<String> {
        (self.error != 0).then(|| std::io::Error::from_raw_os_error(self.error).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"note: something
{ "fio version" : "fio-3.33", "jobs" : [ { "jobname" : "test", "error" : 0,
  "read" : { "io_bytes" : 0, "runtime" : 0, "total_ios" : 0, "clat_ns" : { "N" : 0 } },
  "write" : { "io_bytes" : 49152, "runtime" : 311, "total_ios" : 3,
              "clat_ns" : { "min" : 1217, "N" : 3, "bins" : { "1224" : 1, "23424" : 2 } } },
  "sync" : { "total_ios" : 0, "lat_ns" : { "N" : 2, "bins" : { "296960" : 2 } } },
  "job_runtime" : 600, "usr_cpu" : 10.0, "sys_cpu" : 5.0, "ctx" : 7 } ] }
"#;

    #[test]
    fn counts_histograms_and_cpu_come_through() {
        let report = Report::parse(OUTPUT.as_bytes()).expect("understood");
        let counts = report.counts();
        let write = counts.op(OpKind::Write);
        assert_eq!((write.ios, write.bytes, write.completion.n()), (3, 49_152, 3));
        assert_eq!((counts.ops[3].ios, counts.ops[3].completion.n()), (2, 2));
        assert_eq!(counts.op(OpKind::Read).ios, 0);
        assert!((23_000..24_000).contains(&write.completion.max_ns()), "{}", write.completion.max_ns());
        let prepared = assay_conduct::series::stb::prepare(None, 1, u64::MAX).expect("prepared");
        let plan = super::super::plan(&prepared, "/d", &Default::default(), 1).expect("a plan");
        let outcome = report.outcome("3.33", &plan.phases[3].jobs[0]);
        assert_eq!((outcome.engine.as_str(), outcome.measured_ns), ("fio 3.33", 311_000_000));
        assert_eq!((outcome.cpu_user_ns, outcome.cpu_system_ns), (60_000_000, 30_000_000));
        assert_eq!(outcome.engine_notes, ["ioengine posixaio"]);
    }

    #[test]
    fn a_failed_job_says_why_and_no_output_is_an_error() {
        let failed = OUTPUT.replace("\"error\" : 0", "\"error\" : 28");
        let report = Report::parse(failed.as_bytes()).expect("understood");
        assert!(report.error().is_some_and(|why| why.contains("No space left")), "{report:?}");
        assert_eq!(Report::parse(b"fio: failed").err().as_deref(), Some("no report"));
        assert!(Report::parse(b"{ \"jobs\": [ ] }").is_err());
    }
}
