//! File systems that are full or may not be written.

use std::process::Stdio;

use crate::bounded::Bounded as _;
use crate::mounts::Mounted;
use crate::world::{Said, World, entries, path_text, wait_for};

#[test]
fn a_read_only_file_system_is_refused() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("fixed"), "ro,size=1m") else { return };
    let said = world.assay(&["quick", path_text(mounted.path())]).ended(1);
    assert!(said.err.contains("Read-only file system"), "{}", said.err);
    assert!(entries(&world.runs()).is_empty());
}

#[test]
fn a_full_file_system_is_refused_before_anything_is_written() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("full"), "size=16m") else { return };
    for series in ["assay-1", "stb-2.1"] {
        let said = world.assay(&["quick", path_text(mounted.path()), "--series", series]).ended(1);
        assert!(said.err.contains("are free"), "{series}: {}", said.err);
        assert!(entries(mounted.path()).is_empty(), "{series} left something behind");
    }
    assert!(entries(&world.runs()).is_empty());
}

#[test]
fn space_that_runs_out_on_the_way_is_told_and_what_was_measured_is_kept() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("small"), "size=100m") else { return };
    let job = world.path().join("job.fio");
    let text =
        "[a]\nrw=randwrite\nbs=4k\nsize=64m\nfilename=data.bin\nfallocate=none\nruntime=20\ntime_based=1\n";
    std::fs::write(&job, text).expect("a file");
    let mut command = world.command(&["run", path_text(&job), "--target", path_text(mounted.path())]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    // The plan is written down before the quiet moment in which Assay looks at what others do.
    wait_for("the plan", || world.run_directories().iter().any(|run| run.join("plan.json").exists()));
    let other = std::fs::File::create(mounted.path().join("other")).expect("a file");
    let flags = rustix::fs::FallocateFlags::empty();
    rustix::fs::fallocate(&other, flags, 0, 80 << 20).expect("others take the space");
    let said = Said::of(child.wait_with_output().expect("ended")).ended(1);
    let error = said.err.lines().last().expect("a reason");
    assert!(error.starts_with("error: ") && error.contains("ENOSPC"), "{error}");
    assert_eq!(world.run_directories().len(), 1);
    assert!(mounted.path().join("data.bin").exists(), "something was measured on it");
    let listed = world.assay(&["runs"]).ended(0).out;
    assert!(listed.contains("incomplete") || listed.contains("invalid"), "{listed}");
}

#[test]
fn a_result_is_shown_even_if_it_cannot_be_kept() {
    let world = World::new();
    let Some(mounted) = Mounted::tmpfs(&world.path().join("runs"), "size=64k,nr_inodes=16") else { return };
    let said = world.quick(&[]);
    assert!(matches!(said.code, Some(0 | 1)), "{:?}", said.code);
    assert!(said.out.contains(crate::world::TEST), "measured and not shown: {}{}", said.out, said.err);
    assert!(said.err.contains("No space left"), "{}", said.err);
    drop(mounted);
}

#[test]
fn a_file_system_without_a_size_has_what_memory_is_left() {
    let world = World::new();
    let Some(mounted) = Mounted::ramfs(&world.path().join("ram")) else { return };
    let place = path_text(mounted.path());
    let plan = |name: &str, size: &str| {
        let text = format!(
            "[[target]]\nname = 't'\npath = '{place}/{name}'\nsize = '{size}'\n\n[[job]]\nop = 'write'\nblock_size = '1m'\n\
             pattern = 'sequential'\nruntime = '100ms'\n"
        );
        std::fs::write(world.path().join("plan.toml"), text).expect("written");
    };
    plan("small", "8m");
    world.assay(&["run", "plan.toml"]).ended(0);
    plan("large", "8t");
    let said = world.assay(&["run", "plan.toml"]).ended(1);
    assert!(said.err.contains("not enough space"), "{}", said.err);
    let words = ["quick", place, "--test", crate::world::TEST, "--window", "100ms"];
    world.assay(&words).ended(0);
}
