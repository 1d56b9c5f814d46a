//! What Assay made in a tagged directory, where the files cannot say it themselves.
//!
//! A line each: a file, on file systems without extended attributes; the shape of a tree, whose many files are known by
//! their places in it and by their times, so that no operation that is measured has to mark one; and when Assay worked on
//! trees here. Each line ends with a digest of itself and of the directory: one that was edited, or that comes from the ledger of
//! another directory, stands for nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use assay_workload::tree::{TreeLayout, TreeWorkload};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::identity::Identity;
use super::mark::Seal;
use super::windows::Windows;
use super::{Doubt, Standing};

/// Name of the ledger.
pub const LEDGER_FILE: &str = ".assay-ledger";
/// A larger one is something else.
const BYTES_MAX: u64 = 16 << 20;
/// Of the digest behind each line, with the blank before it.
const DIGEST_CHARACTERS: usize = 17;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// A file directly in the directory.
    File {
        name: String,
        identity: Identity,
        /// What was left in it; while it is written, and if that was cut short, nothing is known of that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Seal>,
    },
    /// A tree that stands in the directory.
    Tree(Box<TreeWorkload>),
    /// When Assay worked on the tree: until its end, or as long as the last line that it wrote meanwhile allows.
    Work {
        from_ns: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until_ns: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ns: Option<i64>,
    },
}

/// A ledger as read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    lines: Vec<Line>,
    is_anothers: bool,
}

impl Ledger {
    /// Reads the ledger of an open directory; empty where there is none. A line that another wrote, or changed, takes the worth of all:
    /// what it said may be what bounds another one. The end of a line that was being written when a machine lost power is none.
    pub(crate) fn read(directory: BorrowedFd<'_>) -> Self {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(directory, LEDGER_FILE, flags, Mode::empty());
        let Ok(file) = opened.map(File::from) else { return Self::default() };
        let mut text = Vec::new();
        if !is_ledger(&file) || file.take(BYTES_MAX).read_to_end(&mut text).is_err() {
            return Self::default();
        }
        let Ok(of) = Identity::of_open(directory) else { return Self::default() };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &text[..end]);
        let written = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let Some(lines) = written.map(|line| json_of(line, &of)).collect::<Option<Vec<&[u8]>>>() else {
            return Self { lines: Vec::new(), is_anothers: true };
        };
        // Lines of a later version are skipped.
        let lines = lines.into_iter().filter_map(|json| serde_json::from_slice(json).ok()).collect();
        Self { lines, is_anothers: false }
    }

    /// Whether another wrote in it.
    pub(crate) fn is_anothers(&self) -> bool {
        self.is_anothers
    }

    /// What was left in a file of this name directly in the directory, if it is written down as this one; the last line
    /// counts.
    pub(super) fn file(&self, name: &[u8], now: &Identity) -> Option<Option<Seal>> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::File { name: known, identity, left } if known.as_bytes() == name && identity.is(now) => {
                Some(*left)
            }
            _ => None,
        })
    }

    /// The trees that stand in the directory.
    pub(crate) fn trees(&self) -> Vec<TreeLayout> {
        let shapes = self.lines.iter().filter_map(|line| match line {
            Line::Tree(shape) => TreeLayout::new(shape).ok(),
            Line::File { .. } | Line::Work { .. } => None,
        });
        shapes.collect()
    }

    /// When Assay worked on them. Work that was cut short ended with its lease.
    pub(crate) fn windows(&self) -> Windows {
        let mut windows: BTreeMap<i64, (Option<i64>, Option<i64>)> = BTreeMap::new();
        for line in &self.lines {
            if let Line::Work { from_ns, until_ns, lease_ns } = line {
                let (until, lease) = windows.entry(*from_ns).or_default();
                (*until, *lease) = ((*until).max(*until_ns), (*lease).max(*lease_ns));
            }
        }
        let end = |(from_ns, (until_ns, lease_ns)): (i64, (Option<i64>, Option<i64>))| {
            (from_ns, Some(until_ns.or(lease_ns).unwrap_or(from_ns)))
        };
        Windows(windows.into_iter().map(end).collect())
    }
}

/// Only a plain file without a second name: writing to it must not write elsewhere.
fn is_ledger(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.nlink() == 1 && meta.len() <= BYTES_MAX)
}

/// What a line says; `None`: its digest is another one.
fn json_of<'l>(line: &'l [u8], of: &Identity) -> Option<&'l [u8]> {
    let (json, digest) = line.split_at_checked(line.len().checked_sub(DIGEST_CHARACTERS)?)?;
    (digest == digest_of(json, of).as_bytes()).then_some(json)
}

/// Of a line in the directory `of`; the number of its device may change.
fn digest_of(json: &[u8], of: &Identity) -> String {
    let mut digest = Sha256::new();
    digest.update(format!("{} {:?} ", of.inode, of.born_ns));
    digest.update(json);
    digest.finalize().iter().take((DIGEST_CHARACTERS - 1) / 2).fold(" ".to_owned(), |mut text, byte| {
        text += &format!("{byte:02x}");
        text
    })
}

/// The ledger of a directory of ours, made where it is missing, and which directory that is: never in another one that has the name
/// by now.
pub(super) fn open(directory: &Path) -> io::Result<(File, Identity)> {
    let opened = super::open_directory(directory)?;
    let standing = super::standing_of(opened.as_fd());
    if !matches!(standing, Standing::Ours(_) | Standing::Doubtful(Doubt::NotRoots { .. })) {
        return Err(io::Error::other(format!(
            "{} is not the directory that Assay made",
            directory.display()
        )));
    }
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(&opened, LEDGER_FILE, flags, Mode::from_raw_mode(0o644))?);
    if !is_ledger(&file) {
        return Err(io::Error::other(format!("{LEDGER_FILE} is not a ledger of Assay")));
    }
    Ok((file, Identity::of_open(opened.as_fd())?))
}

fn enter(directory: &Path, line: &Line) -> io::Result<()> {
    let (mut file, of) = open(directory)?;
    let json = serde_json::to_string(line)?;
    let digest = digest_of(json.as_bytes(), &of);
    file.write_all(format!("{json}{digest}\n").as_bytes())
}

/// Writes down a file directly in a directory of ours.
pub(super) fn enter_file(
    directory: &Path,
    name: &str,
    identity: Identity,
    left: Option<Seal>,
) -> io::Result<()> {
    enter(directory, &Line::File { name: name.to_owned(), identity: identity.without_device(), left })
}

/// Writes down that Assay works on a tree, until `lease_ns` if nothing more is heard of it.
pub(super) fn enter_lease(directory: &Path, from_ns: i64, lease_ns: i64) -> io::Result<()> {
    enter(directory, &Line::Work { from_ns, until_ns: None, lease_ns: Some(lease_ns) })
}

/// Writes down when that ended.
pub(super) fn enter_end(directory: &Path, from_ns: i64, until_ns: i64) -> io::Result<()> {
    enter(directory, &Line::Work { from_ns, until_ns: Some(until_ns), lease_ns: None })
}

/// Writes down the shape of a tree, once; when Assay worked there.
pub(super) fn enter_tree(directory: &Path, shape: &TreeWorkload) -> io::Result<Windows> {
    // Only what names follow from.
    let shape = TreeWorkload {
        width: shape.width,
        depth: shape.depth,
        files: shape.files,
        files_in_all_directories: shape.files_in_all_directories,
        sizes: shape.sizes.clone(),
        sizes_around_mean: shape.sizes_around_mean,
        total_bytes: shape.total_bytes,
        ..TreeWorkload::default()
    };
    let opened = super::open_directory(directory)?;
    let line = Line::Tree(Box::new(shape));
    let ledger = Ledger::read(opened.as_fd());
    if !ledger.lines.contains(&line) {
        enter(directory, &line)?;
    }
    Ok(ledger.windows())
}
