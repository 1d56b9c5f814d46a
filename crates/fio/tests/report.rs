//! fio's reports: what real fio prints is what its JSON becomes by our reader and writers, line by line.

#[path = "../../../xtask/support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_fio::{FioReport, TerseVersion};

/// A directory of a test's own, which goes with the value.
struct Place(PathBuf);

impl Place {
    fn new(number: usize) -> Self {
        let name = format!("assay-fio-report-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a new directory");
        Place(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Jobs, each a command line in a directory of its own.
const JOBS: [&[&str]; 9] = [
    &["--name=r", "--rw=randread", "--bs=4k", "--size=4m", "--ioengine=psync"],
    &["--name=w", "--rw=write", "--bs=128k", "--size=16m", "--fsync=8", "--description=journal writes"],
    &[
        "--name=mix",
        "--rw=randrw",
        "--rwmixread=70",
        "--bs=4k,16k",
        "--size=2m",
        "--ioengine=libaio",
        "--iodepth=16",
        "--numjobs=2",
        "--group_reporting",
        "--lat_percentiles=1",
        "--slat_percentiles=1",
        "--percentile_list=1:50:90:99:99.9",
    ],
    &["--name=one", "--rw=rw", "--size=1m", "--unified_rw_reporting=mixed", "--continue_on_error=all"],
    &["--name=both", "--rw=rw", "--size=1m", "--unified_rw_reporting=both"],
    &[
        "--ioengine=null",
        "--size=64m",
        "--name=a",
        "--rw=trim",
        "--name=b",
        "--stonewall",
        "--rw=randwrite",
        "--bs=512-8k",
        "--clat_percentiles=0",
        "--name=c",
        "--rw=trimwrite",
    ],
    &[
        "--ioengine=null",
        "--size=1g",
        "--rw=read",
        "--bs=1m",
        "--name=k",
        "--name=k",
        "--bs=64k",
        "--numjobs=3",
    ],
    &[
        "--name=s",
        "--rw=randread",
        "--size=4m",
        "--runtime=2500ms",
        "--time_based",
        "--rate_iops=500",
        "--steadystate=iops:50%",
        "--steadystate_duration=1",
        "--log_avg_msec=100",
    ],
    &[
        "--name=slow",
        "--rw=randread",
        "--size=1m",
        "--number_ios=20",
        "--thinktime=20ms",
        "--latency_target=9ms",
    ],
];

/// Parts of what fio printed: the head, the terse lines, the document, and the report for people.
struct Printed {
    head: String,
    terse: String,
    json: String,
    normal: String,
}

fn fio(place: &Place, words: &[&str], terse: &str) -> Printed {
    let mut command = Command::new("fio");
    command.args(["--output-format=normal,terse,json+", &format!("--terse-version={terse}")]);
    let output = command.args(words).current_dir(place.path()).output().expect("fio starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let at = |what: &dyn Fn(&str) -> bool| lines.iter().position(|line| what(line)).expect("a part");
    let (open, close) = (at(&|line| line == "{"), at(&|line| line == "}"));
    let terse_line = |line: &str| line.starts_with(&format!("{terse};"));
    let first = at(&terse_line);
    let part = |from: usize, to: usize| lines[from..to].join("\n");
    Printed {
        head: part(0, first),
        terse: part(first, open),
        json: part(open, close + 1),
        normal: part(close + 1, lines.len()),
    }
}

/// What is not in fio's JSON is left out: processes and times of the clock.
fn comparable(text: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once(": pid=") {
        Some((before, _)) => before.to_owned(),
        // fio 3.33 says so of all writes, later ones of zoned devices only.
        None => line.trim_end().trim_end_matches("; 0 zone resets").to_owned(),
    };
    let kept = |line: &String| !line.is_empty() && !line.contains("Laying out") && !line.starts_with("note:");
    text.lines().map(line).filter(kept).collect()
}

#[test]
fn normal_and_terse_reports_are_those_of_fio() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip::declare("fio", "no fio on the path");
    }
    let mut differences = Vec::new();
    for (index, words) in JOBS.iter().enumerate() {
        for (number, version) in [
            ("2", TerseVersion::V2),
            ("3", TerseVersion::V3),
            ("4", TerseVersion::V4),
            ("5", TerseVersion::V5),
        ] {
            let place = Place::new(index);
            let theirs = fio(&place, words, number);
            let report = FioReport::read(&theirs.json).expect("fio writes JSON");
            for (part, theirs, ours) in [
                ("head", &theirs.head, report.head()),
                ("terse", &theirs.terse, report.terse(version)),
                ("normal", &theirs.normal, report.normal()),
            ] {
                let (theirs, ours) = (comparable(theirs), comparable(&ours));
                if theirs.len() != ours.len() {
                    differences.push(format!("{words:?} {part} {number}:\n{theirs:#?}\n{ours:#?}"));
                }
                for (theirs, ours) in theirs.iter().zip(&ours) {
                    let words_apart = differing(theirs, ours);
                    // fio 3.33 lacks the base of the numbers in this line.
                    if !words_apart.is_empty() && !theirs.contains("mixed: IOPS=0, BW=0 (0)") {
                        differences.push(format!("{words:?} {part} {number}: {words_apart:?}"));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// The words in which two lines differ. JSON holds six digits, which can round the last one that is printed the other way.
fn differing(theirs: &str, ours: &str) -> Vec<(String, String)> {
    let words =
        |line: &str| line.split([';', ' ', ',', '=', '%', '(', ')']).map(str::to_owned).collect::<Vec<_>>();
    let theirs_are_terse = theirs.matches(';').count() > 100;
    let (theirs, ours) = (words(theirs), words(ours));
    let close = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(left), Ok(right)) if a.contains('.') && b.contains('.') => {
            let places = a.split('.').nth(1).map_or(0, str::len);
            // The terse report adds up columns of nanoseconds, which JSON rounds up to 0.01 each.
            let steps = if theirs_are_terse && places == 2 { 5.01 } else { 1.01 };
            (left - right).abs() < steps * 10_f64.powi(-(places as i32))
        }
        _ => a == b,
    };
    if theirs.len() != ours.len() {
        return vec![(format!("{} words", theirs.len()), format!("{} words", ours.len()))];
    }
    theirs.into_iter().zip(ours).filter(|(a, b)| !close(a, b)).collect()
}
