//! What the parser knows of one option: its name, the shape of its value and what becomes of it.

use assay_formats::Affects;

pub(super) use super::table_data::OPTIONS;
use super::table_engines::ENGINES;

/// The shape of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The rest of the line; must not be empty.
    Text,
    /// The rest of the line, which may be empty or missing.
    OptionalText,
    /// Bare, or a number whose truth counts.
    Flag,
    /// 0 or 1, required.
    Bool,
    /// A number with byte units; the first piece of a list counts.
    Int,
    /// As `Int`, but fio's callback sees every piece, so the last one stays.
    LastInt,
    /// Up to three numbers: read, write, trim.
    Triple,
    /// Bytes, percent or zones; the last piece stays.
    Size,
    /// A time; bare numbers are seconds if set, else microseconds.
    Time {
        /// Unit of a bare number.
        seconds: bool,
    },
    /// `low-high` in time units, bare numbers in seconds.
    TimeSpan,
    /// `low-high` in bytes.
    ByteSpan,
    /// Up to three `low-high` in bytes: read, write, trim.
    Ranges,
    /// One of these words, perhaps followed by `:more`.
    Word(&'static [&'static str]),
    /// Some of these words, comma separated, perhaps followed by `:number`.
    Words(&'static [&'static str]),
    /// Numbers separated by colons.
    Floats,
    /// `bytes/percent:...` per direction.
    Split,
    /// A random distribution with its parameters.
    Distribution,
    /// File names separated by colons; lines add up.
    Files,
    /// Bytes to repeat over a buffer.
    Pattern,
    /// `0,2-5`.
    Cpus,
    /// `read,write,verify` groups of error names separated by colons.
    ErrorGroups,
    /// `metric:limit` of the steady state detection.
    Steady,
    /// Anything: an option of an engine that does not run here.
    Any,
    /// fio itself refuses it; the text says what took its place.
    Refused(&'static str),
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It means here what it means in fio.
    Honoured,
    /// It changes nothing about the measured load; the text says why.
    Moot(&'static str),
    /// It is lost.
    Lost {
        /// What does not happen.
        lost: &'static str,
        /// The nearest equivalent.
        instead: &'static str,
    },
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// The canonical name.
    pub(super) name: &'static str,
    /// Other names.
    pub(super) aliases: &'static [&'static str],
    /// The shape of the value.
    pub(super) kind: Kind,
    /// Smallest allowed number.
    pub(super) min: i64,
    /// Largest allowed number.
    pub(super) max: i64,
    /// Values, as written, at which the option asks for nothing, so that nothing is lost.
    pub(super) neutral: &'static [&'static str],
    /// What it is for: what is lost where it, or some values of it, are not honoured.
    pub(super) affects: Affects,
    /// What becomes of it.
    pub(super) status: Status,
}

impl Entry {
    /// Whether `word` names this option.
    pub(super) fn is_named(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word)
    }

    /// Sets other names.
    pub(super) const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets the allowed range.
    pub(super) const fn range(mut self, min: i64, max: i64) -> Self {
        self.min = min;
        self.max = max;
        self
    }

    /// Sets the smallest allowed number.
    pub(super) const fn min(mut self, min: i64) -> Self {
        self.min = min;
        self
    }

    /// Marks an option without effect here.
    pub(super) const fn moot(mut self, why: &'static str) -> Self {
        self.status = Status::Moot(why);
        self
    }

    /// Marks an option that is lost.
    pub(super) const fn lost(mut self, lost: &'static str, instead: &'static str) -> Self {
        self.status = Status::Lost { lost, instead };
        self
    }

    /// Marks an option that changes nothing of what is tested: the same I/O is done and checked without it.
    pub(super) const fn reporting(mut self) -> Self {
        self.affects = Affects::Report;
        self
    }

    /// Sets the values at which nothing is lost.
    pub(super) const fn unless(mut self, neutral: &'static [&'static str]) -> Self {
        self.neutral = neutral;
        self
    }
}

/// An honoured option with a name and a shape.
pub(super) const fn option(name: &'static str, kind: Kind) -> Entry {
    Entry {
        name,
        aliases: &[],
        kind,
        min: 0,
        max: i64::MAX,
        neutral: &[],
        affects: Affects::Test,
        status: Status::Honoured,
    }
}

/// What becomes of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EngineFate {
    /// Runs here under this name.
    Native(&'static str),
    /// The nearest native engine does the same I/O in another way; the text says what differs.
    Nearest(&'static str, &'static str),
    /// Does not run here; the text says what to do.
    Foreign(&'static str),
}

/// One ioengine.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineEntry {
    /// fio's name.
    pub(super) name: &'static str,
    /// Its private options.
    pub(super) options: &'static [Entry],
    /// Whether a queue is kept: elsewhere iodepth stays 1.
    pub(super) asynchronous: bool,
    /// What becomes of it.
    pub(super) fate: EngineFate,
}

/// Finds a core option by name or alias.
pub(super) fn core(word: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.is_named(word))
}

/// What is lost where a core option, or a value of it, is not honoured.
pub(super) fn affects(option: &str) -> Affects {
    core(option).map_or(Affects::Test, |entry| entry.affects)
}

/// Finds an engine by fio's name. fio takes any name that begins like these for libaio.
pub(super) fn engine(name: &str) -> Option<&'static EngineEntry> {
    let name = if name.starts_with("linuxaio") || name.starts_with("aio") { "libaio" } else { name };
    ENGINES.iter().find(|entry| entry.name == name)
}

/// All names an option of a job with this engine may have, for suggestions.
pub(super) fn names(engine: Option<&'static EngineEntry>) -> impl Iterator<Item = &'static str> {
    let private = engine.map_or(&[][..], |engine| engine.options);
    OPTIONS
        .iter()
        .chain(private)
        .filter(|entry| !matches!(entry.kind, Kind::Refused(_)))
        .flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied()))
}

/// Engines with an option of this name: for a hint when the engine was not named in time.
pub(super) fn engines_with(option: &str) -> Vec<&'static str> {
    ENGINES
        .iter()
        .filter(|engine| engine.options.iter().any(|entry| entry.is_named(option)))
        .map(|engine| engine.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_within_core_and_within_an_engine() {
        let mut seen = BTreeSet::new();
        for entry in OPTIONS {
            assert!(seen.insert(entry.name), "{}", entry.name);
            for alias in entry.aliases {
                assert!(seen.insert(alias), "{alias}");
            }
        }
        for engine in ENGINES {
            let mut own = BTreeSet::new();
            for entry in engine.options {
                assert!(own.insert(entry.name), "{} {}", engine.name, entry.name);
                assert!(core(entry.name).is_none(), "{} {}", engine.name, entry.name);
            }
        }
    }

    #[test]
    fn every_lost_option_says_what_is_lost() {
        let all = OPTIONS.iter().chain(ENGINES.iter().flat_map(|engine| engine.options));
        for entry in all {
            if let Status::Lost { lost, .. } = entry.status {
                assert!(lost.len() > 10, "{}", entry.name);
            }
            assert!(entry.min <= entry.max, "{}", entry.name);
        }
    }
}
