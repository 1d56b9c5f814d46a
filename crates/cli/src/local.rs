//! The executor for this machine: the engine's driver, with the kernel's counters beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_conduct::{Executor, PhaseOutcome};
use assay_engine::driver::{PhaseOptions, run_phase_naming};
use assay_engine::targets::sync_file_system;
use assay_engine::tree::check_anchor;
use assay_host::counters::{Sampler, Selection, own_pid};
use assay_host::guard::{Class, Consent, check_write, classify};
use assay_host::workdir::{enclosing_assay_dir, mark_file};
use assay_host::{HostRoot, environment};
use assay_results::RunEvent;
use assay_results::environment::Environment;
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

use crate::context::Context;
use crate::failure::Failure;

/// Runs phases here.
pub(crate) struct LocalExecutor {
    stop: Arc<AtomicBool>,
    started: Instant,
    counters: Sampler,
    /// Directories named for destruction: trees may stand in them.
    named: Vec<PathBuf>,
}

/// The environment of a plan's targets.
pub(crate) fn environment_of(plan: &Plan, host: &HostRoot) -> Environment {
    let real = plan.targets.iter().filter(|target| target.kind != TargetKind::Null);
    let paths: Vec<PathBuf> = real.map(|target| PathBuf::from(&target.path)).collect();
    environment::collect(host, Context::version(), &paths)
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
        LocalExecutor { stop, started: Instant::now(), counters, named: Vec::new() }
    }

    /// Trees of files may also stand in `named`.
    pub(crate) fn naming(self, named: &[PathBuf]) -> Self {
        LocalExecutor { named: named.to_owned(), ..self }
    }
}

impl Executor for LocalExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> PhaseOutcome {
        let interval = period(plan, phase);
        let options = PhaseOptions { interval, stop: Arc::clone(&self.stop), fall_back: true };
        let counters = &mut self.counters;
        let mut tick = |sink: &mut dyn FnMut(RunEvent)| {
            sink(RunEvent::Counters { phase: phase as u32, record: Box::new(counters.snapshot()) });
        };
        match run_phase_naming(plan, phase, &options, &self.named, sink, &mut tick) {
            Err(error) => PhaseOutcome::Failed(error.to_string()),
            Ok(end) if !end.error.is_empty() => PhaseOutcome::Failed(end.error),
            Ok(_) if self.stopped() => PhaseOutcome::Stopped,
            Ok(_) => PhaseOutcome::Done,
        }
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
