//! The plan of a mail test: phases of jobs, one job a database.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use assay_workload::Workload;
use assay_workload::application::Application;
use assay_workload::job::{Caching, Job, Phase, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Nanos;

use crate::disk::FileId;
use crate::files::Files;
use crate::layout::{Header, VERSION};
use crate::page::{PAGE_BYTES, Page};
use crate::settings::{DATABASES_MAX, SettingError, Settings, Task, Test};

/// The kind of job.
pub const KIND: &str = "mail";
/// What is always said with results.
pub const NAME: &str = "Jetstress-like; not Microsoft Jetstress; not comparable with ESRP";
/// Before anything is measured where no ramp is given, at least.
const RAMP_MIN: Nanos = Nanos::from_secs(30);
/// Bytes of log of a transaction, about, with the usual mix: what the ramp is estimated by.
const LOG_BYTES_OF_TRANSACTION: u64 = 1100;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Databases are made.
    Build,
    /// A test.
    Run,
    /// All of the databases is verified.
    Check,
}

impl std::str::FromStr for Action {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "build" => Ok(Action::Build),
            "run" => Ok(Action::Run),
            "check" => Ok(Action::Check),
            _ => Err("available: build, run, check"),
        }
    }
}

/// The name of the phase that a report is about.
pub fn measured_phase(test: Test) -> &'static str {
    test.name()
}

fn job(settings: &Settings, database: u32, task: Task) -> Job {
    let mut settings = Settings { task, database, ..settings.clone() };
    let transactions = matches!(task, Task::Tune | Task::Transactions | Task::Accumulate);
    let threads = if transactions { settings.threads_planned() } else { 1 };
    if task == Task::Tune {
        settings.throughput = 100.0;
    }
    let pattern =
        AccessPattern::new(Mix::read_write(50.0), PAGE_BYTES as u64, Placement::random_independent());
    let words = format!("mail ({NAME}), database {database}: {}", describe(&settings));
    Job::new(&format!("database {database}"), &["mail"], pattern).with(|job| {
        job.threads = threads;
        job.caching = if settings.direct { Caching::Direct } else { Caching::Buffered };
        job.traits.application =
            Some(Application { kind: KIND.to_owned(), words, settings: settings.to_map() });
        if task == Task::Transactions {
            job.limits.time = Some(settings.measured());
            job.traits.ramp = if settings.ramp == 0 { ramp(&settings) } else { Nanos(settings.ramp) };
        }
    })
}

/// The time until pages are written as often as they become dirty: before the log is as long as the checkpoint depth, hardly any is. Writes
/// of pages would be missing from what is measured then, beside those of the log.
fn ramp(settings: &Settings) -> Nanos {
    let log_bytes_per_s = u64::from(settings.rate) * LOG_BYTES_OF_TRANSACTION;
    let full = settings.checkpoint_depth.checked_div(log_bytes_per_s).unwrap_or(0);
    RAMP_MIN.max(Nanos::from_secs(full + full / 4)).min(settings.measured())
}

/// What a job does, in words.
pub(crate) fn describe(settings: &Settings) -> String {
    let short = if settings.is_short() { ", short test" } else { "" };
    match settings.task {
        Task::Build => "built".to_owned(),
        Task::Tune => "threads are tuned".to_owned(),
        Task::Transactions | Task::Accumulate => format!(
            "{} test{short}, insert {} delete {} replace {} read {} %, {} % lazy commits",
            settings.test.name(),
            settings.insert,
            settings.delete,
            settings.replace,
            settings.read,
            settings.lazy
        ),
        Task::Backup => "read from end to end".to_owned(),
        Task::Recover => "its log is replayed".to_owned(),
        Task::Verify => "all of it is verified".to_owned(),
    }
}

fn phase(settings: &Settings, name: &str, kind: PhaseKind, task: Task) -> Phase {
    let jobs = (1..=settings.databases).map(|database| job(settings, database, task)).collect();
    Phase { kind, ..Phase::measure(name, jobs) }
}

/// The workload of an action on the databases in `directory`, with settings as `name=value` words.
///
/// # Errors
/// The first word that cannot be.
pub fn asked(action: Action, directory: &Path, words: &[String]) -> Result<Workload, SettingError> {
    let mut settings = Settings::from_words(words)?;
    if action != Action::Build {
        take_what_is_there(&mut settings, directory, words);
    }
    Ok(workload(action, &directory.to_string_lossy(), &settings))
}

/// Number and size of the databases are those of what was built, where they are not given.
fn take_what_is_there(settings: &mut Settings, directory: &Path, words: &[String]) {
    let is_given =
        |name: &str| words.iter().any(|word| word.split_once('=').is_some_and(|(of, _)| of == name));
    let path = |number: u32| directory.join(Files::name(number, FileId::Database));
    let Some(header) = File::open(path(1)).ok().and_then(|file| read_header(&file)) else { return };
    if !is_given("databases") {
        settings.databases =
            (1..DATABASES_MAX).take_while(|number| path(number + 1).exists()).count() as u32 + 1;
    }
    if !is_given("size") && !is_given("capacity") {
        let pages = u64::from(header.layout.capacity) * u64::from(settings.databases);
        settings.size = pages * PAGE_BYTES as u64;
    }
}

fn read_header(mut file: &File) -> Option<Header> {
    let mut page = Page::zeroed();
    file.read_exact(&mut page.0).ok()?;
    Header::read(&page).filter(|header| header.version == VERSION)
}

/// The workload of an action on the databases in `directory`.
pub fn workload(action: Action, directory: &str, settings: &Settings) -> Workload {
    let phase = |name, kind, task| phase(settings, name, kind, task);
    let verify = || phase("verify", PhaseKind::Verify, Task::Verify);
    let measured = |task| phase(measured_phase(settings.test), PhaseKind::Measure, task);
    let phases = match (action, settings.test) {
        (Action::Build, _) => vec![phase("build", PhaseKind::Precondition, Task::Build), verify()],
        (Action::Check, _) => vec![verify()],
        (Action::Run, Test::Performance | Test::Stress) => {
            let tune = (settings.threads == 0).then(|| phase("tune", PhaseKind::Ramp, Task::Tune));
            tune.into_iter().chain([measured(Task::Transactions), verify()]).collect()
        }
        (Action::Run, Test::Backup) => vec![measured(Task::Backup)],
        (Action::Run, Test::Recovery) => {
            let logs = phase("make logs", PhaseKind::Ramp, Task::Accumulate);
            vec![logs, measured(Task::Recover), verify()]
        }
    };
    let name = match action {
        Action::Build => "mail-build".to_owned(),
        Action::Run => format!("mail-{}", settings.test.name()),
        Action::Check => "mail-check".to_owned(),
    };
    let target = Target {
        name: "mail".to_owned(),
        path: directory.to_owned(),
        kind: Some(TargetKind::Directory),
        size: None,
    };
    Workload { name, targets: vec![target], phases, ..Workload::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_its_phases() {
        let phases = |action, settings: &Settings| -> Vec<(String, PhaseKind, usize, u32)> {
            let workload = workload(action, "m", settings);
            let of =
                |phase: &Phase| (phase.name.clone(), phase.kind, phase.jobs.len(), phase.jobs[0].threads);
            workload.phases.iter().map(of).collect()
        };
        let settings = Settings { threads: 0, databases: 2, ..Settings::default() };
        assert_eq!(
            phases(Action::Run, &settings),
            [
                ("tune".to_owned(), PhaseKind::Ramp, 2, 64),
                ("performance".to_owned(), PhaseKind::Measure, 2, 64),
                ("verify".to_owned(), PhaseKind::Verify, 2, 1),
            ]
        );
        let backup = Settings { test: Test::Backup, ..Settings::default() };
        assert_eq!(phases(Action::Run, &backup), [("backup".to_owned(), PhaseKind::Measure, 1, 1)]);
        assert_eq!(phases(Action::Build, &backup).len(), 2);
        let run = workload(Action::Run, "m", &Settings { time: 300_000_000_000, ..Settings::default() });
        let application = run.phases[0].jobs[0].application.as_ref().expect("an application");
        assert!(
            application.words.contains("not comparable with ESRP")
                && application.words.contains("short test")
        );
    }
}
