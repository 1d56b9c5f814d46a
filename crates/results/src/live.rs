//! Where a run stands while it goes on, made of its events as they come: what the live screen and the page show.
//!
//! Pure: the time is that of the caller. What is kept does not grow with the length of the run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use assay_workload::host::HostId;
use assay_workload::{PhaseKind, Plan};
use serde::Serialize;

use crate::build::RunBuilder;
use crate::checks;
use crate::event::{HostEvent, RunEnd, RunEvent};
use crate::interval::{Interval, JobCounts};
use crate::run::{Finding, FindingSeverity};

/// Reporting periods that are shown.
const POINTS_MAX: usize = 300;
/// Notes that are shown.
const NOTES_MAX: usize = 50;
/// A phase without a time limit is taken to need this, for the estimate of what is left, seconds.
const UNKNOWN_PHASE_S: f64 = 8.0;

/// One reporting period, of all jobs and hosts together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LivePoint {
    /// End of the period in seconds from the start of the run.
    pub at_s: f64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Median completion latency, nanoseconds; `None`: nothing completed.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// Failed operations.
    pub errors: u64,
}

/// One host that does a part of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LiveHost {
    /// Its name; empty for the only one.
    pub name: String,
    /// Operations per second in its last period; `None`: none yet in this phase.
    pub iops: Option<f64>,
    /// Its 99th percentile of completion latency in that period, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Why it is lost; `None`: it is not.
    pub lost: Option<String>,
}

/// A finding in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveFinding {
    /// The check's id.
    pub id: String,
    /// How much it matters.
    pub severity: FindingSeverity,
    /// Where: the phase, and which repetition.
    pub phase: String,
    /// One sentence.
    pub message: String,
    /// How many more of the same id there are, each less grave or smaller.
    pub more: usize,
}

/// One job and host in the period that is coming in.
type Part = (HostId, u32);

/// A period of one job on one host.
#[derive(Debug, Clone, Copy, Default)]
struct PartRate {
    index: u32,
    iops: f64,
    bytes_per_s: f64,
}

/// What each job of each host did last. Hosts tell of their periods at different moments and drift apart; what they do together is the
/// sum of what each did last, not of those that have told of a period so far.
#[derive(Debug, Clone, Default)]
pub struct LastRates {
    phase: u32,
    parts: BTreeMap<Part, PartRate>,
}

impl LastRates {
    /// Takes what a host tells: a newer period replaces the one before, what comes late is added to its own. A period that is too
    /// short is no rate.
    pub fn hear(&mut self, host: HostId, interval: &Interval) {
        let key = &interval.key;
        if key.phase > self.phase {
            (self.phase, self.parts) = (key.phase, BTreeMap::new());
        }
        let seconds = key.length_ns as f64 / 1e9;
        if seconds < 0.05 || key.phase != self.phase {
            return;
        }
        let part = self.parts.entry((host, key.job)).or_default();
        if key.index > part.index {
            *part = PartRate { index: key.index, ..PartRate::default() };
        }
        if key.index == part.index {
            part.iops += interval.counts.data_ios() as f64 / seconds;
            part.bytes_per_s += interval.counts.data_bytes() as f64 / seconds;
        }
    }

    /// A host that does nothing any more.
    pub fn forget(&mut self, host: HostId) {
        self.parts.retain(|part, _| part.0 != host);
    }

    /// Operations per second of all jobs of a host; `None`: it told nothing yet.
    pub fn iops_of(&self, host: HostId) -> Option<f64> {
        self.parts
            .range((host, 0)..=(host, u32::MAX))
            .map(|(_, part)| part.iops)
            .reduce(|sum, iops| sum + iops)
    }

    /// Operations and bytes per second of all together.
    pub fn together(&self) -> (f64, f64) {
        self.parts.values().fold((0.0, 0.0), |sum, part| (sum.0 + part.iops, sum.1 + part.bytes_per_s))
    }
}

/// A period whose intervals are coming in.
#[derive(Debug, Clone)]
struct Coming {
    phase: u32,
    index: u32,
    length_ns: u64,
    counts: JobCounts,
    parts: BTreeSet<Part>,
    at_s: f64,
}

/// Where a run stands.
#[derive(Debug, Clone, Default)]
pub struct LiveRun {
    builder: RunBuilder,
    /// The run's id; empty before it has begun.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// The phase that goes on, its name.
    pub phase: String,
    /// Its number from 1, and how many there are.
    pub number: (usize, usize),
    /// Whether it measures: others prepare.
    pub measures: bool,
    /// The periods of the run, the newest last.
    pub points: VecDeque<LivePoint>,
    /// The hosts, by number.
    pub hosts: BTreeMap<HostId, LiveHost>,
    /// An I/O that hangs, in short.
    pub hung: Option<String>,
    /// What the run says, the newest last.
    pub notes: VecDeque<String>,
    /// What checks find in the phases that have ended: of each id the gravest, and these by weight.
    pub findings: Vec<LiveFinding>,
    /// How it ended; `None`: it goes on.
    pub end: Option<RunEnd>,
    /// What went wrong.
    pub error: Option<String>,
    names: Vec<(String, bool)>,
    expected_s: Vec<f64>,
    phase_started: Duration,
    started: Duration,
    coming: Option<Coming>,
    rates: LastRates,
    /// Jobs and hosts that told of the last whole period.
    parts: usize,
}

impl LiveRun {
    /// Takes an event that comes at `now`, by any clock that does not go back; `before_s` is what comes before the first phase of a
    /// plan, seconds.
    pub fn hear(&mut self, event: &RunEvent, now: Duration, before_s: &dyn Fn(&Plan) -> f64) {
        self.builder.feed(event);
        match event {
            RunEvent::RunStarted { id, plan, .. } => {
                self.id.clone_from(id);
                self.started = now;
                self.begin(plan, before_s(plan));
            }
            RunEvent::PhaseStarted { phase, .. } => self.begin_phase(*phase as usize, now),
            RunEvent::PhaseFinished { .. } => {
                self.settle();
                self.hung = None;
                self.judge();
            }
            RunEvent::PhaseResolved { phase, planned } => {
                if let Some(name) = self.names.get_mut(*phase as usize) {
                    name.0.clone_from(&planned.name);
                }
            }
            RunEvent::RunFinished { end, error, .. } => {
                self.settle();
                self.end = Some(*end);
                self.error.clone_from(error);
                self.hung = None;
            }
            RunEvent::Host { host, event } => self.hear_host(*host, event, now),
        }
    }

    fn begin(&mut self, plan: &Plan, before_s: f64) {
        self.name.clone_from(&plan.name);
        self.names =
            plan.phases.iter().map(|phase| (phase.name.clone(), phase.kind == PhaseKind::Measure)).collect();
        let expected = plan.phases.iter().map(|phase| phase.expected_time());
        self.expected_s =
            expected.map(|time| time.map_or(UNKNOWN_PHASE_S, |time| time.as_secs_f64() + 0.05)).collect();
        if let Some(first) = self.expected_s.first_mut() {
            *first += before_s;
        }
        self.number = (0, plan.phases.len());
    }

    fn begin_phase(&mut self, phase: usize, now: Duration) {
        self.settle();
        self.number.0 = phase + 1;
        self.phase_started = now;
        (self.phase, self.measures) = self.names.get(phase).cloned().unwrap_or_default();
        self.parts = 0;
        for host in self.hosts.values_mut() {
            (host.iops, host.p99_ns) = (None, None);
        }
    }

    fn hear_host(&mut self, host: HostId, event: &HostEvent, now: Duration) {
        match event {
            HostEvent::Interval(interval) => self.interval(host, interval, now),
            HostEvent::Environment { name, .. } => {
                self.hosts.entry(host).or_default().name.clone_from(name);
            }
            HostEvent::Hung { io, .. } => self.hung = io.as_ref().map(|io| io.in_short()),
            HostEvent::Lost { why, .. } => {
                self.hosts.entry(host).or_default().lost = Some(why.to_string());
                self.rates.forget(host);
            }
            HostEvent::Note { text, .. } => {
                if self.notes.len() == NOTES_MAX {
                    self.notes.pop_front();
                }
                self.notes.push_back(text.clone());
            }
            _ => {}
        }
    }

    /// Adds an interval to the period it belongs to; what a late thread adds to an older one is not shown.
    fn interval(&mut self, host: HostId, interval: &Interval, now: Duration) {
        let key = &interval.key;
        let seconds = key.length_ns as f64 / 1e9;
        if seconds < 0.05 {
            return;
        }
        let older = |coming: &Coming| (coming.phase, coming.index) < (key.phase, key.index);
        if self.coming.as_ref().is_some_and(older) {
            self.settle();
        }
        self.rates.hear(host, interval);
        let known = self.hosts.entry(host).or_default();
        known.iops = self.rates.iops_of(host);
        known.p99_ns = interval.counts.data().completion.quantile_ns(0.99);
        let at_s = now.saturating_sub(self.started).as_secs_f64();
        let coming = self.coming.get_or_insert_with(|| Coming {
            phase: key.phase,
            index: key.index,
            length_ns: 0,
            counts: JobCounts::default(),
            parts: BTreeSet::new(),
            at_s,
        });
        if (coming.phase, coming.index) != (key.phase, key.index) {
            return;
        }
        coming.length_ns = coming.length_ns.max(key.length_ns);
        coming.counts.merge(&interval.counts);
        coming.parts.insert((host, key.job));
        // All who told of the period before have told of this one: it need not wait for the next.
        if self.parts > 0 && coming.parts.len() >= self.parts {
            self.show();
        }
    }

    /// The period that is coming in as a point; later parts of it change the point.
    fn show(&mut self) {
        let Some(coming) = &self.coming else { return };
        let data = coming.counts.data();
        let seconds = (coming.length_ns as f64 / 1e9).max(1e-9);
        let (iops, bytes_per_s) = match self.hosts.len() {
            0 | 1 => (data.ios as f64 / seconds, data.bytes as f64 / seconds),
            _ => self.rates.together(),
        };
        let point = LivePoint {
            at_s: coming.at_s,
            iops,
            bytes_per_s,
            p50_ns: data.completion.quantile_ns(0.5),
            p99_ns: data.completion.quantile_ns(0.99),
            p99_9_ns: data.completion.quantile_ns(0.999),
            errors: coming.counts.errors,
        };
        match self.points.back_mut() {
            Some(last) if last.at_s == point.at_s => *last = point,
            _ => {
                if self.points.len() == POINTS_MAX {
                    self.points.pop_front();
                }
                self.points.push_back(point);
            }
        }
    }

    /// No more comes of the period.
    fn settle(&mut self) {
        self.show();
        if let Some(coming) = self.coming.take() {
            self.parts = coming.parts.len();
        }
    }

    /// What the checks find in the phases that have ended.
    fn judge(&mut self) {
        let Ok(mut run) = self.builder.clone().finish() else { return };
        checks::judge(&mut run);
        // That the run has not ended yet is no news.
        let of_phases = run.findings.iter().filter(|finding| finding.phase.is_some());
        let grave = of_phases.filter(|finding| finding.severity >= FindingSeverity::Warning);
        let mut findings: Vec<&Finding> = grave.collect();
        findings.sort_by(|a, b| Finding::by_weight((a.severity, a), (b.severity, b)));
        self.findings.clear();
        for finding in findings {
            match self.findings.iter_mut().find(|known| known.id == finding.id) {
                Some(known) => known.more += 1,
                None => self.findings.push(LiveFinding::of(finding)),
            }
        }
    }

    /// How much of the whole run is done, 0 to 1, and seconds left, both as far as the plan says; `None`: it has not begun.
    pub fn progress(&self, now: Duration) -> Option<(f64, f64)> {
        let total: f64 = self.expected_s.iter().sum();
        if self.end.is_some() {
            return Some((1.0, 0.0));
        }
        let index = self.number.0.checked_sub(1)?;
        let expected = self.expected_s.get(index).copied().unwrap_or(0.0);
        let in_phase = now.saturating_sub(self.phase_started).as_secs_f64().min(expected);
        let before: f64 = self.expected_s.iter().take(index).sum();
        Some(((before + in_phase) / total.max(1e-9), (total - before - in_phase).max(0.0)))
    }

    /// Seconds since the run began.
    pub fn elapsed_s(&self, now: Duration) -> f64 {
        now.saturating_sub(self.started).as_secs_f64()
    }

    /// The newest whole period of the phase that goes on.
    pub fn newest(&self) -> Option<&LivePoint> {
        let begun = self.phase_started.saturating_sub(self.started).as_secs_f64();
        self.points.back().filter(|point| point.at_s >= begun)
    }
}

impl LiveFinding {
    fn of(finding: &Finding) -> Self {
        let phase = finding.phase.clone().unwrap_or_default();
        let repeat = finding.repeat.map_or(String::new(), |repeat| format!(", repetition {}", repeat + 1));
        LiveFinding {
            id: finding.id.clone(),
            severity: finding.severity,
            phase: phase + &repeat,
            message: finding.message.clone(),
            more: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::HungIo;
    use crate::interval::IntervalKey;
    use crate::{OpCounts, fixture};
    use assay_workload::units::Nanos;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn begun() -> LiveRun {
        let mut live = LiveRun::default();
        let mut plan = fixture::plan(vec![fixture::job("reader")]);
        plan.phases.push(plan.phases[0].clone());
        let started = fixture::started(plan, fixture::environment());
        live.hear(&started, s(10.0), &|_| 1.0);
        live
    }

    fn interval(host: u16, job: u32, index: u32, ios: u64) -> RunEvent {
        let read = OpCounts { ios, bytes: ios * 4096, ..OpCounts::default() };
        let ops = [read, OpCounts::default(), OpCounts::default(), OpCounts::default()];
        let start_ns = u64::from(index) * 1_000_000_000;
        let key = IntervalKey { phase: 1, job, index, ramp: false, start_ns, length_ns: 1_000_000_000 };
        let counts = JobCounts { ops, ..JobCounts::default() };
        HostEvent::Interval(Box::new(Interval { key, counts })).of(HostId(host))
    }

    #[test]
    fn a_period_is_the_sum_of_jobs_and_hosts() {
        let mut live = begun();
        live.hear(&RunEvent::PhaseStarted { phase: 1, at_ms: 0 }, s(11.0), &|_| 0.0);
        for (index, ios) in [(0, 100), (1, 200)] {
            for host in 0..3 {
                for job in 0..2 {
                    live.hear(&interval(host, job, index, ios), s(12.0 + f64::from(index)), &|_| 0.0);
                }
            }
        }
        let rates: Vec<f64> = live.points.iter().map(|point| point.iops).collect();
        assert_eq!(rates, [600.0, 1200.0], "the second is whole without waiting for a third");
        assert_eq!(live.newest().unwrap().bytes_per_s, 1200.0 * 4096.0);
        assert_eq!(live.hosts.len(), 3);
        // A thread that is late changes the point and does not make another.
        live.hear(&interval(0, 0, 1, 50), s(13.1), &|_| 0.0);
        assert_eq!(live.points.back().unwrap().iops, 1250.0);
        live.hear(&interval(0, 0, 0, 50), s(13.2), &|_| 0.0);
        assert_eq!(live.points.len(), 2);
        assert_eq!(live.hosts[&HostId(0)].iops, Some(450.0), "of both jobs");
        // One host is a period behind when the next one begins: it counts with what it did last.
        for (host, index) in [(1, 2), (2, 2), (1, 3)] {
            for job in 0..2 {
                live.hear(&interval(host, job, index, 200), s(14.0 + f64::from(index)), &|_| 0.0);
            }
        }
        assert_eq!(live.points.back().unwrap().iops, 1250.0);
    }

    #[test]
    fn progress_is_that_of_the_plan() {
        let mut live = begun();
        assert_eq!(live.progress(s(10.0)), None);
        live.hear(&RunEvent::PhaseStarted { phase: 0, at_ms: 0 }, s(10.0), &|_| 0.0);
        let (done, left) = live.progress(s(10.0)).unwrap();
        assert!(done == 0.0 && left > 1.0, "{done} {left}");
        live.hear(&RunEvent::PhaseStarted { phase: 1, at_ms: 0 }, s(12.0), &|_| 0.0);
        let (later, less) = live.progress(s(13.0)).unwrap();
        assert!(later > done && less < left, "{later} {less}");
        let end = RunEvent::RunFinished { end: RunEnd::Interrupted, at_ms: 5000, error: None };
        live.hear(&end, s(15.0), &|_| 0.0);
        assert_eq!((live.progress(s(15.0)), live.end), (Some((1.0, 0.0)), Some(RunEnd::Interrupted)));
    }

    #[test]
    fn what_hangs_and_who_is_lost_is_known() {
        let mut live = begun();
        let io = HungIo {
            job: "j".to_owned(),
            operation: "read".into(),
            target: "/data/file".to_owned(),
            offset_bytes: Some(8192),
            len_bytes: 4096,
            since: Nanos(0),
            outstanding_for: Nanos(12_000_000_000),
        };
        live.hear(&HostEvent::Hung { phase: 1, io: Some(Box::new(io)) }.into(), s(11.0), &|_| 0.0);
        assert!(live.hung.as_ref().unwrap().contains("hangs for 12 s"));
        live.hear(&HostEvent::Hung { phase: 1, io: None }.into(), s(12.0), &|_| 0.0);
        assert_eq!(live.hung, None);
        let why = crate::event::LostReason::ConnectionClosed;
        live.hear(&HostEvent::Lost { phase: 1, why }.of(HostId(2)), s(13.0), &|_| 0.0);
        assert_eq!(live.hosts[&HostId(2)].lost.as_deref(), Some("connection closed"));
    }

    #[test]
    fn what_is_kept_has_bounds() {
        let mut live = begun();
        live.hear(&RunEvent::PhaseStarted { phase: 1, at_ms: 0 }, s(11.0), &|_| 0.0);
        for index in 0..1000 {
            live.hear(&interval(0, 0, index, 1), s(12.0 + f64::from(index)), &|_| 0.0);
            let note = HostEvent::Note { phase: None, id: "x".to_owned(), text: index.to_string() };
            live.hear(&note.into(), s(12.0), &|_| 0.0);
        }
        assert_eq!((live.points.len(), live.notes.len()), (POINTS_MAX, NOTES_MAX));
        assert_eq!(live.notes.back().unwrap(), "999");
    }
}
