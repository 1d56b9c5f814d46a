//! Runs a program whose output is passed through line by line, and ends what does not end.
//!
//! A test that hangs, or a process that a test left behind and that keeps the output open, must not keep CI from
//! its verdict: it is named, killed, and counts as a failure.

use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

/// How often the program is looked at while it says nothing.
const LOOK: Duration = Duration::from_millis(200);

/// How long something may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Without a line of output, until what it runs is killed; as long again, until it is killed itself.
    pub(super) silence: Duration,
    /// For the whole program.
    pub(super) whole: Duration,
    /// For the rest of the output once the program has ended.
    pub(super) rest: Duration,
}

/// How the program ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None`: it could not be ended.
    pub(super) status: Option<ExitStatus>,
    /// What had to be killed and why, a line each.
    pub(super) killed: Vec<String>,
}

/// Starts `command` and hands each line of its standard output to `take`. All its descendants inherit `mark`, a variable of the
/// environment and a value that nothing else on this machine has, by which they are found.
///
/// # Errors
///
/// It could not be started.
pub(super) fn run(
    mut command: Command,
    mark: (&str, &str),
    limits: Limits,
    mut take: impl FnMut(&str),
) -> io::Result<Ended> {
    let mut child = command.env(mark.0, mark.1).stdout(Stdio::piped()).spawn()?;
    let lines = lines_of(&mut child);
    let mark = format!("{}={}", mark.0, mark.1).into_bytes();
    let begun = Instant::now();
    let mut spoke = begun;
    let mut warned = false;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    let mut killed = Vec::new();
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                take(&line);
                (spoke, warned) = (Instant::now(), false);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        match &ended {
            None => ended = child.try_wait()?.map(|status| (status, Instant::now())),
            Some((_, at)) if at.elapsed() > limits.rest => {
                kill(&mark, &[], "left behind by a test", &mut killed);
                break;
            }
            Some(_) => {}
        }
        let whole = begun.elapsed() > limits.whole;
        if ended.is_none() && (whole || spoke.elapsed() > limits.silence) {
            let why = format!("no output for {} s", spoke.elapsed().as_secs());
            let spared = [child.id()];
            kill(&mark, if whole || warned { &[] } else { &spared }, &why, &mut killed);
            if whole || warned {
                break;
            }
            (spoke, warned) = (Instant::now(), true);
        }
    }
    let status = status_within(&mut child, limits.rest)?;
    Ok(Ended { status, killed })
}

/// The lines of its standard output, of bytes, since a test may print anything.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).split(b'\n');
            for line in lines.map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

fn status_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() > limit {
            return Ok(status);
        }
        std::thread::sleep(LOOK.min(limit / 4));
    }
}

/// Kills every process that bears the mark but `spared`, and tells of each what it was doing.
fn kill(mark: &[u8], spared: &[u32], why: &str, killed: &mut Vec<String>) {
    for process in marked(mark) {
        if spared.contains(&process) || process == std::process::id() {
            continue;
        }
        let told = format!("{why}: {}", describe(process));
        println!("ci: killed, {told}");
        killed.push(told);
        // A process that has ended meanwhile is no failure.
        let _ = Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
    }
}

/// Processes whose environment has the mark.
fn marked(mark: &[u8]) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let bears = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    numbers.filter(bears).collect()
}

/// `PID COMMAND LINE, state S, waits in WCHAN`.
fn describe(process: u32) -> String {
    let read = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
    let words: Vec<_> = read("cmdline").split(|byte| *byte == 0).map(|word| word.to_owned()).collect();
    let words: Vec<_> =
        words.iter().map(|word| std::ffi::OsStr::from_bytes(word).to_string_lossy()).collect();
    let stat = String::from_utf8_lossy(&read("stat")).into_owned();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?');
    let place = String::from_utf8_lossy(&read("wchan")).into_owned();
    format!("process {process} '{}' (state {state}, in {place})", words.join(" ").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        silence: Duration::from_secs(2),
        whole: Duration::from_secs(20),
        rest: Duration::from_secs(1),
    };

    /// What a shell script says, and how it ended.
    fn run_script(script: &str, limits: Limits) -> (Vec<String>, Ended) {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        let mut lines = Vec::new();
        let mark = format!("{}-{number}", std::process::id());
        let ended = run(command, ("XTASK_WATCH_TEST", &mark), limits, |line| lines.push(line.to_owned()));
        (lines, ended.expect("sh starts"))
    }

    #[test]
    fn what_ends_by_itself_is_left_alone() {
        let (lines, ended) = run_script("echo a; printf 'b\\377'; exit 3", LIMITS);
        assert_eq!(lines, ["a", "b\u{fffd}"]);
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert!(ended.killed.is_empty(), "{:?}", ended.killed);
    }

    #[test]
    fn what_hangs_is_killed_and_the_rest_goes_on() {
        let (lines, ended) = run_script("sleep 1000; echo after", LIMITS);
        assert_eq!(lines, ["after"]);
        assert!(ended.status.is_some_and(|status| status.success()));
        assert_eq!(ended.killed.len(), 1, "{:?}", ended.killed);
        assert!(ended.killed[0].contains("'sleep 1000'"), "{:?}", ended.killed);
    }

    #[test]
    fn what_keeps_the_output_open_does_not_keep_the_verdict() {
        let begun = Instant::now();
        let (lines, ended) = run_script("setsid sleep 1001 & echo done", LIMITS);
        assert_eq!(lines, ["done"]);
        assert!(ended.status.is_some_and(|status| status.success()));
        assert!(ended.killed.iter().any(|told| told.contains("'sleep 1001'")), "{:?}", ended.killed);
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    }

    #[test]
    fn what_goes_on_for_ever_is_killed() {
        let limits = Limits { whole: Duration::from_secs(3), ..LIMITS };
        let (_, ended) = run_script("while :; do echo x; sleep 0.3; done", limits);
        assert!(ended.status.is_some_and(|status| !status.success()), "{ended:?}");
        assert!(!ended.killed.is_empty());
    }
}
