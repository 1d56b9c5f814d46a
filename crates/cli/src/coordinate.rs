//! `assay worker --coordinate` in a pod: it carries a command out, tells what it says to whatever follows it on the loopback, and keeps the run
//! until the pod is removed.

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_fleet::coordinate::{Ended, PIECE_BYTES, STOP, Told};
use assay_results::store;
use rustix::process::{Pid, Signal, kill_process};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::signals;

/// How often it is looked whether the pod is to end.
const LOOK: Duration = Duration::from_millis(50);
/// How often a sign of life is sent.
const SIGN: Duration = Duration::from_secs(5);

/// What is known of the command.
#[derive(Debug, Default)]
struct State {
    said: Vec<u8>,
    ended: Option<Arc<Ended>>,
}

#[derive(Debug)]
struct Errand {
    state: Mutex<State>,
    changed: Condvar,
    pid: Option<Pid>,
    is_stopped: AtomicBool,
}

impl Errand {
    fn state(&self) -> MutexGuard<'_, State> {
        // It is whole at any moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As Ctrl-C does; a second one would cut its end short.
    fn stop(&self) {
        if !self.is_stopped.swap(true, Ordering::Relaxed)
            && self.state().ended.is_none()
            && let Some(pid) = self.pid
        {
            let _ = kill_process(pid, Signal::INT);
        }
    }
}

/// Carries the words out, and tells whatever connects to the port of the loopback.
pub(crate) fn coordinate(port: u16, words: &[OsString], context: &Context) -> Result<Outcome, Failure> {
    let told = signals::stop_flag()?;
    let failed =
        |what: &'static str| move |error: std::io::Error| Failure::failed(format!("{what}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed("cannot listen"))?;
    listener.set_nonblocking(true).map_err(failed("cannot listen"))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("assay").args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed("cannot start the coordinator"))?;
    let pid = Pid::from_raw(child.id() as i32);
    let running = Arc::new(Errand {
        state: Mutex::default(),
        changed: Condvar::new(),
        pid,
        is_stopped: AtomicBool::new(false),
    });
    let watched = Arc::clone(&running);
    let runs = context.runs_root()?;
    let ends = std::thread::spawn(move || {
        let status = hear(&mut child, &watched);
        let bundle = bundle(&runs).unwrap_or_else(|why| {
            let mut state = watched.state();
            state.said.extend(format!("its run cannot be sent: {why}\n").into_bytes());
            Vec::new()
        });
        watched.state().ended = Some(Arc::new(Ended { status, bundle }));
        watched.changed.notify_all();
    });
    while !told.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        let running = Arc::clone(&running);
        // A stream that breaks is replaced by whatever follows it.
        std::thread::spawn(move || stream.set_nonblocking(false).and_then(|()| tell(stream, &running)));
    }
    running.stop();
    let _ = ends.join();
    Ok(Outcome::Done)
}

/// Takes what the command says until it ends: its status, as a shell has it.
fn hear(child: &mut Child, running: &Errand) -> u8 {
    let mut part = vec![0; 16 << 10];
    if let Some(mut said) = child.stderr.take() {
        while let Ok(got @ 1..) = said.read(&mut part) {
            // `kubectl logs` shows it, too.
            let _ = std::io::stderr().write_all(&part[..got]);
            running.state().said.extend_from_slice(&part[..got]);
            running.changed.notify_all();
        }
    }
    child.wait().map_or(1, status_of)
}

fn status_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// The one run that is stored, as a bundle; empty: there is none.
fn bundle(runs: &std::path::Path) -> Result<Vec<u8>, String> {
    let found = store::list(runs).map_err(|error| error.to_string())?;
    let Some(entry) = found.last() else { return Ok(Vec::new()) };
    let run = store::load(runs, &entry.id).map_err(|error| error.to_string())?;
    let directory = store::find(runs, &entry.id).map_err(|error| error.to_string())?;
    store::export_run(directory.path(), &run, false).map_err(|error| error.to_string())
}

/// Tells all from the start, until the end or until the stream breaks.
fn tell(stream: TcpStream, running: &Arc<Errand>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut answers, watched) = (stream.try_clone()?, Arc::clone(running));
    std::thread::spawn(move || {
        let mut byte = [0];
        while let Ok(1) = answers.read(&mut byte) {
            if byte[0] == STOP {
                watched.stop();
            }
        }
    });
    let (mut stream, mut number, mut sent) = (stream, 0, 0);
    let mut send = |told: Told| {
        number += 1;
        stream.write_all(&told.encode(number))
    };
    // A forwarded port is known to be open by what comes first.
    send(Told::Said(Vec::new()))?;
    let ended = loop {
        let mut state = running.state();
        if state.said.len() == sent && state.ended.is_none() {
            state = running.changed.wait_timeout(state, SIGN).unwrap_or_else(PoisonError::into_inner).0;
        }
        let said = state.said[sent..].to_vec();
        let ended = state.ended.clone();
        drop(state);
        sent += said.len();
        send(Told::Said(said))?;
        if let Some(ended) = ended {
            break ended;
        }
    };
    ended.bundle.chunks(PIECE_BYTES).try_for_each(|piece| send(Told::Piece(piece.to_vec())))?;
    send(Told::Ended(ended.status))
}
