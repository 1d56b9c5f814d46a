//! Bars per core and heat maps of what was audited.

use assay_report::format;
use assay_report::landing::{CoreBars, HeatMap, intensity};
use assay_sim::Model;
use assay_sim::audit::{Heat, JobAudit, PhaseAudit, heat, heat_near};
use assay_workload::Plan;

/// Rows and columns of a heat map of addresses.
pub(super) const ROWS: usize = 24;
pub(super) const COLUMNS: usize = 96;
/// Operations drawn for one.
const DRAWS: u64 = 400_000;

/// The controller of each core.
pub(super) fn controllers(model: &Model) -> Vec<u32> {
    (0..model.front_end.cores()).map(|core| model.front_end.controller_of(core)).collect()
}

/// The share of each core in the traffic of a phase.
pub(super) fn bars(before: &PhaseAudit, after: Option<&PhaseAudit>, model: &Model) -> CoreBars {
    CoreBars {
        title: "share of the phase's requests that each core owns".to_owned(),
        controllers: controllers(model),
        values: before.cores.clone(),
        repaired: after.map(|phase| phase.cores.clone()).unwrap_or_default(),
        even: Some(1.0 / before.cores.len().max(1) as f64),
    }
}

/// The heat map of a phase's first operations.
pub(super) fn map(plan: &Plan, phase: usize, id: &str, title: &str) -> Option<HeatMap> {
    let heat = heat(plan, phase, ROWS, COLUMNS, DRAWS)?;
    let ticks = [0.0, 0.5, 1.0];
    let ticks = ticks.map(|place| (place, format::count((place * heat.span as f64) as u64))).to_vec();
    let words = format!("{title}: the first {} operations", format::count(heat.span));
    Some(of(&heat, id, &words, ticks, "operations"))
}

/// Segments shown around the hottest one.
const SEGMENTS: usize = 16;
/// How much hotter than an even share a segment has to be, for a picture of what is around it.
const HOT: f64 = 4.0;

/// Where the hottest segment of a phase is, if any is much hotter than the others: its target, and the first byte of a picture.
pub(super) fn hottest(entries: &[&JobAudit], plan: &Plan, model: &Model) -> Option<(u16, u64)> {
    let segment = model.front_end.segment.0;
    let total: u64 = plan.targets.iter().map(|target| target.size_bytes).sum();
    let even = segment as f64 / total.max(1) as f64;
    let tops = entries.iter().filter_map(|entry| entry.segments_top.first());
    let top = tops.max_by(|a, b| a.share.total_cmp(&b.share)).filter(|top| top.share > HOT * even)?;
    let index = plan.targets.iter().position(|target| target.name == top.target)?;
    // From the start of a turn on, so that rows are cores in their order.
    let turn = segment * u64::from(model.front_end.cores());
    Some((index as u16, top.offset / turn * turn))
}

/// The segments around a hot one, over a phase's first operations.
pub(super) fn near(
    plan: &Plan,
    phase: usize,
    (target, start): (u16, u64),
    model: &Model,
    (id, title): (&str, &str),
) -> Option<HeatMap> {
    let segment = model.front_end.segment.0;
    let heat = heat_near(plan, phase, (target, start, segment), (SEGMENTS, COLUMNS), DRAWS)?;
    let ticks =
        [0.0, 0.5, 1.0].map(|place| (place, format::count((place * heat.span as f64) as u64))).to_vec();
    let mut map = of(&heat, id, title, ticks, "operations");
    map.row_names = (0..SEGMENTS as u64)
        .map(|row| format!("core {}", model.front_end.core_of(start / segment + row)))
        .collect();
    map.description = format!(
        "Each row is a segment of {} from {} on, named by the core that owns it.",
        format::bytes(segment),
        format::bytes(start)
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
        within.map_or(String::new(), |target| format::bytes((at as u64).saturating_sub(target.0)))
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
    }
}
