//! Documents against the published schemas, by the words of JSON Schema that those use. A word that is not known here
//! fails, so that nothing passes unlooked at.

use serde_json::Value;

/// Words beside `properties` that fields may be described by, too.
const ELSEWHERE: [&str; 4] = ["additionalProperties", "oneOf", "anyOf", "$ref"];

/// Asserts that `document` is what `docs/schemas/NAME.json` says.
#[track_caller]
pub(crate) fn validate(name: &str, document: &Value) {
    let path = format!("{}/../../docs/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    let mut wrong = Vec::new();
    check(&schema, &schema, document, "$", &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        if schema == &Value::Bool(false) {
            wrong.push(format!("{at}: nothing may be here"));
        }
        return;
    };
    for (word, rule) in words {
        let holds = match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let pointer =
                    rule.as_str().and_then(|text| text.strip_prefix('#')).expect("a reference within");
                check(root, root.pointer(pointer).expect("what is referred to"), value, at, wrong);
                true
            }
            "type" => has_type(rule, value),
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "minimum" => value.as_f64().is_none_or(|number| Some(number) >= rule.as_f64()),
            "maximum" => value.as_f64().is_none_or(|number| Some(number) <= rule.as_f64()),
            "minItems" => value.as_array().is_none_or(|items| Some(items.len() as u64) >= rule.as_u64()),
            "maxItems" => value.as_array().is_none_or(|items| Some(items.len() as u64) <= rule.as_u64()),
            "required" => value.as_object().is_none_or(|fields| {
                list(rule).iter().all(|name| name.as_str().is_some_and(|name| fields.contains_key(name)))
            }),
            "oneOf" => list(rule).iter().filter(|one| fits(root, one, value)).count() == 1,
            "anyOf" => list(rule).iter().any(|one| fits(root, one, value)),
            "properties" | "additionalProperties" | "items" | "prefixItems" => {
                check_children(root, words, word, value, at, wrong);
                true
            }
            other => panic!("{at}: this test does not know '{other}'"),
        };
        if !holds {
            let shown: String = value.to_string().chars().take(200).collect();
            wrong.push(format!("{at}: {word} {rule} does not hold for {shown}"));
        }
    }
}

fn check_children(
    root: &Value,
    words: &serde_json::Map<String, Value>,
    word: &str,
    value: &Value,
    at: &str,
    wrong: &mut Vec<String>,
) {
    let rule = &words[word];
    let known = words.get("properties").and_then(Value::as_object);
    let leading = words.get("prefixItems").map_or(0, |rules| list(rules).len());
    for (name, field) in value.as_object().into_iter().flatten() {
        let named = known.and_then(|known| known.get(name));
        let below = format!("{at}.{name}");
        match (word, named) {
            ("properties", Some(named)) => check(root, named, field, &below, wrong),
            ("additionalProperties", None) => check(root, rule, field, &below, wrong),
            // What is printed and not described is a gap of the schema, though readers may pass over it.
            ("properties", None) if !ELSEWHERE.iter().any(|word| words.contains_key(*word)) => {
                wrong.push(format!("{below}: not in the schema"));
            }
            _ => {}
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let below = format!("{at}[{index}]");
        match word {
            "prefixItems" if index < leading => check(root, &list(rule)[index], item, &below, wrong),
            "items" if index >= leading => check(root, rule, item, &below, wrong),
            _ => {}
        }
    }
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut wrong = Vec::new();
    check(root, schema, value, "", &mut wrong);
    wrong.is_empty()
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().map_or(&[], Vec::as_slice)
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("no type '{other}'"),
    };
    match rule {
        Value::String(name) => is(name),
        _ => list(rule).iter().any(|name| name.as_str().is_some_and(is)),
    }
}

#[test]
fn the_schema_refuses_what_it_should() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "items": { "type": "string" } } },
        "additionalProperties": false,
        "$defs": { "n": { "anyOf": [{ "type": "null" }, { "type": "integer", "minimum": 1 }] } },
    });
    let open = serde_json::json!({ "properties": { "a": { "type": "integer" } } });
    assert!(!fits(&open, &open, &serde_json::json!({ "a": 1, "b": 2 })), "b is not described");
    let fits = |text: &str| fits(&schema, &schema, &serde_json::from_str(text).expect("JSON"));
    assert!(fits(r#"{"a": 1, "b": ["x"]}"#) && fits(r#"{"a": null}"#));
    for bad in [r#"{}"#, r#"{"a": 0}"#, r#"{"a": "1"}"#, r#"{"a": 1, "c": 2}"#, r#"{"a": 1, "b": [3]}"#, "[]"]
    {
        assert!(!fits(bad), "{bad}");
    }
}
