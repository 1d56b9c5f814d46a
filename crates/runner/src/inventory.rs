//! What planning has to know of this system's targets.

use std::path::{Path, PathBuf};

use assay_engine::targets::direct_align;
use assay_engine::{available, choose};
use assay_host::guard::{Class, classify};
use assay_host::{HostRoot, storage_identity};
use assay_results::store::{self, EngineChoice};
use assay_workload::Workload;
use assay_workload::job::EngineKind;
use assay_workload::resolve::{Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};

use crate::error::{RunError, TargetProblem};

/// Looks at every target of `workload`; relative paths are below `directory`. Which engine suits a storage is remembered in
/// `choices`.
///
/// # Errors
/// [`RunError`] naming the target that cannot be used or looked at.
pub fn look_at(
    workload: &Workload,
    directory: &Path,
    engine: Option<EngineKind>,
    host: &HostRoot,
    choices: Option<&Path>,
) -> Result<Inventory, RunError> {
    let mut inventory =
        Inventory { engines: available::available(), engine_override: engine, ..Inventory::default() };
    for target in &workload.targets {
        inventory.targets.insert(target.name.clone(), facts(target, directory, host, choices)?);
    }
    Ok(inventory)
}

/// The absolute path of a target.
pub(crate) fn absolute(path: &str, directory: &Path) -> Result<PathBuf, RunError> {
    let path = directory.join(path);
    std::path::absolute(&path).map_err(|source| RunError::Io { path, source })
}

fn facts(
    target: &Target,
    directory: &Path,
    host: &HostRoot,
    choices: Option<&Path>,
) -> Result<TargetFacts, RunError> {
    if target.kind == Some(TargetKind::Null) {
        return Ok(TargetFacts {
            path: target.path.clone(),
            kind: TargetKind::Null,
            existing_bytes: 0,
            direct_align_bytes: Some(512),
            engine_choice: None,
        });
    }
    let path = absolute(&target.path, directory)?;
    let refused = |source| RunError::Io { path: path.clone(), source };
    let wrong = |problem| RunError::Target { path: path.clone(), problem };
    let (kind, existing_bytes) = match classify(host, &path).map_err(refused)? {
        Class::AssayFile | Class::ForeignFile => {
            (TargetKind::File, std::fs::metadata(&path).map_err(refused)?.len())
        }
        Class::Missing => (target.kind.unwrap_or(TargetKind::File), 0),
        Class::Directory | Class::AssayDirectory => (TargetKind::Directory, 0),
        Class::BlockDevice(_) => (TargetKind::BlockDevice, device_bytes(&path).map_err(refused)?),
        Class::CharDevice { .. } | Class::Special | Class::DanglingLink => {
            return Err(wrong(TargetProblem::Kind));
        }
    };
    if let Some(asked) = target.kind
        && asked != kind
    {
        return Err(wrong(TargetProblem::OtherKind { found: kind, asked }));
    }
    let direct_align_bytes = direct_align(&path);
    // Trees are used through synchronous calls: there is nothing to choose.
    let choice = (kind != TargetKind::Directory)
        .then(|| engine_choice(&path, direct_align_bytes.is_some(), existing_bytes, host, choices))
        .transpose()?;
    let engine_choice = choice.flatten();
    let path = path.to_str().ok_or_else(|| wrong(TargetProblem::NotUtf8))?.to_owned();
    Ok(TargetFacts { path, kind, existing_bytes, direct_align_bytes, engine_choice })
}

/// The engine that suits a target: what was chosen before, so that runs stay comparable, else what a trial says. Memory
/// that cannot be read or written only means another trial.
fn engine_choice(
    path: &Path,
    direct: bool,
    bytes: u64,
    host: &HostRoot,
    choices: Option<&Path>,
) -> Result<Option<EngineChoice>, RunError> {
    let caching = if direct { "direct" } else { "buffered" };
    let storage = storage_identity(host, path).map(|storage| format!("{storage}; {caching}"));
    let memory = choices.zip(storage);
    if let Some((dir, storage)) = &memory
        && let Some(choice) = store::load_engine_choice(dir, storage)
    {
        return Ok(Some(choice));
    }
    let choice = choose::choose(path, direct, bytes)?;
    let choice = choice.map(|choice| [choice.single, choice.several]);
    if let (Some((dir, storage)), Some(choice)) = (&memory, &choice) {
        let _ = store::save_engine_choice(dir, storage, choice);
    }
    Ok(choice)
}

fn device_bytes(path: &Path) -> std::io::Result<u64> {
    use std::io::{Seek as _, SeekFrom};
    std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)))
}
