//! The worker's end of the conversation: a thread that reads, one that writes, and one that looks whether the coordinator is still
//! there. Nothing that measures ever waits for the stream.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_conduct::workplace::{MonotonicClock, Refused};
use assay_workload::units::Bytes;

use super::{LOOK, Stream, Streams};
use crate::frame::{BODY_BYTES_MAX, Frame, FrameError, FrameReader, PAYLOAD_BYTES_MAX, PREAMBLE};
use crate::message::{Command, Report};
use crate::session::Session;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// The conversation, shared by all threads.
pub(super) struct Line {
    state: Mutex<State>,
    changed: Condvar,
    clock: MonotonicClock,
    stop: Arc<AtomicBool>,
    instance: u64,
    /// When something came last.
    heard_ns: AtomicU64,
    lease_ns: AtomicU64,
}

#[derive(Default)]
struct State {
    session: Session,
    /// Where frames go; `None`: nowhere, or a thread is just writing.
    output: Option<Box<dyn Write + Send>>,
    /// Counts streams: one that was replaced is not used again.
    stream: u64,
    /// The start of the phase that is waited for.
    start: Option<u64>,
    /// The coordinator is gone for good.
    gone: bool,
}

/// Starts the threads. Commands go to `commands`, but for those that cannot wait.
pub(super) fn start(line: &Arc<Line>, streams: Streams, commands: Sender<Command>) -> std::io::Result<()> {
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
    };
    let (reader, writer, lease) = (Arc::clone(line), Arc::clone(line), Arc::clone(line));
    spawn("assay-read", Box::new(move || reader.read_all(streams, &commands)))?;
    spawn("assay-write", Box::new(move || writer.write_all()))?;
    spawn("assay-lease", Box::new(move || lease.watch_lease()))
}

impl Line {
    pub(super) fn new(clock: MonotonicClock, stop: Arc<AtomicBool>, instance: u64, lease: Duration) -> Self {
        let heard_ns = AtomicU64::new(clock());
        let lease_ns = AtomicU64::new(lease.as_nanos() as u64);
        let (state, changed) = (Mutex::default(), Condvar::new());
        Line { state, changed, clock, stop, instance, heard_ns, lease_ns }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole at any moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message; it goes out in its turn.
    pub(super) fn send(&self, payload: Vec<u8>) {
        self.state().session.send(payload);
        self.changed.notify_all();
    }

    pub(super) fn report(&self, report: &Report) {
        let payload = report.encode();
        if payload.len() <= PAYLOAD_BYTES_MAX {
            return self.send(payload);
        }
        let bytes = Bytes(payload.len() as u64);
        let message = format!(
            "its answer takes {bytes}, and {} can be sent; use fewer targets in one run",
            Bytes(BODY_BYTES_MAX as u64)
        );
        self.send(Report::Refused { refused: Refused { message, is_request: true } }.encode());
    }

    pub(super) fn set_lease(&self, lease: Duration) {
        self.lease_ns.store(lease.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Whether nothing comes from the coordinator any more.
    pub(super) fn is_gone(&self) -> bool {
        self.state().gone
    }

    pub(super) fn forget_start(&self) {
        self.state().start = None;
    }

    /// Says that all threads are ready, and waits for the start; `None`: it will not come.
    pub(super) fn wait_for_start(&self, stop: &AtomicBool) -> Option<u64> {
        self.report(&Report::Armed);
        let mut state = self.state();
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(at_ns) = state.start.take() {
                return Some(at_ns);
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the coordinator has everything, but not for ever.
    pub(super) fn deliver(&self, time_max: Duration) {
        let until = Instant::now() + time_max;
        let mut state = self.state();
        // Nothing is on its way, either, once the stream is back from where it is written.
        let is_done = |state: &State| {
            state.session.is_delivered() && state.session.has_acknowledged() && state.output.is_some()
        };
        while !is_done(&state) && !state.gone && Instant::now() < until {
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn read_all(&self, mut streams: Streams, commands: &Sender<Command>) {
        while let Some(stream) = streams() {
            // A stream that is of no use is given up, and the next one is waited for.
            let _ = self.read(stream, commands);
            self.state().output = None;
        }
        self.give_up();
    }

    /// Nothing comes any more: what goes on is stopped.
    fn give_up(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.state().gone = true;
        self.changed.notify_all();
    }

    fn read(&self, stream: Stream, commands: &Sender<Command>) -> Result<(), FrameError> {
        let Stream { mut input, mut output } = stream;
        let received = self.state().session.received();
        let resume = Frame::Resume { instance: self.instance, received }.encode();
        if output
            .write_all(PREAMBLE)
            .and_then(|()| output.write_all(&resume))
            .and_then(|()| output.flush())
            .is_err()
        {
            return Ok(());
        }
        // It is used for messages once the other side has said what it has.
        let mut output = Some(output);
        let mut frames = FrameReader::default();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let got = match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(got) => got,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(()),
            };
            self.heard_ns.store((self.clock)(), Ordering::Relaxed);
            frames.push(&buffer[..got]);
            while let Some(frame) = frames.next_frame()? {
                self.take(frame, &mut output, commands)?;
            }
            self.changed.notify_all();
        }
    }

    fn take(
        &self,
        frame: Frame,
        output: &mut Option<Box<dyn Write + Send>>,
        commands: &Sender<Command>,
    ) -> Result<(), FrameError> {
        let mut state = self.state();
        match frame {
            Frame::Resume { instance, received } => {
                if instance != 0 && instance != self.instance {
                    return Err(FrameError::Content);
                }
                state.session.resume(received);
                state.stream += 1;
                state.output = output.take();
            }
            Frame::Ping { id } => {
                let at_ns = (self.clock)();
                state.session.send_urgent(&Frame::Pong { id, at_ns });
            }
            Frame::Pong { .. } => {}
            Frame::Ack { received } => state.session.acknowledge(received),
            Frame::Data { number, payload } => {
                let Some(payload) = state.session.receive(number, payload)? else { return Ok(()) };
                match Command::decode(&payload).ok_or(FrameError::Content)? {
                    Command::Start { at_ns } => state.start = Some(at_ns),
                    Command::Stop => self.stop.store(true, Ordering::Relaxed),
                    command => drop(commands.send(command)),
                }
            }
        }
        Ok(())
    }

    fn write_all(&self) {
        loop {
            let mut state = self.state();
            if state.gone {
                return;
            }
            let bytes = if state.output.is_some() { state.session.next_bytes() } else { None };
            let (Some(bytes), stream) = (bytes, state.stream) else {
                drop(self.changed.wait_timeout(state, LOOK));
                continue;
            };
            let Some(mut output) = state.output.take() else { continue };
            drop(state);
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            let mut state = self.state();
            // Where it failed, the reader comes to the end of the stream, too.
            if written.is_ok() && state.stream == stream {
                state.output = Some(output);
                self.changed.notify_all();
            }
        }
    }

    fn watch_lease(&self) {
        while !self.is_gone() {
            let before_ns = (self.clock)();
            std::thread::sleep(LOOK);
            let now_ns = (self.clock)();
            let lease_ns = self.lease_ns.load(Ordering::Relaxed);
            if now_ns.saturating_sub(before_ns) > lease_ns / 2 {
                // This process was stopped itself: what came meanwhile has yet to be read.
                self.heard_ns.fetch_max(now_ns - lease_ns / 2, Ordering::Relaxed);
            }
            if now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed)) > lease_ns {
                self.give_up();
            }
        }
    }
}
