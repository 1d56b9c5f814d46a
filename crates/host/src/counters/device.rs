//! `/sys/class/block/NAME/stat`.

use assay_results::counters::DeviceCounters;

use super::source::Source;
use crate::devices::SECTOR_BYTES;
use crate::root::HostRoot;

#[derive(Debug)]
pub(super) struct DeviceSampler {
    name: String,
    stat: Source,
}

impl DeviceSampler {
    pub(super) fn new(root: &HostRoot, name: &str) -> Self {
        Self { name: name.to_owned(), stat: Source::new(root, format!("/sys/class/block/{name}/stat")) }
    }

    pub(super) fn snapshot(&mut self) -> Option<DeviceCounters> {
        let at_ns = super::monotonic_ns();
        parse(&self.name, at_ns, self.stat.read()?)
    }
}

/// 11 fields; 15 since Linux 4.18 (discards), 17 since 5.5 (flushes).
fn parse(name: &str, at_ns: u64, text: &str) -> Option<DeviceCounters> {
    let mut fields = [None; 17];
    for (field, word) in fields.iter_mut().zip(text.split_whitespace()) {
        *field = Some(word.parse::<u64>().ok()?);
    }
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    Some(DeviceCounters {
        name: name.to_owned(),
        at_ns,
        reads: fields[0]?,
        read_merges: fields[1]?,
        read_bytes: bytes(fields[2]?),
        read_time_ms: fields[3]?,
        writes: fields[4]?,
        write_merges: fields[5]?,
        write_bytes: bytes(fields[6]?),
        write_time_ms: fields[7]?,
        in_flight: fields[8]?,
        busy_time_ms: fields[9]?,
        weighted_time_ms: fields[10]?,
        discards: fields[11],
        discard_bytes: fields[13].map(bytes),
        flushes: fields[15],
        flush_time_ms: fields[16],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_lengths_of_the_file() {
        let text = "  10 1 16 5 20 2 32 7 3 9 100 4 0 8 1 6 2\n";
        let full = parse("sda", 1, text).expect("17 fields");
        assert_eq!((full.reads, full.read_bytes, full.write_bytes), (10, 16 * 512, 32 * 512));
        assert_eq!((full.in_flight, full.busy_time_ms, full.weighted_time_ms), (3, 9, 100));
        assert_eq!((full.discards, full.discard_bytes, full.flushes), (Some(4), Some(8 * 512), Some(6)));
        let old = parse("sda", 1, "10 1 16 5 20 2 32 7 3 9 100").expect("11 fields");
        assert_eq!((old.discards, old.flushes), (None, None));
        assert_eq!(parse("sda", 1, "10 1 16"), None);
        assert_eq!(parse("sda", 1, "10 x 16 5 20 2 32 7 3 9 100"), None);
    }
}
