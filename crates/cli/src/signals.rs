//! SIGINT and SIGTERM: the first one stops cleanly, a second one at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::last_words;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::failure::Failure;

/// A write beyond the limit for files (`ulimit -f`) is an error that is told, not the end of the process. Programs that are
/// started have the usual again.
pub(crate) fn outlive_file_limits() {
    // The flag is not looked at: that something is called is what keeps the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// A flag that the first signal sets. The second ends the process with the status of the signal.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |error| Failure::failed(format!("cannot watch for signals: {error}"));
    // Before those that end the process: handlers that were there are called first.
    last_words::on_second(&[SIGINT, SIGTERM, SIGHUP], &stop).map_err(failed)?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Registered first, so that it acts on the flag as it was before this signal.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(failed)?;
    }
    Ok(stop)
}
