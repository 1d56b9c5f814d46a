//! `assay quick` and `assay cleanup` on another machine, over ssh.
//!
//! Where this program runs there too, it is copied there, measures there, and the run is brought back whole. Elsewhere
//! the fio that is there measures the series that is made of fio's options. Nothing stays but the tagged directory with
//! the test files and the copy of Assay, and both go with `assay cleanup HOST:DIR`.

mod binary;
mod cleanup;
mod connection;
mod fetch;
mod fio;
mod native;
mod relay;

pub(crate) use cleanup::cleanup;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::series::Series;

use crate::context::Context;
use crate::failure::Failure;
use crate::series::QuickArgs;
use crate::signals;
use assay_fleet::program::{CACHE, CHECKSUM, Program};
use assay_fleet::shell::{directory_word, quoted};
use assay_runner::Finished;
use connection::{Connection, RemoteError};

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
    let stop = signals::stop_flag()?;
    match measure(args, series, there, &directory, &stop, context) {
        Ok(finished) => Ok(Some(finished)),
        Err(RemoteError::Failed(failure)) => Err(failure),
        Err(RemoteError::Stopped) => {
            context.say("stopped before anything was measured");
            Ok(None)
        }
    }
}

fn measure(
    args: &QuickArgs,
    series: &Series,
    there: RemoteDirectory<'_>,
    directory: &str,
    stop: &Arc<AtomicBool>,
    context: &Context,
) -> Result<Finished, RemoteError> {
    let connection = Connection::open(there.host, stop)?;
    let binary = binary::own()?;
    let machine = Machine::ask(&connection, &binary)?;
    context.make_runs_root()?;
    match machine.refusal(&connection, &binary, context)? {
        None => native::run(args, directory, &binary, &connection, context),
        Some(why) => {
            fio::run(args, series, there, directory, &machine.fio(&why, there.host)?, &connection, context)
        }
    }
}

/// What another machine says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Machine {
    /// `uname -s`.
    system: String,
    /// `uname -m`.
    architecture: String,
    /// `uname -r`.
    release: String,
    /// Its name.
    hostname: String,
    /// What `fio --version` says; empty: there is none.
    fio: String,
    /// Whether this very program lies there already.
    copied: bool,
}

/// What marks the first line of ours: a login may print something before.
const ANSWER: &str = "assay-answer-1";

/// Where fio lies on machines whose short search path leaves it out.
const SEARCH_PATH: &str =
    "PATH=\"$PATH:/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:/usr/pkg/bin\"\nexport PATH\n";

impl Machine {
    fn ask(connection: &Connection, binary: &Program) -> Result<Self, RemoteError> {
        let name = quoted(&binary.name());
        let script = format!(
            "{CACHE}{CHECKSUM}{SEARCH_PATH}echo {ANSWER}
echo system=$(uname -s)
echo architecture=$(uname -m)
echo release=$(uname -r)
echo hostname=$(uname -n)
echo fio=$(fio --version 2>/dev/null)
final=\"$cache/bin/\"{name}
[ -x \"$final\" ] && echo copy=$(checksum \"$final\")
exit 0
"
        );
        let output = connection.output(&script, None)?;
        let machine = Machine::parse(&output.stdout, binary.checksum());
        machine.ok_or_else(|| {
            let why = connection::last_line(&output.stderr);
            Failure::failed(format!("{} has no shell for Assay to work with: {why}", connection.host()))
                .into()
        })
    }

    fn parse(answer: &[u8], checksum: &str) -> Option<Self> {
        let answer = String::from_utf8_lossy(answer);
        let mut lines = answer.lines().skip_while(|line| line.trim_end() != ANSWER);
        lines.next()?;
        let mut machine = Machine::default();
        for (name, value) in lines.filter_map(|line| line.split_once('=')) {
            let value = value.trim().to_owned();
            match name {
                "system" => machine.system = value,
                "architecture" => machine.architecture = value,
                "release" => machine.release = value,
                "hostname" => machine.hostname = value,
                "fio" => machine.fio = value,
                "copy" => machine.copied = value.contains(checksum),
                _ => {}
            }
        }
        (!machine.system.is_empty()).then_some(machine)
    }

    /// Why this program cannot measure there; `None`: it can, and lies there now.
    fn refusal(
        &self,
        connection: &Connection,
        binary: &Program,
        context: &Context,
    ) -> Result<Option<String>, RemoteError> {
        if self.system != "Linux" || !same_architecture(&self.architecture) {
            return Ok(Some(format!(
                "this program is for Linux {}, and that machine is {} {}",
                std::env::consts::ARCH,
                self.system,
                self.architecture
            )));
        }
        let refused = binary::settle(binary, connection, self.copied, context)?.err();
        Ok(refused.map(|why| format!("this program does not run there: {why}")))
    }

    /// The fio that can step in.
    fn fio<'a>(&'a self, refusal: &'a str, host: &str) -> Result<fio::SubstituteFio<'a>, Failure> {
        let version = self.fio.strip_prefix("fio-").unwrap_or(&self.fio);
        if version.is_empty() {
            return Err(Failure::failed(format!(
                "cannot measure on {host}: {refusal}; nor is fio there, which could do it instead"
            )));
        }
        Ok(fio::SubstituteFio { machine: self, version, refusal })
    }
}

/// Whether `uname -m` names this program's architecture.
fn same_architecture(name: &str) -> bool {
    match std::env::consts::ARCH {
        "x86_64" => matches!(name, "x86_64" | "amd64"),
        "aarch64" => matches!(name, "aarch64" | "arm64"),
        other => name == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_behind_what_a_login_prints() {
        let answer = format!(
            "Welcome!\nsystem=Fake\n{ANSWER}\nsystem=Linux\narchitecture=ppc64le\nfio=fio-3.33\ncopy=abc123  -\n"
        );
        let machine = Machine::parse(answer.as_bytes(), "abc123").expect("understood");
        assert_eq!((machine.system.as_str(), machine.architecture.as_str()), ("Linux", "ppc64le"));
        assert!(machine.copied);
        assert!(!Machine::parse(answer.as_bytes(), "abd").expect("understood").copied);
        assert_eq!(Machine::parse(b"This account is not available.\n", "abc"), None);
    }

    #[test]
    fn without_fio_there_is_one_clear_message() {
        let machine = Machine { system: "Darwin".to_owned(), ..Machine::default() };
        let said = machine.fio("this program is for Linux x86_64, and that machine is Darwin arm64", "mac");
        let said = said.err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(said.starts_with("cannot measure on mac: this program is for Linux"), "{said}");
        assert!(said.contains("nor is fio there"), "{said}");
    }

    #[test]
    fn architectures_have_two_names() {
        assert!(same_architecture(std::env::consts::ARCH));
        assert!(!same_architecture("s390x"));
    }
}
