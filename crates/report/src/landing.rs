//! Where traffic lands on an array: bars per core, heat maps of the address space, tables; for a terminal and as a page.
//!
//! The types here hold what is shown and nothing else: who made the figures is not known.

mod bars;
mod page;
mod terminal;

use assay_results::Finding;

pub use page::page;
pub use terminal::{bars, facts, heading, heat_map, words};

pub use crate::svg::HeatMap;

use crate::svg::Chart;

/// A column of [`Facts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// What it shows.
    pub name: String,
    /// Whether its values are numbers, which are aligned right.
    pub number: bool,
    /// 0: always shown; else it goes where there is no room, higher numbers first.
    pub rank: u8,
}

impl Head {
    /// A column of words.
    pub fn words(name: &str, rank: u8) -> Self {
        Head { name: name.to_owned(), number: false, rank }
    }

    /// A column of numbers.
    pub fn number(name: &str, rank: u8) -> Self {
        Head { name: name.to_owned(), number: true, rank }
    }
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Its columns.
    pub heads: Vec<Head>,
    /// A cell a column.
    pub rows: Vec<Vec<String>>,
    /// What it says of its words; empty: nothing.
    pub note: String,
}

/// A bar for each core, with what it would be after the repair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CoreBars {
    /// What the bars are: `share of the reads`, `utilisation`.
    pub title: String,
    /// The controller of each core.
    pub controllers: Vec<u32>,
    /// The value of each core, 0 to 1.
    pub values: Vec<f64>,
    /// The same after the repair; empty: there is none.
    pub repaired: Vec<f64>,
    /// What a core has where all have the same; `None`: there is no such mark.
    pub even: Option<f64>,
}

impl CoreBars {
    /// The largest value of both.
    fn largest(&self) -> f64 {
        self.values.iter().chain(&self.repaired).copied().fold(0.0, f64::max).max(1e-9)
    }
}

/// A titled part of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its title.
    pub title: String,
    /// Sentences below the title.
    pub words: Vec<String>,
    /// Tables.
    pub facts: Vec<Facts>,
    /// Bars.
    pub bars: Vec<CoreBars>,
    /// Heat maps; two of them stand side by side.
    pub heat: Vec<HeatMap>,
    /// Drawings of lines.
    pub charts: Vec<Chart>,
}

/// Everything a page shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Landing {
    /// Above the title: what kind of page it is.
    pub kind: String,
    /// What was looked at.
    pub title: String,
    /// What it was looked at on, and how.
    pub facts: Vec<String>,
    /// One behind the other.
    pub parts: Vec<Part>,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// What a repair changed, a sentence each.
    pub changes: Vec<String>,
    /// The version of Assay.
    pub version: String,
}

/// The intensity of a cell that gets `ratio` times an even share, where `most` times is the most there can be: an even
/// share is about a third, so that both less and more of it can be seen.
pub fn intensity(ratio: f64, most: f64) -> f64 {
    const EVEN: f64 = 0.35;
    if ratio <= 1.0 {
        EVEN * ratio.max(0.0).sqrt()
    } else {
        EVEN + (1.0 - EVEN) * (ratio.ln() / most.max(1.001).ln()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_share_is_a_third_and_all_of_it_is_full() {
        assert_eq!(intensity(0.0, 24.0), 0.0);
        assert!((intensity(1.0, 24.0) - 0.35).abs() < 1e-12);
        assert!((intensity(24.0, 24.0) - 1.0).abs() < 1e-12);
        assert!(intensity(0.5, 24.0) < 0.35 && intensity(2.0, 24.0) > 0.35);
    }
}
