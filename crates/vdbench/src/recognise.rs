//! What a parameter file is recognised by.

use assay_formats::recognise::{Clue, Weight, lines};

/// What speaks for a parameter file: its first definition (`sd=`, `wd=`, `rd=`, ..).
pub fn recognise(text: &str) -> Option<Clue> {
    let (line, key) = lines(text).find_map(|(number, line)| Some((number, definition(line)?)))?;
    let reason = format!("line {line} is a definition that begins with {key}=");
    Some(Clue { weight: Weight::Telling, line, reason })
}

/// The keyword of a line that begins a vdbench definition.
fn definition(line: &str) -> Option<&'static str> {
    let key = line.split_once('=')?.0;
    ["sd", "wd", "rd", "fsd", "fwd", "hd", "rg"].into_iter().find(|known| key.eq_ignore_ascii_case(known))
}
