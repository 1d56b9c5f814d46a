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
    let needed = [("op", "\"read\""), ("block_size", "\"4k\""), ("pattern", "\"random\"")];
    let said = |key: &str| {
        keys.lines().any(|line| line.starts_with(key)) || key == "op" && keys.contains("_percent")
    };
    let added: String = needed
        .iter()
        .filter(|(key, _)| !said(key))
        .map(|(key, value)| format!("{key} = {value}\n"))
        .collect();
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
    assert!(complaint("read_percent = 60\nwrite_percent = 30").contains("is not 100 %"));
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
