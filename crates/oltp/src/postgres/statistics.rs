//! What the server counts of itself: pg_stat_database, its checkpoints, its write-ahead log.

use assay_engine::kind::Say;

use super::devices::ServerDevices;
use super::{PostgresAdmin, ServerUrl};

use crate::admin::{Admin, number};
use crate::error::Error;
use crate::monitor::{Counts, Totals, Watch};

/// From this version on, checkpoints are counted in a view of their own.
const CHECKPOINTER_VIEW: i64 = 170_000;
/// From this version on the log's flushes are counted, and from the second on elsewhere.
const WAL_VIEW: i64 = 140_000;
const WAL_IN_IO_VIEW: i64 = 180_000;
const WAL_SYNCS: &str = "SELECT wal_sync, (wal_sync_time * 1000)::bigint FROM pg_catalog.pg_stat_wal";
const WAL_SYNCS_IN_IO_VIEW: &str = "SELECT sum(fsyncs)::bigint, (sum(fsync_time) * 1000)::bigint FROM pg_catalog.pg_stat_io \
     WHERE object = 'wal'";
/// Settings that results depend on.
const SETTINGS: [&str; 9] = [
    "server_version",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "data_checksums",
    "track_wal_io_timing",
];

/// Reads them.
pub(crate) struct Statistics {
    admin: PostgresAdmin,
    checkpoints: &'static str,
    log_syncs: Option<&'static str>,
    devices: Option<ServerDevices>,
}

/// What a server is, for the notes of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    /// Names and values.
    pub(crate) settings: Vec<(String, String)>,
    /// Whether it is on this host.
    pub(crate) is_local: bool,
}

impl ServerFacts {
    pub(crate) fn read(admin: &mut PostgresAdmin) -> Result<Self, Error> {
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let rows = admin.texts(&format!(
            "SELECT name, current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({names}) ORDER BY name"
        ))?;
        let pairs = rows.into_iter().filter_map(|row| <[String; 2]>::try_from(row).ok());
        let settings = pairs.map(|[name, value]| (name, value)).collect();
        Ok(ServerFacts { settings, is_local: admin.connection.is_local })
    }

    /// Says what a reader of the result should know.
    pub(crate) fn tell(&self, say: &mut Say<'_>) {
        say("oltp", self.words());
        if let Some(why) = self.not_durable() {
            say(
                "volatile-write-cache",
                format!("{why} on the server: commits that were acknowledged may be lost in a crash"),
            );
        }
        if self.is_local {
            let text = "the PostgreSQL server runs on this host and shares its CPUs and memory with Assay";
            say("server-on-this-host", text.to_owned());
        }
    }

    /// In a line.
    fn words(&self) -> String {
        let words: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("PostgreSQL settings: {}", words.join(", "))
    }

    /// What of the settings makes acknowledged commits others than durable ones.
    fn not_durable(&self) -> Option<&str> {
        let is = |wanted: &str, bad: &[&str]| {
            self.settings.iter().any(|(name, value)| name == wanted && bad.contains(&value.as_str()))
        };
        match () {
            () if is("fsync", &["off"]) => Some("fsync is off"),
            () if is("synchronous_commit", &["off"]) => Some("synchronous_commit is off"),
            () => None,
        }
    }
}

impl Statistics {
    /// Connects; of a server of this host the devices are watched as well, and `say` is told which.
    pub(crate) fn connect(url: &ServerUrl, say: &mut Say<'_>) -> Result<Self, Error> {
        let mut admin = PostgresAdmin::connect(url)?;
        let devices = admin.connection.is_local.then(|| ServerDevices::of(&mut admin));
        match &devices {
            Some(Ok(devices)) => say("oltp", format!("the server's files are on {}", devices.names().join(", "))),
            Some(Err(why)) => say("oltp", format!("the devices below the server are not watched: {why}")),
            None => say(
                "oltp",
                "the server's devices are on another host: there 'assay judge --target DATA_DIRECTORY --pid POSTMASTER -- sleep SECONDS' judges them \
                 meanwhile"
                    .to_owned(),
            ),
        }
        let devices = devices.and_then(Result::ok);
        let version = number(&mut admin, "SELECT current_setting('server_version_num')::integer")?;
        let checkpoints = if version >= CHECKPOINTER_VIEW {
            "(SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer)"
        } else {
            "(SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter)"
        };
        let log_syncs = match version {
            WAL_IN_IO_VIEW.. => Some(WAL_SYNCS_IN_IO_VIEW),
            WAL_VIEW.. => Some(WAL_SYNCS),
            _ => None,
        };
        Ok(Statistics { admin, checkpoints, log_syncs, devices })
    }
}

/// As HammerDB counts: committed and rolled back, of all databases of the server.
const TRANSACTIONS: &str = "(SELECT sum(xact_commit + xact_rollback) FROM pg_catalog.pg_stat_database)";

impl Watch for Statistics {
    fn counts(&mut self) -> Result<Counts, Error> {
        let query = format!("SELECT {TRANSACTIONS}, {}", self.checkpoints);
        let mut counts = Counts::default();
        self.admin.numbers(&query, &mut |row| {
            if let [transactions, checkpoints] = row {
                counts =
                    Counts { transactions: transactions.unwrap_or(0), checkpoints: checkpoints.unwrap_or(0) };
            }
        })?;
        Ok(counts)
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        let counts = self.counts()?;
        let devices = self.devices.as_mut().map(ServerDevices::totals);
        let mut totals = Totals { counts, devices, ..Totals::default() };
        self.admin.numbers(
            "SELECT (SELECT sum(d_next_o_id) FROM district), blks_hit, blks_read, \
             pg_catalog.pg_database_size(datname), \
             pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::bigint, deadlocks \
             FROM pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()",
            &mut |row| {
                if let [orders, hit, read, bytes, log, deadlocks] = *row {
                    totals.orders = orders.unwrap_or(0);
                    (totals.blocks_hit, totals.blocks_read) = (hit, read);
                    totals.database_bytes = bytes.unwrap_or(0);
                    totals.log_bytes = log;
                    totals.deadlocks = deadlocks;
                }
            },
        )?;
        if let Some(query) = self.log_syncs {
            self.admin.numbers(query, &mut |row| {
                if let [syncs, us] = *row {
                    (totals.log_syncs, totals.log_syncs_us) = (syncs, us);
                }
            })?;
        }
        Ok(totals)
    }
}
