//! A device that is gone in the middle of a run: what is reported, and what of its data is proved when it is back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_faultfs::{Cut, FaultFs, Op, Options, missing};
use assay_results::RunEnd;
use assay_runner::{Finished, Request, Watch, carry_out};
use assay_workload::job::{Caching, EngineKind, OpenSync};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Nanos;

use crate::bounded::{Bounded as _, SetOnDrop};
use crate::faults::power::{Case, proved, recovered, workload};
use crate::support::{request, site};
use crate::{ENGINES, skip};

const IMAGE: &str = "image";
const BYTES: u64 = 4 << 20;

fn losetup(words: &[&str]) -> Option<String> {
    let done =
        Command::new("losetup").args(words).output_in_time().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// Tests that give a device back and want the same one again.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A loop device over a file of a file system whose power can be cut.
struct Device {
    path: String,
    fs: FaultFs,
    _alone: MutexGuard<'static, ()>,
}

impl Device {
    fn attach() -> Option<Device> {
        let fs = FaultFs::mount(Options { power_cuts: true, ..Options::default() }).expect("it mounts");
        let image = std::fs::File::create(fs.join(IMAGE)).expect("an image");
        image.set_len(BYTES).and_then(|()| image.sync_all()).expect("it has its size");
        std::fs::File::open(fs.path()).and_then(|above| above.sync_all()).expect("its name is durable");
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let path = losetup(&["--find", "--show", fs.join(IMAGE).to_str()?])?;
        Some(Device { path, fs, _alone: alone })
    }

    /// What is behind the device, whichever file system that is of.
    fn backing(&self) -> Option<String> {
        let name = self.path.strip_prefix("/dev/")?;
        std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
    }

    /// Gives the device back, unless that was done and another program has it by now.
    fn detach(&self) {
        let own = self.fs.path().to_str().expect("plain path");
        if self.backing().is_some_and(|file| file.starts_with(own)) {
            losetup(&["--detach", &self.path]);
        }
    }

    /// The same device over what is left of the file.
    fn attach_again(&self) {
        let image = self.fs.join(IMAGE);
        for _ in 0..200 {
            self.detach();
            let is_free = self.backing().is_none();
            if is_free && losetup(&[&self.path, image.to_str().expect("plain path")]).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{} cannot be attached again", self.path);
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Writes to the device with a journal until something is done to it, and for `after` more.
fn run(
    device: &Device,
    engine: EngineKind,
    store: &Path,
    after: Duration,
    what: &(dyn Fn() + Sync),
) -> Finished {
    let case = Case { engine, caching: Caching::Direct, open: OpenSync::None, lies: false, seed: 5 };
    let mut workload = workload(case);
    workload.phases[0].jobs[0].traits.errors_tolerated = 0;
    workload.phases[0].jobs[0].limits.time = Some(Nanos::from_secs(30));
    workload.targets = vec![Target {
        name: "data".to_owned(),
        path: device.path.clone(),
        kind: Some(TargetKind::BlockDevice),
        size: None,
    }];
    let site = site(store);
    let request = Request {
        consent: vec![PathBuf::from(&device.path)],
        ..request(workload, Watch::Nothing, Path::new("/"))
    };
    std::thread::scope(|scope| {
        let stop = &site.stop;
        scope.spawn(move || {
            while device.fs.count(Op::Write, IMAGE) < 200 && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            what();
            let until = Instant::now() + after;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let _ended = SetOnDrop(stop);
        let done = carry_out(request, &site, &mut ());
        done.expect("carried out").expect("begun").finished
    })
}

/// `None`, which is declared, where this machine has no loop devices.
fn device() -> Option<Device> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return None;
    }
    let device = Device::attach();
    if device.is_none() {
        skip::declare("losetup", "no loop device could be attached");
    }
    device
}

#[test]
fn a_device_that_is_gone_ends_the_run_and_what_it_had_acknowledged_is_proved_when_it_is_back() {
    for engine in ENGINES {
        let Some(device) = device() else { return };
        let store = tempfile::tempdir().expect("a store");
        let cut = || device.fs.cut(Cut::KeepSome { seed: 3, probability: 0.5 });
        let ended = run(&device, engine, store.path(), Duration::from_secs(20), &cut);
        let error = ended.error.clone().unwrap_or_default();
        assert_eq!(ended.end, RunEnd::Failed, "{engine:?}");
        assert!(
            error.starts_with("job 'j' stopped: ") && error.contains(&device.path),
            "{engine:?}: {error}"
        );
        assert!(error.ends_with("I/O error (EIO)"), "{engine:?}: {error}");
        device.attach_again();
        let (finished, data) = proved(&ended, store.path());
        assert_eq!((finished.data_is_proved(), data.wrong), (Ok(()), 0), "{engine:?}: {data:?}");
        assert!(data.crash.is_some_and(|crash| crash.acknowledged > 20), "{engine:?}");
    }
}

/// The kernel detaches a loop device when the last one that has it open is gone.
#[test]
fn a_loop_device_that_is_detached_in_use_stays_until_the_run_ends() {
    let Some(device) = device() else { return };
    let store = tempfile::tempdir().expect("a store");
    let detach = || device.detach();
    let ended = run(&device, EngineKind::Psync, store.path(), Duration::from_millis(200), &detach);
    assert_eq!((ended.end, &ended.error), (RunEnd::Interrupted, &None));
    let gone = recovered(&ended, store.path()).expect_err("nothing is behind the device").to_string();
    assert!(gone.contains(&device.path) && gone.contains("lost blocks with an acknowledged write"), "{gone}");
    device.attach_again();
    assert_eq!(proved(&ended, store.path()).1.wrong, 0);
}
