//! `cargo xtask tidy`: the form of the tree, checked by machine so that people can look at meaning.
//!
//! A rule is a pure function from text to findings, with a bad example in its tests. Only this file reads the
//! tree. Rules that a pure table or a recorded fixture may break are listed, with a reason, in
//! `xtask/tidy-exceptions.txt`; an exception that nothing needs is itself a finding.

mod checks;
mod circles;
mod errors;
mod exceptions;
mod facts;
mod graph;
mod licences;
mod markdown;
mod rust;
mod seam;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, error::Error, patches};

/// One place where the tree is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Path relative to the workspace, with `/`.
    file: String,
    /// Line, counted from 1; 0 where the whole file is meant.
    line: usize,
    rule: &'static str,
    message: String,
    /// What in the file an exception can name: a function.
    item: Option<String>,
}

impl Finding {
    fn new(file: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, rule, message: message.into(), item: None }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line.max(1), self.rule, self.message)
    }
}

/// A file of the tree; `text` is `None` where it is not UTF-8.
struct SourceFile {
    path: String,
    bytes: u64,
    text: Option<String>,
}

/// Prints every finding; good when there is none.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<Outcome, Error> {
    if !arguments.is_empty() {
        return Err(Error::Usage("tidy"));
    }
    let files = read_tree(root)?;
    let mut findings = graph::check(&graph::packages(root)?);
    findings.extend(licences::check(&licences::locked(root)?));
    findings.extend(check_files(&files));
    findings.extend(patches::stale(root)?.iter().map(|name| {
        let file = format!("{}/{name}", patches::DIRECTORY);
        Finding::new(&file, 0, "patch", "does not apply to the tree any more: make it anew")
    }));
    let exceptions = files.iter().find(|file| file.path == exceptions::FILE);
    let list = exceptions.and_then(|file| file.text.as_deref()).unwrap_or_default();
    let mut findings = exceptions::apply(list, findings);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", files.len(), findings.len());
    Ok(Outcome::good_if(findings.is_empty()))
}

/// All rules that look at files.
fn check_files(files: &[SourceFile]) -> Vec<Finding> {
    let mut paths = BTreeSet::new();
    for file in files {
        paths.extend(Path::new(&file.path).ancestors().filter_map(Path::to_str).map(str::to_owned));
    }
    let mut findings = checks::check(files);
    findings.extend(circles::check(files));
    findings.extend(facts::check(files));
    findings.extend(seam::check(files));
    findings.extend(errors::check(files));
    for file in files {
        findings.extend(text::check_size(&file.path, file.bytes));
        let Some(text) = &file.text else { continue };
        findings.extend(text::check(&file.path, text));
        if file.path.ends_with(".rs") {
            findings.extend(rust::check(&file.path, text));
        }
        if file.path.ends_with(".md") {
            findings.extend(markdown::check_links(&file.path, text, &paths));
        }
    }
    findings
}

/// The files that git tracks or would track and that are there, relative to the workspace.
pub(crate) fn paths(root: &Path) -> Result<Vec<String>, Error> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    // A fresh clone may belong to another user than the one who builds it.
    let output =
        Command::new("git").current_dir(root).args(["-c", "safe.directory=*"]).args(arguments).output();
    let output = output.map_err(|source| Error::Start { program: "git".to_owned(), source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Program { program: "git ls-files".to_owned(), message });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // Tracked but deleted in the working tree, or a link to a directory: no text of ours.
    Ok(text.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}

/// The files of [`paths`] as they are on disk.
fn read_tree(root: &Path) -> Result<Vec<SourceFile>, Error> {
    let mut files = Vec::new();
    for path in paths(root)? {
        let full = root.join(&path);
        let bytes = std::fs::read(&full).map_err(|source| Error::Read { path: full, source })?;
        files.push(SourceFile { path, bytes: bytes.len() as u64, text: String::from_utf8(bytes).ok() });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.len() as u64, text: Some(text.to_owned()) }
    }

    #[test]
    fn a_finding_reads_file_line_rule_message() {
        let finding = Finding::new("a/b.rs", 7, "unsafe", "not here");
        assert_eq!(finding.to_string(), "a/b.rs:7: unsafe: not here");
        assert_eq!(Finding::new("a", 0, "r", "m").to_string(), "a:1: r: m");
    }

    #[test]
    fn rules_are_chosen_by_the_kind_of_file() {
        let bad = "fn f() { println!() }";
        let found = check_files(&[file("crates/host/src/a.rs", bad), file("docs/a.txt", bad)]);
        assert_eq!(
            found.iter().map(|f| (f.file.as_str(), f.rule)).collect::<Vec<_>>(),
            [("crates/host/src/a.rs", "output")]
        );
    }

    #[test]
    fn a_link_may_point_at_a_file_or_a_directory_of_the_tree() {
        let page = file("docs/a.md", "[f](b.md) [d](../crates/host) [gone](c.md)");
        let found = check_files(&[page, file("docs/b.md", ""), file("crates/host/src/lib.rs", "//! Host.")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("c.md"), "{found:?}");
    }

    #[test]
    fn the_tree_of_this_checkout_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let files = match read_tree(root) {
            Ok(files) => files,
            Err(error) => return crate::skip::declare("git-checkout", &error.to_string()),
        };
        assert!(files.iter().any(|file| file.path == "xtask/src/tidy.rs"));
        assert!(!files.iter().any(|file| file.path.starts_with("target/")));
    }
}
