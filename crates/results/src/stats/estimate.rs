//! A number with what belongs to it: how many values it rests on, its unit and its interval.

use serde::{Deserialize, Serialize};

/// An interval meant to cover the true value with 95 % confidence, and the confidence it really reaches.
///
/// With few values the exact methods cannot reach 95 %: the interval is then the widest they have, and
/// `level` says what that is worth (five values give minimum to maximum at 93.75 % for a median).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval95 {
    /// Lower end, in the unit of the estimate; the end itself belongs to the interval.
    pub low: f64,
    /// Upper end, in the unit of the estimate; the end itself belongs to the interval.
    pub high: f64,
    /// Confidence reached, a share of one. Below 0.95 means that there were too few values.
    pub level: f64,
}

impl Interval95 {
    /// True when the confidence reached is at least 95 %.
    #[must_use]
    pub fn reaches_95(&self) -> bool {
        self.level >= 0.95 - 1e-12
    }

    /// True when `value` is inside, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// For the interval of a ratio: true when it reaches 95 % and lies within `1 / (1 + margin)` to `1 + margin`
    /// (two one-sided tests at 2.5 %, Schuirmann 1987).
    #[must_use]
    pub fn shows_equivalence(&self, margin: f64) -> bool {
        self.reaches_95() && self.low >= 1.0 / (1.0 + margin) && self.high <= 1.0 + margin
    }

    /// High minus low, in the unit of the estimate.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// The same interval after an increasing function, such as `exp` on an interval of logarithms.
    #[must_use]
    pub(crate) fn map(self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { low: increasing(self.low), high: increasing(self.high), level: self.level }
    }
}

/// A value with the number of runs behind it, its unit and, where one exists, its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The value, in `unit`.
    pub value: f64,
    /// Number of independent values behind it (runs; pairs of runs for a paired figure; the smaller side of a
    /// two-sided comparison).
    pub n: u64,
    /// Interval around it; `None` when the values are too few for any.
    pub interval: Option<Interval95>,
    /// Unit of the value: "IOPS", "ns", "ratio".
    pub unit: String,
}

impl Estimate {
    /// An estimate without an interval, for a single run.
    #[must_use]
    pub fn single(value: f64, unit: impl Into<String>) -> Self {
        Self { value, n: 1, interval: None, unit: unit.into() }
    }

    /// Half the width of the interval as a share of the value, where both exist and the value is not zero.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        (self.value != 0.0).then(|| interval.width() / 2.0 / self.value.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalence_needs_the_margin_and_the_level() {
        let interval = Interval95 { low: 0.953, high: 1.049, level: 0.96 };
        assert!(interval.shows_equivalence(0.05));
        assert!(!Interval95 { low: 0.951, ..interval }.shows_equivalence(0.05), "1 / 1.05 is 0.9524");
        assert!(!Interval95 { high: 1.051, ..interval }.shows_equivalence(0.05));
        assert!(!Interval95 { level: 0.9, ..interval }.shows_equivalence(0.05));
    }

    #[test]
    fn relative_half_width_needs_an_interval_and_a_value() {
        let mut estimate = Estimate::single(-200.0, "IOPS");
        assert_eq!(estimate.relative_half_width(), None);
        estimate.interval = Some(Interval95 { low: -210.0, high: -190.0, level: 0.96 });
        assert_eq!(estimate.relative_half_width(), Some(0.05));
        estimate.value = 0.0;
        assert_eq!(estimate.relative_half_width(), None);
    }
}
