//! Storage definitions (sd): raw devices and single files.

use super::access::{Amount, OpenFlags, Span, amount, open_flags, span};
use super::args::{Args, to_u64};
use super::general::{Dedup, dedup};
use super::keyword::{
    Definition, Keyword, Named, dedup_sets, definition, in_full, lost, opens, placed, refused, replay,
    reporting, sets,
};
use super::sink::At;

/// A path, and the hosts it is used from (empty: all).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// Host labels or prefixes ending in `*`, as written.
    pub hosts: Vec<String>,
    /// Device or file.
    pub path: String,
}

definition! {
    /// A raw device or a file.
    pub struct StorageDef {
        /// Paths by host; at least one in a valid file.
        pub luns: Vec<Lun>,
        /// Bytes to use; the device's own size where not given.
        pub size: Option<u64>,
        /// Synchronous threads, which is the outstanding I/O.
        pub threads: f64 = 8.0,
        /// Size of the area that cache hits go to.
        pub hit_area: Amount = Amount::Bytes(1 << 20),
        /// Bytes added to every address.
        pub offset: u64,
        /// Alignment of random addresses in bytes; 0 means the transfer size.
        pub align: u64,
        /// Part of the target to use.
        pub range: Option<Span>,
        /// How it is opened.
        pub open_flags: Option<OpenFlags>,
        /// Deduplication.
        pub dedup: Dedup,
        /// The directory of the journal of its writes, where one is kept.
        pub journal: Option<String>,
        /// `count=(start,n)`, until the clones are made.
        pub count: Option<(u64, u64)>,
        /// Hosts for the next `lun=`.
        pub(crate) pending_hosts: Vec<String>,
    }
}

impl StorageDef {
    /// Whether the path counts as a raw device: everything below `/dev`, and Windows device paths.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.luns.iter().any(|l| l.path.starts_with("/dev") || l.path.starts_with("\\\\"))
    }
}

const SECTOR: u64 = 512;

const KEYWORDS: &[Keyword<StorageDef>] = &[
    opens(&["sd"]),
    in_full(sets(&["host", "hd"], "localhost,lun=/tmp/s3", |sd, args| sd.pending_hosts = args.words())),
    sets(&["lun"], "/tmp/b", |sd, args| {
        sd.luns.push(Lun { hosts: sd.pending_hosts.clone(), path: args.word() })
    }),
    sets(&["count"], "(1,2)", |sd, args| sd.count = count(args)),
    sets(&["size"], "128m", |sd, args| sd.size = size(args)),
    sets(&["threads"], "3", |sd, args| sd.threads = args.divided().unwrap_or(sd.threads)),
    sets(&["hitarea"], "2m", |sd, args| {
        if let Some(number) = args.numbers().and_then(|n| n.first().copied()) {
            sd.hit_area = amount(number);
        }
    }),
    sets(&["offset"], "4k", |sd, args| sd.offset = sectors(args).unwrap_or(sd.offset)),
    sets(&["align"], "8k", |sd, args| sd.align = sectors(args).unwrap_or(sd.align)),
    reporting(lost(
        &["kstat", "instance"],
        "vdbench-only",
        "kernel statistics are chosen by path",
        "remove it",
    )),
    replay(),
    sets(&["journal"], "/tmp/j", |sd, args| sd.journal = Some(args.word())),
    lost(&["resetlun", "resetbus"], "vdbench-only", "no bus or target is reset", "remove it"),
    sets(&["openflags"], "o_direct", |sd, args| sd.open_flags = open_flags(args).or(sd.open_flags.take())),
    sets(&["range"], "(10,50)", |sd, args| sd.range = span(args)),
    sets(&["dedupratio", "dedupunit"], "2", |sd, args| dedup(&mut sd.dedup, args)),
    dedup_sets(),
    refused(&["streams"], "streams belong to a workload definition", "move it to the wd"),
];

fn size(args: &mut Args<'_>) -> Option<u64> {
    if args.numbers()?.iter().any(|n| n.percent) {
        return args.refuse(0, "a size cannot be a percentage", "use range=(0,50) for a part of a target");
    }
    args.divided().map(to_u64)
}

fn sectors(args: &mut Args<'_>) -> Option<u64> {
    let value = args.whole(0, 1 << 60)?;
    if value % SECTOR != 0 {
        return args.refuse(0, "must be a multiple of 512", "write 4k");
    }
    Some(value)
}

/// `count=(start,n)`.
pub(crate) fn count(args: &mut Args<'_>) -> Option<(u64, u64)> {
    let numbers = args.numbers()?;
    match numbers[..] {
        [start, n] if start.value >= 0.0 && n.value >= 1.0 => Some((to_u64(start.value), to_u64(n.value))),
        _ => args.refuse(0, "expected (start,n)", "write count=(1,8)"),
    }
}
