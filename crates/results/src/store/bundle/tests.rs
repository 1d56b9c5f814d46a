use super::*;
use crate::samples;

fn run() -> Run {
    let mut run = samples::stb_run();
    run.id = "abcd1234".to_owned();
    run.environment.machine.hostname = Some("db1.example.org".to_owned());
    run.notes = vec!["started on db1 and db1.example.org".to_owned()];
    run
}

fn stored(run: &Run) -> (tempfile::TempDir, RunDir) {
    let root = tempfile::tempdir().expect("a directory");
    let directory = RunDir::create(root.path(), &run.started, &run.name, &run.id).expect("made");
    directory.write_run(run).expect("written");
    fs::write(directory.path().join(JOURNAL_FILE), "{\"host\":\"db1\"}\n").expect("written");
    (root, directory)
}

fn refusal(bytes: &[u8]) -> String {
    Bundle::read(bytes).expect_err("refused").to_string()
}

#[test]
fn what_was_exported_is_the_same_run_elsewhere() {
    let run = run();
    let (_root, directory) = stored(&run);
    let bytes = export_run(directory.path(), &run, false).expect("a bundle");
    assert!(is_bundle(&bytes));
    let bundle = Bundle::read(&bytes).expect("a run");
    assert_eq!(bundle.run, run);
    let elsewhere = tempfile::tempdir().expect("a directory");
    let there = bundle.store(elsewhere.path()).expect("stored");
    assert_eq!(there.read_run().expect("readable"), run);
    assert!(there.path().join(JOURNAL_FILE).is_file());
    assert!(bundle.store(elsewhere.path()).is_err(), "one that is there is not written over");
    assert_eq!(there.read_run().expect("still there"), run);
}

#[test]
fn without_host_no_name_of_a_host_is_in_it() {
    let run = run();
    let (_root, directory) = stored(&run);
    let bytes = export_run(directory.path(), &run, true).expect("a bundle");
    assert!(!bytes.windows(3).any(|three| three == b"db1"));
    let notes = Bundle::read(&bytes).expect("a run").run.notes;
    assert_eq!(notes, ["started on host-1 and host-1"]);
}

#[test]
fn a_byte_that_changed_is_found_wherever_it_is() {
    let run = run();
    let (_root, directory) = stored(&run);
    let bytes = export_run(directory.path(), &run, false).expect("a bundle");
    let journal = bytes.windows(8).position(|eight| eight == b"{\"host\":").expect("the journal");
    let mut changed = bytes.clone();
    changed[journal + 2] ^= 1;
    assert!(refusal(&changed).contains("journal.jsonl is damaged"), "{}", refusal(&changed));
    for cut in [0, 100, 512, 700, bytes.len() / 2, bytes.len() - 1024] {
        refusal(&bytes[..cut]);
    }
}

#[test]
fn names_lead_nowhere_else() {
    let manifest = |name: &str| {
        let files = vec![ManifestFile { name: name.to_owned(), bytes: 1, crc32c: crc32c::crc32c(b"x") }];
        let manifest = Manifest { schema: BUNDLE_SCHEMA.to_owned(), id: "a".to_owned(), files };
        serde_json::to_vec(&manifest).expect("JSON")
    };
    for name in ["../run.json", "/etc/passwd", "run.json/../x", "", "report.html", ".."] {
        let files = [(MANIFEST_FILE.to_owned(), manifest(name)), (name.to_owned(), b"x".to_vec())];
        assert!(refusal(&tar::write(&files)).contains("unexpected file"), "{name}");
    }
    let twice = [RUN_FILE, RUN_FILE].map(|name| (name.to_owned(), b"x".to_vec()));
    let files = vec![RUN_FILE, RUN_FILE].into_iter().map(|name| ManifestFile {
        name: name.to_owned(),
        bytes: 1,
        crc32c: crc32c::crc32c(b"x"),
    });
    let manifest = Manifest { schema: BUNDLE_SCHEMA.to_owned(), id: "a".to_owned(), files: files.collect() };
    let mut all = vec![(MANIFEST_FILE.to_owned(), serde_json::to_vec(&manifest).expect("JSON"))];
    all.extend(twice);
    assert!(refusal(&tar::write(&all)).contains("twice"));
}

#[test]
fn links_and_ids_that_are_paths_are_refused() {
    let mut run = run();
    let (_root, directory) = stored(&run);
    let mut bytes = export_run(directory.path(), &run, false).expect("a bundle");
    // A link of the name of the manifest, its header's checksum made right.
    bytes[156] = b'2';
    bytes[148..156].copy_from_slice(b"        ");
    let sum: u32 = bytes[..512].iter().map(|byte| u32::from(*byte)).sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(refusal(&bytes).contains("no plain file"));
    run.id = "../../x".to_owned();
    let bytes = export_run(directory.path(), &run, false).expect("a bundle");
    assert!(refusal(&bytes).contains("id '../../x'"));
    // The word for the newest run.
    run.id = "last".to_owned();
    let bytes = export_run(directory.path(), &run, false).expect("a bundle");
    assert!(refusal(&bytes).contains("id 'last'"));
}
