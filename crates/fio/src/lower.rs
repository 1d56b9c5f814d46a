//! From a job file to the workload model: stages become phases, sections become jobs that run side by side.

mod access;
mod ends;
mod pace;
mod stride;
mod targets;
mod verify;

use std::collections::{BTreeMap, HashSet};

use assay_workload::content::{Content as ModelContent, Payload, Refresh};
use assay_workload::job::{
    Caching, EngineKind, EngineOptions, FlushCall, FlushOrder, FlushPolicy, Job, JobSeed, OpenSync,
    PeriodicFlush, Phase, Workload,
};
use assay_workload::pattern::{AccessPattern, Mix, Placement, Sequential};
use assay_workload::units::Nanos;

use assay_formats::{Diagnostic, Position};

use super::job_file::JobFile;
use super::report::{Report, WordPosition};
use super::reporting;
use super::resolve::{Given, resolve};
use super::resolved::*;
use super::section::JobSection;
use super::section::place;
use super::table::{self, EngineFate, Rule};
pub use targets::settle_offsets;
use targets::{Part, Targets};
pub use verify::settle_headers;

/// What to do where only fio has it.
const BY_FIO: &str = "fio itself does it: assay judge -- fio <job file>";

/// Turns a job file into a workload named `name`.
///
/// The workload is `None` exactly if a job cannot run here at all (its engine, or no file to work on); what does not
/// carry over is a loss at the line that asks for it.
pub fn lower(name: &str, file: &JobFile) -> (Option<Workload>, Vec<Diagnostic>) {
    let mut lowering = Lowering::of(file);
    let clones = file.resolved(true);
    let seed = lowering.seed(&clones);
    let phases = lowering.phases(&clones);
    lowering.unread();
    let workload = Workload {
        name: name.to_owned(),
        seed,
        hosts: Vec::new(),
        targets: lowering.targets.finish(),
        phases,
    };
    let workload = (!lowering.report.has_errors() && !workload.phases.is_empty()).then_some(workload);
    (workload, lowering.report.finish())
}

pub(super) struct Lowering<'a> {
    file: &'a JobFile,
    report: Report,
    /// Lines in [global] are remarked on once.
    said: HashSet<(&'static str, Position)>,
    targets: Targets,
    /// Targets that earlier phases write with headers.
    verified: HashSet<String>,
    /// The seed of the first job that asks for one; `None` within: another one in each run.
    first_seed: Option<Option<i64>>,
    /// By phase and job that were made so far: fio's number of the job's first clone.
    origins: Vec<Vec<u32>>,
}

/// Which clone each job stands for first, by phase of the workload that a file is lowered to, and job of it.
pub(super) fn origins(file: &JobFile) -> Vec<Vec<u32>> {
    let mut lowering = Lowering::of(file);
    lowering.phases(&file.resolved(false));
    lowering.origins
}

/// One clone of a job as its options describe it, for a result that was measured elsewhere: how it accesses, paces and
/// flushes, without files and without what would be needed to run it here.
pub(super) fn described(section: &JobSection) -> Job {
    let file = JobFile::empty();
    let mut lowering = Lowering::of(&file);
    let job = resolve(section, FileSet::Taken { name: String::new() }, false);
    let source = Source { section, job: &job };
    let mut model = blank(&section.name);
    for rule in [Rule::Access, Rule::Pace, Rule::Flush] {
        rule.lower(&mut lowering, source, &mut model);
    }
    model
}

/// A job that no rule has had a look at.
fn blank(name: &str) -> Job {
    Job::new(name, &[], AccessPattern::new(Mix::READ, 1, Placement::Sequential(Sequential::default())))
}

/// What the lowering of one section shares: the section for positions, its resolved first clone for everything else.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    section: &'a JobSection,
    job: &'a ResolvedJob,
}

impl<'a> Lowering<'a> {
    fn of(file: &'a JobFile) -> Self {
        let (report, said, targets) = (Report::default(), HashSet::new(), Targets::default());
        Lowering {
            file,
            report,
            said,
            targets,
            verified: HashSet::new(),
            first_seed: None,
            origins: Vec::new(),
        }
    }

    fn loss(&mut self, source: Source<'_>, id: &'static str, key: &str, what: impl Into<String>, help: &str) {
        let place = place(source.section, key);
        if self.said.insert((id, place.at.clone())) {
            self.report.loss(id, table::affects(key), &place, what, help);
        }
    }

    fn note(&mut self, source: Source<'_>, id: &'static str, key: &str, what: impl Into<String>, help: &str) {
        let place = place(source.section, key);
        if self.said.insert((id, place.at.clone())) {
            self.report.note(id, &place, what, help);
        }
    }

    fn error(
        &mut self,
        source: Source<'_>,
        id: &'static str,
        key: &str,
        what: impl Into<String>,
        help: &str,
    ) {
        self.report.error(id, &place(source.section, key), what, help);
    }

    /// What the table says to have an effect, and none of its rules has asked for. A default of one section may be that of
    /// others which do not need it; what nobody reads is lost at its line.
    fn unread(&mut self) {
        if self.report.has_errors() {
            return;
        }
        for section in &self.file.jobs {
            for (rule, setting) in section.settings.without_effect() {
                let place = WordPosition { at: setting.at.clone(), word: setting.text.clone() };
                if self.said.insert(("option-unread", place.at.clone())) {
                    let message = format!("`{}` does not change {} here", setting.text, rule.decides());
                    let name = setting.text.split('=').next().unwrap_or_default();
                    self.report.loss(
                        "option-unread",
                        table::affects(name.trim_start_matches('-')),
                        &place,
                        message,
                        "",
                    );
                }
            }
        }
    }

    /// Clones of each section, in order of clone number, keyed by stage, step of waiting and section.
    fn phases(&mut self, clones: &[ResolvedJob]) -> Vec<Phase> {
        let steps = self.steps(clones);
        let mut stages: BTreeMap<(u32, u32), BTreeMap<usize, Vec<&ResolvedJob>>> = BTreeMap::new();
        for clone in clones {
            let step = steps.get(&clone.section_index).copied().unwrap_or(0);
            let sections = stages.entry((clone.stage, step)).or_default();
            sections.entry(clone.section_index).or_default().push(clone);
        }
        let groups = group_names(clones);
        let mut phases = Vec::new();
        let count = stages.len();
        for (_, sections) in stages {
            let (mut jobs, mut read_back) = (Vec::new(), Vec::new());
            let mut all = Vec::new();
            self.origins.push(Vec::new());
            for (index, mut clones) in sections {
                clones.sort_by_key(|clone| clone.clone_number);
                let before = jobs.len();
                self.section(index, &clones, &groups, &mut jobs);
                read_back.extend(self.read_back(&clones, &jobs[before..]));
                all.append(&mut clones);
            }
            unique_names(&mut jobs);
            if !jobs.is_empty() {
                let times = self.loops_apart(&all, &mut jobs, &read_back);
                self.exit_all(&all, count, &mut jobs);
                let mut phase = Phase::measure(&phase_name(&jobs), jobs);
                // As fio, which starts the jobs behind a stonewall whatever became of those before it.
                phase.despite_failure = !phases.is_empty();
                self.latency_target(&all, &mut phase);
                self.verified.extend(verify::written(&phase));
                let behind = verify::phase(&mut phase, read_back);
                let origins = self.origins.last().cloned().unwrap_or_default();
                self.origins.extend((1..times).map(|_| origins.clone()));
                phases.extend(verify::each_loop(&phase, behind.as_ref(), times));
            } else {
                self.origins.pop();
            }
        }
        phases
    }

    /// How many jobs of its stage a section waits for, one after the other. A later step is a later phase.
    fn steps(&mut self, clones: &[ResolvedJob]) -> BTreeMap<usize, u32> {
        let mut steps: BTreeMap<usize, u32> = BTreeMap::new();
        let mut by_name: BTreeMap<(u32, &str), u32> = BTreeMap::new();
        let mut members: BTreeMap<(u32, u32), HashSet<usize>> = BTreeMap::new();
        for clone in clones.iter().filter(|clone| clone.clone_number == 0) {
            let awaited = clone.wait_for.as_deref().and_then(|name| by_name.get(&(clone.stage, name)));
            let step = awaited.map_or(0, |step| step + 1);
            steps.insert(clone.section_index, step);
            by_name.insert((clone.stage, &clone.name), step);
            members.entry((clone.stage, step)).or_default().insert(clone.section_index);
        }
        for clone in clones.iter().filter(|clone| clone.clone_number == 0) {
            let step = steps.get(&clone.section_index).copied().unwrap_or(0);
            let beside = step.checked_sub(1).and_then(|before| members.get(&(clone.stage, before)));
            if beside.is_some_and(|beside| beside.len() > 1) {
                let source = Source { section: &self.file.jobs[clone.section_index], job: clone };
                let message = "it waits for every job that starts with the one it names";
                self.loss(source, "wait-for-all", "wait_for", message, "stonewall says the same in the file");
            }
        }
        steps
    }

    /// Lowers one section with its clones to one job, or to one per clone where threads cannot stand for them, or where each is
    /// to be reported by itself.
    fn section(
        &mut self,
        index: usize,
        clones: &[&ResolvedJob],
        groups: &BTreeMap<u32, String>,
        jobs: &mut Vec<Job>,
    ) {
        let Some(first) = clones.first() else { return };
        let source = Source { section: &self.file.jobs[index], job: first };
        let Some(template) = self.template(source) else { return };
        // Each clone has logs of its own, also where the report has them together.
        let logged = reporting::logs(Given::look(&first.settings), "").is_any();
        let single = logged || !first.group_reporting;
        let apart = self.file.apart && single && first.latency_target().is_none();
        for Part { clones, targets, sharing, fixed_offset } in
            self.parts(source, clones, template.engine, apart)
        {
            self.origins.last_mut().into_iter().for_each(|jobs| jobs.push(clones[0].thread_number));
            let mut job = template.clone();
            job.threads = u32::try_from(clones.len()).unwrap_or(u32::MAX);
            job.seed = self.own_seed(source);
            (job.targets, job.sharing) = (targets, sharing);
            if let Some(offset) = fixed_offset {
                job.offset = offset;
                job.offset_increment = assay_workload::target::Extent::Bytes(0);
                job.name = format!("{}.{}", job.name, clones[0].clone_number);
                job.group = (!apart).then(|| first.name.clone());
            }
            if first.group_reporting {
                job.group = groups.get(&first.group).cloned();
            }
            self.scale_rate(source, &mut job);
            self.foreign_headers(source, &mut job);
            jobs.push(job);
        }
    }

    /// Everything but the targets and the number of threads. `None`: its engine does not run here.
    fn template(&mut self, source: Source<'_>) -> Option<Job> {
        let mut job = blank(&source.job.name);
        job.engine = self.native_engine(source)?;
        for rule in Rule::ALL {
            rule.lower(self, source, &mut job);
        }
        if job.by_name().is_some() {
            self.by_name(source, &mut job);
        }
        Some(job)
    }

    fn native_engine(&mut self, source: Source<'_>) -> Option<EngineKind> {
        let name = source.job.engine();
        let native = match source.section.settings.engine().map(|engine| engine.fate) {
            Some(EngineFate::Native(native) | EngineFate::Nearest(native, _)) => {
                EngineKind::from_name(native)
            }
            _ => None,
        };
        if native.is_none() {
            let message = format!("[{}]: the engine {name} does not run here", source.section.name);
            let help = "name another ioengine, or run it by fio itself: assay judge -- fio <job file>";
            self.error(source, "engine-not-runnable", "ioengine", message, help);
        }
        native
    }

    /// What a job that works on names has nothing to do with: there is no data, and nothing is open.
    fn by_name(&mut self, source: Source<'_>, job: &mut Job) {
        if job.flush != FlushPolicy::default() {
            let durability = source.job.durability();
            let option = match () {
                () if durability.fsync_every > 0 => "fsync",
                () if durability.fdatasync_every > 0 => "fdatasync",
                () if durability.end_fsync => "end_fsync",
                () if durability.fsync_on_close => "fsync_on_close",
                () => "sync",
            };
            let message = "nothing is flushed where names are made, looked at or removed";
            self.loss(source, "flush-of-names", option, message, "a job that writes to the files");
            job.flush = FlushPolicy::default();
        }
        (job.caching, job.invalidate, job.access_hint) = (Caching::Buffered, false, false);
    }

    pub(super) fn engine(&mut self, source: Source<'_>, job: &mut Job) {
        let durability = source.job.durability();
        job.outstanding_per_thread = source.job.depth().effective;
        self.offload(source);
        job.engine_options = self.engine_options(source);
        job.file_operation = source.job.file_operation();
        job.caching = if durability.direct { Caching::Direct } else { Caching::Buffered };
        job.invalidate = durability.invalidate;
        // Where I/O is direct nothing is read ahead.
        job.access_hint = !durability.direct && durability.access_hint;
    }

    /// `io_submit_mode=offload`: who submits changes nothing of what is outstanding, unless the engine blocks.
    fn offload(&mut self, source: Source<'_>) {
        let depth = source.job.depth();
        if !depth.offload {
            return;
        }
        if depth.effective < depth.asked {
            let message =
                "one I/O is outstanding, whatever iodepth says; fio hands each to a thread of its own";
            self.loss(source, "offload-depth", "io_submit_mode", message, "ioengine=posixaio");
        } else {
            let message = "the thread of the job submits by itself; arrivals of a rate are kept in any case";
            self.note(source, "offload", "io_submit_mode", message, "");
        }
    }

    pub(super) fn errors(&mut self, source: Source<'_>) -> u64 {
        match source.job.errors() {
            // Wrong blocks are counted apart, see `lower::verify`.
            "none" | "verify" => return 0,
            "all" | "io" => {}
            some => {
                let message = format!("errors of every kind are tolerated, not of {some} alone");
                let help = "continue_on_error=all";
                self.loss(source, "errors-of-one-kind", "continue_on_error", message, help);
            }
        }
        u64::MAX
    }

    fn engine_options(&mut self, source: Source<'_>) -> EngineOptions {
        let set = |name: &str| source.job.engine_flag(name);
        let given = |name: &str| source.section.settings.get(name).is_some();
        let depth = source.job.depth();
        if given("iodepth_batch_complete_max") && depth.batch_complete_max < depth.asked {
            let message = "as many completions are taken at once as there are";
            self.loss(source, "completion-batch-max", "iodepth_batch_complete_max", message, "");
        }
        if given("iodepth_low") && depth.low != depth.effective {
            let message = "the queue is refilled at once, not drained to iodepth_low first";
            self.loss(source, "iodepth-low", "iodepth_low", message, "iodepth_batch_complete_min=<n>");
        }
        let iopoll = set("hipri") && source.job.engine() == "io_uring";
        EngineOptions {
            iopoll,
            sqpoll: set("sqthread_poll"),
            submit_batch_max: if given("iodepth_batch") { depth.batch_submit } else { 0 },
            reap_batch_min: if given("iodepth_batch_complete_min") { depth.batch_complete_min } else { 0 },
            ..EngineOptions::default()
        }
    }

    pub(super) fn flush(&mut self, source: Source<'_>) -> FlushPolicy {
        let durability = source.job.durability();
        let periodic = |call, every: u64| PeriodicFlush {
            call,
            every_writes: u32::try_from(every).unwrap_or(u32::MAX),
            order: FlushOrder::Queued,
        };
        if durability.fsync_every > 0 && durability.fdatasync_every > 0 {
            let message = "fsync is called and fdatasync is not, where both are asked for";
            self.loss(source, "two-flushes", "fdatasync", message, "keep one");
        }
        let mixed = source.job.access().direction == Direction::ReadWrite;
        let calls = [("fsync", durability.fsync_every), ("fdatasync", durability.fdatasync_every)];
        for (option, every) in calls.into_iter().filter(|(_, every)| mixed && *every > 0) {
            let message = format!(
                "flushed once after every {every} writes; fio 3.33 flushes again after each read that follows, until the next write"
            );
            self.note(source, "flush-in-mix", option, message, "");
        }
        if durability.fsync_on_close && !durability.end_fsync {
            let message = "files are synced once at the end of the job, inside its time";
            self.note(source, "fsync-on-close", "fsync_on_close", message, "");
        }
        FlushPolicy {
            open: match durability.open_sync {
                "sync" => OpenSync::Sync,
                "dsync" => OpenSync::Dsync,
                _ => OpenSync::None,
            },
            periodic: match (durability.fsync_every, durability.fdatasync_every) {
                (0, 0) => None,
                (0, every) => Some(periodic(FlushCall::Fdatasync, every)),
                (every, _) => Some(periodic(FlushCall::Fsync, every)),
            },
            at_end: durability.end_fsync || durability.fsync_on_close,
        }
    }

    pub(super) fn content(&mut self, source: Source<'_>) -> ModelContent {
        let content = source.job.content();
        if content.pattern.as_ref().is_some_and(|pattern| !pattern.offset_at.is_empty()) {
            let message = "%o stays zero in the pattern";
            self.loss(source, "pattern-offset", "buffer_pattern", message, "");
        }
        // What is checked holds its own pattern.
        let verified = source.job.verify().pattern;
        let pattern = verified.as_ref().or(content.pattern.as_ref()).map(|pattern| pattern.bytes.clone());
        let payload = match pattern {
            _ if content.zero && verified.is_none() => Payload::Zero,
            Some(bytes) => Payload::Pattern(bytes),
            None => Payload::Random,
        };
        let refresh = match () {
            () if content.refill => Refresh::EveryWrite,
            () if content.scramble => Refresh::Stamp,
            () => Refresh::Never,
        };
        // A share of p per cent that can go leaves 1 - p: a ratio of 100 / (100 - p).
        let ratio = |percent: u8| 100.0 / f64::from(100 - percent.min(99));
        ModelContent {
            payload,
            refresh,
            compression_ratio: if content.zero { 1.0 } else { ratio(content.compress_percent) },
            dedup_ratio: ratio(content.dedupe_percent),
            // Measured with fio 3.33: what repeats are whole blocks of the smallest size that is written.
            dedup_unit_bytes: match content.dedupe_percent {
                0 => ModelContent::default().dedup_unit_bytes,
                _ => source.job.access().sizes[1].min_bytes().max(512),
            },
            verify: false,
            written: false,
            reread: false,
            pattern_blocks: None,
            written_beside_reads_percent: None,
            data_errors_max: None,
            journal: None,
        }
    }

    /// The seed of the run, where anything is drawn or a seed is given: that of the first job. In fio each job has its own; unless the
    /// file says otherwise it is the same number for all of them, in every run.
    fn seed(&mut self, clones: &[ResolvedJob]) -> Option<u64> {
        let of_file = |job: &ResolvedJob| &self.file.jobs[job.section_index];
        let is_given = |job: &ResolvedJob| of_file(job).settings.get("randseed").is_some();
        let mut asking = clones.iter().filter(|job| job.clone_number == 0 && (draws(job) || is_given(job)));
        let first = asking.next()?;
        self.first_seed = Some(first.access().seed);
        if is_given(first) {
            let message = "the seed repeats this run, but its offsets are not those of fio";
            self.report.note("seed-of-another-generator", &place(of_file(first), "randseed"), message, "");
        }
        first.access().seed.map(i64::unsigned_abs)
    }

    /// The seed of a job where it is not that of the run.
    fn own_seed(&self, source: Source<'_>) -> Option<JobSeed> {
        let asks = draws(source.job) || source.section.settings.get("randseed").is_some();
        let seed = source.job.access().seed;
        self.first_seed.filter(|first| asks && *first != seed)?;
        Some(seed.map_or(JobSeed::Fresh, |seed| JobSeed::Given(seed.unsigned_abs())))
    }
}

/// Whether a job draws anything.
fn draws(job: &ResolvedJob) -> bool {
    job.access().random || job.access().direction == Direction::ReadWrite
}

/// The name of a reporting group: that of its first job.
fn group_names(clones: &[ResolvedJob]) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for clone in clones {
        names.entry(clone.group).or_insert_with(|| clone.name.clone());
    }
    names
}

/// Jobs of one phase are told apart by name.
fn unique_names(jobs: &mut [Job]) {
    let mut seen: HashSet<String> = HashSet::new();
    for job in jobs {
        let base = if job.name.is_empty() { "job".to_owned() } else { job.name.clone() };
        let mut name = base.clone();
        let mut number = 2;
        while !seen.insert(name.clone()) {
            name = format!("{base}-{number}");
            number += 1;
        }
        job.name = name;
    }
}

fn phase_name(jobs: &[Job]) -> String {
    /// More names than this do not help.
    const NAMES_MAX: usize = 3;
    let names: Vec<&str> = jobs.iter().take(NAMES_MAX).map(|job| job.name.as_str()).collect();
    let more = jobs.len().saturating_sub(NAMES_MAX);
    let rest = if more > 0 { format!("+{more} more") } else { String::new() };
    format!("{}{rest}", names.join("+"))
}

#[cfg(test)]
mod tests;

/// Microseconds as the model counts time.
fn nanos(us: u64) -> Nanos {
    Nanos(us.saturating_mul(1000))
}
