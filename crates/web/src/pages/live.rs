//! The run that goes on.

use assay_report::format;
use assay_report::html::figure;
use assay_report::svg::{Axis, Chart, Line, Scale};
use assay_report::text::sentence;
use assay_results::FindingSeverity;
use assay_results::live::{LivePoint, LiveRun};
use maud::{Markup, PreEscaped, html};

use super::layout::{Place, page, secret};
use crate::app::App;
use crate::now::{Current, Ended};

/// Hosts that are listed.
const HOSTS_MAX: usize = 50;
/// Notes that are shown.
const NOTES_SHOWN: usize = 5;

/// The page: the part that changes, and what stops the run.
pub(crate) fn live(app: &App) -> String {
    let going = app.now.is_busy();
    let part = app.now.look(part);
    let body = html! {
        @if going {
            // Without scripts the page is loaded again.
            noscript { (PreEscaped("<meta http-equiv=\"refresh\" content=\"3\">")) }
        }
        div #live data-going=[going.then_some("yes")] { (part) }
        @if going && !app.read_only {
            form #stop method="post" action="/live/stop" { (secret(app)) button type="submit" { "Stop the run" } }
        }
    };
    page(app, Place::Live, "Live", &body)
}

/// The part that changes, for the stream of events.
pub(crate) fn live_part(app: &App) -> String {
    app.now.look(part).into_string()
}

fn part(current: Option<&Current>) -> Markup {
    let Some(current) = current else {
        return html! {
            h1 { "No run is going" }
            p { "A run that is started here is shown here while it goes on. Runs of 'assay run' in a terminal appear in the history." }
        };
    };
    let live = &current.live;
    html! {
        h1 { (current.title) }
        (state(current))
        @if current.ended.is_none() {
            (progress(current))
            @if let Some(hung) = &live.hung { p role="alert" .hung { "Hangs: " (hung) } }
        }
        (figures(live))
        (chart(live))
        (findings(live))
        (hosts(live))
        (notes(live))
    }
}

fn state(current: &Current) -> Markup {
    match &current.ended {
        Some(Ended::Kept(id)) => html! {
            p .verdict .valid role="status" { strong { "Ended" } span { "The result is " a #result href={ "/runs/" (id) } { "run " (id) } "." } }
        },
        Some(Ended::Nothing(why)) => {
            html! { p .verdict .invalid role="status" { strong { "No result" } span { (sentence(why)) } } }
        }
        None if current.stopping => {
            html! { p .verdict .incomplete { strong { "Stopping" } span { "What was measured is kept." } } }
        }
        None if current.live.id.is_empty() => {
            html! { p .verdict .info { strong { "Preparing" } span { @if current.stage.is_empty() { "Looking at the target." } @else { (sentence(&current.stage)) } } } }
        }
        None => {
            let (number, of) = current.live.number;
            html! { p .verdict .info {
                strong { "Running" }
                span { @if number > 0 { "Phase " (number) " of " (of) ": " (sentence(&current.live.phase)) } @else { "Before the first phase." } }
            } }
        }
    }
}

fn progress(current: &Current) -> Markup {
    let Some((done, left)) = current.live.progress(current.now()) else { return html! {} };
    let percent = (done.clamp(0.0, 1.0) * 100.0).floor();
    html! {
        div .progress {
            progress max="100" value=(percent) aria-label="Done" {}
            span { (percent) " % · " (format::seconds(left)) " left by the plan" }
        }
    }
}

fn figures(live: &LiveRun) -> Markup {
    let Some(point) = live.newest().or(live.points.back()) else { return html! {} };
    let latency = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| format::time_ns(ns as f64));
    let all = [
        ("IOPS", format::iops(point.iops)),
        ("bandwidth", format::bandwidth(point.bytes_per_s)),
        ("p50 completion", latency(point.p50_ns)),
        ("p99 completion", latency(point.p99_ns)),
        ("p99.9 completion", latency(point.p99_9_ns)),
    ];
    html! {
        dl .now { @for (name, value) in &all { div { dt { (name) } dd { (value) } } } }
        @if point.errors > 0 { p .remark { (format::plural(point.errors, "failed operation")) " in the last period" } }
    }
}

fn chart(live: &LiveRun) -> Markup {
    let points: Vec<&LivePoint> = live.points.iter().collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return html! {} };
    if points.len() < 2 {
        return html! {};
    }
    let span = Scale::Linear { low: first.at_s, high: last.at_s.max(first.at_s + 1.0) };
    let drawing = |id: &str,
                   title: &str,
                   label: &str,
                   value: &dyn Fn(&LivePoint) -> Option<f64>,
                   name: &dyn Fn(f64) -> String| Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!(
            "The last {}, {} to {} s from the start of the run.",
            format::plural(points.len() as u64, "reporting period"),
            first.at_s.round(),
            last.at_s.round()
        ),
        x: Axis::new("seconds from the start of the run", span, |s| ((s * 10.0).round() / 10.0).to_string()),
        y: Axis::new(label, Scale::from_zero(points.iter().filter_map(|point| value(point))), name),
        lines: vec![Line {
            points: points.iter().map(|point| (point.at_s, value(point))).collect(),
            filled: true,
            ..Line::default()
        }],
        hints: Vec::new(),
        marks: Vec::new(),
    };
    html! {
        div .figures {
            (figure(&drawing("live-iops", "Operations a second", "IOPS", &|point| Some(point.iops), &format::iops)))
            (figure(&drawing("live-p99", "p99 completion latency", "time", &|point| point.p99_ns.map(|ns| ns as f64), &format::time_ns)))
        }
    }
}

fn findings(live: &LiveRun) -> Markup {
    html! {
        @if !live.findings.is_empty() {
            section {
                h2 { "Findings of the phases that have ended" }
                @for one in &live.findings {
                    @let class = if one.severity == FindingSeverity::Invalid { "invalid" } else { "suspect" };
                    div .finding .(class) {
                        h3 { (one.id) span .severity { (class) } }
                        p { (one.message) }
                        p .where { (one.phase) @if one.more > 0 { ", and " (one.more) " more" } }
                    }
                }
            }
        }
    }
}

fn hosts(live: &LiveRun) -> Markup {
    html! {
        @if live.hosts.len() > 1 {
            section {
                h2 { "Workers" }
                table {
                    thead { tr { th scope="col" { "worker" } th .n scope="col" { "IOPS" } th .n scope="col" { "p99" } } }
                    tbody { @for host in live.hosts.values().take(HOSTS_MAX) { tr {
                        th scope="row" { (host.name) }
                        @match &host.lost {
                            Some(why) => { td colspan="2" .remark { "lost: " (why) } }
                            None => {
                                td .n { (host.iops.map_or("-".to_owned(), format::iops)) }
                                td .n { (host.p99_ns.map_or("-".to_owned(), |ns| format::time_ns(ns as f64))) }
                            }
                        }
                    } } }
                }
                @if live.hosts.len() > HOSTS_MAX { p .dim { "and " (live.hosts.len() - HOSTS_MAX) " more" } }
            }
        }
    }
}

fn notes(live: &LiveRun) -> Markup {
    html! {
        @if !live.notes.is_empty() {
            section {
                h2 { "Notes" }
                ul .notes { @for note in live.notes.iter().rev().take(NOTES_SHOWN) { li { (note) } } }
            }
        }
    }
}
