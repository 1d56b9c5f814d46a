//! What a history needs of a run: read without the distributions, which are most of its file.

use assay_workload::{PhaseKind, SweepPoint};
use serde::Deserialize;

use super::{RUN_FILE, RunDir, StoreError, read_regular};
use crate::run::{Row, Run, Verdict};
use crate::stats::median;

/// A run in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBrief {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// The series it belongs to; `None`: to none.
    pub series: Option<String>,
    /// The host it was made on, the first of several; `None`: not known.
    pub host: Option<String>,
    /// The path of its first target; `None`: it has none.
    pub target: Option<String>,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Whether it may be believed.
    pub verdict: Verdict,
    /// Its tests.
    pub figures: Vec<BriefFigure>,
}

/// A test of a run: the median of its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefFigure {
    /// The test.
    pub test: String,
    /// The quoted figure.
    pub value: f64,
    /// Its unit: `IOPS`, or `bytes/s` where only that is known.
    pub unit: String,
    /// 99th percentile of completion latency in nanoseconds, the median of the repetitions; `None`: too few operations.
    pub p99_ns: Option<f64>,
    /// Whether the figure may be believed.
    pub verdict: Verdict,
}

#[derive(Deserialize)]
struct Stored {
    id: String,
    name: String,
    started: String,
    elapsed_s: f64,
    verdict: Verdict,
    plan: StoredPlan,
    environment: StoredEnvironment,
    #[serde(default)]
    rows: Vec<Row>,
    #[serde(default)]
    phases: Vec<StoredPhase>,
}

#[derive(Deserialize)]
struct StoredPlan {
    #[serde(default)]
    series: Option<String>,
}

#[derive(Deserialize)]
struct StoredEnvironment {
    #[serde(default)]
    machine: StoredMachine,
    #[serde(default)]
    targets: Vec<StoredTarget>,
}

#[derive(Deserialize, Default)]
struct StoredMachine {
    #[serde(default)]
    hostname: Option<String>,
}

#[derive(Deserialize)]
struct StoredTarget {
    path: String,
}

#[derive(Deserialize)]
struct StoredPhase {
    name: String,
    kind: PhaseKind,
    point: SweepPoint,
    jobs: Vec<StoredJob>,
}

#[derive(Deserialize)]
struct StoredJob {
    name: String,
    total: StoredTotal,
}

#[derive(Deserialize)]
struct StoredTotal {
    completion_ns: StoredLatency,
}

#[derive(Deserialize)]
struct StoredLatency {
    #[serde(default)]
    p99: Option<u64>,
}

impl RunDir {
    /// Reads what a history needs of the summary.
    ///
    /// # Errors
    /// Those of [`RunDir::read_run`].
    pub fn read_brief(&self) -> Result<RunBrief, StoreError> {
        let path = self.path().join(RUN_FILE);
        let bytes = read_regular(&path).map_err(StoreError::io("read", &path))?;
        let stored: Stored = serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::Damaged { path, reason: error.to_string() })?;
        if stored.rows.is_empty() && !stored.phases.is_empty() {
            // Stored before figures had verdicts of their own: they are made of the whole.
            return Ok(RunBrief::of(&self.read_run()?));
        }
        let figures = stored.rows.iter().map(|row| figure(row, &p99s(&stored.phases, row))).collect();
        Ok(RunBrief {
            id: stored.id,
            name: stored.name,
            series: stored.plan.series.filter(|series| !series.is_empty()),
            host: stored.environment.machine.hostname,
            target: stored.environment.targets.into_iter().next().map(|target| target.path),
            started: stored.started,
            elapsed_s: stored.elapsed_s,
            verdict: stored.verdict,
            figures,
        })
    }
}

impl RunBrief {
    /// The same of a run at hand.
    pub fn of(run: &Run) -> Self {
        let p99s = |row: &Row| -> Vec<f64> {
            let of_row = run.phases.iter().filter(|phase| {
                phase.kind == PhaseKind::Measure && phase.name == row.phase && phase.point == row.point
            });
            let jobs = of_row.flat_map(|phase| &phase.jobs).filter(|job| job.name == row.job);
            jobs.filter_map(|job| job.total.completion_ns.p99).map(|ns| ns as f64).collect()
        };
        RunBrief {
            id: run.id.clone(),
            name: run.name.clone(),
            series: run.plan.series.clone(),
            host: run.environment.machine.hostname.clone(),
            target: run.environment.targets.first().map(|target| target.path.clone()),
            started: run.started.clone(),
            elapsed_s: run.elapsed_s,
            verdict: run.verdict,
            figures: run.rows.iter().map(|row| figure(row, &p99s(row))).collect(),
        }
    }
}

fn p99s(phases: &[StoredPhase], row: &Row) -> Vec<f64> {
    let of_row = phases.iter().filter(|phase| {
        phase.kind == PhaseKind::Measure && phase.name == row.phase && phase.point == row.point
    });
    let jobs = of_row.flat_map(|phase| &phase.jobs).filter(|job| job.name == row.job);
    jobs.filter_map(|job| job.total.completion_ns.p99).map(|ns| ns as f64).collect()
}

fn figure(row: &Row, p99s: &[f64]) -> BriefFigure {
    BriefFigure {
        test: row.name.clone(),
        value: row.figure.value,
        unit: row.figure.unit.clone(),
        p99_ns: median(p99s),
        verdict: row.verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn the_brief_form_is_that_of_the_whole() {
        let root = tempfile::tempdir().unwrap();
        let mut run = crate::fixture::repeated(&[100.0, 110.0, 120.0]);
        checks::judge(&mut run);
        let dir = RunDir::create(root.path(), &run.started, &run.name, &run.id).unwrap();
        dir.write_run(&run).unwrap();
        let brief = dir.read_brief().unwrap();
        assert_eq!(brief, RunBrief::of(&run));
        assert_eq!(brief.figures.len(), run.rows.len());
        assert!(!brief.figures.is_empty());
        std::fs::write(dir.path().join(RUN_FILE), "{}").unwrap();
        assert!(matches!(dir.read_brief(), Err(StoreError::Damaged { .. })));
    }
}
