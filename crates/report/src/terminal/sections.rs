//! Titled lists of names and values: what `assay doctor` found.

use assay_results::Verdict;
use assay_results::store::{RunEntry, RunState};

use super::paragraph;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone, width, wrap};

/// A name, its value, and how it stands.
pub type Row = (String, String, Mark);

/// A row of a section.
pub fn row(name: &str, value: impl Into<String>, mark: Mark) -> Row {
    (name.to_owned(), value.into(), mark)
}

/// How a fact stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Just a fact.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Limits what can be measured, or how well.
    Warn,
    /// Does not work.
    Bad,
}

impl Mark {
    fn tone(self) -> Tone {
        match self {
            Mark::Plain => Tone::Plain,
            Mark::Good => Tone::Good,
            Mark::Warn => Tone::Warn,
            Mark::Bad => Tone::Bad,
        }
    }

    /// In a column of its own, so that nothing rests on colour alone.
    fn sign(self) -> &'static str {
        match self {
            Mark::Plain => " ",
            Mark::Good => "✓",
            Mark::Warn => "!",
            Mark::Bad => "✗",
        }
    }
}

/// Facts under a title.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// The title.
    pub title: String,
    /// Name, value, mark.
    pub rows: Vec<Row>,
}

/// Values wider than this much of a line are wrapped below their name.
const VALUE_ROOM_MIN: usize = 20;

/// The sections one below the other, names of all of them aligned.
pub fn sections(sections: &[Section], style: &Style) -> String {
    let names = sections.iter().flat_map(|section| &section.rows).map(|(name, _, _)| width(&style.fit(name)));
    let name_width = names.max().unwrap_or(0).min(style.columns() / 2);
    let mut text = String::new();
    for section in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        paragraph(&mut text, Tone::Strong, &section.title, Hang::flat(0), style);
        for (name, value, mark) in &section.rows {
            push_fact(&mut text, (name, value, *mark), name_width, style);
        }
    }
    text
}

fn push_fact(text: &mut String, (name, value, mark): (&str, &str, Mark), name_width: usize, style: &Style) {
    let (name, sign) = (style.fit(name), style.fit(mark.sign()));
    let indent = 4 + name_width + 2;
    let room = style.columns().saturating_sub(indent);
    let own_line = width(&name) > name_width || room < VALUE_ROOM_MIN;
    let hang = Hang::flat(if own_line { 6 } else { indent });
    let lines = wrap(value, hang, style);
    let padding = " ".repeat(name_width.saturating_sub(width(&name)) + 2);
    let head = format!("  {} {name}", style.paint(mark.tone(), &sign));
    let mut lines = lines.iter().map(|line| line.trim_start());
    if own_line {
        text.push_str(head.trim_end());
    } else {
        let first = style.paint(mark.tone(), lines.next().unwrap_or(""));
        text.push_str(format!("{head}{padding}{first}").trim_end());
    }
    text.push('\n');
    for line in lines {
        text.push_str(&" ".repeat(hang.rest));
        text.push_str(&style.paint(mark.tone(), line));
        text.push('\n');
    }
}

/// A table of words with a head: used where facts have more than one value, such as engines.
pub fn words_table(heads: &[&str], rows: &[Vec<String>], style: &Style) -> String {
    let mut table = Table::new(heads.iter().map(|head| Column::words(head, Keep::Always)).collect());
    for row in rows {
        table.row(row.iter().map(|text| Cell::from(text.as_str())).collect());
    }
    table.render(style)
}

/// Columns between two columns of a table.
const GAP: usize = 2;
/// A name is shortened to so much at least.
const NAME_MIN: usize = 12;

/// Stored runs in the order given, as [`runs_table`]; what is to be done about some stands below. `place`: words of a command that say
/// where they are stored.
pub fn stored_runs(entries: &[RunEntry], place: &str, long: bool, style: &Style) -> String {
    let mut notes = Vec::new();
    let row = |entry: &RunEntry| {
        let state = match &entry.state {
            RunState::Done => entry.verdict.map_or("", Verdict::word),
            RunState::Going => "still going",
            RunState::Unfinished => {
                notes.push(format!("{}: 'assay runs recover {0}{place}' makes a result of it", entry.id));
                "unfinished"
            }
            RunState::Unreadable(why) => {
                notes.push(format!("{}: {why}", entry.id));
                "unreadable"
            }
        };
        let elapsed = entry.elapsed_s.map_or(String::new(), |elapsed| format!("{elapsed:.0} s"));
        let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
        let (started, name) = (or_nothing(&entry.started), or_nothing(&entry.name));
        [entry.id.clone(), started, name, elapsed, state.to_owned(), entry.tags.join(", ")]
    };
    let rows: Vec<[String; 6]> = entries.iter().map(row).collect();
    runs_table(&rows, &notes, long, style)
}

/// Stored runs: id, start, name, how long it took, verdict, tags where any has some, in a line each, and notes on some. A name that does not fit is
/// shortened in its middle, unless `long`.
pub fn runs_table(rows: &[[String; 6]], notes: &[String], long: bool, style: &Style) -> String {
    let tagged = rows.iter().any(|row| !row[5].is_empty());
    let heads = &["id", "started", "name", "took", "verdict", "tags"][..if tagged { 6 } else { 5 }];
    let widest = |column: usize| {
        rows.iter()
            .map(|row| width(&style.fit(&row[column])))
            .chain([width(heads[column])])
            .max()
            .unwrap_or(0)
    };
    let others: usize =
        (0..heads.len()).filter(|column| *column != 2).map(|column| widest(column) + GAP).sum();
    let room = if long { usize::MAX } else { style.columns().saturating_sub(others).max(NAME_MIN) };
    // Names fit into what is left; where the rest alone is too wide, the less needed columns go.
    let keeps = [Keep::Always, Keep::IfRoom(2), Keep::Always, Keep::IfRoom(3), Keep::Always, Keep::IfRoom(1)];
    let columns = heads
        .iter()
        .zip(keeps)
        .map(|(head, keep)| Column::words(head, if long { Keep::Always } else { keep }));
    let mut table = Table::new(columns.collect());
    for row in rows {
        let name = shortened(&row[2], room);
        let cells = row[..heads.len()].iter().enumerate();
        table
            .row(cells.map(|(column, text)| if column == 2 { name.as_str() } else { text }.into()).collect());
    }
    // Names in full go beyond the right margin rather than into two lines.
    let wide = Style { width: usize::MAX / 2, ..*style };
    let (mut text, _) = table.render_apart(if long { &wide } else { style });
    for note in notes {
        paragraph(&mut text, Tone::Dim, note, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// A text in so many columns, its middle left out where it is longer.
fn shortened(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let half = |room: usize, characters: &mut dyn Iterator<Item = char>| {
        let mut used = 0;
        let fits = characters.take_while(|character| {
            used += width(character.encode_utf8(&mut [0; 4]));
            used <= room
        });
        fits.collect::<Vec<char>>()
    };
    let back_room = (room - 1) / 2;
    let front: String = half(room - 1 - back_room, &mut text.chars()).into_iter().collect();
    let back: String = half(back_room, &mut text.chars().rev()).into_iter().rev().collect();
    format!("{front}…{back}")
}
