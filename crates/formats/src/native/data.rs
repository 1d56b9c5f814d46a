//! What a job writes, how it makes that durable, and the options of its path: tables within a job.

use assay_workload::content::{Acknowledged, Content, DataJournal, PatternBlocks, Payload, Refresh};
use assay_workload::job::{
    EngineOptions, Flow, FlushCall, FlushOrder, FlushPolicy, OpenSync, PeriodicFlush, SteadyFigure,
    SteadyLimit, Strides, ThinkTime,
};
use assay_workload::units::Nanos;

use super::forms::{
    BLOCK_SIZE, FLAG, NAME, PERCENT, SIZE, TEXT, TIME, count, count_u32, number, quote, word,
};
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::scalar;
use super::words::{Word, names, words};

/// A payload that a word names.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    Random,
    Zero,
}

words! { Fill { "random" = Random, "zero" = Zero } }

#[derive(Default)]
struct Pattern {
    text: Option<String>,
    hex: Option<Vec<u8>>,
}

const HEX: Form<Vec<u8>> = Form {
    shape: Shape::Matching("^([0-9a-fA-F]{2})*$", "c0ffee"),
    read: |sink, entry, _| sink.parsed(entry, scalar::hex, "an even number of digits 0-9, a-f"),
    write: |bytes| quote(&scalar::write_hex(bytes)),
};

const PATTERN: Table<Pattern> = Table {
    who: "'payload'",
    example: "{ hex = \"c0ffee\" }",
    sections: &[&[
        key!(some "text", TEXT, text, "", "the text is repeated"),
        key!(some "hex", HEX, hex, "", "the bytes are repeated"),
    ]],
};

const PAYLOAD: Form<Payload> = Form {
    shape: Shape::Any(&[Shape::Words(names::<Fill>), Shape::Table(|| PATTERN.about())]),
    read: |sink, entry, _| {
        if entry.as_table().is_none() {
            return word::<Fill>().take(sink, entry).map(|fill| match fill {
                Fill::Random => Payload::Random,
                Fill::Zero => Payload::Zero,
            });
        }
        let errors = sink.errors();
        let bytes = match PATTERN.read(sink, entry, Pattern::default())? {
            Pattern { text: Some(text), hex: None } => text.into_bytes(),
            Pattern { text: None, hex: Some(bytes) } => bytes,
            _ if sink.errors() > errors => return None,
            _ => return sink.bad_value(entry, "a pattern is either 'text' or 'hex'", PATTERN.example),
        };
        if bytes.is_empty() {
            return sink.bad_value(entry, "the pattern is empty", PATTERN.example);
        }
        Some(Payload::Pattern(bytes))
    },
    write: |payload| match payload {
        Payload::Random => quote(Fill::Random.word()),
        Payload::Zero => quote(Fill::Zero.word()),
        Payload::Pattern(bytes) => {
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control));
            let hex = if text.is_none() { Some(bytes.clone()) } else { None };
            PATTERN.inline(&Pattern { text: text.map(str::to_owned), hex }, &Pattern::default())
        }
    },
};

const RATIO: Form<f64> = number(1.0, f64::MAX);

words! { Acknowledged { "flushed" = Flushed, "completed" = Completed } }

pub(super) const JOURNAL_KEYS: Table<DataJournal> = Table {
    who: "'journal'",
    example: "journal = { acknowledged = \"completed\", directory = \"/var/lib/assay\" }",
    sections: &[&[
        key!(set "acknowledged", word::<Acknowledged>(), acknowledged, "`flushed`", "when the storage must not lose a write any more: `flushed`, when a flush that began after it completed has succeeded (with `flush = { open = \"dsync\" }` or `\"sync\"`: when it completes); `completed`: when it completes, for direct writes to storage without a volatile write cache"),
        key!(some "directory", NAME, directory, "the run's own", "where the journal is kept; not on the tested device, which may lose it together with the data"),
    ]],
};

/// When writes count, or a table.
const JOURNAL: Form<DataJournal> = Form {
    shape: Shape::Any(&[Shape::Words(names::<Acknowledged>), Shape::Table(|| JOURNAL_KEYS.about())]),
    read: |sink, entry, _| match entry.as_str() {
        Some(_) => word::<Acknowledged>()
            .take(sink, entry)
            .map(|acknowledged| DataJournal { acknowledged, directory: None }),
        None => JOURNAL_KEYS.read(sink, entry, DataJournal::default()),
    },
    write: |journal| match &journal.directory {
        None => quote(journal.acknowledged.word()),
        Some(_) => JOURNAL_KEYS.inline(journal, &DataJournal::default()),
    },
};

pub(super) const PATTERN_BLOCK_KEYS: Table<PatternBlocks> = Table {
    who: "'pattern_blocks'",
    example: "pattern_blocks = { offset_at = [1], restart = 512 }",
    sections: &[&[
        key!(set "headers", FLAG, headers, "`false`", "`true`: each sector begins with a header instead; else what is read is compared with the pattern itself, as with fio's `verify=pattern`"),
        key!(set "offset_at", PLACES, offset_at, "none", "a list: where in the pattern eight bytes are the offset of the block, little endian, as `%o` of fio"),
        key!(set "restart", SIZE, restart_bytes, "0: with each block", "the pattern begins again after so many bytes of a block, with their offset"),
    ]],
};

const PLACES: Form<Vec<u32>> = Form {
    shape: Shape::List(&Shape::Count(0, u32::MAX as u64)),
    read: |sink, entry, _| {
        entry.elements().into_iter().map(|element| count_u32(0, u32::MAX).take(sink, element)).collect()
    },
    write: |places| format!("[{}]", places.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
};

const PATTERN_BLOCKS: Form<PatternBlocks> = Form {
    shape: Shape::Table(|| PATTERN_BLOCK_KEYS.about()),
    read: |sink, entry, _| PATTERN_BLOCK_KEYS.read(sink, entry, PatternBlocks::default()),
    write: |blocks| PATTERN_BLOCK_KEYS.inline(blocks, &PatternBlocks::default()),
};

pub(super) const CONTENT_KEYS: Table<Content> = Table {
    who: "'content'",
    example: "content = { compression_ratio = 2 }",
    sections: &[&[
        key!(always "payload", PAYLOAD, payload, "`\"random\"`", "`\"random\"`, `\"zero\"`, `{ text = \"..\" }`, `{ hex = \"c0ffee\" }`"),
        key!(set "refresh", word::<Refresh>(), refresh, "`stamp`", "when it changes: `every-write`, `stamp` (a few bytes of each 4 KiB), `never`"),
        key!(set "compression_ratio", RATIO, compression_ratio, "1", "the ratio a compressing target should reach; 1 is incompressible"),
        key!(set "dedup_ratio", RATIO, dedup_ratio, "1", "the ratio a deduplicating target should reach; 1 is no duplicates"),
        key!(set "dedup_unit", BLOCK_SIZE, dedup_unit_bytes, "`\"4k\"`", "the size within which duplicates are made"),
        key!(set "verify", FLAG, verify, "`false`", "`true`: every sector written says its target, offset, generation and run under a CRC-32C, and what is read is compared with the last write; the jobs of a phase of kind `verify` that only read then read everything the run wrote"),
        key!(set "reread", FLAG, reread, "`false`", "`true`, with `verify`: what was written is read back and compared at once, in the slot of the write; these reads are counted apart. Through the page cache they check nothing below it: use direct I/O"),
        key!(set "written", FLAG, written, "`false`", "`true`, with `verify`: all that is read was written by Assay, in this run or in an earlier one: a block without headers is wrong, and not one of which nothing is known"),
        key!(some "pattern_blocks", PATTERN_BLOCKS, pattern_blocks, "behind headers", "with `verify` and a pattern as `payload`: `{ offset_at = [1], restart = 512 }`: how blocks hold it, see below"),
        key!(none "written_beside_reads_percent", PERCENT, written_beside_reads_percent, "", "with `written`, of a job that only reads: what a job of the same pattern with this share of reads writes is what is read"),
        key!(none "data_errors_max", count(1, u64::MAX), data_errors_max, "`errors_tolerated` counts them", "with `verify`: each thread ends its job at this many wrong blocks, whatever `errors_tolerated` says"),
        key!(some "journal", JOURNAL, journal, "none", "with `verify`: writes are kept in a journal that survives a crash of the host, and `assay runs verify RUN` then proves that every acknowledged one is there; `\"flushed\"`, `\"completed\"` or a table"),
    ]],
};

/// A payload, or a table.
pub(super) const CONTENT: Form<Content> = Form {
    shape: Shape::Any(&[Shape::Words(names::<Fill>), Shape::Table(|| CONTENT_KEYS.about())]),
    read: |sink, entry, _| match entry.as_str() {
        Some(_) => PAYLOAD.take(sink, entry).map(|payload| Content { payload, ..Content::default() }),
        None => CONTENT_KEYS.read(sink, entry, Content::default()),
    },
    write: |content| CONTENT_KEYS.inline(content, &Content::default()),
};

/// A policy with its periodic part laid open.
#[derive(Default)]
pub(super) struct Flush {
    open: OpenSync,
    call: Option<FlushCall>,
    every_writes: Option<u32>,
    order: Option<FlushOrder>,
    at_end: bool,
}

pub(super) const FLUSH_KEYS: Table<Flush> = Table {
    who: "'flush'",
    example: "flush = { every_writes = 8 }",
    sections: &[&[
        key!(set "open", word::<OpenSync>(), open, "`none`", "how files are opened: `none`, `dsync` (O_DSYNC), `sync` (O_SYNC)"),
        key!(some "call", word::<FlushCall>(), call, "`fsync`", "`fsync` or `fdatasync`"),
        key!(some "every_writes", count_u32(1, u32::MAX), every_writes, "1", "flush after this many writes"),
        key!(some "order", word::<FlushOrder>(), order, "`after-write`", "`after-write`: once these writes are complete; `queued`: behind them in the queue, as fio does, so that it may overtake them; `barrier`: once nothing is outstanding, and nothing is issued until it is done, as fio's libaio engine up to 3.3x does. `queued` and `barrier` do not flush after the last write"),
        key!(set "at_end", FLAG, at_end, "`false`", "`true`: an fsync of each file at the end, within the measured time"),
    ]],
};

/// `none`, or a table.
pub(super) const FLUSH: Form<FlushPolicy> = Form {
    shape: Shape::Any(&[Shape::Words(|| vec!["none"]), Shape::Table(|| FLUSH_KEYS.about())]),
    read: |sink, entry, _| {
        if entry.is("none") {
            return Some(FlushPolicy::default());
        }
        let flush = FLUSH_KEYS.read(sink, entry, Flush::default())?;
        let periodic = flush.call.is_some() || flush.every_writes.is_some() || flush.order.is_some();
        let periodic = periodic.then(|| PeriodicFlush {
            call: flush.call.unwrap_or(FlushCall::Fsync),
            every_writes: flush.every_writes.unwrap_or(1),
            order: flush.order.unwrap_or(FlushOrder::AfterWrite),
        });
        Some(FlushPolicy { open: flush.open, periodic, at_end: flush.at_end })
    },
    write: |policy| {
        let FlushPolicy { open, periodic, at_end } = *policy;
        let flush = Flush {
            open,
            call: periodic.map(|flush| flush.call),
            every_writes: periodic.map(|flush| flush.every_writes),
            order: periodic.map(|flush| flush.order),
            at_end,
        };
        FLUSH_KEYS.inline(&flush, &Flush::default())
    },
};

const BATCH: Form<u32> = count_u32(0, u32::MAX);

pub(super) const ENGINE_OPTION_KEYS: Table<EngineOptions> = Table {
    who: "'engine_options'",
    example: "engine_options = { iopoll = true }",
    sections: &[&[
        key!(set "iopoll", FLAG, iopoll, "`false`", "io_uring: poll the device for completions; needs direct I/O and poll queues"),
        key!(set "sqpoll", FLAG, sqpoll, "`false`", "io_uring: a kernel thread submits"),
        key!(set "passthrough", FLAG, passthrough, "`false`", "io_uring: NVMe commands on a character device (`/dev/ngXnY`)"),
        key!(set "unregistered", FLAG, unregistered, "`false`", "io_uring: do not register files and buffers"),
        key!(set "submit_batch_max", BATCH, submit_batch_max, "0: chosen by the path", "at most this many I/Os in one submission"),
        key!(set "reap_batch_min", BATCH, reap_batch_min, "0: never wait", "wait for this many completions at once"),
    ]],
};

pub(super) const ENGINE_OPTIONS: Form<EngineOptions> = Form {
    shape: Shape::Table(|| ENGINE_OPTION_KEYS.about()),
    read: |sink, entry, _| ENGINE_OPTION_KEYS.read(sink, entry, EngineOptions::default()),
    write: |options| ENGINE_OPTION_KEYS.inline(options, &EngineOptions::default()),
};

const NO_THINK: ThinkTime = ThinkTime { time: Nanos(0), every_ios: 1 };

pub(super) const THINK_KEYS: Table<ThinkTime> = Table {
    who: "'think_time'",
    example: "think_time = \"10ms\"",
    sections: &[&[
        key!(must "time", TIME, time, "required", "how long the thread pauses"),
        key!(set "every_ios", count_u32(1, u32::MAX), every_ios, "1", "after this many I/Os"),
    ]],
};

/// A time after each operation, or a table.
pub(super) const THINK: Form<ThinkTime> = Form {
    shape: Shape::Any(&[Shape::Time, Shape::Table(|| THINK_KEYS.about())]),
    read: |sink, entry, _| match entry.as_table() {
        Some(_) => THINK_KEYS.read(sink, entry, NO_THINK),
        None => TIME.take(sink, entry).map(|time| ThinkTime { time, ..NO_THINK }),
    },
    write: |think| match think.every_ios {
        1 => (TIME.write)(&think.time),
        _ => THINK_KEYS.inline(think, &NO_THINK),
    },
};

const NO_FLOW: Flow = Flow { id: 0, weight: 1, pause: Nanos(0) };

pub(super) const FLOW_KEYS: Table<Flow> = Table {
    who: "'flow'",
    example: "flow = { weight = 8 }",
    sections: &[&[
        key!(must "weight", count_u32(1, u32::MAX), weight, "required", "operations of each thread, against those of the others"),
        key!(set "id", count_u32(0, u32::MAX), id, "0", "jobs of one phase with the same number share a flow"),
        key!(set "pause", TIME, pause, "0", "what a thread that is ahead waits before it looks again"),
    ]],
};

pub(super) const FLOW: Form<Flow> = Form {
    shape: Shape::Table(|| FLOW_KEYS.about()),
    read: |sink, entry, _| FLOW_KEYS.read(sink, entry, NO_FLOW),
    write: |flow| FLOW_KEYS.inline(flow, &NO_FLOW),
};

const NO_STRIDES: Strides = Strides { zone_bytes: 0, turn_bytes: 0, skip_bytes: 0 };

pub(super) const STRIDES_KEYS: Table<Strides> = Table {
    who: "'strides'",
    example: "strides = { zone = \"1MiB\", turn = \"256KiB\", skip = \"7MiB\" }",
    sections: &[&[
        key!(must "zone", SIZE, zone_bytes, "required", "the length of a zone"),
        key!(must "turn", SIZE, turn_bytes, "required", "so many bytes are moved in a zone before the next one"),
        key!(set "skip", SIZE, skip_bytes, "0", "left out between a zone and the next one"),
    ]],
};

pub(super) const STRIDES: Form<Strides> = Form {
    shape: Shape::Table(|| STRIDES_KEYS.about()),
    read: |sink, entry, _| STRIDES_KEYS.read(sink, entry, NO_STRIDES),
    write: |strides| STRIDES_KEYS.inline(strides, &NO_STRIDES),
};

const NO_STEADY: SteadyLimit = SteadyLimit {
    figure: SteadyFigure::Iops,
    slope: false,
    percent_max: 0.0,
    window: Nanos(0),
    skip: Nanos(0),
};

pub(super) const STEADY_KEYS: Table<SteadyLimit> = Table {
    who: "'ends_steady'",
    example: "ends_steady = { percent_max = 5, window = \"30s\" }",
    sections: &[&[
        key!(set "figure", word::<SteadyFigure>(), figure, "`iops`", "`iops`, `bandwidth` or `latency`"),
        key!(set "slope", FLAG, slope, "`false`", "`true`: the slope of its least-squares line per interval has to be below the limit, instead of its largest distance from the mean"),
        key!(must "percent_max", PERCENT, percent_max, "required", "the limit, in per cent of the mean"),
        key!(must "window", TIME, window, "required", "over how many of the latest reporting intervals, as a time"),
        key!(set "skip", TIME, skip, "0", "a time at the start that is left out"),
    ]],
};

pub(super) const STEADY: Form<SteadyLimit> = Form {
    shape: Shape::Table(|| STEADY_KEYS.about()),
    read: |sink, entry, _| STEADY_KEYS.read(sink, entry, NO_STEADY),
    write: |steady| STEADY_KEYS.inline(steady, &NO_STEADY),
};
