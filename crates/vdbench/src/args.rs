//! Typed access to the values of one parameter; every wrong value becomes an error with its place.

use assay_formats::Affects;
use assay_workload::host::{LOGIN_HELP, login_fault};

use super::number::Number;
use super::ranges::Value;
use super::sink::{At, Sink};

/// One parameter with its values, and where to complain.
pub(crate) struct Args<'a> {
    /// The full keyword.
    pub(crate) name: &'static str,
    pub(crate) at: At,
    pub(crate) values: Vec<Value>,
    pub(crate) sink: &'a mut Sink,
}

impl Args<'_> {
    /// The first value as written.
    pub(crate) fn word(&self) -> String {
        self.values.first().map(|v| v.word.text.clone()).unwrap_or_default()
    }

    /// The first value in lower case.
    pub(crate) fn lower(&self) -> String {
        self.word().to_ascii_lowercase()
    }

    /// The first value as a word of a login.
    pub(crate) fn login(&mut self) -> Option<String> {
        let word = self.word();
        match login_fault(&word) {
            None => Some(word),
            Some(why) => self.refuse(0, why, LOGIN_HELP),
        }
    }

    /// All values as written.
    pub(crate) fn words(&self) -> Vec<String> {
        self.values.iter().map(|v| v.word.text.clone()).collect()
    }

    /// Reports a value that breaks a rule.
    pub(crate) fn reject(&mut self, value: usize, rule: &str, help: &str) {
        let (at, word) = match self.values.get(value) {
            Some(v) => (v.word.at, v.word.text.clone()),
            None => (self.at, String::new()),
        };
        let message = format!("`{}={}`: {rule}", self.name, super::sink::shorten(&word));
        self.sink.error("bad-value", at, &word, message, help);
    }

    /// As [`Args::reject`], where there is nothing to go on with.
    pub(crate) fn refuse<T>(&mut self, value: usize, rule: &str, help: &str) -> Option<T> {
        self.reject(value, rule, help);
        None
    }

    /// Reports that a parameter is understood but has no effect here, so that another test is run.
    pub(crate) fn lose(&mut self, id: &'static str, lost: &str, instead: &str) {
        self.lost(id, Affects::Test, lost, instead);
    }

    /// As [`Args::lose`], of a parameter that only reports or watches: the same I/O is done without it.
    pub(crate) fn lose_report(&mut self, id: &'static str, lost: &str, instead: &str) {
        self.lost(id, Affects::Report, lost, instead);
    }

    /// As [`Args::lose`], of a parameter that affects this.
    pub(crate) fn lost(&mut self, id: &'static str, affects: Affects, lost: &str, instead: &str) {
        let word = self.word();
        let message = format!("`{}={}`: {lost}", self.name, super::sink::shorten(&word));
        self.sink.loss(id, affects, self.at, &word, message, instead);
    }

    /// Says something about the value that the reader should know.
    pub(crate) fn note(&mut self, id: &'static str, message: impl Into<String>, help: &str) {
        let word = self.word();
        self.sink.note(id, self.at, &word, message, help);
    }

    /// All values as numbers.
    pub(crate) fn numbers(&mut self) -> Option<Vec<Number>> {
        let numbers: Option<Vec<Number>> = self.values.iter().map(|v| v.number).collect();
        if numbers.is_none() {
            let bad = self.values.iter().position(|v| v.number.is_none()).unwrap_or(0);
            self.reject(bad, "not a number", "units are k, m, g, t, h and %");
        }
        numbers
    }

    /// The only value as a number within bounds.
    pub(crate) fn number(&mut self, low: f64, high: f64) -> Option<f64> {
        if self.values.len() > 1 {
            return self.refuse(1, "one value is expected", "remove the list");
        }
        let number = self.numbers()?.first().copied()?;
        if number.percent {
            let message =
                format!("`{}=` takes a plain number; vdbench reads a percent sign as a minus", self.name);
            self.note("percent-sign", message, "remove the %");
        }
        if !(low..=high).contains(&number.value) {
            let rule =
                format!("must be between {} and {}", super::number::show(low), super::number::show(high));
            return self.refuse(0, &rule, "choose a value in that range");
        }
        Some(number.value)
    }

    /// The only value as a whole number within bounds; decimals are cut off, as the language does.
    pub(crate) fn whole(&mut self, low: u64, high: u64) -> Option<u64> {
        let number = self.number(low as f64, high as f64)?;
        Some(to_u64(number))
    }

    /// `n` or `(n,m)`, which divides n over m.
    pub(crate) fn divided(&mut self) -> Option<f64> {
        let numbers = self.numbers()?;
        match numbers[..] {
            [n] if n.value >= 0.0 => Some(n.value),
            [n, m] if n.value >= 0.0 && m.value > 0.0 => Some(n.value / m.value),
            _ => self.refuse(0, "expected `n` or `(n,m)` with m above 0", "write size=10g or size=(10g,4)"),
        }
    }

    /// yes or no, in the spellings the language takes.
    pub(crate) fn yes(&mut self) -> Option<bool> {
        match self.lower().as_str() {
            "yes" | "y" | "on" | "true" => Some(true),
            "no" | "n" | "off" | "false" => Some(false),
            _ => self.refuse(0, "expected `yes` or `no`", "write yes or no"),
        }
    }
}

/// A non-negative number as an integer, saturating.
pub(crate) fn to_u64(value: f64) -> u64 {
    value as u64
}
