//! The picture of a whole run, and what is marked in the pictures of its phases.

use assay_results::Run;
use assay_results::run::PhaseResult;
use assay_workload::PhaseKind;

use super::clock::{at, courses, places};
use super::repeats::repetitions;
use super::{POINTS_MAX, curves, iops_over_time, latency_over_time, tick_name, time_axis};
use crate::format;
use crate::svg::{Axis, Chart, Line, Scale};

/// Fewer phases than this need no picture of all of them.
const PHASES_MIN: usize = 2;
/// More would be a comb.
const PHASES_MAX: usize = 24;

/// The curves of a run and how alike its repetitions are; without any, its measured phases one behind the other, or IOPS and
/// latencies over time of the only one.
pub(crate) fn whole(run: &Run) -> Vec<Chart> {
    let mut charts = curves(run);
    charts.extend(repetitions(run));
    if charts.is_empty() {
        charts.extend(timeline(run));
    }
    if charts.is_empty()
        && let Some((index, phase)) = only_measured(run)
    {
        charts.extend(over_time(run, index, phase));
    }
    charts
}

/// Whether a run has one measured phase, whose course is the picture of the run.
pub(crate) fn is_alone(run: &Run) -> bool {
    only_measured(run).is_some() && curves(run).is_empty()
}

/// The measured phase of a run that has one, with its index among all.
fn only_measured(run: &Run) -> Option<(usize, &PhaseResult)> {
    let mut measured = run.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Measure);
    measured.next().filter(|_| measured.next().is_none())
}

/// IOPS of all jobs of a phase; of a single job its latencies, too.
fn over_time(run: &Run, index: usize, phase: &PhaseResult) -> Vec<Chart> {
    let marks = events(run, index);
    let [job] = phase.jobs.as_slice() else {
        let iops = iops_over_time("whole", &phase.jobs);
        return iops.map(|chart| Chart { marks, ..chart }).into_iter().collect();
    };
    let charts = [iops_over_time("whole", &phase.jobs), latency_over_time("whole-latency", job, POINTS_MAX)];
    charts.into_iter().flatten().map(|chart| Chart { marks: marks.clone(), ..chart }).collect()
}

/// IOPS of all jobs together, the measured parts of the phases one behind the other; what was between them is left out.
fn timeline(run: &Run) -> Option<Chart> {
    let measured = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let phases: Vec<&PhaseResult> =
        measured.filter(|phase| phase.jobs.iter().any(|job| job.series.len() > 1)).collect();
    if !(PHASES_MIN..=PHASES_MAX).contains(&phases.len()) {
        return None;
    }
    let (mut points, mut marks, mut hints) = (Vec::new(), Vec::new(), Vec::new());
    let mut start_s = 0.0;
    for phase in phases {
        marks.push((start_s, phase.title()));
        let jobs = courses(&phase.jobs);
        let places = places(&jobs);
        let mut until_s = 0.0;
        for place in &places {
            let (from_s, to_s) = *place;
            // No job ran in between.
            if from_s > until_s + (to_s - from_s) / 2.0 {
                points.push((start_s + until_s, None));
            }
            until_s = to_s;
            let iops: f64 =
                jobs.iter().filter_map(|(_, groups)| at(groups, *place)).map(|group| group.iops).sum();
            points.push((start_s + (from_s + to_s) / 2.0, Some(iops)));
            let words = format!("{}, {} s: {} IOPS", phase.title(), tick_name(from_s), format::iops(iops));
            hints.push((start_s + from_s, start_s + to_s, words));
        }
        start_s += places.last().map_or(0.0, |place| place.1);
        points.push((start_s, None));
    }
    let y = Axis::new("IOPS", Scale::from_zero(points.iter().filter_map(|point| point.1)), tick_name);
    let names: Vec<&str> = marks.iter().map(|mark| mark.1.as_str()).collect();
    Some(Chart {
        id: "whole".to_owned(),
        title: "IOPS, phase after phase".to_owned(),
        description: format!(
            "Of all jobs together; the measured parts of {}, one behind the other.",
            names.join(", ")
        ),
        x: time_axis(start_s, "the start, pauses left out"),
        y,
        lines: vec![Line { name: "all jobs".to_owned(), points, filled: true, ..Line::default() }],
        hints,
        marks,
    })
}

/// Moments of a phase that its jobs tell of or findings point at, in seconds from the start of the measured part, with their words.
pub(crate) fn events(run: &Run, index: usize) -> Vec<(f64, String)> {
    let Some(phase) = run.phases.get(index) else { return Vec::new() };
    let here = format!("/phases/{index}/");
    let mut events: Vec<(f64, String)> = run
        .findings
        .iter()
        .filter(|finding| {
            finding
                .evidence
                .get("at")
                .and_then(|at| at.as_str())
                .is_some_and(|at| format!("{at}/").starts_with(&here))
        })
        .filter_map(|finding| {
            let number = |name: &str| finding.evidence.get(name).and_then(serde_json::Value::as_f64);
            let step = || {
                let series = phase.jobs.first().filter(|_| phase.jobs.len() == 1)?;
                series.series.get(number("step_at")? as usize).map(|point| point.start_s)
            };
            Some((number("in_force_from_s").or_else(step)?, finding.id.clone()))
        })
        .collect();
    events.extend(phase.moments.iter().map(|moment| (moment.at_s, moment.what.clone())));
    events.dedup();
    events
}

#[cfg(test)]
mod tests {
    use assay_results::run::{Finding, JobResult, SeriesPoint};

    use super::*;

    fn phase(name: &str) -> PhaseResult {
        let point = |second: u32| SeriesPoint {
            start_s: f64::from(second),
            length_s: 1.0,
            iops: 100.0,
            bytes_per_s: 0.0,
            p50_ns: None,
            p99_ns: None,
        };
        let job = || JobResult { series: (0..3).map(point).collect(), ..JobResult::default() };
        PhaseResult {
            name: name.to_owned(),
            kind: PhaseKind::Measure,
            jobs: vec![job(), job()],
            ..PhaseResult::default()
        }
    }

    fn run() -> Run {
        assay_results::samples::run("r", "", vec![phase("a"), phase("b")])
    }

    #[test]
    fn phases_stand_one_behind_the_other_with_all_their_jobs() {
        let chart = timeline(&run()).expect("two phases");
        assert_eq!(chart.marks, [(0.0, "a".to_owned()), (3.0, "b".to_owned())]);
        assert_eq!(chart.lines[0].points[..2], [(0.5, Some(200.0)), (1.5, Some(200.0))]);
        assert_eq!(chart.lines[0].points[3], (3.0, None), "a gap between phases");
        let mut one = run();
        one.phases.truncate(1);
        assert!(timeline(&one).is_none());
    }

    #[test]
    fn a_finding_with_a_moment_is_an_event_of_its_phase() {
        let mut run = run();
        run.phases[1].jobs.truncate(1);
        let evidence = serde_json::json!({ "at": "/phases/1/jobs/0", "step_at": 2 });
        run.findings = vec![Finding {
            id: "throttled".to_owned(),
            evidence: evidence.as_object().unwrap().clone(),
            ..assay_results::samples::finding(
                "throttled",
                assay_results::run::FindingSeverity::Info,
                None,
                "m",
            )
        }];
        assert_eq!(events(&run, 1), [(2.0, "throttled".to_owned())]);
        assert_eq!(events(&run, 0), []);
        run.phases[0].moments = vec![assay_results::run::Moment { at_s: 1.5, what: "checkpoint".to_owned() }];
        assert_eq!(events(&run, 0), [(1.5, "checkpoint".to_owned())]);
    }
}
