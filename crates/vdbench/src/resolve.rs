//! What the workloads of one run are, after the run's own settings and loops are applied.

use super::access::{Amount, OpenFlags, Seek, Sizes};
use super::args::to_u64;
use super::expand::ExpandedRun;
use super::file::ParameterFile;
use super::loops::{LoopKind, LoopValue, loop_u64};
use super::run::RunDef;
use super::{FileSystemDef, FileWorkloadDef, StorageDef, WorkloadDef};

/// One workload of a run, on the targets it uses there.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWorkload {
    /// The definition with the run's loops applied.
    pub workload: WorkloadDef,
    /// Indices of the storage definitions it uses.
    pub storages: Vec<usize>,
    /// Share of the rate in percent, what is left shared out.
    pub share_pct: f64,
}

/// One file workload of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFileWorkload {
    /// The definition with the run's loops and operations applied.
    pub workload: FileWorkloadDef,
    /// The trees it uses, with the run's loops applied.
    pub file_systems: Vec<FileSystemDef>,
    /// Share of the rate in percent.
    pub share_pct: f64,
}

/// The workload definitions of a run; the defaults where the run names storage definitions only.
pub(crate) fn workloads<'f>(file: &'f ParameterFile, rd: &'f RunDef) -> Vec<&'f WorkloadDef> {
    if rd.workloads.is_empty() {
        let own = rd.storages.is_some() || rd.storage_choice != super::StorageChoice::Together;
        return if own { vec![&file.default_workload] } else { Vec::new() };
    }
    rd.workloads.iter().filter_map(|i| file.workloads.get(*i)).collect()
}

/// The storage definitions that a run uses, each once, in file order.
pub(crate) fn used_storages(file: &ParameterFile, rd: &RunDef) -> Vec<usize> {
    let mut all: Vec<usize> = match &rd.storages {
        Some(own) => own.clone(),
        None => workloads(file, rd).iter().flat_map(|wd| wd.storages.iter().copied()).collect(),
    };
    all.sort_unstable();
    all.dedup();
    if all.is_empty() && rd.storage_choice != super::StorageChoice::Together {
        all = (0..file.storages.len()).collect();
    }
    all
}

/// Any skew, priority or rate of a workload makes a run controlled.
pub(crate) fn is_controlled(file: &ParameterFile, rd: &RunDef) -> bool {
    workloads(file, rd).iter().any(|wd| wd.skew > 0.0 || wd.rate.is_some() || wd.priority.is_some())
}

/// Shares in percent: what is not asked for is split equally among the rest. `None` where they do not sum to 100.
pub(crate) fn shares(asked: &[f64]) -> Result<Vec<f64>, f64> {
    const TOLERANCE: f64 = 0.0001;
    let sum: f64 = asked.iter().sum();
    let open = asked.iter().filter(|s| **s == 0.0).count();
    let left = 100.0 - sum;
    if left < -TOLERANCE || (open == 0 && left > TOLERANCE) || (open > 0 && left <= TOLERANCE) {
        return Err(sum);
    }
    let each = if open > 0 { left / open as f64 } else { 0.0 };
    Ok(asked.iter().map(|s| if *s == 0.0 { each } else { *s }).collect())
}

/// The workloads of a raw run with everything applied.
#[must_use]
pub fn storage_workloads(file: &ParameterFile, run: &ExpandedRun) -> Vec<RunWorkload> {
    let Some(rd) = run.definition.and_then(|i| file.runs.get(i)) else {
        return Vec::new();
    };
    let definitions = workloads(file, rd);
    let skews: Vec<f64> = definitions.iter().map(|wd| wd.skew).collect();
    let shares = shares(&skews).unwrap_or_else(|_| vec![0.0; skews.len()]);
    let used = used_storages(file, rd);
    let set = run.storage_set.map(|(first, n)| &used[first.min(used.len())..(first + n).min(used.len())]);
    definitions
        .iter()
        .zip(shares)
        .map(|(wd, share_pct)| {
            let mut workload = (*wd).clone();
            for (kind, value) in &run.loops {
                apply_loop(&mut workload, *kind, *value);
            }
            let storages = match (set, &rd.storages) {
                (Some(set), _) => set.to_vec(),
                (None, Some(own)) => own.clone(),
                (None, None) => wd.storages.clone(),
            };
            RunWorkload { workload, storages, share_pct }
        })
        .collect()
}

fn apply_loop(wd: &mut WorkloadDef, kind: LoopKind, value: LoopValue) {
    let LoopValue::Number(number) = value else { return };
    let v = number.value;
    match kind {
        LoopKind::TransferSize => wd.transfer = Sizes::Fixed(to_u64(v)),
        LoopKind::ReadPct => wd.read_pct = v.trunc(),
        LoopKind::ReadHitPct => wd.read_hit_pct = v,
        LoopKind::WriteHitPct => wd.write_hit_pct = v,
        LoopKind::SeekPct if v < 0.0 => wd.seek = Seek::UntilEnd,
        LoopKind::SeekPct if v == 0.0 => wd.seek = Seek::Sequential,
        LoopKind::SeekPct => wd.seek = Seek::Random(v),
        _ => {}
    }
}

/// Threads of a storage definition in a run.
#[must_use]
pub fn storage_threads(run: &ExpandedRun, sd: &StorageDef) -> u64 {
    let own = to_u64(sd.threads.max(1.0));
    loop_value(run, LoopKind::Threads).and_then(loop_u64).unwrap_or(own).max(1)
}

/// The hit area of a storage definition in a run.
#[must_use]
pub fn storage_hit_area(run: &ExpandedRun, sd: &StorageDef) -> Amount {
    loop_value(run, LoopKind::HitArea).and_then(loop_u64).map_or(sd.hit_area, Amount::Bytes)
}

/// The value of one loop.
#[must_use]
pub fn loop_value(run: &ExpandedRun, kind: LoopKind) -> Option<LoopValue> {
    run.loops.iter().find(|(k, _)| *k == kind).map(|(_, v)| *v)
}

/// Open flags by precedence: run, workload, storage.
#[must_use]
pub fn open_flags(rd: Option<&RunDef>, wd: &WorkloadDef, sd: &StorageDef) -> OpenFlags {
    rd.and_then(|rd| rd.open_flags.clone())
        .or_else(|| wd.open_flags.clone())
        .or_else(|| sd.open_flags.clone())
        .unwrap_or_default()
}

/// The workloads of a file run with everything applied.
#[must_use]
pub fn file_workloads(file: &ParameterFile, run: &ExpandedRun) -> Vec<RunFileWorkload> {
    let Some(rd) = run.definition.and_then(|i| file.runs.get(i)) else {
        return Vec::new();
    };
    let mut all: Vec<FileWorkloadDef> = Vec::new();
    let looped = match loop_value(run, LoopKind::Operation) {
        Some(LoopValue::Operation(op)) => Some(op),
        _ => None,
    };
    for fwd in rd.file_workloads.iter().filter_map(|i| file.file_workloads.get(*i)) {
        let operations = match looped {
            Some(op) => vec![op],
            None if rd.operations.is_empty() => vec![fwd.operation],
            None => rd.operations.clone(),
        };
        let parts = operations.len() as f64;
        let mut whole = fwd.clone();
        apply_file_loops(&mut whole, run);
        let (skew, threads) = (whole.skew / parts, (whole.threads / parts).max(1.0));
        all.extend(operations.into_iter().map(|operation| FileWorkloadDef {
            operation,
            skew,
            threads,
            ..whole.clone()
        }));
    }
    let skews: Vec<f64> = all.iter().map(|fwd| fwd.skew).collect();
    let shares = shares(&skews).unwrap_or_else(|_| vec![0.0; skews.len()]);
    all.into_iter()
        .zip(shares)
        .map(|(workload, share_pct)| {
            let own = rd.file_systems.as_ref().unwrap_or(&workload.file_systems);
            let file_systems = own
                .iter()
                .filter_map(|i| file.file_systems.get(*i))
                .map(|fsd| with_tree_loops(fsd, run))
                .collect();
            RunFileWorkload { file_systems, workload, share_pct }
        })
        .collect()
}

fn apply_file_loops(fwd: &mut FileWorkloadDef, run: &ExpandedRun) {
    for (kind, value) in &run.loops {
        let LoopValue::Number(number) = value else { continue };
        match kind {
            LoopKind::TransferSize => fwd.transfer = Sizes::Fixed(to_u64(number.value)),
            LoopKind::Threads => fwd.threads = number.value,
            LoopKind::ReadPct => fwd.read_pct = Some(number.value.trunc()),
            _ => {}
        }
    }
}

fn with_tree_loops(fsd: &FileSystemDef, run: &ExpandedRun) -> FileSystemDef {
    let mut fsd = fsd.clone();
    for (kind, value) in &run.loops {
        let Some(n) = loop_u64(*value) else { continue };
        match kind {
            LoopKind::Depth => fsd.depth = n,
            LoopKind::Width => fsd.width = n,
            LoopKind::Files => fsd.files = n,
            LoopKind::Sizes => fsd.sizes = Sizes::Fixed(n),
            LoopKind::TotalSize => fsd.total_bytes = Some(n),
            LoopKind::WorkingSet => fsd.working_set_bytes = Some(n),
            _ => {}
        }
    }
    fsd
}
