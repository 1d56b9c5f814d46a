//! `fio --name=job --rw=read ... [file]`: the same options without sections.

use assay_formats::loader::Loader;
use assay_formats::{Diagnostic, Position, Severity};

use super::job_file::{Builder, COMMAND_LINE, JobFile};
use super::lines::{RawOption, RawSection};
use super::program::{self, Argument, Fate, Setting};
use super::report::WordPosition;
use super::settings::Settings;
use super::substitute::System;
use super::table::{self, Kind};

/// What a command line asks fio to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// Run the jobs.
    #[default]
    Run,
    /// `--parse-only`: read everything, do no I/O.
    Parse,
    /// `--showcmd`: print the job files as command lines, do no I/O.
    Show,
    /// `--version`.
    Version,
    /// `--help`.
    Help,
}

/// What the options of the program fio ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Program {
    /// What is done.
    pub action: Action,
    /// `--readonly`: no job may write or trim, and no file may be laid out.
    pub readonly: bool,
}

/// A command line that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    /// The options of the program.
    pub program: Program,
    /// The jobs; `None` exactly if one of the diagnostics is an error. Without a job only where nothing is to be run.
    pub jobs: Option<JobFile>,
    /// What there is to say.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads fio's command line without the program name; job files on it are read through the loader.
///
/// As [`super::parse`]; positions name the file `command line` and count words from 1 as lines.
pub fn parse_command_line(args: &[String], loader: &dyn Loader) -> (Option<JobFile>, Vec<Diagnostic>) {
    let read = parse_command_line_with(args, loader, &System::default());
    (read.jobs, read.diagnostics)
}

/// As [`parse_command_line`], with values for the keywords in job files, and with what is asked of the program.
pub fn parse_command_line_with(args: &[String], loader: &dyn Loader, system: &System) -> CommandLine {
    let mut reader = Reader {
        builder: Builder::new(loader, system),
        open: None,
        files: Vec::new(),
        sections: Vec::new(),
        program: Program::default(),
    };
    let mut words = args.iter().enumerate();
    while let Some((index, word)) = words.next() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let at = Position { file: COMMAND_LINE.to_owned(), line, column: 1 };
        reader.word(word, at, || words.next().map(|(_, value)| value.clone()));
    }
    reader.finish()
}

struct Reader<'a> {
    builder: Builder<'a>,
    /// The job whose options are being collected; `None`: the defaults.
    open: Option<RawSection>,
    files: Vec<(String, WordPosition)>,
    /// `--section` words.
    sections: Vec<String>,
    program: Program,
}

/// Whether an option takes its value from the next word if none is attached.
fn wants_value(name: &str) -> bool {
    table::core(name).is_none_or(|entry| !matches!(entry.kind, Kind::Flag | Kind::OptionalText))
}

impl Reader<'_> {
    fn word(&mut self, word: &str, at: Position, next: impl FnOnce() -> Option<String>) {
        let place = WordPosition { at: at.clone(), word: word.to_owned() };
        let Some(body) =
            word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|body| !body.is_empty())
        else {
            self.files.push((word.to_owned(), place));
            return;
        };
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let name = full_name(name).to_owned();
        if let Some(entry) = program::option(&name) {
            return self.program_option(entry, attached, next, &place);
        }
        let value = attached.or_else(|| if wants_value(&name) { next() } else { None });
        if name == "name" {
            self.close();
            let job = value.unwrap_or_default();
            self.open = Some(RawSection { name: job, at, options: Vec::new() });
            return;
        }
        let value_column = u32::try_from(name.len() + 4).unwrap_or(u32::MAX);
        let option = RawOption { name, value, at: at.clone(), value_column };
        let section = self.open.get_or_insert_with(|| RawSection {
            name: "global".to_owned(),
            at,
            options: Vec::new(),
        });
        section.options.push(option);
    }

    fn program_option(
        &mut self,
        entry: &program::Entry,
        attached: Option<String>,
        next: impl FnOnce() -> Option<String>,
        place: &WordPosition,
    ) {
        let name = entry.name;
        let value = match (entry.argument, attached) {
            (Argument::None, Some(_)) => {
                let message = format!("--{name} takes no value");
                return self.builder.report.error("fio-program-option", place, message, "");
            }
            (Argument::Required, None) => match next() {
                None => {
                    let message = format!("--{name} needs a value");
                    return self.builder.report.error("fio-program-option", place, message, "");
                }
                value => value,
            },
            (_, attached) => attached,
        };
        let report = &mut self.builder.report;
        match entry.fate {
            Fate::Set(setting) => self.set(setting, value, place),
            Fate::NoEffect(why) => {
                let message = format!("--{name} changes nothing here: {why}");
                report.note("fio-program-option", place, message, "");
            }
            Fate::Lost(affects, lost, instead) => {
                let message = format!("`{}`: {lost}", place.word);
                report.loss("fio-program-option", affects, place, message, instead);
            }
            Fate::Refused(lost, instead) => {
                let message = format!("`{}`: {lost}", place.word);
                report.error("fio-program-option", place, message, instead);
            }
        }
    }

    fn set(&mut self, setting: Setting, value: Option<String>, place: &WordPosition) {
        let action = &mut self.program.action;
        match setting {
            Setting::Readonly => self.program.readonly = true,
            Setting::Section => self.sections.extend(value),
            Setting::Version => *action = Action::Version,
            Setting::Help => *action = Action::Help,
            Setting::ShowCommand if matches!(action, Action::Run | Action::Parse) => *action = Action::Show,
            Setting::ParseOnly if *action == Action::Run => *action = Action::Parse,
            Setting::ShowCommand | Setting::ParseOnly => {}
            Setting::OutputFormat => {
                let value = value.unwrap_or_default();
                if value != "normal" {
                    let message = format!("fio's report is not printed as {value}");
                    self.builder.report.error("fio-program-option", place, message, program::OUTPUT);
                }
            }
        }
    }

    /// Ends the job that is open. On a command line options count in the order given.
    fn close(&mut self) {
        if let Some(section) = self.open.take() {
            self.builder.section(&section, false);
        }
    }

    fn finish(mut self) -> CommandLine {
        self.close();
        let mut names = Vec::new();
        for (index, (file, place)) in std::mem::take(&mut self.files).into_iter().enumerate() {
            // Defaults from the command line reach the first file only; each further one starts afresh.
            if index > 0 {
                self.builder.defaults = Settings::default();
                self.builder.opens_file = self.builder.has_jobs();
            }
            self.builder.starts_file();
            match self.builder.loader.load(&file) {
                Ok(Some(text)) => self.file(&file, &text),
                Ok(None) => {
                    let message = format!("the job file `{file}` does not exist");
                    self.builder.report.error("file-missing", &place, message, "");
                }
                Err(why) => {
                    let message = format!("the job file `{file}` cannot be read: {why}");
                    self.builder.report.error("file-unreadable", &place, message, "");
                }
            }
            names.push(file);
        }
        let name = if names.is_empty() { COMMAND_LINE.to_owned() } else { names.join(" ") };
        let runs = self.program.action == Action::Run;
        if runs && !self.sections.is_empty() && !self.builder.has_jobs() {
            let message = format!("no section is named {}", self.sections.join(" or "));
            self.builder.report.general(Severity::Error, "section-missing", message);
        }
        let program = self.program;
        let (jobs, diagnostics) = self.builder.finish(&name, runs);
        CommandLine { program, jobs, diagnostics }
    }

    fn file(&mut self, name: &str, text: &str) {
        let all = super::lines::read(name, text, self.builder.loader, &mut self.builder.report);
        for section in all {
            let kept =
                self.sections.is_empty() || section.is_global() || self.sections.contains(&section.name);
            if kept {
                self.builder.section(&section, true);
            }
        }
    }
}

/// Unique abbreviations are allowed on the command line.
fn full_name(name: &str) -> &str {
    if table::core(name).is_some() || program::option(name).is_some() || name.len() < 3 {
        return name;
    }
    let program = program::OPTIONS.iter().map(|entry| entry.name);
    let mut found = table::names(None).chain(program).filter(|full| full.starts_with(name));
    match (found.next(), found.next()) {
        (Some(only), None) => only,
        _ => name,
    }
}
