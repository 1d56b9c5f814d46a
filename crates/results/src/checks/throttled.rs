//! `throttled`: a quota, a limit, vCPU steal or used-up burst credit limited the rate.
//!
//! Known from the control group's throttling counters and device limits, from the processors' stolen time, and from a
//! single fall of level inside a measured window.

use assay_workload::PhaseKind;

use super::draft::{Draft, iops_high, iops_low, lost, lost_cpu_time, percent, time};
use super::not_steady::movement;
use super::subject::{Subject, measured, on_storage, repeat_of, upper_quartile};
use crate::evidence::LimitInForce;
use crate::run::{Effect, Finding, FindingSeverity, OpResult, PhaseResult, Run, SeriesPoint};
use crate::steady::{Stationarity, StationarityVerdict};

pub(super) const ID: &str = "throttled";

/// Share of the job threads' time that a CPU quota took.
const THROTTLED_MIN: f64 = 0.05;
/// Share of the processors' time that the hypervisor took.
const STEAL_MIN: f64 = 0.05;
/// This near to a limit is at the limit.
const AT_LIMIT: f64 = 0.9;
/// Further above a limit that held for a part of the time only, it was not this job that it held back.
const ABOVE_LIMIT: f64 = 1.25;
/// A fall by at least this share, in one step, is what burst credit looks like.
const FALL_MIN: f64 = 0.2;
/// A lower level that was seen for less time may as well be a dip that the end of the window cut off.
const LASTING_S_MIN: f64 = 5.0;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let phases = run.phases.iter().enumerate().filter(|(_, phase)| phase.kind == PhaseKind::Measure);
    let mut findings: Vec<Finding> = phases.flat_map(|(at, phase)| of_phase(run, at, phase)).collect();
    findings.extend(on_storage(run).filter_map(|subject| device_limit(&subject)));
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

/// A limit of the control group on a device of the job that was reached while it held.
pub(super) fn device_limit(subject: &Subject<'_>) -> Option<Finding> {
    let numbers: Vec<String> = subject.devices().iter().filter_map(|device| device.number.clone()).collect();
    let span_s = subject.phase.evidence.span_ns as f64 / 1e9;
    let in_force = &subject.phase.evidence.device_limits;
    // Of a run that did not read them meanwhile, those of its start.
    let at_start = subject.run.environment.cgroup.devices.iter().filter(|_| in_force.is_empty());
    let at_start = at_start.map(|limit| LimitInForce { limit: limit.clone(), start_s: 0.0, end_s: span_s });
    let limits = in_force.iter().cloned().chain(at_start);
    let limits: Vec<LimitInForce> = limits.filter(|held| numbers.contains(&held.limit.device)).collect();
    // The last one is what lasts.
    limits.iter().rev().filter(|_| subject.alone()).find_map(|held| {
        let all_along = held.start_s <= 0.0 && held.end_s >= span_s;
        let (done, upper) = if all_along {
            (moved_per_s(subject)?, f64::INFINITY)
        } else {
            (moved_while(subject, held)?, ABOVE_LIMIT)
        };
        let limit = &held.limit;
        let most = [limit.read_bytes_per_s, limit.write_bytes_per_s, limit.read_iops, limit.write_iops];
        let names = ["bytes read a second", "bytes written a second", "reads a second", "writes a second"];
        names.into_iter().zip(done).zip(most).find_map(|((name, rate), most)| {
            let (rate, most) = (rate?, most?);
            let share = rate / most as f64;
            let reached = (AT_LIMIT..=upper).contains(&share);
            reached.then(|| at_limit(subject, held, (name, rate, most), !all_along))
        })
    })
}

/// Whether limits on devices changed during the phase.
fn set_meanwhile(subject: &Subject<'_>) -> bool {
    subject.phase.evidence.device_limits.iter().any(|held| held.start_s > 0.0)
}

/// The same as [`moved_per_s`] while a limit held: of a job past the page cache, by its intervals within that time.
fn moved_while(subject: &Subject<'_>, held: &LimitInForce) -> Option<[Option<f64>; 4]> {
    let (within, _) = within(subject, held);
    let (iops, bytes_per_s) = (mean(&within, |point| point.iops)?, mean(&within, |point| point.bytes_per_s)?);
    let total = &subject.job.total;
    let of = |op: Option<&OpResult>| {
        op.map_or((0.0, 0.0), |op| {
            (op.ios as f64 / total.ios.max(1) as f64, op.bytes as f64 / total.bytes.max(1) as f64)
        })
    };
    let (read, write) = (of(subject.job.read.as_ref()), of(subject.job.write.as_ref()));
    let rates = [bytes_per_s * read.1, bytes_per_s * write.1, iops * read.0, iops * write.0];
    subject.job.direct.then_some(rates.map(Some))
}

/// The intervals in which a limit held, and the others.
fn within<'s>(subject: &Subject<'s>, held: &LimitInForce) -> (Vec<&'s SeriesPoint>, Vec<&'s SeriesPoint>) {
    let origin_s = subject.job.evidence.measured_start_ns as f64 / 1e9;
    subject.job.series.iter().partition(|point| {
        let start_s = origin_s + point.start_s;
        start_s >= held.start_s && start_s + point.length_s <= held.end_s + 0.1 * point.length_s
    })
}

/// The mean of a rate over intervals, by their length; `None` without any.
fn mean(points: &[&SeriesPoint], field: fn(&SeriesPoint) -> f64) -> Option<f64> {
    let time_s: f64 = points.iter().map(|point| point.length_s).sum();
    let sum: f64 = points.iter().map(|point| field(point) * point.length_s).sum();
    (time_s > 0.0).then_some(sum / time_s)
}

/// Bytes read, bytes written, reads and writes a second: at the devices where they say it, else those of a job past the
/// page cache, whose every I/O is at least a request to the upper device.
fn moved_per_s(subject: &Subject<'_>) -> Option<[Option<f64>; 4]> {
    let truth = subject.truth()?;
    let per_s =
        |count: Option<u64>| count.map(|count| count as f64 / (subject.phase.evidence.span_ns as f64 / 1e9));
    let at_devices =
        [truth.device_read_bytes, truth.device_written_bytes, truth.device_reads, truth.device_writes]
            .map(per_s);
    if at_devices.iter().any(Option::is_some) || !subject.job.direct {
        return Some(at_devices);
    }
    let (read, write) = (subject.job.read.as_ref(), subject.job.write.as_ref());
    let bytes = |op: Option<&OpResult>| op.map(|op| op.bytes);
    let ios = |op: Option<&OpResult>| op.map(|op| op.ios);
    Some([bytes(read), bytes(write), ios(read), ios(write)].map(per_s))
}

fn at_limit(
    subject: &Subject<'_>,
    held: &LimitInForce,
    (name, rate, most): (&str, f64, u64),
    in_part: bool,
) -> Finding {
    let when = in_part.then_some((held.start_s, held.end_s));
    let when_s =
        when.map_or(String::new(), |(from, to)| format!(", in force from {from:.0} s to {to:.0} s,"));
    let message =
        format!("the control group's limit of {most} {name} on {}{when_s} was reached", held.limit.device);
    let effect = in_part.then(|| of_a_part(subject, held)).flatten();
    let bias = match effect {
        Some(effect) => {
            let low = format!("{} against the faster intervals", iops_low(-effect.low));
            let high = || format!("; {} against what lasts", iops_high(effect.high));
            low + &if effect.high > 0.0 { high() } else { String::new() }
        }
        None if in_part => "a part of the figure is that of the limit; the storage may do more".to_owned(),
        None => "the figure is that of the limit; the storage may do more".to_owned(),
    };
    subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(bias)
        .effect(effect)
        .evidence("limit_per_s", most)
        .evidence("reached_per_s", rate)
        .evidence("in_force_from_s", when.map(|when| when.0))
        .evidence("in_force_to_s", when.map(|when| when.1))
        .advise("lift the limit (io.max, blkio.throttle), or report the figure as that of the limit")
}

/// What a limit does to a figure that held for a part of the window: without it all intervals would be as the faster ones beside it;
/// of one that still held at the end, what lasts is what it left.
fn of_a_part(subject: &Subject<'_>, held: &LimitInForce) -> Option<Effect> {
    let (within, beside) = within(subject, held);
    let figure = subject.mean_iops();
    let faster = upper_quartile(&beside.iter().map(|point| point.iops).collect::<Vec<f64>>())?;
    let lasts = held.end_s >= subject.phase.evidence.span_ns as f64 / 1e9;
    let high = match mean(&within, |point| point.iops).filter(|_| lasts) {
        Some(after) => figure / after.max(f64::MIN_POSITIVE) - 1.0,
        None => 0.0,
    };
    Effect::between(1.0 - faster / figure, high)
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
    use crate::environment::CgroupDeviceLimit;
    use crate::fixture::run;

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
    fn a_device_limit_that_was_reached() {
        let mut run = run();
        run.environment.targets[0].devices[0].number = Some("8:0".to_owned());
        let limit = |read_iops| CgroupDeviceLimit {
            device: "8:0".to_owned(),
            read_iops,
            ..CgroupDeviceLimit::default()
        };
        run.environment.cgroup.devices = vec![limit(Some(2000))];
        assert!(only(ID, &run).message.contains("limit of 2000 reads a second"));
        run.environment.cgroup.devices = vec![limit(Some(20_000))];
        silent(ID, &run);
    }

    #[test]
    fn a_limit_that_was_set_meanwhile_is_named_and_no_matter_of_depth() {
        let mut run = run();
        run.environment.targets[0].devices[0].number = Some("8:0".to_owned());
        // Two fast seconds, then a limit of 500 reads a second, as recorded.
        for (at, point) in run.phases[0].jobs[0].series.iter_mut().enumerate() {
            point.iops = if at < 2 { 5000.0 } else { 502.0 };
            point.bytes_per_s = point.iops * 4096.0;
        }
        let limit = CgroupDeviceLimit {
            device: "8:0".to_owned(),
            read_iops: Some(500),
            ..CgroupDeviceLimit::default()
        };
        run.phases[0].evidence.device_limits = vec![LimitInForce { limit, start_s: 2.0, end_s: 5.0 }];
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(0.8);
        let finding = only(ID, &run);
        assert!(
            finding.message.contains("limit of 500 reads a second on 8:0, in force from 2 s to 5 s,"),
            "{}",
            finding.message
        );
        silent("effective-depth", &run);
        // Two of five seconds at 5000, then 502: the mean is 2301.
        assert_eq!(
            finding.bias_words(),
            "IOPS low: without it up to 2.2 times as many against the faster intervals; \
             IOPS 0-358 % high against what lasts"
        );
        let effect = finding.effect.unwrap();
        assert!((effect.low + 1.17).abs() < 0.01 && (effect.high - 3.58).abs() < 0.01, "{effect:?}");
        // One that was lifted again is no level that lasts: a sawtooth.
        for (at, point) in run.phases[0].jobs[0].series.iter_mut().enumerate() {
            point.iops = if at == 2 || at == 3 { 502.0 } else { 2000.0 };
        }
        run.phases[0].evidence.device_limits[0].end_s = 4.0;
        assert_eq!(only(ID, &run).bias_words(), "IOPS 0-43 % low against the faster intervals");
        run.phases[0].evidence.device_limits[0].end_s = 5.0;
        // A limit that was not reached explains nothing.
        run.phases[0].evidence.device_limits[0].limit.read_iops = Some(2000);
        silent(ID, &run);
        assert_eq!(only("effective-depth", &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn a_limit_on_a_device_over_something_that_does_not_count() {
        let mut run = run();
        run.environment.targets[0].devices[0].number = Some("7:0".to_owned());
        let truth = run.phases[0].device.as_mut().unwrap();
        (truth.device_read_bytes, truth.device_written_bytes) = (None, None);
        (truth.device_reads, truth.device_writes) = (None, None);
        let span_s = run.phases[0].evidence.span_ns as f64 / 1e9;
        let reads_per_s = (run.phases[0].jobs[0].read.as_ref().unwrap().ios as f64 / span_s) as u64;
        let limit = CgroupDeviceLimit {
            device: "7:0".to_owned(),
            read_iops: Some(reads_per_s),
            ..CgroupDeviceLimit::default()
        };
        run.environment.cgroup.devices = vec![limit];
        run.phases[0].jobs[0].direct = true;
        assert!(only(ID, &run).message.contains(&format!("limit of {reads_per_s} reads a second")));
        run.phases[0].jobs[0].direct = false;
        silent(ID, &run);
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
