//! File system definitions (fsd): trees of directories and files below an anchor.

use super::access::{OpenFlags, Sizes, file_sizes, open_flags};
use super::args::{Args, to_u64};
use super::general::{Dedup, dedup};
use super::keyword::{
    Definition, JUDGE, Keyword, Named, dedup_sets, definition, in_full, lost, opens, placed, reporting, sets,
};
use super::sink::At;

definition! {
    /// A tree of directories and files.
    pub struct FileSystemDef {
        /// Directory below which the tree stands.
        pub anchor: String,
        /// Directories in each directory.
        pub width: u64 = 1,
        /// Levels of directories.
        pub depth: u64 = 1,
        /// Files in each directory that holds files.
        pub files: u64 = 10,
        /// File sizes.
        pub sizes: Sizes = Sizes::Fixed(4096),
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
        /// `count=(start,n)`, until the clones are made.
        pub count: Option<(u64, u64)>,
    }
}

impl FileSystemDef {
    /// Bytes of all its files together, of sizes that are drawn as expected.
    pub(crate) fn tree_bytes(&self) -> u64 {
        let mut directories = 0_u64;
        let mut level = 1_u64;
        for _ in 0..self.depth {
            let below = level.saturating_mul(self.width);
            directories = if self.files_everywhere { directories.saturating_add(below) } else { below };
            if below == u64::MAX {
                break;
            }
            level = below;
            // One directory in each: only the depth counts.
            if self.width == 1 {
                directories = if self.files_everywhere { self.depth } else { 1 };
                break;
            }
        }
        let files = directories.saturating_mul(self.files);
        (files as f64 * self.sizes.mean_bytes()) as u64
    }
}

const FILES_PER_DIRECTORY_MAX: u64 = 10_000_000;

const KEYWORDS: &[Keyword<FileSystemDef>] = &[
    opens(&["fsd"]),
    sets(&["anchor"], "/tmp/e", |fsd, args| fsd.anchor = args.word()),
    lost(&["journal"], "data-validation", "the data of files in a tree is not validated", JUDGE),
    sets(&["width"], "3", |fsd, args| fsd.width = args.whole(1, 1 << 40).unwrap_or(fsd.width)),
    sets(&["depth"], "2", |fsd, args| fsd.depth = args.whole(1, 1 << 20).unwrap_or(fsd.depth)),
    sets(&["sizes"], "16k", |fsd, args| fsd.sizes = file_sizes(args).unwrap_or_else(|| fsd.sizes.clone())),
    sets(&["shared"], "yes", |fsd, args| fsd.shared = args.yes().unwrap_or_default()),
    sets(&["wss", "workingsetsize"], "16k", |fsd, args| {
        fsd.working_set_bytes = args.number(0.0, 1e18).map(to_u64)
    }),
    sets(&["totalsize"], "16k", |fsd, args| fsd.total_bytes = args.number(0.0, 1e18).map(to_u64)),
    sets(&["files"], "7", |fsd, args| {
        fsd.files = args.whole(1, FILES_PER_DIRECTORY_MAX).unwrap_or(fsd.files)
    }),
    sets(&["distribution"], "all", distribution),
    sets(&["openflags"], "o_direct", |fsd, args| fsd.open_flags = open_flags(args).or(fsd.open_flags.take())),
    in_full(reporting(lost(
        &["log"],
        "vdbench-only",
        "no log of the tree is written",
        "the plan lists the tree",
    ))),
    in_full(lost(&["mask"], "file-name-mask", "files keep the standard names", "vdb.1_1.dir/vdb_f0000.file")),
    sets(&["count"], "(1,2)", |fsd, args| fsd.count = super::storage::count(args)),
    in_full(lost(&["cloud"], "vdbench-only", "no cloud access is made", "mount the bucket")),
    sets(&["dedupratio", "dedupunit"], "2", |fsd, args| dedup(&mut fsd.dedup, args)),
    dedup_sets(),
];

fn distribution(fsd: &mut FileSystemDef, args: &mut Args<'_>) {
    match args.lower().as_str() {
        "all" => fsd.files_everywhere = true,
        "bottom" => fsd.files_everywhere = false,
        _ => {
            args.reject(0, "expected `bottom` or `all`", "bottom puts files into the lowest directories only")
        }
    }
}
