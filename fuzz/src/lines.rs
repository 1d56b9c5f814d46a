//! Texts of lines below headers, of which any line of a pool may stand below any header.

use crate::random::Random;

/// A language of such texts.
#[derive(Debug)]
pub struct Lines {
    /// What may stand below a header; an entry may be several lines.
    pub pool: Vec<String>,
    /// The header of a number.
    pub header: fn(usize) -> String,
    /// Whether a line is a header.
    pub is_header: fn(&str) -> bool,
    /// What stands first below each header.
    pub needed: &'static [&'static str],
}

impl Lines {
    /// A text of its own.
    fn text(&self, random: &mut Random) -> Vec<String> {
        let mut lines = Vec::new();
        for number in 0..1 + random.below(3) {
            self.section(number, &mut lines, random);
        }
        lines
    }

    fn section(&self, number: usize, lines: &mut Vec<String>, random: &mut Random) {
        lines.push((self.header)(number));
        lines.extend(self.needed.iter().map(|line| (*line).to_owned()));
        for _ in 0..random.below(7) {
            lines.push(random.pick(&self.pool).clone());
        }
    }

    /// A text like `text`.
    pub fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let headers = lines.iter().filter(|line| (self.is_header)(line)).count();
        if headers == 0 {
            return self.text(random).join("\n") + "\n";
        }
        let at = random.below(lines.len());
        let is_option = !(self.is_header)(&lines[at]);
        match random.below(10) {
            0..3 => lines.insert(at + 1, random.pick(&self.pool).clone()),
            3 | 4 if is_option => lines[at] = random.pick(&self.pool).clone(),
            5 if is_option => drop(lines.remove(at)),
            6 if is_option => lines.insert(at, lines[at].clone()),
            7 => {
                let other = random.below(lines.len());
                if is_option && !(self.is_header)(&lines[other]) {
                    lines.swap(at, other);
                }
            }
            8 => self.section(headers + random.below(9), &mut lines, random),
            _ if random.one_in(10) => lines = self.text(random),
            _ => lines[at] = random.with_another_number(&lines[at]),
        }
        lines.join("\n") + "\n"
    }
}
