//! fio's command line: what its own options do here, and that none is dropped without a word.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{Said, World, entries, is_root};

const SIZE: usize = 1 << 20;

/// A file of others in a world.
fn precious(world: &World) -> PathBuf {
    let path = world.path().join("precious");
    fs::write(&path, vec![7; SIZE]).expect("written");
    path
}

fn is_untouched(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.len() == SIZE && bytes.iter().all(|byte| *byte == 7))
}

/// A loop device over a file, which goes with the value.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let out = Command::new("losetup").args(["--find", "--show"]).arg(file).output_in_time().ok()?;
        let name = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        out.status.success().then_some(Loop(name))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status_in_time();
    }
}

/// fio's verdict on the same words in the same place: its status, and what it printed.
fn fio(world: &World, words: &[&str]) -> Option<(Option<i32>, String)> {
    let out =
        Command::new("fio").args(words).current_dir(world.path()).env("DIR", "some/where").output_in_time();
    let Ok(out) = out else {
        skip::declare("fio", "no fio on the path");
        return None;
    };
    Some((out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned()))
}

fn assay(world: &World, words: &[&str]) -> Said {
    Said::of(world.command(words).env("DIR", "some/where").output_in_time().expect("the program starts"))
}

/// What is in the world's directory, beside runs.
fn names(world: &World) -> Vec<PathBuf> {
    entries(world.path()).into_iter().filter(|path| !path.ends_with("runs")).collect()
}

#[test]
fn readonly_writes_to_no_device_although_it_is_named_for_destruction() {
    let world = World::new();
    let image = precious(&world);
    let Some(device) = is_root().then(|| Loop::over(&image)).flatten() else {
        return skip::declare("losetup", "no loop device could be attached");
    };
    for rw in ["write", "randrw", "trim", "trimwrite", "readwrite"] {
        let (rw, name) = (format!("--rw={rw}"), format!("--filename={}", device.0));
        let words = ["fio", "--destroy-data", &device.0, "--readonly", "--name=t", &name, &rw, "--size=64k"];
        let said = world.assay(&words).ended(1);
        assert!(said.err.contains("--readonly does not allow"), "{}", said.err);
        // It may stand anywhere.
        let said = world.assay(&["fio", "--destroy-data", &device.0, "--name=t", &name, &rw, "--readonly"]);
        assert!(said.ended(1).err.contains("--readonly"), "{rw}");
    }
    let name = format!("--filename={}", device.0);
    world.assay(&["fio", "--readonly", "--name=t", &name, "--rw=read", "--size=64k"]).ended(0);
    drop(device);
    assert!(is_untouched(&image));
}

#[test]
fn readonly_holds_for_the_jobs_of_files() {
    let world = World::new();
    let file = precious(&world);
    let text = "[reads]\nfilename=precious\nrw=read\nsize=64k\n[writes]\nfilename=precious\nrw=randwrite\nsize=64k\n";
    fs::write(world.path().join("j.fio"), text).expect("written");
    for words in [["--readonly", "j.fio"], ["j.fio", "--readonly"]] {
        let said = world.assay(&[&["fio", "--destroy-data", "precious"][..], &words].concat()).ended(1);
        assert!(said.err.contains("j.fio:7:1") && said.err.contains("'writes'"), "{}", said.err);
        if let Some((code, _)) = fio(&world, &words) {
            assert_eq!(code, Some(1));
        }
    }
    world.assay(&["fio", "--readonly", "--section=reads", "j.fio"]).ended(0);
    assert!(is_untouched(&file));
}

#[test]
fn readonly_lays_out_and_extends_no_file() {
    let world = World::new();
    let file = precious(&world);
    let before = names(&world);
    for (name, size, why) in [
        ("precious", "2m", "has 1 MiB of the 2 MiB"),
        ("new", "64k", "does not exist"),
        ("sub/new", "64k", ""),
    ] {
        let (name, size) = (format!("--filename={name}"), format!("--size={size}"));
        let words = ["--readonly", "--name=t", &name, "--rw=read", &size];
        let said = world.assay(&[&["fio"][..], &words].concat());
        assert!(matches!(said.code, Some(1 | 2)) && said.err.contains(why), "{name}: {}", said.err);
        assert_eq!(names(&world), before, "{name}");
        if let Some((code, _)) = fio(&world, &words) {
            assert_eq!(code, Some(1), "{name}");
        }
    }
    assert!(is_untouched(&file));
}

#[test]
fn parse_only_judges_as_fio_does_and_does_nothing() {
    let world = World::new();
    let file = precious(&world);
    fs::write(world.path().join("good.fio"), "[w]\nfilename=precious\nrw=write\nsize=64k\n")
        .expect("written");
    fs::write(world.path().join("bad.fio"), "[w]\nfilename=precious\nrw=wite\nsize=64k\n").expect("written");
    fs::write(world.path().join("defaults.fio"), "[global]\nrw=write\n").expect("written");
    let before = names(&world);
    let lines: [&[&str]; 10] = [
        &["--name=t", "--filename=new", "--size=1m", "--rw=write"],
        &["--name=t", "--filename=new", "--size=1m", "--rw=wite"],
        &["--name=t", "--sze=1m"],
        &["--name=t", "--ioengine=filedelete", "--filesize=4k"],
        &["good.fio"],
        &["good.fio", "bad.fio"],
        &["defaults.fio"],
        &["missing.fio"],
        &["--section=nosuch", "good.fio"],
        &["--readonly", "good.fio"],
    ];
    for words in lines {
        let words = [&["--parse-only"], words].concat();
        let said = world.assay(&[&["fio", "--destroy-data", "precious"], &words[..]].concat());
        assert_eq!(said.out, "", "{words:?}");
        assert_eq!(said.code == Some(0), !said.err.contains("error: "), "{words:?}: {}", said.err);
        if let Some((code, _)) = fio(&world, &words) {
            assert_eq!(said.code, code, "{words:?}: {}", said.err);
        }
    }
    assert_eq!(names(&world), before);
    assert!(is_untouched(&file) && entries(&world.runs()).is_empty());
}

/// Lines that a section may have.
const LINES: [&str; 24] = [
    "rw=randread",
    "readwrite=randwrite:8",
    "bs=4k,8k",
    "blocksize=16k",
    "thread",
    "group_reporting",
    "stonewall=0",
    "size=64k",
    "filename=a:b",
    "filename=precious",
    "directory=${DIR}",
    "description=say \"hi\" twice  ",
    "bssplit=4k/50:8k/50",
    "numjobs=3",
    "include more.inc",
    "norandommap ; behind it",
    "kb_base=1000",
    "filename_format=$jobname.$jobnum",
    "runtime=10s",
    "time_based",
    "randrepeat=0",
    "name=other",
    "ioengine=libaio",
    "buffer_pattern=\"a b\"0xff",
];

/// A job file of defaults and up to three jobs.
fn generated(number: usize) -> String {
    let line = |index: usize| LINES[index % LINES.len()];
    let mut text = String::from("; generated\n\n");
    let sections = ["global", "first job", "/dev/null", "global", "last]"];
    for (index, name) in sections.iter().enumerate() {
        if (number + index) % 4 == 3 {
            continue;
        }
        text += &format!("[{name}]\n");
        for step in 0..2 + (number + index) % 5 {
            text += &format!("{}\n", line(number * 7 + index * 5 + step * (1 + number % 5)));
        }
    }
    text + "[end]\nrw=read\n"
}

#[test]
fn showcmd_prints_what_fio_prints_and_does_nothing() {
    let world = World::new();
    let file = precious(&world);
    fs::write(world.path().join("more.inc"), "iodepth=4\nsync=1\n").expect("written");
    let files: Vec<String> = (0..24).map(|number| format!("{number}.fio")).collect();
    for (number, name) in files.iter().enumerate() {
        fs::write(world.path().join(name), generated(number)).expect("written");
    }
    let before = names(&world);
    let mut lines: Vec<Vec<&str>> = files.iter().map(|name| vec![name.as_str()]).collect();
    lines.push(vec!["0.fio", "1.fio", "2.fio"]);
    lines.push(vec!["--section=end", "4.fio"]);
    lines.push(vec!["--name=x", "--size=1m", "5.fio"]);
    lines.push(vec!["--bs=2k", "4.fio"]);
    let mut longest = 0;
    for words in lines {
        let words = [vec!["--showcmd"], words].concat();
        let said = assay(&world, &[vec!["fio"], words.clone()].concat()).ended(0);
        assert_eq!(said.err, "", "{words:?}");
        longest = longest.max(said.out.len());
        if let Some((code, printed)) = fio(&world, &words) {
            // fio quotes descriptions only, in quotes that a shell does not understand as they are meant.
            let ours = words_of(&said.out).join(" ").replace('"', "");
            assert_eq!(
                (ours.as_str(), Some(0)),
                (printed.trim_end().replace(['"', '\n'], "").as_str(), code),
                "{words:?}"
            );
        }
    }
    assert!(longest > 300);
    assert_eq!(names(&world), before);
    assert!(is_untouched(&file) && entries(&world.runs()).is_empty());
}

/// The words that a shell reads in command lines.
fn words_of(lines: &str) -> Vec<String> {
    let script = lines.lines().map(|line| format!("printf '%s\\n' {line}\n")).collect::<String>();
    let read = std::process::Command::new("sh").args(["-c", &script]).output_in_time().expect("sh");
    String::from_utf8(read.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn showcmd_can_be_pasted_into_a_shell() {
    let world = World::new();
    let job = "[it's \"a\" $job]\nrw=randread\nsize=1m\nfilename=x y&`id`*\n\
               description=two  words, $HOME and \"more\" \\\\ here\ndirectory=data\nexec_prerun=echo 'a' > /tmp/x\n";
    fs::write(world.path().join("q.fio"), job).expect("written");
    let line = assay(&world, &["fio", "--showcmd", "q.fio"]).ended(0).out;
    let words = words_of(&line);
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    for word in [
        "--name=it's \"a\" $job",
        "--filename=x y&`id`*",
        "--description=two  words, $HOME and \"more\" \\\\ here",
        "--exec_prerun=echo 'a' > /tmp/x",
    ] {
        assert!(words.contains(&word), "{word}: {words:#?} of {line}");
    }
    // The command means the same job.
    let again = assay(&world, &[["fio", "--parse-only"].as_slice(), &words].concat());
    let once = assay(&world, &["fio", "--parse-only", "q.fio"]);
    assert_eq!(again.code, once.code, "{}{}", again.err, once.err);
}

#[test]
fn options_of_the_program_fio_are_refused_or_said() {
    let world = World::new();
    precious(&world);
    let run = |option: &str| world.assay(&["fio", "--name=t", "--filename=precious", "--size=64k", option]);
    for (option, instead) in [
        ("--output-format=xml", "json+"),
        ("--terse-version=9", "2, 3, 4 or 5"),
        ("--trigger=reboot", "assay judge"),
        ("--enghelp=libaoi", "libaio"),
        ("--status-interval=0", "too small"),
        ("--status-interval=soon", "500ms"),
        ("--cmdhelp=rv", "no option 'rv'"),
        ("--server", "--client=HOST"),
        ("--readonly=1", "takes no value"),
        ("--output", "needs a value"),
    ] {
        let said = run(option).ended(2);
        assert!(said.err.contains(instead) && said.out.is_empty(), "{option}: {}", said.err);
    }
    for option in ["--status-interval=1", "--debug=io"] {
        let said = run(option).ended(0);
        assert!(said.err.contains(&format!("not honoured: `{option}`")), "{option}: {}", said.err);
    }
    for option in ["--eta=never", "--output-format=normal", "--max-jobs=4", "--alloc-size=1024"] {
        assert!(!run(option).ended(0).err.contains("not honoured"), "{option}");
    }
    assert!(run("--version").ended(0).out.starts_with("fio-3.33-assay-"));
    assert!(run("--help").ended(0).out.contains("Options of Assay may stand anywhere"));
}

#[test]
fn a_lost_option_that_changes_the_test_stops_it_unless_that_is_allowed() {
    let world = World::new();
    fs::write(world.path().join("v.fio"), "[v]\nfilename=v.dat\nrw=write\nsize=64k\nlockmem=1m\n")
        .expect("written");
    let vdbench = "pattern=file\nsd=sd1,lun=v.dat,size=1m\nwd=wd1,sd=sd1,xf=4k,rdpct=0\nrd=rd1,wd=wd1,iorate=100,elapsed=2\n";
    fs::write(world.path().join("v.vdb"), vdbench).expect("written");
    let words = ["--name=v", "--filename=v.dat", "--rw=write", "--size=64k", "--lockmem=1m"];
    let lines =
        [vec!["fio"], vec!["run", "v.fio"], vec!["run", "v.vdb"], vec!["run", "--engine", "sim", "v.fio"]];
    for mut line in lines {
        line.push("--quiet");
        let line = if line[0] == "fio" { [&line, &words[..]].concat() } else { line };
        let said = world.assay(&line).ended(1);
        let named = ["lockmem=1m", "pattern"].iter().any(|word| said.err.contains(word));
        assert!(
            named && said.err.contains("not honoured") && said.err.contains("--allow-loss"),
            "{}",
            said.err
        );
        assert_eq!(said.out, "", "{line:?}");
        assert!(!world.path().join("v.dat").exists() && entries(&world.runs()).is_empty(), "{line:?}");
    }
    let said = world.assay(&[&["fio", "--quiet", "--allow-loss"][..], &words].concat()).ended(0);
    assert_eq!(said.err.matches("not honoured: `lockmem=1m`").count(), 1, "{}", said.err);
    let run = world.only_run();
    let remark = &run["remarks"][0];
    assert_eq!(remark["id"], "not-honoured", "{remark}");
    assert!(remark["text"].as_str().is_some_and(|text| text.contains("lockmem=1m")), "{remark}");
    let page = fs::read_to_string(world.run_directories()[0].join("report.html")).expect("a page");
    assert!(page.contains("not honoured: `lockmem=1m`") && said.out.contains("lockmem=1m"));
}

#[test]
fn a_lost_option_of_the_report_stops_nothing() {
    let world = World::new();
    precious(&world);
    let words = ["fio", "--name=v", "--filename=precious", "--rw=read", "--size=64k", "--log_issue_time=1"];
    let said = world.assay(&words).ended(0);
    assert!(said.err.contains("not honoured: `log_issue_time=1`"), "{}", said.err);
    assert!(
        world.only_run()["remarks"]
            .as_array()
            .is_some_and(|all| all.iter().all(|one| one["id"] != "not-honoured"))
    );
}

#[test]
fn directories_above_a_file_are_made_and_a_refused_start_leaves_none() {
    let world = World::new();
    let file = precious(&world);
    let run = |words: &[&str]| world.assay(&[&["fio", "--watch", "counters"], words].concat());
    let write = ["--rw=write", "--size=64k"];
    let before = names(&world);
    for refused in [
        // No consent for the second file.
        &["--name=t", "--filename=a/b/new:precious", write[0], write[1]][..],
        &["--name=t", "--filename=a/b/new", "--sze=64k"],
        &["--name=t", "--filename=a/b/new", "--readonly", write[0], write[1]],
        &["--name=t", "--filename=a/b/new", write[0], "--size=1e"],
        // As in fio, a directory that is named has to be there.
        &["--name=t", "--directory=a/b", write[0], write[1]],
    ] {
        let said = run(refused);
        assert!(said.code != Some(0), "{refused:?}");
        assert_eq!(names(&world), before, "{refused:?}: {}", said.err);
    }
    assert!(is_untouched(&file));
    let words = ["--name=t", "--filename=a/b/new", write[0], write[1]];
    let said = run(&[&words[..], &["--dry-run"]].concat());
    assert_eq!((said.code, names(&world)), (Some(0), before), "{}", said.err);
    let said = run(&words);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(world.path().join("a/b/new").is_file());
}
