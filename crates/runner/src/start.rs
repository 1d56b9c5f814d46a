//! What a start makes, so that one that comes to nothing leaves nothing behind.

use std::fmt;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_engine::watchdog::HUNG_IO;
use assay_host::HostRoot;
use assay_host::claim::{Access, Claims};
use assay_host::cleanup;
use assay_host::workdir::{WorkDir, Writing, is_assay_dir};
use assay_results::run::PhaseResult;
use assay_results::{Run, RunEnd};
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, Plan};

use crate::recording::Finished;

/// What was there before anything was made.
#[derive(Debug, Default)]
pub struct Start {
    /// Files, with what they are where they exist.
    files: Vec<(PathBuf, Option<Before>)>,
    /// Directories of trees that do not exist.
    directories: Vec<PathBuf>,
}

/// A file that was there.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// Device number and inode: another file of its name is not touched.
    identity: (u64, u64),
    bytes: u64,
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
        let before = path.symlink_metadata().ok().map(|link| {
            let meta = std::fs::metadata(&path).unwrap_or(link);
            Before { identity: (meta.dev(), meta.ino()), bytes: meta.len() }
        });
        self.files.push((path, before));
    }

    /// What was made since and stands.
    pub fn left(&self) -> Option<Left> {
        let made = self.files.iter().filter(|(_, before)| before.is_none()).map(|(path, _)| path);
        let sizes = made.clone().filter_map(|path| path.symlink_metadata().ok()).filter(Metadata::is_file);
        let sizes: Vec<u64> = sizes.map(|meta| meta.len()).collect();
        let trees = self.directories.iter().filter(|directory| is_assay_dir(directory));
        let above = made.filter(|path| path.is_file()).filter_map(|path| path.parent());
        let mut places: Vec<PathBuf> = above.map(Path::to_owned).chain(trees.cloned()).collect();
        places.sort();
        places.dedup();
        let left = Left { files: sizes.len(), bytes: sizes.iter().sum(), places };
        (!left.places.is_empty()).then_some(left)
    }

    /// Removes what was made since, and cuts files that grew back to their size; but nothing that another run has by now.
    pub fn undo(self, claims: &Claims, host: &HostRoot) {
        let is_ours = |path: &Path| claims.take(host, path, Access::Exclusive).is_ok();
        for (path, before) in self.files.iter().filter(|(path, _)| is_ours(path)) {
            match before {
                // Only a file of ours: nobody else made one under that name meanwhile.
                None => drop(cleanup::take_back(path)),
                Some(before) => cut(path, *before),
            }
        }
        let made = |directory: &&PathBuf| is_assay_dir(directory) && is_ours(directory);
        for directory in self.directories.iter().filter(made) {
            if let Ok(made) = WorkDir::create(directory, env!("CARGO_PKG_VERSION"), "tree") {
                let _ = made.remove();
            }
        }
    }
}

/// What a run made and left for the next one; shown as a sentence that says how it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    files: usize,
    bytes: u64,
    /// Directories to clean up.
    places: Vec<PathBuf>,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            0 => f.write_str("left a tree of files")?,
            1 => write!(f, "left 1 file of {}", Bytes(self.bytes))?,
            files => write!(f, "left {files} files of {}", Bytes(self.bytes))?,
        }
        let places: Vec<String> = self.places.iter().map(|place| place.display().to_string()).collect();
        write!(f, " for the next run; 'assay cleanup' removes what it made in {}", places.join(", "))
    }
}

impl Finished {
    /// Whether some I/O did not complete in time, or at all.
    pub(crate) fn met_hung_ios(&self) -> bool {
        self.run.remarks.iter().any(|remark| remark.id == HUNG_IO)
    }

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

fn cut(path: &Path, before: Before) {
    let grew = |meta: &Metadata| {
        meta.is_file() && (meta.dev(), meta.ino()) == before.identity && meta.len() > before.bytes
    };
    // What cannot grow (a pipe) is not opened.
    if std::fs::metadata(path).is_ok_and(|meta| grew(&meta))
        && let Ok(file) = File::options().write(true).open(path)
        && file.metadata().is_ok_and(|meta| grew(&meta))
    {
        let file = Arc::new(file);
        let own = Writing::begin(Arc::clone(&file), path, false);
        let _ = file.set_len(before.bytes);
        drop(own);
    }
}
