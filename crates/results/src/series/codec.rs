//! The payload of a frame: an interval in variable-length integers, histograms as their non-empty buckets.

use assay_workload::operation::{Counted, OpId};

use super::{Frame, Level};
use crate::event::HostId;
use crate::histogram::{BUCKETS, LatencyHistogram, SparseHistogram};
use crate::interval::{Interval, IntervalKey, JobCounts, OpCounts};
use crate::varint::{self, put};

/// An interval of the first host. Kinds that are not known here are skipped, so that later minor versions can add some.
const KIND_INTERVAL: u8 = 0;
/// An interval of another host: its number, then the same.
const KIND_HOST_INTERVAL: u8 = 1;
const FLAG_RAMP: u8 = 1;
/// Where nothing is counted yet.
const RESERVED: u64 = 0;

pub(super) fn encode(host: HostId, level: Level, interval: &Interval, out: &mut Vec<u8>) {
    let Interval { key, counts } = interval;
    if host.is_first() {
        out.push(KIND_INTERVAL);
    } else {
        out.push(KIND_HOST_INTERVAL);
        put(out, u64::from(host.0));
    }
    out.push(level_code(level));
    for value in [u64::from(key.phase), u64::from(key.job), u64::from(key.index)] {
        put(out, value);
    }
    out.push(if key.ramp { FLAG_RAMP } else { 0 });
    put(out, key.start_ns);
    put(out, key.length_ns);
    for value in [counts.errors, RESERVED, counts.idle_slot_ns, counts.busy_slot_ns] {
        put(out, value);
    }
    put_histogram(out, &counts.lateness);
    let present = |op: &OpCounts| !op.is_empty();
    let bits = counts.ops.iter().enumerate().fold(0_u8, |bits, (i, op)| bits | (u8::from(present(op)) << i));
    out.push(bits);
    counts.ops.iter().filter(|op| present(op)).for_each(|op| put_op(out, op));
    // Jobs on devices have none, and their frames are as they always were.
    let service = counts.ops.iter().any(|op| !op.service.is_empty());
    if !counts.named.is_empty() || service {
        put(out, counts.named.len() as u64);
        for named in &counts.named {
            let in_total = named.counted == Counted::InTotal;
            out.push(named.operation.number() << 1 | u8::from(in_total));
            put_op(out, &named.counts);
        }
    }
    // Earlier readers leave alone what is behind the named ones.
    if service {
        counts.ops.iter().for_each(|op| put_histogram(out, &op.service));
    }
}

fn put_op(out: &mut Vec<u8>, op: &OpCounts) {
    put(out, op.ios);
    put(out, op.bytes);
    for histogram in [&op.completion, &op.response, &op.submit] {
        put_histogram(out, histogram);
    }
}

/// What a payload holds, without its counts.
pub(super) struct Head<'a> {
    pub(super) host: HostId,
    pub(super) level: Level,
    pub(super) key: IntervalKey,
    rest: Cursor<'a>,
}

/// Whether a payload is of a kind that is known here.
pub(super) fn is_known(payload: &[u8]) -> bool {
    matches!(payload.first(), Some(&(KIND_INTERVAL | KIND_HOST_INTERVAL)))
}

/// The key of a payload; `None` for a kind of frame that is not known here, and for one that makes no sense.
pub(super) fn decode_head(payload: &[u8]) -> Option<Head<'_>> {
    let mut cursor = Cursor(payload);
    let host = match cursor.byte()? {
        KIND_INTERVAL => HostId::FIRST,
        KIND_HOST_INTERVAL => HostId(u16::try_from(cursor.varint()?).ok()?),
        _ => return None,
    };
    let level = level_of(cursor.byte()?)?;
    let key = IntervalKey {
        phase: cursor.small()?,
        job: cursor.small()?,
        index: cursor.small()?,
        ramp: cursor.byte()? & FLAG_RAMP != 0,
        start_ns: cursor.varint()?,
        length_ns: cursor.varint()?,
    };
    Some(Head { host, level, key, rest: cursor })
}

impl Head<'_> {
    /// The whole frame; `None` where the rest makes no sense. Bytes behind it are left alone.
    pub(super) fn decode(self) -> Option<Frame> {
        let mut cursor = self.rest;
        let errors = cursor.varint()?;
        let _reserved = cursor.varint()?;
        let mut counts = JobCounts {
            errors,
            idle_slot_ns: cursor.varint()?,
            busy_slot_ns: cursor.varint()?,
            lateness: cursor.histogram()?,
            ..JobCounts::default()
        };
        let bits = cursor.byte()?;
        for (i, op) in counts.ops.iter_mut().enumerate() {
            if bits & (1 << i) != 0 {
                *op = cursor.op()?;
            }
        }
        let named = if cursor.0.is_empty() { 0 } else { cursor.varint()? };
        for _ in 0..named {
            let code = cursor.byte()?;
            let op = cursor.op()?;
            let counted = if code & 1 != 0 { Counted::InTotal } else { Counted::Beside };
            counts.named_mut(OpId::new(code >> 1), counted).merge(&op);
        }
        if !cursor.0.is_empty() {
            for op in &mut counts.ops {
                op.service = cursor.histogram()?;
            }
        }
        Some(Frame { host: self.host, level: self.level, interval: Interval { key: self.key, counts } })
    }
}

fn level_code(level: Level) -> u8 {
    match level {
        Level::Period => 0,
        Level::TenSeconds => 1,
        Level::Minute => 2,
    }
}

fn level_of(code: u8) -> Option<Level> {
    [Level::Period, Level::TenSeconds, Level::Minute].into_iter().find(|level| level_code(*level) == code)
}

fn put_histogram(out: &mut Vec<u8>, histogram: &LatencyHistogram) {
    put(out, histogram.buckets().count() as u64);
    if histogram.is_empty() {
        return;
    }
    put(out, u64::try_from(histogram.sum_ns()).unwrap_or(u64::MAX));
    put(out, histogram.min_ns());
    put(out, histogram.max_ns());
    let mut next = 0;
    for (bucket, count) in histogram.buckets() {
        put(out, (bucket - next) as u64);
        put(out, count);
        next = bucket + 1;
    }
}

/// What has not been read of a payload. Every method answers `None` at its end.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        varint::take(&mut self.0)
    }

    fn op(&mut self) -> Option<OpCounts> {
        Some(OpCounts {
            ios: self.varint()?,
            bytes: self.varint()?,
            completion: self.histogram()?,
            response: self.histogram()?,
            submit: self.histogram()?,
            service: LatencyHistogram::new(),
        })
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    fn histogram(&mut self) -> Option<LatencyHistogram> {
        let number = self.varint()?;
        if number == 0 {
            return Some(LatencyHistogram::new());
        }
        // A bucket takes two bytes at least: a number that the payload cannot hold is refused before memory is taken.
        if number > BUCKETS as u64 || number > self.0.len() as u64 / 2 {
            return None;
        }
        let mut sparse = SparseHistogram {
            buckets: Vec::with_capacity(number as usize),
            sum_ns: self.varint()?,
            min_ns: self.varint()?,
            max_ns: self.varint()?,
        };
        let mut next = 0_u32;
        for _ in 0..number {
            let bucket = next.checked_add(self.small()?)?;
            let count = self.varint()?;
            if bucket as usize >= BUCKETS || count == 0 {
                return None;
            }
            sparse.buckets.push((bucket, count));
            next = bucket + 1;
        }
        Some(LatencyHistogram::from_sparse(&sparse))
    }
}
