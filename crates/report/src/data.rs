//! What validating data found, in words that all renderers share.

use assay_results::data::{DataChecks, DataError};

use crate::format;

/// Errors that are listed where there is little room.
const LISTED: usize = 5;

/// How much was validated.
pub(crate) fn summary(data: &DataChecks) -> String {
    let blocks = |count: u64| format::plural(count, "block");
    let mut facts = Vec::new();
    if data.written > 0 {
        facts.push(format!("{} written with headers", blocks(data.written)));
    }
    if data.verified > 0 {
        facts.push(format!("{} compared with the last write", blocks(data.verified)));
    }
    if data.of_earlier_runs > 0 {
        let runs = data.several_earlier_runs().map_or_else(String::new, |runs| format!(" ({runs})"));
        facts.push(format!("{} of earlier runs whole and in place{runs}", blocks(data.of_earlier_runs)));
    }
    if data.unverifiable > 0 {
        facts.push(format!("{} not verifiable", blocks(data.unverifiable)));
    }
    if let Some(crash) = &data.crash {
        let in_flight = format!("{} with a write in flight at the crash", blocks(crash.in_flight));
        facts.push(format!(
            "{in_flight} ({} hold it, {} torn)",
            format::count(crash.newer),
            format::count(crash.torn)
        ));
    }
    facts.push(format!("{} wrong", format::count(data.wrong)));
    if data.waited > 0 {
        let waited = format::plural(data.waited, "I/O");
        facts.push(format!(
            "{waited} waited for another one on the same block (the wait is part of the latency)"
        ));
    }
    format!("data validation: {}", facts.join(", "))
}

/// The first errors, and how many more there are.
pub(crate) fn errors(data: &DataChecks) -> Vec<String> {
    let mut lines: Vec<String> = data.errors.iter().take(LISTED).map(DataError::describe).collect();
    let rest = data.wrong.saturating_sub(lines.len() as u64);
    if rest > 0 && !lines.is_empty() {
        lines.push(format!("{} more", format::plural(rest, "wrong block")));
    }
    lines
}
