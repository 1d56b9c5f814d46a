//! Symbolic steps: what depends on results that are not there yet when a plan is made.
//!
//! Two kinds of blocks of phases repeat until a rule holds, a third ends early. The plan holds them out to their longest, each phase with its
//! [`Step`]; the runner of the plan leaves out what the rule makes superfluous, and records what became of the others. A rate in
//! per cent of a maximum ([`Rate::PercentOfMax`](crate::job::Rate::PercentOfMax)) is the fourth kind, and needs no step.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// When a block of phases has repeated enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// All phases of the block again, round after round, until they are steady.
    Steady(UntilSteady),
    /// The phase at other rates, until the highest that meets a goal is known.
    Rate(FindRate),
    /// Each phase of the block once, until one of them is slower than this (vdbench's `stopcurve`).
    Below(LatencyLimit),
    /// Each phase of the block once, until a job of one of them misses a service level of its own (tiles).
    Held,
}

/// The mean response time up to which the points of a curve are measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatencyLimit {
    /// A point whose mean is above it is the last one, nanoseconds.
    pub limit_ns: u64,
}

/// SNIA's rule over rounds, and where the search for it ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct UntilSteady {
    /// Rounds in the window.
    pub window_rounds: u32,
    /// Highest minus lowest round of the window at most, per cent of its mean.
    pub range_percent_max: f64,
    /// Rise or fall of the least-squares line over the window at most, per cent of its mean.
    pub excursion_percent_max: f64,
    /// Rounds at most; those of the last window then count, and are said not to be steady.
    pub rounds_max: u32,
}

impl Default for UntilSteady {
    /// The published rule: five rounds, range 20 %, excursion 10 %, at most 25 rounds.
    fn default() -> Self {
        UntilSteady { window_rounds: 5, range_percent_max: 20.0, excursion_percent_max: 10.0, rounds_max: 25 }
    }
}

/// The figure of a latency that a goal is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LatencyFigure {
    /// The mean.
    Mean,
    /// The value that this share of operations (0 to 1) does not exceed.
    Quantile(f64),
}

/// A search for the highest rate at which a latency stays below a limit.
///
/// First without a limit, then at the rate reached so, then halving the gap between the highest rate that met the goal and the
/// lowest that did not, until that gap is [`FindRate::gap_percent_max`] of the latter or [`FindRate::look_steps_max`] steps are done.
/// Then both rates again by turns, in six windows each, moved outwards where one of those comes out otherwise.
/// A rate meets the goal when the response time does and at least 98 % of the arrivals were completed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindRate {
    /// Which figure of the response time.
    pub figure: LatencyFigure,
    /// It must stay below this, nanoseconds.
    pub limit_ns: u64,
    /// Steps at most, the one without a limit not counted.
    pub steps_max: u32,
    /// See above.
    pub gap_percent_max: f64,
    /// The limits of the jobs in bytes, operations and passes hold for all steps together, and end the search (fio's
    /// `latency_target`). If not, each step has its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limits_together: bool,
}

/// Steps that look for the bounds of the answer: enough for a gap of 5 % at a twentieth of the maximum.
const LOOK_STEPS_MAX: u32 = 12;
/// Steps of a search where nothing else is said: room for two rates of six windows at each bound behind those that look.
const STEPS_MAX: u32 = LOOK_STEPS_MAX + 2 * 2 * 6;

impl FindRate {
    /// A search for the rate at which `figure` stays below `limit_ns`, with the usual number of steps.
    pub fn new(figure: LatencyFigure, limit_ns: u64) -> Self {
        FindRate { figure, limit_ns, steps_max: STEPS_MAX, gap_percent_max: 5.0, limits_together: false }
    }

    /// Steps at most that look for the bounds; those behind measure them.
    pub fn look_steps_max(&self) -> u32 {
        self.steps_max.min(LOOK_STEPS_MAX)
    }

    /// Steps at most, the one without a limit counted. Where all steps share one size, there are only those that look.
    pub fn windows_max(&self) -> u32 {
        let steps = if self.limits_together { self.look_steps_max() } else { self.steps_max };
        steps.saturating_add(1)
    }
}

impl FromStr for FindRate {
    type Err = String;

    /// `p99<5ms`, `p99.9<800us`, `mean<1ms`, `max<20ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a goal such as p99<5ms, p99.9<800us or mean<1ms");
        let (figure, limit) = text.split_once('<').ok_or_else(wrong)?;
        let figure = match figure.trim() {
            "mean" => LatencyFigure::Mean,
            "median" => LatencyFigure::Quantile(0.5),
            "max" => LatencyFigure::Quantile(1.0),
            percentile => {
                let digits = percentile.strip_prefix('p').ok_or_else(wrong)?;
                let percent: f64 = digits.parse().map_err(|_| wrong())?;
                if !(percent > 0.0 && percent < 100.0) {
                    return Err(format!(
                        "'{text}': there is no percentile {digits}; p50 to p99.99 make sense"
                    ));
                }
                LatencyFigure::Quantile(percent / 100.0)
            }
        };
        let limit = limit.trim_start_matches('=').trim();
        // A bare number is seconds elsewhere, which is not what is meant here.
        if limit.parse::<f64>().is_ok() {
            return Err(format!("'{text}': the limit needs a unit: ns, us, ms or s"));
        }
        let limit: Nanos = limit.parse().map_err(|_| wrong())?;
        if limit.0 == 0 {
            return Err(wrong());
        }
        Ok(FindRate::new(figure, limit.0))
    }
}

impl fmt::Display for FindRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            LatencyFigure::Mean => f.write_str("mean")?,
            LatencyFigure::Quantile(share) if share >= 1.0 => f.write_str("max")?,
            LatencyFigure::Quantile(share) => write!(f, "p{}", (share * 1e6).round() / 1e4)?,
        }
        write!(f, "<{}", Nanos(self.limit_ns).exactly())
    }
}

/// What a planned phase is in a block that repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index in the plan of the block's first phase.
    pub first: u32,
    /// Phases of the block in each round.
    pub phases: u32,
    /// Which round or step of the search, from 0.
    pub round: u32,
    /// When it ends.
    pub until: Until,
}

impl Step {
    /// Rounds or steps of the block at most.
    pub fn rounds_max(&self) -> u32 {
        self.until.rounds_max()
    }

    /// Index in the plan of the first phase behind the block.
    pub fn next_phase(&self) -> usize {
        self.first as usize + self.phases as usize * self.rounds_max() as usize
    }
}

impl Until {
    /// Rounds or steps at most.
    pub fn rounds_max(&self) -> u32 {
        match self {
            Until::Steady(steady) => steady.rounds_max.max(1),
            Until::Rate(find) => find.windows_max(),
            Until::Below(_) | Until::Held => 1,
        }
    }

    /// The rule in words.
    pub fn describe(&self) -> String {
        match self {
            Until::Steady(steady) => format!(
                "rounds until the last {} lie within {} % and their line moves at most {} %, at most {} rounds",
                steady.window_rounds,
                steady.range_percent_max,
                steady.excursion_percent_max,
                steady.rounds_max
            ),
            Until::Rate(find) => format!(
                "the highest rate with {find}, to {} % or in {} windows",
                find.gap_percent_max,
                find.windows_max()
            ),
            Until::Below(limit) => {
                format!("points until the mean response time is above {}", Nanos(limit.limit_ns))
            }
            Until::Held => "more tiles until one misses a service level".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_and_written() {
        let goal: FindRate = "p99<5ms".parse().unwrap();
        assert_eq!((goal.figure, goal.limit_ns), (LatencyFigure::Quantile(0.99), 5_000_000));
        assert_eq!("mean < 800us".parse::<FindRate>().unwrap().limit_ns, 800_000);
        for text in ["p99.9<800 us", "p50<1 ms", "mean<2 s", "max<3 ms"] {
            assert_eq!(text.parse::<FindRate>().unwrap().to_string(), text);
        }
        for text in ["", "p99", "p99>5ms", "p0<1ms", "p100<1ms", "99<1ms", "p99<5", "p99<0ms", "p99<x"] {
            assert!(text.parse::<FindRate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_knows_where_it_ends() {
        let until = Until::Steady(UntilSteady::default());
        let step = Step { first: 3, phases: 2, round: 0, until };
        assert_eq!((step.rounds_max(), step.next_phase()), (25, 53));
        let find: FindRate = "p99<5ms".parse().unwrap();
        let together = FindRate { limits_together: true, ..find };
        assert_eq!((Until::Rate(find).rounds_max(), Until::Rate(together).rounds_max()), (37, 13));
    }
}
