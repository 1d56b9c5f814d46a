//! Where requests of these tests are carried out, and what they ask for.

use std::path::Path;
use std::sync::Arc;

use assay_host::HostRoot;
use assay_results::environment::AssayVersion;
use assay_runner::{Kinds, Request, Site, Watch, Work};
use assay_workload::job::{EngineKind, Limits};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Bytes;
use assay_workload::{Job, Phase, Workload};

pub(crate) fn site(store: &Path) -> Site {
    Site {
        host: HostRoot::real(),
        store: Some(store.to_owned()),
        store_words: String::new(),
        engine_choices: None,
        version: AssayVersion { version: "0".to_owned(), commit: None },
        kinds: Kinds::default(),
        stop: Arc::default(),
    }
}

/// Writes on a file of 1 MiB, until `limits`.
pub(crate) fn writes(limits: Limits) -> Workload {
    let job = Job {
        engine: EngineKind::Psync,
        limits,
        ..Job::new("w", &["data"], AccessPattern::new(Mix::WRITE, 4096, Placement::random_map()))
    };
    Workload {
        name: "writes".to_owned(),
        seed: Some(7),
        hosts: Vec::new(),
        targets: vec![Target {
            name: "data".to_owned(),
            path: "data.bin".to_owned(),
            kind: Some(TargetKind::File),
            size: Some(Bytes(1 << 20)),
        }],
        phases: vec![Phase::measure("write", vec![job])],
    }
}

pub(crate) fn request(workload: Workload, watch: Watch, directory: &Path) -> Request {
    Request { watch, ..Request::new(Work::Asked(workload), directory) }
}
