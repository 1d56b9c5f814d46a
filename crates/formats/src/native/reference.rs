//! Holds the tables of keys in docs/formats/plan.md to the keys.

use std::path::Path;

use super::data::{
    CONTENT_KEYS, ENGINE_OPTION_KEYS, FLUSH_KEYS, JOURNAL_KEYS, PATTERN_BLOCK_KEYS, STEADY_KEYS, STRIDES_KEYS,
};
use super::document::{PHASE, PLAN, TARGET};
use super::host::HOST;
use super::key::About;
use super::pattern::WHERE;
use super::{job, tree, until};

/// The tables by what stands before them in the reference: `<!-- keys: NAME -->`.
fn tables() -> Vec<(&'static str, Vec<&'static About>)> {
    let about = |section: usize| job::KEYS.sections[section].iter().map(|key| &key.about).collect();
    vec![
        ("plan", PLAN.about()),
        ("host", HOST.about()),
        ("target", TARGET.about()),
        ("job, what and where", about(0)),
        ("job, how much", about(1)),
        ("job, what is written", about(2)),
        ("pattern", WHERE.about()),
        ("ends_steady", STEADY_KEYS.about()),
        ("strides", STRIDES_KEYS.about()),
        ("content", CONTENT_KEYS.about()),
        ("journal", JOURNAL_KEYS.about()),
        ("pattern_blocks", PATTERN_BLOCK_KEYS.about()),
        ("flush", FLUSH_KEYS.about()),
        ("engine_options", ENGINE_OPTION_KEYS.about()),
        ("tree", tree::KEYS.about()),
        ("phase", PHASE.about()),
        ("until", until::KEYS.about()),
        ("find_rate", until::SEARCH_KEYS.about()),
    ]
}

const END: &str = "<!-- end of keys -->";

/// The reference with its tables as they have to be.
fn with_tables(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, keys) in tables() {
        let begin = format!("<!-- keys: {name} -->\n");
        let start =
            text.find(&begin).unwrap_or_else(|| panic!("no place for the keys of {name}")) + begin.len();
        let end = start + text[start..].find(END).expect("an end");
        let row = |about: &&About| format!("| `{}` | {} | {} |\n", about.name, about.doc, about.default);
        let rows: String = keys.iter().map(row).collect();
        text.replace_range(start..end, &format!("| Key | Meaning | Default |\n|---|---|---|\n{rows}"));
    }
    text
}

/// With `ASSAY_UPDATE_SCHEMAS` set, writes them instead.
#[test]
fn the_tables_of_the_reference_are_those_of_the_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/plan.md");
    let text = std::fs::read_to_string(&path).expect("the reference is there");
    let made = with_tables(&text);
    if std::env::var_os("ASSAY_UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &made).expect("the reference can be written");
        return;
    }
    assert!(made == text, "docs/formats/plan.md is out of date; set ASSAY_UPDATE_SCHEMAS and test again");
}
