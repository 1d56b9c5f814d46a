//! The JSON schema of plan files, by which editors complete and check them. It comes from the keys, as the parser does.

use serde_json::{Map, Value, json};

use super::document::{PHASE, PLAN, TARGET};
use super::host::HOST;
use super::job;
use super::key::{About, Need, Shape};
use super::scalar::regular;
use super::sweep::NOT_SWEPT;

/// What a plan names as its schema where one is written with it.
pub const SCHEMA_FILE: &str = "plan-file-1.json";

/// The schema (draft 2020-12) of a plan file, read as the TOML that it is. A plan that does not fit has an error; whether names are
/// defined, shares total 100 and keys go together only the parser can say.
pub fn schema() -> Value {
    let mut schema = table(&PLAN.about(), value_or_none);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!("urn:assay:plan-file:1");
    schema["title"] = json!("A plan of Assay");
    let text = |form: &str| json!({ "type": "string", "pattern": format!("^{form}$") });
    let size = |min: u64, max: u64| {
        let bytes = json!({ "type": "integer", "minimum": min, "maximum": max });
        json!({ "anyOf": [bytes, text(regular!(size))], "examples": ["4k", "1.5GiB"] })
    };
    let seconds = json!({ "type": "number", "minimum": 0 });
    schema["$defs"] = json!({
        "host": table(&HOST.about(), value_or_none),
        "target": table(&TARGET.about(), value_or_none),
        "job": table(&job::KEYS.about(), value_or_none),
        "phase": table(&PHASE.about(), value_or_none),
        "size": size(0, u64::MAX),
        "block-size": size(1, 0x7fff_ffff),
        "time": { "anyOf": [seconds, text(regular!(time))], "examples": ["30s", "250us"] },
    });
    schema
}

fn table(keys: &[&About], value: impl Fn(&About) -> Value) -> Value {
    let described = |about: &About| {
        let mut value = value(about);
        let default =
            if about.default.is_empty() { String::new() } else { format!("; default: {}", about.default) };
        value["description"] = json!(format!("{}{default}", about.doc));
        (about.name.to_owned(), value)
    };
    let properties: Map<String, Value> = keys.iter().map(|about| described(about)).collect();
    let required = keys.iter().filter(|about| matches!(about.need, Need::Required | Need::Reported));
    let required: Vec<&str> = required.map(|about| about.name).collect();
    let mut table = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    table
}

fn value_or_none(about: &About) -> Value {
    match about.need {
        Need::OrNone => json!({ "anyOf": [value(&about.shape), { "const": "none" }] }),
        _ => value(&about.shape),
    }
}

fn value(shape: &Shape) -> Value {
    match *shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Name => json!({ "type": "string", "minLength": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count(min, max) => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": "^[0-9]{1,20}$" },
        ] }),
        Shape::Number(min, max) => {
            let mut number = json!({ "type": "number" });
            let least = if min == f64::MIN_POSITIVE { ("exclusiveMinimum", 0.0) } else { ("minimum", min) };
            number[least.0] = json!(least.1);
            if max < f64::MAX {
                number["maximum"] = json!(max);
            }
            number
        }
        Shape::Size => json!({ "$ref": "#/$defs/size" }),
        Shape::BlockSize => json!({ "$ref": "#/$defs/block-size" }),
        Shape::Time => json!({ "$ref": "#/$defs/time" }),
        Shape::Matching(pattern, example) => {
            json!({ "type": "string", "pattern": pattern, "examples": [example] })
        }
        Shape::Words(words) => {
            let words = words();
            // A hyphen may also be an underscore, and the other way round.
            let other = |word: &&str| word.replace('-', "_");
            let others = words.iter().map(other).chain(words.iter().map(|word| word.replace('_', "-")));
            let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            others.for_each(|word| {
                if !all.contains(&word) {
                    all.push(word)
                }
            });
            json!({ "enum": all })
        }
        Shape::Table(keys) => table(&keys(), value_or_none),
        Shape::Names => {
            json!({ "type": "object", "additionalProperties": { "type": "string", "minLength": 1 } })
        }
        Shape::Settings(required) => json!({
            "type": "object",
            "properties": { required: { "type": "string" } },
            "required": [required],
            "additionalProperties": { "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "boolean" }] },
        }),
        Shape::Defined(name) => json!({ "$ref": format!("#/$defs/{name}") }),
        Shape::NotZero(shape) => {
            let mut value = value(shape);
            value["not"] = json!({ "const": 0 });
            value
        }
        Shape::Defaults => {
            let keys = job::KEYS.about().into_iter().filter(|about| about.name != "name");
            table(&keys.collect::<Vec<_>>(), of_job)
        }
        Shape::Sweep => {
            let keys = job::KEYS.about().into_iter().filter(|about| !NOT_SWEPT.contains(&about.name));
            let values = |about: &About| json!({ "anyOf": [{ "type": "array", "items": of_job(about), "minItems": 1 }, of_job(about)] });
            table(&keys.collect::<Vec<_>>(), values)
        }
        Shape::List(element) => {
            json!({ "anyOf": [{ "type": "array", "items": value(element) }, value(element)] })
        }
        Shape::Any(shapes) => json!({ "anyOf": shapes.iter().map(value).collect::<Vec<_>>() }),
    }
}

/// The value of a key of a job.
fn of_job(about: &About) -> Value {
    json!({ "$ref": format!("#/$defs/job/properties/{}", about.name) })
}
