//! `not-steady`: the figure is the mean of a window that rose, fell or changed its level.
//!
//! A window long enough for five rounds is held against SNIA's rule (Solid State Storage Performance Test
//! Specification 2.0.2: range at most 20 %, excursion of the fitted line at most 10 %); every window of ten intervals
//! or more is tested for a drift or a step with the dependence of neighbouring intervals allowed for.

use super::device_limit::device_limit;
use super::draft::{Draft, iops_off, percent};
use super::subject::{Subject, measured};
use super::{pass_drift, throttled};
use crate::evidence::Remark;
use crate::run::{Effect, Finding, FindingSeverity, Run, SeriesPoint};
use crate::stats::{batch_means, median};
use crate::steady::{
    RoundLimits, SniaOutcome, SniaRule, Stationarity, StationarityRule, StationarityVerdict, round_length,
    stationarity,
};

pub(super) const ID: &str = "not-steady";

/// The remark of a runner whose rounds did not become steady.
const NEVER: &str = "never-steady";
const ADVICE: &str = "allow more rounds, or precondition the device before";
/// A change below this share is information, not a warning.
pub(super) const CHANGE_WARNING: f64 = 0.10;
/// An interval of more periods is none of a busy machine's.
const PERIODS_MAX: f64 = 1000.0;
/// A pause makes an interval this much longer than usual,
const PAUSE_LENGTH_MIN: f64 = 1.5;
/// and leaves it less than this share of the usual rate.
const PAUSE_RATE_MAX: f64 = 0.5;
/// A change of level by this factor needs no test where the first and the last part of the window have no value in common.
const LARGE_FACTOR_MIN: f64 = 2.0;
/// Values in each of these parts at least, and the part of the window that each is.
const LARGE_VALUES_MIN: usize = 2;
const LARGE_PART: usize = 3;
/// Fewer operations in an interval are chance, or a stall.
const LARGE_OPERATIONS_MIN: f64 = 20.0;
/// The test draws random series; the same run is judged the same way each time.
const SEED: u64 = 1;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings: Vec<Finding> = measured(run).filter_map(|subject| of_job(&subject)).collect();
    findings.extend(pass_drift::check(run));
    findings.extend(too_short(run));
    findings.extend(run.remarks.iter().filter(|remark| remark.id == NEVER).map(|remark| never(run, remark)));
    findings
}

/// Operations a second of the whole intervals of a job: the last one may have been cut short. Where a busy machine made
/// one interval of several, it counts as so many: to leave it out would shorten a short window and shift what follows. A
/// pause is left out: it is no level.
pub(super) fn whole_intervals(series: &[SeriesPoint]) -> Vec<f64> {
    let rate = rates(series);
    whole_places(series).into_iter().map(|at| rate(&series[at])).collect()
}

/// The places in the series of the values of [`whole_intervals`].
pub(super) fn whole_places(series: &[SeriesPoint]) -> Vec<usize> {
    let usual = usual_length_s(series);
    let whole = |point: &SeriesPoint| {
        let periods = (point.length_s / usual).round();
        let near = (point.length_s - periods * usual).abs() < 0.1 * usual;
        (usual > 0.0 && near && periods <= PERIODS_MAX).then_some(periods as usize)
    };
    let pauses = pause_places(series);
    let places = series.iter().enumerate().filter(|(at, _)| !pauses.contains(at));
    places.filter_map(|(at, point)| Some(std::iter::repeat_n(at, whole(point)?))).flatten().collect()
}

/// The places of pauses: single intervals that took longer than usual, because nothing ran that could end them, and have
/// less than half of the rate of the others. Several in a row are a level of storage that is slow.
pub(super) fn pause_places(series: &[SeriesPoint]) -> Vec<usize> {
    let (usual_s, rate) = (usual_length_s(series), rates(series));
    let long = |point: &SeriesPoint| point.length_s >= PAUSE_LENGTH_MIN * usual_s;
    let others: Vec<f64> = series.iter().filter(|point| !long(point)).map(&rate).collect();
    let Some(usual) = median(&others) else { return Vec::new() };
    let paused =
        |at: usize| series.get(at).is_some_and(|point| long(point) && rate(point) < PAUSE_RATE_MAX * usual);
    let alone = |at: &usize| paused(*at) && !paused(at + 1) && (*at == 0 || !paused(at - 1));
    (0..series.len()).filter(alone).collect()
}

fn usual_length_s(series: &[SeriesPoint]) -> f64 {
    let lengths: Vec<f64> = series.iter().map(|point| point.length_s).collect();
    median(&lengths).unwrap_or(0.0)
}

/// The rate of an interval: of a command that was only observed, the bytes may be all that is known.
fn rates(series: &[SeriesPoint]) -> impl Fn(&SeriesPoint) -> f64 + use<> {
    let only_bytes = series.iter().all(|point| point.iops == 0.0);
    move |point| if only_bytes { point.bytes_per_s } else { point.iops }
}

/// What the window of a job did; `None` for one without operations.
pub(super) fn movement(subject: &Subject<'_>) -> Option<Stationarity> {
    stationarity(&whole_intervals(&subject.job.series), &StationarityRule::default(), SEED)
}

/// A change of the rate by so much that no noise explains it: from the first to the last third of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LargeChange {
    /// Mean of the last third, as a multiple of that of the first.
    factor: f64,
    /// The value of the last third that is furthest from the first.
    end: f64,
}

impl LargeChange {
    /// How far a figure may be from where the window ended.
    pub(super) fn effect(&self, figure: f64) -> Option<Effect> {
        Effect::against(figure, self.end)
    }
}

/// The large change of a window: every value of its last third is above, or every one below, all of its first, and the means of
/// the two differ by the factor. Intervals in which hardly anything completed are a stall, and of `outlier-interval`.
pub(super) fn large_change(subject: &Subject<'_>) -> Option<LargeChange> {
    let series = &subject.job.series;
    let places = whole_places(series);
    let part = places.len() / LARGE_PART;
    if part < LARGE_VALUES_MIN {
        return None;
    }
    let rate = rates(series);
    let (first, last) = (&places[..part], &places[places.len() - part..]);
    let flows = |at: &usize| {
        series[*at].iops == 0.0 || series[*at].iops * series[*at].length_s >= LARGE_OPERATIONS_MIN
    };
    let values = |places: &[usize]| places.iter().map(|at| rate(&series[*at])).collect::<Vec<f64>>();
    let flowing = first.iter().chain(last).all(flows) && subject.closed_loop();
    let (first, last) = (values(first), values(last));
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let factor = sum(&last) / sum(&first);
    let end = if factor > 1.0 { most(&last) } else { least(&last) };
    let apart = least(&last) > most(&first) || most(&last) < least(&first);
    let large = factor.max(1.0 / factor) >= LARGE_FACTOR_MIN && factor.is_finite() && factor > 0.0;
    (flowing && apart && large && least(&first) > 0.0).then_some(LargeChange { factor, end })
}

/// What is said of a large change that the test for movement does not speak of.
fn large(subject: &Subject<'_>) -> Option<Finding> {
    let change = large_change(subject).filter(|_| device_limit(subject).is_none())?;
    let times = if change.factor > 1.0 {
        format!("{:.1} times", change.factor)
    } else {
        format!("{} of", percent(change.factor))
    };
    let effect = change.effect(subject.mean_iops());
    let message =
        format!("IOPS in the last third of the measured window were {times} those in its first third");
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .maybe_bias(effect.map(|off| format!("{} against the end of the window", iops_off(off))))
        .effect(effect)
        .evidence("factor", change.factor)
        .evidence("intervals", subject.job.series.len())
        .advise("precondition, or measure longer, until the figure no longer changes");
    Some(finding)
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let found = movement(subject)?;
    let change = match found.verdict {
        StationarityVerdict::Drift => found.drift_share,
        StationarityVerdict::Step => found.step_share,
        StationarityVerdict::Stationary | StationarityVerdict::TooShort => {
            return large(subject).or_else(|| snia(subject));
        }
    };
    if throttled::is_fall_of_level(&found) {
        return None;
    }
    let severity =
        if change.abs() >= CHANGE_WARNING { FindingSeverity::Warning } else { FindingSeverity::Info };
    let word = if change > 0.0 { "rose" } else { "fell" };
    let message = if found.verdict == StationarityVerdict::Drift {
        format!("IOPS {word} by {} over the measured window", percent(change.abs()))
    } else {
        format!(
            "IOPS {word} by {} at interval {} of {}",
            percent(change.abs()),
            found.step_at,
            found.intervals
        )
    };
    // What is fitted need not reach where a large change ended.
    let at_end = large_change(subject).and_then(|change| change.effect(subject.mean_iops()));
    let effect = wider(off_the_end(&found), at_end);
    let finding = subject
        .draft(ID, severity, message)
        .maybe_bias(effect.map(|off| format!("{} against the end of the window", iops_off(off))))
        .effect(effect)
        .evidence("drift_share", found.drift_share)
        .evidence("step_share", found.step_share)
        .evidence("p_drift", found.p_drift)
        .evidence("p_step", found.p_step)
        .evidence("intervals", found.intervals)
        .advise("precondition, or measure longer, until the figure no longer changes");
    Some(finding)
}

/// The larger of two effects.
pub(super) fn wider(one: Option<Effect>, other: Option<Effect>) -> Option<Effect> {
    one.into_iter().chain(other).max_by(|a, b| a.largest().total_cmp(&b.largest()))
}

/// How far the mean of a window that moved may be from where it ended.
///
/// Of a step by s behind a share p of the window, with a level of 1 before, the mean is p + (1 - p)(1 + s). A drift by d, a share of the
/// mean, has no known shape: the mean lies somewhere between start and end, so that the end is at most d off.
fn off_the_end(found: &Stationarity) -> Option<Effect> {
    let share = found.step_at as f64 / found.intervals.max(1) as f64;
    let (mean, end) = match found.verdict {
        StationarityVerdict::Step => {
            (share + (1.0 - share) * (1.0 + found.step_share), 1.0 + found.step_share)
        }
        _ => (1.0, 1.0 + found.drift_share),
    };
    Effect::against(mean, end.max(0.01))
}

/// SNIA's rule over the last rounds of a window that has enough of them.
fn snia(subject: &Subject<'_>) -> Option<Finding> {
    let values = whole_intervals(&subject.job.series);
    let interval_s = subject.job.series.first()?.length_s;
    let round = round_length(&values, interval_s, &RoundLimits::default())?;
    let rule = SniaRule::default();
    let rounds = batch_means(&values, round.intervals);
    let last = rounds.len().checked_sub(rule.window_rounds)?;
    let verdict = rule.assess(&rounds[last..]);
    let window = verdict.windows.first()?;
    if verdict.outcome == SniaOutcome::Steady {
        return None;
    }
    let range = window.range_share.unwrap_or(f64::INFINITY);
    let half = range / 2.0;
    let high = half / (1.0 - half).max(0.01);
    let message = format!(
        "the last {} rounds of {:.0} s differ by {}: not steady by SNIA's rule",
        rule.window_rounds,
        round.round_s,
        percent(range)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(format!("IOPS 0-{} high or low", percent(high)))
        .effect(Effect::between(-half, high))
        .evidence("range_share", window.range_share)
        .evidence("excursion_share", window.excursion_share)
        .evidence("round_s", round.round_s)
        .advise("precondition, or measure longer, until five rounds agree");
    Some(finding)
}

/// Rounds until steady, or a job that was to end steady, that ended at their bound.
fn never(run: &Run, remark: &Remark) -> Finding {
    let text = remark.text.as_str();
    let Some(phase) = remark.phase.and_then(|phase| run.plan.phases.get(phase as usize)) else {
        return Draft::new(ID, FindingSeverity::Warning, text).advise(ADVICE);
    };
    // The remark stands alone among the notes of a run and so begins with a name, which a finding has beside its message.
    let behind = |name: &str| text.strip_prefix(name)?.strip_prefix(": ");
    let job = phase.jobs.iter().map(|job| job.name.as_str()).find_map(|job| Some((job, behind(job)?)));
    let draft = |message: &str| Draft::new(ID, FindingSeverity::Warning, message).of_phase(&phase.name);
    let draft = match (behind(&phase.name), job) {
        (Some(message), _) => draft(message),
        (None, Some((job, message))) => draft(message).of_job(job),
        (None, None) => draft(text),
    };
    draft.advise(ADVICE)
}

/// One word for the whole run, and only where somebody may take its figures for steady ones: a series says itself that
/// its windows are short.
fn too_short(run: &Run) -> Option<Finding> {
    let needed = StationarityRule::default().intervals_min;
    let mut longest = 0;
    for subject in measured(run) {
        longest = longest.max(whole_intervals(&subject.job.series).len());
    }
    if longest == 0 || longest >= needed || run.plan.series.is_some() {
        return None;
    }
    let message = format!(
        "{longest} intervals are too few to tell whether the results had settled; {needed} are needed"
    );
    let draft = Draft::new(ID, FindingSeverity::Unchecked, message).evidence("intervals", longest);
    Some(draft.advise("measure for longer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    fn with_series(iops: impl Iterator<Item = f64>) -> Run {
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        run.phases[0].jobs[0].series =
            iops.enumerate().map(|(i, iops)| SeriesPoint { start_s: i as f64, iops, ..point }).collect();
        run
    }

    /// Deterministic noise of about one per cent.
    fn noise(i: u32) -> f64 {
        10.0 * f64::from(i * 7919 % 21) / 10.0 - 10.0
    }

    #[test]
    fn a_window_that_falls() {
        let finding = only(ID, &with_series((0..40).map(|i| 1000.0 - 6.0 * f64::from(i) + noise(i))));
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert!(finding.message.starts_with("IOPS fell by 2"), "{}", finding.message);
        assert!(finding.bias_words().contains("high against the end"), "{}", finding.bias_words());
    }

    /// Intervals of 0.2 s.
    fn in_fifths(iops: &[f64]) -> Run {
        let mut run = with_series(iops.iter().copied());
        for (at, point) in run.phases[0].jobs[0].series.iter_mut().enumerate() {
            (point.start_s, point.length_s) = (0.2 * at as f64, 0.2);
        }
        run
    }

    /// What a window of these intervals may be off, as multiples of the figure: where the range ends.
    fn ends_of(run: &Run) -> (f64, f64) {
        let mut findings = crate::checks::by_id(ID).unwrap().judge(run);
        findings.extend(crate::checks::by_id("throttled").unwrap().judge(run));
        let told = findings.iter().find(|finding| finding.severity == FindingSeverity::Warning);
        let effect = told.unwrap_or_else(|| panic!("{findings:#?}")).effect.expect("a range");
        (1.0 - effect.low, 1.0 / (1.0 + effect.high))
    }

    #[test]
    fn a_large_change_is_told_whatever_its_course() {
        // Writes with fdatasync, as recorded: 20 times as many at the end.
        let flushed = [
            365.0, 420.0, 375.0, 440.0, 385.0, 415.0, 960.0, 1100.0, 1800.0, 2100.0, 2600.0, 3000.0, 3700.0,
            4400.0, 5100.0, 5800.0, 6420.0, 8105.0, 8670.0, 7389.0,
        ];
        let in_steps: Vec<f64> = (0..20).map(|at| [400.0, 1200.0, 5000.0, 14_000.0][at / 5]).collect();
        let late: Vec<f64> = (0..20).map(|at| if at < 8 { 400.0 } else { 12_000.0 + noise(at) }).collect();
        let short: Vec<f64> = (0..9).map(|at| if at < 4 { 400.0 } else { 12_000.0 + noise(at) }).collect();
        let noisy: Vec<f64> =
            (0..20).map(|at| if at < 8 { 400.0 } else { 9000.0 + 300.0 * noise(at) }).collect();
        for course in [flushed.as_slice(), &in_steps, &late, &short, &noisy] {
            let run = in_fifths(course);
            let figure = course.iter().sum::<f64>() / course.len() as f64;
            let end = course[course.len() - 3..].iter().copied().fold(0.0, f64::max);
            assert!(ends_of(&run).0 * figure >= 0.99 * end, "{course:?}: {:?}", ends_of(&run));
            silent("outlier-interval", &run);
        }
        let falls: Vec<f64> =
            (0..20).map(|at| [12_610.0, 9000.0, 2500.0, 380.0][at / 5] + noise(at as u32)).collect();
        let at_once: Vec<f64> =
            (0..20).map(|at| if at < 9 { 12_610.0 } else { 380.0 } + noise(at as u32)).collect();
        for course in [&falls, &at_once] {
            let figure = course.iter().sum::<f64>() / course.len() as f64;
            let run = in_fifths(course);
            assert!(ends_of(&run).1 * figure <= 1.05 * 380.0, "{course:?}: {:?}", ends_of(&run));
        }
    }

    #[test]
    fn noise_is_no_large_change() {
        let mut rng = assay_workload::rng::Rng::new(21);
        let told = (0..400).filter(|at| {
            let n = [6, 9, 16, 25][at % 4];
            let course: Vec<f64> = (0..n).map(|_| 5000.0 * (0.3 * rng.normal()).exp()).collect();
            let run = in_fifths(&course);
            measured(&run).next().and_then(|subject| large_change(&subject)).is_some()
        });
        assert!(told.count() <= 4);
        // Hardly anything in the last third is a stall.
        let mut course = [3000.0; 12];
        course[8..].fill(1.0);
        silent(ID, &in_fifths(&course));
    }

    #[test]
    fn a_window_that_stands_still() {
        silent(ID, &with_series((0..40).map(|i| 1000.0 + noise(i))));
    }

    #[test]
    fn a_last_interval_that_was_cut_short_is_left_out() {
        let mut run = with_series((0..30).map(|i| if i == 29 { 10.0 } else { 1000.0 + noise(i) }));
        run.phases[0].jobs[0].series[29].length_s = 0.1;
        silent(ID, &run);
    }

    #[test]
    fn a_fall_is_seen_although_some_intervals_became_one() {
        // As recorded on a busy machine, of a device whose limit fell by half at 1.6 s: start, length, IOPS.
        let seen = [
            (0.0, 0.2, 2500.0),
            (0.2, 0.2, 2500.0),
            (0.4, 0.2, 2500.0),
            (0.6, 0.2, 2500.0),
            (0.8, 0.4, 2500.0),
            (1.2, 0.2, 2500.0),
            (1.4, 0.2, 3075.0),
            (1.6, 0.2, 1250.0),
            (1.8, 0.2, 1250.0),
            (2.0, 0.4, 1250.0),
            (2.4, 0.2, 1250.0),
            (2.6, 0.2, 1250.0),
            (2.8, 0.4, 1250.0),
            (3.2, 0.01, 39.0),
        ];
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        let points = seen.map(|(start_s, length_s, iops)| SeriesPoint { start_s, length_s, iops, ..point });
        run.phases[0].jobs[0].series = points.to_vec();
        let found = measured(&run).next().and_then(|subject| movement(&subject)).expect("values");
        assert_eq!((found.verdict, found.intervals), (StationarityVerdict::Step, 16), "{found:?}");
    }

    #[test]
    fn still_windows_whose_intervals_became_one_now_and_then_are_not_called_moving() {
        let mut rng = assay_workload::rng::Rng::new(5);
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        let mut moving = 0;
        for _ in 0..300 {
            let (mut series, mut start) = (Vec::new(), 0);
            while start < 16 {
                let periods = if rng.unit() < 0.15 { 2 } else { 1 };
                let iops = (0..periods).map(|_| 1000.0 * (0.05 * rng.normal()).exp()).sum::<f64>();
                series.push(SeriesPoint {
                    start_s: 0.2 * f64::from(start),
                    length_s: 0.2 * f64::from(periods),
                    iops: iops / f64::from(periods),
                    ..point
                });
                start += periods;
            }
            run.phases[0].jobs[0].series = series;
            let found = measured(&run).next().and_then(|subject| movement(&subject)).expect("values");
            moving += u32::from(found.verdict != StationarityVerdict::Stationary);
        }
        // 1 % is the rule's; more than 8 of 300 has a chance of less than 0.5 % then.
        assert!(moving <= 8, "{moving} of 300");
    }

    #[test]
    fn rounds_that_differ_without_a_trend() {
        // Slow swings: neither a drift nor one step, but rounds of them differ.
        let run = with_series((0..3000).map(|i| 1000.0 + 400.0 * (f64::from(i) / 239.0).sin() + noise(i)));
        assert!(only(ID, &run).message.contains("differ by"));
    }

    #[test]
    fn rounds_that_never_became_steady_name_their_phase_once() {
        let mut run = with_series((0..40).map(|i| 1000.0 + noise(i)));
        let phase = run.plan.phases[0].name.clone();
        let mut message = |text: &str| {
            run.remarks = vec![Remark { phase: Some(0), id: NEVER.to_owned(), text: text.to_owned() }];
            let finding = only(ID, &run);
            assert_eq!(finding.phase.as_deref(), Some(phase.as_str()));
            finding.message
        };
        assert_eq!(message(&format!("{phase}: not steady after 25 rounds")), "not steady after 25 rounds");
        // What merely begins alike is not the name.
        assert_eq!(message(&format!("{phase}d: not steady")), format!("{phase}d: not steady"));
        assert_eq!(message("not steady before its other limits"), "not steady before its other limits");
    }

    #[test]
    fn a_job_that_never_became_steady_is_named_beside_the_message() {
        let mut run = with_series((0..40).map(|i| 1000.0 + noise(i)));
        run.plan.phases[0].jobs[0].name = "writer".to_owned();
        let text = "writer: not steady before its other limits ended it".to_owned();
        run.remarks = vec![Remark { phase: Some(0), id: NEVER.to_owned(), text }];
        let finding = only(ID, &run);
        assert_eq!(finding.job.as_deref(), Some("writer"));
        assert_eq!(finding.message, "not steady before its other limits ended it");
    }

    #[test]
    fn short_windows_are_unchecked_once_unless_a_series_says_so() {
        let mut run = with_series((0..8).map(|i| 1000.0 + noise(i)));
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
        run.plan.series = Some("stb-2.1".to_owned());
        silent(ID, &run);
    }
}
