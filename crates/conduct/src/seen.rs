//! What the phases before did, as far as later ones depend on it.

use std::collections::BTreeMap;

use assay_results::service::{ServiceResult, of_job_counts};
use assay_results::{HostEvent, JobCounts, LatencyHistogram};
use assay_workload::plan::PlannedPhase;

/// What one job of a finished phase did.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobFigures {
    /// Operations a second.
    pub(crate) iops: f64,
    /// Operations.
    pub(crate) ios: u64,
    /// Bytes.
    pub(crate) bytes: u64,
    /// Response times where arrivals were due at a time, else completion latencies.
    pub(crate) latency: LatencyHistogram,
}

/// One job while its events come in.
#[derive(Debug, Default)]
struct Tally {
    counts: JobCounts,
    measured_ns: u64,
}

/// Figures of finished phases by index.
#[derive(Debug, Default)]
pub(crate) struct PhaseFigures {
    current: BTreeMap<u32, Tally>,
    phases: BTreeMap<usize, Vec<JobFigures>>,
    levels: BTreeMap<usize, Vec<ServiceResult>>,
    disturbed: BTreeMap<usize, String>,
}

impl PhaseFigures {
    /// Takes note of an event of the phase that runs.
    pub(crate) fn feed(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Interval(interval) if !interval.key.ramp => {
                self.current.entry(interval.key.job).or_default().counts.merge(&interval.counts);
            }
            HostEvent::JobFinished { job, outcome, .. } => {
                let tally = self.current.entry(*job).or_default();
                // Several workers share a job's time.
                tally.measured_ns = tally.measured_ns.max(outcome.measured_ns);
            }
            _ => {}
        }
    }

    /// The phase is over. Whether its latencies are needed later is up to the caller: they are large.
    pub(crate) fn finish(&mut self, phase: usize, planned: &PlannedPhase, keep_latency: bool) {
        self.note_levels(phase, planned);
        let jobs = std::mem::take(&mut self.current).into_values().map(|tally| {
            let data = tally.counts.data();
            let (ios, bytes) = (data.ios, data.bytes);
            let iops =
                if tally.measured_ns == 0 { 0.0 } else { data.ios as f64 * 1e9 / tally.measured_ns as f64 };
            let latency = match (keep_latency, data.response.is_empty()) {
                (false, _) => LatencyHistogram::new(),
                (true, true) => data.completion,
                (true, false) => data.response,
            };
            JobFigures { iops, ios, bytes, latency }
        });
        let jobs = jobs.collect();
        self.phases.insert(phase, jobs);
    }

    fn note_levels(&mut self, phase: usize, planned: &PlannedPhase) {
        let none = Tally::default();
        let levels = planned.jobs.iter().enumerate().flat_map(|(index, job)| {
            let tally = self.current.get(&(index as u32)).unwrap_or(&none);
            of_job_counts(job, &tally.counts, tally.measured_ns)
        });
        let levels: Vec<ServiceResult> = levels.collect();
        if !levels.is_empty() {
            self.levels.insert(phase, levels);
        }
    }

    /// The service levels of a finished phase.
    pub(crate) fn levels(&self, phase: usize) -> &[ServiceResult] {
        self.levels.get(&phase).map_or(&[], Vec::as_slice)
    }

    /// The jobs of a finished phase; empty where it did not run.
    pub(crate) fn jobs(&self, phase: usize) -> &[JobFigures] {
        self.phases.get(&phase).map_or(&[], Vec::as_slice)
    }

    /// Others disturbed a finished phase: what they did.
    pub(crate) fn disturb(&mut self, phase: usize, what: String) {
        self.disturbed.insert(phase, what);
    }

    /// What others did to it; `None`: nothing was seen.
    pub(crate) fn disturbance(&self, phase: usize) -> Option<&str> {
        self.disturbed.get(&phase).map(String::as_str)
    }

    /// Operations a second of all jobs of a finished phase.
    pub(crate) fn iops(&self, phase: usize) -> f64 {
        self.jobs(phase).iter().map(|job| job.iops).sum()
    }
}
