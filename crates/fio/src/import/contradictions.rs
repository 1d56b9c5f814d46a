//! Figures of one entry of fio's `jobs` held against each other.

use assay_results::foreign::Contradictions;
use serde_json::Value;

/// Below this fio's times, whole milliseconds, are too coarse to divide by.
const RUNTIME_MS_MIN: f64 = 500.0;
/// No device answers more often, with errors or without.
const ANSWERS_PER_S_MAX: f64 = 1e9;

/// What contradicts itself in an entry.
pub(super) fn of_entry(entry: &Value) -> Vec<String> {
    let mut found = Contradictions::default();
    for field in ["error", "total_err", "usr_cpu", "sys_cpu", "job_runtime"] {
        found.not_negative(field, number(entry, field).unwrap_or(0.0));
    }
    let operations =
        || ["read", "write", "trim", "mixed"].into_iter().filter_map(|name| Some((name, entry.get(name)?)));
    let runtime_ms = operations().filter_map(|(_, op)| number(op, "runtime")).fold(0.0, f64::max);
    if runtime_ms > 0.0 {
        let most = ANSWERS_PER_S_MAX * runtime_ms / 1e3;
        let errors = number(entry, "total_err").unwrap_or(0.0);
        found.at_most(("total_err", errors), ("the most that runtime allows", most));
    }
    operations().for_each(|(name, op)| of_operation(name, op, &mut found));
    found.sentences()
}

fn number(value: &Value, field: &str) -> Option<f64> {
    value.get(field).and_then(Value::as_f64)
}

fn of_operation(name: &str, op: &Value, found: &mut Contradictions) {
    let get = |field: &str| number(op, field).unwrap_or(0.0);
    let field = |field: &str| format!("{name}.{field}");
    for one in ["total_ios", "io_bytes", "runtime", "iops", "bw", "bw_bytes", "short_ios", "drop_ios"] {
        found.not_negative(&field(one), get(one));
    }
    let (ios, bytes, runtime_ms) = (get("total_ios"), get("io_bytes"), get("runtime"));
    if runtime_ms >= RUNTIME_MS_MIN {
        let seconds = runtime_ms / 1e3;
        found.agree((&field("iops"), get("iops")), ("total_ios / runtime", ios / seconds));
        found.agree((&field("bw_bytes"), get("bw_bytes")), ("io_bytes / runtime", bytes / seconds));
    }
    // fio rounds bw down to whole KiB/s.
    if get("bw") >= 100.0 {
        found.agree((&field("bw"), get("bw")), ("bw_bytes in KiB/s", get("bw_bytes") / 1024.0));
    }
    if ios > 0.0 {
        let way = "iops times the mean size of an I/O (io_bytes / total_ios)";
        found.agree((&field("bw_bytes"), get("bw_bytes")), (way, get("iops") * bytes / ios));
        found.at_most((&field("short_ios"), get("short_ios")), ("total_ios", ios));
    }
    for latency in ["slat_ns", "clat_ns", "lat_ns"] {
        if let Some(value) = op.get(latency) {
            of_latency(&field(latency), value, ios, found);
        }
    }
}

fn of_latency(name: &str, latency: &Value, ios: f64, found: &mut Contradictions) {
    let field = |field: &str| format!("{name}.{field}");
    for one in ["min", "max", "mean", "stddev", "N"] {
        found.not_negative(&field(one), number(latency, one).unwrap_or(0.0));
    }
    let get = |field: &str| number(latency, field).unwrap_or(0.0);
    if get("N") < 1.0 {
        return;
    }
    if ios > 0.0 {
        found.at_most((&field("N"), get("N")), ("total_ios", ios));
    }
    found.at_most((&field("min"), get("min")), ("mean", get("mean")));
    found.at_most((&field("mean"), get("mean")), ("max", get("max")));
    let percentiles = latency.get("percentile").and_then(Value::as_object);
    let mut points: Vec<(f64, f64)> = percentiles
        .into_iter()
        .flatten()
        .filter_map(|(share, value)| Some((share.parse().ok()?, value.as_f64()?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let percentile = |share: f64| format!("{name}.percentile {share}");
    for pair in points.windows(2) {
        let higher = percentile(pair[1].0);
        found.at_most((&percentile(pair[0].0), pair[0].1), (&higher, pair[1].1));
    }
    for (share, value) in points {
        found.not_negative(&percentile(share), value);
        found.at_most((&percentile(share), value), (&field("max"), get("max")));
    }
}
