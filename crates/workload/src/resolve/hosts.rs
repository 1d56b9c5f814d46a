//! The hosts of a plan while it is made: which of them a job runs on, and what is known of their targets.

use std::collections::{BTreeMap, BTreeSet};

use super::{Inventory, ResolveError, plan_target};
use crate::host::{HOSTS_MAX, Host, HostId, HostRanges, PlannedHost, host_seed};
use crate::job::{Job, Workload};
use crate::plan::{PlannedSite, PlannedTarget};

/// A host of the plan.
pub(super) struct PlanHost<'a> {
    pub(super) id: HostId,
    /// `None`: the machine that makes the plan, alone.
    host: Option<&'a Host>,
    pub(super) inventory: &'a Inventory,
    /// Its targets by name; the first where several have one.
    indices: BTreeMap<&'a str, u32>,
}

/// The hosts of a plan, and the targets of all of them.
pub(super) struct PlanHosts<'a> {
    all: Vec<PlanHost<'a>>,
    pub(super) targets: Vec<PlannedTarget>,
}

impl<'a> PlanHosts<'a> {
    /// The hosts of `workload`. One host that is this machine is none: the plan is as without it.
    pub(super) fn new(workload: &'a Workload, inventory: &'a Inventory) -> Result<Self, ResolveError> {
        let hosts = match &workload.hosts[..] {
            [only] if only.is_local() => &[],
            hosts => hosts,
        };
        check_names(&workload.hosts)?;
        let mut places = PlanHosts { all: Vec::with_capacity(hosts.len().max(1)), targets: Vec::new() };
        if hosts.is_empty() {
            places.add(workload, inventory, None)?;
        }
        for host in hosts {
            places.add(workload, inventory, Some(host))?;
        }
        Ok(places)
    }

    fn add(
        &mut self,
        workload: &'a Workload,
        inventory: &'a Inventory,
        host: Option<&'a Host>,
    ) -> Result<(), ResolveError> {
        let id = HostId(self.all.len() as u16);
        let looked_at = host.and_then(|host| inventory.hosts.get(&host.name));
        let inventory = looked_at.unwrap_or(inventory);
        let used = host.map(|host| used_on(workload, &host.name));
        let mut indices = BTreeMap::new();
        let targets = workload.targets.iter();
        for target in targets.filter(|target| used.as_ref().is_none_or(|used| used.contains(&*target.name))) {
            indices.entry(target.name.as_str()).or_insert(self.targets.len() as u32);
            let mut planned = plan_target(target, inventory).map_err(|error| match (error, host) {
                (ResolveError::NoSize(target), Some(host)) => {
                    ResolveError::NoSizeOnHost { target, host: host.name.clone() }
                }
                (error, _) => error,
            })?;
            if let Some(path) = host.and_then(|host| host.paths.get(&target.name))
                && looked_at.is_none()
            {
                planned.path.clone_from(path);
            }
            self.targets.push(PlannedTarget { host: id, ..planned });
        }
        self.all.push(PlanHost { id, host, inventory, indices });
        Ok(())
    }

    pub(super) fn planned(&self) -> Vec<PlannedHost> {
        self.all.iter().filter_map(|place| place.host).map(PlannedHost::from).collect()
    }

    /// Those a job runs on, in the order of the workload.
    pub(super) fn of(&self, job: &Job) -> Result<Vec<&PlanHost<'a>>, ResolveError> {
        let named = |name: &str| self.all.iter().any(|place| place.is_called(name));
        if let Some(unknown) = job.hosts.iter().find(|name| !named(name)) {
            return Err(ResolveError::UnknownHost { job: job.name.clone(), host: unknown.clone() });
        }
        let chosen = |place: &&PlanHost<'_>| {
            job.hosts.is_empty() || job.hosts.iter().any(|name| place.is_called(name))
        };
        Ok(self.all.iter().filter(chosen).collect())
    }
}

impl PlanHost<'_> {
    /// The machine that makes the plan answers to every name: what its only host is called is not kept.
    fn is_called(&self, name: &str) -> bool {
        self.host.is_none_or(|host| host.name == name)
    }

    pub(super) fn index(&self, target: &str) -> Option<u32> {
        self.indices.get(target).copied()
    }

    /// The seed of a job's part on this host.
    pub(super) fn seed(&self, job_seed: u64) -> u64 {
        self.host.map_or(job_seed, |host| host_seed(job_seed, &host.name))
    }
}

fn check_names(hosts: &[Host]) -> Result<(), ResolveError> {
    if hosts.len() > HOSTS_MAX {
        return Err(ResolveError::TooManyHosts { max: HOSTS_MAX });
    }
    let mut seen = BTreeSet::new();
    match hosts.iter().find(|host| !seen.insert(&host.name)) {
        Some(twice) => Err(ResolveError::HostTwice(twice.name.clone())),
        None => Ok(()),
    }
}

/// Names of the targets that the jobs of a host use.
fn used_on<'a>(workload: &'a Workload, host: &str) -> BTreeSet<&'a str> {
    let jobs = workload.phases.iter().flat_map(|phase| &phase.jobs);
    let on_it = jobs.filter(|job| job.hosts.is_empty() || job.hosts.iter().any(|name| name == host));
    let names = on_it.flat_map(|job| {
        let copies = job.tree.as_ref().and_then(|tree| tree.copy_to.as_ref());
        job.targets.iter().chain(copies)
    });
    names.map(String::as_str).collect()
}

/// The part of a range that host `index` of `hosts` has: whole blocks of `align`, every byte of the range once.
pub(super) fn part_of(
    site: PlannedSite,
    ranges: HostRanges,
    (index, hosts): (usize, usize),
    align: u64,
) -> PlannedSite {
    if ranges == HostRanges::Whole || hosts == 1 {
        return site;
    }
    let blocks = u128::from(site.length_bytes / align);
    let start = |index: usize| (blocks * index as u128 / hosts as u128) as u64 * align;
    let end = if index + 1 == hosts { site.length_bytes } else { start(index + 1) };
    let offset_bytes = site.offset_bytes + start(index);
    PlannedSite { offset_bytes, length_bytes: end - start(index), ..site }
}
