//! Stored runs as a document.

use assay_results::Verdict;
use assay_results::store::{RunEntry, RunState};
use serde::Serialize;

/// Name and version of the document.
pub const SCHEMA: &str = "assay.runs/1";

/// The stored runs, the newest first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    schema: &'static str,
    runs: Vec<Listed<'a>>,
}

/// One stored run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Listed<'a> {
    /// The run's id.
    id: &'a str,
    /// The run's directory.
    directory: String,
    /// Whether there is a result.
    state: State,
    /// The plan's name; null where it cannot be read.
    name: Option<&'a str>,
    /// Start in UTC, RFC 3339; null where it cannot be read.
    started: Option<&'a str>,
    /// Duration, seconds; null without a result.
    elapsed_s: Option<f64>,
    /// Whether the result may be believed; null without a result.
    verdict: Option<Verdict>,
    /// Words that people gave to the run.
    tags: &'a [String],
    /// Why the run cannot be read.
    reason: Option<&'a str>,
}

/// What is stored of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum State {
    /// A result.
    Done,
    /// Events only: the run is still going.
    Going,
    /// Events only: the run was killed and can be recovered.
    Unfinished,
    /// Something that cannot be read.
    Unreadable,
}

impl<'a> Document<'a> {
    /// The document of a list of runs, in its order.
    pub fn of(entries: &'a [RunEntry]) -> Self {
        Document { schema: SCHEMA, runs: entries.iter().map(Listed::of).collect() }
    }
}

impl<'a> Listed<'a> {
    fn of(entry: &'a RunEntry) -> Self {
        let (state, reason) = match &entry.state {
            RunState::Done => (State::Done, None),
            RunState::Going => (State::Going, None),
            RunState::Unfinished => (State::Unfinished, None),
            RunState::Unreadable(why) => (State::Unreadable, Some(why.as_str())),
        };
        Listed {
            id: &entry.id,
            directory: entry.dir.path().to_string_lossy().into_owned(),
            state,
            name: entry.name.as_deref(),
            started: entry.started.as_deref(),
            elapsed_s: entry.elapsed_s,
            verdict: entry.verdict,
            tags: &entry.tags,
            reason,
        }
    }
}
