//! What is audited: a workload made into a plan without a look at its targets, and the array.

use std::collections::BTreeSet;
use std::path::Path;

use assay_formats::near;
use assay_sim::{Model, ModelError, model};
use assay_workload::job::{EngineKind, Workload};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, Plan, scale};

use super::args::AuditArgs;
use crate::context::Context;
use crate::failure::Failure;
use crate::input;
use crate::languages::Format;
use assay_results::store;

/// The seed where none is given: an audit is the same each time.
const SEED_DEFAULT: u64 = 1;

/// Larger files are no models.
const MODEL_BYTES_MAX: u64 = 1 << 20;

/// A workload and its plan.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The file's name.
    pub(crate) name: String,
    /// Its language.
    pub(crate) format: Format,
    pub(crate) workload: Workload,
    pub(crate) plan: Plan,
    /// Targets whose size is not the file's.
    pub(crate) assumed: Vec<String>,
    /// The size they were given.
    pub(crate) size: Bytes,
    seed: Option<u64>,
}

impl Source {
    /// Reads a file. Phases that only prepare a target are left out: they are not what is to be measured.
    pub(super) fn read(file: &Path, args: &AuditArgs, context: &Context) -> Result<Source, Failure> {
        Source::of_input(file, input::read_file(file, &args.reading, None)?, args, context)
    }

    /// As [`Source::read`], of a file that is read.
    pub(super) fn of_input(
        file: &Path,
        input: input::Input,
        args: &AuditArgs,
        context: &Context,
    ) -> Result<Source, Failure> {
        let format = input.format;
        let mut workload = input.accept(false, context)?;
        let prepares = |kind| matches!(kind, PhaseKind::Purge | PhaseKind::Precondition | PhaseKind::Cleanup);
        if workload.phases.iter().any(|phase| !prepares(phase.kind)) {
            workload.phases.retain(|phase| !prepares(phase.kind));
        }
        if let Some(time) = args.runtime {
            scale::override_runtime(&mut workload, time);
        }
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        Source::of(name, format, workload, args.size, args.seed)
    }

    /// Of a workload that is there.
    pub(crate) fn of(
        name: String,
        format: Format,
        workload: Workload,
        size: Bytes,
        seed: Option<u64>,
    ) -> Result<Source, Failure> {
        let (plan, assumed) = planned(&workload, size, seed)?;
        // The storage sees the traffic of all hosts together.
        let plan = plan.on_one_machine();
        Ok(Source { name, format, workload, plan, assumed, size, seed })
    }

    /// The same file with another workload.
    pub(crate) fn with(&self, workload: Workload) -> Result<Source, Failure> {
        Source::of(self.name.clone(), self.format, workload, self.size, self.seed)
    }
}

/// The plan of a workload on targets that are not looked at, for the simulator; and the targets whose size is assumed.
pub(crate) fn planned(
    workload: &Workload,
    size: Bytes,
    seed: Option<u64>,
) -> Result<(Plan, Vec<String>), Failure> {
    planned_for(&[EngineKind::Sim], Some(EngineKind::Sim), workload, size, seed)
}

/// As [`planned`], for these engines, one of which may be that of all jobs.
pub(crate) fn planned_for(
    engines: &[EngineKind],
    engine_override: Option<EngineKind>,
    workload: &Workload,
    size: Bytes,
    seed: Option<u64>,
) -> Result<(Plan, Vec<String>), Failure> {
    let jobs = || workload.phases.iter().flat_map(|phase| &phase.jobs);
    let trees: BTreeSet<&str> =
        jobs().filter(|job| !job.is_blocks()).flat_map(|job| &job.targets).map(String::as_str).collect();
    let mut inventory = Inventory { engines: engines.to_vec(), engine_override, ..Inventory::default() };
    let mut workload = workload.clone();
    workload.seed = seed.or(workload.seed);
    let mut assumed = Vec::new();
    for target in &mut workload.targets {
        let directory = target.kind == Some(TargetKind::Directory) || trees.contains(target.name.as_str());
        let kind = if directory { TargetKind::Directory } else { target.kind.unwrap_or(TargetKind::File) };
        if target.size.is_none_or(|size| size.0 == 0) && !directory {
            target.size = Some(size);
            assumed.push(target.name.clone());
        }
        let facts = TargetFacts {
            path: target.path.clone(),
            kind,
            existing_bytes: target.size.map_or(0, |size| size.0),
            direct_align_bytes: Some(1),
            engine_choice: None,
            direct_refused: None,
        };
        inventory.targets.insert(target.name.clone(), facts);
    }
    let plan = resolve::plan(&workload, &inventory, SEED_DEFAULT).map_err(Failure::usage)?;
    Ok((plan, assumed))
}

/// The array of a name, or of a file.
pub(crate) fn model(name: &str) -> Result<Model, Failure> {
    let unknown = match Model::shipped(name) {
        Err(error @ ModelError::Unknown { .. }) => error,
        other => return other.map_err(Failure::usage),
    };
    let path = Path::new(name);
    if !path.is_file() {
        let hint = near::nearest(name, model::SHIPPED.iter().map(|shipped| shipped.name));
        let hint = hint.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(Failure::usage(format!("{unknown}, and no file of that name{hint}")));
    }
    let failed = |error: std::io::Error| Failure::usage(format!("{name}: {error}"));
    if std::fs::metadata(path).map_err(failed)?.len() > MODEL_BYTES_MAX {
        return Err(Failure::usage(format!("{name} is larger than 1 MiB; that is no array model")));
    }
    let text = store::open_regular(path).and_then(std::io::read_to_string).map_err(failed)?;
    Model::from_toml(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))
}
