//! What a parser has to say about a job file: the collector of all languages, with the bound of this one.

use std::ops::{Deref, DerefMut};

use assay_formats::diagnostic::{Bound, Collector, Diagnostic};

pub(super) use assay_formats::WordPosition;

/// No file needs more diagnostics than this.
const DIAGNOSTICS_MAX: usize = 1000;

/// The growing list of diagnostics of one parse.
#[derive(Debug)]
pub(super) struct Report(Collector);

impl Default for Report {
    fn default() -> Self {
        Report(Collector::new(Bound::InAll(DIAGNOSTICS_MAX, "too-many-diagnostics")))
    }
}

impl Deref for Report {
    type Target = Collector;

    fn deref(&self) -> &Collector {
        &self.0
    }
}

impl DerefMut for Report {
    fn deref_mut(&mut self) -> &mut Collector {
        &mut self.0
    }
}

impl Report {
    /// Ends the collection.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        self.0.finish()
    }
}
