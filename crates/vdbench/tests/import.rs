//! The flat file of vdbench as runs.

use std::path::Path;

use assay_results::run::Run;
use assay_results::{RunEnd, Verdict};
use assay_vdbench::ImportError;
use proptest::prelude::*;

fn sample() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vdbench-flatfile.html");
    std::fs::read_to_string(path).expect("the sample is in the repository")
}

/// What is read of a text that is known to be a flat file.
fn import(text: &str) -> Result<Run, ImportError> {
    assay_vdbench::import(text).expect("a flat file")
}

fn read(text: &str) -> Run {
    import(text).expect("a flat file")
}

#[test]
fn loops_of_a_run_are_points() {
    let run = read(&sample());
    let names: Vec<(&str, &str)> =
        run.phases.iter().map(|phase| (phase.name.as_str(), phase.point.as_str())).collect();
    assert_eq!(names, [("rd1", "threads=1"), ("rd1", "threads=8"), ("paced", "")]);
    assert_eq!(run.started, "2026-11-21T18:42:07Z");
    assert!(run.remarks.iter().any(|remark| remark.id == "zone-unknown" && remark.text.contains("CET")));
}

#[test]
fn averages_are_those_of_vdbench() {
    let run = read(&sample());
    let job = &run.phases[1].jobs[0];
    let (read, write) = (job.read.as_ref().expect("reads"), job.write.as_ref().expect("writes"));
    assert!((job.total.iops - 24_840.0).abs() < 1e-6);
    assert!((read.iops / job.total.iops - 0.7).abs() < 1e-9);
    assert_eq!((read.block_size, write.block_size, job.measured_s), (4096, 4096, 4.0));
    // Milliseconds with four digits: 8 outstanding at 24840 a second.
    assert_eq!(read.completion_ns.mean, 0.2899 * 1e6);
    assert_eq!(write.completion_ns.max, 6_441_200);
    assert_eq!((job.outstanding_io, job.outstanding_io_mean), (8, 7.76));
    assert_eq!(job.pattern, "70 % read 4k, 30 % write 4k, uniform random");
    assert_eq!(job.series.len(), 4);
    assert_eq!((job.series[0].start_s, job.series[0].iops), (0.0, 24_480.0));
    let busy = run.phases[1].evidence.cpu_busy_share.expect("it has the column");
    assert!((busy - 0.399).abs() < 1e-9, "{busy}");
    assert_eq!(read.completion_ns.p50, None);
}

#[test]
fn a_run_without_an_average_was_stopped() {
    let run = read(&sample());
    assert_eq!((run.end, run.verdict), (Some(RunEnd::Interrupted), Verdict::Incomplete));
    let job = &run.phases[2].jobs[0];
    assert!((job.total.iops - 502.5).abs() < 0.6, "{}", job.total.iops);
    assert_eq!((job.evidence.offered_iops, job.series.len()), (Some(500.0), 2));
    let whole: String =
        sample().lines().filter(|line| !line.contains("paced")).map(|line| format!("{line}\n")).collect();
    assert_eq!(read(&whole).end, Some(RunEnd::Completed));
}

#[test]
fn whose_response_times_they_are_is_said() {
    let run = read(&sample());
    assert_eq!(run.assay.engine, "vdbench");
    assert!(
        run.assay.latency_definition.as_ref().is_some_and(|own| own.starts_with("vdbench's response time"))
    );
    assert!(run.notes.iter().any(|note| note.contains("no percentiles")));
}

#[test]
fn columns_are_found_by_their_names() {
    let text = "Interval resp rate Run\n1 0.5 100 a\n2 0.5 200 a\navg_2-2 0.5 200 a\n";
    let run = read(text);
    assert_eq!((run.phases.len(), run.phases[0].jobs[0].total.iops), (1, 200.0));
    let files = "tod timestamp Run Interval Xfersize Threads Reqrate Rate Resp MB/sec MB_read MB_write Read_rate Read_resp Read_resp_max Write_rate Write_resp Open_rate\n\
                 18:42:08.000 11/21/2026-18:42:08-UTC fs avg_2-3 8192 4 9999988 30 1.5 2 1.5 0.5 20 1.2 9 10 2.1 7.5\n";
    let run = read(files);
    let job = &run.phases[0].jobs[0];
    let (read, write) = (job.read.as_ref().expect("reads"), job.write.as_ref().expect("writes"));
    assert_eq!((read.iops, write.iops), (20.0, 10.0));
    assert_eq!((read.bytes_per_s, read.completion_ns.max), (1.5 * 1048576.0, 9_000_000));
    assert_eq!(run.phases[0].metrics["open"].value, 7.5);
}

/// Columns that cannot all be true are named with their values, and are not valid.
#[test]
fn columns_that_contradict_each_other_are_not_valid() {
    let of = |row: &str| {
        let text =
            format!("Run Interval xfersize rate resp resp_max MB/sec read%\na 1 {row}\na avg_1-1 {row}\n");
        let found = read(&text).findings;
        let found = found.into_iter().filter(|finding| finding.id == "contradictory-figures");
        found.map(|finding| finding.message).next_back().unwrap_or_default()
    };
    assert_eq!(of("4096 1000 0.5 2.5 3.91 100"), "");
    assert_eq!(
        of("4096 1000 0.5 2.5 391 100"),
        "a, interval avg_1-1: mb/sec is 391, but rate x xfersize is 3.906"
    );
    assert_eq!(of("4096 1000 9.5 2.5 3.91 100"), "a, interval avg_1-1: resp is 9.5, but resp_max is 2.5");
    assert_eq!(of("4096 1000 -1 2.5 3.91 100"), "a, interval avg_1-1: resp is -1, and cannot be negative");
    assert_eq!(
        of("4096 1000 0.5 2.5 3.91 700"),
        "a, interval avg_1-1: read% is 700, but the most there can be is 100"
    );
}

#[test]
fn what_is_not_a_flat_file_is_refused() {
    assert_eq!(assay_vdbench::import("a b c\n1 2 3\n"), None);
    assert!(matches!(import("Run Interval rate resp\n"), Err(ImportError::Empty(_))));
    assert!(matches!(import("Run Interval rate resp\na n/a n/a n/a\n"), Err(ImportError::Empty(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_line_is_read_or_refused(lines in prop::collection::vec("[-0-9a-z_./:% ]{0,60}", 0..8)) {
        let _ = assay_vdbench::import(&format!("Run Interval rate resp threads tod timestamp read%\n{}", lines.join("\n")));
    }

    #[test]
    fn any_value_is_survived(
        values in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec!["0", "-1", "1e300", "NaN", "inf", "n/a", "18446744073709551615", "avg_1-4294967295", "avg_9-2", "é", "99:99:99"])), 1..10),
    ) {
        let text = sample();
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        for (at, value) in values {
            let at = at.index(words.len());
            if at > 60 {
                words[at] = value.to_owned();
            }
        }
        if let Some(Ok(run)) = assay_vdbench::import(&words.join(" ")) {
            let text = serde_json::to_string(&run).expect("it can be written");
            prop_assert!(serde_json::from_str::<Run>(&text).is_ok());
            for job in run.phases.iter().flat_map(|phase| &phase.jobs) {
                prop_assert!(job.total.iops.is_finite() && job.total.completion_ns.stddev.is_finite());
            }
        }
    }
}
