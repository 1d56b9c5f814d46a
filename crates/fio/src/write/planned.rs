//! A planned job as the job that such a plan is made of: what a job file asks for.

use assay_workload::Job;
use assay_workload::job::{Caching, EngineKind, Limits, Rate, TargetSharing};
use assay_workload::plan::{Offered, Pace, PlannedJob, PlannedSite, PlannedTarget, ThreadSlice};
use assay_workload::target::Extent;

/// The job; `None`: the ranges of its threads are none that a job file can say.
pub(super) fn as_asked(planned: &PlannedJob, targets: &[PlannedTarget]) -> Option<Job> {
    let first = planned.slices.first()?;
    let same = |slice: &ThreadSlice| slice.sites.iter().map(|site| site.target).eq(of(first));
    let shared = planned.slices.iter().all(same);
    let used: Vec<u16> = if shared {
        of(first).collect()
    } else {
        // Where threads have targets of their own, each has one.
        let alone = |slice: &ThreadSlice| (slice.sites.len() == 1).then(|| slice.sites[0].target);
        planned.slices.iter().map(alone).collect::<Option<_>>()?
    };
    let name = |target: &u16| targets.get(usize::from(*target)).map(|target| target.name.clone());
    let (offset, offset_increment) = offsets(planned, targets)?;
    Some(Job {
        targets: used.iter().map(name).collect::<Option<_>>()?,
        sharing: if shared { TargetSharing::Shared } else { TargetSharing::PerThread },
        offset,
        offset_increment,
        length: length(planned, targets)?,
        threads: planned.slices.len() as u32,
        rate: match planned.pace {
            Pace::Closed => Rate::Unlimited,
            Pace::Open { offered: Offered::Iops(rate), .. } => Rate::Iops(rate),
            Pace::Open { offered: Offered::BytesPerS(rate), .. } => Rate::BytesPerS(rate),
            Pace::Open { offered: Offered::Each(rates), .. } => Rate::Each(rates),
            Pace::OfMax { percent, .. } => Rate::PercentOfMax(percent),
        },
        arrival: planned.pace.arrival(),
        limits: limits(planned, first),
        caching: if planned.direct { Caching::Direct } else { Caching::Buffered },
        engine: planned.engine.kind().unwrap_or(EngineKind::Auto),
        traits: planned.traits.clone(),
    })
}

fn of(slice: &ThreadSlice) -> impl Iterator<Item = u16> {
    slice.sites.iter().map(|site| site.target)
}

/// A number of whole passes is told as such: fio counts them apart from bytes.
fn limits(planned: &PlannedJob, first: &ThreadSlice) -> Limits {
    let passes_of = |slice: &ThreadSlice| {
        let pass: u64 = slice.sites.iter().map(|site| planned.pattern.pass_bytes(site.length_bytes)).sum();
        let passes = slice.bytes.filter(|bytes| pass > 0 && bytes.is_multiple_of(pass))? / pass;
        u32::try_from(passes).ok()
    };
    let same = |passes: &u32| planned.slices.iter().all(|slice| passes_of(slice) == Some(*passes));
    let passes = passes_of(first).filter(same);
    Limits {
        time: planned.end.time,
        bytes: first.bytes.filter(|_| passes.is_none()),
        ios: first.ios,
        passes,
        ends_with: planned.end.ends_with,
        steady: planned.end.steady,
    }
}

/// Where the first thread starts, and how much further each of the others does.
fn offsets(planned: &PlannedJob, targets: &[PlannedTarget]) -> Option<(Extent, Extent)> {
    let at = |thread: usize| Some(planned.slices.get(thread)?.sites.first()?.offset_bytes);
    let first = at(0)?;
    let step = at(1).map_or(Some(0), |second| second.checked_sub(first));
    let regular = |step: u64| {
        let mut threads = planned.slices.iter().zip(0_u64..);
        threads
            .all(|(slice, thread)| slice.sites.iter().all(|site| site.offset_bytes == first + step * thread))
    };
    if let Some(step) = step.filter(|step| regular(*step)) {
        return Some((Extent::Bytes(first), Extent::Bytes(step)));
    }
    // A share of targets of several sizes.
    let align = planned.pattern.align();
    let share = whole_percent(planned, targets, |site, size, percent| {
        let start = percent.of(size);
        site.offset_bytes == start - start % align
    })?;
    Some((share, Extent::Bytes(0)))
}

/// How long the range is in each target; `Some(None)`: to its end.
fn length(planned: &PlannedJob, targets: &[PlannedTarget]) -> Option<Option<Extent>> {
    let mut sites = planned.slices.iter().flat_map(|slice| &slice.sites);
    let to_end = |site: &PlannedSite| {
        let size = targets.get(usize::from(site.target)).map_or(0, |target| target.size_bytes);
        site.offset_bytes + site.length_bytes == size
    };
    if sites.clone().all(to_end) {
        return Some(None);
    }
    let first = sites.clone().next()?.length_bytes;
    if sites.all(|site| site.length_bytes == first) {
        return Some(Some(Extent::Bytes(first)));
    }
    whole_percent(planned, targets, |site, size, percent| site.length_bytes == percent.of(size)).map(Some)
}

/// The share of each target, in whole per cents, for which `fits` holds at all sites.
fn whole_percent(
    planned: &PlannedJob,
    targets: &[PlannedTarget],
    fits: impl Fn(&PlannedSite, u64, Extent) -> bool,
) -> Option<Extent> {
    let size =
        |site: &PlannedSite| targets.get(usize::from(site.target)).map_or(0, |target| target.size_bytes);
    let shares = (0..=100_u8).map(|percent| Extent::Percent(f64::from(percent)));
    shares.into_iter().find(|share| {
        planned.slices.iter().flat_map(|slice| &slice.sites).all(|site| fits(site, size(site), *share))
    })
}
