use super::*;

fn tried(windows: &[(f64, bool)]) -> Vec<Tried> {
    windows.iter().map(|(offered, met)| Tried { offered: *offered, met: *met, disturbed: false }).collect()
}

#[test]
fn windows_before_a_rate_comes_again_look_for_the_bounds() {
    assert_eq!(looked(&tried(&[(100.0, false), (50.0, true), (75.0, true)])), 3);
    assert_eq!(looked(&tried(&[(100.0, false), (50.0, true), (50.0 + 1e-9, true), (100.0, false)])), 2);
    assert_eq!(looked(&[]), 0);
}

/// Bounds alternate, and one that comes out otherwise moves outwards, further each time.
#[test]
fn bounds_are_measured_by_turns_and_move_outwards() {
    let mut windows = Vec::new();
    let mut rates = Vec::new();
    // The lower bound misses in its second window.
    for met in [true, false, false, false, true, false] {
        let bounds = Bounds::of(90.0, Some(100.0), 0.1, &windows);
        let rate = bounds.next(30).unwrap();
        rates.push(rate);
        windows.push(Tried { offered: rate, met, disturbed: false });
    }
    assert_eq!(rates, [90.0, 100.0, 90.0, 100.0, 81.0, 100.0]);
    let moved = Bounds::of(90.0, None, 0.1, &tried(&[(90.0, true), (100.0, true)]));
    assert!(same(moved.high.rate, 100.0 / 0.9) && !moved.high.is_known(), "{moved:?}");
}

#[test]
fn bounds_are_known_after_six_windows_or_given_up_when_there_is_no_room() {
    let both: Vec<(f64, bool)> = (0..6).flat_map(|_| [(90.0, true), (100.0, false)]).collect();
    let bounds = Bounds::of(90.0, Some(100.0), 0.1, &tried(&both));
    assert!(bounds.low.is_known() && bounds.high.is_known());
    assert_eq!(bounds.next(20), None);
    let bounds = Bounds::of(90.0, Some(100.0), 0.1, &tried(&both[..4]));
    assert_eq!((bounds.next(3), bounds.next(4), bounds.next(8)), (None, Some(90.0), Some(90.0)));
    // The last window was one of the upper bound, or of the lower.
    assert_eq!(Bounds::of(90.0, Some(100.0), 0.1, &tried(&both[..5])).next(7), Some(100.0));
}

/// What missed the goal while others slowed it down is no upper bound; the other bound has its turn meanwhile.
#[test]
fn a_disturbed_window_does_not_count_for_the_upper_bound() {
    let mut windows: Vec<Tried> = (0..6).flat_map(|_| tried(&[(90.0, true), (100.0, false)])).collect();
    windows[3].disturbed = true;
    let bounds = Bounds::of(90.0, Some(100.0), 0.1, &windows);
    assert!(bounds.low.is_known() && !bounds.high.is_known());
    assert_eq!(
        (bounds.next(1), Bounds::of(90.0, Some(100.0), 0.1, &windows[..4]).next(30)),
        (Some(100.0), Some(90.0))
    );
    windows.extend(tried(&[(100.0, false)]));
    assert!(Bounds::of(90.0, Some(100.0), 0.1, &windows).high.is_known());
}

/// A source of numbers between 0 and 1 that are alike in every run (xorshift64*).
struct Chance(u64);

impl Chance {
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal with mean 0 and standard deviation 1 (Box, Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// The bounds of a search over windows of which half carry 1000 a second; `None`: not known.
fn searched(chance: &mut Chance, scatter: f64) -> (Option<f64>, Option<f64>, u32) {
    let gap = 0.05;
    let max = 2000.0 * (scatter * chance.normal()).exp();
    let mut meets = |rate: f64| rate < 1000.0 * (scatter * chance.normal()).exp();
    let (mut met, mut missed, mut windows) = (None, None, 1);
    while windows <= 12 {
        let rate = match (met, missed) {
            (None, None) => max,
            (met, Some(missed)) => (met.unwrap_or(0.0) + missed) / 2.0,
            (Some(_), None) => break,
        };
        if meets(rate) {
            met = Some(rate)
        } else {
            missed = Some(rate)
        }
        windows += 1;
        if met.zip(missed).is_some_and(|(met, missed)| missed - met <= gap * missed) {
            break;
        }
    }
    let Some(met) = met else { return (None, None, windows) };
    let mut measured = Vec::new();
    loop {
        let bounds = Bounds::of(met, missed, gap, &measured);
        let Some(rate) = bounds.next(37 - windows) else {
            let known = |bound: Bound| bound.is_known().then_some(bound.rate);
            return (known(bounds.low), known(bounds.high), windows);
        };
        measured.push(Tried { offered: rate, met: meets(rate), disturbed: false });
        windows += 1;
    }
}

/// However much windows scatter, the rate that half of them carry lies within the bounds in at least 95 of 100 searches.
#[test]
fn the_bounds_hold_the_truth_whatever_the_scatter() {
    for scatter in [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0] {
        let mut chance = Chance(0x5EA2_C4ED);
        let found: Vec<_> = (0..2000).map(|_| searched(&mut chance, scatter)).collect();
        let holds = |low: Option<f64>, high: Option<f64>| {
            low.is_none_or(|low| low <= 1000.0) && high.is_none_or(|high| high >= 1000.0)
        };
        let held = found.iter().filter(|(low, high, _)| holds(*low, *high)).count();
        let most = found.iter().map(|found| found.2).max();
        assert!(held >= 1900, "scatter {scatter}: {held} of 2000");
        // More scatter takes more rates than there are windows for.
        let both = found.iter().filter(|(low, high, _)| low.is_some() && high.is_some()).count();
        let wanted = if scatter <= 0.3 { 1800 } else { 1300 };
        assert!(both >= wanted, "scatter {scatter}: {both} of 2000 know both bounds");
        assert!(most <= Some(37));
    }
}
