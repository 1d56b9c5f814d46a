//! Which tests are comparable: a difference of numbers that were measured under other conditions says nothing.

use super::metrics::MetricKind;
use super::units::{Repetition, Test};
use crate::build::pattern_words;
use crate::foreign::planned_of;
use crate::run::{JobResult, OpResult, Verdict};

/// Offered rates and sizes within this share of each other are the same.
const SAME_SHARE: f64 = 0.01;

/// Why two tests are not comparable: one reason for each condition that differs.
pub(super) fn obstacles(first: &Test<'_>, second: &Test<'_>) -> Vec<String> {
    let (a, b) = (first.sample().job, second.sample().job);
    // What an invalid figure is better or worse than says nothing.
    let invalid = [("first", first), ("second", second)].into_iter();
    let mut found: Vec<String> =
        invalid.filter_map(|(side, test)| doubt(side, test, Verdict::Invalid, "not valid")).collect();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what}: {a} against {b}"));
        }
    };
    if let (Some(one), Some(other)) = (suite(first), suite(second)) {
        differ("suite of the virtual machine's image", one, other);
    }
    let sizes = block_sizes(a, b);
    for (what, a, b) in &sizes {
        differ(what, bytes(*a), bytes(*b));
    }
    // The words of a pattern hold block sizes too: one reason is enough.
    if sizes.iter().all(|(_, a, b)| a == b) && !a.pattern.is_empty() && !b.pattern.is_empty() {
        differ("access pattern", pattern(first.sample()), pattern(second.sample()));
    }
    differ("outstanding I/Os", a.outstanding_io.to_string(), b.outstanding_io.to_string());
    differ("path", path(a).to_owned(), path(b).to_owned());
    if writes(a) && writes(b) && known(&a.durability) && known(&b.durability) {
        differ("durability of writes", a.durability.clone(), b.durability.clone());
    }
    differ("engine", engine(first), engine(second));
    let (offered_a, offered_b) = (a.evidence.offered_iops, b.evidence.offered_iops);
    match (offered_a, offered_b) {
        (Some(x), Some(y)) if near(x, y) => {}
        (None, None) => {}
        _ => differ("offered rate", offered(offered_a), offered(offered_b)),
    }
    // fio rates each direction on its own, also where the sum is the same as that of a rate of all.
    if offered_a.is_none() || (a.evidence.offered_each.is_some() && b.evidence.offered_each.is_some()) {
        let each = |job: &JobResult| job.evidence.offered_each.map_or("none".to_owned(), |r| r.describe());
        differ("offered rates of operations", each(a), each(b));
    }
    found
}

/// The suite that a test's machine was started with: another kernel, program or plan is another instrument.
fn suite(test: &Test<'_>) -> Option<String> {
    let run = test.sample().run;
    run.environments().find_map(|environment| environment.machine.suite.clone())
}

/// The causes that give the figures of a side this verdict.
fn doubt(side: &str, test: &Test<'_>, verdict: Verdict, words: &str) -> Option<String> {
    let ids = test.causes(verdict);
    (!ids.is_empty()).then(|| format!("the {side} side's figures are {words}: {}", ids.join(", ")))
}

/// Why this figure is not comparable although the tests are.
pub(super) fn obstacle_of(metric: MetricKind, first: &Test<'_>, second: &Test<'_>) -> Option<String> {
    let (a, b) = (first.sample().run, second.sample().run);
    let (a, b) = (&a.assay.latency_definition, &b.assay.latency_definition);
    let word = |definition: &Option<String>| definition.clone().unwrap_or_else(|| "Assay's".to_owned());
    (metric.is_latency() && a != b).then(|| format!("latency means {} against {}", word(a), word(b)))
}

/// What a reader should know although the tests are ranked.
pub(super) fn cautions(first: &Test<'_>, second: &Test<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for (side, test) in [("first", first), ("second", second)] {
        found.extend(doubt(side, test, Verdict::Suspect, "suspect"));
    }
    let (a, b) = (first.sample().job, second.sample().job);
    let (area_a, area_b) = (a.evidence.active_bytes as f64, b.evidence.active_bytes as f64);
    if area_a > 0.0 && area_b > 0.0 && !near(area_a, area_b) {
        found.push(format!(
            "the working sets differ: {} against {}",
            bytes(a.evidence.active_bytes),
            bytes(b.evidence.active_bytes)
        ));
    }
    if a.measured_s > 0.0 && b.measured_s > 0.0 {
        let ratio = a.measured_s / b.measured_s;
        if !(0.5..=2.0).contains(&ratio) {
            found.push(format!("measured for {:.3} s against {:.3} s", a.measured_s, b.measured_s));
        }
    }
    found
}

/// The conditions of a test in words.
pub(super) fn words(test: &Test<'_>) -> String {
    let job = test.sample().job;
    let mut parts = Vec::new();
    if job.pattern.is_empty() && job.total.block_size > 0 {
        parts.push(format!("blocks of {}", bytes(job.total.block_size)));
    } else if !job.pattern.is_empty() {
        parts.push(pattern(test.sample()));
    }
    // 0 is not known: the command was only observed.
    parts.extend((job.outstanding_io > 0).then(|| format!("{} outstanding", job.outstanding_io)));
    parts.extend(job.evidence.offered_iops.map(|rate| offered(Some(rate))));
    parts.push(path(job).to_owned());
    if writes(job) && known(&job.durability) {
        parts.push(format!("writes {}", job.durability));
    }
    if job.engine.is_known() {
        parts.push(format!("engine {}", job.engine));
    }
    parts.join(", ")
}

/// The access pattern in today's words: those stored with a run are of the release that ran it.
fn pattern(one: &Repetition<'_>) -> String {
    let (phase, jobs) = planned_of(one.run, one.phase, one.job);
    match phase {
        // 0 is not known: the command was only observed, and nothing was planned.
        Some(phase) if one.job.outstanding_io > 0 && !jobs.is_empty() => pattern_words(&jobs, phase.kind),
        _ => one.job.pattern.clone(),
    }
}

/// Block sizes of operations that both have, by name.
fn block_sizes(a: &JobResult, b: &JobResult) -> Vec<(&'static str, u64, u64)> {
    let size = |op: &Option<OpResult>| op.as_ref().map(|op| op.block_size).filter(|size| *size > 0);
    let pair = |what, a: &Option<OpResult>, b: &Option<OpResult>| Some((what, size(a)?, size(b)?));
    [
        pair("block size of reads", &a.read, &b.read),
        pair("block size of writes", &a.write, &b.write),
        pair("block size of trims", &a.trim, &b.trim),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The engine. What another tool ran by itself is not the engine of that name in Assay.
fn engine(test: &Test<'_>) -> String {
    test.sample().job.engine.to_string()
}

fn path(job: &JobResult) -> &'static str {
    if job.direct { "direct" } else { "buffered" }
}

fn writes(job: &JobResult) -> bool {
    job.write.is_some()
}

fn known(durability: &str) -> bool {
    !durability.is_empty() && durability != "not known"
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME_SHARE * a.abs().max(b.abs())
}

fn offered(rate: Option<f64>) -> String {
    rate.map_or_else(|| "as fast as it goes".to_owned(), |rate| format!("{rate:.0} IOPS offered"))
}

fn bytes(value: u64) -> String {
    assay_workload::units::Bytes(value).to_string()
}
