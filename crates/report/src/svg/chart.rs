//! Lines over two axes.

use maud::{Markup, html};

use super::{COLOURS, Scale, px};

/// Size of a drawing in its own units. The page shows two side by side, or one on a phone, about this wide.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 240.0;
/// Room for tick labels and the name of the vertical axis.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// From values to places.
    pub scale: Scale,
    /// Values with their names.
    pub ticks: Vec<(f64, String)>,
    /// What a tick is counted in, where that is not what the scale is in: 3600 for hours on a scale of seconds.
    pub unit: f64,
}

impl Axis {
    /// With the scale's own ticks, named by `name`.
    pub fn new(label: &str, scale: Scale, name: impl Fn(f64) -> String) -> Self {
        let ticks = scale.ticks().into_iter().map(|tick| (tick, name(tick))).collect();
        Axis { label: label.to_owned(), scale, ticks, unit: 1.0 }
    }
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its colour, counted from 0.
    pub colour: usize,
    /// Points from left to right; `None` breaks the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// Low and high at each place, drawn as an area behind the line.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether the area below the line is filled.
    pub filled: bool,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Whether each point is marked.
    pub marked: bool,
}

/// A drawing of lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Unique on the page: letters, digits and hyphens.
    pub id: String,
    /// What is drawn.
    pub title: String,
    /// The same in a sentence with its most important numbers, for those who cannot see it.
    pub description: String,
    /// Below.
    pub x: Axis,
    /// At the left.
    pub y: Axis,
    /// Drawn in order, the last one on top.
    pub lines: Vec<Line>,
    /// What is said at a place when a pointer rests there: from, to (values of x), words.
    pub hints: Vec<(f64, f64, String)>,
    /// Moments that are marked with a line: value of x, words.
    pub marks: Vec<(f64, String)>,
}

impl Chart {
    /// The drawing.
    pub fn draw(&self) -> Markup {
        let (title, description) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg .chart viewBox={ "0 0 " (px(WIDTH)) " " (px(HEIGHT)) } role="img"
                aria-labelledby={ (title) " " (description) } data-x=(self.x_ends()) {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (self.draw_axes())
                svg .plot x=(px(LEFT)) y=(px(TOP)) width=(px(WIDTH - LEFT - RIGHT)) height=(px(HEIGHT - TOP - BOTTOM))
                    viewBox=(format!("{} {} {} {}", px(LEFT), px(TOP), px(WIDTH - LEFT - RIGHT), px(HEIGHT - TOP - BOTTOM)))
                    preserveAspectRatio="none" {
                    @for line in &self.lines { (self.draw_line(line)) }
                    (self.draw_marks())
                    (self.draw_hints())
                }
                (self.draw_mark_names())
            }
        }
    }

    /// Values at the ends of the horizontal axis and its kind, for zooming; empty where its ticks have names of their own.
    fn x_ends(&self) -> String {
        let own = self.x.scale.ticks().iter().zip(&self.x.ticks).all(|(place, tick)| *place == tick.0);
        match self.x.scale {
            Scale::Linear { low, high } if self.x.unit != 1.0 => {
                format!("linear {} {}", low / self.x.unit, high / self.x.unit)
            }
            Scale::Linear { low, high } if own && !self.x.ticks.is_empty() => format!("linear {low} {high}"),
            _ => String::new(),
        }
    }

    fn draw_marks(&self) -> Markup {
        html! {
            @for (at, words) in &self.marks {
                @let x = self.x_of(*at);
                line .event x1=(px(x)) x2=(px(x)) y1=(px(TOP)) y2=(px(HEIGHT - BOTTOM)) { title { (words) } }
            }
        }
    }

    /// The names of the marks above the drawing, where there is room for them.
    fn draw_mark_names(&self) -> Markup {
        let mut free_from = LEFT + 60.0;
        let mut named: Vec<(f64, &str)> = Vec::new();
        for (at, words) in &self.marks {
            let x = self.x_of(*at).max(free_from);
            let wide = words.chars().count() as f64 * 6.2;
            if x - self.x_of(*at) < 8.0 && x + wide < WIDTH {
                named.push((x, words));
                free_from = x + wide + 8.0;
            }
        }
        html! { @for (x, words) in named { text .tick .event-name x=(px(x)) y=(px(TOP - 5.0)) { (words) } } }
    }

    fn x_of(&self, value: f64) -> f64 {
        LEFT + self.x.scale.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y_of(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.scale.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw_axes(&self) -> Markup {
        let floor = HEIGHT - BOTTOM;
        html! {
            @for (value, name) in &self.y.ticks {
                @let y = self.y_of(*value);
                line .grid x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(y)) y2=(px(y)) {}
                text .tick x=(px(LEFT - 6.0)) y=(px(y + 3.5)) text-anchor="end" { (name) }
            }
            g .x-axis {
                @for (value, name) in &self.x.ticks {
                    @let x = self.x_of(*value);
                    line .grid x1=(px(x)) x2=(px(x)) y1=(px(TOP)) y2=(px(floor)) {}
                    text .tick x=(px(x)) y=(px(floor + 15.0)) text-anchor=(anchor(x)) { (name) }
                }
            }
            line .axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(floor)) y2=(px(floor)) {}
            text .label x="2" y="13" { (self.y.label) }
            text .label x=(px(WIDTH - RIGHT)) y=(px(HEIGHT - 6.0)) text-anchor="end" { (self.x.label) }
        }
    }

    fn draw_line(&self, line: &Line) -> Markup {
        let colour = line.colour % COLOURS;
        let parts: Vec<Vec<(f64, f64)>> = line
            .points
            .split(|(_, value)| value.is_none())
            .map(|part| part.iter().filter_map(|(x, y)| Some((self.x_of(*x), self.y_of((*y)?)))).collect())
            .filter(|part: &Vec<(f64, f64)>| !part.is_empty())
            .collect();
        html! {
            g class={ "s" (colour) } {
                @if !line.band.is_empty() {
                    path .area d=(self.band_path(&line.band)) {}
                }
                @for part in &parts {
                    @if line.filled { path .area d=(self.area_path(part)) {} }
                    path .line .dashed[line.dashed] d=(path(part)) {}
                    @if line.marked || part.len() == 1 {
                        @for (x, y) in part { path .point d=(format!("M{} {}h0", px(*x), px(*y))) {} }
                    }
                }
            }
        }
    }

    fn band_path(&self, band: &[(f64, f64, f64)]) -> String {
        let upper = band.iter().map(|(x, _, high)| (self.x_of(*x), self.y_of(*high)));
        let lower = band.iter().rev().map(|(x, low, _)| (self.x_of(*x), self.y_of(*low)));
        path(&upper.chain(lower).collect::<Vec<_>>()) + "Z"
    }

    fn area_path(&self, part: &[(f64, f64)]) -> String {
        let floor = HEIGHT - BOTTOM;
        let (Some(first), Some(last)) = (part.first(), part.last()) else { return String::new() };
        format!("{}L{} {}L{} {}Z", path(part), px(last.0), px(floor), px(first.0), px(floor))
    }

    fn draw_hints(&self) -> Markup {
        html! {
            @for (from, to, words) in &self.hints {
                @let (left, right) = (self.x_of(*from), self.x_of(*to));
                @let (left, wide) = if right - left < 4.0 { (left - 4.0, 8.0) } else { (left, right - left) };
                rect .hint x=(px(left)) width=(px(wide)) y=(px(TOP))
                    height=(px(HEIGHT - TOP - BOTTOM)) { title { (words) } }
            }
        }
    }
}

/// Names at the ends stay within the drawing.
fn anchor(x: f64) -> &'static str {
    if x > WIDTH - RIGHT - 16.0 { "end" } else { "middle" }
}

/// Straight lines through points.
fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    for (index, (x, y)) in points.iter().enumerate() {
        text.push(if index == 0 { 'M' } else { 'L' });
        text.push_str(&px(*x));
        text.push(' ');
        text.push_str(&px(*y));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, Option<f64>)>) -> Chart {
        Chart {
            id: "c".to_owned(),
            title: "a <b>".to_owned(),
            description: "up".to_owned(),
            x: Axis::new("s", Scale::Linear { low: 0.0, high: 2.0 }, |tick| format!("{tick}")),
            y: Axis::new("IOPS", Scale::Linear { low: 0.0, high: 10.0 }, |tick| format!("{tick}")),
            lines: vec![Line { points, ..Line::default() }],
            hints: vec![(0.0, 1.0, "1 & 2".to_owned())],
            marks: Vec::new(),
        }
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let text = chart(vec![(0.0, Some(0.0)), (0.5, Some(5.0)), (1.0, None), (2.0, Some(10.0))])
            .draw()
            .into_string();
        assert!(text.contains("d=\"M58 200L160.5 113\""), "{text}");
        assert!(text.contains("d=\"M468 26h0\""), "{text}");
    }

    #[test]
    fn words_are_escaped() {
        let text = chart(Vec::new()).draw().into_string();
        assert!(text.contains("a &lt;b&gt;") && text.contains("1 &amp; 2"), "{text}");
    }
}
