//! `assay doctor` on the machine of the test.

use crate::world::{World, json};

#[test]
fn it_shows_what_the_machine_offers() {
    let said = World::new().assay(&["doctor"]).ended(0);
    assert_eq!(said.err, "");
    for expected in ["Machine", "Engines", "psync", "Clock", "Limits", "File systems", "Helpers", "fio"] {
        assert!(said.out.contains(expected), "{expected} in {}", said.out);
    }
}

#[test]
fn its_json_holds_the_inventory_and_the_trials() {
    let document = json(&World::new().assay(&["doctor", "--json"]).ended(0).out);
    assert_eq!(document["schema"], "assay.doctor/1");
    let trials = document["trials"].as_array().expect("trials");
    assert!(trials.iter().any(|trial| trial["engine"] == "psync" && trial["works"] == true), "{trials:?}");
    assert!(document["inventory"]["engines"].is_array());
}

#[test]
fn missing_helpers_are_told_with_what_needs_them() {
    let world = World::new();
    let output = world.command(&["doctor"]).env("PATH", world.home()).output().expect("the program starts");
    let said = crate::world::Said::of(output).ended(0);
    assert!(said.out.contains("not found; for"), "{}", said.out);
}
