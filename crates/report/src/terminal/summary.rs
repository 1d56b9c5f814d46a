//! What a run measured, phase by phase, each job under its conditions.

use assay_results::Run;
use assay_results::run::{DeviceTruth, JobResult, LatencySummary, Metric, OpResult, PhaseResult, Verdict};
use assay_workload::PhaseKind;

use super::curve::curve_tables;
use super::findings::verdict_tone;
use super::grid::grid_tables;
use super::paragraph;
use super::repeats::repeat_table;
use crate::curves::{curves, is_summed};
use crate::findings::verdict_sign;
use crate::notes::notes;
use crate::repeats::repeats;
use crate::rounds::is_lead_in;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone, left_out_note};
use crate::together::together;
use crate::{conditions, format, hosts, service};

/// Of more hosts than this those at the ends are shown, and those that were lost.
const HOSTS_MAX: usize = 16;
/// Fewer windows than this are all shown, also where a table sums them up.
const FOLDED_MIN: usize = 3;
/// A phase of more jobs than this shows some of them.
const JOBS_MAX: usize = 24;
/// So many, and as many again of those that something speaks against.
const JOBS_SHOWN: usize = 8;

/// What was run, where and when: the lines above any result.
pub fn heading(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    let series = run.plan.series.as_ref().map_or_else(String::new, |series| format!(", series {series}"));
    let seed = conditions::of_seed(run).map_or_else(String::new, |seed| format!(", {seed}"));
    let title = format!("{}{series}, {}{seed}", run.name, run.started);
    paragraph(&mut text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    let place = conditions::of_place(run).join(", ");
    paragraph(&mut text, Tone::Plain, &place, Hang { first: 0, rest: 2 }, style);
    for words in conditions::of_targets(&run.environment.targets) {
        let words = format!("target {words}");
        paragraph(&mut text, Tone::Plain, &words, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// The results of a run: per phase and job the conditions, then a line per operation.
pub fn run_summary(run: &Run, style: &Style) -> String {
    let mut text = curve_tables(run, style);
    text.push_str(&repeat_table(run, style));
    text.push_str(&grid_tables(run, style));
    text.push_str(&service_levels(run, style));
    let mut left_out: Vec<String> = Vec::new();
    let folded = folded(run);
    let is_folded = |phase: &PhaseResult| folded.iter().any(|other| std::ptr::eq(*other, phase));
    for phase in run.phases.iter().filter(|phase| !is_lead_in(run, phase) && !is_folded(phase)) {
        push_phase(&mut text, run, phase, &mut left_out, style);
        text.push('\n');
    }
    text.truncate(text.trim_end_matches('\n').len() + usize::from(!text.is_empty()));
    text.push_str(&left_out_note(&left_out, 0, style));
    if !folded.is_empty() {
        let words = format!(
            "{} more, summed up above; the page and 'assay report {} --csv -' have each",
            format::plural(folded.len() as u64, "window"),
            run.id
        );
        paragraph(&mut text, Tone::Dim, &words, Hang { first: 0, rest: 2 }, style);
    }
    if run.phases.is_empty() {
        paragraph(&mut text, Tone::Warn, "no phase was run", Hang::flat(0), style);
    }
    for note in notes(run) {
        paragraph(&mut text, Tone::Dim, &format!("note: {note}"), Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// The windows that tables sum up and that say no more: nothing speaks against them, and they are not the first of their test.
fn folded(run: &Run) -> Vec<&PhaseResult> {
    let curves = curves(run);
    let repeated = repeats(run).is_some();
    let summed = |phase: &&PhaseResult| {
        phase.kind == PhaseKind::Measure
            && phase.metrics.is_empty()
            && (is_summed(&curves, phase) || (repeated && phase.repeat > 0))
            && phase.jobs.iter().all(|job| {
                run.row_or_step(phase, job).is_none_or(|row| row.verdict == Verdict::Valid)
                    && conditions::remarks(job).is_empty()
            })
    };
    let found: Vec<&PhaseResult> = run.phases.iter().filter(summed).collect();
    if found.len() >= FOLDED_MIN { found } else { Vec::new() }
}

/// The service levels of all phases in one table, and the score of tiles.
fn service_levels(run: &Run, style: &Style) -> String {
    let groups = service::groups(run);
    if groups.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    paragraph(&mut text, Tone::Strong, "Service levels", Hang::flat(0), style);
    if let Some(score) = service::score(run) {
        paragraph(&mut text, Tone::Strong, &score, Hang { first: 2, rest: 4 }, style);
    }
    let columns = service::HEADS.iter().enumerate().map(|(index, head)| match index {
        0 | 1 => Column::words(head, Keep::Always),
        _ => Column::numbers(head, Keep::Always),
    });
    let mut table = Table::new(columns.collect()).indented(2);
    for group in &groups {
        table.group(&group.title);
        for row in &group.rows {
            let tone = if row.held { Tone::Plain } else { Tone::Warn };
            table.row(row.cells.iter().map(|cell| Cell::toned(cell.as_str(), tone)).collect());
        }
    }
    text.push_str(&table.render(style));
    text.push('\n');
    text
}

fn push_phase(text: &mut String, run: &Run, phase: &PhaseResult, left_out: &mut Vec<String>, style: &Style) {
    let repeats = run.repeats_of(phase);
    let repeat = if repeats > 1 {
        format!(", {} of {repeats}", phase.repeat.saturating_add(1))
    } else {
        String::new()
    };
    let kind =
        if phase.kind == PhaseKind::Measure { String::new() } else { format!(" ({})", phase.kind.name()) };
    let title = format!("{}{kind}{repeat}, {}", phase.title(), format::seconds(phase.measured_s));
    paragraph(text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    let shown = shown_jobs(run, phase);
    for job in &shown {
        push_job(text, (run, phase), job, left_out, style);
    }
    let more = phase.jobs.len() - shown.len();
    if more > 0 {
        let words = format!(
            "{} more; the page and 'assay report {} --csv -' have each",
            format::plural(more as u64, "job"),
            run.id
        );
        paragraph(text, Tone::Dim, &words, Hang { first: 2, rest: 4 }, style);
    }
    if let Some(sum) = together(run, phase) {
        paragraph(text, Tone::Strong, &sum.words(), Hang { first: 2, rest: 4 }, style);
    }
    for (name, metric) in &phase.metrics {
        paragraph(text, Tone::Plain, &metric_words(name, metric), Hang { first: 2, rest: 4 }, style);
    }
    if let Some(device) = &phase.device {
        paragraph(text, Tone::Dim, &device_words(device), Hang { first: 2, rest: 4 }, style);
    }
}

/// The jobs of a phase; of very many the first, and some of those that more speaks against than against the first.
fn shown_jobs<'a>(run: &Run, phase: &'a PhaseResult) -> Vec<&'a JobResult> {
    if phase.jobs.len() <= JOBS_MAX {
        return phase.jobs.iter().collect();
    }
    let verdict = |job: &JobResult| run.row_or_step(phase, job).map_or(Verdict::Valid, |row| row.verdict);
    let (first, others) = phase.jobs.split_at(JOBS_SHOWN);
    let usual = first.iter().map(verdict).max().unwrap_or(Verdict::Valid);
    let doubtful = |job: &&JobResult| verdict(job) > usual || !conditions::remarks(job).is_empty();
    first.iter().chain(others.iter().filter(doubtful).take(JOBS_SHOWN)).collect()
}

fn push_job(
    text: &mut String,
    (run, phase): (&Run, &PhaseResult),
    job: &JobResult,
    left_out: &mut Vec<String>,
    style: &Style,
) {
    let facts = conditions::of_job(job).join(", ");
    let words = if job.name == phase.name { facts } else { format!("{}: {facts}", job.name) };
    paragraph(text, Tone::Plain, &words, Hang { first: 2, rest: 4 }, style);
    let mut table = Table::new(columns()).indented(4);
    for (name, op) in conditions::operations(job) {
        push_operation(&mut table, name, op);
    }
    let (lines, missing) = table.render_apart(style);
    text.push_str(&lines);
    for head in missing {
        if !left_out.contains(&head) {
            left_out.push(head);
        }
    }
    push_hosts(text, phase, job, style);
    push_verdict(text, run, phase, job, style);
    for line in conditions::remarks(job) {
        paragraph(text, Tone::Warn, &line, Hang { first: 4, rest: 6 }, style);
    }
    paragraph(text, Tone::Dim, &conditions::instrument(job), Hang { first: 4, rest: 6 }, style);
}

/// What speaks against the figure, and whether this repetition is one that its median does not rest on.
fn push_verdict(text: &mut String, run: &Run, phase: &PhaseResult, job: &JobResult, style: &Style) {
    let Some(row) = run.row_of_repetition(phase, job).filter(|_| phase.kind == PhaseKind::Measure) else {
        return;
    };
    if row.verdict != Verdict::Valid {
        let words = format!("{} {}", verdict_sign(row.verdict), row.judgement());
        paragraph(text, verdict_tone(row.verdict), &words, Hang { first: 4, rest: 6 }, style);
    }
    if row.disturbed.contains(&phase.repeat) {
        let words = "this repetition was disturbed or cut short; the median does not rest on it";
        paragraph(text, Tone::Warn, words, Hang { first: 4, rest: 6 }, style);
    }
}

/// A row per host, where there are several.
fn push_hosts(text: &mut String, phase: &PhaseResult, job: &JobResult, style: &Style) {
    let mut rows = hosts::of_job(phase, job);
    if rows.is_empty() {
        return;
    }
    let all = rows.len();
    if all > HOSTS_MAX {
        rows = hosts::ends(rows, job);
    }
    let [iops, bandwidth, p50, p99, max, cached, start] = hosts::NUMBERS;
    let mut table = Table::new(vec![
        Column::words("host", Keep::Always),
        Column::numbers(iops, Keep::Always),
        Column::numbers(bandwidth, Keep::IfRoom(2)),
        Column::numbers(p50, Keep::IfFlat(2)),
        Column::numbers(p99, Keep::IfFlat(1)),
        Column::numbers(max, Keep::IfFlat(3)),
        Column::numbers(cached, Keep::IfRoom(1)),
        Column::numbers(start, Keep::IfRoom(3)),
        Column::words("", Keep::Always),
    ])
    .indented(4);
    for row in rows {
        let numbers = row.numbers.into_iter().map(Cell::from);
        let lost = Cell::toned(row.lost, Tone::Bad);
        table.row(std::iter::once(Cell::from(row.name)).chain(numbers).chain([lost]).collect());
    }
    text.push_str(&table.render_apart(style).0);
    if all > HOSTS_MAX {
        paragraph(text, Tone::Dim, &hosts::left_out(all, job), Hang { first: 4, rest: 6 }, style);
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("", Keep::Always),
        Column::numbers("IOPS", Keep::Always),
        Column::numbers("MiB/s", Keep::IfStacked(2)),
        Column::numbers("block", Keep::Always),
        Column::words("", Keep::Always),
        Column::numbers("p50", Keep::IfStacked(1)),
        Column::numbers("p90", Keep::IfFlat(8)),
        Column::numbers("p99", Keep::Always),
        Column::numbers("p99.9", Keep::IfRoom(3)),
        Column::numbers("p99.99", Keep::IfFlat(7)),
        Column::numbers("max", Keep::IfFlat(5)),
        Column::numbers("mean", Keep::IfFlat(6)),
    ]
}

/// A row per latency that was measured: the response time first, where arrivals were intended at a time.
fn push_operation(table: &mut Table, name: &str, op: &OpResult) {
    let mut front: Vec<Cell> = vec![
        name.into(),
        Cell::toned(conditions::iops(op), Tone::Strong),
        if op.bytes > 0 { format::mib_per_s(op.bytes_per_s).into() } else { Cell::default() },
        if op.block_size > 0 { format::bytes(op.block_size).into() } else { Cell::default() },
    ];
    if let Some(response) = &op.response_ns {
        front.push("response time".into());
        table.row(front.into_iter().chain(latency_cells(response)).collect());
        front = vec![Cell::default(), Cell::default(), Cell::default(), Cell::default()];
    }
    front.push("completion latency".into());
    table.row(front.into_iter().chain(latency_cells(&op.completion_ns)).collect());
}

fn latency_cells(latency: &LatencySummary) -> [Cell; 7] {
    let LatencySummary { p50, p90, p99, p99_9, p99_99, .. } = *latency;
    let mean = if latency.n == 0 { String::new() } else { format::time_ns(latency.mean) };
    let max = (latency.n > 0).then_some(latency.max);
    [p50, p90, p99, p99_9, p99_99, max]
        .map(format::latency)
        .into_iter()
        .chain([mean])
        .map(Cell::from)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_default()
}

fn metric_words(name: &str, metric: &Metric) -> String {
    format!("{name}: {} {}{}", format::significant(metric.value), metric.unit, format::of_metric(metric))
}

/// What the devices did against what was asked of them.
fn device_words(device: &DeviceTruth) -> String {
    let mut parts = Vec::new();
    let mut part = |what: &str, asked: u64, (own, verb): (Option<u64>, &str), got: Option<u64>| {
        if asked > 0 || got.is_some_and(|got| got > 0) {
            let got = got.map_or_else(|| "not known".to_owned(), format::bytes);
            let own = own.map_or_else(String::new, |bytes| format!(", {} {verb}", format::bytes(bytes)));
            let asked = if asked == 0 && device.asked_unknown {
                "asked unknown".to_owned()
            } else {
                format!("{} asked", format::bytes(asked))
            };
            let most = if device.bytes_at_most { "at most " } else { "" };
            parts.push(format!("{what} {asked}{own}, {most}{got} at the device"));
        }
    };
    part("read", device.asked_read_bytes, (device.process_read_bytes, "fetched"), device.device_read_bytes);
    let written = device.process_written_bytes.filter(|_| device.asked_unknown);
    part(
        "written",
        device.asked_written_bytes,
        (written, "sent by its processes"),
        device.device_written_bytes,
    );
    if let Some(depth) = device.device_depth_mean {
        parts.push(format!("{} requests in flight at the device on average", format::significant(depth)));
    }
    parts.extend(device.unknown_because.clone());
    let name = if device.devices.is_empty() { "devices".to_owned() } else { device.devices.join(", ") };
    format!("{name}: {}", parts.join("; "))
}
