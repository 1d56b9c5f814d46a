//! Counts the instructions the job loop executes per operation, which does not depend on the machine's mood.
//!
//! The loop runs over the engine that does nothing, with every statistic on, under callgrind, twice: the difference of
//! the two runs is what the additional operations cost, without start-up. The limits are committed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::error::Error;

/// Outstanding I/Os, and the most instructions an operation may take.
const LIMITS: [(u32, f64); 2] = [(1, 420.0), (32, 200.0)];
/// Operations of the shorter and the longer run.
const IOS: [u64; 2] = [20_000, 120_000];

/// Fails where a limit is exceeded; says so and goes on where valgrind is not there.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<Outcome, Error> {
    if !arguments.is_empty() {
        return Err(Error::Usage("instructions"));
    }
    let missing = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err();
    if missing {
        println!("skip: valgrind: not installed, instructions are not counted");
        return Ok(Outcome::good_if(std::env::var_os("CI").is_none()));
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let build = ["build", "--quiet", "--release", "-p", "assay-engine", "--example", "null_loop"];
    let built = Command::new(cargo).current_dir(root).args(build).status();
    if !built.map_err(|source| Error::Start { program: "cargo".to_owned(), source })?.success() {
        return Ok(Outcome::Bad);
    }
    let mut good = true;
    for (depth, limit) in LIMITS {
        let counts = [count(root, IOS[0], depth)?, count(root, IOS[1], depth)?];
        let per_io = (counts[1] - counts[0]) / (IOS[1] - IOS[0]) as f64;
        let verdict = if per_io <= limit { "ok" } else { "TOO MANY" };
        println!("{depth:>3} outstanding: {per_io:.1} instructions per I/O, limit {limit}: {verdict}");
        good &= per_io <= limit;
    }
    Ok(Outcome::good_if(good))
}

/// Instructions of one run.
fn count(root: &Path, ios: u64, depth: u32) -> Result<f64, Error> {
    let mut command = Command::new("valgrind");
    command.current_dir(root).args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg("target/release/examples/null_loop").arg(ios.to_string()).arg(depth.to_string());
    let output =
        command.output().map_err(|source| Error::Start { program: "valgrind".to_owned(), source })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split("Collected :").nth(1));
    let count = line.and_then(|count| count.trim().parse().ok());
    count.ok_or_else(|| Error::Output {
        program: "valgrind".to_owned(),
        source: std::io::Error::other(text.lines().last().unwrap_or("no output").to_owned()),
    })
}
