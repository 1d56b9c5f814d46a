//! What the command line shows.

use assay_report::Style;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::{
    Mark, Section, answer, causes, findings, heading, plan, quick_table, quick_words, run_summary,
    runs_table, sections, verdict_line, words_table,
};
use assay_workload::{PhaseKind, SweepPoint};

use assay_results::run::{PhaseResult, Verdict};

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
            bias: Some(format!("IOPS 0-{index} % low")),
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
    let one = run.phases.iter().find(|phase| phase.kind == PhaseKind::Measure).expect("a phase").clone();
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

/// The answer stands in three lines, at every width, and the causes of the verdict in one each.
#[test]
fn the_answer_and_the_causes() {
    let mut answers = String::new();
    for run in [assay_run(), stb_run(), mixed_run()] {
        for width in [140, 100, 80] {
            let style = Style::plain(width);
            let text = answer(&run, &style) + "\n" + &causes(&run, "'assay check 7f3a'", &style);
            assert!(widest(&text) <= width, "{width}: {text}");
            answers += &format!("== {} at {width}\n{text}\n", run.plan.series.as_deref().unwrap_or_default());
        }
    }
    insta::assert_snapshot!(answers);
}

/// The best figures stand in the rows below in the same digits.
#[test]
fn the_best_figures_are_those_of_their_rows() {
    let even = {
        let mut run = assay_run();
        // Of an even number of windows the median is none of them.
        run.phases
            .iter_mut()
            .for_each(|phase| phase.jobs[0].total.bytes_per_s *= 1.0 + f64::from(phase.repeat) / 7.0);
        run.phases.retain(|phase| phase.repeat < 4);
        run.rows = assay_results::checks::rows(&run);
        run
    };
    for run in [assay_run(), stb_run(), mixed_run(), even] {
        let style = Style::plain(400);
        let best = answer(&run, &style);
        let best = best.lines().find(|line| line.starts_with("Best: ")).expect("the best");
        let table = if run.plan.series.is_none() {
            run_summary(&run, &style)
        } else {
            quick_table(&run, &[], &style)
        };
        for unit in [" IOPS", " MiB/s"] {
            let Some((before, _)) = best.split_once(unit) else { continue };
            let figure = before.rsplit([' ', '(']).next().expect("a figure");
            assert!(table.split_whitespace().any(|word| word == figure), "{figure}{unit}: {best}\n{table}");
        }
    }
}

/// Stored runs take a line each at any width; the middle of long names is left out, unless all of it is asked for.
#[test]
fn stored_runs_take_a_line_each() {
    let name = "assay-1vmdk-100ws-4k-100rdpct-100randompct-8threads";
    let of = |name: &str, tags: &str| {
        ["5d69532b", "2026-11-23T04:12:41Z", name, "9 s", "invalid", tags].map(str::to_owned)
    };
    let rows = [of(name, ""), of("short", "")];
    for width in [40, 60, 80, 100, 140] {
        let text = runs_table(&rows, &[], false, &Style::plain(width));
        assert!(text.lines().count() == 3 && widest(&text) <= width, "{width}: {text}");
        assert!(text.contains("…8threads") || text.contains("threads") || width < 80, "{width}: {text}");
    }
    let text = runs_table(&[of("short", "new disk, before")], &[], false, &Style::plain(100));
    assert!(text.contains("tags") && text.contains("new disk, before"), "{text}");
    let text = runs_table(&rows, &["5d69532b: unreadable".to_owned()], true, &Style::plain(60));
    assert!(
        text.contains(name) && text.ends_with("5d69532b: unreadable\n") && text.lines().count() == 4,
        "{text}"
    );
}

/// A row says which of its windows its median does not rest on.
#[test]
fn a_disturbed_window_is_named_in_its_row() {
    let mut run = assay_run();
    run.rows[1].disturbed = vec![2];
    run.rows[2].verdict = Verdict::Suspect;
    run.rows[2].because = Some("the hypervisor gave 11 % of the processors' time to others".to_owned());
    run.verdict = Verdict::Suspect;
    let text = quick_table(&run, &[], &Style::plain(100));
    assert!(text.contains("1 of 5 disturbed") && text.contains("✓ valid, ! suspect, ✗ invalid"), "{text}");
    let said = answer(&run, &Style::plain(200));
    let name = &run.rows[2].name;
    let words =
        format!("Verdict: suspect: 3 of 4 figures are valid; '{name}' suspect: the hypervisor gave 11 %");
    assert!(said.replace("\n  ", " ").contains(&words), "{said}");
}

/// A point of a curve has the mark of its verdict and the reason, at every width.
#[test]
fn a_doubtful_point_of_a_curve_is_marked() {
    let mut run = mixed_run();
    let one = run.phases.iter().find(|phase| phase.kind == PhaseKind::Measure).expect("a phase").clone();
    let point = |percent: u32| {
        let mut phase = PhaseResult { point: SweepPoint::new(format!("curve={percent}%")), ..one.clone() };
        phase.jobs.truncate(1);
        phase.jobs[0].total.iops = f64::from(percent) * 100.0;
        phase
    };
    run.phases = [10, 50, 90].map(point).to_vec();
    run.rows = assay_results::checks::rows(&run);
    run.rows[1].verdict = Verdict::Suspect;
    run.rows[1].causes = vec!["foreign-io".to_owned()];
    run.rows[1].because = Some("vda was 26 % busy".to_owned());
    for width in [80, 100, 140] {
        let text = run_summary(&run, &Style::plain(width));
        let table = text.split_once(" against IOPS").expect("a curve").1;
        let of = |point: &str| table.lines().find(|line| line.contains(point)).expect("its row");
        assert!(of("curve=50%").contains('!') && of("curve=50%").contains("foreign-io"), "{table}");
        assert!(of("curve=10%").contains('✓'), "{table}");
    }
    assert!(page(&run, &[]).contains("Not valid: curve=50% suspect: vda was 26 % busy."));
}

/// A wider terminal shows at least the columns of a narrower one.
#[test]
fn a_wider_terminal_never_shows_less() {
    for (run, references) in [(stb_run(), vec![hdd()]), (assay_run(), typical())] {
        let left_out = |width| {
            let text = quick_table(&run, &references, &Style::plain(width)).replace('\n', " ");
            let rest = text.split_once("(not shown at this width: ").map_or("", |(_, rest)| rest);
            rest.split_once(')').map_or(0, |(heads, _)| heads.split(',').count())
        };
        let counts: Vec<usize> = (30..220).map(left_out).collect();
        assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]), "{counts:?}");
        assert_eq!(counts.last(), Some(&0));
    }
}

/// The sentence of the verdict and the line of its cause name the same finding: the worst.
#[test]
fn the_main_reason_is_the_worst_of_its_cause() {
    let mut run = stb_run();
    let steal = |phase: usize, share: u32| assay_results::Finding {
        effect: assay_results::run::Effect::low(f64::from(share) / f64::from(100 - share)),
        job: Some(run.phases[phase].jobs[0].name.clone()),
        ..assay_results::samples::finding(
            "throttled",
            assay_results::FindingSeverity::Warning,
            Some(&run.phases[phase].name),
            &format!("vCPU steal was {share} %"),
        )
    };
    run.findings = vec![steal(0, 10), steal(2, 40), steal(1, 20)];
    run.rows = assay_results::checks::rows(&run);
    run.verdict = Verdict::Suspect;
    let (style, name) = (Style::plain(400), run.phases[2].name.clone());
    let line = verdict_line(&run, &style);
    assert!(line.contains(&format!("'{name}'")) && line.contains("vCPU steal was 40 %"), "{line}");
    let causes = causes(&run, "", &style);
    assert!(causes.contains("worst of 3: vCPU steal was 40 %"), "{causes}");
}
