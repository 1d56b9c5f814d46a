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
        // A ring that is being taken down may hold a file for a moment after its process has ended.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
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
fn space_that_runs_out_on_the_way_is_told_and_what_was_measured_is_kept() {
    let world = World::new();
    let Some(mounted) = Mounted::new(&world.path().join("small"), "size=24m") else { return };
    // A directory of ours with a file full of holes: writing into them takes space that is not there.
    world.quick(&[]).ended(0);
    let (from, to) = (world.data().join("assay-quick"), mounted.0.join("assay-quick"));
    std::fs::create_dir(&to).expect("made");
    for tag in ["CACHEDIR.TAG", ".assay-dir"] {
        std::fs::copy(from.join(tag), to.join(tag)).expect("copied");
    }
    let file = std::fs::File::create(to.join("assay-1.data")).expect("a file");
    file.set_len(64 << 20).expect("a length");
    let test = "4k random writes, 32 outstanding";
    let said = world.assay(&["quick", path_text(&mounted.0), "--test", test, "--window", "2s"]).ended(1);
    let error = said.err.lines().last().expect("a reason");
    assert!(error.starts_with("error: ") && error.contains("ENOSPC"), "{error}");
    assert_eq!(world.run_directories().len(), 2);
    let listed = world.assay(&["runs"]).ended(0).out;
    assert!(listed.contains("incomplete") || listed.contains("invalid"), "{listed}");
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
