//! `--simulate`: what the imbalance costs, before and after the repair.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_report::landing::{CoreBars, Facts, Head, HeatMap, Part, intensity};
use assay_report::{charts, format};
use assay_results::run::{LatencySummary, PhaseResult};
use assay_runner::{Simulated, Site};
use assay_sim::observe::Imbalance;
use assay_sim::phase::SimOptions;
use assay_sim::{Model, Observations, PlanSimulation};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use serde::Serialize;

use super::audited::Audited;
use super::{pictures, tables};
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::shown;
use crate::simulated::simulate;

/// Shares of the time on cores that is bound to the address, for which the case is worked out: it does not publish its own.
const SHARES: [f64; 7] = [0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.9];

/// A workload and its repair, simulated.
pub(super) struct Simulation {
    pub(super) before: Simulated,
    pub(super) after: Option<Simulated>,
    pub(super) range: Vec<BoundPoint>,
}

/// The workload where a share of the time on cores is bound to the address.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct BoundPoint {
    /// That share, 0 to 1.
    pub(super) bound_share: f64,
    /// The workload as it is.
    pub(super) before: Load,
    /// Repaired.
    pub(super) after: Load,
}

/// What a simulation comes to in a few numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Load {
    /// Operations per second.
    pub(super) iops: f64,
    /// Mean completion latency, nanoseconds.
    pub(super) completion_ns_mean: f64,
    /// Utilisation of the busiest core, 0 to 1.
    pub(super) busiest_core: f64,
    /// Mean utilisation of the other cores, 0 to 1.
    pub(super) other_cores_mean: f64,
}

impl Load {
    /// Of the phases of a simulation together.
    fn of(observed: &[Observations]) -> Load {
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

/// Simulates what was audited, and its repair.
pub(super) fn run(
    audited: &Audited,
    bound_range: bool,
    threads: usize,
    site: &Site,
    context: &Context,
) -> Result<Simulation, Failure> {
    let plan = &audited.source.plan;
    let before = simulate(plan, &audited.model, Vec::new(), site, context)?;
    let after = audited
        .repaired
        .as_ref()
        .map(|repaired| simulate(&repaired.source.plan, &audited.model, Vec::new(), site, context));
    for one in [Some(&before), after.as_ref().and_then(|after| after.as_ref().ok())].into_iter().flatten() {
        shown::keep_page(&one.finished.run, &one.finished.directory, context)?;
    }
    let repaired = audited.repaired.as_ref().map_or(plan, |repaired| &repaired.source.plan);
    let range = if bound_range {
        bound_points(plan, repaired, &audited.model, threads, &site.stop)?
    } else {
        Vec::new()
    };
    Ok(Simulation { before, after: after.transpose()?, range })
}

impl Simulation {
    /// What the command ends with.
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        if let Some(after) = &self.after {
            outcome_of(&after.finished, false)?;
        }
        outcome_of(&self.before.finished, false)
    }

    /// Where the run after the repair is kept.
    pub(super) fn after_directory(&self) -> Option<&Path> {
        self.after.as_ref().map(|after| after.finished.directory.as_path())
    }

    /// What is shown of it: a part a phase, and the range over the share that is bound.
    pub(super) fn parts(&self, model: &Model) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (index, phase) in self.before.finished.run.phases.iter().enumerate() {
            let Some(observed) = self.before.observed.get(index) else { continue };
            let after = self
                .after
                .as_ref()
                .and_then(|after| Some((after.finished.run.phases.get(index)?, after.observed.get(index)?)));
            parts.push(part(index, (phase, observed), after, model));
        }
        // What holds for all of them stands above the first.
        if let Some(first) = parts.first_mut() {
            first.words.push(format!(
                "On the array model {} with seed {}: no storage was used, and times are those of the model.",
                model.name, self.before.finished.run.plan.seed
            ));
        }
        if !self.range.is_empty() {
            parts.push(self.range_part(model));
        }
        parts
    }

    fn range_part(&self, model: &Model) -> Part {
        let heads = tables::heads(&[
            ("bound share", 0, false),
            ("IOPS before", 0, false),
            ("after", 0, false),
            ("lost", 0, false),
            ("completion before", 0, false),
            ("after", 0, false),
            ("added", 0, false),
            ("busiest core", 1, false),
            ("others", 2, false),
        ]);
        let row = |point: &BoundPoint| {
            let (before, after) = (point.before, point.after);
            vec![
                format::percent(point.bound_share),
                format::iops(before.iops),
                format::iops(after.iops),
                format::percent(1.0 - before.iops / after.iops.max(1e-9)),
                format::time_ns(before.completion_ns_mean),
                format::time_ns(after.completion_ns_mean),
                format::percent(before.completion_ns_mean / after.completion_ns_mean.max(1e-9) - 1.0),
                tables::share(before.busiest_core),
                tables::share(before.other_cores_mean),
            ]
        };
        let own = model
            .bound_share(OpKind::Read)
            .map_or(String::new(), |share| format!("; the model itself has {}", format::percent(share)));
        Part {
            title: "simulated: over the share of processing that is bound to the address".to_owned(),
            words: vec![format!(
                "How much of a request's time on cores only the owner of its address can do is not published for the case, \
                 so its loss is a range over that share{own}. Lost and added: before the repair against after it; \
                 mean completion latency."
            )],
            facts: vec![Facts { heads, rows: self.range.iter().map(row).collect(), note: String::new() }],
            ..Part::default()
        }
    }
}

/// Simulates both workloads for each of [`SHARES`], on so many threads: each simulation is one thread's, so that their number
/// changes nothing but the time it takes.
fn bound_points(
    before: &Plan,
    after: &Plan,
    model: &Model,
    threads: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<BoundPoint>, Failure> {
    let models: Vec<(f64, Model)> =
        SHARES.iter().filter_map(|share| Some((*share, model.with_bound_share(*share)?))).collect();
    if models.is_empty() {
        let why = "has no stages both bound to the address and not, between which time could be shifted";
        return Err(Failure::usage(format!("--bound-range: the array {} {why}", model.name)));
    }
    let next = AtomicUsize::new(0);
    let point = |(share, model): &(f64, Model)| -> Result<BoundPoint, Failure> {
        let load = |plan: &Plan| loads(plan, model, stop).map(|observed| Load::of(&observed));
        Ok(BoundPoint { bound_share: *share, before: load(before)?, after: load(after)? })
    };
    let work = || {
        let mut mine = Vec::new();
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(model) = models.get(index)
        {
            mine.push((index, point(model)));
        }
        mine
    };
    let mut points: Vec<(usize, Result<BoundPoint, Failure>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, models.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    points.sort_by_key(|point| point.0);
    points.into_iter().map(|point| point.1).collect()
}

/// What the array does in each phase; nothing is kept.
fn loads(plan: &Plan, model: &Model, stop: &Arc<AtomicBool>) -> Result<Vec<Observations>, Failure> {
    let mut simulation = PlanSimulation::new(model, plan, plan.seed).map_err(Failure::usage)?;
    let mut observed = Vec::with_capacity(plan.phases.len());
    for phase in 0..plan.phases.len() {
        let options = SimOptions {
            interval_ns: assay_runner::period(plan, phase).as_nanos() as u64,
            stop: Arc::clone(stop),
            ..SimOptions::default()
        };
        let error = simulation.run_phase(plan, phase, &options, &mut |_| {}).map_err(Failure::failed)?;
        if !error.is_empty() {
            return Err(Failure::failed(error));
        }
        observed.push(simulation.observe());
    }
    Ok(observed)
}

/// A phase before the repair, and after it.
fn part(
    index: usize,
    (phase, observed): (&PhaseResult, &Observations),
    after: Option<(&PhaseResult, &Observations)>,
    model: &Model,
) -> Part {
    let mut rows = rows(phase, observed, if after.is_some() { "before" } else { "" });
    let mut heat =
        vec![over_time(observed, &format!("cores-{index}"), if after.is_some() { ", before" } else { "" })];
    let mut drawn = charts_of(phase, &format!("sim-{index}"), if after.is_some() { ", before" } else { "" });
    if let Some((phase, observed)) = after {
        rows.extend(self::rows(phase, observed, "after"));
        heat.push(over_time(observed, &format!("cores-after-{index}"), ", after the repair"));
        drawn.extend(charts_of(phase, &format!("sim-after-{index}"), ", after the repair"));
    }
    let bars = CoreBars {
        title: "utilisation of each core".to_owned(),
        controllers: pictures::controllers(model),
        values: observed.cores.iter().map(|core| core.load.utilisation).collect(),
        repaired: after
            .map(|after| after.1.cores.iter().map(|core| core.load.utilisation).collect())
            .unwrap_or_default(),
        even: None,
    };
    Part {
        title: format!("simulated: {}", phase.name.trim_end_matches("_simulated")),
        words: Vec::new(),
        facts: vec![Facts { heads: heads(), rows, note: String::new() }],
        bars: vec![bars],
        heat,
        charts: drawn,
    }
}

fn heads() -> Vec<Head> {
    tables::heads(&[
        ("", 0, true),
        ("job", 0, true),
        ("IOPS", 0, false),
        ("mean", 0, false),
        ("p50", 0, false),
        ("p99", 0, false),
        ("p99.9", 3, false),
        ("of", 4, true),
        ("outstanding", 2, false),
        ("busiest core", 0, false),
        ("× mean", 1, false),
        ("cache hits", 5, false),
    ])
}

/// A row a job.
fn rows(phase: &PhaseResult, observed: &Observations, when: &str) -> Vec<Vec<String>> {
    let loads: Vec<f64> = observed.cores.iter().map(|core| core.load.utilisation).collect();
    let busiest = loads.iter().copied().fold(0.0, f64::max);
    let over_mean = Imbalance::of(&loads).map_or(String::new(), |one| format!("{:.2}", one.max_over_mean));
    let hits = observed.cache.and_then(|cache| cache.read_hit_ratio());
    let row = |(index, job): (usize, &assay_results::run::JobResult)| {
        let (latency, of): (LatencySummary, &str) = match job.total.response_ns {
            Some(response) => (response, "response time"),
            None => (job.total.completion_ns, "completion latency"),
        };
        let mut row = vec![
            when.to_owned(),
            job.name.trim_end_matches("_simulated").to_owned(),
            format::iops(job.total.iops),
            format::time_ns(latency.mean),
            format::latency(latency.p50),
            format::latency(latency.p99),
            format::latency(latency.p99_9),
            of.to_owned(),
            format::significant(job.outstanding_io_mean),
        ];
        // The array's own figures are those of all jobs together.
        row.extend(if index == 0 {
            [tables::share(busiest), over_mean.clone(), hits.map_or(String::new(), format::percent)]
        } else {
            Default::default()
        });
        row
    };
    phase.jobs.iter().enumerate().map(row).collect()
}

fn charts_of(phase: &PhaseResult, id: &str, when: &str) -> Vec<assay_report::svg::Chart> {
    const JOBS_MAX: usize = 4;
    let drawn = phase.jobs.iter().take(JOBS_MAX).enumerate().filter_map(|(index, job)| {
        let mut chart = charts::latency_histogram(&format!("{id}-{index}"), job)?;
        chart.title = format!("{}{when}: {}", job.name.trim_end_matches("_simulated"), chart.title);
        Some(chart)
    });
    drawn.collect()
}

/// Utilisation of each core over time.
fn over_time(observed: &Observations, id: &str, when: &str) -> HeatMap {
    let seconds = (observed.to_ns - observed.from_ns) as f64 / 1e9;
    let shade = |load: &f64| intensity(*load * 3.0, 3.0);
    HeatMap {
        id: id.to_owned(),
        title: format!("utilisation of each core over time{when}"),
        description: "Each row is a core, each column a stretch of simulated time.".to_owned(),
        rows: observed
            .cores
            .iter()
            .map(|core| core.load.utilisation_over_time.iter().map(shade).collect())
            .collect(),
        row_names: (0..observed.cores.len()).map(|core| format!("core {core}")).collect(),
        ticks: vec![(0.0, "0".to_owned()), (1.0, format::seconds(seconds))],
        axis: "simulated time".to_owned(),
        legend: "Full shade is a core that is always busy; a third busy is a light shade.".to_owned(),
    }
}
