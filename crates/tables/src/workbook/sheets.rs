//! Rows of a sheet, one below the other.

use rust_xlsxwriter::{Format, FormatAlign, FormatBorder, Worksheet, XlsxError};

/// A text of a cell holds at most as many characters.
const TEXT_MAX: usize = 32_767;

/// Points of a line of text.
const LINE_HEIGHT: f64 = 15.0;
/// The part of a line that words fill before the next one does not fit.
const LINE_FILLED: f64 = 0.85;

/// A value; texts are never taken for formulas.
#[derive(Clone, Copy)]
pub(super) enum Cell<'t> {
    Nothing,
    Text(&'t str),
    /// On as many lines as the width of its column asks for.
    Long(&'t str),
    Number(f64),
}

/// How cells look.
pub(super) struct Styles {
    title: Format,
    head: Format,
    long: Format,
    text: Format,
    whole: Format,
    fine: Format,
}

impl Styles {
    pub(super) fn new() -> Self {
        Styles {
            title: Format::new().set_bold().set_font_size(14),
            head: Format::new().set_bold().set_border_bottom(FormatBorder::Thin).set_text_wrap(),
            text: Format::new().set_align(FormatAlign::Top),
            long: Format::new().set_text_wrap().set_align(FormatAlign::Top),
            whole: Format::new().set_num_format("#,##0").set_align(FormatAlign::Top),
            fine: Format::new().set_num_format("0.000").set_align(FormatAlign::Top),
        }
    }
}

/// Writes rows from the top.
pub(super) struct Writer<'s> {
    sheet: &'s mut Worksheet,
    styles: &'s Styles,
    row: u32,
    /// Of columns, in characters, as far as they were said.
    widths: Vec<f64>,
}

impl<'s> Writer<'s> {
    pub(super) fn new(sheet: &'s mut Worksheet, styles: &'s Styles) -> Self {
        Writer { sheet, styles, row: 0, widths: Vec::new() }
    }

    /// Index of the row that is written next.
    pub(super) fn next_row(&self) -> u32 {
        self.row
    }

    pub(super) fn title(&mut self, text: &str) -> Result<(), XlsxError> {
        self.sheet.write_string_with_format(self.row, 0, short(text), &self.styles.title)?;
        self.row += 1;
        Ok(())
    }

    pub(super) fn heads(&mut self, heads: &[impl AsRef<str>]) -> Result<(), XlsxError> {
        for (column, head) in (0..).zip(heads) {
            self.sheet.write_string_with_format(self.row, column, short(head.as_ref()), &self.styles.head)?;
        }
        self.row += 1;
        Ok(())
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), XlsxError> {
        for (column, cell) in (0..).zip(cells) {
            match *cell {
                Cell::Text(text) if !text.is_empty() => {
                    self.sheet.write_string_with_format(self.row, column, short(text), &self.styles.text)?;
                }
                Cell::Long(text) if !text.is_empty() => {
                    self.sheet.write_string_with_format(self.row, column, short(text), &self.styles.long)?;
                }
                Cell::Number(value) if value.is_finite() => {
                    let whole = value.abs() >= 100.0 || value.fract() == 0.0;
                    let format = if whole { &self.styles.whole } else { &self.styles.fine };
                    self.sheet.write_number_with_format(self.row, column, value, format)?;
                }
                _ => {}
            }
        }
        // Not every program makes room for the lines of a text by itself.
        let lines =
            cells.iter().zip(&self.widths).map(|(cell, width)| lines(cell, *width)).max().unwrap_or(1);
        if lines > 1 {
            self.sheet.set_row_height(self.row, f64::from(lines) * LINE_HEIGHT)?;
        }
        self.row += 1;
        Ok(())
    }

    /// Of columns, in characters; before the rows, whose height depends on them.
    pub(super) fn widths(&mut self, widths: &[f64]) -> Result<(), XlsxError> {
        for (column, width) in (0..).zip(widths) {
            self.sheet.set_column_width(column, *width)?;
        }
        self.widths = widths.to_vec();
        Ok(())
    }
}

/// How many lines a cell takes in a column of this width.
fn lines(cell: &Cell<'_>, width: f64) -> u32 {
    let Cell::Long(text) = cell else { return 1 };
    (text.chars().count() as f64 / (width * LINE_FILLED)).ceil().clamp(1.0, 20.0) as u32
}

/// Cut to what a cell holds, without characters that XML cannot have.
fn short(text: &str) -> String {
    let allowed = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(allowed).take(TEXT_MAX).collect()
}
