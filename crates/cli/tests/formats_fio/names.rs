//! fio's engines of file operations through real fio and through `assay fio`: as many operations of each job, and what is left on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::Place;

/// Sections of one file, one behind the other; whether fio 3.33 has the engine.
const JOBS: &[&str] = &[
    "ioengine=filecreate\nnrfiles=5\nfilesize=4k\nopenfiles=1\ncreate_on_open=1\nfallocate=none",
    "ioengine=filecreate\nrw=write\nsize=24k\nnrfiles=6\nnumjobs=2",
    "ioengine=filecreate\nrw=randwrite\nfilesize=8k\nbs=8k\nnrfiles=4\nunlink=1",
    "ioengine=filestat\nfilesize=4k\nnrfiles=7\nloops=2",
    "ioengine=filestat\nstat_type=lstat\nrw=write\nfilesize=4k\nnrfiles=3\nfallocate=none",
    "ioengine=filestat\nstat_type=statx\nrw=randread\nfilesize=16k\nbs=16k\nnrfiles=4\nnumber_ios=3",
    "ioengine=filestat\nfilename=one:two:three\nfilesize=4k\nfile_service_type=random",
    "ioengine=filedelete\nfilesize=4k\nnrfiles=6",
    "ioengine=filedelete\nfilesize=8k\nbs=4k\nsize=8k\nnrfiles=3\nunlink=0",
    "ioengine=filedelete\nrw=write\nfilename=gone\nsize=4k",
    "ioengine=falloc\nrw=write\nsize=256k\nbs=64k\nfallocate=none",
    "ioengine=falloc\nrw=trim\nsize=128k\nbs=32k",
    "ioengine=falloc\nrw=read\nsize=64k\nbs=16k",
    "ioengine=falloc\nrw=randwrite\nsize=256k\nbs=32k\nfallocate=none",
    "ioengine=ftruncate\nrw=write\nsize=100k\nbs=4k",
    "ioengine=ftruncate\nrw=write\nsize=64k\nbs=4k\nloops=2\nfallocate=none",
    "ioengine=psync\nrw=write\nsize=64k\nloops=3\nunlink_each_loop=1",
    "ioengine=psync\nrw=read\nsize=40k\nnrfiles=5\nopenfiles=2",
    "ioengine=psync\nrw=randwrite\nsize=48k\nnrfiles=3\nopenfiles=2\nfilename=deep/er/a:deep/b:c",
];

/// What one side did: operations of each clone, and what is left: length and 512-byte blocks.
#[derive(Debug, PartialEq)]
struct Did {
    operations: Vec<(String, [u64; 3])>,
    left: BTreeMap<String, (u64, u64)>,
}

fn text() -> String {
    let section = |(index, lines): (usize, &&str)| format!("[n{index}]\nstonewall\n{lines}\n");
    JOBS.iter().enumerate().map(section).collect()
}

fn report(place: &Place, program: &str, first: &[&str]) -> Value {
    let mut command = Command::new(program);
    command.args(first).args(["--output-format=json", "--output=report.json", "job.fio"]);
    command.current_dir(place.path()).env("ASSAY_RUNS", place.path().join("runs"));
    let output = command.output_in_time().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}: {said}");
    let text = place.read("report.json");
    serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("a report")
}

fn run(program: &str, first: &[&str], text: &str) -> Did {
    let place = Place::new();
    place.file("job.fio", text);
    let report = report(&place, program, first);
    // Operations are what has a latency: fio counts I/Os besides that do nothing.
    let counted = |entry: &Value| {
        ["read", "write", "trim"].map(|kind| entry[kind]["clat_ns"]["N"].as_u64().unwrap_or(0))
    };
    let entries = report["jobs"].as_array().expect("jobs").iter();
    let operations =
        entries.map(|entry| (entry["jobname"].as_str().unwrap_or_default().to_owned(), counted(entry)));
    let names = std::fs::read_dir(place.path()).expect("a directory");
    let left = names.filter_map(|entry| {
        let entry = entry.expect("an entry");
        let (name, meta) =
            (entry.file_name().into_string().expect("a name"), entry.metadata().expect("a file"));
        let is_data = !["job.fio", "report.json", "runs"].contains(&name.as_str());
        is_data.then(|| (name, (meta.len(), meta.blocks())))
    });
    Did { left: left.collect(), operations: operations.collect() }
}

#[test]
fn calls_on_files_are_as_many_as_in_fio_and_leave_the_same() {
    if !has_fio() {
        return;
    }
    let text = text();
    let ours = run(env!("CARGO_BIN_EXE_assay"), &["fio", "--watch", "counters"], &text);
    let theirs = run("fio", &[], &text);
    for (ours, theirs) in ours.operations.iter().zip(&theirs.operations) {
        assert_eq!(ours, theirs, "{text}");
    }
    assert_eq!(ours.operations.len(), theirs.operations.len());
    let names = |did: &Did| did.left.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    for (name, (bytes, blocks)) in &ours.left {
        let (their_bytes, their_blocks) = theirs.left[name];
        assert_eq!(*bytes, their_bytes, "length of {name}");
        // A mark of Assay's may take a block of its own.
        assert!(blocks.abs_diff(their_blocks) <= 8, "{name}: {blocks} blocks, {their_blocks} by fio");
    }
}

/// The engines of directories are of fio 3.4x: what they do is told by its source.
#[test]
fn directories_are_made_looked_at_and_removed() {
    let place = Place::new();
    let text = "[global]\nfilesize=4k\nnrfiles=4\n[made]\nioengine=dircreate\ncreate_on_open=1\nopenfiles=1\n\
                [seen]\nstonewall\nioengine=dirstat\nrw=read\nstat_type=statx\nunlink=1\n[gone]\nstonewall\nioengine=dirdelete\n";
    place.file("job.fio", text);
    let report = report(&place, env!("CARGO_BIN_EXE_assay"), &["fio", "--watch", "counters"]);
    let counts = |report: &Value| -> Vec<u64> {
        let jobs = report["jobs"].as_array().expect("jobs").iter();
        jobs.map(|job| job["read"]["total_ios"].as_u64().expect("a count")).collect()
    };
    assert_eq!(counts(&report), [4, 4, 4]);
    let stands = |name: &str| place.path().join(name).is_dir();
    assert!((0..4).all(|number| stands(&format!("made.0.{number}"))));
    assert!(
        (0..4).all(|number| !stands(&format!("seen.0.{number}")) && !stands(&format!("gone.0.{number}")))
    );
    // Those of another run are looked at as well.
    place.file("job.fio", "[listed]\nioengine=dirstat\nfilename=made.0.0:made.0.2\nfilesize=4k\n");
    assert_eq!(
        counts(&self::report(&place, env!("CARGO_BIN_EXE_assay"), &["fio", "--watch", "counters"])),
        [2]
    );
    // And removed without anybody's consent.
    place.file("job.fio", "[listed]\nioengine=dirdelete\nfilename=made.0.2\nfilesize=4k\n");
    assert_eq!(
        counts(&self::report(&place, env!("CARGO_BIN_EXE_assay"), &["fio", "--watch", "counters"])),
        [1]
    );
    assert!(!stands("made.0.2"));
    // What Assay made it removes again, but for what somebody put something into.
    std::fs::write(place.path().join("made.0.1/kept"), "theirs").expect("a file");
    let said = place.assay(&["cleanup", "."]);
    assert!(stands("made.0.1") && !stands("made.0.0") && !stands("made.0.3"), "{said:?}");
}

/// What Assay did not make is not removed, nor what a link leads to.
#[test]
fn nothing_is_removed_that_was_not_made_or_named() {
    let place = Place::new();
    let (theirs, directory) = (place.path().join("theirs"), place.path().join("empty"));
    std::fs::write(&theirs, [7; 4096]).expect("a file");
    std::fs::create_dir(&directory).expect("a directory");
    std::os::unix::fs::symlink("theirs", place.path().join("link")).expect("a link");
    let job = |engine: &str, name: &str| {
        place.file("job.fio", &format!("[j]\nioengine={engine}\nfilename={name}\nfilesize=4k\n"));
    };
    let run = |consent: &str| {
        let mut arguments = vec!["run", "job.fio", "--json"];
        if !consent.is_empty() {
            arguments.extend(["--destroy-data", consent]);
        }
        place.assay(&arguments)
    };
    job("filedelete", "theirs");
    let said = run("");
    assert!(said.code == Some(2) && said.err.contains("theirs") && theirs.exists(), "{said:?}");
    job("filedelete", "link");
    let said = run("theirs");
    assert!(said.code == Some(2) && said.err.contains("symbolic link") && theirs.exists(), "{said:?}");
    job("dirdelete", "empty");
    let said = run("");
    assert!(said.code == Some(2) && said.err.contains("--destroy-data") && directory.exists(), "{said:?}");
    job("filedelete", "theirs");
    let said = run("theirs");
    assert!(said.code == Some(0) && !theirs.exists(), "{said:?}");
}
