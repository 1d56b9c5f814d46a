//! Run definitions (rd): which workloads run, how fast, how long, and over which loops.

use super::access::{Amount, OpenFlags, amount, open_flags};
use super::args::{Args, to_u64};
use super::file_workload::{FileOperation, operations};
use super::number::{Number, show, show_size};
use super::sink::At;
use super::workload_def::selection;

/// `iorate=` or `fwdrate=`.
#[derive(Debug, Clone, PartialEq)]
pub enum Rates {
    /// As fast as possible.
    Max,
    /// The maximum first, then the points of the curve.
    Curve,
    /// One run for each; percentages are of the last maximum.
    Values(Vec<Number>),
}

/// How I/Os are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArrivalKind {
    /// Independent arrivals.
    #[default]
    Exponential,
    /// Gaps between nothing and twice the mean.
    Uniform,
    /// Equal gaps.
    Deterministic,
}

/// `distribution=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// The law of the gaps.
    pub kind: ArrivalKind,
    /// The rate list alternates rates and seconds.
    pub variable: bool,
    /// A second's I/Os start together.
    pub spike: bool,
}

/// `sd=` of a run: a list, or one of the special words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StorageChoice {
    /// The listed definitions together.
    #[default]
    Together,
    /// One run for each.
    Single,
    /// One run with the first, one with the first two, and so on.
    Growing,
    /// One run for each set of so many.
    Sets(usize),
}

/// What a loop changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the parameter it is named after")]
pub enum LoopKind {
    TransferSize,
    Threads,
    ReadPct,
    ReadHitPct,
    WriteHitPct,
    SeekPct,
    HitArea,
    CompressionRatio,
    Compression,
    Depth,
    Width,
    Files,
    Sizes,
    TotalSize,
    WorkingSet,
    Operation,
    Rate,
    FileRate,
}

impl LoopKind {
    /// The keyword that run labels use.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::TransferSize => "xfersize",
            Self::Threads => "threads",
            Self::ReadPct => "rdpct",
            Self::ReadHitPct => "rhpct",
            Self::WriteHitPct => "whpct",
            Self::SeekPct => "seekpct",
            Self::HitArea => "hitarea",
            Self::CompressionRatio => "compratio",
            Self::Compression => "compression",
            Self::Depth => "depth",
            Self::Width => "width",
            Self::Files => "files",
            Self::Sizes => "sizes",
            Self::TotalSize => "totalsize",
            Self::WorkingSet => "wss",
            Self::Operation => "operations",
            Self::Rate => "iorate",
            Self::FileRate => "fwdrate",
        }
    }

    fn from_keyword(keyword: &str) -> Option<Self> {
        Some(match keyword.strip_prefix("for").unwrap_or(keyword) {
            "xfersize" => Self::TransferSize,
            "threads" => Self::Threads,
            "rdpct" => Self::ReadPct,
            "rhpct" => Self::ReadHitPct,
            "whpct" => Self::WriteHitPct,
            "seekpct" => Self::SeekPct,
            "hitarea" => Self::HitArea,
            "compratio" => Self::CompressionRatio,
            "compression" => Self::Compression,
            "depth" => Self::Depth,
            "width" => Self::Width,
            "files" => Self::Files,
            "sizes" => Self::Sizes,
            "totalsize" => Self::TotalSize,
            "wss" | "workingsetsize" => Self::WorkingSet,
            "operations" if keyword.starts_with("for") => Self::Operation,
            _ => return None,
        })
    }

    fn is_size(self) -> bool {
        matches!(self, Self::TransferSize | Self::HitArea | Self::Sizes | Self::TotalSize | Self::WorkingSet)
    }

    fn is_percent(self) -> bool {
        matches!(self, Self::ReadPct | Self::ReadHitPct | Self::WriteHitPct)
    }
}

/// One value of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopValue {
    /// A number.
    Number(Number),
    /// An operation.
    Operation(FileOperation),
}

impl LoopValue {
    /// As run labels print it.
    #[must_use]
    pub fn show(self, kind: LoopKind) -> String {
        match self {
            Self::Operation(op) => op.word().to_owned(),
            Self::Number(n) if n.percent => format!("{}%", show(n.value)),
            Self::Number(n) if kind.is_size() => show_size(n.value),
            Self::Number(n) => show(n.value),
        }
    }
}

/// A loop over one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// What changes.
    pub kind: LoopKind,
    /// The values, in order.
    pub values: Vec<LoopValue>,
}

/// `format=`: what to do with the trees before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Format {
    /// `no`, which wins over everything else.
    pub no: bool,
    /// No run after the format.
    pub only: bool,
    /// Create only what is missing.
    pub restart: bool,
    /// Directories only.
    pub directories: bool,
    /// Delete only.
    pub clean: bool,
    /// Before the first run of the definition only.
    pub once: bool,
    /// Stop the format when the elapsed time is over.
    pub limited: bool,
    /// Assume that the tree is complete.
    pub complete: bool,
}

/// Which workloads run, how fast, how long, and over which loops.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDef {
    /// Name.
    pub name: String,
    /// Indices of workload definitions.
    pub workloads: Vec<usize>,
    /// Indices of storage definitions, where the run names its own.
    pub storages: Option<Vec<usize>>,
    /// How the storage definitions are combined.
    pub storage_choice: StorageChoice,
    /// Indices of file workload definitions.
    pub file_workloads: Vec<usize>,
    /// Indices of trees, where the run names its own.
    pub file_systems: Option<Vec<usize>>,
    /// Names and patterns as written: wd, sd, fwd, fsd.
    pub(crate) words: [Vec<(String, At)>; 4],
    /// `iorate=`.
    pub rate: Option<Rates>,
    /// `fwdrate=`.
    pub file_rate: Option<Rates>,
    /// Points of a curve in percent of the maximum.
    pub curve: Vec<f64>,
    /// Mean response time in ms that ends a curve.
    pub stop_curve_ms: Option<f64>,
    /// Measured seconds.
    pub elapsed_s: u64,
    /// Seconds of a report interval.
    pub interval_s: u64,
    /// Seconds before measuring.
    pub warmup_s: u64,
    /// Seconds of rest behind each run.
    pub pause_s: u64,
    /// Stop after so much data; a plain number below 100 is multiples of the targets' size.
    pub max_data: Option<Amount>,
    /// The same for reads.
    pub max_data_read: Option<Amount>,
    /// The same for writes.
    pub max_data_written: Option<Amount>,
    /// Loops, outermost first.
    pub loops: Vec<Loop>,
    /// Arrivals.
    pub arrivals: Arrivals,
    /// Operations, all at once with equal shares.
    pub operations: Vec<FileOperation>,
    /// What to do with the trees first.
    pub format: Option<Format>,
    /// How targets are opened.
    pub open_flags: Option<OpenFlags>,
    /// Command before the run.
    pub start_command: Vec<String>,
    /// Command after the run.
    pub end_command: Vec<String>,
    /// Where it is defined.
    pub at: At,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
    /// How many entries of `set` came from `rd=default`.
    pub(crate) inherited: usize,
}

impl Default for RunDef {
    fn default() -> Self {
        Self {
            name: String::new(),
            workloads: Vec::new(),
            storages: None,
            storage_choice: StorageChoice::Together,
            file_workloads: Vec::new(),
            file_systems: None,
            words: Default::default(),
            rate: None,
            file_rate: None,
            curve: vec![10.0, 50.0, 70.0, 80.0, 90.0, 100.0],
            stop_curve_ms: None,
            elapsed_s: 30,
            interval_s: 1,
            warmup_s: 0,
            pause_s: 0,
            max_data: None,
            max_data_read: None,
            max_data_written: None,
            loops: Vec::new(),
            arrivals: Arrivals::default(),
            operations: Vec::new(),
            format: None,
            open_flags: None,
            start_command: Vec::new(),
            end_command: Vec::new(),
            at: At::default(),
            set: Vec::new(),
            inherited: 0,
        }
    }
}

/// Applies one parameter.
pub(crate) fn apply(rd: &mut RunDef, args: &mut Args<'_>) {
    const LONGEST_S: u64 = 1 << 40;
    let again = rd.set.iter().skip(rd.inherited).any(|(name, _)| *name == args.name);
    rd.set.push((args.name, args.at));
    if let Some(kind) = LoopKind::from_keyword(args.name) {
        return add_loop(rd, kind, args);
    }
    match args.name {
        "wd" if again => {
            args.reject(0, "a run names its workloads once", "a new wd must stand before the first rd")
        }
        "wd" => rd.words[0] = selection(args),
        "sd" => storages(rd, args),
        "fwd" => rd.words[2] = selection(args),
        "fsd" => rd.words[3] = selection(args),
        "iorate" => rd.rate = rates(args).or(rd.rate.take()),
        "fwdrate" => rd.file_rate = rates(args).or(rd.file_rate.take()),
        "curve" => rd.curve = args.numbers().map_or_else(Vec::new, |n| n.iter().map(|n| n.value).collect()),
        "stopcurve" => rd.stop_curve_ms = args.number(0.0, 1e9),
        "elapsed" => rd.elapsed_s = args.whole(1, LONGEST_S).unwrap_or(rd.elapsed_s),
        "interval" => rd.interval_s = args.whole(0, LONGEST_S).unwrap_or(rd.interval_s),
        "warmup" => rd.warmup_s = args.whole(0, LONGEST_S).unwrap_or(rd.warmup_s),
        "pause" => rd.pause_s = args.whole(0, LONGEST_S).unwrap_or(rd.pause_s),
        "maxdata" => rd.max_data = max_data(args),
        "maxdataread" => rd.max_data_read = max_data(args),
        "maxdatawritten" => rd.max_data_written = max_data(args),
        "distribution" => rd.arrivals = arrivals(args).unwrap_or(rd.arrivals),
        "operations" => rd.operations = operations(args),
        "format" => rd.format = format(args).or(rd.format),
        "openflags" => rd.open_flags = open_flags(args).or(rd.open_flags.take()),
        "startcmd" | "start_cmd" => rd.start_command = args.words(),
        "endcmd" | "end_cmd" => rd.end_command = args.words(),
        "mount" => args.lose("mount", "nothing is mounted", "mount before the run"),
        "replay" => args.lose("replay", "no trace is replayed here", "import the trace with `assay run`"),
        _ => {}
    }
}

fn storages(rd: &mut RunDef, args: &mut Args<'_>) {
    let word = args.lower();
    let sets = word.strip_prefix("setsof").and_then(|n| n.parse::<usize>().ok()).filter(|n| *n > 0);
    rd.storage_choice = match word.as_str() {
        "single" => StorageChoice::Single,
        "range" => StorageChoice::Growing,
        _ => sets.map_or(StorageChoice::Together, StorageChoice::Sets),
    };
    if rd.storage_choice == StorageChoice::Together {
        rd.words[1] = selection(args);
    }
}

fn rates(args: &mut Args<'_>) -> Option<Rates> {
    match args.lower().as_str() {
        "max" => Some(Rates::Max),
        "curve" => Some(Rates::Curve),
        _ => {
            let numbers = args.numbers()?;
            if let Some(bad) = numbers.iter().position(|n| n.value < 0.0 || (n.value == 0.0 && n.percent)) {
                args.reject(bad, "a rate must be above 0", "write a number, max or curve");
                return None;
            }
            Some(Rates::Values(numbers))
        }
    }
}

fn max_data(args: &mut Args<'_>) -> Option<Amount> {
    const MULTIPLES_BELOW: f64 = 100.0;
    let number = args.numbers()?.first().copied()?;
    if number.value < 0.0 {
        args.reject(0, "must not be negative", "give bytes, or a number below 100 for multiples of the size");
        return None;
    }
    if number.value < MULTIPLES_BELOW && !number.percent {
        return Some(Amount::Percent(number.value * 100.0));
    }
    Some(amount(number))
}

fn add_loop(rd: &mut RunDef, kind: LoopKind, args: &mut Args<'_>) {
    let values: Vec<LoopValue> = if kind == LoopKind::Operation {
        operations(args).into_iter().map(LoopValue::Operation).collect()
    } else {
        loop_numbers(kind, args).into_iter().map(LoopValue::Number).collect()
    };
    if values.is_empty() {
        return;
    }
    // A repeated keyword replaces the earlier one and becomes the innermost loop.
    rd.loops.retain(|l| l.kind != kind);
    rd.loops.push(Loop { kind, values });
}

fn loop_numbers(kind: LoopKind, args: &mut Args<'_>) -> Vec<Number> {
    if kind == LoopKind::SeekPct && args.values.iter().any(|v| v.number.is_none()) {
        let message =
            "vdbench takes only numbers for seekpct in a run; the word is taken as its number".to_owned();
        args.note("seekpct-word-in-run", message, "write 100 for random, 0 for sequential, -1 for eof");
        for value in &mut args.values {
            value.number = value.number.or(match value.word.text.to_ascii_lowercase().as_str() {
                "eof" => Some(Number::plain(-1.0)),
                w if w.starts_with("seq") => Some(Number::plain(0.0)),
                w if w.starts_with("rand") => Some(Number::plain(100.0)),
                _ => None,
            });
        }
    }
    let numbers = args.numbers().unwrap_or_default();
    let wrong = |n: &Number| match kind {
        LoopKind::TransferSize => n.value < 512.0 || n.value % 512.0 != 0.0,
        LoopKind::SeekPct => !(-1.0..=100.0).contains(&n.value),
        LoopKind::CompressionRatio => !(1.0..=25.0).contains(&n.value),
        _ if kind.is_percent() => !(0.0..=100.0).contains(&n.value),
        LoopKind::HitArea => n.value < 0.0,
        _ => n.value <= 0.0,
    };
    if let Some(bad) = numbers.iter().position(wrong) {
        let help = match kind {
            LoopKind::TransferSize => "in a run, a list is one run for each size; sizes are multiples of 512",
            _ => "choose a value within bounds",
        };
        args.reject(bad, "out of bounds", help);
        return Vec::new();
    }
    numbers
}

fn arrivals(args: &mut Args<'_>) -> Option<Arrivals> {
    let mut arrivals = Arrivals::default();
    for (i, word) in args.words().iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "exponential" => arrivals.kind = ArrivalKind::Exponential,
            "uniform" => arrivals.kind = ArrivalKind::Uniform,
            "deterministic" => arrivals.kind = ArrivalKind::Deterministic,
            "variable" => arrivals.variable = true,
            "spike" => arrivals.spike = true,
            _ => {
                args.reject(
                    i,
                    "unknown distribution",
                    "use exponential, uniform, deterministic, variable or spike",
                );
                return None;
            }
        }
    }
    Some(arrivals)
}

fn format(args: &mut Args<'_>) -> Option<Format> {
    let mut format = Format::default();
    for (i, word) in args.words().iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "yes" | "y" => {}
            "no" | "n" => format.no = true,
            "only" => format.only = true,
            "restart" => format.restart = true,
            "dir" | "directories" => format.directories = true,
            "clean" => (format.clean, format.only) = (true, true),
            "once" => format.once = true,
            "limited" => format.limited = true,
            "complete" => format.complete = true,
            _ => {
                let help = "use yes, no, only, restart, dir, clean, once, limited or complete";
                args.reject(i, "unknown format word", help);
                return None;
            }
        }
    }
    if format.limited && !format.only {
        args.reject(0, "`limited` needs `only`", "write format=(only,limited)");
    }
    Some(format)
}

/// A loop value as a whole number, for callers that need one.
#[must_use]
pub fn loop_u64(value: LoopValue) -> Option<u64> {
    match value {
        LoopValue::Number(n) if n.value >= 0.0 => Some(to_u64(n.value)),
        _ => None,
    }
}
