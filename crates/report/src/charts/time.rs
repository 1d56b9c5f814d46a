//! What jobs did over time: IOPS, bandwidth, latencies.

use assay_results::run::{JobResult, SeriesPoint};

use super::clock::{Course, at, courses, places};
use super::{MEASURED_PART, tick_name, tick_time, time_axis};
use crate::format;
use crate::svg::{Axis, COLOURS, Chart, Line, Scale};

/// More points than this are drawn in groups.
pub(crate) const POINTS_MAX: usize = 240;
/// The same where many drawings stand on one page.
pub(crate) const POINTS_FEW: usize = 80;
/// More jobs than this are not named one by one at each place.
const NAMED_MAX: usize = 4;

/// Reporting periods drawn as one, where there are too many for the width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Group {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    /// Time-weighted mean.
    pub(super) iops: f64,
    iops_min: f64,
    iops_max: f64,
    bytes_per_s: f64,
    bytes_per_s_min: f64,
    bytes_per_s_max: f64,
    /// The highest of the group: percentiles are not averaged.
    p50_ns_max: Option<u64>,
    p99_ns_max: Option<u64>,
}

/// The periods of a series, with a piece much shorter than the others counted to the one before it: the few operations
/// that end in the last microseconds of a job are no rate.
pub(crate) fn whole_periods(series: &[SeriesPoint]) -> Vec<SeriesPoint> {
    let usual_s = series.iter().map(|point| point.length_s).fold(0.0, f64::max);
    let mut whole: Vec<SeriesPoint> = Vec::with_capacity(series.len());
    for point in series {
        match whole.last_mut() {
            Some(last) if point.length_s < usual_s / 2.0 => {
                let length_s = last.length_s + point.length_s;
                let mean = |a: f64, b: f64| (a * last.length_s + b * point.length_s) / length_s;
                last.iops = mean(last.iops, point.iops);
                last.bytes_per_s = mean(last.bytes_per_s, point.bytes_per_s);
                last.length_s = length_s;
            }
            _ => whole.push(*point),
        }
    }
    whole
}

/// In as many groups as a drawing has room for.
pub(super) fn groups(series: &[SeriesPoint]) -> Vec<Group> {
    groups_of(series, POINTS_MAX)
}

fn groups_of(series: &[SeriesPoint], points_max: usize) -> Vec<Group> {
    let series = whole_periods(series);
    let size = series.len().div_ceil(points_max).max(1);
    series.chunks(size).filter_map(group).collect()
}

fn group(points: &[SeriesPoint]) -> Option<Group> {
    let (first, last) = (points.first()?, points.last()?);
    let time: f64 = points.iter().map(|point| point.length_s).sum();
    let mean = |value: fn(&SeriesPoint) -> f64| {
        if time > 0.0 {
            points.iter().map(|point| value(point) * point.length_s / time).sum()
        } else {
            value(first)
        }
    };
    let low = |value: fn(&SeriesPoint) -> f64| points.iter().map(value).fold(f64::INFINITY, f64::min);
    let high = |value: fn(&SeriesPoint) -> f64| points.iter().map(value).fold(0.0, f64::max);
    Some(Group {
        start_s: first.start_s,
        end_s: last.start_s + last.length_s,
        iops: mean(|point| point.iops),
        iops_min: low(|point| point.iops),
        iops_max: high(|point| point.iops),
        bytes_per_s: mean(|point| point.bytes_per_s),
        bytes_per_s_min: low(|point| point.bytes_per_s),
        bytes_per_s_max: high(|point| point.bytes_per_s),
        p50_ns_max: points.iter().filter_map(|point| point.p50_ns).max(),
        p99_ns_max: points.iter().filter_map(|point| point.p99_ns).max(),
    })
}

/// What is drawn of each place: the mean of its group, and its ends.
struct Figure {
    unit: &'static str,
    value: fn(&Group) -> f64,
    low: fn(&Group) -> f64,
    high: fn(&Group) -> f64,
}

const IOPS: Figure = Figure {
    unit: "IOPS",
    value: |group| group.iops,
    low: |group| group.iops_min,
    high: |group| group.iops_max,
};

const MIB: f64 = (1 << 20) as f64;
const BANDWIDTH: Figure = Figure {
    unit: "MiB/s",
    value: |group| group.bytes_per_s / MIB,
    low: |group| group.bytes_per_s_min / MIB,
    high: |group| group.bytes_per_s_max / MIB,
};

/// Periods in a group of the longest of these series; 1: each is drawn.
fn periods_of_a_group(jobs: &[JobResult]) -> usize {
    jobs.iter().map(|job| job.series.len().div_ceil(POINTS_MAX)).max().unwrap_or(1).max(1)
}

/// What is said of groups.
fn note_of_groups(periods: usize, whose: &str) -> String {
    if periods == 1 {
        return String::new();
    }
    format!(
        "; a place is the mean of {periods} periods, and the area spans the lowest and the highest of them{whose}"
    )
}

/// A line a job, in groups with their ends.
fn line_of_job(colour: usize, name: &str, groups: &[Group], figure: &Figure, grouped: bool) -> Line {
    let band = groups.iter().map(|group| (middle(group), (figure.low)(group), (figure.high)(group)));
    Line {
        name: name.to_owned(),
        colour,
        points: groups.iter().map(|group| (middle(group), Some((figure.value)(group)))).collect(),
        band: if grouped { band.collect() } else { Vec::new() },
        ..Line::default()
    }
}

/// IOPS of the jobs of a phase over time; `None` with fewer than two reporting periods.
pub fn iops_over_time(id: &str, jobs: &[JobResult]) -> Option<Chart> {
    let series = courses(jobs);
    if !series.iter().any(|(_, groups)| groups.len() > 1) {
        return None;
    }
    let periods = periods_of_a_group(jobs);
    if series.len() > COLOURS {
        return of_many(id, &series, &IOPS, periods);
    }
    let all = || series.iter().flat_map(|(_, groups)| groups);
    let grouped = periods > 1;
    let lines = series.iter().enumerate().map(|(colour, (name, groups))| Line {
        filled: series.len() == 1 && !grouped,
        ..line_of_job(colour, name, groups, &IOPS, grouped)
    });
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), group| {
        (low.min(group.iops_min), high.max(group.iops_max))
    });
    let note = note_of_groups(periods, "");
    Some(Chart {
        id: id.to_owned(),
        title: "IOPS over time".to_owned(),
        description: format!("From {} to {} IOPS{note}.", format::iops(low), format::iops(high)),
        x: time_axis(all().map(|group| group.end_s).fold(0.0, f64::max), MEASURED_PART),
        y: Axis::new("IOPS", Scale::from_zero(all().map(|group| group.iops_max)), tick_name),
        lines: lines.collect(),
        hints: iops_hints(&series),
        marks: Vec::new(),
    })
}

/// Bytes a second of the jobs of a phase over time; `None` with fewer than two reporting periods, or where nothing was moved.
pub fn bandwidth_over_time(id: &str, jobs: &[JobResult]) -> Option<Chart> {
    let series = courses(jobs);
    let all = || series.iter().flat_map(|(_, groups)| groups);
    let moved = all().any(|group| group.bytes_per_s > 0.0);
    if !moved || !series.iter().any(|(_, groups)| groups.len() > 1) {
        return None;
    }
    let periods = periods_of_a_group(jobs);
    if series.len() > COLOURS {
        return of_many(id, &series, &BANDWIDTH, periods);
    }
    let lines = series
        .iter()
        .enumerate()
        .map(|(colour, (name, groups))| line_of_job(colour, name, groups, &BANDWIDTH, periods > 1));
    let low = all().map(BANDWIDTH.low).fold(f64::INFINITY, f64::min);
    let high = all().map(BANDWIDTH.high).fold(0.0, f64::max);
    let note = note_of_groups(periods, "");
    Some(Chart {
        id: id.to_owned(),
        title: "Bandwidth over time".to_owned(),
        description: format!(
            "From {} to {} MiB/s{note}.",
            format::significant(low),
            format::significant(high)
        ),
        x: time_axis(all().map(|group| group.end_s).fold(0.0, f64::max), MEASURED_PART),
        y: Axis::new("MiB/s", Scale::from_zero(all().map(BANDWIDTH.high)), tick_name),
        lines: lines.collect(),
        hints: iops_hints(&series),
        marks: Vec::new(),
    })
}

/// What is said of each place: all jobs that have a value there.
fn iops_hints(series: &[Course<'_>]) -> Vec<(f64, f64, String)> {
    let places = places(series);
    if series.len() > NAMED_MAX {
        return summed_hints(series, &places);
    }
    let words = |place: (f64, f64)| {
        let of_job = series.iter().filter_map(|(name, groups)| {
            let group = at(groups, place)?;
            let numbers =
                format!("{} IOPS, {}", format::iops(group.iops), format::bandwidth(group.bytes_per_s));
            Some(if series.len() == 1 { numbers } else { format!("{name} {numbers}") })
        });
        let of_job = of_job.collect::<Vec<_>>().join("; ");
        format!("{} to {} s: {of_job}", tick_name(place.0), tick_name(place.1))
    };
    places.into_iter().map(|place| (place.0, place.1, words(place))).collect()
}

/// Of more jobs than there are colours: the highest, the median and the lowest at each place.
fn of_many(id: &str, series: &[Course<'_>], figure: &Figure, periods: usize) -> Option<Chart> {
    let places = places(series);
    let end_s = places.last()?.1;
    let here = |place: (f64, f64)| series.iter().filter_map(move |(_, groups)| at(groups, place));
    let middle = |place: (f64, f64)| (place.0 + place.1) / 2.0;
    let sorted: Vec<(f64, Vec<f64>)> = places
        .iter()
        .map(|place| {
            let mut values: Vec<f64> = here(*place).map(figure.value).collect();
            values.sort_by(f64::total_cmp);
            (middle(*place), values)
        })
        .collect();
    let line = |name: &str, colour: usize, pick: fn(&[f64]) -> Option<f64>| Line {
        name: name.to_owned(),
        colour,
        points: sorted.iter().map(|(at, values)| (*at, pick(values))).collect(),
        ..Line::default()
    };
    let ends = places.iter().map(|place| {
        let low = here(*place).map(figure.low).fold(f64::INFINITY, f64::min);
        (middle(*place), low, here(*place).map(figure.high).fold(0.0, f64::max))
    });
    let band: Vec<(f64, f64, f64)> = if periods > 1 { ends.collect() } else { Vec::new() };
    let highest = highest_of_all(series, figure);
    Some(Chart {
        id: id.to_owned(),
        title: format!("{} over time, of {} jobs", figure.unit, series.len()),
        description: format!(
            "The highest, the median and the lowest of the jobs at each place{}.",
            note_of_groups(periods, " of any job")
        ),
        x: time_axis(end_s, MEASURED_PART),
        y: Axis::new(figure.unit, Scale::from_zero(highest), tick_name),
        lines: vec![
            line("highest", 1, |values| values.last().copied()),
            Line { band, ..line("median", 0, |values| values.get(values.len() / 2).copied()) },
            line("lowest", 3, |values| values.first().copied()),
        ],
        hints: summed_hints(series, &places),
        marks: Vec::new(),
    })
}

/// The highest of each place and job.
fn highest_of_all(series: &[Course<'_>], figure: &Figure) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|(_, groups)| groups).map(figure.high)
}

/// What is said of each place of many jobs: their sum, and the two at the ends.
fn summed_hints(series: &[Course<'_>], places: &[(f64, f64)]) -> Vec<(f64, f64, String)> {
    let words = |place: (f64, f64)| {
        let here = || series.iter().filter_map(|(name, groups)| Some((*name, at(groups, place)?)));
        let iops: f64 = here().map(|(_, group)| group.iops).sum();
        let bytes: f64 = here().map(|(_, group)| group.bytes_per_s).sum();
        let end = |(name, group): (&str, &Group)| format!("{name} {}", format::iops(group.iops));
        let by_iops = |a: &(&str, &Group), b: &(&str, &Group)| a.1.iops.total_cmp(&b.1.iops);
        let low = here().min_by(by_iops).map_or_else(String::new, end);
        let high = here().max_by(by_iops).map_or_else(String::new, end);
        format!(
            "{} to {} s: {} IOPS, {} together; lowest {low}, highest {high}",
            tick_name(place.0),
            tick_name(place.1),
            format::iops(iops),
            format::bandwidth(bytes)
        )
    };
    places.iter().map(|place| (place.0, place.1, words(*place))).collect()
}

pub(super) fn middle(group: &Group) -> f64 {
    (group.start_s + group.end_s) / 2.0
}

/// Median and 99th percentile of completion latency over time, in at most `points_max` groups of periods; `None` with fewer than two
/// reporting periods.
pub fn latency_over_time(id: &str, job: &JobResult, points_max: usize) -> Option<Chart> {
    let groups = groups_of(&job.series, points_max);
    let values =
        || groups.iter().flat_map(|group| [group.p50_ns_max, group.p99_ns_max]).flatten().map(|ns| ns as f64);
    if groups.len() < 2 || values().next().is_none() {
        return None;
    }
    let line = |name: &str, colour: usize, value: fn(&Group) -> Option<u64>| Line {
        name: name.to_owned(),
        colour,
        points: groups.iter().map(|group| (middle(group), value(group).map(|ns| ns as f64))).collect(),
        ..Line::default()
    };
    let highest = if job.series.len() > points_max { ", the highest of each group of periods" } else { "" };
    let hints = groups.iter().map(|group| {
        let words = format!(
            "{} to {} s: p50 {}, p99 {}",
            tick_name(group.start_s),
            tick_name(group.end_s),
            format::latency(group.p50_ns_max),
            format::latency(group.p99_ns_max)
        );
        (group.start_s, group.end_s, words)
    });
    let p99_max = groups.iter().filter_map(|group| group.p99_ns_max).max();
    Some(Chart {
        id: id.to_owned(),
        title: "Completion latency over time".to_owned(),
        description: format!(
            "Percentiles of each reporting period{highest}. The highest p99 is {}.",
            format::latency(p99_max)
        ),
        x: time_axis(groups.iter().map(|group| group.end_s).fold(0.0, f64::max), MEASURED_PART),
        y: Axis::new("completion latency", Scale::around(values()), tick_time),
        lines: vec![line("p99", 1, |group| group.p99_ns_max), line("p50", 0, |group| group.p50_ns_max)],
        hints: hints.collect(),
        marks: Vec::new(),
    })
}
