//! A recorded trace, and how like it a synthetic workload is.

use assay_results::audit::{Array, Audit, Closeness, Comparison, Heat, JobAudit};

use super::{part_text, pictures, tables};
use crate::landing::{self, Facts, Head, HeatMap, Landing, Part};
use crate::text::Style;
use crate::{format, terminal};

/// What is shown of a trace.
#[derive(Debug)]
pub struct Traced<'a> {
    /// The trace's name.
    pub name: &'a str,
    /// What kind of trace it is.
    pub what: &'a str,
    /// Targets, and how far each is reached.
    pub targets: &'a [(String, u64)],
    /// Operations.
    pub ops: u64,
    /// Where they go, over time if they have times, else over operations.
    pub heat: Heat,
    /// Whether they have times.
    pub timed: bool,
    /// The array.
    pub array: &'a Array,
    /// What it finds.
    pub audit: &'a Audit,
    /// What it is held against: its name, what it is, and how like it is.
    pub against: Option<(&'a str, &'a str, &'a [Comparison])>,
}

/// What is shown, in the terminal and as a page.
fn landing_of(traced: Traced<'_>, version: String) -> Landing {
    let Traced { name, audit, array, .. } = traced;
    let entries: Vec<&JobAudit> = audit.jobs.iter().collect();
    let sizes: Vec<String> = traced
        .targets
        .iter()
        .take(6)
        .map(|(name, size)| format!("{name} (up to {})", format::bytes(*size)))
        .collect();
    let facts = vec![
        format!("{} of {}", traced.what, format::plural(traced.ops, "operation")),
        format!("array {}: {}", array.name, tables::describe(array)),
        format!("on {}", sizes.join(", ")),
    ];
    let mut parts = vec![Part {
        title: name.to_owned(),
        words: tables::hottest(&entries, array),
        facts: vec![tables::jobs(&entries, array)],
        bars: audit.phases.iter().map(|phase| pictures::bars(phase, None, array)).collect(),
        heat: vec![map_of(&traced.heat, traced.timed)],
        charts: Vec::new(),
    }];
    parts.extend(traced.against.map(|against| compared(name, against)));
    Landing {
        kind: "Assay · audit of a trace on an array model".to_owned(),
        title: format!("audit of the trace {name}"),
        facts,
        parts,
        findings: audit.findings.clone(),
        changes: Vec::new(),
        version,
    }
}

fn map_of(heat: &Heat, timed: bool) -> HeatMap {
    let name = |part: f64| match timed {
        true => format::seconds(heat.span as f64 * part / 1e9),
        false => format::count((heat.span as f64 * part) as u64),
    };
    let ticks = [0.0, 0.5, 1.0].map(|place| (place, name(place))).to_vec();
    let axis = if timed { "time" } else { "operations" };
    pictures::of(heat, "trace", "Address space over time", ticks, axis)
}

/// The comparison as a table.
fn compared(name: &str, (against, what, comparisons): (&str, &str, &[Comparison])) -> Part {
    let heads = vec![
        Head::words("dimension", 0),
        Head::number("distance", 0),
        Head::number("by chance", 2),
        Head::words("", 0),
        Head::words("trace", 0),
        Head::words(what, 0),
    ];
    let row = |one: &Comparison| {
        vec![
            one.dimension.name().to_owned(),
            one.distance.map_or_else(|| format::NOTHING.to_owned(), |distance| format!("{distance:.3}")),
            if one.distance.is_some() { format!("{:.3}", one.error) } else { String::new() },
            closeness_word(one.closeness).to_owned(),
            one.first.clone(),
            one.second.clone(),
        ]
    };
    let note = "Distance: the largest difference of the two distributions, 0 (the same) to 1 (nothing in common); of \
                burstiness 1 less the root of the ratio of dispersions. By chance: what exchanging parts of the two at random \
                exceeds in one case of twenty, or what captures given with --repeat differ by. Medians beside it.";
    Part {
        title: format!("{name} against {against}"),
        words: vec![verdict(comparisons)],
        facts: vec![Facts { heads, rows: comparisons.iter().map(row).collect(), note: note.to_owned() }],
        ..Part::default()
    }
}

fn closeness_word(closeness: Closeness) -> &'static str {
    match closeness {
        Closeness::Alike => "alike",
        Closeness::Unclear => "unclear",
        Closeness::Near => "near",
        Closeness::Different => "different",
        Closeness::Unknown => "not known",
    }
}

/// The least alike of several dimensions.
pub fn worst(comparisons: &[Comparison]) -> Closeness {
    comparisons.iter().map(|one| one.closeness).max().unwrap_or(Closeness::Unknown)
}

/// Whether one may stand for the other.
fn verdict(comparisons: &[Comparison]) -> String {
    let named = |closeness: Closeness| {
        let names =
            comparisons.iter().filter(|one| one.closeness == closeness).map(|one| one.dimension.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut words = match worst(comparisons) {
        Closeness::Different => format!(
            "Fidelity: different. It cannot stand for the trace where these matter: {}.",
            named(Closeness::Different)
        ),
        Closeness::Near => format!(
            "Fidelity: near. It may stand for the trace; it is not quite like it in {}.",
            named(Closeness::Near)
        ),
        Closeness::Unclear => format!(
            "Fidelity: unclear. Each of the two varies too much in itself to tell a difference in {}; longer traces would.",
            named(Closeness::Unclear)
        ),
        Closeness::Alike => {
            "Fidelity: alike. It can stand for the trace in everything that was compared.".to_owned()
        }
        Closeness::Unknown => "Fidelity: not known; nothing could be compared.".to_owned(),
    };
    let unknown = named(Closeness::Unknown);
    if !unknown.is_empty() {
        words.push_str(&format!(" Not compared: {unknown}."));
    }
    words
}

/// Everything for a terminal, and the page.
pub fn rendered(traced: Traced<'_>, style: &Style, version: String) -> (String, String) {
    let landing = landing_of(traced, version);
    let mut text = landing::heading(&landing.title, style);
    landing.facts.iter().for_each(|words| text.push_str(&landing::words(words, 0, style)));
    landing.parts.iter().for_each(|part| text.push_str(&part_text(part, true, style)));
    text.push('\n');
    text.push_str(&terminal::findings(&landing.findings, style));
    (text, landing::page(&landing))
}
