//! Workers that were started by something else and join a run: Nomad, systemd, MPI, a person at another terminal.
//!
//! They come over TLS 1.3 with certificates on both sides, all of them made for the one run by an authority that is forgotten with it.
//! What a worker needs to join is its ticket. Until a connection has shown a certificate and the token, nothing of it is believed.

#[cfg(feature = "attach")]
mod authority;
#[cfg(feature = "attach")]
mod door;
pub mod joining;
#[cfg(feature = "attach")]
mod pipe;
#[cfg(feature = "attach")]
mod ticket;
#[cfg(feature = "attach")]
mod visitor;

#[cfg(feature = "attach")]
pub(crate) use authority::Authority;
#[cfg(feature = "attach")]
pub(crate) use door::Door;
#[cfg(feature = "attach")]
pub use ticket::{BadTicket, Ticket};
#[cfg(feature = "attach")]
pub use visitor::{JoinError, Visitor};

/// The name in the certificates: what is believed is their authority, wherever the run listens.
#[cfg(feature = "attach")]
const SERVER_NAME: &str = "coordinator.assay.invalid";

/// Random bytes.
#[cfg(feature = "attach")]
fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    use std::io::Read as _;
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
