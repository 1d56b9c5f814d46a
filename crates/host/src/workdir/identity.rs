//! Which file or directory it is, whatever it is called.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};
use serde::{Deserialize, Serialize};

/// Inode and birth time: an inode number is given again when its file is gone, the two together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `[major, minor]` of the file system; left out where only names within one are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<(u32, u32)>,
    /// The inode.
    pub inode: u64,
    /// Birth time in nanoseconds since 1970; left out where the file system keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born_ns: Option<i64>,
}

impl Identity {
    /// Of what is open.
    pub(crate) fn of_open(file: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self::from(&rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?))
    }

    /// Of what a path leads to.
    ///
    /// # Errors
    /// What statx(2) says.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&rustix::fs::statx(CWD, path, AtFlags::empty(), wanted())?))
    }

    /// Whether what was written down is this one. What was not known then is not compared.
    pub(crate) fn is(&self, now: &Identity) -> bool {
        let same_device = self.device.is_none() || self.device == now.device;
        same_device && self.inode == now.inode && (self.born_ns.is_none() || self.born_ns == now.born_ns)
    }

    /// For comparison within one file system.
    pub(crate) fn without_device(self) -> Self {
        Self { device: None, ..self }
    }
}

pub(super) fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

impl From<&Statx> for Identity {
    fn from(stat: &Statx) -> Self {
        let born = (stat.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then(|| stat.stx_btime.tv_sec.saturating_mul(1_000_000_000) + i64::from(stat.stx_btime.tv_nsec));
        Self { device: Some((stat.stx_dev_major, stat.stx_dev_minor)), inode: stat.stx_ino, born_ns: born }
    }
}
