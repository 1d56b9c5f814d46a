//! The executor for this machine: the engine's driver, with the kernel's counters beside it.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_conduct::{Executor, PhaseOutcome};
use assay_engine::driver::{PhaseOptions, run_phase_traced};
use assay_engine::targets::sync_file_system;
use assay_engine::tracing::TraceSink;
use assay_engine::tree::check_anchor;
use assay_host::counters::{Sampler, Selection, own_pid};
use assay_host::guard::{Class, Consent, check_write, classify};
use assay_host::workdir::{enclosing_assay_dir, mark_file};
use assay_host::{HostRoot, environment};
use assay_results::RunEvent;
use assay_results::environment::Environment;
use assay_results::probe::Probe;
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;
use assay_workload::units::{Bytes, Nanos};
use clap::ValueEnum;
use rustix::fs::OFlags;

use crate::context::Context;
use crate::failure::Failure;
use crate::quiet::QuietWindows;

/// What a run looks at beside its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Watch {
    /// Counters of devices and processors, and for half a second before and after what others do with the devices
    #[default]
    All,
    /// The counters only: it begins at once, and of others on the device less is known
    Counters,
    /// Nothing: to see what looking costs
    Nothing,
}

/// Runs phases here.
pub(crate) struct LocalExecutor {
    stop: Arc<AtomicBool>,
    host: HostRoot,
    started: Instant,
    counters: Sampler,
    quiet: QuietWindows,
    watching: Watch,
    /// Probes to be told with the first phase.
    probes: Vec<Probe>,
    /// Directories named for destruction: trees may stand in them.
    named: Vec<PathBuf>,
    /// Where every I/O is written down.
    trace: Option<Arc<TraceSink>>,
}

/// The environment of a plan's targets.
pub(crate) fn environment_of(plan: &Plan, host: &HostRoot) -> Environment {
    let real = plan.targets.iter().filter(|target| target.kind != TargetKind::Null);
    let paths: Vec<PathBuf> = real.map(|target| PathBuf::from(&target.path)).collect();
    environment::collect_with(host, Context::version(), &paths, &assay_engine::extents::Kernel)
}

/// Asks the guard about every target that the plan writes to.
///
/// # Errors
/// [`Failure::Usage`] with the guard's refusal.
pub(crate) fn check_consent(plan: &Plan, host: &HostRoot, named: &[PathBuf]) -> Result<(), Failure> {
    let consent = Consent::naming(host, named);
    let written = plan
        .phases
        .iter()
        .flat_map(|phase| &phase.jobs)
        .filter(|job| job.job.pattern.kinds().any(|kind| kind != OpKind::Read) || job.job.tree.is_some());
    let mut indices: Vec<u16> =
        written.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect();
    // Files that are read beyond their end are laid out first, which is writing too.
    let short =
        plan.targets.iter().enumerate().filter(|(_, target)| {
            target.kind == TargetKind::File && target.existing_bytes < target.size_bytes
        });
    indices.extend(short.map(|(index, _)| index as u16));
    indices.sort_unstable();
    indices.dedup();
    for index in indices {
        let target = &plan.targets[usize::from(index)];
        if target.kind != TargetKind::Null {
            check_write(host, target.path.as_ref(), &consent).map_err(Failure::usage)?;
        }
        // Only jobs on trees use directories, and they make and remove what is in them.
        if target.kind == TargetKind::Directory {
            check_anchor(target.path.as_ref(), named).map_err(Failure::usage)?;
        }
    }
    Ok(())
}

/// Asks whether there is memory for the plan's buffers, before the kernel ends us for taking it.
///
/// # Errors
/// [`Failure::Usage`] with how much is wanted and how much is there.
pub(crate) fn check_memory(plan: &Plan, host: &HostRoot) -> Result<(), Failure> {
    let (wanted, there) = (plan.memory_bytes_max(), environment::memory(host).available_bytes);
    match there {
        Some(there) if wanted > there => Err(Failure::usage(format!(
            "the plan takes {} of memory for its buffers, and {} are available: fewer outstanding I/Os, fewer threads, or \
             smaller blocks",
            Bytes(wanted),
            Bytes(there)
        ))),
        _ => Ok(()),
    }
}

/// Makes the files that do not exist yet, marked as ours, so that the next run may write over them.
///
/// # Errors
/// [`Failure::Failed`] naming the file.
pub(crate) fn make_files(plan: &Plan, host: &HostRoot) -> Result<(), Failure> {
    for target in plan.targets.iter().filter(|target| target.kind == TargetKind::File) {
        let path = std::path::Path::new(&target.path);
        let new = matches!(classify(host, path), Ok(Class::Missing));
        if new && enclosing_assay_dir(path).is_none() {
            let made = std::fs::File::create_new(path).and_then(|file| mark_file(&file));
            made.map_err(|error| Failure::failed(format!("cannot make {}: {error}", target.path)))?;
        }
    }
    Ok(())
}

/// Counters of the devices under the targets and of this process.
pub(crate) fn sampler(environment: &Environment, host: &HostRoot) -> Sampler {
    let mut devices: Vec<String> = environment
        .targets
        .iter()
        .flat_map(|target| target.top_devices().chain(target.bottom_devices()))
        .map(|device| device.name.clone())
        .collect();
    devices.sort_unstable();
    devices.dedup();
    Sampler::new(host, &Selection { devices, processes: vec![own_pid()], threads: false })
}

/// The reporting period of a phase: short windows get short ones, so that they have a course at all.
pub(crate) fn period(plan: &Plan, phase: usize) -> Duration {
    let planned = plan.phases[phase].expected_time().unwrap_or(Nanos::from_secs(10));
    if planned.0 < 4_000_000_000 { Duration::from_millis(200) } else { Duration::from_secs(1) }
}

/// Opens the block devices that a phase writes to, each exclusively, which the kernel refuses where somebody else uses it;
/// they are ours until the files are dropped. What is opened is held against what the guard permits.
fn hold_devices(plan: &Plan, phase: usize, host: &HostRoot) -> Result<Vec<std::fs::File>, String> {
    let writes = |job: &&assay_workload::PlannedJob| job.job.pattern.kinds().any(|kind| kind != OpKind::Read);
    let jobs = plan.phases[phase].jobs.iter().filter(writes);
    let mut used: Vec<u16> =
        jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect();
    used.sort_unstable();
    used.dedup();
    let devices = used.iter().map(|index| &plan.targets[usize::from(*index)]);
    let mut held = Vec::new();
    for target in devices.filter(|target| target.kind == TargetKind::BlockDevice) {
        // Consent was asked for before the run began; that the device is still unused is asked again.
        let permit = check_write(host, target.path.as_ref(), &Consent::naming(host, [&target.path]))
            .map_err(|refusal| refusal.to_string())?;
        let exclusive = if permit.exclusive() { OFlags::EXCL } else { OFlags::empty() };
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(exclusive.bits() as i32)
            .open(permit.path())
            .map_err(|error| format!("cannot open {} for ourselves: {error}", target.path))?;
        permit.verify(&file).map_err(|refusal| refusal.to_string())?;
        held.push(file);
    }
    Ok(held)
}

/// What comes behind a phase: dirty pages are written back, then nothing is done for a while.
pub(crate) fn settle(plan: &Plan, phase: usize, stopped: &dyn Fn() -> bool, sink: &mut dyn FnMut(RunEvent)) {
    let planned = &plan.phases[phase];
    if planned.drain_after {
        let mut paths: Vec<&str> = plan.targets.iter().map(|target| target.path.as_str()).collect();
        // One file of each directory stands for its file system.
        paths.dedup_by_key(|path| std::path::Path::new(path).parent().map(PathBuf::from));
        for path in paths {
            if let Err(error) = sync_file_system(path) {
                let text = format!("dirty pages of {path} could not be written back: {error}");
                sink(RunEvent::Note { phase: Some(phase as u32), id: "drain".to_owned(), text });
            }
        }
    }
    let until = Instant::now() + Duration::from_nanos(planned.pause_after.0);
    while Instant::now() < until && !stopped() {
        std::thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
    }
}

impl LocalExecutor {
    /// For a plan whose environment has been looked at.
    pub(crate) fn new(environment: &Environment, host: &HostRoot, stop: Arc<AtomicBool>) -> Self {
        let counters = sampler(environment, host);
        LocalExecutor {
            stop,
            host: host.clone(),
            started: Instant::now(),
            counters,
            quiet: QuietWindows::default(),
            watching: Watch::default(),
            probes: Vec::new(),
            named: Vec::new(),
            trace: None,
        }
    }

    /// Trees of files may also stand in `named`.
    pub(crate) fn naming(self, named: &[PathBuf]) -> Self {
        LocalExecutor { named: named.to_owned(), ..self }
    }

    /// Every I/O is written down in `trace`.
    pub(crate) fn tracing(self, trace: Option<Arc<TraceSink>>) -> Self {
        LocalExecutor { trace, ..self }
    }

    /// Looks at more or less beside the jobs.
    pub(crate) fn watching(self, watching: Watch) -> Self {
        LocalExecutor { watching, ..self }
    }

    /// The run is judged with what these probes found.
    pub(crate) fn with_probes(self, probes: Vec<Probe>) -> Self {
        LocalExecutor { probes, ..self }
    }
}

impl Executor for LocalExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> PhaseOutcome {
        let _held = match hold_devices(plan, phase, &self.host) {
            Ok(held) => held,
            Err(why) => return PhaseOutcome::Failed(why),
        };
        let interval = period(plan, phase);
        let options = PhaseOptions { interval, stop: Arc::clone(&self.stop), fall_back: true };
        let (counters, watching) = (&mut self.counters, self.watching);
        let mut tick = |sink: &mut dyn FnMut(RunEvent)| {
            if watching == Watch::Nothing {
                return;
            }
            sink(RunEvent::Counters { phase: phase as u32, record: Box::new(counters.snapshot()) });
        };
        let to = (self.named.as_slice(), self.trace.as_ref());
        match run_phase_traced(plan, phase, &options, to, sink, &mut tick) {
            Err(error) => PhaseOutcome::Failed(error.to_string()),
            Ok(end) if !end.error.is_empty() => PhaseOutcome::Failed(end.error),
            Ok(_) if self.stopped() => PhaseOutcome::Stopped,
            Ok(_) => PhaseOutcome::Done,
        }
    }

    fn watch_before(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        for probe in self.probes.drain(..) {
            sink(RunEvent::Probed { probe: Box::new(probe) });
        }
        if self.watching != Watch::All {
            return;
        }
        let stop = || self.stop.load(Ordering::Relaxed);
        self.quiet.before(plan, phase, &mut self.counters, &stop, sink);
    }

    fn watch_after(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        if self.watching != Watch::All {
            return;
        }
        let stop = || self.stop.load(Ordering::Relaxed);
        self.quiet.after(plan, phase, &mut self.counters, &stop, sink);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        settle(plan, phase, &|| self.stopped(), sink);
    }

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}
