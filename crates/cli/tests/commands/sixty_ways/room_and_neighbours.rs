//! More than there is room for, and a second run in one place.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;

use super::{Scene, assert_refused};
use crate::bounded::{Bounded as _, Started};
use crate::world::{path_text, signal, wait_for};

/// A file of 900 TiB, in each language.
const TOO_LARGE: &[(&str, &str)] = &[
    ("w.fio", "[a]\nrw=write\nbs=1m\nsize=900t\nfilename=data/new\n"),
    ("r.fio", "[a]\nrw=randread\nbs=4k\nsize=900t\nfilename=data/new\n"),
    ("d.fio", "[a]\nrw=write\nbs=1m\nsize=900t\ndirectory=data\nnrfiles=4\n"),
    ("w.vdb", "sd=s,lun=data/new,size=900t\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=max,elapsed=2,interval=1\n"),
    (
        "t.vdb",
        "fsd=f,anchor=data/tree,depth=1,width=1,files=900,size=1t\nfwd=w,fsd=f,operation=write\n\
         rd=r,fwd=w,fwdrate=max,format=yes,elapsed=2,interval=1\n",
    ),
    (
        "w.toml",
        "[[target]]\nname = 't'\npath = 'data/new'\nsize = '900t'\n\n[[job]]\nop = 'write'\nblock_size = '1m'\npattern = 'sequential'\nruntime = '1s'\n",
    ),
];

#[test]
fn what_does_not_fit_fills_no_file_system() {
    let scene = Scene::new();
    let cases = TOO_LARGE.iter().map(|(name, text)| {
        scene.write(name, text);
        scene.refused(&["run", name], "not enough space").map(|said| format!("{text}: {said}"))
    });
    assert_refused(cases);
}

fn going(scene: &Scene, words: &[&str]) -> Started {
    let before = scene.world.run_directories();
    let mut command = scene.world.command(words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("started");
    wait_for("the first intervals", || {
        let runs = scene.world.run_directories();
        let series = runs.iter().find(|run| !before.contains(run)).map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 512))
    });
    child
}

#[test]
fn what_a_run_uses_no_second_one_writes_to_or_removes() {
    let scene = Scene::new();
    scene.world.assay(&["run", "job.fio", "-q"]).ended(0);
    fs::hard_link(scene.world.data().join("x"), scene.world.path().join("y")).expect("linked");
    scene.job("linked.fio", "y");
    fs::remove_file(scene.world.data().join("hard")).expect("removed");
    scene.write(
        "read.fio",
        "[a]\nrw=read\nbs=4k\nsize=64k\nfilename=data/x\ntime_based\nruntime=60\nthinktime=1000\n",
    );
    let mut first = going(&scene, &["run", "read.fio"]);
    let by = format!("is in use by pid {}", first.id());
    let cases = [
        &["run", "job.fio"][..],
        &["run", "job.fio", "--destroy-data", "data/x"],
        &["run", "linked.fio", "--destroy-data", "y"],
        &["run", "job.fio", "--engine", "fio"],
        &["fio", "job.fio"],
    ];
    let refused = cases.iter().map(|words| scene.refused(words, &by)).collect::<Vec<_>>();
    let removed = scene.refused(&["cleanup", path_text(&scene.world.data().join("x"))], "");
    signal(&first, Signal::KILL);
    first.wait().expect("ended");
    assert_refused(refused.into_iter().chain([removed]));
}
