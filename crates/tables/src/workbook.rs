//! A run as a workbook (Office Open XML): a summary with native charts, a sheet for each measured job with every reporting period
//! and a chart, the conditions, the findings. Numbers are numbers, as in the run, with formats that show fewer digits; texts are never
//! formulas.

mod sheets;

use std::collections::BTreeSet;

use assay_report::facts;
use assay_report::records::{Record, records};
use assay_results::foreign::Moment;
use assay_results::run::{FindingSeverity, JobResult, LatencySummary, PhaseResult};
use assay_results::{Finding, Run};
use assay_workload::PhaseKind;
use rust_xlsxwriter::{Chart, ChartType, DocProperties, ExcelDateTime, Workbook, Worksheet, XlsxError};

use sheets::{Cell, Styles, Writer};

/// Why a workbook could not be made.
#[derive(Debug, thiserror::Error)]
#[error("failed to write xlsx: {0}")]
pub struct WorkbookError(#[from] XlsxError);

/// More jobs than this have no sheet of their own: the summary has their numbers.
const SHEETS_MAX: usize = 200;

/// The file.
///
/// # Errors
/// Where the library refuses what it is given.
pub fn workbook(run: &Run) -> Result<Vec<u8>, WorkbookError> {
    let mut book = Workbook::new();
    let made = Moment::parse(&run.started).unix_ms() / 1000;
    let made = ExcelDateTime::from_timestamp(i64::try_from(made).unwrap_or(0))?;
    let properties = DocProperties::new()
        .set_title(&run.name)
        .set_comment(format!("Assay {}, run {}", run.assay.version, run.id))
        .set_creation_datetime(&made);
    book.set_properties(&properties);
    let styles = Styles::new();
    let measured = || {
        let phases = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        phases.flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
    };
    summary(book.add_worksheet(), run, &styles, measured().count())?;
    let mut names = BTreeSet::from(["summary", "conditions", "findings"].map(str::to_owned));
    for (phase, job) in measured().take(SHEETS_MAX) {
        let name = sheet_name(&format!("{} {}", phase.title(), job.name), &mut names);
        test(book.add_worksheet(), run, (phase, job), &name, &styles)?;
    }
    conditions(book.add_worksheet(), run, &styles)?;
    findings(book.add_worksheet(), &run.findings, &styles)?;
    Ok(book.save_to_buffer()?)
}

/// The columns of the summary before the latencies.
const HEAD: [&str; 13] = [
    "phase",
    "kind",
    "point",
    "repeat",
    "job",
    "operation",
    "verdict",
    "pattern",
    "block size, bytes",
    "outstanding",
    "measured, s",
    "IOPS",
    "bytes/s",
];
const LATENCY: [&str; 11] =
    ["n", "min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
const KINDS: [&str; 3] = ["completion latency", "response time", "submit latency"];

fn summary(sheet: &mut Worksheet, run: &Run, styles: &Styles, measured: usize) -> Result<(), XlsxError> {
    sheet.set_name("Summary")?;
    let mut out = Writer::new(sheet, styles);
    out.title(&run.name)?;
    out.row(&[Cell::Text("verdict"), Cell::Text(run.verdict.word())])?;
    for words in assay_report::answer_words(run).iter().filter(|words| !words.is_empty()) {
        out.row(&[Cell::Text(words)])?;
    }
    out.row(&[Cell::Text("run"), Cell::Text(&run.id), Cell::Text("started"), Cell::Text(&run.started)])?;
    if measured > SHEETS_MAX {
        let words = format!("{measured} measured jobs; the first {SHEETS_MAX} have a sheet of their own");
        out.row(&[Cell::Text(&words)])?;
    }
    out.row(&[])?;
    let latencies = KINDS.iter().flat_map(|kind| {
        LATENCY.iter().map(move |name| match *name {
            "n" => format!("{kind}, n"),
            _ => format!("{kind}, {name}, ns"),
        })
    });
    let tail = ["cached share of reads", "CPU ns per I/O", "errors", "ios", "bytes"].map(str::to_owned);
    let heads: Vec<String> =
        HEAD.iter().map(|head| (*head).to_owned()).chain(latencies).chain(tail).collect();
    out.heads(&heads)?;
    let first = out.next_row();
    let records = records(run);
    for record in &records {
        let cells = summary_row(run, record);
        out.row(&cells)?;
    }
    let last = out.next_row().saturating_sub(1);
    out.widths(&[28.0, 9.0, 14.0, 7.0, 18.0, 10.0, 10.0, 30.0])?;
    if !records.is_empty() {
        let p99 = HEAD.len() as u16 + 7;
        bars(sheet, "IOPS", (first, last), HEAD.len() as u16 - 2, 0)?;
        bars(sheet, "p99 completion latency, ns", (first, last), p99, 9)?;
    }
    Ok(())
}

fn summary_row<'r>(run: &Run, record: &Record<'r>) -> Vec<Cell<'r>> {
    let Record { phase, job, operation, op } = *record;
    let verdict = run.row_or_step(phase, job).map_or("", |row| row.verdict.word());
    let mut cells = vec![
        Cell::Text(&phase.name),
        Cell::Text(phase.kind.name()),
        Cell::Text(phase.point.as_str()),
        Cell::Number(f64::from(phase.repeat)),
        Cell::Text(&job.name),
        Cell::Text(operation),
        Cell::Text(verdict),
        Cell::Text(&job.pattern),
        Cell::Number(op.block_size as f64),
        Cell::Number(job.outstanding_io as f64),
        Cell::Number(job.measured_s),
        op.known_iops().map_or(Cell::Nothing, Cell::Number),
        Cell::Number(op.bytes_per_s),
    ];
    for latency in [Some(op.completion_ns), op.response_ns, op.submit_ns] {
        cells.extend(latency_cells(latency));
    }
    cells.push(job.cached_read_share.map_or(Cell::Nothing, Cell::Number));
    cells.extend([job.cpu_ns_per_io, job.errors as f64, op.ios as f64, op.bytes as f64].map(Cell::Number));
    cells
}

fn latency_cells(latency: Option<LatencySummary>) -> [Cell<'static>; 11] {
    let Some(l) = latency.filter(|latency| latency.n > 0) else { return [const { Cell::Nothing }; 11] };
    let known = |value: Option<u64>| value.map_or(Cell::Nothing, |value| Cell::Number(value as f64));
    [
        Cell::Number(l.n as f64),
        Cell::Number(l.min as f64),
        Cell::Number(l.mean),
        Cell::Number(l.stddev),
        known(l.p50),
        known(l.p90),
        known(l.p95),
        known(l.p99),
        known(l.p99_9),
        known(l.p99_99),
        Cell::Number(l.max as f64),
    ]
}

/// A native chart of one column of the summary, right of the table's first columns and below it.
fn bars(
    sheet: &mut Worksheet,
    title: &str,
    (first, last): (u32, u32),
    column: u16,
    place: u16,
) -> Result<(), XlsxError> {
    let mut chart = Chart::new(ChartType::Bar);
    chart.title().set_name(title);
    chart.legend().set_hidden();
    chart.set_width(620).set_height(320 + 14 * (last - first).min(40));
    chart
        .add_series()
        .set_name(title)
        .set_categories(("Summary", first, 0, last, 5))
        .set_values(("Summary", first, column, last, column));
    sheet.insert_chart(last + 3, place, &chart)?;
    Ok(())
}

/// A sheet of one measured job: its conditions, every reporting period, and two native charts of them.
fn test(
    sheet: &mut Worksheet,
    run: &Run,
    (phase, job): (&PhaseResult, &JobResult),
    name: &str,
    styles: &Styles,
) -> Result<(), XlsxError> {
    sheet.set_name(name)?;
    let mut out = Writer::new(sheet, styles);
    let repeats = run.repeats_of(phase);
    let repeat = if repeats > 1 {
        format!(", {} of {repeats}", phase.repeat.saturating_add(1))
    } else {
        String::new()
    };
    out.title(&format!("{}{repeat} / {}", phase.title(), job.name))?;
    let verdict = run.row_or_step(phase, job).map_or_else(String::new, |row| row.judgement());
    let outstanding = job.outstanding_io.to_string();
    let facts = [
        ("verdict", verdict.as_str()),
        ("pattern", &job.pattern),
        ("outstanding", &outstanding),
        ("durability", &job.durability),
        ("engine", job.engine.as_str()),
    ];
    for (name, value) in facts.iter().filter(|fact| !fact.1.is_empty()) {
        out.row(&[Cell::Text(name), Cell::Text(value)])?;
    }
    out.row(&[])?;
    out.heads(&[
        "start, s",
        "length, s",
        "IOPS",
        "bytes/s",
        "p50 completion latency, ns",
        "p99 completion latency, ns",
    ])?;
    let first = out.next_row();
    for point in &job.series {
        let known = |value: Option<u64>| value.map_or(Cell::Nothing, |value| Cell::Number(value as f64));
        let numbers = [point.start_s, point.length_s, point.iops, point.bytes_per_s].map(Cell::Number);
        out.row(&[&numbers[..], &[known(point.p50_ns), known(point.p99_ns)]].concat())?;
    }
    let last = out.next_row().saturating_sub(1);
    out.widths(&[12.0, 12.0, 14.0, 16.0, 24.0, 24.0])?;
    if job.series.len() > 1 {
        lines(sheet, name, (first, last), ("IOPS over time", &[(2, "IOPS")]), 1)?;
        lines(
            sheet,
            name,
            (first, last),
            ("completion latency over time, ns", &[(4, "p50"), (5, "p99")]),
            19,
        )?;
    }
    Ok(())
}

fn lines(
    sheet: &mut Worksheet,
    name: &str,
    (first, last): (u32, u32),
    (title, columns): (&str, &[(u16, &str)]),
    row: u32,
) -> Result<(), XlsxError> {
    let mut chart = Chart::new(ChartType::ScatterStraight);
    chart.title().set_name(title);
    chart.x_axis().set_name("seconds from the start of the measured part");
    chart.set_width(640).set_height(320);
    if columns.len() == 1 {
        chart.legend().set_hidden();
    }
    for (column, line) in columns {
        chart
            .add_series()
            .set_name(*line)
            .set_categories((name, first, 0, last, 0))
            .set_values((name, first, *column, last, *column));
    }
    sheet.insert_chart(row, 7, &chart)?;
    Ok(())
}

fn conditions(sheet: &mut Worksheet, run: &Run, styles: &Styles) -> Result<(), XlsxError> {
    sheet.set_name("Conditions")?;
    let mut out = Writer::new(sheet, styles);
    out.title("Conditions")?;
    for section in facts::environment(&run.environment).iter().chain([&facts::provenance(run)]) {
        out.row(&[])?;
        out.heads(&[section.title.as_str()])?;
        for (name, value, _) in &section.rows {
            out.row(&[Cell::Text(name), Cell::Text(value)])?;
        }
    }
    out.row(&[])?;
    out.heads(&["Plan"])?;
    for line in run.plan.describe().lines() {
        out.row(&[Cell::Text(line)])?;
    }
    for note in &run.notes {
        out.row(&[Cell::Text("note"), Cell::Text(note)])?;
    }
    out.widths(&[34.0, 70.0])
}

fn findings(sheet: &mut Worksheet, findings: &[Finding], styles: &Styles) -> Result<(), XlsxError> {
    sheet.set_name("Findings")?;
    let mut out = Writer::new(sheet, styles);
    out.title("Findings")?;
    out.heads(&["id", "severity", "phase", "repeat", "job", "message", "possible bias", "advice"])?;
    for one in findings {
        out.row(&[
            Cell::Text(&one.id),
            Cell::Text(severity(one.severity)),
            Cell::Text(one.phase.as_deref().unwrap_or_default()),
            one.repeat.map_or(Cell::Nothing, |repeat| Cell::Number(f64::from(repeat))),
            Cell::Text(one.job.as_deref().unwrap_or_default()),
            Cell::Text(&one.message),
            Cell::Text(one.bias.as_deref().unwrap_or_default()),
            Cell::Text(&one.advice),
        ])?;
    }
    out.widths(&[24.0, 10.0, 24.0, 7.0, 16.0, 80.0, 40.0, 60.0])
}

fn severity(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Info => "info",
        FindingSeverity::Unchecked => "unchecked",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Invalid => "invalid",
    }
}

/// At most 31 characters, none of those that are not allowed, and its own, whatever the case.
fn sheet_name(wanted: &str, used: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_control() || "[]:*?/\\'".contains(c) { '_' } else { c };
    let plain: String = wanted.chars().map(plain).collect();
    let plain = plain.trim();
    let cut = |length: usize| plain.chars().take(length).collect::<String>().trim_end().to_owned();
    let mut name = if plain.is_empty() { "test".to_owned() } else { cut(31) };
    let mut number = 2;
    while !used.insert(name.to_lowercase()) {
        name = format!("{}~{number}", cut(26));
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests;
