//! `assay import`: a result of another tool, or a run that was exported, as a stored run.

use std::io::Read;
use std::path::{Path, PathBuf};

use assay_results::Run;
use assay_results::foreign::TEXT_BYTES_MAX;
use assay_results::store::{self, Bundle, RunDir, StoreError};
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::languages;
use crate::options::OutputArgs;
use crate::output::{FLATFILE, Outputs};
use crate::{pipe, shown};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # fio --output-format=json or json+; json+ has whole distributions
  assay import fio.json
  # the directory of a vdbench run, or its flatfile.html
  assay import output/
  fio --output-format=json+ job.fio | assay import -
  # a run of another machine, written there by 'assay runs export'
  assay import assay-run-2cb1dc54.tar
  ssh host cat assay-run-2cb1dc54.tar | assay import -

The same file is the same run: a second time it is found and not stored again.")]
pub(crate) struct ImportArgs {
    /// The result, or '-' for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn import(args: &ImportArgs, context: &Context) -> Result<Outcome, Failure> {
    let inputs = [args.file.clone(), args.file.join(FLATFILE)];
    let outputs = args.output.checked(Outputs::new(args.output.force).reading(inputs))?;
    let root = context.runs_root()?;
    let (name, bytes) = bytes_of(&args.file)?;
    let content = Content::of_bytes(&bytes).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    // A bundle may say the id of any run: the one that is there is not touched.
    let Kept { run, directory, known } =
        content.store(&root).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    let kept = match known {
        true => stored_already(&run, &directory),
        false => format!("kept in {}", directory.display()),
    };
    if args.output.json {
        context.out(&shown::json(&run)?);
    } else {
        shown::show(&run, &[], context)?;
    }
    context.say(&kept);
    shown::finish(&run, &args.output, &outputs, context)
}

/// What is said of a run that is stored, and which of its two forms that is: with its names or without.
fn stored_already(run: &Run, directory: &Path) -> String {
    let stored = RunDir::open(directory).and_then(|directory| directory.read_run());
    let stored = stored.map_or(run.names_removed, |stored| stored.names_removed);
    let which = match (stored, run.names_removed) {
        (false, true) => " with its names of hosts and directories; the file is the same run without them",
        (true, false) => " without its names of hosts and directories; the file is the same run with them",
        (true, true) => " without its names of hosts and directories, as in the file",
        (false, false) => "",
    };
    format!("run {} is stored already, in {}{which}: left as it is", run.id, directory.display())
}

/// What can be stored as a run.
pub(crate) enum Content {
    /// An exported run, with its events and intervals.
    Bundle(Box<Bundle>),
    /// The result of another tool.
    Foreign(Box<Run>),
}

/// A run that is stored.
pub(crate) struct Kept {
    pub(crate) run: Run,
    pub(crate) directory: PathBuf,
    /// Whether it was there before, and was left as it is.
    pub(crate) known: bool,
}

impl Content {
    /// What a file holds, with what is wrong with it otherwise.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        if store::is_bundle(bytes) {
            return Bundle::read(bytes).map(Box::new).map(Self::Bundle).map_err(|error| error.to_string());
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text, and no exported run")?;
        languages::import(text).map(Box::new).map(Self::Foreign).map_err(|error| error.to_string())
    }

    /// Stores the run where it is not stored yet.
    pub(crate) fn store(self, root: &Path) -> Result<Kept, StoreError> {
        let (run, created) = match self {
            Self::Bundle(bundle) => match store::with_id(root, &bundle.run.id)? {
                Some(known) => (bundle.run, Err(known)),
                None => bundle.store(root).map(|directory| (bundle.run, Ok(directory)))?,
            },
            Self::Foreign(run) => match store::with_id(root, &run.id)? {
                Some(known) => (*run, Err(known)),
                None => {
                    let directory = RunDir::create(root, &run.started, &run.name, &run.id)?;
                    directory.write_run(&run)?;
                    (*run, Ok(directory))
                }
            },
        };
        let known = created.is_err();
        let (Ok(directory) | Err(directory)) = created;
        Ok(Kept { run, directory: directory.path().to_owned(), known })
    }
}

/// The name and the text of a result.
pub(crate) fn read(path: &Path) -> Result<(String, String), Failure> {
    let (name, bytes) = bytes_of(path)?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(too_large(&name, TEXT_BYTES_MAX as u64));
    }
    text(&name, bytes).map(|text| (name, text))
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{name} is not text")))
}

/// The name and the bytes of a result or of a bundle, read once: a pipe cannot be read again. Of what begins as a bundle, as many as a
/// bundle may have.
fn bytes_of(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let (name, mut source) = opened(path)?;
    let failed = |error: std::io::Error| Failure::usage(format!("{name}: {error}"));
    let mut bytes = Vec::new();
    source.by_ref().take(store::BUNDLE_HEAD_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
    let bytes_max = if store::is_bundle(&bytes) { store::BUNDLE_BYTES_MAX } else { TEXT_BYTES_MAX as u64 };
    source.take(bytes_max + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large(&name, bytes_max));
    }
    Ok((name, bytes))
}

fn too_large(name: &str, bytes_max: u64) -> Failure {
    Failure::usage(format!("{name} is larger than {} MiB", bytes_max >> 20))
}

fn opened(path: &Path) -> Result<(String, Box<dyn Read>), Failure> {
    if path == Path::new("-") {
        return Ok(("stdin".to_owned(), Box::new(std::io::stdin().lock())));
    }
    let flatfile = path.join(FLATFILE);
    let path = if flatfile.is_file() { &flatfile } else { path };
    let name = path.display().to_string();
    let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{name} does not exist")),
        _ => Failure::usage(format!("{name}: {error}")),
    })?;
    if meta.is_dir() {
        return Err(Failure::usage(format!("{name} is a directory without a {FLATFILE}")));
    }
    let source = pipe::open(path).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok((name, source))
}
