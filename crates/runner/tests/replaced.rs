//! What was permitted to be written is a file or device, not a name: whatever takes the name of a target while a run goes is
//! not written to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_engine::fio_bridge::Fio;
use assay_results::{RunEnd, RunEvent};
use assay_runner::{Observer, Request, Watch, Work, carry_out};
use assay_workload::job::{EngineKind, Limits};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::Carrier;
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Bytes;
use assay_workload::{Job, Phase, Workload};

#[path = "../../../xtask/support/bounded.rs"]
mod bounded;
#[expect(dead_code, reason = "these tests ask for other things, at the same place")]
mod support;

use bounded::Bounded as _;
use support::site;

const SIZE: usize = 1 << 20;

/// One phase after the other, each writes the whole of its target.
fn writes(targets: &[&str], kind: TargetKind) -> Workload {
    let target = |path: &&str| Target {
        name: (*path).to_owned(),
        path: (*path).to_owned(),
        kind: Some(kind),
        size: Some(Bytes(SIZE as u64)),
    };
    let phase = |name: &&str| {
        let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::sequential());
        let limits = Limits { passes: Some(1), ..Limits::default() };
        Phase::measure(
            name,
            vec![Job { engine: EngineKind::Psync, limits, ..Job::new(name, &[name], pattern) }],
        )
    };
    Workload {
        name: "replaced".to_owned(),
        seed: Some(7),
        hosts: Vec::new(),
        targets: targets.iter().map(target).collect(),
        phases: targets.iter().map(phase).collect(),
    }
}

/// Does something once, when the first phase begins.
struct Meanwhile<F>(Option<F>);

impl<F: FnOnce()> Observer for Meanwhile<F> {
    fn event(&mut self, event: &RunEvent) {
        if let RunEvent::PhaseStarted { .. } = event {
            self.0.take().into_iter().for_each(|what| what());
        }
    }
}

fn request(workload: Workload, directory: &Path, consent: &[PathBuf]) -> Request {
    Request {
        watch: Watch::Nothing,
        consent: consent.to_vec(),
        ..Request::new(Work::Asked(workload), directory)
    }
}

/// A run of two phases, with `meanwhile` between the consent and the second; why it failed.
fn run_with(request: Request, meanwhile: impl FnOnce()) -> (RunEnd, String) {
    let store = tempfile::tempdir().expect("a store");
    let done = carry_out(request, &site(store.path()), &mut Meanwhile(Some(meanwhile)));
    let finished = done.expect("carried out").expect("begun").finished;
    (finished.end, finished.error.unwrap_or_default())
}

fn precious(path: &Path) {
    fs::write(path, vec![7_u8; SIZE]).expect("written");
}

fn is_whole(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.len() == SIZE && bytes.iter().all(|byte| *byte == 7))
}

type Replace = fn(place: &Path, victim: &Path);

const REPLACEMENTS: &[(&str, Replace)] = &[
    ("moved over it", |place, victim| fs::rename(victim, place.join("two")).expect("moved")),
    ("symbolic link", |place, victim| {
        fs::remove_file(place.join("two")).expect("removed");
        symlink(victim, place.join("two")).expect("linked");
    }),
    ("hard link", |place, victim| {
        fs::remove_file(place.join("two")).expect("removed");
        fs::hard_link(victim, place.join("two")).expect("linked");
    }),
    ("another directory", |place, victim| {
        let other = place.with_file_name("other");
        fs::create_dir(&other).expect("made");
        fs::rename(victim, other.join("two")).expect("moved");
        fs::rename(place, place.with_file_name("away")).expect("moved");
        fs::rename(&other, place).expect("moved");
    }),
];

#[test]
fn what_takes_the_name_of_a_target_is_not_written_to() {
    let fio = Fio::find(std::env::var_os("PATH").as_deref()).ok().flatten();
    for (how, replace) in REPLACEMENTS {
        for carrier in [Carrier::Native, Carrier::Fio] {
            if carrier == Carrier::Fio && fio.is_none() {
                continue;
            }
            for exists in [false, true] {
                let top = tempfile::tempdir().expect("a place");
                let (place, victim) = (top.path().join("place"), top.path().join("precious"));
                fs::create_dir(&place).expect("made");
                precious(&victim);
                let mut consent = Vec::new();
                if exists {
                    fs::write(place.join("two"), "theirs, named").expect("written");
                    consent.push(place.join("two"));
                }
                let (one, two) = (place.join("one"), place.join("two"));
                let names = [one.to_str().expect("text"), two.to_str().expect("text")];
                let request = Request {
                    carrier,
                    fio: fio.clone(),
                    ..request(writes(&names, TargetKind::File), &place, &consent)
                };
                let (end, why) = run_with(request, || replace(&place, &victim));
                let left = [victim, place.join("two")].iter().filter(|path| is_whole(path)).count();
                assert!(left > 0, "{how}, {carrier:?}, there before: {exists}: destroyed ({why})");
                assert_eq!(end, RunEnd::Failed, "{how}, {carrier:?}: {why}");
                assert!(why.contains("it was inode"), "{how}: {why}");
            }
        }
    }
}

/// What somebody wrote into a file that Assay made, before a run and in the middle of one.
#[test]
fn what_was_written_into_a_file_of_ours_is_not_destroyed() {
    let top = tempfile::tempdir().expect("a place");
    let (one, two) = (top.path().join("one"), top.path().join("two"));
    let names = [one.to_str().expect("text"), two.to_str().expect("text")];
    let go = |meanwhile: &dyn Fn()| {
        let (end, why) = run_with(request(writes(&names, TargetKind::File), top.path(), &[]), meanwhile);
        (end == RunEnd::Completed, why)
    };
    for _ in 0..2 {
        assert_eq!(go(&|| ()), (true, String::new()), "files of ours are used again");
    }
    let (ran, why) = go(&|| fs::write(&two, "precious").expect("written"));
    assert!(!ran && why.contains("something else changed it"), "{why}");
    assert_eq!(fs::read(&two).expect("there"), b"precious");
    let why = refusal(writes(&names, TargetKind::File), top.path(), &[]);
    assert!(why.contains("--destroy-data") && why.contains("two"), "{why}");
    assert_eq!(fs::read(&two).expect("there"), b"precious");
    let request = request(writes(&names, TargetKind::File), top.path(), std::slice::from_ref(&two));
    assert_eq!(run_with(request, || ()).0, RunEnd::Completed);
    assert_eq!(go(&|| ()), (true, String::new()), "it is Assay's again");
}

fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output_in_time().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device over a file; detached when it is dropped.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Self> {
        run("losetup", &["--find", "--show", file.to_str()?]).map(Loop)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["-d", &self.0]);
    }
}

#[test]
fn a_link_to_a_device_means_the_device_that_was_named() {
    let top = tempfile::tempdir().expect("a place");
    let [image, other] = ["image", "other"].map(|name| top.path().join(name));
    precious(&image);
    precious(&other);
    let (Some(named), Some(victim)) = (Loop::over(&image), Loop::over(&other)) else { return };
    let link = top.path().join("dlink");
    symlink(&named.0, &link).expect("linked");
    let again = top.path().join("again");
    symlink(&named.0, &again).expect("linked");
    let names = [again.to_str().expect("text"), link.to_str().expect("text")];
    let request = request(writes(&names, TargetKind::BlockDevice), top.path(), std::slice::from_ref(&link));
    let (end, why) = run_with(request, || {
        fs::remove_file(&link).expect("removed");
        symlink(&victim.0, &link).expect("linked");
    });
    assert!(fs::read(&other).expect("there").iter().all(|byte| *byte == 7), "destroyed: {why}");
    // The device that was named is the one that was checked.
    assert_eq!(end, RunEnd::Completed, "{why}");
    assert!(fs::read(&image).expect("there").iter().any(|byte| *byte != 7));
}

/// What is refused before a run begins, with its reason.
fn refusal(workload: Workload, directory: &Path, consent: &[PathBuf]) -> String {
    let store = tempfile::tempdir().expect("a store");
    match carry_out(request(workload, directory, consent), &site(store.path()), &mut ()) {
        Err(error) => error.to_string(),
        Ok(_) => "it ran".to_owned(),
    }
}

#[test]
fn the_file_below_a_loop_device_is_refused_by_any_name() {
    let top = tempfile::tempdir().expect("a place");
    let [image, second] = ["image", "second"].map(|name| top.path().join(name));
    precious(&image);
    fs::hard_link(&image, &second).expect("linked");
    let Some(below) = Loop::over(&image) else { return };
    for gone in [false, true] {
        if gone {
            fs::remove_file(&image).expect("removed");
        }
        let name = [second.to_str().expect("text")];
        let why = refusal(writes(&name, TargetKind::File), top.path(), std::slice::from_ref(&second));
        assert!(why.contains("backing file of"), "first name gone: {gone}: {why}");
        assert!(is_whole(&second));
    }
    let Some(twin) = Loop::over(&second) else { return };
    let device = PathBuf::from(&twin.0);
    let why = refusal(writes(&[&twin.0], TargetKind::BlockDevice), top.path(), &[device]);
    assert!(why.contains("stands on the same file as") && why.contains(&below.0[5..]), "{why}");
    assert!(is_whole(&second));
    drop(below);
    let Some(on_top) = Loop::over(Path::new(&twin.0)) else { return };
    let why = refusal(writes(&[&twin.0], TargetKind::BlockDevice), top.path(), &[PathBuf::from(&twin.0)]);
    assert!(why.contains(&on_top.0[5..]), "{why}");
    assert!(is_whole(&second));
}

#[test]
fn fio_writes_through_what_is_open() {
    let Some(fio) = Fio::find(std::env::var_os("PATH").as_deref()).ok().flatten() else { return };
    let top = tempfile::tempdir().expect("a place");
    let path = top.path().join("one");
    for _ in 0..2 {
        let workload = writes(&[path.to_str().expect("text")], TargetKind::File);
        let request =
            Request { carrier: Carrier::Fio, fio: Some(fio.clone()), ..request(workload, top.path(), &[]) };
        let store = tempfile::tempdir().expect("a store");
        let finished =
            carry_out(request, &site(store.path()), &mut ()).expect("done").expect("begun").finished;
        assert_eq!(finished.end, RunEnd::Completed, "{:?}", finished.error);
        assert_eq!(finished.run.phases[0].jobs[0].total.ios, 256);
        assert_eq!(fs::read_dir(top.path()).expect("listed").count(), 1, "nothing else is made");
    }
}
