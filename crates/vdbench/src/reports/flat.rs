//! `flatfile.html`: one line a row, 34 columns.

use assay_results::Run;
use assay_workload::pattern::{Distribution, OpKind, Placement};

use super::lines::{time_of_day, timestamp};
use super::rows::{Definition, Row};

/// The columns, in vdbench's order.
const COLUMNS: &str = "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max \
     read_max write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize \
     version compratio dedupratio queue_depth cpu_used cpu_user cpu_kernel cpu_wait cpu_idle";
/// What vdbench writes for a rate of as much as possible.
const RATE_MAX: f64 = 9_999_988.0;
/// What is not there.
const ABSENT: &str = "n/a";

pub(super) fn flatfile(run: &Run, definitions: &[Definition<'_>]) -> String {
    let mut text = about();
    text.push_str(&format!(" {COLUMNS}\n"));
    for definition in definitions {
        let conditions = conditions(run, definition);
        for row in definition.rows.iter().chain([&definition.average]) {
            text.push_str(&line(definition, row, &conditions));
        }
    }
    text
}

/// The comment block: what the columns mean.
fn about() -> String {
    let lines = [
        "One line for each reporting period, and one for the average of those that were measured, whose Interval",
        "begins with avg_. The first line that is not a comment names the columns; blanks separate them. What there is",
        "no value for is n/a.",
        "",
        "rate and reqrate   I/Os a second, done and asked for; 9999988: as many as possible",
        "MB/sec             1048576 bytes a second",
        "resp, read_resp, write_resp, .._max, .._std   completion latency in milliseconds: mean, maximum, deviation",
        "xfersize           bytes, the mean where a job has several; n/a where jobs differ",
        "threads            outstanding I/Os",
        "lunsize            GiB that were reached",
        "queue_depth        time-weighted mean of outstanding I/Os",
        "cpu_used, cpu_idle per cent of all processors; cpu_user and cpu_kernel share cpu_used out as the threads' own time",
        "",
        "Trims count as writes. Written by Assay in the layout of vdbench 5.04.07.",
    ];
    lines.iter().map(|line| format!("* {line}").trim_end().to_owned() + "\n").collect()
}

/// What does not change from row to row.
struct Conditions {
    requested: f64,
    xfersize: Option<f64>,
    threads: Option<f64>,
    read_percent: Option<f64>,
    hit: Option<(f64, f64)>,
    seek_percent: Option<f64>,
    size_gib: f64,
}

fn conditions(run: &Run, definition: &Definition<'_>) -> Conditions {
    let jobs = &definition.phase.jobs;
    let patterns: Vec<_> = definition.planned.iter().map(|planned| &planned.pattern).collect();
    // One value for all jobs, or none.
    let common = |of: &dyn Fn(&assay_workload::AccessPattern) -> Option<f64>| {
        let first = of(patterns.first()?);
        first.filter(|_| patterns.iter().all(|pattern| of(pattern) == first))
    };
    let hit = patterns.first().and_then(|pattern| match &pattern.placement {
        Placement::Random(random) => match random.distribution {
            Distribution::HitArea { read_percent, write_percent, .. } => Some((read_percent, write_percent)),
            _ => None,
        },
        _ => None,
    });
    let sizes: u64 = run.plan.targets.iter().map(|target| target.size_bytes).fold(0, u64::saturating_add);
    let reached: u64 = jobs.iter().map(|job| job.evidence.active_bytes).fold(0, u64::saturating_add);
    let first_size = jobs.first().map(|job| job.total.block_size);
    let one_size = jobs.iter().all(|job| Some(job.total.block_size) == first_size);
    Conditions {
        requested: definition.rate().unwrap_or(RATE_MAX),
        // 0 is not known.
        xfersize: first_size.filter(|size| one_size && *size > 0).map(|size| size as f64),
        threads: Some(jobs.iter().map(|job| job.outstanding_io as f64).sum()).filter(|sum| *sum > 0.0),
        read_percent: common(&|pattern| Some(100.0 * pattern.mix.share(OpKind::Read))),
        hit,
        seek_percent: common(&|pattern| match &pattern.placement {
            Placement::Sequential(_) => Some(0.0),
            Placement::Random(_) => Some(100.0),
            Placement::Mixed { random_percent, .. } => Some(*random_percent),
            Placement::Unknown => None,
        }),
        size_gib: if reached > 0 { reached } else { sizes } as f64 / (1 << 30) as f64,
    }
}

fn line(definition: &Definition<'_>, row: &Row, conditions: &Conditions) -> String {
    let total = row.total();
    let (all, read, write) = (total.response, row.read.response, row.write.response);
    let known = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), number);
    // vdbench sets averages off by a blank.
    let label = if row.label.starts_with("avg_") { format!(" {}", row.label) } else { row.label.clone() };
    let busy = row.cpu.map(|(busy, _)| busy * 100.0);
    let cells = [
        time_of_day(row.end),
        timestamp(row.end),
        definition.name.clone(),
        label,
        number(conditions.requested),
        number(total.per_s),
        number(total.bytes_per_s / (1 << 20) as f64),
        number(row.bytes_per_io()),
        number(row.read_percent()),
        number(all.mean_ms()),
        number(read.mean_ms()),
        number(write.mean_ms()),
        number(all.max_ms()),
        number(read.max_ms()),
        number(write.max_ms()),
        number(all.stddev_ms()),
        number(read.stddev_ms()),
        number(write.stddev_ms()),
        known(conditions.xfersize),
        known(conditions.threads),
        known(conditions.read_percent),
        known(conditions.hit.map(|hit| hit.0)),
        known(conditions.hit.map(|hit| hit.1)),
        known(conditions.seek_percent),
        number(conditions.size_gib),
        "50407".to_owned(),
        number(1.0),
        number(1.0),
        number(row.queue_depth),
        known(busy),
        known(row.cpu.map(|(busy, kernel)| (busy - kernel) * 100.0)),
        known(row.cpu.map(|(_, kernel)| kernel * 100.0)),
        ABSENT.to_owned(),
        known(busy.map(|busy| 100.0 - busy)),
    ];
    cells.join(" ") + "\n"
}

/// Four digits behind the point, zeros at the end left out; not a number: absent.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(4096.0), "4096");
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(0.00004), "0");
        assert_eq!(number(f64::NAN), "n/a");
    }

    #[test]
    fn every_comment_is_marked() {
        assert!(about().lines().all(|line| line.starts_with('*')));
    }
}
