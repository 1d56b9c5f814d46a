//! Runs that are kept: what the commands make of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::LazyLock;

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::schema;
use crate::world::{Said, TEST, World, entries, json, path_text};

/// A world with one finished run, for tests that only look at it.
static MEASURED: LazyLock<(World, Said)> = LazyLock::new(|| {
    let world = World::new();
    let said = world.quick(&["--seed", "7"]).ended(0);
    (world, said)
});

/// The world with one finished run.
pub(crate) fn measured() -> &'static World {
    &MEASURED.0
}

#[test]
fn quick_prints_its_result_and_keeps_it() {
    let (world, said) = &*MEASURED;
    let conditions = [TEST, "completion latency", "Verdict:", "seed 7"];
    for expected in conditions {
        assert!(said.out.contains(expected), "{expected} in {}", said.out);
    }
    assert!(said.err.contains("will write the files (64 MiB)"), "{}", said.err);
    let directory = &world.run_directories()[0];
    let names: Vec<String> = entries(directory)
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into())
        .collect();
    assert_eq!(names, ["journal.jsonl", "plan.json", "report.html", "run.json", "series.bin"]);
    let run = world.only_run();
    assert_eq!((&run["plan"]["seed"], &run["plan"]["series"]), (&7.into(), &"assay-1".into()));
    assert_eq!(run["phases"].as_array().map(Vec::len), Some(5));
}

#[test]
fn json_is_one_document_that_the_schema_describes() {
    let world = World::new();
    let document = json(&world.quick(&["--json"]).ended(0).out);
    schema::validate("run-1", &document);
    assert_eq!(document["schema"], "assay.run/1");
    let stored = world.only_run();
    assert_eq!(document["id"], stored["id"]);
    for words in [["check", "last", "--json"].as_slice(), &["runs", "show", "last", "--json"]] {
        let shown = json(&world.assay(words).ended(0).out);
        schema::validate("run-1", &shown);
        assert_eq!(shown["id"], stored["id"], "{words:?}");
    }
}

#[test]
fn stored_runs_are_shown_checked_and_reported() {
    let world = measured();
    let id = world.only_run()["id"].as_str().expect("an id").to_owned();
    let listed = world.assay(&["runs"]).ended(0).out;
    assert!(listed.contains(&id) && listed.contains("quick"), "{listed}");
    let shown = world.assay(&["runs", "show", &id[..4]]).ended(0).out;
    assert!(shown.contains(TEST), "{shown}");
    let checked = world.assay(&["check", &id]).ended(0).out;
    assert!(checked.contains("Verdict:"), "{checked}");
    let files = ["page.html", "rows.csv", "table.md"];
    world.assay(&["report", &id, "--html", files[0], "--csv", files[1], "--md", files[2]]).ended(0);
    let read = |name: &str| fs::read_to_string(world.path().join(name)).expect("written");
    let page = read(files[0]);
    assert!(page.starts_with("<!") && page.contains(TEST));
    let rows = read(files[1]);
    let columns = rows.lines().next().expect("a head").split(',').count();
    assert!(columns > 5 && rows.contains(TEST), "{rows}");
    assert!(read(files[2]).contains('|') && !read(files[2]).contains("<html"));
    for name in files {
        fs::remove_file(world.path().join(name)).expect("removed");
    }
}

#[test]
fn a_run_goes_into_formats_of_other_programs() {
    let world = measured();
    let words = ["report", "last", "--xlsx", "a.xlsx", "--hlog", "a.hlog", "--openmetrics", "a.txt"];
    world.assay(&[&words[..], &["--json", "a.json", "--parquet", "tables"]].concat()).ended(0);
    let read = |name: &str| fs::read(world.path().join(name)).expect("written");
    assert!(read("a.xlsx").starts_with(b"PK"));
    for name in ["tables/intervals.parquet", "tables/histograms.parquet"] {
        assert!(read(name).starts_with(b"PAR1") && read(name).ends_with(b"PAR1"), "{name}");
    }
    let hlog = String::from_utf8(read("a.hlog")).expect("text");
    assert!(
        hlog.lines().filter(|line| line.starts_with("Tag=") && line.contains(",HISTF")).count() > 1,
        "{hlog}"
    );
    assert!(String::from_utf8(read("a.txt")).expect("text").ends_with("# EOF\n"));
    let document: Value = serde_json::from_slice(&read("a.json")).expect("JSON");
    assert_eq!(document["id"], world.only_run()["id"]);
    world.assay(&["report", "last", "--xlsx", "a.xlsx", "--json", "tables"]).ended(2);
}

#[test]
fn a_run_is_given_away_and_stored_elsewhere() {
    let world = measured();
    let host = world.only_run()["environment"]["machine"]["hostname"].as_str().map(str::to_owned);
    let said = world.assay(&["runs", "export", "last", "given.tar", "--without-host"]).ended(0);
    assert!(said.err.contains("the file still tells ") && said.err.contains("kernel "), "{}", said.err);
    let nameless = World::new();
    let given = path_text(&world.path().join("given.tar")).to_owned();
    nameless.assay(&["import", &given]).ended(0);
    let run = nameless.only_run();
    let text = run.to_string();
    assert!(run["names_removed"] == true && !text.contains(path_text(world.path())), "{text}");
    assert_eq!(run["phases"][0]["jobs"][0]["iops"], world.only_run()["phases"][0]["jobs"][0]["iops"]);
    nameless.assay(&["check", "last"]).code.expect("ended");
    // At home both are one run, and what is said tells them apart.
    let beside = world.assay(&["import", "given.tar"]).ended(0);
    assert!(beside.err.contains("the same run without them"), "{}", beside.err);
    world.assay(&["runs", "export", "last", "given.tar"]).ended(0);
    let beside = nameless.assay(&["import", &given]).ended(0);
    assert!(beside.err.contains("the same run with them"), "{}", beside.err);
    let bytes = fs::read(world.path().join("given.tar")).expect("written");
    let other = World::new();
    fs::write(other.path().join("given.tar"), &bytes).expect("written");
    other.assay(&["import", "given.tar"]).ended(0);
    assert_eq!(other.only_run(), world.only_run());
    assert_eq!(host.as_deref(), other.only_run()["environment"]["machine"]["hostname"].as_str());
    let again = other.assay(&["import", "given.tar"]).ended(0);
    assert!(again.err.contains("is stored already"), "{}", again.err);
    for word in ["-", "/dev/stdin"] {
        let by_pipe = World::new();
        let refused = by_pipe.piped(&["import", word], &bytes[..600]).ended(2);
        assert!(refused.err.contains("cut short") || refused.err.contains("ends"), "{}", refused.err);
        by_pipe.piped(&["import", word], &bytes).ended(0);
        assert_eq!(by_pipe.only_run(), world.only_run());
        let none = by_pipe.piped(&["import", word], b"\xff\xfe").ended(2);
        assert!(none.err.contains("is not text"), "{}", none.err);
    }
    let mut damaged = bytes;
    let at = damaged.windows(10).position(|ten| ten == b"\"environme").expect("the run");
    damaged[at + 1] ^= 1;
    let third = World::new();
    fs::write(third.path().join("bad.tar"), damaged).expect("written");
    let refused = third.assay(&["import", "bad.tar"]).ended(2);
    assert!(refused.err.contains("run.json is damaged"), "{}", refused.err);
}

#[test]
fn a_run_is_found_by_its_tags() {
    let world = World::new();
    world.quick(&[]).ended(0);
    world.quick(&[]).ended(0);
    world.assay(&["runs", "tag", "last", "before upgrade", "b/2"]).ended(0);
    assert_eq!(world.assay(&["runs", "tag", "last"]).ended(0).out, "b/2\nbefore upgrade\n");
    let listed = |words: &[&str]| {
        let said = world.assay(&[&["runs", "list", "--json"], words].concat()).ended(0);
        let document: Value = serde_json::from_str(&said.out).expect("JSON");
        document["runs"].as_array().expect("runs").clone()
    };
    assert_eq!(listed(&[]).len(), 2);
    assert_eq!(listed(&["--tag", "b/2"]).len(), 1);
    assert_eq!(listed(&["--tag", "b/2"])[0]["tags"][1], "before upgrade");
    assert_eq!(world.assay(&["runs", "tag", "last", "b/2", "--remove"]).ended(0).out, "before upgrade\n");
    assert!(
        world.assay(&["runs", "list", "--tag", "b/2"]).ended(0).out.contains("no runs with the tag 'b/2'")
    );
    let refused = world.assay(&["runs", "tag", "last", "<b>"]).ended(2);
    assert!(refused.err.contains("'<b>' is not a tag"), "{}", refused.err);
    world.assay(&["runs", "tag", "last", "--remove"]).ended(2);
}

#[test]
fn the_status_says_whether_the_result_is_valid() {
    let world = measured();
    let verdict = world.only_run()["verdict"].clone();
    let code = world.assay(&["check", "last", "--require-valid"]).code;
    assert_eq!(code, Some(if verdict == "valid" { 0 } else { 3 }), "{verdict}");
}

#[test]
fn a_seed_replays_the_same_plan() {
    let first = measured().only_run();
    let again = World::new();
    again.quick(&["--seed", "7"]).ended(0);
    let seeds = |run: &Value| -> Vec<Value> {
        let phases = run["plan"]["phases"].as_array().expect("phases");
        phases.iter().map(|phase| phase["jobs"][0]["slices"][0]["seed"].clone()).collect()
    };
    assert_eq!(seeds(&first), seeds(&again.only_run()));
}

#[test]
fn baselines_are_saved_listed_shown_compared_with_and_removed() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let listed = world.assay(&["baseline", "list"]).ended(0).out;
    assert!(listed.contains("HDD") || listed.contains("hdd"), "the built-in ones are there: {listed}");
    world.assay(&["baseline", "save", "mine", "last", "--anyway"]).ended(0);
    let twice = world.assay(&["baseline", "save", "mine", "last", "--anyway"]).ended(2);
    assert!(twice.err.contains("mine"), "{}", twice.err);
    assert!(world.assay(&["baseline", "list"]).ended(0).out.contains("mine"));
    let shown = world.assay(&["baseline", "show", "mine"]).ended(0).out;
    assert!(shown.contains(TEST), "{shown}");
    let compared = world.quick(&["--baseline", "mine"]).ended(0).out;
    assert!(compared.contains("% mine"), "{compared}");
    let near = world.assay(&["baseline", "show", "mime"]).ended(2);
    assert!(near.err.contains("mime"), "{}", near.err);
    world.assay(&["baseline", "rm", "mine"]).ended(0);
    assert!(!world.assay(&["baseline", "list"]).ended(0).out.contains("mine"));
}

#[test]
fn runs_are_removed_one_by_one_and_nothing_else() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let directory = world.run_directories().pop().expect("a run");
    let pretender = world.runs().join("photos");
    fs::create_dir(&pretender).expect("made");
    fs::write(pretender.join("run.json"), "{}").expect("written");
    let said = world.assay(&["runs", "rm", "runs/photos"]);
    assert!(said.code != Some(0) && pretender.join("run.json").exists(), "{}", said.err);
    world.assay(&["runs", "rm", "last", "--yes"]).code.expect("ended");
    fs::remove_dir_all(&pretender).expect("removed");
    if directory.exists() {
        world.assay(&["runs", "rm", "last", "--yes"]).ended(0);
    }
    assert!(!directory.exists());
    assert!(world.assay(&["runs"]).ended(0).out.contains("no runs in"));
}

#[test]
fn what_is_removed_is_named_well() {
    let world = World::new();
    let given = world.path().join("given.tar");
    measured().assay(&["runs", "export", "last", path_text(&given)]).ended(0);
    world.assay(&["import", "given.tar"]).ended(0);
    let directory = world.run_directories().pop().expect("a run");
    let id = world.only_run()["id"].as_str().expect("an id").to_owned();
    for short in [&id[..1], &id[..3], "202"] {
        let said = world.assay(&["runs", "rm", short]).ended(2);
        assert!(said.err.contains("too short") && said.err.contains("4 characters"), "{}", said.err);
    }
    let said = world.assay(&["runs", "rm", "last"]).ended(2);
    assert!(said.err.contains(&id) && said.err.contains("--yes"), "{}", said.err);
    assert!(directory.exists());
    world.assay(&["runs", "rm", &id[..4]]).ended(0);
    assert!(!directory.exists());
}

#[test]
fn what_cannot_be_believed_is_a_baseline_only_for_who_insists() {
    let world = World::new();
    let given = world.path().join("given.tar");
    measured().assay(&["runs", "export", "last", path_text(&given)]).ended(0);
    world.assay(&["import", "given.tar"]).ended(0);
    let file = world.run_directories().pop().expect("a run").join("run.json");
    for (verdict, code) in [("valid", 0), ("suspect", 0), ("invalid", 2), ("incomplete", 2)] {
        let mut run = world.only_run();
        run["verdict"] = verdict.into();
        fs::write(&file, run.to_string()).expect("written");
        let said = world.assay(&["baseline", "save", verdict, "last"]).ended(code);
        assert_eq!(said.err.contains(&format!("is {verdict}")), verdict != "valid", "{}", said.err);
        if code != 0 {
            assert!(said.err.contains("--anyway"), "{}", said.err);
            let said = world.assay(&["baseline", "save", verdict, "last", "--anyway"]).ended(0);
            assert!(said.err.contains(&format!("is {verdict}")), "{}", said.err);
        }
        let listed = world.assay(&["baseline", "list"]).ended(0).out;
        let row = listed.lines().find(|line| line.trim_start().starts_with(verdict)).expect("a row");
        assert!(row.trim_end().ends_with(verdict), "{listed}");
    }
}

#[test]
fn only_runs_of_the_runs_directory_are_removed_and_only_their_files() {
    let world = World::new();
    let copy = |to: &std::path::Path| {
        let from = &measured().run_directories()[0];
        assert!(
            std::process::Command::new("cp")
                .arg("-a")
                .arg(from)
                .arg(to)
                .status_in_time()
                .expect("cp")
                .success()
        );
        to.join(from.file_name().expect("a name"))
    };
    fs::create_dir(world.runs()).expect("made");
    let run = copy(&world.runs());
    let elsewhere = copy(&world.data());
    let link = world.runs().join("20200101T000000Z-link-00000000");
    symlink(&elsewhere, &link).expect("linked");
    let files = entries(&elsewhere).len();
    for (wanted, expected) in [
        (path_text(&elsewhere), "is not a run directory in"),
        ("data", "is not a run directory in"),
        (&format!("{}/run.json", path_text(&elsewhere)), "is not a run directory in"),
        (path_text(&link), "symbolic link"),
        (&format!("{}/", path_text(&link)), "symbolic link"),
        ("00000000", "symbolic link"),
    ] {
        let said = world.assay(&["runs", "rm", wanted]).ended(2);
        assert!(said.err.contains(expected), "{wanted}: {}", said.err);
        assert_eq!(entries(&elsewhere).len(), files, "{wanted}");
    }
    fs::write(run.join("notes.txt"), "precious").expect("written");
    let said = world.assay(&["runs", "rm", path_text(&run)]).ended(1);
    assert!(said.out.is_empty() && said.err.contains("notes.txt: not a file of a run"), "{}", said.err);
    assert_eq!(entries(&run), [run.join("notes.txt")]);
    fs::remove_dir_all(&run).expect("removed");
    // That the directory of all runs is a link is the user's choice.
    let run = copy(&world.runs());
    let moved = world.path().join("moved");
    fs::rename(world.runs(), &moved).expect("moved");
    symlink(&moved, world.runs()).expect("linked");
    world.assay(&["runs", "rm", path_text(&run)]).ended(0);
    assert!(!run.exists() && entries(&elsewhere).len() == files);
}

#[test]
fn a_run_that_is_going_is_not_removed() {
    let world = World::new();
    let mut child = world.start_measuring();
    let directory = world.run_directories().pop().expect("a run");
    let before = entries(&directory);
    let refused: [Said; 2] =
        [world.assay(&["runs", "rm", "last", "--yes"]), world.assay(&["runs", "recover", "last"])];
    let after = entries(&directory);
    crate::world::signal(&child, rustix::process::Signal::KILL);
    child.wait().expect("ended");
    for said in refused {
        let said = said.ended(2);
        assert!(said.err.contains("still going") && said.err.contains(path_text(&directory)), "{}", said.err);
    }
    assert_eq!(before, after);
    world.assay(&["runs", "rm", "last", "--yes"]).ended(0);
    assert!(!directory.exists());
}

#[test]
fn files_with_a_runs_names_are_removed_only_where_they_are_a_runs() {
    let world = World::new();
    fs::create_dir(world.runs()).expect("made");
    let theirs = world.runs().join("2025-tax-papers");
    fs::create_dir(&theirs).expect("made");
    let files = ["run.json", "plan.json", "report.html", "journal.jsonl"];
    for name in files {
        fs::write(theirs.join(name), "{\"mine\": 1}").expect("written");
    }
    world.assay(&["runs", "rm", "2025-tax-papers"]).ended(2);
    for name in files {
        assert_eq!(fs::read_to_string(theirs.join(name)).expect("there"), "{\"mine\": 1}");
    }
    fs::remove_dir_all(&theirs).expect("removed");
    world.quick(&[]).ended(0);
    let run = world.run_directories().pop().expect("a run");
    let page = run.join("report.html");
    let mut edited = fs::read_to_string(&page).expect("a page");
    edited.push_str("<!-- my notes -->");
    fs::write(&page, &edited).expect("written");
    let said = world.assay(&["runs", "rm", "last", "--yes"]).ended(1);
    assert!(said.err.contains("report.html: not as Assay wrote it"), "{}", said.err);
    assert_eq!(fs::read_to_string(&page).expect("there"), edited);
    assert_eq!(entries(&run), [page]);
}

#[test]
fn baselines_are_regular_files() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let saved = world.assay(&["baseline", "save", "mine", "last", "--anyway"]).ended(0).out;
    let path = std::path::PathBuf::from(saved.trim().split_once(" in ").expect("a path").1);
    let (kept, pipe) = (world.path().join("kept.json"), path.with_file_name("pipe.json"));
    fs::rename(&path, &kept).expect("moved");
    symlink(&kept, &path).expect("linked");
    let bytes = fs::read(&kept).expect("there");
    let said = world.assay(&["baseline", "save", "mine", "last", "--anyway", "--force"]).ended(2);
    assert!(said.err.contains("not a regular file"), "{}", said.err);
    assert!(path.is_symlink() && fs::read(&kept).expect("there") == bytes);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status_in_time().expect("mkfifo").success());
    let listed = world.assay(&["baseline", "list"]).ended(0).out;
    assert!(!listed.contains("pipe"), "{listed}");
    for words in [["baseline", "show", "pipe"], ["baseline", "rm", "mine"]] {
        let said = world.assay(&words).ended(2);
        assert!(said.err.contains("not a regular file"), "{}", said.err);
    }
}

#[test]
fn baselines_are_kept_beside_the_runs_and_are_none() {
    let world = World::new();
    world.quick(&[]).ended(0);
    world.assay(&["baseline", "save", "mine", "last", "--anyway"]).ended(0);
    assert!(world.runs().join("baselines/mine.json").is_file());
    let listed = json(&world.assay(&["runs", "--json"]).ended(0).out);
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn the_list_of_runs_is_a_document() {
    let world = World::new();
    let none = json(&world.assay(&["runs", "--json"]).ended(0).out);
    assert_eq!(none["runs"], serde_json::json!([]));
    world.quick(&[]).ended(0);
    let killed = world.runs().join("20200101T000000Z-old-00000000");
    fs::create_dir(&killed).expect("made");
    fs::copy(world.run_directories()[1].join("journal.jsonl"), killed.join("journal.jsonl")).expect("copied");
    for words in [["runs", "--json"].as_slice(), &["runs", "list", "--json"]] {
        let listed = json(&world.assay(words).ended(0).out);
        assert_eq!(listed["schema"], "assay.runs/1");
        let of = |id: &Value| {
            let runs = listed["runs"].as_array().expect("runs");
            runs.iter().find(|run| run["id"] == *id).expect("listed").clone()
        };
        let (done, rest) = (of(&stored_id(&world)), of(&"00000000".into()));
        assert_eq!((&done["state"], &rest["state"]), (&"done".into(), &"unfinished".into()));
        assert!(done["verdict"].is_string() && rest["verdict"].is_null(), "{listed}");
    }
    world.assay(&["runs", "--json", "show", "last"]).ended(2);
}

/// The id of the run that has a result.
fn stored_id(world: &World) -> Value {
    let summary =
        world.run_directories().into_iter().find(|run| run.join("run.json").is_file()).expect("a run");
    json(&fs::read_to_string(summary.join("run.json")).expect("read"))["id"].take()
}

#[test]
fn a_finished_run_is_not_recovered() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let path = world.run_directories()[0].join("run.json");
    let before = fs::metadata(&path).and_then(|file| file.modified()).expect("there");
    let said = world.assay(&["runs", "recover", "last"]).ended(0);
    assert!(
        said.err.contains("nothing to recover") && said.out.contains("Verdict:"),
        "{}{}",
        said.out,
        said.err
    );
    assert_eq!(fs::metadata(&path).and_then(|file| file.modified()).expect("there"), before);
}

#[test]
fn a_block_size_that_no_sector_fits_is_refused() {
    let world = World::new();
    let words = ["new", "--target", "a", "--size", "1m", "-o", "-"];
    let with = |more: &[&str]| world.assay(&[&words[..], more].concat());
    let said = with(&["--block-size", "3"]).ended(2);
    assert!(said.err.contains("3 B") && said.err.contains("512"), "{}", said.err);
    assert!(with(&["--grid", "4k,1000 x 100"]).ended(2).err.contains("1000 B"));
    with(&["--block-size", "3", "--buffered"]).ended(0);
    with(&["--block-size", "512"]).ended(0);
}

#[test]
fn a_dry_run_prints_the_document_of_the_plan() {
    let world = World::new();
    fs::write(world.path().join("job.fio"), "[a]\nrw=randread\nsize=1m\nfilename=a.bin\nruntime=1\n")
        .expect("written");
    for more in [[].as_slice(), &["--engine", "sim"]] {
        let words = [["run", "job.fio", "--seed", "7", "--dry-run", "--json"].as_slice(), more].concat();
        let dry = json(&world.assay(&words).ended(0).out);
        assert_eq!(dry["plan"]["seed"], 7, "{dry}");
        assert!(dry["diagnostics"].is_array());
    }
    assert!(!world.runs().exists() && !world.path().join("a.bin").exists());
}

#[test]
fn the_page_folds_phases_whose_devices_transferred_what_was_asked() {
    let sample = "/tests/samples/run-1/20261123T113758Z-small-81b5362c/run.json";
    let path = format!("{}{sample}", env!("CARGO_MANIFEST_DIR"));
    let mut run = json(&fs::read_to_string(path).expect("a sample"));
    let phase = run["phases"][0].clone();
    for number in 0..7 {
        let mut more = phase.clone();
        more["name"] = format!("more {number}").into();
        more["device"]["device_read_bytes"] = ((number + 1) * 100_000_000).into();
        run["phases"].as_array_mut().expect("phases").push(more);
    }
    for number in 0..5 {
        let mut alike = phase.clone();
        alike["name"] = format!("alike {number}").into();
        for direction in ["read", "written"] {
            let asked = alike["device"][format!("asked_{direction}_bytes")].clone();
            alike["device"][format!("device_{direction}_bytes")] = asked;
        }
        run["phases"].as_array_mut().expect("phases").push(alike);
    }
    let world = World::new();
    let directory = world.runs().join("20261123T113758Z-small-81b5362c");
    fs::create_dir_all(&directory).expect("made");
    fs::write(directory.join("run.json"), run.to_string()).expect("written");
    world.assay(&["report", "last", "--html", "page.html"]).ended(0);
    let page = fs::read_to_string(world.path().join("page.html")).expect("written");
    let (_, devices) = page.split_once("id=\"devices\"").expect("the section");
    let (open, folded) = devices.split_once("<details>").expect("what is folded");
    assert!(open.contains("within 5.0 % in 5, and more or less in 8") && !open.contains("more 6"), "{open}");
    assert!((0..7).all(|number| folded.contains(&format!("more {number}"))), "{folded}");
    assert!(!devices.contains("alike"), "{devices}");
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let (title, _) = title.expect("a title");
    assert!(title.starts_with("small – ") && title.contains("2026-11-23"), "{title}");
}

#[test]
fn a_damaged_run_is_listed_as_such_and_hides_no_other() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let damaged = world.runs().join("20200101T000000Z-old-00000000");
    fs::create_dir(&damaged).expect("made");
    fs::write(damaged.join("run.json"), "{\"schema\": \"assay.run/1\", ").expect("written");
    let listed = world.assay(&["runs"]).ended(0).out;
    assert!(listed.contains("unreadable") && listed.lines().count() >= 3, "{listed}");
    let said = world.assay(&["runs", "show", "00000000"]).ended(2);
    assert!(said.err.contains("run.json"), "{}", said.err);
}

/// Storage without NOWAIT gets its engine by a trial, and a trial goes differently every time.
#[test]
fn the_engine_of_a_storage_is_remembered() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
    let world = World::new();
    let plan = world.path().join("plan.toml");
    let path = memory.path().join("not-there-yet");
    let job = "[[job]]\nop = \"read\"\npattern = \"random\"\nblock_size = \"4k\"\noutstanding = 16\nruntime = \"1s\"\n";
    fs::write(
        &plan,
        format!("name = \"p\"\ntarget = [{{ name = \"t\", path = {path:?}, size = \"1MiB\" }}]\n{job}"),
    )
    .expect("a plan");
    let engine = || {
        let said = world.assay(&["plan", plan.to_str().expect("UTF-8"), "--json"]).ended(0);
        let plan: Value = serde_json::from_str(&said.out).expect("a plan");
        plan["plan"]["phases"][0]["jobs"][0]["engine"].as_str().expect("an engine").to_owned()
    };
    let first = engine();
    let choices = entries(&world.home().join(".local/share/assay/engines"));
    let [remembered] = choices.as_slice() else { return };
    // What is remembered counts, whatever a trial would say.
    let text = fs::read_to_string(remembered).expect("a choice");
    let other = if first == "libaio" { "io-uring" } else { "libaio" };
    fs::write(remembered, text.replace(&first, other)).expect("written");
    assert_eq!(engine(), other);
    // What is damaged is made anew.
    fs::write(remembered, "{").expect("written");
    engine();
    assert!(fs::read_to_string(remembered).expect("a choice").contains("assay.engine-choice/1"));
}
