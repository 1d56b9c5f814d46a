//! A run as a workbook (Office Open XML): a summary with a row a figure and a native chart, every number, a sheet for each measured job
//! with every reporting period and charts, the conditions, the findings. Numbers are numbers, as in the run, with formats that show fewer digits; texts are never
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
    let tests = tests_of(run);
    summary(book.add_worksheet(), run, &styles, tests.len())?;
    figures(book.add_worksheet(), run, &styles)?;
    let mut names = BTreeSet::from(["summary", "figures", "conditions", "findings"].map(str::to_owned));
    for one in tests.iter().take(SHEETS_MAX) {
        let (phase, job) = one[0];
        let own = if job.name == phase.name { String::new() } else { format!(" {}", job.name) };
        let name = sheet_name(&format!("{}{own}", phase.title()), &mut names);
        test(book.add_worksheet(), run, one, &name, &styles)?;
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

/// What was asked first: the answer, then a row a figure with its interval and verdict, and a native chart of them.
fn summary(sheet: &mut Worksheet, run: &Run, styles: &Styles, tests: usize) -> Result<(), XlsxError> {
    sheet.set_name("Summary")?;
    printed(sheet, 1);
    let mut out = Writer::new(sheet, styles);
    out.widths(&[36.0, 10.0, 14.0, 9.0, 14.0, 14.0, 6.0, 18.0, 48.0, 60.0])?;
    out.title(&run.name)?;
    out.row(&[Cell::Text("verdict"), Cell::Text(run.verdict.word())])?;
    for words in assay_report::answer_words(run).iter().filter(|words| !words.is_empty()) {
        out.row(&[Cell::Text(words)])?;
    }
    out.row(&[Cell::Text("run"), Cell::Text(&run.id), Cell::Text("started"), Cell::Text(&run.started)])?;
    if tests > SHEETS_MAX {
        let words = format!("{tests} measured jobs; the first {SHEETS_MAX} have a sheet of their own");
        out.row(&[Cell::Text(&words)])?;
    }
    out.row(&[])?;
    out.heads(&[
        "figure",
        "verdict",
        "value",
        "unit",
        "from",
        "to",
        "n",
        "p99 completion latency, ns",
        "conditions",
        "because",
    ])?;
    let first = out.next_row();
    for row in &run.rows {
        let of = |phase: &&PhaseResult| (&phase.name, &phase.point) == (&row.phase, &row.point);
        let job = run.phases.iter().filter(of).flat_map(|phase| &phase.jobs).find(|job| job.name == row.job);
        let conditions = job.map_or_else(String::new, |job| {
            format!("{}, {} outstanding, {}", job.pattern, job.outstanding_io, size_of(job))
        });
        let bound = |bound: Option<f64>| bound.map_or(Cell::Nothing, Cell::Number);
        let p99 = job.and_then(|job| job.total.completion_ns.p99).map(|ns| ns as f64);
        out.row(&[
            Cell::Text(&row.name),
            Cell::Text(row.verdict.word()),
            Cell::Number(row.figure.value),
            Cell::Text(&row.figure.unit),
            bound(row.figure.interval.map(|interval| interval.0)),
            bound(row.figure.interval.map(|interval| interval.1)),
            Cell::Number(f64::from(row.figure.n)),
            // Of several repetitions each has its own, among the figures.
            if row.figure.n == 1 { bound(p99) } else { Cell::Nothing },
            Cell::Long(&conditions),
            Cell::Long(row.because.as_deref().unwrap_or_default()),
        ])?;
    }
    let last = out.next_row().saturating_sub(1);
    if !run.rows.is_empty() {
        bars(sheet, (first, last))?;
    }
    Ok(())
}

/// The size of an operation; empty where it is not known.
fn size_of(job: &JobResult) -> String {
    let size = job.total.block_size;
    if size > 0 { assay_report::format::bytes(size) } else { "size not known".to_owned() }
}

/// Every number of every phase, job and operation, as in the run.
fn figures(sheet: &mut Worksheet, run: &Run, styles: &Styles) -> Result<(), XlsxError> {
    sheet.set_name("Figures")?;
    printed(sheet, 4);
    let mut out = Writer::new(sheet, styles);
    out.title("Figures")?;
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
    for record in &records(run) {
        let cells = summary_row(run, record);
        out.row(&cells)?;
    }
    let mut widths = [28.0, 10.0, 14.0, 7.0, 18.0, 10.0, 10.0, 42.0].to_vec();
    // Nanoseconds of a minute with their separators.
    widths.resize(heads.len(), 15.0);
    out.widths(&widths)?;
    sheet.set_freeze_panes(2, 1)?;
    sheet.set_repeat_rows(1, 1)?;
    sheet.set_repeat_columns(0, 2)?;
    Ok(())
}

/// Printed across, as many pages wide.
fn printed(sheet: &mut Worksheet, pages_wide: u16) {
    const A4: u8 = 9;
    sheet.set_landscape().set_paper_size(A4).set_print_fit_to_pages(pages_wide, 0);
}

fn summary_row<'r>(run: &Run, record: &Record<'r>) -> Vec<Cell<'r>> {
    let Record { phase, job, operation, op } = *record;
    let verdict = run.row_of_repetition(phase, job).map_or("", |row| row.verdict.word());
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

/// A native chart of the figures of the summary, below them.
fn bars(sheet: &mut Worksheet, (first, last): (u32, u32)) -> Result<(), XlsxError> {
    let mut chart = Chart::new(ChartType::Bar);
    chart.title().set_name("Figures");
    chart.legend().set_hidden();
    // Bars are counted from below; the first figure stands on top.
    chart.y_axis().set_reverse();
    chart.x_axis().set_num_format("#,##0");
    chart.set_width(900).set_height(160 + 18 * (last - first + 1).min(60));
    chart
        .add_series()
        .set_name("Figures")
        .set_categories(("Summary", first, 0, last, 0))
        .set_values(("Summary", first, 2, last, 2))
        .set_gap(40);
    sheet.insert_chart(last + 2, 0, &chart)?;
    Ok(())
}

/// One measured job in each of its repetitions.
type Test<'r> = Vec<(&'r PhaseResult, &'r JobResult)>;

/// The measured jobs, repetitions of one together, in the order of their first.
fn tests_of(run: &Run) -> Vec<Test<'_>> {
    let mut tests: Vec<Test<'_>> = Vec::new();
    for phase in run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        for job in &phase.jobs {
            let same = |test: &&mut Test<'_>| test[0].0.repeats(phase) && test[0].1.name == job.name;
            match tests.iter_mut().find(same) {
                Some(test) => test.push((phase, job)),
                None => tests.push(vec![(phase, job)]),
            }
        }
    }
    tests
}

/// A sheet of one measured job: its conditions, every reporting period of every repetition, and two native charts of them.
fn test(
    sheet: &mut Worksheet,
    run: &Run,
    test: &Test<'_>,
    name: &str,
    styles: &Styles,
) -> Result<(), XlsxError> {
    sheet.set_name(name)?;
    printed(sheet, 1);
    let Some((phase, job)) = test.first() else { return Ok(()) };
    let mut out = Writer::new(sheet, styles);
    out.title(&if job.name == phase.name {
        phase.title()
    } else {
        format!("{} / {}", phase.title(), job.name)
    })?;
    let verdict = run.row_or_step(phase, job).map_or_else(String::new, |row| row.judgement());
    let outstanding = job.outstanding_io.to_string();
    let size = size_of(job);
    let facts = [
        ("verdict", verdict.as_str()),
        ("pattern", &job.pattern),
        ("block size", &size),
        ("outstanding", &outstanding),
        ("durability", &job.durability),
        ("engine", job.engine.as_str()),
    ];
    for (name, value) in facts.iter().filter(|fact| !fact.1.is_empty()) {
        out.row(&[Cell::Text(name), Cell::Text(value)])?;
    }
    out.row(&[])?;
    out.heads(&PERIOD)?;
    let head = out.next_row() - 1;
    let mut ranges = Vec::new();
    for (phase, job) in test {
        let first = out.next_row();
        for point in &job.series {
            let known = |value: Option<u64>| value.map_or(Cell::Nothing, |value| Cell::Number(value as f64));
            let numbers = [point.start_s, point.length_s, point.iops, point.bytes_per_s].map(Cell::Number);
            let latencies = [known(point.p50_ns), known(point.p99_ns)];
            out.row(&[&[Cell::Number(f64::from(phase.repeat))], &numbers[..], &latencies[..]].concat())?;
        }
        ranges.push((phase.repeat, first, out.next_row().saturating_sub(1)));
    }
    out.widths(&[12.0, 12.0, 12.0, 14.0, 16.0, 18.0, 18.0])?;
    sheet.set_repeat_rows(head, head)?;
    ranges.retain(|(_, first, last)| last > first);
    if !ranges.is_empty() {
        lines(sheet, name, &ranges, ("IOPS over time", &[(3, "IOPS")]), head)?;
        let latencies = ("completion latency over time, ns", &[(5, "p50"), (6, "p99")][..]);
        lines(sheet, name, &ranges, latencies, head + 18)?;
    }
    Ok(())
}

/// The columns of a reporting period.
const PERIOD: [&str; 7] = [
    "repeat",
    "start, s",
    "length, s",
    "IOPS",
    "bytes/s",
    "p50 completion latency, ns",
    "p99 completion latency, ns",
];

fn lines(
    sheet: &mut Worksheet,
    name: &str,
    ranges: &[(u32, u32, u32)],
    (title, columns): (&str, &[(u16, &str)]),
    row: u32,
) -> Result<(), XlsxError> {
    let mut chart = Chart::new(ChartType::ScatterStraight);
    chart.title().set_name(title);
    chart.x_axis().set_name("seconds from the start of the measured part");
    chart.y_axis().set_min(0).set_num_format("#,##0");
    chart.set_width(640).set_height(320);
    if columns.len() == 1 && ranges.len() == 1 {
        chart.legend().set_hidden();
    }
    for (column, line) in columns {
        for (repeat, first, last) in ranges {
            let line = if ranges.len() > 1 { format!("{line}, {}", repeat + 1) } else { (*line).to_owned() };
            chart
                .add_series()
                .set_name(&line)
                .set_categories((name, *first, 1, *last, 1))
                .set_values((name, *first, *column, *last, *column));
        }
    }
    sheet.insert_chart(row, 8, &chart)?;
    Ok(())
}

fn conditions(sheet: &mut Worksheet, run: &Run, styles: &Styles) -> Result<(), XlsxError> {
    sheet.set_name("Conditions")?;
    printed(sheet, 1);
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
    printed(sheet, 1);
    let mut out = Writer::new(sheet, styles);
    out.widths(&[24.0, 10.0, 24.0, 7.0, 16.0, 80.0, 40.0, 60.0])?;
    out.title("Findings")?;
    out.heads(&["id", "severity", "phase", "repeat", "job", "message", "possible bias", "advice"])?;
    for one in findings {
        out.row(&[
            Cell::Text(&one.id),
            Cell::Text(severity(one.severity)),
            Cell::Text(one.phase.as_deref().unwrap_or_default()),
            one.repeat.map_or(Cell::Nothing, |repeat| Cell::Number(f64::from(repeat))),
            Cell::Text(one.job.as_deref().unwrap_or_default()),
            Cell::Long(&one.message),
            Cell::Long(one.bias.as_deref().unwrap_or_default()),
            Cell::Long(&one.advice),
        ])?;
    }
    Ok(())
}

fn severity(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Info => "info",
        FindingSeverity::Unchecked => "unchecked",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Invalid => "invalid",
    }
}

/// At most 31 units of UTF-16, which is what Excel counts, none of the characters that are not allowed, and its own, whatever
/// the case.
fn sheet_name(wanted: &str, used: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_control() || "[]:*?/\\'".contains(c) { '_' } else { c };
    let plain: String = wanted.chars().map(plain).collect();
    let plain = plain.trim();
    let cut = |units_max: usize| {
        let mut units = 0;
        let fits = |c: &char| {
            units += c.len_utf16();
            units <= units_max
        };
        plain.chars().take_while(fits).collect::<String>().trim_end().to_owned()
    };
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
