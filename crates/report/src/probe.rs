//! What a probe found, for people.

use assay_results::probe::{CacheLevel, Probe, ProbeStage};

use crate::format::{bandwidth, bytes, time_ns};
use crate::terminal::{self, Words};
use crate::text::Style;

/// What it found, for a terminal.
pub fn probe(probe: &Probe, style: &Style) -> String {
    let way = if probe.direct { "past the page cache" } else { "through the page cache" };
    let title = format!(
        "{}: {} {way}, in {:.0} s (probe {})",
        probe.target.path,
        bytes(probe.region_bytes),
        probe.elapsed_s,
        probe.id
    );
    let mut text = terminal::page(&[Words::Title(title)], style);
    let heads = ["bytes read in between", "re-reads p10", "p50", "p90", "first touches p50"];
    let group = |refining: bool, name: &str| {
        let mut stages: Vec<&ProbeStage> =
            probe.stages.iter().filter(|stage| stage.refining == refining).collect();
        stages.sort_by_key(|stage| stage.span_bytes);
        let rows: Vec<Vec<String>> = stages.into_iter().map(row).collect();
        (name.to_owned(), rows)
    };
    let groups = [group(false, "growing"), group(true, "narrowing down")];
    let groups: Vec<(String, Vec<Vec<String>>)> =
        groups.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
    text.push_str(&terminal::figures(&heads, &groups, style));
    let mut parts = vec![Words::Gap];
    for (at, level) in probe.levels.iter().enumerate() {
        parts.push(Words::Item('-', level_words(probe, at, level)));
    }
    if probe.levels.is_empty() {
        parts.push(Words::Item(
            '-',
            "No cache was found: re-reads take as long as first touches. Either there is none, or everything was in it already."
                .to_owned(),
        ));
    }
    parts.push(Words::Item(
        '-',
        format!("First touches take {} ({} of them).", time_ns(probe.cold.p50 as f64), probe.cold.n),
    ));
    if let Some(burst) = probe.burst {
        parts.push(Words::Item(
            '-',
            format!(
                "The pace of first touches fell from {} to {} after {} ({:.1} s): burst credit that was used up, or a throttle.",
                bandwidth(burst.before_bytes_per_s),
                bandwidth(burst.then_bytes_per_s),
                bytes(burst.after_bytes),
                burst.after_s
            ),
        ));
    }
    if probe.cut_short {
        parts.push(Words::Item(
            '-',
            "The time was up before the largest span; --time allows more.".to_owned(),
        ));
    }
    parts.extend(probe.notes.iter().map(|note| Words::Item('-', note.clone())));
    text.push_str(&terminal::page(&parts, style));
    text
}

fn row(stage: &ProbeStage) -> Vec<String> {
    let time = |ns: u64| time_ns(ns as f64);
    let first = if stage.first.n == 0 { "-".to_owned() } else { time(stage.first.p50) };
    vec![bytes(stage.span_bytes), time(stage.again.p10), time(stage.again.p50), time(stage.again.p90), first]
}

fn level_words(probe: &Probe, at: usize, level: &CacheLevel) -> String {
    let what = match (probe.direct, at) {
        (false, 0) => "The page cache",
        (true, 0) => "A cache below the page cache",
        _ => "A further cache below",
    };
    let size = match level.exceeded_bytes {
        Some(more) => format!("holds {} and not {}", bytes(level.holds_bytes), bytes(more)),
        None => format!("holds {} or more: no larger span was read", bytes(level.holds_bytes)),
    };
    format!("{what} {size}; a read it serves takes {}.", time_ns(level.read_ns as f64))
}
