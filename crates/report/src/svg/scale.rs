//! From values to coordinates, and where to put ticks.

/// How values become a place between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal differences, equal distances.
    Linear {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// Equal ratios, equal distances. Both ends above 0.
    Log {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
}

impl Scale {
    /// A linear scale from 0 to a round number at or above every value.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if high > 0.0 { high } else { 1.0 };
        let step = nice_step(high, 4);
        Scale::Linear { low: 0.0, high: (high / step).ceil() * step }
    }

    /// A log scale around all values above 0, at least one decade wide.
    pub fn around(values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) =
            usable.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
        if high <= 0.0 {
            return Scale::Log { low: 1.0, high: 10.0 };
        }
        let (low, high) = (round_down(low), round_up(high));
        if high / low >= 10.0 { Scale::Log { low, high } } else { Scale::Log { low, high: low * 10.0 } }
    }

    /// The place of a value: 0 at the low end, 1 at the high end, never outside.
    pub fn place(&self, value: f64) -> f64 {
        let place = match *self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            Scale::Log { low, high } => (value.max(f64::MIN_POSITIVE) / low).ln() / (high / low).ln(),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// Where ticks go.
    pub fn ticks(&self) -> Vec<f64> {
        match *self {
            Scale::Linear { low, high } => nice_ticks(low, high, 4),
            Scale::Log { low, high } => log_ticks(low, high, 6),
        }
    }
}

/// The largest of 1, 2, 5 times a power of ten at or below `value`, which is above 0.
fn round_down(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [5.0, 2.0].into_iter().find(|step| decade * step <= value);
    (decade * steps.unwrap_or(1.0)).max(f64::MIN_POSITIVE)
}

/// The smallest of 1, 2, 5 times a power of ten at or above `value`.
fn round_up(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| decade * step >= value * (1.0 - 1e-12));
    (decade * steps.unwrap_or(10.0)).min(f64::MAX / 10.0)
}

/// The step of 1, 2, 2.5 or 5 times a power of ten that cuts `span` into about `count` parts.
fn nice_step(span: f64, count: u32) -> f64 {
    let rough = span / f64::from(count.max(1));
    if !rough.is_finite() || rough <= 0.0 {
        return 1.0;
    }
    let decade = 10_f64.powf(rough.log10().floor()).max(f64::MIN_POSITIVE);
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| decade * step >= rough * (1.0 - 1e-9));
    decade * steps.unwrap_or(10.0)
}

/// Round values from `low` to `high`, about `count` of them, never more than three times as many.
pub fn nice_ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let step = nice_step(high - low, count);
    let first = (low / step).ceil();
    let ticks = (0..3 * count.max(1)).map(|index| (first + f64::from(index)) * step);
    ticks.take_while(|tick| tick.is_finite() && *tick <= high + step * 1e-9).collect()
}

/// Round values on a log scale: 1, 2, 5 of each decade if there is room for that, else powers of ten, at most about
/// `count` of them.
pub fn log_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    if !first.is_finite() || !last.is_finite() || last <= first {
        return Vec::new();
    }
    let decades = last - first;
    let inside = |tick: &f64| *tick >= low * (1.0 - 1e-9) && *tick <= high * (1.0 + 1e-9);
    let of_each = |steps: &[f64]| -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut exponent = first;
        while exponent <= last && ticks.len() < 400 {
            ticks.extend(steps.iter().map(|step| step * 10_f64.powf(exponent)).filter(inside));
            exponent += 1.0;
        }
        ticks
    };
    for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0][..]] {
        let ticks = of_each(steps);
        if ticks.len() <= count {
            return ticks;
        }
    }
    let stride = (decades / count.max(1) as f64).ceil().max(1.0);
    of_each(&[1.0]).into_iter().step_by(stride as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(nice_ticks(0.0, 100.0, 4), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(nice_ticks(0.0, 7.0, 4), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(log_ticks(1.0, 1000.0, 5), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(10.0, 100.0, 6), [10.0, 20.0, 50.0, 100.0]);
    }

    #[test]
    fn a_scale_from_zero_ends_at_a_round_number() {
        assert_eq!(Scale::from_zero([3.0, 61_234.0].into_iter()), Scale::Linear { low: 0.0, high: 80_000.0 });
        assert_eq!(Scale::from_zero([].into_iter()), Scale::Linear { low: 0.0, high: 1.0 });
    }

    #[test]
    fn a_log_scale_spans_a_decade() {
        assert_eq!(Scale::around([150.0].into_iter()), Scale::Log { low: 100.0, high: 1000.0 });
        assert_eq!(Scale::around([150.0, 2400.0].into_iter()), Scale::Log { low: 100.0, high: 5000.0 });
        assert!((Scale::Log { low: 1.0, high: 100.0 }.place(10.0) - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn places_and_ticks_are_within(values in prop::collection::vec(prop_oneof![0.0..1e9_f64, Just(f64::MAX), Just(0.0)], 0..5)) {
            for scale in [Scale::from_zero(values.iter().copied()), Scale::around(values.iter().copied())] {
                let ticks = scale.ticks();
                prop_assert!(ticks.len() <= 12, "{:?}", ticks);
                for value in values.iter().chain(&ticks) {
                    let place = scale.place(*value);
                    prop_assert!((0.0..=1.0).contains(&place));
                }
            }
        }
    }
}
