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

#[cfg(test)]
mod tests;

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
    if found.is_empty() { Found::Nearest(nearest(&wanted)) } else { Found::Terms(found) }
}

fn plain(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Words that contain the one that was typed, or differ in at most a third of its letters.
fn nearest(wanted: &str) -> Vec<&'static str> {
    let far = wanted.chars().count() / 3;
    let mut near: Vec<(usize, &'static str)> = Vec::new();
    for word in all().flat_map(Term::words) {
        let own = plain(word);
        let distance = match wanted.chars().count() > 2 && own.contains(wanted) {
            true => 1,
            false => distance(wanted, &own),
        };
        if distance <= far.max(1) && !near.iter().any(|(_, known)| plain(known) == own) {
            near.push((distance, word));
        }
    }
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(OFFERED);
    near.into_iter().map(|(_, word)| word).collect()
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
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
