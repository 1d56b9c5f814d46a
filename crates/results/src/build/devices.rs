//! What the devices of a machine did in a phase, by the counters of the workers on it.
//!
//! Several workers may be processes of one machine. Each of them counts the whole device and only its own process: the device counts
//! once, and what all of them moved is ours.

use super::machine::{DeviceStep, MachineTally};
use super::truth::{Devices, Reader, RequestedBytes};
use crate::counters::{Counters, DeviceCounters, ProcessCounters};
use crate::evidence::QuietWindow;
use crate::run::DeviceTruth;

/// What one worker counted in a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) tally: &'a MachineTally,
    /// The measured part, nanoseconds from the start of the phase.
    pub(super) window: Option<(u64, u64)>,
}

/// What the counters of a machine's workers say against what was `asked`; `None` without counters. `reader`: whose counters are ours.
pub(super) fn truth(
    workers: &[Counted<'_>],
    devices: &Devices,
    asked: &RequestedBytes,
    reader: Reader,
) -> Option<DeviceTruth> {
    if reader == Reader::Nobody {
        return None;
    }
    let mut spans: Vec<(Counted<'_>, Counters)> =
        workers.iter().filter_map(|worker| Some((*worker, worker.tally.whole()?))).collect();
    // Of what several counted, the longest span holds most of what each of them did.
    spans.sort_by_key(|(_, whole)| std::cmp::Reverse(whole.at_ns));
    spans.first()?;
    if reader == Reader::Fio {
        spans.iter_mut().for_each(|(_, whole)| whole.processes.retain(ProcessCounters::is_command));
    }
    let process = |field: fn(&ProcessCounters) -> Option<u64>| {
        let processes = || spans.iter().flat_map(|(_, whole)| &whole.processes);
        let sum: Option<u64> = processes().map(field).sum();
        sum.filter(|_| processes().next().is_some())
    };
    let device = |name: &String| spans.iter().find_map(|(_, whole)| whole.device(name));
    let missing: Vec<&str> =
        devices.names.iter().filter(|name| device(name).is_none()).map(String::as_str).collect();
    let counted = devices.unknown_because.is_none() && missing.is_empty() && !devices.names.is_empty();
    let mut reasons: Vec<String> = Vec::new();
    if let Some(why) = &devices.unknown_because {
        reasons.push(why.clone());
    } else if !missing.is_empty() {
        reasons.push(format!("no counters of {}", missing.join(", ")));
    }
    let total = |field: fn(&DeviceCounters) -> u64| {
        let of = |name: &String| device(name).map_or(0, field);
        counted.then(|| devices.names.iter().map(of).fold(0, u64::saturating_add))
    };
    let flushes: Option<u64> =
        devices.names.iter().map(|name| device(name).and_then(|device| device.flushes)).sum();
    let (depth, busy, depth_window_s) = depth(&spans, devices, counted);
    // Charged twice, it is at most what the devices did.
    let once = |charged: Option<u64>, moved: Option<u64>| match (charged, moved) {
        (Some(charged), Some(moved)) if devices.charged_twice => Some(charged.min(moved)),
        (charged, _) => charged,
    };
    let device_read_bytes = total(|device| device.read_bytes);
    let device_written_bytes = total(|device| device.write_bytes);
    let process_read_bytes = once(process(|process| process.storage_read_bytes), device_read_bytes)
        .filter(|_| devices.uncharged.is_none());
    if let Some(why) = &devices.uncharged {
        reasons.push(why.clone());
    } else if process_read_bytes.is_none() {
        reasons.push("the kernel does not say what it fetched for this process".to_owned());
    }
    Some(DeviceTruth {
        bytes_at_most: false,
        devices: devices.names.clone(),
        asked_unknown: false,
        asked_read_bytes: asked.read_bytes,
        process_read_bytes,
        device_read_bytes,
        asked_written_bytes: asked.written_bytes,
        process_written_bytes: once(process(|process| process.storage_write_bytes), device_written_bytes),
        device_written_bytes,
        device_reads: total(|device| device.reads),
        device_writes: total(|device| device.writes),
        device_flushes: flushes.filter(|_| counted),
        device_depth_mean: depth,
        device_busy_share: busy,
        depth_window_s,
        unknown_because: super::joined(&reasons),
    })
}

/// Depth of all devices together, share of time of the busiest, and seconds: over the steps within the measured part, each device by
/// the first of `spans` that knows it.
fn depth(
    spans: &[(Counted<'_>, Counters)],
    devices: &Devices,
    counted: bool,
) -> (Option<f64>, Option<f64>, f64) {
    if !counted {
        return (None, None, 0.0);
    }
    let mut depth = 0.0;
    let mut busy: Option<f64> = None;
    let mut shortest_s = f64::INFINITY;
    for (worker, whole) in spans {
        let is_first = |name: &&String| {
            let first = spans.iter().find(|(_, whole)| whole.device(name).is_some());
            first.is_some_and(|(_, first)| std::ptr::eq(first, whole))
        };
        let names: Vec<&String> = devices.names.iter().filter(is_first).collect();
        if names.is_empty() {
            continue;
        }
        let steps = worker.tally.steps_within(worker.window);
        let span_ns: u64 = steps.iter().map(|step| step.length_ns).sum();
        if span_ns == 0 {
            return (None, None, 0.0);
        }
        let share = |name: &str, field: fn(&DeviceStep) -> u64| -> f64 {
            let Some(index) = worker.tally.index(name) else { return 0.0 };
            let of_steps = steps.iter().flat_map(|step| &step.devices);
            let time_ms: u64 = of_steps.filter(|device| device.device == index).map(field).sum();
            time_ms as f64 * 1e6 / span_ns as f64
        };
        for name in names {
            depth += share(name, |device| device.weighted_time_ms);
            let of_device = share(name, |device| device.busy_time_ms).min(1.0);
            busy = Some(busy.map_or(of_device, |share| share.max(of_device)));
        }
        shortest_s = shortest_s.min(span_ns as f64 / 1e9);
    }
    (Some(depth), busy, if shortest_s.is_finite() { shortest_s } else { 0.0 })
}

/// The quiet windows of a machine's workers as one, before and after the phase.
///
/// While one of them is watching, another may still prepare its files or end its part; what goes on in the quietest window is what no
/// worker did.
pub(super) fn quiet(workers: &[(Counted<'_>, &[String])]) -> [Option<QuietWindow>; 2] {
    [0, 1].map(|side| {
        let windows = workers.iter().filter_map(|(worker, devices)| worker.tally.quiet(devices)[side]);
        windows.reduce(|a, b| {
            let least = |field: fn(&QuietWindow) -> u64| field(&a).min(field(&b));
            let own = |field: fn(&QuietWindow) -> u64| field(&a).saturating_add(field(&b));
            QuietWindow {
                span_ns: least(|window| window.span_ns),
                ios: least(|window| window.ios),
                read_bytes: least(|window| window.read_bytes),
                written_bytes: least(|window| window.written_bytes),
                own_read_bytes: own(|window| window.own_read_bytes),
                own_written_bytes: own(|window| window.own_written_bytes),
                busy_share: a.busy_share.into_iter().chain(b.busy_share).reduce(f64::min),
            }
        })
    })
}
