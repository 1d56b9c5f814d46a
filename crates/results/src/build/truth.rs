//! Which devices a phase reached, what was asked of them, and how much of it never came from a device.

use std::path::Path;

use assay_workload::Plan;
use assay_workload::host::HostId;
use assay_workload::operation::OpId;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Carrier, PlannedPhase, PlannedTarget};

use crate::environment::{BlockDevice, Environment, Resolution, TargetEnvironment};
use crate::interval::JobCounts;
use crate::run::{DeviceTruth, JobResult};

/// Bytes the jobs of a phase moved, ramp included.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestedBytes {
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

impl RequestedBytes {
    /// Adds what a job did in a period.
    pub(super) fn add(&mut self, counts: &JobCounts) {
        let reread = counts.named.iter().filter(|named| named.operation == OpId::REREAD);
        let reread_bytes = reread.map(|named| named.counts.bytes).fold(0, u64::saturating_add);
        let read_bytes = counts.op(OpKind::Read).bytes.saturating_add(reread_bytes);
        self.read_bytes = self.read_bytes.saturating_add(read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(counts.op(OpKind::Write).bytes);
    }

    /// Adds what another job did.
    pub(super) fn merge(&mut self, other: &RequestedBytes) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
    }
}

/// The devices at the bottom of the targets of a phase, each once.
#[derive(Debug, Default)]
pub(super) struct Devices {
    pub(super) names: Vec<String>,
    /// Why they are not all of them; `None`: they are.
    pub(super) unknown_because: Option<String>,
    /// Why what the kernel fetched for a process is not known of them; `None`: it is.
    pub(super) uncharged: Option<String>,
    /// Whether the kernel may charge what a process moves twice: a loop device that passes the page cache hands requests on
    /// in the name of the process that made them.
    pub(super) charged_twice: bool,
}

impl Devices {
    /// Those of several workers of one machine, each once.
    pub(super) fn together(each: Vec<Devices>) -> Devices {
        each.into_iter()
            .reduce(|mut all, other| {
                for name in other.names {
                    if !all.names.contains(&name) {
                        all.names.push(name);
                    }
                }
                all.unknown_because = all.unknown_because.or(other.unknown_because);
                all.uncharged = all.uncharged.or(other.uncharged);
                all.charged_twice |= other.charged_twice;
                all
            })
            .unwrap_or_default()
    }
}

/// Which process did the I/O of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Every process whose counters were taken.
    All,
    /// Those of fio, which did it for us.
    Fio,
    /// None: nothing real was read or written.
    Nobody,
}

pub(super) fn reader_of(phase: Option<&PlannedPhase>) -> Reader {
    let Some(phase) = phase.filter(|phase| !phase.jobs.is_empty()) else { return Reader::All };
    match phase.carried_by {
        Carrier::Simulated => Reader::Nobody,
        _ if phase.jobs.iter().all(|job| !job.moves_data()) => Reader::Nobody,
        Carrier::Fio => Reader::Fio,
        Carrier::Native => Reader::All,
    }
}

/// The bottom devices of the targets that some job of the phase uses on the host.
pub(super) fn bottom_devices(
    phase: Option<&PlannedPhase>,
    (plan, host): (&Plan, HostId),
    environment: &Environment,
) -> Devices {
    let used = used_targets(phase, plan, host);
    let mut devices = Devices { uncharged: uncharged(&used, environment), ..Devices::default() };
    for target in used {
        let Some(found) = recorded(environment, &target.path) else {
            devices.unknown_because = Some(format!("nothing is recorded about {}", target.name));
            continue;
        };
        if let Resolution::NotResolvable { reason } = &found.resolution {
            devices.unknown_because = Some(reason.clone());
        }
        let passes = |device: &BlockDevice| {
            device.loop_backing.as_ref().is_some_and(|backing| backing.direct_io == Some(true))
        };
        devices.charged_twice |= found.devices.iter().any(passes);
        for device in found.bottom_devices() {
            if device.queue.iostats == Some(false) {
                devices.unknown_because = Some(format!("the kernel does not count I/O on {}", device.name));
            }
            if !devices.names.contains(&device.name) {
                devices.names.push(device.name.clone());
            }
        }
    }
    if devices.names.is_empty() {
        devices.unknown_because.get_or_insert_with(|| "no device below the targets is known".to_owned());
    }
    devices
}

/// What is recorded about the target of this path: its own entry, else that of the nearest directory above it (a file
/// that did not exist yet was examined by its directory).
pub(crate) fn recorded<'a>(environment: &'a Environment, path: &str) -> Option<&'a TargetEnvironment> {
    let above = |target: &&TargetEnvironment| {
        let names = [Some(&target.path), target.canonical_path.as_ref()];
        names.into_iter().flatten().any(|name| Path::new(path).starts_with(name))
    };
    environment
        .target(path)
        .or_else(|| environment.targets.iter().filter(above).max_by_key(|target| target.path.len()))
}

/// File systems whose reads the kernel does not charge to the process that asked: what the process fetched is not known
/// there. FUSE and virtiofs fetch through another process or machine; ZFS and 9p count otherwise.
const UNCHARGED: [&str; 6] = ["fuseblk", "virtiofs", "9p", "zfs", "vboxsf", "vmhgfs"];

/// Why the kernel's count of what a process fetched says nothing of these targets; `None`: it does.
fn uncharged(used: &[&PlannedTarget], environment: &Environment) -> Option<String> {
    let names = used.iter().filter_map(|target| {
        let fs = recorded(environment, &target.path)?.file_system.as_ref()?;
        let fs_type = fs.fs_type.as_str();
        (UNCHARGED.contains(&fs_type) || fs_type == "fuse" || fs_type.starts_with("fuse.")).then_some(fs_type)
    });
    let name = names.into_iter().next()?;
    Some(format!("the kernel does not say what it fetched through {name}"))
}

/// The targets that some job of the phase uses on a host, each once. A plan that names no hosts is what each of them carries out.
fn used_targets<'p>(phase: Option<&PlannedPhase>, plan: &'p Plan, host: HostId) -> Vec<&'p PlannedTarget> {
    let mut used: Vec<u32> = phase
        .into_iter()
        .flat_map(|phase| &phase.jobs)
        .flat_map(|job| &job.slices)
        .filter(|slice| plan.hosts.is_empty() || slice.host == host)
        .flat_map(|slice| slice.sites.iter().map(|site| site.target))
        .collect();
    used.sort_unstable();
    used.dedup();
    used.into_iter().filter_map(|target| plan.targets.get(target as usize)).collect()
}

/// The share of read bytes that no device served; `None`: nothing was read, or it is not known.
///
/// The kernel's own count of what it fetched for this process is exact; where it is missing, what the devices read for
/// whomever is the most that can have been fetched for us, so the share is the least that was cached.
pub(super) fn cached_share(truth: &DeviceTruth) -> Option<f64> {
    let fetched = truth.process_read_bytes.or(truth.device_read_bytes)?;
    let asked = truth.asked_read_bytes;
    (asked > 0).then(|| (1.0 - fetched as f64 / asked as f64).clamp(0.0, 1.0))
}

/// Sets that share for the jobs that read.
pub(super) fn spread_cached_share(truth: &DeviceTruth, jobs: &mut [JobResult]) {
    let Some(share) = cached_share(truth) else { return };
    for job in jobs.iter_mut().filter(|job| job.read.is_some()) {
        job.cached_read_share = Some(share);
    }
}
