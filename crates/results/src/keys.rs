//! What the keys of `run.json` mean, as the published schemas say.

use serde_json::Value;

const SCHEMAS: [&str; 2] =
    [include_str!("../../../docs/schemas/run-1.json"), include_str!("../../../docs/schemas/plan-1.json")];

/// What the schemas say of every key of this name, each description once; empty: there is no such key.
pub fn meanings(key: &str) -> Vec<String> {
    let mut found = Vec::new();
    for schema in SCHEMAS {
        collect(&serde_json::from_str(schema).unwrap_or_default(), key, &mut found);
    }
    found
}

fn collect(part: &Value, key: &str, found: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            let described = part["properties"][key]["description"].as_str();
            let text = described.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            found.extend(text.filter(|text| !found.contains(text)));
            fields.values().for_each(|part| collect(part, key, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, key, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_runs_and_of_their_plans_have_meanings() {
        assert!(!meanings("outstanding_io_mean").is_empty() && !meanings("drain_after").is_empty());
        assert!(meanings("no_such_key").is_empty());
    }
}
