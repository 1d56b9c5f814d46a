//! How a plan's figures changed from run to run.

use assay_report::format;
use assay_report::html::figure;
use assay_report::svg::{Axis, Chart, Line, Scale};
use assay_results::baseline::Baseline;
use maud::{Markup, html};

use super::layout::{Place, address, moment, page};
use crate::app::App;
use crate::index::Setting;
use crate::trend::{RUNS_MAX, Trend};

/// The page of all plans, or of one in a setting.
pub(crate) fn trend(
    app: &App,
    plans: &[(String, u64)],
    chosen: Option<(&str, &[Setting], &Setting)>,
    (trends, baselines): (&[Trend], &[Baseline]),
) -> String {
    let body = html! {
        h1 { "Trends" }
        form .search method="get" action="/trend" {
            div .wide {
                label for="plan" { "Plan" }
                select #plan name="plan" {
                    @for (plan, n) in plans { option value=(plan) selected[chosen.is_some_and(|(name, ..)| name == plan)] { (plan) " (" (n) ")" } }
                }
            }
            button type="submit" { "Show" }
        }
        @match chosen {
            None => { p .dim { "No plan has a result yet." } }
            Some((plan, settings, setting)) => {
                (places(plan, settings, setting))
                (changes(trends))
                @if !trends.is_empty() {
                    h2 { "Each test from run to run" }
                    div .figures { @for (index, trend) in trends.iter().enumerate() { (drawing(index, trend, baselines)) } }
                }
                @if trends.is_empty() { p { "No run of this plan has a result here." } }
                (about())
            }
        }
    };
    page(app, Place::Trend, "Trends", &body)
}

fn places(plan: &str, settings: &[Setting], chosen: &Setting) -> Markup {
    html! {
        @if settings.len() > 1 {
            p { "Measured on" }
            ul .links {
                @for one in settings {
                    @let to = address("/trend", &[("plan", plan), ("host", &one.host), ("target", &one.target)]);
                    li { a href=(to) aria-current=[(one == chosen).then_some("true")] { (one.host) " " (one.target) " (" (one.runs) ")" } }
                }
            }
        } @else {
            p .place { (chosen.host) " " (chosen.target) ", " (format::plural(chosen.runs, "run")) }
        }
    }
}

/// All changes in one table.
fn changes(trends: &[Trend]) -> Markup {
    let all: Vec<_> =
        trends.iter().flat_map(|trend| trend.changes.iter().map(move |change| (trend, change))).collect();
    html! {
        h2 { "Changes" }
        @if all.is_empty() { p { "No change of level is shown." } } @else {
            div .scroll tabindex="0" role="region" aria-label="Changes" {
                table .rows {
                    thead { tr {
                        th scope="col" { "test" } th scope="col" { "from run" } th .n scope="col" { "before" } th .n scope="col" { "after" }
                        th .n scope="col" { "change" } th .n scope="col" { "p" }
                    } }
                    tbody { @for (trend, change) in all {
                        @let point = &trend.points[change.at];
                        @let up = change.after >= change.before;
                        tr {
                            th scope="row" { (trend.test) }
                            td data-h="from run" { a href={ "/runs/" (point.id) } { "number " (change.at + 1) ", " (moment(&point.started)) } }
                            td .n data-h="before" { (amount(change.before, &point.unit)) }
                            td .n data-h="after" { (amount(change.after, &point.unit)) }
                            td .n data-h="change" { span .mark .(if up { "valid" } else { "invalid" }) { (signed(change.relative())) } }
                            td .n data-h="p" { (format!("{:.3}", change.p)) }
                        }
                    } }
                }
            }
        }
    }
}

fn amount(value: f64, unit: &str) -> String {
    if unit == "IOPS" { format!("{} IOPS", format::iops(value)) } else { format::bandwidth(value) }
}

fn signed(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0))
}

/// A test from run to run: its figures, the level of each stretch, changes marked, baselines as lines.
fn drawing(index: usize, trend: &Trend, baselines: &[Baseline]) -> Markup {
    let Some(first) = trend.points.first() else {
        return html! { div { h3 { (trend.test) } p .dim { "No run has a figure that may be believed." } } };
    };
    let n = trend.points.len();
    let unit = first.unit.as_str();
    let of_baselines: Vec<(&str, f64)> = baselines
        .iter()
        .filter_map(|one| {
            let test = one.tests.iter().find(|test| test.name == trend.test)?;
            let value = if unit == "IOPS" { Some(test.iops) } else { test.bytes_per_s };
            Some((one.name.as_str(), value?))
        })
        .collect();
    let highest = trend.points.iter().map(|point| point.value).fold(0.0, f64::max);
    // A baseline far away would make the changes of the runs invisible.
    let drawn: Vec<_> = of_baselines.iter().filter(|(_, value)| *value <= highest * 2.0).collect();
    let top = drawn.iter().map(|(_, value)| *value).fold(highest, f64::max) * 1.1;
    let run_of = |place: usize| place as f64 + 1.0;
    let mut lines = vec![Line {
        name: "each run".to_owned(),
        points: trend.points.iter().enumerate().map(|(at, point)| (run_of(at), Some(point.value))).collect(),
        marked: true,
        ..Line::default()
    }];
    if !trend.changes.is_empty() {
        lines.push(levels(trend));
    }
    lines.extend(drawn.iter().enumerate().map(|(colour, (name, value))| Line {
        name: format!("baseline {name}"),
        colour: colour + 2,
        dashed: true,
        points: vec![(1.0, Some(*value)), (run_of(n - 1).max(1.5), Some(*value))],
        ..Line::default()
    }));
    let marks = trend
        .changes
        .iter()
        .map(|change| (run_of(change.at), format!("run {}: {}", change.at + 1, signed(change.relative()))));
    let hints = trend.points.iter().enumerate().map(|(at, point)| {
        let p99 = point.p99_ns.map_or(String::new(), |ns| format!(", p99 {}", format::time_ns(ns)));
        let words = format!(
            "run {}, {}, {}: {}{p99}",
            at + 1,
            point.id,
            moment(&point.started),
            amount(point.value, unit)
        );
        (run_of(at) - 0.5, run_of(at) + 0.5, words)
    });
    let last = run_of(n - 1).max(2.0);
    let chart = Chart {
        id: format!("trend-{index}"),
        title: trend.test.clone(),
        description: sentence(trend, unit),
        x: axis_of_runs(last),
        y: Axis::new(
            if unit == "IOPS" { "IOPS" } else { "MiB/s" },
            Scale::Linear { low: 0.0, high: top.max(1.0) },
            |value| {
                if unit == "IOPS" { format::iops(value) } else { format::mib_per_s(value) }
            },
        ),
        lines,
        hints: hints.collect(),
        marks: marks.collect(),
    };
    html! { (figure(&chart)) }
}

/// Runs by number: there is none between two.
fn axis_of_runs(last: f64) -> Axis {
    let mut axis = Axis::new("run", Scale::Linear { low: 0.5, high: last + 0.5 }, |run| format!("{run:.0}"));
    axis.ticks.retain(|(run, _)| run.fract() == 0.0);
    axis
}

/// The median of each stretch between changes.
fn levels(trend: &Trend) -> Line {
    let mut points = Vec::new();
    for (index, change) in trend.changes.iter().enumerate() {
        let begin = if index == 0 { 0 } else { trend.changes[index - 1].at };
        points.extend([
            (begin as f64 + 0.6, Some(change.before)),
            (change.at as f64 + 0.4, Some(change.before)),
            (change.at as f64 + 0.5, None),
        ]);
    }
    if let Some(last) = trend.changes.last() {
        points.extend([
            (last.at as f64 + 0.6, Some(last.after)),
            (trend.points.len() as f64 + 0.4, Some(last.after)),
        ]);
    }
    Line { name: "level".to_owned(), colour: 1, points, ..Line::default() }
}

fn sentence(trend: &Trend, unit: &str) -> String {
    let newest = trend.points.last().map_or(0.0, |point| point.value);
    let mut words = format!(
        "{} of {}; the newest: {}.",
        trend.test,
        format::plural(trend.points.len() as u64, "run"),
        amount(newest, unit)
    );
    for change in &trend.changes {
        let point = &trend.points[change.at];
        words.push_str(&format!(
            " From run {} on ({}): {}, {} before, {} after.",
            change.at + 1,
            moment(&point.started),
            signed(change.relative()),
            amount(change.before, unit),
            amount(change.after, unit)
        ));
    }
    if trend.left_out > 0 {
        words.push_str(&format!(
            " Left out: {} with invalid or incomplete figures.",
            format::plural(trend.left_out as u64, "run")
        ));
    }
    words
}

fn about() -> Markup {
    html! {
        section .words {
            h2 { "How changes are found" }
            p {
                "E-divisive with means (Matteson and James 2014), each change tested against 199 random orders of the runs at 5 %. \
                 A series without a change shows one in at most 5 % of cases. A change of 10 % is found once two runs have shown it where runs differ by \
                 2 %. The newest " (RUNS_MAX) " runs of a plan on one host and target are looked at; invalid and incomplete figures are left out."
            }
        }
    }
}
