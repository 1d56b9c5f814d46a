//! File system definitions (fsd): trees of directories and files below an anchor.

use super::access::{OpenFlags, Sizes, file_sizes, open_flags};
use super::args::{Args, to_u64};
use super::general::{Dedup, dedup};
use super::sink::At;

/// A tree of directories and files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSystemDef {
    /// Name.
    pub name: String,
    /// Directory below which the tree stands.
    pub anchor: String,
    /// Directories in each directory.
    pub width: u64,
    /// Levels of directories.
    pub depth: u64,
    /// Files in each directory that holds files.
    pub files: u64,
    /// File sizes.
    pub sizes: Sizes,
    /// Several hosts use one tree.
    pub shared: bool,
    /// Only so many bytes of the tree are used.
    pub working_set_bytes: Option<u64>,
    /// Files are created until their sizes sum to this.
    pub total_bytes: Option<u64>,
    /// Files in all directories, not only in the lowest.
    pub files_everywhere: bool,
    /// How files are opened.
    pub open_flags: Option<OpenFlags>,
    /// Deduplication.
    pub dedup: Dedup,
    /// Directory of the validation journal.
    pub journal: Option<String>,
    /// `printf` masks for file and directory names.
    pub mask: Vec<String>,
    /// `count=(start,n)`, until the clones are made.
    pub count: Option<(u64, u64)>,
    /// Where it is defined.
    pub at: At,
    /// Places of what was set.
    pub set: Vec<(&'static str, At)>,
}

impl Default for FileSystemDef {
    fn default() -> Self {
        Self {
            name: String::new(),
            anchor: String::new(),
            width: 1,
            depth: 1,
            files: 10,
            sizes: Sizes::Fixed(4096),
            shared: false,
            working_set_bytes: None,
            total_bytes: None,
            files_everywhere: false,
            open_flags: None,
            dedup: Dedup::default(),
            journal: None,
            mask: Vec::new(),
            count: None,
            at: At::default(),
            set: Vec::new(),
        }
    }
}

/// Applies one parameter.
pub(crate) fn apply(fsd: &mut FileSystemDef, args: &mut Args<'_>) {
    const FILES_PER_DIRECTORY_MAX: u64 = 10_000_000;
    fsd.set.push((args.name, args.at));
    if dedup(&mut fsd.dedup, args) {
        return;
    }
    match args.name {
        "anchor" => fsd.anchor = args.word(),
        "width" => fsd.width = args.whole(1, 1 << 40).unwrap_or(fsd.width),
        "depth" => fsd.depth = args.whole(1, 1 << 20).unwrap_or(fsd.depth),
        "files" => fsd.files = args.whole(1, FILES_PER_DIRECTORY_MAX).unwrap_or(fsd.files),
        "sizes" => fsd.sizes = file_sizes(args).unwrap_or_else(|| fsd.sizes.clone()),
        "shared" => fsd.shared = args.yes().unwrap_or_default(),
        "wss" | "workingsetsize" => fsd.working_set_bytes = args.number(0.0, 1e18).map(to_u64),
        "totalsize" => fsd.total_bytes = args.number(0.0, 1e18).map(to_u64),
        "distribution" => match args.lower().as_str() {
            "all" => fsd.files_everywhere = true,
            "bottom" => fsd.files_everywhere = false,
            _ => args.reject(
                0,
                "expected `bottom` or `all`",
                "bottom puts files into the lowest directories only",
            ),
        },
        "openflags" => fsd.open_flags = open_flags(args).or(fsd.open_flags.take()),
        "journal" => fsd.journal = Some(args.word()),
        "mask" => {
            fsd.mask = args.words();
            args.lose("file-name-mask", "files keep the standard names", "vdb.1_1.dir/vdb_f0000.file");
        }
        "count" => fsd.count = super::storage::count(args),
        "log" => args.lose_report("vdbench-only", "no log of the tree is written", "the plan lists the tree"),
        "cloud" => args.lose("vdbench-only", "no cloud access is made", "mount the bucket"),
        _ => {}
    }
}
