//! `generator-bound`: the threads that submit were never free, so the figure is theirs.
//!
//! A thread that waits for the storage sleeps. Where the job threads worked nearly all of the time, more outstanding
//! I/O or faster storage would have changed nothing.

use assay_workload::job::EngineOptions;

use super::draft::{lost, lost_cpu_time, percent, time};
use super::subject::{Subject, on_storage};
use super::throttled::quota_share;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "generator-bound";

/// Share of their time in which the threads worked.
const BUSY_MIN: f64 = 0.9;
/// Share of their time in which the threads waited for a processor.
const QUEUED_MIN: f64 = 0.05;
/// Share of slots' time in which there was something to do and nobody to hand it over.
const IDLE_SLOTS_MIN: f64 = 0.1;
/// Share of its time in which the busiest thread must have worked, or waited for a processor, for empty slots to be its
/// fault: a thread that sleeps keeps slots empty on purpose, as a batch that is handed over in parts.
const BUSY_THREAD_MIN: f64 = 0.7;
/// Mean lateness of stamps as a share of the mean completion latency.
const STAMP_MIN: f64 = 0.2;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    on_storage(run)
        .filter_map(|subject| {
            let bound = queued(&subject).or_else(|| busy(&subject)).or_else(|| idle_slots(&subject));
            bound.or_else(|| late(&subject))
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

/// Other processes used the CPU: completions waited meanwhile, and nothing was submitted.
fn queued(subject: &Subject<'_>) -> Option<Finding> {
    // The kernel counts as waiting also the time that an idle processor takes to wake up, which on a virtual machine is
    // long, and longer than all that others do: nobody waits for them longer than they work.
    let others = cpus_of_others(subject);
    // What a quota took is `throttled`'s.
    let quota = quota_share(subject.run, subject.phase).unwrap_or(0.0);
    let share = queued_share(subject).map(|share| (share - quota).min(others.unwrap_or(1.0)));
    let share = share.filter(|share| *share >= QUEUED_MIN)?;
    if !subject.closed_loop() {
        return None;
    }
    let message = format!(
        "Assay's threads waited for a CPU {} of the time because other processes were using it",
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
        .bias(super::draft::iops_low(share / (1.0 - share.min(0.99))))
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

/// Completions lay about before they were looked for. With one I/O a thread there is nothing else to be busy with.
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
mod tests {
    use super::*;
    use crate::checks::draft::OR_MORE;
    use crate::checks::tests::{buffered, only, silent};
    use crate::fixture::{SECOND, run};

    #[test]
    fn a_thread_that_never_sleeps() {
        let mut run = run();
        run.phases[0].jobs[0].evidence.cpu_system_ns = 48 * SECOND / 10;
        assert!(only(ID, &run).message.starts_with("the job's threads worked 98 %"));
        // As many processors' worth of work is nothing for eight threads.
        run.phases[0].jobs[0].evidence.threads = 8;
        silent(ID, &run);
        // Nor is it where they poll.
        run.phases[0].jobs[0].evidence.threads = 1;
        run.plan.phases[0].jobs[0].engine_options.iopoll = true;
        silent(ID, &run);
        run.plan.phases[0].jobs[0].engine_options.iopoll = false;
        run.phases[0].jobs[0].evidence.threads = 8;
        // Unless they share one.
        run.environment.machine.cpu.allowed = Some(1);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn a_processor_that_others_had() {
        let mut run = run();
        // One thread, five seconds.
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(SECOND / 5);
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(SECOND);
        let finding = only(ID, &run);
        assert!(finding.message.contains("waited for a CPU 20 %"), "{}", finding.message);
        assert_eq!(finding.bias, format!("IOPS 0-25 % low{OR_MORE}"));
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(4 * SECOND);
        assert!(only(ID, &run).bias.starts_with("IOPS low: without it up to 5.0 times"));
    }

    #[test]
    fn a_quota_is_not_other_processes() {
        let mut run = run();
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(3 * SECOND);
        run.phases[0].evidence.throttled_ns = Some(3 * SECOND);
        silent(ID, &run);
        assert!(only("throttled", &run).message.starts_with("a CPU quota"));
    }

    #[test]
    fn nobody_waits_for_others_longer_than_they_work() {
        let mut run = run();
        run.environment.machine.cpu.online = Some(2);
        let own = run.phases[0].jobs[0].evidence.cpus_used();
        run.phases[0].jobs[0].evidence.run_queue_ns = Some(SECOND);
        // Others used 2 % of one processor of two: the rest is what an idle processor took to wake up.
        run.phases[0].evidence.cpu_busy_share = Some((own + 0.02) / 2.0);
        silent(ID, &run);
        run.phases[0].evidence.cpu_busy_share = Some((own + 0.1) / 2.0);
        assert_eq!(only(ID, &run).bias, format!("IOPS 0-11 % low{OR_MORE}"));
        run.phases[0].evidence.cpu_busy_share = Some((own + 0.9) / 2.0);
        assert_eq!(only(ID, &run).bias, format!("IOPS 0-25 % low{OR_MORE}"));
        // Completions of the job itself, in soft interrupts and workers of the kernel, are not other processes.
        run.phases[0].evidence.kernel_cpus_used = Some(0.87);
        silent(ID, &run);
    }

    #[test]
    fn a_rate_is_not_a_limit_of_the_generator() {
        let mut run = run();
        run.phases[0].jobs[0].evidence.cpu_system_ns = 5 * SECOND;
        run.phases[0].jobs[0].evidence.offered_iops = Some(2000.0);
        silent(ID, &run);
    }

    #[test]
    fn empty_slots_of_a_busy_thread() {
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.idle_slot_ns = evidence.busy_slot_ns;
        evidence.busiest_thread_share = Some(0.75);
        assert_eq!(only(ID, &run).bias, "IOPS 0-100 % low");
        // One of eight threads is enough, whatever the others do.
        run.phases[0].jobs[0].evidence.threads = 8;
        assert_eq!(only(ID, &run).evidence["busy_thread_share"], 0.75);
    }

    #[test]
    fn empty_slots_of_a_thread_that_sleeps_are_its_way_to_hand_over() {
        // As recorded with a batch that is handed over in parts: 8.4 % and more of the slots' time, nothing lost.
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.idle_slot_ns = evidence.busy_slot_ns / 8;
        evidence.busiest_thread_share = Some(0.55);
        silent(ID, &run);
        // Of a run that does not tell threads apart: their mean.
        run.phases[0].jobs[0].evidence.busiest_thread_share = None;
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.cpu_system_ns = 18 * SECOND / 5;
        assert!(only(ID, &run).message.starts_with("queue slots were empty 11 %"));
    }

    #[test]
    fn pages_dropped_between_passes_are_no_empty_slots() {
        let mut run = buffered(run());
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.idle_slot_ns = evidence.busy_slot_ns;
        evidence.busiest_thread_share = Some(0.85);
        evidence.active_bytes = 1 << 20;
        let planned = &mut run.plan.phases[0].jobs[0];
        (planned.invalidate, planned.invalidate_each_pass) = (true, true);
        silent(ID, &run);
        run.plan.phases[0].jobs[0].invalidate_each_pass = false;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn late_stamps() {
        let mut run = run();
        run.phases[0].jobs[0].stamp_error_ns_mean = run.phases[0].jobs[0].total.completion_ns.mean / 2.0;
        assert_eq!(only(ID, &run).bias, "completion latency 0-100 % high");
        run.phases[0].jobs[0].outstanding_io = 1;
        silent(ID, &run);
    }
}
