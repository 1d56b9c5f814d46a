//! The two bounds of a search's answer, each measured in several windows by turns.
//!
//! One window tells only what the storage did in that window, and windows scatter. A rate counts as one that meets the goal when
//! it did in all of six windows, and as one that misses it when it did in none of six: by chance a rate above the one that
//! half of all windows carry passes as met once in 64 (sign test), and one below it as missed just as rarely. The windows
//! of the two bounds alternate, so that what drifts meets both. A bound that comes out otherwise once moves outwards.

/// Windows in which a rate has to come out alike before it bounds the answer: the fewest whose sign test reaches 95 % on two sides.
pub const WINDOWS: u32 = 6;
/// A bound moves outwards by this share of itself at most.
const MOVE_MAX: f64 = 0.5;
/// Each move is this factor times the one before, so that few rates are tried where windows scatter widely.
const MOVE_GROWS: f64 = 3.0;
/// Rates as close as this are one rate; the shares of the threads do not add up exactly.
const SAME: f64 = 1e-6;

/// What one window of a search said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The rate it offered, operations a second.
    pub offered: f64,
    /// It met the goal.
    pub met: bool,
    /// Others disturbed it: a goal that it missed says nothing.
    pub disturbed: bool,
}

/// Whether two rates are meant to be one.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

/// How many windows looked for the bounds: all before the first whose rate came for the second time, which begins to
/// measure them. Windows that looked chose the bounds, so they are not counted for them.
pub fn looked(tried: &[Tried]) -> usize {
    let again = |at: &usize| tried[..*at].iter().any(|before| same(before.offered, tried[*at].offered));
    (0..tried.len()).find(again).unwrap_or(tried.len())
}

/// One bound while its windows come in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Operations a second.
    pub rate: f64,
    /// What its windows have to say.
    met: bool,
    /// Windows at this rate, all of which said so.
    windows: u32,
    /// How often it moved outwards.
    moves: i32,
}

impl Bound {
    fn at(rate: f64, met: bool) -> Self {
        Bound { rate, met, windows: 0, moves: 0 }
    }

    fn take(&mut self, met: bool, gap: f64) {
        if met == self.met {
            self.windows += 1;
            return;
        }
        let kept = 1.0 - (gap * MOVE_GROWS.powi(self.moves)).min(MOVE_MAX);
        self.rate = if self.met { self.rate * kept } else { self.rate / kept };
        (self.windows, self.moves) = (0, self.moves + 1);
    }

    fn missing(&self) -> u32 {
        WINDOWS.saturating_sub(self.windows)
    }

    /// Whether all of its windows are measured.
    pub fn is_known(&self) -> bool {
        self.missing() == 0
    }
}

/// Both bounds of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The highest rate that meets the goal.
    pub low: Bound,
    /// The lowest that misses it.
    pub high: Bound,
    /// The last window was one of the lower bound.
    low_was_last: bool,
}

impl Bounds {
    /// What the windows say that measured the bounds, which began at these rates; `gap` is what lies between two rates at most, as a
    /// share of the higher. Without a rate that missed the goal the upper bound begins that much above the lower.
    pub fn of(met: f64, missed: Option<f64>, gap: f64, measured: &[Tried]) -> Self {
        let high = missed.unwrap_or(met / (1.0 - gap.min(MOVE_MAX)));
        let mut bounds =
            Bounds { low: Bound::at(met, true), high: Bound::at(high, false), low_was_last: false };
        for tried in measured {
            bounds.low_was_last = same(tried.offered, bounds.low.rate);
            // The lower bound takes it: one that is moved down too far is still one.
            if tried.disturbed && !tried.met && !bounds.low_was_last {
                continue;
            }
            let bound = if bounds.low_was_last { &mut bounds.low } else { &mut bounds.high };
            bound.take(tried.met, gap);
        }
        bounds
    }

    /// The rate of the next window; `None`: both bounds are known, or neither can be any more in `left` windows.
    pub fn next(&self, left: u32) -> Option<f64> {
        let (low, high) = (self.low.missing(), self.high.missing());
        let possible = |missing: u32| missing > 0 && missing <= left;
        let low_next = match (possible(low), possible(high)) {
            (false, false) => return None,
            (one, other) if one != other => one,
            // Too few for both: the one that takes fewer.
            _ if low + high > left => low <= high,
            _ => !self.low_was_last,
        };
        Some(if low_next { self.low.rate } else { self.high.rate })
    }
}

#[cfg(test)]
#[path = "bounds/tests.rs"]
mod tests;
