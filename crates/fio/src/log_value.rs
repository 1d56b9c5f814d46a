//! What a log of fio has in its lines, and what its file is called.

/// The value in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogValue {
    /// KiB a second.
    Bandwidth,
    /// Operations a second.
    Iops,
    /// Mean completion latency, nanoseconds.
    Lat,
    /// The same.
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

/// A name without what separates directories, and not empty.
pub(crate) fn file_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if matches!(c, '/' | '\\') || c.is_control() { '_' } else { c }).collect();
    match clean.as_str() {
        "" | "." | ".." => format!("job{clean}"),
        _ => clean,
    }
}
