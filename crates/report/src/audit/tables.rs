//! What an audit says in tables and sentences.

use assay_results::audit::{Array, Audit, Audited, JobAudit, Method};

use crate::format;
use crate::landing::{Facts, Head};

/// An array in a few words.
pub fn describe(array: &Array) -> String {
    let controllers = array.controllers.iter().max().map_or(0, |last| u64::from(*last) + 1);
    let mut parts = vec![format!(
        "{} in {}, segments of {} {}",
        format::plural(array.controllers.len() as u64, "core"),
        format::plural(controllers, "controller"),
        format::bytes(array.segment_bytes),
        array.layout
    )];
    parts.extend(array.cache_bytes.map(|bytes| format!("a cache of {}", format::bytes(bytes))));
    parts.extend(array.drives.map(|drives| format::plural(u64::from(drives), "drive")));
    parts.join(", ")
}

/// A share with one digit behind the point: what published tables have.
pub(super) fn share(value: f64) -> String {
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
pub(super) fn jobs(entries: &[&JobAudit], array: &Array) -> Facts {
    let own = array.cache_bytes;
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
pub(super) fn hottest(entries: &[&JobAudit], array: &Array) -> Vec<String> {
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
                format::bytes(array.segment_bytes),
                segments.join(", ")
            )
        })
        .collect()
}

/// A place in a target.
fn at(offset: u64) -> String {
    if offset == 0 { "at its start".to_owned() } else { format!("at {}", format::bytes(offset)) }
}

/// What was audited, on what.
pub(super) fn head(audited: &Audited<'_>) -> Vec<String> {
    let mut words = vec![format!("array {}: {}", audited.array.name, describe(audited.array))];
    let targets = &audited.before.plan.targets;
    let sizes: Vec<String> = targets
        .iter()
        .take(6)
        .map(|target| {
            let assumed = if audited.assumed.contains(&target.name) { " (assumed; --size)" } else { "" };
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
