//! What the command line says about a file: its variables, its language, the units of its hotband.

use crate::bounded::Bounded as _;
use crate::support::Place;

const HOTBAND: &str =
    "sd=sd1,lun=$lun,size=1g\nwd=w,sd=sd1,hotband=(0,100)\nrd=r,wd=w,iorate=max,elapsed=4\n";

#[test]
fn variables_are_for_parameter_files() {
    let place = Place::new();
    place.file("parm", HOTBAND);
    place.file("job.fio", "[j]\nrw=read\nsize=1m\n");
    let plan = place.assay(&["plan", "parm", "lun=a.dat"]).done();
    assert!(plan.contains("a.dat"), "{plan}");
    for (words, why) in [
        (["plan", "parm", "--quiet"].as_slice(), "parm:1:12: the variable `$lun` has no value"),
        (&["plan", "parm", "lun=a", "other=b"], "other"),
        (&["plan", "parm", "lun"], "'lun' is not name=value"),
        (&["plan", "job.fio", "bs=4k"], "takes ${NAME} from the environment"),
    ] {
        let said = place.assay(words);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{why}: {said:?}");
    }
}

#[test]
fn the_units_of_a_hotband_are_chosen_and_said() {
    let place = Place::new();
    place.file("parm", HOTBAND);
    let faithful = place.assay(&["plan", "parm", "lun=a.dat", "--verbose"]);
    assert!(faithful.err.contains("32.8 % of the traffic to the first MiB"), "{faithful:?}");
    assert!(faithful.err.contains("--hotband corrected"), "{faithful:?}");
    let corrected = place.assay(&["plan", "parm", "lun=a.dat", "--verbose", "--hotband", "corrected"]);
    assert!(
        corrected.out.contains("units corrected") && !faithful.out.contains("units corrected"),
        "{corrected:?}"
    );
    place.file("job.fio", "[j]\nrw=read\nsize=1m\n");
    let said = place.assay(&["plan", "job.fio", "--hotband", "corrected"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("fio has no such pattern"), "{said:?}");
}

#[test]
fn comments_of_old_files_may_be_in_their_own_encoding() {
    let place = Place::new();
    std::fs::write(place.path().join("old.fio"), b"; gr\xfcn\n[j]\nrw=read\nsize=1m\n").expect("a file");
    place.assay(&["plan", "old.fio"]).done();
}

#[test]
fn what_has_no_end_is_no_workload_file() {
    let place = Place::new();
    let said = place.assay(&["plan", "/dev/zero"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("it is a device, not a file"), "{said:?}");
}

#[test]
fn a_file_comes_through_a_pipe() {
    let command = "printf '[j]\\nrw=randread\\nsize=1m\\n' | \"$0\" plan /dev/stdin";
    let output =
        std::process::Command::new("sh").args(["-c", command, env!("CARGO_BIN_EXE_assay")]).output_in_time();
    let said = crate::support::Said::of(&output.expect("a shell"));
    assert!(said.done().contains("random"));
}

#[test]
fn storage_that_is_large_enough_is_not_written_again() {
    let place = Place::new();
    place.file("parm", "sd=sd1,lun=a.dat,size=4m\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max,elapsed=4,warmup=1\n");
    place.file("larger", &place.read("parm").replace("4m", "5m"));
    let phases = |file: &str| {
        let words = ["run", file, "--json", "--runtime", "200ms", "--target", "."];
        let run: serde_json::Value = serde_json::from_str(&place.assay(&words).done()).expect("JSON");
        let names = run["phases"].as_array().expect("phases").iter();
        names.map(|phase| phase["name"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(phases("parm"), ["SD_format", "r"]);
    assert_eq!(phases("parm"), ["r"]);
    assert_eq!(phases("larger"), ["SD_format", "r"], "the file is too small now");
}

#[test]
fn a_walk_to_the_end_of_the_storage_ends_there() {
    let place = Place::new();
    let text = "sd=sd1,lun=a.dat,size=1m\nsd=sd2,lun=b.dat,size=2m\nwd=w,sd=sd*,rdpct=100,seekpct=eof,xfersize=4k\n\
        rd=r,wd=w,iorate=max,elapsed=600,interval=1\n";
    place.file("eof.vdb", text);
    place.assay(&["run", "eof.vdb", "--trace", "ios.csv"]).done();
    let trace = place.read("ios.csv");
    let reads: Vec<&str> = trace.lines().filter(|line| line.contains("read")).collect();
    assert_eq!(reads.len(), 256 + 512, "each block once, long before the time is over: {:?}", reads.first());
}
