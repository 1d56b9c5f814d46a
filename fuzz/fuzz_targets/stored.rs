//! A run as it is stored, damaged in any way: run.json, plan.json, a probe, a baseline, and a journal from which a run is made again.
//!
//! The first byte says which of them the rest is.

#![no_main]

use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

use assay_fuzz::stored::{Kind, Stored};
use assay_fuzz::{Input, share};
use assay_results::store::{self, RunDir};
use assay_results::{baseline, checks};
use assay_workload::Plan;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMARS: LazyLock<[Stored; 5]> = LazyLock::new(|| Kind::ALL.map(Stored::new));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // Nothing yet: any of them.
    let first = data[..size].first().copied().unwrap_or(b'0' + (seed % 5) as u8);
    let kind = Kind::ALL.iter().position(|kind| *kind == Kind::of(first)).unwrap_or(0);
    assay_fuzz::mutate(&GRAMMARS[kind], Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

/// A directory in memory, one for each process.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let path = PathBuf::from(format!("/dev/shm/assay-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(path.join("baselines")).expect("a directory");
        path
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    share::count(is_taken(Kind::of(*kind), rest));
});

fn is_taken(kind: Kind, rest: &[u8]) -> bool {
    let dir = directory();
    let put = |name: &str| std::fs::write(dir.join(name), rest).expect("a file");
    match kind {
        Kind::Run => {
            put("run.json");
            let run = RunDir::open(dir).and_then(|dir| dir.read_run());
            run.map(|mut run| checks::judge(&mut run)).is_ok()
        }
        Kind::Journal => {
            put("journal.jsonl");
            std::fs::write(dir.join("series.bin"), []).expect("a file");
            store::recover(dir).map(|mut run| checks::judge(&mut run)).is_ok()
        }
        Kind::Probe => {
            put("probe.json");
            store::load_probe(dir, &dir.join("probe.json").to_string_lossy()).is_ok()
        }
        Kind::Baseline => {
            put("baselines/b.json");
            let found = baseline::list(&dir.join("baselines"));
            found.is_ok_and(|found| found.len() > baseline::builtins().len())
        }
        Kind::Plan => {
            let Ok(plan) = serde_json::from_slice::<Plan>(rest) else { return false };
            let is_sound = plan.check().is_ok();
            if is_sound {
                let _ = plan.describe();
                // What is written is read as the same.
                let again = serde_json::to_string(&plan).expect("a plan is JSON");
                assert_eq!(serde_json::from_str::<Plan>(&again).expect("JSON is a plan"), plan);
            }
            is_sound
        }
    }
}
