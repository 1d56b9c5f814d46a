//! What a thread does to a tree next: which operation, and on which file or directory.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    FileSelection, FileState, OperationSet, TreeError, TreeOperation, TreeState, TreeWorkload, Unavailable,
};
use crate::rng::{Rng, derive_seed};

/// Random tries before the files are searched in order: with a share `s` of suitable files all of them fail with
/// probability (1 - s)^this.
const RANDOM_TRIES: u32 = 64;

/// Where the threads of a job are in the order of the tree, an operation each.
#[derive(Debug)]
pub struct Cursors {
    next: [AtomicU64; TreeOperation::COUNT],
    /// Files or directories to be used per operation, of which the cursor is the count; `u64::MAX`: no end.
    passes: u64,
}

impl Cursors {
    /// Those of a job that ends after `passes` passes over the tree; `None`: something else ends it.
    pub fn new(tree: &TreeWorkload, seed: u64, passes: Option<u32>) -> Self {
        let mut rng = Rng::new(derive_seed(seed, 5));
        let start = |_| match tree.file_selection {
            // Far from the end of the numbers, so that it may be counted on from here.
            FileSelection::InOrderFromRandom => AtomicU64::new(rng.below(1 << 32)),
            _ => AtomicU64::new(0),
        };
        let once = tree.file_selection == FileSelection::Once;
        let passes = if once { Some(1) } else { passes };
        let next: [AtomicU64; TreeOperation::COUNT] = std::array::from_fn(start);
        if passes.is_some() {
            next.iter().for_each(|cursor| cursor.store(0, Ordering::Relaxed));
        }
        Cursors { next, passes: passes.map_or(u64::MAX, u64::from) }
    }
}

/// Something to do, with what it is done to claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// The operation.
    pub operation: TreeOperation,
    /// The file or directory.
    pub item: u64,
    /// Where a copy or move goes, if within the tree: the file, and whether it exists.
    pub destination: Option<(u64, bool)>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// This.
    Do(Task),
    /// Nothing at the moment: other threads use everything that could be had.
    Busy(TreeOperation),
    /// Nothing is in the condition the operation needs, but it may come to be.
    Unfit(TreeOperation),
    /// Nothing, and it stays so: nobody makes what is missing.
    Hopeless(TreeOperation),
    /// Nothing more: the passes are done.
    Ended(TreeOperation),
}

/// Draws operations and chooses their files for one thread.
#[derive(Debug)]
pub struct TreeGenerator {
    tree: TreeWorkload,
    /// Cumulative shares on 64 bits.
    operations: Vec<(u64, TreeOperation)>,
    ended: OperationSet,
    /// Files must have their full size to be read and written: at random, or both at once.
    only_full: bool,
    /// In a job of passes, what was in use when its turn came, for each operation: it is tried again.
    held_back: [Option<u64>; TreeOperation::COUNT],
    rng: Rng,
}

impl TreeGenerator {
    /// For one thread with its seed; `read_share` (0 to 1) is that of the job's mix.
    ///
    /// # Errors
    /// [`TreeError`] as [`TreeWorkload::weighted_operations`] says.
    pub fn new(tree: &TreeWorkload, read_share: f64, seed: u64) -> Result<Self, TreeError> {
        let weighted = tree.weighted_operations(read_share)?;
        let total: f64 = weighted.iter().map(|entry| entry.1).sum();
        let mut share = 0.0;
        let operations = weighted.iter().map(|(operation, weight)| {
            share += weight / total;
            ((share * u64::MAX as f64) as u64, *operation)
        });
        let all: OperationSet = weighted.iter().map(|entry| entry.0).collect();
        let both = all.contains(TreeOperation::Read) && all.contains(TreeOperation::Write);
        Ok(TreeGenerator {
            operations: operations.collect(),
            tree: tree.clone(),
            ended: OperationSet::default(),
            only_full: tree.random_io || both,
            held_back: [None; TreeOperation::COUNT],
            rng: Rng::new(seed),
        })
    }

    /// The next operation of the mix; one of those that have not ended, unless all have.
    pub fn draw_operation(&mut self) -> TreeOperation {
        if let [(_, operation)] = self.operations[..] {
            return operation;
        }
        let last = self.operations.len() - 1;
        for _ in 0..RANDOM_TRIES {
            let draw = self.rng.next_u64();
            let index = self.operations.partition_point(|entry| entry.0 < draw).min(last);
            let operation = self.operations[index].1;
            if !self.ended.contains(operation) {
                return operation;
            }
        }
        let open = self.operations.iter().find(|entry| !self.ended.contains(entry.1));
        open.unwrap_or(&self.operations[last]).1
    }

    /// Whether the job both reads and writes.
    pub fn reads_and_writes(&self) -> bool {
        let has = |operation| self.operations.iter().any(|entry| entry.1 == operation);
        has(TreeOperation::Read) && has(TreeOperation::Write)
    }

    /// The generator of everything else that is random in this thread.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Notes that `operation` has come to its end; whether all operations have.
    pub fn end_operation(&mut self, operation: TreeOperation) -> bool {
        self.ended.insert(operation);
        self.operations.iter().all(|entry| self.ended.contains(entry.1))
    }

    /// Claims something to do `operation` to.
    pub fn next(&mut self, operation: TreeOperation, state: &TreeState, cursors: &Cursors) -> Next {
        if state.hopeless(operation) {
            return Next::Hopeless(operation);
        }
        if operation.on_directories() {
            self.next_directory(operation, state, cursors)
        } else {
            self.next_file(operation, state, cursors)
        }
    }

    fn next_directory(&mut self, operation: TreeOperation, state: &TreeState, cursors: &Cursors) -> Next {
        let count = state.layout().directories();
        // Those at the bottom can be removed first.
        let place = |index: u64| if operation == TreeOperation::Rmdir { count - 1 - index } else { index };
        let take = |index: u64| state.claim_directory(place(index), operation).map(|()| (place(index), None));
        self.search(operation, count, cursors, take)
    }

    fn next_file(&mut self, operation: TreeOperation, state: &TreeState, cursors: &Cursors) -> Next {
        let count = state.layout().working_files();
        let data = matches!(operation, TreeOperation::Read | TreeOperation::Write);
        let shared = self.tree.files_shared && data;
        let wanted = match self.tree.file_state {
            FileState::Any if data && self.only_full => FileState::Full,
            asked => asked,
        };
        let moves = matches!(operation, TreeOperation::Copy | TreeOperation::Move);
        let within = moves && self.tree.copy_to.is_none();
        let mut rng = Rng::new(if within { self.rng.next_u64() } else { 0 });
        let take = |file: u64| {
            state.claim_file(file, operation, wanted, shared)?;
            if !within {
                return Ok((file, None));
            }
            let mut why = Unavailable::Unfit;
            for _ in 0..RANDOM_TRIES {
                let other = rng.below(count);
                match state.claim_destination(other) {
                    Ok(exists) => return Ok((file, Some((other, exists)))),
                    Err(Unavailable::Busy) => why = Unavailable::Busy,
                    Err(Unavailable::Unfit) => {}
                }
            }
            state.release_file(file);
            Err(why)
        };
        self.search(operation, count, cursors, take)
    }

    /// Tries items of `0..count` in the order of the job until one can be taken.
    fn search(
        &mut self,
        operation: TreeOperation,
        count: u64,
        cursors: &Cursors,
        mut take: impl FnMut(u64) -> Result<(u64, Option<(u64, bool)>), Unavailable>,
    ) -> Next {
        let end = cursors.passes.saturating_mul(count);
        let cursor = &cursors.next[operation as usize];
        if end < u64::MAX {
            return self.search_pass(operation, (cursor, count, end), take);
        }
        let mut busy = false;
        let mut attempt = |item: u64| match take(item) {
            Ok((item, destination)) => Some(Next::Do(Task { operation, item, destination })),
            Err(why) => {
                busy |= why == Unavailable::Busy;
                None
            }
        };
        let mut found = None;
        if !self.at_random() {
            for _ in 0..count {
                found = attempt(cursor.fetch_add(1, Ordering::Relaxed) % count);
                if found.is_some() {
                    break;
                }
            }
        } else if count > 0 {
            for _ in 0..RANDOM_TRIES {
                found = attempt(self.draw(count));
                if found.is_some() {
                    break;
                }
            }
            let start = self.rng.below(count);
            for step in 0..if found.is_some() { 0 } else { count } {
                found = attempt((start + step) % count);
                if found.is_some() {
                    break;
                }
            }
        }
        found.unwrap_or(if busy { Next::Busy(operation) } else { Next::Unfit(operation) })
    }

    /// As [`TreeGenerator::search`] where each item has its turn: one that is in use then is waited for, one that is unfit
    /// is left out.
    fn search_pass(
        &mut self,
        operation: TreeOperation,
        (cursor, count, end): (&AtomicU64, u64, u64),
        mut take: impl FnMut(u64) -> Result<(u64, Option<(u64, bool)>), Unavailable>,
    ) -> Next {
        let held_back = &mut self.held_back[operation as usize];
        loop {
            let index = held_back.take().unwrap_or_else(|| cursor.fetch_add(1, Ordering::Relaxed));
            if index >= end {
                return Next::Ended(operation);
            }
            match take(index % count) {
                Ok((item, destination)) => return Next::Do(Task { operation, item, destination }),
                Err(Unavailable::Unfit) => {}
                Err(Unavailable::Busy) => {
                    *held_back = Some(index);
                    return Next::Busy(operation);
                }
            }
        }
    }

    fn at_random(&self) -> bool {
        matches!(self.tree.file_selection, FileSelection::Random | FileSelection::Skewed { .. })
    }

    fn draw(&mut self, count: u64) -> u64 {
        match self.tree.file_selection {
            FileSelection::Skewed { midpoint } => {
                // Beyond the last file it begins again, as the distribution of addresses of that name does.
                (self.rng.exponential() * (count as f64 / midpoint)) as u64 % count
            }
            _ => self.rng.below(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TreeLayout;
    use super::*;

    fn tree(operations: &[(&str, f64)]) -> TreeWorkload {
        TreeWorkload {
            width: 2,
            depth: 2,
            files: 10,
            sizes: vec![(4096, 1.0)],
            operations: operations.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect(),
            ..TreeWorkload::default()
        }
    }

    fn full_state(tree: &TreeWorkload) -> TreeState {
        let active: OperationSet =
            tree.weighted_operations(1.0).unwrap().into_iter().map(|entry| entry.0).collect();
        let state = TreeState::new(TreeLayout::new(tree).unwrap(), active);
        (0..state.layout().directories()).for_each(|directory| state.found_directory(directory));
        (0..state.layout().files()).for_each(|file| state.found_file(file, 4096));
        state
    }

    fn items(tree: &TreeWorkload, operation: TreeOperation, number: usize, passes: Option<u32>) -> Vec<u64> {
        let state = full_state(tree);
        let cursors = Cursors::new(tree, 1, passes);
        let mut generator = TreeGenerator::new(tree, 1.0, 1).unwrap();
        let mut list = Vec::new();
        while list.len() < number {
            match generator.next(operation, &state, &cursors) {
                Next::Do(task) => {
                    list.push(task.item);
                    state.release_file(task.item);
                }
                _ => break,
            }
        }
        list
    }

    #[test]
    fn weights_are_kept() {
        let mut generator =
            TreeGenerator::new(&tree(&[("getattr", 30.0), ("access", 70.0)]), 1.0, 7).unwrap();
        let n = 20_000;
        let drawn = (0..n).filter(|_| generator.draw_operation() == TreeOperation::Getattr).count();
        // 6000 expected, standard deviation 65: five of them.
        assert!((5675..6325).contains(&drawn), "{drawn}");
        let error = TreeGenerator::new(&tree(&[("chmod", 1.0)]), 1.0, 7).unwrap_err();
        assert_eq!(error.to_string(), "'chmod' is not an operation on trees");
        assert!(TreeGenerator::new(&tree(&[("read", 0.0)]), 1.0, 7).is_err());
    }

    #[test]
    fn what_has_ended_is_not_drawn() {
        let mut generator = TreeGenerator::new(&tree(&[("getattr", 99.9), ("access", 0.1)]), 1.0, 7).unwrap();
        assert!(!generator.end_operation(TreeOperation::Getattr));
        assert!((0..100).all(|_| generator.draw_operation() == TreeOperation::Access));
        assert!(generator.end_operation(TreeOperation::Access));
    }

    #[test]
    fn orders_are_as_named() {
        let in_order = tree(&[("getattr", 1.0)]);
        assert_eq!(items(&in_order, TreeOperation::Getattr, 41, None)[38..], [38, 39, 0]);
        let once = TreeWorkload { file_selection: FileSelection::Once, ..in_order.clone() };
        assert_eq!(items(&once, TreeOperation::Getattr, 100, None), (0..40).collect::<Vec<_>>());
        assert_eq!(items(&in_order, TreeOperation::Getattr, 100, Some(2)).len(), 80);
        let from = TreeWorkload { file_selection: FileSelection::InOrderFromRandom, ..in_order.clone() };
        let list = items(&from, TreeOperation::Getattr, 100, None);
        assert!(list.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 40));
        let random = TreeWorkload { file_selection: FileSelection::Random, ..in_order.clone() };
        let list = items(&random, TreeOperation::Getattr, 400, None);
        assert!((0..40).all(|file| list.contains(&file)) && list[..40] != (0..40).collect::<Vec<_>>());
        let working = TreeWorkload { working_set_bytes: Some(5 * 4096), ..random };
        assert!(items(&working, TreeOperation::Getattr, 100, None).iter().all(|file| *file < 5));
    }

    #[test]
    fn a_skewed_choice_falls_off() {
        let skewed = TreeWorkload {
            file_selection: FileSelection::Skewed { midpoint: 4.0 },
            ..tree(&[("access", 1.0)])
        };
        let list = items(&skewed, TreeOperation::Access, 4000, None);
        let first = list.iter().filter(|file| **file < 10).count() as f64 / 4000.0;
        // 1 - 1/e of the draws, and 1.2 % from beyond the end; standard deviation 0.8 %.
        assert!((0.60..0.69).contains(&first), "{first}");
    }

    #[test]
    fn everything_is_removed_from_the_bottom_and_made_again() {
        let both = tree(&[("delete", 1.0), ("rmdir", 1.0), ("mkdir", 1.0), ("create", 1.0)]);
        let state = full_state(&both);
        let mut generator = TreeGenerator::new(&both, 1.0, 1).unwrap();
        let mut all = |operation: TreeOperation, done: &dyn Fn(u64)| {
            let cursors = Cursors::new(&both, 1, Some(1));
            let mut number = 0;
            while let Next::Do(task) = generator.next(operation, &state, &cursors) {
                done(task.item);
                number += 1;
            }
            number
        };
        assert_eq!(all(TreeOperation::Rmdir, &|_| ()), 0, "they are full");
        assert_eq!(all(TreeOperation::Delete, &|file| state.release_absent(file)), 40);
        assert_eq!(all(TreeOperation::Rmdir, &|directory| state.removed_directory(directory)), 6);
        assert_eq!(all(TreeOperation::Create, &|_| ()), 0, "without directories");
        assert_eq!(all(TreeOperation::Mkdir, &|directory| state.made_directory(directory)), 6);
        assert_eq!(all(TreeOperation::Create, &|file| state.release_written(file, 0)), 40);
    }

    #[test]
    fn copies_have_a_destination_of_their_own() {
        let copy = tree(&[("copy", 1.0)]);
        let state = full_state(&copy);
        let mut generator = TreeGenerator::new(&copy, 1.0, 3).unwrap();
        let cursors = Cursors::new(&copy, 1, None);
        let Next::Do(task) = generator.next(TreeOperation::Copy, &state, &cursors) else { panic!() };
        let (other, exists) = task.destination.unwrap();
        assert!(other != task.item && exists);
        assert_eq!(state.claim_destination(other), Err(Unavailable::Busy));
    }

    #[test]
    fn in_a_pass_what_is_in_use_is_waited_for() {
        let pass = tree(&[("getattr", 1.0)]);
        let state = full_state(&pass);
        let mut generator = TreeGenerator::new(&pass, 1.0, 1).unwrap();
        let cursors = Cursors::new(&pass, 1, Some(1));
        state.claim_file(0, TreeOperation::Write, FileState::Any, false).unwrap();
        for _ in 0..3 {
            let next = generator.next(TreeOperation::Getattr, &state, &cursors);
            assert_eq!(next, Next::Busy(TreeOperation::Getattr));
        }
        state.release_file(0);
        let Next::Do(task) = generator.next(TreeOperation::Getattr, &state, &cursors) else { panic!() };
        assert_eq!(task.item, 0);
    }

    #[test]
    fn busy_and_unfit_are_told_apart() {
        let read = tree(&[("read", 1.0), ("write", 1.0)]);
        let state = full_state(&read);
        let mut generator = TreeGenerator::new(&read, 0.5, 1).unwrap();
        let cursors = Cursors::new(&read, 1, None);
        for _ in 0..40 {
            assert!(matches!(generator.next(TreeOperation::Read, &state, &cursors), Next::Do(_)));
        }
        let next = generator.next(TreeOperation::Read, &state, &cursors);
        assert_eq!(next, Next::Busy(TreeOperation::Read));
        let empty = TreeWorkload { file_state: FileState::Empty, ..read };
        let mut generator = TreeGenerator::new(&empty, 0.5, 1).unwrap();
        let next = generator.next(TreeOperation::Write, &state, &cursors);
        assert_eq!(next, Next::Unfit(TreeOperation::Write));
    }
}
