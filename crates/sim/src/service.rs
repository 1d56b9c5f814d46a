//! How long something takes: distributions of service times.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use assay_workload::rng::Rng;
use assay_workload::units::Nanos;

use crate::draw;
use crate::model::units;
use crate::normal::{normal_cdf, normal_quantile};

/// A time in a model: whole nanoseconds, or text with a unit (`"120us"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub u64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        units::time(deserializer).map(Time)
    }
}

/// A distribution of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Service {
    /// Always this long.
    Constant(Time),
    /// Exponential with this mean.
    Exponential(Time),
    /// Lognormal: the logarithm is normal with standard deviation `sigma`.
    Lognormal {
        /// Half of the times are below.
        median: Time,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Uniform.
    Uniform {
        /// Shortest.
        min: Time,
        /// Longest.
        max: Time,
    },
    /// Measured: times with the share of all times at or below each, both ascending, the last share 1; linear between
    /// them. All of the first share is at the first time.
    Empirical(Vec<(Time, f64)>),
}

impl Default for Service {
    fn default() -> Self {
        Service::ZERO
    }
}

impl Service {
    /// No time at all.
    pub const ZERO: Service = Service::Constant(Time(0));

    /// Whether it takes no time.
    pub fn is_zero(&self) -> bool {
        *self == Service::ZERO
    }

    /// What is wrong with its numbers, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match self {
            Service::Constant(_) | Service::Exponential(_) => None,
            Service::Lognormal { median, sigma } => (median.0 == 0 || !(0.0..=5.0).contains(sigma))
                .then_some("a lognormal needs a median above 0 and a sigma from 0 to 5"),
            Service::Uniform { min, max } => (min > max).then_some("min is above max"),
            Service::Empirical(points) => {
                let ascending =
                    points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
                let shares = points.first().is_some_and(|first| first.1 >= 0.0)
                    && points.last().is_some_and(|last| (last.1 - 1.0).abs() < 1e-9);
                (!ascending || !shares).then_some("times and shares must ascend, and the last share be 1")
            }
        }
    }

    /// One time in nanoseconds.
    #[inline]
    pub fn draw_ns(&self, rng: &mut Rng) -> u64 {
        match self {
            Service::Constant(time) => time.0,
            Service::Exponential(mean) => draw::whole_ns(draw::exponential(rng) * mean.0 as i64 as f64),
            _ => self.draw_other_ns(rng),
        }
    }

    /// The kinds that are not worth having at every place a time is drawn.
    #[inline(never)]
    fn draw_other_ns(&self, rng: &mut Rng) -> u64 {
        match self {
            Service::Constant(time) | Service::Exponential(time) => time.0,
            Service::Lognormal { median, sigma } => {
                draw::whole_ns(median.0 as i64 as f64 * (sigma * draw::normal(rng)).exp())
            }
            Service::Uniform { min, max } => min.0 + rng.below(max.0 - min.0 + 1),
            Service::Empirical(_) => draw::whole_ns(self.quantile_ns(rng.unit())),
        }
    }

    /// The mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Service::Constant(time) | Service::Exponential(time) => time.0 as f64,
            Service::Lognormal { median, sigma } => median.0 as f64 * (sigma * sigma / 2.0).exp(),
            Service::Uniform { min, max } => (min.0 + max.0) as f64 / 2.0,
            Service::Empirical(points) => {
                let first = points.first().map_or(0.0, |first| first.0.0 as f64 * first.1);
                let middle = |pair: &[(Time, f64)]| (pair[0].0.0 + pair[1].0.0) as f64 / 2.0;
                first + points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * middle(pair)).sum::<f64>()
            }
        }
    }

    /// The time in nanoseconds that the share `quantile` (0 to 1) of all times does not exceed: the truth that measured
    /// percentiles are compared with.
    pub fn quantile_ns(&self, quantile: f64) -> f64 {
        match self {
            Service::Constant(time) => time.0 as f64,
            Service::Exponential(mean) => -(1.0 - quantile).ln() * mean.0 as f64,
            Service::Lognormal { median, sigma } => {
                median.0 as f64 * (sigma * normal_quantile(quantile)).exp()
            }
            Service::Uniform { min, max } => min.0 as f64 + quantile * (max.0 - min.0) as f64,
            Service::Empirical(points) => {
                let above = points.partition_point(|point| point.1 < quantile);
                let Some(&(high, p_high)) = points.get(above) else {
                    return points.last().map_or(0.0, |last| last.0.0 as f64);
                };
                let Some(&(low, p_low)) = above.checked_sub(1).and_then(|below| points.get(below)) else {
                    return high.0 as f64;
                };
                low.0 as f64 + (quantile - p_low) / (p_high - p_low) * (high.0 - low.0) as f64
            }
        }
    }

    /// The share of all times at or below `time_ns`, 0 to 1.
    pub fn share_at_or_below(&self, time_ns: f64) -> f64 {
        match self {
            Service::Constant(time) => f64::from(u8::from(time_ns >= time.0 as f64)),
            Service::Exponential(mean) => 1.0 - (-time_ns / mean.0 as f64).exp(),
            Service::Lognormal { median, sigma } if *sigma > 0.0 => {
                normal_cdf((time_ns / median.0 as f64).ln() / sigma)
            }
            Service::Lognormal { median, .. } => f64::from(u8::from(time_ns >= median.0 as f64)),
            Service::Uniform { min, max } if min < max => {
                ((time_ns - min.0 as f64) / (max.0 - min.0) as f64).clamp(0.0, 1.0)
            }
            Service::Uniform { min, .. } => f64::from(u8::from(time_ns >= min.0 as f64)),
            Service::Empirical(points) => {
                let above = points.partition_point(|point| point.0.0 as f64 <= time_ns);
                let Some(&(low, p_low)) = above.checked_sub(1).and_then(|below| points.get(below)) else {
                    return 0.0;
                };
                let Some(&(high, p_high)) = points.get(above) else { return 1.0 };
                p_low + (time_ns - low.0 as f64) / (high.0 - low.0) as f64 * (p_high - p_low)
            }
        }
    }

    /// In words: `exponential, mean 100 us`.
    pub fn describe(&self) -> String {
        match self {
            Service::Constant(time) => Nanos(time.0).to_string(),
            Service::Exponential(mean) => format!("exponential, mean {}", Nanos(mean.0)),
            Service::Lognormal { median, sigma } => {
                format!("lognormal, median {}, sigma {sigma}", Nanos(median.0))
            }
            Service::Uniform { min, max } => format!("uniform, {} to {}", Nanos(min.0), Nanos(max.0)),
            Service::Empirical(points) => format!("empirical, {} points", points.len()),
        }
    }
}

/// A service as it is drawn from once for every visit: what is common costs no more than it must.
#[derive(Debug, Clone)]
pub(crate) enum Timing {
    Constant(u64),
    /// The mean, nanoseconds.
    Exponential(f64),
    Other(Box<Service>),
}

impl From<&Service> for Timing {
    fn from(service: &Service) -> Timing {
        match service {
            Service::Constant(time) => Timing::Constant(time.0),
            Service::Exponential(mean) => Timing::Exponential(mean.0 as f64),
            other => Timing::Other(Box::new(other.clone())),
        }
    }
}

impl Timing {
    /// One time in nanoseconds.
    #[inline(always)]
    pub(crate) fn draw_ns(&self, rng: &mut Rng) -> u64 {
        match self {
            Timing::Constant(ns) => *ns,
            Timing::Exponential(mean_ns) => draw::whole_ns(draw::exponential(rng) * mean_ns),
            Timing::Other(service) => service.draw_other_ns(rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Service> {
        vec![
            Service::Constant(Time(5_000)),
            Service::Exponential(Time(100_000)),
            Service::Lognormal { median: Time(80_000), sigma: 0.6 },
            Service::Uniform { min: Time(20_000), max: Time(40_000) },
            Service::Empirical(vec![
                (Time(50_000), 0.1),
                (Time(100_000), 0.9),
                (Time(900_000), 0.99),
                (Time(5_000_000), 1.0),
            ]),
        ]
    }

    /// Draws follow the distribution function: the share below each quantile is within five binomial deviations.
    #[test]
    fn draws_agree_with_quantiles_and_mean() {
        let n = 100_000_u32;
        for service in all().into_iter().skip(1) {
            let mut rng = Rng::new(9);
            let draws: Vec<f64> = (0..n).map(|_| service.draw_ns(&mut rng) as f64).collect();
            for quantile in [0.2, 0.5, 0.9, 0.99, 0.999] {
                let limit = service.quantile_ns(quantile);
                let below = draws.iter().filter(|&&time| time <= limit + 0.5).count() as f64 / f64::from(n);
                let deviation = (quantile * (1.0 - quantile) / f64::from(n)).sqrt();
                assert!((below - quantile).abs() < 5.0 * deviation, "{service:?} {quantile}: {below}");
            }
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            assert!((mean / service.mean_ns() - 1.0).abs() < 0.02, "{service:?}: {mean}");
        }
    }

    #[test]
    fn shares_invert_quantiles() {
        for service in all().into_iter().skip(1) {
            for quantile in [0.11, 0.5, 0.9, 0.995] {
                let share = service.share_at_or_below(service.quantile_ns(quantile));
                assert!((share - quantile).abs() < 1e-9, "{service:?}: {share} for {quantile}");
            }
        }
    }

    #[test]
    fn bad_numbers_are_named() {
        assert!(Service::Uniform { min: Time(2), max: Time(1) }.problem().is_some());
        assert!(Service::Lognormal { median: Time(0), sigma: 1.0 }.problem().is_some());
        assert!(Service::Empirical(vec![(Time(1), 0.5)]).problem().is_some());
        assert!(Service::Empirical(vec![]).problem().is_some());
        assert!(all().iter().all(|service| service.problem().is_none()));
    }
}
