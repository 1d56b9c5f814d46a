//! Limits of the process, clocks that are set, CPUs that go away, a process that is stopped: none of them ends a run without a word.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::world::{Said, World, is_root, json, path_text, signal, wait_for};

/// A job file in the world; `rest` are its options.
fn job(world: &World, rest: &str) -> String {
    let path = world.path().join("job.fio");
    let data = world.data().join("data.bin");
    fs::write(&path, format!("[j]\nfilename={}\n{rest}", path_text(&data))).expect("a job file");
    path_text(&path).to_owned()
}

/// The program with `words`, under a limit of the shell.
fn limited(world: &World, limit: &str, words: &[&str]) -> Said {
    let mut command = Command::new("sh");
    let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_assay")]).args(words).current_dir(world.path());
    command.env("HOME", world.home()).env("ASSAY_RUNS", world.runs()).env("COLUMNS", "100");
    Said::of(command.output_in_time().expect("started"))
}

/// Starts a run, and returns when it measures.
fn start(world: &World, file: &str, how: impl FnOnce(&mut Command)) -> Started {
    let mut command = world.command(&["run", file, "--json"]);
    how(&mut command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
    });
    child
}

fn first_job(run: &Value) -> &Value {
    &run["phases"][0]["jobs"][0]
}

#[test]
fn too_few_descriptors_are_told_before_anything_is_made_with_what_to_do() {
    let world = World::new();
    let file = job(&world, "size=1m\nrw=randread\nbs=4k\nnumjobs=100\nthread=1\n");
    for command in ["run", "plan"] {
        let said = limited(&world, "-n 128", &[command, &file]).ended(2);
        let error = said.err.lines().last().unwrap_or_default();
        for word in ["file descriptors, and this process may open 128", "'ulimit -n 334'", "fewer targets"] {
            assert!(error.contains(word), "{command}: no '{word}' in: {error}");
        }
        assert!(!world.data().join("data.bin").exists());
    }
    limited(&world, "-n 334", &["run", &file]).ended(0);
}

#[test]
fn a_limit_of_files_reached_while_results_are_written_keeps_what_was_measured() {
    let world = World::new();
    let file = job(&world, "size=1m\nrw=randread\nbs=4k\nruntime=1\ntime_based\n");
    world.assay(&["run", &file, "-q"]).ended(0);
    // SIGXFSZ ends a process by default; units of 512 or 1,024 bytes.
    let said = limited(&world, "-f 1", &["run", &file, "--json"]).ended(1);
    assert!(
        said.err.contains("no run can be kept in") && said.err.contains("File too large"),
        "{}",
        said.err
    );
    assert_eq!(said.out, "", "nothing was measured");
    for limit in ["-f 32", "-f 48"] {
        let said = limited(&world, limit, &["run", &file, "--json"]).ended(1);
        assert!(first_job(&json(&said.out))["read"]["ios"].as_u64() > Some(0), "{limit}: {}", said.out);
        assert!(said.err.contains("File too large"), "{limit}: {}", said.err);
    }
}

/// Root has no such limit.
#[test]
fn without_locked_memory_another_engine_is_taken_or_it_is_said_why_not() {
    if !is_root() {
        return skip::declare("root", "another user");
    }
    let world = World::new();
    let data = world.data();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o755)).expect("changed");
    for place in [&data, &world.home()] {
        chown(place, Some(65_534), Some(65_534)).expect("given");
    }
    let program = data.join("program");
    fs::copy(env!("CARGO_BIN_EXE_assay"), &program).expect("copied");
    let file = job(&world, "size=1m\nrw=randread\nbs=4k\niodepth=64\nruntime=1\ntime_based\n");
    let as_user = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]);
        command.arg("ulimit -l 0; exec \"$0\" \"$@\"").arg(&program).args(words).current_dir(&data);
        command.env("HOME", world.home()).env("ASSAY_RUNS", world.home().join("runs"));
        command.output_in_time().map(Said::of).expect("started")
    };
    let said = as_user(&["run", &file, "--engine", "auto", "--json", "--watch", "nothing"]);
    assert!(matches!(said.code, Some(0)), "{}", said.err);
    assert!(first_job(&json(&said.out))["read"]["ios"].as_u64() > Some(0), "{}", said.out);
    let said = as_user(&["run", &file, "--engine", "io_uring", "--watch", "nothing"]);
    // Kernels that count a ring as memory of its cgroup have no use for the limit.
    assert!(said.code == Some(0) || said.err.contains("'assay doctor' says why"), "{}", said.err);
    let said = as_user(&["doctor"]);
    assert!(said.out.contains("locked memory") && said.out.contains("ulimit -l"), "{}", said.out);
}

#[test]
fn a_limit_of_memory_ends_with_a_message() {
    let world = World::new();
    let program_kib = fs::metadata(env!("CARGO_BIN_EXE_assay")).expect("the program").len() / 1024;
    let large =
        job(&world, "size=64m\nrw=randread\nbs=1m\nioengine=libaio\niodepth=64\nnumjobs=32\nthread=1\n");
    let said = limited(&world, &format!("-v {}", program_kib + 250_000), &["run", &large]).ended(2);
    assert!(said.err.contains("'ulimit -v unlimited'"), "{}", said.err);
    // Wherever it is that memory runs out.
    let small = job(&world, "size=1m\nrw=randread\nbs=4k\niodepth=4\n");
    for more_kib in (0..240_000).step_by(16_000) {
        let said = limited(&world, &format!("-v {}", program_kib + more_kib), &["run", &small]);
        // Without any room the system cannot even load the program.
        let loaded = !matches!(said.code, None | Some(126 | 127)) || more_kib >= 64_000;
        if loaded && said.code != Some(0) {
            assert!(matches!(said.code, Some(1 | 2)), "{more_kib}: {:?} {}", said.code, said.err);
            assert!(said.err.contains("error: "), "{more_kib}: {}", said.err);
        }
    }
}

/// Why is found by `own_stop` where the machine has nothing else to do; here others may be to blame as well.
#[test]
fn a_process_that_is_stopped_for_a_while_goes_on_and_tells_the_gap() {
    let world = World::new();
    let file = job(&world, "size=8m\nrw=randread\nbs=4k\nioengine=psync\ntime_based\nruntime=6\n");
    let child = start(&world, &file, |_| {});
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 100))
    });
    signal(&child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, Signal::CONT);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    let run = json(&said.out);
    let findings = run["findings"].as_array().expect("findings");
    let told = findings.iter().any(|one| one["id"] == "outlier-interval" || one["id"] == "generator-bound");
    assert!(told, "{findings:#?}");
    let (measured_s, errors) = (&run["phases"][0]["measured_s"], &first_job(&run)["errors"]);
    assert!(measured_s.as_f64().is_some_and(|s| (5.9..8.0).contains(&s)) && *errors == 0, "{measured_s}");
}

/// As a CPU that goes offline, or a cpuset that shrinks: threads go on where they may.
#[test]
fn a_run_goes_on_on_the_cpus_that_are_left() {
    let world = World::new();
    let all = sched_getaffinity(None).expect("CPUs");
    let Some(kept) = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).filter(|_| all.count() > 1) else {
        return skip::declare("two-cpus", "one CPU only");
    };
    let file = job(
        &world,
        "size=8m\nrw=randread\nbs=4k\nioengine=psync\nnumjobs=3\nthread=1\ntime_based\nruntime=4\n",
    );
    let child = start(&world, &file, |_| {});
    let mut one = CpuSet::new();
    one.set(kept);
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).expect("its threads").flatten();
    for thread in threads {
        let number = thread.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        // One may have ended meanwhile.
        let _ = sched_setaffinity(number, &one);
    }
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    let run = json(&said.out);
    assert!(first_job(&run)["errors"] == 0, "{}", first_job(&run));
    let series = first_job(&run)["series"].as_array().expect("a course");
    assert!(series.iter().all(|period| period["ios"].as_u64() != Some(0)), "{series:?}");
}

/// Steps of the wall clock: an hour ahead, then back to before the start, and so on.
const SET_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static long first;
    struct timespec m;
    long failed = syscall(SYS_clock_gettime, id, t);
    if (failed || id != CLOCK_REALTIME) return (int)failed;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &m);
    long ms = m.tv_sec * 1000 + m.tv_nsec / 1000000;
    if (!first) first = ms;
    long step = (ms - first) / 500 % 4;
    t->tv_sec += step == 1 ? 3600 : step == 2 ? -7200 : step == 3 ? 86400 * 400 : 0;
    return 0;
}
"#;

/// A library for LD_PRELOAD that sets the wall clock of a program; `None`: no compiler.
fn clock_that_is_set(directory: &Path) -> Option<String> {
    let (source, library) = (directory.join("clock.c"), directory.join("clock.so"));
    fs::write(&source, SET_CLOCK).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o", path_text(&library), path_text(&source)]);
    compiler.status_in_time().is_ok_and(|status| status.success()).then(|| path_text(&library).to_owned())
}

#[test]
fn setting_the_wall_clock_changes_nothing_that_is_measured() {
    let world = World::new();
    let Some(library) = clock_that_is_set(world.path()) else {
        return skip::declare("cc", "no C compiler");
    };
    let file =
        job(&world, "size=8m\nrw=randread\nbs=4k\nioengine=psync\nrate_iops=500\ntime_based\nruntime=3\n");
    let child = start(&world, &file, |command| {
        command.env("LD_PRELOAD", &library);
    });
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    let run = json(&said.out);
    let measured_s = run["phases"][0]["measured_s"].as_f64().expect("a time");
    assert!((2.9..3.3).contains(&measured_s), "{measured_s}");
    let read = &first_job(&run)["read"];
    let (iops, longest) = (read["iops"].as_f64(), read["completion_ns"]["max"].as_f64());
    assert!(iops.is_some_and(|iops| (480.0..520.0).contains(&iops)), "{read}");
    assert!(longest.is_some_and(|ns| ns < 3e9), "{read}");
    assert!(
        !said.err.contains("clock")
            && run["findings"]
                .as_array()
                .is_some_and(|all| { all.iter().all(|one| one["id"] != "clock-unstable") })
    );
    let journal = world.run_directories()[0].join("journal.jsonl");
    let journal = fs::read_to_string(journal).expect("a journal");
    let times = journal.lines().filter_map(|line| json(line)["at_ms"].as_u64()).collect::<Vec<_>>();
    assert!(times.is_sorted() && times.iter().all(|ms| *ms < 60_000), "{times:?}");
}
