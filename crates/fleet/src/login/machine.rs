//! What another machine says of itself.

use super::connection::{Connection, LoginError, last_line};
use crate::program::{CACHE, CHECKSUM, Program};
use crate::shell::quoted;

/// What another machine says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// `uname -s`.
    pub system: String,
    /// `uname -m`.
    pub architecture: String,
    /// `uname -r`.
    pub release: String,
    /// Its name.
    pub hostname: String,
    /// What `fio --version` says; empty: there is none.
    pub fio: String,
    /// Whether this very program lies there already.
    pub copied: bool,
}

/// What marks the first line of ours: a login may print something before.
pub(super) const ANSWER: &str = "assay-answer-1";

/// Where fio lies on machines whose short search path leaves it out.
pub const SEARCH_PATH: &str =
    "PATH=\"$PATH:/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:/usr/pkg/bin\"\nexport PATH\n";

impl Machine {
    /// Asks over `connection`, and whether `binary` lies there.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn ask(connection: &Connection, binary: &Program) -> Result<Self, LoginError> {
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
            let why = last_line(&output.stderr);
            LoginError::Failed(format!("{} has no shell for Assay to work with: {why}", connection.host()))
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

    /// Why this very program is for another kind of machine; `None`: it is for this one.
    pub fn of_another_kind(&self) -> Option<String> {
        (self.system != "Linux" || !same_architecture(&self.architecture)).then(|| {
            format!(
                "this program is for Linux {}, and that machine is {} {}",
                std::env::consts::ARCH,
                self.system,
                self.architecture
            )
        })
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
    fn architectures_have_two_names() {
        assert!(same_architecture(std::env::consts::ARCH));
        assert!(!same_architecture("s390x"));
    }
}
