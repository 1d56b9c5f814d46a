//! Sizes and times in model files: whole numbers of bytes or nanoseconds, or text with a unit.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use assay_workload::units::{Bytes, Nanos};

/// A size in a model: whole bytes, or text with a unit (`"1MiB"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = Number { expects: "bytes, or text like \"1MiB\"", parsed: PhantomData::<Bytes> };
        deserializer.deserialize_any(visitor).map(Size)
    }
}

/// Reads a time as nanoseconds.
pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Number {
        expects: "nanoseconds, or text with a unit like \"120us\"",
        parsed: PhantomData::<Nanos>,
    })
}

trait Quantity: FromStr<Err: fmt::Display> {
    /// Whether text without a unit may be taken for it: a bare number of text would be seconds, a bare number nanoseconds.
    const BARE_TEXT: bool;
    fn number(self) -> u64;
}

impl Quantity for Bytes {
    const BARE_TEXT: bool = true;
    fn number(self) -> u64 {
        self.0
    }
}

impl Quantity for Nanos {
    const BARE_TEXT: bool = false;
    fn number(self) -> u64 {
        self.0
    }
}

struct Number<Q> {
    expects: &'static str,
    parsed: PhantomData<Q>,
}

impl<Q: Quantity> Visitor<'_> for Number<Q> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expects)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::custom(format!("{value} is below 0")))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        if !Q::BARE_TEXT && text.trim_end().ends_with(|c: char| c.is_ascii_digit()) {
            return Err(E::custom(format!("'{text}' has no unit")));
        }
        text.parse::<Q>().map(Q::number).map_err(E::custom)
    }
}
