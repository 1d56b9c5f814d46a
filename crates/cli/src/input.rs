//! Reading workload files of any of the three languages.

use std::cell::RefCell;
use std::io::Read;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use assay_fio as fio;
use assay_formats::foreign_command::{CommandTime, ForeignCommand};
use assay_formats::loader::Loader;
use assay_formats::{Diagnostic, Severity, native, near};
use assay_vdbench as vdbench;
use assay_workload::Workload;

use clap::{Args, ValueEnum};

use crate::apps;
use crate::context::Context;
use crate::failure::Failure;
use crate::languages::{self, Format};
use crate::pipe;

/// How a workload file is read.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadingArgs {
    /// name=value words for a vdbench file: $name in it stands for the value; validate=, journal= and data_errors= hold for all of it
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// The language of the file: auto, fio, vdbench or toml
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: String,
    /// How to read vdbench's hotband: as vdbench does, or with its unit error (factor 1000) corrected [default: faithful]
    #[arg(long, value_enum, value_name = "UNITS")]
    pub(crate) hotband: Option<Hotband>,
}

/// The units of vdbench's hotband.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hotband {
    /// As vdbench does it: a third of the reads goes to the first MiB of the band
    Faithful,
    /// As its manual means it
    Corrected,
}

/// Larger files are no workload files.
const INPUT_BYTES_MAX: u64 = 64 << 20;

thread_local! {
    /// Every workload file that was read, includes too: no output may take its place.
    static FILES_READ: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

/// The workload files that this command has read so far.
pub(crate) fn files_read() -> Vec<PathBuf> {
    FILES_READ.with_borrow(Clone::clone)
}

/// Includes and environment variables from this system.
#[derive(Debug)]
pub(crate) struct SystemLoader;

impl Loader for SystemLoader {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        match std::fs::metadata(named(Path::new(path))) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(_) => read(Path::new(path)).map(Some).map_err(|error| error.to_string()),
        }
    }

    fn load_bytes(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let path = named(Path::new(path));
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
            Ok(_) => bytes_of(path).map(Some).map_err(|error| error.to_string()),
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The file that a command line names: `-` is stdin.
pub(crate) fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

fn read(path: &Path) -> Result<String, Failure> {
    let path = named(path);
    text_of(path, opened(path)?)
}

/// The text of a file whose lines are to be named: a pipe has none, as what it holds is there once.
pub(crate) fn text_of_file(path: &Path) -> Result<String, Failure> {
    let is_file = std::fs::metadata(path).map_or(true, |meta| meta.is_file());
    if is_file { read(path) } else { Ok(String::new()) }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    all_of(path, opened(path)?)
}

fn opened(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::usage(format!("{shown} does not exist")),
        _ => Failure::usage(format!("{shown}: {error}")),
    })?;
    if meta.is_dir() {
        return Err(Failure::usage(format!("{shown} is a directory, not a workload file")));
    }
    if meta.file_type().is_block_device() {
        return Err(Failure::usage(format!(
            "{shown} is a block device, not a workload file; 'assay new --target {shown} -o FILE' writes one that measures it"
        )));
    }
    FILES_READ.with_borrow_mut(|files| files.push(path.to_owned()));
    pipe::open(path).map_err(|error| Failure::usage(format!("{shown}: {error}")))
}

fn all_of(path: &Path, from: impl Read) -> Result<Vec<u8>, Failure> {
    let (shown, mut bytes) = (path.display(), Vec::new());
    let read = from.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::usage(format!("{shown} is larger than 64 MiB; that is no workload file")));
    }
    Ok(bytes)
}

fn text_of(path: &Path, from: impl Read) -> Result<String, Failure> {
    let (shown, mut bytes) = (path.display(), all_of(path, from)?);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Failure::usage(format!("{shown}:1: this is UTF-16 (save it as UTF-8)")));
    }
    // Editors of Windows put a byte order mark in front of UTF-8.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    text(bytes).map_err(|line| Failure::usage(format!("{shown}:{line}: not text (not valid UTF-8)")))
}

/// Bytes as text. Comments may be in another encoding than UTF-8, as those of old files are.
///
/// # Errors
/// The number of the first line that is neither text nor a comment.
fn text(bytes: Vec<u8>) -> Result<String, usize> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) if is_comment(line) => text.push_str(&String::from_utf8_lossy(line)),
            Err(_) => return Err(index + 1),
        }
    }
    Ok(text)
}

/// Whether a line is a comment in fio's, vdbench's or Assay's language, and nothing binary.
fn is_comment(line: &[u8]) -> bool {
    let mark = line.trim_ascii_start().first();
    mark.is_some_and(|mark| b"#;*/".contains(mark)) && !line.contains(&0)
}

/// The id of notes that say what of a file was not honoured although it changes what is tested.
pub(crate) const LOST: &str = "not-honoured";

/// A file as it was read, with what there is to say about it.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// The language it turned out to be in.
    pub(crate) format: Format,
    /// What it asks for.
    pub(crate) workload: Option<Workload>,
    /// In the order of the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Its runs, a line each, in the words of its own tool.
    pub(crate) runs: Vec<String>,
    /// Commands that it wants run beside its jobs.
    pub(crate) commands: Vec<ForeignCommand>,
    /// Directories that it names for its files, and that have to exist.
    pub(crate) directories: Vec<String>,
}

/// The language by the name of an option's value.
pub(crate) fn format_of(word: &str) -> Result<Option<Format>, Failure> {
    match (word, Format::from_name(word)) {
        ("auto", _) => Ok(None),
        ("assay", _) => Ok(Some(Format::Native)),
        (_, Some(format)) => Ok(Some(format)),
        (other, None) => {
            let known = Format::ALL.map(Format::name);
            let hint = near::nearest(other, ["auto"].into_iter().chain(known));
            let hint = hint.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Err(Failure::usage(format!("there is no format '{other}'{hint}")))
        }
    }
}

/// Reads and parses a file. `place` is the directory of its targets with relative paths; without one, no target of the
/// file is looked at.
pub(crate) fn read_file(path: &Path, reading: &ReadingArgs, place: Option<&Path>) -> Result<Input, Failure> {
    parse_file(path, &read(path)?, reading, place)
}

/// As [`read_file`], of a file that is open: what a pipe holds is there once.
pub(crate) fn read_opened(path: &Path, from: impl Read, reading: &ReadingArgs) -> Result<Input, Failure> {
    parse_file(path, &text_of(path, from)?, reading, None)
}

fn parse_file(
    path: &Path,
    text: &str,
    reading: &ReadingArgs,
    place: Option<&Path>,
) -> Result<Input, Failure> {
    let (format, name) = (format_of(&reading.format)?, path.to_string_lossy());
    if text.trim().is_empty() {
        let message = format!("{name} is empty: it defines no job and no run ('assay new' writes a file)");
        return Err(Failure::usage(message));
    }
    let format = format.unwrap_or_else(|| languages::detect(&name, text).format);
    parse(&name, text, format, reading, place)
}

/// Parses text in a known language.
pub(crate) fn parse(
    name: &str,
    text: &str,
    format: Format,
    reading: &ReadingArgs,
    place: Option<&Path>,
) -> Result<Input, Failure> {
    refuse_words_of_others(format, reading)?;
    let stem = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
    match format {
        Format::Native => {
            let (workload, diagnostics) = native::parse_with(name, text, apps::KINDS);
            Ok(Input::of(format, workload, diagnostics))
        }
        Format::Fio => {
            let (file, diagnostics) = fio::parse_with(name, text, &SystemLoader, &system());
            Ok(of_fio(&stem, file, diagnostics))
        }
        Format::Vdbench => {
            let (file, mut diagnostics) = parse_vdbench(name, text, reading, place)?;
            let Some(file) = file else {
                return Ok(Input::of(format, None, diagnostics));
            };
            let runs = vdbench::expand(&file).iter().map(vdbench::ExpandedRun::simulating_line).collect();
            let (workload, more) = vdbench::lower(&stem, &file);
            diagnostics.extend(more);
            Ok(Input {
                format,
                workload,
                diagnostics,
                runs,
                commands: file.commands(),
                directories: Vec::new(),
            })
        }
    }
}

/// A parameter file, with its storage that exists already taken as formatted.
fn parse_vdbench(
    name: &str,
    text: &str,
    reading: &ReadingArgs,
    place: Option<&Path>,
) -> Result<(Option<vdbench::ParameterFile>, Vec<Diagnostic>), Failure> {
    let mut options = vdbench::Options {
        variables: variables_of(&reading.variables)?,
        hotband_corrected: reading.hotband == Some(Hotband::Corrected),
        local_names: vec![rustix::system::uname().nodename().to_string_lossy().into_owned()],
        ..vdbench::Options::default()
    };
    let read = |options: &vdbench::Options| vdbench::parse(name, text, options, &SystemLoader);
    Ok(existing_as_formatted(&mut options, place, &read))
}

/// The parameter files of vdbench's command line, read as one; its storage that exists in `place` is taken as formatted.
pub(crate) fn of_vdbench(
    line: &vdbench::CommandLine,
    place: &Path,
) -> Result<(Input, vdbench::Reported), Failure> {
    let texts = line.files.iter().map(|file| read(Path::new(file))).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<(&str, &str)> =
        line.files.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let mut options = line.options.clone();
    options.local_names.push(rustix::system::uname().nodename().to_string_lossy().into_owned());
    let (file, mut diagnostics) = existing_as_formatted(&mut options, Some(place), &|options| {
        vdbench::parse_files(&files, options, &SystemLoader)
    });
    let format = Format::Vdbench;
    let Some(file) = file else {
        return Ok((Input::of(format, None, diagnostics), vdbench::Reported::default()));
    };
    let reported = vdbench::Reported {
        interval_s: file.runs.iter().map(|run| run.interval_s).min().unwrap_or(0),
        first_left_out: file.runs.iter().all(|run| run.warmup_s == 0),
    };
    let runs = vdbench::expand(&file).iter().map(vdbench::ExpandedRun::simulating_line).collect();
    let stem = Path::new(&line.files[0]).file_stem().map_or("vdbench".into(), |stem| stem.to_string_lossy());
    let (workload, more) = vdbench::lower(&stem, &file);
    diagnostics.extend(more);
    Ok((
        Input { format, workload, diagnostics, runs, commands: file.commands(), directories: Vec::new() },
        reported,
    ))
}

/// A parameter file that was read, or `None`, and what there is to say.
type Parsed = (Option<vdbench::ParameterFile>, Vec<Diagnostic>);

/// Reads a parameter file, and again if storage that it would format exists below `place`.
fn existing_as_formatted(
    options: &mut vdbench::Options,
    place: Option<&Path>,
    read: &dyn Fn(&vdbench::Options) -> Parsed,
) -> Parsed {
    let parsed = read(options);
    let (Some(file), Some(place)) = (&parsed.0, place) else { return parsed };
    let missing = file.unformatted.iter().filter_map(|index| file.storages.get(*index));
    for lun in missing.flat_map(|storage| &storage.luns) {
        if let Ok(meta) = std::fs::metadata(place.join(&lun.path)) {
            options.existing_files.insert(lun.path.clone(), meta.len());
        }
    }
    if options.existing_files.is_empty() { parsed } else { read(options) }
}

/// What only vdbench's files can be told would be silently lost on others.
fn refuse_words_of_others(format: Format, reading: &ReadingArgs) -> Result<(), Failure> {
    if format == Format::Vdbench {
        return Ok(());
    }
    if let Some(word) = reading.variables.first() {
        let instead = match format {
            Format::Fio => "a fio job file takes ${NAME} from the environment",
            _ => "change it in the plan (assay run --help lists what an option changes)",
        };
        return Err(Failure::usage(format!("'{word}': name=value is for vdbench files; {instead}")));
    }
    if reading.hotband.is_some() {
        let instead = match format {
            Format::Fio => "fio has no such pattern",
            _ => "a plan says corrected = true in its pattern",
        };
        return Err(Failure::usage(format!("--hotband is for vdbench files; {instead}")));
    }
    Ok(())
}

/// The jobs of a file or a command line of fio.
pub(crate) fn of_fio(name: &str, file: Option<fio::JobFile>, mut diagnostics: Vec<Diagnostic>) -> Input {
    let format = Format::Fio;
    let Some(file) = file else {
        return Input {
            format,
            workload: None,
            diagnostics,
            runs: Vec::new(),
            commands: Vec::new(),
            directories: Vec::new(),
        };
    };
    let runs = file.expand().iter().map(fio::ResolvedJob::resolved_line).collect();
    let (workload, more) = fio::lower(name, &file);
    diagnostics.extend(more);
    let (commands, directories) = (file.commands(), file.directories());
    Input { format, workload, diagnostics, runs, commands, directories }
}

/// What fio's keywords `$pagesize`, `$mb_memory` and `$ncpus` stand for here.
pub(crate) fn system() -> fio::System {
    let memory = std::fs::read_to_string("/proc/meminfo").ok();
    let kib = memory
        .as_deref()
        .and_then(|text| text.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    fio::System {
        page_size_bytes: rustix::param::page_size() as u64,
        memory_mib: kib.map(|kib: u64| kib >> 10),
        cpus: online.as_deref().and_then(count_listed),
    }
}

/// How many numbers a list of the kernel names: `0-3,6` names five.
fn count_listed(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0, |count: u32, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn variables_of(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let split = |word: &String| {
        let pair = word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        pair.ok_or_else(|| Failure::usage(format!("'{word}' is not name=value")))
    };
    words.iter().map(split).collect()
}

impl Input {
    /// A file that names neither commands nor directories.
    fn of(format: Format, workload: Option<Workload>, diagnostics: Vec<Diagnostic>) -> Self {
        Input {
            format,
            workload,
            diagnostics,
            runs: Vec::new(),
            commands: Vec::new(),
            directories: Vec::new(),
        }
    }

    /// Makes an error of a variable that is not set: fio puts nothing in its place, so that `${DIR}/file` is `/file`.
    pub(crate) fn refuse_unset(mut self) -> Self {
        for diagnostic in self.diagnostics.iter_mut().filter(|one| one.id == "fio-variable-unset") {
            diagnostic.severity = Severity::Error;
        }
        self
    }

    /// Says what there is to say; fails on errors, and with `strict` on losses too.
    pub(crate) fn accept(self, strict: bool, context: &Context) -> Result<Workload, Failure> {
        let (workload, diagnostics) = self.checked(strict, context)?;
        say_all(&diagnostics, strict, context)?;
        Ok(workload)
    }

    /// The workload and what is to be said about it, which is said here only if it is fatal.
    pub(crate) fn checked(
        self,
        strict: bool,
        context: &Context,
    ) -> Result<(Workload, Vec<Diagnostic>), Failure> {
        if self.diagnostics.iter().any(|diagnostic| is_fatal(diagnostic, strict)) {
            say_all(&self.diagnostics, strict, context)?;
        }
        let workload = self.workload.ok_or_else(|| Failure::usage("the file defines nothing to run"))?;
        Ok((workload, self.diagnostics))
    }
}

fn is_fatal(diagnostic: &Diagnostic, strict: bool) -> bool {
    match diagnostic.severity {
        Severity::Error => true,
        Severity::Loss => strict,
        Severity::Note => false,
    }
}

/// Says losses and errors, and notes where `--verbose` asks for them, else how many there are.
///
/// # Errors
/// The first error, or with `strict` the first loss or error; the others were said.
pub(crate) fn say_all(diagnostics: &[Diagnostic], strict: bool, context: &Context) -> Result<(), Failure> {
    let worst = diagnostics.iter().position(|diagnostic| is_fatal(diagnostic, strict));
    let mut notes = 0;
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if diagnostic.severity == Severity::Note && !context.verbose {
            notes += 1;
        } else if worst == Some(index) {
            // It ends the command, which says it.
        } else if diagnostic.changes_test() {
            context.warn(&diagnostic.to_string());
        } else {
            context.say(&diagnostic.to_string());
        }
    }
    match notes {
        0 => {}
        1 => context.say("1 note; --verbose shows it"),
        notes => context.say(&format!("{notes} notes; --verbose shows them")),
    }
    worst.map_or(Ok(()), |index| Err(Failure::usage(sentence(&diagnostics[index]))))
}

/// Refuses to run another test than the one that was asked for, unless that was allowed; what was lost is to be kept with
/// the run.
///
/// # Errors
/// [`Failure::Failed`] with what is lost; the diagnostics were said.
pub(crate) fn accept_losses(
    diagnostics: &[Diagnostic],
    allowed: bool,
) -> Result<Vec<(String, String)>, Failure> {
    let lost: Vec<&Diagnostic> = diagnostics.iter().filter(|one| one.changes_test()).collect();
    match lost.as_slice() {
        [] => Ok(Vec::new()),
        lost if allowed => Ok(lost.iter().map(|one| (LOST.to_owned(), one.to_string())).collect()),
        [one] => Err(Failure::failed(format!(
            "nothing was run: '{}' is not honoured, which changes what is tested (--allow-loss runs it without)",
            one.word
        ))),
        lost => Err(Failure::failed(format!(
            "nothing was run: {} options that change what is tested are not honoured (--allow-loss runs it without them)",
            lost.len()
        ))),
    }
}

/// What is said of commands that are going to be executed: no loss, but what they are.
pub(crate) fn allow_commands(commands: &[ForeignCommand], diagnostics: &mut [Diagnostic]) {
    for said in diagnostics.iter_mut().filter(|said| said.severity == Severity::Loss) {
        let is_it = |command: &&ForeignCommand| {
            said.position.as_ref() == Some(&command.position) && said.message.contains(command.option)
        };
        let Some(command) = commands.iter().find(is_it) else { continue };
        let when = match command.when {
            CommandTime::Before => "before the first job",
            CommandTime::After => "after the last job",
        };
        (said.severity, said.affects) = (Severity::Note, None);
        said.message = format!("`{}={}`: executed {when}, by a shell", command.option, command.command);
        said.help.clear();
    }
}

/// A diagnostic where the word `error` stands before it anyway.
fn sentence(diagnostic: &Diagnostic) -> String {
    let text = diagnostic.to_string().replacen(": error: ", ": ", 1);
    text.strip_prefix("error: ").map_or(text.clone(), str::to_owned)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_may_be_in_any_encoding_and_nothing_else() {
        let read = |bytes: &[u8]| text(bytes.to_vec());
        assert_eq!(
            read(b"; gr\xfc\xdfe\n[j]\nrw=read\n"),
            Ok("; gr\u{fffd}\u{fffd}e\n[j]\nrw=read\n".to_owned())
        );
        assert_eq!(read(b"[j]\n filename=gr\xfcn\n"), Err(2));
        assert_eq!(read(b"[j]\n#\xff\0\n"), Err(2));
    }

    #[test]
    fn lists_of_the_kernel_are_counted() {
        assert_eq!(count_listed("0-3,6\n"), Some(5));
        assert_eq!(count_listed("0"), Some(1));
        assert_eq!(count_listed("3-0"), None);
        assert_eq!(count_listed(""), None);
    }

    #[test]
    fn the_keywords_of_fio_have_values_here() {
        let system = system();
        assert!(system.page_size_bytes.is_power_of_two(), "{system:?}");
        assert!(system.memory_mib.is_some_and(|mib| mib > 16), "{system:?}");
        assert!(system.cpus.is_some_and(|cpus| cpus > 0), "{system:?}");
    }
}
