//! The line that a process leaves when a second signal ends it at once: where what was measured is kept.
//!
//! It is prepared before, because a signal handler may neither allocate nor lock: the handler reads two pointers and calls
//! write(2). It is installed below the handlers of whatever else watches the same signals, which call it first.

use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The line; null: there is nothing to say. What was published is never freed, because a handler may be reading it.
static LINE: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());
/// What puts a terminal back that shows a whole screen; null: none does.
static SCREEN: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());
/// The flag that the first signal sets.
static STOP: AtomicPtr<AtomicBool> = AtomicPtr::new(ptr::null_mut());

/// The line is written while this lives.
#[derive(Debug)]
pub struct LastWords {
    before: *mut String,
}

impl LastWords {
    /// What is said from now on, with the end of the line.
    pub fn prepare(line: String) -> Self {
        LastWords { before: LINE.swap(Box::into_raw(Box::new(line)), Ordering::AcqRel) }
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        LINE.store(self.before, Ordering::Release);
    }
}

/// What puts the terminal back is written before the line while this lives.
#[derive(Debug)]
pub struct ScreenReset(());

impl ScreenReset {
    /// The control sequences.
    pub fn prepare(sequences: String) -> Self {
        // What was there before is not freed, because a handler may be reading it.
        SCREEN.store(Box::into_raw(Box::new(sequences)), Ordering::Release);
        ScreenReset(())
    }
}

impl Drop for ScreenReset {
    fn drop(&mut self) {
        SCREEN.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Has the signals write the line where `stop` is set already. What watches the signals otherwise is installed after this.
///
/// # Errors
/// What the system says.
pub fn on_second(signals: &[i32], stop: &Arc<AtomicBool>) -> io::Result<()> {
    let flag = Arc::into_raw(Arc::clone(stop)).cast_mut();
    if !STOP.swap(flag, Ordering::AcqRel).is_null() {
        // The handlers are there, below those that were installed since.
        return Ok(());
    }
    for signal in signals {
        // SAFETY: all zero is a valid sigaction: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the action is initialized, and its handler does only what is allowed in one.
        if unsafe { libc::sigaction(*signal, &raw const action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn handler(_: libc::c_int) {
    // SAFETY: it is null or was leaked: what it points to lives as long as the process and does not change but atomically.
    let Some(stop) = (unsafe { STOP.load(Ordering::Acquire).as_ref() }) else { return };
    if !stop.load(Ordering::SeqCst) {
        return;
    }
    for text in [SCREEN.load(Ordering::Acquire), LINE.load(Ordering::Acquire)] {
        // SAFETY: as above.
        let Some(text) = (unsafe { text.as_ref() }) else { continue };
        // SAFETY: write(2) is async-signal-safe, and the bytes are those of a string that is never freed. The process ends
        // right behind this, so neither errno nor a short write matters.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
}
