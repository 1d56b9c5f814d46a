//! `assay crosscheck`: one plan, two generators, in turns.

use serde_json::Value;

use crate::has_fio;
use crate::support::Place;

const JOB: &str = "[mixed]\nfilename=a.dat\nsize=4m\nrw=randrw\nbs=4k\nruntime=1\ntime_based\n";

#[test]
fn both_run_the_plan_and_are_compared_pair_by_pair() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("j.fio", JOB);
    let said = place.assay(&["crosscheck", "j.fio", "--pairs", "2", "--runtime", "300ms", "--json"]);
    let text = said.done();
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    crate::schema::validate("crosscheck-1", &found);
    assert_eq!((&found["schema"], &found["pairs"]), (&"assay.crosscheck/1".into(), &2.into()));
    assert_eq!(found["agree"], Value::Null, "two pairs give no interval of 95 %");
    let rows = found["rows"].as_array().expect("rows");
    let named = |op: &str, figure: &str| {
        let found = rows.iter().find(|row| row["op"] == op && row["figure"] == figure);
        found.unwrap_or_else(|| panic!("no {op} {figure} in {text}"))
    };
    for op in ["read", "write"] {
        for figure in ["iops", "bytes_per_s", "completion_ns_mean"] {
            let row = named(op, figure);
            assert_eq!(
                (row["assay"].as_array().map(Vec::len), row["fio"].as_array().map(Vec::len)),
                (Some(2), Some(2))
            );
            let ratio = row["ratio"]["value"].as_f64().unwrap_or(0.0);
            assert!((0.02..50.0).contains(&ratio), "{op} {figure}: {ratio}");
            assert_eq!(row["agreement"], "too_few_pairs");
        }
    }
    assert!(named("total", "cpu_ns_per_io")["fio"][0].as_f64().is_some_and(|cpu| cpu > 100.0), "{text}");
    let id = found["run"].as_str().expect("an id");
    let run: Value =
        serde_json::from_str(&place.assay(&["runs", "show", id, "--json"]).done()).expect("JSON");
    let points: Vec<&str> =
        run["phases"].as_array().expect("phases").iter().filter_map(|p| p["point"].as_str()).collect();
    assert_eq!(points, ["by=assay", "by=fio", "by=fio", "by=assay"]);
}

#[test]
fn the_table_shows_both_and_says_what_the_words_mean() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("j.fio", JOB);
    let text = place.assay(&["crosscheck", "j.fio", "--pairs", "1", "--runtime", "200ms"]).done();
    for part in [
        "read IOPS",
        "write mean completion latency",
        "CPU per I/O",
        "fio / Assay",
        "Completion latency is from",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_cannot_be_written_to_is_refused_before_anything_runs() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    place.file("precious", "do not lose this");
    place.file("j.fio", "[w]\nfilename=precious\nrw=write\nbs=4k\nsize=1m\n");
    let said = place.assay(&["crosscheck", "j.fio", "--pairs", "1"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert_eq!(place.read("precious"), "do not lose this");
}

/// Whatever answers vdbench's command line and writes its flat file is a third side; here Assay's own drop-in for it.
#[test]
fn a_vdbench_is_a_third_side() {
    if !has_fio() {
        return;
    }
    let place = Place::new();
    let file = "sd=s,lun=a.dat,size=4m,threads=1\nwd=w,sd=s,xfersize=4k,rdpct=100\n\
                rd=run1,wd=w,iorate=max,elapsed=2,interval=1\n";
    place.file("p.parm", file);
    let link = place.path().join("vdbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_assay"), &link).expect("a link");
    let with = format!("vdbench={}", link.display());
    let words = ["crosscheck", "p.parm", "--pairs", "1", "--runtime", "2s", "--with", with.as_str()];
    let text = place.assay(&words).done();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("mean completion latency")).collect();
    let table = text.split("with vdbench, 1 runs").nth(1).unwrap_or_else(|| panic!("{text}"));
    for who in ["Assay", "fio", "vdbench"] {
        let row = table.lines().find(|line| line.trim_start().starts_with(who));
        assert!(row.is_some_and(|row| row.contains(" IOPS ")), "{who}: {rows:?} {text}");
    }
    for (with, expected) in [("fio=/x", "only vdbench=PATH"), ("vdbench=/nowhere/vdbench", "is no file")] {
        let said = place.assay(&["crosscheck", "p.parm", "--with", with]);
        assert!(said.code == Some(2) && said.err.contains(expected), "{said:?}");
    }
}
