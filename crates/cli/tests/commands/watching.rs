//! What a run looks at beside its jobs.

use serde_json::Value;

use crate::world::{World, json, path_text};

/// The evidence of the only phase, and what the devices said in it.
fn watched(words: &[&str]) -> (Value, Value) {
    let world = World::new();
    // The temporary directory may be memory, which has no devices to look at.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let file = place.path().join("file");
    std::fs::write(&file, vec![7_u8; 1 << 20]).expect("a file");
    let plan = world.path().join("plan.toml");
    let text = format!(
        "name = \"w\"\ntarget = [{{ name = \"t\", path = \"{}\" }}]\n[[job]]\nop = \"read\"\nblock_size = \"4k\"\n\
         pattern = \"random\"\ncaching = \"buffered\"\nruntime = \"200ms\"\n",
        path_text(&file)
    );
    std::fs::write(&plan, text).expect("a plan");
    let said = world.assay(&[&["run", path_text(&plan), "--json", "--quiet"], words].concat()).ended(0);
    let mut run = json(&said.out);
    (run["phases"][0]["evidence"].take(), run["phases"][0]["device"].take())
}

#[test]
fn a_run_looks_before_and_after_unless_it_is_to_begin_at_once() {
    let (evidence, device) = watched(&[]);
    assert!(evidence["quiet_before"].is_object() && evidence["quiet_after"].is_object(), "{evidence:#}");
    assert!(device.is_object());
    let (evidence, device) = watched(&["--watch", "counters"]);
    assert!(evidence["quiet_before"].is_null() && evidence["quiet_after"].is_null(), "{evidence:#}");
    assert!(device.is_object(), "the counters are read all the same");
    let (_, device) = watched(&["--watch", "nothing"]);
    assert!(device.is_null() || device["asked_read_bytes"].is_null(), "{device:#}");
}
