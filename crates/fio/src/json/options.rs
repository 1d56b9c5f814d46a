//! The options of a job in fio's names: what scripts look up beside the numbers.
//!
//! A description of what was done, not a job file: [`write`](crate::write()) makes those.

use assay_results::Run;
use assay_results::foreign::planned_of;
use assay_results::run::{JobResult, PhaseResult};
use assay_workload::FileOperation;
use assay_workload::job::{Arrival, EngineKind, FlushCall, FlushPolicy, OpenSync, Traits};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement};
use assay_workload::plan::{Offered, Pace, PlannedJob};
use assay_workload::units::{Bytes, Nanos};

use crate::distribution::normal_deviation;

/// Option and value, in fio's usual order.
pub(crate) type Options = Vec<(String, String)>;

/// The options of a reported job: those of the first of its planned jobs, as fio reports a group.
pub(crate) fn options(run: &Run, phase: &PhaseResult, job: &JobResult) -> Options {
    let (_, planned) = planned_of(run, phase, job);
    let mut options = Options::new();
    let mut set = |name: &str, value: String| options.push((name.to_owned(), value));
    set("name", job.name.clone());
    let Some(first) = planned.first() else {
        set("ioengine", fio_engine(job.engine.as_str()));
        set("rw", rw_of_result(job).to_owned());
        set("bs", Bytes(job.total.block_size).short());
        set("iodepth", job.outstanding_io.max(1).to_string());
        set("numjobs", "1".to_owned());
        set("direct", u8::from(job.direct).to_string());
        return options;
    };
    let engine = if job.engine.is_known() { job.engine.as_str() } else { first.engine.name() };
    let called = first.file_operation.map(FileOperation::fio_engine);
    set("ioengine", called.map_or_else(|| fio_engine(engine), |(engine, _)| engine.to_owned()));
    if let Some((_, Some(stat_type))) = called {
        set("stat_type", stat_type.to_owned());
    }
    // What is not known of an observed command is left out.
    rw_word(&first.pattern).into_iter().for_each(|word| set("rw", word));
    sizes_word(&first.pattern).into_iter().for_each(|word| set("bs", word));
    let threads: usize = planned.iter().map(|job| job.slices.len()).sum();
    if first.outstanding_per_thread > 0 {
        set("iodepth", first.outstanding_per_thread.to_string());
        set("numjobs", threads.max(1).to_string());
    }
    set("direct", u8::from(job.direct).to_string());
    set("filename", filename(run, first));
    set("size", first.slices.first().map_or(0, slice_bytes).to_string());
    pattern_options(&first.pattern, &mut set);
    pace_options(first, &mut set);
    flush_options(&first.flush, &mut set);
    options
}

fn slice_bytes(slice: &assay_workload::plan::ThreadSlice) -> u64 {
    slice.sites.iter().fold(0, |sum, site| sum.saturating_add(site.length_bytes))
}

/// The name of an engine in fio's words; one that fio does not have keeps ours. That of an imported run has the tool
/// before it.
fn fio_engine(name: &str) -> String {
    let name = name.strip_prefix("fio ").unwrap_or(name);
    // What is spelt as fio does stays, `sync` among it.
    let ours = EngineKind::ALL.into_iter().find(|kind| kind.name() == name);
    ours.and_then(EngineKind::fio_name).unwrap_or(name).to_owned()
}

/// fio's `rw` of a pattern; `None`: not known whether it is random.
pub(crate) fn rw_word(pattern: &AccessPattern) -> Option<String> {
    let mix = pattern.mix;
    let word = match (mix.read_percent > 0.0, mix.write_percent > 0.0, mix.trim_percent > 0.0) {
        (true, true, _) => "rw",
        (_, true, true) => "trimwrite",
        (false, true, false) => "write",
        (false, false, true) => "trim",
        _ => "read",
    };
    let random = pattern.placement.known_random()?;
    Some(if random { format!("rand{word}") } else { word.to_owned() })
}

/// The same from what was done, where no plan says where.
fn rw_of_result(job: &JobResult) -> &'static str {
    match (&job.read, &job.write, &job.trim) {
        (Some(_), Some(_), _) => "rw",
        (None, Some(_), _) => "write",
        (None, None, Some(_)) => "trim",
        _ => "read",
    }
}

/// fio's `bs` of a pattern: one size, or several where the operations differ; a list as `bssplit` has it. `None`: not known.
fn sizes_word(pattern: &AccessPattern) -> Option<String> {
    let words: Vec<String> =
        pattern.kinds().map(|kind| size_word(pattern.sizes(kind))).collect::<Option<_>>()?;
    match words.split_first() {
        Some((first, rest)) if rest.iter().all(|word| word == first) => Some(first.clone()),
        Some(_) => {
            let all: Option<Vec<String>> =
                OpKind::DATA.iter().map(|kind| size_word(pattern.sizes(*kind))).collect();
            Some(all?.join(","))
        }
        None => Some("0".to_owned()),
    }
}

fn size_word(sizes: &BlockSizes) -> Option<String> {
    Some(match sizes {
        BlockSizes::Fixed(bytes) => Bytes(*bytes).short(),
        BlockSizes::Weighted(list) => {
            let parts = list.iter().map(|(bytes, weight)| format!("{}/{weight}", Bytes(*bytes).short()));
            parts.collect::<Vec<_>>().join(":")
        }
        BlockSizes::Range { min_bytes, max_bytes, .. } => {
            format!("{}-{}", Bytes(*min_bytes).short(), Bytes(*max_bytes).short())
        }
        BlockSizes::Unknown => return None,
    })
}

fn filename(run: &Run, planned: &PlannedJob) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for site in planned.slices.iter().flat_map(|slice| &slice.sites) {
        let target = run.plan.targets.get(site.target as usize);
        let path = target.map(|target| target.path.as_str()).filter(|path| !paths.contains(path));
        paths.extend(path);
    }
    paths.iter().map(|path| path.replace(':', "\\:")).collect::<Vec<_>>().join(":")
}

fn pattern_options(pattern: &AccessPattern, set: &mut dyn FnMut(&str, String)) {
    let mix = pattern.mix;
    if mix.read_percent > 0.0 && mix.write_percent > 0.0 {
        let share = 100.0 * mix.read_percent / (mix.read_percent + mix.write_percent);
        set("rwmixread", share.round().to_string());
    }
    let random = match &pattern.placement {
        Placement::Sequential(_) | Placement::Unknown => None,
        Placement::Random(random) => Some(random),
        Placement::Mixed { random_percent, random, .. } => {
            set("percentage_random", random_percent.to_string());
            Some(random)
        }
    };
    if let Some(random) = random {
        match &random.distribution {
            Distribution::Zipf { theta } => set("random_distribution", format!("zipf:{theta}")),
            Distribution::Pareto { h } => set("random_distribution", format!("pareto:{h}")),
            Distribution::Normal { stddev_percent, .. } => {
                set("random_distribution", format!("normal:{}", normal_deviation(*stddev_percent)));
            }
            Distribution::Sequence { .. } => set("random_distribution", "sequence".to_owned()),
            Distribution::Zoned(_) => set("random_distribution", "zoned".to_owned()),
            Distribution::Uniform if !random.once_per_pass => set("norandommap", "1".to_owned()),
            _ => {}
        }
    }
}

fn pace_options(planned: &PlannedJob, set: &mut dyn FnMut(&str, String)) {
    let Traits { ramp, start_delay, .. } = &planned.traits;
    if let Some(time) = planned.end.time {
        set("runtime", time_word(time));
        set("time_based", "1".to_owned());
    }
    if ramp.0 > 0 {
        set("ramp_time", time_word(*ramp));
    }
    if start_delay.0 > 0 {
        set("startdelay", time_word(*start_delay));
    }
    if let Some(bytes) = planned.slices.first().and_then(|slice| slice.bytes) {
        set("io_size", bytes.to_string());
    }
    if let Some(ios) = planned.slices.first().and_then(|slice| slice.ios) {
        set("number_ios", ios.to_string());
    }
    match planned.pace {
        Pace::Closed | Pace::OfMax { .. } => {}
        Pace::Open { offered: Offered::Iops(iops), .. } => set("rate_iops", format!("{iops:.0}")),
        Pace::Open { offered: Offered::BytesPerS(bytes), .. } => set("rate", format!("{bytes:.0}")),
        Pace::Open { offered: Offered::Each(rates), .. } => {
            let texts = OpKind::DATA.map(|kind| format!("{:.0}", rates.of(kind).unwrap_or(0.0)));
            set("rate_iops", texts.join(","));
        }
    }
    if planned.pace.arrival() == Arrival::Poisson {
        set("rate_process", "poisson".to_owned());
    }
}

/// Seconds, or milliseconds where they are not whole.
fn time_word(time: Nanos) -> String {
    let second = 1_000_000_000;
    if time.0.is_multiple_of(second) {
        (time.0 / second).to_string()
    } else {
        format!("{}ms", time.0 / 1_000_000)
    }
}

/// How writes reach the medium, in fio's words.
pub(crate) fn flush_options(flush: &FlushPolicy, set: &mut dyn FnMut(&str, String)) {
    match flush.open {
        OpenSync::None => {}
        OpenSync::Dsync => set("sync", "dsync".to_owned()),
        OpenSync::Sync => set("sync", "sync".to_owned()),
    }
    if let Some(periodic) = flush.periodic {
        let name = match periodic.call {
            FlushCall::Fsync => "fsync",
            FlushCall::Fdatasync => "fdatasync",
        };
        set(name, periodic.every_writes.to_string());
    }
    if flush.at_end {
        set("end_fsync", "1".to_owned());
    }
}
