//! OLTP as a plan asks for it: settings as texts, in a job that builds a database, works on it or checks it.
//!
//! What such a job is of is known when its phase begins: the phase before may have built the database.

use std::path::{Path, PathBuf};

use assay_engine::PhaseContext;
use assay_workload::application::{ApplicationKind, Body, SettingFault};
use assay_workload::plan::PlannedJob;
use serde_json::{Map, Value};

use crate::database::{Database, Here, How, built, settled};
use crate::error::{Asked, Error, Unfit};
use crate::options::{Given, OPTIONS, WHERE};
use crate::postgres::ServerUrl;
use crate::scale::Scale;
use crate::settings::{KIND, Settings};

/// The setting that says what a job does.
const TASK: &str = "task";
/// Those that a job of a plan says by keys of its own.
const KEYS_OF_JOBS: [&str; 10] =
    ["users", "ramp", "time", "rate", "poisson", "tolerate", "seed", "name", "crash", "own-server"];

/// What a job of a plan does with a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Task {
    /// Loads it, unless it is there.
    Build,
    /// Works on it.
    #[default]
    Run,
    /// Checks it.
    Check,
}

const TASKS: [(&str, Task); 3] = [("build", Task::Build), ("run", Task::Run), ("check", Task::Check)];

/// What a plan says about OLTP.
#[derive(Debug, Clone, Copy, Default)]
pub struct OltpInPlans;

impl ApplicationKind for OltpInPlans {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn names(&self) -> Vec<&'static str> {
        let options = OPTIONS.iter().map(|option| option.name);
        std::iter::once(TASK).chain(options.filter(|name| !KEYS_OF_JOBS.contains(name))).collect()
    }

    fn is_elsewhere(&self, settings: &Map<String, Value>) -> bool {
        settings.contains_key(WHERE)
    }

    fn words(&self, settings: &Map<String, Value>) -> Result<String, SettingFault> {
        AskedJob::read(settings).map(|asked| asked.words)
    }
}

/// A job as a plan asks for it.
#[derive(Debug, Clone)]
pub(crate) struct AskedJob {
    pub(crate) task: Task,
    given: Given,
    words: String,
}

fn fault(asked: &Asked) -> SettingFault {
    let (name, what, help) = match asked {
        Asked::Value { option, value, possible } => {
            (*option, format!("'{value}' is not possible"), possible.clone())
        }
        Asked::Option { option, why } => (*option, why.clone(), String::new()),
        other => (WHERE, other.to_string(), String::new()),
    };
    SettingFault { name: name.to_owned(), what, help }
}

impl AskedJob {
    /// Of a job whose settings are those of a plan; `None`: they are settled already, or it is of another kind.
    pub(crate) fn of(job: &PlannedJob) -> Option<Result<Self, Error>> {
        let Body::Application(of) = job.body() else { return None };
        let asked = of.kind == KIND && !of.settings.contains_key("place");
        let wrong = |fault: SettingFault| {
            let possible = if fault.help.is_empty() { "a possible value".to_owned() } else { fault.help };
            Asked::Value { option: "application", value: format!("{}: {}", fault.name, fault.what), possible }
                .into()
        };
        asked.then(|| AskedJob::read(&of.settings).map_err(wrong))
    }

    fn read(settings: &Map<String, Value>) -> Result<Self, SettingFault> {
        let mut task = Task::default();
        let mut options: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in settings {
            let wrong = |help: &str| SettingFault {
                name: name.clone(),
                what: format!("{value} is not possible"),
                help: help.to_owned(),
            };
            let text = value.as_str().ok_or_else(|| wrong("a text"))?;
            if name == WHERE && ServerUrl::split_password(text).is_some() {
                return Err(SettingFault {
                    name: name.clone(),
                    what: "the URL holds a password, and plans are stored with results".to_owned(),
                    help: "write the URL without it, and set PGPASSWORD".to_owned(),
                });
            }
            if name == TASK {
                let found = TASKS.iter().find(|(word, _)| *word == text);
                task = found.ok_or_else(|| wrong("build, run or check"))?.1;
                continue;
            }
            let known =
                OPTIONS.iter().find(|option| option.name == name && !KEYS_OF_JOBS.contains(&option.name));
            let option = known.ok_or_else(|| wrong("no setting of that name"))?;
            match (option.value, text) {
                (Some(_), _) => options.push((option.name, text.to_owned())),
                (None, "yes") => options.push((option.name, String::new())),
                (None, "no") => {}
                (None, _) => return Err(wrong("true or false")),
            }
        }
        let given = Given::from_iter(options);
        let asked = |error: Error| match error {
            Error::Asked(asked) => fault(&asked),
            other => SettingFault { name: WHERE.to_owned(), what: other.to_string(), help: String::new() },
        };
        let database = Database::in_plan(&given, Path::new("."), None).map_err(asked)?;
        let how = How::of(&given, &database).map_err(asked)?;
        database.check_sizes(&given).map_err(asked)?;
        let words = match task {
            Task::Build => format!("OLTP database is built on {}", database.product()),
            Task::Check => format!("OLTP database on {} is checked", database.product()),
            Task::Run => format!("TPC-C-derived, not a TPC result: {}", how.words(&database)),
        };
        Ok(AskedJob { task, given, words })
    }

    /// Its database: on the server that it names, else in the directory that is its target.
    pub(crate) fn database(
        &self,
        context: PhaseContext<'_>,
        job: usize,
        here: &Here,
    ) -> Result<Database, Error> {
        let planned = context.job(job);
        let site = planned.slices.first().and_then(|slice| slice.sites.first());
        let directory = site.map(|site| PathBuf::from(&context.plan.targets[site.target as usize].path));
        if directory.is_none() && !self.given.has(WHERE) {
            let why = "is needed by a job without a target: the URL of a server".to_owned();
            return Err(Asked::Option { option: WHERE, why }.into());
        }
        Database::in_plan(&self.given, &directory.unwrap_or_default(), here.password.clone())
    }

    /// What its users do, now that the database can be asked.
    pub(crate) fn settle(
        &self,
        planned: &PlannedJob,
        database: &Database,
        here: &Here,
    ) -> Result<Settings, Error> {
        let how = How::of(&self.given, database)?;
        let rate = planned.slices.first().and_then(|slice| planned.slice_iops(slice));
        if rate.is_some() && self.given.has("think") {
            let why = "and a rate exclude each other: think times set the rate".to_owned();
            return Err(Asked::Option { option: "think", why }.into());
        }
        let facts = database.facts()?;
        settled(database, &how, facts, &self.given, here)
    }

    /// Builds the database, unless one of this size is there; what was done.
    pub(crate) fn build(
        &self,
        database: &Database,
        (scale, here): (Scale, &Here),
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<String, Error> {
        let wanted = database.warehouses(&self.given, here)?;
        match database.facts() {
            Ok(facts) if !self.given.has("rebuild") => {
                if facts.warehouses != wanted {
                    let (place, found) = (database.shown(), facts.warehouses);
                    return Err(Unfit::Size { place, found, asked: wanted }.into());
                }
                return Ok(format!("the database in {} is used as it is", database.shown()));
            }
            Err(
                error @ Error::Database(
                    Unfit::HalfBuilt { .. }
                    | Unfit::Version { .. }
                    | Unfit::Foreign { .. }
                    | Unfit::ForeignSchema { .. },
                ),
            ) if !self.given.has("rebuild") => {
                return Err(error);
            }
            _ => {}
        }
        built(database, &self.given, (scale, here), stopped)
    }

    /// Checks the database; what was found in lines. What does not hold is an error.
    pub(crate) fn check(
        &self,
        database: &Database,
        here: &Here,
        stopped: &dyn Fn() -> bool,
    ) -> Result<String, Error> {
        let report = database.check(&self.given, here, &mut |_| {}, stopped)?;
        match report.failed() {
            0 => Ok(report.text()),
            failed => Err(Unfit::Damaged { place: database.shown(), failed, report: report.text() }.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(settings: &[(&str, &str)]) -> Result<String, SettingFault> {
        let map = settings.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        OltpInPlans.words(&map)
    }

    #[test]
    fn a_plan_says_what_a_job_does() {
        let run = words(&[("mix", "spec"), ("synchronous", "off")]).unwrap();
        assert_eq!(
            run,
            "TPC-C-derived, not a TPC result: SQLite (embedded, single writer), synchronous=off, mix spec"
        );
        let build = words(&[("task", "build"), ("warehouses", "2")]).unwrap();
        assert_eq!(build, "OLTP database is built on SQLite");
        let server = words(&[("where", "postgres://me@db/x"), ("server-side", "yes")]).unwrap();
        assert!(server.contains("PostgreSQL, server-side functions"), "{server}");
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (settings, name, what) in [
            (&[("task", "load")][..], "task", "\"load\" is not possible"),
            (&[("mix", "tpc")], "mix", "'tpc' is not possible"),
            (&[("users", "3")], "users", "\"3\" is not possible"),
            (&[("think", "maybe")], "think", "\"maybe\" is not possible"),
            (&[("server-side", "yes")], "server-side", "is for PostgreSQL"),
            (&[("warehouses", "0")], "warehouses", "'0' is not possible"),
            (&[("where", "postgres://u:secret@h/d")], "where", "the URL holds a password"),
            (&[("where", "mysql://x")], "where", "is not the URL of a PostgreSQL database"),
        ] {
            let fault = words(settings).unwrap_err();
            assert_eq!(fault.name, name, "{fault:?}");
            assert!(fault.what.contains(what) && !format!("{fault:?}").contains("secret"), "{fault:?}");
        }
        assert!(!OltpInPlans.names().contains(&"users"));
    }
}
