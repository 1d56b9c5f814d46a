//! How often comparisons are wrong, and how often they see what is there, over many simulated ones.

use assay_workload::rng::{Rng, derive_seed};

use super::*;
use crate::fixture;
use crate::run::PhaseResult;
use crate::stats::binomial_cdf;

/// How runs scatter. The numbers are of the size seen on shared virtual machines.
#[derive(Clone, Copy)]
struct Noise {
    /// What a whole session has in common: relative standard deviation.
    session: f64,
    /// What the tests of a pass have in common, each pass depending on the one before.
    pass: f64,
    /// A test's own, with the heavy tails of a t distribution of five degrees.
    own: f64,
    /// Share of windows that something else slowed down by up to a half.
    disturbed: f64,
}

const REALISTIC: Noise = Noise { session: 0.02, pass: 0.015, own: 0.02, disturbed: 0.03 };
const WITHOUT_SESSIONS: Noise = Noise { session: 0.0, ..REALISTIC };

fn heavy(rng: &mut Rng) -> f64 {
    let chi: f64 = (0..5).map(|_| rng.normal().powi(2)).sum();
    // Scaled to a standard deviation of one.
    rng.normal() / (chi / 5.0).sqrt() * (3.0_f64 / 5.0).sqrt()
}

/// What is simulated: how many tests, each with how many repetitions, and whether their latencies count, too.
#[derive(Clone, Copy)]
struct Shape {
    tests: usize,
    repeats: u32,
    latencies: bool,
}

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
    let session = noise.session * rng.normal();
    let mut pass = noise.pass * rng.normal();
    for repeat in 0..shape.repeats {
        pass = 0.3 * pass + noise.pass * (1.0_f64 - 0.09).sqrt() * rng.normal();
        for test in 0..shape.tests {
            let mut log = session + pass + noise.own * heavy(&mut rng);
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

/// Of `trials` comparisons of `runs` runs a side, how many called any figure better or worse, and how many called the IOPS of test
/// 0 worse. Configurations are not compared: they are equal, and that takes most of the time.
fn trials(trials: u64, seed: u64, noise: Noise, runs: u64, shape: Shape, factor: f64) -> (u64, u64) {
    let template = template();
    let unit = if runs > 1 { Unit::Run } else { Unit::Repeat };
    let options = CompareOptions { draws: 499, ..CompareOptions::default() };
    let mut counts = (0, 0);
    for trial in 0..trials {
        let seed = derive_seed(seed, trial);
        let side = |factor: f64, from: u64| -> Vec<Run> {
            (0..runs)
                .map(|i| simulated(&template, &noise, shape, factor, derive_seed(seed, from + i)))
                .collect()
        };
        let (a, b) = (side(1.0, 1), side(factor, 1_000));
        let (a, b): (Vec<&Run>, Vec<&Run>) = (a.iter().collect(), b.iter().collect());
        let found = pair(&tests_of(&a, unit), &tests_of(&b, unit), 1, &options);
        let judgements =
            || found.tests.iter().flat_map(|test| &test.metrics).filter_map(|m| m.judgement.as_ref());
        let moved = |verdict| matches!(verdict, CompareVerdict::Better | CompareVerdict::Worse);
        counts.0 += u64::from(judgements().any(|judgement| moved(judgement.verdict)));
        counts.1 +=
            u64::from(judgements().next().is_some_and(|first| first.verdict == CompareVerdict::Worse));
    }
    counts
}

/// Not more than 5 % of the trials, as far as so many trials can tell (99.9 %).
fn at_most_five_percent(alarms: u64, trials: u64) {
    assert!(binomial_cdf(alarms.saturating_sub(1), trials, 0.05) < 0.999, "{alarms} of {trials}");
}

#[test]
fn equal_runs_are_called_different_in_at_most_five_of_a_hundred_comparisons() {
    let shape = Shape { tests: 12, repeats: 1, latencies: true };
    let (alarms, _) = trials(1_000, 1, REALISTIC, 5, shape, 1.0);
    at_most_five_percent(alarms, 1_000);
}

#[test]
fn so_are_repetitions_as_long_as_sessions_do_not_differ() {
    let shape = Shape { tests: 12, repeats: 5, latencies: true };
    let (alarms, _) = trials(1_000, 2, WITHOUT_SESSIONS, 1, shape, 1.0);
    // Passes that depend on each other are not quite exchangeable, which costs a little.
    assert!(binomial_cdf(alarms.saturating_sub(1), 1_000, 0.08) < 0.999, "{alarms}");
    // What a session has in common is beyond what its repetitions can know: the output warns of it.
    let (with_sessions, _) = trials(300, 3, REALISTIC, 1, shape, 1.0);
    assert!(with_sessions > 30, "{with_sessions} of 300: then the warning could go");
}

#[test]
fn a_difference_is_seen_as_often_as_the_number_of_runs_allows() {
    let quiet = Noise { session: 0.0, pass: 0.0, own: 0.02, disturbed: 0.0 };
    let seen = |runs, tests| {
        let shape = Shape { tests, repeats: 1, latencies: false };
        trials(100, 4, quiet, runs, shape, 0.95).1
    };
    let alone = [5, 7, 10].map(|runs| seen(runs, 1));
    assert!(alone[0] >= 70 && alone[1] >= 90 && alone[2] >= 97, "alone: {alone:?} of 100");
    let suite = [5, 7, 10].map(|runs| seen(runs, 26));
    assert!(suite[0] >= 20 && suite[1] >= 60 && suite[2] >= 90, "in a suite of 26: {suite:?} of 100");
}
