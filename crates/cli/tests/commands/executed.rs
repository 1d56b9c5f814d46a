//! Commands that foreign files name: reported, and executed only where the user allows it.

use std::fs;

use crate::world::{World, json};

const FIO: &str = "[a]\nfilename=data/x\nsize=64k\nrw=write\nbs=4k\n";

fn write(world: &World, name: &str, text: &str) {
    fs::write(world.path().join(name), text).expect("written");
}

#[test]
fn commands_of_a_fio_file_are_executed_where_that_is_allowed_and_nowhere_else() {
    let world = World::new();
    let there = |name: &str| world.path().join(name).exists();
    // The first is to find no data yet, the second all of it.
    let text = format!(
        "{FIO}exec_prerun=test ! -e data/x && echo to nobody && touch before && test \"$ASSAY_JOB\" = a\n\
         exec_postrun=test -s data/x && touch after\n"
    );
    write(&world, "j.fio", &text);
    let said = world.assay(&["run", "j.fio"]).ended(1);
    assert!(said.err.contains("exec_prerun") && said.err.contains("--allow-loss"), "{}", said.err);
    world.assay(&["run", "j.fio", "--allow-loss"]).ended(0);
    for words in [&["plan", "j.fio"][..], &["run", "j.fio", "--dry-run", "--allow-exec"]] {
        world.assay(words);
    }
    assert!(!there("before") && !there("after"), "none was executed");
    fs::remove_file(world.data().join("x")).expect("removed");
    let said = world.assay(&["run", "j.fio", "--allow-exec", "--json"]).ended(0);
    assert!(there("before") && there("after"), "{}", said.err);
    assert!(said.err.contains("was executed") && said.err.contains("to nobody"), "{}", said.err);
    let run = json(&said.out);
    assert!(run.to_string().contains("exec_prerun of a (`"), "it is kept with the result");
    // With the words of fio as well.
    fs::remove_file(world.path().join("before")).expect("removed");
    fs::remove_file(world.data().join("x")).expect("removed");
    world.assay(&["fio", "--allow-exec", "j.fio"]).ended(0);
    assert!(there("before"));
}

#[test]
fn a_command_that_fails_ends_the_run_before_anything_is_made() {
    let world = World::new();
    write(&world, "j.fio", &format!("{FIO}exec_prerun=exit 7\n"));
    let said = world.assay(&["run", "j.fio", "--allow-exec"]).ended(1);
    assert!(said.err.contains("exec_prerun of a (`exit 7`)") && said.err.contains('7'), "{}", said.err);
    assert!(!world.data().join("x").exists() && world.run_directories().is_empty(), "{}", said.err);
    // Behind the jobs it is told, and the result is kept.
    write(&world, "j.fio", &format!("{FIO}exec_postrun=exit 7\n"));
    let said = world.assay(&["run", "j.fio", "--allow-exec"]);
    assert!(said.err.contains("exec_postrun of a (`exit 7`)"), "{}", said.err);
    assert_eq!(world.run_directories().len(), 1);
}

#[test]
fn commands_of_a_vdbench_file_are_those_around_all_of_its_runs() {
    let world = World::new();
    let there = |name: &str| world.path().join(name).exists();
    let text = |more: &str| {
        format!(
            "startcmd=\"touch before\"\nendcmd=\"touch after\"\nsd=s,lun=data/x,size=1m\nwd=w,sd=s,rdpct=0\n\
             rd=r,wd=w,iorate=max,elapsed=2,interval=1,startcmd=\"touch within\"\n{more}"
        )
    };
    write(&world, "one.vdb", &text(""));
    let said = world.assay(&["run", "one.vdb", "--format", "vdbench"]).ended(1);
    assert!(said.err.contains("startcmd") && !there("before"), "{}", said.err);
    world.assay(&["run", "one.vdb", "--format", "vdbench", "--allow-exec"]).ended(0);
    assert!(["before", "within", "after"].into_iter().all(there));
    // Between two runs nothing is executed, and that is a loss as before.
    fs::remove_file(world.path().join("within")).expect("removed");
    write(&world, "two.vdb", &text("rd=q,wd=w,iorate=max,elapsed=2,interval=1\n"));
    let said = world.assay(&["run", "two.vdb", "--format", "vdbench", "--allow-exec"]).ended(1);
    assert!(said.err.contains("touch within") && !there("within"), "{}", said.err);
}
