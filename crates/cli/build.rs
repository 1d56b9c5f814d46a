//! Tells the program which commit it was built from, where that can be known.

use std::process::Command;

fn main() {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = output.ok().filter(|output| output.status.success());
    let commit =
        commit.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo:rustc-env=ASSAY_COMMIT={commit}");
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/refs/heads");
}
