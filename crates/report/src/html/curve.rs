//! The points of each curve as one table.

use assay_results::Run;
use assay_results::run::{JobResult, PhaseResult};
use maud::{Markup, html};

use super::table::{number, verdict_mark};
use crate::curves::{curves, is_summed};

/// Whether tables of curves sum up all of these.
pub(super) fn sums_up(run: &Run, measured: &[(&PhaseResult, &JobResult)]) -> bool {
    let curves = curves(run);
    let is_max = |phase: &PhaseResult| phase.point.words().any(|word| word == "curve=max");
    !curves.is_empty() && measured.iter().all(|(phase, _)| is_summed(&curves, phase) || is_max(phase))
}

/// A table for each curve of a run.
pub(super) fn tables(run: &Run) -> Markup {
    html! {
        @for curve in curves(run) {
            @let heads = curve.heads();
            h3 .table-title { (curve.title()) }
            p .conditions { (curve.conditions()) }
            div .scroll tabindex="0" {
                table .rows {
                    thead { tr {
                        @for (index, head) in heads.iter().enumerate() { th .n[index > 0] scope="col" { (head) } }
                    } }
                    tbody {
                        @for (index, point) in curve.points.iter().enumerate() {
                            @let cells = curve.cells(point);
                            tr {
                                th scope="row" {
                                    (point.words) " " (verdict_mark(point.row))
                                    @if curve.knee == Some(index) { span .mark .knee { "knee" } }
                                }
                                @for (head, cell) in heads.iter().zip(&cells).skip(1) { (number(head, cell)) }
                            }
                        }
                    }
                }
            }
            p .dim { (curve.note()) }
        }
    }
}
