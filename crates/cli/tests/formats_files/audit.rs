//! `assay audit`: the table of the published case, repairs in each language, simulations that repeat, traces.

use serde_json::Value;

use crate::bounded::Bounded as _;
use crate::support::Place;

/// A vdbench file like those behind the published measurements: 16 GiB, 4 KiB reads.
fn parmfile(sd: &str, wd: &str) -> String {
    format!(
        "sd=sd1,lun=big,size=16g,threads=64{sd}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=100{wd}\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=10,interval=1\n"
    )
}

fn json(place: &Place, words: &[&str]) -> Value {
    let text = place.assay(&[&["audit", "--json"], words].concat()).done();
    let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    crate::schema::validate("audit-1", &document);
    document
}

/// The busiest core's share of the first job, and its multiple of the mean.
fn busiest(document: &Value) -> (f64, f64) {
    let cores = document["jobs"][0]["cores"].as_array().expect("cores");
    let most = cores.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
    (most * 100.0, document["jobs"][0]["max_over_mean"].as_f64().expect("a number"))
}

#[test]
fn the_table_of_the_case() {
    let place = Place::new();
    let rows = [
        (parmfile(",hitarea=1m", ",rhpct=75"), 78.1, 6.25),
        (parmfile(",hitarea=2m", ",rhpct=75"), 40.6, 3.25),
        (parmfile(",hitarea=4m", ",rhpct=75"), 21.9, 1.75),
        (parmfile(",hitarea=8m", ",rhpct=75"), 12.5, 1.00),
        (parmfile(",hitarea=12m", ",rhpct=75"), 15.6, 1.25),
        (parmfile(",hitarea=16m", ",rhpct=75"), 12.5, 1.00),
        (parmfile("", ",hotband=(0,100)"), 39.8, 3.19),
        (parmfile("", ""), 12.5, 1.00),
    ];
    for (text, share, over_mean) in rows {
        place.file("parmfile", &text);
        let found = busiest(&json(&place, &["parmfile"]));
        assert!((found.0 - share).abs() < 1.0 && (found.1 - over_mean).abs() < 0.08, "{text}: {found:?}");
    }
    place.file("plan.toml", &hotband_plan("corrected = true, "));
    let found = busiest(&json(&place, &["plan.toml"]));
    assert!((found.0 - 12.6).abs() < 1.0 && (found.1 - 1.01).abs() < 0.08, "{found:?}");
}

fn plan(pattern: &str) -> String {
    format!(
        "assay = 1\nname = \"p\"\n[[target]]\nname = \"a\"\npath = \"a.dat\"\nsize = \"16GiB\"\n[[job]]\nname = \"j\"\n\
         op = \"read\"\npattern = {{ random = {pattern} }}\nblock_size = \"4k\"\noutstanding = 8\nruntime = \"10s\"\n"
    )
}

fn hotband_plan(corrected: &str) -> String {
    plan(&format!("\"hotband\", {corrected}low = \"0\", high = \"16GiB\""))
}

#[test]
fn the_document_has_the_fields_of_its_schema() {
    let place = Place::new();
    place.file("parmfile", &parmfile("", ",rhpct=75"));
    let document = json(&place, &["parmfile", "--cache", "1g"]);
    assert_eq!(
        (document["schema"].as_str(), document["array"].as_str()),
        (Some("assay.audit/1"), Some("two-brick"))
    );
    let job = &document["jobs"][0];
    assert_eq!((job["name"].as_str(), job["op"].as_str()), (Some("wd1"), Some("read")));
    assert_eq!(job["segments_top"][0]["offset"], 0);
    assert!((job["segments_top"][0]["share"].as_f64().unwrap() - 0.75).abs() < 0.001);
    assert_eq!(job["cores"].as_array().unwrap().len(), 8);
    for field in ["p50_bytes", "p90_bytes", "p99_bytes"] {
        assert!(job["working_set"][field].is_u64(), "{field}");
    }
    assert_eq!(job["error"], 0.0);
    assert_eq!(document["findings"][0]["id"], "hot-area-imbalance");
    assert_eq!(job["reuse"]["caches"][0]["bytes"], 1 << 30);
}

/// The repaired file, audited: what it was repaired for is gone, and it says what was changed.
fn repaired(place: &Place, name: &str, word: &str) -> Value {
    assert!(busiest(&json(place, &[name])).1 > 1.2, "{name}");
    place.assay(&["audit", name, "--fix", "repaired"]).done();
    let text = place.read("repaired");
    assert!(text.contains(word), "{text}");
    let after = json(place, &["repaired"]);
    assert!(after["phases"][0]["max_over_mean"].as_f64().unwrap() < 1.02, "{after}");
    let findings = after["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["id"] != "hot-area-imbalance"), "{findings:?}");
    after
}

#[test]
fn files_are_repaired_in_their_own_language() {
    let place = Place::new();
    place.file("hit", &parmfile("", ",rhpct=75"));
    repaired(&place, "hit", "hitarea=8388608");
    place.file("band", &parmfile("", ",hotband=(0,100)"));
    let after = repaired(&place, "band", "8 workloads");
    assert_eq!(after["jobs"].as_array().unwrap().len(), 8);
    place.file("plan.toml", &hotband_plan(""));
    repaired(&place, "plan.toml", "corrected = true");
    place.file(
        "job.fio",
        "[a]\nfilename=a.dat\nsize=16g\nrw=randread\nbs=4k\nruntime=10\ntime_based\nrandom_distribution=zoned_abs:75/1m:25/1t\n",
    );
    repaired(&place, "job.fio", "zoned_abs");
    let said = place.assay(&["audit", "repaired", "--fix", "again"]);
    assert!(said.err.contains("nothing to repair"), "{said:?}");
    assert!(!place.path().join("again").exists());
}

#[test]
fn no_target_is_made_or_needed() {
    let place = Place::new();
    place.file("job.fio", "[a]\nfilename=/dev/not-there\nrw=randread\nbs=4k\nruntime=1\ntime_based\n");
    let text = place.assay(&["audit", "job.fio", "--size", "64g"]).done();
    assert!(text.contains("64 GiB (assumed; --size)"), "{text}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn arrays_are_explained_and_misspelt_ones_are_not_guessed() {
    let place = Place::new();
    let text = place.assay(&["audit", "--array", "list"]).done();
    for name in ["one-brick", "two-brick", "raid10-12", "ssd", "hdd", "cluster-4"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    place.file("parmfile", &parmfile("", ""));
    let said = place.assay(&["audit", "parmfile", "--array", "two-brik"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean two-brick?"), "{}", said.err);
    place.file(
        "own.toml",
        "name = \"mine\"\n[front_end]\ncontrollers = 1\ncores_per_controller = 3\nsegment = \"2MiB\"\n",
    );
    let document = json(&place, &["parmfile", "--array", "own.toml"]);
    assert_eq!(
        (document["array"].as_str(), document["jobs"][0]["cores"].as_array().unwrap().len()),
        (Some("mine"), 3)
    );
}

/// A run without what differs from run to run: when, where and under which name it was made.
fn without_circumstances(mut run: Value) -> String {
    for field in ["id", "started", "environment"] {
        assert!(run.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    serde_json::to_string(&run).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_simulation_on_any_number_of_threads() {
    let place = Place::new();
    place.file("parmfile", &parmfile("", ",rhpct=75"));
    let simulate = |threads: &str, seed: &str| {
        let words = [
            "parmfile",
            "--simulate",
            "--runtime",
            "20ms",
            "--bound-range",
            "--threads",
            threads,
            "--seed",
            seed,
        ];
        json(&place, &words)["simulated"].take()
    };
    let (one, two, other) = (simulate("1", "7"), simulate("3", "7"), simulate("1", "8"));
    for when in ["before", "after"] {
        let run = |document: &Value| without_circumstances(document[when]["run"].clone());
        assert_eq!(run(&one), run(&two), "{when}");
        assert_ne!(run(&one), run(&other), "{when}");
    }
    assert_eq!(one["bound_range"], two["bound_range"]);
    let iops = |when: &str| one[when]["run"]["phases"][0]["jobs"][0]["total"]["iops"].as_f64().unwrap();
    assert!(iops("after") > 1.2 * iops("before"), "{} {}", iops("after"), iops("before"));
    let cores = one["before"]["array"][0]["cores"].as_array().unwrap();
    let busy: Vec<f64> = cores.iter().map(|core| core["load"]["utilisation"].as_f64().unwrap()).collect();
    assert!(busy[0] > 0.9 && busy[1..].iter().all(|busy| *busy < 0.7), "{busy:?}");
}

#[test]
fn a_simulation_names_its_model_and_where_it_is_kept_once() {
    let place = Place::new();
    // Two phases, before and after the repair: four stretches of simulated time in two runs.
    let file = format!("{}rd=rd2,wd=wd1,iorate=max,elapsed=10,interval=1\n", parmfile("", ",rhpct=75"));
    place.file("parmfile", &file);
    let said = place.assay(&["audit", "parmfile", "--simulate", "--runtime", "20ms", "--seed", "7"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = &said.out;
    let count = |of: &str, part: &str| of.matches(part).count();
    assert_eq!(count(text, "simulated: rd"), 2, "{text}");
    assert_eq!(count(text, "On the array model two-brick with seed 7: no storage was used"), 1, "{text}");
    assert_eq!(count(&said.err, "simulated on the array model"), 0, "{}", said.err);
    let runs = place.path().join("runs");
    assert_eq!(count(text, "kept in "), 1, "{text}");
    let tail: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("kept in ")).collect();
    assert_eq!(tail[0], format!("kept in {}", runs.display()));
    let names: Vec<&str> = tail[1..].iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(names.len(), 2, "{text}");
    assert!(names.iter().all(|name| runs.join(name).join("run.json").exists()), "{text}");
    // A single run says it too.
    let said = place.assay(&["run", "parmfile", "--engine", "sim", "--runtime", "20ms", "--seed", "7"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(count(&said.err, "simulated on the array model two-brick with seed 7"), 1, "{}", said.err);
}

/// Whatever is made of a simulated run says that it is one.
#[test]
fn every_output_of_a_simulation_is_marked() {
    let place = Place::new();
    place.file("parmfile", &parmfile("", ",rhpct=75"));
    let outputs = [
        "--csv",
        "out.csv",
        "--md",
        "out.md",
        "--html",
        "out.html",
        "--fio-json",
        "out.json",
        "--vdbench",
        "out",
    ];
    let words = ["run", "parmfile", "--engine", "sim", "--runtime", "20ms", "--seed", "1"];
    let shown = place.assay(&words).done();
    assert!(shown.contains("simulated on the array model two-brick"), "{shown}");
    let id = std::fs::read_dir(place.path().join("runs")).unwrap().next().unwrap().unwrap().file_name();
    let id = id.to_string_lossy().rsplit('-').next().unwrap().to_owned();
    place.assay(&[&["report", id.as_str()], &outputs[..]].concat()).done();
    for file in [
        "out.csv",
        "out.md",
        "out.html",
        "out.json",
        "out/summary.html",
        "out/flatfile.html",
        "out/totals.html",
    ] {
        assert!(place.read(file).contains("simulated"), "{file}");
    }
    let document = place.assay(&["run", "parmfile", "--engine", "sim", "--runtime", "20ms", "--json"]).done();
    assert!(document.contains("-simulated-on-two-brick"));
}

#[test]
fn a_trace_of_real_io_lands_where_the_audit_says() {
    let place = Place::new();
    let file = std::fs::File::create(place.path().join("a.dat")).unwrap();
    file.set_len(16 << 30).unwrap();
    let hit = "\"hit-area\", read_percent = 75, write_percent = 75, size = \"1m\"";
    place.file("plan.toml", &plan(hit));
    place.assay(&["run", "plan.toml", "--runtime", "300ms", "--trace", "trace.csv"]).done();
    assert!(place.read("trace.csv").starts_with("time_ns,op,offset,length,target,latency_ns\n0,read,"));
    let words = ["--trace", "trace.csv", "--against", "plan.toml"];
    let document = json(&place, &words);
    let found = busiest(&document);
    assert!((found.0 - 78.1).abs() < 2.0, "{found:?}");
    let dimensions = document["comparison"]["dimensions"].as_array().unwrap();
    let of =
        |name: &str| dimensions.iter().find(|one| one["dimension"] == name).unwrap()["closeness"].clone();
    assert_eq!([of("size"), of("mix"), of("core_share")], ["alike"; 3]);
    assert_eq!(of("inter_arrival"), "unknown");
    // Against another workload it is not like it.
    place.file("uniform", &parmfile("", "").replace("4k", "8k"));
    let text = place.assay(&["audit", "--trace", "trace.csv", "--against", "uniform"]).done();
    assert!(text.contains("Fidelity: different.") && text.contains("size"), "{text}");
}

/// A pipe holds nothing a second time: what it is is told by what was read of it already.
#[test]
fn traces_and_workloads_are_read_from_pipes() {
    let place = Place::new();
    let line = |index: u64| format!("{index},read,{},4096\n", index % 50 * 4096);
    let lines: String = (0..1000).map(line).collect();
    place.file("trace.csv", &format!("time,op,offset,length\n{lines}"));
    place.file("plan.toml", &plan("\"uniform\""));
    let of = |words: &str| -> Value {
        let script = format!("exec \"$0\" audit --json {words}");
        let shell = std::process::Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_assay")])
            .current_dir(place.path())
            .output_in_time();
        let said = crate::support::Said::of(&shell.expect("bash starts"));
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{words}: {error}: {said:?}"))
    };
    // The error is of the number of operations.
    let counted = |document: &Value| ["segments_top", "error"].map(|key| document["jobs"][0][key].clone());
    let whole = counted(&of("--trace trace.csv"));
    assert!(whole[1].as_f64().is_some_and(|error| (error - 1.5 / 1000_f64.sqrt()).abs() < 1e-3), "{whole:?}");
    for stream in ["- < trace.csv", "/dev/stdin < <(cat trace.csv)", "<(cat trace.csv)"] {
        assert_eq!(counted(&of(&format!("--trace {stream}"))), whole, "{stream}");
    }
    let compared =
        |words: &str| of(&format!("--trace trace.csv {words}"))["comparison"]["dimensions"].clone();
    let (same, other) = (compared("--against trace.csv"), compared("--against plan.toml"));
    assert_eq!((&same[0]["distance"], same == other), (&Value::from(0.0), false), "{same}");
    for (stream, expected) in [("trace.csv", &same), ("plan.toml", &other)] {
        assert_eq!(&compared(&format!("--against <(cat {stream})")), expected, "{stream}");
        assert_eq!(&compared(&format!("--against - < {stream}")), expected, "{stream}");
    }
    let repeated = compared("--against plan.toml --repeat <(cat trace.csv)");
    assert_eq!(repeated[0]["distance"], other[0]["distance"]);
}

#[test]
fn a_broken_trace_is_refused_with_its_line() {
    let place = Place::new();
    place.file("bad.csv", "time,op,offset,length\n0,jump,0,4096\n");
    let said = place.assay(&["audit", "--trace", "bad.csv"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("bad.csv:2") && said.err.contains("no operation"), "{said:?}");
}
