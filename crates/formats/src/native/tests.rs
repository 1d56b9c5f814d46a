//! The language, seen from outside: what a plan lowers to, and what is said about a wrong one.

use assay_workload::job::{
    Arrival, Caching, FlushOrder, OpenSync, Phase, PhaseKind, Rate, TargetSharing, ThinkTime,
};
use assay_workload::pattern::{BlockSizes, Distribution, Mix, Placement, Sequential};
use assay_workload::target::{Extent, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, Workload};

use super::*;
use crate::Severity;

/// A plan without remarks.
fn plan(text: &str) -> Workload {
    let (workload, said) = parse("dir/test.toml", text);
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{said:#?}");
    workload.expect("a plan without errors")
}

/// The only job of a plan with one target and these keys.
fn job(keys: &str) -> Job {
    let mut workload = plan(&with_target(keys));
    workload.phases.remove(0).jobs.remove(0)
}

fn with_target(keys: &str) -> String {
    let base = "[[target]]\nname = \"data\"\npath = \"data.bin\"\nsize = \"1g\"\n[[job]]\n";
    let begins = |keys: &str, starts: &[&str]| {
        keys.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
    };
    let mut added = String::new();
    if !begins(keys, &["op", "read_percent", "write_percent"]) {
        added.push_str("op = \"read\"\n");
    }
    if !begins(keys, &["block_size"]) {
        added.push_str("block_size = \"4k\"\n");
    }
    if !begins(keys, &["pattern"]) {
        added.push_str("pattern = \"random\"\n");
    }
    format!("{base}{added}{keys}")
}

/// What is said about a plan that cannot be run, as `line:column word | message | help`.
fn complaints(text: &str) -> Vec<String> {
    let (workload, said) = parse("test.toml", text);
    assert_eq!(workload.is_none(), said.iter().any(|d| d.severity == Severity::Error), "{said:#?}");
    let place = |d: &crate::Diagnostic| {
        d.position.as_ref().map_or_else(String::new, |p| format!("{}:{}", p.line, p.column))
    };
    said.iter().map(|d| format!("{} {} | {} | {}", place(d), d.word, d.message, d.help)).collect()
}

/// The only complaint about a job with these keys, without its place.
fn complaint(keys: &str) -> String {
    let said = complaints(&with_target(keys));
    assert_eq!(said.len(), 1, "{said:#?}");
    said[0].split_once(' ').map_or_else(String::new, |(_, rest)| rest.to_owned())
}

#[test]
fn a_job_alone_is_one_measuring_phase() {
    let workload = plan(&with_target(""));
    assert_eq!((workload.name.as_str(), workload.seed), ("test", None));
    let [target] = workload.targets.as_slice() else { panic!("one target") };
    assert_eq!((target.kind, target.size), (None, Some(Bytes(1 << 30))));
    let expected = Job::new(
        "job-1",
        &["data"],
        assay_workload::AccessPattern::new(Mix::READ, 4096, Placement::random_map()),
    );
    assert_eq!(workload.phases, [Phase::measure("measure", vec![expected])]);
}

#[test]
fn unknown_keys_are_named_with_their_place_and_the_nearest_one() {
    let said = complaints(&with_target("iodepth = 4\nthraeds = 2\nfrobnicate = 1"));
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_eq!(said[0], "9:1 iodepth | 'iodepth' is not a key of a job | the nearest is 'outstanding'");
    assert_eq!(said[1], "10:1 thraeds | 'thraeds' is not a key of a job | the nearest is 'threads'");
    assert!(
        said[2].starts_with("11:1 frobnicate") && said[2].contains("known are name, group"),
        "{}",
        said[2]
    );
}

#[test]
fn broken_toml_is_one_error_with_a_place() {
    let said = complaints("name = \"x\"\nop = read\n");
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("2:6 read |") && said[0].contains("quotes"), "{said:?}");
}

#[test]
fn shares_leave_the_rest_to_the_other() {
    assert_eq!(job("read_percent = 70").pattern.mix, Mix::read_write(70.0));
    assert_eq!(job("write_percent = 30").pattern.mix, Mix::read_write(70.0));
    let mix = job("read_percent = 60\ntrim_percent = 10").pattern.mix;
    assert_eq!((mix.write_percent, mix.trim_percent), (30.0, 10.0));
    // 100 - 64.4 - 35.6 is a little less than nothing.
    let mix = job("read_percent = 64.4\ntrim_percent = 35.6").pattern.mix;
    assert_eq!((mix.read_percent, mix.write_percent, mix.trim_percent), (64.4, 0.0, 35.6));
    assert!(complaint("read_percent = 60\nwrite_percent = 30").contains("is not 100 %"));
    assert!(complaint("read_percent = 60\ntrim_percent = 41").contains("is not 100 %"));
    assert!(complaint("read_percent = 101").contains("0 to 100 are possible"));
    assert!(complaint("op = \"read\"\nread_percent = 1").contains("exclude each other"));
}

#[test]
fn values_of_the_wrong_kind_say_which_kind_is_wanted() {
    assert_eq!(complaint("threads = \"many\""), "\"many\" | 'threads' wants a whole number, not a string | ");
    assert_eq!(complaint("threads = 0"), "0 | 'threads': out of range | 1 to 16384 are possible");
    assert!(complaint("runtime = \"5 parsecs\"").contains("'parsecs' is not a unit of time"));
    assert!(complaint("block_size = \"4q\"").contains("'q' is not a unit of size"));
    assert!(complaint("engine = \"iouring\"").contains("the nearest is 'io_uring'"));
    assert!(complaint("invalidate = 1").contains("wants true or false, not a whole number"));
    assert!(complaint("errors_tolerated = -1").contains("out of range"));
    assert!(complaint("targets = [\"dota\"]").contains("the nearest is 'data'"));
}

#[test]
fn block_sizes_go_by_direction_or_for_all() {
    let pattern = job("read_percent = 50\nblock_size = { read = \"4k\", write = \"4k-64k\" }").traits.pattern;
    assert_eq!(pattern.read_sizes, BlockSizes::Fixed(4096));
    let range = BlockSizes::Range { min_bytes: 4096, max_bytes: 65_536, step_bytes: 4096 };
    assert_eq!((&pattern.write_sizes, &pattern.trim_sizes), (&range, &range));
    let stepped = job("block_size = { min = \"4k\", max = \"64k\", step = 512 }").traits.pattern.read_sizes;
    assert_eq!(stepped, BlockSizes::Range { min_bytes: 4096, max_bytes: 65_536, step_bytes: 512 });
    assert_eq!(job("block_size = 8192").pattern.trim_sizes, BlockSizes::Fixed(8192));
    assert!(complaint("read_percent = 50\nblock_size = { read = \"4k\" }").contains("no size for them"));
    assert!(
        complaint("block_size = { min = \"4k\" }").contains("a range of block sizes does not say its max")
    );
    assert!(complaint("block_size = 0").contains("a block size of 0"));
}

#[test]
fn patterns_are_words_or_tables() {
    let placement = |text: &str| job(&format!("pattern = {text}")).traits.pattern.placement;
    assert_eq!(placement("\"sequential\""), Placement::sequential());
    assert_eq!(placement("{ random = \"uniform\", once_per_pass = false }"), Placement::random_independent());
    let Placement::Random(zipf) = placement("{ random = \"zipf\", theta = 1.1 }") else { panic!("random") };
    assert_eq!((zipf.distribution, zipf.once_per_pass), (Distribution::Zipf { theta: 1.1 }, false));
    let Placement::Random(hits) =
        placement("{ random = \"hit_area\", read_percent = 90, write_percent = 50.5, size = \"1g\" }")
    else {
        panic!("random")
    };
    let area = Distribution::HitArea { read_percent: 90.0, write_percent: 50.5, bytes: 1 << 30 };
    assert_eq!(hits.distribution, area);
    let Placement::Random(misses) = placement("{ random = \"read-miss\", miss_percent = 25 }") else {
        panic!("random")
    };
    assert_eq!(misses.distribution, Distribution::ReadMiss { miss_percent: 25.0, hit_bytes: u64::MAX });
    let stride = Sequential { skip_min_bytes: 65_536, skip_max_bytes: 65_536, ..Sequential::default() };
    assert_eq!(placement("{ skip = \"64k\" }"), Placement::Sequential(stride));
    let Placement::Mixed { random_percent, sequential, .. } =
        placement("{ random_percent = 20, skip = \"0-4k\", shared_cursor = true }")
    else {
        panic!("mixed")
    };
    assert_eq!(
        (random_percent, sequential.skip_max_bytes, sequential.cursor_per_operation),
        (20.0, 4096, false)
    );
}

#[test]
fn patterns_that_contradict_themselves_are_refused() {
    let wrong = |text: &str| complaint(&format!("pattern = {text}"));
    assert!(wrong("{ random = \"zipf\" }").contains("random = \"zipf\" does not say its theta"));
    assert!(wrong("{ random = \"zipf\", theta = 1.1, h = 0.2 }").contains("belongs to random = \"pareto\""));
    assert!(wrong("{ random = \"uniform\", wrap = false }").contains("go together only in a mix"));
    assert!(wrong("{ random = \"read-miss\" }").contains("does not say its miss_percent"));
    assert!(
        wrong("{ random_percent = 50, random = \"read-miss\", miss_percent = 5 }")
            .contains("exclude each other")
    );
    assert!(wrong("{}").contains("an empty table"));
    assert!(wrong("\"randon\"").contains("the nearest is 'random'"));
    assert!(
        wrong("{ random = \"zoned\", zones = [{ access_percent = 0, size = \"10%\" }] }")
            .contains("no accesses")
    );
    let said = complaints(&with_target("pattern = { random = \"zipf\", theta = 2, once_per_pass = true }"));
    assert!(said.len() == 1 && said[0].contains("has no effect"), "{said:?}");
}

#[test]
fn pace_durability_and_place_are_read() {
    let made =
        job("rate = \"100MiB/s\"\narrival = \"poisson\"\nthink_time = \"10ms\"\nruntime = 30\nramp = \"5s\"");
    assert_eq!((made.rate, made.arrival), (Rate::BytesPerS(104_857_600.0), Arrival::Poisson));
    assert_eq!(made.think_time, Some(ThinkTime { time: Nanos(10_000_000), every_ios: 1 }));
    assert_eq!((made.limits.time, made.ramp), (Some(Nanos::from_secs(30)), Nanos::from_secs(5)));
    let made = job("flush = { open = \"dsync\", every_writes = 8, order = \"queued\", at_end = true }");
    let periodic = made.flush.periodic.expect("a periodic flush");
    assert_eq!((made.flush.open, made.flush.at_end), (OpenSync::Dsync, true));
    assert_eq!((periodic.every_writes, periodic.order), (8, FlushOrder::Queued));
    let made = job("sharing = \"per-thread\"\noffset = \"10%\"\nlength = \"1m\"\ncaching = \"direct\"");
    assert_eq!((made.sharing, made.caching), (TargetSharing::PerThread, Caching::Direct));
    assert_eq!((made.offset, made.length), (Extent::Percent(10.0), Some(Extent::Bytes(1 << 20))));
    assert_eq!(job("rate = 1500.5").rate, Rate::Iops(1500.5));
    assert!(complaint("content = { payload = { hex = \"abc\" } }").contains("not hexadecimal"));
}

#[test]
fn defaults_apply_until_a_job_says_otherwise() {
    let workload = plan(
        r#"
        name = "d"
        seed = 0xff
        target = [{ name = "a", path = "/a", kind = "block_device" }, { name = "b", path = "/b" }]
        [defaults]
        read_percent = 70
        block_size = "4k"
        pattern = "random"
        outstanding = 8
        runtime = 10
        flush = { open = "sync" }
        [[job]]
        name = "mixed"
        [[job]]
        op = "write"
        outstanding = 1
        runtime = "none"
        passes = 1
        flush = "none"
        targets = "b"
        "#,
    );
    let [mixed, write] = workload.phases[0].jobs.as_slice() else { panic!("two jobs") };
    assert_eq!((workload.seed, workload.targets[0].kind), (Some(255), Some(TargetKind::BlockDevice)));
    assert_eq!((mixed.name.as_str(), write.name.as_str()), ("mixed", "job-2"));
    assert_eq!((mixed.pattern.mix, write.pattern.mix), (Mix::read_write(70.0), Mix::WRITE));
    assert_eq!((mixed.outstanding_per_thread, write.outstanding_per_thread), (8, 1));
    assert_eq!((mixed.limits.time, write.limits.time), (Some(Nanos::from_secs(10)), None));
    assert_eq!((mixed.flush.open, write.flush.open), (OpenSync::Sync, OpenSync::None));
    assert_eq!((mixed.targets.len(), write.targets.as_slice()), (2, &["b".to_owned()][..]));
}

#[test]
fn an_error_in_the_defaults_is_reported_once() {
    let said = complaints(
        "[[target]]\nname = \"a\"\npath = \"/a\"\n[defaults]\nop = \"read\"\nblock_size = \"4x\"\npattern = \"random\"\n\
         [[job]]\n[[job]]\n[[job]]\n",
    );
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].starts_with("6:14 \"4x\" |"), "{said:?}");
}

const PHASES: &str = r#"
    target = [{ name = "d{}", path = "/x{}", size = "1g", count = 3 }]
    [defaults]
    op = "read"
    pattern = "random"
    [[phase]]
    name = "fill"
    kind = "precondition"
    drain = true
    pause = "5s"
    [[phase.job]]
    block_size = "1m"
    op = "write"
    targets = ["d1", "d*"]
    [[phase]]
    name = "grid"
    repeat = 2
    sweep = { outstanding = [1, 16], block_size = ["4k", "8k"] }
    curve = [50, 12.5]
    [[phase.job]]
    rate = 100
"#;

#[test]
fn phases_sweeps_curves_and_repetitions_multiply() {
    let workload = plan(PHASES);
    let fill = &workload.phases[0];
    assert_eq!((fill.name.as_str(), fill.kind, fill.drain_after), ("fill", PhaseKind::Precondition, true));
    assert_eq!(
        (fill.pause_after, fill.jobs[0].targets.join(" ")),
        (Nanos::from_secs(5), "d1 d0 d1 d2".to_owned())
    );
    assert_eq!(workload.phases.len(), 1 + 2 * 4 * 3);
    let points: Vec<&str> = workload.phases[1..].iter().map(|phase| phase.point.as_str()).collect();
    assert_eq!(points[0], "outstanding=1 block_size=4k curve=max");
    assert_eq!(points[2], "outstanding=1 block_size=4k curve=12.5%");
    assert_eq!(points[11], "outstanding=16 block_size=8k curve=12.5%");
    assert_eq!(points[..12], points[12..]);
    let last = &workload.phases[12].jobs[0];
    assert_eq!((last.outstanding_per_thread, last.rate), (16, Rate::PercentOfMax(12.5)));
    assert_eq!(last.pattern.read_sizes, BlockSizes::Fixed(8192));
    assert_eq!(workload.phases[1].jobs[0].rate, Rate::Unlimited);
}

#[test]
fn what_is_missing_is_named() {
    assert!(complaints("")[0].contains("there is nothing to do"));
    let said = complaints("[[target]]\nname = \"a\"\n[[job]]\n[[phase]]\n");
    assert!(said[0].starts_with("1:1 ") && said[0].contains("a target does not say its path"), "{said:#?}");
    assert!(said[1].contains("either under [[job]] or under phases"), "{said:#?}");
    let said = complaints("[[job]]\n[[phase]]\n");
    assert_eq!(said.len(), 1);
    let said = complaints("[[job]]\n");
    let missing: Vec<&str> = ["no target", "the job does not say its op, block_size, pattern"].to_vec();
    assert!(missing.iter().all(|what| said.iter().any(|line| line.contains(what))), "{said:#?}");
    let said = complaints(
        "assay = 2\n[[target]]\nname = \"a\"\npath = \"a\"\n[[target]]\nname = \"a\"\npath = \"b\"\n[[phase]]\n",
    );
    assert!(said[0].contains("version is not known"), "{said:#?}");
    assert!(said[1].contains("two targets with the name 'a'"), "{said:#?}");
    assert!(said[2].contains("phase 'phase-1' has no jobs"), "{said:#?}");
    // A phase without any is not read again from what is written of it.
    let said = complaints(
        "[[target]]\nname = \"a\"\npath = \"a\"\n[[phase]]\nname = \"full\"\n[[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\n\
         pattern = \"random\"\n[[phase]]\nname = \"empty\"\njob = []\n",
    );
    assert!(said.iter().any(|line| line.contains("phase 'empty' has no jobs")), "{said:#?}");
}

const REFERENCE: &str = include_str!("../../../../docs/formats/plan.md");

#[test]
fn every_example_of_the_reference_is_a_plan() {
    let blocks: Vec<&str> =
        REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 6);
    for block in &blocks {
        let (workload, said) = parse("example", block);
        let right = said.iter().all(|note| note.id == "other-host");
        assert!(workload.is_some() && right, "{said:#?}\n{block}");
    }
    assert_eq!(plan(blocks[blocks.len() - 1]).phases.len(), 1 + 3 * 2 * 2 * 4);
}
