//! Real fio carries out phases; what it reports becomes the events of a run.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_conduct::PhaseOutcome;
use assay_engine::fio_bridge::{Fio, FioEnd, FioOutput, FioRun};
use assay_engine::targets::Held;
use assay_engine::{available, targets};
use assay_fio as fio;
use assay_fio::status::{Entry, Report, Reported};
use assay_formats::{Diagnostic, Severity};
use assay_host::HostRoot;
use assay_host::claim::Claims;
use assay_host::counters::Sampler;
use assay_results::environment::Environment;
use assay_results::{HostEvent, Interval, IntervalKey, JobCounts, JobOutcome};
use assay_workload::job::EngineKind;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Carrier, Plan, PlannedEngine, PlannedPhase};
use assay_workload::rng::derive_seed;
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

use crate::error::RunError;
use crate::hold::{Permits, hold};
use crate::layout::lay_out;
use crate::native::sampler;
use crate::period::period;
use crate::request::Site;

/// How long fio may take to end after it was told to.
const END_WITHIN: Duration = Duration::from_secs(20);
/// Beside what the job file says: one process, so that its counters are all there is; and the distribution of submit
/// latencies, which fio else knows the mean of.
const ARGUMENTS: [&str; 5] =
    ["--output-format=json+", "--eta=never", "--thread", "--slat_percentiles=1", "-"];

/// Hands the phases that `is_fio` names to fio, with the engine that was planned for each job, or the best fio has where that
/// was left open.
pub fn hand_over(plan: &mut Plan, is_fio: impl Fn(usize) -> bool) {
    let open = || {
        let here = available::available();
        if here.contains(&EngineKind::IoUring) { PlannedEngine::IoUring } else { PlannedEngine::Libaio }
    };
    for (_, phase) in plan.phases.iter_mut().enumerate().filter(|(index, _)| is_fio(*index)) {
        phase.carried_by = Carrier::Fio;
        for job in &mut phase.jobs {
            if job.engine == PlannedEngine::Foreign {
                job.engine = open();
            }
        }
    }
}

/// What fio cannot do of the phases that are its, each once.
///
/// # Errors
/// [`RunError::NotForFio`] where a job cannot be given to fio at all, and with `strict` where something is lost.
pub fn losses(plan: &Plan, strict: bool) -> Result<Vec<(String, String)>, RunError> {
    let mut notes: Vec<(String, String)> = Vec::new();
    for phase in (0..plan.phases.len()).filter(|phase| plan.phases[*phase].carried_by == Carrier::Fio) {
        for said in job_file(plan, phase).1 {
            if said.severity == Severity::Error || strict && said.severity == Severity::Loss {
                return Err(RunError::NotForFio { what: said.message, phase });
            }
            let text = format!("fio: {}", said.message);
            if said.severity == Severity::Loss && !notes.iter().any(|(_, known)| *known == text) {
                notes.push(("fio-loss".to_owned(), text));
            }
        }
    }
    Ok(notes)
}

/// One phase as a job file, an entry in its report for each job.
fn job_file(plan: &Plan, phase: usize) -> (String, Vec<Diagnostic>) {
    let mut only = PlannedPhase {
        // What comes behind the phase is done here.
        drain_after: false,
        pause_after: Nanos(0),
        kind: assay_workload::PhaseKind::Measure,
        ..plan.phases[phase].clone()
    };
    let names: Vec<String> = only.jobs.iter().map(|job| job.name.clone()).collect();
    for (index, job) in only.jobs.iter_mut().enumerate() {
        job.group = None;
        // Of each phase there is another fio, which knows nothing of what the one before it wrote. The result says that no data
        // was verified.
        let content = &mut job.content;
        (content.verify, content.reread, content.written, content.data_errors_max) =
            (false, false, false, None);
        (content.pattern_blocks, content.written_beside_reads_percent) = (None, None);
        if names.iter().filter(|name| **name == job.name).count() > 1 {
            job.name = format!("{}.{index}", job.name);
        }
    }
    let seed = derive_seed(plan.seed, phase as u64);
    fio::write_plan(&Plan { phases: vec![only], seed, ..plan.clone() })
}

/// Runs phases through fio.
#[derive(Debug)]
pub(crate) struct FioExecutor {
    fio: Fio,
    host: HostRoot,
    permits: Arc<Permits>,
    claims: Claims,
    stop: Arc<AtomicBool>,
    counters: Sampler,
    /// CPU of each phase's whole fio, user and system, nanoseconds.
    pub(crate) process_cpu_ns: Vec<(usize, u64)>,
}

/// One phase while its fio runs.
struct RunningPhase<'a> {
    plan: &'a Plan,
    phase: usize,
    started: Instant,
    jobs: Vec<RunningJob>,
}

/// One job of it.
#[derive(Debug, Default)]
struct RunningJob {
    seen: Reported,
    ramp: Reported,
    intervals: u32,
    /// End of what was passed on of the ramp, from the start of the phase.
    ramp_ns: u64,
    /// Start of the measured part, from the start of the phase.
    measured_start_ns: Option<u64>,
    /// Length of the measured part that was passed on.
    measured_ns: u64,
    outcome: JobOutcome,
    failed: Option<String>,
}

impl FioExecutor {
    /// For a plan whose environment was collected.
    pub(crate) fn new(
        fio: Fio,
        environment: &Environment,
        site: &Site,
        permits: Arc<Permits>,
        claims: Claims,
    ) -> Self {
        FioExecutor {
            fio,
            host: site.host.clone(),
            permits,
            claims,
            stop: Arc::clone(&site.stop),
            counters: sampler(environment, &site.host),
            process_cpu_ns: Vec::new(),
        }
    }

    /// Runs one phase; what fio reports goes to `sink` as it comes.
    pub(crate) fn execute(
        &mut self,
        plan: &Plan,
        phase: usize,
        sink: &mut dyn FnMut(HostEvent),
    ) -> PhaseOutcome {
        match self.run(plan, phase, sink) {
            Err(why) => PhaseOutcome::Failed(why),
            Ok(()) if self.stopped() => PhaseOutcome::Stopped,
            Ok(()) => PhaseOutcome::Done,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn run(&mut self, plan: &Plan, phase: usize, sink: &mut dyn FnMut(HostEvent)) -> Result<(), String> {
        let holding = hold(plan, phase, &self.permits, &self.host)?;
        let laid_out = lay_out(plan, phase, holding, &self.stop, sink)?;
        let Some(holding) = laid_out.filter(|_| !self.stopped()) else { return Ok(()) };
        let held = &holding.held;
        reserve(plan, phase, held)?;
        let (text, _) = job_file(&through(plan, held), phase);
        let period = period(plan, phase);
        let every = format!("--status-interval={}ms", period.as_millis());
        let arguments: Vec<&str> = std::iter::once(every.as_str()).chain(ARGUMENTS).collect();
        let mut run = FioRun::start(&self.fio.path, &arguments, &text, self.claims.descriptors())
            .map_err(|error| error.to_string())?;
        self.counters.select_processes(&[run.pid()]);
        self.count(phase, sink);
        let jobs = plan.phases[phase].jobs.iter().map(|_| RunningJob::default()).collect();
        let mut going = RunningPhase { plan, phase, started: Instant::now(), jobs };
        let end = self.follow(&mut run, &mut going, period, sink)?;
        self.process_cpu_ns.push((phase, end.user_ns + end.system_ns));
        going.finish(&self.fio, sink);
        if self.stopped() { Ok(()) } else { going.verdict(&end) }
    }

    /// Passes on what fio reports until it ends.
    fn follow(
        &mut self,
        run: &mut FioRun,
        going: &mut RunningPhase<'_>,
        period: Duration,
        sink: &mut dyn FnMut(HostEvent),
    ) -> Result<FioEnd, String> {
        let (mut told, mut counted) = (None::<Instant>, Instant::now());
        loop {
            match run.next(Duration::from_millis(50)) {
                FioOutput::Document(text) => going.report(&text, sink)?,
                FioOutput::Closed => self.count(going.phase, sink),
                FioOutput::Ended(end) => return Ok(end),
                FioOutput::Nothing => {}
            }
            if counted.elapsed() >= period {
                self.count(going.phase, sink);
                counted = Instant::now();
            }
            match told {
                None if self.stopped() => {
                    run.terminate();
                    told = Some(Instant::now());
                }
                Some(since) if since.elapsed() > END_WITHIN => {
                    return Err("fio did not end when it was told to, and was killed".to_owned());
                }
                _ => {}
            }
        }
    }

    fn count(&mut self, phase: usize, sink: &mut dyn FnMut(HostEvent)) {
        sink(HostEvent::Counters { phase: phase as u32, record: Box::new(self.counters.snapshot()) });
    }
}

impl RunningPhase<'_> {
    fn report(&mut self, text: &str, sink: &mut dyn FnMut(HostEvent)) -> Result<(), String> {
        let report: Report = serde_json::from_str(text).map_err(|error| format!("fio's report: {error}"))?;
        if report.jobs.len() != self.jobs.len() {
            let (found, wanted) = (report.jobs.len(), self.jobs.len());
            return Err(format!("fio's report has {found} entries for {wanted} jobs"));
        }
        let elapsed_ns = self.started.elapsed().as_nanos() as u64;
        for (index, entry) in report.jobs.iter().enumerate() {
            let ramp = self.plan.phases[self.phase].jobs[index].ramp.0 > 0 && entry.in_ramp();
            let job = &mut self.jobs[index];
            let (counts, start_ns, length_ns) =
                if ramp { job.ramp(entry, elapsed_ns) } else { job.measure(entry, elapsed_ns) };
            if counts == JobCounts::default() {
                continue;
            }
            let phase = self.phase as u32;
            let key =
                IntervalKey { phase, job: index as u32, index: job.intervals, ramp, start_ns, length_ns };
            job.intervals += 1;
            sink(HostEvent::Interval(Box::new(Interval { key, counts })));
        }
        Ok(())
    }

    /// The end of every job, as the last report has it.
    fn finish(&self, fio: &Fio, sink: &mut dyn FnMut(HostEvent)) {
        let phase = self.phase as u32;
        for (index, job) in self.jobs.iter().enumerate() {
            let planned = &self.plan.phases[self.phase].jobs[index];
            let outcome = JobOutcome {
                engine: format!("fio {}", fio.version),
                engine_notes: vec![format!("its engine {}", planned.engine.name())],
                direct: planned.direct,
                measured_start_ns: job.measured_start_ns.unwrap_or(planned.ramp.0),
                measured_ns: job.measured_ns,
                ..job.outcome.clone()
            };
            sink(HostEvent::JobFinished { phase, job: index as u32, outcome: Box::new(outcome) });
        }
    }

    /// Why the phase failed, if it did.
    fn verdict(&self, end: &FioEnd) -> Result<(), String> {
        let jobs = self.plan.phases[self.phase].jobs.iter().zip(&self.jobs);
        let failed = jobs.filter_map(|(planned, job)| Some((&planned.name, job.failed.as_ref()?))).next();
        let said = end.said.lines().map(str::trim).find(|line| line.starts_with("fio:"));
        let said = said.or(end.said.lines().next()).unwrap_or("it said nothing");
        match (failed, end.status) {
            (Some((name, why)), _) => Err(format!("fio: job '{name}': {why} ({said})")),
            (None, Some(0)) if self.jobs.iter().all(|job| job.measured_start_ns.is_some()) => Ok(()),
            (None, Some(0)) => Err(format!("fio reported nothing: {said}")),
            (None, Some(status)) => Err(format!("fio ended with status {status}: {said}")),
            (None, None) => Err(format!("fio was killed: {said}")),
        }
    }
}

impl RunningJob {
    /// What a report during the ramp adds, its start and its length.
    fn ramp(&mut self, entry: &Entry, elapsed_ns: u64) -> (JobCounts, u64, u64) {
        let start_ns = self.ramp_ns;
        self.ramp_ns = elapsed_ns.max(start_ns + 1);
        (self.ramp.advance(entry), start_ns, self.ramp_ns - start_ns)
    }

    /// What a report of the measured part adds, its start and its length.
    fn measure(&mut self, entry: &Entry, elapsed_ns: u64) -> (JobCounts, u64, u64) {
        let measured_ns = entry.measured_ns();
        if measured_ns == 0 {
            return Default::default();
        }
        let start = *self.measured_start_ns.get_or_insert(elapsed_ns.saturating_sub(measured_ns));
        let from_ns = self.measured_ns;
        self.measured_ns = measured_ns.max(from_ns);
        let (cpu_user_ns, cpu_system_ns) = entry.cpu_ns();
        self.outcome = JobOutcome { cpu_user_ns, cpu_system_ns, waits: entry.ctx, ..JobOutcome::default() };
        if entry.error != 0 {
            let why = std::io::Error::from_raw_os_error(entry.error).to_string();
            self.outcome.errors_by_kind = vec![(why.clone(), entry.errors())];
            self.failed = Some(why);
        }
        (self.seen.advance(entry), start + from_ns, (self.measured_ns - from_ns).max(1))
    }
}

/// The plan with paths that lead to what is open, whatever has the name by now; fio makes nothing through them.
fn through(plan: &Plan, held: &Held) -> Plan {
    let mut plan = plan.clone();
    for (index, file) in held {
        plan.targets[*index as usize].path = targets::path_of_open(file, std::process::id());
    }
    plan
}

/// Reserves the files that a phase writes, as fio would; it would remove what is there first, and with it the mark that
/// they are ours.
fn reserve(plan: &Plan, phase: usize, held: &Held) -> Result<(), String> {
    let writing = |job: &&assay_workload::PlannedJob| job.pattern.kinds().any(|kind| kind == OpKind::Write);
    for job in plan.phases[phase].jobs.iter().filter(writing) {
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let target = &plan.targets[site.target as usize];
            if let Some(file) = held.get(&site.target).filter(|_| target.kind == TargetKind::File) {
                let end = site.offset_bytes + site.length_bytes;
                extend(file, end).map_err(|error| format!("{}: {error}", target.path))?;
            }
        }
    }
    Ok(())
}

fn extend(file: &File, end: u64) -> std::io::Result<()> {
    let size = file.metadata()?.len();
    if size >= end {
        return Ok(());
    }
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), size, end - size) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => file.set_len(end),
        // What was reserved before the space was gone is given back.
        Err(error) => file.set_len(size).and(Err(error.into())),
        Ok(()) => Ok(()),
    }
}
