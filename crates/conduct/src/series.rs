//! The built-in series of `assay quick`.

use assay_workload::Workload;
use assay_workload::units::Bytes;

pub mod assay1;
pub mod stb;

/// The directory that is made for its files where it is told to measure.
pub const WORK_DIR: &str = "assay-quick";

/// One built-in series.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// The word for `--series`.
    pub id: &'static str,
    /// One line.
    pub summary: &'static str,
    /// A paragraph: what it measures, what it is for, what it does not claim.
    pub about: &'static str,
    /// Names of its tests, in order.
    pub tests: fn() -> Vec<&'static str>,
}

/// All of them; the first is the default.
pub const ALL: [Series; 2] = [
    Series {
        id: assay1::ID,
        summary: "how fast this storage really is: 14 cells, 5 windows each, in random order (default)",
        about: "Durable single writes; 4 KiB and 16 KiB random reads, writes and 70/30 mixes at 1 and 32 outstanding; \
                sequential reads and writes of 128 KiB and 1 MiB. Direct where the file system can, durable where it \
                says so, on files prefilled with random data. Each cell is measured in five short windows spread \
                over the run; medians with an interval. It claims no steady state.",
        tests: assay1::tests,
    },
    Series {
        id: stb::ID,
        summary: "the 26 tests of storage-tuner-benchmark 2.1, comparable with its published HDD figures",
        about: "Exactly the published names, order, file layout, engines and parameters: buffered, 5 seconds each, \
                992 MiB of files. Reads are often served from memory; where they were, the row says so. The HDD \
                figures it compares with were recorded with write cache on and nobarrier: they are not durable.",
        tests: stb::tests,
    },
];

/// The series of that id.
pub fn by_id(id: &str) -> Option<&'static Series> {
    ALL.iter().find(|series| series.id == id)
}

/// Why a series cannot be made for this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// No test of that name.
    #[error("series {series} has no test '{name}'")]
    UnknownTest {
        /// The series.
        series: &'static str,
        /// What was asked for.
        name: String,
    },
    /// Too little space.
    #[error("{needed} are needed and only {available} are free")]
    NoSpace {
        /// For the files.
        needed: Bytes,
        /// What may be used.
        available: Bytes,
    },
}

/// A workload with what a person should know before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The workload; target paths are relative to the working directory.
    pub workload: Workload,
    /// Bytes of files it needs.
    pub files: Bytes,
    /// Bytes it is expected to write in all, as far as that is bounded by its definition.
    pub fixed_writes: Bytes,
    /// How long it is expected to take, seconds.
    pub expected_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_its_tests() {
        let assay1 = &ALL[0];
        assert!(assay1.summary.contains(&format!("{} cells", (assay1.tests)().len())), "{}", assay1.summary);
    }
}
