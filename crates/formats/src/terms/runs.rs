//! What comes after what: jobs, phases, preparation, repetition, hosts.

use super::{Example, Term};

pub(super) const TERMS: &[Term] = &[
    Term {
        name: "job",
        title: "Job",
        fio: &["name", "group_reporting", "new_group"],
        vdbench: &["wd", "workload definition"],
        snia: &["Access Pattern"],
        assay: &["job", "group"],
        also: &["section", "workload", "stream"],
        meaning: "One kind of load with all its parameters: targets, pattern, threads, rate, length. Jobs of a phase run \
                  side by side.",
        traps: &[
            "fio: every section is a job and all start together unless a stonewall stands between them.",
            "vdbench: a WD is a pattern; threads belong to the SD, rate and length to the RD.",
        ],
        example: Example {
            fio: "rw=randread\nbs=4k",
            vdbench: "wd=wd1,sd=sd1,rdpct=100,xfersize=4k",
            plan: "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"",
        },
    },
    Term {
        name: "phase",
        title: "Phase",
        fio: &["stonewall", "wait_for_previous", "wait_for", "exitall"],
        vdbench: &["rd", "run definition"],
        snia: &["Test Phase"],
        assay: &["phase", "kind"],
        also: &["stage", "run definition", "sequence"],
        meaning: "Jobs that run side by side; phases follow one another. A phase has a kind: purge, precondition, ramp, \
                  measure, verify, cleanup.",
        traps: &[
            "fio lays out the files of all stages before the first I/O of the first one, so that they may be cached.",
        ],
        example: Example {
            fio: "stonewall",
            vdbench: "rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1",
            plan: "[[phase]]\nname = \"reads\"\n[[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"60s\"",
        },
    },
    Term {
        name: "sweep",
        title: "Sweep",
        fio: &[],
        vdbench: &[
            "forthreads",
            "forxfersize",
            "forrdpct",
            "forseekpct",
            "forhitarea",
            "forrhpct",
            "forwhpct",
        ],
        snia: &["Test Loop"],
        assay: &["sweep", "point"],
        also: &["grid", "matrix", "for loops"],
        meaning: "One phase for every combination of several values: block sizes x mixes x outstanding I/Os. Each \
                  combination is a point.",
        traps: &[
            "vdbench nests loops in the order of the words, the rate always innermost.",
            "fio has none; 'assay convert' writes one section for each point.",
        ],
        example: Example {
            fio: "",
            vdbench: "rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,forxfersize=(4k,64k),forthreads=(1,8)",
            plan: "[[phase]]\nsweep = { block_size = [\"4k\", \"64k\"], outstanding = [1, 8] }\n[[phase.job]]\nop = \"read\"\npattern = \"random\"\nruntime = \"60s\"",
        },
    },
    Term {
        name: "layout",
        title: "Layout and prefill",
        fio: &["create_only", "fallocate", "overwrite", "create_on_open", "pre_read"],
        vdbench: &["format", "formatxfersize", "formatsds", "seekpct=eof"],
        snia: &[],
        assay: &["precondition", "prefill"],
        also: &["prepare", "fill", "initialise", "thick"],
        meaning: "Files are written once before they are read, so that reads find data and not holes.",
        traps: &[
            "fio: for a job that only writes, the file is reserved and holds nothing; a later reading job then reads \
             zeros that no device delivers.",
            "fio: a file that is too short is removed and made anew.",
            "Reads of a thin volume that was never written are answered by the first layer that knows.",
        ],
        example: Example {
            fio: "rw=write\nbs=1m\nend_fsync=1",
            vdbench: "fsd=fsd1,anchor=/mnt/data/tree,depth=1,width=1,files=10,size=4k\n\
                      fwd=fwd1,fsd=fsd1,operation=read\nrd=rd1,fwd=fwd1,fwdrate=max,format=only,elapsed=60,interval=1",
            plan: "[[phase]]\nkind = \"precondition\"\n[[phase.job]]\nop = \"write\"\nblock_size = \"1m\"\npattern = \"sequential\"\npasses = 1",
        },
    },
    Term {
        name: "preconditioning",
        title: "Preconditioning",
        fio: &["loops"],
        vdbench: &[],
        snia: &["WIPC", "WDPC", "Preconditioning"],
        assay: &["precondition"],
        also: &["conditioning", "fresh out of box"],
        meaning: "Writing until flash behaves as it will from then on. SNIA: first independent of the workload \
                  (sequential writes of twice the capacity), then with the workload itself until it is steady.",
        traps: &[
            "A fresh or trimmed device writes faster than it ever will again; an afternoon of reads changes nothing.",
        ],
        example: Example {
            fio: "rw=write\nbs=128k\nloops=2",
            vdbench: "",
            plan: "[[phase]]\nkind = \"precondition\"\n[[phase.job]]\nop = \"write\"\nblock_size = \"128k\"\npattern = \"sequential\"\npasses = 2",
        },
    },
    Term {
        name: "purge",
        title: "Purge",
        fio: &["trim"],
        vdbench: &[],
        snia: &["Purge"],
        assay: &["purge"],
        also: &["secure erase", "discard", "format unit"],
        meaning: "Returning a device to the state in which it was never written.",
        traps: &[
            "A trim of all blocks is a hint; an erase by the device's own command is the purge that SNIA means.",
        ],
        example: Example {
            fio: "",
            vdbench: "",
            plan: "[[phase]]\nkind = \"purge\"\n[[phase.job]]\nop = \"trim\"\nblock_size = \"1m\"\npattern = \"sequential\"",
        },
    },
    Term {
        name: "steady-state",
        title: "Steady state",
        fio: &["steadystate", "ss", "steadystate_duration", "steadystate_ramp_time"],
        vdbench: &[],
        snia: &["Steady State", "Measurement Window", "Round"],
        assay: &["steady_state", "not-steady"],
        also: &["stationary", "round", "measurement window"],
        meaning: "The measured value no longer moves. SNIA: over five rounds the values lie within 20 % of their mean, \
                  and the fitted line changes by no more than 10 % of it.",
        traps: &[
            "Five steady rounds below the size of a cache are a steady cache.",
            "fio bounds the largest distance from the mean: its 10 % are SNIA's 20 %.",
        ],
        example: Example {
            fio: "steadystate=iops:10%\nsteadystate_duration=300",
            vdbench: "",
            plan: "ends_steady = { percent_max = 10, window = \"5m\" }",
        },
    },
    Term {
        name: "repeat",
        title: "Repetition",
        fio: &["loops"],
        vdbench: &["loop"],
        snia: &["Round"],
        assay: &["repeat"],
        also: &["runs", "iterations"],
        meaning: "The same phase again, as a run of its own. Runs, not I/Os, are what an interval is made of: values \
                  within one run follow each other and are not independent.",
        traps: &[
            "With three runs against three no difference can be told from chance at 5 %; take five or more.",
        ],
        example: Example {
            fio: "",
            vdbench: "",
            plan: "[[phase]]\nrepeat = 5\n[[phase.job]]\nop = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\nruntime = \"10s\"",
        },
    },
    Term {
        name: "worker",
        title: "Hosts and workers",
        fio: &["client", "server"],
        vdbench: &["hd", "host", "jvms", "system", "slave"],
        snia: &[],
        assay: &["worker", "coordinator"],
        also: &["master", "distributed", "multiple hosts"],
        meaning: "A coordinator slices a plan, workers on several hosts carry it out, and their histograms are merged.",
        traps: &[
            "Percentiles of several hosts cannot be averaged; only distributions can be merged.",
            "fio's server takes jobs from anybody who reaches its port.",
        ],
        example: Example { fio: "", vdbench: "hd=default,shell=ssh\nhd=h1,system=localhost", plan: "" },
    },
];
