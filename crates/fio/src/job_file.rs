//! A job file that was read: its sections with the options that hold for each.

use std::collections::BTreeSet;

use assay_formats::foreign_command::{CommandTime, ForeignCommand};
use assay_formats::loader::Loader;
use assay_formats::shell::pasted;
use assay_formats::{Diagnostic, Severity};

use super::lines::{self, RawSection};
use super::read_value::split_names;
use super::report::{Report, WordPosition};
use super::resolve::{self, Given};
use super::resolved::Direction;
use super::section::{JOBS_MAX, JobSection, place};
use super::settings::{Applier, OptionLine, Settings};
use super::substitute::System;

/// What a command line without files is called, as the file that jobs are from.
pub(crate) const COMMAND_LINE: &str = "command line";

/// A section in the order of the file, for printing.
#[derive(Debug, Clone, PartialEq)]
struct Printed {
    /// `None` for a global section.
    job: Option<String>,
    lines: Vec<OptionLine>,
}

/// A fio job file (or command line) that was read without errors.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    /// The name it was given.
    pub name: String,
    /// Whether each clone is to have a result of its own where it does not ask for `group_reporting`.
    pub apart: bool,
    pub(super) jobs: Vec<JobSection>,
    printed: Vec<Printed>,
    /// Where in `printed` each job file of a command line starts.
    file_starts: Vec<usize>,
}

impl JobFile {
    /// One without jobs, which no text is.
    pub(super) fn empty() -> Self {
        let (name, apart) = (String::new(), false);
        JobFile { name, apart, jobs: Vec::new(), printed: Vec::new(), file_starts: Vec::new() }
    }

    /// Number of job sections, without clones.
    pub fn job_count(&self) -> usize {
        self.jobs.len()
    }

    /// The commands that its jobs want run before and after them, once for each section.
    pub fn commands(&self) -> Vec<ForeignCommand> {
        let options = [("exec_prerun", CommandTime::Before), ("exec_postrun", CommandTime::After)];
        let of = |section: &JobSection| {
            let command = |(option, when): (&'static str, CommandTime)| {
                let setting = section.settings.get(option)?;
                let (_, command) = setting.text.split_once('=')?;
                let (of, command) = (section.name.clone(), command.trim().to_owned());
                Some(ForeignCommand { when, option, of, command, position: setting.at.clone() })
            };
            options.into_iter().filter_map(command).collect::<Vec<_>>()
        };
        self.jobs.iter().flat_map(of).collect()
    }

    /// Every option line in the order fio reads them, with what became of it.
    pub fn option_lines(&self) -> impl Iterator<Item = &OptionLine> {
        self.printed.iter().flat_map(|section| &section.lines)
    }

    /// What `fio --showcmd` prints, word by word: a command line for each job file, variables replaced, aliases resolved.
    ///
    /// As in fio, a global section prints all defaults up to there, those given beside the file too, and jobs given as
    /// options are left out: they are a command line already.
    pub fn command_lines(&self) -> Vec<Vec<String>> {
        let ends = self.file_starts.iter().skip(1).copied().chain([self.printed.len()]);
        let mut defaults: Vec<String> = Vec::new();
        let given = self.file_starts.first().map_or(&self.printed[..], |start| &self.printed[..*start]);
        given.iter().filter(|section| section.job.is_none()).for_each(|section| section.words(&mut defaults));
        let mut lines = Vec::new();
        for (start, end) in self.file_starts.iter().copied().zip(ends) {
            let mut words = vec!["fio".to_owned()];
            for section in &self.printed[start..end] {
                if section.job.is_some() {
                    section.words(&mut words);
                } else {
                    section.words(&mut defaults);
                    words.extend_from_slice(&defaults);
                }
            }
            lines.push(words);
            defaults.clear();
        }
        lines
    }

    /// The same as text: a line for each job file, such that a shell reads the same words; fio quotes descriptions only.
    pub fn shell_lines(&self) -> Vec<String> {
        // fio ends each word with a blank, the last one too.
        let line = |words: &Vec<String>| words.iter().map(|word| for_shell(word) + " ").collect();
        self.command_lines().iter().map(line).collect()
    }

    /// The directories that jobs name for their files (`directory`), each once: fio refuses those that do not exist.
    pub fn directories(&self) -> Vec<String> {
        let named = |section: &JobSection| {
            let directories = Given::look(&section.settings).text("directory").map(split_names);
            directories.unwrap_or_default()
        };
        let all: BTreeSet<String> = self.jobs.iter().flat_map(named).collect();
        all.into_iter().collect()
    }

    /// The jobs that `--readonly` forbids, each an error at the line that makes it write or trim.
    pub fn writing_jobs(&self) -> Vec<Diagnostic> {
        let mut report = Report::default();
        for section in &self.jobs {
            let (word, _) = Given::look(&section.settings).word("rw", "read");
            if resolve::direction_of(word).0 != Direction::Read {
                let message = format!(
                    "job '{}' writes or trims (rw={word}), which --readonly does not allow",
                    section.name
                );
                report.error("readonly", &place(section, "rw"), message, "rw=read or rw=randread");
            }
        }
        report.finish()
    }
}

/// A word as fio prints it, but such that a shell reads the same word.
fn for_shell(word: &str) -> String {
    let quoted = word.strip_prefix("--description=\"").and_then(|rest| rest.strip_suffix('"'));
    match (quoted, word.split_once('=')) {
        (Some(text), _) if !text.contains(['"', '$', '`', '\\', '!']) => word.to_owned(),
        (Some(text), _) => format!("--description={}", pasted(text)),
        (None, Some((name, value))) if !value.is_empty() => format!("{name}={}", pasted(value)),
        (None, _) => word.to_owned(),
    }
}

impl Printed {
    /// Adds the section as words of a command line.
    fn words(&self, words: &mut Vec<String>) {
        words.extend(self.job.iter().map(|name| format!("--name={name}")));
        words.extend(self.lines.iter().map(|line| match &line.value {
            None => format!("--{}", line.name),
            Some(value) if line.name == "description" => format!("--description=\"{value}\""),
            Some(value) => format!("--{}={value}", line.name),
        }));
    }
}

/// Builds a job file from sections, wherever they come from.
pub(super) struct Builder<'a> {
    pub(super) loader: &'a dyn Loader,
    pub(super) system: &'a System,
    pub(super) report: Report,
    /// Defaults that globals change.
    pub(super) defaults: Settings,
    /// Whether the next job opens a further file.
    pub(super) opens_file: bool,
    jobs: Vec<JobSection>,
    printed: Vec<Printed>,
    file_starts: Vec<usize>,
}

impl<'a> Builder<'a> {
    /// An empty file.
    pub(super) fn new(loader: &'a dyn Loader, system: &'a System) -> Self {
        Self {
            loader,
            system,
            report: Report::default(),
            defaults: Settings::default(),
            opens_file: false,
            jobs: Vec::new(),
            printed: Vec::new(),
            file_starts: Vec::new(),
        }
    }

    /// A job file of a command line starts.
    pub(super) fn starts_file(&mut self) {
        self.file_starts.push(self.printed.len());
    }

    /// Whether a job was added.
    pub(super) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Reads a section.
    pub(super) fn section(&mut self, section: &RawSection, replaces: bool) {
        let mut applier =
            Applier { loader: self.loader, system: self.system, replaces, report: &mut self.report };
        if section.is_global() {
            let lines = applier.apply(&mut self.defaults, section);
            self.printed.push(Printed { job: None, lines });
            return;
        }
        if self.jobs.len() == JOBS_MAX {
            let place = WordPosition { at: section.at.clone(), word: section.name.clone() };
            let message = format!("more than {JOBS_MAX} jobs");
            return self.report.error("too-many-jobs", &place, message, "");
        }
        let mut settings = self.defaults.clone();
        let lines = applier.apply(&mut settings, section);
        self.printed.push(Printed { job: Some(section.name.clone()), lines });
        self.jobs.push(JobSection {
            name: section.name.clone(),
            at: section.at.clone(),
            settings,
            opens_file: std::mem::take(&mut self.opens_file),
        });
    }

    /// Reads a whole text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.starts_file();
        for section in lines::read(name, text, self.loader, &mut self.report) {
            if self.report.is_full() {
                break;
            }
            self.section(&section, true);
        }
    }

    /// Ends the file: checks across options, then the result. Without a job it is an error where one is needed.
    pub(super) fn finish(mut self, name: &str, needs_job: bool) -> (Option<JobFile>, Vec<Diagnostic>) {
        if needs_job && self.jobs.is_empty() && !self.report.has_errors() {
            let message = if name == COMMAND_LINE {
                "the command line defines no job: give --name=JOB before the options of each"
            } else {
                "the file defines no job: a job begins with its name in brackets, [JOB]"
            };
            self.report.general(Severity::Error, "no-jobs", message);
        }
        let (jobs, printed, file_starts) = (self.jobs, self.printed, self.file_starts);
        let file = JobFile { name: name.to_owned(), apart: false, jobs, printed, file_starts };
        super::checks::check(&file, &mut self.report);
        let file = (!self.report.has_errors()).then_some(file);
        (file, self.report.finish())
    }
}
