//! Which part of a target a workload uses, in bytes where the size is known, else in percent.

use assay_workload::target::Extent;

use super::super::access::{Bound, Span};
use super::super::args::to_u64;
use super::super::{StorageDef, WorkloadDef};

/// Start and length of the part, and what could not be kept.
pub(super) struct Area {
    pub(super) offset: Extent,
    /// `None`: to the end.
    pub(super) length: Option<Extent>,
    /// The range goes on at the start of the target, which the model cannot say.
    pub(super) wraps: bool,
    /// The bounds mix units so that they cannot be joined without the size.
    pub(super) inexact: bool,
    /// Begins at the first block of a raw device, which is never touched.
    pub(super) shifted: bool,
}

const WHOLE: Span = Span { low: Bound::Percent(0.0), high: Bound::Percent(100.0) };

/// The part of `sd` that `wd` uses. `largest` is the largest transfer on the target; both ends are rounded down to it.
pub(super) fn area(sd: &StorageDef, wd: &WorkloadDef, largest: u64) -> Area {
    let span = wd.hot_band.or(wd.range).or(sd.range).unwrap_or(WHOLE);
    match sd.size {
        Some(size) => sized(sd, span, size, largest.max(1)),
        None => unsized_area(sd, span, largest.max(1)),
    }
}

fn sized(sd: &StorageDef, span: Span, size: u64, largest: u64) -> Area {
    let bytes = |bound: Bound| match bound {
        Bound::Percent(p) => to_u64(size as f64 * p / 100.0),
        Bound::Bytes(n) => n,
    };
    let (low, high) = (bytes(span.low), bytes(span.high));
    let mut low = low - low % largest;
    let end = high.min(size);
    let end = end - end % largest;
    let shifted = sd.is_raw() && low == 0;
    if shifted {
        low = largest;
    }
    Area {
        offset: Extent::Bytes(low.saturating_add(sd.offset)),
        length: Some(Extent::Bytes(end.saturating_sub(low))),
        wraps: high > size,
        inexact: false,
        shifted,
    }
}

fn unsized_area(sd: &StorageDef, span: Span, largest: u64) -> Area {
    let from_start = matches!(span.low, Bound::Percent(p) if p <= 0.0) || span.low == Bound::Bytes(0);
    let shifted = sd.is_raw() && from_start;
    let first = if shifted { largest } else { 0 };
    let offset = match span.low {
        Bound::Percent(p) if !from_start => Extent::Percent(p.min(100.0)),
        Bound::Percent(_) => Extent::Bytes(first.saturating_add(sd.offset)),
        Bound::Bytes(n) => Extent::Bytes((n - n % largest).max(first).saturating_add(sd.offset)),
    };
    let (length, mixed) = match (span.low, span.high) {
        (_, Bound::Percent(high)) if high >= 100.0 => (None, false),
        (Bound::Percent(low), Bound::Percent(high)) => (Some(Extent::Percent(high - low)), false),
        (Bound::Bytes(low), Bound::Bytes(high)) => {
            (Some(Extent::Bytes(high.saturating_sub(low.max(first)))), false)
        }
        (Bound::Percent(_), Bound::Bytes(high)) => {
            (Some(Extent::Bytes(high.saturating_sub(first))), !from_start)
        }
        (Bound::Bytes(_), Bound::Percent(high)) => (Some(Extent::Percent(high)), !from_start),
    };
    let percent_start = matches!(offset, Extent::Percent(_));
    Area {
        offset,
        length,
        wraps: matches!(span.high, Bound::Percent(p) if p > 100.0),
        inexact: mixed || (percent_start && sd.offset > 0),
        shifted,
    }
}
