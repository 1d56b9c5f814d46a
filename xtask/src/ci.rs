//! `cargo xtask ci`: every check and test of the workspace, a stage after the other. `make test` runs it after
//! having installed what the tests need; a stage that fails does not keep the others from running, but
//! without a build there are no tests.

mod totals;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Outcome, error::Error, skips, tidy};
use totals::Totals;

/// Where the tests of this run declare what they skip, relative to the workspace.
const SKIPS: &str = "target/skips.txt";

const FMT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const BUILD: &[&str] = &["build", "--workspace", "--all-targets"];
const TEST: &[&str] = &["test", "--workspace", "--no-fail-fast"];

/// A stage that has run.
struct Done {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

/// Runs all stages, then prints how long each took, what failed, and `N passed, N failed, N skipped`.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<Outcome, Error> {
    if !arguments.is_empty() {
        return Err(Error::Usage("ci"));
    }
    let skips_file = root.join(SKIPS);
    let made = std::fs::create_dir_all(root.join("target")).and_then(|()| std::fs::write(&skips_file, ""));
    made.map_err(|source| Error::Write { path: skips_file.clone(), source })?;
    let mut totals = Totals::default();
    let mut skipped = 0;
    let mut stages = vec![
        stage("capabilities", || skips::probe(root))?,
        stage("fmt", || cargo(root, FMT))?,
        stage("tidy", || tidy::command(root, &[]))?,
        stage("clippy", || cargo(root, CLIPPY))?,
        stage("build", || cargo(root, BUILD))?,
    ];
    // The compiler's errors are printed already.
    if stages.iter().any(|done| done.name == "build" && done.outcome == Outcome::Good) {
        stages.push(stage("test", || test(root, &skips_file, &mut totals))?);
        stages.push(stage("skips", || {
            let (verdict, outcome) = skips::report(root, &skips_file)?;
            skipped = verdict.skipped;
            Ok(outcome)
        })?);
    }
    println!("\n== summary");
    for done in &stages {
        let verdict = if done.outcome == Outcome::Good { "ok" } else { "FAILED" };
        println!("  {:<14} {:>7.1} s  {verdict}", done.name, done.took.as_secs_f64());
    }
    for failure in totals.failures() {
        println!("  FAILED {failure}");
    }
    println!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.ignored + skipped);
    Ok(Outcome::good_if(stages.iter().all(|done| done.outcome == Outcome::Good)))
}

fn stage(name: &'static str, run: impl FnOnce() -> Result<Outcome, Error>) -> Result<Done, Error> {
    println!("\n== {name}");
    let started = Instant::now();
    let outcome = run()?;
    let took = started.elapsed();
    println!("== {name}: {:.1} s", took.as_secs_f64());
    Ok(Done { name, took, outcome })
}

fn cargo_command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(root).args(arguments).stdin(Stdio::null());
    command
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<Outcome, Error> {
    let status = cargo_command(root, arguments).status();
    let status = status.map_err(|source| Error::Start { program: "cargo".to_owned(), source })?;
    Ok(Outcome::good_if(status.success()))
}

/// Runs the tests, passing their output through and adding it up.
fn test(root: &Path, skips_file: &Path, totals: &mut Totals) -> Result<Outcome, Error> {
    let mut command = cargo_command(root, TEST);
    let child = command.env("ASSAY_SKIPS", skips_file).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|source| Error::Start { program: "cargo test".to_owned(), source })?;
    let failed = |source| Error::Output { program: "cargo test".to_owned(), source };
    if let Some(output) = child.stdout.take() {
        // Bytes, since a test may print anything.
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(failed)?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            totals.add(&line);
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok(Outcome::good_if(status.success() && totals.failed == 0))
}
