//! Heat maps of a phase: latencies over time, and workers over time.

use assay_results::over_time::LatencyOverTime;
use assay_results::run::JobResult;

use super::{MEASURED_PART, tick_name, tick_time, time_axis};
use crate::format;
use crate::svg::{Axis, HeatMap, Scale};

/// Shares of the I/Os of a step are shown by their cube root: one in ten thousand can be seen.
fn shade(share: f64) -> f64 {
    share.cbrt()
}

/// The same in at most `steps_max` steps of time.
fn joined(map: &LatencyOverTime, steps_max: usize) -> LatencyOverTime {
    let each = map.ios.len().div_ceil(steps_max.max(1)).max(1);
    let sum = |steps: &[Vec<u64>]| {
        let rows = steps.iter().map(Vec::len).max().unwrap_or(0);
        (0..rows).map(|row| steps.iter().filter_map(|step| step.get(row)).sum()).collect()
    };
    LatencyOverTime {
        step_s: map.step_s * each as f64,
        ios: map.ios.chunks(each).map(sum).collect(),
        ..map.clone()
    }
}

/// Completion latencies over time in at most `steps_max` steps; `None` where they are not known by period.
pub fn latencies(id: &str, job: &JobResult, steps_max: usize) -> Option<HeatMap> {
    let map = &joined(job.latency_over_time.as_ref()?, steps_max);
    let (first, last) = (*map.edges_ns.first()? as f64, *map.edges_ns.last()? as f64);
    let rows = map.edges_ns.len().checked_sub(1)?;
    let share = |row: usize, ios: &Vec<u64>| {
        let all: u64 = ios.iter().sum();
        ios.get(row).map_or(0.0, |count| *count as f64 / all.max(1) as f64)
    };
    let scale = Scale::Log { low: first.max(1.0), high: last.max(2.0) };
    let place = |ns: f64| 1.0 - place_of(map, ns);
    let side_ticks = scale.ticks().into_iter().map(|ns| (place(ns), tick_time(ns))).rev().collect();
    let axis = time_axis(map.step_s * map.ios.len() as f64, MEASURED_PART);
    Some(HeatMap {
        id: id.to_owned(),
        title: "Completion latencies over time".to_owned(),
        description: described(map),
        rows: (0..rows).rev().map(|row| map.ios.iter().map(|ios| shade(share(row, ios))).collect()).collect(),
        side_ticks,
        ticks: ticks(&axis),
        axis: axis.label.clone(),
        key: [0.0001, 0.01, 0.1, 1.0].map(|share| (shade(share), format::percent(share))).to_vec(),
        legend: format!(
            "Shade: share of the I/Os that completed in that step of {}.",
            format::seconds(map.step_s)
        ),
        ..HeatMap::default()
    })
}

/// Where a latency lies between the lowest edge (0) and the highest (1): rows are of one height.
fn place_of(map: &LatencyOverTime, ns: f64) -> f64 {
    let rows = map.edges_ns.len().saturating_sub(1).max(1);
    let row = map.edges_ns.partition_point(|edge| *edge as f64 <= ns).clamp(1, rows) - 1;
    let (low, high) = (map.edges_ns[row] as f64, map.edges_ns[row + 1] as f64);
    ((row as f64 + (ns - low) / (high - low).max(1.0)) / rows as f64).clamp(0.0, 1.0)
}

/// The row with most I/Os, and the highest with any.
fn described(map: &LatencyOverTime) -> String {
    let of_row = |row: usize| map.ios.iter().filter_map(|ios| ios.get(row)).sum::<u64>();
    let rows = map.edges_ns.len().saturating_sub(1);
    let most = (0..rows).max_by_key(|row| of_row(*row)).unwrap_or(0);
    let all: u64 = map.ios.iter().flatten().sum();
    let edges = |row: usize| {
        let edge = |at: usize| map.edges_ns.get(at).map_or(0.0, |ns| *ns as f64);
        format!("{} to {}", format::time_ns(edge(row)), format::time_ns(edge(row + 1)))
    };
    let slow = (0..map.ios.len()).max_by_key(|step| {
        let highest = map.ios[*step].iter().rposition(|count| *count > 0).unwrap_or(0);
        (highest, map.ios[*step].get(highest).copied().unwrap_or(0))
    });
    let slow_at = slow.map_or(0.0, |step| map.start_s.max(0.0) + step as f64 * map.step_s);
    format!(
        "Most of the I/Os ({}) took {}; the slowest, {}, completed from {} s on.",
        format::percent(of_row(most) as f64 / all.max(1) as f64),
        edges(most),
        edges(rows.saturating_sub(1)),
        tick_name(slow_at)
    )
}

fn ticks(axis: &Axis) -> Vec<(f64, String)> {
    axis.ticks.iter().map(|(value, name)| (axis.scale.place(*value), name.clone())).collect()
}

/// The rate of each worker over time; `None` where it is not known.
pub fn workers(id: &str, job: &JobResult) -> Option<HeatMap> {
    let known =
        || job.evidence.workers.iter().filter_map(|worker| Some((worker, worker.over_time.as_ref()?)));
    let most = known().flat_map(|(_, course)| &course.iops).copied().fold(0.0, f64::max);
    let (_, first) = known().next().filter(|_| most > 0.0)?;
    let lowest = known()
        .flat_map(|(worker, course)| {
            course.iops.iter().enumerate().map(move |(step, iops)| (worker, step, *iops))
        })
        .min_by(|a, b| a.2.total_cmp(&b.2))?;
    let end_s = first.step_s * first.iops.len() as f64;
    let axis = time_axis(end_s, "the time in which all measured");
    Some(HeatMap {
        id: id.to_owned(),
        title: match known().count() {
            1 => "IOPS of the worker over time".to_owned(),
            several => format!("IOPS of each of {several} workers over time"),
        },
        description: format!(
            "Each row is a worker, in their order. The lowest place is {} from {} s on, with {} IOPS.",
            lowest.0.name,
            format::significant(lowest.1 as f64 * first.step_s),
            format::iops(lowest.2)
        ),
        rows: known().map(|(_, course)| course.iops.iter().map(|iops| iops / most).collect()).collect(),
        row_names: known().map(|(worker, _)| worker.name.clone()).collect(),
        ticks: ticks(&axis),
        axis: axis.label.clone(),
        key: [0.25, 0.5, 1.0].map(|share| (share, format::iops(share * most))).to_vec(),
        legend: format!("Shade: IOPS of that worker in that step of {}.", format::seconds(first.step_s)),
        ..HeatMap::default()
    })
}

#[cfg(test)]
mod tests {
    use assay_results::evidence::WorkerReport;
    use assay_results::over_time::IopsOverTime;

    use super::*;

    fn job() -> JobResult {
        let map = LatencyOverTime {
            start_s: 0.0,
            step_s: 1.0,
            edges_ns: vec![1_000, 10_000, 100_000, 1_000_000],
            ios: vec![vec![90, 10, 0], vec![0, 0, 1]],
        };
        JobResult { latency_over_time: Some(map), ..JobResult::default() }
    }

    #[test]
    fn the_longest_latencies_are_on_top_and_rare_ones_are_seen() {
        let map = latencies("m", &job(), 9).unwrap();
        assert_eq!(map.rows[0], [0.0, 1.0]);
        assert!((map.rows[2][0] - 0.9_f64.cbrt()).abs() < 1e-12);
        assert!(shade(0.0001) > 0.04, "less than the lightest shade");
        assert!(map.description.contains("completed from 1 s on"), "{}", map.description);
        let places: Vec<f64> = map.side_ticks.iter().map(|tick| tick.0).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        assert_eq!(map.side_ticks.last().unwrap(), &(1.0, "1 µs".to_owned()));
        assert!(latencies("m", &JobResult::default(), 9).is_none());
        let narrow = latencies("m", &job(), 1).unwrap();
        assert!((narrow.rows[2][0] - (90.0_f64 / 101.0).cbrt()).abs() < 1e-12, "steps are not joined");
    }

    #[test]
    fn the_slow_worker_is_named() {
        let worker = |name: &str, iops: [f64; 2]| WorkerReport {
            name: name.to_owned(),
            over_time: Some(IopsOverTime { step_s: 2.0, iops: iops.to_vec() }),
            ..WorkerReport::default()
        };
        let mut job = JobResult::default();
        job.evidence.workers =
            vec![worker("a", [100.0, 100.0]), worker("b", [100.0, 50.0]), WorkerReport::default()];
        let map = workers("m", &job).unwrap();
        assert_eq!(map.rows, [[1.0, 1.0], [1.0, 0.5]]);
        assert!(map.description.contains("b from 2.00 s on, with 50.0 IOPS"), "{}", map.description);
        job.evidence.workers.clear();
        assert!(workers("m", &job).is_none());
    }
}
