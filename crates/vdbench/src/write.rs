//! From the workload model to a vdbench parameter file.

mod files;
mod hosts;
mod names;
mod storage;
mod validation;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use assay_workload::job::{Arrival, FlushPolicy, Job, OpenSync, Phase, PhaseKind, Rate, Workload};
use assay_workload::pattern::{OpKind, Placement};
use assay_workload::target::Target;
use assay_workload::units::Nanos;

use super::number::show;
use assay_formats::diagnostic::{Affects, Diagnostic, Severity};
use names::Names;

/// Writes a workload as a vdbench parameter file. What the language cannot say is a diagnostic without a place, and a
/// comment at the head of the text.
#[must_use]
pub fn write(workload: &Workload) -> (String, Vec<Diagnostic>) {
    let mut writer = Writer::new(workload);
    for (index, phase) in workload.phases.iter().enumerate() {
        let behind = workload.phases.get(index + 1);
        if !validation::reads_back(phase) {
            writer.phase(phase, behind.is_some_and(validation::reads_back));
        }
    }
    writer.finish()
}

/// Text under construction: one block of lines for each group, because their order is fixed.
struct Writer<'w> {
    workload: &'w Workload,
    storage_names: Names,
    tree_names: Names,
    workload_names: Names,
    run_names: Names,
    targets: BTreeMap<&'w str, &'w Target>,
    /// The largest transfer on each target, which is where vdbench starts on a raw device.
    largest: BTreeMap<&'w str, u64>,
    /// Shape of a tree, and the name and line of its definition.
    host_names: Names,
    trees: BTreeMap<String, String>,
    tree_lines: Vec<String>,
    wds: Vec<String>,
    fwds: Vec<String>,
    rds: Vec<String>,
    notes: Vec<Diagnostic>,
    said: BTreeSet<(&'static str, String)>,
}

impl<'w> Writer<'w> {
    fn new(workload: &'w Workload) -> Self {
        let mut largest: BTreeMap<&str, u64> = BTreeMap::new();
        for job in workload.phases.iter().flat_map(|phase| &phase.jobs) {
            for target in &job.targets {
                let known = largest.entry(target).or_default();
                *known = job.pattern.max_block_bytes().max(*known);
            }
        }
        Self {
            largest,
            workload,
            storage_names: Names::default(),
            tree_names: Names::default(),
            workload_names: Names::default(),
            run_names: Names::default(),
            targets: workload.targets.iter().map(|t| (t.name.as_str(), t)).collect(),
            host_names: Names::default(),
            trees: BTreeMap::new(),
            tree_lines: Vec::new(),
            wds: Vec::new(),
            fwds: Vec::new(),
            rds: Vec::new(),
            notes: Vec::new(),
            said: BTreeSet::new(),
        }
    }

    /// Something that the language cannot say; repeated for other jobs it is said once.
    fn lose(&mut self, id: &'static str, word: &str, message: impl Into<String>, help: &str) {
        self.say(Severity::Loss, id, word, message.into(), help);
    }

    fn note(&mut self, id: &'static str, word: &str, message: impl Into<String>, help: &str) {
        self.say(Severity::Note, id, word, message.into(), help);
    }

    fn lose_of_job(&mut self, job: &Job, id: &'static str, what: impl Display, help: &str) {
        self.lose(id, &job.name, format!("job `{}`: {what}", job.name), help);
    }

    fn lose_of_phase(&mut self, phase: &Phase, id: &'static str, what: impl Display, help: &str) {
        self.lose(id, &phase.name, format!("phase `{}`: {what}", phase.name), help);
    }

    fn say(&mut self, severity: Severity, id: &'static str, word: &str, message: String, help: &str) {
        const KEPT_MAX: usize = 500;
        if self.notes.len() < KEPT_MAX && self.said.insert((id, message.clone())) {
            let (word, help) = (word.to_owned(), help.to_owned());
            let affects = (severity == Severity::Loss).then_some(Affects::Test);
            self.notes.push(Diagnostic { severity, id, position: None, word, affects, message, help });
        }
    }

    /// `read_back`: behind it a phase reads back what was written.
    fn phase(&mut self, phase: &Phase, read_back: bool) {
        for job in phase.jobs.iter().filter(|job| job.application.is_some()) {
            self.lose_of_job(job, "application", "an application's load is not part of the language", "");
        }
        for job in phase.jobs.iter().filter(|job| job.file_operation.is_some()) {
            let help = "fsd= and fwd=operation= do the like on a tree of files";
            self.lose_of_job(
                job,
                "file-operation",
                "calls on single files are not part of the language",
                help,
            );
        }
        let is_data = |job: &&Job| job.is_blocks() && job.file_operation.is_none();
        let blocks: Vec<&Job> = phase.jobs.iter().filter(is_data).collect();
        let trees: Vec<&Job> = phase.jobs.iter().filter(|job| job.tree.is_some()).collect();
        let what = match phase.kind {
            PhaseKind::Purge => Some("purging a target is not part of the language"),
            PhaseKind::Verify => Some("a phase that only verifies cannot be written"),
            PhaseKind::Cleanup if !blocks.is_empty() => Some("removing files is not part of the language"),
            _ => None,
        };
        if let Some(what) = what {
            self.lose_of_phase(phase, "phase", what, "do it beside the run");
            return;
        }
        if !trees.is_empty() && !blocks.is_empty() {
            let what = "trees and devices cannot run side by side; one follows the other";
            self.lose_of_phase(phase, "mixed-run", what, "run two files at once");
        }
        if phase.drain_after && !read_back {
            self.lose_of_phase(phase, "drain", "dirty pages are not awaited behind it", "use pause=");
        }
        if phase.until.is_some() {
            let what = "it runs once, and not until a rule holds";
            self.lose_of_phase(phase, "until", what, "curve= shows the rates of a search");
        }
        // vdbench inserts this run by itself where a file is missing.
        let inserted = phase.kind == PhaseKind::Precondition && phase.name == "SD_format";
        if !blocks.is_empty() && !inserted {
            self.storage_phase(phase, &blocks);
        }
        if !trees.is_empty() {
            self.file_phase(phase, &trees);
        }
    }

    /// Times, limits, arrivals and pause: what every run line ends with.
    fn run_tail(&mut self, phase: &Phase, jobs: &[&Job]) -> String {
        const WITHOUT_LIMIT_S: u64 = 360_000;
        const SHORTEST_S: u64 = 2;
        let time = jobs.iter().filter_map(|job| job.limits.time).max();
        let ramp = jobs.iter().map(|job| job.ramp).max().unwrap_or(Nanos(0));
        let differ = jobs.iter().any(|job| job.limits.time != time || job.ramp != ramp);
        if differ {
            let what = "its jobs have different times; the longest is used for all";
            self.lose_of_phase(phase, "times-differ", what, "use one phase for each");
        }
        let mut whole = |time: Nanos| {
            let seconds = time.0.div_ceil(SECOND_NS);
            if !time.0.is_multiple_of(SECOND_NS) {
                self.lose_of_phase(phase, "sub-second", "times are rounded up to seconds", "");
            }
            seconds
        };
        let elapsed = time.map_or(WITHOUT_LIMIT_S, &mut whole).max(SHORTEST_S);
        let ramp_s = whole(ramp);
        let pause = whole(phase.pause_after);
        // Without a warmup the first interval would be taken out of `elapsed`.
        let mut tail = format!(",elapsed={elapsed},interval=1,warmup={}", ramp_s.max(1));
        if pause > 0 {
            tail += &format!(",pause={pause}");
        }
        if ramp_s == 0 {
            let message = format!("phase `{}`: one second of warmup comes before it", phase.name);
            self.note("first-interval", &phase.name, message, "vdbench never counts the first interval");
        }
        tail += match jobs.iter().find(|job| job.rate != Rate::Unlimited).map(|job| job.arrival) {
            Some(Arrival::Deterministic) => ",distribution=deterministic",
            Some(Arrival::Uniform) => ",distribution=uniform",
            _ => "",
        };
        tail
    }

    /// What no run line can say about a job.
    fn job_losses(&mut self, job: &Job) {
        if job.think_time.is_some() {
            self.lose_of_job(job, "think-time", "pauses between operations are dropped", "give iorate");
        }
        if job.strides.is_some() {
            self.lose_of_job(job, "strides", "the whole range is worked on, not zone by zone", "give range=");
        }
        if job.flow.is_some() {
            self.lose_of_job(job, "flow", "jobs are not kept in proportion", "give skew=");
        }
        if job.start_delay.0 > 0 {
            self.lose_of_job(job, "start-delay", "all workloads of a run start together", "use two runs");
        }
        if job.flush.periodic.is_some() {
            let help = "openflags=o_dsync makes each write durable";
            self.lose_of_job(job, "periodic-flush", "no fsync is issued during a run", help);
        }
        if job.limits.ios.is_some() {
            self.lose_of_job(job, "limit-ios", "a number of operations is no limit", "give maxdata");
        }
        if job.invalidate && job.caching == assay_workload::job::Caching::Buffered {
            let what = "cached pages are not dropped before the run";
            self.lose_of_job(job, "invalidate", what, "drop caches before it");
        }
        if job.pattern.mix.share(OpKind::Trim) > 0.0 {
            self.lose_of_job(job, "trim", "trims are dropped", "use a fio job file");
        }
    }

    /// A path as a value: in quotes where it holds a character with a meaning in the language.
    fn path(&mut self, path: &str) -> String {
        let unwritable = |c: char| c.is_control() || c == '"';
        if path.contains(unwritable) || path.starts_with(['$', '!']) {
            let message = format!("the path {path:?} cannot be written");
            self.say(Severity::Error, "unwritable-path", path, message, "use a link with a plain name");
        }
        let plain: String = path.chars().map(|c| if unwritable(c) { '_' } else { c }).collect();
        if plain.contains([' ', ',', '=', '-', '(', ')']) { format!("\"{plain}\"") } else { plain }
    }

    /// General parameters, from the first job that writes.
    fn general(&mut self) -> Vec<String> {
        let jobs = || self.workload.phases.iter().flat_map(|phase| &phase.jobs);
        let mut lines = Vec::new();
        let writes = |job: &&Job| job.pattern.mix.share(OpKind::Write) > 0.0 || job.tree.is_some();
        let first = jobs().find(writes).cloned();
        let mixed = first.as_ref().is_some_and(|f| jobs().filter(writes).any(|job| job.content != f.content));
        let measured: Vec<u64> = self
            .workload
            .phases
            .iter()
            .filter(|phase| phase.kind == PhaseKind::Measure)
            .flat_map(|phase| phase.jobs.iter().map(|job| job.errors_tolerated))
            .collect();
        let first_errors = measured.first().copied();
        let errors_differ = measured.iter().any(|errors| Some(*errors) != first_errors);
        if let Some(content) = first.map(|job| job.traits.content) {
            if content.compression_ratio > 1.0 {
                lines.push(format!("compratio={}", show(content.compression_ratio.min(25.0))));
            }
            if content.dedup_ratio > 1.0 {
                let (ratio, unit) = (show(content.dedup_ratio), content.dedup_unit_bytes);
                lines.push(format!("dedupratio={ratio},dedupunit={unit}"));
            }
            if content.payload != assay_workload::content::Payload::Random {
                let message = "the written data is random, not the given pattern";
                self.lose("pattern", "", message, "use pattern=FILE");
            }
        }
        self.repetition();
        lines.extend(self.validation());
        if let Some(errors) = first_errors.filter(|n| *n != 49) {
            lines.push(format!("data_errors={}", errors.saturating_add(1)));
        }
        if mixed {
            let message = "jobs write different data; the first one's is used for all";
            self.lose("content-differs", "", message, "write a file for each");
        }
        if errors_differ {
            let message = "jobs survive different numbers of errors; the first one's is used for all";
            self.lose("errors-differ", "", message, "write a file for each");
        }
        lines
    }

    /// vdbench draws addresses from the time of day.
    fn repetition(&mut self) {
        let draws =
            |job: &Job| job.tree.is_some() || !matches!(job.pattern.placement, Placement::Sequential(_));
        let jobs = || self.workload.phases.iter().flat_map(|phase| &phase.jobs);
        let alike = jobs().find(|job| job.pattern.repeat_passes).map(|job| job.name.clone());
        let seed = self.workload.seed.filter(|_| jobs().any(draws));
        if let Some(seed) = seed {
            let message = format!("the seed {seed} is not kept: vdbench draws other addresses in each run");
            self.note("seed", "seed", message, "");
        }
        if let Some(name) = alike {
            let message = format!("job `{name}`: vdbench draws other addresses in each pass");
            self.note("repeat-passes", &name, message, "");
        }
    }

    /// Notes the names that vdbench cannot hold, or not twice, and how they are written.
    fn renamed(&mut self) -> Vec<String> {
        let kinds =
            [&mut self.storage_names, &mut self.tree_names, &mut self.workload_names, &mut self.run_names];
        let changed: BTreeSet<_> = kinds.into_iter().flat_map(Names::take_changed).collect();
        let mut messages = Vec::new();
        for (wanted, name) in changed.into_iter().take(RENAMED_MAX) {
            let message = format!("`{wanted}` is called `{name}`");
            self.note("renamed", &wanted, message.clone(), "");
            messages.push(message);
        }
        messages
    }

    fn finish(mut self) -> (String, Vec<Diagnostic>) {
        let general = self.general();
        let hosts = self.hosts();
        let storages = self.storages();
        let mut text = format!("* {}\n", one_line(&self.workload.name));
        for note in self.notes.iter().filter(|d| d.severity == Severity::Loss) {
            text += &format!("* not kept: {}\n", one_line(&note.message));
        }
        for message in self.renamed() {
            text += &format!("* {}\n", one_line(&message));
        }
        for block in [general, hosts, self.tree_lines, storages, self.wds, self.fwds, self.rds] {
            if !block.is_empty() {
                text.push('\n');
            }
            for line in block {
                text += &line;
                text.push('\n');
            }
        }
        (text, self.notes)
    }
}

/// So many names are said to be changed at most.
const RENAMED_MAX: usize = 200;
const SECOND_NS: u64 = 1_000_000_000;

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Shares in percent for rates that run side by side; empty for one, and the last one is left to share the rest.
fn skews(rates: &[f64]) -> Vec<Option<String>> {
    let total: f64 = rates.iter().sum();
    let last = rates.len().saturating_sub(1);
    rates
        .iter()
        .enumerate()
        .map(|(i, rate)| (i < last).then(|| format!("{:.6}", rate / total * 100.0)))
        .collect()
}

/// The words of `openflags=`.
fn open_flags(direct: bool, flush: &FlushPolicy) -> Vec<String> {
    let open = match flush.open {
        OpenSync::None => None,
        OpenSync::Dsync => Some("o_dsync"),
        OpenSync::Sync => Some("0x101000"),
    };
    let words = [direct.then_some("o_direct"), open, flush.at_end.then_some("fsync")];
    words.into_iter().flatten().map(str::to_owned).collect()
}
