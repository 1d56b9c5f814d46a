use assay_workload::job::{Arrival, EngineKind};
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Carrier, Offered, Pace, PlannedEngine};

use super::*;
use crate::DoneBy;
use crate::counters::ProcessRole;
use crate::environment::Resolution;
use crate::fixture::{
    self, SECOND, build, counters, environment, events, interval, job, outcome, plan, started,
};
use crate::run::Verdict;

fn without(events: Vec<RunEvent>, unwanted: impl Fn(&RunEvent) -> bool) -> Vec<RunEvent> {
    events.into_iter().filter(|event| !unwanted(event)).collect()
}

#[test]
fn a_clean_run_has_its_numbers() {
    let run = fixture::run();
    assert_eq!((run.verdict, run.elapsed_s, run.id.as_str()), (Verdict::Valid, 5.03, "k3f9"));
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.name.as_str(), job.total.ios, job.total.bytes), ("reader", 10_010, 10_010 * 4096));
    assert_eq!((job.total.iops, job.total.block_size, job.outstanding_io), (2002.0, 4096, 8));
    assert_eq!(job.outstanding_io_mean, 8.0);
    assert!((job.cpu_ns_per_io - 2e8 / 10_010.0).abs() < 1e-6);
    assert_eq!(job.read.as_ref().unwrap().completion_ns.n, 10_010);
    assert!(job.write.is_none() && job.flush.is_none() && job.lateness_ns.is_none());
    assert!(job.read.as_ref().unwrap().completion_ns.p99_9.is_some());
    assert!(job.read.as_ref().unwrap().completion_ns.p99_99.is_none());
    assert_eq!(job.completion_histogram().n(), 10_010);
    assert_eq!(job.cached_read_share, Some(0.0));
    assert_eq!(job.series.len(), 5);
    assert_eq!((job.series[3].start_s, job.series[3].iops), (3.0, 2003.0));
    assert!(job.pattern.contains("read 4k") && job.durability == "not flushed");
}

#[test]
fn the_devices_tell_the_truth() {
    let run = fixture::run();
    let truth = run.phases[0].device.as_ref().unwrap();
    assert_eq!(truth.devices, ["sda"]);
    assert_eq!(truth.process_read_bytes, Some(truth.asked_read_bytes));
    assert_eq!(truth.device_reads, Some(10_010));
    assert_eq!((truth.device_depth_mean, truth.device_busy_share), (Some(8.0), Some(1.0)));
    assert_eq!(truth.unknown_because, None);
    let evidence = &run.phases[0].evidence;
    assert_eq!((evidence.span_ns, evidence.seconds.len()), (5 * SECOND, 5));
    assert_eq!((evidence.cpu_busy_share, evidence.process_cpus_used), (Some(0.25), Some(0.1)));
}

#[test]
fn what_cannot_be_known_is_said() {
    let mut hidden = environment();
    hidden.targets[0].resolution = Resolution::NotResolvable { reason: "overlay hides it".to_owned() };
    let mut events = events();
    events[0] = started(plan(vec![job("reader")]), hidden);
    let run = build(&events);
    let truth = run.phases[0].device.as_ref().unwrap();
    assert_eq!((truth.device_read_bytes, truth.device_depth_mean), (None, None));
    assert!(truth.why_unknown().contains("overlay hides it"));
    // The process's own count does not need the device.
    assert_eq!(run.phases[0].jobs[0].cached_read_share, Some(0.0));
}

#[test]
fn a_device_without_accounting_tells_nothing() {
    let mut silent = environment();
    silent.targets[0].devices[0].queue.iostats = Some(false);
    let mut events = events();
    events[0] = started(plan(vec![job("reader")]), silent);
    let truth = build(&events).phases[0].device.clone().unwrap();
    assert_eq!(truth.device_read_bytes, None);
    assert!(truth.why_unknown().contains("does not count I/O on sda"));
}

#[test]
fn what_a_loop_device_hands_on_is_not_counted_twice() {
    // As recorded on a loop device with direct I/O and an I/O scheduler: 1.9 times what was asked.
    let mut looped = environment();
    let backing = crate::environment::LoopBacking {
        direct_io: Some(true),
        ..crate::environment::LoopBacking::default()
    };
    looped.targets[0].devices.insert(
        0,
        crate::environment::BlockDevice {
            name: "loop0".to_owned(),
            below: vec!["sda".to_owned()],
            loop_backing: Some(backing),
            ..crate::environment::BlockDevice::default()
        },
    );
    let mut events = events();
    events[0] = started(plan(vec![job("reader")]), looped);
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } = event {
            let bytes = record.processes[0].storage_read_bytes.unwrap() * 19 / 10;
            record.processes[0].storage_read_bytes = Some(bytes);
        }
    }
    let run = build(&events);
    let truth = run.phases[0].device.as_ref().unwrap();
    assert_eq!(truth.process_read_bytes, truth.device_read_bytes);
    assert_eq!(run.phases[0].jobs[0].cached_read_share, Some(0.0));
    assert_eq!(run.verdict, Verdict::Valid, "{:#?}", run.findings);
}

#[test]
fn half_served_from_memory() {
    let mut events = events();
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } = event {
            let bytes = record.processes[0].storage_read_bytes.unwrap() / 2;
            record.processes[0].storage_read_bytes = Some(bytes);
        }
    }
    assert_eq!(build(&events).phases[0].jobs[0].cached_read_share, Some(0.5));
}

#[test]
fn the_ramp_is_asked_of_the_devices_but_not_measured() {
    let mut events = events();
    let mut ramp = interval(0, 0, OpKind::Read, 500);
    ramp.key.ramp = true;
    events.insert(3, HostEvent::Interval(Box::new(ramp)).into());
    let run = build(&events);
    assert_eq!(run.phases[0].jobs[0].total.ios, 10_010);
    assert_eq!(run.phases[0].device.as_ref().unwrap().asked_read_bytes, 10_510 * 4096);
}

#[test]
fn depth_is_over_the_measured_part() {
    let mut events = events();
    for event in &mut events {
        match event {
            // The first two seconds were ramp, with nothing in flight.
            RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } => {
                let seconds = (record.at_ns / SECOND - 1000).saturating_sub(2);
                record.devices[0].weighted_time_ms = 4000 * seconds;
            }
            RunEvent::Host { event: HostEvent::JobFinished { outcome, .. }, .. } => {
                outcome.measured_start_ns = 2 * SECOND;
                outcome.measured_ns = 3 * SECOND;
            }
            _ => {}
        }
    }
    let run = build(&events);
    let truth = run.phases[0].device.as_ref().unwrap();
    assert_eq!((truth.device_depth_mean, truth.depth_window_s), (Some(4.0), 3.0));
}

#[test]
fn a_killed_run_is_still_a_run() {
    let events = without(events(), |event| {
        matches!(
            event,
            RunEvent::Host { event: HostEvent::JobFinished { .. }, .. }
                | RunEvent::PhaseFinished { .. }
                | RunEvent::RunFinished { .. }
        )
    });
    let run = build(&events);
    assert_eq!((run.verdict, run.end), (Verdict::Incomplete, None));
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.total.iops, job.measured_s, job.evidence.finished), (2002.0, 5.0, false));
    assert!(job.direct && job.engine == DoneBy::Assay(EngineKind::IoUring), "the plan says so");
    assert_eq!(run.elapsed_s, 5.01, "the intervals tell how long it went on");
}

#[test]
fn the_null_engine_has_nothing_to_do_with_devices() {
    let mut planned = job("reader");
    planned.engine = PlannedEngine::Null;
    let mut events = events();
    events[0] = started(plan(vec![planned]), environment());
    let run = build(&events);
    assert_eq!((&run.phases[0].device, run.phases[0].jobs[0].cached_read_share), (&None, None));
}

/// The share of reads from a cache where a process of this name fetched half of them, and Assay's own process as much as all.
fn cached_read_share_by_fio(command: &str, roles: [Option<ProcessRole>; 2]) -> Option<f64> {
    let mut by_fio = plan(vec![job("reader")]);
    by_fio.phases[0].carried_by = Carrier::Fio;
    let mut events = events();
    events[0] = started(by_fio, environment());
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } = event {
            let mut fio = record.processes[0].clone();
            (fio.pid, fio.command, fio.role) = (2, command.to_owned(), roles[1]);
            fio.storage_read_bytes = fio.storage_read_bytes.map(|bytes| bytes / 2);
            record.processes[0].role = roles[0];
            record.processes.push(fio);
        }
    }
    build(&events).phases[0].jobs[0].cached_read_share
}

#[test]
fn what_fio_read_is_counted_for_fio() {
    let known = [Some(ProcessRole::Assay), Some(ProcessRole::Command)];
    assert_eq!(cached_read_share_by_fio("fio", known), Some(0.5));
    assert_eq!(cached_read_share_by_fio("my-fio-3.36", known), Some(0.5), "whatever the program is called");
    assert_eq!(cached_read_share_by_fio("fio", [None, None]), Some(0.5), "a journal of an earlier release");
}

#[test]
fn nothing_without_a_start() {
    let mut builder = RunBuilder::new();
    builder.feed(&RunEvent::PhaseStarted { phase: 0, at_ms: 0 });
    assert_eq!(builder.finish().unwrap_err(), BuildError::NoStart);
}

/// Two jobs of a group beside one of its own; the second of the group starts late.
fn grouped_events() -> Vec<RunEvent> {
    let mut jobs = vec![job("a"), job("b"), job("c")];
    jobs[0].group = Some("both".to_owned());
    jobs[2].group = Some("both".to_owned());
    jobs[2].slices[0].sites[0].offset_bytes = 32 * fixture::GIB;
    let mut events = vec![started(plan(jobs), environment()), RunEvent::PhaseStarted { phase: 0, at_ms: 0 }];
    for (job, kind, ios) in [(0, OpKind::Read, 100), (1, OpKind::Read, 7), (2, OpKind::Write, 60)] {
        let mut interval = interval(job, 0, kind, ios);
        if job == 2 {
            interval.key.start_ns = SECOND / 4;
        }
        events.push(HostEvent::Interval(Box::new(interval)).into());
        let mut outcome = outcome();
        outcome.measured_start_ns = if job == 2 { SECOND / 4 } else { 0 };
        outcome.measured_ns = SECOND;
        outcome.errors_by_kind = vec![("EIO".to_owned(), 1)];
        outcome.engine = if job == 2 { "libaio" } else { "io_uring" }.to_owned();
        events.push(HostEvent::JobFinished { phase: 0, job, outcome: Box::new(outcome) }.into());
    }
    events
}

#[test]
fn a_group_is_one_result_over_the_time_of_all() {
    let run = build(&grouped_events());
    let jobs = &run.phases[0].jobs;
    assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["both", "b"]);
    let both = &jobs[0];
    assert_eq!((both.total.ios, both.measured_s, both.total.iops), (160, 1.25, 128.0));
    assert_eq!((both.read.as_ref().unwrap().ios, both.write.as_ref().unwrap().ios), (100, 60));
    assert_eq!((both.outstanding_io, both.engine.as_str()), (16, "io_uring; libaio"));
    assert_eq!(both.errors_by_kind, [("EIO".to_owned(), 2)]);
    assert_eq!(both.evidence.plan_jobs, [0, 2]);
    assert_eq!(both.evidence.active_bytes, 96 * fixture::GIB, "the second half of the first is shared");
    assert_eq!(both.series.len(), 1, "starts within half a period are one point");
    assert_eq!(both.series[0].iops, 128.0);
    assert_eq!(both.completion_histogram().n(), 160);
    assert!(both.total.completion_histogram.is_none());
    assert_eq!(run.assay.engine, "io_uring; libaio");
}

#[test]
fn a_job_of_a_group_that_ends_first_has_missed_no_rate() {
    let mut jobs = vec![job("a"), job("b")];
    for (job, iops) in jobs.iter_mut().zip([300.0, 200.0]) {
        job.group = Some("both".to_owned());
        job.pace = Pace::Open { offered: Offered::Iops(iops), arrival: Arrival::default() };
    }
    let mut events = vec![started(plan(jobs), environment()), RunEvent::PhaseStarted { phase: 0, at_ms: 0 }];
    for (job, ios, measured_ns) in [(0, 300, SECOND), (1, 100, SECOND / 2)] {
        let mut interval = interval(job, 0, OpKind::Read, ios);
        interval.key.length_ns = measured_ns;
        events.push(HostEvent::Interval(Box::new(interval)).into());
        let outcome = Box::new(crate::JobOutcome { measured_start_ns: 0, measured_ns, ..outcome() });
        events.push(HostEvent::JobFinished { phase: 0, job, outcome }.into());
    }
    let run = build(&events);
    let evidence = &run.phases[0].jobs[0].evidence;
    assert_eq!((evidence.offered_iops, evidence.missed_share), (Some(500.0), Some(0.0)));
    assert!(run.findings.iter().all(|finding| finding.id != "rate-not-reached"));
}

#[test]
fn the_order_of_intervals_and_ends_does_not_matter() {
    let events = grouped_events();
    let (intervals, others): (Vec<_>, Vec<_>) = events
        .iter()
        .cloned()
        .partition(|event| matches!(event, RunEvent::Host { event: HostEvent::Interval(_), .. }));
    let reordered = [&others[..1], &intervals[..], &others[1..]].concat();
    assert_eq!(build(&reordered), build(&events));
}

#[test]
fn what_was_outstanding_at_the_end_belongs_to_the_last_period() {
    // As recorded: eight completions in the 3.1 us after the last whole second, 2.58 million a second.
    let rest = |length_ns| {
        let mut interval = interval(0, 5, OpKind::Read, 8);
        interval.key.length_ns = length_ns;
        let mut events = events();
        events.insert(13, HostEvent::Interval(Box::new(interval)).into());
        build(&events).phases.remove(0).jobs.remove(0)
    };
    let job = rest(3_100);
    assert_eq!((job.total.ios, job.series.len()), (10_018, 5));
    assert!((job.series[4].iops - 2012.0).abs() < 0.1 && job.series[4].length_s > 1.0, "{:?}", job.series[4]);
    // A part of a period that is long enough for a rate stays what it is.
    assert_eq!(rest(SECOND / 5).series.last().map(|point| point.iops), Some(40.0));
}

#[test]
fn limits_are_kept_with_the_time_they_held() {
    use crate::counters::CgroupCounters;
    use crate::environment::CgroupDeviceLimit;
    let mut events = events();
    let mut second = 0;
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } = event {
            let read_iops = if second == 2 { Some(1) } else { Some(3000) };
            let limit =
                CgroupDeviceLimit { device: "8:0".to_owned(), read_iops, ..CgroupDeviceLimit::default() };
            record.cgroup = Some(CgroupCounters { device_limits: vec![limit], ..CgroupCounters::default() });
            second += 1;
        }
    }
    let limits = build(&events).phases.remove(0).evidence.device_limits;
    let seen: Vec<_> = limits.iter().map(|held| (held.limit.read_iops, held.start_s, held.end_s)).collect();
    assert_eq!(seen, [(Some(3000), 0.0, 1.0), (Some(1), 2.0, 2.0), (Some(3000), 3.0, 5.0)]);
}

#[test]
fn a_limit_that_a_reading_does_not_show_has_ended() {
    use crate::counters::CgroupCounters;
    use crate::environment::CgroupDeviceLimit;
    let mut events = events();
    let mut second = 0;
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Counters { record, .. }, .. } = event {
            let limit = CgroupDeviceLimit {
                device: "8:0".to_owned(),
                read_iops: Some(500),
                ..CgroupDeviceLimit::default()
            };
            let device_limits = if [1, 2, 4].contains(&second) { vec![limit] } else { Vec::new() };
            record.cgroup = Some(CgroupCounters { device_limits, ..CgroupCounters::default() });
            second += 1;
        }
    }
    let limits = build(&events).phases.remove(0).evidence.device_limits;
    let seen: Vec<_> = limits.iter().map(|held| (held.start_s, held.end_s)).collect();
    assert_eq!(seen, [(1.0, 2.0), (4.0, 4.0)]);
}

#[test]
fn offered_and_missed() {
    let mut planned = job("reader");
    planned.pace = Pace::Open { offered: Offered::Iops(4004.0), arrival: Arrival::default() };
    let mut events = events();
    events[0] = started(plan(vec![planned]), environment());
    let evidence = build(&events).phases[0].jobs[0].evidence.clone();
    assert_eq!((evidence.offered_iops, evidence.missed_share), (Some(4004.0), Some(0.5)));
}

#[test]
fn quiet_windows_are_before_and_after() {
    let mut events = events();
    let at = |seconds: u64, bytes: u64| -> RunEvent {
        HostEvent::Counters { phase: 0, record: Box::new(counters(seconds, bytes)) }.into()
    };
    events.insert(1, at(0, 0));
    events.insert(2, at(1, 8192));
    let end = events.len() - 1;
    events.insert(end, at(9, 50 << 20));
    events.insert(end + 1, at(10, 50 << 20));
    let run = build(&events);
    let evidence = &run.phases[0].evidence;
    assert_eq!(evidence.quiet_before.unwrap().read_bytes, 8192);
    assert_eq!(evidence.quiet_after.unwrap().ios, 0);
    assert_eq!(run.phases[0].device.as_ref().unwrap().device_reads, Some(10_010));
}

#[test]
fn indices_beyond_the_plan_are_kept() {
    let mut events = events();
    let mut stray = interval(9, 0, OpKind::Read, 3);
    stray.key.phase = 4;
    events.insert(3, HostEvent::Interval(Box::new(stray)).into());
    let run = build(&events);
    assert_eq!((run.phases[1].name.as_str(), run.phases[1].jobs[0].name.as_str()), ("phase 4", "job 9"));
    assert_eq!(run.phases[1].jobs[0].total.ios, 3);
}

#[test]
fn too_many_notes_are_counted() {
    let mut builder = RunBuilder::new();
    builder.feed(&events()[0]);
    for i in 0..REMARKS_MAX + 5 {
        builder.feed(&HostEvent::Note { phase: None, id: "x".to_owned(), text: i.to_string() }.into());
    }
    let run = builder.finish().unwrap();
    assert_eq!(run.notes.len(), REMARKS_MAX + 1);
    assert_eq!(run.notes[REMARKS_MAX], "5 more notes were not kept");
}

#[test]
fn operations_have_the_names_that_their_job_gives_them() {
    use assay_workload::operation::{Counted, OpId};
    let mut events = events();
    let mut reader = job("reader");
    reader.operations = ["new order", "payment", "create"].map(str::to_owned).into();
    events[0] = started(plan(vec![reader]), environment());
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::Interval(interval), .. } = event {
            let create = interval.counts.named_mut(OpId::new(2), Counted::InTotal);
            create.ios = 100;
            create.completion.record_n(5000, 100);
            interval.counts.named_mut(OpId::new(5), Counted::Beside).ios = 100;
        }
    }
    let job = build(&events).phases.remove(0).jobs.remove(0);
    assert_eq!(job.ops.keys().collect::<Vec<_>>(), ["create", "operation 5"], "a number without a name");
    assert_eq!((job.ops["create"].ios, job.ops["create"].iops), (500, 100.0));
    assert_eq!((job.total.ios, job.total.block_size), (10_010 + 500, 4096));
    // The distribution of the total has what was asked for, and nothing that was done beside it.
    assert_eq!((job.completion_histogram().n(), job.total.completion_ns.n), (10_010 + 500, 10_010 + 500));
    assert_eq!(job.series[3].iops, 2103.0);
}

#[test]
fn figures_of_kinds_are_metrics_of_the_phase() {
    let mut events = crate::fixture::events();
    for event in &mut events {
        if let RunEvent::Host { event: HostEvent::JobFinished { outcome, .. }, .. } = event {
            let metric = crate::run::Metric {
                value: 5908.0,
                unit: "new orders/min".to_owned(),
                n: 1,
                interval: None,
                basis: None,
            };
            outcome.figures.insert("NOPM".to_owned(), metric);
        }
    }
    let mut builder = RunBuilder::default();
    // As the journal has them.
    for event in &events {
        let event = match event {
            RunEvent::Host { event: HostEvent::Interval(_), .. } => event.clone(),
            other => serde_json::from_str(&serde_json::to_string(other).unwrap()).unwrap(),
        };
        builder.feed(&event);
    }
    let run = builder.finish().unwrap();
    assert_eq!(run.phases[0].metrics["NOPM"].value, 5908.0);
}
