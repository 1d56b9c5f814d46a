//! Characters, words and parameters: what is left of a line once quotes, comments and variables are dealt with.

use super::sink::{At, Sink};

/// One character and the place it came from. Characters inside quotes lose their special meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ch {
    pub(crate) c: char,
    pub(crate) quoted: bool,
    pub(crate) at: At,
}

impl Ch {
    /// Whether this is the given character outside quotes.
    pub(crate) fn is(self, c: char) -> bool {
        self.c == c && !self.quoted
    }
}

/// A word with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// At least one character stood in quotes, which protects a `-` from being a range.
    pub(crate) quoted: bool,
    pub(crate) at: At,
}

impl Word {
    fn collect(chars: &[Ch], fallback: At) -> Self {
        Self {
            text: chars.iter().map(|ch| ch.c).collect(),
            quoted: chars.iter().any(|ch| ch.quoted),
            at: chars.first().map_or(fallback, |ch| ch.at),
        }
    }
}

/// One `keyword=value` or `keyword=(value,value,..)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) key: Word,
    pub(crate) values: Vec<Word>,
    /// Written with parentheses, which is what allows ranges.
    pub(crate) listed: bool,
}

/// Splits the characters of a logical line into parameters; what is malformed is reported and left out.
pub(crate) fn split_params(chars: &[Ch], sink: &mut Sink) -> Vec<Param> {
    let mut params = Vec::new();
    for piece in split_top_level(chars, sink) {
        if let Some(param) = parse_param(piece, sink) {
            params.push(param);
        }
    }
    params
}

/// Cuts at commas that are outside parentheses and quotes. A trailing comma leaves no empty piece behind.
fn split_top_level<'c>(chars: &'c [Ch], sink: &mut Sink) -> Vec<&'c [Ch]> {
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0usize, 0usize);
    for (i, ch) in chars.iter().enumerate() {
        if ch.is('(') {
            depth += 1;
        } else if ch.is(')') {
            if depth == 0 {
                sink.error("unbalanced-parenthesis", ch.at, ")", "`)` without a `(` before it", "remove it");
            }
            depth = depth.saturating_sub(1);
        } else if ch.is(',') && depth == 0 {
            pieces.push(&chars[start..i]);
            start = i + 1;
        }
    }
    if depth > 0
        && let Some(ch) = chars.iter().rfind(|ch| ch.is('('))
    {
        let message = "`(` is never closed; a list that goes on needs a comma at the end of the line";
        sink.error("unbalanced-parenthesis", ch.at, "(", message, "add the missing `)`");
    }
    if start < chars.len() {
        pieces.push(&chars[start..]);
    }
    pieces
}

fn parse_param(piece: &[Ch], sink: &mut Sink) -> Option<Param> {
    let at = piece.first().map(|ch| ch.at);
    let equals = piece.iter().position(|ch| ch.is('='));
    let Some(equals) = equals.filter(|&i| i > 0) else {
        let text: String = piece.iter().map(|ch| ch.c).collect();
        let message = format!("expected `keyword=value`, found `{}`", super::sink::shorten(&text));
        let help =
            "a list needs parentheses, as in sd=(sd1,sd2); a line that is not a parameter needs a leading *";
        sink.error("expecting-keyword", at, &text, message, help);
        return None;
    };
    let key = Word::collect(&piece[..equals], At::default());
    let value = &piece[equals + 1..];
    let Some(first) = value.first() else {
        let message = format!("`{}=` has no value", key.text);
        sink.error("empty-value", key.at, &key.text, message, "give a value or remove the keyword");
        return None;
    };
    if !first.is('(') {
        return Some(Param { values: vec![Word::collect(value, key.at)], key, listed: false });
    }
    let close = value.iter().rposition(|ch| ch.is(')')).unwrap_or(value.len());
    if let Some(extra) = value.get(close + 1) {
        let message = format!("text after the closing parenthesis of `{}`", key.text);
        let help = "separate parameters with a comma";
        sink.error("text-after-list", extra.at, &extra.c.to_string(), message, help);
    }
    let values = list_values(&value[1..close.max(1)], &key, sink);
    (!values.is_empty()).then_some(Param { key, values, listed: true })
}

/// The elements of a list; nested parentheses are flattened, as the language does.
fn list_values(inner: &[Ch], key: &Word, sink: &mut Sink) -> Vec<Word> {
    let mut values = Vec::new();
    let mut empty = inner.is_empty();
    for piece in inner.split(|ch| ch.is(',')) {
        let kept: Vec<Ch> = piece.iter().copied().filter(|ch| !ch.is('(') && !ch.is(')')).collect();
        if kept.is_empty() {
            empty = true;
        } else {
            values.push(Word::collect(&kept, key.at));
        }
    }
    if empty {
        let message = format!("an empty element in the list of `{}`", key.text);
        sink.error("empty-value", key.at, &key.text, message, "remove the extra comma");
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<Ch> {
        let at = |i: usize| At { file: 0, line: 1, column: u32::try_from(i + 1).unwrap_or(0) };
        text.chars().enumerate().map(|(i, c)| Ch { c, quoted: false, at: at(i) }).collect()
    }

    fn split(text: &str) -> (Vec<(String, Vec<String>)>, usize) {
        let mut sink = Sink::default();
        let params = split_params(&chars(text), &mut sink);
        let plain = params
            .into_iter()
            .map(|p| (p.key.text, p.values.into_iter().map(|v| v.text).collect()))
            .collect();
        (plain, sink.finish().len())
    }

    #[test]
    fn values_and_lists() {
        let (params, problems) = split("sd=sd1,range=((1,2),(3)),lun=/dev/x=y,");
        assert_eq!(problems, 0);
        assert_eq!(params[1], ("range".into(), vec!["1".into(), "2".into(), "3".into()]));
        assert_eq!(params[2].1, ["/dev/x=y"]);
    }

    #[test]
    fn malformed_pieces_are_reported_each() {
        for text in ["sd", "=x", "sd=", "a=(1,,2)", "a=(1", "a=1)", "a=(1)b", "a=()", "a=1,,b=2"] {
            assert!(split(text).1 > 0, "{text}");
        }
    }
}
