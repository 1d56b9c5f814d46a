//! Tables, bars and heat maps as text.

use super::{CoreBars, Facts, HeatMap};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone, width, wrap};

/// Shades from nothing to everything, and the intensity from which each counts.
const SHADES: [(f64, char, char); 6] = [
    (0.9, '█', '@'),
    (0.65, '▓', '#'),
    (0.45, '▒', '+'),
    (0.25, '░', ':'),
    (0.01, '·', '.'),
    (f64::MIN, ' ', ' '),
];
/// The widest bar, in columns.
const BAR_MAX: usize = 48;

/// A table, two columns to the right.
pub fn facts(facts: &Facts, style: &Style) -> String {
    let column = |head: &super::Head| {
        let keep = if head.rank == 0 { Keep::Always } else { Keep::IfRoom(head.rank) };
        if head.number { Column::numbers(&head.name, keep) } else { Column::words(&head.name, keep) }
    };
    let mut table = Table::new(facts.heads.iter().map(column).collect()).indented(2);
    for row in &facts.rows {
        table.row(row.iter().map(|text| Cell::from(text.as_str())).collect());
    }
    let mut text = table.render(style);
    for line in wrap(&facts.note, Hang::flat(2), style) {
        text.push_str(&style.paint(Tone::Dim, &line));
        text.push('\n');
    }
    text
}

/// A sentence so many columns to the right, its further lines a little more.
pub fn words(text: &str, indent: usize, style: &Style) -> String {
    let lines = wrap(text, Hang { first: indent, rest: indent + 2 }, style);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A title.
pub fn heading(text: &str, style: &Style) -> String {
    let lines = wrap(text, Hang { first: 0, rest: 2 }, style);
    lines.into_iter().map(|line| style.paint(Tone::Strong, &line) + "\n").collect()
}

/// A bar a core: its share in digits, and after the repair where there is one.
pub fn bars(bars: &CoreBars, style: &Style) -> String {
    let mut text = String::new();
    let repaired = !bars.repaired.is_empty();
    let title =
        if repaired { format!("{}, before and after the repair", bars.title) } else { bars.title.clone() };
    for line in wrap(&title, Hang { first: 2, rest: 4 }, style) {
        text.push_str(&style.paint(Tone::Strong, &line));
        text.push('\n');
    }
    let room = style.columns().saturating_sub(if repaired { 36 } else { 30 });
    let room = (if repaired { room / 2 } else { room }).clamp(4, BAR_MAX);
    let largest = bars.largest();
    for (core, value) in bars.values.iter().enumerate() {
        let controller = bars.controllers.get(core).copied().unwrap_or(0);
        let hot = *value > 1.5 * bars.even.unwrap_or(f64::MAX);
        let tone = if hot { Tone::Bad } else { Tone::Plain };
        let mut line = format!("    controller {controller:<2} core {core:<3}{}", digits(*value));
        line.push_str(&style.paint(tone, &bar(*value / largest, room, style)));
        if let Some(repaired) = bars.repaired.get(core) {
            let used = width(&bar(*value / largest, room, style));
            line.push_str(&" ".repeat(room + 1 - used.min(room)));
            line.push_str(&digits(*repaired));
            line.push_str(&style.paint(Tone::Good, &bar(*repaired / largest, room, style)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A share with one digit behind the point, aligned.
fn digits(value: f64) -> String {
    format!("{:>5.1} % ", value * 100.0)
}

/// A bar of eighths of a column, or of whole ones where only ASCII can be shown.
fn bar(share: f64, room: usize, style: &Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    if style.unicode {
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat((eighths + 4) / 8)
    }
}

/// A heat map, its rows named at the left.
pub fn heat_map(map: &HeatMap, style: &Style) -> String {
    let mut text = String::new();
    for line in wrap(&map.title, Hang { first: 2, rest: 4 }, style) {
        text.push_str(&style.paint(Tone::Strong, &line));
        text.push('\n');
    }
    let names = map.row_names.iter().map(|name| width(&style.fit(name))).max().unwrap_or(0);
    let columns = map.rows.iter().map(Vec::len).max().unwrap_or(0);
    let room = style.columns().saturating_sub(names + 7).min(columns).max(1);
    for (index, row) in map.rows.iter().enumerate() {
        let name = map.row_names.get(index).map_or("", String::as_str);
        let name = style.fit(name);
        let cells: String = squeezed(row, room).into_iter().map(|value| shade(value, style)).collect();
        let edge = if style.unicode { '│' } else { '|' };
        let padding = " ".repeat(names - width(&name));
        text.push_str(&format!("    {padding}{} {edge}{cells}{edge}\n", style.paint(Tone::Dim, &name)));
    }
    text.push_str(&ticks(map, names + 6, room, style));
    let ramp: String =
        SHADES.iter().rev().skip(1).map(|shade| if style.unicode { shade.1 } else { shade.2 }).collect();
    for line in wrap(&format!("{ramp} {}", map.legend), Hang::flat(4), style) {
        text.push_str(&style.paint(Tone::Dim, &line));
        text.push('\n');
    }
    text
}

/// A row in so many cells: each shows the most of those it stands for.
fn squeezed(row: &[f64], room: usize) -> Vec<f64> {
    let at = |cell: usize| cell * row.len() / room;
    (0..room)
        .map(|cell| {
            row[at(cell)..at(cell + 1).max(at(cell) + 1).min(row.len())].iter().copied().fold(0.0, f64::max)
        })
        .collect()
}

fn shade(value: f64, style: &Style) -> char {
    let found = SHADES.iter().find(|shade| value >= shade.0).unwrap_or(&SHADES[SHADES.len() - 1]);
    if style.unicode { found.1 } else { found.2 }
}

/// The names below, each where its place is, as far as they do not run into each other.
fn ticks(map: &HeatMap, left: usize, room: usize, style: &Style) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (place, name) in &map.ticks {
        let name = style.fit(name);
        let wide = width(&name);
        let middle = left as f64 + place * room.saturating_sub(1) as f64;
        let start = (middle as usize).saturating_sub(if *place <= 0.0 { 0 } else { wide / 2 });
        let start = start.min((left + room).saturating_sub(wide));
        if used == 0 || start > used {
            line.push_str(&" ".repeat(start - used));
            line.push_str(&name);
            used = start + wide;
        }
    }
    let axis = style.fit(&map.axis);
    format!("{}  {}\n", style.paint(Tone::Dim, &line), style.paint(Tone::Dim, &axis))
}

#[cfg(test)]
mod tests {
    use super::super::Head;
    use super::*;

    #[test]
    fn columns_line_up_and_go_where_there_is_no_room() {
        let one = Facts {
            heads: vec![Head::words("job", 0), Head::number("share", 0), Head::number("crossing", 1)],
            rows: vec![
                vec!["reads".to_owned(), "78.1 %".to_owned(), "0 %".to_owned()],
                vec!["w".to_owned(), "3 %".to_owned(), "12 %".to_owned()],
            ],
            note: "a note".to_owned(),
        };
        insta::assert_snapshot!(facts(&one, &Style::plain(60)), @r"
          job     share  crossing
          reads  78.1 %       0 %
          w         3 %      12 %
          a note
        ");
        let narrow = facts(&one, &Style::plain(24));
        assert!(narrow.starts_with("  job\n") && narrow.contains("12 %"), "{narrow}");
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let one = CoreBars {
            title: "share".to_owned(),
            controllers: vec![0, 1],
            values: vec![0.8, 0.2],
            repaired: vec![0.5, 0.5],
            even: Some(0.5),
        };
        insta::assert_snapshot!(bars(&one, &Style::plain(60)), @r"
          share, before and after the repair
            controller 0  core 0   80.0 % ████████████  50.0 % ███████▌
            controller 1  core 1   20.0 % ███           50.0 % ███████▌
        ");
        let ascii = bars(&one, &Style { unicode: false, ..Style::plain(60) });
        assert!(ascii.is_ascii() && ascii.contains("####"), "{ascii}");
    }

    #[test]
    fn a_heat_map_keeps_what_is_hot_when_it_is_squeezed() {
        let map = HeatMap {
            title: "map".to_owned(),
            rows: vec![vec![0.0, 0.3, 1.0, 0.0], vec![0.5; 4]],
            row_names: vec!["0".to_owned(), "1 GiB".to_owned()],
            ticks: vec![(0.0, "0".to_owned()), (1.0, "9 s".to_owned())],
            axis: "time".to_owned(),
            legend: "shades".to_owned(),
            ..HeatMap::default()
        };
        insta::assert_snapshot!(heat_map(&map, &Style::plain(60)), @r"
          map
                0 │ ░█ │
            1 GiB │▒▒▒▒│
                   0  time
            ·░▒▓█ shades
        ");
        assert_eq!(squeezed(&[0.1, 0.9, 0.2, 0.3], 2), [0.9, 0.3]);
    }
}
