//! `assay cleanup HOST:DIR`: the tagged directories there, and the copy of Assay.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_fleet::login::{self, Connection, all_of, last_line, relay};
use assay_fleet::program::{CACHE, Program};
use assay_fleet::shell::{directory_word, quoted};

use super::{RemoteDirectory, reach, refusal};
use crate::context::{Context, SERVED_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::signals;

/// Removes what quick left there.
pub(crate) fn cleanup(there: RemoteDirectory<'_>, context: &Context) -> Result<Outcome, Failure> {
    let directory = directory_word(there.dir).map_err(Failure::usage)?;
    let stop = signals::stop_flag()?;
    match clean(there.host, &directory, &stop, context) {
        Ok(()) => Ok(Outcome::Done),
        Err(Failure::Interrupted) => Ok(Outcome::Interrupted),
        Err(failure) => Err(failure),
    }
}

fn clean(host: &str, directory: &str, stop: &Arc<AtomicBool>, context: &Context) -> Result<(), Failure> {
    let (connection, binary, machine) = reach(host, stop)?;
    // Nothing is copied there only to be removed again: without a copy the shell can do it.
    let settled = machine.copied && refusal(&machine, &connection, &binary, context)?.is_none();
    let cleaned = if settled {
        by_assay(&connection, directory, &binary, context)
    } else {
        by_shell(&connection, directory, context)
    };
    let [removed, kept] = login::forget_copies(&connection)?;
    if !removed.is_empty() {
        context.out(&removed);
    }
    if !kept.is_empty() {
        context.say(&kept);
    }
    cleaned
}

/// The copy there cleans up.
fn by_assay(
    connection: &Connection,
    directory: &str,
    binary: &Program,
    context: &Context,
) -> Result<(), Failure> {
    let quiet = if context.quiet { " --quiet" } else { "" };
    let name = quoted(&binary.name());
    let command = format!("{SERVED_VARIABLE}=plain \"$cache/bin/\"{name} cleanup{quiet} -- {directory}");
    let attended = connection.attended(CACHE, &command, |stderr| relay(stderr, std::io::stderr()))?;
    let host = connection.host();
    if !attended.stdout.is_empty() {
        context.out(&String::from_utf8_lossy(&attended.stdout));
    }
    match (attended.status.code(), attended.stderr.as_str()) {
        (Some(0), _) => Ok(()),
        (Some(2), said) if !said.is_empty() => Err(Failure::usage(format!("{host}: {said}"))),
        (_, "") => Err(Failure::failed(format!("{host}: the cleanup did not end well"))),
        (_, said) => Err(Failure::failed(format!("{host}: {said}"))),
    }
}

/// The shell removes test files by their names, and a directory only when nothing else is left in it.
fn by_shell(connection: &Connection, directory: &str, context: &Context) -> Result<(), Failure> {
    let attended = connection.attended("", &login::cleanup_command(directory), all_of)?;
    let host = connection.host();
    if !attended.stdout.is_empty() {
        context.out(&String::from_utf8_lossy(&attended.stdout));
    }
    match attended.status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::usage(format!("{host}: {}", last_line(&attended.stderr)))),
        _ => Err(Failure::failed(format!("{host}: {}", last_line(&attended.stderr)))),
    }
}
