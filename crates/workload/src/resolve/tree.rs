//! Planning of jobs on trees of files.

use super::hosts::PlanHost;
use super::{Planner, ResolveError, misaligned_sizes};
use crate::job::EngineKind;
use crate::pattern::OpKind;
use crate::plan::{PlannedEngine, PlannedJob, PlannedSite, ThreadSlice};
use crate::target::TargetKind;
use crate::tree::{TreeLayout, TreeOperation, TreeWorkload};

impl Planner<'_> {
    /// Sites are the anchors, each as long as the bytes of it that are used; where copies go elsewhere, that anchor is
    /// the last.
    pub(super) fn plan_tree(
        &self,
        tree: &TreeWorkload,
        indices: &[Vec<u32>],
        seed: u64,
    ) -> Result<PlannedJob, ResolveError> {
        let job = self.job;
        let layout = TreeLayout::new(tree).map_err(|error| self.invalid(error.to_string()))?;
        tree.check(job.pattern.mix.share(OpKind::Read)).map_err(|error| self.invalid(error.to_string()))?;
        if job.outstanding_per_thread != 1 {
            let asked = job.outstanding_per_thread;
            let what =
                format!("{asked} outstanding per thread; on a tree each thread does one operation at a time");
            return Err(self.invalid(what));
        }
        let copy_to = |place: &&PlanHost<'_>| {
            tree.copy_to.as_ref().map(|name| self.target_index(place, name)).transpose()
        };
        let copy_to = self.places.iter().map(copy_to).collect::<Result<Vec<_>, _>>()?;
        let all: Vec<u32> = indices.iter().flatten().chain(copy_to.iter().flatten()).copied().collect();
        for &index in &all {
            let target = &self.targets[index as usize];
            if target.kind != TargetKind::Directory {
                return Err(self.invalid(format!("a tree on '{}', which is no directory", target.name)));
            }
        }
        if copy_to.iter().zip(indices).any(|(to, from)| to.is_some_and(|index| from.contains(&index))) {
            return Err(self.invalid("copies into the tree they come from; leave the target of copies out"));
        }
        let engine = self.tree_engine()?;
        let direct = self.direct_unless(&all, |align| misaligned_tree(self, tree, align))?;
        let site =
            |index| PlannedSite { target: index, offset_bytes: 0, length_bytes: layout.working_bytes() };
        let slices = self.threads(seed).map(|thread| {
            let mine = self.targets_of(&thread, &indices[thread.part]);
            ThreadSlice {
                host: thread.host,
                seed: thread.seed,
                sites: mine.into_iter().chain(copy_to[thread.part]).map(site).collect(),
                ios: job.limits.ios,
                bytes: job.limits.bytes,
                rate: self.slice_rate(),
            }
        });
        let endless = job.limits.time.is_some() || job.limits.ios.is_some() || job.limits.bytes.is_some();
        Ok(PlannedJob {
            traits: job.traits.clone(),
            engine,
            engine_reason: None,
            direct,
            pace: self.pace(),
            end: self.end(job.limits.passes.or((!endless).then_some(1))),
            operations: TreeOperation::names(),
            slices: slices.collect(),
        })
    }

    fn tree_engine(&self) -> Result<PlannedEngine, ResolveError> {
        match self.asked_engine() {
            EngineKind::Auto | EngineKind::Psync => Ok(PlannedEngine::Psync),
            // The simulator says itself what it cannot do.
            EngineKind::Sim => Ok(PlannedEngine::Foreign),
            other => Err(self.invalid(format!(
                "a tree with engine {}; files and directories are used through synchronous calls, engine psync",
                other.name()
            ))),
        }
    }
}

fn misaligned_tree(planner: &Planner<'_>, tree: &TreeWorkload, align: u64) -> Option<String> {
    let pattern = &planner.job.pattern;
    let blocks = [&pattern.read_sizes, &pattern.write_sizes];
    if let Some(what) = blocks.into_iter().find_map(|sizes| misaligned_sizes(sizes, align)) {
        return Some(what);
    }
    // Sizes around a mean are multiples of 1 KiB.
    let sizes = tree.sizes.iter().map(|entry| if tree.sizes_around_mean { 1024 } else { entry.0 });
    let bad = sizes.into_iter().find(|size| !size.is_multiple_of(align));
    bad.map(|size| format!("a file size of {size}"))
}
