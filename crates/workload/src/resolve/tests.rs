use super::*;
use crate::job::{Limits, Phase};
use crate::pattern::{AccessPattern, Mix, Placement};
use crate::target::{Extent, Target};
use crate::units::Nanos;

fn inventory(engines: &[EngineKind], align: Option<u32>) -> Inventory {
    let facts = TargetFacts {
        path: "/data/f".into(),
        kind: TargetKind::File,
        existing_bytes: 0,
        direct_align_bytes: align,
        engine_choice: None,
        direct_refused: None,
    };
    Inventory { targets: [("f".to_owned(), facts)].into(), engines: engines.to_vec(), ..Inventory::default() }
}

fn workload(job: Job) -> Workload {
    Workload {
        name: "w".into(),
        seed: Some(1),
        hosts: Vec::new(),
        targets: vec![Target { name: "f".into(), path: "f".into(), kind: None, size: Some(Bytes(1 << 20)) }],
        phases: vec![Phase::measure("p", vec![job])],
    }
}

fn random_read(block: u64) -> Job {
    Job::new("j", &["f"], AccessPattern::new(Mix::READ, block, Placement::random_map()))
}

const ALL: [EngineKind; 3] = [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync];

#[test]
fn auto_takes_direct_where_blocks_allow() {
    let plan = |block, align| {
        super::plan(&workload(random_read(block)), &inventory(&ALL, align), 0).unwrap().phases[0].jobs[0]
            .direct
    };
    assert!(plan(4096, Some(512)));
    assert!(!plan(512, Some(4096)));
    assert!(!plan(4096, None));
}

#[test]
fn direct_by_name_must_be_possible() {
    let job = Job { caching: Caching::Direct, ..random_read(512) };
    let error = super::plan(&workload(job), &inventory(&ALL, Some(4096)), 0).unwrap_err().to_string();
    assert!(error.contains("512") && error.contains("4096") && error.contains("'f'"), "{error}");
}

#[test]
fn a_directory_that_may_not_be_written_is_not_taken_for_one_without_direct_io() {
    let mut facts = inventory(&ALL, None);
    let why = "cannot make a file in /data: Read-only file system";
    facts.targets.get_mut("f").unwrap().direct_refused = Some(why.to_owned());
    let job = Job { caching: Caching::Direct, ..random_read(4096) };
    let error = super::plan(&workload(job), &facts, 0).unwrap_err().to_string();
    assert_eq!(error, format!("job 'j', target 'f': {why}"));
}

#[test]
fn an_engine_by_name_is_never_replaced() {
    let job = Job { engine: EngineKind::Libaio, ..random_read(4096) };
    let one = inventory(&[EngineKind::Psync], None);
    assert!(matches!(
        super::plan(&workload(job.clone()), &one, 0),
        Err(ResolveError::EngineUnavailable { engine: "libaio", .. })
    ));
    let plan = super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap();
    assert_eq!(plan.phases[0].jobs[0].engine, PlannedEngine::Libaio);
    assert_eq!(plan.phases[0].jobs[0].engine_reason, None);
}

#[test]
fn no_limit_means_one_pass_and_time_means_no_pass() {
    let slice = |limits| {
        let job = Job { limits, ..random_read(4096) };
        super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap().phases[0].jobs[0].slices[0].clone()
    };
    assert_eq!(slice(Limits::default()).bytes, Some(1 << 20));
    assert_eq!(slice(Limits { time: Some(Nanos::from_secs(5)), ..Limits::default() }).bytes, None);
    assert_eq!(slice(Limits { passes: Some(3), ..Limits::default() }).bytes, Some(3 << 20));
}

#[test]
fn contradictions_name_the_job() {
    let inventory = inventory(&ALL, None);
    let message = |job| super::plan(&workload(job), &inventory, 0).unwrap_err().to_string();
    assert!(message(Job { threads: 0, ..random_read(4096) }).contains("'j': 0 threads"));
    assert!(message(random_read(2 << 20)).contains("smaller than its largest block of 2 MiB"));
    assert!(
        message(Job { targets: vec!["g".into()], ..random_read(4096) }).contains("'g', which is not defined")
    );
    let mut job = random_read(4096);
    job.pattern.mix.read_percent = 60.0;
    assert!(message(job).contains("totals 60 %"));
    assert!(message(Job { rate: Rate::Iops(0.0), ..random_read(4096) }).contains("rate of 0"));
}

#[test]
fn threads_are_offset_and_share_the_rate() {
    let job = Job {
        threads: 2,
        rate: Rate::BytesPerS(8.0 * 4096.0),
        offset_increment: Extent::Percent(50.0),
        length: Some(Extent::Percent(50.0)),
        ..random_read(4096)
    };
    let plan = super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap();
    let slices = &plan.phases[0].jobs[0].slices;
    assert_eq!(slices[1].sites[0].offset_bytes, 1 << 19);
    assert_eq!(slices[1].rate, Some(SliceRate::Iops(4.0)));
    assert_ne!(slices[0].seed, slices[1].seed);
}

/// Bytes before the start belong to others. A share of the target names no byte: it begins with the next whole block.
#[test]
fn a_range_begins_where_it_was_asked_for() {
    let starts = |offset, offset_increment| {
        let job = Job {
            threads: 2,
            offset,
            offset_increment,
            length: Some(Extent::Bytes(8192)),
            ..random_read(8192)
        };
        let plan = super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap();
        plan.phases[0].jobs[0].slices.iter().map(|slice| slice.sites[0].offset_bytes).collect::<Vec<_>>()
    };
    let none = Extent::Bytes(0);
    assert_eq!(starts(Extent::Bytes(12 << 10), none), [12 << 10; 2]);
    assert_eq!(starts(Extent::Bytes(3072), Extent::Bytes(5120)), [3072, 8192]);
    assert_eq!(starts(Extent::Percent(10.0), none), [13 * 8192; 2]);
    assert_eq!(starts(Extent::Bytes(3072), Extent::Percent(7.0)), [8192, 10 * 8192]);
}

#[test]
fn direct_io_is_refused_where_the_range_does_not_begin_with_a_sector() {
    let plan = |caching, offset, step| {
        let job = Job {
            threads: 2,
            caching,
            offset: Extent::Bytes(offset),
            offset_increment: Extent::Bytes(step),
            ..random_read(4096)
        };
        super::plan(&workload(job), &inventory(&ALL, Some(512)), 0).map(|plan| plan.phases[0].jobs[0].direct)
    };
    assert_eq!(plan(Caching::Direct, 512, 1024), Ok(true));
    assert_eq!(plan(Caching::Auto, 100, 0), Ok(false));
    for (offset, step) in [(1124, 0), (0, 1124)] {
        let error = plan(Caching::Direct, offset, step).unwrap_err().to_string();
        assert_eq!(
            error,
            "job 'j' asks for direct I/O, but the start of its range, byte 1124, is not a multiple of 512 bytes, which 'f' needs"
        );
    }
}

#[test]
fn plans_can_be_compared_line_by_line() {
    let plan = |outstanding| {
        let job = random_read(4096).with(|job| job.outstanding_per_thread = outstanding);
        super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap()
    };
    assert!(plan(1).diff(&plan(1)).is_empty());
    let diff = plan(1).diff(&plan(32));
    assert_eq!(diff.len(), 2, "{diff:?}");
    assert!(diff[1].contains("32 outstanding"), "{diff:?}");
}

fn tree_job() -> Job {
    let tree = crate::tree::TreeWorkload {
        width: 2,
        depth: 1,
        files: 5,
        sizes: vec![(8192, 1.0)],
        operations: vec![("read".into(), 1.0)],
        ..crate::tree::TreeWorkload::default()
    };
    random_read(4096).with(|job| {
        job.tree = Some(tree);
        job.threads = 3;
    })
}

fn plan_tree(job: Job) -> Result<Plan, ResolveError> {
    let mut inventory = inventory(&ALL, Some(512));
    for facts in inventory.targets.values_mut() {
        facts.kind = TargetKind::Directory;
    }
    let mut workload = workload(job);
    workload.targets[0].size = None;
    super::plan(&workload, &inventory, 0)
}

#[test]
fn a_tree_needs_no_size_and_uses_synchronous_calls() {
    let plan = plan_tree(tree_job()).unwrap();
    let job = &plan.phases[0].jobs[0];
    assert_eq!((job.engine, job.direct, job.slices.len()), (PlannedEngine::Psync, true, 3));
    assert_eq!(job.slices[2].sites[0].length_bytes, 10 * 8192);
    assert_eq!((job.slices[0].bytes, job.write_bytes_max()), (None, Some(0)));
    assert!(plan.describe().contains("2 directories, 10 files"), "{}", plan.describe());
}

#[test]
fn a_tree_is_direct_where_blocks_and_files_allow() {
    let mut odd = tree_job();
    odd.tree.as_mut().unwrap().sizes[0].0 = 8191;
    assert!(!plan_tree(odd.clone()).unwrap().phases[0].jobs[0].direct);
    odd.caching = Caching::Direct;
    let error = plan_tree(odd).unwrap_err().to_string();
    assert!(error.contains("a file size of 8191"), "{error}");
    let small = tree_job().with(|job| job.pattern = random_read(256).traits.pattern);
    assert!(!plan_tree(small).unwrap().phases[0].jobs[0].direct);
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut Job)| {
        let mut job = tree_job();
        change(&mut job);
        plan_tree(job).unwrap_err().to_string()
    };
    let tree =
        |job: &mut Job, change: &dyn Fn(&mut crate::tree::TreeWorkload)| change(job.tree.as_mut().unwrap());
    assert!(refused(&|job| job.outstanding_per_thread = 8).contains("one operation at a time"));
    assert!(refused(&|job| job.engine = EngineKind::Libaio).contains("psync"));
    assert!(refused(&|job| tree(job, &|t| t.operations[0].0 = "fly".into())).contains("'fly'"));
    assert!(refused(&|job| tree(job, &|t| t.width = 0)).contains("width of 0"));
    assert!(refused(&|job| tree(job, &|t| t.copy_to = Some("x".into()))).contains("'x'"));
    assert!(refused(&|job| tree(job, &|t| t.copy_to = Some("f".into()))).contains("leave the target"));
    let file = super::plan(&workload(tree_job()), &inventory(&ALL, None), 0).unwrap_err().to_string();
    assert!(file.contains("no directory"), "{file}");
}

fn read_miss(name: &str, threads: u32) -> Job {
    use crate::pattern::{Distribution, Random};
    let distribution = Distribution::ReadMiss { miss_percent: 25.0, hit_bytes: u64::MAX };
    let placement = Placement::Random(Random { distribution, once_per_pass: false });
    Job { threads, ..Job::new(name, &["f"], AccessPattern::new(Mix::READ, 4096, placement)) }
}

#[test]
fn threads_and_phases_that_read_untouched_blocks_never_share_one() {
    let mut asked = workload(read_miss("a", 3));
    asked.phases.push(Phase::measure("again", vec![read_miss("b", 2)]));
    let mut here = inventory(&ALL, Some(512));
    here.touched_bytes.insert("f".to_owned(), 100_000);
    let plan = super::plan(&asked, &here, 0).unwrap();
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let mut sites: Vec<(u64, u64)> = jobs
        .flat_map(|job| &job.slices)
        .flat_map(|slice| slice.sites.iter().map(|site| (site.offset_bytes, site.length_bytes)))
        .collect();
    sites.sort_unstable();
    assert_eq!(sites.len(), 5);
    assert!(sites[0].0 >= 100_000, "what was read before, as by a probe, is left out");
    assert!(sites.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{sites:?}");
    assert!(sites.iter().all(|site| site.1 == sites[0].1 && site.0 % 4096 == 0));
    assert!(sites[4].0 + sites[4].1 <= 1 << 20);
}

#[test]
fn blocks_that_other_jobs_touch_are_left_out_as_far_as_something_remains() {
    use super::misses::{TouchedBy, touched_by};
    let uniform = |offset: u64, length: u64| Job {
        offset: Extent::Bytes(offset),
        length: Some(Extent::Bytes(length)),
        ..Job::new("other", &["f"], AccessPattern::new(Mix::WRITE, 4096, Placement::random_map()))
    };
    let mut here = inventory(&ALL, Some(512));
    here.targets.get_mut("f").unwrap().existing_bytes = 1 << 20;
    let planned = |others: Vec<Job>, after: bool| {
        let mut asked = workload(read_miss("cold", 2));
        let others = Phase::measure("others", others);
        asked.phases.insert(usize::from(after), others);
        let plan = super::plan(&asked, &here, 0).unwrap();
        let index = usize::from(!after);
        let cold = plan.phases[index].jobs[0].clone();
        let sites: Vec<(u64, u64)> = cold
            .slices
            .iter()
            .map(|slice| {
                (slice.sites[0].offset_bytes, slice.sites[0].offset_bytes + slice.sites[0].length_bytes)
            })
            .collect();
        (sites, touched_by(&plan, index, &cold))
    };
    // The longest stretch between two others: 256k to 768k of 1m.
    let (sites, touched) = planned(vec![uniform(0, 256 << 10), uniform(768 << 10, 256 << 10)], false);
    assert_eq!(sites, [(256 << 10, 512 << 10), (512 << 10, 768 << 10)]);
    assert_eq!(touched, None);
    // What comes later touches nothing before it.
    let (sites, touched) = planned(vec![uniform(0, 256 << 10)], true);
    assert_eq!((sites[0].0, sites[1].1, touched), (0, 1 << 20, None));
    // Where nothing remains the range is kept, and it is known who touched it.
    let (sites, touched) = planned(vec![uniform(0, 1 << 20)], false);
    assert_eq!((sites[0].0, sites[1].1), (0, 1 << 20));
    assert_eq!(touched, Some(TouchedBy::Job("other".to_owned())));
    // A file that the run lays out.
    let mut plan = super::plan(&workload(read_miss("cold", 1)), &here, 0).unwrap();
    plan.targets[0].existing_bytes = 4096;
    assert_eq!(touched_by(&plan, 0, &plan.phases[0].jobs[0]), Some(TouchedBy::Prefill));
}

#[test]
fn ranges_with_untouched_blocks_must_not_overlap_and_need_room() {
    let mut asked = workload(read_miss("a", 1));
    asked.phases[0].jobs.push(Job { offset: Extent::Bytes(1 << 19), ..read_miss("b", 1) });
    let error = super::plan(&asked, &inventory(&ALL, Some(512)), 0).unwrap_err().to_string();
    assert!(error.contains("'a'") && error.contains("overlaps"), "{error}");
    let mut here = inventory(&ALL, Some(512));
    here.touched_bytes.insert("f".to_owned(), (1 << 20) - 4096);
    let error = super::plan(&workload(read_miss("a", 2)), &here, 0).unwrap_err().to_string();
    assert!(error.contains("too little for 2 threads"), "{error}");
}

#[test]
fn where_there_is_nothing_the_null_engine_does_it() {
    let mut nothing = inventory(&ALL, None);
    for facts in nothing.targets.values_mut() {
        (facts.kind, facts.existing_bytes) = (TargetKind::Null, 1 << 20);
    }
    let plan = super::plan(&workload(random_read(4096)), &nothing, 0).unwrap();
    assert_eq!(plan.phases[0].jobs[0].engine, PlannedEngine::Null);
    let job = Job { engine: EngineKind::IoUring, ..random_read(4096) };
    let error = super::plan(&workload(job), &nothing, 0).unwrap_err().to_string();
    assert!(error.contains("engine io_uring") && error.contains("kind \"null\""), "{error}");
}
