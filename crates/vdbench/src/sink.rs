//! Where the parser leaves what it has to say: positions become readable here, and floods are cut short.

use std::collections::BTreeMap;

use assay_formats::diagnostic::{Affects, Diagnostic, Position, Severity};

/// A place in one of the input files, small enough to be carried by every word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct At {
    /// Index into [`ParameterFile::files`](super::ParameterFile::files).
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// How many diagnostics of one id are kept; what follows is counted and summed up in one line.
const KEPT_PER_ID: usize = 24;

/// Collects diagnostics in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) files: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    seen: BTreeMap<(Severity, Option<Affects>, &'static str), usize>,
    errors: usize,
}

impl Sink {
    /// A sink for what is found after the files were read.
    pub(crate) fn with_files(files: Vec<String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Registers a file name and gives its index.
    pub(crate) fn add_file(&mut self, name: &str) -> u32 {
        self.files.push(name.to_owned());
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn error(
        &mut self,
        id: &'static str,
        at: impl Into<Option<At>>,
        word: &str,
        message: String,
        help: &str,
    ) {
        self.errors += 1;
        self.push((Severity::Error, None), id, at.into(), word, message, help);
    }

    pub(crate) fn loss(
        &mut self,
        id: &'static str,
        affects: Affects,
        at: impl Into<Option<At>>,
        word: &str,
        message: String,
        help: &str,
    ) {
        self.push((Severity::Loss, Some(affects)), id, at.into(), word, message, help);
    }

    pub(crate) fn note(
        &mut self,
        id: &'static str,
        at: impl Into<Option<At>>,
        word: &str,
        message: String,
        help: &str,
    ) {
        self.push((Severity::Note, None), id, at.into(), word, message, help);
    }

    /// Whether any error was reported.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    fn push(
        &mut self,
        (severity, affects): (Severity, Option<Affects>),
        id: &'static str,
        at: Option<At>,
        word: &str,
        message: String,
        help: &str,
    ) {
        let seen = self.seen.entry((severity, affects, id)).or_default();
        *seen += 1;
        if *seen > KEPT_PER_ID {
            return;
        }
        let position = at.map(|at| position(&self.files, at));
        self.diagnostics.push(Diagnostic {
            severity,
            id,
            position,
            word: shorten(word),
            affects,
            message,
            help: help.to_owned(),
        });
    }

    /// The diagnostics, with one closing line for each id that was cut short.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics;
        for ((severity, affects, id), count) in self.seen {
            if count > KEPT_PER_ID {
                let message = format!("{} more of the kind `{id}` are not shown", count - KEPT_PER_ID);
                all.push(Diagnostic { affects, ..Diagnostic::general(severity, id, message) });
            }
        }
        all
    }
}

/// The readable form of a place.
pub(crate) fn position(files: &[String], at: At) -> Position {
    let file = files.get(at.file as usize).cloned().unwrap_or_default();
    Position { file, line: at.line, column: at.column }
}

/// A word as it is quoted in a message: at most 80 characters.
pub(crate) fn shorten(word: &str) -> String {
    const KEPT_CHARS: usize = 80;
    match word.char_indices().nth(KEPT_CHARS) {
        Some((end, _)) => format!("{}..", &word[..end]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_not_kept() {
        let mut sink = Sink::default();
        for _ in 0..100 {
            sink.note("same", None, "", "again".into(), "");
        }
        let all = sink.finish();
        assert_eq!(all.len(), KEPT_PER_ID + 1);
        assert!(all.last().is_some_and(|d| d.message.starts_with("76 more")));
    }

    #[test]
    fn long_words_are_shortened_at_a_character_border() {
        let word = "ä".repeat(200);
        assert_eq!(shorten(&word).chars().count(), 82);
    }
}
