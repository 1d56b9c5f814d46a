//! Caches of known size, found.

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::look::until;
use crate::stage::{Group, Loop, MIB, Stage, text};

fn probed(stage: &Stage, by: &[&str], words: &[&str]) -> Value {
    let words = [&["probe", "--json", "--quiet", "--seed", "5"], words].concat();
    let output = stage.wrapped(by, &words).output_in_time().expect("assay");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"))
}

/// The page cache of a group that may hold 64 MiB.
#[test]
fn a_page_cache_of_known_size() {
    let stage = Stage::new();
    let file = stage.file("data", 256);
    let Some(group) = Group::new("memory", "cgroup-v1-memory") else { return };
    group.set("memory.limit_in_bytes", &(64 * MIB).to_string()).expect("a limit");
    let enter = group.enter();
    let enter: Vec<&str> = enter.iter().map(String::as_str).collect();
    until("a page cache of 64 MiB", || {
        let found = probed(&stage, &enter, &[text(&file), "--buffered"]);
        let level = &found["levels"][0];
        let holds = level["holds_bytes"].as_u64().ok_or(format!("{:#}", found["levels"]))? / MIB;
        let exceeded = level["exceeded_bytes"].as_u64().ok_or("no end was found")? / MIB;
        // The program itself is in the group too, and the kernel keeps more than what was used last.
        let right = (24..=96).contains(&holds) && (32..=112).contains(&exceeded);
        right.then_some(()).ok_or(format!("between {holds} and {exceeded} MiB"))
    });
    drop(group);
}

#[test]
fn a_loop_device_over_a_cached_file_and_one_that_is_not() {
    let stage = Stage::new();
    let file = stage.file("image", 128);
    until("a cache below a loop device", || {
        let Some(cached) = Loop::over(&file, false) else { return Ok(()) };
        // The file's pages are the loop device's cache: they have to go first.
        std::fs::File::open(&file)
            .and_then(|file| Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?))
            .expect("dropped");
        let found = probed(&stage, &[], &[&cached.device]);
        let levels = found["levels"].as_array().ok_or("no levels")?;
        let holds = levels.first().and_then(|level| level["holds_bytes"].as_u64()).unwrap_or(0);
        // Three quarters of the device are read again, and all of it fits.
        (holds == 96 * MIB).then_some(()).ok_or(format!("{levels:#?}"))?;
        drop(cached);
        let Some(direct) = Loop::over(&file, true) else { return Ok(()) };
        let found = probed(&stage, &[], &[&direct.device]);
        found["levels"]
            .as_array()
            .is_some_and(Vec::is_empty)
            .then_some(())
            .ok_or(format!("{:#}", found["levels"]))
    });
}
