//! `effective-depth`: fewer I/Os reached the device at a time than were asked for.
//!
//! Two mechanisms are known beforehand: glibc's POSIX asynchronous I/O does the requests on one file one after the
//! other, and buffered libaio is done inside the submitting call. Beside them the device's own time-weighted queue is
//! compared with what was asked; our own count of outstanding operations would prove nothing.

use assay_workload::pattern::OpKind;
use assay_workload::plan::{PlannedEngine, PlannedJob};

use super::device_limit::device_limit;
use super::draft::{Draft, percent};
use super::generator_bound::held_back_share;
use super::subject::{Subject, on_storage};
use crate::run::{DeviceTruth, Finding, FindingSeverity, Run};

pub(super) const ID: &str = "effective-depth";

/// Share of the asked depth that must be seen at the device.
const DEPTH_SHARE_MIN: f64 = 0.5;
/// How far the bytes at the device may be from those asked for.
const BYTES_TOLERANCE: f64 = 0.1;
/// Where the job threads did not run for this share of the time, the depth at the device is theirs.
const HELD_BACK_MAX: f64 = 0.2;
/// Below this the window says nothing.
const WINDOW_S_MIN: f64 = 0.5;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unseen: Option<(Subject<'_>, &str)> = None;
    for subject in on_storage(run).filter(|subject| subject.closed_loop() && subject.job.outstanding_io >= 2)
    {
        if let Some(finding) = known_beforehand(&subject) {
            findings.push(finding);
        } else if comparable(&subject) {
            match subject.truth() {
                Some(truth) if truth.device_depth_mean.is_some() => findings.extend(seen(&subject)),
                Some(truth) => unseen = unseen.or(Some((subject, truth.why_unknown()))),
                None => {}
            }
        }
    }
    findings.extend(unseen.map(|(subject, why)| {
        let message = format!("the queue depth at the device is unknown: {why}");
        let draft =
            Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
        draft.advise("measure the device itself, or a file system whose device can be named")
    }));
    findings
}

/// What a job can have in flight by the way its engine works; `None`: what was asked.
fn limit_of(planned: &PlannedJob, direct: bool) -> Option<(u64, &'static str)> {
    let per_thread = u64::from(planned.outstanding_per_thread);
    match planned.engine {
        PlannedEngine::PosixAio => {
            let of = |sites: usize| (sites as u64).min(per_thread);
            let limit = planned.slices.iter().map(|slice| of(slice.sites.len())).sum();
            Some((limit, "glibc carries out the requests on one file one after the other"))
        }
        PlannedEngine::Libaio if !direct => Some((
            planned.slices.len() as u64,
            "buffered requests are done inside io_submit, one after the other",
        )),
        PlannedEngine::Psync if per_thread > 1 => {
            Some((planned.slices.len() as u64, "psync does one I/O at a time"))
        }
        _ => None,
    }
}

fn known_beforehand(subject: &Subject<'_>) -> Option<Finding> {
    let asked = subject.job.outstanding_io;
    let limits: Vec<(u64, &str)> =
        subject.planned.iter().filter_map(|planned| limit_of(planned, subject.job.direct)).collect();
    if limits.is_empty() || limits.len() < subject.planned.len() {
        return None;
    }
    let limit: u64 = limits.iter().map(|limit| limit.0).sum();
    if limit >= asked {
        return None;
    }
    let severity = if subject.in_series() { FindingSeverity::Info } else { FindingSeverity::Warning };
    let message =
        format!("{asked} outstanding I/Os were requested, but at most {limit} are possible: {}", limits[0].1);
    let finding = subject
        .draft(ID, severity, message)
        .bias(format!("the figure is that of {limit} outstanding"))
        .evidence("outstanding_io", asked)
        .evidence("outstanding_io_possible", limit)
        .evidence("device_depth_mean", subject.truth().and_then(|truth| truth.device_depth_mean))
        .advise("use io_uring, or libaio with direct I/O");
    Some(finding)
}

/// Whether what waits at the device is what the job has outstanding: reads that are not cached, and direct writes that
/// are not flushed one by one (a flush of the file system's journal goes its own way).
fn comparable(subject: &Subject<'_>) -> bool {
    let reads_only = !subject.does(OpKind::Write) && !subject.does(OpKind::Trim);
    let cached = subject.job.cached_read_share.unwrap_or(0.0) > 0.1;
    let unflushed = subject.job.flush.is_none() && !subject.every_write_durable();
    subject.alone() && !cached && (reads_only || (subject.job.direct && unflushed))
}

/// Operations for each request at the device: neighbours are merged into one, and long ones are split. `None` where the
/// device moved other bytes than were asked for, so that its requests are not those of the job.
fn ios_per_request(subject: &Subject<'_>, truth: &DeviceTruth) -> Option<f64> {
    let asked = truth.asked_read_bytes.saturating_add(truth.asked_written_bytes) as f64;
    let moved = truth.device_read_bytes?.saturating_add(truth.device_written_bytes?) as f64;
    let requests = truth.device_reads?.saturating_add(truth.device_writes?) as f64;
    let block = subject.job.total.bytes as f64 / subject.job.total.ios as f64;
    let same = (moved / asked - 1.0).abs() <= BYTES_TOLERANCE;
    let ratio = asked / block / requests;
    (same && ratio.is_finite()).then_some(ratio)
}

/// How long an I/O is away from the device, at most, because its thread and the kernel are busy with the others of the thread:
/// CPU time of an I/O (also of the kernel's own threads, which complete I/Os) for each that a thread has outstanding.
/// On a fast device that is as long as the device takes, and nothing queues above it.
fn cpu_ns_of_slots(subject: &Subject<'_>) -> f64 {
    let evidence = &subject.job.evidence;
    let cpus = evidence.cpus_used() + subject.phase.evidence.kernel_cpus_used.unwrap_or(0.0);
    let per_thread = subject.job.outstanding_io as f64 / f64::from(evidence.threads.max(1));
    per_thread * cpus / subject.job.total.iops.max(1.0) * 1e9
}

fn seen(subject: &Subject<'_>) -> Option<Finding> {
    let truth = subject.truth()?;
    let asked = subject.job.outstanding_io;
    let depth = truth.device_depth_mean? * ios_per_request(subject, truth)?;
    let share = depth / asked as f64;
    // What a limit holds back waits above the device: `throttled` says so.
    if share >= DEPTH_SHARE_MIN || truth.depth_window_s < WINDOW_S_MIN || device_limit(subject).is_some() {
        return None;
    }
    // Nothing is handed over while the job threads do not run: `generator-bound` and `throttled` say so.
    let held_back = held_back_share(subject);
    if held_back >= HELD_BACK_MAX || share >= DEPTH_SHARE_MIN * (1.0 - held_back) {
        return None;
    }
    let cpu_ns = cpu_ns_of_slots(subject);
    let away_ns = (asked as f64 - depth) / subject.job.total.iops.max(1.0) * 1e9;
    let by_cpu = away_ns <= cpu_ns;
    let severity = if by_cpu { FindingSeverity::Info } else { FindingSeverity::Warning };
    let why = if by_cpu { ": the others waited for CPU time of the job's threads" } else { "" };
    let message = format!(
        "{asked} outstanding I/Os were requested; {depth:.1} were at the device on average ({}){why}",
        percent(share)
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias(format!("the figure is nearer to that of {:.0} outstanding", depth.max(1.0)))
        .evidence("outstanding_io", asked)
        .evidence("device_depth_mean", truth.device_depth_mean)
        .evidence("depth_in_ios", depth)
        .evidence("device_busy_share", truth.device_busy_share)
        .evidence("away_ns_per_io", away_ns)
        .evidence("cpu_ns_of_slots", cpu_ns)
        .evidence("io_workers_max", subject.phase.evidence.io_workers_max)
        .advise("look for what queues above the device: a lock on one file, kernel workers, too few threads");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::fixture::run;

    #[test]
    fn one_file_under_posix_aio() {
        let mut run = run();
        run.plan.phases[0].jobs[0].engine = PlannedEngine::PosixAio;
        let finding = only(ID, &run);
        assert_eq!(
            (finding.severity, finding.evidence["outstanding_io_possible"].as_u64()),
            (FindingSeverity::Warning, Some(1))
        );
        run.plan.series = Some("stb-2.1".to_owned());
        assert_eq!(only(ID, &run).severity, FindingSeverity::Info);
    }

    #[test]
    fn eight_files_under_posix_aio_are_enough_for_eight() {
        let mut run = run();
        run.plan.phases[0].jobs[0].engine = PlannedEngine::PosixAio;
        let site = run.plan.phases[0].jobs[0].slices[0].sites[0];
        run.plan.phases[0].jobs[0].slices[0].sites = vec![site; 8];
        silent(ID, &run);
    }

    #[test]
    fn buffered_libaio_is_synchronous() {
        let mut run = buffered(run());
        run.plan.phases[0].jobs[0].engine = PlannedEngine::Libaio;
        assert!(only(ID, &run).message.contains("at most 1 are possible"));
    }

    #[test]
    fn a_device_that_sees_one_at_a_time() {
        let mut run = run();
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(1.1);
        assert!(only(ID, &run).message.contains("1.1 were at the device"));
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(5.0);
        silent(ID, &run);
    }

    /// As recorded on a virtual disk that takes 45 us for a write: 43 066 IOPS with 4 outstanding, 0.43 CPUs in the thread, 0.35 in the
    /// kernel's own threads.
    #[test]
    fn on_a_fast_device_the_cpu_time_of_an_io_is_as_long_as_the_device() {
        let mut run = run();
        let phase = &mut run.phases[0];
        phase.device.as_mut().unwrap().device_depth_mean = Some(1.92);
        phase.evidence.kernel_cpus_used = Some(0.35);
        let job = &mut phase.jobs[0];
        (job.outstanding_io, job.evidence.threads) = (4, 1);
        job.total.iops = 43_066.0;
        job.evidence.cpu_user_ns = job.evidence.measured_ns / 100 * 5;
        job.evidence.cpu_system_ns = job.evidence.measured_ns / 100 * 38;
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Info, "{finding:?}");
        assert!(finding.message.contains("CPU time of the job's threads"), "{}", finding.message);
        // With the same CPU time and a tenth of the I/Os something else holds them up.
        run.phases[0].jobs[0].evidence.cpu_system_ns /= 10;
        run.phases[0].evidence.kernel_cpus_used = Some(0.0);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
    }

    #[test]
    fn merged_requests_count_for_all_that_are_in_them() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_depth_mean = Some(2.0);
        truth.device_reads = truth.device_reads.map(|reads| reads / 4);
        silent(ID, &run);
    }

    #[test]
    fn a_device_that_was_shared_shows_nothing() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_depth_mean = Some(1.0);
        truth.device_read_bytes = truth.device_read_bytes.map(|bytes| bytes * 2);
        silent(ID, &run);
    }

    #[test]
    fn writes_that_are_flushed_one_by_one_are_not_compared() {
        let mut run = writing(run());
        run.phases[0].device.as_mut().unwrap().device_depth_mean = Some(1.1);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.plan.phases[0].jobs[0].flush.open = assay_workload::job::OpenSync::Dsync;
        silent(ID, &run);
    }

    #[test]
    fn a_device_that_cannot_be_seen() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_depth_mean = None;
        truth.unknown_because = Some("nfs has no block device here".to_owned());
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Unchecked);
        assert!(finding.message.contains("nfs"));
        run.phases[0].jobs[0].outstanding_io = 1;
        silent(ID, &run);
    }
}
