//! Files that the user names on the command line: the rules of [`assay_host::output`], and stdout.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use assay_host::output::{self, IsOfKind, OutputError, OutputFile, OutputLocation};
use assay_report::visible_lines;
use assay_results::store;

use crate::context::{Context, to_stdout};
use crate::failure::Failure;
use crate::input;

/// What vdbench calls the file with its rows.
pub(crate) const FLATFILE: &str = "flatfile.html";

/// What the file that an option replaces begins as, where documents can be told apart.
const KINDS: [(&str, IsOfKind); 5] = [
    ("--csv", is_table),
    ("--html", |head| head.starts_with(b"<")),
    ("--fio-json", is_document),
    ("--fio-json-plus", is_document),
    ("--xlsx", |head| head.starts_with(b"PK")),
];

/// Whether a file begins as rows of words.
fn is_table(head: &[u8]) -> bool {
    let other =
        store::is_bundle(head) || head.starts_with(b"PK") || head.starts_with(b"<") || is_document(head);
    !other && !head.contains(&0)
}

/// Whether a file begins as JSON.
fn is_document(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"{")
}

/// Whether a file begins as a report of fio may, and not as a log.
fn is_fio_report(head: &[u8]) -> bool {
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let is_log = end > 0 && assay_fio::is_former(assay_fio::LOG, &mut &head[..end]);
    is_document(head) || is_table(head) && !is_log
}

/// Whether a file begins as a log of fio may, compressed or not.
fn is_fio_log(head: &[u8]) -> bool {
    !(is_document(head) || store::is_bundle(head) || head.starts_with(b"PK") || head.starts_with(b"<"))
}

/// What a command writes, and what it must not write over.
#[derive(Debug, Clone)]
pub(crate) struct Outputs {
    rules: output::Outputs,
    /// The option whose document goes to stdout.
    on_stdout: Option<String>,
}

/// Whether an output goes to stdout.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Refused { .. } => Failure::usage(error),
            OutputError::Failed { .. } => Failure::failed(error),
        }
    }
}

impl Outputs {
    /// `force`: whether files that Assay did not write may be replaced. Workload files that were read so far are inputs.
    pub(crate) fn new(force: bool) -> Self {
        let rules =
            KINDS.iter().fold(output::Outputs::new(force), |rules, (option, is)| rules.of_kind(option, *is));
        Outputs { rules, on_stdout: None }.reading(input::files_read())
    }

    /// The same where what the output `option` replaces must begin as `is_of_it` says.
    pub(crate) fn of_kind(mut self, option: &'static str, is_of_it: IsOfKind) -> Self {
        self.rules = self.rules.of_kind(option, is_of_it);
        self
    }

    /// The same in the place of fio: what it wrote for an option may be replaced, too, and of Assay's own files those of that kind.
    pub(crate) fn of_fio(&self) -> Self {
        let rules = self.rules.replacing(assay_fio::is_former);
        let rules = rules.of_kind(assay_fio::OUTPUT, is_fio_report).of_kind(assay_fio::LOG, is_fio_log);
        Outputs { rules, on_stdout: self.on_stdout.clone() }
    }

    /// Notes files that the command reads or works on.
    pub(crate) fn reading(mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        paths.into_iter().for_each(|path| self.rules.reads(path.as_ref()));
        self
    }

    /// Notes the files of a stored run, or of another tool's result that is named in the place of one.
    pub(crate) fn reading_run(self, wanted: &str, context: &Context) -> Self {
        let found = context.runs_root().ok().and_then(|root| store::find(&root, wanted).ok());
        let stored = found.map(|run| run.path().to_owned()).unwrap_or_else(|| PathBuf::from(wanted));
        let own = [store::PLAN_FILE, store::JOURNAL_FILE, store::SERIES_FILE, store::RUN_FILE];
        let names = own.into_iter().chain([store::DATA_JOURNAL_FILE, FLATFILE]);
        let files: Vec<PathBuf> = names.map(|name| stored.join(name)).chain([wanted.into()]).collect();
        self.reading(files)
    }

    /// Whether the file that an option names can be written, as far as that can be told beforehand.
    pub(crate) fn check(&mut self, option: &str, path: Option<&Path>) -> Result<(), Failure> {
        match path {
            Some(path) if is_stdout(path) => self.take_stdout(option),
            Some(path) => Ok(self.rules.check(option, path)?),
            None => Ok(()),
        }
    }

    /// Notes that the document of `option` goes to stdout, which takes one.
    ///
    /// # Errors
    /// [`Failure::Usage`] where another's goes there already.
    pub(crate) fn take_stdout(&mut self, option: &str) -> Result<(), Failure> {
        match self.on_stdout.replace(option.to_owned()) {
            None => Ok(()),
            Some(other) => Err(Failure::usage(format!(
                "{other} and {option} both write to stdout, which takes one document; name a file for one of them"
            ))),
        }
    }

    /// The same for a directory that several files are to be written into.
    pub(crate) fn check_directory(&self, option: &str, path: Option<&Path>) -> Result<(), Failure> {
        path.map_or(Ok(()), |path| self.rules.directory(option, path).map(drop).map_err(Failure::from))
    }

    /// Writes a file whole.
    pub(crate) fn write(&self, option: &str, path: &Path, text: &str) -> Result<(), Failure> {
        let screen = is_stdout(path) && io::stdout().is_terminal();
        let text = if screen { visible_lines(text, false) } else { text.into() };
        self.stream(option, path, |out| out.write_all(text.as_bytes()))
    }

    /// Writes a file whole that is made piece by piece.
    pub(crate) fn stream(
        &self,
        option: &str,
        path: &Path,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if is_stdout(path) {
            return to_stdout(content);
        }
        let place: OutputLocation<'_> = self.rules.open(option, path)?;
        let mut file: BufWriter<OutputFile<'_>> = BufWriter::new(place.create()?);
        let failed = |error| Failure::failed(format!("cannot write {option} {}: {error}", path.display()));
        content(&mut file).map_err(failed)?;
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(file.finish()?)
    }

    /// Writes a file whole and holds it, so that more can be appended; `None`: it goes to stdout.
    pub(crate) fn begin(&self, option: &str, path: &Path, text: &str) -> Result<Option<File>, Failure> {
        if is_stdout(path) {
            self.write(option, path, text)?;
            return Ok(None);
        }
        let place: OutputLocation<'_> = self.rules.open(option, path)?;
        let mut file = place.create()?;
        let written = file.write_all(text.as_bytes());
        written
            .map_err(|error| Failure::failed(format!("cannot write {option} {}: {error}", path.display())))?;
        Ok(Some(file.finish_open()?))
    }

    /// Writes several files into a directory, all or none.
    pub(crate) fn write_directory(
        &self,
        option: &str,
        path: &Path,
        files: &[(String, impl AsRef<[u8]>)],
    ) -> Result<(), Failure> {
        Ok(self.rules.directory(option, path)?.write(files)?)
    }
}

/// Writes a file into the directory of a run, where Assay keeps it for itself.
pub(crate) fn keep(path: &Path, text: &str) -> Result<(), Failure> {
    output::Outputs::new(true).write("", path, text.as_bytes()).map_err(Failure::failed)
}
