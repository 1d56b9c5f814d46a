//! Small drawings that stand in a table's cell.

use maud::{Markup, html};

use assay_results::stats::median;

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

/// One bar of a [`strip`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar<'a> {
    /// What it is of.
    pub name: &'a str,
    /// How high it is; `None`: not known.
    pub value: Option<f64>,
    /// It has a colour of its own: it was found to differ.
    pub is_hot: bool,
}

/// Bars of a [`strip`] that stand together, with a line at their median.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars<'a> {
    /// Written below them; empty: nothing is.
    pub name: &'a str,
    /// From left to right.
    pub bars: Vec<Bar<'a>>,
}

/// IOPS as bars from left to right, from 0: which of many differ is seen at once.
pub fn strip(groups: &[Bars<'_>], title: &str) -> Markup {
    const LENGTH: f64 = 480.0;
    const LEFT: f64 = 58.0;
    const RIGHT: f64 = 8.0;
    const TOP: f64 = 18.0;
    const FLOOR: f64 = 176.0;
    let values = || groups.iter().flat_map(|group| group.bars.iter().filter_map(|bar| bar.value));
    let scale = Scale::from_zero(values());
    let places: usize = groups.iter().map(|group| group.bars.len() + 1).sum();
    let wide = (LENGTH - LEFT - RIGHT) / places.saturating_sub(1).max(1) as f64;
    let y_of = |value: f64| FLOOR - scale.place(value) * (FLOOR - TOP);
    let starts = groups.iter().scan(0, |at, group| Some(std::mem::replace(at, *at + group.bars.len() + 1)));
    let starts: Vec<f64> = starts.map(|at| LEFT + at as f64 * wide).collect();
    let are_named = groups.iter().any(|group| !group.name.is_empty());
    let height = FLOOR + if are_named { 38.0 } else { 24.0 };
    html! {
        svg .chart viewBox={ "0 0 " (px(LENGTH)) " " (px(height)) } role="img" {
            title { (title) }
            @for tick in scale.ticks() {
                line .grid x1=(px(LEFT)) x2=(px(LENGTH - RIGHT)) y1=(px(y_of(tick))) y2=(px(y_of(tick))) {}
                text .tick x=(px(LEFT - 6.0)) y=(px(y_of(tick) + 3.5)) text-anchor="end" { (format::significant(tick)) }
            }
            text .label x="2" y="10" { "IOPS" }
            @for (group, start) in groups.iter().zip(&starts) {
                @let end = start + group.bars.len() as f64 * wide;
                @let named_every = named_every(group, wide);
                @for (index, bar) in group.bars.iter().enumerate() {
                    @let (x, y) = (start + index as f64 * wide, y_of(bar.value.unwrap_or(0.0)));
                    rect class=(if bar.is_hot { "bar hot" } else { "bar s0" }) x=(px(x)) width=(px((wide * 0.85).max(0.5)))
                        y=(px(y)) height=(px(FLOOR - y)) { title { (bar.name) ": " (bar.value.map_or_else(|| format::NOTHING.to_owned(), format::significant)) } }
                    @if index % named_every == 0 {
                        @let name = fitted(bar.name, end - x);
                        // One that was cut short says something only where it stands alone.
                        @if index == 0 || name == bar.name { text .tick x=(px(x)) y=(px(FLOOR + 15.0)) { (name) } }
                    }
                }
                @if let Some(middle) = median(&group.bars.iter().filter_map(|bar| bar.value).collect::<Vec<_>>()) {
                    line .one x1=(px(*start)) x2=(px(end)) y1=(px(y_of(middle))) y2=(px(y_of(middle))) {}
                }
                @if !group.name.is_empty() {
                    @let name = fitted(group.name, end + wide - start);
                    @let x = start.min(LENGTH - name.chars().count() as f64 * LETTER);
                    text .tick x=(px(x)) y=(px(FLOOR + 31.0)) { (name) }
                }
            }
        }
    }
}

/// Width of a letter below the axis, about.
const LETTER: f64 = 6.2;

/// As much of a name as fits.
fn fitted(name: &str, room: f64) -> String {
    let letters = (room / LETTER).floor().max(1.0) as usize;
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(letters.saturating_sub(1).max(1)).collect::<String>())
}

/// Of how many bars one has its name below it, so that names do not run into each other.
fn named_every(group: &Bars<'_>, wide: f64) -> usize {
    const GAP: f64 = 8.0;
    let longest = group.bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    (((longest as f64).mul_add(LETTER, GAP) / wide).ceil() as usize).max(1)
}

/// The ends of a [`strip`] by name, and its median.
pub fn strip_words(values: &[(&str, Option<f64>)]) -> String {
    let known = || values.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
    let of = |end: Option<(&str, f64)>| {
        end.map_or_else(
            || format::NOTHING.to_owned(),
            |(name, value)| format!("{name} {}", format::significant(value)),
        )
    };
    format!(
        "Lowest: {}; median: {} (line); highest: {}.",
        of(known().min_by(|a, b| a.1.total_cmp(&b.1))),
        median(&known().map(|(_, value)| value).collect::<Vec<_>>())
            .map_or_else(|| format::NOTHING.to_owned(), format::significant),
        of(known().max_by(|a, b| a.1.total_cmp(&b.1)))
    )
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
    fn the_ends_of_many_are_named_and_what_was_found_is_marked() {
        let values = [("w1", Some(100.0)), ("w2", Some(40.0)), ("w3", None), ("w4", Some(101.0))];
        let bars = values.map(|(name, value)| Bar { name, value, is_hot: name == "w2" }).to_vec();
        let text = strip(&[Bars { name: "", bars }], &strip_words(&values)).into_string();
        assert_eq!(text.matches("bar hot").count(), 1, "{text}");
        assert!(text.contains("Lowest: w2 40.0; median: 100 (line); highest: w4 101."), "{text}");
    }

    #[test]
    fn groups_have_a_median_each_and_names_do_not_run_into_each_other() {
        let group = |name, of: usize| {
            let bar = |at| Bar { name: "host-12", value: Some(at as f64), is_hot: false };
            Bars { name, bars: (0..of).map(bar).collect() }
        };
        let text = strip(&[group("repetition 1", 3), group("repetition 2", 4)], "t").into_string();
        assert_eq!(text.matches("<line class=\"one\"").count(), 2, "{text}");
        assert!(text.contains(">repetition 1</text>") && text.contains(">repetition 2</text>"), "{text}");
        let names = |of| strip(&[group("", of)], "t").into_string().matches(">host-12</text>").count();
        assert_eq!((names(4), names(200)), (4, 8));
    }

    #[test]
    fn a_name_that_does_not_fit_is_cut_short() {
        let bar = |name| Bar { name, value: Some(1.0), is_hot: false };
        let names = ["storage-node-01.prod.example.com", "storage-node-02.prod.example.com"];
        let group = |name| Bars { name, bars: names.map(bar).to_vec() };
        let numbers = ["repetition 1", "repetition 2", "repetition 3", "repetition 4"];
        let text = strip(&numbers.map(group), "t").into_string();
        assert_eq!(text.matches("…</text>").count(), 4, "{text}");
        assert!(!text.contains(">storage-node-01.prod.example.com</text>"), "{text}");
        assert!(text.contains(">repetition 4</text>"), "{text}");
    }

    #[test]
    fn one_value_has_no_line() {
        assert!(!sparkline(&[1.0], "t").into_string().contains("polyline"));
        assert!(sparkline(&[0.0, 1.0], "t").into_string().contains("points=\"0,19 90,2\""));
    }
}
