//! `cargo xtask skips`: a test that cannot run says so; this says whether that is acceptable.
//!
//! Tests declare skips with `xtask/support/skip.rs`. The list of capabilities is `docs/capabilities.toml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::{Outcome, error::Error};

const LIST: &str = "docs/capabilities.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    capability: Vec<Capability>,
}

/// Something a test may need and a machine may lack; the fields are explained in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Capability {
    name: String,
    needs: String,
    detect: String,
    ci: bool,
}

/// What the declared skips amount to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Declarations, a skipped test each.
    pub(crate) skipped: u64,
    /// What there is to tell, a line each.
    notes: Vec<String>,
    /// Why the skips are not acceptable; none, if they are.
    problems: Vec<String>,
}

/// `skips FILE` or `skips --probe`.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<Outcome, Error> {
    match arguments {
        [flag] if flag == "--probe" => probe(root),
        [file] => report(root, Path::new(file)).map(|(_, outcome)| outcome),
        _ => Err(Error::Usage("skips FILE | --probe")),
    }
}

/// Prints which capabilities this machine has. What is missing is bad only once a test had to be skipped for it.
pub(crate) fn probe(root: &Path) -> Result<Outcome, Error> {
    for capability in read_list(root)? {
        let present = detect(root, &capability.detect)?;
        let verdict = match (present, in_ci() && capability.ci) {
            (true, _) => "present",
            (false, false) => "missing",
            (false, true) => "MISSING, and a test that needs it fails CI",
        };
        println!("  {:<16} {verdict}: {}", capability.name, capability.needs);
    }
    Ok(Outcome::Good)
}

/// Prints the verdict on the declarations in `file`; none were made where there is no file.
pub(crate) fn report(root: &Path, file: &Path) -> Result<(Verdict, Outcome), Error> {
    let declared = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(Error::Read { path: file.to_owned(), source }),
    };
    let verdict = judge(&read_list(root)?, &declared, in_ci());
    for line in verdict.notes.iter().chain(&verdict.problems) {
        println!("{line}");
    }
    let outcome = Outcome::good_if(verdict.problems.is_empty());
    Ok((verdict, outcome))
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn read_list(root: &Path) -> Result<Vec<Capability>, Error> {
    let path = root.join(LIST);
    let text = std::fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    parse_list(&text).map_err(|source| Error::Capabilities { path, source: Box::new(source) })
}

fn parse_list(text: &str) -> Result<Vec<Capability>, toml::de::Error> {
    toml::from_str::<List>(text).map(|list| list.capability)
}

fn detect(root: &Path, command: &str) -> Result<bool, Error> {
    let mut shell = Command::new("sh");
    shell.current_dir(root).args(["-c", command]);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = shell.status().map_err(|source| Error::Start { program: "sh".to_owned(), source })?;
    Ok(status.success())
}

fn judge(capabilities: &[Capability], declared: &str, in_ci: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in declared.lines().filter(|line| !line.trim().is_empty()) {
        verdict.skipped += 1;
        let parts = line.strip_prefix("skip: ").and_then(|rest| rest.split_once(": "));
        match parts {
            Some((name, reason)) if !reason.trim().is_empty() => {
                reasons.entry(name).or_default().push(reason)
            }
            _ => verdict.problems.push(format!("not of the form 'skip: CAPABILITY: REASON': {line}")),
        }
    }
    for (name, reasons) in reasons {
        let (n, first) = (reasons.len(), reasons[0]);
        let tests = if n == 1 { "1 test".to_owned() } else { format!("{n} tests") };
        match capabilities.iter().find(|capability| capability.name == name) {
            None => verdict
                .problems
                .push(format!("{tests} skipped for '{name}', which {LIST} does not list: {first}")),
            Some(capability) if in_ci && capability.ci => {
                verdict.problems.push(format!("{tests} skipped for {name}, which CI must have: {first}"));
            }
            Some(_) => verdict.notes.push(format!("{tests} skipped for {name}: {first}")),
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::skip;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

    fn capabilities() -> Vec<Capability> {
        let list = "[[capability]]\nname='fio'\nneeds='fio'\ndetect='true'\nci=true\n\
                    [[capability]]\nname='lab'\nneeds='a lab'\ndetect='false'\nci=false\n";
        parse_list(list).expect("a list")
    }

    #[test]
    fn skips_are_counted_and_accepted_outside_of_ci() {
        let verdict =
            judge(&capabilities(), "skip: fio: no fio\nskip: fio: no fio\nskip: lab: none\n", false);
        assert_eq!(verdict.skipped, 3);
        assert_eq!(verdict.problems, [""; 0]);
        assert_eq!(verdict.notes, ["2 tests skipped for fio: no fio", "1 test skipped for lab: none"]);
    }

    #[test]
    fn in_ci_only_what_may_be_missing_is_missing() {
        let verdict = judge(&capabilities(), "skip: fio: no fio\nskip: lab: none\n", true);
        assert_eq!(verdict.problems, ["1 test skipped for fio, which CI must have: no fio"]);
        assert_eq!(verdict.notes, ["1 test skipped for lab: none"]);
    }

    #[test]
    fn an_unlisted_capability_or_a_missing_reason_never_passes() {
        for in_ci in [false, true] {
            assert_eq!(judge(&capabilities(), "skip: moon: full", in_ci).problems.len(), 1);
            assert_eq!(judge(&capabilities(), "skip: fio: ", in_ci).problems.len(), 1);
            assert_eq!(judge(&capabilities(), "could not run", in_ci).problems.len(), 1);
        }
    }

    #[test]
    fn detection_is_the_exit_status_of_a_shell_command() {
        let found = capabilities()
            .iter()
            .map(|c| detect(Path::new(ROOT), &c.detect).expect("sh"))
            .collect::<Vec<_>>();
        assert_eq!(found, [true, false]);
    }

    #[test]
    fn the_committed_list_names_each_capability_once() {
        let list = read_list(Path::new(ROOT)).expect("the list");
        let names: BTreeSet<&str> = list.iter().map(|capability| capability.name.as_str()).collect();
        assert_eq!(names.len(), list.len());
        assert!(list.iter().all(|c| !c.needs.is_empty() && !c.detect.is_empty() && !c.name.contains(": ")));
    }

    #[test]
    fn a_declared_skip_reaches_the_file_that_is_judged() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("skips");
        skip::append(&file, "lab", "two\nlines");
        skip::append(&file, "lab", "again");
        let (verdict, outcome) = report(Path::new(ROOT), &directory.path().join("none")).expect("a verdict");
        assert_eq!((verdict, outcome), (Verdict::default(), Outcome::Good));
        let verdict = judge(&capabilities(), &std::fs::read_to_string(file).expect("the file"), true);
        assert_eq!(
            (verdict.skipped, verdict.notes),
            (2, vec!["2 tests skipped for lab: two lines".to_owned()])
        );
    }
}
