//! Where the parser leaves what it has to say: byte spans become lines and columns here, and floods are cut short.

use std::collections::BTreeSet;
use std::ops::Range;

pub(super) use crate::diagnostic::clip;
use crate::diagnostic::{Diagnostic, Position, Severity};

/// How many diagnostics are kept; what follows is counted and summed up in one line.
const KEPT_MAX: usize = 100;

/// Collects diagnostics about one text.
pub(super) struct Sink {
    file: String,
    text: String,
    line_starts: Vec<usize>,
    found: Vec<Diagnostic>,
    /// Start and id of what was said: a value of `[defaults]` is read once for each job, but reported once.
    seen: BTreeSet<(usize, &'static str)>,
    left_out: usize,
    errors: bool,
}

impl Sink {
    pub(super) fn new(file: &str, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(breaks).collect();
        Sink {
            file: file.to_owned(),
            text: text.to_owned(),
            line_starts,
            found: Vec::new(),
            seen: BTreeSet::new(),
            left_out: 0,
            errors: false,
        }
    }

    pub(super) fn error(
        &mut self,
        id: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.errors = true;
        self.push(Severity::Error, id, span, message.into(), help.into());
    }

    pub(super) fn note(
        &mut self,
        id: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Note, id, span, message.into(), help.into());
    }

    /// The text of a span.
    pub(super) fn text(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    /// Whether an error was reported.
    pub(super) fn has_errors(&self) -> bool {
        self.errors
    }

    /// Whether so much was said already that going on makes no sense.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= KEPT_MAX
    }

    /// All that was said, in the order of the text.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|said| said.position.as_ref().map(|at| (at.line, at.column)));
        if self.left_out > 0 {
            let severity = if self.errors { Severity::Error } else { Severity::Note };
            let message = format!("{} more remarks on {} are left out", self.left_out, self.file);
            self.found.push(Diagnostic::general(severity, "more-diagnostics", message));
        }
        self.found
    }

    fn push(
        &mut self,
        severity: Severity,
        id: &'static str,
        span: Range<usize>,
        message: String,
        help: String,
    ) {
        if !self.seen.insert((span.start, id)) {
            return;
        }
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let word = clip(self.text(span.clone()));
        let position = Some(self.position(span.start));
        self.found.push(Diagnostic { severity, id, position, word, affects: None, message, help });
    }

    fn position(&self, at: usize) -> Position {
        let at = at.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= at).max(1);
        let before = self.text.get(self.line_starts[line - 1]..at).unwrap_or_default();
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position { file: self.file.clone(), line: narrow(line), column: narrow(before.chars().count() + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "a = 1\nä = \"ö\" # x\nlast";
        let mut sink = Sink::new("f", text);
        for word in ["a", "#", "last"] {
            let start = text.find(word).expect("the word is there");
            sink.error("x", start..start + word.len(), "m", "");
        }
        sink.error("x", text.len()..text.len(), "at the end", "");
        let places: Vec<(u32, u32)> =
            sink.finish().iter().filter_map(|d| d.position.as_ref()).map(|p| (p.line, p.column)).collect();
        assert_eq!(places, [(1, 1), (2, 9), (3, 1), (3, 5)]);
    }

    #[test]
    fn a_place_is_reported_once_and_a_flood_is_counted() {
        let text = "x".repeat(1000);
        let mut sink = Sink::new("f", &text);
        for at in (0..500).chain(0..500) {
            sink.error("x", at..at + 1, "m", "");
        }
        let said = sink.finish();
        assert_eq!(said.len(), KEPT_MAX + 1);
        assert_eq!(said[KEPT_MAX].message, "400 more remarks on f are left out");
        assert_eq!(said[KEPT_MAX].severity, Severity::Error);
    }
}
