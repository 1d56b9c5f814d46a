//! The history of runs in SQLite: made of the run directories, and made again of them at any time.
//!
//! Nothing is only here: tags are files of the runs. A run is read again when its directory or its summary has changed since
//! (by modification time). An index of another version is thrown away.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use assay_results::Verdict;
use assay_results::store::{self, RUN_FILE, RunBrief, RunDir, RunState};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

/// Of this crate's tables: another number is another layout, or other contents.
const VERSION: i64 = 1;
/// The head of a file of SQLite, up to what it is of.
const HEAD_BYTES: usize = 72;
/// What the head of the file says that it is of.
const APPLICATION: i32 = i32::from_be_bytes(*b"assy");
/// Runs that are put into the index in one transaction.
const BATCH: usize = 50;
/// What was changed so shortly before it was read may change again without another modification time.
const SETTLED: Duration = Duration::from_secs(2);

const TABLES: &str = "
    CREATE TABLE runs (dir TEXT PRIMARY KEY, stamp TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
        series TEXT NOT NULL, host TEXT NOT NULL, target TEXT NOT NULL, started TEXT NOT NULL, elapsed_s REAL,
        verdict TEXT NOT NULL, state TEXT NOT NULL, tags TEXT NOT NULL, words TEXT NOT NULL);
    CREATE INDEX by_start ON runs (started DESC, dir DESC);
    CREATE INDEX by_id ON runs (id);
    CREATE INDEX by_name ON runs (name, started);
    CREATE TABLE tags (dir TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (dir, tag));
    CREATE INDEX by_tag ON tags (tag);
    CREATE TABLE figures (dir TEXT NOT NULL, place INTEGER NOT NULL, test TEXT NOT NULL, value REAL NOT NULL,
        unit TEXT NOT NULL, p99_ns REAL, verdict TEXT NOT NULL, PRIMARY KEY (dir, place));
";

/// Why the history cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// SQLite refused.
    #[error("the index of runs: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The directory of runs cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A run as the history shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The name of its directory.
    pub dir: String,
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// The series; empty: none.
    pub series: String,
    /// The host; empty: not known.
    pub host: String,
    /// The first target; empty: none.
    pub target: String,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// How long it took, seconds; `None`: it has no result.
    pub elapsed_s: Option<f64>,
    /// The word of the verdict; empty: it has no result.
    pub verdict: String,
    /// `done`, `unfinished`, or why it cannot be read.
    pub state: String,
    /// Its tags, sorted.
    pub tags: Vec<String>,
}

/// What is looked for in the history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sought {
    /// Words that all have to be in the id, name, series, host, target or tags.
    pub words: String,
    /// Only runs with this tag.
    pub tag: Option<String>,
    /// Only runs with this verdict.
    pub verdict: Option<String>,
    /// Only runs of this plan.
    pub plan: Option<String>,
}

/// A run in the history of one test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    pub(crate) id: String,
    pub(crate) started: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) p99_ns: Option<f64>,
    pub(crate) verdict: String,
}

/// What the runs of one plan were made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) host: String,
    pub(crate) target: String,
    pub(crate) runs: u64,
}

/// The index.
#[derive(Debug)]
pub struct Index {
    root: PathBuf,
    connection: Connection,
}

/// Whether what has the name is no index of ours, damaged or not: then it is neither changed nor removed.
fn is_anothers(file: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(file) else { return false };
    let mut head = [0; HEAD_BYTES];
    let mut read = || File::open(file).and_then(|mut file| file.read_exact(&mut head));
    let is_ours = meta.is_file()
        && meta.nlink() == 1
        && (meta.len() == 0 || read().is_ok() && head[HEAD_BYTES - 4..] == APPLICATION.to_be_bytes());
    !is_ours
}

impl Index {
    /// Opens the index of the runs in `root`, in a file, or in memory without one. A file that cannot be used, or that is another's, is
    /// replaced by memory.
    ///
    /// # Errors
    /// When SQLite cannot even do that.
    pub fn open(root: &Path, file: Option<&Path>) -> Result<Self, IndexError> {
        let kept = file.filter(|file| !is_anothers(file)).and_then(|file| {
            let made = file.parent().map(fs::create_dir_all).transpose();
            made.ok()?;
            Self::opened(Connection::open(file).ok()?).ok().or_else(|| {
                // A damaged index of ours holds nothing that is not in the runs.
                fs::remove_file(file).ok()?;
                Self::opened(Connection::open(file).ok()?).ok()
            })
        });
        let connection = match kept {
            Some(connection) => connection,
            None => Self::opened(Connection::open_in_memory()?)?,
        };
        Ok(Index { root: root.to_owned(), connection })
    }

    fn opened(connection: Connection) -> Result<Connection, rusqlite::Error> {
        connection.busy_timeout(Duration::from_secs(2))?;
        // Before there is a log beside the file: it is to be in the file's own head.
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            connection.execute_batch(&format!(
                "BEGIN; DROP TABLE IF EXISTS runs; DROP TABLE IF EXISTS tags; DROP TABLE IF EXISTS figures; {TABLES}
                 PRAGMA user_version = {VERSION}; COMMIT;"
            ))?;
        }
        connection.query_row("SELECT count(*) FROM runs", [], |row| row.get::<_, i64>(0))?;
        Ok(connection)
    }

    /// Brings the index up to date with the run directories.
    ///
    /// # Errors
    /// When the directory of runs is there and cannot be read, or SQLite refuses.
    pub fn update(&mut self) -> Result<(), IndexError> {
        let there = scan(&self.root)?;
        self.apply(&there, |_, _| true).map(drop)
    }

    /// Brings the index up to date with what [`scan`] has seen, for as long as `go_on` says so of how much is done: runs looked at, and
    /// all of them. The first step is always done. Answers whether it is complete.
    pub(crate) fn apply(
        &mut self,
        there: &[(String, String)],
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> Result<bool, IndexError> {
        let mut known: HashMap<String, String> = {
            let mut query = self.connection.prepare("SELECT dir, stamp FROM runs")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<_, _>>()?
        };
        let mut changed: Vec<(String, String)> = Vec::new();
        for (dir, stamp) in there {
            if known.remove(dir).as_ref() != Some(stamp) {
                changed.push((dir.clone(), stamp.clone()));
            }
        }
        let gone: Vec<String> = known.into_keys().collect();
        self.write(&[], &gone)?;
        // The newest first: they are what is looked at.
        changed.sort_by(|a, b| b.cmp(a));
        let done = there.len() - changed.len();
        for (number, batch) in changed.chunks(BATCH).enumerate() {
            if !go_on(done + number * BATCH, there.len()) && number > 0 {
                return Ok(false);
            }
            let read: Vec<Entry> = batch.iter().filter_map(|(dir, stamp)| self.read(dir, stamp)).collect();
            let replaced: Vec<String> = batch.iter().map(|(dir, _)| dir.clone()).collect();
            self.write(&read, &replaced)?;
        }
        Ok(true)
    }

    fn read(&self, dir: &str, stamp: &str) -> Option<Entry> {
        let run = RunDir::open(&self.root.join(dir)).ok()?;
        let tags = store::load_tags(&run);
        let (stored, figures) = match run.read_brief() {
            Ok(brief) => (stored_of(&brief, dir, tags), brief.figures),
            Err(_) => (entry(run, dir, tags), Vec::new()),
        };
        Some(Entry { stored, stamp: stamp.to_owned(), figures })
    }

    /// Removes the entries of `gone`, then puts `entries` in.
    fn write(&mut self, entries: &[Entry], gone: &[String]) -> Result<(), IndexError> {
        if entries.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let change = self.connection.transaction()?;
        for table in ["runs", "tags", "figures"] {
            let mut remove = change.prepare(&format!("DELETE FROM {table} WHERE dir = ?1"))?;
            for dir in gone {
                remove.execute([dir])?;
            }
        }
        for entry in entries {
            put(&change, entry)?;
        }
        Ok(change.commit()?)
    }

    /// How many runs there are that are looked for, and a page of them, the newest first.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn find(
        &self,
        sought: &Sought,
        from: usize,
        number: usize,
    ) -> Result<(usize, Vec<Stored>), IndexError> {
        let (condition, mut values) = condition(sought);
        let count = format!("SELECT count(*) FROM runs {condition}");
        let count: i64 = self.connection.query_row(&count, params_from_iter(&values), |row| row.get(0))?;
        values.extend([Value::from(number as i64), Value::from(from as i64)]);
        let page = format!(
            "SELECT {COLUMNS} FROM runs {condition} ORDER BY started DESC, dir DESC LIMIT ?{} OFFSET ?{}",
            values.len() - 1,
            values.len()
        );
        let mut query = self.connection.prepare(&page)?;
        let rows = query.query_map(params_from_iter(&values), stored)?;
        Ok((usize::try_from(count).unwrap_or(0), rows.collect::<Result<_, _>>()?))
    }

    /// The run with this id: the newest of several.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn by_id(&self, id: &str) -> Result<Option<Stored>, IndexError> {
        let query = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1 ORDER BY started DESC LIMIT 1");
        Ok(self.connection.query_row(&query, [id], stored).optional()?)
    }

    /// All tags with the number of their runs.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn tags(&self) -> Result<Vec<(String, u64)>, IndexError> {
        self.counts("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag")
    }

    /// The names of plans with the number of their runs, the most used first.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn plans(&self) -> Result<Vec<(String, u64)>, IndexError> {
        self.counts("SELECT name, count(*) AS n FROM runs GROUP BY name ORDER BY n DESC, name LIMIT 200")
    }

    fn counts(&self, query: &str) -> Result<Vec<(String, u64)>, IndexError> {
        let mut query = self.connection.prepare(query)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The hosts and targets that a plan was run on, the most used first.
    pub(crate) fn settings_of(&self, plan: &str) -> Result<Vec<Setting>, IndexError> {
        let mut query = self.connection.prepare(
            "SELECT host, target, count(*) AS n FROM runs WHERE name = ?1 AND state = 'done'
             GROUP BY host, target ORDER BY n DESC, host, target LIMIT 100",
        )?;
        let rows = query.query_map([plan], |row| {
            Ok(Setting { host: row.get(0)?, target: row.get(1)?, runs: row.get::<_, i64>(2)?.unsigned_abs() })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest `most` runs of a plan in one setting, each test with its figures, the oldest run first, in the order of the newest run's tests.
    pub(crate) fn history(
        &self,
        plan: &str,
        setting: &Setting,
        most: usize,
    ) -> Result<Vec<(String, Vec<Point>)>, IndexError> {
        let mut query = self.connection.prepare(
            "SELECT r.id, r.started, f.value, f.unit, f.p99_ns, f.verdict, f.test FROM
               (SELECT dir, id, started FROM runs WHERE name = ?1 AND host = ?2 AND target = ?3 AND state = 'done'
                ORDER BY started DESC, dir DESC LIMIT ?4) AS r
             JOIN figures AS f ON f.dir = r.dir ORDER BY r.started DESC, r.dir DESC, f.place",
        )?;
        let rows = query.query_map(params![plan, setting.host, setting.target, most as i64], |row| {
            let point = Point {
                id: row.get(0)?,
                started: row.get(1)?,
                value: row.get(2)?,
                unit: row.get(3)?,
                p99_ns: row.get(4)?,
                verdict: row.get(5)?,
            };
            Ok((row.get::<_, String>(6)?, point))
        })?;
        let mut order: Vec<String> = Vec::new();
        let mut tests: BTreeMap<String, Vec<Point>> = BTreeMap::new();
        for row in rows {
            let (test, point) = row?;
            if !tests.contains_key(&test) {
                order.push(test.clone());
            }
            tests.entry(test).or_default().push(point);
        }
        Ok(order
            .into_iter()
            .map(|test| {
                let mut points = tests.remove(&test).unwrap_or_default();
                points.reverse();
                (test, points)
            })
            .collect())
    }

    /// The newest finished run of each plan, the newest first.
    pub(crate) fn newest_of_plans(&self, most: usize) -> Result<Vec<Stored>, IndexError> {
        let query = format!(
            "SELECT {COLUMNS} FROM runs WHERE state = 'done' AND started =
               (SELECT max(started) FROM runs AS other WHERE other.name = runs.name AND other.state = 'done')
             GROUP BY name ORDER BY started DESC LIMIT ?1"
        );
        let mut query = self.connection.prepare(&query)?;
        let rows = query.query_map([most as i64], stored)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes at once what tags a run has by now.
    pub(crate) fn set_tags(&mut self, dir: &str, tags: &[String]) -> Result<(), IndexError> {
        let change = self.connection.transaction()?;
        change.execute("DELETE FROM tags WHERE dir = ?1", [dir])?;
        for tag in tags {
            change.execute("INSERT OR IGNORE INTO tags VALUES (?1, ?2)", [dir, tag])?;
        }
        // The search goes over tags, too; its words are made with the next update, which sees that the directory has changed.
        change.execute("UPDATE runs SET tags = ?2, stamp = '' WHERE dir = ?1", [dir, &tags.join("\n")])?;
        Ok(change.commit()?)
    }
}

struct Entry {
    stored: Stored,
    stamp: String,
    figures: Vec<store::BriefFigure>,
}

const COLUMNS: &str = "dir, id, name, series, host, target, started, elapsed_s, verdict, state, tags";

fn stored(row: &Row<'_>) -> Result<Stored, rusqlite::Error> {
    let tags: String = row.get(10)?;
    Ok(Stored {
        dir: row.get(0)?,
        id: row.get(1)?,
        name: row.get(2)?,
        series: row.get(3)?,
        host: row.get(4)?,
        target: row.get(5)?,
        started: row.get(6)?,
        elapsed_s: row.get(7)?,
        verdict: row.get(8)?,
        state: row.get(9)?,
        tags: tags.lines().map(str::to_owned).collect(),
    })
}

fn stored_of(brief: &RunBrief, dir: &str, tags: Vec<String>) -> Stored {
    Stored {
        dir: dir.to_owned(),
        id: brief.id.clone(),
        name: brief.name.clone(),
        series: brief.series.clone().unwrap_or_default(),
        host: brief.host.clone().unwrap_or_default(),
        target: brief.target.clone().unwrap_or_default(),
        started: brief.started.clone(),
        elapsed_s: Some(brief.elapsed_s),
        verdict: brief.verdict.word().to_owned(),
        state: "done".to_owned(),
        tags,
    }
}

/// A run without a summary that can be read.
fn entry(run: RunDir, dir: &str, tags: Vec<String>) -> Stored {
    let entry = store::entry_of(run);
    Stored {
        dir: dir.to_owned(),
        id: entry.id,
        name: entry.name.unwrap_or_default(),
        series: String::new(),
        host: String::new(),
        target: String::new(),
        started: entry.started.unwrap_or_default(),
        elapsed_s: None,
        verdict: entry.verdict.map_or(String::new(), |verdict: Verdict| verdict.word().to_owned()),
        state: match entry.state {
            RunState::Unreadable(why) => format!("cannot be read: {why}"),
            RunState::Done => "cannot be read: its figures are missing".to_owned(),
            // Whether it goes on is asked when it is shown: the index would not learn of its end.
            RunState::Going | RunState::Unfinished => "unfinished".to_owned(),
        },
        tags,
    }
}

fn put(change: &rusqlite::Transaction<'_>, entry: &Entry) -> Result<(), rusqlite::Error> {
    let one = &entry.stored;
    let tags = one.tags.join("\n");
    let words =
        [&one.id, &one.name, &one.series, &one.host, &one.target, &one.started, &tags].map(String::as_str);
    change
        .prepare("INSERT OR REPLACE INTO runs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)")?
        .execute(params![
            one.dir,
            entry.stamp,
            one.id,
            one.name,
            one.series,
            one.host,
            one.target,
            one.started,
            one.elapsed_s,
            one.verdict,
            one.state,
            tags,
            words.join("\n").to_lowercase()
        ])?;
    for tag in &one.tags {
        change.prepare("INSERT OR IGNORE INTO tags VALUES (?1, ?2)")?.execute([&one.dir, tag])?;
    }
    let mut insert = change.prepare("INSERT INTO figures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (place, figure) in entry.figures.iter().enumerate().filter(|(_, figure)| figure.value.is_finite()) {
        insert.execute(params![
            one.dir,
            place as i64,
            figure.test,
            figure.value,
            figure.unit,
            figure.p99_ns,
            figure.verdict.word()
        ])?;
    }
    Ok(())
}

/// What is looked for as a condition with its values.
fn condition(sought: &Sought) -> (String, Vec<Value>) {
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    let mut with = |part: &str, value: String| {
        values.push(Value::from(value));
        parts.push(part.replace("??", &format!("?{}", values.len())));
    };
    for word in sought.words.to_lowercase().split_whitespace().take(10) {
        let plain = word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        with("words LIKE ?? ESCAPE '\\'", format!("%{plain}%"));
    }
    if let Some(tag) = &sought.tag {
        with("dir IN (SELECT dir FROM tags WHERE tag = ??)", tag.clone());
    }
    if let Some(verdict) = &sought.verdict {
        with("verdict = ??", verdict.clone());
    }
    if let Some(plan) = &sought.plan {
        with("name = ??", plan.clone());
    }
    let condition = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
    (condition, values)
}

/// The names of the run directories below `root`, and what changes when one of them does.
pub(crate) fn scan(root: &Path) -> Result<Vec<(String, String)>, IndexError> {
    let read = |source| IndexError::Read { path: root.to_owned(), source };
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(read(error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry.map_err(read)?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(name) = entry.file_name().to_str().map(str::to_owned).filter(|_| is_directory) else {
            continue;
        };
        // As `store` names them.
        if name.split('-').count() != 3 {
            continue;
        }
        let Ok(directory) = entry.metadata() else { continue };
        let summary = fs::symlink_metadata(entry.path().join(RUN_FILE)).ok();
        all.push((name, stamp(&directory, summary.as_ref())));
    }
    Ok(all)
}

/// The modification times; one that is of this moment is not believed the next time.
fn stamp(directory: &Metadata, summary: Option<&Metadata>) -> String {
    let of = |meta: &Metadata| (meta.mtime(), meta.mtime_nsec());
    let newest = summary.map_or(of(directory), |summary| of(summary).max(of(directory)));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(Duration::from_secs(newest.0.max(0).unsigned_abs()));
    let doubt = if age < SETTLED { format!(" {}", now.as_millis()) } else { String::new() };
    let size = summary.map_or(0, Metadata::len);
    format!("{}.{:09} {size}{doubt}", newest.0, newest.1)
}

/// A limit for [`Index::apply`]: until `most` has passed.
pub(crate) fn within(most: Duration) -> impl FnMut() -> bool {
    let begun = Instant::now();
    move || begun.elapsed() < most
}

#[cfg(test)]
mod tests;
