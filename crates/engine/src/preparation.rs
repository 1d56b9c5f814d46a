//! What is being done before a phase starts, where a watchdog can look at it: files are laid out, trees are looked through, targets
//! are opened. Each of these may wait for storage that does not answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::RealClock;
use crate::seam::Clock as _;

/// The steps of a preparation that are under way, one a thread.
#[derive(Debug, Default)]
pub struct Preparation(Mutex<Vec<Step>>);

/// An operation that was begun and has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    number: u64,
    /// What it does: `write`, `open`.
    pub(crate) operation: &'static str,
    /// The path of its target.
    pub(crate) path: String,
    /// Where it begins, for reads and writes.
    pub(crate) offset_bytes: Option<u64>,
    /// How long it is; 0 for all but reads and writes.
    pub(crate) len_bytes: u32,
    /// When it was begun, on the clock of jobs.
    pub(crate) since_ns: u64,
}

impl Preparation {
    /// `operation` begins on `path`, and ends when the answer is dropped.
    pub(crate) fn begins(&self, operation: &'static str, path: &str) -> Doing<'_> {
        let mut steps = self.steps();
        let number = steps.iter().map(|step| step.number + 1).max().unwrap_or(0);
        let since_ns = RealClock::new().now_ns();
        let path = path.to_owned();
        steps.push(Step { number, operation, path, offset_bytes: None, len_bytes: 0, since_ns });
        Doing { preparation: self, number }
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        // The list is whole at any moment, also when a thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is under way, that which was begun first at the front.
    pub(crate) fn under_way(&self) -> Vec<Step> {
        let mut steps = self.steps().clone();
        steps.sort_by_key(|step| step.since_ns);
        steps
    }
}

/// A step of a preparation.
#[derive(Debug)]
pub(crate) struct Doing<'p> {
    preparation: &'p Preparation,
    number: u64,
}

impl Doing<'_> {
    /// The next part of the same begins: what takes long and goes on does not hang.
    pub(crate) fn goes_on(&self) {
        self.change(|_| {});
    }

    /// The next part begins at `offset_bytes`, `len_bytes` long.
    pub(crate) fn at(&self, offset_bytes: u64, len_bytes: u32) {
        self.change(|step| (step.offset_bytes, step.len_bytes) = (Some(offset_bytes), len_bytes));
    }

    fn change(&self, change: impl FnOnce(&mut Step)) {
        let now_ns = RealClock::new().now_ns();
        if let Some(step) = self.preparation.steps().iter_mut().find(|step| step.number == self.number) {
            change(step);
            step.since_ns = now_ns;
        }
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.preparation.steps().retain(|step| step.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_seen_until_they_end() {
        let preparation = Preparation::default();
        let seen = || {
            let steps = preparation.under_way().into_iter();
            steps.map(|step| (step.operation, step.path, step.offset_bytes)).collect::<Vec<_>>()
        };
        let write = preparation.begins("write", "a");
        let open = preparation.begins("open", "b");
        assert_eq!(seen(), [("write", "a".to_owned(), None), ("open", "b".to_owned(), None)]);
        // What goes on is younger than what does not.
        write.at(4096, 512);
        assert_eq!(seen(), [("open", "b".to_owned(), None), ("write", "a".to_owned(), Some(4096))]);
        drop(open);
        open_and_close(&preparation);
        assert_eq!(seen().len(), 1);
        drop(write);
        assert!(seen().is_empty());
    }

    fn open_and_close(preparation: &Preparation) {
        let open = preparation.begins("open", "c");
        open.goes_on();
    }
}
