//! An audit of operations one by one: of a generator, or of a trace.

use assay_workload::pattern::OpKind;

use super::density::{Density, Span};
use super::distances::ReuseDistances;
use crate::model::Model;

/// Segments of one target that are counted; what lies behind is counted in the last.
const SEGMENTS_MAX: usize = 1 << 26;

/// What is known of one operation.
#[derive(Debug)]
pub(crate) struct KindTally {
    /// By target: requests (or parts of them) by segment.
    segments: Vec<Vec<u32>>,
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
    /// Operations that begin where one of the last few ended.
    pub(crate) sequential: u64,
    /// Operations that more than one segment serves.
    pub(crate) crossing: u64,
    pub(crate) distances: ReuseDistances,
}

/// Counts a stream of operations: some tens of nanoseconds each, memory by the number of segments.
#[derive(Debug)]
pub struct StreamAudit {
    segment_shift: Option<u32>,
    segment: u64,
    page: u64,
    pub(crate) kinds: [KindTally; 3],
    /// Where the last operations of each target ended.
    ends: Vec<[u64; 4]>,
    next_end: usize,
}

impl StreamAudit {
    /// An audit of operations on `targets` targets of the array of `model`.
    pub fn new(model: &Model, targets: usize) -> StreamAudit {
        let segment = model.front_end.segment.0;
        let page = model.cache.as_ref().map_or(4096, |cache| cache.page.0);
        let kind = || KindTally {
            segments: vec![Vec::new(); targets],
            ops: 0,
            bytes: 0,
            sequential: 0,
            crossing: 0,
            distances: ReuseDistances::new(page),
        };
        StreamAudit {
            segment_shift: segment.is_power_of_two().then(|| segment.trailing_zeros()),
            segment,
            page,
            kinds: std::array::from_fn(|_| kind()),
            ends: vec![[u64::MAX; 4]; targets],
            next_end: 0,
        }
    }

    /// One more target.
    pub fn add_target(&mut self) {
        self.kinds.iter_mut().for_each(|tally| tally.segments.push(Vec::new()));
        self.ends.push([u64::MAX; 4]);
    }

    #[inline]
    fn segment_of(&self, offset: u64) -> u64 {
        match self.segment_shift {
            Some(shift) => offset >> shift,
            None => offset / self.segment,
        }
    }

    /// Counts one operation. Flushes and targets that do not exist are ignored.
    #[inline]
    pub fn add(&mut self, target: u16, kind: OpKind, offset_bytes: u64, len_bytes: u32) {
        let target = usize::from(target);
        if target >= self.ends.len() || kind.is_flush() || len_bytes == 0 {
            return;
        }
        let end = offset_bytes.saturating_add(u64::from(len_bytes));
        let (first, last) = (self.segment_of(offset_bytes), self.segment_of(end - 1));
        let ends = &mut self.ends[target];
        let sequential = ends.iter_mut().find(|before| **before == offset_bytes);
        let follows = sequential.is_some();
        match sequential {
            Some(before) => *before = end,
            None => {
                self.next_end = (self.next_end + 1) % ends.len();
                ends[self.next_end] = end;
            }
        }
        let tally = &mut self.kinds[kind as usize];
        tally.ops += 1;
        tally.bytes += u64::from(len_bytes);
        tally.sequential += u64::from(follows);
        tally.crossing += u64::from(first != last);
        let counts = &mut tally.segments[target];
        let wanted = (last as usize).min(SEGMENTS_MAX - 1);
        if wanted >= counts.len() {
            counts.resize((wanted + 1).next_power_of_two(), 0);
        }
        for segment in first..=last {
            let index = (segment as usize).min(SEGMENTS_MAX - 1);
            counts[index] = counts[index].saturating_add(1);
        }
        // Addresses of different targets are different pages.
        let space = (target as u64) << 52;
        for page in offset_bytes / self.page..=(end - 1) / self.page {
            tally.distances.add(space | page);
        }
    }

    /// Where the operations of `kind` landed, segment by segment.
    pub(crate) fn density(&self, kind: OpKind) -> Density {
        let tally = &self.kinds[kind as usize];
        let total: u64 = tally.segments.iter().flatten().map(|count| u64::from(*count)).sum();
        let mut density = Density::default();
        for (target, counts) in tally.segments.iter().enumerate() {
            let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            density.target(target as u16).extend(used.map(|(index, count)| Span {
                start: index as f64 * self.segment as f64,
                len: self.segment as f64,
                share: f64::from(*count) / total.max(1) as f64,
                fill: 1.0,
            }));
        }
        // Three standard errors of a share of a half, the least certain one.
        density.error = 1.5 / (total.max(1) as f64).sqrt();
        density
    }
}
