//! What holds of every plan and of every operation that follows from it, over workloads of all kinds.

use std::collections::BTreeMap;

use assay_workload::arrival::ArrivalSource;
use assay_workload::host::{Host, HostRanges};
use assay_workload::job::{
    Arrival, EngineKind, Limits, OperationRates, Rate, TargetSelection, TargetSharing,
};
use assay_workload::ops::{Generator, Op, OpBlock, OpSource as _, SiteSpec};
use assay_workload::pattern::{
    BlockSizes, Distribution, Mix, OpKind, Placement, Random, Sequential, Zone, ZoneSize,
};
use assay_workload::plan::{SliceRate, ThreadSlice};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Extent, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{AccessPattern, ActiveRange, Job, Phase, Plan, PlannedJob, Target, Workload};
use proptest::prelude::*;
use proptest::sample::select;

/// Standard deviations that a share may be off. Of a million draws less than one is.
const DEVIATIONS: f64 = 5.0;

/// A plan of one job on files `t0`, `t1`, ... of these sizes, on these hosts.
fn plan(job: Job, sizes: &[u64], hosts: &[&str], seed: u64) -> Plan {
    let name = |index: usize| format!("t{index}");
    let facts = |(index, size): (usize, &u64)| {
        let facts = TargetFacts {
            path: format!("/data/{}", name(index)),
            kind: TargetKind::File,
            existing_bytes: *size,
            direct_align_bytes: Some(512),
            engine_choice: None,
            direct_refused: None,
        };
        (name(index), facts)
    };
    let target = |(index, size): (usize, &u64)| Target {
        name: name(index),
        path: name(index),
        kind: Some(TargetKind::File),
        size: Some(Bytes(*size)),
    };
    let host = |name: &&str| Host {
        name: (*name).to_owned(),
        system: None,
        user: None,
        instances: 1,
        paths: BTreeMap::new(),
    };
    let workload = Workload {
        name: "w".to_owned(),
        seed: Some(seed),
        hosts: hosts.iter().map(host).collect(),
        targets: sizes.iter().enumerate().map(target).collect(),
        phases: vec![Phase::measure("p", vec![job])],
    };
    let inventory = Inventory {
        targets: sizes.iter().enumerate().map(facts).collect(),
        engines: vec![EngineKind::Psync],
        ..Inventory::default()
    };
    resolve::plan(&workload, &inventory, seed).expect("a plan")
}

fn job(pattern: AccessPattern, targets: usize) -> Job {
    let names: Vec<String> = (0..targets).map(|index| format!("t{index}")).collect();
    Job::new("j", &[], pattern).with(|job| job.targets = names)
}

/// What a thread does, as the engine makes it from its slice.
fn generator(job: &PlannedJob, thread: usize) -> Generator {
    let slice = &job.slices[thread];
    let site = |(index, site): (usize, &assay_workload::plan::PlannedSite)| SiteSpec {
        target: index as u16,
        range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
    };
    let sites: Vec<SiteSpec> = slice.sites.iter().enumerate().map(site).collect();
    Generator::new(&job.pattern, &sites, job.selection, slice.seed, slice.ios, slice.bytes)
}

/// Its first operations, `most` at most.
fn operations(job: &PlannedJob, thread: usize, most: usize) -> Vec<Op> {
    let (mut source, mut block) = (generator(job, thread), OpBlock::default());
    let mut all = Vec::new();
    while all.len() < most && !block.last {
        source.fill(&mut block);
        all.extend_from_slice(&block.ops[..block.len]);
    }
    all.truncate(most);
    all
}

/// Powers of two from 512 B to 64 KiB.
fn block() -> impl Strategy<Value = u64> {
    (9..17_u32).prop_map(|bits| 1 << bits)
}

fn sizes() -> impl Strategy<Value = BlockSizes> {
    prop_oneof![
        2 => block().prop_map(BlockSizes::Fixed),
        1 => prop::collection::vec((block(), 1.0..10.0_f64), 1..4).prop_map(BlockSizes::Weighted),
        1 => (block(), 0..8_u64).prop_map(|(min_bytes, steps)| BlockSizes::Range {
            min_bytes,
            max_bytes: min_bytes * (1 + steps),
            step_bytes: min_bytes,
        }),
    ]
}

fn distribution() -> impl Strategy<Value = Distribution> {
    let zones = [(60.0, 10.0), (30.0, 40.0), (10.0, 50.0)].map(|(access_percent, percent)| Zone {
        access_percent,
        size: ZoneSize::from(Extent::Percent(percent)),
    });
    prop_oneof![
        Just(Distribution::Uniform),
        (0.2..2.0_f64).prop_map(|theta| Distribution::Zipf { theta }),
        (0.1..0.9_f64).prop_map(|h| Distribution::Pareto { h }),
        (1.0..50.0_f64).prop_map(|stddev_percent| Distribution::Normal { stddev_percent, scattered: false }),
        Just(Distribution::Zoned(zones.to_vec())),
        (0.0..=100.0_f64, 0.0..=100.0_f64, 20..23_u32).prop_map(|(read_percent, write_percent, bits)| {
            Distribution::HitArea { read_percent, write_percent, bytes: 1 << bits }
        }),
    ]
}

fn placement() -> impl Strategy<Value = Placement> {
    let random = (distribution(), any::<bool>())
        .prop_map(|(distribution, once_per_pass)| Random { distribution, once_per_pass });
    let walk = (any::<[bool; 2]>(), 0..3_u64, 0..3_u64).prop_map(|(flags, skip, more)| Sequential {
        skip_min_bytes: skip << 16,
        skip_max_bytes: (skip + more) << 16,
        random_start: flags[0],
        cursor_per_operation: flags[1],
        wrap: true,
    });
    (0..3, 0.0..=100.0_f64, random, walk).prop_map(|(kind, random_percent, random, sequential)| match kind {
        0 => Placement::Sequential(sequential),
        1 => Placement::Random(random),
        _ => Placement::Mixed { random_percent, random, sequential },
    })
}

fn mix() -> impl Strategy<Value = Mix> {
    let shares = (0..=100_u32, 0..=100_u32).prop_map(|(read, of_rest)| {
        let read_percent = f64::from(read);
        let write_percent = (100.0 - read_percent) * f64::from(of_rest) / 100.0;
        let trim_percent = (100.0 - read_percent - write_percent).max(0.0);
        Mix { read_percent, write_percent, trim_percent }
    });
    prop_oneof![Just(Mix::READ), Just(Mix::WRITE), shares]
}

fn pattern() -> impl Strategy<Value = AccessPattern> {
    (mix(), [sizes(), sizes(), sizes()], placement(), any::<bool>()).prop_map(
        |(mix, [read_sizes, write_sizes, trim_sizes], placement, repeat_passes)| AccessPattern {
            read_sizes,
            write_sizes,
            trim_sizes,
            repeat_passes,
            ..AccessPattern::new(mix, 4096, placement)
        },
    )
}

fn selection() -> impl Strategy<Value = TargetSelection> {
    select(vec![TargetSelection::RoundRobin, TargetSelection::Random, TargetSelection::Sequential])
}

/// Offset, length and increment of a job in 64 KiB: none, or some that three threads stay within 16 MiB with.
fn region() -> impl Strategy<Value = (u64, Option<u64>, u64)> {
    (0..32_u64, prop::option::of(16..64_u64), 0..48_u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_keep_to_their_ranges_their_alignment_and_their_sizes(
        pattern in pattern(),
        selection in selection(),
        region in region(),
        targets in 1..4_usize,
        threads in 1..4_u32,
        seed: u64,
    ) {
        const UNIT: u64 = 1 << 16;
        // The largest block is 512 KiB.
        let size = 16 << 20;
        let (offset, length, increment) = region;
        let asked = job(pattern, targets).with(|job| {
            job.threads = threads;
            job.selection = selection;
            job.offset = Extent::Bytes(offset * UNIT);
            job.length = length.map(|length| Extent::Bytes(length * UNIT));
            job.offset_increment = Extent::Bytes(increment * UNIT);
            job.limits = Limits { ios: Some(400), ..Limits::default() };
        });
        let planned = plan(asked.clone(), &vec![size; targets], &[], seed);
        prop_assert!(planned.check().is_ok());
        let job = &planned.phases[0].jobs[0];
        prop_assert_eq!(job.slices.len(), threads as usize);
        for thread in 0..job.slices.len() {
            let slice = &job.slices[thread];
            for site in &slice.sites {
                let start = (offset + increment * thread as u64) * UNIT;
                prop_assert_eq!(site.offset_bytes, start);
                prop_assert!(site.offset_bytes + site.length_bytes <= size);
                prop_assert!(length.is_none_or(|length| site.length_bytes <= length * UNIT));
            }
            let all = operations(job, thread, 400);
            for op in &all {
                let site = slice.sites[usize::from(op.target)];
                let end = op.offset_bytes + u64::from(op.len_bytes);
                prop_assert!(op.offset_bytes >= site.offset_bytes, "{:?} of {:?}", op, site);
                prop_assert!(end <= site.offset_bytes + site.length_bytes, "{:?} of {:?}", op, site);
                // All sizes are powers of two times 512, and so the smallest divides every place.
                let within = op.offset_bytes - site.offset_bytes;
                prop_assert_eq!(within % job.pattern.align(), 0, "{:?} of {:?}", op, site);
                prop_assert!(job.pattern.mix.share(op.kind) > 0.0, "{:?}", op);
                let (least, most) = (512, job.pattern.sizes(op.kind).max_bytes());
                prop_assert!((least..=most).contains(&u64::from(op.len_bytes)), "{:?}", op);
            }
        }
        // The same seed is the same plan and the same operations; another thread does others.
        let again = plan(asked, &vec![size; targets], &[], seed);
        prop_assert_eq!(&again, &planned);
        prop_assert_eq!(operations(&again.phases[0].jobs[0], 0, 64), operations(job, 0, 64));
        let mut seeds: Vec<u64> = job.slices.iter().map(|slice| slice.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        prop_assert_eq!(seeds.len(), threads as usize);
    }

    #[test]
    fn shares_of_operations_are_within_binomial_bounds(mix in mix(), placement in placement(), seed: u64) {
        const NUMBER: usize = 20_000;
        let pattern = AccessPattern::new(mix, 4096, placement);
        let asked = job(pattern, 1).with(|job| job.limits = Limits { ios: Some(NUMBER as u64), ..Limits::default() });
        let planned = plan(asked, &[1 << 30], &[], seed);
        let all = operations(&planned.phases[0].jobs[0], 0, NUMBER);
        prop_assert_eq!(all.len(), NUMBER);
        for kind in OpKind::DATA {
            let share = mix.share(kind);
            let expected = NUMBER as f64 * share;
            let found = all.iter().filter(|op| op.kind == kind).count() as f64;
            let bound = 1.0 + DEVIATIONS * (expected * (1.0 - share)).sqrt();
            prop_assert!((found - expected).abs() <= bound, "{:?}: {} of {}", kind, found, expected);
        }
    }

    #[test]
    fn a_pass_touches_every_block_once(
        block in block(),
        blocks in prop::collection::vec(8..600_u64, 1..4),
        rest in 0..512_u64,
        is_random: bool,
        passes in 1..4_u32,
        mix in mix(),
        seed: u64,
    ) {
        let placement = if is_random { Placement::random_map() } else { Placement::sequential() };
        let one_kind = mix.share(OpKind::Read) == 1.0 || mix.share(OpKind::Write) == 1.0;
        // A walk has a place for each operation, and so of a mix no pass of all together.
        let mix = if is_random || one_kind { mix } else { Mix::WRITE };
        let asked = job(AccessPattern::new(mix, block, placement), blocks.len()).with(|job| {
            job.selection = TargetSelection::RoundRobin;
            job.sharing = TargetSharing::PerThread;
            job.threads = blocks.len() as u32;
            job.limits = Limits { passes: Some(passes), ..Limits::default() };
        });
        // What does not fill a block at the end is no block.
        let sizes: Vec<u64> = blocks.iter().map(|number| number * block + rest).collect();
        let planned = plan(asked, &sizes, &[], seed);
        let job = &planned.phases[0].jobs[0];
        for (thread, number) in blocks.iter().enumerate() {
            let all = operations(job, thread, usize::MAX);
            prop_assert_eq!(all.len() as u64, number * u64::from(passes));
            for pass in all.chunks(*number as usize) {
                let mut seen: Vec<u64> = pass.iter().map(|op| op.offset_bytes / block).collect();
                seen.sort_unstable();
                prop_assert!(seen.iter().copied().eq(0..*number), "{:?}", seen);
                prop_assert!(pass.iter().all(|op| u64::from(op.len_bytes) == block));
            }
        }
    }

    #[test]
    fn limits_of_bytes_and_operations_are_kept(
        pattern in pattern(),
        selection in selection(),
        targets in 1..4_usize,
        bytes in prop::option::of(1..40_000_000_u64),
        ios in prop::option::of(1..2000_u64),
        seed: u64,
    ) {
        prop_assume!(bytes.is_some() || ios.is_some());
        let asked = job(pattern, targets).with(|job| {
            job.selection = selection;
            job.threads = 2;
            job.limits = Limits { bytes, ios, ..Limits::default() };
        });
        let planned = plan(asked, &vec![4 << 20; targets], &[], seed);
        let job = &planned.phases[0].jobs[0];
        for thread in 0..2 {
            let all = operations(job, thread, usize::MAX);
            let moved: u64 = all.iter().map(|op| u64::from(op.len_bytes)).sum();
            let last = all.last().map_or(0, |op| u64::from(op.len_bytes));
            prop_assert!(ios.is_none_or(|ios| all.len() as u64 <= ios));
            // The last block is the one that reaches the limit, and blocks are whole.
            prop_assert!(bytes.is_none_or(|bytes| moved - last < bytes), "{} of {:?}", moved, bytes);
            let by_bytes = bytes.is_some_and(|bytes| moved >= bytes);
            let by_ios = ios.is_some_and(|ios| all.len() as u64 == ios);
            // As in fio, operations whose smallest blocks differ share a map, and one that finds no place in it ends the only pass.
            let smallest = |kind: OpKind| job.pattern.sizes(kind).min_bytes();
            let kinds = || OpKind::DATA.into_iter().filter(|kind| job.pattern.mix.share(*kind) > 0.0);
            let differ = kinds().any(|one| kinds().any(|other| smallest(one) != smallest(other)));
            let by_map = differ && job.pattern.repeat_passes;
            prop_assert!(by_bytes || by_ios || by_map, "{} operations, {} bytes", all.len(), moved);
        }
    }

    #[test]
    fn what_is_divided_is_disjoint_and_whole(
        hosts in 1..5_usize,
        threads in 1..4_u32,
        blocks in 200..900_u64,
        step in 8..40_u64,
        seed: u64,
    ) {
        const BLOCK: u64 = 4096;
        let names = &["a", "b", "c", "d"][..hosts];
        let pattern = || AccessPattern::new(Mix::WRITE, BLOCK, Placement::random_map());
        let passes = Limits { passes: Some(1), ..Limits::default() };
        // Hosts divide the range.
        let asked = job(pattern(), 1).with(|job| {
            job.host_ranges = HostRanges::Divided;
            job.limits = passes;
        });
        let planned = plan(asked, &[blocks * BLOCK], names, seed);
        let slices = &planned.phases[0].jobs[0].slices;
        prop_assert_eq!(slices.len(), hosts);
        let mut parts: Vec<(u64, u64)> = slices.iter().map(|slice| {
            (slice.sites[0].offset_bytes, slice.sites[0].offset_bytes + slice.sites[0].length_bytes)
        }).collect();
        parts.sort_unstable();
        prop_assert_eq!((parts[0].0, parts[hosts - 1].1), (0, blocks * BLOCK));
        prop_assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0), "{:?}", parts);
        // Threads with an increment of their length do not meet.
        let asked = job(pattern(), 1).with(|job| {
            job.threads = threads;
            job.length = Some(Extent::Bytes(step * BLOCK));
            job.offset_increment = Extent::Bytes(step * BLOCK);
            job.limits = passes;
        });
        let planned = plan(asked, &[blocks * BLOCK], &[], seed);
        let job = &planned.phases[0].jobs[0];
        let mut all: Vec<u64> = (0..threads as usize)
            .flat_map(|thread| operations(job, thread, usize::MAX))
            .map(|op| op.offset_bytes / BLOCK)
            .collect();
        all.sort_unstable();
        prop_assert!(all.iter().copied().eq(0..step * u64::from(threads)), "{:?}", all);
        // A target a thread.
        let sizes = vec![blocks * BLOCK; threads as usize];
        let asked = self::job(pattern(), sizes.len()).with(|job| {
            job.threads = threads;
            job.sharing = TargetSharing::PerThread;
            job.limits = passes;
        });
        let planned = plan(asked, &sizes, &[], seed);
        let mut used: Vec<u32> = planned.phases[0].jobs[0].slices.iter().map(|slice| slice.sites[0].target).collect();
        used.sort_unstable();
        prop_assert!(used.iter().copied().eq(0..threads), "{:?}", used);
    }

    #[test]
    fn the_rates_of_threads_add_up_and_arrivals_keep_to_them(
        iops in 10.0..1e6_f64,
        threads in 1..9_u32,
        hosts in 1..4_usize,
        arrival in select(vec![Arrival::Deterministic, Arrival::Poisson, Arrival::Uniform]),
        sizes in sizes(),
        seed: u64,
    ) {
        let of_bytes = sizes.mean_bytes() * iops;
        let pattern = AccessPattern { read_sizes: sizes, ..AccessPattern::new(Mix::READ, 4096, Placement::random_map()) };
        let each = OperationRates { read: Some(iops), write: None, trim: None };
        for rate in [Rate::Iops(iops), Rate::BytesPerS(of_bytes), Rate::Each(each)] {
            let asked = job(pattern.clone(), 1).with(|job| {
                (job.threads, job.rate, job.arrival) = (threads, rate, arrival);
                job.limits = Limits { time: Some(Nanos::from_secs(10)), ..Limits::default() };
            });
            let planned = plan(asked, &[1 << 30], &["a", "b", "c"][..hosts], seed);
            let job = &planned.phases[0].jobs[0];
            prop_assert_eq!(job.slices.len(), threads as usize * hosts);
            let sum: f64 = job.slices.iter().filter_map(|slice| job.slice_iops(slice)).sum();
            prop_assert!((sum / iops - 1.0).abs() < 1e-9, "{} of {}", sum, iops);
            let is_each = matches!(rate, Rate::Each(_));
            let is_so = |slice: &ThreadSlice| slice.rate.is_some_and(|rate| matches!(rate, SliceRate::Each(_)) == is_each);
            prop_assert!(job.slices.iter().all(is_so), "{:?}", job.slices);
        }
        const NUMBER: usize = 4000;
        let mut times = vec![0; NUMBER];
        ArrivalSource::new(arrival, iops, seed).fill(&mut times);
        prop_assert!(times.is_sorted());
        let gaps = (NUMBER - 1) as f64;
        let seconds = (times[NUMBER - 1] - times[0]) as f64 / 1e9;
        // The standard deviation of a gap, as a share of its mean.
        let spread = match arrival {
            Arrival::Deterministic => 0.0,
            Arrival::Poisson => 1.0,
            Arrival::Uniform => 1.0 / 3.0_f64.sqrt(),
        };
        let (expected, bound) = (gaps / iops, DEVIATIONS * spread * gaps.sqrt() / iops + 1e-8);
        prop_assert!((seconds - expected).abs() <= bound, "{} of {}", seconds, expected);
    }
}
