//! Validated writes of several workers: each keeps a journal, and what it acknowledged is proved where its targets are.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::sshd::Sshd;
use crate::world::{Said, World, entries, is_root, json, path_text, signal, wait_for};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Writes with a journal, until `end`.
fn plan(world: &World, end: &str) {
    let text = format!(
        r#"
name = "validated"
target = [{{ name = "data", path = "data.bin", size = "4m" }}]
[[phase]]
name = "write"
[[phase.job]]
name = "write"
read_percent = 30
write_percent = 70
block_size = "4k"
pattern = "random"
engine = "psync"
caching = "buffered"
{end}
content = {{ verify = true, journal = "completed" }}
"#
    );
    fs::write(world.path().join("plan.toml"), text).expect("a plan");
}

/// Acknowledged blocks and wrong ones of each job of a proof.
fn proved(said: &Said) -> Vec<(String, u64, u64)> {
    let run = json(&said.out);
    let jobs = run["phases"][0]["jobs"].as_array().expect("jobs").iter();
    jobs.map(|job| {
        let data = &job["data"];
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or(0);
        let name = job["name"].as_str().expect("a name").to_owned();
        (name, number(&data["crash"]["acknowledged"]), number(&data["wrong"]))
    })
    .collect()
}

fn damage(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("the file");
    file.write_all_at(&[0; 256 << 10], 0).expect("written");
}

/// A run of `ios` I/Os on `target`, with `more` words; its directory.
fn ended_run(world: &World, target: &Path, more: &[&str]) -> PathBuf {
    let words = ["run", "plan.toml", "--target", path_text(target), "--watch", "nothing", "--json"];
    let said = world.assay(&[&words, more].concat()).ended(0);
    let id = json(&said.out)["id"].as_str().expect("an id").to_owned();
    let runs = world.run_directories();
    runs.into_iter().find(|run| path_text(run).ends_with(&id)).expect("its directory")
}

#[test]
fn a_journal_of_another_run_or_worker_proves_nothing() {
    let world = World::new();
    plan(&world, "ios = 300");
    for place in ["one", "two"] {
        fs::create_dir(world.data().join(place)).expect("made");
    }
    let [one, two] = ["one", "two"].map(|place| ended_run(&world, &world.data().join(place), &[]));
    let journal_of = |run: &Path| run.join("data.journal");
    let verify = |words: &[&str]| world.assay(&[&["runs", "verify"], words].concat());
    let id_of_two = path_text(&two).rsplit('-').next().expect("an id").to_owned();

    let said = verify(&[path_text(&one), "--journal", path_text(&journal_of(&two))]).ended(2);
    assert!(said.err.contains(&format!("it is that of the run {id_of_two}")), "{}", said.err);
    verify(&[path_text(&one), "--journal", path_text(&journal_of(&one))]).ended(0);
    fs::copy(journal_of(&two), journal_of(&one)).expect("copied");
    let said = verify(&[path_text(&one)]).ended(2);
    assert!(said.err.contains(&format!("it is that of the run {id_of_two}")), "{}", said.err);

    let workers = ended_run(&world, &world.data(), &["--on", "local:2"]);
    verify(&[path_text(&workers)]).ended(0);
    fs::copy(workers.join("data.journal.0"), workers.join("data.journal.1")).expect("copied");
    let said = verify(&[path_text(&workers)]).ended(2);
    assert!(said.err.contains("data.journal.1") && said.err.contains("it is a copy of "), "{}", said.err);
    fs::remove_file(workers.join("data.journal.0")).expect("removed");
    let said = verify(&[path_text(&workers)]).ended(2);
    assert!(said.err.contains("it is that of w1, and has the name of that of w2"), "{}", said.err);
}

#[test]
fn a_journal_that_was_cut_after_its_run_had_ended_proves_nothing() {
    let world = World::new();
    plan(&world, "ios = 3000");
    let run = ended_run(&world, &world.data(), &[]);
    let journal = run.join("data.journal");
    let verify = || world.assay(&["runs", "verify", path_text(&run)]);
    let said = verify().ended(0);
    assert!(
        said.out.contains("valid: blocks that were read and hold their acknowledged write"),
        "{}",
        said.out
    );
    let whole = fs::read(&journal).expect("a journal");
    fs::write(&journal, &whole[..8192]).expect("cut");
    damage(&world.data().join("data.bin"));
    let said = verify().ended(1);
    let says = |what: &str| said.err.contains(what);
    assert!(says(path_text(&journal)) && says("ends before its closing record"), "{}", said.err);
    assert!(says("8 KiB of it were read"), "{}", said.err);

    let mut flipped = whole.clone();
    flipped[whole.len() / 8192 * 4096 + 100] ^= 1;
    fs::write(&journal, &flipped).expect("written");
    let said = verify().ended(1);
    assert!(said.err.contains("is damaged at offset"), "{}", said.err);
    // One that was killed had no time to close it, whatever was made of it since.
    fs::write(&journal, &whole[..whole.len() - 4096]).expect("cut");
    fs::remove_file(run.join("run.json")).expect("removed");
    let said = verify().ended(1);
    assert!(said.err.contains("blocks lost or wrong: "), "{}", said.err);

    let workers = ended_run(&world, &world.data(), &["--on", "local:2"]);
    let journal = workers.join("data.journal.1");
    fs::write(&journal, &fs::read(&journal).expect("a journal")[..8192]).expect("cut");
    let said = world.assay(&["runs", "verify", path_text(&workers)]).ended(1);
    assert!(said.err.contains("data.journal.1 ends before its closing record"), "{}", said.err);
}

#[test]
fn a_page_never_takes_the_place_of_what_is_verified() {
    let world = World::new();
    plan(&world, "ios = 300");
    let run = ended_run(&world, &world.data(), &[]);
    let workers = ended_run(&world, &world.data(), &["--on", "local:2"]);
    let data = world.data();
    let (journal, moved) = (world.path().join("a.journal"), world.path().join("moved.bin"));
    fs::copy(run.join("data.journal"), &journal).expect("copied");
    fs::copy(data.join("data.bin"), &moved).expect("copied");
    let at = format!("data={}", path_text(&moved));
    let (run, workers) = (path_text(&run), path_text(&workers));
    let named = [run, "--journal", path_text(&journal), "--at", &at];
    let second = Path::new(workers).join("data.journal.1");
    let cases: [(&[&str], &Path); 5] = [
        (&[run], &data.join("data.bin")),
        (&[workers], &data.join("data.bin.2")),
        (&[workers], &second),
        (&named, &journal),
        (&named, &moved),
    ];
    for (words, file) in cases {
        let before = fs::read(file).expect("the file");
        let html = ["--html", path_text(file), "--force"];
        let said = world.assay(&[&["runs", "verify"], words, &html].concat()).ended(2);
        assert!(said.err.contains("--html") && said.err.contains(path_text(file)), "{}", said.err);
        assert!(fs::read(file).expect("the file") == before, "{} was replaced", file.display());
    }
}

#[test]
fn a_pipe_is_no_journal_and_is_not_waited_for() {
    let world = World::new();
    plan(&world, "ios = 300");
    let run = ended_run(&world, &world.data(), &[]);
    let pipe = world.path().join("pipe");
    let make = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("made");
    };
    make(&pipe);
    let said = world.assay(&["runs", "verify", path_text(&run), "--journal", path_text(&pipe)]).ended(1);
    assert!(said.err.contains("pipe: it is no regular file"), "{}", said.err);
    let own = run.join("data.journal");
    fs::remove_file(&own).expect("removed");
    make(&own);
    let said = world.assay(&["runs", "verify", path_text(&run)]).ended(1);
    assert!(said.err.contains("data.journal: it is no regular file"), "{}", said.err);
}

#[test]
fn what_is_no_target_is_not_said_to_have_lost_anything() {
    let world = World::new();
    plan(&world, "ios = 300");
    let run = ended_run(&world, &world.data(), &[]);
    let pipe = world.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("made");
    let verify = |run: &str, at: &Path| {
        world.assay(&["runs", "verify", run, "--at", &format!("data={}", path_text(at))])
    };
    for at in [&pipe, Path::new("/dev/zero"), &world.data()] {
        let said = verify(path_text(&run), at).ended(2);
        assert!(said.err.contains("is neither a file nor a block device"), "{}", said.err);
    }
    verify(path_text(&run), &world.data().join("data.bin")).ended(0);
    // That was a run, too, and it has no journal.
    let said = verify("last", &pipe).ended(2);
    assert!(said.err.contains("has no validation journal"), "{}", said.err);
}

#[test]
fn targets_that_are_one_file_are_not_verified_by_two_names() {
    let world = World::new();
    let data = world.data();
    fs::create_dir(data.join("sub")).expect("made");
    std::os::unix::fs::symlink("sub", data.join("also")).expect("made");
    fs::write(data.join("old"), [0; 4096]).expect("written");
    fs::hard_link(data.join("old"), data.join("linked")).expect("made");
    std::os::unix::fs::symlink("old", data.join("link")).expect("made");
    let cases = [("old", "link"), ("old", "linked"), ("old", "sub/../old"), ("sub/new", "also/new")];
    for (one, two) in cases {
        for content in ["verify = true", "verify = true, journal = \"completed\""] {
            let text = format!(
                r#"
name = "aliased"
target = [{{ name = "a", path = "{one}", size = "1m" }}, {{ name = "b", path = "{two}", size = "1m" }}]
[[phase]]
name = "write"
[[phase.job]]
name = "write"
targets = ["a", "b"]
op = "write"
block_size = "4k"
pattern = "random"
engine = "psync"
caching = "buffered"
ios = 20
content = {{ {content} }}
"#
            );
            fs::write(world.path().join("plan.toml"), text).expect("a plan");
            let target = path_text(&data);
            let consent = [one, two].map(|name| format!("--destroy-data={target}/{name}"));
            let consent: Vec<&str> = consent.iter().map(String::as_str).filter(|_| one == "old").collect();
            let words = ["run", "plan.toml", "--target", target, "--watch", "nothing"];
            let said = world.assay(&[&words[..], &consent].concat()).ended(2);
            assert!(said.err.contains("target a (") && said.err.contains("target b ("), "{}", said.err);
            assert!(said.err.contains("are one"), "{}", said.err);
            assert!(!data.join("sub/new").exists() && world.run_directories().is_empty());
            assert_eq!(fs::metadata(data.join("old")).expect("it is there").len(), 4096);
        }
    }
}

#[test]
fn what_killed_workers_had_acknowledged_is_proved_and_what_is_gone_is_found() {
    let world = World::new();
    plan(&world, "runtime = \"60s\"");
    let data = world.data();
    let words =
        ["run", "plan.toml", "--target", path_text(&data), "--on", "local:2", "--watch", "nothing", "--json"];
    let mut child =
        world.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).start().expect("started");
    let run = || world.run_directories().pop();
    let journals = || ["data.journal.0", "data.journal.1"].map(|name| Some(run()?.join(name)));
    let length = |path: &Option<PathBuf>| {
        path.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |meta| meta.len())
    };
    wait_for("both journals", || journals().iter().all(|path| length(path) > 200_000));
    // With the coordinator all of them.
    let workers = entries(Path::new("/proc")).into_iter().filter(|process| {
        fs::read_to_string(process.join("status"))
            .is_ok_and(|status| status.contains(&format!("PPid:\t{}\n", child.id())))
    });
    let workers: Vec<PathBuf> = workers.collect();
    assert_eq!(workers.len(), 2, "{workers:?}");
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    for worker in &workers {
        let pid = worker.file_name().and_then(|pid| pid.to_str()?.parse().ok()).expect("a process id");
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_raw(pid).expect("one"), Signal::KILL);
    }
    wait_for("the end of the workers", || workers.iter().all(|worker| !worker.join("exe").exists()));

    let crashed = run().expect("a run");
    let said = world.assay(&["runs", "verify", "last", "--json"]).ended(0);
    let jobs = proved(&said);
    assert_eq!(jobs.iter().map(|job| job.0.as_str()).collect::<Vec<_>>(), ["data@w1", "data@w2"]);
    assert!(jobs.iter().all(|job| job.1 > 500 && job.2 == 0), "{jobs:?}");

    // The volume of one of them under another path, on another machine.
    let moved = world.path().join("moved.bin");
    fs::rename(data.join("data.bin.1"), &moved).expect("moved");
    let journal = crashed.join("data.journal.0");
    let at = format!("data={}", path_text(&moved));
    let alone =
        ["runs", "verify", path_text(&crashed), "--json", "--journal", path_text(&journal), "--at", &at];
    let jobs = proved(&world.assay(&alone).ended(0));
    assert!(jobs.len() == 1 && jobs[0].1 > 500 && jobs[0].2 == 0, "{jobs:?}");
    elsewhere(&world, &alone, &crashed);
    fs::rename(&moved, data.join("data.bin.1")).expect("moved back");

    let wrong = world.assay(&[&alone[..7], &["other=x"]].concat()).ended(2);
    assert!(wrong.err.contains("--at other") && wrong.err.contains("it wrote to data"), "{}", wrong.err);
    damage(&data.join("data.bin.2"));
    let said = world.assay(&["runs", "verify", path_text(&crashed), "--json"]).ended(1);
    let wrong: Vec<u64> = proved(&said).iter().map(|job| job.2).collect();
    assert!(wrong[0] == 0 && wrong[1] > 32, "{wrong:?}: {}", said.out);
    assert!(said.err.contains("blocks lost or wrong: "), "{}", said.err);
    world.assay(&["runs", "rm", path_text(&crashed)]).ended(0);
    assert!(!crashed.exists(), "with its journals");
}

/// The same on a machine of another name: paths that another machine wrote to are not taken for those here, and a volume is read where
/// it is said to be.
fn elsewhere(world: &World, alone: &[&str], crashed: &Path) {
    if !is_root() {
        return skip::declare("root", "another host name");
    }
    let there = |words: &[&str]| {
        let inner = world.command(words);
        let mut command = Command::new("unshare");
        command.args(["--uts", "sh", "-c", "hostname elsewhere && exec \"$0\" \"$@\""]);
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(world.path()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Said::of(command.output_in_time().expect("unshare"))
    };
    let said = there(&["runs", "verify", path_text(crashed)]).ended(2);
    assert!(said.err.contains("w1, w2 wrote on another machine"), "{}", said.err);
    let jobs = proved(&there(alone).ended(0));
    assert!(jobs[0].1 > 500 && jobs[0].2 == 0, "{jobs:?}");
}

#[test]
fn a_worker_with_a_store_of_its_own_keeps_its_part_there() {
    let world = World::new();
    let Some(sshd) = Sshd::start(&world, PATH) else { return };
    plan(&world, "ios = 2000");
    let data = world.data();
    for place in ["a", "b"] {
        fs::create_dir(data.join(place)).expect("made");
    }
    let hosts = world.path().join("hosts");
    fs::write(&hosts, format!("one:{0}/a\ntwo:{0}/b\n", path_text(&data))).expect("written");
    let on = format!("ssh:@{}", path_text(&hosts));
    let words = ["run", "plan.toml", "--on", &on, "--json", "--watch", "counters"];
    let output = world.command(&words).env("ASSAY_SSH", &sshd.client).output_in_time().expect("started");
    let run = json(&Said::of(output).ended(0).out);
    assert!(run.to_string().contains("assay runs verify"), "it is told where the journals are");
    let name = world.run_directories()[0].file_name().expect("a name").to_owned();
    let said = world.assay(&["runs", "verify", "last"]).ended(2);
    assert!(said.err.contains("one, two wrote on another machine"), "{}", said.err);

    let theirs = sshd.home.join(".local/share/assay/runs");
    assert!(theirs.join(&name).join("data.journal").exists(), "{:?}", entries(&theirs.join(&name)));
    let there = |words: &[&str]| {
        let output = world.command(words).env("ASSAY_RUNS", &theirs).output_in_time();
        Said::of(output.expect("started"))
    };
    let name = name.to_str().expect("a name");
    let jobs = proved(&there(&["runs", "verify", name, "--json"]).ended(0));
    assert!(jobs.len() == 2 && jobs.iter().all(|job| job.1 > 300 && job.2 == 0), "{jobs:?}");
    damage(&data.join("b/data.bin"));
    let said = there(&["runs", "verify", name, "--json"]).ended(1);
    assert!(proved(&said).iter().map(|job| job.2).sum::<u64>() > 8, "{}", said.out);
    there(&["runs", "rm", name]).ended(0);
    assert!(!theirs.join(name).exists());
}

#[test]
fn workers_that_refuse_leave_no_journal_and_no_run() {
    let world = World::new();
    plan(&world, "runtime = \"1s\"");
    fs::write(world.data().join("data.bin.2"), "precious").expect("written");
    let data = world.data();
    let said = world.assay(&["run", "plan.toml", "--target", path_text(&data), "--on", "local:2"]).ended(2);
    assert!(said.err.contains("w2"), "{}", said.err);
    assert!(world.run_directories().is_empty(), "{:?}", world.run_directories());
    assert_eq!(entries(&data), [data.join("data.bin.2")]);
}
