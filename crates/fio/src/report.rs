//! Collects what a parser has to say, with a bound, so that a hostile file cannot fill memory with complaints.

use assay_formats::{Affects, Diagnostic, Position, Severity};

/// No file needs more remarks than this; the rest is summed up in one line.
const DIAGNOSTICS_MAX: usize = 1000;

/// Where a remark points and which word it is about.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Position of the word.
    pub(super) at: Position,
    /// The word as written.
    pub(super) word: String,
}

/// The growing list of diagnostics of one parse.
#[derive(Debug, Default)]
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

impl Report {
    /// Whether anything so far forbids running the file.
    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether more remarks would only be counted: the caller may stop reading.
    pub(super) fn is_full(&self) -> bool {
        self.dropped > 0
    }

    /// Adds an error at a place.
    pub(super) fn error(&mut self, id: &'static str, place: &Place, message: String, help: &str) {
        self.add(at(Severity::Error, id, place, message, help));
    }

    /// Adds a loss at a place: of what is tested, or of what is reported.
    pub(super) fn loss(
        &mut self,
        id: &'static str,
        affects: Affects,
        place: &Place,
        message: String,
        help: &str,
    ) {
        let loss = at(Severity::Loss, id, place, message, help);
        self.add(Diagnostic { affects: Some(affects), ..loss });
    }

    /// Adds a note at a place.
    pub(super) fn note(&mut self, id: &'static str, place: &Place, message: String, help: &str) {
        self.add(at(Severity::Note, id, place, message, help));
    }

    /// Adds a remark that belongs to no place.
    pub(super) fn general(&mut self, severity: Severity, id: &'static str, message: String) {
        self.add(Diagnostic::general(severity, id, message));
    }

    fn add(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.diagnostics.len() < DIAGNOSTICS_MAX {
            self.diagnostics.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Ends the collection.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let severity = if self.errors > 0 { Severity::Error } else { Severity::Note };
            let message = format!("{} further remarks are left out", self.dropped);
            self.diagnostics.push(Diagnostic::general(severity, "too-many-diagnostics", message));
        }
        self.diagnostics
    }
}

fn at(severity: Severity, id: &'static str, place: &Place, message: String, help: &str) -> Diagnostic {
    Diagnostic {
        severity,
        id,
        position: Some(place.at.clone()),
        word: place.word.clone(),
        affects: None,
        message,
        help: help.to_owned(),
    }
}
