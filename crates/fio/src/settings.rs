//! What holds for a job: the options in force, and how a section's lines change them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use assay_formats::loader::Loader;
use assay_formats::near::nearest;
use assay_formats::{Affects, Position};

use super::lines::{RawOption, RawSection};
use super::read_value::ValueReader;
use super::report::{Report, WordPosition};
use super::substitute::{System, substitute};
use super::table::{self, Effect, EngineEntry, EngineFate, Entry, Rule};
use super::value::Value;

/// Files that one job may name.
const FILES_MAX: usize = 65_535;

/// The engine fio takes where none is named.
pub(super) const DEFAULT_ENGINE: &str = "psync";

/// One option in force.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// What it means.
    pub(super) value: Value,
    /// Where it was given last.
    pub(super) at: Position,
    /// The line, as fio prints it.
    pub(super) text: String,
    /// Whether it has taken effect.
    pub(super) read: Cell<bool>,
}

impl Setting {
    /// The value as it was written; 1 of a bare flag.
    pub(super) fn written(&self) -> &str {
        self.text.split_once('=').map_or("1", |(_, value)| value)
    }
}

/// What became of an option line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionFate {
    /// It means here what it means in fio.
    Honoured,
    /// It changes nothing about the measured load; a note says why.
    NoEffect,
    /// It is lost; a diagnostic says what and names the nearest equivalent.
    Lost,
}

/// An option line as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionLine {
    /// Canonical name.
    pub name: &'static str,
    /// Value after replacements; `None` for a bare flag.
    pub value: Option<String>,
    /// What became of it.
    pub fate: OptionFate,
}

/// All options in force at one point of a file. Cheap to copy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    core: BTreeMap<&'static str, Rc<Setting>>,
    private: BTreeMap<&'static str, Rc<Setting>>,
    /// The engine whose table `private` belongs to.
    private_engine: Option<String>,
}

impl Settings {
    /// A core option's setting.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.core.get(name).map(Rc::as_ref)
    }

    /// A private option's setting, if it belongs to the engine in force.
    pub(super) fn private(&self, name: &str) -> Option<&Setting> {
        self.private.get(name).map(Rc::as_ref)
    }

    /// Options with an effect by the table, of which nobody has asked what they say.
    pub(super) fn without_effect(&self) -> impl Iterator<Item = (Rule, &Setting)> {
        let private = self.engine().map_or(&[][..], EngineEntry::options);
        let own = private.iter().map(|entry| (entry, self.private(entry.name)));
        let all = table::options().iter().map(|entry| (entry, self.get(entry.name))).chain(own);
        let set = all.filter_map(|(entry, setting)| Some((entry, setting?)));
        set.filter_map(|(entry, setting)| match entry.effect {
            Effect::Rule(rule) if !setting.read.get() => Some((rule, setting)),
            _ => None,
        })
    }

    /// The name of the engine in force, without what follows a colon.
    pub(super) fn engine_name(&self) -> &str {
        match self.get("ioengine").map(|setting| &setting.value) {
            Some(Value::Text(text)) => text.split(':').next().unwrap_or(text),
            _ => DEFAULT_ENGINE,
        }
    }

    /// The engine in force, where fio knows it.
    pub(super) fn engine(&self) -> Option<&'static EngineEntry> {
        table::engine(self.engine_name())
    }

    fn kb_base(&self) -> u32 {
        let Some(setting) = self.get("kb_base") else { return 1024 };
        setting.read.set(true);
        if matches!(setting.value, Value::Word("1000", _)) { 1000 } else { 1024 }
    }

    fn text_of(&self, name: &str) -> Option<&str> {
        match self.get(name).map(|setting| &setting.value) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn insert(&mut self, name: &'static str, value: Value, raw: &RawOption) {
        let setting = Setting { value, at: raw.at.clone(), text: raw.text(), read: Cell::new(false) };
        self.core.insert(name, Rc::new(setting));
    }
}

/// Applies sections to settings.
pub(super) struct Applier<'a> {
    /// Where variables come from.
    pub(super) loader: &'a dyn Loader,
    /// What keywords stand for.
    pub(super) system: &'a System,
    /// Whether lines are sorted and `${}` and keywords replaced: in files, not on a command line.
    pub(super) replaces: bool,
    /// Where remarks go.
    pub(super) report: &'a mut Report,
}

/// fio reads these first and those last, whatever their place in the section.
fn priority(name: &str) -> i8 {
    match table::core(name).map(|entry| entry.name) {
        Some("kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy") => 0,
        Some("filename" | "filename_format") => 2,
        _ => 1,
    }
}

/// Whether the value asks for nothing that could be lost.
fn is_neutral(entry: &Entry, raw: &RawOption) -> bool {
    entry.neutral.contains(&raw.value.as_deref().unwrap_or("").trim())
}

fn option_line(entry: &Entry, raw: &RawOption) -> OptionLine {
    let fate = match entry.effect {
        Effect::Lost { .. } if !is_neutral(entry, raw) => OptionFate::Lost,
        Effect::Inert(_) if !is_neutral(entry, raw) => OptionFate::NoEffect,
        _ => OptionFate::Honoured,
    };
    OptionLine { name: entry.name, value: raw.value.clone(), fate }
}

impl Applier<'_> {
    /// Applies a section's lines in fio's order and returns them in that order.
    pub(super) fn apply(&mut self, settings: &mut Settings, section: &RawSection) -> Vec<OptionLine> {
        let mut lines: Vec<&RawOption> = section.options.iter().collect();
        if self.replaces {
            lines.sort_by_key(|raw| priority(&raw.name));
        }
        let mut given = Vec::new();
        let mut left = Vec::new();
        for line in lines {
            if self.report.is_full() {
                break;
            }
            let raw = if self.replaces {
                let Some(raw) = substitute(line, self.loader, self.system, self.report) else { continue };
                raw
            } else {
                line.clone()
            };
            match table::core(&raw.name) {
                Some(entry) => {
                    given.push(option_line(entry, &raw));
                    self.core_option(settings, entry, &raw, section);
                }
                None => left.push(raw),
            }
        }
        self.private_options(settings, left, &mut given);
        given
    }

    fn read(
        &mut self,
        entry: &'static Entry,
        raw: &RawOption,
        kb_base: u32,
        previous: Option<&Value>,
    ) -> Option<Value> {
        let mut reader = ValueReader { entry, raw, kb_base, loader: self.loader, report: self.report };
        let value = reader.read(previous)?;
        self.fate(entry, raw);
        Some(value)
    }

    /// Says what becomes of an option that is not honoured.
    fn fate(&mut self, entry: &'static Entry, raw: &RawOption) {
        if is_neutral(entry, raw) {
            return;
        }
        match entry.effect {
            Effect::Rule(_) | Effect::Refused(_) => {}
            Effect::Inert(why) => {
                let message = format!("{} changes nothing here: {why}", entry.name);
                self.report.note("option-moot", &raw.name_place(), message, "");
            }
            Effect::Lost { what, instead } => {
                let message = format!("`{}`: {what}", raw.text());
                self.report.loss("option-not-honoured", entry.affects, &raw.name_place(), message, instead);
            }
        }
    }

    fn core_option(
        &mut self,
        settings: &mut Settings,
        entry: &'static Entry,
        raw: &RawOption,
        section: &RawSection,
    ) {
        let previous = match settings.get(entry.name).map(|setting| &setting.value) {
            Some(value @ (Value::Triple(_) | Value::Ranges(_))) => Some(value.clone()),
            _ => None,
        };
        let Some(value) = self.read(entry, raw, settings.kb_base(), previous.as_ref()) else { return };
        match (entry.name, value) {
            ("filename", Value::Files(names)) => self.filename(settings, &names, raw, section),
            ("buffered", Value::Flag(on)) => settings.insert("direct", Value::Flag(!on), raw),
            ("rwmixwrite", Value::Number(percent)) => {
                settings.insert("rwmixread", Value::Number(100 - percent), raw);
            }
            ("exitall", Value::Flag(on)) => {
                if !on {
                    let message = "fio sets exitall even for exitall=0";
                    self.report.note("fio-exitall-zero", &raw.name_place(), message, "remove the line");
                }
                settings.insert("exitall", Value::Flag(true), raw);
            }
            ("ioengine", value) => {
                settings.insert("ioengine", value, raw);
                self.engine_fate(settings, raw);
            }
            (name, value) => {
                self.section_notes(name, &value, raw, section);
                settings.insert(name, value, raw);
            }
        }
    }

    fn section_notes(&mut self, name: &str, value: &Value, raw: &RawOption, section: &RawSection) {
        if !section.is_global() {
            return;
        }
        let place = raw.name_place();
        match (name, value) {
            ("name", _) => {
                self.report.note("fio-name-in-global", &place, "a name in [global] has no effect", "")
            }
            ("stonewall", Value::Flag(true)) => {
                let message = "stonewall in [global] lets every job run alone, in a group of its own";
                self.report.note("fio-stonewall-in-global", &place, message, "");
            }
            _ => {}
        }
    }

    /// File names add up over lines and sections, and join the directory that holds at this moment.
    fn filename(&mut self, settings: &mut Settings, names: &[String], raw: &RawOption, section: &RawSection) {
        let directory = settings.text_of("directory").map(super::read_value::split_names);
        let directory = directory.and_then(|list| list.into_iter().next());
        let join = |name: &String| match &directory {
            Some(directory) if name != "-" => format!("{}/{name}", directory.trim_end_matches('/')),
            _ => name.clone(),
        };
        // Taken out, so that a list that no other section shares grows in place.
        let previous = settings.core.remove("filename").map(Rc::unwrap_or_clone);
        let mut all = match previous.map(|setting| setting.value) {
            Some(Value::Files(all)) => all,
            _ => Arc::default(),
        };
        if !all.is_empty() {
            let before = all.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if all.len() > 3 { ", .." } else { "" };
            let message = format!("file names add up: [{}] uses {before}{more} as well", section.name);
            let help = "set filename in one place only";
            self.report.note("fio-filenames-add-up", &raw.value_place(), message, help);
        }
        if all.len() + names.len() > FILES_MAX {
            let message = format!("a job has at most {FILES_MAX} files");
            return self.report.error("too-many-files", &raw.value_place(), message, "");
        }
        Arc::make_mut(&mut all).extend(names.iter().map(join));
        settings.insert("filename", Value::Files(all), raw);
    }

    fn engine_fate(&mut self, settings: &Settings, raw: &RawOption) {
        let place = raw.value_place();
        let name = settings.engine_name();
        match settings.engine().map(|engine| engine.fate) {
            Some(EngineFate::Native(_)) => {}
            Some(EngineFate::Nearest(native, differs)) => {
                let message = format!("there is no engine {name}: {differs}");
                let help = format!("{native} does the same I/O");
                self.report.loss("engine-replaced", Affects::Test, &place, message, &help);
            }
            Some(EngineFate::Foreign(instead)) => {
                let message = format!("the engine {name} does not run here");
                self.report.loss("engine-not-available", Affects::Test, &place, message, instead);
            }
            None => {
                let native = ["io_uring", "libaio", "psync", "posixaio", "null", "sync"];
                let help = match nearest(name.trim(), native) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "a plug-in runs in fio only: assay judge -- fio <job file>".to_owned(),
                };
                let message = format!("`{name}` is no engine of fio");
                self.report.loss("engine-not-available", Affects::Test, &place, message, &help);
            }
        }
    }

    /// Tries the lines that are no core options on the engine in force.
    fn private_options(
        &mut self,
        settings: &mut Settings,
        left: Vec<RawOption>,
        given: &mut Vec<OptionLine>,
    ) {
        let engine = settings.engine();
        let engine_name = settings.engine_name().to_owned();
        if settings.private_engine.as_ref().is_some_and(|owner| !same_table(owner, &engine_name)) {
            self.drop_private(settings, &engine_name);
        }
        for raw in left {
            if self.report.is_full() {
                break;
            }
            let entry =
                engine.and_then(|engine| engine.options().iter().find(|entry| entry.is_named(&raw.name)));
            let Some(entry) = entry else {
                self.unknown(&raw, engine, &engine_name);
                continue;
            };
            let previous = settings.private.get(entry.name).map(|setting| setting.value.clone());
            let Some(value) = self.read(entry, &raw, settings.kb_base(), previous.as_ref()) else { continue };
            given.push(option_line(entry, &raw));
            let setting = Setting { value, at: raw.at.clone(), text: raw.text(), read: Cell::new(false) };
            settings.private.insert(entry.name, Rc::new(setting));
            settings.private_engine = Some(engine_name.clone());
        }
    }

    fn drop_private(&mut self, settings: &mut Settings, engine_name: &str) {
        for setting in settings.private.values() {
            let place = WordPosition { at: setting.at.clone(), word: setting.text.clone() };
            let message = format!("`{}` does not reach the jobs with ioengine={engine_name}", setting.text);
            let help = "repeat it in the job if that engine has it";
            self.report.note("fio-engine-option-not-inherited", &place, message, help);
        }
        settings.private.clear();
        settings.private_engine = None;
    }

    fn unknown(&mut self, raw: &RawOption, engine: Option<&'static EngineEntry>, engine_name: &str) {
        let place = raw.name_place();
        if engine.is_none() {
            let message =
                format!("`{}` may belong to the engine {engine_name}, which is not known", raw.text());
            let help = "run the file with fio and that plug-in";
            return self.report.error("unknown-engine-option", &place, message, help);
        }
        let trimmed = raw.name.trim();
        let owners = table::engines_with(trimmed);
        let help = if !owners.is_empty() {
            format!("it is an option of {}, and the engine here is {engine_name}", owners.join(", "))
        } else if let Some(near) = nearest(trimmed, table::names(engine)) {
            format!("did you mean {near}?")
        } else {
            "no option has a similar name".to_owned()
        };
        let message = format!("fio has no option `{}`", raw.name);
        self.report.error("unknown-option", &place, message, &help);
    }
}

/// Whether two engines read private options with one table, so that a job inherits them.
fn same_table(left: &str, right: &str) -> bool {
    let private = |name: &str| table::engine(name).map(|engine| engine.private);
    private(left) == private(right)
}
