//! Root in directories of other users, who can put anything there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use super::{Scene, state, tool};
use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{Said, is_root, path_text};

const OTHER: u32 = 65_534;

const TREE: &str = "[[target]]\nname = 't'\npath = 'data/assay-quick'\nkind = 'directory'\n\n[[job]]\nop = 'read'\n\
    block_size = '4k'\nruntime = '1s'\n\n[job.tree]\nwidth = 1\ndepth = 1\nfiles = 3\nsizes = '4k'\noperations = 'read'\n";

/// How a directory that root's Assay made comes into the hands of others.
type Given = (&'static str, fn(&Path));

const GIVEN: &[Given] = &[
    ("another owner", |directory| chown(directory, Some(OTHER), None).expect("given")),
    ("all may write", |directory| {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).expect("changed");
    }),
    ("a group may write", |directory| {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o775)).expect("changed");
    }),
];

#[test]
fn root_takes_no_tags_that_others_can_have_made() {
    if !is_root() {
        return skip::declare("root", "another user's directory");
    }
    for (how, give) in GIVEN {
        let scene = Scene::new();
        let data = scene.world.data();
        // A disk that is busy with other things may take too little in the short time that this gives it.
        let tried = (0..50).find(|_| scene.world.quick(&[]).code == Some(0));
        assert!(tried.is_some(), "{how}: quick never ended well");
        give(&data.join("assay-quick"));
        scene.write("tree.toml", TREE);
        let before = state(&data);
        for words in [["run", "tree.toml"], ["cleanup", path_text(&data)]] {
            let said = scene.world.assay(&words);
            assert!(matches!(said.code, Some(1 | 2)), "{how} {words:?}: {}{}", said.out, said.err);
            assert!(said.err.contains("assay-quick"), "{how} {words:?}: {}", said.err);
        }
        let said = scene.world.quick(&[]).ended(2);
        assert!(said.err.contains("root takes only"), "{how}: {}", said.err);
        assert!(state(&data) == before, "{how}");
    }
}

#[test]
fn root_removes_no_file_that_another_user_marked() {
    if !is_root() {
        return skip::declare("root", "another user's directory");
    }
    let scene = Scene::new();
    let data = scene.world.data();
    // Another user can run what root built only if every directory above lets it through.
    fs::set_permissions(scene.world.path(), fs::Permissions::from_mode(0o755)).expect("changed");
    for place in [&data, &scene.world.home()] {
        chown(place, Some(OTHER), Some(OTHER)).expect("given");
    }
    let program = data.join("program");
    fs::copy(env!("CARGO_BIN_EXE_assay"), &program).expect("copied");
    scene.job("theirs.fio", path_text(&data.join("x")));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(["run", "-q"]);
    command.arg(scene.world.path().join("theirs.fio")).current_dir(&data).env("HOME", scene.world.home());
    let said = command.env("ASSAY_RUNS", scene.world.home().join("runs")).output_in_time().map(Said::of);
    let Some(said) = said.ok().filter(|said| said.code == Some(0)) else {
        return skip::declare("root", "another user runs nothing here");
    };
    assert!(data.join("x").exists(), "{}", said.err);
    let before = state(&data);
    for place in [path_text(&data), path_text(&data.join("x"))] {
        let said = scene.world.assay(&["cleanup", place]).ended(1);
        assert!(said.err.contains("belongs to another user"), "{}", said.err);
    }
    assert!(state(&data) == before);
    // Nor a link of theirs to what is root's.
    chown(data.join("x"), Some(0), Some(0)).expect("given");
    scene.world.assay(&["cleanup", path_text(&data)]).ended(1);
    assert!(data.join("x").exists() && tool("stat", &[path_text(&scene.victim())]).is_some());
}
