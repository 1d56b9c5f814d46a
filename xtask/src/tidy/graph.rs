//! Which of our crates may depend on which: the drawing in ARCHITECTURE.md, as a table.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Finding;
use crate::error::Error;

/// Crate, and all that it may depend on (as a normal, build or dev dependency).
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("workload", &[]),
    ("results", &["workload"]),
    ("formats", &["workload"]),
    ("fio", &["formats", "results", "workload"]),
    ("vdbench", &["formats", "results", "workload"]),
    ("report", &["results", "workload"]),
    ("tables", &["report", "results", "workload"]),
    ("host", &["results", "workload"]),
    ("conduct", &["results", "workload"]),
    ("engine", &["host", "results", "workload"]),
    ("sim", &["engine", "host", "results", "workload"]),
    ("oltp", &["engine", "host", "results", "workload"]),
    ("mail", &["engine", "host", "results", "workload"]),
    ("runner", &["conduct", "engine", "fio", "formats", "host", "results", "sim", "workload"]),
    ("fleet", &["conduct", "host", "results", "workload"]),
    ("web", &["report", "results", "workload"]),
    ("vm", &[]),
    ("faultfs", &[]),
];

/// What tests need and nothing that is shipped: a dev-dependency of any crate.
const TEST_SUPPORT: &[&str] = &["faultfs"];

/// These join everything and nothing depends on them.
const TOPS: &[&str] = &["cli", "xtask"];

/// Names that say nothing, and so collect everything.
const REFUSED: &[&str] = &["common", "utils", "core", "types"];

/// A member of the workspace, as far as this rule looks.
pub(super) struct Package {
    /// Name without the `assay-` prefix; `cli` for the package `assay`.
    name: String,
    /// The name of its directory.
    directory: String,
    /// Path of its manifest, relative to the workspace.
    manifest: String,
    /// Our crates among its dependencies of all kinds, by short name.
    depends: Vec<String>,
    /// Those of them that are not for its tests only.
    ships: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: String,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: String,
    dependencies: Vec<MetadataDependency>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    /// Set where the dependency is a directory, that is, one of ours.
    path: Option<String>,
    /// `dev`, `build`; none: an ordinary one.
    kind: Option<String>,
}

/// Asks cargo for the members of the workspace.
pub(super) fn packages(root: &Path) -> Result<Vec<Package>, Error> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output =
        Command::new(&cargo).current_dir(root).args(["metadata", "--format-version=1", "--no-deps"]).output();
    let output = output.map_err(|source| Error::Start { program: cargo, source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Program { program: "cargo metadata".to_owned(), message });
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(json: &str) -> Result<Vec<Package>, Error> {
    let metadata: Metadata = serde_json::from_str(json)?;
    let root = Path::new(&metadata.workspace_root);
    let packages = metadata.packages.into_iter().map(|package| {
        let manifest = Path::new(&package.manifest_path);
        let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
        let ships = ours.clone().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
        let ships = ships.map(|dependency| short_name(&dependency.name).to_owned()).collect();
        Package {
            name: short_name(&package.name).to_owned(),
            directory: manifest
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).to_string_lossy().into(),
            depends: ours.map(|dependency| short_name(&dependency.name).to_owned()).collect(),
            ships,
        }
    });
    Ok(packages.collect())
}

fn short_name(package: &str) -> &str {
    if package == "assay" { "cli" } else { package.strip_prefix("assay-").unwrap_or(package) }
}

/// Names and directions.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let mut report =
            |rule, message: String| findings.push(Finding::new(&package.manifest, 0, rule, message));
        let name = package.name.as_str();
        if name != package.directory {
            report("crate-name", format!("the package of {} calls itself {name}", package.directory));
        }
        if REFUSED.contains(&name) {
            report("crate-name", format!("'{name}' says nothing about what belongs in the crate"));
            continue;
        }
        let Some(allowed) = may_depend(name) else {
            report("crate-name", format!("the crate {name} is not in the drawing of the architecture"));
            continue;
        };
        for depends in &package.ships {
            if TEST_SUPPORT.contains(&depends.as_str()) {
                report("dependency-direction", format!("{name} must not ship {depends}, which is for tests"));
            }
        }
        for depends in &package.depends {
            let allowed = allowed.contains(&depends.as_str()) || TEST_SUPPORT.contains(&depends.as_str());
            if !allowed {
                report("dependency-direction", format!("{name} must not depend on {depends}"));
            }
        }
    }
    findings
}

fn may_depend(name: &str) -> Option<Vec<&'static str>> {
    if TOPS.contains(&name) {
        return Some(MAY_DEPEND.iter().map(|(name, _)| *name).collect());
    }
    MAY_DEPEND.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, allowed)| allowed.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, depends: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            directory: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            depends: depends.iter().map(|name| (*name).to_owned()).collect(),
            ships: Vec::new(),
        }
    }

    fn messages(package: Package) -> Vec<String> {
        check(&[package]).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn arrows_that_are_drawn_are_allowed() {
        assert!(messages(package("sim", &["engine", "host", "results", "workload"])).is_empty());
        assert!(messages(package("cli", &["web", "fleet", "oltp", "report", "formats"])).is_empty());
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_a_finding() {
        assert_eq!(messages(package("workload", &["results"])), ["workload must not depend on results"]);
        assert_eq!(messages(package("fleet", &["engine"])), ["fleet must not depend on engine"]);
        assert_eq!(messages(package("engine", &["xtask"])), ["engine must not depend on xtask"]);
        assert_eq!(messages(package("cli", &["cli"])), ["cli must not depend on cli"]);
    }

    #[test]
    fn what_is_for_tests_is_not_shipped() {
        assert!(messages(package("results", &["faultfs"])).is_empty());
        let shipped = Package { ships: vec!["faultfs".to_owned()], ..package("results", &["faultfs"]) };
        assert_eq!(messages(shipped), ["results must not ship faultfs, which is for tests"]);
    }

    #[test]
    fn the_table_has_no_cycle_and_names_only_itself() {
        for (index, (name, allowed)) in MAY_DEPEND.iter().enumerate() {
            for other in *allowed {
                let place = MAY_DEPEND.iter().position(|(crate_name, _)| crate_name == other);
                assert!(place.is_some_and(|place| place < index), "{name} -> {other} points upwards");
            }
        }
    }

    #[test]
    fn unknown_and_empty_names_are_findings() {
        assert!(messages(package("helpers", &[]))[0].contains("not in the drawing"));
        assert!(messages(package("utils", &[]))[0].contains("says nothing"));
        let mut moved = package("host", &[]);
        moved.directory = "hosts".to_owned();
        assert!(messages(moved)[0].contains("calls itself"));
    }

    #[test]
    fn dependencies_of_all_kinds_are_read_from_cargo_and_foreign_crates_left_out() {
        let json = r#"{"workspace_root": "/r", "packages": [{"name": "assay-host",
            "manifest_path": "/r/crates/host/Cargo.toml", "dependencies": [
                {"name": "assay-sim", "kind": "dev", "path": "/r/crates/sim"},
                {"name": "assay", "kind": "build", "path": "/r/crates/cli"},
                {"name": "libc", "kind": null}]}]}"#;
        let packages = parse(json).expect("metadata");
        assert_eq!(packages[0].depends, ["sim", "cli"]);
        let found = check(&packages);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].file, "crates/host/Cargo.toml");
    }
}
