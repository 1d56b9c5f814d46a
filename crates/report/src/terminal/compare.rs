//! A comparison on a terminal.

use assay_results::compare::{Comparison, PairComparison, TestComparison};
use assay_results::stats::CompareVerdict;

use super::paragraph;
use crate::compare::{self, PLAN_LINES_MAX};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// The whole comparison: sides, what differs, then each pair with its figures.
pub fn comparison(found: &Comparison, style: &Style) -> String {
    let mut text = String::new();
    for (index, side) in found.sides.iter().enumerate() {
        let words = format!("{}  {}", compare::letter(index), compare::side(side));
        paragraph(&mut text, Tone::Strong, &words, Hang { first: 0, rest: 3 }, style);
    }
    push_differences(&mut text, found, style);
    for words in &found.cautions {
        paragraph(&mut text, Tone::Warn, &format!("note: {words}"), Hang { first: 0, rest: 2 }, style);
    }
    for pair in &found.pairs {
        text.push('\n');
        push_pair(&mut text, pair, style);
    }
    text.push('\n');
    for words in compare::legend(found) {
        paragraph(&mut text, Tone::Dim, &words, Hang { first: 0, rest: 2 }, style);
    }
    text
}

fn push_differences(text: &mut String, found: &Comparison, style: &Style) {
    if found.differences.is_empty() && found.plan_differences.is_empty() {
        paragraph(text, Tone::Plain, "differs: nothing that was recorded", Hang { first: 0, rest: 2 }, style);
        return;
    }
    paragraph(text, Tone::Plain, "differs:", Hang::flat(0), style);
    for one in &found.differences {
        let (name, values) = compare::difference(one);
        paragraph(text, Tone::Plain, &format!("{name}: {values}"), Hang { first: 2, rest: 4 }, style);
    }
    for line in found.plan_differences.iter().take(PLAN_LINES_MAX) {
        paragraph(text, Tone::Plain, &format!("plan {line}"), Hang { first: 2, rest: 4 }, style);
    }
    let more = found.plan_differences.len().saturating_sub(PLAN_LINES_MAX);
    if more > 0 {
        let words = format!("and {more} more lines of the plans (--json has them)");
        paragraph(text, Tone::Dim, &words, Hang { first: 2, rest: 4 }, style);
    }
}

fn push_pair(text: &mut String, pair: &PairComparison, style: &Style) {
    let (first, second) = (compare::letter(0), compare::letter(pair.second));
    let columns = vec![
        Column::words("", Keep::Always),
        Column::numbers(&first, Keep::Always),
        Column::numbers(&second, Keep::Always),
        Column::numbers("change", Keep::Always),
        Column::numbers("interval", Keep::IfStacked(1)),
        Column::numbers("p", Keep::IfRoom(8)),
        Column::words("", Keep::Always),
        Column::words("why", Keep::IfRoom(9)),
    ];
    let mut table = Table::new(columns);
    let mut reasons: Vec<(String, &str)> = Vec::new();
    for test in &pair.tests {
        table.group(&title(test));
        for metric in &test.metrics {
            let row = compare::row(metric);
            let word = Cell::toned(row.word_text(), tone(row.word));
            let cells = [row.first.as_str(), &row.second, &row.change, &row.interval, &row.p];
            let mut line = vec![Cell::from(row.label)];
            line.extend(cells.into_iter().map(Cell::from));
            line.push(word);
            line.push(Cell::toned(row.why, Tone::Dim));
            table.row(line);
        }
        reasons.extend(
            test.not_comparable.iter().map(|why| (format!("not comparable: {why}"), test.name.as_str())),
        );
        reasons.extend(test.cautions.iter().map(|why| (why.clone(), test.name.as_str())));
    }
    text.push_str(&table.render(style));
    push_reasons(text, &reasons, style);
    let only = [(&pair.only_first, first.as_str()), (&pair.only_second, second.as_str())];
    for (names, side) in only.into_iter().filter(|(names, _)| !names.is_empty()) {
        let words = format!("only {side} has: {}", names.join("; "));
        paragraph(text, Tone::Plain, &words, Hang { first: 0, rest: 2 }, style);
    }
    let words = format!("{second} against {first}: {}.", compare::outcome(pair));
    paragraph(text, Tone::Strong, &words, Hang { first: 0, rest: 2 }, style);
    for words in compare::shortfalls(pair) {
        paragraph(text, Tone::Plain, &format!("{words}."), Hang { first: 0, rest: 2 }, style);
    }
}

/// Each reason once, with the tests it holds for.
fn push_reasons(text: &mut String, reasons: &[(String, &str)], style: &Style) {
    let mut seen: Vec<&str> = Vec::new();
    for (why, _) in reasons {
        if seen.contains(&why.as_str()) {
            continue;
        }
        seen.push(why);
        let tests: Vec<&str> =
            reasons.iter().filter(|(other, _)| other == why).map(|(_, test)| *test).collect();
        paragraph(
            text,
            Tone::Warn,
            &format!("{}: {why}", tests.join("; ")),
            Hang { first: 0, rest: 2 },
            style,
        );
    }
}

fn title(test: &TestComparison) -> String {
    let name = if test.second_name.is_empty() {
        test.name.clone()
    } else {
        format!("{} / {}", test.name, test.second_name)
    };
    format!("{name} ({})", test.conditions)
}

fn tone(word: Option<CompareVerdict>) -> Tone {
    match word {
        Some(CompareVerdict::Better) => Tone::Good,
        Some(CompareVerdict::Worse) => Tone::Bad,
        Some(CompareVerdict::Equivalent) => Tone::Accent,
        Some(CompareVerdict::NoEvidence) => Tone::Plain,
        None => Tone::Warn,
    }
}
