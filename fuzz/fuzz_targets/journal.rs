//! A journal of validated writes, damaged: what is read of it, and what is asked of that.
//!
//! Input is blocks: a byte each for the kind and the number of 16-byte words behind it. They get the right magic word, number and checksum, unless
//! the kind has its highest bit set.

#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use assay_engine::{CrashedRun, Validation};
use assay_fuzz::share;
use libfuzzer_sys::fuzz_target;

const BLOCK: usize = 4096;
const HEAD: usize = 32;

fn path() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| PathBuf::from(format!("/dev/shm/assay-fuzz-journal-{}", std::process::id())))
}

fn blocks(mut data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for number in 0_u64.. {
        let [kind, words, rest @ ..] = data else { break };
        let (payload, behind) = rest.split_at((usize::from(*words) * 16).min(rest.len()).min(BLOCK - HEAD));
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(b"ASSAYVJ1");
        block[12] = if number == 0 { 1 } else { kind % 4 };
        let long = if block[12] == 2 { payload.len() / 16 } else { payload.len() };
        block[14..16].copy_from_slice(&(long as u16).to_le_bytes());
        block[16] = 7;
        block[24..32].copy_from_slice(&number.to_le_bytes());
        block[HEAD..HEAD + payload.len()].copy_from_slice(payload);
        if number == 0 {
            // One target, of less than 16 MiB: how many key blocks there may be is another question.
            block[HEAD + 8] = block[HEAD + 8].min(1);
            block[HEAD + 9..HEAD + 12].fill(0);
            block[HEAD + 27..HEAD + 32].fill(0);
        }
        let sum = crc32c::crc32c(&block[12..]).wrapping_add(u32::from(kind >> 7));
        block[8..12].copy_from_slice(&sum.to_le_bytes());
        file.extend(block);
        data = behind;
    }
    file
}

fuzz_target!(|data: &[u8]| {
    std::fs::write(path(), blocks(data)).expect("a file");
    let read = CrashedRun::read(path());
    share::count(read.is_ok());
    let Ok(crashed) = read else { return };
    for target in 0..crashed.targets.len() + 1 {
        assert!(crashed.acknowledged_blocks(target) <= crashed.written_blocks(target));
    }
    let one = crashed.only(&[0]);
    assert!(one.targets.len() <= 1);
    let _ = Validation::after_crash(vec![one]);
});
