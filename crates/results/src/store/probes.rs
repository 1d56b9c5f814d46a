//! Probes as files `ID.json` in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Layout, StoreError, read_regular, write_json_atomically};
use crate::probe::{Probe, SCHEMA};

/// Keeps a probe in `dir`, which is made where it is missing. Answers the path.
///
/// # Errors
/// When writing fails.
pub fn save_probe(dir: &Path, probe: &Probe) -> Result<PathBuf, StoreError> {
    fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
    let path = dir.join(format!("{}.json", probe.id));
    write_json_atomically(&path, probe, Layout::Pretty)?;
    Ok(path)
}

/// The probe of that id or that beginning of one, or in the file of that path.
///
/// # Errors
/// When there is none or several, or the file is not readable.
pub fn load_probe(dir: &Path, wanted: &str) -> Result<Probe, StoreError> {
    if wanted.contains('/') || wanted.ends_with(".json") {
        return read(Path::new(wanted));
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| {
        path.extension().is_some_and(|extension| extension == "json")
            && path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with(wanted))
    });
    match found.as_slice() {
        [] => Err(StoreError::NoProbe { wanted: wanted.to_owned(), dir: dir.to_owned() }),
        [path] => read(path),
        several => Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates: several.iter().take(5).map(|path| path.display().to_string()).collect(),
        }),
    }
}

fn read(path: &Path) -> Result<Probe, StoreError> {
    let bytes = read_regular(path).map_err(StoreError::io("read", path))?;
    let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
    let probe: Probe = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if probe.schema != SCHEMA {
        return Err(damaged(format!("schema '{}' is not that of a probe, {SCHEMA}", probe.schema)));
    }
    Ok(probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_found_by_the_beginning_of_its_id() {
        let directory = tempfile::tempdir().unwrap();
        let probe = |id: &str| Probe { schema: SCHEMA.to_owned(), id: id.to_owned(), ..Probe::default() };
        for id in ["ab12", "ab34", "cd56"] {
            save_probe(directory.path(), &probe(id)).unwrap();
        }
        assert_eq!(load_probe(directory.path(), "cd").unwrap(), probe("cd56"));
        assert!(matches!(load_probe(directory.path(), "ab"), Err(StoreError::Ambiguous { .. })));
        assert!(matches!(load_probe(directory.path(), "x"), Err(StoreError::NoProbe { .. })));
        let path = directory.path().join("other.json");
        fs::write(&path, "{\"schema\":\"x/1\"}").unwrap();
        assert!(matches!(
            load_probe(directory.path(), path.to_str().unwrap()),
            Err(StoreError::Damaged { .. })
        ));
    }
}
