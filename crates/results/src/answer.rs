//! What a run says in short: what its storage behaves like, and the best that it did.

mod likeness;

use assay_workload::pattern::OpKind;
use assay_workload::plan::{Carrier, PlannedEngine, PlannedJob};

use crate::compare::{Repetition, tests_of_run};
use crate::histogram::LatencyHistogram;
use crate::run::{JobResult, OpResult, Row, Run, Verdict};
use crate::stats::median;

pub use likeness::{Fit, Likeness, StorageKind, likeness};

/// From this share of an operation on a test is of that operation alone.
const ALONE: f64 = 0.99;
/// From this share of cached reads on, a figure is not of the storage alone.
const CACHED_MAX: f64 = 0.05;

/// A quoted figure with the conditions it holds under.
#[derive(Debug, Clone)]
pub struct Quoted<'r> {
    /// Its row.
    pub row: &'r Row,
    /// One of its results, for the conditions that all share.
    pub job: &'r JobResult,
    /// Share of reads, 0 to 1; `None`: not known.
    pub read_share: Option<f64>,
    /// Share of trims, 0 to 1; 0 also where the mix is not known.
    pub trim_share: f64,
    /// Whether it is random; `None`: neither, or not known.
    pub random: Option<bool>,
    /// Whether every write is durable when it is counted.
    pub durable: bool,
    /// Median of its repetitions, bytes a second.
    pub bytes_per_s: f64,
    /// Median latency of one operation, repetitions together, with the flush that makes it durable, nanoseconds; `None`: too
    /// few values.
    pub p50_ns: Option<f64>,
    /// Whether its operations met the storage, as far as this kernel knows: neither the null engine nor the simulator, no reads
    /// from the page cache, no writes that stay there.
    pub on_storage: bool,
    /// Whether the null engine did it, which answers at once: the speed of the instrument, and of no storage.
    pub null: bool,
}

/// All rows of a run that has verdicts.
pub fn quoted(run: &Run) -> Vec<Quoted<'_>> {
    tests_of_run(run).iter().filter_map(|(_, repetitions)| of_test(run, repetitions)).collect()
}

fn of_test<'r>(run: &'r Run, repetitions: &[Repetition<'r>]) -> Option<Quoted<'r>> {
    let first = repetitions.first()?;
    let planned_phase = run.plan.phases.get(first.phase.plan_phase as usize);
    let indices = &first.job.evidence.plan_jobs;
    let planned: Vec<&PlannedJob> =
        indices.iter().filter_map(|index| planned_phase?.jobs.get(*index as usize)).collect();
    let patterns =
        || planned.iter().filter(|planned| planned.application.is_none()).map(|planned| &planned.pattern);
    let read_share = patterns().next().map(|pattern| pattern.mix.share(OpKind::Read));
    let trim_share = patterns().next().map_or(0.0, |pattern| pattern.mix.share(OpKind::Trim));
    let random = patterns().next().and_then(|pattern| pattern.placement.known_random());
    let durable = !planned.is_empty() && planned.iter().all(|planned| planned.flush.every_write_durable());
    let null = planned.iter().any(|planned| planned.engine == PlannedEngine::Null);
    let real = planned_phase.is_none_or(|phase| phase.carried_by != Carrier::Simulated)
        && planned.iter().all(|planned| planned.moves_data());
    let bytes: Vec<f64> = repetitions.iter().map(|one| one.job.total.bytes_per_s).collect();
    Some(Quoted {
        row: run.row(first.phase, first.job)?,
        job: first.job,
        read_share,
        trim_share,
        random,
        durable,
        bytes_per_s: median(&bytes)?,
        p50_ns: p50_ns(repetitions, durable),
        on_storage: real && past_the_cache(repetitions, durable),
        null,
    })
}

/// Whether reads came from the storage and writes went there.
fn past_the_cache(repetitions: &[Repetition<'_>], durable: bool) -> bool {
    repetitions.iter().all(|one| {
        let read = one.job.read.is_none()
            || one.job.cached_read_share.map_or(one.job.direct, |share| share < CACHED_MAX);
        let written = one.job.write.is_none() || one.job.direct || durable;
        read && written
    })
}

/// The median latency of reads or of writes, whichever there are more of; durable ones with the flush behind each.
fn p50_ns(repetitions: &[Repetition<'_>], durable: bool) -> Option<f64> {
    let reads = more_reads(repetitions.first()?.job);
    let of = |job: &JobResult| if reads { job.read.clone() } else { job.write.clone() };
    let operation = together(repetitions, of)?;
    let flush = together(repetitions, |job| job.flush.clone()).filter(|_| durable && !reads);
    Some(operation + flush.unwrap_or(0.0))
}

fn more_reads(job: &JobResult) -> bool {
    let ios = |op: &Option<OpResult>| op.as_ref().map_or(0, |op| op.ios);
    ios(&job.read) >= ios(&job.write)
}

fn together(repetitions: &[Repetition<'_>], of: impl Fn(&JobResult) -> Option<OpResult>) -> Option<f64> {
    let mut merged = LatencyHistogram::new();
    let mut single = None;
    let ops: Vec<OpResult> = repetitions.iter().filter_map(|one| of(one.job)).collect();
    // As in the rows of each: of very few operations there is no median to speak of.
    if ops.iter().all(|op| op.completion_ns.p50.is_none()) {
        return None;
    }
    for op in ops {
        match &op.completion_histogram {
            Some(sparse) => merged.merge(&LatencyHistogram::from_sparse(sparse)),
            None => single = op.completion_ns.p50,
        }
    }
    let p50 = if merged.is_empty() { single } else { merged.quantile_ns(0.5) };
    p50.map(|ns| ns as f64)
}

impl Quoted<'_> {
    /// Whether it did what was offered, and not what it could.
    pub fn is_offered(&self) -> bool {
        self.job.evidence.offered_iops.is_some() || self.job.evidence.offered_each.is_some()
    }

    /// Whether its median latency is that of its reads.
    pub fn is_of_reads(&self) -> bool {
        more_reads(self.job)
    }

    /// Whether it reads alone.
    pub fn only_reads(&self) -> bool {
        self.read_share.is_some_and(|share| share >= ALONE)
    }

    /// Whether it writes alone.
    pub fn only_writes(&self) -> bool {
        self.read_share.is_some_and(|share| share <= 1.0 - ALONE) && self.job.trim.is_none()
    }

    /// Whether it trims alone.
    pub fn only_trims(&self) -> bool {
        self.trim_share >= ALONE
    }
}

/// The best figures of a run. Those that are valid first; suspect ones only where there is no other, invalid ones never. Where
/// something ran as fast as it could, what was only offered is no best of anything.
#[derive(Debug, Clone)]
pub struct Best<'r> {
    /// The most operations a second; `None`: only bytes are known.
    pub iops: Option<Quoted<'r>>,
    /// The most bytes a second; `None`: no bytes were moved.
    pub bandwidth: Option<Quoted<'r>>,
    /// The lowest median latency; `None`: none is known.
    pub latency: Option<Quoted<'r>>,
    /// A suspect figure of more operations a second than the valid ones.
    pub suspect_iops: Option<Quoted<'r>>,
}

/// The best figures; `None` without one that may be quoted.
pub fn best<'r>(quoted: &[Quoted<'r>]) -> Option<Best<'r>> {
    let of = |verdict: Verdict| -> Vec<&Quoted<'r>> {
        let good = |quoted: &&Quoted<'r>| quoted.row.verdict == verdict && quoted.row.figure.value > 0.0;
        let good: Vec<_> = quoted.iter().filter(good).collect();
        let unlimited: Vec<_> = good.iter().copied().filter(|quoted| !quoted.is_offered()).collect();
        if unlimited.is_empty() { good } else { unlimited }
    };
    let candidates = [Verdict::Valid, Verdict::Suspect].map(of).into_iter().find(|of| !of.is_empty())?;
    let iops = most(&candidates, &iops_of);
    let most_valid = iops.as_ref().map_or(0.0, |best| best.row.figure.value);
    Some(Best {
        bandwidth: most(&candidates, &|quoted| Some(quoted.bytes_per_s).filter(|rate| *rate > 0.0)),
        latency: most(&candidates, &|quoted| quoted.p50_ns.map(|ns| -ns)),
        suspect_iops: most(&of(Verdict::Suspect), &iops_of)
            .filter(|suspect| suspect.row.figure.value > most_valid && iops.is_some()),
        iops,
    })
}

fn iops_of(quoted: &Quoted<'_>) -> Option<f64> {
    (quoted.row.figure.unit == "IOPS").then_some(quoted.row.figure.value)
}

/// The one of the highest value.
fn most<'r>(candidates: &[&Quoted<'r>], value: &dyn Fn(&Quoted<'_>) -> Option<f64>) -> Option<Quoted<'r>> {
    let known = candidates.iter().filter_map(|quoted| Some((value(quoted)?, *quoted)));
    known.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, quoted)| quoted.clone())
}
