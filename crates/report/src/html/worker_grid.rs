//! The page of a grid over workers.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use assay_results::worker_grid::{CellRepeat, CellWorker, WorkerCell, WorkerGrid};
use maud::{Markup, html};

use super::table::{number, strip_figure};
use super::{document, figure};
use crate::charts::tick_name;
use crate::format::{self, plural};
use crate::svg::{Axis, Bar, Bars, COLOURS, Chart, Line, Scale};
use crate::worker_grid::{HEADS, bends, place, remarks, row, spread_words};

/// Columns of numbers.
const NUMBERS: RangeInclusive<usize> = 1..=6;
/// More pictures of workers stand behind a line.
const PICTURES_OPEN_MAX: usize = 3;
/// Of more repetitions only the number stands below the bars.
const REPETITIONS_NAMED_MAX: usize = 5;

/// The page: curves over the number of workers, and a row for each cell.
pub fn worker_grid(grid: &WorkerGrid, title: &str) -> String {
    let body = html! {
        header {
            p .kind { "Assay · grid" }
            h1 { (title) }
            @if let Some(words) = place(grid) { p .place { (words) } }
        }
        main {
            @if let Some(chart) = chart(grid) { section #curve { h2 { "IOPS over workers" } (figure(&chart)) } }
            (repetitions(grid))
            section #cells {
                h2 { "Cells" }
                div .scroll tabindex="0" {
                    table .rows .cells {
                        thead { tr { @for (at, head) in HEADS.iter().enumerate() { th scope="col" .n[NUMBERS.contains(&at)] { (head) } } } }
                        tbody { @for cell in &grid.cells { (cells(&row(cell))) } }
                    }
                }
                @for words in remarks(grid) { p { (words) } }
            }
        }
    };
    document(title, "Assay", "", &body)
}

fn cells(words: &[String]) -> Markup {
    html! {
        tr {
            @for (at, words) in words.iter().enumerate() {
                // Words may take several lines; numbers may not.
                @if at == 0 { th scope="row" { (words) } }
                @else if NUMBERS.contains(&at) { (number(HEADS[at], words)) }
                @else { td data-h=(HEADS[at]) { (words) } }
            }
        }
    }
}

/// A line for each workload that was measured with several numbers of workers.
fn chart(grid: &WorkerGrid) -> Option<Chart> {
    let curves = grid.curves();
    let places = || curves.iter().flat_map(|(_, points)| points);
    let line = |at: usize, name: &str, points: &[(u32, f64)]| Line {
        name: name.to_owned(),
        colour: at % COLOURS,
        points: points.iter().map(|(workers, iops)| (f64::from(*workers), Some(*iops))).collect(),
        marked: true,
        ..Line::default()
    };
    let workers = places().map(|(workers, _)| f64::from(*workers));
    let mut x = Axis::new("workers", Scale::from_zero(workers), tick_name);
    x.ticks.retain(|(workers, _)| workers.fract() == 0.0);
    (!curves.is_empty()).then(|| Chart {
        id: "workers".to_owned(),
        title: "IOPS over workers".to_owned(),
        description: bends(grid).join("; "),
        x,
        y: Axis::new("IOPS", Scale::from_zero(places().map(|(_, iops)| *iops)), tick_name),
        lines: curves.iter().enumerate().map(|(at, (name, points))| line(at, name, points)).collect(),
        hints: Vec::new(),
        marks: Vec::new(),
    })
}

/// What each repetition reached, and each worker in it, side by side.
fn repetitions(grid: &WorkerGrid) -> Markup {
    let cells = || grid.cells.iter().enumerate().filter(|(_, cell)| !cell.repeats.is_empty());
    let is_repeated = cells().any(|(_, cell)| cell.repeats.len() > 1);
    let workers: Vec<Markup> = cells().flat_map(|(at, cell)| workers_figures(at, cell, grid)).collect();
    html! {
        @if is_repeated || !workers.is_empty() {
            section #repetitions {
                h2 { @if is_repeated { "Repetitions" } @else { "Workers" } }
                div .figures {
                    @if is_repeated { (totals_figure(grid)) }
                    @if workers.len() <= PICTURES_OPEN_MAX { @for figure in &workers { (figure) } }
                }
                @if workers.len() > PICTURES_OPEN_MAX {
                    details { summary { "Each worker: " (plural(workers.len() as u64, "picture")) }
                        div .figures { @for figure in &workers { (figure) } }
                    }
                }
            }
        }
    }
}

/// Names of the repetitions of a cell.
fn numbers(cell: &WorkerCell) -> Vec<String> {
    (1..=cell.repeats.len()).map(|number| number.to_string()).collect()
}

/// A bar for each repetition, those of a cell together.
fn totals_figure(grid: &WorkerGrid) -> Markup {
    let is_alone = grid.cells.len() == 1;
    let names: Vec<(String, Vec<String>)> = (1..)
        .zip(&grid.cells)
        .map(|(row, cell)| (if is_alone { String::new() } else { format!("row {row}") }, numbers(cell)))
        .collect();
    let groups: Vec<Bars<'_>> =
        grid.cells.iter().zip(&names).map(|(cell, (name, numbers))| totals_of(cell, name, numbers)).collect();
    let hot = grid.cells.iter().flat_map(|cell| &cell.repeats).any(|repeat| repeat.is_outlier);
    strip_figure(
        "IOPS of each repetition, all workers together",
        &groups,
        &spread_words(grid),
        hot.then_some("far from the others of its row"),
    )
}

fn totals_of<'a>(cell: &WorkerCell, name: &'a str, numbers: &'a [String]) -> Bars<'a> {
    let repeats = cell.repeats.iter().zip(numbers);
    let bars = repeats
        .map(|(repeat, name)| Bar { name, value: Some(repeat.iops), is_hot: repeat.is_outlier })
        .collect();
    Bars { name, bars }
}

/// The workers of a cell in each of its repetitions, a picture for those that do the same; none where there is one worker, or they are
/// not known.
fn workers_figures(at: usize, cell: &WorkerCell, grid: &WorkerGrid) -> Vec<Markup> {
    let mut jobs: Vec<&str> = Vec::new();
    for worker in cell.repeats.iter().flat_map(|repeat| &repeat.workers) {
        if !jobs.contains(&worker.job.as_str()) {
            jobs.push(&worker.job);
        }
    }
    let place = if grid.cells.len() == 1 { String::new() } else { format!(", row {}", at + 1) };
    let figure = |job: &str| {
        let doing = if job.is_empty() { String::new() } else { format!(", {job}") };
        let of_job = |repeat: &'_ CellRepeat| -> Vec<CellWorker> {
            repeat.workers.iter().filter(|worker| worker.job == job).cloned().collect()
        };
        workers_figure(&cell.repeats.iter().map(of_job).collect::<Vec<_>>(), &format!("{doing}{place}"))
    };
    jobs.into_iter().map(figure).collect()
}

/// Workers that do the same, by repetition.
fn workers_figure(repeats: &[Vec<CellWorker>], place: &str) -> Markup {
    let most = repeats.iter().map(Vec::len).max().unwrap_or(0);
    // Of many repetitions only the number has room.
    let is_short = repeats.len() > REPETITIONS_NAMED_MAX;
    let name = |number: usize| match repeats.len() {
        1 => String::new(),
        _ if is_short => number.to_string(),
        _ => format!("repetition {number}"),
    };
    let by = if is_short { ", by repetition" } else { "" };
    let each = if most == 1 { "" } else { "each of " };
    let title = format!("IOPS of {each}{}{place}{by}", plural(most as u64, "worker"));
    let names: Vec<String> = (1..=repeats.len()).map(name).collect();
    let is_hot = |worker: &CellWorker| worker.is_outlier || worker.lost_because.is_some();
    let groups = repeats.iter().zip(&names).map(|(workers, name)| {
        let bars = workers.iter();
        let bars = bars.map(|worker| Bar { name: &worker.name, value: worker.iops, is_hot: is_hot(worker) });
        Bars { name, bars: bars.collect() }
    });
    let marked = |is_marked: fn(&CellWorker) -> bool, what: &str| {
        let names: BTreeSet<&str> = repeats
            .iter()
            .flatten()
            .filter(|worker| is_marked(worker))
            .map(|worker| worker.name.as_str())
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let hot = [
        marked(|worker| worker.is_outlier, "differs from the others"),
        marked(|worker| worker.lost_because.is_some(), "lost"),
    ];
    let hot: Vec<String> = hot.into_iter().flatten().collect();
    let hot = (!hot.is_empty()).then(|| hot.join("; "));
    strip_figure(&title, &groups.collect::<Vec<_>>(), &ends_words(repeats), hot.as_deref())
}

/// The lowest and the highest of all.
fn ends_words(repeats: &[Vec<CellWorker>]) -> String {
    let of_repetition = |(number, workers): (usize, &'_ Vec<CellWorker>)| -> Vec<(usize, String, f64)> {
        workers.iter().filter_map(|worker| Some((number, worker.name.clone(), worker.iops?))).collect()
    };
    let known: Vec<(usize, String, f64)> = (1..).zip(repeats).flat_map(of_repetition).collect();
    let of = |end: Option<&(usize, String, f64)>| match end {
        None => format::NOTHING.to_owned(),
        Some((_, name, iops)) if repeats.len() == 1 => format!("{name} with {}", format::iops(*iops)),
        Some((number, name, iops)) => format!("{name} in repetition {number} with {}", format::iops(*iops)),
    };
    let low = known.iter().min_by(|a, b| a.2.total_cmp(&b.2));
    let high = known.iter().max_by(|a, b| a.2.total_cmp(&b.2));
    let lines = if repeats.len() == 1 { "line: median" } else { "lines: medians" };
    format!("Lowest: {}; highest: {}; {lines}.", of(low), of(high))
}
