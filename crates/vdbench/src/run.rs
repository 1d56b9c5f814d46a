//! Run definitions (rd): which workloads run, how fast, how long, and over which loops.

use assay_workload::job::Arrival;

use super::access::{Amount, OpenFlags, amount, open_flags};
use super::args::Args;
use super::file_workload::{FileOperation, operations};
use super::keyword::{
    Definition, Keyword, Named, WantedCommand, command, definition, in_full, lost, opens, placed, replay,
    sets, wanted,
};
use super::loops::{Loop, LoopKind, add_loop};
use super::number::Number;
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

/// `distribution=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrivals {
    /// The law of the gaps.
    pub kind: Arrival,
    /// The rate list alternates rates and seconds.
    pub variable: bool,
    /// A second's I/Os start together.
    pub spike: bool,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals { kind: Arrival::Poisson, variable: false, spike: false }
    }
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

definition! {
    /// Which workloads run, how fast, how long, and over which loops.
    pub struct RunDef {
        /// Commands to be run before and after it.
        pub commands: Vec<WantedCommand>,
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
        pub curve: Vec<f64> = vec![10.0, 50.0, 70.0, 80.0, 90.0, 100.0],
        /// Mean response time in ms that ends a curve.
        pub stop_curve_ms: Option<f64>,
        /// Measured seconds.
        pub elapsed_s: u64 = 30,
        /// Seconds of a report interval.
        pub interval_s: u64 = 1,
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
        /// How many entries of `set` came from `rd=default`.
        pub(crate) inherited: usize,
    }
}

const LONGEST_S: u64 = 1 << 40;

const KEYWORDS: &[Keyword<RunDef>] = &[
    opens(&["rd"]),
    in_full(sets(&["wd"], "wd2", workloads)),
    in_full(sets(&["sd"], "sd2", storages)),
    in_full(sets(&["fsd"], "fsd2", |rd, args| rd.words[3] = selection(args))),
    in_full(sets(&["fwd"], "fwd2", |rd, args| rd.words[2] = selection(args))),
    sets(&["iorate"], "7", |rd, args| rd.rate = rates(args).or(rd.rate.take())),
    sets(&["maxdata"], "1m", |rd, args| rd.max_data = max_data(args)),
    sets(&["maxdataread"], "1m", |rd, args| rd.max_data_read = max_data(args)),
    sets(&["maxdatawritten"], "1m", |rd, args| rd.max_data_written = max_data(args)),
    sets(&["curve"], "(10,20),iorate=curve", |rd, args| {
        rd.curve = args.numbers().map_or_else(Vec::new, |n| n.iter().map(|n| n.value).collect())
    }),
    sets(&["stopcurve"], "5", |rd, args| rd.stop_curve_ms = args.number(0.0, 1e9)),
    sets(&["elapsed"], "20", |rd, args| rd.elapsed_s = args.whole(1, LONGEST_S).unwrap_or(rd.elapsed_s)),
    sets(&["interval"], "2", |rd, args| rd.interval_s = args.whole(0, LONGEST_S).unwrap_or(rd.interval_s)),
    sets(&["warmup"], "5", |rd, args| rd.warmup_s = args.whole(0, LONGEST_S).unwrap_or(rd.warmup_s)),
    replay(),
    sets(&["pause"], "5", |rd, args| rd.pause_s = args.whole(0, LONGEST_S).unwrap_or(rd.pause_s)),
    sets(&["forxfersize", "xfersize"], "(4k,8k)", looped),
    sets(&["forthreads", "threads"], "(2,3)", looped),
    sets(&["forrdpct", "rdpct"], "(20,30)", looped),
    sets(&["forrhpct", "rhpct"], "(20,30)", looped),
    sets(&["forwhpct", "whpct"], "(20,30)", looped),
    sets(&["forseekpct", "seekpct"], "(20,30)", looped),
    sets(&["forhitarea", "hitarea"], "(1m,2m)", looped),
    sets(&["forcompratio", "compratio"], "(2,3)", looped),
    sets(&["forcompression", "compression"], "(20,30)", looped),
    sets(&["fordepth", "depth"], "(2,3)", looped),
    sets(&["forwidth", "width"], "(2,3)", looped),
    sets(&["forfiles", "files"], "(2,3)", looped),
    sets(&["forsizes", "sizes"], "(8k,16k)", looped),
    sets(&["fortotalsize", "totalsize"], "(8k,16k)", looped),
    sets(&["forwss", "wss", "forworkingsetsize", "workingsetsize"], "(8k,16k)", looped),
    sets(&["foroperations"], "(read,write)", looped),
    sets(&["distribution"], "uniform", |rd, args| rd.arrivals = arrivals(args).unwrap_or(rd.arrivals)),
    command(&["startcmd", "start_cmd"], |rd, args| rd.commands.push(wanted("startcmd", args))),
    command(&["endcmd", "end_cmd"], |rd, args| rd.commands.push(wanted("endcmd", args))),
    sets(&["fwdrate"], "7", |rd, args| rd.file_rate = rates(args).or(rd.file_rate.take())),
    sets(&["operations"], "(read,write)", |rd, args| rd.operations = operations(args)),
    sets(&["format"], "only", |rd, args| rd.format = format(args).or(rd.format)),
    sets(&["openflags"], "o_direct", |rd, args| rd.open_flags = open_flags(args).or(rd.open_flags.take())),
    lost(&["mount"], "mount", "nothing is mounted", "mount before the run"),
];

fn looped(rd: &mut RunDef, args: &mut Args<'_>) {
    if let Some(kind) = LoopKind::from_keyword(args.name) {
        add_loop(&mut rd.loops, kind, args);
    }
}

fn workloads(rd: &mut RunDef, args: &mut Args<'_>) {
    // The place of this one is among them.
    if rd.set.iter().skip(rd.inherited).filter(|(name, _)| *name == args.name).count() > 1 {
        return args.reject(0, "a run names its workloads once", "a new wd must stand before the first rd");
    }
    rd.words[0] = selection(args);
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
                return args.refuse(bad, "a rate must be above 0", "write a number, max or curve");
            }
            Some(Rates::Values(numbers))
        }
    }
}

fn max_data(args: &mut Args<'_>) -> Option<Amount> {
    const MULTIPLES_BELOW: f64 = 100.0;
    let number = args.numbers()?.first().copied()?;
    if number.value < 0.0 {
        let help = "give bytes, or a number below 100 for multiples of the size";
        return args.refuse(0, "must not be negative", help);
    }
    if number.value < MULTIPLES_BELOW && !number.percent {
        return Some(Amount::Percent(number.value * 100.0));
    }
    Some(amount(number))
}

fn arrivals(args: &mut Args<'_>) -> Option<Arrivals> {
    let mut arrivals = Arrivals::default();
    for (i, word) in args.words().iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "exponential" => arrivals.kind = Arrival::Poisson,
            "uniform" => arrivals.kind = Arrival::Uniform,
            "deterministic" => arrivals.kind = Arrival::Deterministic,
            "variable" => arrivals.variable = true,
            "spike" => arrivals.spike = true,
            _ => {
                let help = "use exponential, uniform, deterministic, variable or spike";
                return args.refuse(i, "unknown distribution", help);
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
                return args.refuse(i, "unknown format word", help);
            }
        }
    }
    if format.limited && !format.only {
        args.reject(0, "`limited` needs `only`", "write format=(only,limited)");
    }
    Some(format)
}
