//! What a log of fio has in its lines, and what its file is called.

use assay_workload::job::EngineKind;
use assay_workload::plan::PlannedJob;

/// The value in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogValue {
    /// KiB a second.
    Bandwidth,
    /// Operations a second.
    Iops,
    /// Mean latency from before the submitting call to completion, nanoseconds.
    Lat,
    /// The same from the return of that call, where it is timed.
    Clat,
    /// Mean time of a submitting call, nanoseconds.
    Slat,
    /// Counts of all of fio's latency buckets.
    Histogram,
}

impl LogValue {
    /// Its word in the name of a file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            LogValue::Bandwidth => "bw",
            LogValue::Iops => "iops",
            LogValue::Lat => "lat",
            LogValue::Clat => "clat",
            LogValue::Slat => "slat",
            LogValue::Histogram => "clat_hist",
        }
    }
}

/// Whether submitting an I/O is a time of its own, as fio has it: not where the engine waits for each.
pub(crate) fn submits(job: &PlannedJob) -> bool {
    job.engine.kind().is_some_and(|engine| match engine {
        EngineKind::Null => job.outstanding_per_thread > 1,
        engine => engine.is_asynchronous(),
    })
}

/// A name without what separates directories, and not empty.
pub(crate) fn file_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if matches!(c, '/' | '\\') || c.is_control() { '_' } else { c }).collect();
    match clean.as_str() {
        "" | "." | ".." => format!("job{clean}"),
        _ => clean,
    }
}
