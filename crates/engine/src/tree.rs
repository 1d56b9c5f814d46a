//! Jobs on trees of files: real system calls on real files and directories, each timed and counted by its name.
//!
//! The shape of a tree and the state of its files are `assay_workload::tree`'s. Here the anchor is opened and looked
//! through ([`Trees`] is the kind of job), and each thread of a job does operations in a mix, or, in phases that prepare or remove,
//! step by step. A tree stands in a directory that Assay made or that was named for destruction; see [`check_anchor`].

mod anchor;
mod doing;
mod meter;
mod mix;
mod scan;
mod session;
mod steps;
mod worker;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_workload::arrival::ArrivalSource;
use assay_workload::job::EngineKind;
use assay_workload::operation::OpId;
use assay_workload::pattern::OpKind;
use assay_workload::plan::PlannedJob;
use assay_workload::rng::derive_seed;
use assay_workload::tree::{
    Cursors, OperationSet, TreeGenerator, TreeLayout, TreeOperation, TreeState, TreeWorkload,
};
use rustix::fs::{Mode, OFlags};

use self::anchor::{Anchor, PathText};
pub use self::anchor::{AnchorError, NamedDirectories, check_anchor};
use self::doing::Doing;
use self::meter::{Bounds, Meter};
use self::steps::Steps;
use self::worker::{ThreadBuffers, Worker};
use crate::kind::{
    Intervals, JobKind, JobRunner, Pending, PhaseContext, PreparedJobs, Say, ThisMachine, ThreadEnd,
    ThreadIndex, Waits,
};
use crate::operations::{self, OperationCounts};
use crate::preparation::{Doing as Step, Preparation};
use crate::recorder::{Recorder, Schedule, Shared};
use crate::seam::EngineError;

/// The identifier of what is said of trees.
const NOTE: &str = "tree";
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
    fn invalidate(&self, step: &Step<'_>) {
        let layout = self.state.layout();
        let mut text = PathText::new();
        for file in (0..layout.working_files()).filter(|file| self.state.has_bytes(*file)) {
            step.goes_on();
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
struct TreeJob {
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
    fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Jobs on trees of files.
#[derive(Debug, Clone, Default)]
pub struct Trees {
    /// Directories that may be used although Assay did not make them.
    pub named: NamedDirectories,
    /// Where it can be seen what is being done before the start.
    pub preparation: Arc<Preparation>,
}

impl JobKind<ThisMachine> for Trees {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.tree.is_some()
    }

    /// Opens, makes and looks through the trees; says what is odd.
    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        own: &[usize],
        say: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        let jobs = jobs_of(context, own, self, &mut |text| say(NOTE, text))?;
        Ok(Box::new(PreparedTrees { context, jobs }))
    }
}

/// The jobs of a phase; `None` for those of other kinds.
struct PreparedTrees<'p> {
    context: PhaseContext<'p>,
    jobs: Vec<Option<Vec<TreeThread>>>,
}

impl PreparedTrees<'_> {
    fn at(&self, at: ThreadIndex) -> Option<&TreeThread> {
        self.jobs.get(at.job)?.as_ref()?.get(at.thread)
    }
}

fn operations_of(tree: &TreeWorkload, job: &PlannedJob) -> Result<Vec<TreeOperation>, EngineError> {
    let weighted = tree.weighted_operations(job.pattern.mix.share(OpKind::Read));
    let weighted = weighted.map_err(|error| unsupported(format!("run job '{}': {error}", job.name)))?;
    Ok(weighted.into_iter().map(|entry| entry.0).collect())
}

fn unsupported(what: String) -> EngineError {
    EngineError::Unsupported { engine: "the driver of trees", what }
}

/// Opens, makes and looks through the trees of the jobs `own` of a phase; reports what is odd as sentences.
fn jobs_of(
    context: PhaseContext<'_>,
    own: &[usize],
    Trees { named, preparation }: &Trees,
    say: &mut dyn FnMut(String),
) -> Result<Vec<Option<Vec<TreeThread>>>, EngineError> {
    let (plan, planned) = (context.plan, context.planned());
    let shapes = shapes(context, own)?;
    let mut open: Vec<(u32, Arc<Tree>)> = Vec::new();
    for (target, (layout, active, shape)) in shapes {
        let planned_target = &plan.targets[target as usize];
        let opening = preparation.begins("open", &planned_target.path);
        let mut anchor = Anchor::open(planned_target.path.as_ref(), named)?;
        keep_apart(&open, &anchor)?;
        anchor.plan(shape)?;
        let state = TreeState::new(layout, active);
        let tree = Tree { anchor, state, leftovers: AtomicBool::new(false) };
        drop(opening);
        let looking = preparation.begins("scan", &planned_target.path);
        let go_on = || {
            looking.goes_on();
            !context.stopped()
        };
        let strangers = tree.look(&go_on)?;
        if strangers > 0 {
            let path = tree.anchor.path().display();
            say(format!("{path} holds {strangers} files or directories that are not the tree's; they stay"));
        }
        open.push((target, Arc::new(tree)));
    }
    let threads = planned.jobs.iter().enumerate().map(|(index, job)| {
        let tree = job.tree.as_ref().filter(|_| own.contains(&index));
        let threads = tree.map(|tree| threads_of(tree, job, planned.kind.in_steps(), &open, preparation));
        let table = operations();
        let with_counts =
            |job| TreeThread { job, shared: OperationCounts::shared(&table), doing: Arc::default() };
        Ok(threads.transpose()?.map(|threads| threads.into_iter().map(with_counts).collect()))
    });
    threads.collect()
}

/// Where operations on files and directories are counted, by their discriminants, as [`TreeOperation::names`].
fn operations() -> [operations::Entry; TreeOperation::COUNT] {
    TreeOperation::ALL.map(|operation| match operation {
        TreeOperation::Read => operations::Entry::Data(OpKind::Read),
        TreeOperation::Write => operations::Entry::Data(OpKind::Write),
        named => operations::Entry::Named(OpId::new(named as u8)),
    })
}

impl PreparedJobs<ThisMachine> for PreparedTrees<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        match self.at(at) {
            Some(thread) => Arc::clone(&thread.shared) as Arc<dyn Intervals>,
            None => Shared::new(),
        }
    }

    fn waits(&self, at: ThreadIndex, until_ns: u64) -> Option<Waits> {
        self.at(at)?.doing.waits(until_ns)
    }

    fn thread(&self, at: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        let thread = self.at(at).ok_or_else(|| unsupported("run a job without a tree".to_owned()))?;
        Ok(Box::new(thread.runner(self.context, at)?))
    }

    fn finish(&self, say: &mut Say<'_>) {
        let threads = self.jobs.iter().flatten().flatten();
        threads.flat_map(|thread| thread.job.take_notes()).for_each(|text| say(NOTE, text));
    }
}

/// Layout of each tree of some jobs, by target, everything that is done to it, and how its shape was asked for.
type Shapes<'a> = BTreeMap<u32, (TreeLayout, OperationSet, &'a TreeWorkload)>;

fn shapes<'p>(context: PhaseContext<'p>, own: &[usize]) -> Result<Shapes<'p>, EngineError> {
    let mut shapes = Shapes::new();
    for job in own.iter().map(|index| context.job(*index)) {
        let Some(tree) = &job.tree else { continue };
        let layout =
            TreeLayout::new(tree).map_err(|error| unsupported(format!("run job '{}': {error}", job.name)))?;
        let operations: OperationSet = operations_of(tree, job)?.into_iter().collect();
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            match shapes.entry(site.target) {
                Entry::Vacant(entry) => drop(entry.insert((layout.clone(), operations, tree))),
                Entry::Occupied(mut entry) => {
                    let (known, active, _) = entry.get_mut();
                    if !known.same_shape(&layout) {
                        let name = &context.plan.targets[site.target as usize].name;
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
fn keep_apart(open: &[(u32, Arc<Tree>)], anchor: &Anchor) -> Result<(), EngineError> {
    let within = |(_, other): &&(u32, Arc<Tree>)| {
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
    open: &[(u32, Arc<Tree>)],
    preparation: &Preparation,
) -> Result<Vec<Arc<TreeJob>>, EngineError> {
    let operations = operations_of(tree, job)?;
    let moves = [TreeOperation::Copy, TreeOperation::Move];
    if in_steps && tree.copy_to.is_none() && operations.iter().any(|operation| moves.contains(operation)) {
        return Err(unsupported(
            "copy or move within one tree in a phase that prepares or removes".to_owned(),
        ));
    }
    let sites = |index: usize| job.slices[index].sites.iter().map(|site| site.target).collect::<Vec<u32>>();
    let mut made: BTreeMap<Vec<u32>, Arc<TreeJob>> = BTreeMap::new();
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
            if job.invalidate && !in_steps && operations.contains(&TreeOperation::Read) {
                for tree in &own {
                    let dropping = preparation.begins("fadvise", &tree.anchor.path().to_string_lossy());
                    tree.invalidate(&dropping);
                }
            }
            let cursors = Cursors::new(tree, job.slices[index].seed, job.end.passes);
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
struct TreeThread {
    job: Arc<TreeJob>,
    shared: Arc<Shared<OperationCounts>>,
    doing: Arc<Doing>,
}

impl TreeThread {
    fn runner<'r>(
        &'r self,
        context: PhaseContext<'r>,
        at: ThreadIndex,
    ) -> Result<TreeRunner<'r>, EngineError> {
        let planned = context.job(at.job);
        let slice = &planned.slices[at.thread];
        let buffers = ThreadBuffers::new(planned, slice)?;
        let read_share = planned.pattern.mix.share(OpKind::Read);
        let tree = planned.tree.as_ref();
        let tree = tree.ok_or_else(|| unsupported("run a job without a tree".to_owned()))?;
        let generator = TreeGenerator::new(tree, read_share, derive_seed(slice.seed, 4))
            .map_err(|error| unsupported(format!("run job '{}': {error}", planned.name)))?;
        let bounds = Bounds::of(planned, slice);
        let schedule = Schedule {
            start_ns: bounds.start_ns,
            measured_start_ns: bounds.measured_start_ns,
            interval_ns: context.interval_ns,
        };
        let arrivals = planned.slice_iops(slice);
        let arrivals =
            arrivals.map(|rate| ArrivalSource::of_thread(planned.pace.arrival(), rate, slice.seed));
        let recorder = Recorder::new(Arc::clone(&self.shared), schedule);
        let stop = Arc::clone(&context.stops[at.job]);
        let meter = Meter::new(recorder, arrivals, bounds, stop, Arc::clone(&self.doing));
        let worker = Worker::new(&self.job, planned, slice, buffers, meter);
        Ok(TreeRunner { worker, generator, started: false, turn: 0 })
    }
}

/// What one thread of a tree job does.
struct TreeRunner<'r> {
    worker: Worker<'r>,
    generator: TreeGenerator,
    /// Whether the start of the job has come.
    started: bool,
    /// How often a tree was chosen.
    turn: usize,
}

impl JobRunner for TreeRunner<'_> {
    fn arm(&mut self, start_ns: u64) {
        self.worker.meter.arm(start_ns);
    }

    /// An operation of the mix, or everything there is to prepare or remove. It waits where it has to: there are no trees in
    /// virtual time.
    fn step(&mut self) -> Result<Pending, EngineError> {
        if !self.started {
            self.started = true;
            self.worker.meter.wait_until_start();
        }
        let job = self.worker.job;
        if let Some(steps) = &job.steps {
            self.worker.run_steps(steps);
            return Ok(Pending::Done);
        }
        if self.worker.next_of_mix(&mut self.generator, &job.cursors, &mut self.turn) {
            return Ok(Pending::Completion);
        }
        self.worker.close_session();
        Ok(Pending::Done)
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        ThreadEnd {
            end: self.worker.meter.finish(),
            engine: EngineKind::Psync.name(),
            ..ThreadEnd::default()
        }
    }
}

#[cfg(test)]
mod tests;
