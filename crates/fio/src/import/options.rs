//! What fio's options say a job was to do: as much as the results are described and judged by.
//!
//! Crate `formats` reads job files in full; this reads the options that fio prints beside a result.

use std::collections::BTreeMap;

use assay_workload::job::{
    Arrival, Caching, FlushCall, FlushOrder, FlushPolicy, Job, OpenSync, PeriodicFlush, Rate,
};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, Mix, Placement, Random};
use assay_workload::plan::{PlannedJob, PlannedSite, PlannedTarget, ThreadSlice};
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;
use serde_json::Value;

use assay_results::foreign::{cut, engine_of};

/// More threads, and more outstanding each, are not believed.
pub(super) const THREADS_MAX: u64 = 4096;
const OUTSTANDING_MAX: u64 = 1 << 20;
/// More targets are left out of the plan.
const TARGETS_MAX: usize = 4096;

/// Option and value as fio prints them.
#[derive(Debug, Clone, Default)]
pub(super) struct FioOptions(BTreeMap<String, String>);

impl FioOptions {
    /// Those of a job over those of all jobs. fio writes the latter as an object, and servers as a list of one.
    pub(super) fn of(global: Option<&Value>, own: Option<&Value>) -> Self {
        let global = global.map(|value| value.get(0).unwrap_or(value));
        let mut options = BTreeMap::new();
        for (name, value) in [global, own].into_iter().flatten().filter_map(Value::as_object).flatten() {
            if let Some(text) = value.as_str() {
                options.insert(name.clone(), text.to_owned());
            }
        }
        FioOptions(options)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(bytes)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|text| !text.starts_with('0'))
    }

    pub(super) fn engine(&self) -> &str {
        self.text("ioengine").unwrap_or("psync")
    }

    pub(super) fn direct(&self) -> bool {
        self.flag("direct").or(self.flag("buffered").map(|buffered| !buffered)).unwrap_or(false)
    }

    /// Clones of the job.
    pub(super) fn clones(&self) -> u64 {
        self.number("numjobs").unwrap_or(1).clamp(1, THREADS_MAX)
    }

    /// Outstanding I/Os of each clone.
    pub(super) fn depth(&self) -> u64 {
        self.number("iodepth").unwrap_or(1).clamp(1, OUTSTANDING_MAX)
    }

    /// How long it was to run; `None` where it may also end by its size, for fio does not print the option
    /// `time_based` in its usual form.
    fn time(&self, measured_s: f64) -> Option<Nanos> {
        let time = nanos(self.text("runtime").or(self.text("timeout"))?)?;
        let reached = measured_s >= 0.9 * time.as_secs_f64();
        (time.0 > 0 && (reached || self.flag("time_based") == Some(true))).then_some(time)
    }

    /// The rate of `sharers`: fio's is for each clone, and for reads and writes each.
    fn rate(&self, sharers: f64) -> Rate {
        let each = |name: &str| self.number(name).filter(|rate| *rate > 0);
        match (each("rate_iops"), each("rate")) {
            (Some(iops), _) => Rate::Iops(iops as f64 * sharers),
            (None, Some(bytes)) => Rate::BytesPerS(bytes as f64 * sharers),
            (None, None) => Rate::Unlimited,
        }
    }

    fn flush(&self) -> FlushPolicy {
        let open = match self.text("sync") {
            Some("sync" | "1") => OpenSync::Sync,
            Some("dsync") => OpenSync::Dsync,
            _ => OpenSync::None,
        };
        let calls = [("fdatasync", FlushCall::Fdatasync), ("fsync", FlushCall::Fsync)];
        let periodic = calls.into_iter().find_map(|(name, call)| {
            let every_writes = u32::try_from(self.number(name)?).ok().filter(|every| *every > 0)?;
            Some(PeriodicFlush { call, every_writes, order: FlushOrder::Queued })
        });
        FlushPolicy { open, periodic, at_end: self.flag("end_fsync").unwrap_or(false) }
    }

    /// The access pattern. `block_size` is used where the options do not say one.
    pub(super) fn pattern(&self, block_size: u64) -> AccessPattern {
        let word = self.text("rw").or(self.text("readwrite")).unwrap_or("read");
        let word = word.split([':', ',']).next().unwrap_or(word);
        let (random, word) = word.strip_prefix("rand").map_or((false, word), |rest| (true, rest));
        let mix = match word {
            "write" => Mix::WRITE,
            "trim" => Mix::TRIM,
            "rw" | "readwrite" => Mix::read_write(self.read_percent()),
            "trimwrite" => Mix { read_percent: 0.0, write_percent: 50.0, trim_percent: 50.0 },
            _ => Mix::READ,
        };
        let placement = if random { self.random() } else { Placement::sequential() };
        let mut pattern = AccessPattern::new(mix, block_size.max(1), placement);
        let [read, write, trim] = self.sizes(block_size.max(1));
        (pattern.read_sizes, pattern.write_sizes, pattern.trim_sizes) = (read, write, trim);
        pattern
    }

    fn read_percent(&self) -> f64 {
        let read = self.number("rwmixread");
        let write = self.number("rwmixwrite").map(|percent| 100_u64.saturating_sub(percent));
        read.or(write).unwrap_or(50).min(100) as f64
    }

    fn random(&self) -> Placement {
        let text = self.text("random_distribution").unwrap_or("random");
        let mut words = text.split(':');
        let word = words.next().unwrap_or("");
        let value = words.next().and_then(|value| value.parse().ok()).filter(|value: &f64| value.is_finite());
        let distribution = match (word, value) {
            ("zipf", theta) => Distribution::Zipf { theta: theta.unwrap_or(1.1) },
            ("pareto", h) => Distribution::Pareto { h: h.unwrap_or(0.2) },
            ("normal", Some(stddev_percent)) => Distribution::Normal { stddev_percent },
            _ => Distribution::Uniform,
        };
        let mapped = distribution == Distribution::Uniform && self.flag("norandommap") != Some(true);
        Placement::Random(Random { distribution, once_per_pass: mapped })
    }

    /// Sizes of reads, writes and trims.
    fn sizes(&self, otherwise: u64) -> [BlockSizes; 3] {
        let three = |text: &str, read: fn(&str) -> Option<BlockSizes>| {
            let mut parts = text.split(',');
            let first = read(parts.next()?)?;
            let second = parts.next().and_then(read).unwrap_or_else(|| first.clone());
            let third = parts.next().and_then(read).unwrap_or_else(|| second.clone());
            Some([first, second, third])
        };
        let fixed = |text: &str| bytes(text).filter(|size| *size > 0).map(BlockSizes::Fixed);
        let split = self.text("bssplit").and_then(|text| three(text, split_sizes));
        let range = || self.text("bsrange").and_then(|text| three(text, range_sizes));
        let plain = || self.text("bs").or(self.text("blocksize")).and_then(|text| three(text, fixed));
        let otherwise = BlockSizes::Fixed(otherwise);
        split
            .or_else(range)
            .or_else(plain)
            .unwrap_or_else(|| [otherwise.clone(), otherwise.clone(), otherwise])
    }

    /// The job as planned, its targets being added to `targets`. `threads` clones did it, for `measured_s` seconds.
    pub(super) fn planned(
        &self,
        name: &str,
        threads: u64,
        measured_s: f64,
        block_size: u64,
        targets: &mut Vec<PlannedTarget>,
    ) -> PlannedJob {
        let sites = self.sites(targets);
        let names: Vec<String> = sites
            .iter()
            .filter_map(|site| targets.get(usize::from(site.target)))
            .map(|target| target.name.clone())
            .collect();
        let mut job = Job::new(name, &[], self.pattern(block_size));
        job.targets = names;
        job.threads = threads as u32;
        job.outstanding_per_thread = self.depth() as u32;
        let kinds = job.pattern.kinds().count().max(1);
        job.rate = self.rate(threads as f64 * kinds as f64);
        if self.text("rate_process") == Some("poisson") {
            job.arrival = Arrival::Poisson;
        }
        job.ramp = self.text("ramp_time").and_then(nanos).unwrap_or(Nanos(0));
        job.flush = self.flush();
        job.caching = if self.direct() { Caching::Direct } else { Caching::Buffered };
        let rate_per_s = match job.rate {
            Rate::Iops(iops) => Some(iops / threads.max(1) as f64),
            _ => None,
        };
        let slice = ThreadSlice { seed: 0, sites, ios: None, bytes: None, rate_per_s };
        PlannedJob {
            engine: engine_of(self.engine()),
            engine_reason: String::new(),
            direct: self.direct(),
            time: self.time(measured_s),
            slices: vec![slice; threads.clamp(1, THREADS_MAX) as usize],
            job,
        }
    }

    /// Where it worked: the files named, or one without a name.
    fn sites(&self, targets: &mut Vec<PlannedTarget>) -> Vec<PlannedSite> {
        let size = self.number("filesize").or(self.number("size")).unwrap_or(0);
        let null = self.engine() == "null";
        let names = self.text("filename").unwrap_or("(fio's own files)").replace("\\:", "\u{0}");
        let mut sites = Vec::new();
        for name in names.split(':').filter(|name| !name.is_empty()) {
            let path = cut(&name.replace('\u{0}', ":"));
            let known = targets.iter().position(|target| target.path == path);
            if known.is_none() && targets.len() >= TARGETS_MAX {
                break;
            }
            let index = known.unwrap_or_else(|| {
                let kind = match path.strip_prefix("/dev/") {
                    _ if null => TargetKind::Null,
                    Some(_) => TargetKind::BlockDevice,
                    None => TargetKind::File,
                };
                targets.push(PlannedTarget {
                    name: path.clone(),
                    path,
                    kind,
                    size_bytes: size,
                    existing_bytes: size,
                    direct_align_bytes: None,
                });
                targets.len() - 1
            });
            sites.push(PlannedSite { target: index as u16, offset_bytes: 0, length_bytes: size });
        }
        sites
    }
}

/// A number with fio's unit; the powers of 1024, as fio has them unless told otherwise.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value: u64 = text[..end].parse().ok()?;
    let shift = match text[end..].chars().next().map(|c| c.to_ascii_lowercase()) {
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        Some('p') => 50,
        _ => 0,
    };
    value.checked_shl(shift).filter(|product| product >> shift == value)
}

/// A time with fio's unit; without one it is seconds. fio takes a unit that it does not know for microseconds.
fn nanos(text: &str) -> Option<Nanos> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value: u64 = text[..end].parse().ok()?;
    let factor: u64 = match text[end..].to_ascii_lowercase().as_str() {
        "" | "s" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => 1_000,
    };
    value.checked_mul(factor).map(Nanos)
}

/// `4k/60:64k/40`.
fn split_sizes(text: &str) -> Option<BlockSizes> {
    let entries = text.split(':').take(64).map(|entry| {
        let (size, weight) = entry.split_once('/').unwrap_or((entry, ""));
        let weight = weight.parse::<u32>().unwrap_or(1);
        bytes(size).filter(|size| *size > 0).map(|size| (size, f64::from(weight)))
    });
    entries.collect::<Option<Vec<_>>>().map(BlockSizes::Weighted)
}

/// `4k-64k`.
fn range_sizes(text: &str) -> Option<BlockSizes> {
    let (low, high) = text.split_once('-').or_else(|| text.split_once(':'))?;
    let (low, high) = (bytes(low)?, bytes(high)?);
    let (min_bytes, max_bytes) = (low.min(high), low.max(high));
    (min_bytes > 0).then_some(BlockSizes::Range { min_bytes, max_bytes, step_bytes: min_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::plan::describe_pattern;
    use serde_json::json;

    fn pattern(options: &Value) -> String {
        describe_pattern(&FioOptions::of(None, Some(options)).pattern(4096))
    }

    #[test]
    fn patterns_are_those_of_fio() {
        for (options, words) in [
            (json!({"rw": "randread", "bs": "4k"}), "read 4k, random uniform once per pass"),
            (
                json!({"rw": "randrw", "rwmixread": "70", "bs": "8k,16k", "norandommap": "1"}),
                "70 % read 8k, 30 % write 16k, random uniform",
            ),
            (json!({"rw": "write:8k", "bs": "1m"}), "write 1m, sequential"),
            (
                json!({"rw": "randwrite", "bssplit": "4k/60:64k/40", "random_distribution": "zipf:1.2"}),
                "write 4k/60,64k/40, random zipf 1.2",
            ),
            (json!({"bsrange": "4k-64k"}), "read 4k-64k, sequential"),
            (json!({"bs": "nonsense"}), "read 4k, sequential"),
        ] {
            assert_eq!(pattern(&options), words);
        }
    }

    #[test]
    fn own_options_stand_over_those_of_all() {
        let global = json!([{"bs": "4k", "direct": "1"}]);
        let options = FioOptions::of(Some(&global), Some(&json!({"bs": "8k"})));
        assert_eq!((options.text("bs"), options.direct()), (Some("8k"), true));
    }

    #[test]
    fn units_are_those_of_fio() {
        assert_eq!(bytes("4KB"), Some(4096));
        assert_eq!(bytes("99999999999p"), None);
        assert_eq!(nanos("2m"), Some(Nanos::from_secs(120)));
        assert_eq!(nanos("60sec"), Some(Nanos(60_000)));
    }
}
