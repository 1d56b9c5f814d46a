//! `assay cleanup HOST:DIR`: the tagged directories there, and the copy of Assay.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_host::workdir::{LEDGER_FILE, MARKER_FILE, TAG_FILE, TAG_SIGNATURE};

use super::connection::{Connection, RemoteError, all_of, last_line};
use super::relay::relay;
use super::{Machine, RemoteDirectory};
use crate::context::{Context, SERVED_VARIABLE};
use crate::failure::{Failure, Outcome};
use crate::signals;
use assay_fleet::program::{CACHE, Program};
use assay_fleet::shell::{directory_word, quoted};

/// Removes what quick left there.
pub(crate) fn cleanup(there: RemoteDirectory<'_>, context: &Context) -> Result<Outcome, Failure> {
    let directory = directory_word(there.dir).map_err(Failure::usage)?;
    let stop = signals::stop_flag()?;
    match clean(there.host, &directory, &stop, context) {
        Ok(()) => Ok(Outcome::Done),
        Err(RemoteError::Failed(failure)) => Err(failure),
        Err(RemoteError::Stopped) => Ok(Outcome::Interrupted),
    }
}

fn clean(host: &str, directory: &str, stop: &Arc<AtomicBool>, context: &Context) -> Result<(), RemoteError> {
    let connection = Connection::open(host, stop)?;
    let binary = super::binary::own()?;
    let machine = Machine::ask(&connection, &binary)?;
    // Nothing is copied there only to be removed again: without a copy the shell can do it.
    let settled = machine.copied && machine.refusal(&connection, &binary, context)?.is_none();
    let cleaned = if settled {
        by_assay(&connection, directory, &binary, context)
    } else {
        by_shell(&connection, directory, context)
    };
    forget_copies(&connection, context)?;
    cleaned
}

/// The copy there cleans up.
fn by_assay(
    connection: &Connection,
    directory: &str,
    binary: &Program,
    context: &Context,
) -> Result<(), RemoteError> {
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
        (Some(2), said) if !said.is_empty() => Err(Failure::usage(format!("{host}: {said}")).into()),
        (_, "") => Err(Failure::failed(format!("{host}: the cleanup did not end well")).into()),
        (_, said) => Err(Failure::failed(format!("{host}: {said}")).into()),
    }
}

/// A function `ours DIRECTORY`, true for a directory that carries both tags, as [`assay_host::workdir`] defines them: the
/// marker names its inode (a shell cannot ask for more everywhere). `inode_of DIRECTORY` prints that.
pub(super) fn ours_function() -> String {
    format!(
        "inode_of() {{ set -- $(ls -di -- \"$1\"); echo \"$1\"; }}
ours() {{
    [ -d \"$1\" ] && [ ! -h \"$1\" ] || return 1
    for tag in {MARKER_FILE} {TAG_FILE}; do
        [ -f \"$1/$tag\" ] && [ ! -h \"$1/$tag\" ] || return 1
    done
    grep -q '\"schema\":\"assay.dir/' \"$1/{MARKER_FILE}\" && grep -q \"\\\"inode\\\":$(inode_of \"$1\")[,}}]\" \"$1/{MARKER_FILE}\" && grep -q '^{TAG_SIGNATURE}' \"$1/{TAG_FILE}\"
}}\n"
    )
}

/// The shell removes test files by their names, and a directory only when nothing else is left in it.
fn by_shell(connection: &Connection, directory: &str, context: &Context) -> Result<(), RemoteError> {
    let script = format!(
        "{}place={directory}
clean() {{
    rm -f -- \"$1\"/test.*.0 \"$1\"/assay-1.data
    for left in \"$1\"/* \"$1\"/.[!.]*; do
        case \"${{left##*/}}\" in
            {MARKER_FILE} | {TAG_FILE} | {LEDGER_FILE}) ;;
            *) if [ -e \"$left\" ] || [ -h \"$left\" ]; then echo \"kept $1: $left is not a test file\"; kept=1; return; fi ;;
        esac
    done
    rm -f -- \"$1/{LEDGER_FILE}\" \"$1/{TAG_FILE}\" && rm -f -- \"$1/{MARKER_FILE}\"
    rmdir -- \"$1\" && echo \"removed $1\" || kept=1
}}
[ -d \"$place\" ] || {{ echo 'is not a directory' >&2; exit 2; }}
found= kept=
if ours \"$place\"; then
    found=1; clean \"$place\"
else
    for one in \"$place\"/*; do
        if ours \"$one\"; then found=1; clean \"$one\"; fi
    done
fi
[ -n \"$found\" ] || echo \"nothing to remove: no directory that Assay made in $place\"
[ -z \"$kept\" ] || {{ echo \"could not remove all that Assay made in $place\" >&2; exit 1; }}
",
        ours_function()
    );
    let attended = connection.attended("", &as_command(&script), all_of)?;
    let host = connection.host();
    if !attended.stdout.is_empty() {
        context.out(&String::from_utf8_lossy(&attended.stdout));
    }
    match attended.status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failure::usage(format!("{host}: {}", last_line(&attended.stderr))).into()),
        _ => Err(Failure::failed(format!("{host}: {}", last_line(&attended.stderr))).into()),
    }
}

/// A script as one command of another.
pub(super) fn as_command(script: &str) -> String {
    format!("/bin/sh -c {}", quoted(script))
}

/// Removes copies of Assay, and records of runs that nobody fetched and nothing writes any more. Only what carries our
/// names is touched, and directories only when they are empty.
fn forget_copies(connection: &Connection, context: &Context) -> Result<(), RemoteError> {
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
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.trim().is_empty() {
        context.out(&said);
    }
    let kept = String::from_utf8_lossy(&output.stderr);
    if !kept.trim().is_empty() {
        context.say(kept.trim_end());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_host::workdir::WorkDir;

    use super::*;

    #[test]
    fn the_shell_knows_our_directories_as_the_library_does() {
        let parent = tempfile::tempdir().expect("a directory");
        let made = parent.path().join("it's ours");
        drop(WorkDir::create(&made, "1", "quick").expect("made"));
        let ours = |path: &std::path::Path| {
            let script = format!("{}ours {}", ours_function(), quoted(&path.to_string_lossy()));
            std::process::Command::new("/bin/sh").args(["-c", &script]).status().expect("sh").success()
        };
        assert!(ours(&made));
        assert!(!ours(parent.path()));
        let copy = parent.path().join("copy");
        let cp = std::process::Command::new("cp").arg("-a").arg(&made).arg(&copy).status();
        assert!(cp.expect("cp").success() && !ours(&copy), "a copy is none");
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&made, &link).expect("link");
        assert!(!ours(&link), "a link to one is none");
        std::fs::write(made.join(TAG_FILE), "Signature: something else\n").expect("written");
        assert!(!ours(&made));
    }
}
