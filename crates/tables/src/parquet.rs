//! A run as two Parquet files, the same columns for every run, so that DuckDB, Polars and Spark read thousands of them with one glob:
//! `histograms.parquet` with a row per job, operation and kind of latency, and `intervals.parquet` with a row per reporting period,
//! job and operation. Whole distributions go along, so that percentiles over runs are made of merged histograms.

mod columns;

use assay_report::records::{Record, records};
use assay_results::histogram::{SparseHistogram, bucket_low_ns};
use assay_results::run::{JobResult, LatencySummary, PhaseResult};
use assay_results::{Interval, JobCounts, LatencyHistogram, OpCounts, Run};

use columns::{Column, Table};

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
#[error("failed to write Parquet: {0}")]
pub struct ParquetError(#[from] ::parquet::errors::ParquetError);

/// Rows that are held in memory at once.
const ROWS_MAX: usize = 20_000;

/// File names and contents. `intervals` are the reporting periods of the run, in any order; without them their file has no rows.
///
/// # Errors
/// Where the library refuses what it is given.
pub fn parquet_files(run: &Run, intervals: &[Interval]) -> Result<Vec<(String, Vec<u8>)>, ParquetError> {
    let mut wholes = Table::new(&histogram_rows(run, &[]))?;
    for rows in whole_rows(run).chunks(ROWS_MAX) {
        wholes.write(histogram_rows(run, rows))?;
    }
    let mut periods = Table::new(&interval_rows(run, &[]))?;
    for rows in period_rows(run, intervals).chunks(ROWS_MAX) {
        periods.write(interval_rows(run, rows))?;
    }
    Ok(vec![
        ("histograms.parquet".to_owned(), wholes.finish()?),
        ("intervals.parquet".to_owned(), periods.finish()?),
    ])
}

/// One kind of latency of one operation of a job.
struct Whole<'r> {
    record: Record<'r>,
    kind: &'static str,
    latency: LatencySummary,
    histogram: Option<&'r SparseHistogram>,
}

fn whole_rows<'r>(run: &'r Run) -> Vec<Whole<'r>> {
    let of = |record: Record<'r>| {
        let op = record.op;
        let kinds = [
            Some(("completion", op.completion_ns, op.completion_histogram.as_ref())),
            op.response_ns.map(|latency| ("response", latency, op.response_histogram.as_ref())),
            op.submit_ns.map(|latency| ("submit", latency, None)),
        ];
        kinds.into_iter().flatten().map(move |(kind, latency, histogram)| (record, kind, latency, histogram))
    };
    let rows = records(run).into_iter().flat_map(of);
    rows.map(|(record, kind, latency, histogram)| Whole { record, kind, latency, histogram }).collect()
}

/// What is the same in both files: which run, phase, job and operation, under which conditions.
fn conditions<'r>(
    run: &'r Run,
    rows: &[(&'r PhaseResult, &'r JobResult, &'r str, u64)],
) -> Vec<(&'static str, Column<'r>)> {
    let text = |value: fn(&'r PhaseResult, &'r JobResult) -> &'r str| {
        Column::Text(rows.iter().map(|(phase, job, _, _)| value(phase, job)).collect())
    };
    let count = |value: fn(&PhaseResult, &JobResult) -> u64| {
        Column::Count(rows.iter().map(|(phase, job, _, _)| value(phase, job)).collect())
    };
    let of_run = |value: &'r str| Column::Text(vec![value; rows.len()]);
    let verdict = |(phase, job, _, _): &(&'r PhaseResult, &'r JobResult, &str, u64)| {
        run.row_or_step(phase, job).map_or("", |row| row.verdict.word())
    };
    vec![
        ("run_id", of_run(&run.id)),
        ("run_name", of_run(&run.name)),
        ("started", of_run(&run.started)),
        ("host", of_run(run.environment.machine.hostname.as_deref().unwrap_or_default())),
        ("run_verdict", of_run(run.verdict.word())),
        ("verdict", Column::Text(rows.iter().map(verdict).collect())),
        ("phase", text(|phase, _| &phase.name)),
        ("plan_phase", count(|phase, _| u64::from(phase.plan_phase))),
        ("kind", text(|phase, _| phase.kind.name())),
        ("point", text(|phase, _| phase.point.as_str())),
        ("repeat", count(|phase, _| u64::from(phase.repeat))),
        ("job", text(|_, job| &job.name)),
        ("op", Column::Text(rows.iter().map(|row| row.2).collect())),
        ("block_size_bytes", Column::Count(rows.iter().map(|row| row.3).collect())),
        ("outstanding_io", count(|_, job| job.outstanding_io)),
        ("pattern", text(|_, job| &job.pattern)),
    ]
}

fn histogram_rows<'r>(run: &'r Run, rows: &[Whole<'r>]) -> Vec<(&'static str, Column<'r>)> {
    let keys: Vec<_> = rows
        .iter()
        .map(|row| (row.record.phase, row.record.job, row.record.operation, row.record.op.block_size))
        .collect();
    let mut columns = conditions(run, &keys);
    let count = |value: fn(&Whole<'_>) -> u64| Column::Count(rows.iter().map(value).collect());
    let number = |value: fn(&Whole<'_>) -> f64| Column::Number(rows.iter().map(value).collect());
    let known = |value: fn(&LatencySummary) -> Option<u64>| {
        Column::KnownCount(rows.iter().map(|row| value(&row.latency)).collect())
    };
    columns.extend([
        ("latency", Column::Text(rows.iter().map(|row| row.kind).collect())),
        ("measured_s", number(|row| row.record.job.measured_s)),
        ("ios", count(|row| row.record.op.ios)),
        ("bytes", count(|row| row.record.op.bytes)),
        ("iops", Column::KnownNumber(rows.iter().map(|row| row.record.op.known_iops()).collect())),
        ("bytes_per_s", number(|row| row.record.op.bytes_per_s)),
        ("errors", count(|row| row.record.job.errors)),
        ("n", count(|row| row.latency.n)),
        ("min_ns", count(|row| row.latency.min)),
        ("mean_ns", number(|row| row.latency.mean)),
        ("stddev_ns", number(|row| row.latency.stddev)),
        ("p50_ns", known(|latency| latency.p50)),
        ("p90_ns", known(|latency| latency.p90)),
        ("p95_ns", known(|latency| latency.p95)),
        ("p99_ns", known(|latency| latency.p99)),
        ("p99_9_ns", known(|latency| latency.p99_9)),
        ("p99_99_ns", known(|latency| latency.p99_99)),
        ("max_ns", count(|row| row.latency.max)),
    ]);
    let buckets = |row: &Whole<'_>| {
        let sparse = row.histogram.map(|sparse| sparse.buckets.as_slice()).unwrap_or_default();
        sparse.iter().map(|(bucket, count)| (bucket_low_ns(*bucket as usize), *count)).collect()
    };
    columns.push(("hist", Column::Histogram(rows.iter().map(buckets).collect())));
    columns
}

/// One operation of one job in one reporting period.
struct Period<'r> {
    phase: &'r PhaseResult,
    job: &'r JobResult,
    interval: &'r Interval,
    op: &'static str,
    counts: &'r OpCounts,
}

fn period_rows<'r>(run: &'r Run, intervals: &'r [Interval]) -> Vec<Period<'r>> {
    let mut rows: Vec<Period<'r>> = Vec::new();
    for interval in intervals {
        let key = &interval.key;
        let Some(phase) = run.phases.iter().find(|phase| phase.plan_phase == key.phase) else { continue };
        let Some(job) = phase.jobs.iter().find(|job| job.evidence.plan_jobs.contains(&key.job)) else {
            continue;
        };
        for (op, counts) in JobCounts::NAMES.into_iter().zip(&interval.counts.ops) {
            if counts.ios > 0 {
                rows.push(Period { phase, job, interval, op, counts });
            }
        }
    }
    rows.sort_by_key(|row| (row.interval.key.phase, row.interval.key.job, row.interval.key.start_ns));
    rows
}

fn interval_rows<'r>(run: &'r Run, rows: &[Period<'r>]) -> Vec<(&'static str, Column<'r>)> {
    let keys: Vec<_> = rows
        .iter()
        .map(|row| (row.phase, row.job, row.op, row.counts.bytes.checked_div(row.counts.ios).unwrap_or(0)))
        .collect();
    let mut columns = conditions(run, &keys);
    let count = |value: fn(&Period<'_>) -> u64| Column::Count(rows.iter().map(value).collect());
    let quantile = |quantile: f64| {
        Column::KnownCount(rows.iter().map(|row| row.counts.completion.quantile_ns(quantile)).collect())
    };
    columns.extend([
        ("ramp", Column::Flag(rows.iter().map(|row| row.interval.key.ramp).collect())),
        ("index", count(|row| u64::from(row.interval.key.index))),
        ("start_ns", count(|row| row.interval.key.start_ns)),
        ("length_ns", count(|row| row.interval.key.length_ns)),
        ("ios", count(|row| row.counts.ios)),
        ("bytes", count(|row| row.counts.bytes)),
        ("p50_ns", quantile(0.5)),
        ("p99_ns", quantile(0.99)),
        ("max_ns", count(|row| row.counts.completion.max_ns())),
        ("hist", Column::Histogram(rows.iter().map(|row| buckets(&row.counts.completion)).collect())),
        ("response_hist", Column::Histogram(rows.iter().map(|row| buckets(&row.counts.response)).collect())),
    ]);
    columns
}

/// The smallest latency of each bucket that holds values, and how many.
fn buckets(histogram: &LatencyHistogram) -> Vec<(u64, u64)> {
    histogram.buckets().map(|(bucket, count)| (bucket_low_ns(bucket), count)).collect()
}

#[cfg(test)]
mod tests;
