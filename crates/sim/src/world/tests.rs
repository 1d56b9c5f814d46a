//! The parts of the array put together: what requests do to each other, and what faults do to them.

use assay_engine::{Completion, Completions, Engine, Io, Wait};
use assay_workload::AccessPattern;
use assay_workload::pattern::{Mix, OpKind, Placement};

use crate::model::{
    BackEnd, Cache, CorePlacement, Drive, Fault, FrontEnd, Layout, Policy, Protection, Services, Size, Span,
    Ssd, Stage, When, WriteBack,
};
use crate::service::Time;
use crate::testing::{Pace, run};
use crate::{Driver, Model, Pending, Service, SimEngine, Simulation, Stepper};

const MIB: u64 = 1 << 20;

fn constant(ns: u64) -> Service {
    Service::Constant(Time(ns))
}

fn stage(place: CorePlacement, ns: u64) -> Stage {
    let service = Services { read: constant(ns), ..Services::default() };
    Stage { name: "stage".to_owned(), place, when: When::Always, service }
}

fn cores(controllers: u16, per: u16, place: CorePlacement, ns: u64) -> FrontEnd {
    FrontEnd {
        controllers,
        cores_per_controller: per,
        segment: Size(MIB),
        layout: Layout::RoundRobin,
        stages: vec![stage(place, ns)],
    }
}

fn drives(count: u16, protection: Protection, ns: u64) -> BackEnd {
    let drive = Drive::Ssd(Ssd {
        servers: 1,
        read: constant(ns),
        write: constant(ns),
        chunk: Size(MIB),
        read_bytes_per_s: 1e18,
        write_bytes_per_s: 1e18,
    });
    BackEnd { drives: count, protection, drive }
}

fn cache(write_back: Option<WriteBack>) -> Cache {
    Cache {
        size: Size(64 * MIB),
        page: Size(4096),
        policy: Policy::Lru,
        hit: constant(1_000),
        miss: Service::ZERO,
        write_allocate: true,
        write_back,
    }
}

/// Submits everything at time 0 and collects what completes with its time.
struct Batch {
    engine: SimEngine,
    clock: crate::SimClock,
    ios: Vec<Io>,
    done: Vec<(u64, Completion)>,
}

impl Stepper for Batch {
    fn step(&mut self) -> Result<Pending, assay_engine::EngineError> {
        use assay_engine::Clock;
        let mut out = Completions::with_capacity(64);
        self.engine.reap(&mut out, Wait::Poll)?;
        let now = self.clock.now_ns();
        self.done.extend(out.as_slice().iter().map(|completion| (now, *completion)));
        for io in self.ios.drain(..) {
            assert!(self.engine.queue(io).is_ok());
        }
        let submitted = self.engine.submit(Wait::Poll)?.submitted;
        let all = submitted == 0 && self.engine.outstanding() == 0;
        Ok(if all { Pending::Done } else { Pending::Completion })
    }
}

fn io(slot: u32, kind: OpKind, offset_bytes: u64, len_bytes: u32) -> Io {
    Io { slot, target: 0, kind, len_bytes, offset_bytes }
}

/// Time and result by slot of requests that are all submitted at time 0 to a volume of 64 MiB.
fn batch(model: &Model, ios: Vec<Io>) -> Vec<(u64, i32)> {
    let mut simulation = Simulation::new(model, 1).unwrap();
    let volume = simulation.add_volume(64 * MIB);
    let engine = simulation.engine(&[volume], ios.len() as u32);
    let port = engine.port();
    let mut driver = Driver::default();
    driver.add(&[port], Batch { engine, clock: simulation.clock(), ios, done: Vec::new() });
    let mut done = driver.run(&simulation).unwrap().remove(0).done;
    done.sort_by_key(|(_, completion)| completion.slot);
    done.into_iter().map(|(at, completion)| (at, completion.result)).collect()
}

fn reads(offsets: &[u64]) -> Vec<Io> {
    offsets.iter().enumerate().map(|(slot, offset)| io(slot as u32, OpKind::Read, *offset, 4096)).collect()
}

#[test]
fn a_bound_stage_queues_by_address_and_a_free_one_does_not() {
    let offsets = [0, 4096, 4 * MIB, MIB];
    let bound = Model { front_end: cores(2, 2, CorePlacement::Bound, 100), ..Model::default() };
    let times: Vec<u64> = batch(&bound, reads(&offsets)).iter().map(|done| done.0).collect();
    assert_eq!(times, [100, 200, 300, 100], "the first three belong to one core");
    let free = Model { front_end: cores(2, 2, CorePlacement::Array, 100), ..Model::default() };
    let times: Vec<u64> = batch(&free, reads(&offsets)).iter().map(|done| done.0).collect();
    assert_eq!(times, [100; 4]);
    let controller = Model { front_end: cores(2, 2, CorePlacement::Controller, 100), ..Model::default() };
    let times: Vec<u64> = batch(&controller, reads(&offsets)).iter().map(|done| done.0).collect();
    assert_eq!(times, [100, 100, 200, 200], "all four belong to one controller of two cores");
}

#[test]
fn a_request_over_several_segments_is_done_when_its_last_part_is() {
    let model = Model { front_end: cores(2, 2, CorePlacement::Bound, 100), ..Model::default() };
    // Parts on cores 0, 1, 2; the second request waits for core 1 behind its part.
    let long = io(0, OpKind::Read, MIB / 2, 2 * MIB as u32);
    let done = batch(&model, vec![long, io(1, OpKind::Read, MIB, 4096), io(2, OpKind::Read, 3 * MIB, 4096)]);
    assert_eq!(done, [(100, 2 * MIB as i32), (200, 4096), (100, 4096)]);
}

#[test]
fn requests_outside_a_volume_end_as_on_a_block_device() {
    let model = Model::known_latency(constant(100), constant(100));
    let end = 64 * MIB;
    let done = batch(
        &model,
        vec![
            io(0, OpKind::Read, end, 4096),
            io(1, OpKind::Read, end - 100, 4096),
            io(2, OpKind::Write, end, 4096),
            io(3, OpKind::Read, u64::MAX - 4095, 4096),
            io(4, OpKind::Trim, end - 100, 4096),
            Io { target: 7, ..io(5, OpKind::Read, 0, 4096) },
            io(6, OpKind::Trim, 0, 4096),
            io(7, OpKind::Fdatasync, 0, 0),
        ],
    );
    let results: Vec<i32> = done.iter().map(|done| done.1).collect();
    assert_eq!(results, [0, 100, -28, -22, -22, -22, 0, 0]);
    assert_eq!(done[1].0, 100);
}

#[test]
fn links_carry_each_direction_at_their_own_rate() {
    let front_end = cores(2, 1, CorePlacement::Array, 0);
    let link = Some(crate::model::Link { bytes_per_s: 1e9 });
    let model = Model { front_end, link, ..Model::default() };
    // 4096 bytes take 4096 ns; segments 0 and 2 belong to the same controller.
    let kinds = [(OpKind::Read, 0), (OpKind::Read, 2 * MIB), (OpKind::Read, MIB), (OpKind::Write, 0)];
    let ios = kinds.iter().enumerate().map(|(slot, (kind, offset))| io(slot as u32, *kind, *offset, 4096));
    let times: Vec<u64> = batch(&model, ios.collect()).iter().map(|done| done.0).collect();
    assert_eq!(times, [4096, 8192, 4096, 4096]);
}

#[test]
fn the_next_controller_takes_over_and_gives_back() {
    let during = Span { from: Time(1_000_000), to: Time(2_000_000) };
    let faults = vec![Fault::FailedController { controller: 0, during }];
    let model = Model { front_end: cores(2, 2, CorePlacement::Bound, 10_000), faults, ..Model::default() };
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
    // Four at a time, 3 ms: the load of four cores falls on two for a third of the time.
    let (simulation, loops) = run(&model, 1, 64 * MIB, &pattern, 700, &[Pace::Closed(4)]);
    let observed = simulation.observe();
    assert_eq!(loops[0].errors, 0);
    let by_controller = observed.owned_by_controller();
    assert!(by_controller[1] > by_controller[0] * 3 / 2, "{by_controller:?}");
    assert_eq!(by_controller.iter().sum::<u64>(), 700);
    let all = (0..2).map(|controller| Fault::FailedController { controller, during: Span::default() });
    let none_left = Model { faults: all.collect(), ..model };
    assert_eq!(batch(&none_left, reads(&[0]))[0].1, -5);
}

#[test]
fn slow_parts_are_as_slow_as_they_are_told_while_it_lasts() {
    let during = Span { from: Time(0), to: Time(150) };
    let mut model = Model { front_end: cores(1, 1, CorePlacement::Array, 100), ..Model::default() };
    model.faults = vec![Fault::SlowCore { core: 0, factor: 3.0, during }];
    assert_eq!(batch(&model, reads(&[0]))[0].0, 300);
    model.back_end = Some(drives(2, Protection::Raid0 { stripe: Size(MIB) }, 1000));
    model.faults = vec![Fault::SlowDrive { drive: 1, factor: 10.0, during }];
    assert_eq!(
        batch(&model, reads(&[0, MIB])),
        [(1100, 4096), (1200, 4096)],
        "over when the second came to it"
    );
    model.faults = vec![Fault::SlowDrive { drive: 1, factor: 10.0, during: Span::default() }];
    assert_eq!(batch(&model, reads(&[0, MIB])), [(1100, 4096), (10_200, 4096)]);
}

#[test]
fn copies_are_written_on_other_nodes_side_by_side() {
    let protection = Protection::Replicated { copies: 3, network: constant(500), store: constant(70) };
    let mut front_end = cores(4, 1, CorePlacement::Controller, 100);
    front_end.stages[0].service.write = Some(constant(100));
    let model = Model { front_end, back_end: Some(drives(4, protection, 1000)), ..Model::default() };
    // Own copy: 100 + 1000. Others: 100 + 500 + 70 + 1000.
    assert_eq!(batch(&model, vec![io(0, OpKind::Write, 0, 4096)]), [(1670, 4096)]);
    assert_eq!(batch(&model, vec![io(0, OpKind::Read, 0, 4096)]), [(1100, 4096)]);
    let mut degraded = model.clone();
    degraded.faults =
        (1..4).map(|controller| Fault::FailedController { controller, during: Span::default() }).collect();
    assert_eq!(
        batch(&degraded, vec![io(0, OpKind::Write, 0, 4096)]),
        [(1100, 4096)],
        "no other node is left"
    );
    let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::random_independent());
    let (simulation, _) = run(&model, 1, 64 * MIB, &pattern, 1000, &[Pace::Closed(4)]);
    let served: u64 = simulation.observe().drives.iter().map(|drive| drive.served).sum();
    assert_eq!(served, 3000);
}

fn write_back(dirty_max: u64, destage_above: f64) -> WriteBack {
    WriteBack {
        dirty_max: Size(dirty_max),
        service: constant(2_000),
        destage_above,
        destage_outstanding: 4,
        destage_max: Size(16 * 4096),
    }
}

#[test]
fn writes_are_as_fast_as_the_cache_until_it_is_full_and_then_as_the_drives() {
    let back_end = Some(drives(1, Protection::Raid1, 100_000));
    let model = Model { cache: Some(cache(Some(write_back(4 * MIB, 0.5)))), back_end, ..Model::default() };
    let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::random_independent());
    let (simulation, loops) = run(&model, 1, 1 << 30, &pattern, 400, &[Pace::Closed(1)]);
    assert_eq!(loops[0].last_ns, 400 * 2_000, "nothing is written below the threshold");
    assert_eq!(simulation.observe().cache.unwrap().dirty_pages, 400);
    let (simulation, loops) = run(&model, 1, 1 << 30, &pattern, 6_000, &[Pace::Closed(8)]);
    let load = simulation.observe().cache.unwrap();
    assert!(load.writes_stalled > 1000 && load.pages_destaged > 4000, "{load:?}");
    // One drive of 10,000 writes a second: what does not fit goes at its rate.
    let expected = (6_000 - 1024) as f64 * 100_000.0;
    assert!((loops[0].last_ns as f64 / expected - 1.0).abs() < 0.02, "{} {expected}", loops[0].last_ns);
    assert_eq!(loops[0].n, 6_000);
}

#[test]
fn overwriting_what_is_dirty_costs_the_drives_nothing() {
    let back_end = Some(drives(1, Protection::Raid1, 100_000));
    let model = Model { cache: Some(cache(Some(write_back(4 * MIB, 0.5)))), back_end, ..Model::default() };
    let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::random_independent());
    let (simulation, loops) = run(&model, 1, MIB, &pattern, 5_000, &[Pace::Closed(2)]);
    let load = simulation.observe().cache.unwrap();
    assert_eq!((load.dirty_pages, load.writes_absorbed, load.pages_destaged), (256, 5_000 - 256, 0));
    assert_eq!(loops[0].last_ns, 2_500 * 2_000);
}

#[test]
fn neighbouring_dirty_pages_are_written_together() {
    let back_end = Some(drives(1, Protection::Raid1, 100_000));
    let model = Model { cache: Some(cache(Some(write_back(4 * MIB, 0.0)))), back_end, ..Model::default() };
    let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::sequential());
    let (simulation, _) = run(&model, 1, 64 * MIB, &pattern, 4_096, &[Pace::Closed(1)]);
    simulation.idle(1_000_000_000);
    let observed = simulation.observe();
    let load = observed.cache.unwrap();
    assert_eq!((load.pages_destaged, load.dirty_pages), (4_096, 0), "idle time lets everything out");
    assert!(observed.drives[0].served < 600, "{} writes", observed.drives[0].served);
}

#[test]
fn reads_find_what_was_written() {
    let back_end = Some(drives(1, Protection::Raid1, 100_000));
    let model = Model { cache: Some(cache(Some(write_back(4 * MIB, 0.5)))), back_end, ..Model::default() };
    let pattern = AccessPattern::new(Mix::read_write(50.0), 4096, Placement::random_independent());
    let (simulation, loops) = run(&model, 1, MIB, &pattern, 10_000, &[Pace::Closed(1)]);
    let ratio = simulation.observe().cache.unwrap().read_hit_ratio().unwrap();
    assert!(ratio > 0.95, "{ratio}");
    assert_eq!(loops[0].latency[0].min_ns(), 1_000);
}

/// What a simulation holds depends on what is outstanding, not on how long it goes on.
#[test]
fn memory_stays_the_same() {
    let model = Model::shipped("two-brick").unwrap();
    let pattern = AccessPattern::new(Mix::read_write(70.0), 4096, Placement::random_independent());
    let held = |ios| {
        let (simulation, _) = run(&model, 1, 8 << 30, &pattern, ios, &[Pace::Closed(32), Pace::Closed(8)]);
        let world = simulation.world().borrow();
        (world.nodes.len(), world.events.held())
    };
    let ((nodes, events), (nodes_later, events_later)) = (held(20_000), held(60_000));
    // Background writes come and go, so that a few more may be on their way at a time.
    assert!(nodes_later <= nodes + 16 && nodes_later < 200, "{nodes} {nodes_later}");
    assert!(events_later <= events * 2, "{events} {events_later}");
}

#[test]
fn a_loop_that_waits_for_nothing_is_named() {
    struct Waiting;
    impl Stepper for Waiting {
        fn step(&mut self) -> Result<Pending, assay_engine::EngineError> {
            Ok(Pending::Completion)
        }
    }
    let mut simulation = Simulation::new(&Model::default(), 1).unwrap();
    let volume = simulation.add_volume(MIB);
    let port = simulation.engine(&[volume], 1).port();
    let mut driver = Driver::default();
    driver.add(&[port], Waiting);
    let error = driver.run(&simulation).err().unwrap().to_string();
    assert!(error.contains("waits for a completion"), "{error}");
}

#[test]
fn an_engine_holds_as_many_as_it_was_made_for() {
    let mut simulation = Simulation::new(&Model::known_latency(constant(10), Service::ZERO), 1).unwrap();
    let volume = simulation.add_volume(MIB);
    let mut engine = simulation.engine(&[volume], 2);
    assert!(!engine.capabilities().blocks);
    assert!(engine.queue(io(0, OpKind::Read, 0, 512)).is_ok());
    assert!(engine.queue(io(1, OpKind::Read, 0, 512)).is_ok());
    assert!(engine.queue(io(0, OpKind::Read, 0, 512)).is_err());
    assert_eq!(engine.submit(Wait::AtLeast(1)).unwrap().submitted, 2);
    simulation.idle(10);
    let mut out = Completions::with_capacity(1);
    engine.reap(&mut out, Wait::Poll).unwrap();
    assert_eq!((out.as_slice().len(), engine.outstanding()), (1, 1), "no more than there is room for");
}
