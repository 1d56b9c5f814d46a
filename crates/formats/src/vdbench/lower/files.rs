//! Jobs on trees of files.

use std::collections::BTreeSet;

use assay_workload::job::{Job, PhaseKind, Rate, TreeWorkload};
use assay_workload::pattern::{AccessPattern, Mix, Placement, Random, Sequential};

use super::super::access::{OpenFlags, Sizes};
use super::super::args::to_u64;
use super::super::expand::{ExpandedRun, RunRate};
use super::super::file_workload::{FileOperation, FileSelect, FileState};
use super::super::resolve::{RunFileWorkload, file_workloads};
use super::super::run::{Format, RunDef};
use super::super::sink::At;
use super::super::{FileSystemDef, FileWorkloadDef};
use super::rates::{mean_rate, set_rate};
use super::storage::{block_sizes, caching};
use super::{Lowering, narrow, placed};

impl Lowering<'_> {
    /// The jobs of one file run: one for each file workload and tree.
    pub(super) fn file_jobs(&mut self, run: &ExpandedRun) -> Vec<Job> {
        let Some(rd) = run.definition.and_then(|i| self.file.runs.get(i)) else { return Vec::new() };
        let Some(parts) = self.file_parts(run, rd) else { return Vec::new() };
        let mut jobs = Vec::new();
        for part in &parts {
            let fwd = &part.workload;
            self.file_workload_losses(fwd);
            let trees = part.file_systems.len().max(1) as f64;
            for fsd in &part.file_systems {
                self.tree_losses(fsd);
                self.trees_used.insert(fsd.name.clone());
                let mut job = self.tree_job(run, rd, fwd, fsd);
                job.threads = narrow(to_u64(fwd.threads / trees).max(1));
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
            self.lose(
                "skew-at-max",
                rd.at,
                &rd.name,
                message,
                "give fwdrate, which is split exactly by skew",
            );
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
            random_file_selection: matches!(fwd.select, FileSelect::Random | FileSelect::Poisson { .. }),
            random_io: fwd.io.random,
            stop_after_ios: stop_after(fwd, fsd),
            ..tree(fsd)
        });
        job.content = self.content(run, &fsd.dedup, fsd.at);
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
        let all = parts.into_iter().flat_map(|p| p.file_systems);
        let trees: Vec<FileSystemDef> = all.filter(|fsd| once.insert(fsd.name.clone())).collect();
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
        for fsd in &trees {
            let walk = Sequential { wrap: false, ..Sequential::default() };
            let pattern = AccessPattern::new(Mix::WRITE, size, Placement::Sequential(walk));
            let mut job = Job::new(&format!("{}@{}", run.name, fsd.name), &[&fsd.name], pattern);
            job.group = Some(run.name.clone());
            job.tree = Some(TreeWorkload { operations: operations.clone(), ..tree(fsd) });
            job.threads = narrow(to_u64(threads / count).max(1));
            job.limits.passes = Some(1);
            job.content = self.content(run, &fsd.dedup, fsd.at);
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
            let at = placed(&rd.set, "format", rd.at);
            let message = format!("rd `{}`: the whole tree is formatted", rd.name);
            self.lose("format", at, "format", message, "use format=(restart,only)");
        }
    }

    fn file_workload_losses(&mut self, fwd: &FileWorkloadDef) {
        let mut lost: Vec<(&'static str, &str, &str, &str)> = Vec::new();
        match fwd.select {
            FileSelect::Poisson { .. } => {
                lost.push((
                    "file-select",
                    "fileselect",
                    "files are chosen with equal probability",
                    "fileselect=random",
                ));
            }
            FileSelect::Once => {
                lost.push((
                    "file-select",
                    "fileselect",
                    "files are used again after the last one",
                    "fileselect=seq",
                ));
            }
            FileSelect::SequentialFromRandom => {
                lost.push(("file-select", "fileselect", "it begins with the first file", "fileselect=seq"));
            }
            FileSelect::Sequential | FileSelect::Random => {}
        }
        if fwd.state != FileState::Any {
            lost.push((
                "file-state",
                "fileselect",
                "all files are eligible, full or not",
                "format the tree as needed",
            ));
        }
        if fwd.io.shared {
            lost.push(("file-sharing", "fileio", "a file is used by one thread at a time", "use more files"));
        }
        if fwd.io.delete || fwd.io.from_random {
            lost.push((
                "file-io",
                "fileio",
                "files are accessed from their start and kept",
                "fileio=sequential",
            ));
        }
        if fwd.target.is_some() {
            lost.push(("copy-target", "target", "copies and moves stay within their tree", "use one tree"));
        }
        if fwd.stop_after.is_some_and(|n| n.percent) && !matches!(fwd.transfer, Sizes::Fixed(_)) {
            lost.push((
                "stop-after",
                "stopafter",
                "each file is used to its size",
                "give a number of blocks",
            ));
        }
        if !fwd.hosts.is_empty() && self.file.hosts.len() > 1 {
            lost.push((
                "hosts",
                "host",
                "it runs on every worker, not on the named hosts only",
                "run one file for each host",
            ));
        }
        self.lose_all(&fwd.name, "fwd", &fwd.set, fwd.at, &lost);
    }

    fn tree_losses(&mut self, fsd: &FileSystemDef) {
        let mut lost: Vec<(&'static str, &str, &str, &str)> = Vec::new();
        if fsd.total_bytes.is_some() {
            lost.push((
                "total-size",
                "totalsize",
                "the tree has all its files",
                "lower files=, width= or depth=",
            ));
        }
        if fsd.working_set_bytes.is_some() {
            lost.push((
                "working-set",
                "workingsetsize",
                "all files of the tree are used",
                "make the tree smaller",
            ));
        }
        if matches!(fsd.sizes, Sizes::Around(_)) {
            lost.push((
                "file-sizes",
                "sizes",
                "every file has the average size",
                "give sizes with percentages",
            ));
        }
        if fsd.shared && self.file.hosts.len() > 1 {
            lost.push((
                "shared-tree",
                "shared",
                "each worker would use the whole tree",
                "give each host its own anchor",
            ));
        }
        self.lose_all(&fsd.name, "fsd", &fsd.set, fsd.at, &lost);
    }

    fn lose_all(
        &mut self,
        name: &str,
        kind: &str,
        set: &[(&'static str, At)],
        at: At,
        lost: &[(&'static str, &str, &str, &str)],
    ) {
        for (id, key, what, help) in lost {
            let message = format!("{kind} `{name}`, `{key}=`: {what}");
            self.lose(id, placed(set, key, at), key, message, help);
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
        operations: Vec::new(),
        random_file_selection: false,
        random_io: false,
        stop_after_ios: None,
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

/// Blocks after which a file is closed; a percentage needs one file size and one transfer size.
fn stop_after(fwd: &FileWorkloadDef, fsd: &FileSystemDef) -> Option<u64> {
    let limit = fwd.stop_after?;
    if !limit.percent {
        return Some(to_u64(limit.value).max(1));
    }
    let Sizes::Fixed(block) = fwd.transfer else { return None };
    Some(to_u64(fsd.sizes.largest() as f64 * limit.value / 100.0 / block.max(1) as f64).max(1))
}
