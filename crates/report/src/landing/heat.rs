//! Heat maps and bars as SVG.

use maud::{Markup, html};

use super::{CoreBars, HeatMap};
use crate::svg::px;

const WIDTH: f64 = 480.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 8.0;
const BOTTOM: f64 = 34.0;
/// Height of a row of a heat map, and of a bar with its gap.
const ROW_MAX: f64 = 22.0;
const MAP_HEIGHT: f64 = 220.0;
const BAR: f64 = 15.0;
/// A core with at least this multiple of an even share is marked.
pub(super) const HOT: f64 = 1.5;

/// A heat map: a rectangle for each run of cells of one shade.
pub(super) fn map(map: &HeatMap) -> Markup {
    let columns = map.rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let row_height = (MAP_HEIGHT / map.rows.len().max(1) as f64).min(ROW_MAX);
    let height = row_height * map.rows.len() as f64;
    let wide = (WIDTH - LEFT - RIGHT) / columns as f64;
    let (title, description) = (format!("{}-t", map.id), format!("{}-d", map.id));
    // Names would run into each other where rows are low.
    let every = (12.0 / row_height).ceil().max(1.0) as usize;
    html! {
        svg .chart viewBox={ "0 0 " (px(WIDTH)) " " (px(height + BOTTOM)) } role="img"
            aria-labelledby={ (title) " " (description) } {
            title id=(title) { (map.title) }
            desc id=(description) { (map.description) }
            rect .heat-back x=(px(LEFT)) y="0" width=(px(WIDTH - LEFT - RIGHT)) height=(px(height)) {}
            @for (index, row) in map.rows.iter().enumerate() {
                @let y = index as f64 * row_height;
                @if let Some(name) = map.row_names.get(index).filter(|name| index % every == 0 && !name.is_empty()) {
                    text .tick x=(px(LEFT - 6.0)) y=(px((y + row_height.min(12.0) - 2.0).max(9.0))) text-anchor="end" { (name) }
                }
                @for (from, to, shade) in runs(row) {
                    rect .heat x=(px(LEFT + from as f64 * wide)) y=(px(y)) width=(px((to - from) as f64 * wide + 0.3))
                        height=(px(row_height + 0.3)) fill-opacity=(format!("{:.2}", f64::from(shade) / 20.0)) {}
                }
            }
            @for (place, name) in &map.ticks {
                @let x = LEFT + place * (WIDTH - LEFT - RIGHT);
                @let anchor = if *place > 0.95 { "end" } else if *place < 0.05 { "start" } else { "middle" };
                text .tick x=(px(x)) y=(px(height + 14.0)) text-anchor=(anchor) { (name) }
            }
            text .label x=(px(WIDTH - RIGHT)) y=(px(height + 29.0)) text-anchor="end" { (map.axis) }
        }
    }
}

/// Neighbours of the same shade (twentieths) in one; empty cells are left out.
fn runs(row: &[f64]) -> Vec<(usize, usize, u8)> {
    let mut runs: Vec<(usize, usize, u8)> = Vec::new();
    for (index, value) in row.iter().enumerate() {
        let shade = (value.clamp(0.0, 1.0) * 20.0).ceil() as u8;
        match runs.last_mut() {
            Some((_, to, last)) if *to == index && *last == shade => *to += 1,
            _ if shade > 0 => runs.push((index, index + 1, shade)),
            _ => {}
        }
    }
    runs
}

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
    fn cells_of_one_shade_are_one_rectangle() {
        assert_eq!(runs(&[0.0, 0.5, 0.5, 0.5, 1.0, 0.0, 1.0]), [(1, 4, 10), (4, 5, 20), (6, 7, 20)]);
        assert!(runs(&[0.0; 9]).is_empty());
    }

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
