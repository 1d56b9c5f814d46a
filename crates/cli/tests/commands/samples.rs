//! Runs that earlier versions stored stay readable. `tests/samples` holds some, by the version that stored them; CONTRIBUTING says when one
//! is added.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::schema;
use crate::stored::measured;
use crate::world::{World, entries, json, path_text};

/// Run directories, each below the name of what stored it.
fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let found: Vec<PathBuf> = entries(&root).iter().flat_map(|version| entries(version)).collect();
    assert!(!found.is_empty(), "no samples in {}", root.display());
    found
}

/// A world that holds a copy of a stored run, but for the files `without`, and the name of the run.
fn world_with(sample: &Path, without: &[&str]) -> (World, String) {
    let world = World::new();
    let name = sample.file_name().expect("a name").to_string_lossy().into_owned();
    let directory = world.runs().join(&name);
    fs::create_dir_all(&directory).expect("a directory");
    for file in entries(sample).iter().filter(|file| !without.iter().any(|name| file.ends_with(name))) {
        fs::copy(file, directory.join(file.file_name().expect("a name"))).expect("copied");
    }
    (world, name)
}

fn stored(sample: &Path) -> Value {
    json(&fs::read_to_string(sample.join("run.json")).expect("a summary"))
}

/// Operations of each job that was measured.
fn ios(run: &Value) -> Vec<u64> {
    let phases = run["phases"].as_array().expect("phases").iter();
    let jobs = phases.flat_map(|phase| phase["jobs"].as_array().expect("jobs"));
    jobs.map(|job| job["total"]["ios"].as_u64().expect("a number")).collect()
}

#[test]
fn runs_of_earlier_versions_are_shown_checked_compared_and_reported() {
    for sample in samples() {
        let (world, _) = world_with(&sample, &[]);
        let (before, which) = (stored(&sample), sample.display());
        let id = before["id"].as_str().expect("an id");
        let listed = world.assay(&["runs"]).ended(0).out;
        assert!(listed.contains(id), "{which}: {listed}");
        let shown = json(&world.assay(&["runs", "show", id, "--json"]).ended(0).out);
        schema::validate("run-1", &shown);
        assert_eq!((ios(&shown), &shown["started"]), (ios(&before), &before["started"]), "{which}");
        let text = world.assay(&["runs", "show", id]).ended(0).out;
        assert!(text.contains("Verdict:"), "{which}: {text}");
        for words in [["check", id].as_slice(), &["compare", id, id, "--anyway"]] {
            world.assay(words).ended(0);
        }
        let files =
            ["--html", "page.html", "--csv", "rows.csv", "--md", "table.md", "--fio-json", "fio.json"];
        world.assay(&[["report", id].as_slice(), &files].concat()).ended(0);
        assert!(
            fs::read_to_string(world.path().join("page.html")).expect("a page").contains("</html>"),
            "{which}"
        );
    }
}

#[test]
fn runs_of_earlier_versions_that_were_killed_are_recovered() {
    for sample in samples() {
        let (world, name) = world_with(&sample, &["run.json", "report.html"]);
        let said = world.assay(&["runs", "recover", &name, "--json"]).ended(0);
        let recovered = json(&said.out);
        schema::validate("run-1", &recovered);
        assert_eq!(ios(&recovered), ios(&stored(&sample)), "{}", sample.display());
    }
}

/// The versions of the formats in a run directory: of the plan, the journal, the series and the summary.
fn versions(directory: &Path) -> [String; 4] {
    let text = |name: &str| fs::read_to_string(directory.join(name)).expect("a file");
    let of = |value: Value, key: &str| value[key].as_str().expect("a version").to_owned();
    let series = fs::read(directory.join("series.bin")).expect("a series");
    let number = |at: usize| u16::from_le_bytes([series[at], series[at + 1]]);
    [
        of(json(&text("plan.json")), "schema"),
        of(json(text("journal.jsonl").lines().next().unwrap_or_default()), "journal"),
        format!("series {}.{}", number(8), number(10)),
        of(json(&text("run.json")), "schema"),
    ]
}

#[test]
fn there_is_a_sample_of_what_is_written_now() {
    let known: BTreeSet<[String; 4]> = samples().iter().map(|sample| versions(sample)).collect();
    let written = measured().run_directories();
    let now = versions(&written[0]);
    assert!(
        known.contains(&now),
        "no sample of {now:?}: a format has changed, and CONTRIBUTING says how to add one to {}",
        path_text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples"))
    );
}
