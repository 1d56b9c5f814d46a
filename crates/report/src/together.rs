//! Jobs that ran side by side, as one figure.

use assay_results::Run;
use assay_results::run::{JobResult, PhaseResult};
use assay_workload::PhaseKind;

use crate::format;

/// Jobs measured at the same time have measured times that differ by less than this share.
const SAME_TIME: f64 = 0.02;

/// What all jobs of a phase did together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Together {
    jobs: usize,
    iops: f64,
    bytes_per_s: f64,
}

/// The sum over the jobs of a phase; `None` where there is one job, or where they were not measured over the same time: rates of different
/// times have no sum.
pub(crate) fn together(run: &Run, phase: &PhaseResult) -> Option<Together> {
    if phase.kind != PhaseKind::Measure || phase.jobs.len() < 2 || is_delayed(run, phase) {
        return None;
    }
    let longest_s = phase.jobs.iter().map(|job| job.measured_s).fold(0.0, f64::max);
    let same_time = |job: &JobResult| longest_s - job.measured_s <= SAME_TIME * longest_s;
    if longest_s <= 0.0 || !phase.jobs.iter().all(same_time) {
        return None;
    }
    let iops = phase.jobs.iter().map(|job| job.total.known_iops()).sum::<Option<f64>>()?;
    let bytes_per_s = phase.jobs.iter().map(|job| job.total.bytes_per_s).sum();
    Some(Together { jobs: phase.jobs.len(), iops, bytes_per_s })
}

/// Whether some job begins later than the others.
fn is_delayed(run: &Run, phase: &PhaseResult) -> bool {
    let planned = run.plan.phases.get(phase.plan_phase as usize);
    planned.is_some_and(|planned| planned.jobs.iter().any(|job| job.start_delay.0 > 0))
}

impl Together {
    /// `56,085 IOPS, 1,302 MiB/s`.
    pub(crate) fn figures(&self) -> String {
        let iops = format!("{} IOPS", format::iops(self.iops));
        match self.bytes_per_s > 0.0 {
            true => format!("{iops}, {} MiB/s", format::mib_per_s(self.bytes_per_s)),
            false => iops,
        }
    }

    /// The same with what it is of.
    pub(crate) fn words(&self) -> String {
        format!("all {} jobs together: {}", self.jobs, self.figures())
    }
}

#[cfg(test)]
mod tests {
    use assay_results::samples::{job, op, phase, run};

    use super::*;

    fn two(seconds: [f64; 2]) -> Run {
        let one = |name: &str, iops: f64, size: u64, seconds: f64| {
            let mut one = job(name, "", "read", op(iops, size, 1_000_000, seconds), 4, 3);
            one.measured_s = seconds;
            one
        };
        run(
            "two",
            "",
            vec![phase("p", vec![one("a", 1000.0, 4096, seconds[0]), one("b", 500.0, 65536, seconds[1])])],
        )
    }

    #[test]
    fn rates_of_the_same_time_have_a_sum() {
        let run = two([3.0, 3.01]);
        let words = together(&run, &run.phases[0]).map(|sum| sum.words());
        assert_eq!(words.as_deref(), Some("all 2 jobs together: 1,500 IOPS, 35.2 MiB/s"));
    }

    #[test]
    fn rates_of_different_times_have_none() {
        let run = two([3.0, 1.0]);
        assert_eq!(together(&run, &run.phases[0]), None);
        let mut alone = two([3.0, 3.0]);
        alone.phases[0].jobs.truncate(1);
        assert_eq!(together(&alone, &alone.phases[0]), None);
    }
}
