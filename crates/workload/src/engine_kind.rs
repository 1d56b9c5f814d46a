//! The I/O paths a job can ask for: one table of what they are called and what is known of them.

use serde::{Deserialize, Serialize};

/// What is known of an I/O path.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// On the command line, in workload files and in results.
    name: &'static str,
    /// As fio has it: the first is the one that is written, the others are understood as well.
    fio: &'static [&'static str],
    /// By whom it is carried out.
    by: By,
}

/// Who carries an I/O path out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// Not known before it is chosen.
    Undecided,
    /// An engine of ours that hands I/Os over and goes on.
    Asynchronous,
    /// An engine of ours that does one I/O after the other.
    Synchronous,
    /// Another program, or a model.
    Others,
}

/// The enumeration, and its table with the same entries in the same order.
macro_rules! engines {
    ($($(#[$attribute:meta])* $kind:ident: $name:literal, $fio:expr, $by:ident;)*) => {
        /// The I/O path a job asks for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum EngineKind {
            $($(#[$attribute])* $kind,)*
        }

        const FACTS: &[Facts] = &[$(Facts { name: $name, fio: &$fio, by: By::$by }),*];

        impl EngineKind {
            /// All of them, for help texts and parsing.
            pub const ALL: [EngineKind; FACTS.len()] = [$(EngineKind::$kind),*];
        }
    };
}

engines! {
    /// Whatever is best here; what was chosen and why is recorded.
    #[default]
    Auto: "auto", [], Undecided;
    /// io_uring.
    IoUring: "io_uring", ["io_uring"], Asynchronous;
    /// Kernel native asynchronous I/O (io_submit).
    Libaio: "libaio", ["libaio"], Asynchronous;
    /// pread and pwrite, one at a time.
    Psync: "psync", ["psync", "sync", "pvsync", "pvsync2", "vsync"], Synchronous;
    /// POSIX asynchronous I/O as glibc does it: worker threads, serial per file descriptor.
    PosixAio: "posix-aio", ["posixaio"], Asynchronous;
    /// No I/O at all: the generator alone.
    Null: "null", ["null"], Asynchronous;
    /// Real fio, driven by Assay.
    Fio: "fio", [], Others;
    /// The simulator.
    Sim: "sim", [], Others;
}

/// The I/O path of a planned job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PlannedEngine {
    /// io_uring.
    IoUring,
    /// Kernel native asynchronous I/O (io_submit).
    Libaio,
    /// pread and pwrite, one at a time.
    Psync,
    /// POSIX asynchronous I/O as glibc does it: worker threads, serial per file descriptor.
    PosixAio,
    /// No I/O at all: the generator alone.
    Null,
    /// None of Assay's: another program does the I/O, or the array model.
    Foreign,
}

impl PlannedEngine {
    /// The engine of Assay's; `None`: the I/O is done by other means.
    pub const fn kind(self) -> Option<EngineKind> {
        match self {
            PlannedEngine::IoUring => Some(EngineKind::IoUring),
            PlannedEngine::Libaio => Some(EngineKind::Libaio),
            PlannedEngine::Psync => Some(EngineKind::Psync),
            PlannedEngine::PosixAio => Some(EngineKind::PosixAio),
            PlannedEngine::Null => Some(EngineKind::Null),
            PlannedEngine::Foreign => None,
        }
    }

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self.kind() {
            Some(kind) => kind.name(),
            None => "foreign",
        }
    }
}

impl From<EngineKind> for PlannedEngine {
    fn from(kind: EngineKind) -> PlannedEngine {
        match kind {
            EngineKind::IoUring => PlannedEngine::IoUring,
            EngineKind::Libaio => PlannedEngine::Libaio,
            EngineKind::Psync => PlannedEngine::Psync,
            EngineKind::PosixAio => PlannedEngine::PosixAio,
            EngineKind::Null => PlannedEngine::Null,
            EngineKind::Auto | EngineKind::Fio | EngineKind::Sim => PlannedEngine::Foreign,
        }
    }
}

impl EngineKind {
    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The name on the command line, in workload files and in results.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// fio's name of it; `None`: fio has none, or is it itself.
    pub fn fio_name(self) -> Option<&'static str> {
        self.facts().fio.first().copied()
    }

    /// Whether it is an engine of ours.
    pub fn is_native(self) -> bool {
        matches!(self.facts().by, By::Asynchronous | By::Synchronous)
    }

    /// Whether it is an engine of ours that keeps reads and writes outstanding while the thread goes on.
    pub fn is_asynchronous(self) -> bool {
        self.facts().by == By::Asynchronous
    }

    /// The engine of that name; also accepts fio's (`posixaio`, `sync`, `pvsync`).
    pub fn from_name(name: &str) -> Option<EngineKind> {
        let mut all = EngineKind::ALL.into_iter();
        all.find(|kind| kind.name() == name || kind.facts().fio.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_one_engine() {
        for kind in EngineKind::ALL {
            assert_eq!(EngineKind::from_name(kind.name()), Some(kind));
            assert!(
                kind.facts().fio.iter().all(|name| EngineKind::from_name(name) == Some(kind)),
                "{kind:?}"
            );
        }
        assert_eq!(EngineKind::from_name("vsync"), Some(EngineKind::Psync));
        assert_eq!((EngineKind::PosixAio.fio_name(), EngineKind::Fio.fio_name()), (Some("posixaio"), None));
        assert_eq!(EngineKind::from_name("mmap"), None);
    }
}
