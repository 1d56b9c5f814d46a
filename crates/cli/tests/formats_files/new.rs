//! `assay new`: files from flags, and grids of them.

use crate::support::Place;

#[test]
fn a_grid_is_named_like_those_of_hcibench_and_every_file_can_be_planned() {
    let place = Place::new();
    for (to, prefix, ending) in [("vdbench", "vdb", ""), ("fio", "fio", ""), ("toml", "assay", ".toml")] {
        let said = place.assay(&[
            "new",
            "--to",
            to,
            "--target",
            "a.bin",
            "--target",
            "b.bin",
            "--size",
            "64m",
            "--runtime",
            "10s",
            "--buffered",
            "--grid",
            "4k,8k x 100,70",
            "-o",
            to,
        ]);
        assert_eq!(said.code, Some(0), "{said:?}");
        for name in ["4k-100rdpct", "4k-70rdpct", "8k-100rdpct", "8k-70rdpct"] {
            let file = format!("{to}/{prefix}-2vmdk-100ws-{name}-100randompct-8threads{ending}");
            assert!(place.path().join(&file).exists(), "{file}");
            let plan = place.assay(&["plan", &file, "--json"]).done();
            let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
            // vdbench fills files in a phase of its own before.
            let phase = plan["plan"]["phases"].as_array().and_then(|phases| phases.last()).expect("a phase");
            let jobs = phase["jobs"].as_array().expect("jobs").iter();
            let outstanding = jobs.map(|job| {
                let threads = job["slices"].as_array().map_or(0, Vec::len) as u64;
                threads * job["job"]["outstanding_per_thread"].as_u64().unwrap_or(0)
            });
            assert_eq!(outstanding.sum::<u64>(), 16, "eight on each of two disks: {file} {phase}");
        }
    }
}

#[test]
fn one_file_says_what_was_asked_for() {
    let place = Place::new();
    let words = [
        "new",
        "--to",
        "fio",
        "--target",
        "a.bin",
        "--size",
        "1g",
        "--block-size",
        "16k",
        "--read",
        "30",
        "--random",
        "50",
        "--outstanding",
        "4",
        "--working-set",
        "25",
        "--rate",
        "500",
        "-o",
        "-",
    ];
    let text = place.assay(&words).done();
    for line in ["bs=16384", "rwmixread=30", "percentage_random=50", "iodepth=4", "rate_iops=150,350,"] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}: {text}");
    }
}

#[test]
fn nothing_is_written_over_without_being_told_to() {
    let place = Place::new();
    place.file("mine", "precious");
    let words = ["new", "--target", "a.bin", "-o", "mine"];
    let said = place.assay(&words);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(place.read("mine"), "precious");
    place.assay(&[&words[..], &["--force"]].concat()).done();
    assert!(place.read("mine").contains("assay = 1"));
    let said = place.assay(&["new"]);
    assert_eq!(said.code, Some(2), "without a terminal nothing is asked: {said:?}");
    assert!(said.err.contains("--target"), "{said:?}");
}

#[test]
fn a_new_plan_names_its_schema_which_new_writes_beside_it() {
    let place = Place::new();
    let words = ["new", "--target", "a.bin", "--size", "1g", "-o", "plan.toml"];
    place.assay(&words).done();
    let plan = place.read("plan.toml");
    assert_eq!(plan.lines().next(), Some("#:schema ./plan-file-1.json"));
    place.assay(&["new", "--schema"]).done();
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/plan-file-1.json");
    assert_eq!(place.read("plan-file-1.json"), std::fs::read_to_string(published).expect("it is published"));
}
