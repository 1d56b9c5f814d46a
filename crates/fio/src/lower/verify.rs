//! Which data is checked: what fio reads back is a phase behind that of the writes, or read back right behind each write.

use std::collections::HashSet;

use assay_formats::{Diagnostic, Severity};
use assay_workload::Workload;
use assay_workload::block::SECTOR_BYTES;
use assay_workload::content::{PatternBlocks, Refresh};
use assay_workload::job::{Caching, FileLayout, FlushPolicy, Job, Limits, Phase, PhaseKind, Rate};
use assay_workload::pattern::{AccessPattern, BlockSizes, Mix, OpKind, Placement};
use assay_workload::target::Extent;
use assay_workload::units::Nanos;

use super::super::reporting;
use super::super::resolved::{Direction, ResolvedJob, Verify, ZoneMode};
use super::access::has_map;
use super::targets::per_file;
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
        self.method(source, method, &verify, job);
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

    /// What verified blocks hold.
    fn method(&mut self, source: Source<'_>, method: &str, verify: &Verify, job: &mut Job) {
        let option =
            if source.section.settings.get("verify").is_some() { "verify" } else { "verify_pattern" };
        let bare = method == "pattern";
        let Some(pattern) = &verify.pattern else {
            if bare {
                let message = "without verify_pattern there is nothing to compare with: blocks have headers instead, which are checked";
                return self.loss(source, "verify-pattern", option, message, "verify_pattern=<bytes>");
            }
            return self.own_header(source, option, method);
        };
        let blocks = PatternBlocks {
            headers: !bare,
            offset_at: pattern.offset_at.iter().filter_map(|at| u32::try_from(*at).ok()).collect(),
            restart_bytes: verify.pattern_interval,
        };
        if !bare {
            self.own_header(source, option, method);
        } else if !is_placed_alike(job, pattern.bytes.len() as u64, &blocks) {
            let message = "the pattern begins anew with each block, and blocks differ in size or overlap: where it begins in what is read is not known, so that blocks have headers instead";
            let help = "one block size, or a pattern that repeats within bs";
            return self.loss(source, "verify-pattern", option, message, help);
        }
        if bare || !blocks.offset_at.is_empty() || blocks.restart_bytes > 0 {
            job.content.pattern_blocks = Some(blocks);
            // Blocks are filled as their places are known.
            job.content.refresh = Refresh::Never;
        }
    }

    fn own_header(&mut self, source: Source<'_>, option: &str, method: &str) {
        let message = format!(
            "each sector of 512 bytes has a header with CRC-32C, place, generation and run instead of fio's with {method}"
        );
        self.note(source, "verify-header", option, message, "");
    }

    /// Reads what it would have written.
    fn check_only(&mut self, source: Source<'_>, job: &mut Job) {
        let reads = job.pattern.mix.share(OpKind::Read);
        if reads > 0.0 && job.pattern.read_sizes != job.pattern.write_sizes {
            let message = "reads and writes have other sizes: which blocks were written is not known, and all of them are read";
            self.loss(source, "verify-only", "verify_only", message, BY_FIO);
        } else if reads > 0.0 {
            job.content.written_beside_reads_percent = Some(100.0 * reads);
        } else {
            read_once(source.job, &mut job.limits);
        }
        job.pattern.mix = Mix::READ;
        job.pattern.read_sizes = job.pattern.write_sizes.clone();
        job.trim_first = false;
        (job.flush, job.rate) = (FlushPolicy::default(), Rate::Unlimited);
        let message = "nothing is written: what an earlier run wrote is read and checked";
        self.note(source, "verify-only", "verify_only", message, "");
    }

    /// A job that only reads checks what is there: fio's own headers say nothing here.
    pub(super) fn foreign_headers(&mut self, source: Source<'_>, job: &mut Job) {
        let verify = source.job.verify();
        let reads = source.job.access().direction == Direction::Read || verify.only;
        if !reads || !job.content.verify {
            return;
        }
        // As for fio: everything that is read was written.
        job.content.written = verify.method != Some("null");
        let bare = job.content.pattern_blocks.as_ref().is_some_and(|blocks| !blocks.headers);
        if bare || job.targets.iter().all(|target| self.verified.contains(target)) {
            return;
        }
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

/// What was written several times is read once, where a pass meets each block once.
fn read_once(job: &ResolvedJob, limits: &mut Limits) {
    let whole = matches!(job.region().zones, ZoneMode::Whole);
    let pass = per_file(job).map(|bytes| bytes.saturating_mul(job.files.len()));
    let (Some(pass), true) = (pass, whole && (!job.access().random || has_map(job.access()))) else { return };
    if limits.bytes.is_some_and(|bytes| bytes > pass) {
        (limits.bytes, limits.passes) = (None, Some(1));
    }
    limits.passes = limits.passes.map(|passes| passes.min(1));
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

/// Takes back that data of an earlier run may not be verifiable where none of what is checked begins with a header of fio.
/// `foreign` says so of a path and a place in it.
pub fn settle_headers(
    workload: &Workload,
    diagnostics: &mut [Diagnostic],
    foreign: &dyn Fn(&str, u64) -> bool,
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
            if paths.any(|path| foreign(path, offset)) {
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

/// Whether what is read of a pattern begins where a block does, or the pattern looks the same wherever a block may begin.
fn is_placed_alike(job: &Job, pattern_bytes: u64, blocks: &PatternBlocks) -> bool {
    let align = job.pattern.align();
    let sizes = [OpKind::Read, OpKind::Write].into_iter().filter(|kind| job.pattern.mix.share(*kind) > 0.0);
    let whole = |kind| *job.pattern.sizes(kind) == BlockSizes::Fixed(align);
    let repeats = |length: u64| length > 0 && align.is_multiple_of(length);
    sizes.clone().all(whole)
        || (blocks.offset_at.is_empty() && (repeats(pattern_bytes) || repeats(blocks.restart_bytes)))
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
