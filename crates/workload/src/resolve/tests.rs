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
    };
    Inventory { targets: [("f".to_owned(), facts)].into(), engines: engines.to_vec(), engine_override: None }
}

fn workload(job: Job) -> Workload {
    Workload {
        name: "w".into(),
        seed: Some(1),
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
fn an_engine_by_name_is_never_replaced() {
    let job = Job { engine: EngineKind::Libaio, ..random_read(4096) };
    let one = inventory(&[EngineKind::Psync], None);
    assert!(matches!(
        super::plan(&workload(job.clone()), &one, 0),
        Err(ResolveError::EngineUnavailable { engine: "libaio", .. })
    ));
    let plan = super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap();
    assert_eq!(plan.phases[0].jobs[0].engine, EngineKind::Libaio);
    assert_eq!(plan.phases[0].jobs[0].engine_reason, "");
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
    assert_eq!(slices[1].rate_per_s, Some(4.0));
    assert_ne!(slices[0].seed, slices[1].seed);
}

#[test]
fn plans_can_be_compared_line_by_line() {
    let plan = |outstanding| {
        let job = Job { outstanding_per_thread: outstanding, ..random_read(4096) };
        super::plan(&workload(job), &inventory(&ALL, None), 0).unwrap()
    };
    assert!(plan(1).diff(&plan(1)).is_empty());
    let diff = plan(1).diff(&plan(32));
    assert_eq!(diff.len(), 2, "{diff:?}");
    assert!(diff[1].contains("32 outstanding"), "{diff:?}");
}
