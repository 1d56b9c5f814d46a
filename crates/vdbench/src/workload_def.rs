//! Workload definitions (wd): what is done to storage definitions.

use super::access::{OpenFlags, Seek, Sizes, Span, open_flags, seek, span, transfer_sizes};
use super::args::{Args, to_u64};
use super::sink::At;

/// What is done to one or more storage definitions.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadDef {
    /// Name.
    pub name: String,
    /// Indices of the storage definitions, in order.
    pub storages: Vec<usize>,
    /// Names and patterns as written.
    pub(crate) storage_words: Vec<(String, At)>,
    /// Share of the run's rate in percent; 0 shares what is left.
    pub skew: f64,
    /// Transfer sizes.
    pub transfer: Sizes,
    /// Percentage of reads.
    pub read_pct: f64,
    /// Part of the target, before the storage definition's own.
    pub range: Option<Span>,
    /// Part of the target with the skewed access of a hot band.
    pub hot_band: Option<Span>,
    /// How addresses are chosen.
    pub seek: Seek,
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
    /// Where it is defined.
    pub at: At,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
}

impl Default for WorkloadDef {
    fn default() -> Self {
        Self {
            name: String::new(),
            storages: Vec::new(),
            storage_words: Vec::new(),
            skew: 0.0,
            transfer: Sizes::Fixed(4096),
            read_pct: 100.0,
            range: None,
            hot_band: None,
            seek: Seek::Random(100.0),
            stride: None,
            priority: None,
            rate: None,
            read_hit_pct: 0.0,
            write_hit_pct: 0.0,
            hosts: Vec::new(),
            open_flags: None,
            threads: None,
            streams: None,
            at: At::default(),
            set: Vec::new(),
        }
    }
}

/// Applies one parameter.
pub(crate) fn apply(wd: &mut WorkloadDef, args: &mut Args<'_>) {
    wd.set.push((args.name, args.at));
    match args.name {
        "sd" => wd.storage_words = selection(args),
        "skew" => wd.skew = args.number(0.0, 100.0).unwrap_or_default(),
        "xfersize" => wd.transfer = transfer_sizes(args).unwrap_or_else(|| wd.transfer.clone()),
        "readpct" | "rdpct" => wd.read_pct = args.number(0.0, 100.0).map_or(wd.read_pct, f64::trunc),
        "writepct" | "wrpct" => {
            wd.read_pct = args.number(0.0, 100.0).map_or(wd.read_pct, |w| 100.0 - w.trunc())
        }
        "range" => wd.range = span(args),
        "hotband" => wd.hot_band = span(args),
        "seekpct" => wd.seek = seek(args).unwrap_or(wd.seek),
        "stride" => wd.stride = stride(args),
        "priority" => wd.priority = args.whole(1, 65_536),
        "iorate" => wd.rate = args.number(0.001, 1e9),
        "rhpct" => wd.read_hit_pct = args.number(0.0, 100.0).unwrap_or_default(),
        "whpct" => wd.write_hit_pct = args.number(0.0, 100.0).unwrap_or_default(),
        "host" | "hd" => wd.hosts = args.words(),
        "openflags" => wd.open_flags = open_flags(args).or(wd.open_flags.take()),
        "threads" => wd.threads = args.number(1.0, 1e6),
        "streams" => wd.streams = args.whole(2, 65_536),
        "user" => args.lose(
            "user-class",
            "a Java class cannot be called",
            "write the pattern with vdbench's keywords",
        ),
        _ => {}
    }
}

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
        _ => {
            args.reject(0, "expected (min,max)", "write stride=(1m,8m)");
            None
        }
    }
}
