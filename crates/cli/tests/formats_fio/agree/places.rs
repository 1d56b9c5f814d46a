//! Where the regions of generated job files begin and end, and where files do, with both.

use std::collections::BTreeSet;
use std::process::Command;

use assay_workload::Plan;
use serde_json::Value;

use super::{Traced, assay, fio};
use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::Place;

const FILE_BYTES: usize = 8 << 20;

/// What fio and Assay do with the lines in a file that is there, clone by clone.
fn both(lines: &str) -> [Vec<Vec<Traced>>; 2] {
    let place = Place::new();
    place.file("a.dat", "");
    std::fs::write(place.path().join("a.dat"), vec![7; FILE_BYTES]).expect("a file");
    place.file("job.fio", &format!("[j]\nfilename=a.dat\n{}\n", lines.replace(' ', "\n")));
    let said = place.assay(&["plan", "job.fio", "--json"]);
    assert_eq!(said.code, Some(0), "{lines}: {said:?}");
    let plan: Value = serde_json::from_str(&said.out).expect("a plan");
    let plan: Plan = serde_json::from_value(plan["plan"].clone()).expect("a plan");
    let job = &plan.phases[0].jobs[0];
    let by_assay = job.slices.iter().map(|slice| assay::operations(job, slice, 100_000)).collect();
    run_fio(&place, &["--write_lat_log=each", "--log_offset=1"], lines);
    let log = |clone| fio::log(&place.read(&format!("each_lat.{clone}.log")));
    let mut by_fio: Vec<Vec<Traced>> = (1..=job.slices.len()).map(log).collect();
    // fio numbers its clones from behind.
    by_fio[1..].reverse();
    [by_assay, by_fio]
}

fn run_fio(place: &Place, words: &[&str], lines: &str) {
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "--output=fio.json", "job.fio"]).args(words);
    assert!(command.current_dir(place.path()).status_in_time().expect("fio starts").success(), "{lines}");
}

/// The first and the last byte of any I/O, and by how much starts miss the grid of `step` bytes from the first one on.
fn bounds(ios: &[Traced], step: u64) -> (u64, u64, BTreeSet<u64>) {
    let start = ios.iter().map(|io| io.offset_bytes).min().unwrap_or(0);
    let end = ios.iter().map(|io| io.offset_bytes + io.len_bytes).max().unwrap_or(0);
    (start, end, ios.iter().map(|io| (io.offset_bytes - start) % step).collect())
}

/// Blocks begin at multiples of their size from the start of the region on, wherever that is.
#[test]
fn regions_begin_where_they_are_asked_to() {
    if !has_fio() {
        return;
    }
    // Every place of these is met, so that the first and the last byte are those of the region.
    for (lines, step) in [
        ("rw=read offset=3k bs=8k size=96k", 8192),
        ("rw=read offset=12k bs=8k size=96k", 8192),
        ("rw=randread offset=100k bs=64k size=4m", 65536),
        ("rw=randread offset=100k bs=64k", 65536),
        ("rw=randread offset=3k bsrange=4k-16k size=1m", 4096),
        ("rw=read offset=3k bsrange=4k-16k size=1m", 4096),
        ("rw=randread offset=3k bssplit=4k/50:16k/50 size=1m", 4096),
        ("rw=randread offset=3k bs=4k random_generator=lfsr size=1m", 4096),
        ("rw=randread offset=3k bs=4k norandommap size=64k io_size=4m", 4096),
        ("rw=randread offset=3k bs=4k percentage_random=50 size=64k io_size=4m", 4096),
        ("rw=randread offset=3k bs=4k ba=8k size=64k io_size=4m", 8192),
        ("rw=randread offset=3k bs=4k random_distribution=zipf:0.4 size=64k io_size=8m", 4096),
        ("rw=read:4k offset=3k bs=4k size=40k number_ios=5", 8192),
        ("rw=read offset=10% bs=8k size=40k", 8192),
        ("rw=read offset=3k offset_increment=5k numjobs=3 bs=8k size=40k", 8192),
        ("rw=read offset=3k offset_increment=7% numjobs=3 bs=8k size=40k", 8192),
        ("rw=read offset=3% offset_increment=7% numjobs=3 bs=8k size=40k", 8192),
        ("rw=randread offset=1536 bs=4k direct=1 size=64k", 4096),
    ] {
        let [by_assay, by_fio] = both(lines);
        let of = |clones: &[Vec<Traced>]| clones.iter().map(|ios| bounds(ios, step)).collect::<Vec<_>>();
        assert_eq!(of(&by_assay), of(&by_fio), "{lines}: fio on the right");
    }
}

/// What lies before and behind the region stays as it was.
#[test]
fn writes_stay_inside_their_region() {
    if !has_fio() {
        return;
    }
    let changed = |lines: &str, by_fio: bool| {
        let place = Place::new();
        place.file("make.fio", "[make]\nfilename=a.dat\nrw=write\nbs=64k\nsize=512k\nzero_buffers\n");
        place.assay(&["run", "make.fio"]).done();
        place.file("job.fio", &format!("[j]\nfilename=a.dat\n{}\n", lines.replace(' ', "\n")));
        if by_fio {
            run_fio(&place, &[], lines);
        } else {
            place.assay(&["run", "job.fio"]).done();
        }
        let bytes = std::fs::read(place.path().join("a.dat")).expect("a file");
        let is_changed = |byte: &u8| *byte != 0;
        assert_eq!(bytes.len(), 512 << 10);
        (bytes.iter().position(is_changed), bytes.iter().rposition(is_changed))
    };
    for lines in [
        "rw=write bs=64k offset=100k size=64k",
        "rw=randwrite bs=64k offset=100k size=128k buffer_pattern=0x61",
        "rw=randwrite bsrange=4k-16k offset=3k size=64k buffer_pattern=0x61",
        "rw=write bs=4k offset=1536 size=8k direct=1 buffer_pattern=0x61",
    ] {
        let lines = &format!("{lines} buffer_pattern=0x61");
        assert_eq!(changed(lines, false), changed(lines, true), "{lines}: fio on the right");
    }
}

#[test]
fn a_region_that_direct_io_cannot_begin_with_is_refused() {
    let place = Place::new();
    place.file("job.fio", "[j]\nfilename=a.dat\nrw=write\nbs=4k\noffset=100\nsize=8k\ndirect=1\n");
    let said = place.assay(&["run", "job.fio"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("the start of its range, byte 100, is not a multiple of"), "{said:?}");
    assert!(!place.path().join("a.dat").exists());
}

/// A file as it is after a run.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    name: String,
    bytes: u64,
    /// Whether it has space for all of that.
    is_allocated: bool,
    /// Whether its last sector holds data.
    has_data_at_end: bool,
}

fn files_left(place: &Place) -> Vec<Left> {
    use std::os::unix::fs::MetadataExt as _;
    let mut all = Vec::new();
    for entry in std::fs::read_dir(place.path()).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        if name != "a.dat" && !name.starts_with("j.") {
            continue;
        }
        let bytes = std::fs::read(entry.path()).expect("a file");
        std::fs::File::open(entry.path()).and_then(|file| file.sync_all()).expect("a sync");
        let meta = entry.metadata().expect("a file");
        all.push(Left {
            name,
            bytes: meta.len(),
            is_allocated: meta.blocks() * 512 >= meta.len(),
            has_data_at_end: bytes[bytes.len() - 512..].iter().any(|byte| *byte != 0),
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Sizes, space and data of files that were not there before.
#[test]
fn new_files_are_made_alike() {
    if !has_fio() {
        return;
    }
    for lines in [
        "filename=a.dat rw=randwrite bs=7k size=10m",
        "filename=a.dat rw=write bs=7k size=10m fallocate=none",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 fallocate=none",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 fallocate=keep",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 fallocate=truncate",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 fallocate=posix",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 overwrite=1",
        "filename=a.dat rw=write bs=64k size=1m number_ios=3 overwrite=1 fallocate=none",
        "filename=a.dat rw=write bs=4k filesize=32m size=8m",
        "filename=a.dat rw=read bs=64k size=100k",
        "filename=a.dat rw=randrw bs=64k size=100k offset=3k",
        "nrfiles=3 rw=write bs=1m size=10m",
        "numjobs=2 rw=write bs=64k size=1m number_ios=3",
    ] {
        let left = |by_fio: bool| {
            let place = Place::new();
            place.file("job.fio", &format!("[j]\n{}\n", lines.replace(' ', "\n")));
            if by_fio {
                run_fio(&place, &[], lines);
            } else {
                place.assay(&["run", "job.fio"]);
            }
            files_left(&place)
        };
        let by_assay = left(false);
        assert!(!by_assay.is_empty(), "{lines}");
        assert_eq!(by_assay, left(true), "{lines}: fio on the right");
    }
}
