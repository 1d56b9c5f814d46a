//! The executor for this machine: the engine's driver, with the kernel's counters beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_conduct::{Executor, PhaseOutcome, When};
use assay_engine::driver::{CommonStart, PhaseEnd};
use assay_engine::preparation::Preparation;
use assay_engine::targets::sync_file_system;
use assay_engine::tracing::TraceSink;
use assay_engine::tree::NamedDirectories;
use assay_engine::{Blocks, JobKind, Journal, ThisMachine, Trees, Validation};
use assay_host::HostRoot;
use assay_host::counters::{Pulse, Sampler, Selection, own_pid};
use assay_results::environment::Environment;
use assay_results::probe::Probe;
use assay_results::{HostEvent, HostId, HostSink};
use assay_workload::Plan;

use crate::clocks::Clocks;
use crate::hold::{Permits, hold};
use crate::idle_windows::IdleWindows;
use crate::period::period;
use crate::phase_thread::PhaseThread;
use crate::request::{Kinds, Request, Site, Watch};
use crate::seed::random_u64;
use crate::space::SpaceWatch;

/// Carries phases out by Assay's own engines, with the kernel's counters beside them.
#[derive(Debug)]
pub(crate) struct NativeExecutor {
    stop: Arc<AtomicBool>,
    host: HostRoot,
    permits: Arc<Permits>,
    environment: Environment,
    started: Instant,
    counters: Sampler,
    idle: IdleWindows,
    watch: Watch,
    /// Probes to be told with the first phase.
    probes: Vec<Probe>,
    /// Notes to be told with the first phase, by their id.
    pub(crate) notes: Vec<(String, String)>,
    /// The kinds of jobs: those of the site before the others.
    kinds: Kinds,
    pub(crate) trace: Option<Arc<TraceSink>>,
    /// Says when each phase starts; `None`: at once.
    pub(crate) start: Option<CommonStart>,
    /// What the run has written with headers.
    validation: Arc<Validation>,
    trees: Trees,
    preparation: Arc<Preparation>,
}

/// Counters of the devices under the targets, of the network interfaces to their servers, and of this process.
pub(crate) fn sampler(environment: &Environment, host: &HostRoot) -> Sampler {
    let mut devices: Vec<String> = environment
        .targets
        .iter()
        .flat_map(|target| target.top_devices().chain(target.bottom_devices()))
        .map(|device| device.name.clone())
        .collect();
    devices.sort_unstable();
    devices.dedup();
    let networks = environment.targets.iter().filter_map(|target| target.network.as_ref());
    let mut interfaces: Vec<String> = networks.filter_map(|network| network.interface.clone()).collect();
    interfaces.sort_unstable();
    interfaces.dedup();
    Sampler::new(host, &Selection { devices, interfaces, processes: vec![own_pid()], threads: false })
}

/// What comes behind a phase: dirty pages are written back, then nothing is done for a while.
pub(crate) fn settle(plan: &Plan, phase: usize, stopped: &dyn Fn() -> bool, sink: &mut dyn FnMut(HostEvent)) {
    let planned = &plan.phases[phase];
    if planned.drain_after {
        let mut paths: Vec<&str> = plan.targets.iter().map(|target| target.path.as_str()).collect();
        // One file of each directory stands for its file system.
        paths.dedup_by_key(|path| std::path::Path::new(path).parent().map(PathBuf::from));
        for path in paths {
            if let Err(error) = sync_file_system(path) {
                let text = format!("dirty pages of {path} could not be written back: {error}");
                sink(HostEvent::Note { phase: Some(phase as u32), id: "drain".to_owned(), text });
            }
        }
    }
    let until = Instant::now() + Duration::from_nanos(planned.pause_after.0);
    while Instant::now() < until && !stopped() {
        std::thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
    }
}

/// The number that sectors of a run carry: no two runs have the same, whatever their seeds are.
pub(crate) fn run_number() -> u64 {
    let by_time = || std::time::UNIX_EPOCH.elapsed().map_or(1, |since| since.as_nanos() as u64);
    random_u64().unwrap_or_else(|_| by_time())
}

impl NativeExecutor {
    /// For a plan whose environment was collected; of the request, what is observed and what consent was given for. Writes are kept
    /// in `journal`.
    pub(crate) fn new(
        environment: &Environment,
        request: &Request,
        site: &Site,
        trace: Option<Arc<TraceSink>>,
        permits: Arc<Permits>,
        journal: Option<(u64, Arc<Journal>)>,
    ) -> Self {
        let preparation = Arc::default();
        let known = request.validation.clone();
        let validation = known.unwrap_or_else(|| {
            Arc::new(match journal {
                Some((run, journal)) => Validation::journaled(run, journal),
                None => Validation::new(run_number()),
            })
        });
        NativeExecutor {
            stop: Arc::clone(&site.stop),
            host: site.host.clone(),
            permits,
            environment: environment.clone(),
            started: Instant::now(),
            counters: sampler(environment, &site.host),
            idle: IdleWindows::default(),
            watch: request.watch,
            probes: request.probes.clone(),
            notes: Vec::new(),
            kinds: site.kinds.clone(),
            trace,
            start: None,
            validation,
            // Directories named for destruction: trees may stand in them.
            trees: Trees {
                named: NamedDirectories::at(&request.consent),
                preparation: Arc::clone(&preparation),
            },
            preparation,
        }
    }
}

/// The plan, with what is left of delays that count from the start of the run.
fn less_delay(plan: &Arc<Plan>, phase: usize, elapsed: Duration) -> Arc<Plan> {
    if plan.phases[phase].jobs.iter().all(|job| !job.delay_from_run) {
        return Arc::clone(plan);
    }
    let mut plan = plan.as_ref().clone();
    for job in plan.phases[phase].jobs.iter_mut().filter(|job| job.delay_from_run) {
        job.start_delay.0 = job.start_delay.0.saturating_sub(elapsed.as_nanos() as u64);
    }
    Arc::new(plan)
}

impl Executor for NativeExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let sink = &mut |event| sink(HostId::FIRST, event);
        let plan = &less_delay(plan, phase, self.started.elapsed());
        let holding = match hold(plan, phase, &self.permits, &self.host) {
            Ok(holding) => holding,
            Err(why) => return PhaseOutcome::Failed(why),
        };
        let space = SpaceWatch::of(plan, phase, &self.stop);
        let stop = space.as_ref().map_or_else(|| Arc::clone(&self.stop), SpaceWatch::halt);
        if let Some(journal) = self.validation.journal() {
            journal.halt_on_failure(Arc::clone(&stop));
        }
        let blocks = Blocks {
            trace: self.trace.clone(),
            held: holding.held.clone(),
            validation: Arc::clone(&self.validation),
            preparation: Arc::clone(&self.preparation),
            laying_out: Arc::clone(&holding.named),
            places: holding.places.clone(),
            laid_out: holding.laid_out(),
        };
        let mut kinds = self.kinds.native.clone();
        kinds
            .extend([Arc::new(blocks) as Arc<dyn JobKind<ThisMachine> + Send>, Arc::new(self.trees.clone())]);
        let interval = period(plan, phase);
        let (plan, preparation) = (Arc::clone(plan), Arc::clone(&self.preparation));
        let start = self.start.clone();
        let thread = PhaseThread { plan, phase, interval, stop, start, kinds, holding, preparation };
        let (counters, watch) = (&mut self.counters, self.watch);
        let pulse = (watch != Watch::Nothing).then(|| Pulse::start(&self.host));
        let mut tick = |sink: &mut dyn FnMut(HostEvent)| {
            let Some(pulse) = &pulse else { return };
            let mut record = Box::new(counters.snapshot());
            pulse.note(&mut record);
            sink(HostEvent::Counters { phase: phase as u32, record });
        };
        let before = Clocks::now();
        let end = thread.run(sink, &mut tick);
        for (id, text) in Clocks::now().since(&before) {
            sink(HostEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text });
        }
        let unkept = self.validation.journal().and_then(|journal| journal.failure().map(str::to_owned));
        if let Some(why) = space.and_then(SpaceWatch::end).or(unkept) {
            return PhaseOutcome::Failed(why);
        }
        match end {
            Err(error) => PhaseOutcome::Failed(error.to_string()),
            Ok(PhaseEnd { error: Some(why) }) => PhaseOutcome::Failed(why),
            Ok(_) if self.stopped() => PhaseOutcome::Stopped,
            Ok(_) => PhaseOutcome::Done,
        }
    }

    fn idle_window(&mut self, plan: &Arc<Plan>, phase: usize, when: When, sink: &mut HostSink<'_>) {
        for probe in self.probes.drain(..) {
            sink(HostId::FIRST, HostEvent::Probed { probe: Box::new(probe) });
        }
        for (id, text) in self.notes.drain(..) {
            sink(HostId::FIRST, HostEvent::Note { phase: None, id, text });
        }
        if self.watch != Watch::All {
            return;
        }
        let stop = || self.stop.load(Ordering::Relaxed);
        let sink = &mut |event| sink(HostId::FIRST, event);
        match when {
            When::Before => self.idle.before(plan, phase, &mut self.counters, &stop, sink),
            When::After => self.idle.after(plan, phase, &mut self.counters, &stop, sink),
        }
    }

    fn environment(&self) -> Option<&Environment> {
        Some(&self.environment)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) {
        settle(plan, phase, &|| self.stopped(), &mut |event| sink(HostId::FIRST, event));
    }

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}
