//! Which data is checked: what fio reads back is a phase behind that of the writes, or read back right behind each write.

use std::collections::HashSet;

use assay_formats::{Diagnostic, Severity};
use assay_workload::Workload;
use assay_workload::block::SECTOR_BYTES;
use assay_workload::job::{Caching, FileLayout, FlushPolicy, Job, Limits, Phase, PhaseKind, Rate};
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::target::Extent;
use assay_workload::units::Nanos;

use super::super::reporting;
use super::super::resolved::{Direction, ResolvedJob, Verify};
use super::{BY_FIO, Lowering, Source};

/// More loops are not read back behind each: every one is two phases.
const LOOPS_READ_BACK_MAX: u32 = 32;

/// The id of the loss that data of an earlier run may not be verifiable.
const FOREIGN_HEADERS: &str = "verify-foreign-headers";

impl Lowering<'_> {
    /// Whether and how the data of a job is checked.
    pub(crate) fn verify(&mut self, source: Source<'_>, job: &mut Job) {
        let verify = source.job.verify();
        let Some(method) = verify.method else {
            // One at a time never overlaps.
            if verify.serialized && source.job.depth().effective > 1 {
                let message = "overlapping I/Os in flight are not held back";
                self.loss(source, "overlap", "serialize_overlap", message, "iodepth=1");
            }
            if verify.only {
                let message = "without verify= nothing is checked: fio does nothing, and here the job runs as it stands";
                self.loss(source, "verify-only", "verify_only", message, "verify=crc32c");
            }
            return;
        };
        let option =
            if source.section.settings.get("verify").is_some() { "verify" } else { "verify_pattern" };
        let align = job.pattern.align();
        if !align.is_multiple_of(SECTOR_BYTES as u64) {
            let message = format!(
                "no data is checked: blocks begin at multiples of {align} bytes, not of whole sectors"
            );
            return self.loss(source, "verify-sectors", option, message, "bs= a multiple of 512");
        }
        self.method(source, method, &verify);
        job.content.verify = true;
        job.content.data_errors_max = match source.job.errors() {
            _ if verify.fatal => Some(1),
            "verify" => Some(u64::MAX),
            "io" | "read" | "write" => Some(1),
            _ => None,
        };
        if verify.only && job.may_write() {
            self.check_only(source, job);
        } else if verify.backlog > 0 && writes(job) {
            job.content.reread = true;
            let message = "each block is read back right behind its write, in the slot of the write";
            self.note(source, "verify-backlog", "verify_backlog", message, "");
            if source.job.lifetime().number_ios > 0 {
                let message =
                    "number_ios= counts the writes; fio counts what it reads back of a backlog as well";
                self.note(source, "verify-backlog-ios", "number_ios", message, "");
            }
        }
    }

    fn method(&mut self, source: Source<'_>, method: &str, verify: &Verify) {
        let offsets = verify.pattern.as_ref().is_some_and(|pattern| !pattern.offset_at.is_empty());
        if offsets {
            let message = "%o stays zero in the pattern";
            self.loss(source, "pattern-offset", "verify_pattern", message, "");
        }
        match method {
            "pattern" => {
                let message = "40 bytes of each sector of 512 are a header instead of the pattern";
                self.loss(source, "verify-pattern", "verify", message, "verify=pattern_hdr, or fio itself");
            }
            method => {
                let option =
                    if source.section.settings.get("verify").is_some() { "verify" } else { "verify_pattern" };
                let message = format!(
                    "each sector of 512 bytes has a header with CRC-32C, place, generation and run instead of fio's with {method}"
                );
                self.note(source, "verify-header", option, message, "");
            }
        }
    }

    /// Reads what it would have written.
    fn check_only(&mut self, source: Source<'_>, job: &mut Job) {
        job.pattern.mix = Mix::READ;
        job.pattern.read_sizes = job.pattern.write_sizes.clone();
        let message = "nothing is written; each block that Assay wrote is checked by itself (checksum and place), and whether it is of the last write is not known; what fio wrote with its own headers is not verifiable";
        self.loss(source, "verify-only", "verify_only", message, BY_FIO);
    }

    /// A job that only reads checks what is there: fio's own headers say nothing here.
    pub(super) fn foreign_headers(&mut self, source: Source<'_>, job: &mut Job) {
        let reads = source.job.access().direction == Direction::Read;
        if !reads || !job.content.verify || job.targets.iter().all(|target| self.verified.contains(target)) {
            return;
        }
        // As for fio. A pattern that fio wrote has no header to be told by.
        job.content.written = has_headers(&source.job.verify());
        let message = "blocks that Assay wrote are checked; those that fio wrote with its own headers are not verifiable, and the result says how many they are";
        self.loss(source, FOREIGN_HEADERS, "verify", message, "write them with verify= in the same file");
    }

    /// The jobs that read back what those of a section wrote.
    pub(super) fn read_back(&mut self, clones: &[&ResolvedJob], jobs: &[Job]) -> Vec<Job> {
        let Some(first) = clones.first() else { return Vec::new() };
        let verify = first.verify();
        let checked = || jobs.iter().filter(|job| job.content.verify && writes(job));
        if !verify.read_back || verify.backlog > 0 || checked().next().is_none() {
            return Vec::new();
        }
        let file = self.file;
        let source = Source { section: &file.jobs[first.section_index], job: first };
        if first.lifetime().runtime_us > 0 {
            let message = "everything that was written is read back when the runtime is over; fio leaves out what it has not read back by then";
            self.note(source, "verify-beyond-runtime", "runtime", message, "");
        }
        checked().map(reading).collect()
    }

    /// How often a stage is carried out because fio reads back behind each of its loops; what its jobs do is one loop then.
    /// Where that cannot be, once, with a loss.
    pub(super) fn loops_apart(
        &mut self,
        clones: &[&ResolvedJob],
        jobs: &mut [Job],
        read_back: &[Job],
    ) -> usize {
        let Some(looped) = clones.iter().find(|clone| clone.lifetime().loops > 1) else { return 1 };
        if read_back.is_empty() {
            return 1;
        }
        let loops = looped.lifetime().loops;
        let passes = u32::try_from(loops).ok().filter(|loops| *loops <= LOOPS_READ_BACK_MAX);
        let one_by_one =
            |job: &Job| job.limits == Limits { passes, ..Limits::default() } && !job.remove_files;
        let logged = |clone: &&ResolvedJob| reporting::logs(clone.given(), "").is_any();
        let apart = passes.is_some()
            && read_back.len() == jobs.len()
            && jobs.iter().all(one_by_one)
            && !clones.iter().any(logged);
        if apart {
            jobs.iter_mut().for_each(|job| job.limits.passes = Some(1));
            return usize::try_from(loops).unwrap_or(1);
        }
        let source = Source { section: &self.file.jobs[looped.section_index], job: looped };
        let message = format!(
            "what was written is read back once, behind the last pass; fio reads it back behind each (done here where a stage has at most {LOOPS_READ_BACK_MAX} loops of the same number that end by size, without logs)"
        );
        self.loss(source, "verify-loops", "loops", message, "loops=1 and --repeat");
        1
    }
}

/// A phase and the one that reads back behind it, once for each loop.
pub(super) fn each_loop(phase: &Phase, behind: Option<&Phase>, times: usize) -> Vec<Phase> {
    let once = || std::iter::once(phase).chain(behind);
    let named = |phase: &Phase, number: usize| match number {
        1 => phase.clone(),
        _ => Phase { name: format!("{} loop {number}", phase.name), ..phase.clone() },
    };
    (1..=times).flat_map(|number| once().map(move |phase| named(phase, number))).collect()
}

/// Takes back that data of an earlier run may not be verifiable where all that is checked begins with what Assay wrote.
/// `begins` says so of a path and a place in it.
pub fn settle_headers(
    workload: &Workload,
    diagnostics: &mut [Diagnostic],
    begins: &dyn Fn(&str, u64) -> bool,
) {
    let Some(lost) = diagnostics.iter_mut().find(|one| one.id == FOREIGN_HEADERS) else { return };
    let path =
        |name: &String| workload.targets.iter().find(|target| target.name == *name).map(|one| &one.path);
    let mut written = HashSet::new();
    for phase in &workload.phases {
        let reading = phase.jobs.iter().filter(|job| job.content.verify && !writes(job));
        for job in reading.filter(|_| phase.kind != PhaseKind::Verify) {
            let Extent::Bytes(offset) = job.offset else { return };
            let earlier = |name: &&String| !written.contains(*name);
            let mut paths = job.targets.iter().filter(earlier).filter_map(path);
            if !paths.all(|path| begins(path, offset)) {
                return;
            }
        }
        written.extend(self::written(phase));
    }
    (lost.severity, lost.affects) = (Severity::Note, None);
    lost.message =
        "blocks that Assay wrote in an earlier run are checked by themselves: checksum, place and target"
            .to_owned();
    lost.help.clear();
}

/// Whether fio's blocks of this method begin with a header.
fn has_headers(verify: &Verify) -> bool {
    verify.method.is_some_and(|method| !matches!(method, "pattern" | "null"))
}

fn writes(job: &Job) -> bool {
    job.pattern.kinds().any(|kind| kind == OpKind::Write)
}

/// The job that reads back what `job` wrote, in the order of offsets.
fn reading(job: &Job) -> Job {
    let block_bytes = job.pattern.write_sizes.max_bytes();
    job.clone().with(|job| {
        job.pattern = AccessPattern::new(Mix::READ, block_bytes, Placement::sequential());
        job.limits = Limits { passes: Some(1), ..Limits::default() };
        job.rate = Rate::Unlimited;
        (job.think_time, job.ramp, job.start_delay) = (None, Nanos(0), Nanos(0));
        (job.flush, job.layout) = (FlushPolicy::default(), FileLayout::AsNeeded);
        // As fio, which drops cached pages between writing and reading back.
        job.invalidate = true;
    })
}

/// The phase of these jobs, behind the one that writes: fio makes what was written durable before it reads it back.
pub(super) fn phase(before: &mut Phase, mut jobs: Vec<Job>) -> Option<Phase> {
    if jobs.is_empty() {
        return None;
    }
    before.drain_after = jobs.iter().any(|job| job.caching != Caching::Direct);
    super::unique_names(&mut jobs);
    let name = format!("{} verify", before.name);
    Some(Phase { kind: PhaseKind::Verify, ..Phase::measure(&name, jobs) })
}

/// The targets that a phase writes with headers.
pub(super) fn written(phase: &Phase) -> HashSet<String> {
    let writing = phase.jobs.iter().filter(|job| job.content.verify && writes(job));
    writing.flat_map(|job| &job.targets).cloned().collect()
}
