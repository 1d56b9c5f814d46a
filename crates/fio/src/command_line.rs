//! `fio --name=job --rw=read ... [file]`: the same options without sections.

use assay_formats::loader::Loader;
use assay_formats::{Diagnostic, Position, Severity};

use super::job_file::{Builder, JobFile};
use super::lines::{RawOption, RawSection};
use super::report::Place;
use super::settings::Settings;
use super::substitute::System;
use super::table::{self, Kind};

/// Options of the program fio itself, which describe no job: name, whether a value follows.
const PROGRAM_OPTIONS: &[(&str, bool)] = &[
    ("output", true),
    ("output-format", true),
    ("minimal", false),
    ("append-terse", false),
    ("terse-version", true),
    ("eta", true),
    ("eta-newline", true),
    ("eta-interval", true),
    ("status-interval", true),
    ("readonly", false),
    ("warnings-fatal", false),
    ("max-jobs", true),
    ("bandwidth-log", false),
    ("alloc-size", true),
    ("debug", true),
    ("parse-only", false),
    ("showcmd", false),
    ("idle-prof", true),
    ("trigger-file", true),
    ("trigger-timeout", true),
    ("trigger", true),
    ("trigger-remote", true),
    ("aux-path", true),
    ("section", true),
    ("version", false),
    ("latency-log", false),
    ("merge-blktrace-only", false),
];

/// Reads fio's command line without the program name; job files on it are read through the loader.
///
/// As [`super::parse`]; positions name the file `command line` and count words from 1 as lines.
pub fn parse_command_line(args: &[String], loader: &dyn Loader) -> (Option<JobFile>, Vec<Diagnostic>) {
    parse_command_line_with(args, loader, &System::default())
}

/// As [`parse_command_line`], with values for the keywords in job files.
pub fn parse_command_line_with(
    args: &[String],
    loader: &dyn Loader,
    system: &System,
) -> (Option<JobFile>, Vec<Diagnostic>) {
    let mut reader =
        Reader { builder: Builder::new(loader, system), open: None, files: Vec::new(), sections: Vec::new() };
    let mut words = args.iter().enumerate();
    while let Some((index, word)) = words.next() {
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let at = Position { file: "command line".to_owned(), line, column: 1 };
        reader.word(word, at, || words.next().map(|(_, value)| value.clone()));
    }
    reader.finish()
}

struct Reader<'a> {
    builder: Builder<'a>,
    /// The job whose options are being collected; `None`: the defaults.
    open: Option<RawSection>,
    files: Vec<(String, Place)>,
    /// `--section` words.
    sections: Vec<String>,
}

/// Whether an option takes its value from the next word if none is attached.
fn wants_value(name: &str) -> bool {
    table::core(name).is_none_or(|entry| !matches!(entry.kind, Kind::Flag | Kind::OptionalText))
}

impl Reader<'_> {
    fn word(&mut self, word: &str, at: Position, next: impl FnOnce() -> Option<String>) {
        let place = Place { at: at.clone(), word: word.to_owned() };
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
        if let Some((_, takes)) = PROGRAM_OPTIONS.iter().find(|(known, _)| *known == name) {
            let value = if *takes { attached.or_else(next) } else { None };
            return self.program_option(name, value, &place);
        }
        if matches!(name, "client" | "server" | "daemonize" | "remote-config") {
            let message = format!("`{word}`: fio's client and server mode is not used");
            return self.builder.report.error(
                "fio-network-mode",
                &place,
                message,
                "assay run --on ssh:HOST,..",
            );
        }
        let name = full_name(name).to_owned();
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

    fn program_option(&mut self, name: &str, value: Option<String>, place: &Place) {
        if name == "section" {
            self.sections.extend(value);
            return;
        }
        let message = format!("--{name} belongs to the program fio and describes no job");
        self.builder.report.note("fio-program-option", place, message, "");
    }

    /// Ends the job that is open. On a command line options count in the order given.
    fn close(&mut self) {
        if let Some(section) = self.open.take() {
            self.builder.section(&section, false);
        }
    }

    fn finish(mut self) -> (Option<JobFile>, Vec<Diagnostic>) {
        self.close();
        let mut names = Vec::new();
        for (index, (file, place)) in std::mem::take(&mut self.files).into_iter().enumerate() {
            // Defaults from the command line reach the first file only; each further one starts afresh.
            if index > 0 {
                self.builder.defaults = Settings::default();
                self.builder.opens_file = self.builder.has_jobs();
            }
            match self.builder.loader.load(&file) {
                Ok(Some(text)) => self.file(&file, &text),
                Ok(None) => self.builder.report.error(
                    "file-missing",
                    &place,
                    format!("the job file `{file}` does not exist"),
                    "",
                ),
                Err(why) => self.builder.report.error(
                    "file-unreadable",
                    &place,
                    format!("the job file `{file}` cannot be read: {why}"),
                    "",
                ),
            }
            names.push(file);
        }
        let name = if names.is_empty() { "command line".to_owned() } else { names.join(" ") };
        if !self.sections.is_empty() && !self.builder.has_jobs() {
            let message = format!("no section is named {}", self.sections.join(" or "));
            self.builder.report.general(Severity::Error, "section-missing", message);
        }
        self.builder.finish(&name)
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
    if table::core(name).is_some() || name.len() < 3 {
        return name;
    }
    let mut found = table::names(None).filter(|full| full.starts_with(name));
    match (found.next(), found.next()) {
        (Some(only), None) => only,
        _ => name,
    }
}
