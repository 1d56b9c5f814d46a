//! Every number in every format is that of the run, whatever the run.

use std::collections::BTreeMap;

use assay_report::csv::csv;
use assay_report::md::markdown;
use assay_report::openmetrics::openmetrics;
use assay_report::records::{Record, records};
use assay_results::Run;
use assay_results::run::LatencySummary;
use assay_results::samples::odd::phase;
use assay_workload::PhaseKind;
use proptest::prelude::*;

use crate::files::split;
use crate::support::{assay_run, curve_run, long_run, mixed_run, run, stb_run};

/// Runs of odd numbers under names of their own, so that rows can be told apart.
fn odd_run() -> impl Strategy<Value = Run> {
    proptest::collection::vec(phase(), 1..4).prop_map(|mut phases| {
        for (index, phase) in phases.iter_mut().enumerate() {
            phase.name = format!("phase{index}");
            for (index, job) in phase.jobs.iter_mut().enumerate() {
                job.name = format!("job{index}");
            }
        }
        run("odd", "", phases)
    })
}

/// What a cell should hold: the number again, or nothing.
fn assert_number(cell: &str, wanted: Option<f64>, what: &str) {
    assert_eq!(cell.parse::<f64>().ok(), wanted.filter(|value| value.is_finite()), "{what}: '{cell}'");
}

fn numbers(latency: Option<LatencySummary>) -> [Option<f64>; 11] {
    let Some(l) = latency.filter(|latency| latency.n > 0) else { return [None; 11] };
    let known = |value: Option<u64>| value.map(|ns| ns as f64);
    [
        Some(l.n as f64),
        Some(l.min as f64),
        Some(l.mean),
        Some(l.stddev),
        known(l.p50),
        known(l.p90),
        known(l.p95),
        known(l.p99),
        known(l.p99_9),
        known(l.p99_99),
        Some(l.max as f64),
    ]
}

fn assert_csv(run: &Run) {
    let rows = split(&csv(run));
    let column = |name: &str| rows[0].iter().position(|known| known == name).expect("the column");
    let wanted = records(run);
    assert_eq!(rows.len(), wanted.len() + 1);
    for (row, record) in rows[1..].iter().zip(&wanted) {
        let op = record.op;
        assert_number(&row[column("bytes")], Some(op.bytes as f64), "bytes");
        assert_number(&row[column("iops")], op.known_iops(), "iops");
        assert_number(&row[column("bytes_per_s")], Some(op.bytes_per_s), "bytes_per_s");
        assert_number(&row[column("measured_s")], Some(record.job.measured_s), "measured_s");
        for (kind, latency) in [
            ("completion_ns", Some(op.completion_ns)),
            ("response_ns", op.response_ns),
            ("submit_ns", op.submit_ns),
        ] {
            let first = column(&format!("{kind}_n"));
            for (cell, wanted) in row[first..first + 11].iter().zip(numbers(latency)) {
                assert_number(cell, wanted, kind);
            }
        }
    }
}

/// Names and labels of each line with its value.
fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').expect("a value"))
        .map(|(key, value)| (key, value.parse().expect("a number")))
        .collect()
}

fn assert_openmetrics(run: &Run) {
    let text = openmetrics(run);
    let found = samples(&text);
    let of = |name: &str, phase: &str, job: &str, operation: &str, quantile: &str| {
        let parts = [
            format!("phase=\"{phase}\""),
            format!("job=\"{job}\""),
            format!("operation=\"{operation}\""),
            quantile.to_owned(),
        ];
        found
            .iter()
            .find(|(key, _)| {
                key.starts_with(&format!("{name}{{")) && parts.iter().all(|part| key.contains(part.as_str()))
            })
            .map(|(_, value)| *value)
    };
    for record in records(run) {
        let of = |name: &str, quantile: &str| {
            of(name, &record.phase.name, &record.job.name, record.operation, quantile)
        };
        let op = record.op;
        assert_eq!(of("assay_iops", ""), op.known_iops().filter(|iops| iops.is_finite()));
        assert_eq!(of("assay_transferred_bytes_total", ""), Some(op.bytes as f64));
        assert_eq!(of("assay_operations_total", ""), op.known_iops().map(|_| op.ios as f64));
        let p99 = op.completion_ns.p99.filter(|_| op.completion_ns.n > 0);
        let found = of("assay_completion_latency_seconds", "quantile=\"0.99\"");
        // Seconds of a whole number of nanoseconds.
        assert_eq!(found.is_some(), p99.is_some());
        if let (Some(found), Some(ns)) = (found, p99) {
            assert!((found - ns as f64 / 1e9).abs() <= 1e-12 * found.max(1e-9), "{found} for {ns} ns");
        }
    }
}

/// Markdown is for people: three digits, of the same number.
fn assert_markdown(run: &Run) {
    let text = markdown(run, &[]);
    let shown = |record: &Record<'_>| record.operation != "total" && record.phase.kind == PhaseKind::Measure;
    for record in records(run).into_iter().filter(shown) {
        let Some(iops) = record.op.known_iops().filter(|iops| (1.0..1e12).contains(iops)) else { continue };
        let number = |cell: &str| cell.trim().replace(',', "").parse::<f64>().ok();
        let near = |cell: &str| number(cell).is_some_and(|shown| (shown - iops).abs() <= 0.006 * iops);
        let row = text
            .lines()
            .any(|line| line.contains(&format!("| {} |", record.operation)) && line.split('|').any(near));
        assert!(row, "{iops} IOPS of {} is not in\n{text}", record.operation);
    }
}

fn assert_json(run: &Run) {
    let text = serde_json::to_string_pretty(run).expect("a document");
    let again: Run = serde_json::from_str(&text).expect("the same document");
    assert_eq!(&again, run);
}

#[test]
fn of_runs_as_they_are() {
    for run in [assay_run(), curve_run(), long_run(), mixed_run(), stb_run()] {
        assert_csv(&run);
        assert_json(&run);
        if run.plan.series.is_none() {
            assert_markdown(&run);
        }
    }
    assert_openmetrics(&mixed_run());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn of_runs_that_no_machine_would_make(run in odd_run()) {
        assert_csv(&run);
        assert_openmetrics(&run);
        assert_json(&run);
        assert_markdown(&run);
    }
}
