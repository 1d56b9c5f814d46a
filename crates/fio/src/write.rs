//! From the workload model to a job file for real fio, so that it can be the engine of the same plan.

mod access;
mod pace;
mod planned;
mod verify;

use std::collections::BTreeMap;

use assay_workload::content::{Payload, Refresh};
use assay_workload::job::{
    Caching, EngineKind, FileLayout, FlushOrder, Job, PhaseKind, TargetSelection, TargetSharing,
};
use assay_workload::target::{Extent, TargetKind};
use assay_workload::units::Nanos;
use assay_workload::{FileOperation, Plan, Workload};

use assay_formats::{Diagnostic, Severity};

use super::json::options::flush_options;
use super::report::Report;
use super::section::JOBS_MAX;
use super::table::Rule;

/// fio 3.33 keeps no longer pattern.
const PATTERN_BYTES_MAX: usize = 512;
/// Names of files are spread over lines of about this length.
const LINE_CHARS: usize = 2000;

/// Writes a workload as a job file, with a remark for everything that does not carry over. Phases become stages.
///
/// Errors among the remarks mean that the text leaves out a job that cannot be written at all.
pub fn write(workload: &Workload) -> (String, Vec<Diagnostic>) {
    let targets = workload.targets.iter().map(|target| TargetView {
        name: &target.name,
        path: &target.path,
        size: target.size.map(|size| size.0),
        device: target.kind == Some(TargetKind::BlockDevice) || target.path.starts_with("/dev/"),
    });
    let phases = workload.phases.iter().map(|phase| PhaseView {
        name: &phase.name,
        kind: phase.kind,
        drains: phase.drain_after,
        pause: phase.pause_after,
        repeats: phase.until.is_some(),
        jobs: phase.jobs.iter().collect(),
    });
    let mut writer = Writer::new(&workload.name, workload.seed, targets.collect());
    if !workload.hosts.is_empty() {
        let names: Vec<&str> = workload.hosts.iter().map(|host| host.name.as_str()).take(3).collect();
        let more = if workload.hosts.len() > names.len() { " and more" } else { "" };
        let message =
            format!("the hosts {}{more} are left out: fio does all of it on one machine", names.join(", "));
        writer.report.general(Severity::Loss, "fio-hosts", message);
    }
    writer.write(&phases.collect::<Vec<_>>())
}

/// As [`write()`], for a plan: engine, direct I/O, paths and sizes are the resolved ones.
pub fn write_plan(plan: &Plan) -> (String, Vec<Diagnostic>) {
    let targets = plan.targets.iter().map(|target| TargetView {
        name: &target.name,
        path: &target.path,
        size: Some(target.size_bytes),
        device: target.kind == TargetKind::BlockDevice,
    });
    let mut report = Report::default();
    let mut jobs: Vec<Vec<Job>> = Vec::with_capacity(plan.phases.len());
    for phase in &plan.phases {
        let asked = phase.jobs.iter().filter_map(|planned| {
            let asked = planned::as_asked(planned, &plan.targets);
            if asked.is_none() {
                let what =
                    "the ranges of its threads and targets do not follow one rule, which a job file needs";
                report.general(Severity::Error, "fio-ranges", format!("job `{}`: {what}", planned.name));
            }
            asked
        });
        jobs.push(asked.collect());
    }
    let phases = plan.phases.iter().zip(&jobs).map(|(phase, jobs)| PhaseView {
        name: &phase.name,
        kind: phase.kind,
        drains: phase.drain_after,
        pause: phase.pause_after,
        // The bridge repeats it itself.
        repeats: false,
        jobs: jobs.iter().collect(),
    });
    let mut writer = Writer::new(&plan.name, Some(plan.seed), targets.collect());
    writer.report = report;
    writer.write(&phases.collect::<Vec<_>>())
}

struct TargetView<'a> {
    name: &'a str,
    path: &'a str,
    size: Option<u64>,
    device: bool,
}

struct PhaseView<'a> {
    name: &'a str,
    kind: PhaseKind,
    drains: bool,
    pause: Nanos,
    repeats: bool,
    jobs: Vec<&'a Job>,
}

/// What one section of a job file is written of.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) job: &'a Job,
    /// Which phase, from 0.
    phase: usize,
    /// Indices of its targets.
    paths: &'a [usize],
    /// Whether it stands for one thread of the job, which has its own targets.
    pub(super) alone: bool,
    /// The thread then.
    thread: u64,
}

/// The lines of one section.
#[derive(Default)]
pub(super) struct Lines(Vec<String>);

impl Lines {
    pub(super) fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.push(format!("{name}={value}"));
    }

    fn flag(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }
}

pub(super) struct Writer<'a> {
    name: &'a str,
    seed: Option<u64>,
    /// Whether the seed is the one that fio takes if none is given.
    own_seed: bool,
    targets: Vec<TargetView<'a>>,
    /// Their indices by name: there may be tens of thousands.
    by_name: BTreeMap<&'a str, usize>,
    report: Report,
    text: String,
    /// Jobs with their clones so far.
    jobs: usize,
    /// The group of the job before, if it had one; true where the job made it for its own threads.
    group: Option<(bool, String)>,
    /// Whether the next section opens a phase behind another one.
    wall: bool,
    /// The jobs that read back what those of the phase write.
    read_back: Vec<&'a Job>,
}

impl<'a> Writer<'a> {
    fn new(name: &'a str, seed: Option<u64>, targets: Vec<TargetView<'a>>) -> Self {
        let by_name = targets.iter().enumerate().rev().map(|(index, target)| (target.name, index)).collect();
        Self {
            name,
            seed,
            own_seed: false,
            targets,
            by_name,
            report: Report::default(),
            text: String::new(),
            jobs: 0,
            group: None,
            wall: false,
            read_back: Vec::new(),
        }
    }

    fn lost(&mut self, id: &'static str, job: &str, what: &str) {
        self.report.general(Severity::Loss, id, format!("job `{job}`: {what}"));
    }

    fn note(&mut self, id: &'static str, job: &str, what: &str) {
        self.report.general(Severity::Note, id, format!("job `{job}`: {what}"));
    }

    fn error(&mut self, id: &'static str, job: &str, what: &str) {
        self.report.general(Severity::Error, id, format!("job `{job}`: {what}"));
    }

    fn write(mut self, phases: &[PhaseView<'a>]) -> (String, Vec<Diagnostic>) {
        self.text = format!("; {}\n", header_text(self.name));
        let jobs = phases.iter().flat_map(|phase| &phase.jobs);
        let mut random = jobs.filter(|job| job.pattern.placement.is_random()).peekable();
        // Its own seed need not be given; giving it switches repeated passes off.
        self.own_seed = self.seed == Some(super::resolve::SEED.unsigned_abs())
            && random.peek().is_some()
            && random.all(|job| job.pattern.repeat_passes || !access::may_repeat(job));
        if let Some(seed) = self.seed.filter(|_| !self.own_seed) {
            // fio reads it as a signed number.
            let seed = if i64::try_from(seed).is_ok() { seed } else { seed >> 1 };
            self.text.push_str(&format!("[global]\nrandseed={seed}\n"));
        }
        if phases.iter().filter(|phase| phase.kind != PhaseKind::Verify).count() > 1 {
            let message = "fio lays out the files of all phases before the first one";
            self.report.general(Severity::Note, "fio-layout-first", message);
        }
        for (index, phase) in phases.iter().enumerate() {
            let behind = phases.get(index + 1).filter(|behind| verify::reads_back(phase, behind));
            self.read_back = behind.map_or(Vec::new(), |behind| behind.jobs.clone());
            let before = index.checked_sub(1).map(|before| &phases[before]);
            if !before.is_some_and(|before| verify::reads_back(before, phase)) {
                self.phase(index, phase);
            }
        }
        (self.text, self.report.finish())
    }

    fn phase(&mut self, index: usize, phase: &PhaseView<'a>) {
        if phase.kind != PhaseKind::Measure {
            self.phase_loss("fio-phase-kind", phase, "fio measures and reports it like any other");
        }
        if phase.drains && self.read_back.is_empty() {
            self.phase_loss("fio-no-drain", phase, "fio does not wait for write-back behind it");
        }
        if phase.pause.0 > 0 {
            self.phase_loss("fio-no-pause", phase, "fio does not pause behind it");
        }
        if phase.repeats {
            self.phase_loss("fio-no-until", phase, "fio runs it once, and not until a rule holds");
        }
        self.wall = index > 0;
        self.group = None;
        for job in &phase.jobs {
            self.job(index, job);
        }
    }

    fn phase_loss(&mut self, id: &'static str, phase: &PhaseView<'_>, what: &str) {
        self.report.general(Severity::Loss, id, format!("phase `{}`: {what}", phase.name));
    }

    /// One section, or one per thread where each has targets of its own.
    fn job(&mut self, phase: usize, job: &'a Job) {
        if !job.is_blocks() {
            return self.error("fio-blocks-only", &job.name, "fio has no workload but block I/O");
        }
        let threads = usize::try_from(job.threads).unwrap_or(usize::MAX);
        self.jobs = self.jobs.saturating_add(threads);
        if self.jobs > JOBS_MAX {
            return self.error(
                "fio-too-many-jobs",
                &job.name,
                "fio runs at most 4096 jobs with their clones",
            );
        }
        let Some(paths) = self.paths(job) else { return };
        let alone = job.sharing == TargetSharing::PerThread && paths.len() > 1;
        let whole = Section { job, phase, paths: &paths, alone, thread: 0 };
        let mut shared = Lines::default();
        self.options(&whole, false, &mut shared);
        for thread in 0..if alone { threads } else { 1 } {
            let own = [paths[thread % paths.len()]];
            let paths = if alone { &own[..] } else { &paths };
            let section = Section { paths, thread: thread as u64, ..whole };
            let mut lines = Lines(shared.0.clone());
            self.options(&section, true, &mut lines);
            self.section(job, &lines, paths, threads > 1);
        }
    }

    /// The options of all rules: those that all sections of a job share, or those that each has for itself.
    fn options(&mut self, section: &Section<'_>, each: bool, lines: &mut Lines) {
        for rule in Rule::ALL.into_iter().filter(|rule| rule.is_of_each_section() == each) {
            rule.write(self, section, lines);
        }
    }

    /// Indices of the job's targets whose paths a job file can hold.
    fn paths(&mut self, job: &Job) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for name in &job.targets {
            let Some(&index) = self.by_name.get(name.as_str()) else {
                self.error("fio-no-target", &job.name, &format!("the target `{name}` is not defined"));
                return None;
            };
            let path = self.targets[index].path;
            let words = ["$pagesize", "$ncpus", "$mb_memory", "${"];
            let unwritable = path.trim() != path
                || path.is_empty()
                || path.len() > LINE_CHARS
                || path.contains(|c: char| c.is_control() || matches!(c, ';' | '#'))
                || words.iter().any(|word| path.contains(word));
            if unwritable {
                self.error("fio-path", &job.name, &format!("a job file cannot hold the path `{path}`"));
                return None;
            }
            found.push(index);
        }
        if found.is_empty() {
            self.error("fio-no-target", &job.name, "it has no target");
            return None;
        }
        Some(found)
    }

    /// Writes the section itself. All threads of a job, and all jobs of a group, are reported as one.
    fn section(&mut self, job: &Job, lines: &Lines, paths: &[usize], several: bool) {
        self.text.push_str(&format!("\n[{}]\n", header_text(&job.name)));
        let own = || several.then(|| (true, job.name.clone()));
        let group = job.group.clone().map(|name| (false, name)).or_else(own);
        if self.wall {
            self.text.push_str("stonewall\n");
        } else if self.jobs > 0 && (group.is_none() || group != self.group) {
            self.text.push_str("new_group\n");
        }
        self.wall = false;
        if group.is_some() {
            self.text.push_str("group_reporting\n");
        }
        self.group = group;
        for line in &lines.0 {
            self.text.push_str(line);
            self.text.push('\n');
        }
        let names = paths.iter().map(|index| self.targets[*index].path.replace(':', "\\:"));
        let mut line = String::new();
        for name in names {
            if !line.is_empty() && line.len() + name.len() > LINE_CHARS {
                self.text.push_str(&format!("filename={line}\n"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(':');
            }
            line.push_str(&name);
        }
        self.text.push_str(&format!("filename={line}\n"));
    }

    pub(super) fn engine(&mut self, job: &Job, lines: &mut Lines) {
        let options = job.engine_options;
        let name = match job.engine {
            EngineKind::IoUring if options.passthrough => "io_uring_cmd",
            engine => engine.fio_name().unwrap_or_else(|| {
                self.note("fio-engine-chosen", &job.name, "the engine is left open; io_uring is written");
                "io_uring"
            }),
        };
        let called = job.file_operation.map(FileOperation::fio_engine);
        lines.set("ioengine", called.map_or(name, |(engine, _)| engine));
        if let Some((_, Some(stat_type))) = called {
            lines.set("stat_type", stat_type);
        }
        lines.set("iodepth", job.outstanding_per_thread);
        let direct = job.caching != Caching::Buffered;
        if job.caching == Caching::Auto {
            self.note("fio-direct-chosen", &job.name, "caching is left open; direct=1 is written");
        }
        lines.set("direct", u8::from(direct));
        if !job.invalidate {
            lines.set("invalidate", 0);
        }
        if !direct && !job.access_hint {
            lines.set("fadvise_hint", 0);
        }
        if name.starts_with("io_uring") {
            if options.iopoll {
                lines.flag("hipri");
            }
            if options.sqpoll {
                lines.flag("sqthread_poll");
            }
            if !options.unregistered {
                lines.flag("fixedbufs");
                lines.flag("registerfiles");
            }
        }
        let depth = job.outstanding_per_thread.max(1);
        if options.submit_batch_max > 0 {
            lines.set("iodepth_batch", options.submit_batch_max.min(depth));
        }
        if options.reap_batch_min > 0 {
            lines.set("iodepth_batch_complete_min", options.reap_batch_min.min(depth));
        }
    }

    /// Start and length within each file; fio's size is that of all files together.
    pub(super) fn region(&mut self, section: &Section<'_>, lines: &mut Lines) {
        let Section { job, paths, thread, .. } = *section;
        let sizes: Vec<Option<u64>> = paths.iter().map(|index| self.targets[*index].size).collect();
        let devices = paths.iter().all(|index| self.targets[*index].device);
        let equal = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        let size = sizes.first().copied().flatten().filter(|_| equal);
        let start = self.extent(&job.name, "offset", job.offset, size);
        let step = self.extent(&job.name, "offset_increment", job.offset_increment, size);
        match (&start, &step, thread) {
            (Length::Bytes(start), Length::Bytes(step), 1..) => {
                lines.set("offset", start.saturating_add(step.saturating_mul(thread)));
            }
            _ => {
                start.unless_zero("offset", lines);
                step.unless_zero("offset_increment", lines);
            }
        }
        if let Some(strides) = job.strides {
            lines.set("zonemode", "strided");
            lines.set("zonesize", strides.turn_bytes);
            lines.set("zonerange", strides.zone_bytes);
            lines.set("zoneskip", strides.skip_bytes);
        }
        let files = paths.len() as u64;
        match (job.length.map(|length| self.extent(&job.name, "size", length, size)), start) {
            (Some(Length::Bytes(bytes)), _) => lines.set("size", bytes.saturating_mul(files)),
            (Some(Length::Percent(percent)), _) => lines.set("size", format!("{percent}%")),
            (None, Length::Bytes(start)) if !devices => {
                match size {
                    Some(size) => lines.set("size", size.saturating_sub(start).saturating_mul(files)),
                    None if sizes.iter().any(Option::is_some) => {
                        self.note("fio-existing-length", &job.name, "its files differ in size: fio takes the lengths they have, so they have to exist");
                    }
                    None => {}
                }
            }
            (None, _) => {}
        }
    }

    fn extent(&mut self, job: &str, option: &str, extent: Extent, size: Option<u64>) -> Length {
        match (extent, size) {
            (Extent::Bytes(bytes), _) => Length::Bytes(bytes),
            (Extent::Percent(_), Some(size)) => Length::Bytes(extent.of(size)),
            (Extent::Percent(percent), None) => {
                let whole = percent.round().clamp(0.0, 100.0);
                if whole != percent {
                    let help = format!("{option} has whole per cents: {percent} becomes {whole}");
                    self.lost("fio-whole-percent", job, &help);
                }
                Length::Percent(whole)
            }
        }
    }

    pub(super) fn selection(&mut self, section: &Section<'_>, lines: &mut Lines) {
        let job = section.job;
        if !job.pattern.needs_data() && section.paths.iter().any(|index| !self.targets[*index].device) {
            match job.layout {
                FileLayout::Allocated => {}
                FileLayout::AsNeeded => lines.set("fallocate", "none"),
                FileLayout::Length => lines.set("fallocate", "truncate"),
                FileLayout::Reserved => lines.set("fallocate", "keep"),
                FileLayout::Data => lines.set("overwrite", 1),
            }
        }
        if job.remove_files {
            lines.set("unlink", 1);
        }
        if job.empty_each_pass {
            lines.set("unlink_each_loop", 1);
        }
        if section.paths.len() < 2 {
            return;
        }
        match section.job.selection {
            TargetSelection::RoundRobin => {}
            TargetSelection::Random => lines.set("file_service_type", "random"),
            TargetSelection::Sequential => lines.set("file_service_type", "sequential"),
        }
        if let Some(open) = section.job.open_targets {
            lines.set("openfiles", open);
        }
    }

    pub(super) fn content(&mut self, job: &Job, lines: &mut Lines) {
        let (name, content) = (job.name.as_str(), &job.content);
        match &content.payload {
            Payload::Zero => return lines.flag("zero_buffers"),
            Payload::Pattern(bytes) if bytes.is_empty() => {}
            // Written with the options that check it.
            Payload::Pattern(_) if content.verify && content.pattern_blocks.is_some() => {}
            Payload::Pattern(bytes) => {
                if bytes.len() > PATTERN_BYTES_MAX {
                    self.lost("fio-pattern-length", name, "fio keeps the first 512 bytes of the pattern");
                }
                let hex: String =
                    bytes.iter().take(PATTERN_BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
                lines.set("buffer_pattern", format!("0x{hex}"));
            }
            Payload::Random => match content.refresh {
                Refresh::EveryWrite => lines.flag("refill_buffers"),
                Refresh::Stamp => {}
                Refresh::Never => lines.set("scramble_buffers", 0),
            },
        }
        let share = |ratio: f64| if ratio > 1.0 { (100.0 * (1.0 - 1.0 / ratio)).round() } else { 0.0 };
        let (compress, dedupe) = (share(content.compression_ratio), share(content.dedup_ratio));
        if compress > 0.0 {
            lines.set("buffer_compress_percentage", compress.min(99.0));
            lines.set("buffer_compress_chunk", 4096);
        }
        if dedupe > 0.0 {
            lines.set("dedupe_percentage", dedupe.min(99.0));
            if content.dedup_unit_bytes != job.pattern.write_sizes.min_bytes() {
                self.lost(
                    "fio-dedupe-unit",
                    name,
                    "fio repeats whole blocks of the smallest size that is written",
                );
            }
        }
    }

    pub(super) fn flush(&mut self, job: &Job, lines: &mut Lines) {
        flush_options(&job.flush, &mut |name, value| lines.set(name, value));
        let order = job.flush.periodic.map(|periodic| periodic.order);
        if order == Some(FlushOrder::AfterWrite) && job.outstanding_per_thread > 1 {
            let help = "fio queues a flush behind the write without waiting for it";
            self.lost("fio-flush-order", &job.name, help);
        }
    }
}

/// A length as a job file writes it.
enum Length {
    Bytes(u64),
    Percent(f64),
}

impl Length {
    fn unless_zero(&self, option: &str, lines: &mut Lines) {
        match self {
            Self::Bytes(0) => {}
            Self::Bytes(bytes) => lines.set(option, bytes),
            Self::Percent(percent) => lines.set(option, format!("{percent}%")),
        }
    }
}

/// A name that survives in a section header: no comment signs, no control characters, not taken for defaults.
fn header_text(name: &str) -> String {
    let clean = |c: char| if c.is_control() || matches!(c, ';' | '#') { '_' } else { c };
    let text: String = name.trim().chars().map(clean).take(200).collect();
    if text.is_empty() || text.starts_with("global") { format!("job-{text}") } else { text }
}

/// A time as fio reads it: whole seconds where it is that, else microseconds.
fn time_text(time: Nanos) -> String {
    let us = time.0.div_ceil(1000);
    if us.is_multiple_of(1_000_000) { format!("{}", us / 1_000_000) } else { format!("{us}us") }
}

#[cfg(test)]
mod tests;
