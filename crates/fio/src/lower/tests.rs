use assay_workload::content::{PatternBlocks, Payload, Refresh};
use assay_workload::job::{
    Arrival, Caching, EngineKind, FileLayout, Flow, FlushCall, Job, JobSeed, OpenSync, OperationRates,
    PhaseKind, Rate, TargetSelection, TargetSharing, Workload,
};
use assay_workload::pattern::{BlockSizes, Distribution, Mix, Placement, ZoneSize};
use assay_workload::target::{Extent, TargetKind};
use assay_workload::units::{Bytes, Nanos};

use crate::{lower, parse};
use assay_formats::loader::MemoryLoader;
use assay_formats::{Diagnostic, Severity};

fn run(text: &str) -> (Option<Workload>, Vec<Diagnostic>) {
    let (file, said) = parse("t.fio", text, &MemoryLoader::default());
    lower("t", &file.unwrap_or_else(|| panic!("{text}: {said:?}")))
}

fn workload(text: &str) -> Workload {
    let (workload, said) = run(text);
    workload.unwrap_or_else(|| panic!("{text}: {said:?}"))
}

fn job(lines: &str) -> Job {
    workload(&format!("[a]\nsize=1m\n{lines}\n")).phases.remove(0).jobs.remove(0)
}

fn ids(lines: &str) -> Vec<&'static str> {
    run(&format!("[a]\nsize=1m\n{lines}\n")).1.iter().map(|d| d.id).collect()
}

#[test]
fn a_common_job() {
    let text = "[global]\nioengine=libaio\ndirect=1\niodepth=32\nruntime=30\ntime_based\nramp_time=5\nfilename=/dev/x\n\
                [r]\nrw=randrw\nrwmixread=70\nbs=8k\nnumjobs=4\ngroup_reporting\n";
    let workload = workload(text);
    let job = &workload.phases[0].jobs[0];
    assert_eq!((job.threads, job.outstanding_per_thread), (4, 32));
    assert_eq!(
        (job.engine, job.caching, job.sharing),
        (EngineKind::Libaio, Caching::Direct, TargetSharing::Shared)
    );
    assert_eq!(job.pattern.mix, Mix::read_write(70.0));
    assert_eq!(job.pattern.read_sizes, BlockSizes::Fixed(8192));
    assert_eq!(job.pattern.placement, Placement::random_map());
    assert_eq!(job.limits.time, Some(Nanos::from_secs(30)));
    assert_eq!((job.limits.passes, job.ramp), (None, Nanos::from_secs(5)));
    assert_eq!(job.group.as_deref(), Some("r"));
    assert_eq!(workload.targets[0].size, None);
}

#[test]
fn a_run_has_the_seed_of_its_random_jobs() {
    let seed = |text: &str| {
        let (workload, said) = run(text);
        let workload = workload.unwrap();
        let pattern = &workload.phases[0].jobs[0].pattern;
        (workload.seed, pattern.repeat_passes, said.iter().map(|d| d.id).collect::<Vec<_>>())
    };
    let none = Vec::<&str>::new();
    // fio repeats the addresses of its first run in every other, and those of the first pass in every further one.
    assert_eq!(seed("[a]\nsize=1m\nrw=randread\n"), (Some(0x89), true, none.clone()));
    assert_eq!(seed("[a]\nsize=1m\nrw=randread\nrandrepeat=1\n"), (Some(0x89), true, none.clone()));
    assert_eq!(seed("[a]\nsize=1m\nrw=randread\nrandrepeat=0\n"), (None, false, none.clone()));
    // Where nothing is drawn, nothing is said.
    assert_eq!(seed("[a]\nsize=1m\nrw=read\n"), (None, false, none.clone()));
    assert_eq!(seed("[a]\nsize=1m\nrw=read\n[b]\nsize=1m\nrw=randread\nrandrepeat=0\n"), (None, false, none));
    let given = seed("[a]\nsize=1m\nrw=randread\nrandseed=5\n");
    assert_eq!(given, (Some(5), false, vec!["seed-of-another-generator"]));
    let sequential = seed("[a]\nsize=1m\nrw=write\nrandseed=5\n");
    assert_eq!(sequential, (Some(5), false, vec!["seed-of-another-generator"]));
    let two = "[a]\nsize=1m\nrw=randread\n[b]\nsize=1m\nrw=randwrite\nrandrepeat=0\n[c]\nsize=1m\nrandseed=7\n[d]\nsize=1m\n";
    assert_eq!(seed(two), (Some(0x89), true, Vec::new()));
    let own: Vec<Option<JobSeed>> = workload(two).phases[0].jobs.iter().map(|job| job.seed).collect();
    assert_eq!(own, [None, Some(JobSeed::Fresh), Some(JobSeed::Given(7)), None]);
}

#[test]
fn nothing_is_said_where_nothing_is_lost() {
    let lines = "rw=randread\nioengine=io_uring\ndirect=1\niodepth=8\nfsync=4\nrate_iops=100\noffset=4k\n\
                 bssplit=4k/50:8k/50\nrandom_distribution=zipf:1.2\nnorandommap\nsync=dsync\nloops=3\nhipri";
    assert_eq!(ids(lines), Vec::<&str>::new());
}

#[test]
fn stages_are_phases_and_jobs_of_a_stage_run_side_by_side() {
    let workload = workload(
        "[global]\nsize=1m\n[a]\nrw=read\n[b]\nrw=write\n[c]\nstonewall\nrw=read\n[d]\nwait_for=c\nrw=read\n",
    );
    let names: Vec<Vec<&str>> = workload
        .phases
        .iter()
        .map(|phase| phase.jobs.iter().map(|job| job.name.as_str()).collect())
        .collect();
    assert_eq!(names, [vec!["a", "b"], vec!["c"], vec!["d"]]);
    assert_eq!(workload.phases[0].name, "a+b");
}

#[test]
fn waiting_beside_others_is_a_loss() {
    let (_, said) = run("[global]\nsize=1m\n[a]\nrw=read\n[b]\nrw=read\n[c]\nwait_for=a\nrw=read\n");
    assert_eq!(said.iter().map(|d| d.id).collect::<Vec<_>>(), ["wait-for-all"]);
    assert_eq!(said[0].position.as_ref().map(|at| at.line), Some(8));
}

#[test]
fn own_files_of_clones_go_one_to_each_thread() {
    let workload = workload("[a]\nsize=1m\nnumjobs=3\ndirectory=/d\n");
    let job = &workload.phases[0].jobs[0];
    assert_eq!((job.threads, job.sharing), (3, TargetSharing::PerThread));
    assert_eq!(job.targets, ["/d/a.0.0", "/d/a.1.0", "/d/a.2.0"]);
    assert!(workload.targets.iter().all(|target| target.size == Some(Bytes(1 << 20))));
}

#[test]
fn clones_with_several_files_are_jobs_of_their_own() {
    let workload =
        workload("[a]\nsize=1m\nnumjobs=2\nnrfiles=2\noffset_increment=1m\nfile_service_type=random\n");
    let jobs = &workload.phases[0].jobs;
    assert_eq!(jobs.len(), 2);
    assert_eq!((jobs[1].name.as_str(), jobs[1].threads, jobs[1].offset), ("a.1", 1, Extent::Bytes(1 << 20)));
    assert_eq!(jobs[1].targets, ["a.1.0", "a.1.1"]);
    assert_eq!(jobs[1].selection, TargetSelection::Random);
    assert_eq!(jobs[1].length, Some(Extent::Bytes(512 << 10)));
    assert_eq!(jobs[0].group, jobs[1].group);
}

#[test]
fn idle_clones_are_left_out() {
    assert_eq!(job("numjobs=3\nfilename_format=shared").threads, 1);
}

#[test]
fn shared_files_grow_to_the_last_clone() {
    let workload = workload("[a]\nfilename=f\nsize=1m\noffset=4k\noffset_increment=2m\nnumjobs=3\n");
    assert_eq!(workload.targets[0].size, Some(Bytes(4096 + (4 << 20) + (1 << 20))));
    let job = &workload.phases[0].jobs[0];
    assert_eq!((job.offset, job.offset_increment), (Extent::Bytes(4096), Extent::Bytes(2 << 20)));
}

#[test]
fn libaio_has_other_names() {
    for name in ["libaio", "aio", "linuxaio"] {
        assert_eq!(job(&format!("ioengine={name}\ndirect=1")).engine, EngineKind::Libaio, "{name}");
    }
}

#[test]
fn what_ends_a_job() {
    assert_eq!(job("loops=3").limits.passes, Some(3));
    assert_eq!(job("io_size=4m\nloops=2").limits.bytes, Some(4 << 20));
    // Measured with fio 3.33: a loop is a pass of `size`, with more behind the last one until io_size is reached.
    let mib = |text: &str| job(&format!("size=16m\nbs=64k\n{text}")).limits.bytes.map(|bytes| bytes >> 20);
    for rw in ["rw=read", "rw=write", "rw=randread", "rw=randwrite", "rw=randrw"] {
        for (loops, io_size, moved) in
            [(1, 24, 24), (2, 24, 32), (2, 40, 48), (3, 8, 24), (3, 24, 48), (2, 16, 32)]
        {
            let text = format!("{rw}\nloops={loops}\nio_size={io_size}m");
            assert_eq!(mib(&text), Some(moved), "{text}");
        }
    }
    assert_eq!(mib("rw=randwrite\nnorandommap\nloops=2\nio_size=40m"), Some(80));
    assert_eq!(job("number_ios=10").limits.ios, Some(10));
    let capped = job("runtime=10").limits;
    assert_eq!((capped.time, capped.passes), (Some(Nanos::from_secs(10)), Some(1)));
}

#[test]
fn rates_are_of_all_threads_and_of_each_direction() {
    assert_eq!(job("rate_iops=100\nnumjobs=4\nfilename=f").rate, Rate::Iops(400.0));
    assert_eq!(job("rate=1m").rate, Rate::BytesPerS(1_048_576.0));
    let mixed = job("rw=randrw\nrate_iops=300,100\nrate_process=poisson");
    let each = |read, write| Rate::Each(OperationRates { read, write, trim: None });
    assert_eq!((mixed.rate, mixed.arrival), (each(Some(300.0), Some(100.0)), Arrival::Poisson));
    assert_eq!(mixed.rate.mix(mixed.pattern.mix), Mix::read_write(75.0));
    assert_eq!(job("rate_iops=100\nbsrange=4k-8k").rate, Rate::BytesPerS(409_600.0));
    // Measured with fio 3.33: Poisson gaps are per I/O, even ones per byte.
    assert_eq!(job("rate_iops=100\nbsrange=4k-8k\nrate_process=poisson").rate, Rate::Iops(100.0));
    assert_eq!(job("rate=1m\nbssplit=4k/50:8k/50\nrate_process=poisson").rate, Rate::Iops(256.0));
    assert_eq!(job("rw=randrw\nrate_iops=300,").rate, each(Some(300.0), None));
    assert_eq!(job("rw=rw\nrate_iops=,50\nnumjobs=2\nfilename=f").rate, each(None, Some(100.0)));
    assert_eq!(job("rw=randrw\nrwmixread=100\nrate_iops=300,100").rate, each(Some(300.0), None));
    assert_eq!(job("rw=randrw\nbs=4k,8k\nrate=1m,512k").rate, each(Some(256.0), Some(64.0)));
    assert_eq!(ids("rw=randrw\nrate_iops=300,0"), Vec::<String>::new());
}

#[test]
fn placements() {
    let placement = |lines| job(lines).traits.pattern.placement;
    assert_eq!(placement("rw=read"), Placement::sequential());
    assert_eq!(placement("rw=randread\nnorandommap"), Placement::random_independent());
    let Placement::Mixed { random_percent, .. } = placement("rw=randread\npercentage_random=25") else {
        panic!()
    };
    assert_eq!(random_percent, 25.0);
    let Placement::Sequential(walk) = placement("rw=write:4k") else { panic!() };
    assert_eq!((walk.skip_min_bytes, walk.skip_max_bytes), (4096, 4096));
    let Placement::Random(random) = placement("rw=randread\nrandom_distribution=zoned:60/10:40/90") else {
        panic!()
    };
    let Distribution::Zoned(zones) = random.distribution else { panic!() };
    assert_eq!((zones[0].access_percent, zones[1].size), (60.0, ZoneSize::RangePercent(90.0)));
    assert!(!random.once_per_pass);
}

#[test]
fn a_zipf_of_theta_0_is_uniform() {
    let placement = |lines: &str| job(lines).traits.pattern.placement;
    let uniform = Placement::random_independent();
    for lines in ["rw=randread\nrandom_distribution=zipf:0", "rw=randread\nrandom_distribution=zipf:0:0.5"] {
        assert_eq!((placement(lines), ids(lines)), (uniform.clone(), vec![]), "{lines}");
    }
}

#[test]
fn what_becomes_of_files_is_honoured() {
    let made = job("rw=trimwrite\nunlink=1\nnrfiles=3\nopenfiles=1");
    assert!(made.trim_first && made.remove_files);
    assert_eq!(
        (job("nrfiles=4\nopenfiles=2").open_targets, ids("nrfiles=4\nopenfiles=2")),
        (Some(2), vec![])
    );
    assert_eq!(made.selection, TargetSelection::Sequential);
    let sizes = job("rw=trimwrite\nbs=4k,8k,16k").traits.pattern;
    assert_eq!([sizes.trim_sizes, sizes.write_sizes], [const { BlockSizes::Fixed(16 << 10) }; 2]);
    let shared = job("flow=8\nflow_id=2\nflow_sleep=100").flow;
    assert_eq!(shared, Some(Flow { id: 2, weight: 8, pause: Nanos(100_000) }));
    assert_eq!(job("flow=0").flow, None);
    assert_eq!(job("rw=write\ncreate_on_open=1").layout, FileLayout::AsNeeded);
    assert_eq!(job("nrfiles=4\nopenfiles=2").open_targets, Some(2));
    assert_eq!(job("nrfiles=4\nopenfiles=1").open_targets, None);
    assert!(job("rw=write\nloops=2\nunlink_each_loop=1").empty_each_pass);
    assert_eq!(ids("rw=write\nloops=2\nunlink_each_loop=1"), ["unlink-each-loop"]);
    assert_eq!(ids("ioengine=falloc\nsize=4g\nbs=2g"), ["block-too-large"]);
    assert_eq!(ids("ioengine=filestat\nbs=4k"), ["ios-of-names"]);
    let size =
        |lines: &str| workload(&format!("[a]\nfilename=f\nrw=read\nsize=1m\n{lines}\n")).targets[0].size;
    assert!(size("").is_some() && size("allow_file_create=0").is_none());
    let two = workload("[a]\nsize=1m\n[b]\nsize=1m\nstonewall\nstartdelay=9\n");
    let later = &two.phases[1].jobs[0];
    assert_eq!((later.start_delay, later.delay_from_run), (Nanos(9_000_000_000), true));
    assert!(!two.phases[0].jobs[0].delay_from_run);
    assert_eq!(ids("ioengine=null\nserialize_overlap=1\nio_submit_mode=offload\niodepth=1"), ["offload"]);
}

#[test]
fn losses_of_access() {
    for (lines, id) in [
        ("rw=read:-4k", "backward-walk"),
        ("rw=randread:8", "random-every-nth"),
        ("rw=randread:8\nrw_sequencer=identical", "identical-offsets"),
        ("rw=randtrimwrite\nnumber_ios=5", "trimwrite-ios"),
        ("rw=read\ncreate_on_open=1", "create-on-open-reads"),
        ("rw=read\nloops=2\nunlink_each_loop=1", "unlink-each-loop"),
        ("ioengine=psync\niodepth=8\nio_submit_mode=offload", "offload-depth"),
        ("rw=randrw\npercentage_random=10,90", "random-by-direction"),
        ("rw=randread\nrandom_distribution=zipf:1.1:0.5", "distribution-center"),
        ("rw=randread\nrandom_distribution=zipf:-1", "negative-theta"),
        ("rw=randrw\npercentage_random=50\nbs=4k,8k\nbs_is_seq_rand=1", "sizes-by-randomness"),
        ("rw=randrw\nba=8k,16k", "align-by-direction"),
        ("filename=a:b\nfile_service_type=zipf:1.2", "file-distribution"),
        ("thinktime=5\nrate_iops=100", "rate-with-thinktime"),
        ("fsync=1\nfdatasync=1", "two-flushes"),
        ("continue_on_error=write", "errors-of-one-kind"),
        ("startdelay=5-10", "random-start-delay"),
        ("filesize=1m-2m", "file-size-range"),
        ("rw=randread\nrandseed=5", "seed-of-another-generator"),
    ] {
        assert_eq!(ids(lines), [id], "{lines}");
    }
}

#[test]
fn content_and_flushes() {
    let unit = |text: &str| job(text).traits.content.dedup_unit_bytes;
    assert_eq!(unit("rw=write\ndedupe_percentage=50\nbs=64k"), 65_536, "whole blocks repeat");
    assert_eq!(unit("rw=write\ndedupe_percentage=50\nbsrange=4k-64k"), 4096);
    let content = job("rw=write\nbuffer_compress_percentage=50\ndedupe_percentage=75").traits.content;
    assert_eq!(
        (content.compression_ratio, content.dedup_ratio, content.refresh),
        (2.0, 4.0, Refresh::EveryWrite)
    );
    assert_eq!(job("rw=write\nzero_buffers").content.payload, Payload::Zero);
    assert_eq!(job("rw=write\nbuffer_pattern=0xabcd").content.payload, Payload::Pattern(vec![0xab, 0xcd]));
    assert_eq!(job("rw=write").content.refresh, Refresh::Stamp);
    let flush = job("rw=write\nfdatasync=8\nend_fsync=1\nsync=1").flush;
    assert_eq!((flush.open, flush.at_end), (OpenSync::Sync, true));
    let periodic = flush.periodic.unwrap();
    assert_eq!((periodic.call, periodic.every_writes), (FlushCall::Fdatasync, 8));
}

#[test]
fn engines() {
    assert_eq!(job("").engine, EngineKind::Psync);
    assert_eq!(job("ioengine=mmap").engine, EngineKind::Psync);
    let ring = job(
        "ioengine=io_uring\nhipri\nsqthread_poll=1\niodepth=8\niodepth_batch=4\niodepth_batch_complete_min=2",
    );
    assert!(ring.engine_options.iopoll && ring.engine_options.sqpoll);
    assert_eq!((ring.engine_options.submit_batch_max, ring.engine_options.reap_batch_min), (4, 2));
    let null = workload("[a]\nioengine=null\nsize=1m\n");
    assert_eq!((null.targets[0].kind, null.targets[0].size), (Some(TargetKind::Null), Some(Bytes(1 << 20))));
    let (none, said) = run("[a]\nioengine=rbd\nrbdname=x\nsize=1m\n");
    assert!(none.is_none());
    assert_eq!(said[0].id, "engine-not-runnable");
}

#[test]
fn hostile_numbers_of_files_are_refused() {
    for lines in
        ["nrfiles=1000000000000", "nrfiles=1000000000000\nfilename_format=x", "nrfiles=60000\nnumjobs=100"]
    {
        let (workload, said) = run(&format!("[a]\nsize=1g\n{lines}\n"));
        assert!(workload.is_none());
        assert!(said.iter().any(|d| d.id == "too-many-targets"), "{lines}");
    }
}

#[test]
fn files_that_hold_no_block_are_refused() {
    let (workload, said) = run("[a]\nsize=64k\nnrfiles=8\nbs=64k\n");
    assert!(workload.is_none());
    assert_eq!((said[0].id, said[0].position.as_ref().unwrap().line), ("file-below-block", 2));
}

#[test]
fn names_within_a_phase_differ() {
    let workload = workload("[a]\nsize=1m\n[a]\nsize=1m\n");
    let names: Vec<_> = workload.phases[0].jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "a-2"]);
}

fn walk(lines: &str) -> assay_workload::pattern::Sequential {
    match job(lines).traits.pattern.placement {
        Placement::Sequential(walk) => walk,
        other => panic!("{other:?}"),
    }
}

#[test]
fn walks_with_gaps_end_where_fio_ends_them() {
    // Blocks of 4 KiB every 16 KiB.
    let wraps = |lines: &str| walk(&format!("filename=f\nrw=read:12k\nbs=4k\n{lines}")).wrap;
    assert!(wraps("size=64k"));
    assert!(!wraps("size=52k"), "a block ends with the file");
    assert!(!wraps("size=52k\nnumber_ios=20"));
    assert!(wraps("size=52k\nruntime=3\ntime_based"));
    assert!(wraps("size=52k\nio_size=104k"));
    assert!(!wraps("size=64k\noffset=64k"), "the region ends with a block's gap, and the file goes on");
    assert!(!wraps("size=64k\nfilename=/dev/x"));
    assert!(walk("rw=read\nsize=52k").wrap);
    let ids = |lines: &str| ids(&format!("filename=/dev/x\nrw=read:12k\n{lines}"));
    assert_eq!(ids("size=0"), ["stride-of-unknown-size"]);
    assert_eq!(ids("bssplit=4k/50:8k/50"), ["stride-of-sizes"]);
    assert_eq!(ids("runtime=1\ntime_based\nsize=0"), Vec::<&str>::new());
}

#[test]
fn laps_of_a_walk_that_ends_with_its_file_are_counted() {
    let limits = |lines: &str| job(&format!("filename=f\nrw=read:12k\nbs=4k\nsize=52k\n{lines}")).limits;
    assert_eq!(limits("loops=3").ios, Some(12));
    assert_eq!(limits("loops=3\nnumber_ios=3").ios, Some(9));
    assert_eq!(limits("").ios, None);
}

#[test]
fn files_of_a_given_length_are_used_whole_and_size_says_how_much() {
    let part = job("filename=f\nfilesize=1m\nsize=52k\nrw=randread");
    assert_eq!((part.length, part.limits.bytes, part.limits.passes), (None, Some(52 << 10), None));
    let all = job("filename=f\nfilesize=1m\nsize=2m\nrw=randread");
    assert_eq!((all.length, all.limits.bytes, all.limits.passes), (None, None, Some(1)));
    let text = "[a]\nfilename=f\nfilesize=1m\nsize=52k\n";
    assert_eq!(workload(text).targets[0].size, Some(Bytes(1 << 20)));
    assert_eq!(ids("filename=f\nfilesize=1m\nsize=52k\nrw=read\nloops=2"), ["loops-of-a-part"]);
}

const TWO: &str = "[global]\nsize=1m\nrw=read\n[a]\nexitall\n[b]\n";

#[test]
fn the_first_job_that_ends_ends_the_others() {
    use assay_workload::job::EndsWith;
    let (found, said) = run(TWO);
    let jobs = found.unwrap().phases.remove(0).jobs;
    assert!(jobs.iter().all(|job| job.limits.ends_with == Some(EndsWith::First)));
    assert!(said.is_empty(), "{said:?}");
    let ids = |text: &str| run(text).1.iter().map(|d| d.id).collect::<Vec<_>>();
    assert_eq!(ids(&format!("{TWO}new_group\n")), ["exitall-beside"]);
    assert_eq!(ids(&format!("{TWO}[c]\nstonewall\nexitall\nexit_what=all\n")), ["exitall-later"]);
}

#[test]
fn a_job_ends_once_it_is_steady() {
    use assay_workload::job::{SteadyFigure, SteadyLimit};
    let lines = "rw=randread\nruntime=60\ntime_based\nss=bw_slope:5%\nss_dur=20\nss_ramp=5";
    let wanted = SteadyLimit {
        figure: SteadyFigure::Bandwidth,
        slope: true,
        percent_max: 5.0,
        window: Nanos::from_secs(20),
        skip: Nanos::from_secs(5),
    };
    assert_eq!(job(lines).limits.steady, Some(wanted));
    assert_eq!(ids(lines), Vec::<&str>::new());
    assert_eq!(ids("ss=iops:100\nss_dur=20"), ["steady-unit"]);
    assert_eq!(ids("ss=iops:5%\nss_dur=20\nss_interval=2"), ["steady-interval"]);
    assert_eq!(job("ss=iops:5%").limits.steady, None, "fio looks for none without a window");
}

#[test]
fn a_latency_is_a_search_for_a_rate() {
    use assay_workload::steps::Until;
    let lines = "rw=randread\nruntime=60\nlatency_target=5ms\nlatency_window=2s\nlatency_percentile=99";
    let phase = workload(&format!("[a]\nsize=1m\n{lines}\n")).phases.remove(0);
    let Some(Until::Rate(find)) = phase.until else { panic!("{:?}", phase.until) };
    assert_eq!(find.to_string(), "p99<5 ms");
    assert_eq!(phase.jobs[0].limits.time, Some(Nanos::from_secs(2)));
    assert_eq!(ids(lines), ["latency-target-by-rate"]);
    assert_eq!(ids(&format!("{lines}\nrate_iops=10")), ["latency-target-rate"]);
    let beside = run(&format!("[a]\nsize=1m\n{lines}\n[b]\nsize=1m\n")).1;
    assert_eq!(beside.iter().map(|d| d.id).collect::<Vec<_>>(), ["latency-target-beside"]);
}

#[test]
fn offsets_in_per_cent_are_of_what_is_there() {
    let settled = |text: &str, existing: u64| {
        let mut workload = workload(&format!("[a]\nrw=read\nfilename=f\n{text}\n"));
        super::settle_offsets(&mut workload, &|_| Some(existing));
        (workload.phases[0].jobs[0].offset, workload.targets[0].size.map(|size| size.0))
    };
    // As write_iolog of fio 3.33 has it.
    assert_eq!(settled("size=10m\noffset=33%", 0), (Extent::Bytes(0), Some(10_485_760)));
    assert_eq!(settled("size=10m\noffset=33%", 10_485_760), (Extent::Bytes(3_461_120), Some(13_946_880)));
    assert_eq!(settled("size=10m\noffset=33%", 4_194_304), (Extent::Bytes(1_384_448), Some(11_870_208)));
    assert_eq!(settled("offset=33%", 10_485_760), (Extent::Bytes(3_461_120), None));
    assert_eq!(settled("size=10m\nfilesize=10m\noffset=33%", 0).0, Extent::Bytes(0));
}

#[test]
fn files_are_made_as_fio_makes_them() {
    for (lines, layout) in [
        ("rw=write", FileLayout::Allocated),
        ("rw=write\nfallocate=posix", FileLayout::Allocated),
        ("rw=write\nfallocate=none", FileLayout::AsNeeded),
        ("rw=write\nfallocate=0", FileLayout::AsNeeded),
        ("rw=write\nfallocate=keep", FileLayout::Reserved),
        ("rw=write\nfallocate=truncate", FileLayout::Length),
        ("rw=write\nfallocate=none\noverwrite=1", FileLayout::Data),
        ("rw=randrw\nfallocate=none", FileLayout::AsNeeded),
        ("rw=read\nbs=3m\nsize=100m", FileLayout::Data),
    ] {
        assert_eq!(job(lines).layout, layout, "{lines}");
    }
    let size = |text: &str| workload(text).targets[0].size.map(|size| size.0);
    assert_eq!(size("[a]\nrw=randwrite\nbs=7k\nsize=10m\n"), Some(10 << 20));
    assert_eq!(size("[a]\nrw=write\nbs=1m\nsize=100m\nnrfiles=3\n"), Some(34_952_533));
    assert_eq!(size("[a]\nrw=read\nbs=64k\nsize=100k\noffset=3k\n"), Some(103 << 10));
}

#[test]
fn what_fio_does_otherwise_is_said() {
    assert!(ids("rw=randrw\nfsync=4").contains(&"flush-in-mix"));
    assert!(ids("rw=rw\nfdatasync=4").contains(&"flush-in-mix"));
    assert_eq!(ids("rw=write\nfsync=4"), [""; 0]);
    assert_eq!(ids("rw=randtrim"), ["file-trim"]);
    assert_eq!(ids("rw=randread\nrandom_generator=lfsr"), [""; 0]);
    assert_eq!(ids("rw=randread\nrandom_generator=lfsr\nbsrange=4k-16k"), ["lfsr-sizes"]);
}

/// The phases of a file with their jobs, and what is said of it.
type Checked = (Vec<(PhaseKind, Vec<Job>)>, Vec<(Severity, &'static str)>);

fn checked(text: &str) -> Checked {
    let (workload, said) = run(text);
    let phases = workload.unwrap_or_else(|| panic!("{text}: {said:?}")).phases;
    let said = said.iter().map(|said| (said.severity, said.id)).collect();
    (phases.into_iter().map(|phase| (phase.kind, phase.jobs)).collect(), said)
}

fn verifying(lines: &str) -> Checked {
    checked(&format!("[a]\nsize=1m\nfilename=f\n{lines}\n"))
}

#[test]
fn what_a_job_writes_is_read_back_in_a_phase_of_its_own() {
    let (phases, said) =
        verifying("rw=randwrite\nbs=8k\nverify=md5\nioengine=libaio\niodepth=4\nrate_iops=100");
    assert_eq!(said, [(Severity::Note, "verify-header")]);
    let [(PhaseKind::Measure, writes), (PhaseKind::Verify, reads)] = phases.as_slice() else {
        panic!("{phases:?}")
    };
    let (write, read) = (&writes[0], &reads[0]);
    assert!(write.content.verify && write.content.refresh == Refresh::EveryWrite && !write.content.reread);
    assert!(read.content.verify && read.invalidate && read.name == write.name);
    assert_eq!((read.pattern.mix, &read.pattern.read_sizes), (Mix::READ, &BlockSizes::Fixed(8192)));
    assert_eq!((read.outstanding_per_thread, read.rate, &read.targets), (4, Rate::Unlimited, &write.targets));
    let drains = |lines: &str| {
        workload(&format!("[a]\nsize=1m\nrw=write\nverify=md5\n{lines}\n")).phases[0].drain_after
    };
    assert_eq!(
        (drains("direct=0"), drains("direct=1")),
        (true, false),
        "what is cached is written back first"
    );
}

#[test]
fn each_loop_is_read_back() {
    let (phases, said) = verifying("rw=randwrite\nloops=3\nverify=md5");
    assert_eq!(said, [(Severity::Note, "verify-header")]);
    let kinds: Vec<PhaseKind> = phases.iter().map(|phase| phase.0).collect();
    assert_eq!(kinds, [PhaseKind::Measure, PhaseKind::Verify].repeat(3));
    assert!(phases.iter().flat_map(|phase| &phase.1).all(|job| job.limits.passes == Some(1)));
}

#[test]
fn what_is_not_read_back_by_fio_is_not_here() {
    let kinds = |lines: &str| verifying(lines).0.iter().map(|phase| phase.0).collect::<Vec<_>>();
    let once = [PhaseKind::Measure];
    assert_eq!(kinds("rw=write\nverify=crc32c\ndo_verify=0"), once);
    assert_eq!(kinds("rw=write\nverify=0"), once);
    assert_eq!(kinds("rw=write\nverify=none"), once);
    assert_eq!(kinds("rw=randrw\nverify=sha256"), [PhaseKind::Measure, PhaseKind::Verify]);
    let (phases, said) = verifying("rw=write\nverify=xxhash\nverify_backlog=16\nverify_backlog_batch=4");
    assert!(phases.len() == 1 && phases[0].1[0].content.reread, "{phases:?}");
    assert!(said.contains(&(Severity::Note, "verify-backlog")), "{said:?}");
}

#[test]
fn the_first_wrong_block_ends_a_job_or_none_does() {
    let most = |lines: &str| {
        let job = job(&format!("rw=write\nverify=md5\n{lines}"));
        (job.errors_tolerated, job.content.data_errors_max)
    };
    assert_eq!(most(""), (0, None));
    assert_eq!(most("verify_fatal=1"), (0, Some(1)));
    assert_eq!(most("continue_on_error=verify"), (0, Some(u64::MAX)));
    assert_eq!(most("continue_on_error=all"), (u64::MAX, None));
    assert_eq!(most("continue_on_error=io"), (u64::MAX, Some(1)));
    assert_eq!(most("continue_on_error=all\nverify_fatal=1"), (u64::MAX, Some(1)));
    assert_eq!(ids("rw=write\nverify=md5\ncontinue_on_error=verify"), ["verify-header"]);
}

#[test]
fn reads_of_what_no_job_of_the_file_wrote_are_said_to_lose() {
    let loss = (Severity::Loss, "verify-foreign-headers");
    assert!(verifying("rw=randread\nverify=crc32c").1.contains(&loss));
    let both = "[global]\nsize=1m\nverify=crc32c\n[w]\nfilename=f\nrw=write\ndo_verify=0\n[r]\nstonewall\nrw=read\nfilename=";
    let (phases, said) = checked(&format!("{both}f\n"));
    assert!(!said.contains(&loss), "{said:?}");
    assert!(phases.len() == 2 && phases[1].1[0].content.verify, "{phases:?}");
    assert!(checked(&format!("{both}g\n")).1.contains(&loss));
}

#[test]
fn verify_only_writes_nothing() {
    for rw in ["write", "randwrite", "randrw", "trimwrite"] {
        let (phases, said) = verifying(&format!("rw={rw}\nbs=4k,16k\nverify=crc32c\nverify_only"));
        // Which blocks were written among reads of another size is not known.
        let severity = if rw == "randrw" { Severity::Loss } else { Severity::Note };
        assert!(said.contains(&(severity, "verify-only")), "{rw}: {said:?}");
        let [(PhaseKind::Measure, jobs)] = phases.as_slice() else { panic!("{phases:?}") };
        assert!(jobs[0].content.verify && jobs[0].content.written && !jobs[0].may_write(), "{rw}");
        assert!(!jobs[0].trim_first, "{rw}");
        assert_eq!(jobs[0].pattern.read_sizes, BlockSizes::Fixed(16384), "{rw}: the blocks of writes");
    }
}

#[test]
fn patterns_without_headers_are_compared_by_themselves() {
    let blocks =
        |lines: &str| job(&format!("rw=write\nverify=pattern\n{lines}")).content.pattern_blocks.clone();
    let made = blocks("verify_pattern=0xab%o\nverify_pattern_interval=512");
    assert_eq!(made, Some(PatternBlocks { headers: false, offset_at: vec![1], restart_bytes: 512 }));
    // It looks the same wherever a block begins.
    assert!(blocks("verify_pattern=0xabcd\nbsrange=4k-64k").is_some());
    assert!(blocks("verify_pattern=%o\nbsrange=4k-64k").is_none());
    assert!(blocks("verify_pattern=0xabcdef\nbsrange=4k-64k").is_none());
    let headers = job("rw=write\nverify=pattern_hdr\nverify_pattern=%o").content.pattern_blocks.clone();
    assert!(headers.is_some_and(|blocks| blocks.headers));
    let said = verifying("rw=read\nverify=pattern\nverify_pattern=0xab").1;
    assert!(said.iter().all(|said| said.0 == Severity::Note), "nothing but the pattern matters: {said:?}");
    let mixed = job("rw=randrw\nrwmixread=70\nverify=md5\nverify_only");
    let beside = mixed.content.written_beside_reads_percent.expect("a share");
    assert!((beside - 70.0).abs() < 1e-9, "{beside}");
}

#[test]
fn verify_only_reads_once_what_was_written_several_times() {
    let limits = |lines: &str| job(&format!("{lines}\nverify=md5\nverify_only")).limits;
    for lines in [
        "rw=write\nio_size=2m",
        "rw=randwrite\nio_size=2m",
        "rw=write\nloops=3",
        "rw=write\nnrfiles=2\nio_size=2m",
    ] {
        let found = limits(lines);
        assert_eq!((found.passes, found.bytes), (Some(1), None), "{lines}");
    }
    assert_eq!(limits("rw=write\nio_size=512k").bytes, Some(512 << 10));
    assert_eq!(limits("rw=randwrite\nnorandommap\nio_size=2m").bytes, Some(2 << 20));
}

#[test]
fn jobs_behind_a_stonewall_run_although_those_before_them_failed() {
    let (phases, _) = run("[a]\nsize=1m\nrw=write\nverify=md5\nloops=2\n[b]\nstonewall\nsize=1m\n");
    let phases = phases.unwrap().phases;
    let despite: Vec<bool> = phases.iter().map(|phase| phase.despite_failure).collect();
    assert_eq!(despite, [false, false, false, false, true]);
}

#[test]
fn what_cannot_be_checked_as_in_fio_is_lost() {
    for (lines, id) in [
        ("rw=write\nbs=1000\nverify=md5", "verify-sectors"),
        ("rw=write\nverify=pattern", "verify-pattern"),
        ("rw=write\nverify=pattern\nverify_pattern=%o\nbsrange=4k-64k", "verify-pattern"),
        ("rw=write\nloops=33\nverify=md5", "verify-loops"),
        ("rw=write\nloops=3\nverify=md5\nio_size=1m", "verify-loops"),
        ("rw=randwrite\nioengine=libaio\niodepth=8\nserialize_overlap=1", "overlap"),
    ] {
        assert!(verifying(lines).1.contains(&(Severity::Loss, id)), "{lines}: {:?}", verifying(lines).1);
    }
    let serialized = verifying("rw=randwrite\nioengine=libaio\niodepth=8\nserialize_overlap=1\nverify=md5").1;
    assert!(serialized.iter().all(|said| said.0 == Severity::Note), "{serialized:?}");
    let pattern = job("rw=write\nverify=pattern_hdr\nverify_pattern=0xab\nbuffer_pattern=0xcd");
    assert_eq!(pattern.content.payload, Payload::Pattern(vec![0xab]));
    let late = verifying("rw=write\nverify=md5\nruntime=5").1;
    assert!(late.contains(&(Severity::Note, "verify-beyond-runtime")), "{late:?}");
}

#[test]
fn zones_are_those_of_fio() {
    let of = |lines: &str| {
        let job = job(lines);
        (job.strides.map(|of| (of.zone_bytes, of.turn_bytes, of.skip_bytes)), job.limits.bytes, job.length)
    };
    let kib = 1024;
    // zonesize alone says it; the zones go on to the end of the file, and size= is what is moved.
    assert_eq!(
        of("rw=read\nfilesize=1m\nsize=256k\nzonesize=64k\nzoneskip=64k"),
        (Some((64 * kib, 64 * kib, 64 * kib)), Some(256 * kib), None)
    );
    assert_eq!(
        of("rw=randread\nsize=1m\nio_size=2m\nzonemode=strided\nzonesize=32k\nzonerange=64k"),
        (Some((64 * kib, 32 * kib, 0)), Some(2048 * kib), None)
    );
    assert_eq!(of("rw=read\nsize=1m\nzonemode=none").0, None);
    // fio gives them up where several files are open.
    assert_eq!(of("rw=read\nsize=1m\nnrfiles=2\nzonesize=64k").0, None);
    let lfsr = job("rw=randread\nsize=1m\nzonesize=64k\nrandom_generator=lfsr");
    assert!(lfsr.pattern.repeat_passes, "an LFSR begins anew in each zone");
    assert!(!job("rw=randread\nsize=1m\nzonesize=64k").pattern.repeat_passes);
}
