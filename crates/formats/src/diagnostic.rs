//! What a parser says about a file: data with a position, never a print and never an exit.

use std::fmt;

use serde::Serialize;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
