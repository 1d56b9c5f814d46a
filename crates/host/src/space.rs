//! Room to write in.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

/// Share of the file system that is left free on top of what is asked for, in percent: a full file system
/// slows down, and fails whoever else uses it.
pub const RESERVE_PERCENT: u64 = 5;

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Total size.
    pub total_bytes: u64,
    /// Free for an unprivileged writer.
    pub available_bytes: u64,
    /// Allocation unit.
    pub block_bytes: u64,
}

impl Space {
    /// What must stay free.
    pub fn reserve_bytes(&self) -> u64 {
        self.total_bytes / 100 * RESERVE_PERCENT
    }

    /// The most that may be written.
    pub fn usable_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.reserve_bytes())
    }
}

/// Why there is no room.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The file system could not be asked.
    #[error("cannot ask for the free space at {path}: {source}")]
    Unknown {
        /// The path asked about.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Too little is free.
    #[error(
        "{path} has room for {usable_bytes} bytes (free space less {RESERVE_PERCENT} % of the file system), \
         {needed_bytes} are needed: free some space, or use a smaller size"
    )]
    TooLittle {
        /// The path asked about.
        path: PathBuf,
        /// What is needed.
        needed_bytes: u64,
        /// What may be used.
        usable_bytes: u64,
    },
}

/// Size and free space of the file system that holds an existing path.
///
/// # Errors
/// What statvfs(2) says.
pub fn of(path: &Path) -> std::io::Result<Space> {
    let stat = statvfs(path)?;
    Ok(Space {
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        block_bytes: stat.f_bsize,
    })
}

/// Whether `needed_bytes` can be written below an existing path while [`RESERVE_PERCENT`] of its file system
/// stays free.
///
/// # Errors
/// [`SpaceError::TooLittle`] when not, [`SpaceError::Unknown`] when the file system does not say.
pub fn check(path: &Path, needed_bytes: u64) -> Result<Space, SpaceError> {
    let space = of(path).map_err(|source| SpaceError::Unknown { path: path.to_owned(), source })?;
    let usable_bytes = space.usable_bytes();
    if needed_bytes > usable_bytes {
        return Err(SpaceError::TooLittle { path: path.to_owned(), needed_bytes, usable_bytes });
    }
    Ok(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_kept() {
        let space = Space { total_bytes: 1000, available_bytes: 80, block_bytes: 1 };
        assert_eq!((space.reserve_bytes(), space.usable_bytes()), (50, 30));
        let full = Space { available_bytes: 20, ..space };
        assert_eq!(full.usable_bytes(), 0);
    }

    #[test]
    fn a_real_directory_has_room_for_little_and_not_for_everything() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(check(directory.path(), 0).is_ok());
        let refused = check(directory.path(), u64::MAX).expect_err("no such file system");
        assert!(refused.to_string().contains("use a smaller size"), "{refused}");
    }
}
