//! An audit as text and as a page.

use std::path::Path;

use assay_report::landing::{self, HeatMap, Landing, Part, bars, heat_map};
use assay_report::{format, terminal};
use assay_sim::audit::{JobAudit, PhaseAudit};

use super::audited::Audited;
use super::simulate::Simulation;
use super::{pictures, tables};
use crate::context::Context;

/// Phases that get pictures in the terminal; all others get their table, and all get pictures on the page.
const PICTURED_MAX: usize = 2;
/// Phases on a page.
const PARTS_MAX: usize = 40;

/// The phase of that name after the repair.
fn after<'a>(audited: &'a Audited, phase: &str) -> Option<&'a PhaseAudit> {
    audited.repaired.as_ref()?.audit.phases.iter().find(|after| after.phase == phase)
}

/// Whether the repair changed a phase.
fn is_changed(audited: &Audited, phase: &str) -> bool {
    audited
        .repaired
        .as_ref()
        .is_some_and(|repaired| repaired.changes.iter().any(|change| change.phase == phase))
}

fn entries<'a>(audited: &'a Audited, phase: &str) -> Vec<&'a JobAudit> {
    audited.audit.jobs.iter().filter(|job| job.phase == phase).collect()
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
fn index_of(audited: &Audited, name: &str) -> usize {
    let phases = audited.source.plan.phases.iter();
    let called = |phase: &&assay_workload::plan::PlannedPhase| {
        phase.name == name || format!("{} [{}]", phase.name, phase.point) == name
    };
    phases.clone().position(|phase| called(&phase)).unwrap_or(0)
}

/// Everything for a terminal.
pub(super) fn text(audited: &Audited, context: &Context) -> String {
    let style = &context.style;
    let mut text = landing::heading(&format!("audit of {}", audited.source.name), style);
    for words in tables::head(audited) {
        text.push_str(&landing::words(&words, 0, style));
    }
    let groups = tables::alike(&audited.audit);
    for (place, (index, names)) in groups.iter().enumerate() {
        let phase = &audited.audit.phases[*index];
        let entries = entries(audited, &phase.phase);
        text.push('\n');
        text.push_str(&landing::heading(&title(names), style));
        text.push_str(&tables::table_text(&entries, &audited.model, context));
        for words in tables::hottest(&entries, &audited.model) {
            text.push_str(&landing::words(&words, 2, style));
        }
        if place < PICTURED_MAX {
            text.push('\n');
            let after = after(audited, &phase.phase).filter(|_| is_changed(audited, &phase.phase));
            text.push_str(&bars(&pictures::bars(phase, after, &audited.model), style));
            text.push('\n');
            let plan_index = index_of(audited, &phase.phase);
            let map = pictures::map(&audited.source.plan, plan_index, "map", "address space over time");
            text.push_str(&map.map_or(String::new(), |map| heat_map(&map, style)));
            if let Some(place) = pictures::hottest(&entries, &audited.source.plan, &audited.model) {
                let words = ("near", "the hottest segments over time");
                let near = pictures::near(&audited.source.plan, plan_index, place, &audited.model, words);
                text.push_str(&near.map_or(String::new(), |map| format!("\n{}", heat_map(&map, style))));
            }
        }
    }
    if groups.len() > PICTURED_MAX {
        text.push_str(&format!("\n(pictures of the first {PICTURED_MAX} only; --html FILE has them all)\n"));
    }
    text.push('\n');
    text.push_str(&terminal::findings(&audited.audit.findings, style));
    text.push_str(&conclusion(audited, context));
    text
}

/// What it comes to.
fn conclusion(audited: &Audited, context: &Context) -> String {
    let worst = audited.audit.phases.iter().map(|phase| phase.max_over_mean).fold(1.0, f64::max);
    let words = match &audited.repaired {
        Some(repaired) => {
            let left = repaired.audit.phases.iter().map(|phase| phase.max_over_mean).fold(1.0, f64::max);
            format!(
                "The busiest core gets {worst:.2} times the mean; after the repair {left:.2} times. --fix OUT writes it: {}.",
                tables::changes(repaired).join("; ")
            )
        }
        None => format!(
            "The busiest core gets {worst:.2} times the mean of {}.",
            format::plural(u64::from(audited.model.front_end.cores()), "core")
        ),
    };
    landing::words(&words, 0, &context.style)
}

/// A simulation for a terminal.
pub(super) fn simulated(audited: &Audited, simulation: &Simulation, context: &Context) -> String {
    let style = &context.style;
    let mut text = String::new();
    for (index, part) in simulation.parts(&audited.model).iter().enumerate() {
        text.push('\n');
        text.push_str(&landing::heading(&part.title, style));
        part.words.iter().for_each(|words| text.push_str(&landing::words(words, 2, style)));
        part.facts.iter().for_each(|facts| text.push_str(&landing::facts(facts, style)));
        if index < PICTURED_MAX {
            part.bars.iter().for_each(|one| text.push_str(&format!("\n{}", bars(one, style))));
            part.heat.iter().for_each(|map| text.push_str(&format!("\n{}", heat_map(map, style))));
        }
    }
    text.push_str(&kept(&simulation.before.finished.directory, simulation.after_directory()));
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
pub(super) fn page(audited: &Audited, simulation: Option<&Simulation>) -> String {
    let mut landing = landing_of(audited);
    if let Some(simulation) = simulation {
        landing.kind.push_str(", simulated");
        landing.parts.extend(simulation.parts(&audited.model));
    }
    landing::page(&landing)
}

/// What the page shows.
pub(super) fn landing_of(audited: &Audited) -> Landing {
    let mut parts = Vec::new();
    for (index, names) in tables::alike(&audited.audit).into_iter().take(PARTS_MAX) {
        let phase = &audited.audit.phases[index];
        let entries = entries(audited, &phase.phase);
        let changed = is_changed(audited, &phase.phase);
        let after = after(audited, &phase.phase).filter(|_| changed);
        let plan_index = index_of(audited, &phase.phase);
        let before_title =
            if changed { "address space over time, before" } else { "address space over time" };
        let before = pictures::map(&audited.source.plan, plan_index, &format!("map-{index}"), before_title);
        let repaired = audited.repaired.as_ref().filter(|_| changed).and_then(|repaired| {
            let title = "address space over time, after the repair";
            pictures::map(&repaired.source.plan, plan_index, &format!("after-{index}"), title)
        });
        let mut heat: Vec<HeatMap> = before.into_iter().chain(repaired).collect();
        if let Some(place) = pictures::hottest(&entries, &audited.source.plan, &audited.model) {
            let plans = [
                Some((&audited.source.plan, "before")),
                audited
                    .repaired
                    .as_ref()
                    .filter(|_| changed)
                    .map(|one| (&one.source.plan, "after the repair")),
            ];
            for (plan, when) in plans.into_iter().flatten() {
                let (id, title) = (
                    format!("near-{index}-{}", &when[..1]),
                    format!("the hottest segments over time, {when}"),
                );
                heat.extend(pictures::near(plan, plan_index, place, &audited.model, (&id, &title)));
            }
        }
        parts.push(Part {
            title: title(&names),
            words: tables::hottest(&entries, &audited.model),
            facts: vec![tables::jobs(&entries, &audited.model)],
            bars: vec![pictures::bars(phase, after, &audited.model)],
            heat,
            charts: Vec::new(),
        });
    }
    Landing {
        kind: "Assay · audit of a workload on an array model".to_owned(),
        title: audited.source.name.clone(),
        facts: tables::head(audited),
        parts,
        findings: audited.audit.findings.clone(),
        changes: audited.repaired.as_ref().map(tables::changes).unwrap_or_default(),
        version: Context::version().version,
    }
}
