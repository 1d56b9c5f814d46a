//! Numbers as a parameter file writes them: `8`, `4k`, `1.5m`, `2h`, `50%`.

/// A numeric value with the one distinction the language makes: whether it was written as a percentage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// The value, suffix applied: bytes for sizes, seconds for times, percent where [`percent`](Self::percent) is set.
    pub value: f64,
    /// Written with a trailing `%`.
    pub percent: bool,
}

impl Number {
    /// A number that is not a percentage.
    #[must_use]
    pub const fn plain(value: f64) -> Self {
        Self { value, percent: false }
    }
}

const KIB: f64 = 1024.0;

/// Reads a number with its suffix; `None` where the word is not numeric. `m` means minutes for keywords that carry
/// a time (`minutes`), mebibytes elsewhere.
pub(crate) fn parse_number(word: &str, minutes: bool) -> Option<Number> {
    let lower = word.to_ascii_lowercase();
    if let Some(digits) = lower.strip_suffix('%') {
        return Some(Number { value: parse_plain(digits)?, percent: true });
    }
    let mega = if minutes { 60.0 } else { KIB * KIB };
    let suffixes = [
        ("kb", KIB),
        ("mb", KIB * KIB),
        ("gb", KIB * KIB * KIB),
        ("tb", KIB * KIB * KIB * KIB),
        ("k", KIB),
        ("m", mega),
        ("g", KIB * KIB * KIB),
        ("t", KIB * KIB * KIB * KIB),
        ("h", 3600.0),
        ("d", 1.0),
        ("f", 1.0),
    ];
    for (suffix, factor) in suffixes {
        if let Some(digits) = lower.strip_suffix(suffix) {
            return finite(parse_plain(digits)? * factor);
        }
    }
    finite(parse_plain(&lower)?)
}

fn finite(value: f64) -> Option<Number> {
    value.is_finite().then_some(Number::plain(value))
}

/// A decimal number with an optional exponent; words such as `inf` or `nan` are not numbers here.
fn parse_plain(word: &str) -> Option<f64> {
    let numeric = word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-'));
    let starts = word.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !numeric || !starts {
        return None;
    }
    word.parse::<f64>().ok().filter(|v| v.is_finite())
}

/// Prints a number the short way: no decimals where there are none.
pub(crate) fn show(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value}") }
}

/// Prints a size the way run labels do: `4k`, `1m`, `512`.
pub(crate) fn show_size(bytes: f64) -> String {
    for (unit, name) in [(KIB * KIB * KIB * KIB, "t"), (KIB * KIB * KIB, "g"), (KIB * KIB, "m"), (KIB, "k")] {
        if bytes >= unit && bytes % unit == 0.0 {
            return format!("{}{name}", show(bytes / unit));
        }
    }
    show(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(word: &str) -> Option<f64> {
        parse_number(word, false).map(|n| n.value)
    }

    #[test]
    fn suffixes_are_binary() {
        assert_eq!(value("4k"), Some(4096.0));
        assert_eq!(value("1.5K"), Some(1536.0));
        assert_eq!(value("1mb"), Some(1_048_576.0));
        assert_eq!(value("10G"), Some(10.0 * 1_073_741_824.0));
        assert_eq!(value("2h"), Some(7200.0));
        assert_eq!(value("4600d"), Some(4600.0));
        assert_eq!(value("1e3"), Some(1000.0));
        assert_eq!(value("-1"), Some(-1.0));
    }

    #[test]
    fn m_is_minutes_for_times() {
        assert_eq!(parse_number("10m", true), Some(Number::plain(600.0)));
    }

    #[test]
    fn percentages_are_marked() {
        assert_eq!(parse_number("50%", false), Some(Number { value: 50.0, percent: true }));
    }

    #[test]
    fn words_are_not_numbers() {
        for word in ["", "k", "max", "0x10", "30s", "inf", "nan", "1-5", "e", "-", "%", "32k_random", "1e999"]
        {
            assert_eq!(value(word), None, "{word}");
        }
    }

    #[test]
    fn labels_use_the_largest_unit_that_divides() {
        assert_eq!(show_size(4096.0), "4k");
        assert_eq!(show_size(1_048_576.0), "1m");
        assert_eq!(show_size(1536.0), "1536");
        assert_eq!(show_size(512.0), "512");
        assert_eq!(show(1.5), "1.5");
    }
}
