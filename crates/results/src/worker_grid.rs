//! Grids over workers: what each cell reached, and where more workers bring less.

use assay_workload::PhaseKind;
use serde::{Deserialize, Serialize};

use crate::RunEnd;
use crate::checks;
use crate::evidence::WorkerReport;
use crate::run::{FindingSeverity, JobResult, PhaseResult, Run, Verdict};
use crate::search;
use crate::stats::{median, outliers};

/// The schema of a stored grid.
pub const SCHEMA: &str = "assay.grid/1";
/// Figures nearer to each other than this share of their median are taken for equal.
const RESOLUTION_SHARE: f64 = 0.005;
/// A smaller distance from the median is not worth a mark.
const DISTANCE_MIN: f64 = 0.05;
/// The curve bends where another worker brings less than this share of what the first ones bring each.
const BEND_SHARE: f64 = 0.5;

/// A grid, finished or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerGrid {
    /// [`SCHEMA`].
    pub schema: String,
    /// The words of the command line that asked for it, without those that say where it is kept.
    pub asked: Vec<String>,
    /// The working directory that they were given in, which their paths start from; empty: not known.
    #[serde(default)]
    pub asked_in: String,
    /// Its cells, in the order in which they are measured.
    pub cells: Vec<WorkerCell>,
}

/// One cell: a number of workers, and what each of them does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerCell {
    /// HCIBench's name of what each worker does.
    pub name: String,
    /// How many workers.
    pub workers: u32,
    /// The directory of its run; `None`: it was not begun.
    pub run: Option<String>,
    /// When its run began, local time; empty: it was not begun.
    #[serde(default)]
    pub started: String,
    /// The host that its run was made on, or started from; `None`: not known.
    #[serde(default)]
    pub host: Option<String>,
    /// Of its run, once that has ended.
    pub verdict: Option<Verdict>,
    /// Why its run ended early; `None`: it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<String>,
    /// The goal of its search for the highest rate; `None`: it did not search.
    #[serde(default)]
    pub goal: Option<String>,
    /// The checks that found something worth a warning or more, each once.
    #[serde(default)]
    pub found: Vec<String>,
    /// What was reached each time, all workers together; of a search, in the step with the highest rate that met the goal, and nothing
    /// where none did.
    #[serde(default)]
    pub repeats: Vec<CellRepeat>,
}

/// One repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRepeat {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// 95th percentile of completion latency of the pooled operations, nanoseconds; `None`: there are too few, or several jobs.
    pub p95_ns: Option<u64>,
    /// The 99th.
    pub p99_ns: Option<u64>,
    /// It lies far from the others.
    pub is_outlier: bool,
    /// What each worker did, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<CellWorker>,
}

/// One worker in one repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellWorker {
    /// Its name: the host, the pod, `w1`.
    pub name: String,
    /// What it did, where workers do different things; empty: all do the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub job: String,
    /// Operations a second over its own measured part; `None`: it measured nothing.
    pub iops: Option<f64>,
    /// It was found to differ from the others, in its rate or in its tail.
    pub is_outlier: bool,
    /// Why its part ends early or is missing; `None`: it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_because: Option<String>,
}

impl WorkerCell {
    /// A cell that was not begun.
    pub fn new(name: &str, workers: u32) -> Self {
        WorkerCell {
            name: name.to_owned(),
            workers,
            run: None,
            started: String::new(),
            host: None,
            verdict: None,
            ended_early: None,
            goal: None,
            found: Vec::new(),
            repeats: Vec::new(),
        }
    }

    /// Whether nothing is left to do for it.
    pub fn is_finished(&self) -> bool {
        self.verdict.is_some_and(|verdict| verdict != Verdict::Incomplete)
    }

    /// The id of its run.
    pub fn run_id(&self) -> Option<&str> {
        std::path::Path::new(self.run.as_deref()?).file_name()?.to_str()?.rsplit('-').next()
    }

    /// The median of the repetitions.
    pub fn iops(&self) -> Option<f64> {
        median(&self.repeats.iter().map(|repeat| repeat.iops).collect::<Vec<_>>())
    }

    /// The median of the repetitions, bytes a second.
    pub fn bytes_per_s(&self) -> Option<f64> {
        median(&self.repeats.iter().map(|repeat| repeat.bytes_per_s).collect::<Vec<_>>())
    }

    /// Highest less lowest over the median; `None` of fewer than two.
    pub fn spread(&self) -> Option<f64> {
        let iops = || self.repeats.iter().map(|repeat| repeat.iops);
        let median = self.iops().filter(|median| *median > 0.0 && self.repeats.len() > 1)?;
        Some((iops().fold(f64::MIN, f64::max) - iops().fold(f64::MAX, f64::min)) / median)
    }

    /// Takes what its run found.
    pub fn take(&mut self, run: &Run) {
        self.verdict = Some(run.verdict);
        self.started.clone_from(&run.started);
        self.host.clone_from(&run.environment.machine.hostname);
        self.ended_early = match run.end {
            Some(RunEnd::Completed) => None,
            Some(RunEnd::Failed) => {
                run.error.as_deref().and_then(|why| why.lines().next()).map(str::to_owned)
            }
            Some(RunEnd::Interrupted) | None => Some("stopped before its end".to_owned()),
        };
        self.found.clear();
        for finding in run.findings.iter().filter(|finding| is_grave(finding.severity)) {
            if !self.found.contains(&finding.id) {
                self.found.push(finding.id.clone());
            }
        }
        self.goal = search::answers(run).first().map(|answer| answer.find.to_string());
        let counts = |phase: &PhaseResult| {
            phase.kind == PhaseKind::Measure && (self.goal.is_none() || search::is_answer(phase))
        };
        self.repeats = (0..run.phases.len())
            .filter(|at| counts(&run.phases[*at]))
            .map(|at| repeat_of(run, at))
            .collect();
        let iops: Vec<f64> = self.repeats.iter().map(|repeat| repeat.iops).collect();
        let Some(median) = median(&iops) else { return };
        let flagged = outliers(&iops, RESOLUTION_SHARE * median).map(|report| report.flagged);
        for at in flagged.unwrap_or_default() {
            self.repeats[at].is_outlier = (iops[at] / median - 1.0).abs() >= DISTANCE_MIN;
        }
    }
}

fn is_grave(severity: FindingSeverity) -> bool {
    matches!(severity, FindingSeverity::Warning | FindingSeverity::Invalid)
}

fn repeat_of(run: &Run, at: usize) -> CellRepeat {
    let phase = &run.phases[at];
    let totals = || phase.jobs.iter().map(|job| &job.total);
    let only = match &phase.jobs[..] {
        [job] => Some(&job.total.completion_ns),
        _ => None,
    };
    CellRepeat {
        iops: totals().map(|total| total.iops).sum(),
        bytes_per_s: totals().map(|total| total.bytes_per_s).sum(),
        p95_ns: only.and_then(|latency| latency.p95),
        p99_ns: only.and_then(|latency| latency.p99),
        is_outlier: false,
        workers: workers_of(run, at),
    }
}

/// What each of several workers did in a phase, job by job.
fn workers_of(run: &Run, at: usize) -> Vec<CellWorker> {
    let jobs = &run.phases[at].jobs;
    let of_job = |(job_at, job): (usize, &JobResult)| {
        let outliers = checks::outlier_workers(run, at, job_at);
        let worker = |worker: &WorkerReport| CellWorker {
            name: worker.name.clone(),
            job: if jobs.len() > 1 { job.name.clone() } else { String::new() },
            iops: worker.iops(),
            is_outlier: outliers.contains(&worker.name.as_str()),
            lost_because: worker.lost_because.clone(),
        };
        // Every host stands at every job; those that do another one measured nothing in it.
        let takes_part = |worker: &&WorkerReport| worker.measured_ns > 0 || worker.lost_because.is_some();
        job.evidence.workers.iter().filter(takes_part).map(worker).collect::<Vec<_>>()
    };
    let workers: Vec<CellWorker> = jobs.iter().enumerate().flat_map(of_job).collect();
    if workers.len() > 1 { workers } else { Vec::new() }
}

impl WorkerGrid {
    /// The curves over the number of workers: of each name that was measured with several, the numbers with what they reached. A cell that
    /// is not finished is no point of a curve.
    pub fn curves(&self) -> Vec<(&str, Vec<(u32, f64)>)> {
        let mut curves: Vec<(&str, Vec<(u32, f64)>)> = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.is_finished()) {
            let Some(iops) = cell.iops() else { continue };
            match curves.iter_mut().find(|(name, _)| *name == cell.name) {
                Some((_, points)) => points.push((cell.workers, iops)),
                None => curves.push((&cell.name, vec![(cell.workers, iops)])),
            }
        }
        curves.iter_mut().for_each(|(_, points)| points.sort_by_key(|(workers, _)| *workers));
        curves.retain(|(_, points)| points.len() > 1);
        curves
    }
}

/// The numbers of workers between which the curve bends: behind the first, each one more brings less than half of what each of the fewest
/// brings; `None`: it does not bend within what was measured. `points` are numbers of workers, rising, with what they reached.
pub fn bend(points: &[(u32, f64)]) -> Option<(u32, u32)> {
    let (workers, iops) = points.first()?;
    let each = iops / f64::from(*workers);
    let step = points.windows(2).find(|pair| {
        let more = f64::from(pair[1].0 - pair[0].0);
        pair[1].1 - pair[0].1 < BEND_SHARE * each * more
    });
    step.map(|pair| (pair[0].0, pair[1].0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::repeated;

    fn cell(workers: u32, iops: &[f64]) -> WorkerCell {
        let mut cell = WorkerCell::new("assay-1vmdk", workers);
        let mut run = repeated(iops);
        checks::judge(&mut run);
        cell.take(&run);
        cell
    }

    #[test]
    fn a_cell_is_the_median_of_its_repetitions_and_marks_the_outlier() {
        let cell = cell(4, &[1000.0, 1010.0, 990.0, 1005.0, 400.0, 995.0, 1002.0]);
        assert_eq!(cell.iops(), Some(1000.0));
        let marked: Vec<usize> = (0..7).filter(|at| cell.repeats[*at].is_outlier).collect();
        assert_eq!(marked, [4]);
        assert!(cell.spread().is_some_and(|spread| (spread - 0.61).abs() < 1e-9), "{:?}", cell.spread());
        // A repetition that was disturbed does not make the whole suspect.
        assert_eq!((cell.verdict, &cell.found[..]), (Some(Verdict::Valid), &[][..]));
    }

    #[test]
    fn each_worker_of_each_repetition_is_kept_and_the_one_that_differs_is_marked() {
        let mut run = repeated(&[1000.0, 1010.0]);
        for (phase, last) in run.phases.iter_mut().zip([250, 60]) {
            let worker = |(at, ios): (usize, u64)| WorkerReport {
                name: format!("w{at}"),
                ios,
                measured_ns: 1_000_000_000,
                ..WorkerReport::default()
            };
            phase.jobs[0].evidence.workers =
                [250, 252, 249, 251, 250, last].into_iter().enumerate().map(worker).collect();
        }
        checks::judge(&mut run);
        let mut cell = WorkerCell::new("assay-1vmdk", 6);
        cell.take(&run);
        let marked = |repeat: &CellRepeat| -> Vec<(String, Option<f64>)> {
            let marked = repeat.workers.iter().filter(|worker| worker.is_outlier);
            marked.map(|worker| (worker.name.clone(), worker.iops)).collect()
        };
        assert_eq!(cell.repeats.iter().map(|repeat| repeat.workers.len()).collect::<Vec<_>>(), [6, 6]);
        assert_eq!(marked(&cell.repeats[0]), []);
        assert_eq!(marked(&cell.repeats[1]), [("w5".to_owned(), Some(60.0))]);
        assert_eq!(cell.found, ["outlier-worker"]);
    }

    #[test]
    fn a_curve_bends_where_more_workers_bring_less() {
        assert_eq!(bend(&[(1, 100.0), (2, 198.0), (4, 390.0), (8, 420.0)]), Some((4, 8)));
        assert_eq!(bend(&[(1, 100.0), (2, 120.0)]), Some((1, 2)));
        assert_eq!(bend(&[(2, 200.0), (4, 400.0), (8, 800.0)]), None);
        assert_eq!(bend(&[(1, 100.0)]), None);
        let cells = [1, 2, 4].map(|workers| cell(workers, &[100.0 * f64::from(workers)])).to_vec();
        let grid =
            WorkerGrid { schema: SCHEMA.to_owned(), asked: Vec::new(), asked_in: String::new(), cells };
        assert_eq!(grid.curves(), [("assay-1vmdk", vec![(1, 100.0), (2, 200.0), (4, 400.0)])]);
    }
}
