//! The checks: what makes the numbers of a run untrustworthy, found once and shown by every renderer.
//!
//! Each check is a pure function of the [`Run`]; `docs/methodology/checks.md` says of each how it knows and what it
//! does not catch. A check stays silent on what does no harm: it speaks where a number is, or may be, other than it
//! seems, and where something worth having could not be found out.

mod cache_absorbed_writes;
mod cache_drop_failed;
mod cache_served_reads;
mod clock_unstable;
mod compressible_data;
mod contradictory_figures;
mod device_limit;
mod draft;
mod effective_depth;
mod engine_fallback;
mod few_blocks;
mod foreign_io;
mod generator_bound;
mod hot_area_imbalance;
mod io_errors;
mod lost_worker;
mod neighbours;
mod network_bound;
mod not_steady;
mod outlier_interval;
mod outlier_run;
mod outlier_worker;
mod own_stop;
mod pass_drift;
mod rate_not_reached;
mod rows;
mod server_on_this_host;
mod severity;
mod short_run;
mod software_emulation;
mod start_skew;
mod subject;
mod throttled;
mod too_few_samples;
mod unequal_hosts;
mod unrepresentative_block_size;
mod unwritten_reads;
mod unwritten_trims;
mod verify_failed;
mod volatile_write_cache;
mod working_set_fits_cache;

pub(crate) use contradictory_figures::ID as CONTRADICTORY;
pub use draft::iops_low;
pub use outlier_worker::outlier_workers;
pub(crate) use short_run::COMMAND_ENDED;
pub(crate) use too_few_samples::{NOTHING_SEEN, TARGET_NOT_OPENED, TARGET_UNSEEN};

use crate::event::RunEnd;
use crate::run::{Finding, FindingSeverity, Row, Run, Verdict};
use crate::search;

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its id, part of the contract.
    pub id: &'static str,
    /// What it catches, in a line.
    pub catches: &'static str,
    judge: fn(&Run) -> Vec<Finding>,
}

impl Check {
    /// What this check alone finds, each as grave as it is at most: what it does to the quoted figures is weighed when all are
    /// known.
    pub fn judge(&self, run: &Run) -> Vec<Finding> {
        (self.judge)(run)
    }
}

/// The entry of the module `$module`.
macro_rules! check_of {
    ($module:ident, $catches:literal) => {
        Check { id: $module::ID, catches: $catches, judge: $module::check }
    };
}

/// All checks, in the order of the documentation.
pub const ALL: [Check; 33] = [
    check_of!(cache_served_reads, "reads answered by a cache instead of the storage"),
    check_of!(cache_absorbed_writes, "direct writes kept by a cache above the device"),
    check_of!(unwritten_reads, "reads of holes and of blocks that were never written"),
    check_of!(unwritten_trims, "trims of blocks that hold nothing, or not any more"),
    check_of!(not_steady, "the measured window was still moving"),
    check_of!(generator_bound, "the generator, not the storage, was the limit"),
    check_of!(rate_not_reached, "an offered rate was missed"),
    check_of!(effective_depth, "fewer I/Os in flight than asked"),
    check_of!(working_set_fits_cache, "a buffered working set that memory holds"),
    check_of!(unrepresentative_block_size, "blocks smaller than anything stores"),
    check_of!(few_blocks, "a range of a few blocks that are done over and over"),
    check_of!(hot_area_imbalance, "a large share of the traffic in few segments"),
    check_of!(foreign_io, "other processes used the device"),
    check_of!(network_bound, "the network to the storage was the limit"),
    check_of!(server_on_this_host, "the storage's server shares this host with Assay"),
    check_of!(software_emulation, "a virtual machine whose processor is emulated"),
    check_of!(throttled, "a limit, a quota or burst credit set the rate"),
    check_of!(compressible_data, "data that a reducing target can cheat on"),
    check_of!(outlier_run, "one of several repetitions differs"),
    check_of!(outlier_worker, "one of several workers differs"),
    check_of!(outlier_interval, "one of many intervals differs"),
    check_of!(too_few_samples, "percentiles, or the figure itself, from too few operations"),
    check_of!(volatile_write_cache, "flushes that do not reach the medium"),
    check_of!(engine_fallback, "another engine than the one asked for"),
    check_of!(cache_drop_failed, "the page cache could not be dropped"),
    check_of!(lost_worker, "a worker's numbers are missing"),
    check_of!(start_skew, "workers did not start together"),
    check_of!(unequal_hosts, "hosts of one run that are not alike"),
    check_of!(io_errors, "operations that failed"),
    check_of!(verify_failed, "blocks that did not hold what was written"),
    check_of!(contradictory_figures, "figures of an imported result that cannot all be true"),
    check_of!(short_run, "less time was measured than planned"),
    check_of!(clock_unstable, "the clock cannot be relied on"),
];

/// The check of that id.
pub fn by_id(id: &str) -> Option<&'static Check> {
    ALL.iter().find(|check| check.id == id)
}

/// All findings of all checks, the gravest first, and within a severity the one with the largest effect, else in the order of
/// [`ALL`]; and the quoted figures, then the steps of searches, with the verdicts that these mean for them.
fn check(run: &Run) -> (Vec<Finding>, Vec<Row>, Vec<Row>) {
    let mut findings: Vec<Finding> = ALL.iter().flat_map(|check| check.judge(run)).collect();
    without_distribution(run, &mut findings);
    lost_worker::explains(&mut findings);
    neighbours::planned_changes(run, &mut findings);
    let steps = rows::of_steps(run, &findings);
    not_quoted(run, &mut findings);
    let rows = rows::weigh(run, &mut findings);
    findings.sort_by(|a, b| Finding::by_weight((a.severity, a), (b.severity, b)));
    (findings, rows, steps)
}

/// What is found about a step of a search that is not its answer is told, and does not count.
fn not_quoted(run: &Run, findings: &mut [Finding]) {
    let steps = search::not_quoted(run);
    for finding in findings.iter_mut().filter(|finding| finding.severity >= FindingSeverity::Warning) {
        if phase_of(run, finding).is_some_and(|phase| steps.contains(&phase)) {
            finding.severity = FindingSeverity::Info;
            finding.bias = None;
            finding.evidence.insert("search_step".to_owned(), true.into());
        }
    }
}

/// The index of the phase that a finding is about.
fn phase_of(run: &Run, finding: &Finding) -> Option<usize> {
    let pointer = finding.evidence.get("at").and_then(|at| at.as_str());
    if let Some(rest) = pointer.and_then(|at| at.strip_prefix("/phases/")) {
        return rest.split('/').next()?.parse().ok();
    }
    let point = finding.evidence.get("point").and_then(|point| point.as_str()).unwrap_or("");
    run.phases
        .iter()
        .position(|phase| Some(&phase.name) == finding.phase.as_ref() && phase.point.as_str() == point)
}

/// One operation has no distribution: that is all there is to say of its job, beside errors.
fn without_distribution(run: &Run, findings: &mut Vec<Finding>) {
    let kept = [too_few_samples::ID, io_errors::ID, verify_failed::ID];
    findings.retain(|finding| {
        let phase = phase_of(run, finding).and_then(|phase| run.phases.get(phase));
        let mut jobs = phase.into_iter().flat_map(|phase| &phase.jobs);
        let job = jobs.find(|job| Some(&job.name) == finding.job.as_ref());
        kept.contains(&finding.id.as_str()) || job.is_none_or(|job| job.total.ios != 1)
    });
}

/// The quoted figures of a run with the verdicts that its findings mean for them, as [`judge`] puts them into it.
pub fn rows(run: &Run) -> Vec<Row> {
    rows::weigh(run, &mut run.findings.clone())
}

/// The verdict these findings mean for a run that came to its end. What could not be checked speaks neither for nor
/// against it.
pub fn verdict(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| verdict_of(finding.severity)).max().unwrap_or(Verdict::Valid)
}

/// The verdict that one finding means.
fn verdict_of(severity: FindingSeverity) -> Verdict {
    match severity {
        FindingSeverity::Invalid => Verdict::Invalid,
        FindingSeverity::Warning => Verdict::Suspect,
        FindingSeverity::Info | FindingSeverity::Unchecked => Verdict::Valid,
    }
}

/// Checks a run and puts findings and verdict into it, replacing what was there. A run that did not complete, or
/// that lost a host, is incomplete whatever was found.
pub fn judge(run: &mut Run) {
    (run.findings, run.rows, run.steps) = check(run);
    search::add_answers(run);
    let lost = run.hosts.iter().any(|host| host.lost.is_some());
    run.verdict = match run.end.filter(|_| !lost) {
        Some(RunEnd::Completed) => verdict(&run.findings),
        Some(RunEnd::Interrupted | RunEnd::Failed) | None => Verdict::Incomplete,
    };
}

#[cfg(test)]
mod tests;
