//! Which operations meet which faults, and the record of those that did.

use std::time::Duration;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// read(2) and its kin.
    Read,
    /// write(2) and its kin.
    Write,
    /// fsync(2), fdatasync(2).
    Flush,
}

/// What befalls an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this errno; nothing is moved or made durable.
    Error(i32),
    /// It moves this many bytes only, and says so.
    Short(u32),
    /// It is answered later.
    Delay(Duration),
    /// It is answered when those before it have been, and takes this long: storage that does one thing at a time.
    Queue(Duration),
    /// It is answered once [`crate::FaultFs::release`] is called.
    Hang,
    /// A write of which this many sectors arrive, from its start. It is acknowledged whole.
    Torn(u32),
    /// A write or flush that is acknowledged and not done.
    Lost,
    /// It reads from or writes to an offset this much higher.
    Misdirected(u64),
    /// A read of what was there before the last write to each byte.
    Stale,
    /// This bit of what is read or written is another, counted from its first byte's lowest.
    BitFlip(u64),
}

impl Fault {
    fn can_befall(self, op: Op) -> bool {
        match self {
            Fault::Error(_) | Fault::Delay(_) | Fault::Queue(_) | Fault::Hang => true,
            Fault::Short(_) | Fault::Misdirected(_) | Fault::BitFlip(_) => op != Op::Flush,
            Fault::Torn(_) => op == Op::Write,
            Fault::Lost => op != Op::Read,
            Fault::Stale => op == Op::Read,
        }
    }
}

/// When a rule fires, of the operations that it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Each time.
    Always,
    /// At the k-th, counted from 1, once.
    Nth(u64),
    /// At each k-th.
    Every(u64),
    /// With a probability, drawn from a generator of this seed.
    Chance {
        /// 0 to 1.
        probability: f64,
        /// Of the draws.
        seed: u64,
    },
}

/// Which operations meet a fault.
#[derive(Debug, Clone)]
pub struct Rule {
    op: Op,
    fault: Fault,
    when: When,
    file: Option<String>,
    range: std::ops::Range<u64>,
    at_most: u64,
    seen: u64,
    fired: u64,
    draws: Random,
}

impl Rule {
    /// Every `op` of every file meets `fault`.
    ///
    /// # Panics
    /// If the fault cannot befall the operation.
    pub fn new(op: Op, fault: Fault) -> Rule {
        assert!(fault.can_befall(op), "{fault:?} cannot befall a {op:?}");
        let (when, range, draws) = (When::Always, 0..u64::MAX, Random(0));
        Rule { op, fault, when, file: None, range, at_most: u64::MAX, seen: 0, fired: 0, draws }
    }

    /// Only then.
    #[must_use]
    pub fn when(self, when: When) -> Rule {
        let draws = if let When::Chance { seed, .. } = when { Random(seed) } else { self.draws };
        Rule { when, draws, ..self }
    }

    /// Only files that were made under this name.
    #[must_use]
    pub fn of_file(self, name: &str) -> Rule {
        Rule { file: Some(name.to_owned()), ..self }
    }

    /// Only reads and writes that touch these bytes; flushes touch none.
    #[must_use]
    pub fn at(self, range: std::ops::Range<u64>) -> Rule {
        Rule { range, ..self }
    }

    /// No more than this many times.
    #[must_use]
    pub fn times(self, at_most: u64) -> Rule {
        Rule { at_most, ..self }
    }

    fn is_about(&self, done: &Done<'_>) -> bool {
        let touches = self.range == (0..u64::MAX)
            || (done.offset < self.range.end && done.offset + u64::from(done.len) > self.range.start);
        self.op == done.op && touches && self.file.as_deref().is_none_or(|file| file == done.file)
    }

    fn fires(&mut self, done: &Done<'_>) -> bool {
        if !self.is_about(done) {
            return false;
        }
        self.seen += 1;
        let fires = match self.when {
            When::Always => true,
            When::Nth(k) => self.seen == k,
            When::Every(k) => self.seen.is_multiple_of(k),
            When::Chance { probability, .. } => self.draws.chance(probability),
        };
        let fires = fires && self.fired < self.at_most;
        self.fired += u64::from(fires);
        fires
    }
}

/// An operation that is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done<'a> {
    pub(crate) op: Op,
    pub(crate) file: &'a str,
    pub(crate) offset: u64,
    pub(crate) len: u32,
}

/// A fault that was injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// Into what.
    pub op: Op,
    /// The name that the file was made under.
    pub file: String,
    /// Where the operation began; 0 for flushes.
    pub offset: u64,
    /// The bytes it was to move.
    pub len: u32,
    /// What.
    pub fault: Fault,
}

/// All rules, and what came of them.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    injected: Vec<Injected>,
}

impl Rules {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// What befalls an operation; it is written down.
    pub(crate) fn fault_of(&mut self, done: Done<'_>) -> Option<Fault> {
        let fault = self.rules.iter_mut().find_map(|rule| rule.fires(&done).then_some(rule.fault))?;
        let Done { op, file, offset, len } = done;
        self.injected.push(Injected { op, file: file.to_owned(), offset, len, fault });
        Some(fault)
    }
}

/// Sebastiano Vigna's splitmix64: enough to draw faults from.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64) -> Done<'static> {
        Done { op: Op::Read, file: "a", offset, len: 4096 }
    }

    fn fired(rule: Rule, operations: &[Done<'_>]) -> Vec<usize> {
        let mut rules = Rules::default();
        rules.add(rule);
        let fires = operations.iter().enumerate();
        fires.filter(|(_, done)| rules.fault_of(**done).is_some()).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_rule_fires_when_and_where_it_says() {
        let reads: Vec<_> = (0..6).map(|block| read(block * 4096)).collect();
        let rule = || Rule::new(Op::Read, Fault::Error(5));
        assert_eq!(fired(rule(), &reads).len(), 6);
        assert_eq!(fired(rule().when(When::Nth(2)), &reads), [1]);
        assert_eq!(fired(rule().when(When::Every(2)).times(2), &reads), [1, 3]);
        assert_eq!(fired(rule().at(4097..8193), &reads), [1, 2]);
        assert_eq!(fired(rule().of_file("b"), &reads), [0; 0]);
        assert_eq!(fired(Rule::new(Op::Write, Fault::Lost), &reads), [0; 0]);
    }

    #[test]
    fn chances_are_as_said_and_the_same_each_time() {
        let reads: Vec<_> = (0..10_000).map(read).collect();
        let rule = || Rule::new(Op::Read, Fault::Hang).when(When::Chance { probability: 0.1, seed: 3 });
        let first = fired(rule(), &reads);
        // 1,000 expected; standard deviation 30.
        assert!((880..1120).contains(&first.len()), "{}", first.len());
        assert_eq!(fired(rule(), &reads), first);
    }

    #[test]
    #[should_panic(expected = "Torn(1) cannot befall a Read")]
    fn a_fault_that_cannot_be_is_refused() {
        let _ = Rule::new(Op::Read, Fault::Torn(1));
    }
}
