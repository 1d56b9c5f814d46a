//! The page of a grid over workers.

use std::ops::RangeInclusive;

use assay_results::worker_grid::WorkerGrid;
use maud::{Markup, html};

use super::table::number;
use super::{document, figure};
use crate::charts::tick_name;
use crate::svg::{Axis, COLOURS, Chart, Line, Scale};
use crate::worker_grid::{HEADS, bends, place, remarks, row};

/// Columns of numbers.
const NUMBERS: RangeInclusive<usize> = 1..=6;

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
