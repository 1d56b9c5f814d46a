//! Storage that does not hold what was written is no success, however many wrong blocks a job goes on with.

use std::fs;

use assay_faultfs::{Fault, FaultFs, Op, Options, Rule, When, missing};

use crate::skip;
use crate::world::{World, json, path_text};

#[test]
fn wrong_blocks_end_with_status_1_also_where_errors_are_tolerated() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let storage = FaultFs::mount(Options::default()).expect("it is mounted");
    storage.inject(Rule::new(Op::Read, Fault::BitFlip(12_345)).of_file("data").when(When::Nth(3)));
    let world = World::new();
    let plan = world.path().join("plan.toml");
    let target = storage.join("data");
    let text = format!(
        "[[target]]\nname = \"data\"\npath = \"{}\"\nsize = \"1m\"\n[defaults]\nblock_size = \"4k\"\npasses = 1\npattern = \"sequential\"\n\
         engine = \"psync\"\ncaching = \"direct\"\nerrors_tolerated = 1000\ncontent = {{ verify = true }}\n\
         [[phase]]\nname = \"write\"\n[[phase.job]]\nname = \"w\"\nop = \"write\"\n\
         [[phase]]\nname = \"read\"\n[[phase.job]]\nname = \"r\"\nop = \"read\"\n",
        path_text(&target)
    );
    fs::write(&plan, text).expect("written");
    let said = world.assay(&["run", path_text(&plan), "--json", "--watch", "counters"]).ended(1);
    let run = json(&said.out);
    assert_eq!(run["phases"][1]["jobs"][0]["data"]["wrong"], 1);
    assert_eq!(run["phases"][1]["jobs"][0]["data"]["verified"], 256, "the job went on");
    assert!(said.err.contains("1 block did not hold what was written"), "{}", said.err);
}
