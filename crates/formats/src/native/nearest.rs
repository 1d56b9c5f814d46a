//! The key a person most likely meant, who may come from fio or vdbench.

use crate::near;

/// Keys with the words of fio and vdbench that say the same, for people who come from there.
const FOREIGN: &[(&str, &[&str])] = &[
    ("block_size", &["blocksize", "bs", "bsrange", "bssplit", "xfersize"]),
    ("bytes", &["io_size"]),
    ("caching", &["direct"]),
    ("content", &["buffer_compress_percentage", "dedupe_percentage"]),
    ("engine", &["ioengine"]),
    ("flush", &["end_fsync", "fdatasync", "fsync", "openflags", "sync"]),
    ("ios", &["number_ios"]),
    ("offset", &["range"]),
    ("op", &["readwrite", "rw"]),
    ("outstanding", &["iodepth", "queue_depth"]),
    ("passes", &["loops"]),
    ("path", &["anchor", "directory", "lun"]),
    ("pattern", &["hitarea", "norandommap", "random_distribution", "rhpct", "seekpct", "stride", "whpct"]),
    ("phase", &["stonewall"]),
    ("ramp", &["ramp_time", "warmup"]),
    ("rate", &["iorate", "rate_iops"]),
    ("read_percent", &["rdpct", "rwmixread"]),
    ("runtime", &["duration", "elapsed"]),
    ("seed", &["randseed"]),
    ("targets", &["filename", "sd"]),
    ("think_time", &["thinktime"]),
    ("threads", &["numjobs", "thread"]),
    ("write_percent", &["rwmixwrite"]),
];

/// The key of `known` that `word` means: the translation of a fio or vdbench word, else the nearest in spelling.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let lower = word.to_lowercase().replace('-', "_");
    let translated =
        FOREIGN.iter().find(|(_, foreign)| foreign.contains(&lower.as_str())).map(|(ours, _)| *ours);
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
