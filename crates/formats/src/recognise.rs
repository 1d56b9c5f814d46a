//! By what a text is recognised as one of a language. Each language says what it sees; who joins them compares.

/// How much of a text is looked at.
pub const BYTES_MAX: usize = 1 << 20;

/// How much something in a text says about its language, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// No other language can have it.
    Decisive,
    /// It begins something of this language; what stands before the beginnings of others decides.
    Telling,
    /// It may stand in such a file, if nothing else tells.
    Hint,
}

/// What in a text speaks for a language.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clue {
    /// How much it says.
    pub weight: Weight,
    /// The line, counted from 1; 0: the text as a whole.
    pub line: usize,
    /// What it is, as a clause: `line 3 is the section header [job1]`.
    pub reason: String,
}

/// The lines that are looked at, without blanks around them, with their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = text.len().min(BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = text[..end].trim_start_matches('\u{feff}');
    start.lines().enumerate().map(|(index, line)| (index + 1, line.trim()))
}
