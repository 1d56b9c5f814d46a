//! The same job file through real fio and through Assay: how many I/Os, which mix, which sizes, which addresses.
//!
//! fio's operations are read from its log of each I/O; those of Assay are generated again from the plan of its run, which
//! fixes them. Totals come from what both report.

#[path = "agree/assay.rs"]
mod assay;
#[path = "agree/bounds.rs"]
mod bounds;
#[path = "agree/corpus.rs"]
mod corpus;
#[path = "agree/fio.rs"]
mod fio;
#[path = "agree/generated.rs"]
mod generated;
#[path = "agree/numbers.rs"]
mod numbers;
#[path = "agree/places.rs"]
mod places;

use std::collections::BTreeMap;
use std::io::Write as _;

use assay_workload::pattern::OpKind;

use crate::has_fio;
use crate::support::Place;

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traced {
    kind: OpKind,
    offset_bytes: u64,
    len_bytes: u64,
}

/// What one side did in one job, all its clones together.
#[derive(Debug, Clone, Default)]
struct Did {
    /// I/Os by operation, as reported.
    totals: BTreeMap<&'static str, u64>,
    /// Operations a second by operation, as reported.
    rates: BTreeMap<&'static str, f64>,
    /// The operations one by one, as far as they are known.
    trace: Vec<Traced>,
}

/// Seeds for which I/Os are counted where chance cuts them.
const SEEDS_FIO: u64 = 32;
const SEEDS_ASSAY: u64 = 256;

/// How a job ends, which is what can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// After so many I/Os or bytes: the totals are equal.
    Count,
    /// When each byte was done once, in blocks that are cut where they meet others: chance decides how many.
    Map,
    /// After a time at a rate: the rates are equal.
    Rate,
}

/// Runs `text` by both and holds them to the bounds. `jobs` are the names of its jobs with how each ends.
fn both_agree(title: &str, text: &str, jobs: &[(&str, End)]) {
    let place = Place::new();
    place.file("job.fio", text);
    // Assay comes first: it makes the files, marked as its own, and fio finds them long enough.
    let by_assay = assay::run(&place, jobs);
    let by_fio = fio::run(&place, jobs, &by_assay);
    for ((name, end), (job, done)) in jobs.iter().zip(by_assay.iter().zip(&by_fio)) {
        let mut found = bounds::compare(*end, &job.did, done);
        if *end == End::Map {
            let by_fio = fio::counts(&place, text, SEEDS_FIO);
            found.push(bounds::counts(&assay::counts(job, SEEDS_ASSAY), &by_fio));
        }
        say(&format!("{title}, {name}: {}", found.join("; ")));
    }
}

/// What was found is to be seen in the output of the tests.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

#[test]
fn a_mix_of_sizes_over_zones_agrees() {
    if !has_fio() {
        return;
    }
    let text = "[global]\nioengine=libaio\ndirect=1\niodepth=16\nsize=64m\nfilename=a.dat\nnorandommap\n\
        [mixed]\nrw=randrw\nrwmixread=40\nnumjobs=2\nnumber_ios=3000\nblockalign=4k\n\
        bssplit=512/4:1024/1:4k/70:8k/10:16k/12:64k/3\nrandom_distribution=zoned:50/5:30/15:20/80\n";
    both_agree("sizes and zones", text, &[("mixed", End::Count)]);
}

#[test]
fn walks_with_flushes_and_gaps_agree() {
    if !has_fio() {
        return;
    }
    let text = "[global]\nioengine=psync\nsize=16m\n\
        [walk]\nfilename=a.dat\nrw=write\nbs=64k\nfsync=8\nio_size=24m\n\
        [gaps]\nstonewall\nfilename=b.dat\nrw=read:12k\nbs=4k\nnumber_ios=2000\n\
        [once]\nstonewall\nfilename=c.dat\nrw=randread\nbs=8k\n";
    let jobs = [("walk", End::Count), ("gaps", End::Count), ("once", End::Count)];
    both_agree("walks", text, &jobs);
}

/// One map for both, in which each direction counts its own smallest blocks. A size limit beyond the file's makes fio go on
/// where its map has no place left.
#[test]
fn directions_with_sizes_of_their_own_agree() {
    if !has_fio() {
        return;
    }
    let text = "[global]\nioengine=psync\nsize=32m\nio_size=4g\nrw=randrw\nrandrepeat=0\n\
        number_ios=6000\n[each]\nfilename=a.dat\nbs=4k,64k\n\
        [split]\nstonewall\nfilename=b.dat\nbssplit=4k/50:64k/50,16k/100\n\
        [free]\nstonewall\nfilename=c.dat\nbs=4k,16k\nnorandommap\n";
    let jobs = [("each", End::Count), ("split", End::Count), ("free", End::Count)];
    both_agree("sizes by direction", text, &jobs);
}

#[test]
fn rates_and_partly_random_access_agree() {
    if !has_fio() {
        return;
    }
    let text = "[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime=3\nrate_process=poisson\nsize=64m\n\
        filename=a.dat\nnorandommap\n\
        [partly]\nrw=randread\nbssplit=8k/90:32k/10\npercentage_random=80\niodepth=8\nrate_iops=800\n\
        [mostly]\nrw=randwrite\nbs=32k\npercentage_random=20\nrate_iops=900\n";
    both_agree("rates", text, &[("partly", End::Rate), ("mostly", End::Rate)]);
}
