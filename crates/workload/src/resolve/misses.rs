//! Reads of blocks that were not touched before: every thread that makes them, in any phase of the plan, has a part of the
//! range for itself, so that no two touch the same block.

use std::collections::BTreeMap;

use crate::plan::{Plan, PlannedSite};
use crate::units::Bytes;

use super::ResolveError;

/// A range as it was planned: target, offset, length.
type Whole = (u16, u64, u64);

/// Divides the ranges of such jobs. `touched` has, by target name, how many bytes from its start were read before the run.
pub(super) fn divide(plan: &mut Plan, touched: &BTreeMap<String, u64>) -> Result<(), ResolveError> {
    let mut counts: BTreeMap<Whole, u64> = BTreeMap::new();
    each_site(plan, |_, _, site| {
        *counts.entry(whole(site)).or_default() += 1;
        Ok(())
    })?;
    let ranges: Vec<Whole> = counts.keys().copied().collect();
    let mut given: BTreeMap<Whole, u64> = BTreeMap::new();
    let before: Vec<u64> =
        plan.targets.iter().map(|target| touched.get(&target.name).copied().unwrap_or(0)).collect();
    each_site(plan, |job, align, site| {
        let range = whole(site);
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
        let touched = before.get(usize::from(range.0)).copied().unwrap_or(0);
        let start = range.1.max(touched).next_multiple_of(align);
        let parts = counts.get(&range).copied().unwrap_or(1);
        let blocks = (range.1 + range.2).saturating_sub(start) / align / parts;
        if blocks == 0 {
            let rest = Bytes((range.1 + range.2).saturating_sub(start));
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
    mut visit: impl FnMut(&str, u64, &mut PlannedSite) -> Result<(), ResolveError>,
) -> Result<(), ResolveError> {
    let jobs = plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    for job in jobs.filter(|job| job.tree.is_none() && job.pattern.has_read_misses()) {
        let align = job.pattern.align();
        let name = job.name.clone();
        for site in job.slices.iter_mut().flat_map(|slice| &mut slice.sites) {
            visit(&name, align, site)?;
        }
    }
    Ok(())
}
