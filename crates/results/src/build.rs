//! [`RunBuilder`]: from the stream of events to the [`Run`].
//!
//! Pure and used the same way while recording and when a killed run is recovered from its journal. What is kept does
//! not grow with the number of operations: per job the merged counts, per reporting period a few numbers.
//! Intervals may arrive in any order relative to the other events, except that the run's start comes first.

mod devices;
mod held;
mod hosts;
mod job;
mod machine;
pub mod observed;
pub(crate) mod over_time;
mod points;
pub(crate) mod truth;

use std::collections::BTreeMap;

use assay_workload::{PhaseKind, Plan, PlannedPhase};

use self::devices::Counted;
use self::hosts::{HostStart, Hosts, MachinePart, Starts};
pub(crate) use self::job::pattern_words;
use self::job::{JobTally, union};
use self::machine::MachineTally;
use self::points::PointSeries;
use self::truth::{Devices, RequestedBytes};
use crate::checks;
use crate::environment::Environment;
use crate::event::{HostEvent, HostId, RunEnd, RunEvent};
use crate::evidence::Remark;
use crate::hosts::{HostLoss, HostPhase};
use crate::interval::{Interval, IntervalKey};
use crate::metric::{Metric, Moment};
use crate::probe::Probe;
use crate::run::{JobResult, PhaseResult, Producer, Run, SCHEMA, Verdict};

/// More remarks than this are counted, not kept.
const REMARKS_MAX: usize = 1000;

/// Why there is no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The first event, which carries the plan, never came.
    #[error("the start of the run is missing, and with it the plan")]
    NoStart,
}

/// What the first event says.
#[derive(Debug, Clone)]
struct Start {
    id: String,
    started: String,
    plan: Plan,
    environment: Environment,
    version: String,
    commit: Option<String>,
}

/// One phase while its events come in.
#[derive(Debug, Clone, Default)]
struct PhaseTally {
    started: bool,
    /// Milliseconds from the start of the run.
    started_at_ms: u64,
    /// End of the last interval, nanoseconds from the start of the phase.
    last_end_ns: u64,
    finished: bool,
    jobs: BTreeMap<u32, JobTally>,
    /// By the position of the reported job: see [`groups_of`].
    points: BTreeMap<usize, PointSeries>,
    machines: BTreeMap<HostId, MachineTally>,
    /// When each host began, by its first counters.
    starts: BTreeMap<HostId, HostStart>,
}

/// Takes the events of one run and makes the [`Run`] of them.
#[derive(Debug, Clone, Default)]
pub struct RunBuilder {
    start: Option<Box<Start>>,
    hosts: Hosts,
    phases: BTreeMap<u32, PhaseTally>,
    probes: Vec<Probe>,
    remarks: Vec<Remark>,
    remarks_dropped: u64,
    last_at_ms: u64,
    end: Option<(RunEnd, Option<String>)>,
}

impl RunBuilder {
    /// Without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event.
    pub fn feed(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { id, started, plan, environment, version, commit } => {
                self.start = Some(Box::new(Start {
                    id: id.clone(),
                    started: started.clone(),
                    plan: (**plan).clone(),
                    environment: (**environment).clone(),
                    version: version.clone(),
                    commit: commit.clone(),
                }));
            }
            RunEvent::PhaseStarted { phase, at_ms } => {
                let tally = self.phase(*phase);
                tally.started = true;
                tally.started_at_ms = *at_ms;
                self.last_at_ms = self.last_at_ms.max(*at_ms);
            }
            RunEvent::PhaseResolved { phase, planned } => {
                let place = self.start.as_mut().and_then(|start| start.plan.phases.get_mut(*phase as usize));
                if let Some(place) = place {
                    place.clone_from(planned);
                }
            }
            RunEvent::PhaseFinished { phase, at_ms } => {
                self.phase(*phase).finished = true;
                self.last_at_ms = self.last_at_ms.max(*at_ms);
            }
            RunEvent::RunFinished { end, at_ms, error } => {
                self.end = Some((*end, error.clone()));
                self.last_at_ms = self.last_at_ms.max(*at_ms);
            }
            RunEvent::Host { host, event } => self.feed_host(*host, event),
        }
    }

    /// Takes what a host tells.
    fn feed_host(&mut self, host: HostId, event: &HostEvent) {
        let known = self.hosts.entry(host);
        match event {
            HostEvent::Environment { name, environment } => {
                known.name.clone_from(name);
                known.environment = Some(environment.clone());
            }
            HostEvent::Clock(clock) => known.clock = Some(*clock),
            HostEvent::Lost { phase, why } => known.lost = Some(HostLoss { phase: *phase, why: why.clone() }),
            HostEvent::Interval(interval) => self.feed_interval(host, interval),
            HostEvent::Started { phase, at_ns } => {
                let start = self.hosts.moment(host, *at_ns);
                self.phase(*phase).starts.extend(start.map(|start| (host, start)));
            }
            HostEvent::Counters { phase, record } => {
                let start = self.hosts.moment(host, record.at_ns);
                let tally = self.phase(*phase);
                let place = (tally.started, tally.finished);
                if let ((true, false), Some(start)) = (place, start) {
                    tally.starts.entry(host).or_insert(start);
                }
                tally.machines.entry(host).or_default().feed(record, place);
            }
            HostEvent::JobFinished { phase, job, outcome } => {
                let name = self.hosts.0.get(&host).filter(|_| self.hosts.are_several());
                let mut outcome = outcome.clone();
                if let (Some(tally), Some(data)) = (name, &mut outcome.data) {
                    data.found_on(&tally.name);
                }
                self.job(*phase, *job).feed_outcome(host, &outcome)
            }
            HostEvent::Probed { probe } => self.probes.push((**probe).clone()),
            HostEvent::Hung { .. } => {}
            HostEvent::Note { phase, id, text } => self.feed_note(host, *phase, id, text),
        }
    }

    /// The run of what was fed, judged. Without a `RunFinished` it is incomplete.
    ///
    /// # Errors
    /// When `RunStarted` never came.
    pub fn finish(mut self) -> Result<Run, BuildError> {
        let start = self.start.take().ok_or(BuildError::NoStart)?;
        // Of a run that was killed, the intervals show how long it went on.
        let ends = self.phases.values().map(|tally| tally.started_at_ms + tally.last_end_ns / 1_000_000);
        let last_at_ms =
            if self.end.is_some() { self.last_at_ms } else { ends.fold(self.last_at_ms, u64::max) };
        let mut phases = Vec::new();
        for (index, tally) in std::mem::take(&mut self.phases) {
            if tally.started || !tally.jobs.is_empty() {
                phases.push(finish_phase(index, tally, &start, &self.hosts));
            }
        }
        if self.remarks_dropped > 0 {
            let text = format!("{} more notes were not kept", self.remarks_dropped);
            self.remarks.push(Remark { phase: None, id: "notes-dropped".to_owned(), text });
        }
        let (end, error) = self.end.map_or((None, None), |(end, error)| (Some(end), error));
        let engine = most_used_engine(&phases);
        let mut run = Run {
            names_removed: false,
            going: false,
            schema: SCHEMA.to_owned(),
            id: start.id,
            name: start.plan.name.clone(),
            started: start.started,
            elapsed_s: last_at_ms as f64 / 1e3,
            verdict: Verdict::Incomplete,
            assay: Producer {
                version: start.version,
                commit: start.commit,
                engine,
                overhead_ns_per_io: None,
                latency_definition: None,
            },
            hosts: self.hosts.finish(&start.environment),
            environment: start.environment,
            plan: start.plan,
            phases,
            findings: Vec::new(),
            rows: Vec::new(),
            steps: Vec::new(),
            tiles: None,
            probes: self.probes,
            notes: self.remarks.iter().map(|remark| remark.text.clone()).collect(),
            remarks: self.remarks,
            end,
            error,
        };
        run.tiles = crate::service::tiles(&run);
        checks::judge(&mut run);
        Ok(run)
    }

    fn phase(&mut self, phase: u32) -> &mut PhaseTally {
        self.phases.entry(phase).or_default()
    }

    fn job(&mut self, phase: u32, job: u32) -> &mut JobTally {
        self.phase(phase).jobs.entry(job).or_default()
    }

    fn feed_interval(&mut self, host: HostId, interval: &Interval) {
        let key = interval.key;
        let are_several = self.hosts.are_several();
        let position = self.start.as_ref().map_or(key.job as usize, |start| position_of(&start.plan, key));
        let tally = self.phase(key.phase);
        tally.last_end_ns = tally.last_end_ns.max(key.end_ns());
        self.job(key.phase, key.job).feed(host, interval, are_several);
        if !key.ramp && !are_several {
            self.phase(key.phase).points.entry(position).or_default().feed(interval);
        }
    }

    fn feed_note(&mut self, host: HostId, phase: Option<u32>, id: &str, text: &str) {
        if self.remarks.len() >= REMARKS_MAX {
            self.remarks_dropped += 1;
            return;
        }
        let text = match self.hosts.0.get(&host).filter(|_| self.hosts.are_several()) {
            Some(host) => format!("{}: {text}", host.name),
            None => text.to_owned(),
        };
        self.remarks.push(Remark { phase, id: id.to_owned(), text });
    }
}

/// The jobs of a phase as they are reported: those of one group together, in the order of their first. `jobs` are
/// the indices that occur in plan or events.
fn groups_of(plan: &Plan, phase: u32, jobs: impl Iterator<Item = u32>) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(Option<&str>, String, Vec<u32>)> = Vec::new();
    let planned = plan.phases.get(phase as usize);
    for index in jobs {
        let job = planned.and_then(|phase| phase.jobs.get(index as usize));
        let group = job.and_then(|job| job.group.as_deref());
        match groups.iter_mut().find(|(name, _, _)| group.is_some() && *name == group) {
            Some((_, _, members)) => members.push(index),
            None => {
                let name = group.or(job.map(|job| job.name.as_str()));
                groups.push((group, name.map_or_else(|| format!("job {index}"), str::to_owned), vec![index]));
            }
        }
    }
    groups.into_iter().map(|(_, name, members)| (name, members)).collect()
}

/// The first job of the group an interval belongs to: where its points are collected.
fn position_of(plan: &Plan, key: IntervalKey) -> usize {
    let index = key.job as usize;
    let Some(phase) = plan.phases.get(key.phase as usize) else { return index };
    let group = phase.jobs.get(index).and_then(|planned| planned.group.as_deref());
    let Some(group) = group else { return index };
    phase.jobs.iter().position(|planned| planned.group.as_deref() == Some(group)).unwrap_or(index)
}

fn finish_phase(index: u32, mut tally: PhaseTally, start: &Start, hosts: &Hosts) -> PhaseResult {
    let planned = start.plan.phases.get(index as usize);
    let jobs_planned = planned.map_or(0, |phase| phase.jobs.len()) as u32;
    let mut indices: Vec<u32> = (0..jobs_planned).chain(tally.jobs.keys().copied()).collect();
    indices.sort_unstable();
    indices.dedup();
    let (rows, machines) = host_rows(&tally, planned, start, hosts);
    let (metrics, moments) = (figures(&tally, planned, hosts), moments(&tally));
    let starts = Starts::new(&tally.starts);
    let mut jobs: Vec<JobResult> = Vec::new();
    for (name, members) in groups_of(&start.plan, index, indices.into_iter()) {
        let points = members.first().and_then(|first| tally.points.remove(&(*first as usize)));
        let tallies: Vec<(u32, JobTally)> = members
            .iter()
            .filter_map(|member| tally.jobs.remove(member).map(|tally| (*member, tally)))
            .collect();
        // Stopped before this one began: nothing to report.
        if tallies.is_empty() {
            continue;
        }
        let total = if hosts.are_several() {
            hosts::of_several(index, tallies, hosts, &starts)
        } else {
            hosts::of_one(tallies, points.unwrap_or_default())
        };
        jobs.push(job::finish(&name, total, planned, &start.plan));
    }
    let (device, evidence, rows) = match <[HostPhase; 1]>::try_from(rows) {
        Ok([only]) if !hosts.are_several() => (only.device, only.evidence, Vec::new()),
        Ok([only]) => (hosts::devices_together(&machines), only.evidence.clone(), vec![only]),
        Err(rows) => (hosts::devices_together(&machines), hosts::machines_together(&rows, &machines), rows),
    };
    if let Some(truth) = &device {
        truth::spread_cached_share(truth, &mut jobs);
    }
    let levels = |job: &JobResult| {
        let planned = planned?.jobs.iter().find(|planned| planned.name == job.name)?;
        Some(crate::service::of_result(planned, job))
    };
    let service = jobs.iter().filter_map(levels).flatten().collect();
    PhaseResult {
        service,
        name: planned.map_or_else(|| format!("phase {index}"), |phase| phase.name.clone()),
        kind: planned.map_or(PhaseKind::Measure, |phase| phase.kind),
        measured_s: span_s(&jobs),
        point: planned.map(|phase| phase.point.clone()).unwrap_or_default(),
        repeat: planned.map_or(0, |phase| phase.repeat),
        jobs,
        metrics,
        moments,
        device,
        plan_phase: index,
        evidence,
        hosts: rows,
    }
}

/// The figures that jobs have of their own; where several have one of a name, each under the name of its job, its host, or both.
fn figures(tally: &PhaseTally, planned: Option<&PlannedPhase>, hosts: &Hosts) -> BTreeMap<String, Metric> {
    let mut places: BTreeMap<&str, Vec<(u32, HostId, &Metric)>> = BTreeMap::new();
    for (job, of_job) in &tally.jobs {
        for (host, outcome) in of_job.outcomes() {
            for (name, metric) in &outcome.figures {
                places.entry(name).or_default().push((*job, host, metric));
            }
        }
    }
    let job_name =
        |job: u32| planned.and_then(|phase| phase.jobs.get(job as usize)).map(|job| job.name.as_str());
    let host_name = |host: HostId| hosts.0.get(&host).map(|tally| tally.name.as_str());
    let mut named = BTreeMap::new();
    for (name, of_name) in places {
        let several_jobs = of_name.iter().any(|place| place.0 != of_name[0].0);
        let several_hosts = of_name.iter().any(|place| place.1 != of_name[0].1);
        for (job, host, metric) in &of_name {
            let of_host = host_name(*host).filter(|_| several_hosts);
            let words = [of_host, job_name(*job).filter(|_| several_jobs), Some(name)];
            named.insert(words.into_iter().flatten().collect::<Vec<_>>().join(": "), (*metric).clone());
        }
    }
    named
}

/// What happened while the jobs ran. Jobs that use one server see the same: it is told once.
fn moments(tally: &PhaseTally) -> Vec<Moment> {
    let outcomes = tally.jobs.values().flat_map(JobTally::outcomes);
    let mut all: Vec<Moment> = outcomes.flat_map(|(_, outcome)| outcome.moments.iter().cloned()).collect();
    all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    all.dedup_by(|a, b| a.what == b.what && (a.at_s - b.at_s).abs() < 1.0);
    all
}

/// The counters of a phase, each host's against its own devices and what its own jobs asked for, and the same of each machine.
fn host_rows(
    tally: &PhaseTally,
    planned: Option<&PlannedPhase>,
    start: &Start,
    hosts: &Hosts,
) -> (Vec<HostPhase>, Vec<MachinePart>) {
    let mut asked: BTreeMap<HostId, RequestedBytes> = BTreeMap::new();
    let mut windows: BTreeMap<HostId, (u64, u64)> = BTreeMap::new();
    for job in tally.jobs.values() {
        job.asked().for_each(|(host, bytes)| asked.entry(host).or_default().merge(bytes));
        for (host, window) in job.windows() {
            windows.entry(host).and_modify(|known| *known = union(*known, window)).or_insert(window);
        }
    }
    let silent = MachineTally::default();
    let counted = |host: HostId| Counted {
        tally: tally.machines.get(&host).unwrap_or(&silent),
        window: windows.get(&host).copied(),
    };
    let below = |host: HostId| {
        truth::bottom_devices(planned, (&start.plan, host), hosts.environment_of(host, &start.environment))
    };
    let reader = truth::reader_of(planned);
    let row = |host: HostId, name: &str| {
        let devices = below(host);
        let asked = asked.get(&host).cloned().unwrap_or_default();
        let device = devices::truth(&[counted(host)], &devices, &asked, reader);
        hosts::row(host, name, device, counted(host).tally.evidence(&devices.names))
    };
    if !hosts.are_several() {
        let only = hosts.0.keys().next().copied().unwrap_or(HostId::FIRST);
        return (vec![row(only, "")], Vec::new());
    }
    let machine = |members: Vec<HostId>| {
        let each: Vec<Devices> = members.iter().map(|host| below(*host)).collect();
        let workers: Vec<Counted<'_>> = members.iter().map(|host| counted(*host)).collect();
        let watched: Vec<(Counted<'_>, &[String])> =
            workers.iter().zip(&each).map(|(worker, devices)| (*worker, &devices.names[..])).collect();
        let quiet = devices::quiet(&watched);
        let mut all = RequestedBytes::default();
        members.iter().filter_map(|host| asked.get(host)).for_each(|bytes| all.merge(bytes));
        let device = devices::truth(&workers, &Devices::together(each), &all, reader);
        MachinePart { name: hosts.machine_name(&members), device, quiet }
    };
    let rows = hosts.0.iter().map(|(host, known)| row(*host, &known.name)).collect();
    (rows, hosts.by_machine().into_iter().map(machine).collect())
}

/// Reasons as one text; `None`: there are none.
fn joined(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The engine that did most operations; empty without any.
fn most_used_engine(phases: &[PhaseResult]) -> String {
    let mut ios: BTreeMap<&str, u64> = BTreeMap::new();
    for job in phases.iter().flat_map(|phase| &phase.jobs) {
        *ios.entry(job.engine.as_str()).or_default() += job.total.ios;
    }
    ios.into_iter().max_by_key(|entry| entry.1).map(|entry| entry.0.to_owned()).unwrap_or_default()
}

/// From the start of the first job's measured part to the end of the last one's.
fn span_s(jobs: &[JobResult]) -> f64 {
    let measured = || jobs.iter().filter(|job| job.measured_s > 0.0);
    let start_s = |job: &JobResult| job.evidence.measured_start_ns as f64 / 1e9;
    let first_s = measured().map(start_s).fold(f64::INFINITY, f64::min);
    measured().map(|job| start_s(job) - first_s + job.measured_s).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
