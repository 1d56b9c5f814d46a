//! What can be set: `name=value` words, and the same as the settings of a job in a plan.

use std::fmt::Write as _;
use std::str::FromStr;

use assay_workload::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::page::PAGE_BYTES;
use crate::store::Tuning;

/// What is done to the databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// They are made.
    Build,
    /// The number of threads is found.
    Tune,
    /// Transactions.
    #[default]
    Transactions,
    /// Transactions whose log stays, and an end without closing.
    Accumulate,
    /// They are read from end to end.
    Backup,
    /// The log is replayed.
    Recover,
    /// All of them is verified.
    Verify,
}

/// A kind of test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Transactions for two hours.
    #[default]
    Performance,
    /// Transactions for a day.
    Stress,
    /// The rate at which databases can be read sequentially.
    Backup,
    /// The rate at which logs can be replayed.
    Recovery,
}

impl Test {
    /// All.
    pub const ALL: [Test; 4] = [Test::Performance, Test::Stress, Test::Backup, Test::Recovery];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Test::Performance => "performance",
            Test::Stress => "stress",
            Test::Backup => "backup",
            Test::Recovery => "recovery",
        }
    }

    /// How long it measures in full; `None`: until it is done.
    pub fn full_length(self) -> Option<Nanos> {
        match self {
            Test::Performance => Some(Nanos::from_secs(2 * 3600)),
            Test::Stress => Some(Nanos::from_secs(24 * 3600)),
            Test::Backup | Test::Recovery => None,
        }
    }
}

/// The settings of a mail test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// What a job of a plan does.
    pub task: Task,
    /// The kind of test.
    pub test: Test,
    /// Number of the database of this job, from 1.
    pub database: u32,
    /// Databases.
    pub databases: u32,
    /// Copies of each database: each further one reads the log.
    pub copies: u32,
    /// Space of all databases together, growth included, bytes.
    pub size: u64,
    /// Share of the size that is used, per cent.
    pub capacity: f64,
    /// Share of the reached transaction rate that is driven, per cent.
    pub throughput: f64,
    /// Transactions a second of each database; 0: as many as go.
    pub rate: u32,
    /// Threads of each database; 0: as many as keep database reads below 20 ms.
    pub threads: u32,
    /// Threads at most where they are tuned.
    pub threads_max: u32,
    /// Measured time, nanoseconds; 0: as long as the test takes in full.
    pub time: u64,
    /// Transactions before, which are not measured, nanoseconds.
    pub ramp: u64,
    /// Per cent of transactions.
    pub insert: u32,
    /// Per cent of transactions.
    pub delete: u32,
    /// Per cent of transactions.
    pub replace: u32,
    /// Per cent of transactions.
    pub read: u32,
    /// Per cent of commits that do not wait for the log.
    pub lazy: u32,
    /// Buffer pool of each database at the start, bytes.
    pub cache_min: u64,
    /// Buffer pool of each database at most, bytes.
    pub cache_max: u64,
    /// Bytes of log that a restart may have to replay.
    pub checkpoint_depth: u64,
    /// Bytes a second that maintenance reads of each database; 0: none.
    pub maintenance: u64,
    /// Threads of each database that write dirty pages.
    pub flushers: u32,
    /// Log generations that soft recovery replays, of each database.
    pub logs: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// A database of this size that is there already is not built again.
    pub keeps: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            task: Task::default(),
            test: Test::default(),
            database: 1,
            databases: 1,
            copies: 1,
            size: 2 << 30,
            capacity: 100.0,
            throughput: 100.0,
            rate: 0,
            threads: 15,
            threads_max: 64,
            time: 0,
            ramp: 0,
            insert: 40,
            delete: 20,
            replace: 5,
            read: 35,
            lazy: 70,
            cache_min: 32 << 20,
            cache_max: 256 << 20,
            checkpoint_depth: 20 << 20,
            maintenance: 5_950_000,
            flushers: 4,
            logs: 100,
            direct: true,
            keeps: false,
        }
    }
}

/// Share of the space that a new database takes: it may grow by a quarter.
pub const INITIAL_SHARE: f64 = 0.8;
/// How long a background writer waits for the next durable commit instead of writing the log for its pages alone: it is in no hurry, and a
/// server with some dozens of durable commits a second has one by then.
const FLUSH_PATIENCE_NS: u64 = 50_000_000;
/// Databases of a test.
pub(crate) const DATABASES_MAX: u32 = 64;
/// The shortest a database can be, pages.
const PAGES_MIN: u64 = 256;

/// What is wrong with a word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It has no `=`.
    #[error("'{0}' is no setting; settings are name=value")]
    NoValue(String),
    /// Nothing of that name can be set.
    #[error("no setting '{name}'; available: {}", names().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The value cannot be read.
    #[error("{name}={value}: {expected}")]
    Value {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What is possible.
        expected: &'static str,
    },
    /// Settings that cannot be together.
    #[error("{0}")]
    Together(&'static str),
}

/// One that can be set.
struct Setting {
    name: &'static str,
    expected: &'static str,
    help: &'static str,
    set: fn(&mut Settings, &str) -> Option<()>,
}

fn put<T>(into: &mut T, value: Option<T>) -> Option<()> {
    *into = value?;
    Some(())
}

fn number(value: &str, min: u32, max: u32) -> Option<u32> {
    value.parse().ok().filter(|value| (min..=max).contains(value))
}

fn percent(value: &str) -> Option<u32> {
    number(value.trim_end_matches('%'), 0, 100)
}

fn bytes(value: &str, min: u64) -> Option<u64> {
    Bytes::from_str(value).ok().map(|bytes| bytes.0).filter(|bytes| *bytes >= min)
}

fn share(value: &str, min: f64, max: f64) -> Option<f64> {
    value.trim_end_matches('%').parse().ok().filter(|share| (min..=max).contains(share))
}

const PERCENT: &str = "a whole number of per cent, 0 to 100";

const SETTINGS: &[Setting] = &[
    Setting {
        name: "test",
        expected: "performance, stress, backup or recovery",
        help: "the test: performance (2 h), stress (24 h), backup or recovery",
        set: |s, v| put(&mut s.test, Test::ALL.into_iter().find(|test| test.name() == v)),
    },
    Setting {
        name: "time",
        expected: "a time from 1s on, as 5m or 2h",
        help: "measured time; shorter than the test's own is labelled a short test",
        set: |s, v| {
            put(&mut s.time, Nanos::from_str(v).ok().map(|time| time.0).filter(|ns| *ns >= 1_000_000_000))
        },
    },
    Setting {
        name: "ramp",
        expected: "a time, as 30s",
        help: "transactions before, which are not measured",
        set: |s, v| put(&mut s.ramp, Nanos::from_str(v).ok().map(|time| time.0)),
    },
    Setting {
        name: "databases",
        expected: "1 to 64",
        help: "databases; the size is that of all together [default of run and check: those there are]",
        set: |s, v| put(&mut s.databases, number(v, 1, DATABASES_MAX)),
    },
    Setting {
        name: "copies",
        expected: "1 to 16",
        help: "copies of each database: each further one reads the log",
        set: |s, v| put(&mut s.copies, number(v, 1, 16)),
    },
    Setting {
        name: "size",
        expected: "a size from 16MiB on, as 100GiB",
        help: "space of all databases with their growth: 80 % is built, 20 % is left [default of run and check: as built]",
        set: |s, v| put(&mut s.size, bytes(v, 16 << 20)),
    },
    Setting {
        name: "capacity",
        expected: "per cent, 1 to 100",
        help: "share of the size that is used",
        set: |s, v| put(&mut s.capacity, share(v, 1.0, 100.0)),
    },
    Setting {
        name: "throughput",
        expected: "per cent, 1 to 100",
        help: "share of the highest transaction rate that is driven (with threads=auto, which finds it)",
        set: |s, v| put(&mut s.throughput, share(v, 1.0, 100.0)),
    },
    Setting {
        name: "rate",
        expected: "transactions a second, 1 to 1000000",
        help: "transactions a second of each database [default: unlimited]",
        set: |s, v| put(&mut s.rate, number(v, 1, 1_000_000)),
    },
    Setting {
        name: "threads",
        expected: "1 to 256, or auto",
        help: "threads of each database; auto: tuned until database reads take nearly 20 ms",
        set: |s, v| put(&mut s.threads, if v == "auto" { Some(0) } else { number(v, 1, 256) }),
    },
    Setting {
        name: "insert",
        expected: PERCENT,
        help: "share of transactions that add a message",
        set: |s, v| put(&mut s.insert, percent(v)),
    },
    Setting {
        name: "delete",
        expected: PERCENT,
        help: "share of transactions that delete a message",
        set: |s, v| put(&mut s.delete, percent(v)),
    },
    Setting {
        name: "replace",
        expected: PERCENT,
        help: "share of transactions that replace a message",
        set: |s, v| put(&mut s.replace, percent(v)),
    },
    Setting {
        name: "read",
        expected: PERCENT,
        help: "share of transactions that read a message",
        set: |s, v| put(&mut s.read, percent(v)),
    },
    Setting {
        name: "lazy",
        expected: PERCENT,
        help: "share of commits that do not wait for the log",
        set: |s, v| put(&mut s.lazy, percent(v)),
    },
    Setting {
        name: "cache_min",
        expected: "a size from 4MiB on",
        help: "buffer pool of each database at the start",
        set: |s, v| put(&mut s.cache_min, bytes(v, 4 << 20)),
    },
    Setting {
        name: "cache_max",
        expected: "a size from 4MiB on",
        help: "buffer pool of each database at most",
        set: |s, v| put(&mut s.cache_max, bytes(v, 4 << 20)),
    },
    Setting {
        name: "checkpoint_depth",
        expected: "a size from 4MiB on",
        help: "log that a restart may have to replay",
        set: |s, v| put(&mut s.checkpoint_depth, bytes(v, 4 << 20)),
    },
    Setting {
        name: "maintenance",
        expected: "bytes a second, as 6MB, or off",
        help: "what background maintenance reads of each database a second; off: none",
        set: |s, v| put(&mut s.maintenance, if v == "off" { Some(0) } else { bytes(v, 1 << 10) }),
    },
    Setting {
        name: "flushers",
        expected: "1 to 32",
        help: "threads of each database that write dirty pages",
        set: |s, v| put(&mut s.flushers, number(v, 1, 32)),
    },
    Setting {
        name: "logs",
        expected: "2 to 100000",
        help: "with test=recovery: log generations of 1 MiB to replay",
        set: |s, v| put(&mut s.logs, number(v, 2, 100_000)),
    },
    Setting {
        name: "direct",
        expected: "yes or no",
        help: "O_DIRECT; no: through the page cache, which measures RAM",
        set: |s, v| {
            put(
                &mut s.direct,
                match v {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => None,
                },
            )
        },
    },
];

pub(crate) fn names() -> Vec<&'static str> {
    SETTINGS.iter().map(|setting| setting.name).collect()
}

/// The settings with what they mean, one a line.
pub fn help() -> String {
    let mut text = String::from("Settings (name=value):\n");
    for setting in SETTINGS {
        let _ = writeln!(text, "  {:<17} {}", setting.name, setting.help);
    }
    text
}

impl Settings {
    /// From `name=value` words.
    ///
    /// # Errors
    /// The first word that cannot be.
    pub fn from_words(words: &[String]) -> Result<Settings, SettingError> {
        let mut settings = Settings::default();
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| SettingError::NoValue(word.clone()))?;
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            let setting = setting.ok_or_else(|| SettingError::Unknown { name: name.to_owned() })?;
            (setting.set)(&mut settings, value).ok_or_else(|| SettingError::Value {
                name: name.to_owned(),
                value: value.to_owned(),
                expected: setting.expected,
            })?;
        }
        settings.check().map(|()| settings)
    }

    /// From the settings of a job in a plan.
    ///
    /// # Errors
    /// What cannot be read of them, in words.
    pub fn from_map(map: &serde_json::Map<String, serde_json::Value>) -> Result<Settings, String> {
        let settings: Settings = serde_json::from_value(serde_json::Value::Object(map.clone()))
            .map_err(|error| error.to_string())?;
        settings.check().map_err(|error| error.to_string())?;
        Ok(settings)
    }

    /// As the settings of a job in a plan.
    pub fn to_map(&self) -> serde_json::Map<String, serde_json::Value> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(map)) => map,
            _ => serde_json::Map::new(),
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        let together = |holds: bool, what| if holds { Ok(()) } else { Err(SettingError::Together(what)) };
        let sum = [self.insert, self.delete, self.replace, self.read]
            .iter()
            .fold(0_u32, |sum, share| sum.saturating_add(*share));
        together(sum == 100, "insert, delete, replace and read do not add up to 100 %")?;
        together(self.cache_min <= self.cache_max, "cache_min is above cache_max")?;
        together(
            self.databases >= 1 && self.threads_max >= 1,
            "at least one database and one thread are needed",
        )?;
        together(
            (1.0..=100.0).contains(&self.capacity) && (1.0..=100.0).contains(&self.throughput),
            "capacity and throughput are shares from 1 to 100 %",
        )?;
        together(
            self.throughput == 100.0 || self.threads == 0,
            "throughput below 100 % needs threads=auto, which finds the highest rate",
        )?;
        together(
            self.throughput == 100.0 || self.rate == 0,
            "rate and throughput both say how much is driven",
        )?;
        together(
            self.capacity_pages() >= PAGES_MIN && self.size / PAGE_BYTES as u64 <= u64::from(u32::MAX),
            "the size leaves a database less than 8 MiB, or more than 128 TiB",
        )
    }

    /// Pages of a database with its growth.
    pub fn capacity_pages(&self) -> u64 {
        (self.size as f64 * self.capacity / 100.0) as u64
            / u64::from(self.databases.max(1))
            / PAGE_BYTES as u64
    }

    /// Pages of a new database.
    pub fn initial_pages(&self) -> u32 {
        (self.capacity_pages() as f64 * INITIAL_SHARE) as u32
    }

    /// Threads of a database, those included that tuning leaves idle.
    pub fn threads_planned(&self) -> u32 {
        if self.threads == 0 { self.threads_max } else { self.threads }
    }

    /// How the store is run.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            pool_pages_min: (self.cache_min / PAGE_BYTES as u64) as usize,
            pool_pages_max: (self.cache_max / PAGE_BYTES as u64) as usize,
            checkpoint_depth_bytes: self.checkpoint_depth,
            keeps_log: self.task == Task::Accumulate,
            flush_patience_ns: FLUSH_PATIENCE_NS,
            ..Tuning::default()
        }
    }

    /// Measured time of a test with transactions.
    pub fn measured(&self) -> Nanos {
        match (self.time, self.test.full_length()) {
            (0, Some(full)) => full,
            (0, None) => Nanos::from_secs(60),
            (time, _) => Nanos(time),
        }
    }

    /// Whether it measures less than its kind of test does in full.
    pub fn is_short(&self) -> bool {
        self.test.full_length().is_some_and(|full| self.measured() < full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Settings, SettingError> {
        Settings::from_words(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_and_plans_say_the_same() {
        let settings =
            words("test=stress time=10m databases=2 size=4GiB threads=auto throughput=50 maintenance=off")
                .unwrap();
        assert_eq!((settings.test, settings.time, settings.threads), (Test::Stress, 600_000_000_000, 0));
        assert_eq!((settings.capacity_pages(), settings.maintenance), ((2 << 30) / PAGE_BYTES as u64, 0));
        assert!(settings.is_short() && !words("test=performance").unwrap().is_short());
        assert_eq!(Settings::from_map(&settings.to_map()).unwrap(), settings);
    }

    #[test]
    fn what_cannot_be_is_said_with_what_can() {
        let said = |text| words(text).unwrap_err().to_string();
        assert_eq!(said("fast"), "'fast' is no setting; settings are name=value");
        assert!(said("thread=4").starts_with("no setting 'thread'; available: test, time,"));
        assert_eq!(said("threads=0"), "threads=0: 1 to 256, or auto");
        assert_eq!(said("read=50"), "insert, delete, replace and read do not add up to 100 %");
        assert_eq!(
            said("throughput=50"),
            "throughput below 100 % needs threads=auto, which finds the highest rate"
        );
        assert_eq!(said("size=1MiB"), "size=1MiB: a size from 16MiB on, as 100GiB");
        assert!(said("cache_max=8MiB").contains("cache_min"));
        let mut map = Settings::default().to_map();
        map.insert("speed".to_owned(), 1.into());
        assert!(Settings::from_map(&map).unwrap_err().contains("unknown field `speed`"));
    }

    #[test]
    fn each_setting_is_explained() {
        let help = help();
        names().iter().for_each(|name| assert!(help.contains(&format!("\n  {name} ")), "{name}"));
    }
}
