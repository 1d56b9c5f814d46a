//! Repeated tests as one table.

use assay_results::Run;
use maud::{Markup, html};

use crate::repeats::{TITLE, repeats};

/// Whether the table sums up what was measured.
pub(super) fn is_summed(run: &Run) -> bool {
    repeats(run).is_some()
}

/// The table of a run; nothing where no test was repeated.
pub(super) fn table(run: &Run) -> Markup {
    html! {
        @if let Some(repeats) = repeats(run) {
            h3 { (TITLE) }
            div .scroll tabindex="0" {
                table .rows {
                    thead { tr { @for (index, head) in repeats.heads.iter().enumerate() { th .n[index > 1] scope="col" { (head) } } } }
                    tbody {
                        @for row in &repeats.rows {
                            tr {
                                th scope="row" { (row[0]) }
                                @for (head, words) in repeats.heads.iter().zip(row).skip(1) {
                                    td .n[head != &repeats.heads[1]] data-h=(head) { (words) }
                                }
                            }
                        }
                    }
                }
            }
            p .dim { (repeats.note) }
        }
    }
}
