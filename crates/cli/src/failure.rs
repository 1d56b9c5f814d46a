//! What the program ends with.

use std::fmt;

/// Exit status of a usage error or a bad input file.
pub(crate) const USAGE: u8 = 2;

/// A command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Done, but the result is not valid, and `--require-valid` was given.
    NotValid,
    /// Stopped before its end; what was measured is kept.
    Interrupted,
}

impl Outcome {
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::NotValid => 3,
            Outcome::Interrupted => 5,
        }
    }
}

/// A command that did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or an input file is wrong: exit 2.
    Usage(String),
    /// It was right and did not work: exit 1.
    Failed(String),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => USAGE,
            Failure::Failed(_) => 1,
        }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Failure::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Failure::Failed(message.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Failed(message) => f.write_str(message),
        }
    }
}

/// The name nearest to what was typed, if any is near: at most a third of the letters differ, or one contains the other.
pub(crate) fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = typed.to_lowercase();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        if name.contains(&lower) && lower.len() > 2 { 1 } else { edit_distance(&lower, &name) }
    };
    let best = names.into_iter().map(|name| (distance(name), name)).min_by_key(|entry| entry.0)?;
    (best.0 <= (typed.chars().count() / 3).max(2)).then_some(best.1)
}

/// Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_not() {
        let names = ["stb-2.1", "assay-1"];
        assert_eq!(nearest("stb-21", names), Some("stb-2.1"));
        assert_eq!(nearest("asay-1", names), Some("assay-1"));
        assert_eq!(nearest("jetstress", names), None);
    }
}
