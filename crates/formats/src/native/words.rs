//! The words of the format and what they stand for: one list each, read by the parser and by the writer.

use assay_workload::content::Refresh;
use assay_workload::host::HostRanges;
use assay_workload::job::{
    Arrival, Caching, EndsWith, EngineKind, FileLayout, FlushCall, FlushOrder, OpenSync, SteadyFigure,
    TargetSelection, TargetSharing,
};
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;
use assay_workload::tree::{FileSelection, FileState, TreeOperation};
use assay_workload::{FileOperation, PhaseKind};

/// What is chosen by a word.
pub(super) trait Word: Copy + PartialEq + 'static {
    /// All words with their values. A hyphen may also be written as an underscore, and the other way round.
    fn words() -> Vec<(&'static str, Self)>;

    /// What `word` stands for.
    fn from_word(word: &str) -> Option<Self> {
        let same = |known: &str| known == word || known.replace('-', "_") == word.replace('-', "_");
        Self::words().into_iter().find(|(known, _)| same(known)).map(|(_, value)| value)
    }

    /// The word for it. Every value of the model has one, which a test sees to.
    fn word(self) -> &'static str {
        Self::words().into_iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

/// The words for `T`.
pub(super) fn names<T: Word>() -> Vec<&'static str> {
    T::words().into_iter().map(|(word, _)| word).collect()
}

/// Words that only this format has: `"word" = Value`.
macro_rules! words {
    ($($type:ident { $($word:literal = $value:ident),+ $(,)? })+) => {$(
        impl Word for $type {
            fn words() -> Vec<(&'static str, Self)> {
                vec![$(($word, $type::$value)),+]
            }
        }
    )+};
}
pub(super) use words;

words! {
    TargetKind { "file" = File, "block-device" = BlockDevice, "directory" = Directory, "null" = Null }
    PhaseKind {
        "purge" = Purge, "precondition" = Precondition, "ramp" = Ramp, "measure" = Measure, "verify" = Verify,
        "cleanup" = Cleanup,
    }
    Caching { "auto" = Auto, "direct" = Direct, "buffered" = Buffered }
    Arrival { "deterministic" = Deterministic, "poisson" = Poisson, "uniform" = Uniform }
    EndsWith { "first" = First, "others" = Others }
    SteadyFigure { "iops" = Iops, "bandwidth" = Bandwidth, "latency" = Latency }
    FileLayout {
        "as-needed" = AsNeeded, "length" = Length, "allocated" = Allocated, "reserved" = Reserved, "data" = Data,
    }
    HostRanges { "whole" = Whole, "divided" = Divided }
    TargetSharing { "shared" = Shared, "per-thread" = PerThread }
    TargetSelection { "round-robin" = RoundRobin, "random" = Random, "sequential" = Sequential }
    Refresh { "every-write" = EveryWrite, "stamp" = Stamp, "never" = Never }
    OpenSync { "none" = None, "dsync" = Dsync, "sync" = Sync }
    FlushCall { "fsync" = Fsync, "fdatasync" = Fdatasync }
    FlushOrder { "after-write" = AfterWrite, "queued" = Queued, "barrier" = Barrier }
    FileState { "any" = Any, "full" = Full, "empty" = Empty, "not-full" = NotFull }
}

impl Word for OpKind {
    fn words() -> Vec<(&'static str, Self)> {
        OpKind::DATA.map(|op| (op.name(), op)).to_vec()
    }
}

impl Word for EngineKind {
    fn words() -> Vec<(&'static str, Self)> {
        EngineKind::ALL.map(|engine| (engine.name(), engine)).to_vec()
    }
}

impl Word for FileOperation {
    fn words() -> Vec<(&'static str, Self)> {
        FileOperation::ALL.map(|operation| (operation.name(), operation)).to_vec()
    }
}

impl Word for TreeOperation {
    fn words() -> Vec<(&'static str, Self)> {
        TreeOperation::ALL.map(|operation| (operation.name(), operation)).to_vec()
    }
}

/// The midpoint of a skewed selection that names none; vdbench's default too.
const MIDPOINT: f64 = 3.0;

impl Word for FileSelection {
    fn words() -> Vec<(&'static str, Self)> {
        vec![
            ("in-order", FileSelection::InOrder),
            ("in-order-from-random", FileSelection::InOrderFromRandom),
            ("once", FileSelection::Once),
            ("random", FileSelection::Random),
            ("skewed", FileSelection::Skewed { midpoint: MIDPOINT }),
        ]
    }

    fn word(self) -> &'static str {
        match self {
            // Any midpoint; it has a key of its own.
            FileSelection::Skewed { .. } => "skewed",
            other => {
                Self::words().into_iter().find(|(_, known)| *known == other).map_or("", |(word, _)| word)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_underscores_are_one() {
        assert_eq!(TargetKind::from_word("block_device"), Some(TargetKind::BlockDevice));
        assert_eq!(EngineKind::from_word("io-uring"), Some(EngineKind::IoUring));
        assert_eq!(EngineKind::from_word("uring"), None);
    }

    #[test]
    fn every_order_of_flushes_has_its_word() {
        for order in [FlushOrder::AfterWrite, FlushOrder::Queued, FlushOrder::Barrier] {
            // Does not compile once there is another order, which has to be listed, too.
            match order {
                FlushOrder::AfterWrite | FlushOrder::Queued | FlushOrder::Barrier => {}
            }
            assert_eq!(FlushOrder::from_word(order.word()), Some(order));
        }
    }
}
