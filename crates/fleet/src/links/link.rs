//! The streams to one worker.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use assay_results::event::LostReason;

use super::{Heard, Outgoing};
use crate::clock::{ClockEstimate, EXCHANGES};
use crate::frame::{Frame, FrameError, FrameReader, PREAMBLE};
use crate::launch::{Connection, Peer, Remote};
use crate::program::NEEDS_BINARY;
use crate::session::Session;

/// What is read at once.
const READ_BYTES: usize = 64 << 10;
/// What a login may print before the worker speaks.
const NOISE_BYTES_MAX: usize = 256 << 10;
/// What is kept of the standard error.
const SAID_BYTES_MAX: usize = 4 << 10;
/// How often a worker's clock is asked for between starts; the answers show that it is there.
const ASK_EVERY_NS: u64 = 1_000_000_000;
/// How long it may take until it is known why the output has ended.
const END_NS: u64 = 1_000_000_000;

/// One worker.
#[derive(Debug)]
pub(super) struct Link {
    /// `None`: nothing more is expected of it.
    peer: Option<Box<dyn Peer>>,
    /// The streams of what connects to it; `None`: ended.
    pub(super) input: Option<OwnedFd>,
    pub(super) output: Option<OwnedFd>,
    pub(super) said_by: Option<OwnedFd>,
    /// The program, where the other side may ask for it.
    binary: Option<Arc<[u8]>>,
    pub(super) session: Session,
    frames: FrameReader,
    /// What came before the worker spoke on this stream; `None`: it speaks.
    noise: Option<Vec<u8>>,
    /// Whether both sides know on this stream what the other has.
    is_resumed: bool,
    /// Which process it is, once it has said so.
    instance: Option<u64>,
    /// Nothing more follows what is to be sent.
    is_last: bool,
    outgoing: Outgoing,
    said: Vec<u8>,
    epoch: Instant,
    clock: ClockEstimate,
    /// The question that is not answered: its number, and when it was asked.
    asked: Option<(u64, u64)>,
    asked_last_ns: u64,
    questions: u64,
    /// Exchanges that are left of a measurement.
    left: u32,
    pub(super) heard_ns: u64,
    /// When its stream was replaced last.
    connected_ns: u64,
    /// Since when no stream is of use.
    ended_ns: Option<u64>,
    /// What came makes no sense, or comes of another process.
    fault: Option<LostReason>,
}

impl Link {
    pub(super) fn new(connection: Connection, epoch: Instant) -> io::Result<Self> {
        let Connection { input, output, said_by, peer, binary } = without_waiting(connection)?;
        Ok(Link {
            input: Some(input),
            output: Some(output),
            said_by,
            peer: Some(peer),
            binary,
            session: Session::default(),
            frames: FrameReader::default(),
            noise: Some(Vec::new()),
            is_resumed: false,
            instance: None,
            is_last: false,
            outgoing: None,
            said: Vec::new(),
            epoch,
            clock: ClockEstimate::default(),
            asked: None,
            asked_last_ns: 0,
            questions: 0,
            left: 0,
            heard_ns: 0,
            connected_ns: 0,
            ended_ns: None,
            fault: None,
        })
    }

    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Whether bytes wait for room in the stream.
    pub(super) fn is_writing(&self) -> bool {
        self.outgoing.is_some()
    }

    /// Writes as much as the stream takes.
    pub(super) fn write(&mut self) {
        let Some(input) = &self.input else { return };
        loop {
            if self.outgoing.is_none() && self.is_resumed {
                self.outgoing = self.session.next_bytes().map(|bytes| (bytes, 0));
            }
            let Some((bytes, done)) = &mut self.outgoing else { return };
            match rustix::io::write(input, &bytes[*done..]) {
                Ok(written) => *done += written,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                // What it has still sent is read; then its output ends, too.
                Err(_) => {
                    self.input = None;
                    self.outgoing = None;
                    return;
                }
            }
            if *done == bytes.len() {
                self.outgoing = None;
            }
        }
    }

    /// Reads what has come.
    pub(super) fn read(&mut self, now_ns: u64, tell: &mut dyn FnMut(Heard)) {
        let Some(output) = &self.output else { return };
        let mut buffer = [0; READ_BYTES];
        match rustix::io::read(output, &mut buffer[..]) {
            Ok(0) => self.output_ended(now_ns),
            Ok(got) => {
                self.heard_ns = now_ns;
                self.take(&buffer[..got], now_ns, tell);
                self.write();
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.output_ended(now_ns),
        }
    }

    fn output_ended(&mut self, now_ns: u64) {
        (self.output, self.input, self.outgoing) = (None, None, None);
        self.is_resumed = false;
        self.ended_ns.get_or_insert(now_ns);
    }

    /// Keeps the end of what is written to the standard error.
    pub(super) fn read_said(&mut self) {
        let Some(said_by) = &self.said_by else { return };
        let mut buffer = [0; SAID_BYTES_MAX];
        match rustix::io::read(said_by, &mut buffer[..]) {
            Ok(got @ 1..) => {
                self.said.extend_from_slice(&buffer[..got]);
                let over = self.said.len().saturating_sub(SAID_BYTES_MAX);
                self.said.drain(..over);
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Ok(0) | Err(_) => self.said_by = None,
        }
    }

    fn take(&mut self, bytes: &[u8], now_ns: u64, tell: &mut dyn FnMut(Heard)) {
        if let Some(noise) = &mut self.noise {
            noise.extend_from_slice(bytes);
            let Some(at) = find(noise, PREAMBLE) else {
                if let Some(at) = find(noise, NEEDS_BINARY) {
                    noise.drain(..at + NEEDS_BINARY.len());
                    self.outgoing = self.binary.take().map(|binary| (binary, 0));
                } else if noise.len() > NOISE_BYTES_MAX {
                    self.fault = Some(senseless(&FrameError::Content));
                }
                return;
            };
            let rest = noise.split_off(at + PREAMBLE.len());
            self.noise = None;
            self.frames.push(&rest);
        } else {
            self.frames.push(bytes);
        }
        loop {
            match self.frames.next_frame() {
                Ok(None) => return,
                Ok(Some(frame)) => {
                    if let Err(fault) = self.take_frame(frame, now_ns, tell) {
                        self.fault = Some(fault);
                        return;
                    }
                }
                Err(fault) => {
                    self.fault = Some(senseless(&fault));
                    return;
                }
            }
        }
    }

    fn take_frame(
        &mut self,
        frame: Frame,
        now_ns: u64,
        tell: &mut dyn FnMut(Heard),
    ) -> Result<(), LostReason> {
        match frame {
            Frame::Data { number, payload } => {
                let payload = self.session.receive(number, payload).map_err(|fault| senseless(&fault))?;
                payload.into_iter().for_each(|payload| tell(Heard::Payload(payload)));
            }
            Frame::Ack { received } => self.session.acknowledge(received),
            Frame::Resume { instance, received } => return self.resume(instance, received),
            Frame::Pong { id, at_ns } => {
                let Some((_, asked_ns)) = self.asked.take_if(|(asked, _)| *asked == id) else {
                    return Ok(());
                };
                if let Some(by_ns) = self.clock.feed(asked_ns, now_ns, at_ns) {
                    tell(Heard::ClockJumped { by_ns });
                }
                if self.left > 0 {
                    self.left -= 1;
                    if self.left > 0 {
                        self.ask(self.now_ns());
                    } else if let (Some(clock), Some(round_trip_ns)) =
                        (self.clock.at(now_ns), self.clock.round_trip_ns_min)
                    {
                        tell(Heard::Clock { clock, round_trip_ns });
                    }
                }
            }
            Frame::Ping { .. } => {}
        }
        Ok(())
    }

    /// The worker says which process it is, and what it has of ours.
    fn resume(&mut self, instance: u64, received: u64) -> Result<(), LostReason> {
        if *self.instance.get_or_insert(instance) != instance {
            return Err(LostReason::Restarted);
        }
        // On the first stream, it has nothing.
        self.session.resume(received);
        self.session.send_urgent(&Frame::Resume { instance, received: self.session.received() });
        (self.is_resumed, self.ended_ns, self.asked) = (true, None, None);
        self.measure_clock();
        Ok(())
    }

    /// Sends the last message.
    pub(super) fn send_last(&mut self, payload: Vec<u8>) {
        self.session.send(payload);
        self.is_last = true;
        self.write();
    }

    /// Whether its stream has ended too early, and is missed.
    pub(super) fn wants_stream(&self) -> bool {
        let is_over = self.fault.is_some() || (self.is_last && self.session.is_delivered());
        self.peer.is_some() && self.output.is_none() && !is_over
    }

    /// Gives a stream up that nothing came over for so long. What connects is left to be collected.
    pub(super) fn give_up_stale(&mut self, now_ns: u64, stale_ns: u64) -> Option<Box<dyn Peer>> {
        let is_stale = self.output.is_some()
            && self.instance.is_some()
            && now_ns.saturating_sub(self.heard_ns.max(self.connected_ns)) > stale_ns;
        if !is_stale {
            return None;
        }
        self.output_ended(self.heard_ns);
        self.peer.replace(Box::new(Remote))
    }

    /// Goes on over another connection. What connected before is left to be collected.
    pub(super) fn reconnected(
        &mut self,
        connection: io::Result<Connection>,
        now_ns: u64,
    ) -> Option<Box<dyn Peer>> {
        if !self.wants_stream() {
            return connection.ok().map(|connection| connection.peer);
        }
        let opened = connection.and_then(without_waiting);
        match opened {
            Ok(new) => {
                (self.input, self.output) = (Some(new.input), Some(new.output));
                (self.said_by, self.binary) = (new.said_by, new.binary);
                (self.frames, self.noise) = (FrameReader::default(), Some(Vec::new()));
                (self.outgoing, self.is_resumed, self.connected_ns) = (None, false, now_ns);
                self.peer.replace(new.peer)
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::NotFound {
                    self.fault = Some(LostReason::Failed { error: error.to_string() });
                }
                self.said = error.to_string().into_bytes();
                None
            }
        }
    }

    /// Has the clock measured anew.
    pub(super) fn measure_clock(&mut self) {
        self.left = EXCHANGES;
    }

    /// Whether a measurement of the clock is under way.
    pub(super) fn is_measuring(&self) -> bool {
        self.left > 0 && self.asked.is_some()
    }

    /// Asks for the clock where it is time to; `may_measure`: a measurement may begin. Says whether one began.
    pub(super) fn ask_clock(&mut self, now_ns: u64, may_measure: bool) -> bool {
        if !self.is_resumed || self.input.is_none() || self.asked.is_some() {
            return false;
        }
        let begins = self.left > 0 && may_measure;
        if begins || (self.left == 0 && now_ns.saturating_sub(self.asked_last_ns) >= ASK_EVERY_NS) {
            self.ask(self.now_ns());
            self.write();
        }
        begins
    }

    fn ask(&mut self, now_ns: u64) {
        self.questions += 1;
        self.asked = Some((self.questions, now_ns));
        self.asked_last_ns = now_ns;
        self.session.send_urgent(&Frame::Ping { id: self.questions });
    }

    /// Whether nothing more comes of it, and why; `is_replaced`: a stream that ended is.
    pub(super) fn lost(&mut self, now_ns: u64, silence_ns: u64, is_replaced: bool) -> Option<Heard> {
        let is_waited_for = is_replaced && (self.wants_stream() || self.output.is_some());
        let peer = self.peer.as_mut()?;
        let why = if let Some(fault) = &self.fault {
            fault.clone()
        } else if let Some(ended_ns) = self.ended_ns {
            let patience_ns = if is_waited_for { silence_ns } else { END_NS };
            match peer.why_ended().filter(|_| !is_waited_for) {
                Some(why) => why,
                None if now_ns.saturating_sub(ended_ns) < patience_ns => return None,
                None => LostReason::ConnectionClosed,
            }
        } else if self.is_resumed && now_ns.saturating_sub(self.heard_ns) > silence_ns {
            LostReason::NoAnswer { for_ms: (now_ns - self.heard_ns) / 1_000_000 }
        } else {
            return None;
        };
        // What it said last may have come with its end.
        self.read_said();
        let said = String::from_utf8_lossy(&self.said);
        let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned();
        Some(Heard::Lost { why, said })
    }

    /// Closes the streams: the worker stops when its input ends, and so does what connects to it. That is left to be collected.
    pub(super) fn end(&mut self) -> Option<Box<dyn Peer>> {
        (self.input, self.output, self.said_by, self.outgoing) = (None, None, None, None);
        self.peer.take()
    }
}

/// A connection whose streams never wait.
fn without_waiting(connection: Connection) -> io::Result<Connection> {
    for stream in [&connection.input, &connection.output].into_iter().chain(&connection.said_by) {
        rustix::io::ioctl_fionbio(stream, true)?;
    }
    Ok(connection)
}

fn senseless(fault: &FrameError) -> LostReason {
    LostReason::Failed { error: fault.to_string() }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
