//! The latency buckets of fio, which its JSON+ lists by their middles.
//!
//! fio (`stat.c`, from 3.0 on): values below 128 ns have a bucket each; above, each power of two is cut into 64. Ours are
//! cut into 128, and every edge of fio's is one of ours, so a count moves into fio's buckets without loss.

use assay_results::histogram::{BUCKETS, LatencyHistogram, bucket_low_ns, bucket_of};

/// Buckets per power of two.
const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
/// Number of buckets: 29 groups of 64. Longer values count in the last one.
pub(crate) const FIO_BINS: usize = 29 * SUB;

/// The bucket of a value in nanoseconds. Always below [`FIO_BINS`].
pub(crate) fn fio_bin_of(value_ns: u64) -> usize {
    let exponent = 63 - (value_ns | 1).leading_zeros();
    if exponent <= SUB_BITS {
        return value_ns as usize;
    }
    let shift = exponent - SUB_BITS;
    let bin = ((shift as usize + 1) << SUB_BITS) + ((value_ns >> shift) as usize & (SUB - 1));
    bin.min(FIO_BINS - 1)
}

/// The smallest value of a bucket, and the number of values in it, in nanoseconds.
pub(crate) fn fio_bin_range_ns(bin: usize) -> (u64, u64) {
    let bin = bin.min(FIO_BINS - 1);
    if bin < 2 * SUB {
        return (bin as u64, 1);
    }
    let shift = (bin >> SUB_BITS) - 1;
    (((SUB + bin % SUB) as u64) << shift, 1 << shift)
}

/// What fio calls the bucket and reports for a percentile in it: its middle, in nanoseconds.
pub(crate) fn fio_bin_middle_ns(bin: usize) -> u64 {
    let (low, width) = fio_bin_range_ns(bin);
    low + width / 2
}

/// The buckets of fio that hold values of `histogram`, ascending: middle in nanoseconds, and count.
pub(crate) fn to_fio_bins(histogram: &LatencyHistogram) -> Vec<(u64, u64)> {
    let mut bins: Vec<(usize, u64)> = Vec::new();
    for (bucket, count) in histogram.buckets() {
        let bin = fio_bin_of(bucket_low_ns(bucket));
        match bins.last_mut() {
            Some((last, sum)) if *last == bin => *sum = sum.saturating_add(count),
            _ => bins.push((bin, count)),
        }
    }
    bins.into_iter().map(|(bin, count)| (fio_bin_middle_ns(bin), count)).collect()
}

/// Our buckets for `count` values that fio counted in the bucket it calls `middle_ns`: half of them each in the two
/// that make it up, so that neither end is favoured.
pub(crate) fn from_fio_bin(middle_ns: u64, count: u64) -> [(usize, u64); 2] {
    let (low, width) = fio_bin_range_ns(fio_bin_of(middle_ns));
    let lower = bucket_of(low);
    let upper = bucket_of(low + width - 1).min(BUCKETS - 1);
    [(lower, count - count / 2), (upper, count / 2)]
}

/// fio's percentile: the middle of the first bucket up to which at least `percent` of the `n` values lie. `bins` as of
/// [`to_fio_bins`]; `None` without values.
pub(crate) fn fio_percentile_ns(bins: &[(u64, u64)], n: u64, percent: f64) -> Option<u64> {
    let needed = percent / 100.0 * n as f64;
    let mut seen = 0_u64;
    let found = bins.iter().find(|(_, count)| {
        seen = seen.saturating_add(*count);
        seen as f64 >= needed
    });
    found.or(bins.last()).map(|(middle, _)| *middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_buckets_are_contiguous_and_named_as_fio_names_them() {
        let mut next = 0;
        for bin in 0..FIO_BINS {
            let (low, width) = fio_bin_range_ns(bin);
            assert_eq!(low, next, "bin {bin}");
            assert_eq!((fio_bin_of(low), fio_bin_of(low + width - 1)), (bin, bin));
            next = low + width;
        }
        assert_eq!(fio_bin_of(u64::MAX), FIO_BINS - 1);
        // Names seen in the output of fio 3.33.
        for name in [7264, 31104, 39680, 224_256, 839_680, 1_466_368, 3_948_544, 6_127_616] {
            assert_eq!(fio_bin_middle_ns(fio_bin_of(name)), name);
        }
    }

    proptest! {
        #[test]
        fn a_bucket_of_ours_lies_in_one_of_fio(value in 0_u64..1 << 34) {
            let bucket = bucket_of(value);
            let last = bucket_low_ns(bucket) + assay_results::histogram::bucket_width_ns(bucket) - 1;
            prop_assert_eq!(fio_bin_of(bucket_low_ns(bucket)), fio_bin_of(last));
        }

        #[test]
        fn there_and_back_is_the_same(values in prop::collection::vec((0_u64..1 << 36, 1_u64..1000), 0..40)) {
            let mut histogram = LatencyHistogram::new();
            values.iter().for_each(|(value, count)| histogram.record_n(*value, *count));
            let bins = to_fio_bins(&histogram);
            let mut back = LatencyHistogram::new();
            for (middle, count) in &bins {
                for (bucket, count) in from_fio_bin(*middle, *count) {
                    back.record_n(bucket_low_ns(bucket), count);
                }
            }
            prop_assert_eq!(to_fio_bins(&back), bins);
        }
    }
}
