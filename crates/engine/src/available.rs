//! Which engines work on this system, found out by trying.

use assay_workload::job::{EngineKind, EngineOptions};

use crate::aio::{self, AioEngine};
use crate::uring::UringEngine;

/// An engine and whether it works here.
#[derive(Debug)]
pub struct Availability {
    /// The engine.
    pub kind: EngineKind,
    /// `Err` with what the kernel said.
    pub works: Result<String, String>,
}

/// Tries every engine of this crate.
pub fn availability() -> Vec<Availability> {
    let uring = UringEngine::new(1, EngineOptions::default());
    let aio = AioEngine::new(1);
    vec![
        Availability {
            kind: EngineKind::IoUring,
            works: uring.map(|engine| engine.notes().join(", ")).map_err(|error| error.to_string()),
        },
        Availability {
            kind: EngineKind::Libaio,
            works: aio.map(|_| String::new()).map_err(|error| error.to_string()),
        },
        Availability { kind: EngineKind::Psync, works: Ok(String::new()) },
        Availability {
            kind: EngineKind::PosixAio,
            works: Ok("own workers, serial per file descriptor".to_owned()),
        },
        Availability { kind: EngineKind::Null, works: Ok("no I/O".to_owned()) },
    ]
}

/// The engines that work here, in the order of [`availability`]. Asks the kernel for libaio without making a context: giving
/// one back takes it 30 ms.
pub fn available() -> Vec<EngineKind> {
    let uring = UringEngine::new(1, EngineOptions::default()).is_ok();
    let asynchronous = [(EngineKind::IoUring, uring), (EngineKind::Libaio, aio::is_there())];
    let kernel = asynchronous.into_iter().filter(|(_, works)| *works).map(|(kind, _)| kind);
    kernel.chain([EngineKind::Psync, EngineKind::PosixAio, EngineKind::Null]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_and_trying_agree() {
        let tried = availability().into_iter().filter(|entry| entry.works.is_ok());
        assert_eq!(available(), tried.map(|entry| entry.kind).collect::<Vec<_>>());
    }
}
