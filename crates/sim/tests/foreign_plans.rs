//! Plans that were changed by others: a plan either is refused, or runs to its end.

use assay_sim::phase::SimOptions;
use assay_sim::{Model, PlanSimulation};
use assay_workload::job::{
    Arrival, FlushCall, FlushOrder, Job, Limits, PeriodicFlush, Phase, Rate, ThinkTime,
};
use assay_workload::pattern::{
    AccessPattern, BlockSizes, Distribution, Mix, Placement, Random, Sequential, Zone, ZoneSize,
};
use assay_workload::units::Nanos;
use assay_workload::{Plan, lun};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Operations of a thread, so that every plan ends.
const IOS: u64 = 60;

/// A plan with something of everything in it.
fn plan() -> Value {
    let random = |distribution, once_per_pass| Placement::Random(Random { distribution, once_per_pass });
    let zone = |access_percent, size| Zone { access_percent, size };
    let zones = vec![zone(70.0, ZoneSize::RangePercent(10.0)), zone(30.0, ZoneSize::Bytes(1 << 20))];
    let walk = Sequential { skip_min_bytes: 4096, skip_max_bytes: 65_536, ..Sequential::default() };
    let mixed = Placement::Mixed {
        random_percent: 40.0,
        random: Random { distribution: Distribution::Zipf { theta: 1.2 }, once_per_pass: false },
        sequential: Sequential::default(),
    };
    let hit_area = Distribution::HitArea { read_percent: 60.0, write_percent: 20.0, bytes: 1 << 20 };
    let band = Distribution::Hotband { low_bytes: 1 << 20, high_bytes: 1 << 24, corrected: true };
    let placements = [
        Placement::random_map(),
        random(Distribution::Zoned(zones), false),
        Placement::Sequential(walk),
        mixed,
        random(Distribution::Pareto { h: 0.2 }, true),
        random(Distribution::Normal { stddev_percent: 20.0, scattered: false }, false),
        random(Distribution::Exponential { midpoint: 3.0 }, false),
        random(hit_area, false),
        random(band, false),
        random(Distribution::ReadMiss { miss_percent: 50.0, hit_bytes: 1 << 20 }, false),
    ];
    let jobs = placements.into_iter().enumerate().map(|(index, placement)| {
        let pattern = AccessPattern::new(Mix::read_write(60.0), 4096, placement);
        let limits = Limits { ios: Some(IOS), time: Some(Nanos::from_secs(2)), ..Limits::default() };
        let job = lun::job(&format!("j{index}"), pattern, 4, limits);
        job.with(|job| match index {
            0 => job.pattern.write_sizes = BlockSizes::Weighted(vec![(4096, 1.0), (65_536, 2.0)]),
            1 => job.think_time = Some(ThinkTime { time: Nanos(1000), every_ios: 2 }),
            2 => {
                let (call, order) = (FlushCall::Fsync, FlushOrder::Queued);
                job.flush.periodic = Some(PeriodicFlush { call, every_writes: 3, order });
            }
            3 => (job.ramp, job.start_delay) = (Nanos(1_000_000), Nanos(2_000_000)),
            5 => {
                job.pattern.read_sizes =
                    BlockSizes::Range { min_bytes: 4096, max_bytes: 16_384, step_bytes: 4096 };
            }
            _ => {}
        })
    });
    let paced = jobs.enumerate().map(|(index, job)| match index {
        4 | 6 => Job { rate: Rate::Iops(5000.0), arrival: Arrival::Poisson, threads: 2, ..job },
        _ => job,
    });
    let plan = lun::plan(5, 1 << 28, vec![Phase::measure("m", paced.collect())]).expect("a plan");
    serde_json::to_value(plan).expect("JSON")
}

/// All numbers and lists in a document.
fn places(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, entry)| places(entry, format!("{path}/{index}"), found));
            found.push(path);
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, entry)| places(entry, format!("{path}/{key}"), found));
        }
        _ => {}
    }
}

/// What a number becomes, or what is done to a list.
fn change(value: &mut Value, how: usize) {
    const LARGE: [u64; 4] = [u64::MAX, u64::MAX / 2, u32::MAX as u64, 1 << 40];
    match value {
        Value::Array(list) => match how % 3 {
            0 => list.clear(),
            1 => list.truncate(1),
            _ => list.extend_from_within(..),
        },
        number => {
            *number = match how % 11 {
                0 => json!(0),
                1 => json!(1),
                2 => json!(7),
                3 => json!(-1),
                4 => json!(1e300),
                5 => json!(1e-300),
                6 => json!(99.5),
                large => json!(LARGE[large - 7]),
            };
        }
    }
}

/// Runs a plan that was not refused; its threads end after a few operations.
fn run(mut plan: Plan) {
    for slice in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs).flat_map(|job| &mut job.slices) {
        slice.ios = Some(slice.ios.unwrap_or(IOS).min(IOS));
    }
    let model = Model::shipped("known-latency").expect("a model");
    let mut simulation = PlanSimulation::new(&model, &plan, 1).expect("an array");
    for phase in 0..plan.phases.len() {
        // An error is an answer; a panic is none.
        let _ = simulation.run_phase(&plan, phase, &SimOptions::default(), &mut |_| {});
    }
}

#[test]
fn what_is_sampled_here_runs() {
    let plan: Plan = serde_json::from_value(plan()).expect("a plan");
    assert_eq!(plan.check(), Ok(()));
    run(plan);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// One or two numbers or lists are changed.
    #[test]
    fn a_changed_plan_is_refused_or_runs(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..33_usize), 1..3),
    ) {
        let mut document = plan();
        for (place, how) in changes {
            let mut found = Vec::new();
            places(&document, String::new(), &mut found);
            let path = &found[place.index(found.len())];
            change(document.pointer_mut(path).expect("it is there"), how);
        }
        let Ok(plan) = serde_json::from_value::<Plan>(document) else { return Ok(()) };
        if plan.check().is_ok() {
            run(plan);
        }
    }
}
