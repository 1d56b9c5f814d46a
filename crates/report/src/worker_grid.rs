//! Grids over workers in words: a row for each cell, and where the curve bends.

use assay_results::stats::median;
use assay_results::worker_grid::{CellRepeat, CellWorker, WorkerCell, WorkerGrid, bend};

use crate::format;

/// The columns.
pub(crate) const HEADS: [&str; 10] = [
    "workload of each worker",
    "workers",
    "IOPS",
    "spread",
    "MiB/s",
    "p95",
    "p99",
    "verdict",
    "found",
    "run",
];

/// Workers that a remark names at most.
const NAMED_MAX: usize = 5;

/// Where and when its cells were measured.
pub(crate) fn place(grid: &WorkerGrid) -> Option<String> {
    let begun = || grid.cells.iter().filter(|cell| !cell.started.is_empty());
    let mut hosts: Vec<&str> = begun().filter_map(|cell| cell.host.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let started = || begun().map(|cell| cell.started.as_str());
    let (first, last) = (started().min()?, started().max()?);
    let when = if first == last { format!("started {first}") } else { format!("started {first} to {last}") };
    Some(if hosts.is_empty() { when } else { format!("host {}, {when}", hosts.join(", ")) })
}

/// One row, in the order of [`HEADS`].
pub(crate) fn row(cell: &WorkerCell) -> Vec<String> {
    let iops = cell.iops().map_or_else(|| "-".to_owned(), format::iops);
    let mark = if cell.repeats.iter().any(|repeat| repeat.is_outlier) { "!" } else { "" };
    let middle = middle(cell);
    let bandwidth = cell.bytes_per_s().map_or_else(|| "-".to_owned(), format::mib_per_s);
    let latency = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format::time_ns(ns as f64));
    vec![
        cell.name.clone(),
        cell.workers.to_string(),
        format!("{mark}{iops}"),
        cell.spread().map_or_else(|| "-".to_owned(), format::percent),
        bandwidth,
        latency(middle.and_then(|repeat| repeat.p95_ns)),
        latency(middle.and_then(|repeat| repeat.p99_ns)),
        cell.verdict.map_or("not measured", |verdict| verdict.word()).to_owned(),
        found(cell),
        cell.run_id().unwrap_or_default().to_owned(),
    ]
}

/// The repetition in the middle, of an even number the lower one: percentiles have no mean.
fn middle(cell: &WorkerCell) -> Option<&CellRepeat> {
    let mut order: Vec<_> = cell.repeats.iter().collect();
    order.sort_by(|one, other| one.iops.total_cmp(&other.iops));
    order.get(order.len().saturating_sub(1) / 2).copied()
}

/// What speaks against it.
fn found(cell: &WorkerCell) -> String {
    match &cell.goal {
        Some(goal) if cell.repeats.is_empty() => format!("no rate met {goal}"),
        _ => cell.ended_early.iter().chain(&cell.found).map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// How far the repetitions of each cell lie apart, of several cells those that lie farthest.
pub(crate) fn spread_words(grid: &WorkerGrid) -> String {
    let spreads = grid.cells.iter().enumerate().filter_map(|(at, cell)| Some((at, cell, cell.spread()?)));
    let Some((at, cell, spread)) = spreads.max_by(|one, other| one.2.total_cmp(&other.2)) else {
        return "The line is the median.".to_owned();
    };
    let iops = || cell.repeats.iter().map(|repeat| repeat.iops);
    let (low, high) = (iops().fold(f64::MAX, f64::min), iops().fold(f64::MIN, f64::max));
    let (low, high) = (format::iops(low), format::iops(high));
    let middle = cell.iops().map_or_else(|| format::NOTHING.to_owned(), format::iops);
    let of = if grid.cells.len() == 1 { String::new() } else { format!(" of row {}, the largest", at + 1) };
    format!("Median {middle} (line), {low} to {high}: spread{of} {}.", format::percent(spread))
}

/// Which workers of a repetition differ from the others that do the same, and which were lost.
fn workers(repeat: &CellRepeat) -> Vec<String> {
    let reached = |worker: &CellWorker| {
        format!("{} ({} IOPS)", worker.name, worker.iops.map_or(format::NOTHING.to_owned(), format::iops))
    };
    let lost: Vec<String> = repeat
        .workers
        .iter()
        .filter_map(|worker| Some(format!("{} ({})", worker.name, worker.lost_because.as_ref()?)))
        .collect();
    let mut words: Vec<String> = Vec::new();
    for of_job in repeat.workers.chunk_by(|one, other| one.job == other.job) {
        let marked: Vec<String> = of_job.iter().filter(|worker| worker.is_outlier).map(reached).collect();
        let others = of_job.iter().filter(|worker| !worker.is_outlier).filter_map(|worker| worker.iops);
        if let (false, Some(middle)) = (marked.is_empty(), median(&others.collect::<Vec<_>>())) {
            let differ = if marked.len() == 1 { "differs" } else { "differ" };
            words.push(format!(
                "{} {differ} from the other workers (median {} IOPS)",
                named(&marked),
                format::iops(middle)
            ));
        }
    }
    if !lost.is_empty() {
        words.push(format!(
            "lost: {}; the sum is over the time in which all that were not lost measured, a worker's IOPS over its own",
            named(&lost)
        ));
    }
    words
}

/// The first of many.
fn named(all: &[String]) -> String {
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", all[..all.len().min(NAMED_MAX)].join(", "))
}

/// What the table means: a sentence each.
pub(crate) fn remarks(grid: &WorkerGrid) -> Vec<String> {
    let mut remarks = vec![
        "IOPS and MiB/s: all workers together, median of the repetitions; '!': a repetition lies far from the others; spread: highest less \
         lowest over the median; completion latency (p95, p99, of the pooled I/Os of all workers): of the repetition in the middle, of an even \
         number the lower one"
            .to_owned(),
    ];
    let mut goals: Vec<&str> = grid.cells.iter().filter_map(|cell| cell.goal.as_deref()).collect();
    goals.sort_unstable();
    goals.dedup();
    if !goals.is_empty() {
        remarks.push(format!(
            "each repetition: the highest rate found that met its goal ({})",
            goals.join(", ")
        ));
    }
    for (at, cell) in grid.cells.iter().enumerate() {
        for (number, repeat) in cell.repeats.iter().enumerate() {
            let place = format!("row {}, repetition {}", at + 1, number + 1);
            if repeat.is_outlier {
                remarks.push(format!("{place}: {} IOPS, far from the others", format::iops(repeat.iops)));
            }
            remarks.extend(workers(repeat).into_iter().map(|words| format!("{place}: {words}")));
        }
    }
    if grid
        .cells
        .iter()
        .flat_map(|cell| &cell.repeats)
        .any(|repeat| repeat.workers.iter().any(|worker| !worker.job.is_empty()))
    {
        remarks.push("workers that do different things have no percentiles in common: those of each job are on the page of the run".to_owned());
    }
    let left = grid.cells.iter().filter(|cell| !cell.is_finished()).count();
    if left > 0 {
        let (of, are) =
            (format::plural(grid.cells.len() as u64, "cell"), if left == 1 { "is" } else { "are" });
        let apart = if grid.curves().is_empty() { String::new() } else { format!(", and {are} in no curve") };
        remarks.push(format!("{left} of {of} {are} not finished{apart}"));
    }
    remarks
}

/// Where the curves bend, and what that means: a sentence each.
pub(crate) fn bends(grid: &WorkerGrid) -> Vec<String> {
    let curves = grid.curves();
    let of = |(name, points): &(&str, Vec<(u32, f64)>)| match bend(points) {
        Some((from, to)) if to == from + 1 => {
            format!("{name}: bends at {}", format::plural(from.into(), "worker"))
        }
        Some((from, to)) => format!("{name}: bends between {from} and {to} workers"),
        None => {
            let (fewest, most) = (points[0].0, points[points.len() - 1].0);
            format!("{name}: does not bend between {fewest} and {}", format::plural(most.into(), "worker"))
        }
    };
    let mut bends: Vec<String> = curves.iter().map(of).collect();
    if !bends.is_empty() {
        bends.push(
            "a curve bends where each worker more brings less than half of what each of its first point brings"
                .to_owned(),
        );
    }
    bends
}
