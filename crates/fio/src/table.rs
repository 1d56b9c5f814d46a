//! What the parser knows of one option: its name, the shape of its value and what becomes of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assay_formats::Affects;
use assay_workload::FileOperation;
use serde::Deserialize;

/// The shape of a value.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// A time; bare numbers are seconds.
    Seconds,
    /// A time; bare numbers are microseconds.
    Micros,
    /// `low-high` in time units, bare numbers in seconds.
    TimeSpan,
    /// `low-high` in bytes.
    ByteSpan,
    /// Up to three `low-high` in bytes: read, write, trim.
    Ranges,
    /// One of these words, perhaps followed by `:more`.
    Word(#[serde(borrow)] Vec<&'static str>),
    /// Some of these words, comma separated, perhaps followed by `:number`.
    Words(#[serde(borrow)] Vec<&'static str>),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Which data is checked, and when.
    Verify,
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
    pub(super) const ALL: [Rule; 13] = [
        Rule::Engine,
        Rule::Access,
        Rule::Pace,
        Rule::Limits,
        Rule::Content,
        Rule::Flush,
        Rule::Errors,
        Rule::Verify,
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
            Rule::Verify => "which data is checked",
            Rule::Steady => "when the job is steady",
            Rule::Order => "which jobs run together",
            Rule::Region => "which part of the files is used",
            Rule::Files => "which files are used",
            Rule::Search => "the load that is looked for",
        }
    }
}

/// What becomes of an option.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
        #[serde(default)]
        instead: &'static str,
    },
    /// fio itself refuses it; the text says what took its place.
    Refused(&'static str),
}

/// One option.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The canonical name.
    pub(super) name: &'static str,
    /// Other names.
    #[serde(rename = "or", borrow, default)]
    pub(super) aliases: Vec<&'static str>,
    /// The shape of the value.
    pub(super) kind: Kind,
    /// Smallest allowed number.
    #[serde(default)]
    pub(super) min: i64,
    /// Largest allowed number.
    #[serde(default = "unlimited")]
    pub(super) max: i64,
    /// Values, as written, at which the option asks for nothing, so that nothing is lost.
    #[serde(rename = "unless", borrow, default)]
    pub(super) neutral: Vec<&'static str>,
    /// What it is for: what is lost where it, or some values of it, are not honoured.
    #[serde(default = "tested")]
    pub(super) affects: Affects,
    /// What becomes of it.
    pub(super) effect: Effect,
    /// Lines of a job in which it does something, its own the last; empty: what its shape suggests.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "what the test of the table tries"))]
    pub(super) sample: String,
}

impl Entry {
    /// Whether `word` names this option.
    pub(super) fn is_named(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word)
    }
}

fn unlimited() -> i64 {
    i64::MAX
}

fn tested() -> Affects {
    Affects::Test
}

/// What becomes of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EngineFate {
    /// Runs here under this name.
    Native(&'static str),
    /// The nearest native engine does the same I/O in another way; the text says what differs.
    Nearest(&'static str, &'static str),
    /// Does not run here; the text says what to do.
    Foreign(&'static str),
}

/// One ioengine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EngineEntry {
    /// fio's name.
    pub(super) name: &'static str,
    /// Under which name the table has its private options; empty: it has none.
    #[serde(default)]
    pub(super) private: &'static str,
    /// Whether a queue is kept: elsewhere iodepth stays 1.
    #[serde(default)]
    pub(super) asynchronous: bool,
    /// What each of its I/Os is where it moves no data.
    #[serde(default)]
    pub(super) operation: Option<FileOperation>,
    /// What becomes of it.
    pub(super) fate: EngineFate,
}

impl EngineEntry {
    /// Its private options.
    pub(super) fn options(&self) -> &'static [Entry] {
        TABLE.private.get(self.private).map_or(&[], Vec::as_slice)
    }
}

/// The file `options.toml`: what it has of each option and engine, and the texts that several of them share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    option: Vec<Entry>,
    engine: Vec<EngineEntry>,
    #[serde(borrow)]
    private: BTreeMap<&'static str, Vec<Entry>>,
    #[serde(borrow)]
    text: BTreeMap<&'static str, &'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table: Table =
        toml::from_str(include_str!("../options.toml")).expect("the tests read the same file");
    let said = |text: &mut &'static str| {
        if let Some(name) = text.strip_prefix('$') {
            *text = table.text[name];
        }
    };
    for entry in table.option.iter_mut().chain(table.private.values_mut().flatten()) {
        match &mut entry.effect {
            Effect::Rule(_) => {}
            Effect::Inert(text) | Effect::Refused(text) => said(text),
            Effect::Lost { what, instead } => [what, instead].into_iter().for_each(said),
        }
    }
    for engine in &mut table.engine {
        if let EngineFate::Nearest(_, text) | EngineFate::Foreign(text) = &mut engine.fate {
            said(text);
        }
    }
    table
});

/// All core options, in the order of fio's manual.
pub(super) fn options() -> &'static [Entry] {
    &TABLE.option
}

/// Finds a core option by name or alias.
pub(super) fn core(word: &str) -> Option<&'static Entry> {
    options().iter().find(|entry| entry.is_named(word))
}

/// What is lost where a core option, or a value of it, is not honoured.
pub(super) fn affects(option: &str) -> Affects {
    core(option).map_or(Affects::Test, |entry| entry.affects)
}

/// Finds an engine by fio's name. fio takes any name that begins like these for libaio.
pub(super) fn engine(name: &str) -> Option<&'static EngineEntry> {
    let name = if name.starts_with("linuxaio") || name.starts_with("aio") { "libaio" } else { name };
    TABLE.engine.iter().find(|entry| entry.name == name)
}

/// Every engine of fio.
pub(super) fn engines() -> &'static [EngineEntry] {
    &TABLE.engine
}

/// All names an option of a job with this engine may have, for suggestions.
pub(super) fn names(engine: Option<&'static EngineEntry>) -> impl Iterator<Item = &'static str> {
    let private = engine.map_or(&[][..], EngineEntry::options);
    options()
        .iter()
        .chain(private)
        .filter(|entry| !matches!(entry.effect, Effect::Refused(_)))
        .flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied()))
}

/// Whether an engine has an option of this name that stands without a value.
pub(super) fn is_engine_flag(option: &str) -> bool {
    let mut options = TABLE.engine.iter().flat_map(EngineEntry::options);
    options.any(|entry| entry.is_named(option) && matches!(entry.kind, Kind::Flag))
}

/// Engines with an option of this name: for a hint when the engine was not named in time.
pub(super) fn engines_with(option: &str) -> Vec<&'static str> {
    let engines = TABLE.engine.iter();
    engines
        .filter(|engine| engine.options().iter().any(|entry| entry.is_named(option)))
        .map(|engine| engine.name)
        .collect()
}

#[cfg(test)]
mod tests;
