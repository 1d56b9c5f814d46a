//! What a check looks at: one reported job with everything that belongs to it.

use assay_workload::PhaseKind;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Carrier, PlannedJob, PlannedTarget};

use super::draft::Draft;
use crate::build::truth::recorded;
use crate::environment::{BlockDevice, DeviceKind, FileSystem, TargetEnvironment};
use crate::run::{DeviceTruth, FindingSeverity, JobResult, PhaseResult, Run};

/// File systems that keep their data in memory.
const MEMORY_FILE_SYSTEMS: [&str; 3] = ["tmpfs", "ramfs", "hugetlbfs"];

/// One job's result with its place in run and plan.
#[derive(Debug, Clone)]
pub(super) struct Subject<'r> {
    pub(super) run: &'r Run,
    pub(super) phase: &'r PhaseResult,
    pub(super) job: &'r JobResult,
    /// The planned jobs reported together here.
    pub(super) planned: Vec<&'r PlannedJob>,
    /// Where it is in `run.json`, as a JSON pointer.
    pub(super) pointer: String,
}

/// All jobs of all phases.
pub(super) fn all(run: &Run) -> impl Iterator<Item = Subject<'_>> {
    run.phases.iter().enumerate().flat_map(move |(phase_at, phase)| {
        let planned_phase = run.plan.phases.get(phase.plan_phase as usize);
        phase.jobs.iter().enumerate().map(move |(job_at, job)| Subject {
            run,
            phase,
            job,
            planned: job
                .evidence
                .plan_jobs
                .iter()
                .filter_map(|index| planned_phase?.jobs.get(*index as usize))
                .collect(),
            pointer: format!("/phases/{phase_at}/jobs/{job_at}"),
        })
    })
}

/// The jobs of measuring phases.
pub(super) fn measured(run: &Run) -> impl Iterator<Item = Subject<'_>> {
    all(run).filter(|subject| subject.phase.kind == PhaseKind::Measure)
}

/// Those that moved data of a storage: neither the null engine, nor calls on files, nor the simulator.
pub(super) fn on_storage(run: &Run) -> impl Iterator<Item = Subject<'_>> {
    measured(run).filter(|subject| subject.is_on_storage())
}

impl<'r> Subject<'r> {
    fn is_on_storage(&self) -> bool {
        let phase = self.run.plan.phases.get(self.phase.plan_phase as usize);
        let simulated = phase.is_some_and(|phase| phase.carried_by == Carrier::Simulated);
        let dataless = |planned: &&PlannedJob| !planned.moves_data();
        !simulated && (self.planned.is_empty() || !self.planned.iter().all(dataless))
    }

    /// A finding about this job; where it is in the run is its first evidence.
    pub(super) fn draft(&self, check: &str, severity: FindingSeverity, message: impl Into<String>) -> Draft {
        Draft::new(check, severity, message)
            .of_phase(&self.phase.name)
            .of_point(&self.phase.point)
            .of_repeat(repeat_of(self.run, self.phase))
            .of_job(&self.job.name)
            .evidence("at", self.pointer.as_str())
    }

    /// Whether some job's mix has this operation.
    pub(super) fn does(&self, kind: OpKind) -> bool {
        self.planned.iter().any(|planned| planned.pattern.mix.share(kind) > 0.0)
    }

    /// Whether it is a test of a series: how it works is part of its name, and its figures are compared with figures
    /// that came about the same way.
    pub(super) fn in_series(&self) -> bool {
        self.run.plan.series.is_some()
    }

    /// Whether every write is durable when it is counted.
    pub(super) fn every_write_durable(&self) -> bool {
        self.planned.iter().all(|planned| planned.flush.every_write_durable())
    }

    /// Whether the I/O was that of a command that Assay watched.
    pub(super) fn is_of_a_command(&self) -> bool {
        self.run.remarks.iter().any(|remark| ["observed", "judged"].contains(&remark.id.as_str()))
    }

    /// Whether all of them are in a closed loop, without pauses.
    pub(super) fn closed_loop(&self) -> bool {
        self.job.evidence.offered_iops.is_none()
            && self.planned.iter().all(|planned| planned.think_time.is_none())
    }

    /// What the devices said during the phase.
    pub(super) fn truth(&self) -> Option<&'r DeviceTruth> {
        self.phase.device.as_ref()
    }

    /// Whether no other reported job ran beside it, so that the phase's counters are its own.
    pub(super) fn alone(&self) -> bool {
        self.phase.jobs.len() == 1
    }

    /// The targets it used.
    pub(super) fn targets(&self) -> Vec<&'r PlannedTarget> {
        let mut used: Vec<u32> = self
            .planned
            .iter()
            .flat_map(|planned| &planned.slices)
            .flat_map(|slice| slice.sites.iter().map(|site| site.target))
            .collect();
        used.sort_unstable();
        used.dedup();
        used.iter().filter_map(|target| self.run.plan.targets.get(*target as usize)).collect()
    }

    /// What is recorded about them on all hosts, each record once.
    pub(super) fn environments(&self) -> Vec<&'r TargetEnvironment> {
        let mut found: Vec<&TargetEnvironment> = Vec::new();
        let targets = self.targets();
        for host in self.run.environments() {
            for environment in targets.iter().filter_map(|target| recorded(host, &target.path)) {
                if !found.iter().any(|other| std::ptr::eq(*other, environment)) {
                    found.push(environment);
                }
            }
        }
        found
    }

    /// The file systems they are on.
    pub(super) fn file_systems(&self) -> Vec<&'r FileSystem> {
        self.environments().into_iter().filter_map(|target| target.file_system.as_ref()).collect()
    }

    /// The devices at the bottom.
    pub(super) fn bottom_devices(&self) -> Vec<&'r BlockDevice> {
        self.environments().into_iter().flat_map(|target| target.bottom_devices()).collect()
    }

    /// All devices of the chains.
    pub(super) fn devices(&self) -> Vec<&'r BlockDevice> {
        self.environments().into_iter().flat_map(|target| &target.devices).collect()
    }

    /// Who below the target reduces data, as far as this kernel knows.
    pub(super) fn reducer(&self) -> Option<String> {
        let devices = self.devices();
        if let Some(zram) = devices.iter().find(|device| device.kind == DeviceKind::Zram) {
            return Some(format!("{} compresses in memory", zram.name));
        }
        let is_vdo = |device: &&&BlockDevice| {
            device.mapper_subsystem.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("vdo"))
        };
        if let Some(vdo) = devices.iter().find(is_vdo) {
            return Some(format!("{} deduplicates and compresses (VDO)", vdo.name));
        }
        let fs = self.file_systems().into_iter().find(|fs| fs.compresses == Some(true))?;
        Some(format!("{} compresses here", fs.fs_type))
    }

    /// The name of a file system that keeps its data in memory, if a target is on one.
    pub(super) fn memory_file_system(&self) -> Option<&'r str> {
        let names = self.file_systems().into_iter().map(|fs| fs.fs_type.as_str());
        names.into_iter().find(|name| MEMORY_FILE_SYSTEMS.contains(name))
    }

    /// Operations a second over all intervals, the long and the short included: the figure.
    pub(super) fn mean_iops(&self) -> f64 {
        let series = &self.job.series;
        let time_s: f64 = series.iter().map(|point| point.length_s).sum();
        series.iter().map(|point| point.iops * point.length_s).sum::<f64>() / time_s
    }

    /// Memory below a loop device of a target, which nobody sees from the target's name: `tmpfs below loop0`.
    pub(super) fn memory_below(&self) -> Option<String> {
        self.environments().into_iter().find_map(|target| {
            let (upper, backing) = target
                .devices
                .iter()
                .find_map(|device| Some((&device.name, device.loop_backing.as_ref()?)))?;
            let fs = backing.fs_type.as_deref().filter(|name| MEMORY_FILE_SYSTEMS.contains(name));
            let disk = || target.bottom_devices().find(|device| is_memory(device));
            let memory = fs.or_else(|| Some(disk()?.name.as_str()))?;
            Some(format!("{memory} below {upper}"))
        })
    }
}

/// A disk in memory: zram, or brd's `ram0`.
fn is_memory(device: &BlockDevice) -> bool {
    let number = device.name.strip_prefix("ram").unwrap_or("");
    device.kind == DeviceKind::Zram
        || (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// What the faster intervals do.
pub(super) fn upper_quartile(iops: &[f64]) -> Option<f64> {
    let mut sorted = iops.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * 3 / 4).copied()
}

/// Which repetition a phase is, where there are several of its name and point.
pub(super) fn repeat_of(run: &Run, phase: &PhaseResult) -> Option<u32> {
    (run.repeats_of(phase) > 1).then_some(phase.repeat)
}

/// Memory that the page cache of this run could use, bytes: of each host its machine's, or the control group's
/// limit.
pub(super) fn memory_bytes(run: &Run) -> Option<u64> {
    let of_host = |environment: &crate::environment::Environment| {
        let machine = environment.machine.memory.total_bytes;
        machine.into_iter().chain(environment.cgroup.memory_bytes).min()
    };
    run.environments().map(of_host).sum()
}
