//! What planning has to know of this system's targets.

use std::path::{Path, PathBuf};

use assay_engine::targets::direct_align;
use assay_engine::{available, choose};
use assay_host::HostRoot;
use assay_host::guard::{Class, classify};
use assay_workload::Workload;
use assay_workload::job::EngineKind;
use assay_workload::resolve::{Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};

use crate::failure::Failure;

/// Looks at every target of `workload`; relative paths are below `directory`.
pub(crate) fn look_at(
    workload: &Workload,
    directory: &Path,
    engine: Option<EngineKind>,
    host: &HostRoot,
) -> Result<Inventory, Failure> {
    let mut inventory =
        Inventory { engines: available::available(), engine_override: engine, ..Inventory::default() };
    for target in &workload.targets {
        inventory.targets.insert(target.name.clone(), facts(target, directory, host)?);
    }
    Ok(inventory)
}

/// The absolute path of a target.
pub(crate) fn absolute(path: &str, directory: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(directory.join(path)).map_err(|error| Failure::failed(format!("{path}: {error}")))
}

fn facts(target: &Target, directory: &Path, host: &HostRoot) -> Result<TargetFacts, Failure> {
    if target.kind == Some(TargetKind::Null) {
        let path = target.path.clone();
        return Ok(TargetFacts {
            path,
            kind: TargetKind::Null,
            existing_bytes: 0,
            direct_align_bytes: Some(512),
            engine_choice: None,
        });
    }
    let path = absolute(&target.path, directory)?;
    let shown = path.display();
    let class = classify(host, &path).map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let (kind, existing_bytes) = match class {
        Class::AssayFile | Class::ForeignFile => {
            let meta =
                std::fs::metadata(&path).map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
            (TargetKind::File, meta.len())
        }
        Class::Missing => (target.kind.unwrap_or(TargetKind::File), 0),
        Class::Directory | Class::AssayDirectory => (TargetKind::Directory, 0),
        Class::BlockDevice(_) => (TargetKind::BlockDevice, device_bytes(&path)?),
        Class::CharDevice { .. } | Class::Special | Class::DanglingLink => {
            return Err(Failure::usage(format!("{shown} is neither a file nor a block device")));
        }
    };
    if let Some(asked) = target.kind
        && asked != kind
    {
        return Err(Failure::usage(format!("{shown} is a {kind:?}, not a {asked:?}")));
    }
    let direct_align_bytes = direct_align(&path);
    let choice =
        choose::choose(&path, direct_align_bytes.is_some(), existing_bytes).map_err(Failure::failed)?;
    let engine_choice = choice.map(|choice| [choice.single, choice.several]);
    let path = path.to_str().map(str::to_owned);
    let path = path.ok_or_else(|| Failure::usage(format!("{shown} is not valid UTF-8")))?;
    Ok(TargetFacts { path, kind, existing_bytes, direct_align_bytes, engine_choice })
}

fn device_bytes(path: &Path) -> Result<u64, Failure> {
    use std::io::{Seek as _, SeekFrom};
    let size = std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    size.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}
