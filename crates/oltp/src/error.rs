//! Why something about a database did not work.

use std::path::PathBuf;

use assay_engine::EngineError;
use assay_workload::units::Bytes;

/// `1 warehouse`, `2 warehouses`.
fn counted(warehouses: u32) -> String {
    format!("{warehouses} warehouse{}", if warehouses == 1 { "" } else { "s" })
}

/// Who has a database; one may have ended since.
fn named(users: &[String]) -> String {
    if users.is_empty() { "another Assay".to_owned() } else { format!("another Assay, {}", users.join(", ")) }
}

/// What is done about an error of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The database chose this transaction as the victim of a conflict: it was rolled back, and the same one may be tried again.
    Conflict,
    /// The connection cannot be used any more.
    Lost,
    /// The statement failed; the next transaction may succeed.
    Failed,
}

/// An error of an OLTP database, its client, or of what was asked of them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A statement failed.
    #[error("{message} ({code})")]
    Statement {
        /// SQLSTATE, or SQLite's name of its result code.
        code: String,
        /// In the words of the database.
        message: String,
        /// What is done about it.
        class: Class,
    },
    /// There is no server, or it went away.
    #[error("PostgreSQL at {address}: {source}")]
    Server {
        /// Where it was looked for.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The server refused the connection.
    #[error("PostgreSQL at {address} refused the connection: {message} ({code}){hint}")]
    Refused {
        /// Where it is.
        address: String,
        /// SQLSTATE.
        code: String,
        /// In its words.
        message: String,
        /// What to do; empty where it is not known.
        hint: &'static str,
    },
    /// The server wants what this client does not do.
    #[error("PostgreSQL at {address}: {what}")]
    Protocol {
        /// Where it is.
        address: String,
        /// What.
        what: String,
    },
    /// A server of our own, or what works on a database that is to crash.
    #[error("{what}")]
    OwnServer {
        /// What is wrong.
        what: String,
    },
    /// A file of the database.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The ledger cannot be written where it was asked for.
    #[error(transparent)]
    Output(#[from] assay_host::output::OutputError),
    /// A word of the command or of the settings.
    #[error("{0}")]
    Asked(#[from] Asked),
    /// The database is not what was expected.
    #[error("{0}")]
    Database(#[from] Unfit),
    /// Another run has the database.
    #[error(transparent)]
    InUse(#[from] assay_host::claim::InUse),
    /// Another Assay has the database of a server.
    #[error(
        "the OLTP database in {place} is in use by {}: nothing was done; wait for its end, or use another database",
        named(users)
    )]
    Used {
        /// Where.
        place: String,
        /// Who, as the server knows them.
        users: Vec<String>,
    },
    /// It was stopped.
    #[error("interrupted")]
    Interrupted,
}

/// What cannot be done as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Asked {
    /// A value of an option.
    #[error("--{option}: '{value}' is not {possible}")]
    Value {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        possible: String,
    },
    /// Two options, or an option and the database, that exclude each other.
    #[error("--{option} {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// Why not.
        why: String,
    },
    /// More users than warehouses.
    #[error(
        "{users} users on {}: each user needs a warehouse of its own; use --users {warehouses} or fewer, or build more \
         warehouses", counted(*warehouses)
    )]
    Users {
        /// Users.
        users: u32,
        /// Warehouses.
        warehouses: u32,
    },
    /// The URL of a server.
    #[error(
        "'{url}' is not the URL of a PostgreSQL database: {why}; possible: postgres://USER@HOST:PORT/DATABASE"
    )]
    Url {
        /// As given, without its password.
        url: String,
        /// Why not.
        why: String,
    },
    /// Less space than the database takes.
    #[error(
        "{} need about {} and {} can be used in {}; use fewer (--warehouses), or another place",
        counted(*warehouses), Bytes(*needed_bytes), Bytes(*usable_bytes), path.display()
    )]
    Space {
        /// Warehouses.
        warehouses: u32,
        /// What they take.
        needed_bytes: u64,
        /// What there is.
        usable_bytes: u64,
        /// Where.
        path: PathBuf,
    },
}

/// What is wrong with a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There is none.
    #[error("no OLTP database in {place}; 'assay oltp build' makes one")]
    Missing {
        /// Where.
        place: String,
    },
    /// It is there already.
    #[error("{place} holds an OLTP database of {}; --rebuild replaces it", counted(*warehouses))]
    Exists {
        /// Where.
        place: String,
        /// Its warehouses.
        warehouses: u32,
    },
    /// Its load did not end.
    #[error(
        "the build of the OLTP database in {place} was interrupted; 'assay oltp build --rebuild' begins anew"
    )]
    HalfBuilt {
        /// Where.
        place: String,
    },
    /// Another version made it.
    #[error(
        "the OLTP database in {place} has format {found}, made by Assay {made_by}; this version uses format {expected}: \
         'assay oltp build --rebuild' replaces it"
    )]
    Version {
        /// Where.
        place: String,
        /// Its format.
        found: String,
        /// Which Assay made it.
        made_by: String,
        /// The format of this version.
        expected: u32,
    },
    /// Its size is not the one asked for.
    #[error("the OLTP database in {place} has {}, not {asked}; leave out --warehouses, or replace it with 'assay oltp build --rebuild'", counted(*found))]
    Size {
        /// Where.
        place: String,
        /// Its warehouses.
        found: u32,
        /// Those asked for.
        asked: u32,
    },
    /// Its directory is not Assay's.
    #[error("{what}")]
    Directory {
        /// Why not, with its name.
        what: String,
    },
    /// There is something else under its name.
    #[error("{place} holds {what}, which Assay did not make; nothing was changed. Use another database")]
    Foreign {
        /// Where.
        place: String,
        /// What.
        what: String,
    },
    /// There is something else under the name of its schema.
    #[error(
        "{place} holds {what}, which Assay did not make; nothing was changed. Use another database, or drop that schema \
         yourself"
    )]
    ForeignSchema {
        /// Where.
        place: String,
        /// What, with the name of the schema.
        what: String,
    },
    /// Checks found that something does not hold.
    #[error("{failed} of the checks of the OLTP database in {place} do not hold:\n{report}")]
    Damaged {
        /// Where.
        place: String,
        /// Checks that do not hold.
        failed: usize,
        /// All checks, a line each.
        report: String,
    },
    /// It was built without the functions.
    #[error(
        "the OLTP database in {place} has no functions for --server-side; 'assay oltp build --rebuild' makes them"
    )]
    NoFunctions {
        /// Where.
        place: String,
    },
}

impl Error {
    /// Whether what was asked for is wrong, so that another request may do.
    pub fn is_request(&self) -> bool {
        use assay_host::output::OutputError;
        matches!(self, Error::Asked(_) | Error::Database(_) | Error::Output(OutputError::Refused { .. }))
    }

    /// What is done about it.
    pub(crate) fn class(&self) -> Class {
        match self {
            Error::Statement { class, .. } => *class,
            Error::Server { .. } | Error::Refused { .. } | Error::Protocol { .. } => Class::Lost,
            _ => Class::Failed,
        }
    }

    /// Its name in results.
    pub(crate) fn code(&self) -> &str {
        match self {
            Error::Statement { code, .. } | Error::Refused { code, .. } => code,
            Error::Server { .. } => "connection lost",
            Error::Protocol { .. } => "protocol",
            Error::File { .. } | Error::Output(_) => "file",
            Error::OwnServer { .. } => "server",
            Error::Asked(_)
            | Error::Database(_)
            | Error::InUse(_)
            | Error::Used { .. }
            | Error::Interrupted => "other",
        }
    }
}

/// As the driver of phases is told it.
pub(crate) fn failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::Kind { kind: "oltp", why: error.to_string() }
}
