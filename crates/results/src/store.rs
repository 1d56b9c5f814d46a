//! Where runs are stored: one directory each, readable while it grows and after a crash.
//!
//! A run directory `<utc>-<name>-<id>` holds `plan.json`, `journal.jsonl` (every event but the intervals, one a line),
//! `series.bin` (the intervals) and, once the run is done or was recovered, `run.json`. The layout is described in
//! `docs/formats/run-directory.md`. This is the only module that touches files.

mod atomic;
mod brief;
mod bundle;
mod directory;
mod engines;
mod journal;
mod locations;
mod one_host;
mod pattern;
mod probes;
mod recorder;
mod remove;
mod tags;
mod tape;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use atomic::read_regular;
pub use atomic::{Draft, HeldDirectory, open_regular};
pub use brief::{BriefFigure, RunBrief};
pub use bundle::{
    BUNDLE_BYTES_MAX, BUNDLE_HEAD_BYTES, Bundle, BundleError, export_run, is_bundle, what_remains,
};
pub(crate) use directory::{Layout, write_json_atomically};
pub use directory::{NEWEST, RunDir, RunEntry, RunLock, RunState, entry_of, find, list, load, with_id};
pub use engines::{EngineChoice, load_engine_choice, save_engine_choice};
pub use journal::{JournalContent, recover};
pub use locations::{data_root, runs_root};
pub use one_host::run_of_host;
pub use pattern::matches_pattern;
pub use probes::{load_probe, save_probe};
pub use recorder::RunRecorder;
pub use remove::{Removal, rm};
pub use tags::{TAG_CHARS_MAX, TAGS_MAX, TagError, change_tags, load_tags, save_tags, tag_of};

use crate::build::BuildError;
use crate::event::HostId;
use crate::series::SeriesError;

/// The plan, for people and for running it again.
pub const PLAN_FILE: &str = "plan.json";
/// The events.
pub const JOURNAL_FILE: &str = "journal.jsonl";
/// The intervals.
pub const SERIES_FILE: &str = "series.bin";
/// The summary.
pub const RUN_FILE: &str = "run.json";
/// The journal of validated writes, which outlives a crash of the host.
pub const DATA_JOURNAL_FILE: &str = "data.journal";
/// A snapshot of it that was being made when the program was killed.
pub const DATA_JOURNAL_DRAFT: &str = "data.journal.new";
/// The name of such a journal of one of several workers of a run.
pub fn data_journal_of(worker: HostId) -> String {
    format!("{DATA_JOURNAL_FILE}.{}", worker.0)
}
/// What it begins with.
pub const DATA_JOURNAL_MAGIC: [u8; 8] = *b"ASSAYVJ1";
/// Words that people gave to the run.
pub const TAGS_FILE: &str = "tags.json";
/// The page.
pub const PAGE_FILE: &str = "report.html";

/// Why something could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `create`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Not even the beginning of a run could be stored.
    #[error("no run can be kept in {}: {reason}; nothing was measured. Free some space there, or name another directory in ASSAY_RUNS", path.display())]
    NotBegun {
        /// The run's directory, which is gone again.
        path: PathBuf,
        /// The first thing that could not be stored.
        reason: String,
    },
    /// A word that cannot be a tag, or one too many.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// A file is not what its name says.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A run written by a later version of Assay.
    #[error("{}: schema {found} is not readable by this program, which reads {}", path.display(), crate::run::SCHEMA)]
    OtherSchema {
        /// Which file.
        path: PathBuf,
        /// The schema it names.
        found: String,
    },
    /// No run goes by that name.
    #[error("no run '{wanted}' in {}; 'assay runs' lists them", root.display())]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// No probe goes by that name.
    #[error("no probe '{wanted}' in {}; 'assay probe TARGET' makes one", dir.display())]
    NoProbe {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// Several runs go by that name.
    #[error("'{wanted}' could be {}", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The names of some of them.
        candidates: Vec<String>,
    },
    /// What is to be removed is not named well enough.
    #[error(
        "'{0}' is too short for what is to be removed; give 4 characters of its id or more ('assay runs' lists them)"
    )]
    TooShort(String),
    /// The directory is not one that Assay made.
    #[error("{} is not a run directory", .0.display())]
    NotARun(PathBuf),
    /// What is to be removed is not one of the runs that are kept.
    #[error("{} is not a run directory in {}; 'assay runs' lists those that are", wanted.display(), root.display())]
    NotARunOf {
        /// What was asked for.
        wanted: PathBuf,
        /// Where runs are stored.
        root: PathBuf,
    },
    /// A recorder writes to the run.
    #[error("the run in {} is still going; stop it or wait for its end", .0.display())]
    Running(PathBuf),
    /// What is to be removed is a link to something.
    #[error("{} is a symbolic link, which is not followed; remove the link itself with rm", .0.display())]
    Link(PathBuf),
    /// A journal without its first line.
    #[error("{}: {source}", path.display())]
    Unrecoverable {
        /// The run directory.
        path: PathBuf,
        /// Why.
        source: BuildError,
    },
    /// The intervals are not readable at all.
    #[error("{}: {source}", path.display())]
    Series {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SeriesError,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { action, path, source }
    }
}

#[cfg(test)]
mod tests;
