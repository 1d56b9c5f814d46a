//! `histogram.html`: completion latencies in vdbench's 27 buckets.

use assay_results::LatencyHistogram;
use assay_results::histogram::{bucket_low_ns, bucket_width_ns};
use assay_results::run::{JobResult, OpResult};

use super::rows::Definition;

/// Upper edges in microseconds of all buckets but the last, which has none.
const EDGES_US: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 40_000,
    60_000, 80_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];
/// Columns of the bars: two per cent each.
const BAR: usize = 50;

pub(super) fn histograms(definitions: &[Definition<'_>]) -> String {
    let mut text = String::new();
    for definition in definitions {
        let jobs = &definition.phase.jobs;
        let reads = merged(jobs, |job| [job.read.as_ref(), None]);
        let writes = merged(jobs, |job| [job.write.as_ref(), job.trim.as_ref()]);
        text.push_str(&format!("\nRD={}; For loops: {}\n", definition.name, definition.loops));
        let sections = match (reads, writes) {
            (Some(reads), Some(writes)) => {
                let mut both = reads.clone();
                both.merge(&writes);
                vec![("Reads and writes:", both), ("Reads:", reads), ("Writes:", writes)]
            }
            (Some(reads), None) => vec![("Only reads done for this workload:", reads)],
            (None, Some(writes)) => vec![("Only writes done for this workload:", writes)],
            (None, None) => Vec::new(),
        };
        for (title, histogram) in sections {
            text.push_str(&format!("\n{title}\n\n"));
            text.push_str(&table(&histogram));
        }
    }
    text
}

/// The distribution of some operations of all jobs; `None` where there are none, or it is not known of one of them.
fn merged<'j>(
    jobs: &'j [JobResult],
    of: impl Fn(&'j JobResult) -> [Option<&'j OpResult>; 2],
) -> Option<LatencyHistogram> {
    let mut sum = LatencyHistogram::new();
    for op in jobs.iter().flat_map(of).flatten() {
        sum.merge(&LatencyHistogram::from_sparse(op.completion_histogram.as_ref()?));
    }
    (!sum.is_empty()).then_some(sum)
}

fn table(histogram: &LatencyHistogram) -> String {
    let mut counts = [0_u64; EDGES_US.len() + 1];
    for (bucket, count) in histogram.buckets() {
        let middle_ns = bucket_low_ns(bucket) + bucket_width_ns(bucket) / 2;
        let row = EDGES_US.iter().position(|edge| middle_ns < edge * 1000).unwrap_or(EDGES_US.len());
        counts[row] = counts[row].saturating_add(count);
    }
    let percent = |count: u64| 100.0 * count as f64 / histogram.n().max(1) as f64;
    let (count, own, cumulative) = ("count", "%%", "cum%%");
    let mut text = format!(
        "{:>10} < {:<10} {count:>15} {own:>8} {cumulative:>8}  '+': Individual%; '+-': Cumulative%\n\n",
        "min(ms)", "max(ms)"
    );
    let mut seen = 0_u64;
    for (row, count) in counts.into_iter().enumerate() {
        seen = seen.saturating_add(count);
        let low = row.checked_sub(1).map_or(0, |before| EDGES_US[before]);
        let high = EDGES_US.get(row).map_or("max".to_owned(), |edge| milliseconds(*edge));
        let (own, cumulative) = (percent(count), percent(seen));
        let pluses = columns(own);
        let bar = "+".repeat(pluses) + &"-".repeat(columns(cumulative).saturating_sub(pluses));
        let line = format!(
            "{:>10} < {high:<10} {:>15} {own:8.4} {cumulative:8.4}  {bar}",
            milliseconds(low),
            with_commas(count)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn columns(percent: f64) -> usize {
    ((percent * BAR as f64 / 100.0).round() as usize).min(BAR)
}

fn milliseconds(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// Thousands apart: `1,234,567`.
fn with_commas(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_row() {
        let mut histogram = LatencyHistogram::new();
        for (ns, n) in [(5_000, 1_000_000), (30_000, 500_000), (3_000_000, 499_999), (9_000_000_000, 1)] {
            histogram.record_n(ns, n);
        }
        let text = table(&histogram);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.len(), 27);
        assert_eq!(rows[0][..5], ["0.000", "<", "0.020", "1,000,000", "50.0000"]);
        assert_eq!(rows[26][..4], ["2000.000", "<", "max", "1"]);
        assert_eq!(rows[26][5], "100.0000");
        let total: u64 = rows.iter().map(|row| row[3].replace(',', "").parse::<u64>().unwrap()).sum();
        assert_eq!(total, histogram.n());
    }
}
