//! What planning has to know of this system's targets.

use std::path::{Path, PathBuf};

use assay_conduct::workplace::{Look, Sought};
use assay_engine::targets::direct_align;
use assay_engine::{available, choose};
use assay_host::guard::{Class, check_read, classify};
use assay_host::workdir::is_cut_short;
use assay_host::{HostRoot, storage_identity};
use assay_results::store::{self, EngineChoice};
use assay_workload::Workload;
use assay_workload::block::{FIO_MAGIC, SECTOR_BYTES};
use assay_workload::host::Host;
use assay_workload::job::EngineKind;
use assay_workload::resolve::{Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};

use crate::error::{RunError, TargetProblem};

/// Looks at every target of `workload` that is on this machine; of those on other hosts, what the workload says is taken to hold. Relative paths are below `directory`. Which engine suits a storage is remembered in
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
    let look = |target: &Target| {
        let sought = Sought {
            target: target.clone(),
            leaves_engine_open: workload.leaves_engine_open(target, engine),
        };
        look_at_target(&sought, directory, host, choices)
    };
    if let [] | [_] = &workload.hosts[..]
        && workload.hosts.iter().all(Host::is_local)
    {
        inventory.targets = workload.targets.iter().map(look).collect::<Result<_, RunError>>()?;
        return Ok(inventory);
    }
    for known in &workload.hosts {
        let on_it = workload.targets.iter().map(|target| match known.paths.get(&target.name) {
            Some(path) => Target { path: path.clone(), ..target.clone() },
            None => target.clone(),
        });
        let targets = if known.is_local() {
            on_it.map(|target| look(&target)).collect::<Result<_, RunError>>()?
        } else {
            on_it.map(|target| (target.name.clone(), assumed(&target))).collect()
        };
        inventory.hosts.insert(known.name.clone(), Inventory { targets, ..inventory.clone() });
    }
    Ok(inventory)
}

/// What is taken to hold of a target on a host that was not looked at: that it is what its path looks like, of the size asked
/// for, and takes direct I/O.
fn assumed(target: &Target) -> TargetFacts {
    let device = target.path.starts_with("/dev/");
    let kind = target.kind.unwrap_or(if device { TargetKind::BlockDevice } else { TargetKind::File });
    let size = target.size.map_or(0, |size| size.0);
    TargetFacts {
        path: target.path.clone(),
        kind,
        existing_bytes: if kind == TargetKind::BlockDevice { size } else { 0 },
        direct_align_bytes: Some(512),
        engine_choice: None,
        direct_refused: None,
    }
}

/// What planning elsewhere has to know of this machine.
///
/// # Errors
/// As [`look_at`].
pub(crate) fn look_for(look: &Look, host: &HostRoot, choices: Option<&Path>) -> Result<Inventory, RunError> {
    let looked = look.targets.iter().map(|sought| look_at_target(sought, &look.directory, host, choices));
    Ok(Inventory {
        targets: looked.collect::<Result<_, RunError>>()?,
        engines: available::available(),
        engine_override: look.engine,
        ..Inventory::default()
    })
}

fn look_at_target(
    sought: &Sought,
    directory: &Path,
    host: &HostRoot,
    choices: Option<&Path>,
) -> Result<(String, TargetFacts), RunError> {
    let mut facts = facts(&sought.target, directory, host)?;
    if sought.leaves_engine_open {
        facts.engine_choice = engine_choice(&facts, host, choices)?;
    }
    Ok((sought.target.name.clone(), facts))
}

/// The absolute path of a target.
pub(crate) fn absolute(path: &str, directory: &Path) -> Result<PathBuf, RunError> {
    let path = directory.join(path);
    std::path::absolute(&path).map_err(|source| RunError::Io { path, source })
}

fn facts(target: &Target, directory: &Path, host: &HostRoot) -> Result<TargetFacts, RunError> {
    if target.kind == Some(TargetKind::Null) {
        return Ok(TargetFacts {
            path: target.path.clone(),
            kind: TargetKind::Null,
            existing_bytes: 0,
            direct_align_bytes: Some(512),
            engine_choice: None,
            direct_refused: None,
        });
    }
    let path = absolute(&target.path, directory)?;
    // Before anything of it is read.
    check_read(host, &path)?;
    let refused = |source| RunError::Io { path: path.clone(), source };
    let wrong = |problem| RunError::Target { path: path.clone(), problem };
    let (kind, existing_bytes) = match classify(host, &path).map_err(refused)? {
        // A run was killed that wrote it: nothing is known of what is in it.
        Class::AssayFile | Class::ChangedFile if target.size.is_some() && is_cut_short(&path) => {
            (TargetKind::File, 0)
        }
        Class::AssayFile | Class::ChangedFile | Class::ForeignFile => {
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
    let (direct_align_bytes, direct_refused) = match direct_align(&path) {
        Ok(align) => (align, None),
        Err(error) => (None, Some(refused_words(&path, &error))),
    };
    let path = path.to_str().ok_or_else(|| wrong(TargetProblem::NotUtf8))?.to_owned();
    Ok(TargetFacts { path, kind, existing_bytes, direct_align_bytes, engine_choice: None, direct_refused })
}

/// Why nothing may be opened at a path, or made in the directory that it would be in.
fn refused_words(path: &Path, error: &std::io::Error) -> String {
    match path.ancestors().find(|place| place.is_dir()) {
        Some(directory) if directory == path || !path.exists() => {
            format!("cannot make a file in {}: {error}", directory.display())
        }
        _ => format!("cannot open {}: {error}", path.display()),
    }
}

/// The engine that suits a target: what was chosen before, so that runs stay comparable, else what a trial says. Memory
/// that cannot be read or written only means another trial.
fn engine_choice(
    facts: &TargetFacts,
    host: &HostRoot,
    choices: Option<&Path>,
) -> Result<Option<EngineChoice>, RunError> {
    // Trees are used through synchronous calls, and null targets through none: there is nothing to choose.
    if !matches!(facts.kind, TargetKind::File | TargetKind::BlockDevice) {
        return Ok(None);
    }
    let (path, direct) = (Path::new(&facts.path), facts.direct_align_bytes.is_some());
    let caching = if direct { "direct" } else { "buffered" };
    let storage = storage_identity(host, path).map(|storage| format!("{storage}; {caching}"));
    let memory = choices.zip(storage);
    if let Some((dir, storage)) = &memory
        && let Some(choice) = store::load_engine_choice(dir, storage)
    {
        return Ok(Some(choice));
    }
    let choice = choose::choose(path, direct, facts.existing_bytes)?;
    let choice = choice.map(|choice| [choice.single, choice.several]);
    if let (Some((dir, storage)), Some(choice)) = (&memory, &choice) {
        let _ = store::save_engine_choice(dir, storage, choice);
    }
    Ok(choice)
}

/// What a target has before a run: a file its length, one that does not exist nothing, a device its size.
pub fn bytes_of(path: &Path) -> Option<u64> {
    use std::os::unix::fs::FileTypeExt as _;
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Some(meta.len()),
        Ok(meta) if meta.file_type().is_block_device() => device_bytes(path).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(0),
        _ => None,
    }
}

/// Looked at for the first sector that is not empty.
const LOOKED_AT_BYTES: usize = 1 << 20;

/// Whether the first data of a file or device, not far behind this place, begins with a header of fio's `verify=`.
pub fn holds_fio_header(path: &Path, offset_bytes: u64) -> bool {
    use std::os::unix::fs::FileExt as _;
    if bytes_of(path).is_none_or(|bytes| bytes <= offset_bytes) {
        return false;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let (mut bytes, mut length) = (vec![0; LOOKED_AT_BYTES], 0);
    while let Ok(more @ 1..) = file.read_at(&mut bytes[length..], offset_bytes + length as u64) {
        length += more;
    }
    let mut sectors = bytes[..length].chunks(SECTOR_BYTES);
    sectors
        .find(|sector| sector.iter().any(|byte| *byte != 0))
        .is_some_and(|first| first.starts_with(&FIO_MAGIC))
}

fn device_bytes(path: &Path) -> std::io::Result<u64> {
    use std::io::{Seek as _, SeekFrom};
    std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)))
}
