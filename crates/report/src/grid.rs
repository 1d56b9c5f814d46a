//! Runs whose phases form a full grid of read shares by block sizes, as SNIA's IOPS test does: one table instead of a row for
//! each point.

use assay_workload::PhaseKind;
use std::collections::{BTreeMap, BTreeSet};

use assay_results::Run;
use assay_results::run::{Finding, FindingSeverity, PhaseResult};
use assay_results::steady::{SniaOutcome, SniaRule};
use assay_workload::pattern::{AccessPattern, BlockSizes, Mix, OpKind};
use assay_workload::plan::{End, PlannedJob, ThreadSlice};
use assay_workload::steps::{Step, Until};

use crate::format;

/// Fewer mixes or block sizes than this are no grid.
const SIDE_MIN: usize = 2;
/// The check whose findings are about steadiness.
const NOT_STEADY: &str = "not-steady";
/// The remarks of rounds that ended.
const STEADY: &str = "steady-state";
const NEVER: &str = "never-steady";
/// Shares are told apart to a millionth of a per cent.
const SHARE_UNITS: f64 = 1e6;

/// IOPS of one mix and block size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GridCell {
    /// Mean over the rounds that count.
    pub(crate) iops: f64,
    /// Its own rounds, or its window, were not steady.
    pub(crate) unsteady: bool,
    /// Checks of other kinds that say a warning or worse about this cell, each once.
    pub(crate) flags: Vec<String>,
}

impl GridCell {
    /// The figure behind its marks: those stand in front, so that digits stay below each other.
    pub(crate) fn words(&self) -> String {
        format!("{}{}", self.marks(), format::iops(self.iops))
    }

    /// The marks in words, for a pointer.
    pub(crate) fn mark_words(&self) -> String {
        let steady = self.unsteady.then(|| NOT_STEADY.to_owned());
        steady.into_iter().chain(self.flags.iter().cloned()).collect::<Vec<_>>().join(", ")
    }

    /// `*`: not steady, `!`: flagged.
    pub(crate) fn marks(&self) -> &'static str {
        match (self.unsteady, !self.flags.is_empty()) {
            (false, false) => "",
            (true, false) => "*",
            (false, true) => "!",
            (true, true) => "*!",
        }
    }
}

/// One table.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) title: String,
    /// Heads of the columns, reads and writes in per cent: `0/100`, by rising share of reads.
    pub(crate) mixes: Vec<String>,
    /// Rows by rising block size in bytes, each with a cell per mix.
    pub(crate) rows: Vec<(u64, Vec<GridCell>)>,
    /// What the figures and the marks mean.
    pub(crate) notes: Vec<String>,
}

/// What stands above the first column.
pub(crate) const CORNER: &str = "block size";
/// What the columns are.
pub(crate) const COLUMNS: &str = "reads/writes in %";

/// A phase with its place in the grid.
#[derive(Debug, Clone)]
struct Point<'r> {
    index: usize,
    phase: &'r PhaseResult,
    step: Option<Step>,
    /// In units of [`SHARE_UNITS`].
    reads: u64,
    block_size: u64,
    /// The job without what the grid varies.
    alike: PlannedJob,
}

/// The grids of a run: measured phases of one job that are alike in all but mix and block size, each pair of which was
/// measured. Phases of one name first, then those that have a name each.
pub(crate) fn grids(run: &Run) -> Vec<Grid> {
    let points = run.phases.iter().enumerate().filter_map(|(index, phase)| point(run, index, phase));
    let mut groups: Vec<Vec<Point<'_>>> = Vec::new();
    for point in points {
        let same = |other: &Point<'_>| other.phase.name == point.phase.name && other.alike == point.alike;
        match groups.iter_mut().find(|group| same(&group[0])) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    let mut found: Vec<Grid> = Vec::new();
    let mut named_apart: Vec<Vec<Point<'_>>> = Vec::new();
    for group in groups {
        let name = group[0].phase.name.clone();
        match grid(run, &name, &group) {
            Some(grid) => found.push(grid),
            None => match named_apart.iter_mut().find(|other| other[0].alike == group[0].alike) {
                Some(other) => other.extend(group),
                None => named_apart.push(group),
            },
        }
    }
    found.extend(
        named_apart.iter().filter(|group| one_name_each(group)).filter_map(|group| grid(run, "", group)),
    );
    found
}

fn point<'r>(run: &Run, index: usize, phase: &'r PhaseResult) -> Option<Point<'r>> {
    let planned = run.plan.phases.get(phase.plan_phase as usize)?;
    let ([_], [job]) = (phase.jobs.as_slice(), planned.jobs.as_slice()) else { return None };
    let pattern = &job.pattern;
    if phase.kind != PhaseKind::Measure || !job.is_blocks() || pattern.mix.share(OpKind::Trim) > 0.0 {
        return None;
    }
    let mut sizes = pattern.kinds().map(|kind| pattern.sizes(kind));
    let BlockSizes::Fixed(block_size) = *sizes.next()? else { return None };
    if !sizes.all(|size| *size == BlockSizes::Fixed(block_size)) {
        return None;
    }
    let mut alike = job.clone();
    (alike.name, alike.group, alike.end) = (String::new(), None, End::default());
    // How long it lasts, and what depends on mix and block size.
    for slice in &mut alike.slices {
        *slice = ThreadSlice { seed: 0, ios: None, bytes: None, rate: None, ..slice.clone() };
    }
    let size = || BlockSizes::Fixed(1);
    alike.pattern = AccessPattern {
        mix: Mix::READ,
        read_sizes: size(),
        write_sizes: size(),
        trim_sizes: size(),
        ..pattern.clone()
    };
    let reads = (100.0 * pattern.mix.share(OpKind::Read) * SHARE_UNITS).round() as u64;
    Some(Point { index, phase, step: planned.step, reads, block_size, alike })
}

/// Whether no two phases of different names are in one cell: then they were meant to differ in something else.
fn one_name_each(points: &[Point<'_>]) -> bool {
    let mut names: BTreeMap<(u64, u64), &str> = BTreeMap::new();
    points.iter().all(|point| {
        let name = point.phase.name.as_str();
        *names.entry((point.reads, point.block_size)).or_insert(name) == name
    })
}

/// A grid of these points, if they fill one.
fn grid(run: &Run, name: &str, points: &[Point<'_>]) -> Option<Grid> {
    let sorted = |value: fn(&Point<'_>) -> u64| {
        let mut values: Vec<u64> = points.iter().map(value).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (reads, blocks) = (sorted(|point| point.reads), sorted(|point| point.block_size));
    if reads.len() < SIDE_MIN || blocks.len() < SIDE_MIN {
        return None;
    }
    let row = |block: u64| {
        let at =
            |share: u64| points.iter().filter(move |point| (point.reads, point.block_size) == (share, block));
        reads.iter().map(|share| cell(run, &at(*share).collect::<Vec<_>>())).collect::<Option<Vec<_>>>()
    };
    let rows = blocks.iter().map(|block| Some((*block, row(*block)?))).collect::<Option<Vec<_>>>()?;
    let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut notes: Vec<String> = what_counts(run, points).into_iter().collect();
    notes.extend(legend(&rows));
    Some(Grid {
        title: format!("{prefix}IOPS by block size and mix"),
        mixes: reads.iter().map(|share| mix_words(*share)).collect(),
        rows,
        notes,
    })
}

/// The cell of all phases with one mix and block size; `None`: it was not measured.
fn cell(run: &Run, points: &[&Point<'_>]) -> Option<GridCell> {
    let values: Vec<f64> = points.iter().map(|point| point.phase.jobs[0].total.iops).collect();
    let first = points.first()?;
    let about = |finding: &&Finding| {
        finding.severity >= FindingSeverity::Warning && points.iter().any(|point| is_about(finding, point))
    };
    let findings: Vec<&Finding> = run.findings.iter().filter(about).collect();
    // The search for steady rounds looks at three cells of a round; this one by itself may have been none of them.
    let rounds_apart = match first.step.map(|step| step.until) {
        Some(Until::Steady(until)) if values.len() == until.window_rounds as usize => {
            SniaRule::from(&until).assess(&values).outcome != SniaOutcome::Steady
        }
        _ => false,
    };
    Some(GridCell {
        iops: values.iter().sum::<f64>() / values.len() as f64,
        unsteady: rounds_apart || findings.iter().any(|finding| finding.id == NOT_STEADY),
        flags: distinct(findings.iter().map(|finding| &finding.id).filter(|id| *id != NOT_STEADY)),
    })
}

/// Whether a finding is about this phase and no other: those about all points mark none.
fn is_about(finding: &Finding, point: &Point<'_>) -> bool {
    let word = |name: &str| finding.evidence.get(name).and_then(|value| value.as_str());
    if let Some(index) = word("at").and_then(|at| at.strip_prefix("/phases/")?.split('/').next()) {
        return index == point.index.to_string();
    }
    finding.phase.as_deref() == Some(point.phase.name.as_str())
        && word("point").unwrap_or_default() == point.phase.point.as_str()
        && finding.repeat.is_none_or(|repeat| repeat == point.phase.repeat)
}

/// Which rounds or repetitions the figures are means of.
fn what_counts(run: &Run, points: &[Point<'_>]) -> Option<String> {
    let step = points[0].step.filter(|step| matches!(step.until, Until::Steady(_)));
    let Some(step) = step else {
        let most = points.iter().map(|point| point.phase.repeat.saturating_add(1)).max().unwrap_or(1);
        return (most > 1).then(|| format!("Each figure is the mean of {most} repetitions."));
    };
    let rounds = || points.iter().filter_map(|point| Some(point.step?.round + 1));
    let (low, high) = (rounds().min()?, rounds().max()?);
    let mean = format!("Each figure is the mean of rounds {low} to {high}");
    let of_block = |phase: u32| run.plan.phases.get(phase as usize)?.step.map(|other| other.first);
    let ended = |id: &str| {
        let mut remarks = run.remarks.iter().filter(|remark| remark.id == id);
        remarks.any(|remark| remark.phase.and_then(of_block) == Some(step.first))
    };
    Some(match (ended(STEADY), ended(NEVER)) {
        (true, _) => format!("{mean}, the window in which the rounds were steady."),
        (false, true) => format!("{mean}, the last ones allowed: the rounds did not become steady."),
        (false, false) => format!("{mean}: the run ended before its rounds could be called steady."),
    })
}

/// Each of them once, in alphabetical order.
fn distinct<'i>(ids: impl Iterator<Item = &'i String>) -> Vec<String> {
    ids.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// What the marks that occur mean.
fn legend(rows: &[(u64, Vec<GridCell>)]) -> Vec<String> {
    let cells = || rows.iter().flat_map(|(_, cells)| cells);
    let mut words = Vec::new();
    if cells().any(|cell| cell.unsteady) {
        words.push("*: this point was not steady.".to_owned());
    }
    let flags = distinct(cells().flat_map(|cell| &cell.flags));
    if !flags.is_empty() {
        words.push(format!("!: a finding is about this point ({}).", flags.join(", ")));
    }
    words
}

/// `65/35`; shares that are no whole number to a tenth.
fn mix_words(reads: u64) -> String {
    let tenths = |percent: f64| (percent * 10.0).round() / 10.0;
    let reads = tenths(reads as f64 / SHARE_UNITS);
    format!("{reads}/{}", tenths(100.0 - reads))
}
