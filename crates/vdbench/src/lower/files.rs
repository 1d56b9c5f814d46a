//! Jobs on trees of files.

use std::collections::BTreeSet;

use assay_workload::job::{Job, PhaseKind, Rate, TreeWorkload};
use assay_workload::pattern::{AccessPattern, Mix, Placement, Random, Sequential};

use super::super::access::{OpenFlags, Sizes};
use super::super::args::to_u64;
use super::super::expand::{ExpandedRun, RunRate};
use super::super::file_workload::FileOperation;
use super::super::resolve::{RunFileWorkload, file_workloads};
use super::super::run::{Format, RunDef};
use super::super::{FileSystemDef, FileWorkloadDef};
use super::rates::{mean_rate, set_rate};
use super::storage::{block_sizes, caching};
use super::{Lowering, narrow};

impl Lowering<'_> {
    /// The jobs of one file run: one for each file workload and tree.
    pub(super) fn file_jobs(&mut self, run: &ExpandedRun) -> Vec<Job> {
        let Some(rd) = run.definition.and_then(|i| self.file.runs.get(i)) else { return Vec::new() };
        let Some(parts) = self.file_parts(run, rd) else { return Vec::new() };
        let mut jobs = Vec::new();
        for part in &parts {
            let fwd = &part.workload;
            self.file_workload_losses(fwd, &part.file_systems);
            let trees = part.file_systems.len().max(1) as f64;
            let copies = self.copy_target(fwd).map(|fsd| fsd.name.clone());
            self.trees_used.extend(copies.clone());
            for fsd in &part.file_systems {
                self.tree_losses(fsd);
                self.trees_used.insert(fsd.name.clone());
                let mut job = self.tree_job(run, rd, fwd, fsd);
                job.tree.iter_mut().for_each(|tree| tree.copy_to.clone_from(&copies));
                job.threads = narrow(to_u64(fwd.threads / trees).max(1));
                self.tree_on_hosts(&mut job, &[fwd], false);
                let share = part.share_pct / 100.0 / trees;
                let rate = match run.rate {
                    RunRate::Max | RunRate::Curve => Rate::Unlimited,
                    RunRate::CurvePoint { percent, .. } | RunRate::PercentOfMax(percent) => {
                        Rate::PercentOfMax(percent)
                    }
                    RunRate::Fixed(rate) => Rate::Iops(rate * share),
                    RunRate::Variable => Rate::Iops(mean_rate(rd) * share),
                };
                set_rate(&mut job, rate, rd.arrivals.kind);
                jobs.push(job);
            }
        }
        if jobs.len() > 1 && matches!(run.rate, RunRate::Max | RunRate::Curve) {
            let message =
                format!("rd `{}`: at the maximum rate each workload and tree goes at its own pace", rd.name);
            let help = "give fwdrate, which is split exactly by skew";
            self.lose("skew-at-max", rd.at, &rd.name, message, help);
        }
        jobs
    }

    fn file_parts(&mut self, run: &ExpandedRun, rd: &RunDef) -> Option<Vec<RunFileWorkload>> {
        let fwds = rd.file_workloads.iter().filter_map(|i| self.file.file_workloads.get(*i));
        let operations = rd.operations.len().max(1);
        let wide = |fwd: &FileWorkloadDef| rd.file_systems.as_ref().unwrap_or(&fwd.file_systems).len() + 1;
        let estimate: usize = fwds.map(|fwd| wide(fwd).saturating_mul(operations)).sum();
        self.pairs = self.pairs.saturating_add(estimate);
        (!self.exhausted()).then(|| file_workloads(self.file, run))
    }

    fn tree_job(
        &mut self,
        run: &ExpandedRun,
        rd: &RunDef,
        fwd: &FileWorkloadDef,
        fsd: &FileSystemDef,
    ) -> Job {
        let reads = match (fwd.operation, fwd.read_pct) {
            (FileOperation::Read | FileOperation::Write, Some(percent)) => percent,
            (FileOperation::Read, None) => 100.0,
            (FileOperation::Write, None) => 0.0,
            _ => 100.0,
        };
        let name = format!("{}@{}", fwd.name, fsd.name);
        let mut job = Job::new(&name, &[&fsd.name], pattern(fwd, reads));
        job.group = Some(fwd.name.clone());
        job.tree = Some(TreeWorkload {
            operations: operations(fwd.operation, fwd.read_pct),
            file_selection: fwd.select,
            file_state: fwd.state,
            random_io: fwd.io.random,
            random_start: fwd.io.from_random,
            files_shared: fwd.io.shared,
            delete_before_write: fwd.io.delete,
            stop_after_ios: fwd.stop_after.filter(|n| !n.percent).map(|n| to_u64(n.value).max(1)),
            stop_after_percent: fwd.stop_after.filter(|n| n.percent && n.value > 0.0).map(|n| n.value),
            ..tree(fsd)
        });
        job.content = self.content(run, &fsd.dedup);
        let flags =
            rd.open_flags.clone().or_else(|| fwd.open_flags.clone()).or_else(|| fsd.open_flags.clone());
        (job.caching, job.flush) = caching(&flags.unwrap_or_default());
        self.set_times(run, &mut job);
        job
    }

    /// What kind of phase a format is: one that only deletes is a clean-up.
    pub(super) fn format_kind(&self, run: &ExpandedRun) -> PhaseKind {
        if self.format_of(run).clean { PhaseKind::Cleanup } else { PhaseKind::Precondition }
    }

    fn format_of(&self, run: &ExpandedRun) -> Format {
        run.definition.and_then(|i| self.file.runs.get(i)).and_then(|rd| rd.format).unwrap_or_default()
    }

    /// The inserted run that creates (or deletes) the trees of a run, each once.
    pub(super) fn format_jobs(&mut self, run: &ExpandedRun) -> Vec<Job> {
        const FORMAT_THREADS: f64 = 8.0;
        let Some(rd) = run.definition.and_then(|i| self.file.runs.get(i)) else { return Vec::new() };
        let Some(parts) = self.file_parts(run, rd) else { return Vec::new() };
        let format = self.format_of(run);
        let own = self.file.format_workload.as_ref();
        let threads = own.map_or(FORMAT_THREADS, |fwd| fwd.threads);
        let mut once = BTreeSet::new();
        let copied_to: Vec<FileSystemDef> =
            parts.iter().filter_map(|part| self.copy_target(&part.workload).cloned()).collect();
        let users: Vec<FileWorkloadDef> = parts.iter().map(|part| part.workload.clone()).collect();
        let users: Vec<&FileWorkloadDef> = users.iter().collect();
        let all = parts.into_iter().flat_map(|p| p.file_systems);
        let mut trees: Vec<FileSystemDef> = all.filter(|fsd| once.insert(fsd.name.clone())).collect();
        let full = trees.len();
        trees.extend(copied_to.into_iter().filter(|fsd| once.insert(fsd.name.clone())));
        self.trees_used.extend(once);
        let words: &[&str] = if format.clean {
            &["delete", "rmdir"]
        } else if format.directories {
            &["mkdir"]
        } else if format.restart {
            &["mkdir", "create", "write"]
        } else {
            &["delete", "mkdir", "create", "write"]
        };
        let operations: Vec<(String, f64)> = words.iter().map(|w| ((*w).to_owned(), 1.0)).collect();
        let size = self.format_transfer_bytes();
        let count = trees.len().max(1) as f64;
        let mut jobs = Vec::new();
        for (index, fsd) in trees.iter().enumerate() {
            // A tree that only receives copies begins with its directories.
            let whole =
                |entry: &&(String, f64)| index < full || !matches!(entry.0.as_str(), "create" | "write");
            let operations: Vec<(String, f64)> = operations.iter().filter(whole).cloned().collect();
            let walk = Sequential { wrap: false, ..Sequential::default() };
            let pattern = AccessPattern::new(Mix::WRITE, size, Placement::Sequential(walk));
            let mut job = Job::new(&format!("{}@{}", run.name, fsd.name), &[&fsd.name], pattern);
            job.group = Some(run.name.clone());
            job.tree = Some(TreeWorkload { operations, working_set_bytes: None, ..tree(fsd) });
            job.threads = narrow(to_u64(threads / count).max(1));
            self.tree_on_hosts(&mut job, &users, fsd.shared);
            job.limits.passes = Some(1);
            job.content = self.content(run, &fsd.dedup);
            let flags: Option<OpenFlags> =
                own.and_then(|fwd| fwd.open_flags.clone()).or_else(|| fsd.open_flags.clone());
            (job.caching, job.flush) = caching(&flags.unwrap_or_default());
            job.invalidate = false;
            jobs.push(job);
        }
        self.format_losses(rd, format);
        jobs
    }

    fn format_transfer_bytes(&self) -> u64 {
        const FORMAT_BYTES: u64 = 128 << 10;
        let own = self.file.format_workload.as_ref().map(|fwd| fwd.transfer.largest());
        self.file.general.format_transfer_bytes.or(own).unwrap_or(FORMAT_BYTES)
    }

    fn format_losses(&mut self, rd: &RunDef, format: Format) {
        if format.limited || format.complete {
            let what = "the whole tree is formatted";
            self.lose_of(rd, "format", "format", what, "use format=(restart,only)");
        }
    }

    /// The tree that copies and moves of `fwd` go to.
    fn copy_target(&self, fwd: &FileWorkloadDef) -> Option<&FileSystemDef> {
        if !matches!(fwd.operation, FileOperation::Copy | FileOperation::Move) {
            return None;
        }
        let name = fwd.target.as_ref()?;
        self.file.file_systems.iter().find(|fsd| fsd.name == *name)
    }

    fn file_workload_losses(&mut self, fwd: &FileWorkloadDef, trees: &[FileSystemDef]) {
        if let Some(target) = self.copy_target(fwd)
            && trees.iter().any(|fsd| tree(fsd) != tree(target))
        {
            let what =
                "files go to the places they have in their own tree, not to those of the target's shape";
            self.lose_key(fwd, "copy-target", "target", what, "give both trees the same shape");
        }
    }

    fn tree_losses(&mut self, fsd: &FileSystemDef) {
        if fsd.shared && self.several_hosts {
            let what = "every host uses the whole tree, and the hosts do not keep off each other's files";
            self.lose_key(fsd, "shared-tree", "shared", what, "give each host its own anchor");
        }
    }
}

fn pattern(fwd: &FileWorkloadDef, reads: f64) -> AccessPattern {
    let placement = if fwd.io.random {
        let distribution = assay_workload::pattern::Distribution::Uniform;
        Placement::Random(Random { distribution, once_per_pass: false })
    } else {
        Placement::Sequential(Sequential { cursor_per_operation: false, ..Sequential::default() })
    };
    let mut pattern = AccessPattern::new(Mix::read_write(reads), 4096, placement);
    let sizes = block_sizes(&fwd.transfer);
    (pattern.read_sizes, pattern.write_sizes, pattern.trim_sizes) = (sizes.clone(), sizes.clone(), sizes);
    pattern
}

/// The tree's shape; operations and access are set by the caller.
fn tree(fsd: &FileSystemDef) -> TreeWorkload {
    TreeWorkload {
        width: narrow(fsd.width),
        depth: narrow(fsd.depth),
        files: narrow(fsd.files),
        files_in_all_directories: fsd.files_everywhere,
        sizes: match &fsd.sizes {
            Sizes::Mixed(list) => list.clone(),
            other => vec![(other.largest(), 100.0)],
        },
        sizes_around_mean: matches!(fsd.sizes, Sizes::Around(_)),
        total_bytes: fsd.total_bytes,
        working_set_bytes: fsd.working_set_bytes,
        shared: fsd.shared,
        ..TreeWorkload::default()
    }
}

fn operations(operation: FileOperation, read_pct: Option<f64>) -> Vec<(String, f64)> {
    match (operation, read_pct) {
        (FileOperation::Read | FileOperation::Write, Some(percent)) => {
            let both = [("read".to_owned(), percent), ("write".to_owned(), 100.0 - percent)];
            both.into_iter().filter(|(_, share)| *share > 0.0).collect()
        }
        (other, _) => vec![(other.word().to_owned(), 100.0)],
    }
}
