//! Comparisons in every form.

use assay_report::{Style, html, md, terminal};
use assay_results::Run;
use assay_results::compare::{CompareOptions, Comparison, Side, compare};

use crate::support::{job, op, phase, run};

/// Two tests, `runs` times on each side: the second side does reads at `factor` of the first, and writes with so much
/// outstanding.
fn sides(factor: f64, outstanding: u64, runs: u32) -> [Vec<Run>; 2] {
    let side = |name: &str, factor: f64, outstanding: u64, odd: f64| -> Vec<Run> {
        let one = |index: u32| {
            let wobble = 1.0 + 0.01 * f64::from(index % 3) + odd;
            let read = op(8000.0 * factor * wobble, 4096, (120_000.0 / factor / wobble) as u64, 5.0);
            let write = op(3000.0 * wobble, 16384, (330_000.0 / wobble) as u64, 5.0);
            let tests = [
                ("reads", job("reads", "read 4k, random uniform", "read", read, 8, 5)),
                ("writes", job("writes", "write 16k, random uniform", "write", write, outstanding, 5)),
            ];
            let mut run = run(name, "", tests.map(|(name, job)| phase(name, vec![job])).to_vec());
            run.id = format!("{}{index}", run.id);
            run
        };
        (0..runs).map(one).collect()
    };
    let mut second = side("after", factor, outstanding, 0.003);
    for (index, run) in second.iter_mut().enumerate() {
        run.id = format!("77aa{index}");
        run.environment.machine.kernel_release = Some("6.13.1".to_owned());
    }
    [side("before", 1.0, 16, 0.0), second]
}

fn compared(runs: &[Vec<Run>; 2]) -> Comparison {
    let sides = runs.each_ref().map(|runs| Side::new("x", runs.iter().collect()));
    compare(&sides, &CompareOptions::default()).expect("two sides")
}

#[test]
fn worse_reads_and_writes_that_are_not_comparable() {
    let found = compared(&sides(0.8, 32, 6));
    for width in [150, 80, 40] {
        let text = terminal::comparison(&found, &Style::plain(width));
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{width}: {widest}");
        insta::assert_snapshot!(format!("comparison_{width}"), text);
    }
    insta::assert_snapshot!("comparison_md", md::comparison(&found));
}

#[test]
fn too_few_runs_say_what_they_are_judged_by_and_how_many_would_do() {
    let found = compared(&sides(0.8, 16, 1));
    let text = terminal::comparison(&found, &Style::plain(100));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 run against 1 cannot show run-to-run variation"), "{text}");
    assert!(text.contains("is assumed; five stored runs of the same configuration would show it"), "{text}");
    assert!(text.contains("inconclusive: detecting differences this small would take about"), "{text}");
    assert!(html::comparison(&found).contains("is assumed; five"));
    insta::assert_snapshot!("comparison_single", terminal::comparison(&found, &Style::plain(100)));
}

#[test]
fn the_page_lays_latencies_over_each_other() {
    let page = html::comparison(&compared(&sides(0.8, 16, 6)));
    for expected in
        ["worse", "equivalent", "overlay-1-0-histogram", "overlay-1-1-percentiles", "6.12.9 → 6.13.1"]
    {
        assert!(page.contains(expected), "{expected}");
    }
    assert_eq!(page.matches("<script").count(), 1);
}
