use super::*;
use crate::environment::{BlockDevice, FileSystem, NetworkPath, TargetEnvironment};
use crate::run::{Finding, FindingSeverity};
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
    let given = Bundle::read(&bytes).expect("a run").run;
    assert_eq!(given.notes[0], "started on host-1 and host-1");
    assert!(given.names_removed && given.notes[1].contains("were replaced"), "{:?}", given.notes);
    // Given away once more, it stays as it is.
    let again = export_run(directory.path(), &given, true).expect("a bundle");
    assert_eq!(Bundle::read(&again).expect("a run").run, given);
}

/// A run of somebody's machine, with all that tells whose it is.
fn of_somebody() -> Run {
    let mut run = run();
    "acme-vm-test".clone_into(&mut run.name);
    "acme-vm-test".clone_into(&mut run.plan.name);
    let machine = &mut run.environment.machine;
    machine.hostname = Some("vm".to_owned());
    machine.boot_id = Some("11111111-2222-3333-4444-555555555555".to_owned());
    machine.kernel_version = Some("#1 SMP builder@secret-farm".to_owned());
    machine.kernel_release = Some("6.12.4".to_owned());
    machine.kernel_arguments = vec!["root=UUID=secret".to_owned(), "nfsroot=secret:/boot".to_owned()];
    machine.uptime_s = Some(987_654_321);
    run.environment.cgroup.path = Some("/user.slice/secret.service".to_owned());
    let options = [("addr", "10.99.0.7"), ("lowerdir", "/srv/secret/x"), ("vers", "4.2"), ("uid", "4711")];
    let options = options.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
    run.environment.targets = vec![TargetEnvironment {
        path: "/mnt/secret-share/a/data".to_owned(),
        canonical_path: Some("/mnt/secret-share/a/data".to_owned()),
        file_system: Some(FileSystem {
            fs_type: "nfs4".to_owned(),
            source: "secret-nas:/export/secret".to_owned(),
            mount_point: "/mnt/secret-share".to_owned(),
            options: options.collect(),
            ..FileSystem::default()
        }),
        devices: vec![BlockDevice {
            name: "dm-0".to_owned(),
            mapper_name: Some("secret-vg".to_owned()),
            model: Some("DISK 9000".to_owned()),
            ..BlockDevice::default()
        }],
        network: Some(NetworkPath {
            server: "10.99.0.7".to_owned(),
            interface: Some("enx0a1b2c3d4e5f".to_owned()),
            ..NetworkPath::default()
        }),
        ..TargetEnvironment::default()
    }];
    let at = serde_json::json!({ "job": "/phases/0/jobs/0", "file": "/mnt/secret-share/b/x" });
    run.findings.push(Finding {
        id: "found".to_owned(),
        severity: FindingSeverity::Info,
        phase: None,
        repeat: None,
        job: None,
        message: "vm did".to_owned(),
        bias: None,
        effect: None,
        evidence: at.as_object().cloned().unwrap_or_default(),
        advice: String::new(),
    });
    run.plan.targets[0].path = "/mnt/secret-share/a/data".to_owned();
    run.notes = vec![
        "vm read /srv/secret/plans/x.toml and /srv/secret/y/x.toml over secret-nas (10.99.0.7)".to_owned(),
        "secret-vg of /dev/mapper/secret-vg, postgres://secret@secret-db:5432/orders".to_owned(),
    ];
    run
}

/// All numbers of a document, in order.
fn numbers(value: &serde_json::Value, all: &mut Vec<f64>) {
    match value {
        serde_json::Value::Number(number) => all.extend(number.as_f64()),
        serde_json::Value::Array(values) => values.iter().for_each(|value| numbers(value, all)),
        serde_json::Value::Object(map) => map.values().for_each(|value| numbers(value, all)),
        _ => {}
    }
}

#[test]
fn without_host_nothing_tells_whose_machine_it_was() {
    let run = of_somebody();
    let (_root, directory) = stored(&run);
    let bytes = export_run(directory.path(), &run, true).expect("a bundle");
    let text = String::from_utf8_lossy(&bytes);
    for word in ["secret", "10.99.0.7", "11111111", "987654321", "enx0a", "\"4711\"", "#1 SMP"] {
        let at =
            text.find(word).map(|at| text[at.saturating_sub(80)..].chars().take(160).collect::<String>());
        assert_eq!(at, None, "{word}");
    }
    let given = Bundle::read(&bytes).expect("a run").run;
    assert_eq!((given.name.as_str(), given.plan.name.as_str()), ("acme-vm-test", "acme-vm-test"));
    assert_eq!(given.environment.machine.hostname.as_deref(), Some("host-1"));
    // One path is one path wherever it stands, and two are two.
    let target = &given.environment.targets[0];
    assert_eq!(target.path, given.plan.targets[0].path);
    assert!(target.path.ends_with("/data"), "{}", target.path);
    let words: Vec<&str> = given.notes[0].split(' ').collect();
    assert!(
        words[2].ends_with("/x.toml") && words[4].ends_with("/x.toml") && words[2] != words[4],
        "{words:?}"
    );
    let file_system = target.file_system.as_ref().expect("a file system");
    assert_eq!(file_system.option("vers"), Some("4.2"));
    // What points into the run still does.
    let evidence = &given.findings.last().expect("a finding").evidence;
    assert_eq!(evidence["job"], "/phases/0/jobs/0");
    assert!(evidence["file"].as_str().is_some_and(|file| file.ends_with("/x")), "{evidence:?}");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    numbers(&serde_json::to_value(&run).expect("JSON"), &mut before);
    numbers(&serde_json::to_value(&given).expect("JSON"), &mut after);
    before.retain(|number| *number != 987_654_321.0);
    assert_eq!(before, after);
    let remains = what_remains(&run);
    assert!(remains.contains("kernel 6.12.4") && remains.contains("DISK 9000"), "{remains}");
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
