use std::fs;

use assay_workload::job::PhaseKind;

use super::*;
use crate::fixture;

/// The example in the tool's documentation: IOPS measured, per cent printed, in the order of the series.
const EXAMPLE: [(u32, u64); 26] = [
    (191, 105),
    (409, 57),
    (294, 44),
    (452, 128),
    (454, 107),
    (357, 79),
    (318, 63),
    (113, 75),
    (544, 83),
    (428, 68),
    (323, 69),
    (308, 57),
    (322, 64),
    (78, 50),
    (174, 72),
    (472, 93),
    (298, 58),
    (1541, 41),
    (131, 76),
    (8222, 203),
    (665, 141),
    (849, 171),
    (460, 75),
    (518, 103),
    (119, 90),
    (757, 153),
];

#[test]
fn per_cent_as_the_tool_prints_them() {
    let hdd = builtins().remove(0);
    assert_eq!((hdd.series.as_deref(), hdd.tests.len()), (Some("stb-2.1"), 26));
    for (test, (iops, percent)) in hdd.tests.iter().zip(EXAMPLE) {
        assert_eq!(percent_of(f64::from(iops), test.iops), Some(percent), "{}", test.name);
    }
    assert!(hdd.footnotes[0].contains("nobarrier"));
}

#[test]
fn figures_are_cut_not_rounded() {
    assert_eq!(percent_of(199.99, 100.99), Some(199));
    assert_eq!(percent_of(5.0, 0.5), None);
    assert_eq!(percent_of(f64::NAN, 10.0), Some(0));
    assert_eq!(percent_of(f64::INFINITY, 10.0), None);
}

fn series_run() -> Run {
    let mut run = fixture::run();
    run.plan.series = Some("stb-2.1".to_owned());
    run.phases[0].name = "1 file, 16 threads, rnd 16k reads, posixaio".to_owned();
    let mut again = run.phases[0].clone();
    again.repeat = 1;
    again.jobs[0].total.iops = 1000.0;
    let mut fill = again.clone();
    fill.kind = PhaseKind::Precondition;
    let mut unknown = again.clone();
    unknown.name = "mine".to_owned();
    run.phases.extend([again, fill, unknown]);
    run
}

#[test]
fn a_run_beside_a_baseline() {
    let lines = builtins()[0].against(&series_run()).unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0].iops, lines[0].baseline_iops), (1501.0, Some(171.0)), "the median of 2002 and 1000");
    assert_eq!(lines[0].percent, Some(877));
    assert_eq!((lines[1].test.as_str(), lines[1].percent), ("mine", None));
}

#[test]
fn only_the_same_series_is_compared() {
    let error = builtins()[0].against(&fixture::run()).unwrap_err();
    assert!(error.to_string().contains("stb-2.1"));
}

#[test]
fn saved_listed_shown_removed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("baselines");
    assert_eq!(list(&dir).unwrap().len(), 1);
    let mine = Baseline::of_run("mine", &series_run());
    assert_eq!(mine.tests[0].iops_runs, [2002.0, 1000.0]);
    assert_eq!((mine.tests[0].block_size, mine.tests[0].outstanding_io), (Some(4096), Some(8)));
    assert!(mine.provenance.file_system.starts_with("ext4") && mine.provenance.device.starts_with("sda"));
    save(&dir, &mine, false).unwrap();
    assert!(matches!(save(&dir, &mine, false).unwrap_err(), BaselineError::Exists(_)));
    save(&dir, &mine, true).unwrap();
    fs::write(dir.join("broken.json"), "{}").unwrap();
    let names: Vec<_> = list(&dir).unwrap().into_iter().map(|baseline| baseline.name).collect();
    assert_eq!(names, ["hdd", "mine"]);
    assert_eq!(show(&dir, "mine").unwrap(), mine);
    assert!(show(&dir, "broken").is_err());
    rm(&dir, "mine").unwrap();
    let error = show(&dir, "mine").unwrap_err().to_string();
    assert!(error.contains("available: hdd"), "{error}");
}

/// A baseline says of each figure whether it could be believed, wherever it is compared with.
#[test]
fn doubtful_figures_stay_doubtful() {
    let mut run = series_run();
    crate::checks::judge(&mut run);
    run.rows.iter_mut().for_each(|row| row.verdict = Verdict::Valid);
    assert_eq!(Baseline::of_run("mine", &run).doubts(), None);
    run.rows[1].verdict = Verdict::Suspect;
    let saved = Baseline::of_run("mine", &run);
    assert_eq!(
        saved.tests.iter().map(|test| test.verdict).collect::<Vec<_>>(),
        [Some(Verdict::Valid), Some(Verdict::Suspect)]
    );
    assert_eq!(
        saved.doubts().as_deref(),
        Some("1 of 2 figures were not valid when they were saved: mine (suspect)")
    );
    assert_eq!(builtins()[0].doubts(), None, "not known is no doubt");
}

#[test]
fn names_stay_within_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", "../x", "a/b", ".hidden", "-x"] {
        let baseline = Baseline::of_run(name, &fixture::run());
        assert!(
            matches!(save(dir.path(), &baseline, true).unwrap_err(), BaselineError::BadName(_)),
            "{name}"
        );
    }
    let hdd = Baseline::of_run("hdd", &fixture::run());
    assert!(matches!(save(dir.path(), &hdd, true).unwrap_err(), BaselineError::BuiltIn(_)));
    assert!(matches!(rm(dir.path(), "hdd").unwrap_err(), BaselineError::BuiltIn(_)));
}
