//! The ledger of a tagged directory, by which files are known as Assay's own, and a cleanup that goes by it: what it does not name stays.
//!
//! Behind `=` stand lines without digests, which are given the right ones; other input is the ledger as it is.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_fuzz::ledger::{Ledgers, PLACEHOLDER};
use assay_fuzz::{Grammar, Input, random::Random, share};
use assay_host::cleanup;
use assay_host::workdir::{Identity, LEDGER_FILE, Ownership, WorkDir, ownership};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use sha2::{Digest as _, Sha256};

static GRAMMAR: LazyLock<Marked> = LazyLock::new(Marked::default);

/// Ledgers behind their mark.
#[derive(Debug, Default)]
struct Marked(Ledgers);

impl Grammar for Marked {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        format!("={}", self.0.mutate(text.strip_prefix('=').unwrap_or(""), random))
    }

    fn accepts(&self, text: &str) -> bool {
        text.strip_prefix('=').is_some_and(|text| self.0.accepts(text))
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

/// A directory in memory, one for each process.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = PathBuf::from(format!("/dev/shm/assay-fuzz-{}", std::process::id()));
    fs::create_dir_all(&path).expect("a directory");
    path
});

fuzz_target!(|data: &[u8]| {
    let directory = PLACE.join("d");
    drop(WorkDir::create(&directory, "1", "fuzz").expect("made"));
    let path = |name: &str| directory.join(name);
    fs::create_dir_all(path("vdb1_1.dir/vdb2_1.dir")).expect("a tree");
    for name in ["mine", "last", "precious", "vdb1_1.dir/precious", "vdb1_1.dir/vdb2_1.dir/vdb_f0001.file"] {
        fs::write(path(name), "four").expect("a file");
    }
    let ledger = match data.strip_prefix(b"=") {
        Some(lines) => with_digests(&String::from_utf8_lossy(lines), &directory),
        None => data.to_vec(),
    };
    fs::write(path(LEDGER_FILE), ledger).expect("a ledger");
    let _ = ownership(&path("mine"));
    share::count(ownership(&path("last")) == Ownership::Ours);
    assert_eq!(ownership(&path("precious")), Ownership::Foreign);
    let _ = cleanup::remove(&directory);
    for name in ["precious", "vdb1_1.dir/precious"] {
        assert_eq!(fs::read(path(name)).expect("it is not in the ledger"), b"four");
    }
    fs::remove_dir_all(&directory).expect("removed");
});

/// The lines as Assay writes them in this directory, and one of a file behind them, which counts if all of them do.
fn with_digests(text: &str, directory: &Path) -> Vec<u8> {
    let of = Identity::of_path(directory).expect("there");
    let identity = |name: &str| Identity::of_path(&directory.join(name)).expect("there");
    let (mine, last) = (identity("mine"), identity("last"));
    let number = |name: &str| format!("\"{name}\":{PLACEHOLDER}");
    let born_ns = mine.born_ns.unwrap_or(0);
    let text = text
        .replace(&number("inode"), &format!("\"inode\":{}", mine.inode))
        .replace(&number("born_ns"), &format!("\"born_ns\":{born_ns}"));
    let last = format!("{{\"file\":{{\"name\":\"last\",\"identity\":{{\"inode\":{}}}}}}}", last.inode);
    let mut ledger = Vec::new();
    for json in text.lines().filter(|line| !line.is_empty()).chain([last.as_str()]) {
        let mut digest = Sha256::new();
        digest.update(format!("{} {:?} ", of.inode, of.born_ns));
        digest.update(json);
        ledger.extend(json.as_bytes());
        ledger.push(b' ');
        ledger.extend(digest.finalize().iter().take(8).flat_map(|byte| format!("{byte:02x}").into_bytes()));
        ledger.push(b'\n');
    }
    ledger
}
