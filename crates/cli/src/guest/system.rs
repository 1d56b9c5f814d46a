//! What the first process of a Linux system has to do: file systems of the kernel, modules, turning off.

use std::ffi::CStr;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use assay_vm::suite::Image;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, finit_module, reboot, sethostname};

use super::IMAGE;

const MOUNTS: &[(&str, &str)] =
    &[("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")];
/// Disks that appear one after the other are waited for until there was none for so long.
const SETTLED: Duration = Duration::from_millis(600);
const SETTLED_MAX: Duration = Duration::from_secs(20);

/// What the image says of itself.
pub(super) fn image() -> Result<Image, String> {
    let text = fs::read(IMAGE).map_err(|error| format!("{IMAGE}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{IMAGE}: {error}"))
}

/// Makes a system of what the kernel left; what did not work.
pub(super) fn begin(image: Result<&Image, &String>) -> Vec<String> {
    let mut notes = Vec::new();
    for (kind, place) in MOUNTS {
        if let Err(error) = mount(*kind, *place, *kind, MountFlags::empty(), None::<&CStr>) {
            notes.push(format!("{place} could not be mounted: {error}"));
        }
    }
    for name in image.map_or(&[][..], |image| &image.modules) {
        // Drivers of hardware that other hypervisors have say that there is none, and so do those that build on them.
        let expected = [Errno::NODEV, Errno::NOENT, Errno::EXIST];
        match File::open(Path::new("/assay/modules").join(name)) {
            Err(error) => notes.push(format!("module {name}: {error}")),
            Ok(file) => match finit_module(&file, c"", 0) {
                Err(errno) if !expected.contains(&errno) => notes.push(format!("module {name}: {errno}")),
                _ => {}
            },
        }
    }
    let _ = sethostname(b"assay-vm");
    wait_for_disks();
    notes
}

fn wait_for_disks() {
    let count = || fs::read_dir("/sys/block").map_or(0, Iterator::count);
    let (began, mut changed, mut seen) = (Instant::now(), Instant::now(), count());
    while changed.elapsed() < SETTLED && began.elapsed() < SETTLED_MAX {
        std::thread::sleep(Duration::from_millis(50));
        let now = count();
        if now != seen {
            (seen, changed) = (now, Instant::now());
        }
    }
}

/// How long the kernel has been running.
pub(super) fn uptime() -> String {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    text.split_whitespace().next().map_or_else(|| "some time".to_owned(), |seconds| format!("{seconds} s"))
}

/// Turns the machine off.
pub(super) fn turn_off() -> ! {
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    // A machine that cannot be turned off waits.
    loop {
        std::thread::park();
    }
}

/// Starts the machine again.
pub(super) fn start_again() {
    rustix::fs::sync();
    let _ = reboot(RebootCommand::Restart);
}
