//! Jobs that run side by side on one clock: one that begins later is drawn later.

use assay_results::run::JobResult;

use super::time::{Group, groups, middle};

/// The course of a job: its name and its groups of periods, from the start of the first job's measured part.
pub(super) type Course<'r> = (&'r str, Vec<Group>);

/// The courses of the jobs of a phase.
pub(super) fn courses(jobs: &[JobResult]) -> Vec<Course<'_>> {
    let start_ns = |job: &JobResult| job.evidence.measured_start_ns;
    let first_ns = jobs.iter().filter(|job| !job.series.is_empty()).map(start_ns).min().unwrap_or(0);
    let course = |job: &JobResult| {
        let later_s = start_ns(job).saturating_sub(first_ns) as f64 / 1e9;
        let later = |mut group: Group| {
            group.start_s += later_s;
            group.end_s += later_s;
            group
        };
        groups(&job.series).into_iter().map(later).collect()
    };
    jobs.iter().map(|job| (job.name.as_str(), course(job))).collect()
}

/// Where something is said of these jobs: at the groups of the longest, and where that one did not run at those of the others.
pub(super) fn places(courses: &[Course<'_>]) -> Vec<(f64, f64)> {
    let mut by_length: Vec<&[Group]> = courses.iter().map(|(_, groups)| groups.as_slice()).collect();
    by_length.sort_by_key(|groups| std::cmp::Reverse(groups.len()));
    let mut places: Vec<(f64, f64)> = Vec::new();
    for groups in by_length {
        let covered = places.first().zip(places.last()).map(|(first, last)| (first.0, last.1));
        let apart =
            |group: &&Group| covered.is_none_or(|(from, to)| middle(group) < from || middle(group) >= to);
        places.extend(groups.iter().filter(apart).map(|group| (group.start_s, group.end_s)));
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    places
}

/// The group of a job that covers the middle of a place.
pub(super) fn at(groups: &[Group], place: (f64, f64)) -> Option<&Group> {
    let middle_s = (place.0 + place.1) / 2.0;
    let group = &groups[..groups.partition_point(|group| group.start_s <= middle_s)].last()?;
    (middle_s < group.end_s).then_some(group)
}
