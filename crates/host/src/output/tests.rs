//! Hostile places to write to, as a table: what each is, and what must be said. Nothing below may change.

use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use rustix::fs::{CWD, XattrFlags};

use super::*;

const PRECIOUS: &str = "precious";
/// An attribute is needed to know a file again.
const ATTRIBUTE: &str = "user.assay.output";

/// Everything below a directory: kind, permissions, content or target of each.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = meta.file_type();
            let content = match kind {
                kind if kind.is_symlink() => format!("{:?}", fs::read_link(&path).unwrap()),
                kind if kind.is_file() => format!("{} {:?}", meta.ino(), fs::read(&path).unwrap()),
                kind => format!("{} {}", kind.is_fifo(), meta.rdev()),
            };
            if meta.is_dir() {
                left.push(path.clone());
            }
            all.insert(path, format!("{:o} {content}", meta.mode()));
        }
    }
    all
}

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = World { root: tempfile::tempdir().unwrap() };
        fs::write(world.at("precious"), PRECIOUS).unwrap();
        fs::write(world.at("input"), "input").unwrap();
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn outputs(&self, force: bool) -> Outputs {
        let mut outputs = Outputs::new(force);
        outputs.reads(&self.at("input"));
        outputs
    }

    /// A file that Assay wrote.
    fn written(&self, name: &str) -> PathBuf {
        Outputs::new(false).write("--html", &self.at(name), b"old").unwrap();
        self.at(name)
    }
}

/// Makes the place and answers the path that is to be written.
type Stage = fn(&World) -> PathBuf;

/// Refused, with `--force` too.
const NEVER: &[(&str, Stage, &str)] = &[
    ("a link", |w| link(w, "precious", "x"), "symbolic link"),
    (
        "a link to a link",
        |w| {
            link(w, "precious", "y");
            link(w, "y", "x")
        },
        "symbolic link",
    ),
    ("a link that leads nowhere", |w| link(w, "nothing", "x"), "symbolic link"),
    ("a link to itself", |w| link(w, "x", "x"), "symbolic link"),
    (
        "a link to a file of ours",
        |w| {
            w.written("ours");
            link(w, "ours", "x")
        },
        "symbolic link",
    ),
    (
        "an absolute link",
        |w| {
            symlink(w.at("precious"), w.at("x")).unwrap();
            w.at("x")
        },
        "symbolic link",
    ),
    ("a link to a device", |w| link(w, "/dev/null", "x"), "symbolic link"),
    (
        "a link to a directory",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            link(w, "d", "x")
        },
        "symbolic link",
    ),
    ("an open file by its number", |w| open_by_number(w), "symbolic link"),
    ("stdout by its number", |_| "/proc/self/fd/1".into(), "symbolic link"),
    ("/dev/stderr", |_| "/dev/stderr".into(), "symbolic link"),
    ("a device", |_| "/dev/null".into(), "character device"),
    ("a pipe", |w| node(w, FileType::Fifo), "pipe"),
    (
        "a socket",
        |w| {
            drop(UnixListener::bind(w.at("x")).unwrap());
            w.at("x")
        },
        "socket",
    ),
    (
        "a directory",
        |w| {
            fs::create_dir(w.at("x")).unwrap();
            w.at("x")
        },
        "is a directory",
    ),
    ("this directory", |_| ".".into(), "is a directory"),
    ("the directory above", |_| "..".into(), "is a directory"),
    ("the root", |_| "/".into(), "is a directory"),
    ("no name", |_| "".into(), "is a directory"),
    ("a slash behind a file", |w| w.at("precious/"), "is a directory"),
    ("a slash and a dot behind a file", |w| w.at("precious/."), "is a directory"),
    ("a slash behind a new name", |w| w.at("new/"), "is a directory"),
    ("a file as a directory", |w| w.at("precious/x"), "not a directory"),
    ("no directory", |w| w.at("no/such/x"), "not a directory"),
    ("a directory that is a link leading nowhere", |w| link(w, "nothing", "d").join("x"), "not a directory"),
    ("the input", |w| w.at("input"), "this command reads"),
    ("the input through ./", |w| w.at("./input"), "this command reads"),
    (
        "the input through ..",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            w.at("d/../input")
        },
        "this command reads",
    ),
    ("the input by a hard link", |w| hard(w, "input", "x"), "this command reads"),
    ("the input through a linked directory", |w| link(w, ".", "d").join("input"), "this command reads"),
    ("a read-only file", |w| with_mode("precious", w, 0o444), "write-protected"),
    (
        "a read-only file of ours",
        |w| {
            w.written("x");
            with_mode("x", w, 0o400)
        },
        "write-protected",
    ),
    ("a name that is too long", |w| w.at(&"x".repeat(300)), "too long"),
];

/// Refused unless forced.
const FOREIGN: &[(&str, Stage)] = &[
    ("another's file", |w| w.at("precious")),
    ("another's empty file", |w| {
        fs::write(w.at("x"), "").unwrap();
        w.at("x")
    }),
    ("another's file by a hard link", |w| hard(w, "precious", "x")),
    ("a file of ours that was edited", |w| {
        let x = w.written("x");
        fs::write(&x, "edited").unwrap();
        x
    }),
    ("one that was edited to the same length", |w| {
        let x = w.written("x");
        fs::write(&x, "OLD").unwrap();
        x
    }),
    ("one that was appended to", |w| {
        let x = w.written("x");
        fs::write(&x, "old and mine").unwrap();
        x
    }),
    ("a copy with its attributes", |w| {
        let copied = Command::new("cp").arg("-a").args([w.written("x"), w.at("copy")]).status();
        assert!(copied.unwrap().success());
        w.at("copy")
    }),
    ("a copy of the content alone", |w| {
        fs::copy(w.written("x"), w.at("copy")).unwrap();
        w.at("copy")
    }),
    ("the mark of another file", |w| {
        let (x, y) = (w.written("x"), w.at("precious"));
        let mut value = [0; 256];
        let length = rustix::fs::getxattr(&x, ATTRIBUTE, &mut value).unwrap_or(0);
        let _ = rustix::fs::setxattr(&y, ATTRIBUTE, &value[..length], XattrFlags::empty());
        y
    }),
    ("a test file of ours", |w| {
        let file = fs::File::create(w.at("x")).unwrap();
        crate::workdir::mark_file(&file).unwrap();
        w.at("x")
    }),
];

fn link(world: &World, to: &str, name: &str) -> PathBuf {
    symlink(to, world.at(name)).unwrap();
    world.at(name)
}

fn hard(world: &World, to: &str, name: &str) -> PathBuf {
    fs::hard_link(world.at(to), world.at(name)).unwrap();
    world.at(name)
}

fn node(world: &World, kind: FileType) -> PathBuf {
    rustix::fs::mknodat(CWD, world.at("x"), kind, Mode::from_raw_mode(0o600), 0).unwrap();
    world.at("x")
}

fn with_mode(name: &str, world: &World, mode: u32) -> PathBuf {
    fs::set_permissions(world.at(name), fs::Permissions::from_mode(mode)).unwrap();
    world.at(name)
}

/// The descriptor is left open: the path has to stay valid.
fn open_by_number(world: &World) -> PathBuf {
    use std::os::fd::IntoRawFd as _;
    let file = fs::OpenOptions::new().write(true).open(world.at("precious")).unwrap();
    format!("/proc/self/fd/{}", file.into_raw_fd()).into()
}

/// Both the check and the writing refuse, for that reason, and nothing has changed.
#[track_caller]
fn refuses(what: &str, world: &World, path: &Path, force: bool, expected: &str) {
    let before = snapshot(world.root.path());
    for said in [
        world.outputs(force).check("--html", path).map_err(|error| error.to_string()),
        world.outputs(force).write("--html", path, b"new").map_err(|error| error.to_string()),
    ] {
        let said = said.expect_err(what);
        assert!(said.starts_with("cannot write --html ") && said.contains(expected), "{what}: {said}");
    }
    assert_eq!(snapshot(world.root.path()), before, "{what}");
}

#[test]
fn no_force_reaches_what_is_no_file_of_its_own() {
    for (what, stage, expected) in NEVER {
        for force in [false, true] {
            let world = World::new();
            let path = stage(&world);
            refuses(what, &world, &path, force, expected);
        }
    }
}

#[test]
fn files_of_others_are_replaced_with_force_only() {
    for (what, stage) in FOREIGN {
        let world = World::new();
        let path = stage(&world);
        refuses(what, &world, &path, false, "--force");
        let others = |all: BTreeMap<PathBuf, String>| {
            all.into_iter().filter(|(at, _)| *at != path).collect::<Vec<_>>()
        };
        let before = others(snapshot(world.root.path()));
        world.outputs(true).write("--html", &path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new", "{what}");
        assert_eq!(others(snapshot(world.root.path())), before, "{what}: nothing else changed");
    }
}

/// Whether the file system keeps attributes; where it does not, every file counts as another's.
fn has_attributes(world: &World) -> bool {
    let file = fs::File::create(world.at("probe")).unwrap();
    let set = rustix::fs::fsetxattr(&file, ATTRIBUTE, b"x", XattrFlags::empty());
    fs::remove_file(world.at("probe")).unwrap();
    set.is_ok()
}

#[test]
fn what_assay_wrote_is_replaced_and_keeps_its_permissions() {
    let world = World::new();
    if !has_attributes(&world) {
        return refuses("no attributes", &world, &world.written("x"), false, "--force");
    }
    let path = world.written("x");
    with_mode("x", &world, 0o600);
    let moved = world.at("moved");
    fs::rename(&path, &moved).unwrap();
    let before = fs::metadata(&moved).unwrap();
    world.outputs(false).check("--html", &moved).unwrap();
    world.outputs(false).write("--html", &moved, b"new").unwrap();
    let after = fs::metadata(&moved).unwrap();
    assert_eq!(fs::read(&moved).unwrap(), b"new");
    assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
    assert_eq!(snapshot(world.root.path()).len(), 3, "nothing is left beside it");
}

#[test]
fn parents_may_be_links() {
    let world = World::new();
    fs::create_dir(world.at("real")).unwrap();
    link(&world, "real", "linked");
    world.outputs(false).write("--html", &world.at("linked/x"), b"new").unwrap();
    assert_eq!(fs::read(world.at("real/x")).unwrap(), b"new");
}

#[test]
fn two_options_name_two_files() {
    let world = World::new();
    let mut outputs = world.outputs(true);
    outputs.check("--html", &world.at("x")).unwrap();
    let said = outputs.check("--csv", &world.at("./x")).unwrap_err().to_string();
    assert!(said.contains("--csv") && said.contains("--html names the same file"), "{said}");
    outputs.reads(&world.at("target"));
    let said = outputs.check("--md", &world.at("target")).unwrap_err().to_string();
    assert!(said.contains("this command reads or measures"), "a target that is yet to be made: {said}");
}

/// Puts something under the first path; the second is a file with content.
type Swap = fn(&Path, &Path);

/// What another process puts under the name between the check and the end of writing.
const SWAPS: &[(&str, Swap)] = &[
    ("a file", |at, _| fs::write(at, PRECIOUS).unwrap()),
    ("a file, moved there", |at, precious| fs::rename(precious, at).unwrap()),
    ("a link", |at, precious| symlink(precious, at).unwrap()),
    ("a directory", |at, _| fs::create_dir(at).unwrap()),
    ("a directory with files", |at, precious| {
        fs::create_dir(at).unwrap();
        fs::rename(precious, at.join("inside")).unwrap();
    }),
    ("a pipe", |at, _| rustix::fs::mknodat(CWD, at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap()),
    ("a hard link", |at, precious| fs::hard_link(precious, at).unwrap()),
];

#[test]
fn what_takes_the_name_while_a_file_is_written_keeps_it() {
    for (what, swap) in SWAPS {
        for was_there in [false, true] {
            let world = World::new();
            let path = if was_there && has_attributes(&world) { world.written("x") } else { world.at("x") };
            let outputs = world.outputs(false);
            let place = outputs.open("--html", &path).unwrap();
            let mut file = place.create().unwrap();
            file.write_all(b"new").unwrap();
            let _ = fs::remove_file(&path);
            swap(&path, &world.at("precious"));
            let before = snapshot(world.root.path());
            let said = file.finish().expect_err(what);
            assert!(matches!(said, OutputError::Refused { reason: Reason::Changed, .. }), "{what}: {said}");
            assert_eq!(snapshot(world.root.path()), before, "{what}, was there: {was_there}");
        }
    }
}

#[test]
fn an_edit_while_the_file_is_written_is_kept() {
    let world = World::new();
    if !has_attributes(&world) {
        return;
    }
    let path = world.written("x");
    let outputs = world.outputs(false);
    let place = outputs.open("--html", &path).unwrap();
    let file = place.create().unwrap();
    fs::write(&path, PRECIOUS).unwrap();
    assert!(matches!(file.finish(), Err(OutputError::Refused { reason: Reason::Changed, .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), PRECIOUS);
}

#[test]
fn the_directory_is_the_one_that_was_looked_up() {
    let world = World::new();
    for name in ["d", "trap"] {
        fs::create_dir(world.at(name)).unwrap();
    }
    let outputs = world.outputs(false);
    let path = world.at("d/x");
    let place = outputs.open("--html", &path).unwrap();
    let mut file = place.create().unwrap();
    file.write_all(b"new").unwrap();
    fs::rename(world.at("d"), world.at("moved")).unwrap();
    link(&world, "trap", "d");
    file.finish().unwrap();
    assert!(fs::read_dir(world.at("trap")).unwrap().next().is_none());
    assert_eq!(fs::read(world.at("moved/x")).unwrap(), b"new");
}

#[test]
fn nothing_of_another_process_is_lost_in_a_race() {
    let world = World::new();
    let path = world.at("x");
    let (precious, stop) = (world.at("race"), std::sync::atomic::AtomicBool::new(false));
    let order = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut moved = 0;
            while !stop.load(order) && moved < 2000 {
                fs::write(&precious, PRECIOUS).unwrap();
                fs::rename(&precious, &path).unwrap();
                moved += 1;
                // It is there, under this name, whatever the writer does; unless it is being exchanged just now.
                let found = fs::read(&path).unwrap_or_default();
                assert!(found == PRECIOUS.as_bytes() || found == b"new", "{found:?}");
            }
        });
        let mut refused = 0;
        for _ in 0..300 {
            refused += u32::from(world.outputs(false).write("--html", &path, b"new").is_err());
        }
        stop.store(true, order);
        swapper.join().unwrap();
        assert!(refused > 0);
    });
    assert_eq!(fs::read(&path).unwrap(), PRECIOUS.as_bytes());
    let left: Vec<PathBuf> = snapshot(world.root.path()).into_keys().collect();
    assert_eq!(left, [world.at("input"), world.at("precious"), path]);
}

fn files(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| ((*name).to_owned(), format!("new {name}"))).collect()
}

/// Directories that are refused without force.
const DIRECTORIES: &[(&str, Stage, &str)] = &[
    (
        "one with files in it",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            fs::write(w.at("d/own"), "x").unwrap();
            w.at("d")
        },
        "--force",
    ),
    (
        "one with a hidden file in it",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            fs::write(w.at("d/.own"), "x").unwrap();
            w.at("d")
        },
        "--force",
    ),
    ("the current one", |_| ".".into(), "--force"),
    ("the one above", |_| "..".into(), "--force"),
    ("the root", |_| "/".into(), "--force"),
    (
        "a copy of one of ours",
        |w| {
            w.outputs(false).directory("--vdbench", &w.at("d")).unwrap().write(&files(&["a"])).unwrap();
            assert!(Command::new("cp").arg("-a").args([w.at("d"), w.at("copy")]).status().unwrap().success());
            w.at("copy")
        },
        "--force",
    ),
    ("a file", |w| w.at("precious"), "not a directory"),
    ("a file with a slash", |w| w.at("precious/"), "not a directory"),
    ("below a file", |w| w.at("precious/d"), "not a directory"),
    (
        "a link to an empty one",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            link(w, "d", "x")
        },
        "symbolic link",
    ),
    (
        "the same with a slash",
        |w| {
            fs::create_dir(w.at("d")).unwrap();
            link(w, "d", "x");
            w.at("x/")
        },
        "symbolic link",
    ),
    ("a link that leads nowhere", |w| link(w, "nothing", "x"), "symbolic link"),
    ("a new one below a link that leads nowhere", |w| link(w, "nothing", "x").join("d"), "not a directory"),
    ("a device", |_| "/dev/null".into(), "not a directory"),
];

#[test]
fn directories_of_others_are_refused() {
    for (what, stage, expected) in DIRECTORIES {
        let world = World::new();
        let path = stage(&world);
        let before = snapshot(world.root.path());
        let said = world.outputs(false).directory("--vdbench", &path).expect_err(what).to_string();
        assert!(said.starts_with("cannot write --vdbench ") && said.contains(expected), "{what}: {said}");
        assert_eq!(snapshot(world.root.path()), before, "{what}");
    }
}

#[test]
fn a_directory_of_ours_is_written_into_again_and_keeps_what_is_not_ours() {
    let world = World::new();
    let path = world.at("new/deep");
    let write = |force, names: &[&str]| {
        let outputs = world.outputs(force);
        outputs.directory("--vdbench", &path).and_then(|directory| directory.write(&files(names)))
    };
    write(false, &["a", "b"]).unwrap();
    assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "new b");
    if !has_attributes(&world) {
        return;
    }
    fs::write(path.join("notes"), PRECIOUS).unwrap();
    write(false, &["a", "b", "c"]).unwrap();
    assert_eq!(fs::read_to_string(path.join("notes")).unwrap(), PRECIOUS);
    // One that was edited stops all of them, and nothing is half done.
    fs::write(path.join("b"), PRECIOUS).unwrap();
    let before = snapshot(world.root.path());
    let said = write(false, &["d", "b"]).unwrap_err().to_string();
    assert!(said.contains("deep/b") && said.contains("--force"), "{said}");
    assert_eq!(snapshot(world.root.path()), before);
    write(true, &["b"]).unwrap();
    assert_eq!(fs::read_to_string(path.join("b")).unwrap(), "new b");
    assert_eq!(fs::read_to_string(path.join("notes")).unwrap(), PRECIOUS);
}

#[test]
fn files_that_were_begun_together_go_together() {
    let world = World::new();
    let path = world.at("d");
    let outputs = world.outputs(false);
    let long = "x".repeat(300);
    for name in ["../out", "a/b", "..", "", &long] {
        let said = outputs.directory("--fio-logs", &path).unwrap().write(&files(&["a", name]));
        assert!(said.is_err(), "{name}");
        assert!(!path.exists() && !world.at("out").exists(), "{name}");
    }
}

#[test]
fn a_file_of_another_user_in_a_directory_for_all_is_left_alone() {
    let world = World::new();
    fs::create_dir(world.at("tmp")).unwrap();
    with_mode("tmp", &world, 0o1777);
    fs::write(world.at("tmp/x"), PRECIOUS).unwrap();
    with_mode("tmp/x", &world, 0o666);
    let directory = HeldDirectory::open(&world.at("tmp")).unwrap();
    let mut stat = rustix::fs::statat(&directory, "x", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let above = rustix::fs::fstat(&directory).unwrap();
    assert!(!stuck_for(Uid::ROOT, &above, &stat), "root may");
    assert!(stuck_for(Uid::from_raw(4711), &above, &stat), "others may not");
    stat.st_uid = 4711;
    assert!(!stuck_for(Uid::from_raw(4711), &above, &stat), "the owner may");
}

#[test]
fn former_files_of_another_tool_are_replaced_only_where_that_is_allowed() {
    let root = tempfile::tempdir().unwrap();
    let (result, other, link) =
        (root.path().join("result"), root.path().join("other"), root.path().join("link"));
    fs::write(&result, "tool: 1").unwrap();
    fs::write(&other, PRECIOUS).unwrap();
    symlink(&result, &link).unwrap();
    let outputs = Outputs::new(false);
    assert!(outputs.write("-o", &result, b"ours").is_err());
    let mut allowed = outputs.replacing(|option, file| {
        option == "-o" && file.lines().all(|line| line.is_ok_and(|line| line.starts_with("tool: ")))
    });
    assert!(allowed.check("--log", &result).is_err(), "of another option");
    fs::write(root.path().join("longer"), "tool: 1\nprecious").unwrap();
    assert!(allowed.check("-o", &root.path().join("longer")).is_err(), "only begins so");
    for refused in [&other, &link] {
        assert!(allowed.check("-o", refused).is_err(), "{}", refused.display());
        assert!(allowed.write("-o", refused, b"ours").is_err(), "{}", refused.display());
    }
    allowed.check("-o", &result).unwrap();
    allowed.write("-o", &result, b"ours").unwrap();
    assert_eq!((fs::read(&result).unwrap(), fs::read(&other).unwrap()), (b"ours".to_vec(), PRECIOUS.into()));
    // What the command reads stays, whatever it looks like.
    fs::write(&result, "tool: 2").unwrap();
    allowed.reads(&result);
    assert!(allowed.write("-o", &result, b"ours").is_err());
}
