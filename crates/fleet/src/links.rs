//! The streams to all workers, on one thread: it waits for all of them at once (poll(2)), reads, writes, measures clocks, and notices
//! workers that are gone. A thousand workers take one thread here; see `docs/decisions/2026-11-23-fleet.md`.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_results::event::{HostClock, LostReason};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

mod again;
mod link;

use crate::launch::{Connection, Peer};
pub(crate) use again::Again;
use again::Reconnect;
use link::Link;

/// How often workers are looked at that nothing comes from.
const LOOK: Duration = Duration::from_millis(50);
/// How long what connects to a worker may take to end once its streams are closed.
const END_WITHIN: Duration = Duration::from_secs(5);
/// A connection that can be replaced is, once nothing came over it for this part of the time after which the worker is lost.
const STALE_PARTS: u64 = 3;
/// Workers whose clocks are measured at the same time: more would wait for each other, and the round trips would show that.
const MEASURED_AT_ONCE: usize = 16;

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until a worker has answered for the first time: a login, and the copy of the program.
    pub arrival: Duration,
    /// A worker that was not heard for so long is lost.
    pub silence: Duration,
    /// A worker that has not heard us for so long stops by itself. Shorter than `silence`: once it counts as lost, it does nothing.
    pub lease: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience::until_lost(Duration::from_secs(15))
    }
}

impl Patience {
    /// As usual, with workers that count as lost after `silence`.
    pub fn until_lost(silence: Duration) -> Self {
        Patience { arrival: Duration::from_secs(60), silence, lease: silence * 2 / 3 }
    }
}

/// What came of a worker.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A message.
    Payload(Vec<u8>),
    /// Its clock was measured as often as before a start.
    Clock {
        clock: HostClock,
        /// The shortest round trip, nanoseconds.
        round_trip_ns: u64,
    },
    /// Its clock contradicts what was known of it.
    ClockJumped {
        /// By this much at least, nanoseconds.
        by_ns: u64,
    },
    /// Nothing more comes of it.
    Lost {
        why: LostReason,
        /// The last line that it, or what connects to it, wrote to its standard error; empty: nothing.
        said: String,
    },
}

enum Order {
    Send(usize, Vec<u8>),
    /// The same; the worker ends behind it.
    SendLast(usize, Vec<u8>),
    MeasureClocks,
    Close(usize),
}

/// The streams to all workers.
#[derive(Debug)]
pub(crate) struct Links {
    /// `None`: everything ends.
    orders: Option<Sender<Order>>,
    heard: Receiver<(usize, Heard)>,
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
    epoch: Instant,
}

impl Links {
    /// Over `connections`, which are ended with it, and replaced by `again` where they can be.
    pub(crate) fn new(
        connections: Vec<Connection>,
        patience: Patience,
        again: Option<Again>,
    ) -> io::Result<Self> {
        let epoch = Instant::now();
        let (woken, wake) = io::pipe()?;
        rustix::io::ioctl_fionbio(&woken, true)?;
        rustix::io::ioctl_fionbio(&wake, true)?;
        let (sender, orders) = channel();
        let (tell, heard) = channel();
        let links = connections.into_iter().map(|one| Link::new(one, epoch)).collect::<io::Result<_>>()?;
        let again = again.map(Reconnect::new);
        let (ending, looked_ns) = (Vec::new(), 0);
        let mut hub = Hub { links, ending, orders, woken, tell, epoch, patience, looked_ns, again };
        let thread = std::thread::Builder::new().name("assay-fleet".to_owned()).spawn(move || hub.run())?;
        Ok(Links { orders: Some(sender), heard, wake, thread: Some(thread), epoch })
    }

    /// The clock that workers' clocks are measured against.
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// What came, waiting for it at most so long.
    pub(crate) fn hear(&self, wait: Duration) -> Option<(usize, Heard)> {
        match self.heard.recv_timeout(wait) {
            Ok(heard) => Some(heard),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                None
            }
        }
    }

    /// Whether the thread has ended, which it does not do by itself.
    pub(crate) fn is_broken(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    fn order(&self, order: Order) {
        let Some(orders) = &self.orders else { return };
        // Where the thread is gone, nothing is heard any more, either.
        if orders.send(order).is_ok() {
            // A full pipe wakes it as well.
            let _ = (&self.wake).write(&[0]);
        }
    }

    pub(crate) fn send(&self, worker: usize, payload: Vec<u8>) {
        self.order(Order::Send(worker, payload));
    }

    /// Sends a worker the last message: the end of its connection is no surprise behind it.
    pub(crate) fn send_last(&self, worker: usize, payload: Vec<u8>) {
        self.order(Order::SendLast(worker, payload));
    }

    /// Measures the clocks of all workers anew.
    pub(crate) fn measure_clocks(&self) {
        self.order(Order::MeasureClocks);
    }

    /// Cuts a worker off.
    pub(crate) fn close(&self, worker: usize) {
        self.order(Order::Close(worker));
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.orders = None;
        let _ = (&self.wake).write(&[0]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct Hub {
    links: Vec<Link>,
    /// What is to end by itself, and until when.
    ending: Vec<(Box<dyn Peer>, Instant)>,
    orders: Receiver<Order>,
    woken: PipeReader,
    tell: Sender<(usize, Heard)>,
    epoch: Instant,
    patience: Patience,
    /// When all were looked at last.
    looked_ns: u64,
    again: Option<Reconnect>,
}

/// Which stream of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    Output,
    Said,
}

impl Hub {
    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn run(&mut self) {
        loop {
            let ready = self.wait();
            let _ = rustix::io::read(&self.woken, &mut [0_u8; 64]);
            if !self.obey() {
                break;
            }
            for (worker, end) in ready {
                let now_ns = self.now_ns();
                let (link, tell) = (&mut self.links[worker], &self.tell);
                match end {
                    End::Output => link.read(now_ns, &mut |heard| drop(tell.send((worker, heard)))),
                    End::Said => link.read_said(),
                    End::Input => link.write(),
                }
            }
            self.look();
        }
        for worker in 0..self.links.len() {
            self.end(worker);
        }
        while !self.ending.is_empty() {
            self.reap();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the streams of a worker.
    fn end(&mut self, worker: usize) {
        self.ending.extend(self.links[worker].end().map(ends));
    }

    /// Collects what has ended, and ends what does not.
    fn reap(&mut self) {
        self.ending.retain_mut(|(peer, until)| {
            let waits = !peer.is_gone() && Instant::now() < *until;
            if !waits && !peer.is_gone() {
                peer.kill();
            }
            waits
        });
    }

    /// Waits until something can be done: the streams that are ready.
    fn wait(&self) -> Vec<(usize, End)> {
        let mut places: Vec<(usize, End)> = Vec::with_capacity(self.links.len() * 2);
        let mut polled = vec![PollFd::new(&self.woken, PollFlags::IN)];
        for (worker, link) in self.links.iter().enumerate() {
            let streams = [
                (End::Output, link.output.as_ref(), PollFlags::IN),
                (End::Said, link.said_by.as_ref(), PollFlags::IN),
                (End::Input, link.input.as_ref().filter(|_| link.is_writing()), PollFlags::OUT),
            ];
            for (end, stream, flags) in streams {
                if let Some(stream) = stream {
                    places.push((worker, end));
                    polled.push(PollFd::new(stream, flags));
                }
            }
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        if poll(&mut polled, Some(&wait)).is_err() {
            return Vec::new();
        }
        let ready = polled.iter().skip(1).zip(places).filter(|(one, _)| !one.revents().is_empty());
        ready.map(|(_, place)| place).collect()
    }

    /// Does what was ordered; `false`: it is time to end.
    fn obey(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Send(worker, payload)) => {
                    self.links[worker].session.send(payload);
                    self.links[worker].write();
                }
                Ok(Order::SendLast(worker, payload)) => {
                    self.links[worker].send_last(payload);
                }
                Ok(Order::MeasureClocks) => self.links.iter_mut().for_each(Link::measure_clock),
                Ok(Order::Close(worker)) => self.end(worker),
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Looks at all workers: clocks, ends, silence.
    fn look(&mut self) {
        let now_ns = self.now_ns();
        let silence_ns = self.patience.silence.as_nanos() as u64;
        // This process was stopped for a while: what came meanwhile has yet to be read.
        let slept = now_ns.saturating_sub(self.looked_ns) > silence_ns / 4;
        self.looked_ns = now_ns;
        let mut measured = self.links.iter().filter(|link| link.is_measuring()).count();
        for worker in 0..self.links.len() {
            let link = &mut self.links[worker];
            if slept {
                link.heard_ns = now_ns;
            }
            if link.ask_clock(now_ns, measured < MEASURED_AT_ONCE) {
                measured += 1;
            }
            if let Some(again) = &mut self.again {
                self.ending.extend(link.give_up_stale(now_ns, silence_ns / STALE_PARTS).map(ends));
                if link.wants_stream() {
                    again.ask(worker, now_ns);
                }
            }
            if let Some(heard) = link.lost(now_ns, silence_ns, self.again.is_some()) {
                self.end(worker);
                let _ = self.tell.send((worker, heard));
            }
        }
        let made = self.again.as_mut().map(Reconnect::made).unwrap_or_default();
        for (worker, connection) in made {
            self.ending.extend(self.links[worker].reconnected(connection, now_ns).map(ends));
        }
        self.reap();
    }
}

/// What is to end, and until when.
fn ends(peer: Box<dyn Peer>) -> (Box<dyn Peer>, Instant) {
    (peer, Instant::now() + END_WITHIN)
}

/// Bytes that are on their way.
type Outgoing = Option<(Arc<[u8]>, usize)>;
