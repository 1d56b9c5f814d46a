//! When the power is cut: what was acknowledged is there, or its loss is told.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_faultfs::{Cut, FaultFs, Options, missing};
use assay_host::workdir::{WorkDir, claim_file};

use crate::server::Server;
use crate::support::{check, given, here, ledger_of, prepare, run, stop_after, wait_for_ledger};

/// Makes everything in a directory durable, and the directory.
fn sync_all(directory: &Path) {
    for entry in std::fs::read_dir(directory).expect("readable").flatten() {
        if entry.path().is_dir() {
            sync_all(&entry.path());
        } else {
            std::fs::File::open(entry.path()).and_then(|file| file.sync_all()).expect("synced");
        }
    }
    std::fs::File::open(directory).and_then(|directory| directory.sync_all()).expect("synced");
}

/// What a cut left, as another directory of ours: the file system that served it gives everything a new identity.
fn survivors(directory: &Path, outside: &Path) -> PathBuf {
    let place =
        WorkDir::create(&outside.join("survivors"), "1", "oltp").expect("a directory").path().to_owned();
    for name in ["oltp.sqlite", "oltp.sqlite-wal"] {
        if directory.join(name).exists() {
            std::fs::copy(directory.join(name), place.join(name)).expect("copied");
        }
    }
    let file = place.join("oltp.sqlite");
    claim_file(&std::fs::File::open(&file).expect("open"), &file).expect("marked");
    place
}

/// A run whose power is cut `after` its start; how many acknowledged changes are lost, and what the check says.
fn cut_during(synchronous: &str, after: Duration, cut: Cut) -> Option<(bool, String)> {
    if let Some(why) = missing() {
        crate::skip::declare("fuse", &why);
        return None;
    }
    // The index of SQLite's log is shared memory: files need the page cache.
    let fs =
        FaultFs::mount(Options { cached: true, power_cuts: true, ..Options::default() }).expect("mounted");
    let outside = tempfile::tempdir().expect("a directory");
    let (here, ledger) = (here(outside.path()), outside.path().join("ledger"));
    let place: PathBuf = fs.path().to_owned();
    let options = [
        ("where", place.to_str().expect("UTF-8")),
        ("warehouses", "2"),
        ("users", "2"),
        ("ramp", "0s"),
        ("time", "20s"),
        ("synchronous", synchronous),
        ("ledger", ledger.to_str().expect("UTF-8")),
    ];
    let prepared = prepare(&given(&options), &here).expect("a database");
    sync_all(&place);
    let stop = Arc::default();
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&prepared, &stop));
        stop_after(&stop, || {
            wait_for_ledger(&ledger, 4800);
            std::thread::sleep(after);
            fs.cut(cut);
        });
        running.join().expect("no panic")
    });
    assert!(ran.end.is_some_and(|end| end.is_ok()), "what was measured is kept");
    let survivors = survivors(&place.join("assay-oltp"), outside.path());
    let found = check(&given(&[("where", survivors.to_str().expect("UTF-8")), options[6]]), &here);
    Some((found.failed() == 0, found.text()))
}

/// How many cuts: the tests do a few, qualification more.
fn cuts(usual: u64) -> u64 {
    std::env::var("ASSAY_POWER_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn full_synchronous_commits_survive_power_cuts() {
    for seed in 0..cuts(20) {
        let cut = match seed % 3 {
            0 => Cut::KeepNothing,
            _ => Cut::KeepSome { seed, probability: 0.5 },
        };
        let Some((whole, text)) = cut_during("full", Duration::from_millis(seed * 7), cut) else { return };
        assert!(whole && text.contains("holds        ledger: "), "{seed}: {text}");
    }
}

#[test]
fn commits_that_were_lost_without_flushes_are_told() {
    let mut told = 0;
    let all = cuts(1);
    for seed in 0..all {
        let after = Duration::from_millis(100 + seed * 11);
        let Some((whole, text)) = cut_during("off", after, Cut::KeepNothing) else { return };
        // Everything behind the last checkpoint is gone, so that something is lost each time; a database that cannot be opened says so.
        let ledger = text.contains("DOES NOT HOLD  ledger: ") && text.contains(" is lost");
        assert!(!whole && ledger, "{seed}: {text}");
        told += 1;
    }
    let _ = writeln!(std::io::stderr(), "{told} of {all} cuts with synchronous=off: the loss was told");
}

/// A server on a file system whose power can be cut, with a small database; none, and a declared skip, where there cannot be one.
fn server_with_power(settings: &[&str]) -> Option<(FaultFs, Server)> {
    if let Some(why) = missing() {
        crate::skip::declare("fuse", &why);
        return None;
    }
    let options = Options { cached: true, power_cuts: true, others: true, ..Options::default() };
    let fs = FaultFs::mount(options).expect("mounted");
    match Server::start_on(&fs.join("data"), settings) {
        Ok(server) => Some((fs, server)),
        Err(why) => {
            crate::skip::declare("postgresql", &why);
            None
        }
    }
}

/// Cuts the power below a server that works, `times`, and starts it again; what the checks say behind each cut.
fn cut_below_a_server(
    settings: &[&str],
    times: u64,
    cut: impl Fn(u64) -> Cut,
) -> Option<Vec<(bool, String)>> {
    let (fs, mut server) = server_with_power(settings)?;
    let outside = tempfile::tempdir().expect("a directory");
    let (here, url) = (here(outside.path()), server.url());
    let mut watcher = assay_oltp::Watcher { progress: &mut |_| {}, stopped: &|| false };
    let build = given(&[("where", &url), ("warehouses", "2")]);
    assay_oltp::build_scaled(&build, (assay_oltp::Scale::TINY, &here), &mut watcher).expect("built");
    sync_all(fs.path());
    let mut found = Vec::new();
    for round in 0..times {
        let options = given(&[("where", &url), ("users", "2"), ("ramp", "0s"), ("time", "60s")]);
        let prepared = prepare(&options, &here).expect("a database");
        // That of the round before would be taken for this one's.
        let _ = std::fs::remove_file(ledger_of(&prepared));
        let stop = Arc::default();
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&prepared, &stop));
            stop_after(&stop, || {
                wait_for_ledger(&ledger_of(&prepared), 2400);
                std::thread::sleep(Duration::from_millis(round * 37 % 300));
                fs.cut(cut(round));
                server.crash(settings).expect("it starts again");
            });
            running.join().expect("no panic")
        });
        assert!(ran.end.is_some());
        let report = check(&given(&[("where", &url)]), &here);
        found.push((report.failed() == 0, report.text()));
    }
    Some(found)
}

/// Enough for tests; what is written is kept in memory until it is flushed.
const SERVER: &[&str] =
    &["shared_buffers=32MB", "max_connections=30", "max_wal_size=32MB", "min_wal_size=2MB"];

#[test]
fn commits_on_a_server_survive_power_cuts() {
    let all = cuts(3);
    let cut = |seed: u64| match seed % 3 {
        0 => Cut::KeepNothing,
        _ => Cut::KeepSome { seed, probability: 0.5 },
    };
    let Some(found) = cut_below_a_server(SERVER, all, cut) else { return };
    for (seed, (whole, text)) in found.iter().enumerate() {
        assert!(*whole && text.contains("holds        ledger: "), "{seed}: {text}");
    }
    let _ =
        writeln!(std::io::stderr(), "{all} power cuts below PostgreSQL: every acknowledged commit is there");
}

#[test]
fn commits_that_a_server_lost_without_flushes_are_told() {
    // It acknowledges before the log is flushed, which its writer does ten seconds later, and nothing else does before.
    let late =
        ["synchronous_commit=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB", "wal_buffers=64MB"];
    let settings = [SERVER, &late, &["bgwriter_lru_maxpages=0", "autovacuum=off"]].concat();
    let Some(found) = cut_below_a_server(&settings, 1, |_| Cut::KeepNothing) else { return };
    let (whole, text) = &found[0];
    assert!(!whole && text.contains("DOES NOT HOLD  ledger: ") && text.contains(" is lost"), "{text}");
}
