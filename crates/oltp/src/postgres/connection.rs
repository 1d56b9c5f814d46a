//! A connection to a server: messages of the protocol's version 3, with prepared statements in binary form.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::scram::{Scram, to_base64};
use super::url::ServerUrl;
use crate::error::{Class, Error};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// A message is refused from this size on: room is made for it before it has come, and nothing that is asked for is as long.
const MESSAGE_MAX: usize = 16 << 20;
const BUFFER: usize = 32 << 10;
/// Rows are sent in pieces of this size when they are copied.
const COPY_PIECE: usize = 256 << 10;

/// Types of parameters, by their numbers in `pg_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int8 = 20,
    Int4 = 23,
    Text = 25,
    Int4s = 1007,
    Texts = 1009,
}

/// A parameter. Whole numbers are sent as wide as the statement has them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg<'a> {
    Int(i64),
    Text(&'a str),
    Ints(&'a [i32]),
    Texts(&'a [String]),
}

/// A statement that the server has prepared.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The head of the message that binds it: portal, name, formats.
    head: Vec<u8>,
    kinds: Vec<Kind>,
}

/// The cells of a row.
#[derive(Debug, Clone)]
pub(crate) struct Cells<'m> {
    rest: &'m [u8],
}

impl<'m> Cells<'m> {
    fn of(body: &'m [u8]) -> Self {
        Cells { rest: body.get(2..).unwrap_or_default() }
    }

    /// The next one as a whole number; 0 where it is none.
    pub(crate) fn int(&mut self) -> i64 {
        match self.next().flatten() {
            Some(bytes) => bytes
                .iter()
                .skip(1)
                .fold(i64::from(bytes.first().map_or(0, |byte| *byte as i8)), |n, byte| {
                    n << 8 | i64::from(*byte)
                }),
            None => 0,
        }
    }

    /// The next one as text.
    pub(crate) fn text(&mut self) -> &'m str {
        self.next().flatten().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl<'m> Iterator for Cells<'m> {
    type Item = Option<&'m [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.rest = rest;
            return Some(None);
        };
        let (cell, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Some(cell))
    }
}

/// A socket of either kind.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn open(url: &ServerUrl) -> io::Result<Stream> {
        let address = url.address();
        if url.host.starts_with('/') {
            return Ok(Stream::Unix(UnixStream::connect(address)?));
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in (url.host.as_str(), url.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Stream::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Unix(stream) => stream.read(bytes),
        }
    }

    fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        })
    }
}

/// Ends a connection that another thread waits on.
#[derive(Debug)]
pub(crate) struct Interrupt(Stream);

impl Interrupt {
    pub(crate) fn interrupt(&self) {
        // Closed already: then nothing waits.
        let _ = match &self.0 {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    address: String,
    out: Vec<u8>,
    input: Vec<u8>,
    /// What of `input` is there and was not looked at.
    unread: Range<usize>,
    prepared: u32,
    /// Whether it is this host's.
    pub(crate) is_local: bool,
}

/// A message of one byte for its kind, its length, and what `body` writes.
fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(0);
}

fn array<T>(out: &mut Vec<u8>, element: Kind, values: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    let mut int = |value: u32| out.extend(value.to_be_bytes());
    // Dimensions, no nulls, the type, how many, and the first index.
    [1, 0, element as u32, values.len() as u32, 1].into_iter().for_each(&mut int);
    values.iter().for_each(|value| write(out, value));
}

fn argument(out: &mut Vec<u8>, kind: Kind, arg: Arg<'_>) {
    let start = out.len();
    out.extend([0; 4]);
    match arg {
        Arg::Int(value) if kind == Kind::Int4 => out.extend((value as i32).to_be_bytes()),
        Arg::Int(value) => out.extend(value.to_be_bytes()),
        Arg::Text(text) => out.extend(text.as_bytes()),
        Arg::Ints(values) => array(out, Kind::Int4, values, |out, value| {
            out.extend(4_u32.to_be_bytes());
            out.extend(value.to_be_bytes());
        }),
        Arg::Texts(values) => array(out, Kind::Text, values, |out, value| {
            out.extend((value.len() as u32).to_be_bytes());
            out.extend(value.as_bytes());
        }),
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Code and message of an error of the server.
fn said(body: &[u8]) -> (String, String) {
    let field = |kind: u8| {
        let fields = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind));
        fields.map_or_else(String::new, |field| String::from_utf8_lossy(&field[1..]).into_owned())
    };
    (field(b'C'), field(b'M'))
}

fn statement_error(body: &[u8]) -> Error {
    let (code, message) = said(body);
    let class = match code.as_str() {
        // Serialization failure, deadlock, lock not available.
        "40001" | "40P01" | "55P03" => Class::Conflict,
        code if code.starts_with("57P") || code.starts_with("08") => Class::Lost,
        _ => Class::Failed,
    };
    // Not owner, or without a right on something.
    let rights = if code == "42501" {
        "; connect as the user that built the database; to build one, as a user with CREATE on it"
    } else {
        ""
    };
    Error::Statement { code, message: format!("{message}{rights}"), class }
}

fn refused(address: &str, body: &[u8]) -> Error {
    let (code, message) = said(body);
    let hint = match code.as_str() {
        "28000" if message.contains("no encryption") || message.contains("SSL off") => {
            ": it may take TLS connections only, and Assay connects without; use a tunnel (ssh -L)"
        }
        "28P01" => ": set PGPASSWORD, or give the password in the URL",
        "28000" => ": the server's pg_hba.conf does not let this user in from here",
        "3D000" => ": make it with createdb",
        "53300" => ": use fewer --users (--loaders of a build), or raise the limit",
        _ => "",
    };
    Error::Refused { address: address.to_owned(), code, message, hint }
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0; 18];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(to_base64(&bytes))
}

impl Connection {
    /// Connects and says who asks.
    pub(crate) fn open(url: &ServerUrl) -> Result<Self, Error> {
        let address = url.address();
        let stream = Stream::open(url);
        let stream = stream.map_err(|source| Error::Server { address: address.clone(), source })?;
        let is_local = match &stream {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(here), Ok(there)) => here.ip() == there.ip(),
                _ => false,
            },
        };
        let mut connection = Connection {
            stream,
            address,
            out: Vec::with_capacity(BUFFER),
            input: vec![0; BUFFER],
            unread: 0..0,
            prepared: 0,
            is_local,
        };
        // Who says nothing here is no server; a query may take long.
        connection.patience(Some(CONNECT))?;
        connection.start(url)?;
        connection.patience(None)?;
        Ok(connection)
    }

    /// How long the server may say nothing.
    fn patience(&self, limit: Option<Duration>) -> Result<(), Error> {
        let set = match &self.stream {
            Stream::Tcp(stream) => stream.set_read_timeout(limit),
            Stream::Unix(stream) => stream.set_read_timeout(limit),
        };
        set.map_err(|source| Error::Server { address: self.address.clone(), source })
    }

    fn start(&mut self, url: &ServerUrl) -> Result<(), Error> {
        let words = [
            ("user", url.user.as_str()),
            ("database", &url.database),
            ("application_name", "assay"),
            ("client_encoding", "UTF8"),
        ];
        message(&mut self.out, 0, |out| {
            out.extend(196_608_u32.to_be_bytes());
            for (name, value) in words {
                text(out, name);
                text(out, value);
            }
            out.push(0);
        });
        // The first message has no kind.
        self.out.remove(0);
        self.send_all()?;
        self.authenticate(url)?;
        loop {
            match self.next()? {
                (b'Z', _) => break,
                (b'E', body) => return Err(refused(&self.address, &self.input[body])),
                _ => {}
            }
        }
        self.run("SET client_min_messages TO warning")
    }

    fn authenticate(&mut self, url: &ServerUrl) -> Result<(), Error> {
        let mut scram: Option<Scram> = None;
        loop {
            let (kind, body) = self.next()?;
            let body = &self.input[body];
            match kind {
                b'E' => return Err(refused(&self.address, body)),
                b'R' => {}
                b'v' => continue,
                _ => return Err(self.unexpected(kind)),
            }
            let (what, rest) = body.split_at(body.len().min(4));
            let rest = String::from_utf8_lossy(rest).into_owned();
            let what = what.iter().fold(0_u32, |n, byte| n << 8 | u32::from(*byte));
            let password = url.password();
            match (what, password, &mut scram) {
                (0, ..) => return Ok(()),
                (3, Some(password), _) => message(&mut self.out, b'p', |out| text(out, password)),
                (10, Some(password), _) if rest.split('\0').any(|name| name == "SCRAM-SHA-256") => {
                    let address = self.address.clone();
                    let nonce = nonce().map_err(|source| Error::Server { address, source })?;
                    let begun = Scram::new(password, &nonce);
                    let first = begun.first();
                    message(&mut self.out, b'p', |out| {
                        text(out, "SCRAM-SHA-256");
                        out.extend((first.len() as u32).to_be_bytes());
                        out.extend(first.as_bytes());
                    });
                    scram = Some(begun);
                }
                (11, _, Some(scram)) => match scram.answer(&rest) {
                    Some(answer) => message(&mut self.out, b'p', |out| out.extend(answer.as_bytes())),
                    None => return Err(self.protocol("it sent a SCRAM message that is none".to_owned())),
                },
                (12, _, Some(scram)) if scram.is_verified(&rest) => continue,
                (3 | 5 | 10, None, _) => {
                    return Err(self.protocol(
                        "it asks for a password: set PGPASSWORD, or give it in the URL".to_owned(),
                    ));
                }
                (5, ..) => {
                    return Err(self.protocol(
                        "it asks for an MD5 password, which Assay does not send: set password_encryption to scram-sha-256 and \
                         the password anew"
                            .to_owned(),
                    ));
                }
                _ => {
                    return Err(self.protocol(format!(
                        "it asks for authentication {what}, which Assay does not do; possible: trust, password, scram-sha-256"
                    )));
                }
            }
            self.send_all()?;
        }
    }

    fn protocol(&self, what: String) -> Error {
        Error::Protocol { address: self.address.clone(), what }
    }

    fn unexpected(&self, kind: u8) -> Error {
        self.protocol(format!("an unexpected message '{}'; is it a PostgreSQL server?", kind.escape_ascii()))
    }

    /// Ends it from another thread.
    pub(crate) fn interrupt(&self) -> Result<Interrupt, Error> {
        let clone = self.stream.try_clone();
        clone.map(Interrupt).map_err(|source| Error::Server { address: self.address.clone(), source })
    }

    fn send_all(&mut self) -> Result<(), Error> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent.map_err(|source| Error::Server { address: self.address.clone(), source })
    }

    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        if self.unread.start + wanted > self.input.len() {
            self.input.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
            let length = self.input.len().max(wanted);
            self.input.resize(length, 0);
        }
        let read = self.stream.read(&mut self.input[self.unread.end..]);
        let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
        let read = read.and_then(|n| if n == 0 { Err(ended()) } else { Ok(n) });
        let silent = |source: io::Error| match source.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "it does not answer"),
            _ => source,
        };
        let lost = |source| Error::Server { address: self.address.clone(), source: silent(source) };
        self.unread.end += read.map_err(lost)?;
        Ok(())
    }

    /// The next message: its kind, and where in `input` its body is.
    fn next(&mut self) -> Result<(u8, Range<usize>), Error> {
        loop {
            let there = &self.input[self.unread.clone()];
            let mut wanted = 5;
            if let [kind, a, b, c, d, ..] = *there {
                let length = u32::from_be_bytes([a, b, c, d]) as usize;
                if !(4..MESSAGE_MAX).contains(&length) {
                    return Err(self.unexpected(kind));
                }
                wanted = length + 1;
                if there.len() >= wanted {
                    let body = self.unread.start + 5..self.unread.start + wanted;
                    self.unread.start = body.end;
                    // Notices, parameters and notifications come at any time.
                    if !matches!(kind, b'N' | b'S' | b'A' | b'K') {
                        return Ok((kind, body));
                    }
                    continue;
                }
            }
            self.fill(wanted)?;
        }
    }

    /// Reads until the server waits for the next batch.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        let mut failed = None;
        loop {
            let (kind, body) = self.next()?;
            match kind {
                b'Z' => return failed.map_or(Ok(()), Err),
                b'E' => failed = failed.or(Some(statement_error(&self.input[body]))),
                _ => {}
            }
        }
    }

    /// Does a query in text form.
    pub(crate) fn simple(&mut self, sql: &str, row: &mut dyn FnMut(Cells<'_>)) -> Result<(), Error> {
        message(&mut self.out, b'Q', |out| text(out, sql));
        self.send_all()?;
        let mut failed = None;
        loop {
            let (kind, body) = self.next()?;
            match kind {
                b'Z' => return failed.map_or(Ok(()), Err),
                b'E' => failed = failed.or(Some(statement_error(&self.input[body]))),
                b'D' => row(Cells::of(&self.input[body])),
                _ => {}
            }
        }
    }

    /// Does statements that return nothing.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.simple(sql, &mut |_| {})
    }

    /// Prepares a statement with parameters of these types.
    pub(crate) fn prepare(&mut self, sql: &str, kinds: &[Kind]) -> Result<Prepared, Error> {
        self.prepared += 1;
        let name = format!("s{}", self.prepared);
        message(&mut self.out, b'P', |out| {
            text(out, &name);
            text(out, sql);
            out.extend((kinds.len() as u16).to_be_bytes());
            kinds.iter().for_each(|kind| out.extend((*kind as u32).to_be_bytes()));
        });
        self.sync()?;
        self.ready()?;
        let mut head = vec![0];
        text(&mut head, &name);
        // All parameters are binary.
        head.extend([0, 1, 0, 1]);
        head.extend((kinds.len() as u16).to_be_bytes());
        Ok(Prepared { head, kinds: kinds.to_vec() })
    }

    /// Adds a statement to the batch that the next [`Connection::sync`] sends. Its answer is read by [`Connection::reply`], in turn.
    pub(crate) fn send(&mut self, statement: &Prepared, args: &[Arg<'_>]) {
        debug_assert_eq!(statement.kinds.len(), args.len());
        message(&mut self.out, b'B', |out| {
            out.extend(&statement.head);
            statement.kinds.iter().zip(args).for_each(|(kind, arg)| argument(out, *kind, *arg));
            // All results are binary.
            out.extend([0, 1, 0, 1]);
        });
        message(&mut self.out, b'E', |out| out.extend([0; 5]));
    }

    /// Sends the batch.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        message(&mut self.out, b'S', |_| {});
        self.send_all()
    }

    /// Reads the answer to one statement of the batch. After an error the server leaves out the rest of the batch.
    pub(crate) fn reply(&mut self, row: &mut dyn FnMut(Cells<'_>)) -> Result<(), Error> {
        loop {
            let (kind, body) = self.next()?;
            match kind {
                b'D' => row(Cells::of(&self.input[body])),
                b'C' | b'I' | b's' => return Ok(()),
                b'E' => return Err(statement_error(&self.input[body])),
                b'1' | b'2' | b'n' | b't' | b'T' => {}
                _ => return Err(self.unexpected(kind)),
            }
        }
    }

    /// Begins to copy rows into a table.
    pub(crate) fn copy_into(&mut self, table: &str) -> Result<(), Error> {
        message(&mut self.out, b'Q', |out| text(out, &format!("COPY {table} FROM STDIN")));
        self.send_all()?;
        match self.next()? {
            (b'G', _) => Ok(()),
            (b'E', body) => {
                let error = statement_error(&self.input[body]);
                self.ready()?;
                Err(error)
            }
            (kind, _) => Err(self.unexpected(kind)),
        }
    }

    /// Sends rows in the form of COPY's text.
    pub(crate) fn copy(&mut self, rows: &mut Vec<u8>, all: bool) -> Result<(), Error> {
        if rows.len() < COPY_PIECE && !all {
            return Ok(());
        }
        message(&mut self.out, b'd', |out| out.extend(rows.as_slice()));
        rows.clear();
        self.send_all()
    }

    /// Ends copying.
    pub(crate) fn copied(&mut self) -> Result<(), Error> {
        message(&mut self.out, b'c', |_| {});
        self.send_all()?;
        self.ready()
    }

    /// Gives up copying.
    pub(crate) fn copy_failed(&mut self) {
        message(&mut self.out, b'f', |out| text(out, "given up"));
        let _ = self.send_all().and_then(|()| self.ready());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.out.clear();
        message(&mut self.out, b'X', |_| {});
        let _ = self.send_all();
    }
}
