//! What a start makes, so that one that comes to nothing leaves nothing behind.

use std::path::{Path, PathBuf};

use assay_host::workdir::{WorkDir, is_assay_dir, is_own_file};
use assay_results::run::PhaseResult;
use assay_results::{Run, RunEnd};
use assay_workload::target::TargetKind;
use assay_workload::{PhaseKind, Plan};

use crate::recording::Finished;

/// What was there before anything was made.
#[derive(Debug, Default)]
pub struct Start {
    /// Files, with their sizes where they exist.
    files: Vec<(PathBuf, Option<u64>)>,
    /// Directories of trees that do not exist.
    directories: Vec<PathBuf>,
}

impl Start {
    /// Looks at the targets of a plan, before anything is made for it.
    pub fn of(plan: &Plan) -> Self {
        let mut start = Start::default();
        for target in &plan.targets {
            let path = PathBuf::from(&target.path);
            match target.kind {
                TargetKind::File => start.file(path),
                TargetKind::Directory if path.symlink_metadata().is_err() => start.directories.push(path),
                TargetKind::Directory | TargetKind::BlockDevice | TargetKind::Null => {}
            }
        }
        start
    }

    /// Looks at one file.
    pub fn file(&mut self, path: PathBuf) {
        let size =
            path.symlink_metadata().ok().map(|_| std::fs::metadata(&path).map_or(0, |meta| meta.len()));
        self.files.push((path, size));
    }

    /// Removes what was made since, and cuts files that grew back to their size.
    pub fn undo(self) {
        for (path, size) in &self.files {
            match size {
                None => remove_file(path),
                Some(size) => cut(path, *size),
            }
        }
        for directory in self.directories.iter().filter(|directory| is_assay_dir(directory)) {
            if let Ok(made) = WorkDir::create(directory, env!("CARGO_PKG_VERSION"), "tree") {
                let _ = made.remove();
            }
        }
    }
}

impl Finished {
    /// Whether it ended before it measured anything: what it made is of no use then.
    pub fn came_to_nothing(&self) -> bool {
        self.end != RunEnd::Completed && !measured(&self.run)
    }
}

fn measured(run: &Run) -> bool {
    // A plan that only prepares or removes is done for what it leaves.
    let planned = |phase: u32| run.plan.phases.get(phase as usize);
    let measures = run.plan.phases.iter().any(|phase| phase.kind == PhaseKind::Measure);
    let counts = |phase: &&PhaseResult| {
        !measures || planned(phase.plan_phase).is_some_and(|phase| phase.kind == PhaseKind::Measure)
    };
    let mut jobs = run.phases.iter().filter(counts).flat_map(|phase| &phase.jobs);
    jobs.any(|job| job.total.ios > 0 || job.ops.values().any(|operation| operation.ios > 0))
}

/// Only a file of ours is removed: nobody else made one under that name meanwhile.
fn remove_file(path: &Path) {
    if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && is_own_file(path) {
        let _ = std::fs::remove_file(path);
    }
}

fn cut(path: &Path, size: u64) {
    if std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > size) {
        let _ = std::fs::File::options().write(true).open(path).and_then(|file| file.set_len(size));
    }
}
