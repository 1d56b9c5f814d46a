//! The nearest known word to an unknown one.

/// Longer words get no suggestion: nobody mistypes that much, and the distance costs length squared.
const WORD_CHARS_MAX: usize = 64;

/// The candidate with the smallest edit distance, if at most half of the word would change (fio's own limit).
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length == 0 || length > WORD_CHARS_MAX {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let limit = length.div_ceil(2);
    candidates
        .filter(|candidate| candidate.len().abs_diff(length) <= limit)
        .map(|candidate| (distance(&lower, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= limit)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's edit distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let change = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_not() {
        let words = || ["size", "ioengine", "directory", "runtime"].into_iter();
        assert_eq!(nearest("zie", words()), Some("size"));
        assert_eq!(nearest("io_engine", words()), Some("ioengine"));
        assert_eq!(nearest("direcotry", words()), Some("directory"));
        assert_eq!(nearest("RUNTIME", words()), Some("runtime"));
        assert_eq!(nearest("xyzxyzxyz", words()), None);
        assert_eq!(nearest(&"x".repeat(1000), words()), None);
    }
}
