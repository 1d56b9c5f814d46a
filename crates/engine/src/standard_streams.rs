//! Which standard streams the process was started without.
//!
//! Rust's runtime puts `/dev/null` in the place of a standard stream that is closed, before `main` runs: what is written there
//! then seems to have arrived. So it is looked before that runtime begins.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether stdout was closed when the process began.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: asks for the flags of a descriptor, which may be closed; nothing else of the process is needed.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_CLOSED.store(flags < 0, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions of this section before Rust's runtime begins; this one takes no arguments, allocates
// nothing and cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether stdout was closed when the process began.
pub fn stdout_was_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}
