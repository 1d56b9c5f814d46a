//! `assay mail`: databases are built, tested and verified; a run that is killed loses nothing that it acknowledged.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use assay_faultfs::{Fault, FaultFs, Op, Options, Rule, missing};
use rustix::process::Signal;

use crate::bounded::Bounded as _;
use crate::world::{World, json, path_text, signal, wait_for};

const SMALL: &str = "size=48MiB";
const CACHE: [&str; 2] = ["cache_min=4MiB", "cache_max=4MiB"];

#[test]
fn databases_are_built_tested_and_verified() {
    let world = World::new();
    let at = world.data().join("mail");
    let at = path_text(&at);
    let missing = world.assay(&["mail", "run", at, SMALL]);
    assert_eq!(missing.code, Some(1), "{}", missing.err);
    assert!(missing.err.contains(&format!("build it first: assay mail build {at}")), "{}", missing.err);
    let built = world.assay(&["mail", "build", at, SMALL, "databases=2"]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.out.contains("leaves with"), "{}", built.out);
    let run = [
        "mail",
        "run",
        at,
        SMALL,
        "databases=2",
        "threads=2",
        "time=2s",
        "ramp=1s",
        "copies=2",
        CACHE[0],
        CACHE[1],
    ];
    let run = world.assay(&run);
    // Whether the storage is fast enough is not this test's question.
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.err);
    for part in [
        "Jetstress-like; not Microsoft Jetstress; not comparable with ESRP",
        "short test",
        "achieved transactional I/O per second",
        "System parameters",
        "Database configuration",
        "Transactional I/O",
        "Background database maintenance I/O",
        "Total I/O",
        "Test result: ",
        "database 2: average log write latency",
        "sampled messages are as they were durably committed",
    ] {
        assert!(run.out.contains(part), "{part}: {}\n{}", run.out, run.err);
    }
    let backup = world.assay(&["mail", "run", at, SMALL, "databases=2", "test=backup"]);
    assert!(backup.code == Some(0) && backup.out.contains("all databases"), "{}{}", backup.out, backup.err);
    let recovery = ["mail", "run", at, SMALL, "test=recovery", "logs=3", "threads=2"];
    // What is reported would be of a larger database.
    let larger = world.assay(&[&recovery[..], &CACHE, &["databases=1"]].concat());
    let said = "database 1 in ";
    assert!(larger.code == Some(1) && larger.err.contains(said) && larger.out.is_empty(), "{}", larger.err);
    assert!(larger.err.contains(" has 24 MiB with its growth, not 48 MiB: give size=, "), "{}", larger.err);
    let recovery = world.assay(&[&recovery[..], &CACHE].concat());
    assert_eq!(recovery.code, Some(0), "{}", recovery.err);
    assert!(recovery.out.contains("logs replayed in"), "{}", recovery.out);
    // Number and size are those of what was built.
    let checked = world.assay(&["mail", "check", at]).ended(0);
    assert!(checked.out.contains("database 2: ") && checked.out.contains("leaves with"), "{}", checked.out);
    let cleaned = world.assay(&["cleanup", at]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.err);
    assert!(!fs::exists(at).expect("known"), "{}{}", cleaned.out, cleaned.err);
}

#[test]
fn a_killed_run_loses_nothing_that_it_acknowledged() {
    let world = World::new();
    let at = world.data().join("mail");
    let at = path_text(&at);
    let built = world.assay(&["mail", "build", at, SMALL]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    let kills = std::env::var("ASSAY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    for kill in 0..kills {
        let run = ["mail", "run", at, SMALL, "threads=4", "time=1m", "--watch", "counters"];
        let mut child = world.command(&[&run[..], &CACHE].concat()).start().expect("it starts");
        let ledger = world.data().join("mail/mail-1.ledger");
        wait_for("acknowledged changes", || fs::metadata(&ledger).is_ok_and(|meta| meta.len() > 2000));
        std::thread::sleep(Duration::from_millis(kill * 53 % 400));
        signal(&child, Signal::KILL);
        child.wait().expect("it ended");
        let checked = world.assay(&["mail", "check", at, SMALL]);
        assert_eq!(checked.code, Some(0), "kill {kill}: {}{}", checked.out, checked.err);
        assert!(checked.out.contains("logs replayed"), "{}", checked.out);
        assert!(checked.out.contains("as they were durably committed"), "{}", checked.out);
        // What the ledger says has been looked at.
        fs::write(&ledger, "").expect("an empty ledger");
    }
}

#[test]
fn an_interrupted_build_says_so_and_a_plan_begins_it_anew() {
    let world = World::new();
    let at = world.data().join("mail");
    let mut command = world.command(&["mail", "build", path_text(&at), "size=1GiB"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("it starts");
    wait_for("pages", || fs::metadata(at.join("mail-1.database")).is_ok_and(|meta| meta.len() > 1 << 20));
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("it ended").code(), Some(5));
    for action in ["check", "run"] {
        let said = world.assay(&["mail", action, path_text(&at), "size=1GiB"]).ended(1);
        assert!(said.err.contains("the database is half built; build it again"), "{}", said.err);
    }
    let plan = world.data().join("build.toml");
    let job = "application = { kind = \"mail\", task = \"build\", size = \"32MiB\" }";
    fs::write(
        &plan,
        format!("[[target]]\nname = \"mail\"\npath = \"mail\"\nkind = \"directory\"\n[[job]]\n{job}\n"),
    )
    .expect("a plan");
    world.assay(&["run", path_text(&plan), "--target", path_text(&world.data())]).ended(0);
    world.assay(&["mail", "check", path_text(&at), "size=32MiB"]).ended(0);
    fs::remove_file(at.join("mail-1.checkpoint")).expect("a file");
    let said = world.assay(&["mail", "check", path_text(&at)]).ended(1);
    assert!(
        said.err.contains("mail-1.checkpoint is missing; restore all files of the database"),
        "{}",
        said.err
    );
}

#[test]
fn a_slow_storage_fails_because_of_its_reads() {
    if let Some(why) = missing() {
        crate::skip::declare("fuse", &why);
        return;
    }
    let fs = FaultFs::mount(Options::default()).expect("it is mounted");
    let world = World::new();
    let at = fs.path().join("mail");
    let at = path_text(&at);
    let built = world.assay(&["mail", "build", at, SMALL]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    fs.inject(Rule::new(Op::Read, Fault::Delay(Duration::from_millis(25))).of_file("mail-1.database"));
    let run = ["mail", "run", at, SMALL, "threads=4", "time=4s", "ramp=1s", "maintenance=off"];
    let run = world.assay(&[&run[..], &CACHE].concat());
    assert_eq!(run.code, Some(1), "{}", run.err);
    let line =
        run.out.lines().find(|line| line.contains("average database read latency")).expect("a criterion");
    assert!(line.contains("FAIL: "), "{line}");
    assert!(run.err.contains("the test failed: database 1: average database read latency"), "{}", run.err);
}

#[test]
fn threads_are_tuned_until_reads_take_nearly_as_long_as_they_may() {
    if let Some(why) = missing() {
        crate::skip::declare("fuse", &why);
        return;
    }
    let fs = FaultFs::mount(Options::default()).expect("it is mounted");
    let world = World::new();
    let at = fs.path().join("mail");
    let at = path_text(&at);
    world.assay(&["mail", "build", at, SMALL]).ended(0);
    // Each thread more is one more in the queue: 8 ms, 16 ms, 24 ms.
    fs.inject(Rule::new(Op::Read, Fault::Queue(Duration::from_millis(8))).of_file("mail-1.database"));
    let run =
        ["mail", "run", at, "threads=auto", "time=3s", "ramp=1s", "maintenance=off", CACHE[0], CACHE[1]];
    let run = world.assay(&run);
    let said = |threads: &str| {
        let start = format!("tuning of database 1: {threads}: ");
        let line = run.out.lines().find_map(|line| line.trim_start().strip_prefix(&start).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{start}: {}{}", run.out, run.err))
    };
    let read_ms = |threads: &str| -> f64 {
        let line = said(threads);
        let figure = line.rsplit("database reads ").next().and_then(|end| end.strip_suffix(" ms"));
        figure.and_then(|figure| figure.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    assert!(read_ms("1 thread") >= 8.0 && read_ms("4 threads") > 20.0, "{}", run.out);
    let mean = run.out.lines().find(|line| line.contains("average database read latency"));
    assert!(mean.is_some_and(|line| line.contains("pass: ")), "{}{}", run.out, run.err);
    assert!(run.out.contains("64 at most, tuned"), "{}", run.out);
}

/// A tile of mail alone, whose reads must stay below a limit.
fn tile(limit: &str) -> String {
    let job = |name: &str, task: &str, more: &str| {
        format!(
            "[[phase.job]]\nname = \"{name}\"\napplication = {{ kind = \"mail\", task = \"{task}\", size = \"32MiB\", \
             cache_min = \"4MiB\", cache_max = \"4MiB\" }}\n{more}\n"
        )
    };
    let run =
        format!("threads = 2\nrate = 30\nruntime = \"3s\"\nservice_level = \"database read mean<{limit}\"");
    format!(
        "name = \"tile\"\ntarget = [{{ name = \"mail\", path = \"mail\", kind = \"directory\" }}]\n\
         [[phase]]\nname = \"prepare\"\nkind = \"precondition\"\n{}[[phase]]\nname = \"work\"\n{}\
         [[phase]]\nname = \"verify\"\nkind = \"verify\"\n{}",
        job("build", "build", ""),
        job("mail", "run", &run),
        job("check", "check", "")
    )
}

#[test]
fn tiles_are_added_until_one_misses_its_service_level() {
    let world = World::new();
    let data = world.data();
    let plan = data.join("tile.toml");
    fs::write(&plan, tile("1ns")).expect("a plan");
    let run = ["run", path_text(&plan), "--target", path_text(&data), "--tiles", "3"];
    let said = world.assay(&[&run[..], &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let document = json(&said.out);
    let score = &document["tiles"];
    assert_eq!((&score["held"], &score["missed_at"], &score["planned"]), (&0.into(), &1.into(), &3.into()));
    let names = |document: &serde_json::Value| -> Vec<String> {
        let phases = document["phases"].as_array().expect("a list").iter();
        phases.map(|phase| format!("{} {}", phase["name"], phase["point"]).replace('"', "")).collect()
    };
    // Databases of all tiles are there, and are verified; no second tile was measured.
    assert_eq!(names(&document), ["prepare ", "work tiles=1", "verify "]);
    assert!(data.join("tile-3-mail/mail-1.database").exists());
    assert!(
        said.out.contains("a tile missed a service level: tile 1: mail: database read mean"),
        "{}",
        said.out
    );
    // What is there is used as it is.
    fs::write(&plan, tile("1h")).expect("a plan");
    let said = world.assay(&["run", path_text(&plan), "--target", path_text(&data), "--tiles", "2"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("database 1 is used as it is"), "{}", said.out);
    assert!(said.out.contains("Score: "), "{}", said.out);
}

#[test]
fn what_a_plan_says_wrongly_of_an_application_is_said_at_its_place() {
    let world = World::new();
    let plan = world.data().join("p.toml");
    let text = tile("20ms");
    for (from, to, expected) in [
        (
            "kind = \"mail\", task = \"run\"",
            "kind = \"mial\", task = \"run\"",
            "there is no application 'mial'",
        ),
        ("task = \"run\"", "task = \"run\", threads = 3", "'threads'"),
        ("task = \"run\"", "task = \"walk\"", "'walk' is not possible"),
        ("service_level = \"database read mean<20ms\"", "service_level = \"mean\"", "is not a service level"),
    ] {
        fs::write(&plan, text.replacen(from, to, 1)).expect("a plan");
        let said = world.assay(&["plan", path_text(&plan)]);
        assert_eq!(said.code, Some(2), "{to}: {}", said.err);
        assert!(said.err.contains(expected) && said.err.contains("p.toml:"), "{to}: {}", said.err);
    }
    let alone = text.replace("service_level", "# service_level");
    fs::write(&plan, alone).expect("a plan");
    let said = world.assay(&["plan", path_text(&plan), "--tiles", "2"]);
    assert!(
        said.code == Some(2) && said.err.contains("no job of phase 'work' has a service_level"),
        "{}",
        said.err
    );
}

#[test]
fn what_cannot_be_is_said_before_anything_is_made() {
    let world = World::new();
    let at = world.data().join("mail");
    let at = path_text(&at);
    let said = |words: &[&str]| {
        let said = world.assay(words);
        assert_eq!(said.code, Some(2), "{words:?}: {}", said.err);
        said.err
    };
    assert!(said(&["mail", "make", at]).contains("build, run, check"));
    assert!(said(&["mail", "run", at, "thread=4"]).contains("no setting 'thread'; available: test, time"));
    assert!(said(&["mail", "run", at, "threads=0"]).contains("threads=0: 1 to 256, or auto"));
    assert!(!fs::exists(at).expect("known"));
    fs::create_dir(at).expect("a directory");
    fs::write(world.data().join("mail/mail-1.database"), "mine").expect("a file");
    let foreign = world.assay(&["mail", "build", at, SMALL]);
    assert_ne!(foreign.code, Some(0), "{}", foreign.err);
    assert_eq!(fs::read_to_string(world.data().join("mail/mail-1.database")).expect("still there"), "mine");
}

#[test]
fn a_dry_run_builds_nothing_and_files_of_others_stay() {
    let world = World::new();
    let at = world.data().join("mail");
    let build = ["mail", "build", path_text(&at), SMALL];
    let plan = world.assay(&[&build[..], &["--dry-run"]].concat()).ended(0);
    assert!(plan.out.contains("mail-build") && !at.exists(), "{}", plan.out);
    assert!(world.run_directories().is_empty());
    world.assay(&[&build[..], &["--engine", "psync"]].concat()).ended(2);
    // What it is told to write is looked at before.
    world.assay(&[&build[..], &["--json", "--html", "/dev/full"]].concat()).ended(2);
    assert!(!at.exists());
    world.assay(&build).ended(0);
    // A name that the log may have one day, and one that it never has.
    let foreign = ["mail-1.log-00000077", "mail-1.log-7", "notes"].map(|name| at.join(name));
    foreign.iter().for_each(|path| fs::write(path, "mine").expect("a file"));
    let said = world.assay(&["mail", "build", path_text(&at), "size=64MiB"]).ended(1);
    assert!(said.err.contains("mail-1.log-00000077 is not the file that Assay made"), "{}", said.err);
    fs::remove_file(&foreign[0]).expect("a file");
    world.assay(&["cleanup", path_text(&at)]).ended(1);
    for path in &foreign[1..] {
        assert_eq!(fs::read_to_string(path).expect("it stays"), "mine", "{}", path.display());
    }
    // No consent makes somebody's directory one for databases, and none is asked for.
    let theirs = world.data().join("theirs");
    fs::create_dir(&theirs).expect("a directory");
    let more = ["--destroy-data", path_text(&theirs)];
    let said = world.assay(&[&["mail", "build", path_text(&theirs), SMALL], &more[..]].concat());
    assert!(said.code != Some(0) && said.err.contains("databases go into a directory that"), "{}", said.err);
    assert_eq!(fs::read_dir(&theirs).expect("it stays").count(), 0);
}
