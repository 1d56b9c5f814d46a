use assay_workload::content::{Content, Payload, Refresh};
use assay_workload::job::*;
use assay_workload::pattern::*;
use assay_workload::target::{Extent, Target};
use assay_workload::units::{Bytes, Nanos};

use crate::{lower, parse, write};
use assay_formats::Severity;
use assay_formats::loader::MemoryLoader;

fn job() -> Job {
    let pattern = AccessPattern::new(Mix::read_write(70.0), 8192, Placement::random_map());
    Job::new("j", &["f"], pattern).with(|job| {
        job.engine = EngineKind::Libaio;
        job.caching = Caching::Direct;
        job.outstanding_per_thread = 16;
        job.offset_increment = Extent::Bytes(0);
        job.limits = Limits { time: Some(Nanos::from_secs(30)), ..Limits::default() };
    })
}

fn workload(jobs: Vec<Job>) -> Workload {
    let target = |name: &str| Target {
        name: name.to_owned(),
        path: format!("/d/{name}"),
        kind: None,
        size: Some(Bytes(64 << 20)),
    };
    Workload {
        name: "w".into(),
        seed: None,
        hosts: Vec::new(),
        targets: vec![target("f"), target("g:h")],
        phases: vec![Phase::measure("p", jobs)],
    }
}

fn lost(workload: &Workload) -> Vec<&'static str> {
    write(workload).1.into_iter().filter(|d| d.severity == Severity::Loss).map(|d| d.id).collect()
}

/// The workload that the written text means.
fn again(asked: &Workload) -> Workload {
    let (text, _) = write(asked);
    let (file, said) = parse("w", &text, &MemoryLoader::default());
    let file = file.unwrap_or_else(|| panic!("{text}\n{said:?}"));
    let (found, said) = lower("w", &file);
    let losses: Vec<_> = said.iter().filter(|d| d.severity != Severity::Note).collect();
    assert!(losses.is_empty(), "{text}\n{losses:?}");
    found.unwrap()
}

fn round_trip(job: Job) {
    let asked = workload(vec![job]);
    assert_eq!(lost(&asked), Vec::<&str>::new());
    let mut found = again(&asked).phases[0].jobs[0].clone();
    let mut expected = asked.phases[0].jobs[0].clone();
    // Targets are named by path, the length is written out, and clones report as one.
    let size = Extent::Bytes(64 << 20).of(0) - expected.offset.of(0);
    expected.length = expected.length.or(Some(Extent::Bytes(size)));
    expected.targets = expected.targets.iter().map(|name| format!("/d/{name}")).collect();
    found.group = expected.group.clone();
    // A direction that is not used has no size of its own.
    for pattern in [&mut found.pattern, &mut expected.pattern] {
        pattern.trim_sizes = BlockSizes::Fixed(1);
    }
    assert_eq!(found, expected);
}

#[test]
fn the_text_is_a_plain_job_file() {
    let (text, said) = write(&workload(vec![job()]));
    assert_eq!(
        text,
        "; w\n\n[j]\nnew_group\nioengine=libaio\niodepth=16\ndirect=1\nrw=randrw\nrwmixread=70\nbs=8192\nrandrepeat=0\nruntime=30\ntime_based\n\
         numjobs=1\nsize=67108864\nfilename=/d/f\n"
    );
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn what_fio_can_say_comes_back() {
    round_trip(job());
    let each = |read, write| Rate::Each(OperationRates { read, write, trim: None });
    let arrival = Arrival::Poisson;
    round_trip(Job { threads: 4, rate: each(Some(2800.0), Some(1200.0)), arrival, ..job() });
    round_trip(Job { rate: each(None, Some(50.0)), ..job() });
    // Eighths of blocks of 8 KiB, which are whole bytes.
    round_trip(Job { rate: each(Some(0.125), Some(10.0)), ..job() });
    round_trip(Job {
        offset: Extent::Bytes(1 << 20),
        offset_increment: Extent::Bytes(1 << 20),
        threads: 3,
        length: Some(Extent::Bytes(1 << 20)),
        ..job()
    });
    round_trip(job().with(|job| {
        job.targets = vec!["f".into(), "g:h".into()];
        job.selection = TargetSelection::Random;
    }));
    round_trip(job().with(|job| {
        job.limits = Limits { passes: Some(3), ..Limits::default() };
        job.ramp = Nanos::from_secs(5);
    }));
    round_trip(Job {
        limits: Limits { bytes: Some(1 << 30), time: Some(Nanos(1_500_000_000)), ..Limits::default() },
        ..job()
    });
    round_trip(job().with(|job| {
        job.think_time = Some(ThinkTime { time: Nanos(50_000), every_ios: 4 });
        job.start_delay = Nanos::from_secs(2);
    }));
    round_trip(job().with(|job| {
        job.errors_tolerated = u64::MAX;
        job.invalidate = false;
        job.caching = Caching::Buffered;
        job.engine = EngineKind::Psync;
        job.outstanding_per_thread = 1;
    }));
    let flush = FlushPolicy {
        open: OpenSync::Dsync,
        periodic: Some(PeriodicFlush {
            call: FlushCall::Fdatasync,
            every_writes: 8,
            order: FlushOrder::Queued,
        }),
        at_end: true,
    };
    round_trip(job().with(|job| job.flush = flush));
    for content in [
        Content { payload: Payload::Random, refresh: Refresh::EveryWrite, ..Content::default() },
        Content { payload: Payload::Random, refresh: Refresh::Never, ..Content::default() },
        Content { payload: Payload::Zero, refresh: Refresh::Never, ..Content::default() },
        Content { payload: Payload::Pattern(vec![1, 2, 255]), refresh: Refresh::Never, ..Content::default() },
        Content {
            refresh: Refresh::EveryWrite,
            compression_ratio: 2.0,
            dedup_ratio: 4.0,
            dedup_unit_bytes: 8192,
            ..Content::default()
        },
    ] {
        round_trip(job().with(|job| job.content = content));
    }
}

#[test]
fn placements_and_sizes_come_back() {
    let with = |placement: Placement| {
        let mut job = job();
        job.pattern.placement = placement;
        job
    };
    let random = |distribution| Placement::Random(Random { distribution, once_per_pass: false });
    round_trip(with(Placement::sequential()));
    round_trip(with(Placement::Sequential(Sequential {
        skip_min_bytes: 4096,
        skip_max_bytes: 4096,
        ..Sequential::default()
    })));
    round_trip(with(random(Distribution::Uniform)));
    round_trip(with(random(Distribution::Zipf { theta: 1.2 })));
    round_trip(with(random(Distribution::Normal { stddev_percent: 12.5, scattered: true })));
    round_trip(with(random(Distribution::Sequence { blocks: vec![2, 0, 1], advances: true })));
    let zone = |access_percent, size| Zone { access_percent, size };
    round_trip(with(random(Distribution::Zoned(vec![
        zone(60.0, ZoneSize::RangePercent(10.0)),
        zone(40.0, ZoneSize::RangePercent(90.0)),
    ]))));
    round_trip(with(random(Distribution::Zoned(vec![
        zone(60.0, ZoneSize::Bytes(1 << 20)),
        zone(40.0, ZoneSize::Bytes(1 << 21)),
    ]))));
    let mut split = job();
    split.pattern.read_sizes = BlockSizes::Weighted(vec![(4096, 30.0), (8192, 70.0)]);
    split.pattern.write_sizes = BlockSizes::Fixed(16384);
    round_trip(split);
    let mut range = job();
    let sizes = BlockSizes::Range { min_bytes: 4096, max_bytes: 16384, step_bytes: 4096 };
    (range.pattern.read_sizes, range.pattern.write_sizes) = (sizes.clone(), sizes);
    round_trip(range);
}

#[test]
fn phases_are_stages_and_groups_stay_apart() {
    let mut asked = workload(vec![job(), job().with(|job| job.name = "k".into())]);
    asked.phases.push(Phase::measure(
        "q",
        vec![job().with(|job| {
            job.name = "l".into();
            job.threads = 2;
        })],
    ));
    let (text, _) = write(&asked);
    let file = parse("w", &text, &MemoryLoader::default()).0.unwrap();
    let seen: Vec<_> = file.expand().iter().map(|j| (j.name.clone(), j.stage, j.group)).collect();
    let expected = [("j", 0, 0), ("k", 0, 1), ("l", 1, 2), ("l", 1, 2)];
    assert_eq!(seen, expected.map(|(name, stage, group)| (name.to_owned(), stage, group)));
}

#[test]
fn rates_of_varying_sizes_are_in_what_fio_keeps() {
    let sizes = BlockSizes::Weighted(vec![(4096, 1.0), (8192, 1.0)]);
    let rated = |rate: Rate, arrival: Arrival| {
        let mut rated = Job { rate, arrival, ..job() };
        rated.pattern = AccessPattern::new(Mix::READ, 4096, Placement::sequential());
        rated.pattern.read_sizes = sizes.clone();
        let found = again(&workload(vec![rated])).phases.remove(0).jobs.remove(0);
        (found.rate, found.arrival)
    };
    // 6 KiB each, whichever way the rate is said.
    assert_eq!(rated(Rate::Iops(100.0), Arrival::Deterministic).0, Rate::BytesPerS(614_400.0));
    assert_eq!(rated(Rate::BytesPerS(614_400.0), Arrival::Deterministic).0, Rate::BytesPerS(614_400.0));
    assert_eq!(rated(Rate::Iops(100.0), Arrival::Poisson), (Rate::Iops(100.0), Arrival::Poisson));
    assert_eq!(rated(Rate::BytesPerS(614_400.0), Arrival::Poisson).0, Rate::Iops(100.0));
}

/// fio has no rate of both directions together: their shares are written.
#[test]
fn a_rate_of_a_mix_is_written_for_each_direction() {
    let found = again(&workload(vec![Job { threads: 4, rate: Rate::Iops(4000.0), ..job() }]));
    let rates = OperationRates { read: Some(2800.0), write: Some(1200.0), trim: None };
    assert_eq!(found.phases[0].jobs[0].rate, Rate::Each(rates));
}

#[test]
fn threads_with_files_of_their_own_are_sections() {
    let own = Job {
        targets: vec!["f".into(), "g:h".into()],
        sharing: TargetSharing::PerThread,
        threads: 2,
        ..job()
    };
    let found = again(&workload(vec![own]));
    let targets: Vec<_> = found.phases[0].jobs.iter().map(|job| job.targets.clone()).collect();
    assert_eq!(targets, [["/d/f"], ["/d/g:h"]]);
    assert_eq!(found.phases[0].jobs[0].group, found.phases[0].jobs[1].group);
}

#[test]
fn what_fio_cannot_say_is_lost_by_name() {
    let mut trims = job();
    trims.pattern.mix = Mix { read_percent: 50.0, write_percent: 40.0, trim_percent: 10.0 };
    let mut hotband = job();
    hotband.pattern.placement = Placement::Random(Random {
        distribution: Distribution::Exponential { midpoint: 2.0 },
        once_per_pass: false,
    });
    let mut walk = job();
    walk.pattern.placement = Placement::Sequential(Sequential {
        random_start: true,
        cursor_per_operation: false,
        ..Sequential::default()
    });
    for (job, ids) in [
        (trims, vec!["fio-trim-in-mix", "fio-whole-percent"]),
        (hotband, vec!["fio-distribution"]),
        (walk, vec!["fio-random-start", "fio-shared-cursor"]),
        (Job { rate: Rate::PercentOfMax(50.0), ..job() }, vec!["fio-symbolic-rate"]),
        (Job { rate: Rate::Iops(1000.0), arrival: Arrival::Uniform, ..job() }, vec!["fio-uniform-arrivals"]),
        (Job { rate: Rate::Iops(10.0), threads: 3, ..job() }, vec!["fio-whole-rate"]),
    ] {
        assert_eq!(lost(&workload(vec![job])), ids);
    }
    let hosts = vec![assay_workload::host::Host::new("h1")];
    assert_eq!(lost(&Workload { hosts, ..workload(vec![job()]) }), ["fio-hosts"]);
    let mut paused = workload(vec![job()]);
    paused.phases[0].pause_after = Nanos::from_secs(1);
    paused.phases[0].drain_after = true;
    paused.phases[0].kind = PhaseKind::Precondition;
    assert_eq!(lost(&paused), ["fio-phase-kind", "fio-no-drain", "fio-no-pause"]);
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let errors = |workload: &Workload| -> Vec<&'static str> {
        write(workload).1.into_iter().filter(|d| d.severity == Severity::Error).map(|d| d.id).collect()
    };
    let mut path = workload(vec![job()]);
    path.targets[0].path = "/a#b".into();
    assert_eq!(errors(&path), ["fio-path"]);
    assert_eq!(errors(&workload(vec![Job { threads: 5000, ..job() }])), ["fio-too-many-jobs"]);
    assert_eq!(errors(&workload(vec![Job { targets: vec!["x".into()], ..job() }])), ["fio-no-target"]);
}

#[test]
fn names_survive_as_headers() {
    let asked = workload(vec![job().with(|job| job.name = "global; x".into())]);
    assert_eq!(again(&asked).phases[0].jobs[0].name, "job-global_ x");
}

#[test]
fn hit_areas_become_zones() {
    let mut hit = job();
    let distribution = Distribution::HitArea { read_percent: 80.0, write_percent: 20.0, bytes: 1 << 20 };
    hit.pattern.placement = Placement::Random(Random { distribution, once_per_pass: false });
    let (text, _) = write(&workload(vec![hit]));
    assert!(
        text.contains("random_distribution=zoned_abs:80/1048576:20/66060288,20/1048576:80/66060288\n"),
        "{text}"
    );
}

#[test]
fn repeated_addresses_come_back() {
    let mut repeats = Job { limits: Limits { passes: Some(2), ..Limits::default() }, ..job() };
    repeats.pattern.repeat_passes = true;
    for (seed, job) in [(None, job()), (Some(5), job()), (Some(0x89), job()), (Some(0x89), repeats.clone())] {
        let asked = Workload { seed, ..workload(vec![job]) };
        let (found, repeats) = (again(&asked), |w: &Workload| w.phases[0].jobs[0].pattern.repeat_passes);
        assert_eq!((found.seed, repeats(&found)), (seed, repeats(&asked)));
    }
    // Within a time fio takes another order in each pass.
    repeats.limits = Limits { time: Some(Nanos::from_secs(1)), ..Limits::default() };
    let (text, said) = write(&Workload { seed: Some(0x89), ..workload(vec![repeats]) });
    assert!(
        said.iter().any(|said| said.id == "fio-repeats") && !text.contains("randseed"),
        "{text}\n{said:?}"
    );
}

#[test]
fn a_plan_is_written_as_it_was_resolved() {
    use assay_workload::resolve::{Inventory, TargetFacts, plan};
    use assay_workload::target::TargetKind;
    let open = Job { engine: EngineKind::Auto, caching: Caching::Auto, ..job() };
    let asked = workload(vec![Job { length: Some(Extent::Percent(12.5)), ..open }]);
    let facts = |name: &str| TargetFacts {
        path: format!("/abs/{name}"),
        kind: TargetKind::File,
        existing_bytes: 0,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: [("f".to_owned(), facts("f")), ("g:h".to_owned(), facts("g:h"))].into(),
        engines: vec![EngineKind::Libaio],
        ..Inventory::default()
    };
    let (text, said) = crate::write_plan(&plan(&asked, &inventory, 7).unwrap());
    assert!(said.is_empty(), "{said:?}");
    assert!(!text.contains("randrepeat"), "{text}");
    for line in ["randseed=7", "ioengine=libaio", "direct=0", "size=8388608", "filename=/abs/f"] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn walks_that_end_with_their_region_do_so_in_fio() {
    let walk = |skip: u64, limits: Limits| {
        let walk =
            Sequential { skip_min_bytes: skip, skip_max_bytes: skip, wrap: false, ..Sequential::default() };
        let pattern = AccessPattern::new(Mix::READ, 8192, Placement::Sequential(walk));
        workload(vec![job().with(|job| {
            job.pattern = pattern;
            job.limits = limits;
        })])
    };
    let time = Limits { time: Some(Nanos::from_secs(30)), ..Limits::default() };
    let (text, said) = write(&walk(0, time));
    assert!(text.contains("runtime=30\n") && !text.contains("time_based"), "{text}");
    assert!(said.is_empty(), "{said:?}");
    let (text, _) = write(&walk(0, Limits { passes: Some(2), ..Limits::default() }));
    assert!(!text.contains("loops"), "it ends with the first: {text}");
    // 64 MiB of 8 KiB every 24 KiB: the last begins 16 KiB before the end, where fio would go on.
    let (text, said) = write(&walk(16 << 10, time));
    assert!(text.contains("number_ios=2731\n") && !text.contains("time_based"), "{text}");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(lost(&walk(0, Limits { bytes: Some(1 << 30), ..Limits::default() })), ["fio-wraps"]);
    let mut unknown = walk(16 << 10, time);
    unknown.targets[0].size = None;
    assert_eq!(lost(&unknown), ["fio-wraps"]);
}

/// A job that writes, and what is said of its data.
fn written(change: fn(&mut Job)) -> Job {
    job().with(|job| {
        job.pattern.mix = Mix::WRITE;
        job.limits = Limits { passes: Some(1), ..Limits::default() };
        (job.content.verify, job.content.refresh) = (true, Refresh::EveryWrite);
        change(job);
    })
}

#[test]
fn options_that_check_data_come_back() {
    round_trip(written(|_| {}));
    round_trip(written(|job| job.content.reread = true));
    round_trip(written(|job| job.content.data_errors_max = Some(1)));
    round_trip(written(|job| job.content.data_errors_max = Some(u64::MAX)));
    round_trip(written(|job| (job.errors_tolerated, job.content.data_errors_max) = (u64::MAX, Some(1))));
    round_trip(written(|job| job.errors_tolerated = u64::MAX));
    assert_eq!(
        lost(&workload(vec![written(|job| job.content.data_errors_max = Some(5))])),
        ["fio-data-errors"]
    );
    let journaled = written(|job| job.content.journal = Some(Default::default()));
    assert_eq!(lost(&workload(vec![journaled])), ["fio-journal"]);
}

#[test]
fn a_phase_that_reads_back_is_part_of_the_jobs_before_it() {
    let text = "[a]\nioengine=libaio\niodepth=8\ndirect=1\nrw=randwrite\nbs=4k\nsize=1m\nfilename=/d/f\nverify=md5\n";
    let read = |text: &str| lower("w", &parse("w", text, &MemoryLoader::default()).0.unwrap()).0.unwrap();
    let asked = read(text);
    assert_eq!(asked.phases.len(), 2);
    let (written, said) = write(&asked);
    assert!(said.iter().all(|said| said.severity == Severity::Note), "{said:?}");
    assert!(written.contains("verify=crc32c\n") && written.contains("do_verify=1\n"), "{written}");
    assert_eq!(written.matches("\n[").count(), 1, "one job: {written}");
    let found = read(&written);
    let shape = |found: &Workload| {
        let of = |phase: &Phase| (phase.kind, phase.jobs[0].pattern.clone(), phase.jobs[0].content.clone());
        found.phases.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(shape(&found), shape(&asked));
}
