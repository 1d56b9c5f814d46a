//! Reads of what another source writes.

use crate::pattern::OpKind;

use super::{OpBlock, OpSource};

/// The writes of another source as reads, in their order; its reads are left out.
#[derive(Debug, Clone)]
pub struct WritesAsReads<S> {
    source: S,
}

impl<S: OpSource> WritesAsReads<S> {
    /// Of a source that reads and writes.
    pub fn new(source: S) -> Self {
        WritesAsReads { source }
    }
}

impl<S: OpSource> OpSource for WritesAsReads<S> {
    fn fill(&mut self, block: &mut OpBlock) {
        loop {
            self.source.fill(block);
            let mut writes = 0;
            for index in 0..block.len {
                let op = block.ops[index];
                if op.kind == OpKind::Write {
                    block.ops[writes] = op;
                    block.ops[writes].kind = OpKind::Read;
                    writes += 1;
                }
            }
            block.len = writes;
            // Only the last block may be empty.
            if writes > 0 || block.last {
                return;
            }
        }
    }

    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind) {
        self.source.fill_one(block, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TargetSelection;
    use crate::ops::{Generator, Op, SiteSpec};
    use crate::pattern::{AccessPattern, Mix, Placement};
    use crate::target::ActiveRange;

    fn all(source: &mut dyn OpSource) -> Vec<Op> {
        let (mut block, mut all) = (OpBlock::default(), Vec::new());
        loop {
            source.fill(&mut block);
            all.extend_from_slice(&block.ops[..block.len]);
            if block.last {
                return all;
            }
        }
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        for placement in [Placement::sequential(), Placement::random_independent()] {
            let pattern = AccessPattern::new(Mix::read_write(70.0), 4096, placement);
            let range = ActiveRange { offset_bytes: 0, length_bytes: 300 * 4096 };
            let sites = [SiteSpec { target: 0, range }];
            let made = || {
                let bytes = Some(range.length_bytes);
                Generator::new(&pattern, &sites, TargetSelection::default(), 5, None, bytes)
            };
            let writes = all(&mut made()).into_iter().filter(|op| op.kind == OpKind::Write);
            let expected: Vec<Op> = writes.map(|op| Op { kind: OpKind::Read, ..op }).collect();
            assert!((30..150).contains(&expected.len()), "{}", expected.len());
            assert_eq!(all(&mut WritesAsReads::new(made())), expected);
        }
    }
}
