//! Mail as a plan asks for it: settings as texts, in a job that builds a database, works on it or verifies it.

use assay_workload::application::{Application, ApplicationKind, Body, SettingFault};
use assay_workload::job::Caching;
use assay_workload::plan::{End, PlannedJob};
use serde_json::{Map, Value};

use crate::plan::{KIND, NAME, describe};
use crate::settings::{SettingError, Settings, Task, names};

/// The setting that says what a job does.
const TASK: &str = "task";
const TASKS: [(&str, Task); 3] =
    [("build", Task::Build), ("run", Task::Transactions), ("check", Task::Verify)];
/// Those that a job of a plan says by keys of its own, and those of whole tests.
const NOT_IN_PLANS: [&str; 9] =
    ["test", "time", "ramp", "rate", "threads", "databases", "throughput", "logs", "direct"];

/// What a plan says about mail.
#[derive(Debug, Clone, Copy, Default)]
pub struct MailInPlans;

impl ApplicationKind for MailInPlans {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn names(&self) -> Vec<&'static str> {
        let settings = names().into_iter().filter(|name| !NOT_IN_PLANS.contains(name));
        std::iter::once(TASK).chain(settings).collect()
    }

    fn caching(&self) -> Caching {
        Caching::Direct
    }

    fn words(&self, settings: &Map<String, Value>) -> Result<String, SettingFault> {
        let settings = read(settings)?;
        Ok(match settings.task {
            Task::Transactions => format!("mail ({NAME}), {}", describe(&settings)),
            _ => format!("mail ({NAME}) database, {}", describe(&settings)),
        })
    }
}

/// Whether settings are those of a plan: those that are settled name everything.
fn is_asked(settings: &Map<String, Value>) -> bool {
    !settings.contains_key("threads_max")
}

fn read(map: &Map<String, Value>) -> Result<Settings, SettingFault> {
    let mut task = Task::default();
    let mut words = Vec::new();
    for (name, value) in map {
        let fault =
            |what: String, help: &str| SettingFault { name: name.clone(), what, help: help.to_owned() };
        let text = value.as_str().ok_or_else(|| fault(format!("{value} is not possible"), "a text"))?;
        if name == TASK {
            let found = TASKS.iter().find(|(word, _)| *word == text);
            task = found.ok_or_else(|| fault(format!("'{text}' is not possible"), "build, run or check"))?.1;
        } else if NOT_IN_PLANS.contains(&name.as_str()) {
            let help = "a job says it by its keys: threads, runtime, ramp, rate, caching";
            return Err(fault("is not a setting of a job".to_owned(), help));
        } else {
            words.push(format!("{name}={text}"));
        }
    }
    let settings = Settings::from_words(&words).map_err(|error| match error {
        SettingError::Value { name, value, expected } => {
            SettingFault { name, what: format!("'{value}' is not possible"), help: expected.to_owned() }
        }
        other => SettingFault { name: String::new(), what: other.to_string(), help: String::new() },
    })?;
    // A database that is there already is what the job wants.
    Ok(Settings { task, keeps: true, ..settings })
}

/// The settings of a planned job: settled ones, or those of a plan with what the job itself says. `None`: another kind.
pub(crate) fn settings_of(job: &PlannedJob) -> Option<Result<Settings, String>> {
    let Body::Application(Application { kind, settings, .. }) = job.body() else { return None };
    if kind != KIND {
        return None;
    }
    if !is_asked(settings) {
        return Some(Settings::from_map(settings));
    }
    let read = read(settings).map_err(|fault| format!("{} {} ({})", fault.name, fault.what, fault.help));
    Some(read.map(|settings| with_job(settings, job)))
}

fn with_job(settings: Settings, job: &PlannedJob) -> Settings {
    let End { time, .. } = job.end;
    let rate = job.slices_iops().filter(|_| job.slices.iter().any(|slice| slice.rate.is_some()));
    Settings {
        threads: job.slices.len() as u32,
        rate: rate.map_or(0, |rate| rate.round().max(1.0) as u32),
        time: time.map_or(0, |time| time.0),
        ramp: job.ramp.0,
        direct: job.direct,
        ..settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(settings: &[(&str, &str)]) -> Result<String, SettingFault> {
        let map = settings.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        MailInPlans.words(&map)
    }

    #[test]
    fn a_plan_says_what_a_job_does() {
        let run = words(&[("size", "64MiB"), ("lazy", "50")]).unwrap();
        assert!(run.contains("not comparable with ESRP") && run.contains("50 % lazy commits"), "{run}");
        assert!(words(&[("task", "build"), ("size", "64MiB")]).unwrap().ends_with("database, built"));
        for (settings, name, what) in [
            (("task", "backup"), "task", "'backup' is not possible"),
            (("size", "1MiB"), "size", "'1MiB' is not possible"),
            (("threads", "3"), "threads", "is not a setting of a job"),
            (("read", "50"), "", "do not add up to 100 %"),
        ] {
            let fault = words(&[settings]).unwrap_err();
            assert!(fault.name == name && fault.what.contains(what), "{fault:?}");
        }
        let map = Settings::default().to_map();
        assert!(!is_asked(&map), "settled settings name everything");
    }
}
