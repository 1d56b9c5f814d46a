//! File workload definitions (fwd): what is done to the files of a tree.

use assay_workload::tree::{FileSelection, FileState};

use super::access::{OpenFlags, Sizes, open_flags, transfer_sizes};
use super::args::Args;
use super::keyword::{Definition, Keyword, Named, definition, in_full, opens, placed, sets, worded};
use super::number::Number;
use super::sink::At;
use super::workload_def::selection;

worded! {
    /// An operation on files or directories, with its name in the language.
    pub enum FileOperation {
        Read = "read",
        Write = "write",
        Mkdir = "mkdir",
        Rmdir = "rmdir",
        Copy = "copy",
        Move = "move",
        Create = "create",
        Delete = "delete",
        Getattr = "getattr",
        Setattr = "setattr",
        Access = "access",
        Open = "open",
        Close = "close",
    }
}

impl FileOperation {
    /// The operation of that name, any case.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, name)| name.eq_ignore_ascii_case(word)).map(|(op, _)| *op)
    }
}

/// How a file is read or written once it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIo {
    /// Random addresses.
    pub random: bool,
    /// Several threads may use one file at once.
    pub shared: bool,
    /// Sequential from a random place.
    pub from_random: bool,
    /// A file is deleted before it is written again.
    pub delete: bool,
}

definition! {
    /// What is done to the files of a tree.
    pub struct FileWorkloadDef {
        /// Indices of the trees, in order.
        pub file_systems: Vec<usize>,
        /// Names and patterns as written.
        pub(crate) file_system_words: Vec<(String, At)>,
        /// Percentage of reads; where not given the operation decides.
        pub read_pct: Option<f64>,
        /// Blocks, or percent of the file's size, after which the file is closed.
        pub stop_after: Option<Number>,
        /// The operation.
        pub operation: FileOperation = FileOperation::Read,
        /// How files are chosen.
        pub select: FileSelection,
        /// Which files are eligible.
        pub state: FileState,
        /// How a file is accessed.
        pub io: FileIo,
        /// Transfer sizes.
        pub transfer: Sizes = Sizes::Fixed(4096),
        /// Share of the operations in percent; 0 shares what is left.
        pub skew: f64,
        /// Threads.
        pub threads: f64 = 1.0,
        /// Tree that copies and moves go to.
        pub target: Option<String>,
        /// Hosts (empty: all).
        pub hosts: Vec<String>,
        /// How files are opened.
        pub open_flags: Option<OpenFlags>,
    }
}

const KEYWORDS: &[Keyword<FileWorkloadDef>] = &[
    opens(&["fwd"]),
    in_full(sets(&["fsd"], "fsd2", |fwd, args| fwd.file_system_words = selection(args))),
    sets(&["readpct", "rdpct"], "20", |fwd, args| fwd.read_pct = args.number(0.0, 100.0).map(f64::trunc)),
    sets(&["stopafter"], "7", |fwd, args| fwd.stop_after = args.numbers().and_then(|n| n.first().copied())),
    sets(&["operation", "operations"], "write", operation),
    sets(&["fileselect"], "random", file_select),
    in_full(sets(&["fileio"], "(random,shared)", |fwd, args| fwd.io = file_io(args).unwrap_or(fwd.io))),
    sets(&["xfersizes"], "8k", |fwd, args| {
        fwd.transfer = transfer_sizes(args).unwrap_or_else(|| fwd.transfer.clone())
    }),
    sets(&["skew"], "50", |fwd, args| fwd.skew = args.number(0.0, 100.0).unwrap_or_default()),
    sets(&["threads"], "3", |fwd, args| fwd.threads = args.number(1.0, 1e6).unwrap_or(fwd.threads)),
    sets(&["target"], "fsd2,operation=copy", |fwd, args| fwd.target = Some(args.word())),
    in_full(sets(&["host", "hd"], "localhost", |fwd, args| fwd.hosts = args.words())),
    sets(&["openflags"], "o_direct", |fwd, args| fwd.open_flags = open_flags(args).or(fwd.open_flags.take())),
];

fn operation(fwd: &mut FileWorkloadDef, args: &mut Args<'_>) {
    match operations(args)[..] {
        [] => {}
        [one] => fwd.operation = one,
        _ => args.reject(1, "one operation is expected here", "use operations=(..) in the rd"),
    }
}

/// The operations of a list; unknown ones are reported.
pub(crate) fn operations(args: &mut Args<'_>) -> Vec<FileOperation> {
    let mut list = Vec::new();
    for (i, word) in args.words().iter().enumerate() {
        match FileOperation::from_word(word) {
            Some(op) => list.push(op),
            None if matches!(word.to_ascii_lowercase().as_str(), "put" | "get") => {
                args.lose("cloud", "objects of a cloud store are not accessed", "mount the bucket");
            }
            None => {
                let names: Vec<&str> = FileOperation::WORDS.iter().map(|(_, name)| *name).collect();
                args.reject(i, "unknown operation", &format!("use one of {}", names.join(", ")));
            }
        }
    }
    list
}

fn file_select(fwd: &mut FileWorkloadDef, args: &mut Args<'_>) {
    let mut midpoint = None;
    for (i, value) in args.values.clone().iter().enumerate() {
        let word = value.word.text.to_ascii_lowercase();
        match word.as_str() {
            _ if value.number.is_some() => midpoint = value.number.map(|n| n.value),
            w if w.starts_with("midpoint=") => midpoint = w["midpoint=".len()..].parse().ok(),
            "seqnz" => fwd.select = FileSelection::InOrderFromRandom,
            "once" => fwd.select = FileSelection::Once,
            "full" => fwd.state = FileState::Full,
            "empty" => fwd.state = FileState::Empty,
            "notfull" => fwd.state = FileState::NotFull,
            "poisson" | "skewed" => fwd.select = FileSelection::Skewed { midpoint: 3.0 },
            w if w.starts_with("seq") => fwd.select = FileSelection::InOrder,
            w if w.starts_with("rand") => fwd.select = FileSelection::Random,
            _ => args.reject(
                i,
                "unknown way to choose files",
                "use random, seq, seqnz, once, poisson, full, empty, notfull",
            ),
        }
    }
    if let (FileSelection::Skewed { midpoint: m }, Some(given)) = (&mut fwd.select, midpoint) {
        if given > 0.0 {
            *m = given;
        } else {
            args.reject(1, "the midpoint must be above 0", "write (poisson,3)");
        }
    }
}

fn file_io(args: &mut Args<'_>) -> Option<FileIo> {
    let mut io = FileIo::default();
    for (i, word) in args.words().iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "shared" => io.shared = true,
            "delete" => io.delete = true,
            "seqnz" => io.from_random = true,
            w if w.starts_with("seq") => {}
            w if w.starts_with("rand") => io.random = true,
            _ => {
                let help = "use random, sequential, seqnz, (random,shared), (seq,delete)";
                return args.refuse(i, "unknown file access", help);
            }
        }
    }
    Some(io)
}
