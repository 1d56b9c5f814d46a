use super::*;
use crate::fixture::{self, SECOND, counters, environment};
use crate::run::{FindingSeverity, Verdict};

/// Ten seconds, 8 MiB fetched a second, by calls or not.
fn observation(asked_per_s: u64, fetched_per_s: u64) -> Observation {
    let reading = |second: u64| {
        let mut record = counters(second, fetched_per_s * second);
        let process = &mut record.processes[0];
        process.asked_read_bytes = Some(asked_per_s * second);
        process.asked_reads = Some(asked_per_s * second / 4096);
        (process.asked_write_bytes, process.asked_writes) = (Some(0), Some(0));
        record
    };
    let plan = fixture::plan(vec![]);
    Observation {
        own_figures: false,
        id: "0badcafe".to_owned(),
        started: "2025-03-04T05:06:07Z".to_owned(),
        producer: ("0.1.0".to_owned(), None),
        name: "dd".to_owned(),
        program: "dd".to_owned(),
        environment: environment(),
        targets: plan.targets,
        missed: Vec::new(),
        direct: false,
        partly_direct: false,
        opened_for: (true, false),
        threads: 1,
        cpu: None,
        before: [counters(0, 0), counters(0, 0)],
        during: (0..=10).map(reading).collect(),
        after: [counters(10, 10 * fetched_per_s), counters(11, 10 * fetched_per_s)],
        ended: CommandEnd::Success,
        left_running: Vec::new(),
    }
}

const RATE: u64 = 8 << 20;

#[test]
fn calls_that_the_cache_answered_are_found() {
    let run = run_of(&observation(RATE, RATE / 10)).unwrap();
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.engine.as_str(), job.total.bytes, job.series.len()), ("dd", 10 * RATE, 10));
    assert!((job.cached_read_share.unwrap() - 0.9).abs() < 1e-6);
    assert_eq!(run.verdict, Verdict::Invalid);
    assert!(run.findings.iter().any(|finding| finding.id == "cache-served-reads"));
}

#[test]
fn without_calls_only_the_bytes_are_known() {
    let mut seen = observation(0, RATE);
    // Others use the device, too: what they do is not the command's.
    for (second, record) in seen.during.iter_mut().enumerate() {
        record.devices[0].read_bytes += 3 * RATE * second as u64;
        record.devices[0].reads += 5000 * second as u64;
    }
    let run = run_of(&seen).unwrap();
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.total.bytes, job.cached_read_share), (10 * RATE, None));
    // Neither operations nor block size, pattern, depth or durability are made up.
    assert_eq!((job.total.known_iops(), job.total.block_size, job.outstanding_io), (None, 0, 0));
    assert_eq!((job.pattern.as_str(), job.durability.as_str()), ("access pattern not known", ""));
    let truth = run.phases[0].device.as_ref().unwrap();
    assert_eq!((truth.asked_unknown, truth.asked_read_bytes), (true, 0));
    let finding = run.findings.iter().find(|finding| finding.id == "cache-served-reads").unwrap();
    assert_eq!(finding.severity, FindingSeverity::Unchecked);
    assert!(run.notes.iter().any(|note| note.contains("libaio")));
}

/// As recorded: fio with 4 KiB random reads, and a read of 900 bytes of its own job file. The kernel counts calls and bytes.
#[test]
fn what_calls_do_not_tell_is_not_made_up() {
    let mut seen = observation(RATE, RATE);
    seen.direct = true;
    for record in &mut seen.during[1..] {
        let process = &mut record.processes[0];
        process.asked_reads = process.asked_reads.map(|reads| reads + 1);
        process.asked_read_bytes = process.asked_read_bytes.map(|bytes| bytes + 900);
    }
    let run = run_of(&seen).unwrap();
    let (job, planned) = (&run.phases[0].jobs[0], &run.plan.phases[0].jobs[0]);
    assert_eq!(planned.pattern, AccessPattern::unknown(Mix::READ));
    assert_eq!((planned.outstanding_per_thread, job.outstanding_io), (0, 0));
    let read = job.read.as_ref().unwrap();
    assert_eq!((read.ios, read.bytes, read.block_size), (10 * RATE / 4096 + 1, 10 * RATE + 900, 0));
    assert_eq!(read.request_bytes_mean(), Some(4095), "a mean, and no block size");
    let quoted = crate::answer::quoted(&run);
    assert_eq!((quoted[0].random, quoted[0].only_reads()), (None, true));
    for of_plan in ["unrepresentative-block-size", "effective-depth", "hot-area-imbalance"] {
        assert!(!run.findings.iter().any(|finding| finding.id == of_plan), "{of_plan}: {:#?}", run.findings);
    }
    assert_eq!(run.verdict, Verdict::Valid, "{:#?}", run.findings);
}

#[test]
fn figures_are_judged_by_what_was_seen() {
    // A direct job that read 80 MiB, of which the kernel fetched a tenth: holes.
    let mut figures = fixture::run();
    figures.phases[0].jobs[0].read.as_mut().unwrap().bytes = 10 * RATE;
    figures.phases[0].device = None;
    figures.phases[0].jobs[0].cached_read_share = None;
    let observed = run_of(&observation(0, RATE / 10)).unwrap();
    let run = adopt(observed, figures.clone());
    assert_eq!(run.id, "0badcafe");
    assert_eq!(run.phases[0].jobs[0].total.ios, figures.phases[0].jobs[0].total.ios);
    assert!((run.phases[0].jobs[0].cached_read_share.unwrap() - 0.9).abs() < 1e-6);
    assert_eq!(run.phases[0].evidence.span_ns, 10 * SECOND);
    assert_eq!(run.verdict, Verdict::Invalid, "{:#?}", run.findings);
    let same = adopt(run_of(&observation(0, RATE)).unwrap(), figures);
    assert_eq!(same.phases[0].jobs[0].cached_read_share, Some(0.0));
}

#[test]
fn what_the_kernel_fetched_of_the_program_is_not_of_the_target() {
    // Half of the file are holes; as much again was fetched of libraries, from another disk.
    let mut figures = fixture::run();
    figures.phases[0].jobs[0].read.as_mut().unwrap().bytes = 10 * RATE;
    let mut seen = observation(0, RATE);
    seen.during.iter_mut().for_each(|record| record.devices[0].read_bytes /= 2);
    let run = adopt(run_of(&seen).unwrap(), figures);
    assert_eq!(run.phases[0].device.as_ref().unwrap().process_read_bytes, Some(5 * RATE));
    assert_eq!(run.phases[0].jobs[0].cached_read_share, Some(0.5));
}

#[test]
fn a_command_that_was_killed_or_failed_is_incomplete_and_says_how() {
    for (ended, words) in [
        (CommandEnd::Signal(9), "signal 9 (SIGKILL) ended the command after 10.0 s"),
        (CommandEnd::Signal(40), "signal 40 ended the command"),
        (CommandEnd::Status(2), "the command ended with exit status 2"),
    ] {
        let observed = run_of(&Observation { ended, ..observation(RATE, RATE) }).unwrap();
        let adopted = adopt(observed.clone(), fixture::run());
        for run in [observed, adopted] {
            assert_eq!((run.verdict, run.end), (Verdict::Incomplete, Some(RunEnd::Failed)));
            let found = run.findings.iter().find(|finding| finding.id == "short-run").expect("said how");
            assert!(
                found.severity == FindingSeverity::Warning && found.message.starts_with(words),
                "{found:?}"
            );
            assert_eq!(run.rows[0].verdict, Verdict::Suspect);
        }
    }
    assert_eq!(run_of(&observation(RATE, RATE)).unwrap().verdict, Verdict::Valid);
}

/// 12 MiB of durable writes a second, and a script that reads 128 KiB of its own files out of the cache.
#[test]
fn own_files_beside_the_traffic_are_left_out() {
    let mut seen = observation(128 << 10, 0);
    seen.opened_for = (true, true);
    for (second, record) in seen.during.iter_mut().enumerate() {
        let written = 12 * second as u64 * (1 << 20);
        let process = &mut record.processes[0];
        (process.asked_write_bytes, process.asked_writes) = (Some(written), Some(written >> 16));
        process.storage_write_bytes = Some(written);
        record.devices[0].write_bytes = written;
    }
    let run = run_of(&seen).unwrap();
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.read.is_none(), job.write.as_ref().map(|op| op.ios)), (true, Some(10 * 12 * 16)));
    assert!(!run.findings.iter().any(|finding| finding.id == "cache-served-reads"), "{:#?}", run.findings);
    assert!(
        run.notes.iter().any(|note| note.starts_with("reads of 1.25 MiB (1.0 % of the traffic)")),
        "{:?}",
        run.notes
    );
}

/// sqlite writes headers of a few bytes: the kernel charges whole pages for them.
#[test]
fn short_writes_are_calls_although_whole_pages_are_charged() {
    let mut seen = observation(0, 0);
    seen.opened_for = (false, true);
    for (second, record) in seen.during.iter_mut().enumerate() {
        let process = &mut record.processes[0];
        process.asked_writes = Some(1000 * second as u64);
        process.asked_write_bytes = Some(1000 * second as u64 * 100);
        process.storage_write_bytes = Some(1000 * second as u64 * 4096);
    }
    let run = run_of(&seen).unwrap();
    assert_eq!(run.phases[0].jobs[0].write.as_ref().and_then(|op| op.known_iops()), Some(1000.0));
}

#[test]
fn a_command_that_waited_for_a_cpu_is_held_back_by_what_else_runs() {
    let mut seen = observation(RATE, RATE);
    seen.threads = 2;
    // Both processors were busy, and the command's one thread at work waited half of the time.
    let with_cpu = |seen: &mut Observation| {
        let cpus = |record: &mut Counters| {
            let second = record.at_ns / SECOND;
            record.system.cpu.user_ns = 2 * second * SECOND;
        };
        seen.before.iter_mut().chain(&mut seen.during).chain(&mut seen.after).for_each(cpus);
        seen.cpu = Some(CpuWait { run_queue_ns: 5 * SECOND, busiest_thread_share: 0.6, threads_at_work: 1 });
    };
    with_cpu(&mut seen);
    let observed = run_of(&seen).unwrap();
    let adopted = adopt(observed.clone(), fixture::run());
    for run in [observed, adopted] {
        let found = run.findings.iter().find(|finding| finding.id == "generator-bound").expect("found");
        assert!(found.message.starts_with("the command's threads waited for a CPU"), "{}", found.message);
        assert!(found.effect.is_some_and(|effect| effect.low.abs() > 0.9), "{found:?}");
        assert_eq!(run.verdict, Verdict::Suspect);
    }
}

/// As recorded: false(1) with `--target`, over after 28 ms, and what was fetched of its binary.
#[test]
fn the_loading_of_a_command_that_ended_unseen_is_no_traffic_of_its_target() {
    let seen = |called: u64, moved: u64| {
        let mut seen = observation(called, moved);
        seen.during.truncate(2);
        seen.during[1].at_ns = seen.during[0].at_ns + 28_000_000;
        let path = seen.targets[0].path.clone();
        seen.missed = vec![MissedTarget { path, known: false }];
        seen.opened_for = (true, true);
        run_of(&Observation { ended: CommandEnd::Status(1), ..seen }).unwrap()
    };
    for (called, moved) in [(0, 36_864), (832, 0), (832, 1 << 21)] {
        let run = seen(called, moved);
        assert!(run.phases[0].jobs.is_empty(), "{called} {moved}: {:#?}", run.phases[0].jobs);
        let found: Vec<&str> = run.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert!(found.contains(&"no storage traffic of the command was seen"), "{found:#?}");
        assert!(!run.findings.iter().any(|finding| finding.id == "working-set-fits-cache"), "{found:#?}");
    }
    // What it asked for by calls is its traffic, however soon it ended.
    assert_eq!(seen(64 << 20, 64 << 20).phases[0].jobs[0].total.bytes, 64 << 20);
}

#[test]
fn a_child_that_outlives_the_command_is_why_nothing_was_seen() {
    let left = |asked| Observation { left_running: vec!["dd".to_owned()], ..observation(asked, asked) };
    let run = run_of(&left(0)).unwrap();
    let found = run.findings.iter().find(|finding| finding.id == "too-few-samples").expect("said");
    assert!(
        found.message.contains("the command ended while dd, which it had started, still ran"),
        "{found:?}"
    );
    assert!(!found.message.contains("only for a moment"));
    let run = run_of(&left(RATE)).unwrap();
    assert!(run.notes.iter().any(|note| note.contains("still ran")), "{:?}", run.notes);
}

/// As recorded: fio with two seconds of reads, and behind them two of writes, without figures of its own.
#[test]
fn reads_before_writes_are_no_mix() {
    let mut seen = observation(0, 0);
    seen.opened_for = (true, true);
    seen.targets.iter_mut().for_each(|target| target.existing_bytes = target.size_bytes);
    for (second, record) in (0..).zip(&mut seen.during) {
        let process = &mut record.processes[0];
        process.storage_read_bytes = Some(3 * RATE * u64::min(second, 4));
        process.storage_write_bytes = Some(RATE * u64::saturating_sub(second, 4));
    }
    let run = run_of(&seen).unwrap();
    let [reads, writes] = &run.phases[0].jobs[..] else { panic!("{:#?}", run.phases[0].jobs) };
    assert_eq!((reads.name.as_str(), writes.name.as_str()), ("reads", "writes"));
    assert!(reads.write.is_none() && writes.read.is_none());
    assert_eq!((reads.measured_s, writes.measured_s), (4.0, 6.0));
    assert_eq!((reads.total.bytes_per_s, writes.total.bytes_per_s), (3.0 * RATE as f64, RATE as f64));
    assert!(run.notes.iter().any(|note| note.contains("not side by side")));
    // A copy is a mix.
    for (second, record) in (0..).zip(&mut seen.during) {
        let process = &mut record.processes[0];
        (process.storage_read_bytes, process.storage_write_bytes) =
            (Some(RATE * second), Some(RATE * second));
    }
    assert_eq!(run_of(&seen).unwrap().phases[0].jobs.len(), 1);
}
