//! Clocks beside a phase: whether the one that latencies are taken with went as the kernel's clock does, and whether the machine
//! was suspended meanwhile. Setting the wall clock changes nothing that is measured: only when a run began is told by it.

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_workload::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// The id of the finding.
const UNSTABLE: &str = "clock-unstable";
/// Less than this is not told.
const APART_NS: u64 = 10_000_000;
/// Readings that are taken at a moment, of which the one counts that took least.
const TRIES: u32 = 5;
/// The kernel may run its clock faster or slower by 500 ppm; more than twice as much is a disagreement.
const APART_SHARE: f64 = 0.001;

/// The clocks of this machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// That of jobs.
    job_ns: u64,
    /// The kernel's, which stands while the machine is suspended.
    monotonic_ns: u64,
    /// The same, suspended or not.
    boot_ns: u64,
    /// How far apart they were read.
    span_ns: u64,
}

impl Clocks {
    pub(crate) fn now() -> Self {
        let read = |clock| {
            let time = clock_gettime(clock);
            (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
        };
        let clock = RealClock::new();
        let once = |_| {
            let monotonic_ns = read(ClockId::Monotonic);
            let (job_ns, boot_ns) = (clock.now_ns(), read(ClockId::Boottime));
            let span_ns = read(ClockId::Monotonic).saturating_sub(monotonic_ns);
            Clocks { job_ns, monotonic_ns, boot_ns, span_ns }
        };
        let first = once(0);
        (1..TRIES).map(once).fold(first, |best, now| if now.span_ns < best.span_ns { now } else { best })
    }

    /// What there is to tell of the time since `before`: id and sentence.
    pub(crate) fn since(&self, before: &Clocks) -> Vec<(&'static str, String)> {
        let passed = |of: fn(&Clocks) -> u64| of(self).saturating_sub(of(before));
        let monotonic = passed(|clocks| clocks.monotonic_ns);
        let job = passed(|clocks| clocks.job_ns);
        let suspended = passed(|clocks| clocks.boot_ns).saturating_sub(monotonic);
        let apart_max = APART_NS.saturating_add(before.span_ns).saturating_add(self.span_ns);
        let mut told = Vec::new();
        if suspended > apart_max {
            told.push((
                UNSTABLE,
                format!("the machine was suspended for {} during the phase", Nanos(suspended)),
            ));
        }
        let apart = job.abs_diff(monotonic);
        if apart > apart_max.max((monotonic as f64 * APART_SHARE) as u64) {
            let text = format!(
                "the clock of latencies counted {} while the kernel's counted {}",
                Nanos(job),
                Nanos(monotonic)
            );
            told.push((UNSTABLE, text));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn at(job_s: u64, monotonic_s: u64, boot_s: u64) -> Clocks {
        Clocks { job_ns: job_s * S, monotonic_ns: monotonic_s * S, boot_ns: boot_s * S, span_ns: 0 }
    }

    #[test]
    fn clocks_that_agree_are_not_told() {
        assert!(at(70, 160, 1060).since(&at(10, 100, 1000)).is_empty());
        let before = Clocks::now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(Clocks::now().since(&before).is_empty());
    }

    #[test]
    fn a_suspended_machine_is_told() {
        let told = at(70, 160, 1180).since(&at(10, 100, 1000));
        let [(UNSTABLE, text)] = &told[..] else { panic!("{told:?}") };
        assert!(text.contains("suspended for 120 s"), "{text}");
    }

    #[test]
    fn a_counter_that_went_another_way_is_told() {
        // It went on, or back, while the machine was suspended.
        for job_s in [190, 5] {
            let told = at(job_s, 160, 1180).since(&at(10, 100, 1000));
            assert_eq!(told.len(), 2, "{told:?}");
            assert!(told[1].1.ends_with("while the kernel's counted 60 s"), "{told:?}");
        }
    }
}
