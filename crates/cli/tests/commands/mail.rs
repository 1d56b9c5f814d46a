//! `assay mail`: databases are built, tested and verified; a run that is killed loses nothing that it acknowledged.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::bounded::Bounded as _;
use crate::world::{World, path_text, signal, wait_for};

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
    let recovery = world.assay(&[&recovery[..], &CACHE].concat());
    assert_eq!(recovery.code, Some(0), "{}", recovery.err);
    assert!(recovery.out.contains("logs replayed in"), "{}", recovery.out);
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
