//! `bssplit` and `random_distribution`: shares that are filled up the way fio does it.

use super::number;

/// fio keeps at most this many entries and ignores the rest.
const SPLIT_ENTRIES_MAX: usize = 64;

/// One block size with its share of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitPart {
    /// Block size in bytes.
    pub(crate) bytes: u64,
    /// Share in per cent, as fio's selection makes it: cumulative shares stop at 100, and the last entry takes the rest.
    pub(crate) percent: u32,
}

/// One zone of a zoned distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZonePart {
    /// Share of the I/Os in per cent.
    pub(crate) access_percent: u32,
    /// Length: per cent of the region (`zoned`) or bytes (`zoned_abs`).
    pub(crate) length: u64,
}

/// Where random I/O goes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Distribution {
    /// Everywhere alike.
    Random,
    /// Zipf with exponent `theta`.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Where in the region the hottest block lies, 0 to 1; `None`: anywhere.
        center: Option<f64>,
    },
    /// Pareto with power `h`.
    Pareto {
        /// Power.
        h: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// Normal.
    Normal {
        /// Deviation in per cent.
        deviation_percent: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// Zones by per cent of the region: read, write, trim.
    Zoned([Vec<ZonePart>; 3]),
    /// Zones by bytes: read, write, trim.
    ZonedAbsolute([Vec<ZonePart>; 3]),
    /// Offsets in a written order.
    Sequence(Vec<u64>),
}

/// A pair before empty shares are filled.
struct RawPart {
    first: i64,
    second: Option<i64>,
}

/// Cuts at commas into read, write, trim. One part fills all, and of two the second fills trim.
fn directions(text: &str) -> [&str; 3] {
    let mut parts = text.splitn(3, ',');
    let read = parts.next().unwrap_or("");
    match (parts.next(), parts.next()) {
        (None, _) => [read; 3],
        (Some(write), None) => [read, write, write],
        (Some(write), Some(trim)) => [read, write, trim],
    }
}

/// `a/b:a/b:...`; an empty piece ends the list.
fn pairs(text: &str, kb_base: u32, second_is_bytes: bool) -> Result<Vec<RawPart>, String> {
    let mut list = Vec::new();
    for piece in text.trim().split(':').take_while(|piece| !piece.is_empty()) {
        if list.len() == SPLIT_ENTRIES_MAX {
            return Err(format!("at most {SPLIT_ENTRIES_MAX} entries are allowed"));
        }
        let (first, second) = match piece.split_once('/') {
            Some((first, second)) => (first, Some(second)),
            None => (piece, None),
        };
        let explain =
            |word: &str, error: number::NumberError| format!("`{word}` is no number: {}", error.rule());
        let value = number::bytes(first, kb_base).map_err(|error| explain(first, error))?.value;
        if value < 0 {
            return Err(format!("`{first}` is negative"));
        }
        let second = match second {
            Some(text) if second_is_bytes => {
                Some(number::bytes(text, kb_base).map_err(|error| explain(text, error))?.value)
            }
            // C's atoi: no digits are zero, and zero counts as not given.
            Some(text) => number::leading_integer(text)
                .ok()
                .map(|(value, _)| value.clamp(0, 100))
                .filter(|value| *value != 0),
            None => None,
        };
        list.push(RawPart { first: value, second });
    }
    if list.is_empty() {
        return Err("it needs at least one entry".to_owned());
    }
    Ok(list)
}

/// Shares the missing per cents evenly among the entries without one.
fn fill(list: &[RawPart]) -> Result<Vec<i64>, String> {
    let given: i64 = list.iter().filter_map(|part| part.second).sum();
    let missing = list.iter().filter(|part| part.second.is_none()).count();
    if given > 100 && missing > 1 {
        return Err(format!("the percentages add up to {given}, and {missing} entries have none"));
    }
    let count = i64::try_from(missing.max(1)).unwrap_or(1);
    let each = (100 - given).max(0) / count;
    Ok(list.iter().map(|part| part.second.unwrap_or(each)).collect())
}

/// Reads a bssplit value into read, write, trim.
///
/// # Errors
/// A sentence that names the word or sum that is wrong.
pub(super) fn bssplit(text: &str, kb_base: u32) -> Result<[Vec<SplitPart>; 3], String> {
    let one = |text: &str| -> Result<Vec<SplitPart>, String> {
        let list = pairs(text, kb_base, false)?;
        let shares = fill(&list)?;
        let mut parts: Vec<(u64, i64)> =
            list.iter().map(|part| part.first.unsigned_abs()).zip(shares).collect();
        if parts.iter().any(|part| part.0 == 0) {
            return Err("a block size of 0 is not possible".to_owned());
        }
        // fio sorts by share and picks the first entry whose cumulative share reaches the draw; the last takes the rest.
        parts.sort_by_key(|part| part.1);
        let mut left = 100;
        let last = parts.len() - 1;
        let cut = |(index, (bytes, share)): (usize, (u64, i64))| {
            let percent = if index == last { left } else { share.min(left) };
            left -= percent;
            SplitPart { bytes, percent: u32::try_from(percent).unwrap_or(0) }
        };
        Ok(parts.into_iter().enumerate().map(cut).filter(|part| part.percent > 0).collect())
    };
    let [read, write, trim] = directions(text);
    Ok([one(read)?, one(write)?, one(trim)?])
}

fn zones(text: &str, kb_base: u32, absolute: bool) -> Result<Vec<ZonePart>, String> {
    let list = pairs(text, kb_base, absolute)?;
    let access: i64 = list.iter().map(|part| part.first).fold(0, i64::saturating_add);
    if access != 100 {
        return Err(format!("the access percentages of the zones add up to {access}, not to 100"));
    }
    let lengths = if absolute {
        list.iter().map(|part| part.second.unwrap_or(0)).collect()
    } else {
        let given: i64 = list.iter().filter_map(|part| part.second).sum();
        if given > 100 {
            return Err(format!("the sizes of the zones add up to {given} %"));
        }
        fill(&list)?
    };
    let zone = |(part, length): (&RawPart, i64)| ZonePart {
        access_percent: u32::try_from(part.first).unwrap_or(0),
        length: length.unsigned_abs(),
    };
    Ok(list.iter().zip(lengths).map(zone).collect())
}

/// Reads a random_distribution value.
///
/// # Errors
/// A sentence that names the rule that is broken.
pub(super) fn distribution(text: &str, kb_base: u32) -> Result<Distribution, String> {
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    match word {
        "random" => Ok(Distribution::Random),
        "zipf" => {
            let (theta, center) = parameter(rest, 1.1)?;
            // fio refuses 1 only: 0 is uniform, and below 0 the last ranks are the hottest.
            if theta == 1.0 {
                return Err("theta has to be different from 1".to_owned());
            }
            Ok(Distribution::Zipf { theta, center })
        }
        "pareto" => {
            let (h, center) = parameter(rest, 0.2)?;
            if h <= 0.0 || h >= 1.0 {
                return Err("the power has to lie between 0 and 1".to_owned());
            }
            Ok(Distribution::Pareto { h, center })
        }
        "normal" => {
            let (deviation_percent, center) = parameter(rest, 0.0)?;
            if !(0.0..100.0).contains(&deviation_percent) {
                return Err("the deviation has to be at least 0 and below 100".to_owned());
            }
            Ok(Distribution::Normal { deviation_percent, center })
        }
        "zoned" | "zoned_abs" => {
            let [read, write, trim] = directions(rest.unwrap_or(""));
            let one = |text: &str| zones(text, kb_base, word == "zoned_abs");
            let all = [one(read)?, one(write)?, one(trim)?];
            Ok(if word == "zoned" { Distribution::Zoned(all) } else { Distribution::ZonedAbsolute(all) })
        }
        "sequence" => {
            let blocks =
                rest.unwrap_or("").split(',').map(|block| block.trim().parse::<u32>().map(u64::from));
            let blocks: Result<Vec<u64>, _> = blocks.collect();
            let blocks = blocks.map_err(|_| "a sequence is a list of block numbers, as in sequence:2,0,1");
            Ok(Distribution::Sequence(blocks?))
        }
        _ => Err("known are random, zipf, pareto, normal, zoned, zoned_abs, sequence".to_owned()),
    }
}

/// The standard deviation of fio's `normal`, in per cent of the range: twelve even draws are averaged, and an even one that is as wide
/// as the deviation that was given, at most half of the range, is added.
pub(crate) fn normal_stddev(deviation_percent: f64) -> f64 {
    let variance = NORMAL_LEAST.powi(2) + deviation_percent.min(50.0).powi(2) / 12.0;
    (variance.sqrt() * 1e4).round() / 1e4
}

/// The deviation to give fio for a standard deviation, or the nearest.
pub(crate) fn normal_deviation(stddev_percent: f64) -> f64 {
    let wide = (12.0 * (stddev_percent.powi(2) - NORMAL_LEAST.powi(2))).max(0.0).sqrt();
    (wide.min(50.0) * 1e6).round() / 1e6
}

/// The standard deviation of the mean of twelve even draws, in per cent of their range.
const NORMAL_LEAST: f64 = 100.0 / 12.0;

/// `:value[:center]`.
fn parameter(rest: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(rest) = rest else { return Ok((default, None)) };
    let (value, center) = match rest.split_once(':') {
        Some((value, center)) => (value, Some(center)),
        None => (rest, None),
    };
    let number = |text: &str| leading_float(text).ok_or_else(|| format!("`{text}` is no number"));
    let center = center.map(number).transpose()?;
    if center.is_some_and(|center| !(0.0..=1.0).contains(&center)) {
        return Err("the center has to lie between 0 and 1".to_owned());
    }
    Ok((number(value)?, center))
}

/// C's `%f`: the longest start that is a number.
pub(super) fn leading_float(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let length = text
        .bytes()
        .enumerate()
        .take_while(|(index, b)| {
            b.is_ascii_digit() || *b == b'.' || (*index == 0 && matches!(b, b'+' | b'-'))
        })
        .count();
    (0..=length).rev().find_map(|end| text[..end].parse::<f64>().ok()).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str) -> Vec<(u64, u32)> {
        bssplit(text, 1024).unwrap()[0].iter().map(|part| (part.bytes, part.percent)).collect()
    }

    #[test]
    fn bssplit_fills_and_sorts() {
        assert_eq!(shares("8k/90:32k/10"), [(32768, 10), (8192, 90)]);
        assert_eq!(shares("512/25:1k/:2k/:4k/"), [(512, 25), (1024, 25), (2048, 25), (4096, 25)]);
        assert_eq!(shares("4k/50:8k"), [(4096, 50), (8192, 50)]);
        assert_eq!(shares("64k"), [(65536, 100)]);
        // Too little goes to the last entry, too much is cut.
        assert_eq!(shares("4k/10:8k/20"), [(4096, 10), (8192, 90)]);
        assert_eq!(shares("4k/50:8k/60"), [(4096, 50), (8192, 50)]);
    }

    #[test]
    fn bssplit_directions() {
        let [read, write, trim] = bssplit("64k/40:1024k/60,1024k/100", 1024).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(write, [SplitPart { bytes: 1 << 20, percent: 100 }]);
        assert_eq!(trim, write);
        assert!(bssplit("4k/60:8k/60:1k:2k", 1024).is_err());
        assert!(bssplit("4k/50:x", 1024).is_err());
        assert!(bssplit("", 1024).is_err());
    }

    #[test]
    fn distributions() {
        let read = |text| distribution(text, 1024);
        assert_eq!(read("zipf"), Ok(Distribution::Zipf { theta: 1.1, center: None }));
        assert_eq!(read("zipf:1.2:0.3"), Ok(Distribution::Zipf { theta: 1.2, center: Some(0.3) }));
        assert_eq!(read("pareto:0.9"), Ok(Distribution::Pareto { h: 0.9, center: None }));
        assert_eq!(read("zipf:0"), Ok(Distribution::Zipf { theta: 0.0, center: None }));
        for bad in [
            "zipf:1",
            "zipf:abc",
            "zipf:1.2:1.3",
            "pareto:0",
            "pareto:1",
            "pareto:1.2",
            "normal:100",
            "zoned:50/5:40/20",
            "zoned",
            "foo",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let Ok(Distribution::Zoned([zones, _, trim])) = read("zoned:50/5:30/15:20/") else {
            panic!("not zoned")
        };
        assert_eq!(zones, trim);
        assert_eq!(zones[2], ZonePart { access_percent: 20, length: 80 });
    }
}
