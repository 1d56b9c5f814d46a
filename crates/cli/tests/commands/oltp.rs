//! `assay oltp` as people type it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::bounded::Bounded as _;
use crate::world::{World, entries, json, path_text, signal, wait_for};

#[test]
fn a_database_from_nothing_is_measured_checked_killed_and_removed() {
    let world = World::new();
    let data = world.data();
    let run =
        ["oltp", "run", path_text(&data), "--warehouses", "1", "--synchronous", "normal", "--ramp", "200ms"];
    let said = world.assay(&[&run[..], &["--time", "1500ms", "--json"]].concat()).ended(0);
    let document = json(&said.out);
    let (phase, job) = (&document["phases"][0], &document["phases"][0]["jobs"][0]);
    assert_eq!((&phase["name"], &job["engine"]), (&"oltp-sqlite".into(), &"sqlite".into()));
    let pattern = job["pattern"].as_str().expect("words");
    assert!(
        pattern.starts_with("TPC-C-derived, not a TPC result: SQLite (embedded, single writer)"),
        "{pattern}"
    );
    assert!(!said.out.to_lowercase().contains("tpmc"));
    let new_orders = job["ops"]["new-order"]["iops"].as_f64().expect("transactions") * 60.0;
    let nopm = phase["metrics"]["NOPM"]["value"].as_f64().expect("NOPM");
    assert!((nopm / new_orders - 1.0).abs() < 0.2, "{nopm} {new_orders}");
    let fits = document["findings"].as_array().expect("a list").iter();
    assert!(fits.filter(|finding| finding["id"] == "working-set-fits-cache").count() == 1, "{}", said.out);
    let check = ["oltp", "check", path_text(&data)];
    assert!(world.assay(&check).ended(0).out.contains("holds        ledger: "));
    // Killed in the middle, and recovered.
    let mut command = world.command(&[&run[..], &["--time", "30s"]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("the program starts");
    let ledger = data.join("assay-oltp/ledger");
    wait_for("transactions", || {
        // The ledger of the run before is emptied first.
        data.join("assay-oltp/oltp.sqlite-wal").exists()
            && std::fs::metadata(&ledger).is_ok_and(|meta| meta.len() > 4800)
    });
    let meanwhile = world.assay(&check).ended(1);
    assert!(meanwhile.err.contains("is in use by pid "), "{}", meanwhile.err);
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    assert!(world.assay(&check).ended(0).out.contains("holds        ledger: "));
    // What was acknowledged is known, or the check does not hold.
    let bytes = std::fs::read(&ledger).expect("a ledger");
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    std::fs::write(&ledger, damaged).expect("written");
    let said = world.assay(&check).ended(1);
    assert!(said.out.contains("1 of ") && said.out.contains("are damaged"), "{}", said.out);
    std::fs::remove_file(&ledger).expect("removed");
    let said = world.assay(&check).ended(1);
    assert!(said.out.contains("runs were begun; --ledger names theirs"), "{}", said.out);
    let said = world.assay(&[&check[..], &["--ledger", "typo"]].concat()).ended(2);
    assert!(said.err.contains("typo does not exist"), "{}", said.err);
    world.assay(&["cleanup", path_text(&data)]).ended(0);
    assert!(entries(&data).is_empty(), "{:?}", entries(&data));
}

#[test]
fn a_build_that_was_killed_begins_anew() {
    let world = World::new();
    let data = world.data();
    let build = ["oltp", "build", path_text(&data), "--warehouses", "8"];
    let mut command = world.command(&build);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("the program starts");
    let part = data.join("assay-oltp/oltp.sqlite.part");
    wait_for("rows", || std::fs::metadata(&part).is_ok_and(|meta| meta.len() > 1 << 20));
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    let said = world.assay(&["oltp", "check", path_text(&data)]).ended(2);
    assert!(said.err.contains("--rebuild"), "{}", said.err);
    world.assay(&["oltp", "build", path_text(&data), "--warehouses", "1", "--rebuild"]).ended(0);
    assert!(!part.exists());
    world.assay(&["cleanup", path_text(&data)]).ended(0);
    assert!(entries(&data).is_empty(), "{:?}", entries(&data));
}

/// What the process list shows of a program, its words apart by blanks.
fn words_of(process: u32) -> String {
    let words = std::fs::read(format!("/proc/{process}/cmdline")).expect("it runs");
    String::from_utf8_lossy(&words).replace('\0', " ")
}

#[test]
fn a_password_reaches_the_server_and_nobody_else() {
    let world = World::new();
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("its number").port();
    let url = format!("postgres://me:hid%2Fden@127.0.0.1:{port}/d");
    let mut command = world.command(&["oltp", "check", &url]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    let (mut stream, _) = server.accept().expect("it connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    let words = words_of(child.id());
    assert!(words.contains(&format!(" oltp check postgres://me@127.0.0.1:{port}/d ")), "{words}");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("its first message");
    let mut first = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut first).expect("its first message");
    // The password in clear text is asked for.
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03").expect("it listens");
    let mut answer = [0; 13];
    stream.read_exact(&mut answer).expect("its answer");
    assert_eq!(&answer, b"p\0\0\0\x0chid/den\0");
    // What else has the port says something else: one line.
    stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").expect("it listens");
    drop(stream);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("is it a PostgreSQL server?"), "{said}");
    assert!(said.lines().count() == 1 && !said.contains("hid"), "{said}");
    // What a plan says is stored with results.
    let plan = "[[job]]\nruntime = \"1s\"\napplication = { kind = \"oltp\", where = \"postgres://me:hidden@h/d\" }\n";
    std::fs::write(world.path().join("plan.toml"), plan).expect("a file");
    let said = world.assay(&["run", path_text(&world.path().join("plan.toml"))]).ended(2);
    assert!(said.err.contains("PGPASSWORD") && world.run_directories().is_empty(), "{}", said.err);
    // Without it the plan holds, and needs no target: what it works on is a server.
    std::fs::write(world.path().join("plan.toml"), plan.replace(":hidden", "")).expect("a file");
    let shown = world.assay(&["plan", path_text(&world.path().join("plan.toml"))]).ended(0);
    assert!(shown.out.contains("TPC-C-derived, not a TPC result: PostgreSQL"), "{}", shown.out);
}

#[test]
fn what_is_wrong_is_one_line_and_makes_nothing() {
    let world = World::new();
    let data = world.data();
    for (words, code, expected) in [
        (
            vec!["run", path_text(&data), "--warehouses", "2", "--users", "3"],
            2,
            "error: 3 users on 2 warehouses",
        ),
        (vec!["check", path_text(&data)], 2, "error: no OLTP database in "),
        (
            vec!["run", path_text(&data), "--mix", "tpcc"],
            2,
            "error: --mix: 'tpcc' is not one of hammerdb, spec",
        ),
        (vec!["run", "postgres://u:hidden@127.0.0.1:1/d"], 1, "error: PostgreSQL at 127.0.0.1:1: "),
        (
            vec!["run", "postgres://u:hidden/hidden@h/d"],
            2,
            "error: 'postgres://u@h/d' is not the URL of a PostgreSQL database: an '@' stands behind",
        ),
        (
            vec!["run", "postgres://u@h/d?passfile=hidden"],
            2,
            "error: 'postgres://u@h/d?passfile=...' is not the URL of a PostgreSQL database: parameter 'passfile'",
        ),
        (
            vec!["run", "postgres://u:hidden@h/d?sslmode=require"],
            2,
            "error: 'postgres://u@h/d?sslmode=require' is not",
        ),
    ] {
        let said = world.assay(&[&["oltp"], &words[..]].concat()).ended(code);
        assert!(said.err.starts_with(expected) && said.err.lines().count() == 1, "{}", said.err);
        assert!(!said.err.contains("hidden"), "{}", said.err);
    }
    assert!(entries(&data).is_empty() && world.run_directories().is_empty());
}
