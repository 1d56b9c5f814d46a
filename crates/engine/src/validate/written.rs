//! Reading everything that was written: the operations of a phase that verifies.

use std::ops::Range;
use std::sync::Arc;

use assay_workload::ops::{BLOCK_OPS, Op, OpBlock, OpSource};
use assay_workload::pattern::OpKind;

use super::TargetMap;

/// A part of a target.
#[derive(Debug)]
struct Site {
    map: Arc<TargetMap>,
    target: u16,
    /// Key blocks that were not looked at yet.
    keys: Range<usize>,
}

/// Reads of all key blocks whose last write is known, in their order, each once.
#[derive(Debug)]
pub(crate) struct WrittenBlocks {
    sites: Vec<Site>,
    next: usize,
    block_bytes: u64,
}

impl WrittenBlocks {
    /// Of parts of targets: what is known of each, its index, first byte and length. Blocks that follow each other are read
    /// together up to `block_bytes`. `None`: nothing was written there.
    pub(crate) fn new(
        sites: impl Iterator<Item = (Arc<TargetMap>, u16, u64, u64)>,
        block_bytes: u64,
    ) -> Option<WrittenBlocks> {
        let sites = sites.map(|(map, target, offset_bytes, len_bytes)| {
            // A key block that begins before the part belongs to another one.
            let from = offset_bytes.next_multiple_of(map.key_bytes);
            let whole = len_bytes.saturating_sub(from - offset_bytes) / map.key_bytes * map.key_bytes;
            let keys = if whole == 0 { 0..0 } else { map.keys(from, whole) };
            Site { map, target, keys }
        });
        let sites: Vec<Site> = sites.collect();
        let any = sites.iter().any(|site| site.map.next_written(site.keys.clone(), 1).is_some());
        any.then_some(WrittenBlocks { sites, next: 0, block_bytes })
    }

    fn next_op(&mut self) -> Option<Op> {
        while let Some(site) = self.sites.get_mut(self.next) {
            let most = (self.block_bytes / site.map.key_bytes) as usize;
            if let Some(found) = site.map.next_written(site.keys.clone(), most) {
                site.keys.start = found.end;
                return Some(Op {
                    offset_bytes: found.start as u64 * site.map.key_bytes,
                    len_bytes: (found.len() as u64 * site.map.key_bytes) as u32,
                    target: site.target,
                    kind: OpKind::Read,
                });
            }
            self.next += 1;
        }
        None
    }
}

impl OpSource for WrittenBlocks {
    fn fill(&mut self, block: &mut OpBlock) {
        (block.len, block.last, block.pass_ends) = (0, false, false);
        while block.len < BLOCK_OPS {
            let Some(op) = self.next_op() else {
                block.last = true;
                return;
            };
            block.ops[block.len] = op;
            block.len += 1;
        }
    }

    fn fill_one(&mut self, block: &mut OpBlock, _: OpKind) {
        (block.len, block.pass_ends) = (0, false);
        if let Some(op) = self.next_op() {
            (block.ops[0], block.len) = (op, 1);
        }
        block.last = block.len == 0;
    }
}
