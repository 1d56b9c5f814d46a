//! TOML values with their places, and what is said about wrong ones.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::About;
use super::nearest::nearest;
use super::sink::{Sink, clip};

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

    /// The entry of a key; of keys that only together say something, that of the first table that has any of them.
    pub(super) fn of(&self, about: &About) -> Option<Entry<'t>> {
        if about.together.is_empty() {
            return self.get(about.name);
        }
        let has_any = |table: &&&DeTable<'t>| about.together.iter().any(|key| table.contains_key(*key));
        entry(self.layers.iter().find(has_any)?, about.name)
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

    pub(super) fn as_table(&self) -> Option<&'t DeTable<'t>> {
        self.value.get_ref().as_table()
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

    /// Reports a name that is none of `known`. The id is `unknown-` and what it names: a kind of table.
    pub(super) fn undefined(&mut self, id: &'static str, span: Range<usize>, name: &str, known: &[&str]) {
        let kind = id.trim_start_matches("unknown-");
        let help = match (nearest(name, known), known) {
            (Some(near), _) => format!("the nearest is '{near}'"),
            (None, []) => format!("there are no {kind}s; add [[{kind}]]"),
            (None, some) => format!("known are {}", some[..some.len().min(20)].join(", ")),
        };
        self.error(id, span, format!("{kind} '{}' is not defined", clip(name)), help);
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

    pub(super) fn checked<T>(&mut self, entry: Entry<'_>, value: Result<T, String>, help: &str) -> Option<T> {
        value.map_or_else(|message| self.bad_value(entry, &message, help), Some)
    }

    pub(super) fn string<'t>(&mut self, entry: Entry<'t>) -> Option<&'t str> {
        match entry.as_str() {
            None => self.wrong_type(entry, "a string"),
            // No file can be called so, and no other tool can be told.
            Some(text) if text.contains('\0') => {
                self.bad_value(entry, "it holds a zero byte", "leave \\u0000 out")
            }
            text => text,
        }
    }

    /// A table whose keys are all among `known`.
    pub(super) fn table<'t>(&mut self, entry: Entry<'t>, known: &[&str], who: &str) -> Option<Fields<'t>> {
        let DeValue::Table(table) = entry.value.get_ref() else { return self.wrong_type(entry, "a table") };
        self.check_keys(table, known, who);
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
