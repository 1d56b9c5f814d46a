//! Commands of foreign files, where the user allows them.
//!
//! fio and vdbench hand such commands to a shell, and so does this: `/bin/sh -c`, in the directory that Assay was started in, with an
//! environment of `PATH`, `HOME`, `LANG=C` and `ASSAY_JOB` (the job or run) and nothing else, stdin empty, what it prints on stderr, and at most
//! [`LIMIT`]. Then it and all that it started in its process group is killed.

use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_formats::foreign_command::{CommandTime, ForeignCommand};

use crate::error::RunError;

/// How long one may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The id of notes.
const NOTE: &str = "executed";

/// Runs those of `when`, one after the other; a note for each. The first that fails ends it.
///
/// # Errors
/// [`RunError::Executed`] naming the command.
pub(crate) fn run(
    commands: &[ForeignCommand],
    when: CommandTime,
    stop: &AtomicBool,
) -> Result<Vec<(String, String)>, RunError> {
    let mut notes = Vec::new();
    for command in commands.iter().filter(|command| command.when == when) {
        let started = Instant::now();
        let failed = |what| RunError::Executed { command: Box::new(command.clone()), what };
        one(command, LIMIT, stop).map_err(failed)?;
        let took_s = started.elapsed().as_secs_f64();
        notes.push((NOTE.to_owned(), format!("{command} was executed and took {took_s:.2} s")));
    }
    Ok(notes)
}

/// Runs one; what was wrong with it.
fn one(command: &ForeignCommand, limit: Duration, stop: &AtomicBool) -> Result<(), String> {
    let mut child = start(command).map_err(|error| format!("could not be started: {error}"))?;
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Err(error) => return Err(error.to_string()),
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) => {}
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || Instant::now() > until {
            kill(&mut child);
            let why =
                if stopped { "was interrupted".to_owned() } else { format!("took longer than {limit:?}") };
            return Err(format!("{why} and was killed"));
        }
        std::thread::sleep(LOOK);
    }
}

fn start(command: &ForeignCommand) -> std::io::Result<Child> {
    let out = std::io::stderr().as_fd().try_clone_to_owned()?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(&command.command).env_clear();
    shell.env("PATH", PATH).env("LANG", "C").env("ASSAY_JOB", &command.of);
    if let Some(home) = std::env::var_os("HOME") {
        shell.env("HOME", home);
    }
    shell.stdin(Stdio::null()).stdout(out).process_group(0).spawn()
}

/// Kills a command and what it has started.
fn kill(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    // It may have ended by now; then its group is waited for all the same.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use assay_formats::Position;

    use super::*;

    fn command(text: &str) -> ForeignCommand {
        ForeignCommand {
            when: CommandTime::Before,
            option: "exec_prerun",
            of: "a job".to_owned(),
            command: text.to_owned(),
            position: Position { file: String::new(), line: 1, column: 1 },
        }
    }

    #[test]
    fn it_has_this_environment_and_no_other() {
        let text = "test \"$(env | cut -d= -f1 | grep -vE '^(PWD|_|SHLVL|OLDPWD)$' | sort | tr '\\n' ' ')\" = \
                    'ASSAY_JOB HOME LANG PATH ' && test \"$ASSAY_JOB\" = 'a job' && ! read line";
        assert_eq!(one(&command(text), LIMIT, &AtomicBool::new(false)), Ok(()));
    }

    #[test]
    fn one_that_fails_or_does_not_end_is_an_error() {
        let go_on = AtomicBool::new(false);
        let said = run(&[command("exit 3")], CommandTime::Before, &go_on).expect_err("it fails").to_string();
        assert!(said.contains("exec_prerun of a job (`exit 3`)") && said.contains("3"), "{said}");
        assert!(run(&[command("exit 3")], CommandTime::After, &go_on).is_ok_and(|notes| notes.is_empty()));
        let started = Instant::now();
        let said = one(&command("sleep 600 & sleep 600"), Duration::from_millis(50), &go_on);
        assert!(said.is_err_and(|said| said.contains("took longer than 50ms")));
        let said = one(&command("sleep 600"), LIMIT, &AtomicBool::new(true));
        assert!(said.is_err_and(|said| said.contains("interrupted")));
        assert!(started.elapsed() < Duration::from_secs(300), "what it started is not waited for");
    }
}
