//! PostgreSQL, with a real server of the distribution.

use std::sync::Arc;
use std::time::Duration;

use assay_oltp::{Error, Given, Here, Scale, Unfit, Watcher};

use crate::support::{
    Ran, given, here, holds, ledger_of, losses_are_told, prepare, run, run_whole, stop_after, wait_for_ledger,
};

use crate::server::Server;

/// Enough for tests, and soon started.
const SETTINGS: &[&str] = &["shared_buffers=32MB", "max_connections=30", "checkpoint_timeout=30s"];

fn server() -> Option<Server> {
    match Server::start(SETTINGS) {
        Ok(server) => Some(server),
        Err(why) => {
            crate::skip::declare("postgresql", &why);
            None
        }
    }
}

fn build(options: &Given, here: &Here) -> Result<String, Error> {
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| false };
    assay_oltp::build_scaled(options, (Scale::TINY, here), &mut watcher)
}

fn ran_with(url: &str, here: &Here, more: &[(&'static str, &str)]) -> Ran {
    let options = [&[("where", url), ("users", "4"), ("ramp", "300ms"), ("time", "2s")], more].concat();
    run_whole(&prepare(&given(&options), here).expect("a database")).well()
}

#[test]
fn both_ways_of_transactions_keep_every_condition() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    let database = given(&[("where", &url)]);
    let error = prepare(&database, &here).expect_err("nothing is there");
    assert!(matches!(&error, Error::Database(Unfit::Missing { .. })), "{error}");
    let said = build(&given(&[("where", &url), ("warehouses", "5")]), &here).expect("built");
    assert!(
        said.starts_with("built 5 warehouses in postgres://postgres@127.0.0.1") && !said.contains("secret"),
        "{said}"
    );
    holds(&database, &here);
    let client = std::thread::scope(|scope| {
        let running = scope.spawn(|| ran_with(&url, &here, &[]));
        std::thread::sleep(Duration::from_millis(1500));
        server.sql("CHECKPOINT");
        running.join().expect("no panic")
    });
    let marked = &client.outcome.moments;
    assert!(marked.iter().any(|moment| moment.what == "checkpoint" && moment.at_s <= 3.0), "{marked:?}");
    let report = holds(&database, &here);
    assert!(report.text().contains("holds        ledger: "), "{}", report.text());
    let server_side = ran_with(&url, &here, &[("server-side", ""), ("mix", "spec")]);
    holds(&database, &here);
    for ran in [&client, &server_side] {
        for name in ["new-order", "payment", "order-status", "delivery", "stock-level"] {
            assert!(ran.counts.get(name).is_some_and(|count| *count > 0), "{name}: {:?}", ran.counts);
        }
        let new_orders = ran.counts["new-order"] as f64 * 30.0;
        assert!((ran.figure("NOPM") / new_orders - 1.0).abs() < 0.15, "{} {new_orders}", ran.figure("NOPM"));
        assert!(ran.figure("WAL written") > 0.0 && ran.figure("buffer hit ratio") > 50.0);
        // Its superuser may have the log timed.
        assert!(ran.figure("WAL syncs") > 0.0 && ran.figure("WAL sync, mean") > 0.0);
        let devices = ran.notes.iter().any(|note| note.1.starts_with("the server's files are on "));
        let unknown =
            ran.notes.iter().any(|note| note.1.starts_with("the devices below the server are not watched: "));
        assert!(devices != unknown, "{:?}", ran.notes);
        assert_eq!(ran.outcome.figures.contains_key("server's devices, writes"), devices);
        assert_eq!(ran.outcome.engine, "postgresql");
        let ids: Vec<&str> = ran.notes.iter().map(|note| note.0.as_str()).collect();
        assert!(
            ids.contains(&"server-on-this-host") && !ids.contains(&"volatile-write-cache"),
            "{:?}",
            ran.notes
        );
        assert!(!format!("{:?}", ran.notes).contains("secret"));
    }
}

#[test]
fn what_the_server_refuses_is_said_without_the_password() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let here = here(data.path());
    let port = server.port;
    for (url, words) in [
        (format!("postgres://postgres:wrongly@127.0.0.1:{port}/postgres"), "set PGPASSWORD"),
        (format!("postgres://postgres@127.0.0.1:{port}/postgres"), "it asks for a password"),
        (format!("postgres://postgres:secret@127.0.0.1:{port}/nowhere"), "make it with createdb"),
        ("postgres://postgres:secret@127.0.0.1:1/postgres".to_owned(), "onnection refused"),
    ] {
        let error = prepare(&given(&[("where", &url)]), &here).expect_err("refused").to_string();
        assert!(error.contains(words) && !error.contains("wrongly") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_server_that_takes_tls_only_is_said_to_and_how_to_get_there() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    server.sql("CREATE ROLE remote LOGIN PASSWORD 'secret'");
    server.admit(
        "hostssl all remote 127.0.0.1/32 scram-sha-256\nhost all postgres 127.0.0.1/32 scram-sha-256\n",
    );
    let url = format!("postgres://remote:secret@127.0.0.1:{}/postgres", server.port);
    // Until the server has read the file, the user is not let in for another reason.
    let mut said = String::new();
    let refused = || {
        let error = prepare(&given(&[("where", &url)]), &here(data.path())).expect_err("refused");
        said = error.to_string();
        said.contains("TLS")
    };
    assert!(std::iter::repeat_with(refused).take(100).any(|told| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        told
    }));
    assert!(
        said.contains("it may take TLS connections only, and Assay connects without; use a tunnel (ssh -L)"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn nothing_is_dropped_that_assay_did_not_make() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    let sql = |statement: &str| server.sql(statement);
    // A schema of another user.
    sql("CREATE SCHEMA assay_oltp");
    sql("CREATE TABLE assay_oltp.precious (n integer)");
    let options = given(&[("where", &url), ("warehouses", "1"), ("rebuild", "")]);
    let error = build(&options, &here).expect_err("refused");
    assert!(matches!(&error, Error::Database(Unfit::ForeignSchema { .. })), "{error}");
    sql("DROP TABLE assay_oltp.precious");
    // One with a table of our name, and rows of others in a table of a name of TPC-C's.
    sql("CREATE TABLE assay_oltp.customer (n integer)");
    sql("INSERT INTO assay_oltp.customer VALUES (7)");
    for table in [
        "TABLE assay_oltp.assay_oltp (a integer)",
        "TABLE assay_oltp.assay_oltp (name text, value text)",
        "TABLE assay_oltp.assay_oltp (name varchar(40) PRIMARY KEY, value varchar(200) NOT NULL)",
        "VIEW assay_oltp.assay_oltp AS SELECT 'format'::varchar(40) AS name, '1'::varchar(200) AS value",
    ] {
        sql(&format!("CREATE {table}"));
        for options in [&options, &given(&[("where", &url)])] {
            let error = build(options, &here).expect_err("refused");
            assert!(
                error.is_request() && error.to_string().contains("a schema 'assay_oltp' whose"),
                "{error}"
            );
            assert!(
                error.to_string().ends_with("Use another database, or drop that schema yourself"),
                "{error}"
            );
            let error = prepare(options, &here).expect_err("refused");
            assert!(matches!(&error, Error::Database(Unfit::ForeignSchema { .. })), "{error}");
        }
        // It fails where the row is gone.
        sql("SELECT 1 / count(*) FROM assay_oltp.customer WHERE n = 7");
        sql(&format!("DROP {} assay_oltp.assay_oltp", table.split(' ').next().expect("a word")));
    }
    sql("DROP TABLE assay_oltp.customer");
    sql("DROP SCHEMA assay_oltp");
    // A foreign table in ours.
    build(&options, &here).expect("built");
    let error = build(&given(&[("where", &url)]), &here).expect_err("it is there");
    assert!(matches!(&error, Error::Database(Unfit::Exists { warehouses: 1, .. })), "{error}");
    sql("CREATE TABLE assay_oltp.precious (n integer)");
    let error = build(&options, &here).expect_err("refused");
    assert!(error.to_string().contains("'precious' in the schema assay_oltp"), "{error}");
    sql("DROP TABLE assay_oltp.precious");
    // Half built: the load has not said that it ended.
    sql("DELETE FROM assay_oltp.assay_oltp WHERE name = 'state'");
    let error = prepare(&given(&[("where", &url)]), &here).expect_err("half built");
    assert!(matches!(&error, Error::Database(Unfit::HalfBuilt { .. })), "{error}");
    build(&options, &here).expect("built anew");
    holds(&given(&[("where", &url)]), &here);
}

#[test]
fn nothing_is_built_or_measured_below_a_run() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    build(&given(&[("where", &url), ("warehouses", "2")]), &here).expect("built");
    let options = given(&[("where", &url), ("ramp", "0s"), ("time", "60s")]);
    let (first, second) = (prepare(&options, &here).expect("a database"), prepare(&options, &here));
    let stop = Arc::default();
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&first, &stop));
        stop_after(&stop, || {
            wait_for_ledger(&ledger_of(&first), 4800);
            let rebuilt = build(&given(&[("where", &url), ("warehouses", "1"), ("rebuild", "")]), &here);
            let checked = assay_oltp::check(&given(&[("where", &url)]), &here, &mut |_| {}, &|| false);
            let beside = match run_whole(&second.expect("a database")).end {
                Some(Err(error)) => error.to_string(),
                other => panic!("{other:?}"),
            };
            let prepared = prepare(&options, &here).expect_err("in use");
            let others =
                [rebuilt.expect_err("in use"), checked.expect_err("in use"), prepared].map(|e| e.to_string());
            for said in others.iter().chain([&beside]) {
                assert!(
                    said.contains("is in use by another Assay, server process ")
                        && said.contains("(assay, user postgres, from 127.0.0.1): nothing was done; wait"),
                    "{said}"
                );
            }
        });
        running.join().expect("no panic")
    });
    assert!(matches!(&ran.end, Some(Ok(_))), "{:?}", ran.end);
    let report = holds(&given(&[("where", &url)]), &here);
    assert!(report.text().contains("holds        ledger: "), "{}", report.text());
    build(&given(&[("where", &url), ("warehouses", "1"), ("rebuild", "")]), &here).expect("nobody has it");
}

#[test]
fn rows_that_are_gone_are_told() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    build(&given(&[("where", &url), ("warehouses", "1")]), &here).expect("built");
    let options = given(&[("where", &url), ("ramp", "0s"), ("time", "500ms")]);
    run_whole(&prepare(&options, &here).expect("a database")).well();
    losses_are_told(&given(&[("where", &url)]), &here, |sql| {
        server.sql(&format!("SET search_path TO assay_oltp; {sql}"));
    });
}

#[test]
fn items_and_stock_that_are_gone_end_a_run() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    build(&given(&[("where", &url), ("warehouses", "1")]), &here).expect("built");
    let options = [("where", url.as_str()), ("ramp", "0s"), ("time", "20s")];
    let run = |more: &[(&'static str, &str)]| {
        run_whole(&prepare(&given(&[&options, more].concat()), &here).expect("a database"))
    };
    server.sql("DELETE FROM assay_oltp.stock WHERE s_i_id <= 50");
    run(&[]).failed_for("item ");
    let end = run(&[("server-side", "")]).end;
    assert!(format!("{end:?}").contains("query returned no rows"), "{end:?}");
    server.sql("DELETE FROM assay_oltp.item WHERE i_id <= 50");
    run(&[]).failed_for("item ");
    run(&[("server-side", "")]).failed_for("item ");
}

#[test]
fn acknowledged_commits_survive_a_crash_of_the_server() {
    let Some(mut server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    build(&given(&[("where", &url), ("warehouses", "4")]), &here).expect("built");
    for round in 0..3 {
        let options = given(&[("where", &url), ("users", "4"), ("ramp", "0s"), ("time", "30s")]);
        let prepared = prepare(&options, &here).expect("a database");
        let stop = Arc::default();
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&prepared, &stop));
            wait_for_ledger(&ledger_of(&prepared), 4800 * (round + 1));
            stop_after(&stop, || server.crash(SETTINGS).expect("it starts again"));
            running.join().expect("no panic")
        });
        assert!(ran.end.is_some());
        let report = holds(&given(&[("where", &url)]), &here);
        assert!(report.text().contains("holds        ledger: "), "{}", report.text());
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_made() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    let options = given(&[("where", &url), ("warehouses", "100000")]);
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| false };
    let error = assay_oltp::build(&options, &here, &mut watcher).expect_err("it does not fit").to_string();
    assert!(
        error.starts_with("100000 warehouses need about ") && error.contains("can be used in"),
        "{error}"
    );
    let none = prepare(&given(&[("where", &url)]), &here).expect_err("nothing was made");
    assert!(matches!(&none, Error::Database(Unfit::Missing { .. })), "{none}");
}

#[test]
fn who_may_not_write_is_told_whose_the_database_is() {
    let Some(server) = server() else { return };
    let data = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(data.path()), server.url());
    build(&given(&[("where", &url), ("warehouses", "1")]), &here).expect("built");
    server.sql("CREATE ROLE reader LOGIN PASSWORD 'secret'");
    server.sql("GRANT USAGE ON SCHEMA assay_oltp TO reader");
    server.sql("GRANT SELECT ON ALL TABLES IN SCHEMA assay_oltp TO reader");
    let reader = format!("postgres://reader:secret@127.0.0.1:{}/postgres", server.port);
    // Reading is enough to check.
    holds(&given(&[("where", &reader)]), &here);
    let prepared =
        prepare(&given(&[("where", &reader), ("time", "1s"), ("ramp", "0s")]), &here).expect("readable");
    let ran = run_whole(&prepared);
    let error = match ran.end {
        Some(Err(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(error.contains("permission denied") && error.contains("as the user that built"), "{error}");
    // Nothing of it goes where not all of it may.
    let error = build(&given(&[("where", &reader), ("warehouses", "1"), ("rebuild", "")]), &here);
    assert!(error.expect_err("not its owner").to_string().contains("must be owner of"));
    holds(&given(&[("where", &url)]), &here);
}
