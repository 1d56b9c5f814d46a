//! Where the parser leaves what it has to say: byte spans become lines and columns here, and floods are cut short.

use std::collections::BTreeSet;
use std::ops::{Deref, Range};

use assay_workload::application::ApplicationKind;

pub(super) use crate::diagnostic::clip;
use crate::diagnostic::{Bound, Collector, Diagnostic, Position, WordPosition, counted};

/// How many diagnostics are kept.
const KEPT_MAX: usize = 100;

/// Collects diagnostics about one text.
pub(super) struct Sink {
    file: String,
    text: String,
    line_starts: Vec<usize>,
    found: Collector,
    /// Start and id of what was said: a value of `[defaults]` is read once for each job, but reported once.
    seen: BTreeSet<(usize, &'static str)>,
    /// The kinds of applications that are known; none: any.
    pub(super) applications: &'static [&'static dyn ApplicationKind],
}

impl Deref for Sink {
    type Target = Collector;

    fn deref(&self) -> &Collector {
        &self.found
    }
}

impl Sink {
    pub(super) fn new(file: &str, text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Sink {
            file: file.to_owned(),
            text: text.to_owned(),
            line_starts: std::iter::once(0).chain(breaks).collect(),
            found: Collector::new(Bound::InAll(KEPT_MAX, "more-diagnostics")),
            seen: BTreeSet::new(),
            applications: &[],
        }
    }

    pub(super) fn error(
        &mut self,
        id: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.seen.insert((span.start, id)) {
            self.found.error(id, &self.place(span), message, &help.into());
        }
    }

    pub(super) fn note(
        &mut self,
        id: &'static str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.seen.insert((span.start, id)) {
            self.found.note(id, &self.place(span), message, &help.into());
        }
    }

    /// The text of a span.
    pub(super) fn text(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    /// All that was said, in the order of the text; what belongs to no place comes last.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut all = self.found.finish();
        all.sort_by_key(|said| said.position.as_ref().map_or((u32::MAX, 0), |at| (at.line, at.column)));
        all
    }

    fn place(&self, span: Range<usize>) -> WordPosition {
        let at = span.start.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= at).max(1);
        let before = self.text.get(self.line_starts[line - 1]..at).unwrap_or_default();
        let (line, column) = (counted(line), counted(before.chars().count() + 1));
        WordPosition { at: Position { file: self.file.clone(), line, column }, word: clip(self.text(span)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Severity;

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
        assert_eq!(said[KEPT_MAX].message, "only the first 100 diagnostics are shown");
        assert_eq!(said[KEPT_MAX].severity, Severity::Error);
    }
}
