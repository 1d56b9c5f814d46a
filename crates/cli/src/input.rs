//! Reading workload files of any of the three languages.

use std::path::{Path, PathBuf};

use assay_formats::loader::Loader;
use assay_formats::native::{self, Format};
use assay_formats::{Diagnostic, Severity, fio, vdbench};
use assay_workload::Workload;

use crate::context::Context;
use crate::failure::{Failure, nearest};

/// Larger files are no workload files.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Includes and environment variables from this system.
#[derive(Debug)]
pub(crate) struct SystemLoader;

impl Loader for SystemLoader {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(_) => read(Path::new(path)).map(Some).map_err(|error| error.to_string()),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{shown} does not exist")),
        _ => Failure::usage(format!("{shown}: {error}")),
    })?;
    if meta.is_dir() {
        return Err(Failure::usage(format!("{shown} is a directory, not a workload file")));
    }
    if meta.len() > INPUT_BYTES_MAX {
        return Err(Failure::usage(format!("{shown} is larger than 64 MiB; that is no workload file")));
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Failure::usage(format!("{shown}:{}: not text (not valid UTF-8)", line + 1))
    })
}

/// A file as it was read, with what there is to say about it.
#[derive(Debug)]
pub(crate) struct Input {
    /// The language it turned out to be in.
    pub(crate) format: Format,
    /// What it asks for.
    pub(crate) workload: Option<Workload>,
    /// In the order of the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Its runs, a line each, in the words of its own tool.
    pub(crate) runs: Vec<String>,
}

/// The language by the name of an option's value.
pub(crate) fn format_of(word: &str) -> Result<Option<Format>, Failure> {
    match word {
        "auto" => Ok(None),
        "fio" => Ok(Some(Format::Fio)),
        "vdbench" => Ok(Some(Format::Vdbench)),
        "toml" | "assay" => Ok(Some(Format::Native)),
        other => {
            let hint = nearest(other, ["auto", "fio", "vdbench", "toml"]);
            let hint = hint.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Err(Failure::usage(format!("there is no format '{other}'{hint}")))
        }
    }
}

/// Reads and parses a file.
pub(crate) fn read_file(path: &Path, format: &str, variables: &[String]) -> Result<Input, Failure> {
    let format = format_of(format)?;
    let text = read(path)?;
    let name = path.to_string_lossy();
    let format = format.unwrap_or_else(|| native::detect(&name, &text).format);
    parse(&name, &text, format, variables)
}

/// Parses text in a known language.
pub(crate) fn parse(name: &str, text: &str, format: Format, variables: &[String]) -> Result<Input, Failure> {
    let stem = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
    match format {
        Format::Native => {
            let (workload, diagnostics) = native::parse(name, text);
            Ok(Input { format, workload, diagnostics, runs: Vec::new() })
        }
        Format::Fio => {
            let (file, mut diagnostics) = fio::parse(name, text, &SystemLoader);
            let Some(file) = file else {
                return Ok(Input { format, workload: None, diagnostics, runs: Vec::new() });
            };
            let runs = file.expand().iter().map(fio::ResolvedJob::resolved_line).collect();
            let (workload, more) = fio::lower(&stem, &file);
            diagnostics.extend(more);
            Ok(Input { format, workload, diagnostics, runs })
        }
        Format::Vdbench => {
            let options =
                vdbench::Options { variables: variables_of(variables)?, ..vdbench::Options::default() };
            let (file, mut diagnostics) = vdbench::parse(name, text, &options, &SystemLoader);
            let Some(file) = file else {
                return Ok(Input { format, workload: None, diagnostics, runs: Vec::new() });
            };
            let runs = vdbench::expand(&file).iter().map(vdbench::ExpandedRun::simulating_line).collect();
            let (workload, more) = vdbench::lower(&stem, &file);
            diagnostics.extend(more);
            Ok(Input { format, workload, diagnostics, runs })
        }
    }
}

fn variables_of(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let split = |word: &String| {
        let pair = word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        pair.ok_or_else(|| Failure::usage(format!("'{word}' is not name=value")))
    };
    words.iter().map(split).collect()
}

impl Input {
    /// Says everything there is to say; fails on errors, and with `strict` on losses too.
    pub(crate) fn accept(self, strict: bool, context: &Context) -> Result<Workload, Failure> {
        let mut worst = None;
        for diagnostic in &self.diagnostics {
            let fatal =
                diagnostic.severity == Severity::Error || strict && diagnostic.severity == Severity::Loss;
            if fatal && worst.is_none() {
                worst = Some(diagnostic.to_string());
            } else {
                context.say(&diagnostic.to_string());
            }
        }
        match (worst, self.workload) {
            (Some(message), _) => Err(Failure::Usage(message)),
            (None, Some(workload)) => Ok(workload),
            (None, None) => Err(Failure::usage("the file defines nothing to run")),
        }
    }
}

/// Where targets with relative paths are: below the directory that was named.
pub(crate) fn directory_of(target: &Path) -> Result<PathBuf, Failure> {
    let shown = target.display();
    let meta = std::fs::metadata(target).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{shown} does not exist")),
        _ => Failure::usage(format!("{shown}: {error}")),
    })?;
    if meta.is_dir() {
        Ok(target.to_owned())
    } else {
        Err(Failure::usage(format!(
            "{shown} is not a directory; --target names the one that targets are made in"
        )))
    }
}
