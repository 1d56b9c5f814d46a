//! Reads and writes of a command that were not side by side.

use assay_workload::pattern::OpKind;

use super::{Basis, Observation, counts};
use crate::counters::Counters;
use crate::interval::JobCounts;

/// Share of all reads, or of all writes, between two readings below which they are not what the command did then.
pub(super) const STRAY_SHARE_MAX: f64 = 0.01;

/// What a command did in one job of its run: reads and writes side by side, or those of one kind that it did before or after
/// the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part(pub(super) Option<OpKind>);

impl Part {
    pub(super) fn name(self, observation: &Observation) -> String {
        match self.0 {
            None => observation.name.clone(),
            Some(OpKind::Read) => "reads".to_owned(),
            Some(_) => "writes".to_owned(),
        }
    }

    /// What of all that was done is of this part.
    pub(super) fn of(self, mut counts: JobCounts) -> JobCounts {
        for kind in [OpKind::Read, OpKind::Write] {
            if self.0.is_some_and(|own| own != kind) {
                *counts.op_mut(kind) = Default::default();
            }
        }
        counts
    }
}

/// The parts of what was done: reads and writes apart where all of one came before all of the other. What the command says
/// itself of its phases needs no such parts.
pub(super) fn parts_of(observation: &Observation, basis: Basis) -> Vec<Part> {
    let deltas = observation.during.windows(2).map(|pair| Counters::delta(&pair[0], &pair[1]));
    let bytes: Vec<[u64; 2]> = deltas
        .map(|delta| {
            let counts = counts(&delta, basis, observation.opened_for);
            [OpKind::Read, OpKind::Write].map(|kind| counts.op(kind).bytes)
        })
        .collect();
    // The readings between which nearly all of a kind was done.
    let span = |kind: usize| {
        let total: u64 = bytes.iter().map(|done| done[kind]).sum();
        let least = (total as f64 * STRAY_SHARE_MAX).max(1.0);
        let at_work = |done: &[u64; 2]| done[kind] as f64 >= least;
        Some((bytes.iter().position(at_work)?, bytes.iter().rposition(at_work)?))
    };
    let apart = |(reads, writes): ((usize, usize), (usize, usize))| {
        // Between the two readings of the change there may be both.
        let (first, then) = if reads <= writes { (reads, writes) } else { (writes, reads) };
        first.1 <= then.0 && first.0 < then.0 && first.1 < then.1
    };
    if !observation.own_figures && span(0).zip(span(1)).is_some_and(apart) {
        vec![Part(Some(OpKind::Read)), Part(Some(OpKind::Write))]
    } else {
        vec![Part(None)]
    }
}
