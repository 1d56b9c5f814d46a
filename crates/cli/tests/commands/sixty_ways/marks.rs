//! What Assay made, and what only looks like that: copies, exchanged content, used inodes, edited ledgers.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{Scene, tool};
use crate::world::{entries, path_text};

const MARK: &str = "user.assay";

fn mark_of(path: &Path) -> Vec<u8> {
    let mut value = [0; 256];
    let length = rustix::fs::getxattr(path, MARK, &mut value).unwrap_or(0);
    value[..length].to_vec()
}

fn set_mark(path: &Path, mark: &[u8]) {
    rustix::fs::setxattr(path, MARK, mark, rustix::fs::XattrFlags::empty()).expect("marked");
}

/// A scene in which a job made `data/x` of 64 KiB.
fn made() -> (Scene, PathBuf) {
    let scene = Scene::new();
    scene.world.assay(&["run", "job.fio", "-q"]).ended(0);
    let made = scene.world.data().join("x");
    assert_eq!(fs::metadata(&made).expect("made").len(), 64 << 10);
    (scene, made)
}

/// How `data/x` comes to be another's, in a scene in which `data/mine` is.
type Taken = (&'static str, fn(made: &Path, mine: &Path));

const TAKEN: &[Taken] = &[
    ("cp over it", |made, mine| {
        fs::copy(mine, made).expect("copied");
    }),
    ("mv over it", |made, mine| fs::rename(mine, made).expect("moved")),
    ("a copy with its mark over it", |made, mine| {
        let mark = mark_of(made);
        fs::rename(mine, made).expect("moved");
        set_mark(made, &mark);
    }),
    ("appended to", |made, _| {
        File::options().append(true).open(made).expect("open").write_all(b"mine").expect("written");
    }),
    ("a link in its place", |made, mine| {
        fs::remove_file(made).expect("removed");
        symlink(mine, made).expect("linked");
    }),
    ("another name kept", |made, mine| {
        fs::remove_file(mine).expect("removed");
        fs::hard_link(made, mine).expect("linked");
    }),
];

#[test]
fn what_became_anothers_is_neither_written_nor_removed() {
    for (how, take) in TAKEN {
        let (scene, made) = made();
        let mine = scene.world.data().join("mine");
        fs::write(&mine, vec![9; 64 << 10]).expect("written");
        take(&made, &mine);
        let why = scene.refused(&["run", "job.fio"], path_text(&scene.world.data()));
        assert!(why.is_none(), "{how}: {why:?}");
        let before = super::state(&scene.world.data());
        let said = scene.world.assay(&["cleanup", path_text(&scene.world.data())]);
        assert!(super::state(&scene.world.data()) == before, "{how}: {}{}", said.out, said.err);
        assert_eq!(said.code, Some(i32::from(said.err.contains("kept"))), "{how}: {}{}", said.out, said.err);
    }
}

#[test]
fn a_copy_with_its_mark_is_not_ours() {
    let (scene, made) = made();
    let copy = scene.world.data().join("copy");
    tool("cp", &["-a", path_text(&made), path_text(&copy)]).expect("copied");
    assert_eq!(mark_of(&copy), mark_of(&made));
    scene.job("copy.fio", "data/copy");
    assert_eq!(scene.refused(&["run", "copy.fio"], super::FOREIGN), None);
    assert_eq!(scene.refused(&["cleanup", "data/copy"], "Assay did not make it"), None);
}

#[test]
fn what_jobs_left_is_removed_and_nothing_beside_it() {
    let (scene, made) = made();
    let mine = scene.world.data().join("mine");
    fs::write(&mine, "precious").expect("written");
    fs::remove_file(&made).expect("removed");
    let said = scene.world.assay(&["run", "job.fio"]).ended(0);
    assert!(said.err.contains("left 1 file of 64 KiB") && said.err.contains("assay cleanup"), "{}", said.err);
    let said = scene.world.assay(&["cleanup", path_text(&scene.world.data())]).ended(0);
    assert!(said.out.contains("removed from") && said.out.contains("1 file, 64 KiB"), "{}", said.out);
    assert!(!made.exists() && scene.victim().exists() && mine.exists());
    scene.world.assay(&["run", "job.fio", "-q"]).ended(0);
    scene.world.assay(&["cleanup", "data/x"]).ended(0);
    assert!(!made.exists());
}

#[test]
fn the_inode_of_what_was_ours_is_not_ours() {
    let scene = Scene::new();
    let Some(mounted) = crate::mounts::Mounted::on_loop(&scene.world, "ext4", 64) else { return };
    let at = mounted.path();
    scene.job("there.fio", path_text(&at.join("x")));
    scene.world.assay(&["run", "there.fio", "-q"]).ended(0);
    let (inode, mark) = (fs::metadata(at.join("x")).expect("made").ino(), mark_of(&at.join("x")));
    fs::remove_file(at.join("x")).expect("removed");
    let reused = (0..64).any(|count| {
        let path = at.join(format!("mine{count}"));
        fs::write(&path, vec![9; 64 << 10]).expect("written");
        fs::metadata(&path).expect("there").ino() == inode
            && fs::rename(&path, at.join("x")).is_ok_and(|()| true)
    });
    assert!(reused, "ext4 gives the inode again");
    set_mark(&at.join("x"), &mark);
    let why = scene.refused(&["run", "there.fio"], super::FOREIGN);
    assert!(why.is_none(), "{why:?}");
    scene.world.assay(&["cleanup", path_text(&at.join("x"))]).ended(1);
    assert_eq!(fs::read(at.join("x")).expect("there"), vec![9; 64 << 10]);
}

const TREE: &str = "[[target]]\nname = 't'\npath = 'PATH'\nkind = 'directory'\n\n[[phase]]\nkind = 'precondition'\n\n\
    [[phase.job]]\nop = 'write'\nblock_size = '4k'\n\n[phase.job.tree]\nwidth = 2\ndepth = 1\nfiles = 3\n\
    sizes = '4k'\noperations = 'mkdir,create,write'\n";

#[test]
fn an_edited_ledger_makes_nothing_ours() {
    let scene = Scene::new();
    for name in ["one", "two"] {
        scene.write("tree.toml", &TREE.replace("PATH", name));
        scene.world.assay(&["run", "tree.toml", "-q"]).ended(0);
    }
    let one = scene.world.path().join("one");
    let ledger = one.join(".assay-ledger");
    let written = fs::read_to_string(&ledger).expect("a ledger");
    let mine =
        [one.join("mine"), one.join("vdb.1_2.dir/vdb_f0009.file"), one.join("vdb.1_1.dir/vdb_f0001.file")];
    for path in &mine {
        fs::write(path, "precious").expect("written");
    }
    let inode = fs::metadata(&mine[0]).expect("there").ino();
    let lines = [
        format!("{{\"file\":{{\"name\":\"mine\",\"identity\":{{\"inode\":{inode}}}}}}}"),
        "{\"work\":{\"from_ns\":0}}".to_owned(),
        "{\"work\":{\"from_ns\":0,\"until_ns\":9000000000000000000}}".to_owned(),
        written.lines().next().expect("a line").replace("\"files\":3", "\"files\":9"),
        fs::read_to_string(scene.world.path().join("two/.assay-ledger")).expect("a ledger").trim().to_owned(),
    ];
    File::options()
        .append(true)
        .open(&ledger)
        .and_then(|mut file| file.write_all(lines.join("\n").as_bytes()))
        .expect("edited");
    let said = scene.world.assay(&["cleanup", "one"]).ended(1);
    for path in &mine {
        assert_eq!(fs::read_to_string(path).expect("there"), "precious", "{}", said.err);
    }
    assert!(
        said.err.contains(&format!("kept {}: it is not as Assay wrote it", ledger.display())),
        "{}",
        said.err
    );
}

/// A ledger as it was written, with something about its last line changed.
type Damage = (&'static str, fn(&str) -> String);

#[test]
fn a_damaged_ledger_does_not_make_later_files_ours() {
    fn without_end(text: &str) -> &str {
        text.trim_end_matches('\n')
    }
    fn before_last(text: &str) -> &str {
        without_end(text).rsplit_once('\n').expect("several lines").0
    }
    let damages: [Damage; 6] = [
        ("another word", |text| text.replacen("until_ns", "until_nt", 1)),
        ("a character more", |text| format!("{}x\n", without_end(text))),
        ("another digit", |text| text.replacen("until_ns\":1", "until_ns\":2", 1)),
        ("the last line gone, as after a kill", |text| format!("{}\n", before_last(text))),
        ("the last line cut, as after a loss of power", |text| text[..text.len() - 5].to_owned()),
        ("the last two lines gone", |text| format!("{}\n", before_last(before_last(text)))),
    ];
    for (what, damage) in damages {
        let scene = Scene::new();
        scene.write("tree.toml", &TREE.replace("PATH", "one"));
        scene.world.assay(&["run", "tree.toml", "-q"]).ended(0);
        let one = scene.world.path().join("one");
        let (ledger, mine) = (one.join(".assay-ledger"), one.join("vdb.1_1.dir/vdb_f0001.file"));
        let written = fs::read_to_string(&ledger).expect("a ledger");
        assert!(written.contains("until_ns"), "{written}");
        // Behind the lease of work that has no end.
        std::thread::sleep(std::time::Duration::from_secs(6));
        fs::remove_file(&mine).and_then(|()| fs::write(&mine, "precious")).expect("written");
        let damaged = damage(&written);
        assert_ne!(damaged, written, "{what}");
        fs::write(&ledger, damaged).expect("damaged");
        let said = scene.world.assay(&["cleanup", "one"]).ended(1);
        assert_eq!(fs::read_to_string(&mine).expect("there"), "precious", "{what}: {}", said.err);
        // It, what it stands in, or the ledger.
        let kept =
            [&mine, &one.join("vdb.1_1.dir"), &ledger].map(|path| format!("kept {}: ", path.display()));
        assert!(kept.iter().any(|line| said.err.contains(line)), "{what}: {}", said.err);
    }
}

#[test]
fn a_directory_is_not_a_run_because_of_a_file_in_it() {
    let scene = Scene::new();
    scene.world.assay(&["run", "job.fio", "-q"]).ended(0);
    let run = scene.world.run_directories().remove(0);
    let name = run.file_name().expect("a name").to_string_lossy().into_owned();
    let other = scene.world.runs().join(name.replace("job", "own"));
    fs::create_dir(&other).expect("made");
    for (file, text) in
        [("run.json", "{\"schema\":\"mine\"}"), ("journal.jsonl", "mine\n"), ("notes", "mine")]
    {
        fs::write(other.join(file), text).expect("written");
    }
    let own = other.file_name().and_then(|name| name.to_str()).expect("a name");
    scene.world.assay(&["runs", "rm", own]).ended(2);
    assert_eq!(entries(&other).len(), 3);
    fs::write(run.join("notes"), "mine").expect("written");
    fs::write(run.join("report.html"), "mine").expect("written");
    symlink(scene.victim(), run.join("link")).expect("linked");
    let said = scene.world.assay(&["runs", "rm", &name]).ended(1);
    assert_eq!(entries(&run).len(), 3, "{}", said.err);
    assert!(["notes", "report.html", "link"].iter().all(|kept| said.err.contains(kept)), "{}", said.err);
    assert_eq!(fs::read(scene.victim()).expect("there"), vec![7; 1 << 20]);
}
