//! What the tests of workload files share: the program in a directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::bounded::Bounded as _;

/// A directory that a test works in, with the program's data below it.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and returns its name.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file in a temporary directory");
        PathBuf::from(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("a file that was written")
    }

    /// The program with `words`, in this directory, with nothing of the user's around it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(words).current_dir(self.path()).env_clear();
        command.env("HOME", self.path()).env("ASSAY_RUNS", self.path().join("runs"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(crate) fn assay(&self, words: &[&str]) -> Said {
        let output = self.command(words).output_in_time().expect("the program starts");
        Said::of(&output)
    }
}

/// What the program said and ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// stdout of a command that did its work.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }
}
