//! `assay quick` of several places: one table, and what is wrong with one of them.

use std::fs;

use crate::world::{TEST, World, json, path_text};

#[test]
fn several_places_are_columns_of_one_table_with_what_was_before() {
    let world = World::new();
    let places = ["a", "b"].map(|name| world.data().join(name));
    places.iter().for_each(|place| fs::create_dir(place).expect("made"));
    let [a, b] = places.each_ref().map(|place| path_text(place));
    let words = ["quick", a, b, "--test", TEST, "--window", "100ms"];
    let said = world.assay(&words).ended(0);
    assert!(said.out.contains(a) && said.out.contains(b) && said.out.contains(TEST), "{}", said.out);
    let said = world.assay(&[&words[..], &["--before", "--json"]].concat()).ended(0);
    let all = json(&said.out);
    for (place, asked) in all["places"].as_array().expect("places").iter().zip([a, b]) {
        assert_eq!(place["place"], asked);
        assert!(place["run"]["phases"][0]["jobs"][0]["total"]["iops"].as_f64() > Some(0.0), "{place}");
        assert!(place["before"]["started"].as_str() < place["run"]["started"].as_str(), "the earlier one");
    }
    assert_eq!(world.run_directories().len(), 4);
    let said = world.assay(&["quick", a, "--test", TEST, "--window", "100ms", "--paste"]).ended(0);
    let line = said.out.lines().find(|line| line.starts_with(TEST)).expect("a line of the test");
    assert!(line.contains(" iops"), "{line}");
}

#[test]
fn a_place_that_is_not_there_is_said_before_anything_is_measured() {
    let world = World::new();
    let data = world.data();
    let said = world.assay(&["quick", path_text(&data), "/nowhere/at/all"]).ended(2);
    assert!(said.err.contains("/nowhere/at/all"), "{}", said.err);
    assert!(world.run_directories().is_empty());
}
