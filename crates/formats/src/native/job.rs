//! The keys of a job: from a table over `[defaults]` to the model.

use assay_workload::Job;
use assay_workload::content::{Content, Payload};
use assay_workload::job::{
    EngineOptions, FlushCall, FlushOrder, FlushPolicy, Limits, OpenSync, PeriodicFlush, Rate, SteadyFigure,
    SteadyLimit, ThinkTime,
};
use assay_workload::resolve::{OUTSTANDING_MAX, THREADS_MAX};
use assay_workload::target::Extent;
use assay_workload::units::Nanos;
use toml::de::DeValue;

use super::node::{Entry, Fields};
use super::pattern;
use super::scalar;
use super::sink::Sink;
use super::tree;
use super::words;

/// Every key a job knows; `[defaults]` knows them all but `name`.
pub(super) const JOB_KEYS: &[&str] = &[
    "name",
    "group",
    "targets",
    "sharing",
    "selection",
    "offset",
    "offset_increment",
    "length",
    "op",
    "read_percent",
    "write_percent",
    "trim_percent",
    "block_size",
    "align",
    "pattern",
    "repeat_passes",
    "tree",
    "threads",
    "outstanding",
    "rate",
    "arrival",
    "think_time",
    "runtime",
    "bytes",
    "ios",
    "passes",
    "ends_with",
    "ends_steady",
    "ramp",
    "start_delay",
    "content",
    "flush",
    "caching",
    "invalidate",
    "invalidate_each_pass",
    "access_hint",
    "engine",
    "engine_options",
    "errors_tolerated",
];

/// A job from its table. What is wrong is reported; the value then has the default in its place.
pub(super) fn lower(sink: &mut Sink, job: &Fields<'_>, name: &str, targets: Vec<String>) -> Job {
    let tree = job.read_unless_none(sink, "tree", tree::read);
    let pattern = pattern::lower(sink, job, job.get("tree").is_some_and(|entry| !entry.is("none")));
    let mut made = Job::new(name, &[], pattern);
    made.targets = targets;
    made.tree = tree;
    made.group = job.read(sink, "group", Sink::string).filter(|group| !group.is_empty()).map(str::to_owned);
    place(sink, job, &mut made);
    pace(sink, job, &mut made);
    path(sink, job, &mut made);
    made
}

/// Sets `field` where the key is there and right.
macro_rules! set {
    ($field:expr, $job:expr, $sink:expr, $key:literal, $how:expr) => {
        if let Some(value) = $job.read($sink, $key, $how) {
            $field = value;
        }
    };
}

/// Where on the targets.
fn place(sink: &mut Sink, job: &Fields<'_>, made: &mut Job) {
    set!(made.sharing, job, sink, "sharing", |sink: &mut Sink, e| sink.word(e, words::SHARINGS));
    set!(made.selection, job, sink, "selection", |sink: &mut Sink, e| sink.word(e, words::SELECTIONS));
    set!(made.offset, job, sink, "offset", Sink::extent);
    set!(made.offset_increment, job, sink, "offset_increment", Sink::extent);
    made.length = job.read_unless_none(sink, "length", Sink::extent);
    if let Some(entry) = job.get("length").filter(|_| is_empty(made.length)) {
        sink.bad_value::<()>(
            entry,
            "a length of 0 leaves no room",
            "leave it out for all that is behind 'offset'",
        );
    }
}

fn is_empty(length: Option<Extent>) -> bool {
    matches!(length, Some(Extent::Bytes(0))) || length == Some(Extent::Percent(0.0))
}

/// How much at once, how fast and how long.
fn pace(sink: &mut Sink, job: &Fields<'_>, made: &mut Job) {
    set!(made.threads, job, sink, "threads", |sink: &mut Sink, e| sink.count_u32(e, 1..=THREADS_MAX));
    set!(made.outstanding_per_thread, job, sink, "outstanding", |sink: &mut Sink, e| {
        sink.count_u32(e, 1..=OUTSTANDING_MAX)
    });
    set!(made.rate, job, sink, "rate", rate);
    set!(made.arrival, job, sink, "arrival", |sink: &mut Sink, e| sink.word(e, words::ARRIVALS));
    made.think_time = job.read_unless_none(sink, "think_time", think_time);
    made.limits = Limits {
        time: job.read_unless_none(sink, "runtime", Sink::time),
        bytes: job.read_unless_none(sink, "bytes", Sink::size),
        ios: job.read_unless_none(sink, "ios", |sink, e| sink.count(e, 1..=u64::MAX)),
        passes: job.read_unless_none(sink, "passes", |sink, e| sink.count_u32(e, 1..=u32::MAX)),
        ends_with: job.read_unless_none(sink, "ends_with", |sink, e| sink.word(e, words::ENDS_WITH)),
        steady: job.read_unless_none(sink, "ends_steady", steady),
    };
    if let Some(entry) = job.get("runtime").filter(|_| made.limits.time == Some(Nanos(0))) {
        sink.bad_value::<()>(entry, "a runtime of 0 measures nothing", "");
    }
    set!(made.ramp, job, sink, "ramp", Sink::time);
    set!(made.start_delay, job, sink, "start_delay", Sink::time);
}

/// What is written, and by which path.
fn path(sink: &mut Sink, job: &Fields<'_>, made: &mut Job) {
    set!(made.content, job, sink, "content", content);
    set!(made.flush, job, sink, "flush", flush);
    set!(made.caching, job, sink, "caching", |sink: &mut Sink, e| sink.word(e, words::CACHINGS));
    set!(made.invalidate, job, sink, "invalidate", Sink::boolean);
    set!(made.invalidate_each_pass, job, sink, "invalidate_each_pass", Sink::boolean);
    set!(made.access_hint, job, sink, "access_hint", Sink::boolean);
    set!(made.engine, job, sink, "engine", |sink: &mut Sink, e| sink.word(e, words::ENGINES));
    set!(made.engine_options, job, sink, "engine_options", engine_options);
    set!(made.errors_tolerated, job, sink, "errors_tolerated", |sink: &mut Sink, e| {
        sink.count(e, 0..=u64::MAX)
    });
}

/// A number is IOPS.
pub(super) fn rate(sink: &mut Sink, entry: Entry<'_>) -> Option<Rate> {
    match entry.value.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) => {
            sink.number(entry, f64::MIN_POSITIVE..=f64::MAX).map(Rate::Iops)
        }
        _ => sink.parsed(entry, scalar::rate, scalar::RATE_FORMS),
    }
}

/// `{ figure, slope, percent_max, window, skip }`.
fn steady(sink: &mut Sink, entry: Entry<'_>) -> Option<SteadyLimit> {
    let table = sink.table(entry, &["figure", "slope", "percent_max", "window", "skip"])?;
    let required = ["percent_max", "window"];
    sink.require(&table, &required, "'ends_steady'", "ends_steady = { percent_max = 5, window = \"30s\" }");
    let figure = table.read(sink, "figure", |sink, e| sink.word(e, words::STEADY_FIGURES));
    Some(SteadyLimit {
        figure: figure.unwrap_or(SteadyFigure::Iops),
        slope: table.read(sink, "slope", Sink::boolean).unwrap_or(false),
        percent_max: table.read(sink, "percent_max", Sink::percent)?,
        window: table.read(sink, "window", Sink::time)?,
        skip: table.read(sink, "skip", Sink::time).unwrap_or(Nanos(0)),
    })
}

/// A time after each operation, or `{ time, every_ios }`.
fn think_time(sink: &mut Sink, entry: Entry<'_>) -> Option<ThinkTime> {
    if entry.as_table().is_none() {
        return sink.time(entry).map(|time| ThinkTime { time, every_ios: 1 });
    }
    let table = sink.table(entry, &["time", "every_ios"])?;
    let every = table.read(sink, "every_ios", |sink, e| sink.count_u32(e, 1..=u32::MAX));
    sink.require(&table, &["time"], "'think_time'", "think_time = \"10ms\"");
    Some(ThinkTime { time: table.read(sink, "time", Sink::time)?, every_ios: every.unwrap_or(1) })
}

pub(super) const CONTENT_KEYS: &[&str] =
    &["payload", "refresh", "compression_ratio", "dedup_ratio", "dedup_unit", "verify"];

fn content(sink: &mut Sink, entry: Entry<'_>) -> Option<Content> {
    let defaults = Content::default();
    if entry.as_str().is_some() {
        return payload(sink, entry).map(|payload| Content { payload, ..defaults });
    }
    let table = sink.table(entry, CONTENT_KEYS)?;
    let ratio = |sink: &mut Sink, e| sink.number(e, 1.0..=f64::MAX);
    let refresh = table.read(sink, "refresh", |sink, e| sink.word(e, words::REFRESHES));
    let unit = table.read(sink, "dedup_unit", Sink::block_size);
    Some(Content {
        payload: table.read(sink, "payload", payload).unwrap_or(defaults.payload),
        refresh: refresh.unwrap_or(defaults.refresh),
        compression_ratio: table.read(sink, "compression_ratio", ratio).unwrap_or(defaults.compression_ratio),
        dedup_ratio: table.read(sink, "dedup_ratio", ratio).unwrap_or(defaults.dedup_ratio),
        dedup_unit_bytes: unit.unwrap_or(defaults.dedup_unit_bytes),
        verify: table.read(sink, "verify", Sink::boolean).unwrap_or(defaults.verify),
    })
}

/// `random`, `zero`, `{ text = ".." }` or `{ hex = "c0ffee" }`.
fn payload(sink: &mut Sink, entry: Entry<'_>) -> Option<Payload> {
    if entry.as_table().is_none() {
        let zero = sink.word(entry, &[("random", false), ("zero", true)])?;
        return Some(if zero { Payload::Zero } else { Payload::Random });
    }
    let table = sink.table(entry, &["text", "hex"])?;
    let bytes = match (table.get("text"), table.get("hex")) {
        (Some(text), None) => sink.string(text)?.as_bytes().to_vec(),
        (None, Some(hex)) => sink.parsed(hex, scalar::hex, "an even number of digits 0-9, a-f")?,
        _ => return sink.bad_value(entry, "a pattern is either 'text' or 'hex'", "{ hex = \"c0ffee\" }"),
    };
    match bytes.is_empty() {
        true => sink.bad_value(entry, "a pattern of nothing", ""),
        false => Some(Payload::Pattern(bytes)),
    }
}

pub(super) const FLUSH_KEYS: &[&str] = &["open", "call", "every_writes", "order", "at_end"];

/// `none`, or what makes writes durable.
fn flush(sink: &mut Sink, entry: Entry<'_>) -> Option<FlushPolicy> {
    if entry.is("none") {
        return Some(FlushPolicy::default());
    }
    let table = sink.table(entry, FLUSH_KEYS)?;
    let call = table.read(sink, "call", |sink, e| sink.word(e, words::FLUSH_CALLS));
    let every = table.read(sink, "every_writes", |sink, e| sink.count_u32(e, 1..=u32::MAX));
    let order = table.read(sink, "order", |sink, e| sink.word(e, words::FLUSH_ORDERS));
    let periodic = ["call", "every_writes", "order"].iter().any(|key| table.get(key).is_some());
    Some(FlushPolicy {
        open: table.read(sink, "open", |sink, e| sink.word(e, words::OPEN_SYNCS)).unwrap_or(OpenSync::None),
        periodic: periodic.then(|| PeriodicFlush {
            call: call.unwrap_or(FlushCall::Fsync),
            every_writes: every.unwrap_or(1),
            order: order.unwrap_or(FlushOrder::AfterWrite),
        }),
        at_end: table.read(sink, "at_end", Sink::boolean).unwrap_or(false),
    })
}

pub(super) const ENGINE_OPTION_KEYS: &[&str] =
    &["iopoll", "sqpoll", "passthrough", "unregistered", "submit_batch_max", "reap_batch_min"];

fn engine_options(sink: &mut Sink, entry: Entry<'_>) -> Option<EngineOptions> {
    let table = sink.table(entry, ENGINE_OPTION_KEYS)?;
    let mut flag = |key: &str| table.read(sink, key, Sink::boolean).unwrap_or(false);
    let (iopoll, sqpoll) = (flag("iopoll"), flag("sqpoll"));
    let (passthrough, unregistered) = (flag("passthrough"), flag("unregistered"));
    let mut batch = |key: &str| table.read(sink, key, |sink, e| sink.count_u32(e, 0..=u32::MAX)).unwrap_or(0);
    Some(EngineOptions {
        iopoll,
        sqpoll,
        passthrough,
        unregistered,
        submit_batch_max: batch("submit_batch_max"),
        reap_batch_min: batch("reap_batch_min"),
    })
}
