//! General parameters: those that stand before the first definition.

use super::args::{Args, to_u64};
use super::keyword::{
    Definition, Keyword, WantedCommand, command, dedup_sets, in_full, inert, lost, refused, reporting, sets,
    wanted,
};
use super::sink::At;

/// How written data is made reducible by deduplication.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dedup {
    /// Blocks written for each unique block; 1 where not asked for.
    pub ratio: Option<f64>,
    /// Size in bytes of the unit that is compared.
    pub unit: Option<u64>,
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

/// How data is validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validation {
    /// What was written is read back at once.
    pub reread: bool,
    /// A block is read and compared before it is written over.
    pub preread: bool,
    /// Writes are kept in a journal.
    pub journal: bool,
}

impl Default for Validation {
    fn default() -> Self {
        Validation { reread: false, preread: true, journal: false }
    }
}

/// Parameters that hold for the whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct General {
    /// Compression ratio of written data (1: incompressible).
    pub compression_ratio: Option<f64>,
    /// Deduplication.
    pub dedup: Dedup,
    /// What happens after a data error.
    pub data_errors: Option<DataErrors>,
    /// How data is validated, which makes rules about names stricter; `None`: it is not.
    pub validation: Option<Validation>,
    /// Transfer size of format runs in bytes.
    pub format_transfer_bytes: Option<u64>,
    /// Format file SDs: `Some(false)` never.
    pub format_sds: Option<bool>,
    /// All SDs of a workload act as one long target.
    pub concatenate_sds: bool,
    /// Raise thread counts so that each file workload gets one (default), or stop.
    pub thread_adjust: Option<bool>,
    /// Commands to be run before and after the runs.
    pub commands: Vec<WantedCommand>,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
}

impl Definition for General {
    const KEYWORDS: &'static [Keyword<Self>] = &[
        sets(&["compression"], "50", |general, args| {
            if let Some(percent) = args.number(1.0, 100.0) {
                general.compression_ratio = Some(100.0 / percent);
            }
        }),
        sets(&["compratio"], "2", |general, args| {
            general.compression_ratio = args.number(1.0, 25.0).or(general.compression_ratio)
        }),
        lost(&["compressionseed"], "pattern", "the data follows the seed of the run", "use --seed"),
        sets(&["dedupratio", "dedupunit"], "2", |general, args| dedup(&mut general.dedup, args)),
        dedup_sets(),
        inert(&["port"], "the workers need no fixed port"),
        lost(
            &["pattern"],
            "pattern",
            "the data pattern is not used; random data is written",
            "use compratio=",
        ),
        sets(&["data_errors", "dataerrors"], "7", |general, args| general.data_errors = data_errors(args)),
        refused(&["swat"], "swat is no longer part of the language", "remove the line"),
        sets(&["validate"], "yes", |general, args| general.validation = validation(general.validation, args)),
        in_full(sets(&["journal"], "yes", |general, args| {
            general.validation = journal(general.validation, args);
        })),
        command(&["startcmd", "start_cmd"], |general, args| general.commands.push(wanted("startcmd", args))),
        command(&["endcmd", "end_cmd"], |general, args| general.commands.push(wanted("endcmd", args))),
        in_full(inert(&["heartbeat_error"], "lost workers are found by the control stream")),
        in_full(inert(&["debug"], "debug numbers are internal to vdbench")),
        lost(&["unix2windows"], "vdbench-only", "paths are not rewritten", "write the path of this system"),
        sets(&["formatxfersize"], "64k", |general, args| {
            general.format_transfer_bytes = args.whole(512, 1 << 30)
        }),
        inert(&["create_anchors"], "the directories of a tree are always made"),
        sets(&["formatsds"], "no", |general, args| general.format_sds = args.yes()),
        inert(&["report", "report_run_totals"], "every detail is always kept in the run"),
        inert(&["histogram"], "the histogram kept is finer than any list of bounds"),
        lost(&["psrset"], "vdbench-only", "no processor set is used", "run under taskset or a cpuset"),
        reporting(lost(
            &["auxreport"],
            "vdbench-only",
            "the auxiliary report is not made",
            "`assay report` renders a run",
        )),
        reporting(lost(
            &["monitor"],
            "vdbench-only",
            "no file is watched for commands",
            "stop the run with an interrupt",
        )),
        sets(&["concatenatesds"], "yes", |general, args| {
            general.concatenate_sds = args.yes().unwrap_or_default()
        }),
        sets(&["messagescan"], "yes", |_, args| {
            if !args.lower().starts_with('n') {
                let what = "system messages are not scanned";
                args.lose_report("vdbench-only", what, "read the kernel log beside the run");
            }
        }),
        lost(
            &["abort_failed_skew"],
            "vdbench-only",
            "a missed skew does not stop the run",
            "see the finding rate-not-reached",
        ),
        lost(&["misc"], "vdbench-only", "internal switches are not known", "remove the line"),
        in_full(inert(&["pattern_buffer"], "it sizes a buffer or process that does not exist here")),
        in_full(reporting(lost(
            &["showlba"],
            "vdbench-only",
            "addresses are not traced",
            "`assay audit` shows where traffic lands",
        ))),
        in_full(lost(&["loop"], "loop", "the file is run once", "use --repeat")),
        reporting(lost(
            &["timeout"],
            "vdbench-only",
            "no script runs on slow I/O",
            "the highest latency is in the result",
        )),
        inert(&["ios_per_jvm"], "it sizes a buffer or process that does not exist here"),
        sets(&["fwd_thread_adjust"], "no", |general, args| general.thread_adjust = args.yes()),
    ];

    fn places(&mut self) -> &mut Vec<(&'static str, At)> {
        &mut self.set
    }
}

/// `dedup*=`, which general parameters, SDs and FSDs share.
pub(crate) fn dedup(dedup: &mut Dedup, args: &mut Args<'_>) {
    match args.name {
        "dedupratio" => dedup.ratio = args.number(1.0, 1e6),
        _ => dedup.unit = args.whole(512, 1 << 30),
    }
}

/// `validate=` with one word or several; `before` is what was said already.
fn validation(before: Option<Validation>, args: &mut Args<'_>) -> Option<Validation> {
    let mut found = before.unwrap_or_default();
    for (index, word) in args.words().into_iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "no" | "n" | "off" => return None,
            "yes" | "y" | "on" => {}
            word if word.starts_with("read") => found.reread = true,
            word if word.starts_with("no_pre") => found.preread = false,
            "time" | "reportdedupsets" => {
                let message = format!(
                    "`{word}` has no effect: each wrong block is listed with the generations and runs of its sectors"
                );
                args.note("no-effect", message, "");
            }
            _ => args.reject(
                index,
                "expected yes, read, no_preread or time",
                "write validate=yes or validate=(yes,read)",
            ),
        }
    }
    Some(found)
}

/// `journal=` with one word or several; `before` is what was said of validation already.
fn journal(before: Option<Validation>, args: &mut Args<'_>) -> Option<Validation> {
    for (index, word) in args.words().into_iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "no" | "n" | "off" => return before,
            "yes" | "y" | "on" | "noflush" | "maponly" | "ignore_pending" => {}
            "recover" | "only" => {
                let lost = "the journal of an earlier run is not worked through first";
                args.lose("data-validation", lost, "assay runs verify RUN");
            }
            word if word.starts_with("max=") => {
                args.note(
                    "no-effect",
                    "`max=` has no effect: a journal that has grown long is made short by itself",
                    "",
                );
            }
            _ => args.reject(
                index,
                "expected yes, recover, only, noflush, maponly or ignore_pending",
                "write journal=yes",
            ),
        }
    }
    Some(Validation { journal: true, ..before.unwrap_or_default() })
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
