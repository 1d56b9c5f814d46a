//! Tests of the verdicts.

use super::*;
use crate::stats::binomial_cdf;
use assay_workload::rng::Rng;

const UP: Orientation = Orientation::HigherIsBetter;
const DOWN: Orientation = Orientation::LowerIsBetter;

fn runs(rng: &mut Rng, n: usize, level: f64, noise: f64) -> Vec<f64> {
    (0..n).map(|_| level * (noise * rng.normal()).exp()).collect()
}

fn verdict(first: &[f64], second: &[f64], orientation: Orientation) -> (CompareVerdict, Reason) {
    let judged = judge(first, second, orientation, &Margins::default());
    (judged.verdict, judged.reason)
}

#[test]
fn clear_cases_get_their_word() {
    let base = [100.0, 101.0, 99.0, 100.5, 99.5];
    let times = |factor: f64| base.map(|v| v * factor);
    assert_eq!(verdict(&base, &times(1.10), UP), (CompareVerdict::Better, Reason::Significant));
    assert_eq!(verdict(&base, &times(1.10), DOWN), (CompareVerdict::Worse, Reason::Significant));
    assert_eq!(verdict(&base, &times(0.90), UP), (CompareVerdict::Worse, Reason::Significant));
    assert_eq!(verdict(&base, &times(0.90), DOWN), (CompareVerdict::Better, Reason::Significant));
    let same = verdict(&base, &times(1.001), UP);
    assert_eq!(same, (CompareVerdict::Equivalent, Reason::InsideMargin { significant: false }));
    let small = verdict(&base, &times(1.03), UP);
    assert_eq!(small, (CompareVerdict::Equivalent, Reason::InsideMargin { significant: true }));
}

#[test]
fn too_few_runs_say_how_many_can() {
    let (verdict, reason) = verdict(&[100.0, 101.0, 102.0], &[200.0, 201.0, 202.0], UP);
    assert_eq!((verdict, reason), (CompareVerdict::NoEvidence, Reason::TooFewRuns { needed_per_side: 4 }));
    let strict = Margins { alpha: 0.01, ..Margins::default() };
    let judged = judge(&[100.0; 4], &[200.0; 4], UP, &strict);
    assert_eq!(judged.reason, Reason::TooFewRuns { needed_per_side: 5 });
    assert!(judged.sentence().contains("5 on each side"), "{}", judged.sentence());
}

#[test]
fn equal_constant_runs_are_equivalent() {
    let judged = judge(&[500.0; 5], &[500.0; 5], UP, &Margins::default());
    assert_eq!(judged.verdict, CompareVerdict::Equivalent);
    assert_eq!(judged.ratio.unwrap().value, 1.0);
}

#[test]
fn noise_is_no_evidence_and_no_ratio_is_said() {
    let noisy = verdict(&[100.0, 140.0, 60.0, 120.0, 80.0], &[110.0, 150.0, 70.0, 90.0, 115.0], UP);
    assert_eq!(noisy, (CompareVerdict::NoEvidence, Reason::NotSignificant));
    for bad in [vec![], vec![0.0, 1.0, 2.0, 3.0], vec![f64::NAN; 5], vec![-1.0; 5]] {
        let judged = judge(&[1.0, 2.0, 3.0, 4.0], &bad, UP, &Margins::default());
        assert_eq!((judged.verdict, judged.reason), (CompareVerdict::NoEvidence, Reason::NoRatio));
        assert!(judged.sentence().starts_with("no evidence"));
    }
}

#[test]
fn a_real_but_small_difference_with_a_wide_interval_is_not_called() {
    let margins = Margins { equivalent: 0.01, relevant: 0.05, alpha: 0.05 };
    let base = [100.0, 101.0, 99.0, 100.5, 99.5];
    let judged = judge(&base, &base.map(|v| v * 1.03), UP, &margins);
    assert_eq!((judged.verdict, judged.reason), (CompareVerdict::NoEvidence, Reason::BelowRelevant));
}

#[test]
fn exchanging_the_sides_turns_the_word() {
    let mut rng = Rng::new(20);
    for i in 0..200 {
        let shift = 1.0 + 0.0005 * f64::from(i);
        let (a, b) = (runs(&mut rng, 6, 1000.0, 0.02), runs(&mut rng, 5, 1000.0 * shift, 0.02));
        let there = judge(&a, &b, UP, &Margins::default());
        let back = judge(&b, &a, UP, &Margins::default());
        let turned = match there.verdict {
            CompareVerdict::Better => CompareVerdict::Worse,
            CompareVerdict::Worse => CompareVerdict::Better,
            same => same,
        };
        assert_eq!(back.verdict, turned, "{} / {}", there.sentence(), back.sentence());
        assert_eq!(judge(&a, &b, DOWN, &Margins::default()).verdict, turned);
    }
}

#[test]
fn equal_sides_are_rarely_told_apart() {
    let mut rng = Rng::new(21);
    // The exact test rejects 8 of 252 divisions of five and five, and 4.33 % of those of ten and ten.
    for (n, noise, level) in [(5usize, 0.02, 8.0 / 252.0), (5, 0.10, 8.0 / 252.0), (10, 0.05, 0.043_3)] {
        let trials = 2_000;
        let wrong = (0..trials)
            .filter(|_| {
                let (a, b) = (runs(&mut rng, n, 1000.0, noise), runs(&mut rng, n, 1000.0, noise));
                matches!(
                    judge(&a, &b, UP, &Margins::default()).verdict,
                    CompareVerdict::Better | CompareVerdict::Worse
                )
            })
            .count() as u64;
        assert!(binomial_cdf(wrong, trials, level) < 0.999, "n {n}, noise {noise}: {wrong} of {trials}");
    }
}

#[test]
fn a_difference_beyond_the_margin_is_rarely_called_equivalent() {
    let mut rng = Rng::new(22);
    let trials = 1_000;
    let wrong = (0..trials)
        .filter(|_| {
            let (a, b) = (runs(&mut rng, 7, 1000.0, 0.02), runs(&mut rng, 7, 1051.0, 0.02));
            judge(&a, &b, UP, &Margins::default()).verdict == CompareVerdict::Equivalent
        })
        .count() as u64;
    assert!(binomial_cdf(wrong, trials, 0.025) < 0.999, "{wrong} of {trials}");
}

#[test]
fn five_percent_is_seen_at_two_percent_noise() {
    let mut rng = Rng::new(23);
    let mut seen = |n: usize| {
        (0..400)
            .filter(|_| {
                let (a, b) = (runs(&mut rng, n, 1000.0, 0.02), runs(&mut rng, n, 1050.0, 0.02));
                judge(&a, &b, UP, &Margins::default()).verdict == CompareVerdict::Better
            })
            .count()
    };
    let (five, seven, ten) = (seen(5), seen(7), seen(10));
    assert!(five >= 320 && seven >= 370 && ten >= 380, "{five} {seven} {ten} of 400");
}

fn suite_of(sides: &[(Vec<f64>, Vec<f64>)]) -> Vec<SuiteEntry<'_>> {
    sides.iter().map(|(first, second)| SuiteEntry { first, second, orientation: UP }).collect()
}

#[test]
fn a_suite_of_equal_sides_stays_quiet_as_a_whole() {
    let mut rng = Rng::new(24);
    let trials = 300;
    let wrong = (0..trials)
        .filter(|trial| {
            let sides: Vec<_> =
                (0..26).map(|_| (runs(&mut rng, 5, 1000.0, 0.05), runs(&mut rng, 5, 1000.0, 0.05))).collect();
            judge_suite(&suite_of(&sides), &Margins::default(), 499, *trial)
                .iter()
                .any(|judged| matches!(judged.verdict, CompareVerdict::Better | CompareVerdict::Worse))
        })
        .count() as u64;
    assert!(binomial_cdf(wrong, trials, 0.05) < 0.999, "{wrong} of {trials}");
}

#[test]
fn a_suite_finds_the_test_that_changed_and_skips_the_one_without_ratio() {
    let mut rng = Rng::new(25);
    let mut sides: Vec<_> =
        (0..26).map(|_| (runs(&mut rng, 5, 1000.0, 0.02), runs(&mut rng, 5, 1000.0, 0.02))).collect();
    sides[3].1 = runs(&mut rng, 5, 800.0, 0.02);
    sides[7].1 = vec![0.0; 5];
    let judged = judge_suite(&suite_of(&sides), &Margins::default(), 499, 1);
    assert_eq!(judged[3].verdict, CompareVerdict::Worse);
    assert!((judged[3].p_suite.unwrap() - 2.0 / 252.0).abs() < 1e-9);
    assert_eq!(judged[7].reason, Reason::NoRatio);
    assert_eq!(judged[7].p_suite, None);
    let called =
        judged.iter().filter(|j| matches!(j.verdict, CompareVerdict::Better | CompareVerdict::Worse)).count();
    assert_eq!(called, 1);
    let line = judged[3].sentence();
    assert!(line.starts_with("worse: -") && line.contains("in its suite"), "{line}");
}

#[test]
fn significance_alone_is_not_significance_in_a_suite() {
    let mut rng = Rng::new(26);
    let mut found = 0;
    for seed in 0..10 {
        let mut sides: Vec<_> =
            (0..26).map(|_| (runs(&mut rng, 5, 1000.0, 0.04), runs(&mut rng, 5, 1000.0, 0.04))).collect();
        sides[0].1 = runs(&mut rng, 5, 1085.0, 0.04);
        let judged = judge_suite(&suite_of(&sides), &Margins::default(), 499, seed);
        found += usize::from(judged[0].reason == Reason::OnlyAlone);
    }
    assert!(found >= 2, "{found}");
}
