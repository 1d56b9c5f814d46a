//! A planned job as the job that such a plan is made of: what a job file asks for.

use assay_workload::Job;
use assay_workload::host::HostRanges;
use assay_workload::job::{Caching, EngineKind, Limits, Rate, TargetSharing};
use assay_workload::plan::{Offered, Pace, PlannedJob, PlannedSite, PlannedTarget, ThreadSlice};
use assay_workload::target::Extent;

/// The job; `None`: the ranges of its threads are none that a job file can say.
pub(super) fn as_asked(planned: &PlannedJob, targets: &[PlannedTarget]) -> Option<Job> {
    let first = planned.slices.first()?;
    let same = |slice: &ThreadSlice| slice.sites.iter().map(|site| site.target).eq(of(first));
    let shared = planned.slices.iter().all(same);
    let used: Vec<u32> = if shared {
        of(first).collect()
    } else {
        // Where threads have targets of their own, each has one.
        let alone = |slice: &ThreadSlice| (slice.sites.len() == 1).then(|| slice.sites[0].target);
        planned.slices.iter().map(alone).collect::<Option<_>>()?
    };
    let name = |target: &u32| targets.get(*target as usize).map(|target| target.name.clone());
    let (offset, offset_increment) = offsets(planned, targets)?;
    Some(Job {
        targets: used.iter().map(name).collect::<Option<_>>()?,
        hosts: Vec::new(),
        host_ranges: HostRanges::Whole,
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
        seed: None,
        limits: limits(planned, first),
        caching: if planned.direct { Caching::Direct } else { Caching::Buffered },
        engine: planned.engine.kind().unwrap_or(EngineKind::Auto),
        traits: planned.traits.clone(),
    })
}

fn of(slice: &ThreadSlice) -> impl Iterator<Item = u32> {
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
        let size = targets.get(site.target as usize).map_or(0, |target| target.size_bytes);
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
    let size = |site: &PlannedSite| targets.get(site.target as usize).map_or(0, |target| target.size_bytes);
    let shares = (0..=100_u8).map(|percent| Extent::Percent(f64::from(percent)));
    shares.into_iter().find(|share| {
        planned.slices.iter().flat_map(|slice| &slice.sites).all(|site| fits(site, size(site), *share))
    })
}

#[cfg(test)]
mod tests {
    use assay_workload::host::HostId;
    use assay_workload::pattern::{AccessPattern, Mix, Placement};
    use assay_workload::plan::{End, PlannedEngine};
    use assay_workload::target::TargetKind;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Threads with their sites, on targets of these sizes.
    fn asked(sizes: &[u64], threads: &[&[(u32, u64, u64)]], bytes: Option<u64>) -> Option<Job> {
        let target = |(index, size): (usize, &u64)| PlannedTarget {
            name: format!("t{index}"),
            host: HostId::FIRST,
            path: format!("/data/t{index}"),
            kind: TargetKind::File,
            size_bytes: *size,
            existing_bytes: 0,
            direct_align_bytes: None,
        };
        let targets: Vec<PlannedTarget> = sizes.iter().enumerate().map(target).collect();
        let site = |site: &(u32, u64, u64)| PlannedSite {
            target: site.0,
            offset_bytes: site.1,
            length_bytes: site.2,
        };
        let slice = |sites: &&[(u32, u64, u64)]| ThreadSlice {
            seed: 1,
            sites: sites.iter().map(site).collect(),
            bytes,
            ..ThreadSlice::default()
        };
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
        let planned = PlannedJob {
            traits: Job::new("j", &[], pattern).traits,
            engine: PlannedEngine::Libaio,
            engine_reason: None,
            direct: true,
            pace: Pace::Closed,
            end: End::default(),
            operations: Vec::new(),
            slices: threads.iter().map(slice).collect(),
        };
        as_asked(&planned, &targets)
    }

    #[test]
    fn ranges_are_told_as_offset_step_and_length() {
        let job = asked(&[8 * MIB], &[&[(0, MIB, MIB)], &[(0, 3 * MIB, MIB)]], Some(2 * MIB)).unwrap();
        assert_eq!((job.offset, job.offset_increment), (Extent::Bytes(MIB), Extent::Bytes(2 * MIB)));
        assert_eq!((job.length, job.threads), (Some(Extent::Bytes(MIB)), 2));
        assert_eq!((job.limits.passes, job.limits.bytes), (Some(2), None));
        assert_eq!((job.engine, job.caching), (EngineKind::Libaio, Caching::Direct));
    }

    #[test]
    fn threads_with_a_target_each_and_shares_of_several_sizes() {
        let job = asked(&[MIB, MIB], &[&[(0, 0, MIB)], &[(1, 0, MIB)]], Some(4097)).unwrap();
        assert_eq!((job.sharing, job.length), (TargetSharing::PerThread, None));
        assert_eq!((job.targets, job.limits.bytes), (vec!["t0".to_owned(), "t1".to_owned()], Some(4097)));
        let halves: &[(u32, u64, u64)] = &[(0, 4 * MIB, 4 * MIB), (1, MIB, MIB)];
        let job = asked(&[8 * MIB, 2 * MIB], &[halves], None).unwrap();
        assert_eq!((job.offset, job.length), (Extent::Percent(50.0), None));
    }

    #[test]
    fn ranges_without_a_rule_are_none() {
        let threads: [&[(u32, u64, u64)]; 3] = [&[(0, 0, MIB)], &[(0, MIB, MIB)], &[(0, 5 * MIB, MIB)]];
        assert!(asked(&[8 * MIB], &threads, None).is_none());
    }
}
