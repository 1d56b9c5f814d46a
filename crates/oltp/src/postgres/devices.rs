//! The devices below a server of this host: what they do while its users work.

use std::path::{Path, PathBuf};

use assay_host::HostRoot;
use assay_host::counters::{Sampler, Selection};
use assay_host::environment;
use assay_results::counters::DeviceCounters;

use super::PostgresAdmin;
use crate::admin::{Admin, number};
use crate::monitor::DeviceTotals;

/// Where a server keeps its files; a setting that not every user may read.
const DATA_DIRECTORY: &str = "SELECT pg_catalog.current_setting('data_directory')";
const TABLESPACES: &str = "SELECT pg_catalog.pg_tablespace_location(oid) FROM pg_catalog.pg_tablespace \
     WHERE pg_catalog.pg_tablespace_location(oid) <> ''";
/// In the data directory; often a link to a device of its own.
const LOG_DIRECTORY: &str = "pg_wal";

/// The devices at the bottom, and what reads their counters.
pub(crate) struct ServerDevices {
    sampler: Sampler,
    names: Vec<String>,
}

/// The data directory of a server that runs here; `Err`: why it is not known.
pub(super) fn data_directory(admin: &mut PostgresAdmin) -> Result<PathBuf, String> {
    if !admin.connection.is_local {
        return Err("it is on another host".to_owned());
    }
    let process = number(admin, "SELECT pg_catalog.pg_backend_pid()").unwrap_or(0);
    // A forwarded port answers under an address of this host, too.
    let here = std::fs::read_to_string(format!("/proc/{process}/comm"));
    if !here.is_ok_and(|name| name.starts_with("postgres")) {
        return Err("its processes are not among those of this host".to_owned());
    }
    let rows = admin.texts(DATA_DIRECTORY).map_err(|error| error.to_string())?;
    let place = rows.into_iter().flatten().next().map(PathBuf::from);
    place.filter(|place| place.is_absolute()).ok_or_else(|| "it does not say where its files are".to_owned())
}

impl ServerDevices {
    /// Those below the data, the log and the tablespaces of a server that runs here; `Err`: why they are not known.
    pub(crate) fn of(admin: &mut PostgresAdmin) -> Result<Self, String> {
        let data = data_directory(admin)?;
        let spaces = admin.texts(TABLESPACES).map_err(|error| error.to_string())?;
        let mut places = vec![data.join(LOG_DIRECTORY), data];
        places.extend(spaces.into_iter().flatten().map(PathBuf::from));
        let names = bottom_of(&HostRoot::real(), &places);
        if names.is_empty() {
            return Err(format!("no device is known below {}", places[1].display()));
        }
        let selection = Selection { devices: names.clone(), ..Selection::default() };
        Ok(ServerDevices { sampler: Sampler::new(&HostRoot::real(), &selection), names })
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// What they did since the machine was started.
    pub(crate) fn totals(&mut self) -> DeviceTotals {
        let sum = |all: DeviceTotals, one: &DeviceCounters| DeviceTotals {
            reads: all.reads + one.reads,
            read_bytes: all.read_bytes + one.read_bytes,
            writes: all.writes + one.writes,
            written_bytes: all.written_bytes + one.write_bytes,
            flushes: all.flushes + one.flushes.unwrap_or(0),
            flush_ms: all.flush_ms + one.flush_time_ms.unwrap_or(0),
        };
        self.sampler.device_snapshot().iter().fold(DeviceTotals::default(), sum)
    }
}

fn bottom_of(root: &HostRoot, places: &[PathBuf]) -> Vec<String> {
    let devices = |place: &PathBuf| {
        // Whose directories may not be entered is on the file system above, as far as is known.
        let known = std::fs::canonicalize(place).unwrap_or_else(|_| place.clone());
        let found = environment::target(root, &existing(&known));
        found.bottom_devices().map(|device| device.name.clone()).collect::<Vec<_>>()
    };
    let mut names: Vec<String> = places.iter().flat_map(devices).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The nearest directory above that can be looked at.
fn existing(place: &Path) -> PathBuf {
    place.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/")).to_owned()
}
