use assay_workload::pattern::OpKind;

use crate::event::{HostClock, HostEvent, HostId, LostReason, RunEvent};
use crate::fixture::{SECOND, build, counters, environment, events, interval};
use crate::histogram::LatencyHistogram;
use crate::run::{Run, Verdict};
use crate::store::{RunDir, RunRecorder, recover};

const FIVE_SECONDS: i64 = 5_000_000_000;

/// The events of one host: those of the fixture, changed by `change`.
fn told(host: u16, name: &str, change: impl Fn(&mut HostEvent)) -> Vec<RunEvent> {
    let environment = Box::new(environment());
    let mut told = vec![HostEvent::Environment { name: name.to_owned(), environment }.of(HostId(host))];
    for event in events() {
        if let RunEvent::Host { mut event, .. } = event {
            change(&mut event);
            told.push(event.of(HostId(host)));
        }
    }
    told
}

/// A run in which all of `hosts` did the fixture's phase; announced first, as they are while recording.
fn together(hosts: Vec<Vec<RunEvent>>) -> Vec<RunEvent> {
    let mut all = events();
    let own: Vec<RunEvent> =
        all.iter().filter(|event| !matches!(event, RunEvent::Host { .. })).cloned().collect();
    let (announced, rest): (Vec<RunEvent>, Vec<RunEvent>) = hosts.into_iter().flatten().partition(|event| {
        matches!(event, RunEvent::Host { event: HostEvent::Environment { .. } | HostEvent::Clock(_), .. })
    });
    all.clear();
    all.extend_from_slice(&own[..1]);
    all.extend(announced);
    all.extend_from_slice(&own[1..2]);
    all.extend(rest);
    all.extend_from_slice(&own[2..]);
    all
}

/// `a` as in the fixture; `b` with a clock 5 s ahead, a second later, half of it served from memory; `c` lost after 2 s.
fn three() -> Vec<RunEvent> {
    let a = told(0, "a", |_| ());
    let mut b = told(1, "b", |event| {
        if let HostEvent::Counters { record, .. } = event {
            record.at_ns += 6 * SECOND;
            for device in &mut record.devices {
                (device.reads, device.read_bytes) = (device.reads / 2, device.read_bytes / 2);
            }
            let read = &mut record.processes[0].storage_read_bytes;
            *read = read.map(|bytes| bytes / 2);
        }
    });
    b.insert(1, HostEvent::Clock(HostClock { offset_ns: -FIVE_SECONDS, error_ns: 2_000_000 }).of(HostId(1)));
    let mut c = told(2, "c", |_| ());
    c.insert(1, HostEvent::Clock(HostClock::default()).of(HostId(2)));
    // Its announcement and clock, the counters at the start, and two seconds of intervals with theirs.
    c.truncate(7);
    c.push(HostEvent::Lost { phase: 0, why: LostReason::ConnectionClosed }.of(HostId(2)));
    together(vec![a, b, c])
}

#[test]
fn devices_of_one_name_on_two_hosts_are_two_devices() {
    let run = build(&three());
    let phase = &run.phases[0];
    let rows: Vec<_> = phase.hosts.iter().map(|row| (row.name.as_str(), row.cached_read_share)).collect();
    assert_eq!(rows, [("a", Some(0.0)), ("b", Some(0.5)), ("c", Some(0.0))]);
    let truth = |at: usize| phase.hosts[at].device.as_ref().unwrap();
    assert_eq!(truth(0).devices, ["sda"]);
    assert_eq!([0, 1, 2].map(|at| truth(at).device_reads.unwrap()), [10_010, 5005, 4001]);
    let all = phase.device.as_ref().unwrap();
    assert_eq!(all.devices, ["a:sda", "b:sda", "c:sda"]);
    assert_eq!((all.device_reads, all.device_depth_mean), (Some(19_016), Some(24.0)));
    assert_eq!(all.asked_read_bytes, (10_010 + 10_010 + 4001) * 4096);
    // Of 24,021 reads 5,005 came from memory.
    assert!((phase.jobs[0].cached_read_share.unwrap() - 5005.0 / 24_021.0).abs() < 1e-9);
}

/// `w1` and `w2` on the device of the fixture, each of which did half of what the device did. They are processes of the machines
/// that are said.
fn halves(boots: [Option<&str>; 2]) -> Vec<RunEvent> {
    let mut workers = Vec::new();
    for (number, boot) in boots.into_iter().enumerate() {
        let mut events = told(number as u16, ["w1", "w2"][number], |event| match event {
            HostEvent::Counters { record, .. } => {
                let process = &mut record.processes[0];
                process.storage_read_bytes = process.storage_read_bytes.map(|bytes| bytes / 2);
            }
            HostEvent::Interval(interval) => {
                let ios = interval.counts.op(OpKind::Read).ios / 2;
                **interval = crate::fixture::interval(0, interval.key.index, OpKind::Read, ios);
            }
            _ => {}
        });
        let HostEvent::Environment { environment, .. } = announced(&mut events) else {
            panic!("the announcement comes first")
        };
        environment.machine.boot_id = boot.map(str::to_owned);
        environment.machine.hostname = Some("anvil".to_owned());
        events.insert(1, HostEvent::Clock(HostClock::default()).of(HostId(number as u16)));
        workers.push(events);
    }
    together(workers)
}

fn announced(events: &mut [RunEvent]) -> &mut HostEvent {
    let RunEvent::Host { event, .. } = &mut events[0] else { panic!("a host is announced first") };
    event
}

#[test]
fn workers_of_one_machine_count_its_device_once_and_none_is_foreign_to_another() {
    let foreign = |run: &Run| run.findings.iter().any(|finding| finding.id == "foreign-io");
    let run = build(&halves([Some("one"), Some("one")]));
    let all = run.phases[0].device.as_ref().unwrap();
    assert_eq!((&all.devices[..], all.device_reads), (&["anvil:sda".to_owned()][..], Some(10_010)));
    assert_eq!((all.device_depth_mean, all.process_read_bytes), (Some(8.0), all.device_read_bytes));
    assert!(!foreign(&run), "{:#?}", run.findings);
    // The devices of two machines are two, and half of what each did was for other processes.
    let run = build(&halves([Some("one"), Some("other")]));
    let all = run.phases[0].device.as_ref().unwrap();
    assert_eq!((all.devices.len(), all.device_reads), (2, Some(20_020)));
    assert!(foreign(&run), "{:#?}", run.findings);
}

#[test]
fn what_a_sibling_does_in_a_quiet_window_is_not_foreign() {
    let mut events = halves([Some("one"), Some("one")]);
    let at = events.iter().position(|event| matches!(event, RunEvent::PhaseStarted { .. })).unwrap();
    // While the first watches, the second still lays its file out; while the second watches, nobody does anything.
    let moved = [(0, [0, 64 << 20]), (1, [64 << 20, 64 << 20])];
    for (host, bytes) in moved {
        let second = u64::from(host);
        for (later, read_bytes) in bytes.into_iter().enumerate() {
            let mut record = counters(second + later as u64, read_bytes);
            record.at_ns -= 900 * SECOND;
            record.processes[0].storage_read_bytes = Some(0);
            if host == 1 {
                record.devices[0].busy_time_ms = 0;
            }
            let counters = HostEvent::Counters { phase: 0, record: Box::new(record) };
            events.insert(at + usize::from(host) * 2 + later, counters.of(HostId(host)));
        }
    }
    let run = build(&events);
    let rows = &run.phases[0].hosts;
    assert_eq!([0, 1].map(|at| rows[at].evidence.quiet_before.unwrap().read_bytes), [64 << 20, 0]);
    assert_eq!(run.phases[0].evidence.quiet_before.map(|window| window.read_bytes), Some(0));
    assert!(!run.findings.iter().any(|finding| finding.id == "foreign-io"), "{:#?}", run.findings);
}

#[test]
fn totals_are_over_the_time_in_which_all_measured() {
    let run = build(&three());
    let job = &run.phases[0].jobs[0];
    // From 1 s, when b began, to 5 s, when a ended; c, which was lost, counts while it was there.
    let common = job.evidence.common.unwrap();
    assert_eq!((common.start_ns, common.length_ns, common.trimmed_ns_max), (SECOND, 4 * SECOND, SECOND));
    assert_eq!(common.trimmed_ios, 2000 + 2004 + 2000);
    assert_eq!(job.total.ios, (2001 + 2002 + 2003 + 2004) + (2000 + 2001 + 2002 + 2003) + 2001);
    assert_eq!((job.measured_s, job.workers, job.outstanding_io), (4.0, 3, 24));
    let points: Vec<f64> = job.series.iter().map(|point| point.iops).collect();
    assert_eq!(points, [6002.0, 4003.0, 4005.0, 4007.0], "over the common time, as the total");
    let courses = job.evidence.workers.iter().map(|worker| worker.over_time.as_ref().unwrap().iops.clone());
    let courses: Vec<Vec<f64>> = courses.collect();
    assert_eq!(courses[1], [2000.0, 2001.0, 2002.0, 2003.0]);
    assert_eq!(courses[2], [2001.0, 0.0, 0.0, 0.0], "the lost one");
    let skews: Vec<_> =
        job.evidence.workers.iter().map(|worker| (worker.start_skew_ns, worker.start_error_ns)).collect();
    assert_eq!(skews, [(0, 0), (1_000_000_000, 2_000_000), (0, 0)]);
}

#[test]
fn a_plan_that_says_which_host_does_what_is_not_multiplied() {
    let mut events = three();
    let RunEvent::RunStarted { plan, .. } = &mut events[0] else { panic!("the start comes first") };
    for name in ["a", "b", "c"] {
        let host = assay_workload::host::Host::new(name);
        plan.hosts.push((&host).into());
    }
    let job = &mut plan.phases[0].jobs[0];
    let (slice, target) = (job.slices[0].clone(), plan.targets[0].clone());
    for host in 1..3 {
        let mut slice = slice.clone();
        slice.host = HostId(host);
        slice.sites[0].target = u32::from(host);
        job.slices.push(slice);
        plan.targets.push(assay_workload::plan::PlannedTarget { host: HostId(host), ..target.clone() });
    }
    let run = build(&events);
    let (each, all) = (&build(&three()).phases[0].jobs[0], &run.phases[0].jobs[0]);
    assert_eq!((all.outstanding_io, all.evidence.threads), (each.outstanding_io, each.evidence.threads));
    assert_eq!(all.evidence.active_bytes, each.evidence.active_bytes);
    assert_eq!(run.phases[0].hosts[1].device, build(&three()).phases[0].hosts[1].device);
}

#[test]
fn a_lost_host_is_named_and_what_it_did_is_kept() {
    let run = build(&three());
    assert_eq!(run.verdict, Verdict::Incomplete);
    // Each has its own percentiles, over its own time.
    let own = run.phases[0].jobs[0].evidence.workers[0].completion_ns.unwrap();
    let alone = build(&events()).phases[0].jobs[0].total.completion_ns;
    assert_eq!((own.p50, own.p99, own.max), (alone.p50, alone.p99, alone.max));
    let lost = run.findings.iter().find(|finding| finding.id == "lost-worker").unwrap();
    assert_eq!(lost.message, "1 of 3 workers lost: c (connection closed)");
    // It measured 2 s of 5 s.
    assert!(lost.bias_words().starts_with("total IOPS about 20 % low"), "{}", lost.bias_words());
    assert_eq!(run.phases[0].jobs[0].evidence.workers[2].ios, 4001);
    assert!(run.findings.iter().any(|finding| finding.id == "start-skew"), "{:#?}", run.findings);
    let why = run.hosts[2].lost.as_ref().map(|loss| loss.why.clone());
    assert_eq!(why, Some(LostReason::ConnectionClosed));
}

#[test]
fn hosts_that_measured_at_different_moments_have_no_valid_sum() {
    let clock = |offset_ns| HostEvent::Clock(HostClock { offset_ns, error_ns: 2_000_000 });
    let mut b = told(1, "b", |_| ());
    b.insert(1, clock(11_000_000_000).of(HostId(1)));
    let run = build(&together(vec![told(0, "a", |_| ()), b]));
    assert_eq!(run.phases[0].jobs[0].evidence.common.map(|common| common.length_ns), Some(0));
    let finding = run.findings.iter().find(|finding| finding.id == "start-skew").unwrap();
    assert_eq!(
        finding.message,
        "the workers did not measure at the same time: the sum is of different moments"
    );
    assert_eq!(run.verdict, Verdict::Invalid);
}

fn same_numbers_twice(one: &Run, two: &Run) {
    let (one, two) = (&one.phases[0].jobs[0], &two.phases[0].jobs[0]);
    assert_eq!((two.total.ios, two.total.bytes), (2 * one.total.ios, 2 * one.total.bytes));
    assert_eq!((two.total.iops, two.measured_s), (2.0 * one.total.iops, one.measured_s));
    let (a, b) = (&one.total.completion_ns, &two.total.completion_ns);
    assert_eq!(
        (a.min, a.p50, a.p90, a.p95, a.p99, a.p99_9, a.max),
        (b.min, b.p50, b.p90, b.p95, b.p99, b.p99_9, b.max)
    );
    assert_eq!((a.mean, 2 * a.n), (b.mean, b.n));
    assert_eq!(
        (two.outstanding_io_mean, two.evidence.threads),
        (2.0 * one.outstanding_io_mean, 2 * one.evidence.threads)
    );
    assert_eq!(two.cpu_ns_per_io, one.cpu_ns_per_io);
}

#[test]
fn a_stream_merged_with_itself_has_twice_the_counts_and_the_same_percentiles() {
    let clock = HostEvent::Clock(HostClock::default());
    let mut b = told(1, "b", |_| ());
    b.insert(1, clock.of(HostId(1)));
    let two = build(&together(vec![told(0, "a", |_| ()), b]));
    same_numbers_twice(&build(&events()), &two);
    assert_eq!(two.phases[0].jobs[0].evidence.common.map(|common| common.trimmed_ios), Some(0));
    assert_eq!(two.verdict, Verdict::Valid, "{:#?}", two.findings);
}

#[test]
fn percentiles_are_those_of_all_values_together() {
    let slow = told(1, "slow", |event| {
        if let HostEvent::Interval(interval) = event {
            let op = interval.counts.op_mut(OpKind::Read);
            op.completion = LatencyHistogram::default();
            (0..op.ios).for_each(|i| op.completion.record(3_000_000 + i * 5_000));
        }
    });
    let hosts = vec![told(0, "fast", |_| ()), slow];
    let mut pooled = LatencyHistogram::default();
    for event in hosts.iter().flatten() {
        if let RunEvent::Host { event: HostEvent::Interval(interval), .. } = event {
            pooled.merge(&interval.counts.data().completion);
        }
    }
    let run = build(&together(hosts));
    let brief = run.phases[0].jobs[0].total.completion_ns;
    assert_eq!((brief.n, brief.p99, brief.p50), (20_020, pooled.quantile_ns(0.99), pooled.quantile_ns(0.5)));
}

#[test]
fn what_is_stored_of_several_hosts_makes_the_same_run() {
    let root = tempfile::tempdir().unwrap();
    let dir = RunDir::create(root.path(), "2025-03-04T05:06:07Z", "hosts", "k3f9").unwrap();
    let mut recorder = RunRecorder::new(dir.clone()).unwrap();
    let events = three();
    events.iter().for_each(|event| recorder.record(event));
    let run = build(&events);
    recorder.finish(&run).unwrap();
    assert_eq!(recover(dir.path()).unwrap(), run);
    assert_eq!(dir.read_run().unwrap(), run);
    let journal = std::fs::read_to_string(dir.path().join("journal.jsonl")).unwrap();
    let lost = journal.lines().find(|line| line.contains("\"event\":\"lost\"")).unwrap();
    assert_eq!(lost, r#"{"host":2,"event":"lost","phase":0,"why":{"reason":"connection_closed"}}"#);
    let clock = journal.lines().find(|line| line.contains("\"event\":\"clock\"")).unwrap();
    assert_eq!(clock, r#"{"host":1,"event":"clock","offset_ns":-5000000000,"error_ns":2000000}"#);
}

/// Hosts whose clocks were never compared are taken to have begun together.
#[test]
fn without_a_clock_nothing_is_shifted() {
    let far = told(1, "b", |event| {
        if let HostEvent::Counters { record, .. } = event {
            **record = counters(record.at_ns / SECOND + 4000, 0);
        }
    });
    let run = build(&together(vec![told(0, "a", |_| ()), far]));
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.total.ios, job.evidence.workers[1].start_skew_ns), (20_020, 0));
    assert_eq!(interval(0, 0, OpKind::Read, 1).key.start_ns, 0);
}

/// What says when threads were let go counts, and not the counters that are read a little before or after.
#[test]
fn a_start_that_is_told_is_the_start() {
    let events = three();
    let counted = |event: &RunEvent| match event {
        RunEvent::Host { host: HostId(1), event: HostEvent::Counters { record, .. } } => Some(record.at_ns),
        _ => None,
    };
    let (at, counted_ns) =
        events.iter().enumerate().find_map(|(at, event)| Some((at, counted(event)?))).unwrap();
    // On the side of the counters that it was sent on makes no difference.
    for at in [at, at + 1] {
        let mut told = events.clone();
        told.insert(at, HostEvent::Started { phase: 0, at_ns: counted_ns + SECOND / 2 }.of(HostId(1)));
        let skew_ns = build(&told).phases[0].jobs[0].evidence.workers[1].start_skew_ns;
        assert_eq!(skew_ns, 1_500_000_000);
    }
}

/// The same offset of a file exists on each host: the one that found it is said.
#[test]
fn what_one_host_read_wrong_is_said_of_that_host() {
    let wrong = |at: u16| {
        told(at, ["a", "b"][usize::from(at)], |event| {
            let HostEvent::JobFinished { outcome, .. } = event else { return };
            if at == 1 {
                let error = crate::data::tests::error(4096);
                outcome.errors_by_kind = vec![("verify".to_owned(), 1)];
                outcome.data =
                    Some(crate::data::DataChecks { wrong: 1, errors: vec![error], ..Default::default() });
            }
        })
    };
    let run = build(&together(vec![wrong(0), wrong(1)]));
    let finding = run.findings.iter().find(|finding| finding.id == "verify-failed").unwrap();
    assert!(finding.message.contains("first b: "), "{}", finding.message);
    assert_eq!(finding.evidence["host"], "b");
}
