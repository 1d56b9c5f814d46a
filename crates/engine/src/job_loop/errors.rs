//! Errors of single I/Os.

/// Errno values kept apart, and what has none.
const ERRNO_MAX: usize = 135;
/// Nothing was moved although nothing failed: the file or device ends there, cut while it was used. No errno of Linux.
pub(crate) const END_OF_FILE: i32 = 134;

/// How many there were, and how many may be.
#[derive(Debug)]
pub(super) struct Errors {
    by_errno: Box<[u64; ERRNO_MAX]>,
    total: u64,
    tolerated: u64,
}

impl Errors {
    pub(super) fn new(tolerated: u64) -> Errors {
        Errors { by_errno: Box::new([0; ERRNO_MAX]), total: 0, tolerated }
    }

    /// An I/O failed with `errno`.
    #[cold]
    pub(super) fn failed(&mut self, errno: i32) {
        self.by_errno[(errno as usize).min(ERRNO_MAX - 1)] += 1;
    }

    /// Counts one; whether they are too many.
    #[cold]
    pub(super) fn count(&mut self) -> bool {
        self.total += 1;
        self.total > self.tolerated
    }

    /// Those that occurred, by errno.
    pub(super) fn list(&self) -> Vec<(i32, u64)> {
        let counts = self.by_errno.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(errno, count)| (errno as i32, *count)).collect()
    }
}
