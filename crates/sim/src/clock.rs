//! Virtual time.

use std::cell::Cell;
use std::rc::Rc;

use assay_engine::Clock;

/// The time of one simulation, in nanoseconds from its start. Clones show the same time; only the simulation moves it.
#[derive(Debug, Clone, Default)]
pub struct SimClock {
    now_ns: Rc<Cell<u64>>,
}

impl SimClock {
    /// Sets the time; it never goes back.
    pub(crate) fn set_ns(&self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns.get(), "time went back");
        self.now_ns.set(now_ns);
    }
}

impl Clock for SimClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }
}
