//! A worker: a process that looks at targets and carries out its part of a plan as a coordinator at the other end of a stream says.
//!
//! What it measured is kept until the coordinator has it. When nothing comes from the coordinator any more, it stops by itself: no load
//! is left on a storage without a coordinator.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use assay_conduct::workplace::{Part, Prepared, Refused, Start, Workplace};
use assay_conduct::{PhaseOutcome, When};
use assay_results::{HostEvent, HostId};
use assay_workload::{Plan, PlannedPhase};

use crate::frame::PROTOCOL;
use crate::message::{Beside, Command, Ended, Hello, Report, Told};

mod line;

use line::Line;

/// How often it is looked whether the coordinator is gone.
const LOOK: Duration = Duration::from_millis(50);
/// How long what was measured may take to arrive at the end.
const DELIVER: Duration = Duration::from_secs(10);
/// The lease until the coordinator says another.
const LEASE_DEFAULT: Duration = Duration::from_secs(30);

/// A connection to the coordinator.
pub struct Stream {
    /// What comes from it.
    pub input: Box<dyn Read + Send>,
    /// What goes to it.
    pub output: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

/// Gives the connection, and another one each time it broke; `None`: there are no more. It may wait for one.
pub type Streams = Box<dyn FnMut() -> Option<Stream> + Send>;

/// A connection that cannot be replaced: the standard streams of a process that the coordinator started.
pub fn only(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Streams {
    let mut stream = Some(Stream { input: Box::new(input), output: Box::new(output) });
    Box::new(move || stream.take())
}

/// How long nothing may come over a socket until another connection is waited for: a coordinator asks for the clock once a second.
const STALE: Duration = Duration::from_secs(5);

/// One connection after the other, as `accept` gives them. One that nothing comes over for some seconds is given up for the next.
pub fn accepted(mut accept: impl FnMut() -> io::Result<OwnedFd> + Send + 'static) -> Streams {
    Box::new(move || {
        loop {
            // What ended before it was accepted is no reason to end.
            match accept().and_then(socket_stream) {
                Ok(stream) => return Some(stream),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return None,
            }
        }
    })
}

/// Both directions of a socket, neither of which waits for ever.
pub(crate) fn socket_stream(socket: OwnedFd) -> io::Result<Stream> {
    // The options of sockets are the same for all families.
    let socket = UnixStream::from(socket);
    socket.set_read_timeout(Some(STALE))?;
    socket.set_write_timeout(Some(STALE))?;
    Ok(Stream { input: Box::new(socket.try_clone()?), output: Box::new(socket) })
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The coordinator wanted nothing more.
    Finished,
    /// The same, and the run failed.
    Failed,
    /// The coordinator was gone, or the process was told to stop.
    Abandoned,
}

/// Serves one coordinator to its end.
///
/// # Errors
/// That threads cannot be started.
pub fn serve(place: &mut dyn Workplace, streams: Streams) -> io::Result<Served> {
    let (stop, clock) = (place.stop(), place.clock());
    // Tells one process from another on the same machine; it is no secret.
    let instance = (u64::from(std::process::id()) << 32) ^ clock();
    let line = Arc::new(Line::new(clock, Arc::clone(&stop), instance, LEASE_DEFAULT));
    let (sender, commands) = mpsc::channel();
    line::start(&line, streams, sender)?;
    let hello = Hello { protocol: PROTOCOL, version: place.version(), instance, node: place.node() };
    line.report(&Report::Hello { hello });
    let mut work = Work { place, line: Arc::clone(&line), stop, set_up: None, measured: false };
    let served = loop {
        match commands.recv_timeout(LOOK) {
            Ok(Command::Finish { came_to_nothing, failed }) => {
                work.end(came_to_nothing);
                break if failed { Served::Failed } else { Served::Finished };
            }
            // Nothing waits any more for what is asked for before the end of the stream.
            Ok(_) if line.is_gone() => {}
            Ok(command) => work.obey(command),
            Err(mpsc::RecvTimeoutError::Timeout) if !line.is_gone() => {}
            Err(_) => {
                let came_to_nothing = !work.measured;
                work.end(came_to_nothing);
                break Served::Abandoned;
            }
        }
    };
    line.deliver(DELIVER);
    Ok(served)
}

/// What is going on.
struct Work<'a> {
    place: &'a mut dyn Workplace,
    line: Arc<Line>,
    stop: Arc<AtomicBool>,
    set_up: Option<(Arc<Plan>, Prepared)>,
    /// Whether a phase was begun.
    measured: bool,
}

impl Work<'_> {
    fn obey(&mut self, command: Command) {
        match command {
            Command::Look { look, lease_ms } => {
                self.line.set_lease(Duration::from_millis(lease_ms));
                let looked = self.place.look(&look).map(Box::new);
                self.answer(looked.map(|inventory| Report::Looked { inventory }));
            }
            Command::Prepare { part } => {
                let prepared = self.prepare(*part);
                self.answer(prepared);
            }
            Command::Beside { phase, what } => self.beside(phase as usize, what),
            Command::Execute { phase, planned } => self.execute(phase as usize, *planned),
            // The line takes these as they come.
            Command::Start { .. } | Command::Stop | Command::Finish { .. } => {}
        }
    }

    fn answer(&self, answer: Result<Report, Refused>) {
        self.line.report(&answer.unwrap_or_else(|refused| Report::Refused { refused }));
    }

    fn prepare(&mut self, part: Part) -> Result<Report, Refused> {
        let line = Arc::clone(&self.line);
        let start: Start = Arc::new(move |stop| line.wait_for_start(stop));
        let plan = Arc::new(part.plan.clone());
        let prepared = self.place.prepare(part, start)?;
        let environment = Box::new(prepared.environment.clone());
        self.set_up = Some((plan, prepared));
        Ok(Report::Prepared { environment })
    }

    fn beside(&mut self, phase: usize, what: Beside) {
        let line = &self.line;
        if let Some((plan, prepared)) = self.set_up.as_mut().filter(|(plan, _)| phase < plan.phases.len()) {
            let executor = &mut prepared.executor;
            let sink = &mut |_: HostId, event: HostEvent| line.send(Told::encode_event(event));
            match what {
                Beside::IdleBefore => executor.idle_window(plan, phase, When::Before, sink),
                Beside::IdleAfter => executor.idle_window(plan, phase, When::After, sink),
                Beside::Settle => executor.settle(plan, phase, sink),
            }
        }
        let stopped = self.stop.load(Ordering::Relaxed);
        self.line.report(&Report::Ended { ended: if stopped { Ended::Stopped } else { Ended::Done } });
    }

    fn execute(&mut self, phase: usize, planned: PlannedPhase) {
        let line = &self.line;
        let outcome = match self.set_up.as_mut().filter(|(plan, _)| phase < plan.phases.len()) {
            None => PhaseOutcome::Failed("the worker was not prepared for the phase".to_owned()),
            Some((plan, prepared)) => {
                self.measured = true;
                line.forget_start();
                Arc::make_mut(plan).phases[phase] = planned;
                let sink = &mut |_: HostId, event: HostEvent| line.send(Told::encode_event(event));
                prepared.executor.execute(plan, phase, sink)
            }
        };
        self.line.report(&Report::Ended { ended: outcome.into() });
    }

    fn end(&mut self, came_to_nothing: bool) {
        self.set_up = None;
        self.place.end(came_to_nothing);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod toy;
