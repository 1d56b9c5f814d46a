//! From the options in force to a [`ResolvedJob`], with fio's defaults and cross-option rules.

use std::sync::Arc;

use assay_workload::FileOperation;
use assay_workload::job::FileLayout;

use super::distribution::Distribution;
use super::resolved::*;
use super::section::JobSection;
use super::settings::Settings;
use super::value::{Size, Value};

const NORMAL_SLOTS: PerDirection<Option<u64>> = [None; 3];
const BLOCK_BYTES: u64 = 4096;
/// fio's seed where none is given.
pub(super) const SEED: i64 = 0x89;

/// The options in force for a job, with fio's defaults.
///
/// With `marks`, an option that is asked for counts as read at its line. What is set, has an effect by the table and was
/// never read while the workload was made is reported as lost.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    /// The options.
    pub(super) settings: &'a Settings,
    /// Whether what is asked for takes effect.
    pub(super) marks: bool,
}

impl<'a> Given<'a> {
    /// A look at options that has no effect.
    pub(super) fn look(settings: &'a Settings) -> Self {
        Given { settings, marks: false }
    }

    fn value(self, name: &str) -> Option<&'a Value> {
        let setting = self.settings.get(name)?;
        if self.marks {
            setting.read.set(true);
        }
        Some(&setting.value)
    }

    /// A flag or boolean.
    pub(super) fn flag(self, name: &str, default: bool) -> bool {
        match self.value(name) {
            Some(Value::Flag(on)) => *on,
            _ => default,
        }
    }

    /// A number.
    pub(super) fn number(self, name: &str, default: i64) -> i64 {
        let Some(Value::Number(value)) = self.value(name) else { return default };
        *value
    }

    /// A number that is not negative.
    pub(super) fn unsigned(self, name: &str, default: u64) -> u64 {
        u64::try_from(self.number(name, i64::try_from(default).unwrap_or(i64::MAX))).unwrap_or(0)
    }

    fn percent(self, name: &str, default: u8) -> u8 {
        u8::try_from(self.number(name, i64::from(default))).unwrap_or(default)
    }

    /// A text.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        let Some(Value::Text(text)) = self.value(name) else { return None };
        Some(text)
    }

    /// A word and what follows it.
    pub(super) fn word(self, name: &str, default: &'static str) -> (&'static str, Option<&'a str>) {
        let Some(Value::Word(word, rest)) = self.value(name) else { return (default, None) };
        (word, rest.as_deref())
    }

    /// A time in microseconds.
    pub(super) fn micros(self, name: &str, default: u64) -> u64 {
        let Some(Value::Micros(value)) = self.value(name) else { return default };
        *value
    }

    /// Read, write, trim.
    pub(super) fn triple(self, name: &str) -> PerDirection<Option<u64>> {
        let Some(Value::Triple(slots)) = self.value(name) else { return NORMAL_SLOTS };
        *slots
    }

    /// A length.
    pub(super) fn size(self, name: &str) -> Option<Size> {
        let Some(Value::Size(size)) = self.value(name) else { return None };
        Some(*size)
    }

    /// Low and high.
    pub(super) fn span(self, name: &str) -> Option<(u64, u64)> {
        let Some(Value::Span(low, high)) = self.value(name) else { return None };
        Some((*low, *high))
    }

    /// The named files.
    pub(super) fn files(self) -> Option<&'a Arc<Vec<String>>> {
        let Some(Value::Files(names)) = self.value("filename") else { return None };
        Some(names)
    }

    /// The distribution of random offsets.
    pub(super) fn distribution(self) -> Distribution {
        let Some(Value::Distribution(found)) = self.value("random_distribution") else {
            return Distribution::Random;
        };
        found.as_ref().clone()
    }

    fn first_float(self, name: &str, default: f64) -> f64 {
        let Some(Value::Floats(list)) = self.value(name) else { return default };
        list.first().copied().unwrap_or(default)
    }

    fn pattern(self, name: &str) -> Option<Arc<super::pattern::Pattern>> {
        let Some(Value::Pattern(pattern)) = self.value(name) else { return None };
        Some(Arc::clone(pattern))
    }
}

/// Resolves one section; position in the run is filled in by the caller.
pub(super) fn resolve(section: &JobSection, files: FileSet, marks: bool) -> ResolvedJob {
    let settings = &section.settings;
    let read = Given { settings, marks };
    ResolvedJob {
        name: read.text("name").unwrap_or(&section.name).to_owned(),
        section_index: 0,
        clone_number: 0,
        thread_number: 0,
        clones: 0,
        stage: 0,
        group: 0,
        group_reporting: read.flag("group_reporting", false),
        wait_for: read.text("wait_for").map(str::to_owned),
        files,
        settings: settings.clone(),
        marks,
        read: Read::default(),
    }
}

impl ResolvedJob {
    /// Its options.
    pub(crate) fn given(&self) -> Given<'_> {
        Given { settings: &self.settings, marks: self.marks }
    }

    /// fio's name of the engine.
    pub(crate) fn engine(&self) -> &str {
        self.given().value("ioengine");
        self.settings.engine_name()
    }

    /// Whether a private option of the engine is on.
    pub(crate) fn engine_flag(&self, name: &str) -> bool {
        let Some(setting) = self.settings.private(name) else { return false };
        if self.marks {
            setting.read.set(true);
        }
        !matches!(setting.value, Value::Flag(false))
    }

    /// Which operation, how large, and where.
    pub(crate) fn access(&self) -> &Access {
        self.read.access.get_or_init(|| access(self.given(), block_sizes(self.given())))
    }

    /// Which part of the files.
    pub(crate) fn region(&self) -> &Region {
        self.read.region.get_or_init(|| {
            let mut region = region(self.given());
            if self.file_operation().is_some_and(FileOperation::is_by_name) {
                // Each file is one I/O, however long it is.
                let share = match region.size {
                    Some(Size::Bytes(size)) => size / self.files.len().max(1),
                    _ => 0,
                };
                let block = self.access().min_bytes();
                region.named_bytes = Some(region.file_size.map_or(share, |(_, high)| high));
                region.file_size = Some((block, block));
                (region.offset, region.offset_increment) = (Size::Bytes(0), Size::Bytes(0));
            }
            region
        })
    }

    /// What each I/O is where its engine moves no data.
    pub(crate) fn file_operation(&self) -> Option<FileOperation> {
        let operation = self.settings.engine()?.operation?;
        let Some(setting) = self.settings.private("stat_type").filter(|_| operation.is_stat()) else {
            return Some(operation);
        };
        if self.marks {
            setting.read.set(true);
        }
        let word = match &setting.value {
            Value::Word(word, _) => *word,
            _ => "stat",
        };
        let of_word = |known: &FileOperation| {
            (known.is_on_directories(), known.fio_engine().1) == (operation.is_on_directories(), Some(word))
        };
        FileOperation::ALL.into_iter().find(of_word)
    }

    /// In flight.
    pub(crate) fn depth(&self) -> &Depth {
        self.read.depth.get_or_init(|| depth(self.given()))
    }

    /// How fast.
    pub(crate) fn pacing(&self) -> &Pacing {
        self.read.pacing.get_or_init(|| pacing(self.given()))
    }

    /// How long.
    pub(crate) fn lifetime(&self) -> &Lifetime {
        self.read.lifetime.get_or_init(|| lifetime(self.given()))
    }

    /// How writes reach the medium.
    pub(crate) fn durability(&self) -> &Durability {
        self.read.durability.get_or_init(|| durability(self.given()))
    }

    /// What is written.
    pub(crate) fn content(&self) -> &Content {
        self.read.content.get_or_init(|| content(self.given()))
    }

    /// Which data is checked.
    pub(crate) fn verify(&self) -> Verify {
        verify(self.given())
    }

    /// Which file next.
    pub(crate) fn service(&self) -> FileService {
        service(self.given())
    }

    /// Latency search, if asked.
    pub(crate) fn latency_target(&self) -> Option<LatencyTarget> {
        latency_target(self.given())
    }

    /// Steady state, if asked.
    pub(crate) fn steady(&self) -> Option<Steady> {
        steady(self.given())
    }

    /// Which errors do not end the job: `none`, `read`, `write`, `io`, `verify` or `all`.
    pub(crate) fn errors(&self) -> &'static str {
        match self.given().word("continue_on_error", "none").0 {
            "0" => "none",
            "1" => "all",
            word => word,
        }
    }

    /// Whether its end ends the others, and which.
    pub(crate) fn exit_all(&self) -> Option<&'static str> {
        let read = self.given();
        let what = read.word("exit_what", "group").0;
        read.flag("exitall", false).then_some(what)
    }
}

/// `bssplit` before `bsrange` before `bs`.
fn block_sizes(read: Given<'_>) -> PerDirection<BlockSizes> {
    let fixed = read.triple("bs");
    let ranges = match read.value("bsrange") {
        Some(Value::Ranges(ranges)) => *ranges,
        _ => [None; 3],
    };
    std::array::from_fn(|slot| {
        if let Some(Value::Splits(splits)) = read.value("bssplit") {
            return match splits[slot].as_slice() {
                [only] => BlockSizes::Fixed(only.bytes),
                parts => BlockSizes::Split(parts.to_vec()),
            };
        }
        match ranges[slot] {
            Some((min, max)) if min == max => BlockSizes::Fixed(min),
            Some((min, max)) => BlockSizes::Range { min, max },
            None => BlockSizes::Fixed(fixed[slot].unwrap_or(BLOCK_BYTES)),
        }
    })
}

/// Direction and randomness of an `rw` word.
pub(super) fn direction_of(word: &str) -> (Direction, bool) {
    let random = word.starts_with("rand");
    let direction = match word.strip_prefix("rand").unwrap_or(word) {
        "read" => Direction::Read,
        "write" => Direction::Write,
        "trim" => Direction::Trim,
        "trimwrite" => Direction::TrimWrite,
        _ => Direction::ReadWrite,
    };
    (direction, random)
}

fn access(read: Given<'_>, sizes: PerDirection<BlockSizes>) -> Access {
    let (word, rest) = read.word("rw", "read");
    let (direction, random) = direction_of(word);
    let distribution = read.distribution();
    let align_bytes = read.triple("ba");
    let moved = (0..3).any(|slot| align_bytes[slot].is_some_and(|align| align != sizes[slot].min_bytes()));
    let seeded = read.value("randseed").is_some();
    let repeat = read.flag("randrepeat", true);
    Access {
        direction,
        random,
        postfix: postfix(rest, random),
        sequencer: match read.word("rw_sequencer", "sequential").0 {
            "identical" => Sequencer::Identical,
            _ => Sequencer::Sequential,
        },
        read_percent: read.percent("rwmixread", 50),
        sizes,
        unaligned: read.flag("bs_unaligned", false),
        sizes_by_randomness: read.flag("bs_is_seq_rand", false),
        align_bytes,
        random_percent: read
            .triple("percentage_random")
            .map(|slot| slot.map_or(100, |p| u8::try_from(p).unwrap_or(100))),
        random_map: !read.flag("norandommap", false) && distribution == Distribution::Random && !moved,
        distribution,
        generator: read.word("random_generator", "tausworthe").0,
        seed: (seeded || repeat).then(|| read.number("randseed", SEED)),
        repeats: repeat && !seeded,
    }
}

/// fio reads the postfix of random kinds with `atoi` and of sequential ones as a size.
fn postfix(rest: Option<&str>, random: bool) -> Postfix {
    let Some(rest) = rest else { return Postfix::None };
    if random {
        return match super::number::leading_integer(rest) {
            Ok((every, _)) if every > 1 => Postfix::Every(every.unsigned_abs()),
            _ => Postfix::None,
        };
    }
    match super::number::bytes(rest, 1024) {
        Ok(stride) if stride.value != 0 => Postfix::Stride(stride.value),
        _ => Postfix::None,
    }
}

fn region(read: Given<'_>) -> Region {
    let unset = |size: Option<Size>| size.filter(|size| *size != Size::Bytes(0));
    Region {
        size: unset(read.size("size")),
        io_size: unset(read.size("io_size")),
        named_bytes: None,
        file_size: read.span("filesize"),
        offset: read.size("offset").unwrap_or(Size::Bytes(0)),
        offset_increment: read.size("offset_increment").unwrap_or(Size::Bytes(0)),
        zones: zones(read),
    }
}

fn zones(read: Given<'_>) -> ZoneMode {
    let given = read.settings.get("zonemode").map(|_| read.word("zonemode", "none").0);
    match given {
        Some("zbd") => return ZoneMode::Device,
        Some("strided") | None => {}
        Some(_) => return ZoneMode::Whole,
    }
    let (turn, range) = (read.unsigned("zonesize", 0), read.unsigned("zonerange", 0));
    let skip = match read.size("zoneskip") {
        Some(Size::Bytes(bytes)) => bytes,
        _ => 0,
    };
    match (turn, given) {
        (0, Some(_)) => ZoneMode::Unsized,
        (0, None) => ZoneMode::Whole,
        _ => ZoneMode::Strided { zone: if range > 0 { range } else { turn }, turn, skip },
    }
}

fn service(read: Given<'_>) -> FileService {
    let (order, rest) = read.word("file_service_type", "roundrobin");
    // Asked in any case, so that no line is one that nothing reads.
    let (overwrite, (allocation, _)) = (read.flag("overwrite", false), read.word("fallocate", "native"));
    let (direction, _) = direction_of(read.word("rw", "read").0);
    let layout = match allocation {
        _ if overwrite || direction != Direction::Write => FileLayout::Data,
        "none" | "0" => FileLayout::AsNeeded,
        "keep" => FileLayout::Reserved,
        "truncate" => FileLayout::Length,
        _ => FileLayout::Allocated,
    };
    FileService {
        order,
        parameter: rest.map(str::to_owned),
        layout,
        open: read.unsigned("openfiles", 0),
        create_on_open: read.flag("create_on_open", false),
        remove: read.flag("unlink", false),
        remove_each_loop: read.flag("unlink_each_loop", false),
    }
}

fn depth(read: Given<'_>) -> Depth {
    let settings = read.settings;
    let small = |name, default: u32| u32::try_from(read.number(name, i64::from(default))).unwrap_or(u32::MAX);
    let asked = small("iodepth", 1).max(1);
    let asynchronous = settings.engine().is_none_or(|engine| engine.asynchronous || engine.name == "null");
    let effective = if asynchronous { asked } else { 1 };
    let batch_complete_min = small("iodepth_batch_complete_min", 1).min(asked);
    Depth {
        asked,
        effective,
        // The null engine completes a single I/O when it is submitted.
        asynchronous: effective > 1 || settings.engine().is_some_and(|engine| engine.asynchronous),
        batch_submit: small("iodepth_batch", 1).clamp(1, asked),
        batch_complete_min,
        batch_complete_max: small("iodepth_batch_complete_max", 0).max(batch_complete_min),
        low: match small("iodepth_low", 0) {
            0 => asked,
            low => low.min(asked),
        },
        offload: read.word("io_submit_mode", "inline").0 == "offload",
    }
}

fn pacing(read: Given<'_>) -> Pacing {
    let positive = |name| read.triple(name).map(|slot: Option<u64>| slot.filter(|rate| *rate > 0));
    Pacing {
        rate_bytes_per_s: positive("rate"),
        rate_iops: positive("rate_iops"),
        poisson: read.word("rate_process", "linear").0 == "poisson",
        ignore_think_time: read.flag("rate_ignore_thinktime", false),
        think_us: read.micros("thinktime", 0),
        think_blocks: read.unsigned("thinktime_blocks", 1).max(1),
        flow: flow(read),
    }
}

/// `flow`; a job without a weight is in none.
fn flow(read: Given<'_>) -> Option<(u32, u32, u64)> {
    let weight = u32::try_from(read.unsigned("flow", 0)).unwrap_or(u32::MAX);
    (weight > 0).then(|| {
        let id = u32::try_from(read.unsigned("flow_id", 0)).unwrap_or(u32::MAX);
        (weight, id, read.unsigned("flow_sleep", 0))
    })
}

fn latency_target(read: Given<'_>) -> Option<LatencyTarget> {
    let target = LatencyTarget {
        target_us: read.micros("latency_target", 0),
        window_us: read.micros("latency_window", 0),
        percentile: read.first_float("latency_percentile", 100.0),
        keep_running: read.flag("latency_run", false),
    };
    (target.target_us > 0).then_some(target)
}

fn lifetime(read: Given<'_>) -> Lifetime {
    let runtime_us = read.micros("runtime", 0);
    Lifetime {
        runtime_us,
        // Without a runtime fio switches it off.
        time_based: read.flag("time_based", false) && runtime_us > 0,
        ramp_us: read.micros("ramp_time", 0),
        start_delay_us: read.span("startdelay").unwrap_or((0, 0)),
        loops: read.unsigned("loops", 1).max(1),
        number_ios: read.unsigned("number_ios", 0),
    }
}

fn durability(read: Given<'_>) -> Durability {
    Durability {
        direct: read.flag("direct", false),
        open_sync: match read.word("sync", "none").0 {
            "sync" | "1" => "sync",
            "dsync" => "dsync",
            _ => "none",
        },
        fsync_every: read.unsigned("fsync", 0),
        fdatasync_every: read.unsigned("fdatasync", 0),
        end_fsync: read.flag("end_fsync", false),
        fsync_on_close: read.flag("fsync_on_close", false),
        invalidate: read.flag("invalidate", true) && !read.flag("pre_read", false),
        access_hint: read.word("fadvise_hint", "1").0 != "0",
    }
}

/// Whether what is written is to be checked, which fio fills anew for each write.
pub(super) fn verifies(read: Given<'_>) -> bool {
    verify(read).method.is_some()
}

fn verify(read: Given<'_>) -> Verify {
    let pattern = read.pattern("verify_pattern");
    let method = match read.word("verify", "0").0 {
        // A pattern alone selects the form with a header.
        "0" | "none" => pattern.is_some().then_some("pattern_hdr"),
        method => Some(method),
    };
    Verify {
        method,
        pattern,
        pattern_interval: read.unsigned("verify_pattern_interval", 0),
        read_back: read.flag("do_verify", true),
        only: read.flag("verify_only", false),
        backlog: read.unsigned("verify_backlog", 0),
        fatal: read.flag("verify_fatal", false),
        serialized: read.flag("serialize_overlap", false),
    }
}

/// Later rules win over earlier ones: compression and duplicates, then a pattern, then zeros, then random bytes.
fn content(read: Given<'_>) -> Content {
    let compress = read.percent("buffer_compress_percentage", 0);
    let dedupe_percent = read.percent("dedupe_percentage", 0);
    let pattern = read.pattern("buffer_pattern");
    let (direction, _) = direction_of(read.word("rw", "read").0);
    let writes_only = !matches!(direction, Direction::Read | Direction::ReadWrite);
    let verified = verifies(Given::look(read.settings));
    let reduced = compress > 0 || dedupe_percent > 0;
    let refill =
        (read.flag("refill_buffers", false) && !(pattern.is_some() && writes_only)) || reduced || verified;
    Content {
        zero: compress == 100 || (read.flag("zero_buffers", false) && pattern.is_none() && !reduced),
        refill,
        scramble: read.flag("scramble_buffers", true)
            && pattern.is_none()
            && !refill
            && !read.flag("zero_buffers", false),
        pattern,
        compress_percent: compress,
        dedupe_percent,
    }
}

fn steady(read: Given<'_>) -> Option<Steady> {
    let duration_us = read.micros("steadystate_duration", 0);
    let ramp_us = read.micros("steadystate_ramp_time", 0);
    let interval_us = read.micros("steadystate_check_interval", 1_000_000);
    match read.value("steadystate") {
        Some(Value::Steady(criterion)) if duration_us > 0 => {
            Some(Steady { criterion: *criterion, duration_us, ramp_us, interval_us })
        }
        _ => None,
    }
}
