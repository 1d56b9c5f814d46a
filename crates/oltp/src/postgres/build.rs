//! Loading a database into PostgreSQL: COPY of each table and warehouse, by several connections; keys and indexes afterwards.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::functions;
use super::{Connection, PostgresAdmin, SCHEMA, ServerUrl};
use crate::admin::{Admin, Facts};
use crate::error::{Error, Unfit};
use crate::progress::{Progress, Watcher};
use crate::rows::{Cell, Load, OF_WAREHOUSE, Rows};
use crate::schema::{BUILD_TABLE, CREATE_BUILD, Dialect, INDEXES, Table};

/// How often progress is told.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So many rows between two looks at the stop flag.
const ROWS_EVERY: u64 = 4096;

/// The functions, with the types by which one is named.
const FUNCTIONS: [(&str, &str); 5] = [
    ("assay_new_order", "integer, integer, integer, bigint, integer[], integer[], integer[], integer"),
    ("assay_payment", "integer, integer, integer, integer, integer, text, integer, bigint"),
    ("assay_order_status", "integer, integer, integer, text"),
    ("assay_delivery", "integer, integer, bigint"),
    ("assay_stock_level", "integer, integer, integer"),
];

/// Builds the database of `facts`; one that is there is replaced where `replace` says so.
///
/// # Errors
/// [`Unfit`]: there is one, or something that Assay did not make. What was begun is removed then, where the server is still there.
pub(crate) fn build(
    url: &ServerUrl,
    facts: &Facts,
    load: &Load,
    (replace, threads): (bool, u32),
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let mut admin = PostgresAdmin::connect(url)?;
    admin.claim()?;
    match admin.expect_schema() {
        Ok(()) if replace => drop_schema(&mut admin)?,
        Ok(()) => {
            let place = admin.place();
            let warehouses = Facts::read(&mut admin)?.warehouses;
            return Err(Unfit::Exists { place, warehouses }.into());
        }
        Err(Error::Database(Unfit::Missing { .. })) => {}
        Err(error) => return Err(error),
    }
    make(&mut admin, facts)?;
    let built = fill(url, facts, load, threads, watcher).and_then(|()| {
        // Without it the first run would do it; another user's rights may not allow a checkpoint.
        admin.run("VACUUM ANALYZE")?;
        let _ = admin.run("CHECKPOINT");
        // A build that is said to be there survives a crash, whatever the server does with other commits.
        admin.run("SET synchronous_commit = on")?;
        Facts::loaded(&mut admin)
    });
    if built.is_err() {
        let _ = drop_schema(&mut admin);
    }
    built
}

/// Makes everything but the rows, in one transaction: a schema of ours is never without the words that say that it is.
fn make(admin: &mut PostgresAdmin, facts: &Facts) -> Result<(), Error> {
    let mut all = || {
        admin.run("BEGIN")?;
        admin.run(&format!("CREATE SCHEMA {SCHEMA}"))?;
        admin.run(CREATE_BUILD)?;
        facts.write(admin)?;
        Table::ALL.iter().try_for_each(|table| admin.run(&table.create(Dialect::Postgres)))?;
        functions::CREATE.iter().try_for_each(|function| admin.run(function))?;
        admin.run("COMMIT")
    };
    all().inspect_err(|_| drop(admin.run("ROLLBACK")))
}

/// Removes what [`build`] made, and nothing else; that the schema is ours was looked at.
///
/// # Errors
/// [`Unfit::ForeignSchema`]: something in the schema is not Assay's. The server refuses what others depend on.
pub(crate) fn drop_schema(admin: &mut PostgresAdmin) -> Result<(), Error> {
    let quoted = |names: &mut dyn Iterator<Item = &str>| {
        names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let tables = || Table::ALL.into_iter().map(Table::name).chain([BUILD_TABLE]);
    let foreign = admin.texts(&format!(
        "SELECT relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace \
         WHERE nspname = '{SCHEMA}' AND relkind NOT IN ('i', 't', 'c') AND relname NOT IN ({}) UNION ALL \
         SELECT proname FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace \
         WHERE nspname = '{SCHEMA}' AND proname NOT IN ({})",
        quoted(&mut tables()),
        quoted(&mut FUNCTIONS.iter().map(|function| function.0)),
    ))?;
    if let Some(name) = foreign.first().and_then(|row| row.first()) {
        let what = format!("'{name}' in the schema {SCHEMA}");
        return Err(Unfit::ForeignSchema { place: admin.place(), what }.into());
    }
    // Statements of one query are one transaction: all of it goes, or nothing.
    let mut statements: Vec<String> = FUNCTIONS
        .iter()
        .map(|(name, types)| format!("DROP FUNCTION IF EXISTS {SCHEMA}.{name}({types})"))
        .chain(tables().map(|table| format!("DROP TABLE IF EXISTS {SCHEMA}.{table}")))
        .collect();
    statements.push(format!("DROP SCHEMA {SCHEMA}"));
    admin.run(&statements.join("; "))
}

/// What the loading connections share.
struct Work<'w> {
    load: &'w Load,
    warehouses: u32,
    next: AtomicU32,
    rows: AtomicU64,
    stop: AtomicBool,
}

fn fill(
    url: &ServerUrl,
    facts: &Facts,
    load: &Load,
    threads: u32,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    let warehouses = facts.warehouses;
    let (next, rows, stop) = (AtomicU32::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let work = Work { load, warehouses, next, rows, stop };
    let total = load.scale.rows(warehouses);
    let copy = || copy_warehouses(url, &work);
    side_by_side(threads.min(warehouses + 1), &copy, &work, total, watcher)?;
    let keys = Table::ALL.into_iter().filter_map(Table::add_key);
    let statements: Vec<String> = keys.chain(INDEXES.map(str::to_owned)).collect();
    work.next.store(0, Ordering::Relaxed);
    let index = || make_indexes(url, &statements, &work);
    side_by_side(threads, &index, &work, total, watcher)
}

/// Runs `part` by several threads; the first error counts, and ends the others.
fn side_by_side(
    threads: u32,
    part: &(dyn Fn() -> Result<(), Error> + Sync),
    work: &Work<'_>,
    total: u64,
    watcher: &mut Watcher<'_>,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let end = || {
            let done = part();
            work.stop.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        };
        let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(end)).collect();
        while !handles.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(LOOK_EVERY);
            (watcher.progress)(Progress { rows: work.rows.load(Ordering::Relaxed), rows_total: total });
            if (watcher.stopped)() {
                work.stop.store(true, Ordering::Relaxed);
            }
        }
        let ends = handles.into_iter().map(|handle| handle.join().unwrap_or(Err(Error::Interrupted)));
        // One that was only told to end says the least.
        let mut errors: Vec<Error> = ends.filter_map(Result::err).collect();
        errors.sort_by_key(|error| matches!(error, Error::Interrupted));
        errors.into_iter().next().map_or(Ok(()), Err)
    })
}

fn copy_warehouses(url: &ServerUrl, work: &Work<'_>) -> Result<(), Error> {
    let mut connection = Connection::open(url)?;
    connection.run(&format!("SET search_path TO {SCHEMA}"))?;
    loop {
        let w = work.next.fetch_add(1, Ordering::Relaxed);
        if w > work.warehouses {
            return Ok(());
        }
        if w == 0 {
            copy(&mut connection, Table::Item, work, |rows| work.load.items(rows))?;
            continue;
        }
        for table in OF_WAREHOUSE {
            copy(&mut connection, table, work, |rows| work.load.of_warehouse(table, i64::from(w), rows))?;
        }
    }
}

fn make_indexes(url: &ServerUrl, statements: &[String], work: &Work<'_>) -> Result<(), Error> {
    let mut connection = Connection::open(url)?;
    connection.run(&format!("SET search_path TO {SCHEMA}"))?;
    loop {
        let at = work.next.fetch_add(1, Ordering::Relaxed) as usize;
        let Some(statement) = statements.get(at) else { return Ok(()) };
        if work.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        connection.run(statement)?;
    }
}

fn copy(
    connection: &mut Connection,
    table: Table,
    work: &Work<'_>,
    make: impl FnOnce(&mut dyn Rows) -> Result<(), Error>,
) -> Result<(), Error> {
    connection.copy_into(table.name())?;
    let mut rows = CopyRows { connection, work, buffer: Vec::new(), counted: 0 };
    let made = make(&mut rows).and_then(|()| rows.connection.copy(&mut rows.buffer, true));
    rows.count();
    match made {
        Ok(()) => connection.copied(),
        Err(error) => {
            connection.copy_failed();
            Err(error)
        }
    }
}

/// Rows in the text form of COPY: cells hold letters and digits, so that nothing needs to be escaped.
struct CopyRows<'c, 'w> {
    connection: &'c mut Connection,
    work: &'c Work<'w>,
    buffer: Vec<u8>,
    counted: u64,
}

impl CopyRows<'_, '_> {
    fn count(&mut self) {
        self.work.rows.fetch_add(std::mem::take(&mut self.counted), Ordering::Relaxed);
    }
}

impl Rows for CopyRows<'_, '_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        use std::io::Write as _;
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                self.buffer.push(b'\t');
            }
            match cell {
                // Writing to memory does not fail.
                Cell::Int(value) => drop(write!(self.buffer, "{value}")),
                Cell::Text(text) => self.buffer.extend(text.as_bytes()),
                Cell::Null => self.buffer.extend(b"\\N"),
            }
        }
        self.buffer.push(b'\n');
        self.counted += 1;
        if self.counted == ROWS_EVERY {
            self.count();
            if self.work.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
        }
        self.connection.copy(&mut self.buffer, false)
    }
}
