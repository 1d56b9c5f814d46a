//! How much at once, how fast, how long, and on which path.

use super::{Example, Term};

pub(super) const TERMS: &[Term] = &[
    Term {
        name: "threads",
        title: "Threads",
        fio: &["numjobs", "thread"],
        vdbench: &["threads", "forthreads"],
        snia: &["Thread Count", "TC"],
        assay: &["threads"],
        also: &["workers", "clones", "processes"],
        meaning: "Submitters of I/O. In Assay each has a ring, a generator and histograms of its own.",
        traps: &[
            "vdbench: threads are per SD and each has one I/O in flight, so that they are its outstanding I/O; on 64 \
             disks 8 of them are 512 threads.",
            "fio: numjobs multiplies everything, sizes too.",
        ],
        example: Example {
            fio: "numjobs=4",
            vdbench: "sd=sd1,lun=a.bin,size=64m,threads=4",
            plan: "threads = 4",
        },
    },
    Term {
        name: "outstanding-io",
        title: "Outstanding I/O",
        fio: &["iodepth", "iodepth_batch", "iodepth_low", "numjobs"],
        vdbench: &["threads", "forthreads"],
        snia: &["Outstanding IO", "OIO", "Queue Depth", "QD"],
        assay: &["outstanding", "outstanding_io"],
        also: &["queue depth", "depth", "concurrency"],
        meaning: "I/Os in flight at once. In total: threads x outstanding I/Os of each. SNIA writes TC x QD. Mean \
                  outstanding I/O = IOPS x mean completion latency, whatever the tool.",
        traps: &[
            "\"Depth\" alone may mean per thread, per device or in total; say which.",
            "fio: a synchronous engine has one, whatever iodepth says; libaio through the page cache too.",
            "POSIX asynchronous I/O of glibc serves one request per file at a time.",
        ],
        example: Example {
            fio: "ioengine=io_uring\ndirect=1\niodepth=32",
            vdbench: "sd=sd1,lun=a.bin,size=64m,threads=32",
            plan: "outstanding = 32",
        },
    },
    Term {
        name: "engine",
        title: "Engine",
        fio: &["ioengine"],
        vdbench: &[],
        snia: &[],
        assay: &["engine", "engine_options"],
        also: &["io_uring", "libaio", "psync", "sync", "posixaio", "I/O path"],
        meaning: "The way to the kernel: io_uring and libaio keep many I/Os in flight from one thread, psync one. \
                  Without a word, Assay takes the best that works here, and records which and why.",
        traps: &[
            "vdbench has synchronous threads only.",
            "fio's default is psync; an iodepth beside it is ignored.",
            "The engine's own cost per I/O is part of the figure where storage is fast.",
        ],
        example: Example { fio: "ioengine=io_uring", vdbench: "", plan: "engine = \"io_uring\"" },
    },
    Term {
        name: "direct",
        title: "Direct or buffered I/O",
        fio: &["direct", "buffered", "invalidate"],
        vdbench: &["openflags", "openflag", "o_direct", "directio"],
        snia: &[],
        assay: &["caching", "invalidate"],
        also: &["O_DIRECT", "page cache", "buffered", "cache"],
        meaning: "Direct I/O (O_DIRECT) goes past the page cache; buffered I/O is answered by memory as often as it can. \
                  Assay is direct where the target can be, unless told otherwise.",
        traps: &[
            "fio is buffered unless direct=1.",
            "vdbench is buffered on files unless openflags=o_direct, and refuses a device without a flag.",
            "Clean pages are dropped before a job (fio's invalidate); dirty ones stay.",
        ],
        example: Example {
            fio: "direct=1",
            vdbench: "sd=sd1,lun=a.bin,size=64m,openflags=o_direct",
            plan: "caching = \"direct\"",
        },
    },
    Term {
        name: "rate",
        title: "Rate",
        fio: &["rate_iops", "rate", "rate_min", "rate_iops_min"],
        vdbench: &["iorate", "fwdrate"],
        snia: &[],
        assay: &["rate"],
        also: &["open loop", "closed loop", "offered load", "IOPS limit"],
        meaning: "Unlimited: a new I/O starts when one completes (closed loop), and the storage sets the pace. A rate: \
                  I/Os arrive at given times whether or not the storage keeps up (open loop), and what counts is the \
                  response time.",
        traps: &[
            "fio: a rate is per clone, and latency begins when the I/O is issued: an I/O that had to wait looks fast.",
            "vdbench leaves the wait in its own queue out too; the only sign is a rate below the one asked for.",
            "An unlimited closed loop tells the most the storage can do, not how it feels at half of that.",
        ],
        example: Example {
            fio: "rate_iops=1000",
            vdbench: "rd=rd1,wd=wd1,iorate=1000,elapsed=60,interval=1",
            plan: "rate = \"1000 IOPS\"",
        },
    },
    Term {
        name: "arrival",
        title: "Arrivals",
        fio: &["rate_process"],
        vdbench: &["distribution"],
        snia: &[],
        assay: &["arrival"],
        also: &["poisson arrivals", "exponential", "deterministic", "uniform", "linear"],
        meaning: "How the arrivals of a given rate are spaced: evenly, at random as independent users would send them \
                  (Poisson: exponential gaps), or with gaps evenly between 0 and twice the mean.",
        traps: &[
            "fio: rate_process=poisson without a rate does nothing.",
            "vdbench's default is exponential, fio's linear: the same rate queues differently.",
        ],
        example: Example {
            fio: "rate_iops=1000\nrate_process=poisson",
            vdbench: "rd=rd1,wd=wd1,iorate=1000,distribution=exponential,elapsed=60,interval=1",
            plan: "rate = 1000\narrival = \"poisson\"",
        },
    },
    Term {
        name: "think-time",
        title: "Think time",
        fio: &["thinktime", "thinktime_blocks", "thinktime_spin"],
        vdbench: &[],
        snia: &[],
        assay: &["think_time"],
        also: &["pause between I/Os"],
        meaning: "A pause after each I/O, or after so many. The load then depends on the storage and on the pause; a rate \
                  is clearer.",
        traps: &["fio: a bare number is microseconds, and the queue runs empty before each pause."],
        example: Example {
            fio: "thinktime=10ms\nthinktime_blocks=8",
            vdbench: "",
            plan: "think_time = { time = \"10ms\", every_ios = 8 }",
        },
    },
    Term {
        name: "skew",
        title: "Skew",
        fio: &["flow"],
        vdbench: &["skew", "priority"],
        snia: &[],
        assay: &["rate"],
        also: &["share of a workload"],
        meaning: "The share of each workload in the total rate, in per cent. Workloads without one share the rest evenly.",
        traps: &[
            "vdbench: a skew holds the faster workloads back, so that 'max' with a skew is no longer each one's best.",
            "It says nothing about addresses; for those see distribution.",
        ],
        example: Example {
            fio: "",
            vdbench: "wd=wd1,sd=sd1,rdpct=100,skew=80\nwd=wd2,sd=sd1,rdpct=0,skew=20\n\
                      rd=rd1,wd=(wd1,wd2),iorate=1000,elapsed=60,interval=1",
            plan: "rate = 800",
        },
    },
    Term {
        name: "curve",
        title: "Curve",
        fio: &[],
        vdbench: &["curve", "stopcurve"],
        snia: &["Demand Intensity Curve"],
        assay: &["curve", "rate"],
        also: &["load points", "percent of max"],
        meaning: "One phase as fast as it goes, then one at each of several per cents of what that reached: latency \
                  against load.",
        traps: &["vdbench rounds the points up, to tens below 1000 and to hundreds above."],
        example: Example {
            fio: "",
            vdbench: "rd=rd1,wd=wd1,iorate=curve,curve=(10,50,90),elapsed=60,interval=1",
            plan: "[[phase]]\ncurve = [10, 50, 90]\n[[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"60s\"",
        },
    },
    Term {
        name: "runtime",
        title: "Length of a run",
        fio: &["runtime", "timeout", "time_based", "loops", "io_size", "number_ios"],
        vdbench: &["elapsed", "maxdata"],
        snia: &["Test Period"],
        assay: &["runtime", "bytes", "ios", "passes"],
        also: &["duration", "limits"],
        meaning: "The measured time, behind the ramp. A job may also end after an amount: bytes, I/Os, or passes over its \
                  range.",
        traps: &[
            "fio: runtime without time_based is only a cap; the job ends when size bytes are done.",
            "fio: 60sec and 1min are microseconds, because only s, m, h, d, ms and us are known.",
            "vdbench: elapsed must be a multiple of interval and at least twice as long.",
        ],
        example: Example {
            fio: "runtime=60\ntime_based",
            vdbench: "rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1",
            plan: "runtime = \"60s\"",
        },
    },
    Term {
        name: "ramp",
        title: "Ramp",
        fio: &["ramp_time"],
        vdbench: &["warmup"],
        snia: &[],
        assay: &["ramp"],
        also: &["warm-up", "warm up"],
        meaning: "Time at the start of a job with full load that is not measured: queues fill, caches settle.",
        traps: &[
            "vdbench: without warmup the first interval is left out of the averages anyway; with it, elapsed begins \
             behind it.",
            "A ramp warms queues; it does not bring flash to its steady state. That is preconditioning.",
        ],
        example: Example {
            fio: "ramp_time=30\nruntime=60\ntime_based",
            vdbench: "rd=rd1,wd=wd1,iorate=max,warmup=30,elapsed=60,interval=1",
            plan: "ramp = \"30s\"\nruntime = \"60s\"",
        },
    },
    Term {
        name: "start-delay",
        title: "Start delay and pause",
        fio: &["startdelay", "wait_for"],
        vdbench: &["pause"],
        snia: &["Idle Time"],
        assay: &["start_delay", "pause"],
        also: &["idle"],
        meaning: "Time that a job waits before it starts, and idle time behind a phase.",
        traps: &["fio: startdelay counts from the start of fio, not of the stage behind a stonewall."],
        example: Example {
            fio: "startdelay=5",
            vdbench: "rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,pause=5",
            plan: "start_delay = \"5s\"",
        },
    },
];
