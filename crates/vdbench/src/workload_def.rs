//! Workload definitions (wd): what is done to storage definitions.

use super::access::{OpenFlags, Seek, Sizes, Span, open_flags, seek, span, transfer_sizes};
use super::args::{Args, to_u64};
use super::keyword::{Definition, Keyword, Named, definition, in_full, lost, opens, placed, sets};
use super::sink::At;

definition! {
    /// What is done to one or more storage definitions.
    pub struct WorkloadDef {
        /// Indices of the storage definitions, in order.
        pub storages: Vec<usize>,
        /// Names and patterns as written.
        pub(crate) storage_words: Vec<(String, At)>,
        /// Share of the run's rate in percent; 0 shares what is left.
        pub skew: f64,
        /// Transfer sizes.
        pub transfer: Sizes = Sizes::Fixed(4096),
        /// Percentage of reads.
        pub read_pct: f64 = 100.0,
        /// Part of the target, before the storage definition's own.
        pub range: Option<Span>,
        /// Part of the target with the skewed access of a hot band.
        pub hot_band: Option<Span>,
        /// How addresses are chosen.
        pub seek: Seek = Seek::Random(100.0),
        /// Bytes skipped between I/Os: (min, max).
        pub stride: Option<(u64, u64)>,
        /// Priority, 1 is served first.
        pub priority: Option<u64>,
        /// A rate of its own, in operations a second.
        pub rate: Option<f64>,
        /// Percentage of reads that go to the hit area.
        pub read_hit_pct: f64,
        /// Percentage of writes that go to the hit area.
        pub write_hit_pct: f64,
        /// Hosts (empty: all).
        pub hosts: Vec<String>,
        /// How targets are opened.
        pub open_flags: Option<OpenFlags>,
        /// Threads over concatenated storage definitions.
        pub threads: Option<f64>,
        /// Sequential streams per storage definition.
        pub streams: Option<u64>,
    }
}

const KEYWORDS: &[Keyword<WorkloadDef>] = &[
    opens(&["wd"]),
    in_full(sets(&["sd"], "sd2", |wd, args| wd.storage_words = selection(args))),
    sets(&["skew"], "50", |wd, args| wd.skew = args.number(0.0, 100.0).unwrap_or_default()),
    sets(&["xfersize"], "8k", |wd, args| {
        wd.transfer = transfer_sizes(args).unwrap_or_else(|| wd.transfer.clone())
    }),
    sets(&["readpct", "rdpct"], "20", |wd, args| {
        wd.read_pct = args.number(0.0, 100.0).map_or(wd.read_pct, f64::trunc)
    }),
    sets(&["writepct", "wrpct"], "20", |wd, args| {
        wd.read_pct = args.number(0.0, 100.0).map_or(wd.read_pct, |w| 100.0 - w.trunc())
    }),
    sets(&["range"], "(10,50)", |wd, args| wd.range = span(args)),
    sets(&["hotband"], "(10,50)", |wd, args| wd.hot_band = span(args)),
    sets(&["seekpct"], "20", |wd, args| wd.seek = seek(args).unwrap_or(wd.seek)),
    sets(&["stride"], "(1m,2m)", |wd, args| wd.stride = stride(args)),
    sets(&["priority"], "1", |wd, args| wd.priority = args.whole(1, 65_536)),
    sets(&["iorate"], "7", |wd, args| wd.rate = args.number(0.001, 1e9)),
    sets(&["rhpct"], "20", |wd, args| wd.read_hit_pct = args.number(0.0, 100.0).unwrap_or_default()),
    sets(&["whpct"], "20", |wd, args| wd.write_hit_pct = args.number(0.0, 100.0).unwrap_or_default()),
    in_full(sets(&["host", "hd"], "localhost", |wd, args| wd.hosts = args.words())),
    sets(&["openflags"], "o_direct", |wd, args| wd.open_flags = open_flags(args).or(wd.open_flags.take())),
    in_full(lost(
        &["user"],
        "user-class",
        "a Java class cannot be called",
        "write the pattern with vdbench's keywords",
    )),
    sets(&["threads"], "3", |wd, args| wd.threads = args.number(1.0, 1e6)),
    sets(&["streams"], "2", |wd, args| wd.streams = args.whole(2, 65_536)),
];

/// The words of a selection with their places.
pub(crate) fn selection(args: &Args<'_>) -> Vec<(String, At)> {
    args.values.iter().map(|v| (v.word.text.clone(), v.word.at)).collect()
}

fn stride(args: &mut Args<'_>) -> Option<(u64, u64)> {
    let numbers = args.numbers()?;
    match numbers[..] {
        [min, max] if min.value >= 0.0 && max.value >= min.value => {
            Some((to_u64(min.value), to_u64(max.value)))
        }
        _ => args.refuse(0, "expected (min,max)", "write stride=(1m,8m)"),
    }
}
