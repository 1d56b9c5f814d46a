//! SQLite from nothing to a checked database.

use std::path::Path;

use assay_host::workdir::is_own_file;
use assay_oltp::{Asked, Error, Unfit, Watcher};
use rusqlite::Connection;

use crate::support::{given, here, holds, losses_are_told, prepare, run_whole};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_run_from_nothing_counts_what_the_database_counts() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = [
        ("where", text(place.path())),
        ("warehouses", "4"),
        ("users", "2"),
        ("ramp", "300ms"),
        ("time", "1500ms"),
        ("synchronous", "off"),
    ];
    let prepared = prepare(&given(&options), &here).expect("a database");
    assert!(prepared.notes[0].starts_with("built 4 warehouses in "), "{:?}", prepared.notes);
    let database = given(&[("where", text(place.path()))]);
    // Right after the load the eleventh condition holds as well.
    let report = holds(&database, &here);
    assert!(report.text().contains("holds        condition 11"), "{}", report.text());
    let ran = run_whole(&prepared).well();
    let report = holds(&database, &here);
    assert!(report.text().contains("not checked  condition 11"), "{}", report.text());
    assert!(report.text().contains("holds        ledger: "), "{}", report.text());
    // Both readings of the database are within milliseconds of the measured part.
    let new_orders = ran.counts["new-order"] as f64 * 60.0 / 1.5;
    assert!((ran.figure("NOPM") / new_orders - 1.0).abs() < 0.1, "{} {new_orders}", ran.figure("NOPM"));
    let ratio = ran.figure("TPM/NOPM");
    assert!((2.0..2.7).contains(&ratio), "{ratio}");
    let payments = ran.counts["payment"] as f64 / ran.counts["new-order"] as f64;
    assert!((0.7..1.4).contains(&payments), "{:?}", ran.counts);
    assert_eq!((ran.outcome.engine.as_str(), ran.figure("retries")), ("sqlite", 0.0));
    assert_eq!(ran.flushes, 0, "commits are not durable here");
    assert!(ran.figure("database size") > 100_000.0);
    // What is left is Assay's.
    let directory = place.path().join("assay-oltp");
    for name in ["oltp.sqlite", "ledger"] {
        assert!(is_own_file(&directory.join(name)), "{name}");
    }
    assert!(!directory.join("oltp.sqlite-wal").exists());
}

#[test]
fn a_ledger_that_would_replace_another_file_is_refused_before_anything_is_built() {
    let place = tempfile::tempdir().expect("a directory");
    let mut here = here(place.path());
    let file = place.path().join("mine");
    std::fs::write(&file, "work of a year").expect("written");
    let database = place.path().join("assay-oltp");
    for (ledger, force) in [(file.as_path(), false), (Path::new("/dev/full"), true), (place.path(), true)] {
        here.force = force;
        let options = given(&[("where", text(place.path())), ("warehouses", "1"), ("ledger", text(ledger))]);
        let error = prepare(&options, &here).expect_err("refused");
        assert!(error.is_request() && error.to_string().contains("--ledger"), "{error}");
        assert!(!database.exists(), "nothing is built");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "work of a year");
    here.force = false;
    let built = given(&[("where", text(place.path())), ("warehouses", "1")]);
    prepare(&built, &here).expect("a database");
    here.force = true;
    let own = given(&[("where", text(place.path())), ("ledger", text(&database.join("oltp.sqlite")))]);
    let error = prepare(&own, &here).expect_err("refused");
    assert!(error.to_string().contains("reads or measures"), "{error}");
    holds(&built, &here);
}

#[test]
fn a_build_that_is_no_number_names_no_file() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let database = given(&[("where", text(place.path())), ("warehouses", "1")]);
    prepare(&database, &here).expect("a database");
    let file = place.path().join("assay-oltp/oltp.sqlite");
    let sql = "UPDATE assay_oltp SET value = '../../mine' WHERE name = 'build'";
    Connection::open(&file).and_then(|own| own.execute(sql, [])).expect("changed");
    let error = prepare(&database, &here).expect_err("refused");
    assert!(matches!(&error, Error::Database(Unfit::Foreign { .. })), "{error}");
    assert!(!place.path().join("mine").exists());
}

#[test]
fn response_times_count_from_the_intended_start() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options =
        [("where", text(place.path())), ("warehouses", "1"), ("ramp", "0s"), ("time", "1s"), ("rate", "50")];
    let prepared = prepare(&given(&options), &here).expect("a database");
    let ran = run_whole(&prepared).well();
    let done: u64 = ran.counts.values().sum();
    assert!((40..=51).contains(&done), "{:?}", ran.counts);
    assert!(ran.flushes > done / 2, "{} of {done}", ran.flushes);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let path = text(place.path());
    let refused = |options: &[(&'static str, &str)]| {
        let all = [&[("where", path)], options].concat();
        prepare(&given(&all), &here).expect_err("refused")
    };
    // Nothing is made for what is wrong anyhow.
    for (options, words) in [
        (vec![("rate", "0")], "--rate: '0' is not a number above 0"),
        (vec![("poisson", "")], "--poisson needs --rate"),
        (vec![("server-side", "")], "--server-side is for PostgreSQL"),
        (vec![("mix", "tpcc")], "--mix: 'tpcc' is not one of hammerdb, spec"),
        (vec![("time", "0s")], "--time of 0 measures nothing"),
        (vec![("time", "soon")], "--time: 'soon' is not a time such as 30s"),
        (vec![("users", "3"), ("warehouses", "2")], "3 users on 2 warehouses: each user needs"),
        (vec![("users", "0")], "--users: '0' is not a number of users"),
    ] {
        let error = refused(&options);
        assert!(error.is_request() && error.to_string().starts_with(words), "{error}");
    }
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), 0);
    let error = refused(&[("warehouses", "99999")]);
    assert!(matches!(error, Error::Asked(Asked::Space { .. })), "{error}");
    prepare(&given(&[("where", path), ("warehouses", "2")]), &here).expect("a database");
    let error = refused(&[("users", "3")]);
    assert!(error.to_string().starts_with("3 users on 2 warehouses"), "{error}");
    let error = refused(&[("warehouses", "3")]);
    assert!(error.to_string().contains("has 2 warehouses, not 3"), "{error}");
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| false };
    let error = assay_oltp::build(&given(&[("where", path)]), &here, &mut watcher).expect_err("there is one");
    assert!(matches!(&error, Error::Database(Unfit::Exists { warehouses: 2, .. })), "{error}");
}

#[test]
fn a_directory_that_does_not_exist_is_made_by_what_builds() {
    let data = tempfile::tempdir().expect("a directory");
    let here = here(data.path());
    let new = data.path().join("new");
    let error = assay_oltp::check(&given(&[("where", text(&new))]), &here, &mut |_| {}, &|| false);
    assert!(error.expect_err("there is none").to_string().starts_with("no OLTP database in "));
    assert!(!new.exists());
    prepare(&given(&[("where", text(&new)), ("warehouses", "1")]), &here).expect("built");
    assert!(new.join("oltp.sqlite").exists());
    holds(&given(&[("where", text(&new))]), &here);
    let words = given(&[("where", "host=h dbname=d")]);
    let error = prepare(&words, &here).expect_err("no URL").to_string();
    assert!(
        error.contains("a server is named by a URL") && !std::path::Path::new("host=h dbname=d").exists(),
        "{error}"
    );
    let deep = data.path().join("a/b");
    let error = prepare(&given(&[("where", text(&deep))]), &here).expect_err("nowhere").to_string();
    assert!(error.contains("/a does not exist; give a directory for SQLite, or postgres://"), "{error}");
}

#[test]
fn an_interrupted_build_leaves_nothing_and_a_killed_one_is_said() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = given(&[("where", text(place.path()))]);
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| true };
    let error = assay_oltp::build(&options, &here, &mut watcher).expect_err("interrupted");
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), 0);
    // What a killed one leaves.
    prepare(&given(&[("where", text(place.path())), ("warehouses", "1")]), &here).expect("a database");
    let directory = place.path().join("assay-oltp");
    std::fs::rename(directory.join("oltp.sqlite"), directory.join("oltp.sqlite.part")).expect("renamed");
    let error = prepare(&options, &here).expect_err("half built");
    assert!(error.to_string().ends_with("'assay oltp build --rebuild' begins anew"), "{error}");
    let anew = given(&[("where", text(place.path())), ("warehouses", "1"), ("rebuild", "")]);
    prepare(&anew, &here).expect("a new one");
    holds(&options, &here);
}

#[test]
fn databases_of_others_and_of_other_versions_stay_as_they_are() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = given(&[("where", text(place.path()))]);
    prepare(&given(&[("where", text(place.path())), ("warehouses", "1")]), &here).expect("a database");
    let file = place.path().join("assay-oltp/oltp.sqlite");
    let change = |sql: &str| {
        Connection::open(&file).and_then(|connection| connection.execute(sql, [])).expect("changed");
        // As if Assay had done it.
        assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    };
    change("UPDATE assay_oltp SET value = '99' WHERE name = 'format'");
    let error = prepare(&options, &here).expect_err("another version");
    assert!(error.to_string().contains("has format 99"), "{error}");
    change("UPDATE assay_oltp SET value = '1' WHERE name = 'format'");
    holds(&options, &here);
    // Another program's change is seen, and nothing of it is replaced.
    Connection::open(&file).and_then(|c| c.execute("DELETE FROM history", [])).expect("changed");
    let before = std::fs::metadata(&file).expect("there").len();
    let anew = given(&[("where", text(place.path())), ("rebuild", "")]);
    for error in [prepare(&options, &here), prepare(&anew, &here)].map(|done| done.expect_err("refused")) {
        assert!(error.to_string().contains("made or changed by another program"), "{error}");
    }
    assert_eq!(std::fs::metadata(&file).expect("there").len(), before);
}

/// Each condition is broken once, and it alone or together with what follows from it is told.
/// SQLite opens, truncates and maps what stands beside a database under certain names.
#[test]
fn what_stands_beside_a_database_is_sqlites_or_nothing_is_done() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = [("where", text(place.path())), ("warehouses", "1"), ("time", "100ms"), ("ramp", "0s")];
    run_whole(&prepare(&given(&options), &here).expect("a database")).well();
    let victim = place.path().join("victim");
    let content = "work of a year".repeat(500);
    std::fs::write(&victim, &content).expect("written");
    let beside = |end: &str| place.path().join(format!("assay-oltp/oltp.sqlite{end}"));
    let rebuild = [&options[..], &[("rebuild", "")]].concat();
    for end in ["-wal", "-shm", "-journal", ".part-wal"] {
        let ways: [&dyn Fn(); 3] = [
            &|| std::os::unix::fs::symlink(&victim, beside(end)).expect("made"),
            &|| std::fs::hard_link(&victim, beside(end)).expect("made"),
            &|| {
                std::fs::copy(&victim, beside(end)).expect("made");
            },
        ];
        for (way, make) in ways.into_iter().enumerate() {
            make();
            let is_part = end.starts_with(".part");
            for options in [&options[..], &rebuild].into_iter().skip(usize::from(is_part)) {
                let refused = prepare(&given(options), &here).expect_err("refused").to_string();
                assert!(
                    refused.contains(&format!("'oltp.sqlite{end}', a link or a file of another")),
                    "{refused}"
                );
            }
            assert_eq!(std::fs::read_to_string(&victim).expect("there"), content, "{end} {way}");
            assert_eq!(std::fs::read_to_string(beside(end)).expect("there"), content, "{end} {way}");
            std::fs::remove_file(beside(end)).expect("there");
        }
    }
    run_whole(&prepare(&given(&options), &here).expect("a database")).well();
}

#[test]
fn rows_that_are_gone_are_told() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = [
        ("where", text(place.path())),
        ("warehouses", "1"),
        ("ramp", "0s"),
        ("time", "500ms"),
        ("synchronous", "off"),
    ];
    run_whole(&prepare(&given(&options), &here).expect("a database")).well();
    let file = place.path().join("assay-oltp/oltp.sqlite");
    losses_are_told(&given(&[("where", text(place.path()))]), &here, |sql| {
        Connection::open(&file).and_then(|c| c.execute_batch(sql)).expect("changed");
        assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    });
}

#[test]
fn an_item_that_is_gone_ends_a_run() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = [("where", text(place.path())), ("warehouses", "1"), ("ramp", "0s"), ("time", "20s")];
    let prepared = prepare(&given(&options), &here).expect("a database");
    let file = place.path().join("assay-oltp/oltp.sqlite");
    Connection::open(&file)
        .and_then(|c| c.execute("DELETE FROM item WHERE i_id <= 50", []))
        .expect("changed");
    assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    run_whole(&prepared).failed_for("item ");
}

#[test]
fn every_condition_finds_what_breaks_it() {
    let place = tempfile::tempdir().expect("a directory");
    let here = here(place.path());
    let options = [
        ("where", text(place.path())),
        ("warehouses", "1"),
        ("ramp", "0s"),
        ("time", "500ms"),
        ("synchronous", "off"),
    ];
    run_whole(&prepare(&given(&options), &here).expect("a database")).well();
    let database = given(&[("where", text(place.path()))]);
    holds(&database, &here);
    let file = place.path().join("assay-oltp/oltp.sqlite");
    let whole = std::fs::read(&file).expect("read");
    for (number, sql) in [
        (1, "UPDATE warehouse SET w_ytd = w_ytd + 1"),
        (2, "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3"),
        (
            3,
            "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN (SELECT no_w_id, no_d_id, min(no_o_id) + 1 \
             FROM new_order GROUP BY no_w_id, no_d_id HAVING count(*) > 2)",
        ),
        (4, "DELETE FROM order_line WHERE ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1"),
        (5, "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 4 AND o_id = 1"),
        (6, "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 1"),
        (7, "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 4 AND ol_o_id = 1 AND ol_number = 2"),
        (8, "DELETE FROM history WHERE h_c_id = 1 AND h_d_id = 1"),
        (9, "UPDATE history SET h_d_id = 2 WHERE h_c_id = 1 AND h_d_id = 1"),
        (10, "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 1 AND c_d_id = 1"),
        (12, "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 1 AND c_d_id = 1"),
    ] {
        let changed = Connection::open(&file).and_then(|c| c.execute(sql, [])).expect("changed");
        assert!(changed > 0, "{sql}");
        assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
        let report = crate::support::check(&database, &here);
        assert!(
            report.text().contains(&format!("DOES NOT HOLD  condition {number}:")),
            "{number}: {}",
            report.text()
        );
        std::fs::write(&file, &whole).expect("written");
        assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    }
    // An acknowledged order that is not there.
    let sql = "DELETE FROM orders WHERE o_id = (SELECT max(o_id) FROM orders)";
    Connection::open(&file).and_then(|c| c.execute(sql, [])).expect("changed");
    assay_host::workdir::claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    let report = crate::support::check(&database, &here);
    assert!(
        report.text().contains("DOES NOT HOLD  ledger: ") && report.text().contains(" is lost"),
        "{}",
        report.text()
    );
}
