//! Job files of others, of different kinds, made small.
//!
//! The files are not part of this repository: they are looked for in `$ASSAY_CORPUS/fio`, else beside the checkout.

use std::path::{Path, PathBuf};

use super::{End, both_agree};
use crate::{has_fio, skip};

/// A file and what has to change for a small machine.
struct Case {
    file: &'static str,
    /// Options that are taken out wherever they stand.
    without: &'static [&'static str],
    /// Lines in front of the file, in a global section.
    with: &'static str,
    /// Only this section, where the file has others.
    section: Option<&'static str>,
    jobs: &'static [(&'static str, End)],
}

/// What names a place or a length in all of them, or hides single jobs.
const PLACES: [&str; 10] = [
    "filename",
    "directory",
    "size",
    "runtime",
    "time_based",
    "ramp_time",
    "offset",
    "startdelay",
    "opendir",
    "group_reporting",
];

const CASES: [Case; 10] = [
    Case {
        file: "KinderRiven_IO_TESTER__jesd219.fio",
        without: &["numjobs"],
        with: "filename=a.dat\nsize=128m\nnumjobs=2\nnumber_ios=5000\n",
        section: None,
        jobs: &[("JESD219", End::Count)],
    },
    Case {
        file: "nutanix_curie__vdi.02dc6e.fio",
        without: &["rate_iops"],
        with: "filename=a.dat\nsize=128m\nruntime=4\ntime_based\nrate_iops=900\n",
        section: None,
        jobs: &[("vdi-read", End::Rate), ("vdi-write", End::Rate)],
    },
    Case {
        file: "nutanix_curie__oltp.fio",
        without: &["rate_iops"],
        with: "filename=a.dat\nsize=128m\nruntime=3\ntime_based\nrate_iops=300,300\n",
        section: Some("db-oltp1"),
        jobs: &[("db-oltp1", End::Rate)],
    },
    Case {
        file: "KinderRiven_IO_TESTER__rand-zones.fio",
        without: &[],
        with: "filename=a.dat\nsize=128m\nnumber_ios=8000\n",
        section: None,
        jobs: &[("zones", End::Count)],
    },
    Case {
        file: "openzfs_zfs__random_readwrite.fio",
        without: &[
            "sync",
            "direct",
            "numjobs",
            "randseed",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "filename_format",
            "nrfiles",
        ],
        with: "filename=a.dat\nsize=256m\n",
        section: None,
        jobs: &[("job", End::Map)],
    },
    Case {
        file: "autotest_autotest-client-tests__fio-mixed.job.fio",
        without: &["verify", "name"],
        with: "size=64m\nfilename=a.dat\n",
        section: Some("file1"),
        jobs: &[("file1", End::Map)],
    },
    // With several outstanding the number of flushes is an accident of the engine, and differs between versions of fio.
    Case {
        file: "Takashiidobe_benchmarking__aio-seqwrite-fsync.fio",
        without: &["name", "iodepth"],
        with: "filename=a.dat\nsize=32m\nio_size=40m\n",
        section: None,
        jobs: &[("file1", End::Count)],
    },
    Case {
        file: "jeonsi_fio-test__rand_rw_iops.fio",
        without: &["rate_iops", "iodepth"],
        with: "filename=a.dat\nsize=64m\nruntime=3\ntime_based\niodepth=16\nrate_iops=200\n",
        section: None,
        jobs: &[("read_iops", End::Rate), ("write_iops", End::Rate)],
    },
    Case {
        file: "jthornber_device-mapper-test-suite__jharrigan.fio",
        without: &[],
        with: "filename=a.dat\nsize=256m\nnumber_ios=4000\n",
        section: None,
        jobs: &[("randrw", End::Count)],
    },
    // Its last block ends with the file, where fio ends the job.
    Case {
        file: "awslabs_mountpoint-s3__seq_read_skip_17m.fio",
        without: &["bs", "name"],
        with: "filename=a.dat\nsize=256m\nbs=64k\nnumber_ios=3000\n",
        section: None,
        jobs: &[("seq_read_skip_17m", End::Count)],
    },
];

#[test]
fn ten_job_files_of_others_agree() {
    if !has_fio() {
        return;
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let directory = std::env::var_os("ASSAY_CORPUS").map_or(beside, PathBuf::from).join("fio");
    if !directory.is_dir() {
        skip::declare("corpus", "no job files; ASSAY_CORPUS names their directory");
        return;
    }
    for case in &CASES {
        let text = std::fs::read(directory.join(case.file)).expect("a file of the collection");
        both_agree(case.file, &small(case, &String::from_utf8_lossy(&text)), case.jobs);
    }
}

/// The file with its places and lengths replaced.
fn small(case: &Case, text: &str) -> String {
    let mut kept = format!("[global]\n{}", case.with);
    let mut wanted = true;
    for line in text.lines() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            wanted = section == "global" || case.section.is_none_or(|only| only == section);
        }
        let option = line.split('=').next().unwrap_or_default().trim();
        if wanted && !PLACES.contains(&option) && !case.without.contains(&option) {
            kept += &format!("{line}\n");
        }
    }
    kept
}
