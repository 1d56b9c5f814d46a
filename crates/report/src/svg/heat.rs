//! Heat maps: rows of shades.

use maud::{Markup, html};

use super::px;

const WIDTH: f64 = 480.0;
const LEFT: f64 = 96.0;
/// The same where names are short.
const LEFT_NARROW: f64 = 58.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 34.0;
/// Height of a row at most and at least, and of a map with enough of them.
const ROW_MAX: f64 = 22.0;
const ROW_MIN: f64 = 2.0;
const MAP_HEIGHT: f64 = 220.0;
/// Names of rows are at least so far apart.
const NAMES_APART: f64 = 12.0;
/// Shades that are told apart.
const SHADES: u8 = 20;

/// Where something was over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    /// Unique on the page: letters, digits and hyphens.
    pub id: String,
    /// What is shown.
    pub title: String,
    /// The same in a sentence.
    pub description: String,
    /// Intensity by row, first row on top, then by column from left to right: 0 nothing, 1 the most there can be.
    pub rows: Vec<Vec<f64>>,
    /// The name of each row; empty: none.
    pub row_names: Vec<String>,
    /// Names of places at the left, from 0 (top) to 1 (bottom), where rows have none.
    pub side_ticks: Vec<(f64, String)>,
    /// Names of places below, from 0 (left) to 1 (right).
    pub ticks: Vec<(f64, String)>,
    /// What lies below: `operations`, `seconds`.
    pub axis: String,
    /// What the shades mean.
    pub legend: String,
    /// Shades of the legend with what they stand for; empty: words are enough.
    pub key: Vec<(f64, String)>,
}

impl HeatMap {
    /// The drawing: one path for each shade.
    pub fn draw(&self) -> Markup {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let row_height = (MAP_HEIGHT / self.rows.len().max(1) as f64).clamp(ROW_MIN, ROW_MAX);
        let height = row_height * self.rows.len() as f64;
        let left = if self.side_ticks.is_empty() { LEFT } else { LEFT_NARROW };
        let room = WIDTH - left - RIGHT;
        let (title, description) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg .chart viewBox={ "0 0 " (px(WIDTH)) " " (px(TOP + height + BOTTOM)) } role="img"
                aria-labelledby={ (title) " " (description) } {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                rect .heat-back x=(px(left)) y=(px(TOP)) width=(px(room)) height=(px(height)) {}
                // Cells are drawn in steps of one, so that numbers are short, and stretched to the room.
                svg x=(px(left)) y=(px(TOP)) width=(px(room)) height=(px(height)) preserveAspectRatio="none"
                    viewBox={ "0 0 " (columns) " " (self.rows.len()) } {
                    @for (shade, path) in self.paths() {
                        path .heat d=(path) fill-opacity=(format!("{:.2}", f64::from(shade) / f64::from(SHADES))) {}
                    }
                }
                @for (y, name) in self.side_names(row_height) {
                    text .tick x=(px(left - 6.0)) y=(px(y)) text-anchor="end" { (name) }
                }
                @for (place, name) in &self.ticks {
                    @let anchor = if *place > 0.95 { "end" } else if *place < 0.05 { "start" } else { "middle" };
                    text .tick x=(px(left + place * room)) y=(px(TOP + height + 14.0)) text-anchor=(anchor) { (name) }
                }
                text .label x=(px(WIDTH - RIGHT)) y=(px(TOP + height + 29.0)) text-anchor="end" { (self.axis) }
            }
        }
    }

    /// The cells of each shade.
    fn paths(&self) -> Vec<(u8, String)> {
        let mut paths = vec![String::new(); usize::from(SHADES) + 1];
        for (y, row) in self.rows.iter().enumerate() {
            for (from, to, shade) in runs(row) {
                let wide = to - from;
                paths[usize::from(shade)].push_str(&format!("M{from} {y}h{wide}v1h-{wide}z"));
            }
        }
        (0..=SHADES).zip(paths).filter(|(_, path)| !path.is_empty()).collect()
    }

    /// Names at the left where they do not run into each other, with their base lines.
    fn side_names(&self, row_height: f64) -> Vec<(f64, &str)> {
        let height = row_height * self.rows.len() as f64;
        let at_places =
            self.side_ticks.iter().map(|(place, name)| (TOP + place * height + 3.5, name.as_str()));
        let of_rows = self.row_names.iter().enumerate().map(|(row, name)| {
            let base = row as f64 * row_height + row_height.min(NAMES_APART) - 2.0;
            (TOP + base.max(9.0), name.as_str())
        });
        let mut shown: Vec<(f64, &str)> = Vec::new();
        for (y, name) in at_places.chain(of_rows).filter(|(_, name)| !name.is_empty()) {
            if shown.last().is_none_or(|last| (y - last.0).abs() >= NAMES_APART) {
                shown.push((y, name));
            }
        }
        shown
    }
}

/// Neighbours of the same shade in one; empty cells are left out.
fn runs(row: &[f64]) -> Vec<(usize, usize, u8)> {
    let mut runs: Vec<(usize, usize, u8)> = Vec::new();
    for (index, value) in row.iter().enumerate() {
        let shade = (value.clamp(0.0, 1.0) * f64::from(SHADES)).ceil() as u8;
        match runs.last_mut() {
            Some((_, to, last)) if *to == index && *last == shade => *to += 1,
            _ if shade > 0 => runs.push((index, index + 1, shade)),
            _ => {}
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_shade_are_one_path() {
        assert_eq!(runs(&[0.0, 0.5, 0.5, 0.5, 1.0, 0.0, 1.0]), [(1, 4, 10), (4, 5, 20), (6, 7, 20)]);
        assert!(runs(&[0.0; 9]).is_empty());
        let map = HeatMap { rows: vec![vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]], ..HeatMap::default() };
        assert_eq!(map.paths(), [(20, "M0 0h2v1h-2zM2 1h1v1h-1z".to_owned())]);
    }

    #[test]
    fn names_of_low_rows_do_not_run_into_each_other() {
        let rows = 200;
        let map = HeatMap {
            rows: vec![vec![1.0]; rows],
            row_names: (1..=rows).map(|row| format!("w{row}")).collect(),
            ..HeatMap::default()
        };
        let names = map.side_names(ROW_MIN);
        assert!(names.windows(2).all(|pair| pair[1].0 - pair[0].0 >= NAMES_APART), "{names:?}");
        assert!(names.len() > 20 && names[0].1 == "w1", "{names:?}");
    }
}
