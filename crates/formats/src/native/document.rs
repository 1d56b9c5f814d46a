//! The whole document: targets, defaults, and the phases with their jobs.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_workload::host::Host;
use assay_workload::job::{Job, Phase, PhaseKind, Rate, Workload};
use assay_workload::resolve::TARGETS_MAX;
use assay_workload::steps::{FindRate, Until, UntilSteady};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use toml::de::{DeTable, DeValue};

use super::forms::{FLAG, NAME, POINT, SIZE, TEXT, TIME, count, word, write_count};
use super::host;
use super::job;
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::node::{Entry, Fields};
use super::sink::{Sink, clip};
use super::sweep;
use super::until;

/// Jobs a plan may have, all points of all sweeps counted.
pub(super) const JOBS_MAX: usize = 20_000;
/// Bytes of text that all jobs together may stand for, the defaults counted once for each job: this bounds the
/// memory a small file can ask for.
const JOB_TEXT_BYTES_MAX: usize = 8 << 20;
/// Targets that all jobs together may name. Looking through all targets for a `name*` counts as naming one in
/// [`SCANNED_PER_REFERENCE`] of them.
const REFERENCES_MAX: usize = 1_000_000;
const SCANNED_PER_REFERENCE: usize = 16;

/// What a plan says beside its targets and jobs.
#[derive(Default)]
pub(super) struct Plan {
    assay: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) seed: Option<u64>,
}

/// The only version of the format.
const VERSION: u64 = 1;

const ASSAY: Form<u64> = Form {
    shape: Shape::Count(VERSION, VERSION),
    read: |sink, entry, _| match count(1, u64::MAX).take(sink, entry)? {
        VERSION => Some(VERSION),
        _ => sink.bad_value(entry, "this format version is not known", "this program reads version 1"),
    },
    write: |version| write_count(*version),
};

const HOST_LIST: Shape = Shape::List(&Shape::Defined("host"));
const TARGET_LIST: Shape = Shape::List(&Shape::Defined("target"));
const JOB_LIST: Shape = Shape::List(&Shape::Defined("job"));
const PHASE_LIST: Shape = Shape::List(&Shape::Defined("phase"));

pub(super) const PLAN: Table<Plan> = Table {
    who: "a plan",
    example: "",
    sections: &[&[
        key!(some "assay", ASSAY, assay, "1", "version of the format: 1"),
        key!(some "name", TEXT, name, "the name of the file", "the name of the run"),
        key!(some "seed", count(0, u64::MAX), seed, "chosen anew, printed, stored", "what everything random derives from, 0 to 2^64 - 1 (above 2^63 - 1 as a string)"),
        key!(part "host", HOST_LIST, "", "`[[host]]`: the machines that do it, where it is not the one that makes the plan"),
        key!(part "target", TARGET_LIST, "", "`[[target]]`: what receives the I/O"),
        key!(part "defaults", Shape::Defaults, "", "`[defaults]`: keys of a job, for all jobs that do not have them"),
        key!(part "job", JOB_LIST, "", "`[[job]]`: the jobs of a plan that has one phase, which measures"),
        key!(part "phase", PHASE_LIST, "", "`[[phase]]`: phases in sequence, each with `[[phase.job]]`"),
    ]],
};

impl Plan {
    pub(super) fn of(workload: &Workload) -> Self {
        Plan { assay: Some(VERSION), name: Some(workload.name.clone()), seed: workload.seed }
    }
}

/// A target, or as many as `count` says.
pub(super) struct TargetDraft {
    target: Target,
    count: Option<u64>,
}

impl TargetDraft {
    pub(super) fn of(target: Target) -> Self {
        TargetDraft { target, count: None }
    }

    pub(super) fn blank() -> Self {
        TargetDraft::of(Target { name: String::new(), path: String::new(), kind: None, size: None })
    }
}

const TARGET_SIZE: Form<Bytes> = Form {
    shape: SIZE.shape,
    read: |sink, entry, _| SIZE.take(sink, entry).map(Bytes),
    write: |size| (SIZE.write)(&size.0),
};

pub(super) const TARGET: Table<TargetDraft> = Table {
    who: "a target",
    example: "name = \"data\", path = \"data.bin\"",
    sections: &[&[
        key!(must "name", NAME, target.name, "required", "how jobs call it"),
        key!(must "path", NAME, target.path, "required", "a file, a device, a directory; relative to the working directory of the run"),
        key!(some "kind", word::<TargetKind>(), target.kind, "detected when the run is planned", "`file`, `block-device`, `directory`, `null`"),
        key!(some "size", TARGET_SIZE, target.size, "all of what exists", "how much of it is used, from its start"),
        key!(some "count", count(1, TARGETS_MAX as u64), count, "one target", "makes this many targets, with 0, 1, 2, .. in place of `{}` in `name` and `path`"),
    ]],
};

/// A phase, and what makes several of it.
pub(super) struct PhaseDraft {
    phase: Phase,
    repeat: u64,
    pub(super) until: Option<UntilSteady>,
    pub(super) find_rate: Option<FindRate>,
    pub(super) stop_above: Option<Nanos>,
}

impl PhaseDraft {
    pub(super) fn new(name: &str) -> Self {
        let phase = Phase::measure(name, Vec::new());
        PhaseDraft { phase, repeat: 1, until: None, find_rate: None, stop_above: None }
    }

    /// What the keys of `phase` say, apart from its jobs.
    pub(super) fn of(phase: &Phase) -> Self {
        let mut draft = PhaseDraft::new("");
        match phase.until {
            Some(Until::Steady(steady)) => draft.until = Some(steady),
            Some(Until::Rate(find)) => draft.find_rate = Some(find),
            Some(Until::Below(limit)) => draft.stop_above = Some(Nanos(limit.limit_ns)),
            // Tiles are asked for on the command line.
            Some(Until::Held) | None => {}
        }
        PhaseDraft { phase: Phase { jobs: Vec::new(), ..phase.clone() }, ..draft }
    }
}

const JOBS: u64 = JOBS_MAX as u64;

pub(super) const PHASE: Table<PhaseDraft> = Table {
    who: "a phase",
    example: "",
    sections: &[&[
        key!(always "name", TEXT, phase.name, "`phase-1`, `phase-2`, ..", "the name in results"),
        key!(set "kind", word::<PhaseKind>(), phase.kind, "`measure`", "`purge`, `precondition`, `ramp`, `measure`, `verify`, `cleanup`"),
        key!(set "drain", FLAG, phase.drain_after, "`false`", "`true`: dirty pages are written back before the next phase"),
        key!(set "pause", TIME, phase.pause_after, "0", "idle time after it"),
        key!(set "despite_failure", FLAG, phase.despite_failure, "`false`", "`true`: it runs although a phase before it failed; the run fails all the same"),
        key!(set "point", POINT, phase.point, "none", "`name=value` words: what it stands for in a curve or sweep"),
        key!(part "sweep", Shape::Sweep, "", "a table of job keys with lists of values: one phase for each combination"),
        key!(part "curve", sweep::SHARES, "", "per cents: one phase without a rate, then one at each per cent of what that reached"),
        key!(set "repeat", count(1, JOBS), repeat, "1", "all points this many times, round after round"),
        key!(some "until", until::STEADY, until, "once", "`\"steady\"`: all points again, round after round, until they are steady by SNIA's rule; or a table of its limits, see below"),
        key!(some "find_rate", until::SEARCH, find_rate, "", "`\"p99<5ms\"`, `\"mean<800us\"`: the phase at other rates, until the highest that meets this latency target is known, at most 37 times; or a table, see below"),
        key!(some "stop_above", TIME, stop_above, "", "`\"5ms\"`: skip the points of the `curve` after the first whose mean response time is above this"),
        key!(jobs "job", JOB_LIST, "required", "`[[phase.job]]`: its jobs"),
    ]],
};

/// Lowers a parsed document.
pub(super) struct Document<'s, 't> {
    pub(super) sink: &'s mut Sink,
    hosts: Vec<Host>,
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
            hosts: Vec::new(),
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
        self.sink.check_keys(root, &PLAN.names(), PLAN.who);
        let top = Fields::new(root, 0..0);
        let mut plan = Plan::default();
        PLAN.fill(self.sink, &top, &mut plan);
        for entry in top.get("target").map(|entry| entry.elements()).unwrap_or_default() {
            self.target(entry);
        }
        self.hosts = host::read(self.sink, &top, |name| self.by_name.contains_key(name));
        if let Some(entry) = top.get("defaults") {
            let known: Vec<&str> = job::KEYS.names().into_iter().filter(|key| *key != "name").collect();
            self.sink.table(entry, &known, "'defaults'");
            if let DeValue::Table(table) = entry.value.get_ref() {
                self.defaults = Some(table);
                self.defaults_bytes = text_bytes(table);
            }
        }
        let phases = self.phases(&top);
        let name = plan.name.unwrap_or_else(|| stem.to_owned());
        Workload { name, seed: plan.seed, hosts: self.hosts, targets: self.targets, phases }
    }

    fn target(&mut self, entry: Entry<'t>) {
        let Some(draft) = TARGET.read(self.sink, entry, TargetDraft::blank()) else { return };
        let TargetDraft { target, count } = draft;
        let place = entry.as_table().and_then(|table| table.get("count"));
        let (Some(count), Some(place)) = (count, place) else {
            if !target.name.is_empty() && place.is_none() {
                self.add(entry, target);
            }
            return;
        };
        if !(target.name.contains("{}") && target.path.contains("{}")) {
            let message = "'count': name and path need a place {} for the number";
            let help = "name = \"data{}\", path = \"data{}.bin\"";
            self.sink.error("bad-value", place.span(), message, help);
            return;
        }
        for index in 0..count {
            let numbered = |text: &str| text.replace("{}", &index.to_string());
            let (name, path) = (numbered(&target.name), numbered(&target.path));
            self.add(entry, Target { name, path, ..target });
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
        let Some(table) = self.sink.table(entry, &PHASE.names(), PHASE.who) else { return };
        let mut draft = PhaseDraft::new(&format!("phase-{}", index + 1));
        PHASE.fill(self.sink, &table, &mut draft);
        let until = until::until(self.sink, &table, &draft);
        let made = Phase { until, ..draft.phase };
        let Some(jobs) = table.get("job").filter(|jobs| !jobs.elements().is_empty()) else {
            let message = format!("phase '{}' has no jobs", clip(&made.name));
            self.sink.error("missing-key", entry.span(), message, "add a [[phase.job]] behind it");
            return;
        };
        let points = sweep::points(self.sink, &table);
        for _ in 0..draft.repeat {
            for point in &points {
                let Some(jobs) = self.jobs(jobs, Some(&point.settings)) else { return };
                let until = made.until.filter(|until| !matches!(until, Until::Below(_)) || is_share(&jobs));
                phases.push(Phase {
                    jobs,
                    point: made.point.with(point.point.as_str()),
                    until,
                    ..made.clone()
                });
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
        let known = job::KEYS.names();
        for (index, element) in entry.elements().into_iter().enumerate() {
            let DeValue::Table(table) = element.value.get_ref() else {
                return self.sink.wrong_type(element, "tables: [[job]] or [[phase.job]]");
            };
            self.sink.check_keys(table, &known, job::KEYS.who);
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
            let draft = job::Draft::read(self.sink, &fields, &format!("job-{}", index + 1));
            host::check(self.sink, &fields, &self.hosts);
            let targets = self.job_targets(&fields, draft.targets);
            if self.references > REFERENCES_MAX {
                self.too_large(element.span());
                return None;
            }
            jobs.push(Job { targets, ..draft.job });
        }
        Some(jobs)
    }

    fn too_large(&mut self, span: Range<usize>) {
        let message = format!("the plan has more than {JOBS_MAX} jobs, or says too much for each of them");
        self.sink.error("too-large", span, message, "fewer points, or fewer repetitions");
    }

    /// The targets a job names, all of the plan where it names none.
    fn job_targets(&mut self, job: &Fields<'_>, words: Option<Vec<(String, Range<usize>)>>) -> Vec<String> {
        let Some(words) = words else {
            if self.targets.is_empty() {
                let help = "[[target]] with name, path and size";
                self.sink.error("unknown-target", job.span.clone(), "there is no target", help);
            }
            self.references += self.targets.len();
            return self.targets.iter().map(|target| target.name.clone()).collect();
        };
        let mut names = Vec::new();
        for (word, span) in words {
            let found = self.matching(&word);
            self.references += found.len();
            if self.references > REFERENCES_MAX {
                break;
            }
            if found.is_empty() && !self.sink.is_full() {
                let known: Vec<&str> = self.by_name.keys().map(String::as_str).take(1000).collect();
                self.sink.undefined("unknown-target", span, &word, &known);
            }
            names.extend(found);
        }
        if let Some(entry) = job.get("targets").filter(|_| names.is_empty() && !self.sink.has_errors()) {
            self.sink.bad_value::<()>(entry, "the job names no target", "leave it out for all targets");
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
