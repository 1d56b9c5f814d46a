//! Fitting plans to the room and the time there is, on plans as people write them.

use assay_formats::native::{parse, profile};
use assay_workload::job::Workload;
use assay_workload::pattern::{Distribution, Placement, ZoneSize};
use assay_workload::scale::{Change, override_runtime, scale_by, scale_to};
use assay_workload::target::Extent;
use assay_workload::units::{Bytes, Nanos};

fn load(name: &str) -> Workload {
    let text = profile(name).map(|profile| profile.text).expect("a profile of that name");
    parse(name, text).0.expect("a profile without errors")
}

fn sizes(workload: &Workload) -> Vec<u64> {
    workload.targets.iter().filter_map(|target| target.size).map(|size| size.0).collect()
}

fn said(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_plan_that_fits_stays() {
    let mut workload = load("real-life");
    let before = workload.clone();
    let scaled = scale_to(&mut workload, 640 << 30);
    assert_eq!((workload, scaled.changes.len()), (before, 0));
    assert_eq!((scaled.total_bytes, scaled.budget_bytes, scaled.fits()), (320 << 30, 320 << 30, true));
}

#[test]
fn files_shrink_in_the_same_ratio_to_half_of_the_room() {
    let mut workload = load("real-life");
    let scaled = scale_to(&mut workload, 10 << 30);
    assert_eq!(sizes(&workload), [320 << 20; 16]);
    assert_eq!(said(&scaled.changes), ["16 targets, data0 to data15: 20 GiB -> 320 MiB"]);
    assert_eq!((scaled.total_bytes, scaled.fits()), (5 << 30, true));
}

#[test]
fn a_block_for_each_outstanding_io_remains_even_where_that_is_too_much() {
    let mut workload = load("max-bandwidth");
    let scaled = scale_to(&mut workload, 100 << 20);
    // 16 threads on 16 files: 32 outstanding blocks of 1 MiB in each.
    assert_eq!(sizes(&workload), [32 << 20; 16]);
    assert!(!scaled.fits());
}

const RANGES: &str = r#"
    target = [
        { name = "a", path = "a", size = "8g" },
        { name = "b", path = "b", size = "2g" },
        { name = "disk", path = "/dev/null", kind = "block-device", size = "100g" },
    ]
    [defaults]
    op = "read"
    block_size = "4k"
    [[job]]
    name = "hot"
    targets = "a"
    offset = "1g"
    length = "4g"
    pattern = { random = "hit-area", read_percent = 90, write_percent = 90, size = "1g" }
    [[job]]
    name = "both"
    targets = ["a", "disk"]
    length = "1g"
    pattern = { skip = "64k" }
    [[job]]
    name = "zones"
    targets = "b"
    pattern = { random = "zoned", zones = [
        { access_percent = 90, size = "100m" }, { access_percent = 10, size = "90%" } ] }
"#;

#[test]
fn ranges_in_bytes_shrink_with_their_files_only() {
    let mut workload = parse("t", RANGES).0.expect("no errors");
    let scaled = scale_to(&mut workload, 2 << 30);
    assert_eq!(
        said(&scaled.changes),
        [
            "target a: 8 GiB -> 819 MiB",
            "target b: 2 GiB -> 204 MiB",
            "job hot: offset: 1 GiB -> 102.38 MiB",
            "job hot: length: 4 GiB -> 409.50 MiB",
            "job hot: hit area: 1 GiB -> 102.38 MiB",
            "job zones: zone: 100 MiB -> 9.96 MiB",
        ]
    );
    let [hot, both, zones] = workload.phases[0].jobs.as_slice() else { panic!("three jobs") };
    let Some(Extent::Bytes(length)) = hot.length else { panic!("a length in bytes") };
    assert!(length.is_multiple_of(4096));
    assert_eq!(both.length, Some(Extent::Bytes(1 << 30)));
    let Placement::Random(random) = &zones.pattern.placement else { panic!("random") };
    let Distribution::Zoned(zones) = &random.distribution else { panic!("zones") };
    assert_eq!(zones[1].size, ZoneSize::RangePercent(90.0));
    assert_eq!(workload.targets[2].size, Some(Bytes(100 << 30)));
}

#[test]
fn no_size_overflows_and_nothing_grows() {
    let text = RANGES.replace("\"8g\"", "\"18446744073709551615\"").replace("\"4k\"", "\"1m\"");
    for available in [0, 1, 4096, 1 << 30, u64::MAX] {
        let mut workload = parse("t", &text).0.expect("no errors");
        let before = sizes(&workload);
        scale_to(&mut workload, available);
        assert!(sizes(&workload).iter().zip(&before).all(|(now, before)| now <= before && *now > 0));
    }
}

#[test]
fn a_runtime_takes_the_ramp_with_it_and_leaves_other_phases_alone() {
    let mut workload = load("silly-512b");
    let changes = override_runtime(&mut workload, Nanos::from_secs(10));
    assert_eq!(
        said(&changes),
        ["job silly-512b: runtime: 300 s -> 10 s", "job silly-512b: ramp: 30 s -> 1 s"]
    );
    let [fill, measure] = workload.phases.as_slice() else { panic!("two phases") };
    assert_eq!((fill.jobs[0].limits.time, measure.jobs[0].ramp), (None, Nanos::from_secs(1)));
    assert!(override_runtime(&mut workload, Nanos::from_secs(10)).is_empty());
    assert_eq!(said(&override_runtime(&mut workload, Nanos::from_secs(600))).len(), 1);
    assert_eq!(workload.phases[1].jobs[0].ramp, Nanos::from_secs(1));
}

#[test]
fn a_factor_shrinks_files_and_times_and_says_so() {
    let mut workload = load("snia-iops");
    let changes = said(&scale_by(&mut workload, 0.01));
    assert_eq!(sizes(&workload), [655 << 20]);
    assert_eq!(changes, ["target data: 64 GiB -> 655 MiB", "job iops: runtime: 60 s -> 1 s"]);
    let before = workload.clone();
    assert!(scale_by(&mut workload, 1.0).is_empty() && workload == before);
    scale_by(&mut workload, 1e-9);
    assert_eq!(sizes(&workload), [32 << 20], "a block for each outstanding I/O remains");
}
