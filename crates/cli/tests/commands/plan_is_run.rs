//! The plan that `assay plan` prints is the plan that runs.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use assay_host::workdir::claim_file;
use rustix::process::Signal;
use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::mounts::Mounted;
use crate::world::{Said, World, entries, json, path_text, signal, wait_for};

const PROFILES: [&str; 8] = [
    "real-life",
    "max-real-io",
    "max-bandwidth",
    "silly-512b",
    "snia-iops",
    "snia-latency",
    "snia-throughput",
    "snia-write-saturation",
];

/// The plan as `assay plan` says it.
fn printed(world: &World, words: &[&str]) -> Value {
    let said = world.assay(&[&["plan", "--json"], words].concat()).ended(0);
    json(&said.out)["plan"].take()
}

/// The plan that a run began with; the run is stopped as soon as it has said so.
fn begun(world: &World, words: &[&str]) -> Value {
    let known = world.run_directories();
    let mut command = world.command(&[&["run", "--watch", "nothing"], words].concat());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().expect("the program starts");
    let stored = || {
        let runs = world.run_directories();
        let new = runs.iter().find(|run| !known.contains(run));
        let plan = new.and_then(|run| fs::read(run.join("plan.json")).ok());
        plan.and_then(|text| serde_json::from_slice::<Value>(&text).ok())
    };
    wait_for("the plan of the run", || stored().is_some());
    signal(&child, Signal::INT);
    let plan = stored().expect("a plan");
    let said = Said::of(child.wait_with_output().expect("ended"));
    assert!(matches!(said.code, Some(0 | 5)), "{:?}: {}", said.code, said.err);
    plan
}

#[track_caller]
fn same(what: &str, printed: &Value, ran: &Value) {
    let differing: Vec<String> = differences("", printed, ran);
    assert!(
        differing.is_empty(),
        "{what}: the plan that was printed is not the one that ran:\n{differing:#?}"
    );
}

/// The places in which two documents differ, the first few.
fn differences(at: &str, left: &Value, right: &Value) -> Vec<String> {
    let below: Vec<(String, &Value, &Value)> = match (left, right) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().map(|(key, value)| (format!("{at}/{key}"), value, &b[key])).collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().map(|(index, (a, b))| (format!("{at}/{index}"), a, b)).collect()
        }
        _ if left == right => return Vec::new(),
        _ => {
            let short = |value: &Value| value.to_string().chars().take(60).collect::<String>();
            return vec![format!("{at}: {} and {}", short(left), short(right))];
        }
    };
    below.iter().flat_map(|(at, left, right)| differences(at, left, right)).take(6).collect()
}

/// Every profile in a directory that does not exist yet, and again where its files are.
fn profiles_in(world: &World, place: &Path, direct: bool) {
    for profile in PROFILES {
        let directory = place.join(profile);
        fs::create_dir(&directory).expect("a directory");
        let words =
            ["--profile", profile, "--target", path_text(&directory), "--scale", "1e-9", "--seed", "7"];
        let plan = printed(world, &words);
        assert!(entries(&directory).is_empty(), "{profile}: 'assay plan' made something");
        assert_eq!(plan["phases"][0]["jobs"][0]["direct"], direct, "{profile}");
        same(&format!("{profile}, new"), &plan, &begun(world, &words));
        // The files as a run leaves them, in a directory of Assay's.
        fs::remove_dir_all(directory.join("assay-run")).ok();
        world
            .assay(&[
                "run",
                "--watch",
                "nothing",
                "--target",
                path_text(&directory),
                "--profile",
                "snia-write-saturation",
                "--scale",
                "1e-9",
                "--runtime",
                "10ms",
            ])
            .ended(0);
        for target in plan["targets"].as_array().expect("targets") {
            let bytes = vec![1; target["size_bytes"].as_u64().expect("a size") as usize];
            let path = Path::new(target["path"].as_str().expect("a path"));
            fs::write(path, bytes).expect("a file");
            let file = fs::File::open(path).expect("the file");
            claim_file(&file, path).expect("marked, as a run marks what it makes");
        }
        let plan = printed(world, &words);
        assert!(plan["targets"][0]["existing_bytes"].as_u64() > Some(0), "{profile}");
        same(&format!("{profile}, existing"), &plan, &begun(world, &words));
        fs::remove_dir_all(&directory).expect("removed");
    }
}

#[test]
fn of_every_profile_in_a_new_directory_and_in_the_existing_one() {
    let world = World::new();
    let direct = world.takes_direct_io();
    profiles_in(&world, &world.data(), direct);
}

#[test]
fn of_every_profile_in_memory() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("memory"), "size=1600m") else { return };
    let direct = fs::write(mounted.path().join("probe"), [0; 4096]).is_ok()
        && crate::world::opens_direct(&mounted.path().join("probe"));
    profiles_in(&world, mounted.path(), direct);
}

#[test]
fn of_sizes_that_are_scaled_to_the_space() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 256) else { return };
    let words = ["--profile", "real-life", "--target", path_text(mounted.path()), "--seed", "7"];
    let plan = printed(&world, &words);
    same("real-life on a small file system", &plan, &begun(&world, &words));
    let words = [&words[..], &["--runtime", "100ms"]].concat();
    world.assay(&[&["run", "--watch", "nothing"][..], &words].concat()).ended(0);
    let plan = printed(&world, &words);
    same("real-life where its files are", &plan, &begun(&world, &words));
}

#[test]
fn of_other_file_systems() {
    let world = World::new();
    for (kind, mib) in [("btrfs", 256), ("xfs", 320)] {
        let Some(mounted) = Mounted::on_loop(&world, kind, mib) else { continue };
        let words = [
            "--profile",
            "max-real-io",
            "--target",
            path_text(mounted.path()),
            "--scale",
            "1e-9",
            "--seed",
            "7",
        ];
        let plan = printed(&world, &words);
        assert_eq!(plan["phases"][0]["jobs"][0]["direct"], true, "{kind}");
        same(kind, &plan, &begun(&world, &words));
    }
}

#[test]
fn of_files_in_the_directory_and_below_it() {
    let world = World::new();
    let file = world.path().join("job.fio");
    fs::write(&file, "[global]\nbs=4k\nsize=1m\nruntime=1\ntime_based=1\n[r]\nrw=randread\n[w]\nrw=write\n")
        .expect("a file");
    let (job, data) = (path_text(&file).to_owned(), world.data());
    let words = [&job, "--target", path_text(&data), "--seed", "7"];
    for what in ["new", "existing"] {
        let plan = printed(&world, &words);
        same(what, &plan, &begun(&world, &words));
        world.assay(&[&["run", "--watch", "nothing", "--runtime", "100ms"], &words[..]].concat()).ended(0);
    }
}

/// The plan of the quick series is the same in a new directory and in the one it left, but for what is there.
#[test]
fn of_the_quick_series() {
    for (series, test) in
        [("assay-1", crate::world::TEST), ("stb-2.1", "16 files, 1 thread each, seq 1M writes, simple")]
    {
        let world = World::new();
        let data = world.data();
        let words = [
            "quick",
            path_text(&data),
            "--series",
            series,
            "--test",
            test,
            "--window",
            "100ms",
            "--seed",
            "7",
        ];
        let dry = world.assay(&[&words[..], &["--dry-run", "--json"]].concat()).ended(0);
        let dry = json(&dry.out)["plan"].take();
        assert!(entries(&data).is_empty(), "{series}: --dry-run made something");
        for what in ["new", "existing"] {
            let ran = world.assay(&[&words[..], &["--json"]].concat()).ended(0);
            let mut ran = json(&ran.out)["plan"].take();
            let mut dry = dry.clone();
            for plan in [&mut ran, &mut dry] {
                for target in plan["targets"].as_array_mut().expect("targets") {
                    target["existing_bytes"] = Value::Null;
                }
            }
            same(&format!("{series}, {what}"), &dry, &ran);
        }
    }
}
