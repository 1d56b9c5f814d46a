//! Crashes: what works on a database is killed while it does, and every commit that was acknowledged has to be there afterwards.
//!
//! SQLite is killed with the program that has it; of PostgreSQL a server of our own is killed. Memory of the kernel survives that: what a
//! power cut loses is another test.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_workload::rng::Rng;

use crate::database::{Database, Here, Report, built};
use crate::error::{Asked, Error, Unfit};
use crate::options::{Given, WHERE};
use crate::postgres::OwnServer;
use crate::scale::{Scale, advised_users};

/// Acknowledged commits before a kill, at least: of 48 bytes each.
const ACKNOWLEDGED_BYTES: u64 = 200 * 48;
/// Later than that by up to so long.
const LATER_NS_MAX: u64 = 1_500_000_000;
/// How long commits may take to come, nanoseconds.
const PATIENCE_NS: u64 = 300_000_000_000;
const NAP: Duration = Duration::from_millis(5);
/// Rounds at most.
const ROUNDS_MAX: u32 = 1000;

/// What kills need of the program around.
pub struct Outside<'o> {
    /// This program, to be started with arguments.
    pub program: &'o dyn Fn(&[String]) -> std::io::Result<Command>,
    /// Is told what comes next.
    pub say: &'o mut dyn FnMut(&str),
    /// Whether it is to end.
    pub stopped: &'o (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Outside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").finish_non_exhaustive()
    }
}

/// A child that does not survive us.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many crashes are asked for; `None`: none.
///
/// # Errors
/// A number that is not possible, or what goes only with it.
pub fn rounds(given: &Given) -> Result<Option<u32>, Error> {
    let possible = format!("a number of crashes, 1 to {ROUNDS_MAX}");
    let rounds = given.value::<u32>("crash", |n| (1..=ROUNDS_MAX).contains(n), &possible)?;
    if rounds.is_none() {
        given.without("own-server", "needs --crash")?;
    }
    Ok(rounds)
}

/// Crashes the database `rounds` times and checks it behind each; the report of the last check, or of the first that does not hold.
///
/// # Errors
/// [`Error`]: what could not be built, run or killed. What does not hold is no error but in the report.
pub fn crash(given: &Given, here: &Here, rounds: u32, outside: &mut Outside<'_>) -> Result<Report, Error> {
    if !given.has("own-server") {
        let database = Database::of(given, here)?;
        if let Database::Postgres(_) = database {
            let why = "kills only what Assay started: give a directory and --own-server instead of a URL"
                .to_owned();
            return Err(Asked::Option { option: "crash", why }.into());
        }
        return rounds_of(&mut Target { database, server: None }, given, here, rounds, outside);
    }
    let place = given.text(WHERE).unwrap_or(".");
    if place.contains("://") {
        let why = "makes a server in a directory; WHERE is a URL".to_owned();
        return Err(Asked::Option { option: "own-server", why }.into());
    }
    (outside.say)("starting a PostgreSQL server");
    let server = OwnServer::start(Path::new(place), here.random)?;
    let database = Database::Postgres(server.url()?);
    let given = &given.but(WHERE, &server.shown());
    rounds_of(&mut Target { database, server: Some(server) }, given, here, rounds, outside)
}

/// What is crashed.
struct Target {
    database: Database,
    server: Option<OwnServer>,
}

fn rounds_of(
    target: &mut Target,
    given: &Given,
    here: &Here,
    rounds: u32,
    outside: &mut Outside<'_>,
) -> Result<Report, Error> {
    match target.database.facts() {
        Err(Error::Database(Unfit::Missing { .. })) => {
            (outside.say)("building a database");
            let said = built(&target.database, given, (Scale::STANDARD, here), outside.stopped)?;
            (outside.say)(&said);
        }
        facts => drop(facts?),
    }
    let mut rng = Rng::new(here.random);
    for round in 1..=rounds {
        let acknowledged = one(target, given, here, (round, rng.below(LATER_NS_MAX)), outside)?;
        let report = target.database.check(given, here, &mut |_| {}, outside.stopped)?;
        let verdict = if report.failed() == 0 { "everything holds" } else { "NOT everything holds" };
        (outside.say)(&format!("crash {round} of {rounds}: {acknowledged} acknowledged commits, {verdict}"));
        if report.failed() > 0 || round == rounds {
            return Ok(report);
        }
    }
    Err(Error::Interrupted)
}

/// One run that is killed; how many commits its ledger has.
fn one(
    target: &mut Target,
    given: &Given,
    here: &Here,
    (round, later_ns): (u32, u64),
    outside: &mut Outside<'_>,
) -> Result<u64, Error> {
    let facts = target.database.facts()?;
    let ledger = target.database.ledger(given, &facts, here)?;
    let bytes = || std::fs::metadata(&ledger).map_or(0, |meta| meta.len());
    let before = bytes();
    let users = advised_users(facts.warehouses).max(2).min(facts.warehouses).to_string();
    let place = given.text(WHERE).unwrap_or(".").to_owned();
    let name = format!("oltp-crash-{round}");
    let mut words: Vec<String> =
        ["oltp", "run", &place, "--ramp", "0s", "--time", "1h", "--users", &users, "--name", &name]
            .map(str::to_owned)
            .to_vec();
    if let Some(ledger) = given.ledger() {
        words.extend(["--ledger".to_owned(), ledger.to_owned()]);
    }
    let started = |source| Error::File { path: "assay".into(), source };
    let mut command = (outside.program)(&words).map_err(started)?;
    if let Some(server) = &target.server {
        command.env("PGPASSWORD", server.password());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Kept(command.spawn().map_err(started)?);
    let clock = RealClock::new();
    let end_ns = clock.now_ns() + PATIENCE_NS;
    // A new run may begin its ledger anew.
    let grown = || bytes().checked_sub(before).unwrap_or_else(bytes) >= ACKNOWLEDGED_BYTES;
    while !grown() {
        if (outside.stopped)() {
            return Err(Error::Interrupted);
        }
        let ended = !matches!(running.0.try_wait(), Ok(None));
        if ended || clock.now_ns() > end_ns {
            let what =
                "the run that was to be killed ended, or acknowledged nothing in five minutes".to_owned();
            return Err(Error::OwnServer { what });
        }
        std::thread::sleep(NAP);
    }
    std::thread::sleep(Duration::from_nanos(later_ns));
    match &mut target.server {
        Some(server) => server.crash()?,
        None => drop(running.0.kill()),
    }
    drop(running);
    Ok(bytes() / 48)
}
