//! JSON Schemas of what is stored and printed, made from the types and their documentation. Published in `docs/schemas`; a test
//! holds the published ones against these. With the feature `schema` only.

#[cfg(feature = "schema")]
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
#[cfg(feature = "schema")]
use serde_json::{Value, json};

#[cfg(feature = "schema")]
mod links;
#[cfg(test)]
mod validator;

/// The schemas of this crate's documents.
#[cfg(feature = "schema")]
fn stored() -> Vec<Value> {
    vec![
        of::<assay_workload::Plan>(assay_workload::plan::SCHEMA),
        of::<crate::Run>(crate::run::SCHEMA),
        of::<crate::compare::Comparison>(crate::compare::SCHEMA),
        of::<crate::probe::Probe>(crate::probe::SCHEMA),
        of::<crate::baseline::Baseline>(crate::baseline::SCHEMA),
    ]
}

/// The published schemas: this crate's and `more`, which commands have of their own, made by [`of`]. What an earlier one
/// defines, a later one refers to; `$id` is the name of the file.
#[cfg(feature = "schema")]
pub fn published(more: Vec<Value>) -> Vec<Value> {
    links::linked(stored().into_iter().chain(more).collect())
}

/// The schema (draft 2020-12) of a type that names its version in a field `schema`.
#[cfg(feature = "schema")]
pub fn of<T: JsonSchema>(name: &str) -> Value {
    // What is written has every field; what is read may lack some.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    let file = name.trim_start_matches("assay.").replace('/', "-");
    // Relative, as the references between the files: they are read from wherever they lie beside each other.
    schema["$id"] = json!(format!("{file}.json"));
    schema["properties"]["schema"] =
        json!({ "const": name, "description": "Name and version of this format." });
    schema
}

/// Holds the files of `schemas` in `directory` against them; with `ASSAY_UPDATE_SCHEMAS` set, writes them first.
///
/// # Panics
/// Where a file is missing or has another content.
#[cfg(feature = "schema")]
pub fn assert_published(schemas: &[Value], directory: &std::path::Path) {
    for schema in schemas {
        let path = directory.join(schema["$id"].as_str().expect("a name"));
        if std::env::var_os("ASSAY_UPDATE_SCHEMAS").is_some() {
            let text = format!("{}\n", serde_json::to_string_pretty(schema).expect("JSON"));
            std::fs::write(&path, text).expect("the schema can be written");
        }
        let text = std::fs::read_to_string(&path).expect("the schema is published");
        let is: Value = serde_json::from_str(&text).expect("the schema is JSON");
        assert!(is == *schema, "{} is out of date; set ASSAY_UPDATE_SCHEMAS and test again", path.display());
    }
}

#[cfg(test)]
mod tests;
