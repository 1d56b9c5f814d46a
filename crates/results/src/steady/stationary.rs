//! Did a measured window move while it was measured? Neighbouring intervals depend on each other, and that is
//! allowed for.

use serde::{Deserialize, Serialize};

use crate::stats::{Step, autocorrelation, batch_means, best_step, usable};
use assay_workload::rng::Rng;

/// Longer series are averaged down to at most this many values first.
const VALUES_MAX: usize = 60;

/// A window of fewer values is also held against slow noise: its values are of so little time that storage which others share
/// wanders as far from one half to the other as from one value to the next.
const SLOW_BELOW: usize = 30;

/// A window is taken to be worth at least this many independent values.
const WORTH_MIN: f64 = 4.0;

/// What is asked of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StationarityRule {
    /// Share of still windows that may be called moving.
    pub alpha: f64,
    /// A change smaller than this share of the level is not reported, however significant.
    pub change_share_min: f64,
    /// Fewer intervals than this are too short to say.
    pub intervals_min: usize,
    /// Simulated series behind the p-values.
    pub draws: usize,
}

impl Default for StationarityRule {
    /// 1 % false alarms, changes from 5 %, at least 10 intervals, 499 simulated series.
    fn default() -> Self {
        Self { alpha: 0.01, change_share_min: 0.05, intervals_min: 10, draws: 499 }
    }
}

/// What a window did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StationarityVerdict {
    /// No drift and no step of a size that matters was found. Not a proof, and not steady state.
    Stationary,
    /// It rose or fell.
    Drift,
    /// It changed its level once.
    Step,
    /// Too few intervals to say.
    TooShort,
}

/// The verdict with the data behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stationarity {
    /// The verdict.
    pub verdict: StationarityVerdict,
    /// Intervals in the window.
    pub intervals: usize,
    /// p of the drift; `None` when the window was too short to test.
    pub p_drift: Option<f64>,
    /// p of the step; `None` when the window was too short to test.
    pub p_step: Option<f64>,
    /// Change of the fitted line or curve from the first to the last interval, as a share of the mean.
    pub drift_share: f64,
    /// Height of the best step as a share of the level before it.
    pub step_share: f64,
    /// Interval with which the best step begins.
    pub step_at: usize,
    /// Dependence between neighbouring values (after averaging down long series) that was allowed for, 0 to 1.
    pub phi: f64,
    /// Number of independent values the window is worth.
    pub n_effective: f64,
    /// The rule used.
    pub rule: StationarityRule,
}

/// Tests the per-interval figures of a window (counts or bandwidth, complete intervals only) for a drift and for
/// a single step.
///
/// A drift is the best of a straight line and exponentials that settle or take off within the window; a step
/// is the best division into two levels of at least three values. Each is judged by the squares it explains
/// over those it leaves, scaled by the dependence between neighbours, against simulated series that do not move
/// but have the same dependence (first order, with innovations drawn from what the better fit leaves); the
/// dependence is estimated anew in each. Windows of fewer than 30 values are also held against noise of about 1/f. Each may use half of `alpha`. Of two significant answers the better
/// fit is given.
///
/// `None` for an empty series, values that are not finite, or a mean that is not positive.
#[must_use]
pub fn stationarity(values: &[f64], rule: &StationarityRule, seed: u64) -> Option<Stationarity> {
    if !usable(values) {
        return None;
    }
    let size = values.len().div_ceil(VALUES_MAX);
    let series = batch_means(values, size);
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    if mean <= 0.0 {
        return None;
    }
    let curves = Curves::of_length(series.len());
    let fit = Fit::of(&series, &curves);
    let mut found = Stationarity {
        verdict: StationarityVerdict::TooShort,
        intervals: values.len(),
        p_drift: None,
        p_step: None,
        drift_share: fit.map_or(0.0, |fit| fit.drift(&curves) / mean),
        step_share: fit.and_then(|fit| fit.step.relative()).unwrap_or(0.0),
        step_at: fit.map_or(0, |fit| fit.step.at * size),
        phi: fit.map_or(0.0, |fit| fit.phi),
        n_effective: fit.map_or(0.0, |fit| series.len() as f64 * fit.independence()),
        rule: *rule,
    };
    let Some(fit) = fit.filter(|_| values.len() >= rule.intervals_min) else { return Some(found) };
    let (p_drift, p_step) = p_values(&series, &fit, &curves, rule, seed);
    found.p_drift = Some(p_drift);
    found.p_step = Some(p_step);
    found.verdict = verdict(&found, &fit, p_drift, p_step);
    Some(found)
}

/// The word for p-values and sizes.
fn verdict(found: &Stationarity, fit: &Fit, p_drift: f64, p_step: f64) -> StationarityVerdict {
    let rule = &found.rule;
    let matters = |p: f64, share: f64| p <= rule.alpha / 2.0 && share.abs() >= rule.change_share_min;
    let drift = matters(p_drift, found.drift_share);
    let step = matters(p_step, found.step_share);
    match (drift, step) {
        (true, true) if fit.step_fits_better() => StationarityVerdict::Step,
        (true, _) => StationarityVerdict::Drift,
        (false, true) => StationarityVerdict::Step,
        (false, false) => StationarityVerdict::Stationary,
    }
}

/// What is fitted to a series, real or simulated.
#[derive(Clone, Copy)]
struct Fit {
    n: usize,
    /// Sum of squares around the mean.
    total: f64,
    /// The curve that explains most, by its place among the curves, with its factor.
    curve: (usize, f64),
    step: Step,
    phi: f64,
}

impl Fit {
    /// `None` for a series too short for two levels of three values.
    fn of(series: &[f64], curves: &Curves) -> Option<Self> {
        let n = series.len();
        let step = best_step(series, 3.max(n / 10))?;
        let total = step.squares_within + step.squares_between;
        let mut fit = Self { n, total, curve: curves.best(series)?, step, phi: 0.0 };
        fit.phi = believed(autocorrelation(&fit.residuals(series, curves), 1).unwrap_or(0.0), n);
        Some(fit)
    }

    /// Share of independent values among all, for dependence of first order.
    fn independence(&self) -> f64 {
        (1.0 - self.phi) / (1.0 + self.phi)
    }

    /// Sum of squares that the best curve leaves.
    fn curve_within(&self) -> f64 {
        (self.total - self.curve.1 * self.curve.1).max(0.0)
    }

    /// Explained over unexplained squares of the curve and of the step, scaled by the dependence.
    fn statistics(&self) -> (f64, f64) {
        let floor = (1e-12 * self.total).max(f64::MIN_POSITIVE);
        let ratio = |within: f64| (self.total - within) / within.max(floor) * self.independence();
        (ratio(self.curve_within()), ratio(self.step.squares_within))
    }

    fn step_fits_better(&self) -> bool {
        self.step.squares_within < self.curve_within()
    }

    /// What remains after the better of step and curve: no movement, gradual or sudden, shall pass for
    /// dependence between neighbours.
    fn residuals(&self, series: &[f64], curves: &Curves) -> Vec<f64> {
        if self.step_fits_better() {
            let step = &self.step;
            let level = |i: usize| if i < step.at { step.before } else { step.after };
            return series.iter().enumerate().map(|(i, v)| v - level(i)).collect();
        }
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let curve = &curves.0[self.curve.0];
        series.iter().zip(curve).map(|(v, c)| v - mean - self.curve.1 * c).collect()
    }

    /// Change of the fitted curve from the first to the last value, in the unit of the values.
    fn drift(&self, curves: &Curves) -> f64 {
        let curve = &curves.0[self.curve.0];
        self.curve.1 * (curve[self.n - 1] - curve[0])
    }
}

/// Curves of one parameter beside the level, each centred and of unit length: a straight line, and exponentials
/// that settle or take off within the window. Made once for all series of a length.
struct Curves(Vec<Vec<f64>>);

impl Curves {
    /// The line, and time constants from two thirds to a fifth of the window, both ways.
    fn of_length(n: usize) -> Self {
        let place = |i: usize| i as f64 / n as f64;
        let line: Vec<f64> = (0..n).map(place).collect();
        let exponential = |rate: f64| (0..n).map(|i| (-rate * place(i)).exp()).collect::<Vec<f64>>();
        let bent = [1.5, 2.25, 3.4, 5.0].map(exponential);
        let mirrored = bent.iter().map(|curve| curve.iter().rev().copied().collect());
        let all = std::iter::once(line).chain(bent.iter().cloned()).chain(mirrored);
        Self(all.map(|curve| scaled(&curve)).collect())
    }

    fn best(&self, series: &[f64]) -> Option<(usize, f64)> {
        let factor = |curve: &[f64]| curve.iter().zip(series).map(|(c, v)| c * v).sum::<f64>();
        let factors = self.0.iter().map(|curve| factor(curve)).enumerate();
        factors.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
    }
}

/// Centred, and of unit length.
fn scaled(curve: &[f64]) -> Vec<f64> {
    let mean = curve.iter().sum::<f64>() / curve.len() as f64;
    let length = curve.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>().sqrt();
    curve.iter().map(|v| (v - mean) / length).collect()
}

/// The dependence that is allowed for, from the estimated one: without its downward bias, which grows with what
/// was fitted before (found by simulation), and at most what leaves the window worth four independent values.
/// Anything slower than that, within the window, is movement.
fn believed(phi: f64, n: usize) -> f64 {
    let n = n as f64;
    let without_bias = (n * phi + 4.0) / (n - 7.0).max(1.0);
    let most = (n - WORTH_MIN) / (n + WORTH_MIN);
    without_bias.clamp(0.0, most.max(0.0))
}

/// p of the drift and of the step against simulated series that do not move: with dependence of first order, and in a window of
/// few values also with slow noise; then the larger p counts.
fn p_values(series: &[f64], fit: &Fit, curves: &Curves, rule: &StationarityRule, seed: u64) -> (f64, f64) {
    let short = p_against(Noise::FirstOrder(fit.phi), series, fit, curves, (rule.draws, seed));
    if series.len() >= SLOW_BELOW || short.0.min(short.1) > rule.alpha / 2.0 {
        return short;
    }
    let slow = p_against(Noise::Slow, series, fit, curves, (rule.draws, seed));
    (short.0.max(slow.0), short.1.max(slow.1))
}

/// How the values of a series that does not move depend on each other.
#[derive(Clone, Copy)]
enum Noise {
    /// On their neighbour.
    FirstOrder(f64),
    /// On all before, ever less: noise of about 1/f. Neighbouring values do not show it, because only few are there.
    Slow,
}

/// Parts of slow noise: dependence of first order with time constants that grow by four, and each part's standard deviation;
/// the first has none. They were chosen to be like windows of 3 s to 5 s on a shared virtual disk, in which the means of thirds
/// vary with three times the variance that independent values give (median 1.7).
const SLOW: [(f64, f64); 4] = [(0.0, 0.75), (0.78, 0.33), (0.94, 0.33), (0.985, 0.33)];

impl Noise {
    fn fill(self, values: &mut [f64], rng: &mut Rng, mut innovation: impl FnMut(&mut Rng) -> f64) {
        let mut part = |phi: f64, deviation: f64, values: &mut [f64]| {
            let scale = deviation * (1.0 - phi * phi).sqrt();
            let mut x = deviation * innovation(rng);
            for value in values {
                x = phi * x + scale * innovation(rng);
                *value += x;
            }
        };
        values.fill(0.0);
        match self {
            Noise::FirstOrder(phi) => part(phi, 1.0, values),
            Noise::Slow => SLOW.iter().for_each(|(phi, deviation)| part(*phi, *deviation, values)),
        }
    }
}

fn p_against(
    noise: Noise,
    series: &[f64],
    fit: &Fit,
    curves: &Curves,
    (draws, seed): (usize, u64),
) -> (f64, f64) {
    let phi = fit.phi;
    let left = fit.residuals(series, curves);
    let mut innovations: Vec<f64> = left.windows(2).map(|pair| pair[1] - phi * pair[0]).collect();
    let mean = innovations.iter().sum::<f64>() / innovations.len() as f64;
    innovations.iter_mut().for_each(|innovation| *innovation -= mean);
    let (seen_drift, seen_step) = fit.statistics();
    let mut rng = Rng::new(seed);
    let (mut drift, mut step) = (1, 1);
    let mut simulated = vec![0.0; series.len()];
    for _ in 0..draws {
        noise.fill(&mut simulated, &mut rng, |rng| innovations[rng.below(innovations.len() as u64) as usize]);
        if let Some(fit) = Fit::of(&simulated, curves) {
            let (by_line, by_step) = fit.statistics();
            drift += usize::from(by_line >= seen_drift);
            step += usize::from(by_step >= seen_step);
        }
    }
    let share = |reached: usize| reached as f64 / (draws + 1) as f64;
    (share(drift), share(step))
}

#[cfg(test)]
mod tests;
