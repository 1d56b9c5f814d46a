//! What did the I/O of a job.

use std::fmt;

use assay_workload::job::EngineKind;
use serde::{Deserialize, Serialize};

/// What did the I/O of a job: its name as results show it, read once into what it means. Stored and printed as that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum DoneBy {
    /// Nothing says it.
    #[default]
    Unknown,
    /// An engine of Assay's, or the array model.
    Assay(EngineKind),
    /// fio: `fio 3.33`, or `fio libaio` where its own result names its engine.
    Fio(String),
    /// Another program, or several engines.
    Other(String),
}

impl DoneBy {
    /// The name in results; empty where nothing says it.
    pub fn as_str(&self) -> &str {
        match self {
            DoneBy::Unknown => "",
            DoneBy::Assay(kind) => kind.name(),
            DoneBy::Fio(name) | DoneBy::Other(name) => name,
        }
    }

    /// Whether anything says it.
    pub fn is_known(&self) -> bool {
        *self != DoneBy::Unknown
    }

    /// Whether it is fio, whose submit latency comes before its completion latency.
    pub fn is_fio(&self) -> bool {
        matches!(self, DoneBy::Fio(_) | DoneBy::Assay(EngineKind::Fio))
    }
}

impl From<String> for DoneBy {
    fn from(name: String) -> DoneBy {
        let own = || EngineKind::ALL.into_iter().find(|kind| kind.name() == name);
        match name.split(' ').next() {
            _ if name.is_empty() => DoneBy::Unknown,
            _ if own().is_some() => own().map_or(DoneBy::Unknown, DoneBy::Assay),
            Some(word) if word == EngineKind::Fio.name() => DoneBy::Fio(name),
            _ => DoneBy::Other(name),
        }
    }
}

impl From<&str> for DoneBy {
    fn from(name: &str) -> DoneBy {
        name.to_owned().into()
    }
}

impl From<EngineKind> for DoneBy {
    fn from(kind: EngineKind) -> DoneBy {
        DoneBy::Assay(kind)
    }
}

impl From<DoneBy> for String {
    fn from(done_by: DoneBy) -> String {
        done_by.as_str().to_owned()
    }
}

impl fmt::Display for DoneBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_kept_and_means_one_thing() {
        for kind in EngineKind::ALL {
            assert_eq!(DoneBy::from(kind.name()), DoneBy::Assay(kind));
        }
        for name in ["", "io_uring", "fio 3.33", "fio libaio", "vdbench", "io_uring; libaio", "fionread"] {
            let read: DoneBy = serde_json::from_value(name.into()).expect("a name");
            assert_eq!(serde_json::to_value(&read).expect("text"), name);
            assert_eq!((read.is_fio(), read.is_known()), (name.starts_with("fio "), !name.is_empty()));
        }
    }
}
