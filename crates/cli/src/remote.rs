//! `assay quick` and `assay cleanup` on another machine, over ssh.
//!
//! Where this program runs there too, it is copied there, measures there, and the run is brought back whole. Elsewhere
//! the fio that is there measures the series that is made of fio's options. Nothing stays but the tagged directory with
//! the test files and the copy of Assay, and both go with `assay cleanup HOST:DIR`.

mod arrived;
mod cleanup;
mod fio;
mod native;

pub(crate) use cleanup::cleanup;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::series::Series;
use assay_fleet::login::{self, Connection, Machine};
use assay_fleet::program::{OWN, Program};
use assay_fleet::shell::{SSH_VARIABLE, directory_word, ssh_program};
use assay_runner::Finished;

use crate::context::Context;
use crate::failure::Failure;
use crate::series::QuickArgs;
use crate::signals;

/// A directory on another machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemoteDirectory<'a> {
    /// `[user@]host`, as ssh takes it.
    pub(crate) host: &'a str,
    /// As the user wrote it; empty: the home directory.
    pub(crate) dir: &'a str,
}

/// Measures the series there. `None`: stopped before anything was measured.
pub(crate) fn quick(
    args: &QuickArgs,
    series: &Series,
    there: RemoteDirectory<'_>,
    context: &Context,
) -> Result<Option<Finished>, Failure> {
    let directory = directory_word(there.dir).map_err(Failure::usage)?;
    context.runs_root()?;
    match measure(args, series, there, &directory, context) {
        Ok(finished) => Ok(Some(finished)),
        Err(Failure::Interrupted) => {
            context.say("stopped before anything was measured");
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn measure(
    args: &QuickArgs,
    series: &Series,
    there: RemoteDirectory<'_>,
    directory: &str,
    context: &Context,
) -> Result<Finished, Failure> {
    let (connection, binary, machine) = reach(there.host, &signals::stop_flag()?)?;
    context.make_runs_root()?;
    match refusal(&machine, &connection, &binary, context)? {
        None => native::run(args, directory, &binary, &connection, context),
        Some(why) => {
            let stand = substitute(&machine, &why, there.host)?;
            fio::run(args, series, there, directory, &stand, &connection, context)
        }
    }
}

/// Logs in, and asks what is there.
fn reach(host: &str, stop: &Arc<AtomicBool>) -> Result<(Connection, Program, Machine), Failure> {
    let pass_on = |said: &[u8]| {
        let _ = std::io::stderr().write_all(said);
    };
    let ssh = ssh_program(std::env::var_os(SSH_VARIABLE));
    let connection = Connection::open(host, ssh, assay_runner::random_u64()? as u32, stop, &pass_on)?;
    let binary = Program::own().map_err(|error| Failure::failed(format!("cannot read {OWN}: {error}")))?;
    let machine = Machine::ask(&connection, &binary)?;
    Ok((connection, binary, machine))
}

/// Why this program cannot measure there; `None`: it can, and lies there now.
fn refusal(
    machine: &Machine,
    connection: &Connection,
    binary: &Program,
    context: &Context,
) -> Result<Option<String>, Failure> {
    if let Some(why) = machine.of_another_kind() {
        return Ok(Some(why));
    }
    let say = |text: &str| context.say(text);
    let refused = login::settle(binary, connection, machine.copied, &Context::version_line(), &say)?;
    Ok(refused.map(|why| format!("this program does not run there: {why}")))
}

/// The fio that can step in.
fn substitute<'a>(
    machine: &'a Machine,
    refusal: &'a str,
    host: &str,
) -> Result<fio::SubstituteFio<'a>, Failure> {
    let version = machine.fio.strip_prefix("fio-").unwrap_or(&machine.fio);
    if version.is_empty() {
        return Err(Failure::failed(format!(
            "cannot measure on {host}: {refusal}; nor is fio there, which could do it instead"
        )));
    }
    Ok(fio::SubstituteFio { machine, version, refusal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_fio_there_is_one_clear_message() {
        let machine = Machine { system: "Darwin".to_owned(), ..Machine::default() };
        let said =
            substitute(&machine, "this program is for Linux x86_64, and that machine is Darwin arm64", "mac");
        let said = said.err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(said.starts_with("cannot measure on mac: this program is for Linux"), "{said}");
        assert!(said.contains("nor is fio there"), "{said}");
    }
}
