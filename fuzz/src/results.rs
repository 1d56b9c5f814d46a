//! Results of other tools: fio's JSON and vdbench's flat file.

use serde_json::Value;

use crate::Grammar;
use crate::random::Random;
use crate::tree::{Seen, read_or_any};

const OF_FIO: &str = include_str!("../seeds/import/fio-clones.json");
const OF_VDBENCH: &str = include_str!("../seeds/import/vdbench-flatfile.html");

/// Results of either tool.
#[derive(Debug)]
pub struct Foreign(Seen);

impl Default for Foreign {
    fn default() -> Self {
        Foreign(Seen::of(serde_json::from_str::<Value>(OF_FIO).into_iter().collect()))
    }
}

/// Rows of a flat file are repeated, left out, changed in a column.
fn of_flat_file(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let first =
        lines.iter().position(|line| line.trim_start().starts_with("tod ")).map_or(0, |head| head + 1);
    if first >= lines.len() {
        return OF_VDBENCH.to_owned();
    }
    let at = first + random.below(lines.len() - first);
    match random.below(6) {
        0 => lines.insert(at, lines[at].clone()),
        1 if lines.len() > first + 1 => drop(lines.remove(at)),
        2 => lines[at] = random.with_another_number(&lines[at]),
        _ => {
            let mut columns: Vec<String> = lines[at].split_whitespace().map(str::to_owned).collect();
            // Behind the time, which is of two columns.
            let column = 2 + random.below(columns.len().saturating_sub(2));
            if let Some(value) = columns.get_mut(column) {
                *value = match random.below(4) {
                    0 => "n/a".to_owned(),
                    1 => format!("{:.4}", random.next() as f64 / 1e15),
                    _ => random.number(1).to_string(),
                };
            }
            lines[at] = columns.join(" ");
        }
    }
    lines.join("\n") + "\n"
}

impl Grammar for Foreign {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let json = serde_json::from_str::<Value>(text).ok();
        if json.is_none() && (text.contains("Vdbench") || random.one_in(2)) {
            return of_flat_file(text, random);
        }
        let mut value = read_or_any(json, &self.0, random);
        self.0.change(&mut value, random);
        value.to_string()
    }

    fn accepts(&self, text: &str) -> bool {
        let of_fio = assay_fio::import(text).is_some_and(|read| read.is_ok());
        of_fio || assay_vdbench::import(text).is_some_and(|read| read.is_ok())
    }
}
