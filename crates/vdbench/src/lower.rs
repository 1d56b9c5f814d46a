//! From a parameter file to the workload model: one phase for each run, in order.

mod area;
mod files;
mod hosts;
mod rates;
mod storage;
mod validation;

use std::collections::BTreeSet;
use std::fmt::Display;

use assay_workload::SweepPoint;
use assay_workload::content::{Acknowledged, Content, DataJournal, Payload, Refresh};
use assay_workload::job::{EndsWith, Job, Phase, PhaseKind, Workload};
use assay_workload::pattern::Placement;
use assay_workload::steps::{LatencyLimit, Until};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};

use super::expand::{ExpandedRun, RunKind, RunRate, expand};
use super::file::ParameterFile;
use super::general::{DataErrors, Dedup};
use super::keyword::{Named, placed};
use super::loops::{LoopKind, LoopValue};
use super::sink::{At, Sink};
use assay_formats::diagnostic::{Affects, Diagnostic};

/// Turns a parsed file into a workload. What cannot be kept is a diagnostic with its place; `None` only where the
/// file is too large for a plan.
///
/// `name` becomes the workload's name.
pub fn lower(name: &str, file: &ParameterFile) -> (Option<Workload>, Vec<Diagnostic>) {
    let mut lowering = Lowering::new(file);
    lowering.file_losses();
    let runs = expand(file);
    let mut phases = Vec::new();
    for run in &runs {
        if lowering.exhausted() {
            let at = file.runs.first().map(|rd| rd.at);
            let message = "the file makes too many jobs for one plan";
            lowering.sink.error("too-large", at, "", message, "split it, or shorten its loops");
            return (None, lowering.sink.finish());
        }
        if let Some(phase) = lowering.phase(run) {
            phases.push(phase);
        }
    }
    lowering.read_back(&mut phases);
    let (targets, hosts) = (lowering.targets(), lowering.hosts());
    let workload = Workload { name: name.to_owned(), seed: None, hosts, targets, phases };
    (Some(workload), lowering.sink.finish())
}

/// Pairs of workload and target that one file may make over all its runs.
const PAIRS_MAX: usize = 2_000_000;

/// State of one translation.
struct Lowering<'f> {
    file: &'f ParameterFile,
    sink: Sink,
    /// What was said already, so that a loop does not repeat it for each of its runs.
    said: BTreeSet<(&'static str, At)>,
    /// For each storage definition the largest transfer that any run makes on it.
    largest: Vec<u64>,
    storages_used: BTreeSet<usize>,
    trees_used: BTreeSet<String>,
    /// Some host is another machine.
    several_hosts: bool,
    /// This machine is one of the hosts although no hd defines it.
    local_host: bool,
    pairs: usize,
}

impl<'f> Lowering<'f> {
    fn new(file: &'f ParameterFile) -> Self {
        let mut pairs = 0;
        let largest = storage::largest_transfers(file, &mut pairs, PAIRS_MAX);
        let sink = Sink::with_files(file.files.clone());
        Self {
            file,
            sink,
            said: BTreeSet::new(),
            largest,
            storages_used: BTreeSet::new(),
            trees_used: BTreeSet::new(),
            several_hosts: file.remote_hosts().next().is_some(),
            local_host: hosts::names_local(file),
            pairs,
        }
    }

    fn exhausted(&self) -> bool {
        self.pairs > PAIRS_MAX
    }

    /// Reports a loss once for each place.
    fn lose(&mut self, id: &'static str, at: At, word: &str, message: impl Into<String>, help: &str) {
        if self.said.insert((id, at)) {
            self.sink.loss(id, Affects::Test, at, word, message, help);
        }
    }

    /// As [`Lowering::lose`], of a parameter of a definition: what of it is lost.
    fn lose_of(&mut self, of: &impl Named, id: &'static str, key: &str, what: impl Display, help: &str) {
        let (kind, name) = of.called();
        self.lose(id, of.place(key), key, format!("{kind} `{name}`: {what}"), help);
    }

    /// As [`Lowering::lose_of`], with the parameter in the message.
    fn lose_key(&mut self, of: &impl Named, id: &'static str, key: &str, what: &str, help: &str) {
        let (kind, name) = of.called();
        self.lose(id, of.place(key), key, format!("{kind} `{name}`, `{key}=`: {what}"), help);
    }

    /// Reports a note once for each place.
    fn note(&mut self, id: &'static str, at: At, word: &str, message: impl Into<String>, help: &str) {
        if self.said.insert((id, at)) {
            self.sink.note(id, at, word, message, help);
        }
    }

    fn phase(&mut self, run: &ExpandedRun) -> Option<Phase> {
        let (kind, mut jobs) = match run.kind {
            RunKind::StorageFormat => (PhaseKind::Precondition, self.storage_format()),
            RunKind::FileFormat => (self.format_kind(run), self.format_jobs(run)),
            RunKind::Storage => (PhaseKind::Measure, self.storage_jobs(run)),
            RunKind::Files => (PhaseKind::Measure, self.file_jobs(run)),
        };
        if jobs.is_empty() {
            return None;
        }
        self.run_losses(run);
        if kind == PhaseKind::Measure {
            follow_to_the_end(&mut jobs);
        }
        let pause_s = run.definition.and_then(|i| self.file.runs.get(i)).map_or(0, |rd| rd.pause_s);
        let point = if run.kind == RunKind::FileFormat { String::new() } else { point(run) };
        let pause_after = Nanos(nanos(pause_s));
        Some(Phase {
            name: run.name.clone(),
            kind,
            jobs,
            drain_after: false,
            pause_after,
            point: SweepPoint::new(point),
            despite_failure: false,
            until: self.stop_curve(run),
        })
    }

    /// What ends a curve: its points, not the run that finds the maximum.
    fn stop_curve(&self, run: &ExpandedRun) -> Option<Until> {
        let rd = run.definition.and_then(|index| self.file.runs.get(index))?;
        let RunRate::CurvePoint { .. } = run.rate else { return None };
        rd.stop_curve_ms.map(|limit_ms| Until::Below(LatencyLimit { limit_ns: (limit_ms * 1e6) as u64 }))
    }

    /// Everything that the runs used, in the order of the file.
    fn targets(&self) -> Vec<Target> {
        let storages =
            self.storages_used.iter().filter_map(|i| self.file.storages.get(*i)).map(|sd| Target {
                name: sd.name.clone(),
                path: sd.luns.first().map(|l| l.path.clone()).unwrap_or_default(),
                kind: (!sd.is_raw()).then_some(TargetKind::File),
                size: sd.size.map(Bytes),
            });
        let used = self.file.file_systems.iter().filter(|fsd| self.trees_used.contains(&fsd.name));
        let trees = used.map(|fsd| Target {
            name: fsd.name.clone(),
            path: fsd.anchor.clone(),
            kind: Some(TargetKind::Directory),
            size: None,
        });
        storages.chain(trees).collect()
    }

    /// What the general parameters and hosts ask for and the model does not hold.
    fn file_losses(&mut self) {
        let general = &self.file.general;
        let place = |key: &str| placed(&general.set, key, At { line: 1, ..At::default() });
        let more = |e: &DataErrors| !matches!(e, DataErrors::Stop { after_s: None, .. });
        if general.data_errors.as_ref().is_some_and(more) {
            let message = "`data_errors=`: only a number of errors is kept; a run stops at it";
            self.lose("data-errors", place("data_errors"), "data_errors", message, "give a number alone");
        }
        if general.thread_adjust == Some(false) {
            let message = "`fwd_thread_adjust=no`: every workload and tree gets at least one thread";
            let at = place("fwd_thread_adjust");
            self.lose("thread-adjust", at, "fwd_thread_adjust", message, "give enough threads");
        }
        self.validation_losses();
        self.host_remarks();
    }

    /// What one run definition asks for and the model does not hold.
    fn run_losses(&mut self, run: &ExpandedRun) {
        let Some(rd) = run.definition.and_then(|i| self.file.runs.get(i)) else { return };
        let curve = matches!(run.rate, RunRate::Curve | RunRate::CurvePoint { .. });
        if rd.stop_curve_ms.is_some() && !curve {
            let what = "it ends curves, and this run is none";
            self.lose_key(rd, "stop-curve", "stopcurve", what, "iorate=curve");
        }
        if rd.arrivals.variable {
            let what = "the mean rate is offered";
            self.lose_key(rd, "variable-rate", "distribution", what, "use one run for each rate");
        }
        if rd.arrivals.spike {
            let what = "arrivals are spread over each second";
            self.lose_key(rd, "spike", "distribution", what, "use one run for each rate");
        }
        let data = rd.max_data.or(rd.max_data_read).or(rd.max_data_written);
        if data.is_some() && run.kind == RunKind::Files {
            let what = "the limit on data is not kept for trees";
            self.lose_key(rd, "max-data", max_data_key(rd), what, "give elapsed=");
        }
        if run.warmup_s == 0
            && matches!(run.kind, RunKind::Storage | RunKind::Files)
            && self.said.insert(("first-interval", At::default()))
        {
            let message = "a run without warmup leaves its first interval out of the averages, as in vdbench"
                .to_owned();
            self.sink.note(
                "first-interval",
                rd.at,
                &rd.name,
                message,
                "give warmup= to measure all of elapsed=",
            );
        }
    }

    /// What is written, from the general parameters, a target's own, and the loops of a run.
    fn content(&self, run: &ExpandedRun, own: &Dedup) -> Content {
        let general = &self.file.general;
        let pick = |a: Option<f64>, b: Option<f64>| a.or(b).unwrap_or(1.0);
        let mut ratio = general.compression_ratio.unwrap_or(1.0);
        for (kind, value) in &run.loops {
            if let LoopValue::Number(n) = value {
                match kind {
                    LoopKind::CompressionRatio => ratio = n.value,
                    LoopKind::Compression => ratio = 100.0 / n.value.clamp(1.0, 100.0),
                    _ => {}
                }
            }
        }
        let shared = &general.dedup;
        let validation = general.validation.filter(|_| run.kind == RunKind::Storage);
        Content {
            payload: Payload::Random,
            refresh: Refresh::Stamp,
            compression_ratio: ratio,
            dedup_ratio: pick(own.ratio, shared.ratio),
            dedup_unit_bytes: own.unit.or(shared.unit).unwrap_or(4096),
            verify: validation.is_some(),
            reread: validation.is_some_and(|validation| validation.reread),
            written: false,
            pattern_blocks: None,
            written_beside_reads_percent: None,
            data_errors_max: None,
            // What has completed is what vdbench asks for after a crash.
            journal: validation
                .filter(|validation| validation.journal)
                .map(|_| DataJournal { acknowledged: Acknowledged::Completed, directory: None }),
        }
    }

    /// Errors after which a job goes on: one less than the number that stops vdbench, which is 50 by default.
    fn errors_tolerated(&self) -> u64 {
        const VDBENCH_DEFAULT: u64 = 50;
        match &self.file.general.data_errors {
            Some(DataErrors::Stop { count, .. }) => count.saturating_sub(1),
            _ => VDBENCH_DEFAULT - 1,
        }
    }

    /// Sets what every job of a measured run shares: its times, and the errors it survives.
    fn set_times(&self, run: &ExpandedRun, job: &mut Job) {
        job.errors_tolerated = self.errors_tolerated();
        job.invalidate = false;
        let Some(elapsed_s) = run.elapsed_s else { return };
        let interval_s = run.definition.and_then(|i| self.file.runs.get(i)).map_or(1, |rd| rd.interval_s);
        // Without a warm-up the averages begin with the second interval.
        let (ramp_s, time_s) = match run.warmup_s {
            0 if interval_s < elapsed_s => (interval_s, elapsed_s - interval_s),
            warmup_s => (warmup_s, elapsed_s),
        };
        job.ramp = Nanos(nanos(ramp_s));
        job.limits.time = Some(Nanos(nanos(time_s)));
    }
}

/// Seconds as nanoseconds, at most about 292 years.
fn nanos(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000_000_000)
}

/// A whole number that fits the model's 32 bits.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The keyword by which a run limits its data.
fn max_data_key(rd: &super::RunDef) -> &'static str {
    match (rd.max_data, rd.max_data_read) {
        (Some(_), _) => "maxdata",
        (None, Some(_)) => "maxdataread",
        (None, None) => "maxdatawritten",
    }
}

/// The point of a sweep that a run stands for: `threads=8 xfersize=4k`, and for a curve `curve=50%`.
fn point(run: &ExpandedRun) -> String {
    let mut words: Vec<String> =
        run.loops.iter().map(|(kind, value)| format!("{}={}", kind.word(), value.show(*kind))).collect();
    match run.rate {
        RunRate::Curve => words.push("curve=max".to_owned()),
        RunRate::CurvePoint { percent, .. } => {
            words.push(format!("curve={}%", super::number::show(percent.trunc())))
        }
        _ => {}
    }
    words.join(" ")
}

/// Where workloads of `seekpct=eof` are among others, the run ends with the last of them.
fn follow_to_the_end(jobs: &mut [Job]) {
    let ends = |job: &Job| matches!(&job.pattern.placement, Placement::Sequential(walk) if !walk.wrap);
    if jobs.iter().any(ends) {
        for job in jobs.iter_mut().filter(|job| job.is_blocks() && !ends(job)) {
            job.limits.ends_with = Some(EndsWith::Others);
        }
    }
}
