//! What a job is to do, in the words of fio's first lines.

use super::number::{DIGITS, short};
use super::report::BYTES;
use crate::resolved::{Direction, ResolvedJob};

/// `rw=.., bs=.., ioengine=.., iodepth=..`.
pub(crate) fn head(job: &ResolvedJob) -> String {
    let access = job.access();
    let word = match access.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
        Direction::ReadWrite => "rw",
        Direction::TrimWrite => "trimwrite",
    };
    let random = if access.random { "rand" } else { "" };
    let sizes = access.sizes.each_ref().map(|sizes| {
        let [min, max] = [sizes.min_bytes(), sizes.max_bytes()].map(|bytes| short(bytes, DIGITS, BYTES, "B"));
        format!("{min}-{max}")
    });
    let [read, write, trim] = sizes;
    let third = if access.sizes_by_randomness { "bs_is_seq_rand".to_owned() } else { format!("(T) {trim}") };
    let (engine, depth) = (job.engine(), job.depth().asked);
    format!("rw={random}{word}, bs=(R) {read}, (W) {write}, {third}, ioengine={engine}, iodepth={depth}")
}
