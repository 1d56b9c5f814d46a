//! Rule over the files that run phases: they know jobs only through the seam for kinds of jobs, and name none.

use super::{Finding, SourceFile};

/// Beginnings of the paths of files that run jobs of whatever kind.
const RUNS_PHASES: &[&str] =
    &["crates/engine/src/driver", "crates/engine/src/sampler", "crates/sim/src/phase"];
/// Words that only a kind of job knows.
const KINDS: &[&str] = &["tree", "transaction", "mailbox"];

/// `job-kind`.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let runs = |file: &&SourceFile| {
        file.path.ends_with(".rs") && RUNS_PHASES.iter().any(|start| file.path.starts_with(start))
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(runs) {
        for (index, line) in file.text.as_deref().unwrap_or_default().lines().enumerate() {
            // A BTreeMap is none.
            let line = line.to_lowercase().replace("btree", "");
            if let Some(word) = KINDS.iter().find(|word| line.contains(**word)) {
                let message = format!("'{word}' is of one kind of job; ask its JobKind");
                findings.push(Finding::new(&file.path, index + 1, "job-kind", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_runs_phases_names_no_kind_of_job() {
        let file = |path: &str| {
            let text = "fn f() -> BTreeMap {}\nif job.job.Tree.is_some() {}\n".to_owned();
            SourceFile { path: path.to_owned(), bytes: 0, text: Some(text) }
        };
        let files = [
            file("crates/engine/src/driver.rs"),
            file("crates/engine/src/driver/gate.rs"),
            file("crates/sim/src/phase.rs"),
            file("crates/engine/src/blocks.rs"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(
            found[0],
            "crates/engine/src/driver.rs:2: job-kind: 'tree' is of one kind of job; ask its JobKind"
        );
    }
}
