//! Which operation, how large, and where.

use assay_workload::job::{FileLayout, Job, TargetSelection};
use assay_workload::pattern::{
    AccessPattern, BlockSizes as ModelSizes, Distribution as ModelDistribution, Mix, Placement, Random,
    Sequential, Zone, ZoneSize,
};

use super::super::distribution::{Distribution, ZonePart, normal_stddev};
use super::super::resolved::*;
use super::targets::{per_file, share};
use super::{BY_FIO, Lowering, Source};

/// Indices of reads, writes, trims.
const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;

/// Whether each pass of a job has the same addresses, as fio (3.33 and 3.42) has it by its log of each I/O.
///
/// fio draws its seeds again before each pass that it begins itself: those of `loops`, and those that io_size larger than the
/// size makes. A random map that is full ends a pass. Without one, fio ends it only where it queues I/Os, by the bytes it queued,
/// which `io_size` raises for writes. The generators of zipf, pareto and normal are seeded once. Within `time_based` there are no
/// passes to fio: a full map is cleared and the draws go on. An LFSR begins anew with its first number whatever else is asked.
pub(super) fn repeats(job: &ResolvedJob) -> bool {
    let access = job.access();
    // A pass is a turn in a zone.
    if matches!(job.region().zones, ZoneMode::Strided { .. }) {
        return access.random && is_lfsr(access);
    }
    // Reads and writes of a walk have cursors of their own. They begin again with a loop where I/Os are queued; else they go on, and begin
    // again where the file ends.
    if access.direction == Direction::ReadWrite && !access.random {
        return job.lifetime().loops > 1 && !job.lifetime().time_based && job.depth().asynchronous;
    }
    if !access.random || job.lifetime().time_based || !access.repeats {
        return access.random && is_lfsr(access);
    }
    let scattered = access.direction.slots().iter().any(|slot| access.random_percent[*slot] < 100)
        || matches!(access.postfix, Postfix::Every(_));
    match access.distribution {
        Distribution::Random if has_map(access) && !scattered => true,
        Distribution::Random | Distribution::Zoned(_) | Distribution::ZonedAbsolute(_) => {
            let reads = access.direction == Direction::Read;
            let by_io_size = job.region().io_size.is_some() && (reads || access.random_map);
            job.depth().asynchronous && (job.lifetime().loops > 1 || by_io_size)
        }
        _ => false,
    }
}

fn is_lfsr(access: &Access) -> bool {
    access.generator == "lfsr" && access.distribution == Distribution::Random
}

/// An LFSR meets each block once without a map as well.
pub(super) fn has_map(access: &Access) -> bool {
    access.random_map || is_lfsr(access)
}

impl Lowering<'_> {
    pub(crate) fn pattern(&mut self, source: Source<'_>) -> AccessPattern {
        let access = source.job.access();
        let placement = self.placement(source);
        let sizes = self.sizes(source, &placement);
        let [read_sizes, write_sizes, trim_sizes] = sizes;
        AccessPattern {
            mix: self.mix(source),
            read_sizes,
            write_sizes,
            trim_sizes,
            align_bytes: if access.random { self.align(source) } else { None },
            placement,
            repeat_passes: repeats(source.job),
        }
    }

    fn mix(&mut self, source: Source<'_>) -> Mix {
        let access = source.job.access();
        match access.direction {
            Direction::Read => Mix::READ,
            Direction::Write => Mix::WRITE,
            Direction::Trim => {
                let message =
                    "files are trimmed by punching holes; fio trims block devices only and fails on a file";
                self.note(source, "file-trim", "rw", message, "");
                Mix::TRIM
            }
            Direction::ReadWrite => Mix::read_write(f64::from(access.read_percent)),
            Direction::TrimWrite => {
                self.trim_first(source);
                Mix { read_percent: 0.0, write_percent: 50.0, trim_percent: 50.0 }
            }
        }
    }

    /// `trimwrite`: each block is trimmed and then written.
    fn trim_first(&mut self, source: Source<'_>) {
        let access = source.job.access();
        if access.sizes[TRIM] != access.sizes[WRITE] {
            let message = "a block is written in the size in which it was trimmed, as in fio";
            self.note(source, "trimwrite-sizes", "bs", message, "");
        }
        if source.job.lifetime().number_ios > 0 {
            let message = "a pair is begun as long as number_ios= is not reached; fio does up to a pair more";
            self.loss(source, "trimwrite-ios", "number_ios", message, "io_size=");
        }
    }

    fn sizes(&mut self, source: Source<'_>, placement: &Placement) -> [ModelSizes; 3] {
        let access = source.job.access();
        let own = |slot: usize| model_sizes(&access.sizes[slot], access.unaligned);
        if access.direction == Direction::TrimWrite {
            return [own(READ), own(TRIM), own(TRIM)];
        }
        if !access.sizes_by_randomness {
            return std::array::from_fn(own);
        }
        let slot = match placement {
            Placement::Sequential(_) | Placement::Unknown => READ,
            Placement::Random(_) => WRITE,
            Placement::Mixed { .. } => {
                let message =
                    "sizes do not differ between sequential and random I/O; those of random I/O are taken"
                        .to_owned();
                self.loss(source, "sizes-by-randomness", "bs_is_seq_rand", message, "one job for each");
                WRITE
            }
        };
        std::array::from_fn(|_| own(slot))
    }

    fn align(&mut self, source: Source<'_>) -> Option<u64> {
        let access = source.job.access();
        let mut aligns = access.direction.slots().iter().map(|slot| access.align_bytes[*slot]);
        let first = aligns.next().flatten();
        if aligns.any(|align| align != first) {
            let message = "one alignment holds for all operations of a job";
            self.loss(source, "align-by-direction", "ba", message, "one job for each");
        }
        first
    }

    fn placement(&mut self, source: Source<'_>) -> Placement {
        let access = source.job.access();
        if !access.random {
            return Placement::Sequential(self.walk(source));
        }
        let random = Random { distribution: self.distribution(source), once_per_pass: has_map(access) };
        if is_lfsr(access) && access.min_bytes() != access.max_bytes() {
            let message = "each byte is done once, in blocks that are cut where they meet others; an lfsr of fio starts once at each block and cuts nothing";
            let help = "one block size, or no random_generator";
            self.loss(source, "lfsr-sizes", "random_generator", message, help);
        }
        let percents = access.direction.slots().iter().map(|slot| access.random_percent[*slot]);
        let percent = percents.clone().next().unwrap_or(100);
        if percents.clone().any(|other| other != percent) {
            let message = format!("{percent} % of all operations are random, reads and writes alike");
            self.loss(source, "random-by-direction", "percentage_random", message, "one job for each");
        }
        let random_percent = match access.postfix {
            Postfix::Every(ios) => {
                self.every(source, ios);
                f64::from(percent) / ios as f64
            }
            _ => f64::from(percent),
        };
        if random_percent >= 100.0 {
            Placement::Random(random)
        } else if random_percent <= 0.0 {
            Placement::Sequential(Sequential::default())
        } else {
            Placement::Mixed { random_percent, random, sequential: Sequential::default() }
        }
    }

    fn every(&mut self, source: Source<'_>, ios: u64) {
        if source.job.access().sequencer == Sequencer::Identical {
            let message = "blocks are not repeated; I/Os between random ones go on behind the previous one";
            let help = "a small size=, which repeats soon";
            return self.loss(source, "identical-offsets", "rw_sequencer", message, help);
        }
        let message =
            format!("one I/O in {ios} goes to a random place on average, not exactly every {ios}th");
        self.loss(source, "random-every-nth", "rw", message, "");
    }

    fn walk(&mut self, source: Source<'_>) -> Sequential {
        match source.job.access().postfix {
            Postfix::Stride(stride) if stride < 0 => {
                let message = "the walk goes forward, not backward";
                self.loss(source, "backward-walk", "rw", message, "rw=read reads the same blocks forward");
                Sequential::default()
            }
            Postfix::Stride(stride) => {
                let skip = stride.unsigned_abs();
                let wrap = stride == 0 || self.stride_wraps(source, skip);
                Sequential { skip_min_bytes: skip, skip_max_bytes: skip, wrap, ..Sequential::default() }
            }
            _ => Sequential::default(),
        }
    }

    fn distribution(&mut self, source: Source<'_>) -> ModelDistribution {
        let (model, center) = match &source.job.access().distribution {
            Distribution::Random => (ModelDistribution::Uniform, None),
            Distribution::Zipf { theta, center } if *theta <= 0.0 => {
                // With theta 0 all ranks are alike.
                if *theta < 0.0 {
                    let message = "a zipf with theta below 0 is not supported; offsets are uniform";
                    self.loss(source, "negative-theta", "random_distribution", message, BY_FIO);
                }
                (ModelDistribution::Uniform, center.filter(|_| *theta < 0.0))
            }
            Distribution::Zipf { theta, center } => (ModelDistribution::Zipf { theta: *theta }, *center),
            Distribution::Pareto { h, center } => (ModelDistribution::Pareto { h: *h }, *center),
            Distribution::Normal { deviation_percent, center } => (
                ModelDistribution::Normal {
                    stddev_percent: normal_stddev(*deviation_percent),
                    scattered: true,
                },
                *center,
            ),
            Distribution::Zoned(all) => {
                (self.zones(source, all, |length| ZoneSize::RangePercent(length as f64)), None)
            }
            Distribution::ZonedAbsolute(all) => (self.zones(source, all, ZoneSize::Bytes), None),
            Distribution::Sequence(blocks) => (self.sequence(source, blocks), None),
        };
        if center.is_some() {
            let message = "the centre of the distribution is not moved";
            let help = "random_distribution=zoned";
            self.loss(source, "distribution-center", "random_distribution", message, help);
        }
        model
    }

    /// A list of blocks that each operation takes one after the other.
    fn sequence(&mut self, source: Source<'_>, blocks: &[u64]) -> ModelDistribution {
        let access = source.job.access();
        let all = per_file(source.job).map(|region| region / access.min_bytes().max(1));
        if let Some((behind, all)) = blocks.iter().max().copied().zip(all).filter(|(block, all)| block >= all)
        {
            let message = format!("block {behind} of the sequence lies behind the {all} of the region");
            self.error(source, "sequence-beyond", "random_distribution", message, "a larger size");
        }
        if source.job.files.len() > 1 {
            let message = "each file has its own place in the sequence";
            self.loss(source, "sequence-of-files", "random_distribution", message, "one job for each file");
        }
        let advances = source.job.given().flag("random_sequence_stride", false);
        ModelDistribution::Sequence { blocks: blocks.to_vec(), advances }
    }

    fn zones(
        &mut self,
        source: Source<'_>,
        all: &PerDirection<Vec<ZonePart>>,
        size: impl Fn(u64) -> ZoneSize,
    ) -> ModelDistribution {
        let slots = source.job.access().direction.slots();
        let first = &all[slots[0]];
        if slots.iter().any(|slot| all[*slot] != *first) {
            let message = "the zones of the first operation hold for all operations of the job";
            self.loss(source, "zones-by-direction", "random_distribution", message, "one job for each");
        }
        let zone = |part: &ZonePart| Zone {
            access_percent: f64::from(part.access_percent),
            size: size(part.length),
        };
        ModelDistribution::Zoned(first.iter().map(zone).collect())
    }

    /// Which file is next, and what files are made of.
    pub(crate) fn files(&mut self, source: Source<'_>, job: &mut Job) {
        let service = source.job.service();
        // What is read has data as far as whole blocks reach; a rest of the file is all that is missing there.
        let whole = share(source.job) == per_file(source.job);
        job.layout = if job.pattern.needs_data() && whole { FileLayout::AsNeeded } else { service.layout };
        (job.selection, job.open_targets) = self.selection(source, &service);
        if job.by_name().is_some() {
            // Of each file there is one call.
            job.open_targets = None;
        }
        job.remove_files = service.remove;
        // With verify_only it reads.
        job.trim_first = source.job.access().direction == Direction::TrimWrite && job.may_write();
        if let Some(operation) = job.by_name() {
            // What is looked at or removed is there, as long as it is to be.
            job.layout = if operation.needs_file() { service.layout } else { FileLayout::AsNeeded };
            if service.create_on_open && !operation.creates() {
                let message = "what is looked at or removed is made before the start; fio would find nothing";
                self.loss(source, "create-on-open-names", "create_on_open", message, "create_on_open=0");
            }
        } else if service.create_on_open && job.pattern.needs_data() {
            let message = "what is read is laid out before the start; fio ends with an I/O error, as it finds empty files";
            self.note(source, "create-on-open-reads", "create_on_open", message, "");
        } else if service.create_on_open {
            job.layout = FileLayout::AsNeeded;
            let message = "files are made empty before the start and grow by their writes";
            self.note(source, "create-on-open", "create_on_open", message, "");
        }
        let passes = source.job.lifetime();
        if service.remove_each_loop && (passes.loops > 1 || passes.time_based) {
            self.remove_each_loop(source, job);
        } else if service.remove_each_loop {
            let message = "there is one loop";
            self.note(source, "unlink-each-loop", "unlink_each_loop", message, "");
        }
    }

    /// Whether loops find their files removed: what they write is allocated anew then.
    fn remove_each_loop(&mut self, source: Source<'_>, job: &mut Job) {
        let only_writes = source.job.access().direction == Direction::Write;
        let named = matches!(source.job.files, FileSet::Named(_));
        let alone = !named || source.job.clones == 1 && self.file.jobs.len() == 1;
        let checked = source.job.verify().method.is_some();
        let works = job.by_name().is_none() && job.pattern.placement.has_passes();
        if only_writes && alone && !checked && works {
            job.empty_each_pass = true;
            let message = "files are cut to nothing between loops, not removed and made again";
            self.note(source, "unlink-each-loop", "unlink_each_loop", message, "");
            return;
        }
        let message = match only_writes {
            true => "files are kept between loops",
            false => "files are kept between loops; fio's second loop finds nothing to read",
        };
        self.loss(source, "unlink-each-loop", "unlink_each_loop", message, "remove them after the run");
    }

    /// Which file is next, and how many are open at a time.
    fn selection(&mut self, source: Source<'_>, service: &FileService) -> (TargetSelection, Option<u32>) {
        let few_open = (1..source.job.files.len()).contains(&service.open);
        if service.open > 0 && !few_open {
            let message = "all files of the job stay open, and it has no more";
            self.note(source, "openfiles", "openfiles", message, "");
        }
        if source.job.files.len() < 2 {
            return (TargetSelection::default(), None);
        }
        // The next file is opened where one is done.
        if service.open == 1 && matches!(service.order, "roundrobin" | "sequential" | "random") {
            if service.order == "random" {
                let message = "one file after the other, in their order; fio draws the next one";
                self.note(source, "openfiles", "openfiles", message, "");
            }
            return (TargetSelection::Sequential, None);
        }
        // Of each file there is one I/O.
        if few_open && job_works_on_names(source) {
            return (TargetSelection::Sequential, None);
        }
        let known = matches!(service.order, "roundrobin" | "sequential" | "random");
        if few_open && !known {
            let message = "all files of a job stay open, and I/Os go to all of them";
            self.loss(source, "openfiles", "openfiles", message, "openfiles=1, or fewer nrfiles");
        }
        let turns = service.parameter.as_deref().is_some_and(|parameter| parameter != "1");
        match service.order {
            "random" | "roundrobin" | "sequential" => {
                if turns && service.order != "sequential" {
                    let message = "the next I/O goes to the next file, not several to one";
                    self.loss(source, "file-turns", "file_service_type", message, "");
                }
            }
            other => {
                let message = format!("files are picked at random, not by {other}");
                let help = "random_distribution within one file";
                self.loss(source, "file-distribution", "file_service_type", message, help);
            }
        }
        let open = u32::try_from(service.open).ok().filter(|_| few_open && known);
        match service.order {
            "roundrobin" => (TargetSelection::RoundRobin, open),
            "sequential" => (TargetSelection::Sequential, None),
            _ => (TargetSelection::Random, open),
        }
    }
}

fn job_works_on_names(source: Source<'_>) -> bool {
    source.job.region().named_bytes.is_some()
}

fn model_sizes(sizes: &BlockSizes, unaligned: bool) -> ModelSizes {
    match sizes {
        BlockSizes::Fixed(bytes) => ModelSizes::Fixed(*bytes),
        BlockSizes::Range { min, max } => {
            // fio rounds what it draws down to multiples of the smallest size.
            let step_bytes = if unaligned { 1 } else { *min };
            ModelSizes::Range { min_bytes: *min, max_bytes: max - max % step_bytes, step_bytes }
        }
        BlockSizes::Split(parts) => {
            ModelSizes::Weighted(parts.iter().map(|part| (part.bytes, f64::from(part.percent))).collect())
        }
    }
}
