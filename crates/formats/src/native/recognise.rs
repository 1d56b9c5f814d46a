//! What a plan is recognised by.

use toml::de::{DeTable, DeValue};

use super::TEXT_BYTES_MAX;
use crate::diagnostic::clip;
use crate::recognise::{Clue, Weight, lines};

/// What speaks for a plan: `[[target]]`, `[[job]]`, `[[phase]]` or `assay = 1`, or that it is TOML with a target.
pub fn recognise(text: &str) -> Option<Clue> {
    if let Some((line, told)) = lines(text).find(|(_, line)| is_native(line)) {
        return Some(Clue {
            weight: Weight::Decisive,
            line,
            reason: format!("line {line} is {}", clip(told)),
        });
    }
    let reason = || "it is TOML with targets or jobs of a plan".to_owned();
    is_native_document(text).then(|| Clue { weight: Weight::Decisive, line: 0, reason: reason() })
}

/// Whether only a plan has such a line.
fn is_native(line: &str) -> bool {
    let header = line.split('#').next().unwrap_or_default().trim_end();
    let version = line.strip_prefix("assay").is_some_and(|rest| rest.trim_start().starts_with('='));
    version || ["[[target]]", "[[job]]", "[[phase]]", "[[phase.job]]"].contains(&header)
}

/// Whether the text is TOML with the parts of a plan, as inline tables: those have no telling lines.
fn is_native_document(text: &str) -> bool {
    if text.len() > TEXT_BYTES_MAX || !["target", "job", "phase"].iter().any(|word| text.contains(word)) {
        return false;
    }
    let Ok(root) = DeTable::parse(text) else { return false };
    let holds = |value: &DeValue<'_>, key: &str| match value {
        DeValue::Table(table) => table.contains_key(key),
        DeValue::Array(list) => {
            list.iter().any(|value| value.get_ref().as_table().is_some_and(|t| t.contains_key(key)))
        }
        _ => false,
    };
    let part =
        |name: &str, key: &str| root.get_ref().get(name).is_some_and(|value| holds(value.get_ref(), key));
    part("target", "path") || part("job", "block_size") || part("phase", "job")
}
