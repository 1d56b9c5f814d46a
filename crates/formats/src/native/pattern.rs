//! Which operation, how large, and where: the keys of a job that make its access pattern.

use assay_workload::pattern::{
    BlockSizes, Distribution, Mix, OpKind, Placement, Random, Sequential, Zone, ZoneSize,
};
use assay_workload::target::Extent;
use assay_workload::units::Bytes;

use super::forms::{BLOCK_SIZE, EXTENT, FLAG, PERCENT, POSITIVE, SIZE, count, number, quote, word};
use super::job::Draft;
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::node::{Entry, Fields};
use super::scalar::{self, regular, write_weighted};
use super::sink::Sink;
use super::words::{Word, names, words};

/// Per cent that shares may be apart from 100 in all.
const TOTAL_TOLERANCE: f64 = 0.01;

/// The keys that together say the mix. A job that has one of them takes none from `[defaults]`.
pub(super) const MIX_KEYS: &[&str] = &["op", "read_percent", "write_percent", "trim_percent"];

/// The mix as its keys say it.
#[derive(Default)]
pub(super) struct Shares {
    pub(super) op: Option<OpKind>,
    pub(super) read_percent: Option<f64>,
    pub(super) write_percent: Option<f64>,
    pub(super) trim_percent: Option<f64>,
}

impl Shares {
    pub(super) fn of(mix: &Mix) -> Self {
        let op = [(Mix::READ, OpKind::Read), (Mix::WRITE, OpKind::Write), (Mix::TRIM, OpKind::Trim)];
        if let Some((_, op)) = op.into_iter().find(|(pure, _)| pure == mix) {
            return Shares { op: Some(op), ..Shares::default() };
        }
        // Left out only where the rest is exactly this.
        let rest = mix.trim_percent == 0.0 && 100.0 - mix.read_percent == mix.write_percent;
        let unless_rest = |share| if rest { None } else { Some(share) };
        Shares {
            op: None,
            read_percent: Some(mix.read_percent),
            write_percent: unless_rest(mix.write_percent),
            trim_percent: unless_rest(mix.trim_percent),
        }
    }

    /// The mix: `op`, or per cents of which one of read and write may be left out and is then the rest.
    fn mix(&self, sink: &mut Sink, entries: &[Entry<'_>]) -> Option<Mix> {
        let first = entries.first()?;
        let has = |key: &str| entries.iter().any(|entry| entry.key == key);
        if has("op") {
            if let Some(share) = entries.iter().find(|entry| entry.key != "op") {
                let message = format!("'op' and '{}' exclude each other", share.key);
                sink.error("conflict", share.span(), message, "leave one of them out");
                return None;
            }
            return self.op.map(|op| match op {
                OpKind::Write => Mix::WRITE,
                OpKind::Trim => Mix::TRIM,
                _ => Mix::READ,
            });
        }
        let shares = [self.read_percent, self.write_percent, self.trim_percent];
        if shares.iter().flatten().count() < entries.len() {
            return None;
        }
        let trim_percent = self.trim_percent.unwrap_or(0.0);
        // Of decimal shares the rest may come out a little below nothing.
        let rest = |other: f64| match 100.0 - other - trim_percent {
            below if (-TOTAL_TOLERANCE..0.0).contains(&below) => 0.0,
            rest => rest,
        };
        let (read_percent, write_percent) = match (self.read_percent, self.write_percent) {
            (Some(read), Some(write)) => (read, write),
            (Some(read), None) => (read, rest(read)),
            (None, Some(write)) => (rest(write), write),
            (None, None) => (100.0 - trim_percent, 0.0),
        };
        let total = read_percent + write_percent + trim_percent;
        if (total - 100.0).abs() > TOTAL_TOLERANCE || read_percent < 0.0 || write_percent < 0.0 {
            let message = format!(
                "the mix of {read_percent} % reads, {write_percent} % writes, {trim_percent} % trims is not 100 %"
            );
            let help = "one of read and write may be left out: it is the rest";
            sink.error("bad-value", first.span(), message, help);
            return None;
        }
        Some(Mix { read_percent, write_percent, trim_percent })
    }
}

/// Puts what the keys of the pattern say into the job. A tree job may leave out all of it, any other needs mix, block size and placement.
pub(super) fn finish(sink: &mut Sink, fields: &Fields<'_>, draft: &mut Draft, is_tree: bool) {
    let mix_entries: Vec<Entry<'_>> = super::job::KEYS
        .about()
        .into_iter()
        .filter(|about| !about.together.is_empty())
        .filter_map(|about| fields.of(about))
        .collect();
    if !is_tree {
        let needed = if mix_entries.is_empty() {
            &["op", "block_size", "pattern"][..]
        } else {
            &["block_size", "pattern"]
        };
        let example = "op = \"read\" or read_percent = 70, block_size = \"4k\", pattern = \"random\"";
        sink.require(fields, needed, "the job", example);
    }
    let pattern = &mut draft.job.pattern;
    pattern.mix = draft.mix.mix(sink, &mix_entries).unwrap_or(Mix::READ);
    if let Some(placement) = draft.placement.take() {
        pattern.placement = placement;
    }
    let (Some(entry), Some(sizes)) = (fields.get("block_size"), draft.sizes.take()) else { return };
    let list = [(OpKind::Read, &sizes.read), (OpKind::Write, &sizes.write), (OpKind::Trim, &sizes.trim)];
    for (op, size) in list {
        if pattern.mix.share(op) > 0.0 && size.is_none() {
            let word = op.word();
            let message = format!("the mix has {word}s, but 'block_size' has no size for them");
            sink.error("missing-key", entry.span(), message, format!("add {word} = \"4k\""));
        }
    }
    let first = |order: [&Option<BlockSizes>; 3]| order.into_iter().flatten().next().cloned();
    let Sizes { read, write, trim } = &sizes;
    let filled = (first([read, write, trim]), first([write, read, trim]), first([trim, write, read]));
    if let (Some(read), Some(write), Some(trim)) = filled {
        (pattern.read_sizes, pattern.write_sizes, pattern.trim_sizes) = (read, write, trim);
    }
}

/// Sizes of each operation.
#[derive(Default)]
pub(super) struct Sizes {
    pub(super) read: Option<BlockSizes>,
    pub(super) write: Option<BlockSizes>,
    pub(super) trim: Option<BlockSizes>,
}

const BY_OPERATION: Table<Sizes> = Table {
    who: "'block_size'",
    example: "block_size = { read = \"8k\", write = \"4k\" }",
    sections: &[&[
        key!(some "read", BLOCKS, read, "", "of reads"),
        key!(some "write", BLOCKS, write, "", "of writes"),
        key!(some "trim", BLOCKS, trim, "", "of trims"),
    ]],
};

pub(super) const SIZES: Form<Sizes> = Form {
    shape: Shape::Any(&[BLOCKS.shape, Shape::Table(|| BY_OPERATION.about())]),
    read: |sink, entry, _| {
        let by_operation = entry
            .as_table()
            .is_some_and(|table| BY_OPERATION.names().iter().any(|op| table.contains_key(*op)));
        if by_operation {
            return BY_OPERATION.read(sink, entry, Sizes::default());
        }
        let all = Some(BLOCKS.take(sink, entry)?);
        Some(Sizes { read: all.clone(), write: all.clone(), trim: all })
    },
    write: |sizes| match sizes {
        Sizes { read: Some(read), write, trim } if write.as_ref() == Some(read) && write == trim => {
            (BLOCKS.write)(read)
        }
        sizes => BY_OPERATION.inline(sizes, &Sizes::default()),
    },
};

#[derive(Default)]
struct SizeRange {
    min: Option<u64>,
    max: Option<u64>,
    step: Option<u64>,
}

const RANGE: Table<SizeRange> = Table {
    who: "a range of block sizes",
    example: "{ min = \"4k\", max = \"64k\" }",
    sections: &[&[
        key!(need "min", BLOCK_SIZE, min, "required", "the smallest block"),
        key!(need "max", BLOCK_SIZE, max, "required", "the largest block"),
        key!(some "step", BLOCK_SIZE, step, "`min`", "sizes are `min` plus multiples of this"),
    ]],
};

/// One size, a list, or a range.
const BLOCKS: Form<BlockSizes> = Form {
    shape: Shape::Any(&[
        Shape::BlockSize,
        Shape::Matching(
            concat!("^", regular!(sizes), "$|^", regular!(size), "-", regular!(size), "$"),
            "4k/60,64k/40",
        ),
        Shape::Table(|| RANGE.about()),
    ]),
    read: |sink, entry, _| {
        if entry.as_str().is_some() {
            return sink.parsed(entry, scalar::block_sizes, scalar::BLOCK_SIZE_FORMS);
        }
        if entry.as_table().is_none() {
            return BLOCK_SIZE.take(sink, entry).map(BlockSizes::Fixed);
        }
        let range = RANGE.read(sink, entry, SizeRange::default())?;
        let (min, max) = (range.min?, range.max?);
        sink.checked(entry, scalar::range(min, max, range.step.unwrap_or(min)), scalar::BLOCK_SIZE_FORMS)
    },
    write: |sizes| match sizes {
        BlockSizes::Fixed(size) => (BLOCK_SIZE.write)(size),
        BlockSizes::Weighted(list) => quote(&write_weighted(shorts(list))),
        BlockSizes::Range { min_bytes, max_bytes, step_bytes } if step_bytes == min_bytes => {
            quote(&format!("{}-{}", Bytes(*min_bytes).short(), Bytes(*max_bytes).short()))
        }
        BlockSizes::Range { min_bytes, max_bytes, step_bytes } => {
            let [min, max, step] = [min_bytes, max_bytes, step_bytes].map(|size| Some(*size));
            RANGE.inline(&SizeRange { min, max, step }, &SizeRange::default())
        }
        // No workload has it.
        BlockSizes::Unknown => String::new(),
    },
};

pub(super) fn shorts(list: &[(u64, f64)]) -> impl Iterator<Item = (String, f64)> {
    list.iter().map(|(bytes, weight)| (Bytes(*bytes).short(), *weight))
}

/// A distribution by its word.
#[derive(Clone, Copy, PartialEq)]
enum Law {
    Uniform,
    Zipf,
    Pareto,
    Normal,
    Zoned,
    HitArea,
    Exponential,
    Hotband,
    ReadMiss,
    Sequence,
}

words! {
    Law {
        "uniform" = Uniform, "zipf" = Zipf, "pareto" = Pareto, "normal" = Normal, "zoned" = Zoned,
        "hit-area" = HitArea, "exponential" = Exponential, "hotband" = Hotband, "read-miss" = ReadMiss,
        "sequence" = Sequence,
    }
}

impl Law {
    /// The keys it needs, and those it may have.
    fn keys(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Law::Uniform => (&[], &[]),
            Law::Zipf => (&["theta"], &[]),
            Law::Pareto => (&["h"], &[]),
            Law::Normal => (&["stddev_percent"], &["scattered"]),
            Law::Sequence => (&["blocks"], &["advances"]),
            Law::Zoned => (&["zones"], &[]),
            Law::HitArea => (&["read_percent", "write_percent", "size"], &[]),
            Law::Exponential => (&["midpoint"], &[]),
            Law::Hotband => (&["low", "high"], &["corrected"]),
            Law::ReadMiss => (&["miss_percent"], &["size"]),
        }
    }

    fn has(self, key: &str) -> bool {
        let (needed, possible) = self.keys();
        needed.contains(&key) || possible.contains(&key)
    }
}

/// A placement as its keys say it.
#[derive(Default)]
pub(super) struct Where {
    random_percent: Option<f64>,
    random: Option<Law>,
    theta: Option<f64>,
    h: Option<f64>,
    stddev_percent: Option<f64>,
    zones: Option<Vec<Zone>>,
    read_percent: Option<f64>,
    write_percent: Option<f64>,
    size: Option<u64>,
    midpoint: Option<f64>,
    low: Option<u64>,
    high: Option<u64>,
    corrected: Option<bool>,
    miss_percent: Option<f64>,
    scattered: Option<bool>,
    blocks: Option<Vec<u64>>,
    advances: Option<bool>,
    once_per_pass: Option<bool>,
    sequential: Option<bool>,
    skip: Option<(u64, u64)>,
    random_start: Option<bool>,
    shared_cursor: Option<bool>,
    wrap: Option<bool>,
}

const NO_ZONE: Zone = Zone { access_percent: 0.0, size: ZoneSize::Bytes(0) };

const ZONE_SIZE: Form<ZoneSize> = Form {
    shape: EXTENT.shape,
    read: |sink, entry, _| EXTENT.take(sink, entry).map(ZoneSize::from),
    write: |size| (EXTENT.write)(&Extent::from(*size)),
};

const ZONE: Table<Zone> = Table {
    who: "a zone",
    example: "{ access_percent = 60, size = \"10%\" }",
    sections: &[&[
        key!(must "access_percent", PERCENT, access_percent, "required", "its share of the accesses"),
        key!(must "size", ZONE_SIZE, size, "required", "its size, an extent"),
    ]],
};

const BLOCK_NUMBER: Form<u64> = count(0, u64::MAX);

const BLOCK_LIST: Form<Vec<u64>> = Form {
    shape: Shape::List(&BLOCK_NUMBER.shape),
    read: |sink, entry, _| {
        let blocks: Option<Vec<u64>> =
            entry.elements().into_iter().map(|element| BLOCK_NUMBER.take(sink, element)).collect();
        let blocks = blocks?;
        if blocks.is_empty() {
            sink.bad_value(entry, "the list has no block", "[2, 0, 1]")
        } else {
            Some(blocks)
        }
    },
    write: |blocks| {
        let blocks: Vec<String> = blocks.iter().map(u64::to_string).collect();
        format!("[{}]", blocks.join(", "))
    },
};

const ZONES: Form<Vec<Zone>> = Form {
    shape: Shape::List(&Shape::Table(|| ZONE.about())),
    read: |sink, entry, _| {
        let errors = sink.errors();
        let zones: Option<Vec<Zone>> =
            entry.elements().into_iter().map(|element| ZONE.read(sink, element, NO_ZONE)).collect();
        let zones = zones?;
        if zones.iter().map(|zone| zone.access_percent).sum::<f64>() > 0.0 || sink.errors() > errors {
            return Some(zones);
        }
        sink.bad_value(entry, "the zones get no accesses", "[{ access_percent = 60, size = \"10%\" }, ..]")
    },
    write: |zones| {
        let zones: Vec<String> = zones.iter().map(|zone| ZONE.inline(zone, &NO_ZONE)).collect();
        format!("[{}]", zones.join(", "))
    },
};

/// Bytes behind each block: one size, or `0-64k`.
const SKIP: Form<(u64, u64)> = Form {
    shape: Shape::Any(&[
        Shape::Size,
        Shape::Matching(concat!("^", regular!(size), "-", regular!(size), "$"), "0-64k"),
    ]),
    read: |sink, entry, _| {
        if entry.as_str().is_none() {
            return SIZE.take(sink, entry).map(|bytes| (bytes, bytes));
        }
        let range = |text: &str| {
            let (min, max) = text.split_once('-').unwrap_or((text, text));
            let (min, max) = (scalar::size(min)?, scalar::size(max)?);
            if min <= max { Ok((min, max)) } else { Err("the range ends before it begins".to_owned()) }
        };
        sink.parsed(entry, range, "\"64k\", or a range such as \"0-64k\"")
    },
    write: |(min, max)| match min == max {
        true => (SIZE.write)(min),
        false => quote(&format!("{}-{}", Bytes(*min).short(), Bytes(*max).short())),
    },
};

/// The keys of random placements, of sequential ones, and of mixes of both.
pub(super) const WHERE: Table<Where> = Table {
    who: "'pattern'",
    example: "{ random = \"zipf\", theta = 1.1 }",
    sections: &[MIXED, RANDOM, SEQUENTIAL],
};

const MIXED: &[Key<Where>] = &[
    key!(some "random_percent", PERCENT, random_percent, "", "a mix: this share is random (by the keys below, `uniform` without any), the rest continues behind the block before"),
];

const RANDOM: &[Key<Where>] = &[
    key!(some "random", word::<Law>(), random, "`uniform`", "`uniform`: evenly; `zipf`, `pareto`: a few blocks, scattered over the range, get most accesses; `normal`: around the middle; `zoned`: shares for zones; `hit-area`: vdbench's `rhpct`, `whpct`, `hitarea`; `exponential`: vdbench's `poisson`, falling from the start; `hotband`: vdbench's hotband; `read-miss`: a share of the reads goes to blocks that were not touched before; `sequence`: fio's `random_distribution=sequence`"),
    key!(some "theta", POSITIVE, theta, "required", "of `zipf`"),
    key!(some "h", number(f64::MIN_POSITIVE, 1.0), h, "required", "of `pareto`, as in fio: above 0, at most 1"),
    key!(some "stddev_percent", number(0.0, f64::MAX), stddev_percent, "required", "of `normal`: the standard deviation, in per cent of the range"),
    key!(some "scattered", FLAG, scattered, "`false`", "of `normal`: `true` scatters neighbours over the range, as fio does"),
    key!(some "blocks", BLOCK_LIST, blocks, "required", "of `sequence`: numbers of blocks in the range, from 0, in the order in which each operation takes them, again and again"),
    key!(some "advances", FLAG, advances, "`false`", "of `sequence`: `true`: each round goes on behind the one before; a thread ends where a block lies behind the range"),
    key!(some "zones", ZONES, zones, "required", "of `zoned`: `[{ access_percent = 90, size = \"10%\" }, ..]`, one behind the other"),
    key!(some "read_percent", PERCENT, read_percent, "required", "of `hit-area`: the share of reads that goes to the first `size`"),
    key!(some "write_percent", PERCENT, write_percent, "required", "of `hit-area`: the share of writes that goes there"),
    key!(some "size", SIZE, size, "required for `hit-area`", "of `hit-area`: its size; of `read-miss`: other reads, and writes, go to the blocks touched last, as many as this holds (all touched blocks without it)"),
    key!(some "miss_percent", PERCENT, miss_percent, "required", "of `read-miss`: the share of reads that goes to blocks not touched before; each thread has a part of the range for itself, and ends when all of it was touched"),
    key!(some "midpoint", POSITIVE, midpoint, "required", "of `exponential`: the mean distance from the start is the range divided by this"),
    key!(some "low", SIZE, low, "required", "of `hotband`: where the band begins"),
    key!(some "high", SIZE, high, "required", "of `hotband`: where it ends"),
    key!(some "corrected", FLAG, corrected, "`false`", "of `hotband`: `true` is without vdbench's unit error"),
    key!(some "once_per_pass", FLAG, once_per_pass, "`true` for `uniform`", "of `uniform`: `false` draws each block anew, instead of each once a pass"),
];

const SEQUENTIAL: &[Key<Where>] = &[
    key!(some "sequential", FLAG, sequential, "", "`true`: blocks in order"),
    key!(some "skip", SKIP, skip, "0", "bytes left out behind each block: a size, or `\"0-64k\"` for a random one"),
    key!(some "random_start", FLAG, random_start, "`false`", "`true`: begin at a random block"),
    key!(some "shared_cursor", FLAG, shared_cursor, "`false`", "`true`: reads, writes and trims advance together, as in vdbench; `false`: each on its own, as in fio"),
    key!(some "wrap", FLAG, wrap, "`true`", "`false`: end at the end of the range"),
];

/// A placement by its word.
#[derive(Clone, Copy, PartialEq)]
enum Simple {
    Random,
    Sequential,
}

words! { Simple { "random" = Random, "sequential" = Sequential } }

/// What a placement may look like, for messages.
const PATTERN_FORMS: &str = "\"random\", \"sequential\", { random = \"zipf\", theta = 1.1 }, \
                             { sequential = true, skip = \"64k\" }, { random_percent = 20 }";

pub(super) const PLACEMENT: Form<Placement> = Form {
    shape: Shape::Any(&[Shape::Words(names::<Simple>), Shape::Table(|| WHERE.about())]),
    read: |sink, entry, _| {
        if entry.as_str().is_some() {
            return word::<Simple>().take(sink, entry).map(|simple| match simple {
                Simple::Random => Placement::random_map(),
                Simple::Sequential => Placement::sequential(),
            });
        }
        if entry.as_table().is_none() {
            return sink.wrong_type(entry, PATTERN_FORMS);
        }
        let table = sink.table(entry, &WHERE.names(), WHERE.who)?;
        let mut keys = Where::default();
        WHERE.fill(sink, &table, &mut keys);
        placement(sink, entry, &table, keys)
    },
    write: |placement| match placement {
        Placement::Sequential(walk) if *walk == Sequential::default() => quote(Simple::Sequential.word()),
        placement if *placement == Placement::random_map() => quote(Simple::Random.word()),
        placement => WHERE.inline(&Where::of(placement), &Where::default()),
    },
};

fn placement(sink: &mut Sink, entry: Entry<'_>, table: &Fields<'_>, keys: Where) -> Option<Placement> {
    let first_of = |keys: &[Key<Where>]| keys.iter().find_map(|key| table.of(&key.about));
    match (first_of(MIXED), first_of(RANDOM), first_of(SEQUENTIAL)) {
        (Some(_), ..) => {
            let sequential = keys.sequential(sink, table)?;
            let random_percent = keys.random_percent?;
            let random = keys.random(sink, table)?;
            let law =
                table.get("random").filter(|_| matches!(random.distribution, Distribution::ReadMiss { .. }));
            if let Some(law) = law {
                let message = "'random_percent' and random = \"read-miss\" exclude each other";
                sink.error(
                    "conflict",
                    law.span(),
                    message,
                    "a sequential run would touch blocks that later count as misses",
                );
                return None;
            }
            Some(Placement::Mixed { random_percent, random, sequential })
        }
        (None, Some(one), Some(other)) => {
            let message = format!("'{}' and '{}' go together only in a mix", one.key, other.key);
            sink.error("conflict", other.span(), message, "random_percent = 20 makes one");
            None
        }
        (None, Some(_), None) => keys.random(sink, table).map(Placement::Random),
        (None, None, Some(_)) => keys.sequential(sink, table).map(Placement::Sequential),
        (None, None, None) => sink.bad_value(entry, "an empty table is no pattern", PATTERN_FORMS),
    }
}

impl Where {
    fn sequential(&self, sink: &mut Sink, table: &Fields<'_>) -> Option<Sequential> {
        if let Some(entry) = table.get("sequential").filter(|_| self.sequential == Some(false)) {
            return sink.bad_value(
                entry,
                "only true is possible here",
                "random = \"uniform\" is the opposite",
            );
        }
        let defaults = Sequential::default();
        let (skip_min_bytes, skip_max_bytes) = self.skip.unwrap_or((0, 0));
        Some(Sequential {
            skip_min_bytes,
            skip_max_bytes,
            random_start: self.random_start.unwrap_or(defaults.random_start),
            cursor_per_operation: self.shared_cursor.map_or(defaults.cursor_per_operation, |shared| !shared),
            wrap: self.wrap.unwrap_or(defaults.wrap),
        })
    }

    fn random(self, sink: &mut Sink, table: &Fields<'_>) -> Option<Random> {
        let law = match table.get("random") {
            Some(_) => self.random?,
            None => Law::Uniform,
        };
        let name = law.word();
        for entry in RANDOM.iter().filter_map(|key| table.get(key.about.name)) {
            let owner = Law::words().into_iter().find(|(_, owner)| owner.has(entry.key));
            if let Some((owner, _)) = owner.filter(|_| !law.has(entry.key)) {
                let message = format!("'{}' belongs to random = \"{owner}\", not to \"{name}\"", entry.key);
                sink.error("conflict", entry.span(), message, "");
            }
        }
        sink.require(table, law.keys().0, &format!("random = \"{name}\""), "");
        let once = self.once_per_pass;
        let distribution = self.distribution(law)?;
        let uniform = distribution == Distribution::Uniform;
        let once_per_pass = once.unwrap_or(uniform);
        if let Some(entry) = table.get("once_per_pass").filter(|_| once_per_pass && !uniform) {
            let message =
                format!("once_per_pass has no effect on random = \"{name}\": its blocks repeat by design");
            sink.note("no-effect", entry.span(), message, "");
        }
        Some(Random { distribution, once_per_pass })
    }

    fn distribution(self, law: Law) -> Option<Distribution> {
        Some(match law {
            Law::Uniform => Distribution::Uniform,
            Law::Zipf => Distribution::Zipf { theta: self.theta? },
            Law::Pareto => Distribution::Pareto { h: self.h? },
            Law::Normal => Distribution::Normal {
                stddev_percent: self.stddev_percent?,
                scattered: self.scattered.unwrap_or(false),
            },
            Law::Sequence => {
                Distribution::Sequence { blocks: self.blocks?, advances: self.advances.unwrap_or(false) }
            }
            Law::Zoned => Distribution::Zoned(self.zones?),
            Law::HitArea => Distribution::HitArea {
                read_percent: self.read_percent?,
                write_percent: self.write_percent?,
                bytes: self.size?,
            },
            Law::Exponential => Distribution::Exponential { midpoint: self.midpoint? },
            Law::Hotband => Distribution::Hotband {
                low_bytes: self.low?,
                high_bytes: self.high?,
                corrected: self.corrected.unwrap_or(false),
            },
            Law::ReadMiss => Distribution::ReadMiss {
                miss_percent: self.miss_percent?,
                hit_bytes: self.size.unwrap_or(u64::MAX),
            },
        })
    }

    fn of(placement: &Placement) -> Self {
        match placement {
            Placement::Sequential(walk) => Where { sequential: Some(true), ..Where::default() }.walking(walk),
            Placement::Random(random) => Where::drawing(random),
            Placement::Mixed { random_percent, random, sequential } => {
                Where { random_percent: Some(*random_percent), ..Where::drawing(random) }.walking(sequential)
            }
            // No workload has it.
            Placement::Unknown => Where::default(),
        }
    }

    fn walking(self, walk: &Sequential) -> Self {
        let skip = (walk.skip_min_bytes, walk.skip_max_bytes);
        Where {
            skip: (skip != (0, 0)).then_some(skip),
            random_start: walk.random_start.then_some(true),
            shared_cursor: (!walk.cursor_per_operation).then_some(true),
            wrap: (!walk.wrap).then_some(false),
            ..self
        }
    }

    fn drawing(random: &Random) -> Self {
        let keys = Where::default();
        let (law, keys) = match &random.distribution {
            Distribution::Uniform => (Law::Uniform, keys),
            Distribution::Zipf { theta } => (Law::Zipf, Where { theta: Some(*theta), ..keys }),
            Distribution::Pareto { h } => (Law::Pareto, Where { h: Some(*h), ..keys }),
            Distribution::Normal { stddev_percent, scattered } => {
                let scattered = scattered.then_some(true);
                (Law::Normal, Where { stddev_percent: Some(*stddev_percent), scattered, ..keys })
            }
            Distribution::Sequence { blocks, advances } => {
                let (blocks, advances) = (Some(blocks.clone()), advances.then_some(true));
                (Law::Sequence, Where { blocks, advances, ..keys })
            }
            Distribution::Zoned(zones) => (Law::Zoned, Where { zones: Some(zones.clone()), ..keys }),
            Distribution::HitArea { read_percent, write_percent, bytes } => {
                let (read_percent, write_percent) = (Some(*read_percent), Some(*write_percent));
                (Law::HitArea, Where { read_percent, write_percent, size: Some(*bytes), ..keys })
            }
            Distribution::Exponential { midpoint } => {
                (Law::Exponential, Where { midpoint: Some(*midpoint), ..keys })
            }
            Distribution::Hotband { low_bytes, high_bytes, corrected } => {
                let (low, high) = (Some(*low_bytes), Some(*high_bytes));
                (Law::Hotband, Where { low, high, corrected: corrected.then_some(true), ..keys })
            }
            Distribution::ReadMiss { miss_percent, hit_bytes } => {
                let size = (*hit_bytes != u64::MAX).then_some(*hit_bytes);
                (Law::ReadMiss, Where { miss_percent: Some(*miss_percent), size, ..keys })
            }
        };
        let once = random.once_per_pass;
        let once_per_pass = (once != (law == Law::Uniform)).then_some(once);
        Where { random: Some(law), once_per_pass, ..keys }
    }
}
