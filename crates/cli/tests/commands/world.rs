//! A user of the program: a home, a place for runs, a directory to measure in.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bounded::{Bounded as _, Started};

/// A test of `assay-1` that needs nothing but a file.
pub(crate) const TEST: &str = "4k random reads, 1 outstanding";

/// A directory with all that a user has. It goes with the value.
pub(crate) struct World {
    root: tempfile::TempDir,
}

/// What the program said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = World { root: tempfile::tempdir().expect("a temporary directory") };
        for path in [world.data(), world.home()] {
            fs::create_dir(path).expect("a directory");
        }
        world
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Where to measure.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.path().join("runs")
    }

    /// The program with `words`, in this world and with nothing of the user's around it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(words).current_dir(self.path()).env_clear();
        command.env("HOME", self.home()).env("ASSAY_RUNS", self.runs()).env("COLUMNS", "100");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", self.path());
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn assay(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output_in_time().expect("the program starts"))
    }

    /// The same, with bytes on its stdin.
    pub(crate) fn piped(&self, words: &[&str], bytes: &[u8]) -> Said {
        let mut command = self.command(words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .start()
            .expect("the program starts");
        // What refuses the beginning does not read the rest.
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("its input"), bytes);
        Said::of(child.wait_with_output().expect("ended"))
    }

    /// One test in short windows in `data`.
    pub(crate) fn quick(&self, more: &[&str]) -> Said {
        let data = self.data();
        let words = [&["quick", path_text(&data), "--test", TEST, "--window", "100ms"], more].concat();
        self.assay(&words)
    }

    /// Starts the same with long windows, and returns when it measures.
    pub(crate) fn start_measuring(&self) -> Started {
        self.start_measuring_with(&[])
    }

    pub(crate) fn start_measuring_with(&self, more: &[&str]) -> Started {
        let data = self.data();
        let words = ["quick", path_text(&data), "--test", TEST, "--window", "3s", "--seed", "1"];
        let mut command = self.command(&[&words, more].concat());
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
        wait_for("the first intervals", || {
            let series = self.run_directories().pop().map(|run| run.join("series.bin"));
            series.is_some_and(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 4096))
        });
        child
    }

    /// Whether the place to measure takes O_DIRECT.
    pub(crate) fn takes_direct_io(&self) -> bool {
        let probe = self.path().join("probe");
        fs::write(&probe, [0; 4096]).expect("a file");
        opens_direct(&probe)
    }

    /// Directories of runs, the oldest first.
    pub(crate) fn run_directories(&self) -> Vec<PathBuf> {
        let mut paths = entries(&self.runs());
        paths.retain(|path| !path.ends_with("baselines") && !path.ends_with("probes"));
        paths
    }

    /// The only run, as its summary says it.
    pub(crate) fn only_run(&self) -> Value {
        let runs = self.run_directories();
        assert_eq!(runs.len(), 1, "{runs:?}");
        json(&fs::read_to_string(runs[0].join("run.json")).expect("a summary"))
    }
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        Said {
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            err: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "signal {:?}\n{}\n{}", self.signal, self.out, self.err);
        self
    }
}

#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

pub(crate) fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Whether a file can be opened with O_DIRECT.
pub(crate) fn opens_direct(path: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path).is_ok()
}

/// What lies in a directory, sorted; nothing where there is none.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[track_caller]
pub(crate) fn wait_for(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(40), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn signal(child: &Started, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("a process to send a signal to");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
