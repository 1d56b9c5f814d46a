//! The known words a person most likely meant by one that is not known.

/// Longer words get no suggestion: nobody mistypes that much, and the distance costs length squared.
const WORD_CHARS_MAX: usize = 96;

/// The word of `known` nearest to what was typed, if any is near; of equals the first.
///
/// Case, hyphens, underscores and blanks do not count. Near is a third of the letters (two at least, one in words of
/// two letters), or one word within the other.
pub fn nearest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let all = changes(typed, known);
    all.into_iter().min_by_key(|(changes, _)| *changes).map(|(_, word)| word)
}

/// All words of `known` that are near to what was typed, the nearest first.
pub fn ranked<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let mut all = changes(typed, known);
    all.sort_by_key(|(changes, _)| *changes);
    all.into_iter().map(|(_, word)| word).collect()
}

/// The near words, each with how many changes make it of what was typed.
fn changes<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<(usize, &'k str)> {
    let wanted = letters(typed);
    let length = wanted.chars().count();
    if length == 0 || length > WORD_CHARS_MAX {
        return Vec::new();
    }
    let far = if length < 3 { 1 } else { (length / 3).max(2) };
    let measured = |word: &'k str| {
        let own = letters(word);
        // Two words of which one is part of the other are as near as two letters: a typing error of one letter is nearer.
        let within = if length > 2 && own.contains(&wanted) { 2 } else { usize::MAX };
        let apart = own.chars().count().abs_diff(length) > far;
        // Swapping two neighbours is one change.
        let changes = if apart { within } else { strsim::osa_distance(&wanted, &own).min(within) };
        (changes <= far).then_some((changes, word))
    };
    known.into_iter().filter_map(measured).collect()
}

/// What counts of a word.
fn letters(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 8] =
        ["block_size", "threads", "op", "size", "ioengine", "directory", "runtime", "iodepth"];

    #[test]
    fn typing_errors_find_their_word() {
        for (typed, word) in [
            ("blocksize", "block_size"),
            ("thraeds", "threads"),
            ("Run-Time", "runtime"),
            ("po", "op"),
            ("zie", "size"),
            ("io_engine", "ioengine"),
            ("direcotry", "directory"),
        ] {
            assert_eq!(nearest(typed, WORDS), Some(word), "{typed}");
        }
    }

    #[test]
    fn a_part_of_a_word_finds_it_behind_a_typing_error() {
        assert_eq!(nearest("depth", WORDS), Some("iodepth"));
        assert_eq!(ranked("size", ["block_size", "sizes", "size", "rate"]), ["size", "sizes", "block_size"]);
        assert_eq!(nearest("iz", WORDS), None, "two letters are in too many words");
    }

    #[test]
    fn far_words_find_nothing() {
        for typed in ["qwertyuiop", "", "jetstress", "rw"] {
            assert_eq!(nearest(typed, WORDS), None, "{typed}");
        }
        assert_eq!(nearest(&"r".repeat(1000), WORDS), None);
    }
}
