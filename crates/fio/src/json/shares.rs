//! fio's tables of per cents: of latencies, and of queue depths.

use assay_results::LatencyHistogram;
use assay_results::histogram::{bucket_low_ns, bucket_width_ns};

use super::document::Object;

/// Upper edges of the first tables' columns.
const UP_TO_1000: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// `latency_ns`, `latency_us`, `latency_ms`: per cents of all reads, writes and trims by completion latency. A column
/// holds what is below its name and not in the one before; fio shows no share below 0.01 but none at all.
pub(super) fn latency_tables(histogram: &LatencyHistogram) -> [(&'static str, Object); 3] {
    let mut counts = [[0_u64; 12]; 3];
    for (bucket, count) in histogram.buckets() {
        let middle_ns = bucket_low_ns(bucket) + bucket_width_ns(bucket) / 2;
        let (table, value) = match middle_ns {
            0..1_000 => (0, middle_ns),
            1_000..1_000_000 => (1, middle_ns / 1_000),
            _ => (2, middle_ns / 1_000_000),
        };
        let column = UP_TO_1000.iter().position(|edge| value < *edge);
        let column = column.unwrap_or(if value < 2000 { 10 } else { 11 });
        counts[table][column] = counts[table][column].saturating_add(count);
    }
    let n = histogram.n();
    let share = |count: u64| {
        let percent = if n == 0 { 0.0 } else { 100.0 * count as f64 / n as f64 };
        if count > 0 { percent.max(0.01) } else { percent }
    };
    let table = |index: usize| {
        let mut object = Object::new();
        for (column, edge) in UP_TO_1000.iter().enumerate() {
            object.put(edge.to_string(), share(counts[index][column]));
        }
        object
    };
    let milliseconds = table(2).with("2000", share(counts[2][10])).with(">=2000", share(counts[2][11]));
    [("latency_ns", table(0)), ("latency_us", table(1)), ("latency_ms", milliseconds)]
}

/// `iodepth_level` with everything in the column of `depth`, the mean; all 0 where it is not known.
pub(super) fn depth_levels(depth: f64) -> Object {
    let columns = [("1", 1.5), ("2", 3.0), ("4", 7.0), ("8", 15.0), ("16", 31.0), ("32", 63.0)];
    one_of(&columns, ">=64", depth)
}

/// `iodepth_submit` and `iodepth_complete` with everything in the column of `batch`, the mean I/Os per call; all 0 where
/// it is not known.
pub(super) fn batch_levels(batch: f64) -> Object {
    let columns = [("0", 0.0), ("4", 4.5), ("8", 8.5), ("16", 16.5), ("32", 32.5), ("64", 64.5)];
    one_of(&columns, ">=64", batch)
}

/// 100 % in the first column whose edge is above `value`.
fn one_of(columns: &[(&str, f64)], last: &str, value: f64) -> Object {
    let known = value > 0.0;
    let found = columns.iter().position(|(_, edge)| value < *edge).unwrap_or(columns.len());
    let mut object = Object::new();
    let names = columns.iter().map(|(name, _)| *name).chain([last]);
    for (index, name) in names.enumerate() {
        object.put(name, if known && index == found { 100.0 } else { 0.0 });
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::document::Json;

    fn value(object: &Object, name: &str) -> f64 {
        match object.0.iter().find(|entry| entry.0 == name) {
            Some((_, Json::Float(value))) => *value,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn each_latency_is_in_one_column() {
        let mut histogram = LatencyHistogram::new();
        for (ns, n) in [(3, 10), (999, 10), (1_500, 20), (400_000, 20), (2_000_000, 10), (5_000_000_000, 30)]
        {
            histogram.record_n(ns, n);
        }
        let [(_, ns), (_, us), (_, ms)] = latency_tables(&histogram);
        assert_eq!((value(&ns, "4"), value(&ns, "1000")), (10.0, 10.0));
        assert_eq!((value(&us, "2"), value(&us, "500")), (20.0, 20.0));
        assert_eq!((value(&ms, "4"), value(&ms, ">=2000")), (10.0, 30.0));
    }

    #[test]
    fn a_rare_one_is_not_lost() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_n(50_000, 1_000_000);
        histogram.record(3_000_000);
        let [_, _, (_, ms)] = latency_tables(&histogram);
        assert_eq!(value(&ms, "4"), 0.01);
    }

    #[test]
    fn depths_and_batches_have_their_columns() {
        for (depth, name) in [(0.9, "1"), (2.0, "2"), (4.0, "4"), (7.99, "8"), (16.0, "16"), (500.0, ">=64")]
        {
            assert_eq!(value(&depth_levels(depth), name), 100.0, "{depth}");
        }
        for (batch, name) in [(1.0, "4"), (4.0, "4"), (5.0, "8"), (64.0, "64"), (65.0, ">=64")] {
            assert_eq!(value(&batch_levels(batch), name), 100.0, "{batch}");
        }
        assert!(depth_levels(0.0).0.iter().all(|(_, share)| *share == Json::Float(0.0)));
    }
}
