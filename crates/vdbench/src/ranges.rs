//! Ranges in lists (`1-9,2`, `1-64,d`, `sd1-sd99`) and the rule that a list is all numbers or all words.

use super::number::{Number, parse_number, show};
use super::sink::{At, Sink};
use super::word::{Param, Word};

/// One value of a parameter after ranges are written out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub(crate) word: Word,
    pub(crate) number: Option<Number>,
}

/// Keywords whose values are never numbers.
const NEVER_NUMERIC: [&str; 8] = ["host", "hd", "system", "histogram", "replay", "misc", "lun", "anchor"];

/// Keywords that mix words and numbers by design.
const MIXED: [&str; 12] = [
    "fileselect",
    "seekpct",
    "timeout",
    "data_errors",
    "dataerrors",
    "startcmd",
    "endcmd",
    "user",
    "debug",
    "journal",
    "validate",
    "pattern",
];

/// Keywords whose `m` suffix means minutes, by their first letters.
const TIMES: [&str; 5] = ["el", "in", "pa", "wa", "reset"];

/// The values of a parameter with ranges written out. `budget` is what is left of the elements that ranges may make.
pub(crate) fn values(param: &Param, budget: &mut usize, sink: &mut Sink) -> Option<Vec<Value>> {
    let key = param.key.text.to_ascii_lowercase();
    let never = NEVER_NUMERIC.iter().any(|k| key.starts_with(k)) || is_name(&key);
    let minutes = TIMES.iter().any(|t| key.starts_with(t));
    let number = |word: &str| if never { None } else { parse_number(word, minutes) };
    let mut out = Vec::with_capacity(param.values.len());
    let mut words = param.values.iter().peekable();
    while let Some(word) = words.next() {
        let split = param.listed.then(|| split_range(word)).flatten();
        let Some((low, high)) = split else {
            out.push(Value { number: number(&word.text), word: word.clone() });
            continue;
        };
        let before = out.len();
        if let (Some(low), Some(high)) = (number(low), number(high)) {
            let step = words.next().map(|w| w.text.as_str());
            numeric_range(word, low, high, step.map(|s| (s, number(s))), *budget, &mut out, sink)?;
        } else {
            name_range(word, low, high, *budget, &mut out, sink)?;
        }
        *budget = budget.saturating_sub(out.len() - before);
    }
    check_mix(&key, param, &out, sink).then_some(out)
}

/// Keywords that name definitions: `sd=1` is a name, not a number.
fn is_name(key: &str) -> bool {
    matches!(key, "sd" | "wd" | "rd" | "fsd" | "fwd" | "rg")
}

/// `a-b` outside quotes; a leading `-` is a sign, and so is one behind an exponent.
fn split_range(word: &Word) -> Option<(&str, &str)> {
    if word.quoted || parse_number(&word.text, false).is_some() {
        return None;
    }
    let dash = word.text.char_indices().skip(1).find(|(_, c)| *c == '-').map(|(i, _)| i)?;
    let (low, high) = (&word.text[..dash], &word.text[dash + 1..]);
    (!low.is_empty() && !high.is_empty()).then_some((low, high))
}

fn too_many(word: &Word, sink: &mut Sink) -> Option<()> {
    let message = format!("the range `{}` has too many elements", word.text);
    sink.error("too-large", word.at, &word.text, message, "use a larger step");
    None
}

fn numeric_range(
    word: &Word,
    low: Number,
    high: Number,
    step: Option<(&str, Option<Number>)>,
    budget: usize,
    out: &mut Vec<Value>,
    sink: &mut Sink,
) -> Option<()> {
    let (a, b) = (low.value, high.value);
    let next: Box<dyn Fn(f64) -> Option<f64>> = match step {
        Some((_, Some(step))) if step.value > 0.0 => {
            Box::new(move |v| Some(v + step.value).filter(|v| *v <= b))
        }
        Some((text, None)) if text.eq_ignore_ascii_case("d") && a > 0.0 && b > 0.0 => {
            if a > b {
                Box::new(move |v| Some(v / 2.0).filter(|v| *v >= b))
            } else {
                Box::new(move |v| Some(v * 2.0).filter(|v| *v <= b))
            }
        }
        _ => {
            let message = format!("the numeric range `{}` needs a step or `d` behind it", word.text);
            let help = "write (1-9,2) for steps of two, (1-64,d) for doubling; both ends of a doubling must be above 0";
            sink.error("range-needs-step", word.at, &word.text, message, help);
            return None;
        }
    };
    // A descending range with a step is not refused by the language: it gives its first element only.
    if a > b && step.is_some_and(|(_, n)| n.is_some()) {
        let message = format!("the range `{}` goes down, so it yields only its first value", word.text);
        let help = "list the values, or write them ascending";
        sink.note("descending-range", word.at, &word.text, message, help);
    }
    let (mut value, mut count) = (a, 0usize);
    loop {
        count += 1;
        if count > budget {
            return too_many(word, sink);
        }
        let generated = Word { text: show(value), ..word.clone() };
        out.push(Value { word: generated, number: Some(Number { value, percent: low.percent }) });
        match next(value) {
            // A step too small to change the value would never end.
            Some(v) if v != value => value = v,
            _ => return Some(()),
        }
    }
}

fn name_range(
    word: &Word,
    low: &str,
    high: &str,
    budget: usize,
    out: &mut Vec<Value>,
    sink: &mut Sink,
) -> Option<()> {
    let split = |s: &str| {
        let digits = s.len() - s.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, tail) = s.split_at(s.len() - digits);
        tail.parse::<u64>().ok().map(|n| (prefix.to_owned(), n))
    };
    let ends = split(low).zip(split(high)).filter(|((p, a), (q, b))| p == q && a < b);
    let Some(((prefix, first), (_, last))) = ends else {
        let message = format!(
            "`{}` is not a range: both ends need the same prefix and an increasing number",
            word.text
        );
        let help = "write (sd1-sd9); a name that holds a `-` needs quotes inside a list";
        sink.error("bad-range", word.at, &word.text, message, help);
        return None;
    };
    if last - first >= budget as u64 {
        return too_many(word, sink);
    }
    for n in first..=last {
        let generated = Word { text: format!("{prefix}{n}"), ..word.clone() };
        out.push(Value { word: generated, number: None });
    }
    Some(())
}

fn check_mix(key: &str, param: &Param, values: &[Value], sink: &mut Sink) -> bool {
    let exempt = is_name(key)
        || MIXED.iter().any(|k| key.len() > 1 && (k.starts_with(key) || key.starts_with(k)))
        || NEVER_NUMERIC.iter().any(|k| key.starts_with(k));
    let numeric = values.iter().filter(|v| v.number.is_some()).count();
    if exempt || numeric == 0 || numeric == values.len() {
        return true;
    }
    let odd = values.iter().find(|v| v.number.is_none());
    let (at, text): (At, &str) = odd.map_or((param.key.at, ""), |v| (v.word.at, &v.word.text));
    let message = format!("`{}` mixes numbers and words; a list must be one or the other", param.key.text);
    let help = if text.eq_ignore_ascii_case("d") {
        "a doubling range is written (64-1,d), not (64,1,d)"
    } else {
        "check the units: k, m, g, t, h and % are understood, s is not"
    };
    sink.error("mixed-list", at, text, message, help);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(key: &str, items: &[&str]) -> Option<Vec<String>> {
        let word = |text: &str| Word { text: text.into(), quoted: false, at: At::default() };
        let param = Param { key: word(key), values: items.iter().map(|i| word(i)).collect(), listed: true };
        let all = values(&param, &mut 1000, &mut Sink::default())?;
        Some(all.into_iter().map(|v| v.word.text).collect())
    }

    #[test]
    fn steps_and_doublings() {
        assert_eq!(expand("forthreads", &["1-9", "4"]).unwrap_or_default(), ["1", "5", "9"]);
        assert_eq!(
            expand("forthreads", &["1-8", "d", "100"]).unwrap_or_default(),
            ["1", "2", "4", "8", "100"]
        );
        assert_eq!(expand("forthreads", &["8-1", "d"]).unwrap_or_default(), ["8", "4", "2", "1"]);
        assert_eq!(expand("forrdpct", &["100-0", "10"]).unwrap_or_default(), ["100"]);
        assert_eq!(expand("forxfersize", &["1k-4k", "d"]).unwrap_or_default(), ["1024", "2048", "4096"]);
    }

    #[test]
    fn names_count_up() {
        assert_eq!(expand("sd", &["sd8-sd10", "sd12"]).unwrap_or_default(), ["sd8", "sd9", "sd10", "sd12"]);
        for bad in ["sd3-sd1", "sd1-xx3", "sd-sd3", "a-b"] {
            assert_eq!(expand("sd", &[bad]), None, "{bad}");
        }
    }

    #[test]
    fn broken_lists_are_errors() {
        assert_eq!(expand("forthreads", &["1-5"]), None);
        assert_eq!(expand("forthreads", &["64", "1", "d"]), None);
        assert_eq!(expand("forthreads", &["0-64", "d"]), None);
        assert_eq!(expand("forthreads", &["1-100000", "1"]), None);
        assert_eq!(expand("forthreads", &["1-2", "0"]), None);
        assert_eq!(expand("iorate", &["100", "max"]), None);
        assert_eq!(expand("fileselect", &["poisson", "5"]).unwrap_or_default(), ["poisson", "5"]);
    }
}
