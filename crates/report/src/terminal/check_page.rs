//! The page of a check: a section of Markdown as words for a terminal.

use super::page::{Words, page};
use crate::text::Style;

/// The page of a check; `text` is its section of `docs/methodology/checks.md`.
pub fn check_page(id: &str, catches: &str, text: &str, style: &Style) -> String {
    let mut parts = vec![Words::Title(format!("{id}: {catches}"))];
    // Each of the section's italic words opens a paragraph of its own; links are left with their words.
    let text = without_links(&without_code(text));
    let mut words = text.split('*');
    parts.push(Words::Text(words.next().unwrap_or_default().trim().to_owned()));
    while let (Some(word), Some(rest)) = (words.next(), words.next()) {
        parts.push(Words::Item('-', format!("{word}{}", rest.trim_end()).replace(CODE_STAR, "*")));
    }
    parts.retain(|part| *part != Words::Text(String::new()));
    page(&parts, style)
}

/// Stands for an asterisk within code, which opens no italic word.
const CODE_STAR: char = '\u{1}';

/// The text in one line, code without its marks.
fn without_code(text: &str) -> String {
    let mut code = false;
    let plain = text.chars().filter_map(|c| match c {
        '`' => {
            code = !code;
            None
        }
        '*' if code => Some(CODE_STAR),
        '\n' => Some(' '),
        other => Some(other),
    });
    plain.collect()
}

/// `[words](place)` as `words`.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, word, after)) = link(rest) {
        plain.push_str(before);
        plain.push_str(word);
        rest = after;
    }
    plain + rest
}

/// What stands before the first link, its words, and what stands behind it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find('[')?;
    let middle = open + text[open..].find("](")?;
    let close = middle + text[middle..].find(')')?;
    Some((&text[..open], &text[open + 1..middle], &text[close + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn italic_words_open_paragraphs_and_code_and_links_are_left_with_their_words() {
        let text = "It is *slow*, see [more](x.md).\n*Known by* `a*b`.";
        let shown = check_page("slow", "slowness", text, &Style::plain(80));
        assert!(shown.contains("see more.") && shown.contains("Known by a*b."), "{shown}");
        assert!(!shown.contains(['`', '[', CODE_STAR]), "{shown}");
    }
}
