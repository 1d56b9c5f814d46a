//! Scripts that call `fio`: the same words, by a link of that name, give the same files and the same columns.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::world::{Said, World, entries, json, signal, wait_for};

const READ: [&str; 5] = ["--name=r", "--filename=r.dat", "--rw=randread", "--bs=4k", "--size=1m"];

/// The program by the name fio.
fn fio(world: &World, words: &[&str]) -> Said {
    let mut command = world.command(words);
    command.arg0("fio");
    Said::of(command.output_in_time().expect("the program starts"))
}

fn with<'w>(own: &[&'w str], words: &[&'w str]) -> Vec<&'w str> {
    [own, words].concat()
}

fn text(world: &World, name: &str) -> String {
    fs::read_to_string(world.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn put(world: &World, name: &str, text: &str) {
    fs::write(world.path().join(name), text).expect("written");
}

#[test]
fn by_its_name_it_prints_what_fio_prints_and_nothing_on_stderr() {
    let world = World::new();
    let said = fio(&world, &READ).ended(0);
    assert_eq!(said.err, "");
    for line in [
        "r: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1",
        "Starting 1 process",
        "r: (groupid=0, jobs=1): err= 0: pid=",
        "  read: IOPS=",
        "    clat percentiles (",
        "  cpu          : usr=",
        "  IO depths    : 1=100.0%, 2=0.0%",
        "     issued rwts: total=256,0,0,0 short=0,0,0,0 dropped=0,0,0,0",
        "Run status group 0 (all jobs):",
        "   READ: bw=",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    let last = said.out.trim_end().lines().last().unwrap_or_default();
    assert!(last.starts_with("assay: "), "{last}");
    let version = fio(&world, &["--version"]).ended(0);
    assert!(
        version.out.starts_with("fio-3.33-assay-") && version.out.lines().count() == 1,
        "{}",
        version.out
    );
    // By its own name it reports as Assay does.
    let own = world.assay(&with(&["fio"], &READ)).ended(0);
    assert!(!own.out.contains("(groupid=0"), "{}", own.out);
}

#[test]
fn a_report_goes_where_it_is_asked_to_in_the_forms_that_are_asked_for() {
    let world = World::new();
    let said = fio(&world, &with(&["--output=out.json", "--output-format=json"], &READ)).ended(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let document = json(&text(&world, "out.json"));
    assert_eq!(document["jobs"][0]["jobname"], "r");
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 256);
    // On stdout the document is alone.
    let said = fio(&world, &with(&["--output-format", "json+"], &READ)).ended(0);
    assert!(json(&said.out)["jobs"][0]["read"]["clat_ns"]["bins"].is_object());
    // 41 or 47 fields for each direction, and 9 for each disk.
    for (version, fields) in [("2", 161), ("3", 121), ("4", 162), ("5", 180)] {
        let option = format!("--terse-version={version}");
        let said = fio(&world, &with(&["--minimal", &option], &READ)).ended(0);
        let line = said.out.trim_end();
        let of_disks = (line.matches(';').count() + 1).checked_sub(fields);
        assert!(
            of_disks.is_some_and(|count| count % 9 == 0) && line.lines().count() == 1,
            "{version}: {line}"
        );
    }
    let said = fio(&world, &with(&["--append-terse"], &READ)).ended(0);
    assert!(
        said.out.contains("\n3;fio-3.33-assay-") && said.out.contains("Run status group 0"),
        "{}",
        said.out
    );
    let wrong = fio(&world, &with(&["--output-format=xml"], &READ)).ended(2);
    assert!(wrong.err.contains("xml") && wrong.err.contains("json+"), "{}", wrong.err);
}

#[test]
fn clones_have_entries_and_logs_of_their_own_unless_they_are_a_group() {
    let world = World::new();
    let words = [
        "--output-format=json",
        "--name=k",
        "--rw=randrw",
        "--bs=4k",
        "--size=256k",
        "--numjobs=3",
        "--offset_increment=0",
        "--write_bw_log=logs",
        "--write_lat_log=logs",
        "--write_hist_log=logs",
        "--log_avg_msec=1000",
        "--log_hist_msec=1000",
    ];
    let said = fio(&world, &words).ended(0);
    assert_eq!(said.err, "");
    let document = json(&said.out);
    let jobs = document["jobs"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 3, "{}", said.out);
    for job in jobs {
        assert_eq!((&job["jobname"], &job["groupid"]), (&Value::from("k"), &Value::from(0)));
        let ios = |side: &str| job[side]["total_ios"].as_u64().unwrap_or(0);
        assert_eq!(ios("read") + ios("write"), 64);
        assert_eq!(job["job options"]["numjobs"], "3");
    }
    for clone in 1..=3 {
        for log in ["bw", "lat", "clat"] {
            let lines = text(&world, &format!("logs_{log}.{clone}.log"));
            assert!(lines.lines().all(|line| line.split(", ").count() == 5), "{lines}");
        }
        let counts = text(&world, &format!("logs_clat_hist.{clone}.log"));
        let first: Vec<u64> = counts
            .lines()
            .next()
            .expect("a line")
            .split(", ")
            .map(|word| word.parse().expect("a number"))
            .collect();
        assert_eq!(first.len(), 3 + 1856);
    }
    let grouped = fio(&world, &with(&words, &["--group_reporting"])).ended(0);
    let jobs = json(&grouped.out)["jobs"].as_array().map_or(0, Vec::len);
    assert_eq!(jobs, 1, "{}", grouped.out);
    // One log of all where the names have no number.
    fio(&world, &with(&words, &["--write_bw_log=all", "--per_job_logs=0"])).ended(0);
    assert!(!text(&world, "all_bw.log").is_empty());
    fio(&world, &with(&words, &["--bandwidth-log"])).ended(0);
    assert!(text(&world, "agg-read_bw.log").lines().all(|line| line.contains(", 0, 0, 0")));
}

#[test]
fn jobs_of_one_name_keep_it() {
    let world = World::new();
    put(
        &world,
        "j.fio",
        "[global]\nsize=64k\nrw=read\n[k]\nfilename=a\n[k]\nfilename=b\nbs=8k\n[k]\nstonewall\nfilename=c\n",
    );
    let document = json(&fio(&world, &["--output-format=json", "j.fio"]).ended(0).out);
    let named = |job: &Value| (job["jobname"].clone(), job["groupid"].clone());
    let all: Vec<_> = document["jobs"].as_array().expect("jobs").iter().map(named).collect();
    let k = |group: u64| (Value::from("k"), Value::from(group));
    assert_eq!(all, [k(0), k(0), k(1)]);
}

#[test]
fn latencies_and_totals_are_listed_as_asked() {
    let world = World::new();
    let words = [
        "--output-format=json",
        "--name=m",
        "--rw=randrw",
        "--size=1m",
        "--percentile_list=50:99",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
    ];
    let both = json(&fio(&world, &with(&words, &["--unified_rw_reporting=both"])).ended(0).out);
    let job = &both["jobs"][0];
    let listed = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    assert_eq!(
        listed(&job["read"]["lat_ns"]["percentile"]),
        Some(vec!["50.000000".to_owned(), "99.000000".to_owned()])
    );
    assert!(job["read"]["clat_ns"]["percentile"].is_null());
    assert_eq!(job["mixed"]["total_ios"], 256);
    let mixed = json(&fio(&world, &with(&words, &["--unified_rw_reporting=mixed"])).ended(0).out);
    assert!(mixed["jobs"][0]["read"].is_null() && mixed["jobs"][0]["mixed"]["io_bytes"] == 1 << 20);
    let steady = ["--steadystate=iops:90%", "--steadystate_duration=1", "--runtime=3", "--time_based"];
    let steady = json(&fio(&world, &with(&words, &steady)).ended(0).out);
    let found = &steady["jobs"][0]["steadystate"];
    assert_eq!(
        (&found["ss"], &found["duration"]),
        (&Value::from("iops:90.000000%"), &Value::from(1)),
        "{found}"
    );
}

#[test]
fn result_files_of_a_script_may_be_written_again_and_no_others() {
    let world = World::new();
    let words = with(&["--output=result", "--output-format=json"], &READ);
    let terse = format!("3;fio-3.33;a;0;0{}\n", ";1".repeat(116));
    let document = "{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp\" : 1,\n  \"time\" : \"Mon\",\n  \"jobs\" : []\n}\n";
    for before in ["", document, &terse] {
        put(&world, "result", before);
        fio(&world, &words).ended(0);
        fio(&world, &words).ended(0);
        assert!(json(&text(&world, "result"))["jobs"].is_array(), "{before}");
    }
    // A beginning is not enough, and a log is no report.
    let table = "2024, 1, 2, 0\n";
    for other in [table, "3;fio-3.33;mine;0;0\n", "{ \"fio version\" : \"fio-3.33\", \"mine\" : 1 }\n"] {
        put(&world, "result", other);
        assert!(fio(&world, &words).ended(2).err.contains("--force"), "{other}");
        assert_eq!(text(&world, "result"), other);
    }
    put(&world, "mine_bw.1.log", "2024, 1, 2, 3\nprecious\n");
    fio(&world, &with(&["--write_bw_log=mine"], &READ)).ended(2);
    assert_eq!(text(&world, "mine_bw.1.log"), "2024, 1, 2, 3\nprecious\n");
    put(&world, "mine_bw.1.log", "1000, 1, 0, 4096, 0\n");
    fio(&world, &with(&["--write_bw_log=mine"], &READ)).ended(0);
    let said = fio(&world, &with(&["--output=mine_bw.1.log"], &READ)).ended(2);
    assert!(said.err.contains("mine_bw.1.log"), "{}", said.err);
    put(&world, "result", "my diary");
    let before = entries(&world.runs());
    let said = fio(&world, &words).ended(2);
    assert!(said.err.contains("result") && said.err.contains("--force"), "{}", said.err);
    assert_eq!((text(&world, "result"), entries(&world.runs())), ("my diary".to_owned(), before));
    fio(&world, &with(&words, &["--force"])).ended(0);
    // A target is no result.
    let said = fio(&world, &with(&["--output=r.dat"], &READ)).ended(2);
    assert!(said.err.contains("r.dat"), "{}", said.err);
    fio(&world, &with(&["--output=/dev/null"], &READ)).ended(0);
}

/// The documents that were printed one behind the other.
fn documents(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(|one| one.expect("a document")).collect()
}

#[test]
fn reports_come_while_the_jobs_run_and_the_last_one_once() {
    let world = World::new();
    let of_two = "[global]\nfilename=r.dat\nrw=randread\nsize=1m\nrate_iops=200\ntime_based\n\
        [a]\nruntime=2\n[b]\nstonewall\nruntime=1\n";
    put(&world, "two.fio", of_two);
    let words = ["--status-interval=500ms", "--output-format=json", "--output=s.json", "two.fio"];
    let said = fio(&world, &words).ended(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let reports = documents(&text(&world, "s.json"));
    let ios = |report: &Value, job: usize| report["jobs"][job]["read"]["total_ios"].as_u64();
    let of = |job: usize| reports.iter().map(|report| ios(report, job).expect("a count")).collect::<Vec<_>>();
    assert!((3..=7).contains(&reports.len()), "{}", reports.len());
    let (a, b) = (of(0), of(1));
    for counts in [&a, &b] {
        assert!(counts.is_sorted(), "{counts:?}");
    }
    // Jobs that wait have their entry, and what is reported is what was done by then.
    assert!(a[0] > 0 && a[0] < a[a.len() - 1] && b[0] == 0, "{a:?} {b:?}");
    let run = world.only_run();
    for (phase, counts) in [&a, &b].into_iter().enumerate() {
        assert_eq!(run["phases"][phase]["jobs"][0]["read"]["ios"], counts[counts.len() - 1], "{counts:?}");
    }
    // The same file may be written again, and shorter.
    fio(&world, &with(&["--output=s.json", "--output-format=json"], &READ)).ended(0);
    assert_eq!(documents(&text(&world, "s.json")).len(), 1);
    // On stdout; what the jobs are comes once, and so does the verdict.
    let said = fio(&world, &["--status-interval=1", "two.fio"]).ended(0);
    assert_eq!(said.err, "");
    let count = |part: &str| said.out.matches(part).count();
    assert!((2..=4).contains(&count("\na: (groupid=0, jobs=1)")), "{}", said.out);
    assert_eq!(
        (count("a: (g=0): rw="), count("\nassay: "), count("Starting 2 proc")),
        (1, 1, 1),
        "{}",
        said.out
    );
    let first = said.out.split("Run status group").next().unwrap_or_default();
    assert!(!first.contains("b: (groupid=1"), "{first}");
    // What is shorter than that is reported at its end.
    let brief = fio(&world, &with(&["--status-interval=1", "--output-format=json"], &READ)).ended(0);
    assert_eq!(documents(&brief.out).len(), 1);
}

#[test]
fn words_of_assay_stand_anywhere_and_a_job_may_come_on_stdin() {
    let world = World::new();
    let said = world.assay(&with(&["fio"], &with(&READ, &["--json", "--watch", "nothing"]))).ended(0);
    assert_eq!(json(&said.out)["phases"][0]["jobs"][0]["read"]["ios"], 256);
    let mut command: Command = world.command(&["--output-format=json", "-", "--section=b"]);
    command.arg0("fio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.start().expect("the program starts");
    let job = "[a]\nrw=read\nsize=64k\n[b]\nrw=read\nsize=128k\n";
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), job.as_bytes()).expect("written");
    let said = Said::of(child.wait_with_output().expect("it ends")).ended(0);
    let document = json(&said.out);
    assert_eq!(document["jobs"][0]["jobname"], "b");
    assert_eq!(document["jobs"][0]["read"]["io_bytes"], 128 << 10);
}

#[test]
fn help_and_warnings_are_as_asked() {
    let world = World::new();
    let help = fio(&world, &["--cmdhelp=iodepth"]).ended(0);
    assert!(help.out.contains("iodepth: ") && help.out.contains("min=1"), "{}", help.out);
    assert!(fio(&world, &["--cmdhelp"]).ended(0).out.lines().count() > 200);
    assert!(fio(&world, &["--enghelp"]).ended(0).out.contains("\tio_uring\n"));
    assert!(fio(&world, &["--cmdhelp=iodepht"]).ended(2).err.contains("iodepth"));
    let lost = with(&READ, &["--log_issue_time=1"]);
    let said = fio(&world, &lost).ended(0);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    fio(&world, &with(&lost, &["--warnings-fatal"])).ended(2);
    for words in [["--max-jobs=4", "--alloc-size=1024"], ["--eta=never", "--eta-newline=1"]] {
        assert_eq!(fio(&world, &with(&words, &READ)).ended(0).err, "", "{words:?}");
    }
    assert!(Path::new(&world.path().join("r.dat")).exists());
}

#[test]
fn an_interrupted_run_ends_with_the_status_of_fio() {
    let world = World::new();
    let words =
        ["--name=r", "--filename=r.dat", "--rw=randread", "--size=64k", "--time_based", "--runtime=600"];
    let mut command = world.command(&with(&["fio"], &words));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    wait_for("the first intervals", || {
        let series = world.run_directories().pop().map(|run| run.join("series.bin"));
        series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 1024))
    });
    signal(&child, rustix::process::Signal::INT);
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(128), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn notes_are_not_on_stderr_where_jobs_are_only_read() {
    let world = World::new();
    let said = fio(&world, &["--parse-only", "--name=r", "--rw=write", "--size=1m", "--verify=md5"]).ended(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let said = fio(&world, &["--parse-only", "--name=r", "--size=1m", "--cpus_allowed=0"]).ended(0);
    assert!(said.err.contains("cpus_allowed"), "{}", said.err);
}
