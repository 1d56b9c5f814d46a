//! What the records of a journal say together: of each key block the last acknowledged write and the last one of all.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_workload::block;

use super::record::{JournaledTarget, Kind, Record};
use crate::validate::zeroed::zeroed;

/// Completed writes that wait for a flush, from which on only the last one of each key block is kept.
const PENDING_MIN: usize = 1 << 20;
/// The bit of what is acknowledged that says that the content is not known.
const UNKNOWN: u32 = 1 << 31;

/// What is known of a key block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyState {
    /// The last write that was acknowledged; where the content became unknown later, the write that did that. 0: none.
    acknowledged: u32,
    unknown: bool,
    /// The last write that was to be handed over; 0: none.
    pub(crate) last: u32,
}

impl KeyState {
    fn unpack(word: u64) -> KeyState {
        let first = word as u32;
        KeyState { acknowledged: first & !UNKNOWN, unknown: first & UNKNOWN != 0, last: (word >> 32) as u32 }
    }

    fn pack(self) -> u64 {
        let first = self.acknowledged | if self.unknown { UNKNOWN } else { 0 };
        u64::from(first) | u64::from(self.last) << 32
    }

    /// The write that the storage must not lose; 0: none.
    pub(crate) fn acknowledged(self) -> u32 {
        if self.unknown { 0 } else { self.acknowledged }
    }

    /// Whether a write may be there that was not acknowledged.
    pub(crate) fn in_flight(self) -> bool {
        self.last != 0 && self.last != self.acknowledged
    }

    fn acknowledge(&mut self, generation: u32) {
        if self.acknowledged == 0 || block::is_newer(generation, self.acknowledged) {
            (self.acknowledged, self.unknown) = (generation, false);
        }
        if self.last == 0 {
            self.last = generation;
        }
    }
}

/// The key blocks of a target.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    words: Box<[u64]>,
    /// Those outside were never changed. A target may be large and its journal small: looking at all of them takes long.
    changed: Range<usize>,
}

impl Keys {
    /// `None`: there is no memory for so many.
    fn new(count: usize) -> Option<Keys> {
        // The kernel gives the memory when it is touched first.
        let words = if count == 0 { Box::default() } else { zeroed(count as u64)? };
        Some(Keys { words, changed: 0..0 })
    }

    pub(crate) fn get(&self, key: usize) -> KeyState {
        KeyState::unpack(self.words.get(key).copied().unwrap_or(0))
    }

    /// How many are in such a state; none that nothing happened to is.
    pub(super) fn count(&self, is: impl Fn(KeyState) -> bool) -> u64 {
        self.words[self.changed.clone()].iter().filter(|word| is(KeyState::unpack(**word))).count() as u64
    }

    fn change(&mut self, record: Record, change: impl Fn(&mut KeyState)) {
        let from = usize::try_from(record.key).unwrap_or(usize::MAX).min(self.words.len());
        let to = from.saturating_add(record.count as usize).min(self.words.len());
        if from == to {
            return;
        }
        self.changed = match self.changed.is_empty() {
            true => from..to,
            false => self.changed.start.min(from)..self.changed.end.max(to),
        };
        for word in &mut self.words[from..to] {
            let mut state = KeyState::unpack(*word);
            change(&mut state);
            *word = state.pack();
        }
    }

    /// Key blocks of one state one behind the other, those that nothing happened to left out.
    fn runs(&self) -> impl Iterator<Item = (Range<usize>, KeyState)> + '_ {
        let (mut from, end) = (self.changed.start, self.changed.end);
        std::iter::from_fn(move || {
            from += self.words[from..end].iter().position(|word| *word != 0)?;
            let word = self.words[from];
            let same = |other: &&u64| **other == word;
            let length = self.words[from..end].iter().take_while(same).count().min(u32::MAX as usize);
            let run = from..from + length;
            from = run.end;
            Some((run, KeyState::unpack(word)))
        })
    }
}

#[derive(Debug, Default)]
struct Target {
    keys: Keys,
    /// Writes that have completed and were not flushed, in their order.
    pending: Vec<Record>,
    /// Of `pending`, from which length on only the last write of each key block is kept.
    settle_at: usize,
    /// How much of `pending` the flushes that were begun cover, by their number.
    flushes: BTreeMap<u64, usize>,
}

impl Target {
    fn new(target: &JournaledTarget) -> Option<Target> {
        let keys = Keys::new(target.key_blocks())?;
        Some(Target { keys, settle_at: PENDING_MIN, ..Target::default() })
    }

    fn apply(&mut self, record: Record) {
        let generation = record.generation;
        let is_of_write =
            matches!(record.kind, Kind::Issued | Kind::Completed | Kind::Acknowledged | Kind::Unknown);
        if is_of_write && !(1..=block::GENERATION_MAX).contains(&generation) {
            // No run has such a write: the journal was made up.
            return;
        }
        match record.kind {
            Kind::Issued => self.keys.change(record, |key| key.last = generation),
            Kind::Completed => {
                self.pending.push(record);
                if self.pending.len() >= self.settle_at && self.flushes.is_empty() {
                    self.settle();
                }
            }
            Kind::Acknowledged => self.keys.change(record, |key| key.acknowledge(generation)),
            Kind::Unknown => self.keys.change(record, |key| {
                *key = KeyState { acknowledged: generation, unknown: true, last: generation };
            }),
            Kind::FlushBegun => {
                self.flushes.insert(record.key, self.pending.len());
            }
            Kind::FlushDone => {
                if let Some(covered) = self.flushes.remove(&record.key) {
                    self.flushed(covered);
                }
            }
            Kind::FlushFailed => {
                self.flushes.remove(&record.key);
                self.pending.clear();
                self.flushes.values_mut().for_each(|covered| *covered = 0);
            }
        }
    }

    fn flushed(&mut self, covered: usize) {
        for record in self.pending.drain(..covered.min(self.pending.len())) {
            self.keys.change(record, |key| key.acknowledge(record.generation));
        }
        self.flushes.values_mut().for_each(|other| *other = other.saturating_sub(covered));
    }

    /// Forgets all but the last completed write of each key block: no flush is under way that could cover another one.
    fn settle(&mut self) {
        let mut last: BTreeMap<u64, Record> = BTreeMap::new();
        for record in self.pending.drain(..) {
            for key in record.key..record.key + u64::from(record.count) {
                last.insert(key, Record { key, count: 1, ..record });
            }
        }
        for record in last.into_values() {
            match self.pending.last_mut() {
                Some(before)
                    if before.generation == record.generation
                        && before.key + u64::from(before.count) == record.key =>
                {
                    before.count += 1;
                }
                _ => self.pending.push(record),
            }
        }
        self.settle_at = PENDING_MIN.max(2 * self.pending.len());
    }

    /// Records that say the same.
    fn tell(&self, index: u16, emit: &mut dyn FnMut(Record)) {
        for (run, state) in self.keys.runs() {
            let record = |kind, generation| Record {
                kind,
                target: index,
                key: run.start as u64,
                count: run.len() as u32,
                generation,
            };
            match state.acknowledged {
                0 => {}
                generation if state.unknown => emit(record(Kind::Unknown, generation)),
                generation => emit(record(Kind::Acknowledged, generation)),
            }
            if state.in_flight() {
                emit(record(Kind::Issued, state.last));
            }
        }
        let mut flushes: Vec<(usize, u64)> =
            self.flushes.iter().map(|(flush, covered)| (*covered, *flush)).collect();
        flushes.sort_unstable();
        let mut flushes = flushes.into_iter().peekable();
        for number in 0..=self.pending.len() {
            while let Some((_, flush)) = flushes.next_if(|(covered, _)| *covered == number) {
                emit(Record { kind: Kind::FlushBegun, target: index, key: flush, count: 0, generation: 0 });
            }
            if let Some(record) = self.pending.get(number) {
                emit(*record);
            }
        }
    }
}

/// What a journal says.
#[derive(Debug)]
pub(super) struct State {
    targets: Vec<Target>,
}

impl State {
    /// `None`: there is no memory for so many key blocks.
    pub(super) fn new(targets: &[JournaledTarget]) -> Option<State> {
        Some(State { targets: targets.iter().map(Target::new).collect::<Option<_>>()? })
    }

    /// Takes the next record into account.
    pub(super) fn apply(&mut self, record: Record) {
        if let Some(target) = self.targets.get_mut(usize::from(record.target)) {
            target.apply(record);
        }
    }

    /// The fewest records that say the same as all that were applied.
    pub(super) fn tell(&self, emit: &mut dyn FnMut(Record)) {
        for (index, target) in self.targets.iter().enumerate() {
            target.tell(index as u16, emit);
        }
    }

    /// The key blocks of each target.
    pub(super) fn into_keys(self) -> Vec<Keys> {
        self.targets.into_iter().map(|target| target.keys).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> JournaledTarget {
        JournaledTarget {
            number: 0,
            name: "data".to_owned(),
            path: "/data".to_owned(),
            key_block_bytes: 4096,
            end_bytes: 10 * 4096,
            buffered: false,
        }
    }

    fn record(kind: Kind, key: u64, count: u32, generation: u32) -> Record {
        Record { kind, target: 0, key, count, generation }
    }

    fn after(records: &[Record]) -> State {
        let mut state = State::new(&[target()]).unwrap();
        records.iter().for_each(|record| state.apply(*record));
        state
    }

    /// Acknowledged and last write of a key block.
    fn known(state: &State, key: usize) -> (u32, u32) {
        let key = state.targets[0].keys.get(key);
        (key.acknowledged(), key.last)
    }

    #[test]
    fn what_no_run_can_have_written_says_nothing() {
        use Kind::{Acknowledged, Completed, FlushBegun, FlushDone, Issued, Unknown};
        let mut records = vec![record(Issued, 0, 1, 1), record(Acknowledged, 0, 1, 1)];
        for generation in [0, block::GENERATION_MAX + 1, u32::MAX] {
            records.extend(
                [Issued, Completed, Acknowledged, Unknown].map(|kind| record(kind, 0, 2, generation)),
            );
            records.extend([record(FlushBegun, 7, 0, 0), record(FlushDone, 7, 0, 0)]);
        }
        let state = after(&records);
        assert_eq!((known(&state, 0), known(&state, 1)), ((1, 1), (0, 0)));
    }

    #[test]
    fn only_what_was_changed_is_counted_and_told() {
        let mut state = after(&[]);
        let told = |state: &State| {
            let mut told = Vec::new();
            state.tell(&mut |record| told.push((record.key, record.count)));
            told
        };
        assert_eq!((told(&state), state.targets[0].keys.count(|_| true)), (Vec::new(), 0));
        for key in [6, 4, 20] {
            state.apply(record(Kind::Acknowledged, key, 1, 1));
        }
        let keys = &state.targets[0].keys;
        assert_eq!((keys.changed.clone(), keys.count(|key| key.acknowledged() == 1)), (4..7, 2));
        assert_eq!(told(&state), [(4, 1), (6, 1)]);
    }

    #[test]
    fn a_flush_acknowledges_what_had_completed_when_it_began() {
        use Kind::{Completed, FlushBegun, FlushDone, Issued};
        let mut records = vec![
            record(Issued, 0, 1, 1),
            record(Completed, 0, 1, 1),
            record(Issued, 1, 2, 1),
            record(FlushBegun, 7, 0, 0),
            record(Completed, 1, 2, 1),
            record(Issued, 0, 1, 2),
            record(Completed, 0, 1, 2),
        ];
        assert_eq!([0, 1, 2, 3].map(|key| known(&after(&records), key)), [(0, 2), (0, 1), (0, 1), (0, 0)]);
        records.push(record(FlushDone, 7, 0, 0));
        assert_eq!([0, 1, 2].map(|key| known(&after(&records), key)), [(1, 2), (0, 1), (0, 1)]);
        records.extend([record(FlushBegun, 8, 0, 0), record(FlushDone, 8, 0, 0)]);
        assert_eq!([0, 1, 2].map(|key| known(&after(&records), key)), [(2, 2), (1, 1), (1, 1)]);
        assert!(!after(&records).targets[0].keys.get(0).in_flight());
    }

    #[test]
    fn flushes_may_overlap_and_one_that_fails_says_nothing_of_what_came_before_it() {
        use Kind::{Completed, FlushBegun, FlushDone, FlushFailed};
        let records = [
            record(Completed, 0, 1, 1),
            record(FlushBegun, 1, 0, 0),
            record(Completed, 1, 1, 1),
            record(FlushBegun, 2, 0, 0),
            record(Completed, 2, 1, 1),
            record(FlushDone, 2, 0, 0),
            record(FlushDone, 1, 0, 0),
        ];
        assert_eq!([0, 1, 2].map(|key| known(&after(&records), key).0), [1, 1, 0]);
        let mut records = records.to_vec();
        records[5].kind = FlushFailed;
        records.extend([record(FlushBegun, 3, 0, 0), record(FlushDone, 3, 0, 0)]);
        assert_eq!([0, 1, 2].map(|key| known(&after(&records), key).0), [0, 0, 0]);
        records.extend([record(Completed, 0, 1, 2), record(FlushBegun, 4, 0, 0), record(FlushDone, 4, 0, 0)]);
        assert_eq!(known(&after(&records), 0).0, 2);
    }

    #[test]
    fn what_is_unknown_is_so_until_a_later_write_is_acknowledged() {
        use Kind::{Acknowledged, Completed, FlushBegun, FlushDone, Issued, Unknown};
        let mut records = vec![
            record(Completed, 0, 1, 1),
            record(FlushBegun, 1, 0, 0),
            record(Unknown, 0, 2, 2),
            record(FlushDone, 1, 0, 0),
        ];
        assert_eq!([0, 1].map(|key| known(&after(&records), key)), [(0, 2), (0, 2)]);
        records.push(record(Issued, 0, 1, 3));
        assert_eq!(known(&after(&records), 0), (0, 3));
        records.push(record(Acknowledged, 0, 1, 3));
        assert_eq!([0, 1].map(|key| known(&after(&records), key)), [(3, 3), (0, 2)]);
        // Generations begin again.
        let max = block::GENERATION_MAX;
        let around = after(&[record(Acknowledged, 5, 1, max), record(Acknowledged, 5, 1, 1)]);
        assert_eq!(known(&around, 5).0, 1);
    }

    #[test]
    fn what_is_not_in_the_target_is_left_out() {
        let state = after(&[
            record(Kind::Acknowledged, 9, 5, 1),
            record(Kind::Acknowledged, 1 << 40, 5, 1),
            Record { target: 3, ..record(Kind::Issued, 0, 1, 1) },
            record(Kind::FlushDone, 99, 0, 0),
        ]);
        assert_eq!((known(&state, 9), known(&state, 0)), ((1, 1), (0, 0)));
    }

    #[test]
    fn a_snapshot_says_the_same_also_of_what_comes_later() {
        use Kind::{Acknowledged, Completed, FlushBegun, FlushDone, FlushFailed, Issued, Unknown};
        let kinds = [Issued, Completed, Acknowledged, Unknown, FlushBegun, FlushDone, FlushFailed];
        let mut rng = assay_workload::rng::Rng::new(7);
        for _ in 0..300 {
            let mut draw = |generation: u32| {
                let kind = kinds[rng.below(7) as usize];
                let is_flush = matches!(kind, FlushBegun | FlushDone | FlushFailed);
                let key = rng.below(if is_flush { 4 } else { 8 });
                record(kind, key, if is_flush { 0 } else { 1 + rng.below(2) as u32 }, generation)
            };
            let records: Vec<Record> = (1..60).map(&mut draw).collect();
            let (before, later) = records.split_at(40);
            let mut short = Vec::new();
            after(before).tell(&mut |record| short.push(record));
            assert!(short.len() <= before.len() + 10);
            let mut settled = after(before);
            if settled.targets[0].flushes.is_empty() {
                settled.targets[0].settle();
            }
            for known_by in [after(&short), settled] {
                let mut all = after(before);
                let mut same = known_by;
                for record in later {
                    all.apply(*record);
                    same.apply(*record);
                    let states = |state: &State| (0..10).map(|key| known(state, key)).collect::<Vec<_>>();
                    assert_eq!(states(&all), states(&same), "{before:?} {later:?}");
                }
            }
        }
    }
}
