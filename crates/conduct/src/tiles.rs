//! Tiles: a workload several times side by side, one more in each phase, until one of them misses a service level.
//!
//! All databases and files of all tiles are made first, so that each number of tiles is measured over the same data, and not right
//! behind the writing of a new one.

use std::path::Path;

use assay_results::service::{ServiceResult, TILES};
use assay_workload::job::{Job, Phase, PhaseKind, Workload};
use assay_workload::steps::{Step, Until};
use assay_workload::target::{Target, TargetKind};

use crate::following::{After, Note};
use crate::seen::PhaseFigures;

/// Tiles at most.
pub const TILES_MAX: u32 = 1000;

/// Why a workload cannot be a tile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TilesError {
    /// It measures in no phase, or in several.
    #[error("--tiles needs a plan with one measuring phase; this one has {0}")]
    Phases(usize),
    /// Its phase repeats already.
    #[error("--tiles: phase '{0}' repeats until something of its own")]
    Repeats(String),
    /// Nothing says when a tile is served.
    #[error("--tiles: no job of phase '{0}' has a service_level, which says when a tile is held")]
    NoLevel(String),
    /// All tiles would share it.
    #[error("--tiles: target '{target}' is {path}, which all tiles would share; give it a relative path")]
    Shared {
        /// The target.
        target: String,
        /// Its path.
        path: String,
    },
    /// A job without a target, on a server: all tiles would share its database.
    #[error("--tiles: job '{0}' names no target, so that all tiles would share what it works on")]
    NoTarget(String),
}

/// The name of something of a tile, from 1.
fn of_tile(tile: u32, name: &str) -> String {
    format!("tile {tile}: {name}")
}

fn target_of(tile: u32, target: &Target) -> Target {
    let path = if target.kind == Some(TargetKind::Null) {
        target.path.clone()
    } else {
        let path = Path::new(&target.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("tile-{tile}-{name}")).to_string_lossy().into_owned()
    };
    Target { name: of_tile(tile, &target.name), path, ..target.clone() }
}

fn job_of(tile: u32, job: &Job) -> Job {
    let mut job = job.clone();
    job.traits.name = of_tile(tile, &job.name);
    job.traits.group = job.group.as_ref().map(|group| of_tile(tile, group));
    if let Some(tree) = job.traits.tree.as_mut() {
        tree.copy_to = tree.copy_to.as_ref().map(|target| of_tile(tile, target));
    }
    Job { targets: job.targets.iter().map(|target| of_tile(tile, target)).collect(), ..job }
}

/// A workload as a tile, up to `tiles` times. Phases that prepare and verify are of all tiles; the one that measures becomes one of a
/// tile, one of two, and so on, until a tile misses a service level.
///
/// # Errors
/// [`TilesError`].
pub fn tiles(workload: Workload, tiles: u32) -> Result<Workload, TilesError> {
    let measuring: Vec<&Phase> =
        workload.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
    let [measured] = measuring.as_slice() else { return Err(TilesError::Phases(measuring.len())) };
    if measured.until.is_some() {
        return Err(TilesError::Repeats(measured.name.clone()));
    }
    if measured.jobs.iter().all(|job| job.service_levels.is_empty()) {
        return Err(TilesError::NoLevel(measured.name.clone()));
    }
    let shared = workload
        .targets
        .iter()
        .find(|target| target.kind != Some(TargetKind::Null) && Path::new(&target.path).is_absolute());
    if let Some(target) = shared {
        return Err(TilesError::Shared { target: target.name.clone(), path: target.path.clone() });
    }
    if let Some(job) = workload.phases.iter().flat_map(|phase| &phase.jobs).find(|job| job.targets.is_empty())
    {
        return Err(TilesError::NoTarget(job.name.clone()));
    }
    let mut phases = Vec::new();
    for phase in &workload.phases {
        let jobs =
            |count: u32| (1..=count).flat_map(|tile| phase.jobs.iter().map(move |job| job_of(tile, job)));
        if phase.kind == PhaseKind::Measure {
            phases.extend((1..=tiles).map(|count| Phase {
                jobs: jobs(count).collect(),
                point: phase.point.with(&format!("{TILES}{count}")),
                until: Some(Until::Held),
                ..phase.clone()
            }));
        } else {
            phases.push(Phase { jobs: jobs(tiles).collect(), ..phase.clone() });
        }
    }
    let targets =
        (1..=tiles).flat_map(|tile| workload.targets.iter().map(move |target| target_of(tile, target)));
    Ok(Workload { targets: targets.collect(), phases, ..workload })
}

/// One level that was missed, in words.
fn missed_words(missed: &ServiceResult) -> String {
    let ServiceResult { job, what, value, limit, unit, .. } = missed;
    let ms = |ns: f64| format!("{:.2} ms", ns / 1e6);
    match value {
        None => format!("{job}: no operation for {what}"),
        Some(value) if unit == "ns" => format!("{job}: {what} {}, limit {}", ms(*value), ms(*limit)),
        Some(value) => format!("{job}: {what} {value:.1} {unit}, at least {limit:.1}"),
    }
}

/// What follows a number of tiles.
pub(crate) fn after(phase: usize, step: &Step, seen: &PhaseFigures) -> After {
    let Some(missed) = seen.levels(phase).iter().find(|level| !level.held) else { return After::next(phase) };
    let left = step.next_phase().saturating_sub(phase + 1);
    let more = if left == 0 { String::new() } else { "; no more tiles are added".to_owned() };
    let text = format!("a tile missed a service level: {}{more}", missed_words(missed));
    After { next: step.next_phase(), resolved: Vec::new(), note: Some(Note { id: "tiles", text }) }
}

#[cfg(test)]
mod tests {
    use assay_workload::AccessPattern;
    use assay_workload::pattern::{Mix, Placement};

    use super::*;

    fn workload(levels: &[&str]) -> Workload {
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::sequential());
        let job = |name: &str| {
            Job::new(name, &["data"], pattern.clone()).with(|job| {
                job.traits.service_levels =
                    levels.iter().map(|text| text.parse().expect("a level")).collect();
            })
        };
        let target = Target { name: "data".to_owned(), path: "data.bin".to_owned(), kind: None, size: None };
        let fill = Phase { kind: PhaseKind::Precondition, ..Phase::measure("fill", vec![job("fill")]) };
        let phases = vec![fill, Phase::measure("tiles", vec![job("read"), job("scan")])];
        Workload { name: "w".to_owned(), targets: vec![target], phases, ..Workload::default() }
    }

    #[test]
    fn each_phase_has_one_tile_more_and_all_are_made_first() {
        let made = tiles(workload(&["p95<20ms"]), 3).expect("tiles");
        let paths: Vec<&str> = made.targets.iter().map(|target| target.path.as_str()).collect();
        assert_eq!(paths, ["tile-1-data.bin", "tile-2-data.bin", "tile-3-data.bin"]);
        let phases: Vec<(&str, usize, bool)> = made
            .phases
            .iter()
            .map(|phase| (phase.point.as_str(), phase.jobs.len(), phase.until == Some(Until::Held)))
            .collect();
        assert_eq!(
            phases,
            [("", 3, false), ("tiles=1", 2, true), ("tiles=2", 4, true), ("tiles=3", 6, true)]
        );
        let last = &made.phases[3].jobs[5];
        assert_eq!(
            (last.name.as_str(), last.targets.as_slice()),
            ("tile 3: scan", &["tile 3: data".to_owned()][..])
        );
    }

    #[test]
    fn what_cannot_be_a_tile_is_said() {
        assert_eq!(tiles(workload(&[]), 2), Err(TilesError::NoLevel("tiles".to_owned())));
        let mut shared = workload(&["p95<20ms"]);
        shared.targets[0].path = "/dev/sdx".to_owned();
        let error = tiles(shared, 2).expect_err("refused").to_string();
        assert!(error.contains("'data' is /dev/sdx, which all tiles would share"), "{error}");
        let mut two = workload(&["p95<20ms"]);
        two.phases.push(two.phases[1].clone());
        assert_eq!(tiles(two, 2), Err(TilesError::Phases(2)));
    }
}
