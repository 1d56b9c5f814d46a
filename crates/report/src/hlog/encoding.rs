//! HdrHistogram's V2 encoding of counts, deflated and in base64.
//!
//! The counts are mostly one run of zeros after another, which the encoding takes out itself; what is left is put into
//! zlib's stored blocks, which every inflater reads.

use assay_results::LatencyHistogram;
use assay_results::histogram::bucket_low_ns;

const COOKIE_V2: u32 = 0x1c84_9303 | 0x10;
const COOKIE_V2_COMPRESSED: u32 = 0x1c84_9304 | 0x10;
/// Two digits: the 256 sub-buckets that our buckets are.
const SIGNIFICANT_DIGITS: u32 = 2;
const LOWEST_NS: u64 = 1;
/// What our last bucket ends below.
const HIGHEST_NS: u64 = (1 << 45) - 1;
/// A stored block of deflate is at most as long.
const STORED_MAX: usize = 0xffff;

/// As it stands in a log.
pub(super) fn compressed_base64(histogram: &LatencyHistogram) -> String {
    let deflated = zlib_stored(&encoded(histogram));
    let mut out = Vec::with_capacity(deflated.len() + 8);
    out.extend(COOKIE_V2_COMPRESSED.to_be_bytes());
    out.extend((deflated.len() as u32).to_be_bytes());
    out.extend(deflated);
    base64(&out)
}

/// Header and counts by index: a count, or a negative number for so many zeros.
fn encoded(histogram: &LatencyHistogram) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    for (bucket, count) in histogram.buckets() {
        debug_assert!(bucket_low_ns(bucket) <= HIGHEST_NS);
        if bucket > next {
            zigzag(&mut counts, -((bucket - next) as i64));
        }
        zigzag(&mut counts, i64::try_from(count).unwrap_or(i64::MAX));
        next = bucket + 1;
    }
    let mut out = Vec::with_capacity(counts.len() + 40);
    out.extend(COOKIE_V2.to_be_bytes());
    out.extend((counts.len() as u32).to_be_bytes());
    out.extend(0_u32.to_be_bytes());
    out.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    out.extend(LOWEST_NS.to_be_bytes());
    out.extend(HIGHEST_NS.to_be_bytes());
    out.extend(1.0_f64.to_be_bytes());
    out.extend(counts);
    out
}

/// LEB128 of the zigzag form; the ninth byte holds eight bits.
fn zigzag(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push((rest as u8 & 0x7f) | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// RFC 1950 around stored blocks of RFC 1951.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut rest = data;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(STORED_MAX));
        let length = block.len() as u16;
        out.push(u8::from(behind.is_empty()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (b << 16) | a
}

/// RFC 4648, padded.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_adler_are_those_of_the_standards() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn numbers_take_as_few_bytes_as_they_need() {
        let bytes = |value| {
            let mut out = Vec::new();
            zigzag(&mut out, value);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(-1), [1]);
        assert_eq!(bytes(1), [2]);
        assert_eq!(bytes(64), [0x80, 1]);
        assert_eq!(bytes(i64::MAX).len(), 9);
    }

    #[test]
    fn a_long_payload_is_cut_into_blocks() {
        let data = vec![7; STORED_MAX + 5];
        let out = zlib_stored(&data);
        assert_eq!(out[2], 0);
        assert_eq!(out[2 + 5 + STORED_MAX], 1);
        assert_eq!(out.len(), data.len() + 2 + 2 * 5 + 4);
    }

    #[test]
    fn runs_of_zeros_are_one_number() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_n(3, 5);
        let out = encoded(&histogram);
        // Three zeros, then five.
        assert_eq!(out[40..], [5, 10]);
        assert_eq!(out.len(), 42);
    }
}
