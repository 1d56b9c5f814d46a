//! What receives the I/O, and where in it.

use super::{Example, Term};

pub(super) const TERMS: &[Term] = &[
    Term {
        name: "target",
        title: "Target",
        fio: &["filename", "directory", "opendir", "nrfiles"],
        vdbench: &["sd", "lun", "fsd", "anchor"],
        snia: &["Device Under Test", "DUT"],
        assay: &["target", "targets", "path"],
        also: &["file", "device", "disk", "volume", "storage definition"],
        meaning: "What receives the I/O: a file, a block device, or a directory for a tree of files. Jobs refer to \
                  targets by name, so that one target can serve several jobs.",
        traps: &[
            "fio: a filename in [global] and another in a job add up; the job then uses both.",
            "fio: without a filename every clone makes a file of its own, job.0.0, job.1.0 and so on.",
            "vdbench: block 0 of a path below /dev is never touched, so that the range begins one transfer later.",
        ],
        example: Example {
            fio: "filename=/mnt/data/a.bin",
            vdbench: "sd=sd1,lun=/mnt/data/a.bin,size=1g",
            plan: "[[target]]\nname = \"a\"\npath = \"/mnt/data/a.bin\"\nsize = \"1g\"",
        },
    },
    Term {
        name: "size",
        title: "Size of the target",
        fio: &["size", "filesize"],
        vdbench: &["size", "sizes", "totalsize"],
        snia: &["User Capacity"],
        assay: &["size"],
        also: &["capacity", "working set"],
        meaning: "How much of a target is in use, from its start. It decides whether the caches in between can hold all \
                  of it, and is therefore a condition of every figure.",
        traps: &[
            "fio: size is per clone, and also the amount after which the job ends unless time_based is given.",
            "fio: 1.5g is 1 byte (fractions are cut off), 4KiB is 4000, and a blank before the value is an error.",
            "A size below the machine's memory measures memory, unless I/O is direct.",
        ],
        example: Example {
            fio: "size=20g",
            vdbench: "sd=sd1,lun=/mnt/data/a.bin,size=20g",
            plan: "[[target]]\nname = \"a\"\npath = \"a.bin\"\nsize = \"20g\"",
        },
    },
    Term {
        name: "active-range",
        title: "Active range",
        fio: &["offset", "offset_increment", "size"],
        vdbench: &["range", "offset"],
        snia: &["ActiveRange", "Active Range"],
        assay: &["offset", "length", "offset_increment"],
        also: &["start", "region", "area", "short stroking"],
        meaning: "The part of a target that a job may access. SNIA states it in per cent of the capacity.",
        traps: &[
            "vdbench: an upper bound up to 200 is per cent (above 100 it wraps over the end), above 200 it is bytes; \
             both ends are rounded down to the largest transfer of that SD in the whole file.",
            "fio: clones of one job share the same region unless offset_increment moves them.",
        ],
        example: Example {
            fio: "offset=25%\nsize=50%",
            vdbench: "sd=sd1,lun=/mnt/data/a.bin,size=20g,range=(25,75)",
            plan: "offset = \"25%\"\nlength = \"50%\"",
        },
    },
    Term {
        name: "file-tree",
        title: "File tree",
        fio: &["filecreate", "filestat", "filedelete"],
        vdbench: &["fwd", "depth", "width", "files", "fileio", "fileselect", "operation", "operations"],
        snia: &[],
        assay: &["tree"],
        also: &["directory tree", "metadata", "small files"],
        meaning: "Directories of files below an anchor, and operations on them: create, open, read, getattr, delete and \
                  so on. Width is directories per directory, depth the number of levels, files the number in each \
                  directory that holds files.",
        traps: &[
            "vdbench: only the directories at the bottom hold files unless distribution=all.",
            "vdbench: an operation on a file that is in use or missing is tried again with another file, which its \
             figures do not show.",
            "fio's file engines count operations without I/O; they have no tree.",
        ],
        example: Example {
            fio: "",
            vdbench: "fsd=fsd1,anchor=/mnt/data/tree,depth=2,width=10,files=100,size=4k\n\
                      fwd=fwd1,fsd=fsd1,operation=read,threads=8\nrd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=60,interval=1",
            plan: "tree = { width = 10, depth = 2, files = 100, sizes = \"4k\", operations = \"read/100\" }",
        },
    },
    Term {
        name: "block-size",
        title: "Block size",
        fio: &["bs", "blocksize", "bsrange", "bssplit"],
        vdbench: &["xfersize", "xfersizes"],
        snia: &["Block Size", "BS", "Data Transfer Size"],
        assay: &["block_size"],
        also: &["transfer size", "I/O size", "record size"],
        meaning: "Bytes moved by one I/O: one size, sizes with weights, or a range. IOPS without it mean nothing: \
                  bandwidth is their product.",
        traps: &[
            "fio: bs=4k-16k is no range but 4k for reads and 16k for writes; a range is bsrange=4k-16k.",
            "fio: weights in bssplit are separated by colons; a comma begins the sizes of writes.",
            "vdbench: three numbers are smallest, largest and step; two or four are size and per cent.",
            "Below the block of the file system or the device (often 4 KiB) each write becomes a read and a write.",
        ],
        example: Example {
            fio: "bssplit=4k/60:64k/40",
            vdbench: "wd=wd1,sd=sd1,xfersize=(4k,60,64k,40)",
            plan: "block_size = \"4k/60,64k/40\"",
        },
    },
    Term {
        name: "read-share",
        title: "Share of reads",
        fio: &["rwmixread", "rwmixwrite", "rw", "readwrite"],
        vdbench: &["rdpct", "readpct", "writepct"],
        snia: &["R/W Mix"],
        assay: &["op", "read_percent", "write_percent", "trim_percent"],
        also: &["mix", "read write ratio"],
        meaning: "Per cent of operations that are reads. It is a share of operations, not of bytes: with different block \
                  sizes the two differ.",
        traps: &[
            "fio: rwmixread counts only with rw=rw or randrw; of rwmixread and rwmixwrite the last one wins.",
            "fio: separate rates for reads and writes override the mix.",
            "vdbench: fractions of a per cent are cut off; the default is all reads.",
        ],
        example: Example {
            fio: "rw=randrw\nrwmixread=70",
            vdbench: "wd=wd1,sd=sd1,rdpct=70",
            plan: "read_percent = 70",
        },
    },
    Term {
        name: "random-share",
        title: "Random or sequential",
        fio: &["percentage_random", "rw", "rw_sequencer"],
        vdbench: &["seekpct", "seek"],
        snia: &["Access Pattern", "RND", "SEQ"],
        assay: &["pattern", "random_percent"],
        also: &["percent_random", "random", "sequential", "seek percentage"],
        meaning: "How often the next address is drawn at random; otherwise it follows the one before. 100 is all random, \
                  0 is one walk from the start of the range to its end.",
        traps: &[
            "fio: percentage_random does nothing for sequential rw; write rw=randread and lower it.",
            "vdbench: all threads of an SD share one sequential cursor; in fio each clone has its own.",
            "Several sequential walks at once are not sequential for the device.",
        ],
        example: Example {
            fio: "rw=randread\npercentage_random=20",
            vdbench: "wd=wd1,sd=sd1,seekpct=20",
            plan: "pattern = { random_percent = 20 }",
        },
    },
    Term {
        name: "once-per-pass",
        title: "Each block once per pass",
        fio: &["norandommap", "randommap", "softrandommap", "random_generator"],
        vdbench: &[],
        snia: &[],
        assay: &["once_per_pass"],
        also: &["random map", "coverage"],
        meaning: "Whether a random walk visits every block of the range before any comes again (fio's default), or draws \
                  each address anew, so that after one pass' worth of I/Os about 37 % were never touched.",
        traps: &[
            "fio: a distribution other than random switches the map off, and so does an alignment that differs from \
             the block size.",
            "vdbench has no map: a random write test of one pass leaves a third of the blocks as they were.",
        ],
        example: Example {
            fio: "norandommap",
            vdbench: "",
            plan: "pattern = { random = \"uniform\", once_per_pass = false }",
        },
    },
    Term {
        name: "alignment",
        title: "Alignment",
        fio: &["blockalign", "ba", "bs_unaligned"],
        vdbench: &["align"],
        snia: &["Alignment"],
        assay: &["align"],
        also: &["aligned", "offset alignment"],
        meaning: "Offsets are multiples of it; by default of the smallest block. Direct I/O needs at least the logical \
                  block of the device.",
        traps: &[
            "I/O that is not aligned to the medium's own block costs two of them, and a read for each write.",
        ],
        example: Example {
            fio: "bs=16k\nblockalign=4k",
            vdbench: "wd=wd1,sd=sd1,xfersize=16k\nsd=sd1,lun=a.bin,size=64m,align=4k",
            plan: "block_size = \"16k\"\nalign = \"4k\"",
        },
    },
    Term {
        name: "stride",
        title: "Stride",
        fio: &["rw"],
        vdbench: &["stride"],
        snia: &[],
        assay: &["skip"],
        also: &["skip", "holes"],
        meaning: "A sequential walk that leaves bytes out behind each block.",
        traps: &[
            "fio: rw=read:4k adds 4 KiB to each next offset and wraps, so that half of the blocks are visited twice.",
            "vdbench: the two values bound a random distance.",
        ],
        example: Example {
            fio: "rw=read:64k",
            vdbench: "wd=wd1,sd=sd1,stride=(64k,64k)",
            plan: "pattern = { sequential = true, skip = \"64k\" }",
        },
    },
    Term {
        name: "distribution",
        title: "Distribution of addresses",
        fio: &["random_distribution"],
        vdbench: &["seekpct", "poisson", "hotband", "rhpct"],
        snia: &[],
        assay: &["pattern", "random", "theta", "h", "zones"],
        also: &["zipf", "pareto", "normal", "zoned", "skewed access", "hot data", "locality"],
        meaning: "How likely each block is: evenly, a few popular ones (zipf, Pareto), around the middle (normal), by \
                  zones, or falling from the start (exponential). Caches work as well as the distribution lets them.",
        traps: &[
            "A popular block may be a popular place: where addresses decide which core or drive works, a skew in \
             addresses is a skew in load. 'assay audit' shows it.",
            "fio scatters the popular blocks of zipf and Pareto over the range; vdbench's skews are at its start.",
            "vdbench's poisson is an exponential distribution.",
        ],
        example: Example {
            fio: "random_distribution=zipf:1.1",
            vdbench: "wd=wd1,sd=sd1,seekpct=(poisson,3)",
            plan: "pattern = { random = \"zipf\", theta = 1.1 }",
        },
    },
    Term {
        name: "hit-area",
        title: "Hit area",
        fio: &["random_distribution"],
        vdbench: &["rhpct", "whpct", "hitarea"],
        snia: &[],
        assay: &["hit-area", "read_percent", "write_percent"],
        also: &["cache hit", "read hit", "write hit"],
        meaning: "An area at the start of each target that gets a given share of reads and of writes, so that a cache \
                  answers them. vdbench's default is 1 MiB.",
        traps: &[
            "1 MiB is one segment, and one segment often belongs to one core or controller: 75 % hits over eight cores \
             gave one of them 78 % of the work. An area of cores x 1 MiB, or a multiple, spreads it evenly.",
            "vdbench: hits and misses are disjoint; misses never fall into the area.",
            "fio has no such option; zones (90 % of accesses to 10 % of the range) are the nearest.",
        ],
        example: Example {
            fio: "random_distribution=zoned:75/10:25/90",
            vdbench: "wd=wd1,sd=sd1,rhpct=75,whpct=0\nsd=sd1,lun=a.bin,size=1g,hitarea=8m",
            plan: "pattern = { random = \"hit-area\", read_percent = 75, write_percent = 0, size = \"8m\" }",
        },
    },
    Term {
        name: "hotband",
        title: "Hotband",
        fio: &[],
        vdbench: &["hotband"],
        snia: &[],
        assay: &["hotband", "corrected"],
        also: &["hot band", "emerald"],
        meaning: "vdbench's skew for energy tests: a cumulative curve over cache sizes decides the address, the start of \
                  the band being hottest. Assay draws the same addresses, or, with corrected = true, those the curve \
                  was meant to give.",
        traps: &[
            "vdbench takes kilobytes for bytes, so that the curve is a thousand times too steep: a third of all reads \
             go to the first MiB of the band, whatever its size.",
            "Writes are hot one per cent into the band; reads and writes share no hot data.",
        ],
        example: Example {
            fio: "",
            vdbench: "wd=wd1,sd=sd1,hotband=(10,100)",
            plan: "pattern = { random = \"hotband\", low = \"100m\", high = \"1g\" }",
        },
    },
    Term {
        name: "streams",
        title: "Streams",
        fio: &["offset_increment", "numjobs"],
        vdbench: &["streams"],
        snia: &[],
        assay: &["offset_increment", "threads"],
        also: &["sequential streams"],
        meaning: "Several sequential walks at once, each in its own piece of the target.",
        traps: &[
            "vdbench: hits (rhpct, whpct) are ignored with streams, and threads must be a multiple of them.",
        ],
        example: Example {
            fio: "rw=read\nnumjobs=4\noffset_increment=16m\nsize=16m",
            vdbench: "wd=wd1,sd=sd1,seekpct=0,streams=4",
            plan: "pattern = \"sequential\"\nthreads = 4\noffset_increment = \"25%\"\nlength = \"25%\"",
        },
    },
];
