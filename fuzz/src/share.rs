//! How many inputs were accepted, where `ASSAY_FUZZ_STATS` names a file.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Between two times that it is written down.
const EVERY: u64 = 256;

static INPUTS: AtomicU64 = AtomicU64::new(0);
static ACCEPTED: AtomicU64 = AtomicU64::new(0);

/// Counts one input.
pub fn count(accepted: bool) {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(file) = FILE.get_or_init(|| std::env::var_os("ASSAY_FUZZ_STATS").map(PathBuf::from)) else {
        return;
    };
    let all = ACCEPTED.fetch_add(u64::from(accepted), Relaxed) + u64::from(accepted);
    let inputs = INPUTS.fetch_add(1, Relaxed) + 1;
    if inputs.is_multiple_of(EVERY) {
        let share = 100.0 * all as f64 / inputs as f64;
        let _ = std::fs::write(file, format!("{all} of {inputs} accepted ({share:.0} %)\n"));
    }
}
