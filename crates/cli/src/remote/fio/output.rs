//! What the fio of another machine writes at its end, as the outcome and the counts of a job.

use assay_fio::status::{Entry, Report, Reported};
use assay_results::{JobCounts, JobOutcome};
use assay_workload::plan::PlannedJob;

use super::options;

/// What one fio reported of its one job, all clones together.
#[derive(Debug)]
pub(super) struct Done(Entry);

impl Done {
    /// Reads fio's output, which may begin with lines that are not JSON.
    pub(super) fn parse(output: &[u8]) -> Result<Self, String> {
        let start = output.iter().position(|&byte| byte == b'{').ok_or("no report")?;
        let mut reports = serde_json::Deserializer::from_slice(&output[start..]).into_iter::<Report>();
        let report = reports.next().ok_or("no report")?.map_err(|error| error.to_string())?;
        report.jobs.into_iter().next().map(Done).ok_or_else(|| "a report without a job".to_owned())
    }

    /// What it counted.
    pub(super) fn counts(&self) -> JobCounts {
        Reported::default().advance(&self.0)
    }

    /// How it ended.
    pub(super) fn outcome(&self, version: &str, job: &PlannedJob, system: &str) -> JobOutcome {
        let (cpu_user_ns, cpu_system_ns) = self.0.cpu_ns();
        JobOutcome {
            engine: format!("fio {version}"),
            engine_notes: vec![format!("ioengine {}", options::engine(job.engine, system))],
            measured_ns: self.0.measured_ns(),
            cpu_user_ns,
            cpu_system_ns,
            waits: self.0.ctx,
            errors_by_kind: self.error(system).map(|name| (name, 1)).into_iter().collect(),
            ..JobOutcome::default()
        }
    }

    /// Why it failed. Numbers of errors mean the same there only where the system is the same.
    pub(super) fn error(&self, system: &str) -> Option<String> {
        match (self.0.error, system) {
            (0, _) => None,
            (number, "Linux") => Some(std::io::Error::from_raw_os_error(number).to_string()),
            (number, _) => Some(format!("errno {number} of {system}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_workload::pattern::OpKind;

    use super::*;

    const OUTPUT: &str = r#"note: something
{ "fio version" : "fio-3.33", "jobs" : [ { "jobname" : "test", "error" : 0,
  "read" : { "io_bytes" : 0, "runtime" : 0, "total_ios" : 0, "clat_ns" : { "N" : 0 } },
  "write" : { "io_bytes" : 49152, "runtime" : 311, "total_ios" : 3,
              "clat_ns" : { "min" : 1217, "max" : 23500, "mean" : 16024.0, "N" : 3,
                            "bins" : { "1224" : 1, "23424" : 2 } } },
  "sync" : { "total_ios" : 0, "lat_ns" : { "N" : 2, "bins" : { "296960" : 2 } } },
  "job_runtime" : 600, "usr_cpu" : 10.0, "sys_cpu" : 5.0, "ctx" : 7 } ] }
"#;

    #[test]
    fn counts_histograms_and_cpu_come_through() {
        let done = Done::parse(OUTPUT.as_bytes()).expect("understood");
        let counts = done.counts();
        let write = counts.op(OpKind::Write);
        assert_eq!((write.ios, write.bytes, write.completion.n()), (3, 49_152, 3));
        assert_eq!((counts.ops[3].ios, counts.ops[3].completion.n()), (2, 2));
        let prepared = assay_conduct::series::stb::prepare(None, 1, u64::MAX).expect("prepared");
        let plan = super::super::plan(&prepared, "/d", &Default::default(), 1).expect("a plan");
        let outcome = done.outcome("3.33", &plan.phases[3].jobs[0], "Linux");
        assert_eq!((outcome.engine.as_str(), outcome.measured_ns), ("fio 3.33", 311_000_000));
        assert_eq!((outcome.cpu_user_ns, outcome.cpu_system_ns), (60_000_000, 30_000_000));
        assert_eq!(outcome.engine_notes, ["ioengine posixaio"]);
    }

    #[test]
    fn a_failed_job_says_why_and_no_output_is_an_error() {
        let failed = OUTPUT.replace("\"error\" : 0", "\"error\" : 28");
        let done = Done::parse(failed.as_bytes()).expect("understood");
        assert!(done.error("Linux").is_some_and(|why| why.contains("No space left")), "{done:?}");
        assert_eq!(done.error("SunOS").as_deref(), Some("errno 28 of SunOS"));
        assert_eq!(Done::parse(b"fio: failed").err().as_deref(), Some("no report"));
        assert!(Done::parse(b"{ \"jobs\": [ ] }").is_err());
    }
}
