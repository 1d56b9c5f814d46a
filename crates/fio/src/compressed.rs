//! Logs that `log_store_compressed` keeps: fio's samples as zlib streams, one behind the other, and back to lines of text.
//!
//! A sample is little endian, as fio 3.33 has it: the time, the value, the direction with flags, the priority, the block size, and
//! where a flag says so the offset.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// What the name of a compressed log ends with.
pub(crate) const SUFFIX: &str = ".fz";
/// Bytes of a sample without its offset.
const SAMPLE_BYTES: usize = 32;
const OFFSET_BYTES: usize = 8;
/// In the word of the direction: the sample has an offset, and its priority is to be printed as a number in hex.
const HAS_OFFSET: u32 = 1 << 31;
const HAS_PRIORITY: u32 = 1 << 30;
/// More than this is not inflated: a small file can hold very much.
const INFLATED_BYTES_MAX: u64 = 4 << 30;

/// A log as it is stored, if its name says that it is to be compressed. `None`: it is not.
pub fn compressed_log(name: &str, text: &str) -> Option<Vec<u8>> {
    name.ends_with(SUFFIX).then(|| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let samples = text.lines().filter_map(sample);
        // Nothing that is written to memory fails.
        samples.for_each(|sample| drop(encoder.write_all(&sample)));
        encoder.finish().unwrap_or_default()
    })
}

/// The sample of a line; `None`: it is none.
fn sample(line: &str) -> Option<Vec<u8>> {
    let words: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |index: usize| words.get(index)?.parse::<u64>().ok();
    let (offset, priority) = match words.len() {
        5 => (None, words[4]),
        6 => (Some(number(4)?), words[5]),
        _ => return None,
    };
    let (value, has_priority) = match priority.strip_prefix("0x") {
        Some(hex) => (u16::from_str_radix(hex, 16).ok()?, HAS_PRIORITY),
        None => (0, 0),
    };
    let flags = has_priority | if offset.is_some() { HAS_OFFSET } else { 0 };
    let mut bytes = Vec::with_capacity(SAMPLE_BYTES + OFFSET_BYTES);
    bytes.extend_from_slice(&number(0)?.to_le_bytes());
    bytes.extend_from_slice(&number(1)?.to_le_bytes());
    bytes.extend_from_slice(&(u32::try_from(number(2)?).ok()? | flags).to_le_bytes());
    bytes.extend_from_slice(&u32::from(value).to_le_bytes());
    bytes.extend_from_slice(&number(3)?.to_le_bytes());
    offset.iter().for_each(|offset| bytes.extend_from_slice(&offset.to_le_bytes()));
    Some(bytes)
}

/// The lines of a log that was stored compressed.
///
/// # Errors
/// A sentence that says where the file is none.
pub fn inflate_log(file: &[u8]) -> Result<String, String> {
    let (mut rest, mut text) = (file, String::new());
    if rest.is_empty() {
        return Err("it is empty".to_owned());
    }
    while !rest.is_empty() {
        let at = file.len() - rest.len();
        let mut samples = Vec::new();
        let mut decoder = ZlibDecoder::new(rest).take(INFLATED_BYTES_MAX);
        decoder
            .read_to_end(&mut samples)
            .map_err(|error| format!("at byte {at} there is no whole zlib stream: {error}"))?;
        if decoder.limit() == 0 {
            return Err(format!("the stream at byte {at} is larger than 4 GiB"));
        }
        rest = decoder.into_inner().into_inner();
        lines(&samples, &mut text).map_err(|why| format!("the stream at byte {at}: {why}"))?;
    }
    Ok(text)
}

/// The lines of samples.
fn lines(samples: &[u8], text: &mut String) -> Result<(), String> {
    let mut rest = samples;
    while !rest.is_empty() {
        let word = |at: usize| {
            let bytes = rest.get(at..at + 8).and_then(|bytes| bytes.first_chunk::<8>());
            bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or("it ends within a sample")
        };
        let (time, value, about, size) = (word(0)?, word(8)?, word(16)?, word(24)?);
        let flags = about as u32;
        let direction = flags & !(HAS_OFFSET | HAS_PRIORITY);
        if direction > 2 {
            return Err(format!("a sample has direction {direction}: it is no log of fio up to 3.3x"));
        }
        let mut length = SAMPLE_BYTES;
        // fio has its values signed.
        let _ = write!(text, "{time}, {}, {direction}, {size}", value.cast_signed());
        if flags & HAS_OFFSET != 0 {
            let _ = write!(text, ", {}", word(SAMPLE_BYTES)?);
            length += OFFSET_BYTES;
        }
        let priority = (about >> 32) as u16;
        let _ = match flags & HAS_PRIORITY {
            0 => writeln!(text, ", {}", u8::from(priority >> 13 == 1)),
            _ => writeln!(text, ", 0x{priority:04x}"),
        };
        rest = &rest[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_the_same_behind_it() {
        for text in
            ["1, 2, 0, 4096, 0\n3, 4, 2, 512, 0\n", "1, 2, 1, 4096, 8192, 0\n", "7, 8, 1, 512, 0, 0x0000\n"]
        {
            let stored = compressed_log("a_bw.log.fz", text).expect("compressed");
            assert_eq!(inflate_log(&stored).as_deref(), Ok(text));
            // Jobs that share a file come one behind the other.
            let twice = [stored.clone(), stored].concat();
            assert_eq!(inflate_log(&twice), Ok(text.repeat(2)));
        }
        assert_eq!(compressed_log("a_bw.log", "1, 2, 0, 4096, 0\n"), None);
    }

    #[test]
    fn what_is_no_such_log_is_said() {
        let stored = compressed_log("l.fz", "1, 2, 0, 4096, 0\n").expect("compressed");
        assert!(inflate_log(b"").unwrap_err().contains("empty"));
        assert!(inflate_log(b"1, 2, 0, 4096, 0\n").unwrap_err().contains("at byte 0"));
        assert!(inflate_log(&stored[..stored.len() - 3]).is_err());
        let cut = [&stored[..], b"x"].concat();
        assert!(inflate_log(&cut).unwrap_err().contains(&format!("at byte {}", stored.len())));
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&[0xff; 20]).expect("written");
        assert!(inflate_log(&encoder.finish().expect("done")).unwrap_err().contains("within a sample"));
        let mut random = assay_workload::rng::Rng::new(5);
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..random.below(90)).map(|_| random.next_u64() as u8).collect();
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&bytes).expect("written");
            let _ = inflate_log(&encoder.finish().expect("done"));
            let _ = inflate_log(&bytes);
        }
    }
}
