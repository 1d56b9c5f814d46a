//! A finding while it is put together, and the words that findings have in common.

use serde_json::Value;

use assay_workload::SweepPoint;

use crate::run::{Effect, Finding, FindingSeverity};

/// A finding in the making. Ends with [`Draft::advise`].
#[derive(Debug)]
pub(super) struct Draft(Finding);

impl Draft {
    /// A finding about the whole run.
    pub(super) fn new(check: &str, severity: FindingSeverity, message: impl Into<String>) -> Self {
        Draft(Finding {
            id: check.to_owned(),
            severity,
            phase: None,
            repeat: None,
            job: None,
            message: message.into(),
            bias: None,
            effect: None,
            evidence: serde_json::Map::new(),
            advice: String::new(),
        })
    }

    pub(super) fn of_phase(mut self, phase: &str) -> Self {
        self.0.phase = Some(phase.to_owned());
        self
    }

    /// At a point of a curve or sweep. People and programs find it in the evidence, as `point`.
    pub(super) fn of_point(self, point: &SweepPoint) -> Self {
        if point.is_none() { self } else { self.evidence("point", point.as_str()) }
    }

    /// One of several repetitions of its phase, counted from 0.
    pub(super) fn of_repeat(mut self, repeat: Option<u32>) -> Self {
        self.0.repeat = repeat;
        self
    }

    pub(super) fn of_job(mut self, job: &str) -> Self {
        self.0.job = Some(job.to_owned());
        self
    }

    /// What it may do to the numbers, in words.
    pub(super) fn bias(self, bias: impl Into<String>) -> Self {
        self.maybe_bias(Some(bias.into()))
    }

    /// The same where it can be stated.
    pub(super) fn maybe_bias(mut self, bias: Option<String>) -> Self {
        self.0.bias = bias;
        self
    }

    /// The same in numbers, where it is of the quoted figure and its size is known: it decides the severity.
    pub(super) fn effect(mut self, effect: Option<Effect>) -> Self {
        self.0.effect = effect;
        self
    }

    /// A number or word the message rests on. Numbers that are not finite are left out: JSON has none.
    pub(super) fn evidence(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if !value.is_null() {
            self.0.evidence.insert(name.to_owned(), value);
        }
        self
    }

    /// What to do about it.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.0.advice = advice.into();
        self.0
    }
}

/// A share of 1 in per cent: `0.4 %`, `7 %`, `100 %`. What is not all of it does not read as all.
pub(super) fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round() / 10.0;
    if (0.99..1.0).contains(&share) {
        return format!("{:.1} %", (share * 1000.0).floor() / 10.0);
    }
    if tenths.abs() < 10.0 && tenths != tenths.round() {
        format!("{tenths:.1} %")
    } else {
        format!("{tenths:.0} %")
    }
}

/// `IOPS 0-7 % high` for a share by which the figure may be too high.
pub(super) fn iops_high(share: f64) -> String {
    if share > 10.0 {
        format!("IOPS up to {:.0} times too high", share + 1.0)
    } else {
        format!("IOPS 0-{} high", percent(share))
    }
}

/// From here on a figure that is low is told by how many times as much there would be: `164 % low` means nothing to anybody.
const TIMES_MIN: f64 = 0.5;
/// A bound of more than this factor is of no use.
const TIMES_MAX: f64 = 100.0;

/// What an [`Effect`] that is low by `more`, a share of the figure, is in words: `IOPS 0-7 % low`,
/// `IOPS low: without it up to 2.6 times as many`.
pub fn iops_low(more: f64) -> String {
    match more + 1.0 {
        times if times <= 1.0 + TIMES_MIN => format!("IOPS 0-{} low", percent(more)),
        times if times < 9.95 => format!("IOPS low: without it up to {times:.1} times as many"),
        times if times <= TIMES_MAX => format!("IOPS low: without it up to {times:.0} times as many"),
        _ => "IOPS low by far".to_owned(),
    }
}

/// An effect of one direction in words.
pub(super) fn iops_off(effect: Effect) -> String {
    if effect.low < 0.0 { iops_low(-effect.low) } else { iops_high(effect.high) }
}

/// With a share s of the CPU time lost, up to s / (1 - s) more would have been done in it. What else a thread loses when it is
/// taken off its CPU cannot be told from here, so that this is no upper bound.
pub(super) fn lost_cpu_time(share: f64) -> String {
    format!("{}{OR_MORE}", iops_low(more_without(share)))
}

/// What is said behind a bound that time alone gives.
pub(super) const OR_MORE: &str = ", or more where CPU caches went cold meanwhile";

/// What a share s of the time lost, or of the device taken, means: up to s / (1 - s) more.
pub(super) fn lost(share: f64) -> Option<Effect> {
    Effect::low(more_without(share))
}

/// The same in words.
pub(super) fn iops_lost(share: f64) -> String {
    iops_low(more_without(share))
}

fn more_without(share: f64) -> f64 {
    share / (1.0 - share).max(0.0)
}

/// What a share s served at no cost means: the storage alone does 1 - s of the figure.
pub(super) fn served(share: f64) -> Option<Effect> {
    Effect::high(share / (1.0 - share).max(0.0))
}

/// The same in words. Where the storage served next to nothing there is no bound, and `instead` says whose figure it is.
pub(super) fn iops_served(share: f64, instead: &str) -> String {
    match served(share) {
        Some(effect) if effect.high < Effect::UNBOUNDED => iops_high(effect.high),
        _ => unbounded(instead),
    }
}

/// What is said of a figure that is high by [`Effect::UNBOUNDED`].
pub(super) fn unbounded(instead: &str) -> String {
    format!("IOPS high without bound: {instead}")
}

/// Time in a few characters: `340 ns`, `12 µs`, `3.5 ms`, `2 s`.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let tenths = (value * 10.0).round() / 10.0;
    if tenths < 10.0 && tenths != tenths.round() {
        format!("{tenths:.1} {unit}")
    } else {
        format!("{tenths:.0} {unit}")
    }
}

/// `1 job`, `2 jobs`.
pub(super) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_numbers() {
        assert_eq!([0.004, 0.07, 0.0999, 1.0].map(percent), ["0.4 %", "7 %", "10 %", "100 %"]);
        assert_eq!([340.0, 12_000.0, 3.51e6, 2e9].map(time), ["340 ns", "12 µs", "3.5 ms", "2 s"]);
        assert_eq!(iops_high(0.07), "IOPS 0-7 % high");
        assert_eq!(iops_high(99.0), "IOPS up to 100 times too high");
        assert_eq!(iops_low(0.25), "IOPS 0-25 % low");
        assert_eq!(iops_low(1.64), "IOPS low: without it up to 2.6 times as many");
        assert_eq!(iops_low(11.0), "IOPS low: without it up to 12 times as many");
        assert_eq!(iops_lost(1.0), "IOPS low by far");
        assert_eq!(iops_served(0.98, "x"), "IOPS up to 50 times too high");
        assert_eq!(
            iops_served(1.0, "no storage was measured"),
            "IOPS high without bound: no storage was measured"
        );
        assert_eq!(count(1, "job") + &count(3, "job"), "1 job3 jobs");
    }

    #[test]
    fn evidence_that_is_no_number_is_left_out() {
        let draft =
            Draft::new("x", FindingSeverity::Info, "m").evidence("bad", f64::NAN).evidence("good", 1.5);
        assert_eq!(draft.advise("").evidence.keys().collect::<Vec<_>>(), ["good"]);
    }
}
