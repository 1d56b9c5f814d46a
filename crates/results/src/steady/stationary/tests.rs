//! Tests of the stationarity of short windows, on series of known shape.

use super::*;
use crate::stats::binomial_cdf;

/// A shape over the window (its argument runs from 0 to 1) with noise of first-order dependence.
fn noisy(rng: &mut Rng, n: usize, noise: f64, phi: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let scale = noise * (1.0 - phi * phi).sqrt();
    let mut x = noise * rng.normal();
    (0..n)
        .map(|i| {
            x = phi * x + scale * rng.normal();
            1000.0 * (shape(i as f64 / (n - 1) as f64) + x)
        })
        .collect()
}

fn judged(values: &[f64]) -> Stationarity {
    stationarity(values, &StationarityRule::default(), 1).unwrap()
}

/// How many of `trials` noisy windows of this shape get the verdict.
fn count(
    verdict: StationarityVerdict,
    trials: u64,
    (n, noise, phi): (usize, f64, f64),
    shape: impl Fn(f64) -> f64,
) -> u64 {
    let mut rng = Rng::new(50);
    let rule = StationarityRule { draws: 399, ..StationarityRule::default() };
    let hits = (0..trials).filter(|seed| {
        let values = noisy(&mut rng, n, noise, phi, &shape);
        stationarity(&values, &rule, *seed).unwrap().verdict == verdict
    });
    hits.count() as u64
}

#[test]
fn still_windows_stay_silent() {
    for (setup, level) in
        [((10, 0.05, 0.0), 0.01), ((30, 0.05, 0.0), 0.01), ((30, 0.05, 0.3), 0.015), ((60, 0.20, 0.6), 0.02)]
    {
        let trials = 150;
        let quiet = count(StationarityVerdict::Stationary, trials, setup, |_| 1.0);
        assert!(binomial_cdf(trials - quiet, trials, level) < 0.999, "{setup:?}: {quiet} of {trials}");
    }
}

#[test]
fn movement_of_known_shape_is_named() {
    let drift = |shape: fn(f64) -> f64| count(StationarityVerdict::Drift, 40, (30, 0.02, 0.2), shape);
    assert!(drift(|x| 1.0 + 0.2 * x) >= 36, "rising");
    assert!(drift(|x| 1.0 - 0.2 * x) >= 36, "falling");
    assert!(drift(|x| 1.0 + 0.5 * (-4.0 * x).exp()) >= 38, "settling");
    assert!(drift(|x| 1.0 - 0.4 * (4.0 * (x - 1.0)).exp()) >= 38, "falling off at the end");
    let step = |shape: fn(f64) -> f64| count(StationarityVerdict::Step, 40, (30, 0.02, 0.2), shape);
    assert!(step(|x| if x < 0.4 { 1.0 } else { 0.8 }) >= 36, "down");
    assert!(step(|x| if x < 0.7 { 1.0 } else { 1.3 }) >= 38, "up");
}

#[test]
fn exact_shapes_without_noise() {
    let ramp: Vec<f64> = (0..20).map(|i| 1000.0 + 10.0 * f64::from(i)).collect();
    let found = judged(&ramp);
    assert_eq!(found.verdict, StationarityVerdict::Drift);
    assert!((found.drift_share - 190.0 / 1095.0).abs() < 1e-9);
    let cliff: Vec<f64> = (0..20).map(|i| if i < 12 { 1000.0 } else { 600.0 }).collect();
    let found = judged(&cliff);
    assert_eq!((found.verdict, found.step_at), (StationarityVerdict::Step, 12));
    assert!((found.step_share + 0.4).abs() < 1e-9);
    let found = judged(&[1000.0; 20]);
    assert_eq!(found.verdict, StationarityVerdict::Stationary);
    assert_eq!((found.p_drift, found.p_step), (Some(1.0), Some(1.0)));
}

#[test]
fn a_change_too_small_to_matter_is_measured_but_not_called() {
    let ramp: Vec<f64> = (0..30).map(|i| 1000.0 + f64::from(i) + 0.5 * f64::from(i % 3)).collect();
    let found = judged(&ramp);
    assert_eq!(found.verdict, StationarityVerdict::Stationary);
    assert!(found.p_drift.unwrap() <= 0.005 && found.drift_share > 0.025, "{found:?}");
}

#[test]
fn short_and_empty_windows() {
    let found = judged(&[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
    assert_eq!((found.verdict, found.p_drift), (StationarityVerdict::TooShort, None));
    assert_eq!(judged(&[5.0]).verdict, StationarityVerdict::TooShort);
    let rule = StationarityRule::default();
    assert_eq!(stationarity(&[], &rule, 1), None);
    assert_eq!(stationarity(&[0.0; 20], &rule, 1), None);
    assert_eq!(stationarity(&[f64::NAN; 20], &rule, 1), None);
}

#[test]
fn long_windows_are_averaged_down_and_places_come_back() {
    let mut rng = Rng::new(51);
    let values = noisy(&mut rng, 1_000, 0.05, 0.3, |x| if x < 0.6 { 1.0 } else { 0.85 });
    let found = judged(&values);
    assert_eq!(found.verdict, StationarityVerdict::Step);
    assert_eq!(found.intervals, 1_000);
    assert!(found.step_at.abs_diff(600) <= 34, "{}", found.step_at);
}

#[test]
fn stalls_and_cycles_are_no_drift() {
    // What the documentation says it does not catch: movement that comes back.
    let mut rng = Rng::new(52);
    let dip = noisy(&mut rng, 30, 0.02, 0.0, |x| if (0.45..0.55).contains(&x) { 0.3 } else { 1.0 });
    assert_eq!(judged(&dip).verdict, StationarityVerdict::Stationary);
    let cycle = noisy(&mut rng, 60, 0.02, 0.0, |x| 1.0 + 0.2 * (x * 6.0 * std::f64::consts::TAU).sin());
    assert_eq!(judged(&cycle).verdict, StationarityVerdict::Stationary);
}

#[test]
fn the_seed_decides_everything_that_is_random() {
    let mut rng = Rng::new(53);
    let values = noisy(&mut rng, 30, 0.05, 0.3, |x| 1.0 + 0.06 * x);
    assert_eq!(judged(&values), judged(&values));
}

/// Noise of which every value depends on all before (fractional noise with d = 0.3), as storage has it that others share.
fn slow(rng: &mut Rng, n: usize, noise: f64) -> Vec<f64> {
    const BEFORE: usize = 300;
    let mut weights = vec![1.0];
    for k in 1..BEFORE + n {
        weights.push(weights[k - 1] * (k as f64 - 0.7) / k as f64);
    }
    let draws: Vec<f64> = (0..BEFORE + n).map(|_| noise * rng.normal()).collect();
    let value = |t: usize| (0..=t).map(|k| weights[k] * draws[t - k]).sum::<f64>();
    (BEFORE..BEFORE + n).map(|t| 1000.0 * (1.0 + value(t))).collect()
}

#[test]
fn short_windows_of_a_device_that_wanders_slowly_stay_silent() {
    let rule = StationarityRule { draws: 399, ..StationarityRule::default() };
    for n in [15, 25] {
        let mut rng = Rng::new(54);
        let trials = 200;
        let moving = (0..trials).filter(|seed| {
            let found = stationarity(&slow(&mut rng, n, 0.08), &rule, *seed).unwrap();
            found.verdict != StationarityVerdict::Stationary
        });
        let moving = moving.count() as u64;
        // Against dependence of first order alone it was 4 % to 6 %.
        assert!(binomial_cdf(moving, trials, 0.02) < 0.995, "{n}: {moving} of {trials}");
    }
}

/// IOPS of intervals of 200 ms in clean runs of 3 s and 5 s on a virtual disk, in thousands: once called a rise by 8 %, once a fall
/// by 11 %, which the run after each did not have.
#[test]
fn recorded_windows_that_wander_are_not_called_moving() {
    let rise = [50.8, 49.8, 52.2, 48.0, 52.3, 47.8, 47.3, 52.7, 54.2, 52.2, 55.0, 53.7, 54.4, 55.0, 52.8];
    let fall = [
        63.4, 59.0, 56.3, 57.2, 60.9, 58.7, 62.8, 60.6, 57.8, 56.5, 58.2, 54.3, 56.9, 53.5, 54.3, 55.4, 61.0,
        52.8, 59.4, 58.1, 53.4, 53.8, 53.9, 55.1, 54.0,
    ];
    for values in [&rise[..], &fall[..]] {
        assert_eq!(judged(values).verdict, StationarityVerdict::Stationary, "{:?}", judged(values));
    }
}

#[test]
fn short_windows_that_move_are_seen_as_before() {
    let seen = |n: usize, noise: f64, shape: fn(f64) -> f64| {
        40 - count(StationarityVerdict::Stationary, 40, (n, noise, 0.0), shape)
    };
    for n in [15, 25] {
        assert_eq!(seen(n, 0.03, |x| if x < 0.5 { 1.0 } else { 0.5 }), 40, "{n}: a fall by half");
        assert!(seen(n, 0.01, |x| if x < 0.5 { 1.0 } else { 0.8 }) >= 39, "{n}: a step of 20 %");
        assert!(seen(n, 0.01, |x| 1.0 + 0.2 * x) >= 39, "{n}: a rise of 20 %");
        assert!(seen(n, 0.03, |x| 1.0 - 0.3 * x) >= 32, "{n}: a fall of 30 %");
    }
}
