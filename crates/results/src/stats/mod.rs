//! Statistics for benchmark results: small, exact where the numbers are small, and deterministic.
//!
//! The unit of repetition is the run: what goes in here as one value is one run's figure, never one I/O,
//! because the I/Os of a run depend on each other. Every function is pure; what needs randomness takes a seed.
//! The rules, their sources and what they do not catch are written down in `docs/methodology/statistics.md`.
//!
//! Common conventions: a function answers `None` when the input is empty, too small for any answer, or holds a
//! value that is not finite; probabilities are shares of one, not percent; relative shifts are `b / a - 1`.

mod autocorrelation;
mod change;
mod divisive;
mod estimate;
mod ks;
mod mann_whitney;
mod multiple;
mod outlier;
mod paired;
mod percentile;
mod permutation;
mod power;
mod shift;
mod special;
mod spread;
mod student;
mod summary;
mod trend;
mod verdict;

pub use autocorrelation::{EffectiveSamples, autocorrelation, batch_means, effective_samples};
pub use change::{ChangePoint, Step, best_step, change_point};
pub use divisive::{Divisive, LevelChange, level_changes};
pub use estimate::{Estimate, Interval95};
pub use ks::{ExponentialMean, KsTest, ks_exponential};
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use multiple::{Family, holm, smallest_n_per_side};
pub use outlier::{OUTLIER_FALSE_ALARM, OutlierReport, outlier_threshold, outliers};
pub use paired::{paired_ratio, paired_ratio_signed_rank};
pub use percentile::{
    RankBounds, TAIL_ONE_SIDED_95, TAIL_TWO_SIDED_95, percentile_ranks, samples_for_percentile,
};
pub use permutation::{MaxT, PermutationTest, TwoSamples, max_t, permutation_test};
pub use power::{Power, PowerSetup, power, runs_for_power};
pub use shift::{ratio_of, shift_of};
pub use special::{binomial_cdf, kolmogorov_tail, normal_cdf, normal_quantile};
pub use spread::{RunSpread, SpreadEntry, judge_by_spread, runs_to_show};
pub use student::{student_p, student_quantile};
pub use summary::{Moments, mad, median, median_estimate, median_interval, quantile};
pub use trend::{Drift, LineFit, RankTrend, drift, kendall, line_fit, spearman};
pub(crate) use verdict::too_few;
pub use verdict::{CompareVerdict, Judgement, Margins, Orientation, Reason, SuiteEntry, judge, judge_suite};

/// True when every value is finite and there is at least one.
pub(crate) fn usable(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite())
}

/// A sorted copy, by the total order of floats.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_by(f64::total_cmp);
    copy
}

/// Natural logarithms, or `None` when a value is not positive and finite.
pub(crate) fn logs(values: &[f64]) -> Option<Vec<f64>> {
    if !usable(values) || values.iter().any(|v| *v <= 0.0) {
        return None;
    }
    Some(values.iter().map(|v| v.ln()).collect())
}

#[cfg(test)]
mod properties;
