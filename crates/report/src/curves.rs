//! The curves of a run: measured phases of one name at different rates.

use assay_results::Run;
use assay_results::knee::{CurvePoint, knee};
use assay_results::run::{JobResult, LatencySummary, PhaseResult, Row, Verdict};
use assay_workload::PhaseKind;

use crate::format;

/// A curve needs so many points.
const POINTS_MIN: usize = 3;

/// One point.
#[derive(Debug, Clone)]
pub(crate) struct Point<'r> {
    /// Its words in the run.
    pub(crate) words: &'r str,
    pub(crate) iops: f64,
    pub(crate) block_size: u64,
    /// Response time where all points have one, else completion latency.
    pub(crate) latency: LatencySummary,
    /// Whether it may be believed; `None`: it was not judged.
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

    /// What holds for all points.
    pub(crate) fn conditions(&self) -> String {
        let pattern = &self.job.pattern;
        let outstanding = format!("at most {} outstanding", format::count(self.job.outstanding_io));
        if pattern.is_empty() { outstanding } else { format!("{pattern}, {outstanding}") }
    }

    /// The knee in a sentence.
    pub(crate) fn knee_words(&self) -> String {
        match self.knee.and_then(|knee| self.points.get(knee)) {
            Some(point) => format!(
                "knee at {} IOPS of {} ({}), mean {} {}: beyond this point latency grows faster than throughput (highest rate over \
                 mean latency among these points)",
                format::iops(point.iops),
                format::bytes(point.block_size),
                point.words,
                self.latency_word(),
                format::time_ns(point.latency.mean)
            ),
            None => {
                "no knee within these points: the rate over the mean time is highest at an end".to_owned()
            }
        }
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
        if loads.is_empty() {
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

fn curve<'r>(run: &'r Run, phases: &[&'r PhaseResult]) -> Option<Curve<'r>> {
    let first = phases.first()?;
    let rated = |phase: &&&PhaseResult| phase.jobs[0].total.response_ns.is_some();
    // The point without a rate gives the others their scale, and has no response time of its own.
    let paced = phases.iter().filter(rated).count() >= POINTS_MIN;
    let mut points: Vec<Point<'_>> = phases
        .iter()
        .filter_map(|phase| {
            let job = &phase.jobs[0];
            let total = &job.total;
            let latency = if paced { total.response_ns? } else { total.completion_ns };
            let row = run.row_or_step(phase, job);
            Some(Point {
                words: phase.point.as_str(),
                iops: total.iops,
                block_size: total.block_size,
                latency,
                row,
            })
        })
        .collect();
    points.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    let measured: Vec<CurvePoint> =
        points.iter().map(|point| CurvePoint { iops: point.iops, mean_ns: point.latency.mean }).collect();
    let job = &first.jobs[0];
    (points.len() >= POINTS_MIN).then(|| Curve {
        name: &first.name,
        knee: knee(&measured),
        points,
        paced,
        job,
    })
}
