//! Small drawings that stand in a table's cell.

use maud::{Markup, html};

use super::{COLOURS, Scale, px};
use crate::format;

const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 20.0;

/// A bar from the line of 100 % to `ratio`, on a log axis of ratios: to the right where it is more, to the left where
/// it is less. `weak` draws it hatched: a number that does not mean what it seems to.
pub fn ratio_bar(ratio: f64, scale: Scale, weak: bool, title: &str) -> Markup {
    let one = scale.place(1.0) * WIDTH;
    let end = scale.place(ratio) * WIDTH;
    let (left, right) = if end < one { (end, one) } else { (one, end) };
    let class = match ratio {
        _ if weak => "weak",
        r if r >= 1.0 => "good",
        r if r >= 0.5 => "warn",
        _ => "bad",
    };
    html! {
        svg .cell viewBox={ "0 0 " (px(WIDTH)) " " (px(HEIGHT)) } role="img" {
            title { (title) }
            @for tick in scale.ticks() {
                @let x = scale.place(tick) * WIDTH;
                line .grid x1=(px(x)) x2=(px(x)) y1="0" y2=(px(HEIGHT)) {}
            }
            rect class=(class) x=(px(left)) y="4" width=(px((right - left).max(1.0))) height=(px(HEIGHT - 8.0)) rx="1.5" {}
            line .one x1=(px(one)) x2=(px(one)) y1="0" y2=(px(HEIGHT)) {}
        }
    }
}

/// A place or a range on a [`range_plot`].
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Its colour, counted from 0.
    pub colour: usize,
}

/// A value with its interval before ranges of reference, on a log axis.
pub fn range_plot(
    value: f64,
    interval: Option<(f64, f64)>,
    marks: &[Mark],
    scale: Scale,
    title: &str,
) -> Markup {
    let at = |value: f64| scale.place(value) * WIDTH;
    let rows = marks.len().max(1) as f64;
    let thick = (HEIGHT - 4.0) / rows;
    html! {
        svg .cell viewBox={ "0 0 " (px(WIDTH)) " " (px(HEIGHT)) } role="img" {
            title { (title) }
            @for (row, mark) in marks.iter().enumerate() {
                @let (left, right) = (at(mark.low), at(mark.high));
                rect class={ "range s" (mark.colour % COLOURS) } x=(px(left)) width=(px((right - left).max(1.5)))
                    y=(px(2.0 + row as f64 * thick)) height=(px((thick - 0.8).max(0.5))) rx="1" {}
            }
            @if let Some((low, high)) = interval {
                line .interval x1=(px(at(low))) x2=(px(at(high))) y1=(px(HEIGHT / 2.0)) y2=(px(HEIGHT / 2.0)) {}
            }
            line .value x1=(px(at(value))) x2=(px(at(value))) y1="0" y2=(px(HEIGHT)) {}
        }
    }
}

/// A bar of `ratio` on a scale from 0 to 2 that all such bars share, with a line at 1. A longer one ends in a point at the
/// edge: how much longer is said beside it.
pub fn share_bar(ratio: f64, colour: usize, title: &str) -> Markup {
    const END: f64 = WIDTH - 8.0;
    let whole = (ratio.clamp(0.0, 2.0) / 2.0 * END).max(0.0);
    let (top, bottom, middle) = (5.0, HEIGHT - 5.0, HEIGHT / 2.0);
    html! {
        svg .cell viewBox={ "0 0 " (px(WIDTH)) " " (px(HEIGHT)) } role="img" {
            title { (title) }
            rect .track x="0" y=(px(top)) width=(px(END)) height=(px(bottom - top)) {}
            rect class={ "bar s" (colour % COLOURS) } x="0" y=(px(top)) width=(px(whole)) height=(px(bottom - top)) {}
            @if ratio > 2.0 {
                path class={ "dot s" (colour % COLOURS) }
                    d=(format!("M{} {}L{} {}L{} {}Z", px(END), px(top), px(WIDTH), px(middle), px(END), px(bottom))) {}
            }
            line .one x1=(px(END / 2.0)) x2=(px(END / 2.0)) y1="1" y2=(px(HEIGHT - 1.0)) {}
        }
    }
}

/// Values from left to right on an axis from 0, without ticks.
pub fn sparkline(values: &[f64], title: &str) -> Markup {
    let scale = Scale::from_zero(values.iter().copied());
    let step = 90.0 / (values.len().max(2) - 1) as f64;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            format!("{},{}", px(index as f64 * step), px(19.0 - scale.place(*value) * 17.0))
        })
        .collect();
    html! {
        svg .spark viewBox="0 0 90 20" role="img" {
            title { (title) }
            @if values.len() > 1 { polyline points=(points.join(" ")) {} }
        }
    }
}

/// A bar a value from left to right, from 0, with a line at their median: which of many differ is seen at once.
pub fn strip(values: &[(&str, Option<f64>)]) -> Markup {
    const LENGTH: f64 = 960.0;
    const TALL: f64 = 60.0;
    let mut known: Vec<f64> = values.iter().filter_map(|value| value.1).collect();
    known.sort_by(f64::total_cmp);
    let median = known.get(known.len() / 2).copied().unwrap_or(0.0);
    let scale = Scale::from_zero(known.iter().copied());
    let wide = LENGTH / values.len().max(1) as f64;
    let tall = |value: f64| scale.place(value) * (TALL - 2.0);
    let (low, high) = (known.first().copied().unwrap_or(0.0), known.last().copied().unwrap_or(0.0));
    let words = format!(
        "lowest {}, median {}, highest {} (line: median)",
        format::significant(low),
        format::significant(median),
        format::significant(high)
    );
    html! {
        svg .strip viewBox={ "0 0 " (px(LENGTH)) " " (px(TALL)) } role="img" preserveAspectRatio="none" {
            title { (words) }
            @for (index, (name, value)) in values.iter().enumerate() {
                @let value = value.unwrap_or(0.0);
                rect .bar .s0 x=(px(index as f64 * wide)) width=(px((wide * 0.85).max(0.5))) y=(px(TALL - tall(value)))
                    height=(px(tall(value))) { title { (name) ": " (format::significant(value)) } }
            }
            line .one x1="0" x2=(px(LENGTH)) y1=(px(TALL - tall(median))) y2=(px(TALL - tall(median))) {}
        }
        p .dim { (words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_the_reference_goes_left() {
        let scale = Scale::Log { low: 0.1, high: 10.0 };
        let text = ratio_bar(0.1, scale, false, "t").into_string();
        assert!(text.contains("class=\"bad\" x=\"0\" y=\"4\" width=\"100\""), "{text}");
        let text = ratio_bar(10.0, scale, false, "t").into_string();
        assert!(text.contains("class=\"good\" x=\"100\" y=\"4\" width=\"100\""), "{text}");
        assert!(ratio_bar(10.0, scale, true, "t").into_string().contains("class=\"weak\""));
    }

    #[test]
    fn all_bars_share_a_scale_and_what_is_beyond_it_is_pointed() {
        let text = |ratio| share_bar(ratio, 0, "t").into_string();
        assert!(text(1.0).contains("width=\"96\"") && text(1.0).contains("x1=\"96\""), "{}", text(1.0));
        assert!(!text(2.0).contains("<path"));
        assert!(text(18.8).contains("width=\"192\"") && text(18.8).contains("<path"), "{}", text(18.8));
    }

    #[test]
    fn one_value_has_no_line() {
        assert!(!sparkline(&[1.0], "t").into_string().contains("polyline"));
        assert!(sparkline(&[0.0, 1.0], "t").into_string().contains("points=\"0,19 90,2\""));
    }
}
