//! Workloads from a few numbers: one, or all combinations of several.

use assay_workload::job::{Caching, Limits, Rate, TargetSharing};
use assay_workload::pattern::{AccessPattern, Distribution, Mix, Placement, Random, Sequential};
use assay_workload::target::{Extent, Target};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, Phase, Workload};

/// Files of one grid.
const CELLS_MAX: usize = 10_000;

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Bytes of each I/O.
    pub block_size: Bytes,
    /// Percentage of reads.
    pub read: f64,
    /// Per cent of random addresses.
    pub random: f64,
    /// Outstanding I/Os on each target.
    pub outstanding: u32,
}

/// What a grid has where it does not say.
pub const DEFAULT: Cell = Cell { block_size: Bytes(4096), read: 100.0, random: 100.0, outstanding: 8 };

/// What is wrong with a grid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GridError(String);

/// A per cent from 0 to 100, with or without its sign.
///
/// # Errors
/// What it is not.
pub fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').trim().parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&value) { Ok(value) } else { Err("not between 0 and 100".to_owned()) }
}

/// What all combinations have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Paths of files and devices.
    pub targets: Vec<String>,
    /// Of each target that is a file.
    pub size: Option<Bytes>,
    /// Per cent of each target.
    pub working_set: f64,
    /// Measured time.
    pub runtime: Nanos,
    /// Time before it.
    pub ramp: Nanos,
    /// Operations a second.
    pub rate: Option<f64>,
    /// Through the page cache.
    pub buffered: bool,
}

impl Common {
    /// HCIBench's name: generator, disks, working set, block size, reads, random, threads of each disk.
    pub fn file_name(&self, generator: &str, cell: &Cell) -> String {
        let (disks, ws) = (self.targets.len(), self.working_set);
        let Cell { block_size, read, random, outstanding } = cell;
        let size = block_size.short();
        format!("{generator}-{disks}vmdk-{ws}ws-{size}-{read}rdpct-{random}randompct-{outstanding}threads")
    }

    /// A thread for each target, which keeps so many I/Os outstanding on it.
    pub fn workload(&self, name: &str, cell: &Cell) -> Workload {
        let names: Vec<String> = (1..=self.targets.len()).map(|number| format!("disk{number}")).collect();
        let targets = names.iter().zip(&self.targets).map(|(name, path)| Target {
            name: name.clone(),
            path: path.clone(),
            kind: None,
            size: if path.starts_with("/dev/") { None } else { self.size },
        });
        let targets: Vec<Target> = targets.collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let pattern =
            AccessPattern::new(Mix::read_write(cell.read), cell.block_size.0, placement(cell.random));
        let job = Job::new("load", &names, pattern).with(|job| {
            job.sharing = if names.len() > 1 { TargetSharing::PerThread } else { TargetSharing::Shared };
            job.threads = names.len() as u32;
            job.outstanding_per_thread = cell.outstanding;
            job.length = (self.working_set < 100.0).then_some(Extent::Percent(self.working_set));
            job.limits = Limits { time: Some(self.runtime), ..Limits::default() };
            job.ramp = self.ramp;
            job.rate = self.rate.map_or(Rate::Unlimited, Rate::Iops);
            job.caching = if self.buffered { Caching::Buffered } else { Caching::Direct };
        });
        let phases = vec![Phase::measure("measure", vec![job])];
        Workload { name: name.to_owned(), seed: None, hosts: Vec::new(), targets, phases }
    }
}

fn placement(random: f64) -> Placement {
    let part = Random { distribution: Distribution::Uniform, once_per_pass: false };
    if random >= 100.0 {
        Placement::Random(part)
    } else if random <= 0.0 {
        Placement::sequential()
    } else {
        let sequential = Sequential::default();
        Placement::Mixed { random_percent: random, random: part, sequential }
    }
}

/// All combinations of `sizes x reads x random x outstanding`, the last one varying fastest.
///
/// # Errors
/// A part that is none, or too many of them.
pub fn cells(text: &str) -> Result<Vec<Cell>, GridError> {
    let axes: Vec<Vec<&str>> =
        text.split(['x', '×']).map(|axis| axis.split(',').map(str::trim).collect()).collect();
    if axes.len() > 4 {
        return Err(GridError(format!(
            "--grid: {} parts; there are block sizes x per cent of reads x per cent random x outstanding I/Os",
            axes.len()
        )));
    }
    let sizes = axis(&axes, 0, DEFAULT.block_size, "a size", |word| {
        word.parse::<Bytes>().ok().filter(|size| size.0 > 0)
    })?;
    let percent = |word: &str| percent(word).ok();
    let reads = axis(&axes, 1, DEFAULT.read, "a per cent of reads", percent)?;
    let randoms = axis(&axes, 2, DEFAULT.random, "a per cent random", percent)?;
    let depths = axis(&axes, 3, DEFAULT.outstanding, "a number of outstanding I/Os", |word| {
        word.parse().ok().filter(|depth| (1..=65_536).contains(depth))
    })?;
    let count = [sizes.len(), reads.len(), randoms.len(), depths.len()].iter().product::<usize>();
    if count > CELLS_MAX {
        return Err(GridError(format!("--grid: {count} combinations, more than {CELLS_MAX}")));
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
) -> Result<Vec<T>, GridError> {
    let Some(words) = axes.get(index) else { return Ok(vec![default]) };
    words
        .iter()
        .map(|word| parse(word).ok_or_else(|| GridError(format!("--grid: '{word}' is not {what}"))))
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
