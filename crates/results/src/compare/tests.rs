use assay_workload::rng::Rng;

use super::*;
use crate::environment::ExtentSummary;
use crate::fixture;
use crate::stats::Reason;

/// A run whose one test was repeated with these IOPS; latencies go with them.
fn repeated(id: &str, iops: &[f64]) -> Run {
    let mut run = fixture::repeated(iops);
    run.id = id.to_owned();
    for job in run.phases.iter_mut().map(|phase| &mut phase.jobs[0]) {
        let scaled = |ns: f64| Some((ns * 1000.0 / job.total.iops) as u64);
        let latency = &mut job.total.completion_ns;
        (latency.p50, latency.p99, latency.p99_9) = (scaled(8e6), scaled(20e6), None);
        job.cpu_ns_per_io = 0.0;
    }
    run
}

fn noisy(id: &str, level: f64, noise: f64, n: usize, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    repeated(id, &(0..n).map(|_| level * (noise * rng.normal()).exp()).collect::<Vec<_>>())
}

fn side<'r>(name: &str, runs: &[&'r Run]) -> Side<'r> {
    Side::new(name, runs.to_vec())
}

fn of(a: &Run, b: &Run) -> Comparison {
    compare(&[side("a", &[a]), side("b", &[b])], &CompareOptions::default()).unwrap()
}

/// Runs of three repetitions each.
fn several(name: &str, level: f64, noise: f64, n: u64, seed: u64) -> Vec<Run> {
    let mut rng = Rng::new(seed);
    let mut run = |i| noisy(&format!("{name}{i}"), level * (noise * rng.normal()).exp(), 0.01, 3, seed + i);
    (0..n).map(&mut run).collect()
}

fn of_groups(a: &[Run], b: &[Run]) -> Comparison {
    let sides = [side("a", &a.iter().collect::<Vec<_>>()), side("b", &b.iter().collect::<Vec<_>>())];
    compare(&sides, &CompareOptions::default()).unwrap()
}

fn metric(comparison: &Comparison, kind: MetricKind) -> &MetricComparison {
    comparison.pairs[0].tests[0].metrics.iter().find(|metric| metric.metric == kind).unwrap()
}

fn word(comparison: &Comparison, kind: MetricKind) -> CompareVerdict {
    metric(comparison, kind).judgement.as_ref().unwrap().verdict
}

#[test]
fn a_slower_side_is_worse_in_rate_and_in_latency() {
    let (a, b) = (several("a", 1000.0, 0.01, 7, 1), several("b", 800.0, 0.01, 7, 50));
    let found = of_groups(&a, &b);
    assert_eq!(word(&found, MetricKind::Iops), CompareVerdict::Worse);
    assert_eq!(word(&found, MetricKind::CompletionP99), CompareVerdict::Worse, "lower is better there");
    assert_eq!(found.count(CompareVerdict::Worse), 3);
    assert_eq!(found.pairs[0].judged_together, 3);
    let ratio = metric(&found, MetricKind::Iops).judgement.as_ref().unwrap().ratio.clone().unwrap();
    assert!((ratio.value - 0.8).abs() < 0.02 && ratio.interval.unwrap().contains(0.8), "{ratio:?}");
    assert_eq!(word(&of_groups(&b, &a), MetricKind::Iops), CompareVerdict::Better);
    let latency = found.pairs[0].tests[0].first_latency.as_ref().unwrap();
    let one = fixture::run().phases[0].jobs[0].completion_histogram().n();
    assert_eq!(LatencyHistogram::from_sparse(latency).n(), 21 * one);
}

#[test]
fn equal_sides_are_equivalent_when_there_are_enough_of_them() {
    let found = of_groups(&several("a", 1000.0, 0.01, 10, 3), &several("b", 1000.0, 0.01, 10, 70));
    assert_eq!(word(&found, MetricKind::Iops), CompareVerdict::Equivalent);
}

#[test]
fn repetitions_of_one_run_do_not_stand_for_runs() {
    // 5 % apart, without overlap in 20 repetitions each: more than chance within a run, less than between runs.
    let (a, b) = (noisy("a", 1000.0, 0.01, 20, 5), noisy("b", 950.0, 0.01, 20, 6));
    let found = of(&a, &b);
    assert_eq!((found.sides[0].runs.len(), found.sides[0].repetitions), (1, 20));
    let values = &metric(&found, MetricKind::Iops).first;
    let middle = stats::median(&a.phases.iter().map(|p| p.jobs[0].total.iops).collect::<Vec<_>>());
    assert_eq!(*values, [middle.unwrap()]);
    let judgement = metric(&found, MetricKind::Iops).judgement.as_ref().unwrap();
    assert_eq!(judgement.verdict, CompareVerdict::NoEvidence);
    let Reason::BetweenRuns { needed_per_side: Some(needed) } = judgement.reason else {
        panic!("{:?}", judgement.reason)
    };
    // By hand: 2 (2.80)^2 (0.1 / 0.051)^2 1.047 = 63.
    assert!((50..80).contains(&needed), "{needed}");
    let spread = judgement.spread.unwrap();
    assert!(spread.measured == 0 && (0.1..0.11).contains(&spread.sd), "{spread:?}");
    // Twice as fast is beyond what runs differ by.
    assert_eq!(word(&of(&a, &noisy("c", 2000.0, 0.01, 20, 7)), MetricKind::Iops), CompareVerdict::Better);
    // Without repetitions it is not known how well a run's value is: twice the spread is assumed.
    let (a, b) = (noisy("a", 1000.0, 0.0, 1, 8), noisy("b", 1600.0, 0.0, 1, 9));
    assert_eq!(word(&of(&a, &b), MetricKind::Iops), CompareVerdict::NoEvidence);
    assert_eq!(word(&of(&a, &noisy("c", 2000.0, 0.0, 1, 9)), MetricKind::Iops), CompareVerdict::Better);
}

#[test]
fn stored_runs_tell_what_runs_differ_by() {
    let (a, b) = (noisy("a", 1000.0, 0.01, 5, 10), noisy("b", 900.0, 0.01, 5, 11));
    let earlier = several("e", 700.0, 0.01, 8, 90);
    let with = |earlier: &[Run]| {
        let mut sides = [side("a", &[&a]), side("b", &[&b])];
        // The same runs for both sides, and the sides themselves among them: each counts once, those not at all.
        for side in &mut sides {
            side.history = earlier.iter().chain([&a, &b]).collect();
        }
        compare(&sides, &CompareOptions::default()).unwrap()
    };
    let found = with(&earlier);
    let judgement = metric(&found, MetricKind::Iops).judgement.as_ref().unwrap();
    assert_eq!((judgement.verdict, judgement.spread.unwrap().measured), (CompareVerdict::Worse, 7));
    assert!(judgement.spread.unwrap().sd < 0.03, "{judgement:?}");
    // Four are not enough; but where even four lie far apart the assumption gives way.
    let spread =
        |found: &Comparison| metric(found, MetricKind::Iops).judgement.as_ref().unwrap().spread.unwrap();
    let few = spread(&with(&earlier[..4]));
    assert!(few.measured == 0 && few.sd >= 0.1, "{few:?}");
    let apart = [400.0, 700.0, 1200.0, 2000.0].map(|level| noisy(&level.to_string(), level, 0.01, 3, 95));
    // By hand: logarithms 5.99, 6.55, 7.09, 7.60 deviate by 0.69.
    assert!((spread(&with(&apart)).sd - 0.69).abs() < 0.02);
    let mut invalid = earlier.clone();
    invalid.iter_mut().flat_map(|run| &mut run.rows).for_each(|row| row.verdict = Verdict::Invalid);
    assert_eq!(spread(&with(&invalid)).measured, 0);
}

#[test]
fn few_runs_are_judged_by_what_they_and_repetitions_show() {
    // Three against three have four degrees of freedom between them: enough.
    let found = of_groups(&several("a", 1000.0, 0.01, 3, 5), &several("b", 500.0, 0.01, 3, 60));
    let judgement = metric(&found, MetricKind::Iops).judgement.as_ref().unwrap();
    assert_eq!((judgement.verdict, judgement.spread.unwrap().measured), (CompareVerdict::Worse, 4));
    let (a, b) = (several("a", 1000.0, 0.1, 20, 7), several("b", 1000.0, 0.1, 20, 80));
    let found = of_groups(&a, &b);
    assert!(metric(&found, MetricKind::Iops).judgement.as_ref().unwrap().spread.is_none());
    let runs = metric(&found, MetricKind::Iops).runs_for_margin.unwrap();
    // By hand: 2 (1.96 + 0.84)^2 (0.1 / 0.0488)^2 1.047 = 69 at the true noise of 10 %.
    assert!((30..150).contains(&runs), "{runs}");
}

#[test]
fn runs_are_alike_where_nothing_that_is_recorded_differs() {
    let (a, mut b) = (noisy("a", 1000.0, 0.01, 5, 1), noisy("b", 900.0, 0.01, 5, 2));
    b.plan.seed += 1;
    assert!(alike(&a, &b));
    let mut other = b.clone();
    other.environment.machine.kernel_release = Some("6.9".to_owned());
    assert!(!alike(&a, &other));
    b.plan.phases[0].jobs[0].ramp = assay_workload::units::Nanos(1_000_000_000);
    assert!(!alike(&a, &b));
    assert!(wants_history(&[side("a", &[&a; 3]), side("b", &[&b; 3])], &Margins::default()));
    assert!(!wants_history(&[side("a", &[&a; 4]), side("b", &[&b; 4])], &Margins::default()));
}

#[test]
fn other_conditions_are_not_ranked_unless_told() {
    let a = noisy("a", 1000.0, 0.01, 5, 9);
    let mut b = noisy("b", 500.0, 0.01, 5, 10);
    for job in b.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.outstanding_io = 16;
        job.engine = "libaio".into();
        job.read.as_mut().unwrap().block_size = 8192;
    }
    let found = of(&a, &b);
    let test = &found.pairs[0].tests[0];
    let expected = [
        "block size of reads: 4 KiB against 8 KiB",
        "outstanding I/Os: 8 against 16",
        "engine: io_uring against libaio",
    ];
    assert_eq!(test.not_comparable, expected);
    assert!(found.nothing_ranked().unwrap().starts_with("block size"));
    let told = CompareOptions { anyway: true, ..CompareOptions::default() };
    let found = compare(&[side("a", &[&a]), side("b", &[&b])], &told).unwrap();
    assert_eq!(word(&found, MetricKind::Iops), CompareVerdict::Worse);
    assert_eq!(found.pairs[0].tests[0].not_comparable.len(), 3, "it is still said");
}

#[test]
fn images_of_other_suites_are_not_ranked_unless_told() {
    let (mut a, mut b) = (noisy("a", 1000.0, 0.01, 5, 9), noisy("b", 500.0, 0.01, 5, 10));
    a.environment.machine.suite = Some("3f9c".to_owned());
    assert!(of(&a, &b).nothing_ranked().is_none(), "only one was measured in an image");
    b.environment.machine.suite = Some("77aa".to_owned());
    let found = of(&a, &b);
    let expected = "suite of the virtual machine's image: 3f9c against 77aa";
    assert_eq!(found.pairs[0].tests[0].not_comparable, [expected]);
    let told = CompareOptions { anyway: true, ..CompareOptions::default() };
    let found = compare(&[side("a", &[&a]), side("b", &[&b])], &told).unwrap();
    assert_eq!(word(&found, MetricKind::Iops), CompareVerdict::Worse);
}

#[test]
fn latencies_of_other_meaning_are_not_ranked_but_rates_are() {
    let a = noisy("a", 1000.0, 0.01, 5, 11);
    let mut b = noisy("b", 500.0, 0.01, 5, 12);
    b.assay.latency_definition = Some("fio clat".to_owned());
    let found = of(&a, &b);
    assert_eq!(word(&found, MetricKind::Iops), CompareVerdict::Worse);
    let latency = metric(&found, MetricKind::CompletionP50);
    assert!(latency.judgement.is_none() && latency.refused.contains("fio clat"), "{}", latency.refused);
}

#[test]
fn what_differs_is_named() {
    let a = noisy("a", 1000.0, 0.01, 2, 13);
    let mut b = noisy("b", 1000.0, 0.01, 2, 14);
    b.environment.machine.kernel_release = Some("6.9".to_owned());
    b.environment.targets[0].devices[0].queue.scheduler = Some("mq-deadline".to_owned());
    b.environment.machine.memory.available_bytes = Some(1);
    b.plan.seed += 1;
    b.plan.phases[0].jobs[0].ramp = assay_workload::units::Nanos(1_000_000_000);
    b.rows[0].verdict = crate::run::Verdict::Invalid;
    b.rows[0].causes = vec!["cache-served-reads".to_owned()];
    let found = of(&a, &b);
    let names: Vec<&str> = found.differences.iter().map(|difference| difference.name.as_str()).collect();
    assert_eq!(names, ["machine kernel_release", "target device queue scheduler"]);
    assert_eq!(found.differences[0].values, ["", "6.9"]);
    assert!(
        found.plan_differences.iter().any(|line| line.contains("ramp 1 s")),
        "{:?}",
        found.plan_differences
    );
    assert!(found.plan_differences.iter().all(|line| !line.contains("seed")), "{:?}", found.plan_differences);
    let test = &found.pairs[0].tests[0];
    assert_eq!(test.not_comparable, ["the second side's figures are not valid: cache-served-reads"]);
    assert!(test.metrics.iter().all(|metric| metric.judgement.is_none()), "what is not valid is not ranked");
    assert_eq!(found.unranked(), 1);
    b.environment.targets[0].extents =
        Some(ExtentSummary { examined_bytes: 100, hole_bytes: 97, ..ExtentSummary::default() });
    let names: Vec<_> = of(&a, &b).differences.into_iter().map(|difference| difference.name).collect();
    assert!(names.contains(&"target without data".to_owned()), "{names:?}");
}

#[test]
fn targets_that_a_side_lacks_are_counted() {
    let a = noisy("a", 1000.0, 0.01, 2, 13);
    let mut b = noisy("b", 1000.0, 0.01, 2, 14);
    let one = b.environment.targets[0].clone();
    b.environment.targets.extend([one.clone(), one]);
    let found = of(&a, &b).differences;
    let told: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.values.join("/"))).collect();
    assert_eq!(told, [("targets", "1/3".to_owned())]);
}

/// A doubt about one figure is none about another of the same run.
#[test]
fn each_figure_has_the_verdict_of_its_own_row() {
    let with_other = |mut run: Run| {
        let mut other = run.phases.clone();
        other.iter_mut().for_each(|phase| phase.name = "other".to_owned());
        run.phases.extend(other);
        run.rows = crate::checks::rows(&run);
        run
    };
    let a = with_other(noisy("a", 1000.0, 0.01, 2, 13));
    let mut b = with_other(noisy("b", 1000.0, 0.01, 2, 14));
    b.verdict = crate::run::Verdict::Suspect;
    b.rows[1].verdict = crate::run::Verdict::Suspect;
    b.rows[1].causes = vec!["throttled".to_owned()];
    let tests = of(&a, &b).pairs.remove(0).tests;
    let cautions: Vec<_> = tests.iter().map(|test| (test.name.as_str(), test.cautions.as_slice())).collect();
    assert_eq!(cautions[0].1, [""; 0]);
    assert_eq!(cautions[1], ("other", &["the second side's figures are suspect: throttled".to_owned()][..]));
}

#[test]
fn one_test_each_is_the_same_job_whatever_its_name() {
    let a = noisy("a", 1000.0, 0.01, 4, 15);
    let mut b = noisy("b", 1000.0, 0.01, 4, 16);
    b.phases.iter_mut().for_each(|phase| phase.name = "other".to_owned());
    let test = &of(&a, &b).pairs[0].tests[0];
    assert_eq!((test.name.as_str(), test.second_name.as_str()), ("measure", "other"));
    let mut two = b.clone();
    let mut more = two.phases[0].clone();
    more.name = "third".to_owned();
    two.phases.push(more);
    let pair = &of(&a, &two).pairs[0];
    assert_eq!((pair.tests.len(), pair.only_first.len(), pair.only_second.len()), (0, 1, 2));
    assert_eq!(of(&a, &two).nothing_ranked().unwrap(), "the sides have no test in common");
}

#[test]
fn a_figure_that_some_repetition_lacks_is_left_out() {
    let mut a = noisy("a", 1000.0, 0.01, 5, 17);
    a.phases[2].jobs[0].total.completion_ns.p99 = None;
    let found = of(&a, &noisy("b", 1000.0, 0.01, 5, 18));
    let kinds: Vec<MetricKind> = found.pairs[0].tests[0].metrics.iter().map(|metric| metric.metric).collect();
    assert_eq!(kinds, [MetricKind::Iops, MetricKind::CompletionP50]);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let a = noisy("a", 1000.0, 0.01, 2, 19);
    let options = CompareOptions::default();
    assert_eq!(compare(&[side("a", &[&a])], &options), Err(CompareError::Sides(1)));
    let mut b = a.clone();
    b.phases.clear();
    let error = compare(&[side("a", &[&a]), side("b", &[&b])], &options).unwrap_err();
    assert_eq!(error, CompareError::NothingMeasured("b".to_owned()));
}

#[test]
fn a_comparison_survives_json() {
    let found = of(&noisy("a", 1000.0, 0.01, 5, 21), &noisy("b", 500.0, 0.01, 5, 22));
    let read: Comparison = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    assert_eq!(word(&read, MetricKind::Iops), CompareVerdict::Worse);
    assert_eq!(read.pairs[0].tests[0].first_latency, found.pairs[0].tests[0].first_latency);
    assert_eq!((read.sides, read.cautions), (found.sides, found.cautions));
}
