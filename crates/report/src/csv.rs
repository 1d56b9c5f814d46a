//! Comma-separated values: a row per job and operation, numbers plain, times in nanoseconds.
//!
//! The notes on the run, such as what of a foreign file was not honoured, are in the last column of each row.
//!
//! RFC 4180 with LF line ends. What is not known is empty. A text that a spreadsheet would take for a formula gets an
//! apostrophe in front, because names come from files of others.

use assay_results::Run;
use assay_results::run::LatencySummary;

use crate::records::{Record, records};
use crate::text::visible;

/// The columns before the latencies.
const HEAD: &[&str] = &[
    "run_id",
    "run_name",
    "started",
    "verdict",
    "row_verdict",
    "series",
    "phase",
    "kind",
    "point",
    "repeat",
    "job",
    "operation",
    "pattern",
    "block_size_bytes",
    "outstanding_io",
    "outstanding_io_mean",
    "direct",
    "durability",
    "engine",
    "workers",
    "measured_s",
    "ios",
    "bytes",
    "iops",
    "bytes_per_s",
];
/// The columns of each latency.
const LATENCY: &[&str] =
    &["n", "min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];
/// The columns behind them.
const TAIL: &[&str] = &["cached_read_share", "cpu_ns_per_io", "errors", "notes"];

/// The document, a head row first.
pub fn csv(run: &Run) -> String {
    let latencies = ["completion_ns", "response_ns", "submit_ns"];
    let columns = latencies.iter().flat_map(|kind| LATENCY.iter().map(move |name| format!("{kind}_{name}")));
    let head = HEAD.iter().map(|name| (*name).to_owned());
    let tail = TAIL.iter().map(|name| (*name).to_owned());
    let mut text = head.chain(columns).chain(tail).collect::<Vec<_>>().join(",") + "\n";
    for record in records(run) {
        text.push_str(&row(run, &record).join(","));
        text.push('\n');
    }
    text
}

fn row(run: &Run, record: &Record<'_>) -> Vec<String> {
    let Record { phase, job, operation, op } = *record;
    let mut cells = vec![
        field(&run.id),
        field(&run.name),
        field(&run.started),
        run.verdict.word().to_owned(),
        run.row_or_step(phase, job).map_or_else(String::new, |row| row.verdict.word().to_owned()),
        field(run.plan.series.as_deref().unwrap_or_default()),
        field(&phase.name),
        field(phase.kind.name()),
        field(phase.point.as_str()),
        phase.repeat.to_string(),
        field(&job.name),
        operation.to_owned(),
        field(&job.pattern),
        if op.bytes > 0 { known(op.block_size) } else { op.block_size.to_string() },
        known(job.outstanding_io),
        if job.outstanding_io > 0 { number(job.outstanding_io_mean) } else { String::new() },
        job.direct.to_string(),
        field(&job.durability),
        field(job.engine.as_str()),
        job.workers.to_string(),
        number(job.measured_s),
        if op.known_iops().is_some() { op.ios.to_string() } else { String::new() },
        op.bytes.to_string(),
        op.known_iops().map_or_else(String::new, number),
        number(op.bytes_per_s),
    ];
    for latency in [Some(op.completion_ns), op.response_ns, op.submit_ns] {
        cells.extend(latency_cells(latency));
    }
    cells.push(job.cached_read_share.map_or_else(String::new, number));
    cells.push(number(job.cpu_ns_per_io));
    cells.push(job.errors.to_string());
    cells.push(field(&run.notes.join("; ")));
    cells
}

fn latency_cells(latency: Option<LatencySummary>) -> Vec<String> {
    let Some(l) = latency.filter(|latency| latency.n > 0) else { return vec![String::new(); LATENCY.len()] };
    let known = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let mut cells = vec![l.n.to_string(), l.min.to_string(), number(l.mean), number(l.stddev)];
    cells.extend([l.p50, l.p90, l.p95, l.p99, l.p99_9, l.p99_99].map(known));
    cells.push(l.max.to_string());
    cells
}

/// Empty where it is 0, which means that it is not known.
fn known(count: u64) -> String {
    if count > 0 { count.to_string() } else { String::new() }
}

/// As few digits as give the same number again; empty where there is no number.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// A text, quoted where it must be.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']);
    let text = if formula { format!("'{}", visible(text)) } else { visible(text).into_owned() };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("a\n\u{1b}b"), "a\\n\\x1bb");
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!(number(1234567.5), "1234567.5");
        assert_eq!(number(3.0), "3");
        assert_eq!(number(f64::NAN), "");
    }
}
