//! Reports while a run goes on (`--status-interval`), made of its events as they come.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_results::event::{HostEvent, JobOutcome, RunEvent};
use assay_results::{Interval, LatencyHistogram, Run, RunBuilder};
use assay_workload::PhaseKind;

/// What of a run has been heard, and when it is to be reported next.
///
/// As in fio a report holds everything since the start, and each job has its entry, those that wait for their turn with nothing
/// done. The last one, of the ended run, is not made here.
#[derive(Debug)]
pub struct Interim {
    every: Duration,
    /// Of the clock that the caller reads; `None`: nothing is measured yet.
    next: Option<Duration>,
    builder: RunBuilder,
    /// Phases that measure, with the numbers of their jobs.
    measuring: Vec<(u32, u32)>,
    /// The phase that goes on.
    phase: Option<(u32, u32)>,
    /// Jobs by phase of which something is known.
    seen: BTreeSet<(u32, u32)>,
    /// Without their latencies, which are in the totals.
    intervals: Vec<Interval>,
}

impl Interim {
    /// Reports come `every` so often, from the start of the first phase that measures.
    pub fn new(every: Duration) -> Self {
        Interim {
            every,
            next: None,
            builder: RunBuilder::new(),
            measuring: Vec::new(),
            phase: None,
            seen: BTreeSet::new(),
            intervals: Vec::new(),
        }
    }

    /// Takes an event that comes at `now`, by any clock that does not go back. The run as it stands where a report is due: that
    /// waits for the events of a whole reporting period.
    pub fn hear(&mut self, event: &RunEvent, now: Duration) -> Option<Run> {
        self.builder.feed(event);
        match event {
            RunEvent::RunStarted { plan, .. } => {
                let numbered = plan.phases.iter().enumerate();
                let measuring = numbered.filter(|(_, phase)| phase.kind == PhaseKind::Measure);
                self.measuring =
                    measuring.map(|(index, phase)| (index as u32, phase.jobs.len() as u32)).collect();
            }
            RunEvent::PhaseStarted { phase, .. } => {
                self.phase = self.measuring.iter().copied().find(|(index, _)| index == phase);
                if self.phase.is_some() && self.next.is_none() {
                    self.next = Some(now + self.every);
                }
            }
            RunEvent::PhaseFinished { .. } | RunEvent::RunFinished { .. } => self.phase = None,
            RunEvent::PhaseResolved { .. } => {}
            RunEvent::Host { event, .. } => self.note(event),
        }
        let (Some(next), Some((phase, jobs))) = (self.next, self.phase) else { return None };
        if now < next || !ends_period(event, phase, jobs) {
            return None;
        }
        // What was due while nothing came is not made up for.
        let behind = now.saturating_sub(next).as_nanos() / self.every.as_nanos().max(1);
        let steps = u32::try_from(behind).unwrap_or(u32::MAX).saturating_add(1);
        self.next = Some(next.saturating_add(self.every.saturating_mul(steps)));
        self.run()
    }

    /// The periods heard so far, for [`ReportForms::print`](crate::ReportForms).
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    fn note(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Interval(interval) => {
                self.seen.insert((interval.key.phase, interval.key.job));
                let mut brief = Interval::clone(interval);
                for op in &mut brief.counts.ops {
                    op.completion = LatencyHistogram::new();
                    op.response = LatencyHistogram::new();
                    op.submit = LatencyHistogram::new();
                }
                brief.counts.named.clear();
                brief.counts.lateness = LatencyHistogram::new();
                let same = |known: &&mut Interval| known.key == brief.key;
                match self.intervals.iter_mut().rev().take(RECENT).find(same) {
                    Some(known) => known.merge(&brief),
                    None => self.intervals.push(brief),
                }
            }
            HostEvent::JobFinished { phase, job, .. } => {
                self.seen.insert((*phase, *job));
            }
            _ => {}
        }
    }

    /// What was heard as a run, with entries for jobs that have not begun.
    fn run(&self) -> Option<Run> {
        let mut builder = self.builder.clone();
        for (phase, jobs) in &self.measuring {
            for job in (0..*jobs).filter(|job| !self.seen.contains(&(*phase, *job))) {
                let outcome = JobOutcome::default();
                builder.feed(&HostEvent::JobFinished { phase: *phase, job, outcome: outcome.into() }.into());
            }
        }
        builder.finish().ok()
    }
}

/// Intervals among which a late part of one is looked for.
const RECENT: usize = 1024;

/// Whether all of a reporting period has come with this event: the counters of the machine follow the intervals of all jobs;
/// where they are not read, it is the interval of the last job.
fn ends_period(event: &RunEvent, phase: u32, jobs: u32) -> bool {
    match event {
        RunEvent::Host { event: HostEvent::Counters { phase: of, .. }, .. } => *of == phase,
        RunEvent::Host { event: HostEvent::Interval(interval), .. } => {
            interval.key.phase == phase && interval.key.job + 1 == jobs
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use assay_results::{IntervalKey, JobCounts, OpCounts, samples};

    use super::*;

    fn started() -> RunEvent {
        let mut plan = samples::plan("two", "");
        let mut later = plan.phases[1].clone();
        later.jobs[0].name = "later".to_owned();
        plan.phases.push(later);
        RunEvent::RunStarted {
            id: String::new(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            plan: plan.into(),
            environment: Box::default(),
            version: String::new(),
            commit: None,
        }
    }

    fn interval(index: u32) -> RunEvent {
        let read = OpCounts { ios: 100, bytes: 100 << 10, ..OpCounts::default() };
        let counts = JobCounts {
            ops: [read, OpCounts::default(), OpCounts::default(), OpCounts::default()],
            ..JobCounts::default()
        };
        let (start_ns, length_ns) = (u64::from(index) * 1_000_000_000, 1_000_000_000);
        let key = IntervalKey { phase: 1, job: 0, index, ramp: false, start_ns, length_ns };
        HostEvent::Interval(Box::new(Interval { key, counts })).into()
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_report_is_due_once_an_interval_behind_a_period_and_has_all_jobs() {
        let mut interim = Interim::new(ms(2000));
        assert!(interim.hear(&started(), ms(0)).is_none());
        // What fills the files is not reported.
        assert!(interim.hear(&RunEvent::PhaseStarted { phase: 0, at_ms: 0 }, ms(10)).is_none());
        assert!(interim.hear(&RunEvent::PhaseFinished { phase: 0, at_ms: 9000 }, ms(9000)).is_none());
        assert!(interim.hear(&RunEvent::PhaseStarted { phase: 1, at_ms: 9000 }, ms(9000)).is_none());
        let mut due = Vec::new();
        for index in 0..7 {
            // The last two come late: what was due in between is not made up for.
            let late = if index >= 5 { 4500 } else { 0 };
            let now = ms(10_010 + 1000 * u64::from(index) + late);
            due.extend(interim.hear(&interval(index), now).map(|run| (index, run)));
        }
        let at: Vec<u32> = due.iter().map(|(index, _)| *index).collect();
        assert_eq!(at, [1, 3, 5]);
        let ios = |run: &Run| {
            let of = |job: &assay_results::run::JobResult| job.read.as_ref().map_or(0, |read| read.ios);
            let measured = run.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
            measured.flat_map(|phase| &phase.jobs).map(of).collect::<Vec<_>>()
        };
        assert_eq!(due.iter().map(|(_, run)| ios(run)).collect::<Vec<_>>(), [[200, 0], [400, 0], [600, 0]]);
        assert_eq!(interim.intervals().len(), 7);
        // Behind the last phase there is the report of the end.
        interim.hear(&RunEvent::PhaseFinished { phase: 1, at_ms: 20_000 }, ms(20_000));
        assert!(interim.hear(&interval(7), ms(30_000)).is_none());
    }
}
