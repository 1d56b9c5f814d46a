//! Ranges such as `0-11 %` in running text: a browser may break a line behind a hyphen and before a unit.

use maud::{Markup, html};

/// `text` with each range of numbers, and the per cent sign behind one, kept on one line. What is copied from the page is
/// `text` itself: no character is added.
pub(super) fn unbroken(text: &str) -> Markup {
    let mut rest = text;
    let mut parts: Vec<(&str, &str)> = Vec::new();
    while let Some((start, end)) = next_range(rest) {
        parts.push((&rest[..start], &rest[start..end]));
        rest = &rest[end..];
    }
    html! {
        @for (before, range) in parts { (before) span .whole { (range) } }
        (rest)
    }
}

/// Bytes from where to where the first range reaches.
fn next_range(text: &str) -> Option<(usize, usize)> {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    for (at, dash) in text.char_indices().filter(|(_, c)| matches!(c, '-' | '\u{2013}')) {
        let before = &text[..at];
        let start = before.trim_end_matches(is_number).len();
        let behind = &text[at + dash.len_utf8()..];
        let number = behind.len() - behind.trim_start_matches(is_number).len();
        let digits = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit());
        if !digits(&before[start..]) || !digits(&behind[..number]) {
            continue;
        }
        let unit = if behind[number..].starts_with(" %") {
            2
        } else {
            usize::from(behind[number..].starts_with('%'))
        };
        return Some((start, at + dash.len_utf8() + number + unit));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        unbroken(text).into_string()
    }

    #[test]
    fn a_range_stays_on_one_line_with_its_unit() {
        assert_eq!(page("IOPS 0-11 % low"), "IOPS <span class=\"whole\">0-11 %</span> low");
        assert_eq!(page("0\u{2013}1,200.5 ms"), "<span class=\"whole\">0\u{2013}1,200.5</span> ms");
        assert_eq!(
            page("reads 1-2 %, writes 3-4%"),
            "reads <span class=\"whole\">1-2 %</span>, writes <span class=\"whole\">3-4%</span>"
        );
    }

    #[test]
    fn other_hyphens_and_markup_stay_what_they_are() {
        for text in ["", "write-back", "p99-", "-5 %", "µ-3 and 4-", "a 5 - 6 b"] {
            assert_eq!(page(text), text);
        }
        assert_eq!(page("<b> 0-3 %"), "&lt;b&gt; <span class=\"whole\">0-3 %</span>");
    }

    #[test]
    fn nothing_but_markup_is_added() {
        for text in ["IOPS 0-11 % low; 2026-01-02 and 5-", "--1-2--3-4 %%", "1-2-3-4"] {
            let bare = page(text).replace("<span class=\"whole\">", "").replace("</span>", "");
            assert_eq!(bare, text);
        }
    }
}
