//! A pattern whose bytes follow from where they lie: what blocks without headers are compared with.

use crate::content::{Content, Payload};

/// Bytes of an offset in a pattern.
pub const OFFSET_BYTES: usize = 8;
/// Short patterns are repeated up to this length, so that not every byte is moved or compared by itself.
const REPEATED_BYTES: usize = 4096;

/// The pattern of verified blocks.
#[derive(Debug, Clone)]
pub struct PlacedPattern {
    /// The pattern, repeated.
    bytes: Vec<u8>,
    offset_at: Vec<usize>,
    restart_bytes: usize,
    headers: bool,
}

impl PlacedPattern {
    /// Of a content; `None`: its blocks hold no such pattern.
    pub fn of(content: &Content) -> Option<PlacedPattern> {
        let (blocks, Payload::Pattern(pattern)) = (content.pattern_blocks.as_ref()?, &content.payload) else {
            return None;
        };
        if pattern.is_empty() {
            return None;
        }
        let times = REPEATED_BYTES.div_ceil(pattern.len());
        let fits = |at: &usize| at + OFFSET_BYTES <= pattern.len();
        let places: Vec<usize> = blocks.offset_at.iter().map(|at| *at as usize).filter(fits).collect();
        let repeated = (0..times).flat_map(|time| places.iter().map(move |at| time * pattern.len() + at));
        Some(PlacedPattern {
            bytes: pattern.repeat(times),
            offset_at: repeated.collect(),
            restart_bytes: usize::try_from(blocks.restart_bytes).unwrap_or(usize::MAX),
            headers: blocks.headers,
        })
    }

    /// Whether sectors begin with headers all the same.
    pub fn has_headers(&self) -> bool {
        self.headers
    }

    /// Calls `piece` for each run of pattern bytes in the part of a block that begins `from` bytes behind its start: where the run
    /// begins in the part, and its bytes. It ends where `piece` says no.
    #[inline]
    fn each_piece(
        &mut self,
        block_offset_bytes: u64,
        (from, len): (usize, usize),
        mut piece: impl FnMut(usize, &[u8]) -> bool,
    ) {
        let restart = if self.restart_bytes == 0 { usize::MAX } else { self.restart_bytes };
        let (mut done, mut part) = (0, None);
        while done < len {
            let (number, within) = ((from + done) / restart, (from + done) % restart);
            if part != Some(number) {
                let offset = block_offset_bytes + (number as u64).saturating_mul(self.restart_bytes as u64);
                for at in &self.offset_at {
                    self.bytes[*at..*at + OFFSET_BYTES].copy_from_slice(&offset.to_le_bytes());
                }
                part = Some(number);
            }
            let at = within % self.bytes.len();
            let count = (self.bytes.len() - at).min(len - done).min(restart - within);
            if !piece(done, &self.bytes[at..at + count]) {
                return;
            }
            done += count;
        }
    }

    /// Fills a whole block that begins at `block_offset_bytes` of its target.
    pub fn fill(&mut self, block_offset_bytes: u64, bytes: &mut [u8]) {
        self.each_piece(block_offset_bytes, (0, bytes.len()), |start, piece| {
            bytes[start..start + piece.len()].copy_from_slice(piece);
            true
        });
    }

    /// Where the first byte lies that is not as it should be, in a part of a block that begins `from` bytes behind its start.
    pub fn first_wrong(&mut self, block_offset_bytes: u64, from: usize, bytes: &[u8]) -> Option<usize> {
        let mut wrong = None;
        self.each_piece(block_offset_bytes, (from, bytes.len()), |start, piece| {
            let found = &bytes[start..start + piece.len()];
            if found != piece {
                let first = found.iter().zip(piece).position(|(found, expected)| found != expected);
                wrong = first.map(|first| start + first);
            }
            wrong.is_none()
        });
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::PatternBlocks;

    fn pattern(bytes: &[u8], offset_at: &[u32], restart_bytes: u64) -> PlacedPattern {
        let blocks = PatternBlocks { headers: false, offset_at: offset_at.to_vec(), restart_bytes };
        let content = Content {
            payload: Payload::Pattern(bytes.to_vec()),
            pattern_blocks: Some(blocks),
            ..Content::default()
        };
        PlacedPattern::of(&content).expect("a pattern")
    }

    /// By the definition, byte by byte.
    fn expected(bytes: &[u8], offset_at: &[u32], restart: usize, offset: u64, len: usize) -> Vec<u8> {
        let restart = if restart == 0 { len } else { restart };
        let byte = |index: usize| {
            let mut pattern = bytes.to_vec();
            let own = offset + (index / restart * restart) as u64;
            for at in offset_at {
                pattern[*at as usize..*at as usize + 8].copy_from_slice(&own.to_le_bytes());
            }
            pattern[index % restart % pattern.len()]
        };
        (0..len).map(byte).collect()
    }

    #[test]
    fn blocks_hold_the_pattern_from_their_start_and_from_each_restart() {
        for (bytes, offset_at) in
            [(&b"abc"[..], &[][..]), (&[0; 8], &[0]), (b"\x01\0\0\0\0\0\0\0\0", &[1]), (&[7; 5000], &[100])]
        {
            for restart in [0, 10, 129, 512, 4089, 10_000] {
                let mut placed = pattern(bytes, offset_at, restart);
                for offset in [0, 4096, 1 << 40] {
                    let mut block = vec![0; 8192];
                    placed.fill(offset, &mut block);
                    assert_eq!(block, expected(bytes, offset_at, restart as usize, offset, block.len()));
                    assert_eq!(placed.first_wrong(offset, 0, &block), None);
                    assert_eq!(placed.first_wrong(offset, 512, &block[512..1024]), None);
                    block[700] ^= 1;
                    assert_eq!(placed.first_wrong(offset, 512, &block[512..]), Some(188));
                }
            }
        }
    }
}
