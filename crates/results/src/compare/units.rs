//! The tests of a side with their runs, and the repetitions within these.

use super::metrics::MetricKind;
use crate::run::{JobResult, PhaseResult, Row, Run, Verdict};
use crate::stats;
use assay_workload::PhaseKind;

/// One repetition of a test with the run it is from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repetition<'r> {
    pub(crate) run: &'r Run,
    pub(crate) phase: &'r PhaseResult,
    pub(crate) job: &'r JobResult,
}

/// A test of one side.
#[derive(Debug, Clone)]
pub(super) struct Test<'r> {
    pub(super) name: String,
    /// Repetitions by run; no run is empty.
    pub(super) runs: Vec<Vec<Repetition<'r>>>,
}

impl<'r> Test<'r> {
    pub(super) fn repetitions(&self) -> impl Iterator<Item = &Repetition<'r>> {
        self.runs.iter().flatten()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &'r JobResult> {
        self.repetitions().map(|repetition| repetition.job)
    }

    /// What stands for it where all repetitions share a fact.
    pub(super) fn sample(&self) -> &Repetition<'r> {
        &self.runs[0][0]
    }

    /// A value for each run: the median of its repetitions; `None` where some repetition lacks it, since leaving that
    /// one out would choose by what was measured.
    pub(super) fn values(&self, metric: MetricKind) -> Option<Vec<f64>> {
        self.of_runs(metric).collect()
    }

    /// The same of those runs that have it in every repetition.
    pub(super) fn values_there_are(&self, metric: MetricKind) -> Vec<f64> {
        self.of_runs(metric).flatten().collect()
    }

    fn of_runs(&self, metric: MetricKind) -> impl Iterator<Item = Option<f64>> {
        self.runs.iter().map(move |run| {
            let values: Option<Vec<f64>> = run.iter().map(|repetition| metric.of(repetition.job)).collect();
            stats::median(&values?)
        })
    }

    /// The rows of its runs that have this verdict.
    fn rows(&self, verdict: Verdict) -> impl Iterator<Item = &'r Row> {
        let rows = self.runs.iter().flatten().filter_map(|one| one.run.row(one.phase, one.job));
        rows.filter(move |row| row.verdict == verdict)
    }

    /// Ids of the findings that give its figure this verdict, each once; empty: it has another.
    pub(super) fn causes(&self, verdict: Verdict) -> Vec<&'r str> {
        let mut ids: Vec<&str> = self.rows(verdict).flat_map(|row| &row.causes).map(String::as_str).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Without the runs in which its figure is not valid; `None` where none is left.
    pub(super) fn usable(mut self) -> Option<Test<'r>> {
        let invalid = |one: &Repetition<'_>| {
            one.run.row(one.phase, one.job).is_some_and(|row| row.verdict == Verdict::Invalid)
        };
        self.runs.retain(|run| !run.iter().any(invalid));
        (!self.runs.is_empty()).then_some(self)
    }
}

/// The tests of runs in the order of the first run that has them.
pub(super) fn tests_of<'r>(runs: &[&'r Run]) -> Vec<Test<'r>> {
    let mut tests: Vec<Test<'r>> = Vec::new();
    for run in runs {
        for (name, repetitions) in tests_of_run(run) {
            match tests.iter_mut().find(|test| test.name == name) {
                Some(test) => test.runs.push(repetitions),
                None => tests.push(Test { name, runs: vec![repetitions] }),
            }
        }
    }
    tests
}

/// The measured tests of a run with their repetitions in order.
pub(crate) fn tests_of_run(run: &Run) -> Vec<(String, Vec<Repetition<'_>>)> {
    let mut tests: Vec<(String, Vec<Repetition<'_>>)> = Vec::new();
    for phase in run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        for job in &phase.jobs {
            let name = test_name(phase, job);
            let repetition = Repetition { run, phase, job };
            match tests.iter_mut().find(|test| test.0 == name) {
                Some((_, repetitions)) => repetitions.push(repetition),
                None => tests.push((name, vec![repetition])),
            }
        }
    }
    for (_, repetitions) in &mut tests {
        repetitions.sort_by_key(|repetition| repetition.phase.repeat);
    }
    tests
}

/// A phase of one reported job is a test by the phase's name; of several, each job is one. The point of a curve or
/// sweep belongs to the name.
fn test_name(phase: &PhaseResult, job: &JobResult) -> String {
    let name = phase.title();
    if phase.jobs.len() > 1 { format!("{name} / {}", job.name) } else { name }
}
