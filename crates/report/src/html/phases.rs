//! A run phase by phase.

use assay_results::Run;
use assay_results::checks::outlier_workers;
use assay_results::run::{JobResult, PhaseResult};
use assay_workload::PhaseKind;
use maud::{Markup, html};

use super::table::{conditions_line, hosts_of, number, operations, verdict_mark};
use super::{curve, figure, figures, grid, heat_figure, repeats, side_by_side};
use crate::curves::curves;
use crate::notes::notes;
use crate::service;
use crate::svg::{Chart, HeatMap};
use crate::together::together;
use crate::{charts, conditions, format, rounds};

/// From so many measured jobs on there is a table of all of them first.
const OVERVIEW_MIN: usize = 2;
/// Up to so many jobs of a phase have their latencies drawn at once.
const FIGURES_OPEN_MAX: usize = 3;
/// Latencies of more jobs of a phase are not drawn: the page is to stay one that can be sent.
const FIGURES_MAX: usize = 24;
/// Steps of time of a heat map where there are many.
const STEPS_FEW: usize = 60;
/// Up to so many measuring phases stand open.
const OPEN_MAX: usize = 4;

/// More jobs or phases than this stand behind a line that says how many they are.
const LIST_MAX: usize = 40;
/// The same of phases that a table above sums up.
const SUMMED_MAX: usize = 8;

/// The pictures of the whole run: curves, rounds, or all phases one behind the other.
pub(super) fn picture(run: &Run) -> Markup {
    html! {
        div #picture { (figures(charts::whole(run).into_iter().chain(rounds::rounds(run)).map(Some))) }
    }
}

/// Tables of all measured jobs, then every phase.
pub(super) fn results(run: &Run) -> Markup {
    let measured: Vec<(&PhaseResult, &JobResult)> = run
        .phases
        .iter()
        .filter(|phase| phase.kind == PhaseKind::Measure)
        .flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
        .collect();
    let open = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).count() <= OPEN_MAX;
    let phases = run.phases.iter().enumerate();
    let shown: Vec<_> = phases.filter(|(_, one)| !rounds::is_lead_in(run, one)).collect();
    let summed = repeats::is_summed(run) || !curves(run).is_empty();
    let most = if summed { SUMMED_MAX } else { LIST_MAX };
    html! {
        section #results {
            h2 { "Results" }
            @if run.phases.is_empty() { p { "No phase was run." } }
            (grid::tables(run))
            (curve::tables(run))
            (repeats::table(run))
            (service_levels(run))
            @if measured.len() >= OVERVIEW_MIN { (overviews(run, &measured)) }
            (listed((shown.len(), most), "phases", &html! {
                @for (index, one) in &shown { (phase(run, one, *index, open)) }
            }))
            @for note in notes(run) { p .dim { "Note: " (note) } }
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
            div .scroll tabindex="0" {
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

/// The quoted figures in a table; the steps of a search, which are not its answer, and what a table of repetitions sums up, behind
/// a line each.
fn overviews(run: &Run, measured: &[(&PhaseResult, &JobResult)]) -> Markup {
    let quoted = |(phase, job): &(&PhaseResult, &JobResult)| {
        run.row(phase, job).is_some() || run.row_or_step(phase, job).is_none()
    };
    let (quoted, steps): (Vec<_>, Vec<_>) = measured.iter().copied().partition(quoted);
    let summed = repeats::is_summed(run) || curve::sums_up(run, &quoted);
    html! {
        @if summed && !quoted.is_empty() {
            details .phase { summary { h3 { @if quoted.len() == 1 { "The measured window" } @else { "Each of the " (quoted.len()) " measured windows" } } } (overview(run, &quoted)) }
        } @else {
            (listed((quoted.len(), LIST_MAX), "measured jobs", &overview(run, &quoted)))
        }
        @if !steps.is_empty() {
            details .phase {
                summary { h3 { "Steps of the search" } span .dim { (format::plural(steps.len() as u64, "window")) } }
                (overview(run, &steps))
            }
        }
    }
}

/// So many of them: a long list behind a line.
fn listed((count, most): (usize, usize), what: &str, list: &Markup) -> Markup {
    html! {
        @if count > most { details .phase { summary { h3 { "All " (count) " " (what) } } (list) } } @else { (list) }
    }
}

/// A row per measured job. A column has one definition: completion latency is known of all, the response time only where
/// operations were due at a time. Conditions that all rows share are said once, above.
fn overview(run: &Run, measured: &[(&PhaseResult, &JobResult)]) -> Markup {
    let paced = measured.iter().any(|(_, job)| job.total.response_ns.is_some());
    let mut heads = vec!["outstanding", "IOPS", "MiB/s"];
    if paced {
        heads.extend(["p50 response time", "p99 response time"]);
    }
    heads.extend(["p50 completion latency", "p99 completion latency"]);
    let conditions: Vec<Vec<String>> = measured.iter().map(|(_, job)| conditions::of_job(job)).collect();
    let shared = shared(&conditions);
    let one_job = measured.iter().all(|(_, job)| job.name == measured[0].1.name);
    html! {
        @if !shared.is_empty() { p .conditions .shared { @for fact in &shared { span { (fact) } } } }
        div .scroll tabindex="0" {
            table .rows .overview {
                thead { tr {
                    th scope="col" { "phase and job" }
                    @for head in &heads { th .n scope="col" { (head) } }
                } }
                tbody {
                    @for ((phase, job), own) in measured.iter().zip(&conditions) {
                        @let own: Vec<String> = own.iter().filter(|fact| !shared.contains(fact)).cloned().collect();
                        tr {
                            th scope="row" {
                                (title(run, phase))
                                @if job.name != phase.name && !one_job { " / " (job.name) }
                                " " (verdict_mark(run.row_of_repetition(phase, job).as_ref()))
                                (conditions_line(&own))
                            }
                            @for (head, cell) in heads.iter().zip(overview_cells(job, paced)) { (number(head, &cell)) }
                        }
                    }
                }
            }
        }
    }
}

/// What is in all of the lists, of more than one.
fn shared(lists: &[Vec<String>]) -> Vec<String> {
    let Some((first, others)) = lists.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    first.iter().filter(|fact| others.iter().all(|list| list.contains(fact))).cloned().collect()
}

fn overview_cells(job: &JobResult, paced: bool) -> Vec<String> {
    let response = job.total.response_ns.unwrap_or_default();
    let completion = job.total.completion_ns;
    let mut cells = vec![
        known_count(job.outstanding_io),
        conditions::iops(&job.total),
        format::mib_per_s(job.total.bytes_per_s),
    ];
    if paced {
        cells.extend([response.p50, response.p99].map(format::latency));
    }
    cells.extend([completion.p50, completion.p99].map(format::latency));
    cells
}

/// A count; empty where it is 0, which means that it is not known.
fn known_count(count: u64) -> String {
    if count > 0 { format::count(count) } else { String::new() }
}

fn title(run: &Run, phase: &PhaseResult) -> String {
    let repeats = run.repeats_of(phase);
    let repeat = if repeats > 1 {
        format!(", {} of {repeats}", phase.repeat.saturating_add(1))
    } else {
        String::new()
    };
    format!("{}{repeat}", phase.title())
}

fn phase(run: &Run, phase: &PhaseResult, index: usize, open: bool) -> Markup {
    let measure = phase.kind == PhaseKind::Measure;
    html! {
        details .phase open[measure && open] {
            summary {
                h3 { (title(run, phase)) }
                span .dim { @if !measure { (phase.kind.name()) ", " } (format::seconds(phase.measured_s)) @if measure { (brief(run, phase)) } }
            }
            (folded(phase.jobs.len(), &html! { @for (place, job) in phase.jobs.iter().enumerate() { (job_part(run, phase, (index, place), job)) } }))
            @for (name, metric) in &phase.metrics {
                p { (name) ": " strong { (format::significant(metric.value)) " " (metric.unit) }
                    (format::of_metric(metric))
                }
            }
            (phase_figures(run, phase, index))
        }
    }
}

/// The figure of a phase of one job with the shortest form of its conditions, or that of all jobs together.
fn brief(run: &Run, phase: &PhaseResult) -> String {
    let [job] = phase.jobs.as_slice() else {
        return together(run, phase).map_or_else(String::new, |sum| format!(", {}", sum.words()));
    };
    let total = &job.total;
    let Some(iops) = total.known_iops() else { return String::new() };
    let size =
        if total.block_size > 0 { format!(" of {}", format::bytes(total.block_size)) } else { String::new() };
    let outstanding = known_count(job.outstanding_io);
    let outstanding =
        if outstanding.is_empty() { outstanding } else { format!(", {outstanding} outstanding") };
    let p99 = total
        .completion_ns
        .p99
        .map_or_else(String::new, |ns| format!(", p99 completion latency {}", format::time_ns(ns as f64)));
    format!(", {} IOPS{size}{outstanding}{p99}", format::iops(iops))
}

/// Many jobs, whose figures stand in the table of all of them, behind a line.
fn folded(jobs: usize, parts: &Markup) -> Markup {
    html! {
        @if jobs > SUMMED_MAX { details { summary { "Each of the " (jobs) " jobs: operations, percentiles, conditions" } (parts) } } @else { (parts) }
    }
}

fn job_part(run: &Run, phase: &PhaseResult, (index, place): (usize, usize), job: &JobResult) -> Markup {
    html! {
        div .job {
            @if job.name != phase.name { h4 { (job.name) } }
            (conditions_line(&conditions::of_job(job)))
            (operations(job))
            (hosts_of(phase, job, &format!("p{index}-j{place}"), &outlier_workers(run, index, place)))
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
fn phase_figures(run: &Run, phase: &PhaseResult, index: usize) -> Markup {
    let several = phase.jobs.len() > 1;
    let folded = phase.jobs.len() > FIGURES_OPEN_MAX;
    let (points_max, steps_max) =
        if folded { (charts::POINTS_FEW, STEPS_FEW) } else { (charts::POINTS_MAX, usize::MAX) };
    let marks = charts::events(run, index);
    let marked = |chart: Option<Chart>| chart.map(|chart| Chart { marks: marks.clone(), ..chart });
    // The only measured phase has its course at the top of the page.
    let on_top = phase.kind == PhaseKind::Measure && charts::is_alone(run);
    let latencies = |place: usize, job: &JobResult| {
        let id = format!("p{index}-j{place}");
        let on_top = on_top && !several;
        let drawn = [
            marked(charts::latency_over_time(&format!("{id}-time"), job, points_max)).filter(|_| !on_top),
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
    let iops = charts::iops_over_time(&format!("p{index}-iops"), &phase.jobs).filter(|_| !on_top);
    let bandwidth = charts::bandwidth_over_time(&format!("p{index}-bandwidth"), &phase.jobs);
    let mut drawn = vec![marked(iops), marked(bandwidth)];
    if !folded {
        drawn.extend(jobs().flat_map(|(place, job)| latencies(place, job)));
    }
    drawn.push(charts::processors_over_time(&format!("p{index}-cpu"), &phase.evidence));
    let map = |(place, job): (usize, &JobResult)| {
        latency_map(job, &format!("p{index}-j{place}-map"), several, steps_max)
    };
    let mut all: Vec<Markup> = drawn.iter().flatten().map(figure).collect();
    if folded {
        return html! { (side_by_side(&all)) (folded_latencies(&phase.jobs, &|place, job| {
            let mut drawn: Vec<Markup> = latencies(place, job).iter().flatten().map(figure).collect();
            drawn.extend(map((place, job)));
            side_by_side(&drawn)
        })) };
    }
    all.extend(jobs().filter_map(map));
    side_by_side(&all)
}

/// The latencies of many jobs, behind a line each.
fn folded_latencies(jobs: &[JobResult], drawn: &dyn Fn(usize, &JobResult) -> Markup) -> Markup {
    html! {
        @for (place, job) in jobs.iter().enumerate().take(FIGURES_MAX) {
            details { summary { "Latencies of " (job.name) } (drawn(place, job)) }
        }
        @if jobs.len() > FIGURES_MAX {
            p .dim { "The latencies of " (jobs.len() - FIGURES_MAX) " more jobs are not drawn." }
        }
    }
}

/// How many I/Os of a job had which latency, over time.
fn latency_map(job: &JobResult, id: &str, several: bool, steps_max: usize) -> Option<Markup> {
    let map = charts::latency_map(id, job, steps_max)?;
    let title = if several { format!("{}: {}", job.name, map.title) } else { map.title };
    Some(heat_figure(&HeatMap { title, ..map }))
}
