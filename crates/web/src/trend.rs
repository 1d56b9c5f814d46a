//! How the figures of a plan changed from run to run.

use assay_results::stats::{Divisive, LevelChange, level_changes};

use crate::index::{Index, IndexError, Point, Setting};

/// Runs that a trend looks at, the newest.
pub(crate) const RUNS_MAX: usize = 200;
/// Tests that are drawn.
pub(crate) const TESTS_MAX: usize = 60;

/// One test from run to run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trend {
    pub(crate) test: String,
    /// The figures that may be believed, the oldest first.
    pub(crate) points: Vec<Point>,
    /// Runs whose figure is invalid, or that were stopped.
    pub(crate) left_out: usize,
    pub(crate) changes: Vec<LevelChange>,
}

/// The trends of a plan's tests in one setting.
pub(crate) fn trends(index: &Index, plan: &str, setting: &Setting) -> Result<Vec<Trend>, IndexError> {
    let history = index.history(plan, setting, RUNS_MAX)?;
    Ok(history.into_iter().take(TESTS_MAX).map(|(test, points)| trend(test, points)).collect())
}

fn trend(test: String, points: Vec<Point>) -> Trend {
    let all = points.len();
    let points: Vec<Point> = points
        .into_iter()
        .filter(|point| !matches!(point.verdict.as_str(), "invalid" | "incomplete"))
        .collect();
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let changes = level_changes(&values, &Divisive::default());
    Trend { test, left_out: all - points.len(), points, changes }
}
