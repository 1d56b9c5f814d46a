//! A matrix of mixes and block sizes as one table.

use assay_results::Run;
use maud::{Markup, html};

use crate::format;
use crate::grid::{COLUMNS, CORNER, Grid, GridCell, grids};

/// The tables of a run; nothing without a grid.
pub(super) fn tables(run: &Run) -> Markup {
    html! { @for grid in grids(run) { (table(&grid)) } }
}

fn table(grid: &Grid) -> Markup {
    html! {
        h3 .matrix { (grid.title) " (" (COLUMNS) ")" }
        div .scroll tabindex="0" {
            table .rows .matrix {
                thead {
                    tr {
                        th scope="col" { (CORNER) }
                        @for mix in &grid.mixes { th .n scope="col" { (mix) } }
                    }
                }
                tbody {
                    @for (block, cells) in &grid.rows {
                        tr {
                            th scope="row" { (format::bytes(*block)) }
                            @for (mix, one) in grid.mixes.iter().zip(cells) { (cell(mix, one)) }
                        }
                    }
                }
            }
        }
        @for note in &grid.notes { p .dim { (note) } }
    }
}

fn cell(mix: &str, cell: &GridCell) -> Markup {
    let marked = !cell.marks().is_empty();
    html! {
        td .n .suspect[marked] data-h=(mix) {
            @if marked { span .sign-of-cell title=(cell.mark_words()) { (cell.marks()) } }
            (format::iops(cell.iops))
        }
    }
}
