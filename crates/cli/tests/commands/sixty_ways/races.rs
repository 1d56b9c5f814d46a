//! Names that lead elsewhere between the check and the use: something exchanges them in a loop while runs start and files are
//! removed.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Scene, tool};
use crate::bounded::Bounded as _;
use crate::world::{entries, path_text};

/// How long one way is tried.
const TRIED: Duration = Duration::from_millis(2_500);

/// Exchanges two names until it is dropped; then they are as they were.
struct Exchanging {
    end: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Exchanging {
    fn of(one: &Path, other: &Path) -> Self {
        let (one, other) = (one.to_owned(), other.to_owned());
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let swap = move || {
            let exchange = || renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok();
            let mut swapped = false;
            // Each place is left for a while, so that both are met by every step of a start.
            let mut pauses = [0, 50, 300, 1_000, 4_000, 20_000].into_iter().cycle();
            while !ended.load(Ordering::Relaxed) {
                swapped ^= exchange();
                std::thread::sleep(Duration::from_micros(pauses.next().unwrap_or(0)));
            }
            if swapped {
                exchange();
            }
        };
        Exchanging { end, thread: Some(std::thread::spawn(swap)) }
    }
}

impl Drop for Exchanging {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("ended");
        }
    }
}

/// Commands for which something is exchanged: `x` is where the job writes.
const COMMANDS: &[&[&str]] = &[
    &["run", "job.fio", "-q"],
    &["run", "read.fio", "-q"],
    &["run", "job.fio", "-q", "--engine", "fio"],
    &["run", "read.fio", "-q", "--engine", "fio"],
    &["cleanup", "data/x"],
    &["cleanup", "data"],
];

/// What stands at the other name.
#[derive(Clone, Copy, Debug)]
enum Other {
    Victim,
    LinkToVictim,
    LinkToNothing,
    Directory,
}

#[test]
fn a_name_that_is_exchanged_leads_to_no_victim() {
    let has_fio = tool("fio", &["--version"]).is_some();
    for other in [Other::Victim, Other::LinkToVictim, Other::LinkToNothing, Other::Directory] {
        let scene = Scene::new();
        let (data, victim) = (scene.world.data(), scene.victim());
        fs::remove_file(data.join("hard")).expect("removed");
        let read = "[a]\nrw=read\nbs=64k\nsize=2m\nfilename=data/x\nruntime=1\n";
        scene.write("read.fio", read);
        let (there, here) = match other {
            Other::Directory => (data.clone(), scene.theirs.clone()),
            Other::Victim => (data.join("x"), victim.clone()),
            Other::LinkToVictim | Other::LinkToNothing => (data.join("x"), data.join("other")),
        };
        match other {
            Other::LinkToVictim => symlink(&victim, &here).expect("linked"),
            Other::LinkToNothing => symlink(scene.theirs.join("new"), &here).expect("linked"),
            // A new name is free in neither: what is made is made where it was asked for, whatever is there by then.
            Other::Directory => fs::write(scene.theirs.join("x"), vec![8; 64 << 10]).expect("written"),
            Other::Victim => {}
        }
        let kept = File::open(&victim).expect("a victim");
        let theirs = entries(&scene.theirs);
        let beside = fs::read(scene.theirs.join("x")).ok();
        let (started, mut next) = (Instant::now(), COMMANDS.iter().cycle());
        while started.elapsed() < TRIED {
            if !data.join("x").exists() {
                scene.world.assay(&["run", "job.fio", "-q"]);
            }
            let words = next.next().expect("endless");
            if words.contains(&"--engine") && !has_fio {
                continue;
            }
            let exchanging = Exchanging::of(&there, &here);
            let said = scene.world.assay(words);
            drop(exchanging);
            let mut content = vec![0; 1 << 20];
            kept.read_exact_at(&mut content, 0).expect("readable");
            let whole =
                kept.metadata().expect("there").len() == 1 << 20 && content.iter().all(|byte| *byte == 7);
            assert!(whole, "{other:?} {words:?}: {}{}", said.out, said.err);
            assert!(
                victim.exists(),
                "{other:?} {words:?} removed {}: {}{}",
                path_text(&victim),
                said.out,
                said.err
            );
            let after = entries(&scene.theirs);
            assert_eq!(after, theirs, "{other:?} {words:?}: {}{}", said.out, said.err);
            let same = fs::read(scene.theirs.join("x")).ok() == beside;
            assert!(same, "{other:?} {words:?}: {}{}", said.out, said.err);
        }
    }
}

#[test]
fn what_takes_a_name_during_a_run_is_not_written_to() {
    for how in ["link", "moved", "directory"] {
        let Scene { world, theirs } = Scene::new();
        let (precious, data) = (theirs.join("precious"), world.data());
        fs::remove_file(data.join("hard")).expect("removed");
        fs::write(theirs.join("x"), "mine").expect("written");
        let before = (fs::read(&precious).expect("read"), fs::read(theirs.join("x")).expect("read"));
        let job = "[a]\nrw=write\nbs=4k\nsize=64k\nfilename=data/x\nruntime=30\ntime_based\nthinktime=1000\n";
        fs::write(world.path().join("j.fio"), job).expect("written");
        let mut child = world
            .command(&["run", "j.fio", "-q"])
            .stdout(std::process::Stdio::null())
            .start()
            .expect("started");
        crate::world::wait_for("the target", || data.join("x").metadata().is_ok_and(|meta| meta.len() > 0));
        match how {
            "link" => {
                fs::remove_file(data.join("x")).expect("removed");
                symlink(&precious, data.join("x")).expect("linked");
            }
            "moved" => fs::rename(&precious, data.join("x")).expect("moved"),
            _ => {
                fs::rename(&data, world.path().join("old")).expect("moved");
                symlink(&theirs, &data).expect("linked");
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(300));
        crate::world::signal(&child, rustix::process::Signal::INT);
        child.wait().expect("ended");
        let again = world.assay(&["run", "j.fio"]);
        assert_eq!(again.code, Some(2), "{how}: {}", again.err);
        if how == "moved" {
            fs::rename(data.join("x"), &precious).expect("moved");
        }
        let after = (fs::read(&precious).expect("read"), fs::read(theirs.join("x")).expect("read"));
        assert!(before == after, "{how}");
    }
}
