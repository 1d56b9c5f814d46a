//! Numbers as text, in one place: every renderer shows the same digits.
//!
//! Three significant digits, thousands separated by commas, units in powers of two where bytes are meant. A value
//! that is not finite, or not there, is [`NOTHING`], never a zero.

use assay_results::run::Metric;

/// What stands where there is no value.
pub const NOTHING: &str = "–";

/// From here on a number is written with an exponent.
const HUGE: f64 = 1e15;

/// Puts a comma between each three digits of a whole number.
pub fn count(value: u64) -> String {
    separate(&value.to_string())
}

fn separate(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// At least three significant digits: `0.0123`, `1.23`, `12.3`, `123`, `12,345`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    if value < 0.0 {
        return format!("-{}", significant(-value));
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if value >= HUGE {
        return format!("{value:.2e}");
    }
    // The exponent after rounding: 99.97 is 100, not 100.0.
    let exponent = format!("{value:.2e}").split_once('e').and_then(|(_, text)| text.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(0);
    if exponent >= 2 {
        return separate(&format!("{value:.0}"));
    }
    if exponent < -6 {
        return format!("{value:.2e}");
    }
    let decimals = usize::try_from(2 - exponent).unwrap_or(0);
    format!("{value:.decimals$}")
}

/// The same with no more digits than an interval of this half width carries: a step of the last one is between a fifth and a
/// twentieth of it. `None`: it has none.
pub fn rounded(value: f64, half_width: Option<f64>) -> String {
    let Some(half_width) = half_width.filter(|half| *half > 0.0 && half.is_finite() && value.is_finite())
    else {
        return significant(value);
    };
    let unit = 10_f64.powf((half_width / 2.0).log10().floor());
    if unit >= 1.0 {
        let whole = (value / unit).round() * unit;
        return if whole < HUGE { separate(&format!("{whole:.0}")) } else { significant(whole) };
    }
    let decimals = (-unit.log10()).round() as usize;
    let known = significant(value);
    let shown = known.split_once('.').map_or(0, |(_, digits)| digits.len());
    // Below three digits nothing is known better for an interval that is narrow.
    if known.contains('e') || decimals >= shown { known } else { format!("{value:.decimals$}") }
}

/// An interval as `9,600–10,000`, in the digits that it carries.
pub fn interval((low, high): (f64, f64)) -> String {
    let half = (high - low) / 2.0;
    let end = |value: f64| {
        let words = rounded(value, Some(half));
        // An end that is not 0 has at least one digit of its own.
        let is_zero = words.chars().all(|c| matches!(c, '0' | '.'));
        if is_zero && value > 0.0 { rounded(value, Some(value / 2.0)) } else { words }
    };
    format!("{}–{}", end(low), end(high))
}

/// The interval of a metric and what it is made of, as ` (9,600 to 10,000, n = 5)`; empty where it has none.
pub fn of_metric(metric: &Metric) -> String {
    metric.interval.map_or_else(String::new, |(low, high)| {
        let of = metric.basis.clone().unwrap_or_else(|| format!("n = {}", metric.n));
        format!(" ({} to {}, {of})", significant(low), significant(high))
    })
}

/// Operations per second, without the unit.
pub fn iops(value: f64) -> String {
    significant(value)
}

/// MiB per second without the unit, from bytes per second.
pub fn mib_per_s(bytes_per_s: f64) -> String {
    significant(bytes_per_s / 1_048_576.0)
}

/// MiB per second with the unit, from bytes per second.
pub fn bandwidth(bytes_per_s: f64) -> String {
    with_unit(mib_per_s(bytes_per_s), "MiB/s")
}

/// The same with no more digits than an interval carries; `half_share`: half of it as a share of the rate.
pub fn bandwidth_of(bytes_per_s: f64, half_share: Option<f64>) -> String {
    let mib = bytes_per_s / 1_048_576.0;
    with_unit(rounded(mib, half_share.map(|share| share * mib)), "MiB/s")
}

/// A number and its unit; the unit is left out where there is no number.
fn with_unit(number: String, unit: &str) -> String {
    if number == NOTHING { number } else { format!("{number} {unit}") }
}

/// A length of time in nanoseconds with the unit that fits: `850 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
pub fn time_ns(ns: f64) -> String {
    let (factor, unit) = match ns.abs() {
        ns if ns < 999.5 => return with_unit(significant_or_whole(ns), "ns"),
        ns if ns < 999.5e3 => (1e3, "µs"),
        ns if ns < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    with_unit(significant(ns / factor), unit)
}

/// Whole nanoseconds are counted, a mean of them has digits behind the point.
fn significant_or_whole(ns: f64) -> String {
    if ns.fract() == 0.0 { format!("{ns:.0}") } else { significant(ns) }
}

/// A latency in nanoseconds, or [`NOTHING`].
pub fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| NOTHING.to_owned(), |ns| time_ns(ns as f64))
}

/// Seconds as a person says them: `4.2 s`, `45 s`, `3 min 5 s`, `2 h 10 min`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return NOTHING.to_owned();
    }
    // Less than a nanosecond is what remains of a sum that was rounded.
    let value = if value < 1e-9 { 0.0 } else { value };
    if value < 9.95 {
        let text = if value >= 0.1 { format!("{value:.1}") } else { significant(value) };
        let text = if text.contains('e') { &text } else { text.trim_end_matches('0').trim_end_matches('.') };
        return format!("{} s", if text.is_empty() { "0" } else { text });
    }
    let whole = value.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A share of one in per cent: `98 %`, `0.4 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        _ if !value.is_finite() => NOTHING.to_owned(),
        0.0 => "0 %".to_owned(),
        _ if value.abs() < 0.1 => "<0.1 %".to_owned(),
        _ if value.abs() < 9.95 => format!("{value:.1} %"),
        // 99.6 % must not read as all of it.
        _ if (99.0..100.0).contains(&value) => format!("{:.1} %", (value * 10.0).floor() / 10.0),
        _ => with_unit(separate_whole(value), "%"),
    }
}

fn separate_whole(value: f64) -> String {
    if value.abs() >= HUGE { significant(value) } else { separate(&format!("{value:.0}")) }
}

/// A size in bytes: exact where a power of two divides it, else three significant digits: `4 KiB`, `1.46 GiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = (1..UNITS.len()).take_while(|step| value >= 1 << (10 * step)).count();
    let unit = 1_u64 << (10 * step);
    if value.is_multiple_of(unit) {
        format!("{} {}", count(value / unit), UNITS[step])
    } else {
        format!("{} {}", significant(value as f64 / unit as f64), UNITS[step])
    }
}

/// `1 thread`, `2 threads`.
pub fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (0.001234, "0.00123"),
            (0.305, "0.305"),
            (1.0, "1.00"),
            (78.44, "78.4"),
            (99.97, "100"),
            (999.6, "1,000"),
            (12_345.6, "12,346"),
            (1_234_567.0, "1,234,567"),
            (-12.34, "-12.3"),
            (3e18, "3.00e18"),
            (1e-9, "1.00e-9"),
            (f64::NAN, NOTHING),
            (f64::INFINITY, NOTHING),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn digits_end_where_the_interval_begins() {
        assert_eq!(interval((123.5, 5225.0)), "120–5,000");
        assert_eq!(interval((0.0, 5225.0)), "0–5,000");
        let cases = [
            (9_812.0, 196.0, "9,810"),
            (9_812.0, 396.0, "9,800"),
            (171_430.0, 3_429.0, "171,000"),
            (2_210.0, 44.0, "2,210"),
            (88.2, 1.8, "88.2"),
            (88.2, 2.4, "88"),
            (88.2, 0.18, "88.2"),
            (0.345, 0.007, "0.345"),
            (0.345, 0.02, "0.34"),
            (12_345.0, 8_000.0, "12,000"),
            (1_234.0, 0.001, "1,234"),
            (1_234.0, 0.0, "1,234"),
            (40.0, 300.0, "0"),
            (f64::NAN, 1.0, NOTHING),
        ];
        for (value, half, text) in cases {
            assert_eq!(rounded(value, Some(half)), text, "{value} {half}");
        }
        assert_eq!(rounded(9_812.0, None), "9,812");
        assert_eq!(interval((9_616.0, 10_008.0)), "9,620–10,010");
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        let cases = [
            (0.0, "0 ns"),
            (850.0, "850 ns"),
            (12.5, "12.5 ns"),
            (999.9, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (999_600.0, "1.00 ms"),
            (4_560_000.0, "4.56 ms"),
            (1.2e9, "1.20 s"),
            (f64::NAN, NOTHING),
        ];
        for (ns, text) in cases {
            assert_eq!(time_ns(ns), text);
        }
        assert_eq!(latency(None), NOTHING);
    }

    #[test]
    fn seconds_are_spoken() {
        assert_eq!(seconds(4.2), "4.2 s");
        assert_eq!(seconds(5.0), "5 s");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(1.8049), "1.8 s");
        assert_eq!(seconds(0.0123), "0.0123 s");
        assert_eq!(seconds(9.97), "10 s");
        assert_eq!(seconds(45.2), "45 s");
        assert_eq!(seconds(185.0), "3 min 5 s");
        assert_eq!(seconds(7800.0), "2 h 10 min");
        assert_eq!(seconds(1.13e-14), "0 s");
        assert_eq!(seconds(-1.0), NOTHING);
    }

    #[test]
    fn a_share_never_rounds_to_all_or_nothing() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0004), "<0.1 %");
        assert_eq!(percent(0.056), "5.6 %");
        assert_eq!(percent(0.976), "98 %");
        assert_eq!(percent(0.9996), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(12.3), "1,230 %");
    }

    #[test]
    fn sizes_are_exact_where_they_can_be() {
        assert_eq!(bytes(4096), "4 KiB");
        assert_eq!(bytes(1000), "1,000 B");
        assert_eq!(bytes(1_572_864), "1.50 MiB");
        assert_eq!(bytes(u64::MAX), "16,384 PiB");
        assert_eq!(bytes(0), "0 B");
    }
}
