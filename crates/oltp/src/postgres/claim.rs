//! Who uses the database of a server: a lock of the session, held as long as its connection is open. The server ends it with the client.

use std::time::Duration;

use super::{PostgresAdmin, SCHEMA};
use crate::admin::Admin as _;
use crate::error::Error;

/// Such locks are known by a number, in each database apart: the first letters of the schema's name.
const KEY: i64 = match SCHEMA.as_bytes().first_chunk::<8>() {
    Some(letters) => i64::from_be_bytes(*letters),
    None => 0,
};
/// The server takes a moment to notice that a client has ended. A fuzzer's has no clients, and would be waited for all the time.
const TRIES: u32 = if cfg!(fuzzing) { 1 } else { 20 };
const NAP: Duration = Duration::from_millis(100);

impl PostgresAdmin {
    /// Has the database to itself while this connection is open.
    ///
    /// # Errors
    /// [`Error::Used`]: another Assay has it.
    pub(crate) fn claim(&mut self) -> Result<(), Error> {
        self.locked("pg_try_advisory_lock")
    }

    /// Has the database while this connection is open, together with others that share it.
    ///
    /// # Errors
    /// [`Error::Used`]: another Assay has it to itself.
    pub(crate) fn share(&mut self) -> Result<(), Error> {
        self.locked("pg_try_advisory_lock_shared")
    }

    fn locked(&mut self, function: &str) -> Result<(), Error> {
        let query = format!("SELECT pg_catalog.{function}({KEY})");
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(NAP);
            }
            if self.texts(&query)? == [["t"]] {
                return Ok(());
            }
        }
        Err(Error::Used { place: self.place(), users: self.others()? })
    }

    /// Those that have the database now beside this connection, as the server knows them.
    pub(crate) fn others(&mut self) -> Result<Vec<String>, Error> {
        let (high, low) = (KEY >> 32, KEY & 0xffff_ffff);
        let rows = self.texts(&format!(
            "SELECT l.pid, a.application_name, a.usename, pg_catalog.host(a.client_addr) FROM pg_catalog.pg_locks l \
             LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.objsubid = 1 \
             AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) \
             AND l.classid = {high} AND l.objid = {low} AND l.granted AND l.pid <> pg_catalog.pg_backend_pid() \
             ORDER BY l.pid"
        ))?;
        Ok(rows.iter().map(|row| words(row)).collect())
    }
}

/// One of them in words. What its user's rights do not show is empty.
fn words(row: &[String]) -> String {
    let word = |at: usize| row.get(at).map(String::as_str).filter(|word| !word.is_empty());
    let known = [("", word(1)), ("user ", word(2)), ("from ", word(3))];
    let known: Vec<String> =
        known.iter().filter_map(|(what, word)| Some(format!("{what}{}", (*word)?))).collect();
    let process = format!("server process {}", word(0).unwrap_or("unknown"));
    if known.is_empty() { process } else { format!("{process} ({})", known.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_left_out() {
        let row = ["41", "assay", "bench", "10.0.0.7"].map(str::to_owned);
        assert_eq!(words(&row), "server process 41 (assay, user bench, from 10.0.0.7)");
        assert_eq!(
            words(&["41".to_owned(), String::new(), String::new(), String::new()]),
            "server process 41"
        );
    }
}
