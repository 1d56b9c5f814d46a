//! What the fuzz targets share: mutators that know the languages, so that most inputs are accepted and reach what is behind the first
//! diagnostic, and a count of how many are.
//!
//! Nine of ten mutants are made by a [`Grammar`] and tried again where its reader refuses them; the tenth is libFuzzer's own, of bytes, so that
//! diagnostics stay fuzzed as well.

pub mod bundle;
pub mod fio;
pub mod fleet;
pub mod ledger;
pub mod lines;
pub mod mail;
pub mod plan;
pub mod random;
pub mod results;
pub mod series;
pub mod share;
pub mod stored;
pub mod trace;
pub mod tree;
pub mod vdbench;

use random::Random;

/// One in this many mutants is of bytes.
const OF_BYTES: usize = 10;
/// One in this many is taken although it is refused.
const REFUSED: usize = 20;
/// Mutants that are tried for one that is accepted.
const TRIES: usize = 24;

/// A language in which texts can be made and changed.
pub trait Grammar {
    /// A text like `text`; one of its own where that is not of the language.
    fn mutate(&self, text: &str, random: &mut Random) -> String;

    /// Whether the reader of the language takes it.
    fn accepts(&self, text: &str) -> bool;
}

/// What is to be changed, and how far: what libFuzzer gives to a mutator.
#[derive(Debug)]
pub struct Input<'d> {
    /// The bytes, with room for more.
    pub data: &'d mut [u8],
    /// How many of them there are.
    pub size: usize,
    /// How many there may be.
    pub max_size: usize,
    /// Of the draws.
    pub seed: u32,
    /// libFuzzer's own mutator, which tests do not link.
    pub of_bytes: fn(&mut [u8], usize, usize) -> usize,
}

impl Input<'_> {
    /// As libFuzzer would change it.
    pub fn mutate_bytes(self) -> usize {
        (self.of_bytes)(self.data, self.size, self.max_size)
    }
}

/// A mutant in the place of `input`; its length.
pub fn mutate(grammar: &dyn Grammar, input: Input<'_>) -> usize {
    let mut random = Random::new(input.seed);
    if random.one_in(OF_BYTES) {
        return input.mutate_bytes();
    }
    let Input { data, size, max_size, .. } = input;
    let before = String::from_utf8_lossy(&data[..size]).into_owned();
    put(&mutant(grammar, &before, max_size, &mut random), data, max_size)
}

/// A mutant of a text, of `bytes_max` at most where one is found.
pub fn mutant(grammar: &dyn Grammar, before: &str, bytes_max: usize, random: &mut Random) -> String {
    let mut text = before.to_owned();
    for number in 0..TRIES {
        text = before.to_owned();
        // The more is changed, the less is accepted.
        let changes = if number < 2 { 1 + random.below(3) } else { 1 };
        for _ in 0..changes {
            text = grammar.mutate(&text, random);
        }
        if text.len() <= bytes_max && (random.one_in(REFUSED) || grammar.accepts(&text)) {
            break;
        }
    }
    text
}

/// Puts as much of a text into `data` as may be there.
pub fn put(text: &str, data: &mut [u8], max_size: usize) -> usize {
    let mut length = text.len().min(max_size);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    data[..length].copy_from_slice(&text.as_bytes()[..length]);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of mutants of mutants, beginning with nothing, most are accepted.
    fn share_accepted(name: &str, grammar: &dyn Grammar, first: &str, least: f64) {
        let mut random = Random::new(7);
        let (mut text, mut accepted) = (first.to_owned(), 0);
        const NUMBER: usize = 400;
        for _ in 0..NUMBER {
            let next = mutant(grammar, &text, 1 << 14, &mut random);
            let is_accepted = grammar.accepts(&next);
            accepted += usize::from(is_accepted);
            // libFuzzer keeps what is new; a chain would wander off to the longest text.
            text = if is_accepted && !random.one_in(8) { next } else { first.to_owned() };
        }
        let share = accepted as f64 / NUMBER as f64;
        assert!(share >= least, "{name}: {share}");
    }

    #[test]
    fn most_mutants_are_accepted() {
        share_accepted("fio", &fio::JobFile::default(), "", 0.8);
        share_accepted("fio_command", &fio::CommandLine::default(), "", 0.8);
        share_accepted("vdbench", &vdbench::Parameters, "", 0.8);
        share_accepted("plan", &plan::NativePlan::default(), "", 0.8);
        share_accepted("trace", &trace::Trace, "", 0.8);
        share_accepted("model", &plan::ArrayModel::default(), "", 0.8);
        share_accepted("import", &results::Foreign::default(), "", 0.8);
        share_accepted("fleet", &fleet::Conversation::default(), "", 0.8);
        share_accepted("ledger", &ledger::Ledgers::default(), "", 0.8);
        share_accepted("bundle", &bundle::Bundles::default(), "", 0.6);
        for kind in stored::Kind::ALL {
            share_accepted(&format!("{kind:?}"), &stored::Stored::new(kind), "", 0.8);
        }
    }
}
