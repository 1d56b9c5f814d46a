//! The table of a tree of files, read and written.

use assay_workload::tree::{FileSelection, FileState, TreeWorkload};

use super::node::{Entry, Fields};
use super::scalar::{self, write_number, write_weighted};
use super::sink::{Sink, clip};
use super::words;
use super::write::{inline, quote, quoted, quoted_size, shorts, write_count};

/// Every key of a tree.
pub(super) const KEYS: &[&str] = &[
    "width",
    "depth",
    "files",
    "files_in_all_directories",
    "sizes",
    "sizes_around_mean",
    "total_size",
    "working_set",
    "shared",
    "operations",
    "file_selection",
    "midpoint",
    "file_state",
    "random_io",
    "random_start",
    "files_shared",
    "delete_before_write",
    "stop_after_ios",
    "stop_after_percent",
    "copy_to",
];

/// What a skewed choice of files has where nothing is said; vdbench's default too.
const MIDPOINT: f64 = 3.0;

pub(super) fn read(sink: &mut Sink, entry: Entry<'_>) -> Option<TreeWorkload> {
    let table = sink.table(entry, KEYS)?;
    sink.require(&table, &["width", "depth", "files", "sizes", "operations"], "'tree'", "");
    let mut count = |key: &str, least| {
        table.read(sink, key, |sink, e| sink.count_u32(e, least..=u32::MAX)).unwrap_or(least)
    };
    let (width, depth, files) = (count("width", 1), count("depth", 1), count("files", 0));
    let mut flag = |key: &str| table.read(sink, key, Sink::boolean).unwrap_or(false);
    let (files_in_all_directories, sizes_around_mean) =
        (flag("files_in_all_directories"), flag("sizes_around_mean"));
    let (shared, files_shared) = (flag("shared"), flag("files_shared"));
    let (random_io, random_start) = (flag("random_io"), flag("random_start"));
    let delete_before_write = flag("delete_before_write");
    Some(TreeWorkload {
        width,
        depth,
        files,
        files_in_all_directories,
        sizes: table.read(sink, "sizes", file_sizes)?,
        sizes_around_mean,
        total_bytes: table.read(sink, "total_size", Sink::size),
        working_set_bytes: table.read(sink, "working_set", Sink::size),
        shared,
        operations: table.read(sink, "operations", operations)?,
        file_selection: file_selection(sink, &table),
        file_state: table
            .read(sink, "file_state", |sink, e| sink.word(e, words::FILE_STATES))
            .unwrap_or_default(),
        random_io,
        random_start,
        files_shared,
        delete_before_write,
        stop_after_ios: table.read(sink, "stop_after_ios", |sink, e| sink.count(e, 1..=u64::MAX)),
        stop_after_percent: table.read(sink, "stop_after_percent", positive),
        copy_to: table.read(sink, "copy_to", Sink::string).map(str::to_owned),
    })
}

fn positive(sink: &mut Sink, entry: Entry<'_>) -> Option<f64> {
    sink.number(entry, f64::MIN_POSITIVE..=f64::MAX)
}

fn file_selection(sink: &mut Sink, table: &Fields<'_>) -> FileSelection {
    let midpoint = table.read(sink, "midpoint", positive);
    let named = table.read(sink, "file_selection", |sink, e| sink.word(e, words::FILE_SELECTIONS));
    match named.unwrap_or_default() {
        FileSelection::Skewed { .. } => FileSelection::Skewed { midpoint: midpoint.unwrap_or(MIDPOINT) },
        other => {
            if let Some(entry) = table.get("midpoint") {
                let help = "set file_selection = \"skewed\", or leave it out";
                sink.bad_value::<()>(entry, "only a skewed choice of files has a midpoint", help);
            }
            other
        }
    }
}

fn file_sizes(sink: &mut Sink, entry: Entry<'_>) -> Option<Vec<(u64, f64)>> {
    if entry.as_str().is_none() {
        return sink.size(entry).map(|bytes| vec![(bytes, 1.0)]);
    }
    let sizes = |text: &str| {
        let parts = scalar::weighted(text)?;
        parts.into_iter().map(|(word, weight)| Ok((scalar::size(word)?, weight))).collect()
    };
    sink.parsed(entry, sizes, "\"64k\", or with weights \"4k/80,1m/20\"")
}

fn operations(sink: &mut Sink, entry: Entry<'_>) -> Option<Vec<(String, f64)>> {
    let operations = |text: &str| {
        let known = |(word, weight): (&str, f64)| match words::value(words::TREE_OPERATIONS, word) {
            Some(()) => Ok((word.to_owned(), weight)),
            None => Err(format!("'{}' is not an operation", clip(word))),
        };
        scalar::weighted(text)?.into_iter().map(known).collect()
    };
    let forms = format!("\"read/70,write/30\" of {}", words::list(words::TREE_OPERATIONS).join(", "));
    sink.parsed(entry, operations, &forms)
}

pub(super) fn write(tree: &TreeWorkload) -> String {
    // Does not compile once a tree has another field, which has to be written too.
    let TreeWorkload {
        width,
        depth,
        files,
        files_in_all_directories,
        sizes,
        sizes_around_mean,
        total_bytes,
        working_set_bytes,
        shared,
        operations,
        file_selection,
        file_state,
        random_io,
        random_start,
        files_shared,
        delete_before_write,
        stop_after_ios,
        stop_after_percent,
        copy_to,
    } = tree;
    let mut pairs = vec![
        ("width", width.to_string()),
        ("depth", depth.to_string()),
        ("files", files.to_string()),
        ("sizes", quote(&write_weighted(shorts(sizes)))),
        ("operations", quote(&write_weighted(operations.iter().cloned()))),
    ];
    let flags = [
        ("files_in_all_directories", *files_in_all_directories),
        ("sizes_around_mean", *sizes_around_mean),
        ("shared", *shared),
        ("random_io", *random_io),
        ("random_start", *random_start),
        ("files_shared", *files_shared),
        ("delete_before_write", *delete_before_write),
    ];
    pairs.extend(flags.iter().filter(|flag| flag.1).map(|flag| (flag.0, "true".to_owned())));
    pairs.extend(total_bytes.map(|bytes| ("total_size", quoted_size(bytes))));
    pairs.extend(working_set_bytes.map(|bytes| ("working_set", quoted_size(bytes))));
    match *file_selection {
        FileSelection::InOrder => {}
        FileSelection::Skewed { midpoint } => {
            pairs.push(("file_selection", quote("skewed")));
            pairs.push(("midpoint", write_number(midpoint)));
        }
        other => pairs.push(("file_selection", quoted(words::FILE_SELECTIONS, &other))),
    }
    if *file_state != FileState::default() {
        pairs.push(("file_state", quoted(words::FILE_STATES, file_state)));
    }
    pairs.extend(stop_after_ios.map(|ios| ("stop_after_ios", write_count(ios))));
    pairs.extend(stop_after_percent.map(|percent| ("stop_after_percent", write_number(percent))));
    pairs.extend(copy_to.as_ref().map(|name| ("copy_to", quote(name))));
    inline(&pairs)
}
