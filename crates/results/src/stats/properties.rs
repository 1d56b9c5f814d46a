//! What must hold for any figures whatever.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::steady::{SniaRule, StationarityRule, stationarity};

fn figures(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    // Coarse values, so that ties are frequent.
    proptest::collection::vec((1u32..400).prop_map(|v| f64::from(v) * 0.5), sizes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn an_estimate_lies_in_its_interval(a in figures(1..12), b in figures(1..12)) {
        let shift = shift_of(&a, &b, "x").unwrap();
        prop_assert!(shift.interval.is_none_or(|i| i.low <= i.high && i.contains(shift.value)));
        let middle = median_estimate(&a, "x").unwrap();
        prop_assert!(middle.interval.is_none_or(|i| i.contains(middle.value) && i.level > 0.0 && i.level < 1.0));
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
        for ratio in [paired_ratio(&pairs).unwrap(), paired_ratio_signed_rank(&pairs).unwrap()] {
            let wide = |i: Interval95| Interval95 { low: i.low * (1.0 - 1e-12), high: i.high * (1.0 + 1e-12), ..i };
            prop_assert!(ratio.interval.is_none_or(|i| wide(i).contains(ratio.value)));
        }
    }

    #[test]
    fn a_shift_moves_with_its_side_and_turns_with_the_sides(a in figures(1..9), b in figures(1..9), by in 0u32..50) {
        let by = f64::from(by);
        let moved: Vec<f64> = b.iter().map(|v| v + by).collect();
        let (plain, further) = (shift_of(&a, &b, "x").unwrap(), shift_of(&a, &moved, "x").unwrap());
        prop_assert!((further.value - plain.value - by).abs() < 1e-9);
        let turned = shift_of(&b, &a, "x").unwrap();
        prop_assert!((turned.value + plain.value).abs() < 1e-9);
        prop_assert_eq!(mann_whitney(&a, &b).unwrap().p, mann_whitney(&b, &a).unwrap().p);
    }

    #[test]
    fn p_values_are_probabilities(a in figures(1..8), b in figures(1..8), seed in 0u64..9) {
        let all = [
            mann_whitney(&a, &b).unwrap().p,
            permutation_test(&a, &b, 99, seed).unwrap().p,
            kendall(&a, &a, 99, seed).map_or(1.0, |trend| trend.p),
            change_point(&a, 1, 99, seed).map_or(1.0, |change| change.p),
        ];
        prop_assert!(all.iter().all(|p| *p > 0.0 && *p <= 1.0), "{:?}", all);
    }

    #[test]
    fn adjusting_never_lowers_a_p(ps in proptest::collection::vec(0.0f64..1.0, 1..30)) {
        let adjusted = holm(&ps);
        prop_assert!(ps.iter().zip(&adjusted).all(|(p, q)| q >= p && *q <= 1.0));
    }

    #[test]
    fn quantiles_rise_and_end_at_the_extremes(values in figures(1..20)) {
        let at = |q: f64| quantile(&values, q).unwrap();
        let ordered = sorted(&values);
        prop_assert_eq!((at(0.0), at(1.0)), (ordered[0], ordered[ordered.len() - 1]));
        prop_assert!((0..10).all(|i| at(f64::from(i) / 10.0) <= at(f64::from(i + 1) / 10.0)));
        prop_assert!((at(0.5) - median(&values).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn percentile_bounds_enclose_the_percentile(n in 1u64..50_000, p in 0.01f64..0.9999) {
        if let Some(ranks) = percentile_ranks(n, p, TAIL_ONE_SIDED_95) {
            let place = p * n as f64;
            prop_assert!(ranks.low >= 1 && ranks.high <= n);
            prop_assert!(ranks.low as f64 <= place + 1.0 && ranks.high as f64 >= place, "{:?} {}", ranks, place);
        } else {
            prop_assert!(n < samples_for_percentile(p, TAIL_ONE_SIDED_95).unwrap());
        }
    }

    #[test]
    fn scaling_the_figures_does_not_change_a_verdict(a in figures(4..8), b in figures(4..8), power in -3i32..4) {
        let scale = 2f64.powi(power);
        let scaled = |values: &[f64]| values.iter().map(|v| v * scale).collect::<Vec<f64>>();
        let margins = Margins::default();
        let plain = judge(&a, &b, Orientation::HigherIsBetter, &margins);
        let other = judge(&scaled(&a), &scaled(&b), Orientation::HigherIsBetter, &margins);
        prop_assert_eq!((plain.verdict, plain.reason), (other.verdict, other.reason));
        prop_assert_eq!(plain.p, other.p);
    }

    #[test]
    fn verdicts_survive_storage(values in figures(5..30)) {
        let judged = judge(&values, &values, Orientation::LowerIsBetter, &Margins::default());
        let text = serde_json::to_string(&judged).unwrap();
        let back: Judgement = serde_json::from_str(&text).unwrap();
        prop_assert_eq!((back.verdict, back.reason), (judged.verdict, judged.reason));
        let steady = SniaRule::default().assess(&values);
        let text = serde_json::to_string(&steady).unwrap();
        prop_assert_eq!(serde_json::from_str::<crate::steady::SniaVerdict>(&text).unwrap().outcome, steady.outcome);
        let rule = StationarityRule { draws: 19, ..StationarityRule::default() };
        let found = stationarity(&values, &rule, 1).unwrap();
        prop_assert!(found.p_drift.is_none_or(|p| p > 0.0 && p <= 1.0));
        prop_assert!((0.0..1.0).contains(&found.phi) && found.drift_share.is_finite());
    }
}
