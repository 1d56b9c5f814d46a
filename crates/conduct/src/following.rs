//! What may follow a finished phase.

use assay_workload::plan::PlannedPhase;

/// Something to be said with the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// A stable word.
    pub(crate) id: &'static str,
    /// A sentence.
    pub(crate) text: String,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct After {
    /// The phase that runs next.
    pub(crate) next: usize,
    /// Phases that have become something else by what is known now, with their index.
    pub(crate) resolved: Vec<(usize, PlannedPhase)>,
    /// What to say.
    pub(crate) note: Option<Note>,
}

impl After {
    /// Just the phase behind this one.
    pub(crate) fn next(phase: usize) -> After {
        After { next: phase + 1, resolved: Vec::new(), note: None }
    }
}
