//! The counters of a phase: kept in brief, so that a long run does not hold every snapshot.

use crate::counters::{Counters, ProcessCounters};
use crate::environment::CgroupDeviceLimit;
use crate::evidence::{InterfaceUse, LimitInForce, MachineSecond, PhaseEvidence, QuietWindow};
use crate::varint::{put, put_signed, take, take_signed};

/// More changes of limits on devices than this are not kept.
const LIMITS_MAX: usize = 100;

/// The counters of one phase while they come in.
#[derive(Debug, Clone, Default)]
pub(super) struct MachineTally {
    /// Before the phase started: the first of two bounds a quiet window.
    before: Option<Box<(Counters, Counters)>>,
    first: Option<Box<Counters>>,
    last: Option<Box<Counters>>,
    /// After it finished.
    after: Option<Box<(Counters, Counters)>>,
    /// Differences of neighbours; process and system parts in brief.
    steps: PackedSteps,
    /// Devices that counters named, told once for all steps.
    names: Vec<String>,
    io_workers_max: u64,
    dirty_bytes_max: Option<u64>,
    limits: Vec<LimitInForce>,
}

/// What happened between two snapshots.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// Start, nanoseconds after the first snapshot.
    start_ns: u64,
    pub(super) length_ns: u64,
    cpu_busy_share: Option<f64>,
    steal_share: Option<f64>,
    /// Those that did something, and none more: most devices of a machine are idle in most seconds.
    pub(super) devices: Box<[DeviceStep]>,
    /// How many of the names had been told by then.
    told: u32,
    /// Those of them without counters in this step.
    without: Box<[u32]>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeviceStep {
    /// Index among the names.
    pub(super) device: u32,
    read_bytes: u64,
    written_bytes: u64,
    pub(super) weighted_time_ms: u64,
    pub(super) busy_time_ms: u64,
}

/// Steps one behind the other in some tens of bytes each, so that a run of days stays small.
#[derive(Debug, Clone, Default)]
struct PackedSteps {
    bytes: Vec<u8>,
    end_ns: u64,
    length_ns: u64,
}

impl PackedSteps {
    fn push(&mut self, step: &Step) {
        put_signed(&mut self.bytes, step.start_ns.wrapping_sub(self.end_ns) as i64);
        put_signed(&mut self.bytes, step.length_ns.wrapping_sub(self.length_ns) as i64);
        (self.end_ns, self.length_ns) = (step.start_ns.wrapping_add(step.length_ns), step.length_ns);
        let shares = [step.cpu_busy_share, step.steal_share];
        let known = shares.iter().fold(0_u8, |bits, share| bits << 1 | u8::from(share.is_some()));
        self.bytes.push(known);
        shares.iter().flatten().for_each(|share| self.bytes.extend(share.to_le_bytes()));
        put(&mut self.bytes, step.devices.len() as u64);
        for device in &step.devices {
            put(&mut self.bytes, u64::from(device.device));
            let DeviceStep { read_bytes, written_bytes, weighted_time_ms, busy_time_ms, .. } = *device;
            for value in [read_bytes, written_bytes, weighted_time_ms, busy_time_ms] {
                put(&mut self.bytes, value);
            }
        }
        put(&mut self.bytes, u64::from(step.told));
        put(&mut self.bytes, step.without.len() as u64);
        step.without.iter().for_each(|index| put(&mut self.bytes, u64::from(*index)));
    }

    fn iter(&self) -> impl Iterator<Item = Step> + '_ {
        let (mut rest, mut end_ns, mut length_ns) = (&self.bytes[..], 0_u64, 0_u64);
        std::iter::from_fn(move || {
            let start_ns = end_ns.wrapping_add(take_signed(&mut rest)? as u64);
            length_ns = length_ns.wrapping_add(take_signed(&mut rest)? as u64);
            end_ns = start_ns.wrapping_add(length_ns);
            let known = take_byte(&mut rest)?;
            let cpu_busy_share = if known & 2 == 0 { None } else { Some(take_share(&mut rest)?) };
            let steal_share = if known & 1 == 0 { None } else { Some(take_share(&mut rest)?) };
            let number = take(&mut rest)?;
            let devices = (0..number).map(|_| take_device(&mut rest)).collect::<Option<_>>()?;
            let told = take(&mut rest)? as u32;
            let number = take(&mut rest)?;
            let without =
                (0..number).map(|_| take(&mut rest).map(|index| index as u32)).collect::<Option<_>>()?;
            Some(Step { start_ns, length_ns, cpu_busy_share, steal_share, devices, told, without })
        })
    }
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take_share(bytes: &mut &[u8]) -> Option<f64> {
    let (share, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(f64::from_le_bytes(*share))
}

fn take_device(bytes: &mut &[u8]) -> Option<DeviceStep> {
    Some(DeviceStep {
        device: take(bytes)? as u32,
        read_bytes: take(bytes)?,
        written_bytes: take(bytes)?,
        weighted_time_ms: take(bytes)?,
        busy_time_ms: take(bytes)?,
    })
}

impl MachineTally {
    /// Takes a snapshot; `place` is whether the phase has started, and whether it has finished.
    pub(super) fn feed(&mut self, record: &Counters, place: (bool, bool)) {
        match place {
            (false, _) => widen(&mut self.before, record),
            (true, true) => widen(&mut self.after, record),
            (true, false) => self.feed_within(record),
        }
    }

    fn feed_within(&mut self, record: &Counters) {
        let workers = record.processes.iter().map(|process| process.io_workers).sum();
        self.io_workers_max = self.io_workers_max.max(workers);
        self.dirty_bytes_max = self.dirty_bytes_max.max(record.system.dirty_bytes);
        if let (Some(first), Some(last)) = (&self.first, &self.last) {
            let step = step(&mut self.names, first, last, record);
            self.steps.push(&step);
        }
        if self.first.is_none() {
            self.first = Some(Box::new(record.clone()));
        }
        let first_ns = self.first.as_ref().map_or(0, |first| first.at_ns);
        let seconds = |at_ns: u64| at_ns.saturating_sub(first_ns) as f64 / 1e9;
        let readings_s = (self.last.as_ref().map_or(0.0, |last| seconds(last.at_ns)), seconds(record.at_ns));
        for limit in record.cgroup.iter().flat_map(|cgroup| &cgroup.device_limits) {
            self.feed_limit(limit, readings_s);
        }
        self.last = Some(Box::new(record.clone()));
    }

    /// A limit is the same one until a reading shows the device with another, or with none.
    fn feed_limit(&mut self, limit: &CgroupDeviceLimit, (last_s, at_s): (f64, f64)) {
        let full = self.limits.len() >= LIMITS_MAX;
        let last = self.limits.iter_mut().rev().find(|known| known.limit.device == limit.device);
        match last {
            Some(known) if known.limit == *limit && known.end_s >= last_s => known.end_s = at_s,
            _ if full => {}
            _ => self.limits.push(LimitInForce { limit: limit.clone(), start_s: at_s, end_s: at_s }),
        }
    }

    /// What happened from the first to the last snapshot of the phase.
    pub(super) fn whole(&self) -> Option<Counters> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        (last.at_ns > first.at_ns).then(|| Counters::delta(first, last))
    }

    /// The steps within the measured part, nanoseconds from the start of the phase, which the first snapshot is taken to mark; all, where
    /// none lies within it.
    pub(super) fn steps_within(&self, window: Option<(u64, u64)>) -> Vec<Step> {
        let within = |step: &Step| {
            window.is_some_and(|(start, end)| {
                // A snapshot is taken a moment after the clock it belongs to.
                let slack = step.length_ns / 10;
                step.start_ns + slack >= start && step.start_ns + step.length_ns <= end + slack
            })
        };
        let steps: Vec<Step> = self.steps.iter().filter(within).collect();
        if steps.is_empty() { self.steps.iter().collect() } else { steps }
    }

    /// The quiet windows before and after the phase.
    pub(super) fn quiet(&self, devices: &[String]) -> [Option<QuietWindow>; 2] {
        [&self.before, &self.after]
            .map(|pair| pair.as_ref().and_then(|pair| quiet_window(&pair.0, &pair.1, devices)))
    }

    /// Of a device among the names.
    pub(super) fn index(&self, device: &str) -> Option<u32> {
        self.names.iter().position(|name| name == device).map(|index| index as u32)
    }

    /// What the checks and the charts need of the machine.
    pub(super) fn evidence(&self, devices: &[String]) -> PhaseEvidence {
        let [quiet_before, quiet_after] = self.quiet(devices);
        let indices: Option<Vec<u32>> = devices.iter().map(|device| self.index(device)).collect();
        let mut evidence = PhaseEvidence {
            io_workers_max: self.io_workers_max,
            device_limits: self.limits.clone(),
            dirty_bytes_max: self.dirty_bytes_max,
            quiet_before,
            quiet_after,
            seconds: self.steps.iter().map(|step| machine_second(&step, indices.as_deref())).collect(),
            ..PhaseEvidence::default()
        };
        let Some(whole) = self.whole() else { return evidence };
        evidence.span_ns = whole.at_ns;
        evidence.cpu_busy_share = whole.system.cpu.busy_share();
        evidence.steal_share = whole.system.cpu.steal_share();
        let per_s = |bytes: u64| bytes as f64 * 1e9 / whole.at_ns as f64;
        let used = whole.interfaces.iter().map(|interface| InterfaceUse {
            name: interface.name.clone(),
            received_bytes_per_s: per_s(interface.received_bytes),
            sent_bytes_per_s: per_s(interface.sent_bytes),
        });
        evidence.interfaces = used.collect();
        let kernel_ns = whole.system.kernel_threads_ns.map(|ns| ns + whole.system.cpu.interrupt_ns);
        evidence.kernel_cpus_used = kernel_ns.map(|ns| ns as f64 / whole.at_ns as f64);
        if !whole.processes.is_empty() {
            let cpu_ns: u64 = whole.processes.iter().map(|process| process.cpu_ns()).sum();
            evidence.process_cpus_used = Some(cpu_ns as f64 / whole.at_ns as f64);
        }
        let own = whole.processes.iter().find(|process| process.stops.is_some());
        (evidence.stopped_ns, evidence.stops) =
            own.map_or((None, None), |process| (process.stopped_ns, process.stops));
        if let Some(cgroup) = &whole.cgroup {
            evidence.throttled_ns = cgroup.throttled_ns;
            let periods = cgroup.periods.filter(|periods| *periods > 0);
            evidence.throttled_period_share =
                periods.zip(cgroup.throttled_periods).map(|(all, held)| held as f64 / all as f64);
        }
        evidence
    }
}

/// Keeps the first and the last snapshot.
fn widen(pair: &mut Option<Box<(Counters, Counters)>>, record: &Counters) {
    match pair {
        Some(pair) => pair.1 = record.clone(),
        None => *pair = Some(Box::new((record.clone(), record.clone()))),
    }
}

fn step(names: &mut Vec<String>, first: &Counters, last: &Counters, record: &Counters) -> Step {
    let delta = Counters::delta(last, record);
    for device in &delta.devices {
        if !names.contains(&device.name) {
            names.push(device.name.clone());
        }
    }
    let without = (0_u32..).zip(names.iter()).filter(|(_, name)| delta.device(name).is_none());
    let devices = (0_u32..).zip(names.iter()).filter_map(|(index, name)| {
        let of = delta.device(name)?;
        let idle = (of.read_bytes, of.write_bytes, of.weighted_time_ms, of.busy_time_ms) == (0, 0, 0, 0);
        (!idle).then_some(DeviceStep {
            device: index,
            read_bytes: of.read_bytes,
            written_bytes: of.write_bytes,
            weighted_time_ms: of.weighted_time_ms,
            busy_time_ms: of.busy_time_ms,
        })
    });
    Step {
        start_ns: last.at_ns.saturating_sub(first.at_ns),
        length_ns: delta.at_ns,
        cpu_busy_share: delta.system.cpu.busy_share(),
        steal_share: delta.system.cpu.steal_share(),
        devices: devices.collect(),
        told: names.len() as u32,
        without: without.map(|(index, _)| index).collect(),
    }
}

/// `devices`: by index; `None` where one never had counters.
fn machine_second(step: &Step, devices: Option<&[u32]>) -> MachineSecond {
    let length_s = step.length_ns as f64 / 1e9;
    let devices = devices.unwrap_or_default();
    let counted = |index: &u32| *index < step.told && !step.without.contains(index);
    let known = !devices.is_empty() && devices.iter().all(counted) && length_s > 0.0;
    let sum = |field: fn(&DeviceStep) -> u64| {
        let found = step.devices.iter().filter(|device| devices.contains(&device.device));
        known.then(|| found.map(|device| field(device) as f64).sum::<f64>() / length_s)
    };
    MachineSecond {
        start_s: step.start_ns as f64 / 1e9,
        length_s,
        cpu_busy_share: step.cpu_busy_share,
        steal_share: step.steal_share,
        device_read_bytes_per_s: sum(|device| device.read_bytes),
        device_written_bytes_per_s: sum(|device| device.written_bytes),
        device_depth_mean: sum(|device| device.weighted_time_ms).map(|per_s| per_s / 1e3),
    }
}

/// `None` for an empty span, or where a device has no counters.
fn quiet_window(earlier: &Counters, later: &Counters, devices: &[String]) -> Option<QuietWindow> {
    let delta = Counters::delta(earlier, later);
    if delta.at_ns == 0 || devices.is_empty() {
        return None;
    }
    let own = |field: fn(&ProcessCounters) -> Option<u64>| {
        delta.processes.iter().filter_map(field).fold(0, u64::saturating_add)
    };
    let mut window = QuietWindow {
        span_ns: delta.at_ns,
        own_read_bytes: own(|process| process.storage_read_bytes),
        own_written_bytes: own(|process| process.storage_write_bytes),
        ..QuietWindow::default()
    };
    for name in devices {
        let device = delta.device(name)?;
        let busy = (device.busy_time_ms as f64 * 1e6 / delta.at_ns as f64).min(1.0);
        window.busy_share = Some(window.busy_share.map_or(busy, |share| share.max(busy)));
        window.ios = window.ios.saturating_add(device.ios());
        window.read_bytes = window.read_bytes.saturating_add(device.read_bytes);
        window.written_bytes = window.written_bytes.saturating_add(device.write_bytes);
    }
    Some(window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::DeviceCounters;

    fn snapshot(second: u64, names: &[String]) -> Counters {
        let device = |name: &String| DeviceCounters {
            name: name.clone(),
            read_bytes: if name == "d0" { second * 4096 } else { 7 },
            ..DeviceCounters::default()
        };
        let devices = names.iter().map(device).collect();
        Counters { at_ns: second * 1_000_000_000, devices, ..Counters::default() }
    }

    #[test]
    fn a_second_takes_no_memory_for_devices_that_are_idle_and_still_knows_them() {
        let names: Vec<String> = (0..100).map(|index| format!("d{index}")).collect();
        let mut tally = MachineTally::default();
        for second in 1..=10 {
            // The last one vanishes in the middle.
            let there = if second <= 5 { &names[..] } else { &names[..99] };
            tally.feed(&snapshot(second, there), (true, false));
        }
        assert!(tally.steps.iter().all(|step| step.devices.len() == 1));
        assert_eq!(tally.steps.iter().count(), 9);
        let read = |device: &str| -> Vec<Option<f64>> {
            let evidence = tally.evidence(&[device.to_owned()]);
            evidence.seconds.iter().map(|second| second.device_read_bytes_per_s).collect()
        };
        assert_eq!(read("d0"), [Some(4096.0); 9]);
        assert_eq!(read("d1"), [Some(0.0); 9]);
        assert_eq!(read("d99"), [vec![Some(0.0); 4], vec![None; 5]].concat());
        assert_eq!(read("other"), [None; 9]);
    }

    #[test]
    fn a_step_is_unpacked_as_it_was() {
        let device = DeviceStep {
            device: 3,
            read_bytes: 123_456_789,
            written_bytes: u64::MAX,
            weighted_time_ms: 0,
            busy_time_ms: 999,
        };
        let step = |at: u64, cpu_busy_share: Option<f64>, steal_share: Option<f64>| Step {
            start_ns: at * 1_000_000_007,
            length_ns: 1_000_000_007 - at,
            cpu_busy_share,
            steal_share,
            devices: vec![device.clone(); at as usize].into(),
            told: at as u32,
            without: (0..at as u32).collect(),
        };
        let steps = [
            step(0, None, None),
            step(1, Some(0.25), None),
            step(2, None, Some(1e-9)),
            step(9, Some(1.0), Some(0.0)),
        ];
        let mut packed = PackedSteps::default();
        steps.iter().for_each(|step| packed.push(step));
        assert_eq!(packed.iter().collect::<Vec<_>>(), steps);
    }
}
