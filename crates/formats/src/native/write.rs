//! From the model to text: what [`super::parse`] reads as exactly the same.

use assay_workload::content::{Content, Payload};
use assay_workload::job::{EngineOptions, FlushPolicy, Phase, PhaseKind, SteadyLimit, Workload};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, Mix, Placement, Random, Sequential};
use assay_workload::target::{Extent, Target};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, units};
use toml_writer::{ToTomlValue as _, TomlStringBuilder};

use super::scalar::{write_extent, write_hex, write_number, write_rate, write_time, write_weighted};
use super::until::write_until;
use super::words::{self, word};

/// Up to this many targets of a job are listed even where they are all there are.
const TARGETS_LISTED: usize = 4;

/// `workload` as a plan: values that are the default are left out, what all jobs have in common stands once under
/// `[defaults]`. Parsing the text gives the same workload, whatever it holds, provided it is one that can be planned
/// (jobs, targets with different names, shares of 100 %, block sizes above 0).
pub fn write(workload: &Workload) -> String {
    let mut text = String::from("assay = 1\n");
    line(&mut text, "name", &quote(&workload.name));
    if let Some(seed) = workload.seed {
        line(&mut text, "seed", &write_count(seed));
    }
    for target in &workload.targets {
        write_target(&mut text, target);
    }
    let jobs = workload.phases.iter().flat_map(|phase| &phase.jobs);
    let entries: Vec<Vec<Entry>> = jobs.map(|job| job_entries(job, &workload.targets)).collect();
    let common = common(&entries);
    if !common.is_empty() {
        text.push_str("\n[defaults]\n");
        common.iter().for_each(|entry| text.push_str(&entry.text));
    }
    let mut own = entries.iter().map(|entries| entries.iter().filter(|entry| !common.contains(entry)));
    for phase in &workload.phases {
        let alone = workload.phases.len() == 1 && is_plain(phase);
        if !alone {
            write_phase(&mut text, phase);
        }
        for (job, entries) in phase.jobs.iter().zip(&mut own) {
            text.push_str(if alone { "\n[[job]]\n" } else { "\n[[phase.job]]\n" });
            line(&mut text, "name", &quote(&job.name));
            entries.for_each(|entry| text.push_str(&entry.text));
        }
    }
    text
}

/// Whether `[[job]]` alone says all of the phase.
fn is_plain(phase: &Phase) -> bool {
    *phase == Phase { jobs: phase.jobs.clone(), ..Phase::measure("measure", Vec::new()) }
}

fn line(text: &mut String, key: &str, value: &str) {
    text.push_str(key);
    text.push_str(" = ");
    text.push_str(value);
    text.push('\n');
}

/// A TOML basic string: `"` around it, whatever it holds.
pub(super) fn quote(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}

fn write_target(text: &mut String, target: &Target) {
    text.push_str("\n[[target]]\n");
    line(text, "name", &quote(&target.name));
    line(text, "path", &quote(&target.path));
    if let Some(kind) = target.kind {
        line(text, "kind", &quoted(words::TARGET_KINDS, &kind));
    }
    if let Some(size) = target.size {
        line(text, "size", &quote(&size.short()));
    }
}

fn write_phase(text: &mut String, phase: &Phase) {
    text.push_str("\n[[phase]]\n");
    line(text, "name", &quote(&phase.name));
    if phase.kind != PhaseKind::Measure {
        line(text, "kind", &quoted(words::PHASE_KINDS, &phase.kind));
    }
    if !phase.point.is_empty() {
        line(text, "point", &quote(&phase.point));
    }
    if let Some(until) = &phase.until {
        let (key, value) = write_until(until);
        line(text, key, &value);
    }
    if phase.drain_after {
        line(text, "drain", "true");
    }
    if phase.pause_after != Nanos(0) {
        line(text, "pause", &quote(&write_time(phase.pause_after)));
    }
}

/// What a job says about one thing: one line, or several that stand and fall together.
#[derive(Clone, PartialEq)]
struct Entry {
    text: String,
}

/// The entries that all jobs share, if there are several jobs.
fn common(jobs: &[Vec<Entry>]) -> Vec<Entry> {
    let [first, rest @ ..] = jobs else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let shared = first.iter().filter(|entry| rest.iter().all(|job| job.contains(entry)));
    shared.cloned().collect()
}

/// Collects the entries of a job that differ from the defaults.
#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
}

impl Entries {
    fn add(&mut self, key: &str, value: impl AsRef<str>) {
        let mut text = String::new();
        line(&mut text, key, value.as_ref());
        self.list.push(Entry { text });
    }

    fn add_unless<T: PartialEq>(&mut self, key: &str, value: &T, default: &T, write: impl Fn(&T) -> String) {
        if value != default {
            self.add(key, write(value));
        }
    }

    fn add_some<T>(&mut self, key: &str, value: Option<T>, write: impl Fn(T) -> String) {
        if let Some(value) = value {
            self.add(key, write(value));
        }
    }
}

fn quoted_extent(extent: &Extent) -> String {
    quote(&write_extent(*extent))
}

pub(super) fn quoted_size(bytes: u64) -> String {
    quote(&Bytes(bytes).short())
}

fn quoted_time(time: Nanos) -> String {
    quote(&write_time(time))
}

/// All a job says but its name.
fn job_entries(job: &Job, targets: &[Target]) -> Vec<Entry> {
    let default = Job::new("", &[], job.pattern.clone());
    // Does not compile once a job has another field, which has to be written too.
    let Job {
        name: _,
        group,
        targets: names,
        sharing,
        selection,
        offset,
        offset_increment,
        length,
        pattern,
        tree,
        threads: _,
        outstanding_per_thread: _,
        rate: _,
        arrival: _,
        think_time: _,
        limits: _,
        ramp: _,
        start_delay: _,
        content,
        flush,
        caching,
        invalidate,
        invalidate_each_pass,
        access_hint,
        engine,
        engine_options,
        errors_tolerated,
    } = job;
    let mut entries = Entries::default();
    entries.add_some("group", group.as_deref(), quote);
    let all = names.iter().eq(targets.iter().map(|target| &target.name));
    if !all || targets.len() <= TARGETS_LISTED {
        let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
        entries.add("targets", format!("[{}]", names.join(", ")));
    }
    entries.add_unless("sharing", sharing, &default.sharing, |word| quoted(words::SHARINGS, word));
    entries.add_unless("selection", selection, &default.selection, |word| quoted(words::SELECTIONS, word));
    entries.add_unless("offset", offset, &default.offset, quoted_extent);
    entries.add_unless("offset_increment", offset_increment, &default.offset_increment, quoted_extent);
    entries.add_some("length", length.as_ref(), quoted_extent);
    pattern_entries(&mut entries, pattern);
    entries.add_some("tree", tree.as_ref(), super::tree::write);
    pace_entries(&mut entries, job, &default);
    entries.add_unless("content", content, &default.content, write_content);
    entries.add_unless("flush", flush, &default.flush, write_flush);
    entries.add_unless("caching", caching, &default.caching, |word| quoted(words::CACHINGS, word));
    entries.add_unless("invalidate", invalidate, &default.invalidate, bool::to_string);
    let each = &default.invalidate_each_pass;
    entries.add_unless("invalidate_each_pass", invalidate_each_pass, each, bool::to_string);
    entries.add_unless("access_hint", access_hint, &default.access_hint, bool::to_string);
    entries.add_unless("engine", engine, &default.engine, |word| quoted(words::ENGINES, word));
    entries.add_unless("engine_options", engine_options, &default.engine_options, write_engine_options);
    entries.add_unless("errors_tolerated", errors_tolerated, &0, |errors| write_count(*errors));
    entries.list
}

/// A word of the format as a TOML string.
pub(super) fn quoted<T: PartialEq>(words: &words::Words<T>, value: &T) -> String {
    quote(word(words, value))
}

/// A whole number; as a string where it is beyond TOML's integers, which end at 2^63 - 1.
pub(super) fn write_count(number: u64) -> String {
    if i64::try_from(number).is_ok() { number.to_string() } else { quote(&number.to_string()) }
}

fn pace_entries(entries: &mut Entries, job: &Job, default: &Job) {
    entries.add_unless("threads", &job.threads, &default.threads, u32::to_string);
    let (outstanding, one) = (&job.outstanding_per_thread, &default.outstanding_per_thread);
    entries.add_unless("outstanding", outstanding, one, u32::to_string);
    entries.add_some("rate", write_rate(job.rate), |rate| rate);
    entries.add_unless("arrival", &job.arrival, &default.arrival, |word| quoted(words::ARRIVALS, word));
    entries.add_some("think_time", job.think_time, |think| match think.every_ios {
        1 => quoted_time(think.time),
        every => format!("{{ time = {}, every_ios = {every} }}", quoted_time(think.time)),
    });
    entries.add_some("runtime", job.limits.time, quoted_time);
    entries.add_some("bytes", job.limits.bytes, quoted_size);
    entries.add_some("ios", job.limits.ios, write_count);
    entries.add_some("passes", job.limits.passes, |passes| passes.to_string());
    entries.add_some("ends_with", job.limits.ends_with, |with| quoted(words::ENDS_WITH, &with));
    entries.add_some("ends_steady", job.limits.steady, |steady| write_steady(&steady));
    entries.add_unless("ramp", &job.ramp, &default.ramp, |time| quoted_time(*time));
    entries.add_unless("start_delay", &job.start_delay, &default.start_delay, |time| quoted_time(*time));
}

fn write_steady(steady: &SteadyLimit) -> String {
    let slope = if steady.slope { ", slope = true" } else { "" };
    format!(
        "{{ figure = {}{slope}, percent_max = {}, window = {}, skip = {} }}",
        quoted(words::STEADY_FIGURES, &steady.figure),
        write_number(steady.percent_max),
        quoted_time(steady.window),
        quoted_time(steady.skip)
    )
}

fn pattern_entries(entries: &mut Entries, pattern: &AccessPattern) {
    entries.list.push(Entry { text: write_mix(&pattern.mix) });
    let [read, write, trim] =
        [&pattern.read_sizes, &pattern.write_sizes, &pattern.trim_sizes].map(write_sizes);
    if read == write && write == trim {
        entries.add("block_size", read);
    } else {
        entries.add("block_size", format!("{{ read = {read}, write = {write}, trim = {trim} }}"));
    }
    entries.add_some("align", pattern.align_bytes, quoted_size);
    entries.add("pattern", write_placement(&pattern.placement));
    entries.add_unless("repeat_passes", &pattern.repeat_passes, &false, bool::to_string);
}

fn write_mix(mix: &Mix) -> String {
    let mut text = String::new();
    let pure = [(Mix::READ, "read"), (Mix::WRITE, "write"), (Mix::TRIM, "trim")];
    if let Some((_, op)) = pure.iter().find(|(pure, _)| pure == mix) {
        line(&mut text, "op", &quote(op));
        return text;
    }
    line(&mut text, "read_percent", &write_number(mix.read_percent));
    // Left out only where the rest is exactly this.
    if mix.trim_percent != 0.0 || 100.0 - mix.read_percent != mix.write_percent {
        line(&mut text, "write_percent", &write_number(mix.write_percent));
        line(&mut text, "trim_percent", &write_number(mix.trim_percent));
    }
    text
}

fn write_sizes(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed(size) => quoted_size(*size),
        BlockSizes::Weighted(list) => quote(&write_weighted(shorts(list))),
        BlockSizes::Range { min_bytes, max_bytes, step_bytes } => {
            let [min, max, step] =
                [*min_bytes, *max_bytes, *step_bytes].map(|bytes| units::Bytes(bytes).short());
            if step == min {
                format!("\"{min}-{max}\"")
            } else {
                format!("{{ min = \"{min}\", max = \"{max}\", step = \"{step}\" }}")
            }
        }
    }
}

pub(super) fn shorts(list: &[(u64, f64)]) -> impl Iterator<Item = (String, f64)> {
    list.iter().map(|(bytes, weight)| (Bytes(*bytes).short(), *weight))
}

/// `{ a = 1, b = 2 }`.
pub(super) fn inline(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn write_placement(placement: &Placement) -> String {
    match placement {
        Placement::Sequential(walk) if *walk == Sequential::default() => quote("sequential"),
        Placement::Sequential(walk) => {
            inline(&[vec![("sequential", "true".to_owned())], sequential_pairs(walk)].concat())
        }
        placement if *placement == Placement::random_map() => quote("random"),
        Placement::Random(random) => inline(&random_pairs(random)),
        Placement::Mixed { random_percent, random, sequential } => {
            let share = vec![("random_percent", write_number(*random_percent))];
            inline(&[share, random_pairs(random), sequential_pairs(sequential)].concat())
        }
    }
}

fn sequential_pairs(walk: &Sequential) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    let (min, max) = (Bytes(walk.skip_min_bytes).short(), Bytes(walk.skip_max_bytes).short());
    match (walk.skip_min_bytes, walk.skip_max_bytes) {
        (0, 0) => {}
        (least, most) if least == most => pairs.push(("skip", quote(&min))),
        _ => pairs.push(("skip", format!("\"{min}-{max}\""))),
    }
    if walk.random_start {
        pairs.push(("random_start", "true".to_owned()));
    }
    if !walk.cursor_per_operation {
        pairs.push(("shared_cursor", "true".to_owned()));
    }
    if !walk.wrap {
        pairs.push(("wrap", "false".to_owned()));
    }
    pairs
}

fn random_pairs(random: &Random) -> Vec<(&'static str, String)> {
    let (name, mut pairs): (&str, Vec<(&'static str, String)>) = match &random.distribution {
        Distribution::Uniform => ("uniform", Vec::new()),
        Distribution::Zipf { theta } => ("zipf", vec![("theta", write_number(*theta))]),
        Distribution::Pareto { h } => ("pareto", vec![("h", write_number(*h))]),
        Distribution::Normal { stddev_percent } => {
            ("normal", vec![("stddev_percent", write_number(*stddev_percent))])
        }
        Distribution::Zoned(zones) => {
            let zones = zones.iter().map(|zone| {
                let (share, size) = (write_number(zone.access_percent), quoted_extent(&zone.size));
                inline(&[("access_percent", share), ("size", size)])
            });
            ("zoned", vec![("zones", format!("[{}]", zones.collect::<Vec<_>>().join(", ")))])
        }
        Distribution::HitArea { read_percent, write_percent, bytes } => {
            let shares = [("read_percent", *read_percent), ("write_percent", *write_percent)];
            let mut pairs: Vec<_> = shares.map(|(key, share)| (key, write_number(share))).into();
            pairs.push(("size", quoted_size(*bytes)));
            ("hit-area", pairs)
        }
        Distribution::Exponential { midpoint } => {
            ("exponential", vec![("midpoint", write_number(*midpoint))])
        }
        Distribution::Hotband { low_bytes, high_bytes, corrected } => {
            let mut pairs = vec![("low", quoted_size(*low_bytes)), ("high", quoted_size(*high_bytes))];
            if *corrected {
                pairs.push(("corrected", "true".to_owned()));
            }
            ("hotband", pairs)
        }
    };
    pairs.insert(0, ("random", quote(name)));
    if random.once_per_pass != (random.distribution == Distribution::Uniform) {
        pairs.push(("once_per_pass", random.once_per_pass.to_string()));
    }
    pairs
}

fn write_content(content: &Content) -> String {
    let default = Content::default();
    let payload = match &content.payload {
        Payload::Random => quote("random"),
        Payload::Zero => quote("zero"),
        Payload::Pattern(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(char::is_control) => inline(&[("text", quote(text))]),
            _ => inline(&[("hex", quote(&write_hex(bytes)))]),
        },
    };
    let mut pairs = vec![("payload", payload)];
    if content.refresh != default.refresh {
        pairs.push(("refresh", quoted(words::REFRESHES, &content.refresh)));
    }
    if content.compression_ratio != default.compression_ratio {
        pairs.push(("compression_ratio", write_number(content.compression_ratio)));
    }
    if content.dedup_ratio != default.dedup_ratio {
        pairs.push(("dedup_ratio", write_number(content.dedup_ratio)));
    }
    if content.dedup_unit_bytes != default.dedup_unit_bytes {
        pairs.push(("dedup_unit", quoted_size(content.dedup_unit_bytes)));
    }
    if content.verify {
        pairs.push(("verify", "true".to_owned()));
    }
    inline(&pairs)
}

fn write_flush(flush: &FlushPolicy) -> String {
    let mut pairs = Vec::new();
    if flush.open != FlushPolicy::default().open {
        pairs.push(("open", quoted(words::OPEN_SYNCS, &flush.open)));
    }
    if let Some(periodic) = flush.periodic {
        pairs.push(("call", quoted(words::FLUSH_CALLS, &periodic.call)));
        pairs.push(("every_writes", periodic.every_writes.to_string()));
        pairs.push(("order", quoted(words::FLUSH_ORDERS, &periodic.order)));
    }
    if flush.at_end {
        pairs.push(("at_end", "true".to_owned()));
    }
    inline(&pairs)
}

fn write_engine_options(options: &EngineOptions) -> String {
    let flags = [
        ("iopoll", options.iopoll),
        ("sqpoll", options.sqpoll),
        ("passthrough", options.passthrough),
        ("unregistered", options.unregistered),
    ];
    let numbers =
        [("submit_batch_max", options.submit_batch_max), ("reap_batch_min", options.reap_batch_min)];
    let flags = flags.iter().filter(|flag| flag.1).map(|flag| (flag.0, "true".to_owned()));
    let numbers = numbers.iter().filter(|number| number.1 > 0).map(|number| (number.0, number.1.to_string()));
    inline(&flags.chain(numbers).collect::<Vec<_>>())
}
