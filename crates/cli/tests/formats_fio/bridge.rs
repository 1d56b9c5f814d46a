//! `--engine fio`: real fio carries out a plan, and the run is kept like any other.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::{Place, Said};

const MIXED: &str = "[global]\nioengine=psync\nsize=8m\nfilename=a.dat\n\
    [mixed]\nrw=randrw\nrwmixread=70\nbs=4k\nruntime=1\ntime_based\n\
    [flushed]\nstonewall\nrw=write\nbs=16k\nnumjobs=2\nfsync=4\nio_size=1m\n";

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn fio_carries_out_a_plan_and_its_figures_come_back_whole() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("j.fio", MIXED);
    let said = place.assay(&["run", "j.fio", "--engine", "fio", "--json", "--seed", "5"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = json(&said);
    let jobs: Vec<&Value> = (0..2).map(|phase| &run["phases"][phase]["jobs"][0]).collect();
    assert!(jobs[0]["engine"].as_str().is_some_and(|engine| engine.starts_with("fio 3.")), "{}", jobs[0]);
    assert_eq!(jobs[0]["name"], "mixed");
    for op in ["read", "write"] {
        let (ios, n) = (&jobs[0][op]["ios"], &jobs[0][op]["completion_ns"]["n"]);
        assert!(ios.as_u64().is_some_and(|ios| ios > 100), "{op}: {ios}");
        assert_eq!(ios, n, "every {op} has a latency");
        assert!(jobs[0][op]["completion_histogram"].is_object(), "with its distribution");
    }
    let share =
        jobs[0]["read"]["ios"].as_f64().unwrap_or(0.0) / jobs[0]["total"]["ios"].as_f64().unwrap_or(1.0);
    assert!((0.6..0.8).contains(&share), "{share}");
    assert!(jobs[0]["cpu_ns_per_io"].as_f64().is_some_and(|cpu| cpu > 100.0), "{}", jobs[0]["cpu_ns_per_io"]);
    assert!(jobs[0]["series"].as_array().is_some_and(|series| series.len() > 1), "it has a course");
    // Two clones, each with 1 MiB of its own, and a flush after every fourth write but the last.
    assert_eq!(jobs[1]["write"]["bytes"], 2 << 20);
    let flushes = jobs[1]["flush"]["ios"].as_u64().unwrap_or(0);
    assert!((30..=32).contains(&flushes), "{flushes}");
    assert_eq!(run["plan"]["phases"][0]["carried_by"], "fio");
    assert!(run["phases"][0]["device"].is_object(), "the counters of the devices and of fio are there");
    let listed = place.assay(&["runs"]).done();
    assert!(listed.contains(run["id"].as_str().unwrap_or("?")), "{listed}");
}

#[test]
fn files_that_fio_wrote_may_be_written_again() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("j.fio", "[w]\nfilename=new.dat\nrw=randwrite\nbs=4k\nsize=1m\n");
    for _ in 0..2 {
        place.assay(&["run", "j.fio", "--engine", "fio"]).done();
    }
    place.assay(&["run", "j.fio"]).done();
}

#[test]
fn a_file_that_is_not_ours_is_not_given_to_fio() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("precious", "do not lose this");
    place.file("j.fio", "[w]\nfilename=precious\nrw=write\nbs=4k\nsize=1m\n");
    let said = place.assay(&["run", "j.fio", "--engine", "fio"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(place.read("precious"), "do not lose this");
}

#[test]
fn fio_by_its_own_words() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    let words = ["--name=x", "--filename=x.dat", "--rw=randread", "--bs=4k", "--size=1m", "--number_ios=100"];
    let with = |own: &[&str]| place.assay(&[&["fio"], own, &words].concat());
    let (native, fio) = (with(&["--json"]), with(&["--json", "--engine", "fio"]));
    for (said, engine) in [(&native, "psync"), (&fio, "fio 3")] {
        let run = json(said);
        let job = &run["phases"][0]["jobs"][0];
        assert_eq!(job["read"]["ios"], 100, "{said:?}");
        assert!(job["engine"].as_str().is_some_and(|name| name.starts_with(engine)), "{}", job["engine"]);
    }
    let bad = place.assay(&["fio", "--name=x", "--rw=raed", "--size=1m"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.err.contains("raed"), "{bad:?}");
}

#[test]
fn an_interrupted_fio_leaves_what_it_measured() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("j.fio", "[r]\nfilename=r.dat\nrw=randread\nbs=4k\nsize=4m\nruntime=60\ntime_based\n");
    let mut command = place.command(&["run", "j.fio", "--engine", "fio", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    std::thread::sleep(Duration::from_millis(2500));
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).expect("a process id");
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    let told = Instant::now();
    let said = Said::of(&child.wait_with_output().expect("it ends"));
    assert!(told.elapsed() < Duration::from_secs(15), "{:?}", told.elapsed());
    assert_eq!(said.code, Some(5), "{said:?}");
    let run = json(&said);
    assert_eq!(run["verdict"], "incomplete");
    assert!(run["phases"][0]["jobs"][0]["read"]["ios"].as_u64().is_some_and(|ios| ios > 100), "{said:?}");
}

#[test]
fn without_fio_the_one_command_that_installs_it_is_named() {
    let place = Place::new();
    place.file("j.fio", "[r]\nfilename=r.dat\nrw=read\nsize=1m\n");
    let empty = place.path().join("bin");
    std::fs::create_dir(&empty).expect("a directory");
    std::fs::write(empty.join("apt-get"), "").expect("a file");
    let output = place.command(&["run", "j.fio", "--engine", "fio"]).env("PATH", &empty).output_in_time();
    let said = Said::of(&output.expect("the program starts"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("apt-get install -y fio"), "{said:?}");
    assert!(!place.path().join("r.dat").exists(), "nothing was made");
}
