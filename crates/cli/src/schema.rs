//! Holds the published schemas of what commands print against the types of it; those of runs, plans and the like are
//! `assay_results::schema`'s.

use std::path::Path;

use assay_report::listing;
use assay_results::crosscheck;
use assay_results::schema::{assert_published, of, published};

use crate::{audit, bench_self, doctor};

/// With `ASSAY_UPDATE_SCHEMAS` set, publishes them instead.
#[test]
fn the_published_schemas_are_those_of_the_types() {
    let own = vec![
        of::<audit::Document<'static>>(assay_results::audit::SCHEMA),
        of::<bench_self::Document<'static>>(bench_self::SCHEMA),
        of::<crosscheck::Document<'static>>(crosscheck::SCHEMA),
        of::<doctor::Document<'static>>(doctor::SCHEMA),
        of::<listing::Document<'static>>(listing::SCHEMA),
    ];
    assert_published(&published(own), &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas"));
}
