//! Where the parser leaves what it has to say: positions become readable here, and floods are cut short.

use assay_formats::diagnostic::{Affects, Bound, Collector, Diagnostic, Kind, Position, Severity, counted};

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

/// How many diagnostics of one kind are kept.
const KEPT_OF_A_KIND: usize = 24;

/// The collector of all languages, with the files that places of this one point into.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) files: Vec<String>,
    found: Collector,
}

impl Default for Sink {
    fn default() -> Self {
        Self::with_files(Vec::new())
    }
}

impl Sink {
    /// A sink for what is found after the files were read.
    pub(crate) fn with_files(files: Vec<String>) -> Self {
        Self { files, found: Collector::new(Bound::OfAKind(KEPT_OF_A_KIND)) }
    }

    /// Registers a file name and gives its index.
    pub(crate) fn add_file(&mut self, name: &str) -> u32 {
        self.files.push(name.to_owned());
        counted(self.files.len() - 1)
    }

    pub(crate) fn error(
        &mut self,
        id: &'static str,
        at: impl Into<Option<At>>,
        word: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add((Severity::Error, None, id), at.into(), word, message.into(), help);
    }

    pub(crate) fn loss(
        &mut self,
        id: &'static str,
        affects: Affects,
        at: impl Into<Option<At>>,
        word: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add((Severity::Loss, Some(affects), id), at.into(), word, message.into(), help);
    }

    pub(crate) fn note(
        &mut self,
        id: &'static str,
        at: impl Into<Option<At>>,
        word: &str,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add((Severity::Note, None, id), at.into(), word, message.into(), help);
    }

    /// Whether any error was reported.
    pub(crate) fn has_errors(&self) -> bool {
        self.found.has_errors()
    }

    /// The diagnostics, with one closing line for each kind that was cut short.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.found.finish()
    }

    fn add(&mut self, kind: Kind, at: Option<At>, word: &str, message: String, help: &str) {
        let (severity, affects, id) = kind;
        let position = at.map(|at| position(&self.files, at));
        let (word, help) = (shorten(word), help.to_owned());
        self.found.add(Diagnostic { severity, id, position, word, affects, message, help });
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
            sink.note("same", None, "", "again", "");
        }
        let all = sink.finish();
        assert_eq!(all.len(), KEPT_OF_A_KIND + 1);
        assert!(all.last().is_some_and(|d| d.message.starts_with("76 more")));
    }

    #[test]
    fn long_words_are_shortened_at_a_character_border() {
        let word = "ä".repeat(200);
        assert_eq!(shorten(&word).chars().count(), 82);
    }
}
