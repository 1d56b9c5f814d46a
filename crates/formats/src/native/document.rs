//! The whole document: targets, defaults, and the phases with their jobs.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_workload::job::{Job, Phase, PhaseKind, Rate, Workload};
use assay_workload::resolve::TARGETS_MAX;
use assay_workload::steps::Until;
use assay_workload::target::Target;
use assay_workload::units::Nanos;
use toml::de::{DeTable, DeValue};

use super::job::{self, JOB_KEYS};
use super::nearest::nearest;
use super::node::{Entry, Fields};
use super::sink::{Sink, clip};
use super::sweep;
use super::until;
use super::words;

/// Jobs a plan may have, all points of all sweeps counted.
pub(super) const JOBS_MAX: usize = 20_000;
/// Bytes of text that all jobs together may stand for, the defaults counted once for each job: this bounds the
/// memory a small file can ask for.
const JOB_TEXT_BYTES_MAX: usize = 8 << 20;
/// Targets that all jobs together may name. Looking through all targets for a `name*` counts as naming one in
/// [`SCANNED_PER_REFERENCE`] of them.
const REFERENCES_MAX: usize = 1_000_000;
const SCANNED_PER_REFERENCE: usize = 16;

pub(super) const TOP_KEYS: &[&str] = &["assay", "name", "seed", "target", "defaults", "job", "phase"];
pub(super) const TARGET_KEYS: &[&str] = &["name", "path", "size", "kind", "count"];
pub(super) const PHASE_KEYS: &[&str] = &[
    "name",
    "kind",
    "drain",
    "pause",
    "point",
    "repeat",
    "until",
    "find_rate",
    "curve",
    "stop_above",
    "sweep",
    "job",
];

/// Lowers a parsed document.
pub(super) struct Document<'s, 't> {
    pub(super) sink: &'s mut Sink,
    targets: Vec<Target>,
    /// Index of each target by its name.
    by_name: BTreeMap<String, usize>,
    defaults: Option<&'t DeTable<'t>>,
    defaults_bytes: usize,
    jobs: usize,
    job_text_bytes: usize,
    references: usize,
}

impl<'s, 't> Document<'s, 't> {
    pub(super) fn new(sink: &'s mut Sink) -> Self {
        Document {
            sink,
            targets: Vec::new(),
            by_name: BTreeMap::new(),
            defaults: None,
            defaults_bytes: 0,
            jobs: 0,
            job_text_bytes: 0,
            references: 0,
        }
    }

    /// The workload; `stem` is its name where the document gives none. What is wrong is in the sink.
    pub(super) fn lower(mut self, stem: &str, root: &'t DeTable<'t>) -> Workload {
        self.sink.check_keys(root, TOP_KEYS, "a plan");
        let top = Fields::new(root, 0..0);
        if let Some(entry) = top.get("assay")
            && self.sink.count(entry, 1..=u64::MAX).is_some_and(|version| version != 1)
        {
            self.sink.bad_value::<()>(
                entry,
                "this format version is not known",
                "this program reads version 1",
            );
        }
        let name = top.read(self.sink, "name", Sink::string).unwrap_or(stem).to_owned();
        let seed = top.read(self.sink, "seed", |sink, e| sink.count(e, 0..=u64::MAX));
        for entry in top.get("target").map(|entry| entry.elements()).unwrap_or_default() {
            self.target(entry);
        }
        if let Some(entry) = top.get("defaults") {
            let known: Vec<&str> = JOB_KEYS.iter().copied().filter(|key| *key != "name").collect();
            self.sink.table(entry, &known);
            if let DeValue::Table(table) = entry.value.get_ref() {
                self.defaults = Some(table);
                self.defaults_bytes = text_bytes(table);
            }
        }
        let phases = self.phases(&top);
        Workload { name, seed, targets: self.targets, phases }
    }

    fn target(&mut self, entry: Entry<'t>) {
        let Some(table) = self.sink.table(entry, TARGET_KEYS) else { return };
        let name = table.read(self.sink, "name", Sink::string);
        let path = table.read(self.sink, "path", Sink::string);
        self.sink.require(&table, &["name", "path"], "a target", "name = \"data\", path = \"data.bin\"");
        for key in ["name", "path"] {
            if let Some(empty) = table.get(key).filter(|entry| entry.is("")) {
                self.sink.bad_value::<()>(empty, "an empty string names nothing", "");
            }
        }
        let kind = table.read(self.sink, "kind", |sink, e| sink.word(e, words::TARGET_KINDS));
        let size = table.read(self.sink, "size", Sink::size).map(assay_workload::units::Bytes);
        let (Some(name), Some(path)) = (name, path) else { return };
        let most = TARGETS_MAX as u64;
        let Some(count) = table.get("count") else {
            return self.add(entry, Target { name: name.to_owned(), path: path.to_owned(), kind, size });
        };
        if !(name.contains("{}") && path.contains("{}")) {
            let help = "name = \"data{}\", path = \"data{}.bin\"";
            self.sink.bad_value::<()>(count, "name and path need a place {} for the number", help);
            return;
        }
        for index in 0..self.sink.count(count, 1..=most).unwrap_or(0) {
            let numbered = |text: &str| text.replace("{}", &index.to_string());
            self.add(entry, Target { name: numbered(name), path: numbered(path), kind, size });
        }
    }

    fn add(&mut self, entry: Entry<'t>, target: Target) {
        if self.targets.len() >= TARGETS_MAX {
            let message = format!("more than {TARGETS_MAX} targets");
            self.sink.error("too-large", entry.span(), message, "");
            return;
        }
        let index = self.targets.len();
        if self.by_name.insert(target.name.clone(), index).is_some() {
            let message = format!("there are two targets with the name '{}'", clip(&target.name));
            self.sink.error("conflict", entry.span(), message, "");
        }
        self.targets.push(target);
    }

    fn phases(&mut self, top: &Fields<'t>) -> Vec<Phase> {
        let mut phases = Vec::new();
        match (top.get("job"), top.get("phase")) {
            (Some(jobs), None) => {
                if let Some(jobs) = self.jobs(jobs, None) {
                    phases.push(Phase::measure("measure", jobs));
                }
            }
            (None, Some(list)) => {
                for (index, entry) in list.elements().into_iter().enumerate() {
                    self.phase(index, entry, &mut phases);
                }
            }
            (Some(jobs), Some(_)) => {
                let message = "jobs stand either under [[job]] or under phases";
                self.sink.error(
                    "conflict",
                    jobs.span(),
                    message,
                    "[[phase.job]] puts them into the phase above",
                );
            }
            (None, None) => {}
        }
        if phases.iter().all(|phase| phase.jobs.is_empty()) && !self.sink.has_errors() {
            self.sink.error("missing-key", 0..0, "there is nothing to do: no jobs", "add a [[job]]");
        }
        phases
    }

    /// One phase, or as many as its sweep, curve and repetitions make.
    fn phase(&mut self, index: usize, entry: Entry<'t>, phases: &mut Vec<Phase>) {
        let Some(table) = self.sink.table(entry, PHASE_KEYS) else { return };
        let name = table.read(self.sink, "name", Sink::string).map(str::to_owned);
        let kind = table.read(self.sink, "kind", |sink, e| sink.word(e, words::PHASE_KINDS));
        let made = Phase {
            name: name.unwrap_or_else(|| format!("phase-{}", index + 1)),
            kind: kind.unwrap_or(PhaseKind::Measure),
            jobs: Vec::new(),
            drain_after: table.read(self.sink, "drain", Sink::boolean).unwrap_or(false),
            pause_after: table.read(self.sink, "pause", Sink::time).unwrap_or(Nanos(0)),
            point: table.read(self.sink, "point", Sink::string).unwrap_or_default().to_owned(),
            until: until::until(self.sink, &table),
        };
        let repeat =
            table.read(self.sink, "repeat", |sink, e| sink.count(e, 1..=JOBS_MAX as u64)).unwrap_or(1);
        let Some(jobs) = table.get("job") else {
            let message = format!("phase '{}' has no jobs", clip(&made.name));
            self.sink.error("missing-key", entry.span(), message, "add a [[phase.job]] behind it");
            return;
        };
        let points = sweep::points(self.sink, &table);
        for _ in 0..repeat {
            for point in &points {
                let Some(jobs) = self.jobs(jobs, Some(&point.settings)) else { return };
                let words = [made.point.as_str(), &point.words];
                let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
                let until = made.until.filter(|until| !matches!(until, Until::Below(_)) || is_share(&jobs));
                phases.push(Phase { jobs, point: words.join(" "), until, ..made.clone() });
                // The other points would say the same once more.
                if self.sink.has_errors() {
                    return;
                }
            }
        }
    }

    /// The jobs of a phase with `settings` over each; `None` where the plan is too large.
    fn jobs(&mut self, entry: Entry<'t>, settings: Option<&DeTable<'t>>) -> Option<Vec<assay_workload::Job>> {
        let mut jobs = Vec::new();
        for (index, element) in entry.elements().into_iter().enumerate() {
            let DeValue::Table(table) = element.value.get_ref() else {
                return self.sink.wrong_type(element, "tables: [[job]] or [[phase.job]]");
            };
            self.sink.check_keys(table, JOB_KEYS, "a job");
            let settings_bytes = settings.map_or(0, text_bytes);
            self.jobs += 1;
            self.job_text_bytes += text_bytes(table) + self.defaults_bytes + settings_bytes;
            if self.jobs > JOBS_MAX || self.job_text_bytes > JOB_TEXT_BYTES_MAX || self.sink.is_full() {
                self.too_large(element.span());
                return None;
            }
            let fields = match settings {
                Some(settings) => Fields::new(settings, element.span()).over(Some(table)),
                None => Fields::new(table, element.span()),
            };
            let fields = fields.over(self.defaults);
            let name = fields.read(self.sink, "name", Sink::string).map(str::to_owned);
            let name = name.unwrap_or_else(|| format!("job-{}", index + 1));
            let targets = self.job_targets(&fields);
            if self.references > REFERENCES_MAX {
                self.too_large(element.span());
                return None;
            }
            jobs.push(job::lower(self.sink, &fields, &name, targets));
        }
        Some(jobs)
    }

    fn too_large(&mut self, span: Range<usize>) {
        let message = format!("the plan has more than {JOBS_MAX} jobs, or says too much for each of them");
        self.sink.error("too-large", span, message, "fewer points, or fewer repetitions");
    }

    /// The targets a job names, all of the plan where it names none.
    fn job_targets(&mut self, job: &Fields<'_>) -> Vec<String> {
        let Some(entry) = job.get("targets") else {
            if self.targets.is_empty() {
                let help = "[[target]] with name, path and size";
                self.sink.error("unknown-target", job.span.clone(), "there is no target", help);
            }
            self.references += self.targets.len();
            return self.targets.iter().map(|target| target.name.clone()).collect();
        };
        let mut names = Vec::new();
        for element in entry.elements() {
            let Some(word) = self.sink.string(element) else { continue };
            let found = self.matching(word);
            self.references += found.len();
            if self.references > REFERENCES_MAX {
                break;
            }
            if found.is_empty() && !self.sink.is_full() {
                let known: Vec<&str> = self.by_name.keys().map(String::as_str).take(1000).collect();
                let help = match (nearest(word, &known), known.as_slice()) {
                    (Some(near), _) => format!("the nearest is '{near}'"),
                    (None, []) => "there are no targets; add [[target]]".to_owned(),
                    (None, some) => format!("known are {}", some[..some.len().min(20)].join(", ")),
                };
                let message = format!("target '{}' is not defined", clip(word));
                self.sink.error("unknown-target", element.span(), message, help);
            }
            names.extend(found);
        }
        if names.is_empty() && !self.sink.has_errors() {
            self.sink.error("bad-value", entry.span(), "the job names no target", "");
        }
        names
    }

    /// The target of that name, else all whose name begins as a word that ends in `*`.
    fn matching(&mut self, word: &str) -> Vec<String> {
        if self.by_name.contains_key(word) {
            return vec![word.to_owned()];
        }
        let Some(start) = word.strip_suffix('*') else { return Vec::new() };
        self.references += self.targets.len() / SCANNED_PER_REFERENCE;
        let names = self.targets.iter().map(|target| &target.name);
        names.filter(|name| name.starts_with(start)).cloned().collect()
    }
}

/// How much text the values of a table are.
fn text_bytes(table: &DeTable<'_>) -> usize {
    table.values().map(|value| value.span().len()).sum()
}

/// Whether jobs are a point of a curve.
fn is_share(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| matches!(job.rate, Rate::PercentOfMax(_)))
}
