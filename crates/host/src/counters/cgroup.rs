//! Counters of the control group that this process is in.

use assay_results::counters::{CgroupCounters, CgroupIo};

use super::source::Source;
use super::system::pressure_total;
use crate::cgroup::{BLKIO_FILES, Group, Groups, IO_MAX, LimitField, add_blkio, add_io_max};
use crate::root::{HostRoot, keyed_number};

/// Reads the files of either version, or of both on a system that splits its controllers between them.
#[derive(Debug)]
pub(super) struct CgroupSampler {
    unified: Option<Unified>,
    v1: Option<V1>,
}

#[derive(Debug)]
pub(super) struct Unified {
    /// `cpu.stat` of the group and of all above it: any of them may have a quota, and may be given one meanwhile.
    cpu_stats: Vec<Source>,
    memory_current: Source,
    memory_events: Source,
    io_stat: Source,
    io_pressure: Source,
    /// Limits on devices, of the group and of all above it: they may be set while a phase goes on.
    io_max: Vec<Source>,
}

#[derive(Debug)]
pub(super) struct V1 {
    usage: Source,
    /// As in [`Unified`].
    cpu_stats: Vec<Source>,
    memory_usage: Source,
    memory_failcnt: Source,
    io_bytes: Source,
    io_count: Source,
    /// As [`Unified::io_max`], each file with what it limits.
    throttle: Vec<(Source, LimitField)>,
}

impl CgroupSampler {
    pub(super) fn of_self(root: &HostRoot) -> Self {
        let groups = Groups::of_self(root);
        let controllers = ["cpu", "cpuacct", "memory", "blkio"];
        let has_v1 = controllers.iter().any(|controller| groups.v1_directory(controller).is_some());
        Self {
            unified: groups.unified.as_ref().map(|group| Unified::new(root, group)),
            v1: has_v1.then(|| V1::new(root, &groups)),
        }
    }

    pub(super) fn snapshot(&mut self) -> Option<CgroupCounters> {
        let unified = self.unified.as_mut().map(Unified::snapshot);
        let v1 = self.v1.as_mut().map(V1::snapshot);
        match (unified, v1) {
            (Some(a), Some(b)) => Some(CgroupCounters {
                cpu_ns: b.cpu_ns.or(a.cpu_ns),
                periods: a.periods.or(b.periods),
                throttled_periods: a.throttled_periods.or(b.throttled_periods),
                throttled_ns: a.throttled_ns.or(b.throttled_ns),
                memory_bytes: a.memory_bytes.or(b.memory_bytes),
                memory_limit_hits: a.memory_limit_hits.or(b.memory_limit_hits),
                io_some_us: a.io_some_us,
                io: if a.io.is_empty() { b.io } else { a.io },
                device_limits: if a.device_limits.is_empty() { b.device_limits } else { a.device_limits },
            }),
            (one, other) => one.or(other),
        }
    }
}

impl Unified {
    fn new(root: &HostRoot, group: &Group) -> Self {
        let own = group.directory();
        Self {
            cpu_stats: cpu_stats(root, group),
            memory_current: Source::new(root, own.join("memory.current")),
            memory_events: Source::new(root, own.join("memory.events")),
            io_stat: Source::new(root, own.join("io.stat")),
            io_pressure: Source::new(root, own.join("io.pressure")),
            io_max: group.and_above().map(|directory| Source::new(root, directory.join(IO_MAX))).collect(),
        }
    }

    fn snapshot(&mut self) -> CgroupCounters {
        let mut counters = CgroupCounters {
            memory_bytes: self.memory_current.number(),
            memory_limit_hits: self.memory_events.read().and_then(|text| keyed_number(text, "max")),
            io_some_us: self.io_pressure.read().and_then(|text| pressure_total(text, "some")),
            io: self.io_stat.read().map(unified_io).unwrap_or_default(),
            ..CgroupCounters::default()
        };
        let own = self.cpu_stats.first_mut().and_then(Source::read);
        counters.cpu_ns = own.and_then(|text| keyed_number(text, "usage_usec")).map(|us| us * 1000);
        add_throttling(&mut counters, &mut self.cpu_stats, ("throttled_usec", 1000));
        for text in self.io_max.iter_mut().filter_map(Source::read) {
            add_io_max(text, &mut counters.device_limits);
        }
        counters
    }
}

/// `cpu.stat` of a group, first, and of those above it.
fn cpu_stats(root: &HostRoot, group: &Group) -> Vec<Source> {
    group.and_above().map(|directory| Source::new(root, directory.join("cpu.stat"))).collect()
}

/// Sums up what the quotas of all groups did: `time` is the key of the time and nanoseconds a unit.
fn add_throttling(counters: &mut CgroupCounters, stats: &mut [Source], (key, unit_ns): (&str, u64)) {
    let add = |sum: &mut Option<u64>, value: Option<u64>| {
        if let Some(value) = value {
            *sum = Some(sum.unwrap_or(0).saturating_add(value));
        }
    };
    for text in stats.iter_mut().filter_map(Source::read) {
        add(&mut counters.periods, keyed_number(text, "nr_periods"));
        add(&mut counters.throttled_periods, keyed_number(text, "nr_throttled"));
        add(&mut counters.throttled_ns, keyed_number(text, key).map(|time| time.saturating_mul(unit_ns)));
    }
}

/// `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`
fn unified_io(text: &str) -> Vec<CgroupIo> {
    text.lines()
        .filter_map(|line| {
            let (device, rest) = line.split_once(' ')?;
            let value = |key: &str| {
                let word = rest.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
                word.and_then(|word| word.parse().ok()).unwrap_or(0)
            };
            Some(CgroupIo {
                device: device.to_owned(),
                read_bytes: value("rbytes"),
                write_bytes: value("wbytes"),
                reads: value("rios"),
                writes: value("wios"),
            })
        })
        .collect()
}

impl V1 {
    fn new(root: &HostRoot, groups: &Groups) -> Self {
        let file = |controller: &str, file: &str| match groups.v1_directory(controller) {
            Some(directory) => Source::new(root, directory.join(file)),
            None => Source::missing(),
        };
        let blkio = groups.blkio.iter().flat_map(Group::and_above);
        let throttle = blkio.flat_map(|directory| {
            BLKIO_FILES.map(|(name, field)| (Source::new(root, directory.join(name)), field))
        });
        Self {
            throttle: throttle.collect(),
            usage: file("cpuacct", "cpuacct.usage"),
            cpu_stats: groups.cpu.as_ref().map(|group| cpu_stats(root, group)).unwrap_or_default(),
            memory_usage: file("memory", "memory.usage_in_bytes"),
            memory_failcnt: file("memory", "memory.failcnt"),
            io_bytes: file("blkio", "blkio.throttle.io_service_bytes"),
            io_count: file("blkio", "blkio.throttle.io_serviced"),
        }
    }

    fn snapshot(&mut self) -> CgroupCounters {
        let mut counters = CgroupCounters {
            cpu_ns: self.usage.number(),
            memory_bytes: self.memory_usage.number(),
            memory_limit_hits: self.memory_failcnt.number(),
            ..CgroupCounters::default()
        };
        add_throttling(&mut counters, &mut self.cpu_stats, ("throttled_time", 1));
        for (source, field) in &mut self.throttle {
            add_blkio(source.read().unwrap_or_default(), *field, &mut counters.device_limits);
        }
        let mut add = |text: Option<&str>,
                       read: fn(&mut CgroupIo) -> &mut u64,
                       write: fn(&mut CgroupIo) -> &mut u64| {
            for (device, operation, value) in text.unwrap_or_default().lines().filter_map(v1_io_line) {
                let at = counters.io.iter().position(|io| io.device == device).unwrap_or_else(|| {
                    counters.io.push(CgroupIo { device: device.to_owned(), ..CgroupIo::default() });
                    counters.io.len() - 1
                });
                match operation {
                    "Read" => *read(&mut counters.io[at]) = value,
                    "Write" => *write(&mut counters.io[at]) = value,
                    _ => {}
                }
            }
        };
        add(self.io_bytes.read(), |io| &mut io.read_bytes, |io| &mut io.write_bytes);
        add(self.io_count.read(), |io| &mut io.reads, |io| &mut io.writes);
        counters
    }
}

/// `8:0 Read 4096`; the last line, `Total 4096`, has no device.
fn v1_io_line(line: &str) -> Option<(&str, &str, u64)> {
    let mut words = line.split_whitespace();
    let (device, operation, value) = (words.next()?, words.next()?, words.next()?);
    Some((device, operation, value.parse().ok()?))
}
