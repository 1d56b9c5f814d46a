//! The coordinator over connections that break, with workers in this process behind sockets.

use assay_workload::job::Phase;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve::TargetFacts;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use assay_results::HostEvent;
use assay_workload::host::Host;
use assay_workload::plan::PlannedTarget;

use super::*;
use crate::launch::Connection;
use crate::worker::toy::{Toy, note, part};
use crate::worker::{accepted, serve};

/// Workers of this process, each of which listens on a socket in a directory.
#[derive(Debug)]
struct Sockets {
    directory: tempfile::TempDir,
    /// The coordinator's ends of the connections, to be cut; the last one of each worker.
    ends: Arc<Mutex<BTreeMap<PathBuf, UnixStream>>>,
    hangs: bool,
}

impl Sockets {
    fn new(hangs: bool) -> Self {
        Sockets { directory: tempfile::tempdir().expect("a directory"), ends: Arc::default(), hangs }
    }

    fn path(&self, place: &Place) -> PathBuf {
        self.directory.path().join(&place.host.name)
    }

    fn connect(&self, place: &Place) -> io::Result<Connection> {
        let path = self.path(place);
        let stream = UnixStream::connect(&path)?;
        self.ends.lock().expect("whole").insert(path, stream.try_clone()?);
        Connection::of_stream(stream)
    }
}

/// A worker that listens there.
fn worker(path: &Path, hangs: bool) -> io::Result<()> {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    std::thread::spawn(move || {
        let mut toy = Toy { stop: Arc::default(), hangs, ended: Arc::default() };
        let last: Arc<Mutex<Option<UnixStream>>> = Arc::default();
        let accepting = Arc::clone(&last);
        let accept = move || {
            let (stream, _) = listener.accept()?;
            *accepting.lock().expect("whole") = Some(stream.try_clone()?);
            Ok(stream.into())
        };
        let served = serve(&mut toy, accepted(accept)).expect("served");
        // As the end of its process does.
        let last = last.lock().expect("whole").take();
        last.map(|stream| stream.shutdown(Shutdown::Both));
        served
    });
    Ok(())
}

impl Launcher for Sockets {
    fn places(&self, _: &Workload) -> Vec<Place> {
        let place = |name| Place { host: Host::new(name), directory: PathBuf::new() };
        ["a", "b"].map(place).into()
    }

    fn start(&self, place: &Place) -> io::Result<Connection> {
        worker(&self.path(place), self.hangs)?;
        self.connect(place)
    }

    fn reconnects(&self) -> bool {
        true
    }

    fn reconnect(&self, place: &Place) -> io::Result<Connection> {
        // A socket that is not there may come back, unless the whole directory is gone.
        let may_return = |error: io::Error| match self.directory.path().exists() {
            true => io::Error::from(io::ErrorKind::ConnectionRefused),
            false => error,
        };
        self.connect(place).map_err(may_return)
    }
}

fn options(silence_s: u64) -> Options {
    Options {
        patience: Patience::until_lost(Duration::from_secs(silence_s)),
        on_loss: OnLoss::Stop,
        version: AssayVersion::default(),
        stop: Arc::default(),
        directory: None,
    }
}

fn prepared(sockets: Sockets, silence_s: u64) -> (Fleet, Arc<Plan>) {
    let mut workload = Workload::default();
    let mut fleet = Fleet::over(Box::new(sockets), &mut workload, None, options(silence_s)).expect("both");
    fleet.look(&workload, None).expect("looked");
    // A plan without hosts is for all workers.
    let plan = part().plan;
    fleet.prepare(&plan, &Terms::default()).expect("prepared");
    (fleet, Arc::new(plan))
}

/// Every note of both workers, once and in order.
fn check_notes(told: &[(HostId, HostEvent)]) {
    for host in [HostId(0), HostId(1)] {
        let notes =
            told.iter().filter(|(from, event)| *from == host && matches!(event, HostEvent::Note { .. }));
        let notes: Vec<HostEvent> = notes.map(|(_, event)| event.clone()).collect();
        assert_eq!(notes, (0..100).map(note).collect::<Vec<_>>(), "{host:?}");
    }
}

#[test]
fn a_connection_that_breaks_is_replaced_and_nothing_is_lost() {
    let sockets = Sockets::new(false);
    let ends = Arc::clone(&sockets.ends);
    let (mut fleet, plan) = prepared(sockets, 60);
    let mut told = Vec::new();
    for cut in [0, 1, 30] {
        let mut seen = 0;
        told.clear();
        let outcome = fleet.execute(&plan, 0, &mut |host, event| {
            if seen == cut {
                ends.lock()
                    .expect("whole")
                    .values()
                    .for_each(|end| end.shutdown(Shutdown::Both).expect("cut"));
            }
            seen += 1;
            told.push((host, event));
        });
        assert!(matches!(outcome, PhaseOutcome::Done), "{outcome:?}");
        check_notes(&told);
    }
    let started = Instant::now();
    fleet.finish(false, false);
    assert!(started.elapsed() < Duration::from_secs(5), "the end of the last connection is no surprise");
}

#[test]
fn another_process_in_the_place_of_a_worker_is_not_gone_on_with() {
    let sockets = Sockets::new(true);
    let (ends, path) = (Arc::clone(&sockets.ends), sockets.directory.path().join("b"));
    let (mut fleet, plan) = prepared(sockets, 60);
    let mut lost = Vec::new();
    let mut is_cut = false;
    let outcome = fleet.execute(&plan, 0, &mut |_, event| {
        if let HostEvent::Lost { why, .. } = &event {
            lost.push(why.clone());
        }
        if matches!(event, HostEvent::Started { .. }) && !is_cut {
            is_cut = true;
            worker(&path, true).expect("another one");
            ends.lock().expect("whole")[&path].shutdown(Shutdown::Both).expect("cut");
        }
    });
    assert!(matches!(outcome, PhaseOutcome::Lost(_)), "{outcome:?}");
    assert_eq!(lost, [LostReason::Restarted]);
}

#[test]
fn a_worker_that_cannot_be_reached_again_is_lost_after_the_time_that_was_asked_for() {
    let sockets = Sockets::new(true);
    let (ends, path) = (Arc::clone(&sockets.ends), sockets.directory.path().join("b"));
    let (mut fleet, plan) = prepared(sockets, 3);
    let (mut lost, mut cut) = (Vec::new(), None);
    let outcome = fleet.execute(&plan, 0, &mut |_, event| {
        if let HostEvent::Lost { why, .. } = &event {
            lost.push(why.clone());
        }
        if matches!(event, HostEvent::Started { .. }) && cut.is_none() {
            cut = Some(Instant::now());
            std::fs::remove_file(&path).expect("removed");
            ends.lock().expect("whole")[&path].shutdown(Shutdown::Both).expect("cut");
        }
    });
    assert!(matches!(outcome, PhaseOutcome::Lost(_)), "{outcome:?}");
    assert_eq!(lost, [LostReason::ConnectionClosed]);
    let took = cut.expect("cut").elapsed();
    assert!((3..10).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn a_worker_that_is_gone_for_good_is_lost_at_once() {
    let sockets = Sockets::new(true);
    let (ends, directory) = (Arc::clone(&sockets.ends), sockets.directory.path().to_owned());
    let (mut fleet, plan) = prepared(sockets, 60);
    let (mut lost, mut cut) = (Vec::new(), None);
    let outcome = fleet.execute(&plan, 0, &mut |_, event| {
        if let HostEvent::Lost { why, .. } = &event {
            lost.push(why.clone());
        }
        if matches!(event, HostEvent::Started { .. }) && cut.is_none() {
            cut = Some(Instant::now());
            std::fs::remove_dir_all(&directory).expect("removed");
            ends.lock().expect("whole")[&directory.join("b")].shutdown(Shutdown::Both).expect("cut");
        }
    });
    assert!(matches!(outcome, PhaseOutcome::Lost(_)), "{outcome:?}");
    assert!(
        matches!(&lost[..], [LostReason::Failed { error }] if error.contains("No such file")),
        "{lost:?}"
    );
    let took = cut.expect("cut").elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn one_path_on_two_machines_is_two_targets_and_on_one_machine_is_shared() {
    let target = |host| PlannedTarget {
        name: "d".to_owned(),
        host: HostId(host),
        path: "/dev/vdb".to_owned(),
        kind: TargetKind::BlockDevice,
        size_bytes: 1 << 20,
        existing_bytes: 1 << 20,
        direct_align_bytes: Some(512),
    };
    let job = Job::new("j", &["d"], AccessPattern::new(Mix::WRITE, 4096, Placement::random_map()));
    let facts = TargetFacts {
        path: "/dev/vdb".to_owned(),
        kind: TargetKind::BlockDevice,
        existing_bytes: 1 << 20,
        direct_align_bytes: Some(512),
        engine_choice: None,
        direct_refused: None,
    };
    let workload = Workload {
        targets: vec![Target { name: "d".to_owned(), path: "/dev/vdb".to_owned(), kind: None, size: None }],
        phases: vec![Phase::measure("p", vec![job.with(|job| job.engine = EngineKind::Psync)])],
        ..Workload::default()
    };
    let inventory = Inventory {
        targets: [("d".to_owned(), facts)].into(),
        engines: vec![EngineKind::Psync],
        ..Inventory::default()
    };
    let mut plan = assay_workload::resolve::plan(&workload, &inventory, 1).expect("a plan");
    plan.targets = vec![target(0), target(1)];
    assert_eq!(
        shared_and_written(&plan, &|_| "assay-vm"),
        Some(("/dev/vdb".to_owned(), "assay-vm".to_owned()))
    );
    // Guests of one image have one host name; what tells them apart is what the launcher calls them.
    assert_eq!(shared_and_written(&plan, &|host| if host == HostId(0) { "vm1" } else { "vm2" }), None);
    assert!(!Sockets::new(false).are_machines());
}

#[test]
fn a_part_that_is_too_large_for_a_worker_is_said_with_its_size() {
    assert!(sendable("db1", vec![0; PAYLOAD_BYTES_MAX]).is_ok());
    let error = sendable("db1", vec![0; 40 << 20]).expect_err("too large");
    let text = error.to_string();
    assert!(error.is_request() && text.contains("worker db1 takes 40 MiB, and 32 MiB can be sent"), "{text}");
}

#[test]
fn a_directory_that_is_asked_for_is_that_of_each_worker() {
    let mut workload = Workload::default();
    let options = Options { directory: Some(PathBuf::from("there")), ..options(60) };
    let sockets = Box::new(Sockets::new(false));
    let mut fleet = Fleet::over(sockets, &mut workload, None, options).expect("both");
    let why = fleet.look(&workload, None).expect_err("the toy has no such place").to_string();
    assert!(why.contains("a: there is no place") && why.contains("b: there is no place"), "{why}");
}

#[test]
fn a_path_for_a_target_that_the_plan_lacks_is_refused() {
    let target = |name: &str| Target { name: name.to_owned(), path: "f".to_owned(), kind: None, size: None };
    let workload = Workload { targets: vec![target("./a.0.0")], ..Workload::default() };
    let place = |name: &str| {
        let paths = BTreeMap::from([(name.to_owned(), "/dev/sdb".to_owned())]);
        Place { host: Host { paths, ..Host::new("h1") }, directory: PathBuf::new() }
    };
    check_paths(&[place("./a.0.0")], &workload).expect("known");
    let why = check_paths(&[place("a.0.0")], &workload).expect_err("unknown");
    assert!(why.is_request());
    let said = "host h1 has a path for 'a.0.0', and the plan has no such target; its targets are: ./a.0.0";
    assert_eq!(why.to_string(), said);
}

#[test]
fn a_target_that_a_worker_does_not_find_is_named_with_its_path() {
    let target = Target { name: "d".to_owned(), path: "f".to_owned(), kind: None, size: None };
    let job = Job::new("j", &["d"], AccessPattern::new(Mix::READ, 4096, Placement::random_map()));
    let workload = Workload {
        targets: vec![target],
        phases: vec![Phase::measure("p", vec![job])],
        ..Workload::default()
    };
    let found = |kind, existing_bytes| {
        let path = "/srv/f".to_owned();
        let facts = TargetFacts {
            path,
            kind,
            existing_bytes,
            direct_align_bytes: None,
            engine_choice: None,
            direct_refused: None,
        };
        Inventory { targets: BTreeMap::from([("d".to_owned(), facts)]), ..Inventory::default() }
    };
    let said = |kind, bytes| check_found("h4", &workload, &found(kind, bytes)).map_err(|why| why.to_string());
    assert_eq!(said(TargetKind::File, 4096), Ok(()));
    let missing = said(TargetKind::File, 0).expect_err("nothing is there");
    assert!(missing.starts_with("h4: /srv/f does not exist or is empty (target 'd')"), "{missing}");
    let directory = said(TargetKind::Directory, 0).expect_err("no file");
    assert!(directory.starts_with("h4: /srv/f is a directory"), "{directory}");
}
