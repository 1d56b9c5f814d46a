//! The words of the format and what they stand for: one table each, read by the parser and by the writer.

use assay_workload::PhaseKind;
use assay_workload::content::Refresh;
use assay_workload::job::{
    Arrival, Caching, EndsWith, EngineKind, FlushCall, FlushOrder, OpenSync, SteadyFigure, TargetSelection,
    TargetSharing,
};
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;
use assay_workload::tree::{FileSelection, FileState};

/// Words and their values. A hyphen in a word may also be written as an underscore, and the other way round.
pub(super) type Words<T> = [(&'static str, T)];

pub(super) const OPS: &Words<OpKind> =
    &[("read", OpKind::Read), ("write", OpKind::Write), ("trim", OpKind::Trim)];

pub(super) const TARGET_KINDS: &Words<TargetKind> = &[
    ("file", TargetKind::File),
    ("block-device", TargetKind::BlockDevice),
    ("directory", TargetKind::Directory),
    ("null", TargetKind::Null),
];

pub(super) const PHASE_KINDS: &Words<PhaseKind> = &[
    ("purge", PhaseKind::Purge),
    ("precondition", PhaseKind::Precondition),
    ("ramp", PhaseKind::Ramp),
    ("measure", PhaseKind::Measure),
    ("verify", PhaseKind::Verify),
    ("cleanup", PhaseKind::Cleanup),
];

pub(super) const ENGINES: &Words<EngineKind> = &EngineKind::WORDS;

pub(super) const CACHINGS: &Words<Caching> =
    &[("auto", Caching::Auto), ("direct", Caching::Direct), ("buffered", Caching::Buffered)];

pub(super) const ARRIVALS: &Words<Arrival> = &[
    ("deterministic", Arrival::Deterministic),
    ("poisson", Arrival::Poisson),
    ("uniform", Arrival::Uniform),
];

pub(super) const ENDS_WITH: &Words<EndsWith> = &[("first", EndsWith::First), ("others", EndsWith::Others)];

pub(super) const STEADY_FIGURES: &Words<SteadyFigure> = &[
    ("iops", SteadyFigure::Iops),
    ("bandwidth", SteadyFigure::Bandwidth),
    ("latency", SteadyFigure::Latency),
];

pub(super) const SHARINGS: &Words<TargetSharing> =
    &[("shared", TargetSharing::Shared), ("per-thread", TargetSharing::PerThread)];

pub(super) const SELECTIONS: &Words<TargetSelection> = &[
    ("round-robin", TargetSelection::RoundRobin),
    ("random", TargetSelection::Random),
    ("sequential", TargetSelection::Sequential),
];

pub(super) const REFRESHES: &Words<Refresh> =
    &[("every-write", Refresh::EveryWrite), ("stamp", Refresh::Stamp), ("never", Refresh::Never)];

pub(super) const OPEN_SYNCS: &Words<OpenSync> =
    &[("none", OpenSync::None), ("dsync", OpenSync::Dsync), ("sync", OpenSync::Sync)];

pub(super) const FLUSH_CALLS: &Words<FlushCall> =
    &[("fsync", FlushCall::Fsync), ("fdatasync", FlushCall::Fdatasync)];

pub(super) const FLUSH_ORDERS: &Words<FlushOrder> = &[
    ("after-write", FlushOrder::AfterWrite),
    ("queued", FlushOrder::Queued),
    ("barrier", FlushOrder::Barrier),
];

/// `skewed` has its midpoint beside it.
pub(super) const FILE_SELECTIONS: &Words<FileSelection> = &[
    ("in-order", FileSelection::InOrder),
    ("in-order-from-random", FileSelection::InOrderFromRandom),
    ("once", FileSelection::Once),
    ("random", FileSelection::Random),
    ("skewed", FileSelection::Skewed { midpoint: 3.0 }),
];

pub(super) const FILE_STATES: &Words<FileState> = &[
    ("any", FileState::Any),
    ("full", FileState::Full),
    ("empty", FileState::Empty),
    ("not-full", FileState::NotFull),
];

/// The operations of a file-tree workload.
pub(super) const TREE_OPERATIONS: &Words<()> = &[
    ("mkdir", ()),
    ("rmdir", ()),
    ("create", ()),
    ("delete", ()),
    ("open", ()),
    ("close", ()),
    ("read", ()),
    ("write", ()),
    ("getattr", ()),
    ("setattr", ()),
    ("access", ()),
    ("copy", ()),
    ("move", ()),
];

/// The words of a table.
pub(super) fn list<T>(words: &Words<T>) -> Vec<&'static str> {
    words.iter().map(|(word, _)| *word).collect()
}

/// What `word` stands for.
pub(super) fn value<T: Copy>(words: &Words<T>, word: &str) -> Option<T> {
    let same = |known: &str| known == word || known.replace('-', "_") == word.replace('-', "_");
    words.iter().find(|(known, _)| same(known)).map(|(_, value)| *value)
}

/// The word for `value`. Every value of the model is in its table, which a test sees to.
pub(super) fn word<T: PartialEq>(words: &Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_underscores_are_one() {
        assert_eq!(value(TARGET_KINDS, "block_device"), Some(TargetKind::BlockDevice));
        assert_eq!(value(ENGINES, "io-uring"), Some(EngineKind::IoUring));
        assert_eq!(value(ENGINES, "uring"), None);
    }

    #[test]
    fn every_order_of_flushes_has_its_word() {
        for order in [FlushOrder::AfterWrite, FlushOrder::Queued, FlushOrder::Barrier] {
            // Does not compile once there is another order, which has to be listed, too.
            match order {
                FlushOrder::AfterWrite | FlushOrder::Queued | FlushOrder::Barrier => {}
            }
            assert_eq!(value(FLUSH_ORDERS, word(FLUSH_ORDERS, &order)), Some(order));
        }
    }
}
