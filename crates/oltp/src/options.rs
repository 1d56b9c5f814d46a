//! The options of the commands: what they are called, what they mean, what they were given.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::Asked;
use crate::postgres::ServerUrl;

/// What is done with a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Loads one.
    Build,
    /// Measures on it.
    Run,
    /// Checks it.
    Check,
}

impl Verb {
    /// All of them.
    pub const ALL: [Verb; 3] = [Verb::Build, Verb::Run, Verb::Check];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Build => "build",
            Verb::Run => "run",
            Verb::Check => "check",
        }
    }

    /// What it does, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Verb::Build => "Load a database: in SQLite, or on a PostgreSQL server",
            Verb::Run => "Run users on it, and measure; builds the SQLite database if there is none",
            Verb::Check => {
                "Check the standard's consistency conditions, and that no acknowledged commit is missing"
            }
        }
    }
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct OptionWords {
    /// Its name; that of a place has no dashes.
    pub name: &'static str,
    /// What its value is called; `None`: it is a switch.
    pub value: Option<&'static str>,
    /// What it means.
    pub help: &'static str,
    /// The commands that have it.
    pub of: &'static [Verb],
}

/// The name of the only word without dashes.
pub const WHERE: &str = "where";

const BUILDS: &[Verb] = &[Verb::Build, Verb::Run];
const RUN: &[Verb] = &[Verb::Run];

const fn option(
    name: &'static str,
    value: Option<&'static str>,
    of: &'static [Verb],
    help: &'static str,
) -> OptionWords {
    OptionWords { name, value, help, of }
}

/// All of them.
pub const OPTIONS: [OptionWords; 21] = [
    option(
        WHERE,
        Some("WHERE"),
        &Verb::ALL,
        "A directory for SQLite, made if it does not exist [default: .], or postgres://USER@HOST:PORT/DATABASE (password: PGPASSWORD)",
    ),
    option("warehouses", Some("N"), BUILDS, "Warehouses to build, about 0.1 GB each [default: 10]"),
    option(
        "size",
        Some("auto"),
        BUILDS,
        "With 'auto': 5 warehouses per CPU, rounded up to 100, as far as there is space",
    ),
    option("rebuild", None, BUILDS, "Replace the database that Assay built there"),
    option(
        "loaders",
        Some("N"),
        BUILDS,
        "PostgreSQL: connections that load at once [default: number of CPUs]",
    ),
    option("seed", Some("N"), BUILDS, "Seed: the same seed gives the same rows and transactions"),
    option(
        "users",
        Some("N"),
        RUN,
        "Connections that work at once, at most one per warehouse [default: 1 per 10 warehouses]",
    ),
    option(
        "mix",
        Some("MIX"),
        RUN,
        "Shares of the transactions: hammerdb (10:10:1:1:1) or spec (45:43:4:4:4) [default: hammerdb]",
    ),
    option(
        "home",
        Some("WHICH"),
        RUN,
        "Warehouses of a user: all (dealt out among the users) or fixed (one) [default: all]",
    ),
    option("ramp", Some("TIME"), RUN, "Not measured, at the start [default: 20s]"),
    option("time", Some("TIME"), RUN, "Measured time [default: 60s]"),
    option(
        "rate",
        Some("N"),
        RUN,
        "Transactions per second, all users together; response times count from the intended start",
    ),
    option("poisson", None, RUN, "With --rate: arrivals at random (a Poisson process) instead of equal gaps"),
    option("think", None, RUN, "Keying and think times of the standard"),
    option(
        "synchronous",
        Some("WHEN"),
        RUN,
        "SQLite: commits are durable at once (full), at checkpoints (normal) or whenever (off) [default: full]",
    ),
    option(
        "server-side",
        None,
        RUN,
        "PostgreSQL: transactions are functions of the server, one round trip each",
    ),
    option("tolerate", Some("N"), RUN, "Go on after N failed transactions [default: 0]"),
    option(
        "ledger",
        Some("FILE"),
        &[Verb::Run, Verb::Check],
        "Where acknowledged commits are written down: on other storage for power-cut tests [default: beside the database]",
    ),
    option(
        "crash",
        Some("N"),
        &[Verb::Check],
        "Kill a run of it (SIGKILL) N times, and check behind each that no acknowledged commit is missing",
    ),
    option(
        "own-server",
        None,
        &[Verb::Check],
        "With --crash: on a PostgreSQL server that Assay starts in a new directory below WHERE, and kills",
    ),
    option("name", Some("NAME"), RUN, "The name of the run [default: oltp-sqlite or oltp-postgresql]"),
];

/// What was given of them, as text; a switch has an empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<&'static str, String>);

impl FromIterator<(&'static str, String)> for Given {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(given: I) -> Self {
        Given(given.into_iter().collect())
    }
}

impl Given {
    /// The file that acknowledged commits are to be written down in, where one was named.
    pub fn ledger(&self) -> Option<&str> {
        self.text("ledger")
    }

    /// Where the URL of a server holds a password: the URL as it was given, without it, and the password.
    pub fn password_in_url(&self) -> Option<(&str, String, String)> {
        let given = self.text(WHERE)?;
        ServerUrl::split_password(given).map(|(url, password)| (given, url, password))
    }

    /// The same with another value of an option.
    pub(crate) fn but(&self, option: &'static str, value: &str) -> Given {
        let mut given = self.clone();
        given.0.insert(option, value.to_owned());
        given
    }

    pub(crate) fn text(&self, option: &'static str) -> Option<&str> {
        debug_assert!(OPTIONS.iter().any(|known| known.name == option), "{option}");
        self.0.get(option).map(String::as_str)
    }

    pub(crate) fn has(&self, switch: &'static str) -> bool {
        self.text(switch).is_some()
    }

    /// Its value, read; `holds` says which are possible, `possible` in words.
    pub(crate) fn value<T: FromStr>(
        &self,
        option: &'static str,
        holds: impl Fn(&T) -> bool,
        possible: &str,
    ) -> Result<Option<T>, Asked> {
        let Some(text) = self.text(option) else { return Ok(None) };
        match text.parse().ok().filter(holds) {
            Some(value) => Ok(Some(value)),
            None => Err(Asked::Value { option, value: text.to_owned(), possible: possible.to_owned() }),
        }
    }

    /// Its value among names; the default where it was not given.
    pub(crate) fn one_of<T: Copy + Default>(
        &self,
        option: &'static str,
        names: &[(&'static str, T)],
    ) -> Result<T, Asked> {
        let Some(text) = self.text(option) else { return Ok(T::default()) };
        let found = names.iter().find(|entry| entry.0 == text).map(|entry| entry.1);
        found.ok_or_else(|| Asked::Value {
            option,
            value: text.to_owned(),
            possible: format!("one of {}", names.iter().map(|entry| entry.0).collect::<Vec<_>>().join(", ")),
        })
    }

    /// Refuses an option that says nothing here.
    pub(crate) fn without(&self, option: &'static str, why: &str) -> Result<(), Asked> {
        if self.has(option) { Err(Asked::Option { option, why: why.to_owned() }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_wrong_ones_named() {
        let given = Given::from_iter([
            ("users", "0".to_owned()),
            ("mix", "tpc".to_owned()),
            ("think", String::new()),
        ]);
        assert!(given.has("think") && !given.has("rebuild"));
        let error = given.value::<u32>("users", |n| *n > 0, "a number of users from 1 on").unwrap_err();
        assert_eq!(error.to_string(), "--users: '0' is not a number of users from 1 on");
        let error = given.one_of("mix", &crate::inputs::Mix::NAMES).unwrap_err();
        assert_eq!(error.to_string(), "--mix: 'tpc' is not one of hammerdb, spec");
        assert_eq!(given.value::<u32>("warehouses", |_| true, "").unwrap(), None);
    }

    #[test]
    fn every_option_is_of_a_command() {
        let mut names: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), OPTIONS.len());
        assert!(OPTIONS.iter().all(|option| !option.of.is_empty() && !option.help.is_empty()));
    }
}
