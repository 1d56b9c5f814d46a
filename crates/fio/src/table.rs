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
    /// Anything: an option of an engine that does not run here, or one that fio refuses.
    Any,
}

/// What some options decide together: `rules` says how, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// What does the I/O, and how much of it at once.
    Engine,
    /// Which operation, how large, and where.
    Access,
    /// How fast, with which pauses.
    Pace,
    /// How long.
    Limits,
    /// What is written.
    Content,
    /// How writes reach the medium.
    Flush,
    /// Which errors do not end the job.
    Errors,
    /// Whether the job ends when it is steady.
    Steady,
    /// Which jobs run beside and behind each other: made of all sections together.
    Order,
    /// Which part of the files.
    Region,
    /// Which file next.
    Files,
    /// The search for a load that keeps a latency: it concerns the phase.
    Search,
}

impl Rule {
    /// All of them, in the order in which options are written.
    pub(super) const ALL: [Rule; 12] = [
        Rule::Engine,
        Rule::Access,
        Rule::Pace,
        Rule::Limits,
        Rule::Content,
        Rule::Flush,
        Rule::Errors,
        Rule::Steady,
        Rule::Order,
        Rule::Region,
        Rule::Files,
        Rule::Search,
    ];

    /// What it decides, for a message.
    pub(super) fn decides(self) -> &'static str {
        match self {
            Rule::Engine => "what does the I/O",
            Rule::Access => "where I/O goes",
            Rule::Pace => "the pace",
            Rule::Limits => "how long the job lasts",
            Rule::Content => "what is written",
            Rule::Flush => "how writes reach the medium",
            Rule::Errors => "which errors end the job",
            Rule::Steady => "when the job is steady",
            Rule::Order => "which jobs run together",
            Rule::Region => "which part of the files is used",
            Rule::Files => "which files are used",
            Rule::Search => "the load that is looked for",
        }
    }
}

/// What becomes of an option.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// It means here what it means in fio, or what differs is said: this rule asks for it.
    Rule(Rule),
    /// It changes nothing about the measured load; the text says why.
    Inert(&'static str),
    /// It is lost.
    Lost {
        /// What does not happen.
        what: &'static str,
        /// The nearest equivalent.
        instead: &'static str,
    },
    /// fio itself refuses it; the text says what took its place.
    Refused(&'static str),
}

/// An option is lost: what does not happen, and the nearest equivalent.
pub(super) const fn lost(what: &'static str, instead: &'static str) -> Effect {
    Effect::Lost { what, instead }
}

/// One option.
#[derive(Clone, Copy)]
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
    pub(super) effect: Effect,
    /// Lines of a job in which it does something, its own the last; empty: what its shape suggests.
    pub(super) sample: &'static str,
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

    /// Sets lines of a job in which the option does something, its own the last.
    pub(super) const fn sample(mut self, lines: &'static str) -> Self {
        self.sample = lines;
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

/// An option: its name, its shape, and what becomes of it.
pub(super) const fn option(name: &'static str, kind: Kind, effect: Effect) -> Entry {
    let affects = Affects::Test;
    Entry { name, aliases: &[], kind, min: 0, max: i64::MAX, neutral: &[], affects, effect, sample: "" }
}

/// The words of a text, which are `N`.
pub(super) const fn words<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut rest, mut index) = (text, 0);
    while index < N {
        let mut end = 0;
        while end < rest.len() && rest.as_bytes()[end] != b' ' {
            end += 1;
        }
        (all[index], rest) = rest.split_at(end);
        if !rest.is_empty() {
            rest = rest.split_at(1).1;
        }
        index += 1;
    }
    assert!(rest.is_empty() && !all[N - 1].is_empty(), "there are as many words as places");
    all
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
#[derive(Clone, Copy)]
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
        .filter(|entry| !matches!(entry.effect, Effect::Refused(_)))
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
mod tests;
