//! The database on a PostgreSQL server, in a schema of its own. The protocol (PostgreSQL manual, chapter "Frontend/Backend Protocol")
//! is spoken here: one blocking connection a user, and everything that does not depend on an answer goes in one write.

mod build;
mod connection;
mod functions;
mod own_server;
mod scram;
mod server_side;
mod session;
mod statements;
mod statistics;
mod url;

use crate::admin::{Admin, Numbers};
use crate::error::{Error, Unfit};

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

    /// Refuses a database without our tables.
    pub(crate) fn expect_schema(&mut self) -> Result<(), Error> {
        let place = self.place();
        let found = self.texts(&format!(
            "SELECT count(*), (SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}') \
             FROM pg_catalog.pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = 'assay_oltp'"
        ))?;
        let found: Option<Vec<&str>> = found.first().map(|row| row.iter().map(String::as_str).collect());
        match found.as_deref() {
            Some(["1", _]) => Ok(()),
            Some([_, "0"]) | None => Err(Unfit::Missing { place }.into()),
            Some([_, _]) => Err(Unfit::Foreign {
                place,
                what: format!("a schema '{SCHEMA}' without the table assay_oltp"),
            }
            .into()),
            Some(row) => {
                let what = format!("a row of {} columns where 2 were asked for", row.len());
                Err(Error::Protocol { address: place, what })
            }
        }
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
