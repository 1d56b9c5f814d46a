//! A run in the text format of OpenMetrics 1.0, for Prometheus' textfile collector, a push gateway or any reader of it.
//!
//! Times are seconds and sizes bytes, as the format asks for. A quantile that too few operations bear is left out.

use std::fmt::Write as _;

use assay_results::Run;
use assay_results::run::LatencySummary;

use crate::records::{Record, records};
use crate::text::visible;

/// The document of a run.
pub fn openmetrics(run: &Run) -> String {
    of_runs(&[run], "")
}

/// The document of several runs, told apart by their labels; `more` are whole families of others.
pub fn of_runs(runs: &[&Run], more: &str) -> String {
    let mut text = String::new();
    family(&mut text, "assay_run", "info", "", "What was run, and whether it may be believed");
    for run in runs {
        let facts = [
            label("run", &run.id),
            label("name", &run.name),
            label("started", &run.started),
            label("verdict", run.verdict.word()),
            label("series", run.plan.series.as_deref().unwrap_or_default()),
            label("version", &run.assay.version),
            label("host", run.environment.machine.hostname.as_deref().unwrap_or_default()),
        ];
        let _ = writeln!(text, "assay_run_info{{{}}} 1", facts.join(","));
    }
    family(&mut text, "assay_run_seconds", "gauge", "seconds", "How long the run took");
    for run in runs {
        let _ = writeln!(text, "assay_run_seconds{{{}}} {}", label("run", &run.id), run.elapsed_s);
    }
    operations(&mut text, runs);
    text.push_str(more);
    text.push_str("# EOF\n");
    text
}

fn operations(text: &mut String, runs: &[&Run]) {
    let labelled: Vec<(String, Record<'_>)> =
        runs.iter().flat_map(|run| records(run).into_iter().map(|one| (labels(run, &one), one))).collect();
    type Value = fn(&Record<'_>) -> Option<f64>;
    let numbers: [(&str, &str, &str, &str, Value); 6] = [
        ("assay_operations", "counter", "", "Completed operations", |one| {
            one.op.known_iops().map(|_| one.op.ios as f64)
        }),
        ("assay_transferred_bytes", "counter", "bytes", "Bytes moved", |one| Some(one.op.bytes as f64)),
        ("assay_iops", "gauge", "", "Operations a second of measured time", |one| one.op.known_iops()),
        ("assay_bandwidth_bytes", "gauge", "bytes", "Bytes a second of measured time", |one| {
            Some(one.op.bytes_per_s)
        }),
        ("assay_measured_seconds", "gauge", "seconds", "Measured time", |one| Some(one.job.measured_s)),
        ("assay_job_errors", "gauge", "", "Failed operations of the job", |one| Some(one.job.errors as f64)),
    ];
    for (name, kind, unit, help, value) in numbers {
        family(text, name, kind, unit, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, record) in &labelled {
            if let Some(value) = value(record).filter(|value| value.is_finite()) {
                let _ = writeln!(text, "{name}{suffix}{{{labels}}} {value}");
            }
        }
    }
    type Latency = fn(&Record<'_>) -> Option<LatencySummary>;
    let latencies: [(&str, &str, Latency); 3] = [
        ("assay_completion_latency_seconds", "Submission to completion", |one| Some(one.op.completion_ns)),
        ("assay_response_time_seconds", "Intended arrival to completion", |one| one.op.response_ns),
        ("assay_submit_latency_seconds", "Time in the submitting call", |one| one.op.submit_ns),
    ];
    for (name, help, value) in latencies {
        family(text, name, "summary", "seconds", help);
        for (labels, record) in &labelled {
            if let Some(latency) = value(record).filter(|latency| latency.n > 0) {
                summary(text, name, labels, &latency);
            }
        }
    }
}

fn summary(text: &mut String, name: &str, labels: &str, latency: &LatencySummary) {
    for (_, quantile, value) in latency.percentiles() {
        if let Some(ns) = value {
            let _ = writeln!(text, "{name}{{{labels},quantile=\"{quantile}\"}} {}", seconds(ns));
        }
    }
    let _ = writeln!(text, "{name}{{{labels},quantile=\"0.0\"}} {}", seconds(latency.min));
    let _ = writeln!(text, "{name}{{{labels},quantile=\"1.0\"}} {}", seconds(latency.max));
    let _ = writeln!(text, "{name}_count{{{labels}}} {}", latency.n);
    let _ = writeln!(text, "{name}_sum{{{labels}}} {}", latency.mean * latency.n as f64 / 1e9);
}

/// Nanoseconds as seconds, every digit of them.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

fn family(text: &mut String, name: &str, kind: &str, unit: &str, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}.");
}

fn labels(run: &Run, record: &Record<'_>) -> String {
    let Record { phase, job, operation, op } = *record;
    let all = [
        label("run", &run.id),
        label("phase", &phase.name),
        label("phase_kind", phase.kind.name()),
        // Phases of one name and point are told apart by these two.
        label("plan_phase", &phase.plan_phase.to_string()),
        label("point", phase.point.as_str()),
        label("repeat", &phase.repeat.to_string()),
        label("job", &job.name),
        label("operation", operation),
        label("block_size_bytes", &op.block_size.to_string()),
        label("outstanding", &job.outstanding_io.to_string()),
    ];
    all.join(",")
}

/// A label with its value escaped.
fn label(name: &str, value: &str) -> String {
    let value = visible(value).replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_keep_their_digits() {
        assert_eq!(seconds(1_234_567_890), "1.23456789");
        assert_eq!(seconds(1), "0.000000001");
        assert_eq!(seconds(3_000_000_000), "3.0");
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("job", "a\"b\\c"), "job=\"a\\\"b\\\\c\"");
    }

    #[test]
    fn every_number_is_that_of_the_run() {
        let run = assay_results::samples::stb_run();
        let text = openmetrics(&run);
        assert!(text.ends_with("# EOF\n"));
        for record in records(&run) {
            let labels = labels(&run, &record);
            let find = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}{{{labels}")));
                line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            };
            assert_eq!(find("assay_iops"), record.op.known_iops(), "{labels}");
            assert_eq!(find("assay_transferred_bytes_total"), Some(record.op.bytes as f64));
            if let Some(p99) = record.op.completion_ns.p99 {
                let shown = find_quantile(&text, &labels, "0.99").expect("a p99");
                assert_eq!(shown, p99 as f64 / 1e9);
            }
        }
    }

    fn find_quantile(text: &str, labels: &str, quantile: &str) -> Option<f64> {
        let head = format!("assay_completion_latency_seconds{{{labels},quantile=\"{quantile}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&head)?.parse().ok())
    }
}
