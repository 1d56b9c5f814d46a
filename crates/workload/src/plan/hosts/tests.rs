use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::host::{Host, HostRanges};
use crate::job::{Job, Phase, Rate, TargetSharing, Workload};
use crate::pattern::{AccessPattern, Mix, Placement};
use crate::plan::{SliceRate, ThreadSlice};
use crate::resolve::{self, Inventory, ResolveError, TargetFacts};
use crate::target::{Target, TargetKind};
use crate::units::Bytes;

const SIZE: u64 = 10 << 20;
const BLOCK: u64 = 4096;

fn target(name: &str) -> Target {
    Target { name: name.into(), path: format!("/t/{name}"), kind: None, size: Some(Bytes(SIZE)) }
}

fn job(name: &str, targets: &[&str]) -> Job {
    Job::new(name, targets, AccessPattern::new(Mix::READ, BLOCK, Placement::random_map()))
}

/// Two jobs on two targets: `j` on all hosts, `k` on those whose names are given.
fn workload(hosts: &[&str], threads: u32, k: &[&str]) -> Workload {
    let rate = Rate::Iops(600.0);
    let all = Job { threads, rate, host_ranges: HostRanges::Divided, ..job("j", &["a", "b"]) };
    let some = Job {
        sharing: TargetSharing::PerThread,
        hosts: k.iter().map(|&name| name.to_owned()).collect(),
        ..job("k", &["b", "a"])
    };
    Workload {
        name: "w".into(),
        seed: Some(7),
        hosts: hosts.iter().map(|&name| Host::new(name)).collect(),
        targets: vec![target("a"), target("b")],
        phases: vec![Phase::measure("p", vec![all, some])],
    }
}

fn planned(workload: &Workload) -> Result<Plan, ResolveError> {
    let facts = |target: &Target| TargetFacts {
        path: target.path.clone(),
        kind: TargetKind::File,
        existing_bytes: 0,
        direct_align_bytes: Some(512),
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: workload.targets.iter().map(|target| (target.name.clone(), facts(target))).collect(),
        engines: vec![crate::job::EngineKind::Psync],
        ..Inventory::default()
    };
    resolve::plan(workload, &inventory, 0)
}

fn plan(workload: &Workload) -> Plan {
    planned(workload).expect("a plan")
}

/// A slice by what it does, wherever it stands in a plan: seed, rate, and the target and range of each site.
type Done = (u64, Option<SliceRate>, Vec<(String, String, u64, u64)>);

fn done(plan: &Plan, slice: &ThreadSlice) -> Done {
    let sites = slice.sites.iter().map(|site| {
        let target = &plan.targets[site.target as usize];
        (target.name.clone(), target.path.clone(), site.offset_bytes, site.length_bytes)
    });
    (slice.seed, slice.rate, sites.collect())
}

fn all_done(plan: &Plan, job: usize) -> Vec<Done> {
    plan.phases[0].jobs[job].slices.iter().map(|slice| done(plan, slice)).collect()
}

fn ids(plan: &Plan) -> impl Iterator<Item = HostId> {
    (0..plan.hosts.len().max(1) as u16).map(HostId)
}

proptest! {
    #[test]
    fn the_parts_of_the_hosts_are_the_whole_plan(hosts in 1_usize..9, threads in 1_u32..5, subset in any::<u8>()) {
        let names: Vec<String> = (0..hosts).map(|number| format!("h{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let some: Vec<&str> = (0..hosts).filter(|bit| subset >> bit & 1 == 1).map(|bit| names[bit]).collect();
        let whole = plan(&workload(&names, threads, &some));
        let mut offered = 0.0;
        for job in 0..2 {
            let parts: Vec<Done> = ids(&whole).flat_map(|id| all_done(&whole.for_host(id), job)).collect();
            prop_assert_eq!(&parts, &all_done(&whole, job));
            let seeds: BTreeSet<u64> = parts.iter().map(|done| done.0).collect();
            prop_assert_eq!(seeds.len(), parts.len(), "no two threads draw alike");
        }
        for id in ids(&whole) {
            let part = whole.for_host(id);
            prop_assert!(part.hosts.is_empty() && part.targets.iter().all(|target| target.host.is_first()));
            prop_assert_eq!(&part.for_host(HostId::FIRST), &part, "a plan for one host is its own part");
            offered += part.phases[0].jobs[0].offered_iops().expect("a rate");
            let rates = part.phases[0].jobs[0].slices_iops().expect("a rate");
            prop_assert!((rates - 600.0 / hosts as f64).abs() < 1e-9);
        }
        prop_assert!((offered - 600.0).abs() < 1e-6);
    }

    #[test]
    fn a_divided_range_has_each_block_on_one_host(hosts in 1_usize..40, blocks in 40_u64..3000, rest in 0_u64..BLOCK) {
        let names: Vec<String> = (0..hosts).map(|number| format!("h{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut asked = workload(&names, 1, &[]);
        asked.targets.iter_mut().for_each(|target| target.size = Some(Bytes(blocks * BLOCK + rest)));
        let whole = plan(&asked);
        let mut parts: Vec<(u64, u64)> = whole.phases[0].jobs[0]
            .slices
            .iter()
            .map(|slice| (slice.sites[0].offset_bytes, slice.sites[0].length_bytes))
            .collect();
        parts.sort_unstable();
        let mut at = 0;
        for (offset, length) in parts {
            prop_assert_eq!(offset, at);
            prop_assert!(offset % BLOCK == 0 && length >= BLOCK);
            at = offset + length;
        }
        prop_assert_eq!(at, blocks * BLOCK + rest);
    }
}

#[test]
fn a_host_draws_the_same_whatever_hosts_are_beside_it() {
    let seeds = |hosts: &[&str], name: &str| -> Vec<u64> {
        let whole = plan(&workload(hosts, 3, &[]));
        let at = hosts.iter().position(|host| *host == name).expect("a host");
        all_done(&whole.for_host(HostId(at as u16)), 1).into_iter().map(|done| done.0).collect()
    };
    assert_eq!(seeds(&["x", "y"], "y"), seeds(&["z", "y", "w", "x"], "y"));
    assert_ne!(seeds(&["x", "y"], "x"), seeds(&["x", "y"], "y"));
}

#[test]
fn without_hosts_and_on_this_machine_alone_plans_are_as_before() {
    let bare = plan(&workload(&[], 2, &[]));
    assert_eq!(bare.for_host(HostId::FIRST), bare);
    assert_eq!(bare.on_one_machine(), bare);
    let text = serde_json::to_string(&bare).expect("JSON");
    assert!(!text.contains("host"), "{text}");
    let mut here = workload(&["db1"], 2, &["db1"]);
    here.hosts[0].system = Some("localhost".into());
    assert_eq!(plan(&here), bare);
}

#[test]
fn targets_have_the_paths_of_their_hosts_and_are_one_target_for_the_storage() {
    let mut asked = workload(&["x", "y"], 1, &["y"]);
    asked.hosts[1].paths.insert("a".into(), "/dev/other".into());
    asked.phases[0].jobs[0].hosts = vec!["x".into()];
    let whole = plan(&asked);
    let path =
        |id| whole.for_host(HostId(id)).targets.iter().map(|target| target.path.clone()).collect::<Vec<_>>();
    assert_eq!(
        (path(0), path(1)),
        (vec!["/t/a".into(), "/t/b".into()], vec!["/dev/other".into(), "/t/b".into()])
    );
    assert_eq!(whole.for_host(HostId(0)).phases[0].jobs[1].slices.len(), 0, "jobs keep their places");
    let together = whole.on_one_machine();
    assert_eq!(together.targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(together.phases[0].jobs.iter().map(|job| job.slices.len()).collect::<Vec<_>>(), [1, 1]);
    let told = whole.describe();
    for line in ["host x: x\n", "target a on y: file /dev/other", "job k: on y", "thread 0 on x: seed"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let again: Plan = serde_json::from_str(&serde_json::to_string(&whole).expect("JSON")).expect("a plan");
    assert_eq!(again, whole);
}

#[test]
fn a_host_without_a_part_in_a_job_of_a_rate_has_a_sound_plan() {
    let mut asked = workload(&["h1", "h2"], 1, &["h1"]);
    asked.phases[0].jobs[1].rate = Rate::Iops(100.0);
    let whole = plan(&asked);
    for host in [HostId(0), HostId(1)] {
        whole.for_host(host).check().expect("a sound plan");
    }
}

#[test]
fn hosts_that_contradict_each_other_are_named() {
    let error = |workload: &Workload| planned(workload).expect_err("refused").to_string();
    assert_eq!(error(&workload(&["x", "x"], 1, &[])), "there are two hosts with the name 'x'");
    assert_eq!(error(&workload(&["x", "y"], 1, &["z"])), "job 'k' runs on host 'z', which is not defined");
    let mut unsized_target = workload(&["x", "y"], 1, &[]);
    unsized_target.targets[0].size = None;
    assert_eq!(error(&unsized_target), "target 'a' has no size, and host 'x' was not looked at: give one");
}
