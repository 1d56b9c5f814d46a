//! How much a plan may make its targets take of their file systems, at most. Arithmetic on the plan alone: what is there
//! already is for the caller to subtract.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::application::Body;
use crate::job::FileLayout;
use crate::pattern::OpKind;
use crate::plan::{Carrier, Plan, PlannedEngine, PlannedJob};
use crate::target::TargetKind;
use crate::tree::{TreeLayout, TreeOperation, TreeWorkload};

/// File systems allocate in units of this size, most of them.
const ALLOCATION_BYTES: u64 = 4096;

/// What one target takes at most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Growth {
    /// Index into [`Plan::targets`].
    pub target: u32,
    /// Ranges of a file that hold data in the end, in order and apart.
    pub filled: Vec<Range<u64>>,
    /// Start and end of ranges in which not more than so many bytes are written anywhere; none of them lies within a
    /// filled one.
    pub scattered: BTreeMap<(u64, u64), u64>,
    /// Ranges that are written over: a file system that never writes in place needs room for these beside what is there.
    pub rewritten: Vec<Range<u64>>,
    /// What the trees in a directory take, with what their directories take.
    pub tree_bytes: u64,
    /// Files and directories of the trees.
    pub tree_nodes: u64,
}

/// Whether jobs that end early are taken to fill their range all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Files are extended where jobs read or trim, and grow where jobs write.
    AsNeeded,
    /// Every file is filled as far as any job reaches.
    Whole,
}

/// What each target of `plan` takes at most; those that take nothing are left out.
pub fn growth(plan: &Plan, layout: Layout) -> Vec<Growth> {
    let mut all: BTreeMap<u32, Growth> = BTreeMap::new();
    // Repetitions of a phase write to the same ranges, and the rounds of a block may be thousands.
    let mut trees: Vec<(u32, TreeLayout)> = Vec::new();
    let jobs = plan.phases.iter().flat_map(|phase| phase.jobs.iter().map(|job| (phase.carried_by, job)));
    for (carrier, job) in jobs {
        if carrier == Carrier::Simulated || job.engine == PlannedEngine::Null {
            continue;
        }
        match job.body() {
            // Names alone take no bytes.
            Body::Blocks(_) if !job.has_files() => {}
            Body::Blocks(_) => add_files(plan, (carrier, job), layout, &mut all),
            Body::Tree(tree) => add_trees(job, tree, &mut trees, &mut all),
            // What a database or a mail store takes, its kind alone knows.
            Body::Application(_) => {}
        }
    }
    all.into_values().map(settled).filter(|growth| *growth != nothing(growth.target)).collect()
}

fn nothing(target: u32) -> Growth {
    Growth { target, ..Growth::default() }
}

fn add_trees(
    job: &PlannedJob,
    tree: &TreeWorkload,
    known: &mut Vec<(u32, TreeLayout)>,
    all: &mut BTreeMap<u32, Growth>,
) {
    let Ok(layout) = TreeLayout::new(tree) else { return };
    let read_share = job.pattern.mix.share(OpKind::Read);
    let makes = |operation: &TreeOperation| {
        use TreeOperation::{Copy, Create, Mkdir, Move, Write};
        matches!(operation, Copy | Create | Mkdir | Move | Write)
    };
    let operations = tree.weighted_operations(read_share).unwrap_or_default();
    if !operations.iter().any(|(operation, _)| makes(operation)) {
        return;
    }
    for site in job.slices.iter().flat_map(|slice| &slice.sites) {
        let same = |(target, other): &(u32, TreeLayout)| *target == site.target && other.same_shape(&layout);
        if known.iter().any(same) {
            continue;
        }
        let growth = all.entry(site.target).or_insert_with(|| nothing(site.target));
        let nodes = layout.files().saturating_add(layout.directories());
        // The end of each file and each directory take a unit each.
        let bytes = layout.bytes().saturating_add(nodes.saturating_mul(ALLOCATION_BYTES));
        growth.tree_nodes = growth.tree_nodes.saturating_add(nodes);
        growth.tree_bytes = growth.tree_bytes.saturating_add(bytes);
        known.push((site.target, layout.clone()));
    }
}

fn add_files(
    plan: &Plan,
    (carrier, job): (Carrier, &PlannedJob),
    layout: Layout,
    all: &mut BTreeMap<u32, Growth>,
) {
    // What is allocated by Assay before it is written is so only where there is room for it.
    let reserved = carrier == Carrier::Fio;
    let asks = |wanted| job.pattern.kinds().any(|kind| kind == wanted);
    let data = job.pattern.needs_data() || job.layout == FileLayout::Data;
    let (holds, writes) = (data || layout == Layout::Whole, asks(OpKind::Write));
    for slice in &job.slices {
        let limit = slice.bytes.map(|bytes| allocated(job, bytes));
        let by_ios = slice.ios.map(|ios| ios.saturating_mul(per_write(job.pattern.write_sizes.max_bytes())));
        let limit = [limit, by_ios].into_iter().flatten().min();
        for site in &slice.sites {
            let target = &plan.targets[site.target as usize];
            if target.kind != TargetKind::File {
                continue;
            }
            let range = site.offset_bytes..site.offset_bytes.saturating_add(site.length_bytes);
            let growth = all.entry(site.target).or_insert_with(|| nothing(site.target));
            // What is read or trimmed is laid out from the end of the file on, and space is allocated from there.
            let laid_out = holds || writes && reserved;
            let end = job.layout_end(site, target);
            if laid_out && end > target.existing_bytes {
                add(&mut growth.filled, target.existing_bytes..end);
            }
            if writes {
                add(&mut growth.rewritten, range.clone());
                match limit.filter(|limit| *limit < site.length_bytes && !reserved) {
                    None => add(&mut growth.filled, range),
                    Some(limit) => {
                        let known = growth.scattered.entry((range.start, range.end)).or_default();
                        *known = known.saturating_add(limit);
                    }
                }
            }
        }
    }
}

/// What writes of `bytes` altogether allocate at most: each takes whole units, of which the last may be the next one's first.
fn allocated(job: &PlannedJob, bytes: u64) -> u64 {
    let least = job.pattern.write_sizes.min_bytes().max(1);
    if least.is_multiple_of(ALLOCATION_BYTES) {
        return bytes;
    }
    bytes.div_ceil(least).saturating_mul(per_write(least))
}

fn per_write(bytes: u64) -> u64 {
    let whole = bytes.checked_next_multiple_of(ALLOCATION_BYTES).unwrap_or(bytes);
    if whole == bytes { bytes } else { whole.saturating_add(ALLOCATION_BYTES) }
}

/// Adds a range. The same ones come again with each thread and phase, so that the list is brought together on the way.
fn add(list: &mut Vec<Range<u64>>, range: Range<u64>) {
    if list.last() == Some(&range) {
        return;
    }
    list.push(range);
    if list.len() >= 1024 && list.len().is_power_of_two() {
        *list = united(std::mem::take(list));
    }
}

/// Ranges that touch as one, and nothing counted twice that is filled anyway.
fn settled(mut growth: Growth) -> Growth {
    growth.filled = united(growth.filled);
    growth.rewritten = united(growth.rewritten);
    let filled = &growth.filled;
    let within = |start, end| filled.iter().any(|all| all.start <= start && end <= all.end);
    growth.scattered.retain(|(start, end), _| !within(*start, *end));
    growth
}

fn united(mut list: Vec<Range<u64>>) -> Vec<Range<u64>> {
    list.sort_unstable_by_key(|range| (range.start, range.end));
    let mut all: Vec<Range<u64>> = Vec::with_capacity(list.len());
    for range in list {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests;
