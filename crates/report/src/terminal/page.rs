//! A page of words: headings, paragraphs, lists, examples.

use super::paragraph;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// A heading.
    Title(String),
    /// A paragraph.
    Text(String),
    /// A name with what belongs to it, one below the other.
    Fact(String, String),
    /// An entry of a list behind a mark of one character.
    Item(char, String),
    /// Lines that are never wrapped, because they are for copying.
    Verbatim(String),
    /// An empty line.
    Gap,
}

/// Columns of the names of facts.
const NAME_COLUMNS: usize = 9;

/// A word and what it means, in each of its senses.
pub fn word_page(word: &str, meanings: &[String], style: &Style) -> String {
    let text = |text: &String| [Words::Gap, Words::Text(text.clone())];
    let parts: Vec<Words> =
        std::iter::once(Words::Title(word.to_owned())).chain(meanings.iter().flat_map(text)).collect();
    page(&parts, style)
}

/// The parts one below the other.
pub fn page(parts: &[Words], style: &Style) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Words::Title(title) => paragraph(&mut text, Tone::Strong, title, Hang::flat(0), style),
            Words::Text(words) => paragraph(&mut text, Tone::Plain, words, Hang::flat(0), style),
            Words::Item(mark, words) => {
                paragraph(
                    &mut text,
                    Tone::Plain,
                    &format!("{mark} {words}"),
                    Hang { first: 2, rest: 4 },
                    style,
                );
            }
            Words::Fact(name, value) => push_fact(&mut text, name, value, style),
            Words::Verbatim(lines) => {
                lines.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
            }
            Words::Gap => text.push('\n'),
        }
    }
    text
}

/// A table of figures with a head: titled groups of rows, their first cells words and the others figures.
pub fn figures(heads: &[&str], groups: &[(String, Vec<Vec<String>>)], style: &Style) -> String {
    let columns = heads.iter().enumerate().map(|(index, head)| match index {
        0 => Column::words(head, Keep::Always),
        _ => Column::numbers(head, Keep::Always),
    });
    let mut table = Table::new(columns.collect()).indented(2);
    for (title, rows) in groups {
        table.group(title);
        for row in rows {
            table.row(row.iter().map(|text| Cell::from(text.as_str())).collect());
        }
    }
    table.render(style)
}

fn push_fact(text: &mut String, name: &str, value: &str, style: &Style) {
    let mut lines = String::new();
    paragraph(&mut lines, Tone::Plain, value, Hang::flat(2 + NAME_COLUMNS), style);
    let at = text.len();
    text.push_str(&lines);
    // The name takes the place of the first line's indent.
    let indent = lines.chars().take_while(|c| *c == ' ').count().min(2 + NAME_COLUMNS);
    text.replace_range(at..at + indent, &format!("  {name:<width$}", width = indent.saturating_sub(2)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_wrapped_values_and_examples_are_left_alone() {
        let style = Style { colour: false, width: 40, unicode: true };
        let long = "word=".to_owned() + &"x".repeat(60);
        let parts = [
            Words::Title("Block size".to_owned()),
            Words::Fact("fio".to_owned(), "bs, blocksize, bsrange, bssplit and some more".to_owned()),
            Words::Gap,
            Words::Item('!', "a list entry that does not fit into one line of the page".to_owned()),
            Words::Verbatim(long.clone()),
        ];
        let text = page(&parts, &style);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Block size");
        assert!(lines[1].starts_with("  fio      bs, blocksize"), "{text}");
        assert!(lines[2].starts_with("           "), "{text}");
        assert!(text.contains("\n  ! a list"), "{text}");
        assert!(text.ends_with(&format!("    {long}\n")), "{text}");
        assert!(lines.iter().rev().skip(1).all(|line| line.chars().count() <= 40), "{text}");
    }
}
