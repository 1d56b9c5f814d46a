//! How much a finding matters: by what it can do to the figure that is quoted, against how exactly that figure is known.

use crate::run::{Effect, FindingSeverity};

/// A smaller effect is a note even where a figure is known more exactly: it is no relevant difference (`assay compare`).
const EFFECT_MIN: f64 = 0.02;
/// No interval excuses a larger effect: `assay compare` calls two figures equivalent up to here, and not beyond. What disturbs a
/// run scatters it as well, so without this bound a disturbance would be excused by the scatter that it makes.
const EXCUSED_MAX: f64 = 0.05;
/// A figure that may be this much too high is another thing's: twice what the storage does.
const HIGH_INVALID: f64 = 1.0;

/// The severity of a finding. `most` is what the check calls it at most, `effect` what it may do to the figure, as a share of
/// the figure, and `half_width` half of the figure's own interval, likewise.
///
/// An effect within the interval is a note, up to [`EXCUSED_MAX`]: the interval allows for as much. Beyond it the figure is suspect, and a figure
/// that may be twice too high is invalid. One that is too low is never invalid for it: the storage does at least as much.
/// Without an effect in numbers the check's own word stands.
pub(crate) fn severity(
    most: FindingSeverity,
    effect: Option<Effect>,
    half_width: Option<f64>,
) -> FindingSeverity {
    let Some(effect) = effect.filter(|_| most >= FindingSeverity::Warning) else { return most };
    let by_effect = if effect.high >= HIGH_INVALID {
        FindingSeverity::Invalid
    } else if effect.largest() <= half_width.unwrap_or(0.0).clamp(EFFECT_MIN, EXCUSED_MAX) {
        FindingSeverity::Info
    } else {
        FindingSeverity::Warning
    };
    by_effect.min(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WARNING: FindingSeverity = FindingSeverity::Warning;

    #[test]
    fn an_effect_within_the_interval_is_a_note() {
        let of = |high, half_width| severity(FindingSeverity::Invalid, Effect::high(high), half_width);
        assert_eq!(of(0.04, Some(0.045)), FindingSeverity::Info);
        assert_eq!(of(0.04, Some(0.03)), WARNING);
        assert_eq!(of(0.04, None), WARNING);
        assert_eq!(of(0.08, Some(0.10)), WARNING, "no interval excuses what is a relevant difference");
        assert_eq!(of(0.01, None), FindingSeverity::Info, "no relevant difference");
        assert_eq!(of(1.5, Some(0.05)), FindingSeverity::Invalid);
        assert_eq!(
            of(1.5, Some(9.0)),
            FindingSeverity::Invalid,
            "no interval allows for another thing's figure"
        );
    }

    #[test]
    fn what_matters_is_what_matters_between_two_runs() {
        let margins = crate::stats::Margins::default();
        assert_eq!((EFFECT_MIN, EXCUSED_MAX), (margins.relevant, margins.equivalent));
    }

    #[test]
    fn a_check_says_what_it_is_at_most() {
        assert_eq!(severity(WARNING, Effect::high(5.0), None), WARNING);
        assert_eq!(severity(FindingSeverity::Unchecked, Effect::high(5.0), None), FindingSeverity::Unchecked);
        assert_eq!(severity(FindingSeverity::Invalid, None, Some(9.0)), FindingSeverity::Invalid);
    }

    #[test]
    fn a_figure_that_is_too_low_is_still_what_the_storage_does_at_least() {
        assert_eq!(severity(FindingSeverity::Invalid, Effect::low(4.0), Some(0.1)), WARNING);
    }

    proptest! {
        /// A larger effect never matters less, and a wider interval never makes one matter more.
        #[test]
        fn severity_is_monotone(a in 0.0..3.0_f64, b in 0.0..3.0_f64, c in 0.0..2.0_f64, d in 0.0..2.0_f64) {
            for most in [FindingSeverity::Info, WARNING, FindingSeverity::Invalid] {
                for effect in [Effect::high, Effect::low] {
                    let of = |share: f64, half_width: f64| severity(most, effect(share), Some(half_width));
                    prop_assert!(of(a.min(b), c) <= of(a.max(b), c));
                    prop_assert!(of(a, c.max(d)) <= of(a, c.min(d)));
                    prop_assert!(of(a, c) <= most);
                }
            }
        }
    }
}
