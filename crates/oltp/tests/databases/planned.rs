//! Jobs as plans ask for them: a database is built, worked on and checked in phases of one run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_engine::driver::{PhaseOptions, run_phase};
use assay_engine::kind::name_operations;
use assay_engine::{JobKind, ThisMachine};
use assay_oltp::{Here, Oltp, OltpInPlans, Scale};
use assay_results::HostEvent;
use assay_workload::application::{Application, ApplicationKind as _};
use assay_workload::job::{Job, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Nanos;

use crate::server::Server;
use crate::support::here;

fn job(settings: &[(&str, &str)], threads: u32) -> Job {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let words = OltpInPlans.words(&settings).expect("settings");
    let none = Mix { read_percent: 0.0, write_percent: 0.0, trim_percent: 0.0 };
    Job::new("oltp", &["database"], AccessPattern::unknown(none)).with(|job| {
        job.traits.application = Some(Application { kind: "oltp".to_owned(), words, settings });
        job.threads = threads;
        job.limits.time = Some(Nanos::from_secs(1));
        job.invalidate = false;
    })
}

/// What the phases say, one after the other, until one fails.
fn said(directory: &Path, data: &Path, jobs: Vec<Job>) -> Result<Vec<String>, String> {
    let phases = jobs.into_iter().map(|job| Phase::measure("phase", vec![job])).collect();
    let path = directory.display().to_string();
    let target = Target {
        name: "database".to_owned(),
        path: path.clone(),
        kind: Some(TargetKind::Directory),
        size: None,
    };
    let workload = Workload { name: "w".to_owned(), targets: vec![target], phases, ..Workload::default() };
    let facts = TargetFacts {
        path,
        kind: TargetKind::Directory,
        existing_bytes: 0,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory { targets: [("database".to_owned(), facts)].into(), ..Inventory::default() };
    let mut plan = resolve::plan(&workload, &inventory, 7).expect("a plan");
    let here = Here { password: Some("secret".to_owned()), ..here(data) };
    let kind = Oltp::for_plans(here).scaled(Scale::TINY);
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&kind];
    name_operations(&mut plan, kinds.into_iter()).expect("names");
    let mut notes = Vec::new();
    for phase in 0..plan.phases.len() {
        let options = PhaseOptions {
            interval: Duration::from_millis(200),
            stop: Arc::default(),
            kinds: &kinds,
            start: None,
            given_up: &|_| {},
        };
        let mut sink = |event| {
            if let HostEvent::Note { text, .. } = event {
                notes.push(text);
            }
        };
        let end = run_phase(&plan, phase, &options, &mut sink, &mut |_| {});
        match end {
            Ok(end) => end.error.map_or(Ok(()), |error| Err(error.to_string()))?,
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(notes)
}

#[test]
fn a_database_is_built_worked_on_and_checked_in_one_run() {
    let (place, data) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let directory = place.path().join("database");
    let build = || job(&[("task", "build"), ("warehouses", "2")], 1);
    let run = || job(&[("synchronous", "off")], 2);
    let check = || job(&[("task", "check")], 1);
    let missing = said(&directory, data.path(), vec![run()]).expect_err("there is none");
    assert!(missing.contains("no OLTP database in"), "{missing}");
    let notes = said(&directory, data.path(), vec![build(), run(), check()]).expect("done").join("\n");
    for words in
        ["built 2 warehouses", "synchronous=off, 2 warehouses (reduced), 2 users", "holds        ledger: "]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    let again = said(&directory, data.path(), vec![build(), check()]).expect("done").join("\n");
    assert!(again.contains("is used as it is"), "{again}");
    let other = said(&directory, data.path(), vec![job(&[("task", "build"), ("warehouses", "3")], 1)]);
    assert!(other.expect_err("another size").contains("has 2 warehouses, not 3"));
    let many = said(&directory, data.path(), vec![job(&[], 3)]).expect_err("too many users");
    assert!(many.contains("3 users on 2 warehouses"), "{many}");
}

#[test]
fn workers_that_share_a_servers_database_say_so() {
    let server = match Server::start(&["shared_buffers=32MB", "max_connections=30"]) {
        Ok(server) => server,
        Err(why) => return crate::skip::declare("postgresql", &why),
    };
    let data = tempfile::tempdir().expect("a directory");
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let built = job(&[("where", &url), ("task", "build"), ("warehouses", "2")], 1);
    said(data.path(), data.path(), vec![built]).expect("built");
    let run = || said(data.path(), data.path(), vec![job(&[("where", &url)], 1)]).expect("done").join("\n");
    let both = std::thread::scope(|scope| {
        let first = scope.spawn(run);
        [run(), first.join().expect("no panic")]
    });
    let told = "others of Assay worked on this database as well (server process ";
    assert!(both.iter().any(|notes| notes.contains(told)), "{both:?}");
    assert!(!run().contains(told), "alone");
    let checked = said(data.path(), data.path(), vec![job(&[("where", &url), ("task", "check")], 1)]);
    assert!(
        checked
            .expect("everything holds")
            .contains(&"holds        condition 1: w_ytd = sum(d_ytd)".to_owned())
    );
}
