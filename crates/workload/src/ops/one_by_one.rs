//! Operations one at a time, for loops that ask before each.

use crate::pattern::OpKind;

use super::{OpBlock, OpSource};

/// The operations of another source, in blocks of one.
#[derive(Debug, Clone)]
pub struct OneByOne<S> {
    source: S,
    block: OpBlock,
    next: usize,
}

impl<S: OpSource> OneByOne<S> {
    /// Those of this source.
    pub fn new(source: S) -> Self {
        OneByOne { source, block: OpBlock::default(), next: 0 }
    }
}

impl<S: OpSource> OpSource for OneByOne<S> {
    fn fill(&mut self, block: &mut OpBlock) {
        if self.next == self.block.len {
            self.source.fill(&mut self.block);
            self.next = 0;
        }
        block.len = usize::from(self.next < self.block.len);
        if block.len > 0 {
            block.ops[0] = self.block.ops[self.next];
            self.next += 1;
        }
        let done = self.next == self.block.len;
        block.last = done && self.block.last;
        block.pass_ends = done && self.block.pass_ends;
    }

    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind) {
        self.source.fill_one(block, kind);
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
    fn the_same_operations_come_one_at_a_time() {
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
        let range = ActiveRange { offset_bytes: 0, length_bytes: 50 * 4096 };
        let sites = [SiteSpec { target: 0, range }];
        let source = || Generator::new(&pattern, &sites, TargetSelection::default(), 1, Some(50), None);
        let offsets = |mut source: Box<dyn OpSource>, most: usize| {
            let (mut block, mut all) = (OpBlock::default(), Vec::new());
            while !block.last {
                source.fill(&mut block);
                assert!(block.len <= most);
                all.extend(block.ops[..block.len].iter().map(|op| op.offset_bytes));
            }
            all
        };
        let expected = offsets(Box::new(source()), 32);
        assert_eq!(expected.len(), 50);
        assert_eq!(offsets(Box::new(OneByOne::new(source())), 1), expected);
    }
}
