//! What other programs read as if vdbench had written it.

use assay_vdbench::vdbench_files;

use assay_results::samples::{curve_run, intervals_of, job, mixed_run, op, phase, run};
use assay_workload::operation::{Counted, OpId};

fn mixed() -> Vec<(String, String)> {
    let mut run = mixed_run();
    for (index, phase) in run.phases.iter_mut().enumerate() {
        phase.plan_phase = index as u32;
        for (number, job) in phase.jobs.iter_mut().enumerate() {
            job.evidence.plan_jobs = vec![number as u32];
        }
    }
    run.phases[1].evidence.cpu_busy_share = Some(0.42);
    let mut intervals = intervals_of(&run, 1, 0);
    intervals.extend(intervals_of(&run, 2, 0));
    intervals.extend(intervals_of(&run, 2, 1));
    intervals[0].key.ramp = true;
    vdbench_files(&run, &intervals)
}

fn text<'f>(files: &'f [(String, String)], name: &str) -> &'f str {
    &files.iter().find(|file| file.0 == name).expect("it is written").1
}

#[test]
fn the_files_of_a_run() {
    let files = mixed();
    let names: Vec<&str> = files.iter().map(|file| file.0.as_str()).collect();
    let expected =
        ["flatfile.html", "totals.html", "summary.html", "histogram.html", "status.html", "logfile.html"];
    assert_eq!(names, expected);
    for name in names {
        assert!(
            text(&files, name).starts_with(&format!("<title>Vdbench mixed example/{name}</title><pre>\n"))
        );
        if name != "logfile.html" {
            insta::assert_snapshot!(
                format!("vdbench_{}", name.trim_end_matches(".html")),
                text(&files, name)
            );
        }
    }
}

#[test]
fn words_of_a_stranger_are_no_markup() {
    let mut run = mixed_run();
    run.name = "<x-evil>".to_owned();
    run.assay.version = "<x-evil>".to_owned();
    run.notes.push("<x-evil>".to_owned());
    for (name, text) in vdbench_files(&run, &[]) {
        assert!(!text.contains("<x-evil>"), "{name}: {text}");
    }
}

#[test]
fn a_line_of_the_flat_file_has_34_fields() {
    let files = mixed();
    let lines: Vec<&str> =
        text(&files, "flatfile.html").lines().skip(1).filter(|line| !line.starts_with('*')).collect();
    assert!(lines[0].starts_with(" tod timestamp Run Interval reqrate rate "));
    assert_eq!(lines.len(), 1 + 31 + 31);
    for line in &lines {
        assert_eq!(line.split_whitespace().count(), 34, "{line}");
    }
    let averages: Vec<&&str> = lines.iter().filter(|line| line.contains("  avg_")).collect();
    assert_eq!(averages.len(), 2);
    let fields: Vec<&str> = averages[0].split_whitespace().collect();
    assert_eq!((fields[2], fields[3]), ("mixed", "avg_2-30"));
    assert_eq!((fields[4], fields[5], fields[8]), ("50000", "60000", "70"));
}

/// By position, as the scripts around vdbench do it.
#[test]
fn a_row_of_the_summary_has_its_thirteen_numbers() {
    let files = mixed();
    let average =
        text(&files, "totals.html").lines().find(|line| line.contains("avg_2-30")).expect("an average");
    let fields: Vec<&str> = average.split_whitespace().collect();
    assert_eq!(fields.len(), 2 + 13);
    let numbers: Vec<f64> = fields[2..].iter().map(|field| field.parse().expect("a number")).collect();
    assert_eq!((numbers[0], numbers[1], numbers[2], numbers[3]), (60_000.0, 468.75, 8192.0, 70.0));
    assert!(numbers[5] < numbers[4] && numbers[4] < numbers[6], "read below all below write");
    assert_eq!(numbers[11], 42.0);
    assert!(numbers[12].is_nan(), "what the kernel took is not known");
    let header =
        text(&files, "totals.html").lines().find(|line| line.contains("interval")).expect("a header");
    // The columns end where their numbers do.
    assert_eq!(header.find("MB/sec").map(|at| at + 6), average.find(" 468.75").map(|at| at + 7));
}

#[test]
fn without_periods_there_are_the_averages() {
    let files = vdbench_files(&curve_run(), &[]);
    let lines = text(&files, "flatfile.html").lines().filter(|line| line.contains("avg_"));
    assert_eq!(lines.filter(|line| !line.starts_with('*')).count(), 6);
    assert!(text(&files, "totals.html").contains("For loops: rate=10%"));
}

#[test]
fn what_is_written_can_be_imported() {
    let files = mixed();
    let back =
        assay_vdbench::import(text(&files, "flatfile.html")).expect("of vdbench").expect("it is a flat file");
    assert_eq!(back.phases.len(), 2);
    let job = &back.phases[0].jobs[0];
    assert_eq!((job.total.iops, job.measured_s, job.series.len()), (60_000.0, 29.0, 29));
    assert_eq!(job.read.as_ref().map(|op| op.iops.round()), Some(42_000.0));
    assert_eq!(job.evidence.offered_iops, Some(50_000.0));
    assert_eq!(job.pattern, "70 % read 8k, 30 % write 8k, uniform random");
}

/// The rate and the CPU columns of the average of phase `rd` in the summary.
fn average_of<'f>(files: &'f [(String, String)], label: &str) -> Vec<&'f str> {
    let line = text(files, "totals.html").lines().find(|line| line.contains(label));
    line.unwrap_or_else(|| panic!("{label}: {}", text(files, "totals.html"))).split_whitespace().collect()
}

#[test]
fn operations_on_files_and_directories_count_in_the_rate() {
    let mut run = mixed_run();
    run.phases.truncate(2);
    run.phases[1].plan_phase = 1;
    let job = &mut run.phases[1].jobs[0];
    job.evidence.plan_jobs = vec![0];
    (job.read, job.write, job.trim) = (None, None, None);
    job.total.iops = 640.0;
    job.total.bytes_per_s = 0.0;
    (job.total.completion_ns.n, job.total.completion_ns.mean) = (6400, 2e6);
    let mut interval = intervals_of(&run, 1, 0).remove(0);
    let mut counts = assay_results::OpCounts { ios: 1500, ..Default::default() };
    (0..1500).for_each(|_| counts.completion.record(3_000_000));
    interval.counts = Default::default();
    *interval.counts.named_mut(OpId::new(0), Counted::InTotal) = counts.clone();
    // What is done beside others is not asked for.
    *interval.counts.named_mut(OpId::new(1), Counted::Beside) = counts;
    interval.key.length_ns = 1_000_000_000;
    let files = vdbench_files(&run, &[interval]);
    let row =
        text(&files, "summary.html").lines().find(|line| line.contains(" 1 ") && line.contains("1500.0"));
    assert!(row.is_some_and(|row| row.contains("3.0")), "{}", text(&files, "summary.html"));
    let average = average_of(&files, "avg_1-1");
    assert_eq!((average[2], average[6]), ("640.0", "2.000"), "{average:?}");
}

#[test]
fn a_phase_too_short_for_counters_has_the_processors_of_its_own_threads() {
    let mut run = mixed_run();
    run.phases.truncate(2);
    run.environment.machine.cpu.online = Some(4);
    let phase = &mut run.phases[1];
    (phase.evidence.cpu_busy_share, phase.measured_s) = (None, 0.5);
    phase.evidence.seconds.clear();
    phase.jobs.truncate(1);
    (phase.jobs[0].evidence.cpu_user_ns, phase.jobs[0].evidence.cpu_system_ns) = (200_000_000, 600_000_000);
    let files = vdbench_files(&run, &[]);
    let average = average_of(&files, "avg_1-1");
    assert_eq!(average[average.len() - 2..], ["40.0", "30.0"], "{average:?}");
}

/// Two jobs of 1,000 I/Os a second, one behind the other, are 1,000 a second, and not 2,000.
#[test]
fn an_average_is_over_the_time_of_all_jobs() {
    let one = |start_s: u64| {
        let mut job = job("load", "", "read", op(1000.0, 4096, 1_000_000, 1.0), 1, 1);
        job.evidence.measured_start_ns = start_s * 1_000_000_000;
        job.evidence.measured_ns = 1_000_000_000;
        job
    };
    let run = run("late", "", vec![phase("p", vec![one(0), one(1)])]);
    let files = vdbench_files(&run, &[]);
    let line = text(&files, "flatfile.html")
        .lines()
        .find(|line| line.contains(" avg_") && !line.starts_with('*'))
        .expect("an average");
    assert!(line.split_whitespace().any(|word| word == "1000"), "{line}");
    assert!(!line.contains(" 2000 "), "{line}");
}
