//! A run as it is stored, damaged in any way: run.json, a probe, a baseline, and a journal from which a run is made again.
//!
//! The first byte says which of them the rest is.

#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use assay_results::store::{self, RunDir};
use assay_results::{baseline, checks};
use libfuzzer_sys::fuzz_target;

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
    let dir = directory();
    let put = |name: &str| std::fs::write(dir.join(name), rest).expect("a file");
    match kind % 4 {
        0 => {
            put("run.json");
            if let Ok(mut run) = RunDir::open(dir).and_then(|dir| dir.read_run()) {
                checks::judge(&mut run);
            }
        }
        1 => {
            put("journal.jsonl");
            std::fs::write(dir.join("series.bin"), []).expect("a file");
            if let Ok(mut run) = store::recover(dir) {
                checks::judge(&mut run);
            }
        }
        2 => {
            put("probe.json");
            let _ = store::load_probe(dir, &dir.join("probe.json").to_string_lossy());
        }
        _ => {
            put("baselines/b.json");
            let _ = baseline::list(&dir.join("baselines"));
        }
    }
});
