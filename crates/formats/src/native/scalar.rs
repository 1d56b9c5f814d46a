//! Sizes, times, rates and weighted lists as text, exactly: what one function writes, its counterpart reads back.

use assay_workload::job::{OperationRates, Rate};
use assay_workload::pattern::{BlockSizes, OpKind};
use assay_workload::target::Extent;
use assay_workload::units::{Bytes, Nanos};

use super::sink::clip;

/// Regular forms of what this module reads, for the schema.
macro_rules! regular {
    (number) => {
        r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?"
    };
    (size) => {
        concat!(r"\s*", regular!(number), r"\s*([kKmMgGtTpP]?([iI]?[bB])?)\s*")
    };
    (time) => {
        concat!(r"\s*", regular!(number), r"\s*([nNuUmMµ]?[sS]|[sS][eE][cC]|[mM]([iI][nN])?|[hHdD])?\s*")
    };
    (weight) => {
        concat!(r"(/\s*", regular!(number), r"\s*)?")
    };
    (sizes) => {
        concat!(regular!(size), regular!(weight), "(,", regular!(size), regular!(weight), ")*")
    };
}
pub(super) use regular;

/// No size, time or rate needs more characters.
const CHARS_MAX: usize = 64;

/// Splits `12.5e3 MiB` into the number and the unit behind it.
fn split(text: &str) -> Result<(&str, &str), String> {
    let text = text.trim();
    if text.len() > CHARS_MAX {
        return Err(format!("'{}' is too long", clip(text)));
    }
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if end == 0 || bytes[0] == b'.' {
        return Err(format!("'{text}' does not start with a number"));
    }
    // An exponent, but not the e of a unit: none starts with e.
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let stop = digits((end + 1 + sign).min(bytes.len()));
        end = if stop > end + 1 + sign { stop } else { end };
    }
    let (number, unit) = text.split_at(end);
    Ok((number, unit.trim()))
}

/// Integers times their unit without rounding, fractions by way of a float.
fn scaled(text: &str, number: &str, factor: u64) -> Result<u64, String> {
    let out_of_range = || format!("'{}' is out of range", text.trim());
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole: u64 = number.parse().map_err(|_| out_of_range())?;
        return whole.checked_mul(factor).ok_or_else(out_of_range);
    }
    let value: f64 = number.parse().map_err(|_| out_of_range())?;
    let product = (value * factor as f64).round();
    if product < 9.2e18 { Ok(product as u64) } else { Err(out_of_range()) }
}

/// A size in bytes: `4k`, `1.5GiB`, `512`. Units are powers of two.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor = format!("1{unit}").parse::<Bytes>().map_err(|error| error.to_string())?;
    scaled(text, number, factor.0)
}

/// A time: `250us`, `2m`; a bare number is seconds.
pub(super) fn time(text: &str) -> Result<Nanos, String> {
    let (number, unit) = split(text)?;
    let factor = format!("1{unit}").parse::<Nanos>().map_err(|error| error.to_string())?;
    scaled(text, number, factor.0).map(Nanos)
}

/// The text [`time`] reads as exactly this.
pub(super) fn write_time(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    let fitting = units.into_iter().find(|(factor, _)| time.0.is_multiple_of(*factor));
    let (factor, unit) = fitting.unwrap_or((1, "ns"));
    format!("{}{unit}", time.0 / factor)
}

/// A number of at least 0, not infinite.
fn plain(text: &str) -> Result<f64, String> {
    match split(text)? {
        (number, "") => finite(text, number),
        (_, rest) => Err(format!("'{rest}' behind the number of '{}' means nothing here", text.trim())),
    }
}

fn finite(text: &str, number: &str) -> Result<f64, String> {
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| format!("'{}' is out of range", text.trim()))
}

/// A number as text: integers without a point, all others so that they read back exactly.
pub(super) fn write_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:?}") }
}

/// A size, or per cent of the target (`25%`).
pub(super) fn extent(text: &str) -> Result<Extent, String> {
    let Some(percent) = text.trim().strip_suffix('%') else { return size(text).map(Extent::Bytes) };
    match plain(percent)? {
        value if value <= 100.0 => Ok(Extent::Percent(value)),
        value => Err(format!("{value} % is more than there is")),
    }
}

/// The text [`extent`] reads as exactly this.
pub(super) fn write_extent(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => Bytes(bytes).short(),
        Extent::Percent(percent) => format!("{}%", write_number(percent)),
    }
}

/// What a rate may look like, for messages.
pub(super) const RATE_FORMS: &str = "1000 (IOPS), \"100MiB/s\", \"500 read, 50 write\" (IOPS), \"50%\" of what an unlimited phase reached, \"unlimited\"";

/// A rate: `1000` or `1000 IOPS`, `100MiB/s`, `500 read, 50 write`, `50%`, `unlimited`.
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    let text = text.trim();
    if text == "unlimited" {
        return Ok(Rate::Unlimited);
    }
    let (value, unit) = positive_rate(text)?;
    if unit.contains(',') || OpKind::DATA.iter().any(|kind| kind.name() == unit) {
        return operation_rates(text).map(Rate::Each);
    }
    let lower = unit.to_ascii_lowercase();
    match (lower.as_str(), lower.strip_suffix("/s")) {
        ("" | "iops", _) => Ok(Rate::Iops(value)),
        ("%", _) => Ok(Rate::PercentOfMax(value)),
        (_, Some(bytes)) if !bytes.is_empty() => {
            let factor = format!("1{bytes}").parse::<Bytes>().map_err(|error| error.to_string())?;
            Ok(Rate::BytesPerS(value * factor.0 as f64))
        }
        _ => Err(format!("'{unit}' is not a unit of a rate")),
    }
}

/// The number of a rate, and what follows it.
fn positive_rate(text: &str) -> Result<(f64, &str), String> {
    let (number, unit) = split(text)?;
    match finite(text, number)? {
        0.0 => Err("a rate of 0 never does anything".to_owned()),
        value => Ok((value, unit)),
    }
}

fn operation_rates(text: &str) -> Result<OperationRates, String> {
    let mut rates = [None; 3];
    for part in text.split(',') {
        let (value, unit) = positive_rate(part)?;
        let Some(kind) = OpKind::DATA.iter().position(|kind| kind.name() == unit) else {
            return Err(format!("'{}' is none of read, write and trim", clip(unit)));
        };
        if rates[kind].replace(value).is_some() {
            return Err(format!("{unit} has two rates"));
        }
    }
    Ok(OperationRates::new(rates))
}

/// The TOML value [`rate`] reads as exactly this; `None` for unlimited.
pub(super) fn write_rate(rate: Rate) -> Option<String> {
    match rate {
        Rate::Unlimited => None,
        Rate::Iops(iops) => Some(write_number(iops)),
        Rate::PercentOfMax(percent) => Some(format!("\"{}%\"", write_number(percent))),
        Rate::BytesPerS(bytes) if bytes.fract() == 0.0 && bytes < 9e15 => {
            let short = Bytes(bytes as u64).short();
            let number = short.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = match short.chars().last() {
                Some(letter) if letter.is_ascii_alphabetic() => format!("{}iB", letter.to_ascii_uppercase()),
                _ => "B".to_owned(),
            };
            Some(format!("\"{number}{unit}/s\""))
        }
        Rate::BytesPerS(bytes) => Some(format!("\"{bytes:?}B/s\"")),
        Rate::Each(rates) => {
            let one = |(kind, rate): (OpKind, f64)| format!("{} {}", write_number(rate), kind.name());
            Some(format!("\"{}\"", rates.rated().map(one).collect::<Vec<_>>().join(", ")))
        }
    }
}

/// Words with weights: `read/70, write/30`. Weights need not total anything, but something; without any, all
/// weigh the same.
pub(super) fn weighted(text: &str) -> Result<Vec<(&str, f64)>, String> {
    let parts = text.split(',').map(|part| match part.split_once('/') {
        Some((word, weight)) => Ok((word.trim(), Some(plain(weight)?))),
        None => Ok((part.trim(), None)),
    });
    let parts = parts.collect::<Result<Vec<_>, String>>()?;
    if let Some(bare) = parts.iter().find(|part| part.1.is_none())
        && parts.iter().any(|part| part.1.is_some())
    {
        return Err(format!("'{}' has no weight, others have", clip(bare.0)));
    }
    let parts: Vec<(&str, f64)> =
        parts.into_iter().map(|(word, weight)| (word, weight.unwrap_or(1.0))).collect();
    let total: f64 = parts.iter().map(|part| part.1).sum();
    if total > 0.0 && total.is_finite() { Ok(parts) } else { Err("the weights total nothing".to_owned()) }
}

/// The text [`weighted`] reads as exactly this.
pub(super) fn write_weighted(parts: impl Iterator<Item = (String, f64)>) -> String {
    let parts: Vec<String> = parts.map(|(word, weight)| format!("{word}/{}", write_number(weight))).collect();
    parts.join(",")
}

/// What block sizes may look like, for messages.
pub(super) const BLOCK_SIZE_FORMS: &str =
    "\"4k\", \"4k/60,64k/40\" (weighted), \"4k-64k\", { min, max, step }, { read, write, trim }";

/// One size, a weighted list, or a range in steps of its smallest size.
pub(super) fn block_sizes(text: &str) -> Result<BlockSizes, String> {
    if text.contains(['/', ',']) {
        let parts = weighted(text)?.into_iter().map(|(word, weight)| Ok((block_size(word)?, weight)));
        return Ok(BlockSizes::Weighted(parts.collect::<Result<_, String>>()?));
    }
    let Some((min, max)) = text.split_once('-') else { return block_size(text).map(BlockSizes::Fixed) };
    let min_bytes = block_size(min)?;
    range(min_bytes, block_size(max)?, min_bytes)
}

/// A range of block sizes, checked.
pub(super) fn range(min_bytes: u64, max_bytes: u64, step_bytes: u64) -> Result<BlockSizes, String> {
    if min_bytes > max_bytes {
        return Err(format!("the range begins at {} and ends at {}", Bytes(min_bytes), Bytes(max_bytes)));
    }
    Ok(BlockSizes::Range { min_bytes, max_bytes, step_bytes })
}

/// The size of a block: 1 byte to 2 GiB.
pub(super) fn block_size(text: &str) -> Result<u64, String> {
    check_block_size(size(text)?)
}

/// The bounds of [`block_size`].
pub(super) fn check_block_size(bytes: u64) -> Result<u64, String> {
    match bytes {
        0 => Err("a block size of 0".to_owned()),
        1..=0x7fff_ffff => Ok(bytes),
        _ => Err(format!("a block size of {}; less than 2 GiB is possible", Bytes(bytes))),
    }
}

/// Bytes from pairs of hexadecimal digits.
pub(super) fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    match digits {
        Some(digits) if digits.len().is_multiple_of(2) => {
            Ok(digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
        }
        _ => Err(format!("'{}' is not hexadecimal", clip(text))),
    }
}

/// The text [`hex`] reads as exactly this.
pub(super) fn write_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_exact_up_to_the_last_bit() {
        assert_eq!(size("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(size(&Bytes((1 << 53) + 1).short()), Ok((1 << 53) + 1));
        assert_eq!(time("9007199254740993ns"), Ok(Nanos((1 << 53) + 1)));
        assert_eq!(time(&write_time(Nanos(1_234_567_000))), Ok(Nanos(1_234_567_000)));
        assert_eq!(write_time(Nanos(90_000_000_000)), "90s");
        assert_eq!(time("1.5"), Ok(Nanos(1_500_000_000)));
        for bad in ["", "k", ".5k", "-1", "4q", "99999999999t", "1e400", "4k4"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(size(&"9".repeat(100_000)).is_err_and(|message| message.len() < 100));
    }

    #[test]
    fn rates_know_their_meanings() {
        assert_eq!(rate("1000"), Ok(Rate::Iops(1000.0)));
        assert_eq!(rate("1.5e3 IOPS"), Ok(Rate::Iops(1500.0)));
        assert_eq!(rate("100MiB/s"), Ok(Rate::BytesPerS(104_857_600.0)));
        assert_eq!(rate("50%"), Ok(Rate::PercentOfMax(50.0)));
        assert_eq!(rate("unlimited"), Ok(Rate::Unlimited));
        let each = OperationRates { read: Some(500.0), write: Some(0.5), trim: None };
        assert_eq!(rate("500 read, 0.5 write"), Ok(Rate::Each(each)));
        assert_eq!(write_rate(Rate::Each(each)).as_deref(), Some("\"500 read, 0.5 write\""));
        assert_eq!(rate("7 trim"), Ok(Rate::Each(OperationRates::new([None, None, Some(7.0)]))));
        for bad in [
            "0",
            "5k",
            "100/s",
            "100 qB/s",
            "fast",
            "1e999",
            "5 read, 0 write",
            "5 read,",
            "5 read, 5 read",
            "5, 5",
        ] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        for asked in
            [Rate::BytesPerS(0.5), Rate::BytesPerS(1e21), Rate::BytesPerS(1048577.0), Rate::Iops(1e-7)]
        {
            let text = write_rate(asked).expect("limited rates are written");
            assert_eq!(rate(text.trim_matches('"')), Ok(asked), "{text}");
        }
    }

    #[test]
    fn block_sizes_have_three_forms() {
        assert_eq!(block_sizes("4k"), Ok(BlockSizes::Fixed(4096)));
        assert_eq!(block_sizes("4k/60, 64k/40"), Ok(BlockSizes::Weighted(vec![(4096, 60.0), (65536, 40.0)])));
        assert_eq!(block_sizes("4k,8k"), Ok(BlockSizes::Weighted(vec![(4096, 1.0), (8192, 1.0)])));
        assert_eq!(block_sizes("4k-64k"), range(4096, 65536, 4096));
        for bad in ["0", "4k/", "4k/0", "4k/1,8k", "64k-4k", "3g", "4k-", "/", ","] {
            assert!(block_sizes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_extent_is_bytes_or_per_cent() {
        assert_eq!(extent("25%"), Ok(Extent::Percent(25.0)));
        assert_eq!(extent(" 10 g"), Ok(Extent::Bytes(10 << 30)));
        assert_eq!(extent(&write_extent(Extent::Percent(33.3))), Ok(Extent::Percent(33.3)));
        assert!(extent("101%").is_err());
        assert!(extent("nan%").is_err());
    }
}
