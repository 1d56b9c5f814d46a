//! Holds the published schemas of what commands print against the types of it; those of runs, plans and the like are
//! `assay_results::schema`'s.

use std::path::Path;

use assay_results::schema::of;
use serde_json::Value;

use assay_results::crosscheck;

use crate::{audit, bench_self, doctor};

/// File name and content.
fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("audit-1.json", of::<audit::Document<'static>>(assay_results::audit::SCHEMA)),
        ("bench-self-1.json", of::<bench_self::Document<'static>>(bench_self::SCHEMA)),
        ("crosscheck-1.json", of::<crosscheck::Document<'static>>(crosscheck::SCHEMA)),
        ("doctor-1.json", of::<doctor::Document<'static>>(doctor::SCHEMA)),
    ]
}

/// With `ASSAY_UPDATE_SCHEMAS` set, publishes them instead.
#[test]
fn the_published_schemas_are_those_of_the_types() {
    for (name, schema) in all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas").join(name);
        if std::env::var_os("ASSAY_UPDATE_SCHEMAS").is_some() {
            let text = format!("{}\n", serde_json::to_string_pretty(&schema).expect("JSON"));
            std::fs::write(&path, text).expect("the schema can be written");
        }
        let text = std::fs::read_to_string(&path).expect("the schema is published");
        let published: Value = serde_json::from_str(&text).expect("the schema is JSON");
        assert!(
            published == schema,
            "docs/schemas/{name} is out of date; set ASSAY_UPDATE_SCHEMAS and test again"
        );
    }
}
