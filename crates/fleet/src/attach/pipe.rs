//! A connection over TLS, and the plain socket that what it carries goes through. Nothing here waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustls::Connection;

/// Plain bytes that wait at most; more is not read.
const WAITING_BYTES_MAX: usize = 256 << 10;
/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// A connection over TLS.
#[derive(Debug)]
pub(super) struct Pipe {
    tcp: TcpStream,
    tls: Connection,
    /// What came, in plain, and is not handed on yet.
    pub(super) came: Vec<u8>,
    /// What it is handed on to, and what goes out comes from.
    inner: Option<UnixStream>,
    inner_ended: bool,
    tcp_ended: bool,
}

impl Pipe {
    pub(super) fn new(tcp: TcpStream, mut tls: Connection) -> io::Result<Self> {
        // More is only taken once that has gone out.
        tls.set_buffer_limit(None);
        tcp.set_nonblocking(true)?;
        tcp.set_nodelay(true)?;
        Ok(Pipe { tcp, tls, came: Vec::new(), inner: None, inner_ended: false, tcp_ended: false })
    }

    /// Hands what comes on to a socket from now on: the other end of it.
    pub(super) fn open(&mut self) -> io::Result<UnixStream> {
        let (inner, other) = UnixStream::pair()?;
        inner.set_nonblocking(true)?;
        self.inner = Some(inner);
        Ok(other)
    }

    /// Sends a few bytes; they go out with the next turn.
    pub(super) fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tls.writer().write_all(bytes)
    }

    /// Ends once what was said has gone out.
    pub(super) fn end(&mut self) {
        self.tls.send_close_notify();
        self.inner_ended = true;
    }

    /// What it waits for.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let mut outside = PollFlags::empty();
        outside.set(PollFlags::IN, !self.tcp_ended && self.came.len() < WAITING_BYTES_MAX);
        outside.set(PollFlags::OUT, self.tls.wants_write());
        let mut inside = PollFlags::empty();
        inside.set(PollFlags::IN, self.takes());
        inside.set(PollFlags::OUT, !self.came.is_empty());
        let inner = self.inner.as_ref().map(|inner| (inner.as_fd(), inside));
        [(self.tcp.as_fd(), outside)].into_iter().chain(inner).filter(|(_, flags)| !flags.is_empty())
    }

    /// Whether more may go out.
    fn takes(&self) -> bool {
        self.inner.is_some() && !self.inner_ended && !self.tls.wants_write() && !self.tls.is_handshaking()
    }

    /// Does what can be done; `false`: it has ended.
    ///
    /// # Errors
    /// Whatever breaks the connection.
    pub(super) fn turn(&mut self) -> io::Result<bool> {
        self.read_tcp()?;
        self.write_inner();
        self.read_inner()?;
        self.write_tcp()?;
        let is_over =
            (self.tcp_ended && self.came.is_empty()) || (self.inner_ended && !self.tls.wants_write());
        Ok(!is_over)
    }

    fn read_tcp(&mut self) -> io::Result<()> {
        if !self.tcp_ended && self.came.len() < WAITING_BYTES_MAX {
            match self.tls.read_tls(&mut self.tcp) {
                Ok(0) => self.tcp_ended = true,
                Ok(_) => {
                    if let Err(error) = self.tls.process_new_packets() {
                        // The alert that says what is wrong.
                        let _ = self.tls.write_tls(&mut self.tcp);
                        return Err(io::Error::new(ErrorKind::InvalidData, error));
                    }
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; 16 << 10];
        loop {
            match self.tls.reader().read(&mut buffer) {
                Ok(0) => {
                    self.tcp_ended = true;
                    return Ok(());
                }
                Ok(got) => self.came.extend_from_slice(&buffer[..got]),
                // It is empty, or ended without a word.
                Err(_) => return Ok(()),
            }
        }
    }

    fn write_inner(&mut self) {
        let Some(inner) = &mut self.inner else { return };
        let mut done = 0;
        while done < self.came.len() {
            match inner.write(&self.came[done..]) {
                Ok(written) => done += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.inner_ended = true;
                    done = self.came.len();
                }
            }
        }
        self.came.drain(..done);
    }

    fn read_inner(&mut self) -> io::Result<()> {
        if !self.takes() {
            return Ok(());
        }
        let Some(inner) = &mut self.inner else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        match inner.read(&mut buffer) {
            Ok(0) => self.end(),
            Ok(got) => self.tls.writer().write_all(&buffer[..got])?,
            Err(error) if waits(&error) => {}
            Err(_) => self.end(),
        }
        Ok(())
    }

    fn write_tcp(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.tcp) {
                Ok(_) => {}
                Err(error) if waits(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
