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
    let (run, kept) = if store::is_bundle(&bytes) {
        let bundle = Bundle::read(&bytes).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let kept = keep(&root, &bundle.run, || bundle.store(&root))?;
        (bundle.run, kept)
    } else {
        let text = text(&name, bytes)?;
        let run = languages::import(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let create = || {
            let directory = RunDir::create(&root, &run.started, &run.name, &run.id)?;
            directory.write_run(&run).map(|()| directory)
        };
        let kept = keep(&root, &run, create)?;
        (run, kept)
    };
    if args.output.json {
        context.out(&shown::json(&run)?);
    } else {
        shown::show(&run, &[], context)?;
    }
    context.say(&kept);
    shown::finish(&run, &args.output, &outputs, context)
}

/// Stores a run where it is not stored yet; where it is, in words.
pub(crate) fn keep(
    root: &Path,
    run: &Run,
    create: impl FnOnce() -> Result<RunDir, StoreError>,
) -> Result<String, Failure> {
    Ok(match store::find(root, &run.id) {
        Ok(known) => format!("was imported before, into {}", known.path().display()),
        Err(_) => format!("kept in {}", create().map_err(Failure::failed)?.path().display()),
    })
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
