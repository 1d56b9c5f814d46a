//! A plan for several hosts, and the part of it that is one host's.

use std::collections::{BTreeMap, BTreeSet};

use super::{Offered, Pace, Plan, PlannedJob, PlannedPhase, PlannedTarget, ThreadSlice};
use crate::host::HostId;

impl PlannedJob {
    /// What the chosen hosts do of it: their slices, and their share of what is offered. Jobs of the other hosts have no slices.
    #[must_use]
    pub fn part(&self, chosen: impl Fn(HostId) -> bool) -> PlannedJob {
        let slices: Vec<ThreadSlice> =
            self.slices.iter().filter(|slice| chosen(slice.host)).cloned().collect();
        // The slices of a thousand hosts are not copied for each of them.
        let mut part = PlannedJob {
            traits: self.traits.clone(),
            engine: self.engine,
            engine_reason: self.engine_reason.clone(),
            direct: self.direct,
            pace: self.pace,
            end: self.end,
            operations: self.operations.clone(),
            slices,
        };
        // Without a part in it, nothing is offered, whatever its rate says; and a rate of 0 is none.
        if (1..self.slices.len()).contains(&part.slices.len())
            && let Pace::Open { offered, .. } = &mut part.pace
        {
            // All threads of a job have the same share of its rate.
            *offered = offered.scaled(part.slices.len() as f64 / self.slices.len() as f64);
        }
        part
    }
}

impl Offered {
    /// `factor` times as much.
    #[must_use]
    fn scaled(self, factor: f64) -> Offered {
        match self {
            Offered::Iops(iops) => Offered::Iops(iops * factor),
            Offered::BytesPerS(bytes) => Offered::BytesPerS(bytes * factor),
            Offered::Each(rates) => Offered::Each(rates.scaled(factor)),
        }
    }
}

impl Plan {
    /// What one host carries out, as a plan of its own: its targets, its slices with their seeds and ranges. Phases and jobs keep
    /// their places, so that events of a worker need no translation; a job that the host has no part in has no slices.
    #[must_use]
    pub fn for_host(&self, host: HostId) -> Plan {
        let mine = self.targets.iter().filter(|target| target.host == host);
        let mut targets: Vec<PlannedTarget> = mine.cloned().collect();
        targets.iter_mut().for_each(|target| target.host = HostId::FIRST);
        let phases = (0..self.phases.len()).map(|phase| self.phase_for_host(phase, host)).collect();
        Plan {
            schema: self.schema.clone(),
            name: self.name.clone(),
            series: self.series.clone(),
            seed: self.seed,
            seed_given: self.seed_given,
            hosts: Vec::new(),
            targets,
            phases,
        }
    }

    /// One phase of [`Plan::for_host`].
    #[must_use]
    pub fn phase_for_host(&self, phase: usize, host: HostId) -> PlannedPhase {
        let mine = self.targets.iter().enumerate().filter(|(_, target)| target.host == host);
        let numbers: BTreeMap<u32, u32> = mine.map(|(old, _)| old as u32).zip(0..).collect();
        let planned = &self.phases[phase];
        let mut jobs: Vec<PlannedJob> =
            planned.jobs.iter().map(|job| job.part(|other| other == host)).collect();
        for slice in jobs.iter_mut().flat_map(|job| &mut job.slices) {
            slice.host = HostId::FIRST;
            let sites = slice.sites.iter_mut();
            sites.for_each(|site| site.target = numbers.get(&site.target).copied().unwrap_or(u32::MAX));
        }
        PlannedPhase {
            name: planned.name.clone(),
            kind: planned.kind,
            jobs,
            drain_after: planned.drain_after,
            pause_after: planned.pause_after,
            point: planned.point.clone(),
            repeat: planned.repeat,
            step: planned.step,
            carried_by: planned.carried_by,
            despite_failure: planned.despite_failure,
        }
    }

    /// Whether a host has a part in a phase. Where the plan names no hosts, whatever carries it out does all of it.
    pub fn has_part(&self, phase: usize, host: HostId) -> bool {
        let mut slices = self.phases[phase].jobs.iter().flat_map(|job| &job.slices);
        self.hosts.is_empty() || slices.any(|slice| slice.host == host)
    }

    /// The traffic of all hosts as if one machine made it: targets of one name are one target. For what looks at the storage
    /// rather than at hosts.
    #[must_use]
    pub fn on_one_machine(&self) -> Plan {
        if self.hosts.is_empty() {
            return self.clone();
        }
        let mut plan = Plan { hosts: Vec::new(), targets: Vec::new(), ..self.clone() };
        let mut numbers: Vec<u32> = Vec::with_capacity(self.targets.len());
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        for target in &self.targets {
            let next = plan.targets.len() as u32;
            let number = *known.entry(&target.name).or_insert(next);
            if number == next {
                plan.targets.push(target.clone());
            }
            numbers.push(number);
        }
        plan.targets.iter_mut().for_each(|target| target.host = HostId::FIRST);
        for slice in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs).flat_map(|job| &mut job.slices)
        {
            slice.host = HostId::FIRST;
            slice.sites.iter_mut().for_each(|site| site.target = numbers[site.target as usize]);
        }
        plan
    }

    /// ` on NAME`; empty where the plan is for one machine.
    pub fn on_host(&self, host: HostId) -> String {
        let name = self.host_name(host);
        if name.is_empty() { String::new() } else { format!(" on {name}") }
    }

    /// How many of its hosts have a part in `job`: `on 2 of 3 hosts`; `None`: it names no hosts.
    pub fn describe_hosts_of(&self, job: &PlannedJob) -> Option<String> {
        let hosts: BTreeSet<HostId> = job.slices.iter().map(|slice| slice.host).collect();
        let all = self.hosts.len();
        let one =
            || format!("on {}", hosts.first().map_or(String::new(), |host| self.host_name(*host).to_owned()));
        (all > 0).then(|| if hosts.len() == 1 { one() } else { format!("on {} of {all} hosts", hosts.len()) })
    }

    fn host_name(&self, host: HostId) -> &str {
        self.hosts.get(usize::from(host.0)).map_or("", |host| &host.name)
    }
}

#[cfg(test)]
mod tests;
