//! The figures that come with the program.

use super::{Baseline, BaselineTest, Provenance, SCHEMA};

/// The figures that storage-tuner-benchmark 2.1.0 calls HDD: test and IOPS, in the order of the series.
const STB_HDD: [(&str, u32); 26] = [
    ("1 file, 1 thread, seq 1M writes, simple", 181),
    ("1 file, 1 thread, rnd 16k writes, simple", 712),
    ("1 file, 1 thread, rnd 16k writes, simple, take 2", 658),
    ("1 file, 16 threads, rnd 4k writes, posixaio", 351),
    ("1 file, 16 threads, rnd 8k writes, posixaio", 424),
    ("1 file, 16 threads, rnd 16k writes, posixaio", 447),
    ("1 file, 16 threads, rnd 16k writes, posixaio, take 2", 504),
    ("16 files, 1 thread each, seq 1M writes, simple", 150),
    ("16 files, 1 thread each, rnd 16k writes, simple", 654),
    ("16 files, 1 thread each, rnd 16k writes, simple, take 2", 627),
    ("16 files, 1 thread each, rnd 16k writes, posixaio", 466),
    ("16 files, 16 threads each, rnd 16k writes, posixaio", 537),
    ("16 files, 16 threads each, rnd 16k writes, posixaio, take 2", 501),
    ("1 file, 1 thread, rnd 16k writes, simple, o_sync", 155),
    ("1 file, 16 threads, rnd 16k writes, posixaio, o_sync", 241),
    ("16 files, 1 thread each, rnd 16k writes, simple, o_sync", 505),
    ("16 files, 16 threads each, rnd 16k writes, posixaio, o_sync", 509),
    ("1 file, 1 thread, seq 1M reads, simple", 3738),
    ("1 file, 16 threads, rnd 16k reads, posixaio", 171),
    ("16 files, 1 thread each, seq 1M reads, simple", 4045),
    ("16 files, 1 thread each, rnd 16k reads, posixaio", 470),
    ("16 files, 16 threads each, rnd 16k reads, posixaio", 496),
    ("1 file, 16 threads, rnd 16k writes, native aio", 613),
    ("16 files, 16 threads each, rnd 16k writes, native aio", 501),
    ("1 file, 16 threads, rnd 16k reads, native aio", 131),
    ("16 files, 16 threads each, rnd 16k reads, native aio", 494),
];

/// The baselines that are always there.
pub fn builtins() -> Vec<Baseline> {
    vec![stb_hdd()]
}

fn stb_hdd() -> Baseline {
    let test = |(name, iops): (&str, u32)| BaselineTest {
        name: name.to_owned(),
        iops: f64::from(iops),
        iops_runs: vec![f64::from(iops)],
        ..BaselineTest::default()
    };
    let owned = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    Baseline {
        schema: SCHEMA.to_owned(),
        name: "hdd".to_owned(),
        series: Some("stb-2.1".to_owned()),
        provenance: Provenance {
            device: "HGST HUS726060ALE610, 6 TB SATA, 7200 rpm, not redundant, write cache on, scheduler cfq"
                .to_owned(),
            file_system: "xfs rw,noexec,nodev,noatime,nodiratime,largeio,inode64,nobarrier".to_owned(),
            kernel: "4.9.88".to_owned(),
            date: "published with version 2.1.0".to_owned(),
            source: "storage-tuner-benchmark 2.1.0-rc1, figures published by its author".to_owned(),
            run_id: None,
            verdict: None,
        },
        footnotes: owned([
            "HDD: a 6 TB SATA disk measured by the author of storage-tuner-benchmark with its write cache on and the \
             file system mounted nobarrier, so its figures for flushed writes are not durable: 700 random writes a \
             second that are flushed one by one are more than a disk of 7200 rpm can do.",
            "HDD: the sequential reads (3738 and 4045 IOPS of 1 MiB) came from the page cache, not from the disk.",
            "HDD: one run of 5 s a test; how much it varies is not known.",
        ]),
        tests: STB_HDD.into_iter().map(test).collect(),
    }
}
