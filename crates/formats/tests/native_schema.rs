//! The published schema of plan files says what the parser says: what is shipped fits it, and what the parser refuses does not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_formats::Severity;
use assay_formats::native::{SCHEMA_FILE, parse, profiles, schema};
use assay_workload::tree::TreeOperation;
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// With `ASSAY_UPDATE_SCHEMAS` set, publishes it instead.
#[test]
fn the_published_schema_is_that_of_the_keys() {
    let path = root().join("docs/schemas").join(SCHEMA_FILE);
    if std::env::var_os("ASSAY_UPDATE_SCHEMAS").is_some() {
        let text = serde_json::to_string_pretty(&schema()).expect("JSON");
        std::fs::write(&path, format!("{text}\n")).expect("the schema can be written");
    }
    let text = std::fs::read_to_string(&path).expect("the schema is published");
    let published: Value = serde_json::from_str(&text).expect("the schema is JSON");
    assert!(published == schema(), "{SCHEMA_FILE} is out of date; set ASSAY_UPDATE_SCHEMAS and test again");
}

/// All plans that are shipped: the profiles and the examples of the reference.
fn shipped() -> Vec<String> {
    let reference = std::fs::read_to_string(root().join("docs/formats/plan.md")).expect("the reference");
    let examples = reference.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<String> = examples.map(str::to_owned).collect();
    assert!(examples.len() >= 6);
    profiles().iter().map(|profile| profile.text.to_owned()).chain(examples).collect()
}

/// A text as the JSON that an editor sees.
fn as_json(text: &str) -> Value {
    fn value(of: &DeValue<'_>) -> Value {
        match of {
            DeValue::String(text) => json!(text),
            DeValue::Integer(number) => {
                let radix = number.radix();
                let signed = i64::from_str_radix(number.as_str(), radix).map(|number| json!(number));
                signed.unwrap_or_else(|_| {
                    json!(u64::from_str_radix(number.as_str(), radix).unwrap_or(u64::MAX))
                })
            }
            DeValue::Float(number) => json!(number.as_str().parse::<f64>().expect("a number")),
            DeValue::Boolean(flag) => json!(flag),
            DeValue::Datetime(date) => json!(date.to_string()),
            DeValue::Array(list) => list.iter().map(|element| value(element.get_ref())).collect(),
            DeValue::Table(fields) => Value::Object(table(fields)),
        }
    }
    fn table(of: &DeTable<'_>) -> Map<String, Value> {
        of.iter().map(|(key, field)| (key.get_ref().to_string(), value(field.get_ref()))).collect()
    }
    Value::Object(table(DeTable::parse(text).expect("TOML").get_ref()))
}

/// The places of `value` that do not fit, as `/target/0/name`.
fn misfits(value: &Value) -> Vec<String> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
    let mut wrong = Vec::new();
    check(&SCHEMA, &SCHEMA, value, "", &mut wrong);
    wrong
}

thread_local! {
    static PATTERNS: RefCell<BTreeMap<String, regex::Regex>> = const { RefCell::new(BTreeMap::new()) };
}

/// As much of JSON Schema as the schema uses; a word that is not known here fails.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    let rules = schema.as_object().expect("a schema is an object");
    for (word, rule) in rules {
        let number = value.as_f64();
        let list = || rule.as_array().expect("a list");
        let holds = match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "examples" => true,
            "$ref" => {
                let pointer = rule.as_str().and_then(|text| text.strip_prefix('#')).expect("within");
                check(root, root.pointer(pointer).expect("what is referred to"), value, at, wrong);
                true
            }
            "type" => has_type(rule.as_str().expect("one type"), value),
            "const" => value == rule,
            "enum" => list().contains(value),
            "minimum" => number.is_none_or(|number| Some(number) >= rule.as_f64()),
            "exclusiveMinimum" => number.is_none_or(|number| Some(number) > rule.as_f64()),
            "maximum" => number.is_none_or(|number| Some(number) <= rule.as_f64()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= rule.as_u64().unwrap())
            }
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| {
                let pattern = rule.as_str().expect("a pattern");
                let compile = || regex::Regex::new(pattern).expect("a regular one");
                PATTERNS.with_borrow_mut(|known| {
                    known.entry(pattern.to_owned()).or_insert_with(compile).is_match(text)
                })
            }),
            "not" => {
                let mut wrong = Vec::new();
                check(root, rule, value, at, &mut wrong);
                !wrong.is_empty()
            }
            "anyOf" => list().iter().any(|one| {
                let mut wrong = Vec::new();
                check(root, one, value, at, &mut wrong);
                wrong.is_empty()
            }),
            "required" => value.as_object().is_none_or(|fields| {
                list().iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
            }),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}/{index}"), wrong);
                }
                true
            }
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    if let Some(known) = rule.get(name) {
                        check(root, known, field, &format!("{at}/{name}"), wrong);
                    }
                }
                true
            }
            "additionalProperties" if rule.is_object() => {
                let fields = value.as_object().into_iter().flatten();
                fields.for_each(|(name, field)| check(root, rule, field, &format!("{at}/{name}"), wrong));
                true
            }
            "additionalProperties" => {
                let known = &rules["properties"];
                value.as_object().is_none_or(|fields| fields.keys().all(|name| known.get(name).is_some()))
            }
            other => panic!("this test does not know '{other}'"),
        };
        if !holds {
            wrong.push(at.to_owned());
        }
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("no type {other}"),
    }
}

#[test]
fn every_shipped_plan_fits() {
    for text in shipped() {
        assert_eq!(misfits(&as_json(&text)), Vec::<String>::new(), "{text}");
    }
}

/// A place of a plan that can be spoilt: its path, and the bytes of the key and of the value.
type Spot = (String, std::ops::Range<usize>, std::ops::Range<usize>);

fn spots(table: &DeTable<'_>, at: &str, found: &mut Vec<Spot>) {
    for (key, value) in table {
        let path = format!("{at}/{}", key.get_ref());
        found.push((path.clone(), key.span(), value.span()));
        match value.get_ref() {
            DeValue::Table(inner) => spots(inner, &path, found),
            DeValue::Array(list) => {
                for (index, element) in list.iter().enumerate() {
                    if let DeValue::Table(inner) = element.get_ref() {
                        spots(inner, &format!("{path}/{index}"), found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Asserts that what the parser refuses at a place does not fit at that place or around it; gives whether it refuses it.
fn fails_alike(text: &str, offset: usize, path: &str) -> bool {
    if DeTable::parse(text).is_err() {
        return false;
    }
    let line = text[..offset].matches('\n').count() as u32 + 1;
    let (_, said) = parse("spoilt.toml", text);
    // Which names and keys go together the schema does not say.
    let refused = said.iter().any(|one| {
        one.severity == Severity::Error
            && !["unknown-target", "unknown-host", "conflict"].contains(&one.id)
            && one.position.as_ref().is_some_and(|at| at.line == line)
    });
    let misfits = misfits(&as_json(text));
    let around = misfits.iter().any(|misfit| path.starts_with(misfit.as_str()));
    assert!(!refused || around, "{path}: {said:#?} but {misfits:?}\n{text}");
    refused
}

#[test]
fn what_the_parser_refuses_does_not_fit_at_the_same_place() {
    let (mut spoilt, mut refused) = (0, 0);
    for text in shipped() {
        let document = DeTable::parse(&text).expect("TOML");
        let mut found = Vec::new();
        spots(document.get_ref(), "", &mut found);
        for (path, key, value) in found {
            let with = |place: &std::ops::Range<usize>, new: &str| {
                format!("{}{new}{}", &text[..place.start], &text[place.end..])
            };
            let renamed = format!("{}_zz", &text[key.clone()]);
            let mut texts = vec![(with(&key, &renamed), key.start)];
            if text[..value.start].trim_end().ends_with('=') {
                let wrong = ["[[]]", "-1", "\"?!\"", "0", "\"4q\"", "true", "{ zz = 1 }"];
                texts.extend(wrong.map(|wrong| (with(&value, wrong), value.start)));
            }
            for (text, offset) in texts {
                spoilt += 1;
                refused += usize::from(fails_alike(&text, offset, &path));
            }
        }
    }
    assert!(refused > 500 && refused * 2 > spoilt, "{refused} of {spoilt}");
}

#[test]
fn every_operation_of_a_tree_fits() {
    let names = TreeOperation::ALL.map(|operation| format!("{}/1", operation.name()));
    let operations = |list: &str| {
        let tree =
            format!("tree = {{ width = 1, depth = 1, files = 1, sizes = \"4k\", operations = \"{list}\" }}");
        misfits(&as_json(&format!("[[target]]\nname = \"a\"\npath = \"a\"\n[[job]]\n{tree}\n")))
    };
    assert_eq!(operations(&names.join(",")), Vec::<String>::new());
    assert_eq!(operations("read,frobnicate"), ["/job"]);
}
