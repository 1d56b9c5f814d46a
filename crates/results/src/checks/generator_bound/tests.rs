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
    assert_eq!(finding.bias_words(), format!("IOPS 0-25 % low{OR_MORE}"));
    run.phases[0].jobs[0].evidence.run_queue_ns = Some(4 * SECOND);
    assert!(only(ID, &run).bias_words().starts_with("IOPS low: without it up to 5.0 times"));
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
    assert_eq!(only(ID, &run).bias_words(), format!("IOPS 0-11 % low{OR_MORE}"));
    run.phases[0].evidence.cpu_busy_share = Some((own + 0.9) / 2.0);
    assert_eq!(only(ID, &run).bias_words(), format!("IOPS 0-25 % low{OR_MORE}"));
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
    assert_eq!(only(ID, &run).bias_words(), "IOPS low: without it up to 2.0 times as many");
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
    assert_eq!(only(ID, &run).bias_words(), "completion latency 0-100 % high");
    run.phases[0].jobs[0].outstanding_io = 1;
    silent(ID, &run);
}

/// An open loop of 1000 IOPS over 3 s with 4 outstanding: slots taken for so long, delays and response times in ns as (p50,
/// p90, p99, mean, max).
fn open_loop(busy_slot_ns: u64, delay: [u64; 5], response: [u64; 5]) -> Run {
    let summary = |[p50, p90, p99, mean, max]: [u64; 5]| LatencySummary {
        n: 3000,
        mean: mean as f64,
        p50: Some(p50),
        p90: Some(p90),
        p99: Some(p99),
        max,
        ..LatencySummary::default()
    };
    let mut run = run();
    let job = &mut run.phases[0].jobs[0];
    job.evidence.offered_iops = Some(1000.0);
    job.evidence.missed_share = Some(0.0);
    job.evidence.measured_ns = 3 * SECOND;
    job.evidence.busy_slot_ns = busy_slot_ns;
    job.outstanding_io = 4;
    job.lateness_ns = Some(summary(delay));
    job.total.response_ns = Some(summary(response));
    // As long as the difference of the means; the fixture's own latencies are another job's.
    job.total.completion_ns = summary([response[3] - delay[3]; 5]);
    run
}

#[test]
fn an_open_loop_whose_generator_was_starved() {
    // As recorded beside four busy loops on two CPUs.
    let mut run = open_loop(
        510_458_946,
        [38_272, 559_104, 22_347_776, 850_290, 37_396_279],
        [90_880, 1_339_392, 22_478_848, 1_020_443, 38_960_742],
    );
    let finding = only(ID, &run);
    assert_eq!(finding.severity, FindingSeverity::Invalid, "three quarters of the mean are the generator's");
    assert!(finding.message.contains("p99 submission delay 22 ms, of a p99 response time of 22 ms"));
    assert_eq!(finding.bias_words(), "response times 0-500 % high on average, p99 up to 132 times too high");
    // In numbers the larger of both, which is of response times.
    assert!(finding.effect.is_some_and(|effect| (effect.high - 131.1).abs() < 1.0), "{:?}", finding.effect);
    assert_eq!(finding.evidence["effect_of"], "response_ns");
    // Where all slots may have been taken as long, waiting for a CPU tells it.
    let job = &mut run.phases[0].jobs[0];
    job.outstanding_io = 1;
    silent(ID, &run);
    run.phases[0].jobs[0].evidence.run_queue_ns = Some(366_068_938);
    assert!(only(ID, &run).message.ends_with("waited for a CPU 12 % of the time"));
}

#[test]
fn an_open_loop_that_was_stopped() {
    // As recorded with SIGSTOP for 1 s; one I/O was outstanding meanwhile.
    let delay = [76_544, 715_128_832, 970_981_376, 174_107_284, 1_000_702_380];
    let response = [176_640, 715_128_832, 970_981_376, 174_551_933, 1_001_837_201];
    let finding = only(ID, &open_loop(1_333_947_831, delay, response));
    assert_eq!(finding.severity, FindingSeverity::Invalid);
    assert_eq!(
        finding.bias_words(),
        "response times up to 393 times too high on average, p99 up to 2184 times too high"
    );
    // Storage that answered nothing for that second had all four slots taken.
    let mut taken = open_loop(4_350_000_000, delay, response);
    silent(ID, &taken);
    // It was the process that stood still: readings of the counters stopped as well, and came at once afterwards.
    let lengths = [0.2, 0.2, 0.2, 0.2, 0.2, 1.1, 0.0, 0.1, 0.2, 0.2];
    taken.phases[0].evidence.seconds =
        lengths.map(|length_s| crate::evidence::MachineSecond { length_s, ..Default::default() }).to_vec();
    assert!(
        only(ID, &taken).message.starts_with("Assay submitted I/Os late because it did not run for 900 ms")
    );
    // A thread that sleeps in the submitting call has one I/O outstanding.
    silent(ID, &buffered(open_loop(1_333_947_831, delay, response)));
}

#[test]
fn full_slots_and_timer_slack_are_not_a_starved_generator() {
    // As recorded at a rate of many times what the storage does: the slots were taken all the time.
    let delay = [1_379_926_016, 2_306_867_200, 2_508_193_792, 1_339_367_795, 2_524_097_359];
    let response = [1_379_926_016, 2_306_867_200, 2_508_193_792, 1_339_492_256, 2_524_230_538];
    silent(ID, &open_loop(11_843_757_776, delay, response));
    // Slack of the timer: half of the response time, at p99 as well.
    silent(
        ID,
        &open_loop(
            330_000_000,
            [54_656, 88_832, 240_000, 60_000, 900_000],
            [161_280, 224_768, 535_000, 170_000, 1_200_000],
        ),
    );
}

#[test]
fn delays_that_no_io_explains_are_the_generators() {
    use crate::histogram::LatencyHistogram;
    // As recorded with SIGSTOP of 0.1 s in every 0.4 s: 1000 I/Os a second, one outstanding, 188 us each.
    let stopped = |stalled: u64| {
        let mut run = run();
        let job = &mut run.phases[0].jobs[0];
        (job.outstanding_io, job.evidence.threads) = (1, 1);
        job.evidence.offered_iops = Some(1000.0);
        job.evidence.missed_share = Some(0.001);
        job.evidence.measured_ns = 4 * SECOND;
        let mut completion = LatencyHistogram::new();
        completion.record_n(188_000, 4000 - stalled);
        completion.record_n(100_000_000, stalled);
        job.evidence.busy_slot_ns = completion.sum_ns() as u64;
        job.total.completion_ns.mean = completion.mean_ns();
        job.total.completion_ns.p99 = completion.quantile_ns(0.99);
        job.read.as_mut().unwrap().completion_histogram = Some(completion.to_sparse());
        let of = |mean: f64, max| LatencySummary {
            n: 4000,
            mean,
            p50: Some(150_000),
            p90: Some(60_000_000),
            p99: Some(99_900_000),
            max,
            ..LatencySummary::default()
        };
        job.lateness_ns = Some(of(13.3e6, 105_000_000));
        job.total.response_ns = Some(of(13.5e6, 106_000_000));
        run
    };
    let finding = only(ID, &stopped(0));
    assert!(finding.message.contains("late although queue slots were free"), "{}", finding.message);
    // A stop now and then meets an I/O.
    only(ID, &stopped(2));
    // Storage that stalls has an I/O for each delay.
    silent(ID, &stopped(10));
}
