//! What is measured, and what it is called.

use super::{Example, Term};

const NOTHING: Example = Example { fio: "", vdbench: "", plan: "" };

pub(super) const TERMS: &[Term] = &[
    Term {
        name: "completion-latency",
        title: "Completion latency",
        fio: &["clat", "clat_ns"],
        vdbench: &["resp", "response time"],
        snia: &["Latency", "Response Time"],
        assay: &["completion_ns", "CompletionLatency"],
        also: &["latency", "service time"],
        meaning: "From the moment an I/O is handed over to the moment it is complete.",
        traps: &[
            "fio's clat begins when the engine has issued the I/O; where the call itself waits (buffered libaio), the \
             time is in slat.",
            "vdbench's response time is the system call alone, in whole microseconds.",
            "Where several completions are collected at once, a stamp is as late as the collection.",
        ],
        example: NOTHING,
    },
    Term {
        name: "submit-latency",
        title: "Submit latency",
        fio: &["slat", "slat_ns"],
        vdbench: &[],
        snia: &[],
        assay: &["submit_ns", "SubmitLatency"],
        also: &[],
        meaning: "Time in the call that hands I/Os to the kernel. It is the generator's own work, unless the call waits.",
        traps: &["fio's slat includes the time an I/O waited to be submitted with others of a batch."],
        example: NOTHING,
    },
    Term {
        name: "response-time",
        title: "Response time",
        fio: &["lat", "lat_ns"],
        vdbench: &[],
        snia: &["Response Time"],
        assay: &["response_ns", "ResponseTime"],
        also: &["coordinated omission", "latency under load"],
        meaning: "From the moment an I/O should have arrived to its completion. Only a run with a rate has it. It holds \
                  the wait that a user would feel while the storage, or the generator, was behind.",
        traps: &[
            "fio's lat begins when the I/O is made, and vdbench's response time when the call begins: neither holds the \
             wait before that, so that a stall of a second costs one slow I/O and not a thousand.",
            "Dropping late arrivals hides the same thing.",
        ],
        example: Example { fio: "rate_iops=1000", vdbench: "", plan: "rate = 1000" },
    },
    Term {
        name: "percentile",
        title: "Percentile",
        fio: &["percentile_list", "clat_percentiles", "lat_percentiles"],
        vdbench: &["histogram"],
        snia: &["99.999%", "Response Time Histogram"],
        assay: &["p50", "p90", "p95", "p99", "p99_9", "p99_99", "p99.9", "p99.99"],
        also: &["p95", "p99", "median", "tail latency", "quantile"],
        meaning: "The latency that so many per cent of I/Os did not exceed. Assay leaves one out where there are too few \
                  I/Os to bound it: 299 for p99, 2995 for p99.9.",
        traps: &[
            "An average of percentiles is no percentile. Histograms are merged, then read.",
            "fio: percentile_list takes colons; of a list with commas it reads the first.",
        ],
        example: Example { fio: "percentile_list=50:99:99.9", vdbench: "", plan: "" },
    },
    Term {
        name: "iops",
        title: "IOPS",
        fio: &["iops"],
        vdbench: &["rate", "i/o rate"],
        snia: &["IOPS"],
        assay: &["iops"],
        also: &["throughput", "operations per second"],
        meaning: "Operations per second of measured time. It needs its conditions beside it: block size, mix, outstanding \
                  I/O and latency.",
        traps: &[
            "A group's IOPS in fio are the sum over its jobs divided by the longest of their times.",
            "Without a rate, IOPS and latency are one number: outstanding I/O = IOPS x latency.",
        ],
        example: NOTHING,
    },
    Term {
        name: "bandwidth",
        title: "Bandwidth",
        fio: &["bw", "bw_bytes"],
        vdbench: &["mb/sec", "MB/sec"],
        snia: &["Throughput", "TP"],
        assay: &["bytes_per_s"],
        also: &["throughput", "MB/s", "MiB/s"],
        meaning: "Bytes per second of measured time. Assay prints powers of 1024 and says so: MiB/s.",
        traps: &[
            "MB is 1000000 bytes and MiB 1048576: 4.9 % apart, GB and GiB 7.4 %. vdbench's MB are MiB.",
            "fio's bw_mean of a group is a sum of samples, not a mean.",
        ],
        example: NOTHING,
    },
    Term {
        name: "interval",
        title: "Interval",
        fio: &["status-interval", "log_avg_msec", "bwavgtime", "iopsavgtime"],
        vdbench: &["interval"],
        snia: &[],
        assay: &["interval", "series"],
        also: &["reporting period", "sampling"],
        meaning: "One reporting period of a running job with its own counts and histogram: one second, or a fifth of one \
                  in short windows.",
        traps: &["vdbench's flat file rounds each interval; its averages weigh intervals, not I/Os."],
        example: Example {
            fio: "log_avg_msec=1000",
            vdbench: "rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1",
            plan: "",
        },
    },
    Term {
        name: "cpu-per-io",
        title: "Processor time per I/O",
        fio: &["usr_cpu", "sys_cpu"],
        vdbench: &["cpu%"],
        snia: &[],
        assay: &["cpu_ns_per_io"],
        also: &["generator cost", "overhead"],
        meaning: "What the generator and the kernel on its behalf spent on one I/O. Where it is near the completion \
                  latency, the generator is part of the figure.",
        traps: &[
            "Two generators with the same offered load should agree; where they do not, this is the first place to look \
             ('assay crosscheck').",
            "vdbench shows the processors of the whole machine.",
        ],
        example: NOTHING,
    },
    Term {
        name: "run",
        title: "Run",
        fio: &["output"],
        vdbench: &["output directory", "flatfile"],
        snia: &["Test Run"],
        assay: &["run", "journal"],
        also: &["result"],
        meaning: "One executed plan with its environment, its numbers and what the checks found, kept in a directory.",
        traps: &["A number without the plan and the machine behind it cannot be compared with anything."],
        example: NOTHING,
    },
    Term {
        name: "finding",
        title: "Finding",
        fio: &[],
        vdbench: &[],
        snia: &[],
        assay: &["findings", "check", "verdict"],
        also: &["validity", "warning"],
        meaning: "What a check found: something that makes a number other than it seems, with evidence, possible bias and \
                  advice. The ids of the checks can be looked up here too.",
        traps: &["\"Could not be checked\" is not \"in order\"."],
        example: NOTHING,
    },
    Term {
        name: "baseline",
        title: "Baseline and comparison",
        fio: &[],
        vdbench: &["compare"],
        snia: &[],
        assay: &["baseline", "compare"],
        also: &["difference", "regression"],
        meaning: "A kept run that others are compared with, as a ratio with an interval. Better, worse, no evidence, or \
                  the same within a margin: four answers, not two.",
        traps: &["Two single runs have a difference and no interval; it may be the day."],
        example: NOTHING,
    },
    Term {
        name: "units",
        title: "Units",
        fio: &["kb_base", "unit_base"],
        vdbench: &[],
        snia: &["KiB", "MiB"],
        assay: &["size", "time"],
        also: &["KiB", "MB", "k", "kilobyte", "mebibyte"],
        meaning: "In all three languages k, m and g are powers of 1024.",
        traps: &[
            "fio: KiB, MiB and GiB are powers of 1000 unless kb_base=1000 turns both around.",
            "fio: units that it does not know are ignored, 4096x is 4096.",
            "vdbench: in elapsed, interval, pause and warmup, m is minutes.",
        ],
        example: Example {
            fio: "bs=4k",
            vdbench: "wd=wd1,sd=sd1,xfersize=4k",
            plan: "block_size = \"4KiB\"",
        },
    },
];
