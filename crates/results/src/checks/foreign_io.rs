//! `foreign-io`: other processes used the device while it was measured.
//!
//! Known from windows before and after a phase in which Assay itself does nothing, and from what the devices moved
//! beyond what the kernel moved for this process. Late write-back and a file system's journal are ours although others
//! write them, and are allowed for.

use super::draft::{Draft, iops_lost, lost, percent};
use super::subject::{Subject, on_storage, repeat_of};
use super::unwritten_reads::nothing_read;
use crate::environment::DeviceKind;
use crate::evidence::QuietWindow;
use crate::run::{DeviceTruth, Effect, Finding, FindingSeverity, JobResult, Run};
use assay_workload::pattern::OpKind;
use assay_workload::units::Bytes;

pub(super) const ID: &str = "foreign-io";

/// Share of the device's work that belongs to others.
const SHARE_MIN: f64 = 0.05;
/// A shorter window says nothing.
const WINDOW_NS_MIN: u64 = 200_000_000;
/// Fewer bytes than this in a window are the file system's own: its journal, the journal of the run.
const WINDOW_BYTES_MIN: u64 = 1 << 20;
/// A device that others keep busy for less of a window is taken for idle.
const BUSY_MIN: f64 = 0.15;
/// Fewer bytes than this are metadata and read ahead.
const BYTES_MIN: u64 = 4 << 20;
/// Share of the asked bytes that must have reached the device.
const OURS_MIN: f64 = 0.1;
/// A target rate of which less was missed is one that was met.
const MISSED_MAX: f64 = 0.02;
/// What a file system may write for one byte that is flushed: data, journal, metadata.
const JOURNAL_FACTOR: u64 = 4;

/// What others move counts as requests of this size beside small requests with flushes.
const REQUEST_BYTES: f64 = 65_536.0;

const ADVICE: &str = "stop what else uses the device, or measure when it is idle";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut unseen: Option<(Subject<'_>, &str)> = None;
    let mut buffered_writes = false;
    for (at, phase) in run.phases.iter().enumerate() {
        let subjects: Vec<Subject<'_>> =
            on_storage(run).filter(|subject| std::ptr::eq(subject.phase, phase)).collect();
        let wrote_before = buffered_writes;
        // Also what a fill wrote is written back later.
        let planned = run.plan.phases.get(phase.plan_phase as usize);
        buffered_writes |= planned.is_some_and(|planned| {
            planned.jobs.iter().any(|job| !job.direct && job.pattern.mix.share(OpKind::Write) > 0.0)
        });
        let (Some(first), Some(truth)) = (subjects.first(), &phase.device) else { continue };
        // What never came to the storage was not slowed down there.
        if subjects.iter().all(nothing_read) {
            continue;
        }
        let quiet = quiet(at, &subjects, truth, (wrote_before, buffered_writes))
            .map(|finding| Finding { repeat: repeat_of(run, phase), ..finding });
        let known = phase.evidence.quiet_before.is_some() || truth.device_read_bytes.is_some();
        if !known {
            unseen = unseen.or(Some((first.clone(), truth.why_unknown())));
        }
        let late_writes = wrote_before || buffered_writes;
        findings.extend(quiet.or_else(|| beyond_ours(first, &subjects, truth, late_writes)));
    }
    findings.extend(unseen.map(|(subject, why)| {
        let message = format!("whether other processes used the storage is unknown: {why}");
        let draft =
            Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
        draft.advise("make sure that no other process or host uses the device, and repeat the run")
    }));
    findings
}

/// What others did in a quiet window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Others {
    bytes_per_s: f64,
    /// Share of the window in which they kept a device busy.
    busy: f64,
    ios_per_s: f64,
}

impl Others {
    /// `late`: whether write-back of our own may go on in it, so that writes say nothing, and neither does a busy device.
    fn of(window: Option<QuietWindow>, late: bool) -> Option<Others> {
        let window = window.filter(|window| window.span_ns >= WINDOW_NS_MIN)?;
        let read = window.read_bytes.saturating_sub(window.own_read_bytes);
        let written = if late { 0 } else { window.written_bytes.saturating_sub(window.own_written_bytes) };
        let bytes = read.saturating_add(written);
        let counted = if bytes < WINDOW_BYTES_MIN { 0 } else { bytes };
        let span_s = window.span_ns as f64 / 1e9;
        Some(Others {
            bytes_per_s: counted as f64 / span_s,
            busy: window.busy_share.filter(|share| !late && *share >= BUSY_MIN).unwrap_or(0.0),
            ios_per_s: window.ios as f64 / span_s,
        })
    }

    /// Share of the device that they take beside jobs that move `bytes_per_s` there, and `ios_per_s` requests of all. Beside small
    /// requests that are flushed their bytes say nothing.
    fn share(&self, (bytes_per_s, ios_per_s): (f64, f64), flushed: bool) -> f64 {
        // Few requests can keep a slow device busy; they take no more of it than they are of all requests.
        let of_ios = self.ios_per_s / (self.ios_per_s + ios_per_s);
        let of_bytes = share_beside(self.bytes_per_s, bytes_per_s);
        let moved =
            if flushed { of_bytes.min(share_by_requests(self.bytes_per_s, ios_per_s)) } else { of_bytes };
        self.busy.min(of_ios).max(moved)
    }

    /// As in `26 % busy` and `transferring 4.5 MiB/s`.
    fn in_words(&self) -> String {
        let moved =
            (self.bytes_per_s >= 1.0).then(|| format!("{}/s transferred", Bytes(self.bytes_per_s as u64)));
        match (moved, self.busy > 0.0) {
            (Some(moved), false) => moved,
            (moved, _) => {
                let moved = moved.unwrap_or_else(|| "hardly any data transferred".to_owned());
                format!("{} busy, {moved}", percent(self.busy))
            }
        }
    }
}

/// What others did in the quiet windows, against the device's work in the phase. `late_writes`: whether write-back of
/// our own may still go on before and after.
fn quiet(
    at: usize,
    subjects: &[Subject<'_>],
    truth: &DeviceTruth,
    late_writes: (bool, bool),
) -> Option<Finding> {
    let first = subjects.first()?;
    let phase = first.phase;
    let span_s = phase.evidence.span_ns as f64 / 1e9;
    let bytes_per_s = ours_per_s(first, truth);
    if span_s <= 0.0 || bytes_per_s <= 0.0 {
        return None;
    }
    let asked: u64 = phase.jobs.iter().map(|job| job.total.ios).sum();
    let requests =
        truth.device_reads.zip(truth.device_writes).map_or(asked, |(reads, writes)| reads + writes);
    let ours = (bytes_per_s, requests as f64 / span_s);
    let before = Others::of(phase.evidence.quiet_before, late_writes.0);
    let after = Others::of(phase.evidence.quiet_after, late_writes.1);
    let flushed = small_and_flushed(subjects);
    let share = |seen: Option<Others>| seen.map_or(0.0, |seen| seen.share(ours, flushed));
    let (when, seen) = if share(before) >= share(after) { ("before", before) } else { ("after", after) };
    let most = share(seen);
    let seen = seen?;
    if most < SHARE_MIN {
        return None;
    }
    let devices = if truth.devices.is_empty() { "the storage".to_owned() } else { truth.devices.join(", ") };
    let message =
        format!("{devices} was in use just {when} the test although Assay was idle: {}", seen.in_words());
    let finding = Draft::new(ID, FindingSeverity::Warning, message)
        .of_phase(&phase.name)
        .of_point(&phase.point)
        .bias(bias(first, most))
        .effect(effect(first, most))
        .evidence("at", format!("/phases/{at}/evidence"))
        .evidence("quiet_before_bytes_per_s", before.map(|seen| seen.bytes_per_s))
        .evidence("quiet_after_bytes_per_s", after.map(|seen| seen.bytes_per_s))
        .evidence("quiet_busy_share", seen.busy)
        .evidence("quiet_ios_per_s", seen.ios_per_s)
        .evidence("our_bytes_per_s", bytes_per_s)
        .evidence("device_ios_per_s", ours.1)
        .advise(ADVICE);
    Some(finding)
}

/// What the jobs moved at the device, bytes a second of the measured part: others take from that, and not from what a ramp moved, which
/// may have been much more. Where the kernel does not say what reached the device, what was asked stands for it.
fn ours_per_s(first: &Subject<'_>, truth: &DeviceTruth) -> f64 {
    let asked = truth.asked_read_bytes.saturating_add(truth.asked_written_bytes) as f64;
    let fetched = truth.process_read_bytes.zip(truth.process_written_bytes);
    let reached = fetched.map_or(asked, |(read, written)| read.saturating_add(written) as f64);
    let rate: f64 = first.phase.jobs.iter().map(|job| job.total.bytes_per_s).sum();
    if asked > 0.0 { rate * reached / asked } else { 0.0 }
}

/// Share of a device that others have who move so much there beside us.
fn share_beside(others: f64, ours: f64) -> f64 {
    others / (others + ours).max(f64::MIN_POSITIVE)
}

/// The same by requests, of which others' have at least this size: a small request that is flushed takes at least as long as one of
/// theirs.
fn share_by_requests(others_bytes_per_s: f64, our_ios_per_s: f64) -> f64 {
    share_beside(others_bytes_per_s / REQUEST_BYTES, our_ios_per_s)
}

/// Whether what the jobs do is small requests with flushes: their bytes are no measure of what they take of the device.
fn small_and_flushed(subjects: &[Subject<'_>]) -> bool {
    subjects.iter().all(|subject| {
        let total = &subject.job.total;
        let flushed = subject.job.flush.is_some() || subject.every_write_durable();
        let small = total.bytes as f64 <= REQUEST_BYTES * total.ios as f64;
        flushed && small && subject.does(OpKind::Write)
    })
}

/// What the devices moved beyond what the kernel moved for this process: in phases of direct I/O, and of buffered reads.
///
/// The counters are of all jobs of the phase, so all of them are looked at; the finding stands at the first.
fn beyond_ours(
    first: &Subject<'_>,
    subjects: &[Subject<'_>],
    truth: &DeviceTruth,
    late_writes: bool,
) -> Option<Finding> {
    let (device_read, our_read) = (truth.device_read_bytes?, truth.process_read_bytes?);
    // Buffered writes reach the device at another time, and make the file system read where they are small.
    let buffered_writes = subjects.iter().any(|subject| subject.does(OpKind::Write) && !subject.job.direct);
    // Arrays read parity and other copies for one read of ours, and write each block more than once.
    let mut devices = subjects.iter().flat_map(Subject::devices);
    if buffered_writes || devices.any(|device| device.kind == DeviceKind::Md) {
        return None;
    }
    let written = truth.device_written_bytes.zip(truth.process_written_bytes).filter(|_| !late_writes);
    let (device_written, our_written) = written.unwrap_or((0, 0));
    // A flush writes the journal, by a thread of the file system.
    let flushed = |subject: &Subject<'_>| subject.job.flush.is_some() || subject.every_write_durable();
    let journal = if subjects.iter().any(flushed) { JOURNAL_FACTOR } else { 1 };
    // A job that the device hardly served cannot have been slowed down there.
    let asked = truth.asked_read_bytes.saturating_add(truth.asked_written_bytes) as f64;
    if (our_read.saturating_add(our_written) as f64) < OURS_MIN * asked {
        return None;
    }
    let foreign = device_read
        .saturating_sub(our_read)
        .saturating_add(device_written.saturating_sub(our_written.saturating_mul(journal)));
    let moved = device_read.saturating_add(device_written);
    let share = foreign as f64 / moved.max(1) as f64;
    // The same where a layer between took what was asked.
    let absorbed = (moved as f64) < OURS_MIN * asked;
    if foreign < BYTES_MIN || share < SHARE_MIN || absorbed {
        return None;
    }
    let message = format!(
        "{} transferred {} during the test, {} of it for other processes",
        truth.devices.join(", "),
        Bytes(moved),
        percent(share)
    );
    let span_s = first.phase.evidence.span_ns.max(1) as f64 / 1e9;
    let foreign_per_s = foreign as f64 / span_s;
    let of_bytes = share_beside(foreign_per_s, ours_per_s(first, truth));
    let share = if small_and_flushed(subjects) {
        let ios_per_s: f64 = first.phase.jobs.iter().map(|job| job.total.iops).sum();
        of_bytes.min(share_by_requests(foreign_per_s, ios_per_s))
    } else {
        of_bytes
    };
    let finding = first
        .draft(ID, FindingSeverity::Warning, message)
        .bias(bias(first, share))
        .effect(effect(first, share))
        .evidence("device_read_bytes", device_read)
        .evidence("process_read_bytes", our_read)
        .evidence("device_written_bytes", truth.device_written_bytes)
        .evidence("process_written_bytes", truth.process_written_bytes)
        .advise(ADVICE);
    Some(finding)
}

/// With a share s of the device's bytes for others, this run would have had up to s / (1 - s) more without them; a rate
/// that was met would have been the same.
fn bias(first: &Subject<'_>, share: f64) -> String {
    if rate_was_met(first) {
        "response times high, effect unknown; the target rate was met".to_owned()
    } else {
        iops_lost(share)
    }
}

/// The same in numbers.
fn effect(first: &Subject<'_>, share: f64) -> Option<Effect> {
    lost(share).filter(|_| !rate_was_met(first))
}

fn rate_was_met(first: &Subject<'_>) -> bool {
    let met = |job: &JobResult| {
        job.evidence.offered_iops.is_some() && job.evidence.missed_share.unwrap_or(0.0) < MISSED_MAX
    };
    first.phase.jobs.iter().all(met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::fixture::{SECOND, run};

    #[test]
    fn a_window_that_was_not_quiet() {
        let mut run = run();
        // The jobs moved 8.2 MB/s.
        let window = |read_bytes| QuietWindow { span_ns: SECOND, ios: 100, read_bytes, ..Default::default() };
        run.phases[0].evidence.quiet_before = Some(window(820_000));
        silent(ID, &run);
        run.phases[0].evidence.quiet_after = Some(window(2_050_000));
        let finding = only(ID, &run);
        assert!(
            finding.message.ends_with("just after the test although Assay was idle: 1.96 MiB/s transferred")
                && finding.bias_words() == "IOPS 0-25 % low",
            "{finding:?}"
        );
        // What Assay itself read then is not traffic of other processes.
        run.phases[0].evidence.quiet_after =
            Some(QuietWindow { own_read_bytes: 2_000_000, ..window(2_050_000) });
        silent(ID, &run);
    }

    #[test]
    fn a_device_whose_own_share_is_not_known() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        (truth.device_read_bytes, truth.device_written_bytes) = (None, None);
        let asked = (truth.asked_read_bytes + truth.asked_written_bytes) as f64;
        let per_s = asked * 1e9 / run.phases[0].evidence.span_ns as f64;
        let read_bytes = (per_s / 4.0).max(2e6) as u64;
        let window = QuietWindow { span_ns: SECOND, ios: 100, read_bytes, ..Default::default() };
        run.phases[0].evidence.quiet_before = Some(QuietWindow { read_bytes: 0, ..window });
        silent(ID, &run);
        run.phases[0].evidence.quiet_before = Some(window);
        assert!(only(ID, &run).message.contains("just before the test"));
    }

    #[test]
    fn what_the_ramp_moved_is_nothing_that_others_took_from() {
        let mut run = run();
        // As recorded: 1617 reads a second beside 875 of others below one limit; the ramp, which the counters contain, had 3160.
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.asked_read_bytes = truth.asked_read_bytes * 6 / 5;
        truth.process_read_bytes = Some(truth.asked_read_bytes);
        truth.device_read_bytes = Some(truth.asked_read_bytes * 3 / 2);
        let ours = run.phases[0].jobs[0].total.bytes_per_s;
        let read_bytes = (ours * 875.0 / 1617.0) as u64;
        run.phases[0].evidence.quiet_before =
            Some(QuietWindow { span_ns: SECOND, ios: 100, read_bytes, ..Default::default() });
        assert_eq!(only(ID, &run).bias_words(), "IOPS low: without it up to 1.5 times as many");
    }

    #[test]
    fn a_device_that_others_kept_busy_with_small_requests() {
        let mut run = run();
        let window = |busy| QuietWindow {
            span_ns: SECOND,
            ios: 2000,
            read_bytes: 409_600,
            busy_share: Some(busy),
            ..Default::default()
        };
        run.phases[0].evidence.quiet_before = Some(window(0.1));
        silent(ID, &run);
        run.phases[0].evidence.quiet_before = Some(window(0.4));
        let finding = only(ID, &run);
        assert!(
            finding.message.contains("just before the test") && finding.message.contains("40 % busy"),
            "{}",
            finding.message
        );
        assert_eq!(finding.bias_words(), "IOPS low: without it up to 1.7 times as many");
    }

    #[test]
    fn a_few_requests_that_kept_a_slow_device_busy_take_little_of_it() {
        // As recorded: 38 small requests on a device whose host had slowed it down, 26 % busy by them.
        let mut run = run();
        let window = QuietWindow {
            span_ns: SECOND / 2,
            ios: 38,
            written_bytes: 155_648,
            busy_share: Some(0.26),
            ..Default::default()
        };
        run.phases[0].evidence.quiet_after = Some(window);
        silent(ID, &run);
        // Of a disk that does no more itself they are a good part.
        run.phases[0].device.as_mut().unwrap().device_reads = Some(500);
        let finding = only(ID, &run);
        assert_eq!(finding.bias_words(), "IOPS 0-35 % low");
        assert_eq!(
            finding.message,
            "sda was in use just after the test although Assay was idle: 26 % busy, hardly any data transferred"
        );
    }

    #[test]
    fn a_rate_that_was_met_is_not_low() {
        let mut run = run();
        run.phases[0].device.as_mut().unwrap().device_read_bytes = Some(1 << 40);
        let evidence = &mut run.phases[0].jobs[0].evidence;
        (evidence.offered_iops, evidence.missed_share) = (Some(2000.0), Some(0.001));
        assert_eq!(
            only(ID, &run).bias_words(),
            "response times high, effect unknown; the target rate was met"
        );
        run.phases[0].jobs[0].evidence.missed_share = Some(0.1);
        assert!(only(ID, &run).bias_words().starts_with("IOPS low by far"));
    }

    #[test]
    fn our_own_write_back_is_not_somebody_elses() {
        let mut run = writing(buffered(run()));
        run.phases[0].evidence.quiet_after =
            Some(QuietWindow { span_ns: SECOND, ios: 100, written_bytes: 8_200_000, ..Default::default() });
        silent(ID, &run);
        run.plan.phases[0].jobs[0].direct = true;
        assert_eq!(only(ID, &run).bias_words(), "IOPS low: without it up to 2.0 times as many");
    }

    #[test]
    fn reads_that_were_not_ours() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_read_bytes = Some(truth.process_read_bytes.unwrap() * 5 / 3);
        assert_eq!(only(ID, &run).bias_words(), "IOPS low: without it up to 1.7 times as many");
        run.environment.targets[0].devices[0].kind = DeviceKind::Md;
        silent(ID, &run);
    }

    #[test]
    fn writes_that_were_not_ours() {
        let mut run = run();
        run.phases[0].device.as_mut().unwrap().process_written_bytes = Some(4096);
        run.phases[0].device.as_mut().unwrap().device_written_bytes = Some(20 << 20);
        assert!(only(ID, &run).message.contains("for other processes"));
        // Of a flushed job a good part of it may be the journal.
        let mut run = writing(run);
        run.plan.phases[0].jobs[0].flush.open = assay_workload::job::OpenSync::Dsync;
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_written_bytes = truth.process_written_bytes.map(|bytes| bytes * 3);
        silent(ID, &run);
    }

    #[test]
    fn a_job_that_the_device_did_not_serve_was_not_slowed_down() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.process_read_bytes = Some(0);
        silent(ID, &run);
    }

    #[test]
    fn a_figure_of_no_storage_is_not_low_because_of_others() {
        let mut run = run();
        run.phases[0].evidence.quiet_before =
            Some(QuietWindow { span_ns: SECOND, ios: 900, read_bytes: 900 << 20, ..Default::default() });
        only(ID, &run);
        run.phases[0].jobs[0].cached_read_share = Some(1.0);
        assert!(only("unwritten-reads", &run).bias_words().starts_with("IOPS high without bound"));
        silent(ID, &run);
    }

    #[test]
    fn small_requests_with_flushes_are_held_against_requests() {
        // As recorded: 36 MiB/s of others beside 260 durable writes of 4 KiB a second, "up to 36 times as many".
        let mut run = writing(run());
        run.plan.phases[0].jobs[0].flush.open = assay_workload::job::OpenSync::Dsync;
        let job = &mut run.phases[0].jobs[0];
        (job.total.iops, job.total.bytes_per_s) = (260.0, 260.0 * 4096.0);
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_written_bytes = truth.process_written_bytes.map(|bytes| bytes * 4 + 5 * (36 << 20));
        assert_eq!(only(ID, &run).bias_words(), "IOPS low: without it up to 3.2 times as many");
        // In a window before the test as well.
        run.phases[0].device.as_mut().unwrap().device_written_bytes = Some(0);
        run.phases[0].evidence.quiet_before =
            Some(QuietWindow { span_ns: SECOND, ios: 40, read_bytes: 36 << 20, ..Default::default() });
        assert_eq!(only(ID, &run).bias_words(), "IOPS 0-29 % low");
    }

    #[test]
    fn others_had_nearly_all_of_it() {
        let mut run = run();
        run.phases[0].device.as_mut().unwrap().device_read_bytes = Some(1 << 40);
        assert_eq!(only(ID, &run).bias_words(), "IOPS low by far");
    }

    #[test]
    fn a_device_that_cannot_be_seen_is_unchecked_once() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_read_bytes = None;
        truth.unknown_because = Some("nfs has no block device here".to_owned());
        let again = run.phases[0].clone();
        run.phases.push(again);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
    }
}
