//! General parameters: those that stand before the first definition.

use super::access::Amount;
use super::args::{Args, to_u64};
use super::sink::At;

/// How written data is made reducible by deduplication.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dedup {
    /// Blocks written for each unique block; 1 where not asked for.
    pub ratio: Option<f64>,
    /// Size in bytes of the unit that is compared.
    pub unit: Option<u64>,
    /// Number of sets of duplicates.
    pub sets: Option<Amount>,
    /// Pairs of (number of sets, duplicates in each) at the start of the target.
    pub hot_sets: Vec<(u64, u64)>,
    /// Duplicates change their content when rewritten.
    pub flipflop: Option<String>,
}

/// What happens after a data error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataErrors {
    /// Stop after this many errors, or after this many seconds from the first.
    Stop {
        /// Number of errors.
        count: u64,
        /// Seconds, where given.
        after_s: Option<u64>,
    },
    /// Take the target out of the run, after a number of seconds.
    Remove(Option<u64>),
    /// Run a command.
    Command(String),
}

/// Parameters that hold for the whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct General {
    /// Compression ratio of written data (1: incompressible).
    pub compression_ratio: Option<f64>,
    /// Seed of the data pattern; `tod` is `None` with the time of day.
    pub pattern_seed: Option<u64>,
    /// Deduplication.
    pub dedup: Dedup,
    /// File or name of a data pattern.
    pub pattern: Option<Vec<String>>,
    /// What happens after a data error.
    pub data_errors: Option<DataErrors>,
    /// `validate=` words; empty where not asked for.
    pub validate: Vec<String>,
    /// `journal=` words; empty where not asked for.
    pub journal: Vec<String>,
    /// Command before each run.
    pub start_command: Vec<String>,
    /// Command after each run.
    pub end_command: Vec<String>,
    /// Transfer size of format runs in bytes.
    pub format_transfer_bytes: Option<u64>,
    /// Create missing anchor directories.
    pub create_anchors: bool,
    /// Format file SDs: `Some(false)` never.
    pub format_sds: Option<bool>,
    /// All SDs of a workload act as one long target.
    pub concatenate_sds: bool,
    /// `loop=`: run everything again, in passes or seconds.
    pub repeat: Option<String>,
    /// Raise thread counts so that each file workload gets one (default), or stop.
    pub thread_adjust: Option<bool>,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
}

/// Applies one parameter.
pub(crate) fn apply(general: &mut General, args: &mut Args<'_>) {
    general.set.push((args.name, args.at));
    if dedup(&mut general.dedup, args) || inert(args) {
        return;
    }
    match args.name {
        "compression" => {
            if let Some(percent) = args.number(1.0, 100.0) {
                general.compression_ratio = Some(100.0 / percent);
            }
        }
        "compratio" => general.compression_ratio = args.number(1.0, 25.0).or(general.compression_ratio),
        "compressionseed" => {
            general.pattern_seed = args.values.first().and_then(|v| v.number).map(|n| to_u64(n.value))
        }
        "pattern" => general.pattern = Some(args.words()),
        "data_errors" | "dataerrors" => general.data_errors = data_errors(args),
        "validate" => general.validate = args.words(),
        "journal" => general.journal = args.words(),
        "startcmd" | "start_cmd" => general.start_command = args.words(),
        "endcmd" | "end_cmd" => general.end_command = args.words(),
        "formatxfersize" => general.format_transfer_bytes = args.whole(512, 1 << 30),
        "create_anchors" => general.create_anchors = args.yes().unwrap_or_default(),
        "formatsds" => general.format_sds = args.yes(),
        "concatenatesds" => general.concatenate_sds = args.yes().unwrap_or_default(),
        "loop" => general.repeat = Some(args.word()),
        "fwd_thread_adjust" => general.thread_adjust = args.yes(),
        "swat" => args.reject(0, "swat is no longer part of the language", "remove the line"),
        _ => {}
    }
}

/// `dedup*=`, which general parameters, SDs and FSDs share; `false` where the parameter is another one.
pub(crate) fn dedup(dedup: &mut Dedup, args: &mut Args<'_>) -> bool {
    match args.name {
        "dedupratio" => dedup.ratio = args.number(1.0, 1e6),
        "dedupunit" => dedup.unit = args.whole(512, 1 << 30),
        "dedupsets" => {
            let number = args.numbers().and_then(|n| n.first().copied());
            dedup.sets = number.map(super::access::amount);
        }
        "deduphotsets" => {
            let numbers = args.numbers().unwrap_or_default();
            dedup.hot_sets =
                numbers.chunks_exact(2).map(|pair| (to_u64(pair[0].value), to_u64(pair[1].value))).collect();
        }
        "dedupflipflop" => dedup.flipflop = Some(args.lower()),
        _ => return false,
    }
    true
}

fn data_errors(args: &mut Args<'_>) -> Option<DataErrors> {
    let number =
        |args: &Args<'_>, i: usize| args.values.get(i).and_then(|v| v.number).map(|n| to_u64(n.value));
    if let Some(count) = number(args, 0) {
        return Some(DataErrors::Stop { count, after_s: number(args, 1) });
    }
    let word = args.word();
    if let Some(delay) = word.strip_prefix("remove") {
        if args.values.len() > 1 {
            args.reject(1, "the delay of `remove` is not a list element", "write data_errors=\"remove=60\"");
        }
        return Some(DataErrors::Remove(delay.strip_prefix('=').and_then(|d| d.parse().ok())));
    }
    Some(DataErrors::Command(word))
}

/// Parameters of vdbench's own machinery; `true` where the parameter was one of them.
fn inert(args: &mut Args<'_>) -> bool {
    match args.name {
        "port" => note(args, "the workers need no fixed port"),
        "debug" => note(args, "debug numbers are internal to vdbench"),
        "heartbeat_error" => note(args, "lost workers are found by the control stream"),
        "report" | "report_run_totals" => note(args, "every detail is always kept in the run"),
        "histogram" => note(args, "the histogram kept is finer than any list of bounds"),
        "pattern_buffer" | "ios_per_jvm" => {
            note(args, "it sizes a buffer or process that does not exist here")
        }
        "unix2windows" => {
            args.lose("vdbench-only", "paths are not rewritten", "write the path of this system")
        }
        "psrset" => args.lose("vdbench-only", "no processor set is used", "run under taskset or a cpuset"),
        "auxreport" => args.lose_report(
            "vdbench-only",
            "the auxiliary report is not made",
            "`assay report` renders a run",
        ),
        "monitor" => args.lose_report(
            "vdbench-only",
            "no file is watched for commands",
            "stop the run with an interrupt",
        ),
        "messagescan" => {
            if !args.lower().starts_with('n') {
                args.lose_report(
                    "vdbench-only",
                    "system messages are not scanned",
                    "read the kernel log beside the run",
                );
            }
        }
        "abort_failed_skew" => {
            args.lose(
                "vdbench-only",
                "a missed skew does not stop the run",
                "see the finding rate-not-reached",
            );
        }
        "misc" => args.lose("vdbench-only", "internal switches are not known", "remove the line"),
        "showlba" => args.lose_report(
            "vdbench-only",
            "addresses are not traced",
            "`assay audit` shows where traffic lands",
        ),
        "timeout" => args.lose_report(
            "vdbench-only",
            "no script runs on slow I/O",
            "see the age of the oldest outstanding I/O",
        ),
        _ => return false,
    }
    true
}

fn note(args: &mut Args<'_>, why: &str) {
    let message = format!("`{}=` has no effect: {why}", args.name);
    args.note("no-effect", message, "");
}
