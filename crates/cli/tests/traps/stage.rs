//! What the traps are staged with: a directory on real storage, plans, loop devices, control groups, and a look at what
//! else goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::skip;

pub(crate) const MIB: u64 = 1 << 20;
/// How often a trap is staged anew where something else was seen on the machine.
const TRIES: u32 = 3;
/// A series without an interval is not longer.
const SERIES_HEAD_BYTES: u64 = 16;
/// A disk that is busy for more of a moment, or processors, when nothing of ours goes on.
const BUSY_SHARE: f64 = 0.3;

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
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            let runs = fs::read_dir(self.path("runs")).into_iter().flatten().flatten();
            let mut series = runs.map(|run| run.path().join("series.bin"));
            if series.any(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > SERIES_HEAD_BYTES)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// One job on one target, run to its end.
    pub(crate) fn run(&self, target: &str, job: &str) -> Run {
        let plan = self.plan(&one_job(target, job));
        Run::of(
            self.command(&["run", text(&plan), "--json", "--quiet", "--seed", "7"]).output().expect("assay"),
        )
    }

    /// A file of random data.
    pub(crate) fn file(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        let mut random = fs::File::open("/dev/urandom").expect("random data");
        let mut file = fs::File::create(&path).expect("a file");
        std::io::copy(&mut std::io::Read::take(&mut random, mib * MIB), &mut file).expect("written");
        file.sync_all().expect("durable");
        // Writing it makes it ours; else it could only be read.
        path
    }

    /// A file that reads as zeros without having been written.
    pub(crate) fn sparse(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        fs::File::create(&path).and_then(|file| file.set_len(mib * MIB)).expect("a sparse file");
        path
    }
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

/// Stages a trap until it shows, anew only where an independent look saw something else going on; every such retry is
/// printed.
#[track_caller]
pub(crate) fn until(what: &str, mut staged: impl FnMut() -> Result<(), String>) {
    for attempt in 1.. {
        let before = interference();
        let Err(why) = staged() else { return };
        let seen = before.or_else(interference);
        match seen {
            Some(seen) if attempt < TRIES => {
                let line = format!("retry: {what}: {why}; meanwhile {seen}\n");
                let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
                std::thread::sleep(Duration::from_secs(2));
            }
            _ => panic!("{what}: {why}"),
        }
    }
}

/// What else goes on, by the kernel's own counters and not by Assay.
pub(crate) fn interference() -> Option<String> {
    let (cpu, disk) = (cpu_busy_ticks(), disk_busy_ms());
    std::thread::sleep(Duration::from_millis(300));
    let (cpu_after, disk_after) = (cpu_busy_ticks(), disk_busy_ms());
    // Ticks of 10 ms, of all processors.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let cpu_share = (cpu_after - cpu) as f64 / 30.0 / cpus;
    if cpu_share > BUSY_SHARE {
        return Some(format!("processors were {:.0} % busy", 100.0 * cpu_share));
    }
    let disk_share = (disk_after - disk) as f64 / 300.0;
    (disk_share > BUSY_SHARE).then(|| format!("a disk was {:.0} % busy", 100.0 * disk_share))
}

fn cpu_busy_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<u64> =
        stat.lines().next().unwrap_or("").split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    fields.iter().enumerate().filter(|(at, _)| ![3, 4].contains(at)).map(|(_, ticks)| ticks).take(6).sum()
}

/// Time in which the busiest disk had something to do.
fn disk_busy_ms() -> u64 {
    let stats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (!words.get(2)?.starts_with("loop")).then(|| words.get(12)?.parse().ok()).flatten()
    };
    stats.lines().filter_map(of_line).max().unwrap_or(0)
}

/// A running command that ends with the value.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a command"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command; its standard output when it succeeds.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
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
        said("losetup", &["-d", &self.device]);
    }
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
