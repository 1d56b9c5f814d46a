//! The database on a PostgreSQL server, in a schema of its own. The protocol (PostgreSQL manual, chapter "Frontend/Backend Protocol")
//! is spoken here: one blocking connection a user, and everything that does not depend on an answer goes in one write.

mod build;
mod claim;
mod connection;
mod devices;
mod functions;
mod own_server;
mod scram;
mod server_side;
mod session;
mod statements;
mod statistics;
mod url;

use std::path::PathBuf;

use crate::admin::{Admin, Facts, Numbers, number};
use crate::error::{Error, Unfit};
use crate::schema::BUILD_TABLE;

pub(crate) use build::build;
pub(crate) use connection::{Connection, Interrupt};
pub(crate) use own_server::OwnServer;
pub(crate) use server_side::ServerSideSession;
pub(crate) use session::ClientSession;
pub(crate) use statistics::{ServerFacts, Statistics};
pub use url::ServerUrl;
pub(crate) use url::is_url;

/// The schema of our tables.
pub(crate) const SCHEMA: &str = "assay_oltp";

/// The columns of the table of the build, as the server describes them: a table's, none of a view.
const BUILD_COLUMNS: [[&str; 3]; 2] =
    [["name", "character varying(40)", "r"], ["value", "character varying(200)", "r"]];

/// Has the server time how long the log takes to become durable; not every user may.
const TIMES_LOG: &str = "SET track_wal_io_timing TO on";

/// A connection of a user; `times_log`: [`PostgresAdmin::times_log`].
fn working(url: &ServerUrl, times_log: bool) -> Result<Connection, Error> {
    let mut connection = Connection::open(url)?;
    connection.run(&format!("SET search_path TO {SCHEMA}"))?;
    if times_log {
        connection.run(TIMES_LOG)?;
    }
    Ok(connection)
}

/// A connection for single statements.
pub(crate) struct PostgresAdmin {
    connection: Connection,
    place: String,
}

impl PostgresAdmin {
    pub(crate) fn connect(url: &ServerUrl) -> Result<Self, Error> {
        let mut connection = Connection::open(url)?;
        connection.run(&format!("SET search_path TO {SCHEMA}"))?;
        Ok(PostgresAdmin { connection, place: url.shown() })
    }

    /// Whether connections of this user may have the log timed; a server before version 14 does not do it.
    pub(crate) fn times_log(&mut self) -> bool {
        self.connection.run(TIMES_LOG).is_ok()
    }

    /// Where the files of this database are on a server that runs here; `None`: it is another host's, or they are not known.
    pub(crate) fn data_directory(&mut self) -> Option<PathBuf> {
        let data = devices::data_directory(self).ok()?;
        let rows = self.texts(
            "SELECT pg_catalog.pg_tablespace_location(dattablespace) FROM pg_catalog.pg_database \
             WHERE datname = pg_catalog.current_database()",
        );
        let tablespace = rows.ok()?.into_iter().flatten().next().filter(|location| !location.is_empty());
        Some(tablespace.map_or(data, PathBuf::from))
    }

    /// Bytes that our tables and their indexes take; 0 without any.
    pub(crate) fn schema_bytes(&mut self) -> Result<u64, Error> {
        let bytes = number(
            self,
            &format!(
                "SELECT coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class c \
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{SCHEMA}' AND c.relkind = 'r'"
            ),
        )?;
        Ok(bytes.max(0) as u64)
    }

    /// Refuses a database without a schema of ours. A table of our name is none of ours by its name alone.
    pub(crate) fn expect_schema(&mut self) -> Result<(), Error> {
        let place = self.place();
        let schemas = format!("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}'");
        if number(self, &schemas)? == 0 {
            return Err(Unfit::Missing { place }.into());
        }
        let columns = self.texts(&format!(
            "SELECT attname, pg_catalog.format_type(atttypid, atttypmod), relkind FROM pg_catalog.pg_attribute \
             JOIN pg_catalog.pg_class c ON c.oid = attrelid JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace \
             WHERE nspname = '{SCHEMA}' AND relname = '{BUILD_TABLE}' AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        ))?;
        let foreign = |what: &str| {
            let what = format!("a schema '{SCHEMA}' {what}");
            Error::from(Unfit::ForeignSchema { place: place.clone(), what })
        };
        if columns.is_empty() {
            return Err(foreign("without the table assay_oltp"));
        }
        if columns != BUILD_COLUMNS {
            return Err(foreign("whose table assay_oltp has other columns"));
        }
        // Written with the schema itself, so that a build that was interrupted has them.
        let words = self.texts(&format!("SELECT name, value FROM {SCHEMA}.{BUILD_TABLE}"))?;
        if !Facts::are_marked(&words) {
            return Err(foreign("whose table assay_oltp does not say which build it is"));
        }
        Ok(())
    }
}

impl Admin for PostgresAdmin {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.run(sql)
    }

    fn numbers(&mut self, sql: &str, row: &mut dyn FnMut(&Numbers)) -> Result<(), Error> {
        let mut values: Vec<Option<i64>> = Vec::new();
        self.connection.simple(sql, &mut |cells| {
            values.clear();
            values.extend(cells.map(|cell| std::str::from_utf8(cell?).ok()?.parse::<i64>().ok()));
            row(&values);
        })
    }

    fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut all = Vec::new();
        let text = |cell: Option<&[u8]>| {
            cell.map_or_else(String::new, |cell| String::from_utf8_lossy(cell).into_owned())
        };
        self.connection.simple(sql, &mut |cells| all.push(cells.map(text).collect()))?;
        Ok(all)
    }
}
