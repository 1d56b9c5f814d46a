//! How far a load is.

/// Where a load stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that are there.
    pub rows: u64,
    /// All of them, about: orders have 5 to 15 lines.
    pub rows_total: u64,
}

impl std::fmt::Display for Progress {
    /// `load  37 %, 412,000 rows`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys and indexes are made when all rows are there.
        let percent = (self.rows * 100 / self.rows_total.max(1)).min(99);
        write!(f, "load  {percent} %, {} of about {} rows", self.rows, self.rows_total)
    }
}

/// Who is told, and asked whether to go on.
pub struct Watcher<'w> {
    /// Takes what is to be shown.
    pub progress: &'w mut dyn FnMut(Progress),
    /// Whether it is to end.
    pub stopped: &'w (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
    }
}
