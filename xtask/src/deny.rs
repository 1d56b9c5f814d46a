//! `cargo deny`, where it is installed: licences and sources once more, by another tool than `tidy`, and advisories where a database of them is at hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, error::Error};

/// What is checked without a network.
const CHECKS: &[&str] = &["licenses", "bans", "sources"];

/// Checks the packages of the workspace. Where there is no cargo-deny, or not all packages are here, nothing is checked, and that is said.
pub(crate) fn command(root: &Path) -> Result<Outcome, Error> {
    let installed = cargo(root, &["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !installed.is_ok_and(|status| status.success()) {
        println!(
            "cargo-deny is not installed (cargo install cargo-deny --locked): licences and sources were checked by tidy alone"
        );
        return Ok(Outcome::Good);
    }
    // It wants the packages of all platforms.
    if !run(cargo(root, &["fetch", "--locked", "--quiet"]))? {
        println!("not all packages are here, and they could not be had: cargo-deny was not run");
        return Ok(Outcome::Good);
    }
    let advisories = has_advisories();
    if !advisories {
        println!("there is no database of advisories here: they are not checked");
    }
    let checks = CHECKS.iter().copied().chain(advisories.then_some("advisories"));
    let words: Vec<&str> = ["deny", "--offline", "check"].into_iter().chain(checks).collect();
    Ok(Outcome::good_if(run(cargo(root, &words))?))
}

/// Whether a database that an earlier `cargo deny fetch` got is there.
fn has_advisories() -> bool {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = cargo.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let databases = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    databases.into_iter().flatten().flatten().any(|entry| entry.path().join(".git").exists())
}

fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.current_dir(root).args(words).stdin(Stdio::null());
    command
}

fn run(mut command: Command) -> Result<bool, Error> {
    let status = command.status().map_err(|source| Error::Start { program: "cargo".to_owned(), source })?;
    Ok(status.success())
}
