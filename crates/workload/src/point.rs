//! The point of a curve or sweep that a phase stands for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `name=value` words, such as `block_size=4k curve=50%`. A phase that stands alone has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
#[serde(transparent)]
pub struct SweepPoint(String);

impl SweepPoint {
    /// Of words separated by white space.
    pub fn new(words: impl Into<String>) -> Self {
        SweepPoint(words.into())
    }

    /// Whether the phase stands alone.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The words as one text; `None`: the phase stands alone.
    pub fn as_option(&self) -> Option<&str> {
        Some(self.as_str()).filter(|words| !words.is_empty())
    }

    /// The words as one text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The words, one by one.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_whitespace()
    }

    /// This point with further words, if there are any.
    #[must_use]
    pub fn with(&self, words: &str) -> Self {
        let all = [self.as_str(), words];
        SweepPoint(all.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" "))
    }

    /// A phase's title: `name [words]`, or its name where it stands alone.
    pub fn title(&self, name: &str) -> String {
        format!("{name}{}", self.in_brackets())
    }

    /// ` [words]`, to stand behind a name; nothing where the phase stands alone.
    pub fn in_brackets(&self) -> String {
        if self.is_none() { String::new() } else { format!(" [{self}]") }
    }
}

impl fmt::Display for SweepPoint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_names_the_point_of_a_sweep_alone() {
        let alone = SweepPoint::default();
        assert_eq!((alone.title("read"), alone.is_none()), ("read".to_owned(), true));
        let swept = alone.with("block_size=4k").with("curve=50%");
        assert_eq!(swept.title("read"), "read [block_size=4k curve=50%]");
        assert_eq!(swept.words().collect::<Vec<_>>(), ["block_size=4k", "curve=50%"]);
        assert_eq!(serde_json::to_string(&swept).expect("text"), "\"block_size=4k curve=50%\"");
    }
}
