//! A recorded stream, counted operation by operation: where it lands, what it is like, and every n-th place for a picture.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use assay_results::audit::Heat;
use assay_workload::pattern::OpKind;

use super::{HeatGrid, Profile, StreamAudit};
use crate::model::Model;

/// Places that the heat map is made of.
const PLACES_MAX: usize = 1 << 19;

/// One recorded operation.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// What.
    pub kind: OpKind,
    /// Where: target, first byte, bytes.
    pub place: (u16, u64, u32),
    /// When it was issued, nanoseconds; a number that grows where times are not known.
    pub at_ns: u64,
    /// How long it took, where that is known.
    pub latency_ns: Option<u64>,
}

/// Every n-th operation, n so that they are not too many.
#[derive(Debug, Default)]
struct Places {
    kept: Vec<(u16, u64, u64)>,
    every: u64,
    seen: u64,
}

impl Places {
    fn add(&mut self, target: u16, offset: u64, at: u64) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == PLACES_MAX {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            self.kept.push((target, offset, at));
        }
        self.seen += 1;
    }
}

/// How many are outstanding, as far as a trace tells.
#[derive(Debug, Default)]
struct Outstanding {
    /// When those with a known latency end.
    ends: BinaryHeap<Reverse<u64>>,
    /// Those whose completion is an event of its own.
    open: u32,
    known: bool,
}

impl Outstanding {
    /// With the one that is issued now.
    fn issue(&mut self, op: &Recorded) -> Option<u32> {
        if let Some(latency) = op.latency_ns {
            while self.ends.peek().is_some_and(|end| end.0 <= op.at_ns) {
                self.ends.pop();
            }
            self.ends.push(Reverse(op.at_ns.saturating_add(latency)));
            return Some(self.ends.len() as u32);
        }
        self.open = self.open.saturating_add(1);
        self.known.then_some(self.open)
    }

    fn complete(&mut self) {
        self.known = true;
        self.open = self.open.saturating_sub(1);
    }
}

/// A stream as it is counted.
#[derive(Debug)]
pub struct Capture<'m> {
    model: &'m Model,
    /// Where it lands.
    pub stream: StreamAudit,
    /// What it is like.
    pub profile: Profile,
    places: Places,
    outstanding: Outstanding,
    ends: Vec<u64>,
    first_ns: Option<u64>,
    ops: u64,
}

impl<'m> Capture<'m> {
    /// Of nothing yet.
    pub fn new(model: &'m Model) -> Self {
        Capture {
            model,
            stream: StreamAudit::new(model, 0),
            profile: Profile::new(model),
            places: Places::default(),
            outstanding: Outstanding::default(),
            ends: Vec::new(),
            first_ns: None,
            ops: 0,
        }
    }

    /// Counts one that is issued; `timed`: whether its time is one.
    pub fn issue(&mut self, op: &Recorded, timed: bool) {
        let (target, offset, length) = op.place;
        while self.ends.len() <= usize::from(target) {
            self.stream.add_target();
            self.ends.push(0);
        }
        let end = &mut self.ends[usize::from(target)];
        *end = offset.saturating_add(u64::from(length)).max(*end);
        let at = op.at_ns.saturating_sub(*self.first_ns.get_or_insert(op.at_ns));
        let inside = self.outstanding.issue(op);
        self.stream.add(target, op.kind, offset, length);
        self.profile.add(self.model, op.place, op.kind, timed.then_some(at), inside);
        self.places.add(target, offset, if timed { at } else { self.ops });
        self.ops += 1;
    }

    /// Counts the completion of one whose latency was not told.
    pub fn complete(&mut self) {
        self.outstanding.complete();
    }

    /// How far each target is reached, in whole segments.
    pub fn sizes(&self) -> Vec<u64> {
        let segment = self.model.front_end.segment.0;
        self.ends.iter().map(|end| end.next_multiple_of(segment)).collect()
    }

    /// Where it went over time.
    pub fn heat(&self, targets: &[(String, u64)]) -> Heat {
        let span = self.places.kept.last().map_or(1, |place| place.2 + 1);
        let mut grid = HeatGrid::new(targets, span, super::heat::ROWS, super::heat::COLUMNS);
        self.places.kept.iter().for_each(|(target, offset, at)| grid.add(*target, *offset, *at));
        grid.finish()
    }
}
