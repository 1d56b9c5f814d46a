//! `verify=` through real fio and through Assay: how much is written and read back, and whether both find what is wrong.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use assay_workload::rng::Rng;
use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::{Place, Said};

/// Jobs whose counts chance has no part in.
const CASES: u64 = 24;

/// Writes and reads of all jobs together.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    writes: u64,
    reads: u64,
}

fn pick<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.below(words.len() as u64) as usize]
}

/// A job file, and whether each operation is a write, so that their number is no chance.
fn generated(seed: u64) -> (String, bool) {
    let mut rng = Rng::new(seed);
    let rw = pick(&mut rng, &["write", "randwrite", "randrw", "rw"]);
    let engine = pick(
        &mut rng,
        &["ioengine=psync", "ioengine=libaio\niodepth=8\ndirect=1", "ioengine=io_uring\niodepth=4"],
    );
    let method = pick(&mut rng, &["crc32c", "md5", "sha256", "xxhash", "meta", "crc64"]);
    let bs = pick(&mut rng, &["4k", "8k", "16k"]);
    let when = pick(
        &mut rng,
        &[
            "",
            "do_verify=0",
            "verify_backlog=1",
            "verify_backlog=16\nverify_backlog_batch=8",
            "",
            "verify_interval=512",
        ],
    );
    let more = pick(
        &mut rng,
        &[
            "",
            "",
            "numjobs=2\nfilename_format=f.$jobnum",
            "offset=128k",
            "verify_fatal=1",
            "continue_on_error=verify",
        ],
    );
    // fio counts the reads of a backlog among its I/Os.
    let limited = rw.ends_with("write") && !when.contains("backlog") && rng.below(3) == 0;
    let limit = if limited { "number_ios=20" } else { "" };
    let file = if more.contains("filename_format") { "" } else { "filename=f" };
    let size = [512, 640, 1024][rng.below(3) as usize];
    let text = format!(
        "[j]\nrw={rw}\nsize={size}k\nbs={bs}\nverify={method}\n{engine}\n{when}\n{more}\n{limit}\n{file}\n"
    );
    (text, rw.ends_with("write"))
}

fn by_assay(place: &Place, file: &str) -> Counts {
    let said = place.assay(&["run", file, "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let run: Value = serde_json::from_str(&said.out).expect("JSON");
    let mut counts = Counts { writes: 0, reads: 0 };
    let number = |value: &Value| value["ios"].as_u64().unwrap_or(0);
    let jobs = run["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .flat_map(|phase| phase["jobs"].as_array().expect("jobs"));
    for job in jobs {
        assert_eq!((&job["errors"], &job["data"]["wrong"]), (&0.into(), &0.into()), "{job}");
        counts.writes += number(&job["write"]);
        counts.reads += number(&job["read"]) + number(&job["ops"]["reread"]);
    }
    counts
}

fn fio(place: &Place, words: &[&str]) -> Said {
    let output =
        Command::new("fio").args(words).current_dir(place.path()).output_in_time().expect("fio starts");
    Said::of(&output)
}

fn by_fio(place: &Place, file: &str) -> Counts {
    let said = fio(place, &["--output-format=json", "--verify_state_save=0", file]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let start = said.out.find('{').expect("a document");
    let document: Value = serde_json::from_str(&said.out[start..]).expect("JSON");
    let jobs = document["jobs"].as_array().expect("jobs");
    let sum = |side: &str| jobs.iter().map(|job| job[side]["total_ios"].as_u64().unwrap_or(0)).sum();
    Counts { writes: sum("write"), reads: sum("read") }
}

#[test]
fn as_much_is_written_and_read_back() {
    if !has_fio() {
        return;
    }
    for seed in 0..CASES {
        let (text, only_writes) = generated(seed);
        let (ours, theirs) = (Place::new(), Place::new());
        ours.file("j.fio", &text);
        theirs.file("j.fio", &text);
        let (ours, theirs) = (by_assay(&ours, "j.fio"), by_fio(&theirs, "j.fio"));
        if only_writes {
            assert_eq!(ours, theirs, "seed {seed}:\n{text}");
        } else if !text.contains("do_verify=0") {
            // Each block is read or written once, and fio reads back what was written. Here what was laid out for the reads is
            // read back as well, if not each write at once.
            let blocks = theirs.reads;
            let reads = if text.contains("backlog") { blocks } else { 2 * blocks - ours.writes };
            assert_eq!(ours.reads, reads, "seed {seed}: {ours:?} {theirs:?}\n{text}");
        }
    }
}

/// What is wrong between writing and reading: of a byte, of a block, a block in the place of another one.
const WRONG: [&str; 3] = ["byte", "zeros", "copy"];

fn spoil(place: &Place, what: &str) {
    let path = place.path().join("f");
    let bytes = std::fs::read(&path).expect("the file");
    let (offset, bytes) = match what {
        "byte" => (41_737, vec![bytes[41_737] ^ 1]),
        "zeros" => (81_920, vec![0; 4096]),
        _ => (122_880, bytes[..4096].to_vec()),
    };
    let file = File::options().write(true).open(path).expect("the file");
    file.write_all_at(&bytes, offset).expect("changed");
}

fn checked(rw: &str, more: &str) -> String {
    format!("[j]\nfilename=f\nrw={rw}\nsize=1m\nbs=4k\nverify=crc32c\n{more}\n")
}

#[test]
fn bad_data_between_two_runs_is_found_by_both_where_headers_say_it() {
    if !has_fio() {
        return;
    }
    for (what, assay) in WRONG.iter().flat_map(|what| [(what, false), (what, true)]) {
        let place = Place::new();
        place.file("w.fio", &checked("write", "do_verify=0"));
        place.file("r.fio", &checked("read", ""));
        let run = |file: &str| match assay {
            true => place.assay(&["run", file, "--allow-loss", "--json"]),
            false => fio(&place, &["--verify_state_save=0", file]),
        };
        assert_eq!(run("w.fio").code, Some(0));
        let clean = run("r.fio");
        assert_eq!(clean.code, Some(0), "{}{}", clean.out, clean.err);
        spoil(&place, what);
        let found = run("r.fio");
        let said = format!("{}{}", found.out, found.err);
        assert_ne!(found.code, Some(0), "{what} {assay}: {said}");
        if assay {
            let run: Value = serde_json::from_str(&found.out).expect("JSON");
            let data = &run["phases"][0]["jobs"][0]["data"];
            assert_eq!((&data["unverifiable"], &data["wrong"]), (&0.into(), &1.into()), "{data}");
        }
    }
}

#[test]
fn bad_data_within_a_run_is_found_whatever_it_is() {
    for what in WRONG {
        let place = Place::new();
        let between = "[z]\nstonewall\nfilename=z\nrw=read\nsize=64k\nrate_iops=20\ntime_based\nruntime=2";
        place.file(
            "j.fio",
            &checked(
                "write",
                &format!("do_verify=0\n{between}\n[r]\nstonewall\nfilename=f\nrw=read\nsize=1m\nverify=md5"),
            ),
        );
        let child = place.command(&["run", "j.fio", "--json"]).stdout(std::process::Stdio::piped()).start();
        let child = child.expect("the program starts");
        // The second file is laid out when the first job is over.
        while std::fs::metadata(place.path().join("z")).map_or(0, |meta| meta.len()) < 65_536 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        spoil(&place, what);
        let said = Said::of(&child.wait_with_output().expect("it ends"));
        let run: Value = serde_json::from_str(&said.out).expect("JSON");
        let data = &run["phases"][2]["jobs"][0]["data"];
        let fault = ["damaged", "zeros", "misplaced"][WRONG.iter().position(|one| *one == what).unwrap_or(0)];
        assert_eq!(
            (&data["wrong"], &data["errors"][0]["fault"]),
            (&1.into(), &fault.into()),
            "{what}: {data}"
        );
        let findings = run["findings"].as_array().expect("findings");
        assert!(findings.iter().any(|finding| finding["id"] == "verify-failed"), "{what}: {findings:?}");
    }
}

/// In one file, where Assay knows what was written last: what another writer puts there between the two jobs is found, whatever it is.
#[test]
fn what_another_job_without_headers_overwrote_is_not_taken_for_right() {
    if !has_fio() {
        return;
    }
    let text = "[global]\nsize=1m\nbs=4k\nfilename=f\n[w]\nrw=write\nverify=crc32c\ndo_verify=0\n\
                [x]\nstonewall\nrw=write\nsize=40k\n[r]\nstonewall\nrw=read\nverify=crc32c\n";
    let place = Place::new();
    place.file("j.fio", text);
    assert_ne!(fio(&place, &["--verify_state_save=0", "j.fio"]).code, Some(0), "fio takes it for wrong");
    let place = Place::new();
    place.file("j.fio", text);
    let said = place.assay(&["run", "j.fio", "--json"]);
    assert_ne!(said.code, Some(0), "and so does Assay");
    let run: Value = serde_json::from_str(&said.out).expect("JSON");
    let data = &run["phases"][2]["jobs"][0]["data"];
    assert_eq!((&data["unverifiable"], &data["wrong"]), (&0.into(), &1.into()), "{data}");
}

#[test]
fn the_first_wrong_block_ends_a_job_in_both() {
    if !has_fio() {
        return;
    }
    for (more, goes_on) in [("", false), ("verify_fatal=1", false), ("continue_on_error=verify", true)] {
        let mut reads = Vec::new();
        for assay in [false, true] {
            let place = Place::new();
            place.file("w.fio", &checked("write", "do_verify=0"));
            place.file("r.fio", &checked("read", more));
            let run = |file: &str, json: &str| match assay {
                true => place.assay(&["run", file, "--allow-loss", "--json"]),
                false => fio(&place, &["--verify_state_save=0", json, file]),
            };
            run("w.fio", "--output-format=json");
            let file = File::options().write(true).open(place.path().join("f")).expect("the file");
            for block in [10, 20, 30] {
                file.write_all_at(b"wrong", block * 4096 + 1000).expect("changed");
            }
            let said = run("r.fio", "--output-format=json");
            let start = said.out.find('{').unwrap_or_else(|| panic!("{}{}", said.out, said.err));
            let document: Value = serde_json::from_str(&said.out[start..]).expect("JSON");
            reads.push(match assay {
                true => document["phases"][0]["jobs"][0]["read"]["ios"].as_u64(),
                false => document["jobs"][0]["read"]["total_ios"].as_u64(),
            });
        }
        let all = Some(256);
        assert_eq!(
            reads.iter().map(|reads| *reads == all).collect::<Vec<_>>(),
            [goes_on; 2],
            "{more}: {reads:?}"
        );
    }
}

/// One job on `file` with this pattern, without headers.
fn pattern_words<'w>(file: &'w str, rw: &'w str, pattern: &'w str) -> [&'w str; 7] {
    ["--name=j", file, rw, "--bs=4k", "--size=128k", "--verify=pattern", pattern]
}

#[test]
fn patterns_without_headers_are_the_same_bytes_and_each_verifies_the_others() {
    if !has_fio() {
        return;
    }
    for pattern in ["%o", "0xdeadface", "\"abcd\"-120xdeadface%o"] {
        let place = Place::new();
        let pattern = format!("--verify_pattern={pattern}");
        let assay = |file: &str, rw: &str| {
            place
                .assay(&[&["fio", "--output-format=normal"][..], &pattern_words(file, rw, &pattern)].concat())
        };
        let fio = |file: &str, rw: &str| fio(&place, &pattern_words(file, rw, &pattern));
        let written = [assay("--filename=a", "--rw=randwrite"), fio("--filename=f", "--rw=write")];
        assert!(written.iter().all(|said| said.code == Some(0)), "{pattern}: {written:?}");
        let bytes = |name: &str| std::fs::read(place.path().join(name)).expect("a file");
        assert!(bytes("a") == bytes("f"), "{pattern}");
        let read = [assay("--filename=f", "--rw=randread"), fio("--filename=a", "--rw=read")];
        assert!(read.iter().all(|said| said.code == Some(0) && said.err.is_empty()), "{pattern}: {read:?}");
        spoil(&place, "byte");
        let wrong = assay("--filename=f", "--rw=read");
        assert!(wrong.code != Some(0) && wrong.err.contains("offset 41737: not the pattern"), "{wrong:?}");
    }
}

#[test]
fn verify_only_reads_what_a_job_of_the_same_options_wrote() {
    for rw in ["write", "randwrite", "rw", "randrw"] {
        let place = Place::new();
        place.file("w.fio", &checked(rw, "do_verify=0"));
        place.file("v.fio", &checked(rw, "verify_only"));
        assert_eq!(place.assay(&["run", "w.fio"]).code, Some(0), "{rw}");
        let before = std::fs::read(place.path().join("f")).expect("the file");
        let said = place.assay(&["run", "v.fio", "--json"]);
        assert_eq!(said.code, Some(0), "{rw}: {}", said.err);
        let run: Value = serde_json::from_str(&said.out).expect("JSON");
        let job = &run["phases"][0]["jobs"][0];
        let (data, reads) = (&job["data"], job["read"]["ios"].as_u64());
        assert_eq!(
            (&data["unverifiable"], data["of_earlier_runs"].as_u64()),
            (&0.into(), reads),
            "{rw}: {data}"
        );
        assert!(
            job["write"].is_null() && std::fs::read(place.path().join("f")).expect("it") == before,
            "{rw}"
        );
        if rw.ends_with("write") {
            spoil(&place, "zeros");
            assert_ne!(place.assay(&["run", "v.fio"]).code, Some(0), "{rw}");
        }
    }
}

#[test]
fn jobs_behind_a_stonewall_run_although_one_before_them_found_wrong_data() {
    let place = Place::new();
    let read = "stonewall\nfilename=f\nrw=read\nsize=64k\nverify=md5\nverify_fatal=1";
    let other = "stonewall\nfilename=f\nrw=randwrite\nsize=64k\nbs=4\nnumber_ios=1\nrandrepeat=0";
    let write = "filename=f\nrw=write\nsize=64k\nverify=md5";
    place.file(
        "j.fio",
        &format!("[w]\n{write}\n[good]\n{read}\n[m]\n{other}\n[bad]\n{read}\n[later]\n{read}\n"),
    );
    let said = place.assay(&["fio", "--output-format=json", "j.fio"]);
    assert_ne!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).expect("JSON");
    let jobs = document["jobs"].as_array().expect("jobs").iter();
    let ended: Vec<(&str, u64)> =
        jobs.map(|job| (job["jobname"].as_str().unwrap_or(""), job["error"].as_u64().unwrap_or(0))).collect();
    assert_eq!(ended, [("w", 0), ("good", 0), ("m", 0), ("bad", 84), ("later", 84)]);
}
