//! A run whose program is killed, whose machine loses power, or whose results' disk fills up: what was recorded of it is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_faultfs::{Cut, FaultFs, Options, missing};
use assay_results::series::{Level, SeriesReader};
use rustix::process::Signal;
use serde_json::Value;

use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::world::{Said, World, entries, json, path_text, signal, wait_for};

/// Runs that are killed.
const KILLS: u64 = 30;
/// How many run at once.
const AT_ONCE: usize = 6;

/// A place for runs whose power can be cut; none where nothing can be mounted.
fn store() -> Option<FaultFs> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return None;
    }
    let fs = FaultFs::mount(Options { power_cuts: true, ..Options::default() }).expect("it is mounted");
    fs::create_dir(fs.join("runs"))
        .and_then(|()| fs::File::open(fs.path())?.sync_all())
        .expect("a directory");
    Some(fs)
}

/// Starts a run of so many seconds that does little, and reports five times a second.
fn start(world: &World, runs: &Path, seconds: u32) -> Started {
    let job = world.path().join("job.fio");
    let text = format!(
        "[j]\nfilename=data\nsize=4m\nrw=randread\nbs=4k\nioengine=psync\nrate_iops=200\ntime_based\nruntime={seconds}\n"
    );
    fs::write(&job, text).expect("a job file");
    let data = world.data();
    let mut command =
        world.command(&["run", path_text(&job), "--target", path_text(&data), "--watch", "counters"]);
    command.env("ASSAY_RUNS", runs).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.start().expect("the program starts")
}

fn only_run(runs: &Path) -> Option<PathBuf> {
    entries(runs).pop()
}

/// Waits until so much is stored of the intervals.
fn wait_for_series(runs: &Path, bytes: u64) {
    wait_for("intervals", || {
        let series = only_run(runs).map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() >= bytes))
    });
}

/// Operations in the whole frames of a series.
fn stored_ios(series: &Path) -> u64 {
    let file = fs::File::open(series).expect("a series");
    let mut reader = SeriesReader::open(std::io::BufReader::new(file)).expect("its beginning");
    let mut ios = 0;
    while let Some(frame) = reader.next_frame().expect("readable") {
        ios += if frame.level == Level::Period { frame.interval.counts.data_ios() } else { 0 };
    }
    ios
}

fn recovered(world: &World, runs: &Path) -> Said {
    let mut command = world.command(&["runs", "recover", "last", "--json"]);
    Said::of(command.env("ASSAY_RUNS", runs).output_in_time().expect("the program starts"))
}

fn ios_of(run: &Value) -> u64 {
    let jobs =
        run["phases"].as_array().into_iter().flatten().flat_map(|phase| phase["jobs"].as_array()).flatten();
    jobs.filter_map(|job| job["total"]["ios"].as_u64()).sum()
}

/// One run that is killed at a moment drawn from `seed`, and its power cut in every second one.
fn killed(seed: u64) {
    let Some(fs) = store() else { return };
    let (world, runs) = (World::new(), fs.join("runs"));
    let mut child = start(&world, &runs, 20);
    let drawn = assay_workload::rng::splitmix64(&mut { seed }) >> 32;
    wait_for_series(&runs, 600);
    std::thread::sleep(Duration::from_millis(drawn % 700));
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    let directory = only_run(&runs).expect("a run");
    let series = directory.join("series.bin");
    let (stored, torn) = (stored_ios(&series), drawn % 40);
    assert!(stored >= 40, "{seed}: {stored}: an interval was complete");
    // A write that was cut in the middle.
    let mut bytes = fs::read(&series).expect("read");
    bytes.extend_from_within(bytes.len() - torn as usize..);
    fs::write(&series, &bytes).expect("written");
    let said = recovered(&world, &runs).ended(0);
    let run = json(&said.out);
    assert_eq!((ios_of(&run), &run["verdict"]), (stored, &"incomplete".into()), "{seed}: {}", said.err);
    if seed.is_multiple_of(2) {
        // What was recovered is durable, and the rest is whatever it is.
        fs.cut(Cut::KeepNothing);
        let mut command = world.command(&["runs", "show", "last", "--json"]);
        let shown = Said::of(command.env("ASSAY_RUNS", &runs).output_in_time().expect("the program starts"));
        assert_eq!(ios_of(&json(&shown.ended(0).out)), stored, "{seed}");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_keeps_its_completed_intervals() {
    if store().is_none() {
        return;
    }
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let seed @ 0..KILLS = next.fetch_add(1, Ordering::Relaxed) {
                    killed(seed);
                }
            });
        }
    });
}

#[test]
fn a_power_cut_leaves_a_run_or_a_reason() {
    if store().is_none() {
        return;
    }
    let cut = |seed: u64| {
        let Some(fs) = store() else { return };
        let (world, runs) = (World::new(), fs.join("runs"));
        let mut child = start(&world, &runs, 20);
        wait_for_series(&runs, 1200);
        signal(&child, Signal::KILL);
        child.wait().expect("ended");
        let stored = stored_ios(&only_run(&runs).expect("a run").join("series.bin"));
        fs.cut(Cut::KeepSome { seed, probability: 0.9 });
        let said = recovered(&world, &runs);
        match said.code {
            Some(0) => assert!(ios_of(&json(&said.out)) <= stored, "{seed}: {}", said.out),
            Some(1 | 2) => assert!(said.err.starts_with("error: "), "{seed}: {}", said.err),
            _ => panic!("{seed}: {:?} {:?} {}", said.code, said.signal, said.err),
        }
        // What is left of it does not keep the others from being listed.
        let mut command = world.command(&["runs"]);
        Said::of(command.env("ASSAY_RUNS", &runs).output_in_time().expect("the program starts")).ended(0);
    };
    std::thread::scope(|scope| {
        (0..AT_ONCE as u64).for_each(|seed| drop(scope.spawn(move || cut(seed))));
    });
}

#[test]
fn a_run_that_has_ended_survives_a_power_cut() {
    let Some(fs) = store() else { return };
    let (world, runs) = (World::new(), fs.join("runs"));
    let said = Said::of(start(&world, &runs, 1).wait_with_output().expect("ended")).ended(0);
    assert!(said.err.contains("kept in "), "{}", said.err);
    fs.cut(Cut::KeepNothing);
    let mut command = world.command(&["runs", "show", "last", "--json"]);
    let shown =
        Said::of(command.env("ASSAY_RUNS", &runs).output_in_time().expect("the program starts")).ended(0);
    assert!(ios_of(&json(&shown.out)) >= 190, "{}", shown.out);
}

#[test]
fn a_results_disk_that_fills_up_keeps_what_was_stored() {
    let Some(fs) = store() else { return };
    let (world, runs) = (World::new(), fs.join("runs"));
    let child = start(&world, &runs, 3);
    wait_for_series(&runs, 1200);
    fs.set_capacity(0);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(1);
    // It is shown in full, with the reason why it is not kept.
    assert!(said.out.contains("IOPS") && said.err.contains("No space left"), "{}{}", said.out, said.err);
    let stored = stored_ios(&only_run(&runs).expect("a run").join("series.bin"));
    assert!((40..600).contains(&stored), "{stored}");
    // Also with a full disk what was stored can be had, but not kept.
    let full = recovered(&world, &runs).ended(1);
    assert_eq!(ios_of(&json(&full.out)), stored, "{}", full.err);
    assert!(full.err.contains("No space left"), "{}", full.err);
    fs.set_capacity(1 << 30);
    assert_eq!(ios_of(&json(&recovered(&world, &runs).ended(0).out)), stored);
}

/// Starts a run that writes with a journal until it is ended.
fn start_journaled(world: &World) -> Started {
    let plan = world.path().join("plan.toml");
    let text = r#"
name = "validated"
target = [{ name = "data", path = "data", size = "8m" }]
[[phase]]
name = "write"
[[phase.job]]
name = "write"
read_percent = 30
write_percent = 70
block_size = "4k"
pattern = "random"
outstanding = 8
runtime = "60s"
content = { verify = true, journal = "completed" }
"#;
    fs::write(&plan, text).expect("a plan");
    let data = world.data();
    let mut command =
        world.command(&["run", path_text(&plan), "--target", path_text(&data), "--watch", "nothing"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts")
}

/// Runs that are killed while they write with a journal: kills of the page cache's owner alone.
const JOURNALED_KILLS: u64 = 3;

#[test]
fn each_acknowledged_write_of_a_killed_run_is_proved_and_one_that_is_gone_is_found() {
    let kills = std::env::var("ASSAY_KILLS").ok().and_then(|kills| kills.parse().ok());
    for kill in 0..kills.unwrap_or(JOURNALED_KILLS) {
        let world = World::new();
        let mut child = start_journaled(&world);
        let journal = || world.run_directories().pop().map(|run| run.join("data.journal"));
        let length = || journal().and_then(|path| fs::metadata(path).ok()).map_or(0, |meta| meta.len());
        wait_for("the journal", || length() > (1 + kill % 7) * 50_000);
        signal(&child, Signal::KILL);
        child.wait().expect("ended");
        let said = world.assay(&["runs", "verify", "last", "--json"]).ended(0);
        let data = &json(&said.out)["phases"][0]["jobs"][0]["data"];
        assert!(data["crash"]["acknowledged"].as_u64() > Some(500), "{kill}: {data}");
        assert_eq!((&data["wrong"], &data["unverifiable"]), (&0.into(), &0.into()), "{kill}: {data}");
        if kill > 0 {
            continue;
        }
        // The run that proved it is one like others, and the last; a block that is lost is found.
        let crashed = world.run_directories().remove(0);
        let file = fs::File::options().write(true).open(world.data().join("data")).expect("the file");
        std::os::unix::fs::FileExt::write_all_at(&file, &[0; 512], 4096).expect("written");
        let said = world.assay(&["runs", "verify", path_text(&crashed)]).ended(1);
        assert!(said.err.contains("blocks lost or wrong: 1 of "), "{}", said.err);
        assert!(said.out.contains("data offset 4096"), "{}", said.out);
        let said =
            world.assay(&["runs", "rm", crashed.file_name().and_then(|name| name.to_str()).expect("a name")]);
        said.ended(0);
        assert!(!crashed.exists(), "with its journal");
    }
}

#[test]
fn a_run_that_goes_on_is_not_verified_and_one_without_a_journal_says_what_is_needed() {
    let world = World::new();
    let mut child = start_journaled(&world);
    // It is made before what says that the run goes on.
    wait_for("the journal", || {
        let there = |run: &PathBuf| ["data.journal", "series.bin"].iter().all(|file| run.join(file).exists());
        world.run_directories().pop().is_some_and(|run| there(&run))
    });
    let said = world.assay(&["runs", "verify", "last"]).ended(2);
    assert!(said.err.contains("is still going"), "{}", said.err);
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    let run = world.run_directories().remove(0);
    fs::remove_file(run.join("data.journal")).expect("removed");
    let said = world.assay(&["runs", "verify", "last"]).ended(2);
    assert!(said.err.contains("no validation journal") && said.err.contains("journal = "), "{}", said.err);
}
