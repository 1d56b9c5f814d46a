//! What exists of a tree while it is used, and who uses it: shared by all threads, without locks.
//!
//! A file or directory is used by one thread at a time. A thread claims it, does something to it, and releases it with
//! its new condition. A directory that a file is made in is held by a count of its entries, which is raised before the
//! file is made: a directory with entries is not removed.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::{FileState, OperationSet, TreeLayout, TreeOperation};

const EXISTS: u8 = 1;
const BUSY: u8 = 2;
/// The file has bytes.
const FILLED: u8 = 4;
/// The file has its full size.
const FULL: u8 = 8;

/// Why something could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Another thread uses it.
    Busy,
    /// It is not in the condition that the operation needs.
    Unfit,
}

#[derive(Debug, Default)]
struct Directory {
    flags: AtomicU8,
    /// Files and directories in it, and those being made.
    entries: AtomicU32,
}

/// The condition of every file and directory of a tree.
#[derive(Debug)]
pub struct TreeState {
    layout: TreeLayout,
    files: Box<[AtomicU8]>,
    directories: Box<[Directory]>,
    existing_files: AtomicU64,
    existing_directories: AtomicU64,
    /// What any job of the phase does to this tree.
    active: OperationSet,
}

impl TreeState {
    /// A tree of which nothing exists yet. `active` is what all jobs that share it do.
    pub fn new(layout: TreeLayout, active: OperationSet) -> Self {
        TreeState {
            files: (0..layout.files()).map(|_| AtomicU8::new(0)).collect(),
            directories: (0..layout.directories()).map(|_| Directory::default()).collect(),
            existing_files: AtomicU64::new(0),
            existing_directories: AtomicU64::new(0),
            layout,
            active,
        }
    }

    /// Its shape.
    pub fn layout(&self) -> &TreeLayout {
        &self.layout
    }

    /// Files that exist.
    pub fn existing_files(&self) -> u64 {
        self.existing_files.load(Ordering::Relaxed)
    }

    /// Directories that exist.
    pub fn existing_directories(&self) -> u64 {
        self.existing_directories.load(Ordering::Relaxed)
    }

    /// Enters a directory that was found. Before threads use the state.
    pub fn found_directory(&self, directory: u64) {
        self.made_directory(directory);
        self.enter(self.layout.parent_of(directory));
    }

    /// Enters a file of `bytes` that was found. Before threads use the state.
    pub fn found_file(&self, file: u64, bytes: u64) {
        let flags = EXISTS | self.fill_flags(file, bytes);
        if self.files[file as usize].swap(flags, Ordering::SeqCst) & EXISTS == 0 {
            self.existing_files.fetch_add(1, Ordering::Relaxed);
            self.enter(Some(self.layout.directory_of(file)));
        }
    }

    /// Enters something in a directory that does not belong to the tree: the directory will not be removed.
    pub fn found_stranger(&self, directory: u64) {
        self.enter(Some(directory));
    }

    /// Forgets everything that was found.
    pub fn clear(&self) {
        self.files.iter().for_each(|file| file.store(0, Ordering::SeqCst));
        for directory in &self.directories {
            directory.flags.store(0, Ordering::SeqCst);
            directory.entries.store(0, Ordering::SeqCst);
        }
        self.existing_files.store(0, Ordering::SeqCst);
        self.existing_directories.store(0, Ordering::SeqCst);
    }

    fn fill_flags(&self, file: u64, bytes: u64) -> u8 {
        let full = if bytes >= self.layout.size_bytes(file) { FULL } else { 0 };
        if bytes > 0 { FILLED | full } else { full }
    }

    fn enter(&self, directory: Option<u64>) {
        if let Some(directory) = directory {
            self.directories[directory as usize].entries.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn leave(&self, directory: Option<u64>) {
        if let Some(directory) = directory {
            self.directories[directory as usize].entries.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Holds a directory that is to receive an entry.
    fn enter_existing(&self, directory: Option<u64>) -> Result<(), Unavailable> {
        let Some(index) = directory else { return Ok(()) };
        self.enter(directory);
        // Raised before looking: who removes the directory looks after marking it busy, so that one sees the other.
        match self.directories[index as usize].flags.load(Ordering::SeqCst) {
            EXISTS => Ok(()),
            flags => {
                self.leave(directory);
                Err(if flags & BUSY == 0 { Unavailable::Unfit } else { Unavailable::Busy })
            }
        }
    }

    /// Claims a file for `operation`. With `shared` the file is not taken, only looked at (reads and writes of several
    /// threads in one file).
    ///
    /// # Errors
    /// [`Unavailable`]; the caller tries another file.
    pub fn claim_file(
        &self,
        file: u64,
        operation: TreeOperation,
        wanted: FileState,
        shared: bool,
    ) -> Result<(), Unavailable> {
        let cell = &self.files[file as usize];
        let flags = cell.load(Ordering::SeqCst);
        if !self.fits(file, flags, operation, wanted) {
            return Err(Unavailable::Unfit);
        }
        if flags & BUSY != 0 {
            return Err(Unavailable::Busy);
        }
        if shared {
            return Ok(());
        }
        let taken = cell.compare_exchange(flags, flags | BUSY, Ordering::SeqCst, Ordering::SeqCst);
        taken.map_err(|_| Unavailable::Busy)?;
        if operation == TreeOperation::Create
            && let Err(why) = self.enter_existing(Some(self.layout.directory_of(file)))
        {
            cell.store(flags, Ordering::SeqCst);
            return Err(why);
        }
        Ok(())
    }

    /// Claims a file as the destination of a copy or move, whether it exists or not; `Ok` says whether it does.
    ///
    /// # Errors
    /// [`Unavailable`]; the caller tries another file.
    pub fn claim_destination(&self, file: u64) -> Result<bool, Unavailable> {
        let cell = &self.files[file as usize];
        let flags = cell.load(Ordering::SeqCst);
        if flags & BUSY != 0 {
            return Err(Unavailable::Busy);
        }
        let taken = cell.compare_exchange(flags, flags | BUSY, Ordering::SeqCst, Ordering::SeqCst);
        taken.map_err(|_| Unavailable::Busy)?;
        let exists = flags & EXISTS != 0;
        if !exists && let Err(why) = self.enter_existing(Some(self.layout.directory_of(file))) {
            cell.store(flags, Ordering::SeqCst);
            return Err(why);
        }
        Ok(exists)
    }

    fn fits(&self, file: u64, flags: u8, operation: TreeOperation, wanted: FileState) -> bool {
        if operation == TreeOperation::Create {
            return flags & EXISTS == 0;
        }
        let state = match wanted {
            FileState::Any => true,
            FileState::Full => flags & FULL != 0,
            FileState::Empty => flags & FILLED == 0,
            FileState::NotFull => flags & FULL == 0,
        };
        let content = match operation {
            TreeOperation::Read => flags & FILLED != 0,
            TreeOperation::Write => self.layout.size_bytes(file) > 0,
            TreeOperation::Copy => flags & FULL != 0,
            _ => true,
        };
        flags & EXISTS != 0 && state && content
    }

    /// Whether a file that exists has its full size.
    pub fn is_full(&self, file: u64) -> bool {
        self.files[file as usize].load(Ordering::SeqCst) & FULL != 0
    }

    /// Whether a file exists and has bytes.
    pub fn has_bytes(&self, file: u64) -> bool {
        self.files[file as usize].load(Ordering::SeqCst) & FILLED != 0
    }

    /// Releases a claimed file as it is.
    pub fn release_file(&self, file: u64) {
        self.files[file as usize].fetch_and(!BUSY, Ordering::SeqCst);
    }

    /// Releases a file that was claimed and now exists with `bytes`.
    pub fn release_written(&self, file: u64, bytes: u64) {
        let flags = EXISTS | self.fill_flags(file, bytes);
        if self.files[file as usize].swap(flags, Ordering::SeqCst) & EXISTS == 0 {
            self.existing_files.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes the size of a file that several threads share.
    pub fn grown(&self, file: u64, bytes: u64) {
        self.files[file as usize].fetch_or(self.fill_flags(file, bytes), Ordering::SeqCst);
    }

    /// Releases a destination that was claimed and not used.
    pub fn release_destination(&self, file: u64) {
        if self.files[file as usize].load(Ordering::SeqCst) & EXISTS != 0 {
            self.release_file(file);
        } else {
            self.release_absent(file);
        }
    }

    /// Releases a file that was claimed and does not exist (any more).
    pub fn release_absent(&self, file: u64) {
        if self.files[file as usize].swap(0, Ordering::SeqCst) & EXISTS != 0 {
            self.existing_files.fetch_sub(1, Ordering::Relaxed);
        }
        self.leave(Some(self.layout.directory_of(file)));
    }

    /// Claims a directory for `operation`: one that is missing and whose parent exists, or one that exists and is empty.
    ///
    /// # Errors
    /// [`Unavailable`]; the caller tries another directory.
    pub fn claim_directory(&self, directory: u64, operation: TreeOperation) -> Result<(), Unavailable> {
        let make = operation == TreeOperation::Mkdir;
        let cell = &self.directories[directory as usize];
        let expected = if make { 0 } else { EXISTS };
        if !make && cell.entries.load(Ordering::SeqCst) != 0 {
            return Err(Unavailable::Unfit);
        }
        let taken =
            cell.flags.compare_exchange(expected, expected | BUSY, Ordering::SeqCst, Ordering::SeqCst);
        taken.map_err(|flags| if flags & BUSY == 0 { Unavailable::Unfit } else { Unavailable::Busy })?;
        let ready = if make {
            self.enter_existing(self.layout.parent_of(directory))
        } else if cell.entries.load(Ordering::SeqCst) != 0 {
            Err(Unavailable::Busy)
        } else {
            Ok(())
        };
        if ready.is_err() {
            cell.flags.store(expected, Ordering::SeqCst);
        }
        ready
    }

    /// Releases a directory that was claimed and now exists.
    pub fn made_directory(&self, directory: u64) {
        if self.directories[directory as usize].flags.swap(EXISTS, Ordering::SeqCst) & EXISTS == 0 {
            self.existing_directories.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Releases a directory that was claimed and does not exist (any more).
    pub fn removed_directory(&self, directory: u64) {
        if self.directories[directory as usize].flags.swap(0, Ordering::SeqCst) & EXISTS != 0 {
            self.existing_directories.fetch_sub(1, Ordering::Relaxed);
        }
        self.leave(self.layout.parent_of(directory));
    }

    /// Whether `operation` finds nothing now and nobody who could change that is at work.
    pub fn hopeless(&self, operation: TreeOperation) -> bool {
        use TreeOperation::{Copy, Create, Delete, Mkdir, Move, Rmdir};
        let missing_directories = self.layout.directories().saturating_sub(self.existing_directories());
        match operation {
            Mkdir => missing_directories == 0 && !self.active.contains(Rmdir),
            Rmdir => self.existing_directories() == 0 && !self.active.contains(Mkdir),
            Create => {
                let missing = self.layout.files() - self.existing_files().min(self.layout.files());
                missing == 0 && !self.active.contains_any(&[Delete, Move])
                    || self.existing_directories() == 0 && !self.active.contains(Mkdir)
            }
            _ => self.existing_files() == 0 && !self.active.contains_any(&[Create, Copy, Move]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TreeWorkload;
    use super::*;

    fn state(active: &[TreeOperation]) -> TreeState {
        let tree = TreeWorkload {
            width: 2,
            depth: 2,
            files: 3,
            sizes: vec![(8192, 1.0)],
            ..TreeWorkload::default()
        };
        TreeState::new(TreeLayout::new(&tree).unwrap(), active.iter().copied().collect())
    }

    use TreeOperation::{Create, Delete, Mkdir, Read, Rmdir, Write};

    fn make_all(state: &TreeState) {
        for directory in 0..state.layout().directories() {
            state.claim_directory(directory, Mkdir).unwrap();
            state.made_directory(directory);
        }
    }

    #[test]
    fn parents_come_first_and_go_last() {
        let state = state(&[Mkdir, Rmdir]);
        assert_eq!(state.claim_directory(2, Mkdir), Err(Unavailable::Unfit));
        state.claim_directory(0, Mkdir).unwrap();
        assert_eq!(state.claim_directory(0, Mkdir), Err(Unavailable::Busy));
        assert_eq!(state.claim_directory(2, Mkdir), Err(Unavailable::Busy));
        state.made_directory(0);
        state.claim_directory(2, Mkdir).unwrap();
        assert_eq!(state.claim_directory(0, Rmdir), Err(Unavailable::Unfit));
        state.removed_directory(2);
        state.claim_directory(0, Rmdir).unwrap();
        state.removed_directory(0);
        assert_eq!(state.existing_directories(), 0);
    }

    #[test]
    fn a_file_belongs_to_one_thread_at_a_time() {
        let state = state(&[Create, Read]);
        assert_eq!(state.claim_file(0, Create, FileState::Any, false), Err(Unavailable::Unfit));
        make_all(&state);
        assert!(!state.hopeless(Delete) && state.existing_files() == 0);
        state.claim_file(0, Create, FileState::Any, false).unwrap();
        assert_eq!(state.claim_file(0, Create, FileState::Any, false), Err(Unavailable::Busy));
        assert_eq!(state.claim_directory(2, Rmdir), Err(Unavailable::Unfit), "it holds the file");
        state.release_written(0, 0);
        assert_eq!(state.existing_files(), 1);
        assert_eq!(state.claim_file(0, Read, FileState::Any, false), Err(Unavailable::Unfit), "it is empty");
        state.claim_file(0, Write, FileState::Empty, false).unwrap();
        state.release_written(0, 4096);
        assert!(!state.is_full(0));
        assert_eq!(state.claim_file(0, Read, FileState::Full, false), Err(Unavailable::Unfit));
        state.claim_file(0, Write, FileState::NotFull, false).unwrap();
        state.release_written(0, 8192);
        state.claim_file(0, Read, FileState::Full, true).unwrap();
        state.claim_file(0, Delete, FileState::Any, false).unwrap();
        state.release_absent(0);
        assert_eq!(state.existing_files(), 0);
        state.claim_directory(2, Rmdir).unwrap();
    }

    #[test]
    fn a_stranger_keeps_its_directory() {
        let state = state(&[Rmdir]);
        state.found_directory(0);
        state.found_directory(2);
        state.found_stranger(2);
        assert_eq!(state.claim_directory(2, Rmdir), Err(Unavailable::Unfit));
    }

    #[test]
    fn hope_ends_where_nobody_can_help() {
        let alone = state(&[Create]);
        make_all(&alone);
        assert!(!alone.hopeless(Create) && alone.hopeless(Mkdir));
        (0..alone.layout().files()).for_each(|file| alone.found_file(file, 8192));
        assert!(alone.hopeless(Create));
        let both = state(&[Create, Delete]);
        make_all(&both);
        (0..both.layout().files()).for_each(|file| both.found_file(file, 8192));
        assert!(!both.hopeless(Create));
        assert!(state(&[Read]).hopeless(Read) && state(&[Create]).hopeless(Create));
    }
}
