//! What Assay stores as JSON. The first character says which of them the rest is.

use assay_results::baseline::{Baseline, builtins};
use assay_results::probe::{self, Probe};
use assay_results::{Run, RunEvent};
use assay_workload::Plan;
use serde_json::Value;

use crate::Grammar;
use crate::random::Random;
use crate::tree::{Seen, read_or_any};

const RUN: &str = include_str!("../seeds/stored/run");
const JOURNAL: &str = include_str!("../seeds/stored/journal");

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `run.json`.
    Run,
    /// `journal.jsonl`.
    Journal,
    /// A probe.
    Probe,
    /// A baseline.
    Baseline,
    /// `plan.json`.
    Plan,
}

impl Kind {
    /// All of them, by their characters.
    pub const ALL: [Kind; 5] = [Kind::Run, Kind::Journal, Kind::Probe, Kind::Baseline, Kind::Plan];

    /// The kind that the first byte of an input says.
    pub fn of(byte: u8) -> Kind {
        Self::ALL[usize::from(byte.wrapping_sub(b'0')) % Self::ALL.len()]
    }

    fn character(self) -> char {
        char::from(b'0' + Self::ALL.iter().position(|kind| *kind == self).unwrap_or(0) as u8)
    }
}

/// A text as a value: a journal is the list of its lines.
fn read(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Journal if text.is_empty() => None,
        Kind::Journal => text.lines().map(|line| serde_json::from_str::<Value>(line).ok()).collect(),
        _ => serde_json::from_str(text).ok(),
    }
}

fn write(kind: Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Journal, Value::Array(lines)) => lines.iter().map(|line| format!("{line}\n")).collect(),
        _ => value.to_string(),
    }
}

fn value_of(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).expect("what is stored is JSON")
}

/// Texts of one kind.
#[derive(Debug)]
pub struct Stored {
    kind: Kind,
    seen: Seen,
}

impl Stored {
    /// Texts of `kind`.
    pub fn new(kind: Kind) -> Self {
        let seed = |kind, text: &str| read(kind, &text[1..]).expect("a seed is of its kind");
        let seen = match kind {
            Kind::Run => vec![seed(Kind::Run, RUN)],
            Kind::Journal => vec![seed(Kind::Journal, JOURNAL)],
            Kind::Probe => vec![value_of(&Probe { schema: probe::SCHEMA.to_owned(), ..Probe::default() })],
            Kind::Baseline => builtins().iter().map(value_of).collect(),
            Kind::Plan => vec![seed(Kind::Run, RUN)["plan"].clone()],
        };
        Stored { kind, seen: Seen::of(seen) }
    }
}

impl Grammar for Stored {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut value = read_or_any(read(self.kind, text.get(1..).unwrap_or("")), &self.seen, random);
        self.seen.change(&mut value, random);
        format!("{}{}", self.kind.character(), write(self.kind, &value))
    }

    fn accepts(&self, text: &str) -> bool {
        let text = text.get(1..).unwrap_or("");
        match self.kind {
            Kind::Run => serde_json::from_str::<Run>(text).is_ok(),
            // The first line names the format.
            Kind::Journal => {
                text.starts_with("{\"journal\":\"assay.journal/1")
                    && text.lines().skip(1).all(|line| serde_json::from_str::<RunEvent>(line).is_ok())
            }
            Kind::Probe => serde_json::from_str::<Probe>(text).is_ok(),
            Kind::Baseline => serde_json::from_str::<Baseline>(text).is_ok(),
            Kind::Plan => serde_json::from_str::<Plan>(text).is_ok_and(|plan| plan.check().is_ok()),
        }
    }
}
