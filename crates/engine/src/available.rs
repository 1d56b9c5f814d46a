//! Which engines work on this system, found out by trying.

use assay_workload::job::EngineKind;

use crate::engines::ENGINES;

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
    ENGINES.iter().map(|entry| Availability { kind: entry.kind, works: (entry.works)() }).collect()
}

/// The engines that work here, in the order of [`availability`].
pub fn available() -> Vec<EngineKind> {
    ENGINES.iter().filter(|entry| (entry.is_there)()).map(|entry| entry.kind).collect()
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
