//! Declares that a test cannot run on this machine. Not a crate: a test includes it with
//! `#[path = "../../../xtask/support/skip.rs"] mod skip;` (at the top of a file, not within an inline module)
//! and returns after [`declare`].

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// Says on stderr that a test was skipped, and appends it to the file that `ASSAY_SKIPS` names, which
/// `cargo xtask skips` judges. `capability` is a name from docs/capabilities.toml, `reason` what this machine said.
pub(crate) fn declare(capability: &str, reason: &str) {
    let _ = std::io::stderr().write_all(line(capability, reason).as_bytes());
    if let Some(path) = std::env::var_os("ASSAY_SKIPS") {
        append(Path::new(&path), capability, reason);
    }
}

/// One write in append mode, so that tests that run at once do not cut each other's lines.
pub(crate) fn append(path: &Path, capability: &str, reason: &str) {
    let open = OpenOptions::new().create(true).append(true).open(path);
    let written = open.and_then(|mut file| file.write_all(line(capability, reason).as_bytes()));
    assert!(written.is_ok(), "failed to declare a skip in {}: {written:?}", path.display());
}

fn line(capability: &str, reason: &str) -> String {
    format!("skip: {capability}: {}\n", reason.replace('\n', " "))
}
