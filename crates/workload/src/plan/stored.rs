//! Plans as they are read: the form that is written, and what was stored before there were [`Pace`], [`End`] and a carrier.

use serde::{Deserialize, Deserializer};

use super::{
    Carrier, End, Offered, Pace, PlannedEngine, PlannedJob, PlannedPhase, PlannedSite, SliceRate, ThreadSlice,
};
use crate::host::HostId;
use crate::job::{
    Arrival, EndsWith, EngineKind, Limits, OperationRates, PhaseKind, Rate, SteadyLimit, Traits,
};
use crate::point::SweepPoint;
use crate::steps::Step;
use crate::tree::TreeOperation;
use crate::units::Nanos;

/// An engine as it was written: an older plan names what carries the job out in its place.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum StoredEngine {
    Planned(PlannedEngine),
    Before(EngineKind),
}

impl StoredEngine {
    fn carrier(self) -> Option<Carrier> {
        match self {
            StoredEngine::Before(EngineKind::Fio) => Some(Carrier::Fio),
            StoredEngine::Before(EngineKind::Sim) => Some(Carrier::Simulated),
            _ => None,
        }
    }
}

/// The shared facts, among those which were left open and are resolved beside them.
#[derive(Deserialize)]
struct StoredTraits {
    #[serde(flatten)]
    traits: Traits,
    rate: Option<Rate>,
    #[serde(default)]
    arrival: Arrival,
    limits: Option<Limits>,
}

/// A thread's part; an older plan has its rate in two fields, the second for operations with rates of their own.
#[derive(Deserialize)]
struct StoredSlice {
    #[serde(default)]
    host: HostId,
    seed: u64,
    sites: Vec<PlannedSite>,
    ios: Option<u64>,
    bytes: Option<u64>,
    rate: Option<SliceRate>,
    rate_per_s: Option<f64>,
    rates_per_s: Option<OperationRates>,
}

impl<'de> Deserialize<'de> for ThreadSlice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let StoredSlice { host, seed, sites, ios, bytes, rate, rate_per_s, rates_per_s } =
            StoredSlice::deserialize(from)?;
        let before = || rates_per_s.map(SliceRate::Each).or(rate_per_s.map(SliceRate::Iops));
        Ok(ThreadSlice { host, seed, sites, ios, bytes, rate: rate.or_else(before) })
    }
}

#[derive(Deserialize)]
struct StoredJob {
    job: StoredTraits,
    engine: StoredEngine,
    engine_reason: Option<String>,
    direct: bool,
    pace: Option<Pace>,
    time: Option<Nanos>,
    passes: Option<u32>,
    ends_with: Option<EndsWith>,
    steady: Option<SteadyLimit>,
    operations: Option<Vec<String>>,
    slices: Vec<ThreadSlice>,
}

impl StoredJob {
    fn pace(&self) -> Pace {
        let arrival = self.job.arrival;
        match (self.pace, self.job.rate.unwrap_or_default()) {
            (Some(pace), _) => pace,
            (None, Rate::Unlimited) => Pace::Closed,
            (None, Rate::Iops(rate)) => Pace::Open { offered: Offered::Iops(rate), arrival },
            (None, Rate::BytesPerS(rate)) => Pace::Open { offered: Offered::BytesPerS(rate), arrival },
            (None, Rate::Each(rates)) => Pace::Open { offered: Offered::Each(rates), arrival },
            (None, Rate::PercentOfMax(percent)) => Pace::OfMax { percent, arrival },
        }
    }
}

impl From<StoredJob> for PlannedJob {
    fn from(stored: StoredJob) -> PlannedJob {
        let limits = stored.job.limits.unwrap_or_default();
        let endless = limits.time.is_some() || limits.ios.is_some() || limits.bytes.is_some();
        // Trees without a limit made one pass, which their driver knew.
        let one_pass = stored.job.traits.tree.is_some() && stored.job.limits.is_some() && !endless;
        // Intervals of trees had these numbers before plans named operations.
        let on_trees = || stored.job.traits.tree.is_some().then(TreeOperation::names);
        PlannedJob {
            pace: stored.pace(),
            operations: stored.operations.clone().or_else(on_trees).unwrap_or_default(),
            end: End {
                time: stored.time,
                passes: stored.passes.or(limits.passes).or(one_pass.then_some(1)),
                ends_with: stored.ends_with.or(limits.ends_with),
                steady: stored.steady.or(limits.steady),
            },
            traits: stored.job.traits,
            engine: match stored.engine {
                StoredEngine::Planned(engine) => engine,
                StoredEngine::Before(kind) => kind.into(),
            },
            engine_reason: stored.engine_reason.filter(|reason| !reason.is_empty()),
            direct: stored.direct,
            slices: stored.slices,
        }
    }
}

impl<'de> Deserialize<'de> for PlannedJob {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        StoredJob::deserialize(from).map(PlannedJob::from)
    }
}

#[derive(Deserialize)]
struct StoredPhase {
    name: String,
    kind: PhaseKind,
    jobs: Vec<StoredJob>,
    drain_after: bool,
    pause_after: Nanos,
    point: SweepPoint,
    repeat: u32,
    step: Option<Step>,
    carried_by: Option<Carrier>,
    #[serde(default)]
    despite_failure: bool,
}

impl<'de> Deserialize<'de> for PlannedPhase {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = StoredPhase::deserialize(from)?;
        let by_jobs = || stored.jobs.iter().find_map(|job| job.engine.carrier());
        Ok(PlannedPhase {
            carried_by: stored.carried_by.or_else(by_jobs).unwrap_or_default(),
            jobs: stored.jobs.into_iter().map(PlannedJob::from).collect(),
            name: stored.name,
            kind: stored.kind,
            drain_after: stored.drain_after,
            pause_after: stored.pause_after,
            point: stored.point,
            repeat: stored.repeat,
            step: stored.step,
            despite_failure: stored.despite_failure,
        })
    }
}

#[cfg(test)]
mod tests;
