//! Aligned tables that give way on narrow terminals: the first column moves to a line of its own where that saves a column;
//! less important columns go, and are named; at last a row becomes a list of names and values. A wider terminal never shows
//! less.

use super::style::{Style, Tone, width};
use super::wrap::{Hang, wrap};

/// Columns between two cells.
const GAP: usize = 2;
/// Indent of the rest of a row whose first cell stands on its own line.
const STACK_INDENT: usize = 2;

/// What happens to a column when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Always shown.
    Always,
    /// Goes only after the first column has moved to its own line; higher numbers first.
    IfStacked(u8),
    /// Goes before that; higher numbers first.
    IfRoom(u8),
    /// Goes before all others, higher numbers first, and is not worth a line of its own for the first column.
    IfFlat(u8),
}

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    head: String,
    right: bool,
    keep: Keep,
}

impl Column {
    /// Words: aligned left.
    pub(crate) fn words(head: &str, keep: Keep) -> Self {
        Column { head: head.to_owned(), right: false, keep }
    }

    /// Numbers: aligned right.
    pub(crate) fn numbers(head: &str, keep: Keep) -> Self {
        Column { head: head.to_owned(), right: true, keep }
    }
}

/// One cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// In a tone.
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::toned(text, Tone::Plain)
    }
}

#[derive(Debug, Clone)]
enum Line {
    Group(String),
    Row(Vec<Cell>),
}

/// A table being filled.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<Column>,
    lines: Vec<Line>,
    indent: usize,
}

/// Which columns are shown and how.
struct Layout {
    /// Indices of shown columns, with their widths.
    shown: Vec<(usize, usize)>,
    /// Heads of those left out although they hold something.
    left_out: Vec<String>,
    /// Whether the first column stands on its own line.
    stacked: bool,
    /// Whether even that does not fit.
    listed: bool,
}

impl Table {
    /// Without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Table { columns, lines: Vec::new(), indent: 0 }
    }

    /// Everything so many columns to the right.
    pub(crate) fn indented(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// A heading above the rows that follow.
    pub(crate) fn group(&mut self, title: &str) {
        self.lines.push(Line::Group(title.to_owned()));
    }

    /// A row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.lines.push(Line::Row(cells));
    }

    /// The lines, each ending in a newline, with a last one that names what was left out; nothing without rows.
    pub(crate) fn render(&self, style: &Style) -> String {
        let (mut text, left_out) = self.render_apart(style);
        text.push_str(&left_out_note(&left_out, self.indent, style));
        text
    }

    /// The lines, and the heads of columns left out for want of room.
    pub(crate) fn render_apart(&self, style: &Style) -> (String, Vec<String>) {
        let fitted = self.fitted(style);
        if fitted.rows().next().is_none() {
            return (String::new(), Vec::new());
        }
        let layout = fitted.layout(style);
        let mut text = String::new();
        if !layout.listed {
            fitted.push_head(&layout, style, &mut text);
        }
        for (index, line) in fitted.lines.iter().enumerate() {
            match line {
                Line::Group(title) => {
                    if index > 0 {
                        text.push('\n');
                    }
                    for line in wrap(title, Hang::flat(fitted.indent), style) {
                        push_line(&mut text, &style.paint(Tone::Strong, &line));
                    }
                }
                Line::Row(cells) if layout.listed => fitted.push_list(cells, &layout, style, &mut text),
                Line::Row(cells) => fitted.push_row(cells, &layout, style, &mut text),
            }
        }
        (text, layout.left_out)
    }

    /// The same with every text as the style can show it, so that widths are those of what is printed.
    fn fitted(&self, style: &Style) -> Table {
        let mut table = self.clone();
        for column in &mut table.columns {
            column.head = style.fit(&column.head).into_owned();
        }
        for line in &mut table.lines {
            match line {
                Line::Group(title) => *title = style.fit(title).into_owned(),
                Line::Row(cells) => {
                    cells.resize(table.columns.len(), Cell::default());
                    for cell in cells {
                        cell.text = style.fit(&cell.text).into_owned();
                    }
                }
            }
        }
        table
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(cells) => Some(cells),
            Line::Group(_) => None,
        })
    }

    /// Width of each column; 0 for one without any content.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for row in self.rows() {
            for (wide, cell) in widths.iter_mut().zip(row) {
                *wide = (*wide).max(width(&cell.text));
            }
        }
        for (wide, column) in widths.iter_mut().zip(&self.columns) {
            if *wide > 0 {
                *wide = (*wide).max(width(&column.head));
            }
        }
        widths
    }

    fn layout(&self, style: &Style) -> Layout {
        let widths = self.widths();
        let room = style.columns().saturating_sub(self.indent);
        let all: Vec<usize> = (0..widths.len()).filter(|&index| widths[index] > 0).collect();
        let (flat, flat_fits) = self.drop_until(&all, &widths, room, false);
        let rest: Vec<usize> = all.iter().copied().filter(|&index| index != 0).collect();
        let worth = |index: &usize| !matches!(self.columns[*index].keep, Keep::IfFlat(_));
        let worthy: Vec<usize> = rest.iter().copied().filter(worth).collect();
        let (stacked, stacked_fits) =
            self.drop_until(&worthy, &widths, room.saturating_sub(STACK_INDENT), true);
        // Beside each other only where that costs no column: a wider terminal never shows less than a narrower one.
        if flat_fits && (!stacked_fits || stacked.iter().all(|index| flat.contains(index))) {
            return self.layout_of(flat, &all, &widths, false, false);
        }
        if stacked_fits && !stacked.is_empty() {
            return self.layout_of(stacked, &rest, &widths, true, false);
        }
        let kept = |index: &usize| self.columns[*index].keep == Keep::Always;
        self.layout_of(all.iter().copied().filter(kept).collect(), &all, &widths, true, true)
    }

    fn layout_of(
        &self,
        shown: Vec<usize>,
        all: &[usize],
        widths: &[usize],
        stacked: bool,
        listed: bool,
    ) -> Layout {
        let left_out = all.iter().filter(|index| !shown.contains(index));
        Layout {
            left_out: left_out.map(|&index| self.columns[index].head.clone()).collect(),
            shown: shown.into_iter().map(|index| (index, widths[index])).collect(),
            stacked,
            listed,
        }
    }

    /// Leaves out columns until the rest fits `room`; whether it does.
    fn drop_until(&self, all: &[usize], widths: &[usize], room: usize, stacked: bool) -> (Vec<usize>, bool) {
        let mut shown = all.to_vec();
        loop {
            let total = shown.iter().map(|&index| widths[index] + GAP).sum::<usize>().saturating_sub(GAP);
            if total <= room {
                return (shown, true);
            }
            let rank = |index: usize| match self.columns[index].keep {
                Keep::IfFlat(rank) => Some((2, rank)),
                Keep::IfRoom(rank) => Some((1, rank)),
                Keep::IfStacked(rank) if stacked => Some((0, rank)),
                _ => None,
            };
            let worst = shown.iter().copied().filter(|&index| rank(index).is_some()).max_by_key(|&i| rank(i));
            match worst {
                Some(worst) => shown.retain(|&index| index != worst),
                None => return (shown, false),
            }
        }
    }

    fn push_head(&self, layout: &Layout, style: &Style, text: &mut String) {
        if self.columns.iter().all(|column| column.head.is_empty()) {
            return;
        }
        if layout.stacked && !self.columns[0].head.is_empty() {
            let head = format!("{}{}", " ".repeat(self.indent), self.columns[0].head);
            push_line(text, &style.paint(Tone::Dim, &head));
        }
        let heads: Vec<Cell> =
            self.columns.iter().map(|column| Cell::toned(column.head.clone(), Tone::Dim)).collect();
        self.push_cells(&heads, layout, style, text);
    }

    fn push_row(&self, cells: &[Cell], layout: &Layout, style: &Style, text: &mut String) {
        if layout.stacked && !cells[0].text.is_empty() {
            let hang = Hang { first: self.indent, rest: self.indent + 2 * STACK_INDENT };
            for line in wrap(&cells[0].text, hang, style) {
                push_line(text, &style.paint(cells[0].tone, &line));
            }
        }
        self.push_cells(cells, layout, style, text);
    }

    fn push_cells(&self, cells: &[Cell], layout: &Layout, style: &Style, text: &mut String) {
        let mut line = " ".repeat(self.indent + if layout.stacked { STACK_INDENT } else { 0 });
        for (place, &(index, wide)) in layout.shown.iter().enumerate() {
            let cell = &cells[index];
            let padding = " ".repeat(wide.saturating_sub(width(&cell.text)));
            let painted = style.paint(cell.tone, &cell.text);
            if place > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let (before, after) =
                if self.columns[index].right { (padding, String::new()) } else { (String::new(), padding) };
            line.push_str(&before);
            line.push_str(&painted);
            line.push_str(&after);
        }
        push_line(text, &line);
    }

    /// A row as `head value` pairs below its first cell.
    fn push_list(&self, cells: &[Cell], layout: &Layout, style: &Style, text: &mut String) {
        let (first, rest) = (Hang::flat(self.indent), Hang::flat(self.indent + STACK_INDENT));
        let mut lines = cells.first().map(|cell| wrap(&cell.text, first, style)).unwrap_or_default();
        let others = layout.shown.iter().filter(|(index, _)| *index > 0);
        let others = others.map(|(index, _)| (&self.columns[*index], &cells[*index]));
        for (column, cell) in others.filter(|(_, cell)| !cell.text.is_empty()) {
            let pair = if column.head.is_empty() {
                cell.text.clone()
            } else {
                format!("{}: {}", column.head, cell.text)
            };
            lines.extend(wrap(&pair, rest, style));
        }
        lines.iter().for_each(|line| push_line(text, line));
    }
}

/// The line that names what was left out; empty where nothing was.
pub(crate) fn left_out_note(heads: &[String], indent: usize, style: &Style) -> String {
    let mut text = String::new();
    if !heads.is_empty() {
        let note = format!("(not shown at this width: {})", heads.join(", "));
        for line in wrap(&note, Hang::flat(indent), style) {
            push_line(&mut text, &style.paint(Tone::Dim, &line));
        }
    }
    text
}

/// Adds a line without trailing spaces.
fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end_matches(' '));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(vec![
            Column::words("name", Keep::Always),
            Column::numbers("IOPS", Keep::Always),
            Column::numbers("p50", Keep::IfRoom(9)),
            Column::numbers("% HDD", Keep::IfStacked(1)),
            Column::words("empty", Keep::Always),
        ]);
        table.group("a group");
        table.row(vec!["first of them".into(), "1,234".into(), "12 µs".into(), "57 %".into()]);
        table.row(vec!["2".into(), Cell::toned("8", Tone::Bad), "1 ms".into(), "105 %".into()]);
        table
    }

    #[test]
    fn everything_fits_and_empty_columns_are_not_there() {
        insta::assert_snapshot!(table().render(&Style::plain(80)), @r"
        name            IOPS    p50  % HDD
        a group
        first of them  1,234  12 µs   57 %
        2                  8   1 ms  105 %
        ");
    }

    #[test]
    fn less_important_columns_go_first_and_are_named() {
        let mut table = table();
        table.row(vec!["3".into(), "3".into(), "a latency with many words".into(), "1 %".into()]);
        insta::assert_snapshot!(table.render(&Style::plain(32)), @r"
        name            IOPS  % HDD
        a group
        first of them  1,234   57 %
        2                  8  105 %
        3                  3    1 %
        (not shown at this width: p50)
        ");
    }

    #[test]
    fn the_name_moves_to_its_own_line_where_that_saves_a_column() {
        assert!(table().render(&Style::plain(32)).starts_with("name\n"));
        insta::assert_snapshot!(table().render(&Style::plain(24)), @r"
        name
           IOPS    p50  % HDD
        a group
        first of them
          1,234  12 µs   57 %
        2
              8   1 ms  105 %
        ");
    }

    #[test]
    fn at_last_a_row_is_a_list() {
        let mut table = table();
        table.row(vec!["wide".into(), "123456789012345678901234567890".into()]);
        insta::assert_snapshot!(table.render(&Style::plain(24)), @r"
        a group
        first of them
          IOPS: 1,234
        2
          IOPS: 8
        wide
          IOPS:
          123456789012345678901234567890
        (not shown at this
        width: p50, % HDD)
        ");
    }

    #[test]
    fn a_wider_terminal_never_shows_less() {
        let mut table = table();
        table.row(vec!["a name that takes much of the width".into(), "1".into(), "1".into(), "1".into()]);
        let shown = |width| {
            let text = table.render(&Style::plain(width));
            let (_, left_out) = text.split_once("(not shown at this width: ").unwrap_or_default();
            3 - left_out.split(',').filter(|head| !head.trim().is_empty()).count()
        };
        let counts: Vec<usize> = (24..100).map(shown).collect();
        assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]), "{counts:?}");
        assert_eq!(counts.last(), Some(&3));
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let coloured = table().render(&Style { colour: true, ..Style::plain(80) });
        assert!(coloured.contains("\u{1b}[1;31m8\u{1b}[0m"));
        let stripped: String = strip(&coloured);
        assert_eq!(stripped, table().render(&Style::plain(80)));
    }

    fn strip(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        first + &parts.filter_map(|part| part.split_once('m').map(|(_, rest)| rest)).collect::<String>()
    }

    #[test]
    fn without_rows_there_is_nothing() {
        assert_eq!(Table::new(vec![Column::words("name", Keep::Always)]).render(&Style::plain(80)), "");
    }
}
