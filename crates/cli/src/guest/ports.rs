//! virtio-serial: ports that the hypervisor connects to sockets of its host.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::console::Console;
use super::{RUNS, system};

/// The port of a coordinator that wants a worker.
pub(super) const WORKER: &str = "assay.worker";
/// The port that results are written to.
pub(super) const RESULTS: &str = "assay.results";
/// What is written before a worker speaks: it arrives once somebody is at the other end.
const READY: &[u8] = b"assay-guest-ready\n";
/// How long a failed port is left alone.
const AGAIN: Duration = Duration::from_millis(200);

/// The device of the port with this name.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let port = ports
        .into_iter()
        .find(|port| fs::read_to_string(port.path().join("name")).is_ok_and(|found| found.trim() == name))?;
    Some(PathBuf::from("/dev").join(port.file_name()))
}

pub(super) fn open(name: &str) -> std::io::Result<File> {
    let missing = || std::io::Error::other(format!("there is no virtio-serial port {name}"));
    OpenOptions::new().read(true).write(true).open(find(name).ok_or_else(missing)?)
}

/// Serves one coordinator after the other, for ever: the hypervisor ends the machine.
pub(super) fn serve(console: &Console) -> ! {
    console.say("a worker, for the coordinator at the other end of the virtio-serial port assay.worker");
    loop {
        if let Err(error) = serve_one() {
            console.say(&format!("worker: {error}"));
            if find(WORKER).is_none() {
                system::turn_off();
            }
        }
        std::thread::sleep(AGAIN);
    }
}

fn serve_one() -> std::io::Result<()> {
    let mut port = open(WORKER)?;
    // Blocks while nobody is there.
    port.write_all(READY)?;
    let mut worker = Command::new("/proc/self/exe");
    worker.arg0("assay").arg("worker").env("ASSAY_RUNS", RUNS).env("HOME", "/home").current_dir("/home");
    worker.stdin(Stdio::from(port.try_clone()?)).stdout(Stdio::from(port)).stderr(Stdio::null());
    worker.status().map(drop)
}
