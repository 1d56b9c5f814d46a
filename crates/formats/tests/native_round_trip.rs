//! What the writer writes, the parser reads as exactly the same workload.

use assay_formats::native::{parse, write};
use assay_formats::{Diagnostic, Severity};
use assay_workload::content::{Acknowledged, Content, DataJournal, PatternBlocks, Payload, Refresh};
use assay_workload::host::{Host, HostRanges, login_fault};
use assay_workload::job::*;
use assay_workload::pattern::*;
use assay_workload::steps::{FindRate, LatencyLimit, Until, UntilSteady};
use assay_workload::target::{Extent, Target, TargetKind};
use assay_workload::tree::{FileSelection, FileState};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{FileOperation, SweepPoint};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        select(vec![512_u64, 4096, 1 << 20, 3 << 30]),
        1..u64::MAX,
        (0..63_u32).prop_map(|bit| 1 << bit)
    ]
}

fn block() -> impl Strategy<Value = u64> {
    prop_oneof![select(vec![512_u64, 4096, 65_536, 1 << 20]), 1..0x7fff_ffff_u64]
}

fn time() -> impl Strategy<Value = Nanos> {
    prop_oneof![(1..100_000_u64).prop_map(Nanos::from_secs), (1..u64::MAX).prop_map(Nanos)]
}

/// Finite and above 0, over many orders of magnitude.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![(1..1000_u32).prop_map(f64::from), 1e-9..1e18_f64, 0.001..10.0_f64]
}

fn percent() -> impl Strategy<Value = f64> {
    prop_oneof![(0..=100_u32).prop_map(f64::from), 0.0..=100.0_f64]
}

fn extent() -> impl Strategy<Value = Extent> {
    prop_oneof![size().prop_map(Extent::Bytes), (0.001..=100.0_f64).prop_map(Extent::Percent)]
}

fn weights(sizes: BoxedStrategy<u64>) -> impl Strategy<Value = Vec<(u64, f64)>> {
    prop::collection::vec((sizes, positive()), 1..5)
}

fn sizes() -> impl Strategy<Value = BlockSizes> {
    prop_oneof![
        3 => block().prop_map(BlockSizes::Fixed),
        1 => weights(block().boxed()).prop_map(BlockSizes::Weighted),
        1 => (block(), block(), of(block())).prop_map(|(one, other, step)| {
            let (min_bytes, max_bytes) = (one.min(other), one.max(other));
            BlockSizes::Range { min_bytes, max_bytes, step_bytes: step.unwrap_or(min_bytes) }
        }),
    ]
}

fn mix() -> impl Strategy<Value = Mix> {
    prop_oneof![
        select(vec![Mix::READ, Mix::WRITE, Mix::TRIM]),
        percent().prop_map(Mix::read_write),
        (percent(), percent()).prop_map(|(read, share)| {
            let write_percent = (100.0 - read) * share / 100.0;
            // A share is not negative, whatever subtraction makes of it.
            let trim_percent = (100.0 - read - write_percent).max(0.0);
            Mix { read_percent: read, write_percent, trim_percent }
        }),
    ]
}

fn distribution() -> impl Strategy<Value = Distribution> {
    let zone = (0.001..100.0_f64, extent())
        .prop_map(|(access_percent, size)| Zone { access_percent, size: size.into() });
    prop_oneof![
        Just(Distribution::Uniform),
        positive().prop_map(|theta| Distribution::Zipf { theta }),
        (0.001..=1.0_f64).prop_map(|h| Distribution::Pareto { h }),
        (positive(), any::<bool>())
            .prop_map(|(stddev_percent, scattered)| Distribution::Normal { stddev_percent, scattered }),
        (prop::collection::vec(0_u64..1 << 40, 1..5), any::<bool>())
            .prop_map(|(blocks, advances)| Distribution::Sequence { blocks, advances }),
        prop::collection::vec(zone, 1..5).prop_map(Distribution::Zoned),
        (percent(), percent(), size()).prop_map(|(read_percent, write_percent, bytes)| {
            Distribution::HitArea { read_percent, write_percent, bytes }
        }),
        positive().prop_map(|midpoint| Distribution::Exponential { midpoint }),
        (size(), size(), any::<bool>()).prop_map(|(low_bytes, high_bytes, corrected)| {
            Distribution::Hotband { low_bytes, high_bytes, corrected }
        }),
        (percent(), of(size())).prop_map(|(miss_percent, hit_bytes)| {
            Distribution::ReadMiss { miss_percent, hit_bytes: hit_bytes.unwrap_or(u64::MAX) }
        }),
    ]
}

fn random() -> impl Strategy<Value = Random> {
    (distribution(), any::<bool>())
        .prop_map(|(distribution, once_per_pass)| Random { distribution, once_per_pass })
}

fn sequential() -> impl Strategy<Value = Sequential> {
    let walk = (of((size(), size())), any::<bool>(), any::<bool>(), any::<bool>());
    let walk = walk.prop_map(|(skip, random_start, cursor_per_operation, wrap)| {
        let (one, other) = skip.unwrap_or((0, 0));
        Sequential {
            skip_min_bytes: one.min(other),
            skip_max_bytes: one.max(other),
            random_start,
            cursor_per_operation,
            wrap,
        }
    });
    prop_oneof![Just(Sequential::default()), walk]
}

fn pattern() -> impl Strategy<Value = AccessPattern> {
    let placement = prop_oneof![
        sequential().prop_map(Placement::Sequential),
        random().prop_map(Placement::Random),
        (percent(), random(), sequential()).prop_map(|(random_percent, random, sequential)| {
            match random.distribution {
                // The two exclude each other.
                Distribution::ReadMiss { .. } => Placement::Random(random),
                _ => Placement::Mixed { random_percent, random, sequential },
            }
        }),
    ];
    let all_sizes = prop_oneof![sizes().prop_map(|s| [s.clone(), s.clone(), s]), [sizes(), sizes(), sizes()]];
    (mix(), all_sizes, placement, of(block()), any::<bool>()).prop_map(
        |(mix, [read_sizes, write_sizes, trim_sizes], placement, align_bytes, repeat_passes)| AccessPattern {
            mix,
            read_sizes,
            write_sizes,
            trim_sizes,
            placement,
            align_bytes,
            repeat_passes,
        },
    )
}

fn content() -> impl Strategy<Value = Content> {
    let payload = prop_oneof![
        Just(Payload::Random),
        Just(Payload::Zero),
        prop::collection::vec(any::<u8>(), 1..20).prop_map(Payload::Pattern),
        "\\PC{1,20}".prop_map(|text| Payload::Pattern(text.into_bytes())),
    ];
    let refresh = select(vec![Refresh::EveryWrite, Refresh::Stamp, Refresh::Never]);
    let checked = (any::<bool>(), any::<bool>(), any::<bool>(), of(1..u64::MAX));
    let acknowledged = select(vec![Acknowledged::Flushed, Acknowledged::Completed]);
    let journal = (acknowledged, of("/[a-z ]{0,9}"))
        .prop_map(|(acknowledged, directory)| DataJournal { acknowledged, directory });
    let blocks = (any::<bool>(), prop::collection::vec(any::<u32>(), 0..4), any::<u64>())
        .prop_map(|(headers, offset_at, restart_bytes)| PatternBlocks { headers, offset_at, restart_bytes });
    let ratios = (1.0..50.0_f64, 1.0..50.0_f64);
    (payload, refresh, ratios, block(), checked, of(journal), of(blocks), of(percent())).prop_map(
        |(
            payload,
            refresh,
            (compression_ratio, dedup_ratio),
            dedup_unit_bytes,
            checked,
            journal,
            blocks,
            beside,
        )| Content {
            payload,
            refresh,
            compression_ratio,
            dedup_ratio,
            dedup_unit_bytes,
            verify: checked.0,
            reread: checked.1,
            written: checked.2,
            pattern_blocks: blocks,
            written_beside_reads_percent: beside,
            data_errors_max: checked.3,
            journal,
        },
    )
}

fn flush() -> impl Strategy<Value = FlushPolicy> {
    let call = select(vec![FlushCall::Fsync, FlushCall::Fdatasync]);
    let order = select(vec![FlushOrder::AfterWrite, FlushOrder::Queued, FlushOrder::Barrier]);
    let periodic = (call, 1..u32::MAX, order).prop_map(|(call, every_writes, order)| PeriodicFlush {
        call,
        every_writes,
        order,
    });
    let open = select(vec![OpenSync::None, OpenSync::Dsync, OpenSync::Sync]);
    (open, of(periodic), any::<bool>()).prop_map(|(open, periodic, at_end)| FlushPolicy {
        open,
        periodic,
        at_end,
    })
}

fn engine_options() -> impl Strategy<Value = EngineOptions> {
    (any::<[bool; 4]>(), any::<[u32; 2]>()).prop_map(|(flags, batches)| EngineOptions {
        iopoll: flags[0],
        sqpoll: flags[1],
        passthrough: flags[2],
        unregistered: flags[3],
        submit_batch_max: batches[0],
        reap_batch_min: batches[1],
    })
}

fn tree() -> impl Strategy<Value = TreeWorkload> {
    let names =
        vec!["mkdir", "create", "open", "close", "read", "write", "getattr", "delete", "copy", "move"];
    let operations = prop::collection::vec((select(names).prop_map(str::to_owned), positive()), 1..6);
    let counts = (1..u32::MAX, 1..u32::MAX, any::<u32>(), of(1..u64::MAX));
    let selections = vec![
        FileSelection::InOrder,
        FileSelection::InOrderFromRandom,
        FileSelection::Once,
        FileSelection::Random,
        FileSelection::Skewed { midpoint: 4.5 },
    ];
    let states = vec![FileState::Any, FileState::Full, FileState::Empty, FileState::NotFull];
    let choice = (select(selections), select(states), of(positive()), of("\\PC{1,8}"));
    let bounds = (of(size()), of(size()));
    let shape = (counts, weights(size().boxed()), operations, any::<[bool; 7]>());
    (shape, choice, bounds).prop_map(|((counts, sizes, operations, flags), choice, bounds)| {
        let (width, depth, files, stop_after_ios) = counts;
        let (file_selection, file_state, stop_after_percent, copy_to) = choice;
        TreeWorkload {
            width,
            depth,
            files,
            files_in_all_directories: flags[0],
            sizes,
            sizes_around_mean: flags[1],
            total_bytes: bounds.0,
            working_set_bytes: bounds.1,
            shared: flags[2],
            operations,
            file_selection,
            file_state,
            random_io: flags[3],
            random_start: flags[4],
            files_shared: flags[5],
            delete_before_write: flags[6],
            stop_after_ios,
            stop_after_percent,
            copy_to,
        }
    })
}

/// Each field is the default half of the time: what is left out must come back too.
fn sometimes<T: Clone + std::fmt::Debug + 'static>(
    default: T,
    other: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![Just(default), other].boxed()
}

/// Where on the targets.
fn placed(targets: Vec<String>) -> BoxedStrategy<Job> {
    let names = prop::sample::subsequence(targets.clone(), 1..=targets.len());
    let selections = vec![TargetSelection::RoundRobin, TargetSelection::Random, TargetSelection::Sequential];
    let shared = (select(vec![TargetSharing::Shared, TargetSharing::PerThread]), select(selections));
    let start = sometimes(Extent::Bytes(0), extent());
    let range = (start.clone(), start, of(extent()));
    let tree = prop::option::weighted(0.2, tree());
    let job = ("\\PC{0,12}", of("\\PC{1,8}"), names, pattern(), shared, range, tree);
    let job = job.prop_map(|(name, group, targets, pattern, shared, range, tree)| {
        Job::new(&name, &[], pattern).with(|job| {
            job.group = group;
            job.targets = targets;
            job.sharing = shared.0;
            job.selection = shared.1;
            job.offset = range.0;
            job.offset_increment = range.1;
            job.length = range.2;
            job.tree = tree;
        })
    });
    job.boxed()
}

/// How much at once, how fast and how long.
fn paced(job: BoxedStrategy<Job>) -> BoxedStrategy<Job> {
    let rate = prop_oneof![
        positive().prop_map(Rate::Iops),
        positive().prop_map(Rate::BytesPerS),
        positive().prop_map(Rate::PercentOfMax),
        (of(positive()), of(positive()), positive()).prop_map(|(read, write, trim)| {
            let trim = (read.is_none() && write.is_none()).then_some(trim);
            Rate::Each(OperationRates { read, write, trim })
        }),
    ];
    let arrivals = select(vec![Arrival::Deterministic, Arrival::Poisson, Arrival::Uniform]);
    let think = (time(), 1..u32::MAX).prop_map(|(time, every_ios)| ThinkTime { time, every_ios });
    let figures = vec![SteadyFigure::Iops, SteadyFigure::Bandwidth, SteadyFigure::Latency];
    let steady = (select(figures), any::<bool>(), percent(), time(), sometimes(Nanos(0), time()));
    let steady = steady.prop_map(|(figure, slope, percent_max, window, skip)| SteadyLimit {
        figure,
        slope,
        percent_max,
        window,
        skip,
    });
    let with = select(vec![EndsWith::First, EndsWith::Others]);
    let limits = (of(time()), of(size()), of(1..u64::MAX), of(1..u32::MAX), of(with), of(steady)).prop_map(
        |(time, bytes, ios, passes, ends_with, steady)| Limits {
            time,
            bytes,
            ios,
            passes,
            ends_with,
            steady,
        },
    );
    let depth = (sometimes(1, 1..16_384_u32), sometimes(1, 1..65_536_u32));
    let pace = (sometimes(Rate::Unlimited, rate), arrivals, of(think));
    let times = (sometimes(Nanos(0), time()), sometimes(Nanos(0), time()));
    let job = (job, depth, pace, limits, times).prop_map(|(job, depth, pace, limits, times)| {
        job.with(|job| {
            job.threads = depth.0;
            job.outstanding_per_thread = depth.1;
            job.rate = pace.0;
            job.arrival = pace.1;
            job.think_time = pace.2;
            job.limits = limits;
            job.ramp = times.0;
            job.start_delay = times.1;
        })
    });
    job.boxed()
}

fn job(targets: Vec<String>) -> BoxedStrategy<Job> {
    let data = (sometimes(Content::default(), content()), sometimes(FlushPolicy::default(), flush()));
    let layouts = vec![
        FileLayout::AsNeeded,
        FileLayout::Length,
        FileLayout::Allocated,
        FileLayout::Reserved,
        FileLayout::Data,
    ];
    let cachings = vec![Caching::Auto, Caching::Direct, Caching::Buffered];
    let caching = (select(cachings), any::<[bool; 3]>(), select(layouts));
    let options = sometimes(EngineOptions::default(), engine_options());
    let engine = (select(EngineKind::ALL.to_vec()), options, sometimes(0, any::<u64>()));
    let calls = of(select(FileOperation::ALL.to_vec()));
    let seed = prop_oneof![any::<u64>().prop_map(JobSeed::Given), Just(JobSeed::Fresh)];
    let own = (of(seed), of(1..u32::MAX), calls);
    let job = (paced(placed(targets)), data, caching, engine, own);
    let job = job.prop_map(|(job, data, caching, engine, own)| {
        job.with(|job| {
            job.content = data.0;
            job.flush = data.1;
            job.caching = caching.0;
            job.invalidate = caching.1[0];
            job.invalidate_each_pass = caching.1[1];
            job.access_hint = caching.1[2];
            job.layout = caching.2;
            job.empty_each_pass = caching.1[0] && caching.1[1];
            job.file_operation = engine.0.is_native().then_some(own.2).flatten();
            (job.seed, job.open_targets) = (own.0, own.1);
            job.engine = engine.0;
            job.engine_options = engine.1;
            job.errors_tolerated = engine.2;
        })
    });
    job.boxed()
}

fn is_share(job: &Job) -> bool {
    matches!(job.rate, Rate::PercentOfMax(_))
}

fn until() -> impl Strategy<Value = Until> {
    let steady = (2..=1000_u32, percent(), percent(), 0..9000_u32);
    let steady =
        steady.prop_map(|(window_rounds, range_percent_max, excursion_percent_max, more)| UntilSteady {
            window_rounds,
            range_percent_max,
            excursion_percent_max,
            rounds_max: window_rounds + more,
        });
    let goal = (select(vec!["mean", "max", "p50", "p99.9"]), 1..100_000_000_u64, any::<bool>());
    prop_oneof![
        sometimes(UntilSteady::default(), steady).prop_map(Until::Steady),
        goal.prop_map(|(figure, ns, limits_together)| {
            let goal: FindRate = format!("{figure}<{ns}ns").parse().expect("a goal");
            Until::Rate(FindRate { limits_together, ..goal })
        }),
        (1..u64::MAX).prop_map(|limit_ns| Until::Below(LatencyLimit { limit_ns })),
    ]
}

/// Hosts, and for each job names among them and how they share the ranges.
fn hosts(targets: Vec<String>) -> impl Strategy<Value = (Vec<Host>, Vec<(Vec<String>, bool)>)> {
    prop::collection::btree_set("\\PC{1,10}", 0..5).prop_flat_map(move |names| {
        let names: Vec<String> = names.into_iter().collect();
        let host = |name: String| {
            let renamed = prop::sample::subsequence(targets.clone(), 0..=targets.len());
            let renamed = (renamed, "\\PC{1,12}").prop_map(|(renamed, path)| {
                renamed.into_iter().map(|target| (target, path.clone())).collect()
            });
            let system = of("[0-9a-zäß][0-9a-z.:_-]{0,11}");
            let user = of("[0-9a-zäß][0-9a-z.:_-]{0,5}");
            let rest = (system, user, sometimes(1, 1..4096_u32), renamed);
            rest.prop_map(move |(system, user, instances, paths)| Host {
                name: name.clone(),
                // A name that is no address needs one.
                system: system.or_else(|| login_fault(&name).map(|_| "db1".to_owned())),
                user,
                instances,
                paths,
            })
        };
        let hosts: Vec<_> = names.iter().cloned().map(host).collect();
        let of_jobs = (prop::sample::subsequence(names.clone(), 0..=names.len()), any::<bool>());
        (hosts, prop::collection::vec(of_jobs, 12))
    })
}

fn phase(targets: Vec<String>) -> impl Strategy<Value = Phase> {
    let kinds = vec![
        PhaseKind::Purge,
        PhaseKind::Precondition,
        PhaseKind::Ramp,
        PhaseKind::Measure,
        PhaseKind::Verify,
        PhaseKind::Cleanup,
    ];
    let jobs = prop::collection::vec(job(targets), 1..4);
    let rest = (
        select(kinds),
        any::<bool>(),
        sometimes(Nanos(0), time()),
        sometimes(String::new(), "[a-z]=\\PC{1,5}"),
        any::<bool>(),
        of(until()),
    );
    ("\\PC{0,12}", jobs, rest).prop_map(
        |(name, jobs, (kind, drain_after, pause_after, point, despite_failure, until))| {
            Phase {
                name,
                kind,
                drain_after,
                pause_after,
                // A curve ends above a latency only in phases that are shares of it.
                until: until.filter(|until| !matches!(until, Until::Below(_)) || jobs.iter().any(is_share)),
                jobs,
                point: SweepPoint::new(point),
                despite_failure,
            }
        },
    )
}

fn target(name: String) -> impl Strategy<Value = Target> {
    let kinds = vec![TargetKind::File, TargetKind::BlockDevice, TargetKind::Directory, TargetKind::Null];
    (
        any::<String>().prop_filter("a path is not empty", |path| !path.is_empty()),
        of(select(kinds)),
        of(any::<u64>().prop_map(Bytes)),
    )
        .prop_map(move |(path, kind, size)| Target { name: name.clone(), path, kind, size })
}

fn workload() -> impl Strategy<Value = Workload> {
    prop::collection::btree_set("\\PC{1,10}", 1..7).prop_flat_map(|names| {
        let names: Vec<String> = names.into_iter().collect();
        let targets: Vec<_> = names.iter().cloned().map(target).collect();
        let hosts = hosts(names.clone());
        let phases = prop::collection::vec(phase(names), 1..4);
        let only = prop::option::of(Just("measure"));
        (any::<String>(), of(any::<u64>()), hosts, targets, phases, only).prop_map(
            |(name, seed, (hosts, of_jobs), targets, mut phases, alone)| {
                let jobs = phases.iter_mut().flat_map(|phase: &mut Phase| &mut phase.jobs);
                for (job, (names, divided)) in jobs.zip(of_jobs) {
                    job.hosts = names;
                    job.host_ranges = if divided { HostRanges::Divided } else { HostRanges::Whole };
                }
                if let Some(alone) = alone {
                    phases.truncate(1);
                    phases[0] = Phase::measure(alone, phases[0].jobs.clone());
                }
                Workload { name, seed, hosts, targets, phases }
            },
        )
    })
}

fn errors(said: &[Diagnostic]) -> Vec<String> {
    said.iter().filter(|d| d.severity != Severity::Note).map(ToString::to_string).collect()
}

/// Runs `test` with room for the nested strategies: unoptimised, their values fill the stack a test is given.
fn with_large_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test).expect("a thread starts");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_written_workload_reads_back_as_the_same() {
    with_large_stack(|| {
        let default = ProptestConfig::default();
        // PROPTEST_CASES asks for more.
        let config = ProptestConfig { cases: default.cases.max(1000), failure_persistence: None, ..default };
        proptest!(config, |(workload in workload())| {
            let text = write(&workload);
            let (read, said) = parse("round-trip.toml", &text);
            prop_assert!(errors(&said).is_empty(), "{:#?}\n{}", errors(&said), text);
            let read = read.expect("no errors");
            prop_assert_eq!(&read, &workload, "{}", text);
            prop_assert_eq!(write(&read), text);
        });
    });
}
