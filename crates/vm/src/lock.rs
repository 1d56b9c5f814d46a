//! Which packages an image is made of: names, versions and checksums, so that two builds are the same.

use serde::{Deserialize, Serialize};

/// What Assay was tried with.
pub const SHIPPED: &str = include_str!("../vm.lock.toml");

/// The packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// In the order of their names.
    pub package: Vec<Package>,
}

/// A package of Debian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// Reads a lock.
///
/// # Errors
/// Where it is none, and why.
pub fn parse(text: &str) -> Result<Lock, toml::de::Error> {
    toml::from_str(text)
}

impl Lock {
    /// As a file.
    pub fn text(&self) -> String {
        let packages = self.package.iter().map(|package| {
            let Package { name, version, sha256 } = package;
            format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsha256 = \"{sha256}\"\n")
        });
        let head =
            "# Written by 'assay vm build --update-lock': the Debian packages that an image is made of.\n";
        std::iter::once(head.to_owned()).chain(packages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_lock_is_read_and_written_alike() {
        let lock = parse(SHIPPED).expect("a lock");
        assert_eq!(lock.text(), SHIPPED);
        assert!(lock.package.iter().any(|package| package.name.starts_with("linux-image-")));
        assert!(lock.package.iter().all(|package| package.sha256.len() == 64));
        assert!(parse("[[package]]\nname = \"x\"").is_err());
    }
}
