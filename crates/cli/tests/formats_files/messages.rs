//! Bad files: the message names the file, the line, the column, the word and the rule, and the status is 2.

use crate::support::Place;

/// Runs `plan` on a bad file and returns the line about it.
#[track_caller]
fn refused(name: &str, text: &str) -> String {
    let place = Place::new();
    place.file(name, text);
    let said = place.assay(&["plan", name]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.out.is_empty(), "nothing is planned: {said:?}");
    let line = said.err.lines().find(|line| line.starts_with("error: "));
    line.unwrap_or_else(|| panic!("no error in {said:?}")).to_owned()
}

#[test]
fn a_misspelt_option_of_fio_is_named_with_its_place_and_the_nearest() {
    let line = refused("bad.fio", "[j]\nrw=read\niodeth=4\nsize=1m\n");
    assert!(line.contains("bad.fio:3:"), "{line}");
    assert!(line.contains("iodeth") && line.contains("iodepth"), "{line}");
}

#[test]
fn a_bad_value_of_fio_is_named_with_its_column() {
    let line = refused("bad.fio", "[j]\nrw=raed\nsize=1m\n");
    assert!(line.contains("bad.fio:2:4"), "{line}");
    assert!(line.contains("raed"), "{line}");
}

#[test]
fn a_wrong_order_in_a_parameter_file_is_named() {
    let line = refused("bad.vdb", "sd=sd1,lun=a,size=1m\nrd=rd1,wd=wd9,iorate=max,elapsed=5\n");
    assert!(line.contains("bad.vdb:2"), "{line}");
    assert!(line.contains("wd9"), "{line}");
}

#[test]
fn an_unknown_parameter_of_vdbench_is_named() {
    let text = "sd=sd1,lun=a,size=1m\nwd=wd1,sd=sd1,xfersiez=4k\nrd=rd1,wd=wd1,iorate=max,elapsed=5\n";
    let line = refused("bad.vdb", text);
    assert!(line.contains("bad.vdb:2"), "{line}");
    assert!(line.contains("xfersiez") && line.contains("xfersize"), "{line}");
}

#[test]
fn an_unknown_key_of_a_plan_is_named() {
    let text = "assay = 1\n[[target]]\nname = \"a\"\npath = \"a\"\nsize = \"1MiB\"\n[[job]]\nname = \"j\"\nop = \"read\"\n\
        block_size = \"4k\"\npattern = \"random\"\noutstandign = 8\n";
    let line = refused("bad.toml", text);
    assert!(line.contains("bad.toml:11:1"), "{line}");
    assert!(line.contains("outstandign") && line.contains("outstanding"), "{line}");
}

#[test]
fn what_is_no_text_and_what_is_no_file_are_usage_errors() {
    let place = Place::new();
    std::fs::write(place.path().join("binary"), b"[j]\nrw=\xff\xfe\n").expect("a file");
    for (name, why) in
        [("binary", "binary:2"), ("missing", "missing does not exist"), (".", "is a directory")]
    {
        let said = place.assay(&["plan", name]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
}

#[test]
fn notes_are_counted_unless_asked_for() {
    let place = Place::new();
    // Through the page cache libaio waits in the call that submits, which is worth a note.
    place.file("job.fio", "[j]\nrw=read\nioengine=libaio\niodepth=8\nbs=4k\nsize=8m\n");
    let brief = place.assay(&["plan", "job.fio"]);
    assert_eq!(brief.code, Some(0), "{brief:?}");
    assert!(brief.err.contains("--verbose shows"), "{brief:?}");
    assert!(!brief.err.contains("job.fio:4"), "{brief:?}");
    let verbose = place.assay(&["plan", "job.fio", "--verbose"]);
    assert!(verbose.err.contains("job.fio:4"), "{verbose:?}");
    assert!(!verbose.err.contains("--verbose shows"), "{verbose:?}");
}

#[test]
fn what_is_no_workload_is_said_once_and_plainly() {
    let place = Place::new();
    place.file("empty.fio", " \n\n");
    place.file("unset.fio", "[j]\nrw=write\nsize=1m\nfilename=${ASSAY_NOT_SET}/x\n");
    place.file("comment.vdb", "* nothing\n");
    std::fs::write(place.path().join("wide.fio"), b"\xff\xfe[\0j\0]\0\n\0").expect("a file");
    let cases = [
        (
            "empty.fio",
            "error: empty.fio is empty: it defines no job and no run ('assay new' writes a file)\n",
        ),
        ("wide.fio", "error: wide.fio:1: this is UTF-16 (save it as UTF-8)\n"),
        (
            "unset.fio",
            "error: unset.fio:4:10: the environment variable ASSAY_NOT_SET is not set, so it stands for nothing \
             (ASSAY_NOT_SET=<value> in front of the command)\n",
        ),
    ];
    for (file, wanted) in cases {
        for words in [&["plan", file][..], &["plan", "--runs", file], &["run", file]] {
            let said = place.assay(words);
            assert_eq!((said.code, said.err.as_str()), (Some(2), wanted), "{words:?}");
        }
    }
    let said = place.assay(&["plan", "--runs", "comment.vdb", "--format", "vdbench"]);
    assert!(said.err.starts_with("error: the file defines no run"), "{said:?}");
    assert_eq!(said.out, "");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let place = Place::new();
    place.file("j.fio", "\u{feff}[j]\r\nrw=read\r\nsize=1m\r\nfilename=x\r\n");
    place.file("p.vdb", "\u{feff}sd=s,lun=x.dat,size=1m\r\nwd=w,sd=s\r\nrd=r,wd=w,iorate=max,elapsed=2\r\n");
    for file in ["j.fio", "p.vdb"] {
        place.assay(&["plan", "--runs", file]).done();
    }
}
