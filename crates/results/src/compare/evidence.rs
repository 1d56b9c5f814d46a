//! How often comparisons are wrong, and how often they see what is there, over many simulated ones.

use assay_workload::rng::{Rng, derive_seed};

use super::*;
use crate::fixture;
use crate::run::PhaseResult;
use crate::stats::binomial_cdf;

/// How runs scatter. The numbers are of the size seen on shared virtual machines.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// What the repetitions of a run have in common: relative standard deviation.
    run: f64,
    /// What the tests of a pass have in common, each pass depending on the one before.
    pass: f64,
    /// A test's own, with the heavy tails of a t distribution of five degrees.
    own: f64,
    /// Share of windows that something else slowed down by up to a half.
    disturbed: f64,
}

const REALISTIC: Noise = Noise { run: 0.02, pass: 0.015, own: 0.02, disturbed: 0.03 };
/// Runs that differ by as much as is assumed where nothing is known.
const AS_ASSUMED: Noise = Noise { run: 0.1, ..REALISTIC };
/// Runs that differ by more than that.
const WILD: Noise = Noise { run: 0.25, ..REALISTIC };

fn heavy(rng: &mut Rng) -> f64 {
    let chi: f64 = (0..5).map(|_| rng.normal().powi(2)).sum();
    // Scaled to a standard deviation of one.
    rng.normal() / (chi / 5.0).sqrt() * (3.0_f64 / 5.0).sqrt()
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
struct Shape {
    tests: usize,
    /// Repetitions of each test in a run.
    repeats: u32,
    /// Whether latencies count, too.
    latencies: bool,
    /// Runs of each side.
    runs: u64,
    /// Other stored runs of the same configuration.
    earlier: u64,
}

/// Twelve tests of three figures each, five times in a run, one run a side.
const SINGLE: Shape = Shape { tests: 12, repeats: 5, latencies: true, runs: 1, earlier: 0 };

/// A run without phases, environment and plan: small enough to be copied many times. Its phase apart.
fn template() -> (Run, PhaseResult) {
    let mut run = fixture::run();
    run.environment = Default::default();
    run.plan.phases.clear();
    let mut phase = run.phases.remove(0);
    let job = &mut phase.jobs[0];
    job.series.clear();
    job.read = None;
    job.cpu_ns_per_io = 0.0;
    job.total.completion_ns = Default::default();
    (run, phase)
}

/// A run in which the figures of test 0 are those of the others times `factor`.
fn simulated(template: &(Run, PhaseResult), noise: &Noise, shape: Shape, factor: f64, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    let (mut run, empty) = template.clone();
    let whole = noise.run * rng.normal();
    let mut pass = noise.pass * rng.normal();
    for repeat in 0..shape.repeats {
        pass = 0.3 * pass + noise.pass * (1.0_f64 - 0.09).sqrt() * rng.normal();
        for test in 0..shape.tests {
            let mut log = whole + pass + noise.own * heavy(&mut rng);
            if rng.unit() < noise.disturbed {
                log += (1.0 - 0.5 * rng.unit()).ln();
            }
            let level = if test == 0 { factor } else { 1.0 };
            let iops = 10_000.0 * level * log.exp();
            let mut phase = empty.clone();
            phase.name = format!("test {test}");
            phase.repeat = repeat;
            let total = &mut phase.jobs[0].total;
            total.iops = iops;
            if shape.latencies {
                // In a closed loop the median goes with the rate, and the tail has more of its own.
                let p50 = 8e9 / iops * (0.005 * rng.normal()).exp();
                total.completion_ns.p50 = Some(p50 as u64);
                total.completion_ns.p99 = Some((3.0 * p50 * (0.05 * heavy(&mut rng)).exp()) as u64);
            }
            run.phases.push(phase);
        }
    }
    run
}

/// Of `trials` comparisons, how many called any figure better or worse, and how many called the IOPS of test 0 worse.
/// Configurations are not compared: they are equal, and that takes most of the time.
fn trials(trials: u64, seed: u64, noise: Noise, shape: Shape, factor: f64) -> (u64, u64) {
    let template = template();
    let options = CompareOptions { draws: 499, ..CompareOptions::default() };
    let mut counts = (0, 0);
    for trial in 0..trials {
        let seed = derive_seed(seed, trial);
        let made = |factor: f64, from: u64, n: u64| -> Vec<Run> {
            let run = |i: u64| {
                let mut run = simulated(&template, &noise, shape, factor, derive_seed(seed, from + i));
                run.id = (from + i).to_string();
                run
            };
            (0..n).map(run).collect()
        };
        let (a, b) = (made(1.0, 1, shape.runs), made(factor, 1_000, shape.runs));
        let earlier = made(1.0, 2_000, shape.earlier);
        let mut sides = [Side::new("a", a.iter().collect()), Side::new("b", b.iter().collect())];
        sides[0].history = earlier.iter().collect();
        let known = known::groups(&sides[0], &sides[1]);
        let found = pair(&tests_of(&sides[0].runs), &tests_of(&sides[1].runs), 1, &known, &options);
        let judgements =
            || found.tests.iter().flat_map(|test| &test.metrics).filter_map(|m| m.judgement.as_ref());
        let moved = |verdict| matches!(verdict, CompareVerdict::Better | CompareVerdict::Worse);
        counts.0 += u64::from(judgements().any(|judgement| moved(judgement.verdict)));
        counts.1 +=
            u64::from(judgements().next().is_some_and(|first| first.verdict == CompareVerdict::Worse));
    }
    counts
}

/// Not more than 5 % of 1000 A/A comparisons, as far as so many can tell (99.9 %).
fn at_most_five_percent(seed: u64, noise: Noise, shape: Shape) {
    let (alarms, _) = trials(1_000, seed, noise, shape, 1.0);
    assert!(
        binomial_cdf(alarms.saturating_sub(1), 1_000, 0.05) < 0.999,
        "{alarms} of 1000: {noise:?} {shape:?}"
    );
}

#[test]
fn equal_runs_are_called_different_in_at_most_five_of_a_hundred_comparisons() {
    at_most_five_percent(1, REALISTIC, Shape { repeats: 1, runs: 5, ..SINGLE });
    at_most_five_percent(11, REALISTIC, Shape { runs: 3, ..SINGLE });
}

#[test]
fn so_are_single_runs_where_nothing_is_known_of_others() {
    at_most_five_percent(2, REALISTIC, SINGLE);
    at_most_five_percent(4, AS_ASSUMED, Shape { repeats: 1, ..SINGLE });
    at_most_five_percent(8, AS_ASSUMED, Shape { tests: 1, latencies: false, ..SINGLE });
}

#[test]
fn so_are_single_runs_where_others_are_stored() {
    at_most_five_percent(5, REALISTIC, Shape { earlier: 10, ..SINGLE });
    at_most_five_percent(6, WILD, Shape { earlier: 5, ..SINGLE });
    at_most_five_percent(7, WILD, Shape { tests: 1, latencies: false, earlier: 5, ..SINGLE });
}

#[test]
fn a_difference_is_seen_as_often_as_the_number_of_runs_allows() {
    let quiet = Noise { run: 0.0, pass: 0.0, own: 0.02, disturbed: 0.0 };
    let seen = |runs, tests| {
        let shape = Shape { tests, repeats: 1, latencies: false, runs, earlier: 0 };
        trials(100, 4, quiet, shape, 0.95).1
    };
    let alone = [5, 7, 10].map(|runs| seen(runs, 1));
    assert!(alone[0] >= 70 && alone[1] >= 90 && alone[2] >= 97, "alone: {alone:?} of 100");
    let suite = [5, 7, 10].map(|runs| seen(runs, 26));
    assert!(suite[0] >= 20 && suite[1] >= 60 && suite[2] >= 90, "in a suite of 26: {suite:?} of 100");
}

#[test]
fn a_single_run_sees_large_differences_only() {
    let alone = Shape { tests: 1, latencies: false, ..SINGLE };
    let seen = |shape, factor| trials(200, 8, REALISTIC, shape, factor).1;
    let assumed = [0.95, 0.5].map(|factor| seen(alone, factor));
    assert!(assumed[0] <= 5 && assumed[1] >= 190, "{assumed:?} of 200");
    let known = Shape { earlier: 10, ..alone };
    let known = [0.95, 0.85].map(|factor| seen(known, factor));
    assert!(known[0] >= 25 && known[1] >= 150, "{known:?} of 200");
}
