//! Repeated tests in one row each: the median of the repetitions with its interval, and their spread.

use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_results::stats::{Estimate, median_estimate};
use assay_workload::PhaseKind;

use crate::format;

/// Deviations up to this share of the median are drawn as small.
const REACH_MIN: f64 = 0.1;

/// What stands above the table.
pub(crate) const TITLE: &str = "Repetitions";

/// The rows of a run in words, one for each repeated test and operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Repeats {
    /// One definition for each column.
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Of each row: its test and operation, and each repetition as a share of the median.
    pub(crate) shares: Vec<(String, Vec<f64>)>,
    /// What the columns mean.
    pub(crate) note: String,
}

/// `None` where no test was repeated, and for a series, which has its own table.
pub(crate) fn repeats(run: &Run) -> Option<Repeats> {
    let groups = groups(run).filter(|_| run.plan.series.is_none())?;
    let paced = groups.iter().flat_map(|group| &group.ops).all(|op| op.response_ns.is_some());
    let latency = if paced { "response time" } else { "completion latency" };
    let heads = ["test", "operation", "n", "median IOPS", "interval", "spread"].map(str::to_owned);
    let more = [format!("median p99 {latency}"), "interval".to_owned()];
    let found: Vec<_> = groups.iter().filter_map(|group| Some((group.row(paced)?, group.shares()))).collect();
    let (rows, shares): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let least = groups.iter().map(|group| group.ops.len()).min()?;
    let level = median_estimate(&vec![1.0; least], "")?.interval?.level;
    let note = format!(
        "median: of the repetitions; interval: of that median, from order statistics (n = {least}: {}, from 6 on 95 %); spread: \
         highest less lowest, over the median",
        format::percent(level)
    );
    (!rows.is_empty()).then(|| Repeats { heads: heads.into_iter().chain(more).collect(), rows, shares, note })
}

/// One operation of one job of one test, in each repetition.
struct Group<'r> {
    test: String,
    operation: &'r str,
    ops: Vec<&'r OpResult>,
}

fn groups(run: &Run) -> Option<Vec<Group<'_>>> {
    let mut found: Vec<Group<'_>> = Vec::new();
    // Rounds until steady are not repetitions: they depend on each other, and have a table of their own.
    let step =
        |phase: &PhaseResult| run.plan.phases.get(phase.plan_phase as usize).and_then(|planned| planned.step);
    let measured =
        run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure && step(phase).is_none());
    for phase in measured {
        for job in &phase.jobs {
            for (operation, op) in shown(job) {
                let test = test_of(phase, job);
                match found.iter_mut().find(|group| (&group.test, group.operation) == (&test, operation)) {
                    Some(group) => group.ops.push(op),
                    None => found.push(Group { test, operation, ops: vec![op] }),
                }
            }
        }
    }
    found.retain(|group| group.ops.len() > 1);
    (!found.is_empty()).then_some(found)
}

fn test_of(phase: &PhaseResult, job: &JobResult) -> String {
    let name = if job.name == phase.name { String::new() } else { format!(" / {}", job.name) };
    format!("{}{name}", phase.title())
}

/// The operations that occurred; the total where there are several.
fn shown(job: &JobResult) -> Vec<(&str, &OpResult)> {
    let mut ops: Vec<(&str, &OpResult)> = job.operations().filter(|(name, _)| *name != "flush").collect();
    if ops.len() != 1 {
        ops.push(("total", &job.total));
    }
    ops
}

impl Repeats {
    /// How far from the median, as a share of it, the picture reaches: what deviates most lies within, and small deviations look small.
    pub(crate) fn reach(&self) -> f64 {
        let all = self.shares.iter().flat_map(|(_, shares)| shares);
        all.map(|share| (share - 1.0).abs()).fold(REACH_MIN, f64::max)
    }
}

impl Group<'_> {
    /// What it is called in a picture, and each repetition as a share of the median.
    fn shares(&self) -> (String, Vec<f64>) {
        let iops: Vec<f64> = self.ops.iter().filter_map(|op| op.known_iops()).collect();
        let median = median_estimate(&iops, "IOPS").map_or(0.0, |median| median.value);
        let share = |iops: f64| if median > 0.0 { iops / median } else { 1.0 };
        (format!("{}, {}", self.test, self.operation), iops.into_iter().map(share).collect())
    }

    fn row(&self, paced: bool) -> Option<Vec<String>> {
        let iops: Vec<f64> = self.ops.iter().filter_map(|op| op.known_iops()).collect();
        let of = |op: &&OpResult| if paced { op.response_ns } else { Some(op.completion_ns) };
        let p99: Option<Vec<f64>> = self.ops.iter().map(|op| Some(of(op)?.p99? as f64)).collect();
        let p99 = p99.and_then(|values| median_estimate(&values, "ns"));
        let median = median_estimate(&iops, "IOPS")?;
        let (low, high) =
            iops.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), iops| (low.min(*iops), high.max(*iops)));
        let spread = if median.value > 0.0 { (high - low) / median.value } else { 0.0 };
        Some(vec![
            self.test.clone(),
            self.operation.to_owned(),
            iops.len().to_string(),
            format::iops(median.value),
            interval(&median, format::iops),
            format::percent(spread),
            p99.as_ref().map_or_else(String::new, |p99| format::time_ns(p99.value)),
            p99.as_ref().map_or_else(String::new, |p99| interval(p99, format::time_ns)),
        ])
    }
}

fn interval(estimate: &Estimate, words: fn(f64) -> String) -> String {
    let of = |interval: assay_results::stats::Interval95| {
        format!("{}–{}", words(interval.low), words(interval.high))
    };
    estimate.interval.map_or_else(String::new, of)
}
