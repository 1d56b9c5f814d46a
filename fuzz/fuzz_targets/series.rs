//! The intervals of a stored run, damaged in any way: what is whole is read, and the rest is said.
//!
//! Input that begins with an odd byte is the payloads of frames, each behind two bytes of length; they get right headers
//! and checksums, so that the decoder behind them is reached. Other input is the file as it is, from the second byte on.

#![no_main]

use assay_fuzz::{Input, series, share};
use assay_results::series::{Level, SeriesEncoder, SeriesReader, read_level};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    series::mutate(Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    share::count(match data.split_first() {
        Some((kind, rest)) if series::is_payloads(*kind) => read(&framed(rest)),
        Some((_, rest)) => read(rest),
        None => false,
    });
});

/// Whether there is a frame, and all of them are whole.
fn read(file: &[u8]) -> bool {
    let mut whole = false;
    if let Ok(mut reader) = SeriesReader::open(file) {
        while let Ok(Some(_)) = reader.next_frame() {
            whole = true;
        }
        let tail = reader.tail();
        whole &= tail.damaged_frames == 0 && tail.lost_bytes == 0;
    }
    for level in [Level::Period, Level::TenSeconds, Level::Minute] {
        let _ = read_level(file, level);
    }
    whole
}

fn framed(mut data: &[u8]) -> Vec<u8> {
    let mut file = SeriesEncoder::header();
    while let [low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (payload, behind) = rest.split_at(length);
        let size = (length as u32).to_le_bytes();
        let checked = [&size[..], payload].concat();
        file.extend(size);
        file.extend(crc32c(&checked).to_le_bytes());
        file.extend(payload);
        data = behind;
    }
    file
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |value: u32| if value & 1 == 1 { (value >> 1) ^ 0x82F6_3B78 } else { value >> 1 };
    !bytes.iter().fold(!0_u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |value, _| step(value)))
}
