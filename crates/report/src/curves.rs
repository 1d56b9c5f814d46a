//! The curves of a run: measured phases of one name at different rates, a point each, and as one table.

use assay_results::knee::{CurvePoint, knee};
use assay_results::run::{JobResult, LatencySummary, OpResult, PhaseResult, Row, Verdict};
use assay_results::search::{self, REPEATED};
use assay_results::stats::median_estimate;
use assay_results::{LatencyHistogram, Run};
use assay_workload::PhaseKind;
use assay_workload::steps::{FindRate, Until};

use crate::format;

/// A curve needs so many points.
const POINTS_MIN: usize = 3;
/// Points with an offered rate that make one: response times have what they say with two of them.
const RATES_MIN: usize = 2;

/// One point: all windows at one rate.
#[derive(Debug, Clone)]
pub(crate) struct Point<'r> {
    /// Its words in the run.
    pub(crate) words: &'r str,
    /// Windows that were measured at this rate.
    pub(crate) windows: usize,
    /// The median of the windows.
    pub(crate) iops: f64,
    /// Of that median; of one window the interval that its reporting periods allow. `None`: not known.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) block_size: u64,
    /// Response time where all points have one, else completion latency: of all windows together.
    pub(crate) latency: LatencySummary,
    /// The lowest and the highest 99th percentile of the windows, nanoseconds, where there are several.
    pub(crate) p99_between: Option<(u64, u64)>,
    /// Windows that met the goal of a search; `None`: there was none, or no rate was offered.
    pub(crate) met: Option<usize>,
    /// What was judged of it: the gravest of its windows; `None`: it was not judged.
    pub(crate) row: Option<&'r Row>,
}

impl Point<'_> {
    /// The ids of the findings that speak against it; empty: none.
    pub(crate) fn causes(&self) -> String {
        self.row.map_or_else(String::new, |row| row.causes.join(", "))
    }
}

/// Latency against rate.
#[derive(Debug, Clone)]
pub(crate) struct Curve<'r> {
    pub(crate) name: &'r str,
    /// By rising rate.
    pub(crate) points: Vec<Point<'r>>,
    /// Whether the latencies are response times.
    pub(crate) paced: bool,
    /// Index of the knee.
    pub(crate) knee: Option<usize>,
    /// The goal, where rates were tried until one met it.
    pub(crate) find: Option<FindRate>,
    /// The phases that its points are made of.
    pub(crate) phases: Vec<&'r PhaseResult>,
    job: &'r JobResult,
}

impl Curve<'_> {
    /// The points that are not valid, with the reason of each.
    pub(crate) fn doubtful(&self) -> Vec<String> {
        let doubtful = self.points.iter().filter_map(|point| Some((point, point.row?)));
        let doubtful = doubtful.filter(|(_, row)| row.verdict != Verdict::Valid);
        doubtful.map(|(point, row)| format!("{} {}", point.words, row.judgement())).collect()
    }

    pub(crate) fn latency_word(&self) -> &'static str {
        if self.paced { "response time" } else { "completion latency" }
    }

    /// What the curve is, without its name.
    pub(crate) fn title(&self) -> String {
        format!("{}: {} against IOPS", self.name, self.latency_word())
    }

    /// What holds for all points.
    pub(crate) fn conditions(&self) -> String {
        let pattern = &self.job.pattern;
        let outstanding = format!("at most {} outstanding", format::count(self.job.outstanding_io));
        let parts = [pattern.clone(), self.block_words(), outstanding];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The size of an operation, where the pattern does not say it.
    fn block_words(&self) -> String {
        let size = self.points.first().map_or(0, |point| point.block_size);
        if size > 0 && self.job.pattern.is_empty() { format::bytes(size) } else { String::new() }
    }

    /// The knee in a sentence.
    pub(crate) fn knee_words(&self) -> String {
        match self.knee.and_then(|knee| self.points.get(knee)) {
            Some(point) => format!(
                "{} at {} IOPS of {} ({}), mean {} {}: beyond this point latency grows faster than throughput (highest rate over \
                 mean latency among these points)",
                self.knee_name(),
                format::iops(point.iops),
                format::bytes(point.block_size),
                point.words,
                self.latency_word(),
                format::time_ns(point.latency.mean)
            ),
            None if self.points.len() < POINTS_MIN => format!("no knee: that takes {POINTS_MIN} points"),
            None if self.usable_points() < POINTS_MIN => {
                "no knee: too many of these points are invalid".to_owned()
            }
            None => {
                "no knee within these points: the rate over the mean time is highest at an end".to_owned()
            }
        }
    }

    /// A knee that rests on a suspect point, or between suspect ones, is a doubtful one.
    fn knee_name(&self) -> &'static str {
        let knee = self.knee.unwrap_or_default();
        let near = &self.points[knee.saturating_sub(1)..(knee + 2).min(self.points.len())];
        let valid = |point: &Point<'_>| point.row.is_none_or(|row| row.verdict == Verdict::Valid);
        if near.iter().all(valid) { "knee" } else { "doubtful knee, among points that are not valid," }
    }

    fn usable_points(&self) -> usize {
        self.points.iter().filter(|point| point.row.is_none_or(|row| row.verdict < Verdict::Invalid)).count()
    }

    /// Whether some point was measured in several windows.
    pub(crate) fn is_repeated(&self) -> bool {
        self.points.iter().any(|point| point.windows > 1)
    }

    /// What the columns of the table mean.
    pub(crate) fn note(&self) -> String {
        let several = "IOPS: median of the windows, with the interval of that median; mean and p99: of all windows together";
        let one = "interval: of the IOPS, from the reporting periods of the window";
        let words = match (self.is_repeated(), self.has_intervals()) {
            (true, true) => several,
            (true, false) => "IOPS: median of the windows; mean and p99: of all windows together",
            (false, true) => one,
            (false, false) => "one window each, with too few reporting periods for an interval",
        };
        let met = self.find.map_or_else(String::new, |find| format!("; {find}: windows that met it"));
        format!("{words}{met}")
    }

    fn has_intervals(&self) -> bool {
        self.points.iter().any(|point| point.interval.is_some())
    }

    /// The heads of the table; `knee` is none of them.
    pub(crate) fn heads(&self) -> Vec<String> {
        let mut heads = vec!["point".to_owned()];
        if self.is_repeated() {
            heads.push("windows".to_owned());
        }
        heads.push("IOPS".to_owned());
        if self.has_intervals() {
            heads.push("interval".to_owned());
        }
        heads.extend(["mean", "p99"].map(|figure| format!("{figure} {}", self.latency_word())));
        heads.extend(self.find.map(|find| find.to_string()));
        heads
    }

    /// A point in words, as [`Curve::heads`].
    pub(crate) fn cells(&self, point: &Point<'_>) -> Vec<String> {
        let mut cells = vec![point.words.to_owned()];
        if self.is_repeated() {
            cells.push(point.windows.to_string());
        }
        let half = point.interval.map(|(low, high)| (high - low) / 2.0);
        let rounded = |value: f64| format::rounded(value, half);
        cells.push(rounded(point.iops));
        let between = |(low, high): (f64, f64)| format!("{}–{}", rounded(low), rounded(high));
        if self.has_intervals() {
            cells.push(point.interval.map_or_else(String::new, between));
        }
        cells.push(format::time_ns(point.latency.mean));
        cells.push(format::latency(point.latency.p99));
        if self.find.is_some() {
            cells.push(point.met.map_or_else(String::new, |met| format!("{met} of {}", point.windows)));
        }
        cells
    }
}

/// What a point is called by the load it puts on.
const LOADS: [&str; 8] = ["curve", "find", "rate", "iorate", "outstanding", "iodepth", "threads", "numjobs"];

/// The curves of a run, in order: phases of one name whose points differ in their load only, at least three, each of one job.
pub(crate) fn curves(run: &Run) -> Vec<Curve<'_>> {
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut groups: Vec<Vec<&PhaseResult>> = Vec::new();
    for phase in run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure && phase.jobs.len() == 1) {
        let is_load = |word: &&str| word.split_once('=').is_some_and(|(key, _)| LOADS.contains(&key));
        let (loads, rest): (Vec<&str>, Vec<&str>) = phase.point.words().partition(is_load);
        if loads.is_empty() || is_repeated_step(run, phase) {
            continue;
        }
        let key = (phase.name.as_str(), rest);
        match keys.iter().position(|known| *known == key) {
            Some(at) => groups[at].push(phase),
            None => {
                keys.push(key);
                groups.push(vec![phase]);
            }
        }
    }
    groups.iter().filter_map(|phases| curve(run, phases)).collect()
}

/// Whether a table of a curve sums up this phase.
pub(crate) fn is_summed(curves: &[Curve<'_>], phase: &PhaseResult) -> bool {
    curves.iter().flat_map(|curve| &curve.phases).any(|summed| std::ptr::eq(*summed, phase))
}

/// Whether others disturbed a step of a search, so that it was done again and does not count.
fn is_repeated_step(run: &Run, phase: &PhaseResult) -> bool {
    run.remarks.iter().any(|remark| remark.id == REPEATED && remark.phase == Some(phase.plan_phase))
}

/// The point without the number that tells windows at one rate apart.
fn stem(phase: &PhaseResult) -> &str {
    let words = phase.point.as_str();
    words.split_once('#').map_or(words, |(stem, _)| stem)
}

/// Index of the knee. A point that is not valid shows none, and is none.
fn knee_of(points: &[Point<'_>]) -> Option<usize> {
    let usable = |point: &Point<'_>| point.row.is_none_or(|row| row.verdict < Verdict::Invalid);
    let at: Vec<usize> = (0..points.len()).filter(|at| usable(&points[*at])).collect();
    let measured = at.iter().map(|at| &points[*at]);
    let measured: Vec<CurvePoint> =
        measured.map(|point| CurvePoint { iops: point.iops, mean_ns: point.latency.mean }).collect();
    knee(&measured).map(|knee| at[knee])
}

fn curve<'r>(run: &'r Run, phases: &[&'r PhaseResult]) -> Option<Curve<'r>> {
    let first = phases.first()?;
    let mut rates: Vec<Vec<&PhaseResult>> = Vec::new();
    for phase in phases {
        match rates.iter_mut().find(|rate| stem(rate[0]) == stem(phase)) {
            Some(rate) => rate.push(phase),
            None => rates.push(vec![phase]),
        }
    }
    let rated =
        |windows: &&Vec<&PhaseResult>| windows.iter().all(|phase| phase.jobs[0].total.response_ns.is_some());
    // The point without a rate gives the others their scale, and has no response time of its own.
    let paced = rates.iter().filter(rated).count() >= RATES_MIN;
    let kept = rates.iter().filter(|windows| !paced || rated(windows));
    let mut points: Vec<Point<'_>> = kept.filter_map(|windows| point(run, windows, paced)).collect();
    points.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    (points.len() >= if paced { RATES_MIN } else { POINTS_MIN }).then(|| Curve {
        name: &first.name,
        knee: knee_of(&points),
        points,
        paced,
        find: phases.iter().find_map(|phase| goal(run, phase)).filter(|_| paced),
        phases: phases.to_vec(),
        job: &first.jobs[0],
    })
}

fn point<'r>(run: &'r Run, windows: &[&'r PhaseResult], paced: bool) -> Option<Point<'r>> {
    let first = windows.first()?;
    let job = &first.jobs[0];
    let latency_of =
        |job: &JobResult| if paced { job.total.response_ns } else { Some(job.total.completion_ns) };
    let mut together = LatencyHistogram::new();
    windows.iter().for_each(|phase| together.merge(&distribution(&phase.jobs[0], paced)));
    let latency = match windows.len() {
        1 => latency_of(job)?,
        // Without distributions nothing can be said of several windows together.
        _ if together.is_empty() => LatencySummary { p99: None, ..latency_of(job)? },
        _ => LatencySummary::of(&together),
    };
    let rows = || windows.iter().filter_map(|phase| run.row_or_step(phase, &phase.jobs[0]));
    let iops: Vec<f64> = windows.iter().map(|phase| phase.jobs[0].total.iops).collect();
    let median = median_estimate(&iops, "IOPS")?;
    let interval = match windows.len() {
        1 => rows().next().and_then(|row| row.figure.interval),
        _ => median.interval.map(|interval| (interval.low, interval.high)),
    };
    let p99: Vec<u64> = windows.iter().filter_map(|phase| latency_of(&phase.jobs[0])?.p99).collect();
    let between = p99.iter().min().zip(p99.iter().max()).map(|(low, high)| (*low, *high));
    Some(Point {
        words: stem(first),
        windows: windows.len(),
        iops: median.value,
        interval,
        block_size: job.total.block_size,
        latency,
        p99_between: between.filter(|_| p99.len() > 1),
        met: met(run, windows),
        row: rows().max_by_key(|row| row.verdict),
    })
}

/// The whole distribution of response times, or of completion latencies; empty where none was stored.
fn distribution(job: &JobResult, paced: bool) -> LatencyHistogram {
    if !paced {
        return job.completion_histogram();
    }
    let stored = |op: &OpResult| op.response_histogram.as_ref().map(LatencyHistogram::from_sparse);
    let parts = || [&job.read, &job.write, &job.trim].into_iter().flatten().filter_map(stored);
    stored(&job.total).unwrap_or_else(|| {
        let mut merged = LatencyHistogram::new();
        parts().for_each(|part| merged.merge(&part));
        merged
    })
}

/// The goal of the search that a phase is a step of.
fn goal(run: &Run, phase: &PhaseResult) -> Option<FindRate> {
    match run.plan.phases.get(phase.plan_phase as usize)?.step?.until {
        Until::Rate(find) => Some(find),
        Until::Steady(_) | Until::Below(_) | Until::Held => None,
    }
}

/// How many of the windows met the goal.
fn met(run: &Run, windows: &[&PhaseResult]) -> Option<usize> {
    let find = goal(run, windows.first()?)?;
    let meets = |phase: &&&PhaseResult| {
        let planned = run.plan.phases.get(phase.plan_phase as usize);
        let offered = planned.map_or(0.0, search::offered);
        search::meets(&find, &distribution(&phase.jobs[0], true), phase.jobs[0].total.iops, offered)
    };
    Some(windows.iter().filter(meets).count())
}
