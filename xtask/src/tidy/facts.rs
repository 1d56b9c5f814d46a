//! Rule over what results say: a fact that has a type is not compared as text.

use super::{Finding, SourceFile};

/// Crates that make, judge and show results. Those of foreign tools compare the tools' own words.
const CRATES: &[&str] = &["conduct", "engine", "host", "report", "results", "runner", "sim", "cli"];
/// Fields of results that say one of a few things.
const FIELDS: &[&str] = &["durability", "engine", "kind", "op", "pattern", "state", "verdict"];
/// What turns such a field into a decision by its letters.
const COMPARED: &[&str] = &[
    " == \"",
    " != \"",
    ".as_str() == \"",
    ".as_str() != \"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".contains(\"",
];

/// `typed-fact`.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let of_results = |file: &&SourceFile| {
        let mut parts = file.path.split('/');
        let source =
            parts.next() == Some("crates") && parts.next().is_some_and(|part| CRATES.contains(&part));
        // What a test expects is a literal.
        source && file.path.ends_with(".rs") && !file.path.contains("/tests") && parts.next() == Some("src")
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(of_results) {
        let text = file.text.as_deref().unwrap_or_default();
        let lines = text.lines().take_while(|line| !line.starts_with("mod tests {"));
        for (index, line) in lines.enumerate() {
            if let Some(field) = FIELDS.iter().find(|field| compares(line, field)) {
                let message =
                    format!("'{field}' is compared with a literal; give the fact a type and ask that");
                findings.push(Finding::new(&file.path, index + 1, "typed-fact", message));
            }
        }
    }
    findings
}

fn compares(line: &str, field: &str) -> bool {
    let name = format!(".{field}");
    line.match_indices(&name).any(|(at, _)| {
        let behind = &line[at + name.len()..];
        COMPARED.iter().any(|words| behind.starts_with(words))
            || behind.starts_with(".as_str() {") && line.contains("match ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> Vec<String> {
        let text = format!("fn f() {{\n    {line}\n}}\n");
        let file = SourceFile { path: path.to_owned(), bytes: 0, text: Some(text) };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn facts_are_not_compared_with_literals() {
        let bad = [
            "if phase.kind == \"measure\" {",
            "if phase.kind.as_str() != \"measure\" {",
            "match phase.kind.as_str() {",
            "job.pattern.contains(\"random\")",
            "let fio = job.engine.starts_with(\"fio\");",
            "entry.op != \"read\"",
        ];
        for line in bad {
            assert_eq!(found("crates/report/src/quick.rs", line).len(), 1, "{line}");
        }
        assert_eq!(
            found("crates/report/src/quick.rs", bad[0]),
            ["crates/report/src/quick.rs:2: typed-fact: 'kind' is compared with a literal; \
              give the fact a type and ask that"]
        );
    }

    #[test]
    fn types_other_fields_tests_and_languages_may() {
        let good = ["phase.kind == PhaseKind::Measure", "target.name == \"t\"", "job.engine == wanted"];
        assert!(good.iter().all(|line| found("crates/report/src/quick.rs", line).is_empty()));
        let bad = "phase.kind == \"measure\"";
        for path in ["crates/report/tests/grid.rs", "crates/fio/src/checks.rs", "xtask/src/tidy.rs"] {
            assert!(found(path, bad).is_empty(), "{path}");
        }
    }
}
