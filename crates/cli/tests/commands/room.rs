//! Whether there is room is asked before anything is written, and a start that comes to nothing leaves nothing.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;

use crate::bounded::{Bounded as _, Started};
use crate::mounts::Mounted;
use crate::world::{Said, World, entries, json, path_text, signal, wait_for};

/// A job file in the world.
fn job(world: &World, text: &str) -> String {
    let path = world.path().join("job.fio");
    fs::write(&path, text).expect("a file");
    path_text(&path).to_owned()
}

fn fio_job(direction: &str, size: &str) -> String {
    format!("[data]\nrw={direction}\nbs=1m\nsize={size}\nruntime=1\ntime_based=1\nfilename=data.bin\n")
}

/// What lies there, but for what mkfs made.
fn left_in(directory: &Path) -> Vec<std::path::PathBuf> {
    entries(directory).into_iter().filter(|path| !path.ends_with("lost+found")).collect()
}

#[track_caller]
fn says_where(error: &str, mounted: &Mounted, needed: &str) {
    let words = [
        "not enough space on ",
        path_text(mounted.path()),
        "ext4",
        "data.bin",
        needed,
        "available",
        "smaller size",
    ];
    for word in words {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
}

#[test]
fn a_plan_that_does_not_fit_is_refused_before_the_first_write() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 64) else { return };
    let place = path_text(mounted.path());
    let before = mounted.available_bytes();
    for (direction, words) in [
        ("write", &[][..]),
        ("randwrite", &[]),
        ("read", &[]),
        ("randrw", &["--engine", "psync"]),
        ("write", &["--engine", "fio"]),
    ] {
        let file = job(&world, &fio_job(direction, "900t"));
        let said = world.assay(&[&["run", &file, "--target", place], words].concat()).ended(1);
        says_where(said.err.lines().last().expect("a reason"), &mounted, "900 TiB");
        let said = world.assay(&[&["run", &file, "--dry-run", "--target", place], words].concat()).ended(1);
        says_where(said.err.lines().last().expect("a reason"), &mounted, "900 TiB");
        assert!(left_in(mounted.path()).is_empty(), "{direction}: something was left behind");
    }
    assert_eq!(mounted.available_bytes(), before);
    assert!(entries(&world.runs()).is_empty(), "a refused start is no run");
}

#[test]
fn a_read_only_file_system_is_named_as_what_it_is() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("read-only"), "ro,size=8m") else { return };
    let place = path_text(mounted.path());
    let file = job(&world, "[rd]\nrw=randread\nbs=4k\nsize=1m\ndirect=1\n");
    for words in [&["run"][..], &["run", "--on", "local:2"], &["plan"]] {
        let said = world.assay(&[words, &[&file, "--target", place]].concat());
        let told = said.err.contains(place) && said.err.contains("Read-only file system");
        assert!(told && !said.err.contains("direct I/O"), "{words:?}: {}", said.err);
    }
}

#[test]
fn a_plan_says_that_it_does_not_fit() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 64) else { return };
    let file = job(&world, &fio_job("write", "900t"));
    let said = world.assay(&["plan", &file, "--target", path_text(mounted.path())]).ended(1);
    assert!(said.out.contains("data.bin") && said.out.contains("900 TiB"), "the plan is shown: {}", said.out);
    says_where(&said.err, &mounted, "900 TiB");
    let said = world.assay(&["plan", &file, "--json", "--target", path_text(mounted.path())]).ended(1);
    let document = json(&said.out);
    let known = document["diagnostics"].as_array().expect("diagnostics");
    assert!(
        known.iter().any(|said| said["id"] == "not-enough-space" && said["severity"] == "error"),
        "{document}"
    );
}

#[test]
fn targets_of_one_file_system_are_added_up() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 64) else { return };
    let place = path_text(mounted.path());
    let two = "[global]\nrw=write\nbs=1m\nsize=30m\n[a]\nfilename=data.bin\n[b]\nfilename=other.bin\n";
    let said = world.assay(&["run", &job(&world, two), "--target", place]).ended(1);
    says_where(&said.err, &mounted, "2 targets, the largest");
    assert!(said.err.contains("60 MiB together"), "{}", said.err);
    // One of them fits; and again, where it is already there.
    let one = job(&world, "[a]\nrw=write\nbs=1m\nsize=40m\nfilename=data.bin\n");
    for _ in 0..2 {
        world.assay(&["run", &one, "--target", place, "--watch", "nothing"]).ended(0);
    }
    // It may not grow beyond what is there, and stays as it is.
    let said = world.assay(&["run", &job(&world, &fio_job("write", "80m")), "--target", place]).ended(1);
    says_where(&said.err, &mounted, "40 MiB");
    let data = mounted.path().join("data.bin");
    assert_eq!(fs::metadata(&data).expect("a file").len(), 40 << 20);
    // A file of holes takes what it does not have.
    fs::File::options().write(true).open(&data).and_then(|file| file.set_len(1 << 40)).expect("holes");
    let named = ["--destroy-data", path_text(&data)];
    let holes = job(&world, &fio_job("randwrite", "1t"));
    let said = world.assay(&[&["run", &holes, "--target", place], &named[..]].concat()).ended(1);
    says_where(&said.err, &mounted, "1023.96 GiB");
    // A little of it is written, however large it is.
    let little = "[a]\nrw=randwrite\nbs=4k\nsize=1t\nnorandommap\nio_size=1m\nfilename=data.bin\n";
    let little = job(&world, little);
    let words = ["run", &little, "--target", place, "--watch", "nothing"];
    world.assay(&[&words, &named[..]].concat()).ended(0);
}

#[test]
fn trees_ask_for_space_and_for_inodes() {
    let world = World::new();
    let Some(mounted) = Mounted::made(&world, "ext4", 64, &["-N", "256"]) else { return };
    let anchor = mounted.path().join("tree");
    let run = |files: u32, size: &str| {
        let text = format!(
            "fsd=f,anchor={},depth=1,width=4,files={files},size={size}\nfwd=w,fsd=f,operation=read\n\
             rd=r,fwd=w,fwdrate=max,format=yes,elapsed=2,interval=1\n",
            anchor.display()
        );
        let path = world.path().join("parm");
        fs::write(&path, text).expect("a file");
        world.assay(&["run", path_text(&path), "--watch", "nothing"])
    };
    let said = run(10, "10m").ended(1);
    assert!(said.err.contains("not enough space on") && said.err.contains("400"), "{}", said.err);
    let said = run(100, "4k").ended(1);
    assert!(said.err.contains("not enough inodes on") && said.err.contains("405 files"), "{}", said.err);
    assert!(left_in(mounted.path()).is_empty());
    for _ in 0..2 {
        run(10, "1m").ended(0);
    }
}

/// A run that lays a file out, stopped by `stop` as soon as that has begun.
fn stopped(world: &World, words: &[&str], file: &Path, from: u64, stop: impl FnOnce(&Started)) -> Said {
    let mut command = world.command(&[&["run", "--watch", "nothing"], words].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    wait_for("the layout", || fs::metadata(file).is_ok_and(|meta| meta.len() > from));
    stop(&child);
    Said::of(child.wait_with_output().expect("ended"))
}

#[test]
fn an_interrupted_start_leaves_nothing_and_nothing_longer() {
    let world = World::new();
    let (data, file) = (world.data(), world.data().join("data.bin"));
    let place = path_text(&data).to_owned();
    let long = job(&world, &fio_job("read", "1g"));
    let interrupt = |child: &Started| signal(child, Signal::INT);
    stopped(&world, &[&long, "--target", &place], &file, 0, interrupt).ended(5);
    assert!(entries(&data).is_empty(), "{:?}", entries(&data));
    let short = job(&world, &fio_job("read", "3m"));
    world.assay(&["run", &short, "--target", &place, "--watch", "nothing"]).ended(0);
    let long = job(&world, &fio_job("read", "1g"));
    stopped(&world, &[&long, "--target", &place], &file, 3 << 20, interrupt).ended(5);
    assert_eq!(fs::metadata(&file).expect("it was there before").len(), 3 << 20);
    // A profile makes a directory of its own.
    let large = ["--profile", "max-real-io", "--target", &place, "--scale", "0.004"];
    let first = data.join("assay-run/data0.bin");
    stopped(&world, &large, &first, 0, interrupt).ended(5);
    assert_eq!(entries(&data), [file]);
}

#[test]
fn a_layout_stops_before_others_have_taken_the_reserve() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 2048) else { return };
    let file = mounted.path().join("data.bin");
    let large = job(&world, &fio_job("read", "1600m"));
    let said = stopped(&world, &[&large, "--target", path_text(mounted.path())], &file, 0, |_| {
        let other = fs::File::create(mounted.path().join("other")).expect("a file");
        let bytes = 1200 << 20;
        let flags = rustix::fs::FallocateFlags::empty();
        rustix::fs::fallocate(&other, flags, 0, bytes).expect("others take the space");
    });
    let said = said.ended(1);
    let error = said.err.lines().last().expect("a reason");
    assert!(
        error.contains("data.bin: lay out: the file system is being filled by something else"),
        "{error}"
    );
    assert!(!file.exists() && mounted.available_bytes() > 500 << 20);
}

#[test]
fn a_fill_stops_before_others_have_taken_the_reserve() {
    let world = World::new();
    let Some(mounted) = Mounted::on_loop(&world, "ext4", 3072) else { return };
    let file = mounted.path().join("assay-run/data.bin");
    let words = ["--profile", "snia-iops", "--scale", "0.02", "--target", path_text(mounted.path())];
    let said = stopped(&world, &words, &file, 0, |_| {
        let other = fs::File::create(mounted.path().join("other")).expect("a file");
        let flags = rustix::fs::FallocateFlags::empty();
        let bytes = mounted.available_bytes() - (64 << 20);
        rustix::fs::fallocate(&other, flags, 0, bytes).expect("others take the space");
    });
    let said = said.ended(1);
    let error = said.err.lines().last().expect("a reason");
    assert!(error.contains("data.bin: the file system is being filled by something else"), "{error}");
    assert_eq!(left_in(mounted.path()), [mounted.path().join("other")], "what the start made is gone");
}
