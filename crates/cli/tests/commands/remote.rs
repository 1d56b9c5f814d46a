//! `assay quick HOST:DIR` over a real ssh server on the loopback.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::sshd::{Sshd, free_port};
use crate::world::{Said, TEST, World, entries, json, path_text, signal, wait_for};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A name that every layer of quoting may stumble over.
const HARD_NAME: &str = "it's a \"place\" $(touch pwned) ü\nwith a line";

fn over_ssh(world: &World, sshd: &Sshd, words: &[&str]) -> Said {
    Said::of(
        world.command(words).env("ASSAY_SSH", &sshd.client).output_in_time().expect("the program starts"),
    )
}

#[test]
fn a_run_there_comes_back_whole() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    let place = world.data().join(HARD_NAME);
    fs::create_dir(&place).expect("made");
    let target = format!("there:{}", path_text(&place));
    let words = ["quick", &target, "--test", TEST, "--window", "100ms", "--seed", "7", "--json"];
    let said = over_ssh(&world, &sshd, &words).ended(0);
    assert!(said.err.contains("copying Assay"), "{}", said.err);
    assert!(said.err.contains("will write the files"), "progress is passed on: {}", said.err);
    let run = json(&said.out);
    assert_eq!(run["plan"]["seed"], 7);
    let measured_in = run["plan"]["targets"][0]["path"].as_str().expect("a path");
    assert_eq!(
        Path::new(measured_in),
        fs::canonicalize(&place).expect("there").join("assay-quick/assay-1.data")
    );
    let id = run["id"].as_str().expect("an id");
    assert!(world.assay(&["runs"]).ended(0).out.contains(id));
    let names = entries(&world.run_directories()[0]).len();
    assert_eq!(names, 5, "plan, journal, series, summary and the page made here");
    assert!(world.run_directories()[0].join("series.bin").metadata().expect("there").len() > 1000);
    // Nothing but the copy and the tagged directory stays.
    assert_eq!(sshd.copies().len(), 1);
    assert_eq!(entries(&sshd.home.join(".cache/assay")).len(), 1);
    assert_eq!(entries(&place), [place.join("assay-quick")]);
    assert!(!world.path().join("pwned").exists() && !sshd.home.join("pwned").exists());

    let again = over_ssh(&world, &sshd, &words).ended(0);
    assert!(!again.err.contains("copying Assay"), "the copy is used again: {}", again.err);

    let said = over_ssh(&world, &sshd, &["cleanup", &target]).ended(0);
    assert!(said.out.contains("removed the copy of Assay"), "{}", said.out);
    assert!(entries(&place).is_empty());
    assert!(!sshd.home.join(".cache/assay").exists());
    let said = over_ssh(&world, &sshd, &["cleanup", &target]).ended(0);
    assert!(said.out.contains("nothing to remove"), "{}", said.out);
}

#[test]
fn homes_and_bad_places_there() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    fs::create_dir(sshd.home.join("-in home")).expect("made");
    fs::write(sshd.home.join("file"), "").expect("written");
    for (dir, code, why) in [("~/nowhere", 2, "does not exist"), ("file", 2, "is not a directory")] {
        let said = over_ssh(&world, &sshd, &["quick", &format!("there:{dir}")]).ended(code);
        let error = said.err.lines().last().expect("a reason");
        assert!(error.starts_with("error: there: ") && error.contains(why), "{dir}: {}", said.err);
        assert_eq!(said.err.matches("error").count(), 1, "{dir}: told once: {}", said.err);
    }
    let words = ["quick", "there:-in home", "--test", TEST, "--window", "50ms", "--quiet"];
    let said = over_ssh(&world, &sshd, &words).ended(0);
    assert_eq!(said.err, "");
    assert!(sshd.home.join("-in home/assay-quick/assay-1.data").exists());
    assert_eq!(world.run_directories().len(), 1);
}

#[test]
fn an_interrupted_run_there_stops_and_comes_back() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    let target = format!("there:{}", path_text(&world.data()));
    let child = start_there(&world, &sshd, &target);
    signal(&child, Signal::INT);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
    assert!(said.out.contains("incomplete"), "{}", said.out);
    let run = world.only_run();
    assert_eq!(run["end"], "interrupted");
    assert!(run["phases"][0]["jobs"][0]["total"]["ios"].as_u64().is_some_and(|ios| ios > 0));
    assert_eq!(entries(&sshd.home.join(".cache/assay")).len(), 1, "its record does not stay there");
    assert_eq!(running(&sshd), 0, "Assay there has ended");
}

#[test]
fn a_run_there_does_not_outlive_who_started_it() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    let target = format!("there:{}", path_text(&world.data()));
    let mut child = start_there(&world, &sshd, &target);
    assert_eq!(running(&sshd), 1);
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    wait_for("the run there to stop", || running(&sshd) == 0);
    // Its record waits there for nobody: the next cleanup takes it along.
    let said = over_ssh(&world, &sshd, &["cleanup", &target]).ended(0);
    assert!(said.out.contains("removed"), "{}", said.out);
    assert!(!sshd.home.join(".cache/assay").exists());
}

/// A long run there, measuring.
fn start_there(world: &World, sshd: &Sshd, target: &str) -> Started {
    let words = ["quick", target, "--test", TEST, "--window", "3s"];
    let mut command = world.command(&words);
    command.env("ASSAY_SSH", &sshd.client).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.start().expect("the program starts");
    wait_for("the first intervals there", || {
        let tokens = entries(&sshd.home.join(".cache/assay/runs"));
        let runs = tokens.iter().flat_map(|token| entries(token));
        runs.map(|run| run.join("series.bin"))
            .any(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
    });
    child
}

/// Processes that run a copy in the home there.
fn running(sshd: &Sshd) -> usize {
    let home = fs::canonicalize(&sshd.home).expect("a home");
    let programs =
        entries("/proc".as_ref()).into_iter().filter_map(|path| fs::read_link(path.join("exe")).ok());
    programs.filter(|program| program.starts_with(&home)).count()
}

#[test]
fn another_machine_s_fio_steps_in() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, &format!("{}/pretend:{PATH}", path_text(world.path()))) else {
        return;
    };
    if !["/usr/bin/fio", "/usr/local/bin/fio", "/bin/fio"].iter().any(|path| Path::new(path).exists()) {
        return skip::declare("fio", "there is no fio");
    }
    let pretend = world.path().join("pretend");
    fs::create_dir(&pretend).expect("made");
    let uname = pretend.join("uname");
    fs::write(&uname, "#!/bin/sh\n[ \"$1\" = -m ] && echo ppc64le || exec /usr/bin/uname \"$@\"\n")
        .expect("written");
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).expect("permissions");
    // In memory, because fio lays out 512 MiB first.
    let memory = tempfile::Builder::new().prefix("assay it's ").tempdir_in("/dev/shm");
    let Ok(memory) = memory else { return skip::declare("fio", "no /dev/shm to write to") };
    let target = format!("there:{}", path_text(memory.path()));
    let test = "1 file, 1 thread, rnd 16k writes, simple";
    let words = ["quick", &target, "--series", "stb-2.1", "--test", test, "--window", "200ms", "--json"];
    let said = over_ssh(&world, &sshd, &words).ended(0);
    let run = json(&said.out);
    crate::schema::validate("run-1", &run);
    let job = &run["phases"][0]["jobs"][0];
    assert!(job["engine"].as_str().is_some_and(|engine| engine.starts_with("fio ")), "{}", job["engine"]);
    assert!(job["total"]["ios"].as_u64().is_some_and(|ios| ios > 10), "{job}");
    assert_eq!(job["write"]["ios"], job["write"]["completion_ns"]["n"], "each write has its latency");
    assert!(job["flush"]["ios"].as_u64().is_some_and(|flushes| flushes > 10));
    let findings = run["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["id"] == "engine-fallback"), "{findings:?}");
    assert_eq!(run["environment"]["machine"]["arch"], "ppc64le");
    assert!(sshd.copies().is_empty(), "what does not run there is not copied there");

    let said = over_ssh(&world, &sshd, &["quick", &target, "--test", TEST]).ended(1);
    assert!(said.err.contains("--series stb-2.1"), "{}", said.err);
    let said = over_ssh(&world, &sshd, &["cleanup", &target]).ended(0);
    assert!(said.out.contains("removed"), "{}", said.out);
    assert!(entries(memory.path()).is_empty());
}

#[test]
fn a_host_that_refuses_is_one_line() {
    let world = World::new();
    let port = free_port();
    for words in [["quick", "127.0.0.1:/tmp"], ["cleanup", "127.0.0.1:/tmp"]] {
        let mut command = world.command(&words);
        command.env("ASSAY_SSH", format!("ssh -F none -p {port}"));
        let said = Said::of(command.output_in_time().expect("the program starts")).ended(1);
        if said.err.contains("cannot run ssh") {
            return skip::declare("sshd", "there is no ssh");
        }
        assert!(said.err.starts_with("error: cannot reach 127.0.0.1 by ssh: "), "{}", said.err);
        assert!(said.err.contains("Connection refused"), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
    assert!(entries(&world.runs()).is_empty());
}

#[test]
fn an_ssh_that_is_none_is_told() {
    let world = World::new();
    let mut command = world.command(&["quick", "host:/tmp"]);
    let said =
        Said::of(command.env("ASSAY_SSH", "no-such-ssh").output_in_time().expect("the program starts"))
            .ended(1);
    assert!(said.err.contains("cannot run no-such-ssh") && said.err.contains("ASSAY_SSH"), "{}", said.err);
}
