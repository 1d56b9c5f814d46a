//! The page of the quick series of several hosts.

use maud::html;

use super::document;
use super::table::number;
use crate::quick_hosts::{self, QuickColumn};

/// One table, a column for each place, and what is to be known of them.
pub fn quick_hosts(columns: &[QuickColumn<'_>]) -> String {
    let words = quick_hosts::quick_hosts(columns);
    let title = columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
    let body = html! {
        header { p .kind { "Assay · quick" } h1 { (title) } }
        main {
            section #tests {
                div .wide {
                    table {
                        thead { tr { @for head in &words.heads { th scope="col" { (head) } } } }
                        tbody {
                            @for row in &words.rows {
                                tr {
                                    @for (at, cell) in row.iter().enumerate() {
                                        @if at == 0 { th scope="row" { (cell) } } @else { (number(&words.heads[at], cell)) }
                                    }
                                }
                            }
                        }
                    }
                }
                @for note in &words.notes { p { (note) } }
            }
        }
    };
    document(&title, "Assay", "", &body)
}
