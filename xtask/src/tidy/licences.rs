//! What may be linked into the program: licences that ask for no more than their text, from the registry that `Cargo.lock` has
//! checksums of.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Finding;
use crate::error::Error;

/// Licences whose terms the archive of a release fulfils with their texts.
const ACCEPTED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Where the program is built for; what only others need is not looked at.
const PLATFORMS: &[&str] = &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// A package of `Cargo.lock`.
#[derive(Deserialize)]
pub(super) struct Locked {
    name: String,
    version: String,
    license: Option<String>,
    /// `None`: a directory of ours.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Locked>,
}

/// Asks cargo for everything that the workspace is built from.
pub(super) fn locked(root: &Path) -> Result<Vec<Locked>, Error> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(&cargo);
    command.current_dir(root).args(["metadata", "--format-version=1", "--locked"]);
    for platform in PLATFORMS {
        command.args(["--filter-platform", platform]);
    }
    let output = command.output().map_err(|source| Error::Start { program: cargo, source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Program { program: "cargo metadata".to_owned(), message });
    }
    let metadata: Metadata = serde_json::from_str(&String::from_utf8_lossy(&output.stdout))?;
    Ok(metadata.packages)
}

/// Packages under other licences, and from elsewhere.
pub(super) fn check(packages: &[Locked]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let (name, version) = (&package.name, &package.version);
        let licence = package.license.as_deref().unwrap_or("");
        let mut report = |rule, message: String| findings.push(Finding::new("Cargo.lock", 0, rule, message));
        if !is_accepted(licence) {
            report("licence", format!("{name} {version}: '{licence}' is none of {}", ACCEPTED.join(", ")));
        }
        if package.source.as_deref().is_some_and(|source| source != REGISTRY) {
            report("source", format!("{name} {version} does not come from crates.io"));
        }
    }
    findings
}

/// Whether an SPDX expression lets us choose accepted licences only; a slash is the old way to write OR.
fn is_accepted(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any(&mut rest) == Some(true) && rest.is_empty()
}

/// `None`: it cannot be read.
fn any(rest: &mut &[&str]) -> Option<bool> {
    let mut accepted = all(rest)?;
    while take(rest, "OR") {
        accepted |= all(rest)?;
    }
    Some(accepted)
}

fn all(rest: &mut &[&str]) -> Option<bool> {
    let mut accepted = one(rest)?;
    while take(rest, "AND") {
        accepted &= one(rest)?;
    }
    Some(accepted)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let accepted = any(rest)?;
        return take(rest, ")").then_some(accepted);
    }
    let (name, behind) = rest.split_first()?;
    *rest = behind;
    if take(rest, "WITH") {
        // A licence with an exception is another one.
        let (exception, behind) = rest.split_first()?;
        *rest = behind;
        return Some(ACCEPTED.contains(&format!("{name} WITH {exception}").as_str()));
    }
    Some(ACCEPTED.contains(name))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    let found = rest.first() == Some(&word);
    if found {
        *rest = &rest[1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_weighed() {
        for accepted in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "Unlicense OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "(Apache-2.0 OR MIT) AND BSD-3-Clause",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(is_accepted(accepted), "{accepted}");
        }
        for refused in ["", "GPL-2.0", "MIT AND GPL-2.0", "MPL-2.0 OR LGPL-2.1", "MIT OR", "(MIT", "MIT MIT"]
        {
            assert!(!is_accepted(refused), "{refused}");
        }
    }

    #[test]
    fn what_comes_from_elsewhere_is_found() {
        let package = |license: Option<&str>, source: Option<&str>| Locked {
            name: "one".to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
        };
        let rules = |package| check(&[package]).into_iter().map(|one| one.rule).collect::<Vec<_>>();
        assert!(rules(package(Some("MIT"), Some(REGISTRY))).is_empty());
        assert!(rules(package(Some("MIT"), None)).is_empty());
        assert_eq!(rules(package(None, Some("git+https://example.org/one"))), ["licence", "source"]);
    }
}
