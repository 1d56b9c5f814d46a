//! Loading a database into SQLite: under another name until it is complete, so that an interrupted one is never taken for one.

use std::fs::File;
use std::path::Path;

use assay_host::workdir::{WorkDir, claim_file, is_own_file};
use rusqlite::{Connection, Statement};

use super::{FILE, PART, SqliteAdmin, SqliteStore, check_companions, foreign, made, open, run, sql_error};
use crate::admin::Facts;
use crate::error::{Error, Unfit};
use crate::progress::{Progress, Watcher};
use crate::rows::{Cell, Load, OF_WAREHOUSE, Rows};
use crate::schema::{CREATE_BUILD, Dialect, INDEXES, Table};

/// So many rows between two looks at the stop flag.
const LOOK_EVERY: u64 = 20_000;

/// Builds the database of `facts` in `directory`; one that is there is replaced where `replace` says so.
///
/// # Errors
/// [`Unfit`]: there is one, or something that Assay did not make. What was begun is removed then.
pub(crate) fn build(
    directory: &WorkDir,
    facts: &Facts,
    load: &Load,
    replace: bool,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let (path, part) = (directory.path().join(FILE), directory.path().join(PART));
    let place = directory.path().display().to_string();
    if path.exists() && !replace {
        let warehouses = Facts::read(&mut SqliteStore::open(directory.path())?.admin()?)?.warehouses;
        return Err(Unfit::Exists { place, warehouses }.into());
    }
    for old in [&path, &part] {
        check_companions(old, &place)?;
    }
    for old in [&path, &part] {
        remove(old, &place)?;
    }
    let failed = |source| Error::File { path: part.clone(), source };
    File::create_new(&part).map_err(failed)?;
    // Left behind by a kill, it is known as a file of ours that was being written.
    let writing = made(&part)?;
    let filled = fill(&part, &place, facts, load, watcher);
    drop(writing);
    let built = filled.and_then(|()| finish(&part, &path));
    if built.is_err() {
        // Without what SQLite left beside it: there was no journal.
        let _ = std::fs::remove_file(&part);
    }
    built
}

/// Removes a file of ours, with what SQLite left beside it.
fn remove(path: &Path, place: &str) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    if !is_own_file(path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Err(foreign(place, format!("'{name}', made or changed by another program")));
    }
    for name in super::COMPANIONS.map(|end| format!("{}{end}", path.display())) {
        let _ = std::fs::remove_file(name);
    }
    std::fs::remove_file(path).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn fill(
    part: &Path,
    place: &str,
    facts: &Facts,
    load: &Load,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let connection = open(part)?;
    for pragma in
        ["journal_mode = OFF", "synchronous = OFF", "cache_size = -131072", "locking_mode = EXCLUSIVE"]
    {
        run(&connection, &format!("PRAGMA {pragma}"))?;
    }
    run(&connection, CREATE_BUILD)?;
    for table in Table::ALL {
        run(&connection, &table.create(Dialect::Sqlite))?;
    }
    let total = load.scale.rows(facts.warehouses);
    let Watcher { progress, stopped } = watcher;
    let mut counter = Counter { rows: 0, total, progress: &mut **progress, stopped: *stopped };
    in_one(&connection, |connection| insert(connection, Table::Item, &mut counter, |rows| load.items(rows)))?;
    for w in 1..=i64::from(facts.warehouses) {
        in_one(&connection, |connection| {
            OF_WAREHOUSE.iter().try_for_each(|table| {
                insert(connection, *table, &mut counter, |rows| load.of_warehouse(*table, w, rows))
            })
        })?;
    }
    for index in INDEXES {
        counter.look()?;
        run(&connection, index)?;
    }
    run(&connection, "ANALYZE")?;
    let mut admin = SqliteAdmin { connection, place: place.to_owned() };
    facts.write(&mut admin)?;
    Facts::loaded(&mut admin)?;
    run(&admin.connection, "PRAGMA journal_mode = WAL")?;
    run(&admin.connection, "PRAGMA locking_mode = NORMAL")
}

/// Does something in one transaction.
fn in_one(connection: &Connection, work: impl FnOnce(&Connection) -> Result<(), Error>) -> Result<(), Error> {
    run(connection, "BEGIN")?;
    work(connection)?;
    run(connection, "COMMIT")
}

/// Makes it durable, then gives it its name.
fn finish(part: &Path, path: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    let file = File::options().read(true).write(true).open(part).map_err(failed(part))?;
    file.sync_all().map_err(failed(part))?;
    std::fs::rename(part, path).map_err(failed(path))?;
    claim_file(&file, path).map_err(failed(path))?;
    let directory = path.parent().unwrap_or(path);
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed(directory))
}

/// Counts rows, and looks up from time to time.
struct Counter<'c> {
    rows: u64,
    total: u64,
    progress: &'c mut dyn FnMut(Progress),
    stopped: &'c (dyn Fn() -> bool + Sync),
}

impl Counter<'_> {
    fn count(&mut self) -> Result<(), Error> {
        self.rows += 1;
        if self.rows.is_multiple_of(LOOK_EVERY) { self.look() } else { Ok(()) }
    }

    fn look(&mut self) -> Result<(), Error> {
        (self.progress)(Progress { rows: self.rows, rows_total: self.total });
        if (self.stopped)() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Inserts rows of one table.
struct SqliteRows<'c, 'd> {
    statement: Statement<'c>,
    count: &'d mut dyn FnMut() -> Result<(), Error>,
}

impl Rows for SqliteRows<'_, '_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        for (at, cell) in (1..).zip(cells) {
            match *cell {
                Cell::Int(value) => self.statement.raw_bind_parameter(at, value),
                Cell::Text(text) => self.statement.raw_bind_parameter(at, text),
                Cell::Null => self.statement.raw_bind_parameter(at, rusqlite::types::Null),
            }
            .map_err(sql_error)?;
        }
        self.statement.raw_execute().map_err(sql_error)?;
        (self.count)()
    }
}

/// Has the rows of a table made, and inserts them.
fn insert(
    connection: &Connection,
    table: Table,
    counter: &mut Counter<'_>,
    make: impl FnOnce(&mut dyn Rows) -> Result<(), Error>,
) -> Result<(), Error> {
    let statement = connection.prepare(&table.insert()).map_err(sql_error)?;
    make(&mut SqliteRows { statement, count: &mut || counter.count() })
}
