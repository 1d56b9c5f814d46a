//! Sizes and times as people write them: `4k`, `1.5GiB`, `250us`, `2m`.
//!
//! Sizes are powers of two whatever the spelling (`k`, `kb`, `KiB` are all 1024), because that is what every storage
//! tool means by them; they are printed as KiB, MiB. Foreign files keep their own rules, in their own parsers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a size or a time could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no number at the start.
    #[error("'{0}' does not start with a number")]
    NoNumber(String),
    /// The number is followed by something that is not a unit.
    #[error("'{unit}' is not a unit of {quantity} ({known})")]
    UnknownUnit {
        /// What stands behind the number.
        unit: String,
        /// `size` or `time`.
        quantity: &'static str,
        /// The units there are.
        known: &'static str,
    },
    /// Negative, not finite, or beyond 2^63.
    #[error("'{0}' is out of range")]
    OutOfRange(String),
}

/// A size in bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// A length of time in nanoseconds.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

fn split_number(text: &str) -> Result<(f64, &str), UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value = number.parse::<f64>().map_err(|_| UnitError::NoNumber(text.to_owned()))?;
    Ok((value, unit.trim()))
}

fn scaled(text: &str, value: f64, factor: f64) -> Result<u64, UnitError> {
    let product = value * factor;
    if !product.is_finite() || product >= 9.2e18 {
        return Err(UnitError::OutOfRange(text.to_owned()));
    }
    Ok(product.round() as u64)
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = split_number(text)?;
        let lower = unit.to_ascii_lowercase();
        let stem = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
        let shift = match stem {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            "p" => 50,
            _ => {
                return Err(UnitError::UnknownUnit {
                    unit: unit.to_owned(),
                    quantity: "size",
                    known: "k, m, g, t, p; KiB and kb mean 1024 too",
                });
            }
        };
        scaled(text, value, (1_u64 << shift) as f64).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    /// The shortest exact form in powers of two, else two decimals: `4 KiB`, `1.50 GiB`, `1000 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut step = 0;
        while step + 1 < UNITS.len() && self.0 >= 1 << (10 * (step + 1)) {
            step += 1;
        }
        let unit = 1_u64 << (10 * step);
        if self.0.is_multiple_of(unit) {
            write!(f, "{} {}", self.0 / unit, UNITS[step])
        } else {
            write!(f, "{:.2} {}", self.0 as f64 / unit as f64, UNITS[step])
        }
    }
}

impl Bytes {
    /// The short form of job files and table rows: `4k`, `1m`, `512`; plain bytes where no unit divides it.
    pub fn short(self) -> String {
        for (shift, letter) in [(40, 't'), (30, 'g'), (20, 'm'), (10, 'k')] {
            if self.0 >= 1 << shift && self.0.is_multiple_of(1 << shift) {
                return format!("{}{letter}", self.0 >> shift);
            }
        }
        self.0.to_string()
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    /// A bare number is seconds.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = split_number(text)?;
        let factor = match unit.to_ascii_lowercase().as_str() {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "" | "s" | "sec" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => {
                return Err(UnitError::UnknownUnit {
                    unit: unit.to_owned(),
                    quantity: "time",
                    known: "ns, us, ms, s, m, h, d",
                });
            }
        };
        scaled(text, value, factor).map(Nanos)
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits with the unit that fits: `850 ns`, `12.3 us`, `1.5 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (ns / 1e3, "us"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        let decimals = if value >= 100.0 { 0 } else { usize::from(value < 10.0) + 1 };
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} {unit}")
    }
}

impl Nanos {
    /// In words that are read as the same time: three significant digits where those are all.
    pub fn exactly(self) -> String {
        let short = self.to_string();
        if short.parse() == Ok(self) {
            return short;
        }
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
        let (factor, unit) =
            units.into_iter().find(|(factor, _)| self.0.is_multiple_of(*factor)).unwrap_or((1, "ns"));
        format!("{} {unit}", self.0 / factor)
    }

    /// Whole seconds as nanoseconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Nanos(seconds * 1_000_000_000)
    }

    /// As seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

macro_rules! plain_number {
    ($type:ident) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                u64::deserialize(deserializer).map($type)
            }
        }
    };
}

plain_number!(Bytes);
plain_number!(Nanos);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_in_every_spelling() {
        for text in ["4k", "4K", "4kb", "4KiB", "4 KiB", "4096"] {
            assert_eq!(text.parse(), Ok(Bytes(4096)), "{text}");
        }
        assert_eq!("1.5g".parse(), Ok(Bytes(3 << 29)));
    }

    #[test]
    fn wrong_units_are_named() {
        let error = "4q".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("'q'") && error.contains("size"), "{error}");
        assert!("".parse::<Bytes>().is_err());
        assert!("99999999p".parse::<Bytes>().is_err());
        assert!("-1".parse::<Nanos>().is_err());
        assert!("1.2.3s".parse::<Nanos>().is_err());
    }

    #[test]
    fn both_print_as_people_read() {
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes((1 << 20) + 1).to_string(), "1.00 MiB");
        assert_eq!(Bytes(1 << 20).short(), "1m");
        assert_eq!(Bytes(1536).short(), "1536");
        assert_eq!(Nanos(850).to_string(), "850 ns");
        assert_eq!(Nanos(12_340).to_string(), "12.3 us");
        assert_eq!(Nanos(1_500_000_000).to_string(), "1.5 s");
        assert_eq!(Nanos(100_000_000_000).to_string(), "100 s");
    }

    #[test]
    fn a_bare_time_is_seconds() {
        assert_eq!("5".parse(), Ok(Nanos::from_secs(5)));
        assert_eq!("250us".parse(), Ok(Nanos(250_000)));
        assert_eq!("2m".parse(), Ok(Nanos::from_secs(120)));
    }
}
