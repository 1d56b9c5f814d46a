//! Which engine was chosen for a storage, one file each: the choice is made by a trial, and runs that shall be compared
//! must not depend on how the trial went that day.

use std::fs;
use std::path::{Path, PathBuf};

use assay_workload::job::EngineKind;
use serde::{Deserialize, Serialize};

use super::{Layout, StoreError, read_regular, write_json_atomically};

/// The file format.
const SCHEMA: &str = "assay.engine-choice/1";

/// A choice: for one outstanding I/O and for several the engine, and why.
pub type EngineChoice = [(EngineKind, String); 2];

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: String,
    storage: String,
    choice: EngineChoice,
}

/// The choice that was remembered for a storage. A file that cannot be read counts as none.
pub fn load_engine_choice(dir: &Path, storage: &str) -> Option<EngineChoice> {
    let record: Record = serde_json::from_slice(&read_regular(&path_of(dir, storage)).ok()?).ok()?;
    (record.schema == SCHEMA && record.storage == storage).then_some(record.choice)
}

/// Remembers a choice in `dir`, which is made where it is missing.
///
/// # Errors
/// When writing fails.
pub fn save_engine_choice(dir: &Path, storage: &str, choice: &EngineChoice) -> Result<(), StoreError> {
    fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
    let record = Record { schema: SCHEMA.to_owned(), storage: storage.to_owned(), choice: choice.clone() };
    write_json_atomically(&path_of(dir, storage), &record, Layout::Pretty)
}

/// The name is a hash (FNV-1a) because mount points and sources hold slashes; the file itself says what it is about.
fn path_of(dir: &Path, storage: &str) -> PathBuf {
    let hash = storage
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    dir.join(format!("{hash:016x}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_remembered_and_damage_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path().join("engines");
        let storage = "linux 6.12.0; tmpfs of tmpfs at /dev/shm";
        let choice = [(EngineKind::Psync, "a".to_owned()), (EngineKind::Libaio, "b".to_owned())];
        assert_eq!(load_engine_choice(&dir, storage), None);
        save_engine_choice(&dir, storage, &choice).unwrap();
        assert_eq!(load_engine_choice(&dir, storage), Some(choice.clone()));
        assert_eq!(load_engine_choice(&dir, "linux 6.13.0; tmpfs of tmpfs at /dev/shm"), None);
        fs::write(path_of(&dir, storage), "{").unwrap();
        assert_eq!(load_engine_choice(&dir, storage), None);
        save_engine_choice(&dir, storage, &choice).unwrap();
        assert_eq!(load_engine_choice(&dir, storage), Some(choice));
    }
}
