//! One run at a time on a target, and what a killed run leaves.

use std::fs;
use std::process::{Command, Stdio};

use crate::bounded::{Bounded as _, Started};
use crate::world::{Said, World, is_root, path_text, signal, wait_for};

/// A plan that does `op` on `path` for a long time.
fn plan(world: &World, name: &str, op: &str, path: &str) {
    let size = if path.starts_with("/dev") { "" } else { "size = '4m'\n" };
    let text = format!(
        "[[target]]\nname = 't'\npath = '{path}'\n{size}\n[[job]]\nop = '{op}'\nblock_size = '4k'\npattern = 'random'\n\
         runtime = '60s'\n"
    );
    fs::write(world.path().join(name), text).expect("written");
}

/// Starts a run and returns when it measures.
fn start(world: &World, words: &[&str]) -> Started {
    let before = world.run_directories();
    let child = world.command(words).stdout(Stdio::null()).stderr(Stdio::null()).start().expect("started");
    wait_for("the first intervals", || {
        let runs = world.run_directories();
        let series = runs.iter().find(|run| !before.contains(run)).map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 1024))
    });
    child
}

fn end(mut child: Started) {
    signal(&child, rustix::process::Signal::KILL);
    child.wait().expect("ended");
}

#[track_caller]
fn is_refused(said: &Said, by: &Started) {
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    let named = format!("is in use by pid {} (", by.id());
    assert!(said.err.contains(&named) && said.err.contains(" since 20"), "{}", said.err);
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.err);
}

#[test]
fn two_runs_do_not_write_one_file() {
    let world = World::new();
    plan(&world, "write.toml", "write", "file");
    plan(&world, "read.toml", "read", "file");
    let first = start(&world, &["run", "write.toml"]);
    fs::hard_link(world.path().join("file"), world.path().join("other")).expect("linked");
    plan(&world, "linked.toml", "read", "other");
    let kept = world.run_directories().len();
    for file in ["write.toml", "read.toml", "linked.toml"] {
        is_refused(&world.assay(&["run", file]), &first);
    }
    is_refused(&world.assay(&["probe", "file"]), &first);
    fs::remove_file(world.path().join("other")).expect("removed");
    let said = world.assay(&["cleanup", "file"]).ended(1);
    assert!(said.err.contains("a running Assay uses it"), "{}", said.err);
    assert_eq!(world.run_directories().len(), kept, "a refused run keeps nothing");
    assert!(world.path().join("file").exists(), "nor does it remove anything");
    end(first);
    // Readers share, and keep writers away. A run that lays the file out has it exclusively.
    let short = fs::read_to_string(world.path().join("read.toml")).expect("read").replace("60s", "100ms");
    fs::write(world.path().join("short.toml"), short).expect("written");
    world.assay(&["run", "short.toml", "--destroy-data", "file"]).ended(0);
    let reader = start(&world, &["run", "read.toml"]);
    let other = start(&world, &["run", "read.toml"]);
    let said = world.assay(&["run", "write.toml"]);
    end(other);
    let alone = world.assay(&["run", "write.toml"]);
    is_refused(&alone, &reader);
    end(reader);
    assert!(said.err.contains("is in use by pid"), "{}", said.err);
}

#[test]
fn a_place_has_one_quick() {
    let world = World::new();
    let mut first = world.start_measuring();
    let said = world.quick(&[]);
    signal(&first, rustix::process::Signal::INT);
    first.wait().expect("ended");
    is_refused(&said, &first);
    assert!(world.data().join("assay-quick/assay-1.data").exists());
}

#[test]
fn a_tree_has_one_run() {
    let world = World::new();
    let text = "[[target]]\nname = 't'\npath = 'anchor'\nkind = 'directory'\n\n[[job]]\nop = 'read'\nblock_size = '4k'\n\
                runtime = '60s'\n\n[job.tree]\nwidth = 2\ndepth = 1\nfiles = 3\nsizes = '4k'\noperations = 'create,delete'\n";
    fs::write(world.path().join("tree.toml"), text).expect("written");
    let first = start(&world, &["run", "tree.toml"]);
    let said = world.assay(&["run", "tree.toml"]);
    end(first);
    assert!(said.code == Some(1) && said.err.contains("anchor is in use by pid"), "{}{}", said.out, said.err);
}

#[test]
fn what_a_killed_run_was_writing_is_laid_out_again() {
    let world = World::new();
    plan(&world, "write.toml", "write", "file");
    let short = "[[target]]\nname = 't'\npath = 'file'\nsize = '4m'\n\n[[job]]\nop = 'read'\nblock_size = '4k'\n\
                 pattern = 'random'\nruntime = '200ms'\n";
    fs::write(world.path().join("read.toml"), short).expect("written");
    end(start(&world, &["run", "write.toml"]));
    // What is in it may be somebody's own by now.
    fs::write(world.path().join("file"), "precious").expect("written");
    let said = world.assay(&["run", "read.toml"]).ended(2);
    assert!(said.err.contains("was killed") && said.err.contains("--destroy-data"), "{}", said.err);
    // A plan that only reads destroys nothing: what cannot be done is laying the file out. The plan says the same.
    assert!(said.err.contains("laid out again") && !said.err.contains("writing destroys"), "{}", said.err);
    let planned = world.assay(&["plan", "read.toml"]).ended(2);
    assert!(planned.err.contains("laid out again"), "{}{}", planned.out, planned.err);
    assert_eq!(fs::read(world.path().join("file")).expect("there"), b"precious");
    let said = world.assay(&["run", "read.toml", "--json", "--destroy-data", "file"]).ended(0);
    assert!(said.out.contains("laid out"), "{}{}", said.out, said.err);
    // What is whole is not.
    let said = world.assay(&["run", "read.toml", "--json"]).ended(0);
    assert!(!said.out.contains("laid out"), "{}", said.out);
}

#[test]
fn what_a_killed_run_only_read_is_as_it_was_laid_out() {
    let world = World::new();
    plan(&world, "read.toml", "read", "file");
    end(start(&world, &["run", "read.toml"]));
    let short = fs::read_to_string(world.path().join("read.toml")).expect("read").replace("60s", "100ms");
    fs::write(world.path().join("short.toml"), short).expect("written");
    let said = world.assay(&["run", "short.toml", "--json"]).ended(0);
    assert!(!said.out.contains("laid out"), "{}", said.out);
    world.assay(&["cleanup", "file"]).ended(0);
}

#[test]
fn cleanup_removes_a_file_that_is_not_as_it_was_left_where_it_is_named() {
    let world = World::new();
    plan(&world, "write.toml", "write", "file");
    end(start(&world, &["run", "write.toml"]));
    let said = world.assay(&["cleanup", "."]).ended(1);
    assert!(said.err.contains("--destroy-data with its path removes it"), "{}", said.err);
    world.assay(&["cleanup", ".", "--destroy-data", "file"]).ended(0);
    assert!(!world.path().join("file").exists());
}

#[test]
fn cleanup_removes_what_a_killed_run_was_writing() {
    let world = World::new();
    world.quick(&[]).ended(0);
    plan(&world, "write.toml", "write", "data/assay-quick/file");
    let run = start(&world, &["run", "write.toml"]);
    let during = world.assay(&["cleanup", "data"]);
    assert!(world.data().join("assay-quick/file").exists(), "{}", during.err);
    end(run);
    assert_eq!(during.code, Some(1), "{}", during.err);
    world.assay(&["cleanup", "data"]).ended(0);
    assert!(!world.data().join("assay-quick").exists());
}

#[test]
fn two_runs_do_not_use_one_device() {
    if !is_root() {
        return crate::skip::declare("losetup", "needs root");
    }
    let world = World::new();
    let image = world.path().join("image");
    fs::File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("an image");
    let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output_in_time();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return crate::skip::declare("losetup", "no loop device");
    };
    let device = String::from_utf8(output.stdout).expect("text").trim().to_owned();
    plan(&world, "write.toml", "write", &device);
    plan(&world, "read.toml", "read", &device);
    plan(&world, "file.toml", "read", path_text(&image));
    let words = ["run", "write.toml", "--destroy-data", &device];
    let first = start(&world, &words);
    let (write, read) = (world.assay(&words), world.assay(&["run", "read.toml"]));
    let image_read = world.assay(&["run", "file.toml"]);
    let id = first.id();
    end(first);
    Command::new("losetup").args(["--detach", &device]).status_in_time().expect("detached");
    for said in [write, read, image_read] {
        assert!(said.err.contains(&format!("is in use by pid {id}")), "{}{}", said.out, said.err);
    }
}

#[test]
fn a_file_that_a_database_has_locked_is_neither_written_nor_removed() {
    let world = World::new();
    plan(&world, "write.toml", "write", "file");
    let short = fs::read_to_string(world.path().join("write.toml")).expect("read").replace("60s", "100ms");
    fs::write(world.path().join("short.toml"), short).expect("written");
    world.assay(&["run", "short.toml"]).ended(0);
    let lock = "import fcntl, sys\nf = open('file', 'r+')\nfcntl.lockf(f, fcntl.LOCK_EX)\nopen('locked', 'w')\nsys.stdin.read()";
    let mut python = Command::new("python3");
    let Ok(mut locker) = python.args(["-c", lock]).current_dir(world.path()).stdin(Stdio::piped()).start()
    else {
        return;
    };
    wait_for("the lock", || world.path().join("locked").exists());
    for words in [&["run", "short.toml"][..], &["run", "short.toml", "--destroy-data", "file"]] {
        is_refused(&world.assay(words), &locker);
    }
    let said = world.assay(&["cleanup", "file"]).ended(1);
    assert!(said.err.contains(&format!("in use by pid {} (", locker.id())), "{}", said.err);
    signal(&locker, rustix::process::Signal::KILL);
    locker.wait().expect("ended");
    world.assay(&["cleanup", "file"]).ended(0);
    assert!(!world.path().join("file").exists());
}
