//! A run as one file to give away, and such a file as a run again.
//!
//! A tar archive (ustar) that begins with a manifest: the name, length and CRC-32C of every file behind it. What is read comes from
//! others: only plain files of known names are taken, each once, of the length and checksum that the manifest says, so that no name leads
//! elsewhere; the run must be readable before anything is made.

mod anonymous;
mod tar;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{JOURNAL_FILE, PLAN_FILE, RUN_FILE, RunDir, SERIES_FILE, StoreError, open_regular};
use crate::run::{Run, SCHEMA};
use crate::series::SeriesReader;

/// The schema of the manifest.
const BUNDLE_SCHEMA: &str = "assay.bundle/1";
/// The name of the manifest, the first file.
const MANIFEST_FILE: &str = "assay-bundle.json";
/// The files of a run that go along. The page is made again from them.
const FILES: [&str; 4] = [PLAN_FILE, JOURNAL_FILE, SERIES_FILE, RUN_FILE];
/// A larger bundle is neither made nor read, bytes.
pub const BUNDLE_BYTES_MAX: u64 = 512 << 20;

/// Ids of runs are not longer, characters: they are part of a directory's name.
const ID_CHARS_MAX: usize = 64;

/// Why a file cannot be taken for a run.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is not what it should be.
    #[error("not a usable bundle of a run: {0}")]
    Refused(String),
    /// It, or the run that it would be made of, is too large.
    #[error("larger than {} MiB", BUNDLE_BYTES_MAX >> 20)]
    TooLarge,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    schema: String,
    id: String,
    files: Vec<ManifestFile>,
}

#[derive(Serialize, Deserialize)]
struct ManifestFile {
    name: String,
    bytes: u64,
    crc32c: u32,
}

/// So many bytes of a file tell whether it is a bundle.
pub const BUNDLE_HEAD_BYTES: usize = MANIFEST_FILE.len();

/// Whether a file that begins so, [`BUNDLE_HEAD_BYTES`] long, is a bundle.
pub fn is_bundle(head: &[u8]) -> bool {
    head.starts_with(MANIFEST_FILE.as_bytes())
}

/// The bundle of a stored run. Without host, what identifies its machines and who used them is dropped or replaced by numbers in
/// everything that is told of the run, and its journal, which has it as well, stays behind. [`what_remains`] says what is still told.
///
/// # Errors
/// When a file cannot be read, or all of them are too large.
pub fn export_run(directory: &Path, run: &Run, without_host: bool) -> Result<Vec<u8>, BundleError> {
    let refused = |error: serde_json::Error| BundleError::Refused(error.to_string());
    let value = if without_host { anonymous::document(run) } else { serde_json::to_value(run) };
    let value = value.map_err(refused)?;
    let plan = serde_json::to_vec_pretty(&value["plan"]).map_err(refused)?;
    let mut files = vec![
        (RUN_FILE.to_owned(), serde_json::to_vec(&value).map_err(refused)?),
        (PLAN_FILE.to_owned(), plan),
    ];
    let more = if without_host { &[SERIES_FILE][..] } else { &[SERIES_FILE, JOURNAL_FILE] };
    for name in more {
        if let Some(content) = read(&directory.join(name))? {
            files.push(((*name).to_owned(), content));
        }
    }
    let of = |(name, content): &(String, Vec<u8>)| ManifestFile {
        name: name.clone(),
        bytes: content.len() as u64,
        crc32c: crc32c::crc32c(content),
    };
    let manifest = Manifest {
        schema: BUNDLE_SCHEMA.to_owned(),
        id: run.id.clone(),
        files: files.iter().map(of).collect(),
    };
    let manifest = serde_json::to_vec_pretty(&manifest).map_err(refused)?;
    files.insert(0, (MANIFEST_FILE.to_owned(), manifest));
    let total: usize = files.iter().map(|(_, content)| content.len()).sum();
    if total as u64 > BUNDLE_BYTES_MAX / 2 {
        return Err(BundleError::TooLarge);
    }
    Ok(tar::write(&files))
}

/// What a bundle without host still tells of the machine and its user, as the end of a sentence.
pub fn what_remains(run: &Run) -> String {
    anonymous::what_remains(run)
}

/// A file of the run; `None`: it has none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, BundleError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", path)(error).into()),
    };
    let mut content = Vec::new();
    let limited = &mut std::io::Read::take(file, BUNDLE_BYTES_MAX + 1);
    std::io::Read::read_to_end(limited, &mut content).map_err(StoreError::io("read", path))?;
    if content.len() as u64 > BUNDLE_BYTES_MAX { Err(BundleError::TooLarge) } else { Ok(Some(content)) }
}

/// What a bundle holds, checked.
#[derive(Debug)]
pub struct Bundle {
    /// The run.
    pub run: Run,
    files: Vec<(String, Vec<u8>)>,
}

impl Bundle {
    /// Reads and checks one; nothing is written.
    ///
    /// # Errors
    /// [`BundleError::Refused`] with what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, BundleError> {
        if bytes.len() as u64 > BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge);
        }
        let refused = |what: String| BundleError::Refused(what);
        let mut entries = tar::read(bytes).map_err(|what| refused(what.to_owned()))?.into_iter();
        let (_, manifest) = entries
            .next()
            .filter(|entry| entry.0 == MANIFEST_FILE)
            .ok_or_else(|| refused(format!("the first file is not {MANIFEST_FILE}")))?;
        let manifest: Manifest =
            serde_json::from_slice(manifest).map_err(|error| refused(format!("{MANIFEST_FILE}: {error}")))?;
        if manifest.schema != BUNDLE_SCHEMA {
            return Err(refused(format!("schema '{}'; readable: {BUNDLE_SCHEMA}", manifest.schema)));
        }
        let files: Vec<(&str, &[u8])> = entries.collect();
        check_files(&manifest, &files).map_err(refused)?;
        let run =
            files.iter().find(|file| file.0 == RUN_FILE).ok_or_else(|| refused(format!("no {RUN_FILE}")))?;
        let run: Run =
            serde_json::from_slice(run.1).map_err(|error| refused(format!("{RUN_FILE}: {error}")))?;
        let is_id = (1..=ID_CHARS_MAX).contains(&run.id.len())
            && run.id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            // The word for the newest run.
            && run.id != "last";
        if run.schema != SCHEMA || run.id != manifest.id || !is_id {
            return Err(refused(format!("{RUN_FILE}: schema '{}', id '{}'", run.schema, run.id)));
        }
        if let Some((_, series)) = files.iter().find(|file| file.0 == SERIES_FILE) {
            SeriesReader::open(*series).map_err(|error| refused(format!("{SERIES_FILE}: {error}")))?;
        }
        let files = files.into_iter().map(|(name, content)| (name.to_owned(), content.to_owned())).collect();
        Ok(Bundle { run, files })
    }

    /// Stores the run below `root`, in a directory of its own.
    ///
    /// # Errors
    /// When the directory is there already, or something cannot be written; then nothing of it stays.
    pub fn store(&self, root: &Path) -> Result<RunDir, StoreError> {
        let directory = RunDir::create(root, &self.run.started, &self.run.name, &self.run.id)?;
        let written = self.files.iter().try_for_each(|(name, content)| {
            let path = directory.path().join(name);
            let file = fs::OpenOptions::new().write(true).create_new(true).open(&path);
            file.and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
                .map_err(StoreError::io("write", &path))
        });
        if written.is_err() {
            for (name, _) in &self.files {
                let _ = fs::remove_file(directory.path().join(name));
            }
            let _ = fs::remove_dir(directory.path());
        }
        written.map(|()| directory)
    }
}

/// Known names, each once, and each as the manifest says.
fn check_files(manifest: &Manifest, files: &[(&str, &[u8])]) -> Result<(), String> {
    if manifest.files.len() != files.len() {
        return Err(format!("{} files, but {} in the manifest", files.len(), manifest.files.len()));
    }
    for (index, (name, content)) in files.iter().enumerate() {
        if !FILES.contains(name) {
            return Err(format!("unexpected file '{}'", name.escape_default()));
        }
        if files[..index].iter().any(|other| other.0 == *name) {
            return Err(format!("{name} is there twice"));
        }
        let said = manifest.files.iter().find(|file| file.name == *name);
        let said = said.ok_or_else(|| format!("{name} is not in the manifest"))?;
        if said.bytes != content.len() as u64 || said.crc32c != crc32c::crc32c(content) {
            return Err(format!("{name} is damaged: its length or checksum is not that of the manifest"));
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "samples"))]
mod tests;
