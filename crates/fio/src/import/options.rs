//! What fio's options say a job was to do: as much as the results are described and judged by.
//!
//! The options that fio prints beside a result are read by the table, as those of a job file are; what cannot be read is
//! as if it had not been given.

use std::collections::BTreeMap;

use assay_formats::Position;
use assay_formats::loader::MemoryLoader;
use assay_results::foreign::{cut, engine_of};
use assay_workload::host::HostId;
use assay_workload::job::{Job, Limits, Rate};
use assay_workload::pattern::{AccessPattern, BlockSizes};
use assay_workload::plan::{
    End, Offered, Pace, PlannedJob, PlannedSite, PlannedTarget, SliceRate, ThreadSlice,
};
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;
use serde_json::Value;

use crate::lines::{RawOption, RawSection};
use crate::lower::described;
use crate::report::Report;
use crate::reporting::percentiles;
use crate::resolve::{Given, resolve};
use crate::resolved::FileSet;
use crate::section::JobSection;
use crate::settings::{Applier, Settings};
use crate::substitute::System;
use crate::text::head::head;
use crate::value::Size;

/// More threads, and more outstanding each, are not believed.
pub(super) const THREADS_MAX: u64 = 4096;
const OUTSTANDING_MAX: u64 = 1 << 20;
/// Digits behind the point of fio's own list of percentiles.
const PERCENTILE_DECIMALS: usize = 2;
/// More targets are left out of the plan.
const TARGETS_MAX: usize = 4096;

/// The options of a job.
#[derive(Debug, Clone)]
pub(crate) struct FioOptions(Settings);

/// Options of which one at least stands in every result with `job options`.
const WHAT_IT_DOES: [&str; 8] =
    ["rw", "readwrite", "bs", "bsrange", "bssplit", "size", "filename", "iodepth"];

impl FioOptions {
    /// Those of a job over those of all jobs. fio writes the latter as an object, and servers as a list of one.
    pub(crate) fn of(global: Option<&Value>, own: Option<&Value>) -> Self {
        let global = global.map(|value| value.get(0).unwrap_or(value));
        let mut texts = BTreeMap::new();
        for (name, value) in [global, own].into_iter().flatten().filter_map(Value::as_object).flatten() {
            texts.insert(name.clone(), value.as_str().map(str::to_owned));
        }
        let at = Position { file: String::new(), line: 0, column: 0 };
        let option = |(name, value)| RawOption { name, value, at: at.clone(), value_column: 0 };
        let options = texts.into_iter().filter(|(_, value)| value.is_some()).map(option).collect();
        let section = RawSection { name: "job".to_owned(), at: at.clone(), options };
        let mut settings = Settings::default();
        let (loader, system) = (&MemoryLoader::default(), &System::default());
        Applier { loader, system, replaces: false, report: &mut Report::default() }
            .apply(&mut settings, &section);
        FioOptions(settings)
    }

    fn given(&self) -> Given<'_> {
        Given::look(&self.0)
    }

    fn section(&self, name: &str) -> JobSection {
        let at = Position { file: String::new(), line: 0, column: 0 };
        JobSection { name: name.to_owned(), at, settings: self.0.clone(), opens_file: false }
    }

    /// What fio says of the job before it begins.
    pub(crate) fn head(&self) -> String {
        head(&resolve(&self.section(""), FileSet::Taken { name: String::new() }, false))
    }

    /// The percentiles that fio lists of completion latencies.
    pub(crate) fn percentiles(&self) -> Vec<f64> {
        let given = self.given();
        let lists = given.flag("clat_percentiles", true) || given.flag("lat_percentiles", false);
        if lists { percentiles(given) } else { Vec::new() }
    }

    /// Digits behind the point with which fio prints percentiles: as many as the longest in the list has.
    pub(crate) fn percentile_decimals(&self) -> usize {
        let Some(list) = self.0.get("percentile_list") else { return PERCENTILE_DECIMALS };
        let decimals = |number: &str| number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        list.written().split(':').map(decimals).max().unwrap_or(PERCENTILE_DECIMALS)
    }

    pub(super) fn engine(&self) -> &str {
        self.0.engine_name()
    }

    pub(super) fn direct(&self) -> bool {
        self.given().flag("direct", false)
    }

    /// Clones of the job.
    pub(crate) fn clones(&self) -> u64 {
        self.given().unsigned("numjobs", 1).clamp(1, THREADS_MAX)
    }

    /// Outstanding I/Os of each clone.
    pub(super) fn depth(&self) -> u64 {
        self.given().unsigned("iodepth", 1).clamp(1, OUTSTANDING_MAX)
    }

    /// How long it was to run; `None` where it may also end by its size, for fio does not print the option
    /// `time_based` in its usual form.
    fn time(&self, measured_s: f64) -> Option<Nanos> {
        let time = Nanos(self.given().micros("runtime", 0).saturating_mul(1000));
        let reached = measured_s >= 0.9 * time.as_secs_f64();
        (time.0 > 0 && (reached || self.given().flag("time_based", false))).then_some(time)
    }

    /// The job as one clone of it. `block_size` is used where the options do not say one.
    fn job(&self, name: &str, block_size: u64) -> Job {
        let mut job = described(&self.section(name));
        // Results imported so far do not say it, and are to stay comparable.
        job.pattern.repeat_passes = false;
        if WHAT_IT_DOES.iter().all(|option| self.0.get(option).is_none()) {
            // The result has no options, not those that fio sets by itself.
            job.pattern = AccessPattern::unknown(job.pattern.mix);
            return job;
        }
        if ["bs", "bsrange", "bssplit"].iter().all(|option| self.0.get(option).is_none()) {
            let pattern = &mut job.pattern;
            for sizes in [&mut pattern.read_sizes, &mut pattern.write_sizes, &mut pattern.trim_sizes] {
                *sizes = BlockSizes::Fixed(block_size.max(1));
            }
        }
        job
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
        let mut job = self.job(name, block_size);
        job.outstanding_per_thread = self.depth() as u32;
        let arrival = job.arrival;
        // fio's rate is for each clone.
        let (pace, rate) = match job.rate.scaled(threads as f64) {
            Rate::Unlimited | Rate::PercentOfMax(_) => (Pace::Closed, None),
            Rate::Iops(iops) => {
                let share = iops / threads.max(1) as f64;
                (Pace::Open { offered: Offered::Iops(iops), arrival }, Some(SliceRate::Iops(share)))
            }
            Rate::BytesPerS(bytes) => (Pace::Open { offered: Offered::BytesPerS(bytes), arrival }, None),
            Rate::Each(rates) => {
                let share = rates.scaled(1.0 / threads.max(1) as f64);
                (Pace::Open { offered: Offered::Each(rates), arrival }, Some(SliceRate::Each(share)))
            }
        };
        let Limits { bytes, ios, passes, ends_with, steady, .. } = job.limits;
        let slice = ThreadSlice { host: HostId::FIRST, seed: 0, sites, ios, bytes, rate };
        PlannedJob {
            engine: engine_of(self.engine()),
            engine_reason: None,
            direct: self.direct(),
            pace,
            end: End { time: self.time(measured_s), passes, ends_with, steady },
            operations: Vec::new(),
            slices: vec![slice; threads.clamp(1, THREADS_MAX) as usize],
            traits: job.traits,
        }
    }

    /// Where it worked: the files named, or one without a name.
    fn sites(&self, targets: &mut Vec<PlannedTarget>) -> Vec<PlannedSite> {
        let read = self.given();
        let size = match (read.span("filesize"), read.size("size")) {
            (Some((_, high)), _) => high,
            (None, Some(Size::Bytes(bytes))) => bytes,
            _ => 0,
        };
        let null = self.engine() == "null";
        let own = vec!["(fio's own files)".to_owned()];
        let mut sites = Vec::new();
        for name in read.files().map_or(&own, |names| names.as_ref()) {
            let path = cut(name);
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
                    host: HostId::FIRST,
                    path,
                    kind,
                    size_bytes: size,
                    existing_bytes: size,
                    direct_align_bytes: None,
                });
                targets.len() - 1
            });
            sites.push(PlannedSite { target: index as u32, offset_bytes: 0, length_bytes: size });
        }
        sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::plan::describe_pattern;
    use serde_json::json;

    fn pattern(options: &Value) -> String {
        describe_pattern(&FioOptions::of(None, Some(options)).job("j", 4096).pattern)
    }

    #[test]
    fn patterns_are_those_of_fio() {
        for (options, words) in [
            (json!({"rw": "randread", "bs": "4k"}), "read 4k, uniform random (each block once per pass)"),
            (
                json!({"rw": "randrw", "rwmixread": "70", "bs": "8k,16k", "norandommap": "1"}),
                "70 % read 8k, 30 % write 16k, uniform random",
            ),
            (json!({"rw": "write:8k", "bs": "1m"}), "write 1m, sequential, skipping 8k"),
            (
                json!({"rw": "randwrite", "bssplit": "4k/60:64k/40", "random_distribution": "zipf:1.2"}),
                "write 64k/40,4k/60, random zipf 1.2",
            ),
            (json!({"bsrange": "4k-64k"}), "read 4k-64k, sequential"),
            (json!({"bs": "nonsense"}), "read of unknown size, access pattern not known"),
            (json!({}), "read of unknown size, access pattern not known"),
        ] {
            assert_eq!(pattern(&options), words);
        }
    }

    #[test]
    fn own_options_stand_over_those_of_all() {
        let global = json!([{"bs": "4k", "direct": "1"}]);
        let options = FioOptions::of(Some(&global), Some(&json!({"bs": "8k"})));
        let sizes = options.job("j", 1).traits.pattern.read_sizes;
        assert_eq!((sizes, options.direct()), (BlockSizes::Fixed(8192), true));
    }
}
