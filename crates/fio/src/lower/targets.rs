//! Files and devices, their sizes, and how clones share them.

use std::collections::BTreeMap;

use assay_workload::Workload;
use assay_workload::job::{EngineKind, Job, Strides, TargetSharing};
use assay_workload::target::{Extent, Target, TargetKind};
use assay_workload::units::Bytes;

use super::super::resolved::*;
use super::super::value::Size;
use super::{BY_FIO, Lowering, Source};

/// The model's limit on targets of one workload.
const TARGETS_MAX: usize = 65_535;
/// The largest block: what a call moves is told as a signed number of 32 bits.
const BLOCK_BYTES_MAX: u64 = u32::MAX as u64 / 2;
/// Pairs of job and target in one workload.
const PAIRS_MAX: u64 = 2_000_000;

/// Targets of a workload as they are met.
#[derive(Default)]
pub(super) struct Targets {
    list: Vec<Target>,
    /// Path and whether it is the null engine's, to the index.
    known: BTreeMap<(String, bool), usize>,
    pairs: u64,
}

impl Targets {
    pub(super) fn finish(&mut self) -> Vec<Target> {
        std::mem::take(&mut self.list)
    }

    /// The name of the target with this path; its size grows to what is asked.
    fn add(&mut self, path: &str, null: bool, size: Option<u64>) -> Option<String> {
        let key = (path.to_owned(), null);
        let index = match self.known.get(&key) {
            Some(index) => *index,
            None => {
                if self.list.len() == TARGETS_MAX {
                    return None;
                }
                let name = if null { format!("null:{path}") } else { path.to_owned() };
                let kind = null.then_some(TargetKind::Null);
                self.list.push(Target { name, path: path.to_owned(), kind, size: None });
                self.known.insert(key, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        let target = &mut self.list[index];
        target.size = target.size.max(size.map(Bytes));
        Some(target.name.clone())
    }
}

/// Clones that one model job stands for.
pub(super) struct Part<'a> {
    pub(super) clones: Vec<&'a ResolvedJob>,
    pub(super) targets: Vec<String>,
    pub(super) sharing: TargetSharing,
    /// Set where the clone stands alone, with its own start.
    pub(super) fixed_offset: Option<Extent>,
}

/// Whether a path can only be a device, whose size is its own.
pub(super) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
}

impl Lowering<'_> {
    /// Cuts the clones of a section into jobs of the model: as few as can be, or with `apart` one for each.
    pub(super) fn parts<'c>(
        &mut self,
        source: Source<'_>,
        clones: &[&'c ResolvedJob],
        engine: EngineKind,
        apart: bool,
    ) -> Vec<Part<'c>> {
        let null = engine == EngineKind::Null;
        let busy: Vec<&ResolvedJob> =
            clones.iter().copied().filter(|clone| !clone.files.is_empty()).collect();
        if busy.is_empty() {
            let message = format!("[{}] has no file to work on", source.section.name);
            self.error(source, "no-file", "filename", message, "filename=<path>");
            return Vec::new();
        }
        let named = matches!(source.job.files, FileSet::Named(_));
        let single = busy.iter().all(|clone| clone.files.len() == 1);
        let stepped = source.job.region().offset_increment != Size::Bytes(0);
        let complete = busy.len() == clones.len();
        if busy.len() == 1 || !apart && (named || (single && (complete || !stepped))) {
            let sharing =
                if named || busy.len() == 1 { TargetSharing::Shared } else { TargetSharing::PerThread };
            let first = if named { &busy[..1] } else { &busy[..] };
            let Some(targets) = self.names(source, first, busy.len(), null) else { return Vec::new() };
            return vec![Part { clones: busy, targets, sharing, fixed_offset: None }];
        }
        let mut parts = Vec::new();
        for clone in busy {
            let Some(targets) = self.names(source, &[clone], clones.len(), null) else { return parts };
            let fixed_offset = Some(self.offset_of(source, clone));
            parts.push(Part { clones: vec![clone], targets, sharing: TargetSharing::Shared, fixed_offset });
        }
        parts
    }

    /// Adds the files of these clones and returns the targets' names in order.
    fn names(
        &mut self,
        source: Source<'_>,
        clones: &[&ResolvedJob],
        threads: usize,
        null: bool,
    ) -> Option<Vec<String>> {
        let count = clones.iter().map(|clone| clone.files.len()).fold(0, u64::saturating_add);
        self.targets.pairs = self.targets.pairs.saturating_add(count);
        if count > TARGETS_MAX as u64 || self.targets.pairs > PAIRS_MAX {
            let message =
                format!("more than {TARGETS_MAX} files in a job, or {PAIRS_MAX} in all jobs together");
            self.error(source, "too-many-targets", "nrfiles", message, "");
            return None;
        }
        let creates = source.job.given().flag("allow_file_create", true);
        let mut names = Vec::new();
        for clone in clones {
            for index in 0..clone.files.len() {
                let path = clone.files.name(index).unwrap_or_default();
                if source.job.region().named_bytes.is_some() && is_device(&path) {
                    let message =
                        format!("{path} is no file: names of files are made, looked at and removed here");
                    self.error(source, "device-by-name", "filename", message, "filename=<path of a file>");
                    return None;
                }
                if path == "-" {
                    let message = "standard input and output are no targets";
                    self.error(source, "standard-input", "filename", message, "filename=<path>");
                    return None;
                }
                let as_is = !null && (is_device(&path) || !creates);
                let size = if as_is { None } else { needed(source.job, threads as u64) };
                let Some(name) = self.targets.add(&path, null, size) else {
                    let message = format!("more than {TARGETS_MAX} files");
                    self.error(source, "too-many-targets", "nrfiles", message, "");
                    return None;
                };
                names.push(name);
            }
        }
        Some(names)
    }

    fn offset_of(&mut self, source: Source<'_>, clone: &ResolvedJob) -> Extent {
        let number = u64::from(clone.clone_number);
        match (clone.region().offset, clone.region().offset_increment) {
            (offset, Size::Bytes(0)) => extent(offset),
            (Size::Bytes(offset), Size::Bytes(step)) => {
                Extent::Bytes(offset.saturating_add(step.saturating_mul(number)))
            }
            (Size::Percent(offset), Size::Percent(step)) => {
                Extent::Percent((f64::from(offset) + f64::from(step) * number as f64).min(100.0))
            }
            (Size::Bytes(0), Size::Percent(step)) => {
                Extent::Percent((f64::from(step) * number as f64).min(100.0))
            }
            (offset, _) => {
                let message =
                    "an offset in bytes and a step in per cent do not add up here; the step is left out"
                        .to_owned();
                self.loss(source, "offset-units", "offset_increment", message, "give both in bytes");
                extent(offset)
            }
        }
    }

    /// Every file has to hold a block: on smaller ones fio does nothing and says nothing.
    fn room(&mut self, source: Source<'_>) {
        let room = source.job.region().named_bytes.or_else(|| per_file(source.job));
        let block = source.job.access().max_bytes();
        if block > BLOCK_BYTES_MAX {
            let message = format!("a block of {block} bytes; {BLOCK_BYTES_MAX} are possible");
            return self.error(source, "block-too-large", "bs", message, "bs=1g");
        }
        if let Some(room) = room.filter(|room| *room < block) {
            let message =
                format!("each file has {room} bytes to work on, less than the largest block of {block}");
            let option = if source.job.region().size.is_some() { "size" } else { "filesize" };
            let help = "fewer nrfiles, a larger size or smaller blocks";
            self.error(source, "file-below-block", option, message, help);
        }
    }

    /// `zonemode`: zones of the file from the offset to its end, one after the other.
    fn zoned(&mut self, source: Source<'_>, job: &mut Job) {
        let (zone, turn, skip) = match source.job.region().zones {
            ZoneMode::Whole => return,
            ZoneMode::Strided { zone, turn, skip } => (zone, turn, skip),
            ZoneMode::Unsized => {
                let message = "zonemode=strided needs a zonesize".to_owned();
                return self.error(source, "strides-without-size", "zonemode", message, "zonesize=<bytes>");
            }
            ZoneMode::Device => {
                let message = "zones of a zoned device are not known; the whole region is worked on";
                return self.loss(source, "zoned-device", "zonemode", message, BY_FIO);
            }
        };
        // fio gives zones up where a job has several files open.
        let open = source.job.service().open;
        if source.job.files.len() > 1 && open != 1 {
            let message = "a job with several open files has no zones, in fio neither";
            return self.note(source, "strides-of-files", "zonesize", message, "");
        }
        if source.job.files.len() > 1 || source.job.access().direction == Direction::TrimWrite {
            let message = "zones are worked on one after the other in one file, and not by trimwrite";
            return self.loss(source, "strides-of-one-file", "zonesize", message, BY_FIO);
        }
        let block = source.job.access().max_bytes().max(1);
        if zone < block {
            let message = format!("a zone of {zone} bytes has no room for a block of {block}");
            return self.error(source, "zone-below-block", "zonesize", message, "larger zones");
        }
        let whole = |end: u64| end % zone.saturating_add(skip).max(1);
        let start = match source.job.region().offset {
            Size::Bytes(offset) if source.job.region().file_size.is_some() => offset,
            _ => 0,
        };
        let length = share(source.job).map(|length| length.saturating_sub(start));
        if zone % source.job.access().min_bytes().max(1) != 0
            || length.is_some_and(|length| (1..zone).contains(&whole(length)))
        {
            let message = "blocks and zones that do not fit are left out; fio begins a block in the zone's last bytes, and ends \
                with a zone that the file cuts";
            self.loss(source, "strides-that-do-not-fit", "zonesize", message, "zones that fit");
        }
        // To the end of the file, whatever `size` is.
        job.length = None;
        job.strides = Some(Strides { zone_bytes: zone, turn_bytes: turn, skip_bytes: skip });
    }

    /// Each file is one I/O of a job that works on its name.
    fn names_alone(&mut self, source: Source<'_>, bytes: u64, job: &mut Job) {
        let block = source.job.access().max_bytes();
        (job.offset, job.offset_increment) = (Extent::Bytes(0), Extent::Bytes(0));
        job.length = Some(Extent::Bytes(block));
        let ios = bytes / source.job.access().min_bytes().max(1);
        if ios > 1 {
            let option = if source.section.settings.get("filesize").is_some() { "filesize" } else { "size" };
            let message =
                format!("each file is one I/O; fio counts {ios}, of which the first alone does something");
            self.note(source, "ios-of-names", option, message, "");
        }
        for option in ["offset", "offset_increment"] {
            if source.section.settings.get(option).is_some() {
                self.note(source, "offset-of-names", option, "a name has no offset", "");
            }
        }
    }

    /// Start, step and length of the region within each file.
    pub(crate) fn region(&mut self, source: Source<'_>, job: &mut Job) {
        let region = source.job.region();
        self.room(source);
        job.offset = extent(region.offset);
        job.offset_increment = extent(region.offset_increment);
        job.length = match region.size {
            // Of the length that is given, not of what is there.
            Some(Size::Percent(percent)) if region.file_size.is_some() => {
                let length = percent_of(region.file_size.map_or(0, |(_, high)| high), percent);
                let block = source.job.access().min_bytes().max(1);
                Some(Extent::Bytes(length - length % block)).filter(|length| *length != Extent::Bytes(0))
            }
            Some(Size::Percent(percent)) => Some(Extent::Percent(f64::from(percent))),
            Some(Size::Bytes(_)) if region.file_size.is_none() => per_file(source.job).map(Extent::Bytes),
            _ => None,
        };
        if let Some(bytes) = region.named_bytes {
            return self.names_alone(source, bytes, job);
        }
        self.zoned(source, job);
        if region.file_size.is_some_and(|(low, high)| low != high) {
            let message = "every file has the largest of the lengths";
            self.loss(source, "file-size-range", "filesize", message, "filesize=<bytes>");
        }
    }
}

/// Bytes of each file: its length where that is given, else its share of `size`.
pub(super) fn share(job: &ResolvedJob) -> Option<u64> {
    match (job.region().file_size, job.region().size) {
        (Some((_, high)), _) => Some(high),
        (None, Some(Size::Bytes(size))) => Some(size / job.files.len().max(1)),
        _ => None,
    }
}

/// The region in each file, in whole blocks of the smallest size.
///
/// Where `filesize` is given it is all of the file behind the offset, and `size` only says how much is transferred.
pub(super) fn per_file(job: &ResolvedJob) -> Option<u64> {
    let block = job.access().min_bytes().max(1);
    let skipped = match (job.region().file_size, job.region().offset) {
        (Some(_), Size::Bytes(offset)) => offset,
        (Some((_, high)), Size::Percent(percent)) => high / 100 * u64::from(percent),
        _ => 0,
    };
    let region = share(job)?.saturating_sub(skipped);
    Some(region - region % block)
}

/// Whether `size` is less than the files of a given length hold, so that a pass ends before the files do.
pub(super) fn is_part(job: &ResolvedJob, size: u64) -> bool {
    let files = job.files.len();
    job.region().file_size.is_some()
        && per_file(job).is_some_and(|region| size < region.saturating_mul(files))
}

/// Whether blocks are drawn without a map from a region whose size is no multiple of them.
pub(super) fn has_rest(job: &ResolvedJob, size: u64) -> bool {
    let drawn = job.access().random && !super::access::has_map(job.access());
    drawn && per_file(job).is_some_and(|region| region.saturating_mul(job.files.len()) < size)
}

/// How much fio moves in all with an `io_size`. A loop is a pass of at most `size`; behind the last loop there are more until
/// `io_size` is reached. At the end of a pass it begins no other one for less than its largest block.
pub(super) fn reached(job: &ResolvedJob, io_size: u64) -> u64 {
    let (direction, loops) = (job.access().direction, job.lifetime().loops);
    let reads = direction == Direction::Read;
    let passes = if job.access().random {
        super::access::has_map(job.access()) || (reads && job.depth().asynchronous)
    } else {
        reads || (loops > 1 && direction == Direction::Write)
    };
    let pass = per_file(job).map_or(0, |region| region.saturating_mul(job.files.len()));
    let at_most = io_size.saturating_mul(loops);
    if !passes || pass == 0 || io_size <= pass {
        return at_most;
    }
    let rest = u64::from(io_size % pass >= job.access().max_bytes());
    pass.saturating_mul(loops.max(io_size / pass + rest)).min(at_most)
}

/// As fio rounds it.
fn percent_of(bytes: u64, percent: u8) -> u64 {
    bytes.checked_mul(u64::from(percent)).map_or(bytes / 100 * u64::from(percent), |all| all / 100)
}

/// The length a file has to have for all clones; `None`: as long as it is.
fn needed(job: &ResolvedJob, threads: u64) -> Option<u64> {
    let operation = job.file_operation().filter(|operation| operation.needs_file());
    if let (Some(bytes), Some(_)) = (job.region().named_bytes, operation) {
        return Some(bytes);
    }
    if let Some((_, high)) = job.region().file_size {
        // An offset in per cent is one of what is there, and a new file has nothing.
        let start = if let Size::Bytes(offset) = job.region().offset { offset } else { 0 };
        return Some(match job.region().size {
            Some(Size::Percent(percent)) => start.saturating_add(percent_of(high, percent)).min(high),
            _ => high,
        });
    }
    // All of its share: blocks that do not fit leave a rest that the file has all the same.
    let length = share(job)?;
    let bytes = |size| match size {
        Size::Bytes(bytes) => Some(bytes),
        _ => None,
    };
    let offset = bytes(job.region().offset)?;
    let step = bytes(job.region().offset_increment)?;
    let last = step.saturating_mul(threads.saturating_sub(1));
    Some(offset.saturating_add(last).saturating_add(length))
}

/// Puts bytes in the place of offsets in per cent, as fio takes them: of what a file has before the run, up to the next whole
/// block, and 0 where there is no file yet. `existing` says what a target has; `None` leaves its jobs as they are.
pub fn settle_offsets(workload: &mut Workload, existing: &dyn Fn(&str) -> Option<u64>) {
    let Workload { targets, phases, .. } = workload;
    for job in phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        let Extent::Percent(percent) = job.offset else { continue };
        let mut own = targets.iter_mut().filter(|target| job.targets.contains(&target.name));
        let Some(first) = own.next() else { continue };
        let Some(bytes) = existing(&first.path) else { continue };
        match job.offset_increment {
            Extent::Bytes(0) => {}
            Extent::Percent(_) if bytes == 0 => job.offset_increment = Extent::Bytes(0),
            // Each clone's own start is what is rounded, where the plan is made.
            _ if bytes > 0 => continue,
            _ => {}
        }
        let start = Extent::Percent(percent).of(bytes).next_multiple_of(job.pattern.min_block_bytes().max(1));
        job.offset = Extent::Bytes(start);
        for target in std::iter::once(first).chain(own) {
            if let (None, Some(Extent::Bytes(length))) = (target.size, job.length) {
                target.size = Some(Bytes(start.saturating_add(length)));
            }
        }
    }
}

fn extent(size: Size) -> Extent {
    match size {
        Size::Bytes(bytes) => Extent::Bytes(bytes),
        Size::Percent(percent) => Extent::Percent(f64::from(percent)),
        // Reported when the file was read.
        Size::Zones(_) => Extent::Bytes(0),
    }
}
