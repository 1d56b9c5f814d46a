//! `assay run --trace`: every I/O of a run as CSV, for `assay audit --trace` and whatever else reads it.

use std::path::{Path, PathBuf};

use assay_engine::tracing::{TraceRecord, Traced, Tracing};
use assay_fio::LoggedIo;
use assay_runner::{trace_bytes_max, write_trace};
use assay_workload::Plan;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Outputs;

/// I/Os that there is room for in each phase: 320 MB of memory.
const RECORDS_MAX: usize = 8_000_000;

/// Which I/Os are written down: all for a trace, and those of jobs that log each I/O by itself. `timed` are the jobs that report
/// percentiles of submission.
pub(crate) fn tracing(
    is_traced: bool,
    logged: Vec<(usize, usize)>,
    mut timed: Vec<(usize, usize)>,
) -> Option<Tracing> {
    timed.extend(&logged);
    let jobs = (!is_traced).then_some(logged);
    (is_traced || !timed.is_empty()).then_some(Tracing { records_max: RECORDS_MAX, timed, jobs })
}

/// What was traced, for logs of single I/Os.
pub(crate) fn logged(traced: &Traced, context: &Context) -> Vec<LoggedIo> {
    if traced.dropped > 0 {
        let (kept, more) = (traced.records.len(), traced.dropped);
        context.warn(&format!(
            "logs of single I/Os have {kept} lines; there was no room for {more} more (log_avg_msec=1000)"
        ));
    }
    let of_record = |record: &TraceRecord| LoggedIo {
        phase: u32::from(record.phase),
        job: u32::from(record.job),
        target: record.target,
        kind: record.kind,
        len_bytes: record.len_bytes,
        offset_bytes: record.offset_bytes,
        at_ns: record.at_ns,
        submit_ns: record.submit_ns,
        latency_ns: (record.latency_ns < u64::MAX).then_some(record.latency_ns),
    };
    traced.records.iter().map(of_record).collect()
}

/// A trace being taken.
pub(crate) struct RunTrace {
    path: PathBuf,
    force: bool,
}

impl RunTrace {
    /// What it is, where it is written, and how long it gets at most.
    pub(crate) fn largest(&self, plan: &Plan) -> (&'static str, &Path, u64) {
        ("the trace", &self.path, trace_bytes_max(plan, RECORDS_MAX))
    }

    /// To be written to `path`, if one is named.
    pub(crate) fn to(path: Option<&Path>, force: bool) -> Option<RunTrace> {
        path.map(|path| RunTrace { path: path.to_owned(), force })
    }

    /// Writes what was traced.
    pub(crate) fn write(&self, traced: &Traced, plan: &Plan, context: &Context) -> Result<(), Failure> {
        let targets = plan.targets.iter().map(|target| &target.path);
        let outputs = Outputs::new(self.force).reading(targets);
        outputs.stream("--trace", &self.path, |out| write_trace(&traced.records, plan, out))?;
        let count = assay_report::format::count(traced.records.len() as u64);
        context.say(&format!("a trace of {count} I/Os is in {}", self.path.display()));
        if traced.dropped > 0 {
            let more = assay_report::format::count(traced.dropped);
            context.say(&format!("there was no room for {more} more: the trace ends before the run does"));
        }
        Ok(())
    }
}
