//! What is said is what is so: losses in every report, refusals in plans, failures of stdout and stderr.

use std::fs;
use std::process::{Command, Stdio};

use crate::bounded::Bounded as _;
use crate::world::{Said, World, json, path_text};

/// A job of fio that loses `lockmem`.
const LOSSY: &str = "[a]\nfilename=a\nsize=64k\nrw=write\nlockmem=1m\n";
/// A job of fio that loses nothing.
const PLAIN: &str = "[a]\nfilename=a\nsize=64k\nrw=write\n";

fn with(text: &str) -> World {
    let world = World::new();
    fs::write(world.path().join("job.fio"), text).expect("written");
    world
}

/// Runs a line of a shell in which `$ASSAY` is the program.
fn shell(world: &World, line: &str) -> Said {
    let program = world.command(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).current_dir(world.path()).env_clear().stdin(Stdio::null());
    shell.env("ASSAY", program.get_program());
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Said::of(shell.output_in_time().expect("bash starts"))
}

#[test]
fn a_full_stdout_is_a_failure_and_a_lost_stderr_is_none() {
    let world = with(PLAIN);
    let said = shell(&world, "$ASSAY run job.fio --json >/dev/full").ended(1);
    assert!(said.err.contains("error: cannot write to stdout: No space left on device"), "{}", said.err);
    for line in ["$ASSAY --help", "$ASSAY completions bash", "$ASSAY report last --csv -", "$ASSAY runs"] {
        shell(&world, &format!("{line} >/dev/full")).ended(1);
    }
    for line in ["2>/dev/full", "2>&1 >/dev/null | true", "--dry-run | true", "--json 2>&1 | head -1"] {
        shell(&world, &format!("set -o pipefail; $ASSAY run job.fio {line}")).ended(0);
    }
    shell(&world, "$ASSAY run no.fio 2>/dev/full").ended(2);
    shell(&world, "set -o pipefail; $ASSAY completions bash | head -1").ended(0);
}

/// Every command that prints ends with 1 where stdout is closed, full, or open for reading only.
#[test]
fn what_cannot_be_printed_is_a_failure_of_every_command() {
    let world = with(PLAIN);
    world.assay(&["run", "job.fio"]).ended(0);
    fs::write(world.path().join("fio.json"), world.assay(&["report", "last", "--fio-json", "-"]).out)
        .expect("written");
    let commands = [
        "run job.fio --json",
        "run job.fio --dry-run",
        "plan job.fio",
        "plan job.fio --json",
        "convert job.fio --to toml",
        "explain iodepth",
        "audit job.fio",
        "audit job.fio --json",
        "compare last last --anyway",
        "check last",
        "check last --json",
        "judge --json -- true",
        "import fio.json --json",
        "report last --csv -",
        "report last --md -",
        "runs",
        "runs show last",
        "runs show last --json",
        "baseline list",
        "new --target n --size 1m --read 100 --block-size 4k --random 0 --outstanding 1 --runtime 1s -o -",
        "doctor",
        "doctor --json",
        "completions bash",
        "man",
        "cleanup .",
        "--help",
        "--version",
        "run --help",
    ];
    for command in commands {
        // What it ends with where everything can be written.
        let fine = shell(&world, &format!("$ASSAY {command} >/dev/null"));
        if fine.code == Some(2) {
            panic!("{command}: {}", fine.err);
        }
        for lost in [">&-", ">/dev/full", "1</dev/null"] {
            let said = shell(&world, &format!("$ASSAY {command} {lost}")).ended(1);
            assert!(said.err.contains("error: cannot write to stdout: "), "{command} {lost}: {}", said.err);
        }
    }
}

#[test]
fn stdout_takes_one_document() {
    let world = with(PLAIN);
    for words in [
        ["run", "job.fio", "--fio-json", "-", "--json"].as_slice(),
        &["run", "job.fio", "--json", "--html", "-"],
        &["run", "job.fio", "--html", "/dev/stdout", "--fio-json-plus", "-"],
        &["audit", "job.fio", "--json", "--html", "-"],
    ] {
        let said = world.assay(words).ended(2);
        assert!(said.out.is_empty() && said.err.contains("both write to stdout"), "{words:?} {}", said.err);
    }
    assert!(!world.path().join("a").exists() && world.run_directories().is_empty());
    world.assay(&["run", "job.fio"]).ended(0);
    let said = world.assay(&["report", "last", "--html", "-", "--csv", "-"]).ended(2);
    assert!(
        said.out.is_empty() && said.err.contains("--html and --csv both write to stdout"),
        "{}",
        said.err
    );
}

#[test]
fn every_report_says_what_was_not_honoured() {
    let world = with(LOSSY);
    let words = ["run", "job.fio", "--allow-loss", "--fio-json", "f.json", "--fio-json-plus", "p.json"];
    world.assay(&[words.as_slice(), &["--html", "h.html", "--vdbench", "v"]].concat()).ended(0);
    world.assay(&["report", "last", "--md", "r.md", "--csv", "r.csv"]).ended(0);
    let vdbench = ["flatfile", "totals", "summary", "histogram", "status", "logfile"];
    let vdbench = vdbench.map(|name| format!("v/{name}.html"));
    let files = ["f.json", "p.json", "h.html", "r.md", "r.csv"].map(str::to_owned);
    for file in files.into_iter().chain(vdbench) {
        let text = fs::read_to_string(world.path().join(&file)).expect("a report");
        assert!(text.contains("lockmem=1m"), "{file} does not say it: {text}");
    }
    let document = json(&fs::read_to_string(world.path().join("f.json")).expect("there"));
    assert_eq!(document["assay"]["notes"].as_array().map(Vec::len), Some(1), "{document}");
    let table = fs::read_to_string(world.path().join("r.csv")).expect("there");
    assert!(table.lines().next().is_some_and(|head| head.ends_with(",notes")), "{table}");
    // What it wrote is read again.
    world.assay(&["import", "f.json"]).ended(0);
    world.assay(&["import", "v"]).ended(0);
}

#[test]
fn crosscheck_runs_nothing_else_than_what_is_asked_for() {
    if Command::new("fio").arg("--version").output_in_time().is_err() {
        return crate::skip::declare("fio", "real fio is not installed");
    }
    let world = with(&format!("{LOSSY}time_based\nruntime=1\n"));
    let words = ["crosscheck", "job.fio", "--pairs", "1", "--runtime", "100ms", "--json"];
    let said = world.assay(&words).ended(1);
    assert!(said.err.contains("nothing was run: 'lockmem' is not honoured"), "{}", said.err);
    assert!(said.out.is_empty() && !world.path().join("a").exists() && world.run_directories().is_empty());
    let said = world.assay(&[words.as_slice(), &["--allow-loss"]].concat()).ended(0);
    let lost = json(&said.out)["not_honoured"][0].as_str().map(str::to_owned);
    assert!(lost.as_deref().is_some_and(|lost| lost.contains("lockmem=1m")), "{}", said.out);
    assert!(world.only_run()["notes"].to_string().contains("lockmem=1m"));
}

#[test]
fn plans_say_what_run_refuses_and_end_as_it_does() {
    let world = with(LOSSY);
    let precious = "[a]\nfilename=precious\nrw=write\n";
    fs::write(world.path().join("precious.fio"), precious).expect("written");
    fs::write(world.path().join("precious"), vec![b'x'; 65536]).expect("written");
    for (file, id) in [("job.fio", "loss-not-allowed"), ("precious.fio", "write-refused")] {
        let run = world.assay(&["run", file]);
        assert_ne!(run.code, Some(0));
        let error =
            |said: &Said| said.err.lines().rfind(|line| line.starts_with("error:")).map(str::to_owned);
        for words in
            [["plan", file].as_slice(), &["run", file, "--dry-run"], &["run", file, "--dry-run", "-q"]]
        {
            let said = world.assay(words);
            assert_eq!((said.code, error(&said)), (run.code, error(&run)), "{words:?} {}", said.err);
            assert!(said.out.contains("write"), "the plan is shown: {words:?} {}", said.out);
        }
        let said = world.assay(&["plan", file, "--json"]);
        assert_eq!(said.code, run.code);
        let diagnostics = json(&said.out)["diagnostics"].to_string();
        assert!(diagnostics.contains(id), "{diagnostics}");
    }
    world.assay(&["plan", "job.fio", "--allow-loss"]).ended(0);
    world.assay(&["plan", "precious.fio", "--destroy-data", "precious"]).ended(0);
    assert!(world.run_directories().is_empty() && !world.path().join("a").exists());
}

#[test]
fn last_is_the_newest_readable_run() {
    let world = with(PLAIN);
    for name in ["old", "new"] {
        fs::write(world.path().join(format!("{name}.fio")), PLAIN).expect("written");
        world.assay(&["run", &format!("{name}.fio")]).ended(0);
    }
    let newest = json(&world.assay(&["runs", "show", "last", "--json"]).ended(0).out);
    assert_eq!(newest["name"], "new", "{newest}");
    let photos = world.runs().join("photos");
    fs::create_dir(&photos).expect("made");
    fs::write(photos.join("run.json"), "{\"photos\": 12}").expect("written");
    let damaged = world.runs().join("99990101T000000Z-x-1234");
    fs::create_dir(&damaged).expect("made");
    let brief = "{\"schema\":\"assay.run/1\",\"id\":\"1234\",\"name\":\"x\",\"started\":\"9999-01-01T00:00:00Z\",\
                 \"elapsed_s\":1,\"verdict\":\"valid\"}";
    fs::write(damaged.join("run.json"), brief).expect("written");
    for words in [
        ["runs", "show", "last"].as_slice(),
        &["check", "last"],
        &["report", "last", "--csv", "-"],
        &["baseline", "save", "mine", "last", "--anyway"],
        &["compare", "last", "last", "--anyway"],
    ] {
        let said = world.assay(words);
        assert_eq!(said.code, Some(0), "{words:?} {}{}", said.out, said.err);
    }
    assert_eq!(json(&world.assay(&["check", "last", "--json"]).ended(0).out)["id"], newest["id"]);
}

#[test]
fn a_named_target_that_was_never_opened_is_not_what_is_judged() {
    let world = World::new();
    fs::write(world.path().join("named"), "x").expect("written");
    let script = "exec 3<>other; dd if=/dev/zero bs=64k count=64 conv=fsync,notrunc of=other; sleep 0.3";
    let judged = |target: &str, script: &str| {
        json(&world.assay(&["judge", "--json", "--target", target, "--", "sh", "-c", script]).ended(0).out)
    };
    let run = judged("named", script);
    let paths = |run: &serde_json::Value| {
        let targets = run["plan"]["targets"].as_array().unwrap().iter();
        targets
            .map(|one| one["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&run), ["other"]);
    let says = run["findings"].as_array().unwrap().iter().any(|finding| {
        let message = finding["message"].as_str().unwrap();
        finding["severity"] == "warning"
            && message.contains("never opened --target")
            && message.contains("the figures are about what it did open: ")
    });
    assert!(says && run["verdict"] != "valid", "{:#}", run["findings"]);
    // One that is opened, by whatever name, heads the result as before.
    std::os::unix::fs::symlink("other", world.path().join("link")).expect("a link");
    let run = judged("link", script);
    assert_eq!(paths(&run), ["other"]);
    assert!(!run["findings"].to_string().contains("never opened"), "{:#}", run["findings"]);
}

#[test]
fn a_command_without_storage_traffic_is_said_to_have_none() {
    let world = World::new();
    let judged = || world.assay(&["judge", "--", "sh", "-c", "exit 7"]).ended(7);
    // Where the page cache was dropped meanwhile the shell itself is read from the disk.
    let silent = |said: &Said| said.err.contains("no storage traffic of the command was seen");
    let said = (0..8).map(|_| judged()).find(silent).unwrap_or_else(judged);
    assert!(
        said.err.contains("Verdict: incomplete") || said.err.contains("Verdict: invalid"),
        "{}",
        said.err
    );
    let said = world.assay(&["judge", "--require-valid", "--", "true"]).ended(3);
    assert!(silent(&said) && !said.err.contains("sequential") && !said.err.contains("seed"), "{}", said.err);
    let help = world.assay(&["judge", "--help"]).ended(0);
    assert!(help.out.contains("Exit status: the command's own"), "{}", help.out);
}

#[test]
fn what_goes_through_pipes_is_not_taken_for_files() {
    let world = World::new();
    let data = world.path().join("input");
    fs::write(&data, vec![1; 8 << 20]).expect("written");
    let judged =
        |script: &str| json(&world.assay(&["judge", "--json", "--", "sh", "-c", script]).ended(0).out);
    let path = crate::world::path_text(&data);
    // Twenty-two megabytes into the pipe, and one block into the file.
    let run = judged("seq 3000000 | (sleep 0.5; cat > /dev/null) & echo x > small; sleep 0.2; wait");
    assert!(
        run["phases"][0]["jobs"][0]["total"]["bytes"].as_u64().is_none_or(|bytes| bytes < 4 << 20),
        "{run:#}"
    );
    let run = judged(&format!(
        "for i in 1 2 3 4; do dd if={path} bs=64k 2>/dev/null | (sleep 0.1; cat) > /dev/null; done"
    ));
    for finding in run["findings"].as_array().expect("findings") {
        assert_ne!(finding["id"], "unwritten-reads", "{finding:#}");
    }
    // On a busy machine dd may end before it is looked at: then nothing is said to have been asked for.
    let device = &run["phases"][0]["device"];
    assert!(device["asked_unknown"] == true || device["asked_read_bytes"] == 0, "{device:#}");
}

#[test]
fn a_pipe_is_read_and_not_waited_for() {
    let world = with(PLAIN);
    let said = shell(&world, "mkfifo pipe; timeout 30 $ASSAY plan pipe").ended(2);
    assert!(said.err.contains("pipe: no process writes to this pipe"), "{}", said.err);
    let said = shell(&world, "timeout 30 $ASSAY fio --parse-only pipe").ended(1);
    assert!(said.err.contains("no process writes to this pipe"), "{}", said.err);
    shell(&world, "$ASSAY plan <(sleep 0.3; cat job.fio)").ended(0);
    shell(&world, "(sleep 0.5; cat job.fio > pipe) & timeout 30 $ASSAY plan pipe").ended(0);
}

#[test]
fn nothing_is_shown_of_files_that_are_no_job_files() {
    let world = World::new();
    let secret = "root:$y$j9T$hunter2:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n";
    fs::write(world.path().join("shadow"), secret).expect("written");
    fs::write(world.path().join("a.fio"), "[a]\ninclude shadow\n").expect("written");
    fs::write(world.path().join("a.vdb"), "include=shadow\nsd=sd1,lun=a,size=1m\n").expect("written");
    let array = "name = 'x'\nfront_end = 'hunter2'\n";
    fs::write(world.path().join("arr.toml"), array).expect("written");
    fs::write(world.path().join("job.fio"), PLAIN).expect("written");
    for words in [
        ["plan", "a.fio"].as_slice(),
        &["plan", "a.vdb", "--format", "vdbench"],
        &["plan", "shadow"],
        &["audit", "job.fio", "--array", "shadow"],
        &["audit", "job.fio", "--array", "arr.toml"],
    ] {
        let said = world.assay(words).ended(2);
        let shown = said.err.contains("$y$j9T") || said.err.contains("\\n") || said.err.contains("daemon");
        assert!(!shown, "{words:?} {}", said.err);
    }
    let said = world.assay(&["audit", "job.fio", "--array", "arr.toml"]);
    assert!(said.err.contains("arr.toml: not an array model: line 2: "), "{}", said.err);
}

#[test]
fn a_file_is_no_place_for_runs() {
    let world = with(PLAIN);
    for words in [
        ["run", "job.fio", "--out", "job.fio"].as_slice(),
        &["runs", "--out", "job.fio"],
        &["plan", "job.fio", "--out", "job.fio"],
    ] {
        let said = world.assay(words).ended(2);
        assert!(said.err.contains("job.fio is not a directory"), "{words:?} {}", said.err);
    }
    let job = world.path().join("job.fio");
    assert!(!world.path().join("a").exists() && fs::read_to_string(path_text(&job)).is_ok());
}
