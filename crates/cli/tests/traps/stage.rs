//! What the traps are staged with: a directory on real storage, plans, loop devices, control groups, and a look at what
//! else goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::bounded::{Bounded as _, Started};
use crate::skip;

pub(crate) const MIB: u64 = 1 << 20;
/// A series without an interval is not longer.
const SERIES_HEAD_BYTES: u64 = 16;

static TURN: Mutex<()> = Mutex::new(());

/// A place to measure in, while no other trap is staged.
pub(crate) struct Stage {
    root: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // The temporary directory may be memory; that of the build is not.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        Stage { root, _turn: turn }
    }

    /// Where a file is in memory, so that a device over it has no other pace than the one it is given; the directory of
    /// the stage where there is no such place.
    pub(crate) fn memory(&self) -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir_in(self.root.path()))
            .expect("a directory")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The program, with a home and a place for runs of its own.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.wrapped(&[], words)
    }

    /// The program, started by other words: `taskset -c 0`.
    pub(crate) fn wrapped(&self, by: &[&str], words: &[&str]) -> Command {
        let all: Vec<&str> = [by, &[env!("CARGO_BIN_EXE_assay")], words].concat();
        let mut command = Command::new(all[0]);
        command.args(&all[1..]).current_dir(self.root.path()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path("home")).env("ASSAY_RUNS", self.path("runs")).env("COLUMNS", "100");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// A plan in a file; `run` is then `assay run` of it.
    pub(crate) fn plan(&self, text: &str) -> PathBuf {
        let path = self.path("plan.toml");
        fs::write(&path, text).expect("a plan");
        path
    }

    /// Waits until the first interval of the only run here was written.
    pub(crate) fn wait_until_measured(&self) {
        self.wait("series.bin", |path| fs::metadata(path).is_ok_and(|meta| meta.len() > SERIES_HEAD_BYTES));
    }

    /// Waits until the only run here has begun its phase of this number, counted from 0.
    pub(crate) fn wait_until_begun(&self, phase: usize) {
        let line = format!("{{\"event\":\"phase_started\",\"phase\":{phase},");
        self.wait("journal.jsonl", |path| fs::read_to_string(path).is_ok_and(|text| text.contains(&line)));
    }

    fn wait(&self, file: &str, holds: impl Fn(&Path) -> bool) {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            let runs = fs::read_dir(self.path("runs")).into_iter().flatten().flatten();
            if runs.into_iter().any(|run| holds(&run.path().join(file))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// One job on one target, run to its end.
    pub(crate) fn run(&self, target: &str, job: &str) -> Run {
        let plan = self.plan(&one_job(target, job));
        Run::of(
            self.command(&["run", text(&plan), "--json", "--quiet", "--seed", "7"])
                .output_in_time()
                .expect("assay"),
        )
    }

    /// A file of random data.
    pub(crate) fn file(&self, name: &str, mib: u64) -> PathBuf {
        random_file(self.path(name), mib)
    }

    /// A file that reads as zeros without having been written.
    pub(crate) fn sparse(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        fs::File::create(&path).and_then(|file| file.set_len(mib * MIB)).expect("a sparse file");
        path
    }
}

/// A file of random data. Writing it makes it ours; else it could only be read.
pub(crate) fn random_file(path: PathBuf, mib: u64) -> PathBuf {
    let mut random = fs::File::open("/dev/urandom").expect("random data");
    let mut file = fs::File::create(&path).expect("a file");
    std::io::copy(&mut std::io::Read::take(&mut random, mib * MIB), &mut file).expect("written");
    file.sync_all().expect("durable");
    path
}

/// A plan of one job on one target.
pub(crate) fn one_job(target: &str, job: &str) -> String {
    format!("name = \"trap\"\ntarget = [{{ name = \"t\", path = \"{target}\" }}]\n[[job]]\n{job}\n")
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) run: Value,
}

impl Run {
    #[track_caller]
    pub(crate) fn of(output: Output) -> Run {
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr).into_owned());
        let run = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"));
        Run { run }
    }

    pub(crate) fn findings(&self) -> Vec<&Value> {
        self.run["findings"].as_array().expect("findings").iter().collect()
    }

    /// The finding of a check, of the first that has it.
    pub(crate) fn found(&self, id: &str) -> Option<&Value> {
        self.findings().into_iter().find(|finding| finding["id"] == id)
    }

    /// The finding of a check at this severity.
    #[track_caller]
    pub(crate) fn finding(&self, id: &str, severity: &str) -> &Value {
        let found = self
            .findings()
            .into_iter()
            .find(|finding| finding["id"] == id && finding["severity"] == severity);
        found.unwrap_or_else(|| panic!("no {severity} of {id} in {:#}", self.run["findings"]))
    }

    pub(crate) fn iops(&self) -> f64 {
        self.run["phases"][0]["jobs"][0]["total"]["iops"].as_f64().expect("IOPS")
    }
}

/// A running command that ends with the value.
pub(crate) struct Running(pub(crate) Started);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("a command"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command; its standard output when it succeeds.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output_in_time().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device over a file; it is detached with the value.
pub(crate) struct Loop {
    pub(crate) device: String,
}

impl Loop {
    /// `None`, declared as a skip, where this machine has none.
    pub(crate) fn over(file: &Path, direct: bool) -> Option<Loop> {
        let way = if direct { "--direct-io=on" } else { "--direct-io=off" };
        let Some(device) = said("losetup", &["--find", "--show", way, text(file)]) else {
            skip::declare("losetup", "no loop device could be attached");
            return None;
        };
        forget_partitions(&device);
        Some(Loop { device })
    }

    /// `MAJOR:MINOR`.
    pub(crate) fn number(&self) -> String {
        let name = self.device.trim_start_matches("/dev/");
        fs::read_to_string(format!("/sys/class/block/{name}/dev")).expect("a number").trim().to_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        forget_partitions(&self.device);
        said("losetup", &["-d", &self.device]);
    }
}

/// A loop device keeps the partitions that somebody added to the file it was over before, which makes it one in use.
fn forget_partitions(device: &str) {
    said("partx", &["--delete", device]);
}

/// A control group of version 1, removed with the value.
pub(crate) struct Group {
    path: PathBuf,
}

impl Group {
    /// `None`, declared as a skip under `capability`, where the controller is not there.
    pub(crate) fn new(controller: &str, capability: &str) -> Option<Group> {
        let path = PathBuf::from(format!("/sys/fs/cgroup/{controller}/assay-trap-{}", std::process::id()));
        if fs::create_dir(&path).is_err() || !path.join("cgroup.procs").exists() {
            let _ = fs::remove_dir(&path);
            skip::declare(capability, &format!("no group of version 1 can be made for {controller}"));
            return None;
        }
        Some(Group { path })
    }

    /// A group in this one, to be dropped before it.
    pub(crate) fn child(&self) -> Group {
        let path = self.path.join("child");
        fs::create_dir(&path).expect("a group in a group");
        Group { path }
    }

    pub(crate) fn set(&self, file: &str, value: &str) -> std::io::Result<()> {
        fs::write(self.path.join(file), value)
    }

    /// Words that start a command in this group.
    pub(crate) fn enter(&self) -> [String; 3] {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", self.path.display());
        ["sh".to_owned(), "-c".to_owned(), script]
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its last process may still be going away.
        for _ in 0..50 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
