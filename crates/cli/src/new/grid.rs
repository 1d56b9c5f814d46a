//! The points of a grid.

use assay_workload::units::Bytes;

use crate::failure::Failure;

/// Files of one grid.
const CELLS_MAX: usize = 10_000;

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Bytes of each I/O.
    pub(super) block_size: Bytes,
    /// Per cent of reads.
    pub(super) read: f64,
    /// Per cent of random addresses.
    pub(super) random: f64,
    /// Outstanding I/Os on each target.
    pub(super) outstanding: u32,
}

/// What a grid has where it does not say.
pub(super) const DEFAULT: Cell = Cell { block_size: Bytes(4096), read: 100.0, random: 100.0, outstanding: 8 };

/// All combinations of `sizes x reads x random x outstanding`, the last one varying fastest.
pub(super) fn cells(text: &str) -> Result<Vec<Cell>, Failure> {
    let axes: Vec<Vec<&str>> =
        text.split(['x', '×']).map(|axis| axis.split(',').map(str::trim).collect()).collect();
    if axes.len() > 4 {
        return Err(Failure::usage(format!(
            "--grid: {} parts; there are block sizes x per cent of reads x per cent random x outstanding I/Os",
            axes.len()
        )));
    }
    let sizes = axis(&axes, 0, DEFAULT.block_size, "a size", |word| {
        word.parse::<Bytes>().ok().filter(|size| size.0 > 0)
    })?;
    let percent = |word: &str| super::percent(word).ok();
    let reads = axis(&axes, 1, DEFAULT.read, "a per cent of reads", percent)?;
    let randoms = axis(&axes, 2, DEFAULT.random, "a per cent random", percent)?;
    let depths = axis(&axes, 3, DEFAULT.outstanding, "a number of outstanding I/Os", |word| {
        word.parse().ok().filter(|depth| (1..=65_536).contains(depth))
    })?;
    let count = [sizes.len(), reads.len(), randoms.len(), depths.len()].iter().product::<usize>();
    if count > CELLS_MAX {
        return Err(Failure::usage(format!("--grid: {count} combinations, more than {CELLS_MAX}")));
    }
    let mut cells = Vec::with_capacity(count);
    for &block_size in &sizes {
        for &read in &reads {
            for &random in &randoms {
                cells.extend(depths.iter().map(|&outstanding| Cell {
                    block_size,
                    read,
                    random,
                    outstanding,
                }));
            }
        }
    }
    Ok(cells)
}

/// The values of one part; one default where it is left out.
fn axis<T: Copy>(
    axes: &[Vec<&str>],
    index: usize,
    default: T,
    what: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Failure> {
    let Some(words) = axes.get(index) else { return Ok(vec![default]) };
    words
        .iter()
        .map(|word| parse(word).ok_or_else(|| Failure::usage(format!("--grid: '{word}' is not {what}"))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_in_order() {
        let cells = cells("4k,8k x 100,70").expect("a grid");
        let shown: Vec<(u64, f64)> = cells.iter().map(|cell| (cell.block_size.0, cell.read)).collect();
        assert_eq!(shown, [(4096, 100.0), (4096, 70.0), (8192, 100.0), (8192, 70.0)]);
        assert!(cells.iter().all(|cell| (cell.random, cell.outstanding) == (100.0, 8)));
    }

    #[test]
    fn all_four_parts_and_bad_ones() {
        let cells = cells("64k x 0 x 0,50% × 1,32").expect("a grid");
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[3], Cell { block_size: Bytes(65_536), read: 0.0, random: 50.0, outstanding: 32 });
        for (text, word) in [("4q", "4q"), ("4k x 101", "101"), ("4k x 1 x 1 x 0", "'0'"), ("", "''")] {
            let why = super::cells(text).expect_err("a bad grid").to_string();
            assert!(why.contains(word), "{text}: {why}");
        }
        assert!(super::cells("4k x 1 x 1 x 1 x 1").is_err());
    }
}
