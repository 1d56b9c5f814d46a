//! Blocks that are trimmed and then written.

use crate::pattern::OpKind;

use super::{BLOCK_OPS, Op, OpBlock, OpSource};

/// Writes of another source, each behind a trim of the same block.
#[derive(Debug, Clone)]
pub struct TrimFirst<S> {
    writes: S,
    block: OpBlock,
    next: usize,
}

impl<S: OpSource> TrimFirst<S> {
    /// Of a source that only writes.
    pub fn new(writes: S) -> Self {
        TrimFirst { writes, block: OpBlock::default(), next: 0 }
    }
}

impl<S: OpSource> OpSource for TrimFirst<S> {
    fn fill(&mut self, block: &mut OpBlock) {
        if self.next == self.block.len {
            self.writes.fill(&mut self.block);
            self.next = 0;
        }
        let count = (self.block.len - self.next).min(BLOCK_OPS / 2);
        let writes = &self.block.ops[self.next..self.next + count];
        for (pair, write) in block.ops.chunks_exact_mut(2).zip(writes) {
            pair[0] = Op { kind: OpKind::Trim, ..*write };
            pair[1] = *write;
        }
        self.next += count;
        let done = self.next == self.block.len;
        block.len = 2 * count;
        block.last = done && self.block.last;
        block.pass_ends = done && self.block.pass_ends;
    }

    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind) {
        self.writes.fill_one(block, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TargetSelection;
    use crate::ops::{Generator, SiteSpec};
    use crate::pattern::{AccessPattern, Mix, Placement};
    use crate::target::ActiveRange;

    #[test]
    fn each_write_follows_a_trim_of_its_block() {
        let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::sequential());
        let range = ActiveRange { offset_bytes: 0, length_bytes: 50 * 4096 };
        let sites = [SiteSpec { target: 3, range }];
        let bytes = Some(range.length_bytes);
        let writes = Generator::new(&pattern, &sites, TargetSelection::default(), 1, None, bytes);
        let (mut source, mut block, mut all) = (TrimFirst::new(writes), OpBlock::default(), Vec::new());
        loop {
            source.fill(&mut block);
            all.extend_from_slice(&block.ops[..block.len]);
            if block.last {
                break;
            }
        }
        assert_eq!(all.len(), 100);
        for (index, pair) in all.chunks(2).enumerate() {
            assert_eq!((pair[0].kind, pair[1].kind), (OpKind::Trim, OpKind::Write));
            assert_eq!(Op { kind: OpKind::Write, ..pair[0] }, pair[1]);
            assert_eq!((pair[1].offset_bytes, pair[1].target), (index as u64 * 4096, 3));
        }
    }
}
