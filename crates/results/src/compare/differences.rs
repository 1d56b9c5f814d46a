//! What differs in how the sides were made: plan, machine, targets, program.

use std::collections::{BTreeMap, BTreeSet};

use assay_workload::Plan;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Side;
use crate::run::Run;

/// One setting that is not the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its name: `machine kernel_release`, `target 0 device 0 queue scheduler`.
    pub name: String,
    /// Its value on each side; several, separated by ` | `, where the runs of a side differ; empty: not known.
    pub values: Vec<String>,
}

/// Facts that change from run to run and say nothing about the configuration.
const VOLATILE: [&str; 13] = [
    "available_bytes",
    "cached_bytes",
    "uptime_s",
    "boot_id",
    "free",
    "extents",
    "mount_root",
    "kernel_version",
    "canonical_path",
    "assay",
    "available",
    "number",
    "path",
];

/// Settings in which the sides differ.
pub(super) fn settings(sides: &[Side<'_>]) -> Vec<Difference> {
    let facts: Vec<BTreeMap<String, BTreeSet<String>>> = sides.iter().map(facts_of_side).collect();
    // A target that a side lacks differs in everything: how many there are says it.
    let fewest = sides.iter().flat_map(|side| &side.runs).map(|run| run.environment.targets.len()).min();
    let on_all_sides = |name: &&String| target_number(name) <= fewest.unwrap_or(0).max(1);
    let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).filter(on_all_sides).collect();
    let differing = names.into_iter().filter_map(|name| {
        let values: Vec<String> = facts
            .iter()
            .map(|side| {
                let values = side.get(name).map(|values| values.iter().cloned().collect::<Vec<_>>());
                values.unwrap_or_default().join(" | ")
            })
            .collect();
        let same = values.iter().all(|value| *value == values[0]);
        (!same).then(|| Difference { name: name.clone(), values })
    });
    differing.collect()
}

/// Which target a fact is about, as [`flatten`] calls it; 1 for those about none.
fn target_number(name: &str) -> usize {
    let number = name.strip_prefix("target ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.unwrap_or(1)
}

fn facts_of_side(side: &Side<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let mut facts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in &side.runs {
        for (name, value) in facts_of(run) {
            facts.entry(name).or_default().insert(value);
        }
    }
    facts
}

fn facts_of(run: &Run) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            facts.push((name.to_owned(), value.to_owned()));
        }
    };
    fact("assay version", &run.assay.version);
    fact("assay commit", run.assay.commit.as_deref().unwrap_or_default());
    fact("engine", &run.assay.engine);
    fact("latency", run.assay.latency_definition.as_deref().unwrap_or_default());
    fact("series", run.plan.series.as_deref().unwrap_or_default());
    fact("targets", &run.environment.targets.len().to_string());
    // Where data lie in a file differs from run to run; how much of it has none is another test.
    for target in &run.environment.targets {
        // What was looked at before it was filled says nothing of what was measured.
        let Some(extents) = target.extents.filter(|_| target.size_bytes != Some(0)) else { continue };
        let empty = extents.hole_bytes.max(extents.unwritten_bytes.unwrap_or(0));
        let share = empty as f64 / extents.examined_bytes.max(1) as f64;
        if share >= HOLES_MIN {
            fact("target without data", &format!("{:.0} % of {}", 100.0 * share, target.path));
        }
    }
    if let Ok(environment) = serde_json::to_value(&run.environment) {
        flatten("", &environment, &mut facts);
    }
    facts
}

/// Less of a file without data is as it comes.
const HOLES_MIN: f64 = 0.01;

/// Leaves of a document with their path in words; what is not known, empty or volatile is left out.
fn flatten(path: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            // A target's own size is in the plan, and a new file has none yet.
            let own_size =
                |name: &str| name == "size_bytes" && path.starts_with("target") && !path.contains("device");
            let kept = |name: &str| !VOLATILE.contains(&name) && !own_size(name);
            for (name, value) in map.iter().filter(|(name, _)| kept(name)) {
                // A mount option that has no value is there all the same.
                let flag = value.is_null() && path.ends_with("options");
                if flag {
                    facts.push((below(name), "set".to_owned()));
                }
                flatten(&below(name), value, facts);
            }
        }
        Value::Array(list) if list.iter().all(|item| !item.is_object()) => {
            let words: Vec<String> = list.iter().map(text).collect();
            if !words.is_empty() {
                facts.push((path.to_owned(), words.join(" ")));
            }
        }
        Value::Array(list) => {
            let one = path.strip_suffix('s').unwrap_or(path);
            for (index, item) in list.iter().enumerate() {
                let name = if index == 0 { one.to_owned() } else { format!("{one} {}", index + 1) };
                flatten(&name, item, facts);
            }
        }
        leaf => facts.push((path.to_owned(), text(leaf))),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Lines of the plans that only some sides have, seeds and the threads' parts left out. The first run stands for its
/// side.
pub(super) fn plans(sides: &[Side<'_>]) -> Vec<String> {
    let lines: Vec<Vec<String>> = sides.iter().map(|side| plan_lines(&side.runs[0].plan)).collect();
    let mut differing = Vec::new();
    for (index, other) in lines.iter().enumerate().skip(1) {
        let mark = if lines.len() > 2 { format!(" ({})", sides[index].name) } else { String::new() };
        differing
            .extend(lines[0].iter().filter(|line| !other.contains(line)).map(|line| format!("- {line}")));
        let new = other.iter().filter(|line| !lines[0].contains(line));
        differing.extend(new.map(|line| format!("+{mark} {line}")));
    }
    let mut seen = BTreeSet::new();
    differing.retain(|line| seen.insert(line.clone()));
    differing
}

/// The plan's lines without what is random, each once.
fn plan_lines(plan: &Plan) -> Vec<String> {
    let mut plan = plan.clone();
    plan.seed = 0;
    for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.slices.iter_mut().for_each(|slice| slice.seed = 0);
    }
    for target in &mut plan.targets {
        // Whether a file was already there says little: it is laid out before it is used.
        target.existing_bytes = target.size_bytes;
    }
    let mut seen = BTreeSet::new();
    let text = plan.describe();
    // The first line is the name, which the sides are told apart by anyway.
    let lines = text.lines().skip(1).map(|line| line.trim().replace(", seed 0", "").replace("seed 0, ", ""));
    lines.filter(|line| seen.insert(line.clone())).collect()
}

/// Sides whose own runs do not have the same plan.
pub(super) fn within(sides: &[Side<'_>]) -> Vec<String> {
    let differs = |side: &&Side<'_>| {
        let lines = |run: &Run| plan_lines(&run.plan).into_iter().collect::<BTreeSet<_>>();
        let first = lines(side.runs[0]);
        side.runs.iter().skip(1).any(|run| lines(run) != first)
    };
    let odd = sides.iter().filter(differs);
    odd.map(|side| format!("the runs of '{}' do not all have the same plan", side.name)).collect()
}
