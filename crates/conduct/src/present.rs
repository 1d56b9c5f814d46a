//! Which hosts have told what a phase expects of them: one that is silent is lost, whatever else is said of it.

use std::collections::BTreeSet;

use assay_results::event::LostReason;
use assay_results::{HostEvent, HostId, HostSink};
use assay_workload::Plan;

use crate::conductor::{HostInfo, PhaseOutcome};

/// The hosts of a phase, while it runs.
#[derive(Debug)]
pub(crate) struct Present {
    phase: u32,
    /// Outcomes of jobs that are to come.
    missing: BTreeSet<(HostId, u32)>,
    /// Hosts whose loss was told.
    told: BTreeSet<HostId>,
}

impl Present {
    /// Of the hosts that have a part in phase `phase`: where the plan names no hosts, each does all of it.
    pub(crate) fn of(plan: &Plan, phase: usize, hosts: &[HostInfo]) -> Self {
        let jobs = (0..).zip(&plan.phases[phase].jobs);
        let has_part = |host: HostId, job: &assay_workload::PlannedJob| {
            job.slices.iter().any(|slice| plan.hosts.is_empty() || slice.host == host)
        };
        let of_job = |(index, job)| {
            let here = hosts.iter().map(|host| host.id).filter(move |host| has_part(*host, job));
            here.map(move |host| (host, index))
        };
        Present { phase: phase as u32, missing: jobs.flat_map(of_job).collect(), told: BTreeSet::new() }
    }

    pub(crate) fn feed(&mut self, host: HostId, event: &HostEvent) {
        match event {
            HostEvent::JobFinished { job, .. } => drop(self.missing.remove(&(host, *job))),
            HostEvent::Lost { .. } => drop(self.told.insert(host)),
            _ => {}
        }
    }

    /// The outcome of the phase, of which the executor says `outcome`: lost are also hosts whose loss it only told, and of a
    /// phase that is done those that an outcome is missing of. The loss of each is told.
    pub(crate) fn outcome(mut self, outcome: PhaseOutcome, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let mut lost = match outcome {
            PhaseOutcome::Done => self.missing.iter().map(|(host, _)| *host).collect(),
            PhaseOutcome::Lost(hosts) => BTreeSet::from_iter(hosts),
            ended => return ended,
        };
        for host in lost.difference(&self.told) {
            sink(*host, HostEvent::Lost { phase: self.phase, why: LostReason::NoResult });
        }
        lost.append(&mut self.told);
        if lost.is_empty() { PhaseOutcome::Done } else { PhaseOutcome::Lost(lost.into_iter().collect()) }
    }
}
