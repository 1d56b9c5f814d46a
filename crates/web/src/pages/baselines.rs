//! The baselines there are.

use assay_report::format;
use assay_results::baseline::Baseline;
use maud::{Markup, html};

use super::layout::{Place, moment, page};
use crate::app::App;

/// The page; `said` is what was done.
pub(crate) fn baselines(app: &App, all: &[Baseline], said: Option<&str>) -> String {
    let body = html! {
        h1 { "Baselines" }
        @if let Some(said) = said { p role="status" .remark { (said) } }
        p .dim { "Named figures that runs of the same series are compared with. 'Save as baseline' on the page of a run makes one." }
        @for one in all { (baseline(one)) }
    };
    page(app, Place::Baselines, "Baselines", &body)
}

fn baseline(one: &Baseline) -> Markup {
    let from = &one.provenance;
    let facts = [
        ("device", from.device.clone()),
        ("file system", from.file_system.clone()),
        ("kernel", from.kernel.clone()),
        ("measured", moment(&from.date)),
        ("by", from.source.clone()),
    ];
    html! {
        details .phase {
            summary {
                h2 .inline { (one.name) }
                span .dim { @if let Some(series) = &one.series { "series " (series) ", " } (format::plural(one.tests.len() as u64, "test")) }
            }
            dl {
                @for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) { dt { (name) } dd { (value) } }
                @if let Some(run) = &from.run_id { dt { "run" } dd { a href={ "/runs/" (run) } { (run) } } }
            }
            @for note in &one.footnotes { p .dim { (note) } }
            div .scroll tabindex="0" role="region" aria-label={ "Figures of " (one.name) } {
                table {
                    thead { tr { th scope="col" { "test" } th .n scope="col" { "IOPS" } th .n scope="col" { "bandwidth" } th .n scope="col" { "p99" } } }
                    tbody { @for test in &one.tests { tr {
                        th scope="row" { (test.name) }
                        td .n { (format::iops(test.iops)) }
                        td .n { (test.bytes_per_s.map_or(String::new(), format::bandwidth)) }
                        td .n { (test.completion_p99_ns.map_or(String::new(), |ns| format::time_ns(ns as f64))) }
                    } } }
                }
            }
        }
    }
}
