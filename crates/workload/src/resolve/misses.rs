//! Reads of blocks that were not touched before: every thread that makes them, in any phase of the plan, has a part of the
//! range for itself, so that no two touch the same block.

use std::collections::BTreeMap;

use crate::plan::{Plan, PlannedJob, PlannedSite};
use crate::target::TargetKind;
use crate::units::Bytes;

use super::ResolveError;

/// A range as it was planned: target, offset, length.
type Whole = (u32, u64, u64);

/// What touches blocks that a job is to read for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TouchedBy {
    /// Another job of the plan, before or beside it.
    Job(String),
    /// This run lays the file out.
    Prefill,
}

/// What touches blocks of a job with read misses in phase `phase` before it does: what the plan could not leave out.
pub fn touched_by(plan: &Plan, phase: usize, job: &PlannedJob) -> Option<TouchedBy> {
    if !job.pattern.has_read_misses() {
        return None;
    }
    let sites = || job.slices.iter().flat_map(|slice| &slice.sites);
    let others = others(plan, phase);
    let of_job = sites().find_map(|site| {
        let end = site.offset_bytes + site.length_bytes;
        others
            .iter()
            .find(|other| other.target == site.target && other.start < end && site.offset_bytes < other.end)
    });
    let laid_out = |site: &&PlannedSite| {
        plan.targets.get(site.target as usize).is_some_and(|target| {
            target.kind == TargetKind::File && target.existing_bytes < site.offset_bytes + site.length_bytes
        })
    };
    let of_job = of_job.map(|other| TouchedBy::Job(other.job.to_owned()));
    of_job.or_else(|| sites().find(laid_out).map(|_| TouchedBy::Prefill))
}

/// A stretch of a target that a job without read misses may touch.
struct Stretch<'p> {
    target: u32,
    start: u64,
    end: u64,
    job: &'p str,
}

/// What other jobs may touch in the phases up to `phase`, in the order of addresses.
fn others(plan: &Plan, phase: usize) -> Vec<Stretch<'_>> {
    let jobs = plan.phases.iter().take(phase + 1).flat_map(|phase| &phase.jobs);
    let of_job = |job: &'_ PlannedJob| !job.pattern.has_read_misses() && job.is_blocks();
    let mut found: Vec<Stretch<'_>> = jobs
        .filter(|job| of_job(job))
        .flat_map(|job| job.slices.iter().flat_map(|slice| &slice.sites).map(move |site| (job, site)))
        .map(|(job, site)| Stretch {
            target: site.target,
            start: site.offset_bytes,
            end: site.offset_bytes.saturating_add(site.length_bytes),
            job: &job.name,
        })
        .collect();
    found.sort_by_key(|one| (one.target, one.start, one.end));
    found.dedup_by_key(|one| (one.target, one.start, one.end));
    found
}

/// The longest stretch of a range that no other job touches; the range itself where they touch all of it.
fn free((target, offset, length): Whole, others: &[Stretch<'_>]) -> (u64, u64) {
    let end = offset + length;
    let (mut longest, mut from) = ((offset, offset), offset);
    for other in others.iter().filter(|other| other.target == target) {
        let until = other.start.clamp(from, end);
        if until - from > longest.1 - longest.0 {
            longest = (from, until);
        }
        from = from.max(other.end).min(end);
    }
    if end - from > longest.1 - longest.0 {
        longest = (from, end);
    }
    if longest.0 == longest.1 { (offset, end) } else { longest }
}

/// Divides the ranges of such jobs. `touched` has, by target name, how many bytes from its start were read before the run. What other
/// jobs touch up to the last phase that uses a range is left out of it, as far as something remains.
pub(super) fn divide(plan: &mut Plan, touched: &BTreeMap<String, u64>) -> Result<(), ResolveError> {
    let mut counts: BTreeMap<Whole, u64> = BTreeMap::new();
    let mut last_phase: BTreeMap<Whole, usize> = BTreeMap::new();
    each_site(plan, |phase, _, _, site| {
        *counts.entry(whole(site)).or_default() += 1;
        last_phase.insert(whole(site), phase);
        Ok(())
    })?;
    let left: BTreeMap<Whole, (u64, u64)> =
        last_phase.iter().map(|(range, phase)| (*range, free(*range, &others(plan, *phase)))).collect();
    let ranges: Vec<Whole> = counts.keys().copied().collect();
    let mut given: BTreeMap<Whole, u64> = BTreeMap::new();
    let before: Vec<u64> =
        plan.targets.iter().map(|target| touched.get(&target.name).copied().unwrap_or(0)).collect();
    each_site(plan, |_, job, align, site| {
        let range = whole(site);
        let (left_start, left_end) = left.get(&range).copied().unwrap_or((range.1, range.1 + range.2));
        let overlaps = |other: &&Whole| {
            **other != range
                && other.0 == range.0
                && other.1 < range.1 + range.2
                && range.1 < other.1 + other.2
        };
        if ranges.iter().find(overlaps).is_some() {
            let what = "its range overlaps that of another job with random = \"read-miss\"; give both the same range, or ranges apart";
            return Err(ResolveError::Invalid { job: job.to_owned(), what: what.to_owned() });
        }
        let touched = before.get(range.0 as usize).copied().unwrap_or(0);
        let start = range.1 + (left_start.max(touched) - range.1).next_multiple_of(align);
        let parts = counts.get(&range).copied().unwrap_or(1);
        let blocks = left_end.saturating_sub(start) / align / parts;
        if blocks == 0 {
            let rest = Bytes(left_end.saturating_sub(start));
            let what = format!(
                "{rest} not touched before are too little for {parts} threads with blocks of {}",
                Bytes(align)
            );
            return Err(ResolveError::Invalid { job: job.to_owned(), what });
        }
        let part = given.entry(range).or_default();
        site.offset_bytes = start + *part * blocks * align;
        site.length_bytes = blocks * align;
        *part += 1;
        Ok(())
    })
}

fn whole(site: &PlannedSite) -> Whole {
    (site.target, site.offset_bytes, site.length_bytes)
}

/// Visits the sites of all threads of such jobs in the order of the plan, with the name of the job and its alignment.
fn each_site(
    plan: &mut Plan,
    mut visit: impl FnMut(usize, &str, u64, &mut PlannedSite) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    let phases = plan.phases.iter_mut().enumerate();
    let jobs = phases.flat_map(|(index, phase)| phase.jobs.iter_mut().map(move |job| (index, job)));
    for (phase, job) in jobs.filter(|(_, job)| job.is_blocks() && job.pattern.has_read_misses()) {
        let align = job.pattern.align();
        let name = job.name.clone();
        for site in job.slices.iter_mut().flat_map(|slice| &mut slice.sites) {
            visit(phase, &name, align, site)?;
        }
    }
    Ok(())
}
