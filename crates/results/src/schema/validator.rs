//! As much of JSON Schema as the published schemas use, and stricter: a property that a schema does not name is an
//! error, so that a field that is not in the published schema cannot go unnoticed.

use serde_json::{Map, Value};

/// Keywords that say nothing about validity here.
const SILENT: [&str; 8] =
    ["$schema", "$id", "$defs", "title", "description", "default", "format", "examples"];

/// Keywords that may describe fields beside `properties`.
const ELSEWHERE: [&str; 3] = ["oneOf", "anyOf", "$ref"];

/// What is wrong with `value` by a published schema, each with its place; empty: nothing.
pub(crate) fn validate(file: &str, value: &Value) -> Vec<String> {
    violations(&read(file), value)
}

fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "", &mut errors);
    errors
}

fn read(file: &str) -> Value {
    let path = format!("{}/../../docs/schemas/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the schema is published");
    serde_json::from_str(&text).expect("the schema is JSON")
}

/// Follows a reference within its document, or to another one: `plan-1.json`, `plan-1.json#/$defs/Zone`.
fn check_referred(root: &Value, to: &str, value: &Value, at: &str, errors: &mut Vec<String>) {
    let (file, pointer) = to.split_once('#').unwrap_or((to, ""));
    let other = (!file.is_empty()).then(|| read(file));
    let root = other.as_ref().unwrap_or(root);
    let schema = root.pointer(pointer).unwrap_or_else(|| panic!("{at}: there is no {to}"));
    check(root, schema, value, at, errors);
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let schema = match schema {
        Value::Bool(true) => return,
        Value::Object(schema) => schema,
        _ => return errors.push(format!("{at}: no schema allows it")),
    };
    for (keyword, rule) in schema {
        let holds = match keyword.as_str() {
            "type" => type_holds(rule, value),
            "const" => rule == value,
            "enum" => rule.as_array().is_some_and(|list| list.contains(value)),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap_or(f64::MIN)),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap_or(f64::MAX)),
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap_or(0)),
            "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= rule.as_u64().unwrap_or(0)),
            "required" => required(rule, value, at, errors),
            "anyOf" | "oneOf" => alternatives(root, rule, value, keyword == "oneOf"),
            "$ref" => {
                check_referred(root, rule.as_str().unwrap_or_default(), value, at, errors);
                true
            }
            "properties" | "additionalProperties" | "items" | "prefixItems" => true,
            other if SILENT.contains(&other) => true,
            other => panic!("the schema uses '{other}', which this validator does not know"),
        };
        if !holds {
            errors.push(format!("{at}: {keyword} {rule} does not hold for {value}"));
        }
    }
    children(root, schema, value, at, errors);
}

fn type_holds(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        name => name.as_str().is_some_and(is),
    }
}

fn required(rule: &Value, value: &Value, at: &str, errors: &mut Vec<String>) -> bool {
    let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in names.filter(|name| value.get(name).is_none()) {
        errors.push(format!("{at}: '{name}' is missing"));
    }
    true
}

fn alternatives(root: &Value, rule: &Value, value: &Value, exactly_one: bool) -> bool {
    let fitting = rule.as_array().into_iter().flatten().filter(|alternative| {
        let mut errors = Vec::new();
        check(root, alternative, value, "", &mut errors);
        errors.is_empty()
    });
    match fitting.count() {
        0 => false,
        1 => true,
        _ => !exactly_one,
    }
}

fn children(root: &Value, schema: &Map<String, Value>, value: &Value, at: &str, errors: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let named = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties");
            let alone = named.is_some() && !ELSEWHERE.iter().any(|word| schema.contains_key(*word));
            for (name, field) in fields {
                let at = format!("{at}/{name}");
                match (named.and_then(|named| named.get(name)), others) {
                    (Some(rule), _) | (None, Some(rule)) => check(root, rule, field, &at, errors),
                    (None, None) if alone => errors.push(format!("{at}: not in the schema")),
                    (None, None) => {}
                }
            }
        }
        Value::Array(list) => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            for (index, item) in list.iter().enumerate() {
                let rule = first.and_then(|first| first.get(index)).or(schema.get("items"));
                if let Some(rule) = rule {
                    check(root, rule, item, &format!("{at}/{index}"), errors);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::violations;
    use serde_json::json;

    #[test]
    fn it_finds_what_is_wrong() {
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": { "type": ["integer", "null"], "minimum": 0 },
                "b": { "anyOf": [{ "$ref": "#/$defs/pair" }, { "type": "null" }] },
                "c": { "enum": ["x", "y"] }
            },
            "$defs": { "pair": { "type": "array", "prefixItems": [{ "type": "number" }], "minItems": 2 } }
        });
        let wrong = |value| violations(&schema, &value).len();
        assert_eq!(wrong(json!({ "a": 1, "b": [1.5, "any"], "c": "y" })), 0);
        assert_eq!(wrong(json!({ "a": null, "b": null })), 0);
        for value in [
            json!({}),
            json!([]),
            json!({ "a": -1 }),
            json!({ "a": "1" }),
            json!({ "a": 1, "b": [1] }),
            json!({ "a": 1, "b": ["1", 2] }),
            json!({ "a": 1, "c": "z" }),
            json!({ "a": 1, "d": 1 }),
        ] {
            assert!(wrong(value.clone()) > 0, "{value}");
        }
    }
}
