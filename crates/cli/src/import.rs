//! `assay import`: a result of another tool, or a run that was exported, as a stored run.

use std::io::Read as _;
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
    let (run, kept) = match read_bundle(&args.file)? {
        Some(bundle) => {
            let kept = keep(&root, &bundle.run, || bundle.store(&root))?;
            (bundle.run, kept)
        }
        None => {
            let (name, text) = read(&args.file)?;
            let run = languages::import(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
            let create = || {
                let directory = RunDir::create(&root, &run.started, &run.name, &run.id)?;
                directory.write_run(&run).map(|()| directory)
            };
            let kept = keep(&root, &run, create)?;
            (run, kept)
        }
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

/// A run that 'assay runs export' wrote; `None`: it is something else.
fn read_bundle(path: &Path) -> Result<Option<Bundle>, Failure> {
    let name = path.display();
    let mut head = [0; store::BUNDLE_HEAD_BYTES];
    // What is no file, such as a pipe, is read once only, as another tool's result.
    let mut begins = || std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if !path.is_file() || begins().is_err() || !store::is_bundle(&head) {
        return Ok(None);
    }
    let bytes = pipe::read(path, store::BUNDLE_BYTES_MAX + 1);
    let bytes = bytes.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Bundle::read(&bytes).map(Some).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// The name and the text of a result.
pub(crate) fn read(path: &Path) -> Result<(String, String), Failure> {
    if path == Path::new("-") {
        let text = std::io::read_to_string(std::io::stdin().lock())
            .map_err(|error| Failure::usage(format!("stdin: {error}")))?;
        return Ok(("stdin".to_owned(), text));
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
    let bytes = pipe::read(path, TEXT_BYTES_MAX as u64 + 1);
    let bytes = bytes.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(Failure::usage(format!("{name} is larger than {} MiB", TEXT_BYTES_MAX >> 20)));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{name} is not text")))?;
    Ok((name, text))
}
