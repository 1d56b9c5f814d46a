//! Which operation, how large, and where: the keys of a job that make its access pattern.

use assay_workload::AccessPattern;
use assay_workload::pattern::{BlockSizes, Distribution, Mix, OpKind, Placement, Random, Sequential, Zone};

use super::node::{Entry, Fields};
use super::scalar;
use super::sink::Sink;
use super::words;

/// Per cent that shares may be apart from 100 in all.
const TOTAL_TOLERANCE: f64 = 0.01;

/// The keys that together say the mix. A job that has one of them takes none from `[defaults]`.
pub(super) const MIX_KEYS: &[&str] = &["op", "read_percent", "write_percent", "trim_percent"];

pub(super) const RANDOM_KEYS: &[&str] = &[
    "random",
    "once_per_pass",
    "theta",
    "h",
    "stddev_percent",
    "zones",
    "read_percent",
    "write_percent",
    "size",
    "midpoint",
    "low",
    "high",
    "corrected",
];
pub(super) const SEQUENTIAL_KEYS: &[&str] = &["sequential", "skip", "random_start", "shared_cursor", "wrap"];

/// What a placement may look like, for messages.
const PATTERN_FORMS: &str = "\"random\", \"sequential\", { random = \"zipf\", theta = 1.1 }, \
                             { sequential = true, skip = \"64k\" }, { random_percent = 20 }";

/// The access pattern of a job. A tree job may leave out all of it, any other needs mix, block size and placement.
pub(super) fn lower<'t>(sink: &mut Sink, job: &Fields<'t>, is_tree: bool) -> AccessPattern {
    let mix_entries = job.get_together(MIX_KEYS);
    if !is_tree {
        let needed = if mix_entries.is_empty() {
            &["op", "block_size", "pattern"][..]
        } else {
            &["block_size", "pattern"]
        };
        let example = "op = \"read\" or read_percent = 70, block_size = \"4k\", pattern = \"random\"";
        sink.require(job, needed, "the job", example);
    }
    let mix = mix(sink, &mix_entries).unwrap_or(Mix::READ);
    let sizes = job.get("block_size").and_then(|entry| block_sizes(sink, entry, &mix));
    let [read_sizes, write_sizes, trim_sizes] = sizes.unwrap_or([const { BlockSizes::Fixed(4096) }; 3]);
    let placement = job.read(sink, "pattern", placement);
    AccessPattern {
        mix,
        read_sizes,
        write_sizes,
        trim_sizes,
        placement: placement.unwrap_or_else(Placement::sequential),
        align_bytes: job.read_unless_none(sink, "align", Sink::block_size),
        repeat_passes: job.read(sink, "repeat_passes", Sink::boolean).unwrap_or(false),
    }
}

/// The shares: `op`, or per cents of which one of read and write may be left out and is then the rest.
fn mix(sink: &mut Sink, entries: &[Entry<'_>]) -> Option<Mix> {
    let find = |key: &str| entries.iter().copied().find(|entry| entry.key == key);
    if let Some(op) = find("op") {
        if let Some(share) = entries.iter().find(|entry| entry.key != "op") {
            let message = format!("'op' and '{}' exclude each other", share.key);
            sink.error("conflict", share.span(), message, "leave one of them out");
            return None;
        }
        return sink.word(op, words::OPS).map(|op| match op {
            OpKind::Write => Mix::WRITE,
            OpKind::Trim => Mix::TRIM,
            _ => Mix::READ,
        });
    }
    let mut share = |key: &str| match find(key) {
        Some(entry) => sink.percent(entry).map(Some),
        None => Some(None),
    };
    let (read, write, trim) = (share("read_percent")?, share("write_percent")?, share("trim_percent")?);
    let trim_percent = trim.unwrap_or(0.0);
    // Of decimal shares the rest may come out a little below nothing.
    let rest = |other: f64| match 100.0 - other - trim_percent {
        below if (-TOTAL_TOLERANCE..0.0).contains(&below) => 0.0,
        rest => rest,
    };
    let (read_percent, write_percent) = match (read, write) {
        (Some(read), Some(write)) => (read, write),
        (Some(read), None) => (read, rest(read)),
        (None, Some(write)) => (rest(write), write),
        (None, None) => (100.0 - trim_percent, 0.0),
    };
    let total = read_percent + write_percent + trim_percent;
    let first = entries.first()?;
    if (total - 100.0).abs() > TOTAL_TOLERANCE || read_percent < 0.0 || write_percent < 0.0 {
        let message = format!(
            "the mix of {read_percent} % reads, {write_percent} % writes, {trim_percent} % trims is not 100 %"
        );
        sink.error(
            "bad-value",
            first.span(),
            message,
            "one of read and write may be left out: it is the rest",
        );
        return None;
    }
    Some(Mix { read_percent, write_percent, trim_percent })
}

/// Sizes of reads, writes and trims.
fn block_sizes(sink: &mut Sink, entry: Entry<'_>, mix: &Mix) -> Option<[BlockSizes; 3]> {
    let per_direction =
        entry.as_table().filter(|table| words::OPS.iter().any(|op| table.get(op.0).is_some()));
    let Some(_) = per_direction else {
        let sizes = sizes(sink, entry)?;
        return Some([sizes.clone(), sizes.clone(), sizes]);
    };
    let table = sink.table(entry, &words::list(words::OPS))?;
    let mut direction = |op: &str| table.read(sink, op, sizes);
    let (read, write, trim) = (direction("read"), direction("write"), direction("trim"));
    for (word, op) in words::OPS {
        if mix.share(*op) > 0.0 && table.get(word).is_none() {
            let message = format!("the mix has {word}s, but 'block_size' says no size for them");
            sink.error("missing-key", entry.span(), message, format!("add {word} = \"4k\""));
        }
    }
    let other =
        |first: &Option<BlockSizes>, second: &Option<BlockSizes>| first.clone().or_else(|| second.clone());
    let reads = read.clone().or_else(|| other(&write, &trim))?;
    let writes = write.clone().or_else(|| other(&read, &trim))?;
    Some([reads, writes, trim.or_else(|| other(&write, &read))?])
}

/// One size, a list, or a range.
fn sizes(sink: &mut Sink, entry: Entry<'_>) -> Option<BlockSizes> {
    if entry.as_str().is_some() {
        return sink.parsed(entry, scalar::block_sizes, scalar::BLOCK_SIZE_FORMS);
    }
    if entry.as_table().is_none() {
        return sink.block_size(entry).map(BlockSizes::Fixed);
    }
    let table = sink.table(entry, &["min", "max", "step"])?;
    if !sink.require(&table, &["min", "max"], "a range of block sizes", "{ min = \"4k\", max = \"64k\" }") {
        return None;
    }
    let (min, max) = (table.read(sink, "min", Sink::block_size), table.read(sink, "max", Sink::block_size));
    let (min, max) = (min?, max?);
    let step = table.read(sink, "step", Sink::block_size).unwrap_or(min);
    match scalar::range(min, max, step) {
        Ok(range) => Some(range),
        Err(message) => sink.bad_value(entry, &message, scalar::BLOCK_SIZE_FORMS),
    }
}

fn placement(sink: &mut Sink, entry: Entry<'_>) -> Option<Placement> {
    if entry.as_str().is_some() {
        return match sink.word(entry, &[("random", true), ("sequential", false)])? {
            true => Some(Placement::random_map()),
            false => Some(Placement::sequential()),
        };
    }
    if entry.as_table().is_none() {
        return sink.wrong_type(entry, PATTERN_FORMS);
    }
    let known = [RANDOM_KEYS, SEQUENTIAL_KEYS, &["random_percent"]].concat();
    let table = sink.table(entry, &known)?;
    let first_of = |keys: &[&str]| keys.iter().find_map(|key| table.get(key));
    let (random, sequential) = (first_of(RANDOM_KEYS), first_of(SEQUENTIAL_KEYS));
    match (table.get("random_percent"), random, sequential) {
        (Some(share), ..) => Some(Placement::Mixed {
            random_percent: sink.percent(share)?,
            random: lower_random(sink, &table)?,
            sequential: lower_sequential(sink, &table)?,
        }),
        (None, Some(one), Some(other)) => {
            let message = format!("'{}' and '{}' go together only in a mix", one.key, other.key);
            sink.error("conflict", other.span(), message, "random_percent = 20 makes one");
            None
        }
        (None, Some(_), None) => lower_random(sink, &table).map(Placement::Random),
        (None, None, Some(_)) => lower_sequential(sink, &table).map(Placement::Sequential),
        (None, None, None) => sink.bad_value(entry, "an empty table says no pattern", PATTERN_FORMS),
    }
}

fn lower_sequential(sink: &mut Sink, table: &Fields<'_>) -> Option<Sequential> {
    let defaults = Sequential::default();
    if let Some(entry) = table.get("sequential")
        && !sink.boolean(entry)?
    {
        return sink.bad_value(
            entry,
            "only true says something here",
            "random = \"uniform\" says the opposite",
        );
    }
    let (skip_min_bytes, skip_max_bytes) = table.read(sink, "skip", skip).unwrap_or((0, 0));
    let shared = table.read(sink, "shared_cursor", Sink::boolean);
    Some(Sequential {
        skip_min_bytes,
        skip_max_bytes,
        random_start: table.read(sink, "random_start", Sink::boolean).unwrap_or(defaults.random_start),
        cursor_per_operation: shared.map_or(defaults.cursor_per_operation, |shared| !shared),
        wrap: table.read(sink, "wrap", Sink::boolean).unwrap_or(defaults.wrap),
    })
}

/// Bytes behind each block: one size, or `0-64k`.
fn skip(sink: &mut Sink, entry: Entry<'_>) -> Option<(u64, u64)> {
    if entry.as_str().is_none() {
        return sink.size(entry).map(|bytes| (bytes, bytes));
    }
    let range = |text: &str| {
        let Some((min, max)) = text.split_once('-') else {
            return scalar::size(text).map(|bytes| (bytes, bytes));
        };
        let (min, max) = (scalar::size(min)?, scalar::size(max)?);
        if min <= max { Ok((min, max)) } else { Err("the range ends before it begins".to_owned()) }
    };
    sink.parsed(entry, range, "\"64k\", or a range such as \"0-64k\"")
}

/// The keys of each distribution.
const DISTRIBUTIONS: &words::Words<&[&str]> = &[
    ("uniform", &[]),
    ("zipf", &["theta"]),
    ("pareto", &["h"]),
    ("normal", &["stddev_percent"]),
    ("zoned", &["zones"]),
    ("hit-area", &["read_percent", "write_percent", "size"]),
    ("exponential", &["midpoint"]),
    ("hotband", &["low", "high", "corrected"]),
];

fn lower_random(sink: &mut Sink, table: &Fields<'_>) -> Option<Random> {
    let (name, needed) = match table.get("random") {
        Some(entry) => {
            let needed = sink.word(entry, DISTRIBUTIONS)?;
            (DISTRIBUTIONS.iter().find(|known| known.1 == needed).map_or("", |known| known.0), needed)
        }
        None => ("uniform", &[] as &[&str]),
    };
    for key in RANDOM_KEYS.iter().filter(|key| !["random", "once_per_pass"].contains(key)) {
        match table.get(key) {
            Some(entry) if !needed.contains(key) => {
                let owner =
                    DISTRIBUTIONS.iter().find(|known| known.1.contains(key)).map_or("", |known| known.0);
                let message = format!("'{key}' belongs to random = \"{owner}\", not to \"{name}\"");
                sink.error("conflict", entry.span(), message, "");
            }
            _ => {}
        }
    }
    let needed: Vec<&str> = needed.iter().copied().filter(|key| *key != "corrected").collect();
    sink.require(table, &needed, &format!("random = \"{name}\""), "");
    let distribution = distribution(sink, table, name)?;
    let uniform = distribution == Distribution::Uniform;
    let once = table.get("once_per_pass");
    let once_per_pass = match once {
        Some(entry) => sink.boolean(entry)?,
        None => uniform,
    };
    if let Some(entry) = once.filter(|_| once_per_pass && !uniform) {
        let message =
            format!("once_per_pass has no effect on random = \"{name}\": its blocks repeat by design");
        sink.note("no-effect", entry.span(), message, "");
    }
    Some(Random { distribution, once_per_pass })
}

fn distribution(sink: &mut Sink, table: &Fields<'_>, name: &str) -> Option<Distribution> {
    let positive = |sink: &mut Sink, entry| sink.number(entry, f64::MIN_POSITIVE..=f64::MAX);
    match name {
        "zipf" => Some(Distribution::Zipf { theta: table.read(sink, "theta", positive)? }),
        "pareto" => {
            let power = |sink: &mut Sink, entry| sink.number(entry, f64::MIN_POSITIVE..=1.0);
            Some(Distribution::Pareto { h: table.read(sink, "h", power)? })
        }
        "normal" => {
            let percent = |sink: &mut Sink, entry| sink.number(entry, 0.0..=f64::MAX);
            Some(Distribution::Normal { stddev_percent: table.read(sink, "stddev_percent", percent)? })
        }
        "zoned" => table.read(sink, "zones", zones).map(Distribution::Zoned),
        "hit-area" => Some(Distribution::HitArea {
            read_percent: table.read(sink, "read_percent", Sink::percent)?,
            write_percent: table.read(sink, "write_percent", Sink::percent)?,
            bytes: table.read(sink, "size", Sink::size)?,
        }),
        "exponential" => {
            Some(Distribution::Exponential { midpoint: table.read(sink, "midpoint", positive)? })
        }
        "hotband" => Some(Distribution::Hotband {
            low_bytes: table.read(sink, "low", Sink::size)?,
            high_bytes: table.read(sink, "high", Sink::size)?,
            corrected: table.read(sink, "corrected", Sink::boolean).unwrap_or(false),
        }),
        _ => Some(Distribution::Uniform),
    }
}

/// `[{ access_percent = 60, size = "10%" }, ..]`.
fn zones(sink: &mut Sink, entry: Entry<'_>) -> Option<Vec<Zone>> {
    let elements = entry.elements();
    let mut list = Vec::with_capacity(elements.len());
    for element in elements {
        let table = sink.table(element, &["access_percent", "size"])?;
        if !sink.require(
            &table,
            &["access_percent", "size"],
            "a zone",
            "{ access_percent = 60, size = \"10%\" }",
        ) {
            return None;
        }
        let access_percent = table.read(sink, "access_percent", Sink::percent)?;
        let size = table.read(sink, "size", Sink::extent)?;
        list.push(Zone { access_percent, size });
    }
    if list.iter().map(|zone| zone.access_percent).sum::<f64>() > 0.0 {
        Some(list)
    } else {
        sink.bad_value(entry, "the zones get no accesses", "[{ access_percent = 60, size = \"10%\" }, ..]")
    }
}
