//! An audit as text and as a page: of a workload, of a trace, and of what a simulation makes of them.

mod pictures;
mod simulated;
mod tables;
pub mod trace;

use std::path::Path;

use assay_results::audit::{Audited, HeatSource, JobAudit, PhaseAudit, SimulatedAudit, sentences};
use assay_workload::plan::PlannedPhase;

use crate::landing::{self, HeatMap, Landing, Part, bars, heat_map};
use crate::text::Style;
use crate::{format, terminal};
pub use tables::describe;

/// Phases that get pictures in the terminal; all others get their table, and all get pictures on the page.
const PICTURED_MAX: usize = 2;
/// Phases on a page.
const PARTS_MAX: usize = 40;

/// The phase of that name after the repair, if the repair changed it.
fn after<'a>(audited: &Audited<'a>, phase: &str) -> Option<&'a PhaseAudit> {
    let (after, changes) = audited.after?;
    let changed = changes.iter().any(|change| change.phase == phase);
    after.audit.phases.iter().find(|after| changed && after.phase == phase)
}

fn entries<'a>(audited: &Audited<'a>, phase: &str) -> Vec<&'a JobAudit> {
    audited.before.audit.jobs.iter().filter(|job| job.phase == phase).collect()
}

/// Names of phases that are alike.
fn title(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        [first, second] => format!("{first} and {second}"),
        [first, .., last] => format!("{first} to {last} ({} phases that are alike)", names.len()),
        [] => String::new(),
    }
}

/// The index in the plan of the phase that an audit calls `name`.
fn index_of(audited: &Audited<'_>, name: &str) -> usize {
    let called = |phase: &PlannedPhase| phase.name == name || phase.point.title(&phase.name) == name;
    audited.before.plan.phases.iter().position(called).unwrap_or(0)
}

/// Everything for a terminal.
pub fn text(audited: &Audited<'_>, draw: &dyn HeatSource, style: &Style) -> String {
    let (plan, array) = (audited.before.plan, audited.array);
    let mut text = landing::heading(&format!("audit of {}", audited.name), style);
    text.push_str(&landing::words(&conclusion(audited), 0, style));
    for words in tables::head(audited) {
        text.push_str(&landing::words(&words, 0, style));
    }
    let groups = tables::alike(audited.before.audit);
    for (place, (index, names)) in groups.iter().enumerate() {
        let phase = &audited.before.audit.phases[*index];
        let entries = entries(audited, &phase.phase);
        text.push('\n');
        text.push_str(&landing::heading(&title(names), style));
        text.push_str(&landing::facts(&tables::jobs(&entries, array), style));
        for words in tables::hottest(&entries, array) {
            text.push_str(&landing::words(&words, 2, style));
        }
        if place < PICTURED_MAX {
            text.push('\n');
            text.push_str(&bars(&pictures::bars(phase, after(audited, &phase.phase), array), style));
            text.push('\n');
            let plan_index = index_of(audited, &phase.phase);
            let map = pictures::map(draw, plan, plan_index, "map", "Address space over time");
            text.push_str(&map.map_or(String::new(), |map| heat_map(&map, style)));
            if let Some(place) = pictures::hottest(&entries, plan, array) {
                let words = ("near", "The hottest segments over time");
                let near = pictures::near(draw, plan, plan_index, place, array, words);
                text.push_str(&near.map_or(String::new(), |map| format!("\n{}", heat_map(&map, style))));
            }
        }
    }
    if groups.len() > PICTURED_MAX {
        text.push_str(&format!("\n(pictures of the first {PICTURED_MAX} only; --html FILE has them all)\n"));
    }
    text.push('\n');
    text.push_str(&terminal::findings(&audited.before.audit.findings, style));
    text
}

/// What it comes to.
fn conclusion(audited: &Audited<'_>) -> String {
    let worst = |phases: &[PhaseAudit]| phases.iter().map(|phase| phase.max_over_mean).fold(1.0, f64::max);
    let before = worst(&audited.before.audit.phases);
    match audited.after {
        Some((after, changes)) => format!(
            "The busiest core gets {before:.2} times the mean; after the repair {:.2} times. --fix OUT writes it: {}.",
            worst(&after.audit.phases),
            sentences(changes).join("; ")
        ),
        None => format!(
            "The busiest core gets {before:.2} times the mean of {}.",
            format::plural(audited.array.controllers.len() as u64, "core")
        ),
    }
}

/// A simulation for a terminal, and the directories in which its runs are kept.
pub fn simulated(
    audited: &Audited<'_>,
    simulation: &SimulatedAudit<'_>,
    (before, after): (&Path, Option<&Path>),
    style: &Style,
) -> String {
    let parts = simulated::parts(simulation, audited.array);
    let of = |(index, part)| part_text(part, index < PICTURED_MAX, style);
    parts.iter().enumerate().map(of).collect::<String>() + &kept(before, after)
}

/// A part for a terminal, with or without its pictures.
fn part_text(part: &Part, pictured: bool, style: &Style) -> String {
    let mut text = format!("\n{}", landing::heading(&part.title, style));
    part.words.iter().for_each(|words| text.push_str(&landing::words(words, 2, style)));
    part.facts.iter().for_each(|facts| text.push_str(&landing::facts(facts, style)));
    if pictured {
        part.bars.iter().for_each(|one| text.push_str(&format!("\n{}", bars(one, style))));
        part.heat.iter().for_each(|map| text.push_str(&format!("\n{}", heat_map(map, style))));
    }
    text
}

/// Where the runs are kept: what their directories have in common is said once. Paths are not broken over lines, so that they
/// can be copied.
fn kept(before: &Path, after: Option<&Path>) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    match (after, before.parent()) {
        (Some(after), Some(root)) => {
            format!("kept in {}\n  before  {}\n  after   {}\n", root.display(), name(before), name(after))
        }
        _ => format!("kept in {}\n", before.display()),
    }
}

/// The page.
pub fn page(
    audited: &Audited<'_>,
    simulation: Option<&SimulatedAudit<'_>>,
    draw: &dyn HeatSource,
    version: String,
) -> String {
    let mut parts = Vec::new();
    for (index, names) in tables::alike(audited.before.audit).into_iter().take(PARTS_MAX) {
        parts.push(part_of(audited, index, &names, draw));
    }
    let mut kind = "Assay · audit of a workload on an array model".to_owned();
    if let Some(simulation) = simulation {
        kind.push_str(", simulated");
        parts.extend(simulated::parts(simulation, audited.array));
    }
    landing::page(&Landing {
        kind,
        title: audited.name.to_owned(),
        facts: tables::head(audited),
        parts,
        findings: audited.before.audit.findings.clone(),
        changes: audited.after.map(|(_, changes)| sentences(changes)).unwrap_or_default(),
        version,
    })
}

/// Phases that are alike: the first of them, before and after the repair.
fn part_of(audited: &Audited<'_>, index: usize, names: &[&str], draw: &dyn HeatSource) -> Part {
    let (plan, array) = (audited.before.plan, audited.array);
    let phase = &audited.before.audit.phases[index];
    let entries = entries(audited, &phase.phase);
    let after = after(audited, &phase.phase);
    let repaired = audited.after.filter(|_| after.is_some()).map(|(after, _)| after.plan);
    let plan_index = index_of(audited, &phase.phase);
    let before_title =
        if after.is_some() { "Address space over time, before" } else { "Address space over time" };
    let before = pictures::map(draw, plan, plan_index, &format!("map-{index}"), before_title);
    let repaired_map = repaired.and_then(|plan| {
        let title = "Address space over time, after the repair";
        pictures::map(draw, plan, plan_index, &format!("after-{index}"), title)
    });
    let mut heat: Vec<HeatMap> = before.into_iter().chain(repaired_map).collect();
    if let Some(place) = pictures::hottest(&entries, plan, array) {
        let plans = [Some((plan, "before")), repaired.map(|plan| (plan, "after the repair"))];
        for (plan, when) in plans.into_iter().flatten() {
            let id = format!("near-{index}-{}", &when[..1]);
            let title = format!("The hottest segments over time, {when}");
            heat.extend(pictures::near(draw, plan, plan_index, place, array, (&id, &title)));
        }
    }
    Part {
        title: title(names),
        words: tables::hottest(&entries, array),
        facts: vec![tables::jobs(&entries, array)],
        bars: vec![pictures::bars(phase, after, array)],
        heat,
        charts: Vec::new(),
    }
}
