//! The keys of a job: from a table over `[defaults]` to the model, and back.

use std::ops::Range;

use assay_workload::application::ApplicationKind;
use assay_workload::host::HostRanges;
use assay_workload::job::{
    Arrival, Caching, EndsWith, EngineKind, FileLayout, JobSeed, TargetSelection, TargetSharing, Traits,
};
use assay_workload::pattern::{Mix, OpKind, Placement};
use assay_workload::resolve::{OUTSTANDING_MAX, THREADS_MAX};
use assay_workload::service::ServiceLevel;
use assay_workload::target::{Extent, Target};
use assay_workload::units::Nanos;
use assay_workload::{AccessPattern, FileOperation, Job};

use super::application::APPLICATION;
use super::data::{CONTENT, ENGINE_OPTIONS, FLOW, FLUSH, STEADY, STRIDES, THINK};
use super::forms::{
    BLOCK_SIZE, EXTENT, FLAG, PERCENT, RATE, SIZE, TEXT, TIME, count, count_u32, quote, word,
};
use super::host::HOSTS;
use super::key::{About, Form, Key, Need, Shape, Table, key};
use super::node::Fields;
use super::pattern::{self, MIX_KEYS, PLACEMENT, SIZES, Shares, Sizes};
use super::sink::Sink;
use super::tree::TREE;

/// Up to this many targets of a job are listed even where they are all there are.
const TARGETS_LISTED: usize = 4;

/// A job as its keys say it: what the model has in other parts stands beside it.
pub(super) struct Draft {
    pub(super) job: Job,
    /// The words for its targets, and where they stand; `None`: all.
    pub(super) targets: Option<Vec<(String, Range<usize>)>>,
    pub(super) mix: Shares,
    pub(super) sizes: Option<Sizes>,
    pub(super) placement: Option<Placement>,
}

impl Draft {
    /// A job with the defaults.
    pub(super) fn new(name: &str) -> Self {
        let job = Job::new(name, &[], AccessPattern::new(Mix::READ, 4096, Placement::sequential()));
        Draft { job, targets: None, mix: Shares::default(), sizes: None, placement: None }
    }

    /// What the keys of `job` say, in a plan with these targets.
    pub(super) fn of(job: &Job, targets: &[Target]) -> Self {
        if job.application.is_some() {
            let listed = job.targets.iter().map(|name| (name.clone(), 0..0)).collect();
            let job = Job { traits: Traits { invalidate: true, ..job.traits.clone() }, ..job.clone() };
            return Draft { targets: Some(listed), job, ..Draft::new("") };
        }
        let all = job.targets.iter().eq(targets.iter().map(|target| &target.name));
        let listed = !all || targets.len() <= TARGETS_LISTED;
        let pattern = &job.pattern;
        let [read, write, trim] =
            [&pattern.read_sizes, &pattern.write_sizes, &pattern.trim_sizes].map(|sizes| Some(sizes.clone()));
        Draft {
            targets: listed.then(|| job.targets.iter().map(|name| (name.clone(), 0..0)).collect()),
            mix: Shares::of(&pattern.mix),
            sizes: Some(Sizes { read, write, trim }),
            placement: Some(pattern.placement.clone()),
            job: job.clone(),
        }
    }

    /// A job from its table. What is wrong is reported; the value then has the default in its place.
    pub(super) fn read(sink: &mut Sink, fields: &Fields<'_>, name: &str) -> Self {
        let mut draft = Draft::new(name);
        KEYS.fill(sink, fields, &mut draft);
        let has = |key| fields.get(key).is_some_and(|entry| !entry.is("none"));
        if has("application") {
            draft.job = with_application(draft.job, sink.applications);
            let application = draft.job.application.as_ref();
            let elsewhere = application.is_some_and(|application| {
                let known = sink.applications.iter().find(|known| known.kind() == application.kind);
                known.is_some_and(|known| known.is_elsewhere(&application.settings))
            });
            draft.targets = draft.targets.or_else(|| elsewhere.then(Vec::new));
        } else {
            pattern::finish(sink, fields, &mut draft, has("tree"));
        }
        draft
    }
}

/// What an application reads and writes is not in the plan, and its own cache is not ours to drop.
fn with_application(mut job: Job, known: &[&dyn ApplicationKind]) -> Job {
    let kind = job.application.as_ref().map(|application| application.kind.as_str());
    let known = known.iter().find(|known| Some(known.kind()) == kind);
    if let (Caching::Auto, Some(known)) = (job.caching, known) {
        job.caching = known.caching();
    }
    job.pattern = AccessPattern::unknown(Mix { read_percent: 0.0, write_percent: 0.0, trim_percent: 0.0 });
    job.invalidate = false;
    job
}

/// Every key of a job; `[defaults]` has them all but `name`.
pub(super) const KEYS: Table<Draft> =
    Table { who: "a job", example: "", sections: &[WHAT_AND_WHERE, PACE, DATA] };

const TARGETS: Form<Vec<(String, Range<usize>)>> = Form {
    shape: Shape::List(&Shape::Text),
    read: |sink, entry, _| {
        let named = |element: super::node::Entry<'_>, sink: &mut Sink| {
            sink.string(element).map(|word| (word.to_owned(), element.span()))
        };
        Some(entry.elements().into_iter().filter_map(|element| named(element, sink)).collect())
    },
    write: |names| {
        let names: Vec<String> = names.iter().map(|(name, _)| quote(name)).collect();
        format!("[{}]", names.join(", "))
    },
};

const LEVELS: Form<Vec<ServiceLevel>> = Form {
    shape: Shape::List(&Shape::Matching(r"^\s*([^<]+ )?(mean|median|max|p[0-9.]+)\s*<", "p95<20ms")),
    read: |sink, entry, _| {
        let forms = "levels look like \"p95<20ms\" or \"new-order p95<50ms\"";
        let level = |element: super::node::Entry<'_>, sink: &mut Sink| {
            let level = sink.string(element)?.parse();
            sink.checked(element, level, forms)
        };
        entry.elements().into_iter().map(|element| level(element, sink)).collect()
    },
    write: |levels| {
        let levels: Vec<String> = levels.iter().map(|level| quote(&level.to_string())).collect();
        format!("[{}]", levels.join(", "))
    },
};

/// An empty string takes back a group.
const GROUP: Key<Draft> = Key {
    read: |sink, entry, draft| draft.job.group = TEXT.take(sink, entry).filter(|group| !group.is_empty()),
    ..key!(some "group", TEXT, job.group, "on its own", "jobs of one group are reported as one; an empty string takes back that of `[defaults]`")
};

const LENGTH: Form<Extent> = Form {
    read: |sink, entry, _| match EXTENT.take(sink, entry)? {
        Extent::Bytes(0) | Extent::Percent(0.0) => {
            let help = "leave it out for all that is behind 'offset'";
            sink.bad_value(entry, "a length of 0 leaves no room", help)
        }
        length => Some(length),
    },
    shape: Shape::NotZero(&EXTENT.shape),
    ..EXTENT
};

/// A number, or the word for another one in each run.
const JOB_SEED: Form<JobSeed> = Form {
    shape: Shape::Any(&[Shape::Words(|| vec!["fresh"]), Shape::Count(0, u64::MAX)]),
    read: |sink, entry, _| match entry.is("fresh") {
        true => Some(JobSeed::Fresh),
        false => count(0, u64::MAX).take(sink, entry).map(JobSeed::Given),
    },
    write: |seed| match seed {
        JobSeed::Given(seed) => (count(0, u64::MAX).write)(seed),
        JobSeed::Fresh => quote("fresh"),
    },
};

const RUNTIME: Form<Nanos> = Form {
    read: |sink, entry, _| match TIME.take(sink, entry)? {
        Nanos(0) => sink.bad_value(entry, "a runtime of 0 measures nothing", ""),
        time => Some(time),
    },
    shape: Shape::NotZero(&TIME.shape),
    ..TIME
};

const WHAT_AND_WHERE: &[Key<Draft>] = &[
    key!(always "name", TEXT, job.name, "`job-1`, `job-2`, ..", "the name in results"),
    GROUP,
    key!(some "targets", TARGETS, targets, "all targets", "a name or a list; `data*` is all that begin with `data`"),
    key!(set "hosts", HOSTS, job.hosts, "all hosts", "a name or a list: the hosts that do it, each with all of its threads"),
    key!(set "host_ranges", word::<HostRanges>(), job.host_ranges, "`whole`", "`whole`: each host works on the whole range; `divided`: on a part of its own, all blocks once"),
    key!(set "sharing", word::<TargetSharing>(), job.sharing, "`shared`", "`shared`: each thread uses all targets; `per-thread`: thread i uses target i modulo their number"),
    key!(set "selection", word::<TargetSelection>(), job.selection, "`round-robin`", "which target is next: `round-robin`, `random`, `sequential` (each to its end)"),
    key!(none "open_targets", count_u32(1, u32::MAX), job.open_targets, "all", "at most this many targets of a thread have I/O at a time, the next one where one is done, as fio's `openfiles`"),
    key!(none "seed", JOB_SEED, job.seed, "that of the plan", "a number: the seed of what this job draws; `\"fresh\"`: another one in each run"),
    key!(set "offset", EXTENT, job.offset, "0", "an extent: where the active range begins in each target"),
    key!(set "offset_increment", EXTENT, job.offset_increment, "0", "an extent: added to `offset` once for each thread index"),
    key!(none "length", LENGTH, job.length, "to the end", "an extent: the length of the active range"),
    key!(some "op", word::<OpKind>(), mix.op, "required, or per cents", "`read`, `write` or `trim`", MIX_KEYS),
    key!(some "read_percent", PERCENT, mix.read_percent, "the rest", "the share of reads; the total is 100", MIX_KEYS),
    key!(some "write_percent", PERCENT, mix.write_percent, "the rest", "the share of writes", MIX_KEYS),
    key!(some "trim_percent", PERCENT, mix.trim_percent, "0", "the share of trims", MIX_KEYS),
    key!(some "block_size", SIZES, sizes, "required", "see below"),
    key!(none "align", BLOCK_SIZE, job.pattern.align_bytes, "the smallest block of the mix", "blocks begin at multiples of this, counted from `offset`"),
    key!(some "pattern", PLACEMENT, placement, "required", "see below"),
    key!(set "repeat_passes", FLAG, job.pattern.repeat_passes, "`false`", "`true`: each further pass of a thread over its range repeats the first, block by block, as fio does by default"),
    key!(none "strides", STRIDES, job.strides, "the whole range at once", "`{ zone = \"1MiB\", turn = \"1MiB\", skip = \"7MiB\" }`: zones of the range one after the other, as fio's `zonemode=strided`; for jobs on one target"),
    key!(none "file_operation", word::<FileOperation>(), job.file_operation, "data is read or written", "each I/O is one call on its file, as those of fio's engines `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`, `falloc` and `ftruncate`: `create-file`, `stat-file`, `lstat-file`, `statx-file`, `delete-file`; the same with `-directory`; `allocate` (reads reserve space, writes extend the file, trims punch holes), `truncate` (to the offset of the write). All but the last two use one block of each target"),
    key!(none "tree", TREE, job.tree, "block I/O", "a file-tree workload instead of block I/O, see below"),
    key!(none "application", APPLICATION, job.application, "block I/O", "`{ kind = \"oltp\", .. }`: an application instead of block I/O, with its settings, see below"),
    key!(set "service_level", LEVELS, job.service_levels, "none", "`\"p95<20ms\"`, `\"new-order p95<50ms\"`, or a list: latencies that the job has to keep, see below"),
];

const PACE: &[Key<Draft>] = &[
    key!(set "threads", count_u32(1, THREADS_MAX), job.threads, "1", "threads; 1 to 16384"),
    key!(set "outstanding", count_u32(1, OUTSTANDING_MAX), job.outstanding_per_thread, "1", "outstanding I/Os of each thread; 1 to 65536"),
    key!(set "rate", RATE, job.rate, "`\"unlimited\"`", "the target rate, over all threads of the job"),
    key!(set "arrival", word::<Arrival>(), job.arrival, "`deterministic`", "spacing of the I/Os at a target rate: `deterministic`, `poisson`, `uniform`"),
    key!(none "think_time", THINK, job.think_time, "none", "a pause after each I/O, or `{ time = \"10ms\", every_ios = 8 }`"),
    key!(none "flow", FLOW, job.flow, "none", "`{ weight = 8 }`: the threads of all jobs with a flow of one `id` do operations in the proportion of their weights"),
    key!(none "runtime", RUNTIME, job.limits.time, "not limited", "measured time, after the ramp"),
    key!(none "bytes", SIZE, job.limits.bytes, "not limited", "bytes of each thread"),
    key!(none "ios", count(1, u64::MAX), job.limits.ios, "not limited", "I/Os of each thread"),
    key!(none "passes", count_u32(1, u32::MAX), job.limits.passes, "not limited", "passes of each thread over its range"),
    key!(none "ends_with", word::<EndsWith>(), job.limits.ends_with, "", "`\"first\"`: the first thread that ends, of any job of the phase with this value, ends them all; `\"others\"`: the job ends when all jobs of the phase without this value have ended"),
    key!(none "ends_steady", STEADY, job.limits.steady, "", "the job ends when it is steady, see below"),
    key!(set "ramp", TIME, job.ramp, "0", "a time at the start that is not measured"),
    key!(set "start_delay", TIME, job.start_delay, "0", "a time the job waits when the phase starts"),
    key!(set "delay_from_run", FLAG, job.delay_from_run, "`false`", "`true`: `start_delay` counts from the start of the run; what is over when the phase starts is not waited for"),
];

const DATA: &[Key<Draft>] = &[
    key!(set "content", CONTENT, job.content, "random, all blocks different", "what writes carry, see below"),
    key!(set "flush", FLUSH, job.flush, "nothing", "what makes writes durable, see below"),
    key!(set "caching", word::<Caching>(), job.caching, "`auto`", "`direct`, `buffered`, or `auto`: direct where the target supports it"),
    key!(set "invalidate", FLAG, job.invalidate, "`true`", "`true`: drop the target's clean pages before the job"),
    key!(set "invalidate_each_pass", FLAG, job.invalidate_each_pass, "`true`", "`true`: drop them again before each further pass of a thread over its range, as fio does"),
    key!(set "empty_each_pass", FLAG, job.empty_each_pass, "`false`", "`true`: cut its files to nothing before each further pass of a thread over its range, so that each pass allocates anew, as fio's `unlink_each_loop`; for jobs that only write"),
    key!(set "access_hint", FLAG, job.access_hint, "`false`", "`true`: tell the kernel for buffered I/O whether access is random or sequential (`posix_fadvise`), as fio does"),
    key!(set "layout", word::<FileLayout>(), job.layout, "`as-needed`", "what files are made of before the job: `as-needed`: data as far as it reads or trims, else they grow by its writes; for their whole size, jobs that only write: `length` without space, `allocated`, `reserved` (the length grows by writes); `data`"),
    key!(set "trim_first", FLAG, job.trim_first, "`false`", "`true`: each write follows a trim of the same block, as fio's `rw=trimwrite`; limits count both"),
    key!(set "remove_files", FLAG, job.remove_files, "`false`", "`true`: remove the job's files when the run has ended: those that Assay made, or that `--destroy-data` names"),
    key!(set "engine", word::<EngineKind>(), job.engine, "`auto`", "`auto`, `io_uring`, `libaio`, `psync`, `posix-aio`, `null`, `fio`, `sim`"),
    key!(set "engine_options", ENGINE_OPTIONS, job.engine_options, "none", "options of the engine, see below"),
    key!(set "errors_tolerated", count(0, u64::MAX), job.errors_tolerated, "0: the first one ends the job", "continue after this many errors"),
];
