//! A quick series: every test in a row against the references, then each test in detail.

use assay_results::Run;
use assay_results::baseline::percent_of;
use assay_results::run::{JobResult, LatencySummary};
use maud::{Markup, html};

use super::figures;
use super::table::{conditions_line, number, operations, verdict_mark};
use crate::quick::{QuickRow, Reference, ReferenceIops, merged, reference_notes, row_jobs, rows, spoken};
use crate::svg::{Mark, Scale, log_ticks, range_plot, ratio_bar, sparkline};
use crate::{charts, conditions, format};

/// The table, its footnotes, and the details.
pub(super) fn results(run: &Run, references: &[Reference]) -> Markup {
    let rows = rows(run);
    html! {
        section #results {
            h2 { "Results" }
            @if rows.is_empty() { p { "No test was measured." } } @else {
                (table(run, &rows, references))
                (notes(&rows, references))
                @if rows.iter().any(|row| row.iops.interval.is_some()) {
                    details { summary { "In words" } ul { @for sentence in spoken(&rows, references) { li { (sentence) } } } }
                }
            }
        }
        @if !rows.is_empty() {
            section #tests {
                h2 { "Test by test" }
                details {
                    summary { (format::plural(rows.len() as u64, "test")) ": every window, percentiles, latency distributions" }
                    @for (index, row) in rows.iter().enumerate() { (detail(run, row, index)) }
                }
            }
        }
    }
}

/// The scales that all rows share.
struct Scales {
    ratio: Scale,
    iops: Scale,
}

fn table(run: &Run, rows: &[QuickRow], references: &[Reference]) -> Markup {
    let ratios = rows.iter().flat_map(|row| references.iter().filter_map(|reference| ratio(row, reference)));
    let values = rows.iter().flat_map(|row| {
        references.iter().filter_map(|reference| reference.of(row)).flat_map(ends).chain([row.iops.value])
    });
    let scales = Scales { ratio: Scale::around(ratios.chain([0.5, 2.0])), iops: Scale::around(values) };
    // One that has a value for a few rows only is not worth two columns: it goes where the ranges are drawn.
    let some_typical = references.iter().any(Reference::is_typical);
    let (typical, measured): (Vec<&Reference>, Vec<&Reference>) = references
        .iter()
        .partition(|reference| reference.is_typical() || (some_typical && !reference.covers(rows)));
    let flushes = rows.iter().any(|row| row.flush.is_some());
    let spans = 7 + 2 * measured.len() + usize::from(!typical.is_empty()) + usize::from(flushes);
    html! {
        (legend(&typical))
        table .rows .quick {
            thead { tr {
                th scope="col" { "test" }
                th .n scope="col" { "IOPS" }
                @for reference in &measured { th .n scope="col" { "% " (reference.title()) } th .plot scope="col" { (scale_names(scales.ratio, |factor| format!("×{factor}"))) } }
                @if !typical.is_empty() { th scope="col" { (scale_names(scales.iops, short)) } }
                @for head in ["MiB/s", "p50", "p99", "p99.9"] { th .n scope="col" { (head) } }
                @if flushes { th .n scope="col" { "flush p99" } }
                th scope="col" { "over time" }
            } }
            @for group in groups(rows) {
                @let shared = shared_conditions(group);
                tbody {
                    @if !group[0].group.is_empty() || !shared.is_empty() {
                        tr .group { th colspan=(spans) scope="rowgroup" { (group[0].group) (conditions_line(&shared)) } }
                    }
                    @for row in group { (table_row(run, row, &shared, (&measured, &typical), flushes, &scales)) }
                }
            }
        }
    }
}

fn groups(rows: &[QuickRow]) -> Vec<&[QuickRow]> {
    rows.chunk_by(|a, b| a.group == b.group).collect()
}

/// The conditions that all rows of a group have in common: said once above them.
fn shared_conditions(group: &[QuickRow]) -> Vec<String> {
    let Some((first, others)) = group.split_first() else { return Vec::new() };
    let everywhere = |fact: &&String| others.iter().all(|row| row.conditions.contains(fact));
    if others.is_empty() { Vec::new() } else { first.conditions.iter().filter(everywhere).cloned().collect() }
}

/// Powers of ten above drawings on a log scale.
fn scale_names(scale: Scale, name: impl Fn(f64) -> String) -> Markup {
    let Scale::Log { low, high } = scale else { return html! {} };
    let whole = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
    html! {
        div .axis-names {
            @for tick in log_ticks(low, high, 3).into_iter().filter(whole) {
                span style={ "left:" (format!("{:.1}", scale.place(tick) * 100.0)) "%" } { (name(tick)) }
            }
        }
    }
}

/// A power of ten in few characters: `10`, `10k`, `1M`.
fn short(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{}M", value / 1e6),
        _ if value >= 1e3 => format!("{}k", value / 1e3),
        _ => format!("{value}"),
    }
}

fn ends(value: ReferenceIops) -> [f64; 2] {
    match value {
        ReferenceIops::Measured(iops) => [iops, iops],
        ReferenceIops::Typical { low, high } => [low, high],
    }
}

fn ratio(row: &QuickRow, reference: &Reference) -> Option<f64> {
    match reference.of(row)? {
        ReferenceIops::Measured(iops) if iops > 0.0 => Some(row.iops.value / iops),
        _ => None,
    }
}

/// What the bars and the line of a row mean.
fn legend(typical: &[&Reference]) -> Markup {
    html! {
        @if !typical.is_empty() {
            p .dim {
                span .key { span .here {} "measured here" }
                @for (colour, reference) in typical.iter().enumerate() {
                    " " span .key { span class={ "swatch s" (colour + 2) } {} @if reference.is_typical() { "typical " } (reference.title()) }
                }
                " (IOPS, log scale)"
            }
        }
    }
}

fn table_row(
    run: &Run,
    row: &QuickRow,
    shared: &[String],
    (measured, typical): (&[&Reference], &[&Reference]),
    flushes: bool,
    scales: &Scales,
) -> Markup {
    let LatencySummary { p50, p99, p99_9, .. } = row.completion;
    let own: Vec<String> = row.conditions.iter().filter(|fact| !shared.contains(fact)).cloned().collect();
    html! {
        tr {
            th scope="row" {
                (row.name) " "
                (verdict_mark(row.verdict.as_ref()))
                @for mark in row.marks() { span .mark .suspect { (mark) } " " }
                (conditions_line(&own))
            }
            td .n .main data-h="IOPS" {
                strong { (row.iops_words()) }
                @if let Some(interval) = row.iops.interval { span .interval { (format::interval(interval)) } }
            }
            @for reference in measured { (ratio_cells(row, reference, scales)) }
            @if !typical.is_empty() { td .plot data-h="against typical devices" { (typical_plot(row, typical, scales)) } }
            (number("MiB/s", &row.mib_per_s_words()))
            (number("p50", &format::latency(p50)))
            (number("p99", &format::latency(p99)))
            (number("p99.9", &format::latency(p99_9)))
            @if flushes { (number("flush p99", &row.flush.map_or_else(String::new, |flush| format::latency(flush.p99)))) }
            td .plot .time data-h="over time" { (over_time(run, row)) }
        }
    }
}

fn ratio_cells(row: &QuickRow, reference: &Reference, scales: &Scales) -> Markup {
    let head = format!("% {}", reference.title());
    let Some(ratio) = ratio(row, reference) else {
        return html! { (number(&head, "")) td .plot .none {} };
    };
    let percent = reference.of(row).and_then(|value| percent_of(row.iops.value, value.middle()));
    let percent = percent.map_or_else(String::new, |percent| format!("{} %", format::count(percent)));
    let title = format!("{percent} of {}", reference.title());
    html! {
        (number(&head, &percent))
        td .plot data-h="log scale" { (ratio_bar(ratio, scales.ratio, row.cached_mark().is_some(), &title)) }
    }
}

fn typical_plot(row: &QuickRow, typical: &[&Reference], scales: &Scales) -> Markup {
    let mut marks = Vec::new();
    let mut words = Vec::new();
    for (index, reference) in typical.iter().enumerate() {
        let Some(value) = reference.of(row) else { continue };
        let [low, high] = ends(value);
        marks.push(Mark { low, high, colour: index + 2 });
        words.push(match value {
            ReferenceIops::Measured(iops) => format!("{} {}", reference.title(), format::iops(iops)),
            ReferenceIops::Typical { .. } => {
                format!("typical {} {} to {}", reference.title(), format::iops(low), format::iops(high))
            }
        });
    }
    let title = format!("{} IOPS; {}", format::iops(row.iops.value), words.join("; "));
    range_plot(row.iops.value, row.iops.interval, &marks, scales.iops, &title)
}

/// One window: its periods. Several: each of them.
fn over_time(run: &Run, row: &QuickRow) -> Markup {
    let jobs = row_jobs(run, &row.name);
    let (values, what): (Vec<f64>, &str) = match jobs.as_slice() {
        [one] => (
            charts::whole_periods(&one.series).iter().map(|point| point.iops).collect(),
            "IOPS in each reporting period",
        ),
        several => (several.iter().map(|job| job.total.iops).collect(), "IOPS of each window"),
    };
    html! { @if values.len() > 1 { (sparkline(&values, what)) } }
}

fn notes(rows: &[QuickRow], references: &[Reference]) -> Markup {
    html! {
        ul .notes {
            li { "p50, p99, p99.9: completion latency (submission to completion)." }
            @if rows.iter().any(|row| row.flush.is_some()) {
                li { "flush p99: 99 of 100 fsync or fdatasync calls completed within it; the writes' own latency does not include it." }
            }
            @if rows.iter().any(|row| row.cached_mark().is_some()) {
                li { "cached: share of the bytes read that no device delivered; they came from memory, and the bar is hatched." }
            }
            @for note in reference_notes(references) { li { (note) } }
        }
    }
}

fn detail(run: &Run, row: &QuickRow, index: usize) -> Markup {
    let jobs = row_jobs(run, &row.name);
    html! {
        details .phase {
            summary { h3 { (row.name) } span .dim { (summary_line(row)) } }
            @for (window, job) in jobs.iter().enumerate() {
                div .job {
                    @if jobs.len() > 1 { h4 { "window " (window + 1) } }
                    (conditions_line(&conditions::of_job(job)))
                    (operations(job))
                    @for remark in conditions::remarks(job) { p .remark { (remark) } }
                    p .dim { (conditions::instrument(job)) }
                }
            }
            @if let Some(job) = merged(&jobs) { (detail_figures(&job, index)) }
        }
    }
}

/// The number with the shortest form of its conditions.
fn summary_line(row: &QuickRow) -> String {
    let mut facts = vec![format!("{} IOPS", row.iops_words())];
    if row.block_size_bytes > 0 {
        facts.push(format::bytes(row.block_size_bytes));
    }
    facts.push(format!("{} outstanding", format::count(row.outstanding_io)));
    facts.push(format!("p99 {}", format::latency(row.completion.p99)));
    facts.join(", ")
}

fn detail_figures(job: &JobResult, index: usize) -> Markup {
    figures([
        charts::latency_percentiles(&format!("t{index}-percentiles"), job),
        charts::latency_histogram(&format!("t{index}-histogram"), job),
    ])
}
