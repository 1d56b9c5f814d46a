//! File systems that are full or may not be written.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip;
use crate::world::{World, entries, is_root, path_text};

/// A small file system of its own in memory, mounted until the value goes.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, and a declared skip, where mounting is not possible.
    fn new(at: &Path, options: &str) -> Option<Self> {
        if !is_root() {
            skip::declare("root", "mounting takes root");
            return None;
        }
        std::fs::create_dir_all(at).expect("a mount point");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).output();
        let mount = mount.expect("mount starts");
        if !mount.status.success() {
            skip::declare("root", &String::from_utf8_lossy(&mount.stderr));
            return None;
        }
        Some(Mounted(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_read_only_file_system_is_refused() {
    let world = World::new();
    let Some(mounted) = Mounted::new(&world.path().join("fixed"), "ro,size=1m") else { return };
    let said = world.assay(&["quick", path_text(&mounted.0)]).ended(1);
    assert!(said.err.contains("Read-only file system"), "{}", said.err);
    assert!(entries(&world.runs()).is_empty());
}

#[test]
fn a_full_file_system_is_refused_before_anything_is_written() {
    let world = World::new();
    let Some(mounted) = Mounted::new(&world.path().join("full"), "size=16m") else { return };
    for series in ["assay-1", "stb-2.1"] {
        let said = world.assay(&["quick", path_text(&mounted.0), "--series", series]).ended(1);
        assert!(said.err.contains("are free"), "{series}: {}", said.err);
        assert!(entries(&mounted.0).is_empty(), "{series} left something behind");
    }
    assert!(entries(&world.runs()).is_empty());
}

#[test]
fn space_that_runs_out_on_the_way_is_told_and_nothing_is_left() {
    let world = World::new();
    let Some(mounted) = Mounted::new(&world.path().join("small"), "size=300m") else { return };
    // A file that another process grows meanwhile: quick sees the room and then does not get it.
    let hog = Command::new("sh")
        .args(["-c", "while ! [ -e assay-quick/assay-1.data ]; do :; done; head -c 290m /dev/zero >hog"])
        .current_dir(&mounted.0)
        .spawn();
    let mut hog = hog.expect("a shell starts");
    let said = world.assay(&["quick", path_text(&mounted.0), "--test", crate::world::TEST, "--window", "5s"]);
    let _ = hog.kill();
    let _ = hog.wait();
    if said.code == Some(0) {
        // The prefill was faster than the hog.
        return;
    }
    assert_eq!(said.code, Some(1), "{}", said.err);
    let error = said.err.lines().find(|line| line.starts_with("error: ")).expect("a reason");
    assert!(error.contains("No space left") || error.contains("ENOSPC"), "{error}");
    assert!(!mounted.0.join("assay-quick").exists());
}

#[test]
fn a_result_is_shown_even_if_it_cannot_be_kept() {
    let world = World::new();
    let Some(mounted) = Mounted::new(&world.path().join("runs"), "size=16k,nr_inodes=16") else { return };
    let said = world.quick(&[]);
    assert!(matches!(said.code, Some(0 | 1)), "{:?}", said.code);
    assert!(said.out.contains(crate::world::TEST), "measured and not shown: {}{}", said.out, said.err);
    assert!(said.err.contains("No space left"), "{}", said.err);
    drop(mounted);
}
