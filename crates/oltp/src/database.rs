//! A database that a command or a job of a plan is about: where it is, how large it becomes, how it is built, used and checked.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use assay_host::claim::{Access, Claims};
use assay_host::workdir::{WorkDir, is_assay_dir};
use assay_host::{HostRoot, space};
use assay_workload::rng::derive_seed;
use assay_workload::units::Nanos;

use crate::admin::{Admin, Facts};
use crate::conditions::{self, Checked, Held};
use crate::error::{Asked, Error, Unfit};
use crate::inputs::{HomeWarehouse, Mix};
use crate::ledger::Ledger;
use crate::options::{Given, WHERE};
use crate::postgres::{self, PostgresAdmin, ServerUrl};
use crate::presence;
use crate::progress::Watcher;
use crate::rows::Load;
use crate::scale::{Scale, advised_warehouses};
use crate::settings::{Place, Settings, Synchronous};
use crate::sqlite::{self, SqliteStore};

/// The directory that is made in the one that was named.
const WORK_DIR: &str = "assay-oltp";
const WAREHOUSES_DEFAULT: u32 = 10;
const WAREHOUSES_MAX: u32 = 100_000;
const USERS_MAX: u32 = 10_000;
const RAMP_DEFAULT: Nanos = Nanos::from_secs(20);
const TIME_DEFAULT: Nanos = Nanos::from_secs(60);

/// Where and when a command is given: what only the program around it knows.
#[derive(Debug, Clone)]
pub struct Here {
    /// Microseconds since 1970.
    pub now_us: i64,
    /// A random number.
    pub random: u64,
    /// Processors that may be used.
    pub cpus: u32,
    /// The password of a server, where its URL has none.
    pub password: Option<String>,
    /// Where Assay keeps what it has to remember.
    pub data: Option<PathBuf>,
    /// Whether the ledger may replace a file that Assay did not make.
    pub force: bool,
}

/// Which database is meant.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    Postgres(ServerUrl),
}

impl Database {
    pub(crate) fn of(given: &Given, here: &Here) -> Result<Self, Error> {
        let place = given.text(WHERE).unwrap_or(".");
        if postgres::is_url(place) || place.contains("://") {
            let url = ServerUrl::parse(place)?;
            return Ok(Database::Postgres(url.or_password(here.password.clone())));
        }
        if place.split_whitespace().any(|word| word.starts_with("host=") || word.starts_with("dbname=")) {
            let why = "a server is named by a URL, not by words with '='".to_owned();
            return Err(Asked::Url { url: "host=... dbname=...".to_owned(), why }.into());
        }
        let path = Path::new(place);
        let directory = match std::fs::canonicalize(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return new_directory(path),
            found => found.map_err(|source| Error::File { path: path.to_owned(), source })?,
        };
        if !directory.is_dir() {
            return Err(not_a_place(path, "is not a directory"));
        }
        Ok(Database::Sqlite(if is_assay_dir(&directory) { directory } else { directory.join(WORK_DIR) }))
    }

    /// That of a job of a plan: on the server that is given, else in `directory`.
    pub(crate) fn in_plan(given: &Given, directory: &Path, password: Option<String>) -> Result<Self, Error> {
        match given.text(WHERE) {
            Some(url) => Ok(Database::Postgres(ServerUrl::parse(url)?.or_password(password))),
            None => Ok(Database::Sqlite(directory.to_owned())),
        }
    }

    /// What keeps it.
    pub(crate) fn product(&self) -> &'static str {
        match self {
            Database::Sqlite(_) => "SQLite",
            Database::Postgres(_) => "PostgreSQL",
        }
    }

    /// Whether the numbers that were given are possible.
    pub(crate) fn check_sizes(&self, given: &Given) -> Result<(), Error> {
        if !given.has("size") {
            warehouses_given(given)?;
        }
        loaders(given)?;
        Ok(())
    }

    /// How many warehouses are to be built.
    pub(crate) fn warehouses(&self, given: &Given, here: &Here) -> Result<u32, Error> {
        warehouses(given, self, here)
    }

    /// Checks it.
    pub(crate) fn check(
        &self,
        given: &Given,
        here: &Here,
        say: &mut dyn FnMut(&str),
        stopped: &dyn Fn() -> bool,
    ) -> Result<Report, Error> {
        match self {
            Database::Sqlite(directory) => {
                let store = SqliteStore::open(directory)?;
                check_all(&mut store.admin()?, self, (given, here), say, stopped)
            }
            Database::Postgres(url) => {
                let mut admin = PostgresAdmin::connect(url)?;
                admin.share()?;
                admin.expect_schema()?;
                check_all(&mut admin, self, (given, here), say, stopped)
            }
        }
    }

    /// What it says of its build.
    pub(crate) fn facts(&self) -> Result<Facts, Error> {
        match self {
            Database::Sqlite(directory) => Facts::read(&mut SqliteStore::open(directory)?.admin()?),
            Database::Postgres(url) => {
                let mut admin = PostgresAdmin::connect(url)?;
                admin.expect_schema()?;
                Facts::read(&mut admin)
            }
        }
    }

    /// Where acknowledged commits are written down.
    pub(crate) fn ledger(&self, given: &Given, facts: &Facts, here: &Here) -> Result<PathBuf, Error> {
        if let Some(path) = given.text("ledger") {
            return std::path::absolute(path).map_err(|source| Error::File { path: path.into(), source });
        }
        match self {
            Database::Sqlite(directory) => Ok(sqlite::ledger(directory)),
            Database::Postgres(_) => {
                let data = here.data.as_ref().map(|data| data.join("oltp").join(&facts.build));
                let nowhere = || Asked::Option {
                    option: WHERE,
                    why: "names a server, and there is no place for the ledger: set HOME or XDG_DATA_HOME"
                        .to_owned(),
                };
                Ok(data.ok_or_else(nowhere)?)
            }
        }
    }

    /// Its files on this machine.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Database::Sqlite(directory) => sqlite::files(directory),
            Database::Postgres(_) => Vec::new(),
        }
    }

    /// Has an embedded database for a command, which no run works on meanwhile; on a server, what works on it claims it.
    ///
    /// # Errors
    /// [`Error::InUse`]
    pub(crate) fn claim(&self) -> Result<Claims, Error> {
        let claims = Claims::default();
        if let Database::Sqlite(directory) = self {
            claims.take(&HostRoot::real(), directory, Access::Exclusive)?;
        }
        Ok(claims)
    }

    /// Where its files are, or will be; `None`: on another host, or not known.
    fn directory(&self) -> Option<PathBuf> {
        match self {
            Database::Sqlite(directory) => Some(directory.ancestors().find(|path| path.exists())?.to_owned()),
            Database::Postgres(url) => PostgresAdmin::connect(url).ok()?.data_directory(),
        }
    }

    /// Space of its file system; `None`: not known.
    fn usable_bytes(&self) -> Option<u64> {
        let space = space::of(&self.directory()?).ok();
        space.filter(|space| space.is_known()).map(|space| space.usable_bytes())
    }

    /// Bytes that a database has there now, which goes when it is replaced.
    fn replaced_bytes(&self) -> u64 {
        match self {
            Database::Sqlite(directory) => {
                std::fs::metadata(directory.join(sqlite::FILE)).map_or(0, |meta| meta.len())
            }
            Database::Postgres(url) => {
                PostgresAdmin::connect(url).and_then(|mut admin| admin.schema_bytes()).unwrap_or(0)
            }
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Database::Sqlite(directory) => directory.display().to_string(),
            Database::Postgres(url) => url.shown(),
        }
    }
}

fn not_a_place(path: &Path, what: &str) -> Error {
    let help = "give a directory for SQLite, or postgres://USER@HOST:PORT/DATABASE";
    Unfit::Directory { what: format!("{} {what}; {help}", path.display()) }.into()
}

/// A directory that a build makes, in one that is there.
fn new_directory(path: &Path) -> Result<Database, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let (above, name) = (path.parent(), path.file_name());
    let Some((above, name)) = above.zip(name).filter(|_| path.symlink_metadata().is_err()) else {
        return Err(not_a_place(path, "does not exist"));
    };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    match std::fs::canonicalize(above) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(not_a_place(above, "does not exist")),
        found => Ok(Database::Sqlite(found.map_err(failed)?.join(name))),
    }
}

fn warehouses_given(given: &Given) -> Result<Option<u32>, Asked> {
    let possible = format!("a number of warehouses, 1 to {WAREHOUSES_MAX}");
    given.value::<u32>("warehouses", |n| (1..=WAREHOUSES_MAX).contains(n), &possible)
}

fn loaders(given: &Given) -> Result<Option<u32>, Asked> {
    given.value::<u32>("loaders", |n| (1..=256).contains(n), "a number of connections, 1 to 256")
}

/// How many warehouses are to be built.
pub(crate) fn warehouses(given: &Given, database: &Database, here: &Here) -> Result<u32, Error> {
    let asked = warehouses_given(given)?;
    given.value::<String>(
        "size",
        |size| size == "auto",
        "'auto'; a number of warehouses is given by --warehouses",
    )?;
    Ok(match (asked, given.has("size")) {
        (Some(_), true) => given.without("size", "and --warehouses exclude each other").map(|()| 0)?,
        (Some(warehouses), false) => warehouses,
        (None, true) => advised_warehouses(here.cpus, database.usable_bytes()),
        (None, false) => WAREHOUSES_DEFAULT,
    })
}

fn seed(given: &Given, here: &Here) -> Result<u64, Error> {
    Ok(given.value("seed", |_| true, "a whole number")?.unwrap_or(here.random))
}

/// Builds a database that a plan asks for.
pub(crate) fn built(
    database: &Database,
    given: &Given,
    (scale, here): (Scale, &Here),
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<String, Error> {
    let mut watcher = Watcher { progress: &mut |_| {}, stopped };
    build_in(database, given, (scale, here), &mut watcher)
}

pub(crate) fn build_in(
    database: &Database,
    given: &Given,
    (scale, here): (Scale, &Here),
    watcher: &mut Watcher<'_>,
) -> Result<String, Error> {
    let warehouses = warehouses(given, database, here)?;
    let loaders = loaders(given)?;
    let seed = seed(given, here)?;
    let load = Load::new(scale, seed, here.now_us);
    let facts = Facts {
        build: format!("{:016x}", derive_seed(here.random, here.now_us as u64)),
        warehouses,
        scale,
        load_last: load.nurand.last,
        functions: matches!(database, Database::Postgres(_)),
        runs: 0,
    };
    let replace = given.has("rebuild");
    match database {
        Database::Sqlite(directory) => {
            given.without("loaders", "is for PostgreSQL: SQLite is loaded by one connection")?;
            room(database, warehouses, scale)?;
            let work = work_dir(directory)?;
            let built = sqlite::build(&work, &facts, &load, replace, watcher);
            if built.is_err() && work.created() {
                // Nothing was made in it.
                let _ = work.remove();
            }
            built?;
        }
        Database::Postgres(url) => {
            let threads = loaders.unwrap_or(here.cpus).max(1);
            room(database, warehouses, scale)?;
            postgres::build(url, &facts, &load, (replace, threads), watcher)?;
        }
    }
    let plural = if warehouses == 1 { "" } else { "s" };
    Ok(format!("built {warehouses} warehouse{plural} in {}", database.shown()))
}

fn work_dir(directory: &Path) -> Result<WorkDir, Error> {
    let work = WorkDir::create(directory, env!("CARGO_PKG_VERSION"), "oltp");
    work.map_err(|error| Unfit::Directory { what: error.to_string() }.into())
}

/// Refuses a database that does not fit. One that is replaced goes first.
fn room(database: &Database, warehouses: u32, scale: Scale) -> Result<(), Error> {
    let needed_bytes = u64::from(warehouses) * scale.warehouse_bytes();
    let Some(usable_bytes) = database.usable_bytes() else { return Ok(()) };
    let usable_bytes = usable_bytes.saturating_add(database.replaced_bytes());
    if usable_bytes < needed_bytes {
        let path = database.directory().unwrap_or_default();
        return Err(Asked::Space { warehouses, needed_bytes, usable_bytes, path }.into());
    }
    Ok(())
}

/// What the users of a run do on a database with these facts.
pub(crate) fn settled(
    database: &Database,
    how: &How,
    facts: Facts,
    given: &Given,
    here: &Here,
) -> Result<Settings, Error> {
    let ledger = database.ledger(given, &facts, here)?;
    if let (Database::Postgres(_), None, Some(above)) = (database, given.text("ledger"), ledger.parent()) {
        std::fs::create_dir_all(above).map_err(|source| Error::File { path: above.to_owned(), source })?;
    }
    let place = match database {
        Database::Sqlite(directory) => {
            Place::Sqlite { directory: directory.clone(), synchronous: how.synchronous }
        }
        Database::Postgres(url) => Place::Postgres { url: url.shown(), server_side: how.server_side },
    };
    Ok(Settings {
        place,
        build: facts.build,
        warehouses: facts.warehouses,
        scale: facts.scale,
        load_last: facts.load_last,
        mix: how.mix,
        home: how.home,
        thinks: how.thinks,
        ledger,
        started_us: here.now_us,
    })
}

/// How a run is done.
#[derive(Debug)]
pub(crate) struct How {
    pub(crate) name: String,
    pub(crate) users: Option<u32>,
    pub(crate) mix: Mix,
    pub(crate) home: HomeWarehouse,
    pub(crate) ramp: Nanos,
    pub(crate) time: Nanos,
    pub(crate) rate: Option<f64>,
    pub(crate) poisson: bool,
    pub(crate) thinks: bool,
    pub(crate) synchronous: Synchronous,
    pub(crate) server_side: bool,
    pub(crate) tolerated: u64,
    pub(crate) seed: Option<u64>,
}

impl How {
    /// What the transactions are, in words.
    pub(crate) fn words(&self, database: &Database) -> String {
        let place = match database {
            Database::Sqlite(_) => Place::Sqlite { directory: PathBuf::new(), synchronous: self.synchronous },
            Database::Postgres(url) => Place::Postgres { url: url.shown(), server_side: self.server_side },
        };
        let home = if self.home == HomeWarehouse::Fixed { ", one home warehouse per user" } else { "" };
        let thinks = if self.thinks { ", keying and think time" } else { "" };
        format!("{}, mix {}{home}{thinks}", place.words(), self.mix.name())
    }

    pub(crate) fn of(given: &Given, database: &Database) -> Result<Self, Error> {
        let time = |option, possible: &str| given.value::<Nanos>(option, |time| time.0 < 1 << 60, possible);
        let rate = given.value::<f64>("rate", |rate| *rate > 0.0 && rate.is_finite(), "a number above 0")?;
        if rate.is_some() && given.has("think") {
            given.without("rate", "and --think exclude each other: think times set the rate")?;
        }
        if rate.is_none() {
            given.without("poisson", "needs --rate")?;
        }
        match database {
            Database::Sqlite(_) => given.without("server-side", "is for PostgreSQL: SQLite has no server")?,
            Database::Postgres(_) => given.without(
                "synchronous",
                "is for SQLite; on PostgreSQL set synchronous_commit of the server or of the user",
            )?,
        }
        let measured = time("time", "a time such as 30s or 5m")?.unwrap_or(TIME_DEFAULT);
        if measured.0 == 0 {
            return Err(Asked::Option { option: "time", why: "of 0 measures nothing".to_owned() }.into());
        }
        let engine = match database {
            Database::Sqlite(_) => "sqlite",
            Database::Postgres(_) => "postgresql",
        };
        Ok(How {
            name: given.text("name").map_or_else(|| format!("oltp-{engine}"), str::to_owned),
            users: given.value(
                "users",
                |n| (1..=USERS_MAX).contains(n),
                &format!("a number of users, 1 to {USERS_MAX}"),
            )?,
            mix: given.one_of("mix", &Mix::NAMES)?,
            home: given.one_of("home", &[("all", HomeWarehouse::All), ("fixed", HomeWarehouse::Fixed)])?,
            ramp: time("ramp", "a time such as 20s or 2m")?.unwrap_or(RAMP_DEFAULT),
            time: measured,
            rate,
            poisson: given.has("poisson"),
            thinks: given.has("think"),
            synchronous: given.one_of("synchronous", &Synchronous::NAMES)?,
            server_side: given.has("server-side"),
            tolerated: given.value("tolerate", |_| true, "a number of transactions")?.unwrap_or(0),
            seed: given.value("seed", |_| true, "a whole number")?,
        })
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Which database.
    pub database: String,
    /// One after the other.
    pub checked: Vec<Checked>,
}

impl Report {
    /// How many checks did not hold.
    pub fn failed(&self) -> usize {
        self.checked.iter().filter(|checked| matches!(checked.held, Held::No { .. })).count()
    }

    /// A line each.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.database);
        for Checked { what, held } in &self.checked {
            let line = match held {
                Held::Yes => format!("  holds        {what}\n"),
                Held::No { rows, example } => {
                    format!("  DOES NOT HOLD  {what}: {rows} times, the first: {example}\n")
                }
                Held::NotAsked(why) => format!("  not checked  {what} ({why})\n"),
            };
            text.push_str(&line);
        }
        text
    }
}

fn check_all(
    admin: &mut dyn Admin,
    database: &Database,
    (given, here): (&Given, &Here),
    say: &mut dyn FnMut(&str),
    stopped: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let facts = Facts::read(admin)?;
    let path = database.ledger(given, &facts, here)?;
    let ledger = Ledger::read(&path, &facts.build)?;
    if given.text("ledger").is_some() && !ledger.is_there() {
        let why = format!("{} does not exist", path.display());
        return Err(Asked::Option { option: "ledger", why }.into());
    }
    let damage = admin.damage()?;
    let mut checked = Vec::new();
    if let Database::Sqlite(_) = database {
        let held = match damage.first() {
            None => Held::Yes,
            Some(first) => Held::No { rows: damage.len() as u64, example: first.clone() },
        };
        checked.push(Checked { what: "integrity of the file (PRAGMA integrity_check)".to_owned(), held });
    }
    checked.extend(conditions::check(admin, &facts, say, stopped)?);
    checked.extend(presence::check(admin, &facts, say, stopped)?);
    checked.push(ledger.check(admin, facts.runs)?);
    Ok(Report { database: database.shown(), checked })
}
