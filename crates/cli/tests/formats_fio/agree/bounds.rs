//! How far two sides may be apart.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use super::{Did, End, Traced};

/// Most parts that the addresses are counted in, and independent addresses for each of them.
const ADDRESS_PARTS_MAX: u64 = 64;
const ADDRESSES_EACH: u64 = 20;

/// Rates may differ by this share, and by what chance allows.
const RATE_SHARE: f64 = 0.03;

/// Where every byte is done once, this share of the bytes may lie elsewhere.
const BYTES_SHARE: f64 = 0.01;

/// Flushes that one side may do more, a thread: fio does none behind the last write.
const FLUSHES: u64 = 2;

/// Compares two sides; panics where they are further apart than the bounds, and says how far they are.
pub(super) fn compare(end: End, assay: &Did, fio: &Did) -> Vec<String> {
    let names = |did: &Did| did.totals.keys().copied().collect::<Vec<_>>();
    assert_eq!(names(assay), names(fio), "the kinds of operations");
    let mut said = Vec::new();
    let data =
        |did: &Did| did.totals.iter().filter(|(name, _)| **name != "flush").map(|(_, n)| n).sum::<u64>();
    let (by_assay, by_fio) = (data(assay), data(fio));
    match end {
        End::Count => {
            said.push(format!("I/Os {by_assay}, fio {by_fio}"));
            assert_eq!(by_assay, by_fio, "I/Os in all");
        }
        // One count says little: it varies by some per cent from seed to seed, on both sides. See `counts`.
        End::Map => said.push(format!("I/Os {by_assay}, fio {by_fio}")),
        End::Rate => said.extend(rates(assay, fio)),
    }
    if let (Some(assay), Some(fio)) = (assay.totals.get("flush"), fio.totals.get("flush")) {
        said.push(format!("flushes {assay}, fio {fio}"));
        assert!(assay.abs_diff(*fio) <= FLUSHES, "flushes: {assay} and {fio}");
    }
    said.push(distance("mix", assay, fio, |io| io.kind as u64));
    said.push(distance("sizes", assay, fio, |io| io.len_bytes * 8 + io.kind as u64));
    let range = range(&fio.trace).max(range(&assay.trace));
    let drawn = independent(&assay.trace).min(independent(&fio.trace)) as u64;
    let part = range.div_ceil((drawn / ADDRESSES_EACH).clamp(4, ADDRESS_PARTS_MAX)).max(1);
    let place = |io: &Traced| io.offset_bytes / part;
    said.push(match end {
        // Where a large block came early there are few: only the bytes are the same everywhere.
        End::Map => {
            let apart = apart(&shares(&by_block(assay), &by_block(fio), place));
            assert!(apart <= BYTES_SHARE, "bytes by address: {apart:.4} apart, at most {BYTES_SHARE}");
            format!("bytes by address {apart:.4} apart of {BYTES_SHARE}")
        }
        _ => distance("addresses", assay, fio, place),
    });
    said
}

/// Holds the numbers of I/Os of both sides to each other, one for each seed: their means differ by no more than four
/// deviations of the difference.
pub(super) fn counts(assay: &[u64], fio: &[u64]) -> String {
    let summary = |counts: &[u64]| {
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<u64>() as f64 / n;
        let variance = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((by_assay, a), (by_fio, b)) = (summary(assay), summary(fio));
    let (apart, bound) = ((by_assay - by_fio).abs() / by_fio, 4.0 * (a + b).sqrt() / by_fio);
    assert!(apart <= bound, "I/Os on average: {by_assay:.0} and {by_fio:.0}, {apart:.4} apart of {bound:.4}");
    let seeds = (assay.len(), fio.len());
    format!(
        "I/Os on average of {} and {} seeds {by_assay:.0}, fio {by_fio:.0}: {apart:.4} apart of {bound:.4}",
        seeds.0, seeds.1
    )
}

/// The same, each I/O as blocks of 4 KiB.
fn by_block(did: &Did) -> Did {
    const BLOCK_BYTES: u64 = 4096;
    let blocks = |io: &Traced| {
        let io = *io;
        (0..io.len_bytes.div_ceil(BLOCK_BYTES)).map(move |block| Traced {
            offset_bytes: io.offset_bytes + block * BLOCK_BYTES,
            len_bytes: BLOCK_BYTES,
            ..io
        })
    };
    Did { trace: did.trace.iter().flat_map(blocks).collect(), ..did.clone() }
}

fn rates(assay: &Did, fio: &Did) -> Vec<String> {
    let one = |(name, fio_rate): (&&'static str, &f64)| {
        let rate = assay.rates[name];
        let few = assay.totals[name].min(fio.totals[name]).max(1) as f64;
        // Arrivals by chance: the difference of two counts of n has a deviation of the root of 2n.
        let bound = RATE_SHARE + 4.0 * (2.0 / few).sqrt();
        let apart = (rate / fio_rate - 1.0).abs();
        assert!(
            apart <= bound,
            "{name}: {rate:.0} and {fio_rate:.0} a second, {apart:.3} apart, at most {bound:.3}"
        );
        format!("{name} {rate:.0} /s, fio {fio_rate:.0} /s")
    };
    fio.rates.iter().map(one).collect()
}

fn range(trace: &[Traced]) -> u64 {
    trace.iter().map(|io| io.offset_bytes + io.len_bytes).max().unwrap_or(0)
}

/// How many independent addresses a trace stands for: of a run of blocks, one behind the other, only the first is drawn.
/// One long walk is not drawn at all, and all of it counts.
fn independent(trace: &[Traced]) -> f64 {
    const RUNS_MIN: usize = 50;
    let follows = |pair: &[Traced]| pair[1].offset_bytes == pair[0].offset_bytes + pair[0].len_bytes;
    let mut runs = vec![1_f64];
    for pair in trace.windows(2) {
        match runs.last_mut() {
            Some(length) if follows(pair) => *length += 1.0,
            _ => runs.push(1.0),
        }
    }
    let all = trace.len() as f64;
    if runs.len() < RUNS_MIN {
        all
    } else {
        all * all / runs.iter().map(|length| length * length).sum::<f64>()
    }
}

/// Half the sum of the differences of the shares: 0 where both are the same, 1 where they have nothing in common.
///
/// The bound is one per cent and what two samples of one distribution show by chance: the expected distance, and four
/// times its deviation.
fn distance(what: &str, assay: &Did, fio: &Did, class: impl Fn(&Traced) -> u64) -> String {
    let shares = shares(assay, fio, class);
    let apart = apart(&shares);
    let n = 2.0 / (1.0 / independent(&assay.trace) + 1.0 / independent(&fio.trace));
    let deviation = |[a, b]: &[f64; 2]| {
        let share = f64::midpoint(*a, *b);
        (2.0 * share * (1.0 - share).max(0.0) / n).sqrt()
    };
    // Of the size of a normal variable: its mean, and its variance around it.
    let (mean, variance) = ((2.0 / PI).sqrt(), 1.0 - 2.0 / PI);
    let expected = shares.iter().map(|pair| mean * deviation(pair)).sum::<f64>() / 2.0;
    let spread = shares.iter().map(|pair| variance * deviation(pair).powi(2)).sum::<f64>().sqrt() / 2.0;
    let bound = 0.01 + expected + 4.0 * spread;
    assert!(apart <= bound, "{what}: {apart:.4} apart, at most {bound:.4}");
    format!("{what} {apart:.4} apart of {bound:.4}")
}

/// Half the sum of the differences of the shares.
fn apart(shares: &[[f64; 2]]) -> f64 {
    shares.iter().map(|[a, b]| (a - b).abs()).sum::<f64>() / 2.0
}

/// The shares of each class on both sides.
fn shares(assay: &Did, fio: &Did, class: impl Fn(&Traced) -> u64) -> Vec<[f64; 2]> {
    let mut counts: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    for (side, trace) in [&assay.trace, &fio.trace].into_iter().enumerate() {
        assert!(!trace.is_empty(), "no operations are known");
        for io in trace {
            counts.entry(class(io)).or_default()[side] += 1.0 / trace.len() as f64;
        }
    }
    counts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use assay_workload::pattern::OpKind;

    use super::*;

    fn did(offsets: impl Iterator<Item = u64>) -> Did {
        let io = |offset_bytes| Traced { kind: OpKind::Read, offset_bytes, len_bytes: 4096 };
        let trace: Vec<Traced> = offsets.map(io).collect();
        Did { totals: [("read", trace.len() as u64)].into(), rates: [("read", 1000.0)].into(), trace }
    }

    #[test]
    fn the_same_is_within_the_bounds() {
        let walk = || did((0..4096).map(|block| block * 4096));
        compare(End::Count, &walk(), &walk());
    }

    #[test]
    #[should_panic(expected = "addresses")]
    fn a_shifted_walk_is_not() {
        compare(End::Count, &did((0..4096).map(|b| b * 4096)), &did((0..4096).map(|b| (b + 1024) * 4096)));
    }

    #[test]
    #[should_panic(expected = "I/Os in all")]
    fn another_count_is_not() {
        compare(End::Count, &did(0..4000), &did(0..4001));
    }

    #[test]
    fn counts_are_held_to_each_other() {
        counts(&[100, 110, 90, 105], &[103, 95, 101, 99]);
    }

    #[test]
    #[should_panic(expected = "on average")]
    fn counts_that_differ_on_average_are_not_the_same() {
        counts(&[100, 110, 90, 105], &[123, 115, 131, 129]);
    }

    #[test]
    #[should_panic(expected = "a second")]
    fn another_rate_is_not() {
        let mut other = did(0..40_000);
        other.rates.insert("read", 1100.0);
        compare(End::Rate, &did(0..40_000), &other);
    }
}
