//! The parser ends for any input, soon, and never panics.

#[path = "support/fuzz.rs"]
mod any;

use any::fuzz;
use assay_formats::Severity;
use assay_formats::loader::MemoryLoader;
use assay_vdbench::{Options, expand, lower, parse, write};
use proptest::prelude::*;

fn first_error(text: &str) -> Option<&'static str> {
    let (file, diagnostics) = parse("t", text, &Options::default(), &MemoryLoader::default());
    assert!(file.is_none() || !diagnostics.iter().any(|d| d.severity == Severity::Error));
    diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.id)
}

#[test]
fn binary_and_oversized_input_is_refused_at_once() {
    assert_eq!(first_error("\u{7f}ELF\u{1}\0\0\0"), Some("not-text"));
    let large = "sd=sd1,lun=/dev/x\n".repeat(6 << 20);
    assert!(large.len() > 100 << 20);
    assert_eq!(first_error(&large), Some("too-large"));
}

#[test]
fn expansions_are_bounded() {
    let raw = "sd=sd1,lun=/dev/x,openflags=o_direct\nwd=wd1,sd=sd1\n";
    for text in [
        format!("{raw}rd=r,wd=wd1,iorate=max,forthreads=(1-1e9,1)"),
        format!(
            "{raw}rd=r,wd=wd1,iorate=max,forthreads=(1-1000,1),forrdpct=(0-99,0.1),forxfersize=(4k-8m,4k)"
        ),
        "sd=sd,lun=/dev/x*,count=(1,99999999)\n".to_owned(),
        "hd=h,system=x,clients=9999999\nfsd=f$host,anchor=/$host\n".repeat(20),
        format!("{raw}rd=r,wd=(wd1-wd99999999999999999999),iorate=max"),
        format!("{raw}rd=r,wd=(wd1-wd9999999999),iorate=max"),
    ] {
        assert!(first_error(&text).is_some(), "{}", &text[..60]);
    }
}

#[test]
fn many_definitions_that_all_refer_to_each_other_are_bounded() {
    use std::fmt::Write as _;
    let mut text = String::from("sd=default,openflags=o_direct\n");
    for i in 0..5000 {
        let _ = writeln!(text, "sd=sd{i},lun=/dev/x{i}");
    }
    for i in 0..5000 {
        let _ = writeln!(text, "wd=wd{i},sd=sd*");
    }
    text.push_str("rd=r,wd=*,iorate=max\n");
    assert_eq!(first_error(&text), Some("too-large"));
}

#[test]
fn a_large_honest_file_is_fine() {
    use std::fmt::Write as _;
    let mut text = String::from("sd=default,openflags=o_direct\n");
    for i in 0..20_000 {
        let _ = writeln!(text, "sd=sd{i},lun=/dev/x{i},size=1g");
    }
    text.push_str("wd=wd1,sd=sd*\nrd=r,wd=*,iorate=max,forthreads=(1-1000,1)\n");
    let (file, diagnostics) = parse("t", &text, &Options::default(), &MemoryLoader::default());
    assert_eq!(file.iter().flat_map(expand).count(), 1000, "{diagnostics:?}");
}

/// Text that is close enough to the language to get far into the parser.
fn nearly() -> impl Strategy<Value = String> {
    let words = [
        "sd=sd1",
        "sd=*",
        "lun=/dev/x",
        "wd=wd1",
        "rd=r",
        "fsd=f",
        "fwd=w",
        "anchor=/a",
        "iorate=max",
        "fwdrate=(1,2)",
        "iorate=curve",
        "forthreads=(1-8,d)",
        "xfersize=(4k,50,8k,50)",
        "xfersize=(1k,2k,512)",
        "elapsed=5m",
        "format=(clean,only)",
        "range=(10,20)",
        "hotband=(0,100)",
        "skew=50",
        "count=(1,9)",
        "default",
        "hd=h",
        "$host",
        "$v",
        "include=inc",
        "\"",
        "(",
        ")",
        ",",
        "-",
        "=",
        "%",
        "\n",
        " ",
        "\t",
        "eof",
        "size=1g",
        "seekpct=(poisson,2)",
        "operations=(read,write)",
        "distribution=variable",
        "sd=single",
        "sd=setsof2",
        "h=9",
        "validate=yes",
        "dedupratio=2",
        "streams=4",
        "stride=(1,2)",
        "maxdata=3",
        "curve=(1-100,1)",
        "1e308",
        "-1",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60).prop_map(|w| w.join(","))
}

/// Parameters that are valid where they stand, in any combination.
fn valid() -> impl Strategy<Value = String> {
    let sd = [
        "size=1g",
        "threads=3",
        "hitarea=8m",
        "range=(10,90)",
        "range=(80,120)",
        "align=8k",
        "openflags=o_sync",
    ];
    let wd = [
        "xfersize=8k",
        "xfersize=(4k,50,64k,50)",
        "xfersize=(4k,64k,4k)",
        "rdpct=30",
        "seekpct=20",
        "seekpct=0",
        "seekpct=eof",
        "seekpct=seqnz",
        "seekpct=(poisson,2)",
        "rhpct=60",
        "whpct=20",
        "hotband=(0,50)",
        "range=(1m,50)",
        "range=(20,1g)",
        "openflags=(o_direct,fsync)",
        "openflags=0x101000",
        "stride=(1m,3m)",
    ];
    let rd = [
        "forthreads=(1-4,d)",
        "forxfersize=(512,1m)",
        "forrdpct=(0,50)",
        "iorate=(100,50%)",
        "iorate=curve",
        "warmup=2",
        "maxdata=2",
        "maxdata=1g",
        "pause=3",
        "distribution=uniform",
        "forhitarea=(1m,2m)",
        "openflags=o_dsync",
        "forseekpct=(0,50)",
        "curve=(10-100,30)",
        "interval=2",
        "elapsed=40",
        "threads=7",
    ];
    let some = |words: &[&'static str]| prop::collection::vec(prop::sample::select(words.to_vec()), 0..5);
    (some(&sd), some(&wd), some(&wd), some(&rd)).prop_map(|(sd, first, second, rd)| {
        let join = |words: Vec<&str>| words.into_iter().map(|w| format!(",{w}")).collect::<String>();
        format!(
            "sd=default,openflags=o_direct\nsd=a,lun=/dev/x{}\nsd=b,lun=/data/y,size=64m\nwd=u,sd=a{}\nwd=v,sd=(a,b){}\n\
             rd=r,wd=*,iorate=max{}\n",
            join(sd),
            join(first),
            join(second),
            join(rd)
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(data in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz(&data);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[ -~äß\\n\\t]{0,400}") {
        fuzz(text.as_bytes());
    }

    #[test]
    fn nearly_valid_text_never_panics(text in nearly(), breaks in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut bytes = text.into_bytes();
        for at in breaks {
            if !bytes.is_empty() {
                let i = at.index(bytes.len());
                if bytes[i] == b',' {
                    bytes[i] = b'\n';
                }
            }
        }
        fuzz(&bytes);
    }

    #[test]
    fn what_is_lowered_can_be_written_and_read_again(text in valid()) {
        let options = Options::default();
        let (file, _) = parse("t", &text, &options, &MemoryLoader::default());
        prop_assume!(file.is_some(), "too many combinations contradict themselves");
        let Some(file) = file else { return Ok(()) };
        let (workload, diagnostics) = lower("w", &file);
        prop_assert!(diagnostics.iter().all(|d| d.severity != Severity::Error), "{diagnostics:?}");
        let workload = workload.expect("a small file fits a plan");
        prop_assert_eq!(workload.phases.len(), expand(&file).len());
        let (written, _) = write(&workload);
        let (again, diagnostics) = parse("written", &written, &options, &MemoryLoader::default());
        prop_assert!(again.is_some(), "{text}\n---\n{written}\n{diagnostics:#?}");
        prop_assert_eq!(again.map(|file| expand(&file).len()), Some(workload.phases.len()), "{}", written);
    }
}
