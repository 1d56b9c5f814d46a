//! Numbers as fio reads them: C integers with a unit that is looked at letter by letter.
//!
//! The rules are fio's (its `parse.c`, read in 3.42 and tried against 3.33), traps included; what a reader would not expect comes
//! back as [`Quirks`], so that the caller can explain it without changing the meaning.

use super::arith;

/// What in a number means something else than it seems to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// A fraction that fio cuts off (`1.5g` is 1).
    pub(super) fraction: bool,
    /// Text behind the number that fio ignores (`4096x`).
    pub(super) ignored: String,
    /// `KiB`-like units have the base opposite to `kb_base`.
    pub(super) binary_unit_flipped: bool,
    /// A blank before the digits makes fio lose the unit behind them.
    pub(super) unit_lost_by_blank: bool,
    /// A parenthesised expression, which only builds of fio with lex and yacc evaluate.
    pub(super) arithmetic: bool,
}

/// A number with its unit applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quantity {
    /// Bytes, microseconds, a count, or percent points.
    pub(super) value: i64,
    /// Whether `value` is a percentage.
    pub(super) percent: bool,
    /// What a reader should be told.
    pub(super) quirks: Quirks,
}

/// Why a text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberError {
    /// No digits where a number has to start.
    NotANumber,
    /// Does not fit into 63 bits.
    TooLarge,
    /// A trailing `z` (zones) where bytes are wanted.
    Zone,
    /// A parenthesised expression that does not follow the grammar.
    BadExpression,
}

impl NumberError {
    /// The rule that was broken, as the end of a sentence.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::NotANumber => "it has to start with digits",
            Self::TooLarge => "it does not fit into 63 bits",
            Self::Zone => {
                "the suffix z (zones) is only for size, io_size, offset, offset_increment and zoneskip"
            }
            Self::BadExpression => {
                "an expression in parentheses has numbers with units, + - * / % ^ and parentheses"
            }
        }
    }
}

/// C's `strtoll`: blanks, a sign, digits. Returns the value and the byte length used.
pub(super) fn leading_integer(text: &str) -> Result<(i64, usize), NumberError> {
    let bytes = text.as_bytes();
    let mut at = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = bytes.get(at) == Some(&b'-');
    if matches!(bytes.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let hex = text.contains("0x");
    if hex && text[at..].starts_with("0x") {
        at += 2;
    }
    let radix = if hex { 16 } else { 10 };
    let digits = bytes[at..].iter().take_while(|b| char::from(**b).is_digit(radix)).count();
    if digits == 0 {
        return Err(NumberError::NotANumber);
    }
    let magnitude = i64::from_str_radix(&text[at..at + digits], radix).map_err(|_| NumberError::TooLarge)?;
    Ok((if negative { -magnitude } else { magnitude }, at + digits))
}

/// The text from the first byte that is neither digit nor a leading sign, of which there may be so many: where fio looks
/// for the unit.
fn unit_text(text: &str, signs_max: usize) -> &str {
    let signs = text.bytes().take(signs_max).take_while(|byte| matches!(byte, b'+' | b'-')).count();
    text[signs..].trim_start_matches(|c: char| c.is_ascii_digit())
}

/// A byte count or plain count: `4k`, `0x10`, `10%`, `(2*4k)`.
pub(super) fn bytes(text: &str, kb_base: u32) -> Result<Quantity, NumberError> {
    if text.starts_with('(') {
        let value =
            arith::evaluate(text, arith::Units::Bytes { kb_base }).ok_or(NumberError::BadExpression)?;
        return expression(value);
    }
    if text.ends_with('z') {
        return Err(NumberError::Zone);
    }
    let (value, used) = leading_integer(text)?;
    let mut quirks = Quirks::default();
    let unit = unit_text(text, usize::MAX);
    let rest = text[used..].trim_end();
    let (factor, percent) = match unit.bytes().next() {
        Some(b'%') => (1, true),
        Some(b) if b.is_ascii_alphabetic() => (byte_factor(unit, kb_base, &mut quirks), false),
        _ => (1, false),
    };
    note_rest(rest, text, &mut quirks);
    let value = value.checked_mul(factor).ok_or(NumberError::TooLarge)?;
    Ok(Quantity { value, percent, quirks })
}

fn expression(value: f64) -> Result<Quantity, NumberError> {
    // 2^62: comfortably inside i64, and no real size reaches it.
    if !value.is_finite() || value.abs() >= 4.611_686_018_427_388e18 {
        return Err(NumberError::TooLarge);
    }
    let quirks = Quirks { arithmetic: true, ..Quirks::default() };
    #[expect(clippy::cast_possible_truncation, reason = "checked to lie within 2^62")]
    let value = value.trunc() as i64;
    Ok(Quantity { value, percent: false, quirks })
}

/// Explains what follows the digits where it is not a unit that fio applied.
fn note_rest(rest: &str, text: &str, quirks: &mut Quirks) {
    let Some(first) = rest.chars().next() else { return };
    if matches!(first, ':' | ',' | '-' | '%') {
        return;
    }
    if first == '.' {
        quirks.fraction = true;
    } else if text.starts_with(|c: char| c.is_whitespace()) {
        quirks.unit_lost_by_blank = true;
    } else if first.is_ascii_alphabetic() {
        let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let lower = word.to_ascii_lowercase();
        let known = ["k", "m", "g", "t", "p"]
            .iter()
            .any(|u| [u.to_string(), format!("{u}b"), format!("{u}i"), format!("{u}ib")].contains(&lower));
        if !known && lower != "b" {
            rest.clone_into(&mut quirks.ignored);
        }
    } else {
        rest.clone_into(&mut quirks.ignored);
    }
}

/// fio looks at prefixes only: `m`, `mb` and `mxyz` are all mega; `mib` is the one with the other base.
fn byte_factor(unit: &str, kb_base: u32, quirks: &mut Quirks) -> i64 {
    let unit = unit.to_ascii_lowercase();
    let power = match unit.bytes().next() {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        _ => return 1,
    };
    let flipped = unit[1..].starts_with("ib");
    quirks.binary_unit_flipped = flipped && kb_base == 1024;
    let base: i64 = if flipped == (kb_base == 1000) { 1024 } else { 1000 };
    base.pow(power)
}

/// A time in microseconds; a bare number counts in seconds if `seconds`, else in microseconds.
pub(super) fn time_us(text: &str, seconds: bool) -> Result<Quantity, NumberError> {
    if text.starts_with('(') {
        let value =
            arith::evaluate(text, arith::Units::Time { seconds }).ok_or(NumberError::BadExpression)?;
        return expression(value);
    }
    let (value, used) = leading_integer(text)?;
    let mut quirks = Quirks::default();
    let rest = &text[used..];
    let bare = if seconds { 1_000_000 } else { 1 };
    let unit = unit_text(text, 1);
    let factor = if unit.starts_with(|c: char| c.is_ascii_alphabetic()) {
        time_factor(unit.trim_end(), &mut quirks)
    } else {
        bare
    };
    if rest.starts_with('.') {
        quirks.fraction = true;
    } else if text.starts_with(|c: char| c.is_whitespace()) && rest.starts_with(|c: char| c.is_alphabetic()) {
        quirks.unit_lost_by_blank = true;
    } else if !rest.is_empty()
        && !rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, ':' | ',' | '-'))
    {
        rest.clone_into(&mut quirks.ignored);
    }
    let value = value.checked_mul(factor).ok_or(NumberError::TooLarge)?;
    Ok(Quantity { value, percent: false, quirks })
}

/// Microseconds per unit; a word fio does not know counts as one microsecond.
fn time_factor(unit: &str, quirks: &mut Quirks) -> i64 {
    let lower = unit.to_ascii_lowercase();
    if lower.starts_with("us") {
        return 1;
    }
    if lower.starts_with("ms") {
        return 1000;
    }
    match lower.as_str() {
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => {
            unit.clone_into(&mut quirks.ignored);
            1
        }
    }
}

/// One piece of a list as fio cuts it: first at a comma, else at a colon, else at a minus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// From the start of the piece up to the next comma (not up to the cut, if that was a colon or minus).
    pub(super) text: &'a str,
    /// Whether another piece follows.
    pub(super) more: bool,
}

/// Cuts a value into pieces. A trailing comma announces a further, empty piece.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        let after_sign = usize::from(rest.starts_with('-'));
        // A parenthesised expression has minus signs of its own.
        let whole = rest.starts_with('(');
        let cut = rest
            .find(',')
            .or_else(|| rest.find(':'))
            .or_else(|| if whole { None } else { rest[after_sign..].find('-').map(|at| at + after_sign) });
        let piece = rest.split(',').next().unwrap_or("");
        list.push(Piece { text: piece, more: cut.is_some() });
        // Only three slots exist anywhere; the bound keeps a line of commas cheap.
        match cut {
            Some(at) if list.len() < 8 => rest = &rest[at + 1..],
            _ => return list,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> i64 {
        bytes(text, 1024).unwrap().value
    }

    #[test]
    fn byte_units_are_fios() {
        assert_eq!(size("4k"), 4096);
        assert_eq!(size("4kb"), 4096);
        assert_eq!(size("4KiB"), 4000);
        assert_eq!(size("1Mi"), 1 << 20);
        assert_eq!(size("512b"), 512);
        assert_eq!(size("4096x"), 4096);
        assert_eq!(size("1.5g"), 1);
        assert_eq!(size(" 4k"), 4);
        assert_eq!(size("4 k"), 4);
        assert_eq!(size("0x10"), 16);
        assert_eq!(size("1e6"), 1);
        assert_eq!(size("2t"), 2 << 40);
        assert_eq!(bytes("4k", 1000).unwrap().value, 4000);
        assert_eq!(bytes("4KiB", 1000).unwrap().value, 4096);
        assert_eq!(size("(2*4k)"), 8192);
    }

    #[test]
    fn surprising_numbers_are_flagged() {
        assert!(bytes("1.5g", 1024).unwrap().quirks.fraction);
        assert!(bytes("4KiB", 1024).unwrap().quirks.binary_unit_flipped);
        assert!(!bytes("4KiB", 1000).unwrap().quirks.binary_unit_flipped);
        assert!(bytes(" 4k", 1024).unwrap().quirks.unit_lost_by_blank);
        assert_eq!(bytes("4096x", 1024).unwrap().quirks.ignored, "x");
        assert_eq!(bytes("4k", 1024).unwrap().quirks, Quirks::default());
        assert_eq!(bytes("1Gb", 1024).unwrap().quirks, Quirks::default());
        assert_eq!(bytes("512B", 1024).unwrap().quirks, Quirks::default());
        assert_eq!(time_us("60sec", true).unwrap().quirks.ignored, "sec");
        assert_eq!(time_us("60s", true).unwrap().quirks, Quirks::default());
    }

    #[test]
    fn time_units_are_fios() {
        let us = |text: &str| time_us(text, true).unwrap().value;
        assert_eq!(us("60"), 60_000_000);
        assert_eq!(us("60s"), 60_000_000);
        assert_eq!(us("1.9s"), 1_000_000);
        assert_eq!(us("1500ms"), 1_500_000);
        assert_eq!(us("60sec"), 60);
        assert_eq!(us("1min"), 1);
        assert_eq!(us("2m"), 120_000_000);
        assert_eq!(us("1h"), 3_600_000_000);
        assert_eq!(time_us("10", false).unwrap().value, 10);
        assert_eq!(time_us("10ms", false).unwrap().value, 10_000);
    }

    #[test]
    fn no_number_is_an_error() {
        assert_eq!(bytes("", 1024), Err(NumberError::NotANumber));
        assert_eq!(bytes("abc", 1024), Err(NumberError::NotANumber));
        assert_eq!(bytes("4z", 1024), Err(NumberError::Zone));
        assert_eq!(bytes("99999999999999999999", 1024), Err(NumberError::TooLarge));
        assert_eq!(bytes("9999999999999p", 1024), Err(NumberError::TooLarge));
        assert_eq!(bytes("(4k", 1024), Err(NumberError::BadExpression));
    }

    #[test]
    fn pieces_cut_at_comma_then_colon_then_minus() {
        let texts = |t| pieces(t).into_iter().map(|p| p.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts("4k"), ["4k"]);
        assert_eq!(texts("4k,8k"), ["4k", "8k"]);
        assert_eq!(texts(",8k"), ["", "8k"]);
        assert_eq!(texts("4k,"), ["4k", ""]);
        assert_eq!(texts("4k-8k"), ["4k-8k", "8k"]);
        assert_eq!(texts("-4"), ["-4"]);
        assert_eq!(texts("(8-4)"), ["(8-4)"]);
    }
}
