//! One page for one run, complete in itself: nothing loaded from elsewhere, every text escaped.
//!
//! Drawings are SVG in the page and take their colours from its style sheet, in light, in the dark and on paper. The only script is
//! our own, a constant: it lets drawings be zoomed and read by pointer and keyboard, and nothing is missing without it.

mod about;
mod compare;
mod curve;
mod devices;
mod grid;
mod header;
mod phases;
mod quick;
mod quick_hosts;
mod repeats;
mod table;
mod unbroken;
mod worker_grid;

use assay_results::Run;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use compare::comparison;
pub use quick_hosts::quick_hosts;
pub use worker_grid::worker_grid;

use crate::quick::Reference;
use crate::svg::{Chart, HeatMap};
use crate::text::visible_lines;

/// The style sheet, part of the page.
pub const STYLE: &str = include_str!("html/style.css");

/// The script, part of every page with drawings.
const SCRIPT: &str = include_str!("html/charts.js");

/// Every script that a page may have in it.
pub fn scripts() -> Vec<&'static str> {
    vec![SCRIPT]
}

/// The page of a run. `references` are what a quick series is compared with.
pub fn page(run: &Run, references: &[Reference]) -> String {
    let body = html! {
        (header::header(run))
        main {
            @if !is_quick(run) { (phases::picture(run)) }
            (header::findings(run))
            @if is_quick(run) { (quick::results(run, references)) } @else { (phases::results(run)) }
            (devices::truth(run))
            (about::environment(run))
            (about::plan(run))
            (about::how_to_read(run))
            (about::provenance(run))
        }
    };
    document(&title(run), &format!("Assay {}", run.assay.version), "", &body)
}

/// What distinguishes a page among many tabs and files: name, host, first target and date.
fn title(run: &Run) -> String {
    let mut parts = vec![run.name.clone()];
    parts.extend(run.environment.machine.hostname.clone());
    let targets = &run.environment.targets;
    parts.extend(targets.first().map(|first| match targets.len() {
        1 => first.path.clone(),
        many => format!("{} and {} more", first.path, many - 1),
    }));
    parts.extend(run.started.split('T').next().filter(|date| !date.is_empty()).map(str::to_owned));
    parts.join(" – ")
}

/// The page around a body; `style` is what it needs beside the style sheet of all pages.
pub(crate) fn document(title: &str, generator: &str, style: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(generator);
                title { (title) " – Assay" }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Control characters are not allowed in HTML, and names may hold some.
    visible_lines(&markup.into_string(), false).replace('\t', " ")
}

/// Findings as cards, the gravest first.
pub(crate) fn finding_cards(findings: &[assay_results::Finding]) -> Markup {
    header::finding_cards(findings)
}

/// Whether a run is shown as a series of tests instead of as phases.
fn is_quick(run: &Run) -> bool {
    run.plan.series.is_some()
}

/// A drawing with its title above and its legend and description below.
pub fn figure(chart: &Chart) -> Markup {
    html! {
        figure {
            p .figure-title { (chart.title) }
            (chart.draw())
            figcaption {
                @if chart.lines.iter().any(|line| !line.name.is_empty()) {
                    ul .legend {
                        @for line in &chart.lines {
                            @let dashed = if line.dashed { " dashed" } else { "" };
                            li { span class={ "swatch s" (line.colour % crate::svg::COLOURS) (dashed) } {} (line.name) }
                        }
                    }
                }
                p { (chart.description) }
                (numbers(chart))
            }
        }
    }
}

/// A heat map with its title above, and what its shades mean below.
pub(crate) fn heat_figure(map: &HeatMap) -> Markup {
    html! {
        figure {
            p .figure-title { (map.title) }
            (map.draw())
            figcaption {
                @if !map.key.is_empty() {
                    ul .legend {
                        @for (shade, words) in &map.key {
                            li {
                                svg .shade viewBox="0 0 12 12" aria-hidden="true" {
                                    rect .heat-back width="12" height="12" {}
                                    rect .heat width="12" height="12" fill-opacity=(format!("{shade:.2}")) {}
                                }
                                (words)
                            }
                        }
                    }
                }
                p { (map.description) " " (map.legend) }
            }
        }
    }
}

/// More numbers than this below a drawing are thinned out.
const NUMBERS_MAX: usize = 60;

/// What a pointer would show at each place, as a list for those who cannot point.
fn numbers(chart: &Chart) -> Markup {
    let step = chart.hints.len().div_ceil(NUMBERS_MAX).max(1);
    html! {
        @if !chart.hints.is_empty() {
            details .numbers {
                summary { "Numbers" @if step > 1 { " (one of each " (step) ")" } }
                ul { @for (_, _, words) in chart.hints.iter().step_by(step) { li { (words) } } }
            }
        }
    }
}

/// Drawings side by side where there is room.
fn figures(charts: impl IntoIterator<Item = Option<Chart>>) -> Markup {
    side_by_side(&charts.into_iter().flatten().map(|chart| figure(&chart)).collect::<Vec<_>>())
}

fn side_by_side(figures: &[Markup]) -> Markup {
    html! { @if !figures.is_empty() { div .figures { @for figure in figures { (figure) } } } }
}
