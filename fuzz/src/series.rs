//! Series of intervals: what is read of a file is changed and written again, so that lengths, checksums and sums are right.

use assay_results::series::{Frame, Level, SeriesEncoder, SeriesReader};
use assay_results::{HostId, Interval, IntervalKey, JobCounts, LatencyHistogram, OpCounts};
use assay_workload::operation::{Counted, OpId};

use crate::Input;
use crate::random::Random;

/// One in this many mutants is of bytes.
const OF_BYTES: usize = 4;

/// Whether the rest of an input is payloads of frames, by its first byte; else it is a file.
pub fn is_payloads(kind: u8) -> bool {
    kind % 2 == 1
}

/// A mutant in the place of `input`; its length.
pub fn mutate(input: Input<'_>) -> usize {
    let mut random = Random::new(input.seed);
    let kind = input.data[..input.size].first().copied().unwrap_or(0);
    if is_payloads(kind) || random.one_in(OF_BYTES) {
        return input.mutate_bytes();
    }
    let Input { data, size, max_size, .. } = input;
    let mut intervals = read(data[..size].get(1..).unwrap_or(&[]));
    change(&mut intervals, &mut random);
    let mut file = vec![kind];
    file.extend(written(&intervals));
    let length = file.len().min(max_size);
    data[..length].copy_from_slice(&file[..length]);
    length
}

/// The periods of a file.
fn read(file: &[u8]) -> Vec<(HostId, Interval)> {
    let mut periods = Vec::new();
    if let Ok(mut reader) = SeriesReader::open(file) {
        while let Ok(Some(Frame { host, level, interval })) = reader.next_frame() {
            if level == Level::Period {
                periods.push((host, interval));
            }
        }
    }
    periods
}

fn written(intervals: &[(HostId, Interval)]) -> Vec<u8> {
    let mut encoder = SeriesEncoder::new();
    let mut file = SeriesEncoder::header();
    intervals.iter().for_each(|(host, interval)| file.extend(encoder.encode(*host, interval)));
    file.extend(encoder.finish());
    file
}

fn change(intervals: &mut Vec<(HostId, Interval)>, random: &mut Random) {
    let number = intervals.len();
    if number == 0 || random.one_in(4) {
        let index = intervals.last().map_or(0, |(_, last)| last.key.index.wrapping_add(1));
        intervals.push((host(random), any_interval(index, random)));
        return;
    }
    let at = random.below(number);
    match random.below(6) {
        0 => drop(intervals.remove(at)),
        1 => intervals.insert(at, intervals[at].clone()),
        2 => intervals.swap(at, random.below(number)),
        3 => intervals[at].0 = host(random),
        4 => change_key(&mut intervals[at].1.key, random),
        _ => intervals[at].1.counts = counts(random),
    }
}

fn host(random: &mut Random) -> HostId {
    HostId(*random.pick(&[0, 0, 0, 1, 2, 255, 4096, u16::MAX]))
}

fn change_key(key: &mut IntervalKey, random: &mut Random) {
    let small = |old: u32, random: &mut Random| random.number(u64::from(old)) as u32;
    match random.below(6) {
        0 => key.phase = small(key.phase, random),
        1 => key.job = small(key.job, random),
        2 => key.index = small(key.index, random),
        3 => key.ramp = !key.ramp,
        4 => key.start_ns = random.number(key.start_ns),
        _ => key.length_ns = random.number(key.length_ns),
    }
}

fn any_interval(index: u32, random: &mut Random) -> Interval {
    const S: u64 = 1_000_000_000;
    let start_ns = u64::from(index).saturating_mul(S);
    let key = IntervalKey { phase: 0, job: 0, index, ramp: random.one_in(8), start_ns, length_ns: S };
    Interval { key, counts: counts(random) }
}

fn counts(random: &mut Random) -> JobCounts {
    let mut counts = JobCounts { errors: random.number(0), ..JobCounts::default() };
    for at in 0..counts.ops.len() {
        if random.one_in(2) {
            counts.ops[at] = op(random);
        }
    }
    for _ in 0..random.below(3) {
        let counted = *random.pick(&[Counted::Beside, Counted::InTotal]);
        *counts.named_mut(OpId::new((random.next() % 128) as u8), counted) = op(random);
    }
    counts.lateness = histogram(random);
    counts.idle_slot_ns = random.number(1000);
    counts
}

fn op(random: &mut Random) -> OpCounts {
    let (ios, bytes) = (random.number(1000), random.number(4_096_000));
    OpCounts {
        ios,
        bytes,
        completion: histogram(random),
        response: histogram(random),
        submit: histogram(random),
        service: histogram(random),
    }
}

fn histogram(random: &mut Random) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for _ in 0..random.below(4) {
        let (value_ns, count) = (random.number(100_000), random.number(10) % (1 << 32));
        histogram.record_n(value_ns, count);
    }
    histogram
}
