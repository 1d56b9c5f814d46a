//! What an audit says in tables and sentences.

use std::collections::BTreeMap;

use assay_report::format;
use assay_report::landing::{Facts, Head, facts};
use assay_sim::Model;
use assay_sim::audit::{Audit, JobAudit, Method};
use assay_sim::model::{self, Layout};

use super::audited::{Audited, Repaired};
use crate::context::Context;
use crate::failure::Failure;

/// The shipped arrays and what each stands for.
pub(super) fn arrays(context: &Context) -> Result<String, Failure> {
    let mut text = String::new();
    for shipped in model::SHIPPED {
        let model = Model::from_toml(shipped.toml).map_err(Failure::failed)?;
        let words = [describe(&model), model.description.clone()];
        text.push_str(&assay_report::terminal::sections(
            &[assay_report::terminal::Section {
                title: model.name.clone(),
                rows: vec![
                    ("made of".to_owned(), words[0].clone(), assay_report::terminal::Mark::Plain),
                    ("stands for".to_owned(), words[1].clone(), assay_report::terminal::Mark::Plain),
                ],
            }],
            &context.style,
        ));
    }
    Ok(text)
}

/// An array in a few words.
pub(crate) fn describe(model: &Model) -> String {
    let front_end = &model.front_end;
    let layout = match front_end.layout {
        Layout::RoundRobin => "dealt out core by core",
        Layout::Alternate => "dealt out controller by controller",
        Layout::Hash => "placed by a hash",
    };
    let mut parts = vec![format!(
        "{} in {}, segments of {} {layout}",
        format::plural(u64::from(front_end.cores()), "core"),
        format::plural(u64::from(front_end.controllers), "controller"),
        format::bytes(front_end.segment.0)
    )];
    parts.extend(model.cache.as_ref().map(|cache| format!("a cache of {}", format::bytes(cache.size.0))));
    parts.extend(model.back_end.as_ref().map(|back_end| format::plural(u64::from(back_end.drives), "drive")));
    parts.join(", ")
}

/// A share with one digit behind the point: what published tables have.
pub(crate) fn share(value: f64) -> String {
    if value > 0.0 && value < 0.0005 { "<0.1 %".to_owned() } else { format!("{:.1} %", value * 100.0) }
}

/// Heads of columns of words (`true`) or numbers, and how soon each gives way where there is no room.
pub(super) fn heads(columns: &[(&str, u8, bool)]) -> Vec<Head> {
    let one = |&(name, rank, words): &(&str, u8, bool)| {
        if words { Head::words(name, rank) } else { Head::number(name, rank) }
    };
    columns.iter().map(one).collect()
}

/// A row an operation of each job.
pub(super) fn jobs(entries: &[&JobAudit], model: &Model) -> Facts {
    let own = model.cache.as_ref().map(|cache| cache.size.0);
    let mut sizes: Vec<u64> =
        entries.iter().flat_map(|entry| &entry.reuse.caches).map(|cache| cache.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut heads = heads(&[
        ("job", 0, true),
        ("op", 0, true),
        ("of job", 5, false),
        ("busiest core", 0, false),
        ("× mean", 0, false),
        ("50 % in", 4, false),
        ("90 % in", 2, false),
        ("99 % in", 3, false),
    ]);
    for size in &sizes {
        let whose = if own == Some(*size) { "own cache" } else { "cache" };
        heads.push(Head::number(&format!("hits {whose} {}", format::bytes(*size)), 6));
    }
    heads.push(Head::number("in a row", 7));
    heads.push(Head::number("crossing", 8));
    heads.push(Head::words("known", 9));
    let rows = entries.iter().map(|entry| row(entry, &sizes)).collect();
    let note = "× mean: the busiest core's share over that of an even load. 50 % in: the least data that gets half of the \
                requests. In a row: requests that follow each other without a gap. Crossing: requests that two segments \
                serve.";
    Facts { heads, rows, note: note.to_owned() }
}

fn row(entry: &JobAudit, sizes: &[u64]) -> Vec<String> {
    let busiest = entry.cores.iter().copied().fold(0.0, f64::max);
    let mut row = vec![
        entry.name.clone(),
        entry.op.clone(),
        format::percent(entry.share_of_job),
        share(busiest),
        format!("{:.2}", entry.max_over_mean),
        format::bytes(entry.working_set.p50_bytes),
        format::bytes(entry.working_set.p90_bytes),
        format::bytes(entry.working_set.p99_bytes),
    ];
    for size in sizes {
        let found = entry.reuse.caches.iter().find(|cache| cache.bytes == *size);
        row.push(found.map_or(String::new(), |cache| format::percent(cache.hit_ratio)));
    }
    row.push(if entry.sequential_run_ios > 1.005 {
        format::significant(entry.sequential_run_ios)
    } else {
        "1".to_owned()
    });
    row.push(format::percent(entry.crossing));
    row.push(match entry.method {
        Method::ClosedForm => "exactly".to_owned(),
        Method::Drawn => format!("±{}", share(entry.error)),
    });
    row
}

/// The hottest segments of each operation, and the shares of controllers.
pub(super) fn hottest(entries: &[&JobAudit], model: &Model) -> Vec<String> {
    const SEGMENTS: usize = 3;
    let even = |entry: &JobAudit| {
        let (first, last) = (entry.segments_top.first(), entry.segments_top.last());
        first.zip(last).is_some_and(|(first, last)| first.share <= last.share * 1.05 + 1e-6)
    };
    entries
        .iter()
        .filter(|entry| !even(entry))
        .map(|entry| {
            let segments = entry
                .segments_top
                .iter()
                .take(SEGMENTS)
                .map(|top| format!("{} ({} {})", share(top.share), top.target, at(top.offset)));
            let segments: Vec<String> = segments.collect();
            format!(
                "{}, {}s: the hottest segments of {} get {}",
                entry.name,
                entry.op,
                format::bytes(model.front_end.segment.0),
                segments.join(", ")
            )
        })
        .collect()
}

/// A place in a target.
fn at(offset: u64) -> String {
    if offset == 0 { "at its start".to_owned() } else { format!("at {}", format::bytes(offset)) }
}

/// What a repair changed, a sentence each; what several phases share is said once.
pub(super) fn changes(repaired: &Repaired) -> Vec<String> {
    let mut said: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for change in &repaired.changes {
        let phases = said.entry((&change.job, &change.what)).or_default();
        if !phases.contains(&change.phase.as_str()) {
            phases.push(&change.phase);
        }
    }
    let line = |((job, what), phases): ((&str, &str), Vec<&str>)| match phases.as_slice() {
        [one] if *one == job => format!("{job}: {what}"),
        [one] => format!("{one} / {job}: {what}"),
        [first, .., last] => format!("{first} to {last} / {job}: {what}"),
        [] => String::new(),
    };
    said.into_iter().map(line).collect()
}

/// What was audited, on what.
pub(super) fn head(audited: &Audited) -> Vec<String> {
    let mut words = vec![format!("array {}: {}", audited.model.name, describe(&audited.model))];
    let targets = &audited.source.plan.targets;
    let sizes: Vec<String> = targets
        .iter()
        .take(6)
        .map(|target| {
            let assumed =
                if audited.source.assumed.contains(&target.name) { " (assumed; --size)" } else { "" };
            format!("{} {}{assumed}", target.name, format::bytes(target.size_bytes))
        })
        .collect();
    let more = targets.len().saturating_sub(sizes.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    words.push(format!(
        "{} {}{more}",
        if targets.len() == 1 { "target" } else { "targets" },
        sizes.join(", ")
    ));
    words
}

/// Phases whose audits say the same, together: their names, and the index of the first.
pub(super) fn alike(audit: &Audit) -> Vec<(usize, Vec<&str>)> {
    let of = |phase: &str| -> Vec<JobAudit> {
        let mine = audit.jobs.iter().filter(|job| job.phase == phase);
        mine.map(|job| JobAudit { phase: String::new(), ..job.clone() }).collect()
    };
    let mut groups: Vec<(usize, Vec<JobAudit>, Vec<&str>)> = Vec::new();
    for (index, phase) in audit.phases.iter().enumerate() {
        let mine = of(&phase.phase);
        match groups.last_mut().filter(|group| group.1 == mine) {
            Some(group) => group.2.push(&phase.phase),
            None => groups.push((index, mine, vec![&phase.phase])),
        }
    }
    groups.into_iter().map(|(index, _, names)| (index, names)).collect()
}

/// The table on its own, for a terminal.
pub(super) fn table_text(entries: &[&JobAudit], model: &Model, context: &Context) -> String {
    facts(&jobs(entries, model), &context.style)
}
