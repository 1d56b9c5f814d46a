//! Lines of summary and totals.

use super::rows::{Definition, Row};
use assay_results::foreign::Moment;

/// So many rows follow a header.
pub(super) const ROWS_PER_HEADER: usize = 30;

/// `18:42:08.146`.
pub(super) fn time_of_day(moment: Moment) -> String {
    moment.format("%H:%M:%S%.3f")
}

/// `11/21/2026-18:42:08-UTC`.
pub(super) fn timestamp(moment: Moment) -> String {
    moment.format("%m/%d/%Y-%H:%M:%S-UTC")
}

/// The two lines above the rows, with the date.
pub(super) fn header(moment: Moment) -> String {
    let date = moment.format("%b %d, %Y");
    let columns = |words: [&str; 13]| {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m] = words;
        let rates = format!("{a:>10} {b:>8} {c:>7} {d:>6}");
        let times = format!("{e:>8} {f:>8} {g:>8} {h:>8} {i:>8} {j:>8}");
        format!("{rates} {times} {k:>6} {l:>5} {m:>5}")
    };
    let first = columns([
        "i/o", "MB/sec", "bytes", "read", "resp", "read", "write", "read", "write", "resp", "queue", "cpu%",
        "cpu%",
    ]);
    let second = columns([
        "rate", "1024**2", "i/o", "pct", "time", "resp", "resp", "max", "max", "stddev", "depth", "sys+u",
        "sys",
    ]);
    format!("\n{date:<12} {:>11} {first}\n{:<24} {second}\n", "interval", "")
}

/// One row.
pub(super) fn row(row: &Row) -> String {
    let total = row.total();
    let (read, write) = (row.read.response, row.write.response);
    // What is not known is what vdbench itself writes where it divides by nothing.
    let processor = match row.cpu {
        Some((busy, kernel)) => format!("{:5.1} {:5.1}", busy * 100.0, kernel * 100.0),
        None => format!("{:>5} {:>5}", "NaN", "NaN"),
    };
    format!(
        "{} {:>11} {:10.1} {:8.2} {:7.0} {:6.2} {:8.3} {:8.3} {:8.3} {:8.2} {:8.2} {:8.3} {:6.1} {processor}\n",
        time_of_day(row.end),
        row.label,
        total.per_s,
        total.bytes_per_s / (1 << 20) as f64,
        row.bytes_per_io(),
        row.read_percent(),
        total.response.mean_ms(),
        read.mean_ms(),
        write.mean_ms(),
        read.max_ms(),
        write.max_ms(),
        total.response.stddev_ms(),
        row.queue_depth,
    )
}

/// The line that begins a run definition, without its end.
pub(super) fn start(definition: &Definition<'_>) -> String {
    let rate = definition.rate().map_or("Uncontrolled MAX".to_owned(), |rate| format!("{rate:.0}"));
    // With a warm-up of its own, the elapsed time is what comes behind it.
    let ramp_s = if definition.ramp_said { 0.0 } else { definition.ramp_s };
    let elapsed = definition.phase.measured_s + ramp_s;
    let warm_up = if definition.ramp_s > 0.0 && definition.ramp_said {
        format!(" warmup={:.0}", definition.ramp_s)
    } else {
        String::new()
    };
    format!(
        "{} Starting RD={}; I/O rate: {rate}; elapsed={elapsed:.0}{warm_up}; For loops: {}",
        time_of_day(definition.start),
        definition.name,
        definition.loops,
    )
}
