//! The table of a tree of files.

use assay_workload::tree::{FileSelection, FileState, TreeOperation, TreeWorkload};

use super::forms::{FLAG, POSITIVE, SIZE, TEXT, count, count_u32, quote, word};
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::pattern::shorts;
use super::scalar::{self, regular, write_weighted};
use super::sink::clip;
use super::words::names;

/// A tree, with what its keys say in two places.
#[derive(Default)]
pub(super) struct Draft {
    tree: TreeWorkload,
    midpoint: Option<f64>,
}

const FILE_SIZES: Form<Vec<(u64, f64)>> = Form {
    shape: Shape::Any(&[Shape::Size, Shape::Matching(concat!("^", regular!(sizes), "$"), "4k/80,1m/20")]),
    read: |sink, entry, _| {
        if entry.as_str().is_none() {
            return SIZE.take(sink, entry).map(|bytes| vec![(bytes, 1.0)]);
        }
        let sizes = |text: &str| {
            let parts = scalar::weighted(text)?;
            parts.into_iter().map(|(word, weight)| Ok((scalar::size(word)?, weight))).collect()
        };
        sink.parsed(entry, sizes, "\"64k\", or with weights \"4k/80,1m/20\"")
    },
    write: |sizes| quote(&write_weighted(shorts(sizes))),
};

macro_rules! operation {
    () => {
        r"\s*(mkdir|rmdir|create|delete|open|close|read|write|getattr|setattr|access|copy|move)\s*"
    };
}

const OPERATIONS: Form<Vec<(String, f64)>> = Form {
    shape: Shape::Matching(
        concat!("^", operation!(), regular!(weight), "(,", operation!(), regular!(weight), ")*$"),
        "read/70,write/30",
    ),
    read: |sink, entry, _| {
        let operations = |text: &str| {
            let known = |(word, weight): (&str, f64)| match TreeOperation::from_name(word) {
                Some(operation) => Ok((operation.name().to_owned(), weight)),
                None => Err(format!("'{}' is not an operation", clip(word))),
            };
            scalar::weighted(text)?.into_iter().map(known).collect()
        };
        let forms = format!("\"read/70,write/30\" of {}", names::<TreeOperation>().join(", "));
        sink.parsed(entry, operations, &forms)
    },
    write: |operations| quote(&write_weighted(operations.iter().cloned())),
};

pub(super) const KEYS: Table<Draft> = Table {
    who: "'tree'",
    example: "tree = { width = 10, depth = 2, files = 100, sizes = \"64k\", operations = \"read\" }",
    sections: &[&[
        key!(must "width", count_u32(1, u32::MAX), tree.width, "required", "directories in a directory"),
        key!(must "depth", count_u32(1, u32::MAX), tree.depth, "required", "levels of directories"),
        key!(must "files", count_u32(0, u32::MAX), tree.files, "required", "files in a directory that has files"),
        key!(must "sizes", FILE_SIZES, tree.sizes, "required", "sizes of files: one, or a weighted list"),
        key!(must "operations", OPERATIONS, tree.operations, "required", "a weighted list of the operations below"),
        key!(set "files_in_all_directories", FLAG, tree.files_in_all_directories, "`false`", "`true`: all directories have files; `false`: only those at the bottom"),
        key!(set "sizes_around_mean", FLAG, tree.sizes_around_mean, "`false`", "`true`: `sizes` is one mean, and sizes are uniform up to twice it"),
        key!(set "shared", FLAG, tree.shared, "`false`", "`true`: several workers use the same tree"),
        key!(set "random_io", FLAG, tree.random_io, "`false`", "`true`: blocks within a file are random"),
        key!(set "random_start", FLAG, tree.random_start, "`false`", "`true`: begin at a random block of a file"),
        key!(set "files_shared", FLAG, tree.files_shared, "`false`", "`true`: several threads read and write one file at once"),
        key!(set "delete_before_write", FLAG, tree.delete_before_write, "`false`", "`true`: a file is deleted and made again before it is written"),
        key!(some "total_size", SIZE, tree.total_bytes, "all", "files in order until they have this size together"),
        key!(some "working_set", SIZE, tree.working_set_bytes, "all", "use only the first files, until they have this size together"),
        key!(set "file_selection", word::<FileSelection>(), tree.file_selection, "`in-order`", "`in-order`, `in-order-from-random`, `once` (then the job ends), `random`, `skewed`"),
        key!(some "midpoint", POSITIVE, midpoint, "3", "with `skewed`: the mean distance from the first file is the number of files divided by this"),
        key!(set "file_state", word::<FileState>(), tree.file_state, "`any`", "files that may be used: `any`, `full`, `empty`, `not-full`"),
        key!(some "stop_after_ios", count(1, u64::MAX), tree.stop_after_ios, "all of the file", "blocks until the next file"),
        key!(some "stop_after_percent", POSITIVE, tree.stop_after_percent, "", "as `stop_after_ios`, in per cent of the file's size"),
        key!(some "copy_to", TEXT, tree.copy_to, "the same tree", "the target that copies and moves go to, a tree of the same shape"),
    ]],
};

pub(super) const TREE: Form<TreeWorkload> = Form {
    shape: Shape::Table(|| KEYS.about()),
    read: |sink, entry, _| {
        let mut draft = KEYS.read(sink, entry, Draft::default())?;
        match (&mut draft.tree.file_selection, draft.midpoint) {
            (FileSelection::Skewed { midpoint }, Some(given)) => *midpoint = given,
            (FileSelection::Skewed { .. }, None) | (_, None) => {}
            (_, Some(_)) => {
                let place = entry.as_table().and_then(|table| table.get("midpoint"));
                let span = place.map_or_else(|| entry.span(), |value| value.span());
                let help = "set file_selection = \"skewed\", or leave it out";
                sink.error(
                    "bad-value",
                    span,
                    "'midpoint': only a skewed selection of files has a midpoint",
                    help,
                );
            }
        }
        Some(draft.tree)
    },
    write: |tree| {
        let midpoint = match tree.file_selection {
            FileSelection::Skewed { midpoint } => Some(midpoint),
            _ => None,
        };
        KEYS.inline(&Draft { tree: tree.clone(), midpoint }, &Draft::default())
    },
};
