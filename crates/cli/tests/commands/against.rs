//! `assay plan A --against B` and `assay plan --size`: files are compared and planned without their disks.

use std::fmt::Write as _;
use std::fs;

use crate::world::{World, json};

/// The two halves of a published comparison: whole disks a to h for five minutes, 2 GiB of b to i for ten.
fn published(world: &World) {
    let mut vdbench = "sd=default,openflags=o_direct,hitarea=0,range=(0,100),threads=8\n".to_owned();
    for (number, disk) in ('a'..='h').enumerate() {
        let _ = writeln!(vdbench, "sd=sd{number},lun=/dev/nodisk{disk}");
    }
    vdbench.push_str("wd=wd1,sd=sd*,xfersize=4k,rdpct=100,seekpct=100\n");
    vdbench.push_str("rd=run1,wd=wd1,iorate=max,elapsed=300,warmup=60,interval=1\n");
    fs::write(world.path().join("pair.vdbench"), vdbench).expect("written");
    let mut fio = "[global]\nioengine=libaio\ndirect=1\ntime_based\nnorandommap\nruntime=600\nramp_time=60\n"
        .to_owned();
    for (number, disk) in ('b'..='i').enumerate() {
        let _ = writeln!(
            fio,
            "[disk{number}]\nbs=4k\nsize=2G\nfilename=/dev/nodisk{disk}\nrw=randread\niodepth=8"
        );
    }
    fs::write(world.path().join("pair.fio"), fio).expect("written");
}

#[test]
fn the_published_pair_differs_in_disks_working_set_and_duration() {
    let world = World::new();
    published(&world);
    let said = world.assay(&["plan", "pair.vdbench", "--against", "pair.fio", "--json"]).ended(4);
    let document = json(&said.out);
    let side = |one: &serde_json::Value, side: &str| {
        (one[side]["value"].as_str().unwrap_or_default().to_owned(), one[side]["line"].as_u64())
    };
    let differences = document["differences"].as_array().expect("a list");
    let told: Vec<_> = differences
        .iter()
        .map(|one| (one["aspect"].as_str().unwrap_or_default(), side(one, "first"), side(one, "second")))
        .collect();
    let value = |value: &str, line: u64| (value.to_owned(), Some(line));
    let expected = [
        (
            "targets",
            value("/dev/nodiska .. /dev/nodiskh (8)", 2),
            value("/dev/nodiskb .. /dev/nodiski (8)", 53),
        ),
        (
            "working set",
            value("all of each target from 4 KiB (its size is not said)", 1),
            value("2 GiB of each target", 10),
        ),
        ("duration", value("300 s", 11), value("600 s", 6)),
    ];
    assert_eq!(told, expected);
    let said = world.assay(&["plan", "pair.vdbench", "--against", "pair.fio"]).ended(4);
    assert!(said.out.contains("3 differences") && said.out.contains("pair.fio:6"), "{}", said.out);
}

#[test]
fn one_load_in_two_languages_is_the_same() {
    let world = World::new();
    published(&world);
    let job = "[a]\nfilename=f\nsize=64m\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=4\nioengine=libaio\n\
               direct=1\nruntime=30\ntime_based\nnorandommap\n";
    fs::write(world.path().join("a.fio"), job).expect("written");
    let converted = world.assay(&["convert", "a.fio", "--to", "toml"]).ended(0);
    fs::write(world.path().join("a.toml"), converted.out).expect("written");
    let said = world.assay(&["plan", "a.fio", "--against", "a.toml"]).ended(0);
    assert_eq!(said.out.trim(), "a.fio and a.toml offer the same load.");
    let planned = world.assay(&["plan", "pair.vdbench", "--size", "100g"]).ended(0);
    assert!(planned.out.contains("100 GiB") && planned.err.contains("taken as 100 GiB"), "{}", planned.out);
}
