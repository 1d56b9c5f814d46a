//! What is asked for: a workload from a file, a profile or fio's words, with what the command line changes of it.

use std::path::{Path, PathBuf};

use assay_conduct::multiply::{multiply, repeat};
use assay_conduct::tiles::tiles;
use assay_formats::foreign_command::ForeignCommand;
use assay_formats::{Diagnostic, native, near};
use assay_host::space;
use assay_host::workdir::is_assay_dir;
use assay_report::terminal;
use assay_workload::units::Nanos;
use assay_workload::{Workload, scale};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{self, Input, ReadingArgs};
use crate::languages::Format;
use crate::steps::StepArgs;

/// The directory that a profile's files are made in.
const WORK_DIR: &str = "assay-run";

/// Where a workload comes from.
#[derive(Debug)]
pub(crate) enum Origin<'a> {
    /// A file in one of the three languages.
    File(&'a Path, &'a ReadingArgs),
    /// A shipped profile.
    Profile(&'a str),
    /// Read already.
    Read(Input),
}

/// What is wanted, whichever command line says it.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) origin: Origin<'a>,
    /// Targets with relative paths are in it.
    pub(crate) target: &'a Path,
    /// Whether it is an error that something of a file is lost.
    pub(crate) strict: bool,
    /// Measured time of every job that has one.
    pub(crate) runtime: Option<&'a str>,
    /// The plan is made smaller by this factor.
    pub(crate) scale: Option<f64>,
    pub(crate) steps: StepArgs,
    pub(crate) repeat: u32,
    /// It is a tile, and so many are run at most.
    pub(crate) tiles: Option<u32>,
    pub(crate) seed: Option<u64>,
}

impl<'a> Wanted<'a> {
    /// As its origin has it.
    pub(crate) fn from(origin: Origin<'a>, target: &'a Path, strict: bool) -> Self {
        let steps = StepArgs::default();
        Wanted {
            origin,
            target,
            strict,
            runtime: None,
            scale: None,
            steps,
            repeat: 1,
            tiles: None,
            seed: None,
        }
    }
}

/// What was asked for, and where its targets are.
#[derive(Debug)]
pub(crate) struct LoadedWorkload {
    /// The language of the file; `None`: a shipped profile.
    pub(crate) format: Option<Format>,
    pub(crate) workload: Workload,
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<(String, String)>,
    /// Of the file; they have still to be said.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Commands that the file wants run beside its jobs.
    pub(crate) commands: Vec<ForeignCommand>,
    /// Directories that the file names for its files, and that have to exist.
    pub(crate) directories: Vec<String>,
    /// The directory to make for it, if it is to have one.
    pub(crate) work_dir: Option<PathBuf>,
}

/// Reads what is wanted, and changes it as the command line says.
pub(crate) fn asked(mut wanted: Wanted<'_>, context: &Context) -> Result<LoadedWorkload, Failure> {
    let origin = std::mem::replace(&mut wanted.origin, Origin::Profile(""));
    let mut asked = match origin {
        Origin::Profile(name) => profile(name, &wanted, context)?,
        Origin::File(file, reading) => {
            from(input::read_file(file, reading, Some(wanted.target))?, &wanted, context)?
        }
        Origin::Read(input) => from(input, &wanted, context)?,
    };
    if let Some(runtime) = wanted.runtime {
        let time = runtime_of(runtime)?;
        for change in scale::override_runtime(&mut asked.workload, time) {
            asked.notes.push(("runtime".to_owned(), change.to_string()));
        }
    }
    if let Some(count) = wanted.tiles {
        asked.workload = tiles(asked.workload, count).map_err(Failure::usage)?;
    }
    let mut phases = std::mem::take(&mut asked.workload.phases);
    if let Some(how) = wanted.steps.multiply() {
        phases = multiply(phases, &how).map_err(Failure::usage)?;
    }
    let shuffle = wanted
        .steps
        .shuffle
        .then(|| wanted.seed.or(asked.workload.seed).map_or_else(assay_runner::random_seed, Ok));
    let shuffle = shuffle.transpose()?;
    asked.workload.seed = shuffle.or(asked.workload.seed);
    asked.workload.phases = repeat(phases, wanted.repeat, shuffle);
    Ok(asked)
}

/// Makes a workload smaller where that was asked for; what changed is noted.
fn scaled(workload: &mut Workload, share: Option<f64>) -> Result<Vec<(String, String)>, Failure> {
    let Some(share) = share else { return Ok(Vec::new()) };
    if !(share > 0.0 && share <= 1.0) {
        return Err(Failure::usage(format!("--scale: {share} is not above 0 and at most 1")));
    }
    let changes = scale::scale_by(workload, share);
    Ok(changes.iter().map(|change| ("scaled".to_owned(), change.to_string())).collect())
}

/// What a file asks for.
fn from(input: Input, wanted: &Wanted<'_>, context: &Context) -> Result<LoadedWorkload, Failure> {
    let format = Some(input.format);
    let is_fio = input.format == Format::Fio;
    let (commands, directories) = (input.commands.clone(), input.directories.clone());
    let (mut workload, mut diagnostics) = input.refuse_unset().checked(wanted.strict, context)?;
    let directory = input::directory_of(wanted.target)?;
    if is_fio {
        assay_fio::settle_offsets(&mut workload, &|path| assay_runner::bytes_of(&directory.join(path)));
        let foreign = |path: &str, offset| assay_runner::holds_fio_header(&directory.join(path), offset);
        assay_fio::settle_headers(&workload, &mut diagnostics, &foreign);
    }
    let notes = scaled(&mut workload, wanted.scale)?;
    Ok(LoadedWorkload {
        format,
        workload,
        directory,
        notes,
        diagnostics,
        commands,
        directories,
        work_dir: None,
    })
}

/// The shipped profiles as a table.
pub(crate) fn profile_list(context: &Context) -> String {
    let rows: Vec<Vec<String>> = native::profiles()
        .iter()
        .map(|profile| vec![profile.name.to_owned(), profile.summary.to_owned()])
        .collect();
    terminal::words_table(&["profile", "what it does"], &rows, &context.style)
}

fn profile(name: &str, wanted: &Wanted<'_>, context: &Context) -> Result<LoadedWorkload, Failure> {
    let all = native::profiles();
    let Some(found) = all.iter().find(|profile| profile.name == name) else {
        let hint = near::nearest(name, all.iter().map(|profile| profile.name));
        let hint =
            hint.map_or("'--profile list' shows them".to_owned(), |near| format!("did you mean {near}?"));
        return Err(Failure::usage(format!("there is no profile '{name}'; {hint}")));
    };
    let place = input::directory_of(wanted.target)?;
    let path = if is_assay_dir(&place) { place.clone() } else { place.join(WORK_DIR) };
    let mut workload = input::parse(found.name, found.text, Format::Native, &ReadingArgs::default(), None)?
        .accept(true, context)?;
    let mut notes = scaled(&mut workload, wanted.scale)?;
    let space = space::of(&place).map_err(|error| Failure::failed(format!("free space: {error}")))?;
    let available = space.usable_bytes().saturating_add(assay_runner::bytes_in(&path));
    let scaled = scale::scale_to(&mut workload, available);
    if !scaled.fits() {
        let place = place.display();
        return Err(Failure::failed(format!(
            "profile {name} does not fit into the space that is free in {place}"
        )));
    }
    notes.extend(scaled.changes.iter().map(|change| ("scaled".to_owned(), change.to_string())));
    let work_dir = Some(path.clone());
    Ok(LoadedWorkload {
        format: None,
        workload,
        directory: path,
        notes,
        diagnostics: Vec::new(),
        commands: Vec::new(),
        directories: Vec::new(),
        work_dir,
    })
}

/// The time that `--runtime` asks for.
///
/// # Errors
/// [`Failure::Usage`] where it is none, or in which nothing is measured.
pub(crate) fn runtime_of(words: &str) -> Result<Nanos, Failure> {
    let time: Nanos = words.parse().map_err(|error| Failure::usage(format!("--runtime: {error}")))?;
    measured_in(time)
}

/// The same of one that was read already.
pub(crate) fn measured_in(time: Nanos) -> Result<Nanos, Failure> {
    const RUNTIME_MIN: Nanos = Nanos(1_000_000);
    if time < RUNTIME_MIN {
        return Err(Failure::usage(format!(
            "--runtime {time}: nothing is measured in less than {RUNTIME_MIN}"
        )));
    }
    Ok(time)
}
