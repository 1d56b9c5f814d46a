//! The look-up table: what vdbench, fio and SNIA call a thing, what Assay calls it, what it means, and where the tools
//! differ behind one word.
//!
//! Data (the TOML files of `terms/` beside `src/`, part of the program) and a search over it; how it looks on a terminal
//! is not decided here. The examples are fragments that the parsers of the languages accept (a test holds them to it).

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::near;

/// One thing and its names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Term {
    /// The word for `assay explain`, in kebab case.
    pub name: String,
    /// What it is called in a sentence.
    pub title: String,
    /// Options of fio job files.
    pub fio: Vec<String>,
    /// Parameters of vdbench.
    pub vdbench: Vec<String>,
    /// Words of SNIA's Performance Test Specification.
    pub snia: Vec<String>,
    /// Keys of Assay's plans, and words of its results.
    pub assay: Vec<String>,
    /// Other words that people look for.
    pub also: Vec<String>,
    /// What it is, in a few sentences.
    pub meaning: String,
    /// Where it misleads, a sentence or two each.
    pub traps: Vec<String>,
    /// The same thing in three languages.
    pub example: Example,
}

/// Fragments that say the same as far as each language can; empty where it cannot, or where there is nothing to write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Example {
    /// Lines of a job's section.
    pub fio: String,
    /// Whole lines of a parameter file.
    pub vdbench: String,
    /// Lines of a `[[job]]`, or whole tables.
    pub plan: String,
}

/// A word that output shows, in its spellings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// As shown; the first is its name.
    pub names: Vec<String>,
    /// What it means, in a sentence or two.
    pub meaning: String,
}

/// The files together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    term: Vec<Term>,
    word: Vec<Word>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let files = [
        include_str!("../../terms/targets.toml"),
        include_str!("../../terms/pace.toml"),
        include_str!("../../terms/content.toml"),
        include_str!("../../terms/runs.toml"),
        include_str!("../../terms/results.toml"),
        include_str!("../../terms/words.toml"),
    ];
    toml::from_str(&files.join("\n")).expect("the tests read the same files")
});

impl Term {
    /// All words it is found by.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.fio, &self.vdbench, &self.snia, &self.assay, &self.also];
        [&self.name, &self.title].into_iter().chain(lists.into_iter().flatten()).map(String::as_str)
    }
}

/// All terms, in the order of the table: what and where, how much, how fast, with which data, in which order, results.
pub fn all() -> impl Iterator<Item = &'static Term> {
    TABLE.term.iter()
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
    found.sort_by_key(|term| plain(&term.name) != wanted && plain(&term.title) != wanted);
    if !found.is_empty() {
        return Found::Terms(found);
    }
    let shown = TABLE.word.iter().find(|shown| shown.names.iter().any(|name| plain(name) == wanted));
    shown.map_or_else(|| Found::Nearest(nearest(&wanted)), Found::Word)
}

fn plain(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The nearest words, each spelling once.
fn nearest(wanted: &str) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let shown = TABLE.word.iter().flat_map(|shown| &shown.names).map(String::as_str);
    let ranked = near::ranked(wanted, all().flat_map(Term::words).chain(shown));
    ranked.into_iter().filter(|word| seen.insert(plain(word))).take(OFFERED).collect()
}
