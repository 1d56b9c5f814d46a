//! What a thread waits for, as a watchdog sees it and as the message of a failure names it.

use assay_workload::Plan;
use assay_workload::plan::{PlannedJob, ThreadSlice};
use assay_workload::tree::TreeLayout;

/// What a thread has outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// When it was handed over, on the job's clock.
    pub issued_ns: u64,
    /// What it does: `read`, `fsync`, `mkdir`.
    pub operation: &'static str,
    /// Index among the targets of the thread.
    pub target: u16,
    /// What of a tree it is done to; `None`: the target itself.
    pub item: Option<TreeItem>,
    /// Where it begins; `None`: flushes and operations on whole files.
    pub offset_bytes: Option<u64>,
    /// 0 for trims, flushes and operations on whole files.
    pub len_bytes: u32,
}

/// A file or directory of a tree, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeItem {
    /// A file.
    File(u64),
    /// A directory.
    Directory(u64),
}

impl InFlight {
    /// The path of what it is done to, by a thread with this slice of a job.
    pub(crate) fn path(&self, plan: &Plan, job: &PlannedJob, slice: &ThreadSlice) -> Option<String> {
        let site = slice.sites.get(usize::from(self.target))?;
        let mut path = plan.targets.get(site.target as usize)?.path.clone();
        let layout = job.tree.as_ref().and_then(|tree| TreeLayout::new(tree).ok());
        if let Some((item, layout)) = self.item.zip(layout) {
            let mut below = b"/".to_vec();
            match item {
                TreeItem::File(file) => layout.push_file_path(file, &mut below),
                TreeItem::Directory(directory) => layout.push_directory_path(directory, &mut below),
            }
            path.push_str(&String::from_utf8_lossy(&below));
        }
        Some(path)
    }
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// For this to complete, longest.
    For(InFlight),
    /// For other threads of its job.
    ForOthers,
}

impl Waits {
    pub(crate) fn hangs(&self, now_ns: u64, for_ns: u64) -> bool {
        match self {
            Waits::For(io) => now_ns.saturating_sub(io.issued_ns) >= for_ns,
            Waits::ForOthers => true,
        }
    }
}
