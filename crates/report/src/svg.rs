//! Drawings as inline SVG, made here: no script, no foreign library, no fixed colours.
//!
//! Colours and fonts come from the page through classes (`s0`..`s9` for series, `grid`, `tick`, `label`), so that a
//! drawing follows the page into the dark and onto paper. Every drawing carries a title and a description.

mod bars;
mod chart;
mod curve;
mod heat;
mod scale;

pub use bars::{Bar, Bars, Mark, range_plot, ratio_bar, share_bar, sparkline, strip, strip_words};
pub use chart::{Axis, Chart, Line};
pub(crate) use curve::summary_points;
pub use curve::{density, percentile_points, percentile_ticks, percentile_x};
pub use heat::HeatMap;
pub use scale::{Scale, log_ticks, nice_ticks};

/// How many colours series have before they repeat.
pub const COLOURS: usize = 10;

/// A coordinate with one digit behind the point: a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{:.1}", if value.is_finite() { value } else { 0.0 });
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
