//! What tests start ends in time, and a failure names what was waited for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bounded::Bounded as _;

#[path = "../support/bounded.rs"]
mod bounded;

const SHORT: Duration = Duration::from_millis(300);

/// A shell that starts a process that goes on, and writes down which, then does `rest`.
fn shell(directory: &Path, rest: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("sleep 600 & echo $! > number.new; mv number.new number; {rest}");
    command.args(["-c", &script]).current_dir(directory).stdout(Stdio::piped());
    command
}

/// Waits until the process that a shell started has ended, if it ends.
fn has_ended(directory: &Path) -> bool {
    let number = std::fs::read_to_string(directory.join("number")).expect("a number");
    let stat = format!("/proc/{}/stat", number.trim());
    soon(|| std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z ")))
}

fn soon(what: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !what() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    what()
}

/// The message of what fails.
fn why<T>(fails: impl FnOnce() -> T) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(fails)) else { panic!("it did not fail") };
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[test]
fn a_program_that_ends_in_time_is_as_with_command() {
    let said =
        Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]).output_in_time().expect("sh");
    assert_eq!((said.status.code(), &*said.stdout, &*said.stderr), (Some(3), &b"out\n"[..], &b"err\n"[..]));
    assert!(Command::new("true").status_in_time().expect("true").success());
    assert!(Command::new("no-such-program").status_in_time().is_err());
}

#[test]
fn one_that_does_not_end_is_named_and_killed_with_what_it_started() {
    let directory = tempfile::tempdir().expect("a directory");
    let child = shell(directory.path(), "sleep 601").start().expect("sh");
    assert!(soon(|| directory.path().join("number").exists()));
    let why = why(|| child.output_within(SHORT));
    assert!(why.starts_with("waited 0.3 s for the end of ") && why.contains("sleep 601"), "{why}");
    assert!(has_ended(directory.path()));
}

#[test]
fn output_that_something_keeps_open_is_not_waited_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let child = shell(directory.path(), "exit 0").start().expect("sh");
    let why = why(|| child.output_within(SHORT));
    assert!(why.contains("exit status: 0, but its output is still open elsewhere"), "{why}");
    assert!(has_ended(directory.path()));
}

#[test]
fn a_test_that_fails_takes_along_what_it_started() {
    for rest in ["exit 0", "sleep 601"] {
        let directory = tempfile::tempdir().expect("a directory");
        why(|| {
            let mut child = shell(directory.path(), rest).start().expect("sh");
            assert!(soon(|| directory.path().join("number").exists()));
            if rest == "exit 0" {
                child.wait().expect("ended");
            }
            panic!("{}", "planted".to_owned());
        });
        assert!(has_ended(directory.path()), "{rest}");
    }
}
