//! When the operations of an open loop are meant to start.

use assay_workload::arrival::Arrivals;
use assay_workload::pattern::OpKind;

/// The intended starts, drawn ahead.
#[derive(Debug)]
pub(super) struct Pacing {
    arrivals: Option<Arrivals>,
    start_ns: u64,
    intended: [u64; 32],
    next: usize,
}

impl Pacing {
    /// From `start_ns` on.
    pub(super) fn new(arrivals: Option<Arrivals>, start_ns: u64) -> Pacing {
        Pacing { arrivals, start_ns, intended: [0; 32], next: 32 }
    }

    /// Moves the start of a loop at rest.
    pub(super) fn arm(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Where operations have their own arrivals: the one that comes next. Which one that is is known only now; its arrival is the
    /// last of the list, so that it is asked for again behind it.
    pub(super) fn choose(&mut self, now: u64) -> Option<OpKind> {
        let Some(Arrivals::Each(lanes)) = self.arrivals.as_mut() else { return None };
        let (kind, due_ns) = lanes.next(now.saturating_sub(self.start_ns));
        self.next = self.intended.len() - 1;
        self.intended[self.next] = self.start_ns + due_ns;
        Some(kind)
    }

    /// Whether the next operation is to start.
    #[inline(always)]
    pub(super) fn is_due(&mut self, now: u64) -> bool {
        if self.next == self.intended.len() {
            if let Some(Arrivals::Together(arrivals)) = self.arrivals.as_mut() {
                arrivals.fill(&mut self.intended);
            }
            for time in &mut self.intended {
                *time += self.start_ns;
            }
            self.next = 0;
        }
        self.intended[self.next] <= now
    }

    /// When the operation that is handed over was meant to start.
    #[inline(always)]
    pub(super) fn take(&mut self) -> u64 {
        self.next += 1;
        self.intended[self.next - 1]
    }

    /// When the next one is, if that is known already.
    #[inline(always)]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.intended.get(self.next).copied()
    }
}
