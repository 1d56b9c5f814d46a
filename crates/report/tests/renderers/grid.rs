//! Runs whose phases form a grid of mixes by block sizes are shown as one table.

use assay_report::Style;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::run_summary;
use assay_results::evidence::Remark;
use assay_results::run::{FindingSeverity, PhaseResult, Run};
use assay_workload::SweepPoint;
use assay_workload::job::PhaseKind;
use assay_workload::plan::{Pace, PlannedPhase};
use assay_workload::steps::{Step, Until, UntilSteady};
use assay_workload::units::Nanos;

use crate::support::{curve_run, finding, job, mixed_run, op, phase, planned_job, run};

const MIXES: [u32; 3] = [100, 65, 0];
const BLOCKS: [u64; 2] = [128 << 10, 4 << 10];
const TITLE: &str = "IOPS by block size and mix";

/// What is measured at a point: unlike in each round, with a mean that can be told.
fn iops(reads: u32, block: u64, round: u32) -> f64 {
    let at_rest = 1_000.0 * f64::from(reads + 1) + (block >> 10) as f64;
    at_rest + 10.0 * (f64::from(round % 5) - 2.0)
}

/// A matrix of `rounds` rounds, of which those from `counted` on are measured and the others led there.
fn matrix(rounds: u32, counted: u32) -> Run {
    let mut made = run("matrix", "", Vec::new());
    made.plan.phases.clear();
    let phases = (MIXES.len() * BLOCKS.len()) as u32;
    for round in 0..rounds {
        for (reads, block) in MIXES.iter().flat_map(|reads| BLOCKS.map(|block| (*reads, block))) {
            let point = SweepPoint::new(format!("read_percent={reads} block_size={}k", block >> 10));
            let measured = round >= counted;
            let kind = if measured { PhaseKind::Measure } else { PhaseKind::Ramp };
            let repeat = round.saturating_sub(counted);
            made.phases.push(PhaseResult {
                kind,
                point: point.clone(),
                repeat,
                plan_phase: made.plan.phases.len() as u32,
                ..phase(
                    "iops",
                    vec![job("iops", "", "read", op(iops(reads, block, round), block, 90_000, 2.0), 32, 2)],
                )
            });
            let mut planned = planned_job("iops", f64::from(reads), block, 1);
            planned.pace = Pace::Closed;
            let until = Until::Steady(UntilSteady::default());
            made.plan.phases.push(PlannedPhase {
                name: "iops".to_owned(),
                kind,
                jobs: vec![planned],
                drain_after: false,
                pause_after: Nanos(0),
                point,
                repeat,
                step: Some(Step { first: 0, phases, round, until }),
                carried_by: Default::default(),
                despite_failure: false,
            });
        }
    }
    let text = format!("iops: steady after {rounds} rounds");
    let last = Some(rounds * phases - 1);
    made.remarks.push(Remark { phase: last, id: "steady-state".to_owned(), text });
    made
}

fn terminal(run: &Run) -> String {
    run_summary(run, &Style::plain(100))
}

/// The part of the terminal's summary that is the table.
fn table(run: &Run) -> String {
    let text = terminal(run);
    let at = text.find(TITLE).map(|at| text[..at].rfind('\n').map_or(0, |line| line + 1));
    // What each window came to stands behind it.
    let table = |at: usize| text[at..].split("\n\n").next().unwrap_or_default().to_owned();
    at.map_or(String::new(), table)
}

#[test]
fn the_matrix_is_one_table_of_means_over_the_window() {
    // Rounds 0 and 1 led there, and are far off: no figure rests on them.
    let mut run = matrix(7, 2);
    for phase in run.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Ramp) {
        phase.jobs[0].total.iops *= 50.0;
    }
    insta::assert_snapshot!(table(&run), @r"
    iops: IOPS by block size and mix (reads/writes in %)
      block size  0/100   65/35    100/0
      4 KiB       1,004  66,004  101,004
      128 KiB     1,128  66,128  101,128
      Each figure is the mean of rounds 3 to 7, the window in which the rounds were steady.
    ");
    for width in [60, 30, 24] {
        let text = run_summary(&run, &Style::plain(width));
        let wide = text.lines().map(|line| line.chars().count()).max();
        assert!(wide <= Some(width), "{text}");
        assert!(["66,004", "101,128", "65/35"].iter().all(|figure| text.contains(figure)), "{text}");
    }
}

#[test]
fn page_and_markdown_show_the_same_table_beside_the_plain_rows() {
    let run = matrix(7, 2);
    let page = page(&run, &[]);
    assert_eq!(page.matches(TITLE).count(), 1);
    let (_, from) = page.split_once("<table class=\"rows matrix\">").expect("the table");
    let (table, rest) = from.split_once("</table>").expect("its end");
    let heads: Vec<usize> = ["0/100", "65/35", "100/0"].map(|mix| table.find(mix).expect(mix)).to_vec();
    assert!(heads.is_sorted(), "{table}");
    assert_eq!(table.matches("<td").count(), 6);
    assert!(table.contains("data-h=\"65/35\">66,004</td>"), "{table}");
    assert!(rest.contains("rounds 3 to 7"));
    assert!(rest.contains("read_percent=65 block_size=4k"));
    let text = markdown(&run, &[]);
    assert!(text.contains("| block size | 0/100 | 65/35 | 100/0 |\n| --- | ---: | ---: | ---: |\n| 4 KiB | 1,004 | 66,004 | 101,004 |"), "{text}");
    assert!(text.contains("| phase, job |"), "{text}");
}

#[test]
fn cells_that_are_not_steady_or_flagged_are_marked() {
    let mut run = matrix(5, 0);
    assert!(!table(&run).contains(['*', '!']), "{}", table(&run));
    // A point that the search did not look at: its rounds differ by more than the rule allows.
    for (phase, factor) in run.phases.iter_mut().skip(2).step_by(6).zip([0.8, 1.2, 0.9, 1.1, 1.0]) {
        phase.jobs[0].total.iops *= factor;
    }
    let mut io = finding("io-errors", FindingSeverity::Invalid, Some("iops"), "3 operations failed");
    io.evidence.insert("at".to_owned(), "/phases/1/jobs/0".into());
    let mut note = finding("short-run", FindingSeverity::Info, Some("iops"), "a note marks nothing");
    note.evidence.insert("at".to_owned(), "/phases/0/jobs/0".into());
    let whole = finding("foreign-io", FindingSeverity::Warning, None, "of the whole run, so of no point");
    run.findings = vec![io, note, whole];
    insta::assert_snapshot!(table(&run), @r"
    iops: IOPS by block size and mix (reads/writes in %)
      block size  0/100    65/35     100/0
      4 KiB       1,004   66,004  !101,004
      128 KiB     1,128  *66,129   101,128
      Each figure is the mean of rounds 1 to 5, the window in which the rounds were steady.
      *: this point was not steady.
      !: a finding is about this point (io-errors).
    ");
    let page = page(&run, &[]);
    assert!(
        page.contains("<td class=\"n suspect\" data-h=\"65/35\"><span class=\"sign-of-cell\" title=\"not-steady\">*</span>"),
        "{page}"
    );
    assert!(markdown(&run, &[]).contains("\\!101,004"));
}

#[test]
fn a_finding_without_a_place_in_the_run_marks_the_point_it_names() {
    let mut run = matrix(5, 0);
    let mut moved = finding("not-steady", FindingSeverity::Warning, Some("iops"), "IOPS fell");
    moved.evidence.insert("point".to_owned(), "read_percent=0 block_size=4k".into());
    moved.repeat = Some(2);
    run.findings = vec![moved];
    assert!(table(&run).contains("*1,004"), "{}", table(&run));
    assert_eq!(table(&run).matches('*').count(), 2, "the cell and the legend: {}", table(&run));
}

#[test]
fn how_the_rounds_ended_is_said() {
    let mut run = matrix(25, 20);
    run.remarks[0].id = "never-steady".to_owned();
    assert!(
        table(&run).contains("rounds 21 to 25, the last ones allowed: the rounds did not become"),
        "{}",
        table(&run)
    );
    // Stopped in between: all rounds stand as measured, and nobody called them steady.
    let mut run = matrix(3, 0);
    run.remarks.clear();
    assert!(table(&run).contains("rounds 1 to 3: the run ended before"), "{}", table(&run));
}

#[test]
fn a_grid_needs_every_pair_and_conditions_that_are_alike() {
    let complete = matrix(1, 0);
    assert!(table(&complete).contains(TITLE));
    let mut hole = complete.clone();
    hole.phases.remove(3);
    assert_eq!(table(&hole), "");
    let mut deeper = complete.clone();
    deeper.plan.phases[3].jobs[0].outstanding_per_thread += 1;
    assert_eq!(table(&deeper), "");
    let mut alike = complete.clone();
    alike.plan.phases[3].jobs[0].pattern.repeat_passes = true;
    assert_eq!(table(&alike), "");
    let mut trims = complete.clone();
    trims.plan.phases[3].jobs[0].pattern.mix.trim_percent = 1.0;
    assert_eq!(table(&trims), "");
    let mut row = complete;
    row.phases.retain(|phase| phase.point.as_str().contains("block_size=4k"));
    assert_eq!(table(&row), "");
    for other in [mixed_run(), curve_run()] {
        assert_eq!(table(&other), "");
    }
}

#[test]
fn phases_with_a_name_each_form_a_grid_too() {
    let mut run = matrix(1, 0);
    for (index, phase) in run.phases.iter_mut().enumerate() {
        phase.name = format!("test {index}");
        phase.point = SweepPoint::default();
        run.plan.phases[index].name.clone_from(&phase.name);
        run.plan.phases[index].step = None;
    }
    assert!(table(&run).starts_with(TITLE), "{}", table(&run));
    // Two names in one cell differ in something that is not known here.
    let mut twice = run.clone();
    let mut again = twice.phases[0].clone();
    again.name = "test 0 again".to_owned();
    twice.phases.push(again);
    assert_eq!(table(&twice), "");
}
