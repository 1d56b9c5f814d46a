//! What a run is asked to do: what a planned job holds as the settings of its application.

use std::path::PathBuf;

use assay_workload::application::Application;
use assay_workload::application::Body;
use assay_workload::plan::PlannedJob;
use serde::{Deserialize, Serialize};

use crate::inputs::{HomeWarehouse, Mix};
use crate::scale::Scale;

/// The name of the kind of job.
pub const KIND: &str = "oltp";

/// When SQLite's commits are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Each commit, before it is acknowledged.
    #[default]
    Full,
    /// At checkpoints.
    Normal,
    /// Whenever the kernel writes back.
    Off,
}

impl Synchronous {
    /// The names of options, which are SQLite's.
    pub const NAMES: [(&'static str, Synchronous); 3] =
        [("full", Synchronous::Full), ("normal", Synchronous::Normal), ("off", Synchronous::Off)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Synchronous::NAMES.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }
}

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    /// In a directory that Assay made.
    Sqlite {
        /// The directory.
        directory: PathBuf,
        /// When commits are durable.
        synchronous: Synchronous,
    },
    /// On a server.
    Postgres {
        /// Its URL, without a password.
        url: String,
        /// Transactions are functions of the server.
        server_side: bool,
    },
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the database is.
    pub place: Place,
    /// Which build it was planned for.
    pub build: String,
    /// Its warehouses.
    pub warehouses: u32,
    /// Its size.
    pub scale: Scale,
    /// The constant of last names that it was loaded with.
    pub load_last: i64,
    /// How often each transaction is done.
    pub mix: Mix,
    /// Which warehouse a user works on.
    pub home: HomeWarehouse,
    /// Users type and think as the standard says.
    pub thinks: bool,
    /// Where acknowledged commits are written down.
    pub ledger: PathBuf,
    /// When it was planned, microseconds since 1970: the times of rows go on from there.
    pub started_us: i64,
}

impl Place {
    /// What it is, for people.
    pub(crate) fn words(&self) -> String {
        match self {
            Place::Sqlite { synchronous, .. } => {
                format!("SQLite (embedded, single writer), synchronous={}", synchronous.name())
            }
            Place::Postgres { server_side: true, .. } => "PostgreSQL, server-side functions".to_owned(),
            Place::Postgres { server_side: false, .. } => "PostgreSQL, client SQL".to_owned(),
        }
    }

    /// The name of the database program.
    pub fn engine(&self) -> &'static str {
        match self {
            Place::Sqlite { .. } => "sqlite",
            Place::Postgres { .. } => "postgresql",
        }
    }
}

impl Settings {
    /// As a job of a plan holds it.
    pub fn application(&self, users: u32) -> Application {
        let settings = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(settings)) => settings,
            _ => serde_json::Map::new(),
        };
        Application { kind: KIND.to_owned(), words: self.words(users), settings }
    }

    /// Those of a planned job; `None`: it is another application.
    ///
    /// # Errors
    /// What in its settings cannot be read.
    pub(crate) fn of(job: &PlannedJob) -> Option<Result<Self, serde_json::Error>> {
        match job.body() {
            Body::Application(of) if of.kind == KIND => {
                Some(serde_json::from_value(serde_json::Value::Object(of.settings.clone())))
            }
            _ => None,
        }
    }

    /// For people: what the figures are of.
    pub(crate) fn words(&self, users: u32) -> String {
        let how = self.place.words();
        let home = match self.home {
            HomeWarehouse::All => "",
            HomeWarehouse::Fixed => ", one home warehouse per user",
        };
        let scale = if self.scale == Scale::STANDARD { "" } else { " (reduced)" };
        let thinks = if self.thinks { ", keying and think time" } else { "" };
        let count = |number: u32, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
        format!(
            "TPC-C-derived, not a TPC result: {how}, {}{scale}, {}, mix {}{home}{thinks}",
            count(self.warehouses, "warehouse"),
            count(users, "user"),
            self.mix.name(),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Of an SQLite database.
    pub(crate) fn settings(directory: &std::path::Path) -> Settings {
        Settings {
            place: Place::Sqlite { directory: directory.to_owned(), synchronous: Synchronous::Full },
            build: "0123456789abcdef".to_owned(),
            warehouses: 2,
            scale: Scale::TINY,
            load_last: 100,
            mix: Mix::Hammerdb,
            home: HomeWarehouse::All,
            thinks: false,
            ledger: directory.join("ledger"),
            started_us: 1_000_000,
        }
    }

    #[test]
    fn settings_are_read_back_and_told() {
        let settings = settings("/data".as_ref());
        let application = settings.application(1);
        let back: Settings = serde_json::from_value(application.settings.into()).unwrap();
        assert_eq!(back, settings);
        assert_eq!(
            application.words,
            "TPC-C-derived, not a TPC result: SQLite (embedded, single writer), synchronous=full, 2 warehouses (reduced), \
             1 user, mix hammerdb"
        );
        assert!(!application.words.to_lowercase().contains("tpmc"));
    }
}
