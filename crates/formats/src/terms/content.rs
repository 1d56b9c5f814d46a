//! What is written, how it is made durable, and what is done about errors.

use super::{Example, Term};

pub(super) const TERMS: &[Term] = &[
    Term {
        name: "flush",
        title: "Flush",
        fio: &["fsync", "fdatasync", "end_fsync", "fsync_on_close"],
        vdbench: &["openflags", "fsync"],
        snia: &[],
        assay: &["flush", "every_writes", "at_end"],
        also: &["fsync", "durable", "commit"],
        meaning: "A call that returns when what was written is on stable storage: after every so many writes, or at the \
                  end. It is what a database waits for at each commit.",
        traps: &[
            "fio: with several I/Os in flight an fsync is queued like any other request and may overtake the write \
             before it; none follows the last write.",
            "vdbench flushes at the end (openflags=fsync) or opens with O_DSYNC; never in between.",
            "A flush that is implausibly fast did not reach the medium: see volatile-write-cache.",
        ],
        example: Example {
            fio: "rw=write\nfsync=1",
            vdbench: "sd=sd1,lun=a.bin,size=64m,openflags=fsync",
            plan: "flush = { call = \"fsync\", every_writes = 1 }",
        },
    },
    Term {
        name: "open-sync",
        title: "Synchronous writes",
        fio: &["sync"],
        vdbench: &["openflags", "o_sync", "o_dsync"],
        snia: &[],
        assay: &["flush", "open"],
        also: &["O_SYNC", "O_DSYNC"],
        meaning: "A file opened with O_DSYNC or O_SYNC makes each write durable before it completes; O_SYNC also its \
                  time stamps.",
        traps: &["vdbench on x86 opens with O_DSYNC whichever of the two it is asked for."],
        example: Example {
            fio: "sync=dsync",
            vdbench: "sd=sd1,lun=a.bin,size=64m,openflags=o_dsync",
            plan: "flush = { open = \"dsync\" }",
        },
    },
    Term {
        name: "content",
        title: "Written data",
        fio: &["buffer_pattern", "refill_buffers", "scramble_buffers", "zero_buffers"],
        vdbench: &["pattern"],
        snia: &["Data Pattern"],
        assay: &["content", "payload", "refresh"],
        also: &["buffer contents", "random data", "zeros"],
        meaning: "The bytes that writes carry. SNIA asks for random data; so does Assay by default, with no two blocks \
                  alike.",
        traps: &[
            "Zeros are cheap everywhere: thin layers do not store them, and reads of them need no medium.",
            "fio writes the same random buffer again and again, with a stamp in every 512 bytes; refill_buffers makes \
             new data for each write and costs processor time.",
        ],
        example: Example {
            fio: "refill_buffers",
            vdbench: "",
            plan: "content = { payload = \"random\", refresh = \"every-write\" }",
        },
    },
    Term {
        name: "compression",
        title: "Compressible data",
        fio: &["buffer_compress_percentage", "buffer_compress_chunk"],
        vdbench: &["compratio", "compression"],
        snia: &[],
        assay: &["compression_ratio"],
        also: &["compression ratio", "data reduction"],
        meaning: "How far a compressing target can shrink what is written: 2 is to half. 1 cannot be compressed.",
        traps: &[
            "fio takes the per cent that is saved (50), vdbench and Assay the ratio (2).",
            "What is saved depends on the target's own algorithm and block size.",
        ],
        example: Example {
            fio: "buffer_compress_percentage=50",
            vdbench: "compratio=2",
            plan: "content = { compression_ratio = 2.0 }",
        },
    },
    Term {
        name: "dedup",
        title: "Duplicate data",
        fio: &["dedupe_percentage", "dedupe_mode", "dedupe_working_set_percentage"],
        vdbench: &["dedupratio", "dedupunit", "dedupsets"],
        snia: &[],
        assay: &["dedup_ratio", "dedup_unit"],
        also: &["deduplication"],
        meaning: "How often the same block is written: a ratio of 4 leaves a quarter of distinct blocks. The unit is the \
                  size within which duplicates are made, and should be that of the target.",
        traps: &["A unit that differs from the target's finds no duplicates at all."],
        example: Example {
            fio: "dedupe_percentage=75",
            vdbench: "dedupratio=4,dedupunit=4k",
            plan: "content = { dedup_ratio = 4.0, dedup_unit = \"4k\" }",
        },
    },
    Term {
        name: "verify",
        title: "Data validation",
        fio: &["verify", "do_verify", "verify_pattern", "verify_fatal"],
        vdbench: &["validate", "journal", "data_errors"],
        snia: &[],
        assay: &["verify"],
        also: &["data integrity", "checksum", "corruption"],
        meaning: "Blocks say what they are (place, number, checksum), so that a later read finds lost, torn and \
                  misplaced writes.",
        traps: &[
            "vdbench checks against a map in memory; only a journal survives the process.",
            "fio: a time_based job that only writes never comes to its verifying reads without verify_backlog.",
            "Checking costs processor time: figures of such a run are not those of the storage.",
        ],
        example: Example { fio: "rw=write\nverify=crc32c", vdbench: "", plan: "" },
    },
    Term {
        name: "errors-tolerated",
        title: "Errors",
        fio: &["continue_on_error", "ignore_error", "max_latency"],
        vdbench: &["data_errors", "dataerrors"],
        snia: &[],
        assay: &["errors_tolerated", "errors"],
        also: &["stop on error"],
        meaning: "How many I/O errors a job survives. By default the first one ends it, and the run says so.",
        traps: &[
            "vdbench goes on until the fiftieth; fio with continue_on_error tolerates EIO and EILSEQ only.",
        ],
        example: Example {
            fio: "continue_on_error=all",
            vdbench: "data_errors=10",
            plan: "errors_tolerated = 10",
        },
    },
    Term {
        name: "seed",
        title: "Seed",
        fio: &["randseed", "randrepeat", "allrandrepeat"],
        vdbench: &["compressionseed"],
        snia: &[],
        assay: &["seed", "repeat_passes"],
        also: &["repeatable", "reproducible", "random numbers"],
        meaning: "The number that all random choices derive from. The same seed replays the same operations; Assay \
                  prints and stores the one it used.",
        traps: &[
            "fio repeats the same addresses in every run and loop (randrepeat=1), so that a second run reads what the \
             first one cached, and rewrites what it wrote in the order in which it lies there. A job file means the same \
             here; randrepeat=0 draws others, as a plan without a seed does.",
            "The addresses of two tools differ even with the same seed.",
        ],
        example: Example { fio: "randseed=42", vdbench: "", plan: "" },
    },
];
