//! What needs real fio: as the engine of a run, and beside Assay's own.

#[path = "formats_fio/agree.rs"]
mod agree;
#[path = "../../../xtask/support/bounded.rs"]
mod bounded;
#[path = "formats_fio/bridge.rs"]
mod bridge;
#[path = "formats_fio/crosscheck.rs"]
mod crosscheck;
#[path = "formats_fio/ends.rs"]
mod ends;
#[path = "formats_fio/logs.rs"]
mod logs;
#[path = "formats_fio/names.rs"]
mod names;
#[path = "commands/schema.rs"]
mod schema;
#[path = "../../../xtask/support/skip.rs"]
mod skip;
#[path = "formats_support/mod.rs"]
mod support;
#[path = "formats_fio/verify.rs"]
mod verify;

use crate::bounded::Bounded as _;

/// Whether fio is there; else the test is declared as skipped.
fn has_fio() -> bool {
    let works = std::process::Command::new("fio")
        .arg("--version")
        .output_in_time()
        .is_ok_and(|out| out.status.success());
    if !works {
        skip::declare("fio", "there is no fio in PATH");
    }
    works
}
