//! A run phase by phase.

use assay_results::Run;
use assay_results::run::{JobResult, PhaseResult};
use assay_workload::PhaseKind;
use maud::{Markup, html};

use super::table::{conditions_line, hosts_of, number, operations, verdict_mark};
use super::{figures, grid, repeats};
use crate::service;
use crate::svg::Chart;
use crate::{charts, conditions, format, rounds};

/// From so many measured jobs on there is a table of all of them first.
const OVERVIEW_MIN: usize = 2;
/// Up to so many jobs of a phase have their latencies drawn at once.
const FIGURES_OPEN_MAX: usize = 3;
/// Up to so many measuring phases stand open.
const OPEN_MAX: usize = 4;

/// More jobs or phases than this stand behind a line that says how many they are.
const LIST_MAX: usize = 40;

/// Overview, curves, then every phase.
pub(super) fn results(run: &Run) -> Markup {
    let measured = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let jobs: usize = measured.clone().map(|phase| phase.jobs.len()).sum();
    let open = measured.count() <= OPEN_MAX;
    let phases = run.phases.iter().enumerate();
    let shown: Vec<_> = phases.filter(|(_, one)| !rounds::is_lead_in(run, one)).collect();
    html! {
        section #results {
            h2 { "Results" }
            @if run.phases.is_empty() { p { "No phase was run." } }
            (grid::tables(run))
            (repeats::table(run))
            (service_levels(run))
            @if jobs >= OVERVIEW_MIN { (listed(jobs, "measured jobs", &overview(run))) }
            (figures(charts::curves(run).into_iter().chain(rounds::rounds(run)).map(Some)))
            (listed(shown.len(), "phases", &html! {
                @for (index, one) in &shown { (phase(run, one, *index, open)) }
            }))
            @for note in &run.notes { p .dim { "Note: " (note) } }
        }
    }
}

/// The service levels of all phases in one table, and the score of tiles.
fn service_levels(run: &Run) -> Markup {
    let groups = service::groups(run);
    html! {
        @if !groups.is_empty() {
            h3 { "Service levels" }
            @if let Some(score) = service::score(run) { p { strong { (score) } } }
            div .scroll {
                table .rows {
                    thead { tr { th scope="col" { "phase" } @for head in service::HEADS { th scope="col" { (head) } } } }
                    tbody {
                        @for group in &groups {
                            @for row in &group.rows {
                                tr {
                                    th scope="row" { (group.title) }
                                    @for (head, cell) in service::HEADS.iter().zip(&row.cells) {
                                        td .suspect[!row.held] data-h=(head) { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// So many of them: a long list behind a line.
fn listed(count: usize, what: &str, list: &Markup) -> Markup {
    html! {
        @if count > LIST_MAX { details .phase { summary { h3 { "All " (count) " " (what) } } (list) } } @else { (list) }
    }
}

/// A row per measured job. A column has one definition: completion latency is known of all, the response time only where
/// operations were due at a time.
fn overview(run: &Run) -> Markup {
    let measured: Vec<&PhaseResult> =
        run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
    let mut jobs = measured.iter().flat_map(|phase| &phase.jobs);
    let paced = jobs.any(|job| job.total.response_ns.is_some());
    let mut heads = vec!["outstanding", "IOPS", "MiB/s"];
    if paced {
        heads.extend(["p50 response time", "p99 response time"]);
    }
    heads.extend(["p50 completion latency", "p99 completion latency"]);
    html! {
        table .rows .overview {
            thead { tr {
                th scope="col" { "phase and job" }
                @for head in &heads { th .n scope="col" { (head) } }
            } }
            tbody {
                @for phase in &measured { @for job in &phase.jobs { (overview_row(run, phase, job, &heads)) } }
            }
        }
    }
}

fn overview_row(run: &Run, phase: &PhaseResult, job: &JobResult, heads: &[&str]) -> Markup {
    let response = job.total.response_ns.unwrap_or_default();
    let completion = job.total.completion_ns;
    let mut cells = vec![
        known_count(job.outstanding_io),
        conditions::iops(&job.total),
        format::mib_per_s(job.total.bytes_per_s),
    ];
    if heads.len() > 5 {
        cells.extend([response.p50, response.p99].map(format::latency));
    }
    cells.extend([completion.p50, completion.p99].map(format::latency));
    html! {
        tr {
            th scope="row" {
                (title(run, phase))
                @if job.name != phase.name { " / " (job.name) }
                (conditions_line(&conditions::of_job(job)))
                (verdict_mark(run.row_or_step(phase, job)))
            }
            @for (head, cell) in heads.iter().zip(&cells) { (number(head, cell)) }
        }
    }
}

/// A count; empty where it is 0, which means that it is not known.
fn known_count(count: u64) -> String {
    if count > 0 { format::count(count) } else { String::new() }
}

fn title(run: &Run, phase: &PhaseResult) -> String {
    let repeats = run.repeats_of(phase);
    let repeat = if repeats > 1 { format!(", {} of {repeats}", phase.repeat + 1) } else { String::new() };
    format!("{}{repeat}", phase.title())
}

fn phase(run: &Run, phase: &PhaseResult, index: usize, open: bool) -> Markup {
    let measure = phase.kind == PhaseKind::Measure;
    html! {
        details .phase open[measure && open] {
            summary {
                h3 { (title(run, phase)) }
                span .dim { @if !measure { (phase.kind.name()) ", " } (format::seconds(phase.measured_s)) }
            }
            @for job in &phase.jobs { (job_part(phase, job)) }
            @for (name, metric) in &phase.metrics {
                p { (name) ": " strong { (format::significant(metric.value)) " " (metric.unit) }
                    (format::of_metric(metric))
                }
            }
            (phase_figures(phase, index))
        }
    }
}

fn job_part(phase: &PhaseResult, job: &JobResult) -> Markup {
    html! {
        div .job {
            @if job.name != phase.name { h4 { (job.name) } }
            (conditions_line(&conditions::of_job(job)))
            (operations(job))
            (hosts_of(phase, job))
            @for remark in conditions::remarks(job) { p .remark { (remark) } }
            (data_errors(job))
            p .dim { (conditions::instrument(job)) }
        }
    }
}

/// Every error of the data that was kept, with the bytes expected and found.
fn data_errors(job: &JobResult) -> Markup {
    let errors = job.data.iter().flat_map(|data| &data.errors);
    html! {
        @if errors.clone().next().is_some() {
            details { summary { "Wrong blocks, expected and found" }
                table .rows {
                    thead { tr { @for head in ["what", "expected bytes", "found bytes"] { th scope="col" { (head) } } } }
                    tbody {
                        @for error in errors {
                            tr {
                                th scope="row" { (error.describe()) }
                                td { code { (error.expected_hex) } }
                                td { code { (error.found_hex) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The drawings of a phase: all jobs over time together, then latencies job by job; of many jobs behind a line each.
fn phase_figures(phase: &PhaseResult, index: usize) -> Markup {
    let several = phase.jobs.len() > 1;
    let latencies = |place: usize, job: &JobResult| {
        let id = format!("p{index}-j{place}");
        let drawn = [
            charts::latency_over_time(&format!("{id}-time"), job),
            charts::latency_percentiles(&format!("{id}-percentiles"), job),
            charts::latency_histogram(&format!("{id}-histogram"), job),
        ];
        drawn.map(|chart| {
            chart.map(|chart| {
                let title = if several { format!("{}: {}", job.name, chart.title) } else { chart.title };
                Chart { title, ..chart }
            })
        })
    };
    let jobs = || phase.jobs.iter().enumerate();
    let mut drawn = vec![charts::iops_over_time(&format!("p{index}-iops"), &phase.jobs)];
    let folded = phase.jobs.len() > FIGURES_OPEN_MAX;
    if !folded {
        drawn.extend(jobs().flat_map(|(place, job)| latencies(place, job)));
    }
    drawn.push(charts::processors_over_time(&format!("p{index}-cpu"), &phase.evidence));
    html! {
        (figures(drawn))
        @if folded {
            @for (place, job) in jobs() {
                details { summary { "Latencies of " (job.name) } (figures(latencies(place, job))) }
            }
        }
    }
}
