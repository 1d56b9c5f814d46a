//! `assay convert`: there and back again.

use crate::support::Place;

const FIO: &str = "[global]\nioengine=libaio\ndirect=1\nsize=64m\nruntime=10\ntime_based\n\n\
    [reads]\nfilename=a.dat\nrw=randread\nbs=4k\niodepth=16\n\n\
    [mixed]\nstonewall\nfilename=a.dat\nrw=randrw\nrwmixread=70\nbs=8k\niodepth=4\nnumjobs=2\n";

const VDBENCH: &str = "sd=sd1,lun=a.dat,size=64m,openflags=o_direct\n\
    wd=wd1,sd=sd1,xfersize=8k,rdpct=70,seekpct=100\n\
    rd=rd1,wd=wd1,iorate=max,elapsed=10,interval=1,forthreads=(4,8)\n\
    rd=rd2,wd=wd1,iorate=(100,200),elapsed=10,interval=1\n";

const PLAN: &str = "assay = 1\nname = \"p\"\nseed = 7\n[[target]]\nname = \"a\"\npath = \"a.dat\"\nsize = \"64MiB\"\n\
    [[job]]\nname = \"j\"\nop = \"read\"\npattern = \"random\"\nblock_size = \"4k\"\noutstanding = 8\n\
    runtime = \"10s\"\n";

/// The text without comments, which say where it came from.
fn body(text: &str, mark: char) -> String {
    let kept = text.lines().filter(|line| !line.starts_with(mark) && !line.is_empty());
    kept.map(|line| format!("{line}\n")).collect()
}

fn mark(language: &str) -> char {
    match language {
        "fio" => ';',
        "vdbench" => '*',
        _ => '#',
    }
}

#[test]
fn a_converted_file_converts_to_itself() {
    let place = Place::new();
    for (name, text) in [("job.fio", FIO), ("parmfile", VDBENCH), ("plan.toml", PLAN)] {
        place.file(name, text);
        for to in ["fio", "vdbench", "toml"] {
            place.assay(&["convert", name, "--to", to, "-o", "once"]).done();
            // The stem of a file names the workload, so that the second one has to have the same.
            std::fs::create_dir_all(place.path().join("again")).expect("a directory");
            place.assay(&["convert", "once", "--to", to, "-o", "again/once"]).done();
            let (once, again) =
                (body(&place.read("once"), mark(to)), body(&place.read("again/once"), mark(to)));
            assert!(once.lines().count() > 3, "{name} to {to}: {once}");
            assert_eq!(once, again, "{name} to {to}");
        }
    }
}

#[test]
fn every_language_survives_a_detour_through_a_plan() {
    let place = Place::new();
    for (text, to) in [(FIO, "fio"), (VDBENCH, "vdbench")] {
        place.file("w", text);
        place.assay(&["convert", "w", "--to", to, "-o", "direct"]).done();
        place.assay(&["convert", "w", "--to", "toml", "-o", "w.toml"]).done();
        place.assay(&["convert", "w.toml", "--to", to, "-o", "detour"]).done();
        assert_eq!(body(&place.read("direct"), mark(to)), body(&place.read("detour"), mark(to)), "{to}");
    }
}

#[test]
fn what_does_not_carry_over_is_said_and_kept_as_a_comment() {
    let place = Place::new();
    let text =
        format!("{FIO}thinktime=100\nrefill_buffers=1\n[log]\nstonewall\nrw=read\nbs=1m\nwrite_bw_log=x\n");
    place.file("job.fio", &text);
    let said = place.assay(&["convert", "job.fio", "--to", "vdbench"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("pauses between operations are dropped"), "{}", said.err);
    let comments: Vec<&str> = said.out.lines().filter(|line| line.starts_with('*')).collect();
    assert!(comments.iter().any(|line| line.contains("pauses between operations")), "{comments:?}");
    assert!(comments[0].contains("job.fio"), "{comments:?}");
}

#[test]
fn strict_writes_nothing_that_loses_something() {
    let place = Place::new();
    place.file("job.fio", &format!("{FIO}thinktime=100\n"));
    let said = place.assay(&["convert", "job.fio", "--to", "vdbench", "--strict", "-o", "parmfile"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!place.path().join("parmfile").exists());
    let said = place.assay(&["convert", "job.fio", "--to", "toml", "--strict"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn tens_of_thousands_of_files_take_no_time() {
    let place = Place::new();
    place.file("many.fio", "[a]\nrw=read\nsize=4g\nnrfiles=20000\ndirectory=/d\n");
    for language in ["fio", "vdbench"] {
        let started = std::time::Instant::now();
        place.assay(&["convert", "many.fio", "--to", language, "-o", "out"]).done();
        assert!(place.read("out").len() > 20_000 * 8);
        // A second unoptimised; quadratic it would be half a minute.
        assert!(started.elapsed().as_secs() < 15, "{language}: {:?}", started.elapsed());
    }
}
