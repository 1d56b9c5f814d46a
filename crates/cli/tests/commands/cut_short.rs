//! What goes wrong with files of a run while it goes on, and with the place where it is kept.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bounded::Bounded as _;
use crate::world::{Said, World};

const PLAN: &str = r#"name = "cut"
[[target]]
name = "data"
path = "data.bin"
size = "4m"
[[target]]
name = "other"
path = "other.bin"
size = "64k"
[[phase]]
name = "fill"
[[phase.job]]
targets = ["data"]
op = "write"
block_size = "64k"
pattern = "sequential"
passes = 1
content = { verify = true }
[[phase]]
name = "slow"
[[phase.job]]
targets = ["other"]
op = "read"
block_size = "4k"
pattern = "random"
rate = 50
runtime = "3s"
[[phase]]
name = "check"
kind = "verify"
[[phase.job]]
targets = ["data"]
op = "read"
block_size = "64k"
pattern = "sequential"
content = { verify = true }
"#;

const SHORT: &str = r#"[[target]]
name = "data"
path = "data.bin"
size = "1m"
[[job]]
op = "write"
block_size = "4k"
pattern = "random"
runtime = "200ms"
"#;

#[test]
fn a_file_that_is_cut_short_between_phases_is_called_that() {
    let world = World::new();
    fs::write(world.path().join("cut.toml"), PLAN).expect("written");
    let mut command = world.command(&["run", "cut.toml", "--watch", "nothing"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    let data = world.path().join("data.bin");
    let until = Instant::now() + Duration::from_secs(20);
    while fs::metadata(&data).map_or(0, |meta| meta.len()) < 4 << 20 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    // In the slow phase, which reads another file.
    std::thread::sleep(Duration::from_secs(1));
    let file = fs::OpenOptions::new().write(true).open(&data).expect("the file");
    file.set_len((4 << 20) - 4096).expect("cut");
    let said = Said::of(child.wait_with_output().expect("ended")).ended(1);
    let expected = "data.bin has 4190208 of 4194304 bytes: something else cut it short while the run went on";
    assert!(said.err.contains(expected), "{}", said.err);
    assert!(!said.err.contains("--destroy-data"), "{}", said.err);
}

#[test]
fn a_run_that_cannot_even_be_begun_to_be_kept_measures_nothing() {
    let world = World::new();
    let full = world.path().join("full");
    // Room for names, and for not one page of a file.
    let Some(_mounted) = crate::mounts::Mounted::tmpfs(&full, "size=4k") else { return };
    fs::create_dir(full.join("runs")).expect("made");
    fs::write(full.join("fill"), [1; 4096]).expect("written");
    fs::write(world.path().join("p.toml"), SHORT).expect("written");
    let mut command = world.command(&["run", "p.toml"]);
    command.env("ASSAY_RUNS", full.join("runs"));
    let said = Said::of(command.output_in_time().expect("ended")).ended(1);
    assert!(
        said.err.contains("no run can be kept in") && said.err.contains("nothing was measured"),
        "{}",
        said.err
    );
    assert_eq!(
        fs::metadata(world.path().join("data.bin")).map_or(0, |meta| meta.len()),
        0,
        "nothing was written"
    );
    let left = fs::read_dir(full.join("runs")).expect("there").count();
    assert_eq!(left, 0);
}

#[test]
fn a_damaged_result_names_the_way_back() {
    let world = World::new();
    fs::write(world.path().join("p.toml"), SHORT).expect("written");
    world.assay(&["run", "p.toml", "--watch", "nothing", "--quiet"]).ended(0);
    let run = world.run_directories().pop().expect("a run");
    let path = run.join("run.json");
    let whole = fs::read(&path).expect("run.json");
    for damaged in [&whole[..1000], b"null", b"[]"] {
        fs::write(&path, damaged).expect("written");
        let name = run.file_name().and_then(|name| name.to_str()).expect("its name");
        let said = world.assay(&["runs", "show", name]);
        let text = format!("{}{}", said.out, said.err);
        assert!(text.contains("it is damaged") && text.contains("assay runs recover"), "{text}");
    }
}
