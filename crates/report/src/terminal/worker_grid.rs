//! A grid over workers on a terminal.

use assay_results::worker_grid::WorkerGrid;

use super::paragraph;
use crate::format;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};
use crate::worker_grid::{HEADS, bends, place, remarks, row};

/// Cells of the longest bar.
const BAR_CELLS: f64 = 40.0;

/// The table with a row for each cell, bars over the number of workers, and what is to be said of both.
pub fn worker_grid(grid: &WorkerGrid, style: &Style) -> String {
    let mut text = String::new();
    let column = |(index, head): (usize, &&str)| match index {
        0 => Column::words(head, Keep::Always),
        7 => Column::words(head, Keep::IfStacked(1)),
        8 => Column::words(head, Keep::IfRoom(8)),
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
    for (name, points) in grid.curves() {
        text.push('\n');
        paragraph(
            &mut text,
            Tone::Strong,
            &format!("IOPS over workers: {name}"),
            Hang { first: 0, rest: 2 },
            style,
        );
        let most = points.iter().fold(0.0_f64, |most, (_, iops)| most.max(*iops)).max(f64::MIN_POSITIVE);
        for (workers, iops) in points {
            let bar = "#".repeat((iops / most * BAR_CELLS).round() as usize);
            text.push_str(&format!("  {workers:>5}  {bar:<40}  {}\n", format::iops(iops)));
        }
    }
    text.push('\n');
    for words in place(grid).into_iter().chain(remarks(grid)).chain(bends(grid)) {
        paragraph(&mut text, Tone::Dim, &words, Hang { first: 0, rest: 2 }, style);
    }
    text
}

#[cfg(test)]
mod tests {
    use assay_results::run::Verdict;
    use assay_results::worker_grid::{CellRepeat, SCHEMA, WorkerCell};

    use super::*;

    fn cell(workers: u32, iops: [f64; 3], outlier: Option<usize>) -> WorkerCell {
        let repeat = |(at, iops): (usize, f64)| CellRepeat {
            iops,
            bytes_per_s: iops * 4096.0,
            p95_ns: Some(90_000),
            p99_ns: Some(120_000),
            is_outlier: outlier == Some(at),
        };
        WorkerCell {
            name: "assay-8vmdk-100ws-4k-100rdpct-100randompct-8threads".to_owned(),
            workers,
            run: Some("/runs/20261121T100000Z-assay_8vmdk-5a".to_owned()),
            started: format!("2026-11-2{workers}T10:00:00+00:00"),
            host: Some("h".to_owned()),
            verdict: Some(Verdict::Valid),
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
        let grid = WorkerGrid { schema: SCHEMA.to_owned(), asked: Vec::new(), cells };
        let text = worker_grid(&grid, &Style::plain(160));
        let expected = [
            "1,000",
            "2.0 %",
            "!2,090",
            "bends at 2 workers",
            "row 3: repetition 2 reached 700 IOPS",
            "1 of 4 cells is not finished",
            "not measured",
            "5a",
            "host h, started 2026-11-21T10:00:00+00:00 to 2026-11-28T10:00:00+00:00",
            "    2  ######",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
