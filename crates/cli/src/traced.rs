//! `assay run --trace`: every I/O of a run as CSV, for `assay audit --trace` and whatever else reads it.

use std::path::{Path, PathBuf};

use assay_engine::tracing::Traced;
use assay_runner::{trace_bytes_max, write_trace};
use assay_workload::Plan;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Outputs;

/// I/Os that there is room for in each phase: 320 MB of memory.
pub(crate) const RECORDS_MAX: usize = 8_000_000;

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
