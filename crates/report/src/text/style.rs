//! [`Style`]: what the terminal can show.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// What the place the text goes to can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are wanted.
    pub colour: bool,
    /// Columns; nothing is made wider where that can be helped.
    pub width: usize,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
}

impl Style {
    /// No colour, Unicode, of this width: for files and tests.
    pub fn plain(width: usize) -> Self {
        Style { colour: false, width, unicode: true }
    }

    /// The width that layouts work with: below 24 columns nothing can be laid out.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(24)
    }

    /// `text` as this style can show it, control characters in a form that can be seen.
    pub(crate) fn fit<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = visible(text);
        if self.unicode || text.is_ascii() { text } else { Cow::Owned(text.chars().map(ascii).collect()) }
    }

    /// `text` in a tone; no codes without colour, or around nothing.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = tone.code();
        if !self.colour || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// What a piece of text means; how that looks is decided here alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading.
    Strong,
    /// Of less weight.
    Dim,
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Wrong.
    Bad,
    /// A value among words.
    Accent,
}

impl Tone {
    /// The ANSI parameters: the sixteen basic colours only, which a reader's own palette makes legible.
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Dim => "2",
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "1;31",
            Tone::Accent => "36",
        }
    }
}

/// `text` with every control character in a form that can be seen: names come from files and other machines, and must not
/// move a cursor, set colours, begin a line or turn the direction of what follows.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(moves) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    text.chars().for_each(|c| show(c, &mut shown));
    Cow::Owned(shown)
}

/// The same of a text of several lines that is coloured by us: line breaks, tabs and codes of colour stay.
pub fn visible_lines(text: &str, colour: bool) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t') || !moves(c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let code = colour.then(|| colour_code(rest)).flatten();
        let taken = code.unwrap_or(c.len_utf8());
        if stays(c) || code.is_some() {
            shown.push_str(&rest[..taken])
        } else {
            show(c, &mut shown)
        }
        rest = &rest[taken..];
    }
    Cow::Owned(shown)
}

/// The length of a code of colour at the start of a text.
fn colour_code(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner[end..].starts_with('m').then_some(end + 3)
}

/// Control characters, and those that change the direction of the text around them.
fn moves(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn show(c: char, shown: &mut String) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if c.is_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
        c if moves(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        c => shown.push(c),
    }
}

/// The nearest ASCII for the characters this crate uses; `?` for those it does not know.
fn ascii(c: char) -> Cow<'static, str> {
    let known = match c {
        'µ' => "u",
        '–' | '—' | '─' => "-",
        '·' => ",",
        '×' => "x",
        '…' => "...",
        '≥' => ">=",
        '≤' => "<=",
        '±' => "+/-",
        '→' => "->",
        '’' | '‘' => "'",
        '“' | '”' => "\"",
        '✓' => "+",
        '✗' => "x",
        '█' => "#",
        '░' => ".",
        c if c.is_ascii() => return Cow::Owned(c.to_string()),
        _ => "?",
    };
    Cow::Borrowed(known)
}

/// Columns a terminal gives to `text`, which holds no codes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_from_names_do_not_reach_the_terminal() {
        let style = Style::plain(80);
        assert_eq!(style.fit("a\u{1b}[31mb\nc\u{7}"), "a\\x1b[31mb\\nc\\x07");
        assert_eq!(visible("\u{9b}31m\u{202e}\t"), "\\x9b31m\\u{202e}\\t");
        let lines = "\u{1b}[1;31mred\u{1b}[0m\n\u{1b}]0;title\u{7}";
        assert_eq!(visible_lines(lines, true), "\u{1b}[1;31mred\u{1b}[0m\n\\x1b]0;title\\x07");
        assert!(!visible_lines(lines, false).contains('\u{1b}'));
    }

    #[test]
    fn without_unicode_everything_is_ascii() {
        let style = Style { unicode: false, ..Style::plain(80) };
        assert_eq!(style.fit("12 µs × 4 … 東"), "12 us x 4 ... ?");
    }

    #[test]
    fn without_colour_there_are_no_codes() {
        assert_eq!(Style::plain(80).paint(Tone::Bad, "x"), "x");
        let style = Style { colour: true, ..Style::plain(80) };
        assert_eq!(style.paint(Tone::Good, "x"), "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(style.paint(Tone::Plain, "x"), "x");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("東京"), 4);
        assert_eq!(width("12 µs"), 5);
    }
}
