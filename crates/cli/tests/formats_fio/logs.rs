//! Logs with a line for each I/O, and what becomes of files, beside real fio with the same command line.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::Place;

/// Runs one command line by Assay and by fio, each in a directory of its own; they and their exit statuses.
fn both(line: &str) -> [(Place, Option<i32>); 2] {
    let words: Vec<&str> = line.split_whitespace().collect();
    let assay = Place::new();
    let said = assay.assay(&[&["fio", "--output-format=json", "--output=out.json"], &words[..]].concat());
    assert!(!said.err.contains("panicked"), "{line}: {}", said.err);
    let fio = Place::new();
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "--output=out.json"]).args(&words).current_dir(fio.path());
    let status = command.output_in_time().expect("fio starts").status;
    [(assay, said.code), (fio, status.code())]
}

/// The names in a directory that end so.
fn names(directory: &Path, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let all = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = all.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

/// What the lines of a log say of each I/O, whatever its time: how often.
fn lines(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split(", ").collect();
        assert!(columns[..2].iter().all(|column| column.parse::<u64>().is_ok()), "{line}");
        *counts.entry(columns[2..].join(", ")).or_default() += 1;
    }
    counts
}

fn jobs(place: &Place) -> Vec<Value> {
    let text = place.read("out.json");
    let from = text.find('{').expect("a document");
    let document: Value = serde_json::from_str(&text[from..]).expect("JSON");
    document["jobs"].as_array().expect("jobs").clone()
}

/// Percentiles of a report are those of the log of each I/O, as close as fio's buckets are: below 1/128.
#[test]
fn percentiles_are_those_of_the_logs() {
    let asked =
        "--slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1 --percentile_list=1:50:90:99.9";
    for (case, latencies) in [
        ("--ioengine=null --rw=randread --number_ios=5000", &["clat", "lat"][..]),
        ("--ioengine=null --iodepth=8 --rw=randread --number_ios=5000", &["slat", "clat", "lat"]),
        ("--ioengine=psync --rw=write", &["clat", "lat"]),
        ("--ioengine=libaio --iodepth=8 --rw=randwrite", &["slat", "clat", "lat"]),
        ("--ioengine=io_uring --iodepth=8 --rw=write --bssplit=4k/50:8k/50", &["slat", "clat", "lat"]),
        ("--ioengine=libaio --rw=rw --unified_rw_reporting=1", &["slat", "clat", "lat"]),
    ] {
        let place = Place::new();
        let line = format!(
            "fio --name=j --size=4m --bs=4k --write_lat_log=l --output-format=json+ --output=out.json {asked} {case}"
        );
        let said = place.assay(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(said.code, Some(0), "{line}: {}", said.err);
        let entry = jobs(&place).remove(0);
        let moved =
            ["mixed", "read", "write"].into_iter().find(|name| entry[*name]["total_ios"].as_u64() > Some(0));
        let operation = &entry[moved.expect("an operation")];
        for latency in ["slat", "clat", "lat"] {
            let reported = &operation[format!("{latency}_ns")];
            let Some(percentiles) = reported["percentile"].as_object() else {
                assert!(!latencies.contains(&latency), "{line}: {latency} {reported}");
                continue;
            };
            assert!(latencies.contains(&latency), "{line}: {latency}");
            let log = place.read(&format!("l_{latency}.1.log"));
            let value = |line: &str| line.split(", ").nth(1).and_then(|value| value.parse::<u64>().ok());
            let mut logged: Vec<u64> = log.lines().filter_map(value).collect();
            logged.sort_unstable();
            assert_eq!(reported["N"].as_u64(), Some(logged.len() as u64), "{line}: {latency}");
            for (percent, shown) in percentiles {
                let rank = percent.parse::<f64>().expect("a number") / 100.0 * logged.len() as f64;
                let value = logged[(rank.ceil() as usize).max(1) - 1] as f64;
                let shown = shown.as_f64().expect("a number");
                assert!(
                    (shown - value).abs() <= value / 128.0,
                    "{line}: {latency} {percent}: {shown} for {value}"
                );
            }
        }
    }
}

/// Zones and lists of blocks are walked as fio walks them.
#[test]
fn zones_and_sequences_are_walked_as_in_fio() {
    if !has_fio() {
        return;
    }
    let cases = [
        "--rw=read --filesize=1m --size=256k --zonemode=strided --zonesize=32k --zoneskip=96k",
        "--rw=write --size=512k --io_size=512k --zonemode=strided --zonesize=16k --zonerange=64k",
        "--rw=read --filesize=1m --size=512k --zonemode=strided --zonesize=64k --zonerange=32k --zoneskip=32k",
    ];
    for case in cases {
        let line = format!("--name=j --ioengine=psync --bs=4k --write_iops_log=l --log_offset=1 {case}");
        let [ours, theirs] = both(&line).map(|(place, status)| {
            assert_eq!(status, Some(0), "{line}");
            let offset = |line: &str| line.split(", ").nth(4).and_then(|offset| offset.parse::<u64>().ok());
            place.read("l_iops.1.log").lines().filter_map(offset).collect::<Vec<_>>()
        });
        assert_eq!(ours, theirs, "{line}");
        assert!(ours.len() >= 64, "{line}");
    }
    let place = Place::new();
    let line = "fio --name=j --ioengine=null --bs=4k --size=48k --io_size=24k --rw=randread --write_iops_log=l \
                --log_offset=1 --random_distribution=sequence:2,0,1 --random_sequence_stride=1";
    assert_eq!(place.assay(&line.split_whitespace().collect::<Vec<_>>()).code, Some(0));
    let offset = |line: &str| line.split(", ").nth(4).and_then(|offset| offset.parse::<u64>().ok());
    let blocks: Vec<u64> =
        place.read("l_iops.1.log").lines().filter_map(offset).map(|offset| offset / 4096).collect();
    assert_eq!(blocks, [2, 0, 1, 5, 3, 4]);
}

#[test]
fn logs_of_single_ios_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    let logs = "--write_bw_log=l --write_iops_log=l --write_lat_log=l";
    let cases = [
        "--rw=write --ioengine=psync --log_offset=1",
        "--rw=read --ioengine=psync",
        "--rw=randread --ioengine=libaio --iodepth=4 --direct=1 --log_offset=1 --log_prio=1",
        "--rw=randwrite --ioengine=io_uring --iodepth=8 --log_offset=1 --fsync=4",
        "--rw=randread --ioengine=psync --numjobs=3 --group_reporting --log_offset=1",
        "--rw=write --ioengine=psync --numjobs=2 --per_job_logs=0",
        "--rw=read:4k --ioengine=psync --log_offset=1 --log_unix_epoch=1",
    ];
    for case in cases {
        let line = format!("--name=j --size=512k --bs=4k {logs} {case}");
        let [(assay, ours), (fio, theirs)] = both(&line);
        assert_eq!((ours, theirs), (Some(0), Some(0)), "{line}");
        let found = names(assay.path(), ".log");
        assert_eq!(found, names(fio.path(), ".log"), "{line}");
        assert!(found.len() >= 5, "{line}: {found:?}");
        for name in found {
            let [ours, theirs] = [&assay, &fio].map(|place| lines(&place.read(&name)));
            if case.contains("per_job_logs=0") {
                // All jobs write to one file in fio, and whose lines are in it when they end is chance.
                assert!(ours.is_empty() == theirs.is_empty(), "{line}, {name}");
            } else {
                assert_eq!(ours, theirs, "{line}, {name}");
            }
        }
    }
}

/// What is written down is what real fio does again.
#[test]
fn fio_replays_a_log_of_ios() {
    if !has_fio() {
        return;
    }
    let line =
        "--name=j --filename=a.dat --size=256k --bs=4k --rw=randrw --ioengine=psync --write_iolog=a.iolog";
    let [(assay, ours), (fio, _)] = both(line);
    assert_eq!(ours, Some(0));
    let done = jobs(&assay)[0].clone();
    for place in [&assay, &fio] {
        let mut replay = Command::new("fio");
        replay.args(["--name=r", "--read_iolog=a.iolog", "--output-format=json", "--output=out.json"]);
        assert!(replay.current_dir(place.path()).status_in_time().expect("fio starts").success());
    }
    let again = jobs(&assay)[0].clone();
    for kind in ["read", "write"] {
        assert_eq!(again[kind]["total_ios"], done[kind]["total_ios"], "{kind}");
    }
    let ios =
        |jobs: Vec<Value>| jobs[0]["read"]["total_ios"].as_u64().zip(jobs[0]["write"]["total_ios"].as_u64());
    let sum = |both: Option<(u64, u64)>| both.map(|(reads, writes)| reads + writes);
    assert_eq!(sum(ios(jobs(&assay))), sum(ios(jobs(&fio))));
}

/// Which files are left, and how long they are.
#[test]
fn files_are_left_as_fio_leaves_them() {
    if !has_fio() {
        return;
    }
    let cases = [
        "--rw=write --filesize=1m --offset=25% --size=50%",
        "--rw=write --unlink=1",
        "--rw=read --unlink=1 --numjobs=2",
        "--rw=write --create_on_open=1 --fallocate=none --io_size=16k",
        "--rw=write --create_on_open=1",
        "--rw=write --nrfiles=4 --openfiles=1",
        "--rw=write --nrfiles=4 --openfiles=4 --unlink=1",
        "--rw=read --allow_file_create=0 --filename=missing",
        "--rw=write --unlink_each_loop=1",
        "--rw=write --name=k --size=64k --bs=4k --ioengine=psync --rw=write --stats=0",
    ];
    for case in cases {
        let [(assay, ours), (fio, theirs)] =
            both(&format!("--name=j --size=64k --bs=4k --ioengine=psync {case}"));
        assert_eq!(ours == Some(0), theirs == Some(0), "{case}");
        let sizes = |place: &Place| -> Vec<(String, u64)> {
            let all = names(place.path(), "").into_iter().filter(|name| name != "out.json" && name != "runs");
            let size = |name: &String| std::fs::metadata(place.path().join(name)).expect("a file").len();
            all.filter(|name| place.path().join(name).is_file())
                .map(|name| (name.clone(), size(&name)))
                .collect()
        };
        assert_eq!(sizes(&assay), sizes(&fio), "{case}");
        if theirs == Some(0) {
            // fio prints an entry without a name for a job without statistics.
            let named = |place: &Place| jobs(place).iter().filter(|job| job["jobname"].is_string()).count();
            assert_eq!(named(&assay), named(&fio), "{case}");
        }
    }
}

/// With one file open at a time it is done before the next one is.
#[test]
fn files_follow_each_other_where_one_is_open() {
    if !has_fio() {
        return;
    }
    for rw in ["write", "randread"] {
        let line = format!(
            "--name=j --nrfiles=4 --openfiles=1 --size=64k --bs=4k --ioengine=psync --rw={rw} --write_iolog=l"
        );
        let orders = both(&line).map(|(place, _)| {
            let text = place.read("l");
            let io = |line: &str| {
                line.split(' ')
                    .nth(1)
                    .filter(|_| line.contains(" read ") || line.contains(" write "))
                    .map(str::to_owned)
            };
            text.lines().filter_map(io).collect::<Vec<String>>()
        });
        assert_eq!(orders[0].len(), 16, "{line}");
        assert_eq!(orders[0], orders[1], "{line}");
    }
}

/// What verify= reads back is among the reads of a job.
#[test]
fn what_is_read_back_is_counted_as_fio_counts_it() {
    if !has_fio() {
        return;
    }
    let base = "--name=j --size=256k --bs=4k --ioengine=psync --verify=crc32c --do_verify=1";
    for case in ["--rw=write", "--rw=write --verify_backlog=8", "--rw=randwrite", "--rw=write --do_verify=0"]
    {
        let found = both(&format!("{base} {case}")).map(|(place, status)| {
            assert_eq!(status, Some(0), "{case}");
            let job = jobs(&place).remove(0);
            ["read", "write"].map(|kind| job[kind]["io_kbytes"].as_u64().expect("a number"))
        });
        assert_eq!(found[0], found[1], "{case}");
    }
}

/// Each block is trimmed and then written, as fio's own log of I/Os has it.
#[test]
fn blocks_are_trimmed_and_then_written() {
    if !has_fio() {
        return;
    }
    for rw in ["trimwrite", "randtrimwrite", "randtrimwrite --norandommap", "trimwrite --bssplit=4k/50:8k/50"]
    {
        let line = format!("--name=j --ioengine=null --size=256k --bs=4k --rw={rw} --write_iolog=l");
        let [ours, theirs] = both(&line).map(|(place, status)| {
            assert_eq!(status, Some(0), "{line}");
            let text = place.read("l");
            let io = |line: &str| {
                let words: Vec<&str> = line.split(' ').collect();
                (words.len() == 5).then(|| (words[2].to_owned(), words[3].to_owned(), words[4].to_owned()))
            };
            text.lines().filter_map(io).collect::<Vec<(String, String, String)>>()
        });
        for (who, ios) in [("assay", &ours), ("fio", &theirs)] {
            for pair in ios.chunks(2) {
                assert_eq!((pair[0].0.as_str(), pair[1].0.as_str()), ("trim", "write"), "{who}: {line}");
                assert_eq!((&pair[0].1, &pair[0].2), (&pair[1].1, &pair[1].2), "{who}: {line}");
            }
        }
        if !rw.contains("bssplit") {
            assert_eq!(ours.len(), theirs.len(), "{line}");
        }
        if rw == "trimwrite" {
            assert_eq!(ours, theirs, "{line}");
        }
    }
}

/// A delay counts from the start of the run, behind a stonewall too.
#[test]
fn delays_count_from_the_start_of_the_run() {
    if !has_fio() {
        return;
    }
    let job = "--ioengine=null --size=64m --time_based --rate_iops=100";
    let line = format!("--name=a {job} --runtime=2 --name=b --stonewall --startdelay=4 {job} --runtime=1");
    for (place, status) in both(&line) {
        assert_eq!(status, Some(0));
        let starts: Vec<u64> = jobs(&place).iter().filter_map(|job| job["job_start"].as_u64()).collect();
        // Assay alone: fio 3.33 has no start of a job in its report.
        assert!(starts.len() != 2 || starts[1] >= starts[0] + 2000, "{starts:?}");
    }
    let place = Place::new();
    let began = std::time::Instant::now();
    let words = format!("fio --output-format=json --output=out.json {line}");
    let said = place.assay(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(said.code, Some(0), "{}", said.err);
    // 4 s from the start and 1 s of load; counted from the stonewall it would be 2 s more, which a loaded machine may take as well.
    assert!(began.elapsed().as_secs() >= 5, "{:?}", began.elapsed());
}

#[test]
fn compressed_logs_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    let line = "--name=j --ioengine=null --size=512k --bs=64k --rw=write --write_bw_log=l --per_job_logs=0 --log_offset=1 \
                --log_compression=10k --log_store_compressed=1";
    for (place, code) in both(line) {
        assert_eq!(code, Some(0));
        let words = ["--inflate-log=l_bw.log.fz"];
        let assay = place.assay(&[&["fio"][..], &words].concat());
        let mut fio = Command::new("fio");
        let fio = fio.args(words).current_dir(place.path()).output_in_time().expect("fio starts");
        assert_eq!(assay.out, String::from_utf8_lossy(&fio.stdout), "{}", assay.err);
        let offsets =
            assay.out.lines().map(|line| line.split(", ").nth(4).and_then(|word| word.parse().ok()));
        assert_eq!(offsets.collect::<Vec<Option<u64>>>(), (0..8).map(|n| Some(n << 16)).collect::<Vec<_>>());
    }
    let place = Place::new();
    place.file("text.log", "0, 1, 1, 4096, 0\n");
    let said = place.assay(&["fio", "--inflate-log=text.log"]);
    assert!(
        said.code == Some(1) && said.err.contains("text.log") && said.err.contains("at byte 0"),
        "{said:?}"
    );
}
