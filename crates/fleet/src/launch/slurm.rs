//! Workers on the nodes of a Slurm cluster: `slurm:4` asks for an allocation of four nodes and gives it back at the end; within one
//! (salloc, sbatch), `slurm` uses its nodes. One step a node, whose standard streams are the worker's: no port is open, and
//! what kills the job kills the workers.

use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_workload::Workload;
use assay_workload::host::Host;
use rustix::process::{Pid, Signal, kill_process};

use super::{Connection, Launcher, Place, Setting, WORKERS_MAX, own_paths};
use crate::program::Program;

/// What an allocation is called in the queue.
const JOB_NAME: &str = "assay";
/// How long a cluster may take to grant one. Who queues for longer runs us within an allocation.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to give it back.
const RETURNED_WITHIN: Duration = Duration::from_secs(5);
/// What an allocation runs: it says which job and which nodes it is, and lives as long as its standard input, so that it goes with
/// us however we end.
const SCRIPT: &str = "echo \"$SLURM_JOB_ID\" && scontrol show hostnames \"$SLURM_JOB_NODELIST\" && echo && exec cat >/dev/null";
/// Its nodes without a job of our own.
const NODES: &str = "scontrol show hostnames \"$SLURM_JOB_NODELIST\"";

#[derive(Debug)]
struct Slurm {
    job: String,
    nodes: Vec<String>,
    directory: PathBuf,
    program: Program,
    /// `None`: the one we were started in.
    _allocation: Option<Allocation>,
}

/// A job that holds the nodes until it is dropped.
#[derive(Debug)]
struct Allocation {
    child: Child,
    stdin: Option<ChildStdin>,
    is_granted: bool,
}

impl Allocation {
    fn has_ended_in_time(&mut self) -> bool {
        let until = Instant::now() + RETURNED_WITHIN;
        while Instant::now() < until {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // One that still queues reads nothing, and takes its job out of the queue at this signal.
        if !self.is_granted {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
        if !self.has_ended_in_time() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            if !self.has_ended_in_time() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

pub(super) fn parse(
    rest: Option<&str>,
    hosts: &[Host],
    setting: &Setting,
) -> Result<Box<dyn Launcher>, String> {
    let number = rest.map(|rest| {
        let number = rest.parse::<usize>().ok().filter(|number| (1..=WORKERS_MAX).contains(number));
        number.ok_or_else(|| format!("'{rest}' is not a number of nodes from 1 to {WORKERS_MAX}"))
    });
    let number = number.transpose()?;
    if !hosts.is_empty() {
        return Err(
            "the plan names hosts, and the nodes are chosen by Slurm: leave [[host]] out, or use ssh"
                .to_owned(),
        );
    }
    let job = std::env::var("SLURM_JOB_ID").ok().filter(|job| !job.is_empty());
    let (job, nodes, allocation) = match (job, number) {
        (Some(job), number) => (job, own_nodes(number)?, None),
        (None, Some(number)) => allocate(number, &setting.stop)?,
        (None, None) => {
            return Err("this is no Slurm allocation: how many nodes? slurm:N".to_owned());
        }
    };
    let program = Program::own().map_err(|error| format!("the program cannot be read: {error}"))?;
    let directory = setting.directory.clone();
    Ok(Box::new(Slurm { job, nodes, directory, program, _allocation: allocation }))
}

/// The nodes of the allocation that we were started in; the first `number` of them.
fn own_nodes(number: Option<usize>) -> Result<Vec<String>, String> {
    let output = Command::new("sh").args(["-c", NODES]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("scontrol: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut nodes: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if !output.status.success() || nodes.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scontrol does not say which nodes this allocation has: {}", said.trim()));
    }
    let number = number.unwrap_or(nodes.len());
    if number > nodes.len() {
        return Err(format!("this allocation has {} nodes", nodes.len()));
    }
    nodes.truncate(number);
    Ok(nodes)
}

/// The lines of a stream as they come; the end of the stream ends them.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// An allocation of `number` nodes: the job, its nodes, and what holds it.
fn allocate(number: usize, stop: &AtomicBool) -> Result<(String, Vec<String>, Option<Allocation>), String> {
    let mut command = Command::new("salloc");
    command.args(["-N", &number.to_string(), "-J", JOB_NAME, "sh", "-c", SCRIPT]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no salloc here: install Slurm's client commands".to_owned(),
        _ => format!("salloc: {error}"),
    });
    let mut child = child?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut allocation = Allocation { child, stdin, is_granted: false };
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Err("salloc has no streams".to_owned());
    };
    let (lines, said) = (lines_of(stdout), lines_of(stderr));
    let until = Instant::now() + GRANTED_WITHIN;
    let mut told = Vec::new();
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(line) if line.is_empty() => break,
            Ok(line) => told.push(line),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err("interrupted".to_owned());
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(RecvTimeoutError::Timeout) => {
                let why: Vec<String> = said.try_iter().collect();
                return Err(format!(
                    "no allocation of {number} nodes in {} s: {}; within one of your own (salloc, sbatch) '--on slurm' uses its nodes",
                    GRANTED_WITHIN.as_secs(),
                    why_queued(&why).unwrap_or_else(|| last_words(&why))
                ));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why: Vec<String> = said.iter().collect();
                return Err(format!("no allocation of {number} nodes: {}", last_words(&why)));
            }
        }
    }
    allocation.is_granted = true;
    let mut told = told.into_iter();
    let job = told.next().unwrap_or_default();
    let nodes: Vec<String> = told.take(number).collect();
    if job.is_empty() || nodes.len() < number {
        return Err(format!("salloc granted {} of {number} nodes", nodes.len()));
    }
    Ok((job, nodes, Some(allocation)))
}

/// Slurm's reason for which the job that salloc named waits.
fn why_queued(said: &[String]) -> Option<String> {
    let job =
        said.iter().flat_map(|line| line.split_whitespace()).find(|word| word.parse::<u64>().is_ok())?;
    let mut squeue = Command::new("squeue");
    let output = squeue.args(["-h", "-o", "%r", "-j", job]).stdin(Stdio::null()).output().ok()?;
    let reason = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !reason.is_empty()).then(|| format!("job {job} is queued: {reason}"))
}

/// What salloc said of it, without its own name: the lines that say why, else the last one.
fn last_words(said: &[String]) -> String {
    let text = |line: &String| line.trim_start_matches("salloc: ").trim_start_matches("error: ").to_owned();
    let why: Vec<String> = said.iter().filter(|line| line.contains("error: ")).map(text).collect();
    match (&why[..], said.last()) {
        ([], None) => "salloc ended without a word".to_owned(),
        ([], Some(last)) => text(last),
        (why, _) => why.join("; "),
    }
}

impl Launcher for Slurm {
    fn places(&self, workload: &Workload) -> Vec<Place> {
        let alone = self.nodes.len() == 1;
        let place = |(number, node): (usize, &String)| {
            // Nodes of a cluster share most of their file systems, and files of one name would be one file.
            let paths = if alone { Default::default() } else { own_paths(&workload.targets, number) };
            Place { host: Host { paths, ..Host::new(node) }, directory: self.directory.clone() }
        };
        (1..).zip(&self.nodes).map(place).collect()
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        let mut command = Command::new("srun");
        // Unbuffered, or nothing arrives before the end of the input.
        command.args(["-Q", "-u", "-N1", "-n1", "--overlap", "--cpu-bind=none"]);
        command.arg(format!("--jobid={}", self.job)).arg(format!("--nodelist={}", place.host.system()));
        command.args(["/bin/sh", "-c", &self.program.worker_script()]);
        Connection::of_process(command, Some(std::sync::Arc::clone(self.program.content())), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_salloc_says_is_told_without_its_name() {
        let said =
            |lines: &[&str]| last_words(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
        assert_eq!(said(&[]), "salloc ended without a word");
        assert_eq!(
            said(&["salloc: job 7 queued and waiting for resources"]),
            "job 7 queued and waiting for resources"
        );
        let lines = [
            "salloc: error: Job submit/allocate failed: Requested node configuration is not available",
            "salloc: Job allocation 7 has been revoked.",
        ];
        assert_eq!(said(&lines), "Job submit/allocate failed: Requested node configuration is not available");
    }
}
