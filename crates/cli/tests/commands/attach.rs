//! `--on attach:N` and `assay worker --join`: workers that something else starts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};

use serde_json::Value;

use crate::bounded::{Bounded as _, Started};
use crate::world::{World, json, wait_for};

/// A run that waits for workers: the process, what it says, the words of the command for them.
fn waiting(world: &World, workers: u32, more: &str) -> (Started, BufReader<ChildStderr>, Vec<String>) {
    let text = format!(
        "seed = 7\n[[target]]\nname = \"data\"\npath = \"data.bin\"\nsize = \"4m\"\n\
         [[job]]\nname = \"load\"\ntargets = [\"data\"]\nread_percent = 70\nblock_size = \"4k\"\npattern = \"random\"\n\
         engine = \"psync\"\ncaching = \"buffered\"\n{more}\n"
    );
    fs::write(world.path().join("plan.toml"), text).expect("written");
    let on = format!("attach:{workers}");
    let mut command = world.command(&["run", "plan.toml", "--on", &on, "--json", "--watch", "counters"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    let mut said = BufReader::new(run.stderr.take().expect("its stderr"));
    let mut line = String::new();
    while !line.trim_start().starts_with("assay worker") {
        line.clear();
        assert!(said.read_line(&mut line).expect("text") > 0, "it says how workers join");
    }
    (run, said, line.split_whitespace().skip(1).map(str::to_owned).collect())
}

fn join(world: &World, words: &[String], name: &str) -> Started {
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--name", name]).collect();
    let directory = world.path().join(name);
    fs::create_dir_all(&directory).expect("made");
    let mut command = world.command(&words);
    command.current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started")
}

fn port_of(words: &[String]) -> u16 {
    let at = words.iter().position(|word| word == "--join").expect("--join");
    words[at + 1].rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port")
}

/// The ports that a process listens on.
fn ports_of(pid: u32) -> Option<Vec<String>> {
    let said = Command::new("ss").args(["-ltnpH"]).output().ok()?;
    let mark = format!("pid={pid},");
    let lines = String::from_utf8_lossy(&said.stdout).into_owned();
    let ours = lines.lines().filter(|line| line.contains(&mark));
    Some(ours.filter_map(|line| line.split_whitespace().nth(3)).map(str::to_owned).collect())
}

#[test]
fn workers_join_a_run_that_listens_on_the_loopback_only() {
    let world = World::new();
    let (run, said, words) = waiting(&world, 2, "runtime = \"1s\"");
    let port = port_of(&words);
    if let Some(ports) = ports_of(run.id()) {
        assert_eq!(ports, [format!("127.0.0.1:{port}")], "nothing else listens");
    }
    let workers = ["a", "b"].map(|name| join(&world, &words, name));
    for worker in workers {
        let ended = worker.wait_with_output().expect("ended");
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let ended = run.wait_with_output().expect("ended");
    drop(said);
    assert_eq!(ended.status.code(), Some(0));
    let run = json(&String::from_utf8(ended.stdout).expect("text"));
    let workers = run["phases"][0]["jobs"][0]["evidence"]["workers"].as_array().expect("workers").clone();
    let names: Vec<&str> = workers.iter().filter_map(|worker| worker["name"].as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(workers.iter().all(|worker| worker["ios"].as_u64() > Some(0)), "{workers:?}");
    // Nothing is left: no port, and not what workers needed.
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    let at = words.iter().position(|word| word == "--token-file").expect("a file");
    assert!(!Path::new(&words[at + 1]).exists());
}

#[test]
fn a_worker_that_joined_a_run_that_failed_ends_as_one_that_failed() {
    let world = World::new();
    let (run, said, words) = waiting(&world, 2, "runtime = \"30s\"");
    let [lost, other] = ["a", "b"].map(|name| join(&world, &words, name));
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
    });
    drop(lost);
    let ended = other.wait_with_output().expect("ended");
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{text}");
    assert!(text.contains("the run failed"), "{text}");
    assert_eq!(run.wait_with_output().expect("ended").status.code(), Some(5));
    drop(said);
}

#[test]
fn who_has_no_token_is_refused_and_one_that_ended_is_lost() {
    let world = World::new();
    let (run, said, words) = waiting(&world, 1, "runtime = \"30s\"");
    let at = words.iter().position(|word| word == "--token-file").expect("a file");
    let ticket = fs::read_to_string(&words[at + 1]).expect("a ticket");
    // The right certificate with a token of nobody's.
    let (rest, token) = ticket.trim_end().rsplit_once(':').expect("parts");
    let wrong = world.path().join("wrong");
    fs::write(&wrong, format!("{rest}:{}\n", "0".repeat(token.len()))).expect("written");
    let mut other = words.clone();
    other[at + 1] = wrong.display().to_string();
    let ended = join(&world, &other, "stranger").wait_with_output().expect("ended");
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{text}");
    assert!(text.contains("does not let this worker in: the token is not that of this run"), "{text}");
    fs::write(&wrong, "hello").expect("written");
    let ended = join(&world, &other, "stranger").wait_with_output().expect("ended");
    assert_eq!(ended.status.code(), Some(2));
    // The ticket in the variable is as good; its worker is killed.
    let (address, directory) = (words[at - 1].clone(), world.path().join("a"));
    fs::create_dir_all(&directory).expect("made");
    let mut command = world.command(&["worker", "--join", &address, "--name", "a"]);
    command.env("ASSAY_JOIN", ticket).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    let worker = command.start().expect("started");
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
    });
    drop(worker);
    let ended = run.wait_with_output().expect("ended");
    drop(said);
    assert_eq!(ended.status.code(), Some(5));
    let run: Value = json(&String::from_utf8(ended.stdout).expect("text"));
    assert_eq!(run["verdict"], "incomplete");
}
