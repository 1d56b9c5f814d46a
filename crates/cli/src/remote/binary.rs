//! Assay's own program on another machine: copied there where it is not, and tried.

use std::fs::File;

use assay_fleet::program::{CACHE, OWN, Program};
use assay_fleet::shell::quoted;
use assay_workload::units::Bytes;

use super::connection::{Connection, RemoteError, last_line};
use crate::context::Context;
use crate::failure::Failure;

fn read_error(error: std::io::Error) -> Failure {
    Failure::failed(format!("cannot read {OWN}: {error}"))
}

/// The running program.
pub(super) fn own() -> Result<Program, Failure> {
    Program::own().map_err(read_error)
}

/// Copies it to where its name is looked for, and sees whether it runs there. `there`: it lies there already, with its checksum.
///
/// # Errors
/// Inside: why it does not run there, as a clause. The copy is then gone again.
pub(super) fn settle(
    program: &Program,
    connection: &Connection,
    there: bool,
    context: &Context,
) -> Result<Result<(), String>, RemoteError> {
    let host = connection.host();
    if !there {
        let size = Bytes(program.content().len() as u64);
        context.say(&format!("copying Assay ({size}) to {host}; assay cleanup removes it again"));
        let own = File::open(OWN).map_err(read_error)?;
        let output = connection.output(&program.push_script(), Some(own))?;
        if !output.status.success() {
            let why = last_line(&output.stderr);
            return Err(Failure::failed(format!("cannot copy Assay to {host}: {why}")).into());
        }
    }
    let output = connection.output(&try_script(program), None)?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.trim() == Context::version_line() {
        return Ok(Ok(()));
    }
    let why = match (output.status.success(), program.is_static()) {
        (true, _) => format!("it calls itself '{}'", said.trim()),
        (false, true) => last_line(&output.stderr),
        (false, false) => format!(
            "{} (this build needs libraries of its own kind; 'make release' builds one that does not)",
            last_line(&output.stderr)
        ),
    };
    Ok(Err(why))
}

fn try_script(program: &Program) -> String {
    let name = quoted(&program.name());
    format!(
        "{CACHE}final=\"$cache/bin/\"{name}
\"$final\" --version && exit 0
status=$?
rm -f \"$final\"
exit $status
"
    )
}
