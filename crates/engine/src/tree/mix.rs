//! Operations in a mix: each thread draws, claims, does, until its time or its part is over.

use assay_workload::tree::{Cursors, Next, TreeGenerator, TreeOperation};

use super::session::Use;
use super::worker::Worker;

/// Sleep of a thread that finds everything in use or nothing fit.
const PAUSE_NS: u64 = 20_000;
/// Without a time limit a thread gives up an operation that has found nothing for so long.
const FRUITLESS_NS: u64 = 2_000_000_000;
/// Draws before such a thread sleeps: another operation of the mix may find something.
const DRAWS: u32 = 16;

impl Worker<'_> {
    /// Draws and does the next operation when it is due; `false`: the thread is done.
    pub(super) fn next_of_mix(
        &mut self,
        generator: &mut TreeGenerator,
        cursors: &Cursors,
        turn: &mut usize,
    ) -> bool {
        if !self.meter.goes_on() {
            return false;
        }
        let Some(intended) = self.meter.arrive() else { return false };
        self.one_of_mix(generator, cursors, turn, intended)
    }

    /// Does one operation of the mix; `false`: there is none left.
    fn one_of_mix(
        &mut self,
        generator: &mut TreeGenerator,
        cursors: &Cursors,
        turn: &mut usize,
        intended: Option<u64>,
    ) -> bool {
        let mut since_ns = None;
        let mut draws = 0;
        loop {
            let operation = generator.draw_operation();
            let data = matches!(operation, TreeOperation::Read | TreeOperation::Write);
            if data && self.session.is_some() {
                self.block(operation, intended);
                return true;
            }
            let tree = *turn % self.job.own_trees();
            *turn += 1;
            let next = generator.next(operation, &self.job.trees[tree].state, cursors);
            let mut fit = false;
            match next {
                Next::Do(task) if data => {
                    let how = self.how(generator.reads_and_writes());
                    if self.open_session(tree, task.item, operation, how) {
                        self.block(operation, intended);
                    }
                    return true;
                }
                Next::Do(task) => {
                    let copies = matches!(operation, TreeOperation::Copy | TreeOperation::Move);
                    if !copies || self.claim_copy(tree, task.item) {
                        self.perform(tree, task, intended);
                        return true;
                    }
                }
                Next::Busy(_) => fit = true,
                Next::Unfit(_) => {}
                Next::Hopeless(_) => {
                    self.job.note_hopeless(operation, self.meter.ios());
                    if generator.end_operation(operation) {
                        return false;
                    }
                }
                Next::Ended(_) => {
                    if generator.end_operation(operation) {
                        return false;
                    }
                }
            }
            draws += 1;
            if draws % DRAWS != 0 {
                continue;
            }
            let now = self.meter.now_ns();
            let since = *since_ns.get_or_insert(now);
            let fruitless = now - since > FRUITLESS_NS && self.meter.deadline_ns().is_none();
            if fruitless && !fit {
                self.job.note_fruitless(operation);
                if generator.end_operation(operation) {
                    return false;
                }
            }
            if !self.meter.wait_until(now + PAUSE_NS) {
                return false;
            }
        }
    }

    fn how(&self, both: bool) -> Use {
        let Some(tree) = &self.planned.tree else { return Use { both, ..Use::default() } };
        Use {
            both,
            random: tree.random_io,
            random_start: tree.random_start && !tree.random_io,
            anew: tree.delete_before_write && !both,
            shared: tree.files_shared,
            ios: tree.stop_after_ios,
            percent: tree.stop_after_percent,
        }
    }
}
