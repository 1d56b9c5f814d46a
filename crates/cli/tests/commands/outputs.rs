//! What the user asks to be written replaces nothing of anybody else, whatever the option.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::stored::measured;
use crate::world::{Said, World, entries, is_root, path_text};

const JOB: &str = "[reads]\nfilename=a.dat\nsize=1m\nrw=randread\nbs=4k\nruntime=1\ntime_based\n";
const HOT: &str = "sd=sd1,lun=big,size=16g,threads=8\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=100,rhpct=75\n\
                   rd=rd1,wd=wd1,iorate=max,elapsed=10,interval=1\n";
const FIO_RESULT: &str = include_str!("../../../fio/tests/data/fio-clones.json");

/// A command and the option that names an output. `@` stands for the path.
const FILES: &[&[&str]] = &[
    &["report", "RUN", "--html", "@"],
    &["report", "RUN", "--csv", "@"],
    &["report", "RUN", "--md", "@"],
    &["report", "RUN", "--fio-json", "@"],
    &["report", "RUN", "--fio-json-plus", "@"],
    &["check", "RUN", "--html", "@"],
    &["runs", "show", "RUN", "--html", "@"],
    &["runs", "recover", "RUN", "--html", "@"],
    &["compare", "RUN", "RUN", "--anyway", "--html", "@"],
    &["compare", "RUN", "RUN", "--anyway", "--md", "@"],
    &["convert", "job.fio", "--to", "toml", "-o", "@"],
    &["new", "--target", "a.dat", "--size", "1m", "-o", "@"],
    &["audit", "hot.vdb", "--fix", "@"],
    &["audit", "hot.vdb", "--html", "@"],
    &["run", "job.fio", "--html", "@"],
    &["run", "job.fio", "--trace", "@"],
    &["run", "job.fio", "--fio-json", "@"],
    &["run", "job.fio", "--engine", "sim", "--fio-json-plus", "@"],
    &["quick", "data", "--html", "@"],
    &["import", "fio.json", "--html", "@"],
    &["judge", "--html", "@", "--", "touch", "judged"],
];

/// The same for options that name a directory.
const DIRECTORIES: &[&[&str]] = &[
    &["report", "RUN", "--fio-logs", "@"],
    &["report", "RUN", "--vdbench", "@"],
    &["run", "job.fio", "--fio-logs", "@"],
    &["run", "job.fio", "--vdbench", "@"],
    &["new", "--target", "a.dat", "--size", "1m", "--grid", "4k,8k x 100", "-o", "@"],
];

/// A world with a stored run and files to work on, at which nothing has been written yet.
fn world() -> World {
    let world = World::new();
    let runs = measured().runs();
    assert!(
        Command::new("cp").arg("-a").args([&runs, &world.runs()]).status_in_time().expect("cp").success()
    );
    for (name, text) in
        [("job.fio", JOB), ("hot.vdb", HOT), ("fio.json", FIO_RESULT), ("precious", "precious")]
    {
        fs::write(world.path().join(name), text).expect("written");
    }
    world
}

/// The words with the path in them.
fn said(world: &World, words: &[&str], path: &str, more: &[&str]) -> Said {
    let run = world.run_directories()[0].file_name().expect("a name").to_string_lossy().into_owned();
    let fill = |word: &&str| match *word {
        "@" => path.to_owned(),
        "RUN" => run.clone(),
        other => other.to_owned(),
    };
    let mut words: Vec<String> = words.iter().map(fill).collect();
    let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(at..at, more.iter().map(|word| (*word).to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.assay(&words)
}

/// Everything there is: kind, inode and content of each name.
fn snapshot(root: &Path) -> Vec<(PathBuf, u64, Vec<u8>)> {
    let mut all = Vec::new();
    for path in entries(root) {
        let meta = fs::symlink_metadata(&path).expect("metadata");
        if meta.is_dir() {
            all.extend(snapshot(&path));
        }
        let content = if meta.is_file() { fs::read(&path).expect("readable") } else { Vec::new() };
        all.push((path, meta.ino(), content));
    }
    all
}

/// Refused with status 2, in one message that names the path; nothing was measured, made or changed anywhere.
#[track_caller]
fn refused(world: &World, words: &[&str], path: &str, expected: &str) {
    let before = snapshot(world.path());
    for more in [[].as_slice(), &["--force"]] {
        let said = said(world, words, path, more).ended(2);
        let message = said.err.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        let one = matches!(message.as_slice(), [one] if one.contains(path) && one.contains(expected));
        assert!(one, "{words:?} {path}: {}", said.err);
    }
    let after = snapshot(world.path());
    let names = |all: &[(PathBuf, u64, Vec<u8>)]| all.iter().map(|one| one.0.clone()).collect::<Vec<_>>();
    assert!(before == after, "{words:?} {path} changed {:?} to {:?}", names(&before), names(&after));
}

/// A loop device over an image in the world, which is removed again with the value.
struct Loop {
    device: String,
    mounted: Option<PathBuf>,
}

impl Loop {
    /// `None`, and a declared skip, where there are no loop devices.
    fn over(image: &Path) -> Option<Self> {
        if !is_root() {
            skip::declare("losetup", "loop devices take root");
            return None;
        }
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(image).output_in_time().ok();
        let attached = attached.filter(|said| said.status.success());
        let Some(attached) = attached else {
            skip::declare("losetup", "no loop device could be attached");
            return None;
        };
        let device = String::from_utf8_lossy(&attached.stdout).trim().to_owned();
        assert!(fs::metadata(&device).expect("a node").file_type().is_block_device());
        Some(Loop { device, mounted: None })
    }

    fn mount(&mut self, at: &Path) {
        fs::create_dir(at).expect("a mount point");
        let run = |program: &str, words: &[&str]| {
            assert!(
                Command::new(program).args(words).status_in_time().expect(program).success(),
                "{program}"
            );
        };
        run("mkfs.ext2", &["-q", &self.device]);
        run("mount", &["-o", "noatime", &self.device, path_text(at)]);
        fs::write(at.join("inside"), "precious").expect("written");
        run("sync", &["-f", path_text(at)]);
        self.mounted = Some(at.to_owned());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Some(at) = &self.mounted {
            let _ = Command::new("umount").arg(at).status_in_time();
        }
        let _ = Command::new("losetup").args(["-d", &self.device]).status_in_time();
    }
}

#[test]
fn no_option_writes_to_a_device() {
    let world = world();
    let image = world.path().join("image");
    fs::write(&image, vec![7; 4 << 20]).expect("an image");
    let Some(mut device) = Loop::over(&image) else { return };
    let link = world.path().join("link");
    symlink(&device.device, &link).expect("a link");
    for mounted in [false, true] {
        if mounted {
            device.mount(&world.path().join("mnt"));
        }
        for words in FILES {
            refused(&world, words, &device.device, "block device");
            refused(&world, words, "link", "symbolic link");
        }
        for words in DIRECTORIES {
            refused(&world, words, &device.device, "is not a directory");
            refused(&world, words, "link", "symbolic link");
        }
    }
}

#[test]
fn no_option_replaces_the_file_of_another_without_force() {
    let world = world();
    for words in FILES {
        let before = snapshot(world.path());
        let said = said(&world, words, "precious", &[]).ended(2);
        assert!(said.err.contains("precious") && said.err.contains("--force"), "{words:?}: {}", said.err);
        assert!(snapshot(world.path()) == before, "{words:?}");
    }
    for words in DIRECTORIES {
        let before = snapshot(world.path());
        let said = said(&world, words, "home/..", &[]).ended(2);
        assert!(said.err.contains("--force"), "{words:?}: {}", said.err);
        assert!(snapshot(world.path()) == before, "{words:?}");
    }
}

#[test]
fn no_command_replaces_its_own_input() {
    let world = world();
    let run = world.run_directories().pop().expect("a run");
    fs::hard_link(world.path().join("job.fio"), world.path().join("hard")).expect("a link");
    fs::write(world.path().join("more.fio"), JOB.replace("bs=4k", "include part.fio")).expect("written");
    fs::write(world.path().join("part.fio"), "bs=4k\n").expect("written");
    fs::write(world.path().join("a.dat"), vec![1; 1 << 20]).expect("written");
    let summary = run.join("run.json");
    let journal = run.join("journal.jsonl");
    for (words, path) in [
        (["convert", "job.fio", "--to", "toml", "-o", "@"].as_slice(), "job.fio"),
        (&["convert", "job.fio", "--to", "fio", "-o", "@"], "./job.fio"),
        (&["convert", "job.fio", "--to", "fio", "-o", "@"], "data/../job.fio"),
        (&["convert", "job.fio", "--to", "fio", "-o", "@"], "hard"),
        (&["convert", "more.fio", "--to", "fio", "-o", "@"], "part.fio"),
        (&["audit", "more.fio", "--html", "@"], "part.fio"),
        (&["run", "more.fio", "--html", "@"], "part.fio"),
        (&["audit", "hot.vdb", "--fix", "@"], "hot.vdb"),
        (&["audit", "hot.vdb", "--html", "@"], "hot.vdb"),
        (&["import", "fio.json", "--html", "@"], "fio.json"),
        (&["run", "job.fio", "--html", "@"], "job.fio"),
        (&["run", "job.fio", "--html", "@"], "a.dat"),
        (&["run", "job.fio", "--trace", "@"], "a.dat"),
        (&["judge", "--target", "a.dat", "--html", "@", "--", "true"], "a.dat"),
        (&["report", "RUN", "--fio-json", "@"], path_text(&summary)),
        (&["report", path_text(&summary), "--csv", "@"], path_text(&summary)),
        (&["check", "RUN", "--html", "@"], path_text(&journal)),
        (&["compare", "RUN", "fio.json", "--html", "@"], "fio.json"),
        (&["compare", "RUN", "fio.json", "--md", "@"], path_text(&summary)),
    ] {
        refused(&world, words, path, "this command reads or measures");
    }
    let said = said(&world, &["report", "RUN", "--html", "one", "--csv", "@"], "./one", &[]).ended(2);
    assert!(said.err.contains("--html names the same file"), "{}", said.err);
    assert!(!world.path().join("one").exists());
}

#[test]
fn what_assay_wrote_is_written_again() {
    let world = world();
    for words in FILES.iter().filter(|words| !["run", "quick", "judge"].contains(&words[0])) {
        let place = world.path().join("out");
        said(&world, words, "out", &[]).ended(0);
        let first = fs::metadata(&place).expect("written").ino();
        said(&world, words, "out", &[]).ended(0);
        assert_ne!(fs::metadata(&place).expect("written again").ino(), first, "{words:?}");
        fs::write(&place, "edited").expect("edited");
        said(&world, words, "out", &[]).ended(2);
        assert_eq!(fs::read_to_string(&place).expect("there"), "edited", "{words:?}");
        said(&world, words, "out", &["--force"]).ended(0);
        assert_ne!(fs::read_to_string(&place).expect("there"), "edited", "{words:?}");
        fs::remove_file(&place).expect("removed");
    }
    for words in DIRECTORIES.iter().filter(|words| words[0] != "run") {
        let place = world.path().join("new/out");
        said(&world, words, "new/out", &[]).ended(0);
        let names = entries(&place);
        // A run this short has no intervals to make logs of.
        if names.is_empty() && words.contains(&"--fio-logs") {
            continue;
        }
        fs::write(place.join("notes"), "precious").expect("written");
        said(&world, words, "new/out", &[]).ended(0);
        fs::write(&names[0], "edited").expect("edited");
        let said = said(&world, words, "new/out/", &[]).ended(2);
        assert!(said.err.contains(path_text(names[0].file_name().expect("a name").as_ref())), "{}", said.err);
        assert_eq!(fs::read_to_string(place.join("notes")).expect("there"), "precious");
        fs::remove_dir_all(place).expect("removed");
    }
}

#[test]
fn stdout_is_no_file() {
    let world = world();
    for path in ["-", "/dev/stdout"] {
        let text = said(&world, &["convert", "job.fio", "--to", "toml", "-o", "@"], path, &[]).ended(0).out;
        assert!(text.contains("assay = 1"), "{text}");
        let rows = said(&world, &["report", "RUN", "--csv", "@"], path, &[]).ended(0).out;
        assert!(rows.lines().count() > 2, "{rows}");
    }
    assert!(!world.path().join("-").exists());
}

#[test]
fn a_full_file_system_keeps_the_old_file_and_no_half_of_the_new_one() {
    let world = world();
    let at = world.path().join("small");
    let Some(_mounted) = crate::mounts::Mounted::tmpfs(&at, "size=16k") else { return };
    let page = ["report", "RUN", "--html", "@"];
    let said = said(&world, &page, "small/page.html", &[]).ended(1);
    assert!(
        said.err.contains("--html small/page.html") && said.err.contains("No space left"),
        "{}",
        said.err
    );
    assert!(entries(&at).is_empty(), "{:?}", entries(&at));
    fs::write(at.join("page.html"), "precious").expect("written");
    self::said(&world, &page, "small/page.html", &["--force"]).ended(1);
    assert_eq!(fs::read_to_string(at.join("page.html")).expect("there"), "precious");
    assert_eq!(entries(&at).len(), 1);
    self::said(&world, &["report", "RUN", "--fio-json-plus", "small/x", "--vdbench", "@"], "small/v", &[])
        .ended(1);
    assert!(entries(&at).iter().all(|path| !path.ends_with("v")), "{:?}", entries(&at));
}

#[test]
fn a_baseline_is_replaced_with_force_only() {
    let world = world();
    said(&world, &["baseline", "save", "mine", "RUN", "--anyway"], "", &[]).ended(0);
    let said = |more: &[&str]| said(&world, &["baseline", "save", "mine", "RUN", "--anyway"], "", more);
    assert!(said(&[]).ended(2).err.contains("mine"));
    said(&["--force"]).ended(0);
}

#[test]
fn what_replaces_a_file_of_assay_is_of_its_kind() {
    let world = World::new();
    let run = path_text(&measured().run_directories()[0]).to_owned();
    let assay = |words: &[&str]| {
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "RUN" { run.as_str() } else { word }).collect();
        world.assay(&words)
    };
    let (csv, tar): (&[&str], &[&str]) =
        (&["report", "RUN", "--csv", "file"], &["runs", "export", "RUN", "file"]);
    let page: &[&str] = &["report", "RUN", "--html", "file"];
    for (first, second) in [(csv, tar), (tar, csv), (page, csv), (csv, page)] {
        let _ = fs::remove_file(world.path().join("file"));
        assay(first).ended(0);
        let before = fs::read(world.path().join("file")).expect("written");
        let said = assay(second).ended(2);
        assert!(said.err.contains("of another kind") && said.err.contains("--force"), "{}", said.err);
        assert_eq!(fs::read(world.path().join("file")).expect("there"), before);
        // Its own kind it replaces.
        assay(first).ended(0);
        assay(&[second, &["--force"]].concat()).ended(0);
    }
}
