//! JSON Schemas of what is stored and printed, made from the types and their documentation. Published in `docs/schemas`; a test
//! holds the published ones against these. With the feature `schema` only.

#[cfg(feature = "schema")]
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
#[cfg(feature = "schema")]
use serde_json::{Value, json};

#[cfg(test)]
mod validator;

/// The published schemas of this crate's documents: file name and content. Commands have their own, made by [`of`].
#[cfg(feature = "schema")]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("run-1.json", of::<crate::Run>(crate::run::SCHEMA)),
        ("plan-1.json", of::<assay_workload::Plan>(assay_workload::plan::SCHEMA)),
        ("comparison-1.json", of::<crate::compare::Comparison>(crate::compare::SCHEMA)),
        ("probe-1.json", of::<crate::probe::Probe>(crate::probe::SCHEMA)),
        ("baseline-1.json", of::<crate::baseline::Baseline>(crate::baseline::SCHEMA)),
    ]
}

/// The schema (draft 2020-12) of a type that names its version in a field `schema`.
#[cfg(feature = "schema")]
pub fn of<T: JsonSchema>(name: &str) -> Value {
    // What is written has every field; what is read may lack some.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    schema["$id"] = json!(format!("urn:{}", name.replace(['.', '/'], ":")));
    schema["properties"]["schema"] =
        json!({ "const": name, "description": "Name and version of this format." });
    schema
}

#[cfg(test)]
mod tests;
