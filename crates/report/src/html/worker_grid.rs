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
/// Of more cells the pictures of their workers stand behind a line.
const CELLS_OPEN_MAX: usize = 3;
/// What stands before the number of a repetition, where there are so many at most.
const REPETITION: &str = "repetition ";
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
    let workers: Vec<Markup> = cells().filter_map(|(at, cell)| workers_figure(at, cell, grid)).collect();
    html! {
        @if is_repeated || !workers.is_empty() {
            section #repetitions {
                h2 { @if is_repeated { "Repetitions" } @else { "Workers" } }
                div .figures {
                    @if is_repeated { (totals_figure(grid)) }
                    @if workers.len() <= CELLS_OPEN_MAX { @for figure in &workers { (figure) } }
                }
                @if workers.len() > CELLS_OPEN_MAX {
                    details { summary { "Each worker of " (plural(workers.len() as u64, "cell")) }
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

fn workers_of<'a>(workers: &'a [CellWorker], name: &'a str) -> Bars<'a> {
    let is_hot = |worker: &CellWorker| worker.is_outlier || worker.lost_because.is_some();
    let bar = |worker: &'a CellWorker| Bar { name: &worker.name, value: worker.iops, is_hot: is_hot(worker) };
    Bars { name, bars: workers.iter().map(bar).collect() }
}

/// The workers of a repetition, those that do the same thing together, with a name that tells the parts of all repetitions apart.
fn parts<'a>(cell: &WorkerCell, number: u32, repeat: &'a CellRepeat) -> Vec<(String, &'a [CellWorker])> {
    let repetition = if cell.repeats.len() > 1 { format!("{REPETITION}{number}") } else { String::new() };
    let named = |workers: &'a [CellWorker]| {
        let job = workers[0].job.as_str();
        let both = if repetition.is_empty() || job.is_empty() { "" } else { ", " };
        (format!("{repetition}{both}{job}"), workers)
    };
    repeat.workers.chunk_by(|one, other| one.job == other.job).map(named).collect()
}

/// The workers of a cell in each of its repetitions; `None`: there is one, or they are not known.
fn workers_figure(at: usize, cell: &WorkerCell, grid: &WorkerGrid) -> Option<Markup> {
    let most = cell.repeats.iter().map(|repeat| repeat.workers.len()).max().filter(|most| *most > 1)?;
    let parts: Vec<(String, &[CellWorker])> =
        (1..).zip(&cell.repeats).flat_map(|(number, repeat)| parts(cell, number, repeat)).collect();
    let groups: Vec<Bars<'_>> = parts.iter().map(|(name, workers)| workers_of(workers, name)).collect();
    let title = match grid.cells.len() {
        1 => format!("IOPS of each of {most} workers"),
        _ => format!("IOPS of each of {most} workers, row {}", at + 1),
    };
    // Of many repetitions only the number has room.
    let is_short = cell.repeats.len() > REPETITIONS_NAMED_MAX;
    let title = if is_short { format!("{title}, by repetition") } else { title };
    let drawn: Vec<Bars<'_>> = groups
        .iter()
        .map(|group| match group.name.strip_prefix(REPETITION) {
            Some(number) if is_short => Bars { name: number, bars: group.bars.clone() },
            _ => group.clone(),
        })
        .collect();
    let all = || cell.repeats.iter().flat_map(|repeat| &repeat.workers);
    let names = |marked: fn(&CellWorker) -> bool| -> Vec<&str> {
        let names: BTreeSet<&str> =
            all().filter(|worker| marked(worker)).map(|worker| worker.name.as_str()).collect();
        names.into_iter().collect()
    };
    let differing = names(|worker| worker.is_outlier);
    let lost = names(|worker| worker.lost_because.is_some());
    let hot: Vec<String> = [("differs from the others", differing), ("lost", lost)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .collect();
    let hot = (!hot.is_empty()).then(|| hot.join("; "));
    Some(strip_figure(&title, &drawn, &ends_words(&groups), hot.as_deref()))
}

/// The lowest and the highest of all bars.
fn ends_words(groups: &[Bars<'_>]) -> String {
    let known = || {
        groups
            .iter()
            .flat_map(|group| group.bars.iter().filter_map(|bar| Some((group.name, bar.name, bar.value?))))
    };
    let of = |end: Option<(&str, &str, f64)>| match end {
        None => format::NOTHING.to_owned(),
        Some(("", name, iops)) => format!("{name} with {}", format::iops(iops)),
        Some((group, name, iops)) => format!("{name} in {group} with {}", format::iops(iops)),
    };
    let (low, high) =
        (known().min_by(|a, b| a.2.total_cmp(&b.2)), known().max_by(|a, b| a.2.total_cmp(&b.2)));
    format!("Lowest: {}; highest: {}; lines: medians.", of(low), of(high))
}
