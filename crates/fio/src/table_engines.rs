//! fio's ioengines with their private options. Pure data.

use super::table;
use super::table::{Effect, EngineEntry, EngineFate, Entry, Kind, lost, option, words};
use Effect::{Inert, Rule};
use EngineFate::{Foreign, Native, Nearest};
use Kind::{Any, Bool, Flag, Int, Word};

const PRIORITY: &str = "I/O carries no priority per command";
const IONICE: &str = "ionice assay run";
const USE_FIO: &str = "fio itself does it: assay judge -- fio <job file>";
const FOREIGN: &str = "it belongs to an engine that does not run here";

/// Private options of an engine that does not run here, by their names.
const fn foreign<const N: usize>(names: &'static str) -> [Entry; N] {
    let names = words::<N>(names);
    let mut all = [option("", Any, lost(FOREIGN, "")); N];
    let mut index = 0;
    while index < N {
        all[index].name = names[index];
        index += 1;
    }
    all
}

static LIBAIO: &[Entry] = &[
    option(
        "userspace_reap",
        Flag,
        Inert("completions are read from user space where the kernel's ring allows it"),
    ),
    option("cmdprio_percentage", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 100).unless(&["0"]),
    option("cmdprio_class", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 3),
    option("cmdprio_hint", Kind::Triple, lost(PRIORITY, IONICE)),
    option("cmdprio", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 7),
    option("cmdprio_bssplit", Kind::Any, lost(PRIORITY, IONICE)),
    option("nowait", Bool, lost("a request that would block is not refused", "")).unless(&["0"]),
];

static IO_URING: &[Entry] = &[
    option("hipri", Flag, Rule(table::Rule::Engine)),
    option("cmdprio_percentage", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 100).unless(&["0"]),
    option("cmdprio_class", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 3),
    option("cmdprio_hint", Kind::Triple, lost(PRIORITY, IONICE)),
    option("cmdprio", Kind::Triple, lost(PRIORITY, IONICE)).range(0, 7),
    option("cmdprio_bssplit", Kind::Any, lost(PRIORITY, IONICE)),
    option("fixedbufs", Flag, Inert("buffers are registered wherever the ring allows it")),
    option("registerfiles", Flag, Inert("files are registered wherever the ring allows it")),
    option("sqthread_poll", Flag, Rule(table::Rule::Engine)),
    option("sqthread_poll_cpu", Int, lost("the submitting kernel thread is not bound to a processor", "")),
    option("nonvectored", Int, Inert("requests are never vectored")).min(-1),
    option("uncached", Int, lost("buffered I/O goes through the page cache", "direct=1")).unless(&["0"]),
    option("nowait", Bool, lost("a request that would block is not refused", "")).unless(&["0"]),
    option("force_async", Int, lost("requests are not forced to kernel workers", "")).unless(&["0"]),
    option(
        "cmd_type",
        Word(&["nvme"]),
        lost("no NVMe commands are passed through", "io_uring on the block device"),
    ),
    option("md_per_io_size", Int, lost("no NVMe metadata is transferred", USE_FIO)).unless(&["0"]),
    option("pi_act", Bool, lost("no NVMe protection information is used", USE_FIO)),
    option("pi_chk", Any, lost("no NVMe protection information is used", USE_FIO)),
    option("apptag", Int, lost("no NVMe protection information is used", USE_FIO)),
    option("apptag_mask", Int, lost("no NVMe protection information is used", USE_FIO)),
    option("deac", Bool, lost("no NVMe commands are passed through", USE_FIO)).unless(&["0"]),
    option("readfua", Bool, lost("reads do not carry FUA", USE_FIO)).unless(&["0"]),
    option("writefua", Bool, lost("writes do not carry FUA", "sync=dsync")).unless(&["0"]),
    option("write_mode", Any, lost("no NVMe commands are passed through", USE_FIO)).unless(&["write"]),
    option("verify_mode", Any, lost("no NVMe commands are passed through", USE_FIO)).unless(&["read"]),
];

static PVSYNC2: &[Entry] = &[
    option(
        "hipri",
        Flag,
        lost("completions of synchronous I/O are not polled for", "ioengine=io_uring with hipri"),
    )
    .unless(&["0"]),
    option(
        "hipri_percentage",
        Int,
        lost("completions of synchronous I/O are not polled for", "ioengine=io_uring with hipri"),
    )
    .range(0, 100),
    option("uncached", Int, lost("buffered I/O goes through the page cache", "direct=1")).unless(&["0"]),
    option("nowait", Bool, lost("a request that would block is not refused", "")).unless(&["0"]),
    option("atomic_writes", Bool, lost("writes are not sent as atomic writes", "")).unless(&["0"]),
];

static MMAP: &[Entry] = &[option("thp", Bool, lost("no memory mapping is used", "")).unless(&["0"])];

static SG: &[Entry] = &[
    option("hipri", Flag, lost("SCSI commands are not passed through", USE_FIO)).unless(&["0"]),
    option("readfua", Bool, lost("reads do not carry FUA", USE_FIO)).unless(&["0"]),
    option("writefua", Bool, lost("writes do not carry FUA", "sync=dsync")).unless(&["0"]),
    option("sg_write_mode", Any, lost("SCSI commands are not passed through", USE_FIO)).unless(&["write"]),
    option("stream_id", Int, lost("SCSI commands are not passed through", USE_FIO)).unless(&["0"]),
];

static CPUIO: &[Entry] = &foreign::<4>("cpuload cpuchunks cpumode exit_on_io_done");
static NET: &[Entry] = &[
    option("hostname", Any, lost(FOREIGN, "")),
    option("port", Any, lost(FOREIGN, "")),
    option("protocol", Any, lost(FOREIGN, "")).or(&["proto"]),
    option("nodelay", Any, lost(FOREIGN, "")),
    option("listen", Any, lost(FOREIGN, "")),
    option("pingpong", Any, lost(FOREIGN, "")),
    option("interface", Any, lost(FOREIGN, "")),
    option("ttl", Any, lost(FOREIGN, "")),
    option("window_size", Any, lost(FOREIGN, "")),
    option("mss", Any, lost(FOREIGN, "")),
];
static RDMA: &[Entry] = &[
    option("hostname", Any, lost(FOREIGN, "")),
    option("bindname", Any, lost(FOREIGN, "")),
    option("port", Any, lost(FOREIGN, "")),
    option("verb", Any, lost(FOREIGN, "")).or(&["proto"]),
];
static EXEC: &[Entry] = &foreign::<4>("program arguments grace_time std_redirect");
static FILESTAT: &[Entry] =
    &[option("stat_type", Word(&["stat", "lstat", "statx"]), Inert("attributes are read with statx"))];
static E4DEFRAG: &[Entry] = &foreign::<2>("donorname inplace");
static GFAPI: &[Entry] = &foreign::<3>("volume brick single-instance");
static MTD: &[Entry] = &foreign::<1>("skip_bad");
static NBD: &[Entry] = &foreign::<1>("uri");
static RADOS: &[Entry] = &foreign::<6>("clustername pool clientname conf busy_poll touch_objects");
static RBD: &[Entry] = &foreign::<5>("clustername rbdname pool clientname busy_poll");
static HTTP: &[Entry] = &foreign::<15>(
    "https http_host http_user http_pass http_s3_key http_s3_keyid http_s3_security_token http_s3_region \
     http_s3_sse_customer_key http_s3_sse_customer_algorithm http_s3_storage_class http_swift_auth_token \
     http_object_mode http_mode http_verbose",
);
static NFS: &[Entry] = &foreign::<1>("nfs_url");
static HDFS: &[Entry] =
    &foreign::<7>("namenode hostname port hdfsdirectory chunk_size single_instance hdfs_use_direct");
static DFS: &[Entry] = &foreign::<5>("pool cont chunk_size object_class svcl");
static ISCSI: &[Entry] = &foreign::<1>("initiator");
static BLKIO: &[Entry] = &foreign::<11>(
    "libblkio_driver libblkio_path libblkio_pre_connect_props libblkio_num_entries libblkio_queue_size \
     libblkio_pre_start_props hipri libblkio_vectored libblkio_write_zeroes_on_trim libblkio_wait_mode \
     libblkio_force_enable_completion_eventfd",
);
static GPU: &[Entry] = &foreign::<3>("gpu_dev_ids cuda_io rocm_io");
static XNVME: &[Entry] = &foreign::<15>(
    "hipri sqthread_poll xnvme_be xnvme_mem xnvme_async xnvme_sync xnvme_admin xnvme_dev_nsid \
     xnvme_dev_subnqn xnvme_iovec md_per_io_size pi_act pi_chk apptag apptag_mask",
);
static RPMA: &[Entry] = &foreign::<4>("serverip port direct_write_to_pmem busy_wait_polling");

const fn engine(
    name: &'static str,
    options: &'static [Entry],
    asynchronous: bool,
    fate: EngineFate,
) -> EngineEntry {
    EngineEntry { name, options, asynchronous, fate }
}

const NETWORK: EngineFate = Foreign("it measures a network, not storage");
const CEPH: EngineFate = Foreign("map the image as a block device (rbd map) and name the device");
const CLUSTER: EngineFate = Foreign("mount the storage and name a file on it");
const PMEM: EngineFate = Foreign("put a file system on the memory and name a file on it");
const FILE_TREE: EngineFate = Foreign("a vdbench-like file tree workload (fsd, fwd) does this");
const PASSTHROUGH: EngineFate = Foreign("name the block device and use ioengine=io_uring");

/// Every engine of fio 3.42.
pub(super) static ENGINES: &[EngineEntry] = &[
    engine("psync", &[], false, Native("psync")),
    engine("sync", &[], false, Native("psync")),
    engine("vsync", &[], false, Nearest("psync", "neighbouring requests are not gathered into one call")),
    engine("pvsync", &[], false, Native("psync")),
    engine("pvsync2", PVSYNC2, false, Native("psync")),
    engine("io_uring", IO_URING, true, Native("io_uring")),
    engine("libaio", LIBAIO, true, Native("libaio")),
    engine("posixaio", &[], true, Native("posix-aio")),
    engine("solarisaio", &[], true, Nearest("posix-aio", "this is not Solaris")),
    engine(
        "windowsaio",
        &[option("no_completion_thread", Flag, Inert("this is not Windows"))],
        true,
        Nearest("libaio", "this is not Windows"),
    ),
    engine("null", &[], false, Native("null")),
    engine("cpp_null", &[], false, Nearest("null", "it is fio's example of an engine in another language")),
    engine(
        "mmap",
        MMAP,
        false,
        Nearest("psync", "pages are read and written by calls, not by touching a mapping"),
    ),
    engine(
        "splice",
        &[],
        false,
        Nearest("psync", "data is copied through buffers, not spliced through a pipe"),
    ),
    engine("sg", SG, false, Nearest("psync", "requests go through the block layer, not as SCSI commands")),
    engine("io_uring_cmd", IO_URING, true, PASSTHROUGH),
    engine("xnvme", XNVME, true, PASSTHROUGH),
    engine("libblkio", BLKIO, true, PASSTHROUGH),
    engine("libzbc", &[], false, Foreign("zoned devices are not driven")),
    engine("net", NET, false, NETWORK),
    engine("netsplice", NET, false, NETWORK),
    engine("rdma", RDMA, true, NETWORK),
    engine("librpma_apm_client", RPMA, true, NETWORK),
    engine("librpma_apm_server", RPMA, true, NETWORK),
    engine("librpma_gpspm_client", RPMA, true, NETWORK),
    engine("librpma_gpspm_server", RPMA, true, NETWORK),
    engine(
        "cpuio",
        CPUIO,
        false,
        Foreign("it burns processor time and does no I/O; start such a load beside the run"),
    ),
    engine("exec", EXEC, false, Foreign("it runs a program and does no I/O")),
    engine("falloc", &[], false, FILE_TREE),
    engine("ftruncate", &[], false, FILE_TREE),
    engine("filecreate", &[], false, FILE_TREE),
    engine("filestat", FILESTAT, false, FILE_TREE),
    engine("filedelete", &[], false, FILE_TREE),
    engine("dircreate", &[], false, FILE_TREE),
    engine("dirstat", FILESTAT, false, FILE_TREE),
    engine("dirdelete", &[], false, FILE_TREE),
    engine("e4defrag", E4DEFRAG, false, Foreign("it moves the extents of files and is no workload")),
    engine("rbd", RBD, true, CEPH),
    engine("rados", RADOS, true, CEPH),
    engine("gfapi", GFAPI, false, CLUSTER),
    engine("gfapi_async", GFAPI, true, CLUSTER),
    engine("libhdfs", HDFS, false, CLUSTER),
    engine(
        "http",
        HTTP,
        false,
        Foreign("object stores are not driven; mount the bucket and name a file on it"),
    ),
    engine("nfs", NFS, true, CLUSTER),
    engine("nbd", NBD, true, Foreign("attach it with nbd-client and name the block device")),
    engine("dfs", DFS, true, CLUSTER),
    engine("libiscsi", ISCSI, true, Foreign("log in with iscsiadm and name the block device")),
    engine("ime_psync", &[], false, CLUSTER),
    engine("ime_psyncv", &[], false, CLUSTER),
    engine("ime_aio", &[], true, CLUSTER),
    engine("mtd", MTD, false, Foreign("flash without a block layer is not driven")),
    engine("dev-dax", &[], false, PMEM),
    engine("libpmem", &[], false, PMEM),
    engine("pmemblk", &[], false, PMEM),
    engine("libcufile", GPU, false, Foreign("transfers to graphics processors are not driven")),
    engine("libhipfile", GPU, false, Foreign("transfers to graphics processors are not driven")),
    engine("page_fault", &[], false, Foreign("it measures page faults of anonymous memory")),
];
