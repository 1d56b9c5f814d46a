//! Every number in every format is that of the run, whatever the run.

use std::collections::BTreeMap;

use assay_report::csv::csv;
use assay_report::hlog::hlog;
use assay_report::md::markdown;
use assay_report::openmetrics::openmetrics;
use assay_report::records::{Record, records};
use assay_results::run::LatencySummary;
use assay_results::samples::odd::phase;
use assay_results::{LatencyHistogram, Run};
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

/// The bytes of a text in base64.
fn from_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits = text.trim_end_matches('=').bytes().map(|c| u32::from(value(c)));
    let bits: Vec<u32> = bits.collect();
    let of = |four: &[u32]| {
        let word = four.iter().fold(0, |word, six| (word << 6) | six) << (6 * (4 - four.len()));
        word.to_be_bytes()[1..four.len()].to_vec()
    };
    bits.chunks(4).flat_map(of).collect()
}

/// Index and count of each bucket that a payload of a log has: what HdrHistogram's readers do.
fn counts_of(payload: &str) -> Vec<(usize, u64)> {
    let bytes = from_base64(payload);
    // Cookie and length, then zlib with stored blocks.
    let (mut rest, mut data) = (&bytes[8 + 2..], Vec::new());
    loop {
        let length = usize::from(u16::from_le_bytes([rest[1], rest[2]]));
        data.extend_from_slice(&rest[5..5 + length]);
        let last = rest[0] == 1;
        rest = &rest[5 + length..];
        if last {
            break;
        }
    }
    let (mut counts, mut index) = (Vec::new(), 0_usize);
    let mut values = data[40..].iter().copied();
    while let Some(first) = values.next() {
        let mut value = u64::from(first & 0x7f);
        let (mut byte, mut shift) = (first, 7);
        while byte & 0x80 != 0 {
            byte = values.next().expect("another byte");
            value |= u64::from(if shift == 56 { byte } else { byte & 0x7f }) << shift;
            shift += 7;
            if shift > 56 {
                break;
            }
        }
        let value = (value >> 1) as i64 ^ -((value & 1) as i64);
        if value < 0 {
            index += value.unsigned_abs() as usize;
        } else {
            counts.push((index, value as u64));
            index += 1;
        }
    }
    counts
}

/// A line over all of the time for each distribution, which holds the counts of the run.
fn assert_hlog(run: &Run) {
    let text = hlog(run, &[]);
    let mut lines = text.lines().filter(|line| line.starts_with("Tag="));
    for record in records(run).into_iter().filter(|record| record.operation != "total") {
        for sparse in [&record.op.completion_histogram, &record.op.response_histogram] {
            let Some(histogram) = sparse.as_ref().map(LatencyHistogram::from_sparse) else { continue };
            if histogram.is_empty() {
                continue;
            }
            let line = lines.next().expect("a line");
            let cells: Vec<&str> = line.split(',').collect();
            let [_, _, length, max, payload] = cells.as_slice() else { panic!("{line}") };
            assert_eq!(*length, format!("{:.3}", record.job.measured_s));
            assert_eq!(*max, format!("{:.3}", histogram.max_ns() as f64 / 1e6));
            // The format has signed counts.
            let counts = histogram.buckets().map(|(bucket, count)| (bucket, count.min(i64::MAX as u64)));
            assert_eq!(counts_of(payload), counts.collect::<Vec<_>>());
        }
    }
    assert_eq!(lines.next(), None);
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
        assert_hlog(&run);
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
        assert_hlog(&run);
        assert_markdown(&run);
    }
}
