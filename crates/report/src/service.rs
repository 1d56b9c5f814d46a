//! Service levels: what each job of each phase measured against them, and how many tiles kept them.

use assay_results::Run;
use assay_results::service::{ServiceResult, TileScore};

use crate::format;

/// The heads of the table.
pub(crate) const HEADS: [&str; 6] = ["job", "level", "measured", "limit", "kept", "against the first"];

/// One level in one phase.
pub(crate) struct LevelRow {
    /// Texts in the order of [`HEADS`].
    pub(crate) cells: [String; 6],
    pub(crate) held: bool,
}

/// A phase with its levels.
pub(crate) struct LevelGroup {
    pub(crate) title: String,
    pub(crate) rows: Vec<LevelRow>,
}

fn is_time(level: &ServiceResult) -> bool {
    level.unit == "ns"
}

fn value(level: &ServiceResult) -> String {
    let shown = |value: f64| {
        if is_time(level) { format::time_ns(value) } else { format!("{} ops/s", format::significant(value)) }
    };
    level.value.map_or_else(|| "nothing measured".to_owned(), shown)
}

fn limit(level: &ServiceResult) -> String {
    if is_time(level) {
        format!("< {}", format::time_ns(level.limit))
    } else {
        format!(">= {} ops/s", format::significant(level.limit))
    }
}

/// The levels of a run, phase by phase; empty where it has none.
pub(crate) fn groups(run: &Run) -> Vec<LevelGroup> {
    let first = |level: &ServiceResult| {
        let mut all = run.phases.iter().flat_map(|phase| &phase.service);
        all.find(|other| (&other.job, &other.what) == (&level.job, &level.what))
    };
    let row = |level: &ServiceResult| {
        // The same level of the first phase that has it: what a neighbour or more tiles did to it.
        let base = first(level).filter(|base| !std::ptr::eq(*base, level)).and_then(|base| base.value);
        let ratio = base.zip(level.value).filter(|(base, _)| *base > 0.0);
        let ratio = ratio.map_or_else(String::new, |(base, value)| format!("x {:.2}", value / base));
        let held = if level.held { "yes" } else { "MISSED" };
        LevelRow {
            cells: [
                level.job.clone(),
                level.what.clone(),
                value(level),
                limit(level),
                held.to_owned(),
                ratio,
            ],
            held: level.held,
        }
    };
    let phases = run.phases.iter().filter(|phase| !phase.service.is_empty());
    phases
        .map(|phase| LevelGroup { title: phase.title(), rows: phase.service.iter().map(row).collect() })
        .collect()
}

/// The score of tiles in a sentence; `None`: none were run.
pub(crate) fn score(run: &Run) -> Option<String> {
    let TileScore { held, missed_at, planned } = run.tiles.as_ref()?;
    let tiles = format::plural(u64::from(*held), "tile");
    Some(match missed_at {
        Some(at) => format!("Score: {tiles} kept all service levels; with {at}, a tile missed one."),
        None if held == planned => {
            format!("Score: {tiles} kept all service levels, as many as were run (--tiles): more may fit.")
        }
        None => format!("Score: {tiles} kept all service levels; the run ended before one was missed."),
    })
}
