//! Bars as SVG.

use maud::{Markup, html};

use super::CoreBars;
use crate::svg::px;

const WIDTH: f64 = 480.0;
const LEFT: f64 = 96.0;
/// Height of a bar.
const BAR: f64 = 15.0;
/// A core with at least this multiple of an even share is marked.
pub(super) const HOT: f64 = 1.5;

/// A bar a core, the repaired one below it.
pub(super) fn bars(bars: &CoreBars, id: &str) -> Markup {
    let largest = bars.largest();
    let both = !bars.repaired.is_empty();
    let step = if both { 2.0 * BAR + 7.0 } else { BAR + 6.0 };
    let height = step * bars.values.len() as f64;
    let room = WIDTH - LEFT - 60.0;
    let wide = |value: f64| value / largest * room;
    html! {
        svg .chart viewBox={ "0 0 " (px(WIDTH)) " " (px(height + 4.0)) } role="img" aria-labelledby={ (id) "-t" } {
            title id={ (id) "-t" } { (bars.title) }
            @for (core, value) in bars.values.iter().enumerate() {
                @let y = core as f64 * step;
                @let controller = bars.controllers.get(core).copied().unwrap_or(0);
                text .tick x=(px(LEFT - 6.0)) y=(px(y + 11.5)) text-anchor="end" { "c" (controller) " core " (core) }
                (bar(*value, y, wide(*value), if *value > HOT * bars.even.unwrap_or(f64::MAX) { "bar hot" } else { "bar s0" }))
                @if let Some(repaired) = bars.repaired.get(core) {
                    (bar(*repaired, y + BAR, wide(*repaired), "bar s3"))
                }
            }
            @if let Some(even) = bars.even {
                line .one x1=(px(LEFT + wide(even))) x2=(px(LEFT + wide(even))) y1="0" y2=(px(height)) stroke-dasharray="3 3" {}
            }
        }
    }
}

fn bar(value: f64, y: f64, wide: f64, class: &str) -> Markup {
    html! {
        rect class=(class) x=(px(LEFT)) y=(px(y + 1.0)) width=(px(wide.max(0.5))) height=(px(BAR - 1.0)) rx="1.5" {}
        text .tick x=(px(LEFT + wide + 5.0)) y=(px(y + 11.5)) { (format!("{:.1} %", value * 100.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_core_is_marked_and_names_are_escaped() {
        let one = CoreBars {
            title: "a <b>".to_owned(),
            controllers: vec![0, 0],
            values: vec![0.9, 0.1],
            repaired: vec![0.5, 0.5],
            even: Some(0.5),
        };
        let text = bars(&one, "x").into_string();
        assert!(
            text.contains("bar hot") && text.contains("a &lt;b&gt;") && text.contains("90.0 %"),
            "{text}"
        );
    }
}
