//! What a simulation knows about itself: load of cores, links and drives, cache hits, and the counts that laws hold for.

use serde::{Deserialize, Serialize};

/// The schema of stored observations.
pub const SCHEMA: &str = "assay.sim/1";

/// What one station did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationLoad {
    /// Visits.
    pub served: u64,
    /// Time its servers were busy, in total.
    pub busy_ns: u64,
    /// Share of time they were busy, 0 to 1.
    pub utilisation: f64,
    /// Its share of the busy time of all stations of its kind, 0 to 1: of the cores, the paths in one direction, the drives.
    #[serde(default)]
    pub share: f64,
    /// Mean time a visit waited before it was served.
    pub waited_ns_mean: f64,
    /// Mean number of visits inside, waiting or served.
    pub inside_mean: f64,
    /// Width of an interval of the two series.
    pub interval_ns: u64,
    /// Utilisation by interval.
    pub utilisation_over_time: Vec<f64>,
    /// Mean number inside by interval.
    pub inside_over_time: Vec<f64>,
}

/// What one core did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreLoad {
    /// Its controller.
    pub controller: u32,
    /// Requests whose address it owns.
    pub owned: u64,
    /// As a station.
    pub load: StationLoad,
}

/// What the cache did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheLoad {
    /// Reads all of whose pages were there.
    pub read_hits: u64,
    /// Reads that went to the drives.
    pub read_misses: u64,
    /// Written pages that were dirty already.
    pub writes_absorbed: u64,
    /// Writes that had to wait until there was room.
    pub writes_stalled: u64,
    /// Pages written to the drives in the background.
    pub pages_destaged: u64,
    /// Dirty pages now.
    pub dirty_pages: u64,
}

impl CacheLoad {
    /// Share of reads that hit, 0 to 1; `None` without reads.
    pub fn read_hit_ratio(&self) -> Option<f64> {
        let reads = self.read_hits + self.read_misses;
        (reads > 0).then(|| self.read_hits as f64 / reads as f64)
    }
}

/// Everything since the start of the simulation, or the last reset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observations {
    /// [`SCHEMA`].
    pub schema: String,
    /// The model's name.
    pub model: String,
    /// The seed.
    pub seed: u64,
    /// When counting began, in simulated time.
    pub from_ns: u64,
    /// The time of this observation.
    pub to_ns: u64,
    /// Requests completed.
    pub completed: u64,
    /// Of them, those that failed.
    pub failed: u64,
    /// Sum of their times from submission to completion.
    pub completion_ns_sum: u64,
    /// Mean number of requests in the array: the time average of a counter, not derived from latencies.
    pub outstanding_mean: f64,
    /// Cores, controller by controller.
    pub cores: Vec<CoreLoad>,
    /// Links towards the array, one a controller.
    pub links_in: Vec<StationLoad>,
    /// Links towards the host, one a controller.
    pub links_out: Vec<StationLoad>,
    /// Drives.
    pub drives: Vec<StationLoad>,
    /// The cache, where there is one.
    pub cache: Option<CacheLoad>,
}

/// How unequal a load is: the largest over the mean, and the share of the largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Imbalance {
    /// 1: all alike.
    pub max_over_mean: f64,
    /// Share of the largest, 0 to 1.
    pub share_max: f64,
}

impl Imbalance {
    /// Of these loads; `None` where they total 0.
    pub fn of(loads: &[f64]) -> Option<Imbalance> {
        let total: f64 = loads.iter().sum();
        let max = loads.iter().copied().fold(0.0, f64::max);
        (total > 0.0)
            .then(|| Imbalance { max_over_mean: max * loads.len() as f64 / total, share_max: max / total })
    }
}

/// A kind of station with the share that each has of the work of its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct StationShares {
    /// What they are, for people.
    pub kind: &'static str,
    /// Share of each, 0 to 1.
    pub shares: Vec<f64>,
    /// Utilisation of the busiest.
    pub utilisation_max: f64,
}

impl Observations {
    /// Sets the share of each station, from their busy times.
    pub fn with_shares(mut self) -> Observations {
        let share = |loads: &mut dyn Iterator<Item = &mut StationLoad>| {
            let mut loads: Vec<&mut StationLoad> = loads.collect();
            let total: u64 = loads.iter().map(|load| load.busy_ns).sum();
            loads.iter_mut().for_each(|load| load.share = load.busy_ns as f64 / total.max(1) as f64);
        };
        share(&mut self.cores.iter_mut().map(|core| &mut core.load));
        share(&mut self.links_in.iter_mut());
        share(&mut self.links_out.iter_mut());
        share(&mut self.drives.iter_mut());
        self
    }

    /// How the work of each kind of station is shared, where there are several of it: cores, controllers, paths, drives.
    pub fn shares(&self) -> Vec<StationShares> {
        let of = |kind, loads: &mut dyn Iterator<Item = &StationLoad>| {
            let (shares, busy): (Vec<f64>, Vec<f64>) =
                loads.map(|load| (load.share, load.utilisation)).unzip();
            StationShares { kind, shares, utilisation_max: busy.into_iter().fold(0.0, f64::max) }
        };
        let controllers = self.cores.last().map_or(0, |core| core.controller as usize + 1);
        let mut by_controller =
            StationShares { kind: "controllers", shares: vec![0.0; controllers], utilisation_max: 0.0 };
        for controller in 0..controllers {
            let own = self.cores.iter().filter(|core| core.controller as usize == controller);
            let (share, busy, count) = own.fold((0.0, 0.0, 0), |(share, busy, count), core| {
                (share + core.load.share, busy + core.load.utilisation, count + 1)
            });
            by_controller.shares[controller] = share;
            by_controller.utilisation_max = by_controller.utilisation_max.max(busy / f64::from(count.max(1)));
        }
        let all = [
            of("cores", &mut self.cores.iter().map(|core| &core.load)),
            by_controller,
            of("paths to the array", &mut self.links_in.iter()),
            of("paths to the host", &mut self.links_out.iter()),
            of("drives", &mut self.drives.iter()),
        ];
        all.into_iter().filter(|one| one.shares.len() > 1 && one.shares.iter().sum::<f64>() > 0.0).collect()
    }

    /// Completions per second.
    pub fn iops(&self) -> f64 {
        self.completed as f64 * 1e9 / (self.to_ns - self.from_ns).max(1) as f64
    }

    /// Mean time from submission to completion.
    pub fn completion_ns_mean(&self) -> f64 {
        self.completion_ns_sum as f64 / self.completed.max(1) as f64
    }

    /// How unequal the cores' utilisation is.
    pub fn core_imbalance(&self) -> Option<Imbalance> {
        Imbalance::of(&self.cores.iter().map(|core| core.load.utilisation).collect::<Vec<_>>())
    }

    /// Requests owned by the cores of each controller.
    pub fn owned_by_controller(&self) -> Vec<u64> {
        let controllers = self.cores.last().map_or(0, |core| core.controller as usize + 1);
        let mut owned = vec![0; controllers];
        self.cores.iter().for_each(|core| owned[core.controller as usize] += core.owned);
        owned
    }
}

/// The workload where a share of the time on cores is bound to the address.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundPoint {
    /// That share, 0 to 1.
    pub bound_share: f64,
    /// The workload as it is.
    pub before: Load,
    /// Repaired.
    pub after: Load,
}

/// What a simulation comes to in a few numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Operations per second.
    pub iops: f64,
    /// Mean completion latency, nanoseconds.
    pub completion_ns_mean: f64,
    /// Utilisation of the busiest core, 0 to 1.
    pub busiest_core: f64,
    /// Mean utilisation of the other cores, 0 to 1.
    pub other_cores_mean: f64,
}

impl Load {
    /// Of the phases of a simulation together.
    pub fn of(observed: &[Observations]) -> Load {
        let completed: u64 = observed.iter().map(|one| one.completed).sum();
        let time: u64 = observed.iter().map(|one| one.to_ns - one.from_ns).sum();
        let sum: u64 = observed.iter().map(|one| one.completion_ns_sum).sum();
        let loads = utilisation(observed);
        let busiest = loads.iter().copied().fold(0.0, f64::max);
        let others = (loads.iter().sum::<f64>() - busiest) / (loads.len().max(2) - 1) as f64;
        Load {
            iops: completed as f64 * 1e9 / time.max(1) as f64,
            completion_ns_mean: sum as f64 / completed.max(1) as f64,
            busiest_core: busiest,
            other_cores_mean: others,
        }
    }
}

/// Utilisation of each core, weighted by the time of each phase.
fn utilisation(observed: &[Observations]) -> Vec<f64> {
    let cores = observed.iter().map(|one| one.cores.len()).max().unwrap_or(0);
    let time: f64 = observed.iter().map(|one| (one.to_ns - one.from_ns) as f64).sum();
    let of = |core: usize| {
        let busy =
            observed.iter().map(|one| one.cores[core].load.utilisation * (one.to_ns - one.from_ns) as f64);
        busy.sum::<f64>() / time.max(1.0)
    };
    (0..cores).map(of).collect()
}
