//! Run directories: making, finding, listing, loading and removing them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufReader, Read as _, Seek as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{HeldDirectory, JOURNAL_FILE, RUN_FILE, StoreError, open_regular};
use crate::checks;
use crate::event::RunEvent;
use crate::foreign::Moment;
use crate::run::{Run, SCHEMA, Verdict};

/// Candidates named in an error at most.
const CANDIDATES_MAX: usize = 8;
/// Characters of the plan's name in the directory's name at most.
const NAME_CHARS_MAX: usize = 40;

/// The directory of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes `<utc>-<name>-<id>` below `root`, and `root` itself where it is missing. `started` is UTC as RFC 3339;
    /// characters of `name` that do not belong into a file name become `_`.
    ///
    /// # Errors
    /// When the directory cannot be made or is there already.
    pub fn create(root: &Path, started: &str, name: &str, id: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(StoreError::io("create", root))?;
        let path =
            root.join(format!("{}-{}-{}", compact_utc(started), file_name_part(name), file_name_part(id)));
        Self::make(path)
    }

    fn make(path: PathBuf) -> Result<Self, StoreError> {
        fs::create_dir(&path).map_err(StoreError::io("create", &path))?;
        // The runs' own directory may be as new.
        for above in path.ancestors().skip(1).take(2).filter(|above| above.is_dir()) {
            HeldDirectory::open(above)
                .and_then(|directory| directory.sync_names())
                .map_err(StoreError::io("sync", above))?;
        }
        Ok(RunDir { path })
    }

    /// Where a machine keeps its part of the run that another one records in a directory called `name`: in that directory, where
    /// both keep their runs in one place (then it is there), or in one of its own (`true`), which is made.
    ///
    /// # Errors
    /// When `name` is not that of a run, or the directory cannot be made.
    pub fn part(root: &Path, name: &str) -> Result<(Self, bool), StoreError> {
        let path = root.join(name);
        if name.contains('/') || !has_name_of_a_run(OsStr::new(name)) {
            return Err(StoreError::NotARun(path));
        }
        fs::create_dir_all(root).map_err(StoreError::io("create", root))?;
        match Self::make(path.clone()) {
            Err(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() =>
            {
                Ok((RunDir { path }, false))
            }
            made => Ok((made?, true)),
        }
    }

    /// One that is there.
    ///
    /// # Errors
    /// When it holds neither a journal nor a run.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let dir = RunDir { path: path.to_owned() };
        if dir.has(JOURNAL_FILE) || dir.has(RUN_FILE) {
            Ok(dir)
        } else {
            Err(StoreError::NotARun(path.to_owned()))
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last word of its name: the run's id.
    pub fn id(&self) -> &str {
        self.name().rsplit('-').next().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Holds off others that would change the run; nothing is held where there is no journal, or no locks.
    ///
    /// # Errors
    /// [`StoreError::Running`] while the run is being recorded.
    pub fn lock(&self) -> Result<RunLock, StoreError> {
        let directory = HeldDirectory::open(&self.path).map_err(StoreError::io("open", &self.path))?;
        lock(&directory, &self.path)
    }

    fn has(&self, file: &str) -> bool {
        self.path.join(file).is_file()
    }

    /// Stores the summary; a reader sees the old one or the new one, never half of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        write_json_atomically(&self.path.join(RUN_FILE), run, Layout::Compact)
    }

    pub(super) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        write_json_atomically(&self.path.join(name), value, Layout::Pretty)
    }

    /// Reads the summary.
    ///
    /// # Errors
    /// When there is none (the run was killed: [`super::recover`] makes one), or it is damaged or of a later version.
    pub fn read_run(&self) -> Result<Run, StoreError> {
        read_run_file(&self.path.join(RUN_FILE))
    }
}

/// A run that nobody else changes while this lives.
#[derive(Debug)]
pub struct RunLock {
    _journal: Option<OwnedFd>,
}

/// Locks the run in an open directory, whose recorder holds a lock on its journal as long as it records.
pub(super) fn lock(directory: &HeldDirectory, path: &Path) -> Result<RunLock, StoreError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let journal = rustix::fs::openat(directory, JOURNAL_FILE, flags, Mode::empty()).ok();
    let locked =
        journal.as_ref().map(|file| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive));
    match locked {
        Some(Err(Errno::WOULDBLOCK)) => Err(StoreError::Running(path.to_owned())),
        _ => Ok(RunLock { _journal: journal }),
    }
}

/// How a file of JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// For people: a field a line.
    Pretty,
    /// Without spaces: a run holds thousands of histogram buckets.
    Compact,
}

/// Writes the file whole, makes that durable, and puts it in the place of what has the name.
pub(crate) fn write_json_atomically(
    path: &Path,
    value: &impl Serialize,
    layout: Layout,
) -> Result<(), StoreError> {
    let bytes = match layout {
        Layout::Pretty => serde_json::to_vec_pretty(value),
        Layout::Compact => serde_json::to_vec(value),
    };
    let mut bytes =
        bytes.map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    bytes.push(b'\n');
    let write = || -> io::Result<()> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let directory = HeldDirectory::open_above(path)?;
        let mut draft = directory.draft()?;
        draft.write_all(&bytes)?;
        draft.replace(name)?;
        directory.sync_names()
    };
    write().map_err(StoreError::io("write", path))
}

/// The word for the newest run.
pub const NEWEST: &str = "last";
/// A longer `run.json` is not held in memory as text besides what is read of it: that of a day has some hundred MiB.
const STREAMED_MIN: u64 = 16 << 20;

/// What is wrong with a `run.json` that makes no sense, and what to do: the journal beside it has all that is in it.
fn damaged_reason(path: &Path, error: &serde_json::Error) -> String {
    let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let again = match path.with_file_name(JOURNAL_FILE).is_file() {
        true => format!("; 'assay runs recover {name}' makes it again from the journal"),
        false => String::new(),
    };
    format!("it is damaged, or no result of a run ({error}){again}")
}

/// What a file says; of a long one, its text is not held besides.
fn parsed<T: DeserializeOwned>(file: &mut fs::File) -> io::Result<Result<T, serde_json::Error>> {
    let length = file.metadata()?.len();
    if length > STREAMED_MIN {
        return Ok(serde_json::from_reader(BufReader::with_capacity(1 << 20, &*file)));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    file.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes))
}

fn read_run_file(path: &Path) -> Result<Run, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged {
        path: path.to_owned(),
        reason: damaged_reason(path, &error),
    };
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let mut file = open_regular(path).map_err(StoreError::io("read", path))?;
    let read = parsed::<Run>(&mut file).map_err(StoreError::io("read", path))?;
    let found = match &read {
        Ok(run) => run.schema.clone(),
        // Documents of another schema are not read as runs; which it is, is said before what is wrong with it.
        Err(_) => {
            file.rewind().map_err(StoreError::io("read", path))?;
            serde_json::from_reader::<_, Schema>(BufReader::new(&file)).map_err(damaged)?.schema
        }
    };
    if found != SCHEMA {
        return Err(StoreError::OtherSchema { path: path.to_owned(), found });
    }
    let mut run = read.map_err(damaged)?;
    // One that was stored before figures had verdicts of their own.
    if run.rows.is_empty() {
        checks::judge(&mut run);
    }
    Ok(run)
}

/// `20250304T050607Z` of `2025-03-04T05:06:07.123Z`.
fn compact_utc(started: &str) -> String {
    let whole = started.split(['.', '+']).next().unwrap_or_default().trim_end_matches('Z');
    let digits: String = whole.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    format!("{digits}Z")
}

/// `<utc>-<name>-<id>`.
pub(super) fn has_name_of_a_run(name: &OsStr) -> bool {
    name.as_bytes().split(|byte| *byte == b'-').count() == 3
}

/// `-` separates the words of a directory's name, so it is replaced too.
fn file_name_part(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '_' };
    let part: String = text.chars().map(keep).take(NAME_CHARS_MAX).collect();
    // A leading dot would hide it.
    let part = part.trim_start_matches('.');
    if part.is_empty() { "run".to_owned() } else { part.to_owned() }
}

/// What a run directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// A summary.
    Done,
    /// A journal only, that a recorder writes to.
    Going,
    /// A journal only: it was killed and can be recovered.
    Unfinished,
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// One line of a list of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// Where it is.
    pub dir: RunDir,
    /// Its id.
    pub id: String,
    /// The plan's name, where it is known.
    pub name: Option<String>,
    /// Start in UTC, RFC 3339, where it is known.
    pub started: Option<String>,
    /// How long it took, seconds.
    pub elapsed_s: Option<f64>,
    /// Whether it may be believed.
    pub verdict: Option<Verdict>,
    /// Words that people gave to it.
    pub tags: Vec<String>,
    /// What there is of it.
    pub state: RunState,
}

/// The runs below `root`, the oldest first. None where `root` does not exist.
///
/// # Errors
/// When `root` cannot be read. A damaged run is in the list, as such.
pub fn list(root: &Path) -> Result<Vec<RunEntry>, StoreError> {
    Ok(directories(root)?.into_iter().map(entry_of).collect())
}

/// The run directories below `root`, by name: the start in UTC comes first in it.
pub(super) fn directories(root: &Path) -> Result<Vec<RunDir>, StoreError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", root)(error)),
    };
    let mut dirs: Vec<RunDir> = entries.filter_map(|entry| RunDir::open(&entry.ok()?.path()).ok()).collect();
    dirs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(dirs)
}

/// The parts of a run that a list shows.
#[derive(Deserialize)]
struct Brief {
    id: String,
    name: String,
    started: String,
    elapsed_s: f64,
    verdict: Verdict,
}

/// The line of a run in a list.
pub fn entry_of(dir: RunDir) -> RunEntry {
    let path = dir.path.join(RUN_FILE);
    let mut entry = RunEntry {
        id: dir.id().to_owned(),
        tags: super::load_tags(&dir),
        dir,
        name: None,
        started: None,
        elapsed_s: None,
        verdict: None,
        state: RunState::Unfinished,
    };
    // Asked first: a run that ends meanwhile is done.
    let going = !path.is_file() && is_going(&entry.dir);
    if !path.is_file() {
        (entry.name, entry.started) = start_of(entry.dir.path()).unzip();
        entry.state = if going { RunState::Going } else { RunState::Unfinished };
        return entry;
    }
    let brief = open_regular(&path).map_err(|error| error.to_string()).and_then(|mut file| {
        let read = parsed::<Brief>(&mut file).map_err(|error| error.to_string())?;
        read.map_err(|error| damaged_reason(&path, &error))
    });
    match brief {
        Ok(brief) => RunEntry {
            id: brief.id,
            name: Some(brief.name),
            started: Some(brief.started),
            elapsed_s: Some(brief.elapsed_s),
            verdict: Some(brief.verdict),
            state: RunState::Done,
            ..entry
        },
        Err(reason) => RunEntry { state: RunState::Unreadable(reason), ..entry },
    }
}

/// Name and start of a run that has only a journal.
fn start_of(dir: &Path) -> Option<(String, String)> {
    super::JournalContent::read(dir).ok()?.events.into_iter().find_map(|event| match event {
        RunEvent::RunStarted { plan, started, .. } => Some((plan.name, started)),
        _ => None,
    })
}

/// The directory of the run below `root` with exactly this id; `None`: there is none. For ids that come from elsewhere: no word
/// or path is taken for one.
///
/// # Errors
/// When `root` cannot be read.
pub fn with_id(root: &Path, id: &str) -> Result<Option<RunDir>, StoreError> {
    Ok(directories(root)?.into_iter().find(|dir| dir.id() == id))
}

/// The directory of the run called `wanted`: a path to it or to its `run.json`, the beginning of its id or of its
/// directory's name, or `last`: the readable run that was started last.
///
/// # Errors
/// When there is none, or when there are several.
pub fn find(root: &Path, wanted: &str) -> Result<RunDir, StoreError> {
    let path = Path::new(wanted);
    if path.file_name().is_some_and(|name| name == RUN_FILE) && path.is_file() {
        return RunDir::open(path.parent().unwrap_or(Path::new(".")));
    }
    if path.is_dir() {
        return RunDir::open(path);
    }
    choose(root, directories(root)?, wanted)
}

/// The one of `dirs`, which are in `root` and sorted, that goes by the name `wanted`.
pub(super) fn choose(root: &Path, mut dirs: Vec<RunDir>, wanted: &str) -> Result<RunDir, StoreError> {
    let not_found = || StoreError::NotFound { wanted: wanted.to_owned(), root: root.to_owned() };
    if wanted == NEWEST {
        return newest_first(dirs).find(is_readable).ok_or_else(not_found);
    }
    if wanted.is_empty() {
        return Err(not_found());
    }
    if let Some(exact) = dirs.iter().find(|dir| dir.id() == wanted || dir.name() == wanted) {
        return Ok(exact.clone());
    }
    dirs.retain(|dir| dir.id().starts_with(wanted) || dir.name().starts_with(wanted));
    match dirs.len() {
        0 => Err(not_found()),
        1 => Ok(dirs.remove(0)),
        _ => Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            candidates: dirs.iter().take(CANDIDATES_MAX).map(|dir| dir.name().to_owned()).collect(),
        }),
    }
}

/// The runs below a root, the one that was started last first; of runs that were started at one instant the one that was written last.
/// What a directory's name says is believed, so that of the many that are older nothing is read.
fn newest_first(dirs: Vec<RunDir>) -> impl Iterator<Item = RunDir> {
    let mut dated: Vec<(String, RunDir)> =
        dirs.into_iter().filter_map(|dir| Some((second_of(&dir)?, dir))).collect();
    dated.sort_by(|a, b| b.0.cmp(&a.0));
    let mut groups: Vec<Vec<RunDir>> = Vec::new();
    let mut last = None;
    for (second, dir) in dated {
        match groups.last_mut().filter(|_| last.as_ref() == Some(&second)) {
            Some(group) => group.push(dir),
            None => groups.push(vec![dir]),
        }
        last = Some(second);
    }
    groups.into_iter().flat_map(|mut group| {
        if group.len() > 1 {
            group.sort_by_cached_key(|dir| std::cmp::Reverse(instants(dir)));
        }
        group
    })
}

/// The second in which a run was started, in the form of its directory's name; `None`: it is no run.
fn second_of(dir: &RunDir) -> Option<String> {
    if has_name_of_a_run(OsStr::new(dir.name())) {
        return dir.name().split('-').next().map(str::to_owned);
    }
    entry_of(dir.clone()).started.map(|started| compact_utc(&started))
}

/// When a run was started, and when it was written.
fn instants(dir: &RunDir) -> (Option<u64>, Option<SystemTime>) {
    let file = if dir.has(RUN_FILE) { RUN_FILE } else { JOURNAL_FILE };
    let written = fs::metadata(dir.path.join(file)).and_then(|meta| meta.modified()).ok();
    let started = entry_of(dir.clone()).started.map(|started| Moment::parse(&started).unix_ms());
    (started, written)
}

/// Whether something can be made of a run: it can be read, or made again from its journal.
fn is_readable(dir: &RunDir) -> bool {
    if dir.has(RUN_FILE) { dir.read_run().is_ok() } else { start_of(dir.path()).is_some() }
}

/// The run called `wanted` (see [`find`]; also the path of a summary under any name). One that was killed is made again
/// from its journal.
///
/// # Errors
/// Those of [`find`], [`RunDir::read_run`] and [`super::recover`].
pub fn load(root: &Path, wanted: &str) -> Result<Run, StoreError> {
    let path = Path::new(wanted);
    if path.is_file() {
        return read_run_file(path);
    }
    if wanted == NEWEST && !path.is_dir() {
        // The first that is read is the one: it may be long, and is read once.
        let read = |dir: RunDir| if dir.has(RUN_FILE) { dir.read_run() } else { made_again(&dir) };
        let not_found = || StoreError::NotFound { wanted: wanted.to_owned(), root: root.to_owned() };
        return newest_first(directories(root)?).find_map(|dir| read(dir).ok()).ok_or_else(not_found);
    }
    let dir = find(root, wanted)?;
    if dir.has(RUN_FILE) { dir.read_run() } else { made_again(&dir) }
}

/// A run that has only a journal.
fn made_again(dir: &RunDir) -> Result<Run, StoreError> {
    // Asked first: a run that ends meanwhile is going a moment longer.
    let going = is_going(dir);
    Ok(Run { going, ..super::recover(dir.path())? })
}

/// Whether a recorder writes to a run.
fn is_going(dir: &RunDir) -> bool {
    matches!(dir.lock(), Err(StoreError::Running(_)))
}
