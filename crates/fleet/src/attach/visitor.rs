//! The worker's side: it comes to a run's port, and comes again when the connection broke.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::authority::client;
use super::joining::{Join, WELCOME, WORKER_ID_BYTES};
use super::pipe::Pipe;
use super::{SERVER_NAME, Ticket, random};
use crate::worker::{Streams, socket_stream};

/// How long a connection, and what is said before it is let in, may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long it is waited before the next try.
const PAUSE: Duration = Duration::from_millis(500);
/// How long what was said last may take to go out.
const END_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether all is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Why a worker did not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Nobody answers there, or what answers has no certificate of the run.
    #[error("cannot join the run at {address}: {error}")]
    Unreachable {
        /// Where.
        address: String,
        /// What the system, or TLS, says.
        error: io::Error,
    },
    /// The run will not have it.
    #[error("the run at {address} does not let this worker in: {why}")]
    Refused {
        /// Where.
        address: String,
        /// In its words.
        why: String,
    },
}

type Carried = (UnixStream, JoinHandle<()>);

/// A worker that comes to a run.
#[derive(Debug, Clone)]
pub struct Visitor {
    address: String,
    config: Arc<ClientConfig>,
    request: Vec<u8>,
    /// The last connection, and what carries it.
    last: Arc<Mutex<Option<Carried>>>,
}

impl Visitor {
    /// For the run at `address` (`HOST:PORT`), to be called `name` there.
    ///
    /// # Errors
    /// That the ticket is of no use, or the system has no randomness.
    pub fn new(address: &str, ticket: &Ticket, name: &str) -> io::Result<Self> {
        let request =
            Join { token: ticket.token, worker: random::<WORKER_ID_BYTES>()?, name: name.to_owned() };
        let (config, request) = (client(ticket)?, request.encode());
        Ok(Visitor { address: address.to_owned(), config, request, last: Arc::default() })
    }

    /// Joins, trying for so long where nobody answers yet; then gives the connection, and others in its place when it breaks.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn join(&self, wait: Duration) -> Result<Streams, JoinError> {
        let until = Instant::now() + wait;
        let mut first = loop {
            match self.connect() {
                Err(JoinError::Unreachable { error, .. })
                    if error.kind() != ErrorKind::InvalidData && Instant::now() < until =>
                {
                    std::thread::sleep(PAUSE);
                }
                tried => break Some(tried?),
            }
        };
        let visitor = self.clone();
        Ok(Box::new(move || {
            loop {
                match first.take().map_or_else(|| visitor.connect(), Ok) {
                    Ok(socket) => return socket_stream(socket.into()).ok(),
                    // The lease ends what waits here.
                    Err(JoinError::Unreachable { .. }) => std::thread::sleep(PAUSE),
                    Err(JoinError::Refused { .. }) => return None,
                }
            }
        }))
    }

    /// One connection, as far as that the run lets us in.
    fn connect(&self) -> Result<UnixStream, JoinError> {
        let unreachable = |error| JoinError::Unreachable { address: self.address.clone(), error };
        let (tcp, tls) = self.greet().map_err(unreachable)?;
        let mut stream = StreamOwned::new(tls, tcp);
        let answer = self.ask(&mut stream).map_err(unreachable)?;
        if let Some(why) = answer {
            return Err(JoinError::Refused { address: self.address.clone(), why });
        }
        let StreamOwned { conn, sock, .. } = stream;
        self.carry(sock, conn).map_err(unreachable)
    }

    fn greet(&self) -> io::Result<(TcpStream, ClientConnection)> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, ANSWER_WITHIN) {
                Ok(tcp) => {
                    tcp.set_read_timeout(Some(ANSWER_WITHIN))?;
                    tcp.set_write_timeout(Some(ANSWER_WITHIN))?;
                    let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
                    let tls =
                        ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
                    return Ok((tcp, tls));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Says who we are; `Some`: why we are not let in.
    fn ask(&self, stream: &mut StreamOwned<ClientConnection, TcpStream>) -> io::Result<Option<String>> {
        stream.write_all(&self.request)?;
        stream.flush()?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        if answer == [WELCOME] {
            return Ok(None);
        }
        stream.read_exact(&mut answer)?;
        let mut why = vec![0; usize::from(answer[0])];
        stream.read_exact(&mut why)?;
        Ok(Some(String::from_utf8_lossy(&why).into_owned()))
    }

    /// Carries what goes over the connection on a thread of its own: the plain end of it.
    fn carry(&self, tcp: TcpStream, tls: ClientConnection) -> io::Result<UnixStream> {
        let mut pipe = Pipe::new(tcp, tls.into())?;
        let plain = pipe.open()?;
        let carried = move || {
            while pipe.turn().unwrap_or(false) {
                let mut polled: Vec<PollFd<'_>> =
                    pipe.waits_for().map(|(stream, flags)| PollFd::from_borrowed_fd(stream, flags)).collect();
                let _ = poll(&mut polled, Some(&LOOK));
            }
        };
        let thread = std::thread::Builder::new().name("assay-attach".to_owned()).spawn(carried)?;
        let kept = (plain.try_clone()?, thread);
        self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(kept);
        Ok(plain)
    }

    /// Waits until what was said last has gone out. To be called at the end.
    pub fn end(&self) {
        let Some((plain, thread)) = self.last.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let _ = plain.shutdown(Shutdown::Write);
        let until = Instant::now() + END_WITHIN;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
