//! `fio --name=job --rw=read ... [file]`: the same options without sections.

use std::path::PathBuf;
use std::time::Duration;

use assay_formats::loader::Loader;
use assay_formats::{Affects, Diagnostic, Position, Severity};
use assay_results::foreign::{planned_of, reported_phases};
use assay_results::run::{JobResult, PhaseResult};
use assay_results::{Interval, Run};
use assay_workload::plan::ThreadSlice;
use assay_workload::{PhaseKind, Plan};

use super::each_io::LoggedIo;
use super::interim::Interim;
use super::job_file::{Builder, COMMAND_LINE, JobFile};
use super::lines::{RawOption, RawSection};
use super::logs::{aggregate_logs, aggregate_names, fio_logs_asked};
use super::number;
use super::program::{self, Argument, Fate, Setting};
use super::program_words::{engine_help, option_help, wants_next};
use super::report::WordPosition;
use super::reporting::{self, Reporting};
use super::settings::Settings;
use super::substitute::System;
use super::table;
use super::text::{LOG, OUTPUT, Part, ReportForm, ReportForms, TerseVersion};

/// What a command line asks fio to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// `--cmdhelp`, `--enghelp`: print this.
    Explain(String),
    /// `--inflate-log`: print this compressed log as text.
    Inflate(PathBuf),
}

/// When progress is shown: `--eta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The shortest time between reports, milliseconds: more often there is nothing new to report.
const STATUS_MS_MIN: u64 = 100;

/// What the options of the program fio ask for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// What is done.
    pub action: Action,
    /// `--readonly`: no job may write or trim, and no file may be laid out.
    pub readonly: bool,
    /// `--debug=random`: the seed of each thread stands before the report.
    pub shows_seeds: bool,
    /// The forms of fio's report that are asked for; without one, Assay reports.
    pub report: ReportForms,
    /// `--output`: where the report goes; `None`: to stdout.
    pub output: Option<String>,
    /// `--bandwidth-log`: what the names of logs of all jobs together begin with.
    pub bandwidth_log: Option<String>,
    /// `--eta`.
    pub eta: Eta,
    /// `--status-interval`.
    pub status_interval: Option<Duration>,
    /// `--warnings-fatal`: whatever is lost is an error.
    pub strict: bool,
    /// `--client`: the hosts that do the jobs, or files of them; none: this machine.
    pub clients: Vec<String>,
    /// How the jobs are to be reported and logged.
    pub reporting: Reporting,
}

impl Program {
    /// Whether fio's report takes the place of Assay's.
    pub fn reports(&self) -> bool {
        !self.report.forms.is_empty()
    }

    /// Whether nothing is said but what is wrong or lost; `live`: there is a terminal to show progress on.
    pub fn is_silent(&self, live: bool) -> bool {
        self.reports() && (self.eta == Eta::Never || self.eta == Eta::Auto && !live)
    }

    /// What may be written, and the option that asks for it.
    pub fn paths(&self) -> Vec<(&'static str, PathBuf)> {
        let of_jobs = self.reporting.log_names().into_iter();
        let of_all = self.bandwidth_log.iter().flat_map(|prefix| aggregate_names(prefix));
        let logs = of_jobs.chain(of_all).map(|name| (LOG, PathBuf::from(name)));
        self.report_path().map(|path| (OUTPUT, path)).into_iter().chain(logs).collect()
    }

    /// What makes reports while a run goes on; `None`: none are asked for.
    pub fn interim(&self) -> Option<Interim> {
        self.report_path().and(self.status_interval).map(Interim::new)
    }

    /// A report of a run that goes on, and where it goes (`-`: stdout); `first`: none came before it.
    pub fn interim_report(
        &self,
        run: &Run,
        intervals: &[Interval],
        first: bool,
    ) -> Option<(PathBuf, String)> {
        let part = if first { Part::First } else { Part::Middle };
        Some((self.report_path()?, self.report.part(run, intervals, &self.reporting, part)))
    }

    /// What there is to write of a run: the option, where to (`-`: stdout), and the text. `begun`: the report stands behind
    /// others that came while the run went on.
    pub fn documents(
        &self,
        run: &Run,
        intervals: &[Interval],
        ios: &[LoggedIo],
        begun: bool,
    ) -> Vec<(&'static str, PathBuf, String)> {
        let part = if begun { Part::Last } else { Part::Only };
        let report = self.report_path();
        let seeds = if self.shows_seeds && !begun { seeds(&run.plan) } else { String::new() };
        let text = || seeds + &self.report.part(run, intervals, &self.reporting, part);
        let report = report.map(|path| (OUTPUT, path, text()));
        let of_jobs = fio_logs_asked(run, intervals, ios, &self.reporting);
        let of_all = self.bandwidth_log.iter().flat_map(|prefix| aggregate_logs(run, intervals, prefix));
        let logs = of_jobs.into_iter().chain(of_all).map(|(name, text)| (LOG, PathBuf::from(name), text));
        report.into_iter().chain(logs).collect()
    }

    /// Where the report goes; `None`: nowhere.
    fn report_path(&self) -> Option<PathBuf> {
        let path = self.output.as_deref().unwrap_or("-");
        (self.reports() && path != "/dev/null").then(|| PathBuf::from(path))
    }

    /// fio's exit status of a run, how many jobs failed; 0 where Assay reports.
    pub fn status(&self, run: &Run) -> u8 {
        if !self.reports() {
            return 0;
        }
        let failed = |phase: &PhaseResult, job: &JobResult| {
            let (_, planned) = planned_of(run, phase, job);
            job.errors > planned.iter().map(|planned| planned.errors_tolerated).fold(0, u64::saturating_add)
        };
        let phases = reported_phases(run);
        let jobs = phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
        u8::try_from(jobs.filter(|(phase, job)| failed(phase, job)).count()).unwrap_or(u8::MAX)
    }
}

/// The seed of each thread in fio's words; the number is that of the thread.
fn seeds(plan: &Plan) -> String {
    let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let slices = measured.flat_map(|phase| &phase.jobs).flat_map(|job| &job.slices);
    let words = |(thread, slice): (usize, &ThreadSlice)| {
        format!(
            "random   {thread:<5} FIO_RAND_NR_OFFS=1\nrandom   {thread:<5} rand_seeds[0]={}\n",
            slice.seed
        )
    };
    (1..).zip(slices).map(words).collect()
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
        status: None,
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
    /// Where `--status-interval` stands.
    status: Option<WordPosition>,
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
        // The short ones that fio has.
        let body = match word {
            "-v" => "version",
            "-h" => "help",
            _ => body,
        };
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let name = full_name(name).to_owned();
        if let Some(entry) = program::option(&name) {
            return self.program_option(entry, attached, next, &place);
        }
        let value = attached.or_else(|| if wants_next(&name) { next() } else { None });
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
            Fate::Refused(lost, instead) => {
                let message = format!("`{}`: {lost}", place.word);
                report.error("fio-program-option", place, message, instead);
            }
        }
    }

    fn status_interval(&mut self, text: &str, place: &WordPosition) {
        let (message, help) = match milliseconds(text) {
            Some(ms) if ms >= STATUS_MS_MIN => {
                self.program.status_interval = Some(Duration::from_millis(ms));
                self.status = Some(place.clone());
                return;
            }
            Some(_) => (format!("--status-interval={text} is too small"), "100ms or more"),
            None => (format!("--status-interval={text} is no time"), "seconds, or 500ms"),
        };
        self.builder.report.error("fio-program-option", place, message, help);
    }

    fn client(&mut self, text: &str, place: &WordPosition) {
        match client(text, !self.files.is_empty()) {
            Ok(host) => self.program.clients.push(host.to_owned()),
            Err((what, fix)) => {
                let message = format!("--client={text} {what}");
                self.builder.report.error("fio-program-option", place, message, &fix);
            }
        }
    }

    fn debug(&mut self, about: &str, place: &WordPosition) {
        self.program.shows_seeds |= about.split(',').any(|about| about == "random");
        if about.split(',').any(|about| about != "random") {
            let message =
                format!("`{}`: of fio's debugging messages only the seeds of random are printed", place.word);
            let help = "-v before the options of fio";
            self.builder.report.loss("fio-program-option", Affects::Report, place, message, help);
        }
    }

    fn set(&mut self, setting: Setting, value: Option<String>, place: &WordPosition) {
        let program = &mut self.program;
        let text = value.as_deref().unwrap_or_default();
        let mut wrong = |message: String, help: &str| {
            self.builder.report.error("fio-program-option", place, message, help);
        };
        match setting {
            Setting::Readonly => program.readonly = true,
            Setting::Section => self.sections.extend(value),
            Setting::Version => program.action = Action::Version,
            Setting::Help => program.action = Action::Help,
            Setting::ShowCommand if matches!(program.action, Action::Run | Action::Parse) => {
                program.action = Action::Show;
            }
            Setting::ParseOnly if program.action == Action::Run => program.action = Action::Parse,
            Setting::ShowCommand | Setting::ParseOnly => {}
            Setting::OutputFormat => match forms(text) {
                Ok(forms) => program.report.forms = forms,
                Err(word) => {
                    wrong(
                        format!("fio has no output format '{word}'"),
                        "normal, terse, json, json+, several by commas",
                    );
                }
            },
            Setting::Output => program.output = value.filter(|path| !path.is_empty()),
            Setting::Minimal => program.report.forms = vec![ReportForm::Terse],
            Setting::AppendTerse => {
                if program.report.forms.is_empty() {
                    program.report.forms.push(ReportForm::Normal);
                }
                program.report.forms.push(ReportForm::Terse);
            }
            Setting::TerseVersion => match TerseVersion::from_number(text) {
                Some(version) => program.report.terse = version,
                None => wrong(format!("fio has no terse version '{text}'"), "2, 3, 4 or 5"),
            },
            Setting::BandwidthLog => program.bandwidth_log = Some(value.unwrap_or_else(|| "agg".to_owned())),
            Setting::Eta => match text {
                "auto" => program.eta = Eta::Auto,
                "always" => program.eta = Eta::Always,
                "never" => program.eta = Eta::Never,
                _ => wrong(format!("--eta={text} is none of fio's"), "auto, always or never"),
            },
            Setting::StatusInterval => self.status_interval(text, place),
            Setting::Debug => self.debug(text, place),
            Setting::WarningsFatal => program.strict = true,
            Setting::InflateLog => program.action = Action::Inflate(PathBuf::from(text)),
            Setting::Client => self.client(text, place),
            Setting::OptionHelp | Setting::EngineHelp => {
                let help = if matches!(setting, Setting::OptionHelp) { option_help } else { engine_help };
                match help(value.as_deref()) {
                    Ok(text) => program.action = Action::Explain(text),
                    Err(message) => wrong(message, ""),
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
        let mut program = self.program;
        // A report of fio goes to a file or has a form: Assay's own has neither.
        if program.output.is_some() && !program.reports() {
            program.report.forms.push(ReportForm::Normal);
        }
        if let Some(place) = self.status.filter(|_| !program.reports()) {
            let message = format!("`{}`: Assay's own report is printed once, at the end", place.word);
            let help = "--output-format=normal: fio's report, as often as asked";
            self.builder.report.loss("fio-program-option", Affects::Report, &place, message, help);
        }
        let (mut jobs, mut diagnostics) = self.builder.finish(&name, runs);
        if let Some(jobs) = &mut jobs {
            jobs.apart = program.reports();
            program.reporting = Reporting::of(jobs);
            // What is logged or left out of a report here is not lost.
            let (logged, reported) = (program.reporting.wants_logs(), program.reports());
            diagnostics.retain(|one| !reporting::is_honoured(&one.word, logged, reported));
        }
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

/// A time in milliseconds; a bare number is seconds.
fn milliseconds(text: &str) -> Option<u64> {
    let time = number::time_us(text, true).ok().filter(|time| time.quirks.ignored.is_empty())?;
    u64::try_from(time.value).ok().map(|us| us / 1000)
}

/// The forms of a list by commas.
///
/// # Errors
/// The word that is none.
fn forms(list: &str) -> Result<Vec<ReportForm>, &str> {
    fn form(word: &str) -> Result<ReportForm, &str> {
        match word {
            "normal" => Ok(ReportForm::Normal),
            "terse" | "minimal" | "csv" => Ok(ReportForm::Terse),
            "json" => Ok(ReportForm::Json),
            "json+" => Ok(ReportForm::JsonPlus),
            other => Err(other),
        }
    }
    list.split(',').map(form).collect()
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

/// The host of fio's `--client`: `host`, `ip:host,port`, `ip4:host`; a socket on this machine is none. In fio a file is that of the
/// clients before it: one that comes behind a file would do it, too.
///
/// # Errors
/// What is wrong, and what would do.
fn client(text: &str, behind_a_file: bool) -> Result<&str, (String, String)> {
    if behind_a_file {
        return Err((
            "comes behind a job file, and each client would have files of its own".to_owned(),
            "all clients before the files that all of them do; or one command a client".to_owned(),
        ));
    }
    let (kind, rest) = text.split_once(':').unwrap_or(("", text));
    let host = match kind {
        "sock" => "",
        "ip" | "ip4" | "ip6" => rest,
        _ => text,
    };
    let (host, port) = host.split_once(',').map_or((host, None), |(host, port)| (host, Some(port)));
    if let Some(port) = port.filter(|port| port.parse::<u16>().is_err()) {
        let fix = format!("--client={host} --client={port}, or a file with a host a line");
        return Err((format!("has '{port}' in the place of a port"), fix));
    }
    if host.is_empty() {
        let fix = "a host name, an address, or a file of them; fio's port does not matter";
        return Err(("is no host that ssh could reach".to_owned(), fix.to_owned()));
    }
    Ok(host)
}
