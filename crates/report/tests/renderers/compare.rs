//! Comparisons in every form.

use assay_report::{Style, html, md, terminal};
use assay_results::Run;
use assay_results::compare::{CompareOptions, Comparison, Side, compare};

use crate::support::{job, op, phase, run};

/// Two tests, each repeated: the second side does reads at `factor` of the first, and writes with so much outstanding.
fn sides(factor: f64, outstanding: u64, repeats: u32) -> [Run; 2] {
    let side = |name: &str, factor: f64, outstanding: u64, odd: f64| -> Run {
        let repeats = (0..repeats).flat_map(|repeat| {
            let wobble = 1.0 + 0.01 * f64::from(repeat % 3) + odd;
            let read = op(8000.0 * factor * wobble, 4096, (120_000.0 / factor / wobble) as u64, 5.0);
            let write = op(3000.0 * wobble, 16384, (330_000.0 / wobble) as u64, 5.0);
            let tests = [
                ("reads", job("reads", "read 4k, random uniform", "read", read, 8, 5)),
                ("writes", job("writes", "write 16k, random uniform", "write", write, outstanding, 5)),
            ];
            tests.map(|(name, job)| {
                let mut phase = phase(name, vec![job]);
                phase.repeat = repeat;
                phase
            })
        });
        run(name, "", repeats.collect())
    };
    let mut second = side("after", factor, outstanding, 0.003);
    second.id = "77aa".to_owned();
    second.environment.machine.kernel_release = Some("6.13.1".to_owned());
    [side("before", 1.0, 16, 0.0), second]
}

fn compared(runs: &[Run; 2]) -> Comparison {
    let side = |run| Side { name: "x".to_owned(), runs: vec![run] };
    compare(&[side(&runs[0]), side(&runs[1])], &CompareOptions::default()).expect("two sides")
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
fn too_few_repetitions_say_how_many_would_do() {
    let found = compared(&sides(0.8, 16, 2));
    let text = terminal::comparison(&found, &Style::plain(100));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 against 2 repetitions cannot show a difference"), "{text}");
    assert!(text.contains("4 a side are the fewest that can"), "{text}");
    assert!(html::comparison(&found).contains("4 a side are the fewest that can"));
}

#[test]
fn the_page_lays_latencies_over_each_other() {
    let page = html::comparison(&compared(&sides(0.8, 16, 6)));
    for expected in
        ["worse", "equivalent", "overlay-1-0-histogram", "overlay-1-1-percentiles", "6.12.9 → 6.13.1"]
    {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("<script"));
}
