//! A run of several hosts: a row for each, in every form, and nothing of it for one host.

use assay_report::Style;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::run_summary;
use assay_results::Run;
use assay_results::evidence::{WorkerLatency, WorkerReport};
use assay_results::hosts::{CommonWindow, HostPhase};
use assay_workload::PhaseKind;

use crate::support::mixed_run;

/// Two hosts; the second began later and was lost.
fn two_hosts() -> Run {
    let mut run = mixed_run();
    let phase =
        run.phases.iter_mut().find(|phase| phase.kind == PhaseKind::Measure).expect("a measured phase");
    let worker = |name: &str, start_skew_ns: i64, lost_because: &str| WorkerReport {
        name: name.to_owned(),
        ios: 10_000,
        bytes: 10_000 * 8192,
        start_skew_ns,
        start_error_ns: if start_skew_ns == 0 { 0 } else { 2_000_000 },
        measured_ns: 10_000_000_000,
        completion_ns: Some(WorkerLatency { p50: Some(100_000), p99: Some(900_000), max: 7_000_000 }),
        lost_because: Some(lost_because.to_owned()).filter(|why| !why.is_empty()),
        over_time: None,
    };
    let host = |name: &str, share| HostPhase {
        name: name.to_owned(),
        cached_read_share: Some(share),
        ..HostPhase::default()
    };
    phase.hosts = vec![host("left", 0.0), host("right", 0.5)];
    phase.jobs[0].evidence.workers =
        vec![worker("left", 0, ""), worker("right", 300_000_000, "connection closed")];
    phase.jobs[0].evidence.common =
        Some(CommonWindow { length_ns: 9_700_000_000, trimmed_ios: 300, ..CommonWindow::default() });
    run
}

#[test]
fn a_row_a_host_in_every_form() {
    let run = two_hosts();
    let terminal = run_summary(&run, &Style::plain(100));
    insta::assert_snapshot!(
        terminal
            .lines()
            .skip_while(|line| !line.trim_start().starts_with("host"))
            .take(5)
            .collect::<Vec<_>>()
            .join("\n")
    );
    assert!(terminal.lines().all(|line| line.chars().count() <= 100));
    assert!(run_summary(&run, &Style { unicode: false, ..Style::plain(60) }).is_ascii());
    let md = markdown(&run, &[]);
    insta::assert_snapshot!(
        md.lines().skip_while(|line| *line != "### Hosts").take(6).collect::<Vec<_>>().join("\n")
    );
    let html = page(&run, &[]);
    assert!(
        html.contains("lost after 10 s: connection closed")
            && html.contains("300 operations outside it are left out")
    );
}

#[test]
fn nothing_of_it_for_one_host() {
    assert!(!markdown(&mixed_run(), &[]).contains("### Hosts"));
    assert!(!run_summary(&mixed_run(), &Style::plain(100)).contains("host "));
}
