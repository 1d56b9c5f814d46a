//! `assay convert`: a workload file in another language, with a remark for every line that does not carry over.

use std::path::{Path, PathBuf};

use assay_formats::{Diagnostic, Severity};
use clap::{Args, ValueEnum};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input::{self, ReadingArgs};
use crate::languages::{self, Format};
use crate::output::Outputs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # to stdout; what is lost goes to stderr and into comments
  assay convert job.fio --to vdbench
  # Assay's own plans hold everything the other two can say
  assay convert parmfile --to toml -o plan.toml
  # status 2 and no output if anything is lost
  assay convert job.fio --to vdbench --strict")]
pub(crate) struct ConvertArgs {
    /// A fio job file, a vdbench parameter file or a plan
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// The language to write
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(crate) to: Language,
    /// Where to write it [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
    /// Write nothing if anything does not carry over
    #[arg(long)]
    pub(crate) strict: bool,
}

/// A language of workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// A fio job file
    Fio,
    /// A vdbench parameter file
    Vdbench,
    /// A plan of Assay's own
    Toml,
}

impl From<Language> for Format {
    fn from(language: Language) -> Self {
        match language {
            Language::Fio => Format::Fio,
            Language::Vdbench => Format::Vdbench,
            Language::Toml => Format::Native,
        }
    }
}

pub(crate) fn convert(args: &ConvertArgs, context: &Context) -> Result<Outcome, Failure> {
    let input = input::read_file(&args.file, &args.reading, None)?;
    let (from, said) = (input.format, input.diagnostics.clone());
    let workload = input.accept(args.strict, context)?;
    let (text, more) = languages::write(&workload, args.to.into());
    input::say_all(&more, args.strict, context)?;
    let head = remarks(&args.file, from, &said, &more, args.to.into());
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    Outputs::new(args.force).write("--output", output, &format!("{head}{text}"))?;
    Ok(Outcome::Done)
}

/// Comment lines that say where a text comes from and what did not carry over, in the language `to`.
fn remarks(file: &Path, from: Format, read: &[Diagnostic], written: &[Diagnostic], to: Format) -> String {
    let mark = languages::comment_mark(to);
    let mut text = languages::schema_line(to);
    text.push_str(&format!("{mark} from the {from} {}\n", one_line(&file.to_string_lossy())));
    // A parameter file lists what its writer lost itself.
    let own = if to == Format::Vdbench { &[] } else { written };
    for lost in read.iter().chain(own).filter(|diagnostic| diagnostic.severity != Severity::Note) {
        text.push_str(&format!("{mark} {}\n", one_line(&lost.to_string())));
    }
    text
}

fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
