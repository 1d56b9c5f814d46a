//! Assay's own program on another machine: copied there where it is not, tried, and removed again.

use std::fs::File;

use assay_workload::units::Bytes;

use super::connection::{Connection, LoginError, last_line};
use crate::program::{CACHE, OWN, Program};
use crate::shell::quoted;

fn unreadable(error: std::io::Error) -> LoginError {
    LoginError::Failed(format!("cannot read {OWN}: {error}"))
}

/// Copies the program to where its name is looked for, and sees whether it runs there and calls itself `version`. `there`: it lies there
/// already, with its checksum. Returned is why it does not run there, as a clause; the copy is then gone again.
///
/// # Errors
/// [`LoginError`]
pub fn settle(
    program: &Program,
    connection: &Connection,
    there: bool,
    version: &str,
    say: &dyn Fn(&str),
) -> Result<Option<String>, LoginError> {
    let host = connection.host();
    if !there {
        let size = Bytes(program.content().len() as u64);
        say(&format!("copying Assay ({size}) to {host}; assay cleanup removes it again"));
        let own = File::open(OWN).map_err(unreadable)?;
        let output = connection.output(&program.push_script(), Some(own))?;
        if !output.status.success() {
            let why = last_line(&output.stderr);
            return Err(LoginError::Failed(format!("cannot copy Assay to {host}: {why}")));
        }
    }
    let output = connection.output(&try_script(program), None)?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.trim() == version {
        return Ok(None);
    }
    let why = match (output.status.success(), program.is_static()) {
        (true, _) => format!("it calls itself '{}'", said.trim()),
        (false, true) => last_line(&output.stderr),
        (false, false) => format!(
            "{} (this build needs libraries of its own kind; 'make release' builds one that does not)",
            last_line(&output.stderr)
        ),
    };
    Ok(Some(why))
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

/// Removes copies of Assay, and records of runs that were not fetched and nothing writes any more. Only what carries our
/// names is touched, and directories only when they are empty. Returned is what was removed, and what was kept.
///
/// # Errors
/// [`LoginError`]
pub fn forget_copies(connection: &Connection) -> Result<[String; 2], LoginError> {
    let token = "[0-9a-f]".repeat(16);
    let script = format!(
        "{CACHE}cd \"$cache\" 2>/dev/null || exit 0
for run in runs/{token}; do
    [ -f \"$run/pid\" ] || continue
    if kill -0 \"$(cat \"$run/pid\")\" 2>/dev/null; then echo \"kept $cache/$run: a run is in progress\" >&2; continue; fi
    rm -rf \"$run\"
done
removed=
for copy in bin/assay-{token}; do
    [ -f \"$copy\" ] && rm -f \"$copy\" && removed=1
done
rmdir runs bin 2>/dev/null
cd / && rmdir \"$cache\" 2>/dev/null
[ -z \"$removed\" ] || echo \"removed the copy of Assay in $cache\"
"
    );
    let output = connection.output(&script, None)?;
    Ok([output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).trim_end().to_owned()))
}
