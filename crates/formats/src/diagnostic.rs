//! What a parser says about a file: data with a position, never a print and never an exit.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Explains a choice or a trap; the file means what it means.
    Note,
    /// Something asked for is not honoured; the text names what is lost and the nearest equivalent.
    /// `--strict` turns these into a failure.
    Loss,
    /// The file cannot be run as it stands.
    Error,
}

/// What an option is for, and so what is lost where it is not honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Affects {
    /// Only what is reported, logged or left behind: the same I/O is done and checked.
    Report,
    /// What is tested: which I/O is done and when, under which conditions, what is checked, and when it ends.
    Test,
}

/// A place in an input file. Lines and columns count from 1; columns are in characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Position {
    /// The file as the user named it (or as an include named it).
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// Column of the word, from 1; 0 where only the line is known.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// One thing a parser has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// A stable identifier in kebab case (`unknown-option`, `fio-kib-is-1000`).
    pub id: &'static str,
    /// Where, if it belongs to one place.
    pub position: Option<Position>,
    /// The word the user wrote, as written; empty if none.
    pub word: String,
    /// What a loss is about; nothing for notes and errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affects: Option<Affects>,
    /// One sentence: what is wrong or lost.
    pub message: String,
    /// One sentence: the fix or the nearest equivalent; empty if none.
    pub help: String,
}

impl Diagnostic {
    /// One that belongs to no place and no word; a loss is one of the test.
    pub fn general(severity: Severity, id: &'static str, message: String) -> Self {
        let affects = (severity == Severity::Loss).then_some(Affects::Test);
        let (word, help) = (String::new(), String::new());
        Diagnostic { severity, id, position: None, word, affects, message, help }
    }

    /// Whether it says that another test is run than the one asked for.
    pub fn changes_test(&self) -> bool {
        self.affects == Some(Affects::Test)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Loss => "not honoured",
            Severity::Error => "error",
        };
        if let Some(position) = &self.position {
            write!(f, "{position}: ")?;
        }
        write!(f, "{severity}: {}", self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

/// Where a diagnostic points and which word it is about.
#[derive(Debug, Clone)]
pub struct WordPosition {
    /// Position of the word.
    pub at: Position,
    /// The word as written.
    pub word: String,
}

/// How many diagnostics of one text are kept, so that a hostile file cannot fill memory with them.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// This many; one of this id stands for the others.
    InAll(usize, &'static str),
    /// This many of each kind (id, severity and what a loss affects); the others are counted, kind by kind.
    OfAKind(usize),
}

/// What counts as one kind of diagnostic.
pub type Kind = (Severity, Option<Affects>, &'static str);

/// What a parser has to say about one text and its includes, in the order in which it was found.
#[derive(Debug)]
pub struct Collector {
    bound: Bound,
    found: Vec<Diagnostic>,
    /// How many there were of each kind.
    seen: BTreeMap<Kind, usize>,
    left_out: usize,
    errors: usize,
}

impl Collector {
    /// An empty one.
    pub fn new(bound: Bound) -> Self {
        Collector { bound, found: Vec::new(), seen: BTreeMap::new(), left_out: 0, errors: 0 }
    }

    /// The number of errors so far; any forbids running the file.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Whether any error was found.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether further diagnostics are left out: the caller may stop reading.
    pub fn is_full(&self) -> bool {
        matches!(self.bound, Bound::InAll(..)) && self.left_out > 0
    }

    /// Adds an error.
    pub fn error<'p>(
        &mut self,
        id: &'static str,
        place: impl Into<Option<&'p WordPosition>>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.say((Severity::Error, None, id), place.into(), message.into(), help.to_owned());
    }

    /// Adds a loss: of what is tested, or of what is reported.
    pub fn loss<'p>(
        &mut self,
        id: &'static str,
        affects: Affects,
        place: impl Into<Option<&'p WordPosition>>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.say((Severity::Loss, Some(affects), id), place.into(), message.into(), help.to_owned());
    }

    /// Adds a note.
    pub fn note<'p>(
        &mut self,
        id: &'static str,
        place: impl Into<Option<&'p WordPosition>>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.say((Severity::Note, None, id), place.into(), message.into(), help.to_owned());
    }

    /// Adds one that belongs to no place.
    pub fn general(&mut self, severity: Severity, id: &'static str, message: impl Into<String>) {
        self.add(Diagnostic::general(severity, id, message.into()));
    }

    fn say(
        &mut self,
        (severity, affects, id): Kind,
        place: Option<&WordPosition>,
        message: String,
        help: String,
    ) {
        let (position, word) = place.map(|place| (place.at.clone(), place.word.clone())).unzip();
        let word = word.unwrap_or_default();
        self.add(Diagnostic { severity, id, position, word, affects, message, help });
    }

    /// Adds one.
    pub fn add(&mut self, one: Diagnostic) {
        self.errors += usize::from(one.severity == Severity::Error);
        let seen = self.seen.entry((one.severity, one.affects, one.id)).or_default();
        *seen += 1;
        let keep = match self.bound {
            Bound::InAll(kept_max, _) => self.found.len() < kept_max,
            Bound::OfAKind(kept_max) => *seen <= kept_max,
        };
        if keep {
            self.found.push(one);
        } else {
            self.left_out += 1;
        }
    }

    /// All that is kept, and what the bound left out.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut all = self.found;
        match self.bound {
            Bound::InAll(kept_max, id) if self.left_out > 0 => {
                let severity = if self.errors > 0 { Severity::Error } else { Severity::Note };
                let message = format!("only the first {kept_max} diagnostics are shown");
                all.push(Diagnostic::general(severity, id, message));
            }
            Bound::InAll(..) => {}
            Bound::OfAKind(kept_max) => {
                for ((severity, affects, id), count) in self.seen.into_iter().filter(|seen| seen.1 > kept_max)
                {
                    let message = format!("{} more of the kind `{id}` are not shown", count - kept_max);
                    all.push(Diagnostic { affects, ..Diagnostic::general(severity, id, message) });
                }
            }
        }
        all
    }
}

/// A line or column of a position.
pub fn counted(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Longer words are cut in messages.
const WORD_CHARS_MAX: usize = 60;

/// The start of the first line of `word`, short enough for a message.
pub fn clip(word: &str) -> String {
    let line = word.lines().next().unwrap_or_default();
    match line.char_indices().nth(WORD_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flood(bound: Bound) -> Vec<String> {
        let mut collector = Collector::new(bound);
        for _ in 0..5 {
            collector.note("same", None, "again", "");
        }
        collector.error("other", None, "wrong", "");
        assert_eq!(collector.errors(), 1);
        collector.finish().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn floods_are_counted_in_all_or_kind_by_kind() {
        let all = ["note: again", "note: again", "error: only the first 2 diagnostics are shown"];
        assert_eq!(flood(Bound::InAll(2, "more")), all);
        let kinds = ["note: again", "error: wrong", "note: 4 more of the kind `same` are not shown"];
        assert_eq!(flood(Bound::OfAKind(1)), kinds);
    }
}
