//! The runs of a parameter file, in the order in which they are made.

use super::file::ParameterFile;
use super::loops::{Loop, LoopKind, LoopValue};
use super::number::show;
use super::run::{Rates, RunDef, StorageChoice};

/// What kind of run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Inserted: writes file SDs that do not exist yet or are too small.
    StorageFormat,
    /// Inserted: deletes and creates the trees of a run.
    FileFormat,
    /// Devices and single files.
    Storage,
    /// Trees of files.
    Files,
}

/// The rate of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunRate {
    /// As fast as possible.
    Max,
    /// As fast as possible; its result sets the points that follow.
    Curve,
    /// A point of a curve.
    CurvePoint {
        /// Percent of the maximum.
        percent: f64,
        /// The rate listed for it, from the assumed maximum, in operations a second.
        listed_rate: f64,
    },
    /// Operations a second.
    Fixed(f64),
    /// Percent of the last maximum.
    PercentOfMax(f64),
    /// Pairs of rate and seconds, repeated: see the run definition.
    Variable,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedRun {
    /// What kind of run it is.
    pub kind: RunKind,
    /// Its name as listed.
    pub name: String,
    /// Index of the run definition; `None` for the format of file SDs.
    pub definition: Option<usize>,
    /// Rate.
    pub rate: RunRate,
    /// A skew, a priority or a rate of its own keeps the workloads in proportion.
    pub controlled: bool,
    /// Values of the loops, outermost first.
    pub loops: Vec<(LoopKind, LoopValue)>,
    /// Measured seconds; `None` where the run ends by itself.
    pub elapsed_s: Option<u64>,
    /// Seconds before measuring.
    pub warmup_s: u64,
    /// The part of the storage definitions that is used, where the run goes through them in sets: (first, count).
    pub storage_set: Option<(usize, usize)>,
}

impl ExpandedRun {
    /// The line that `vdbench -s` prints for this run.
    #[must_use]
    pub fn simulating_line(&self) -> String {
        let name = &self.name;
        if self.kind == RunKind::FileFormat {
            return format!("Simulating RD={name}");
        }
        let elapsed = self.elapsed_s.map_or_else(|| "(none)".to_owned(), |s| s.to_string());
        let warmup = if self.warmup_s > 0 { format!(" warmup={}", self.warmup_s) } else { String::new() };
        let loops = self.loop_text();
        if self.kind == RunKind::Files {
            let rate = match self.rate {
                RunRate::Max => "max. ".to_owned(),
                RunRate::Curve => "curve. ".to_owned(),
                _ => format!("{}; ", self.rate_text()),
            };
            return format!(
                "Simulating RD={name}; elapsed={elapsed}{warmup}; fwdrate={rate}For loops: {loops}"
            );
        }
        let rate = self.rate_text();
        format!("Simulating RD={name}; I/O rate: {rate}; elapsed={elapsed}{warmup}; For loops: {loops}")
    }

    fn rate_text(&self) -> String {
        let how = if self.controlled { "Controlled" } else { "Uncontrolled" };
        match self.rate {
            RunRate::Max => format!("{how} MAX"),
            RunRate::Curve => format!("{how} curve"),
            RunRate::CurvePoint { listed_rate, .. } => show(listed_rate),
            RunRate::Fixed(rate) => show(rate),
            RunRate::PercentOfMax(percent) => format!("{}%", show(percent)),
            RunRate::Variable => "Variable".to_owned(),
        }
    }

    fn loop_text(&self) -> String {
        let mut parts: Vec<String> =
            self.loops.iter().map(|(kind, value)| format!("{}={}", kind.word(), value.show(*kind))).collect();
        if self.kind == RunKind::StorageFormat {
            parts.push("iorate=max".to_owned());
        }
        if parts.is_empty() { "None".to_owned() } else { parts.join(" ") }
    }
}

/// The rate of a curve's point: a percentage of the maximum, rounded up to tens, above 1000 to hundreds.
#[must_use]
pub fn curve_rate(max_rate: f64, percent: f64) -> f64 {
    let rate = (max_rate.trunc() * percent.trunc() / 100.0).trunc();
    let step = if rate > 1000.0 { 100.0 } else { 10.0 };
    (rate / step).ceil() * step
}

/// The rate under which a curve's remaining points are left out, in operations a second.
const SLOWEST_POINT: f64 = 10.0;

/// Lists the runs in order, with the format runs that are inserted.
#[must_use]
pub fn expand(file: &ParameterFile) -> Vec<ExpandedRun> {
    let mut runs = Vec::new();
    if !file.unformatted.is_empty() {
        runs.push(storage_format());
    }
    for (index, rd) in file.runs.iter().enumerate() {
        for storage_set in storage_sets(file, rd) {
            one_definition(file, index, rd, storage_set, &mut runs);
            if runs.len() >= file.limits.runs {
                runs.truncate(file.limits.runs);
                return runs;
            }
        }
    }
    runs
}

/// How many runs a definition makes, without making them.
pub(crate) fn count(file: &ParameterFile, rd: &RunDef) -> u64 {
    let sets = storage_set_count(file, rd);
    let rates = match rates_of(rd) {
        Some(Rates::Curve) => 1 + rd.curve.len() as u64,
        Some(Rates::Values(values)) if !rd.arrivals.variable => values.len() as u64,
        _ => 1,
    };
    let formats = if rd.format.is_some_and(|f| !f.no) { 2 } else { 1 };
    rd.loops.iter().fold(sets * rates * formats, |n, l| n.saturating_mul(l.values.len() as u64))
}

fn storage_format() -> ExpandedRun {
    const FORMAT_THREADS: f64 = 2.0;
    ExpandedRun {
        kind: RunKind::StorageFormat,
        name: "SD_format".to_owned(),
        definition: None,
        rate: RunRate::Max,
        controlled: false,
        loops: vec![(LoopKind::Threads, LoopValue::Number(super::Number::plain(FORMAT_THREADS)))],
        elapsed_s: None,
        warmup_s: 0,
        storage_set: None,
    }
}

fn storage_count(file: &ParameterFile, rd: &RunDef) -> usize {
    match &rd.storages {
        Some(list) => list.len(),
        None => super::resolve::used_storages(file, rd).len(),
    }
}

fn storage_set_count(file: &ParameterFile, rd: &RunDef) -> u64 {
    let n = match rd.storage_choice {
        StorageChoice::Together => 1,
        StorageChoice::Single | StorageChoice::Growing => storage_count(file, rd),
        StorageChoice::Sets(size) => storage_count(file, rd).div_ceil(size),
    };
    n as u64
}

fn storage_sets(file: &ParameterFile, rd: &RunDef) -> Box<dyn Iterator<Item = Option<(usize, usize)>>> {
    if rd.storage_choice == StorageChoice::Together {
        return Box::new(std::iter::once(None));
    }
    let n = storage_count(file, rd);
    match rd.storage_choice {
        StorageChoice::Sets(size) => Box::new((0..n).step_by(size).map(move |i| Some((i, size.min(n - i))))),
        StorageChoice::Growing => Box::new((1..=n).map(|count| Some((0, count)))),
        _ => Box::new((0..n).map(|i| Some((i, 1)))),
    }
}

fn rates_of(rd: &RunDef) -> Option<&Rates> {
    if rd.file_workloads.is_empty() { rd.rate.as_ref() } else { rd.file_rate.as_ref() }
}

/// All runs of one definition: loops outside and rates inside, for trees the other way about.
fn one_definition(
    file: &ParameterFile,
    index: usize,
    rd: &RunDef,
    storage_set: Option<(usize, usize)>,
    runs: &mut Vec<ExpandedRun>,
) {
    let files = !rd.file_workloads.is_empty();
    let template = ExpandedRun {
        kind: if files { RunKind::Files } else { RunKind::Storage },
        name: rd.name.clone(),
        definition: Some(index),
        rate: RunRate::Max,
        controlled: super::resolve::is_controlled(file, rd),
        loops: Vec::new(),
        elapsed_s: Some(rd.elapsed_s),
        warmup_s: rd.warmup_s,
        storage_set,
    };
    let mut all = Vec::new();
    for loops in combinations(&rd.loops, file.limits.runs) {
        all.extend(at_rates(file, rd, &ExpandedRun { loops, ..template.clone() }));
        if all.len() >= file.limits.runs {
            break;
        }
    }
    if files {
        rates_outside(&mut all);
    }
    for (index, run) in all.into_iter().enumerate() {
        push_with_format(rd, run, index == 0, runs);
    }
}

/// Values of the loops, the last one turning fastest.
fn combinations(loops: &[Loop], most: usize) -> Vec<Vec<(LoopKind, LoopValue)>> {
    let mut counters = vec![0usize; loops.len()];
    let mut all = Vec::new();
    loop {
        all.push(values_at(loops, &counters));
        if all.len() >= most || !advance(loops, &mut counters) {
            return all;
        }
    }
}

/// Runs of trees in their order: a list of rates is the outermost loop, and the first in the label.
fn rates_outside(runs: &mut [ExpandedRun]) {
    let listed = |run: &ExpandedRun| run.loops.last().filter(|value| value.0 == LoopKind::FileRate).copied();
    let mut order: Vec<LoopValue> = Vec::new();
    for (_, value) in runs.iter().filter_map(listed) {
        if !order.contains(&value) {
            order.push(value);
        }
    }
    runs.sort_by_key(|run| listed(run).and_then(|(_, rate)| order.iter().position(|value| *value == rate)));
    for run in runs.iter_mut().filter(|run| listed(run).is_some()) {
        run.loops.rotate_right(1);
    }
}

fn values_at(loops: &[Loop], counters: &[usize]) -> Vec<(LoopKind, LoopValue)> {
    loops.iter().zip(counters).filter_map(|(l, i)| l.values.get(*i).map(|v| (l.kind, *v))).collect()
}

/// The next combination, the last loop turning fastest; `false` after the last one.
fn advance(loops: &[Loop], counters: &mut [usize]) -> bool {
    for (l, counter) in loops.iter().zip(counters).rev() {
        *counter += 1;
        if *counter < l.values.len() {
            return true;
        }
        *counter = 0;
    }
    false
}

fn at_rates(file: &ParameterFile, rd: &RunDef, run: &ExpandedRun) -> Vec<ExpandedRun> {
    let with = |rate: RunRate| ExpandedRun { rate, ..run.clone() };
    match rates_of(rd) {
        None | Some(Rates::Max) => vec![with(RunRate::Max)],
        Some(Rates::Curve) => {
            let mut all = vec![with(RunRate::Curve)];
            for percent in &rd.curve {
                let listed_rate = curve_rate(file.simulated_max_rate, *percent);
                if listed_rate < SLOWEST_POINT {
                    break;
                }
                let name = format!("{}_({}%)", rd.name, show(percent.trunc()));
                all.push(ExpandedRun {
                    name,
                    ..with(RunRate::CurvePoint { percent: *percent, listed_rate })
                });
            }
            all
        }
        Some(Rates::Values(_)) if rd.arrivals.variable => vec![with(RunRate::Variable)],
        Some(Rates::Values(values)) => {
            let kind = if run.kind == RunKind::Files { LoopKind::FileRate } else { LoopKind::Rate };
            let one = |number: &super::Number| {
                let rate = if number.percent {
                    RunRate::PercentOfMax(number.value)
                } else {
                    RunRate::Fixed(number.value)
                };
                let mut run = with(rate);
                if values.len() > 1 {
                    run.loops.push((kind, LoopValue::Number(*number)));
                }
                run
            };
            values.iter().map(one).collect()
        }
    }
}

fn push_with_format(rd: &RunDef, run: ExpandedRun, first: bool, runs: &mut Vec<ExpandedRun>) {
    let format = rd.format.filter(|f| !f.no && run.kind == RunKind::Files);
    let Some(format) = format else {
        runs.push(run);
        return;
    };
    // Of the points of a curve that only formats, none has anything to do.
    let point = matches!(run.rate, RunRate::CurvePoint { .. });
    if (first || !format.once) && !(format.only && point) {
        runs.push(ExpandedRun {
            kind: RunKind::FileFormat,
            name: format!("format_for_{}", rd.name),
            elapsed_s: format.limited.then_some(rd.elapsed_s),
            ..run.clone()
        });
    }
    if !format.only {
        runs.push(run);
    }
}
