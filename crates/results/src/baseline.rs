//! Named reference figures of a series of tests, with where they come from.
//!
//! A baseline belongs to a series: "so many per cent of it" means something only for the same tests. Saved ones are
//! files `NAME.json` in a directory that the caller names; built-in ones cannot be replaced.

mod builtin;
mod files;

use assay_workload::empty_as_none;
use serde::{Deserialize, Serialize};

use crate::compare::{Repetition, tests_of_run};
use crate::environment::TargetEnvironment;
use crate::histogram::LatencyHistogram;
use crate::run::{JobResult, LatencySummary, Run, Verdict};
use crate::stats;

pub use builtin::builtins;
pub use files::{BaselineError, list, rm, save, show};

/// The schema of a stored baseline.
pub const SCHEMA: &str = "assay.baseline/1";

/// Where figures come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Provenance {
    /// The device: model, size, how attached.
    pub device: String,
    /// File system and mount options.
    pub file_system: String,
    /// Kernel release.
    pub kernel: String,
    /// Start of the measurement in UTC, or what is known of its date.
    pub date: String,
    /// What measured: the program with its version, and whom to credit.
    pub source: String,
    /// The run they were taken from; `None`, in JSON an empty string: none of ours.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub run_id: Option<String>,
    /// Whether that run could be believed; `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// One test's reference figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BaselineTest {
    /// Its name in the series.
    pub name: String,
    /// Operations per second: the median of the repetitions.
    pub iops: f64,
    /// Each repetition's operations per second.
    pub iops_runs: Vec<f64>,
    /// Bytes per second, where known.
    pub bytes_per_s: Option<f64>,
    /// Block size in bytes, where known.
    pub block_size: Option<u64>,
    /// Total outstanding I/Os, where known.
    pub outstanding_io: Option<u64>,
    /// Median completion latency in nanoseconds, all repetitions together, where known.
    pub completion_p50_ns: Option<u64>,
    /// 99th percentile of completion latency in nanoseconds, likewise.
    pub completion_p99_ns: Option<u64>,
    /// Whether the figure could be believed; `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Reference figures of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Baseline {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The series whose tests it has figures for; in JSON an empty string where there is none.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub series: Option<String>,
    /// Where they come from.
    pub provenance: Provenance,
    /// What must be said wherever a figure is compared with one of these.
    pub footnotes: Vec<String>,
    /// In the order of the series.
    pub tests: Vec<BaselineTest>,
}

/// One test of a run beside the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineLine {
    /// The test's name.
    pub test: String,
    /// The run's operations per second: the median of its repetitions.
    pub iops: f64,
    /// The baseline's; `None`: it lacks this test.
    pub baseline_iops: Option<f64>,
    /// See [`percent_of`].
    pub percent: Option<u64>,
}

/// Why a run cannot be held against a baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("baseline '{baseline}' is of {}, the run is of {}", named(theirs), named(ours))]
pub struct OtherSeries {
    /// The baseline's name.
    pub baseline: String,
    /// Its series.
    pub theirs: Option<String>,
    /// The run's series.
    pub ours: Option<String>,
}

fn named(series: &Option<String>) -> String {
    series.as_ref().map_or_else(|| "no series".to_owned(), |series| format!("series '{series}'"))
}

/// `value` in per cent of `baseline`: both cut to whole numbers, and the quotient cut too, as
/// storage-tuner-benchmark does. `None` for a baseline below 1.
pub fn percent_of(value: f64, baseline: f64) -> Option<u64> {
    // A negative or undefined figure becomes 0.
    let (value, baseline) = (value as u64, baseline as u64);
    value.checked_mul(100)?.checked_div(baseline)
}

impl Baseline {
    /// The figures of a run as a baseline called `name`. Phases other than measuring ones are left out; repetitions of
    /// one phase are one test.
    pub fn of_run(name: &str, run: &Run) -> Self {
        let target = run.environment.targets.first();
        Baseline {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            series: run.plan.series.clone(),
            provenance: Provenance {
                device: target.map(device_words).unwrap_or_default(),
                file_system: target.map(file_system_words).unwrap_or_default(),
                kernel: run.environment.machine.kernel_release.clone().unwrap_or_default(),
                date: run.started.clone(),
                source: format!("Assay {}", run.assay.version),
                run_id: Some(run.id.clone()),
                verdict: Some(run.verdict),
            },
            footnotes: Vec::new(),
            tests: tests_of_run(run).into_iter().map(|(name, test)| baseline_test(name, &test)).collect(),
        }
    }

    /// Whether its figures could be believed, as its run was judged; of one that was saved before that was kept, the worst of its tests.
    /// `None`: not known.
    pub fn verdict(&self) -> Option<Verdict> {
        self.provenance.verdict.or_else(|| self.tests.iter().filter_map(|test| test.verdict).max())
    }

    /// The tests whose figures are doubtful, as a sentence; `None`: none is.
    pub fn doubts(&self) -> Option<String> {
        let doubtful: Vec<String> = self
            .tests
            .iter()
            .filter_map(|test| Some((test, test.verdict.filter(|verdict| *verdict != Verdict::Valid)?)))
            .map(|(test, verdict)| format!("{} ({})", test.name, verdict.word()))
            .collect();
        let of = self.tests.len();
        (!doubtful.is_empty()).then(|| {
            format!(
                "{} of {of} figures were not valid when they were saved: {}",
                doubtful.len(),
                doubtful.join("; ")
            )
        })
    }

    /// The figures of one test.
    pub fn test(&self, name: &str) -> Option<&BaselineTest> {
        self.tests.iter().find(|test| test.name == name)
    }

    /// Each test of a run beside this baseline's figure.
    ///
    /// # Errors
    /// When they are of different series.
    pub fn against(&self, run: &Run) -> Result<Vec<BaselineLine>, OtherSeries> {
        if self.series != run.plan.series {
            return Err(OtherSeries {
                baseline: self.name.clone(),
                theirs: self.series.clone(),
                ours: run.plan.series.clone(),
            });
        }
        let lines = tests_of_run(run).into_iter().map(|(test, repetitions)| {
            let iops = baseline_test(test.clone(), &repetitions).iops;
            let baseline_iops = self.test(&test).map(|test| test.iops);
            let percent = baseline_iops.and_then(|baseline| percent_of(iops, baseline));
            BaselineLine { test, iops, baseline_iops, percent }
        });
        Ok(lines.collect())
    }
}

/// Why a run is no reference unless somebody insists; `None`: it may be one.
pub fn unfit(run: &Run) -> Option<String> {
    let why = match run.verdict {
        Verdict::Valid | Verdict::Suspect => return None,
        Verdict::Invalid => "a finding says that its figures do not mean what they seem to",
        Verdict::Incomplete => "it did not come to its end",
    };
    Some(format!("run {} is {}: {why}", run.id, run.verdict.word()))
}

/// There is at least one repetition.
fn baseline_test(name: String, repetitions: &[Repetition<'_>]) -> BaselineTest {
    let jobs: Vec<&JobResult> = repetitions.iter().map(|repetition| repetition.job).collect();
    let row = repetitions.first().and_then(|first| first.run.row(first.phase, first.job));
    let median = |value: &dyn Fn(&JobResult) -> f64| {
        let values: Vec<f64> = jobs.iter().map(|job| value(job)).collect();
        stats::median(&values)
    };
    let mut together = LatencyHistogram::new();
    jobs.iter().for_each(|job| together.merge(&job.completion_histogram()));
    let completion = LatencySummary::of(&together);
    BaselineTest {
        name,
        iops: median(&|job| job.total.iops).unwrap_or(0.0),
        iops_runs: jobs.iter().map(|job| job.total.iops).collect(),
        bytes_per_s: median(&|job| job.total.bytes_per_s),
        block_size: jobs.first().map(|job| job.total.block_size),
        outstanding_io: jobs.first().map(|job| job.outstanding_io),
        completion_p50_ns: completion.p50,
        completion_p99_ns: completion.p99,
        verdict: row.map(|row| row.verdict),
    }
}

fn device_words(target: &TargetEnvironment) -> String {
    let devices = target.bottom_devices().map(|device| {
        let model = device.model.as_deref().unwrap_or("no model").trim();
        format!("{} ({model})", device.name)
    });
    devices.collect::<Vec<_>>().join(", ")
}

fn file_system_words(target: &TargetEnvironment) -> String {
    let Some(fs) = &target.file_system else { return String::new() };
    let options = fs.options.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    });
    format!("{} {}", fs.fs_type, options.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests;
