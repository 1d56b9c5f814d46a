//! One job's counts, and the result of the jobs that are reported together.

use std::collections::BTreeMap;

use assay_workload::job::OperationRates;
use assay_workload::operation::Counted;
use assay_workload::pattern::{BlockSizes, OpKind};
use assay_workload::plan::{Carrier, PlannedJob, PlannedPhase, describe_flush, describe_work};
use assay_workload::{PhaseKind, Plan};

use super::held::HeldIntervals;
use super::hosts::GroupTotal;
use super::truth::RequestedBytes;
use crate::data::DataChecks;
use crate::done_by::DoneBy;
use crate::event::{HostId, JobOutcome, ShortTransfers};
use crate::evidence::JobEvidence;
use crate::histogram::LatencyHistogram;
use crate::interval::{Interval, JobCounts, OpCounts};
use crate::run::{JobResult, LatencySummary, OpResult};
use crate::summary::were_of_size;

/// A job while its events come in: what each host did of it.
#[derive(Debug, Clone, Default)]
pub(super) struct JobTally {
    parts: BTreeMap<HostId, JobPart>,
}

/// A host's part in a job.
#[derive(Debug, Clone, Default)]
struct JobPart {
    /// Ramp excluded; empty where the intervals are held.
    counts: JobCounts,
    /// Measured intervals, where there are several hosts: which of them count is known at the end.
    held: HeldIntervals,
    /// Ramp included.
    asked: RequestedBytes,
    /// First start and last end of the measured intervals.
    span_ns: Option<(u64, u64)>,
    outcomes: Vec<JobOutcome>,
}

/// What was counted of a job, over the time that is reported.
#[derive(Debug, Clone, Default)]
pub(super) struct JobTotal {
    pub(super) counts: JobCounts,
    pub(super) outcomes: Vec<JobOutcome>,
    /// Start and end of the measured part; `None`: there was none, or it is that of several hosts.
    pub(super) window: Option<(u64, u64)>,
}

/// What one of several hosts did for a group of jobs.
#[derive(Debug, Clone, Default)]
pub(super) struct PartTotal {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) completion: LatencyHistogram,
    /// Operations outside the common time.
    pub(super) trimmed_ios: u64,
    counted: Option<(u64, u64)>,
    /// Length of the periods that count, from the first to the last.
    pub(super) counted_ns: u64,
}

impl PartTotal {
    pub(super) fn add(&mut self, interval: &Interval, counted: bool) {
        let ios = interval.counts.data_ios();
        self.ios = self.ios.saturating_add(ios);
        self.bytes = self.bytes.saturating_add(interval.counts.data_bytes());
        interval.counts.each_completion(|completion| self.completion.merge(completion));
        if !counted {
            self.trimmed_ios = self.trimmed_ios.saturating_add(ios);
            return;
        }
        let span = (interval.key.start_ns, interval.key.end_ns());
        let span = self.counted.map_or(span, |known| union(known, span));
        (self.counted, self.counted_ns) = (Some(span), span.1 - span.0);
    }
}

impl JobTally {
    /// Adds an interval. Where there are several hosts it is held until all are known.
    pub(super) fn feed(&mut self, host: HostId, interval: &Interval, are_several: bool) {
        let part = self.parts.entry(host).or_default();
        let key = interval.key;
        part.asked.add(&interval.counts);
        if key.ramp {
            return;
        }
        let span = (key.start_ns, key.end_ns());
        part.span_ns = Some(part.span_ns.map_or(span, |known| union(known, span)));
        if are_several {
            part.held.push(interval);
        } else {
            part.counts.merge(&interval.counts);
        }
    }

    /// Adds the end of the job on a host.
    pub(super) fn feed_outcome(&mut self, host: HostId, outcome: &JobOutcome) {
        self.parts.entry(host).or_default().outcomes.push(outcome.clone());
    }

    /// What each host asked of its devices, ramp included.
    pub(super) fn asked(&self) -> impl Iterator<Item = (HostId, &RequestedBytes)> {
        self.parts.iter().map(|(host, part)| (*host, &part.asked))
    }

    /// Start and end of each host's measured part, in its own time.
    pub(super) fn windows(&self) -> impl Iterator<Item = (HostId, (u64, u64))> {
        self.parts.iter().filter_map(|(host, part)| Some((*host, part.window()?)))
    }

    pub(super) fn held(&self) -> impl Iterator<Item = (HostId, &HeldIntervals)> {
        self.parts.iter().map(|(host, part)| (*host, &part.held))
    }

    /// How it ended, on each host.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (HostId, &JobOutcome)> {
        self.parts.iter().flat_map(|(host, part)| part.outcomes.iter().map(|outcome| (*host, outcome)))
    }

    /// Everything that was counted, where the hosts need no common time.
    pub(super) fn into_total(self) -> JobTotal {
        let mut total = JobTotal::default();
        for part in self.parts.into_values() {
            total.window = total.window.into_iter().chain(part.window()).reduce(union);
            total.outcomes.extend(part.outcomes);
            total.counts = if total.counts == JobCounts::default() {
                part.counts
            } else {
                total.counts.merge(&part.counts);
                total.counts
            };
        }
        total
    }

    /// The outcomes, and of the counts those that no time can be taken from.
    pub(super) fn outcomes_only(&self) -> JobTotal {
        let mut total = JobTotal::default();
        for part in self.parts.values() {
            total.outcomes.extend_from_slice(&part.outcomes);
            total.counts.merge(&part.counts);
        }
        total
    }
}

impl JobPart {
    /// Start and end of the measured part, from the outcomes, else (stopped before its end) from the intervals.
    fn window(&self) -> Option<(u64, u64)> {
        let reported = self.outcomes.iter().map(|outcome| {
            (outcome.measured_start_ns, outcome.measured_start_ns.saturating_add(outcome.measured_ns))
        });
        reported.reduce(union).or(self.span_ns)
    }
}

/// The span of two.
pub(super) fn union(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The result of the jobs reported as `name`; at least one. A plan for several hosts says what each of them does; one that names
/// none is what each host carries out.
pub(super) fn finish(name: &str, total: GroupTotal, phase: Option<&PlannedPhase>, plan: &Plan) -> JobResult {
    let GroupTotal { jobs: tallies, window, .. } = &total;
    let parts: Vec<PlannedJob> = match plan.hosts.len() {
        0 => Vec::new(),
        _ => planned_of(tallies, phase).map(|job| job.part(|host| total.hosts.contains(&host))).collect(),
    };
    let planned: Vec<&PlannedJob> =
        if plan.hosts.is_empty() { planned_of(tallies, phase).collect() } else { parts.iter().collect() };
    let copies = total.copies(plan);
    let counts = total_counts(tallies);
    let kind = phase.map_or(PhaseKind::Measure, |phase| phase.kind);
    let carrier = phase.map_or(Carrier::Native, |phase| phase.carried_by);
    let (start_ns, measured_ns) = (window.0, window.1.saturating_sub(window.0));
    let outcomes: Vec<&JobOutcome> = tallies.iter().flat_map(|(_, tally)| &tally.outcomes).collect();
    let evidence = evidence(&total, &planned, plan, &counts);

    let op = |kind: OpKind| {
        let counted = counts.op(kind);
        let planned_size = || one_size(&planned, &[kind]).filter(|size| were_of_size(counted, *size));
        let size = if kind.is_flush() { Some(0) } else { planned_size() };
        happened(counted).then(|| OpResult::of(counted, measured_ns, size))
    };
    let data = counts.data();
    let kinds: Vec<OpKind> = OpKind::DATA.into_iter().filter(|kind| happened(counts.op(*kind))).collect();
    let planned_size = || {
        let uncut = |size: &u64| kinds.iter().all(|kind| were_of_size(counts.op(*kind), *size));
        one_size(&planned, &kinds).filter(uncut)
    };
    let size = if counts.named.is_empty() { planned_size() } else { counts.block_bytes_mean() };
    let mut together = OpResult::of(&data, measured_ns, size);
    // The total is the merge of what reads, writes and trims carry; of named ones, some are done beside.
    if !counts.named.iter().any(|named| named.counted == Counted::InTotal) {
        together.forget_distributions();
    }
    let cpu_ns = evidence.cpu_user_ns.saturating_add(evidence.cpu_system_ns);
    JobResult {
        name: name.to_owned(),
        workers: worker_count(&total),
        read: op(OpKind::Read),
        write: op(OpKind::Write),
        trim: op(OpKind::Trim),
        flush: op(OpKind::Fsync),
        ops: named(tallies, phase, measured_ns),
        total: together,
        outstanding_io: planned.iter().map(|planned| planned.outstanding_io()).sum::<u64>()
            * u64::from(copies),
        outstanding_io_mean: ratio(counts.busy_slot_ns as f64, measured_ns as f64),
        cpu_ns_per_io: ratio(cpu_ns as f64, data.ios as f64),
        // Stopped before it said what it used: what was planned.
        engine: DoneBy::from(if outcomes.is_empty() {
            in_words(planned.iter().map(|planned| planned.engine_name(carrier)))
        } else {
            in_words(outcomes.iter().map(|outcome| outcome.engine.as_str()))
        }),
        engine_notes: unique(outcomes.iter().flat_map(|outcome| &outcome.engine_notes).cloned()),
        direct: !outcomes.is_empty() && outcomes.iter().all(|outcome| outcome.direct)
            || outcomes.is_empty() && !planned.is_empty() && planned.iter().all(|planned| planned.direct),
        partly_direct: false,
        durability: in_words(planned.iter().map(|planned| describe_flush(&planned.flush))),
        pattern: pattern_words(&planned, kind),
        measured_s: measured_ns as f64 / 1e9,
        lateness_ns: LatencySummary::of_some(&counts.lateness),
        cached_read_share: None,
        stamp_error_ns_mean: mean(outcomes.iter().map(|outcome| outcome.stamp_error_ns_mean)),
        errors: counts.errors,
        errors_by_kind: errors_by_kind(&outcomes),
        data: DataChecks::merged(outcomes.iter().filter_map(|outcome| outcome.data.as_ref())),
        latency_over_time: total.points.latencies(start_ns),
        series: total.points.finish(start_ns),
        evidence,
    }
}

fn total_counts(tallies: &[(u32, JobTotal)]) -> JobCounts {
    let mut counts = JobCounts::default();
    tallies.iter().for_each(|(_, tally)| counts.merge(&tally.counts));
    counts
}

/// The planned jobs of a group.
fn planned_of<'p>(
    tallies: &[(u32, JobTotal)],
    phase: Option<&'p PlannedPhase>,
) -> impl Iterator<Item = &'p PlannedJob> {
    tallies.iter().filter_map(move |(index, _)| phase?.jobs.get(*index as usize))
}

/// Of a command that was observed, only the bytes may be known.
fn happened(counts: &OpCounts) -> bool {
    counts.ios > 0 || counts.bytes > 0
}

/// The operations that the jobs of a group name, asked for or not.
fn named(
    tallies: &[(u32, JobTotal)],
    phase: Option<&PlannedPhase>,
    measured_ns: u64,
) -> BTreeMap<String, OpResult> {
    let mut merged: BTreeMap<String, OpCounts> = BTreeMap::new();
    for (index, tally) in tallies {
        let planned = phase.and_then(|phase| phase.jobs.get(*index as usize));
        for named in &tally.counts.named {
            let name = planned.and_then(|planned| planned.operation_name(named.operation));
            let name = name.map_or_else(|| format!("operation {}", named.operation.number()), str::to_owned);
            merged.entry(name).or_default().merge(&named.counts);
        }
    }
    merged.into_iter().map(|(name, counts)| (name, OpResult::of(&counts, measured_ns, None))).collect()
}

fn evidence(total: &GroupTotal, planned: &[&PlannedJob], plan: &Plan, counts: &JobCounts) -> JobEvidence {
    let GroupTotal { jobs: tallies, window, .. } = total;
    let copies = total.copies(plan);
    let outcomes = || tallies.iter().flat_map(|(_, tally)| &tally.outcomes);
    let sum = |field: fn(&JobOutcome) -> u64| outcomes().map(field).fold(0, u64::saturating_add);
    let measured_ns = window.1.saturating_sub(window.0);
    let offered_iops = offered_iops(planned).map(|iops| iops * f64::from(copies));
    let expected = offered_iops
        .and_then(|_| offered_ios(tallies, planned, measured_ns))
        .map(|ios| ios * f64::from(copies));
    JobEvidence {
        plan_jobs: tallies.iter().map(|(index, _)| *index).collect(),
        finished: tallies.iter().all(|(_, tally)| !tally.outcomes.is_empty()),
        short: ShortTransfers {
            reads: sum(|outcome| outcome.short.reads),
            writes: sum(|outcome| outcome.short.writes),
        },
        threads: planned.iter().map(|planned| planned.slices.len() as u32).sum::<u32>() * copies,
        measured_start_ns: window.0,
        measured_ns,
        active_bytes: active_bytes(planned, plan).saturating_mul(u64::from(copies)),
        offered_iops,
        offered_each: offered_each(planned).map(|rates| rates.scaled(f64::from(copies))),
        missed_share: expected
            .filter(|expected| *expected > 0.0)
            .map(|expected| (1.0 - counts.data_ios() as f64 / expected).max(0.0)),
        idle_slot_ns: counts.idle_slot_ns,
        busy_slot_ns: counts.busy_slot_ns,
        cpu_user_ns: sum(|outcome| outcome.cpu_user_ns),
        cpu_system_ns: sum(|outcome| outcome.cpu_system_ns),
        submit_calls: sum(|outcome| outcome.submit_calls),
        waits: sum(|outcome| outcome.waits),
        preempted: sum(|outcome| outcome.preempted),
        run_queue_ns: tallies
            .iter()
            .flat_map(|(_, tally)| &tally.outcomes)
            .map(|outcome| outcome.run_queue_ns)
            .sum::<Option<u64>>()
            .filter(|_| tallies.iter().any(|(_, tally)| !tally.outcomes.is_empty())),
        busiest_thread_share: outcomes().filter_map(|outcome| outcome.busiest_thread_share).reduce(f64::max),
        stamp_error_ns_max: outcomes().map(|outcome| outcome.stamp_error_ns_max).max().unwrap_or(0),
        engine_fallback: Some(in_words(outcomes().filter_map(|outcome| outcome.engine_fallback.as_deref())))
            .filter(|words| !words.is_empty()),
        read_buffers_sampled: sum(|outcome| outcome.read_buffers_sampled),
        read_buffers_zero: sum(|outcome| outcome.read_buffers_zero),
        workers: total.workers.clone(),
        common: total.common,
    }
}

/// Hosts, or processes: as many as there are outcomes of one job.
fn worker_count(total: &GroupTotal) -> u32 {
    let outcomes = total.jobs.iter().map(|(_, job)| job.outcomes.len()).max().unwrap_or(0) as u32;
    outcomes.max(total.hosts.len().max(1) as u32)
}

/// Operations a second offered by all jobs together; `None` where one of them has no rate.
fn offered_iops(planned: &[&PlannedJob]) -> Option<f64> {
    if planned.is_empty() { None } else { planned.iter().map(|planned| planned.offered_iops()).sum() }
}

/// Operations that the jobs of a group offered, each over the time in which it was measured: one may end before the others.
fn offered_ios(tallies: &[(u32, JobTotal)], planned: &[&PlannedJob], measured_ns: u64) -> Option<f64> {
    let of = |((_, tally), planned): (&(u32, JobTotal), &&PlannedJob)| {
        let own_ns = tally.window.map_or(measured_ns, |(start, end)| end.saturating_sub(start));
        Some(planned.offered_iops()? * own_ns as f64 / 1e9)
    };
    tallies.iter().zip(planned).map(of).sum()
}

/// Operations a second that all jobs together offer of each operation; `None` where one of them has no such rates.
fn offered_each(planned: &[&PlannedJob]) -> Option<OperationRates> {
    planned.iter().map(|planned| planned.offered_each()).reduce(|sum, rates| Some(sum?.plus(rates?)))?
}

/// The one block size of these operations in all jobs; `None` where there are several.
fn one_size(planned: &[&PlannedJob], kinds: &[OpKind]) -> Option<u64> {
    let mut sizes = planned.iter().flat_map(|planned| {
        kinds.iter().filter(|kind| planned.pattern.mix.share(**kind) > 0.0).map(|kind| {
            match planned.pattern.sizes(*kind) {
                BlockSizes::Fixed(size) => Some(*size),
                BlockSizes::Weighted(_) | BlockSizes::Range { .. } | BlockSizes::Unknown => None,
            }
        })
    });
    let first = sizes.next()??;
    sizes.all(|size| size == Some(first)).then_some(first)
}

/// Bytes of all targets that some thread may access, each byte counted once.
fn active_bytes(planned: &[&PlannedJob], plan: &Plan) -> u64 {
    let mut sites: Vec<(u32, u64, u64)> = planned
        .iter()
        .flat_map(|planned| &planned.slices)
        .flat_map(|slice| &slice.sites)
        .filter(|site| (site.target as usize) < plan.targets.len())
        .map(|site| (site.target, site.offset_bytes, site.offset_bytes.saturating_add(site.length_bytes)))
        .collect();
    sites.sort_unstable();
    let mut bytes = 0_u64;
    let mut reached = (u32::MAX, 0);
    for (target, start, end) in sites {
        let from = if reached.0 == target { start.max(reached.1) } else { start };
        bytes = bytes.saturating_add(end.saturating_sub(from));
        reached = (target, if reached.0 == target { end.max(reached.1) } else { end });
    }
    bytes
}

fn errors_by_kind(outcomes: &[&JobOutcome]) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for (kind, count) in outcomes.iter().flat_map(|outcome| &outcome.errors_by_kind) {
        let sum: &mut u64 = sums.entry(kind.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    let mut list: Vec<(String, u64)> = sums.into_iter().collect();
    list.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    list
}

fn unique(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for item in items {
        if !item.is_empty() && !list.contains(&item) {
            list.push(item);
        }
    }
    list
}

/// What jobs that are reported together do, in words.
pub(crate) fn pattern_words(planned: &[&PlannedJob], kind: PhaseKind) -> String {
    in_words(planned.iter().map(|planned| describe_work(planned, kind)))
}

/// The different ones of some texts, in their order; behind the third only their number.
fn in_words<S: Into<String>>(items: impl Iterator<Item = S>) -> String {
    let list = unique(items.map(Into::into));
    match list.len() {
        0..=3 => list.join("; "),
        more => format!("{}; and {} more", list[..3].join("; "), more - 3),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
    ratio(sum, f64::from(n))
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}
