//! `assay worker` in a pod: it listens on the loopback of the pod, where the API server forwards a port to; it looks at its volumes first; and it is
//! what drops the caches of a node.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_fleet::worker::{Stream, Streams, serve};
use assay_host::cache::drop_everything;
use assay_runner::{Site, ThisHost};
use assay_workload::units::Bytes;
use clap::Args;

use crate::apps;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::signals;

/// The port next to that of the worker: what connects there gets what the pod sees of its volumes, and no more.
const LISTING: u16 = 1;
/// Where a container says why it ended: Kubernetes shows it with the pod.
const LAST_WORDS: &str = "/dev/termination-log";
/// How often it is looked whether the pod is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What a pod tells its worker.
#[derive(Debug, Args)]
pub(crate) struct PodArgs {
    /// Serve one coordinator after the other on this port of the loopback
    #[arg(long, hide = true, value_name = "PORT")]
    pub(crate) loopback: Option<u16>,
    /// Carry out a command, and tell what follows it on this port of the loopback
    #[arg(long, hide = true, value_name = "PORT", conflicts_with = "loopback")]
    pub(crate) coordinate: Option<u16>,
    /// The command
    #[arg(last = true, hide = true, value_name = "WORD")]
    pub(crate) words: Vec<std::ffi::OsString>,
    /// A volume with a file system that has to be mounted there
    #[arg(long, hide = true, value_name = "DIR", requires = "served")]
    pub(crate) volume: Vec<PathBuf>,
    /// A volume that has to be a block device
    #[arg(long, hide = true, value_name = "DEVICE", requires = "served")]
    pub(crate) block: Vec<PathBuf>,
    /// Write back and drop the page caches of the machine, and say into this file what came of it
    #[arg(long, hide = true, value_name = "FILE", conflicts_with = "loopback")]
    pub(crate) drop_caches: Option<PathBuf>,
}

impl PodArgs {
    /// Whether it is a pod that has volumes to look at.
    pub(crate) fn is_pod(&self) -> bool {
        !self.volume.is_empty() || !self.block.is_empty()
    }
}

/// Refuses to go on without the volumes that the pod was to have, and says so where Kubernetes shows it.
pub(crate) fn has_volumes(args: &PodArgs) -> Result<(), Failure> {
    check_volumes(args).map_err(|why| {
        // There is none outside of a container.
        let _ = say_last(&why);
        Failure::failed(why)
    })
}

/// Waits until the pod is to end: a container that ended by itself would be started again.
#[cfg(feature = "attach")]
pub(crate) fn await_end() -> Result<(), Failure> {
    let told = signals::stop_flag()?;
    while !told.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Serves coordinators on the loopback, one after the other.
pub(crate) fn worker(port: u16, args: &PodArgs, context: &Context) -> Result<Outcome, Failure> {
    // What the coordinator stops is not what the pod is told.
    let (told, stop) = (signals::stop_flag()?, Arc::new(AtomicBool::new(false)));
    has_volumes(args)?;
    let listing = TcpListener::bind((Ipv4Addr::LOCALHOST, port + LISTING)).map_err(Failure::failed)?;
    let volumes = args.volume.clone();
    std::thread::spawn(move || {
        for mut stream in listing.incoming().flatten() {
            // Who does not read it does not want it.
            let _ = stream.write_all(listing_of(&volumes).as_bytes());
        }
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(Failure::failed)?;
    let Some(streams) = streams(listener, &told, &stop) else { return Ok(Outcome::Done) };
    serve(&mut ThisHost::new(Site { kinds: apps::kinds(context)?, ..context.site(stop) }), streams)
        .map_err(Failure::failed)?;
    if told.load(Ordering::Relaxed) {
        return Ok(Outcome::Done);
    }
    // The next coordinator finds a worker that knows nothing of this one, and has another instance.
    let mut again = std::process::Command::new("/proc/self/exe");
    again.arg0("assay").args(std::env::args_os().skip(1));
    Err(Failure::failed(format!("cannot start again: {}", again.exec())))
}

/// Refuses to serve without the volumes that the pod was to have: what is written instead would go to a disk of the node.
fn check_volumes(args: &PodArgs) -> Result<(), String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")
        .map_err(|error| format!("mounts cannot be read: {error}"))?;
    for directory in &args.volume {
        if !is_mounted(&mounts, directory) {
            return Err(format!("no volume is mounted at {}", directory.display()));
        }
    }
    for device in &args.block {
        let shown = device.display();
        let meta = std::fs::metadata(device).map_err(|error| format!("volume {shown}: {error}"))?;
        if !meta.file_type().is_block_device() {
            return Err(format!("volume {shown} is no block device"));
        }
        if let Err(error) = std::fs::File::open(device) {
            let help = match error.kind() {
                ErrorKind::PermissionDenied => {
                    "; run workers as root of the container (without --run-as), or set device_ownership_from_security_context in the \
                     container runtime"
                }
                _ => "",
            };
            return Err(format!("volume {shown} cannot be opened: {error}{help}"));
        }
    }
    Ok(())
}

/// Files, space and mounts as `ls -ls`, `df -h` and `mount` show them, as JSON.
fn listing_of(volumes: &[PathBuf]) -> String {
    let (mut files, mut space) = (String::new(), String::from("Size Used Avail Use% Mounted on\n"));
    for directory in volumes {
        let _ = writeln!(files, "{}:", directory.display());
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut rows: Vec<String> = entries
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                let name = entry.file_name();
                // Blocks on the storage beside the length: a sparse file has fewer.
                Some(format!(
                    "{} {:o} {} {}",
                    meta.blocks() * 512,
                    meta.mode(),
                    meta.len(),
                    name.to_string_lossy()
                ))
            })
            .collect();
        rows.sort();
        rows.iter().for_each(|row| files.push_str(&format!("{row}\n")));
        if let Ok(found) = rustix::fs::statvfs(directory) {
            let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
            let (all, free) = (bytes(found.f_blocks), bytes(found.f_bfree));
            let used = all - free;
            let percent = (used as f64 / all.max(1) as f64 * 100.0).ceil();
            let _ = writeln!(
                space,
                "{} {} {} {percent}% {}",
                Bytes(all),
                Bytes(used),
                Bytes(bytes(found.f_bavail)),
                directory.display()
            );
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts: Vec<String> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (source, at, kind, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
            Some(format!("{source} on {at} type {kind} ({options})"))
        })
        .collect();
    serde_json::json!({ "ls_l": files, "df_h": space, "mount": mounts.join("\n") }).to_string()
}

/// Whether something is mounted at a directory: the fifth field of a line of mountinfo (proc(5)).
fn is_mounted(mounts: &str, directory: &Path) -> bool {
    let at = |line: &str| line.split(' ').nth(4).map(PathBuf::from);
    mounts.lines().filter_map(at).any(|at| at == directory)
}

/// Connections from the loopback, from the first on; `None`: the pod is to end before there is one. A later one takes the place of one that is
/// still there: the coordinator knows better whether it is of use.
fn streams(listener: TcpListener, told: &Arc<AtomicBool>, stop: &Arc<AtomicBool>) -> Option<Streams> {
    listener.set_nonblocking(true).ok()?;
    let (sender, arrived) = channel::<TcpStream>();
    let current: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    let (replaced, is_told, stop) = (Arc::clone(&current), Arc::clone(told), Arc::clone(stop));
    let stopped = Arc::clone(&stop);
    std::thread::spawn(move || {
        loop {
            if is_told.load(Ordering::Relaxed) {
                stopped.store(true, Ordering::Relaxed);
                return;
            }
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(LOOK);
                continue;
            };
            let usable = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
            let (Ok(()), Ok(kept)) = (usable, stream.try_clone()) else { continue };
            let mut current = replaced.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(former) = current.replace(kept) {
                let _ = former.shutdown(Shutdown::Both);
            }
            if sender.send(stream).is_err() {
                return;
            }
        }
    });
    let mut first = Some(next(&arrived, &stop)?);
    Some(Box::new(move || {
        let stream = first.take().or_else(|| next(&arrived, &stop))?;
        let input = stream.try_clone().ok()?;
        Some(Stream { input: Box::new(input), output: Box::new(stream) })
    }))
}

/// The newest of the connections that have arrived, waiting for one.
fn next(arrived: &Receiver<TcpStream>, stop: &AtomicBool) -> Option<TcpStream> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        match arrived.recv_timeout(LOOK) {
            Ok(stream) => return Some(arrived.try_iter().last().unwrap_or(stream)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Drops the caches of the machine, and says what came of it.
pub(crate) fn drop_caches(to: &Path, context: &Context) -> Result<Outcome, Failure> {
    if to != Path::new(LAST_WORDS) {
        return Err(Failure::usage(format!("--drop-caches writes to {LAST_WORDS}, not to {}", to.display())));
    }
    let cached = || {
        let text = context.host.text("/proc/meminfo")?;
        let line = text.lines().find(|line| line.starts_with("Cached:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| Bytes(kib << 10))
    };
    let shown = |bytes: Option<Bytes>| {
        bytes.map_or_else(|| "an unknown amount".to_owned(), |bytes| bytes.to_string())
    };
    let (before, began) = (cached(), Instant::now());
    let dropped = drop_everything(&context.host);
    let (words, outcome) = match dropped {
        Ok(()) => {
            let took = began.elapsed().as_secs_f64();
            (
                format!("{} cached before, {} after, {took:.1} s", shown(before), shown(cached())),
                Ok(Outcome::Done),
            )
        }
        Err(error) => {
            let words = format!("writing to /proc/sys/vm/drop_caches: {error}");
            (words.clone(), Err(Failure::failed(words)))
        }
    };
    say_last(&words).map_err(|error| Failure::failed(format!("{LAST_WORDS}: {error} ({words})")))?;
    outcome
}

/// Says why the container ends. The file is there already, made by the runtime.
fn say_last(words: &str) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().write(true).truncate(true).open(LAST_WORDS);
    file.and_then(|mut file| file.write_all(words.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_its_place() {
        let mounts = "22 1 0:20 / / rw - overlay overlay rw\n31 22 8:1 /pvc-1 /assay/volume0 rw,relatime - ext4 /dev/sda1 rw\n";
        assert!(is_mounted(mounts, Path::new("/assay/volume0")));
        assert!(!is_mounted(mounts, Path::new("/assay/volume1")));
        assert!(!is_mounted(mounts, Path::new("/assay")));
    }
}
