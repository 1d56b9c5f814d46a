//! What the imbalance costs, before and after the repair.

use assay_results::audit::{Array, BoundPoint, Imbalance, Observations, SimulatedAudit, StationShares};
use assay_results::run::{JobResult, LatencySummary, PhaseResult};

use super::tables;
use crate::landing::{CoreBars, Facts, Head, HeatMap, Part, intensity};
use crate::{charts, format};

/// What is shown: a part a phase, and one over the bound share.
pub(super) fn parts(simulated: &SimulatedAudit<'_>, array: &Array) -> Vec<Part> {
    let SimulatedAudit { before, after, bound_range } = simulated;
    let mut parts: Vec<Part> = Vec::new();
    for (index, phase) in before.run.phases.iter().enumerate() {
        let Some(observed) = before.array.get(index) else { continue };
        let after =
            after.as_ref().and_then(|after| Some((after.run.phases.get(index)?, after.array.get(index)?)));
        parts.push(part(index, (phase, observed), after, array));
    }
    if let Some(first) = parts.first_mut() {
        first.words.push(format!(
            "On the array model {} with seed {}: no storage was used, and times are those of the model.",
            array.name, before.run.plan.seed
        ));
    }
    if !bound_range.is_empty() {
        parts.push(range_part(bound_range, array));
    }
    parts
}

fn range_part(points: &[BoundPoint], array: &Array) -> Part {
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
    let own = array
        .bound_share
        .map_or(String::new(), |share| format!("; the model itself has {}", format::percent(share)));
    Part {
        title: "simulated: over the share of processing that is bound to the address".to_owned(),
        words: vec![format!(
            "How much of a request's time on cores only the owner of its address can do is not published for the case, \
             so its loss is a range over that share{own}. Lost and added: before the repair against after it; \
             mean completion latency."
        )],
        facts: vec![Facts { heads, rows: points.iter().map(row).collect(), note: String::new() }],
        ..Part::default()
    }
}

fn part(
    index: usize,
    (phase, observed): (&PhaseResult, &Observations),
    after: Option<(&PhaseResult, &Observations)>,
    array: &Array,
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
        controllers: array.controllers.clone(),
        values: observed.cores.iter().map(|core| core.load.utilisation).collect(),
        repaired: after
            .map(|after| after.1.cores.iter().map(|core| core.load.utilisation).collect())
            .unwrap_or_default(),
        even: None,
    };
    Part {
        title: format!("simulated: {}", phase.name.trim_end_matches("_simulated")),
        words: Vec::new(),
        facts: vec![
            Facts { heads: heads(), rows, note: String::new() },
            shares(observed, after.map(|one| one.1)),
        ],
        bars: vec![bars],
        heat,
        charts: drawn,
    }
}

/// How the work is shared among cores, controllers, paths and drives.
fn shares(before: &Observations, after: Option<&Observations>) -> Facts {
    const SHARES_MAX: usize = 8;
    let heads = tables::heads(&[
        ("", 0, true),
        ("work of", 0, true),
        ("busiest", 0, false),
        ("× mean", 0, false),
        ("utilisation", 1, false),
        ("share of each", 2, true),
    ]);
    let row = |when: &str, one: &StationShares| {
        let over = Imbalance::of(&one.shares);
        let mut each: Vec<String> =
            one.shares.iter().take(SHARES_MAX).map(|share| tables::share(*share)).collect();
        each.extend((one.shares.len() > SHARES_MAX).then(|| "..".to_owned()));
        vec![
            when.to_owned(),
            format!("{} {}", one.shares.len(), one.kind),
            over.map_or(String::new(), |over| tables::share(over.share_max)),
            over.map_or(String::new(), |over| format!("{:.2}", over.max_over_mean)),
            tables::share(one.utilisation_max),
            each.join(", "),
        ]
    };
    let when = if after.is_some() { "before" } else { "" };
    let rows = before.shares().iter().map(|one| row(when, one)).collect::<Vec<_>>();
    let after =
        after.map_or(Vec::new(), |after| after.shares().iter().map(|one| row("after", one)).collect());
    Facts {
        heads,
        rows: rows.into_iter().chain(after).collect(),
        note: "Shares of the busy time.".to_owned(),
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
    let row = |(index, job): (usize, &JobResult)| {
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

fn charts_of(phase: &PhaseResult, id: &str, when: &str) -> Vec<crate::svg::Chart> {
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
        ..HeatMap::default()
    }
}
