//! Nothing that Assay did not make is written to or removed.

use std::fs;
use std::os::unix::fs::symlink;

use crate::world::{World, entries, path_text};

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
    let said = world.assay(&["cleanup", path_text(&data)]).ended(0);
    assert!(said.out.contains("removed") && said.out.contains("2 files"), "{}", said.out);
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
