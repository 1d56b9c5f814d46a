//! What a job file is recognised by.

use assay_formats::diagnostic::clip;
use assay_formats::recognise::{Clue, Weight, lines};

use super::table;

/// What speaks for a job file: its first section header, or an option where it has none, as files that others include.
pub fn recognise(text: &str) -> Option<Clue> {
    if let Some((line, header)) = lines(text).find_map(|(number, line)| Some((number, section(line)?))) {
        let reason = format!("line {line} is the section header {}", clip(header));
        return Some(Clue { weight: Weight::Telling, line, reason });
    }
    let (line, option) = lines(text).find_map(|(number, line)| Some((number, option(line)?)))?;
    Some(Clue { weight: Weight::Hint, line, reason: format!("line {line} sets the fio option {option}") })
}

/// The header of a section of a fio job file: `[name]`, perhaps with a comment behind it.
fn section(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[')?;
    let end = inside.find(']')?;
    let plain = end > 0 && !inside.starts_with('[');
    plain.then(|| &line[..end + 2])
}

/// The option that a line of a section-less fio file (one that others include) sets.
fn option(line: &str) -> Option<&'static str> {
    let (word, rest) = line.split_at(line.find(['=', ' ', '\t']).unwrap_or(line.len()));
    let plain = rest.is_empty() || rest.starts_with('=');
    table::core(word).filter(|_| plain).map(|entry| entry.name)
}
