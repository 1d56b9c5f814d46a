//! The tests of a side with their units of repetition.

use serde::{Deserialize, Serialize};

use super::Side;
use super::metrics::MetricKind;
use crate::run::{FindingSeverity, JobResult, PhaseResult, Run};
use crate::stats;

/// What one value of a comparison stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A whole run: the median of its repetitions.
    Run,
    /// One repetition of a test (a window of a quick series, a pass of `--repeat`) within a run.
    Repeat,
}

impl Unit {
    /// Runs where every side has several: they differ in all that differs between sessions. Else repetitions.
    pub(super) fn for_sides(sides: &[Side<'_>]) -> Unit {
        if sides.iter().all(|side| side.runs.len() > 1) { Unit::Run } else { Unit::Repeat }
    }
}

/// One repetition of a test with the run it is from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repetition<'r> {
    pub(super) run: &'r Run,
    pub(super) phase: &'r PhaseResult,
    pub(super) job: &'r JobResult,
}

/// A test of one side.
#[derive(Debug, Clone)]
pub(super) struct Test<'r> {
    pub(super) name: String,
    /// Repetitions by unit; no unit is empty.
    pub(super) units: Vec<Vec<Repetition<'r>>>,
}

impl<'r> Test<'r> {
    pub(super) fn repetitions(&self) -> impl Iterator<Item = &Repetition<'r>> {
        self.units.iter().flatten()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &'r JobResult> {
        self.repetitions().map(|repetition| repetition.job)
    }

    /// What stands for it where all repetitions share a fact.
    pub(super) fn sample(&self) -> &Repetition<'r> {
        &self.units[0][0]
    }

    /// A value for each unit: the median of its repetitions; `None` where some repetition lacks it, since leaving that
    /// one out would choose by what was measured.
    pub(super) fn values(&self, metric: MetricKind) -> Option<Vec<f64>> {
        let of_unit = |unit: &Vec<Repetition<'_>>| {
            let values: Option<Vec<f64>> = unit.iter().map(|repetition| metric.of(repetition.job)).collect();
            stats::median(&values?)
        };
        self.units.iter().map(of_unit).collect()
    }

    /// Ids of findings that say its numbers do not mean what they seem to.
    pub(super) fn invalid_findings(&self) -> Vec<&'r str> {
        let mut ids: Vec<&str> = Vec::new();
        for Repetition { run, phase, job } in self.repetitions() {
            let mine = run.findings.iter().filter(|finding| {
                finding.severity == FindingSeverity::Invalid
                    && finding.phase.as_ref().is_none_or(|name| *name == phase.name)
                    && finding.job.as_ref().is_none_or(|name| *name == job.name)
            });
            ids.extend(mine.map(|finding| finding.id.as_str()));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// The tests of runs in the order of the first run that has them.
pub(super) fn tests_of<'r>(runs: &[&'r Run], unit: Unit) -> Vec<Test<'r>> {
    let mut tests: Vec<Test<'r>> = Vec::new();
    for run in runs {
        for (name, repetitions) in repetitions_of(run) {
            let units = match unit {
                Unit::Run => vec![repetitions],
                Unit::Repeat => repetitions.into_iter().map(|repetition| vec![repetition]).collect(),
            };
            match tests.iter_mut().find(|test| test.name == name) {
                Some(test) => test.units.extend(units),
                None => tests.push(Test { name, units }),
            }
        }
    }
    tests
}

/// The measured tests of a run with their repetitions in order.
fn repetitions_of(run: &Run) -> Vec<(String, Vec<Repetition<'_>>)> {
    let mut tests: Vec<(String, Vec<Repetition<'_>>)> = Vec::new();
    for phase in run.phases.iter().filter(|phase| phase.kind == "measure") {
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
pub(crate) fn test_name(phase: &PhaseResult, job: &JobResult) -> String {
    let mut name = phase.name.clone();
    if !phase.point.is_empty() {
        name = format!("{name} [{}]", phase.point);
    }
    if phase.jobs.len() > 1 { format!("{name} / {}", job.name) } else { name }
}
