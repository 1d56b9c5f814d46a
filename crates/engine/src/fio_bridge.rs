//! Real fio as the engine: finds the program, runs it on a job file, and hands on what it reports as it comes.
//!
//! What the reports mean is not decided here; see `results::import`.

mod process;
mod split;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use process::{FioEnd, FioOutput, FioRun};

/// Why fio could not be run.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// It is not there, or cannot be started.
    #[error("cannot start {path}: {source}")]
    Start {
        /// The program.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is there and is no fio.
    #[error("{path} is no fio: it does not tell its version")]
    NoVersion {
        /// The program.
        path: PathBuf,
    },
}

/// The fio of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fio {
    /// Where it is.
    pub path: PathBuf,
    /// Its version: `3.33`.
    pub version: String,
}

impl Fio {
    /// The first program called fio in the directories of `search`, the value of PATH; `None`: there is none.
    ///
    /// # Errors
    /// [`FioError`] if it is there and does not run.
    pub fn find(search: Option<&OsStr>) -> Result<Option<Fio>, FioError> {
        let directories = search.map(|search| std::env::split_paths(search).collect::<Vec<_>>());
        let found = directories.into_iter().flatten().map(|directory| directory.join("fio"));
        found.into_iter().find(|path| is_program(path)).map(Fio::at).transpose()
    }

    /// The fio at `path`.
    fn at(path: PathBuf) -> Result<Fio, FioError> {
        let output = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|source| FioError::Start { path: path.clone(), source })?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.trim().strip_prefix("fio-").filter(|version| !version.is_empty()) {
            Some(version) => Ok(Fio { version: version.to_owned(), path }),
            None => Err(FioError::NoVersion { path }),
        }
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A program that is called fio and does what `script` says.
    fn stand_in(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("fio");
        // Written by another process: a copy of the open file, in a child that another test starts meanwhile, would
        // keep the kernel from running it.
        let text = "printf '%s\\n' '#!/bin/sh' \"$1\" >\"$0\" && chmod 755 \"$0\"";
        let status = Command::new("sh").arg("-c").arg(text).arg(&path).arg(script).status();
        assert!(status.is_ok_and(|status| status.success()), "a script");
        path
    }

    fn all(run: &mut FioRun) -> (Vec<String>, FioEnd) {
        let mut documents = Vec::new();
        for _ in 0..500 {
            match run.next(Duration::from_millis(20)) {
                FioOutput::Document(text) => documents.push(text),
                FioOutput::Ended(end) => return (documents, end),
                FioOutput::Closed | FioOutput::Nothing => {}
            }
        }
        panic!("it does not end: {documents:?}");
    }

    #[test]
    fn it_is_found_in_the_search_path_or_not() {
        let (empty, full) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
        stand_in(full.path(), "echo fio-3.99");
        let search = std::env::join_paths([empty.path(), full.path()]).expect("a path");
        let fio = Fio::find(Some(&search)).expect("it runs").expect("it is there");
        assert_eq!((fio.version.as_str(), fio.path), ("3.99", full.path().join("fio")));
        assert_eq!(Fio::find(Some(empty.path().as_os_str())).expect("nothing to run"), None);
        assert_eq!(Fio::find(None).expect("nothing to run"), None);
        stand_in(full.path(), "echo something else");
        assert!(matches!(Fio::find(Some(full.path().as_os_str())), Err(FioError::NoVersion { .. })));
    }

    #[test]
    fn documents_come_as_they_are_printed_and_the_rest_is_kept_as_words() {
        let directory = tempfile::tempdir().expect("a directory");
        let script =
            "echo 'note: hello'; cat; echo '{\"a\": \"}\"}'; echo '{\"b\": 2}'; echo trouble >&2; exit 3";
        let path = stand_in(directory.path(), script);
        let mut run = FioRun::start(&path, &["x"], "{\"stdin\": 1}", Vec::new()).expect("it starts");
        let (documents, end) = all(&mut run);
        assert_eq!(documents, ["{\"stdin\": 1}", "{\"a\": \"}\"}", "{\"b\": 2}"]);
        assert_eq!(end.status, Some(3));
        assert!(end.said.contains("note: hello") && end.said.contains("trouble"), "{}", end.said);
    }

    #[test]
    fn it_can_be_told_to_stop_and_its_processor_time_is_known() {
        let directory = tempfile::tempdir().expect("a directory");
        let script = "trap 'echo \"{}\"; exit 0' TERM; echo '{\"on\":1}'; while :; do :; done";
        let path = stand_in(directory.path(), script);
        let mut run = FioRun::start(&path, &[], "", Vec::new()).expect("it starts");
        let first =
            (0..500).map(|_| run.next(Duration::from_millis(20))).find(|next| *next != FioOutput::Nothing);
        assert_eq!(first, Some(FioOutput::Document("{\"on\":1}".to_owned())));
        std::thread::sleep(Duration::from_millis(60));
        run.terminate();
        let (documents, end) = all(&mut run);
        assert_eq!((documents, end.status), (vec!["{}".to_owned()], Some(0)));
        assert!(end.user_ns + end.system_ns > 5_000_000, "{end:?}");
    }

    #[test]
    fn it_does_not_outlive_its_owner() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = stand_in(directory.path(), "exec sleep 600");
        let run = FioRun::start(&path, &[], "", Vec::new()).expect("it starts");
        let proc = format!("/proc/{}", run.pid());
        assert!(Path::new(&proc).exists());
        drop(run);
        assert!(!Path::new(&proc).exists());
    }
}
