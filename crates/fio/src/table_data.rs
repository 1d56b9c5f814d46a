//! The core options of fio 3.42, one entry each, in the order of its manual. Pure data.
//!
//! Names, shapes and ranges are facts of the format; what becomes of each option here is decided in this table.

use super::table::{Entry, Kind, option};
use Kind::{
    Bool, ByteSpan, Cpus, Distribution, ErrorGroups, Files, Flag, Floats, Int, LastInt, OptionalText,
    Pattern, Ranges, Refused, Size, Split, Steady, Text, Time, TimeSpan, Triple, Word, Words,
};

const SECONDS: Kind = Time { seconds: true };
const MICROS: Kind = Time { seconds: false };
const RW: Kind = Word(&[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
]);
const VERIFY: Kind = Word(&[
    "0",
    "none",
    "md5",
    "crc64",
    "crc32",
    "crc32c-intel",
    "crc32c",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "pattern_hdr",
    "null",
]);
const SERVICE: Kind = Word(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]);
const MEM: Kind = Word(&["malloc", "shm", "shmhuge", "mmap", "mmaphuge", "mmapshared", "cudamalloc"]);

const LOGS: &str = "every run keeps its per-interval series; `assay report --csv` writes them out";
const OWN_REPORT: &str = "it shapes fio's own report; every percentile and counter is in the run anyway";
const OWN_CHECKS: &str = "it belongs to verify, which is said to be lost where it is asked for";
const NO_VERIFY: &str = "written data is not read back and checked";
const NO_FLOOR: &str = "a job below its rate goes on";
const NO_FLOW: &str = "the shares of the jobs are not coupled";
const ANY_CPU: &str = "threads may run on every processor";
const NO_REPLAY: &str = "traces are not replayed from a job file";
const ZONED: &str = "zoned block devices are not driven";
const TIOBENCH: &str = "it belongs to fio's tiobench profile; in a job fio takes it and ignores it (numjobs, bs, loops, directory?)";
const ACT: &str = "it belongs to fio's act profile; in a job fio takes it and ignores it";
const USE_FIO: &str = "fio itself does it: assay judge -- fio <job file>";

/// Every core option.
pub(super) static OPTIONS: &[Entry] = &[
    // Job description.
    option("description", Text).moot("it describes the job to people; nothing is done with it"),
    option("name", Text),
    option("wait_for", Text),
    option("loops", Int).min(1),
    option("numjobs", Int),
    // Time.
    option("runtime", SECONDS).or(&["timeout"]),
    option("time_based", Flag),
    option("startdelay", TimeSpan),
    option("ramp_time", SECONDS),
    option("ramp_size", Int).lost("the ramp by bytes", "ramp_time"),
    option("clocksource", Word(&["gettimeofday", "clock_gettime", "cpu"]))
        .moot("times always come from the monotonic clock"),
    option("gtod_reduce", Bool).moot("latencies are always measured; their cost is in the result"),
    option("gtod_cpu", Int).moot("no processor is set aside for the clock"),
    option("job_start_clock_id", Int).moot("job starts are recorded with the wall clock and the monotonic clock"),
    // Target file or device.
    option("directory", Text),
    option("filename", Files),
    option("filename_format", Text),
    option("unique_filename", Bool).moot("it concerns fio's client and server mode only"),
    option("opendir", Text).lost("files found below a directory are not added to the job", "name them with filename"),
    option("lockfile", Word(&["none", "exclusive", "readwrite"]))
        .lost("files are not locked between jobs", "one job per file").unless(&["none"]),
    option("nrfiles", Int).or(&["nr_files"]).min(1),
    option("openfiles", Int).lost("all files of a job stay open", "fewer nrfiles"),
    option("file_service_type", SERVICE),
    option("filetype", Word(&["none", "file", "block", "char"]))
        .moot("the type of a target is read from the target"),
    option("ioscheduler", Text).lost("the I/O scheduler of the device is not switched", "set it in /sys/block/<device>/queue/scheduler before the run"),
    option("create_serialize", Bool).moot("files are laid out before any job starts"),
    option("create_fsync", Bool).moot("files are synced after they are laid out"),
    option("create_on_open", Bool).lost("files are laid out before the start, not at their first opening", USE_FIO).unless(&["0"]),
    option("create_only", Bool).lost("the job would do its I/O after the layout", USE_FIO).unless(&["0"]),
    option("allow_file_create", Bool).lost("missing files are created", "remove the job or create the files").unless(&["1"]),
    option("allow_mounted_write", Bool).lost("writing to a mounted device needs explicit consent", "--destroy-data <device>").unless(&["0"]).reporting(),
    option("pre_read", Bool).lost("files are not read into the page cache before the start", "a first job that reads them, then stonewall").unless(&["0"]),
    option("unlink", Bool)
        .lost("files stay behind", "assay cleanup, or rm").unless(&["0"]).reporting(),
    option("unlink_each_loop", Bool).lost("files are kept between loops", "unlink=1 removes them at the end").unless(&["0"]),
    option("fallocate", Word(&["none", "native", "posix", "keep", "truncate", "0", "1"]))
        .moot("files are laid out with data before the phase starts"),
    option("fadvise_hint", Word(&["0", "1", "random", "sequential", "noreuse"]))
        .lost("the kernel is told the order of access as it is, and no other hint", "fadvise_hint=1 or 0").unless(&["0", "1"]),
    option("write_hint", Word(&["none", "short", "medium", "long", "extreme"]))
        .lost("writes carry no lifetime hint", "").unless(&["none"]),
    option("overwrite", Bool)
        .moot("files are laid out with data before the phase starts, and existing data is kept"),
    option("file_append", Bool).lost("I/O starts at the beginning of the file, not at its end", "offset=<size of the file>").unless(&["0"]),
    option("fill_device", Bool).or(&["fill_fs"]).lost("the job ends at its size, not when the device is full", "size=100%").unless(&["0"]),
    // I/O type.
    option("direct", Bool),
    option("buffered", Bool),
    option("atomic", Bool).lost("writes are not sent as atomic writes", "").unless(&["0"]),
    option("rw", RW).or(&["readwrite"]),
    option("rw_sequencer", Word(&["sequential", "identical"])),
    option("rwmixread", LastInt).range(0, 100),
    option("rwmixwrite", LastInt).range(0, 100),
    option("rwmixcycle", Refused("it was removed from fio; the mix is drawn per I/O")),
    option("percentage_random", Triple).range(0, 100),
    option("percentage_sequential", Refused("use percentage_random=<100 minus the value>")),
    option("unified_rw_reporting", Word(&["none", "mixed", "both", "0", "1", "2"]))
        .moot("reads, writes and their total are always reported"),
    option("randrepeat", Bool).or(&["allrandrepeat"]).reporting(),
    option("randseed", Int).reporting(),
    option("random_distribution", Distribution),
    option("random_sequence_stride", Bool).lost("sequence distributions are not generated", USE_FIO).unless(&["0"]),
    option("random_generator", Word(&["tausworthe", "lfsr", "tausworthe64"]))
        .moot("offsets come from one generator; with the random map they are a permutation"),
    option("norandommap", Flag),
    option("softrandommap", Bool).moot("the order of blocks is a permutation that needs no bitmap"),
    option("sprandom", Bool).lost("the device is not put into its random-write steady state by fio's method", "a precondition phase").unless(&["0"]),
    option("spr_num_regions", Int).lost("it belongs to sprandom, which is not done", "a precondition phase"),
    option("spr_op", Floats).lost("it belongs to sprandom, which is not done", "a precondition phase"),
    option("spr_cs", Int).lost("it belongs to sprandom, which is not done", "a precondition phase"),
    option("number_ios", Int),
    option("num_range", Int).lost("each trim names one range", "").unless(&["1"]),
    // Block size.
    option("bs", Triple).or(&["blocksize"]).min(1),
    option("ba", Triple).or(&["blockalign"]).min(1),
    option("bsrange", Ranges).or(&["blocksize_range"]).min(1),
    option("bssplit", Split),
    option("bs_unaligned", Flag).or(&["blocksize_unaligned"]),
    option("bs_is_seq_rand", Bool),
    // Region.
    option("size", Size),
    option("io_size", Size).or(&["io_limit"]),
    option("filesize", ByteSpan).min(1),
    option("offset", Size).or(&["fileoffset"]),
    option("offset_align", Int)
        .lost("an offset in per cent is not rounded up to it", "offset=<bytes>").unless(&["0"]),
    option("offset_increment", Size),
    // Zones.
    option("zonemode", Word(&["none", "strided", "zbd"])).lost(ZONED, "random_distribution=zoned_abs for strided access").unless(&["none"]),
    option("zonesize", Int).lost(ZONED, "random_distribution=zoned_abs for strided access").unless(&["0"]),
    option("zonecapacity", Int).lost(ZONED, USE_FIO).unless(&["0"]),
    option("zonerange", Int).lost(ZONED, USE_FIO).unless(&["0"]),
    option("zoneskip", Size).lost(ZONED, USE_FIO).unless(&["0"]),
    option("read_beyond_wp", Bool).lost(ZONED, USE_FIO).unless(&["0"]),
    option("max_open_zones", Int).lost(ZONED, USE_FIO).unless(&["0"]),
    option("job_max_open_zones", Int).lost(ZONED, USE_FIO).unless(&["0"]),
    option("ignore_zone_limits", Bool).lost(ZONED, USE_FIO).unless(&["0"]),
    option("zone_reset_threshold", Floats).lost(ZONED, USE_FIO),
    option("zone_reset_frequency", Floats).lost(ZONED, USE_FIO),
    option("recover_zbd_write_error", Bool).lost(ZONED, USE_FIO).unless(&["0"]),
    option("write_zone_remainder", Bool).lost(ZONED, USE_FIO).unless(&["0"]),
    option("fdp", Bool).lost("writes carry no data placement", USE_FIO).unless(&["0"]),
    option("dataplacement", Word(&["none", "fdp", "streams"])).or(&["data_placement"])
        .lost("writes carry no data placement", USE_FIO).unless(&["none"]),
    option("plid_select", Word(&["random", "roundrobin", "scheme"])).or(&["fdp_pli_select"])
        .lost("writes carry no data placement", USE_FIO),
    option("plids", Text).or(&["fdp_pli"]).lost("writes carry no data placement", USE_FIO),
    option("dp_scheme", Text).lost("writes carry no data placement", USE_FIO),
    // Buffers and memory.
    option("zero_buffers", Flag),
    option("refill_buffers", Flag),
    option("scramble_buffers", Bool),
    option("buffer_pattern", Pattern),
    option("buffer_compress_percentage", Int).range(0, 100),
    option("buffer_compress_chunk", Int)
        .lost("compressible content is made in units of 4 KiB", "").unless(&["4k", "4K", "4096"]),
    option("dedupe_percentage", Int).range(0, 100),
    option("dedupe_mode", Word(&["repeat", "working_set"]))
        .lost("duplicates repeat blocks of a small pool", "").unless(&["repeat"]),
    option("dedupe_working_set_percentage", Int).range(0, 100)
        .lost("duplicates repeat blocks of a small pool", ""),
    option("dedupe_global", Bool)
        .lost("each job has its own duplicates", "").unless(&["0"]),
    option("invalidate", Bool),
    option("sync", Word(&["none", "0", "sync", "1", "dsync"])),
    option("mem", MEM).or(&["iomem"]).lost("buffers come from anonymous memory", "").unless(&["malloc", "mmap"]),
    option("iomem_align", Int).or(&["mem_align"]).lost("buffers are aligned to pages", "").unless(&["0", "4k", "4K", "4096"]),
    option("hugepage-size", Int).lost("buffers do not use huge pages", ""),
    option("lockmem", Int).lost("no memory is pinned beside the job", "run it in a cgroup with a memory limit").unless(&["0"]),
    option("gpu_dev_id", Int).lost("no I/O goes to a graphics processor", USE_FIO),
    // Engine and depth.
    option("ioengine", Text),
    option("iodepth", Int).min(1),
    option("iodepth_batch", Int).or(&["iodepth_batch_submit"]),
    option("iodepth_batch_complete_min", Int).or(&["iodepth_batch_complete"]),
    option("iodepth_batch_complete_max", Int),
    option("iodepth_low", Int),
    option("serialize_overlap", Bool).lost("overlapping I/Os in flight are not held back", "iodepth=1").unless(&["0"]),
    option("io_submit_mode", Word(&["inline", "offload"]))
        .lost("submission and completion share one thread; a rate with rate_process=poisson is open loop anyway", "").unless(&["inline"]),
    // Rate.
    option("thinktime", MICROS),
    option("thinktime_spin", MICROS)
        .lost("pauses are not spent busy", "thinktime alone").unless(&["0"]),
    option("thinktime_blocks", Int),
    option("thinktime_blocks_type", Word(&["complete", "issue"]))
        .lost("completed I/Os count for pauses, not issued ones", "").unless(&["complete"]),
    option("thinktime_iotime", SECONDS)
        .lost("pauses do not wait for an amount of I/O time", "thinktime_blocks=<n>").unless(&["0"]),
    option("thinkcycles", Int).lost("no processor cycles are burnt between I/Os", "thinktime_spin").unless(&["0"]),
    option("rate", Triple),
    option("rate_min", Triple).or(&["ratemin"])
        .lost(NO_FLOOR, "the check rate-not-reached says it").unless(&["0"]),
    option("rate_iops", Triple),
    option("rate_iops_min", Triple)
        .lost(NO_FLOOR, "the check rate-not-reached says it").unless(&["0"]),
    option("rate_process", Word(&["linear", "poisson"])),
    option("rate_cycle", Int).or(&["ratecycle"])
        .moot("arrivals are planned ahead, not averaged over a cycle"),
    option("rate_ignore_thinktime", Bool),
    option("flow_id", Int)
        .lost(NO_FLOW, "rate_iops for each job"),
    option("flow", Int).min(-1000)
        .lost(NO_FLOW, "rate_iops for each job").unless(&["0"]),
    option("flow_watermark", Int).moot("fio ignores it too"),
    option("flow_sleep", Int)
        .lost(NO_FLOW, "rate_iops for each job").unless(&["0"]),
    // Latency.
    option("latency_target", MICROS),
    option("latency_window", MICROS),
    option("latency_percentile", Floats),
    option("latency_run", Bool),
    option("max_latency", MICROS)
        .lost("a slow I/O does not end the job", "the maximum is in the result").unless(&["0"]),
    // Syncing.
    option("fsync", Int),
    option("fdatasync", Int),
    option("sync_file_range", Words(&["wait_before", "write", "wait_after"]))
        .lost("sync_file_range is not called", "fdatasync=<n>"),
    option("end_fsync", Bool),
    option("end_syncfs", Bool)
        .lost("the file system is not synced at the end", "end_fsync=1").unless(&["0"]),
    option("fsync_on_close", Bool),
    option("write_barrier", Int).lost("no write barriers are sent", "fdatasync=<n>").unless(&["0"]),
    // Ordering of jobs.
    option("stonewall", Flag).or(&["wait_for_previous"]),
    option("new_group", Flag),
    option("group_reporting", Flag),
    option("thread", Flag).moot("each job runs in a thread; jobs share no memory that matters"),
    option("exitall", Flag),
    option("exit_what", Word(&["group", "stonewall", "all"])),
    option("exitall_on_error", Flag)
        .lost("a failing job does not end the others", ""),
    option("stats", Bool).lost("the job is reported like the others", "").unless(&["1"]).reporting(),
    // Traces.
    option("read_iolog", Text).lost(NO_REPLAY, "assay run --trace"),
    option("read_iolog_chunked", Bool).lost(NO_REPLAY, USE_FIO).unless(&["0"]),
    option("write_iolog", Text).lost("the I/Os are not written to a trace file", "assay run <job file> --trace <file>").reporting(),
    option("replay_no_stall", Bool).lost(NO_REPLAY, USE_FIO).unless(&["0"]),
    option("replay_redirect", Text).lost(NO_REPLAY, USE_FIO),
    option("replay_scale", Int).lost(NO_REPLAY, USE_FIO),
    option("replay_align", Int).lost(NO_REPLAY, USE_FIO),
    option("replay_time_scale", Int).min(1).lost(NO_REPLAY, USE_FIO),
    option("replay_skip", Text).lost(NO_REPLAY, USE_FIO),
    option("merge_blktrace_file", Text).lost(NO_REPLAY, USE_FIO),
    option("merge_blktrace_scalars", Floats).lost(NO_REPLAY, USE_FIO),
    option("merge_blktrace_iters", Floats).lost(NO_REPLAY, USE_FIO),
    // Processes.
    option("exec_prerun", Text).lost("no program is run before the job", "run it before assay"),
    option("exec_postrun", Text).lost("no program is run after the job", "run it after assay"),
    option("comm", Text).moot("threads carry the name of their job"),
    option("nice", Int).range(-20, 19).lost("the priority of the process is not changed", "nice -n <value> assay run").unless(&["0"]),
    option("prio", Int).range(0, 7).lost("I/O carries no priority", "ionice -n <value> assay run"),
    option("prioclass", Int).range(0, 3).lost("I/O carries no priority class", "ionice -c <value> assay run"),
    option("priohint", Int).range(0, 1023).lost("I/O carries no priority hint", ""),
    option("cpumask", LastInt)
        .lost(ANY_CPU, "taskset <mask> assay run"),
    option("cpus_allowed", Cpus)
        .lost(ANY_CPU, "taskset -c <list> assay run"),
    option("cpus_allowed_policy", Word(&["shared", "split"]))
        .moot("it belongs to cpus_allowed, which is said to be lost where it is asked for"),
    option("numa_cpu_nodes", Text).lost("jobs are not bound to memory nodes", "numactl --cpunodebind assay run"),
    option("numa_mem_policy", Text).lost("jobs are not bound to memory nodes", "numactl --membind assay run"),
    option("cgroup", Text).lost("the job is not put into a cgroup", "run assay in one"),
    option("cgroup_weight", Int).range(100, 1000).lost("the job is not put into a cgroup", "run assay in one"),
    option("cgroup_nodelete", Bool).moot("no cgroup is made"),
    option("uid", Int).lost("the job runs as the calling user", "sudo -u <user> assay run"),
    option("gid", Int).lost("the job runs as the calling group", "sudo -g <group> assay run"),
    // Verification.
    option("verify", VERIFY)
        .lost(NO_VERIFY, USE_FIO).unless(&["0", "none", "null"]),
    option("verify_only", Flag)
        .lost(NO_VERIFY, USE_FIO),
    option("do_verify", Bool).moot(OWN_CHECKS),
    option("verify_policy", Words(&["completed", "fsynced"])).moot(OWN_CHECKS),
    option("verifysort", Int).moot("fio ignores it too"),
    option("verifysort_nr", Int).moot("fio ignores it too"),
    option("verify_offset", LastInt).moot(OWN_CHECKS),
    option("verify_interval", Int).moot(OWN_CHECKS),
    option("verify_pattern", Pattern)
        .lost(NO_VERIFY, USE_FIO),
    option("verify_pattern_interval", Int).moot(OWN_CHECKS),
    option("verify_fatal", Bool).moot(OWN_CHECKS),
    option("verify_dump", Bool).moot(OWN_CHECKS),
    option("verify_async", Int).moot(OWN_CHECKS),
    option("verify_async_cpus", Text).moot(OWN_CHECKS),
    option("verify_backlog", Int).moot(OWN_CHECKS),
    option("verify_backlog_batch", Int).moot(OWN_CHECKS),
    option("experimental_verify", Bool).moot(OWN_CHECKS),
    option("verify_state_save", Bool).moot("no state file is left"),
    option("verify_state_load", Bool).lost("fio's saved verify state is not read", USE_FIO).unless(&["0"]),
    option("verify_write_sequence", Bool).moot(OWN_CHECKS),
    option("verify_header_seed", Bool).moot(OWN_CHECKS),
    option("trim_percentage", Int).range(0, 100).lost("written blocks are not trimmed and checked for zeros", "rw=trimwrite").unless(&["0"]),
    option("trim_verify_zero", Bool).lost("written blocks are not trimmed and checked for zeros", "rw=trimwrite"),
    option("trim_backlog", Int).lost("written blocks are not trimmed and checked for zeros", "rw=trimwrite").unless(&["0"]),
    option("trim_backlog_batch", Int).lost("written blocks are not trimmed and checked for zeros", "rw=trimwrite").unless(&["0"]),
    // Steady state.
    option("steadystate", Steady).or(&["ss"]),
    option("steadystate_duration", SECONDS).or(&["ss_dur"]),
    option("steadystate_ramp_time", SECONDS).or(&["ss_ramp"]),
    option("steadystate_check_interval", SECONDS).or(&["ss_interval"]),
    // Measurements and reporting.
    option("per_job_logs", Bool).moot(LOGS),
    option("write_bw_log", OptionalText).moot(LOGS),
    option("write_lat_log", OptionalText).moot(LOGS),
    option("write_hist_log", OptionalText).moot(LOGS),
    option("write_iops_log", OptionalText).moot(LOGS),
    option("log_entries", Int).range(1024, 1_048_576).moot(LOGS),
    option("log_avg_msec", Int).moot(LOGS),
    option("log_hist_msec", Int).moot(LOGS),
    option("log_hist_coarseness", Int).range(0, 6).moot(LOGS),
    option("log_window_value", Word(&["avg", "max", "both", "0", "1"])).or(&["log_max_value"]).moot(LOGS),
    option("log_offset", Bool).lost("single I/Os are not logged", "blktrace").unless(&["0"]).reporting(),
    option("log_prio", Bool).moot(LOGS),
    option("log_issue_time", Bool).lost("single I/Os are not logged", "blktrace").unless(&["0"]).reporting(),
    option("log_compression", Int).moot(LOGS),
    option("log_compression_cpus", Text).moot(LOGS),
    option("log_store_compressed", Bool).moot(LOGS),
    option("log_alternate_epoch", Bool).or(&["log_unix_epoch"]).moot(LOGS),
    option("log_alternate_epoch_clock_id", Int).moot(LOGS),
    option("block_error_percentiles", Bool).moot(OWN_REPORT),
    option("bwavgtime", Int).moot("the series has one point a second"),
    option("iopsavgtime", Int).moot("the series has one point a second"),
    option("disk_util", Bool).moot("device counters are always recorded"),
    option("disable_lat", Bool).moot("latencies are always measured; their cost is in the result"),
    option("disable_clat", Bool).moot("latencies are always measured; their cost is in the result"),
    option("disable_slat", Bool).moot("latencies are always measured; their cost is in the result"),
    option("disable_bw_measurement", Bool).or(&["disable_bw"]).moot("the series is always recorded"),
    option("slat_percentiles", Bool).moot(OWN_REPORT),
    option("clat_percentiles", Bool).moot(OWN_REPORT),
    option("lat_percentiles", Bool).moot(OWN_REPORT),
    option("percentile_list", Floats).range(0, 100).moot(OWN_REPORT),
    option("significant_figures", Int).range(1, 10).moot(OWN_REPORT),
    option("kb_base", Word(&["1024", "1000"])),
    option("unit_base", Word(&["0", "8", "1"])).moot(OWN_REPORT),
    // Errors.
    option("continue_on_error", Word(&["none", "read", "write", "io", "verify", "all", "0", "1"])),
    option("ignore_error", ErrorGroups)
        .lost("errors are counted, not told apart", "continue_on_error=all"),
    option("error_dump", Bool).moot("errors are always counted and kept with their place"),
    // Options of fio's built-in profiles, which fio takes in every job and ignores.
    option("threads", Int).moot(TIOBENCH),
    option("block", Int).moot(TIOBENCH),
    option("numruns", Int).moot(TIOBENCH),
    option("dir", Text).moot(TIOBENCH),
    option("device-names", Text).moot(ACT),
    option("load", Int).moot(ACT),
    option("test-duration", SECONDS).moot(ACT),
    option("threads-per-queue", Int).moot(ACT),
    option("read-req-num-512-blocks", Int).moot(ACT),
    option("large-block-op-kbytes", Int).moot(ACT),
    option("prep", Flag).moot(ACT),
    option("profile", Text).lost("fio's built-in profiles are not known here", USE_FIO),
];
