//! `outlier-interval`: single intervals far from the others, such as stalls, in a window that otherwise stood still; and
//! pauses that only the whole window shows, because they are shorter than an interval or longer than the window.

use super::device_limit::device_limit;
use super::draft::{iops_off, percent, time};
use super::not_steady::{self, large_change, movement, pause_places, whole_places};
use super::outlier_run::RESOLUTION_SHARE;
use super::own_stop::{own_stop, repeated_stops};
use super::subject::{Subject, measured, upper_quartile};
use crate::run::{Effect, Finding, FindingSeverity, Run, SeriesPoint};
use crate::stats::{Drift, OutlierReport, drift, median, outliers, student_quantile};
use crate::steady::StationarityVerdict;

pub(super) const ID: &str = "outlier-interval";

/// Fewer intervals do not show which is far from the others.
const INTERVALS_MIN: usize = 10;
/// Fewer do not show what is usual.
const USUAL_MIN: usize = 5;
/// An interval this far from the median is worth a word.
const DISTANCE_MIN: f64 = 0.3;
/// When so much of the operations is missing (or too much) for it, the figure itself is in doubt.
const EFFECT_WARNING: f64 = 0.05;
/// The same for a test of a series, whose windows are known to be short.
const EFFECT_WARNING_IN_SERIES: f64 = 0.1;
/// An interval with less of the usual operations stands still.
const STALLED_MAX: f64 = 0.1;
/// Operations a usual interval must have for pauses to be told from chance.
const OPERATIONS_MIN: f64 = 20.0;
/// Standard errors that mean and median must be apart where an interval was seen to pause, or the intervals rise or fall.
const ERRORS_MIN: f64 = 3.0;
/// Share of windows without one that may be so far apart by chance.
const FALSE_ALARM: f64 = 0.001;
/// What a scaled MAD of n values knows of the scatter, a standard deviation of this multiple of n values knows as well.
const MAD_EFFICIENCY: f64 = 0.37;
/// p of the same trend without its first interval, where there is less to see it by.
const TREND_REST_P: f64 = 0.05;
/// p of a trend, in a window too short for more, behind which a mean off the median is taken for one.
const TREND_P: f64 = 0.02;
/// Random orders where there are too many to visit; the same run is judged the same way each time.
const DRAWS: usize = 2_000;
const SEED: u64 = 1;
/// A smaller share of the usual rate is as good as none.
const FACTOR_MIN: f64 = 1e-6;
/// The rule's threshold is of one false alarm in a hundred windows; this much above it there is one in a thousand.
const SURER: f64 = 1.5;
pub(super) const STOPPED_ADVICE: &str =
    "do not suspend Assay (SIGSTOP, a freezer, a paused virtual machine), leave it a CPU, and repeat the run";
const ADVICE: &str = "look at the latency maximum and at what the machine did then; a stall that recurs is part of the storage";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| Some(with_own_stop(&subject, of_job(&subject)?))).collect()
}

/// A finding about a window in which the process itself stood still: what looks like a stall of the storage is none then.
fn with_own_stop(subject: &Subject<'_>, mut finding: Finding) -> Finding {
    let low = finding.effect.is_some_and(|effect| effect.low < 0.0);
    if let Some(stop) = own_stop(subject).filter(|_| low) {
        let length = time(stop.length_s * 1e9);
        finding.message += &format!(
            "; Assay itself did not run for {length}, {:.1} s after the start: that is no stall of the storage",
            stop.start_s.max(0.0)
        );
        finding.evidence.insert("own_stop_s".to_owned(), stop.length_s.into());
        finding.advice = STOPPED_ADVICE.to_owned();
    } else if let Some(stops) = repeated_stops(subject).filter(|_| low) {
        let share = percent(stops.share);
        finding.message += &format!(
            "; Assay itself did not run for {share} of the time: these are no stalls of the storage"
        );
        finding.evidence.insert("stopped_share".to_owned(), stops.share.into());
        finding.advice = STOPPED_ADVICE.to_owned();
    }
    finding
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    // Of a command that was only observed, the number of operations may not be known.
    subject.job.total.known_iops()?;
    let (iops, usual) = usual_of(subject)?;
    // A limit that held for a part of the window says it all.
    let limited = device_limit(subject).is_some();
    let whole = || stalled(subject, &iops).or_else(|| pauses(subject, &iops, usual)).filter(|_| !limited);
    // A pause is told also of a window that moved otherwise.
    let paused = !pause_places(&subject.job.series).is_empty();
    if let Some(finding) = paused.then(whole).flatten() {
        return Some(finding);
    }
    let moved = |verdict| matches!(verdict, StationarityVerdict::Drift | StationarityVerdict::Step);
    if movement(subject).is_some_and(|found| moved(found.verdict)) || large_change(subject).is_some() {
        return None;
    }
    short_trend(subject).or_else(|| single(subject, &iops, usual)).or_else(whole)
}

/// The whole intervals of a job, and their median. One that a busy machine made of several is one value here: several that are alike by
/// construction would make the rest look as if it scattered less.
fn usual_of(subject: &Subject<'_>) -> Option<(Vec<f64>, f64)> {
    let iops: Vec<f64> = places(subject).into_iter().map(|place| subject.job.series[place].iops).collect();
    let usual = median(&iops).filter(|usual| *usual > 0.0 && iops.len() >= USUAL_MIN)?;
    Some((iops, usual))
}

fn places(subject: &Subject<'_>) -> Vec<usize> {
    let mut places = whole_places(&subject.job.series);
    places.dedup();
    places
}

/// Of a window too short for the test of `not-steady` whose mean is not that of its median interval because it rose or fell: the
/// change, of which that check speaks and this one does not.
fn trend(subject: &Subject<'_>) -> Option<Drift> {
    let (iops, usual) = usual_of(subject)?;
    let short = movement(subject)?.verdict == StationarityVerdict::TooShort;
    if !short || !pause_places(&subject.job.series).is_empty() {
        return None;
    }
    off_by_errors(subject, &iops, usual, ERRORS_MIN)?;
    // A first interval in which a program was still starting makes no trend of the others.
    let others = drift(iops.get(1..)?, DRAWS, SEED)?;
    let goes_on = |found: &Drift| {
        let same = others.relative.zip(found.relative).is_some_and(|(rest, all)| rest * all > 0.0);
        found.trend.p <= TREND_P && same && others.trend.p <= TREND_REST_P
    };
    drift(&iops, DRAWS, SEED).filter(goes_on)
}

/// A window of few intervals whose mean is not that of its median interval because it rose or fell: `not-steady` by another test.
fn short_trend(subject: &Subject<'_>) -> Option<Finding> {
    let found = trend(subject)?;
    let change = found.relative?;
    let word = if change > 0.0 { "rose" } else { "fell" };
    let effect = Effect::against(subject.mean_iops(), found.last)?;
    let severity = if effect.largest() >= not_steady::CHANGE_WARNING {
        FindingSeverity::Warning
    } else {
        FindingSeverity::Info
    };
    let finding = subject
        .draft(
            not_steady::ID,
            severity,
            format!("IOPS {word} by {} over the measured window", percent(change.abs())),
        )
        .bias(format!("{} against the end of the window", iops_off(effect)))
        .effect(Some(effect))
        .evidence("drift_share", change)
        .evidence("p_drift", found.trend.p)
        .evidence("intervals", subject.job.series.len())
        .advise("precondition, or measure longer, until the figure no longer changes");
    Some(finding)
}

/// Time in which hardly anything completed, of the whole window: a stall of several intervals is neither a single interval
/// nor, by the test for it, always a step.
fn stalled(subject: &Subject<'_>, iops: &[f64]) -> Option<Finding> {
    let faster = upper_quartile(iops)?;
    let still = |iops: f64| iops < STALLED_MAX * faster;
    let series = &subject.job.series;
    let time_s: f64 = series.iter().map(|point| point.length_s).sum();
    let still_s: f64 = series.iter().filter(|point| still(point.iops)).map(|point| point.length_s).sum();
    let moving: Vec<f64> = iops.iter().copied().filter(|iops| !still(*iops)).collect();
    let usual = median(&moving)?;
    let share = still_s / time_s;
    if share < EFFECT_WARNING || !enough(subject, usual) || !subject.closed_loop() {
        return None;
    }
    let first = series.iter().find(|point| still(point.iops))?;
    // Faster intervals may hide the missing I/O from the mean: without the stalls it would still be higher.
    let missing = missing_share(series, still);
    let effect = with_scatter(subject, &moving, usual, (subject.mean_iops() / usual - 1.0).min(-missing));
    let message = format!(
        "hardly any I/O completed for {still_s:.1} s of {time_s:.1} s ({}), first {:.1} s after the start",
        percent(share),
        first.start_s
    );
    let severity =
        if effect.abs() >= warning_from(subject) { FindingSeverity::Warning } else { FindingSeverity::Info };
    let finding = subject
        .draft(ID, severity, message)
        .maybe_bias(bias(effect))
        .effect(of_share(effect))
        .evidence("stalled_s", still_s)
        .evidence("stalled_share", share)
        .evidence("median_iops", usual)
        .evidence("mean_iops", subject.mean_iops())
        .advise(ADVICE);
    Some(finding)
}

/// How far the mean of a course is below that of its intervals that do not stand still, as a share of the latter.
fn missing_share(series: &[SeriesPoint], still: impl Fn(f64) -> bool) -> f64 {
    let mean = |points: &mut dyn Iterator<Item = &SeriesPoint>| {
        let (ios, time_s) = points.fold((0.0, 0.0), |(ios, time_s), point| {
            (ios + point.iops * point.length_s, time_s + point.length_s)
        });
        ios / time_s
    };
    let moving = mean(&mut series.iter().filter(|point| !still(point.iops)));
    1.0 - mean(&mut series.iter()) / moving
}

/// Whether an interval of this many operations a second has enough of them.
fn enough(subject: &Subject<'_>, usual: f64) -> bool {
    let lengths: Vec<f64> = subject.job.series.iter().map(|point| point.length_s).collect();
    median(&lengths).is_some_and(|length_s| usual * length_s >= OPERATIONS_MIN)
}

fn warning_from(subject: &Subject<'_>) -> f64 {
    if subject.in_series() { EFFECT_WARNING_IN_SERIES } else { EFFECT_WARNING }
}

/// The effect on a figure that is by this share off the usual interval, a share of that.
fn of_share(off: f64) -> Option<Effect> {
    Effect::against(1.0 + off, 1.0)
}

fn bias(off: f64) -> Option<String> {
    of_share(off).map(|effect| format!("{} against the usual interval", iops_off(effect)))
}

/// How far the figure may be from the usual interval behind a pause: what was lost in it may have been at the rate of the faster
/// intervals, and the pause as long as its interval.
fn with_scatter(subject: &Subject<'_>, iops: &[f64], usual: f64, effect: f64) -> f64 {
    let series = &subject.job.series;
    let pauses = pause_places(series);
    if effect >= 0.0 || pauses.is_empty() {
        return effect;
    }
    let faster = upper_quartile(iops).map_or(usual, |faster| faster.max(usual));
    let paused_s: f64 = pauses.iter().map(|at| series[*at].length_s).sum();
    let time_s: f64 = series.iter().map(|point| point.length_s).sum();
    effect.min(subject.mean_iops() / faster - 1.0).min(-paused_s / time_s)
}

/// How far the figure is from the usual interval, where chance does not explain it.
fn off_the_usual(subject: &Subject<'_>, iops: &[f64], usual: f64) -> Option<f64> {
    // What is seen to pause need not be shown to be no chance by the mean.
    let errors = match pause_places(&subject.job.series).is_empty() {
        true => student_quantile(FALSE_ALARM, (MAD_EFFICIENCY * (iops.len() as f64 - 1.0)).max(1.0)),
        false => ERRORS_MIN,
    };
    off_by_errors(subject, iops, usual, errors)
}

/// The same from so many standard errors on.
fn off_by_errors(subject: &Subject<'_>, iops: &[f64], usual: f64, errors: f64) -> Option<f64> {
    let effect = subject.mean_iops() / usual - 1.0;
    let distances: Vec<f64> = iops.iter().map(|value| (value / usual - 1.0).abs()).collect();
    let n = iops.len() as f64;
    let lengths = || places(subject).into_iter().map(|place| subject.job.series[place].length_s);
    // A long interval makes the mean rest on fewer values than there are.
    let worth = lengths().sum::<f64>().powi(2) / lengths().map(|length_s| length_s * length_s).sum::<f64>();
    // Of a normal distribution, mean and median have a variance of 1 / n and 1.57 / n, and the first in common.
    let scatter = 1.4826 * median(&distances)?;
    let error = scatter * (1.0 / worth - 0.43 / n).max(0.0).sqrt();
    // Noise that multiplies puts the mean above the median by half of its variance.
    let skew = if effect > 0.0 { scatter * scatter / 2.0 } else { 0.0 };
    let sure = enough(subject, usual) && effect.abs() >= EFFECT_WARNING.max(errors * error + skew);
    sure.then_some(effect)
}

/// Single intervals that are far from the others.
fn single(subject: &Subject<'_>, iops: &[f64], usual: f64) -> Option<Finding> {
    if iops.len() < INTERVALS_MIN {
        return None;
    }
    let report: OutlierReport = outliers(iops, RESOLUTION_SHARE * usual)?;
    // Noise that multiplies reaches further up than down.
    let factors: Vec<f64> = iops.iter().map(|value| (value / usual).max(FACTOR_MIN).ln()).collect();
    let by_factor = outliers(&factors, RESOLUTION_SHARE)?;
    let far = |at: &&usize| {
        let sure = by_factor.z[**at].abs() >= SURER * by_factor.threshold;
        (iops[**at] / usual - 1.0).abs() >= DISTANCE_MIN && sure
    };
    let flagged: Vec<usize> = report.flagged.iter().filter(far).copied().collect();
    // How far the mean over all is from what it is without them; more where the window itself shows more.
    let places = places(subject);
    let length_s = |at: usize| subject.job.series[places[at]].length_s;
    let time_s: f64 = (0..iops.len()).map(length_s).sum();
    let of_flagged =
        flagged.iter().map(|at| (iops[*at] - usual) * length_s(*at)).sum::<f64>() / (time_s * usual);
    // What the sentence names is to have the effect that it states: the worst of that direction.
    let towards = |off: f64| off * of_flagged > 0.0;
    let off = |at: usize| iops[at] - usual;
    let same = flagged.iter().filter(|at| towards(off(**at)));
    let worst = *same.max_by(|a, b| off(**a).abs().total_cmp(&off(**b).abs()))?;
    let of_window = off_the_usual(subject, iops, usual).filter(|off| towards(*off)).unwrap_or(0.0);
    let effect = if of_window.abs() > of_flagged.abs() { of_window } else { of_flagged };
    let severity =
        if effect.abs() >= warning_from(subject) { FindingSeverity::Warning } else { FindingSeverity::Info };
    let start_s = subject.job.series[places[worst]].start_s;
    let message = format!(
        "{} of {} intervals differ from the others; the worst, {start_s:.0} s after the start, had {} of the median IOPS",
        flagged.len(),
        iops.len(),
        percent(iops[worst] / usual)
    );
    let finding = subject
        .draft(ID, severity, message)
        .maybe_bias(bias(effect))
        .effect(of_share(effect))
        .evidence("intervals", flagged)
        .evidence("median_iops", usual)
        .evidence("worst_iops", iops[worst])
        .evidence("threshold_z", report.threshold)
        .advise(ADVICE);
    Some(finding)
}

/// Pauses that no single whole interval shows: the figure of the whole window is not that of the median interval.
fn pauses(subject: &Subject<'_>, iops: &[f64], usual: f64) -> Option<Finding> {
    let effect = off_the_usual(subject, iops, usual)?;
    let lengths: Vec<f64> = subject.job.series.iter().map(|point| point.length_s).collect();
    let usual_s = median(&lengths)?;
    let longest = subject.job.series.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s))?;
    let word = if effect < 0.0 { "below" } else { "above" };
    let mut message =
        format!("IOPS of the whole window are {} {word} the median interval", percent(effect.abs()));
    if longest.length_s >= 1.5 * usual_s {
        message += &format!(
            "; one interval of {usual_s:.1} s took {:.1} s, {:.1} s after the start, with {} of the median IOPS",
            longest.length_s,
            longest.start_s,
            percent(longest.iops / usual)
        );
    }
    let effect = with_scatter(subject, iops, usual, effect);
    let severity =
        if effect.abs() >= warning_from(subject) { FindingSeverity::Warning } else { FindingSeverity::Info };
    let finding = subject
        .draft(ID, severity, message)
        .maybe_bias(bias(effect))
        .effect(of_share(effect))
        .evidence("median_iops", usual)
        .evidence("mean_iops", subject.mean_iops())
        .evidence("intervals", iops.len())
        .evidence("longest_interval_s", longest.length_s)
        .advise(ADVICE);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    fn with_stalls(stalls: &[u32]) -> Run {
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        run.phases[0].jobs[0].series = (0..60)
            .map(|i| {
                let iops = if stalls.contains(&i) { 20.0 } else { 1000.0 + f64::from(i * 7919 % 41) };
                SeriesPoint { start_s: f64::from(i), iops, ..point }
            })
            .collect();
        run
    }

    /// Points of these lengths in seconds and IOPS.
    fn with_course(course: &[(f64, f64)]) -> Run {
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        let mut start_s = 0.0;
        run.phases[0].jobs[0].series.clear();
        for (length_s, iops) in course {
            run.phases[0].jobs[0].series.push(SeriesPoint {
                start_s,
                length_s: *length_s,
                iops: *iops,
                ..point
            });
            start_s += length_s;
        }
        run
    }

    /// A twin that is not disturbed does so much more, as a share of the figure: what `Effect` says of a figure that is low.
    #[test]
    fn the_words_and_the_effect_are_shares_of_the_figure() {
        // As recorded: the last fifth of the window stood still, and the twin had 2.6 times as many.
        let mut course = vec![(0.2, 2500.0); 13];
        course.push((8.0 * 0.65, 1.0));
        let run = with_course(&course);
        let figure = measured(&run).next().unwrap().mean_iops();
        let finding = only(ID, &run);
        let low = -finding.effect.unwrap().low;
        assert!((low - (2500.0 / figure - 1.0)).abs() < 0.01, "{low}: {figure}");
        assert_eq!(
            finding.bias_words(),
            format!("IOPS low: without it up to {:.1} times as many against the usual interval", 1.0 + low)
        );
        // An interval that was far too fast makes it high, as a share of the usual.
        let mut course = vec![(1.0, 1000.0); 13];
        course[4].1 = 3600.0;
        let finding = only(ID, &with_course(&course));
        assert_eq!(finding.bias_words(), "IOPS 0-20 % high against the usual interval");
    }

    #[test]
    fn a_stall_past_the_end_of_the_window() {
        // Recorded: frozen from 8.5 s of 10 s on, for 7 s; the last interval is as long and has half a second's worth.
        let mut course = vec![(1.0, 1000.0); 8];
        course.push((7.5, 70.0));
        let finding = only(ID, &with_course(&course));
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert!(
            finding.message.starts_with("hardly any I/O completed for 7.5 s of 15.5 s (48 %), first 8.0 s"),
            "{}",
            finding.message
        );
        // Half of what is usual got through: nothing stood still, and yet the figure is another.
        course[8].1 = 500.0;
        let finding = only(ID, &with_course(&course));
        assert!(finding.message.contains(
            "below the median interval; one interval of 1.0 s took 7.5 s, 8.0 s after the start, with 50 %"
        ));
        assert_eq!(finding.bias_words(), "IOPS 0-32 % low against the usual interval");
    }

    #[test]
    fn a_stall_of_several_intervals_at_the_end() {
        // As recorded: one read a second got through, in five of thirteen intervals.
        let seen = [2042.0, 3143.0, 3000.0, 3000.0, 3000.0, 3000.0, 2530.0, 2000.0, 1.0, 1.0, 1.0, 1.0];
        let mut course: Vec<(f64, f64)> = seen.iter().map(|iops| (1.0, *iops)).collect();
        course.push((0.6267, 1.0));
        let finding = only(ID, &with_course(&course));
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert!(finding.message.contains("for 4.6 s of 12.6 s"), "{}", finding.message);
        // A few operations an interval are a matter of chance.
        let few: Vec<(f64, f64)> = course.iter().map(|(length, iops)| (*length, iops / 300.0)).collect();
        silent(ID, &with_course(&few));
    }

    #[test]
    fn missing_io_never_makes_the_figure_high() {
        // A pause of 0.8 s, and enough fast intervals for the mean to be above the median all the same.
        let mut course: Vec<(f64, f64)> = (0..21).map(|i| (0.2, [1000.0, 1010.0, 2000.0][i % 3])).collect();
        course.insert(9, (0.8, 1.0));
        let run = with_course(&course);
        assert!(measured(&run).next().is_some_and(|subject| subject.mean_iops() > 1050.0));
        let finding = only(ID, &run);
        assert!(finding.message.starts_with("hardly any I/O completed for 0.8 s of 5.0 s (16 %)"));
        let effect = finding.effect.expect("its size is known");
        assert!(effect.low < -0.16 && effect.high <= 0.0, "{}", finding.bias_words());
        assert!(finding.bias_words().contains("low"), "{}", finding.bias_words());
        // Where fast intervals make the figure high, they are what the sentence names, not one without I/O.
        let factor = |i: usize| match i {
            20 | 21 => 1.8,
            40 => 0.02,
            _ => 1.0,
        };
        let course: Vec<(f64, f64)> =
            (0..60).map(|i| (1.0, [1000.0, 1010.0, 1020.0][i % 3] * factor(i))).collect();
        let finding = only(ID, &with_course(&course));
        assert!(finding.bias_words().contains("high"), "{}", finding.bias_words());
        assert!(finding.message.ends_with("had 182 % of the median IOPS"), "{}", finding.message);
    }

    #[test]
    fn pauses_in_a_part_of_the_intervals() {
        // 60 ms twice a second, seen in intervals of 200 ms: two of five have one.
        let course: Vec<(f64, f64)> = (0..30)
            .map(|i| (0.2, if [0, 2].contains(&(i % 5)) { 700.0 } else { 1000.0 + f64::from(i % 3) }))
            .collect();
        let finding = only(ID, &with_course(&course));
        assert!(finding.bias_words().starts_with("IOPS 0-14 % low"), "{}", finding.bias_words());
        // A sawtooth that falls far for a short time.
        let teeth: Vec<(f64, f64)> = (0..40).map(|i| (1.0, [1000.0, 990.0, 980.0, 60.0][i % 4])).collect();
        assert_eq!(only(ID, &with_course(&teeth)).severity, FindingSeverity::Warning);
    }

    /// Sixteen intervals of 0.15 s with these IOPS, and behind `at` of them one of 1.0 s in which the process was stopped.
    fn stopped(at: usize, iops: impl Fn(usize) -> f64) -> Run {
        let mut course: Vec<(f64, f64)> = (0..16).map(|i| (0.15, iops(i))).collect();
        course.insert(at, (1.0, 8617.0));
        with_course(&course)
    }

    /// The share of the usual IOPS that was lost.
    fn low(finding: &Finding) -> f64 {
        let more = -finding.effect.expect("its size is known").low;
        more / (1.0 + more)
    }

    #[test]
    fn a_process_that_was_stopped_for_a_third_of_the_window() {
        for at in 0..=16 {
            let mut run = stopped(at, |i| 70_000.0 + 400.0 * (i * 7919 % 41) as f64 - 8000.0);
            let finding = only(ID, &run);
            assert!((1.0 / 3.4..0.4).contains(&low(&finding)), "{at}: {}", finding.bias_words());
            assert!(finding.message.contains("took 1.0 s") || finding.message.contains("for 1.0 s"));
            // It is no fall of the level, and no other movement.
            silent("throttled", &run);
            crate::checks::judge(&mut run);
            assert_eq!(run.verdict, crate::run::Verdict::Suspect, "{at}");
            assert_eq!(run.rows[0].causes, [ID], "{at}");
        }
        // As recorded: six intervals that fell from 86,200 to 55,050 before it.
        let falling = |i: usize| if i < 6 { 86_200.0 - 6230.0 * i as f64 } else { 70_000.0 };
        let finding = only(ID, &stopped(6, falling));
        assert!((1.0 / 3.4..0.4).contains(&low(&finding)), "{}", finding.bias_words());
        // All of them, so that the window moved as well.
        let finding = only(ID, &stopped(16, |i| 86_200.0 - 2076.0 * i as f64));
        assert!((0.30..0.45).contains(&low(&finding)), "{}", finding.bias_words());
    }

    #[test]
    fn a_stop_at_the_end_is_no_fall_of_the_level() {
        // As recorded: SIGSTOP of 1 s from 1.9 s on; the interval before it was cut as well.
        let seen = [35_780, 33_720, 32_300, 29_820, 29_200, 30_420, 34_160, 35_400, 27_640, 14_160];
        let mut course: Vec<(f64, f64)> = seen.iter().map(|iops| (0.2, f64::from(*iops))).collect();
        course.push((1.0, 4096.0));
        let run = with_course(&course);
        silent("throttled", &run);
        let finding = only(ID, &run);
        assert!((1.0 / 3.0..0.5).contains(&low(&finding)), "{}", finding.bias_words());
    }

    #[test]
    fn a_stop_of_our_own_is_no_stall_of_the_storage() {
        use crate::evidence::MachineSecond;
        let mut run = stopped(8, |_| 70_000.0);
        assert!(!only(ID, &run).message.contains("Assay itself"));
        let lengths = [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 1.1, 0.0, 0.1, 0.2, 0.2];
        run.phases[0].evidence.seconds = lengths
            .iter()
            .enumerate()
            .map(|(at, length_s)| MachineSecond {
                start_s: 0.2 * at as f64,
                length_s: *length_s,
                ..MachineSecond::default()
            })
            .collect();
        let finding = only(ID, &run);
        assert!(
            finding.message.ends_with(
                "Assay itself did not run for 900 ms, 1.2 s after the start: that is no stall of the storage"
            ),
            "{}",
            finding.message
        );
    }

    #[test]
    fn a_long_interval_of_a_busy_machine_is_no_pause() {
        let mut rng = assay_workload::rng::Rng::new(12);
        let mut found = 0;
        for _ in 0..400 {
            let mut course: Vec<(f64, f64)> =
                (0..16).map(|_| (0.15, 70_000.0 * (0.15 * rng.normal()).exp())).collect();
            course[7].0 = 0.45;
            found += pause_places(&with_course(&course).phases[0].jobs[0].series).len();
        }
        assert_eq!(found, 0);
    }

    /// Windows of `n` intervals with noise of this share that depends on its neighbour by `phi`, of which one took `periods` as long.
    fn noisy(n: usize, (sigma, phi): (f64, f64), periods: f64, rng: &mut assay_workload::rng::Rng) -> Run {
        let mut x = rng.normal();
        let mut course: Vec<(f64, f64)> = (0..n)
            .map(|_| {
                let value = 70_000.0 * (sigma * x).exp();
                x = phi * x + (1.0 - phi * phi).sqrt() * rng.normal();
                (0.15, value)
            })
            .collect();
        course[n / 2 - 1].0 = 0.15 * periods;
        with_course(&course)
    }

    #[test]
    fn a_late_sampler_makes_no_outlier_of_noise() {
        let mut rng = assay_workload::rng::Rng::new(12);
        let mut found = [0, 0];
        for at in 0..4000 {
            let run = noisy(16, (0.15, 0.0), [2.0, 3.0][at % 2], &mut rng);
            let subject = measured(&run).next().expect("a job");
            let (iops, usual) = usual_of(&subject).expect("intervals");
            let spoke = single(&subject, &iops, usual).or_else(|| pauses(&subject, &iops, usual));
            found[at % 2] += usize::from(spoke.is_some());
        }
        // One in 400; found before: 25 and 30 of 400.
        assert!(found.iter().all(|found| *found <= 5), "{found:?} of 2000");
    }

    #[test]
    fn noise_is_no_pause() {
        let mut rng = assay_workload::rng::Rng::new(11);
        let mut found = 0;
        for run in 0..400 {
            let n = [6, 10, 20, 60][run % 4];
            let course: Vec<(f64, f64)> =
                (0..n).map(|_| (1.0, 1000.0 * (0.1 * rng.normal()).exp())).collect();
            let run = with_course(&course);
            found += measured(&run)
                .filter_map(|subject| {
                    let (iops, usual) = usual_of(&subject)?;
                    pauses(&subject, &iops, usual)
                })
                .count();
        }
        assert!(found <= 8, "{found} of 400");
    }

    #[test]
    fn a_short_window_that_rose_is_told_as_such_once() {
        // A repetition of a quick series whose last intervals were the fastest.
        let seen = [40_100.0, 40_900.0, 41_000.0, 41_800.0, 43_500.0, 58_000.0, 61_000.0, 66_000.0];
        let mut run = with_course(&seen.map(|iops| (0.2, iops)));
        run.plan.series = Some("assay-1".to_owned());
        let findings = check(&run);
        let [finding] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!(finding.id, "not-steady");
        assert_eq!(finding.message, "IOPS rose by 57 % over the measured window");
        assert_eq!(finding.bias_words(), "IOPS 0-30 % low against the end of the window");
        // In another order it is no trend.
        let mixed = [58_000.0, 40_100.0, 66_000.0, 41_000.0, 40_900.0, 61_000.0, 41_800.0, 43_500.0];
        let mut run = with_course(&mixed.map(|iops| (0.2, iops)));
        run.plan.series = Some("assay-1".to_owned());
        assert!(check(&run).iter().all(|finding| finding.id == ID));
    }

    #[test]
    fn a_test_of_a_series_is_doubted_from_more_on() {
        let course: Vec<(f64, f64)> = (0..8).map(|i| (0.2, if i == 3 { 450.0 } else { 1000.0 })).collect();
        let mut run = with_course(&course);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.plan.series = Some("assay-1".to_owned());
        assert_eq!(only(ID, &run).severity, FindingSeverity::Info);
    }

    #[test]
    fn a_stall() {
        let finding = only(ID, &with_stalls(&[30]));
        assert_eq!(finding.severity, FindingSeverity::Info);
        assert!(finding.message.contains("30 s after the start, had 2"), "{}", finding.message);
        assert_eq!(only(ID, &with_stalls(&[9, 24, 37, 51])).severity, FindingSeverity::Warning);
    }

    #[test]
    fn an_even_window() {
        silent(ID, &with_stalls(&[]));
    }
}
