//! Which drawings a run gives: from the types of `results` to [`Chart`]s.

mod clock;
mod heat;
mod repeats;
mod time;
mod whole;

use assay_results::LatencyHistogram;
use assay_results::evidence::PhaseEvidence;
use assay_results::run::{JobResult, LatencySummary, OpResult, Run};

use crate::curves::{Curve, Point};
use crate::format;
use crate::svg::{
    Axis, Chart, Line, Scale, density, percentile_points, percentile_ticks, percentile_x, summary_points,
};

pub use heat::{latencies as latency_map, workers as worker_map};
pub(crate) use time::{POINTS_FEW, POINTS_MAX, whole_periods};
pub use time::{bandwidth_over_time, iops_over_time, latency_over_time};
pub(crate) use whole::{events, is_alone, whole};

/// More points of a curve that are not valid are counted, and not named one by one.
const DOUBTFUL_NAMED: usize = 3;
/// Bars of a latency histogram.
const BINS: usize = 60;

/// From so long on, time is told in hours, seconds.
const HOURS_FROM_S: f64 = 3.0 * HOUR_S;
const HOUR_S: f64 = 3600.0;
/// What stands between ticks of hours, and how many there are at most.
const HOURS_STEPS: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 12.0, 24.0, 48.0, 168.0];
const HOURS_TICKS_MAX: f64 = 7.0;
/// Where the time of most drawings begins.
const MEASURED_PART: &str = "the start of the measured part";

/// Time from `since` on, to `end_s`.
fn time_axis(end_s: f64, since: &str) -> Axis {
    let scale = Scale::Linear { low: 0.0, high: if end_s > 0.0 { end_s } else { 1.0 } };
    if end_s < HOURS_FROM_S {
        return Axis::new(&format!("seconds from {since}"), scale, tick_name);
    }
    let hours = end_s / HOUR_S;
    let wide_enough = |step: &f64| hours / step <= HOURS_TICKS_MAX;
    let step = HOURS_STEPS.into_iter().find(wide_enough).unwrap_or(hours / HOURS_TICKS_MAX);
    let ticks = (0..=(hours / step) as u32).map(|tick| f64::from(tick) * step);
    Axis {
        label: format!("hours from {since}"),
        scale,
        ticks: ticks.map(|hour| (hour * HOUR_S, tick_name(hour))).collect(),
        unit: HOUR_S,
    }
}

/// Ticks are round: no digits that say nothing.
pub(crate) fn tick_name(value: f64) -> String {
    // There is room for six digits.
    if (1e6..1e12).contains(&value.abs()) {
        let text = format!("{:.3}", value / 1e6);
        return format!("{} M", text.trim_end_matches('0').trim_end_matches('.'));
    }
    if value.abs() >= 1e3 && value.abs() < 1e15 && value.fract() == 0.0 {
        return format::significant(value);
    }
    if value.abs() >= 1e15 {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A length of time at a tick: `20 µs`, not `20.0 µs`.
fn tick_time(ns: f64) -> String {
    let text = format::time_ns(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// One latency distribution with its name.
struct Distribution {
    name: String,
    colour: usize,
    dashed: bool,
    histogram: Option<LatencyHistogram>,
    summary: LatencySummary,
}

/// A distribution each for completion latency and response time of every operation.
fn distributions(job: &JobResult) -> Vec<Distribution> {
    let of = |name: &str, op: &OpResult| -> Vec<Distribution> {
        let own = ["read", "write", "trim", "flush"];
        let named = || own.len() + job.ops.keys().position(|known| known == name).unwrap_or(0);
        let colour = own.iter().position(|known| *known == name).unwrap_or_else(named);
        let stored = |sparse: &Option<assay_results::histogram::SparseHistogram>| {
            sparse.as_ref().map(LatencyHistogram::from_sparse).filter(|histogram| !histogram.is_empty())
        };
        let completion = Distribution {
            name: format!("{name}, completion latency"),
            colour,
            dashed: false,
            histogram: stored(&op.completion_histogram),
            summary: op.completion_ns,
        };
        let response = op.response_ns.map(|summary| Distribution {
            name: format!("{name}, response time"),
            colour,
            dashed: true,
            histogram: stored(&op.response_histogram),
            summary,
        });
        [Some(completion), response].into_iter().flatten().collect()
    };
    job.operations().flat_map(|(name, op)| of(name, op)).collect()
}

/// The latencies of a job by percentile, each further nine as wide as the one before; `None` where nothing was
/// completed.
pub fn latency_percentiles(id: &str, job: &JobResult) -> Option<Chart> {
    percentile_chart(id, &distributions(job))
}

fn percentile_chart(id: &str, distributions: &[Distribution]) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    for one in distributions {
        let points = match &one.histogram {
            Some(histogram) => percentile_points(histogram),
            None => summary_points(&one.summary),
        };
        if points.is_empty() {
            continue;
        }
        lines.push(Line {
            name: one.name.clone(),
            colour: one.colour,
            points: points.into_iter().map(|(x, ns)| (x, Some(ns))).collect(),
            dashed: one.dashed,
            marked: one.histogram.is_none(),
            ..Line::default()
        });
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let x_max = points().map(|(x, _)| *x).fold(percentile_x(0.9), f64::max);
    let words: Vec<String> = distributions
        .iter()
        .filter(|one| one.summary.n > 0)
        .map(|one| {
            let LatencySummary { p50, p99, max, .. } = one.summary;
            let (p50, p99, max) = (format::latency(p50), format::latency(p99), format::latency(Some(max)));
            format!("{}: p50 {p50}, p99 {p99}, max {max}.", one.name)
        })
        .collect();
    (!lines.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: "Latency by percentile".to_owned(),
        description: words.join(" "),
        x: Axis {
            label: "share of operations at or below".to_owned(),
            scale: Scale::Linear { low: 0.0, high: x_max },
            ticks: percentile_ticks(x_max),
            unit: 1.0,
        },
        y: Axis::new("latency", Scale::around(points().filter_map(|(_, ns)| *ns)), tick_time),
        lines: lines.clone(),
        hints: Vec::new(),
        marks: Vec::new(),
    })
}

/// How often each latency occurred, on a log axis; `None` where no distribution was stored.
pub fn latency_histogram(id: &str, job: &JobResult) -> Option<Chart> {
    histogram_chart(id, distributions(job))
}

/// Completion latencies of several sides over each other: how often each occurred, and by percentile.
pub fn latency_overlay(id: &str, sides: &[(String, LatencyHistogram)]) -> [Option<Chart>; 2] {
    let distributions = || -> Vec<Distribution> {
        let of = |(colour, (name, histogram)): (usize, &(String, LatencyHistogram))| Distribution {
            name: name.clone(),
            colour,
            dashed: colour > 0,
            summary: LatencySummary::of(histogram),
            histogram: Some(histogram.clone()),
        };
        sides.iter().enumerate().map(of).collect()
    };
    [
        histogram_chart(&format!("{id}-histogram"), distributions()),
        percentile_chart(&format!("{id}-percentiles"), &distributions()),
    ]
}

fn histogram_chart(id: &str, distributions: Vec<Distribution>) -> Option<Chart> {
    let stored: Vec<(Distribution, LatencyHistogram)> = distributions
        .into_iter()
        .filter_map(|mut one| one.histogram.take().map(|histogram| (one, histogram)))
        .collect();
    // The outermost thousandth on both sides says little here, and would press the rest together.
    let ends = stored.iter().flat_map(|(_, histogram)| {
        [histogram.quantile_ns(0.001), histogram.quantile_ns(0.999)].into_iter().flatten()
    });
    let scale = Scale::around(ends.map(|ns| ns as f64));
    let Scale::Log { low, high } = scale else { return None };
    let step = (high / low).powf(1.0 / BINS as f64);
    let lines: Vec<Line> = stored
        .iter()
        .map(|(one, histogram)| Line {
            name: one.name.clone(),
            colour: one.colour,
            points: stairs(&density(histogram, low, high, BINS), low, step),
            filled: true,
            dashed: one.dashed,
            ..Line::default()
        })
        .collect();
    let shares = lines.iter().flat_map(|line| line.points.iter().filter_map(|point| point.1));
    let y = Scale::from_zero(shares.map(|share| share * 100.0));
    let lines_percent = lines.iter().cloned().map(|mut line| {
        line.points.iter_mut().for_each(|point| point.1 = point.1.map(|share| share * 100.0));
        line
    });
    (!lines.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: "How often each latency occurred".to_owned(),
        description: format!(
            "Per cent of operations in each of {BINS} equal steps from {} to {}; what lies beyond is counted in the first and the last step.",
            format::time_ns(low),
            format::time_ns(high)
        ),
        x: Axis::new("latency", scale, tick_time),
        y: Axis::new("% of operations", y, tick_name),
        lines: lines_percent.collect(),
        hints: Vec::new(),
        marks: Vec::new(),
    })
}

/// The outline of bars: each share over its step of a log axis.
fn stairs(shares: &[f64], low: f64, step: f64) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::with_capacity(shares.len() * 2);
    let mut left = low;
    for share in shares {
        let right = left * step;
        points.push((left, Some(*share)));
        points.push((right, Some(*share)));
        left = right;
    }
    points
}

/// How busy the processors were over time, and what the hypervisor took; `None` where it was not recorded.
pub fn processors_over_time(id: &str, evidence: &PhaseEvidence) -> Option<Chart> {
    let seconds = &evidence.seconds;
    let line = |name: &str,
                colour: usize,
                value: fn(&assay_results::evidence::MachineSecond) -> Option<f64>| Line {
        name: name.to_owned(),
        colour,
        points: seconds
            .iter()
            .step_by(seconds.len().div_ceil(POINTS_MAX).max(1))
            .map(|second| (second.start_s + second.length_s / 2.0, value(second).map(|share| share * 100.0)))
            .collect(),
        ..Line::default()
    };
    let lines =
        vec![line("busy", 0, |second| second.cpu_busy_share), line("stolen", 1, |second| second.steal_share)];
    let lines: Vec<Line> = lines
        .into_iter()
        .filter(|line| line.points.iter().filter(|point| point.1.is_some()).count() > 1)
        .collect();
    let end = seconds.iter().map(|second| second.start_s + second.length_s).fold(0.0, f64::max);
    (!lines.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: "Processors over time".to_owned(),
        description: format!(
            "Share of the time of all processors; on average {} busy.",
            evidence.cpu_busy_share.map_or_else(|| format::NOTHING.to_owned(), format::percent)
        ),
        x: time_axis(end, "the start of the phase"),
        y: Axis::new("% of all processors", Scale::Linear { low: 0.0, high: 100.0 }, tick_name),
        lines,
        hints: Vec::new(),
        marks: Vec::new(),
    })
}

/// The curves of a run: latency against rate, with the knee.
pub fn curves(run: &Run) -> Vec<Chart> {
    let all = crate::curves::curves(run);
    all.iter().enumerate().filter_map(|(index, one)| curve(&format!("curve-{index}"), one)).collect()
}

fn curve(id: &str, curve: &Curve<'_>) -> Option<Chart> {
    let line = |label: &str, colour: usize, value: fn(LatencySummary) -> Option<u64>| Line {
        name: label.to_owned(),
        colour,
        points: curve
            .points
            .iter()
            .map(|point| (point.iops, value(point.latency).map(|ns| ns as f64)))
            .collect(),
        marked: true,
        ..Line::default()
    };
    let mut lines = vec![line("p99", 1, |summary| summary.p99), line("p50", 0, |summary| summary.p50)];
    let values: Vec<f64> = lines.iter().flat_map(|line| &line.points).filter_map(|point| point.1).collect();
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), ns| (low.min(*ns), high.max(*ns)));
    // Over several windows: between the lowest and the highest p99 of them.
    if curve.is_repeated() {
        let around = |point: &Point<'_>| {
            let own = point.latency.p99?;
            let (low, high) = point.p99_between.unwrap_or((own, own));
            Some((point.iops, low as f64, high as f64))
        };
        lines[0].band = curve.points.iter().filter_map(around).collect();
    }
    lines.extend(curve.knee.and_then(|knee| curve.points.get(knee)).map(|point| Line {
        name: "knee".to_owned(),
        colour: 3,
        points: vec![(point.iops, Some(low)), (point.iops, Some(high))],
        dashed: true,
        ..Line::default()
    }));
    let hints = curve.points.iter().map(|point| {
        let (p99, size) = (format::latency(point.latency.p99), format::bytes(point.block_size));
        let words = format!("{}: {} IOPS of {size}, p99 {p99}", point.words, format::iops(point.iops));
        (point.iops, point.iops, words)
    });
    let word = curve.latency_word();
    let area = if curve.is_repeated() { " The area spans the p99 of the windows at each point." } else { "" };
    let doubtful = curve.doubtful();
    let doubtful = match doubtful.len() {
        0 => String::new(),
        1..=DOUBTFUL_NAMED => format!(" Not valid: {}.", doubtful.join("; ")),
        more => format!(" Not valid: {more} of the points, as the table says."),
    };
    (!values.is_empty()).then(|| Chart {
        id: id.to_owned(),
        title: curve.title(),
        description: format!(
            "{}, {}.{area}{doubtful}",
            format::plural(curve.points.len() as u64, "point"),
            curve.knee_words()
        ),
        x: Axis::new("IOPS", Scale::from_zero(curve.points.iter().map(|point| point.iops)), tick_name),
        y: Axis::new(word, Scale::around(values.iter().copied()), tick_time),
        lines,
        hints: hints.collect(),
        marks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use assay_results::run::SeriesPoint;

    use super::*;

    fn job(periods: u32) -> JobResult {
        let point = |second: u32| SeriesPoint {
            start_s: f64::from(second),
            length_s: 1.0,
            iops: 100.0 + f64::from(second % 10),
            bytes_per_s: 4096.0,
            p50_ns: Some(1_000_000),
            p99_ns: Some(2_000_000 + u64::from(second)),
        };
        JobResult { series: (0..periods).map(point).collect(), ..JobResult::default() }
    }

    #[test]
    fn many_periods_are_drawn_in_groups_that_keep_their_extremes() {
        let chart = iops_over_time("c", &[job(3600)]).unwrap();
        assert_eq!(chart.lines[0].points.len(), 240);
        let (_, low, high) = chart.lines[0].band[0];
        assert_eq!((low, high), (100.0, 109.0));
        let latency = latency_over_time("c", &job(3600), POINTS_MAX).unwrap();
        assert_eq!(latency.lines[0].points[0].1, Some(2_000_014.0));
    }

    #[test]
    fn a_day_is_told_in_hours_and_its_dips_stay() {
        let mut jobs = vec![job(86_400); 16];
        jobs[3].series[50_000].iops = 1.0;
        jobs[3].series[50_000].bytes_per_s = 2.0;
        let chart = iops_over_time("c", &jobs).unwrap();
        assert_eq!(
            chart.x.ticks.iter().map(|tick| tick.1.as_str()).collect::<Vec<_>>(),
            ["0", "4", "8", "12", "16", "20", "24"]
        );
        assert!(chart.x.label.starts_with("hours from"), "{}", chart.x.label);
        let lowest = |chart: &Chart| {
            chart.lines.iter().flat_map(|line| &line.band).map(|place| place.1).fold(f64::MAX, f64::min)
        };
        assert_eq!(lowest(&chart), 1.0);
        assert!(chart.description.contains("360 periods"), "{}", chart.description);
        assert_eq!(lowest(&bandwidth_over_time("c", &jobs).unwrap()) * f64::from(1 << 20), 2.0);
        assert_eq!(lowest(&bandwidth_over_time("c", &jobs[2..4]).unwrap()) * f64::from(1 << 20), 2.0);
    }

    #[test]
    fn a_job_that_begins_later_is_drawn_later() {
        let mut jobs = vec![job(4), job(3)];
        for (job, start_s) in jobs.iter_mut().zip([2, 8]) {
            job.evidence.measured_start_ns = start_s * 1_000_000_000;
        }
        let chart = iops_over_time("c", &jobs).unwrap();
        let ends = |line: usize| {
            let points = &chart.lines[line].points;
            (points[0].0, points[points.len() - 1].0)
        };
        assert_eq!((ends(0), ends(1)), ((0.5, 3.5), (6.5, 8.5)));
        assert_eq!(chart.hints.len(), 7, "{:?}", chart.hints);
        assert!(chart.hints[4].2.starts_with("6 to 7 s: "), "{:?}", chart.hints[4]);
        assert!(!chart.hints[4].2.contains(';'), "one job ran then: {:?}", chart.hints[4]);
    }

    #[test]
    fn the_last_microseconds_are_no_rate() {
        let mut job = job(4);
        let mut rest = job.series[3];
        rest.start_s = 4.0;
        rest.length_s = 1e-5;
        rest.iops = 800_000.0;
        job.series.push(rest);
        let chart = iops_over_time("c", &[job]).unwrap();
        let last = chart.lines[0].points[3].1.unwrap();
        assert_eq!(chart.lines[0].points.len(), 4);
        assert!((last - 111.0).abs() < 0.1, "{last}");
    }

    #[test]
    fn a_single_period_is_no_line() {
        assert!(iops_over_time("c", &[job(1)]).is_none());
        assert!(latency_over_time("c", &job(1), POINTS_MAX).is_none());
        assert!(latency_percentiles("c", &job(1)).is_none());
        assert!(latency_histogram("c", &job(1)).is_none());
    }

    #[test]
    fn ticks_carry_no_idle_digits() {
        assert_eq!(tick_time(20_000.0), "20 µs");
        assert_eq!(tick_time(2_500_000.0), "2.5 ms");
        assert_eq!(tick_time(500.0), "500 ns");
        assert_eq!(tick_name(0.5), "0.5");
        assert_eq!(tick_name(20_000.0), "20,000");
        assert_eq!(tick_name(2_500_000.0), "2.5 M");
    }
}
