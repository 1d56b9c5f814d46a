//! `assay run --on`: many workers, one run. Real processes, and a real ssh server on the loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bounded::{Bounded as _, Started};
use crate::schema;
use crate::skip;
use crate::sshd::Sshd;
use crate::world::{Said, World, entries, json, path_text, signal, wait_for};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Random reads and writes on a file of each worker.
fn plan(world: &World, more: &str) -> PathBuf {
    let text = format!(
        "seed = 7\n[[target]]\nname = \"data\"\npath = \"data.bin\"\nsize = \"4m\"\n\
         [[job]]\nname = \"load\"\ntargets = [\"data\"]\nread_percent = 70\nblock_size = \"4k\"\npattern = \"random\"\n\
         engine = \"psync\"\ncaching = \"buffered\"\n{more}\n"
    );
    let path = world.path().join("plan.toml");
    fs::write(&path, text).expect("written");
    path
}

fn run_on(world: &World, on: &str, more: &[&str]) -> Said {
    let data = world.data();
    let words =
        [&["run", "plan.toml", "--target", path_text(&data), "--on", on, "--json"][..], more].concat();
    world.assay(&words)
}

fn job(run: &Value) -> &Value {
    &run["phases"][0]["jobs"][0]
}

fn workers(run: &Value) -> &Vec<Value> {
    job(run)["evidence"]["workers"].as_array().expect("workers")
}

/// Why workers were lost.
fn lost(run: &Value) -> Vec<&str> {
    workers(run)
        .iter()
        .filter_map(|worker| worker["lost_because"].as_str())
        .filter(|why| !why.is_empty())
        .collect()
}

/// Processes that serve as workers of a coordinator.
fn worker_processes(coordinator: &Started) -> Vec<i32> {
    let parent = format!("PPid:\t{}\n", coordinator.id());
    let processes = entries(Path::new("/proc"));
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<i32>().ok();
    let ours = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains(&parent))
    };
    processes.iter().filter_map(number).filter(ours).collect()
}

fn kill(pid: i32, which: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process id"), which).expect("a process to send a signal to");
}

fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A run of several seconds that has begun to measure on all of `workers` workers.
fn started(world: &World, on: &str, workers: usize, more: &[&str]) -> (Started, Vec<i32>) {
    plan(world, "runtime = \"20s\"");
    let data = world.data();
    let words =
        [&["run", "plan.toml", "--target", path_text(&data), "--on", on, "--json"][..], more].concat();
    let mut command = world.command(&words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
    });
    let processes = worker_processes(&child);
    assert_eq!(processes.len(), workers, "{processes:?}");
    (child, processes)
}

#[test]
fn workers_of_this_machine_make_one_run() {
    let world = World::new();
    plan(&world, "runtime = \"2s\"");
    let said = run_on(&world, "local:3", &["--watch", "counters"]).ended(0);
    let run = json(&said.out);
    schema::validate("run-1", &run);
    let names: Vec<&str> = workers(&run).iter().filter_map(|worker| worker["name"].as_str()).collect();
    assert_eq!(names, ["w1", "w2", "w3"]);
    let sum: u64 = workers(&run).iter().filter_map(|worker| worker["ios"].as_u64()).sum();
    let trimmed = job(&run)["evidence"]["common"]["trimmed_ios"].as_u64().unwrap_or(0);
    assert_eq!(job(&run)["total"]["ios"].as_u64(), Some(sum - trimmed), "the total is the workers' sum");
    let samples = |op: &str| job(&run)[op]["completion_ns"]["n"].as_u64().expect("samples");
    assert_eq!(samples("read") + samples("write"), sum - trimmed, "histograms are merged");
    // Processes of one machine start together, as well as it is known when.
    for worker in workers(&run) {
        let skew_ns = worker["start_skew_ns"].as_i64().expect("known");
        assert!(skew_ns.abs() < 50_000_000, "{worker}");
    }
    let hosts = run["hosts"].as_array().expect("hosts");
    assert!(
        hosts.iter().all(|host| host["clock"]["error_ns"].as_u64().is_some_and(|error| error > 0)),
        "{hosts:?}"
    );
    let files: Vec<PathBuf> =
        ["data.bin.1", "data.bin.2", "data.bin.3"].map(|name| world.data().join(name)).into();
    assert_eq!(entries(&world.data()), files, "each has a file of its own");
    let shown = world.assay(&["runs", "show", "last"]).ended(0);
    assert!(["w1", "w2", "w3"].iter().all(|name| shown.out.contains(name)), "{}", shown.out);
}

#[test]
fn one_worker_is_a_run_of_one_host() {
    let world = World::new();
    plan(&world, "ios = 1000");
    let run = json(&run_on(&world, "local", &["--watch", "counters"]).ended(0).out);
    assert_eq!(job(&run)["total"]["ios"], 1000);
    assert_eq!(entries(&world.data()), [world.data().join("data.bin")]);
}

#[test]
fn the_same_seed_gives_each_worker_the_same_addresses_again() {
    let world = World::new();
    plan(&world, "ios = 500");
    let shown = |on: &str| {
        let words = ["plan", "plan.toml", "--target", "data", "--on", on, "--json"];
        let said = world.assay(&words);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.out
    };
    assert_eq!(shown("local:2"), shown("local:2"));
    assert!(shown("local:2").contains("w2"));
    assert!(entries(&world.data()).is_empty(), "a plan makes nothing");
}

#[test]
fn a_killed_worker_is_named_and_what_was_measured_is_kept() {
    let world = World::new();
    let (child, processes) = started(&world, "local:3", 3, &["--watch", "counters"]);
    kill(processes[1], Signal::KILL);
    let asked = Instant::now();
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    assert!(asked.elapsed() < Duration::from_secs(10), "bounded: {:?}", asked.elapsed());
    assert!(said.err.contains("lost: w"), "{}", said.err);
    let run = json(&said.out);
    assert_eq!(run["verdict"], "incomplete");
    assert_eq!(lost(&run), ["its process was killed"]);
    assert!(job(&run)["total"]["ios"].as_u64().is_some_and(|ios| ios > 0));
    let findings = run["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["id"] == "lost-worker"), "{findings:?}");
    for words in [&["runs", "show", "last"], &["check", "last"][..]] {
        let said = world.assay(words).ended(0);
        let verdict = said.out.lines().find(|line| line.contains("Verdict: incomplete")).expect("a verdict");
        assert!(verdict.contains("the run failed: worker lost: w"), "{verdict}");
    }
    assert!(!processes.iter().any(|pid| is_alive(*pid)), "nothing is left");
}

#[test]
fn the_others_go_on_where_that_is_asked_for() {
    let world = World::new();
    plan(&world, "runtime = \"20s\"");
    let (child, processes) =
        started(&world, "local:3", 3, &["--watch", "counters", "--on-loss", "continue", "--runtime", "4s"]);
    kill(processes[0], Signal::KILL);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    assert!(said.err.contains("1 of 3 workers lost: w1 ("), "{}", said.err);
    let run = json(&said.out);
    assert_eq!(run["verdict"], "incomplete", "the result is marked");
    let measured = |worker: &&Value| worker["measured_ns"].as_u64().is_some_and(|ns| ns > 3_500_000_000);
    assert_eq!(workers(&run).iter().filter(measured).count(), 2);
}

#[test]
fn workers_stop_when_the_coordinator_is_killed() {
    let world = World::new();
    let (mut child, processes) = started(&world, "local:2", 2, &["--watch", "counters"]);
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    wait_for("the workers to stop", || !processes.iter().any(|pid| is_alive(*pid)));
    let shown = world.assay(&["runs", "show", "last", "--json"]).ended(0);
    assert_eq!(json(&shown.out)["verdict"], "incomplete");
}

#[test]
fn workers_stop_when_the_coordinator_is_silent() {
    let world = World::new();
    let (mut child, processes) = started(&world, "local:2", 2, &["--watch", "counters", "--lost-after", "3"]);
    signal(&child, Signal::STOP);
    // The lease is 2 s, and the jobs would go on for 20.
    let asked = Instant::now();
    wait_for("the workers to stop", || !processes.iter().any(|pid| is_alive(*pid)));
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    for which in [Signal::CONT, Signal::KILL] {
        signal(&child, which);
    }
    child.wait().expect("ended");
}

#[test]
fn an_interrupt_stops_all_and_keeps_what_was_measured() {
    let world = World::new();
    let (child, processes) = started(&world, "local:2", 2, &["--watch", "counters"]);
    signal(&child, Signal::INT);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    let run = json(&said.out);
    assert_eq!((&run["verdict"], &run["end"]), (&"incomplete".into(), &"interrupted".into()));
    assert!(!processes.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn what_workers_refuse_is_said_with_their_names_and_nothing_is_left() {
    let world = World::new();
    plan(&world, "ios = 100");
    let foreign = world.data().join("data.bin.2");
    fs::write(&foreign, vec![1; 4 << 20]).expect("written");
    let said = run_on(&world, "local:2", &[]).ended(2);
    assert!(said.err.contains("w2: ") && said.err.contains("data.bin.2"), "{}", said.err);
    assert_eq!(entries(&world.data()), [foreign], "what the others made is gone again");
    for (on, why) in [("moon:2", "available: local[:N], ssh"), ("local:0", "from 1 to")] {
        let said = run_on(&world, on, &[]).ended(2);
        assert!(said.err.contains(why), "{}", said.err);
    }
    let said = run_on(&world, "ssh:no-such-host.invalid", &[]).ended(1);
    assert!(said.err.contains("cannot reach no-such-host.invalid ("), "{}", said.err);
}

#[test]
fn a_device_is_read_by_several_workers_of_one_machine_and_written_by_none() {
    let world = World::new();
    let Some(device) = LoopDevice::new(&world) else { return };
    let text = fs::read_to_string(plan(&world, "ios = 200")).expect("written");
    let text = text.replace("\"data.bin\"\nsize = \"4m\"", &format!("\"{}\"", device.path));
    fs::write(world.path().join("plan.toml"), &text).expect("written");
    let said = run_on(&world, "local:2", &["--destroy-data", &device.path, "--watch", "counters"]).ended(2);
    assert!(said.err.contains("one process at a time"), "{}", said.err);
    fs::write(world.path().join("plan.toml"), text.replace("= 70", "= 100")).expect("written");
    let said = run_on(&world, "local:2", &["--share", "divided", "--watch", "counters"]).ended(0);
    let run = json(&said.out);
    let slices = run["plan"]["phases"][0]["jobs"][0]["slices"].as_array().expect("slices").clone();
    let range = |slice: &Value| {
        let site = &slice["sites"][0];
        (site["offset_bytes"].as_u64().expect("a start"), site["length_bytes"].as_u64().expect("a length"))
    };
    assert_eq!(range(&slices[0]).0 + range(&slices[0]).1, range(&slices[1]).0, "one behind the other");
    // So few I/Os take less time than two workers' starts are apart: what was not at the same time is not in the total.
    let trimmed = job(&run)["evidence"]["common"]["trimmed_ios"].as_u64().expect("a number");
    assert_eq!(job(&run)["total"]["ios"].as_u64().expect("a number") + trimmed, 400);
}

#[test]
fn files_that_each_worker_has_for_itself_are_not_shared() {
    let world = World::new();
    plan(&world, "ios = 20");
    let said = run_on(&world, "local:2", &["--share", "divided"]).ended(2);
    assert!(said.err.contains("--share") && said.err.contains("data.bin.1"), "{}", said.err);
    assert!(!world.path().join("data.bin.1").exists());
}

#[test]
fn a_worker_that_says_nothing_is_lost() {
    let world = World::new();
    let (child, processes) = started(&world, "local:2", 2, &["--watch", "counters", "--lost-after", "3"]);
    kill(processes[1], Signal::STOP);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    let run = json(&said.out);
    let lost = lost(&run);
    assert!(lost.len() == 1 && lost[0].starts_with("no answer for "), "{lost:?}");
    wait_for("the worker's end", || !processes.iter().any(|pid| is_alive(*pid)));
}

/// What stands in the place of ssh: the host's name says by how many seconds its monotonic clock is ahead.
fn clocks_of_their_own(world: &World) -> Option<String> {
    let works = |words: &[&str]| {
        let output = std::process::Command::new("unshare").args(words).output_in_time();
        output.is_ok_and(|output| output.status.success())
    };
    if !works(&["--time", "--monotonic", "1", "true"]) {
        skip::declare("root", "no time namespace can be made");
        return None;
    }
    let script = "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n\
                  exec unshare --time --monotonic \"${1#ahead}\" /bin/sh -c \"$2\"\n";
    let path = world.path().join("stub");
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    Some(path_text(&path).to_owned())
}

#[test]
fn the_stated_error_covers_the_true_difference_of_the_starts() {
    let world = World::new();
    let Some(stub) = clocks_of_their_own(&world) else { return };
    plan(&world, "ios = 200");
    for place in ["a", "b"] {
        fs::create_dir(world.data().join(place)).expect("made");
    }
    let at = path_text(&world.data()).to_owned();
    let on = format!("ssh:ahead1000:{at}/a,ahead7:{at}/b");
    let words = ["run", "plan.toml", "--on", &on, "--json", "--watch", "counters", "--repeat", "20"];
    let output = world.command(&words).env("ASSAY_SSH", &stub).output_in_time().expect("the program starts");
    Said::of(output).ended(0);
    let journal = fs::read_to_string(world.run_directories()[0].join("journal.jsonl")).expect("a journal");
    let mut clocks: [Option<(i64, i64)>; 2] = [None; 2];
    let mut starts: Vec<(usize, i64, i64, i64)> = Vec::new();
    for line in journal.lines().skip(1).map(json) {
        let host = line["host"].as_u64().unwrap_or(0) as usize;
        let number = |name: &str| line[name].as_i64().expect("a number");
        match line["event"].as_str() {
            Some("clock") => clocks[host] = Some((number("offset_ns"), number("error_ns"))),
            Some("started") => {
                let (offset, error) = clocks[host].expect("its clock is known before it starts");
                let ahead = [1000, 7][host] * 1_000_000_000;
                starts.push((host, number("at_ns") - ahead, number("at_ns") + offset, error));
            }
            _ => {}
        }
    }
    assert_eq!(starts.len(), 40);
    for pair in starts.chunks(2) {
        let (first, second) = (pair[0], pair[1]);
        assert_ne!(first.0, second.0);
        let (truth, stated) = (first.1 - second.1, first.2 - second.2);
        assert!(
            (truth - stated).abs() <= first.3 + second.3,
            "{truth} ns, stated {stated} ± {} ns",
            first.3 + second.3
        );
    }
}

/// What stands in the place of ssh: a shell of this machine, whose home is a directory of the world.
fn shell_as_ssh(world: &World) -> String {
    let path = world.path().join("stub");
    let home = path_text(&world.data()).to_owned();
    let script =
        format!("#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nHOME='{home}' exec /bin/sh -c \"$1\"\n");
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    path_text(&path).to_owned()
}

#[test]
fn the_directory_that_is_named_is_that_of_each_host() {
    let world = World::new();
    let stub = shell_as_ssh(&world);
    plan(&world, "ios = 20");
    let there = world.data().join("there");
    fs::create_dir(&there).expect("made");
    let said = |words: &[&str]| {
        let words = [words, &["--on", "ssh:one", "--watch", "counters"]].concat();
        Said::of(world.command(&words).env("ASSAY_SSH", &stub).output_in_time().expect("started"))
    };
    // In the home directory of the host; nothing of that name is here.
    said(&["run", "plan.toml", "--target", "there"]).ended(0);
    assert!(there.join("data.bin").exists());
    let grid = ["grid", "--directory", path_text(&there), "--size", "1m", "--runtime", "200ms", "--buffered"];
    said(&[&grid[..], &["--output", path_text(&world.path().join("g"))]].concat()).ended(0);
    let made = fs::read_dir(&there).expect("there").count();
    assert!(made > 1, "the grid's file is there");
    // Nothing was made where ssh logs in.
    assert!(!world.data().join("data.bin").exists());
}

/// A loop device over a file of our own.
struct LoopDevice {
    path: String,
}

impl LoopDevice {
    fn new(world: &World) -> Option<Self> {
        let file = world.path().join("image");
        fs::write(&file, vec![0; 8 << 20]).expect("written");
        let made =
            std::process::Command::new("losetup").args(["--find", "--show"]).arg(&file).output_in_time();
        let made = made.ok().filter(|output| output.status.success());
        let Some(made) = made else {
            skip::declare("losetup", "no loop device could be made");
            return None;
        };
        Some(LoopDevice { path: String::from_utf8_lossy(&made.stdout).trim().to_owned() })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["--detach", &self.path]).status_in_time();
    }
}

#[test]
fn hosts_over_ssh_get_the_program_and_their_own_targets() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    plan(&world, "ios = 300");
    for place in ["a", "b"] {
        fs::create_dir(world.data().join(place)).expect("made");
    }
    let data = world.data();
    let hosts = world.path().join("hosts");
    let lines = format!("one:{0}/a\n# the other\ntwo:{0}/b data=other.bin\n", path_text(&data));
    fs::write(&hosts, lines).expect("written");
    let on = format!("ssh:@{}", path_text(&hosts));
    let words = ["run", "plan.toml", "--on", &on, "--json", "--watch", "counters"];
    for _ in 0..2 {
        let output = world
            .command(&words)
            .env("ASSAY_SSH", &sshd.client)
            .output_in_time()
            .expect("the program starts");
        let run = json(&Said::of(output).ended(0).out);
        let names: Vec<&str> = workers(&run).iter().filter_map(|worker| worker["name"].as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(workers(&run).iter().filter_map(|worker| worker["ios"].as_u64()).sum::<u64>(), 600);
        assert_eq!(sshd.copies().len(), 1, "the program is copied once");
    }
    assert!(data.join("a/data.bin").exists() && data.join("b/other.bin").exists());
}

#[test]
fn clients_of_fio_are_hosts_over_ssh() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    let file = world.data().join("data.bin");
    let name = format!("--filename={}", path_text(&file));
    let words = ["fio", "--client=one", "--json", "--name=load", &name, "--size=1m", "--rw=randread"];
    let words = [&words[..], &["--ioengine=psync", "--number_ios=200"]].concat();
    let output =
        world.command(&words).env("ASSAY_SSH", &sshd.client).output_in_time().expect("the program starts");
    let run = json(&Said::of(output).ended(0).out);
    assert_eq!(job(&run)["total"]["ios"], 200);
    assert!(file.exists());
    assert_eq!(sshd.copies().len(), 1, "it was done by the copy there");
}

/// A database and a mail server, built, used and checked.
fn applications() -> String {
    let job = |name: &str, target: &str, settings: &str, more: &str| {
        format!(
            "[[phase.job]]\nname = \"{name}\"\ntargets = \"{target}\"\napplication = {{ {settings} }}\n{more}"
        )
    };
    let mail = "kind = \"mail\", size = \"32MiB\", cache_min = \"4MiB\", cache_max = \"4MiB\"";
    let timed = "ramp = \"500ms\"\nruntime = \"2s\"\nthreads = 1\n";
    [
        "name = \"applications\"\ntarget = [{ name = \"database\", path = \"oltp\", kind = \"directory\" }, \
         { name = \"mail\", path = \"mail\", kind = \"directory\" }]\n[[phase]]\nname = \"prepare\"\nkind = \"precondition\"\n"
            .to_owned(),
        job("build oltp", "database", "kind = \"oltp\", task = \"build\", warehouses = 1", ""),
        job("build mail", "mail", &format!("{mail}, task = \"build\""), ""),
        "[[phase]]\nname = \"work\"\n".to_owned(),
        job("oltp", "database", "kind = \"oltp\"", &format!("{timed}service_level = \"p95<1h\"\n")),
        job("mail", "mail", mail, timed),
        "[[phase]]\nname = \"verify\"\nkind = \"verify\"\n".to_owned(),
        job("check oltp", "database", "kind = \"oltp\", task = \"check\"", ""),
        job("check mail", "mail", &format!("{mail}, task = \"check\""), ""),
    ]
    .concat()
}

/// What a run of applications on workers has to have.
fn has_applications(run: &Value, names: &[&str]) {
    schema::validate("run-1", run);
    let phases = run["phases"].as_array().expect("phases");
    let work = phases.iter().find(|phase| phase["name"] == "work").expect("the phase");
    for job in work["jobs"].as_array().expect("jobs") {
        let done: Vec<u64> = job["evidence"]["workers"]
            .as_array()
            .expect("workers")
            .iter()
            .filter_map(|worker| worker["ios"].as_u64())
            .collect();
        assert!(done.len() == names.len() && done.iter().all(|ios| *ios > 0), "{done:?}");
    }
    for name in names {
        let nopm = work["metrics"][format!("{name}: NOPM")]["value"].as_f64();
        assert!(nopm.is_some_and(|nopm| nopm > 0.0), "{name}: {}", work["metrics"]);
    }
    let said = run["remarks"].to_string();
    for words in ["condition 1: w_ytd = sum(d_ytd)", "sampled messages are as they were durably committed"] {
        assert_eq!(said.matches(words).count(), names.len(), "{words}: {said}");
    }
    assert_eq!(work["service"][0]["held"], true, "{}", work["service"]);
}

#[test]
fn applications_run_on_workers_as_they_do_here() {
    let world = World::new();
    fs::write(world.path().join("plan.toml"), applications()).expect("written");
    let run = json(&run_on(&world, "local:2", &["--watch", "counters"]).ended(0).out);
    has_applications(&run, &["w1", "w2"]);
    // Each has databases of its own.
    for name in ["oltp.1", "oltp.2", "mail.1", "mail.2"] {
        assert!(world.data().join(name).is_dir(), "{name}: {:?}", entries(&world.data()));
    }
    world.assay(&["cleanup", path_text(&world.data())]).ended(0);
    assert!(entries(&world.data()).is_empty(), "{:?}", entries(&world.data()));
}
