//! Tables that become lists of cards on a phone: each cell carries its head.

use assay_results::run::{JobResult, LatencySummary, OpResult, PhaseResult, Row};
use maud::{Markup, html};

use super::heat_figure;
use crate::svg::{Bar, Bars, strip, strip_words};
use crate::{charts, conditions, format, hosts};

/// A cell of numbers under a head.
pub(super) fn number(head: &str, value: &str) -> Markup {
    html! { td .n data-h=(head) .none[value.is_empty() || value == format::NOTHING] { (value) } }
}

/// The mark of a figure, with why as a hint; nothing for one that was not judged.
pub(super) fn verdict_mark(row: Option<&Row>) -> Markup {
    html! {
        @if let Some(row) = row {
            span .mark .(row.verdict.word()) title=[&row.because] {
                (row.verdict.word())
            }
            " "
        }
    }
}

/// The conditions of a job as one line of small print.
pub(super) fn conditions_line(facts: &[String]) -> Markup {
    html! { @if !facts.is_empty() { p .conditions { @for fact in facts { span { (fact) } } } } }
}

/// More hosts than this stand behind a line, with a picture of all of them in front.
const HOSTS_SHOWN_MAX: usize = 12;

/// A row per host of a job, where there are several, and what each did over time. `outliers` are those that a check found.
pub(super) fn hosts_of(phase: &PhaseResult, job: &JobResult, id: &str, outliers: &[&str]) -> Markup {
    let rows = hosts::of_job(phase, job);
    let over_time = charts::worker_map(&format!("{id}-workers"), job);
    let pictures = html! {
        div .figures {
            @if rows.len() > HOSTS_SHOWN_MAX { (strip_of(job, outliers)) }
            @if let Some(map) = &over_time { (heat_figure(map)) }
        }
    };
    html! {
        @if rows.len() > HOSTS_SHOWN_MAX {
            (pictures)
            details { summary { "All " (rows.len()) " workers" } (hosts_table(&rows)) }
        } @else {
            (hosts_table(&rows))
            @if over_time.is_some() { (pictures) }
        }
    }
}

fn strip_of(job: &JobResult, outliers: &[&str]) -> Markup {
    let iops = hosts::iops(job);
    let bars = iops.iter().map(|(name, value)| Bar { name, value: *value, is_hot: outliers.contains(name) });
    let title = format!("IOPS of each of {} workers, in their order", iops.len());
    let hot = (!outliers.is_empty()).then(|| format!("differs from the others: {}", outliers.join(", ")));
    strip_figure(&title, &[Bars { name: "", bars: bars.collect() }], &strip_words(&iops), hot.as_deref())
}

/// Bars with the words that sum them up, and with what the marked ones are, where there are any.
pub(super) fn strip_figure(title: &str, groups: &[Bars<'_>], words: &str, hot: Option<&str>) -> Markup {
    html! {
        figure {
            p .figure-title { (title) }
            (strip(groups, words))
            figcaption {
                @if let Some(hot) = hot { ul .legend { li { span .swatch .hot {} (hot) } } }
                p { (words) }
            }
        }
    }
}

fn hosts_table(rows: &[hosts::HostRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            div .scroll tabindex="0" {
                table .rows {
                    thead { tr {
                        th scope="col" { "host" }
                        @for head in hosts::NUMBERS { th .n scope="col" { (head) } }
                    } }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" {
                                    (row.name)
                                    @if !row.lost.is_empty() { p .conditions { span { (row.lost) } } }
                                }
                                @for (head, cell) in hosts::NUMBERS.iter().zip(&row.numbers) { (number(head, cell)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The operations of a job with all their percentiles.
pub(super) fn operations(job: &JobResult) -> Markup {
    html! {
        div .scroll tabindex="0" {
            table .rows {
                thead {
                    tr {
                        th scope="col" { "operation" }
                        @for head in ["IOPS", "MiB/s", "block"] { th .n scope="col" { (head) } }
                        th scope="col" { "of" }
                        @for head in ["p50", "p90", "p99", "p99.9", "p99.99", "max", "mean"] {
                            th .n scope="col" { (head) }
                        }
                    }
                }
                tbody {
                    @for (name, op) in conditions::operations(job) { (operation(name, op)) }
                }
            }
        }
    }
}

fn operation(name: &str, op: &OpResult) -> Markup {
    let latencies = [
        ("response time", op.response_ns),
        ("completion latency", Some(op.completion_ns)),
        ("submit latency", op.submit_ns),
    ];
    let bandwidth = if op.bytes > 0 { format::mib_per_s(op.bytes_per_s) } else { String::new() };
    let block = if op.block_size > 0 { format::bytes(op.block_size) } else { String::new() };
    html! {
        @for (index, (kind, latency)) in latencies.iter().filter_map(|(kind, l)| l.map(|l| (*kind, l))).enumerate() {
            tr .sub[index > 0] {
                th scope="row" { (name) }
                @if index == 0 {
                    (number("IOPS", &conditions::iops(op)))
                    (number("MiB/s", &bandwidth))
                    (number("block", &block))
                } @else {
                    @for head in ["IOPS", "MiB/s", "block"] { (number(head, "")) }
                }
                td data-h="of" { (kind) }
                (latency_cells(&latency))
            }
        }
    }
}

fn latency_cells(latency: &LatencySummary) -> Markup {
    let LatencySummary { p50, p90, p99, p99_9, p99_99, max, mean, n, .. } = *latency;
    let values = [
        ("p50", p50),
        ("p90", p90),
        ("p99", p99),
        ("p99.9", p99_9),
        ("p99.99", p99_99),
        ("max", (n > 0).then_some(max)),
    ];
    html! {
        @for (head, value) in values { (number(head, &format::latency(value))) }
        (number("mean", &if n > 0 { format::time_ns(mean) } else { String::new() }))
    }
}
