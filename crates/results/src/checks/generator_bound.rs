//! `generator-bound`: the threads that submit were never free, so the figure is theirs.
//!
//! A thread that waits for the storage sleeps. Where the job threads worked nearly all of the time, more outstanding
//! I/O or faster storage would have changed nothing.

use assay_workload::job::EngineOptions;
use assay_workload::plan::PlannedJob;

use super::draft::{iops_lost, lost, lost_cpu_time, percent, time};
use super::outlier_interval::STOPPED_ADVICE;
use super::own_stop::{own_stop, repeated_stops, share_in_long_ios};
use super::severity::severity;
use super::subject::{Subject, on_storage};
use super::throttled::quota_share;
use crate::run::{Effect, Finding, FindingSeverity, LatencySummary, Run};

pub(super) const ID: &str = "generator-bound";

/// Share of their time in which the threads worked.
const BUSY_MIN: f64 = 0.9;
/// Share of their time in which the threads waited for a processor.
const QUEUED_MIN: f64 = 0.05;
/// Share of slots' time in which there was something to do and no thread handed it over.
const IDLE_SLOTS_MIN: f64 = 0.1;
/// Share of its time in which the busiest thread must have worked, or waited for a processor, for empty slots to be its
/// fault: a thread that sleeps keeps slots empty on purpose, as a batch that is handed over in parts.
const BUSY_THREAD_MIN: f64 = 0.7;
/// Mean lateness of stamps as a share of the mean completion latency.
const STAMP_MIN: f64 = 0.2;
/// A 99th percentile of the submission delay below this is timer slack and wake-ups.
const DELAY_P99_NS_MIN: f64 = 1e6;
/// From this share of the response time on, at p99 or on average, a submission delay matters.
const DELAY_MIN: f64 = 0.2;
/// An I/O was submitted late from this delay on; undisturbed ones take less than a tenth of a millisecond.
const LATE_NS_MIN: f64 = 2e5;
/// Slots that were taken for a larger share of the time may explain delays also where threads waited for a CPU.
const SLOTS_TAKEN_MAX: f64 = 0.5;
/// A delay that chance does not make where slots were free for most of the time: from this on, and from so many mean I/Os.
const LONG_DELAY_NS_MIN: f64 = 1e7;
const LONG_DELAY_FACTOR: f64 = 20.0;
/// Where I/Os as long as the delays took this share of the time of the delays or more, the storage made them.
const LONG_IOS_MAX: f64 = 0.33;
/// Completion latencies and the time in which slots were taken are the same, but for the edges of the window.
const SLOT_TIME_MAX: f64 = 1.5;
/// A stop of this share of the longest delay is what made it.
const STOP_MIN: f64 = 0.5;
/// A rate of which more was missed is `rate-not-reached`'s.
const MISSED_MAX: f64 = 0.02;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    on_storage(run)
        .filter_map(|subject| {
            // Of a process that was stopped and starved, what took more.
            let stops = repeated_stops(&subject).map_or(0.0, |stops| stops.share);
            let held = if stops > starved_share(&subject).unwrap_or(0.0) {
                stopped(&subject)
            } else {
                queued(&subject)
            };
            let bound = held.or_else(|| busy(&subject)).or_else(|| idle_slots(&subject));
            bound.or_else(|| submitted_late(&subject)).or_else(|| late(&subject))
        })
        .collect()
}

/// Share of the job threads' time in which they were ready to run and had no processor.
pub(super) fn queued_share(subject: &Subject<'_>) -> Option<f64> {
    let evidence = &subject.job.evidence;
    let time = evidence.measured_ns as f64 * f64::from(evidence.threads.max(1));
    let share = evidence.run_queue_ns? as f64 / time;
    (share.is_finite()).then_some(share.min(1.0))
}

/// CPUs that other processes used while the phase went on: what all did, without the job threads of the phase and without
/// interrupts and the kernel's own threads, which complete the I/Os of the job.
fn cpus_of_others(subject: &Subject<'_>) -> Option<f64> {
    let online = subject.run.environment.machine.cpu.online?;
    let all = subject.phase.evidence.cpu_busy_share? * f64::from(online);
    let ours: f64 = subject.phase.jobs.iter().map(|job| job.evidence.cpus_used()).sum();
    let kernel = subject.phase.evidence.kernel_cpus_used.unwrap_or(0.0);
    Some((all - ours - kernel).max(0.0))
}

/// Share of the job threads' time in which they waited for a CPU that other processes used.
fn starved_share(subject: &Subject<'_>) -> Option<f64> {
    // The kernel counts as waiting also the time that an idle processor takes to wake up, which on a virtual machine is
    // long, and longer than all that others do: a thread does not wait for them longer than they work.
    let others = cpus_of_others(subject);
    // What a quota took is `throttled`'s.
    let quota = quota_share(subject.run, subject.phase).unwrap_or(0.0);
    queued_share(subject).map(|share| (share - quota).min(others.unwrap_or(1.0)))
}

/// Share of the time in which the job threads did not run although they had something to do: without a CPU, or stopped.
pub(super) fn held_back_share(subject: &Subject<'_>) -> f64 {
    let quota = quota_share(subject.run, subject.phase).unwrap_or(0.0);
    let starved = starved_share(subject).unwrap_or(0.0).max(0.0);
    let stopped = repeated_stops(subject).map_or(0.0, |stops| stops.share);
    (quota + starved).max(stopped).min(1.0)
}

/// The process was stopped again and again: completions waited meanwhile, and nothing was submitted.
fn stopped(subject: &Subject<'_>) -> Option<Finding> {
    let stops = repeated_stops(subject)?;
    let message = format!(
        "Assay did not run for {} of the time: it was stopped {} times, by {} on average",
        percent(stops.share),
        stops.stops,
        time(stops.mean_s * 1e9)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(lost_cpu_time(stops.share_max))
        .effect(lost(stops.share_max))
        .evidence("stopped_share", stops.share)
        .evidence("stops", stops.stops)
        .evidence("run_queue_share", queued_share(subject))
        .evidence("device_depth_mean", subject.truth().and_then(|truth| truth.device_depth_mean))
        .advise(STOPPED_ADVICE);
    Some(finding)
}

/// Other processes used the CPU: completions waited meanwhile, and nothing was submitted.
fn queued(subject: &Subject<'_>) -> Option<Finding> {
    let others = cpus_of_others(subject);
    let share = starved_share(subject).filter(|share| *share >= QUEUED_MIN)?;
    if !subject.closed_loop() {
        return None;
    }
    let message = format!(
        "{} threads waited for a CPU {} of the time because other processes were using it",
        if subject.is_of_a_command() { "the command's" } else { "Assay's" },
        percent(share)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(lost_cpu_time(share))
        .effect(lost(share))
        .evidence("run_queue_share", queued_share(subject))
        .evidence("cpus_of_others", others)
        .evidence("kernel_cpus_used", subject.phase.evidence.kernel_cpus_used)
        .evidence("run_queue_ns", subject.job.evidence.run_queue_ns)
        .evidence("preempted", subject.job.evidence.preempted)
        .evidence("cpus_used", subject.job.evidence.cpus_used())
        .advise("stop what else uses the CPUs, or measure with fewer threads than there are CPUs");
    Some(finding)
}

fn busy(subject: &Subject<'_>) -> Option<Finding> {
    let evidence = &subject.job.evidence;
    let online = subject.run.environment.machine.cpu.allowed.or(subject.run.environment.machine.cpu.online);
    let available = online.map_or(evidence.threads, |online| online.min(evidence.threads));
    let share = evidence.cpus_used() / f64::from(available.max(1));
    // A thread that polls for completions is busy all the time, whatever the limit is.
    let polls = |options: EngineOptions| options.iopoll || options.sqpoll;
    let polling = subject.planned.iter().any(|planned| polls(planned.engine_options));
    if share < BUSY_MIN || polling || !subject.closed_loop() {
        return None;
    }
    let kernel =
        evidence.cpu_system_ns as f64 / (evidence.cpu_system_ns as f64 + evidence.cpu_user_ns as f64);
    let message = format!(
        "the job's threads worked {} of the time ({} of it in the kernel): the CPU was the limit, not the storage",
        percent(share.min(1.0)),
        percent(kernel)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("IOPS low by an unknown amount: the storage does at least this")
        .evidence("cpus_used", evidence.cpus_used())
        .evidence("threads", evidence.threads)
        .evidence("found_waiting_share", evidence.found_waiting_share())
        .evidence("cpu_ns_per_io", subject.job.cpu_ns_per_io)
        .advise("use more threads, on more CPUs");
    Some(finding)
}

fn idle_slots(subject: &Subject<'_>) -> Option<Finding> {
    let share = subject.job.evidence.idle_slot_share();
    let busy = subject.job.evidence.busy_thread_share();
    if share < IDLE_SLOTS_MIN || busy < BUSY_THREAD_MIN || !subject.closed_loop() || drops_pages(subject) {
        return None;
    }
    let message = format!(
        "queue slots were empty {} of the time although work was pending: a job thread was busy {} of its time",
        percent(share),
        percent(busy)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(iops_lost(share))
        .effect(lost(share))
        .evidence("idle_slot_share", share)
        .evidence("busy_thread_share", busy)
        .evidence("found_waiting_share", subject.job.evidence.found_waiting_share())
        .advise("use more threads, with fewer outstanding I/Os each");
    Some(finding)
}

/// Whether every job dropped cached pages between passes: slots are empty while the kernel does so.
fn drops_pages(subject: &Subject<'_>) -> bool {
    let passed = subject.job.total.bytes > subject.job.evidence.active_bytes;
    passed && subject.planned.iter().all(|planned| planned.drops_pages_between_passes())
}

/// Share of I/Os that were submitted late, at least: what is known of the distribution of the delays. As arrivals come all the
/// time, it is the share of the time in which they were not submitted as well.
fn late_share(delay: &LatencySummary, measured_ns: u64) -> f64 {
    let late = |ns: &Option<u64>| ns.is_some_and(|ns| ns as f64 >= LATE_NS_MIN);
    let percentiles = delay.percentiles();
    let by_percentile =
        percentiles.iter().find(|(_, _, ns)| late(ns)).map_or(0.0, |(_, share, _)| 1.0 - share);
    // One that waited so long was not submitted all that time.
    let longest = delay.max as f64 / measured_ns.max(1) as f64;
    let by_mean = delay.mean / (delay.max as f64).max(1.0);
    by_percentile.max(longest).max(by_mean).min(1.0)
}

/// Share of the time in which all queue slots can have been taken at most. Where a thread may sleep in the submitting call, or
/// a flush keeps others back, one outstanding I/O is as good as all.
fn slots_taken_share(subject: &Subject<'_>) -> f64 {
    let evidence = &subject.job.evidence;
    let waits = |planned: &&PlannedJob| !planned.direct || planned.flush.periodic.is_some();
    let one_is_all = subject.planned.is_empty() || subject.planned.iter().any(waits);
    let threads = u64::from(evidence.threads.max(1));
    let slots = if one_is_all { threads } else { subject.job.outstanding_io.max(threads) };
    (evidence.busy_slot_ns as f64 / (evidence.measured_ns.max(1) as f64 * slots as f64)).min(1.0)
}

/// Whether delays are far longer than what slots were taken for: the I/Os of their time were short, and did not queue up by chance.
fn unexplained(subject: &Subject<'_>, delay: &LatencySummary, taken: f64) -> bool {
    let evidence = &subject.job.evidence;
    let Some(delay_p99) = delay.p99.map(|ns| ns as f64) else { return false };
    let long = delay_p99 >= LONG_DELAY_NS_MIN.max(LONG_DELAY_FACTOR * subject.job.total.completion_ns.mean);
    // The arrivals of a stop waited for half of it on average.
    let late = 2.0 * delay.mean / (delay.max as f64).max(1.0);
    let in_long_ios = share_in_long_ios(subject, delay_p99 / 4.0);
    // The distribution must be that of all the time in which slots were taken.
    let of_slots = subject.job.completion_histogram().sum_ns() as f64 / evidence.busy_slot_ns.max(1) as f64;
    let known = (1.0 / SLOT_TIME_MAX..=SLOT_TIME_MAX).contains(&of_slots) && subject.job.flush.is_none();
    known && long && taken <= SLOTS_TAKEN_MAX && in_long_ios < LONG_IOS_MAX * late
}

/// In an open loop: I/Os were submitted late while queue slots were free, because the generator did not run. Their response
/// times begin when they were due, so that they are the generator's.
fn submitted_late(subject: &Subject<'_>) -> Option<Finding> {
    let (job, evidence) = (subject.job, &subject.job.evidence);
    let (delay, response) = (job.lateness_ns.as_ref()?, job.total.response_ns.as_ref()?);
    let (delay_p99, response_p99) = (delay.p99? as f64, response.p99? as f64);
    let matters = delay_p99 >= DELAY_MIN * response_p99 || delay.mean >= DELAY_MIN * response.mean;
    let missed = evidence.missed_share.unwrap_or(0.0) >= MISSED_MAX;
    if evidence.offered_iops.is_none() || delay_p99 < DELAY_P99_NS_MIN || !matters || missed {
        return None;
    }
    let (late, taken) = (late_share(delay, evidence.measured_ns), slots_taken_share(subject));
    let queued = queued_share(subject).unwrap_or(0.0);
    let waited = queued >= QUEUED_MIN && taken <= SLOTS_TAKEN_MAX;
    // A stop with all slots taken looks like storage that does not answer.
    let stop = own_stop(subject).filter(|stop| stop.length_s * 1e9 >= STOP_MIN * delay.max as f64);
    if late <= taken && !waited && stop.is_none() && !unexplained(subject, delay, taken) {
        return None;
    }
    // What timer slack adds to every I/O is no reason to doubt a run.
    let slack = delay.p50.map_or(0.0, |ns| (ns as f64).min(LATE_NS_MIN / 2.0));
    let added = (delay.mean - slack).max(0.0);
    let severity =
        severity(FindingSeverity::Invalid, Effect::high(added / (response.mean - added).max(1.0)), None)
            .max(FindingSeverity::Warning);
    let cpu = if queued >= QUEUED_MIN {
        format!("; its threads waited for a CPU {} of the time", percent(queued))
    } else {
        String::new()
    };
    let why = match stop {
        Some(stop) => format!("because it did not run for {}", time(stop.length_s * 1e9)),
        None => "although queue slots were free".to_owned(),
    };
    let message = format!(
        "Assay submitted I/Os late {why}: p99 submission delay {}, of a p99 response time of {}{cpu}",
        time(delay_p99),
        time(response_p99)
    );
    // Without the delay a response time is the completion latency.
    let over = |response: f64, completion: f64| (response / completion.max(1.0) - 1.0).max(0.0);
    let mean_high = over(response.mean, response.mean - delay.mean);
    let p99_high = job.total.completion_ns.p99.map(|completion| over(response_p99, completion as f64));
    let at_p99 = p99_high.map_or(String::new(), |high| format!(", p99 {}", share_high(high)));
    let others = cpus_of_others(subject).filter(|_| queued >= QUEUED_MIN);
    let finding = subject
        .draft(ID, severity, message)
        .bias(format!("response times {} on average{at_p99}", share_high(mean_high)))
        .effect(Effect::high(p99_high.unwrap_or(0.0).max(mean_high)))
        .evidence("effect_of", "response_ns")
        .evidence("response_ns_mean_high_share", mean_high)
        .evidence("response_ns_p99_high_share", p99_high)
        .evidence("lateness_ns_mean", delay.mean)
        .evidence("lateness_ns_p99", delay_p99)
        .evidence("response_ns_mean", response.mean)
        .evidence("response_ns_p99", response_p99)
        .evidence("late_share_min", late)
        .evidence("slots_taken_share_max", taken)
        .evidence("run_queue_share", queued_share(subject))
        .evidence("cpus_of_others", others)
        .advise("stop what else uses the CPUs and do not suspend Assay; the completion latency does not contain this delay");
    Some(finding)
}

fn share_high(share: f64) -> String {
    if share > 10.0 {
        format!("up to {:.0} times too high", share + 1.0)
    } else {
        format!("0-{} high", percent(share))
    }
}

/// Completions waited before they were reaped. A thread with one outstanding I/O has no other work.
fn late(subject: &Subject<'_>) -> Option<Finding> {
    let (late, mean) = (subject.job.stamp_error_ns_mean, subject.job.total.completion_ns.mean);
    let several = subject.job.outstanding_io > u64::from(subject.job.evidence.threads);
    let share = late / mean;
    if !several || mean <= 0.0 || share < STAMP_MIN {
        return None;
    }
    let message = format!(
        "completions were stamped up to {} late on average, against a mean latency of {}",
        time(late),
        time(mean)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Info, message)
        .bias(if share > 0.5 {
            "completion latency high, perhaps by most of it".to_owned()
        } else {
            format!("completion latency 0-{} high", percent(share / (1.0 - share)))
        })
        .evidence("stamp_error_ns_mean", late)
        .evidence("completion_ns_mean", mean)
        .advise("use more threads, with fewer outstanding I/Os each");
    Some(finding)
}

#[cfg(test)]
#[path = "generator_bound/tests.rs"]
mod tests;
