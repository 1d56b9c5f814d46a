//! The key a person most likely meant, who may come from fio or vdbench.

use crate::near;

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

/// The key of `known` that `word` means: the translation of a fio or vdbench word, else the nearest in spelling.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = word.to_lowercase().replace('-', "_");
    let translated = FOREIGN.iter().find(|(foreign, _)| *foreign == lower).map(|(_, ours)| *ours);
    let same = known.iter().copied().find(|key| Some(*key) == translated);
    same.or_else(|| near::nearest(word, known.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["block_size", "threads", "outstanding", "op", "runtime", "ramp", "flush"];

    #[test]
    fn words_of_other_tools_are_translated_where_the_key_applies() {
        assert_eq!(nearest("iodepth", KEYS), Some("outstanding"));
        assert_eq!(nearest("rw", KEYS), Some("op"));
        assert_eq!(nearest("xfersize", KEYS), Some("block_size"));
        assert_eq!(nearest("iodepth", &["path", "size"]), None);
    }

    #[test]
    fn other_words_find_the_nearest_key() {
        assert_eq!(nearest("blocksizes", KEYS), Some("block_size"));
        assert_eq!(nearest("qwertyuiop", KEYS), None);
    }
}
