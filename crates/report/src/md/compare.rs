//! A comparison as Markdown.

use std::fmt::Write as _;

use assay_results::compare::{Comparison, PairComparison};

use super::{escape, push_head, push_row};
use crate::compare::{self, letter};

/// The document: sides, what differs, a table of all figures.
pub fn comparison(found: &Comparison) -> String {
    let names: Vec<String> = found.sides.iter().map(|side| escape(&side.name)).collect();
    let mut text = format!("# Comparison: {}\n\n", names.join(" / "));
    for (index, side) in found.sides.iter().enumerate() {
        let _ = writeln!(text, "- **{}**: {}", letter(index), escape(&compare::side(side)));
    }
    text.push_str("\n## What differs\n\n");
    for one in &found.differences {
        let (name, values) = compare::difference(one);
        let _ = writeln!(text, "- {}: {}", escape(&name), escape(&values));
    }
    for line in &found.plan_differences {
        let _ = writeln!(text, "- plan `{}`", line.replace('`', "'"));
    }
    if found.differences.is_empty() && found.plan_differences.is_empty() {
        text.push_str("Nothing that was recorded.\n");
    }
    for words in &found.cautions {
        let _ = writeln!(text, "\n> {}", escape(words));
    }
    found.pairs.iter().for_each(|pair| push_pair(&mut text, pair));
    for words in compare::legend(found) {
        let _ = writeln!(text, "\n{}", escape(&words));
    }
    text
}

fn push_pair(text: &mut String, pair: &PairComparison) {
    let second = letter(pair.second);
    let outcome = compare::outcome(pair);
    let _ = writeln!(text, "\n## {second} against {}\n\n**{}**\n", letter(0), escape(&outcome));
    let heads = ["test", "figure", "verdict", "A", &second, "change", "interval", "p"];
    push_head(text, &heads.map(str::to_owned), 3);
    for test in &pair.tests {
        for metric in &test.metrics {
            let row = compare::row(metric);
            let word = if row.why.is_empty() {
                row.word_text()
            } else {
                format!("{}: {}", row.word_text(), row.why)
            };
            let cells =
                [&test.name, row.label, &word, &row.first, &row.second, &row.change, &row.interval, &row.p];
            push_row(text, &cells.map(escape));
        }
    }
    for words in compare::shortfalls(pair) {
        let _ = writeln!(text, "\n- {}", escape(&words));
    }
    for test in &pair.tests {
        for why in &test.not_comparable {
            let _ = writeln!(text, "\n- {}: not comparable: {}", escape(&test.name), escape(why));
        }
        for why in &test.cautions {
            let _ = writeln!(text, "\n- {}: {}", escape(&test.name), escape(why));
        }
    }
    for (names, side) in [(&pair.only_first, letter(0)), (&pair.only_second, second)] {
        if !names.is_empty() {
            let _ = writeln!(text, "\nOnly {side} has: {}", escape(&names.join("; ")));
        }
    }
}
