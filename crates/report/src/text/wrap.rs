//! Wrapping of paragraphs.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter};

use super::Style;

/// How far the lines of a paragraph are indented, in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hang {
    /// The first line.
    pub(crate) first: usize,
    /// The lines behind it.
    pub(crate) rest: usize,
}

impl Hang {
    /// The same for all lines.
    pub(crate) fn flat(indent: usize) -> Self {
        Hang { first: indent, rest: indent }
    }
}

/// The lines of `text`, cut at spaces so that none is wider than the style; a single word that is wider stands alone.
pub(crate) fn wrap(text: &str, hang: Hang, style: &Style) -> Vec<String> {
    let fitted = style.fit(text);
    let words: Vec<&str> = fitted.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let [first, rest] = [hang.first, hang.rest].map(|columns| " ".repeat(columns));
    let options = Options::new(style.columns())
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(&words.join(" "), options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_within_the_width_and_hang() {
        let lines = wrap("one two three four five six seven", Hang { first: 0, rest: 4 }, &Style::plain(24));
        assert_eq!(lines, ["one two three four five", "    six seven"]);
    }

    #[test]
    fn a_long_word_stands_alone() {
        let lines = wrap("a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c", Hang::flat(2), &Style::plain(24));
        assert_eq!(lines, ["  a", "  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "  c"]);
    }

    #[test]
    fn nothing_has_no_lines() {
        assert!(wrap("  ", Hang::flat(2), &Style::plain(24)).is_empty());
    }
}
