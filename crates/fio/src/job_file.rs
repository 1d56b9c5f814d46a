//! A job file that was read: its sections with the options that hold for each.

use assay_formats::loader::Loader;
use assay_formats::{Diagnostic, Position, Severity};

use super::lines::{self, RawSection};
use super::report::{Place, Report};
use super::settings::{Applier, OptionLine, Settings};
use super::substitute::System;

/// fio's limit on jobs with all their clones.
pub(super) const JOBS_MAX: usize = 4096;

/// One section that is a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobSection {
    /// Name between the brackets.
    pub(super) name: String,
    /// Where it starts.
    pub(super) at: Position,
    /// The options in force: globals before it, and its own.
    pub(super) settings: Settings,
    /// Whether it waits for everything before it because it opens a further job file.
    pub(super) opens_file: bool,
}

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
    pub(super) jobs: Vec<JobSection>,
    printed: Vec<Printed>,
}

impl JobFile {
    /// Number of job sections, without clones.
    pub fn job_count(&self) -> usize {
        self.jobs.len()
    }

    /// Every option line in the order fio reads them, with what became of it.
    pub fn option_lines(&self) -> impl Iterator<Item = &OptionLine> {
        self.printed.iter().flat_map(|section| &section.lines)
    }

    /// The file as one command line, word by word, as `fio --showcmd` prints it: variables replaced, aliases resolved.
    pub fn command_line(&self) -> Vec<String> {
        let mut words = vec!["fio".to_owned()];
        for section in &self.printed {
            words.extend(section.job.iter().map(|name| format!("--name={name}")));
            for line in &section.lines {
                words.push(match &line.value {
                    None => format!("--{}", line.name),
                    Some(value) if line.name == "description" => format!("--description=\"{value}\""),
                    Some(value) => format!("--{}={value}", line.name),
                });
            }
        }
        words
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
        }
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
            let place = Place { at: section.at.clone(), word: section.name.clone() };
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
        for section in lines::read(name, text, self.loader, &mut self.report) {
            if self.report.is_full() {
                break;
            }
            self.section(&section, true);
        }
    }

    /// Ends the file: checks across options, then the result.
    pub(super) fn finish(mut self, name: &str) -> (Option<JobFile>, Vec<Diagnostic>) {
        if self.jobs.is_empty() && !self.report.has_errors() {
            let message = "the file defines no job".to_owned();
            self.report.general(Severity::Error, "no-jobs", message);
        }
        let file = JobFile { name: name.to_owned(), jobs: self.jobs, printed: self.printed };
        super::checks::check(&file, &mut self.report);
        let file = (!self.report.has_errors()).then_some(file);
        (file, self.report.finish())
    }
}
