//! Several hosts in one run: their starts on one clock, the time in which all of them measured, and what each did.
//!
//! Totals add counts and merge histograms over the common time; nothing is averaged. Counters are never added before
//! each host's own were set against its own devices: two hosts may have devices of the same name.

use std::collections::BTreeMap;

use assay_workload::Plan;

use super::held::{HeldIntervals, in_order};
use super::job::{JobTally, JobTotal, PartTotal, union};
use super::over_time::{Grid, WorkerSteps};
use super::points::PointSeries;
use super::truth::cached_share;
use crate::environment::Environment;
use crate::event::{HostClock, HostId};
use crate::evidence::{InterfaceUse, PhaseEvidence, QuietWindow, WorkerLatency, WorkerReport};
use crate::hosts::{CommonWindow, HostLoss, HostPhase, RunHost};
use crate::run::DeviceTruth;

/// A host as far as the run knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct HostTally {
    pub(super) name: String,
    pub(super) environment: Option<Box<Environment>>,
    pub(super) clock: Option<HostClock>,
    pub(super) lost: Option<HostLoss>,
}

/// All hosts of a run by number; with one, or none, the run is that of a single host.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(pub(super) BTreeMap<HostId, HostTally>);

impl Hosts {
    /// The place of a host; one that was not announced goes by its number.
    pub(super) fn entry(&mut self, host: HostId) -> &mut HostTally {
        let named = || HostTally { name: format!("host {}", host.0), ..HostTally::default() };
        self.0.entry(host).or_insert_with(named)
    }

    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// A moment of the host's monotonic clock on the run's, with its error; `None`: its clock was never compared.
    pub(super) fn moment(&self, host: HostId, at_ns: u64) -> Option<HostStart> {
        let clock = self.0.get(&host).and_then(|tally| tally.clock);
        // The run's clock is that of the first host, unless another is said.
        let clock = clock.or(host.is_first().then(HostClock::default))?;
        let at_ns = i64::try_from(at_ns).ok()?.checked_add(clock.offset_ns)?;
        Some(HostStart { at_ns, error_ns: clock.error_ns })
    }

    pub(super) fn environment_of<'a>(&'a self, host: HostId, first: &'a Environment) -> &'a Environment {
        self.0.get(&host).and_then(|tally| tally.environment.as_deref()).unwrap_or(first)
    }

    /// The hosts by machine, in their order. Those that run on one kernel are one machine; a host that does not say is one by itself.
    pub(super) fn by_machine(&self) -> Vec<Vec<HostId>> {
        let mut machines: Vec<(Option<&str>, Vec<HostId>)> = Vec::new();
        for (host, tally) in &self.0 {
            let boot =
                tally.environment.as_ref().and_then(|environment| environment.machine.boot_id.as_deref());
            match machines.iter_mut().find(|(known, _)| boot.is_some() && *known == boot) {
                Some((_, members)) => members.push(*host),
                None => machines.push((boot, vec![*host])),
            }
        }
        machines.into_iter().map(|(_, members)| members).collect()
    }

    /// What a machine with these hosts is called.
    pub(super) fn machine_name(&self, members: &[HostId]) -> String {
        let first = members.first().and_then(|host| self.0.get(host));
        let hostname = || first?.environment.as_ref()?.machine.hostname.clone();
        let of_machine = if members.len() > 1 { hostname() } else { None };
        of_machine.unwrap_or_else(|| first.map_or_else(String::new, |tally| tally.name.clone()))
    }

    /// Whether a host takes part in a phase to its end.
    fn stays(&self, host: HostId, phase: u32) -> bool {
        self.lost_in(host, phase).is_none()
    }

    fn lost_in(&self, host: HostId, phase: u32) -> Option<&HostLoss> {
        self.0.get(&host)?.lost.as_ref().filter(|loss| loss.phase <= phase)
    }

    /// For the run: empty where there is one.
    pub(super) fn finish(self, first: &Environment) -> Vec<RunHost> {
        if !self.are_several() {
            return Vec::new();
        }
        let host = |(id, tally): (HostId, HostTally)| RunHost {
            id,
            name: tally.name,
            environment: tally.environment.map_or_else(|| first.clone(), |environment| *environment),
            clock: tally.clock,
            lost: tally.lost,
        };
        self.0.into_iter().map(host).collect()
    }
}

/// When a host began a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HostStart {
    /// On the run's clock.
    pub(super) at_ns: i64,
    pub(super) error_ns: u64,
}

/// The starts of a phase against each other.
#[derive(Debug, Clone)]
pub(super) struct Starts<'a> {
    first: Option<(HostId, HostStart)>,
    starts: &'a BTreeMap<HostId, HostStart>,
}

impl<'a> Starts<'a> {
    pub(super) fn new(starts: &'a BTreeMap<HostId, HostStart>) -> Self {
        let first = starts.iter().min_by_key(|(_, start)| start.at_ns).map(|(host, start)| (*host, *start));
        Starts { first, starts }
    }

    /// How long after the first host this one began, and how far that may be off. Where it is not known, all began together.
    fn delay(&self, host: HostId) -> (u64, u64) {
        let (Some((id, first)), Some(start)) = (self.first, self.starts.get(&host)) else { return (0, 0) };
        if id == host {
            return (0, 0);
        }
        (start.at_ns.abs_diff(first.at_ns), start.error_ns.saturating_add(first.error_ns))
    }
}

/// What the jobs of a group did on all hosts.
pub(super) struct GroupTotal {
    pub(super) jobs: Vec<(u32, JobTotal)>,
    /// Start of the measured part and the time that rates are over.
    pub(super) window: (u64, u64),
    pub(super) workers: Vec<WorkerReport>,
    pub(super) common: Option<CommonWindow>,
    /// Hosts that did some of it; none: there is one.
    pub(super) hosts: Vec<HostId>,
    pub(super) points: PointSeries,
}

impl GroupTotal {
    /// How many hosts did all that the plan says: one where the plan says which host does what.
    pub(super) fn copies(&self, plan: &Plan) -> u32 {
        if plan.hosts.is_empty() { self.hosts.len().max(1) as u32 } else { 1 }
    }
}

/// One host: no time is shared with anybody.
pub(super) fn of_one(tallies: Vec<(u32, JobTally)>, points: PointSeries) -> GroupTotal {
    let hosts = tallies.iter().flat_map(|(_, tally)| tally.asked()).map(|(host, _)| host).take(1).collect();
    let jobs: Vec<(u32, JobTotal)> =
        tallies.into_iter().map(|(index, tally)| (index, tally.into_total())).collect();
    let window = jobs.iter().filter_map(|(_, total)| total.window).reduce(union).unwrap_or((0, 0));
    GroupTotal { jobs, window, workers: Vec::new(), common: None, hosts, points }
}

/// Several hosts: over the time in which all that stayed measured.
pub(super) fn of_several(
    phase: u32,
    tallies: Vec<(u32, JobTally)>,
    hosts: &Hosts,
    starts: &Starts<'_>,
) -> GroupTotal {
    let windows = windows(&tallies, starts);
    let staying = || windows.iter().filter(|(host, _)| hosts.stays(**host, phase)).map(|(_, window)| *window);
    let within = staying().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))).filter(|(start, end)| start < end);
    let all = windows.values().copied().reduce(union).unwrap_or_default();
    let apart = (within.is_none() && staying().count() > 1).then_some((all.0, all.0));
    let mut parts: BTreeMap<HostId, PartTotal> = BTreeMap::new();
    let mut points = PointSeries::default();
    let held: Vec<(u64, usize, HostId, &HeldIntervals)> = tallies
        .iter()
        .enumerate()
        .flat_map(|(at, (_, tally))| tally.held().map(move |(host, held)| (at, host, held)))
        .map(|(at, host, held)| (starts.delay(host).0, at, host, held))
        .collect();
    let sources = held.iter().map(|(delay, _, _, held)| (*delay, *held));
    let mut jobs: Vec<(u32, JobTotal)> =
        tallies.iter().map(|(index, tally)| (*index, tally.outcomes_only())).collect();
    let grid_window = within.unwrap_or(all);
    let period_ns = usual_length_ns(held.iter().map(|(.., held)| *held));
    let grid = Grid::new(grid_window, period_ns, usize::MAX);
    let mut steps = WorkerSteps::new(windows.len(), grid_window, period_ns);
    for (source, interval) in in_order(sources) {
        let (delay, at, host, _) = held[source];
        let (key, length_ns) = (interval.key, interval.key.length_ns);
        let began = key.start_ns.saturating_add(delay);
        let counted =
            within.is_none_or(|(start, end)| (start..=end).contains(&began.saturating_add(length_ns / 2)));
        steps.feed(host, began, length_ns, interval.counts.data_ios());
        points.feed_shared(&interval, began, grid);
        parts.entry(host).or_default().add(&interval, counted);
        if counted {
            jobs[at].1.counts.merge(&interval.counts);
        }
    }
    let spans: Vec<u64> = windows
        .iter()
        .filter(|(host, _)| hosts.stays(**host, phase))
        .map(|(host, window)| {
            let part = parts.get(host).filter(|part| part.trimmed_ios > 0);
            part.map_or(window.1 - window.0, |part| part.counted_ns)
        })
        .collect();
    let span_ns = match spans.len() as u64 {
        0 => all.1 - all.0,
        n => spans.iter().sum::<u64>() / n,
    };
    let common = within.or(apart).map(|(start, end)| CommonWindow {
        start_ns: start,
        length_ns: end - start,
        trimmed_ios: parts.values().map(|part| part.trimmed_ios).sum(),
        trimmed_ns_max: staying().map(|(a, b)| (b - a).saturating_sub(end - start)).max().unwrap_or(0),
    });
    let worker = |host: HostId| {
        let part = parts.get(&host).cloned().unwrap_or_default();
        let (delay, error) = starts.delay(host);
        WorkerReport {
            name: hosts.0.get(&host).map_or_else(String::new, |tally| tally.name.clone()),
            ios: part.ios,
            bytes: part.bytes,
            start_skew_ns: i64::try_from(delay).unwrap_or(i64::MAX),
            start_error_ns: error,
            measured_ns: windows.get(&host).map_or(0, |window| window.1 - window.0),
            completion_ns: WorkerLatency::of_some(&part.completion),
            lost_because: hosts.lost_in(host, phase).map(|loss| loss.why.to_string()),
            over_time: steps.of(host),
        }
    };
    let workers = hosts.0.keys().map(|host| worker(*host)).collect();
    let window = (grid_window.0, grid_window.0.saturating_add(span_ns));
    let hosts = windows.into_keys().collect();
    GroupTotal { jobs, window, workers, common, hosts, points }
}

/// The measured part of each host, on the common time.
fn windows(tallies: &[(u32, JobTally)], starts: &Starts<'_>) -> BTreeMap<HostId, (u64, u64)> {
    let mut windows: BTreeMap<HostId, (u64, u64)> = BTreeMap::new();
    for (host, window) in tallies.iter().flat_map(|(_, tally)| tally.windows()) {
        let delay = starts.delay(host).0;
        let shifted = (window.0.saturating_add(delay), window.1.saturating_add(delay));
        windows.entry(host).and_modify(|known| *known = union(*known, shifted)).or_insert(shifted);
    }
    windows
}

/// The reporting period: the length in the middle of the first intervals of each.
fn usual_length_ns<'a>(all: impl Iterator<Item = &'a HeldIntervals>) -> u64 {
    const LOOKED_AT: usize = 5;
    let first = all.flat_map(|held| held.keys().take(LOOKED_AT));
    let mut lengths: Vec<u64> = first.map(|key| key.length_ns).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// What is counted of a machine in a phase, with all workers that are processes of it.
#[derive(Debug, Clone)]
pub(super) struct MachinePart {
    /// Of its worker, where it has one, else of the machine.
    pub(super) name: String,
    pub(super) device: Option<DeviceTruth>,
    /// Before the phase and after it.
    pub(super) quiet: [Option<QuietWindow>; 2],
}

/// A host's row of a phase.
pub(super) fn row(
    host: HostId,
    name: &str,
    device: Option<DeviceTruth>,
    evidence: PhaseEvidence,
) -> HostPhase {
    let cached_read_share = device.as_ref().and_then(cached_share);
    HostPhase { host, name: name.to_owned(), device, cached_read_share, evidence }
}

/// What the devices of all machines did: counts and depths add, and the busiest says how busy.
pub(super) fn devices_together(machines: &[MachinePart]) -> Option<DeviceTruth> {
    let known: Vec<&DeviceTruth> = machines.iter().filter_map(|part| part.device.as_ref()).collect();
    if known.is_empty() {
        return None;
    }
    let complete = known.len() == machines.len();
    let sum = |field: fn(&DeviceTruth) -> Option<u64>| {
        known.iter().map(|truth| field(truth)).sum::<Option<u64>>().filter(|_| complete)
    };
    let device = |part: &MachinePart| -> Vec<String> {
        let names = part.device.iter().flat_map(|truth| &truth.devices);
        names.map(|name| format!("{}:{name}", part.name)).collect()
    };
    let why = |part: &MachinePart| match &part.device {
        None => Some(format!("{}: nothing was counted", part.name)),
        Some(truth) => truth.unknown_because.as_ref().map(|why| format!("{}: {why}", part.name)),
    };
    let depths = known.iter().map(|truth| truth.device_depth_mean).sum::<Option<f64>>();
    let busy: Option<Vec<f64>> = known.iter().map(|truth| truth.device_busy_share).collect();
    Some(DeviceTruth {
        bytes_at_most: known.iter().any(|truth| truth.bytes_at_most),
        devices: machines.iter().flat_map(device).collect(),
        asked_read_bytes: known.iter().map(|truth| truth.asked_read_bytes).sum(),
        process_read_bytes: sum(|truth| truth.process_read_bytes),
        device_read_bytes: sum(|truth| truth.device_read_bytes),
        asked_written_bytes: known.iter().map(|truth| truth.asked_written_bytes).sum(),
        process_written_bytes: sum(|truth| truth.process_written_bytes),
        device_written_bytes: sum(|truth| truth.device_written_bytes),
        device_reads: sum(|truth| truth.device_reads),
        device_writes: sum(|truth| truth.device_writes),
        device_flushes: sum(|truth| truth.device_flushes),
        device_depth_mean: depths.filter(|_| complete),
        device_busy_share: busy.filter(|_| complete).and_then(|all| all.into_iter().reduce(f64::max)),
        depth_window_s: known.iter().map(|truth| truth.depth_window_s).fold(f64::INFINITY, f64::min),
        asked_unknown: known.iter().any(|truth| truth.asked_unknown),
        unknown_because: super::joined(&machines.iter().filter_map(why).collect::<Vec<_>>()),
    })
}

/// The machines of a phase as one: shares are those of the busiest host, quiet windows of machines add up.
pub(super) fn machines_together(rows: &[HostPhase], machines: &[MachinePart]) -> PhaseEvidence {
    let quiet = |side: usize| machines.iter().filter_map(|part| part.quiet[side]).reduce(quiet_together);
    let all = || rows.iter().map(|row| &row.evidence);
    let most = |field: fn(&PhaseEvidence) -> Option<f64>| all().filter_map(field).reduce(f64::max);
    let stopped = all().max_by_key(|evidence| evidence.stopped_ns);
    PhaseEvidence {
        span_ns: all().map(|evidence| evidence.span_ns).max().unwrap_or(0),
        cpu_busy_share: most(|evidence| evidence.cpu_busy_share),
        steal_share: most(|evidence| evidence.steal_share),
        process_cpus_used: most(|evidence| evidence.process_cpus_used),
        kernel_cpus_used: most(|evidence| evidence.kernel_cpus_used),
        device_limits: Vec::new(),
        throttled_period_share: most(|evidence| evidence.throttled_period_share),
        throttled_ns: all().filter_map(|evidence| evidence.throttled_ns).max(),
        stopped_ns: stopped.and_then(|evidence| evidence.stopped_ns),
        stops: stopped.and_then(|evidence| evidence.stops),
        io_workers_max: all().map(|evidence| evidence.io_workers_max).max().unwrap_or(0),
        dirty_bytes_max: all().filter_map(|evidence| evidence.dirty_bytes_max).max(),
        quiet_before: quiet(0),
        quiet_after: quiet(1),
        interfaces: all().flat_map(|evidence| &evidence.interfaces).fold(Vec::new(), busier),
        seconds: Vec::new(),
    }
}

/// Of interfaces that hosts call alike the busier one, each direction by itself.
fn busier(mut kept: Vec<InterfaceUse>, one: &InterfaceUse) -> Vec<InterfaceUse> {
    match kept.iter_mut().find(|other| other.name == one.name) {
        Some(other) => {
            other.received_bytes_per_s = other.received_bytes_per_s.max(one.received_bytes_per_s);
            other.sent_bytes_per_s = other.sent_bytes_per_s.max(one.sent_bytes_per_s);
        }
        None => kept.push(one.clone()),
    }
    kept
}

fn quiet_together(a: QuietWindow, b: QuietWindow) -> QuietWindow {
    QuietWindow {
        span_ns: a.span_ns.max(b.span_ns),
        ios: a.ios.saturating_add(b.ios),
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        written_bytes: a.written_bytes.saturating_add(b.written_bytes),
        own_read_bytes: a.own_read_bytes.saturating_add(b.own_read_bytes),
        own_written_bytes: a.own_written_bytes.saturating_add(b.own_written_bytes),
        busy_share: a.busy_share.into_iter().chain(b.busy_share).reduce(f64::max),
    }
}

#[cfg(test)]
mod scale;
#[cfg(test)]
mod tests;
