//! Whether a plan fits onto the file systems of its targets. Asked before the first write, and by `assay plan`.

mod watch;

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_engine::{extents, quota};
use assay_host::extents::DataRuns;
use assay_host::space::FileSystemSpace;
use assay_host::{HostRoot, MountTable};
use assay_workload::Plan;
use assay_workload::growth::{Growth, Layout, growth};
use assay_workload::target::TargetKind;
use assay_workload::tree::is_scheme_file;
use assay_workload::units::Bytes;

pub(crate) use watch::SpaceWatch;

/// A file system that has too little space for a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} ({fix})")]
pub struct Shortage {
    /// What needs how much of which file system, and what there is.
    pub what: String,
    /// What to do.
    pub fix: &'static str,
}

/// What something takes of its file system, at most and beside what it has already.
struct Need {
    /// What it is, with its name.
    what: String,
    path: PathBuf,
    bytes: u64,
    /// Bytes it has and that are written over.
    rewritten_bytes: u64,
    /// Files and directories.
    nodes: u64,
}

/// A file system with what is going to be written to it.
struct Demand {
    place: FileSystemSpace,
    /// What this user may take of it.
    available_bytes: u64,
    needs: Vec<Need>,
}

/// Asks whether a plan fits. `more` are files beside the targets: what each is, its path, and the most that it takes.
///
/// # Errors
/// The first file system with too little space, and what to do.
pub fn check_space(
    plan: &Plan,
    layout: Layout,
    more: &[(&str, &Path, u64)],
    host: &HostRoot,
) -> Result<(), Shortage> {
    let limit_bytes =
        rustix::process::getrlimit(rustix::process::Resource::Fsize).current.unwrap_or(u64::MAX);
    let mut needs: BTreeMap<PathBuf, Need> = BTreeMap::new();
    for growth in growth(plan, layout) {
        beyond_limit(plan, &growth, limit_bytes)?;
        let need = need_of(plan, &growth);
        // Two targets may name one file; it does not grow twice.
        let known = needs.entry(need.path.clone());
        known.and_modify(|known| known.bytes = known.bytes.max(need.bytes)).or_insert(need);
    }
    let more = more.iter().map(|(what, path, bytes)| Need {
        what: (*what).to_owned(),
        path: std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
        bytes: *bytes,
        rewritten_bytes: 0,
        nodes: 1,
    });
    let mounts = MountTable::read(host);
    let mut demands: BTreeMap<String, Demand> = BTreeMap::new();
    for need in needs.into_values().chain(more) {
        // What cannot be asked cannot refuse; the first write says what is wrong with it.
        let place =
            FileSystemSpace::of(host, &mounts, &need.path).ok().filter(|place| place.space.is_known());
        let Some(place) = place else { continue };
        let quota = quota::left_bytes(&place.existing).unwrap_or(u64::MAX);
        let available_bytes = place.space.available_bytes.min(quota);
        let demand = demands.entry(place.id.clone());
        demand.or_insert(Demand { place, available_bytes, needs: Vec::new() }).needs.push(need);
    }
    demands.into_values().find_map(|demand| demand.shortage()).map_or(Ok(()), Err)
}

/// Refuses what the limit for the size of a file (`ulimit -f`) does not let this process write.
fn beyond_limit(plan: &Plan, growth: &Growth, limit_bytes: u64) -> Result<(), Shortage> {
    let target = &plan.targets[growth.target as usize];
    let written = growth.filled.iter().chain(&growth.rewritten).map(|range| range.end);
    let scattered = growth.scattered.keys().map(|(_, end)| *end);
    let trees = plan.phases.iter().flat_map(|phase| &phase.jobs).filter_map(|job| job.tree.as_ref());
    let sizes = trees.filter(|_| growth.tree_bytes > 0).flat_map(|tree| tree.sizes.iter().map(|size| size.0));
    let end_bytes = written.chain(scattered).chain(sizes).max().unwrap_or(0);
    if target.kind == TargetKind::BlockDevice || end_bytes <= limit_bytes {
        return Ok(());
    }
    Err(Shortage {
        what: format!(
            "target '{}' ({}) needs files of {}, and this process may write files of {} only",
            target.name,
            target.path,
            Bytes(end_bytes),
            Bytes(limit_bytes)
        ),
        fix: "raise the limit with ulimit -f, or use a smaller size",
    })
}

impl Demand {
    fn shortage(&self) -> Option<Shortage> {
        let sum = |of: fn(&Need) -> u64| self.needs.iter().map(of).fold(0, u64::saturating_add);
        let (bytes, rewritten, nodes) =
            (sum(|need| need.bytes), sum(|need| need.rewritten_bytes), sum(|need| need.nodes));
        let reserve = self.place.space.reserve_bytes();
        let usable = self.available_bytes.saturating_sub(reserve);
        let (mount, fs_type) = (self.place.mount_point.display(), &self.place.fs_type);
        let available = Bytes(self.available_bytes);
        if bytes > 0 && bytes > usable {
            let what = format!(
                "not enough space on {mount} ({fs_type}): {} up to {}{}, but only {} of the {available} available can be \
                 used, because {} stay free",
                self.who("needs", "need"),
                Bytes(bytes),
                if self.needs.len() > 1 { " together" } else { "" },
                Bytes(usable),
                Bytes(reserve),
            );
            return Some(Shortage {
                what,
                fix: "use a smaller size or another directory, or free some space",
            });
        }
        if self.place.copies_on_write()
            && rewritten > 0
            && bytes.saturating_add(rewritten) > self.available_bytes
        {
            let what = format!(
                "not enough space on {mount} ({fs_type}): {} up to {} to be written over, and {fs_type} keeps the old data \
                 meanwhile; {available} available",
                self.who("has", "have"),
                Bytes(rewritten),
            );
            return Some(Shortage {
                what,
                fix: "use a smaller size, remove the files first, or free some space",
            });
        }
        let free = self.place.space.available_nodes?;
        (nodes > free).then(|| {
            let what = format!(
                "not enough inodes on {mount} ({fs_type}): {} {nodes} files and directories, {free} inodes are free",
                self.who("needs", "need"),
            );
            Shortage { what, fix: "use fewer files or another directory" }
        })
    }

    /// `target 'a' (/data/a) needs`, or `3 targets, the largest 'a' (/data/a) with 5 GiB, need`.
    fn who(&self, one: &str, several: &str) -> String {
        // The first of equals.
        let largest = self.needs.iter().rev().max_by_key(|need| need.bytes.max(need.rewritten_bytes));
        let Some(largest) = largest else { return String::new() };
        let (what, path) = (&largest.what, largest.path.display());
        match self.needs.len() {
            1 => format!("{what} ({path}) {one}"),
            count => {
                let bytes = Bytes(largest.bytes.max(largest.rewritten_bytes));
                format!("{count} targets, the largest {what} ({path}) with {bytes}, {several}")
            }
        }
    }
}

fn need_of(plan: &Plan, growth: &Growth) -> Need {
    let target = &plan.targets[growth.target as usize];
    let path = PathBuf::from(&target.path);
    let file = File::open(&path).ok().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file()));
    let allocated = |range: &Range<u64>| {
        let length = range.end.saturating_sub(range.start);
        file.as_ref().map_or(0, |file| allocated(file, range)).min(length)
    };
    let missing = |range: &Range<u64>| range.end.saturating_sub(range.start) - allocated(range);
    let filled = growth.filled.iter().map(missing).fold(0, u64::saturating_add);
    let scattered = growth.scattered.iter().map(|((start, end), most)| missing(&(*start..*end)).min(*most));
    let rewritten_bytes = growth.rewritten.iter().map(allocated).fold(0, u64::saturating_add);
    let tree = if growth.tree_nodes > 0 { below(&path) } else { (0, 0) };
    let new = u64::from(!path.exists());
    Need {
        what: format!("target '{}'", target.name),
        path,
        bytes: scattered.fold(filled, u64::saturating_add) + growth.tree_bytes.saturating_sub(tree.0),
        rewritten_bytes: rewritten_bytes + tree.0.min(growth.tree_bytes),
        nodes: growth.tree_nodes.saturating_sub(tree.1) + new,
    }
}

/// Bytes of a range that a file has already.
fn allocated(file: &File, range: &Range<u64>) -> u64 {
    let Ok(meta) = file.metadata() else { return 0 };
    let end = range.end.min(meta.len());
    let length = end.saturating_sub(range.start);
    if length == 0 {
        return 0;
    }
    match extents::allocated_bytes(file, range.start, length) {
        Ok(Some(bytes)) => bytes,
        // No map of extents: holes are all that can be told apart.
        _ if meta.blocks().saturating_mul(512) >= meta.len() => length,
        _ => DataRuns::new(file, range.start, length).map_while(Result::ok).map(|run| run.length_bytes).sum(),
    }
}

/// Bytes and number of the files and directories of a tree that stands already. What is not named as its files are is not
/// its own.
fn below(directory: &Path) -> (u64, u64) {
    let (mut bytes, mut nodes) = (0_u64, 0_u64);
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                open.push(entry.path());
            } else if !is_scheme_file(entry.file_name().as_encoded_bytes()) {
                continue;
            }
            bytes = bytes.saturating_add(meta.blocks().saturating_mul(512));
            nodes += 1;
        }
    }
    (bytes, nodes)
}
