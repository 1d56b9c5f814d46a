//! A grid as it is kept in its directory, and how it is read again.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use assay_host::HostRoot;
use assay_host::claim::{Access, Claims};
use assay_results::worker_grid::{SCHEMA, WorkerCell, WorkerGrid};
use clap::Parser;
use rustix::fs::OFlags;

use super::GridArgs;
use super::cells::Asked;
use crate::context::Global;
use crate::failure::Failure;
use crate::output;

/// The file of a grid in its directory.
pub(super) const GRID_FILE: &str = "grid.json";
/// What is locked as long as a grid is measured: the file itself is replaced at each cell.
const LOCK_FILE: &str = "grid.lock";

/// A grid that was stored, as words of a command line again.
#[derive(Debug, Parser)]
pub(super) struct Line {
    #[command(flatten)]
    pub(super) args: GridArgs,
    /// Those of the command that goes on count.
    #[command(flatten)]
    _global: Global,
}

/// A grid of which nothing was measured yet, as the command line of this process asks for it.
pub(super) fn begun(asked: &[Asked]) -> Result<WorkerGrid, Failure> {
    let here = std::env::current_dir().map_err(Failure::failed)?;
    Ok(WorkerGrid {
        schema: SCHEMA.to_owned(),
        asked: words(std::env::args_os().skip(1))?,
        asked_in: here.display().to_string(),
        cells: asked.iter().map(|asked| WorkerCell::new(&asked.name, asked.workers)).collect(),
    })
}

/// The words of a command as a grid keeps them: the page is written to the same place, wherever the grid goes on.
fn words(words: impl Iterator<Item = OsString>) -> Result<Vec<String>, Failure> {
    let absolute = |path: &str| match path {
        "-" => Ok(path.to_owned()),
        path => std::path::absolute(path).map(|path| path.display().to_string()).map_err(Failure::usage),
    };
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        let word = word.to_string_lossy().into_owned();
        let word = match (kept.last().map(String::as_str), word.strip_prefix("--html=")) {
            (Some("--html"), _) => absolute(&word)?,
            (_, Some(path)) => format!("--html={}", absolute(path)?),
            _ => word,
        };
        kept.push(word);
    }
    Ok(kept)
}

/// Keeps what is known so far.
pub(super) fn keep(grid: &WorkerGrid, directory: &Path) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(grid).map_err(Failure::failed)?;
    output::keep(&directory.join(GRID_FILE), &format!("{text}\n"))
}

/// Keeps a second command from measuring the same grid; until what is returned is dropped.
pub(super) fn lock(directory: &Path) -> Result<Claims, Failure> {
    let path = directory.join(LOCK_FILE);
    let failed = |why: &dyn std::fmt::Display| Failure::failed(format!("{}: {why}", path.display()));
    // It has no content, and whatever has its name already keeps its own.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new().create(true).append(true).custom_flags(flags.bits() as i32).open(&path);
    opened.map_err(|error| failed(&error))?;
    let claims = Claims::default();
    let taken = claims.take(&HostRoot::real(), &path, Access::Exclusive);
    taken.map_err(|error| Failure::failed(format!("the grid in {} is {}", directory.display(), error.by)))?;
    Ok(claims)
}

/// A stored grid, locked, and what it was asked with. What may be destroyed or replaced, and what stdout is to be, is never taken from
/// there: what has a name now need not be what had it then.
pub(super) fn read(directory: &Path, now: &GridArgs) -> Result<(Claims, WorkerGrid, GridArgs), Failure> {
    let bad = |why: &dyn std::fmt::Display| cannot_go_on(directory, why);
    let path = directory.join(GRID_FILE);
    // A directory without a grid gets no lock.
    std::fs::metadata(&path).map_err(|error| bad(&error))?;
    let lock = lock(directory)?;
    let text = std::fs::read_to_string(&path).map_err(|error| bad(&error))?;
    let grid: WorkerGrid = serde_json::from_str(&text).map_err(|error| bad(&error))?;
    if grid.schema != SCHEMA {
        return Err(bad(&format!("its schema is {}, and this version reads {SCHEMA}", grid.schema)));
    }
    // Its words name files: those of the directory that they were given in.
    let here = std::env::current_dir().map_err(Failure::failed)?;
    if !grid.asked_in.is_empty() && Path::new(&grid.asked_in) != here {
        return Err(bad(&format!(
            "it was begun in {}, which the paths of its command line start from: go on with it there",
            grid.asked_in
        )));
    }
    let words = grid.asked.iter().skip_while(|word| *word != "grid").map(String::as_str);
    let line = Line::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        bad(&text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })?;
    let mut args = line.args;
    let (allowed, output) = (&mut args.how.allowed, &mut args.how.output);
    allowed.destroy_data.clone_from(&now.how.allowed.destroy_data);
    allowed.really = now.how.allowed.really;
    output.json = now.how.output.json;
    output.force = now.how.output.force;
    output.require_valid |= now.how.output.require_valid;
    output.html = now.how.output.html.clone().or(output.html.take());
    Ok((lock, grid, args))
}

/// What is said of a directory whose grid is not measured any further.
pub(super) fn cannot_go_on(directory: &Path, why: &dyn std::fmt::Display) -> Failure {
    let path = directory.join(GRID_FILE);
    Failure::usage(format!("{} is no grid that can be gone on with: {why}", path.display()))
}
