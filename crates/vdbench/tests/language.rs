//! The rules of the parameter language, one snippet each: what runs it lists, and what is said about it.

use assay_formats::loader::MemoryLoader;
use assay_formats::{Diagnostic, Severity};
use assay_vdbench::{DataErrors, Options, ParameterFile, Seek, Sizes, Validation, expand, parse};

const RAW: &str = "sd=sd1,lun=/dev/x,openflags=o_direct\nwd=wd1,sd=sd1\n";
const TREE: &str = "fsd=fsd1,anchor=/t,depth=1,width=1,files=5,size=4k\nfwd=fwd1,fsd=fsd1,operation=read\n";

fn read_with(
    text: &str,
    options: &Options,
    loader: &MemoryLoader,
) -> (Option<ParameterFile>, Vec<Diagnostic>) {
    parse("dir/main", text, options, loader)
}

fn read(text: &str) -> (Option<ParameterFile>, Vec<Diagnostic>) {
    read_with(text, &Options::default(), &MemoryLoader::default())
}

#[track_caller]
fn file(text: &str) -> ParameterFile {
    let (file, diagnostics) = read(text);
    file.unwrap_or_else(|| panic!("{text}\n{diagnostics:#?}"))
}

/// What follows the name in the listing of each run.
#[track_caller]
fn runs(text: &str) -> Vec<String> {
    let strip = |line: String| line.trim_start_matches("Simulating RD=").to_owned();
    expand(&file(text)).iter().map(|run| strip(run.simulating_line())).collect()
}

/// `id line:column` of the first diagnostic of that severity.
fn first(text: &str, severity: Severity) -> Option<String> {
    let (_, diagnostics) = read(text);
    let hit = diagnostics.iter().find(|d| d.severity == severity)?;
    let place = hit.position.as_ref().map_or_else(String::new, |p| format!(" {}:{}", p.line, p.column));
    Some(format!("{}{place}", hit.id))
}

#[track_caller]
fn assert_error(text: &str, expected: &str) {
    assert_eq!(first(text, Severity::Error).as_deref(), Some(expected), "{text}");
    assert!(read(text).0.is_none(), "an error leaves no file: {text}");
}

#[track_caller]
fn assert_note(text: &str, id: &str) {
    let (file, diagnostics) = read(text);
    assert!(file.is_some(), "{diagnostics:#?}");
    assert!(
        diagnostics.iter().any(|d| d.id == id && d.severity == Severity::Note),
        "{text}\n{diagnostics:#?}"
    );
}

#[test]
fn comments_continuation_and_end() {
    let text = "# one\n* two\n// three\n\nsd=sd1,\n* between\n lun=/dev/x,openflags=o_direct trailing\nwd=wd1\nsd=sd1\n\
                rd=r,wd=wd1,iorate=max\nelapsed=60\ninterval=2\neof here\nnonsense";
    assert_eq!(runs(text), ["r; I/O rate: Uncontrolled MAX; elapsed=60; For loops: None"]);
}

#[test]
fn a_list_goes_on_over_lines_and_keywords_take_any_case() {
    let text = format!("{RAW}RD=r,WD=wd*,IORATE=max,forthreads=(1,\n2,\n4)\n");
    assert_eq!(runs(&text).len(), 3);
}

#[test]
fn quotes_protect_blanks_and_commas() {
    let parsed =
        file("sd=sd1,lun=\"/dev/a b,c=d-e\",openflags=directio\nwd=wd1,sd=\"sd1\"\nrd=r,wd=wd1,iorate=max");
    assert_eq!(parsed.storages[0].luns[0].path, "/dev/a b,c=d-e");
}

#[test]
fn loops_nest_in_order_and_rates_are_innermost() {
    let text =
        format!("{RAW}rd=r,wd=wd1,iorate=(100,200),forthreads=(1,2),forrdpct=(0),elapsed=60,interval=1");
    assert_eq!(
        runs(&text),
        [
            "r; I/O rate: 100; elapsed=60; For loops: threads=1 rdpct=0 iorate=100",
            "r; I/O rate: 200; elapsed=60; For loops: threads=1 rdpct=0 iorate=200",
            "r; I/O rate: 100; elapsed=60; For loops: threads=2 rdpct=0 iorate=100",
            "r; I/O rate: 200; elapsed=60; For loops: threads=2 rdpct=0 iorate=200",
        ]
    );
}

#[test]
fn a_repeated_loop_moves_to_the_end() {
    let text = format!("{RAW}rd=default,iorate=max,xfersize=8k,threads=2\nrd=r,wd=wd1,xfersize=1m,warmup=5");
    assert_eq!(
        runs(&text),
        ["r; I/O rate: Uncontrolled MAX; elapsed=30 warmup=5; For loops: threads=2 xfersize=1m"]
    );
}

#[test]
fn curves_list_the_maximum_and_its_points() {
    let text = format!("{RAW}rd=r,wd=wd1,iorate=curve,curve=(1,15,75.5),forthreads=(1-2,d)");
    let names: Vec<String> = runs(&text).iter().map(|l| l.split(';').take(2).collect()).collect();
    assert_eq!(
        names[..4],
        [
            "r I/O rate: Uncontrolled curve",
            "r_(1%) I/O rate: 100",
            "r_(15%) I/O rate: 1500",
            "r_(75%) I/O rate: 7500"
        ]
    );
    assert_eq!(names.len(), 8);
    let slow = Options { simulated_max_rate: 100.0, ..Options::default() };
    let (parsed, _) = read_with(&text, &slow, &MemoryLoader::default());
    let listed: Vec<_> = parsed.iter().flat_map(expand).map(|r| r.name).collect();
    assert_eq!(listed, ["r", "r_(1%)", "r_(15%)", "r_(75%)", "r", "r_(1%)", "r_(15%)", "r_(75%)"]);
    let stopped = Options { simulated_max_rate: 0.0, ..Options::default() };
    let (parsed, _) = read_with(&text, &stopped, &MemoryLoader::default());
    assert_eq!(parsed.iter().flat_map(expand).count(), 2, "points under 10 a second are left out");
}

#[test]
fn controlled_means_any_skew_priority_or_rate() {
    let two = "sd=sd1,lun=/dev/x,openflags=o_direct\nwd=wd1,sd=sd1,skew=30\nwd=wd2,sd=sd1\nwd=wd3,sd=sd1\n";
    let text = format!("{two}rd=a,wd=wd*,iorate=max\nrd=b,wd=wd2,iorate=max\nrd=c,wd=wd*,iorate=curve");
    let lines = runs(&text);
    assert!(lines[0].starts_with("a; I/O rate: Controlled MAX;"), "{lines:?}");
    assert!(lines[1].starts_with("b; I/O rate: Uncontrolled MAX;"), "{lines:?}");
    assert!(lines[2].starts_with("c; I/O rate: Controlled curve;"), "{lines:?}");
}

#[test]
fn shares_left_open_split_the_remainder() {
    let text = "sd=sd1,lun=/dev/x,openflags=o_direct\nwd=a,sd=sd1,skew=40\nwd=b,sd=sd1\nwd=c,sd=sd1\nrd=r,wd=*,iorate=900";
    let parsed = file(text);
    let run = &expand(&parsed)[0];
    let shares: Vec<f64> =
        assay_vdbench::resolve::storage_workloads(&parsed, run).iter().map(|w| w.share_pct).collect();
    assert_eq!(shares, [40.0, 30.0, 30.0]);
}

#[test]
fn formats_are_inserted_before_each_run() {
    for (format, expected) in [
        ("yes", vec!["format_for_r", "r", "format_for_r", "r"]),
        ("restart", vec!["format_for_r", "r", "format_for_r", "r"]),
        ("(clean,only)", vec!["format_for_r", "format_for_r"]),
        ("(restart,only)", vec!["format_for_r", "format_for_r"]),
        ("once", vec!["format_for_r", "r", "r"]),
        ("no", vec!["r", "r"]),
        ("(yes,no)", vec!["r", "r"]),
    ] {
        let text = format!("{TREE}rd=r,fwd=fwd1,fwdrate=max,format={format},forthreads=(1,2)");
        let names: Vec<String> = expand(&file(&text)).into_iter().map(|r| r.name).collect();
        assert_eq!(names, expected, "{format}");
    }
}

#[test]
fn the_rates_of_trees_are_the_outermost_loop() {
    let text = format!("{TREE}rd=r,fwd=fwd*,fwdrate=(100,200),foroperations=(read,getattr)");
    assert_eq!(runs(&text)[1], "r; elapsed=30; fwdrate=100; For loops: fwdrate=100 operation=getattr");
    assert_eq!(runs(&text)[2], "r; elapsed=30; fwdrate=200; For loops: fwdrate=200 operation=read");
}

#[test]
fn a_curve_that_only_formats_formats_once() {
    let names = |format: &str| -> Vec<String> {
        let text = format!("{TREE}rd=r,fwd=fwd1,fwdrate=curve,curve=(50,100),format={format}");
        expand(&file(&text)).into_iter().map(|run| run.name).collect()
    };
    assert_eq!(names("only"), ["format_for_r"]);
    assert_eq!(names("once"), ["format_for_r", "r", "r_(50%)", "r_(100%)"]);
}

#[test]
fn more_than_the_tree_has_is_refused() {
    let tree = |total: &str| TREE.replace("files=5", &format!("files=5,totalsize={total}"));
    assert_error(&format!("{}rd=r,fwd=fwd1,fwdrate=max", tree("21k")), "totalsize-above-tree 1:1");
    assert_eq!(runs(&format!("{}rd=r,fwd=fwd1,fwdrate=max", tree("20k"))).len(), 1);
    let wide = "fsd=fsd1,anchor=/t,depth=2,width=3,files=5,size=4k,distribution=all,totalsize=240k\nfwd=fwd1,fsd=fsd1,operation=read\n";
    assert_eq!(runs(&format!("{wide}rd=r,fwd=fwd1,fwdrate=max")).len(), 1, "12 directories of 20k");
}

#[test]
fn a_definition_that_no_run_uses_may_name_what_is_not_there() {
    assert_note(&format!("{RAW}wd=wd2,sd=nope\nrd=r,wd=wd1,iorate=max"), "no-match-unused");
    assert_error(&format!("{RAW}wd=wd2,sd=nope\nrd=r,wd=wd*,iorate=max"), "no-match 3:11");
}

#[test]
fn a_single_transfer_size_may_be_any() {
    assert_eq!(runs(&format!("{RAW}wd=wd2,sd=sd1,xfersize=1000\nrd=r,wd=wd2,iorate=max")).len(), 1);
    assert_error(
        &format!("{RAW}wd=wd2,sd=sd1,xfersize=(1000,50,4k,50)\nrd=r,wd=wd2,iorate=max"),
        "bad-value 3:25",
    );
}

#[test]
fn missing_file_targets_are_written_first() {
    let text = "sd=sd1,lun=/data/file,size=10m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max";
    assert_eq!(
        runs(text)[0],
        "SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max"
    );
    let options =
        Options { existing_files: [("/data/file".to_owned(), 10 << 20)].into(), ..Options::default() };
    let (parsed, _) = read_with(text, &options, &MemoryLoader::default());
    assert_eq!(parsed.iter().flat_map(expand).count(), 1);
    assert_eq!(runs(&format!("formatsds=no\n{text}")).len(), 1);
}

#[test]
fn templates_are_cloned_and_may_change_midway() {
    let text = "sd=default,openflags=o_direct,threads=3\nsd=sd1,lun=/dev/a\nsd=default,threads=5\nsd=sd2,lun=/dev/b\n\
                wd=default,xfersize=8k\nwd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=max";
    let parsed = file(text);
    assert_eq!([parsed.storages[0].threads, parsed.storages[1].threads], [3.0, 5.0]);
    assert!(parsed.storages[1].open_flags.as_ref().is_some_and(|f| f.direct));
    assert_eq!(parsed.workloads[0].transfer, Sizes::Fixed(8192));
}

#[test]
fn wildcards_ranges_and_clones_select() {
    let text = "sd=default,openflags=o_direct\nsd=sd,lun=/dev/vd*,count=(1,12)\nwd=wd1,sd=(sd2-sd4,sd1*)\nrd=r,wd=*,iorate=max";
    let parsed = file(text);
    let names: Vec<&str> =
        parsed.workloads[0].storages.iter().map(|i| parsed.storages[*i].name.as_str()).collect();
    assert_eq!(names, ["sd2", "sd3", "sd4", "sd1", "sd10", "sd11", "sd12"]);
    assert_eq!(parsed.storages[11].luns[0].path, "/dev/vd12");
}

#[test]
fn hosts_repeat_definitions() {
    let text = "hd=one,system=10.0.0.1\nhd=two,system=10.0.0.2\n\
                fsd=fsd_$host,anchor=/mnt/!host/#host-of-#hosts\nfwd=fwd_$host,fsd=fsd_$host,host=$host\nrd=r,fwd=fwd*,fwdrate=max";
    let parsed = file(text);
    assert_eq!(parsed.file_systems[1].anchor, "/mnt/two/1-of-2");
    assert_eq!(parsed.file_workloads.len(), 2);
    assert_eq!(parsed.file_workloads[1].hosts, ["two"]);
}

#[test]
fn variables_come_from_the_command_line() {
    let options = Options {
        variables: vec![("n".into(), "7".into()), ("name".into(), "r9".into())],
        ..Options::default()
    };
    let text = format!("{RAW}rd=$name,wd=wd1,iorate=!n,interval=1");
    let (parsed, diagnostics) = read_with(&text, &options, &MemoryLoader::default());
    let listed: Vec<String> = parsed.iter().flat_map(expand).map(|r| r.simulating_line()).collect();
    assert_eq!(listed, ["Simulating RD=r9; I/O rate: 7; elapsed=30; For loops: None"], "{diagnostics:?}");
    let (parsed, diagnostics) = read_with(RAW, &options, &MemoryLoader::default());
    assert!(parsed.is_none() && diagnostics.iter().any(|d| d.id == "unused-variable"));
    assert_error(&format!("{RAW}rd=r,wd=wd1,iorate=$rate"), "unset-variable 3:20");
}

#[test]
fn validation_and_its_errors_hold_for_any_file_from_the_command_line() {
    let with = |words: &[(&str, &str)], text: &str| {
        let variables = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = Options { variables, ..Options::default() };
        read_with(text, &options, &MemoryLoader::default())
    };
    let text = format!("{RAW}rd=r,wd=wd1,iorate=max");
    let (parsed, said) = with(&[("validate", "(yes,read)"), ("data_errors", "3")], &text);
    let general = parsed.unwrap_or_else(|| panic!("{said:?}")).general;
    assert_eq!(general.validation, Some(Validation { reread: true, preread: true, journal: false }));
    assert_eq!(general.data_errors, Some(DataErrors::Stop { count: 3, after_s: None }));
    let (parsed, said) = with(&[("journal", "recover")], &text);
    assert!(parsed.is_some_and(|file| file.general.validation.is_some_and(|validation| validation.journal)));
    let lost = said.iter().find(|said| said.id == "data-validation").expect("a loss");
    assert_eq!(lost.position.as_ref().map(|at| at.file.as_str()), Some("command line"));
    // A line that uses the name makes it a variable.
    let (parsed, said) = with(&[("validate", "7")], &text.replace("iorate=max", "iorate=$validate"));
    assert!(parsed.is_some_and(|file| file.general.validation.is_none()), "{said:?}");
    assert!(with(&[("validate", "perhaps")], &text).0.is_none());
}

#[test]
fn includes_are_looked_for_in_three_places_and_do_not_nest() {
    let text = "include=storage.txt\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max";
    for place in ["dir/storage.txt", "dir/../storage.txt", "storage.txt"] {
        let mut loader = MemoryLoader::default();
        loader.files.insert(place.into(), "sd=sd1,lun=/dev/x,openflags=o_direct\n".into());
        let (parsed, diagnostics) = read_with(text, &Options::default(), &loader);
        assert!(parsed.is_some(), "{place}: {diagnostics:?}");
    }
    assert_error(text, "include-missing 1:1");
    let mut loader = MemoryLoader::default();
    loader.files.insert("dir/a".into(), "include=b\n".into());
    loader.files.insert("dir/main".into(), "include=main\n".into());
    for (text, id) in [("include=a", "nested-include"), ("include=main", "cyclic-include")] {
        let (_, diagnostics) = read_with(text, &Options::default(), &loader);
        let hit = diagnostics.iter().find(|d| d.severity == Severity::Error);
        assert_eq!(hit.map(|d| d.id), Some(id), "{diagnostics:?}");
        assert!(
            hit.is_some_and(|d| d
                .position
                .as_ref()
                .is_some_and(|p| p.line == 1 && p.file.starts_with("dir/")))
        );
    }
}

#[test]
fn command_line_words_change_the_runs() {
    let text = format!("{RAW}rd=a,wd=wd1,iorate=max\nrd=b,wd=wd1,iorate=max,\nelapsed=60");
    let options = Options {
        extra: vec!["forthreads=(1,2)".into()],
        restart_at: Some("b".into()),
        elapsed_s: Some(90),
        warmup_s: Some(10),
        ..Options::default()
    };
    let (parsed, _) = read_with(&text, &options, &MemoryLoader::default());
    let listed: Vec<String> = parsed.iter().flat_map(expand).map(|r| r.simulating_line()).collect();
    assert_eq!(
        listed[0],
        "Simulating RD=b; I/O rate: Uncontrolled MAX; elapsed=90 warmup=10; For loops: threads=1"
    );
    assert_eq!(listed.len(), 2);
}

#[test]
fn errors_name_place_word_and_rule() {
    for (text, expected) in [
        ("sd=sd1, lun=/dev/x\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max", "lun-missing 1:1"),
        ("sd=sd1,lun=/dev/x\nwd=wd1,sd=sd2\nrd=r,wd=wd1,iorate=max", "no-match 2:11"),
        ("sd=sd1,lun=/dev/x\nsd=sd1,lun=/dev/y\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max", "duplicate-name 2:1"),
        ("wd=wd1,sd=sd1\nsd=sd1,lun=/dev/x\nrd=r,wd=wd1,iorate=max", "wrong-order 2:1"),
        ("debug=\n", "empty-value 1:1"),
        ("sd=sd1,lun=/dev/x,size=50%\n", "bad-value 1:24"),
        ("sd=sd1,lun=/dev/x,l=5\n", "unknown-keyword 1:19"),
        ("sd=sd1,lun=/dev/x,lan=5\n", "unknown-keyword 1:19"),
        ("sd=sd1,lun=/dev/x,openflags=o_fast\n", "bad-value 1:29"),
        ("sd=default,lun=/dev/x\nsd=sd1,lun=/dev/y\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max", "bad-default 1:1"),
        ("compratio=30\n", "bad-value 1:11"),
        ("swat=x\n", "bad-value 1:6"),
        ("hd=h1,system=-oProxyCommand=x\n", "bad-value 1:14"),
        ("hd=h1,system=\"a b\"\n", "bad-value 1:15"),
        ("hd=h1,system=db1,user=-oProxyCommand\n", "bad-value 1:23"),
    ] {
        assert_error(text, expected);
    }
}

#[test]
fn errors_of_a_run() {
    for (rest, expected) in [
        ("rd=r,wd=wd1,iorate=max,elapsed=30,interval=20", "bad-interval 3:1"),
        ("rd=r,wd=wd1,iorate=max,elapsed=35,interval=10", "bad-interval 3:1"),
        ("rd=r,wd=wd1,iorate=max,warmup=5,interval=10", "bad-interval 3:1"),
        ("rd=r,wd=wd1", "rate-missing 3:1"),
        ("rd=r,iorate=max", "no-workload 3:1"),
        ("rd=r,wd=wd1,iorate=(100,max)", "mixed-list 3:25"),
        ("rd=r,wd=wd1,iorate=max,forthreads=(64,1,d)", "mixed-list 3:41"),
        ("rd=r,wd=wd1,iorate=max,forthreads=(1-5)", "range-needs-step 3:36"),
        ("rd=r,wd=wd1,iorate=max,forxfersize=(4k,50)", "bad-value 3:40"),
        ("rd=r,wd=wd1,iorate=max,elapsed=30s", "bad-value 3:32"),
        ("rd=r,wd=wd1,iorate=max\nwd=wd2,sd=sd1", "bad-value 4:4"),
        ("rd=r,wd=wd1,iorate=max,maxdata_read=1g", "unknown-keyword 3:24"),
    ] {
        assert_error(&format!("{RAW}{rest}"), expected);
    }
}

#[test]
fn skew_must_total_100() {
    let two = |a: &str, b: &str| {
        format!("sd=sd1,lun=/dev/x,openflags=o_direct\nwd=a,sd=sd1{a}\nwd=b,sd=sd1{b}\nrd=r,wd=*,iorate=max")
    };
    assert_error(&two(",skew=30", ",skew=50"), "skew-not-100 4:1");
    assert_error(&two(",skew=100", ""), "skew-not-100 4:1");
    assert!(read(&two(",skew=30", ",skew=70")).0.is_some());
    assert!(read(&two("", "")).0.is_some());
}

#[test]
fn traps_are_notes() {
    let wd = |rest: &str| {
        format!("sd=sd1,lun=/dev/x,openflags=o_direct,align=4k\nwd=w,sd=sd1,{rest}\nrd=r,wd=w,iorate=max")
    };
    assert_note(&wd("xfersize=(4k,8k,4k)"), "three-number-xfersize");
    assert_note(&wd("hotband=(0,100)"), "hotband-unit-error");
    assert_note(&wd("rhpct=75"), "small-hit-area");
    assert_note(&wd("rdpct=50%"), "percent-sign");
    assert_note(&wd("threads=3"), "wd-threads");
    assert_note(&wd("openflags=o_sync"), "o-sync-is-dsync");
    assert_note(&wd("seekpct=20"), "seekpct-is-a-coin");
    assert_note(&wd("seekpct=(poisson,3)"), "poisson-is-exponential");
    assert_note(&wd("rdpct=50 ,seekpct=0"), "blank-starts-comment");
    assert_note(&wd("rdpct=50\t# mix"), "tab-as-blank");
    assert_note("sd=s,lun=/dev/x\nwd=w,sd=s\nrd=r,wd=w,iorate=max", "raw-needs-openflags");
    assert_note("sd=s,lun=/dev/shm/x,openflags=o_direct\nwd=w,sd=s\nrd=r,wd=w,iorate=max", "dev-shm-is-raw");
    assert_note(&format!("{RAW}rd=r,wd=wd1,iorate=max,maxdata=1"), "maxdata-multiples");
    assert_note(&format!("{RAW}rd=r,wd=wd1,iorate=max,forrdpct=(100-0,10)"), "descending-range");
    let tree = TREE.replace("operation=read", "rdpct=50");
    assert_note(&format!("{tree}rd=r,fwd=fwd1,fwdrate=max"), "rdpct-needs-random");
}

#[test]
fn seek_modes_have_names() {
    for (word, seek) in [
        ("random", Seek::Random(100.0)),
        ("rand", Seek::Random(100.0)),
        ("100", Seek::Random(100.0)),
        ("seq", Seek::Sequential),
        ("sequential", Seek::Sequential),
        ("0", Seek::Sequential),
        ("seqnz", Seek::SequentialFromRandom),
        ("eof", Seek::UntilEnd),
        ("-1", Seek::UntilEnd),
        ("(poisson,5)", Seek::Poisson { midpoint: 5.0 }),
        ("poisson", Seek::Poisson { midpoint: 3.0 }),
    ] {
        let text =
            format!("sd=sd1,lun=/dev/x,openflags=o_direct\nwd=w,sd=sd1,seek={word}\nrd=r,wd=w,iorate=max");
        assert_eq!(file(&text).workloads[0].seek, seek, "{word}");
    }
}

#[test]
fn what_is_not_done_is_a_loss_with_its_place() {
    let text = format!("monitor=/tmp/stop\n{RAW}rd=r,wd=wd1,iorate=max");
    let (_, diagnostics) = read(&text);
    let loss = diagnostics.iter().find(|d| d.severity == Severity::Loss).expect("a loss is reported");
    let place = loss.position.as_ref().map(|p| (p.file.as_str(), p.line, p.column));
    assert_eq!((place, loss.word.as_str()), (Some(("dir/main", 1, 1)), "/tmp/stop"));
    assert!(!loss.help.is_empty() && loss.message.contains("monitor"));
    assert!(!loss.changes_test(), "the same I/O is done without it");
}
