//! [`LatencyHistogram`]: log-linear, mergeable, of fixed size.
//!
//! Values are nanoseconds. Below 256 every value has its own bucket; above, each power of two is cut into 128 buckets,
//! so a bucket is at most 1/128 = 0.78 % as wide as the values in it. The range ends at 2^45 ns (9.8 hours); longer
//! values count in the last bucket and keep their true maximum. The layout is HdrHistogram's (Gil Tene) in plain arrays.
//! Memory is taken for the buckets from the first to the last that hold values: the counts of a period hold a dozen histograms, most of
//! them empty, and what is merged and sent spans two or three powers of ten of the thirteen.

use serde::{Deserialize, Serialize};

/// Buckets per power of two.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Values from 2^this on count in the last bucket.
const MAX_BITS: u32 = 45;
/// Number of buckets.
pub const BUCKETS: usize = SUB * (MAX_BITS - SUB_BITS + 1) as usize;

/// The bucket of a value in nanoseconds. Always below [`BUCKETS`].
#[inline(always)]
pub fn bucket_of(value_ns: u64) -> usize {
    let value = if value_ns >= 1 << MAX_BITS { (1 << MAX_BITS) - 1 } else { value_ns };
    // `| SUB` makes small values share the formula: their exponent is that of SUB.
    let exponent = 63 - (value | SUB as u64).leading_zeros();
    let shift = exponent - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// The smallest value of a bucket, in nanoseconds.
pub fn bucket_low_ns(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let shift = (bucket >> SUB_BITS) - 1;
    ((bucket - (shift << SUB_BITS)) as u64) << shift
}

/// The number of values in a bucket, in nanoseconds.
pub fn bucket_width_ns(bucket: usize) -> u64 {
    if bucket < 2 * SUB { 1 } else { 1 << ((bucket >> SUB_BITS) - 1) }
}

/// The middle of a bucket: what a percentile in it reports.
fn bucket_middle_ns(bucket: usize) -> u64 {
    bucket_low_ns(bucket) + bucket_width_ns(bucket) / 2
}

/// Counts of latencies in nanoseconds. Merging is adding; nothing else combines two of them.
#[derive(Clone, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// The bucket that `counts` begins with.
    first: usize,
    /// From the first to the last bucket that holds values; neither of these two is 0.
    counts: Vec<u64>,
    n: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl std::fmt::Debug for LatencyHistogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LatencyHistogram {{ n: {}, min: {}, max: {} }}", self.n, self.min_ns, self.max_ns)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// Without values.
    pub fn new() -> Self {
        LatencyHistogram { first: 0, counts: Vec::new(), n: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Without values, with the memory for them: nothing is allocated when the first one comes.
    pub fn with_memory() -> Self {
        LatencyHistogram { counts: Vec::with_capacity(BUCKETS), ..Self::new() }
    }

    /// Makes the buckets from `low` to `high` be there; the caller puts values into both.
    #[inline]
    fn make_room(&mut self, low: usize, high: usize) {
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            let (before, more) = (self.counts.len(), self.first - low);
            self.counts.resize(before + more, 0);
            self.counts.copy_within(..before, more);
            self.counts[..more].fill(0);
            self.first = low;
        }
        if high >= self.first + self.counts.len() {
            self.counts.resize(high - self.first + 1, 0);
        }
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Adds `count` equal values.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let bucket = bucket_of(value_ns);
        self.make_room(bucket, bucket);
        self.counts[bucket - self.first] += count;
        self.n += count;
        self.sum_ns += u128::from(value_ns) * u128::from(count);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Adds the counts that a hot path kept by bucket, with what it knows exactly.
    /// `counts` has [`BUCKETS`] entries; they are set to 0.
    pub fn absorb(&mut self, counts: &mut [u32], sum_ns: u64, min_ns: u64, max_ns: u64) {
        let holds = |count: &u32| *count != 0;
        let (Some(low), Some(high)) = (counts.iter().position(holds), counts.iter().rposition(holds)) else {
            return;
        };
        self.make_room(low, high);
        for (mine, theirs) in self.counts[low - self.first..].iter_mut().zip(&mut counts[low..=high]) {
            *mine += u64::from(*theirs);
            self.n += u64::from(*theirs);
            *theirs = 0;
        }
        self.sum_ns += u128::from(sum_ns);
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        if other.counts.is_empty() {
            return;
        }
        self.make_room(other.first, other.first + other.counts.len() - 1);
        for (mine, theirs) in self.counts[other.first - self.first..].iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.n = self.n.saturating_add(other.n);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Number of values.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Smallest value, exact; 0 without values.
    pub fn min_ns(&self) -> u64 {
        if self.n == 0 { 0 } else { self.min_ns }
    }

    /// Largest value, exact; 0 without values.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Mean, exact; 0 without values.
    pub fn mean_ns(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum_ns as f64 / self.n as f64 }
    }

    /// Sum of all values, exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Standard deviation from the middles of the buckets (within 0.4 %); 0 below two values.
    pub fn stddev_ns(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let mean = self.mean_ns();
        let squares: f64 = self
            .buckets()
            .map(|(bucket, count)| (bucket_middle_ns(bucket) as f64 - mean).powi(2) * count as f64)
            .sum();
        (squares / (self.n - 1) as f64).sqrt()
    }

    /// The value below or at which the share `quantile` (0 to 1) of the values lies: the middle of its bucket, within the
    /// exact minimum and maximum. `None` without values.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.n == 0 {
            return None;
        }
        let rank = ((quantile * self.n as f64).ceil() as u64).clamp(1, self.n);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|&count| {
            seen = count.saturating_add(seen);
            seen >= rank
        })?;
        Some(bucket_middle_ns(self.first + bucket).clamp(self.min_ns, self.max_ns))
    }

    /// How many values are at or below `value_ns`, to the resolution of a bucket.
    pub fn count_at_or_below(&self, value_ns: u64) -> u64 {
        let buckets = (bucket_of(value_ns) + 1).saturating_sub(self.first);
        self.counts.iter().take(buckets).fold(0, |sum, count| count.saturating_add(sum))
    }

    /// The buckets that hold values, ascending: index and count.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (self.first..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// The sparse form for storing.
    pub fn to_sparse(&self) -> SparseHistogram {
        SparseHistogram {
            buckets: self.buckets().map(|(bucket, count)| (bucket as u32, count)).collect(),
            sum_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            min_ns: self.min_ns(),
            max_ns: self.max_ns,
        }
    }

    /// From the sparse form, whatever it holds: buckets out of range are ignored, and a minimum above the maximum is
    /// taken for it.
    pub fn from_sparse(sparse: &SparseHistogram) -> Self {
        let mut histogram = LatencyHistogram::new();
        let known = sparse.buckets.iter().map(|&(bucket, count)| (bucket as usize, count));
        let known = known.filter(|(bucket, count)| *count > 0 && *bucket < BUCKETS);
        let Some(span) =
            known.clone().map(|(bucket, _)| (bucket, bucket)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        else {
            return histogram;
        };
        histogram.make_room(span.0, span.1);
        for (bucket, count) in known {
            let slot = &mut histogram.counts[bucket - histogram.first];
            *slot = slot.saturating_add(count);
            histogram.n = histogram.n.saturating_add(count);
        }
        histogram.sum_ns = u128::from(sparse.sum_ns);
        histogram.min_ns = sparse.min_ns.min(sparse.max_ns);
        histogram.max_ns = sparse.max_ns;
        histogram
    }
}

/// The buckets that hold values, for storing and sending.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SparseHistogram {
    /// Bucket index and count, ascending.
    pub buckets: Vec<(u32, u64)>,
    /// Sum of all values.
    pub sum_ns: u64,
    /// Smallest value.
    pub min_ns: u64,
    /// Largest value.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_low_ns(bucket), next, "bucket {bucket}");
            let width = bucket_width_ns(bucket);
            assert!(next < 256 || width as f64 / next as f64 <= 1.0 / 128.0);
            assert_eq!(bucket_of(next), bucket);
            assert_eq!(bucket_of(next + width - 1), bucket);
            next += width;
        }
        assert_eq!(next, 1 << MAX_BITS);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn too_long_values_keep_their_maximum() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(1 << 50);
        assert_eq!(histogram.max_ns(), 1 << 50);
        assert_eq!(histogram.quantile_ns(0.5), Some(1 << 50));
    }

    #[test]
    fn one_that_makes_no_sense_is_still_usable() {
        let sparse = SparseHistogram {
            buckets: vec![(3, u64::MAX), (4, 9), (u32::MAX, 1)],
            sum_ns: 1,
            min_ns: 70,
            max_ns: 3,
        };
        let mut histogram = LatencyHistogram::from_sparse(&sparse);
        histogram.merge(&histogram.clone());
        assert_eq!(histogram.quantile_ns(1.0), Some(3));
        assert_eq!(histogram.count_at_or_below(u64::MAX), u64::MAX);
        let empty = SparseHistogram { buckets: vec![(u32::MAX, 1), (3, 0)], ..sparse };
        assert_eq!(LatencyHistogram::from_sparse(&empty), LatencyHistogram::new());
    }

    #[test]
    fn absorbing_nothing_leaves_it_empty() {
        let mut histogram = LatencyHistogram::with_memory();
        histogram.absorb(&mut vec![0; BUCKETS], 0, u64::MAX, 0);
        assert_eq!(histogram, LatencyHistogram::new());
        let mut counts = vec![0; BUCKETS];
        counts[5] = 2;
        histogram.absorb(&mut counts, 10, 5, 5);
        assert_eq!((histogram.n(), histogram.quantile_ns(0.5), counts[5]), (2, Some(5), 0));
    }

    #[test]
    fn an_empty_one_has_no_percentiles() {
        let histogram = LatencyHistogram::new();
        assert_eq!(histogram.quantile_ns(0.5), None);
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (0, 0));
    }

    fn filled(values: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_bucket(mut values in prop::collection::vec(1_u64..1 << 44, 1..300), q in 0.0_f64..=1.0) {
            let histogram = filled(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = values[rank - 1] as f64;
            let reported = histogram.quantile_ns(q).unwrap() as f64;
            prop_assert!((reported / truth - 1.0).abs() < 0.008, "{reported} for {truth}");
        }

        #[test]
        fn merging_is_recording_together(a in prop::collection::vec(0_u64..1 << 46, 0..50), b in prop::collection::vec(0_u64..1 << 46, 0..50)) {
            let mut ab = filled(&a);
            ab.merge(&filled(&b));
            let mut ba = filled(&b);
            ba.merge(&filled(&a));
            let together = filled(&[a, b].concat());
            prop_assert_eq!(&ab, &together);
            prop_assert_eq!(&ba, &together);
        }

        #[test]
        fn the_sparse_form_loses_nothing(values in prop::collection::vec(0_u64..1 << 40, 0..50)) {
            let histogram = filled(&values);
            prop_assert_eq!(LatencyHistogram::from_sparse(&histogram.to_sparse()), histogram);
        }
    }
}
