//! The known word a person most likely meant.

/// Longer words get no suggestion: nobody mistypes that much, and the distance costs length squared.
const WORD_CHARS_MAX: usize = 64;

/// Words of fio and vdbench with the key that says the same here, for people who come from there.
const FOREIGN: &[(&str, &str)] = &[
    ("anchor", "path"),
    ("blocksize", "block_size"),
    ("bs", "block_size"),
    ("bsrange", "block_size"),
    ("bssplit", "block_size"),
    ("buffer_compress_percentage", "content"),
    ("dedupe_percentage", "content"),
    ("direct", "caching"),
    ("directory", "path"),
    ("duration", "runtime"),
    ("elapsed", "runtime"),
    ("end_fsync", "flush"),
    ("fdatasync", "flush"),
    ("filename", "targets"),
    ("fsync", "flush"),
    ("hitarea", "pattern"),
    ("io_size", "bytes"),
    ("iodepth", "outstanding"),
    ("ioengine", "engine"),
    ("iorate", "rate"),
    ("loops", "passes"),
    ("lun", "path"),
    ("norandommap", "pattern"),
    ("number_ios", "ios"),
    ("numjobs", "threads"),
    ("openflags", "flush"),
    ("queue_depth", "outstanding"),
    ("ramp_time", "ramp"),
    ("randseed", "seed"),
    ("random_distribution", "pattern"),
    ("range", "offset"),
    ("rate_iops", "rate"),
    ("rdpct", "read_percent"),
    ("readwrite", "op"),
    ("rhpct", "pattern"),
    ("rw", "op"),
    ("rwmixread", "read_percent"),
    ("rwmixwrite", "write_percent"),
    ("sd", "targets"),
    ("seekpct", "pattern"),
    ("stride", "pattern"),
    ("stonewall", "phase"),
    ("sync", "flush"),
    ("thinktime", "think_time"),
    ("thread", "threads"),
    ("warmup", "ramp"),
    ("whpct", "pattern"),
    ("xfersize", "block_size"),
];

/// The key of `known` that `word` means: the translation of a fio or vdbench word, else the nearest in spelling
/// if at most a third of the word (and at least one letter) differs.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let length = word.chars().count();
    if length == 0 || length > WORD_CHARS_MAX {
        return None;
    }
    let lower = word.to_lowercase().replace('-', "_");
    let translated = FOREIGN.iter().find(|(foreign, _)| *foreign == lower).map(|(_, ours)| *ours);
    if let Some(ours) = known.iter().find(|key| Some(**key) == translated) {
        return Some(ours);
    }
    let ranked = known.iter().map(|key| (distance(&lower, &key.replace('-', "_")), *key));
    ranked
        .min_by_key(|(changes, _)| *changes)
        .filter(|(changes, _)| *changes <= (length / 3).max(1))
        .map(|(_, key)| key)
}

/// Edit distance in which swapping two neighbours is one change (optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let change = above[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            row[j] = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["block_size", "threads", "outstanding", "op", "runtime", "ramp", "flush"];

    #[test]
    fn typing_errors_find_their_word() {
        assert_eq!(nearest("blocksize", KEYS), Some("block_size"));
        assert_eq!(nearest("thraeds", KEYS), Some("threads"));
        assert_eq!(nearest("Run-Time", KEYS), Some("runtime"));
        assert_eq!(nearest("po", KEYS), Some("op"));
    }

    #[test]
    fn words_of_other_tools_are_translated_where_the_key_applies() {
        assert_eq!(nearest("iodepth", KEYS), Some("outstanding"));
        assert_eq!(nearest("rw", KEYS), Some("op"));
        assert_eq!(nearest("xfersize", KEYS), Some("block_size"));
        assert_eq!(nearest("iodepth", &["path", "size"]), None);
    }

    #[test]
    fn far_words_find_nothing() {
        assert_eq!(nearest("qwertyuiop", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest(&"r".repeat(1000), KEYS), None);
    }
}
