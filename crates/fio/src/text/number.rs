//! Numbers as fio prints them: few digits, a prefix, a unit.

/// What a prefix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// `k` is 1000.
    Decimal,
    /// `Ki` is 1024.
    Binary,
}

impl Base {
    fn step(self) -> u64 {
        match self {
            Base::Decimal => 1000,
            Base::Binary => 1024,
        }
    }

    fn prefix(self, power: usize) -> &'static str {
        let prefixes = match self {
            Base::Decimal => ["", "k", "M", "G", "T", "P", "E"],
            Base::Binary => ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
        };
        prefixes[power.min(prefixes.len() - 1)]
    }
}

/// Digits of rates and sizes, the point counted: fio's `significant_figures`.
pub(super) const DIGITS: usize = 4;

/// A number of at most `digits` characters, its point counted, with the prefix that this needs and `unit` behind it.
pub(super) fn short(value: u64, digits: usize, base: Base, unit: &str) -> String {
    scaled(value, 0, digits, base, unit)
}

/// The same of a value that is in units of the `power`th prefix.
pub(super) fn scaled(mut value: u64, mut power: usize, digits: usize, base: Base, unit: &str) -> String {
    let step = base.step();
    let mut rest = None;
    while value.to_string().len() > digits {
        rest = Some(value % step);
        value /= step;
        power += 1;
    }
    let places = digits.saturating_sub(value.to_string().len() + 1);
    let mut decimals = String::new();
    match rest {
        None => {}
        Some(rest) if places == 0 => value += u64::from(rest >= step / 2),
        Some(rest) => {
            let fraction = format!("{:.places$}", rest as f64 / step as f64);
            value += u64::from(fraction.starts_with('1'));
            decimals.extend(fraction.chars().skip(1));
        }
    }
    format!("{value}{decimals}{}{unit}", base.prefix(power))
}

/// Bytes or bytes a second in both bases: `1234KiB/s`, `1264kB/s`.
pub(super) fn both(bytes: u64, unit: &str) -> [String; 2] {
    [Base::Binary, Base::Decimal].map(|base| short(bytes, DIGITS, base, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_fio_prints() {
        let binary = |value| short(value, DIGITS, Base::Binary, "B");
        // Seen in the output of fio 3.33.
        for (value, text) in [
            (0, "0B"),
            (512, "512B"),
            (4096, "4096B"),
            (8192, "8192B"),
            (65536, "64.0KiB"),
            (131_072, "128KiB"),
            (1 << 20, "1024KiB"),
            (8 << 20, "8192KiB"),
            (16 << 20, "16.0MiB"),
            (10_485_759, "10.00MiB"),
        ] {
            assert_eq!(binary(value), text, "{value}");
        }
        assert_eq!(short(42_163, DIGITS, Base::Decimal, ""), "42.2k");
        assert_eq!(short(9_999, DIGITS, Base::Decimal, ""), "9999");
        assert_eq!(short(1_234_567, 6, Base::Decimal, ""), "1234.6k");
        assert_eq!(scaled(2048, 1, DIGITS, Base::Binary, "B/s"), "2048KiB/s");
    }
}
