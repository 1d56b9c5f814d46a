//! The database in SQLite: a file in a directory that Assay made. One process has it, and one transaction writes at a time.

mod build;
mod companions;
mod session;
mod statements;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_host::workdir::{LEDGER_FILE, WorkDir, Writing, claim_file};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::admin::{Admin, Numbers, number};
use crate::error::{Class, Error, Unfit};
use crate::monitor::{Counts, Totals, Watch};
use crate::settings::Synchronous;
use crate::user::UserCounts;

pub(crate) use build::build;
use companions::{COMPANIONS, check_companions};
pub(crate) use session::SqliteSession;

/// The file of a finished build.
pub(crate) const FILE: &str = "oltp.sqlite";
/// The file of one that is not finished.
pub(crate) const PART: &str = "oltp.sqlite.part";
/// How long a statement waits for a lock: another connection of this process has it.
const BUSY: Duration = Duration::from_secs(20);
/// What each connection caches, KiB; the page cache of the kernel is behind it.
const CACHE_KIB: i64 = 16 << 10;

/// As results tell it.
pub(crate) fn sql_error(error: rusqlite::Error) -> Error {
    match &error {
        rusqlite::Error::SqliteFailure(cause, message) => {
            let class = match cause.code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Class::Conflict,
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::OperationInterrupted => Class::Lost,
                _ => Class::Failed,
            };
            let message = message.clone().unwrap_or_else(|| cause.to_string());
            let message = match cause.code {
                ErrorCode::SystemIoFailure => {
                    format!("{message}: the file system is full, or its storage failed")
                }
                _ => message,
            };
            Error::Statement { code: format!("{:?}", cause.code), message, class }
        }
        _ => {
            Error::Statement { code: "rusqlite".to_owned(), message: error.to_string(), class: Class::Failed }
        }
    }
}

/// Calls `row` for each row of a statement, whatever it is.
fn each(
    connection: &Connection,
    sql: &str,
    row: &mut dyn FnMut(&rusqlite::Row<'_>, usize) -> rusqlite::Result<()>,
) -> Result<(), Error> {
    let mut walk = || {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(found) = rows.next()? {
            row(found, columns)?;
        }
        Ok(())
    };
    walk().map_err(sql_error)
}

fn run(connection: &Connection, sql: &str) -> Result<(), Error> {
    each(connection, sql, &mut |_, _| Ok(()))
}

fn open(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sql_error)?;
    connection.busy_timeout(BUSY).map_err(sql_error)?;
    Ok(connection)
}

/// A database in use. While it lives, its files are marked as being written.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    path: PathBuf,
    // While it is open, the log stays the one that was marked.
    _keeper: Mutex<Connection>,
    // Files of the database are closed last: closing one ends the locks of the whole process on it.
    files: Vec<Writing>,
    _directory: WorkDir,
}

impl SqliteStore {
    /// Takes the finished build in a directory.
    ///
    /// # Errors
    /// [`Unfit`] where there is none, or it is not Assay's.
    pub(crate) fn open(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let place = directory.display().to_string();
        if !path.exists() {
            let half = directory.join(PART).exists();
            return Err(if half { Unfit::HalfBuilt { place } } else { Unfit::Missing { place } }.into());
        }
        let directory = WorkDir::create(directory, env!("CARGO_PKG_VERSION"), "oltp");
        let directory = directory.map_err(|error| foreign(&place, error.to_string()))?;
        let mut files = vec![taken(&path, &place)?];
        check_companions(&path, &place)?;
        // That it is ours is known behind a power cut, too. Not the database itself: closing it would end locks.
        for marked in [directory.path().join(LEDGER_FILE), directory.path().to_owned()] {
            if let Ok(file) = File::open(&marked) {
                file.sync_all().map_err(|source| Error::File { path: marked, source })?;
            }
        }
        // The log and its index are made by the first reader, or left by a process that was killed.
        let first = open(&path)?;
        run(&first, "SELECT count(*) FROM sqlite_schema")?;
        for companion in COMPANIONS {
            let name = directory.path().join(format!("{FILE}{companion}"));
            if name.exists() {
                files.push(made(&name)?);
            }
        }
        Ok(SqliteStore { path, _keeper: Mutex::new(first), files, _directory: directory })
    }

    /// A connection with the settings of a run.
    pub(crate) fn connect(&self, synchronous: Synchronous) -> Result<Connection, Error> {
        let connection = open(&self.path)?;
        run(&connection, &format!("PRAGMA synchronous = {}", synchronous.name()))?;
        run(&connection, &format!("PRAGMA cache_size = -{CACHE_KIB}"))?;
        Ok(connection)
    }

    /// A connection for single statements.
    pub(crate) fn admin(&self) -> Result<SqliteAdmin, Error> {
        let place = self.path.parent().unwrap_or(&self.path).display().to_string();
        Ok(SqliteAdmin { connection: self.connect(Synchronous::Full)?, place })
    }

    /// Makes an empty ledger of ours in the directory.
    pub(crate) fn begin_ledger(&mut self, path: &Path) -> Result<File, Error> {
        let failed = |source| Error::File { path: path.to_owned(), source };
        let place = self.path.parent().unwrap_or(&self.path).display().to_string();
        if path.symlink_metadata().is_err() {
            File::create_new(path).and_then(|file| claim_file(&file, path)).map_err(failed)?;
        }
        self.files.push(taken(path, &place)?);
        let file = File::options().append(true).open(path).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        Ok(file)
    }
}

/// Reads what SQLite and its users count.
pub(crate) struct SqliteWatch {
    admin: SqliteAdmin,
    path: PathBuf,
    users: Arc<Vec<UserCounts>>,
}

impl SqliteWatch {
    pub(crate) fn new(admin: SqliteAdmin, store: &SqliteStore, users: Arc<Vec<UserCounts>>) -> Self {
        SqliteWatch { admin, path: store.path.clone(), users }
    }

    /// How often the log was begun anew, which is how often a checkpoint had emptied it.
    fn log_rounds(&self) -> u32 {
        let mut header = [0; 16];
        let log = format!("{}-wal", self.path.display());
        let read = File::open(log).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut header));
        // Offset 12: the checkpoint sequence number, big-endian (sqlite.org/fileformat2.html, section 4.1).
        read.map_or(0, |()| u32::from_be_bytes([header[12], header[13], header[14], header[15]]))
    }
}

impl Watch for SqliteWatch {
    fn counts(&mut self) -> Result<Counts, Error> {
        let transactions: u64 = self.users.iter().map(|user| user.transactions.load(Ordering::Relaxed)).sum();
        Ok(Counts { transactions: transactions as i64, checkpoints: i64::from(self.log_rounds()) })
    }

    fn totals(&mut self) -> Result<Totals, Error> {
        let orders = number(&mut self.admin, "SELECT sum(d_next_o_id) FROM district")?;
        let pages = number(
            &mut self.admin,
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        )?;
        Ok(Totals { counts: self.counts()?, orders, database_bytes: pages, ..Totals::default() })
    }
}

fn foreign(place: &str, what: String) -> Error {
    Unfit::Foreign { place: place.to_owned(), what }.into()
}

/// A file of ours, marked as being written.
fn taken(path: &Path, place: &str) -> Result<Writing, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let file = Arc::new(File::options().read(true).write(true).open(path).map_err(failed)?);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.symlink_metadata().map_err(failed)?.is_symlink() {
        return Err(foreign(place, format!("'{name}', a symbolic link")));
    }
    let writing = Writing::begin(Arc::clone(&file), path, false).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    writing.ok_or_else(|| foreign(place, format!("'{name}', made or changed by another program")))
}

/// Where the ledger is that lies beside the database in this directory.
pub(crate) fn ledger(directory: &Path) -> PathBuf {
    directory.join("ledger")
}

/// The files of the database in this directory, whether they are there or not.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let companions = COMPANIONS.iter().map(|end| directory.join(format!("{FILE}{end}")));
    [FILE, PART].iter().map(|name| directory.join(name)).chain(companions).collect()
}

/// A file that SQLite made for us just now.
fn made(path: &Path) -> Result<Writing, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let file = File::options().read(true).write(true).open(path).map_err(failed)?;
    claim_file(&file, path).map_err(failed)?;
    let writing = Writing::begin(Arc::new(file), path, false).map_err(failed)?;
    writing.ok_or_else(|| failed(std::io::Error::other("it could not be marked as Assay's")))
}

/// A connection for single statements.
#[derive(Debug)]
pub(crate) struct SqliteAdmin {
    connection: Connection,
    place: String,
}

impl Admin for SqliteAdmin {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        run(&self.connection, sql)
    }

    fn numbers(&mut self, sql: &str, row: &mut dyn FnMut(&Numbers)) -> Result<(), Error> {
        let mut values: Vec<Option<i64>> = Vec::new();
        each(&self.connection, sql, &mut |found, columns| {
            values.clear();
            for column in 0..columns {
                values.push(found.get(column)?);
            }
            row(&values);
            Ok(())
        })
    }

    fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut all = Vec::new();
        each(&self.connection, sql, &mut |found, columns| {
            let texts = (0..columns).map(|column| found.get::<_, Option<String>>(column));
            all.push(texts.map(|text| Ok(text?.unwrap_or_default())).collect::<rusqlite::Result<_>>()?);
            Ok(())
        })?;
        Ok(all)
    }

    fn damage(&mut self) -> Result<Vec<String>, Error> {
        let rows = self.texts("PRAGMA integrity_check")?;
        Ok(rows.into_iter().flatten().filter(|line| line != "ok").collect())
    }
}
