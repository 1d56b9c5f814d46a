//! Assay's own chores, run as `cargo xtask NAME`.
//!
//! Nothing here is part of the product and no crate may depend on it. A new chore is a module and one line
//! in [`COMMANDS`].
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command-line tool")]

mod ci;
mod deny;
mod error;
mod instructions;
mod patches;
#[cfg(test)]
#[path = "../support/skip.rs"]
mod skip;
mod skips;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use error::Error;

/// What a chore found: whether the tree (or the run) is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Bad,
}

impl Outcome {
    fn good_if(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

/// One chore: how it is called, what it does in a line, and the function that does it.
struct Command {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    run: fn(root: &Path, arguments: &[String]) -> Result<Outcome, Error>,
}

const COMMANDS: &[Command] = &[
    Command { name: "tidy", usage: "", summary: "check the form of the tree", run: tidy::command },
    Command {
        name: "ci",
        usage: "",
        summary: "every check and test, as `make test` runs them",
        run: ci::command,
    },
    Command {
        name: "instructions",
        usage: "",
        summary: "count what the job loop executes per operation, against its limits",
        run: instructions::command,
    },
    Command {
        name: "patches",
        usage: "[NAME...]",
        summary: "apply, test and count the additions of xtask/patches, in a copy of the tree",
        run: patches::command,
    },
    Command {
        name: "skips",
        usage: "FILE | --probe",
        summary: "judge the skips that tests declared, or show what this machine offers",
        run: skips::command,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        return usage();
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("xtask: no chore is called '{name}'");
        return usage();
    };
    match (command.run)(&workspace_root(), rest) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::from(2)
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask CHORE");
    for command in COMMANDS {
        let call = format!("{} {}", command.name, command.usage);
        eprintln!("  {call:<24} {}", command.summary);
    }
    ExitCode::from(2)
}

/// The directory of the workspace: the parent of this crate's, as cargo reports it when it runs us.
fn workspace_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("xtask"), PathBuf::from);
    manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
