//! `assay doctor` on the machine of the test.

use crate::bounded::Bounded as _;
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
    crate::schema::validate("doctor-1", &document);
    let trials = document["trials"].as_array().expect("trials");
    assert!(trials.iter().any(|trial| trial["engine"] == "psync" && trial["works"] == true), "{trials:?}");
    assert!(document["inventory"]["engines"].is_array());
}

#[test]
fn what_the_generator_costs_is_printed_as_its_schema_says() {
    let world = World::new();
    let said = world
        .assay(&["bench-self", "--seconds", "1", "--outstanding", "1", "--outstanding", "8", "--json"])
        .ended(0);
    let document = json(&said.out);
    crate::schema::validate("bench-self-1", &document);
    assert_eq!(document["schema"], "assay.bench-self/1");
    let depths: Vec<u64> = document["costs"]
        .as_array()
        .expect("costs")
        .iter()
        .filter_map(|cost| cost["outstanding_io"].as_u64())
        .collect();
    assert_eq!(depths, [1, 8]);
}

#[test]
fn missing_helpers_are_told_with_what_needs_them() {
    let world = World::new();
    let output =
        world.command(&["doctor"]).env("PATH", world.home()).output_in_time().expect("the program starts");
    let said = crate::world::Said::of(output).ended(0);
    assert!(said.out.contains("not found; for"), "{}", said.out);
}
