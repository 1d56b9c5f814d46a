//! What stands of a tree on disk: found before a phase, and removed where it is of no tree in use.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use assay_workload::tree::{TreeEntry, TreeLayout, TreeState, is_scheme_directory, is_scheme_file};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::anchor::{Anchor, PathText};
use crate::seam::EngineError;
use crate::targets::target_error;

const LOOK: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Levels below the anchor that a sweep goes down; each holds an open directory.
const SWEEP_DEPTH_MAX: u32 = 220;

/// What else is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Others {
    /// Named as files and directories of trees are, but of a tree of another shape.
    pub(super) leftovers: u64,
    /// Named otherwise.
    pub(super) strangers: u64,
}

/// Enters everything of the tree that exists below `anchor` into `state`.
///
/// # Errors
/// What the system said, and files that are links or have a second name: writing to them would write elsewhere.
pub(super) fn scan(
    anchor: &Anchor,
    state: &TreeState,
    go_on: &dyn Fn() -> bool,
) -> Result<Others, EngineError> {
    let mut others = Others::default();
    let mut text = PathText::new();
    let mut queue: Vec<Option<u64>> = vec![None];
    while let Some(directory) = queue.pop().filter(|_| go_on()) {
        let error = |errno: Errno| scan_error(anchor, state.layout(), directory, errno.into());
        let opened = match directory {
            None => rustix::fs::openat(anchor.directory(), c".", LOOK, Mode::empty()),
            Some(index) => anchor.open_at(text.set_directory(state.layout(), index), LOOK, Mode::empty()),
        };
        let opened = opened.map_err(error)?;
        let mut entries = Dir::read_from(&opened).map_err(error)?;
        while let Some(entry) = entries.read().filter(|_| go_on()) {
            let entry = entry.map_err(error)?;
            let name = entry.file_name();
            if is_dots_or_tag(name, directory.is_none()) {
                continue;
            }
            match state.layout().entry(directory, name.to_bytes()) {
                Some(TreeEntry::Directory(index)) => {
                    expect(anchor, opened.as_fd(), name, FileType::Directory)
                        .map_err(|source| scan_error(anchor, state.layout(), Some(index), source))?;
                    state.found_directory(index);
                    queue.push(Some(index));
                }
                Some(TreeEntry::File(index)) => {
                    let bytes =
                        expect(anchor, opened.as_fd(), name, FileType::RegularFile).map_err(|source| {
                            let path = anchor.path().join(file_path(state.layout(), index));
                            target_error(&path.display().to_string(), "use", source)
                        })?;
                    state.found_file(index, bytes);
                }
                None => {
                    let level = directory.map_or(0, |index| state.layout().level_of(index));
                    let bytes = name.to_bytes();
                    let ours = is_scheme_file(bytes) || is_scheme_directory(bytes, level + 1);
                    if ours {
                        others.leftovers += 1
                    } else {
                        others.strangers += 1
                    }
                    if let Some(index) = directory {
                        state.found_stranger(index);
                    }
                }
            }
        }
    }
    Ok(others)
}

fn scan_error(
    anchor: &Anchor,
    layout: &TreeLayout,
    directory: Option<u64>,
    source: io::Error,
) -> EngineError {
    let mut below = Vec::new();
    if let Some(index) = directory {
        layout.push_directory_path(index, &mut below);
    }
    let path = anchor.path().join(String::from_utf8_lossy(&below).as_ref());
    target_error(&path.display().to_string(), "look through", source)
}

fn file_path(layout: &TreeLayout, file: u64) -> String {
    let mut path = Vec::new();
    layout.push_file_path(file, &mut path);
    String::from_utf8_lossy(&path).into_owned()
}

/// `.` and `..`, and in the anchor our tags.
fn is_dots_or_tag(name: &CStr, in_anchor: bool) -> bool {
    use assay_host::workdir::{LEDGER_FILE, MARKER_FILE, TAG_FILE};
    let name = name.to_bytes();
    let tag = [MARKER_FILE, TAG_FILE, LEDGER_FILE].iter().any(|tag| tag.as_bytes() == name);
    matches!(name, b"." | b"..") || in_anchor && tag
}

/// The size of what has this name, which must be of that type, and have no other name if it is a file.
fn expect(anchor: &Anchor, directory: BorrowedFd<'_>, name: &CStr, wanted: FileType) -> io::Result<u64> {
    let stat = look_at(directory, name)?;
    if type_of(&stat) != wanted {
        return Err(io::Error::other("it has a name of the tree but is something else"));
    }
    if wanted == FileType::RegularFile && stat.stx_nlink > 1 {
        return Err(io::Error::other("the file has a second name (hard link), perhaps outside the tree"));
    }
    if !anchor.may_go(&stat) {
        return Err(io::Error::other(format!(
            "it has a name of the tree, but Assay did not make it, or it was changed since: move it away, or allow what is \
             in the tree to be destroyed with --destroy-data {}",
            anchor.path().display()
        )));
    }
    Ok(stat.stx_size)
}

fn look_at(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Statx> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    rustix::fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted)
}

fn type_of(stat: &Statx) -> FileType {
    FileType::from_raw_mode(stat.stx_mode.into())
}

/// Removes everything below `anchor` that is named as files and directories of trees are, of whatever shape; directories
/// that hold anything else stay. Returns how many were removed.
///
/// # Errors
/// What the system said.
pub(super) fn sweep(anchor: &Anchor, go_on: &dyn Fn() -> bool) -> Result<u64, EngineError> {
    let error = |errno: Errno| target_error(&anchor.path().display().to_string(), "sweep", errno.into());
    let top = rustix::fs::openat(anchor.directory(), c".", LOOK, Mode::empty()).map_err(error)?;
    let device = rustix::fs::fstat(&top).map_err(error)?.st_dev;
    let mut removed = 0;
    sweep_level(anchor, top.as_fd(), 1, device, go_on, &mut removed).map_err(error)?;
    Ok(removed)
}

fn sweep_level(
    anchor: &Anchor,
    directory: BorrowedFd<'_>,
    level: u32,
    device: u64,
    go_on: &dyn Fn() -> bool,
    removed: &mut u64,
) -> Result<(), Errno> {
    let mut names = Vec::new();
    let mut entries = Dir::read_from(directory)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if is_scheme_file(name.to_bytes()) || is_scheme_directory(name.to_bytes(), level) {
            names.push(name.to_owned());
        }
    }
    for name in names.iter().take_while(|_| go_on()) {
        let stat = look_at(directory, name)?;
        if !anchor.may_go(&stat) {
            continue;
        }
        match type_of(&stat) {
            FileType::RegularFile if is_scheme_file(name.to_bytes()) => {
                rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
                *removed += 1;
            }
            FileType::Directory if is_scheme_directory(name.to_bytes(), level) && level < SWEEP_DEPTH_MAX => {
                let below = rustix::fs::openat(directory, name, LOOK, Mode::empty())?;
                if rustix::fs::fstat(&below)?.st_dev != device {
                    continue;
                }
                sweep_level(anchor, below.as_fd(), level + 1, device, go_on, removed)?;
                match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
                    Ok(()) => *removed += 1,
                    Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_workload::tree::{OperationSet, TreeWorkload};

    use super::*;

    fn shape(files: u32) -> TreeWorkload {
        TreeWorkload { width: 2, depth: 2, files, sizes: vec![(10, 1.0)], ..TreeWorkload::default() }
    }

    fn state(files: u32) -> TreeState {
        TreeState::new(TreeLayout::new(&shape(files)).unwrap(), OperationSet::default())
    }

    fn anchor(parent: &tempfile::TempDir) -> Anchor {
        let mut anchor = Anchor::open(&parent.path().join("anchor"), &Default::default()).unwrap();
        anchor.plan(&shape(3)).unwrap();
        anchor
    }

    fn make(anchor: &Anchor, directory: &str, files: &[&str]) {
        fs::create_dir_all(anchor.path().join(directory)).unwrap();
        for file in files {
            fs::write(anchor.path().join(directory).join(file), "0123456789").unwrap();
        }
    }

    #[test]
    fn what_stands_is_found() {
        let parent = tempfile::tempdir().unwrap();
        let anchor = anchor(&parent);
        make(&anchor, "vdb.1_1.dir/vdb.2_2.dir", &["vdb_f0003.file", "vdb_f0004.file", "notes.txt"]);
        make(&anchor, "vdb.1_3.dir", &[]);
        let state = state(3);
        let others = scan(&anchor, &state, &|| true).unwrap();
        assert_eq!((state.existing_directories(), state.existing_files()), (2, 2));
        // vdb.1_3.dir is beyond the width.
        assert_eq!(others, Others { leftovers: 1, strangers: 1 });
        assert!(state.is_full(3) && !state.is_full(5));
    }

    #[test]
    fn links_make_a_tree_unusable() {
        for hard in [false, true] {
            let parent = tempfile::tempdir().unwrap();
            let anchor = anchor(&parent);
            fs::write(parent.path().join("precious"), "x").unwrap();
            make(&anchor, "vdb.1_1.dir/vdb.2_1.dir", &[]);
            let link = anchor.path().join("vdb.1_1.dir/vdb.2_1.dir/vdb_f0000.file");
            if hard {
                fs::hard_link(parent.path().join("precious"), link).unwrap();
            } else {
                symlink(parent.path().join("precious"), link).unwrap();
            }
            let error = scan(&anchor, &state(3), &|| true).unwrap_err().to_string();
            assert!(error.contains("vdb_f0000.file"), "{error}");
        }
        let parent = tempfile::tempdir().unwrap();
        let anchor = anchor(&parent);
        symlink(parent.path(), anchor.path().join("vdb.1_2.dir")).unwrap();
        assert!(scan(&anchor, &state(3), &|| true).is_err());
    }

    #[test]
    fn a_sweep_removes_trees_of_any_shape_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let anchor = anchor(&parent);
        make(&anchor, "vdb.1_7.dir/vdb.2_9.dir/vdb.3_1.dir", &["vdb_f0000.file"]);
        make(&anchor, "vdb.1_8.dir", &["vdb_f99999.file", "mine.txt"]);
        make(&anchor, "vdb.2_1.dir", &["vdb_f0000.file"]);
        make(&anchor, "other", &["vdb_f0000.file"]);
        symlink(anchor.path().join("other"), anchor.path().join("vdb.1_9.dir")).unwrap();
        assert_eq!(sweep(&anchor, &|| true).unwrap(), 5);
        for kept in ["vdb.1_8.dir/mine.txt", "vdb.2_1.dir/vdb_f0000.file", "other/vdb_f0000.file"] {
            assert!(anchor.path().join(kept).is_file(), "{kept}");
        }
        assert!(!anchor.path().join("vdb.1_7.dir").exists());
        assert!(anchor.path().join("vdb.1_9.dir").is_symlink());
    }
}
