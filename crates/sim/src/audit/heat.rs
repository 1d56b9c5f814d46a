//! Where operations go over time: a grid of addresses by operations, drawn from the generators.

use assay_results::audit::{Heat, HeatSource};
use assay_workload::plan::Plan;

use super::draw;
use crate::model::Model;

/// Rows and columns of a heat map of addresses.
pub(super) const ROWS: usize = 24;
pub(super) const COLUMNS: usize = 96;
/// Segments shown around the hottest one.
const SEGMENTS: usize = 16;
/// Operations drawn for a picture.
const DRAWS: u64 = 400_000;

/// Draws pictures on an array.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'m>(pub &'m Model);

impl HeatSource for Drawing<'_> {
    fn whole(&self, plan: &Plan, phase: usize) -> Option<Heat> {
        heat(plan, phase, ROWS, COLUMNS, DRAWS)
    }

    fn near(&self, plan: &Plan, phase: usize, (target, start): (u16, u64)) -> Option<(Heat, Vec<u32>)> {
        let front_end = &self.0.front_end;
        let segment = front_end.segment.0;
        let heat = heat_near(plan, phase, (target, start, segment), (SEGMENTS, COLUMNS), DRAWS)?;
        let owner = |row: u64| front_end.core_of(start / segment + row);
        Some((heat, (0..SEGMENTS as u64).map(owner).collect()))
    }
}

/// Counts operations on a grid.
#[derive(Debug, Clone)]
pub struct HeatGrid {
    counts: Vec<Vec<u64>>,
    starts: Vec<u64>,
    names: Vec<String>,
    row_bytes: u64,
    bytes: u64,
    span: u64,
}

impl HeatGrid {
    /// A grid of `rows` x `columns` over targets of these names and sizes in bytes, for times 0 to `span`.
    pub fn new(targets: &[(String, u64)], span: u64, rows: usize, columns: usize) -> HeatGrid {
        let mut starts = Vec::with_capacity(targets.len());
        let mut bytes = 0_u64;
        for (_, size) in targets {
            starts.push(bytes);
            bytes = bytes.saturating_add(*size);
        }
        HeatGrid {
            counts: vec![vec![0; columns.max(1)]; rows.max(1)],
            starts,
            names: targets.iter().map(|target| target.0.clone()).collect(),
            row_bytes: bytes.div_ceil(rows.max(1) as u64).max(1),
            bytes,
            span: span.max(1),
        }
    }

    /// Counts one operation; what lies outside is counted at the edge.
    #[inline]
    pub fn add(&mut self, target: u16, offset_bytes: u64, at: u64) {
        let Some(start) = self.starts.get(usize::from(target)) else { return };
        let row = (start.saturating_add(offset_bytes) / self.row_bytes) as usize;
        let columns = self.counts[0].len() as u128;
        let column = (u128::from(at.min(self.span - 1)) * columns / u128::from(self.span)) as usize;
        let last = self.counts.len() - 1;
        self.counts[row.min(last)][column] += 1;
    }

    /// The shares.
    pub fn finish(self) -> Heat {
        let columns = self.counts[0].len();
        let totals: Vec<u64> = (0..columns).map(|at| self.counts.iter().map(|row| row[at]).sum()).collect();
        let share = |row: &Vec<u64>| {
            row.iter().zip(&totals).map(|(count, total)| *count as f64 / (*total).max(1) as f64).collect()
        };
        Heat {
            bytes: self.bytes,
            targets: self.starts.into_iter().zip(self.names).collect(),
            span: self.span,
            rows: self.counts.iter().map(share).collect(),
        }
    }
}

/// The first `draws` operations of a phase: see `draw::phase`. `None` where no job has addresses.
pub fn heat(plan: &Plan, phase: usize, rows: usize, columns: usize, draws: u64) -> Option<Heat> {
    let mut ops = Vec::with_capacity(draws.min(1 << 22) as usize);
    draw::phase(plan, phase, draws, |op| ops.push((op.target, op.offset_bytes)))?;
    let targets: Vec<(String, u64)> =
        plan.targets.iter().map(|target| (target.name.clone(), target.size_bytes)).collect();
    let mut grid = HeatGrid::new(&targets, ops.len() as u64, rows, columns);
    ops.iter().enumerate().for_each(|(at, (target, offset))| grid.add(*target, *offset, at as u64));
    Some(grid.finish())
}

/// The same around one place: each row is `row_bytes` of target `target` from byte `start` on; shares are those of all
/// operations of a column, also of those that go elsewhere.
pub fn heat_near(
    plan: &Plan,
    phase: usize,
    (target, start, row_bytes): (u16, u64, u64),
    (rows, columns): (usize, usize),
    draws: u64,
) -> Option<Heat> {
    let mut ops = Vec::with_capacity(draws.min(1 << 22) as usize);
    draw::phase(plan, phase, draws, |op| ops.push((op.target, op.offset_bytes)))?;
    let name = plan.targets.get(usize::from(target))?.name.clone();
    let mut counts = vec![vec![0_u64; columns.max(1)]; rows.max(1)];
    let mut totals = vec![0_u64; columns.max(1)];
    for (at, (hit, offset)) in ops.iter().enumerate() {
        let column = at * totals.len() / ops.len();
        totals[column] += 1;
        let row = offset.checked_sub(start).map(|from| (from / row_bytes.max(1)) as usize);
        if let Some(row) = row.filter(|_| *hit == target).and_then(|row| counts.get_mut(row)) {
            row[column] += 1;
        }
    }
    let share = |row: &Vec<u64>| {
        row.iter().zip(&totals).map(|(count, total)| *count as f64 / (*total).max(1) as f64).collect()
    };
    Some(Heat {
        bytes: row_bytes * rows as u64,
        targets: vec![(0, name)],
        span: ops.len() as u64,
        rows: counts.iter().map(share).collect(),
    })
}

#[cfg(test)]
mod tests {
    use assay_workload::job::{Limits, Phase};
    use assay_workload::lun;
    use assay_workload::pattern::{AccessPattern, Mix, Placement, Sequential};

    use super::*;

    #[test]
    fn shares_are_those_of_a_column() {
        let targets = [("a".to_owned(), 100), ("b".to_owned(), 100)];
        let mut grid = HeatGrid::new(&targets, 10, 4, 2);
        (0..5).for_each(|at| grid.add(0, 10, at));
        grid.add(1, 60, 7);
        grid.add(0, 60, 9);
        grid.add(7, 0, 1);
        let heat = grid.finish();
        assert_eq!(heat.bytes, 200);
        assert_eq!(heat.rows, [[1.0, 0.0], [0.0, 0.5], [0.0, 0.0], [0.0, 0.5]]);
        assert_eq!(heat.targets[1], (100, "b".to_owned()));
    }

    /// Reads of one MiB after the other from the start of the target: which share of a column's operations falls into which
    /// segment behind 2 MiB is known.
    #[test]
    fn shares_near_a_place_are_those_of_all_operations_of_a_column() {
        const MIB: u64 = 1 << 20;
        let pattern = AccessPattern::new(Mix::READ, MIB, Placement::Sequential(Sequential::default()));
        let limits = Limits { ios: Some(8), ..Limits::default() };
        let job = lun::job("job", pattern, 1, limits);
        let plan = lun::plan(1, 64 * MIB, vec![Phase::measure("measure", vec![job])]).unwrap();
        // Columns: MiB 0 to 3, MiB 4 to 7. Rows: MiB 2 and 3, 4 and 5, 6 and 7, 8 and 9.
        let near = heat_near(&plan, 0, (0, 2 * MIB, 2 * MIB), (4, 2), 8).unwrap();
        assert_eq!(near.rows, [[0.5, 0.0], [0.0, 0.5], [0.0, 0.5], [0.0, 0.0]]);
        assert_eq!((near.bytes, near.span), (8 * MIB, 8));
        assert_eq!(near.targets, [(0, "lun".to_owned())]);
        assert_eq!(heat_near(&plan, 0, (1, 0, MIB), (4, 2), 8), None, "there is no such target");
    }
}
