//! A small run made by hand, for the tests of this crate.

use assay_workload::SweepPoint;
use assay_workload::host::HostId;
use assay_workload::job::Job;
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::plan::{
    End, Pace, Plan, PlannedEngine, PlannedJob, PlannedPhase, PlannedSite, PlannedTarget, ThreadSlice,
};
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

use crate::counters::{Counters, DeviceCounters, ProcessCounters};
use crate::environment::{BlockDevice, Environment, FileSystem, Resolution, TargetEnvironment};
use crate::event::{HostEvent, JobOutcome, RunEnd, RunEvent};
use crate::interval::{Interval, IntervalKey, JobCounts};
use crate::run::Run;
use crate::{RunBuilder, environment};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const GIB: u64 = 1 << 30;
const SIZE: u64 = 64 * GIB;

/// A job of 5 s of random reads of 4 KiB, 8 outstanding, direct.
pub(crate) fn job(name: &str) -> PlannedJob {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let job = Job::new(name, &["t"], pattern).with(|job| job.outstanding_per_thread = 8);
    let site = PlannedSite { target: 0, offset_bytes: 0, length_bytes: SIZE };
    PlannedJob {
        traits: job.traits,
        engine: PlannedEngine::IoUring,
        engine_reason: None,
        direct: true,
        pace: Pace::Closed,
        end: End { time: Some(Nanos(5 * SECOND)), ..End::default() },
        operations: Vec::new(),
        slices: vec![ThreadSlice { seed: 1, sites: vec![site], ..ThreadSlice::default() }],
    }
}

pub(crate) fn plan(jobs: Vec<PlannedJob>) -> Plan {
    Plan {
        schema: assay_workload::plan::SCHEMA.to_owned(),
        name: "fixture".to_owned(),
        series: None,
        seed: 7,
        seed_given: false,
        hosts: Vec::new(),
        targets: vec![PlannedTarget {
            name: "t".to_owned(),
            host: HostId::FIRST,
            path: "/data/t".to_owned(),
            kind: TargetKind::File,
            size_bytes: SIZE,
            existing_bytes: SIZE,
            direct_align_bytes: Some(512),
        }],
        phases: vec![PlannedPhase {
            name: "measure".to_owned(),
            kind: assay_workload::PhaseKind::Measure,
            jobs,
            drain_after: false,
            pause_after: Nanos(0),
            point: SweepPoint::default(),
            repeat: 0,
            step: None,
            carried_by: Default::default(),
            despite_failure: false,
        }],
    }
}

/// A file on an ext4 file system on one disk, `sda`, of a machine with 16 GiB.
pub(crate) fn environment() -> Environment {
    let mut environment = Environment::default();
    environment.machine.memory.total_bytes = Some(16 * GIB);
    environment.machine.cpu.online = Some(4);
    environment.targets.push(TargetEnvironment {
        path: "/data".to_owned(),
        canonical_path: Some("/data".to_owned()),
        kind: environment::TargetKind::Directory,
        file_system: Some(FileSystem {
            fs_type: "ext4".to_owned(),
            block_bytes: Some(4096),
            ..FileSystem::default()
        }),
        resolution: Resolution::Resolved,
        devices: vec![BlockDevice { name: "sda".to_owned(), ..BlockDevice::default() }],
        ..TargetEnvironment::default()
    });
    environment
}

pub(crate) fn started(plan: Plan, environment: Environment) -> RunEvent {
    RunEvent::RunStarted {
        id: "k3f9".to_owned(),
        started: "2025-03-04T05:06:07Z".to_owned(),
        plan: Box::new(plan),
        environment: Box::new(environment),
        version: "0.1.0".to_owned(),
        commit: Some("abc".to_owned()),
    }
}

/// One second of `job` from second `index` on: `ios` operations of 4 KiB that took 1 to 2 ms, 8 in flight.
pub(crate) fn interval(job: u32, index: u32, kind: OpKind, ios: u64) -> Interval {
    let mut counts = JobCounts::default();
    let op = counts.op_mut(kind);
    op.ios = ios;
    op.bytes = if kind.is_flush() { 0 } else { ios * 4096 };
    (0..ios).for_each(|i| op.completion.record(1_000_000 + i * 1_000_000 / ios));
    counts.busy_slot_ns = 8 * SECOND;
    let key = IntervalKey {
        phase: 0,
        job,
        index,
        ramp: false,
        start_ns: u64::from(index) * SECOND,
        length_ns: SECOND,
    };
    Interval { key, counts }
}

/// Counters `seconds` after the start of the phase, with what device and process had read by then.
pub(crate) fn counters(seconds: u64, read_bytes: u64) -> Counters {
    let mut record = Counters { at_ns: 1000 * SECOND + seconds * SECOND, ..Counters::default() };
    record.devices.push(DeviceCounters {
        name: "sda".to_owned(),
        at_ns: record.at_ns,
        reads: read_bytes / 4096,
        read_bytes,
        weighted_time_ms: 8000 * seconds,
        busy_time_ms: 1000 * seconds,
        ..DeviceCounters::default()
    });
    record.processes.push(ProcessCounters {
        pid: 1,
        storage_read_bytes: Some(read_bytes),
        storage_write_bytes: Some(0),
        user_ns: seconds * SECOND / 10,
        ..ProcessCounters::default()
    });
    record.system.cpu.idle_ns = seconds * 3 * SECOND;
    record.system.cpu.user_ns = seconds * SECOND;
    record
}

pub(crate) fn outcome() -> JobOutcome {
    JobOutcome {
        engine: "io_uring".to_owned(),
        direct: true,
        measured_ns: 5 * SECOND,
        cpu_user_ns: SECOND / 10,
        cpu_system_ns: SECOND / 10,
        ..JobOutcome::default()
    }
}

/// The events of five seconds of one job, 2000 to 2004 reads a second, all served by the disk.
pub(crate) fn events() -> Vec<RunEvent> {
    let mut events = vec![
        started(plan(vec![job("reader")]), environment()),
        RunEvent::PhaseStarted { phase: 0, at_ms: 10 },
        HostEvent::Counters { phase: 0, record: Box::new(counters(0, 0)) }.into(),
    ];
    let mut read_bytes = 0;
    for second in 0..5 {
        let interval = interval(0, second, OpKind::Read, 2000 + u64::from(second));
        read_bytes += interval.counts.data().bytes;
        events.push(HostEvent::Interval(Box::new(interval)).into());
        let record = Box::new(counters(u64::from(second) + 1, read_bytes));
        events.push(HostEvent::Counters { phase: 0, record }.into());
    }
    events.push(HostEvent::JobFinished { phase: 0, job: 0, outcome: Box::new(outcome()) }.into());
    events.push(RunEvent::PhaseFinished { phase: 0, at_ms: 5020 });
    events.push(RunEvent::RunFinished { end: RunEnd::Completed, at_ms: 5030, error: None });
    events
}

pub(crate) fn build(events: &[RunEvent]) -> Run {
    let mut builder = RunBuilder::new();
    events.iter().for_each(|event| builder.feed(event));
    builder.finish().expect("the fixture has a start")
}

/// The run of [`events`]: nothing is wrong with it.
pub(crate) fn run() -> Run {
    build(&events())
}

/// The run with its one test repeated, with these IOPS.
pub(crate) fn repeated(iops: &[f64]) -> Run {
    let mut run = run();
    let phase = run.phases[0].clone();
    let repetition = |(repeat, iops): (u32, &f64)| {
        let mut phase = phase.clone();
        phase.repeat = repeat;
        phase.jobs[0].total.iops = *iops;
        phase
    };
    run.phases = (0..).zip(iops).map(repetition).collect();
    run
}
