//! TOML values with their places, and how they are read as numbers, sizes, times and words.

use std::ops::{Range, RangeInclusive};

use assay_workload::target::Extent;
use assay_workload::units::Nanos;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::scalar;
use super::sink::{Sink, clip};
use super::words::{self, Words};

/// A key with its value.
#[derive(Clone, Copy)]
pub(super) struct Entry<'t> {
    /// The key as written.
    pub(super) key: &'t str,
    /// The value.
    pub(super) value: &'t Spanned<DeValue<'t>>,
}

/// A table laid over others: what the first lacks is looked up in the next.
#[derive(Clone)]
pub(super) struct Fields<'t> {
    layers: Vec<&'t DeTable<'t>>,
    /// Where the first table stands.
    pub(super) span: Range<usize>,
}

impl<'t> Fields<'t> {
    pub(super) fn new(table: &'t DeTable<'t>, span: Range<usize>) -> Self {
        Fields { layers: vec![table], span }
    }

    /// The same with another table below it.
    pub(super) fn over(mut self, below: Option<&'t DeTable<'t>>) -> Self {
        self.layers.extend(below);
        self
    }

    pub(super) fn get(&self, key: &str) -> Option<Entry<'t>> {
        self.layers.iter().find_map(|table| entry(table, key))
    }

    /// The entries of these keys from the first table that has any of them: keys that only together say something.
    pub(super) fn get_together(&self, keys: &[&str]) -> Vec<Entry<'t>> {
        let found = self.layers.iter().map(|table| keys.iter().filter_map(|key| entry(table, key)).collect());
        found.into_iter().find(|entries: &Vec<_>| !entries.is_empty()).unwrap_or_default()
    }

    /// What `how` makes of the value of `key`; `None` where there is none, or it is wrong, which `how` has reported.
    pub(super) fn read<T>(
        &self,
        sink: &mut Sink,
        key: &str,
        how: impl FnOnce(&mut Sink, Entry<'t>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).and_then(|entry| how(sink, entry))
    }

    /// As [`Fields::read`], where the word `none` takes back what `[defaults]` says.
    pub(super) fn read_unless_none<T>(
        &self,
        sink: &mut Sink,
        key: &str,
        how: impl FnOnce(&mut Sink, Entry<'t>) -> Option<T>,
    ) -> Option<T> {
        self.get(key).filter(|entry| !entry.is("none")).and_then(|entry| how(sink, entry))
    }
}

fn entry<'t>(table: &'t DeTable<'t>, key: &str) -> Option<Entry<'t>> {
    table.get_key_value(key).map(|(key, value)| Entry { key: key.get_ref(), value })
}

impl<'t> Entry<'t> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// Whether the value is this string.
    pub(super) fn is(&self, word: &str) -> bool {
        self.value.get_ref().as_str() == Some(word)
    }

    pub(super) fn as_str(&self) -> Option<&'t str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_table(&self) -> Option<Fields<'t>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Some(Fields::new(table, self.span())),
            _ => None,
        }
    }

    /// The elements of an array, under the same key; any other value stands for itself.
    pub(super) fn elements(&self) -> Vec<Entry<'t>> {
        match self.value.get_ref() {
            DeValue::Array(array) => array.iter().map(|value| Entry { key: self.key, value }).collect(),
            _ => vec![*self],
        }
    }
}

/// The type of a value in words.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

impl Sink {
    /// Reports every key of `table` that is not one of `known`.
    pub(super) fn check_keys(&mut self, table: &DeTable<'_>, known: &[&str], place: &str) {
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        for key in unknown {
            if self.is_full() {
                break;
            }
            let help = match nearest(key.get_ref(), known) {
                Some(near) => format!("the nearest is '{near}'"),
                None => format!("known are {}", known.join(", ")),
            };
            let message = format!("'{}' is not a key of {place}", clip(key.get_ref()));
            self.error("unknown-key", key.span(), message, help);
        }
    }

    /// Reports those of `keys` that `table` lacks, in one remark; gives whether it has them all.
    pub(super) fn require(&mut self, table: &Fields<'_>, keys: &[&str], who: &str, help: &str) -> bool {
        let missing: Vec<&str> = keys.iter().copied().filter(|key| table.get(key).is_none()).collect();
        if !missing.is_empty() {
            let message = format!("{who} does not say its {}", missing.join(", "));
            self.error("missing-key", table.span.clone(), message, help);
        }
        missing.is_empty()
    }

    /// Reports a value of the wrong type; gives `None` for the caller to return.
    pub(super) fn wrong_type<T>(&mut self, entry: Entry<'_>, wanted: &str) -> Option<T> {
        let found = type_name(entry.value.get_ref());
        self.error("wrong-type", entry.span(), format!("'{}' wants {wanted}, not {found}", entry.key), "");
        None
    }

    /// Reports a value that cannot be; gives `None` for the caller to return.
    pub(super) fn bad_value<T>(&mut self, entry: Entry<'_>, message: &str, help: &str) -> Option<T> {
        self.error("bad-value", entry.span(), format!("'{}': {message}", entry.key), help);
        None
    }

    fn checked<T>(&mut self, entry: Entry<'_>, value: Result<T, String>, help: &str) -> Option<T> {
        value.map_or_else(|message| self.bad_value(entry, &message, help), Some)
    }

    pub(super) fn string<'t>(&mut self, entry: Entry<'t>) -> Option<&'t str> {
        entry.as_str().or_else(|| self.wrong_type(entry, "a string"))
    }

    pub(super) fn boolean(&mut self, entry: Entry<'_>) -> Option<bool> {
        entry.value.get_ref().as_bool().or_else(|| self.wrong_type(entry, "true or false"))
    }

    /// A whole number within `bounds`. A string of digits counts too: TOML's own integers end at 2^63 - 1.
    pub(super) fn count(&mut self, entry: Entry<'_>, bounds: RangeInclusive<u64>) -> Option<u64> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            _ => return self.wrong_type(entry, "a whole number"),
        };
        match number {
            Some(number) if bounds.contains(&number) => Some(number),
            _ => {
                let help = format!("{} to {} are possible", bounds.start(), bounds.end());
                self.bad_value(entry, "out of range", &help)
            }
        }
    }

    pub(super) fn count_u32(&mut self, entry: Entry<'_>, bounds: RangeInclusive<u32>) -> Option<u32> {
        let bounds = u64::from(*bounds.start())..=u64::from(*bounds.end());
        self.count(entry, bounds).and_then(|number| u32::try_from(number).ok())
    }

    /// A finite number within `bounds`.
    pub(super) fn number(&mut self, entry: Entry<'_>, bounds: RangeInclusive<f64>) -> Option<f64> {
        let text = match entry.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return self.wrong_type(entry, "a number"),
        };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && bounds.contains(&number) => Some(number),
            _ if *bounds.end() == f64::MAX => {
                self.bad_value(entry, "out of range", &format!("at least {} is possible", bounds.start()))
            }
            _ => {
                let help = format!("{} to {} are possible", bounds.start(), bounds.end());
                self.bad_value(entry, "out of range", &help)
            }
        }
    }

    /// A share in per cent.
    pub(super) fn percent(&mut self, entry: Entry<'_>) -> Option<f64> {
        self.number(entry, 0.0..=100.0)
    }

    /// A size in bytes: a whole number, or a string with a unit.
    pub(super) fn size(&mut self, entry: Entry<'_>) -> Option<u64> {
        match entry.value.get_ref() {
            DeValue::Integer(_) => self.count(entry, 0..=u64::MAX),
            DeValue::String(text) => {
                self.checked(entry, scalar::size(text), "sizes look like 4096, \"4k\", \"1.5GiB\"")
            }
            _ => self.wrong_type(entry, "a size such as 4096 or \"4k\""),
        }
    }

    /// A size above 0 that a block may have.
    pub(super) fn block_size(&mut self, entry: Entry<'_>) -> Option<u64> {
        let size = self.size(entry)?;
        self.checked(entry, scalar::check_block_size(size), "")
    }

    /// A time: a number of seconds, or a string with a unit.
    pub(super) fn time(&mut self, entry: Entry<'_>) -> Option<Nanos> {
        let text = match entry.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::String(text) => text,
            _ => return self.wrong_type(entry, "a time such as 30 (seconds) or \"250us\""),
        };
        self.checked(entry, scalar::time(text), "times look like 30 (seconds), \"250us\", \"5m\"")
    }

    /// A size, or per cent of a target.
    pub(super) fn extent(&mut self, entry: Entry<'_>) -> Option<Extent> {
        match entry.value.get_ref() {
            DeValue::String(text) => {
                self.checked(entry, scalar::extent(text), "extents look like \"10g\" or \"25%\"")
            }
            _ => self.size(entry).map(Extent::Bytes),
        }
    }

    /// One of a list of words.
    pub(super) fn word<T: Copy>(&mut self, entry: Entry<'_>, known: &Words<T>) -> Option<T> {
        let all = words::list(known);
        let Some(text) = entry.as_str() else {
            return self.wrong_type(entry, &format!("one of the words {}", all.join(", ")));
        };
        let found = words::value(known, text);
        if found.is_none() {
            let help = match nearest(text, &all) {
                Some(near) => format!("the nearest is '{near}'; known are {}", all.join(", ")),
                None => format!("known are {}", all.join(", ")),
            };
            self.bad_value::<T>(entry, &format!("'{}' is not known", clip(text)), &help);
        }
        found
    }

    /// A table whose keys are all among `known`.
    pub(super) fn table<'t>(&mut self, entry: Entry<'t>, known: &[&str]) -> Option<Fields<'t>> {
        let DeValue::Table(table) = entry.value.get_ref() else { return self.wrong_type(entry, "a table") };
        self.check_keys(table, known, &format!("'{}'", entry.key));
        Some(Fields::new(table, entry.span()))
    }

    /// Text in one of the forms that `how` reads.
    pub(super) fn parsed<T>(
        &mut self,
        entry: Entry<'_>,
        how: impl FnOnce(&str) -> Result<T, String>,
        forms: &str,
    ) -> Option<T> {
        let text = self.string(entry)?;
        self.checked(entry, how(text), forms)
    }
}
