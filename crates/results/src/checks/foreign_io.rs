//! `foreign-io`: somebody else used the device while it was measured.
//!
//! Known from windows before and after a phase in which Assay itself does nothing, and, for reads, from what the
//! devices read beyond what the kernel fetched for this process. Writes are compared in quiet windows only: a file
//! system's journal and late write-back are written for us by others.

use super::draft::{Draft, iops_low, percent};
use super::subject::{Subject, on_storage};
use crate::environment::DeviceKind;
use crate::evidence::QuietWindow;
use crate::run::{DeviceTruth, Finding, FindingSeverity, PhaseResult, Run};
use assay_workload::pattern::OpKind;
use assay_workload::units::Bytes;

pub(super) const ID: &str = "foreign-io";

/// Share of the device's work that belongs to others.
const SHARE_MIN: f64 = 0.05;
/// A shorter window says nothing.
const WINDOW_NS_MIN: u64 = 200_000_000;
/// Fewer bytes than this are metadata and read ahead.
const BYTES_MIN: u64 = 16 << 20;

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
            planned.jobs.iter().any(|job| !job.direct && job.job.pattern.mix.share(OpKind::Write) > 0.0)
        });
        let (Some(first), Some(truth)) = (subjects.first(), &phase.device) else { continue };
        let quiet = quiet(at, phase, truth, (wrote_before, buffered_writes));
        let known = phase.evidence.quiet_before.is_some() || truth.device_read_bytes.is_some();
        if !known {
            unseen = unseen.or(Some((first.clone(), &truth.unknown_because)));
        }
        findings.extend(quiet.or_else(|| beyond_ours(first, truth)));
    }
    findings.extend(unseen.map(|(subject, why)| {
        let message = format!("whether others used the storage meanwhile is not known: {why}");
        let draft =
            Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
        draft.advise("make sure that nobody else uses it, and repeat: figures that agree speak for it")
    }));
    findings
}

/// What others did in the quiet windows, against the device's work in the phase. `late_writes`: whether write-back of
/// our own may still go on before and after.
fn quiet(at: usize, phase: &PhaseResult, truth: &DeviceTruth, late_writes: (bool, bool)) -> Option<Finding> {
    let span_s = phase.evidence.span_ns as f64 / 1e9;
    let busy_per_s = (truth.device_read_bytes? + truth.device_written_bytes?) as f64 / span_s;
    let rate = |window: Option<QuietWindow>, late: bool| {
        let window = window.filter(|window| window.span_ns >= WINDOW_NS_MIN)?;
        let bytes = window.read_bytes + if late { 0 } else { window.written_bytes };
        Some(bytes as f64 * 1e9 / window.span_ns as f64)
    };
    let before = rate(phase.evidence.quiet_before, late_writes.0);
    let after = rate(phase.evidence.quiet_after, late_writes.1);
    let foreign_per_s = before.into_iter().chain(after).fold(0.0, f64::max);
    let share = foreign_per_s / busy_per_s;
    if span_s <= 0.0 || busy_per_s <= 0.0 || share < SHARE_MIN {
        return None;
    }
    let when = if before.unwrap_or(0.0) >= after.unwrap_or(0.0) { "before" } else { "after" };
    let message = format!(
        "right {when} the phase, while Assay did nothing, others moved {}/s on {}: {} of what was measured",
        Bytes(foreign_per_s as u64),
        truth.devices.join(", "),
        percent(share)
    );
    let finding = Draft::new(ID, FindingSeverity::Warning, message)
        .of_phase(&phase.name)
        .bias(iops_low(share))
        .evidence("at", format!("/phases/{at}/evidence"))
        .evidence("quiet_before_bytes_per_s", before)
        .evidence("quiet_after_bytes_per_s", after)
        .advise("stop what else uses the device, or measure when it is idle");
    Some(finding)
}

/// What the devices read that the kernel did not fetch for this process.
fn beyond_ours(subject: &Subject<'_>, truth: &DeviceTruth) -> Option<Finding> {
    let (device, ours) = (truth.device_read_bytes?, truth.process_read_bytes?);
    let foreign = device.saturating_sub(ours);
    let share = foreign as f64 / device.max(1) as f64;
    // Arrays read parity and other copies for one read of ours.
    let plain = subject.devices().iter().all(|device| device.kind != DeviceKind::Md);
    // Writes smaller than a block make the file system read, by workers of its own.
    let reads_only = !subject.does(OpKind::Write);
    if !plain || !reads_only || foreign < BYTES_MIN || share < SHARE_MIN {
        return None;
    }
    let message = format!(
        "{} read {} in the phase, {} of it not for this run",
        truth.devices.join(", "),
        Bytes(device),
        percent(share)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(iops_low(share / (1.0 - share.min(0.99))))
        .evidence("device_read_bytes", device)
        .evidence("process_read_bytes", ours)
        .advise("stop what else uses the device, or measure when it is idle");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{buffered, only, silent, writing};
    use crate::fixture::{SECOND, run};

    #[test]
    fn a_window_that_was_not_quiet() {
        let mut run = run();
        // The phase moved 8.2 MB/s.
        let window = |read_bytes| QuietWindow { span_ns: SECOND, ios: 100, read_bytes, written_bytes: 0 };
        run.phases[0].evidence.quiet_before = Some(window(82_000));
        silent(ID, &run);
        run.phases[0].evidence.quiet_after = Some(window(820_000));
        let finding = only(ID, &run);
        assert!(
            finding.message.starts_with("right after") && finding.bias == "IOPS 0-10 % low",
            "{finding:?}"
        );
    }

    #[test]
    fn our_own_write_back_is_not_somebody_elses() {
        let mut run = writing(buffered(run()));
        run.phases[0].evidence.quiet_after =
            Some(QuietWindow { span_ns: SECOND, ios: 100, read_bytes: 0, written_bytes: 8_200_000 });
        silent(ID, &run);
        run.plan.phases[0].jobs[0].direct = true;
        assert!(only(ID, &run).message.contains("100 %"));
    }

    #[test]
    fn reads_that_were_not_ours() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_read_bytes = Some(truth.process_read_bytes.unwrap() * 2);
        assert_eq!(only(ID, &run).bias, "IOPS 0-100 % low");
        run.environment.targets[0].devices[0].kind = DeviceKind::Md;
        silent(ID, &run);
    }

    #[test]
    fn a_device_that_cannot_be_seen_is_unchecked_once() {
        let mut run = run();
        let truth = run.phases[0].device.as_mut().unwrap();
        truth.device_read_bytes = None;
        truth.unknown_because = "nfs has no block device here".to_owned();
        let again = run.phases[0].clone();
        run.phases.push(again);
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
    }
}
