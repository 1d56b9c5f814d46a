//! Jobs on trees of files: real system calls on real files and directories, each timed and counted by its name.
//!
//! The shape of a tree and the state of its files are `assay_workload::tree`'s. Here the anchor is opened and looked
//! through (`Trees::prepare`), and each thread of a job does operations in a mix, or, in phases that prepare or remove,
//! step by step. A tree stands in a directory that Assay made or that was named for destruction; see [`check_anchor`].

mod anchor;
mod counts;
mod meter;
mod mix;
mod scan;
mod session;
mod steps;
mod worker;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_workload::arrival::ArrivalSource;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Plan, PlannedJob};
use assay_workload::rng::derive_seed;
use assay_workload::tree::{
    Cursors, OperationSet, TreeGenerator, TreeLayout, TreeOperation, TreeState, TreeWorkload,
};
use rustix::fs::{Mode, OFlags};

use self::anchor::{Anchor, PathText};
pub use self::anchor::{AnchorError, check_anchor};
use self::counts::TreeCounts;
use self::meter::{Bounds, Meter};
use self::steps::Steps;
use self::worker::{Hands, Worker};
use crate::outcome::{ThreadCpu, ThreadEnd};
use crate::recorder::{Intervals, Recorder, Schedule, Shared};
use crate::seam::EngineError;

/// Permissions of new files.
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);

/// One tree of a phase: its anchor and the state of its files.
#[derive(Debug)]
struct Tree {
    anchor: Anchor,
    state: TreeState,
    leftovers: AtomicBool,
}

impl Tree {
    /// Enters what stands on disk; returns how many strangers there are.
    fn look(&self, go_on: &dyn Fn() -> bool) -> Result<u64, EngineError> {
        let others = scan::scan(&self.anchor, &self.state, go_on)?;
        self.leftovers.store(others.leftovers > 0, Ordering::Relaxed);
        Ok(others.strangers)
    }

    fn has_leftovers(&self) -> bool {
        self.leftovers.load(Ordering::Relaxed)
    }

    /// Asks the kernel to forget the clean pages of all files.
    fn invalidate(&self) {
        let layout = self.state.layout();
        let mut text = PathText::new();
        for file in (0..layout.working_files()).filter(|file| self.state.has_bytes(*file)) {
            let opened = self.anchor.open_at(text.set_file(layout, file), OFlags::RDONLY, Mode::empty());
            if let Ok(file) = opened {
                // Refused on what has no page cache; then there is nothing to forget either.
                let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
            }
        }
    }
}

/// What the threads of one tree job share.
#[derive(Debug)]
pub(crate) struct TreeJob {
    /// In the order of the sites of its threads; the last is where copies go, if elsewhere.
    trees: Vec<Arc<Tree>>,
    /// Index of the tree that copies go to.
    copy_to: Option<usize>,
    cursors: Cursors,
    steps: Option<Steps>,
    notes: Mutex<Vec<String>>,
    gave_up: AtomicBool,
}

impl TreeJob {
    /// Trees that operations begin in.
    fn own_trees(&self) -> usize {
        self.copy_to.unwrap_or(self.trees.len()).max(1)
    }

    fn give_up(&self) {
        self.gave_up.store(true, Ordering::Relaxed);
    }

    fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Adds a note, once.
    fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    fn note_hopeless(&self, operation: TreeOperation, done: u64) {
        let why = match operation {
            TreeOperation::Mkdir => "every directory exists",
            TreeOperation::Rmdir => "no directory is left",
            TreeOperation::Create => "every file exists, or there is no directory for it",
            TreeOperation::Delete => "no file is left",
            _ if done == 0 => "no file exists: prepare the tree first (vdbench: format=yes)",
            _ => "no file exists any more",
        };
        self.note(format!("{} ended: {why}", operation.name()));
    }

    fn note_fruitless(&self, operation: TreeOperation) {
        self.note(format!("{} ended: nothing was in the condition it needs for 2 s", operation.name()));
    }

    /// What is to be said about the job.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The trees of a phase, by job; `None` for jobs that have none.
#[derive(Debug)]
pub(crate) struct Trees {
    jobs: Vec<Option<Vec<Arc<TreeJob>>>>,
}

fn operations_of(tree: &TreeWorkload, job: &PlannedJob) -> Result<Vec<TreeOperation>, EngineError> {
    let weighted = tree.weighted_operations(job.job.pattern.mix.share(OpKind::Read));
    let weighted = weighted.map_err(|error| unsupported(format!("run job '{}': {error}", job.job.name)))?;
    Ok(weighted.into_iter().map(|entry| entry.0).collect())
}

fn unsupported(what: String) -> EngineError {
    EngineError::Unsupported { engine: "the driver of trees", what }
}

impl Trees {
    /// Opens, makes and looks through the trees of phase `phase`; `named` are the directories that may be used although
    /// Assay did not make them. Reports what is odd as sentences.
    ///
    /// # Errors
    /// [`EngineError`] if an anchor may not be used or cannot be looked through, or if two trees are in each other's way.
    pub(crate) fn prepare(
        plan: &Plan,
        phase: usize,
        named: &[PathBuf],
        go_on: &dyn Fn() -> bool,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, EngineError> {
        let planned = &plan.phases[phase];
        let shapes = shapes(plan, phase)?;
        let mut open: Vec<(u16, Arc<Tree>)> = Vec::new();
        for (target, (layout, active)) in shapes {
            let planned_target = &plan.targets[usize::from(target)];
            let anchor = Anchor::open(planned_target.path.as_ref(), named)?;
            keep_apart(&open, &anchor)?;
            let state = TreeState::new(layout, active);
            let tree = Tree { anchor, state, leftovers: AtomicBool::new(false) };
            let strangers = tree.look(go_on)?;
            if strangers > 0 {
                let path = tree.anchor.path().display();
                say(format!(
                    "{path} holds {strangers} files or directories that are not the tree's; they stay"
                ));
            }
            open.push((target, Arc::new(tree)));
        }
        let mut jobs = Vec::new();
        for job in &planned.jobs {
            let Some(tree) = &job.job.tree else {
                jobs.push(None);
                continue;
            };
            jobs.push(Some(threads_of(tree, job, planned.kind.in_steps(), &open)?));
        }
        Ok(Trees { jobs })
    }

    /// What thread `thread` of job `job` works with; `None`: it is no tree job.
    pub(crate) fn thread(&self, job: usize, thread: usize) -> Option<TreeThread> {
        let threads = self.jobs.get(job)?.as_ref()?;
        Some(TreeThread { job: Arc::clone(threads.get(thread)?), shared: Shared::new() })
    }

    /// Everything that is to be said of the jobs, once they are done.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.jobs.iter().flatten().flatten().flat_map(|job| job.take_notes()).collect()
    }
}

/// Shape of each tree of a phase, by target, and everything that is done to it.
fn shapes(plan: &Plan, phase: usize) -> Result<BTreeMap<u16, (TreeLayout, OperationSet)>, EngineError> {
    let mut shapes: BTreeMap<u16, (TreeLayout, OperationSet)> = BTreeMap::new();
    for job in &plan.phases[phase].jobs {
        let Some(tree) = &job.job.tree else { continue };
        let layout = TreeLayout::new(tree)
            .map_err(|error| unsupported(format!("run job '{}': {error}", job.job.name)))?;
        let operations: OperationSet = operations_of(tree, job)?.into_iter().collect();
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            match shapes.entry(site.target) {
                Entry::Vacant(entry) => drop(entry.insert((layout.clone(), operations))),
                Entry::Occupied(mut entry) => {
                    let (known, active) = entry.get_mut();
                    if !known.same_shape(&layout) {
                        let name = &plan.targets[usize::from(site.target)].name;
                        return Err(unsupported(format!("use '{name}' for trees of two shapes at once")));
                    }
                    *active = active.union(operations);
                }
            }
        }
    }
    Ok(shapes)
}

/// Refuses a tree that stands in another one of the phase.
fn keep_apart(open: &[(u16, Arc<Tree>)], anchor: &Anchor) -> Result<(), EngineError> {
    let within = |(_, other): &&(u16, Arc<Tree>)| {
        let other = other.anchor.path();
        anchor.path().starts_with(other) || other.starts_with(anchor.path())
    };
    match open.iter().find(within) {
        Some((_, other)) => Err(unsupported(format!(
            "use {} and {}: one is, or is in, the other",
            other.anchor.path().display(),
            anchor.path().display()
        ))),
        None => Ok(()),
    }
}

/// What each thread of a job works with: threads with the same trees share it.
fn threads_of(
    tree: &TreeWorkload,
    job: &PlannedJob,
    in_steps: bool,
    open: &[(u16, Arc<Tree>)],
) -> Result<Vec<Arc<TreeJob>>, EngineError> {
    let operations = operations_of(tree, job)?;
    let moves = [TreeOperation::Copy, TreeOperation::Move];
    if in_steps && tree.copy_to.is_none() && operations.iter().any(|operation| moves.contains(operation)) {
        return Err(unsupported(
            "copy or move within one tree in a phase that prepares or removes".to_owned(),
        ));
    }
    let sites = |index: usize| job.slices[index].sites.iter().map(|site| site.target).collect::<Vec<u16>>();
    let mut made: BTreeMap<Vec<u16>, Arc<TreeJob>> = BTreeMap::new();
    let mut threads = Vec::with_capacity(job.slices.len());
    for index in 0..job.slices.len() {
        let mine = sites(index);
        if !made.contains_key(&mine) {
            let number = (0..job.slices.len()).filter(|other| sites(*other) == mine).count();
            let found = mine.iter().filter_map(|target| open.iter().find(|entry| entry.0 == *target));
            let trees: Vec<Arc<Tree>> = found.map(|entry| Arc::clone(&entry.1)).collect();
            let copy_to = tree.copy_to.as_ref().and_then(|_| trees.len().checked_sub(1));
            let own: Vec<&Tree> = trees[..copy_to.unwrap_or(trees.len())].iter().map(AsRef::as_ref).collect();
            let steps = in_steps.then(|| Steps::new(&own, &operations, number));
            if job.job.invalidate && !in_steps && operations.contains(&TreeOperation::Read) {
                own.iter().for_each(|tree| tree.invalidate());
            }
            let limits = &job.job.limits;
            let endless = limits.time.is_some() || limits.ios.is_some() || limits.bytes.is_some();
            let passes = limits.passes.or((!endless).then_some(1));
            let cursors = Cursors::new(tree, job.slices[index].seed, passes);
            let shared = TreeJob {
                trees,
                copy_to,
                cursors,
                steps,
                notes: Mutex::new(Vec::new()),
                gave_up: AtomicBool::new(false),
            };
            made.insert(mine.clone(), Arc::new(shared));
        }
        threads.extend(made.get(&mine).cloned());
    }
    Ok(threads)
}

/// One thread of a tree job.
#[derive(Debug)]
pub(crate) struct TreeThread {
    job: Arc<TreeJob>,
    shared: Arc<Shared<TreeCounts>>,
}

/// How a thread runs, beside what is planned.
#[derive(Debug)]
pub(crate) struct ThreadOptions {
    /// Length of a reporting period.
    pub(crate) interval: Duration,
    /// Set from outside to end the thread early.
    pub(crate) stop: Arc<AtomicBool>,
}

impl TreeThread {
    /// Where its intervals come from.
    pub(crate) fn intervals(&self) -> Arc<dyn Intervals> {
        Arc::clone(&self.shared) as Arc<dyn Intervals>
    }

    /// Runs thread `index` of `planned`. `wait` returns the start of the phase once everybody is ready, `None` if there
    /// will be none; nothing is run then, and `None` returned.
    ///
    /// # Errors
    /// [`EngineError`] if buffers cannot be had.
    pub(crate) fn run(
        &self,
        planned: &PlannedJob,
        index: usize,
        options: ThreadOptions,
        wait: &mut dyn FnMut() -> Option<u64>,
    ) -> Result<Option<ThreadEnd>, EngineError> {
        let slice = &planned.slices[index];
        let hands = Hands::new(planned, slice)?;
        let read_share = planned.job.pattern.mix.share(OpKind::Read);
        let tree = planned.job.tree.as_ref();
        let tree = tree.ok_or_else(|| unsupported("run a job without a tree".to_owned()))?;
        let mut generator = TreeGenerator::new(tree, read_share, derive_seed(slice.seed, 4))
            .map_err(|error| unsupported(format!("run job '{}': {error}", planned.job.name)))?;
        let Some(phase_start_ns) = wait() else { return Ok(None) };
        let bounds = bounds(planned, index, phase_start_ns);
        let schedule = Schedule {
            start_ns: bounds.start_ns,
            measured_start_ns: bounds.measured_start_ns,
            interval_ns: options.interval.as_nanos() as u64,
        };
        let arrivals = slice.rate_per_s;
        let arrivals =
            arrivals.map(|rate| ArrivalSource::new(planned.job.arrival, rate, derive_seed(slice.seed, 3)));
        let recorder = Recorder::new(Arc::clone(&self.shared), schedule);
        let meter = Meter::new(recorder, arrivals, bounds, options.stop);
        let mut worker = Worker::new(&self.job, planned, slice, hands, meter);
        let before = ThreadCpu::of_this_thread();
        worker.meter.wait_until(bounds.start_ns);
        match &self.job.steps {
            Some(steps) => worker.run_steps(steps),
            None => worker.run_mix(&mut generator, &self.job.cursors),
        }
        let cpu = ThreadCpu::of_this_thread().since(before);
        Ok(Some(ThreadEnd {
            end: worker.meter.finish(),
            cpu,
            flushed_ns: 0,
            engine: "psync",
            engine_notes: Vec::new(),
            engine_fallback: String::new(),
        }))
    }
}

fn bounds(planned: &PlannedJob, index: usize, phase_start_ns: u64) -> Bounds {
    let slice = &planned.slices[index];
    let start_ns = phase_start_ns + planned.job.start_delay.0;
    let measured_start_ns = start_ns + planned.job.ramp.0;
    Bounds {
        start_ns,
        measured_start_ns,
        deadline_ns: planned.time.map_or(u64::MAX, |time| measured_start_ns.saturating_add(time.0)),
        ios: slice.ios.unwrap_or(u64::MAX),
        bytes: slice.bytes.unwrap_or(u64::MAX),
        errors_tolerated: planned.job.errors_tolerated,
    }
}

#[cfg(test)]
mod tests;
