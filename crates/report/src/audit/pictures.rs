//! Bars per core and heat maps of what was audited.

use assay_results::audit::{Array, Heat, HeatSource, JobAudit, PhaseAudit};
use assay_workload::Plan;

use crate::format;
use crate::landing::{CoreBars, HeatMap, intensity};

/// The share of each core in the traffic of a phase.
pub(super) fn bars(before: &PhaseAudit, after: Option<&PhaseAudit>, array: &Array) -> CoreBars {
    CoreBars {
        title: "Share of the phase's requests that each core owns".to_owned(),
        controllers: array.controllers.clone(),
        values: before.cores.clone(),
        repaired: after.map(|phase| phase.cores.clone()).unwrap_or_default(),
        even: Some(1.0 / before.cores.len().max(1) as f64),
    }
}

/// The heat map of a phase's first operations.
pub(super) fn map(
    draw: &dyn HeatSource,
    plan: &Plan,
    phase: usize,
    id: &str,
    title: &str,
) -> Option<HeatMap> {
    let heat = draw.whole(plan, phase)?;
    let words = format!("{title}: the first {} operations", format::count(heat.span));
    Some(of(&heat, id, &words, operations(&heat), "operations"))
}

/// Numbers of operations below a map.
fn operations(heat: &Heat) -> Vec<(f64, String)> {
    [0.0, 0.5, 1.0].map(|place| (place, format::count((place * heat.span as f64) as u64))).to_vec()
}

/// How much hotter than an even share a segment has to be, for a picture of what is around it.
const HOT: f64 = 4.0;

/// Where the hottest segment of a phase is, if any is much hotter than the others: its target, and the first byte of a picture.
pub(super) fn hottest(entries: &[&JobAudit], plan: &Plan, array: &Array) -> Option<(u16, u64)> {
    let segment = array.segment_bytes;
    let total: u64 = plan.targets.iter().map(|target| target.size_bytes).sum();
    let even = segment as f64 / total.max(1) as f64;
    let tops = entries.iter().filter_map(|entry| entry.segments_top.first());
    let top = tops.max_by(|a, b| a.share.total_cmp(&b.share)).filter(|top| top.share > HOT * even)?;
    let index = plan.targets.iter().position(|target| target.name == top.target)?;
    // From the start of a turn on, so that rows are cores in their order.
    let turn = segment * array.controllers.len() as u64;
    Some((index as u16, top.offset / turn * turn))
}

/// The segments around a hot one, over a phase's first operations.
pub(super) fn near(
    draw: &dyn HeatSource,
    plan: &Plan,
    phase: usize,
    place: (u16, u64),
    array: &Array,
    (id, title): (&str, &str),
) -> Option<HeatMap> {
    let (heat, cores) = draw.near(plan, phase, place)?;
    let mut map = of(&heat, id, title, operations(&heat), "operations");
    let address = |index: usize| format!("+{}", format::bytes(index as u64 * array.segment_bytes));
    map.row_names =
        cores.iter().enumerate().map(|(index, core)| format!("{} core {core}", address(index))).collect();
    map.description = format!(
        "Each row is a segment of {}, named by its distance from {} and the core that owns it.",
        format::bytes(array.segment_bytes),
        format::bytes(place.1)
    );
    map.legend = "Shades are shares of all requests; full shade is everything in one segment.".to_owned();
    Some(map)
}

/// A grid as a picture: lowest addresses on top.
pub(super) fn of(heat: &Heat, id: &str, title: &str, ticks: Vec<(f64, String)>, axis: &str) -> HeatMap {
    let rows = heat.rows.len().max(1);
    let row_bytes = heat.bytes as f64 / rows as f64;
    let name = |row: usize| {
        let at = row as f64 * row_bytes;
        let within = heat.targets.iter().rev().find(|target| target.0 as f64 <= at + 0.5);
        // Where several targets stand one below the other, the first row of each says which it is.
        within.map_or(String::new(), |target| match format::bytes((at as u64).saturating_sub(target.0)) {
            start if heat.targets.len() > 1 && at - (target.0 as f64) < row_bytes => {
                format!("{} {start}", target.1)
            }
            offset => offset,
        })
    };
    let hottest =
        heat.rows.iter().map(|row| row.iter().sum::<f64>() / row.len().max(1) as f64).fold(0.0, f64::max);
    HeatMap {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!(
            "Each row is {} of the address space, each column a stretch of time; the hottest row gets {} of the requests.",
            format::bytes(row_bytes as u64),
            format::percent(hottest)
        ),
        rows: heat
            .rows
            .iter()
            .map(|row| row.iter().map(|share| intensity(share * rows as f64, rows as f64)).collect())
            .collect(),
        row_names: (0..rows).map(|row| if row % 4 == 0 { name(row) } else { String::new() }).collect(),
        ticks,
        axis: axis.to_owned(),
        legend: "An even load is one light shade all over; full shade is everything in one place.".to_owned(),
        ..HeatMap::default()
    }
}
