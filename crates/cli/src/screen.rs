//! `--live`: a whole screen on a terminal while a run goes on.
//!
//! A thread of its own draws it a few times a second, so that it follows a window that is resized, and shows what hangs when nothing
//! else comes. The terminal's modes stay as they are: Ctrl-C is a signal as ever. What the screen changed is undone when it
//! goes, when the program panics, and when a second signal ends it.

use std::io::{Stderr, Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_engine::last_words::ScreenReset;
use assay_report::Style;
use assay_results::RunEvent;
use assay_results::live::LiveRun;
use assay_runner::idle_windows_s;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

mod draw;

/// How often the screen is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Another screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
/// The one that was there, with its cursor.
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Whether a screen is shown: what a panic has to undo.
static SHOWN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The screen, as long as it lives.
#[derive(Debug)]
pub(crate) struct Screen {
    run: Arc<Mutex<LiveRun>>,
    begun: Instant,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _reset: ScreenReset,
}

/// A thread that panicked leaves a run that is shown as it was.
fn locked(run: &Mutex<LiveRun>) -> MutexGuard<'_, LiveRun> {
    run.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Takes the terminal on stderr; `None`: it cannot be had, and a line has to do.
    pub(crate) fn open(style: Style) -> Option<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(stderr())).ok()?;
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                usual(panic);
            }));
        });
        let reset = ScreenReset::prepare(LEAVE.to_owned());
        write(ENTER);
        SHOWN.store(true, Ordering::SeqCst);
        let (run, ended, begun) =
            (Arc::new(Mutex::new(LiveRun::default())), Arc::new(AtomicBool::new(false)), Instant::now());
        let (shown, end) = (Arc::clone(&run), Arc::clone(&ended));
        let thread = std::thread::Builder::new().name("screen".to_owned());
        let thread = thread.spawn(move || draw_until(&end, &shown, begun, terminal, style));
        let screen = Screen { run, begun, ended, thread: thread.ok(), _reset: reset };
        // Without a thread nothing would be drawn; what was changed is undone as the value goes.
        screen.thread.is_some().then_some(screen)
    }

    /// Takes note of an event.
    pub(crate) fn hear(&mut self, event: &RunEvent) {
        locked(&self.run).hear(event, self.begun.elapsed(), &idle_windows_s);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        leave();
    }
}

fn draw_until(
    ended: &AtomicBool,
    run: &Mutex<LiveRun>,
    begun: Instant,
    mut terminal: Terminal<CrosstermBackend<Stderr>>,
    style: Style,
) {
    while !ended.load(Ordering::Relaxed) {
        let drawn = {
            let run = locked(run);
            let now = begun.elapsed();
            terminal.draw(|frame| draw::draw(frame, &run, now, style)).map(drop)
        };
        // A terminal that went away takes no more.
        if drawn.is_err() {
            return;
        }
        std::thread::park_timeout(DRAW_EVERY);
    }
}

/// Puts back what was there, once.
fn leave() {
    if SHOWN.swap(false, Ordering::SeqCst) {
        write(LEAVE);
    }
}

fn write(sequences: &str) {
    let mut stderr = stderr().lock();
    let _ = stderr.write_all(sequences.as_bytes()).and_then(|()| stderr.flush());
}
