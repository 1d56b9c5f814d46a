//! Nothing that Assay did not make is written to or removed.

use std::fs;
use std::os::unix::fs::symlink;

use crate::bounded::Bounded as _;
use crate::world::{Said, World, entries, path_text};

#[test]
fn quick_refuses_a_directory_of_its_name_that_is_not_its_own() {
    let world = World::new();
    let theirs = world.data().join("assay-quick");
    fs::create_dir(&theirs).expect("made");
    fs::write(theirs.join("assay-1.data"), "precious").expect("written");
    let said = world.quick(&[]).ended(2);
    assert!(said.err.contains("was not made by Assay"), "{}", said.err);
    assert_eq!(fs::read_to_string(theirs.join("assay-1.data")).expect("there"), "precious");
    assert_eq!(entries(&theirs).len(), 1);
}

#[test]
fn quick_writes_through_no_link_that_somebody_put_into_its_directory() {
    for hard in [false, true] {
        let world = World::new();
        let made = world.quick(&[]).ended(0);
        assert!(made.err.contains("assay cleanup"), "{}", made.err);
        let file = world.data().join("assay-quick/assay-1.data");
        let precious = world.path().join("precious");
        fs::remove_file(&file).expect("removed");
        fs::write(&precious, "precious").expect("written");
        if hard { fs::hard_link(&precious, &file) } else { symlink(&precious, &file) }.expect("linked");
        let said = world.quick(&[]);
        assert!(matches!(said.code, Some(1 | 2)), "hard {hard}: {:?} {}", said.code, said.err);
        assert_eq!(fs::read_to_string(&precious).expect("there"), "precious", "hard {hard}");
    }
}

#[test]
fn run_does_not_write_over_a_file_without_consent() {
    let world = World::new();
    let precious = world.path().join("precious");
    fs::write(&precious, vec![7; 1 << 20]).expect("written");
    let plan = "[[target]]\nname = 't'\npath = 'precious'\nsize = '1m'\n\n[[job]]\nop = 'write'\nblock_size = '4k'\n\
                pattern = 'random'\nruntime = '100ms'\n";
    fs::write(world.path().join("plan.toml"), plan).expect("written");
    let said = world.assay(&["run", "plan.toml"]).ended(2);
    assert!(said.err.contains("--destroy-data"), "{}", said.err);
    assert!(fs::read(&precious).expect("there").iter().all(|&byte| byte == 7));
    world.assay(&["run", "plan.toml", "--destroy-data", path_text(&precious)]).ended(0);
    assert!(fs::read(&precious).expect("there").iter().any(|&byte| byte != 7));
}

#[test]
fn cleanup_removes_tagged_directories_only() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let data = world.data();
    let (real, half, link) = (data.join("assay-quick"), data.join("half"), data.join("link"));
    fs::create_dir(&half).expect("made");
    fs::copy(real.join("CACHEDIR.TAG"), half.join("CACHEDIR.TAG")).expect("copied");
    fs::create_dir(data.join("photos")).expect("made");
    let elsewhere = world.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    fs::write(elsewhere.join("kept"), "precious").expect("written");
    symlink(&elsewhere, real.join("outside")).expect("linked");
    symlink(&real, &link).expect("linked");
    for named in [path_text(&link), &format!("{}/", path_text(&link))] {
        let said = world.assay(&["cleanup", named]).ended(2);
        assert!(said.err.contains("symbolic link"), "{}", said.err);
    }
    assert!(real.join("assay-1.data").exists());
    let said = world.assay(&["cleanup", path_text(&data)]).ended(1);
    assert!(said.out.contains("removed from") && said.out.contains("1 file,"), "{}", said.out);
    assert!(said.err.contains("outside: Assay did not make it"), "{}", said.err);
    fs::remove_file(real.join("outside")).expect("removed");
    world.assay(&["cleanup", path_text(&data)]).ended(0);
    assert!(!real.exists());
    assert_eq!(entries(&data), [half.clone(), link, data.join("photos")]);
    assert_eq!(fs::read_to_string(elsewhere.join("kept")).expect("there"), "precious");
    let said = world.assay(&["cleanup", path_text(&data)]).ended(0);
    assert!(said.out.contains("nothing to remove"), "{}", said.out);
}

#[test]
fn cleanup_says_what_it_kept_and_fails() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let ours = world.data().join("assay-quick");
    let Some(_mounted) = crate::mounts::Mounted::tmpfs(&ours.join("theirs"), "size=1m") else { return };
    fs::write(ours.join("theirs/kept"), "precious").expect("written");
    let said = world.assay(&["cleanup", path_text(&world.data())]).ended(1);
    assert!(
        said.out.starts_with("removed from ") && said.err.contains("another file system is mounted"),
        "{}",
        said.err
    );
    assert!(said.err.contains("error: could not remove all of"), "{}", said.err);
    assert_eq!(fs::read_to_string(ours.join("theirs/kept")).expect("there"), "precious");
    assert!(ours.join(".assay-dir").exists() && !ours.join("assay-1.data").exists());
}

#[test]
fn a_directory_in_use_is_not_removed() {
    let world = World::new();
    let mut child = world.start_measuring();
    let said = world.assay(&["cleanup", path_text(&world.data())]);
    crate::world::signal(&child, rustix::process::Signal::KILL);
    child.wait().expect("ended");
    let said = said.ended(1);
    assert!(said.err.contains("in use"), "{}", said.err);
    assert!(world.data().join("assay-quick/assay-1.data").exists());
    world.assay(&["cleanup", path_text(&world.data())]).ended(0);
    assert!(entries(&world.data()).is_empty());
}

/// A plan with a file or a tree in `data`.
fn plan_of(world: &World, text: &str) {
    fs::write(world.path().join("plan.toml"), text).expect("written");
}

const TREE: &str = "[[target]]\nname = 't'\npath = 'anchor'\nkind = 'directory'\n\n[[phase]]\nkind = 'precondition'\n\n\
    [[phase.job]]\nop = 'write'\nblock_size = '4k'\n\n[phase.job.tree]\nwidth = 2\ndepth = 1\nfiles = 3\n\
    sizes = '4k'\noperations = 'mkdir,create,write'\n";

#[test]
fn cleanup_keeps_what_others_put_into_a_directory_of_ours() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let ours = world.data().join("assay-quick");
    fs::create_dir(ours.join("home")).expect("made");
    fs::write(ours.join("home/mine"), "precious").expect("written");
    fs::write(ours.join("notes"), "precious").expect("written");
    // Own data moved over the name of a file that Assay laid out.
    fs::write(world.data().join("own"), "own data").expect("written");
    fs::rename(world.data().join("own"), ours.join("assay-1.data")).expect("moved");
    let said = world.assay(&["cleanup", path_text(&ours)]).ended(1);
    for (name, content) in [("home/mine", "precious"), ("notes", "precious"), ("assay-1.data", "own data")] {
        assert_eq!(fs::read_to_string(ours.join(name)).expect("there"), content);
        let top = name.split('/').next().expect("a name");
        assert!(said.err.contains(&format!("{top}: Assay did not make it")), "{}", said.err);
    }
    // Nor is it measured on.
    let refused = world.quick(&[]);
    assert_ne!(refused.code, Some(0), "{}", refused.err);
    assert_eq!(fs::read_to_string(ours.join("assay-1.data")).expect("there"), "own data");
}

#[test]
fn cleanup_of_a_tree_keeps_what_is_not_of_its_layout() {
    let world = World::new();
    plan_of(&world, TREE);
    world.assay(&["run", "plan.toml"]).ended(0);
    world.assay(&["run", "plan.toml"]).ended(0);
    let anchor = world.path().join("anchor");
    assert_eq!(entries(&anchor.join("vdb.1_1.dir")).len(), 3);
    fs::create_dir(anchor.join("home")).expect("made");
    for mine in ["home/mine", "vdb.1_1.dir/mine"] {
        fs::write(anchor.join(mine), "precious").expect("written");
    }
    let said = world.assay(&["cleanup", "anchor"]).ended(1);
    assert!(said.err.contains("home: Assay did not make it"), "{}", said.err);
    for mine in ["home/mine", "vdb.1_1.dir/mine"] {
        assert_eq!(fs::read_to_string(anchor.join(mine)).expect("there"), "precious");
    }
    assert!(!anchor.join("vdb.1_2.dir").exists());
    fs::remove_dir_all(anchor.join("home")).expect("removed");
    fs::remove_file(anchor.join("vdb.1_1.dir/mine")).expect("removed");
    world.assay(&["cleanup", "anchor"]).ended(0);
    assert!(!anchor.exists());
}

#[test]
fn cleanup_believes_no_copied_tag() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let (ours, copy, victim) =
        (world.data().join("assay-quick"), world.data().join("tcopy"), world.data().join("victim"));
    let cp = std::process::Command::new("cp").arg("-a").arg(&ours).arg(&copy).status_in_time();
    assert!(cp.expect("cp").success());
    fs::create_dir(&victim).expect("made");
    fs::write(victim.join("precious"), "precious").expect("written");
    for tag in [".assay-dir", "CACHEDIR.TAG"] {
        fs::copy(ours.join(tag), victim.join(tag)).expect("copied");
    }
    let bytes = fs::read(copy.join("assay-1.data")).expect("there");
    let said = world.assay(&["cleanup", path_text(&world.data())]).ended(1);
    for kept in [&copy, &victim] {
        assert!(
            said.err.contains(&format!("kept {}: its marker was made for another", kept.display())),
            "{}",
            said.err
        );
    }
    assert!(!ours.exists() && fs::read(copy.join("assay-1.data")).expect("there") == bytes);
    assert_eq!(fs::read_to_string(victim.join("precious")).expect("there"), "precious");
    world.assay(&["cleanup", path_text(&victim)]).ended(1);
    assert_eq!(entries(&victim).len(), 3);
}

#[test]
fn a_file_in_a_directory_of_ours_needs_consent_unless_assay_made_it() {
    let world = World::new();
    plan_of(
        &world,
        "[[target]]\nname = 't'\npath = 'data/assay-quick/mine'\nsize = '1m'\n\n[[job]]\nop = 'write'\n\
         block_size = '4k'\npattern = 'random'\nruntime = '100ms'\n",
    );
    world.quick(&[]).ended(0);
    let mine = world.data().join("assay-quick/mine");
    fs::write(&mine, vec![7; 1 << 20]).expect("written");
    let said = world.assay(&["run", "plan.toml"]).ended(2);
    assert!(said.err.contains("--destroy-data"), "{}", said.err);
    assert!(fs::read(&mine).expect("there").iter().all(|&byte| byte == 7));
    // What Assay makes there it may write to again, and removes.
    fs::remove_file(&mine).expect("removed");
    world.assay(&["run", "plan.toml"]).ended(0);
    world.assay(&["run", "plan.toml"]).ended(0);
    world.assay(&["cleanup", path_text(&world.data())]).ended(0);
    assert!(entries(&world.data()).is_empty());
}

#[test]
fn a_limit_for_the_size_of_files_is_told_before_anything_is_made() {
    let world = World::new();
    plan_of(&world, &TREE.replace("sizes = '4k'", "sizes = '4m'"));
    let job = "[w]\nrw=write\nbs=64k\nsize=8m\nfilename=big.bin\n";
    fs::write(world.path().join("big.fio"), job).expect("written");
    for words in ["run big.fio", "plan big.fio", "run plan.toml"] {
        let limited = format!("ulimit -f 1024; exec \"$0\" {words}");
        let said = std::process::Command::new("sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_assay")])
            .current_dir(world.path())
            .env("HOME", world.path())
            .env("XDG_STATE_HOME", world.path())
            .env("XDG_DATA_HOME", world.path())
            .output_in_time()
            .expect("started");
        let err = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(1), "{words}: {err}");
        assert!(err.contains("ulimit -f"), "{words}: {err}");
        assert!(!world.path().join("big.bin").exists() && !world.path().join("anchor").exists(), "{words}");
    }
}

#[test]
fn a_path_that_vdbench_cannot_hold_is_not_written_as_another_one() {
    let world = World::new();
    let plan = "[[target]]\nname = 't'\npath = '/data/a\"b'\nkind = 'file'\nsize = '1m'\n\n[[job]]\nop = 'read'\n\
                block_size = '4k'\npattern = 'random'\nruntime = '1s'\n";
    fs::write(world.path().join("plan.toml"), plan).expect("written");
    let said = world.assay(&["convert", "plan.toml", "--to", "vdbench"]).ended(2);
    assert!(said.out.is_empty() && said.err.contains("cannot be written"), "{} {}", said.out, said.err);
}

#[test]
fn what_is_mounted_among_the_runs_is_not_emptied() {
    let (world, victim) = (World::new(), World::new());
    for one in [&world, &victim] {
        plan_of(one, TREE);
        one.assay(&["run", "plan.toml"]).ended(0);
    }
    let (point, bound) = (world.run_directories().remove(0), victim.run_directories().remove(0));
    let name = point.file_name().and_then(|name| name.to_str()).expect("a name");
    let mount = std::process::Command::new("mount").arg("--bind").arg(&bound).arg(&point).status_in_time();
    if !mount.is_ok_and(|status| status.success()) {
        return;
    }
    let said = world.assay(&["runs", "rm", name]);
    std::process::Command::new("umount").arg(&point).status_in_time().expect("unmounted");
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("mounted there"), "{}", said.err);
    assert!(bound.join("run.json").exists());
}

#[test]
fn quick_that_is_interrupted_while_it_fills_says_so() {
    let world = World::new();
    let mut command = world.command(&["quick", path_text(&world.data())]);
    let child = command.stderr(std::process::Stdio::piped()).start().expect("started");
    let file = world.data().join("assay-quick/assay-1.data");
    crate::world::wait_for("the file", || file.exists());
    crate::world::signal(&child, rustix::process::Signal::INT);
    let said = crate::world::Said::of(child.wait_with_output().expect("ended")).ended(5);
    assert!(!said.err.contains("managed") && !world.data().join("assay-quick").exists(), "{}", said.err);
}

#[test]
fn a_run_that_is_going_is_not_said_to_have_been_stopped() {
    let world = World::new();
    let mut child = world.start_measuring();
    let said = world.assay(&["runs", "show", "last"]);
    let listed = world.assay(&["runs"]);
    let (page, bundle) = (world.path().join("page.html"), world.path().join("run.tar"));
    let refused = [
        world.assay(&["report", "last", "--html", path_text(&page)]),
        world.assay(&["runs", "export", "last", path_text(&bundle)]),
    ];
    crate::world::signal(&child, rustix::process::Signal::INT);
    child.wait().expect("ended");
    assert!(listed.out.contains("still going") && !listed.out.contains("recover"), "{}", listed.out);
    for said in refused {
        assert!(said.code == Some(2) && said.err.contains("is still going"), "{}", said.err);
    }
    assert!(!page.exists() && !bundle.exists());
    assert!(
        said.out.contains("still going") && !said.out.contains("stopped before"),
        "{} {}",
        said.out,
        said.err
    );
}

#[test]
fn a_reader_is_not_told_to_destroy_anything() {
    let world = World::new();
    fs::write(world.path().join("short"), vec![7; 1 << 20]).expect("written");
    fs::write(world.path().join("job.fio"), "[r]\nrw=read\nsize=4m\nfilename=short\n").expect("written");
    let said = world.assay(&["run", "job.fio"]).ended(2);
    assert!(!said.err.contains("destroy"), "{}", said.err);
    for part in ["has 1 MiB and 4 MiB of it are to be read", "size=1048576", "another file"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    assert_eq!(fs::metadata(world.path().join("short")).expect("there").len(), 1 << 20);
}

/// A plan that writes to `precious`, which is not Assay's.
fn world_with_precious() -> World {
    let world = World::new();
    fs::write(world.path().join("precious"), vec![7; 1 << 20]).expect("written");
    let job = "[j]\nfilename=precious\nsize=1m\nrw=write\nbs=64k\n";
    fs::write(world.path().join("job.fio"), job).expect("written");
    world
}

fn consenting(world: &World, words: &[&str], value: &str) -> Said {
    Said::of(world.command(words).env("ASSAY_CONSENT", value).output_in_time().expect("the program starts"))
}

fn is_untouched(world: &World) -> bool {
    fs::read(world.path().join("precious")).expect("there").iter().all(|&byte| byte == 7)
}

#[test]
fn a_script_consents_once_by_the_environment_or_a_file_of_its_directory() {
    let world = world_with_precious();
    let precious = world.path().join("precious");
    world.assay(&["run", "job.fio"]).ended(2);
    assert!(is_untouched(&world));
    let value = format!("/nonexistent:{}", precious.display());
    consenting(&world, &["fio", "job.fio"], &value).ended(0);
    assert!(!is_untouched(&world));

    let world = world_with_precious();
    write_consent(&world, "# of the nightly script\nprecious\n");
    let said = world.assay(&["run", "job.fio", "-q"]).ended(0);
    assert!(said.err.contains("precious: written over with the consent of .assay-consent:3"), "{}", said.err);
    assert!(!is_untouched(&world));
}

/// Writes `.assay-consent` as the refusal of one for another directory says it.
fn write_consent(world: &World, text: &str) {
    let file = world.path().join(".assay-consent");
    fs::write(&file, text).expect("written");
    let refused = world.assay(&["run", "job.fio"]).ended(2).err;
    assert!(refused.contains("was not written for this directory"), "{refused}");
    let head = refused.trim_end().rsplit_once("first line: ").expect("the line").1.trim_end_matches(')');
    fs::write(&file, format!("{head}\n{text}")).expect("written");
}

#[test]
fn consent_that_a_clone_or_an_archive_brought_is_none() {
    let world = world_with_precious();
    write_consent(&world, "precious\n");
    let other = world_with_precious();
    let of = |world: &World| world.path().join(".assay-consent");
    fs::copy(of(&world), of(&other)).expect("copied");
    let said = other.assay(&["run", "job.fio"]).ended(2);
    assert!(said.err.contains("a clone or an archive may have brought it"), "{}", said.err);
    assert!(is_untouched(&other));
    let looks = other.assay(&["plan", "job.fio"]);
    assert!(looks.err.contains("a clone or an archive may have brought it"), "{}", looks.err);
}

#[test]
fn standing_consent_names_each_target_and_is_its_users_own() {
    use std::os::unix::fs::PermissionsExt as _;
    for (value, expected) in [
        ("/dev/sd*", "is a pattern"),
        ("/dev", "is a directory"),
        ("precious", "is not absolute"),
        ("/dev/sd[ab]", "is a pattern"),
    ] {
        let world = world_with_precious();
        let said = consenting(&world, &["run", "job.fio"], value).ended(2);
        assert!(said.err.contains(expected) && said.err.contains("ASSAY_CONSENT"), "{value}: {}", said.err);
        assert!(is_untouched(&world), "{value}");
    }
    let world = world_with_precious();
    let file = world.path().join(".assay-consent");
    let refused = |expected: &str| {
        let said = world.assay(&["run", "job.fio"]).ended(2);
        assert!(said.err.contains(expected), "{}", said.err);
        assert!(is_untouched(&world), "{expected}");
    };
    fs::write(&file, "pre*\n").expect("written");
    refused(".assay-consent:1: 'pre*' is a pattern");
    fs::write(&file, "precious\n").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("set");
    refused("other users may have written it");
    fs::remove_file(&file).expect("removed");
    fs::write(world.path().join("elsewhere"), "precious\n").expect("written");
    symlink(world.path().join("elsewhere"), &file).expect("linked");
    refused("is a link");
}
