//! `throttled`: a quota, a limit, vCPU steal or used-up burst credit limited the rate.
//!
//! Known from the control group's throttling counters and device limits, from the processors' stolen time, and from a
//! single fall of level inside a measured window.

use assay_workload::PhaseKind;

use super::device_limit::{device_limit, of_unknown_effect, set_meanwhile};
use super::draft::{Draft, iops_high, lost, lost_cpu_time, percent, time};
use super::not_steady::{large_change, movement, wider};
use super::subject::{Subject, measured, on_storage, repeat_of};
use crate::run::{Effect, Finding, FindingSeverity, PhaseResult, Run};
use crate::steady::{Stationarity, StationarityVerdict};

pub(super) use super::device_limit::ID;

/// Share of the job threads' time that a CPU quota took.
const THROTTLED_MIN: f64 = 0.05;
/// Share of the processors' time that the hypervisor took.
const STEAL_MIN: f64 = 0.05;
/// A fall by at least this share, in one step, is what burst credit looks like.
const FALL_MIN: f64 = 0.2;
/// A lower level that was seen for less time may as well be a dip that the end of the window cut off.
const LASTING_S_MIN: f64 = 5.0;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let phases = run.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Measure);
    let mut findings: Vec<Finding> = phases.flat_map(|(at, phase)| of_phase(run, at, phase)).collect();
    findings.extend(on_storage(run).filter_map(|subject| device_limit(&subject)));
    findings.extend(of_unknown_effect(run));
    // A limit that was set meanwhile is why it fell, and has the bias of that.
    let explained = |subject: &Subject<'_>| set_meanwhile(subject) && device_limit(subject).is_some();
    findings.extend(measured(run).filter(|subject| !explained(subject)).filter_map(|subject| fall(&subject)));
    findings
}

/// Whether a movement is one fall of level, of which this check speaks and `not-steady` does not.
pub(super) fn is_fall_of_level(found: &Stationarity) -> bool {
    found.verdict == StationarityVerdict::Step && found.step_share <= -FALL_MIN
}

fn of_phase(run: &Run, at: usize, phase: &PhaseResult) -> Vec<Finding> {
    let evidence = &phase.evidence;
    let draft = |message: String| {
        let draft = Draft::new(ID, FindingSeverity::Warning, message);
        let draft = draft.of_phase(&phase.name).of_point(&phase.point).of_repeat(repeat_of(run, phase));
        draft.evidence("at", format!("/phases/{at}/evidence"))
    };
    let quota = quota_share(run, phase).filter(|share| *share >= THROTTLED_MIN).map(|share| {
        let lost_share = share / (1.0 - waited_otherwise(phase, share)).max(share);
        let limit = run.environment.cgroup.cpu_quota_cpus.map(|cpus| format!(" of {cpus} CPUs"));
        draft(format!(
            "a CPU quota{} of the control group or one above it held the job threads back {} of the time",
            limit.unwrap_or_default(),
            percent(share)
        ))
        .bias(lost_cpu_time(lost_share))
        .effect(lost(lost_share))
        .evidence("throttled_share", share)
        .evidence("throttled_ns", evidence.throttled_ns)
        .evidence("throttled_period_share", evidence.throttled_period_share)
        .evidence("cpu_quota_cpus", run.environment.cgroup.cpu_quota_cpus)
        .advise("raise or remove the quota (cpu.max, cpu.cfs_quota_us, limits.cpu) of the group and of those above it")
    });
    let steal = evidence.steal_share.filter(|share| *share >= STEAL_MIN).map(|share| {
        draft(format!(
            "vCPU steal was {}: the hypervisor gave this share of the CPU time to others",
            percent(share)
        ))
        .bias(lost_cpu_time(share))
        .effect(lost(share))
        .evidence("steal_share", share)
        .advise("measure when the host is less busy, or on a dedicated host")
    });
    quota.into_iter().chain(steal).collect()
}

/// Share of the job threads' time that CPU quotas took at most: the time for which the kernel held the group back, which
/// it adds up over the CPUs, spread over those that the threads could use; and never more than they waited for a CPU.
pub(super) fn quota_share(run: &Run, phase: &PhaseResult) -> Option<f64> {
    let evidence = &phase.evidence;
    let threads: u32 = phase.jobs.iter().map(|job| job.evidence.threads).sum();
    let cpu = &run.environment.machine.cpu;
    let cpus = cpu.allowed.or(cpu.online).map_or(threads, |cpus| cpus.min(threads)).max(1);
    let held_back = evidence.throttled_ns? as f64 / (evidence.span_ns as f64 * f64::from(cpus));
    let share = held_back.min(waited_share(phase).unwrap_or(1.0)).min(1.0);
    share.is_finite().then_some(share)
}

/// Share of the job threads' time in which they waited for a CPU, for whatever reason.
fn waited_share(phase: &PhaseResult) -> Option<f64> {
    let waited_ns = phase.jobs.iter().map(|job| job.evidence.run_queue_ns).sum::<Option<u64>>()?;
    let time_ns: f64 =
        phase.jobs.iter().map(|job| job.evidence.measured_ns as f64 * f64::from(job.evidence.threads)).sum();
    Some(waited_ns as f64 / time_ns)
}

/// Share of their time in which they waited for a CPU that a quota left them: the job was at work in none of it, so what the
/// quota took is to be compared with the rest.
fn waited_otherwise(phase: &PhaseResult, by_quota: f64) -> f64 {
    waited_share(phase).map_or(0.0, |waited| (waited - by_quota).clamp(0.0, 1.0))
}

fn fall(subject: &Subject<'_>) -> Option<Finding> {
    let found = movement(subject).filter(is_fall_of_level)?;
    let fallen = -found.step_share;
    let share = found.step_at as f64 / found.intervals.max(1) as f64;
    let message = format!(
        "IOPS fell by {} in one step, {} into the measured window: burst credit, a cache that filled, or a throttle{}",
        percent(fallen),
        percent(share),
        seen_briefly(subject, &found)
    );
    // With a share s of the window before the fall by d, the mean is s d / (1 - d) above the level after it.
    let high = share * fallen / (1.0 - fallen).max(0.01);
    // It may have fallen further behind that step.
    let at_end = large_change(subject).and_then(|change| change.effect(subject.mean_iops()));
    let high = wider(Effect::high(high), at_end).map_or(high, |effect| effect.high);
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(format!("{} against what lasts", iops_high(high)))
        .effect(Effect::high(high))
        .evidence("step_share", found.step_share)
        .evidence("step_at", found.step_at)
        .evidence("p_step", found.p_step)
        .advise("use up the credit or the cache first (a longer ramp), and report both levels");
    Some(finding)
}

/// What is said behind a lower level that was seen for a short time only; empty: it was seen for long.
fn seen_briefly(subject: &Subject<'_>, found: &Stationarity) -> String {
    let series = &subject.job.series;
    let window_s: f64 = series.iter().map(|point| point.length_s).sum();
    let seen_s = window_s * (1.0 - found.step_at as f64 / found.intervals.max(1) as f64);
    if seen_s >= LASTING_S_MIN {
        return String::new();
    }
    format!("; it was seen for {} only and may have passed", time(seen_s * 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::draft::OR_MORE;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;
    use crate::run::SeriesPoint;

    #[test]
    fn a_cpu_quota_that_was_used_up() {
        let mut run = run();
        // As recorded: one thread, a quota on the parent group; held back in nearly every period.
        let span_ns = run.phases[0].evidence.span_ns as f64;
        run.phases[0].evidence.throttled_period_share = Some(0.99);
        run.phases[0].evidence.throttled_ns = Some((0.57 * span_ns) as u64);
        assert_eq!(
            only(ID, &run).bias_words(),
            format!("IOPS low: without it up to 2.3 times as many{OR_MORE}")
        );
        // Threads that waited less for a CPU lost less.
        run.phases[0].jobs[0].evidence.run_queue_ns = Some((0.2 * span_ns) as u64);
        assert_eq!(only(ID, &run).bias_words(), format!("IOPS 0-25 % low{OR_MORE}"));
        // As recorded beside others: held back 30 % of the time, waiting 50 %, at work the other 50 %.
        run.phases[0].evidence.throttled_ns = Some((0.3 * span_ns) as u64);
        run.phases[0].jobs[0].evidence.run_queue_ns = Some((0.5 * span_ns) as u64);
        assert_eq!(
            only(ID, &run).bias_words(),
            format!("IOPS low: without it up to 1.6 times as many{OR_MORE}")
        );
        run.phases[0].jobs[0].evidence.run_queue_ns = Some((0.01 * span_ns) as u64);
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.run_queue_ns = None;
        run.phases[0].evidence.throttled_ns = Some((0.01 * span_ns) as u64);
        silent(ID, &run);
    }

    #[test]
    fn time_held_back_is_shared_by_the_cpus_of_the_threads() {
        let mut run = run();
        run.phases[0].evidence.throttled_ns = Some(run.phases[0].evidence.span_ns);
        run.phases[0].jobs[0].evidence.threads = 8;
        // Four CPUs, all of them held back for a quarter of the time.
        assert_eq!(only(ID, &run).bias_words(), format!("IOPS 0-33 % low{OR_MORE}"));
    }

    #[test]
    fn stolen_time() {
        let mut run = run();
        run.phases[0].evidence.steal_share = Some(0.03);
        silent(ID, &run);
        run.phases[0].evidence.steal_share = Some(0.3);
        assert!(only(ID, &run).message.contains("30 %"));
    }

    #[test]
    fn burst_credit_that_ran_out() {
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        run.phases[0].jobs[0].series = (0..40)
            .map(|i| {
                let level = if i < 20 { 3000.0 } else { 1000.0 };
                SeriesPoint { start_s: f64::from(i), iops: level + f64::from(i * 7919 % 21), ..point }
            })
            .collect();
        let finding = only(ID, &run);
        assert!(
            finding.bias_words().starts_with("IOPS 0-1") || finding.bias_words().starts_with("IOPS 0-9"),
            "{}",
            finding.bias_words()
        );
        assert!(crate::checks::by_id("not-steady").unwrap().judge(&run).is_empty(), "said once");
        assert!(finding.message.ends_with("or a throttle"), "{}", finding.message);
        // Twelve intervals of half a second, of which the last four are low.
        let series = &mut run.phases[0].jobs[0].series;
        series.drain(..12);
        series.truncate(12);
        for (at, point) in series.iter_mut().enumerate() {
            (point.start_s, point.length_s) = (0.5 * at as f64, 0.5);
        }
        assert!(only(ID, &run).message.ends_with("; it was seen for 2 s only and may have passed"));
    }
}
