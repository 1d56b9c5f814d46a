//! Runs that no machine would make: no renderer may panic, and none may exceed what it was given where it need not.

use assay_report::Style;
use assay_report::csv::csv;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::{
    Progress, findings, heading, plan, progress_line, quick_table, quick_words, run_summary, verdict_line,
};
use assay_results::Run;
use assay_results::run::{FindingSeverity, Verdict};
use assay_results::samples::odd::{float, number, phase, word};
use assay_results::samples::{self, op};
use proptest::prelude::*;

use crate::support::{finding, hdd, mixed_run, run, typical};

/// Every renderer, on one run.
fn render_all(run: &Run, style: &Style) {
    let mut references = typical();
    references.push(hdd());
    quick_table(run, &references, style);
    quick_words(run, &references, style);
    heading(run, style);
    run_summary(run, style);
    findings(&run.findings, style);
    verdict_line(run, style);
    plan(&run.plan, style);
    csv(run);
    markdown(run, &references);
    let page = page(run, &references);
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_a_renderer_panic(
        phases in proptest::collection::vec(phase(), 0..5),
        words in word(),
        series in prop_oneof![Just(""), Just("stb-2.1"), Just("assay-1")],
        columns in 0..200_usize,
        colour in any::<bool>(),
        unicode in any::<bool>(),
    ) {
        let mut run = run(&words, series, phases);
        run.findings.push(finding(&words, FindingSeverity::Warning, Some(&words), &words));
        render_all(&run, &Style { colour, width: columns, unicode });
    }

    #[test]
    fn the_live_line_stays_on_its_line(
        phase in word(),
        done in proptest::option::of(float()),
        iops in proptest::option::of(float()),
        p99_ns in proptest::option::of(number()),
        columns in 80..200_usize,
    ) {
        let progress = Progress { phase, number: (1, 2), done, iops, p99_ns, left_s: done, hung: None };
        let line = progress_line(&progress, &Style::plain(columns));
        prop_assert!(!line.contains('\n'));
        prop_assert!(unicode_width::UnicodeWidthStr::width(line.as_str()) <= columns, "{}", line);
    }
}

#[test]
fn a_run_without_anything() {
    let mut run = run("", "", Vec::new());
    run.environment = assay_results::environment::Environment::default();
    run.plan.phases.clear();
    run.plan.targets.clear();
    run.verdict = Verdict::Incomplete;
    render_all(&run, &Style::plain(80));
    assert!(run_summary(&run, &Style::plain(80)).contains("no phase was run"));
    assert!(quick_table(&run, &[], &Style::plain(80)).contains("no test was measured"));
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut run = mixed_run();
    run.phases[1].name = "\u{1b}[2Jgone".to_owned();
    run.phases[1].jobs[0].pattern = "bell\u{7}".to_owned();
    let text = run_summary(&run, &Style::plain(80)) + &quick_table(&run, &[], &Style::plain(80));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn of_very_many_jobs_a_terminal_shows_the_first_and_the_doubtful() {
    let seconds = 30.0;
    let job = |index: usize| {
        samples::job(&format!("job{index}"), "random", "psync", op(1000.0, 4096, 1_000_000, seconds), 1, 30)
    };
    let mut run = run("many", "", vec![samples::phase("load", (0..200).map(job).collect())]);
    run.rows[150].verdict = Verdict::Invalid;
    let text = run_summary(&run, &Style::plain(80));
    assert!(text.lines().count() < 100, "{text}");
    assert!(text.contains("job0:") && text.contains("job150:") && !text.contains("job151:"), "{text}");
    assert!(text.contains("191 jobs more; the page and 'assay report 7f3a --csv -' have each"), "{text}");
}
