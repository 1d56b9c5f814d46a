//! What connects to a worker: a stream of bytes each way, and what is at the other end of it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use assay_results::event::LostReason;

/// A connection to a worker. Both ends are waited for with poll(2): pipes, a terminal, or one socket twice. What is read elsewhere
/// (TLS, an asynchronous library) is bridged with a socket pair.
#[derive(Debug)]
pub struct Connection {
    /// What is written to it, the worker reads.
    pub input: OwnedFd,
    /// What the worker writes.
    pub output: OwnedFd,
    /// What it, or what connects to it, says to a reader; the last line tells why it ended.
    pub said_by: Option<OwnedFd>,
    /// What is at the other end.
    pub peer: Box<dyn Peer>,
    /// The program, where the worker's side may ask for it.
    pub binary: Option<Arc<[u8]>>,
}

/// What is at the other end of a connection.
pub trait Peer: std::fmt::Debug + Send {
    /// Why nothing comes any more, asked once the worker's output has ended; `None`: it is not known yet. It does not wait.
    fn why_ended(&mut self) -> Option<LostReason>;

    /// Whether it is gone and collected, asked once the streams are closed. It does not wait.
    fn is_gone(&mut self) -> bool {
        true
    }

    /// Ends it where it does not go by itself.
    fn kill(&mut self) {}
}

/// What is known by its stream alone.
#[derive(Debug, Clone, Copy)]
pub struct Remote;

impl Peer for Remote {
    fn why_ended(&mut self) -> Option<LostReason> {
        Some(LostReason::ConnectionClosed)
    }
}

/// A process that we started.
#[derive(Debug)]
struct Process {
    child: Child,
    no_connection: Option<i32>,
}

impl Peer for Process {
    fn why_ended(&mut self) -> Option<LostReason> {
        match self.child.try_wait() {
            Ok(Some(status)) if status.code().is_some() && status.code() == self.no_connection => {
                Some(LostReason::ConnectionClosed)
            }
            Ok(Some(status)) => Some(LostReason::Exited { status: status.code() }),
            Ok(None) => None,
            Err(_) => Some(LostReason::ConnectionClosed),
        }
    }

    fn is_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn kill(&mut self) {
        // What cannot even be killed hangs in an I/O; it is left to the system.
        let _ = self.child.kill();
    }
}

impl Connection {
    /// A process whose standard streams are the worker's. It is in a group of its own: Ctrl-C reaches it through us. With the exit
    /// status `no_connection` it says that it could not connect.
    ///
    /// # Errors
    /// What the system says.
    pub fn of_process(
        mut command: Command,
        binary: Option<Arc<[u8]>>,
        no_connection: Option<i32>,
    ) -> io::Result<Self> {
        command.process_group(0);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let said_by = child.stderr.take().map(OwnedFd::from);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let peer = Box::new(Process { child, no_connection });
        Ok(Connection { input: input.into(), output: output.into(), said_by, peer, binary })
    }

    /// A socket, or a device, that is read and written.
    ///
    /// # Errors
    /// That it cannot be duplicated.
    pub fn of_stream(stream: impl Into<OwnedFd>) -> io::Result<Self> {
        let input = stream.into();
        let output = input.try_clone()?;
        Ok(Connection { input, output, said_by: None, peer: Box::new(Remote), binary: None })
    }
}
