//! `cargo xtask patches`: additions that ARCHITECTURE.md says are small, done.
//!
//! `xtask/patches` holds one addition a file: an engine, an option of fio, a check... Each is applied to a copy of the tree below
//! `target/`, its test is run there, and it is taken back. It touches at most [`FILES_MAX`] files beside documents; one that needs
//! more, or does not apply any more, tells that a seam of the house has moved.
//!
//! A patch begins with what it adds, on one line, and with `Test:` and the arguments of `cargo test` that show it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, error::Error, tidy};

/// Where the patches are, relative to the workspace.
pub(crate) const DIRECTORY: &str = "xtask/patches";
/// Where they are tried: the copy of the tree, and what is built from it.
const COPY: &str = "target/patches/tree";
const BUILT: &str = "target/patches/built";
/// The most files that an addition may touch.
const FILES_MAX: usize = 3;

/// One addition.
#[derive(Debug, PartialEq)]
struct Patch {
    /// What it adds.
    title: String,
    /// Arguments of `cargo test`.
    test: Vec<String>,
    /// The files that it changes, without documents.
    files: BTreeSet<String>,
}

impl Patch {
    /// What the text says; `None`: a part of it is missing.
    fn parse(text: &str) -> Option<Patch> {
        let head = text.split("\ndiff ").next()?;
        let title = head.lines().next().filter(|line| !line.is_empty() && !line.starts_with("diff "))?;
        let test = head.lines().find_map(|line| line.strip_prefix("Test: "))?;
        let path = |line: &str| {
            let path = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))?;
            Some(path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"))?.trim_end().to_owned())
        };
        let files: BTreeSet<String> =
            text.lines().filter_map(path).filter(|path| !is_document(path)).collect();
        (!files.is_empty()).then(|| Patch {
            title: title.to_owned(),
            test: test.split_whitespace().map(str::to_owned).collect(),
            files,
        })
    }
}

/// Pages, and what is generated into them.
fn is_document(path: &str) -> bool {
    path.starts_with("docs/") || path.ends_with(".md")
}

/// Tries every patch, or those whose file names are given, and prints a table.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<Outcome, Error> {
    let mut paths = list(root)?;
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.retain(|path| arguments.is_empty() || arguments.contains(&name(path)));
    if paths.is_empty() {
        return Err(Error::Usage("patches [NAME...], NAMEs of xtask/patches"));
    }
    let copy = root.join(COPY);
    update_copy(root, &copy)?;
    let mut rows = Vec::new();
    let mut good = true;
    for path in &paths {
        let started = Instant::now();
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let Some(patch) = Patch::parse(&text) else {
            println!("{}: has no title, no `Test:` line or no change", path.display());
            good = false;
            continue;
        };
        let verdict = try_one(root, &copy, path, &patch)?;
        good &= verdict == "ok";
        let took_s = started.elapsed().as_secs_f64();
        let row = format!(
            "  {:<16} {:>5}  {took_s:>6.1} s  {verdict}: {}",
            name(path),
            patch.files.len(),
            patch.title
        );
        rows.push(row);
    }
    println!("\n  addition         files     took");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(Outcome::good_if(good))
}

fn list(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let directory = root.join(DIRECTORY);
    let failed = |source| Error::Read { path: directory.clone(), source };
    let entries = std::fs::read_dir(&directory).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths: Vec<PathBuf> = paths.map_err(failed)?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "patch"));
    paths.sort();
    Ok(paths)
}

/// The patches that do not apply to the tree as it is: file names. Nothing is changed, and nothing built.
pub(crate) fn stale(root: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for path in list(root)? {
        let mut command = Command::new("git");
        command.current_dir(root).args(["-c", "safe.directory=*", "apply", "--check"]).arg(&path);
        let output = command.output().map_err(|source| Error::Start { program: "git".to_owned(), source })?;
        if !output.status.success() {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    Ok(names)
}

/// Makes the copy what the tree is. A file that is alike stays as it is, so that little is built again.
fn update_copy(root: &Path, copy: &Path) -> Result<(), Error> {
    let tree = tidy::paths(root)?;
    let here: BTreeSet<&str> = tree.iter().map(String::as_str).collect();
    let mut old = Vec::new();
    files_below(copy, copy, &mut old)?;
    for path in old.iter().filter(|path| !here.contains(path.as_str()) && *path != "Cargo.lock") {
        let path = copy.join(path);
        std::fs::remove_file(&path).map_err(|source| Error::Write { path, source })?;
    }
    for path in &tree {
        let (from, to) = (root.join(path), copy.join(path));
        let bytes = std::fs::read(&from).map_err(|source| Error::Read { path: from, source })?;
        if std::fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        let directory = to.parent().unwrap_or(copy);
        let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&to, bytes));
        written.map_err(|source| Error::Write { path: to, source })?;
    }
    Ok(())
}

/// The files below `directory`, relative to `base`; none where it does not exist.
fn files_below(base: &Path, directory: &Path, found: &mut Vec<String>) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|source| Error::Read { path: directory.to_owned(), source })?.path();
        if path.is_dir() {
            files_below(base, &path, found)?;
        } else if let Ok(relative) = path.strip_prefix(base) {
            found.push(relative.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Applies a patch, runs its test, takes it back; `ok`, or what is wrong.
fn try_one(root: &Path, copy: &Path, path: &Path, patch: &Patch) -> Result<&'static str, Error> {
    if patch.files.len() > FILES_MAX {
        return Ok("TOO MANY FILES");
    }
    if !apply(copy, path, &[])? {
        return Ok("DOES NOT APPLY");
    }
    let tested = test(root, copy, &patch.test);
    // Also where the test could not be run.
    if !apply(copy, path, &["--reverse"])? {
        return Ok("CANNOT BE TAKEN BACK");
    }
    Ok(if tested? { "ok" } else { "TEST FAILS" })
}

fn apply(copy: &Path, path: &Path, options: &[&str]) -> Result<bool, Error> {
    let mut command = Command::new("git");
    // Of the checkout around it git must not know, or it would look for the files there.
    let above: OsString = copy.parent().unwrap_or(copy).into();
    command.current_dir(copy).env("GIT_CEILING_DIRECTORIES", above).env_remove("GIT_DIR");
    let status = command.arg("apply").args(options).arg(path).status();
    Ok(status.map_err(|source| Error::Start { program: "git".to_owned(), source })?.success())
}

/// Runs `cargo test` in the copy; good if a test ran and none failed.
fn test(root: &Path, copy: &Path, arguments: &[String]) -> Result<bool, Error> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(copy).env("CARGO_TARGET_DIR", root.join(BUILT)).stdin(Stdio::null());
    let output = command.args(["test", "--quiet"]).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| Error::Start { program: "cargo test".to_owned(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = passed(&text);
    if !output.status.success() || passed == 0 {
        println!("{text}cargo test {}: {passed} passed", arguments.join(" "));
    }
    Ok(output.status.success() && passed > 0)
}

/// How many tests passed, by what `cargo test` printed.
fn passed(text: &str) -> u64 {
    let count = |line: &str| line.split("ok. ").nth(1)?.split(" passed").next()?.parse::<u64>().ok();
    text.lines().filter(|line| line.starts_with("test result:")).filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "A thing\n\nTest: -p x --lib a::b\n\ndiff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/docs/a.md b/docs/a.md\n--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/n.rs b/n.rs\nnew file mode 100644\n--- /dev/null\n+++ b/n.rs\n@@ -0,0 +1 @@\n+n\n";

    #[test]
    fn files_are_counted_without_documents() {
        let patch = Patch::parse(PATCH).expect("a patch");
        assert_eq!((patch.title.as_str(), patch.test.join(" ").as_str()), ("A thing", "-p x --lib a::b"));
        assert_eq!(patch.files.into_iter().collect::<Vec<_>>(), ["a.rs", "n.rs"]);
        assert_eq!(Patch::parse(&PATCH.replace("Test: ", "")), None);
    }

    #[test]
    fn a_patch_is_applied_and_taken_back_outside_of_any_checkout() {
        let place = tempfile::tempdir().expect("a place");
        let (copy, file) = (place.path().join("tree"), place.path().join("x.patch"));
        let write = |path: &Path, text: &str| std::fs::write(path, text).expect("written");
        std::fs::create_dir_all(copy.join("docs")).expect("made");
        write(&copy.join("a.rs"), "a\n");
        write(&copy.join("docs/a.md"), "a\n");
        write(&file, PATCH);
        assert!(apply(&copy, &file, &[]).expect("git"));
        assert_eq!(std::fs::read_to_string(copy.join("n.rs")).expect("made"), "n\n");
        assert!(!apply(&copy, &file, &[]).expect("git"), "it is there already");
        assert!(apply(&copy, &file, &["--reverse"]).expect("git"));
        assert!(!copy.join("n.rs").exists());
    }

    #[test]
    fn tests_are_counted() {
        assert_eq!(passed("test result: ok. 3 passed; 0 failed;\nx\ntest result: ok. 2 passed;"), 5);
        assert_eq!(passed("test result: FAILED. 3 passed; 1 failed;"), 0);
    }

    #[test]
    fn every_patch_of_the_tree_says_how_it_is_tested() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let paths = list(root).expect("a directory of patches");
        assert!(!paths.is_empty());
        for path in paths {
            let patch = Patch::parse(&std::fs::read_to_string(&path).expect("a patch"));
            assert!(patch.is_some_and(|patch| patch.files.len() <= FILES_MAX), "{}", path.display());
        }
    }
}
