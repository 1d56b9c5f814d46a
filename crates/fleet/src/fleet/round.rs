//! One phase on all workers: armed, started at one instant, ended.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_conduct::PhaseOutcome;
use assay_results::event::LostReason;
use assay_results::{HostEvent, HostId, HostSink};
use assay_workload::Plan;

use super::{Fleet, OnLoss};
use crate::clock::theirs;
use crate::message::{Command, Ended, Report, Told};

/// The start lies this far ahead at least when it is told, so that it arrives before.
const AHEAD_NS: u64 = 100_000_000;
/// The same in round trips of the slowest connection.
const AHEAD_ROUND_TRIPS: u64 = 20;
/// The same for each worker, which is told one after the other.
const AHEAD_NS_A_WORKER: u64 = 50_000;
/// How long workers may take to stop. What hangs in an I/O ends a worker's phase before that.
const STOP_WITHIN: Duration = Duration::from_secs(60);

/// Where a phase stands.
struct Round {
    phase: u32,
    /// Workers that have not ended.
    waiting: BTreeSet<usize>,
    armed: BTreeSet<usize>,
    /// How often the clock of each worker had been measured before the phase.
    measured_before: Vec<u32>,
    started: bool,
    /// When workers were told to stop.
    told_stop_ns: Option<u64>,
    failed: Option<String>,
    lost: Vec<HostId>,
}

/// Carries one phase out.
pub(super) fn execute(fleet: &mut Fleet, plan: &Plan, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
    let mut round = Round {
        phase: phase as u32,
        waiting: BTreeSet::new(),
        armed: BTreeSet::new(),
        measured_before: fleet.members.iter().map(|member| member.measured).collect(),
        started: false,
        told_stop_ns: None,
        failed: None,
        lost: Vec::new(),
    };
    for (worker, member) in fleet.members.iter().enumerate() {
        if member.told_lost || !plan.has_part(phase, member.id) {
            continue;
        }
        round.waiting.insert(worker);
        let planned = if plan.hosts.is_empty() {
            plan.phases[phase].clone()
        } else {
            plan.phase_for_host(phase, member.id)
        };
        let command = Command::Execute { phase: round.phase, planned: Box::new(planned) };
        fleet.links.send(worker, command.encode());
    }
    fleet.links.measure_clocks();
    while !round.waiting.is_empty() {
        if let Some((worker, told)) = fleet.hear() {
            round.take(fleet, worker, told, sink);
        }
        round.tell(fleet, sink);
        if round.told_stop_ns.is_none() && round.is_to_stop(fleet) {
            round.told_stop_ns = Some(fleet.links.now_ns());
            fleet.tell_stop(&round.waiting.iter().copied().collect::<Vec<_>>());
        }
        if !round.started && round.told_stop_ns.is_none() && round.is_ready(fleet) {
            round.started = true;
            start(fleet, &round, sink);
        }
        round.cut_off(fleet);
    }
    round.outcome(fleet)
}

/// Tells all workers of a phase when it starts, each on its own clock.
fn start(fleet: &Fleet, round: &Round, sink: &mut HostSink<'_>) {
    let members = || round.waiting.iter().map(|worker| (*worker, &fleet.members[*worker]));
    let slowest_ns = members().map(|(_, member)| member.round_trip_ns).max().unwrap_or(0);
    let ahead_ns =
        AHEAD_NS.max(AHEAD_ROUND_TRIPS * slowest_ns) + AHEAD_NS_A_WORKER * round.waiting.len() as u64;
    let at_ns = fleet.links.now_ns() + ahead_ns;
    for (worker, member) in members() {
        // Measured, or the round would not be ready.
        let clock = member.clock.unwrap_or_default();
        sink(member.id, HostEvent::Clock(clock));
        fleet.links.send(worker, Command::Start { at_ns: theirs(at_ns, clock) }.encode());
    }
}

impl Round {
    fn take(&mut self, fleet: &mut Fleet, worker: usize, told: Told, sink: &mut HostSink<'_>) {
        match told {
            Told::Event(event) => sink(fleet.members[worker].id, event),
            Told::Report(Report::Armed) => drop(self.armed.insert(worker)),
            Told::Report(Report::Ended { ended }) => self.end(fleet, worker, ended),
            // Answers to nothing that was asked.
            Told::Report(_) => {}
        }
    }

    fn end(&mut self, fleet: &mut Fleet, worker: usize, ended: Ended) {
        match ended {
            Ended::Done => {}
            // It was not told to: it had not heard us for too long, or was stopped on its own machine.
            Ended::Stopped if self.told_stop_ns.is_none() && !fleet.is_stopped() => {
                fleet.lose(worker, LostReason::Failed { error: "the worker stopped by itself".to_owned() });
                return;
            }
            Ended::Stopped => {}
            Ended::Failed { why } => {
                let name = fleet.members[worker].name();
                self.failed.get_or_insert_with(|| format!("{name}: {why}"));
            }
        }
        self.waiting.remove(&worker);
    }

    /// Tells the run what is known of workers that are lost, and of their clocks.
    fn tell(&mut self, fleet: &mut Fleet, sink: &mut HostSink<'_>) {
        for (worker, text) in fleet.remarks.drain(..) {
            let id = "clock-unstable".to_owned();
            sink(fleet.members[worker].id, HostEvent::Note { phase: Some(self.phase), id, text });
        }
        for (worker, member) in fleet.members.iter_mut().enumerate() {
            if let Some((why, _)) = member.lost.as_ref().filter(|_| !member.told_lost)
                && self.waiting.remove(&worker)
            {
                member.told_lost = true;
                self.lost.push(member.id);
                sink(member.id, HostEvent::Lost { phase: self.phase, why: why.clone() });
            }
        }
    }

    fn is_to_stop(&self, fleet: &Fleet) -> bool {
        let lost = !self.lost.is_empty() && fleet.options.on_loss == OnLoss::Stop;
        lost || self.failed.is_some() || fleet.is_stopped()
    }

    /// Whether all are armed, and their clocks measured since the phase was asked for.
    fn is_ready(&self, fleet: &Fleet) -> bool {
        let measured = |worker: &usize| fleet.members[*worker].measured > self.measured_before[*worker];
        self.waiting.iter().all(|worker| self.armed.contains(worker) && measured(worker))
    }

    /// Gives up workers that do not stop.
    fn cut_off(&mut self, fleet: &mut Fleet) {
        let Some(told_ns) = self.told_stop_ns else { return };
        let for_ns = fleet.links.now_ns().saturating_sub(told_ns);
        if for_ns > STOP_WITHIN.as_nanos() as u64 {
            let why = LostReason::NoAnswer { for_ms: for_ns / 1_000_000 };
            self.waiting.iter().for_each(|worker| fleet.lose(*worker, why.clone()));
        }
    }

    fn outcome(self, fleet: &mut Fleet) -> PhaseOutcome {
        if fleet.options.on_loss == OnLoss::Continue {
            // Nothing more is expected of them.
            let lost = &self.lost;
            fleet.hosts.retain(|host| !lost.contains(&host.id));
        }
        match self.failed {
            _ if fleet.is_stopped() => PhaseOutcome::Stopped,
            Some(why) => PhaseOutcome::Failed(why),
            None if !self.lost.is_empty() => PhaseOutcome::Lost(self.lost),
            None => PhaseOutcome::Done,
        }
    }
}
