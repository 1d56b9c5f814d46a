//! The look-up table: what vdbench, fio and SNIA call a thing, what Assay calls it, what it means, and where the tools
//! differ behind one word.
//!
//! Data and a search over it; how it looks on a terminal is not decided here. The examples are fragments that the
//! parsers of this crate accept (a test holds them to it).

mod content;
mod pace;
mod results;
mod runs;
mod targets;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::near;
pub use words::{WORDS, Word};

/// One thing and its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The word for `assay explain`, in kebab case.
    pub name: &'static str,
    /// What it is called in a sentence.
    pub title: &'static str,
    /// Options of fio job files.
    pub fio: &'static [&'static str],
    /// Parameters of vdbench.
    pub vdbench: &'static [&'static str],
    /// Words of SNIA's Performance Test Specification.
    pub snia: &'static [&'static str],
    /// Keys of Assay's plans, and words of its results.
    pub assay: &'static [&'static str],
    /// Other words that people look for.
    pub also: &'static [&'static str],
    /// What it is, in a few sentences.
    pub meaning: &'static str,
    /// Where it misleads, a sentence or two each.
    pub traps: &'static [&'static str],
    /// The same thing in three languages.
    pub example: Example,
}

/// Fragments that say the same as far as each language can; empty where it cannot, or where there is nothing to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Example {
    /// Lines of a job's section.
    pub fio: &'static str,
    /// Whole lines of a parameter file.
    pub vdbench: &'static str,
    /// Lines of a `[[job]]`, or whole tables.
    pub plan: &'static str,
}

impl Term {
    /// All words it is found by.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let lists = [self.fio, self.vdbench, self.snia, self.assay, self.also];
        [self.name, self.title].into_iter().chain(lists.into_iter().flatten().copied())
    }
}

/// All terms, in the order of the table: what and where, how much, how fast, with which data, in which order, results.
pub fn all() -> impl Iterator<Item = &'static Term> {
    [targets::TERMS, pace::TERMS, content::TERMS, runs::TERMS, results::TERMS].into_iter().flatten()
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// These terms have that word, the one that is named by it first.
    Terms(Vec<&'static Term>),
    /// None has, but output shows it.
    Word(&'static Word),
    /// None has. The words nearest to it, best first; may be empty.
    Nearest(Vec<&'static str>),
}

/// The words offered where none fits.
const OFFERED: usize = 3;

/// Looks a word up. Case, hyphens, underscores, blanks and a value behind `=` do not count.
pub fn find(word: &str) -> Found {
    let wanted = plain(word);
    let mut found: Vec<&Term> = all().filter(|term| term.words().any(|own| plain(own) == wanted)).collect();
    found.sort_by_key(|term| plain(term.name) != wanted && plain(term.title) != wanted);
    if !found.is_empty() {
        return Found::Terms(found);
    }
    let shown = WORDS.iter().find(|shown| shown.names.iter().any(|name| plain(name) == wanted));
    shown.map_or_else(|| Found::Nearest(nearest(&wanted)), Found::Word)
}

fn plain(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The nearest words, each spelling once.
fn nearest(wanted: &str) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let shown = WORDS.iter().flat_map(|shown| shown.names).copied();
    let ranked = near::ranked(wanted, all().flat_map(Term::words).chain(shown));
    ranked.into_iter().filter(|word| seen.insert(plain(word))).take(OFFERED).collect()
}
