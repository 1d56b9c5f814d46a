//! Preparing and removing a tree: steps in order, each done by all threads together before the next begins.

use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_workload::tree::{FileState, Task, TreeOperation};

use super::session::Use;
use super::worker::Worker;
use super::{Tree, scan};

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    /// An operation on these files or directories, each once.
    Each(TreeOperation, Range<u64>),
    /// Removes what a tree of another shape left.
    Sweep,
}

/// One step on one tree.
#[derive(Debug)]
struct Step {
    tree: usize,
    work: Work,
    next: AtomicU64,
}

/// All steps of a job.
#[derive(Debug)]
pub(super) struct Steps {
    list: Vec<Step>,
    barrier: Barrier,
}

impl Steps {
    /// `operations` in their order on each of `trees`, by `threads` threads.
    pub(super) fn new(trees: &[&Tree], operations: &[TreeOperation], threads: usize) -> Self {
        let mut list = Vec::new();
        for (tree, held) in trees.iter().enumerate() {
            let works = operations.iter().enumerate().flat_map(|(index, operation)| {
                let anew = index == 0 && operations.get(1) == Some(&TreeOperation::Mkdir);
                works(held, *operation, anew)
            });
            list.extend(works.map(|work| {
                let first = if let Work::Each(_, range) = &work { range.start } else { 0 };
                Step { tree, work, next: AtomicU64::new(first) }
            }));
        }
        Steps { list, barrier: Barrier::new(threads) }
    }
}

/// The steps of one operation; with `anew` a leading `delete` removes directories too.
fn works(tree: &Tree, operation: TreeOperation, anew: bool) -> Vec<Work> {
    let layout = tree.state.layout();
    let levels = || 1..=layout.depth();
    let level = |operation, level| Work::Each(operation, layout.level(level));
    match operation {
        TreeOperation::Mkdir => levels().map(|n| level(operation, n)).collect(),
        TreeOperation::Rmdir => levels().rev().map(|n| level(operation, n)).collect(),
        TreeOperation::Delete => {
            let mut list = vec![Work::Each(operation, 0..layout.files()), Work::Sweep];
            if anew {
                list.extend(levels().rev().map(|n| level(TreeOperation::Rmdir, n)));
            }
            list
        }
        other => vec![Work::Each(other, 0..layout.files())],
    }
}

impl Worker<'_> {
    /// Does this thread's part of all steps. Every thread of the job comes to every barrier, whatever happened to it.
    pub(super) fn run_steps(&mut self, steps: &Steps) {
        for step in &steps.list {
            match &step.work {
                Work::Each(operation, range) => {
                    while self.goes_on() {
                        let item = step.next.fetch_add(1, Ordering::Relaxed);
                        if item >= range.end || !self.one_step(step.tree, *operation, item) {
                            break;
                        }
                    }
                }
                Work::Sweep => {
                    if self.wait_for_others(steps) && self.goes_on() {
                        self.sweep(step.tree);
                    }
                }
            }
            self.wait_for_others(steps);
        }
    }

    /// Waits until all threads of the job have come here; whether this one goes ahead.
    fn wait_for_others(&self, steps: &Steps) -> bool {
        self.meter.doing().waits_for_others(self.meter.now_ns());
        let leads = steps.barrier.wait().is_leader();
        self.meter.doing().ends();
        leads
    }

    fn goes_on(&self) -> bool {
        if self.meter.is_fatal() {
            self.job.give_up();
        }
        !self.job.gave_up() && self.meter.goes_on()
    }

    /// Does one operation to one item, if it is in a condition for it; `false`: the thread is done.
    fn one_step(&mut self, tree: usize, operation: TreeOperation, item: u64) -> bool {
        let state = &self.job.trees[tree].state;
        let claimed = if operation.on_directories() {
            state.claim_directory(item, operation)
        } else {
            let wanted = if operation == TreeOperation::Write { FileState::NotFull } else { FileState::Any };
            state.claim_file(item, operation, wanted, false)
        };
        if claimed.is_err() {
            return true;
        }
        if matches!(operation, TreeOperation::Read | TreeOperation::Write) {
            return self.whole_file(tree, item, operation);
        }
        if matches!(operation, TreeOperation::Copy | TreeOperation::Move) && !self.claim_copy(tree, item) {
            return true;
        }
        let Some(intended) = self.meter.arrive() else {
            self.release(tree, operation, item);
            return false;
        };
        self.perform(tree, Task { operation, item, destination: None }, intended);
        true
    }

    /// Claims the place in the other tree that a copy goes to; else releases the source.
    pub(super) fn claim_copy(&mut self, tree: usize, item: u64) -> bool {
        let Some(to) = self.job.copy_to else { return true };
        let claimed = self.job.trees[to].state.claim_destination(item).is_ok();
        if !claimed {
            self.job.trees[tree].state.release_file(item);
        }
        claimed
    }

    /// Gives back what was claimed for an operation that is not done after all.
    pub(super) fn release(&mut self, tree: usize, operation: TreeOperation, item: u64) {
        let state = &self.job.trees[tree].state;
        match operation {
            TreeOperation::Mkdir => state.removed_directory(item),
            TreeOperation::Rmdir => state.made_directory(item),
            TreeOperation::Create => state.release_absent(item),
            _ => state.release_file(item),
        }
        if matches!(operation, TreeOperation::Copy | TreeOperation::Move)
            && let Some(to) = self.job.copy_to
        {
            self.job.trees[to].state.release_destination(item);
        }
    }

    fn whole_file(&mut self, tree: usize, item: u64, operation: TreeOperation) -> bool {
        if !self.open_session(tree, item, operation, Use::default()) {
            return true;
        }
        while self.session.is_some() {
            let arrived = if self.goes_on() { self.meter.arrive() } else { None };
            let Some(intended) = arrived else {
                self.close_session();
                return false;
            };
            self.block(operation, intended);
        }
        true
    }

    /// Removes what a tree of another shape left, and looks at the tree anew.
    fn sweep(&mut self, tree: usize) {
        let held = &self.job.trees[tree];
        if !held.has_leftovers() {
            return;
        }
        let go_on = || {
            self.meter.doing().sweeps(tree, self.meter.now_ns());
            self.meter.goes_on()
        };
        let swept = scan::sweep(&held.anchor, &go_on).and_then(|removed| {
            held.state.clear();
            held.look(&go_on)?;
            Ok(removed)
        });
        self.meter.doing().ends();
        let path = held.anchor.path().display();
        self.job.note(match swept {
            Ok(removed) => {
                format!("{path}: {removed} files and directories of a tree of another shape were removed")
            }
            Err(error) => format!("what a tree of another shape left could not be removed: {error}"),
        });
    }
}
