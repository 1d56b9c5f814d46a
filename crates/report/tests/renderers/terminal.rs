//! What the command line shows.

use assay_report::Style;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::{
    Mark, Section, findings, heading, plan, quick_table, quick_words, run_summary, sections, verdict_line,
    words_table,
};

use assay_results::run::PhaseResult;

use crate::support::{assay_run, hdd, mixed_run, stb_run, typical};

/// The widest line, without codes.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn quick_series_of_the_original() {
    let (run, references) = (stb_run(), [hdd()]);
    for width in [160, 100, 80, 60] {
        let text = quick_table(&run, &references, &Style::plain(width));
        assert!(widest(&text) <= width, "{width}: {}", widest(&text));
        insta::assert_snapshot!(format!("quick_stb_{width}"), text);
    }
}

#[test]
fn quick_series_in_colour_and_without_unicode() {
    let style = Style { colour: true, width: 120, unicode: false };
    let text = quick_table(&stb_run(), &[hdd()], &style);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn quick_series_of_windows() {
    let (run, references) = (assay_run(), typical());
    for width in [160, 80, 40] {
        let text = quick_table(&run, &references, &Style::plain(width));
        assert!(widest(&text) <= width, "{width}: {}", widest(&text));
        insta::assert_snapshot!(format!("quick_assay_{width}"), text);
    }
}

#[test]
fn quick_series_in_words() {
    insta::assert_snapshot!(quick_words(&assay_run(), &typical(), &Style::plain(80)));
}

#[test]
fn findings_that_differ_in_their_bias_stand_together() {
    let mut run = stb_run();
    for (index, finding) in run.findings.iter_mut().enumerate() {
        *finding = assay_results::Finding {
            id: "foreign-io".to_owned(),
            severity: assay_results::FindingSeverity::Warning,
            phase: Some(format!("test {index}")),
            bias: format!("IOPS 0-{index} % low"),
            advice: "measure when the device is idle".to_owned(),
            ..finding.clone()
        };
    }
    run.findings.extend_from_within(..2);
    insta::assert_snapshot!(findings(&run.findings, &Style::plain(100)));
}

#[test]
fn summary_of_a_run() {
    let run = mixed_run();
    for width in [140, 80, 50] {
        let style = Style::plain(width);
        let text = [
            heading(&run, &style),
            run_summary(&run, &style),
            findings(&run.findings, &style),
            verdict_line(&run, &style),
        ]
        .join("\n");
        assert!(widest(&text) <= width, "{width}: {}", widest(&text));
        insta::assert_snapshot!(format!("summary_{width}"), text);
    }
}

#[test]
fn findings_of_several_phases_are_told_once() {
    let run = stb_run();
    let style = Style { colour: true, ..Style::plain(100) };
    insta::assert_snapshot!(findings(&run.findings, &style) + &verdict_line(&run, &style));
}

#[test]
fn plan_before_a_run() {
    let run = mixed_run();
    insta::assert_snapshot!("plan_100", plan(&run.plan, &Style::plain(100)));
    insta::assert_snapshot!("plan_50", plan(&run.plan, &Style::plain(50)));
}

#[test]
fn sections_of_facts() {
    let fact = |name: &str, value: &str, mark: Mark| (name.to_owned(), value.to_owned(), mark);
    let list = [
        Section {
            title: "Engines".to_owned(),
            rows: vec![
                fact(
                    "io_uring",
                    "works: registered files and buffers, polled completion not offered by sda",
                    Mark::Good,
                ),
                fact("libaio", "not permitted in this container (seccomp)", Mark::Bad),
            ],
        },
        Section {
            title: "Limits".to_owned(),
            rows: vec![
                fact("locked memory", "8 MiB: buffers above that are not registered", Mark::Warn),
                fact("clock", "tsc", Mark::Plain),
            ],
        },
    ];
    insta::assert_snapshot!("sections_100", sections(&list, &Style::plain(100)));
    insta::assert_snapshot!("sections_40", sections(&list, &Style::plain(40)));
    let rows =
        vec![vec!["io_uring".to_owned(), "yes".to_owned()], vec!["libaio".to_owned(), "no".to_owned()]];
    insta::assert_snapshot!("words_table", words_table(&["engine", "works"], &rows, &Style::plain(80)));
}

/// Repetitions are one row: the median with its interval and the spread, beside the blocks of each.
#[test]
fn repetitions_end_with_a_row_of_their_median() {
    let mut run = mixed_run();
    let one = run.phases.iter().find(|phase| phase.kind == "measure").expect("a phase").clone();
    run.phases = [1000.0, 1100.0, 900.0]
        .into_iter()
        .enumerate()
        .map(|(repeat, iops)| {
            let mut phase = PhaseResult { repeat: repeat as u32, ..one.clone() };
            phase.jobs.truncate(1);
            let job = &mut phase.jobs[0];
            (job.write, job.trim, job.flush) = (None, None, None);
            let read = job.read.as_mut().expect("reads");
            (read.iops, job.total.iops) = (iops, iops);
            phase
        })
        .collect();
    let style = Style::plain(160);
    let text = run_summary(&run, &style);
    let row = text.lines().find(|line| line.contains("900–1,100")).expect("a row of the median");
    assert!(row.contains("1,000") && row.contains("20 %"), "{row}");
    assert!(text.contains("n = 3: 75 %, from 6 on 95 %"), "{text}");
    for rendered in [markdown(&run, &[]), page(&run, &[])] {
        assert!(rendered.contains("Repetitions") && rendered.contains("900–1,100"), "{rendered}");
    }
    run.phases.truncate(1);
    assert!(!run_summary(&run, &style).contains("Repetitions"));
}
