//! The engines: one file and one line of [`ENGINES`] each. What tries them, tells of them or runs jobs through them goes over
//! that table; [`EngineKind`]'s own table has the names.

pub mod aio;
pub mod null;
pub mod posix_aio;
pub mod psync;
pub(crate) mod sync_io;
mod syscall;
pub mod uring;

use assay_workload::job::{EngineKind, EngineOptions};

use crate::blocks::BlockThread;
use crate::kind::JobRunner;
use crate::seam::EngineError;
pub use crate::seam::{AnyEngine, Notes};

/// All engines, the best first.
pub static ENGINES: [EngineEntry; 5] = [
    entry::<uring::UringEngine>(EngineKind::IoUring),
    entry::<aio::AioEngine>(EngineKind::Libaio),
    entry::<psync::PsyncEngine>(EngineKind::Psync),
    entry::<posix_aio::PosixAioEngine>(EngineKind::PosixAio),
    entry::<null::NullEngine>(EngineKind::Null),
];

/// An engine of this crate.
pub trait NativeEngine: AnyEngine + Sized + 'static {
    /// One for up to `depth` outstanding I/Os.
    ///
    /// # Errors
    /// [`EngineError`] if this system does not have it.
    fn open(depth: u32, options: EngineOptions) -> Result<Self, EngineError>;

    /// Tries it: what there is to say of it, or what the kernel said.
    ///
    /// # Errors
    /// What the kernel said.
    fn works() -> Result<String, String> {
        let engine = Self::open(1, EngineOptions::default()).map_err(|error| error.to_string())?;
        Ok(engine.notes().join(", "))
    }

    /// Whether it works, without trying where that takes time.
    fn is_there() -> bool {
        Self::works().is_ok()
    }
}

/// Makes an engine for so many outstanding I/Os.
type Open = fn(u32, EngineOptions) -> Result<Box<dyn AnyEngine>, EngineError>;

/// One engine.
#[derive(Debug, Clone, Copy)]
pub struct EngineEntry {
    /// Its name and what is known of it.
    pub kind: EngineKind,
    /// Tries it: what there is to say of it, or what the kernel said.
    pub works: fn() -> Result<String, String>,
    /// Whether it works, without trying where that takes time.
    pub is_there: fn() -> bool,
    /// Makes one for so many outstanding I/Os.
    pub open: Open,
    /// Its type.
    pub type_name: fn() -> &'static str,
    /// Makes the job loop of a thread over it.
    pub(crate) runner: fn(&BlockThread<'_>) -> Result<Box<dyn JobRunner>, EngineError>,
}

const fn entry<E: NativeEngine>(kind: EngineKind) -> EngineEntry {
    EngineEntry {
        kind,
        works: E::works,
        is_there: E::is_there,
        open: |depth, options| Ok(Box::new(E::open(depth, options)?)),
        type_name: std::any::type_name::<E>,
        runner: |thread| thread.over::<E>(),
    }
}

/// The engine of that kind; `None`: what carries it out is not an engine of this crate.
pub fn of(kind: EngineKind) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|entry| entry.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_and_every_file_is_in_the_table_once() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/engines")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        // What several engines use is no engine.
        let engines = names.filter(|name| !["mod.rs", "sync_io.rs", "syscall.rs"].contains(&name.as_str()));
        let mut files: Vec<String> = engines.map(|name| name.trim_end_matches(".rs").to_owned()).collect();
        files.sort_unstable();
        let module = |entry: &EngineEntry| (entry.type_name)().rsplit("::").nth(1).unwrap().to_owned();
        let mut modules: Vec<String> = ENGINES.iter().map(module).collect();
        modules.sort_unstable();
        assert_eq!(modules, files);
        let mut native: Vec<EngineKind> = ENGINES.iter().map(|entry| entry.kind).collect();
        native.dedup();
        assert!(EngineKind::ALL.iter().all(|kind| native.contains(kind) == kind.is_native()), "{native:?}");
    }

    #[test]
    fn what_is_told_of_an_engine_is_so() {
        for entry in &ENGINES {
            let Ok(engine) = (entry.open)(1, EngineOptions::default()) else { continue };
            let capabilities = engine.capabilities();
            assert_eq!(capabilities.name, entry.kind.name());
            assert_eq!(capabilities.asynchronous, entry.kind.is_asynchronous(), "{}", capabilities.name);
        }
    }
}
