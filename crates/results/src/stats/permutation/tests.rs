//! Tests of the permutation tests.

use super::*;
use crate::stats::binomial_cdf;

#[test]
fn all_choices_are_visited_once() {
    let mut seen = Vec::new();
    for_each_choice(5, 2, |chosen| seen.push(chosen.to_vec()));
    assert_eq!(seen.len(), 10);
    seen.dedup();
    assert_eq!(seen.len(), 10);
    let mut empty = 0;
    for_each_choice(3, 0, |_| empty += 1);
    assert_eq!(empty, 1);
}

#[test]
fn separated_groups_reach_the_smallest_p() {
    let test = permutation_test(&[1.0, 2.0, 3.0, 4.0, 5.0], &[11.0, 12.0, 13.0, 14.0, 15.0], 0, 1).unwrap();
    assert!(test.exact);
    assert!((test.p - 2.0 / 252.0).abs() < 1e-12, "{}", test.p);
    assert_eq!(test.difference, 10.0);
}

#[test]
fn matches_enumeration_by_hand() {
    // {0, 1} against {3, 6}: differences over the six divisions are +-4, +-1, +-2 apart from 4 seen.
    let test = permutation_test(&[0.0, 1.0], &[3.0, 6.0], 0, 1).unwrap();
    assert!((test.p - 2.0 / 6.0).abs() < 1e-12);
    assert_eq!(permutation_test(&[1.0; 4], &[1.0; 4], 0, 1).unwrap().p, 1.0);
    assert_eq!(permutation_test(&[], &[1.0], 0, 1), None);
}

#[test]
fn drawing_agrees_with_visiting_and_repeats_with_its_seed() {
    let a: Vec<f64> = (0..7).map(|i| f64::from(i * i % 11)).collect();
    let b: Vec<f64> = (0..7).map(|i| f64::from(i * i % 11) + 4.0 + 0.1 * f64::from(i)).collect();
    let exact = permutation_test(&a, &b, 0, 1).unwrap();
    let tests = [Pooled::new(&TwoSamples { a: &a, b: &b })];
    let by_draws = |seed| {
        let mut count = StepDown::new(&[exact_t(&tests[0])]);
        draw(&tests, true, 4_000, seed, &mut count);
        count.adjusted()[0]
    };
    assert!(exact.exact);
    assert!((by_draws(3) - exact.p).abs() < 0.02, "{} {}", by_draws(3), exact.p);
    assert_eq!(by_draws(3), by_draws(3));
    assert_ne!(by_draws(3), by_draws(4));
}

fn exact_t(test: &Pooled) -> f64 {
    test.t_of(test.sum_of_first())
}

#[test]
fn one_strong_test_is_found_among_quiet_ones() {
    let mut rng = Rng::new(9);
    let mut values = |shift: f64| -> Vec<f64> { (0..7).map(|_| rng.normal() + shift).collect() };
    let strong = (values(0.0), values(12.0));
    let quiet: Vec<(Vec<f64>, Vec<f64>)> = (0..25).map(|_| (values(0.0), values(0.0))).collect();
    let mut suite = vec![TwoSamples { a: &strong.0, b: &strong.1 }];
    suite.extend(quiet.iter().map(|(a, b)| TwoSamples { a, b }));
    let result = max_t(&suite, 0, 1).unwrap();
    assert!(result.exact && result.joint);
    assert_eq!(result.relabellings, 3432);
    assert!((result.p[0] - 2.0 / 3432.0).abs() < 1e-12);
    assert!(result.p[1..].iter().all(|p| *p > 0.05), "{:?}", result.p);
    assert!(result.t[0] > 10.0);
}

#[test]
fn unequal_numbers_of_runs_are_relabelled_apart() {
    let (a, b, c) = ([1.0, 2.0, 1.5, 1.7, 1.9], [11.0, 12.0, 11.5, 11.2, 11.9], [1.2, 1.4, 1.8, 1.1]);
    let suite = [TwoSamples { a: &a, b: &b }, TwoSamples { a: &a, b: &c }];
    let result = max_t(&suite, 1_999, 5).unwrap();
    assert!(!result.joint && !result.exact);
    assert_eq!(result.relabellings, 2_000);
    assert!(result.p[0] < 0.02 && result.p[1] > 0.05, "{:?}", result.p);
    assert_eq!(result, max_t(&suite, 1_999, 5).unwrap());
}

#[test]
fn false_alarms_of_a_suite_stay_at_five_percent() {
    // Tests of one pass share a part of their noise, as they do on a machine that is busy at times.
    let mut rng = Rng::new(10);
    let trials = 300;
    let mut alarms = 0;
    for _ in 0..trials {
        let common: Vec<f64> = (0..10).map(|_| rng.normal()).collect();
        let tests: Vec<Vec<f64>> =
            (0..12).map(|_| common.iter().map(|c| c + rng.normal()).collect()).collect();
        let suite: Vec<TwoSamples<'_>> =
            tests.iter().map(|v| TwoSamples { a: &v[..5], b: &v[5..] }).collect();
        let p = max_t(&suite, 0, 1).unwrap().p;
        alarms += u64::from(p.iter().any(|p| *p <= 0.05));
    }
    // 12 of the 252 relabellings may be called significant: 4.76 %.
    let tail = binomial_cdf(alarms, trials, 12.0 / 252.0);
    assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "{alarms} of {trials}");
}
