//! The simulator against what theory knows exactly.

use assay_workload::AccessPattern;
use assay_workload::job::TargetSelection;
use assay_workload::ops::{Generator, OpBlock, OpSource, SiteSpec};
use assay_workload::pattern::{Distribution, Mix, OpKind, Placement, Random};
use assay_workload::target::ActiveRange;

use crate::model::{
    BackEnd, Cache, CorePlacement, Drive, FrontEnd, Policy, Protection, Services, Size, Ssd, Stage, When,
};
use crate::service::Time;
use crate::testing::{Pace, run};
use crate::{Model, Service};

const GIB: u64 = 1 << 30;

fn reads_4k() -> AccessPattern {
    AccessPattern::new(Mix::READ, 4096, Placement::random_independent())
}

/// The share of measured times at or below each true quantile is within five binomial deviations, whatever the depth:
/// a delay does not queue.
#[test]
fn known_latency_is_measured_as_it_is() {
    let model = Model::shipped("known-latency").unwrap();
    let pattern = AccessPattern::new(Mix::read_write(70.0), 4096, Placement::random_independent());
    let (_, loops) = run(&model, 7, GIB, &pattern, 100_000, &[Pace::Closed(32)]);
    for (kind, truth) in [(OpKind::Read, &model.delay.read), (OpKind::Write, model.delay.of(OpKind::Write))] {
        let histogram = &loops[0].latency[kind as usize];
        let n = histogram.n() as f64;
        for quantile in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let measured = histogram.quantile_ns(quantile).unwrap() as f64;
            let share = truth.share_at_or_below(measured);
            // The histogram's buckets add to the binomial error what they are wide.
            let width = truth.share_at_or_below(measured * 1.01) - truth.share_at_or_below(measured * 0.99);
            let tolerance = 5.0 * (quantile * (1.0 - quantile) / n).sqrt() + width;
            assert!((share - quantile).abs() < tolerance, "{kind:?} {quantile}: {share}");
        }
        let mean = histogram.mean_ns();
        assert!((mean / truth.mean_ns() - 1.0).abs() < 0.02, "{kind:?}: {mean}");
    }
}

#[test]
fn a_closed_loop_on_a_constant_delay_has_the_rate_it_must() {
    let model = Model::known_latency(Service::Constant(Time(50_000)), Service::ZERO);
    let (_, loops) = run(&model, 7, GIB, &reads_4k(), 8_000, &[Pace::Closed(8), Pace::Closed(8)]);
    for one in &loops {
        assert_eq!(one.last_ns, 1000 * 50_000, "8 at a time, 50 us each");
        assert_eq!((one.n, one.errors), (8_000, 0));
    }
}

/// A mean response time measured over `ios` Poisson arrivals, and the arrival rate and mean service that occurred: theory
/// is asked at these, which takes most of the sampling error out (they are control variates).
struct Measured {
    response_ns: f64,
    rate_per_ns: f64,
    service_ns: f64,
}

fn open_loop(name: &str, utilisation: f64, servers: f64, ios: u64, seed: u64) -> Measured {
    let model = Model::shipped(name).unwrap();
    let pace = Pace::Open(utilisation * servers * 1e4, 100_000);
    let (simulation, loops) = run(&model, seed, GIB, &reads_4k(), ios, &[pace]);
    let observed = simulation.observe();
    let busy_ns: u64 = observed.cores.iter().map(|core| core.load.busy_ns).sum();
    Measured {
        response_ns: loops[0].mean_ns(),
        rate_per_ns: ios as f64 / loops[0].last_ns as f64,
        service_ns: busy_ns as f64 / ios as f64,
    }
}

/// M/M/1: 1 / (mu - lambda). The numbers of arrivals make three standard errors 1 % or less.
fn mm1(utilisation: f64, ios: u64) {
    let measured = open_loop("mm1", utilisation, 1.0, ios, 11);
    let expected = 1.0 / (1.0 / measured.service_ns - measured.rate_per_ns);
    assert!((measured.service_ns / 1e5 - 1.0).abs() < 0.01, "{}", measured.service_ns);
    let ratio = measured.response_ns / expected;
    assert!((ratio - 1.0).abs() < 0.01, "utilisation {utilisation}: {ratio}");
}

#[test]
fn mm1_responds_as_it_must_at_low_load() {
    mm1(0.1, 200_000);
    mm1(0.3, 200_000);
    mm1(0.5, 400_000);
    mm1(0.7, 1_000_000);
}

#[test]
fn mm1_responds_as_it_must_at_high_load() {
    mm1(0.8, 2_000_000);
}

/// The probability to wait in an M/M/c queue of offered load `load` (Erlang's C formula, by the recursion of his B).
fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |blocked, c| load * blocked / (f64::from(c) + load * blocked));
    blocked / (1.0 - load / f64::from(servers) * (1.0 - blocked))
}

#[test]
fn mmc_responds_as_it_must() {
    for (utilisation, ios) in
        [(0.2, 200_000), (0.4, 200_000), (0.6, 300_000), (0.75, 500_000), (0.85, 1_500_000)]
    {
        let measured = open_loop("mmc", utilisation, 4.0, ios, 12);
        let load = measured.rate_per_ns * measured.service_ns;
        let wait = erlang_c(4, load) * measured.service_ns / (4.0 - load);
        let ratio = measured.response_ns / (measured.service_ns + wait);
        assert!((ratio - 1.0).abs() < 0.01, "utilisation {utilisation}: {ratio}");
    }
}

fn ssd(service: Service) -> Drive {
    Drive::Ssd(Ssd {
        servers: 1,
        read: service.clone(),
        write: service,
        chunk: Size(1 << 20),
        read_bytes_per_s: 1e18,
        write_bytes_per_s: 1e18,
    })
}

/// A core, then one of `drives` drives, all with the given service, behind a constant delay.
fn network(core: Service, drives: u16, drive: Service, delay_ns: u64) -> Model {
    let serve = Stage {
        name: "serve".to_owned(),
        place: CorePlacement::Array,
        when: When::Always,
        service: Services { read: core, ..Services::default() },
    };
    Model {
        name: "network".to_owned(),
        delay: Services { read: Service::Constant(Time(delay_ns)), ..Services::default() },
        front_end: FrontEnd { stages: vec![serve], ..FrontEnd::default() },
        back_end: Some(BackEnd {
            drives,
            protection: Protection::Spread { unit: Size(4096) },
            drive: ssd(drive),
        }),
        ..Model::default()
    }
}

/// Exact mean value analysis of a closed network of single exponential servers and a delay (Reiser and Lavenberg 1980):
/// throughput for each population from 1 to `customers`. Demands and delay in the same unit.
fn mean_value_analysis(demands: &[f64], delay: f64, customers: usize) -> Vec<f64> {
    let mut queues = vec![0.0; demands.len()];
    let throughput = |n: usize| {
        let residence: Vec<f64> =
            demands.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        let throughput = n as f64 / (delay + residence.iter().sum::<f64>());
        queues.iter_mut().zip(&residence).for_each(|(queue, time)| *queue = throughput * time);
        throughput
    };
    (1..=customers).map(throughput).collect()
}

#[test]
fn a_closed_network_agrees_with_mean_value_analysis() {
    let exponential = |ns| Service::Exponential(Time(ns));
    let model = network(exponential(20_000), 5, exponential(150_000), 100_000);
    let mut demands = vec![20_000.0];
    demands.extend([30_000.0; 5]);
    let exact = mean_value_analysis(&demands, 100_000.0, 32);
    for outstanding in [1, 4, 12, 32] {
        let (simulation, _) = run(&model, 3, 64 * GIB, &reads_4k(), 300_000, &[Pace::Closed(outstanding)]);
        let observed = simulation.observe();
        let ratio = observed.iops() / 1e9 / exact[outstanding as usize - 1];
        assert!((ratio - 1.0).abs() < 0.01, "{outstanding} outstanding: {ratio}");
        let expected = exact[outstanding as usize - 1] * 30_000.0;
        for drive in &observed.drives {
            assert!(
                (drive.utilisation / expected - 1.0).abs() < 0.02,
                "{} for {expected}",
                drive.utilisation
            );
        }
    }
}

/// Utilisation = throughput x service demand (with services that hardly vary, so that the law and not the sample is
/// tested); number inside = throughput x time inside, where the number is counted by the simulation and the time by the
/// loop outside.
#[test]
fn the_utilisation_law_and_littles_law_hold() {
    let narrow = |ns: u64| Service::Uniform { min: Time(ns - ns / 10), max: Time(ns + ns / 10) };
    let model = network(narrow(20_000), 4, narrow(150_000), 50_000);
    for pace in [Pace::Closed(1), Pace::Closed(16), Pace::Open(15_000.0, 1000)] {
        let (simulation, loops) = run(&model, 4, 64 * GIB, &reads_4k(), 100_000, &[pace]);
        let observed = simulation.observe();
        let per_ns = observed.iops() / 1e9;
        let core = observed.cores[0].load.utilisation / (per_ns * 20_000.0);
        let drives: f64 = observed.drives.iter().map(|drive| drive.utilisation).sum();
        let drives = drives / (per_ns * 150_000.0);
        assert!((core - 1.0).abs() < 1e-3 && (drives - 1.0).abs() < 1e-3, "{pace:?}: {core} {drives}");
        let inside = observed.outstanding_mean / (per_ns * loops[0].mean_ns());
        assert!((inside - 1.0).abs() < 1e-3, "{pace:?}: {inside}");
        if let Pace::Closed(outstanding) = pace {
            let full = observed.outstanding_mean / f64::from(outstanding);
            assert!((full - 1.0).abs() < 1e-3, "{full}");
        }
    }
    for name in ["two-brick", "raid10-12", "cluster-4", "ssd", "hdd"] {
        let model = Model::shipped(name).unwrap();
        let pattern = AccessPattern::new(Mix::read_write(60.0), 65_536, Placement::random_independent());
        let (simulation, loops) = run(&model, 4, 64 * GIB, &pattern, 5_000, &[Pace::Closed(16)]);
        let observed = simulation.observe();
        let little = observed.outstanding_mean / (observed.iops() / 1e9 * loops[0].mean_ns());
        assert!((little - 1.0).abs() < 1e-3, "{name}: {little}");
        assert_eq!((observed.completed, observed.failed), (5_000, 0), "{name}");
        let busy = observed.cores.iter().map(|core| &core.load).chain(&observed.drives);
        assert!(busy.clone().all(|load| (0.0..=1.0 + 1e-9).contains(&load.utilisation)), "{name}");
    }
}

/// Hits of an LRU cache of `capacity` pages are the accesses whose stack distance is below it (Mattson et al. 1970).
#[test]
fn lru_hits_are_those_with_a_short_stack_distance() {
    let random = Random { distribution: Distribution::Zipf { theta: 0.8 }, once_per_pass: false };
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::Random(random));
    let (size, ios) = (4096 * 4096, 20_000);
    let range = ActiveRange { offset_bytes: 0, length_bytes: size };
    let sites = [SiteSpec { target: 0, range }];
    let mut source = Generator::new(&pattern, &sites, TargetSelection::default(), 21, Some(ios), None);
    let (mut stack, mut distances, mut block): (Vec<u64>, Vec<usize>, _) =
        (vec![], vec![], OpBlock::default());
    loop {
        source.fill(&mut block);
        if block.len == 0 {
            break;
        }
        for op in &block.ops[..block.len] {
            let found = stack.iter().rposition(|&page| page == op.offset_bytes);
            distances.push(found.map_or(usize::MAX, |index| stack.len() - 1 - index));
            found.map(|index| stack.remove(index));
            stack.push(op.offset_bytes);
        }
    }
    for pages in [1, 10, 100, 1000, 4000] {
        let mut model = network(Service::ZERO, 1, Service::Constant(Time(1000)), 0);
        model.cache = Some(Cache {
            size: Size(pages as u64 * 4096),
            page: Size(4096),
            policy: Policy::Lru,
            hit: Service::Constant(Time(100)),
            miss: Service::ZERO,
            write_allocate: true,
            write_back: None,
        });
        let (simulation, _) = run(&model, 21, size, &pattern, ios, &[Pace::Closed(4)]);
        let expected = distances.iter().filter(|&&distance| distance < pages).count() as u64;
        assert_eq!(simulation.observe().cache.unwrap().read_hits, expected, "{pages} pages");
    }
}

/// "When Testing Tools Attack": 75 % of reads to a hit area of 1 MiB keep one core of eight busy; 8 MiB balance them.
#[test]
fn a_hit_area_of_one_segment_overloads_one_core() {
    let model = Model::shipped("two-brick").unwrap();
    let observe = |area: u64| {
        let distribution = Distribution::HitArea { read_percent: 75.0, write_percent: 0.0, bytes: area };
        let random = Random { distribution, once_per_pass: false };
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::Random(random));
        let (simulation, _) = run(&model, 5, 16 * GIB, &pattern, 100_000, &[Pace::Closed(64)]);
        simulation.observe()
    };
    let (one, eight) = (observe(1 << 20), observe(8 << 20));
    let owned = |observed: &assay_results::audit::Observations| {
        let counts: Vec<f64> = observed.cores.iter().map(|core| core.owned as f64).collect();
        assay_results::audit::Imbalance::of(&counts).unwrap()
    };
    assert!((owned(&one).share_max - 0.781).abs() < 0.01 && (owned(&one).max_over_mean - 6.25).abs() < 0.08);
    assert!(owned(&eight).max_over_mean < 1.03, "{:?}", owned(&eight));
    let loads = |observed: &assay_results::audit::Observations| -> Vec<f64> {
        observed.cores.iter().map(|core| core.load.utilisation).collect()
    };
    let (hot, others) = (loads(&one)[0], &loads(&one)[1..]);
    assert!(hot > 0.95 && others.iter().all(|load| *load < 0.6), "{:?}", loads(&one));
    assert!(eight.core_imbalance().unwrap().max_over_mean < 1.03, "{:?}", loads(&eight));
    assert!(eight.iops() > 1.3 * one.iops(), "{} {}", eight.iops(), one.iops());
    assert!(eight.completion_ns_mean() < one.completion_ns_mean() / 1.3);
    // The case: one core and its controller are busier; the stages behind it, and the drives, are not.
    let busiest = |kind: &str| {
        let shares = one.shares();
        let of = shares.iter().find(|shares| shares.kind == kind).map(|shares| shares.shares.clone());
        of.map(|shares| {
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{kind}: {shares:?}");
            assay_results::audit::Imbalance::of(&shares).unwrap().max_over_mean
        })
    };
    assert!(
        busiest("cores") > busiest("controllers") && busiest("controllers") > Some(1.1),
        "{:?}",
        one.shares()
    );
    for kind in ["drives", "paths to the host"] {
        assert!(busiest(kind).is_none_or(|over_mean| over_mean >= 1.0), "{kind}: {:?}", one.shares());
    }
    // Not as far as 75 % suggests: only one stage is bound to the address.
    assert!(one.iops() > eight.iops() / 6.25 * 1.5, "{} {}", eight.iops(), one.iops());
}
