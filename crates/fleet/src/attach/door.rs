//! The port that workers come to: one thread that lets in who has the certificate and the token, and carries what all of them say.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection};

use super::Authority;
use super::joining::{Join, TOKEN_BYTES, WELCOME, WORKER_ID_BYTES, refusal};
use super::pipe::Pipe;

/// How long it may take from the connection to the request to join.
const JOIN_WITHIN: Duration = Duration::from_secs(10);
/// How long a refusal may take to go out.
const GO_WITHIN: Duration = Duration::from_secs(2);
/// Connections that have not joined yet, at most: a stranger takes no more of us.
const STRANGERS_MAX: usize = 64;
/// How often it is looked whether all is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

type WorkerId = [u8; WORKER_ID_BYTES];

/// A worker that joined.
#[derive(Debug)]
struct Member {
    id: WorkerId,
    name: String,
    /// Its connection, until it is taken.
    stream: Option<UnixStream>,
}

#[derive(Debug, Default)]
struct Members {
    of: Mutex<Vec<Member>>,
    changed: Condvar,
    closed: AtomicBool,
}

impl Members {
    fn all(&self) -> MutexGuard<'_, Vec<Member>> {
        // It is whole at any moment.
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The port, open until it is dropped.
#[derive(Debug)]
pub(crate) struct Door {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    members: Arc<Members>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Listens for `workers` workers.
    ///
    /// # Errors
    /// That the address cannot be listened on.
    pub(crate) fn open(address: SocketAddr, workers: usize, authority: &Authority) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let members = Arc::<Members>::default();
        let mut inside = Inside {
            listener,
            config: Arc::clone(&authority.server),
            token: authority.ticket.token,
            workers,
            members: Arc::clone(&members),
            visitors: Vec::new(),
        };
        let thread =
            std::thread::Builder::new().name("assay-attach".to_owned()).spawn(move || inside.run())?;
        Ok(Door { address, members, thread: Some(thread) })
    }

    /// The workers that have joined: which, and what they are called.
    pub(crate) fn joined(&self) -> Vec<(WorkerId, String)> {
        self.members.all().iter().map(|member| (member.id, member.name.clone())).collect()
    }

    /// The connection of a worker that joined, or joined again, waiting for it at most so long.
    ///
    /// # Errors
    /// That it did not come.
    pub(crate) fn take(&self, worker: &WorkerId, wait: Duration) -> io::Result<UnixStream> {
        let until = Instant::now() + wait;
        let mut members = self.members.all();
        loop {
            let member = members.iter_mut().find(|member| member.id == *worker);
            if let Some(stream) = member.and_then(|member| member.stream.take()) {
                return Ok(stream);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.members.closed.load(Ordering::Relaxed) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it has not joined again"));
            }
            members =
                self.members.changed.wait_timeout(members, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.members.closed.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Stranger { until: Instant },
    Refused { until: Instant },
    Worker(WorkerId),
}

struct Inside {
    listener: TcpListener,
    config: Arc<ServerConfig>,
    token: [u8; TOKEN_BYTES],
    workers: usize,
    members: Arc<Members>,
    visitors: Vec<(Pipe, Stage)>,
}

impl Inside {
    fn run(&mut self) {
        // What still goes out at the end, goes out: it ends when the other ends of the sockets are gone.
        while !self.members.closed.load(Ordering::Relaxed) {
            self.wait();
            while let Ok((tcp, _)) = self.listener.accept() {
                self.admit(tcp);
            }
            self.turn_all();
        }
    }

    fn wait(&self) {
        let mut polled = vec![PollFd::new(&self.listener, PollFlags::IN)];
        for (pipe, _) in &self.visitors {
            polled.extend(pipe.waits_for().map(|(stream, flags)| PollFd::from_borrowed_fd(stream, flags)));
        }
        let _ = poll(&mut polled, Some(&LOOK));
    }

    fn admit(&mut self, tcp: TcpStream) {
        let strangers = self.visitors.iter().filter(|(_, stage)| !matches!(stage, Stage::Worker(_))).count();
        if strangers >= STRANGERS_MAX {
            return;
        }
        let tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other);
        if let Ok(pipe) = tls.and_then(|tls| Pipe::new(tcp, tls.into())) {
            self.visitors.push((pipe, Stage::Stranger { until: Instant::now() + JOIN_WITHIN }));
        }
    }

    fn turn_all(&mut self) {
        let now = Instant::now();
        let mut at = 0;
        while at < self.visitors.len() {
            let (pipe, stage) = &mut self.visitors[at];
            let goes_on = match stage {
                Stage::Stranger { until } | Stage::Refused { until } if *until <= now => false,
                _ => pipe.turn().unwrap_or(false),
            };
            if !goes_on {
                self.visitors.swap_remove(at);
                continue;
            }
            if matches!(stage, Stage::Stranger { .. }) {
                self.listen_to(at, now);
            }
            at += 1;
        }
    }

    /// Looks whether a stranger has said who it is.
    fn listen_to(&mut self, at: usize, now: Instant) {
        let (pipe, _) = &mut self.visitors[at];
        let why = match Join::decode(&pipe.came) {
            Ok(None) => return,
            Ok(Some((join, length))) if join.has(&self.token) => {
                pipe.came.drain(..length);
                match self.let_in(at, &join) {
                    Ok(()) => return,
                    Err(why) => why,
                }
            }
            Ok(Some(_)) => "the token is not that of this run".to_owned(),
            Err(no_join) => no_join.to_string(),
        };
        let (pipe, stage) = &mut self.visitors[at];
        let _ = pipe.say(&refusal(&why));
        pipe.end();
        *stage = Stage::Refused { until: now + GO_WITHIN };
    }

    /// Gives a worker its place, or the connection of one that comes again.
    fn let_in(&mut self, at: usize, join: &Join) -> Result<(), String> {
        let mut members = self.members.all();
        let known = members.iter().position(|member| member.id == join.worker);
        if known.is_none() && members.len() >= self.workers {
            return Err(format!("the run has its {} workers", self.workers));
        }
        let pipe = &mut self.visitors[at].0;
        let opened = pipe.say(&[WELCOME]).and_then(|()| pipe.open());
        let stream = Some(opened.map_err(|error| error.to_string())?);
        match known {
            Some(known) => members[known].stream = stream,
            None => members.push(Member { id: join.worker, name: join.name.clone(), stream }),
        }
        drop(members);
        self.members.changed.notify_all();
        // The connection that it had before is of no use to it any more.
        self.visitors[at].1 = Stage::Worker(join.worker);
        let mut number = 0;
        self.visitors.retain(|(_, stage)| {
            number += 1;
            number - 1 == at || *stage != Stage::Worker(join.worker)
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
