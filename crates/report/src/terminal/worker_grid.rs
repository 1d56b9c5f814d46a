//! A grid over workers on a terminal.

use assay_results::worker_grid::{CellRepeat, WorkerGrid};

use super::paragraph;
use crate::format;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};
use crate::worker_grid::{HEADS, bends, place, remarks, row};

/// Cells of the longest bar.
const BAR_CELLS: f64 = 40.0;
/// Cells whose repetitions are drawn at most.
const REPEATED_MAX: usize = 4;

/// The table with a row for each cell, bars over the number of workers, and what is to be said of both.
pub fn worker_grid(grid: &WorkerGrid, style: &Style) -> String {
    let mut text = String::new();
    let column = |(index, head): (usize, &&str)| match index {
        0 => Column::words(head, Keep::Always),
        7 => Column::words(head, Keep::Always),
        8 => Column::words(head, Keep::IfStacked(1)),
        9 => Column::words(head, Keep::IfRoom(9)),
        1..=3 => Column::numbers(head, Keep::Always),
        _ => Column::numbers(head, Keep::IfRoom(index as u8)),
    };
    let mut table = Table::new(HEADS.iter().enumerate().map(column).collect());
    for cell in &grid.cells {
        let outlier = cell.repeats.iter().any(|repeat| repeat.is_outlier);
        let tone = |index| match index {
            2 if outlier => Tone::Warn,
            2 => Tone::Strong,
            _ => Tone::Plain,
        };
        table
            .row(row(cell).into_iter().enumerate().map(|(at, words)| Cell::toned(words, tone(at))).collect());
    }
    text.push_str(&table.render(style));
    let curves = grid.curves();
    for (name, points) in &curves {
        let bars = points.iter().map(|(workers, iops)| (workers.to_string(), *iops, false)).collect();
        push_bars(&mut text, &format!("IOPS over workers: {name}"), bars, style);
    }
    // Bars over the workers say more; of many cells the page has them.
    if curves.is_empty() && grid.cells.len() <= REPEATED_MAX {
        for cell in grid.cells.iter().filter(|cell| cell.repeats.len() > 1) {
            let bar =
                |(number, repeat): (u32, &CellRepeat)| (number.to_string(), repeat.iops, repeat.is_outlier);
            let bars = (1..).zip(&cell.repeats).map(bar).collect();
            push_bars(&mut text, &format!("IOPS of each repetition: {}", cell.name), bars, style);
        }
    }
    text.push('\n');
    for words in place(grid).into_iter().chain(remarks(grid)).chain(bends(grid)) {
        paragraph(&mut text, Tone::Dim, &words, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// A bar for each of several numbers, those that are far from the others marked.
fn push_bars(text: &mut String, title: &str, bars: Vec<(String, f64, bool)>, style: &Style) {
    text.push('\n');
    paragraph(text, Tone::Strong, title, Hang { first: 0, rest: 2 }, style);
    let most = bars.iter().fold(0.0_f64, |most, (_, iops, _)| most.max(*iops)).max(f64::MIN_POSITIVE);
    for (number, iops, is_marked) in bars {
        let bar = "#".repeat((iops / most * BAR_CELLS).round() as usize);
        let mark = if is_marked { "!" } else { "" };
        text.push_str(&format!("  {number:>5}  {bar:<40}  {mark}{}\n", format::iops(iops)));
    }
}

#[cfg(test)]
mod tests {
    use assay_results::run::Verdict;
    use assay_results::worker_grid::{CellWorker, SCHEMA, WorkerCell};

    use super::*;

    fn cell(workers: u32, iops: [f64; 3], outlier: Option<usize>) -> WorkerCell {
        let repeat = |(at, iops): (usize, f64)| CellRepeat {
            iops,
            bytes_per_s: iops * 4096.0,
            p95_ns: Some(90_000),
            p99_ns: Some(120_000),
            is_outlier: outlier == Some(at),
            workers: Vec::new(),
        };
        WorkerCell {
            name: "assay-8vmdk-100ws-4k-100rdpct-100randompct-8threads".to_owned(),
            workers,
            run: Some("/runs/20261121T100000Z-assay_8vmdk-5a".to_owned()),
            started: format!("2026-11-2{workers}T10:00:00+00:00"),
            host: Some("h".to_owned()),
            verdict: Some(Verdict::Valid),
            ended_early: None,
            goal: None,
            found: Vec::new(),
            repeats: iops.into_iter().enumerate().map(repeat).collect(),
        }
    }

    #[test]
    fn a_grid_has_a_row_a_cell_bars_and_what_they_show() {
        let mut cells = vec![
            cell(1, [1000.0, 1010.0, 990.0], None),
            cell(2, [1990.0, 2010.0, 2000.0], None),
            cell(4, [2100.0, 700.0, 2090.0], Some(1)),
        ];
        cells.push(WorkerCell { verdict: None, repeats: Vec::new(), ..cell(8, [0.0; 3], None) });
        let grid =
            WorkerGrid { schema: SCHEMA.to_owned(), asked: Vec::new(), asked_in: String::new(), cells };
        let text = worker_grid(&grid, &Style::plain(160));
        let expected = [
            "1,000",
            "2.0 %",
            "!2,090",
            "bends between 2 and 4 workers",
            "row 3, repetition 2: 700 IOPS, far from the others",
            "1 of 4 cells is not finished, and is in no curve",
            "not measured",
            "5a",
            "host h, started 2026-11-21T10:00:00+00:00 to 2026-11-28T10:00:00+00:00",
            "    2  ######",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    /// Four workers with one workload, three times; in the second w3 did little.
    fn of_one_number() -> WorkerGrid {
        let mut only = cell(4, [4000.0, 3200.0, 4010.0], None);
        for (number, repeat) in only.repeats.iter_mut().enumerate() {
            let worker = |at: usize| CellWorker {
                name: format!("w{at}"),
                job: String::new(),
                iops: Some(if (number, at) == (1, 3) { 200.0 } else { 1000.0 }),
                is_outlier: (number, at) == (1, 3),
                lost_because: None,
            };
            repeat.workers = (0..4).map(worker).collect();
        }
        WorkerGrid {
            schema: SCHEMA.to_owned(),
            asked: Vec::new(),
            asked_in: String::new(),
            cells: vec![only],
        }
    }

    #[test]
    fn repetitions_of_one_number_of_workers_are_bars() {
        let text = worker_grid(&of_one_number(), &Style::plain(100));
        let expected = [
            "IOPS of each repetition: assay-8vmdk",
            "      1  ########################################  4,000\n",
            "      2  ################################          3,200\n",
            "row 1, repetition 2: w3 (200 IOPS) differs from the other workers (median 1,000 IOPS)",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn the_page_draws_repetitions_and_workers_and_marks_who_differs() {
        let page = crate::html::worker_grid(&of_one_number(), "Grid of 1 cell");
        let expected = [
            "IOPS of each repetition, all workers together",
            "Median 4,000 (line), 3,200 to 4,010: spread 20 %.",
            "IOPS of each of 4 workers",
            "differs from the others: w3",
            "Lowest: w3 in repetition 2 with 200; highest: w3 in repetition 3 with 1,000; lines: medians.",
        ];
        for part in expected {
            assert!(page.contains(part), "{part} in\n{page}");
        }
        assert_eq!((page.matches("class=\"bar ").count(), page.matches("bar hot").count()), (3 + 12, 1));
    }
}
