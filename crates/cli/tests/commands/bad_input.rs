//! Wrong words for every command: status 2 or 1, the reason on stderr in one line, nothing on stdout, nothing left.

use std::fs;

use crate::bounded::Bounded as _;
use crate::world::{World, entries, path_text};

/// Asserts that `words` end with `code`, name the reason `why` in one line, and change nothing.
#[track_caller]
fn refused(world: &World, words: &[&str], code: i32, why: &str) {
    let before = tree(world);
    let said = world.assay(words);
    assert_eq!(said.code, Some(code), "{words:?}: {}{}", said.out, said.err);
    assert_eq!(said.out, "", "{words:?}");
    assert!(said.err.starts_with("error: ") && said.err.contains(why), "{words:?}: {}", said.err);
    assert_eq!(said.err.trim_end().lines().count(), 1, "{words:?}: {}", said.err);
    assert_eq!(tree(world), before, "{words:?} left something behind");
}

/// The same for what the command line's own grammar refuses; its message has lines of advice.
#[track_caller]
fn misused(world: &World, words: &[&str], why: &str) {
    let said = world.assay(words).ended(2);
    assert_eq!(said.out, "", "{words:?}");
    assert!(said.err.starts_with("error: ") && said.err.contains(why), "{words:?}: {}", said.err);
}

/// All paths below a world.
fn tree(world: &World) -> Vec<std::path::PathBuf> {
    let mut paths = entries(world.path());
    let mut next = 0;
    while next < paths.len() {
        let below = entries(&paths[next]);
        paths.extend(below);
        next += 1;
    }
    paths.sort();
    paths
}

#[test]
fn places_that_are_no_directories() {
    let world = World::new();
    fs::write(world.path().join("file"), "mine").expect("written");
    refused(&world, &["quick", "nowhere/at/all"], 2, "does not exist");
    refused(&world, &["quick", "db1.example"], 2, "if it is another host, say db1.example:");
    refused(&world, &["quick", "file"], 2, "is not a directory");
    refused(&world, &["quick", "/dev/null"], 2, "is not a directory");
    refused(&world, &["quick", "./two\nlines"], 2, "./two\\nlines does not exist");
    refused(&world, &["quick", ""], 2, "");
    refused(&world, &["cleanup", "nowhere"], 2, "No such file");
    assert_eq!(fs::read_to_string(world.path().join("file")).expect("there"), "mine");
}

#[test]
fn block_devices_are_no_place_for_quick() {
    let world = World::new();
    let device = entries("/dev".as_ref()).into_iter().find(|path| {
        use std::os::unix::fs::FileTypeExt as _;
        fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device())
    });
    let Some(device) = device else { return crate::skip::declare("losetup", "no block device in /dev") };
    refused(&world, &["quick", path_text(&device)], 2, "is not a directory");
}

/// What newcomers type comes with what to type instead.
#[test]
fn words_of_other_tools_come_with_the_fix() {
    let world = World::new();
    fs::write(world.path().join("a.fio"), "[a]\nfilename=a\nsize=64k\nrw=read\n").expect("written");
    let cases: &[(&[&str], &str)] = &[
        (&["run", "a.fio", "--bs=4k"], "options of fio are taken by 'assay fio'"),
        (&["run", "--rw=randread", "--size=1g"], "options of fio are taken by 'assay fio'"),
        (&["run", "a.fio", "-o", "out"], "'assay report last --html FILE'"),
        (&["run", "a.fio", "--csv", "x.csv"], "'assay report last --html FILE'"),
        (&["run", "a.fio", "--repeat", "x"], "it is not a whole number"),
        (&["run", "a.fio", "--curve", "10-90"], "it is not a number"),
        (&["run", "a.fio", "--engine", "iouring"], "did you mean io_uring? available: auto"),
        (&["fio", "--bs=4k"], "give --name=JOB"),
        (&["a.fio"], "'assay run a.fio'"),
        (&["start"], "'assay --help' lists the commands"),
        (&["--runtime", "10"], "options stand behind a command"),
        (&["judge", "fio", "--name=x"], "stands behind '--'"),
        (&["check", "nope"], "'assay runs' lists them"),
    ];
    for (words, fix) in cases {
        let said = world.assay(words).ended(2);
        assert!(said.err.starts_with("error: ") && said.err.contains(fix), "{words:?}: {}", said.err);
        assert!(!said.err.contains("as a value"), "{words:?}: {}", said.err);
        assert_eq!(said.err.matches("error: ").count(), 1, "{words:?}: {}", said.err);
    }
}

#[test]
fn mistyped_names_come_with_the_nearest() {
    let world = World::new();
    refused(&world, &["quick", "data", "--series", "stb-21"], 2, "did you mean stb-2.1?");
    refused(&world, &["quick", "data", "--series", "jetstress"], 2, "there are assay-1 and stb-2.1");
    let test = "4k random raeds, 1 outstanding";
    refused(&world, &["quick", "data", "--test", test], 2, "did you mean '4k random reads, 1 outstanding'?");
    refused(&world, &["quick", "data", "--series", "stb-2.1", "--test", "zz"], 2, "--series list");
    refused(&world, &["quick", "data", "--baseline", "nosuch"], 2, "nosuch");
    refused(&world, &["run", "--profile", "real-live"], 2, "real-life");
    misused(&world, &["quik"], "quick");
    misused(&world, &["quick", "--sereis", "stb-2.1"], "--series");
}

#[test]
fn numbers_out_of_range() {
    let world = World::new();
    misused(&world, &["quick", "data", "--repeat", "0"], "0 is not in 1..=100");
    misused(&world, &["quick", "data", "--repeat", "many"], "many");
    misused(&world, &["quick", "data", "--seed", "-1"], "-1");
    misused(&world, &["bench-self", "--seconds", "0"], "1..=60");
    misused(&world, &["report", "last"], "required");
    let said = world.assay(&[]).ended(2);
    assert!(said.out.is_empty() && said.err.contains("Usage: assay"), "{}", said.err);
}

#[test]
fn pages_that_cannot_be_written_are_refused_before_the_measurement() {
    let world = World::new();
    refused(&world, &["quick", "data", "--html", "no/such/page.html"], 2, "no/such is not a directory");
    refused(&world, &["quick", "data", "--html", "home"], 2, "is a directory");
}

#[test]
fn hosts_that_are_none() {
    let world = World::new();
    refused(&world, &["quick", "@:x"], 2, "is not a host");
    refused(&world, &["quick", "a b:x"], 2, "is not a host");
    refused(&world, &["cleanup", "me@host:~other/x"], 2, "another user's home");
    misused(&world, &["quick", "-oProxyCommand=touch pwned:x"], "unexpected argument");
    refused(&world, &["quick", "--", "-oProxyCommand=touch pwned:x"], 2, "is not a host");
}

#[test]
fn runs_that_are_none() {
    let world = World::new();
    for words in [
        ["check", "nosuch"].as_slice(),
        &["report", "nosuch", "--html", "page.html"],
        &["runs", "show", "nosuch"],
        &["runs", "recover", "nosuch"],
        &["runs", "rm", "nosuch"],
        &["baseline", "save", "name", "nosuch"],
    ] {
        refused(&world, words, 2, "no run 'nosuch'");
    }
    refused(&world, &["runs", "show", "last"], 2, "no run 'last'");
    refused(&world, &["runs", "rm", "data"], 2, "is not a run directory");
    fs::write(world.path().join("page.json"), "{}").expect("written");
    refused(&world, &["check", "page.json"], 2, "page.json");
    refused(&world, &["baseline", "show", "nosuch"], 2, "nosuch");
    refused(&world, &["baseline", "rm", "nosuch"], 2, "nosuch");
    refused(&world, &["baseline", "rm", "../runs"], 2, "");
}

#[test]
fn plans_that_are_none() {
    let world = World::new();
    refused(&world, &["run", "nosuch.toml"], 2, "nosuch.toml");
    refused(&world, &["plan", "nosuch.fio"], 2, "nosuch.fio");
    refused(&world, &["run", "data"], 2, "data");
    refused(&world, &["convert", "nosuch.fio", "--to", "toml"], 2, "nosuch.fio");
    misused(&world, &["run"], "required");
    let zero = "[[target]]\nname = 't'\npath = 'file'\nsize = 0\n\n[[job]]\nop = 'write'\nblock_size = '4k'\n\
                pattern = 'random'\nruntime = '1s'\n";
    fs::write(world.path().join("zero.toml"), zero).expect("written");
    let said = world.assay(&["run", "zero.toml"]).ended(2);
    assert!(said.err.contains("size") && !world.path().join("file").exists(), "{}", said.err);
}

#[test]
fn nowhere_to_keep_runs() {
    let world = World::new();
    fs::write(world.path().join("file"), "").expect("written");
    refused(&world, &["quick", "data", "--out", "file/below"], 1, "file/below");
    let mut command = world.command(&["quick", "data"]);
    let output =
        command.env_remove("HOME").env_remove("ASSAY_RUNS").output_in_time().expect("the program starts");
    let said = crate::world::Said::of(output).ended(2);
    assert!(said.err.contains("nowhere to keep runs"), "{}", said.err);
    assert!(entries(&world.data()).is_empty());
}

#[test]
fn more_memory_than_there_is_is_refused_before_anything_is_made() {
    let world = World::new();
    let plan = world.path().join("large.toml");
    let text = "[[target]]\nname = \"data\"\npath = \"large.bin\"\nsize = \"4g\"\n[[job]]\nop = \"read\"\nblock_size = \"1g\"\n\
                pattern = \"random\"\noutstanding = 65536\nruntime = 1\n";
    std::fs::write(&plan, text).expect("a plan");
    let said = world.assay(&["run", path_text(&plan)]).ended(2);
    assert!(said.err.contains("of memory for its buffers"), "{}", said.err);
    assert!(!world.path().join("large.bin").exists() && entries(&world.runs()).is_empty());
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let world = World::new();
    let place = |name: &str| world.path().join(name);
    for pipe in ["pipe", "run.json"] {
        assert!(
            std::process::Command::new("mkfifo").arg(place(pipe)).status_in_time().expect("mkfifo").success()
        );
    }
    let _socket = std::os::unix::net::UnixListener::bind(place("socket")).expect("a socket");
    for what in ["pipe", "run.json", "socket", "/dev/zero", "/dev/ptmx", "data"] {
        for words in [
            ["run", what].as_slice(),
            &["plan", what],
            &["convert", what, "--to", "toml"],
            &["audit", what],
            &["crosscheck", what],
            &["import", what],
            &["check", what],
            &["compare", what, what],
            &["report", what, "--csv", "-"],
            &["runs", "show", what],
            &["baseline", "save", "x", what],
        ] {
            let waits = ["run", "audit", "import"].contains(&words[0]);
            let reads_file = ["run", "plan", "convert", "audit", "crosscheck", "import"].contains(&words[0]);
            if match what {
                // Each wait for a writer takes its time.
                "pipe" => waits,
                "run.json" => !reads_file,
                _ => true,
            } {
                refused(&world, words, 2, "");
            }
        }
    }
    // What somebody writes is read, though.
    let text = "[a]\nrw=read\nsize=1m\nfilename=f\n";
    let writer = std::thread::spawn({
        let pipe = place("pipe");
        move || fs::write(pipe, text)
    });
    world.assay(&["plan", "pipe"]).ended(0);
    crate::world::wait_for("what reads the pipe", || writer.is_finished());
    writer.join().expect("joined").expect("written");
    for stdin in ["-", "/dev/stdin", "/proc/self/fd/0"] {
        world.piped(&["plan", stdin], text.as_bytes()).ended(0);
    }
}

#[test]
fn zero_bytes_are_said_with_their_place() {
    let world = World::new();
    let target =
        "[[job]]\nop = 'read'\nblock_size = '4k'\npattern = 'random'\nruntime = '1s'\n\n[[target]]\n";
    for (name, text, place) in [
        ("path.toml", format!("{target}name = 't'\npath = \"a\\u0000\"\nsize = '1m'\n"), "path.toml:9:"),
        ("name.toml", format!("{target}name = \"t\\u0000\"\npath = 'a'\nsize = '1m'\n"), "name.toml:8:"),
        ("job.fio", "[a]\nrw=read\nfilename=x\0y\n".to_owned(), "job.fio:3:11"),
        ("parm", "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=s\0\nrd=r,wd=wd1\n".to_owned(), "parm:2:12"),
    ] {
        fs::write(world.path().join(name), text).expect("written");
        let format = if name == "parm" { "vdbench" } else { "auto" };
        let said = world.assay(&["run", name, "--format", format]).ended(2);
        assert!(said.err.contains(place) && said.err.contains("zero byte"), "{}", said.err);
    }
}

#[test]
fn plans_for_other_hosts_are_shown_and_not_run() {
    let world = World::new();
    let parameters = "hd=h1,system=10.0.0.1\nhd=h2,system=10.0.0.2\nsd=s1,lun=/data/f,size=64m,threads=4\n\
                      wd=w,sd=s1\nrd=r,wd=w,iorate=max,elapsed=2,interval=1\n";
    fs::write(world.path().join("two.parm"), parameters).expect("written");
    let shown = world.assay(&["plan", "two.parm"]).ended(2);
    for line in ["host h1: 10.0.0.1", "s1 on h2", "2 threads", "on 2 of 2 hosts"] {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    let verbose = world.assay(&["plan", "two.parm", "--verbose"]).ended(2);
    let note = "two.parm:2:1: note: hd `h2`: 10.0.0.2 is another machine";
    assert!(verbose.err.contains(note), "{}", verbose.err);
    let before = tree(&world);
    for words in [&["run", "two.parm"][..], &["run", "two.parm", "--engine", "sim"]] {
        let refused = world.assay(words).ended(2);
        let why = "the plan is for h1 (10.0.0.1), h2 (10.0.0.2): --on ssh reaches them";
        assert!(refused.err.contains(why) && refused.err.contains("two.parm:1"), "{}", refused.err);
        assert_eq!(refused.out, "");
    }
    assert_eq!(tree(&world), before);
    let toml = world.assay(&["convert", "two.parm", "--to", "toml"]).ended(0);
    assert!(toml.out.contains("[[host]]\nname = \"h1\"\nsystem = \"10.0.0.1\""), "{}", toml.out);
    let fio = world.assay(&["convert", "two.parm", "--to", "fio"]).ended(0);
    assert!(fio.err.contains("hosts"), "{}", fio.err);
}
